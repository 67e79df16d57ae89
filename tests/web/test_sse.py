"""Server-sent events: what we send, and a stream read in whatever pieces it comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.web.sse import COMMENT, Event, EventParser, EventTooLarge, encode


def parse(stream: bytes, *, piece: int = 1 << 20, parser: EventParser | None = None) -> list[Event]:
    parser = parser or EventParser()
    return [event for i in range(0, len(stream), piece) for event in parser.feed(stream[i : i + piece])]


def test_a_frame_is_one_data_line_without_an_id() -> None:
    assert encode('{"a":1}') == b'data: {"a":1}\n\n'
    assert encode("Zoë \u2028 \U0001f600") == "data: Zoë \u2028 \U0001f600\n\n".encode()


def test_a_frame_may_have_an_id_which_comes_first() -> None:
    assert encode('{"a":1}', id="7") == b'id: 7\ndata: {"a":1}\n\n'
    assert parse(encode("a\r\nb", id="8")) == [Event("a\nb", "8")]


def test_field_71_lines_of_data_are_joined_with_a_newline() -> None:
    assert parse(b"data: a\ndata: b\n\n") == [Event("a\nb")]
    assert parse(b"data: a\rdata:b\r\r") == [Event("a\nb")]


def test_field_70_events_without_data_are_skipped() -> None:
    assert parse(b"id: 1\ndata:\n\nid: 2\n\nevent: ping\n\ndata\n\n" + COMMENT + b"\n\n\n") == []


def test_comments_unknown_fields_and_retry_say_nothing() -> None:
    assert parse(b": hello\nretry: 10\nnonsense\ndata: x\nfoo: bar\n\n") == [Event("x")]


def test_type_belongs_to_one_event_and_an_id_stays() -> None:
    assert parse(b"event: tick\nid: 7\ndata: a\n\ndata: b\n\nid: \0\ndata: c\n\nid:\ndata: d\n\n") == [
        Event("a", "7", "tick"),
        Event("b", "7"),
        Event("c", "7"),
        Event("d", ""),
    ]


def test_only_one_space_after_the_colon_goes() -> None:
    assert parse(b"data:  two\n\n") == [Event(" two")]


def test_a_byte_order_mark_is_dropped_at_the_start_only() -> None:
    mark = b"\xef\xbb\xbf"
    assert parse(mark + b"data: " + mark + b"a\n\n") == [Event("\ufeffa")]
    assert parse(b"data: a\n\n" + mark + b"data: b\n\n") == [Event("a")]


def test_unicode_line_separators_are_text() -> None:
    assert parse("data: a\u2028b\u2029c\u0085d\x0b\n\n".encode()) == [Event("a\u2028b\u2029c\u0085d\x0b")]


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert parse(b"data: \xff\n\n") == [Event("\ufffd")]


def test_an_event_the_stream_broke_off_is_none() -> None:
    assert parse(b"data: a\n\ndata: b\n") == [Event("a")]


def test_an_event_is_there_with_its_last_byte_even_when_that_is_a_cr() -> None:
    parser = EventParser()
    assert parser.feed(b"data: a\r") == []
    assert parser.feed(b"") == []
    assert parser.feed(b"\r") == [Event("a")]
    assert parser.feed(b"\n") == []
    assert parser.feed(b"\r\n") == []
    assert parser.feed(b"data: b\r") == []
    assert parser.feed(b"\n\r") == [Event("b")]
    assert parser.feed(b"\ndata: c\n\n") == [Event("c")]


@pytest.mark.parametrize("stream", [b"data: 123456\n\n", b"data: 1\ndata: 2\n\n", b": a very long comment", b"x" * 100])
@pytest.mark.parametrize("piece", [1, 100])
def test_an_event_above_the_limit_ends_the_reading(stream: bytes, piece: int) -> None:
    parser = EventParser(limit=11)
    with pytest.raises(EventTooLarge, match="above 11 bytes"):
        parse(stream, piece=piece, parser=parser)
    with pytest.raises(EventTooLarge):
        parser.feed(b"data: x\n\n")


def test_the_limit_is_one_events_and_comments_cost_nothing() -> None:
    parser = EventParser(limit=11)
    assert parser.feed(b"data: 12345\n\n" * 3) == [Event("12345")] * 3
    assert parser.feed(b": 89\n" * 50 + b"data: 12345\n\n") == [Event("12345")]


text_of_lines = st.text().map(lambda text: text.replace("\r", "\n"))


@given(st.lists(text_of_lines.filter(lambda text: text.encode("utf-8", "replace").decode() == text)), st.integers(1, 9))
def test_what_is_encoded_is_parsed_in_any_pieces(texts: list[str], piece: int) -> None:
    stream = b"".join(encode(text) + COMMENT for text in texts)
    assert [event.data for event in parse(stream, piece=piece)] == [text for text in texts if text]


@given(st.text(), st.sampled_from(["\r", "\r\n"]))
def test_any_line_end_in_a_text_stays_a_line_end(text: str, end: str) -> None:
    text = text.replace("\r", "").replace("\n", end)
    assert [event.data for event in parse(encode(text))] == ([text.replace(end, "\n")] if text else [])


@given(st.lists(st.sampled_from([b"data: x", b"data:y", b"id: 1", b":", b"\r", b"\n", b"\r\n", b"event: e", b"\xff"])))
def test_pieces_do_not_matter(parts: list[bytes]) -> None:
    stream = b"".join(parts)
    assert parse(stream, piece=1) == parse(stream)
