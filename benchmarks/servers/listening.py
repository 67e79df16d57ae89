"""Our side: the app behind `app.listen(BINDING)`, on the event loop that `app.run()` has.

It prints its place and its claim code. For each line on its standard input it cuts the connection to its gateway, as a
network would, and prints the seconds until its session was resumed.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from typing import Any

import anyio

from benchmarks.servers.tasks import app
from tesseron_py.host.events import Resumed


async def main(binding: Any) -> None:
    async with app.listen(binding) as host:
        print(host.url, host.claim_code, flush=True)
        while True:
            await anyio.wait_readable(0)
            if not os.read(0, 1024):
                await anyio.sleep_forever()
            started = time.perf_counter()
            cut(host.url)
            async for event in host.events:
                if isinstance(event, Resumed):
                    break
            print(time.perf_counter() - started, flush=True)


def cut(place: str) -> None:
    """Shut down every connection of this process that came in at `place` or at the second endpoint beside it."""
    for number in [int(name) for name in os.listdir("/dev/fd")]:
        try:
            sock = socket.socket(fileno=os.dup(number))
        except OSError:
            continue  # no socket
        with sock:
            listens = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            if not listens and is_at(sock.getsockname(), place):
                sock.shutdown(socket.SHUT_RDWR)


def is_at(address: Any, place: str) -> bool:
    if place.startswith("ws://"):
        return isinstance(address, tuple) and f":{address[1]}/" in place
    return isinstance(address, str) and address != "" and os.path.dirname(address) == os.path.dirname(place)


anyio.run(main, sys.argv[1])
