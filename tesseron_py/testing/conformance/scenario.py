"""A scenario as data: what is in its file, checked before anything runs.

A runner that passes over what it does not understand proves nothing, so an unknown step or option is an error of the
file. What the steps do is `player`'s.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

DEFAULT_TIMEOUT: Final = 2.0
"""Seconds that a step may take when it says nothing."""


class ScenarioError(Exception):
    """A scenario's file is wrong, not the host."""


# How a connection is opened, and what that leads to


@dataclass(frozen=True, slots=True)
class Opens:
    """The host takes the connection, and the bind where there is a code."""


@dataclass(frozen=True, slots=True)
class RefusesUpgrade:
    """The host answers the WebSocket upgrade with this HTTP status."""

    status: int


@dataclass(frozen=True, slots=True)
class RefusesBind:
    """The host answers the bind with this error; then it closes, stays open, or (`None`) either."""

    code: int
    closes: bool | None


@dataclass(frozen=True, slots=True)
class HangsUp:
    """The host takes the connection and closes it without a frame."""


Expectation: TypeAlias = Opens | RefusesUpgrade | RefusesBind | HangsUp


@dataclass(frozen=True, slots=True)
class Opening:
    """How the runner dials.

    Attributes:
        bind_code: The claim code it dials with.
        expect: What comes of it.
        manifest: Dial where the manifest says, instead of the printed place.
        path: WebSocket: another path than the URL's.
        subprotocols: WebSocket: what is offered, instead of `tesseron-gateway` and the bind element.
        headers: WebSocket: further headers of the upgrade; one with the name of a usual header replaces it.
    """

    bind_code: str | None = None
    expect: Expectation = Opens()
    manifest: bool = False
    path: str | None = None
    subprotocols: tuple[str, ...] | None = None
    headers: Mapping[str, str] | None = None


# What a step does


@dataclass(frozen=True, slots=True)
class Recv:
    """The next frame of the host fits the pattern."""

    pattern: Any


@dataclass(frozen=True, slots=True)
class RecvAll:
    """The next frames of the host fit the patterns, one each, in any order."""

    patterns: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Send:
    """Send a frame. Text goes as it stands; anything else as JSON."""

    frame: Any
    binary: bool


@dataclass(frozen=True, slots=True)
class Connect:
    """Dial."""

    opening: Opening


@dataclass(frozen=True, slots=True)
class Reconnect:
    """Dial again at once, with the last bind code unless `given` has one."""

    opening: Opening


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection breaks, or with a code the runner closes it in order."""

    code: int | None


@dataclass(frozen=True, slots=True)
class ExpectClosed:
    """The host closes the connection, over WebSocket with this code."""

    code: int | None


@dataclass(frozen=True, slots=True)
class ExpectSilence:
    """No frame with this method comes, or with `None` none at all."""

    method: str | None


@dataclass(frozen=True, slots=True)
class ExpectFileMode:
    """A file or directory has these permission bits; `None`: it is not there."""

    target: Literal["parent", "socket", "manifest", "instances"]
    mode: int | None


@dataclass(frozen=True, slots=True)
class ExpectManifest:
    """The host's manifest fits the pattern, now or within the step's time; `~absent`: there is none."""

    pattern: Any


@dataclass(frozen=True, slots=True)
class StopHost:
    """The host's stdin is closed, or a signal sent; it ends within the step's time."""

    signal: str | None


Action: TypeAlias = (
    Recv
    | RecvAll
    | Send
    | Connect
    | Reconnect
    | Drop
    | ExpectClosed
    | ExpectSilence
    | ExpectFileMode
    | ExpectManifest
    | StopHost
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        number: From 1.
        kind: The step's key in the file.
        action: What it does.
        timeout: Seconds it may take.
        label: Its name for `not_before`.
        not_before: The label of the step that this one, or its frame, must come after.
    """

    number: int
    kind: str
    action: Action
    timeout: float = DEFAULT_TIMEOUT
    label: str | None = None
    not_before: str | None = None

    def __str__(self) -> str:
        return f"step {self.number} ({self.kind}{f', {self.label!r}' if self.label else ''})"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One file.

    Attributes:
        id: `topic/name`.
        title: What it shows.
        path: The file, absolute.
        requires: The capability tags a host needs for it.
        steps: What happens.
    """

    id: str
    title: str
    path: Path
    requires: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def binding(self) -> Literal["ws", "uds"]:
        """How the host is to listen."""
        return "uds" if "uds" in self.requires else "ws"


def find_scenarios(directory: str | Path) -> list[Path]:
    """The scenario files below `directory`, in the order of their names; or the one file it is.

    Raises:
        ScenarioError: There are none.
    """
    directory = Path(directory)
    found = [directory] if directory.is_file() else sorted(directory.rglob("*.json"))
    if not found:
        raise ScenarioError(f"there are no scenarios (*.json) in {directory}")
    return found


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario's file.

    Raises:
        ScenarioError: It cannot be read, or is none; the message names the step.
    """
    path = Path(path).absolute()
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ScenarioError(f"{path} is no JSON: {error}") from error
    try:
        if not isinstance(document, dict):
            raise ScenarioError("a scenario is an object")
        name, requires, steps = document.get("id", path.stem), document.get("requires", []), document.get("steps")
        if not isinstance(name, str):
            raise ScenarioError('its "id" is not a string')
        if not isinstance(requires, list) or not all(isinstance(tag, str) for tag in requires):
            raise ScenarioError('its "requires" is not a list of capability tags')
        if not isinstance(steps, list) or not steps:
            raise ScenarioError('it has no "steps"')
        return Scenario(
            id=name,
            title=str(document.get("title", "")),
            path=path,
            requires=tuple(requires),
            steps=tuple(_step(number, each) for number, each in enumerate(steps, 1)),
        )
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from error


_REMARKS: Final = frozenset({"note", "comment", "title", "description", "spec", "id"})
_OPTIONS: Final = frozenset({"label", "notBefore", "timeoutMs", "raw", "binary"})


def _step(number: int, step: Any) -> Step:
    where = f"step {number}"
    if not isinstance(step, dict):
        raise ScenarioError(f"{where} is not an object")
    kinds = [key for key in step if key in _KINDS]
    unknown = [key for key in step if key not in _KINDS and key not in _OPTIONS and key not in _REMARKS]
    if len(kinds) != 1 or unknown:
        what = f"has the unknown {unknown[0]!r}" if unknown else f"is {len(kinds)} steps"
        raise ScenarioError(f"{where} {what}; a step is one of {', '.join(_KINDS)}")
    [kind] = kinds
    try:
        milliseconds = step.get("timeoutMs", DEFAULT_TIMEOUT * 1000)
        if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)) or milliseconds < 0:
            raise ScenarioError(f"timeoutMs is a number of milliseconds, not {milliseconds!r}")
        for option in ("raw", "binary"):
            if option in step and (kind != "send" or not isinstance(step[option], bool)):
                raise ScenarioError(f"{option!r} is true or false, and goes with a send")
        return Step(
            number=number,
            kind=kind,
            action=_KINDS[kind](step[kind], step),
            timeout=milliseconds / 1000,
            label=_text(step, "label"),
            not_before=_text(step, "notBefore"),
        )
    except ScenarioError as error:
        raise ScenarioError(f"{where} ({kind}): {error}") from error


def _recv(body: Any, step: Mapping[str, Any]) -> Action:
    if body is None:
        raise ScenarioError("it has no frame to compare with")
    return Recv(body)


def _recv_all(body: Any, step: Mapping[str, Any]) -> Action:
    if not isinstance(body, list) or not body:
        raise ScenarioError("it takes a list of frames to compare with")
    return RecvAll(tuple(body))


def _send(body: Any, step: Mapping[str, Any]) -> Action:
    if not step.get("raw") and not isinstance(body, dict):
        raise ScenarioError('a frame is an object; anything else is sent with "raw": true')
    return Send(body, step.get("binary", False))


def _connect(body: Any, step: Mapping[str, Any]) -> Action:
    return Connect(_opening(body))


def _reconnect(body: Any, step: Mapping[str, Any]) -> Action:
    return Reconnect(_opening({} if body is True else body))


def _opening(body: Any) -> Opening:
    known = {"bindCode", "expect", "to", "path", "subprotocols", "headers"}
    body = _object(body, known)
    subprotocols, headers = body.get("subprotocols"), body.get("headers")
    if subprotocols is not None and not (
        isinstance(subprotocols, list) and all(isinstance(x, str) for x in subprotocols)
    ):
        raise ScenarioError('"subprotocols" is a list of strings')
    if headers is not None and not (isinstance(headers, dict) and all(isinstance(x, str) for x in headers.values())):
        raise ScenarioError('"headers" is an object of strings')
    if body.get("to", "manifest") != "manifest":
        raise ScenarioError('"to" is "manifest", or left out')
    return Opening(
        bind_code=_text(body, "bindCode"),
        expect=_expectation(body.get("expect", "open")),
        manifest="to" in body,
        path=_text(body, "path"),
        subprotocols=tuple(subprotocols) if subprotocols is not None else None,
        headers=headers,
    )


def _expectation(expect: Any) -> Expectation:
    match expect:
        case "open":
            return Opens()
        case {"upgradeStatus": int(status), **rest} if not rest:
            return RefusesUpgrade(status)
        case {"bindErrorCode": int(code), **rest} if rest.keys() <= {"closes"}:
            closes = rest.get("closes")
            if closes is None or isinstance(closes, bool):
                return RefusesBind(code, closes)
        case {"closes": True, **rest} if not rest:
            return HangsUp()
    raise ScenarioError(
        f'"expect" is "open", {{upgradeStatus}}, {{bindErrorCode, closes}} or {{closes: true}}, not {expect!r}'
    )


def _drop(body: Any, step: Mapping[str, Any]) -> Action:
    return Drop(_close_code(body))


def _expect_closed(body: Any, step: Mapping[str, Any]) -> Action:
    return ExpectClosed(_close_code(body))


def _close_code(body: Any) -> int | None:
    if body is True:
        return None
    code = _object(body, {"code"}).get("code")
    if not isinstance(code, int) or isinstance(code, bool):
        raise ScenarioError(f'"code" is a number of WebSocket close codes, not {code!r}')
    return code


def _expect_silence(body: Any, step: Mapping[str, Any]) -> Action:
    return ExpectSilence(None if body is True else _text(_object(body, {"method"}), "method"))


def _expect_file_mode(body: Any, step: Mapping[str, Any]) -> Action:
    body = _object(body, {"target", "mode"})
    target, mode = body.get("target"), body.get("mode")
    if target not in ("parent", "socket", "manifest", "instances"):
        raise ScenarioError(f'"target" is parent, socket, manifest or instances, not {target!r}')
    if mode == "~absent":
        return ExpectFileMode(cast(Any, target), None)
    if not isinstance(mode, str) or re.fullmatch("0?[0-7]{3}", mode) is None:
        raise ScenarioError(f'"mode" is written like "0600", not {mode!r}')
    return ExpectFileMode(cast(Any, target), int(mode, 8))


def _expect_manifest(body: Any, step: Mapping[str, Any]) -> Action:
    if not isinstance(body, dict) and body != "~absent":
        raise ScenarioError('it takes an object to compare with, or "~absent"')
    return ExpectManifest(body)


def _stop_host(body: Any, step: Mapping[str, Any]) -> Action:
    name = None if body is True else _text(_object(body, {"signal"}), "signal")
    if name not in (None, "SIGINT", "SIGTERM", "SIGKILL"):
        raise ScenarioError(f'"signal" is SIGINT, SIGTERM or SIGKILL, not {name!r}')
    return StopHost(name)


_KINDS: Mapping[str, Callable[[Any, Mapping[str, Any]], Action]] = {
    "recv": _recv,
    "recvAll": _recv_all,
    "send": _send,
    "connect": _connect,
    "reconnect": _reconnect,
    "dropTransport": _drop,
    "expectClosed": _expect_closed,
    "expectSilence": _expect_silence,
    "expectFileMode": _expect_file_mode,
    "expectManifest": _expect_manifest,
    "stopHost": _stop_host,
}


def _object(body: Any, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(body, dict):
        raise ScenarioError(f"it takes an object, not {body!r}")
    if unknown := sorted(body.keys() - known):
        raise ScenarioError(f"there is no {unknown[0]!r}; known are {', '.join(sorted(known))}")
    return body


def _text(body: Mapping[str, Any], key: str) -> str | None:
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise ScenarioError(f"{key!r} is a string, not {value!r}")
    return value
