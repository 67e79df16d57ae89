"""A running app that listens: it serves one gateway after the other until it is closed."""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio

from ..bindings.websocket import Listener, TesseronGate, listen
from ..home import Home
from ..lifespan import RunningLifespan
from ..protocol.messages import PENDING_AGENT, AgentInfo
from .events import Claimed, Dropped, Events, HandshakeFailed
from .session import HandshakeFailure, Session

if TYPE_CHECKING:
    from ..app import Tesseron
    from ..workers import Workers

logger = logging.getLogger("tesseron_py.host")


class Host(AbstractAsyncContextManager["Host"]):
    """An app that listens on a loopback WebSocket; see `Tesseron.listen`.

    Attributes:
        url: Where it listens: `ws://127.0.0.1:PORT/`.
        events: What happens to it: `Claimed`, `Dropped`, `HandshakeFailed`.
    """

    def __init__(self, app: Tesseron, *, port: int = 0, workers: Workers | None = None) -> None:
        self._app = app
        self._workers = workers
        self._port = port
        self._home = Home(f"tesseron-py host of {app.id}")
        self._lifespan = RunningLifespan(app, self._home)
        self._listening = anyio.Event()
        self._problem: Exception | None = None
        self._session: Session | None = None
        self._claimed = anyio.Event()
        self.url: str = ""
        self.events: Events = Events()

    @property
    def claim_code(self) -> str | None:
        """The code that a person gives their agent, until an agent has claimed the app."""
        return self._session.claim_code if self._session is not None else None

    @property
    def agent(self) -> AgentInfo:
        """Who claimed the app; `pending` before."""
        return self._session.agent if self._session is not None else PENDING_AGENT

    async def claimed(self) -> AgentInfo:
        """Wait until an agent has claimed the app."""
        await self._claimed.wait()
        return self.agent

    async def __aenter__(self) -> Host:
        try:
            await self._home.open()
            state = await self._lifespan.enter()
            self._home.start(self._serve, state, name=f"listener of {self._app.id}")
            await self._listening.wait()
            if self._problem is not None:
                raise self._problem
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self, *, grace: float | None = None) -> None:
        """Stop listening, end every call, and leave the app's lifespan.

        Args:
            grace: Seconds for handlers and a lifespan that do not heed their cancellation; by default the app's limit.
        """
        grace = self._app.limits.closing if grace is None else grace
        with anyio.CancelScope(shield=True):
            after = None
            if self._session is not None:
                await self._session.aclose()
                after = self._session.settled
            grace = await self._lifespan.leave(within=grace, after=after)
            await self._home.aclose(grace=grace)
            self.events.end()

    @property
    def stubborn(self) -> int:
        """How many handlers go on although the host is closed."""
        return self._home.running

    async def _serve(self, state: Any) -> None:
        try:
            async with listen(TesseronGate(), port=self._port, limit=self._app.limits.frame) as listener:
                self.url = listener.url
                self._listening.set()
                await self._accept(listener, state)
        except Exception as problem:
            if self._listening.is_set():
                raise
            self._problem = problem
        finally:
            self._listening.set()

    async def _accept(self, listener: Listener, state: Any) -> None:
        while True:
            channel = await listener.accept()
            session = Session(
                self._app, channel, self._home, state=state, workers=self._workers, on_claimed=self._on_claimed
            )
            self._session = session
            try:
                await session.run()
            except HandshakeFailure as failure:
                logger.warning("A gateway connected and did not welcome %s: %s", self._app.id, failure)
                self.events.add(HandshakeFailed(str(failure)))
            except Exception:
                logger.exception("The connection of %s to a gateway failed", self._app.id)
                self.events.add(Dropped("a fault of this app"))
            else:
                self.events.add(Dropped("the connection ended"))

    def _on_claimed(self, agent: AgentInfo) -> None:
        self._claimed.set()
        self.events.add(Claimed(agent))
