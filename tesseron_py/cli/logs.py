"""What the library logs, as a command shows it: warnings and errors as lines on standard error."""

from __future__ import annotations

import logging
import os

from ..plain import plain
from .failure import Failure


class _OneLine(logging.Formatter):
    """A record as one line; a traceback only with TESSERON_DEBUG.

    Why a command cannot go on may take more lines, which are indented.
    """

    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname.lower()}: {record.getMessage()}"
        if not record.exc_info or record.exc_info[1] is None:
            return plain(line)
        error = record.exc_info[1]
        if isinstance(error, Failure):
            first, *rest = f"{line}: {error.message}".split("\n")
            return "\n".join([plain(first), *(f"  {plain(each.strip())}" for each in rest)])
        from .origin import described

        line = f"{line}: {described(error)}"
        if os.environ.get("TESSERON_DEBUG"):
            return plain(line) + "\n" + self.formatException(record.exc_info)
        return plain(f"{line}; TESSERON_DEBUG=1 shows the traceback")


def show_logs() -> None:
    """Show them, unless somebody has set logging up already."""
    if not logging.root.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_OneLine())
        logging.getLogger("tesseron_py").handlers = [handler]


def are_shown() -> bool:
    """Whether they are on standard error, where the user of a command sees them."""
    return any(isinstance(handler.formatter, _OneLine) for handler in logging.getLogger("tesseron_py").handlers)
