"""What is wrong with a value, in words that help to mend it: `{message, path}` for every fault.

The path is made of wire names and indices. Messages say what is expected, and what came only where the one who reads
them sent it: an agent its arguments, nobody a person's answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..jsontext import encode

if TYPE_CHECKING:
    from pydantic import ValidationError

Path: TypeAlias = list[str | int]

SHOWN: Final = 60
"""Characters of a value that a message shows."""
MOST: Final = 1000
"""Faults that are told; a union in a union has twice as many with each level."""
_IN_MESSAGE: Final = 5  # issues that the text of an error names; its data lists all


@dataclass(frozen=True, slots=True)
class Issue:
    """One fault: what is wrong, and where."""

    message: str
    path: Path
    unknown: str | None = None
    """The name of a field that is not declared, where that is the fault."""
    quotes: bool = False
    """It is told in the words of an author's validator or of pydantic, which may hold what came."""

    def to_wire(self) -> dict[str, Any]:
        return {"message": self.message, "path": self.path}

    def __str__(self) -> str:
        return f"{spelled(self.path)}: {self.message}" if self.path else self.message


class Mismatch(Exception):
    """A value does not fit; `issues` is never empty. Whoever validates turns it into an error of its own."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        super().__init__(summary(issues))
        self.issues = issues

    @property
    def data(self) -> list[dict[str, Any]]:
        """All issues, as they go on the wire (Tesseron 1.2 §2, -32004)."""
        return [issue.to_wire() for issue in self.issues]


def summary(issues: Sequence[Issue]) -> str:
    """The issues as one line: `text: a string is expected, got 30; n: required, but missing`."""
    named = "; ".join(str(issue) for issue in issues[:_IN_MESSAGE])
    more = len(issues) - _IN_MESSAGE
    return f"{named}; and {more} more" if more > 0 else named


def spelled(path: Iterable[str | int]) -> str:
    """A path as people write it: `items[0].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def described(choices: Sequence[Any]) -> str:
    """Choices as people read them: `one of "a", "b"`, or the only one."""
    shown = [shortened(choice) for choice in choices[:20]] + ["…"] * (len(choices) > 20)
    return shown[0] if len(shown) == 1 else f"one of {', '.join(shown)}"


def shortened(value: Any) -> str:
    """A value as JSON of at most `SHOWN` characters."""
    try:
        text = encode(value)
    except ValueError:
        return f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def kind(value: Any) -> str:
    """What sort of JSON value it is, for a message that must not show it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
    return "an object"


def issues_of(error: ValidationError, raw: Any, *, noun: str, show: Callable[[Path], bool]) -> list[Issue]:
    """pydantic's errors as issues, those of all alternatives of a union; `alternatives` chooses among them.

    Args:
        error: What strict validation of `raw`'s JSON text raised.
        raw: The value that was validated.
        noun: What an unknown field is called: "argument" or "field".
        show: Whether a message may show the value that came at a place.
    """
    issues: dict[tuple[str | int, ...], Issue] = {}
    for found in error.errors(include_url=False)[:MOST]:
        missing, unknown = found["type"] in MISSING, found["type"] in UNKNOWN
        path = _path(found["loc"], raw, named=missing or unknown)
        if unknown:
            issue = Issue(f"unknown {noun} {shortened(path[-1])}", path, str(path[-1]))
        elif missing:
            issue = Issue("required, but missing", path)
        else:
            message, quotes = _message(found["type"], found["msg"], found.get("ctx", {}), found["input"], show(path))
            issue = Issue(message, path, quotes=quotes)
        issues.setdefault((issue.message, *path), issue)
    return [*issues.values(), *untold(error)]


def untold(error: ValidationError) -> Iterator[Issue]:
    """That there are more faults than are told, if there are."""
    more = error.error_count() - MOST
    if more > 0:
        yield Issue(f"{more} more faults, which are too many to tell", [])


MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})


def _path(location: tuple[int | str, ...], raw: Any, *, named: bool) -> Path:
    """The steps of pydantic's location that are in the value; others name union members and validators."""
    path: Path = []
    here = raw
    for index, step in enumerate(location):
        if holds(here, step):
            here = here[step]
        elif not (named and index == len(location) - 1):
            continue
        path.append(step)
    return path


def holds(value: Any, step: int | str) -> bool:
    """Whether there is something in a value at a step."""
    if isinstance(value, list):
        return isinstance(step, int) and 0 <= step < len(value)
    return isinstance(value, Mapping) and step in value


_A_DATE = "a date such as 2026-01-31"
_A_DATETIME = "a date and time such as 2026-01-31T12:00:00Z"
_A_TIME = "a time such as 12:30:00"
_A_DURATION = "a duration such as PT1H30M"
_A_COMPLEX = "a complex number as a string, such as 1+2j,"
_AN_OBJECT = "an object"
_A_LIST = "a list"
_INTEGER = "a whole number"
_EXPECTED: Mapping[str, str] = {
    "string_type": "a string",
    "string_sub_type": "a string",
    "int_type": _INTEGER,
    "int_from_float": _INTEGER,
    "int_parsing": _INTEGER,
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "none_required": "null",
    "decimal_type": "a decimal number",
    "decimal_parsing": "a decimal number",
    "bytes_type": "a string",
    "list_type": _A_LIST,
    "tuple_type": _A_LIST,
    "set_type": _A_LIST,
    "frozen_set_type": _A_LIST,
    "iterable_type": _A_LIST,
    "dict_type": _AN_OBJECT,
    "mapping_type": _AN_OBJECT,
    "model_type": _AN_OBJECT,
    "model_attributes_type": _AN_OBJECT,
    "dataclass_type": _AN_OBJECT,
    "date_type": _A_DATE,
    "date_parsing": _A_DATE,
    "date_from_datetime_parsing": _A_DATE,
    "date_from_datetime_inexact": _A_DATE,
    "datetime_type": _A_DATETIME,
    "datetime_parsing": _A_DATETIME,
    "datetime_from_date_parsing": _A_DATETIME,
    "datetime_object_invalid": _A_DATETIME,
    "time_type": _A_TIME,
    "time_parsing": _A_TIME,
    "time_delta_type": _A_DURATION,
    "time_delta_parsing": _A_DURATION,
    "timezone_naive": "a time without an offset",
    "timezone_aware": "a time with an offset, such as 2026-01-31T12:00:00Z,",
    "uuid_type": "a UUID",
    "uuid_parsing": "a UUID",
    "complex_type": _A_COMPLEX,
    "complex_str_parsing": _A_COMPLEX,
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "string_pattern_mismatch": "a string that matches {pattern}",
    "too_short": "a length of at least {min_length}",
    "too_long": "a length of at most {max_length}",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "literal_error": "{expected}",
    "enum": "{expected}",
}


def worded(type: str, text: str, context: Mapping[str, Any], given: Any, show: bool) -> tuple[str | None, str]:
    """What is expected, and what came instead; of a fault that is no expectation, `None` and its text.

    Args:
        type: pydantic's type of the error.
        text: Its message.
        context: What goes with it.
        given: The value.
        show: Whether it may be shown.
    """
    expected = _EXPECTED.get(type)
    if expected is None:
        # A ValueError of the author's own, or one of the many rare faults, in pydantic's words.
        return None, text.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return expected.format_map(context), got(given, show) if show or type.endswith("_type") else ""


def got(given: Any, show: bool) -> str:
    """The end of a message that says what came: the value, or only its kind."""
    return f", got {shortened(given) if show and not isinstance(given, (dict, list)) else kind(given)}"


def expectation(expected: str) -> str:
    """`a string is expected`, `at least 2 characters are expected`."""
    if expected.endswith(" 1 characters"):
        expected = expected.removesuffix("s")
    return f"{expected} {'are' if expected.endswith('characters') else 'is'} expected"


def _message(type: str, text: str, context: Mapping[str, Any], given: Any, show: bool) -> tuple[str, bool]:
    expected, rest = worded(type, text, context, given, show)
    return (rest, type not in FIXED) if expected is None else (expectation(expected) + rest, False)


FIXED: Final = frozenset(
    {
        "date_future", "date_past", "datetime_future", "datetime_past", "decimal_max_digits", "decimal_max_places",
        "decimal_whole_digits", "url_parsing", "url_scheme", "url_too_long", "uuid_version",
    }
)  # fmt: skip
"""Faults that pydantic tells of in words that hold the limit alone, and nothing of what came."""
