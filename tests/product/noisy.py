"""An app that prints wherever it can: at import, in handlers, past Python's own streams, from a child process."""

from __future__ import annotations

import os
import subprocess
import sys

from tesseron_py import Context, SyncContext, Tesseron

print("noise: import 🎉")
sys.stdout.write("noise: import, unfinished ")

app = Tesseron("noisy")


def make_noise(where: str) -> None:
    print(f"noise: print in {where} Zoë 🎉 Привет")
    sys.stdout.write(f"noise: write in {where}, unfinished ")
    sys.stdout.buffer.write(b"noise: bytes\n")
    sys.stdout.flush()
    os.write(1, b"noise: descriptor\n")
    subprocess.run([sys.executable, "-c", "print('noise: child')"], check=True)
    print('{"jsonrpc":"2.0","id":1,"result":"noise that looks like a frame"}', flush=True)


@app.action
async def shout(ctx: Context) -> str:
    """Make noise before, while and after the person is asked."""
    make_noise("an async handler")
    asking = await ctx.confirm("Loud enough?")
    make_noise("the rest of it")
    return f"loud enough: {asking}"


@app.action("shoutSync")
def shout_sync(ctx: SyncContext) -> str:
    """The same in a thread; and try to read what is the client's."""
    make_noise("a thread")
    asking = ctx.confirm("Loud enough?")
    return f"loud enough: {asking}, input: {sys.stdin.read()!r}"
