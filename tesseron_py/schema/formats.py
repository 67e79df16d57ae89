"""The string formats a form may ask for: what counts as an e-mail address, a URI, a date, a date with time.

The four are MCP's (2025-06-18, elicitation); any other `format` is an annotation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Final

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]+@[^@\s\x00-\x1f\x7f]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f\x7f]+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DATE_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)


def _is_email(text: str) -> bool:
    return _EMAIL.fullmatch(text) is not None


def _is_uri(text: str) -> bool:
    return _URI.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    """RFC 3339: with seconds and an offset; a leap second is one."""
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return False
    day, minute, second = found.groups()
    try:
        datetime.fromisoformat(f"{day}T{minute}:{'59' if second == '60' else second}")
    except ValueError:
        return False
    return True


FORMATS: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    "email": (_is_email, "an e-mail address"),
    "uri": (_is_uri, "an absolute URI"),
    "date": (_is_date, "a date such as 2026-01-31"),
    "date-time": (_is_date_time, "a date and time with an offset, such as 2026-01-31T12:00:00Z,"),
}
"""By its name: whether a string is of the format, and what is expected, for messages."""
