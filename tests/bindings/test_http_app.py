"""The app's half of the HTTP binding, met by a gateway that answers as it is told."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from tesseron_py.bindings import http
from tesseron_py.bindings.channel import Closed, TooLarge
from tesseron_py.bindings.http import HttpChannel, Refused, dial
from tesseron_py.bindings.http_wire import HttpLimits
from tesseron_py.home import Home

from .http_fake import HANG_UP, NOT_FOUND, SILENCE, STREAM, WELCOME, Answer, FakeGateway, error, fake_gateway
from .http_raw import HELLO, QUICK, REFUSAL, RESUME, TOKEN, until
from .suite import drain, guard, quoted

BUSY = Answer(503, error("busy"))


@asynccontextmanager
async def dialled(fake: FakeGateway, limits: HttpLimits = QUICK, **options: Any) -> AsyncIterator[HttpChannel]:
    channel = await dial(fake.url, token=TOKEN, limits=limits, **options)
    try:
        yield channel
    finally:
        await channel.aclose()


@asynccontextmanager
async def connected(limits: HttpLimits = QUICK, **options: Any) -> AsyncIterator[tuple[FakeGateway, HttpChannel]]:
    """A gateway and a channel that it has welcomed."""
    async with fake_gateway() as fake, dialled(fake, limits, **options) as channel:
        await channel.send(HELLO)
        assert await channel.receive() == WELCOME
        await fake.wait("stream")
        yield fake, channel


# Opening


async def test_nothing_is_sent_before_the_first_message_which_opens() -> None:
    async with guard(), fake_gateway() as fake, dialled(fake) as channel:
        for text in ("{}", '{"jsonrpc":"2.0","id":1,"method":"log"}', "[]", "no json"):
            with pytest.raises(ValueError, match="first message"):
                await channel.send(text)
        assert fake.seen == []
        await channel.send(HELLO)
        assert await channel.receive() == WELCOME
        [opening] = fake.all("open")
        assert opening.body == HELLO
        assert opening.path == "/tesseron"
        assert len(opening.headers["tesseron-attempt"]) == 22
        assert opening.headers["authorization"] == f"Bearer {TOKEN}"
        assert opening.headers["content-type"] == "application/json"
        assert "tesseron-connection" not in opening.headers
        assert "last-event-id" not in opening.headers
        stream = await fake.wait("stream")
        assert stream.headers["tesseron-connection"] == "C1"
        assert stream.headers["accept"] == "text/event-stream"
        assert stream.last is None


async def test_a_refused_opening_leaves_the_channel_as_it_was_and_the_next_opens_anew() -> None:
    async with guard(), fake_gateway() as fake, dialled(fake) as channel:
        fake.answers["open"] = [Answer(200, REFUSAL), Answer(200, REFUSAL)]
        for message in (RESUME, HELLO):
            await channel.send(message)
            assert await channel.receive() == REFUSAL
        with pytest.raises(ValueError, match="first message"):
            await channel.send("{}")
        await channel.send(HELLO)
        assert await channel.receive() == WELCOME
        assert [seen.body for seen in fake.all("open")] == [RESUME, HELLO, HELLO]
        assert len({seen.headers["tesseron-attempt"] for seen in fake.all("open")}) == 3
        await channel.send("[]")
        assert fake.all("message")[0].sequence == 1


@pytest.mark.parametrize(
    "trouble", [HANG_UP, BUSY, Answer(500), Answer(408), Answer(429), Answer(502, "<html>", "text/html")]
)
async def test_an_opening_that_failed_is_repeated_with_the_same_attempt(trouble: Any) -> None:
    async with guard(), fake_gateway() as fake, dialled(fake) as channel:
        fake.answers["open"] = [trouble, trouble]
        await channel.send(HELLO)
        assert await channel.receive() == WELCOME
        assert len(fake.all("open")) == 3
        assert len({(seen.body, seen.headers["tesseron-attempt"]) for seen in fake.all("open")}) == 1


async def test_an_opening_without_an_answer_is_repeated_and_given_up_in_time() -> None:
    limits = replace(QUICK, attempt=0.05, persistence=0.3)
    async with guard(), fake_gateway() as fake, dialled(fake, limits) as channel:
        fake.answers["open"] = [SILENCE] * 100
        with pytest.raises(Closed, match=r"0\.3 s") as caught:
            await channel.send(HELLO)
        assert caught.value.code == 1006
        assert len(fake.all("open")) > 1
        for _ in range(2):
            with pytest.raises(Closed):
                await channel.receive()
            with pytest.raises(Closed):
                await channel.send(HELLO)
    assert fake.all("delete") == []


async def test_field_97_a_gateway_that_is_not_there_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
    async with guard(5):
        channel = await dial(url, token=TOKEN)
        with pytest.raises(Closed, match="is the gateway running"):
            await channel.send(HELLO)
        await channel.aclose()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(401, error("no such token")), "another token: no such token"),
        (Answer(403, error("not this host")), "not let this app in: not this host"),
        (Answer(404, "<html>", "text/html"), "is the path right"),
        (Answer(400, error("what is this")), "HTTP 400: what is this"),
        (Answer(405), "HTTP 405"),
        (Answer(301, headers=(("Location", "https://other.example/"),)), "redirects to https://other.example/"),
        (Answer(307), "redirects to another place"),
        (Answer(200, "<html>", "text/html"), "text/html instead of Tesseron"),
        (Answer(200, WELCOME, ""), "no content type instead of Tesseron"),
    ],
)
async def test_what_no_repeat_mends_is_told_at_once(answer: Answer, words: str) -> None:
    async with guard(), fake_gateway() as fake, dialled(fake) as channel:
        fake.answers["open"] = [answer]
        for _ in range(2):
            with pytest.raises(Refused) as caught:
                await channel.send(HELLO)
            assert words in caught.value.reason
            assert caught.value.status == answer.status
            assert TOKEN not in caught.value.reason
        assert len(fake.seen) == 1


async def test_a_welcome_without_the_name_of_a_connection_is_a_fault() -> None:
    async with guard(), fake_gateway() as fake, dialled(fake) as channel:
        fake.answers["open"] = [Answer(200, WELCOME)]
        with pytest.raises(Closed, match="named no connection"):
            await channel.send(HELLO)


async def test_a_hello_that_is_too_large_for_the_gateway_is_told_and_the_channel_lives_on() -> None:
    async with guard(), fake_gateway() as fake, dialled(fake) as channel:
        fake.answers["open"] = [Answer(413, error("too large", limit=10)), Answer(413)]
        for limit in (10, len(HELLO) - 1):
            with pytest.raises(TooLarge) as caught:
                await channel.send(HELLO)
            assert (caught.value.size, caught.value.limit) == (len(HELLO), limit)
        await channel.send(HELLO)
        assert await channel.receive() == WELCOME


# Messages


async def test_messages_are_numbered_and_one_at_a_time_and_acknowledge_what_has_come() -> None:
    async with guard(), connected() as (fake, channel):
        await channel.send('"1"')
        fake.say('"a"')
        fake.say('"b"')
        assert [await channel.receive(), await channel.receive()] == ['"a"', '"b"']
        async with anyio.create_task_group() as group:
            for number in range(2, 20):
                group.start_soon(channel.send, f'"{number}"')
        messages = fake.all("message")
        assert [seen.sequence for seen in messages] == list(range(1, 20))
        assert {seen.body for seen in messages} == {f'"{number}"' for number in range(1, 20)}
        assert [seen.last for seen in messages] == [None] + [2] * 18
        assert {seen.headers["tesseron-connection"] for seen in messages} == {"C1"}


@pytest.mark.parametrize(
    "trouble", [HANG_UP, SILENCE, BUSY, Answer(408), Answer(500, "x", "text/plain"), Answer(409, '{"expected": 2}')]
)
async def test_a_message_that_failed_is_repeated_with_its_number(trouble: Any) -> None:
    async with guard(), connected(replace(QUICK, attempt=0.2)) as (fake, channel):
        await channel.send('"1"')
        fake.answers["message"] = [trouble, trouble]
        await channel.send('"2"')
        await channel.send('"3"')
        assert [(seen.sequence, seen.body) for seen in fake.all("message")] == [
            (1, '"1"'), (2, '"2"'), (2, '"2"'), (2, '"2"'), (3, '"3"'),
        ]  # fmt: skip


async def test_a_message_that_goes_on_failing_ends_the_connection_in_time() -> None:
    assert HttpLimits().persistence == 30
    async with guard(), connected(replace(QUICK, persistence=0.3)) as (fake, channel):
        fake.answers["message"] = [BUSY] * 100
        async with anyio.create_task_group() as group:

            async def send_later() -> None:
                with pytest.raises(Closed):
                    await channel.send('"2"')

            group.start_soon(send_later)
            with pytest.raises(Closed, match=r"did not take a message for 0\.3 s.*HTTP 503"):
                await channel.send('"1"')
        assert {seen.sequence for seen in fake.all("message")} == {1}
        with pytest.raises(Closed):
            await channel.receive()


async def test_the_time_between_attempts_grows_and_has_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (HttpLimits().first_retry, HttpLimits().last_retry) == (0.2, 10)
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(http.anyio, "sleep", sleep)
    backoff = http._Backoff(HttpLimits())
    for _ in range(9):
        await backoff.wait()
    least = [0.2, 0.4, 0.8, 1.6, 3.2, 6.4]
    assert all(low <= pause <= min(low * 1.5, 10) for low, pause in zip(least, pauses[:6], strict=True))
    assert pauses[6:] == [10, 10, 10]
    backoff.reset()
    await backoff.wait()
    assert 0.2 <= pauses[-1] <= 0.3
    assert len({round(pause, 6) for pause in pauses[:6]}) == 6


@pytest.mark.parametrize(
    ("answer", "words"),
    [(Answer(400, error("not JSON")), "not JSON"), (Answer(400), "no reason"), (Answer(413), "long")],
)
async def test_field_83_a_message_that_the_gateway_does_not_take_fails_alone_and_takes_no_number(
    answer: Answer, words: str
) -> None:
    async with guard(), connected() as (fake, channel):
        await channel.send('"1"')
        fake.answers["message"] = [answer]
        with pytest.raises(ValueError, match=words) as caught:
            await channel.send('"refused"')
        assert isinstance(caught.value, TooLarge) is (answer.status == 413)
        await channel.send('"2"')
        assert [seen.sequence for seen in fake.all("message")] == [1, 2, 2]
        fake.say("{}")
        assert await channel.receive() == "{}"


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (NOT_FOUND, 1000, "ended the connection"),
        (Answer(401), 1008, "another token"),
        (Answer(403), 1008, "not let this app in"),
        (Answer(409, '{"expected": 7}'), 1002, "misses messages"),
        (Answer(409), 1002, "misses messages"),
        (Answer(418), 1008, "HTTP 418"),
        (Answer(200, "<html>", "text/html"), 1008, "HTTP 200"),
    ],
)
@pytest.mark.parametrize("kind", ["message", "acknowledge", "stream"])
async def test_other_answers_end_the_connection(kind: Any, answer: Answer, code: int, words: str) -> None:
    async with guard(), connected(replace(QUICK, silence=0.1)) as (fake, channel):
        fake.say('"before"')
        assert await channel.receive() == '"before"'
        fake.answers[kind] = [answer] * 10
        if kind == "message":
            with pytest.raises(Closed):
                await channel.send("{}")
        elif kind == "stream":
            fake.end_stream()
        _, closed = await drain(channel)
        assert closed.code == code
        assert words in closed.reason
        assert isinstance(closed, Refused) is (code == 1008)
        with pytest.raises(Closed, match=words):
            await channel.send("{}")
        await channel.aclose()
        assert len(fake.all("delete")) == (0 if answer is NOT_FOUND else 1)


async def test_a_sender_that_is_cancelled_before_its_turn_has_sent_nothing_and_one_in_its_turn_all() -> None:
    async with guard(), connected(replace(QUICK, attempt=0.2)) as (fake, channel), anyio.create_task_group() as group:
        fake.answers["message"] = [SILENCE]
        async with anyio.create_task_group() as senders:
            senders.start_soon(channel.send, '"1"')
            await fake.wait("message")
            senders.start_soon(channel.send, '"never"')
            group.start_soon(channel.send, '"2"')
            await until(lambda: len(channel._outgoing) == 2)
            senders.cancel_scope.cancel()
        await fake.wait("message", 3)
        assert [(seen.sequence, seen.body) for seen in fake.all("message")] == [(1, '"1"'), (1, '"1"'), (2, '"2"')]


# Events


async def test_a_stream_that_breaks_is_opened_again_after_the_last_event() -> None:
    async with guard(), connected() as (fake, channel):
        for end in (fake.end_stream, lambda: fake.end_stream(cleanly=True), fake.end_stream):
            fake.say('"a"')
            fake.say('"b"')
            assert [await channel.receive(), await channel.receive()] == ['"a"', '"b"']
            end()
            await fake.wait("stream", fake.count("stream") + 1)
        assert [seen.last for seen in fake.all("stream")] == [None, 2, 4, 6]


async def test_an_event_that_comes_again_is_received_once() -> None:
    async with guard(), connected() as (fake, channel):
        for id in (1, 2, 1, 2, 2, 3, 3, 1, 4):
            fake.say(str(id), id=id)
        assert [await channel.receive() for _ in range(4)] == ["1", "2", "3", "4"]
        assert fake.count("stream") == 1


@pytest.mark.parametrize(
    "event", [b"id: 3\ndata: 3\n\n", b"data: 2\n\n", b"id: x\ndata: 2\n\n", b"id: -2\ndata: 2\n\n"]
)
async def test_an_event_that_is_left_out_or_has_no_number_makes_the_stream_be_opened_again(event: bytes) -> None:
    async with guard(), connected() as (fake, channel):
        fake.say("1")
        assert await channel.receive() == "1"
        # An event without an id of its own has the one before it: a repeat, by its number.
        fake.raw(event + b"id: 4\ndata: 4\n\n")
        assert (await fake.wait("stream", 2)).last == 1
        fake.say("2")
        fake.say("3")
        assert [await channel.receive(), await channel.receive()] == ["2", "3"]


async def test_events_are_cut_at_carriage_returns_and_line_feeds_alone() -> None:
    async with guard(), connected() as (fake, channel):
        said = (
            'id: 1\rdata: "\u2028\u0085"\r\rid: 2\r\ndata: "2"\r\n\r\n:comment\n\nid: 3\ndata: {\ndata: }\n\nid: 4\n\n'
        )
        for at in range(0, len(said.encode()), 7):
            fake.raw(said.encode()[at : at + 7])
        assert [await channel.receive() for _ in range(3)] == ['"\u2028\u0085"', '"2"', "{\n}"]


@pytest.mark.parametrize("end", [True, False])
async def test_a_stream_that_was_open_for_long_may_be_lost_and_opened_again(end: bool) -> None:
    async with guard(), connected(replace(QUICK, unheard=0.2, streamless=0.1)) as (fake, channel):
        if end:
            await anyio.sleep(0.15)
            fake.end_stream()
        await fake.wait("stream", 2)
        fake.say("1")
        assert await channel.receive() == "1"


async def test_a_silent_stream_is_taken_for_lost() -> None:
    assert HttpLimits().unheard == 45
    async with guard(), connected(replace(QUICK, unheard=0.2)) as (fake, channel):
        for _ in range(6):
            fake.raw(b":\n\n")
            await anyio.sleep(0.05)
        assert fake.count("stream") == 1
        await fake.wait("stream", 2)
        fake.say("1")
        assert await channel.receive() == "1"


async def test_a_gateway_that_gives_no_stream_any_more_is_given_up_in_time() -> None:
    assert HttpLimits().streamless == 30
    async with guard(), connected(replace(QUICK, streamless=0.3)) as (fake, channel):
        fake.answers["stream"] = [BUSY, HANG_UP, SILENCE, *[BUSY] * 100]
        channel._limits = replace(channel._limits, unheard=0.05)
        fake.end_stream()
        _, closed = await drain(channel)
        assert (closed.code, "stream" in closed.reason) == (1006, True)
        assert fake.count("stream") > 3


async def test_field_83_an_event_above_the_limit_closes_after_what_came_before() -> None:
    async with guard(), connected(limit=1000) as (fake, channel):
        assert channel.limit == 1000
        fake.say(quoted("", 1000))
        fake.say(quoted("", 1000 + http.FRAMING))
        texts, closed = await drain(channel)
        assert ([len(text) for text in texts], closed.code) == ([1000], 1009)
        with pytest.raises(TooLarge):
            await channel.send(quoted("", 1001))


async def test_a_tight_loop_of_receives_lets_others_run() -> None:
    async with guard(), connected() as (fake, channel), anyio.create_task_group() as group:
        fake.raw(b"".join(b"id: %d\ndata: %d\n\n" % (n, n) for n in range(1, 201)))
        await until(lambda: len(channel._inbox) == 200)
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await anyio.lowlevel.checkpoint()

        group.start_soon(count)
        assert [await channel.receive() for _ in range(200)] == [str(n) for n in range(1, 201)]
        assert turns >= 2
        group.cancel_scope.cancel()


async def test_a_slow_reader_holds_no_more_than_its_share() -> None:
    async with guard(), connected(replace(QUICK, inbox=4)) as (fake, channel):
        for number in range(1, 4):
            fake.raw(b"".join(b"id: %d\ndata: %d\n\n" % (n, n) for n in range(3 * number - 2, 3 * number + 1)))
            await anyio.sleep(0.02)
        assert len(channel._inbox) in (6, 9)  # a piece is taken whole
        assert [await channel.receive() for _ in range(9)] == [str(n) for n in range(1, 10)]


# Acknowledgements


async def test_events_are_acknowledged_alone_after_so_many_of_them() -> None:
    assert HttpLimits().acknowledge == 256
    async with guard(), connected(replace(QUICK, acknowledge=3, silence=20)) as (fake, channel):
        for _ in range(2):
            fake.say("1")
        assert [await channel.receive(), await channel.receive()] == ["1", "1"]
        await anyio.sleep(0.02)
        assert fake.count("acknowledge") == 0
        fake.say("3")
        acknowledged = await fake.wait("acknowledge")
        assert (acknowledged.last, acknowledged.body) == (3, "")
        assert acknowledged.headers["content-length"] == "0"
        assert "tesseron-sequence" not in acknowledged.headers
        await channel.send("{}")
        for _ in range(3):
            fake.say("4")
        assert (await fake.wait("acknowledge", 2)).last == 6


async def test_events_are_acknowledged_alone_after_so_many_bytes_of_them() -> None:
    async with guard(), connected(replace(QUICK, event_bytes=4000, silence=20)) as (fake, channel):
        fake.say(quoted("", 900))
        await channel.receive()
        await channel.send("{}")  # which acknowledges them
        fake.say(quoted("", 900))
        await channel.receive()
        assert fake.count("acknowledge") == 0
        fake.say(quoted("", 900))
        assert (await fake.wait("acknowledge")).last == 3


async def test_an_app_with_nothing_to_say_shows_that_it_is_there() -> None:
    assert HttpLimits().silence == 15
    async with guard(), connected(replace(QUICK, silence=0.1)) as (fake, channel):
        assert (await fake.wait("acknowledge", 2)).last == 0
        count = fake.count("acknowledge")
        for _ in range(10):  # messages say so, too
            await channel.send("{}")
            await anyio.sleep(0.02)
        assert fake.count("acknowledge") <= count + 1


@pytest.mark.parametrize("trouble", [HANG_UP, BUSY])
async def test_an_acknowledgement_that_failed_is_made_again(trouble: Any) -> None:
    async with guard(), connected(replace(QUICK, acknowledge=1, silence=20)) as (fake, channel):
        fake.answers["acknowledge"] = [trouble, trouble]
        fake.say("1")
        assert (await fake.wait("acknowledge", 3)).last == 1
        assert await channel.receive() == "1"


# Its end


async def test_closing_ends_the_connection_once_whoever_closes() -> None:
    async with guard(), connected() as (fake, channel):
        fake.say('"unread"')
        await until(lambda: channel._inbox)
        async with anyio.create_task_group() as group:
            group.start_soon(channel.aclose)
            group.start_soon(channel.aclose)
        await channel.aclose()
        [deletion] = fake.all("delete")
        assert (deletion.headers["tesseron-connection"], deletion.last) == ("C1", 1)
        assert deletion.headers["authorization"] == f"Bearer {TOKEN}"
        texts, closed = await drain(channel)
        assert (texts, closed.code) == (['"unread"'], 1000)
        with pytest.raises(Closed):
            await channel.send("{}")


async def test_closing_what_was_not_opened_makes_no_request() -> None:
    async with guard(), fake_gateway() as fake:
        async with dialled(fake):
            pass
        async with dialled(fake) as channel:
            fake.answers["open"] = [SILENCE]
            async with anyio.create_task_group() as group:

                async def send() -> None:
                    with pytest.raises(Closed):
                        await channel.send(HELLO)

                group.start_soon(send)
                await fake.wait("open")
                await channel.aclose()
        assert [seen.kind for seen in fake.seen] == ["open"]


@pytest.mark.parametrize("trouble", [HANG_UP, SILENCE, BUSY])
async def test_closing_does_not_wait_long_for_the_gateway(monkeypatch: pytest.MonkeyPatch, trouble: Any) -> None:
    monkeypatch.setattr(http, "CLOSE_TIMEOUT", 0.1)
    async with guard(5), connected() as (fake, channel):
        fake.answers["message"] = [SILENCE]
        fake.answers["delete"] = [trouble]
        async with anyio.create_task_group() as group:

            async def send() -> None:
                with pytest.raises(Closed):
                    await channel.send("{}")

            group.start_soon(send)
            await fake.wait("message")
            await channel.aclose()
        assert fake.count("delete") == 1


async def test_a_home_that_is_given_is_left_open_and_one_of_its_own_ends_with_it() -> None:
    async with guard(), fake_gateway() as fake, Home() as home:
        async with dialled(fake, home=home) as channel:
            await channel.send(HELLO)
            assert home.running == 3
        assert home.running == 0
        assert home.is_open
        async with dialled(fake) as channel:
            own = channel._home
        assert not own.is_open


async def test_the_end_of_its_home_is_the_end_of_the_connection() -> None:
    async with guard(), fake_gateway() as fake, Home() as home, dialled(fake, home=home) as channel:
        await channel.send(HELLO)
        await home.aclose()
        texts, _ = await drain(channel)
        assert texts == [WELCOME]
        with pytest.raises(Closed):
            await channel.send("{}")


async def test_what_nobody_foresaw_ends_the_connection_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with guard(), connected() as (fake, channel):
        channel._take = lambda event: 1 / 0
        fake.say("1")
        _, closed = await drain(channel)
        assert "ZeroDivisionError" in closed.reason
    assert "not known" in caplog.text


async def test_an_endless_answer_is_not_read_to_its_end() -> None:
    async with guard(), connected() as (fake, channel):
        fake.answers["stream"] = [SILENCE] * 10
        fake.answers["message"] = [STREAM]
        fake.end_stream()
        await fake.wait("stream", 2)
        for _ in range(10):
            fake.raw(b"x" * (http.MAX_ERROR_BODY // 8))
        with pytest.raises(Refused, match="HTTP 200"):
            await channel.send("{}")


# Dialling


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://127.0.0.1:7475", "http://127.0.0.1:7475/tesseron"),
        ("http://127.0.0.1:7475/", "http://127.0.0.1:7475/tesseron"),
        ("https://gw.example/apps/tesseron", "https://gw.example/apps/tesseron"),
        ("http://[::1]:1/?a=b", "http://[::1]:1/tesseron?a=b"),
    ],
)
async def test_a_url_without_a_path_means_the_usual_one(url: str, target: str) -> None:
    channel = await dial(url, token=TOKEN)
    assert str(channel.url) == target
    assert channel.limit == 8 * 1024 * 1024
    await channel.aclose()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:7475",
        "ws://127.0.0.1:7475",
        "http://",
        "http://127.0.0.1:99999",
        "http://u:p@127.0.0.1:1",
        None,
    ],
)
async def test_what_is_no_gateways_url_is_refused(url: Any) -> None:
    with pytest.raises(ValueError, match="URL") as caught:
        await dial(url, token=TOKEN)
    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize("token", ["", " ", "a b", "ä", "a\r\nX: y"])
async def test_a_token_that_cannot_go_into_a_header_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="token"):
        await dial("http://127.0.0.1:1", token=token)


async def test_a_loopback_gateway_is_reached_directly_whatever_proxy_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with guard(), connected() as (fake, channel):
        await channel.send("{}")
        assert fake.count("message") == 1


async def test_logs_hold_no_secret_and_no_message(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tesseron_py")
    async with guard(), connected() as (fake, channel):
        await channel.send('"SECRET-1"')
        fake.say('"SECRET-2"')
        await channel.receive()
        fake.end_stream()
        await fake.wait("stream", 2)
    ours = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("tesseron_py"))
    assert "broke off" in ours
    for secret in ("SECRET", TOKEN, "C1"):
        assert secret not in ours
    assert json.loads(WELCOME)["id"] == 1
