"""`UNSET`: the value of a parameter that was not given, where `None` is one that can be."""

from __future__ import annotations

from typing import Any, final


@final
class _Unset:
    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


UNSET: Any = _Unset()
