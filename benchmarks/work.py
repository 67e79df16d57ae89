"""The work that all peers do: the same tools, the same answers of the person, and what must come of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TEXT = "Buy milk and two dozen eggs"
LARGE = "x" * 2**20
NOTES = 100
DELIVERY = {"name": "Ada", "street": "12 St James's Square", "quantity": 2, "price": 9.5, "express": True}
"""What the person fills into the form of five fields."""


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """One call of a tool, or many at once.

    Attributes:
        name: What rows call it.
        tool: The tool's name.
        text: The text of its result.
        arguments: Its arguments.
        answer: What the person answers, of a tool that asks; else `None`.
        notes: How many notes of its progress the tool sends.
        at_once: How many such calls are under way at once.
        heavy: Whether a call takes so long that fewer rounds must do.
    """

    name: str
    tool: str
    text: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    answer: Mapping[str, Any] | None = None
    notes: int = 0
    at_once: int = 1
    heavy: bool = False

    def check(self, message: Mapping[str, Any], notes: int) -> None:
        """Look at a call's response, and at how many notes came before it.

        Raises:
            RuntimeError: It is not what it should be.
        """
        content = message.get("result", {}).get("content", [{}])
        if content[0].get("text") != self.text or notes != self.notes:
            raise RuntimeError(f"{self.name} failed, after {notes} notes: {str(message)[:500]}")


ECHO = Work("echo", "echo", TEXT, {"text": TEXT})
CONFIRM = Work("confirm", "clear", "5", answer={"approve": True})
ELICIT = Work("elicit", "order", "2 for Ada", answer=DELIVERY)
CONFIRMS = Work("confirms-100", "clear", "5", answer={"approve": True}, at_once=100, heavy=True)
LARGE_RESULT = Work("large", "large", LARGE)
PROGRESS = Work("progress-100", "report", "done", notes=NOTES)
WORKS = (ECHO, CONFIRM, ELICIT, CONFIRMS, LARGE_RESULT, PROGRESS)


def bare_answers(work: Work) -> list[list[str]]:
    """What a server sends that does nothing: for each message that it gets in the course of a call, some texts."""
    content = [{"type": "text", "text": work.text}]
    result = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": content, "isError": False}})
    note = {"progressToken": 1, "progress": 1, "total": NOTES, "message": "step 1"}
    notes = [json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": note})] * work.notes
    # A question is about as long as a result.
    return [[result], [result]] if work.answer is not None else [[*notes, result]]
