"""What a request says twice, in its headers and its body: what differs is refused."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.mcp.listing import tool_list
from tesseron_py.mcp.messages import ProtocolError
from tesseron_py.mcp.mirrored import (
    MirroredParameter,
    check_headers,
    check_parameters,
    mirrored_parameters,
    without_annotations,
)
from tesseron_py.mcp.provider import Tool

VERSION = "2026-07-28"


class Given:
    """The headers of a request."""

    def __init__(self, *pairs: tuple[str, str | bytes]) -> None:
        self._pairs = [(name.lower().encode(), value if isinstance(value, bytes) else value.encode("latin-1"))
                       for name, value in pairs]  # fmt: skip

    def all(self, name: bytes) -> Sequence[bytes]:
        return [value for given, value in self._pairs if given == name]


def coded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def usual(method: str = "tools/call", name: str | bytes | None = "pay", version: str = VERSION) -> list[Any]:
    pairs: list[Any] = [("MCP-Protocol-Version", version), ("Mcp-Method", method)]
    return pairs if name is None else [*pairs, ("Mcp-Name", name)]


def mismatch(*pairs: Any, method: str = "tools/call", params: Any = None, version: str = VERSION) -> str:
    with pytest.raises(ProtocolError) as caught:
        check_headers(Given(*pairs), method, {"name": "pay"} if params is None else params, version)
    assert (caught.value.code, caught.value.status) == (-32020, 400)
    return caught.value.message


# The standard headers ---------------------------------------------------------------------------------------------


def test_headers_that_say_what_the_body_says_pass() -> None:
    check_headers(Given(*usual()), "tools/call", {"name": "pay"}, VERSION)
    check_headers(Given(*usual("prompts/get")), "prompts/get", {"name": "pay"}, VERSION)
    check_headers(Given(*usual("resources/read", "test://x")), "resources/read", {"uri": "test://x"}, VERSION)
    check_headers(Given(*usual("tools/list", None)), "tools/list", {}, VERSION)
    check_headers(Given(*usual("tools/list", "whatever")), "tools/list", {"name": "x"}, VERSION)
    # A body without the name is refused for that, by the method itself.
    check_headers(Given(*usual("tools/call", None)), "tools/call", {}, VERSION)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_missing_header_is_named(missing: int) -> None:
    pairs = usual()
    name = pairs.pop(missing)[0]
    assert f"The header {name} is missing" in mismatch(*pairs)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MCP-Protocol-Version", "2025-11-25"),
        ("Mcp-Method", "tools/list"),
        ("Mcp-Method", "Tools/Call"),
        ("Mcp-Method", coded("tools/call")),
        ("Mcp-Name", "PAY"),
        ("Mcp-Name", ""),
        ("Mcp-Name", "pay, pay"),
        ("Mcp-Name", coded("refund")),
    ],
)
def test_a_header_that_says_something_else_is_named(name: str, value: str) -> None:
    assert f"The header {name} says" in mismatch(*((n, value if n == name else v) for n, v in usual()))


def test_a_header_that_is_there_twice_is_refused() -> None:
    assert "2 times" in mismatch(*usual(), ("mcp-name", "pay"))


def test_the_name_of_a_resource_is_its_uri() -> None:
    assert "params.uri" in mismatch(*usual("resources/read", "a://b"), method="resources/read", params={"uri": "a://c"})


def test_white_space_around_a_value_is_none_of_it() -> None:
    check_headers(Given(*usual(name=" \tpay\t ")), "tools/call", {"name": "pay"}, VERSION)
    assert "Mcp-Name" in mismatch(*usual(name="pay"), params={"name": " pay"})
    check_headers(Given(*usual(name=coded(" pay"))), "tools/call", {"name": " pay"}, VERSION)


@pytest.mark.parametrize("name", ["Zoë", "世界", " padded ", "two\nlines", "", "=?base64?literal?=", "\U0001f600"])
def test_any_name_can_be_said_in_base64(name: str) -> None:
    check_headers(Given(*usual(name=coded(name))), "tools/call", {"name": name}, VERSION)


@pytest.mark.parametrize("raw", [b"Zo\xc3\xab", b"Zo\xeb", b"a\x7fb", b"a\x01b", b"a\nb"])
def test_characters_that_no_header_has_are_refused(raw: bytes) -> None:
    assert "not plain ASCII" in mismatch(*usual(name=raw))


@pytest.mark.parametrize(
    "bad",
    ["=?base64?cGF5=?=", "=?base64?cGF?=", "=?base64?cGF=?=", "=?base64?c-F5?=", "=?base64?/w==?=", "=?base64?p y?="],
)
def test_base64_that_is_none_is_refused(bad: str) -> None:
    assert "not base64 of UTF-8" in mismatch(*usual(name=bad))


@pytest.mark.parametrize("near", ["=?BASE64?cGF5?=", "=?base64?cGF5", "=?base64?=", "base64?cGF5?="])
def test_what_is_not_marked_exactly_is_taken_as_it_is(near: str) -> None:
    assert "says" in mismatch(*usual(name=near))
    check_headers(Given(*usual(name=near)), "tools/call", {"name": near}, VERSION)


@given(st.binary())
def test_any_header_is_the_value_or_is_refused(raw: bytes) -> None:
    if raw.strip(b" \t") in (b"pay", b"=?base64?cGF5?="):
        check_headers(Given(*usual(name=raw)), "tools/call", {"name": "pay"}, VERSION)
    else:
        mismatch(*usual(name=raw))


@given(st.text())
def test_any_name_passes_in_base64(name: str) -> None:
    try:
        header = coded(name)
    except UnicodeEncodeError:
        return
    check_headers(Given(*usual(name=header)), "tools/call", {"name": name}, VERSION)


# The parameters of a tool -----------------------------------------------------------------------------------------

REGION = (MirroredParameter(b"mcp-param-region", ("region",)),)


def wrong(value: Any, *headers: str | bytes, path: tuple[str, ...] = ("region",)) -> str:
    arguments = value if len(path) > 1 else {"region": value}
    with pytest.raises(ProtocolError) as caught:
        check_parameters(
            Given(*(("Mcp-Param-Region", header) for header in headers)),
            [MirroredParameter(b"mcp-param-region", path)],
            arguments,
        )
    assert (caught.value.code, caught.value.status) == (-32020, 400)
    return caught.value.message


def right(value: Any, *headers: str) -> None:
    check_parameters(Given(*(("Mcp-Param-Region", header) for header in headers)), REGION, {"region": value})


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("", ""),
        ("世界", coded("世界")),
        ("us", coded("us")),
        ("42", "42"),
        (42, "42"),
        (42, "42.0"),
        (42, "42."),
        (42, "0042"),
        (42, coded("42")),
        (-7, "-7"),
        (0, "-0"),
        (42.0, "42"),
        (1e3, "1000"),
        (2**53 - 1, "9007199254740991"),
        (True, "true"),
        (False, "false"),
    ],
)
def test_a_mirrored_value_is_compared_by_its_type(value: Any, header: str) -> None:
    right(value, header)


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west2"),
        ("42", "42.0"),
        ("true", "True"),
        (42, "43"),
        (42, "42.5"),
        (42, "+42"),
        (42, "4_2"),
        (42, "４２".encode()),
        (42, " 4 2"),
        (42, ""),
        (42, "true"),
        (42, "4e1"),
        (42, "1" * 5000),
        (42.0, "43"),
        (1, "true"),
        (0, "false"),
        (True, "1"),
        (True, "TRUE"),
        (False, ""),
    ],
)
def test_a_mirrored_value_that_differs_is_refused(value: Any, header: str | bytes) -> None:
    assert "Mcp-Param-Region".lower() in wrong(value, header).lower()


def test_what_is_there_must_be_mirrored_and_what_is_not_must_not() -> None:
    assert "is missing, and the argument region is there" in wrong("us")
    assert "is there 2 times" in wrong("us", "us", "us")
    right(None)
    assert "is there, and the argument region is not" in wrong(None, "null")
    check_parameters(Given(), REGION, {})
    with pytest.raises(ProtocolError):
        check_parameters(Given(("Mcp-Param-Region", "us")), REGION, {})


@pytest.mark.parametrize("value", [["us"], {"a": 1}, 4.5])
def test_a_value_that_cannot_be_mirrored_is_left_to_the_schema(value: Any) -> None:
    right(value)


def test_a_value_deep_inside_is_found_by_its_path() -> None:
    path = ("where", "zone")
    deep = (MirroredParameter(b"mcp-param-region", path),)
    check_parameters(Given(("mcp-param-region", "b")), deep, {"where": {"zone": "b"}, "zone": "c"})
    for arguments in ({}, {"where": None}, {"where": "b"}, {"where": {}}, {"where": {"zone": None}}, {"where": [1]}):
        check_parameters(Given(), deep, arguments)
        wrong(arguments, "b", path=path)
    assert "where.zone" in wrong({"where": {"zone": "c"}}, "b", path=path)


# Which parameters -------------------------------------------------------------------------------------------------


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_annotated_properties_are_mirrored() -> None:
    found = mirrored_parameters(
        schema(
            region={"type": "string", "x-mcp-header": "Region"},
            deep=schema(n={"type": "integer", "x-mcp-header": "N!#$%&'*+-.^_`|~9"}),
            dry={"type": "boolean", "x-mcp-header": "dry"},
            plain={"type": "string"},
            properties={"type": "string", "x-mcp-header": "odd"},
            odd=True,
            **{"x-mcp-header": {"type": "string"}},
        )
    )
    assert found == (
        MirroredParameter(b"mcp-param-region", ("region",)),
        MirroredParameter(b"mcp-param-n!#$%&'*+-.^_`|~9", ("deep", "n")),
        MirroredParameter(b"mcp-param-dry", ("dry",)),
        MirroredParameter(b"mcp-param-odd", ("properties",)),
    )


@pytest.mark.parametrize("odd", [None, True, [], "x", {}, {"properties": None}, {"properties": [1]}])
def test_a_schema_without_properties_has_none(odd: Any) -> None:
    assert mirrored_parameters(odd) == ()


def test_values_that_look_like_annotations_are_none() -> None:
    looks = {"x-mcp-header": ""}
    part = {"type": "string", "default": looks, "const": looks, "enum": [looks], "examples": [looks]}
    assert mirrored_parameters(schema(a=part)) == ()


A: Mapping[str, Any] = {"type": "string", "x-mcp-header": "A"}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "an empty name": (schema(a={"type": "string", "x-mcp-header": ""}), "no name of a header"),
    "no string": (schema(a={"type": "string", "x-mcp-header": 5}), "no name of a header"),
    "an object": (schema(a={"type": "string", "x-mcp-header": {}}), "no name of a header"),
    "null": (schema(a={"type": "string", "x-mcp-header": None}), "no name of a header"),
    "a space": (schema(a={"type": "string", "x-mcp-header": "a b"}), "no name of a header"),
    "a line's end": (schema(a={"type": "string", "x-mcp-header": "a\n"}), "no name of a header"),
    "a colon": (schema(a={"type": "string", "x-mcp-header": "a:b"}), "no name of a header"),
    "not ASCII": (schema(a={"type": "string", "x-mcp-header": "ä"}), "no name of a header"),
    "twice": (schema(a=A, b={"type": "string", "x-mcp-header": "a"}), "another parameter"),
    "a number": (schema(a={"type": "number", "x-mcp-header": "A"}), "no string, integer or boolean"),
    "an array": (schema(a={"type": "array", "x-mcp-header": "A"}), "no string, integer or boolean"),
    "no type": (schema(a={"x-mcp-header": "A"}), "no string, integer or boolean"),
    "types": (schema(a={"type": ["string"], "x-mcp-header": "A"}), "no string, integer or boolean"),
    "the root": ({"type": "object", "x-mcp-header": "A"}, "not on a property"),
    "items": (schema(a={"type": "array", "items": A}), "not on a property"),
    "items with properties": (schema(a={"type": "array", "items": schema(b=A)}), "not on a property"),
    "anyOf": (schema(a={"anyOf": [A, {"type": "null"}]}), "not on a property"),
    "if": ({"type": "object", "then": schema(b=A)}, "not on a property"),
    "$defs": ({"$defs": {"x": A}, **schema(a={"$ref": "#/$defs/x"})}, "not on a property"),
    "patternProperties": ({"type": "object", "patternProperties": {".*": A}}, "not on a property"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_an_annotation_against_the_rules_is_refused(case: str) -> None:
    bad, reason = BAD[case]
    with pytest.raises(ValueError, match=reason):
        mirrored_parameters(bad)
    assert mirrored_parameters(without_annotations(bad)) == ()


@pytest.mark.parametrize("case", BAD)
def test_a_tool_with_a_bad_annotation_is_listed_without_it(case: str) -> None:
    good = Tool("good", "", schema(region={"type": "string", "x-mcp-header": "Region"}))
    bad, fine = tool_list([Tool("bad", "", BAD[case][0]), good], VERSION)
    assert mirrored_parameters(bad["inputSchema"]) == ()
    assert "x-mcp-header" not in repr(bad)
    assert fine["inputSchema"]["properties"]["region"]["x-mcp-header"] == "Region"


def test_only_annotations_are_left_out() -> None:
    looks = {"x-mcp-header": "A"}
    part = {"type": "object", "default": looks, "enum": [looks], "x-mcp-header": "B"}
    given = schema(**{"x-mcp-header": A, "a": part, "b": {"anyOf": [A, True]}, "c": True})
    assert without_annotations(given) == schema(
        **{
            "x-mcp-header": {"type": "string"},
            "a": {"type": "object", "default": looks, "enum": [looks]},
            "b": {"anyOf": [{"type": "string"}, True]},
            "c": True,
        }
    )


schemas = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["string", "integer", "boolean", "Region", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "anyOf", "x-mcp-header", "default", "a", "b"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(schemas)
def test_any_schema_is_mirrored_by_the_rules_or_refused(given: Any) -> None:
    try:
        found = mirrored_parameters(given)
    except ValueError:
        if isinstance(given, Mapping):
            assert mirrored_parameters(without_annotations(given)) == ()
        return
    assert len({parameter.header for parameter in found}) == len(found)
    for parameter in found:
        part = given
        for key in parameter.path:
            part = part["properties"][key]
        assert part["type"] in ("string", "integer", "boolean")
        assert parameter.header == f"mcp-param-{part['x-mcp-header'].lower()}".encode()


@given(st.dictionaries(st.sampled_from(["region", "x"]), schemas), st.lists(st.binary(), max_size=2))
def test_any_arguments_are_compared_or_refused(arguments: dict[str, Any], headers: list[bytes]) -> None:
    value, given = arguments.get("region"), Given(*(("mcp-param-region", header) for header in headers))
    if (
        isinstance(value, list | dict)
        or (value is None and not headers)
        or (value is not None and passes(value, *headers))
    ):
        check_parameters(given, REGION, arguments)
    else:
        with pytest.raises(ProtocolError):
            check_parameters(given, REGION, arguments)


def passes(value: str | bool, *headers: bytes) -> bool:
    text = value if isinstance(value, str) else str(value).lower()
    return [header.strip(b" \t") for header in headers] in ([text.encode()], [coded(text).encode()])
