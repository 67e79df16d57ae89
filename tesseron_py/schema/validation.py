"""JSON values against types, by JSON's rules: `30.0` is an integer, `"30"` and `true` are none, dates are strings.

Pydantic does the checking, strictly and from JSON text, so that what JSON has no type for (dates, UUIDs, decimals,
enums, sets) is parsed and nothing else is converted. `corrections` prepares what strictness alone gets wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..jsontext import decode, encode
from .binary import validator_for
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
        show: Whether messages may show the values that came; they never show what a schema says is `writeOnly`, as
            pydantic's secrets are.
        base64: Whether bytes are base64, as agents and models write them; a person writes text.
    """

    __slots__ = ("_corrections", "_extra", "_noun", "_published", "_show", "_validate", "_validate_open")

    def __init__(
        self,
        adapter: TypeAdapter[Any],
        document: Mapping[str, Any],
        published: Mapping[str, Any],
        *,
        refuse_unknown: bool,
        noun: str,
        show: bool,
        base64: bool = True,
    ) -> None:
        validator = validator_for(adapter.core_schema, base64=base64)
        self._validate = (adapter.validator if validator is None else validator).validate_json
        self._corrections = Corrections(document)
        self._published = published
        self._extra: Any = "forbid" if refuse_unknown else None
        self._validate_open: Any = None
        if refuse_unknown and _holds_open(published):
            self._validate_open = validator_for(adapter.core_schema, base64=base64, closed=True).validate_json
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
        corrections = self._corrections
        if corrections.always or (corrections.on_null and "null" in text) or _holds_float(raw):
            # Read again, since what came is not ours to change.
            raw = corrections.apply(decode(text))
            text = encode(raw)
        try:
            return self._validate(text, strict=True, extra=self._extra)
        except ValidationError as error:
            if self._validate_open is None:
                raise Mismatch(self._issues(error, raw)) from error
            # pydantic's switch refuses unknown fields of models that allow them, too. Those go through.
            unknown = filter(self._is_unknown, issues_of(error, raw, noun=self._noun, show=self._may_show))
            value: Any = None
            try:
                value = self._validate_open(text, strict=True)
            except ValidationError as again:
                issues = self._issues(again, raw)
            else:
                issues = []
            # Before pydantic 2.13 models within others keep their own way with unknown fields.
            told = [issue.path for issue in issues if issue.unknown is not None]
            issues = self._suggested([issue for issue in unknown if issue.path not in told], raw) + issues
            if issues:
                raise Mismatch(issues) from error
            return value

    def _issues(self, error: ValidationError, raw: Any) -> list[Issue]:
        from .alternatives import nearest_issues  # only where something is wrong

        found = nearest_issues(error, raw, noun=self._noun, show=self._may_show, choices=self._choices)
        return self._suggested(found, raw)

    def _suggested(self, issues: Iterable[Issue], raw: Any) -> list[Issue]:
        """With what an unknown field may have been meant for."""
        return [
            issue
            if issue.unknown is None
            else replace(issue, message=issue.message + _suggestion(issue.unknown, self._meant(issue.path[:-1], raw)))
            for issue in issues
        ]

    def _meant(self, path: Path, raw: Any) -> list[Mapping[str, Any]]:
        """The places of an object, only those whose tags it has if there are any."""
        here = raw
        for step in path:
            here = here[step]
        places = self._places(path)
        return [place for place in places if _has_tags_of(here, place)] or places

    def _choices(self, path: Path) -> list[list[Any]]:
        """The values that each alternative publishes for a place, where only those are taken."""
        places = self._places(path)
        return [] if any("enum" not in place for place in places) else [place["enum"] for place in places]

    def _may_show(self, path: Path) -> bool:
        return self._show and not any(place.get("writeOnly") for place in self._places(path))

    def _is_unknown(self, issue: Issue) -> bool:
        """Whether a field is one that nothing at its place knows or allows."""
        return issue.unknown is not None and not any(
            _is_open(place) or issue.unknown in place.get("properties", ()) for place in self._around(issue)
        )

    def _around(self, issue: Issue) -> list[Mapping[str, Any]]:
        """What is published of the object that an unknown field is in."""
        return self._places(issue.path[:-1])

    def _places(self, path: Path) -> list[Mapping[str, Any]]:
        """The published schemas that may describe the value at `path`: several below a union."""
        places = _alternatives(self._published)
        for step in path:
            places = [each for place in places for each in _alternatives(_below(place, step))]
        return places


def _holds_float(value: Any) -> bool:
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,):
        kind = type(item)
        if kind is float or ((kind is dict or kind is list) and _holds_float(item)):
            return True
    return False


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


def _has_tags_of(value: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    return all(
        value[name] in each["enum"]
        for name, each in schema.get("properties", {}).items()
        if name in value and "enum" in each
    )


def _is_open(schema: Mapping[str, Any]) -> bool:
    return "properties" in schema and schema.get("additionalProperties", False) is not False


def _holds_open(schema: object) -> bool:
    """Whether anything in a schema takes fields it does not name (`extra="allow"`)."""
    if isinstance(schema, Mapping):
        return _is_open(schema) or any(map(_holds_open, schema.values()))
    return isinstance(schema, list) and any(map(_holds_open, schema))


def _suggestion(name: str, places: list[Mapping[str, Any]]) -> str:
    known = list(dict.fromkeys(each for place in places for each in place.get("properties", ())))
    if name in known:  # by another alternative
        return ""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1, cutoff=0.7)
    if close:
        return f"; did you mean {shortened(close[0])}?"
    return f"; known are {', '.join(map(shortened, known[:20]))}" if known else ""
