"""JSON values against types, by JSON's rules: `30.0` is an integer, `"30"` and `true` are none, dates are strings.

Pydantic does the checking, strictly and from JSON text, so that what JSON has no type for (dates, UUIDs, decimals,
enums, sets) is parsed and nothing else is converted. `corrections` prepares what strictness alone gets wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..jsontext import decode, encode
from .corrections import Corrections
from .issues import Issue, Mismatch, Path, issues_of, shortened


class JsonValidator:
    """Validates JSON values against one type; built once a type, used for every call.

    Args:
        adapter: The type.
        document: Its JSON Schema with references, as `generate` makes it.
        published: The same inline.
        refuse_unknown: Refuse fields that are not declared, at every depth, except where a model says `extra="allow"`;
            without it every model does with them what its own configuration says.
        noun: What a field is called in messages.
        show: Whether messages may show the values that came.
    """

    __slots__ = ("_corrections", "_extra", "_noun", "_published", "_show", "_validate")

    def __init__(
        self,
        adapter: TypeAdapter[Any],
        document: Mapping[str, Any],
        published: Mapping[str, Any],
        *,
        refuse_unknown: bool,
        noun: str,
        show: bool,
    ) -> None:
        self._validate = adapter.validator.validate_json
        self._corrections = Corrections(document)
        self._published = published
        self._extra: Any = "forbid" if refuse_unknown else None
        self._noun = noun
        self._show = show

    def __call__(self, raw: Any) -> Any:
        """The validated value.

        Raises:
            Mismatch: It does not fit, or is no JSON.
        """
        try:
            text = encode(raw)
        except ValueError as error:
            raise Mismatch([Issue(f"it cannot be read as JSON: {error}", [])]) from error
        corrections, issues = self._corrections, None
        if corrections.always or (corrections.on_null and "null" in text) or _holds_float(raw):
            # Read again, since what came is not ours to change.
            raw, issues = corrections.apply(decode(text))
            text = encode(raw)
        try:
            value = self._validate(text, strict=True, extra=self._extra)
        except ValidationError as error:
            value = self._second_opinion(error, text, raw, issues or [])
        if issues:
            raise Mismatch(issues)
        return value

    def _second_opinion(self, error: ValidationError, text: str, raw: Any, issues: list[Issue]) -> Any:
        """pydantic's own switch for unknown fields overrides models that allow them; they are let through here."""
        issues = issues + self._issues(error, raw, tolerant=True)
        if issues:
            raise Mismatch(issues) from error
        try:
            return self._validate(text, strict=True)
        except ValidationError as again:
            raise Mismatch(self._issues(again, raw, tolerant=False)) from again

    def _issues(self, error: ValidationError, raw: Any, *, tolerant: bool) -> list[Issue]:
        issues: list[Issue] = []
        for issue in issues_of(error, raw, noun=self._noun, show=self._show):
            if issue.unknown is not None:
                places = _places(self._published, issue.path[:-1])
                if tolerant and any(_is_open(place) for place in places):
                    continue
                issue = replace(issue, message=issue.message + _suggestion(issue.unknown, places))
            issues.append(issue)
        return issues


def _holds_float(value: Any) -> bool:
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,):
        kind = type(item)
        if kind is float or ((kind is dict or kind is list) and _holds_float(item)):
            return True
    return False


def _places(schema: Mapping[str, Any], path: Path) -> list[Mapping[str, Any]]:
    """The schemas that may describe the value at `path`: more than one below a union."""
    places = _alternatives(schema)
    for step in path:
        places = [each for place in places for each in _alternatives(_below(place, step))]
    return places


def _alternatives(schema: object) -> list[Mapping[str, Any]]:
    if not isinstance(schema, Mapping):
        return []
    for keyword in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(keyword), list):
            return [each for option in options for each in _alternatives(option)]
    return [schema]


def _below(schema: Mapping[str, Any], step: str | int) -> object:
    if isinstance(step, str):
        return schema.get("properties", {}).get(step) or schema.get("additionalProperties")
    prefix = schema.get("prefixItems", ())
    return prefix[step] if step < len(prefix) else schema.get("items")


def _is_open(schema: Mapping[str, Any]) -> bool:
    return schema.get("additionalProperties", False) is not False


def _suggestion(name: str, places: list[Mapping[str, Any]]) -> str:
    known = [each for place in places for each in place.get("properties", ())]
    close = get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {shortened(close[0])}?"
    return f"; known are {', '.join(map(shortened, known[:20]))}" if known else ""
