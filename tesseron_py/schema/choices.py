"""Choices of a form: what is published of them, and which value an answer means.

A form knows texts alone, so every choice is published by a text and read back as its value. Titles are the author's:
`enumNames` or a titled `oneOf` in the field's schema, or a `label` or `title` of an `Enum`'s members.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidSchema
from ..jsontext import encode
from .flat import equal
from .issues import described, shortened


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of one field: by the text that is published, the JSON value that is meant; and the titles."""

    values: Mapping[str, Any]
    titles: Mapping[str, str] | None = None

    def read(self, given: Any) -> tuple[bool, Any]:
        """Whether an answer is one of them, and the value it means; the value itself is taken, too."""
        if isinstance(given, str) and given in self.values:
            return True, self.values[given]
        return next(((True, value) for value in self.values.values() if equal(given, value)), (False, given))

    def text_of(self, value: Any) -> str | None:
        """The text that a value is published by; `None` when it is no choice."""
        return next((text for text, known in self.values.items() if equal(known, value)), None)

    def title_of(self, text: str) -> str:
        return text if self.titles is None else self.titles[text]

    def named(self) -> dict[str, Any]:
        """As a field has them for one choice: `enum`, with `enumNames` where there are titles."""
        return {"enum": list(self.values)} | ({"enumNames": self._names()} if self.titles is not None else {})

    def titled(self) -> dict[str, Any]:
        """As the items of a field for several: `enum` of strings, or where there are titles `anyOf`."""
        if self.titles is None:
            return {"type": "string", "enum": list(self.values)}
        return {"anyOf": [{"const": text, "title": self.titles[text]} for text in self.values]}

    def _names(self) -> list[str]:
        return [self.title_of(text) for text in self.values]

    def __str__(self) -> str:
        return described(list(self.values))


def choices_of(schema: Mapping[str, Any], name: str, *, names: object = None) -> Choices | None:
    """The choices that a schema allows; `None` when it is no choice.

    Args:
        schema: The schema of one value, inline.
        name: The field, for messages.
        names: Titles that stand elsewhere: a list as long as the choices.

    Raises:
        InvalidSchema: A form cannot show them, or a person could not tell them apart.
    """
    values = _values(schema)
    if values is None:
        return None
    if not values:
        raise InvalidSchema(f"{name}: it is a choice without choices")
    if not all(isinstance(value, (str, int, float)) for value in values):
        raise InvalidSchema(f"{name}: its choices are not all strings, numbers or booleans; a form has no others")
    texts = [value if isinstance(value, str) else encode(value) for value in values]
    choices = dict(zip(texts, values, strict=True))
    if len(choices) < len(values):
        raise InvalidSchema(
            f"{name}: two of its choices read the same, {described(texts)}; a person cannot tell them apart"
        )
    titles = _titles(schema, choices, names)
    if titles is not None and set(titles) != set(choices):
        raise InvalidSchema(
            f"{name}: its titles are for {described(list(titles))}, and its choices are {described(texts)}"
        )
    if titles is not None and len(set(titles.values())) < len(titles):
        raise InvalidSchema(
            f"{name}: two of its choices have the same title, {described(list(titles.values()))}; a person cannot tell"
            " them apart"
        )
    return Choices(choices, titles)


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    """The values of a choice, however it is spelled; `None` for anything else."""
    if isinstance(schema.get("enum"), list):
        return list(schema["enum"])
    if "const" in schema:
        return [schema["const"]]
    for keyword in ("oneOf", "anyOf"):
        options = schema.get(keyword)
        if isinstance(options, list):
            parts = [_values(option) if isinstance(option, Mapping) else None for option in options]
            return (
                [value for part in parts for value in part or ()] if all(part is not None for part in parts) else None
            )
    return None


def _titles(schema: Mapping[str, Any], choices: Mapping[str, Any], names: object) -> dict[str, str] | None:
    """The titles by the texts, however the author gave them; `None` when there are none."""
    for listed in (names, schema.get("enumNames")):
        if isinstance(listed, list) and len(listed) == len(choices):
            return _by_text(choices, listed)
    options = schema.get("oneOf")
    if isinstance(options, list) and all(isinstance(each, Mapping) and "const" in each for each in options):
        if not any("title" in each for each in options):
            return None
        texts = [each["const"] if isinstance(each["const"], str) else shortened(each["const"]) for each in options]
        return {text: str(each.get("title", text)) for text, each in zip(texts, options, strict=True)}
    return _titles_of_parts(schema, choices)


def _titles_of_parts(schema: Mapping[str, Any], choices: Mapping[str, Any]) -> dict[str, str] | None:
    """The titles of a union of choices, some of which have them."""
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return None
    titles: dict[str, str] = {}
    for option in options:
        values: Sequence[Any] = _values(option) or ()
        names = option.get("enumNames")
        if isinstance(names, list) and len(names) == len(values):
            texts = [value if isinstance(value, str) else encode(value) for value in values]
            titles |= _by_text(texts, names)
    return {text: titles.get(text, text) for text in choices} if titles else None


def _by_text(texts: Iterable[str], names: list[Any]) -> dict[str, str]:
    """A choice without a name is titled by its text."""
    return {text: text if name in (None, "") else str(name) for text, name in zip(texts, names, strict=True)}
