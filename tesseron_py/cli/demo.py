"""`tesseron-py demo`: a todo app, a gateway and an agent in one terminal, and the person at it is asked.

Everything is real: the app listens on a WebSocket, `tesseron-py gateway` is a process that finds and dials it, an MCP
client calls its tools over stdio. Only what the agent wants is a script.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .failure import Failure

if TYPE_CHECKING:
    from ..mcp.client import CallResult, McpClient, Progress
    from .person import Person

ANSWERS = ("accept", "decline", "cancel")

TEXTS = ("water the plants", "call the bank", "buy milk", "book the train", "fix the bike", "read the post")


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--answers",
        metavar="ANSWER,…",
        type=_answers,
        help="answer the questions with these, in order: accept, decline, cancel; then cancel",
    )


def _answers(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in ANSWERS:
            raise argparse.ArgumentTypeError(f"{word!r} is no answer; they are accept, decline and cancel")
    return words


def run(options: argparse.Namespace) -> int:
    """Tell the story: with the person at the terminal, with given answers, or once accepted and once declined.

    Raises:
        Failure: The example is not there.
    """
    import anyio

    from .person import Scripted, Typing

    if options.answers is not None:
        anyio.run(tell, Scripted(options.answers))
    elif sys.stdin.isatty() and sys.stdout.isatty():
        anyio.run(tell, Typing())
    else:
        say("No terminal here, so the story is told twice: first the person accepts, then they decline.\n")
        for word in ("accept", "decline"):
            say(f"──── The person says {word} ────\n")
            anyio.run(tell, Scripted([word] * 9))
    return 0


def say(text: str = "") -> None:
    """A line of the story."""
    print(text, flush=True)


def todo_example() -> ModuleType:
    """The example app: `examples/todo.py` of a clone; a wheel carries it beside this file."""
    beside = Path(__file__).with_name("todo_example.py")
    path = beside if beside.exists() else Path(__file__).parents[2] / "examples" / "todo.py"
    spec = importlib.util.spec_from_file_location("tesseron_py_todo_example", path)
    if spec is None or spec.loader is None or not path.exists():
        raise Failure(f"the demo needs examples/todo.py, and it is not at {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def connected(example: ModuleType, person: Person) -> AsyncIterator[McpClient]:
    """The app behind a WebSocket, a gateway that finds it, and an agent that has claimed it."""
    from ..mcp.client import McpClient
    from ..mcp.client_process import ProcessTransport

    async with example.app.listen() as host:
        say(f"  app      {example.app.name!r} listens on {host.url}")
        gateway = ProcessTransport([sys.executable, "-m", "tesseron_py", "gateway"])
        async with McpClient(gateway, answer=person.answer, on_progress=_tell_progress, name="demo agent") as client:
            say(f"  gateway  looks for apps, and serves MCP {client.server.protocol_version} to the agent")
            say(f"  agent    sees {len(await client.tools())} tools, none of the app's: nobody has claimed it\n")
            await _claim(client, host.claim_code or "", person)
            yield client


async def _claim(client: McpClient, code: str, person: Person) -> None:
    say("The app shows its claim code. Whoever gives it to an agent decides which agent gets the app.")
    while True:
        typed = await person.code(code)
        result = await client.call("tesseron__claim_session", {"code": typed})
        if not result.is_error:
            break
        say(f"  gateway  {result.text}")
    own = sum(tool["name"].startswith("todo__") for tool in await client.tools())
    say(f"  gateway  connected to {result.value['app_name']!r}: the agent sees {own} tools of it now\n")


@contextmanager
def own_directory() -> Iterator[None]:
    """A `~/.tesseron` for the demo alone: it finds no other app, and no other gateway finds its own."""
    before = os.environ.get("TESSERON_HOME")
    with tempfile.TemporaryDirectory(prefix="tesseron-demo-") as directory:
        os.environ["TESSERON_HOME"] = directory
        try:
            yield
        finally:
            if before is None:
                del os.environ["TESSERON_HOME"]
            else:
                os.environ["TESSERON_HOME"] = before


async def tell(person: Person) -> None:
    """The story, once."""
    with own_directory():
        async with connected(todo_example(), person) as client:
            await _fill_and_clear(client)


async def _fill_and_clear(client: McpClient) -> None:
    from ..mcp.client import value_of

    say("The agent fills the list.")
    await call(client, "import_todos", {"texts": list(TEXTS)})
    say("It completes five of them.")
    for id in range(1, 6):
        await call(client, "complete_todo", {"id": id}, brief=True)
    say("\nIt wants to remove what is done. That loses something, so the action asks you.")
    removed = await call(client, "clear_completed")
    say(f"→ {_removed(removed.value)}\n")
    say("It wants to move the last one, and only you know where to.")
    moved = await call(client, "move_todo", {"id": 6})
    say("→ moved.\n" if moved.value is not None and not moved.is_error else "→ nothing moved.\n")
    say("It reads the counts of what is left.")
    counts = value_of(await client.read("tesseron://todo/counts"))
    say(f"  agent    read counts → {_short(counts)}\n")


async def call(
    client: McpClient, action: str, input: dict[str, Any] | None = None, *, brief: bool = False
) -> CallResult:
    """Call an action of the app, and tell what was called and what came back."""
    if not brief:
        say(f"  agent    calls {action} {_short(input or {})}")
    result = await client.call(f"todo__{action}", input)
    what = "failed" if result.is_error else "gives"
    shown = result.text if result.is_error else _short(result.value)
    say(f"  app      {action} {what} {shown}")
    return result


def _tell_progress(progress: Progress) -> None:
    if progress.message:  # what has none only shows that the call is alive
        say(f"           {progress.progress:3.0f} %  {progress.message}")


def _removed(count: object) -> str:
    return f"{count} todos are gone." if count else "Nothing was removed: there was no yes."


def _short(value: object, width: int = 88) -> str:
    from ..jsontext import encode

    text = encode(value)
    return text if len(text) <= width else text[: width - 1] + "…"
