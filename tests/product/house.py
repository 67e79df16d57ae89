"""An app, a gateway and an agent, each a process that may be killed and started again, and what they leave on disk."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias

from .conftest import APP
from .journal import wait_for
from .processes import PATIENCE, TESSERON, Server

Binding: TypeAlias = Literal["ws", "uds", "http"]

APP_COMMANDS: Mapping[Binding, list[str]] = {
    "ws": [TESSERON, "run", APP],
    "uds": [TESSERON, "run", APP, "--uds"],
    "http": [sys.executable, "-m", "tests.product.dial_out"],
}
CLAIM, LIST, INVOKE = "tesseron__claim_session", "tesseron__list_actions", "tesseron__invoke_action"
PENDING = "tesseron__list_pending_claims"
CODE = r"claim the Tesseron session (\S+)"
"""What an app says when there is a code for the person."""


class AgentProcess:
    """`tests.product.agent` as a process, and the person beside it. Every wait ends after `PATIENCE`.

    Args:
        url: The gateway's MCP endpoint.
        name: What the agent calls itself.
        token: The gateway's, where it wants one.
    """

    def __init__(self, url: str, name: str = "claude", token: str | None = None) -> None:
        command = [sys.executable, "-m", "tests.product.agent", url, name, *([token] if token else [])]
        self.server = Server(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._ids = itertools.count(1)
        self._messages: list[dict[str, Any]] = []
        self._ended = False
        self._grown = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.connect()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    def _read(self) -> None:
        assert self.server.process.stdout is not None
        for line in self.server.process.stdout:
            with self._grown:
                self._messages.append(json.loads(line))
                self._grown.notify_all()
        with self._grown:
            self._ended = True
            self._grown.notify_all()

    def next(self, **members: Any) -> dict[str, Any]:
        """The next message that has these members; others are kept."""

        def found() -> dict[str, Any] | None:
            return next((message for message in self._messages if members.items() <= message.items()), None)

        with self._grown:
            self._grown.wait_for(lambda: found() is not None or self._ended, PATIENCE)
            message = found()
            assert message is not None, f"no {members} in {self._messages}\n{self.server.errors}"
            self._messages.remove(message)
            return message

    def forget(self, event: str) -> None:
        """Whatever was heard of that kind so far does not matter."""
        with self._grown:
            self._messages = [message for message in self._messages if message.get("event") != event]

    def heard(self, event: str) -> list[dict[str, Any]]:
        """What was heard of that kind, and was not asked for yet."""
        with self._grown:
            return [message for message in self._messages if message.get("event") == event]

    def start(self, do: str, **members: Any) -> int:
        """Send a request; gives its id."""
        id = next(self._ids)
        assert self.server.process.stdin is not None
        self.server.process.stdin.write(json.dumps({"id": id, "do": do, **members}).encode() + b"\n")
        self.server.process.stdin.flush()
        return id

    def outcome(self, id: int) -> dict[str, Any]:
        """What came of a request: `result`, or `failed`."""
        return self.next(id=id)

    def result(self, id: int) -> Any:
        """The result of a request that went well."""
        outcome = self.outcome(id)
        assert "result" in outcome, outcome
        return outcome["result"]

    def connect(self) -> None:
        """Have a new client in the place of the one before."""
        self.result(self.start("connect"))

    def tools(self) -> list[str]:
        """The tools' names."""
        tools: list[str] = self.result(self.start("tools"))
        return tools

    def tools_until(self, wanted: Callable[[list[str]], bool]) -> list[str]:
        """The tools, looked at again each time the list is said to have changed, until they are the ones wanted."""
        while not wanted(tools := self.tools()):
            self.next(event="changed", what="tools")
        return tools

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call, be it an error or not."""
        result: dict[str, Any] = self.result(self.begin(tool, **arguments))
        return result

    def begin(self, tool: str, **arguments: Any) -> int:
        """Start a call; gives the request's id."""
        return self.start("call", tool=tool, arguments=arguments)

    def value(self, tool: str, **arguments: Any) -> Any:
        """What a call that goes well gives."""
        result = self.call(tool, **arguments)
        assert not result["is_error"], result
        return json.loads(result["text"]) if result["text"][:1] in "[{" else result["text"]

    def failure(self, tool: str, **arguments: Any) -> tuple[int, str]:
        """Code and text of a call that fails."""
        return failure_of(self.call(tool, **arguments))

    def prompt(self) -> dict[str, Any]:
        """The next question to the person."""
        return self.next(event="prompt")

    def answer(self, prompt: dict[str, Any], how: str) -> None:
        """The person answers: `yes`, `no`, `decline` or `cancel`."""
        self.result(self.start("answer", prompt=prompt["prompt"], how=how))

    def kill(self) -> None:
        """SIGKILL."""
        self.server.kill()
        self._reader.join(PATIENCE)

    def __enter__(self) -> AgentProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.server.process.poll() is None and self.server.process.stdin is not None:
            self.server.process.stdin.close()
            self.server.end(None)
        self._reader.join(PATIENCE)
        self.server.__exit__(kind, error, trace)


def failure_of(result: Mapping[str, Any]) -> tuple[int, str]:
    """Code and text of a result that is an error."""
    assert result["is_error"], result
    return result["structured"]["code"], result["text"]


@contextmanager
def gateway(*options: str, env: Mapping[str, str] | None = None) -> Iterator[tuple[str, Server]]:
    """`tesseron-py gateway --http`: the URL of its MCP endpoint, and the process."""
    with Server([TESSERON, "gateway", "--http", "127.0.0.1:0", *options], env) as server:
        yield server.wait_line(r"gateway at (http://\S+)")[1], server


@contextmanager
def running_app(*options: str, env: Mapping[str, str] | None = None) -> Iterator[Server]:
    """`tesseron-py run` of the depot, once it listens."""
    with Server([TESSERON, "run", APP, *options], env) as server:
        server.wait_line("listens on")
        yield server


class Traces:
    """What apps and gateways leave in a `~/.tesseron`."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def manifests(self) -> list[dict[str, Any]]:
        """The manifests of running apps. One that is being replaced is seen before or after that, not within."""
        return self._all("instances")

    def breadcrumbs(self) -> list[str]:
        """The codes that gateways tell each other of."""
        return [crumb["code"] for crumb in self._all("claims")]

    def gateways(self) -> list[int]:
        """The processes of the gateways that apps may dial."""
        return [gateway["pid"] for gateway in self._all("gateways")]

    def _all(self, name: str) -> list[dict[str, Any]]:
        found = []
        for file in sorted((self.home / name).glob("*.json")):
            try:
                found.append(json.loads(file.read_text(encoding="utf-8")))
            except FileNotFoundError:
                pass  # removed since it was listed
        return found

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for what another process does to the files."""
        wait_for(holds, PATIENCE)


class House(Traces):
    """One app, one gateway on a port it keeps, one agent.

    Args:
        binding: How app and gateway meet.
        place: A directory for all they write.
    """

    def __init__(self, binding: Binding, place: Path) -> None:
        super().__init__(place / ".tesseron")
        self.binding = binding
        self.journal = place / "journal"
        temporary = place / "tmp"
        temporary.mkdir()
        self.env = {"TESSERON_HOME": str(self.home), "DEPOT_JOURNAL": str(self.journal), "TMPDIR": str(temporary)}
        self.app: Server
        self.gateway: Server
        self.agent: AgentProcess
        self.code = ""
        """The claim code that the app has shown last."""
        self.claimed = False
        self._standing: dict[str, Server | AgentProcess] = {}
        self._port = 0

    @property
    def is_empty(self) -> bool:
        """Whether nobody has been started."""
        return not self._standing

    @property
    def has_manifest(self) -> bool:
        """Whether gateways find the app by a file; one that dials out has none."""
        return self.binding != "http"

    @property
    def url(self) -> str:
        """The gateway's MCP endpoint."""
        return f"http://127.0.0.1:{self._port}/mcp"

    def _put(self, name: str, start: Callable[[], Server | AgentProcess]) -> Any:
        """Start a process in the place of the one before, which has ended as it should, or ends now."""
        if name in self._standing:
            self._standing.pop(name).__exit__(None, None, None)
        self._standing[name] = process = start()
        return process

    def start_gateway(self) -> None:
        """On the port it had before."""
        command = [TESSERON] if self.has_manifest else [sys.executable, "-m", "tests.product.hasty_gateway"]
        command += ["gateway", "--http", f"127.0.0.1:{self._port}"]
        self.gateway = self._put("gateway", lambda: Server(command, self.env))
        self._port = int(self.gateway.wait_line(r"gateway at http://127.0.0.1:(\d+)/mcp")[1])

    def start_app(self, *options: str) -> None:
        """As a new instance, with a new code."""
        self.app = self._put("app", lambda: Server([*APP_COMMANDS[self.binding], *options], self.env))
        self.code = self.next_code()
        self.claimed = False

    def start_agent(self) -> None:
        """As a new client of the gateway."""
        self.agent = self._put("agent", lambda: AgentProcess(self.url))

    def next_code(self, after: int = 0) -> str:
        """The code that the app shows after so many lines."""
        return self.app.wait_line(CODE, after)[1]

    def claim(self) -> None:
        """The person gives the code that the app shows to the agent."""
        about = self.agent.value(CLAIM, code=self.code)
        assert about["app_id"] == "depot"
        self.claimed = True
        self.agent.tools_until(lambda tools: "depot__echo" in tools)

    def close(self, error: BaseException | None = None) -> None:
        """End what runs, the agent first, and look at how it ended, unless something failed before."""
        kind = None if error is None else type(error)
        standing, self._standing = self._standing, {}
        with ExitStack() as stack:
            for name in ("gateway", "app", "agent"):
                if name in standing:
                    stack.callback(standing[name].__exit__, kind, error, None)


@contextmanager
def house(binding: Binding, place: Path) -> Iterator[House]:
    """A house with everybody in it, and nothing claimed yet."""
    made = House(binding, place)
    try:
        made.start_gateway()
        made.start_app()
        made.start_agent()
        yield made
    except BaseException as error:
        made.close(error)
        raise
    made.close()
