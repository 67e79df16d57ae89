"""A long job in a container, where no gateway can dial it: it dials the gateway. The agent may look at it and stop it.

tesseron-py gateway --http 0.0.0.0:7475 --allow-host host.docker.internal
python examples/dial_out.py http://host.docker.internal:7475

The token is in TESSERON_TOKEN, for both.
"""

from __future__ import annotations

import sys
from contextlib import suppress

import anyio

from tesseron_py import Context, Tesseron

app = Tesseron("job", "A long job")

STEPS = 1000
SECONDS_A_STEP = 0.05


class Job:
    """What the container is there for."""

    def __init__(self) -> None:
        self.done = 0
        self.stopped = False

    async def run(self) -> None:
        while self.done < STEPS and not self.stopped:
            await anyio.sleep(SECONDS_A_STEP)
            self.done += 1
            progress.publish(self.done)


job = Job()


def read_done() -> int:
    """How many steps are done."""
    return job.done


progress = app.resource("done").read(read_done)


@app.action
async def stop(ctx: Context) -> str:
    """Stop the job for good, if the person agrees."""
    if not await ctx.confirm(f"Stop the job after {job.done} of {STEPS} steps? It cannot go on later."):
        return "The job goes on."
    job.stopped = True
    return f"The job was stopped after {job.done} steps."


async def main(url: str) -> None:
    async with app.connect(url) as host:
        print(f"Tell your agent: claim the Tesseron session {host.claim_code}", flush=True)
        host.on_claim_code = lambda code: print(f"The claim code is {code} now.", flush=True)
        await job.run()
        await anyio.sleep(0.5)  # what the last call gave is on its way


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        anyio.run(main, sys.argv[1])
