"""Answers checked against a flat JSON Schema of the author's own, which goes out as it stands.

Covers what can stand in a form and refuses a schema that says more: a constraint that is not checked would let an
answer through that the author ruled out. Agrees with JSON Schema 2020-12, formats of `formats` included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias

from ..errors import InvalidSchema
from .ecma import finder
from .formats import FORMATS
from .issues import Issue, described, kind, shortened
from .spelling import TWO_WAYS, reads_two_ways, spelled_value

_ANNOTATIONS = frozenset(
    {
        "$comment", "$id", "$schema", "contentEncoding", "contentMediaType", "default", "deprecated", "description",
        "enumNames", "examples", "readOnly", "title", "writeOnly",
    }
)  # fmt: skip

_Check: TypeAlias = Callable[[Any], str | None]
"""What is wrong with a value, or `None`."""


@dataclass(frozen=True, slots=True)
class _Field:
    types: tuple[str, ...] | None
    """`None` takes any."""
    shown: str = "string"
    """The type that a client is shown the field as."""
    has_choices: bool = False
    has_format: bool = False
    is_free: bool = True
    """Whether an empty text is one like any other."""
    checks: list[_Check] = field(default_factory=list)

    def prepared(self, value: Any) -> tuple[Any, str | None]:
        """What a text means that came where no text is asked for, and what is wrong if it may mean two things."""
        if not isinstance(value, str) or self.shown not in _SPELLED:
            return value, None
        is_text = self.fault(value) is None
        spelled = spelled_value(value, self.shown)
        if spelled is not None and not (is_text and self.has_choices and self.fault(spelled) is not None):
            return spelled, None
        return value, TWO_WAYS if not is_text and reads_two_ways(value, self.shown) else None

    def is_left_out(self, value: Any) -> bool:
        """Whether it says, in an optional field, that nothing was given."""
        if not isinstance(value, str) or value.strip() or self.is_free:
            return False
        return self.has_format or (self.shown in _SPELLED and not self.has_choices) or self.fault(value) is not None

    def fault(self, value: Any) -> str | None:
        if self.types is not None and not any(_is_of(value, type) for type in self.types):
            expected = " or ".join(_TYPES[type][1] if type in _TYPES else type for type in self.types)
            return f"{expected} is expected, got {kind(value)}"
        return next((fault for check in self.checks if (fault := check(value)) is not None), None)

    def read(self, value: Any) -> Any:
        """The value, a whole number as an `int` where the schema says integer."""
        whole = isinstance(value, float) and self.types is not None and "integer" in self.types and value.is_integer()
        return int(value) if whole else value


class FlatSchema:
    """A flat object schema, read once.

    Raises:
        InvalidSchema: It restricts answers in a way that is not checked here; the message names property and keyword.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._fields = {name: _field(each, name) for name, each in (schema.get("properties") or {}).items()}
        required = schema.get("required", [])
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise InvalidSchema(f'"required" of a form\'s schema is a list of names, not {shortened(required)}')
        self._required = required
        self._unknown = schema.get("additionalProperties")
        if self._unknown not in (None, True, False, {}):
            raise InvalidSchema('"additionalProperties" of a form\'s schema is true or false; list the properties')
        for keyword in schema:
            if keyword not in _AT_ROOT and not _is_annotation(keyword) and schema[keyword] not in (None, False, 0, ""):
                raise InvalidSchema(f"a form's schema has no {keyword!r} at its root, which would not be checked")

    def is_left_out(self, name: str, value: Any) -> bool:
        """Whether what came for a property says, in an optional field, that nothing was given."""
        found = self._fields[name]
        return found.is_left_out(value) or (value is None and found.fault(value) is not None)

    def read(self, content: Mapping[str, Any]) -> tuple[dict[str, Any], list[Issue]]:
        """An answer's fields, and what is wrong with them.

        A null counts as absent where the field is optional and does not take null, and so does an empty text where
        there is none. Fields that were not asked for are left out, unless the schema says `additionalProperties: true`.
        """
        answer: dict[str, Any] = {}
        issues: list[Issue] = []
        for name, value in content.items():
            found = self._fields.get(name)
            if found is None:
                if self._unknown is False:
                    issues.append(Issue(f"unknown field {shortened(name)}", [name], name))
                elif self._unknown is not None or name in self._required:
                    answer[name] = value
                continue
            if name not in self._required and found.is_left_out(value):
                continue
            value, fault = found.prepared(value)
            fault = fault or found.fault(value)
            if fault is None:
                answer[name] = found.read(value)
            elif value is not None or name in self._required:
                issues.append(Issue(fault, [name]))
        issues += [Issue("required, but missing", [name]) for name in self._required if name not in content]
        return answer, issues


_AT_ROOT = frozenset({"additionalProperties", "properties", "required", "type"})


def _is_annotation(keyword: str) -> bool:
    return keyword in _ANNOTATIONS or keyword.startswith("x-")


def _field(schema: Mapping[str, Any], name: str) -> _Field:
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if not all(isinstance(type, str) for type in types):
        raise InvalidSchema(f"the type of the property {shortened(name)} of a form is no name: {shortened(types)}")
    found = _Field(
        tuple(types) or None,
        shown_type(schema),
        _has_choices(schema),
        "format" in schema,
        _is_free(schema),
    )
    _check_titles(schema, name)
    for keyword, value in schema.items():
        if keyword == "type" or _is_annotation(keyword):
            continue
        build = _CHECKS.get(keyword)
        if build is None:
            raise InvalidSchema(
                f"the property {shortened(name)} of a form has {keyword!r}, which would not be checked; leave it out,"
                " or ask with a type"
            )
        try:
            found.checks.append(build(value, name))
        except (ArithmeticError, TypeError, ValueError, re.error) as error:
            raise InvalidSchema(f"{keyword!r} of the property {shortened(name)} of a form is wrong: {error}") from error
    return found


def shown_type(schema: Mapping[str, Any]) -> str:
    """The type that a client is shown a field as: of several the first, of alternatives that of the first.

    Null is none of them, choices without a type have that of their values, and what has no type is text.
    """
    type = schema.get("type")
    types = type if isinstance(type, list) else [type]
    if type is not None:
        return next((each for each in types if each in _SHOWN), "string")
    for keyword in ("anyOf", "oneOf"):
        options = schema.get(keyword)
        left = [each for each in options if isinstance(each, Mapping)] if isinstance(options, list) else []
        if left and all("const" in each for each in left):
            return _type_of([each["const"] for each in left])
        for option in left:
            if option.get("type") != "null":
                return shown_type(option)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return _type_of(values) if isinstance(values, list) else "string"


_SPELLED: Final = ("boolean", "integer", "number")
_SHOWN: Final = (*_SPELLED, "string", "array", "object")


def _type_of(values: list[Any]) -> str:
    values = [each for each in values if each is not None]
    if values and all(isinstance(each, bool) for each in values):
        return "boolean"
    if not values or not all(map(_is_number, values)):
        return "string"
    return "integer" if all(isinstance(each, int) for each in values) else "number"


def _check_titles(schema: Mapping[str, Any], name: str) -> None:
    """Two choices with one title are one to a person."""
    found: list[tuple[Any, Any]] = []
    values, names = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list) and isinstance(names, list) and len(values) == len(names):
        found = list(zip(values, names, strict=True))
    for keyword in ("oneOf", "anyOf"):
        options = schema.get(keyword)
        if isinstance(options, list) and all(isinstance(each, Mapping) and "const" in each for each in options):
            found = [(each["const"], each.get("title")) for each in options]
    shown: dict[str, Any] = {}
    for value, title in found:
        text = title if isinstance(title, str) and title else value if isinstance(value, str) else shortened(value)
        if not equal(shown.setdefault(text, value), value):
            raise InvalidSchema(
                f"two choices of the property {shortened(name)} of a form, {shortened(shown[text])} and"
                f" {shortened(value)}, have the same title, {shortened(text)}; a person cannot tell them apart"
            )


def _has_choices(schema: Mapping[str, Any]) -> bool:
    options = [schema.get("oneOf"), schema.get("anyOf")]
    parts = [schema, *(each for listed in options if isinstance(listed, list) for each in listed)]
    return any(isinstance(each, Mapping) and ("enum" in each or "const" in each) for each in parts)


_WITHOUT_EMPTY: Final = frozenset({"format", "pattern", "enum", "const", "oneOf", "anyOf"})


def _is_free(schema: Mapping[str, Any]) -> bool:
    if shown_type(schema) != "string":
        return False
    return schema.get("minLength", 0) in (0, None) and not schema.keys() & _WITHOUT_EMPTY


# Types and equality as JSON has them: a boolean is no number, 3.0 is an integer ------------------------------------


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TYPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "string": (lambda value: isinstance(value, str), "a string"),
    "number": (_is_number, "a number"),
    "integer": (lambda value: _is_number(value) and value == value // 1, "a whole number"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "null": (lambda value: value is None, "null"),
    "array": (lambda value: isinstance(value, list), "a list"),
    "object": (lambda value: isinstance(value, dict), "an object"),
}


def _is_of(value: Any, type: str) -> bool:
    return type in _TYPES and _TYPES[type][0](value)


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same in JSON, where `true` is not 1 and `1.0` is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    return bool(one == other)


# The keywords ------------------------------------------------------------------------------------------------------


def _number(value: Any) -> int | float:
    if not _is_number(value):
        raise TypeError(f"a number is needed, not {shortened(value)}")
    number: int | float = value
    return number


def _limit(expected: str, holds: Callable[[Any, Any], bool]) -> Callable[[Any, str], _Check]:
    def build(limit: Any, name: str) -> _Check:
        limit = _number(limit)
        fault = f"{expected} {shortened(limit)} is expected"
        return lambda value: fault if _is_number(value) and not holds(value, limit) else None

    return build


def _length(expected: str, holds: Callable[[int, Any], bool]) -> Callable[[Any, str], _Check]:
    def build(limit: Any, name: str) -> _Check:
        limit = _number(limit)
        fault = f"{expected} {shortened(limit)} {'character is' if limit == 1 else 'characters are'} expected"
        return lambda value: fault if isinstance(value, str) and not holds(len(value), limit) else None

    return build


def _multiple(step: Any, name: str) -> _Check:
    exact = Fraction(str(_number(step)))
    if exact <= 0:
        raise ValueError("it is above 0")
    fault = f"a multiple of {shortened(step)} is expected"
    return lambda value: fault if _is_number(value) and Fraction(str(value)) % exact else None


def _pattern(pattern: Any, name: str) -> _Check:
    is_in = finder(pattern)
    fault = f"a string that matches {pattern} is expected"
    return lambda value: fault if isinstance(value, str) and not is_in(value) else None


def _format(format: Any, name: str) -> _Check:
    fits, expected = FORMATS.get(format, (None, ""))
    if fits is None:
        return lambda value: None
    return lambda value: f"{expected} is expected" if isinstance(value, str) and not fits(value) else None


def _among(choices: Any, name: str) -> _Check:
    if not isinstance(choices, list) or not choices:
        raise TypeError("a list of choices is needed")
    fault = f"{described(choices)} is expected"
    return lambda value: None if any(equal(value, choice) for choice in choices) else fault


def _fitting(options: Any, name: str, *, exactly_one: bool) -> _Check:
    if not isinstance(options, list) or not options or not all(isinstance(each, Mapping) for each in options):
        raise TypeError('a list of choices such as {"const": "a", "title": "A"} is needed')
    fields = [_field(each, name) for each in options]
    constants = [each["const"] for each in options if "const" in each]
    fault = f"{described(constants)} is expected" if constants else "it fits none of the alternatives"

    def check(value: Any) -> str | None:
        fitting = sum(each.fault(value) is None for each in fields)
        return None if fitting == 1 or (fitting and not exactly_one) else fault

    return check


_CHECKS: Mapping[str, Callable[[Any, str], _Check]] = {
    "enum": _among,
    "const": lambda value, name: _among([value], name),
    "anyOf": lambda options, name: _fitting(options, name, exactly_one=False),
    "oneOf": lambda options, name: _fitting(options, name, exactly_one=True),
    "minLength": _length("at least", lambda length, limit: length >= limit),
    "maxLength": _length("at most", lambda length, limit: length <= limit),
    "minimum": _limit("at least", lambda value, limit: value >= limit),
    "maximum": _limit("at most", lambda value, limit: value <= limit),
    "exclusiveMinimum": _limit("more than", lambda value, limit: value > limit),
    "exclusiveMaximum": _limit("less than", lambda value, limit: value < limit),
    "multipleOf": _multiple,
    "pattern": _pattern,
    "format": _format,
}
