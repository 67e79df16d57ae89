"""What is wrong with a person's answer, told to an agent: without what the person gave.

Our own messages hold nothing of it. Those of an author's validator, and some of pydantic's, may hold anything, written
in any way; no agent gets them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .issues import Issue

UNFIT: Final = "what was given does not fit"


def without_answers(issues: Sequence[Issue]) -> list[Issue]:
    """The issues, with `UNFIT` in place of a message in words that are not ours."""
    return [replace(issue, message=UNFIT) if issue.quotes else issue for issue in issues]
