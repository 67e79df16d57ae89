"""A confirm gate: the question a person answers before a handler runs, filled in with the input as plain text."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from .context import Context
from .errors import ActionError, RegistrationError
from .jsontext import encode
from .plain import plain
from .unset import UNSET

SHOWN = 200
"""Characters of one value that a question shows."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One `confirm(question, on_refusal=…)` of an action."""

    parts: tuple[tuple[str, str | None], ...]
    on_refusal: Any

    @classmethod
    def declare(
        cls,
        question: str,
        on_refusal: Any,
        *,
        fields: frozenset[str],
        ambiguous: frozenset[str] = frozenset(),
        where: str,
    ) -> Gate:
        """The gate of `question`, whose `{…}` are `fields`.

        Raises:
            RegistrationError: A brace is open, or a field is not the input's, or is `ambiguous`.
        """
        try:
            parsed = list(Formatter().parse(question))
        except ValueError as error:
            raise RegistrationError(
                f"{where}: the question {question!r} is no format string ({error}); write {{{{ and }}}} for braces"
            ) from None
        parts: list[tuple[str, str | None]] = []
        for text, name, spec, conversion in parsed:
            if name is not None and (spec or conversion or name not in fields):
                known = ", ".join(f"{{{field}}}" for field in sorted(fields)) or "none"
                if name in ambiguous and not (spec or conversion):
                    raise RegistrationError(
                        f"{where}: the question {question!r} names {{{name}}}, which is one field's name and another's"
                        f" alias, so it could show either; name one that is clear ({known}), or rename the alias"
                    )
                written = name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
                if name in fields:
                    raise RegistrationError(
                        f"{where}: the question {question!r} has {{{written}}}, and a field is shown as it is, without"
                        f" a format; write {{{name}}}"
                    )
                raise RegistrationError(
                    f"{where}: the question {question!r} names {{{written}}}, which is not a field of the input"
                    f" (they are: {known}; formats and attributes are not supported)"
                )
            parts.append((text, name))
        return cls(tuple(parts), on_refusal)

    def question(self, values: Mapping[str, Any]) -> str:
        """What the person reads.

        Args:
            values: The fields as a person may see them, by name; see `Bound.shown`.
        """
        return "".join(text + ("" if name is None else shown(values.get(name, UNSET))) for text, name in self.parts)

    async def refusal(self, call: Callable[[Callable[[], Any]], Awaitable[Any]], *, strict: bool, asked: bool) -> Any:
        """What the call gives back when there was no yes.

        Args:
            call: Calls a function of the author's where such functions run.
            strict: Whether the action's output is checked.
            asked: Whether the client could ask the person at all.

        Raises:
            ActionError: The action is strict and says nothing else.
        """
        if self.on_refusal is UNSET:
            if strict:
                why = "There was no yes: the question was put, and nobody accepted it"
                if not asked:
                    why = "There was no yes: this agent's client cannot ask the person"
                raise ActionError(why, {"cancelled": True})
            return {"cancelled": True}
        if callable(self.on_refusal):
            return await call(self.on_refusal)
        return await self.on_refusal if inspect.isawaitable(self.on_refusal) else self.on_refusal

    async def opens(self, context: Context, values: Mapping[str, Any]) -> bool:
        """Ask the person; True only on a yes."""
        return await context.confirm(self.question(values), key="confirm")


def shown(value: Any) -> str:
    """A JSON value as one piece of plain text: control characters escaped, at most `SHOWN` characters."""
    if value is UNSET:
        return "(not given)"
    if isinstance(value, str):
        text = value
    else:
        try:
            text = encode(value)
        except ValueError:  # a number that is too large for JSON, which a validator may make
            text = str(value)
    safe = plain(text[:SHOWN])
    return safe if len(text) <= SHOWN and len(safe) <= SHOWN else safe[: SHOWN - 1] + "…"
