"""Every kind of step, with a host that does right and with hosts that do wrong: a runner must be able to fail them."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tesseron_py.testing.conformance.player import Player, StepFailed
from tesseron_py.testing.conformance.scenario import ScenarioError
from tesseron_py.testing.conformance.transcript import KEPT, Transcript

from .playing import play, scenario
from .scripted_host import ScriptedHost

HELLO = {"jsonrpc": "2.0", "id": 7, "method": "tesseron/hello", "params": {"app": {"id": "shop"}, "actions": [1, 2]}}
REQUEST = {"jsonrpc": "2.0", "id": "c-1", "method": "actions/invoke", "params": {}}
OPEN = {"connect": {"expect": "open"}}
BOUND = {"jsonrpc": "2.0", "id": "bind-1", "result": {"ok": True}}
REFUSED = {"jsonrpc": "2.0", "id": "bind-1", "error": {"code": -32009, "message": "no"}}


def say(*frames: Any, **more: Any) -> dict[str, Any]:
    """A connection on which the host says these."""
    return {"does": [{"say": frame} for frame in frames], **more}


def soon(step: dict[str, Any], milliseconds: int = 150) -> dict[str, Any]:
    """A step that waits less than steps do."""
    return {**step, "timeoutMs": milliseconds}


# recv

RECEIVED = [
    HELLO,
    {},
    {"id": 7},
    {"id": 7.0},
    {"params": {"app": {"id": "~regex:^[a-z]+$"}, "actions": "~array"}},
    {"params": {"actions": [1, "~number"]}},
    {"params": "~object", "error": "~absent", "id": "~any", "method": "~string"},
]
NOT_RECEIVED = [
    ({"id": 8}, r"at \$\.id: expected 8, and 7 came"),
    ({"id": "7"}, r'expected "7", and 7 came'),
    ({"id": "~string"}, "expected ~string, and 7 came"),
    ({"id": "~absent"}, "expected ~absent, and 7 came"),
    ({"error": "~any"}, r"at \$\.error: expected ~any, and nothing came"),
    ({"result": None}, "expected null, and nothing came"),
    ({"params": {"actions": [1]}}, r"at \$\.params\.actions: expected \[1\], and \[1, 2\] came"),
    ({"params": {"actions": [1, 3]}}, r"at \$\.params\.actions\[1\]: expected 3, and 2 came"),
    ({"params": {"actions": {}}}, r"expected \{\}, and \[1, 2\] came"),
    ({"params": {"app": []}}, r"expected \[\], and"),
    ({"params": {"app": {"id": "~regex:^x"}}}, "expected ~regex:\\^x"),
    ({"params": {"app": {"id": {}}}}, r'\$\.params\.app\.id: expected \{\}, and "shop" came'),
    ([1], "expected"),
]


@pytest.mark.parametrize("pattern", RECEIVED)
def test_recv_takes_a_frame_that_fits(pattern: Any) -> None:
    play([{"recv": pattern}], [say(HELLO)])


@pytest.mark.parametrize(("pattern", "says"), NOT_RECEIVED)
def test_recv_fails_a_frame_that_does_not(pattern: Any, says: str) -> None:
    with pytest.raises(StepFailed, match=says) as failure:
        play([{"recv": pattern, "label": "mine"}], [say(HELLO)])
    assert str(failure.value).startswith("step 1 (recv, 'mine'): ")
    assert "the frame was {" in str(failure.value)


def test_recv_takes_the_next_frame_and_no_later_one() -> None:
    play([{"recv": {"id": 1}}, {"recv": {"id": 2}}], [say({"id": 1}, {"id": 2})])
    with pytest.raises(StepFailed, match=r"step 1 .*expected 2, and 1 came"):
        play([{"recv": {"id": 2}}], [say({"id": 1}, {"id": 2})])


def test_recv_fails_when_nothing_comes_in_time() -> None:
    with pytest.raises(StepFailed, match=r'no frame came in time; expected \{"id": 1\}'):
        play([soon({"recv": {"id": 1}})], [say()])


def test_recv_fails_when_the_connection_ends() -> None:
    with pytest.raises(StepFailed, match="the connection ended, and a frame was expected: closed by the host: 1001"):
        play([{"recv": {}}], [{"does": [{"close": 1001}]}])
    with pytest.raises(StepFailed, match="went away without closing it"):
        play([{"recv": {}}], [{"does": [{"hangUp": True}]}])


@pytest.mark.parametrize("text", ["{", "", "NaN", '{"id": Infinity}', '{"id": 1e999}', "[" * 100_000, "\\udc80"])
def test_recv_fails_what_is_no_json(text: str) -> None:
    with pytest.raises(StepFailed, match="a frame that is no JSON"):
        play([{"recv": "~any"}], [say(text)])


def test_recv_fails_what_is_no_utf8_and_no_websocket() -> None:
    with pytest.raises(StepFailed, match="no JSON"):
        play([{"recv": "~any"}], [{"does": [{"sayBytes": '"\xff"'}]}], uds=True)
    with pytest.raises(StepFailed, match="broke the rules of WebSocket"):
        play([{"recv": "~any"}], [{"does": [{"raw": "\xff\xff\xff\xff"}]}])


def test_recv_understands_fragments_and_what_comes_with_the_upgrade() -> None:
    play([{"recv": {"early": True}}, {"recv": {"id": 1}}], [say({"id": 1}, upgrade="early")])
    play([{"recv": {"id": 1}}], [{"does": [{"raw": '\x01\x04{"id'}, {"raw": '\x80\x04":1}'}]}])


def test_recv_all_takes_frames_in_any_order() -> None:
    steps = [{"recvAll": [{"id": 1}, {"id": "~capture:other"}]}, {"recv": {"id": "~ref:other"}}]
    play(steps, [say({"id": 2}, {"id": 1}, {"id": 2})])
    play(steps, [say({"id": 1}, {"id": 2}, {"id": 2})])
    with pytest.raises(StepFailed, match=r'none of those expected, \[\{"id": 1\}\]: \{"id": 3\}'):
        play([{"recvAll": [{"id": 1}, {"id": 2}]}], [say({"id": 2}, {"id": 3})])
    with pytest.raises(StepFailed, match=r'no frame came in time; still expected: \[\{"id": 1\}\]'):
        play([soon({"recvAll": [{"id": 1}, {"id": 2}]})], [say({"id": 2})])


def test_captures_are_compared_and_sent() -> None:
    steps = [
        {"recv": {"id": "~capture:id", "params": {"app": "~capture:app"}}},
        {"send": {"jsonrpc": "2.0", "id": "~ref:id", "result": {"app": "~ref:app", "fill": "~fill:3"}}},
        {"recv": {"id": "~ref:id", "app": "~ref:app"}},
    ]
    host = play(steps, [{"does": [{"say": HELLO}, {"hear": 1}, {"say": {"id": 7, "app": {"id": "shop"}}}]}])
    assert host.heard == [{"jsonrpc": "2.0", "id": 7, "result": {"app": {"id": "shop"}, "fill": "xxx"}}]
    with pytest.raises(StepFailed, match=r"expected ~ref:id = 7, and 8 came"):
        play(steps, [{"does": [{"say": HELLO}, {"hear": 1}, {"say": {"id": 8}}]}])


# send


def test_send_sends_what_stands_there() -> None:
    steps = [
        {"send": {"id": "☃", "n": 1.5}},
        {"send": {"a": 1}, "binary": True},
        {"send": "{nonsense", "raw": True},
        {"send": [1], "raw": True},
        {"send": 5, "raw": True},
        {"recv": {"done": True}},
    ]
    for uds in (False, True):
        host = play(steps, [{"does": [{"hear": 5}, {"say": {"done": True}}]}], uds=uds)
        assert host.heard == [{"id": "☃", "n": 1.5}, {"a": 1}, "{nonsense", [1], 5]


def test_send_fails_on_a_closed_connection() -> None:
    steps = [{"expectClosed": True}, {"send": {"id": 1}}]
    with pytest.raises(StepFailed, match=r"step 2 \(send\): nothing can be sent, the connection has ended"):
        play(steps, [{"does": [{"hangUp": True}]}])


def test_send_fails_when_the_host_does_not_read() -> None:
    with pytest.raises(StepFailed, match="does not read"):
        play([soon({"send": {"text": "~fill:20000000"}})], [{"does": [{"pause": 1000}]}])


def test_a_connection_that_breaks_while_something_is_sent_is_found_by_the_next_step() -> None:
    steps = [{"send": {"text": "~fill:20000000"}}, {"expectClosed": {"code": 1009}}]
    play(steps, [{"does": [{"pause": 50}, {"close": 1009}]}])


# connect and reconnect


def test_without_a_connect_step_the_runner_connects_like_a_gateway() -> None:
    host = play([{"recv": HELLO}], [say(HELLO)])
    [request] = host.upgrades
    assert request.path == "/"
    assert request.headers["Sec-WebSocket-Protocol"] == "tesseron-gateway"
    assert "Origin" not in request.headers
    assert "User-Agent" not in request.headers


def test_connect_offers_code_headers_path_and_subprotocols() -> None:
    steps = [
        {"connect": {"bindCode": "AB3X-7K", "expect": "open"}},
        {"connect": {"path": "/x", "headers": {"Origin": "http://a.example", "host": "b.example"}}},
        {"connect": {"subprotocols": ["a", "a"], "expect": {"upgradeStatus": 400}}},
        {"connect": {"subprotocols": [], "expect": {"upgradeStatus": 400}}},
    ]
    host = play(steps, [say(), say(), say(upgrade=400), say(upgrade=400)])
    code, other, twice, none = host.upgrades
    assert code.headers["Sec-WebSocket-Protocol"] == "tesseron-gateway, tesseron-bind.AB3X-7K"
    assert (other.path, other.headers["Origin"]) == ("/x", "http://a.example")
    assert other.headers.get_all("Host") == ["b.example"]
    assert twice.headers["Sec-WebSocket-Protocol"] == "a, a"
    assert "Sec-WebSocket-Protocol" not in none.headers


NOT_OPENED = [
    ("open", 403, "expected an open connection, and the upgrade was answered with 403"),
    ("open", "hang up", "not answered"),
    ("open", "silence", "not answered"),
    ("open", "garbage", "not answered with HTTP: 'SSH-2.0-OpenSSH' came"),
    ("open", "no subprotocol", "does not select the subprotocol 'tesseron-gateway'"),
    ("open", "the code", "the answer to the upgrade is wrong: unsupported subprotocol: tesseron-bind.AB"),
    ("open", "compressed", "the answer to the upgrade is wrong: no extensions supported"),
    ("open", "wrong key", "the answer to the upgrade is wrong: invalid Sec-WebSocket-Accept"),
    ({"upgradeStatus": 403}, 101, "expected the upgrade to be answered with 403, and the connection opened"),
    (
        {"upgradeStatus": 403},
        409,
        "expected the upgrade to be answered with 403, and the upgrade was answered with 409",
    ),
    ({"upgradeStatus": 403}, "hang up", "not answered"),
    ({"closes": True}, 403, "expected a connection that the host closes, and the upgrade was answered with 403"),
    ({"closes": True}, 101, "the host was to close the connection, and it is still open"),
]


@pytest.mark.parametrize(("expect", "upgrade", "says"), NOT_OPENED)
def test_connect_fails_an_upgrade_that_is_not_the_expected_one(expect: Any, upgrade: Any, says: str) -> None:
    with pytest.raises(StepFailed, match=re.escape(says)):
        play([soon({"connect": {"bindCode": "AB", "expect": expect}})], [say(upgrade=upgrade)])


def test_connect_takes_the_expected_refusal() -> None:
    play([{"connect": {"expect": {"upgradeStatus": 409}}}], [say(upgrade=409)])
    play([{"connect": {"expect": {"closes": True}}}], [{"does": [{"close": 1000}]}])
    with pytest.raises(StepFailed, match=r'was to close the connection, and sent \{"id": 1\}'):
        play([{"connect": {"expect": {"closes": True}}}], [{"does": [{"say": {"id": 1}}, {"close": 1000}]}])


def test_connect_fails_when_nobody_listens() -> None:
    for uds in (False, True):
        with tempfile.TemporaryDirectory() as name:
            host = ScriptedHost([], Path(name), uds=uds)
            host.__exit__()
            if uds:
                Path(host.address).unlink()
            with pytest.raises(StepFailed, match=r"connecting: .* cannot be connected to"):
                Player(scenario(Path(name), [{"recv": {}}], ["uds"] if uds else []), host, Transcript()).play()


def test_a_refused_dial_leaves_the_connection_as_it_is() -> None:
    steps = [OPEN, {"connect": {"expect": {"upgradeStatus": 409}}}, {"send": REQUEST}, {"recv": {"id": "c-1"}}]
    play(steps, [{"does": [{"answer": {"result": 1}}]}, say(upgrade=409)])
    steps[1] = {"connect": {"bindCode": "AB", "expect": {"bindErrorCode": -32009, "closes": False}}}
    play(steps, [{"does": [{"answer": {"result": 1}}]}, {"does": [{"answer": {"error": {"code": -32009}}}]}], uds=True)


def test_after_a_refused_dial_there_is_no_connection() -> None:
    with pytest.raises(StepFailed, match=r"step 2 \(recv\): there is no connection"):
        play([{"connect": {"expect": {"upgradeStatus": 403}}}, {"recv": {}}], [say(upgrade=403)])


def test_reconnect_dials_with_the_last_code() -> None:
    steps = [
        {"connect": {"bindCode": "AB"}},
        {"dropTransport": True},
        {"reconnect": True},
        {"dropTransport": True},
        {"reconnect": {"bindCode": "CD", "expect": {"upgradeStatus": 403}}},
        {"reconnect": {}},
        {"recv": {"id": 1}},
    ]
    host = play(steps, [say(), say(), say(upgrade=403), say({"id": 1})])
    codes = [request.headers["Sec-WebSocket-Protocol"].split("bind.")[1] for request in host.upgrades]
    assert codes == ["AB", "AB", "CD", "CD"]


def test_reconnect_fails_when_the_place_is_not_free() -> None:
    with pytest.raises(StepFailed, match=r"step 2 \(reconnect\): .* answered with 409"):
        play([{"dropTransport": True}, {"reconnect": True}], [say(), say(upgrade=409)])


# A bind over a Unix socket

BIND = {"connect": {"bindCode": "AB", "expect": "open"}}


def bind_refused(closes: bool | None, code: int = -32009) -> dict[str, Any]:
    expect = {"bindErrorCode": code} if closes is None else {"bindErrorCode": code, "closes": closes}
    return {"connect": {"bindCode": "AB", "expect": expect}}


def test_a_bind_opens_before_anything_else_is_said() -> None:
    host = play([BIND, {"recv": HELLO}], [{"does": [{"answer": {"result": {"ok": True}}}, {"say": HELLO}]}], uds=True)
    assert host.heard == [{"jsonrpc": "2.0", "id": "bind-1", "method": "tesseron/bind", "params": {"code": "AB"}}]


NOT_BOUND = [
    ([REFUSED], "the bind was to be taken, and was answered with"),
    ([{**BOUND, "result": {}}], "the bind was to be taken"),
    ([{**BOUND, "result": {"ok": 1}}], "the bind was to be taken"),
    ([HELLO, BOUND], "the first frame after the bind is not its answer"),
    ([{"id": "bind-1", "result": {"ok": True}}], "the first frame after the bind is not its answer"),
    ([[BOUND]], "the first frame after the bind is not its answer"),
]


@pytest.mark.parametrize(("said", "says"), NOT_BOUND)
def test_a_bind_fails_an_answer_that_is_not_ok(said: list[Any], says: str) -> None:
    with pytest.raises(StepFailed, match=says):
        play([BIND], [{"does": [{"hear": 1}, *say(*said)["does"]]}], uds=True)


def test_a_bind_fails_without_an_answer() -> None:
    with pytest.raises(StepFailed, match=r"the bind was not answered$"):
        play([soon(BIND)], [say()], uds=True)
    with pytest.raises(StepFailed, match="the bind was not answered, the connection ended: closed by the host"):
        play([BIND], [{"does": [{"hear": 1}, {"close": 0}]}], uds=True)


def test_a_refused_bind_closes_or_stays_open_as_expected() -> None:
    stays, closes = [{"hear": 1}, {"say": REFUSED}], [{"hear": 1}, {"say": REFUSED}, {"close": 0}]
    play([bind_refused(True)], [{"does": closes}], uds=True)
    play([bind_refused(True), {"expectClosed": True}], [{"does": closes}], uds=True)
    play([bind_refused(False), {"send": REQUEST}], [{"does": [*stays, {"hear": 1}]}], uds=True)
    play([bind_refused(None)], [{"does": closes}], uds=True)
    with pytest.raises(StepFailed, match="was to close the connection, and it is still open"):
        play([bind_refused(True)], [{"does": stays}], uds=True)
    with pytest.raises(StepFailed, match="was to close the connection, and sent"):
        play([bind_refused(True)], [{"does": [*stays, {"say": HELLO}, {"close": 0}]}], uds=True)
    with pytest.raises(StepFailed, match="was to stay open after the refused bind, and was closed"):
        play([bind_refused(False)], [{"does": closes}], uds=True)
    for answer in (BOUND, {**REFUSED, "error": {"code": -32600}}, {**REFUSED, "error": -32009}):
        with pytest.raises(StepFailed, match="the bind was to be refused with -32009, and was answered with"):
            play([bind_refused(None)], [{"does": [{"hear": 1}, {"say": answer}]}], uds=True)


@pytest.mark.parametrize(
    ("step", "uds", "says"),
    [
        (bind_refused(None), False, '"bindErrorCode" is for a Unix socket'),
        ({"connect": {"expect": {"bindErrorCode": 1}}}, True, 'dialled with a "bindCode"'),
        ({"connect": {"expect": {"upgradeStatus": 403}}}, True, '"upgradeStatus" is for WebSockets'),
    ],
)
def test_expectations_of_another_binding_are_errors_of_the_scenario(step: Any, uds: bool, says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        play([step], [say()], uds=uds)


# dropTransport and expectClosed


def test_drop_transport_breaks_or_closes() -> None:
    play([{"dropTransport": True}, {"reconnect": True}, {"recv": {"id": 1}}], [say(), say({"id": 1})])
    play([{"dropTransport": {"code": 1000}}, {"reconnect": True}, {"recv": {"id": 1}}], [say(), say({"id": 1})])
    play([{"dropTransport": {"code": 1000}}, {"expectClosed": True}], [say({"id": 1})], uds=True)
    with pytest.raises(StepFailed, match="the connection ended, and a frame was expected: broken off by the runner"):
        play([{"dropTransport": True}, {"recv": {}}], [say()])


def test_expect_closed_takes_a_close() -> None:
    for does in (
        [{"close": 1001}],
        [{"hangUp": True}],
        [{"pause": 50}, {"close": 1000}],
        [{"say": BOUND}, {"close": 1000}],
    ):
        play([{"expectClosed": True}], [{"does": does}])
    play([{"expectClosed": {"code": 1009}}], [{"does": [{"close": 1009}]}])
    play([{"expectClosed": {"code": 1009}}], [{"does": [{"close": 0}]}], uds=True)
    play([{"recv": {}}, {"expectClosed": True}], [{"does": [{"say": {}}, {"raw": '{"half'}, {"close": 0}]}], uds=True)


def test_expect_closed_fails_an_open_connection() -> None:
    with pytest.raises(StepFailed, match="was to be closed, and is still open"):
        play([soon({"expectClosed": True})], [say()])


def test_expect_closed_fails_a_host_that_starts_anew_instead() -> None:
    with pytest.raises(StepFailed, match=r"was to be closed, and the host began anew: .*tesseron/hello"):
        play([{"recv": HELLO}, {"expectClosed": True}], [{"does": [{"say": HELLO}, {"say": HELLO}, {"close": 1000}]}])
    play([{"expectClosed": True}], [{"does": [{"say": HELLO}, {"close": 1000}]}])


def test_expect_closed_fails_another_code() -> None:
    with pytest.raises(StepFailed, match="was to be closed with 1009, and was closed with 1000"):
        play([{"expectClosed": {"code": 1009}}], [{"does": [{"close": 1000}]}])


# expectSilence


def test_expect_silence_lets_other_frames_wait() -> None:
    script = [say({"method": "other"}, {"id": 1, "result": {}}, 5)]
    steps = [soon({"expectSilence": {"method": "a"}}), {"recv": {"method": "other"}}, {"recv": {"id": 1}}, {"recv": 5}]
    play(steps, script)
    play([soon({"expectSilence": True})], [say()])
    play([{"recv": {}}, {"expectSilence": {"method": "a"}}], [{"does": [{"say": {}}, {"hangUp": True}]}])


def test_expect_silence_fails_a_frame_that_waits_or_comes() -> None:
    update = {"method": "a", "params": 1}
    for script in ([say(update)], [{"does": [{"pause": 30}, {"say": {}}, {"say": update}]}]):
        with pytest.raises(StepFailed, match=r'there was to be silence, and the host sent \{"method": "a"'):
            play([soon({"expectSilence": {"method": "a"}})], script)
    with pytest.raises(StepFailed, match="there was to be silence"):
        play([soon({"expectSilence": True})], [say({"id": 1})])


# label and notBefore


def test_not_before_orders_frames_and_steps() -> None:
    subscribed = {"recv": {"id": "s-1"}, "label": "subscribed"}
    update = {"recv": {"method": "u"}, "notBefore": "subscribed"}
    play([subscribed, update], [say({"id": "s-1"}, {"method": "u"})])
    asked = {"send": REQUEST, "label": "asked"}
    play([asked, {**update, "notBefore": "asked"}], [{"does": [{"hear": 1}, {"say": {"method": "u"}}]}])


def test_not_before_fails_a_frame_that_came_too_early() -> None:
    steps = [
        {"recv": {"id": 0}},
        soon({"expectSilence": {"method": "x"}}, 50),
        {"send": REQUEST, "label": "asked"},
        {"recv": {"method": "u"}, "notBefore": "asked"},
    ]
    with pytest.raises(StepFailed, match=r"step 4 \(recv\): the frame came too early"):
        play(steps, [say({"id": 0}, {"method": "u"})])


def test_not_before_needs_a_label_that_was_there() -> None:
    with pytest.raises(ScenarioError, match=r"step 1 .*'later'"):
        play([{"recv": {}, "notBefore": "later"}, {"recv": {}, "label": "later"}], [say({}, {})])


# Files

MODES = [
    {"expectFileMode": {"target": "parent", "mode": "0700"}},
    {"expectFileMode": {"target": "socket", "mode": "0600"}},
]


def play_modes(parent: int, sock: int) -> None:
    with tempfile.TemporaryDirectory() as name, ScriptedHost([say()], Path(name), uds=True) as host:
        os.chmod(name, parent)
        os.chmod(host.address, sock)
        Player(scenario(Path(name), [*MODES, OPEN], ["uds"]), host, Transcript()).play()


def test_expect_file_mode_compares_every_bit() -> None:
    play_modes(0o700, 0o600)
    for parent, sock, says in ((0o755, 0o600, "mode 0700, and has 0755"), (0o700, 0o660, "mode 0600, and has 0660")):
        with pytest.raises(StepFailed, match=says):
            play_modes(parent, sock)
    with pytest.raises(StepFailed, match="mode 0700, and has 1700"):
        play_modes(0o1700, 0o600)


def test_expect_file_mode_fails_a_file_that_is_not_there() -> None:
    with tempfile.TemporaryDirectory() as name, ScriptedHost([say()], Path(name), uds=True) as host:
        Path(host.address).unlink()
        with pytest.raises(StepFailed, match="cannot be read: No such file"):
            Player(scenario(Path(name), [MODES[1], OPEN], ["uds"]), host, Transcript()).play()


def test_a_file_is_absent_in_time() -> None:
    gone = soon({"expectFileMode": {"target": "socket", "mode": "~absent"}}, 30)
    with tempfile.TemporaryDirectory() as name, ScriptedHost([say()], Path(name), uds=True) as host:
        with pytest.raises(StepFailed, match="was to be gone, and is there"):
            Player(scenario(Path(name), [gone, OPEN], ["uds"]), host, Transcript()).play()
        Player(scenario(Path(name), [OPEN], ["uds"]), host, Transcript()).play()
        Path(host.address).unlink()
        Player(scenario(Path(name), [gone, {"connect": {"expect": "open"}}][:1], ["uds"]), host, Transcript())._play(
            scenario(Path(name), [gone], ["uds"]).steps[0]
        )


def test_modes_of_a_socket_are_for_unix_sockets() -> None:
    with pytest.raises(ScenarioError, match="for scenarios that require uds"):
        play([MODES[0]], [say()])


MANIFEST = {"version": 2, "transport": {"kind": "ws", "url": "ws://127.0.0.1:1/"}}


def test_expect_manifest_compares_the_one_manifest() -> None:
    play([{"expectManifest": {"version": 2, "pid": "~absent"}}], [say()], manifest=MANIFEST)
    play([{"expectManifest": "~absent"}], [say()])
    cases: list[tuple[Any, Any, str]] = [
        ({"version": 1}, MANIFEST, r"at \$\.version: expected 1, and 2 came; the manifest is"),
        ({}, None, "there was to be one manifest in .*, and there are 0"),
        ({}, '{"half', "is no JSON: '{\"half'"),
        ({}, "[]", "is no object"),
        ("~absent", MANIFEST, "there was to be no manifest, and there is"),
    ]
    for pattern, manifest, says in cases:
        with pytest.raises(StepFailed, match=says):
            play([soon({"expectManifest": pattern}, 30)], [say()], manifest=manifest)


def test_modes_of_the_manifest_are_compared_in_time() -> None:
    step = soon({"expectFileMode": {"target": "manifest", "mode": "0644"}}, 30)
    play([step, {"expectFileMode": {"target": "instances", "mode": "755"}}], [say()], manifest=MANIFEST)
    with pytest.raises(StepFailed, match="was to have the mode 0600, and has 0644"):
        play([soon({"expectFileMode": {"target": "manifest", "mode": "0600"}}, 30)], [say()], manifest=MANIFEST)


def test_connect_dials_where_the_manifest_says() -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        instances = Path(one) / ".tesseron" / "instances"
        instances.mkdir(parents=True)
        manifest = instances / "a.json"
        there = ScriptedHost([say({"id": "there"})], Path(other), uds=True)
        with ScriptedHost([say({"id": "here"})], Path(one)) as here, there:
            for transport, name in (
                ({"kind": "ws", "url": here.address}, "here"),
                ({"kind": "uds", "path": there.address}, "there"),
            ):
                manifest.write_text(f'{{"transport": {transport}}}'.replace("'", '"'))
                steps = [{"connect": {"to": "manifest"}}, {"recv": {"id": name}}]
                Player(scenario(Path(one), steps), here, Transcript()).play()
            manifest.write_text('{"transport": {"kind": "pigeon"}}')
            with pytest.raises(StepFailed, match="the manifest's transport is none"):
                Player(scenario(Path(one), [{"connect": {"to": "manifest"}}]), here, Transcript()).play()


# stopHost


def test_stop_host_tells_it_to_end() -> None:
    assert play([{"stopHost": True}], [say()]).stopped is None
    assert play([{"stopHost": {"signal": "SIGTERM"}}], [say()]).stopped == "SIGTERM"
    with pytest.raises(StepFailed, match=r"was told to end \(its stdin closed\), and goes on"):
        play([soon({"stopHost": True}, 50)], [say()], stubborn=True)
    with pytest.raises(StepFailed, match=r"was told to end \(SIGTERM\), and goes on"):
        play([soon({"stopHost": {"signal": "SIGTERM"}}, 50)], [say()], stubborn=True)


# What happened


def test_a_transcript_shows_both_sides_shortened_and_bounded() -> None:
    transcript = Transcript()
    with tempfile.TemporaryDirectory() as name, ScriptedHost([say({"id": "x" * 900})], Path(name)) as host:
        Player(scenario(Path(name), [{"recv": {"id": "~string"}}, {"send": {"a": 1}}]), host, transcript).play()
    text = "\n".join(transcript.lines)
    assert re.search(r'ms ← \{"id": "x{492}… \(910 characters\)', text)
    assert ' ms → {"a":1}' in text
    assert " ms · step 1 (recv)" in text
    for number in range(2 * KEPT):
        transcript.add("·", str(number))
    assert len(transcript.lines) == KEPT
    assert transcript.lines[-1].endswith(str(2 * KEPT - 1))
