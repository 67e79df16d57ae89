"""Actions: what an app offers an agent, and how one is declared.

An `Action` is a function with what the wire needs to know of it. Builders are immutable: every step returns a new one,
`.handler(fn)` ends the chain. Types become schemas in `schema`; a call is run by the host.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload

from .context import Context, SyncContext
from .errors import RegistrationError
from .protocol.messages import ACTION_NAME, DEFAULT_TIMEOUT
from .unset import UNSET

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from .gate import Gate
    from .schema.output import Output
    from .schema.signature import HandlerSignature

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Annotations:
    """What an author says of an action; hints for agents and clients, which change nothing by themselves.

    Attributes:
        read_only: It changes nothing.
        destructive: It may lose something.
        requires_confirmation: It asks the person before it does anything.
        requires_elicitation: It cannot do its work for a client that cannot ask the person; such a call is refused
            with -32007 before the handler runs.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    requires_confirmation: bool | None = None
    requires_elicitation: bool | None = None

    def to_wire(self) -> dict[str, bool]:
        """The three that Tesseron 1.2 §2 knows, where the author said something."""
        named = {
            "readOnly": self.read_only,
            "destructive": self.destructive,
            "requiresConfirmation": self.requires_confirmation,
        }
        return {name: value for name, value in named.items() if value is not None}


class Action(Generic[P, R_co]):
    """A declared action. Calling it calls its function: no validation, no gate, no timeout, no context of its own."""

    def __init__(
        self,
        fn: Callable[P, R_co],
        *,
        name: str,
        description: str,
        annotations: Annotations,
        timeout: float | None,
        explicit_timeout: bool,
        signature: HandlerSignature,
        output: Output | None,
        strict: bool,
        gate: Gate | None,
    ) -> None:
        self.fn: Callable[P, R_co] = fn
        """The function itself."""
        self.name: str = name
        """Its name on the wire."""
        self.description: str = description
        """What the agent reads of it."""
        self.annotations: Annotations = annotations
        """What its author says of it."""
        self.timeout: float | None = timeout
        """Seconds it may run, waiting for people and models aside; `None` is no limit."""
        self.strict: bool = strict
        """Whether its output is validated before it goes out."""
        self.signature: HandlerSignature = signature
        self.output: Output | None = output
        self.gate: Gate | None = gate
        self._explicit_timeout = explicit_timeout
        self.__doc__ = fn.__doc__
        self.__name__: str = getattr(fn, "__name__", name)
        self.__wrapped__: Callable[P, R_co] = fn

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of its input."""
        return self.signature.input_schema

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of its output, where its type is known."""
        return self.output.schema if self.output is not None else None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.fn(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Action {self.name}>"

    def to_wire(self) -> dict[str, Any]:
        """Its entry in a hello or a list change (Tesseron 1.2 §2; our own fields are ignored by other gateways)."""
        wire: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
        }
        if self.output_schema is not None:
            wire["outputSchema"] = self.output_schema
        if annotations := self.annotations.to_wire():
            wire["annotations"] = annotations
        if self._explicit_timeout:
            wire["timeoutMs"] = 0 if self.timeout is None else max(1, round(self.timeout * 1000))
        if self.strict:
            wire["strictOutput"] = True
        if self.annotations.requires_elicitation:
            wire["requiresElicitation"] = True
        return wire


AnyAction: TypeAlias = Action[..., Any]


class Registry(Protocol):
    """Where a finished action goes: an app."""

    def add(self, action: AnyAction, /) -> object: ...


@dataclass(frozen=True)
class _Declaration:
    """What the steps of a builder have said so far."""

    name: str | None = None
    registry: Registry | None = field(default=None, repr=False)
    description: str | None = None
    input_type: Any = UNSET
    json_schema: Mapping[str, Any] | None = None
    validate: Callable[[Any], Any] | None = None
    output_type: Any = UNSET
    annotations: Annotations = Annotations()
    timeout: float | None = DEFAULT_TIMEOUT
    explicit_timeout: bool = False
    strict: bool = False
    question: str | None = None
    on_refusal: Any = UNSET

    def build(self, fn: Callable[..., Any]) -> AnyAction:
        from .gate import Gate
        from .schema.handler import place_of
        from .schema.output import output_for
        from .schema.signature import read_handler

        if isinstance(fn, Action):
            raise RegistrationError(
                f"{fn!r} is an action already; give its function (`{fn.name}.fn`), or add it with app.add({fn.name})"
            )
        if not callable(fn):
            raise RegistrationError(f"an action needs a function, and {fn!r} cannot be called{_mend_of(fn)}")
        name = self.name if self.name is not None else _name_of(fn)
        _check_name(name, fn)
        signature = read_handler(
            fn, name=name, input_type=self.input_type, json_schema=self.json_schema, validate=self.validate
        )
        output = output_for(fn, name=name, declared=self.output_type, returned=signature.return_annotation)
        if self.strict and output is None:
            raise RegistrationError(
                f"{place_of(fn)}: strict_output() needs the output's type; annotate what it returns, or use .output(…)"
            )
        gate, annotations = None, self.annotations
        if self.question is not None:
            gate = Gate.declare(
                self.question,
                self.on_refusal,
                fields=signature.fields,
                ambiguous=signature.ambiguous,
                where=place_of(fn),
            )
            if annotations.requires_confirmation is None:
                annotations = replace(annotations, requires_confirmation=True)
        action: AnyAction = Action(
            fn,
            name=name,
            description=self.description if self.description is not None else signature.description,
            annotations=annotations,
            timeout=self.timeout,
            explicit_timeout=self.explicit_timeout,
            signature=signature,
            output=output,
            strict=self.strict,
            gate=gate,
        )
        if self.registry is not None:
            self.registry.add(action)
        return action


B = TypeVar("B", bound="ActionSteps")


class ActionSteps:
    """The steps both kinds of builder have."""

    def __init__(self, declaration: _Declaration) -> None:
        self._declaration = declaration

    def _with(self: B, **changes: Any) -> B:
        return type(self)(replace(self._declaration, **changes))

    def describe(self: B, text: str) -> B:
        """What the agent reads of the action; by default the function's docstring."""
        if not isinstance(text, str):
            raise RegistrationError(f"a description is a string, not {text!r}")
        return self._with(description=text)

    def output(self: B, type: Any) -> B:
        """The type of the output; by default the function's return annotation."""
        return self._with(output_type=type)

    def annotate(
        self: B,
        *,
        read_only: bool | None = None,
        destructive: bool | None = None,
        requires_confirmation: bool | None = None,
        requires_elicitation: bool | None = None,
    ) -> B:
        """Say what the action is like; see `Annotations`. What is left out stays as it was."""
        given = {
            "read_only": read_only,
            "destructive": destructive,
            "requires_confirmation": requires_confirmation,
            "requires_elicitation": requires_elicitation,
        }
        for name, value in given.items():
            if value is not None and not isinstance(value, bool):
                raise RegistrationError(f"annotate({name}=…) takes True or False, not {value!r}")
        said = {name: value for name, value in given.items() if value is not None}
        return self._with(annotations=replace(self._declaration.annotations, **said))

    def timeout(self: B, limit: float | timedelta | None) -> B:
        """How long the action may run: seconds, a `timedelta`, or `None` for no limit; by default 60 s.

        The time a person or a model takes to answer does not count.
        """
        seconds = limit.total_seconds() if isinstance(limit, timedelta) else limit
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float))):
            raise RegistrationError(f"a timeout is seconds, a timedelta or None, not {limit!r}")
        if seconds is not None and not 0 < seconds < float("inf"):
            raise RegistrationError(f"a timeout is above 0 seconds, or None for no limit; not {limit!r}")
        return self._with(timeout=seconds, explicit_timeout=True)

    def strict_output(self: B) -> B:
        """Validate what the function returns; what does not fit its type is an error instead of an output."""
        return self._with(strict=True)

    def confirm(self: B, question: str, *, on_refusal: Any = UNSET) -> B:
        """Ask the person before the handler runs; it runs only on a yes.

        Args:
            question: What they read. `{name}` stands for the input's field `name`, shown as plain text of at most 200
                characters; `{{` and `}}` are braces.
            on_refusal: What the call gives back on a refusal, or a function that returns it; by default
                `{"cancelled": true}`, and for a strict action an `ActionError` with that as its data.
        """
        if not isinstance(question, str) or not question.strip():
            raise RegistrationError(f"confirm(…) needs the question the person reads, not {question!r}")
        return self._with(question=question, on_refusal=on_refusal)


class ActionBuilder(ActionSteps):
    """Declares an action step by step.

    Every step returns a new builder; `handler(fn)`, or using the builder as a decorator, ends the chain.

    Example:
        ```python
        @app.action("clearCompleted").describe("Remove every completed todo").confirm("Remove them?").handler
        def clear_completed() -> int: ...
        ```
    """

    @overload
    def input(self, type: type[T], /) -> TypedActionBuilder[T]: ...
    @overload
    def input(self, type: TypeForm[T], /) -> TypedActionBuilder[T]: ...
    @overload
    def input(self, /, *, json_schema: Mapping[str, Any], validate: Callable[[Any], T]) -> TypedActionBuilder[T]: ...
    @overload
    def input(
        self, /, *, json_schema: Mapping[str, Any], validate: None = None
    ) -> TypedActionBuilder[dict[str, Any]]: ...
    def input(
        self,
        type: Any = UNSET,
        /,
        *,
        json_schema: Mapping[str, Any] | None = None,
        validate: Callable[[Any], Any] | None = None,
    ) -> TypedActionBuilder[Any]:
        """Take the whole input as one value, in the first parameter that is not the context.

        Args:
            type: A model, dataclass or TypedDict; the input is validated into it.
            json_schema: Instead: a JSON Schema that is published as it stands.
            validate: Checks and converts an input for `json_schema`; a ValueError refuses it. Without it, all is taken.
        """
        if (type is UNSET) == (json_schema is None):
            raise RegistrationError("input(…) takes a type, or json_schema=…; give one of them")
        if validate is not None and json_schema is None:
            raise RegistrationError("input(…, validate=…) goes with json_schema=…; a type validates by itself")
        return TypedActionBuilder(
            replace(self._declaration, input_type=type, json_schema=json_schema, validate=validate)
        )

    def handler(self, fn: Callable[P, R]) -> Action[P, R]:
        """The action that `fn` handles; a builder that came from an app adds it there.

        Raises:
            RegistrationError: It cannot be declared like this; the message says where and how to mend it.
        """
        return cast("Action[P, R]", self._declaration.build(fn))

    def __call__(self, fn: Callable[P, R]) -> Action[P, R]:
        """`handler(fn)`, for use as a decorator."""
        return self.handler(fn)


class TypedActionBuilder(ActionSteps, Generic[T]):
    """An `ActionBuilder` whose input is one value of type `T`."""

    @overload
    def handler(self, fn: Callable[[Context, T], R]) -> Action[[Context, T], R]: ...
    @overload
    def handler(self, fn: Callable[[SyncContext, T], R]) -> Action[[SyncContext, T], R]: ...
    @overload
    def handler(self, fn: Callable[Concatenate[T, P], R]) -> Action[Concatenate[T, P], R]: ...
    def handler(self, fn: Callable[..., Any]) -> AnyAction:
        """The action that `fn` handles; see `ActionBuilder.handler`."""
        return self._declaration.build(fn)

    @overload
    def __call__(self, fn: Callable[[Context, T], R]) -> Action[[Context, T], R]: ...
    @overload
    def __call__(self, fn: Callable[[SyncContext, T], R]) -> Action[[SyncContext, T], R]: ...
    @overload
    def __call__(self, fn: Callable[Concatenate[T, P], R]) -> Action[Concatenate[T, P], R]: ...
    def __call__(self, fn: Callable[..., Any]) -> AnyAction:
        """`handler(fn)`, for use as a decorator."""
        return self._declaration.build(fn)


@overload
def action(name: Callable[P, R], /) -> Action[P, R]: ...
@overload
def action(name: str | None = None, /) -> ActionBuilder: ...
def action(name: Any = None, /) -> Any:
    """Declare an action that belongs to no app yet; `app.add(…)` adds it.

    Example:
        ```python
        purge = action("purge").annotate(destructive=True).handler(purge_cache)
        app.add(purge)
        ```
    """
    return declare(name, None)


def declare(name: Any, registry: Registry | None) -> Any:
    """A builder for `name`, or the action of a bare function."""
    if name is None or isinstance(name, str):
        return ActionBuilder(_Declaration(name=name, registry=registry))
    return _Declaration(registry=registry).build(name)


def _name_of(fn: Any) -> str:
    from .schema.handler import place_of

    while hasattr(fn, "func") and not hasattr(fn, "__name__"):  # a functools.partial
        fn = fn.func
    name = getattr(fn, "__name__", None)
    if isinstance(name, str) and name != "<lambda>":
        return name
    raise RegistrationError(f'{place_of(fn)}: it has no name of its own; give one: app.action("name").handler(…)')


def _mend_of(fn: Any) -> str:
    if isinstance(fn, classmethod):
        name = fn.__func__.__name__
        return f"; a class method is an action once its class is there: app.action(Thing.{name})"
    if inspect.iscoroutine(fn):
        return f"; give the function itself, without calling it: {fn.__name__}"
    return ""


def _check_name(name: str, fn: Any) -> None:
    from .schema.handler import place_of
    from .schema.naming import legal_name

    if ACTION_NAME.fullmatch(name) is None:
        raise RegistrationError(
            f"{place_of(fn)}: {name!r} is no name for an action; use letters, digits, _ and -, a letter first:"
            f' app.action("{legal_name(name)}")'
        )
