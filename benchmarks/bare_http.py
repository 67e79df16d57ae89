"""A client of the floor: a request for each that a call takes, to a server that does nothing."""

from __future__ import annotations

from contextlib import ExitStack

from .http_client import Connection
from .work import Work


class Requests:
    """One connection, on which a request may be under way.

    Args:
        port: Where the server is.
        stack: What closes its connection.
    """

    def __init__(self, port: int, stack: ExitStack) -> None:
        self._connection = Connection(port, {"Content-Type": "application/json"})
        stack.callback(self._connection.close)

    def begin(self, work: Work) -> None:
        """Send one."""
        params = {"name": work.tool, "arguments": work.arguments}
        self._connection.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    def answer(self, work: Work) -> None:
        """Read what comes back, and send another."""
        self.finish(work)
        self._connection.send({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": work.answer}})

    def finish(self, work: Work) -> None:
        """Read what comes back."""
        if not list(self._connection.receive()):
            raise RuntimeError("an empty answer")
