"""A label printer that runs by itself in an event loop of its own, and on which an agent may print, too.

python examples/printer.py
claude mcp add tesseron -- tesseron-py gateway
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Annotated

import anyio
from pydantic import Field

from tesseron_py import Context, Host, Tesseron

app = Tesseron("printer", "The label printer")

SECONDS_A_LABEL = 0.02
queue: deque[str] = deque()
printed: list[str] = []


def read_queue() -> list[str]:
    """The labels that wait."""
    return list(queue)


waiting = app.resource("queue").read(read_queue)


@app.action
async def print_labels(text: Annotated[str, Field(min_length=1)], copies: int, ctx: Context) -> int:
    """Print a label. The person confirms many copies. Gives how many labels wait."""
    if copies <= 10 or await ctx.confirm(f"Print {copies} labels?"):
        queue.extend([text] * copies)
        waiting.publish(read_queue())
    return len(queue)


@app.action
async def empty_queue(ctx: Context) -> int:
    """Forget the labels that wait. Gives how many they were."""
    count = len(queue)
    if not count or not await ctx.confirm(f"Forget {count} labels?"):
        return 0
    queue.clear()
    waiting.publish(read_queue())
    return count


async def print_all() -> None:
    """The printer itself, which needs no agent."""
    while True:
        await anyio.sleep(SECONDS_A_LABEL)
        if queue:
            printed.append(queue.popleft())
            waiting.publish(read_queue())


def show_code(code: str) -> None:
    print(f"Tell your agent: claim the Tesseron session {code}", flush=True)


async def tell(host: Host) -> None:
    """Who has the printer, on its display."""
    host.on_claim_code = show_code  # also one that a gateway mints later
    if host.claim_code is not None:
        show_code(host.claim_code)
    async for event in host.events:
        print(event, flush=True)  # claimed by …, dropped: …, resumed with …


async def main() -> None:
    async with app.listen() as host, anyio.create_task_group() as group:
        group.start_soon(print_all)
        group.start_soon(tell, host)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        anyio.run(main)
