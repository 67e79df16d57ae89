"""One `subscriptions/listen` stream of the modern era: what a client asked to hear of, and telling it.

It is to its carrier what a `Leg` is: run, and then finished with the last message. Changes outside of a stream are told
to nobody in this era.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio

from ..errors import TesseronError
from ..invocation import Done, Invocation
from ..web.asgi import Gone
from .changes import Changes, change_text
from .envelope import Request, error_text, notification_text, result_text
from .exchange import Outlet
from .limits import EndpointLimits
from .messages import ACKNOWLEDGED, COMPLETED, INTERNAL_ERROR, INVALID_PARAMS, SUBSCRIPTION_META, ProtocolError
from .provider import Change, Client, Provider, ResourcesChanged, ResourceUpdated, ToolsChanged, UnknownResource
from .readiness import Readiness

logger = logging.getLogger("tesseron_py.mcp.listening")

_TOOLS: Final = "toolsListChanged"
_RESOURCES: Final = "resourcesListChanged"
_URIS: Final = "resourceSubscriptions"


@dataclass(frozen=True, slots=True)
class Filter:
    """What a client wants to hear of. Prompts never change here, so that wish is not granted."""

    tools: bool
    resources: bool
    uris: tuple[str, ...]

    @staticmethod
    def of(params: Mapping[str, Any], most: int) -> Filter:
        """What the params of a request wish for.

        Raises:
            ProtocolError: They are not what they must be, or want more than `most` resources; -32602.
        """
        wanted = params.get("notifications")
        if not isinstance(wanted, Mapping):
            raise ProtocolError(INVALID_PARAMS, 'subscriptions/listen needs an object "notifications"')
        for name in (_TOOLS, _RESOURCES, "promptsListChanged"):
            if not isinstance(wanted.get(name) or False, bool):
                raise ProtocolError(INVALID_PARAMS, f'"notifications.{name}" is no boolean')
        uris = wanted.get(_URIS)
        uris = [] if uris is None else uris
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            raise ProtocolError(INVALID_PARAMS, f'"notifications.{_URIS}" is no list of strings')
        if len(uris) > most:
            raise ProtocolError(INVALID_PARAMS, f"A stream follows at most {most} resources; {len(uris)} are too many")
        return Filter(bool(wanted.get(_TOOLS)), bool(wanted.get(_RESOURCES)), tuple(dict.fromkeys(uris)))


class Listening:
    """One stream.

    Args:
        request: The request that opens it; its id is the subscription's.
        outlet: Where it goes.
        provider: Whose changes it tells.
        client: Makes the client that the provider tells, from who passes a change on.
        filter: What is told.
        decorate: Adds to the last result what every result has.
        limits: The endpoint's limits.
    """

    def __init__(
        self,
        request: Request,
        outlet: Outlet,
        *,
        provider: Provider,
        client: Callable[[Callable[[Change], None]], Client],
        filter: Filter,
        decorate: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        limits: EndpointLimits,
    ) -> None:
        self.request = request
        self.status: int = 200
        self.on_finish: Callable[[Listening], None] | None = None
        """Called once, when it is finished."""
        self._outlet = outlet
        self._provider = provider
        self._filter = filter
        self._decorate = decorate
        self._limits = limits
        self._meta = {SUBSCRIPTION_META: request.id}
        self._changes = Changes(lambda change: change_text(change, self._meta))
        self._client = client(self._changed)
        self._scope = anyio.CancelScope()
        self._text: str | None = None
        self._cancelled = False
        self._finished = False
        self._attached = False

    @property
    def over(self) -> bool:
        """Whether nothing is told any more."""
        return self._text is not None or self._cancelled

    async def settle(self) -> None:
        """Nothing: a stream goes on until it is ended."""

    async def run(self, readiness: Readiness) -> None:
        """Tell of changes until it is ended. Raises nothing of its own."""
        with self._scope:
            try:
                await readiness.wait()
                if self.over:
                    return
                self._provider.attach(self._client)
                self._attached = True
                await self._acknowledge()
                await self._tell()
            except ProtocolError as error:
                self._text = error_text(self.request.id, error.code, error.message, error.data)
            except Gone as error:
                self.cancel(str(error))
            except Exception:
                logger.exception("Listening to changes failed")
                message = "Internal error: listening to changes failed; the server's log says why"
                self._text = error_text(self.request.id, INTERNAL_ERROR, message)

    def cancel(self, reason: str) -> None:
        """Nobody listens any more; there is no last message."""
        logger.debug("A stream of changes ends: %s", reason)
        self._cancelled = True
        self._scope.cancel()

    def end(self) -> None:
        """The server ends it, and says so."""
        if not self.over:
            result = {"resultType": COMPLETED, "_meta": self._meta}
            self._text = result_text(self.request.id, self._decorate(result))
        self._scope.cancel()

    def finish(self) -> str | None:
        """The last message; `None` when there is to be none. The provider forgets the client with this."""
        if not self._finished:
            self._finished = True
            if self._attached:
                try:
                    self._provider.detach(self._client)
                except Exception:
                    logger.exception("Detaching a client failed")
            if self.on_finish is not None:
                self.on_finish(self)
        return None if self._cancelled else self._text

    def _changed(self, change: Change) -> None:
        match change:
            case ToolsChanged():
                wanted = self._filter.tools
            case ResourcesChanged():
                wanted = self._filter.resources
            case ResourceUpdated(uri=uri):
                wanted = uri in self._filter.uris
            case _:
                wanted = False  # what belongs to no call is logged to nobody in this era
        if wanted:
            self._changes.add(change)

    async def _acknowledge(self) -> None:
        """Follow the resources, and say what will be told: a resource that is not there, or cannot be followed, not."""
        granted: dict[str, Any] = {}
        if self._filter.tools:
            granted[_TOOLS] = True
        if self._filter.resources:
            granted[_RESOURCES] = True
        if self._filter.uris:
            granted[_URIS] = await self._follow()
        await self._outlet.send(notification_text(ACKNOWLEDGED, {"_meta": self._meta, "notifications": granted}))

    async def _follow(self) -> list[str]:
        """Begin to follow every resource; those that are followed. All of them have the time of one silence."""
        begun: dict[str, Invocation] = {}
        for uri in self._filter.uris:
            try:
                begun[uri] = self._provider.subscribe(uri, self._client)
            except (UnknownResource, TesseronError) as error:
                logger.debug("The resource %s is not followed: %s", uri, error)
            except Exception:
                logger.exception("Following the resource %s failed", uri)
        with anyio.move_on_after(self._limits.silence):
            for following in begun.values():
                view = following.view()
                while view.outcome is None:
                    view = await following.changed(view.version)
        for following in begun.values():
            following.cancel("It takes too long")
        return [uri for uri, following in begun.items() if isinstance(following.outcome, Done)]

    async def _tell(self) -> None:
        while True:
            with anyio.move_on_after(self._limits.silence) as silence:
                await self._changes.wait()
            if silence.cancelled_caught:
                await self._outlet.keep_alive()
            await self._changes.tell(self._outlet.send)
