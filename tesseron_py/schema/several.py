"""A field in which several of some choices are chosen: a set or a list of an `Enum` or a `Literal`, or a flag.

Clients of MCP since 2025-11-25 show it as one field, a list. Others, and gateways that know Tesseron 1.2 alone, have no
lists; there it is one boolean a choice, and put together again here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .choices import Choices, choices_of
from .form_schema import FLAGS
from .issues import kind, shortened
from .spelling import spelled_value


@dataclass(frozen=True, slots=True)
class Several:
    """The choices of one field, of which several may be chosen, each once."""

    choices: Choices
    least: int
    most: int | None
    default: tuple[str, ...] | None
    """The texts of those that are chosen when nobody chooses; `None` when that is not known."""
    is_flag: bool

    # What is asked

    def field(self) -> dict[str, Any]:
        """The keywords of the one field, a list."""
        written: dict[str, Any] = {"items": self.choices.titled()}
        if self.least:
            written["minItems"] = self.least
        if self.most is not None:
            written["maxItems"] = self.most
        if self.default is not None:
            written["default"] = list(self.default)
        return written

    def key(self, field: str, text: str) -> str:
        """The name of the boolean that stands for one choice."""
        return f"{field}.{text}"

    def booleans(self, field: str, title: str, description: str | None) -> dict[str, dict[str, Any]]:
        """One boolean a choice; what is said of the field is said of the first."""
        written: dict[str, dict[str, Any]] = {}
        said = " ".join(each for each in (description, self._how_many()) if each)
        for text in self.choices.values:
            each: dict[str, Any] = {"type": "boolean", "title": f"{title}: {self.choices.title_of(text)}"}
            if said:
                each["description"], said = said, ""
            if self.is_ticked(text):
                each["default"] = True
            written[self.key(field, text)] = each
        return written

    def is_ticked(self, text: str) -> bool:
        """Whether a form shows a choice as one that is chosen."""
        return self.default is not None and text in self.default

    def _how_many(self) -> str | None:
        if self.most is None:
            return f"Choose at least {self.least}." if self.least else None
        return f"Choose {self.least} to {self.most}." if self.least else f"Choose at most {self.most}."

    # What was answered

    def read_list(self, given: Any) -> tuple[Any, str | None]:
        """The JSON value of an answer, in the order that it came in; or what is wrong."""
        if not isinstance(given, list):
            return given, f"a list of {self.choices} is expected, got {kind(given)}"
        texts: list[str] = []
        for each in given:
            known, value = self.choices.read(each)
            text = self.choices.text_of(value) if known else None
            if text is None:
                return given, f"{self.choices} is expected"
            texts.append(text)
        if len(set(texts)) < len(texts):
            return given, "each choice is expected once at most"
        return self._value(texts), self._wrong_number(texts)

    def read_booleans(self, given: Mapping[str, Any], *, required: bool) -> tuple[Any, str | None]:
        """The same of an answer of one boolean a choice, by the choices' texts; in the order of the choices.

        One that is left alone is what the form shows of it.

        Args:
            given: What came; not empty.
            required: Each of them has to be there.
        """
        texts: list[str] = []
        for text in self.choices.values:
            if text not in given:
                if required:
                    return None, f"{shortened(text)} is missing"
                if self.is_ticked(text):
                    texts.append(text)
                continue
            each = given[text]
            chosen = spelled_value(each, "boolean") if isinstance(each, str) else each
            if not isinstance(chosen, bool):
                return None, f"true or false is expected for {shortened(text)}, got {kind(each)}"
            if chosen:
                texts.append(text)
        return self._value(texts), self._wrong_number(texts)

    def _value(self, texts: Sequence[str]) -> Any:
        values = [self.choices.values[text] for text in texts]
        if not self.is_flag:
            return values
        flags = 0
        for value in values:
            flags |= value
        return flags

    def _wrong_number(self, texts: Sequence[str]) -> str | None:
        if len(texts) < self.least:
            return f"at least {self.least} of the choices {'is' if self.least == 1 else 'are'} expected"
        if self.most is not None and len(texts) > self.most:
            return f"at most {self.most} of the choices {'is' if self.most == 1 else 'are'} expected"
        return None


def several_of(schema: Mapping[str, Any], name: str) -> Several | None:
    """The choices of a field that is a list of choices; `None` when it is anything else.

    Args:
        schema: The field's schema, inline.
        name: The field, for messages.

    Raises:
        InvalidSchema: A form cannot show the choices.
    """
    items = schema.get("items")
    if schema.get("type") != "array" or not isinstance(items, Mapping):
        return None
    flags = schema.get(FLAGS)
    choices = choices_of(items, name, names=schema.get("enumNames"))
    if choices is None:
        return None
    if isinstance(flags, Mapping):
        choices = Choices(dict(flags), choices.titles)
    return Several(
        choices,
        _count(schema.get("minItems")) or 0,
        _count(schema.get("maxItems")),
        _default(schema, choices),
        isinstance(flags, Mapping),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _default(schema: Mapping[str, Any], choices: Choices) -> tuple[str, ...] | None:
    default = schema.get("default")
    if FLAGS in schema and isinstance(default, int):
        return tuple(text for text, flag in choices.values.items() if flag & default == flag)
    if not isinstance(default, list):
        return None
    texts = [text for each in default if (text := choices.text_of(each)) is not None]
    if len(texts) < len(default) or len(set(texts)) < len(texts):
        return None
    # That of a set is in another order in every process.
    return tuple(text for text in choices.values if text in texts) if schema.get("uniqueItems") else tuple(texts)
