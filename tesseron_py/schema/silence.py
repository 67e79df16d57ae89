"""What is wrong with a person's answer, told to an agent: without what the person gave.

Our own messages hold nothing of it. Those of an author's validator, and some of pydantic's, may hold anything; they are
passed on only where nothing in them was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from .again import Asked
from .issues import Issue

UNFIT: Final = "what was given does not fit"
_WORD: Final = re.compile(r"[^\W_]+")
_SHORT: Final = 2  # characters of a word that says nothing within another one


def without_answers(issues: Sequence[Issue], asked: Sequence[Asked], content: Mapping[str, Any]) -> list[Issue]:
    """The issues, with `UNFIT` in place of a message that may hold what was given.

    It may where a word or number of it, in any letter case, is in the message, and where the fault is of a secret field
    or of an object with one, whatever the message is.

    Args:
        issues: What is wrong.
        asked: What was asked.
        content: What came.
    """
    if not any(issue.quotes for issue in issues):
        return list(issues)
    secrets = [each.path for each in asked if each.is_secret]
    given = {word for value in content.values() for word in _words(value)}
    return [
        replace(issue, message=UNFIT)
        if issue.quotes and (_is_about(issue.path, secrets) or _holds(issue.message, given))
        else issue
        for issue in issues
    ]


def _is_about(path: Sequence[str | int], secrets: Sequence[tuple[str, ...]]) -> bool:
    return any(all(a == b for a, b in zip(path, secret, strict=False)) for secret in secrets)


def _holds(message: str, given: set[str]) -> bool:
    message = message.casefold()
    words = set(_WORD.findall(message))
    digits = re.sub(r"\D", "", message)
    return any(
        word in words or (len(word) > _SHORT and (word in message or (word.isdigit() and word in digits)))
        for word in given
    )


def _words(value: Any) -> Iterator[str]:
    """What a value is recognised by."""
    match value:
        case bool() | None:
            return
        case Mapping():
            for key, each in value.items():
                yield from _words(key)
                yield from _words(each)
        case list():
            for each in value:
                yield from _words(each)
        case _:
            text = str(value).casefold()
            yield from _WORD.findall(text)
            yield from (f"'{mark}'" for mark in set(text) if not mark.isalnum())
            if text.strip():
                yield text.strip()
