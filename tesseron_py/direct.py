"""A direct server: one app behind a memory channel, served to MCP clients by a gateway of its own."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from ._version import __version__
from .bindings.channel import Closed
from .bindings.memory import MemoryChannel, pair
from .gateway.provider import AppProvider
from .host.session import Session
from .lifespan import RunningLifespan
from .limits import Limits
from .mcp.http import HttpEndpoint
from .mcp.limits import EndpointLimits
from .mcp.provider import ServerInfo
from .mcp.stdio import serve

if TYPE_CHECKING:
    from .app import Tesseron
    from .gateway.apps import ConfirmForm
    from .workers import Workers

logger = logging.getLogger("tesseron_py.direct")


class DirectServer(AppProvider):
    """A provider that serves one app: tools have the actions' own names.

    Args:
        app: What is served, or a function that gives it; the function is called when the first request needs the app.
        limits: The numbers; by default the app's.
        confirm_form: How a confirm is put to the person; see `ConnectedApp`.
        workers: The threads of its `def` handlers; by default the app's.

    Example:
        ```python
        server = DirectServer(app)
        await server.ready()
        ```
    """

    def __init__(
        self,
        app: Tesseron | Callable[[], Awaitable[Tesseron]],
        *,
        limits: Limits | None = None,
        confirm_form: ConfirmForm = "approve",
        workers: Workers | None = None,
    ) -> None:
        self._app = app
        self._workers = workers
        self._given = limits
        self._readiness: anyio.Event | None = None
        self._problem: BaseException | None = None
        self._lifespan: RunningLifespan | None = None
        self._session: Session | None = None
        self._context = contextvars.copy_context()
        if callable(app):
            info = ServerInfo("tesseron-py", __version__)
            super().__init__(info, confirm_form=confirm_form, bare_names=True)
        else:
            info = ServerInfo(app.id, app.version, title=app.name, instructions=app.description or None)
            super().__init__(info, limits=limits or app.limits, confirm_form=confirm_form, bare_names=True)

    @property
    def problem(self) -> BaseException | None:
        """Why the app cannot be served: what loading it or entering its lifespan raised."""
        return self._problem

    async def ready(self) -> None:
        """Open the home, enter the app's lifespan and connect the app; a second call waits for the first.

        Raises:
            Exception: What loading the app or entering its lifespan raised; every later call raises it, too.
        """
        if self._readiness is None:
            self._readiness = anyio.Event()
            try:
                await self.home.open(context=self._context)
                self.home.start(self._prepare, self._readiness, name="start of a direct server")
            except BaseException:
                self._readiness = None
                raise
        await self._readiness.wait()
        if self._problem is not None:
            raise self._problem

    async def _prepare(self, readiness: anyio.Event) -> None:
        try:
            app = await self._app() if callable(self._app) else self._app
            self._limits = self._given or app.limits
            self._lifespan = RunningLifespan(app, self.home)
            state = await self._lifespan.enter()
            here, there = pair(limit=self._limits.frame)
            welcomed = anyio.Event()
            session = Session(
                app,
                there,
                self.home,
                state=state,
                check=self._lifespan.check,
                workers=self._workers,
                limits=self._limits,
                on_welcome=welcomed.set,
            )
            self._session = session
            self.connect(here)
            self.home.start(self._serve, session, welcomed, name=f"session of {app.id}")
            await welcomed.wait()
        except (Exception, SystemExit) as problem:
            self._problem = problem
        finally:
            readiness.set()

    async def _serve(self, session: Session, welcomed: anyio.Event) -> None:
        try:
            await session.run()
        except Exception as problem:
            self._problem = problem
        finally:
            welcomed.set()

    async def aclose(self, *, grace: float | None = None) -> None:
        """End every call, leave the app's lifespan, and end every task.

        Args:
            grace: Seconds for handlers and a lifespan that do not heed their cancellation; by default `closing` of the
                limits.
        """
        for app in list(self._apps):
            app.close()
        grace = self._limits.closing if grace is None else grace
        with anyio.CancelScope(shield=True):
            if self._lifespan is not None:
                after = self._session.settled if self._session is not None else None
                grace = await self._lifespan.leave(within=grace, after=after)
            await self.home.aclose(grace=grace)


class AppEndpoint(HttpEndpoint):
    """An app as an MCP server over HTTP: a plain ASGI application; see `Tesseron.asgi`."""

    def __init__(
        self,
        server: DirectServer,
        *,
        path: str,
        token: str | None,
        hosts: Iterable[str],
        origins: Iterable[str],
        limits: Limits,
        state_keys: Sequence[str] = (),
    ) -> None:
        super().__init__(
            server,
            path=path,
            token=token,
            hosts=hosts,
            origins=origins,
            limits=endpoint_limits(limits),
            state_keys=state_keys,
        )
        self._server = server

    async def _start(self) -> None:
        await super()._start()
        await self._server.ready()  # an app that cannot start is no server that starts

    async def aclose(self, *, grace: float | None = None) -> None:
        """End every session and the app: prompts are withdrawn, streams ended, the lifespan left."""
        await super().aclose()
        await self._server.aclose(grace=grace)


def endpoint_limits(limits: Limits) -> EndpointLimits:
    """The endpoint's share of an app's limits."""
    return EndpointLimits(
        body=limits.body,
        line=limits.line,
        json=limits.result,
        frame=limits.event,
        sessions=limits.sessions,
        idle=limits.session_idle,
        calls=limits.calls,
        prompts=limits.prompts,
        subscriptions=limits.subscriptions,
        parked=limits.parked,
        parked_for=limits.parked_for,
        kept=limits.kept,
        silence=limits.silence,
    )


@asynccontextmanager
async def memory_endpoint(app: Tesseron, *, workers: Workers | None = None) -> AsyncIterator[MemoryChannel]:
    """An app as an MCP server at the other end of a memory pipe: what comes is the client's end.

    Args:
        app: The app.
        workers: The threads of its `def` handlers; by default the app's.

    Raises:
        Exception: What the app's lifespan raised.
    """
    server = DirectServer(app, workers=workers)
    here, there = pair(limit=app.limits.line)
    try:
        await server.ready()
        limits = endpoint_limits(app.limits)
        server.home.start(
            lambda: serve(there, server, limits=limits, closed=Closed), name="MCP server on a memory pipe"
        )
        yield here
    finally:
        with anyio.CancelScope(shield=True):
            await here.aclose()
            await server.aclose()
