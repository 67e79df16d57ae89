"""Clients over HTTP that do a piece of work together: one for most of it, a hundred for what happens at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from .bare_http import Requests
from .legacy_http import Session
from .modern_http import Caller
from .peers import FLOOR, Era, Peer
from .processes import server
from .work import Work


class Client(Protocol):
    """One client, whose one call is begun, answered if it asks, and finished."""

    def begin(self, work: Work) -> None: ...
    def answer(self, work: Work) -> None: ...
    def finish(self, work: Work) -> None: ...


class Crowd:
    """Clients of one server.

    Args:
        enter: Makes one more client.
    """

    def __init__(self, enter: Callable[[], Client]) -> None:
        self._enter = enter
        self._clients: list[Client] = []

    def do(self, work: Work) -> None:
        """One call, or as many at once as the work has, each of a client of its own."""
        while len(self._clients) < work.at_once:
            self._clients.append(self._enter())
        clients = self._clients[: work.at_once]
        for client in clients:
            client.begin(work)
        if work.answer is not None:
            for client in clients:
                client.answer(work)
        for client in clients:
            client.finish(work)


@contextmanager
def crowd(
    peer: Peer, era: Era, *, python: Path | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[Crowd]:
    """The server of a peer, and a crowd of clients of it, while the body runs."""
    module, *args = peer.http
    with ExitStack() as stack:
        running = stack.enter_context(server(module, *args, python=python or peer.python, environment=environment))
        port = int(running.ready)
        kind: Callable[[int, ExitStack], Client] = Session if era == "legacy" else Caller
        if peer is FLOOR:
            kind = Requests
        yield Crowd(lambda: kind(port, stack))
