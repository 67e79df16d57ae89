"""An app's lifespan, entered and left in one task of a `Home`, whatever task opens and closes it.

A lifespan may hold task groups and cancel scopes, which belong to the task that entered them.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import anyio

from .errors import InternalError

if TYPE_CHECKING:
    from .app import Tesseron
    from .home import Home


logger = logging.getLogger("tesseron_py.lifespan")


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
        self._lost = ""

    async def enter(self) -> Any:
        """Enter it, and return what it yields.

        Raises:
            Exception: Whatever it raised; a RuntimeError when it was `SystemExit`.
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
            if not self._leaves.is_set():
                self._is_lost("it ended by itself")
        except SystemExit as error:
            self._failed(_exited(error))
        except Exception as error:
            self._failed(error)
        finally:
            if not self._entered.is_set() and self._error is None:
                self._error = RuntimeError("the app's lifespan was cancelled before it was entered")
            self._entered.set()
            self._left.set()

    def _failed(self, error: Exception) -> None:
        if not self._entered.is_set():
            self._error = error
        elif self._leaves.is_set():
            logger.error("The lifespan of %s failed while it was left", self._app.id, exc_info=error)
        else:
            self._is_lost(_said(error), error)

    def _is_lost(self, why: str, error: Exception | None = None) -> None:
        self._lost = why
        logger.error(
            "The lifespan of %s is over while the app is served (%s); its calls fail until it is started again",
            self._app.id,
            why,
            exc_info=error,
        )

    def check(self) -> None:
        """Return if what it yielded can be used.

        Raises:
            InternalError: It is over, although nobody left it.
        """
        if self._lost:
            why = "" if self._app.mask_errors else f" ({self._lost})"
            raise InternalError(f"What {self._app.id} needs is gone: its lifespan is over{why}; start the app again")

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


def _exited(error: SystemExit) -> RuntimeError:
    problem = RuntimeError(f"the app's lifespan called sys.exit({'' if error.code is None else repr(error.code)})")
    problem.__cause__ = error
    return problem


def _said(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:  # of a task group in the lifespan
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
