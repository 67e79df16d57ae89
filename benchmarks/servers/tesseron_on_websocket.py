"""Our side: the app behind `app.listen()`, on the event loop that `app.run()` has. Prints its URL."""

from __future__ import annotations

import anyio

from benchmarks.servers.tasks import app


async def main() -> None:
    async with app.listen() as host:
        print(host.url, flush=True)
        await anyio.sleep_forever()


anyio.run(main)
