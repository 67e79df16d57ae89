"""Our side: as many apps as are asked for, each behind a Unix socket of its own.

Prints a line once it is ready. For each line on its standard input, a number, it starts so many more, and prints their
claim codes.
"""

from __future__ import annotations

import itertools
import os
from contextlib import AsyncExitStack

import anyio

from tesseron_py import Tesseron


async def echo(text: str) -> str:
    """Say it again."""
    return text


def new_app(number: int) -> Tesseron:
    app = Tesseron(f"app{number}", f"App {number}")
    app.action("echo").handler(echo)
    return app


async def main() -> None:
    numbers = itertools.count(1)
    print("ready", flush=True)
    async with AsyncExitStack() as stack:
        while True:
            await anyio.wait_readable(0)
            if not (asked := os.read(0, 1024)):
                return
            codes: list[str] = []
            for _ in range(int(asked)):
                host = await stack.enter_async_context(new_app(next(numbers)).listen("uds"))
                codes.append(str(host.claim_code))
            print(*codes, flush=True)


anyio.run(main)
