"""The script of `tesseron-py agent`: one directive a line, read into facts.

It knows what may be written and says exactly what is wrong with the rest; what the directives do is `agent`'s.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from ..invocation import Accept, Cancel, Decline
from ..jsontext import decode
from .failure import Failure

T = TypeVar("T")

CLAIM_TOOL = "tesseron__claim_session"

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s)", re.ASCII)
_KNOWN = (
    "wait 500ms, claim CODE, elicit-accept {json}, elicit-decline, elicit-cancel, @tool {json}, read URI, list,"
    " schema TOOL, # comment"
)


@dataclass(frozen=True, slots=True)
class Wait:
    """`wait 500ms`"""

    seconds: float


@dataclass(frozen=True, slots=True)
class Queue:
    """`elicit-accept {json}`, `elicit-decline`, `elicit-cancel`: the answer to a question that is still to come."""

    answer: Accept | Decline | Cancel


@dataclass(frozen=True, slots=True)
class Call:
    """`@tool {json}`, and `claim CODE`, which is a call of the claim tool."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """`read URI`"""

    uri: str


@dataclass(frozen=True, slots=True)
class List:
    """`list`: what there is to call and to read."""


@dataclass(frozen=True, slots=True)
class Schema:
    """`schema TOOL`: how a tool is called."""

    tool: str


Directive: TypeAlias = Wait | Queue | Call | Read | List | Schema


def duration(text: str) -> float:
    """The seconds in `500ms` or `2s`.

    Raises:
        ValueError: It is neither.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no duration; write it like 500ms or 2s")
    return float(match[1]) / (1000 if match[2] == "ms" else 1)


def parse(line: str, number: int) -> Directive | None:
    """What one line says; `None` for a comment or an empty line.

    Args:
        line: The line, with or without its end.
        number: Which line it is, counted from 1.

    Raises:
        Failure: It is no directive; the message names the line, what is wrong, and what may stand there.
    """
    text = line.strip()
    if not text or text.startswith("#"):
        return None
    word, _, rest = text.partition(" ") if " " in text else text.partition("\t")
    try:
        return _directive(word, rest.strip())
    except ValueError as error:
        raise Failure(f"line {number}: {error}", 2) from error


def _directive(word: str, rest: str) -> Directive:
    if word.startswith("@"):
        if word == "@":
            raise ValueError("the name of a tool is missing after @")
        if "{" in word:
            raise ValueError(f"a space is missing before the {{ in {word!r}")
        return Call(word[1:], _object(rest, word) if rest else {})
    match word:
        case "wait":
            return Wait(duration(_given(rest, word, "how long, like 500ms or 2s")))
        case "claim":
            return Call(CLAIM_TOOL, {"code": _given(rest, word, "the claim code")})
        case "read":
            return Read(_given(rest, word, "the URI of a resource"))
        case "list":
            return _alone(List(), rest, word)
        case "schema":
            return Schema(_given(rest, word, "the name of a tool; list shows them").removeprefix("@"))
        case "elicit-accept":
            return Queue(Accept(_object(_given(rest, word, "a JSON object, like {}"), word)))
        case "elicit-decline":
            return Queue(_alone(Decline(), rest, word))
        case "elicit-cancel":
            return Queue(_alone(Cancel("the script says so"), rest, word))
    raise ValueError(f"unknown directive {word!r}; known are: {_KNOWN}")


def _given(rest: str, word: str, what: str) -> str:
    if not rest:
        raise ValueError(f"{word} needs {what}")
    return rest


def _alone(directive: T, rest: str, word: str) -> T:
    if rest:
        raise ValueError(f"{word} stands alone, and here {rest!r} follows it")
    return directive


def _object(text: str, word: str) -> dict[str, Any]:
    try:
        value = decode(text)
    except ValueError as error:
        said = str(error).replace("at line 1 column", "at its character")
        raise ValueError(f"what follows {word} is not JSON: {said}") from error
    if not isinstance(value, dict):
        raise ValueError(f"what follows {word} must be a JSON object, like {{}}")
    return value
