"""The gateway's half of the HTTP binding, row by row, met by a client that is nothing but HTTP requests."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.bindings import http_endpoint
from tesseron_py.bindings.channel import Closed, TooLarge
from tesseron_py.bindings.http_connection import EventLog, HttpConnection
from tesseron_py.bindings.http_endpoint import TesseronEndpoint
from tesseron_py.bindings.http_wire import HttpLimits, number
from tesseron_py.home import Home

from .http_raw import HELLO, QUICK, REFUSAL, RESUME, TOKEN, WELCOME, error_of, gateway, opened, raw_app, until
from .suite import drain, guard, quoted

ATTEMPT = "a" * 22


async def closed_of(connection: HttpConnection) -> Closed:
    return (await drain(connection))[1]


# Opening


@pytest.mark.parametrize("message", [HELLO, RESUME])
async def test_an_opening_is_answered_with_what_the_gateway_answers_and_the_name_of_the_connection(
    message: str,
) -> None:
    async with guard(), gateway() as made, raw_app(made) as app, anyio.create_task_group() as group:
        responses: list[httpx.Response] = []

        async def open_it() -> None:
            responses.append(await app.open(message))

        group.start_soon(open_it)
        connection = await made.accept()
        assert await connection.receive() == message
        assert (made.endpoint.connections, connection.is_open, connection.used) == (1, False, False)
        await connection.send(WELCOME)
        await until(lambda: responses)
        [response] = responses
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/json"
        assert response.text == WELCOME
        assert len(response.headers["tesseron-connection"]) >= 22
        assert connection.is_open
        assert not connection.used  # the answer may have got lost
        assert (await app.post(1)).status_code == 202
        assert connection.used


@pytest.mark.parametrize("id", ["007", " 7 ", "", 0, -1, 2**60, None])
async def test_the_answer_is_known_by_its_id_and_what_comes_before_it_is_an_event(id: Any) -> None:
    hello = json.dumps({"jsonrpc": "2.0", "id": id, "method": "tesseron/hello"})
    welcome = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"sessionId": "s_1"}})
    others = [
        json.dumps({"jsonrpc": "2.0", "id": other, "result": {}})
        for other in (1, "1", True, 0.0, None)
        if other is not id
    ]
    others += ['{"jsonrpc":"2.0","id":1}', '{"jsonrpc":"2.0","result":{}}', "[]", "no json"]
    async with guard(), gateway() as made, raw_app(made) as app, anyio.create_task_group() as group:
        group.start_soon(app.open, hello)
        connection = await made.accept()
        assert await connection.receive() == hello
        for other in others:
            await connection.send(other)
        assert not connection.answered.is_set()
        await connection.send(welcome)
        assert connection.answer == welcome
        await connection.send(welcome)  # once more: a message as any other
        await until(lambda: app.connection)
        async with app.stream() as events:
            got = [await events.next() for _ in range(len(others) + 1)]
        assert got == list(enumerate([*others, welcome], 1))


async def test_a_refused_opening_is_200_with_the_error_and_opens_nothing() -> None:
    async with guard(), gateway() as made, raw_app(made) as app:
        for message in (RESUME, HELLO):
            async with anyio.create_task_group() as group:

                async def open_it(message: str = message) -> None:
                    response = await app.open(message)
                    assert (response.status_code, response.text) == (200, REFUSAL)
                    assert "tesseron-connection" not in response.headers

                group.start_soon(open_it)
                connection = await made.welcome(REFUSAL)
            assert made.endpoint.connections == 0
            with pytest.raises(Closed):
                await connection.send("{}")
            assert (await closed_of(connection)).code == 1000
            await connection.aclose()


@pytest.mark.parametrize("answer", [WELCOME, REFUSAL])
async def test_a_repeat_of_an_attempt_gets_the_same_reply_and_opens_nothing_more(answer: str) -> None:
    async with guard(), gateway() as made, raw_app(made) as app:
        responses: list[httpx.Response] = []

        async def open_it() -> None:
            responses.append(await app.open(tesseron_attempt=ATTEMPT))

        async with anyio.create_task_group() as group:
            group.start_soon(open_it)
            connection = await made.accept()
            group.start_soon(open_it)  # while the first one waits
            group.start_soon(open_it)
            await until(lambda: made.endpoint._active == 3)
            assert await connection.receive() == HELLO
            await connection.send(answer)
        await open_it()
        await open_it()
        assert len({(r.status_code, r.text, r.headers.get("tesseron-connection")) for r in responses}) == 1
        assert made.receive.statistics().current_buffer_used == 0
        assert made.endpoint.connections == (1 if answer == WELCOME else 0)


async def test_an_opening_whose_client_has_left_is_there_for_the_repeat() -> None:
    async with guard(), gateway() as made, raw_app(made) as app:
        async with anyio.create_task_group() as group:

            async def open_it() -> None:
                await app.open(tesseron_attempt=ATTEMPT)

            group.start_soon(open_it)
            connection = await made.accept()
            group.cancel_scope.cancel()
        await connection.receive()
        await connection.send(WELCOME)
        response = await app.open(tesseron_attempt=ATTEMPT)
        assert response.text == WELCOME
        assert (await app.post(1, "[]")).status_code == 202
        assert await connection.receive() == "[]"


async def test_the_reply_to_an_attempt_is_kept_for_a_while_and_then_forgotten() -> None:
    assert HttpLimits().kept == 60
    async with guard(), gateway(replace(QUICK, kept=0.1)) as made, raw_app(made) as app:
        for _ in range(2):
            async with anyio.create_task_group() as group:

                async def open_it() -> None:
                    await app.open(tesseron_attempt=ATTEMPT)

                group.start_soon(open_it)
                await made.welcome()  # the second time a connection of its own
            await until(lambda: not made.endpoint._openings)
        assert made.endpoint.connections == 2


async def test_another_message_under_the_same_attempt_is_refused() -> None:
    async with guard(), gateway() as made, raw_app(made) as app, anyio.create_task_group() as group:

        async def open_it() -> None:
            await app.open(RESUME, tesseron_attempt=ATTEMPT)

        group.start_soon(open_it)
        await made.welcome(REFUSAL)
        response = await app.open(HELLO, tesseron_attempt=ATTEMPT)
        assert response.status_code == 400
        assert "Tesseron-Attempt" in error_of(response)


@pytest.mark.parametrize("attempt", [None, "", "1", "a" * 21, "a" * 129, "ä" * 22, "a b" * 10])
async def test_an_opening_without_128_random_bits_is_refused(attempt: str | None) -> None:
    async with guard(), gateway() as made, raw_app(made) as app:
        given = None if attempt is None else attempt.encode().decode("latin-1")
        headers = app.headers({"tesseron_attempt": None})
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        if given is not None:
            raw.append((b"tesseron-attempt", given.encode("latin-1")))
        response = await app.client.post(app.url, content=HELLO, headers=raw)
        assert response.status_code == 400
        assert "128" in error_of(response)
        assert made.endpoint.connections == 0


@pytest.mark.parametrize(
    "attempt", ["597af961e9f08c3b7c5953834b9093ec", "yoSJPf0dj2oVIvOgdR4Orw", "7ThE+/9._~-" * 3 + "=="]
)
async def test_128_bits_may_be_written_in_any_usual_way(attempt: str) -> None:
    async with guard(), gateway() as made, raw_app(made) as app, anyio.create_task_group() as group:

        async def open_it() -> None:
            assert (await app.open(tesseron_attempt=attempt)).status_code == 200

        group.start_soon(open_it)
        await made.welcome()


@pytest.mark.parametrize(
    "body",
    [
        '{"jsonrpc":"2.0","id":1,"method":"actions/invoke"}',
        '{"jsonrpc":"2.0","method":"tesseron/hello"}',
        '{"jsonrpc":"2.0","id":[],"method":"tesseron/hello"}',
        '{"jsonrpc":"2.0","id":true,"method":"tesseron/hello"}',
        '{"jsonrpc":"2.0","id":1.5,"method":"tesseron/resume"}',
        '{"id":1,"method":"tesseron/hello"}',
        '{"jsonrpc":"2.0","id":1,"result":{}}',
        f"[{HELLO}]",
        "null",
        "garbage",
        '{"a":NaN}',
        b"\xff\xfe",
        b"",
    ],
)
async def test_what_is_neither_hello_nor_resume_opens_nothing(body: str | bytes) -> None:
    async with guard(), gateway() as made, raw_app(made) as app:
        response = await app.open(body)
        assert response.status_code == 400
        assert error_of(response)
        assert (made.endpoint.connections, made.endpoint._openings) == (0, {})


async def test_a_gateway_that_does_not_answer_is_503_and_the_same_attempt_may_try_again() -> None:
    async with guard(), gateway(replace(QUICK, handshake=0.1)) as made, raw_app(made) as app:
        response = await app.open(tesseron_attempt=ATTEMPT)
        assert response.status_code == 503
        assert response.headers["retry-after"]
        silent = await made.accept()
        assert [(await drain(silent))[0]] == [[HELLO]]
        async with anyio.create_task_group() as group:

            async def open_it() -> None:
                assert (await app.open(tesseron_attempt=ATTEMPT)).status_code == 503

            group.start_soon(open_it)
            closing = await made.accept()
            await closing.aclose()
            with pytest.raises(Closed):
                await closing.send(WELCOME)
        assert made.endpoint.connections == 0


async def test_a_gateway_that_fails_to_take_a_channel_is_503(caplog: pytest.LogCaptureFixture) -> None:
    async with guard(), gateway() as made, raw_app(made) as app:
        made.endpoint._on_channel = lambda connection: connection.nothing
        assert (await app.open()).status_code == 503
        assert made.endpoint.connections == 0
    assert "AttributeError" in caplog.text


async def test_as_many_connections_as_may_be_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_endpoint, "MAX_OPENINGS", 2)
    async with guard(), gateway(replace(QUICK, connections=3)) as made, raw_app(made) as app:
        for _ in range(3):
            async with anyio.create_task_group() as group:
                group.start_soon(app.open)
                connection = await made.welcome()
        assert len(made.endpoint._openings) == 2
        response = await app.open()
        assert response.status_code == 503
        assert "3 apps" in error_of(response)
        await connection.aclose()
        async with anyio.create_task_group() as group:
            group.start_soon(app.open)
            await made.welcome()


# Messages


async def test_messages_are_taken_in_order_and_a_repeat_is_ignored() -> None:
    async with guard(), opened() as (_, app, connection):
        for sequence in (1, 2, 2, 1, 3, 3):
            response = await app.post(sequence, f'"{sequence}"')
            assert (response.status_code, response.content) == (202, b"")
        assert (await app.post(2, "not even JSON")).status_code == 202
        assert [await connection.receive() for _ in range(3)] == ['"1"', '"2"', '"3"']
        assert (await app.post(4, '"4"')).status_code == 202
        assert await connection.receive() == '"4"'


async def test_a_gap_is_409_with_the_number_that_is_expected() -> None:
    async with guard(), opened() as (_, app, connection):
        for sequence in (2, 10**17):
            response = await app.post(sequence)
            assert (response.status_code, response.json()) == (409, {"expected": 1})
        assert (await app.post(1, '"1"')).status_code == 202
        assert (await app.post(3)).json() == {"expected": 2}
        assert (await app.post(2, '"2"')).status_code == 202
        assert [await connection.receive(), await connection.receive()] == ['"1"', '"2"']


@pytest.mark.parametrize("sequence", [None, "", "0", "-1", "+1", "1.0", "one", "1,2", "0x1", "1" * 19])
async def test_a_message_without_a_number_is_400_and_takes_none(sequence: str | None) -> None:
    async with guard(), opened() as (_, app, connection):
        response = await app.post(sequence)
        assert response.status_code == 400
        assert "Tesseron-Sequence" in error_of(response)
        assert (await app.post(1, "[]")).status_code == 202
        assert await connection.receive() == "[]"


@pytest.mark.parametrize(
    "body", ["garbage", "{", '{"a":NaN}', '{"a":1e400}', '"\\ud800"', b"\xff", b"", b"\xef\xbb\xbf{}"]
)
async def test_a_message_that_is_no_json_is_400_and_takes_no_number(body: str | bytes) -> None:
    async with guard(), opened() as (_, app, connection):
        response = await app.post(1, body)
        assert response.status_code == 400
        assert "JSON" in error_of(response)
        assert (await app.post(1, "[]")).status_code == 202
        assert await connection.receive() == "[]"


@pytest.mark.parametrize("body", ["[]", "null", "7", '"text"', "{}", f"[{HELLO}]", HELLO, ' {"a" :\r\n1} '])
async def test_json_that_is_no_envelope_is_taken_and_left_to_the_gateway(body: str) -> None:
    async with guard(), opened() as (_, app, connection):
        assert (await app.post(1, body)).status_code == 202
        assert await connection.receive() == body


async def test_field_83_a_body_above_the_limit_is_413_and_takes_no_number() -> None:
    async def pieces() -> Any:
        for _ in range(11):
            yield b" " * 100

    async with guard(), opened(replace(QUICK, frame=1000)) as (_, app, connection):
        assert (await app.post(1, quoted("", 1000))).status_code == 202
        assert len(await connection.receive()) == 1000
        declared = await app.post(2, quoted("", 1001))
        chunked = await app.client.post(app.url, content=pieces(), headers=app.headers({"tesseron_sequence": 2}))
        opening = await app.open(HELLO.ljust(1001))
        for response in (declared, chunked, opening):
            assert response.status_code == 413
            assert response.json()["limit"] == 1000
        assert (await app.post(2, "[]")).status_code == 202
        assert await connection.receive() == "[]"
        with pytest.raises(TooLarge):
            await connection.send(quoted("", 1001))
        assert connection.limit == 1000


async def test_a_body_that_does_not_come_is_408_and_takes_no_number() -> None:
    async with guard(), opened(replace(QUICK, body_deadline=0.1)) as (_, app, connection):
        async with app.unfinished(1, b"{") as stream:
            assert b" 408 " in await stream.receive()
        assert (await app.post(1, "[]")).status_code == 202
        assert await connection.receive() == "[]"


async def test_a_repeat_takes_the_place_of_one_whose_body_is_stuck() -> None:
    async with guard(), opened() as (_, app, connection), app.unfinished(1, b'"half') as stream:
        await until(lambda: connection._post)
        assert (await app.post(1, '"whole"')).status_code == 202
        answer = await stream.receive()
        assert b" 409 " in answer or b" 202 " in answer
        assert await connection.receive() == '"whole"'
        assert (await app.post(2, "[]")).status_code == 202
        assert await connection.receive() == "[]"


async def test_a_client_that_leaves_in_the_middle_of_a_body_leaves_no_trace() -> None:
    async with guard(), opened() as (made, app, connection):
        async with app.unfinished(1, b'"half'):
            await until(lambda: connection._post)
        await until(lambda: not made.endpoint._active)
        assert (await app.post(1, "[]")).status_code == 202
        assert await connection.receive() == "[]"


async def test_a_message_waits_for_a_gateway_that_reads_slowly_and_its_repeat_is_one_and_the_same() -> None:
    async with guard(), opened(replace(QUICK, inbox=2)) as (_, app, connection), anyio.create_task_group() as group:
        statuses: list[int] = []

        async def post(sequence: int) -> None:
            statuses.append((await app.post(sequence, f'"{sequence}"')).status_code)

        await post(1)
        await post(2)
        group.start_soon(post, 3)
        await until(lambda: connection._post)
        first = connection._post
        group.start_soon(post, 3)
        await until(lambda: connection._post not in (None, first))
        await post(2)  # an old one does not disturb it
        assert sorted(statuses) == [202, 202, 202, 409]
        assert [await connection.receive() for _ in range(3)] == ['"1"', '"2"', '"3"']
        await until(lambda: len(statuses) == 5)
        assert sorted(statuses) == [202, 202, 202, 202, 409]
        await post(4)
        assert await connection.receive() == '"4"'


async def test_bytes_fill_the_gateways_inbox_too_and_the_end_frees_who_waits() -> None:
    async with guard(), opened(replace(QUICK, inbox_bytes=1000)) as (_, app, connection):
        assert (await app.post(1, quoted("", 2000))).status_code == 202
        async with anyio.create_task_group() as group:

            async def post() -> None:
                assert (await app.post(2)).status_code == 404

            group.start_soon(post)
            await until(lambda: connection._post)
            await connection.aclose()
        assert [len(text) for text in (await drain(connection))[0]] == [2000]


async def test_repeats_that_come_at_the_same_time_are_taken_once() -> None:
    async with guard(), opened() as (_, app, connection):
        for sequence in range(1, 20):
            statuses: list[int] = []

            async def post(sequence: int = sequence, statuses: list[int] = statuses) -> None:
                statuses.append((await app.post(sequence, str(sequence))).status_code)

            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(post)
            assert set(statuses) <= {202, 409}
            assert 202 in statuses
        assert (await app.post(20, '"end"')).status_code == 202
        assert [await connection.receive() for _ in range(20)] == [*map(str, range(1, 20)), '"end"']


@pytest.mark.parametrize("connection", ["unknown", "", "ä".encode()])
async def test_an_unknown_connection_is_404_for_every_method(connection: str | bytes) -> None:
    async with guard(), gateway() as made, raw_app(made) as app:
        for method in ("GET", "POST", "DELETE"):
            for extra in ({}, {"tesseron-sequence": "1"}, {"last-event-id": "0"}):
                headers = [*app.headers(extra).items(), ("tesseron-connection", connection)]
                raw = [(n.encode(), v if isinstance(v, bytes) else v.encode()) for n, v in headers]
                response = await app.client.request(method, app.url, headers=raw)
                assert response.status_code == 404
                assert "tesseron/resume" in error_of(response)


async def test_without_a_connection_there_is_nothing_to_get_or_delete() -> None:
    async with guard(), gateway() as made, raw_app(made) as app:
        for method in ("GET", "DELETE"):
            assert (await app.request(method)).status_code == 404


# Events


async def test_events_are_numbered_and_come_as_they_are_said() -> None:
    texts = ["{}", '"\u2028\u0085\u2029"', '" leading"', "[1]", '"😀"']
    async with guard(), opened() as (_, app, connection), app.stream() as events:
        headers = app.response.headers
        assert headers["content-type"] == "text/event-stream"
        assert headers["x-accel-buffering"] == "no"
        assert headers["cache-control"] == "no-cache"
        for at, text in enumerate(texts, 1):
            await connection.send(text)
            assert await events.next() == (at, text)
        assert b"id: 1\ndata: {}\n\n" in events.raw


async def test_a_text_of_several_lines_is_one_event() -> None:
    async with guard(), opened() as (_, app, connection), app.stream() as events:
        await connection.send('{"a":\r\n1,\n\n"b":\r2}')
        assert await events.next() == (1, '{"a":\n1,\n\n"b":\n2}')


async def test_what_was_said_before_the_stream_is_there_and_after_a_break_the_rest() -> None:
    async with guard(), opened() as (_, app, connection):
        for at in range(1, 6):
            await connection.send(str(at))
        async with app.stream() as events:
            assert [await events.next() for _ in range(5)] == [(at, str(at)) for at in range(1, 6)]
        async with app.stream() as events:  # nothing was acknowledged
            assert await events.next() == (1, "1")
        async with app.stream(last_event_id=3) as events:
            assert await events.next() == (4, "4")
        async with app.stream() as events:  # the oldest that is not acknowledged
            assert await events.next() == (4, "4")
        async with app.stream(last_event_id=5) as events:
            await connection.send("6")
            assert await events.next() == (6, "6")


@pytest.mark.parametrize("how", ["alone", "message", "stream"])
async def test_every_request_may_acknowledge(how: str) -> None:
    async with guard(), opened() as (_, app, connection):
        for at in range(1, 5):
            await connection.send(str(at))
        match how:
            case "alone":
                response = await app.acknowledge(3)
                assert (response.status_code, response.content) == (204, b"")
            case "message":
                assert (await app.post(1, last_event_id=3)).status_code == 202
            case _:
                async with app.stream(last_event_id=3):
                    pass
        assert (connection._log.acknowledged, connection._log.last) == (3, 4)
        for old in (2, 0, 3):
            assert (await app.acknowledge(old)).status_code == 204
        assert connection._log.acknowledged == 3
        assert not connection.is_told
        assert (await app.acknowledge(4)).status_code == 204
        assert connection.is_told


@pytest.mark.parametrize("last", ["5", "x", "", "-1", "1.0", "9" * 18])
async def test_an_acknowledgement_of_what_was_not_sent_is_400(last: str) -> None:
    async with guard(), opened() as (_, app, connection):
        await connection.send("1")
        assert (await app.acknowledge(last)).status_code == 400
        assert (await app.post(1, last_event_id=last)).status_code == 400
        assert not connection.is_told
        assert (await app.post(1)).status_code == 202
        response = await app.request("POST")
        assert response.status_code == 400
        assert "Last-Event-ID" in error_of(response)


async def test_an_event_outside_of_what_is_kept_is_404() -> None:
    async with guard(), opened() as (_, app, connection):
        for at in range(1, 6):
            await connection.send(str(at))
        await app.acknowledge(3)
        for last in (0, 2, 6, 99):
            async with app.stream(status=404, last_event_id=last):
                pass
        for last in ("x", "-1"):
            async with app.stream(status=400, last_event_id=last):
                pass
        assert connection._log.acknowledged == 3
        for last in (3, 4, 5):
            async with app.stream(last_event_id=last):
                pass


async def test_a_newer_stream_takes_the_place_of_the_older() -> None:
    async with guard(), opened() as (_, app, connection), app.stream() as older:
        await connection.send("1")
        assert await older.next() == (1, "1")
        async with app.stream(last_event_id=1) as newer:
            assert await older.rest() == []
            await connection.send("2")
            assert await newer.next() == (2, "2")
            # The end of the older one is not the end of the newer.
            assert connection._stream is not None


async def test_a_silent_stream_shows_that_it_is_alive() -> None:
    assert HttpLimits().silence == 15
    async with guard(), opened(replace(QUICK, silence=0.05)) as (_, app, connection), app.stream() as events:
        while events.raw.count(b":\n\n") < 4:
            assert await events.piece()
        await connection.send("1")
        assert await events.next() == (1, "1")


@pytest.mark.parametrize(
    ("accept", "status"),
    [(None, 200), ("*/*", 200), ("text/*", 200), ("application/json", 406), ("text/event-stream;q=0", 406)],
)
async def test_a_stream_is_for_who_accepts_one(accept: str | None, status: int) -> None:
    async with guard(), opened() as (_, app, _), app.stream(status=status, accept=accept):
        pass


@pytest.mark.parametrize("limits", [replace(QUICK, events=4, stall=5.0), replace(QUICK, event_bytes=4000, stall=5.0)])
async def test_no_more_events_are_kept_than_may_be_and_the_sender_waits(limits: HttpLimits) -> None:
    assert (HttpLimits().events, HttpLimits().event_bytes) == (1024, 16 * 1024 * 1024)
    async with guard(), opened(limits) as (_, app, connection), anyio.create_task_group() as group:
        sent: list[int] = []

        async def send(first: int, count: int) -> None:
            for at in range(first, first + count):
                await connection.send(quoted(f"{at}:", 900))
                sent.append(at)

        group.start_soon(send, 1, 9)
        async with app.stream() as events:
            for last, room in ((0, 4), (2, 6), (5, 9), (9, 9)):
                await app.acknowledge(last)
                while len(sent) < room or events.last < room:
                    await events.piece()
                await anyio.sleep(0.02)
                assert sent == list(range(1, room + 1))
                assert connection._log.last == room


async def test_a_single_large_event_fits_whatever_the_bytes_that_are_kept() -> None:
    async with guard(), opened(replace(QUICK, event_bytes=100)) as (_, app, connection), app.stream() as events:
        await connection.send(quoted("", 5000))
        assert len((await events.next())[1]) == 5000


async def test_an_app_that_acknowledges_nothing_is_dropped_as_a_slow_reader() -> None:
    async with guard(), opened(replace(QUICK, events=3, stall=0.1)) as (_, app, connection), app.stream() as events:
        for at in range(3):
            await connection.send(str(at))
        with pytest.raises(Closed) as caught:
            await connection.send("3")
        assert "acknowledged nothing" in caught.value.reason
        await events.rest()
        assert (await app.post(1)).status_code == 404
        assert (await closed_of(connection)).code == 1006


# Hypercorn shields what it writes from every cancellation.
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_stream_that_nobody_reads_is_closed_and_its_events_are_kept() -> None:
    limits = replace(QUICK, write_deadline=1.0, stall=10.0, streamless=10.0, unheard=10.0)
    async with guard(), opened(limits) as (_, app, connection), anyio.create_task_group() as group:
        text = quoted("", 500_000)

        async def send() -> None:
            for _ in range(40):
                await connection.send(text)

        async with app.stream():
            group.start_soon(send)
            await until(lambda: connection._stream and connection._log.last >= 20)
            await until(lambda: connection._stream is None)
        assert connection._ended is None
        got = 0
        async with app.stream() as events:
            while got < 40:
                got, received = await events.next()
                assert len(received) == len(text)
                await app.acknowledge(got)


# Its end


async def test_without_a_request_for_long_the_app_is_gone_although_its_stream_is_open() -> None:
    assert HttpLimits().unheard == 45
    async with guard(), opened(replace(QUICK, unheard=0.3)) as (made, app, connection), app.stream() as events:
        for _ in range(4):
            await anyio.sleep(0.15)
            assert (await app.acknowledge(0)).status_code == 204
        assert connection._ended is None
        await events.rest()
        closed = await closed_of(connection)
        assert (closed.code, "no request" in closed.reason) == (1006, True)
        assert made.endpoint.connections == 0
        assert (await app.acknowledge(0)).status_code == 404


async def test_without_a_stream_for_long_the_app_is_gone_although_it_makes_requests() -> None:
    assert HttpLimits().streamless == 30
    async with guard(), opened(replace(QUICK, streamless=0.3)) as (made, app, connection):
        async with app.stream():
            for _ in range(4):
                await anyio.sleep(0.15)
                assert (await app.acknowledge(0)).status_code == 204
        async with anyio.create_task_group() as group:

            async def make_requests() -> None:
                while (await app.acknowledge(0)).status_code == 204:
                    await anyio.lowlevel.checkpoint()

            group.start_soon(make_requests)
            closed = await closed_of(connection)
        assert (closed.code, "stream" in closed.reason) == (1006, True)
        assert made.endpoint.connections == 0


async def test_delete_ends_the_connection_and_what_came_before_is_received() -> None:
    async with guard(), opened() as (made, app, connection), app.stream() as events:
        await app.post(1, '"last"')
        response = await app.request("DELETE")
        assert (response.status_code, response.content) == (204, b"")
        await events.rest()
        texts, closed = await drain(connection)
        assert (texts, closed.code) == (['"last"'], 1000)
        assert (await app.request("DELETE")).status_code == 404
        assert made.endpoint.connections == 0
        await connection.aclose()


async def test_what_the_gateway_said_before_it_closed_can_still_be_fetched() -> None:
    async with (
        guard(),
        opened(replace(QUICK, linger=10.0)) as (made, app, connection),
        anyio.create_task_group() as group,
    ):
        for at in range(1, 4):
            await connection.send(str(at))
        group.start_soon(connection.aclose)
        await until(lambda: connection.is_ended)
        assert (await app.post(1)).status_code == 404
        async with app.stream() as events:
            assert await events.rest() == [(1, "1"), (2, "2"), (3, "3")]
        async with app.stream(last_event_id=1) as events:  # once more, for an app whose stream broke
            assert await events.rest() == [(2, "2"), (3, "3")]
        assert made.endpoint.connections == 1
        async with app.stream(last_event_id=3, status=404):
            pass
        await until(lambda: not made.endpoint.connections)


async def test_closing_does_not_wait_long_for_an_app_that_fetches_nothing() -> None:
    async with guard(), opened(replace(QUICK, linger=0.05)) as (made, app, connection), app.stream() as events:
        await connection.send("1")
        assert await events.next() == (1, "1")
        await connection.aclose()
        await events.rest()
        assert made.endpoint.connections == 0
        with pytest.raises(Closed):
            await connection.send("2")


async def test_the_end_of_the_endpoint_ends_streams_openings_and_connections() -> None:
    async with guard(), opened() as (made, app, connection), raw_app(made) as other, anyio.create_task_group() as group:

        async def open_another() -> None:
            assert (await other.open()).status_code == 503

        async with app.stream() as events:
            group.start_soon(open_another)
            await made.accept()
            await made.endpoint.aclose()
            await events.rest()
        assert (await closed_of(connection)).code == 1000
        response = await app.open()
        assert response.status_code == 503
        assert response.headers["retry-after"]
        await made.endpoint.aclose()


async def test_the_end_of_the_endpoint_does_not_wait_for_a_body_that_does_not_come() -> None:
    async with guard(), opened() as (made, app, connection), app.unfinished(1, b"{") as stream:
        await until(lambda: connection._post)
        await made.endpoint.aclose()
        assert b" 503 " in await stream.receive()


# Who may talk to it


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer x{TOKEN}",
    ],
)
async def test_every_request_needs_the_token_and_a_wrong_one_changes_nothing(
    authorization: str | None,
) -> None:
    async with guard(), opened() as (made, app, connection):
        await connection.send("1")
        for method, headers in (
            ("POST", {"tesseron_sequence": 1}),
            ("POST", {"last_event_id": 1}),
            ("POST", {"tesseron_connection": None, "tesseron_attempt": ATTEMPT}),
            ("GET", {}),
            ("DELETE", {}),
        ):
            response = await app.request(method, HELLO, authorization=authorization, **headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"].startswith("Bearer")
            assert TOKEN not in response.text
        assert (connection._log.acknowledged, connection.expected, connection.used) == (0, 1, False)
        assert (made.endpoint.connections, len(made.endpoint._openings)) == (1, 1)
        assert (await app.post(1, authorization=f"bearer {TOKEN}")).status_code == 202


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1"])
async def test_field_75_other_hosts_get_403(host: str) -> None:
    async with guard(), gateway() as made, raw_app(made) as app:
        assert (await app.open(host=host)).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost.evil.example"])
async def test_field_75_other_origins_get_403(origin: str) -> None:
    async with guard(), gateway() as made, raw_app(made) as app:
        response = await app.open(origin=origin)
        assert response.status_code == 403
        assert "access-control-allow-origin" not in response.headers


async def test_configured_hosts_and_origins_may_talk_to_it() -> None:
    async with (
        guard(),
        gateway(hosts=["gw.example"], origins=["https://app.example"]) as made,
        raw_app(made) as app,
        anyio.create_task_group() as group,
    ):

        async def open_it() -> None:
            assert (await app.open(host="gw.example", origin="https://app.example")).status_code == 200

        group.start_soon(open_it)
        await made.welcome()


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD"])
async def test_other_methods_are_405(method: str) -> None:
    async with guard(), gateway() as made, raw_app(made) as app:
        response = await app.request(method)
        assert response.status_code == 405
        assert response.headers["allow"] == "GET, POST, DELETE"


async def test_other_paths_are_404_and_its_own_is_found_below_a_mount() -> None:
    async with guard(), gateway(path="/apps") as made, raw_app(made) as app:
        response = await app.open()
        assert response.status_code == 404
        assert "/apps" in error_of(response)
        app.url = app.url.replace("/tesseron", "/apps")
        assert (await app.request("GET")).status_code == 404
        assert "Tesseron-Connection" in error_of(await app.request("GET"))


async def test_a_websocket_is_refused_and_other_scopes_are_none() -> None:
    endpoint = TesseronEndpoint(lambda connection: None, token=TOKEN)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await endpoint({"type": "websocket"}, receive, send)
    assert (sent[0]["type"], sent[0]["code"]) == ("websocket.close", 1008)
    with pytest.raises(ValueError, match="serves HTTP"):
        await endpoint({"type": "tcp"}, receive, send)


async def test_a_lifespan_that_cannot_start_says_why() -> None:
    home = Home()
    await home.open()
    await home.aclose()
    endpoint = TesseronEndpoint(lambda connection: None, token=TOKEN, home=home)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def send(message: Any) -> None:
        sent.append(message)

    await endpoint({"type": "lifespan"}, receive, send)
    assert sent[0]["type"] == "lifespan.startup.failed"
    assert "closed" in sent[0]["message"]


async def test_without_a_lifespan_the_first_request_opens_it_and_http_2_has_no_connection_header() -> None:
    endpoint = TesseronEndpoint(lambda connection: None, token=TOKEN)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {TOKEN}".encode()), (b"tesseron-connection", b"x")]
    for version in ("1.1", "2"):
        scope = {"type": "http", "method": "GET", "path": "/tesseron", "headers": headers, "http_version": version}
        await endpoint(scope, receive, send)
    one, two = (dict(message["headers"]) for message in sent if message["type"] == "http.response.start")
    assert (b"connection" in one, b"connection" in two) == (True, False)
    await endpoint.aclose()


@pytest.mark.parametrize(
    "options",
    [{"token": ""}, {"token": " "}, {"path": "tesseron"}, {"hosts": ["http://x"]}, {"origins": ["example.com"]}],
)
def test_what_cannot_be_configured_is_said(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"token|slash|host|origin"):
        TesseronEndpoint(lambda connection: None, **{"token": TOKEN, **options})


async def test_logs_hold_no_secret_and_no_message(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with guard(), opened() as (_, app, connection):
        await app.post(1, '"SECRET-43"')
        await connection.send(await connection.receive())
        async with app.stream() as events:
            await events.next()
        await app.request("DELETE")
    ours = [record for record in caplog.records if record.name.startswith("tesseron_py")]
    text = "\n".join(record.getMessage() for record in ours)
    assert "SECRET" not in text
    assert TOKEN not in text
    assert connection.id.decode() not in text


# What is kept, and numbers


@given(
    steps=st.lists(
        st.tuples(st.just("add"), st.text(max_size=30)) | st.tuples(st.just("acknowledge"), st.integers(-2, 40)),
        max_size=60,
    )
)
def test_the_log_keeps_exactly_what_was_added_and_not_acknowledged(steps: list[tuple[str, Any]]) -> None:
    log, added, acknowledged = EventLog(HttpLimits()), 0, 0
    for step, value in steps:
        if step == "add":
            log.add(value)
            added += 1
        else:
            log.acknowledge(value)
            acknowledged = max(acknowledged, min(value, added))
        assert (log.acknowledged, log.last) == (acknowledged, added)
        for after in range(acknowledged, added + 1):
            heads = [frame.split(b"\n")[0] for frame in log.after(after)]
            assert heads == [b"id: %d" % at for at in range(after + 1, added + 1)]
    log.clear()
    assert (log._size, log.after(log.last)) == (0, [])


@given(text=st.text(max_size=25) | st.from_regex(r"[0-9]{1,20}", fullmatch=True))
def test_a_number_is_digits_and_nothing_else(text: str) -> None:
    value = number(text.encode())
    if value is None:
        assert not (text.isascii() and text.isdigit()) or len(text) > 18
    else:
        assert text.isascii()
        assert int(text) == value
    assert number(None) is None
