"""An app's lifespan, entered and left in one task of a `Home`, whatever task opens and closes it.

A lifespan may hold task groups and cancel scopes, which belong to the task that entered them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from .app import Tesseron
    from .home import Home


class RunningLifespan:
    """The lifespan of an app while it runs one way.

    Example:
        ```python
        lifespan = RunningLifespan(app, home)
        state = await lifespan.enter()
        rest = await lifespan.leave(within=5.0)
        ```
    """

    def __init__(self, app: Tesseron, home: Home) -> None:
        self._app = app
        self._home = home
        self._entered = anyio.Event()
        self._leaves = anyio.Event()
        self._left = anyio.Event()
        self._state: Any = None
        self._error: BaseException | None = None
        self._runs = False

    async def enter(self) -> Any:
        """Enter it, and return what it yields.

        Raises:
            Exception: Whatever it raised.
        """
        if self._app.lifespan is None:
            return None
        self._runs = True
        self._home.start(self._run, self._app.lifespan(self._app), name=f"lifespan of {self._app.id}")
        await self._entered.wait()
        if self._error is not None:
            raise self._error
        return self._state

    async def _run(self, context: AbstractAsyncContextManager[Any]) -> None:
        try:
            async with context as self._state:
                self._entered.set()
                await self._leaves.wait()
        except Exception as error:
            if self._entered.is_set():
                raise
            self._error = error
        finally:
            if not self._entered.is_set() and self._error is None:
                self._error = RuntimeError("the app's lifespan was cancelled before it was entered")
            self._entered.set()
            self._left.set()

    async def leave(self, within: float, *, after: Callable[[], Awaitable[None]] | None = None) -> float:
        """Leave it, and wait until that is done, for so many seconds; then go on without it.

        Args:
            within: Seconds it may take in all.
            after: What ends first, such as the handlers that use what the lifespan holds; it has half of that time.

        Gives the seconds that remain to close what is around it: a quarter of them at least.
        """
        end = anyio.current_time() + within
        if after is not None:
            with anyio.move_on_after(within / 2):
                await after()
        self._leaves.set()
        if self._runs:
            with anyio.CancelScope(deadline=end):
                await self._left.wait()
        return max(end - anyio.current_time(), within / 4)
