"""A server under load for a while: a thousand sessions, ten thousand prompts that wait, and calls of every kind.

`python -m benchmarks load --minutes 10`. It prints what is held, what has failed, which must be nothing, and how large
the server is, over time.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from .legacy_http import Session
from .modern_http import Caller
from .processes import clean_room, make_room, server
from .stdio_client import resident
from .work import CONFIRM, ECHO, ELICIT, LARGE_RESULT, PROGRESS, Work

CLIENTS = 4
"""Threads, each of which has one call under way."""
LINES = 20
"""How often it is printed how things are."""
MIX: tuple[tuple[Work, int], ...] = ((ECHO, 10), (CONFIRM, 5), (ELICIT, 3), (PROGRESS, 1), (LARGE_RESULT, 1))
"""What is called, how often of twenty times: in a session, or without one in the newer era."""


class Client:
    """Sessions, and prompts that wait, and a loop that calls, answers and asks anew.

    Args:
        port: Where the server is.
        sessions: How many sessions it has, each with two connections.
        prompts: How many of its prompts wait at any time.
        seed: What its choices come from.
        stack: What closes its connections.
    """

    def __init__(self, port: int, sessions: int, prompts: int, seed: int, stack: ExitStack) -> None:
        self.taken: list[float] = []
        self.errors: list[str] = []
        self._random = random.Random(seed)
        self._sessions = [Session(port, stack) for _ in range(sessions)]
        self._caller = Caller(port, stack)
        self._waiting: list[dict[str, Any]] = []
        self._others: list[Callable[[], None]] = [self._in_session, self._without_session, self._old_prompt]
        for _ in range(prompts):
            self._ask()

    @property
    def waiting(self) -> int:
        """How many prompts wait."""
        return len(self._waiting)

    def run(self, over: threading.Event) -> None:
        """Call until it is over, or a connection is lost. What fails is kept in `errors`."""
        while not over.is_set():
            started = time.perf_counter()
            try:
                self._random.choice(self._others)()
            except RuntimeError as error:
                self.errors.append(str(error))
            except Exception as error:  # of a connection that cannot be read on
                self.errors.append(f"{type(error).__name__}: {error}; this client has ended")
                return
            self.taken.append(time.perf_counter() - started)

    def _work(self) -> Work:
        works, weights = zip(*MIX, strict=True)
        chosen: Work = self._random.choices(works, weights)[0]
        return chosen

    def _in_session(self) -> None:
        self._call(self._random.choice(self._sessions))

    def _without_session(self) -> None:
        self._call(self._caller)

    def _call(self, client: Session | Caller) -> None:
        work = self._work()
        client.begin(work)
        if work.answer is not None:
            client.answer(work)
        client.finish(work)

    def _old_prompt(self) -> None:
        """Answer a prompt that has waited, whichever; another takes its place."""
        if not self._waiting:
            return self._without_session()
        asked = self._waiting.pop(self._random.randrange(len(self._waiting)))
        self._caller.repeat(CONFIRM, asked)
        self._caller.finish(CONFIRM)
        return self._ask()

    def _ask(self) -> None:
        self._caller.begin(CONFIRM)
        self._waiting.append(self._caller.question())


def main(arguments: list[str]) -> int:
    """Load a server as the command line asks for; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks load", description="A server under load for a while.")
    parser.add_argument("--minutes", type=float, default=10.0, help="default: 10")
    parser.add_argument("--sessions", type=int, default=1000, help="default: 1000")
    parser.add_argument("--prompts", type=int, default=10_000, help="default: 10 000")
    parser.add_argument("--seed", type=int, default=1, help="of what is called when")
    options = parser.parse_args(arguments)
    make_room(3 * options.sessions + 100)
    with clean_room(), ExitStack() as stack:
        running = stack.enter_context(server("parking_over_http"))
        port, process = int(running.ready), running.process.pid
        sessions, prompts = options.sessions // CLIENTS, options.prompts // CLIENTS
        clients = [Client(port, sessions, prompts, options.seed + at, stack) for at in range(CLIENTS)]
        over = threading.Event()
        threads = [threading.Thread(target=client.run, args=(over,)) for client in clients]
        started = time.perf_counter()
        print(
            f"{'seconds':>8} {'calls':>9} {'a second':>9} {'sessions':>9} {'waiting':>8} {'errors':>7} {'server':>10}"
        )
        _report(clients, 0.0, sessions * CLIENTS, resident(process))
        for thread in threads:
            thread.start()
        for at in range(1, LINES + 1):
            time.sleep(max(0.0, started + options.minutes * 60 * at / LINES - time.perf_counter()))
            _report(clients, time.perf_counter() - started, sessions * CLIENTS, resident(process))
        over.set()
        for thread in threads:
            thread.join()
    taken = sorted(seconds for client in clients for seconds in client.taken)
    cuts = statistics.quantiles(taken, n=100, method="inclusive")
    print(f"a call took {cuts[49] * 1e3:.1f} ms, p95 {cuts[94] * 1e3:.1f} ms, p99 {cuts[98] * 1e3:.1f} ms")
    errors = [error for client in clients for error in client.errors]
    for error in errors[:10]:
        print(error, file=sys.stderr)
    return 1 if errors else 0


def _report(clients: list[Client], seconds: float, sessions: int, memory: float) -> None:
    calls = sum(len(client.taken) for client in clients)
    waiting, errors = sum(client.waiting for client in clients), sum(len(client.errors) for client in clients)
    rate = calls / seconds if seconds else 0.0
    held = f"{sessions:>9} {waiting:>8} {errors:>7} {memory / 2**20:>6.1f} MiB"
    print(f"{seconds:>8.0f} {calls:>9} {rate:>9.0f} {held}", flush=True)
