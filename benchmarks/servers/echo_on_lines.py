"""The floor: lines answered with lines, on this process's pipes, or with `uds` on a Unix socket whose path it prints.

A line that is a JSON list of lists of texts is what is answered with: every line after it gets the next list.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator

LIMIT = 8 * 2**20


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    replies: Iterator[list[bytes]] = iter(())
    while line := await reader.readline():
        if line.startswith(b"["):
            replies = itertools.cycle([[f"{text}\n".encode() for text in texts] for texts in json.loads(line)])
            continue
        for reply in next(replies):
            writer.write(reply)
        await writer.drain()
    writer.close()


async def pipes() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(lambda: asyncio.streams.FlowControlMixin(loop=loop), sys.stdout)
    await answer(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


async def socket() -> None:
    with tempfile.TemporaryDirectory(prefix="tesseron-bench-") as directory:
        server = await asyncio.start_unix_server(answer, f"{directory}/echo.sock", limit=LIMIT)
        print(f"{directory}/echo.sock", flush=True)
        await server.serve_forever()


asyncio.run(socket() if sys.argv[1:] == ["uds"] else pipes())
