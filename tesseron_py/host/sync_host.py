"""`SyncHost`: a host in a background thread, for programs without an event loop of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import anyio

from ..announcement import heed_sigterm
from ..protocol.messages import PENDING_AGENT, AgentInfo
from ..workers import Workers, loop_caller
from .host import Host
from .listening import listening_host

if TYPE_CHECKING:
    from ..app import Tesseron


class SyncHost:
    """An app that listens, in a daemon thread with an event loop of its own; see `Tesseron.start`.

    It serves from its making until `close()`. Every method may be called from any thread.
    """

    def __init__(
        self,
        app: Tesseron,
        binding: Literal["ws", "uds"] = "ws",
        *,
        dispatch: Callable[[Callable[[], None]], object] | None = None,
        **options: Any,
    ) -> None:
        self._app = app
        self._binding: Literal["ws", "uds"] = binding
        self._options = options
        self.workers: Workers = app.workers if dispatch is None else Workers(app.threads, dispatch=dispatch)
        """The threads of `def` handlers, or what is dispatched: how many run, wait, or were given up."""
        self._host: Host | None = None
        self._listening = threading.Event()
        self._claimed = threading.Event()
        self._problem: BaseException | None = None
        self._stop: Callable[[], None] = lambda: None
        heed_sigterm()
        self._thread = threading.Thread(target=self._run, name=f"tesseron-py {app.id}", daemon=True)
        self._thread.start()
        self._listening.wait()
        if self._problem is not None:
            raise self._problem

    def _run(self) -> None:
        try:
            anyio.run(self._serve)
        except BaseException as problem:
            self._problem = problem
        finally:
            self._listening.set()

    async def _serve(self) -> None:
        stops = anyio.Event()
        call_loop = loop_caller()
        self._stop = lambda: call_loop(stops.set)
        async with listening_host(self._app, self._binding, workers=self.workers, **self._options) as host:
            self._host = host
            self._listening.set()
            async with anyio.create_task_group() as group:
                group.start_soon(self._wait_claimed, host)
                await stops.wait()
                group.cancel_scope.cancel()

    async def _wait_claimed(self, host: Host) -> None:
        await host.claimed()
        self._claimed.set()

    @property
    def url(self) -> str:
        """Where it listens: `ws://127.0.0.1:PORT/`."""
        return self._host.url if self._host is not None else ""

    @property
    def claim_code(self) -> str | None:
        """The code that a person gives their agent, until an agent has claimed the app."""
        return self._host.claim_code if self._host is not None else None

    @property
    def agent(self) -> AgentInfo:
        """Who claimed the app; `pending` before."""
        return self._host.agent if self._host is not None else PENDING_AGENT

    def wait_claimed(self, timeout: float | None = None) -> bool:
        """Wait until an agent has claimed the app, at most `timeout` seconds; says whether one has."""
        return self._claimed.wait(timeout)

    def close(self, timeout: float | None = None) -> None:
        """Stop serving and wait for that, at most `timeout` seconds. May be repeated."""
        self._stop()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def __enter__(self) -> SyncHost:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        self.close()
