"""`LateApp`: an app that is loaded while its server runs already, as if nothing ran yet.

A client's first message is answered before the app's module is imported (`spec/mcp.md` §5). All the same the module is
imported where every other command imports it: in the main thread, with no event loop running. So it may call
`asyncio.run` or `signal.signal`, and what it opens belongs to the thread that its handlers run in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ..running import ended_by_signals
from .target import load_app

if TYPE_CHECKING:
    from ..app import Tesseron


class LateApp:
    """The app that `target` names, for a server that asks for it when a request needs it.

    Args:
        target: `MODULE:APP`.

    Example:
        ```python
        late = LateApp("shop.main:app")
        server = DirectServer(late.app)
        late.run(partial(serve_stdio, server))
        ```
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._wanted: asyncio.Event = asyncio.Event()
        self._loaded: asyncio.Event = asyncio.Event()
        self._app: Tesseron | None = None
        self.problem: BaseException | None = None
        """Why it cannot be loaded."""

    async def app(self) -> Tesseron:
        """The app, once it is loaded.

        Raises:
            Failure: It cannot be loaded.
        """
        self._wanted.set()
        await self._loaded.wait()
        if self.problem is not None:
            raise self.problem
        assert self._app is not None
        return self._app

    def run(self, serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `serve()` in an event loop of its own, which stands still while the app is loaded.

        A signal that comes meanwhile ends the process at once.
        """
        with asyncio.Runner() as runner:
            serving = runner.get_loop().create_task(serve())
            if not self._loaded.is_set() and runner.run(self._is_wanted(serving)):
                self.load()
            runner.run(_result(serving))

    async def _is_wanted(self, serving: asyncio.Task[None]) -> bool:
        wanted = asyncio.ensure_future(self._wanted.wait())
        try:
            await asyncio.wait((serving, wanted), return_when=asyncio.FIRST_COMPLETED)
        finally:
            wanted.cancel()
        return self._wanted.is_set()

    def load(self) -> None:
        """Load it now; `problem` says why it cannot be."""
        try:
            with ended_by_signals():
                self._app = load_app(self._target)
        except (Exception, SystemExit) as problem:
            self.problem = problem
        self._loaded.set()


async def _result(task: asyncio.Task[None]) -> None:
    await task
