"""Text that came where a form asks for something else: some clients send whatever was typed.

One rule, for answers to forms and for nothing else: a text is taken for a value only if it spells exactly one. The
arguments of an agent are never read this way, nor is the `approve` of a confirm, which is `true` or no yes.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Final

WORDS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""What spells a boolean, in any letter case."""

_INTEGER = re.compile("-?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_GROUPED = re.compile(r"-?[1-9][0-9]{0,2}\.[0-9]{3}")
_DIGITS: Final = 1000  # no person's number is longer, and Python refuses to read what is much longer

TWO_WAYS: Final = "a number that can be read in one way only is expected, without a comma or a group of thousands"
"""What is wrong with a text that may be a number, and may be another one."""


def spelled_value(text: str, type: str) -> bool | int | float | None:
    """The value of a JSON Schema `type` that `text` spells; `None` when it spells none, or might be one of two.

    A boolean is true/false, yes/no or 1/0; an integer its digits; a number is written as JSON writes it, but for what
    may be a group of thousands (`1.500`). White space around it does not count.

    Example:
        ```python
        spelled_value(" Yes", "boolean")      # True
        spelled_value("1.500", "number")      # None
        ```
    """
    text = text.strip()
    if len(text) > _DIGITS:
        return None
    match type:
        case "boolean":
            return WORDS.get(text.lower())
        case "integer":
            return int(text) if _INTEGER.fullmatch(text) else None
        case "number" if _NUMBER.fullmatch(text) and not _GROUPED.fullmatch(text):
            if not math.isfinite(float(text)):
                return None
            return int(text) if _INTEGER.fullmatch(text) else float(text)
    return None


def read_text(text: str, format: str | None) -> tuple[str, str | None]:
    """A text whose type has a spelling of its own, and what is wrong with it.

    A `decimal` is written as a number is. A `duration` is ISO 8601's, in weeks, days, hours, minutes and seconds:
    months and years are not all of one length, and `10:30` may be either of two times.
    """
    match format:
        case "decimal" if (spelled := text.strip()) and reads_two_ways(spelled, "number"):
            return text, TWO_WAYS
        case "decimal":
            return text.strip(), None if spelled_value(text, "number") is not None else _A_DECIMAL
        case "duration":
            return text.strip(), None if _DURATION.fullmatch(text.strip()) else _A_DURATION
    return text, None


_A_DECIMAL: Final = "a decimal number is expected"
_A_DURATION: Final = "a duration such as PT1H30M is expected"
_DURATION = re.compile(
    r"[+-]?P(?=[0-9T])(?:[0-9]+W)?(?:[0-9]+D)?(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?"
)


def written_duration(value: timedelta) -> str:
    """A duration as `read_text` reads it: in days, hours, minutes and seconds."""
    sign, value = ("-", -value) if value < timedelta() else ("", value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    rest = f"{seconds}.{value.microseconds:06}".rstrip("0").rstrip(".") if value.microseconds else str(seconds)
    times = ((hours, f"{hours}H"), (minutes, f"{minutes}M"), (rest != "0", f"{rest}S"))
    time = "".join(text for given, text in times if given)
    days = f"{value.days}D" if value.days else ""
    return f"{sign}P{days}T{time}" if time else f"{sign}P{days or 'T0S'}"


def reads_two_ways(text: str, type: str) -> bool:
    """Whether a text for a number may be one, written as people write and JSON does not: `1,5`, `1.500`."""
    text = text.strip()
    return type == "number" and (_GROUPED.fullmatch(text) is not None or _COMMA.fullmatch(text) is not None)


_COMMA = re.compile(r"-?[0-9][0-9.]*,[0-9.,]*")
