"""A running app: it serves one gateway after the other until it is closed, and keeps what one claim is worth.

A host owns the claim it mints, the manifest that tells of it, and the pair by which its session is resumed. Where
connections come from is an `Endpoint`'s; what is said over one is a `Session`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import anyio

from ..bindings.channel import Channel, Closed
from ..home import Home
from ..lifespan import RunningLifespan
from ..protocol.messages import PENDING_AGENT, AgentInfo
from .claims import REFRESH, Claim, ClaimGate
from .endpoints import Endpoint, Source
from .events import Claimed, Dropped, Events, HandshakeFailed, Resumed
from .manifest import Manifest
from .pairing import Pairing
from .session import HandshakeFailure, Session

if TYPE_CHECKING:
    from ..app import Tesseron
    from ..workers import Workers

logger = logging.getLogger("tesseron_py.host")

Claims: TypeAlias = Literal["host", "gateway"]

FIRST_PAUSE = 0.2
"""Seconds before a host tries its endpoint again after it failed; doubled each time, up to `LONGEST_PAUSE`."""
LONGEST_PAUSE = 10.0
RENEWAL = 2.0
"""Seconds after which a manifest that could not be written is written again."""
_LEFT = frozenset({1000, 1001})
"""Close codes of a gateway that hangs up in good order."""


class Host(AbstractAsyncContextManager["Host"]):
    """An app that serves gateways; see `Tesseron.listen` and `Tesseron.connect`.

    Args:
        app: The app.
        source: Where connections come from.
        gate: The gate that asks for the claim this host mints; `None` leaves claims to the gateway.
        claim: That claim.
        announce: Write a manifest, by which gateways find the app.
        pairing_file: Keep the pairing here over a restart.
        workers: The threads of `def` handlers; by default the app's.
    """

    def __init__(
        self,
        app: Tesseron,
        source: Source,
        *,
        gate: ClaimGate | None = None,
        claim: Claim | None = None,
        announce: bool = True,
        pairing_file: Path | None = None,
        workers: Workers | None = None,
    ) -> None:
        self._app = app
        self._source = source
        self._gate = gate
        self._claim = claim
        self._minted = claim
        self._announce = announce
        self._workers = workers
        self._home = Home(f"tesseron-py host of {app.id}")
        self._lifespan = RunningLifespan(app, self._home)
        self._pairing = Pairing(app.id, file=pairing_file)
        self._manifest: Manifest | None = None
        self._endpoint: Endpoint | None = None
        self._listening = anyio.Event()
        self._problem: Exception | None = None
        self._session: Session | None = None
        self._claimed = anyio.Event()
        self._resuming = False
        self._entered = False
        self._closing = False
        self._pause = FIRST_PAUSE
        self._unwritten = anyio.Event()
        """Set while the manifest does not say what it should."""
        self.events: Events = Events()
        """What happens to the host: `Claimed`, `Resumed`, `Dropped`, `HandshakeFailed`; ends with it."""
        self.on_claim_code: Callable[[str], None] = lambda code: None
        """Told each claim code that a gateway mints for the app, for whoever shows codes to the person."""

    # What an author looks at

    @property
    def url(self) -> str:
        """Where it is: `ws://127.0.0.1:PORT/`, the path of its Unix socket, or the gateway it dials."""
        return self._endpoint.where if self._endpoint is not None else ""

    @property
    def dials(self) -> bool:
        """Whether it has connected to a gateway, rather than listens for one."""
        return self._endpoint is not None and self._endpoint.dials

    @property
    def claim_code(self) -> str | None:
        """The code that a person gives their agent, until an agent has claimed the app."""
        if self._gate is not None and self._claim is not None and not self._gate.spent:
            return self._claim.code
        return self._session.claim_code if self._session is not None else None

    @property
    def agent(self) -> AgentInfo:
        """Who claimed the app; `pending` before."""
        return self._session.agent if self._session is not None else PENDING_AGENT

    async def claimed(self) -> AgentInfo:
        """Wait until an agent has claimed the app, or its claim was resumed."""
        await self._claimed.wait()
        return self.agent

    @property
    def stubborn(self) -> int:
        """How many handlers go on although the host is closed."""
        return self._home.running

    # Its life

    async def __aenter__(self) -> Host:
        if self._entered:
            raise RuntimeError(
                f"the host of {self._app.id} is entered already: enter it once, and make another with app.listen() or"
                " app.connect()"
            )
        self._entered = True
        try:
            if self._announce:
                self._manifest = Manifest(self._app.name)
            await self._home.open()
            state = await self._lifespan.enter()
            self._home.start(self._serve, state, name=f"host of {self._app.id}")
            if self._manifest is not None:
                self._home.start(self._keep_fresh, name=f"manifest of {self._app.id}")
            await self._listening.wait()
            if isinstance(self._problem, Closed):
                raise ConnectionError(self._problem.reason) from self._problem
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
        """Serve no more: the manifest goes, every call ends, the app's lifespan is left.

        Args:
            grace: Seconds for handlers and a lifespan that do not heed their cancellation; by default the app's limit.
        """
        grace = self._app.limits.closing if grace is None else grace
        self._closing = True
        if self._manifest is not None:
            self._manifest.remove()
        with anyio.CancelScope(shield=True):
            after = None
            if self._session is not None:
                await self._session.aclose()
                after = self._session.settled
            grace = await self._lifespan.leave(within=grace, after=after)
            await self._home.aclose(grace=grace)
            self.events.end()

    async def _serve(self, state: Any) -> None:
        try:
            while True:
                try:
                    async with self._source() as endpoint:
                        self._endpoint = endpoint
                        if self._pairing.pair is not None and self._gate is not None:
                            self._flip(endpoint)  # a pair from before the restart
                            self._bind(self._pairing.pair.agent, self._pairing.pair.session_id)
                        elif self._resuming:
                            self._flip(endpoint)  # it listens anew
                        self._tell_gateways()
                        if not endpoint.dials:
                            self._listening.set()
                        await self._accept(endpoint, state)
                except (Closed, OSError) as problem:
                    if not self._listening.is_set():
                        raise
                    pause = self._pause
                    logger.warning("%s cannot be reached (%s); trying again in %g s", self._app.id, problem, pause)
                    self.events.add(HandshakeFailed(str(problem)))
                    await anyio.sleep(pause)
                    self._pause = min(2 * pause, LONGEST_PAUSE)
        except Exception as problem:
            if self._listening.is_set():
                raise
            self._problem = problem
        finally:
            self._listening.set()

    async def _accept(self, endpoint: Endpoint, state: Any) -> None:
        while True:
            channel, resuming = await endpoint.accept()
            self._pause = FIRST_PAUSE
            await self._converse(channel, resuming=resuming, state=state)
            if self._gate is not None and self._gate.spent:
                self._flip(endpoint)
                self._tell_gateways()

    async def _converse(self, channel: Channel, *, resuming: bool, state: Any) -> None:
        """Serve one gateway, from the hello to the end of the connection."""
        minted = self._gate is not None and not resuming
        session = Session(
            self._app,
            channel,
            self._home,
            state=state,
            check=self._lifespan.check,
            workers=self._workers,
            pair=None if minted else self._pairing.pair,
            on_welcome=partial(self._on_welcome, minted=minted),
            on_claimed=self._on_claimed,
        )
        self._session = session
        try:
            await session.run()
        except HandshakeFailure as failure:
            self._not_welcome(str(failure))
        except Exception:
            if not self._listening.is_set():
                raise
            logger.exception("The connection of %s to a gateway failed", self._app.id)
            self.events.add(Dropped("a fault of this app"))
        else:
            closed = session.closed
            reason = closed.reason if closed is not None else "the connection ended"
            if session.session_id is None:
                self._not_welcome(reason)
            else:
                left = closed is not None and closed.code in _LEFT and reason.startswith("closed by the other end")
                self.events.add(Dropped(reason, left))

    def _not_welcome(self, reason: str) -> None:
        if self._closing:
            return
        if not self._listening.is_set():
            raise ConnectionError(reason)
        logger.warning("%s is not welcomed by a gateway: %s", self._app.id, reason)
        self.events.add(HandshakeFailed(reason))

    def _flip(self, endpoint: Endpoint) -> None:
        """The claim is spent and nobody is connected: from now on gateways dial to resume."""
        self._resuming = True
        if self._gate is not None:
            self._gate.spent = True
        endpoint.open_for_resuming()

    async def _keep_fresh(self) -> None:
        while True:
            with anyio.move_on_after(REFRESH):
                await self._unwritten.wait()
                await anyio.sleep(RENEWAL)
            if self._unwritten.is_set():
                self._tell_gateways()
            elif self._claim is not None and self._gate is not None and not self._gate.spent:
                self._claim = self._claim.refreshed()
                self._tell_gateways()
            elif self._manifest is not None:
                self._manifest.renew()

    def _tell_gateways(self) -> None:
        endpoint = self._endpoint
        if self._manifest is None or endpoint is None or endpoint.transport is None:
            return
        try:
            self._manifest.write(endpoint.transport, self._claim, minted=self._gate is not None and not self._resuming)
        except OSError as error:
            if not self._listening.is_set():
                raise
            if not self._unwritten.is_set():
                logger.warning("The manifest of %s cannot be written: %s", self._app.id, error)
            self._unwritten.set()
        else:
            if self._unwritten.is_set():
                self._unwritten = anyio.Event()
                logger.info("The manifest of %s is written again", self._app.id)

    # What its session reports

    def _on_welcome(self, *, minted: bool) -> None:
        session = self._session
        if session is None or session.session_id is None:
            return
        if minted and self._gate is not None:
            self._gate.spent = True
        self._listening.set()
        if session.claimed:
            self._keep_pair(session)
            if session.resumed:
                self.events.add(Resumed(session.agent))
                self._claimed.set()
        elif session.claim_code is not None:
            self.on_claim_code(session.claim_code)

    def _on_claimed(self, agent: AgentInfo) -> None:
        if self._session is not None:
            self._keep_pair(self._session)
        self._claimed.set()
        self.events.add(Claimed(agent))

    def _keep_pair(self, session: Session) -> None:
        token = session.resume_token
        if token is None and self._minted is not None and session.session_id == self._minted.session_id:
            token = self._minted.resume_token
        if session.session_id is not None:
            if token is not None:
                self._pairing.keep(session.session_id, token, session.agent)
            if session.agent != PENDING_AGENT:
                self._bind(session.agent, session.session_id)

    def _bind(self, agent: AgentInfo, session_id: str) -> None:
        """The manifest tells whose the app is, and which session the one gateway that knows it would resume."""
        if self._claim is not None:
            bound = self._claim.bound_to(agent, session_id)
            if bound != self._claim:
                self._claim = bound
                self._tell_gateways()
