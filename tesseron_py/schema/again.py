"""The next question, when an answer did not fit: what was wrong, in words for the person who gave it, and what they had
typed, so that they need not type it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..plain import plain
from .fields import is_shown
from .flat import shown_type
from .issues import SHOWN, shortened, spelled
from .spelling import spelled_value

DID_NOT_FIT: Final = "The last answer did not fit:"
LINES: Final = 20
"""Faults that a question lists."""
LONGEST_KEPT: Final = 16_384
"""Characters of a text that a form holds as what was typed; a longer one would come back with every question."""
_LONGEST: Final = 300  # characters of what is said of one field
_GOT: Final = re.compile(r", got (null|a boolean|a number|a string|a list|an object)$")
_PATTERN: Final = re.compile(r"a string that matches (.*) is expected", re.DOTALL)
_UNFIT: Final = "what you gave does not fit"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a part of a value was asked as.

    Attributes:
        path: The part's place in the value.
        title: What the person read.
        properties: The properties of the form that ask for it; none for an object.
        is_secret: What was typed is shown to nobody again.
        hint: What is expected there, in the author's words.
    """

    path: tuple[str, ...]
    title: str
    properties: tuple[str, ...]
    is_secret: bool = False
    hint: str = ""


def hinted(description: Any, examples: Any) -> str:
    """What an author says of what is expected in a field: its description, and up to three examples."""
    said = [description.strip().rstrip(".")] if isinstance(description, str) and description.strip() else []
    if isinstance(examples, (list, tuple)) and examples:
        said.append(f"for example {', '.join(map(shortened, examples[:3]))}")
    return ", ".join(said)


def asked_again(question: str, asked: Sequence[Asked], content: Mapping[str, Any], issues: Sequence[Any]) -> str:
    """The question, and below it a line for each field that did not fit.

    Args:
        question: The first question.
        asked: What was asked.
        content: What came.
        issues: What is wrong with it: each `{message, path}`.
    """
    faults: dict[str, list[str]] = {}
    given: dict[str, str] = {}
    for issue in issues:
        message, path = str(issue["message"]), tuple(issue["path"])
        about = _about(path, asked)
        title = _cut(spelled(path), SHOWN) if about is None else about.title
        said = faults.setdefault(title, [])
        if any(_tells(message, each, content, own=each is about) for each in asked if each.is_secret):
            message = _UNFIT
        message = _GOT.sub("", message) if message != "required, but missing" else "it is missing"
        if (pattern := _PATTERN.fullmatch(message)) is not None:
            hint = "" if about is None or not about.hint else f": {about.hint}"
            message = f"it is not of the form that is expected{hint} (its pattern is {pattern[1]})"
        if message not in said:
            said.append(message)
        if about is not None and not about.is_secret and (shown := _given(about, content)) is not None:
            given[title] = f", {shown}"
    lines = [_line(title, "; ".join(said), given.get(title, "")) for title, said in faults.items()]
    if len(lines) > LINES:
        lines[LINES:] = [f"- and {len(lines) - LINES} more"]
    return "\n".join([question, "", DID_NOT_FIT, *lines])


def with_defaults(
    schema: Mapping[str, Any], asked: Sequence[Asked], content: Mapping[str, Any], *, booleans_only: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The form with what was typed as its defaults, where a client can show it; and those defaults.

    Args:
        schema: The form as it was asked first.
        asked: What was asked.
        content: What came.
        booleans_only: The client shows the defaults of booleans alone.
    """
    kept: dict[str, Any] = {}
    secret = {name for each in asked if each.is_secret for name in each.properties}
    properties = {name: dict(each) for name, each in (schema.get("properties") or {}).items()}
    for name, each in properties.items():
        if name in secret or name not in content or (booleans_only and shown_type(each) != "boolean"):
            continue
        value = content[name]
        if isinstance(value, str) and (spelled := spelled_value(value, shown_type(each))) is not None:
            value = spelled
        if is_shown(value, each) and not (isinstance(value, str) and len(value) > LONGEST_KEPT):
            each["default"] = kept[name] = value
    return {**schema, "properties": properties}, kept


def with_kept(
    content: dict[str, Any],
    kept: Mapping[str, Any],
    schema: Mapping[str, Any],
    is_left_out: Callable[[str, Any], bool],
) -> dict[str, Any]:
    """An answer to a form that shows what was typed before: what was left alone is what was shown.

    What was emptied is not: it is nothing given, where the field has nothing else that it is by default.

    Args:
        content: What came now.
        kept: What the form showed of what was typed before.
        schema: The form as it was asked first.
        is_left_out: Whether what came for a property says that nothing was given.
    """
    shown: dict[str, Any] = {}
    for name, value in kept.items():
        each = schema["properties"][name]
        has_other = "default" in each or shown_type(each) == "boolean"
        if name not in schema.get("required", ()) and (
            name not in content or (has_other and is_left_out(name, content[name]))
        ):
            shown[name] = value
    return content | shown


def _about(path: tuple[str | int, ...], asked: Sequence[Asked]) -> Asked | None:
    """The innermost part that a path leads to or into."""
    within = [each for each in asked if each.path == path[: len(each.path)]]
    return max(within, key=lambda each: len(each.path), default=None)


def _given(about: Asked, content: Mapping[str, Any]) -> str | None:
    """What is said of what was given for one property, to who gave it; nothing for several, which are choices."""
    if len(about.properties) != 1:
        return None
    value = content.get(about.properties[0])
    if value is None or isinstance(value, Mapping):
        return None
    if isinstance(value, str) and not value.strip():
        return "you left it empty"
    return f"you gave {plain(shortened(value))}"


def _tells(message: str, secret: Asked, content: Mapping[str, Any], *, own: bool) -> bool:
    """Whether a message holds what a secret field held, as an author's own may; `own` when it is about that field.

    In other messages a character or two say nothing of it.
    """
    typed = [str(content[name]) for name in secret.properties if content.get(name) is not None]
    return any(text in message for text in typed if text and (own or len(text) > 2))


def _line(title: str, said: str, given: str) -> str:
    said = _cut(plain(said), _LONGEST) + given
    return f"- {plain(title)}: {said}" if title else f"- {said}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
