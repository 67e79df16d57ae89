"""Whatever a server sends, the peer takes it, raises nothing, and still matches the next answer."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.home import Home
from tesseron_py.mcp.client import ClientError, TransportEnded
from tesseron_py.mcp.client_peer import Peer

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
frames = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2]) | json_values,
        "id": st.sampled_from([1, 2, "1", True, None, 1.0]) | json_values,
        "method": st.sampled_from(
            ["ping", "elicitation/create", "notifications/progress", "notifications/cancelled", "notifications/message"]
        )
        | json_values,
        "params": st.fixed_dictionaries({}, optional={"progressToken": json_values, "requestId": json_values})
        | json_values,
        "result": json_values,
        "error": st.fixed_dictionaries({}, optional={"code": json_values, "message": json_values}) | json_values,
    },
)


class Answering:
    """A transport whose server answers each request with the frames it was given, and then rightly."""

    def __init__(self, frames: list[Any]) -> None:
        self.frames = frames
        self.peer: Any = None

    async def send(self, text: str, *, request: int | None = None, headers: Any = None) -> None:
        if request is None:
            return
        for frame in self.frames:
            self.peer.message(frame if isinstance(frame, str | bytes) else json.dumps(frame), request)
        self.peer.message(json.dumps({"jsonrpc": "2.0", "id": request, "result": "right"}), request)

    def drop(self, request: int, *, at_once: bool = False) -> None:
        pass


async def _unused(method: str, params: object, subject: str | None) -> Any:
    raise AssertionError("the home is not open, so nothing can be answered")


@given(st.lists(frames | json_values | st.text() | st.binary(), max_size=5))
def test_no_frame_makes_it_raise(sent: list[Any]) -> None:
    async def scenario() -> None:
        transport = Answering(sent)
        notices: list[str] = []
        peer = transport.peer = Peer(
            transport,  # type: ignore[arg-type]
            Home(),
            _unused,
            lambda method, params: notices.append(method),
            uncancellable=("initialize",),
        )
        with suppress(ClientError):  # a generated frame may itself be this request's answer
            await peer.request("x", on_progress=lambda params: None)
        assert peer.pending == 0
        transport.frames = []
        assert await peer.request("x") == "right"

    anyio.run(scenario)


async def test_an_end_is_an_end() -> None:
    peer = Peer(Answering([]), Home(), _unused, lambda method, params: None, uncancellable=())  # type: ignore[arg-type]
    peer.ended("first")
    peer.ended("second")
    peer.message('{"jsonrpc":"2.0","id":1,"result":1}')
    with pytest.raises(TransportEnded, match="first"):
        await peer.request("x")
