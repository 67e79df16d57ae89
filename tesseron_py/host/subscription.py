"""The subscriptions of one session: each follows a resource, keeps its newest value, and is cleaned up once."""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from ..errors import ActionError, InvalidParams, TesseronError
from ..protocol.messages import UPDATED
from ..schema.binary import with_base64
from ..workers import loop_caller

if TYPE_CHECKING:
    from ..protocol.jsonrpc import Request
    from ..resources import Resource
    from .session import Session

logger = logging.getLogger("tesseron_py.host")


class Subscription:
    """One subscription. `offer` may be called from any thread; all else happens in the event loop."""

    def __init__(self, subscriptions: Subscriptions, id: str, resource: Resource) -> None:
        self.id = id
        self.resource = resource
        self.acknowledged = False
        self.ended = False
        self.stop_following: Callable[[], None] | None = None
        self.clean_up: Any = None
        self._subscriptions = subscriptions
        self._call_loop = loop_caller()
        self._lock = threading.Lock()
        self._newest: str | None = None
        self._told_loop = False

    def offer(self, value: Any) -> None:
        """Keep `value` as the newest and see that it is sent."""
        text = self._subscriptions.update_text(self, value)
        if text is None:
            return
        with self._lock:
            self._newest = text
            if self._told_loop or self.ended:
                return
            self._told_loop = True
        self._call_loop(self._subscriptions.pump)

    def take(self) -> str | None:
        """The newest value that was not sent yet, as the text of its update."""
        with self._lock:
            text, self._newest, self._told_loop = self._newest, None, False
            return text


class Subscriptions:
    """All subscriptions of a session, by id. A clean-up may take `grace` seconds."""

    def __init__(self, session: Session, grace: float) -> None:
        self._session = session
        self._grace = grace
        self._open: dict[str, Subscription] = {}
        self._pumping = False
        self._cleaning = 0
        self._cleaned = anyio.Event()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, id: str, resource: Resource, request: Request) -> None:
        """Follow `resource`; the request is answered before the first update goes out (Tesseron 1.2 §7).

        Raises:
            InvalidParams: There is a subscription of that id.
        """
        if id in self._open:
            raise InvalidParams(f"{request.method}: there is a subscription {id!r} already")
        subscription = Subscription(self, id, resource)
        self._open[id] = subscription
        subscription.stop_following = resource.follow(subscription.offer)
        self._session.home.start(self._begin, subscription, request, name=f"subscription to {resource.name}")

    async def _begin(self, subscription: Subscription, request: Request) -> None:
        source = subscription.resource.source
        if source is not None:
            try:
                subscription.clean_up = await self._session.run_author_function(source, subscription.offer)
            except anyio.get_cancelled_exc_class():
                self._drop(subscription)
                if not self._session.home.is_open:
                    raise
                error = ActionError(f"The subscription to {subscription.resource.name!r} cancelled itself")
                return await self._session.refuse(request, error)
            except BaseException as problem:  # an exit of the author's own is its error, and ends nothing else
                self._drop(subscription)
                what = f"The subscription to {subscription.resource.name!r}"
                return await self._session.refuse(request, self._session.error_of(what, problem))
        await self._session.answer(request, None)
        subscription.acknowledged = True
        if subscription.ended:  # while its source was starting
            await self._clean_up(subscription)
        else:
            self.pump()
        return None

    def end(self, id: str) -> None:
        """End a subscription; an unknown one is ignored. Its clean-up runs in a task of its own."""
        subscription = self._open.get(id)
        if subscription is not None:
            self._drop(subscription)
            self._clean_up_soon(subscription)

    def end_removed(self, resources: dict[str, Resource]) -> None:
        """End those whose resource is not among `resources` any more."""
        for subscription in list(self._open.values()):
            if resources.get(subscription.resource.name) is not subscription.resource:
                self.end(subscription.id)

    async def aclose(self) -> None:
        """End all. Their clean-ups go on in the session's home, all at once; see `settled`."""
        subscriptions = list(self._open.values())
        for subscription in subscriptions:
            self._drop(subscription)
        if self._session.home.is_open:
            for subscription in subscriptions:
                self._clean_up_soon(subscription)
            return
        async with anyio.create_task_group() as group:  # nothing can be started in a home that closes
            for subscription in subscriptions:
                group.start_soon(self._clean_up, subscription)

    async def settled(self) -> None:
        """Wait until all that have ended are cleaned up."""
        while self._cleaning:
            self._cleaned = anyio.Event()
            await self._cleaned.wait()

    def _clean_up_soon(self, subscription: Subscription) -> None:
        self._cleaning += 1
        self._session.home.start(self._clean_up_counted, subscription, name="clean-up of a subscription")

    async def _clean_up_counted(self, subscription: Subscription) -> None:
        try:
            await self._clean_up(subscription)
        finally:
            self._cleaning -= 1
            if not self._cleaning:
                self._cleaned.set()

    def _drop(self, subscription: Subscription) -> None:
        subscription.ended = True
        self._open.pop(subscription.id, None)
        if subscription.stop_following is not None:
            subscription.stop_following()

    async def _clean_up(self, subscription: Subscription) -> None:
        clean_up, subscription.clean_up = subscription.clean_up, None
        if clean_up is None:
            return
        try:
            # It runs although the session ends, and for no longer than closing may take.
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + self._grace):
                if callable(clean_up):
                    await self._session.run_author_function(clean_up)
                elif inspect.isawaitable(clean_up):
                    await clean_up
        except anyio.get_cancelled_exc_class():
            if not self._session.home.is_open:
                raise
            logger.error("The clean-up of a subscription to %r cancelled itself", subscription.resource.name)
        except BaseException:  # an exit of the author's own ends nothing else
            logger.exception("The clean-up of a subscription to %r failed", subscription.resource.name)

    def update_text(self, subscription: Subscription, value: Any) -> str | None:
        """The text of an update, or `None` for a value that cannot go on the wire, which is logged."""
        try:
            return self._session.notification_text(
                UPDATED, {"subscriptionId": subscription.id, "value": with_base64(value)}
            )
        except (ValueError, TesseronError) as problem:
            logger.error("A value of resource %r cannot be sent: %s", subscription.resource.name, problem)
            return None

    def pump(self) -> None:
        """Send what is new, one update after the other."""
        if not self._pumping and self._session.home.is_open:
            self._pumping = True
            self._session.home.start(self._pump, name="updates")

    async def _pump(self) -> None:
        try:
            sent = True
            while sent:
                sent = False
                for subscription in list(self._open.values()):
                    if subscription.acknowledged and (text := subscription.take()) is not None:
                        sent = True
                        await self._session.send_text(text)
        finally:
            self._pumping = False
