"""Waiting until a provider is ready, which it may become late: a client's first message is answered before that.

One attempt at a time runs in the endpoint's home, so that a client which leaves does not break it off for the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import anyio

from ..home import Home
from .messages import INTERNAL_ERROR, ProtocolError
from .provider import Provider

logger = logging.getLogger("tesseron_py.mcp.readiness")


class Readiness:
    """Whether one provider is ready, for all of an endpoint's sessions.

    Args:
        provider: Whose `ready()` is awaited. After a failure the next request tries again.
        home: Where it runs.
    """

    def __init__(self, provider: Provider, home: Home) -> None:
        self.done: bool = False
        self._provider = provider
        self._home = home
        self._attempt: _Attempt | None = None
        self._logged = ""
        self._then: list[Callable[[], None]] = []

    async def wait(self) -> None:
        """Return once the provider is ready.

        Raises:
            ProtocolError: It failed to get ready; -32603 with its message.
        """
        if self.done:
            return
        attempt = self._begin()
        await attempt.ended.wait()
        if attempt.error is not None:
            raise ProtocolError(INTERNAL_ERROR, str(attempt.error) or type(attempt.error).__name__)

    def then(self, fn: Callable[[], None]) -> None:
        """Call `fn` once the provider is ready, at once when it is; forgotten when this attempt fails."""
        if self.done:
            _guarded(fn)
            return
        self._then.append(fn)
        self._begin()

    def _begin(self) -> _Attempt:
        if self._attempt is None:
            self._attempt = _Attempt()
            self._home.start(self._run, self._attempt, name="getting the MCP provider ready")
        return self._attempt

    async def _run(self, attempt: _Attempt) -> None:
        try:
            await self._provider.ready()
            attempt.error, self.done = None, True
        except (Exception, SystemExit) as error:  # an application's module may call `sys.exit` while it is loaded
            if repr(error) != self._logged:
                self._logged = repr(error)
                logger.exception("The server cannot get ready")
            attempt.error = error
        finally:
            self._attempt = None
            attempt.ended.set()
            then, self._then = self._then, []
            if self.done:
                for fn in then:
                    _guarded(fn)


def _guarded(fn: Callable[[], None]) -> None:
    try:
        fn()
    except Exception:
        logger.exception("A client that waited for the MCP provider could not be told that it is ready")


class _Attempt:
    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.error: BaseException | None = RuntimeError("The server is closing")
