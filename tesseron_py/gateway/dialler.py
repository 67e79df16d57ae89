"""Keeps a gateway connected to the apps it finds: dials them, again after a drop, and more and more slowly in vain."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from ..bindings.channel import Channel, Closed
from ..home import Home
from .instances import Instance, Place, UnixSocketAt

if TYPE_CHECKING:
    from .apps import ConnectedApp

logger = logging.getLogger("tesseron_py.gateway")

FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 30.0
YIELD: Final = 1.0
"""Seconds that an app which another gateway holds a claim on is left to that one, which else might come second."""


class Unreachable(Exception):
    """An app cannot be dialled; the message says why, for people."""


async def dial(place: Place, *, code: str | None, limit: int) -> Channel:
    """A connection to an app on this machine.

    Args:
        place: Where it is.
        code: The claim code, for an app that has minted one.
        limit: Bytes of one frame.

    Raises:
        Unreachable: There is none to be had.
    """
    from ..bindings.unix import BindRefused
    from ..bindings.unix import dial as dial_unix
    from ..bindings.websocket import DialRefused
    from ..bindings.websocket import dial as dial_websocket

    try:
        if isinstance(place, UnixSocketAt):
            return await dial_unix(place.path, code=code, limit=limit)
        return await dial_websocket(place.url, code=code, limit=limit)
    except DialRefused as refused:
        raise Unreachable(refused.reason or f"the app answered with status {refused.status}") from refused
    except BindRefused as refused:
        raise Unreachable(refused.message) from refused
    except (OSError, Closed, ValueError, TimeoutError) as error:
        raise Unreachable(str(error) or type(error).__name__) from error


class Dialler:
    """Dials the instances that wait to be dialled: each in a task of its own.

    Args:
        home: Whose tasks they are.
        connect: What to do with a connection.
        is_mine: Whether this gateway would resume a session of that id.
        limit: Bytes of one frame.
    """

    def __init__(
        self,
        home: Home,
        connect: Callable[[Channel], ConnectedApp],
        *,
        is_mine: Callable[[str], bool] = lambda session: True,
        limit: int,
    ) -> None:
        self._home = home
        self._connect = connect
        self._is_mine = is_mine
        self._limit = limit
        self._instances: dict[Path, Instance] = {}
        self._changed: dict[Path, anyio.Event] = {}

    def change(self, file: Path, instance: Instance | None) -> None:
        """A manifest appeared, changed or vanished."""
        if instance is None or instance.minted is not None:
            self._instances.pop(file, None)
        else:
            self._instances[file] = instance
        changed = self._changed.get(file)
        if changed is not None:
            changed.set()
        elif file in self._instances and self._home.is_open:
            self._changed[file] = anyio.Event()
            self._home.start(self._attend, file, name="dialler")

    async def _attend(self, file: Path) -> None:
        pause, said = FIRST_PAUSE, ""
        try:
            while (instance := self._instances.get(file)) is not None:
                self._changed[file] = anyio.Event()
                if self._is_anothers(instance) and await self._changes(file, YIELD):
                    continue
                try:
                    app = self._connect(await dial(instance.place, code=None, limit=self._limit))
                except Unreachable as problem:
                    if str(problem) != said:
                        said = str(problem)
                        logger.warning("The app %s cannot be reached: %s", instance.app_name, said)
                else:
                    await app.ended.wait()
                    if app.info is not None:
                        pause, said = FIRST_PAUSE, ""
                if await self._changes(file, pause * random.uniform(0.8, 1.2)):
                    pause = FIRST_PAUSE
                else:
                    pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            self._changed.pop(file, None)

    def _is_anothers(self, instance: Instance) -> bool:
        return (
            instance.bound_agent is not None
            and instance.session_id is not None
            and not self._is_mine(instance.session_id)
        )

    async def _changes(self, file: Path, within: float) -> bool:
        """Wait so long for a change of the manifest; says whether there was one."""
        with anyio.move_on_after(within):
            await self._changed[file].wait()
            return True
        return False
