"""The person of the demo: one who types at the terminal, or one whose answers are given beforehand."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..invocation import Accept, Cancel, Decline
from ..plain import plain
from ..running import code_card
from .failure import Failure
from .lines import Lines

if TYPE_CHECKING:
    from ..mcp.client import Answer, Question


class Person(Protocol):
    """Whoever answers the demo's questions."""

    async def code(self, shown: str, /) -> str:
        """The claim code that they give to the agent; `shown` is what the app shows."""
        ...

    async def answer(self, question: Question, /) -> Answer: ...


def ask(text: str) -> None:
    """Show a question."""
    print(f"\n  ┌─ you are asked\n  │  {plain(text)}", flush=True)


class Scripted:
    """Answers from a list; then cancel. An accepted form is filled in with the first thing that fits."""

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = deque(answers)

    async def code(self, shown: str, /) -> str:
        print(f"{code_card(shown)}  └─ gives the agent the code {shown}", flush=True)
        return shown

    async def answer(self, question: Question, /) -> Answer:
        ask(question.message)
        word = self._answers.popleft() if self._answers else "cancel"
        content = {name: _first(field) for name, field in question.schema["properties"].items()}
        print(f"  └─ {word}{_told(content) if word == 'accept' else ''}\n", flush=True)
        match word:
            case "accept":
                return Accept(content)
            case "decline":
                return Decline()
        return Cancel("no answer is left")


def _first(field: Mapping[str, Any]) -> Any:
    """The first value that fits a field of a form."""
    choices = choices_of(field)
    match field.get("type"):
        case "array":
            return field.get("default", choices[: field.get("minItems", 1)])
        case _ if choices:
            return choices[0]
        case "boolean":
            return True
        case "integer" | "number":
            return field.get("default", field.get("minimum", 0))
    return field.get("default", "x" * field.get("minLength", 1))


def choices_of(field: Mapping[str, Any]) -> list[Any]:
    """The choices of a field, one or several of which are chosen; none where it is free."""
    field = field.get("items", field)
    titled = field.get("oneOf") or field.get("anyOf") or []
    return field["enum"] if "enum" in field else [each["const"] for each in titled]


def _told(content: Mapping[str, Any]) -> str:
    if list(content) == ["approve"]:
        return ""
    return plain(": " + ", ".join(f"{name} = {value}" for name, value in content.items()))


class Typing:
    """Whoever sits at the terminal. End of input, or nothing said, is no yes."""

    def __init__(self) -> None:
        self._lines = Lines()

    async def code(self, shown: str, /) -> str:
        print(code_card(shown), flush=True)
        while True:
            said = await self._line("type the code, for the agent: ")
            if said is None:
                raise Failure("without its claim code the app cannot be used")
            if said.strip():
                return said.strip()

    async def answer(self, question: Question, /) -> Answer:
        ask(question.message)
        fields = question.schema.get("properties", {})
        if list(fields) == ["approve"]:
            said = await self._line("[y/N] ")
            if said is None:
                return Cancel("end of input")
            return Accept({"approve": True}) if said.strip().lower() in ("y", "yes") else Decline()
        content: dict[str, Any] = {}
        for name, field in fields.items():
            value = await self._field(name, field, required=name in question.schema.get("required", ()))
            if value is None:
                return Decline()
            if value != "":
                content[name] = value
        return Accept(content)

    async def _field(self, name: str, field: Mapping[str, Any], *, required: bool) -> Any:
        """One field's value; `None` when the person does not want to say, `""` for an optional one left out."""
        title = field.get("title", name)
        choices = "/".join(map(str, choices_of(field)))
        hint = (
            f"{choices}, with commas" if field.get("type") == "array" else choices or str(field.get("type", "string"))
        )
        empty = "no" if required else f"default {field.get('default')}"
        while True:
            said = await self._line(f"{title} ({hint}; Enter: {empty}) ")
            if said is None or (required and not said.strip()):
                return None
            if not said.strip():
                return ""
            value = _read(said.strip(), field)
            if value is not None:
                return value
            print(f"  │  that does not fit; it is {plain(hint)}", flush=True)

    async def _line(self, prompt: str) -> str | None:
        print(f"  └─ {plain(prompt)}", end="", flush=True)
        try:
            said = await anext(self._lines)
        except StopAsyncIteration:
            print(flush=True)
            return None
        return said.decode("utf-8", "replace")


def _read(said: str, field: Mapping[str, Any]) -> Any:
    """What was typed as a value of the field; `None` when it does not fit."""
    choices = choices_of(field)
    match field.get("type"):
        case "array":
            several = [each.strip() for each in said.split(",")]
            return several if all(each in choices for each in several) else None
        case _ if choices:
            return said if said in choices else None
        case "integer" | "number":
            try:
                number = int(said) if field["type"] == "integer" else float(said)
            except ValueError:
                return None
            fits = field.get("minimum", number) <= number <= field.get("maximum", number)
            return number if fits else None
        case "boolean":
            return {"y": True, "yes": True, "n": False, "no": False}.get(said.lower())
    return said
