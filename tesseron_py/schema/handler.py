"""A handler read as Python: its parameters with resolved annotations, whether it is async, and where it stands.

Knows callables, not schemas; `signature` makes an input of what is found here.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

from ..errors import RegistrationError
from ..unset import UNSET


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An annotation that is no type here."""

    text: str
    reason: str

    def mend(self) -> str:
        return (
            f"{self.text!r} cannot be resolved ({self.reason}); define or import it at module level, before the"
            " handler and not only under TYPE_CHECKING or inside a function"
        )


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
    """

    where: str
    is_async: bool
    parameters: tuple[Parameter, ...]
    context: str | None
    returns: Any


def read(fn: Callable[..., Any]) -> Handler:
    """What `fn` is as a handler.

    Raises:
        RegistrationError: It cannot be one; the message says where it stands and how to mend it.
    """
    layers = _layers(fn)
    innermost = layers[-1]
    where = place_of(fn)
    if any(inspect.isasyncgenfunction(layer) for layer in layers):
        raise RegistrationError(f"{where}: an async generator gives no output; return a list, or report with progress")
    if any(inspect.isgeneratorfunction(layer) for layer in _layers(fn, wrapped=False)):
        raise RegistrationError(f"{where}: a generator gives no output; return a list, or report with progress")
    signature = _signature(fn, where)
    namespaces = _namespaces(innermost)
    bound = {name for layer in layers if isinstance(layer, functools.partial) for name in layer.keywords}
    parameters: list[Parameter] = []
    context: str | None = None
    for parameter in signature.parameters.values():
        if parameter.name in bound:
            continue
        _check_kind(parameter, where)
        annotation = _resolved(parameter.annotation, namespaces)
        kinds = _contexts(annotation)
        if not kinds and not (annotation is UNSET and parameter.name == "ctx"):
            default = UNSET if parameter.default is inspect.Parameter.empty else parameter.default
            parameters.append(Parameter(parameter.name, annotation, default))
            continue
        if context is not None:
            raise RegistrationError(f"{where}: {context!r} and {parameter.name!r} both take the context; keep one")
        _check_context(kinds, parameter.name, is_async(fn), where)
        context = parameter.name
    returns = fn if inspect.isclass(fn) else _return(signature, namespaces, where)
    return Handler(where, is_async(fn), tuple(parameters), context, returns)


def return_annotation(fn: Callable[..., Any]) -> Any:
    """What `fn` says it returns, resolved; `UNSET` when it says nothing or has no signature to read.

    Raises:
        RegistrationError: The annotation cannot be resolved.
    """
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return UNSET
    return _return(signature, _namespaces(_layers(fn)[-1]), place_of(fn))


def is_async(fn: Callable[..., Any]) -> bool:
    """Whether `fn`, or what it wraps, is an `async def`."""
    return any(inspect.iscoroutinefunction(layer) for layer in _layers(fn))


def is_function(value: object) -> bool:
    """Whether `value` is a function where a type is meant: pydantic takes one, and calls it with what it validates."""
    return inspect.isroutine(value) or isinstance(value, functools.partial)


def place_of(fn: Callable[..., Any]) -> str:
    """The function and where it stands: `remove (app.py:12)`."""
    innermost = _layers(fn)[-1]
    name = getattr(innermost, "__qualname__", None) or type(innermost).__qualname__
    code = getattr(innermost, "__code__", None)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else str(name)


def _layers(fn: Any, *, wrapped: bool = True) -> list[Any]:
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


def _signature(fn: Callable[..., Any], where: str) -> inspect.Signature:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError, NameError) as error:  # NameError: annotations evaluated late, from Python 3.14 on
        raise RegistrationError(
            f"{where}: its parameters cannot be read ({error}); wrap it in a `def` with annotated parameters"
        ) from error


def _check_kind(parameter: inspect.Parameter, where: str) -> None:
    match parameter.kind:
        case inspect.Parameter.VAR_POSITIONAL | inspect.Parameter.VAR_KEYWORD:
            stars = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else "**"
            raise RegistrationError(
                f"{where}: {stars}{parameter.name} has no names an agent could give; name every parameter, or take the"
                " input as one value with .input(…)"
            )
        case inspect.Parameter.POSITIONAL_ONLY:
            raise RegistrationError(
                f"{where}: the parameter {parameter.name!r} is positional-only, and agents give names; remove the `/`"
            )


def _check_context(kinds: frozenset[str], name: str, is_async: bool, where: str) -> None:
    if is_async and kinds == {"SyncContext"}:
        raise RegistrationError(f"{where}: an `async def` handler takes Context; write `{name}: Context`")
    if not is_async and kinds == {"Context"}:
        raise RegistrationError(
            f"{where}: a `def` handler runs in a worker thread and takes SyncContext; write `{name}: SyncContext`, or"
            " make it an `async def`"
        )


def _return(signature: inspect.Signature, namespaces: _Namespaces, where: str) -> Any:
    found = _resolved(signature.return_annotation, namespaces)
    if isinstance(found, Unresolved):
        raise RegistrationError(f"{where}: the return annotation {found.mend()}")
    return found


# Annotations -----------------------------------------------------------------------------------------------------

_Namespaces: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
_PACKAGE: Final = __name__.partition(".")[0]


def _namespaces(fn: Any) -> _Namespaces:
    """What the annotations of `fn` may name: its module's globals, and what it closes over."""
    from .. import context

    module: dict[str, Any] = getattr(fn, "__globals__", {})
    # These are often imported for type checkers alone.
    ours = {"Context": context.Context, "SyncContext": context.SyncContext, _PACKAGE: sys.modules[_PACKAGE]}
    local: dict[str, Any] = {name: value for name, value in ours.items() if name not in module}
    local |= {parameter.__name__: parameter for parameter in getattr(fn, "__type_params__", ())}
    names = getattr(getattr(fn, "__code__", None), "co_freevars", ())
    for name, cell in zip(names, getattr(fn, "__closure__", None) or (), strict=False):
        try:
            local[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            pass
    return module, local


def _resolved(annotation: Any, namespaces: _Namespaces) -> Any:
    if annotation is inspect.Parameter.empty:
        return UNSET
    holder = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return get_type_hints(holder, *namespaces, include_extras=True)["it"]
    except Exception as error:
        # An annotation is any expression, so evaluating it raises anything.
        text = annotation if isinstance(annotation, str) else repr(annotation)
        return Unresolved(text, str(error).splitlines()[0] if str(error) else type(error).__name__)


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
