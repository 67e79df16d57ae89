"""The targets, by name. Each is a function of bytes that raises when its invariant does not hold.

A module is imported when one of its targets is asked for: what is imported under the fuzzer's eyes is slower.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Final, TypeAlias

from ...product.clocks import Backend

Target: TypeAlias = Callable[[bytes], None]

MODULES: Final[Mapping[str, str]] = {
    "jsontext": "text",
    "plain": "text",
    "script": "text",
    "sse": "web",
    "guard": "web",
    "mirrored": "web",
    "seal": "web",
    "files": "files",
    "schemas": "schemas",
    "answers": "schemas",
    "peer": "frames",
    "app": "frames",
    "gateway": "frames",
    "http": "http",
    "binding": "http",
    "websocket": "sockets",
    "unix": "sockets",
}
"""Where each target is."""


def event_loop() -> Backend:
    """The event loop that targets run on: `$TESSERON_FUZZ_LOOP`, or asyncio."""
    return "trio" if os.environ.get("TESSERON_FUZZ_LOOP") == "trio" else "asyncio"


def target(name: str) -> Target:
    """The target of that name."""
    run: Target = getattr(import_module(f"{__name__}.{MODULES[name]}"), f"{name}_target")

    def watched(data: bytes) -> None:
        with _no_faults():
            run(data)

    return watched


@contextmanager
def _no_faults() -> Iterator[None]:
    """Nothing in the package logs an exception of its own: what is caught at the last moment is a fault, too."""
    faults = _Faults()
    logger = logging.getLogger("tesseron_py")
    logger.addHandler(faults)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    passed_on, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.removeHandler(faults)
        logger.setLevel(level)
        logger.propagate = passed_on
    if faults.found is not None:
        raise AssertionError("an exception was logged") from faults.found


class _Faults(logging.Handler):
    """Words every record, which must never fail, and keeps the first exception."""

    found: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        record.getMessage()
        if record.exc_info and record.levelno >= logging.WARNING and self.found is None:
            self.found = record.exc_info[1]
