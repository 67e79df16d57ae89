"""A handler read as Python: its parameters with resolved annotations, whether it is async, and where it stands.

Knows callables, not schemas; `signature` makes an input of what is found here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from ..errors import RegistrationError
from ..unset import UNSET
from .annotations import Scope, Unresolved
from .faults import Faults

if TYPE_CHECKING:
    from .definition import Definition

__all__ = [
    "Handler",
    "Parameter",
    "Unresolved",
    "is_async",
    "is_function",
    "layers_of",
    "place_of",
    "read",
    "return_annotation",
]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its annotation resolved, `UNSET` or `Unresolved`; its default or `UNSET`."""

    name: str
    annotation: Any
    default: Any

    @property
    def required(self) -> bool:
        return self.default is UNSET


@dataclass(frozen=True, slots=True)
class Handler:
    """A handler's parameters, the context aside.

    Attributes:
        where: The function and where it stands, for messages.
        is_async: Calling it gives an awaitable.
        parameters: In order; what a `functools.partial` has bound is not among them.
        context: The name of the parameter that takes the context, or `None`.
        returns: The return annotation, resolved, or `UNSET`.
        faults: What is wrong so far. Whoever has looked at the rest refuses the handler for all of it at once.
    """

    where: str
    is_async: bool
    parameters: tuple[Parameter, ...]
    context: str | None
    returns: Any
    faults: Faults = field(repr=False, compare=False)


def read(fn: Callable[..., Any]) -> Handler:
    """What `fn` is as a handler.

    Raises:
        RegistrationError: Its parameters cannot be read; the message says where it stands and how to mend it.
    """
    layers = layers_of(fn)
    innermost, asynchronous = layers[-1], is_async(fn)
    faults = Faults(place_of(fn), lambda: _definition(fn, innermost, asynchronous))
    signature = _signature(fn, faults.where)
    _check_result(fn, layers, faults)
    scope = Scope(innermost, _owner(layers))
    bound = {name for layer in layers if isinstance(layer, functools.partial) for name in layer.keywords}
    parameters: list[Parameter] = []
    context: str | None = None
    _check_kinds([each for each in signature.parameters.values() if each.name not in bound], innermost, faults)
    for parameter in signature.parameters.values():
        if parameter.name in bound or parameter.kind in _STARRED:
            continue
        annotation = scope.resolved(parameter.annotation)
        kinds = _contexts(annotation)
        if not kinds and not (annotation is UNSET and parameter.name == "ctx"):
            default = UNSET if parameter.default is inspect.Parameter.empty else parameter.default
            parameters.append(Parameter(parameter.name, annotation, default))
            continue
        if context is not None:
            faults.add(
                f"{context!r} and {parameter.name!r} both take the context; keep one",
                functools.partial(_drop, name=parameter.name),
                at=parameter.name,
            )
            continue
        context = parameter.name
        _check_context(kinds, context, layers, faults)
    returns = fn if inspect.isclass(fn) else _return(signature, scope, faults)
    return Handler(faults.where, asynchronous, tuple(parameters), context, returns, faults)


def return_annotation(fn: Callable[..., Any]) -> Any:
    """What `fn` says it returns, resolved; `UNSET` when it says nothing or has no signature to read.

    Raises:
        RegistrationError: The annotation cannot be resolved.
    """
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return UNSET
    layers = layers_of(fn)
    faults = Faults(place_of(fn), lambda: _definition(fn, layers[-1], is_async(fn)))
    found = _return(signature, Scope(layers[-1], _owner(layers)), faults)
    if faults:
        faults.refuse()
    return found


def is_async(fn: Callable[..., Any]) -> bool:
    """Whether `fn`, or what it wraps, is an `async def`."""
    return any(inspect.iscoroutinefunction(layer) for layer in layers_of(fn))


def is_function(value: object) -> bool:
    """Whether `value` is a function where a type is meant: pydantic takes one, and calls it with what it validates."""
    return inspect.isroutine(value) or isinstance(value, functools.partial)


def place_of(fn: Callable[..., Any]) -> str:
    """The function and where it stands: `remove (app.py:12)`."""
    innermost = layers_of(fn)[-1]
    name = getattr(innermost, "__qualname__", None) or type(innermost).__qualname__
    code = getattr(innermost, "__code__", None)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else str(name)


def layers_of(fn: Any, *, wrapped: bool = True) -> list[Any]:
    """`fn` and what it wraps, down to the function that does the work.

    Without `wrapped` it ends at a decorator's function, which may make something else of what it wraps.
    """
    layers: list[Any] = []
    while fn is not None and not any(fn is layer for layer in layers):
        layers.append(fn)
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif inspect.ismethod(fn):
            fn = fn.__func__
        elif callable(inner := getattr(fn, "__wrapped__", None)):
            fn = inner if wrapped else None
        elif inspect.isclass(fn):
            fn = fn.__init__ if inspect.isfunction(fn.__init__) else None
        elif inspect.isroutine(fn):
            fn = None
        else:
            fn = type(fn).__call__ if callable(fn) else None
    return layers


def _owner(layers: list[Any]) -> Any:
    """The object or class whose method does the work."""
    for layer, below in zip(layers, [*layers[1:], None], strict=True):
        if inspect.ismethod(layer):
            return layer.__self__
        called = inspect.getattr_static(type(layer), "__call__", None)
        if inspect.isclass(layer) or (below is not None and below is called):
            return layer
    return None


def _definition(fn: Callable[..., Any], innermost: Any, is_async: bool) -> Definition | None:
    from .definition import definition_of  # only where something is wrong

    return definition_of(fn, innermost, is_async=is_async or inspect.isasyncgenfunction(innermost))


def _signature(fn: Callable[..., Any], where: str) -> inspect.Signature:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError, NameError) as error:  # NameError: annotations evaluated late, from Python 3.14 on
        raise RegistrationError(
            f"{where}: its parameters cannot be read ({error}); wrap it in a `def` with annotated parameters"
        ) from error


# What is wrong ----------------------------------------------------------------------------------------------------

_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _drop(definition: Definition, *, name: str) -> None:
    definition.drop(name)


def _check_result(fn: Callable[..., Any], layers: list[Any], faults: Faults) -> None:
    """What calling it gives is an output, and an agent's arguments reach it by name."""
    outer = layers_of(fn, wrapped=False)
    module = getattr(outer[-1], "__globals__", {}).get("__name__")
    generates = any(inspect.isgeneratorfunction(layer) for layer in outer)
    generates_later = any(inspect.isasyncgenfunction(layer) for layer in outer) or (
        any(inspect.isasyncgenfunction(layer) for layer in layers)
        and not any(inspect.iscoroutinefunction(layer) for layer in outer)
    )
    if module == "contextlib":
        faults.add("a context manager gives no output; write a function that enters it and returns what it works out")
    elif module == "functools" and hasattr(outer[-1], "register"):
        faults.add(
            "a single-dispatch function chooses by its first positional argument, and agents give names; write a"
            " function that calls it, its parameter annotated with the union of the types"
        )
        faults.refuse()
    elif generates or generates_later:
        faults.add(
            f"{'an async generator' if generates_later else 'a generator'} gives no output; return a list, or report"
            " with progress",
            lambda definition: definition.return_list(),
        )


def _check_kinds(parameters: list[inspect.Parameter], innermost: Any, faults: Faults) -> None:
    starred = [each for each in parameters if each.kind in _STARRED]
    wraps = len(starred) == 2 and len(parameters) == 2 and "<locals>" in getattr(innermost, "__qualname__", "")
    for parameter in starred:
        stars = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else "**"
        faults.add(
            f"{stars}{parameter.name} has no names an agent could give; name every parameter, or take the"
            " input as one value with .input(…)",
            None if wraps else functools.partial(_unpack, name=parameter.name),
            at=parameter.name,
        )
    if wraps:
        faults.add("if it is a decorator's wrapper, give it @functools.wraps(fn), and it has the parameters of fn")
    positional = [each.name for each in parameters if each.kind is inspect.Parameter.POSITIONAL_ONLY]
    if positional:
        named = " and ".join(map(repr, positional))
        one = len(positional) == 1
        faults.add(
            f"the parameter{'' if one else 's'} {named} {'is' if one else 'are'} positional-only, and agents give"
            " names; remove the `/`",
            lambda definition: definition.give_names(),
        )


def _unpack(definition: Definition, *, name: str) -> None:
    definition.unpack(name)


def _check_context(kinds: frozenset[str], name: str, layers: list[Any], faults: Faults) -> None:
    asynchronous = any(inspect.iscoroutinefunction(layer) for layer in layers)
    right = "Context" if asynchronous else "SyncContext"

    def annotate(definition: Definition) -> None:
        definition.annotate(name, right)

    if asynchronous and kinds == {"SyncContext"}:
        if inspect.iscoroutinefunction(layers[-1]):
            message = f"an `async def` handler takes Context; write `{name}: Context`"
        else:
            message = (
                f"an `async def` wraps it, so it runs in the event loop, where nothing may wait as SyncContext does;"
                f" make it an `async def` with `{name}: Context`, or take the wrapper off"
            )
        faults.add(message, annotate, at=name)
    elif not asynchronous and kinds == {"Context"}:
        faults.add(
            f"a `def` handler runs in a worker thread and takes SyncContext; write `{name}: SyncContext`, or"
            " make it an `async def`",
            annotate,
            at=name,
        )
    elif not kinds:
        faults.tidy(annotate)


def _return(signature: inspect.Signature, scope: Scope, faults: Faults) -> Any:
    found = scope.resolved(signature.return_annotation)
    if not isinstance(found, Unresolved):
        return found
    corrected = found.corrected
    faults.add(
        f"the return annotation {found.mend()}",
        None if corrected is None else lambda definition: definition.return_annotation(corrected),
    )
    return UNSET


# Annotations -----------------------------------------------------------------------------------------------------


def _contexts(annotation: Any) -> frozenset[str]:
    """Which of `Context` and `SyncContext` an annotation names, also within `Annotated` and unions."""
    from ..context import Context, SyncContext

    origin = get_origin(annotation)
    if origin is Annotated:
        return _contexts(get_args(annotation)[0])
    if origin is Union or origin is UnionType:
        return frozenset().union(*(_contexts(each) for each in get_args(annotation)))
    known: Mapping[str, type] = {"Context": Context, "SyncContext": SyncContext}
    return frozenset(
        name for name, kind in known.items() if isinstance(annotation, type) and issubclass(annotation, kind)
    )
