"""What an action's handler takes: its published input schema, and the way from an agent's arguments to a call.

Everything is worked out when the action is declared; a call costs one pass through pydantic. Three kinds of input:
the handler's own parameters, one value of a type after `.input(T)`, or one value by a JSON Schema of the author's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import AliasChoices, AliasPath, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import Field, FieldInfo
from typing_extensions import TypedDict

from ..errors import InvalidInput, RegistrationError
from ..jsontext import decode, encode
from ..unset import UNSET
from .generate import input_document, named, output_schema, reason
from .handler import Handler, Parameter, Unresolved, is_function, read, return_annotation
from .inline import inline_schema
from .issues import Issue, Mismatch, issues_of, kind
from .names import read_fields, wire_names
from .validation import JsonValidator

__all__ = ["Bound", "HandlerSignature", "inline_schema", "output_schema", "read_handler", "return_annotation"]


_make_typed_dict: Any = TypedDict  # type checkers want its arguments as literals


class Bound:
    """One call's arguments, validated."""

    __slots__ = ("_arguments", "_context", "_names", "_value")

    def __init__(self, arguments: Mapping[str, Any], context: str | None, value: Any, names: Mapping[str, str]) -> None:
        self._arguments = arguments
        self._context = context
        self._value = value
        self._names = names

    @property
    def values(self) -> Mapping[str, Any]:
        """The validated top-level values, by their names in Python and on the wire; what is absent is left out."""
        return read_fields(self._value, self._names)

    def call(self, fn: Callable[..., Any], context: Any) -> Any:
        """`fn` with these arguments, and `context` where its parameter is."""
        if self._context is None:
            return fn(**self._arguments)
        return fn(**self._arguments, **{self._context: context})


@dataclass(frozen=True, slots=True)
class HandlerSignature:
    """What a handler takes.

    Attributes:
        input_schema: The JSON Schema that is published; its root is an object.
        is_async: Calling the handler gives an awaitable.
        context_parameter: The name of the parameter that takes the context, or `None`.
        return_annotation: Resolved, or `UNSET` when there is none.
        fields: The names that may stand in a question about a call: the fields' names in Python and on the wire.
    """

    input_schema: dict[str, Any]
    is_async: bool
    context_parameter: str | None
    return_annotation: Any
    fields: frozenset[str]
    _names: Mapping[str, str] = field(repr=False)
    _validate: Callable[[Any], Any] = field(repr=False)
    _value_parameter: str | None = field(repr=False)
    _spread: bool = field(repr=False)  # the value holds the arguments by name, instead of being one

    def bind(self, raw: Any) -> Bound:
        """The agent's arguments, validated (Tesseron 1.2 §4).

        Args:
            raw: The `input` of an invoke: a JSON object; `None` counts as `{}`.

        Raises:
            InvalidInput: They do not fit; `data` is the list of all `{message, path}`.

        Example:
            ```python
            bound = signature.bind({"text": "milk"})
            bound.call(add_todo, context)
            ```
        """
        if raw is None:
            raw = {}
        elif not isinstance(raw, dict):
            if not isinstance(raw, Mapping):
                issue = Issue(f"the arguments are an object of names and values, not {kind(raw)}", [])
                raise InvalidInput(issue.message, [issue.to_wire()])
            raw = dict(raw)
        try:
            value = self._validate(raw)
        except Mismatch as error:
            raise InvalidInput(str(error), error.data) from None
        name = self._value_parameter
        arguments = value if self._spread else {} if name is None else {name: value}
        return Bound(arguments, self.context_parameter, value, self._names)


def read_handler(
    fn: Callable[..., Any],
    *,
    name: str,
    input_type: Any = UNSET,
    json_schema: Mapping[str, Any] | None = None,
    validate: Callable[[Any], Any] | None = None,
) -> HandlerSignature:
    """What `fn` takes as the handler of an action.

    Args:
        fn: Anything callable.
        name: The action's name.
        input_type: The type of the whole input, a model, dataclass or TypedDict; it goes into the first parameter that
            is not the context. Without it the parameters are the input.
        json_schema: Instead: a JSON Schema, published as it stands.
        validate: Checks an input for `json_schema` and returns the value; a `ValueError` refuses it.

    Raises:
        RegistrationError: It cannot be declared like this; the message has the function, file and line, and the mend.
    """
    handler = read(fn)
    if json_schema is not None:
        if input_type is not UNSET:
            raise RegistrationError(f"{handler.where}: give the input a type or a JSON Schema, not both")
        return _by_json_schema(handler, json_schema, validate)
    if input_type is not UNSET:
        return _by_type(handler, input_type)
    return _by_parameters(handler, name)


def _by_parameters(handler: Handler, name: str) -> HandlerSignature:
    """The parameters are the input: a TypedDict, which has no names of its own that a parameter could collide with."""
    annotations = {parameter.name: _annotated(parameter, handler.where) for parameter in handler.parameters}
    arguments = _make_typed_dict(name, annotations)
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(arguments)
        schema, validator = _prepared(adapter)
    except Exception as error:
        # Building a schema runs hooks of the author's types, so anything may be raised.
        raise _no_schema(handler, annotations, error) from error
    schema.pop("title", None)
    names = wire_names(adapter)
    if len(set(names.values())) < len(names):
        raise RegistrationError(f"{handler.where}: two parameters have the same name on the wire; rename an alias")
    return _signature(handler, schema, names, validate=validator, spread=True)


def _by_type(handler: Handler, declared: Any) -> HandlerSignature:
    where = handler.where
    parameter = _value_parameter(handler)
    if parameter is None:
        raise RegistrationError(
            f"{where}: it has no parameter for its input; add one, such as `query: {named(declared)}`"
        )
    if is_function(declared):
        raise RegistrationError(f"{where}: the input type {named(declared)} is a function; give .input(…) a type")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(declared)
        schema, validator = _prepared(adapter)
    except Exception as error:
        # Building a schema runs hooks of the author's types, so anything may be raised.
        raise RegistrationError(
            f"{where}: the input type {named(declared)} has no JSON Schema ({reason(error)}); use a model, a"
            " dataclass or a TypedDict of JSON types"
        ) from error
    if schema.get("type") != "object":
        raise RegistrationError(
            f"{where}: the input type {named(declared)} is not an object on the wire, and agents give named arguments;"
            " use a model, a dataclass or a TypedDict"
        )
    return _signature(handler, schema, wire_names(adapter), validate=validator, parameter=parameter)


def _by_json_schema(
    handler: Handler, json_schema: Mapping[str, Any], validate: Callable[[Any], Any] | None
) -> HandlerSignature:
    where = handler.where
    try:
        schema = decode(encode(dict(json_schema)))
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"{where}: the JSON Schema is no JSON ({error})") from error
    if schema.get("type") != "object":
        raise RegistrationError(
            f'{where}: the JSON Schema of an input has "type": "object" at its root, not {schema.get("type")!r}'
        )
    properties = schema.get("properties")
    names = {name: name for name in properties} if isinstance(properties, dict) else {}

    def checked(raw: Any) -> Any:
        if validate is None:
            return raw
        try:
            return validate(raw)
        except ValidationError as error:
            raise Mismatch(issues_of(error, raw, noun="argument", show=lambda path: True)) from error
        except ValueError as error:
            raise Mismatch([Issue(str(error) or "the arguments do not fit", [])]) from error

    return _signature(handler, schema, names, validate=checked, parameter=_value_parameter(handler))


def _signature(
    handler: Handler,
    schema: dict[str, Any],
    names: Mapping[str, str],
    *,
    validate: Callable[[Any], Any],
    parameter: str | None = None,
    spread: bool = False,
) -> HandlerSignature:
    return HandlerSignature(
        input_schema=schema,
        is_async=handler.is_async,
        context_parameter=handler.context,
        return_annotation=handler.returns,
        fields=frozenset(names) | frozenset(names.values()),
        _names=names,
        _validate=validate,
        _value_parameter=parameter,
        _spread=spread,
    )


def _prepared(adapter: TypeAdapter[Any]) -> tuple[dict[str, Any], JsonValidator]:
    document = input_document(adapter)
    published = decode(encode(inline_schema(document, closed=True)))
    validator = JsonValidator(adapter, document, published, refuse_unknown=True, noun="argument", show=True)
    return published, validator


def _no_schema(handler: Handler, annotations: Mapping[str, Any], error: Exception) -> RegistrationError:
    """Which parameter it was that no schema could be made of, and why."""
    for name, annotation in annotations.items():
        try:
            _prepared(TypeAdapter(annotation))
        except Exception as found:
            declared = next(each.annotation for each in handler.parameters if each.name == name)
            return RegistrationError(
                f"{handler.where}: the parameter {name!r} has a type JSON has no values for, {named(declared)}"
                f" ({reason(found)}); use JSON types, models, dataclasses or types pydantic validates from JSON"
            )
    return RegistrationError(f"{handler.where}: its parameters have no JSON Schema ({reason(error)})")


# Parameters ------------------------------------------------------------------------------------------------------


def _annotated(parameter: Parameter, where: str) -> Any:
    """The parameter as the annotation of a TypedDict's key, its default included."""
    annotation, default = parameter.annotation, parameter.default
    if annotation is UNSET:
        name = parameter.name
        context = f"; the call's own context is `{name}: Context`, in a `def` `{name}: SyncContext`"
        raise RegistrationError(
            f"{where}: the parameter {name!r} has no annotation; write what it takes, such as `{name}: str`"
            f"{context if name.startswith(('ctx', 'context')) else ''}"
        )
    if isinstance(annotation, Unresolved):
        raise RegistrationError(f"{where}: the annotation of {parameter.name!r}, {annotation.mend()}")
    given = default if isinstance(default, FieldInfo) else None
    for info in (given, *_field_infos(annotation)):
        if info is not None and not _has_wire_name(info):
            raise RegistrationError(
                f"{where}: the alias of {parameter.name!r} is a path into other data; give it a name of its own"
            )
    if given is not None:
        return Annotated[annotation, given]
    if default is not UNSET:
        return Annotated[annotation, Field(default=default)]
    if _is_optional(annotation) and all(info.is_required() for info in _field_infos(annotation)):
        # It is published as optional, since clients leave out what they have no value for.
        return Annotated[annotation, Field(default=None)]
    return annotation


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


def _value_parameter(handler: Handler) -> str | None:
    """The parameter that takes the whole input; every other one must do without a value."""
    if not handler.parameters:
        return None
    first, *others = handler.parameters
    for parameter in others:
        if parameter.required:
            raise RegistrationError(
                f"{handler.where}: the input is one value, for {first.name!r}, and nothing would be passed for"
                f" {parameter.name!r}; give it a default"
            )
    return first.name
