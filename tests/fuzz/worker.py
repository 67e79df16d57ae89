"""One target under atheris, in a process of its own: `python -m tests.fuzz.worker TARGET [libFuzzer's arguments]`."""

from __future__ import annotations

import sys

import atheris

from .corpus import seeds


def main() -> None:
    name = sys.argv[1]
    with atheris.instrument_imports(include=["tesseron_py"]):
        from .targets import target

        run = target(name)
        for _, data in seeds(name):  # which imports what is imported late
            run(data)
    atheris.Setup([sys.argv[0], *sys.argv[2:]], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
