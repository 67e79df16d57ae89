"""The person behind a foreign client: sees the prompts, and answers them as the test says."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, TypeAlias

import anyio

Reply: TypeAlias = Mapping[str, Any]
"""The result of an `elicitation/create` as JSON, or `{"error": "why"}` for a JSON-RPC error."""

YES: Reply = {"action": "accept", "content": {"approve": True}}
DECLINE: Reply = {"action": "decline"}
CANCEL: Reply = {"action": "cancel"}
ERROR: Reply = {"error": "the dialog broke"}


def accept(**content: Any) -> Reply:
    """An accepted form."""
    return {"action": "accept", "content": content}


class Prompt:
    """One question that the client shows.

    Attributes:
        message: What the person reads.
        form: The form's schema; `None` for a page to go to.
        url: The page to go to.
        withdrawn: Set when the server took the question back. Not every client hears of that.
    """

    def __init__(self, message: str, form: Mapping[str, Any] | None, url: str | None) -> None:
        self.message = message
        self.form = form
        self.url = url
        self.withdrawn = anyio.Event()
        self._reply: Reply | None = None
        self._replied = anyio.Event()

    def answer(self, reply: Reply) -> None:
        """What the person answers."""
        self._reply = reply
        self._replied.set()

    async def replied(self) -> Reply:
        """Wait for the person."""
        try:
            await self._replied.wait()
        except anyio.get_cancelled_exc_class():
            self.withdrawn.set()
            raise
        assert self._reply is not None
        return self._reply


class Person:
    """Answers in the order of `will(…)`; when nothing is left, a prompt waits for the test to answer it."""

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []
        self._script: deque[Reply] = deque()
        self._seen = 0
        self._asked = anyio.Event()

    def will(self, *replies: Reply) -> None:
        """Answer the next prompts like this."""
        self._script.extend(replies)

    async def prompt(self) -> Prompt:
        """The next prompt that the test has not taken yet."""
        while len(self.prompts) <= self._seen:
            await self._asked.wait()
        self._seen += 1
        return self.prompts[self._seen - 1]

    async def ask(self, message: str, form: Mapping[str, Any] | None, url: str | None = None) -> Reply:
        """What a client calls to have the question answered."""
        prompt = Prompt(message, form, url)
        self.prompts.append(prompt)
        self._asked.set()
        self._asked = anyio.Event()
        if self._script:
            prompt.answer(self._script.popleft())
        return await prompt.replied()
