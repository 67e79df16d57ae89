"""The agent that a script drives: runs directives in order, and answers questions from what the script has queued.

A result is printed as one JSON value on one line of stdout: a call's `structuredContent` where there is one; else what
its single text block says, as JSON if it is JSON and as a string if not (or where the server marks it as a string, as
ours does); else the list of content blocks. A resource's contents likewise. Everything else goes to stderr.
"""

from __future__ import annotations

import contextlib
import difflib
import sys
import unicodedata
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, TextIO, TypeAlias

import anyio

from ..invocation import Accept, Cancel, Decline
from ..jsontext import encode
from ..mcp.client import (
    ClientError,
    EraChoice,
    Log,
    McpClient,
    McpError,
    MissingCapability,
    Progress,
    Question,
    Transport,
    TransportEnded,
    value_of,
)
from ..mcp.messages import INVALID_PARAMS
from ..plain import plain, plain_json
from .failure import Failure
from .lines import Lines
from .person import choices_of
from .script import CLAIM_TOOL, Call, Directive, List, Queue, Read, Schema, Wait, parse

_Queued: TypeAlias = Accept | Decline | Cancel


async def play(
    transport: Transport, results: TextIO, *, elicit: bool, timeout: float | None, era: EraChoice = "auto"
) -> int | Failure:
    """Connect, run the script on stdin to its end, and hang up.

    Args:
        transport: How to reach the server.
        results: Where each result goes, as one line.
        elicit: Declare that questions are answered.
        timeout: Seconds for each call, or `None`.
        era: Which MCP to speak.

    Returns:
        The exit code: 1 when a call failed, else 0; or the failure that ended the script early.
    """
    answers = QueuedAnswers()
    try:
        async with McpClient(
            transport,
            answer=answers.answer if elicit else None,
            url=elicit,
            on_progress=_show_progress,
            on_log=_show_log,
            name="tesseron-py agent",
            timeout=timeout,
            era=era,
        ) as client:
            if "logging" in client.server.capabilities:
                with contextlib.suppress(McpError):  # a server that will not is used without
                    await client.set_log_level("debug")
            return await _Player(client, answers if elicit else None, results).run()
    except ClientError as error:
        return Failure(str(error))
    except Failure as failure:
        return failure


class QueuedAnswers:
    """The answers to questions that are still to come, in order; when there is none, the question is cancelled."""

    def __init__(self) -> None:
        self._queue: deque[_Queued] = deque()

    def __len__(self) -> int:
        """How many are queued."""
        return len(self._queue)

    def put(self, answer: _Queued) -> None:
        """Queue `answer`."""
        self._queue.append(answer)

    async def answer(self, question: Question) -> _Queued:
        """The next answer; says on stderr what was asked and what is answered.

        A question with nothing to see in it is cancelled and takes no answer: nobody could have decided.
        """
        shown = question.message if question.url is None else f"{question.message} {question.url}"
        answer: _Queued
        if not _is_visible(question.message):
            answer, why = Cancel("nothing was asked"), " (the question is blank)"
        elif self._queue:
            answer, why = self._queue.popleft(), ""
        else:
            answer, why = Cancel("no answer is queued"), " (no answer is queued)"
        form, note = _form(question), _shortcoming(question, answer)
        lines = [f"? {shown}", *([f"  form: {form}"] if form else []), f"  answered: {_said(answer)}{why}", *note]
        print("\n".join(map(plain, lines)), file=sys.stderr, flush=True)
        return answer


def _form(question: Question) -> str:
    """The fields of a form, for whoever writes the script; empty for a confirm, which has nothing to fill in."""
    if _is_confirm(question):
        return ""
    required = question.schema.get("required", ())
    return ", ".join(
        f"{name} ({_hint(field)}{'' if name in required else ', optional'})"
        for name, field in question.schema.get("properties", {}).items()
    )


_FORMATS: Final[Mapping[str, str]] = {
    "date": "date like 2026-05-01",
    "date-time": "date-time like 2026-05-01T12:00:00Z",
    "email": "e-mail address",
    "uri": "URL",
}


def _hint(field: Mapping[str, Any]) -> str:
    """What may stand in a field."""
    choices, kind = "/".join(map(str, choices_of(field))), field.get("type", "?")
    if kind == "array":
        return f"list of {choices}" if choices else "list"
    if choices:
        return choices
    match field.get("minimum"), field.get("maximum"):
        case None, None:
            return _FORMATS.get(str(field.get("format")), str(kind))
        case None, most:
            return f"{kind} up to {most}"
        case least, None:
            return f"{kind} from {least}"
        case least, most:
            return f"{kind} from {least} to {most}"


def _is_confirm(question: Question) -> bool:
    return list(question.schema.get("properties", ())) == ["approve"]


def _shortcoming(question: Question, answer: _Queued) -> list[str]:
    """Why an accepted form is no yes all the same."""
    if not isinstance(answer, Accept):
        return []
    if _is_confirm(question) and answer.content.get("approve") is not True:
        return [
            "  note: this is no yes; a confirm, and a form without fields, is accepted with"
            ' elicit-accept {"approve": true}'
        ]
    missing = [name for name in question.schema.get("required", ()) if name not in answer.content]
    return [f"  note: the answer has no {', '.join(missing)}, which the form wants"] if missing else []


def _show_progress(progress: Progress) -> None:
    if not progress.message and not progress.total:  # it only shows that the call is alive
        return
    share = f"{progress.progress:g}" + (f" of {progress.total:g}" if progress.total else "")
    said = f": {progress.message}" if progress.message else ""
    print(plain(f"  {progress.call}: {share}{said}"), file=sys.stderr, flush=True)


def _show_log(log: Log) -> None:
    message, rest = log.data, {}
    if isinstance(message, dict) and "message" in message:
        rest = {name: value for name, value in message.items() if name != "message"}
        message = message["message"]
    said = message if isinstance(message, str) else _json(message)
    print(f"  log {plain(log.level)}: {plain(said)}{f' {_json(rest)}' if rest else ''}", file=sys.stderr, flush=True)


def _json(value: Any) -> str:
    try:
        return plain_json(encode(value))
    except ValueError:  # nested deeper than we would send it
        return "…"


def _is_visible(text: str) -> bool:
    return any(unicodedata.category(char)[0] not in "CZ" for char in text)


def _said(answer: _Queued) -> str:
    match answer:
        case Accept(content):
            return f"accept {plain_json(encode(content))}"
        case Decline():
            return "decline"
        case Cancel():
            return "cancel"


class _Player:
    """Does what the lines of a script say, one after the other."""

    def __init__(self, client: McpClient, answers: QueuedAnswers | None, results: TextIO) -> None:
        self._client = client
        self._answers = answers
        self._results = results

    async def run(self) -> int:
        lines, number, failed = Lines(), 0, False
        while (line := await _next(lines, number + 1)) is not None:
            number += 1
            if (directive := parse(line, number)) is not None and not await self._do(directive):
                failed = True
        if self._answers is not None and (left := len(self._answers)):
            were = "answer was" if left == 1 else "answers were"
            print(f"note: {left} queued {were} not used", file=sys.stderr, flush=True)
        return 1 if failed else 0

    async def _do(self, directive: Directive) -> bool:
        """Do what one line says; `False` when a call failed."""
        match directive:
            case Wait(seconds):
                await anyio.sleep(seconds)
                return True
            case Queue(answer):
                if self._answers is None:
                    print("note: without --elicit nobody is asked, and no answer is used", file=sys.stderr, flush=True)
                else:
                    self._answers.put(answer)
                return True
            case List():
                what = "list"
            case Call(tool):
                what = f"@{tool}"
            case Read(uri):
                what = f"read {uri}"
            case Schema(tool):
                what = f"schema {tool}"
        try:
            print(plain_json(encode(await self._value(directive))), file=self._results, flush=True)
        except TransportEnded as error:
            raise Failure(str(error)) from error
        except MissingCapability as error:
            mend = ""
            if "elicitation" in error.required and self._answers is None:
                mend = " (--elicit offers elicitation)"
            _complain(what, f"{error}{mend}", error.code)
        except McpError as error:
            mend = ""
            if isinstance(directive, Call) and directive.tool == CLAIM_TOOL and error.code == INVALID_PARAMS:
                mend = " (this server is no gateway, so there is nothing to claim: leave the line out)"
            _complain(what, f"{error}{mend}", error.code, error.data)
        except (ClientError, ValueError) as error:
            _complain(what, str(error))
        else:
            return True
        return False

    async def _value(self, directive: Call | Read | List | Schema) -> Any:
        if isinstance(directive, List):
            tools = {tool["name"]: tool.get("description", "") for tool in await self._client.tools()}
            return {"tools": tools, "resources": [resource["uri"] for resource in await self._client.resources()]}
        if isinstance(directive, Schema):
            return await self._schema(directive.tool)
        if isinstance(directive, Read):
            return value_of(await self._client.read(directive.uri))
        result = await self._client.call(directive.tool, directive.arguments)
        if result.is_error:
            raise McpError(result.code or 0, result.text or "the tool failed and does not say why", result.data)
        return result.value

    async def _schema(self, name: str) -> dict[str, Any]:
        tools = {tool["name"]: tool for tool in await self._client.tools()}
        if name not in tools:
            close = difflib.get_close_matches(name, tools, n=1)
            raise ValueError(f"there is no such tool{f'; did you mean {close[0]}?' if close else ''}")
        tool = tools[name]
        return {key: tool[key] for key in ("name", "description", "inputSchema", "outputSchema") if key in tool}


async def _next(lines: Lines, number: int) -> str | None:
    try:
        line = await anext(lines, None)
        # A file that an editor on Windows saved may begin with a byte order mark.
        return None if line is None else line.decode("utf-8-sig" if number == 1 else "utf-8")
    except ValueError as error:
        raise Failure(f"line {number}: not a line of UTF-8 text: {error}", 2) from error


def _complain(what: str, message: str, code: int = 0, data: Any = None) -> None:
    line = f"error: {plain(what)}: {plain(message)}"
    if code:
        line += f" ({code})"
    try:
        line += "" if data is None else f" {plain_json(encode(data))}"
    except ValueError:  # nested deeper than we would send it; the message stands without
        pass
    print(line, file=sys.stderr, flush=True)
