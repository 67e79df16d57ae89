"""Plays one scenario against one running host: the runner's side of every step."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

from .connection import (
    BIND,
    GATEWAY,
    Connection,
    DialFailed,
    Frame,
    Refused,
    dial_unix,
    dial_websocket,
)
from .matching import ABSENT, Mismatch, fill, match, same, shown
from .scenario import (
    DEFAULT_TIMEOUT,
    Connect,
    Drop,
    ExpectClosed,
    ExpectFileMode,
    ExpectManifest,
    ExpectSilence,
    HangsUp,
    Opening,
    Opens,
    Reconnect,
    Recv,
    RecvAll,
    RefusesBind,
    RefusesUpgrade,
    Scenario,
    ScenarioError,
    Send,
    Step,
    StopHost,
)
from .transcript import Transcript

CLOSES_WITHIN: Final = 0.5
"""Seconds in which a host that refuses a bind closes, where it is to close (`closes: true`)."""
OPEN_FOR: Final = 0.1
"""Seconds after which a connection is still open, where it is to stay open (`closes: false`)."""
_POLL: Final = 0.01


class StepFailed(Exception):
    """The host did not do what a step expects."""


class PlayedHost(Protocol):
    """What a player needs of a host."""

    @property
    def address(self) -> str: ...

    @property
    def home(self) -> Path: ...

    def stop(self, name: str | None) -> None: ...
    def is_gone(self, until: float) -> bool: ...


class Player:
    """One scenario and the host it is played against.

    Args:
        scenario: What happens.
        host: Who is judged; it listens.
        transcript: Where everything is noted.
    """

    def __init__(self, scenario: Scenario, host: PlayedHost, transcript: Transcript) -> None:
        self._scenario = scenario
        self._host = host
        self._transcript = transcript
        self._captures: dict[str, Any] = {}
        self._labels: dict[str, int] = {}
        self._connection: Connection | None = None
        self._connections: list[Connection] = []
        self._greeted: set[Connection] = set()
        self._bind_code: str | None = None
        self._binds = 0

    def play(self) -> None:
        """Play every step.

        Raises:
            StepFailed: The host failed at one; the message names it.
            ScenarioError: The scenario makes no sense; the message names the step.
        """
        where: object = "connecting"
        try:
            if not any(isinstance(step.action, Connect) for step in self._scenario.steps):
                self._open(Opening(), time.monotonic() + DEFAULT_TIMEOUT)
            for step in self._scenario.steps:
                where = step
                self._play(step)
        except StepFailed as failure:
            raise StepFailed(f"{where}: {failure}") from failure
        except ScenarioError as error:
            raise ScenarioError(f"{where}: {error}") from error
        finally:
            for connection in self._connections:
                connection.break_off()

    def _play(self, step: Step) -> None:
        begun = self._transcript.add("·", str(step))
        until = time.monotonic() + step.timeout
        after = self._after(step)
        self._drain()
        event = None
        match step.action:
            case Recv(pattern):
                event = self._recv(pattern, until, after)
            case RecvAll(patterns):
                self._recv_all(patterns, until)
            case Send(frame, binary):
                event = self._send(frame, until, binary=binary)
            case Connect(opening):
                self._open(opening, until)
            case Reconnect(opening):
                self._open(replace(opening, bind_code=opening.bind_code or self._bind_code), until)
            case Drop(code):
                self._drop(code, until)
            case ExpectClosed(code):
                self._expect_closed(code, until)
            case ExpectSilence(method):
                self._expect_silence(method, until)
            case ExpectFileMode(target, mode):
                self._expect_file_mode(target, mode, until)
            case ExpectManifest(pattern):
                self._eventually(lambda: self._compare_manifest(pattern), until)
            case StopHost(name):
                self._stop_host(name, until)
        if step.label is not None:
            self._labels[step.label] = begun if event is None else event

    def _drain(self) -> None:
        for connection in self._connections:
            connection.drain()

    def _after(self, step: Step) -> int:
        """The number of the event that the step's frame must come after."""
        if step.not_before is None:
            return 0
        if step.not_before not in self._labels:
            raise ScenarioError(f'"notBefore" names {step.not_before!r}, and no step of that label was played before')
        return self._labels[step.not_before]

    # Frames

    @property
    def _current(self) -> Connection:
        if self._connection is None:
            raise StepFailed("there is no connection")
        return self._connection

    def _next(self, until: float) -> tuple[int, Any]:
        """The next frame of the host: its number and what it says.

        Raises:
            StepFailed: There is none, or it is no JSON.
        """
        connection = self._current
        frame = connection.next_frame(until)
        if frame is not None:
            message = _decoded(frame)
            if _is_greeting(message):
                self._greeted.add(connection)
            return frame.number, message
        if connection.ended is not None:
            raise StepFailed(f"the connection ended, and a frame was expected: {connection.ended.reason}")
        raise StepFailed("no frame came in time")

    def _recv(self, pattern: Any, until: float, after: int) -> int:
        try:
            number, message = self._next(until)
        except StepFailed as failure:
            raise StepFailed(f"{failure}; expected {shown(pattern)}") from None
        try:
            self._captures = match(pattern, message, self._captures)
        except Mismatch as mismatch:
            raise StepFailed(f"{mismatch}; the frame was {shown(message)}") from None
        if number < after:
            raise StepFailed(f"the frame came too early: {shown(message)}")
        return number

    def _recv_all(self, patterns: Sequence[Any], until: float) -> None:
        open_patterns = list(patterns)
        while open_patterns:
            try:
                _, message = self._next(until)
            except StepFailed as failure:
                raise StepFailed(f"{failure}; still expected: {shown(open_patterns)}") from None
            for pattern in open_patterns:
                try:
                    self._captures = match(pattern, message, self._captures)
                except Mismatch:
                    continue
                open_patterns.remove(pattern)
                break
            else:
                raise StepFailed(f"the frame is none of those expected, {shown(open_patterns)}: {shown(message)}")

    def _send(self, frame: Any, until: float, *, binary: bool) -> int:
        text = frame if isinstance(frame, str) else _encoded(fill(frame, self._captures))
        connection = self._current
        if connection.ended is not None:
            raise StepFailed(f"nothing can be sent, the connection has ended: {connection.ended.reason}")
        number = self._transcript.count + 1
        self._write(connection, text, until, binary=binary)
        return number

    def _write(self, connection: Connection, text: str, until: float, *, binary: bool = False) -> None:
        try:
            connection.send(text, until, binary=binary)
        except TimeoutError:
            raise StepFailed("the host does not read what is sent") from None

    # Connections

    def _open(self, opening: Opening, until: float) -> None:
        uds, address = self._place(opening)
        self._bind_code = opening.bind_code or self._bind_code
        try:
            if uds:
                dialled: Connection | Refused = dial_unix(address, until, self._transcript)
            else:
                dialled = dial_websocket(
                    address,
                    until,
                    self._transcript,
                    subprotocols=_offered(opening),
                    headers=opening.headers or {},
                    path=opening.path,
                )
        except DialFailed as failure:
            raise StepFailed(str(failure)) from failure
        if isinstance(dialled, Refused):
            self._transcript.add("·", f"the upgrade was answered with {dialled.status} {dialled.reason}")
            if opening.expect != RefusesUpgrade(dialled.status):
                raise StepFailed(f"expected {_meant(opening)}, and the upgrade was answered with {dialled.status}")
            return
        self._transcript.add("·", f"connected to {address}")
        self._connections.append(dialled)
        match opening.expect:
            case Opens():
                self._connection = dialled
                if uds and opening.bind_code is not None:
                    answer = self._bind(dialled, opening.bind_code, until)
                    if not same(answer.get("result"), {"ok": True}):
                        raise StepFailed(f"the bind was to be taken, and was answered with {shown(answer)}")
            case RefusesBind(code, closes):
                if not uds or opening.bind_code is None:
                    raise ScenarioError('"bindErrorCode" is for a Unix socket that is dialled with a "bindCode"')
                self._refused_bind(dialled, self._bind(dialled, opening.bind_code, until), code, closes)
            case HangsUp():
                self._adopt(dialled)
                self._hung_up(dialled, until)
            case RefusesUpgrade():
                if uds:
                    raise ScenarioError('"upgradeStatus" is for WebSockets')
                raise StepFailed(f"expected {_meant(opening)}, and the connection opened")

    def _place(self, opening: Opening) -> tuple[bool, str]:
        if not opening.manifest:
            return self._scenario.binding == "uds", self._host.address
        transport = self._manifest().get("transport")
        match transport:
            case {"kind": "ws", "url": str(address)}:
                return False, address
            case {"kind": "uds", "path": str(address)}:
                return True, address
        raise StepFailed(f"the manifest's transport is none: {shown(transport)}")

    def _bind(self, connection: Connection, code: str, until: float) -> dict[str, Any]:
        """Bind over a Unix socket; gives the answer, which is the first frame back."""
        self._binds += 1
        id = f"bind-{self._binds}"
        request = {"jsonrpc": "2.0", "id": id, "method": "tesseron/bind", "params": {"code": code}}
        self._write(connection, _encoded(request), until)
        frame = connection.next_frame(until)
        if frame is None:
            ended = f", the connection ended: {connection.ended.reason}" if connection.ended is not None else ""
            raise StepFailed(f"the bind was not answered{ended}")
        answer = _decoded(frame)
        if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0" or answer.get("id") != id:
            raise StepFailed(f"the first frame after the bind is not its answer: {shown(answer)}")
        return answer

    def _refused_bind(self, connection: Connection, answer: dict[str, Any], code: int, closes: bool | None) -> None:
        self._adopt(connection)
        error = answer.get("error")
        if not isinstance(error, dict) or error.get("code") != code:
            raise StepFailed(f"the bind was to be refused with {code}, and was answered with {shown(answer)}")
        if closes:
            self._hung_up(connection, time.monotonic() + CLOSES_WITHIN)
        elif closes is False:
            still_open = time.monotonic() + OPEN_FOR
            while connection.read(still_open):
                pass
            if connection.ended is not None:
                raise StepFailed("the connection was to stay open after the refused bind, and was closed")

    def _adopt(self, connection: Connection) -> None:
        """The connection becomes the one that steps are about, unless there is an open one."""
        if self._connection is None or self._connection.ended is not None:
            self._connection = connection

    def _hung_up(self, connection: Connection, until: float) -> None:
        """The host closes, and says nothing before."""
        frame = connection.next_frame(until)
        if frame is not None:
            raise StepFailed(f"the host was to close the connection, and sent {shown(_decoded(frame))}")
        if connection.ended is None:
            raise StepFailed("the host was to close the connection, and it is still open")

    def _drop(self, code: int | None, until: float) -> None:
        if code is None:
            self._current.break_off()
        else:
            self._current.close(code, until)

    def _expect_closed(self, code: int | None, until: float) -> None:
        connection = self._current
        while connection.read(until):
            pass
        for frame in connection.inbox:
            message = _decoded(frame)
            if _is_greeting(message) and connection in self._greeted:
                raise StepFailed(f"the connection was to be closed, and the host began anew: {shown(message)}")
        ended = connection.ended
        if ended is None:
            raise StepFailed("the connection was to be closed, and is still open")
        if code is not None and isinstance(ended.code, int) and ended.code != code:
            raise StepFailed(f"the connection was to be closed with {code}, and was closed with {ended.code}")

    def _expect_silence(self, method: str | None, until: float) -> None:
        connection = self._current
        while True:
            for frame in connection.inbox:
                message = _decoded(frame)
                came = message.get("method", ABSENT) if isinstance(message, dict) else ABSENT
                if method is None or came == method:
                    raise StepFailed(f"there was to be silence, and the host sent {shown(message)}")
            if not connection.read(until):
                return

    def _stop_host(self, name: str | None, until: float) -> None:
        self._host.stop(name)
        while not self._host.is_gone(time.monotonic() + _POLL):
            if time.monotonic() >= until:
                raise StepFailed(f"the host was told to end ({name or 'its stdin closed'}), and goes on")
            self._drain()  # a host may wait for its peer's part of a close

    # Files

    def _expect_file_mode(self, target: str, mode: int | None, until: float) -> None:
        def compare() -> None:
            path = self._target(target)
            if mode is None:
                if path.exists():
                    raise StepFailed(f"{path} was to be gone, and is there")
                return
            try:
                found = stat.S_IMODE(os.stat(path).st_mode)
            except OSError as error:
                raise StepFailed(f"the mode of {path} cannot be read: {error.strerror}") from error
            if found != mode:
                raise StepFailed(f"{path} was to have the mode {mode:04o}, and has {found:04o}")

        if mode is None or target in ("manifest", "instances"):
            self._eventually(compare, until)
        else:
            compare()

    def _target(self, target: str) -> Path:
        if target == "manifest":
            return self._manifest_file()
        if target == "instances":
            return self._instances
        if self._scenario.binding != "uds":
            raise ScenarioError(f"the mode of the {target} is for scenarios that require uds")
        socket = Path(self._host.address)
        return socket.parent if target == "parent" else socket

    @property
    def _instances(self) -> Path:
        return self._host.home / ".tesseron" / "instances"

    def _manifest_file(self) -> Path:
        found = sorted(self._instances.glob("*.json"))
        if len(found) != 1:
            raise StepFailed(f"there was to be one manifest in {self._instances}, and there are {len(found)}")
        return found[0]

    def _manifest(self) -> dict[str, Any]:
        path = self._manifest_file()
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise StepFailed(f"the manifest {path} is gone") from None
        try:
            content = json.loads(text)
        except ValueError:
            raise StepFailed(f"the manifest {path} is no JSON: {text[:200]!r}") from None
        if not isinstance(content, dict):
            raise StepFailed(f"the manifest {path} is no object")
        return content

    def _compare_manifest(self, pattern: Any) -> None:
        if pattern == "~absent":
            if left := sorted(self._instances.glob("*")):
                raise StepFailed(f"there was to be no manifest, and there is {left[0]}")
            return
        content = self._manifest()
        try:
            self._captures = match(pattern, content, self._captures)
        except Mismatch as mismatch:
            raise StepFailed(f"{mismatch}; the manifest is {shown(content)}") from None

    def _eventually(self, compare: Callable[[], None], until: float) -> None:
        """Compare until it fits; the last failure is the step's."""
        while True:
            try:
                return compare()
            except StepFailed:
                if time.monotonic() >= until:
                    raise
            time.sleep(_POLL)


def _offered(opening: Opening) -> tuple[str, ...]:
    if opening.subprotocols is not None:
        return opening.subprotocols
    return (GATEWAY,) if opening.bind_code is None else (GATEWAY, BIND + opening.bind_code)


def _meant(opening: Opening) -> str:
    match opening.expect:
        case RefusesUpgrade(status):
            return f"the upgrade to be answered with {status}"
        case HangsUp():
            return "a connection that the host closes"
    return "an open connection"


def _is_greeting(message: Any) -> bool:
    return isinstance(message, dict) and message.get("method") in ("tesseron/hello", "tesseron/resume")


def _encoded(frame: Any) -> str:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":"))


def _decoded(frame: Frame) -> Any:
    """What a frame says.

    Raises:
        StepFailed: It is no JSON; NaN, infinity and what is not UTF-8 are none.
    """
    try:
        frame.text.encode()
        return json.loads(frame.text, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise StepFailed(f"the host sent a frame that is no JSON ({error}): {frame.text[:200]!a}") from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        _no_number(text)
    return number
