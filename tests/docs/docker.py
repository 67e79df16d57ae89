"""Stands in for `docker run`: the command, as a process with a home of its own and no variable but those it is given.

It reaches this machine as `host.docker.internal`, as in a container that was started with that name.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

MACHINE = "host.docker.internal"

parser = argparse.ArgumentParser(prog="docker")
parser.add_argument("run", choices=["run"])
parser.add_argument("-e", dest="variables", action="append", default=[])
parser.add_argument("--add-host", required=True, choices=[f"{MACHINE}:host-gateway"])
parser.add_argument("image")
parser.add_argument("command", nargs=argparse.REMAINDER)
options = parser.parse_args()

home = tempfile.mkdtemp(dir=os.environ["HOME"])
variables = dict(each.split("=", 1) for each in options.variables)
command = [word.replace(MACHINE, "127.0.0.1") for word in options.command]
sys.stdout.flush()
os.execvpe(command[0], command, {"PATH": os.environ["PATH"], "HOME": home, **variables})
