"""What an action's handler takes: its published input schema, and the way from an agent's arguments to a call.

Everything is worked out when the action is declared; a call costs one pass through pydantic. Three kinds of input:
the handler's own parameters, one value of a type after `.input(T)`, or one value by a JSON Schema of the author's.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict, is_protocol, is_typeddict

from ..errors import InvalidInput, RegistrationError
from ..jsontext import decode, encode
from ..unset import UNSET
from .advice import warn_of_defaults, with_unknown_parameters
from .docstring import Documentation, documentation_of
from .generate import named, output_schema, reason, schemas_of
from .handler import Handler, is_function, read, return_annotation
from .inline import inline_schema
from .issues import Issue, Mismatch, kind
from .names import Names, names_in, names_of
from .parameters import annotated, bare, input_annotation, optional, replaced
from .unusable import unusable
from .validation import JsonValidator

__all__ = ["Bound", "HandlerSignature", "inline_schema", "output_schema", "read_handler", "return_annotation"]


_make_typed_dict: Any = TypedDict  # type checkers want its arguments as literals


class Bound:
    """One call's arguments, validated."""

    __slots__ = ("_arguments", "_context", "_names", "_raw", "_value")

    def __init__(
        self, arguments: Mapping[str, Any], context: str | None, value: Any, raw: Mapping[str, Any], names: Names
    ) -> None:
        self._arguments = arguments
        self._context = context
        self._value = value
        self._raw = raw
        self._names = names

    @property
    def values(self) -> Mapping[str, Any]:
        """The top-level values, by their names in Python and on the wire; what is absent is left out.

        As the handler gets them, or, where they are not to be read off what it gets, as the agent gave them.
        """
        return self._names.values(self._value, self._raw)

    @property
    def shown(self) -> Mapping[str, Any]:
        """The same for a person to see: all that the handler gets, as JSON, and what is `writeOnly` hidden."""
        return self._names.shown(self._value, self._raw)

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
        ambiguous: The names that may not, since they are one field's in Python and another's on the wire.
        description: What the handler's docstring says of it as a whole.
    """

    input_schema: dict[str, Any]
    is_async: bool
    context_parameter: str | None
    return_annotation: Any
    fields: frozenset[str]
    ambiguous: frozenset[str]
    description: str
    _names: Names = field(repr=False)
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
        return Bound(arguments, self.context_parameter, value, raw, self._names)


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
    is_input = json_schema is None and input_type is UNSET
    documentation = with_unknown_parameters(documentation_of(fn), fn, handler, warn=is_input)
    if json_schema is not None:
        if input_type is not UNSET:
            raise RegistrationError(f"{handler.where}: give the input a type or a JSON Schema, not both")
        return _by_json_schema(handler, documentation, json_schema, validate)
    if input_type is not UNSET:
        return _by_type(handler, documentation, input_type)
    return _by_parameters(handler, documentation, name)


def _by_parameters(handler: Handler, documentation: Documentation, name: str) -> HandlerSignature:
    """The parameters are the input: a TypedDict, which has no names of its own that a parameter could collide with."""
    faults = handler.faults
    annotations: dict[str, Any] = {}
    for parameter in handler.parameters:
        annotation = input_annotation(parameter, documentation.parameters.get(parameter.name), handler)
        if annotation is not UNSET:
            annotations[parameter.name] = annotation
    if faults:
        _check_types(handler, annotations)
        faults.refuse()
    try:
        arguments = _make_typed_dict(name, annotations)
        arguments.__pydantic_config__ = ConfigDict(extra="forbid")
        adapter = _adapter(arguments)
        schema, document, validator = _prepared(adapter)
    except Exception as error:
        # Building a schema runs hooks of the author's types, so anything may be raised.
        _check_types(handler, annotations)
        if not faults:
            faults.add(f"its parameters have no JSON Schema ({_why(error)})")
        faults.refuse(error)
    schema.pop("title", None)
    names = names_of(adapter, document)
    _check_wire_names(handler, names.wire)
    warn_of_defaults(handler, annotations, schema, names.wire)
    return _signature(handler, documentation, schema, names, validate=validator, spread=True)


def _by_type(handler: Handler, documentation: Documentation, declared: Any) -> HandlerSignature:
    faults = handler.faults
    parameter = _value_parameter(handler, f"query: {named(declared)}")
    schema: dict[str, Any] = {}
    document: dict[str, Any] = {}
    if is_function(declared):
        faults.add(f"the input type {named(declared)} is a function; give .input(…) a type")
        faults.refuse()
    try:
        adapter = _adapter(declared)
        schema, document, validator = _prepared(adapter)
    except Exception as error:
        # Building a schema runs hooks of the author's types, so anything may be raised.
        if unusable(error) is not None:
            faults.add(f"the input type {named(declared)} cannot be used: {_why(error)}")
            faults.refuse(error)
        faults.add(
            f"the input type {named(declared)} has no JSON Schema ({_why(error)}); use a model, a"
            " dataclass or a TypedDict of JSON types"
        )
        faults.refuse(error)
    if schema.get("type") != "object":
        # What is said besides, such as the discriminator of a union, has no short spelling.
        plain = bare(declared)
        if _are_objects(schema.get("anyOf")):
            why = (
                "is one of several objects, and an input is one, whose names are the arguments; give .input(…) a model"
                " that has the union as a field, write an action for each"
            )
        else:
            why = (
                "is not an object on the wire, and agents give named arguments; use a model, a dataclass or a TypedDict"
            )
        faults.add(
            f"the input type {named(plain)} {why}, or leave out .input(…) and annotate the parameter",
            annotated(parameter, plain),
            at=parameter,
        )
    else:
        _check_value_annotation(handler, declared)
    if faults or parameter is None:
        faults.refuse()
    if parameter in documentation.parameters:
        schema.setdefault("description", documentation.parameters[parameter])
    names = names_of(adapter, document)
    return _signature(handler, documentation, schema, names, validate=validator, parameter=parameter)


def _are_objects(options: Any) -> bool:
    return isinstance(options, list) and all(each.get("type") == "object" for each in options)


def _by_json_schema(
    handler: Handler,
    documentation: Documentation,
    json_schema: Mapping[str, Any],
    validate: Callable[[Any], Any] | None,
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

    def checked(raw: Any) -> Any:
        if validate is None:
            return raw
        try:
            return validate(raw)
        except ValidationError as error:
            from .alternatives import nearest_issues  # only where something is wrong

            raise Mismatch(nearest_issues(error, raw, noun="argument", show=lambda path: True)) from error
        except ValueError as error:
            raise Mismatch([Issue(str(error) or "the arguments do not fit", [])]) from error

    parameter = _value_parameter(handler)
    if handler.faults:
        handler.faults.refuse()
    return _signature(handler, documentation, schema, names_in(schema), validate=checked, parameter=parameter)


def _signature(
    handler: Handler,
    documentation: Documentation,
    schema: dict[str, Any],
    names: Names,
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
        fields=names.known,
        ambiguous=names.ambiguous,
        description=documentation.description,
        _names=names,
        _validate=validate,
        _value_parameter=parameter,
        _spread=spread,
    )


def _adapter(declared: Any) -> TypeAdapter[Any]:
    with warnings.catch_warnings():
        # That pydantic does not enforce ReadOnly on the handler's side is nothing an author could mend.
        warnings.filterwarnings("ignore", ".*using the `ReadOnly` qualifier", UserWarning)
        return TypeAdapter(declared)


def _prepared(adapter: TypeAdapter[Any]) -> tuple[dict[str, Any], dict[str, Any], JsonValidator]:
    """What is published, the document that it is made of, and the validator."""
    schemas = schemas_of(adapter, "input")
    published = decode(encode(schemas.published))
    validator = JsonValidator(adapter, schemas.document, published, refuse_unknown=True, noun="argument", show=True)
    return published, schemas.document, validator


def _why(error: Exception) -> str:
    # That pydantic may be told to take arbitrary objects helps nobody here: JSON has none.
    return reason(error).partition(". Set `arbitrary_types_allowed")[0]


def _check_types(handler: Handler, annotations: Mapping[str, Any]) -> None:
    """Which parameters no schema can be made of, and why."""
    for parameter in handler.parameters:
        if parameter.name not in annotations:
            continue
        try:
            annotation = annotations[parameter.name]
            _prepared(_adapter(annotation))
            _adapter(_make_typed_dict("Alone", {parameter.name: annotation}))  # some types cannot be a field's
        except Exception as error:
            name, type, why = parameter.name, named(parameter.annotation), _why(error)
            if isinstance(error, ImportError):
                handler.faults.add(f"the parameter {name!r}, {type}, needs a package: {why}", at=name)
                continue
            if unusable(error) is not None:
                handler.faults.add(f"the parameter {name!r}: {why}", at=name)
                continue
            handler.faults.add(
                f"the parameter {name!r} has a type JSON has no values for, {type}"
                f" ({why}); use JSON types, models, dataclasses or types pydantic validates from JSON",
                replaced(parameter),
                at=name,
            )


def _check_wire_names(handler: Handler, names: Mapping[str, str]) -> None:
    seen: dict[str, str] = {}
    for name, wire in names.items():
        if wire in seen:
            first = next(each for each in handler.parameters if each.name == (seen[wire] if wire == name else name))
            handler.faults.add(
                f"two parameters have the same name on the wire, {wire!r}: {seen[wire]!r} and {name!r};"
                " rename an alias",
                annotated(first.name, bare(first.annotation)),
                at=first.name,
            )
        seen.setdefault(wire, name)
    if handler.faults:
        handler.faults.refuse()


def _check_value_annotation(handler: Handler, declared: Any) -> None:
    """Whether the parameter that takes the input says it is another class. Whatever is no class says what it means."""
    for parameter in handler.parameters[:1]:
        annotation = bare(parameter.annotation)
        if not inspect.isclass(annotation) or not inspect.isclass(declared) or annotation in (Any, object):
            continue
        if is_protocol(annotation) or _is_of_class(declared, annotation):
            continue
        handler.faults.add(
            f"the input is {named(declared)}, and the parameter {parameter.name!r} says it takes {named(annotation)};"
            f" write `{parameter.name}: {named(declared)}`, or give .input(…) the other",
            annotated(parameter.name, declared),
            at=parameter.name,
        )


def _is_of_class(declared: type, annotation: type) -> bool:
    if is_typeddict(annotation):  # its values are dicts, and which ones only type checkers tell
        return is_typeddict(declared)
    generic = getattr(annotation, "__pydantic_generic_metadata__", {}).get("origin")
    return issubclass(dict if is_typeddict(declared) else declared, generic or annotation)


def _value_parameter(handler: Handler, missing: str | None = None) -> str | None:
    """The parameter that takes the whole input; every other one must do without a value.

    Args:
        handler: The handler.
        missing: How to write that parameter, where there has to be one.
    """
    if not handler.parameters:
        if missing is not None:
            name, _, type = missing.partition(": ")
            handler.faults.add(
                f"it has no parameter for its input; add one, such as `{missing}`",
                lambda definition: definition.add(name, type),
            )
        return None
    first, *others = handler.parameters
    for parameter in others:
        if parameter.required:
            handler.faults.add(
                f"the input is one value, for {first.name!r}, and nothing would be passed for"
                f" {parameter.name!r}; give it a default",
                optional(parameter),
                at=parameter.name,
            )
    return first.name
