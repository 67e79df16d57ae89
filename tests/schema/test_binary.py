"""Bytes on the wire: base64 that everybody reads, in and out, wherever they stand."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, PlainSerializer, field_serializer

from tesseron_py.content import Image
from tesseron_py.errors import InvalidInput, InvalidSchema
from tesseron_py.jsontext import encode
from tesseron_py.schema import binary
from tesseron_py.schema.binary import read_base64, with_base64, write_base64
from tesseron_py.schema.elicitation import form_for
from tesseron_py.schema.output import output_for
from tesseron_py.schema.signature import read_handler
from tesseron_py.unset import UNSET

RAW = b"\xfb\xff"  # neither UTF-8, nor the same in both alphabets
TEXT = "+/8="
BASE64 = {"type": "string", "contentEncoding": "base64"}


class File(BaseModel):
    data: bytes
    name: str = "f"


class Named(BaseModel):
    name: str = "n"


class Folder(BaseModel):
    first: File
    others: list[File] = []
    inner: list[Folder] = []
    by_name: dict[str, bytes] = {}


class Configured(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    data: bytes


class Own(BaseModel):
    encoded: Base64Bytes = b""
    hexed: Annotated[bytes, PlainSerializer(bytes.hex)] = RAW


@dataclass
class Sound:
    data: bytes


FOLDER = Folder(first=File(data=RAW), others=[File(data=RAW)], inner=[Folder(first=File(data=RAW))], by_name={"a": RAW})
WRITTEN: list[tuple[Any, Any, Any]] = [
    (bytes, RAW, TEXT),
    (bytes | None, RAW, TEXT),
    (list[bytes], [RAW], [TEXT]),
    (File, File(data=RAW), {"data": TEXT, "name": "f"}),
    (File, File(data=b"text"), {"data": "dGV4dA==", "name": "f"}),
    (Sound, Sound(RAW), {"data": TEXT}),
    (Image, Image(RAW, "image/png"), {"data": TEXT, "mime_type": "image/png"}),
    (Configured, Configured(data=RAW), {"data": "-_8="}),
    (Own, Own(encoded=b"aGk="), {"encoded": "aGk=", "hexed": "fbff"}),
    (
        Folder,
        FOLDER,
        {
            "first": {"data": TEXT, "name": "f"},
            "others": [{"data": TEXT, "name": "f"}],
            "inner": [{"first": {"data": TEXT, "name": "f"}, "others": [], "inner": [], "by_name": {}}],
            "by_name": {"a": TEXT},
        },
    ),
]


@pytest.mark.parametrize(("declared", "value", "written"), WRITTEN)
def test_bytes_are_written_alike_whether_the_output_is_checked_or_not(declared: Any, value: Any, written: Any) -> None:
    output = output_for(lambda: None, name="act", declared=UNSET, returned=declared)
    assert output is not None
    assert output.check(value) == written
    assert json.loads(encode(with_base64(value))) == written


def test_a_value_without_bytes_is_itself() -> None:
    for value in (None, "a", [1, [2.5]], {"a": {"b": None}}, Own, object(), {"a": Named()}):
        assert with_base64(value) is value


def test_bytes_are_found_wherever_they_are() -> None:
    value = {"a": [(RAW, bytearray(RAW)), {"b": memoryview(RAW)}, Sound(RAW), File(data=RAW), 1]}
    file = {"data": TEXT, "name": "f"}
    assert with_base64(value) == {"a": [[TEXT, TEXT], {"b": TEXT}, {"data": TEXT}, file, 1]}
    same = [RAW]
    assert with_base64([same, same]) == [[TEXT], [TEXT]]


def test_what_holds_itself_is_an_error_and_no_endless_work() -> None:
    loop: list[Any] = [RAW]
    loop += [loop, loop]
    with pytest.raises(ValueError, match="holds itself"):
        with_base64(loop)
    without: list[Any] = []
    without += [without, without]
    assert with_base64(without) is without


def test_schemas_say_what_is_read_and_written() -> None:
    output = output_for(lambda: None, name="act", declared=UNSET, returned=File)
    assert output is not None
    assert output.schema["properties"]["data"] == BASE64

    def act(data: Annotated[bytes, Field(min_length=2)], file: File, more: bytes = RAW) -> None: ...

    properties = read_handler(act, name="act").input_schema["properties"]
    assert properties["data"] == properties["file"]["properties"]["data"] == BASE64
    assert properties["more"] == {**BASE64, "default": TEXT}


def test_both_alphabets_are_read_padded_or_not_and_nothing_else() -> None:
    def act(data: Annotated[bytes, Field(min_length=2)], folder: Folder | None = None) -> None: ...

    signature = read_handler(act, name="act")
    for text in (TEXT, "-_8=", "+/8", "-_8"):
        assert signature.bind({"data": text}).values["data"] == RAW
        folder = signature.bind({"data": text, "folder": {"first": {"data": text}, "inner": []}}).values["folder"]
        assert folder.first.data == RAW
    for wrong, says in (("%%", "base64 is expected"), ("a", "base64 is expected"), ("aA==", "at least 2 bytes")):
        with pytest.raises(InvalidInput, match=says):
            signature.bind({"data": wrong})
    with pytest.raises(InvalidInput, match="a string is expected"):
        signature.bind({"data": 5})


def test_what_an_author_says_of_bytes_is_kept() -> None:
    def act(configured: Configured, own: Own) -> None: ...

    values = read_handler(act, name="act").bind({"configured": {"data": "-_8="}, "own": {"encoded": "aGk="}}).values
    assert (values["configured"].data, values["own"].encoded) == (RAW, b"hi")


def test_nobody_is_asked_to_type_bytes() -> None:
    with pytest.raises(InvalidSchema, match=r"data: it is bytes, which nobody can type"):
        form_for(File)


@given(st.binary())
def test_what_is_written_is_read_and_by_everybody(raw: bytes) -> None:
    assert read_base64(write_base64(raw)) == b64decode(write_base64(raw)) == raw
    for text in (urlsafe_b64encode(raw).decode(), b64encode(raw).decode().rstrip("=")):
        assert read_base64(text) == raw


@given(st.text())
def test_reading_gives_bytes_or_a_value_error(text: str) -> None:
    try:
        found = read_base64(text)
    except ValueError:
        found = b""
    assert isinstance(found, bytes)


def test_a_model_that_cannot_be_written_is_a_value_error() -> None:
    class Broken(BaseModel):
        data: bytes
        other: int = 1

        @field_serializer("other")
        def write(self, value: int) -> int:
            raise RuntimeError("no")

    with pytest.raises(ValueError, match="no"):
        with_base64([Broken(data=RAW), object()])


def test_a_pydantic_without_the_switch_writes_the_outermost(monkeypatch: pytest.MonkeyPatch) -> None:
    def older(kind: Any) -> Any:
        return lambda schema, config=None: kind(schema, config)

    monkeypatch.setattr(binary, "SchemaValidator", older(binary.SchemaValidator))
    monkeypatch.setattr(binary, "SchemaSerializer", older(binary.SchemaSerializer))
    output = output_for(lambda: None, name="act", declared=UNSET, returned=list[bytes])
    assert output is not None
    assert output.check([RAW]) == [TEXT]

    def act(data: bytes) -> None: ...

    assert read_handler(act, name="act").bind({"data": TEXT}).values["data"] == RAW
