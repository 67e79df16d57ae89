"""`python -m tests.faults.mutants`: whether the laboratory sees what it should.

The product is copied and broken in one way at a time, and each time histories are played until one of them shows it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .histories import draw
from .site import ROOT


@dataclass(frozen=True)
class Mutant:
    """One way to break the product.

    Attributes:
        file: Below `tesseron_py`.
        sound: What stands there, once.
        broken: What stands there instead.
        faults: Histories with these are played; all, if there are none.
        topology: Where they are played.
    """

    file: str
    sound: str
    broken: str
    faults: tuple[str, ...] = ()
    topology: str = "direct+http/asyncio"


MUTANTS: Mapping[str, Mutant] = {
    "confirm is true when the call is given up": Mutant(
        "context.py",
        "            return self._call(lambda: self._context._confirm(question, key))\n"
        "        except ActionCancelled:\n            return False\n",
        "            return self._call(lambda: self._context._confirm(question, key))\n"
        "        except ActionCancelled:\n            return True\n",
    ),
    "confirm is true when its connection is closed": Mutant(
        "context.py",
        "        except ActionCancelled:\n            raise\n        except TesseronError:\n            return False\n"
        "        try:\n            action, _ = _read_reply(reply)\n"
        "        except MalformedAnswer:\n            return False\n"
        '        return action == "accept"\n',
        "        except BaseException:\n            return True\n"
        '        return _read_reply(reply)[0] == "accept"\n',
    ),
    "any accepted form is a yes": Mutant(
        "gateway/answers.py", 'if reply.content.get("approve") is True else', "if True else"
    ),
    "questions are not withdrawn": Mutant(
        "mcp/exchange.py",
        "                if self._prompts.withdraw(id):\n",
        "                if self._prompts.withdraw(id) and self is None:\n",
    ),
    "a leg that is repeated after the end runs again": Mutant(
        "mcp/modern.py",
        "        if call is None:\n            return lost_result(",
        "        if call is not None and call.invocation.outcome is not None:\n            return None\n"
        "        if call is None:\n            return lost_result(",
    ),
    "an ended session is kept": Mutant("mcp/http.py", "        del self._sessions[session.id]\n", "        pass\n"),
    "results are kept for ever": Mutant(
        "mcp/parked.py", "            if call.left + self._grace > now:\n", "            if call.left > 0:\n"
    ),
    "a call whose client does not come back waits for ever": Mutant(
        "mcp/parked.py",
        "            if call.left + self._lifetime <= now and",
        "            if call.left <= 0 and",
    ),
    "a call goes on although its client has hung up": Mutant(
        "mcp/http_response.py",
        '    conversation.cancel("The client dropped the connection of the call")\n',
        "    pass\n",
    ),
    "a manifest is left behind": Mutant(
        "announcement.py",
        "            self.path.unlink(missing_ok=True)\n",
        "            pass\n",
        ("end",),
        "ws+http/asyncio",
    ),
    "a manifest that could not be written is left as it is": Mutant(
        "host/host.py", "            self._unwritten.set()\n", "            pass\n", ("disk",), "ws+http/asyncio"
    ),
    "a key begins a call anew": Mutant(
        "mcp/repeats.py", "        call = self._calls.get(whole)\n", "        call = None\n", ("twice",)
    ),
}  # fmt: skip


def broken_copy(mutant: Mutant, place: Path) -> None:
    """A copy of the product and the laboratory at `place`, broken.

    Raises:
        ValueError: What is to be broken is not there, or there twice.
    """
    for name in ("tesseron_py", "tests"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    file = place / "tesseron_py" / mutant.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.sound) != 1:
        raise ValueError(f"{mutant.file} has {text.count(mutant.sound)} times {mutant.sound!r}")
    file.write_text(text.replace(mutant.sound, mutant.broken), encoding="utf-8")


def seeds(mutant: Mutant, count: int) -> list[int]:
    """The first seeds whose histories have what it takes."""
    found: list[int] = []
    number = 0
    while len(found) < count:
        history = draw(number)
        if str(history.topology) == mutant.topology and (not mutant.faults or history.fault in mutant.faults):
            found.append(number)
        number += 1
    return found


def seen(mutant: Mutant, histories: int) -> str:
    """The first violation that shows it; empty if there is none."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        place = Path(name)
        broken_copy(mutant, place)
        command = [sys.executable, "-m", "tests.faults", "--first"]
        for seed in seeds(mutant, histories):
            command += ["--seed", str(seed)]
        played = subprocess.run(command, cwd=place, env={**os.environ}, capture_output=True, text=True, check=False)
        lines = played.stdout.splitlines()
        told = (number for number, line in enumerate(lines) if line.startswith("VIOLATION"))
        at = next((number for number in told if "says nothing like" not in lines[number + 1]), None)  # a slow start
        return "" if at is None else " ".join(line.strip() for line in lines[at : at + 2])[:300]


def main() -> int:
    """Break the product in each way, or in those whose name has a word in it."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.mutants", description="Whether faults are seen.")
    parser.add_argument("word", nargs="?", default="", help="only the mutants whose name has this in it")
    parser.add_argument("--histories", type=int, default=60, help="how many are played at most for each")
    options = parser.parse_args()
    unseen = 0
    for name, mutant in MUTANTS.items():
        if options.word in name:
            violation = seen(mutant, options.histories)
            unseen += not violation
            print(f"{'seen' if violation else 'NOT SEEN'}: {name}\n    {violation}", flush=True)
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
