"""Resources: state an app lets agents read and follow.

A `Resource` knows how it is read, and its followers; who carries the updates is the host. `publish` may be called from
any thread, never waits, and keeps one newest value a follower.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from .errors import RegistrationError
from .unset import UNSET

logger = logging.getLogger("tesseron_py.resources")

Emit: TypeAlias = Callable[[Any], None]
Source: TypeAlias = Callable[[Emit], Any]
"""Starts telling `emit` of new values, and returns what stops it (or `None`). May be `async def`."""


class Follower(Protocol):
    """Who is told of new values, from any thread; returns at once, never raises."""

    def __call__(self, value: Any, /) -> None: ...


class Resource:
    """A declared resource; see `Tesseron.resource`."""

    def __init__(
        self,
        name: str,
        description: str,
        read: Callable[[], Any],
        *,
        subscribable: bool,
        source: Source | None,
        output_schema: dict[str, Any] | None,
    ) -> None:
        self.name: str = name
        """Its name on the wire."""
        self.description: str = description
        """What the agent reads of it."""
        self.read_value = read
        self.subscribable: bool = subscribable
        """Whether agents can follow it."""
        self.source: Source | None = source
        self.output_schema: dict[str, Any] | None = output_schema
        """The JSON Schema of its value, where its type is known."""
        self._lock = threading.Lock()
        self._followers: dict[Follower, None] = {}  # in the order they came

    def __repr__(self) -> str:
        return f"<Resource {self.name}>"

    def __call__(self) -> Any:
        """What its read function returns, for the author's own code."""
        return self.read_value()

    def publish(self, value: Any) -> None:
        """Tell every subscriber the new value; from any thread.

        It never waits and never raises for a slow or absent peer: each subscriber keeps the newest value only, and one
        that cannot be encoded is logged and dropped.
        """
        with self._lock:
            followers = tuple(self._followers)
        for follower in followers:
            follower(value)

    def follow(self, follower: Follower) -> Callable[[], None]:
        """Tell `follower` of every published value until the returned function is called."""
        with self._lock:
            self._followers[follower] = None

        def stop() -> None:
            with self._lock:
                self._followers.pop(follower, None)

        return stop

    def subscribe(self, source: Source) -> Resource:
        """Have new values come from `source(emit)`, which is called once a subscription and returns its clean-up.

        `emit(value)` may be called from any thread. The clean-up runs exactly once: on unsubscribe, on close, and when
        the resource is removed.

        Example:
            ```python
            app.resource("route").read(current).subscribe(lambda emit: router.on_change(emit))
            ```
        """
        if not callable(source):
            raise RegistrationError(f"resource {self.name!r}: subscribe(…) takes a function of emit, not {source!r}")
        if not self.subscribable:
            raise RegistrationError(f"resource {self.name!r} is declared .subscribable(False), so it has no source")
        self.source = source
        return self

    def to_wire(self) -> dict[str, Any]:
        """Its entry in a hello or a list change (Tesseron 1.2 §2)."""
        wire: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "subscribable": self.subscribable,
        }
        if self.output_schema is not None:
            wire["outputSchema"] = self.output_schema
        return wire


class ResourceRegistry(Protocol):
    """Where a finished resource goes: an app."""

    def add(self, resource: Resource, /) -> object: ...


@dataclass(frozen=True)
class ResourceBuilder:
    """Declares a resource step by step.

    Every step returns a new builder; `read(fn)` ends the chain and registers the resource.

    Example:
        ```python
        stats = app.resource("stats").describe("Counters").output(Stats).read(read_stats)
        stats.publish(Stats(open=3))
        ```
    """

    name: str
    registry: ResourceRegistry = field(repr=False)
    description: str | None = None
    output_type: Any = UNSET
    is_subscribable: bool = True
    source: Source | None = None

    def describe(self, text: str) -> ResourceBuilder:
        """What the agent reads of the resource; by default the docstring of its read function."""
        return replace(self, description=text)

    def output(self, type: Any) -> ResourceBuilder:
        """The type of its value; by default the read function's return annotation."""
        return replace(self, output_type=type)

    def subscribable(self, yes: bool = True) -> ResourceBuilder:
        """Whether agents can follow it; by default they can."""
        return replace(self, is_subscribable=yes)

    def subscribe(self, source: Source) -> ResourceBuilder:
        """Have new values come from `source(emit)`; see `Resource.subscribe`."""
        return replace(self, source=source)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise RegistrationError(f"a resource's name is a string that says something, not {self.name!r}")

    def __call__(self, fn: Callable[[], Any]) -> Resource:
        """As `read`, so that `@app.resource("stats")` decorates a read function."""
        return self.read(fn)

    def read(self, fn: Callable[[], Any]) -> Resource:
        """The resource that `fn()` reads, `def` (in a worker thread) or `async def`; it is registered with the app.

        Raises:
            RegistrationError: It cannot be declared like this.
        """
        from .schema.handler import return_annotation
        from .schema.output import output_for

        if not callable(fn):
            raise RegistrationError(f"resource {self.name!r}: read(…) takes a function, not {fn!r}")
        _check_no_parameters(fn, self.name)
        output = output_for(fn, name=self.name, declared=self.output_type, returned=return_annotation(fn))
        doc = inspect.getdoc(fn) if inspect.isroutine(fn) else None
        resource = Resource(
            self.name,
            self.description if self.description is not None else (doc or "").strip(),
            fn,
            subscribable=self.is_subscribable,
            source=None,
            output_schema=output.schema if output is not None else None,
        )
        if self.source is not None:
            resource.subscribe(self.source)
        self.registry.add(resource)
        return resource


def _check_no_parameters(fn: Callable[..., Any], name: str) -> None:
    try:
        inspect.signature(fn).bind()
    except TypeError:
        raise RegistrationError(
            f"resource {name!r}: its read function {getattr(fn, '__qualname__', fn)!r} needs arguments, and is called"
            " without any; have it read from the app's own state"
        ) from None
    except ValueError:  # a builtin without a signature
        pass
