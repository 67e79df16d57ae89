"""A handler's parameters as the keys of its input: annotation, default and description in one, or what is wrong.

Also the corrected spelling of a parameter, for messages.
"""

from __future__ import annotations

import collections.abc
import dataclasses
from collections.abc import Callable, Hashable, Iterator
from enum import Enum
from pathlib import PurePath
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Union, get_args, get_origin

import typing_extensions
from pydantic import AliasChoices, AliasPath, BaseModel
from pydantic.fields import Field, FieldInfo

from ..unset import UNSET
from .annotations import Unresolved, free_variables
from .handler import Handler, Parameter

if TYPE_CHECKING:
    from .definition import Definition

    Edit = Callable[[Definition], None]

_QUALIFIERS: Final[dict[Any, str]] = {
    Final: "variables",
    ClassVar: "classes",
    dataclasses.InitVar: "dataclasses",
    typing_extensions.Required: "TypedDicts",
    typing_extensions.NotRequired: "TypedDicts",
    typing_extensions.ReadOnly: "TypedDicts",
}
_LISTS: Final = (collections.abc.Collection, collections.abc.Iterator, collections.abc.Generator)
_NEAR: Final[dict[Any, str]] = {
    range: "list[int]",
    bytearray: "bytes",
    memoryview: "bytes",
    typing_extensions.LiteralString: "str",
}
_OF_TEXT: Final = frozenset(
    {"datetime", "decimal", "uuid", "fractions", "ipaddress"}
)  # modules; JSON has theirs as text
_CONTEXTS: Final = ("ctx", "context")


def input_annotation(parameter: Parameter, described: str | None, handler: Handler) -> Any:
    """The parameter as the annotation of a TypedDict's key, its default and description included.

    Args:
        parameter: The parameter.
        described: What the docstring says of it; a description at the parameter itself wins.
        handler: Gets what is wrong among its faults; then `UNSET` comes back.
    """
    annotation, default = parameter.annotation, parameter.default
    if not _check(parameter, handler):
        return UNSET
    given = default if isinstance(default, FieldInfo) else None
    text = _description(annotation, given) or described
    if text is not None and (given is None or given.description is None):
        annotation = Annotated[annotation, Field(description=text)]
    if given is not None:
        return Annotated[annotation, given]
    if default is not UNSET:
        if any(info.default_factory is not None for info in _field_infos(annotation)):
            # Both together are refused, and the default in the signature is what a caller in Python gets.
            return Annotated[annotation, Field(default_factory=lambda: default)]
        return Annotated[annotation, Field(default=default)]
    if _is_optional(annotation) and all(info.is_required() for info in _field_infos(annotation)):
        # It is published as optional, since clients leave out what they have no value for.
        return Annotated[annotation, Field(default=None)]
    return annotation


def _check(parameter: Parameter, handler: Handler) -> bool:
    name, annotation, faults = parameter.name, parameter.annotation, handler.faults
    if annotation is UNSET:
        _check_bare(parameter, handler)
        return False
    if isinstance(annotation, Unresolved):
        corrected = annotation.corrected
        faults.add(
            f"the annotation of {name!r}, {annotation.mend()}",
            None if corrected is None else _annotate(name, corrected),
            at=name,
        )
        return False
    inner = _without_metadata(annotation)
    qualifier = next((each for each in _QUALIFIERS if _is_qualifier(inner, each)), None)
    if qualifier is not None:
        meant = inner.type if isinstance(inner, dataclasses.InitVar) else next(iter(get_args(inner)), str)
        faults.add(
            f"the parameter {name!r} is annotated {_spelled(inner)}, and {_spelled(qualifier)} is for"
            f" {_QUALIFIERS[qualifier]}; write what it takes, such as `{name}: {_spelled(meant)}`",
            _annotate(name, _spelled(meant)),
            at=name,
        )
        return False
    if isinstance(inner, BaseModel):
        kind = type(inner).__qualname__
        faults.add(
            f"the annotation of {name!r} is an object of {kind} and no type; write `{name}: {kind}`",
            _annotate(name, _spelled(type(inner))),
            at=name,
        )
        return False
    free = next(free_variables(annotation), None)
    if free is not None:
        faults.add(
            f"the parameter {name!r} has the type variable {free.__name__}, of which nothing says what it stands for;"
            f" write a type, or give {free.__name__} a bound",
            lambda definition: _replace_word(definition, name, free.__name__, "Any"),
            at=name,
        )
        return False
    if _holds(annotation, typing_extensions.Self):
        faults.add(
            f"the parameter {name!r} is annotated Self, and the handler is no method of an object; name the class",
            at=name,
        )
        return False
    if _holds(annotation, type):
        faults.add(
            f"the parameter {name!r} takes a class ({_spelled(annotation)}), and JSON has no classes; take its name,"
            " and look the class up",
            _annotate(name, "str"),
            at=name,
        )
        return False
    given = parameter.default if isinstance(parameter.default, FieldInfo) else None
    for info in (given, *_field_infos(annotation)):
        if info is not None and not _has_wire_name(info):
            faults.add(
                f"the alias of {name!r} is a path into other data; give it a name of its own",
                _without_default(name, bare(annotation)) if info is given else annotated(name, bare(annotation)),
                at=name,
            )
            return False
    return True


def _check_bare(parameter: Parameter, handler: Handler) -> None:
    name, faults = parameter.name, handler.faults
    first = handler.parameters[0].name == name
    if first and name in ("self", "cls"):
        function = handler.where.partition(" (")[0]
        owner, _, method = function.rpartition(".")
        owner = owner.rpartition(".")[2] or "Thing"
        bound = f"{owner}.{method}" if name == "cls" else f"{owner}().{method}"
        faults.add(
            f"{name!r} is not bound to anything; declare the action with the bound method: app.action({bound})",
            lambda definition: definition.drop(name),
            at=name,
        )
        return
    if name.startswith(_CONTEXTS):
        kind = "Context" if handler.is_async else "SyncContext"
        context = f"; the call's own context is `{name}: {kind}`"
        taken = handler.context is not None
        faults.add(
            f"the parameter {name!r} has no annotation; write what it takes, such as `{name}: str`{context}",
            _annotate(name, "str" if taken else kind),
            at=name,
        )
        return
    type = _guess(parameter.default)
    faults.add(
        f"the parameter {name!r} has no annotation; write what it takes, such as `{name}: {type}`",
        _annotate(name, type),
        at=name,
    )


def _guess(default: Any) -> str:
    """The type of a parameter, by its default."""
    if default is None:
        return "str | None"
    if isinstance(default, (bool, int, float, bytes)):
        return type(default).__name__
    if isinstance(default, (list, tuple, set, frozenset)):
        inner = {type(each).__name__ for each in default if isinstance(each, (bool, int, float, str))}
        item = inner.pop() if len(inner) == 1 else "str"
        return f"{type(default).__name__}[{item}{', ...' if isinstance(default, tuple) else ''}]"
    if isinstance(default, dict):
        return "dict[str, Any]"
    kind = type(default)
    if isinstance(default, PurePath):
        return "Path"
    is_json = isinstance(default, Enum) or dataclasses.is_dataclass(kind) or hasattr(kind, "__pydantic_core_schema__")
    return kind.__name__ if is_json or kind.__module__ in _OF_TEXT else "str"


# What an annotation holds -----------------------------------------------------------------------------------------


def bare(annotation: Any) -> Any:
    """An annotation without its metadata."""
    return _without_metadata(annotation)


def _without_metadata(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _is_qualifier(annotation: Any, qualifier: Any) -> bool:
    if qualifier is dataclasses.InitVar:
        return annotation is qualifier or isinstance(annotation, qualifier)
    return annotation is qualifier or get_origin(annotation) is qualifier


def _holds(annotation: Any, wanted: Any) -> bool:
    if annotation is wanted or get_origin(annotation) is wanted:
        return True
    return any(_holds(each, wanted) for each in get_args(_without_metadata(annotation)))


def _description(annotation: Any, given: FieldInfo | None) -> str | None:
    """What the author says of a parameter in its annotation: `Field`'s description, a `Doc`, or a bare text."""
    if given is not None and given.description is not None:
        return given.description
    metadata = list(_metadata(annotation))
    fields = [each.description for each in metadata if isinstance(each, FieldInfo) and each.description is not None]
    if fields:
        return fields[-1]
    documents = [each.documentation for each in metadata if isinstance(each, typing_extensions.Doc)]
    if documents:
        return documents[-1]
    texts = [each for each in metadata if isinstance(each, str)]
    return texts[0] if len(texts) == 1 else None


def _metadata(annotation: Any) -> Iterator[Any]:
    """The metadata of an annotation, that of aliases and of the one type that is not `None` first."""
    if isinstance(annotation, typing_extensions.TypeAliasType):
        yield from _metadata(annotation.__value__)
    elif get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        yield from _metadata(inner)
        yield from metadata
    elif _is_optional(annotation):
        inner = [each for each in get_args(annotation) if each is not type(None)]
        if len(inner) == 1:
            yield from _metadata(inner[0])


def _field_infos(annotation: Any) -> list[FieldInfo]:
    if get_origin(annotation) is not Annotated:
        return []
    return [each for each in get_args(annotation)[1:] if isinstance(each, FieldInfo)]


def _has_wire_name(info: FieldInfo) -> bool:
    alias = info.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return any(not isinstance(each, AliasPath) for each in choices)


def _is_optional(annotation: Any) -> bool:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_optional(get_args(annotation)[0])
    return (origin is Union or origin is UnionType) and type(None) in get_args(annotation)


# Corrections ------------------------------------------------------------------------------------------------------


def _spelled(annotation: Any) -> str:
    from .definition import spelled  # only where something is wrong

    return spelled(annotation)


def _annotate(name: str, annotation: str) -> Edit:
    return lambda definition: definition.annotate(name, annotation)


def _without_default(name: str, annotation: Any) -> Edit:
    def edit(definition: Definition) -> None:
        definition.annotate(name, _spelled(annotation))
        if (parameter := definition[name]) is not None:
            parameter.default = None

    return edit


def _replace_word(definition: Definition, name: str, old: str, new: str) -> None:
    parameter = definition[name]
    if parameter is not None and parameter.annotation is not None:
        parameter.replace_word(old, new)


def annotated(name: str | None, annotation: Any) -> Edit | None:
    """The parameter with that annotation."""
    return None if name is None else _annotate(name, _spelled(annotation))


def optional(parameter: Parameter) -> Edit:
    """The parameter with a default."""
    name = parameter.name
    known = parameter.annotation is not UNSET and not isinstance(parameter.annotation, Unresolved)

    def edit(definition: Definition) -> None:
        if known and not _is_optional(parameter.annotation):
            definition.annotate(name, f"{_spelled(bare(parameter.annotation))} | None")
        definition.give_default(name, "None")

    return edit


def replaced(parameter: Parameter) -> Edit | None:
    """The parameter with a type that JSON has values for, where one is near; `None` where its own can be mended."""
    name, annotation = parameter.name, bare(parameter.annotation)
    members = [each for each in get_args(annotation) if each is not type(None)] if _is_optional(annotation) else []
    if members and all(_is_callable(each) for each in members):
        annotation = members[0]
    if _is_callable(annotation):
        return _annotate(name, "…") if parameter.required else lambda definition: definition.drop(name)
    near = _near(annotation)
    return None if near is None else _annotate(name, near)


def _is_callable(annotation: Any) -> bool:
    return annotation is Callable or get_origin(annotation) is Callable or annotation in (type(len), type(_near))


def _near(annotation: Any) -> str | None:
    """A type that JSON has values for, in place of one it has none for."""
    origin, args = get_origin(annotation) or annotation, get_args(annotation)
    if origin is typing_extensions.Unpack:
        return _spelled(args[0])
    if not isinstance(origin, Hashable):
        return None
    if origin in _NEAR:
        return _NEAR[origin]
    if not isinstance(origin, type) or origin.__module__ not in ("builtins", "collections", "collections.abc"):
        return None
    if issubclass(origin, collections.abc.Mapping):
        return f"dict[str, {_spelled(args[1]) if len(args) == 2 else 'Any'}]"
    if issubclass(origin, _LISTS) and not issubclass(origin, tuple):
        return f"list[{_spelled(args[0]) if args else 'str'}]"
    return None
