"""Text where another type is asked for: what spells one value, and what does not."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, create_model

from tesseron_py.errors import InvalidAnswer
from tesseron_py.schema.elicitation import form_for, form_for_json_schema
from tesseron_py.schema.spelling import read_text, reads_two_ways, spelled_value, written_duration


@pytest.mark.parametrize(
    ("type", "texts", "value"),
    [
        ("boolean", ["true", "True", "TRUE", "yes", "Yes", "1", " true\n", "\tYES "], True),
        ("boolean", ["false", "False", "no", "NO", "0", " 0 "], False),
        (
            "boolean",
            ["", " ", "y", "n", "on", "off", "ja", "t", "2", "1.0", "-1", "truee", "yes no", "ｙｅｓ", "none"],
            None,
        ),
        ("integer", ["7", " 7 ", "7\n"], 7),
        ("integer", ["-7"], -7),
        ("integer", ["0", "-0"], 0),
        ("integer", ["100000000000000000000"], 10**20),
        (
            "integer",
            ["", "+7", "07", "7.0", "7,0", "1 000", "1_000", "1e3", "0x7", "٧", "²", "seven", "--7", "9" * 2000],
            None,
        ),
        ("number", ["1.5", " 1.5 ", "1.50", "15e-1", "0.15E+1"], 1.5),
        ("number", ["0.125"], 0.125),
        ("number", ["1500"], 1500),
        ("number", ["1.500e3", "1.5e3", "1500.0", "1500.000"], 1500.0),
        ("number", ["-0.500"], -0.5),
        (
            "number",
            [
                "",
                "1,5",
                "1.500",
                "-999.999",
                "1,500.00",
                "1.500,00",
                ".5",
                "5.",
                "+5",
                "05",
                "1e",
                "1e999",
                "NaN",
                "nan",
                "Infinity",
                "-inf",
                "1_0",
                "1 5",
                "٣",
                "0x1",
                "9" * 400,
            ],
            None,
        ),
        ("string", ["7", "true"], None),
        ("array", ["[]"], None),
    ],
)
def test_field_52_a_text_is_a_value_only_if_it_spells_exactly_one(type: str, texts: list[str], value: Any) -> None:
    for text in texts:
        found = spelled_value(text, type)
        assert found == value, text
        assert found.__class__ is value.__class__, text


def test_what_people_may_mean_two_ways_is_told_apart_from_what_is_no_number() -> None:
    for text in ("1.500", "-12.345", "1,5", "1.500,00", "1,500.5", " 1,5 "):
        assert reads_two_ways(text, "number"), text
    for text in ("x", "1.5", "", ",", "a,b", "0.125"):
        assert not reads_two_ways(text, "number"), text
    assert not reads_two_ways("1,5", "integer")


@given(st.text(), st.sampled_from(["boolean", "integer", "number"]))
def test_any_text_is_a_finite_value_of_the_type_or_none(text: str, type: str) -> None:
    found = spelled_value(text, type)
    kinds = {"boolean": bool, "integer": int, "number": (int, float)}
    assert found is None or (isinstance(found, kinds[type]) and float("-inf") < found < float("inf"))  # type: ignore[arg-type]


JSON = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 0},
        "price": {"type": ["number", "null"]},
        "sure": {"type": "boolean"},
        "rank": {"type": "integer", "enum": [1, 2]},
        "day": {"type": "string", "format": "date"},
        "code": {"type": "string", "minLength": 2},
        "kind": {"type": "string", "format": "phone"},
        "size": {"enum": ["s", "l", ""]},
        "pick": {"type": "string", "enum": ["s", "l"]},
        "note": {"type": "string"},
        "any": {},
    },
}


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        (
            {"count": "3", "price": "1.5", "sure": "No", "rank": "2"},
            {"count": 3, "price": 1.5, "sure": False, "rank": 2},
        ),
        (dict.fromkeys(JSON["properties"], ""), {"size": "", "note": "", "any": ""}),
        (dict.fromkeys(JSON["properties"], "  "), {"code": "  ", "note": "  ", "any": "  "}),
        ({"note": "3", "any": "true"}, {"note": "3", "any": "true"}),
    ],
)
def test_a_json_schema_has_the_same_rule(content: dict[str, Any], answer: dict[str, Any]) -> None:
    assert form_for_json_schema(JSON).parse(content) == answer


@pytest.mark.parametrize(
    "content", [{"count": "-1"}, {"count": "3.0"}, {"price": "1.500"}, {"sure": 1}, {"rank": "3"}, {"day": "x"}]
)
def test_what_a_json_schema_does_not_take_spelled_out_it_does_not_take(content: dict[str, Any]) -> None:
    with pytest.raises(InvalidAnswer):
        form_for_json_schema(JSON).parse(content)


def test_what_is_left_empty_in_a_required_field_is_judged_as_it_is() -> None:
    for name in ("count", "price", "sure", "rank", "day", "code"):
        with pytest.raises(InvalidAnswer) as refused:
            form_for_json_schema({**JSON, "required": [name]}).parse({name: ""})
        assert refused.value.data[0]["path"] == [name]
    assert form_for_json_schema({**JSON, "required": ["note"]}).parse({"note": ""}) == {"note": ""}


def test_field_52_false_as_text_is_false() -> None:
    assert form_for(bool).parse({"value": "false"}) is False
    assert form_for(bool).parse({"value": "No"}) is False
    assert form_for(bool | None).parse({"value": ""}) is None
    for other in ("maybe", "", "f", 0, 1, None, [], "[]"):
        with pytest.raises(InvalidAnswer):
            form_for(bool).parse({"value": other})


@pytest.mark.parametrize(
    ("field", "spelled", "not_spelled"),
    [
        ({"type": ["integer", "boolean"]}, {"1": 1}, ["yes", "true", "1.0"]),
        ({"type": ["boolean", "integer"]}, {"1": True, "no": False}, ["2"]),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, {"true": True, "0": False}, ["maybe"]),
        ({"anyOf": [{"type": "null"}, {"type": "number"}]}, {"1.5": 1.5}, ["1.500", "x"]),
        ({"oneOf": [{"const": True, "title": "Yes"}, {"const": False, "title": "No"}]}, {"true": True}, ["x"]),
        ({"enum": [True]}, {"yes": True}, ["no"]),
        ({"anyOf": [{"type": "string"}, {"type": "boolean"}]}, {"true": "true"}, []),
        ({"enum": ["1", 1]}, {"1": "1"}, ["2"]),
    ],
)
def test_a_text_spells_a_value_of_the_type_that_the_form_shows(
    field: dict[str, Any], spelled: dict[str, Any], not_spelled: list[str]
) -> None:
    form = form_for_json_schema({"type": "object", "properties": {"v": field}, "required": ["v"]})
    for text, value in spelled.items():
        found = form.parse({"v": text})["v"]
        assert (found, type(found)) == (value, type(value))
    for text in not_spelled:
        with pytest.raises(InvalidAnswer):
            form.parse({"v": text})


def test_a_decimal_is_written_as_a_number_is() -> None:
    form = form_for(Decimal)
    for text in ("1.5", " 12 ", "-0.125", "1.5000", "1500", "1e2", "123456789.123456789123456789"):
        assert form.parse({"value": text}) == Decimal(text.strip())
    for text in ("1_000", "٣", "１", "+5", "01", ".5", "5.", "1e400", "1.500", "1,5", "NaN", "Infinity", "", "0x1"):
        with pytest.raises(InvalidAnswer):
            form.parse({"value": text})
    with pytest.raises(InvalidAnswer, match="in one way only"):
        form.parse({"value": "1.500"})


def test_a_duration_is_of_units_that_are_all_of_one_length() -> None:
    form = form_for(timedelta)
    for text, value in {
        "PT1H30M": timedelta(hours=1, minutes=30),
        " P2W ": timedelta(weeks=2),
        "-P1DT0.5S": -timedelta(days=1, seconds=0.5),
    }.items():
        assert form.parse({"value": text}) == value
    for text in ("10:30", "1d", "1 day", "P1M", "P1Y", "P", "PT", "3600", "pt1h", "P1DT", "PT1.5H"):
        with pytest.raises(InvalidAnswer, match="a duration such as PT1H30M is expected"):
            form.parse({"value": text})


def test_a_default_that_is_shown_is_taken_as_it_is_shown() -> None:
    class Form(BaseModel):
        price: Decimal = Decimal("1.500")
        period: timedelta = timedelta(days=400)
        limit: Decimal | None = None

    form = form_for(Form)
    shown = {name: each["default"] for name, each in form.schema["properties"].items() if "default" in each}
    assert shown.keys() == {"price", "period"}
    assert form.parse(shown) == Form()
    assert form.parse({"limit": " "}) == Form()


def test_one_character_is_one() -> None:
    properties = {"v": {"minLength": 1, "maxLength": 1}}
    form = form_for_json_schema({"type": "object", "properties": properties, "required": ["v"]})
    for text, expected in (("", "at least 1 character is expected"), ("ab", "at most 1 character is expected")):
        with pytest.raises(InvalidAnswer, match=expected):
            form.parse({"v": text})
        with pytest.raises(InvalidAnswer, match=expected):
            form_for(Annotated[str, Field(min_length=1, max_length=1)]).parse({"response": text, "value": text})


@given(st.timedeltas())
def test_a_duration_is_written_as_it_is_read(value: timedelta) -> None:
    text = written_duration(value)
    assert read_text(text, "duration") == (text, None)
    assert TypeAdapter(timedelta).validate_python(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(400), "P400D"),
        (timedelta(0), "PT0S"),
        (timedelta(days=1, hours=2, minutes=3, seconds=4), "P1DT2H3M4S"),
        (timedelta(seconds=-1.5), "-PT1.5S"),
        (timedelta(microseconds=10), "PT0.00001S"),
    ],
)
def test_a_duration_is_written_in_days_and_less(value: timedelta, text: str) -> None:
    assert written_duration(value) == text
    form = form_for(create_model("Wait", wait=(timedelta, value)))
    assert form.schema["properties"]["wait"]["default"] == text
    assert form.parse({"wait": text}).wait == value
