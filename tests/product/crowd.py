"""Two hundred apps in one process: `python -m tests.product.crowd NUMBER`. Each says its code on standard error.

A quarter of them each: WebSocket or Unix socket, and a code of their own or of the gateway's.
"""

from __future__ import annotations

import itertools
import sys
from typing import Literal

import anyio

from tesseron_py import Context, Tesseron

KINDS: list[tuple[Literal["ws", "uds"], Literal["host", "gateway"]]] = [
    ("ws", "host"),
    ("uds", "host"),
    ("ws", "gateway"),
    ("uds", "gateway"),
]


def an_app(number: int) -> Tesseron:
    """The app of that number."""
    app = Tesseron(f"app_{number}", f"App {number}")

    @app.action
    async def who() -> int:
        return number

    @app.action
    async def sure(ctx: Context) -> bool:
        return await ctx.confirm(f"Is it {number}?")

    return app


async def serve(number: int, binding: Literal["ws", "uds"], claims: Literal["host", "gateway"]) -> None:
    app = an_app(number)

    def say(code: str) -> None:
        print(f"{app.id} waits with {code}", file=sys.stderr, flush=True)

    async with app.listen(binding, claims=claims) as host:
        host.on_claim_code = say
        if host.claim_code is not None:
            say(host.claim_code)
        async for event in host.events:
            print(f"{app.id} {event}", file=sys.stderr, flush=True)


async def main(count: int) -> None:
    async with anyio.create_task_group() as group:
        for number, (binding, claims) in zip(range(count), itertools.cycle(KINDS), strict=False):
            group.start_soon(serve, number, binding, claims)


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]))
