"""The depot as an app that dials out: it finds the newest gateway of this machine, and says what happens to it.

`python -m tests.product.dial_out [PAIRING]`.
"""

from __future__ import annotations

import sys

import anyio

from tesseron_py.running import code_card, until_stopped

from .app import app


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def main(pairing: str | None = None) -> None:
    async def serve() -> None:
        async with app.connect(pairing=pairing) as host:
            host.on_claim_code = lambda code: say(code_card(code))
            say(f"dials {host.url}")
            if host.claim_code is not None:
                say(code_card(host.claim_code))
            async for event in host.events:
                say(str(event))

    await until_stopped(serve)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
