"""Their side: a server of `websockets` that knows no protocol. Prints its URL.

The first message of a connection is a JSON list of lists of texts. From then on every message is answered with the next
list, round and round.
"""

from __future__ import annotations

import asyncio
import itertools
import json

from websockets.asyncio.server import ServerConnection, serve


async def answer(connection: ServerConnection) -> None:
    replies = itertools.cycle(json.loads(await connection.recv()))
    async for _ in connection:
        for reply in next(replies):
            await connection.send(reply)


async def main() -> None:
    async with serve(answer, "127.0.0.1", 0, compression=None, max_size=8 * 2**20) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        print(f"ws://127.0.0.1:{port}/", flush=True)
        await asyncio.Event().wait()


asyncio.run(main())
