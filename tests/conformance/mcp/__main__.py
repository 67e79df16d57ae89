"""`python -m tests.conformance.mcp [REVISION…]`: run the official suite and tell the counts; 1 if anything is amiss."""

from __future__ import annotations

import sys

import anyio

from .suite import REVISIONS, install, judge


def main(revisions: list[str]) -> int:
    install()
    amiss = False
    for revision in revisions or REVISIONS:
        verdict = anyio.run(judge, revision)
        print(verdict)
        if verdict.problems:
            amiss = True
            print(verdict.output, file=sys.stderr)
            print(*(f"  {problem}" for problem in verdict.problems), sep="\n", file=sys.stderr)
    return 1 if amiss else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
