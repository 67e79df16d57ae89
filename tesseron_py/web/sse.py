"""Server-sent events as bytes: frames to send, and a parser that takes a stream in any pieces.

It knows the format of the WHATWG HTML standard (§9.2) and nothing of what the events say or how a stream is opened,
kept alive or resumed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MEDIA_TYPE: Final = "text/event-stream"
COMMENT: Final = b":\n\n"
"""A frame that says nothing: it keeps a silent stream from being taken for a dead one."""
DEFAULT_LIMIT: Final = 8 * 1024 * 1024
"""Bytes one event may have, unless the reader says otherwise."""

_END_OF_LINE = re.compile(rb"\r\n|\n|\r")
_LINES = re.compile("\r\n|\n|\r")


def encode(text: str, *, id: str | None = None) -> bytes:
    """The frame that carries `text`: one `data:` line for each of its lines, then an empty one.

    An id makes clients come back for the rest of a stream that ended; MCP's streams have none (`spec/mcp.md` §2).
    """
    if "\n" in text or "\r" in text:
        text = "\ndata: ".join(_LINES.split(text))
    head = b"data: " if id is None else b"id: %b\ndata: " % id.encode()
    return head + text.encode() + b"\n\n"


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        data: Its `data` lines, joined with a newline; never empty.
        id: The id that the stream gave last, or `None`.
        event: The event's type, `"message"` unless the stream says otherwise.
    """

    data: str
    id: str | None = None
    event: str = "message"


class EventTooLarge(ValueError):
    """An event, or one line of it, is above the reader's limit; nothing after it can be read."""


class EventParser:
    """Turns the bytes of one stream into events, whatever pieces they come in.

    Lines end at CR, LF or CRLF and nowhere else (U+2028 and the like are text). Comments, events without data, and an
    event that the stream broke off are skipped. Bytes that are no UTF-8 become U+FFFD, as the standard has it.

    Args:
        limit: Bytes one event may have. Memory stays within it and one piece.

    Example:
        ```python
        parser = EventParser()
        parser.feed(b"data: {}\\n")      # []
        parser.feed(b"\\n")              # [Event(data="{}", id=None, event="message")]
        ```
    """

    def __init__(self, *, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._size = 0
        self._id: str | None = None
        self._type = ""
        self._skip_newline = False
        self._at_start = True
        self._too_large = False

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that end within `chunk`, which continues what was fed before.

        Raises:
            EventTooLarge: An event is above the limit. Every later call raises it, too.
        """
        if self._too_large:
            raise EventTooLarge(f"an event is above {self._limit} bytes")
        if self._skip_newline and chunk:
            self._skip_newline = False
            if chunk[0] == 0x0A:  # the second half of a CRLF whose CR came with the last piece
                chunk = chunk[1:]
        events: list[Event] = []
        start = 0
        for end in _END_OF_LINE.finditer(chunk):
            self._take(chunk[start : end.start()])
            start = end.end()
            line, self._line = b"".join(self._line), []
            if self._at_start:
                self._at_start = False
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line:
                self._field(line)
            else:
                self._dispatch(events)
        self._take(chunk[start:])
        self._skip_newline = chunk.endswith(b"\r")
        return events

    def _take(self, piece: bytes) -> None:
        if not piece:
            return
        self._size += len(piece)
        if self._size > self._limit:
            self._too_large = True
            self._line, self._data = [], []
            raise EventTooLarge(f"an event is above {self._limit} bytes")
        self._line.append(piece)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._type = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
            case b"":  # a comment costs nothing of the event's room, however many there are
                self._size -= len(line)

    def _dispatch(self, events: list[Event]) -> None:
        data, self._data = b"\n".join(self._data), []
        type, self._type = self._type, ""
        self._size = 0
        if data:
            events.append(Event(data.decode("utf-8", "replace"), self._id, type or "message"))
