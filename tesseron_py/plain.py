"""Foreign text made safe for a terminal.

A question or an error that came over the wire may hold characters that clear the screen, recolour it or reverse the
reading order; here they become visible instead.
"""

from __future__ import annotations

import re

# C0 and C1 controls, DEL, line and paragraph separators, zero-width and bidirectional marks, tags, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain(text: str) -> str:
    r"""`text` on one line with nothing in it that acts: `"a\x1b[2J"` becomes `"a\\x1b[2J"`."""
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], text)


def plain_json(text: str) -> str:
    """The same JSON as in `text`, on one line, with such characters escaped the way JSON does."""
    return _UNSAFE.sub(lambda match: _json_escape(match[0]), text)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
