"""Models in models: one flat form, and the nested value again."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from datetime import date, timedelta
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypeVar

import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    model_serializer,
    model_validator,
)
from pydantic.experimental.pipeline import validate_as
from typing_extensions import TypeAliasType, TypedDict

from tesseron_py import Context, Tesseron
from tesseron_py.errors import InvalidAnswer, InvalidSchema
from tesseron_py.schema.elicitation import AnswerForm, check_subset, form_for
from tesseron_py.testing import Agent, accept

T = TypeVar("T")


class Address(BaseModel):
    """Where somebody lives; this goes to no form."""

    street: str = Field(min_length=2)
    country: Literal["AT", "DE"] = "AT"
    main: bool = False
    since: date | None = None


@dataclass
class Point:
    x: int
    y: Annotated[int, Field(title="Height", description="In metres")] = 0


class Tag(TypedDict):
    name: str
    colour: NotRequired[Literal["red", "green"]]


class Span(NamedTuple):
    first: int
    last: int = 9


class Options(BaseModel):
    loud: bool = False
    times: int = 1


class Order(BaseModel):
    address: Annotated[Address, Field(title="Deliver to", description="Where it goes")]
    billing: Address | None = None
    point: Point
    tag: Tag
    span: Span
    options: Options
    homes: Annotated[Address, Field(description="At home")] = Address(street="Ring 1", main=True)


def schema_of(type: Any) -> dict[str, Any]:
    schema = form_for(type).schema
    check_subset(schema)
    return schema


def issues(type: Any, content: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    with pytest.raises(InvalidAnswer) as refused:
        form_for(type).parse(content)
    return [(issue["message"], issue["path"]) for issue in refused.value.data]


def test_nested_fields_have_names_and_titles_with_dots() -> None:
    schema = schema_of(Order)
    assert {name: each["title"] for name, each in schema["properties"].items()} == {
        "address.street": "Deliver to.Street", "address.country": "Deliver to.Country",
        "address.main": "Deliver to.Main", "address.since": "Deliver to.Since",
        "billing.street": "Billing.Street", "billing.country": "Billing.Country", "billing.main": "Billing.Main",
        "billing.since": "Billing.Since",
        "point.x": "Point.X", "point.y": "Point.Height", "tag.name": "Tag.Name", "tag.colour": "Tag.Colour",
        "span.first": "Span.First", "span.last": "Span.Last",
        "options.loud": "Options.Loud", "options.times": "Options.Times",
        "homes.street": "Homes.Street", "homes.country": "Homes.Country", "homes.main": "Homes.Main",
        "homes.since": "Homes.Since",
    }  # fmt: skip
    assert schema["required"] == ["address.street", "point.x", "tag.name", "span.first"]
    properties = schema["properties"]
    assert properties["address.street"] == {
        "type": "string", "title": "Deliver to.Street", "description": "Where it goes", "minLength": 2,
    }  # fmt: skip
    assert properties["address.since"]["format"] == "date"
    assert "description" not in properties["billing.street"]
    assert properties["point.y"] == {
        "type": "integer", "title": "Point.Height", "description": "In metres", "default": 0,
    }  # fmt: skip
    assert [properties[f"homes.{name}"]["default"] for name in ("street", "country", "main")] == ["Ring 1", "AT", True]
    assert properties["homes.street"]["description"] == "At home"


GIVEN = {"address.street": "Main St", "point.x": 3, "tag.name": "t", "span.first": 1}


def test_an_answer_is_the_nested_value() -> None:
    order = form_for(Order).parse(GIVEN)
    assert order == Order(
        address=Address(street="Main St"), point=Point(3), tag={"name": "t"}, span=Span(1), options=Options()
    )
    assert isinstance(order.span, Span)
    more = {
        "billing.street": "Side St", "billing.country": "DE", "billing.main": True, "billing.since": "2026-01-02",
        "point.y": "7", "tag.colour": "red", "span.last": 4, "options.times": 3, "homes.street": "Ring 2",
    }  # fmt: skip
    assert form_for(Order).parse(GIVEN | more) == Order(
        address=Address(street="Main St"),
        billing=Address(street="Side St", country="DE", main=True, since=date(2026, 1, 2)),
        point=Point(3, 7),
        tag={"name": "t", "colour": "red"},
        span=Span(1, 4),
        options=Options(times=3),
        homes=Address(street="Ring 2", main=True),
    )


def test_what_is_wrong_has_the_path_of_the_value() -> None:
    assert issues(Order, {}) == [
        ("required, but missing", ["address", "street"]),
        ("required, but missing", ["point", "x"]),
        ("required, but missing", ["tag", "name"]),
        ("required, but missing", ["span", "first"]),
    ]
    wrong = {"address.street": "M", "address.country": "FR", "options.times": "many", "billing.since": "today"}
    assert issues(Order, GIVEN | wrong) == [
        ('one of "AT", "DE" is expected', ["address", "country"]),
        ("at least 2 characters are expected", ["address", "street"]),
        ("required, but missing", ["billing", "street"]),
        ("a date such as 2026-01-31 is expected", ["billing", "since"]),
        ("a whole number is expected, got a string", ["options", "times"]),
    ]


class Maybe(BaseModel):
    address: Address | None = None
    options: Options | None = None
    point: Point | None
    kept: Address = Address(street="Ring 1")


def test_an_optional_object_is_given_if_a_field_of_it_is() -> None:
    form = form_for(Maybe)
    assert form.schema["required"] == []
    assert form.parse({}) == Maybe(point=None)
    assert form.parse({"address.street": "Main"}) == Maybe(point=None, address=Address(street="Main"))
    assert form.parse({"options.times": 1}) == Maybe(point=None, options=Options())
    assert form.parse({"point.x": 0}) == Maybe(point=Point(0))
    assert issues(Maybe, {"address.country": "DE"}) == [("required, but missing", ["address", "street"])]
    assert issues(Maybe, {"address.street": None, "address.main": True}) == [
        ("required, but missing", ["address", "street"])
    ]
    assert form.parse({"kept.country": "DE"}).kept == Address(street="Ring 1", country="DE")


def test_what_a_client_fills_in_by_itself_gives_no_object() -> None:
    filled = {"address.country": "AT", "address.main": False, "address.since": "", "point.y": 0, "point.x": ""}
    assert form_for(Maybe).parse(filled) == Maybe(point=None)
    assert issues(Maybe, {**filled, "point.y": 1}) == [("required, but missing", ["point", "x"])]

    class Chooser(BaseModel):
        class Chosen(BaseModel):
            name: str = Field(min_length=1)
            tags: set[Literal["a", "b"]]

        chosen: Chosen | None = None

    unticked = {"chosen.name": "", "chosen.tags.a": False, "chosen.tags.b": False}
    assert form_for(Chooser).parse(unticked | {"chosen.name": "x"}).chosen.tags == set()
    assert [path for _, path in issues(Chooser, {"chosen.tags.a": True, "chosen.tags.b": False})] == [
        ["chosen", "name"]
    ]


def test_an_optional_object_that_nobody_filled_in_is_none() -> None:
    class Parcel(BaseModel):
        street: str
        gift: bool
        country: Literal["AT", "DE"] = "AT"
        insured: bool = True

    class Sealed(BaseModel):
        street: str = Field(min_length=1)
        gift: bool

    class Bill(BaseModel):
        billing: Parcel | None = None
        sealed: Sealed | None = None

    form = form_for(Bill)
    empty = {"billing.street": "", "billing.gift": False, "sealed.street": "", "sealed.gift": "no"}
    assert form.parse(empty) == Bill()
    assert form.parse({**empty, "billing.country": "AT", "billing.insured": True}) == Bill()
    assert form.parse({"billing.gift": False}) == Bill()
    assert form.parse({**empty, "billing.street": "x"}).billing == Parcel(street="x", gift=False)
    assert form.parse({**empty, "billing.gift": True}).billing == Parcel(street="", gift=True)
    unticked = form.parse({**empty, "billing.insured": False}).billing
    assert unticked == Parcel(street="", gift=False, insured=False)
    assert issues(Bill, {"sealed.street": "", "sealed.gift": True}) == [("required, but missing", ["sealed", "street"])]
    assert ["billing", "street"] in [path for _, path in issues(Bill, {"billing.street": False})]


def test_defaults_that_a_client_shows_and_sends_make_no_object() -> None:
    class Notify(BaseModel):
        mail: bool = True
        every: int = 7
        note: str = ""

    class Job(BaseModel):
        notify: Notify | None = None

    shown = {"notify.mail": True, "notify.every": 7, "notify.note": ""}
    form = form_for(Job, lists=True)
    assert form.parse({}) == form.parse(shown) == form.parse({**shown, "notify.every": "7"}) == Job()
    assert form.parse({**shown, "notify.mail": False}) == Job(notify=Notify(mail=False))
    assert form.parse({**shown, "notify.note": "x"}) == Job(notify=Notify(note="x"))
    # A client that shows the defaults of checkboxes alone was given the number.
    older = form_for(Job)
    assert older.parse({"notify.mail": True, "notify.note": ""}) == Job()
    assert older.parse({"notify.every": 7}) == Job(notify=Notify())


def shows(form: AnswerForm) -> dict[str, Any]:
    return {name: each.get("default", "-") for name, each in form.schema["properties"].items()}


class Sharing(BaseModel):
    publish: bool = False
    days: int = 30
    note: str = "n"


@dataclass
class Scope:
    wipe: bool = False
    days: int = 30
    note: str = "n"


class Keys(TypedDict):
    wipe: NotRequired[bool]
    note: NotRequired[str]


@dataclass
class Made:
    model: Sharing = field(default_factory=lambda: Sharing(publish=True, days=0))
    plain: Scope = field(default_factory=lambda: Scope(wipe=True, days=0))
    keys: Keys = field(default_factory=lambda: {"wipe": True})


class MadeWithin(BaseModel):
    made: Made
    maybe: Sharing | None = Field(default_factory=lambda: Sharing(publish=True))


@pytest.mark.parametrize("lists", [True, False])
def test_what_a_factory_makes_is_not_shown_and_nothing_beside_it_is_thrown_away(lists: bool) -> None:
    form = form_for(MadeWithin, lists=lists)
    assert set(shows(form).values()) == {"-"}
    made = form.parse({}).made
    assert (made, form.parse({}).maybe) == (Made(), Sharing(publish=True))
    given = form.parse({"made.model.publish": False, "made.plain.wipe": "no", "made.keys.wipe": False})
    assert given.made == Made(Sharing(), Scope(), {"wipe": False})
    assert form.parse({"maybe.publish": False}).maybe == Sharing()
    empty = form.parse({"made.model.note": "", "made.plain.note": "", "made.keys.note": "", "maybe.note": ""})
    assert empty.made == Made(Sharing(note=""), Scope(note=""), {"note": ""})
    assert empty.maybe == Sharing(note="")


@pytest.mark.parametrize("lists", [True, False])
def test_a_class_as_a_factory_makes_what_it_says(lists: bool) -> None:
    class Loud(BaseModel):
        loud: bool = Field(default_factory=lambda: True)
        times: int = 1

    class Checked(Sharing):
        @model_validator(mode="after")
        def check(self) -> Checked:
            return self

    class Form(BaseModel):
        sharing: Sharing = Field(default_factory=Sharing)
        part: Keys = Field(default_factory=dict)
        loud: Loud = Field(default_factory=Loud)
        checked: Checked = Field(default_factory=Checked)

    form = form_for(Form, lists=lists)
    assert shows(form) == {
        "sharing.publish": False, "sharing.days": 30, "sharing.note": "n", "part.wipe": "-", "part.note": "-",
        "loud.loud": "-", "loud.times": 1, "checked.publish": "-", "checked.days": "-", "checked.note": "-",
    }  # fmt: skip
    assert form.parse({"sharing.publish": False, "sharing.note": ""}).sharing == Sharing(note="")
    assert form.parse({"loud.loud": False}).loud.loud is False
    assert form.parse({"part.wipe": False}).part == {"wipe": False}


@pytest.mark.parametrize("lists", [True, False])
def test_a_default_is_read_from_its_attributes_whatever_it_writes_itself_as(lists: bool) -> None:
    class Renamed(BaseModel):
        wipe: bool = Field(False, validation_alias="wipeAll")
        days: int = Field(1, validation_alias=AliasChoices(AliasPath("d", 0), "dd"))
        by: Literal["a", "b"] = Field("a", alias="who")

    class Hidden(BaseModel):
        wipe: bool = Field(False, exclude=True)
        days: int = 1

        @model_serializer
        def written(self) -> dict[str, Any]:
            return {"days": 99}

    class Holder(BaseModel):
        hidden: Hidden
        tags: set[Literal["x", "y"]] = set()
        wait: timedelta = timedelta(0)

    class Form(BaseModel):
        renamed: Renamed = Renamed(wipeAll=True, dd=7, who="b")
        holder: Holder = Holder(hidden=Hidden(wipe=True, days=9), tags={"y", "x"}, wait=timedelta(days=400))

    form = form_for(Form, lists=lists)
    tags = {"holder.tags": ["x", "y"]} if lists else {"holder.tags.x": True, "holder.tags.y": True}
    assert shows(form) == {
        "renamed.wipeAll": True, "renamed.dd": 7, "renamed.who": "b", "holder.hidden.wipe": True,
        "holder.hidden.days": 9, **tags, "holder.wait": "P400D",
    }  # fmt: skip
    read = form.parse({"renamed.wipeAll": False, "holder.hidden.wipe": False})
    assert read.renamed == Renamed(wipeAll=False, dd=7, who="b")
    assert read.holder == Holder(hidden=Hidden(wipe=False, days=9), tags={"y", "x"}, wait=timedelta(days=400))
    assert form.parse(shows(form)) == form.parse({}) == Form()


def test_a_default_of_which_a_part_is_not_known_is_not_shown() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    class Wide(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        wipe: bool = False
        width: float = 0.5

    class Wrong(BaseModel):
        wipe: bool = False
        note: str = None

    class Wrapped(RootModel[Wide]):
        pass

    @dataclass
    class Checked:
        wipe: bool = False
        limit: InitVar[int] = 1

    class Form(BaseModel):
        wide: Wide = Wide(wipe=True, width=float("inf"))
        wrong: Wrong = Wrong(wipe=True)
        odd: Wide = Wide.model_construct(wipe=True, width=Odd())
        nothing: Sharing = None
        checked: Checked = Checked(wipe=True)
        wrapped: Wrapped = Wrapped(Wide(wipe=True))

    form = form_for(Form)
    assert shows(form) == {
        "wide.wipe": "-", "wide.width": "-", "wrong.wipe": True, "wrong.note": "-", "odd.wipe": "-", "odd.width": "-",
        "nothing.publish": False, "nothing.days": 30, "nothing.note": "n", "checked.wipe": True, "checked.limit": 1,
        "wrapped.wipe": "-", "wrapped.width": "-",
    }  # fmt: skip
    read = form.parse({"wide.wipe": False, "wrong.wipe": False, "odd.wipe": False, "wrapped.wipe": False})
    assert (read.wide, read.wrong, read.odd, read.wrapped.root) == (Wide(), Wrong(), Wide(), Wide())


def test_a_default_may_be_a_place_in_a_tuple_a_dict_or_nothing() -> None:
    class Pair(NamedTuple):
        wipe: bool = False
        days: int = 1

    class Inner(BaseModel):
        wipe: bool = Field(False, alias="wipeIt")
        note: str | None = None
        more: Sharing | None = None

    class Form(BaseModel):
        pair: Pair = Pair(True, 9)
        short: Pair = (True,)  # pydantic takes a default as it is
        given: Inner = {"wipeIt": True}
        named: Inner = {"wipe": True}
        other: Inner = Sharing()
        whole: Inner = Inner(wipeIt=True, more=Sharing(days=3))

    form = form_for(Form)
    found = shows(form)
    assert [found[name] for name in ("pair.wipe", "pair.days", "short.wipe", "short.days")] == [True, 9, True, 1]
    assert [found[name] for name in ("given.wipeIt", "named.wipeIt", "other.wipeIt")] == [True, True, "-"]
    assert [found[name] for name in ("whole.more.days", "other.more.days", "given.more.days")] == [3, "-", 30]
    read = form.parse({"pair.wipe": False, "given.note": "x", "other.wipeIt": False, "whole.note": "x"})
    assert (read.pair, read.given, read.other) == (Pair(False, 9), Inner(wipeIt=True, note="x"), Inner())
    assert read.whole == Inner(wipeIt=True, note="x", more=Sharing(days=3))


def test_parts_that_are_odd_are_read_all_the_same() -> None:
    Noted = Annotated[str | None, AfterValidator(lambda note: note)]

    @dataclass
    class Kept:
        wipe: bool = False
        note: Noted = None
        word: Annotated[str, AfterValidator(str.strip)] = None
        mixed: set[Literal["x", 1]] = field(default_factory=set)
        made: int = field(default=3, init=False)

    class Rooted(RootModel[Sharing]):
        root: Sharing = Sharing()

    @dataclass
    class Posted:
        wipe: bool = False

        def __post_init__(self) -> None:
            self.wipe = True

    class Form(BaseModel):
        kept: Kept = Kept(wipe=True, mixed={"x", 1})
        rooted: Rooted = Field(default_factory=Rooted)
        posted: Posted = Field(default_factory=Posted)
        piped: Annotated[Sharing, validate_as(Sharing).transform(lambda each: each)] = Field(
            default_factory=lambda: Sharing(publish=True)
        )

    form = form_for(Form, lists=True)
    assert shows(form) == {
        "kept.wipe": True, "kept.note": "-", "kept.word": "-", "kept.mixed": ["x", "1"],
        "rooted.publish": "-", "rooted.days": "-", "rooted.note": "-", "posted.wipe": "-",
        "piped.publish": "-", "piped.days": "-", "piped.note": "-",
    }  # fmt: skip
    assert form.parse({"rooted.publish": False, "rooted.note": ""}).rooted.root == Sharing(note="")
    assert form.parse({"piped.publish": False}).piped == Sharing()
    assert form.parse({"kept.wipe": False}).kept == Kept(mixed={"x", 1})


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_an_unticked_box_never_comes_back_ticked(era: Any) -> None:
    app = Tesseron("t", "T")

    class Wanted(BaseModel):
        name: str
        sharing: Sharing = Field(default_factory=lambda: Sharing(publish=True))

    @app.action
    async def publish(ctx: Context) -> bool:
        wanted = await ctx.elicit("?", Wanted)
        return wanted is not None and wanted.sharing.publish

    async with Agent(app, era=era, answers=[accept({"name": "a", "sharing.publish": False})]) as agent:
        assert await agent.call("publish") is False
        assert "default" not in agent.questions[0].schema["properties"]["sharing.publish"]


class Inner(BaseModel):
    street: Annotated[str, Field(title="Name of the street")]
    code: int = 0


class Middle(BaseModel):
    address: Inner
    note: str | None = None


class Outer(BaseModel):
    order: Middle | None = None
    must: Middle


def test_two_levels_are_asked_for() -> None:
    schema = schema_of(Outer)
    assert schema["properties"]["order.address.street"]["title"] == "Order.Address.Name of the street"
    assert schema["required"] == ["must.address.street"]
    assert form_for(Outer).parse({"must.address.street": "a", "order.address.street": "b", "order.note": "n"}) == Outer(
        must=Middle(address=Inner(street="a")), order=Middle(address=Inner(street="b"), note="n")
    )
    assert issues(Outer, {"must.address.street": "a", "order.note": "n"}) == [
        ("required, but missing", ["order", "address", "street"])
    ]


class Deep(BaseModel):
    outer: Outer


class Loop(BaseModel):
    name: str
    inner: Middle
    again: Loop | None = None


class Pair(BaseModel, Generic[T]):
    left: T
    right: T


@pytest.mark.parametrize(
    ("type", "field", "mend"),
    [
        (Deep, "outer.order.address", "ask for it in a question of its own, or put its fields further up"),
        (Loop, "again", "ask for it in a question of its own"),
        (Pair[list[Address]], "left", "ask for them one after the other"),
        (Pair[dict[str, int]], "left", "use a model, a dataclass or a TypedDict"),
        (Pair[Address | Options], "left", "decide for one type"),
        (Pair[Pair[list[int]]], "left.left", "set[…] or list[…] of an Enum or a Literal"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field_with_the_mend(type: Any, field: str, mend: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        form_for(type)
    assert f" {field}: " in f" {refused.value.message}"
    assert mend in refused.value.message


def test_generics_and_aliases_are_what_they_stand_for() -> None:
    pairs = schema_of(Pair[Inner])
    assert list(pairs["properties"]) == ["left.street", "left.code", "right.street", "right.code"]
    Age = TypeAliasType("Age", Annotated[int, Field(ge=0, title="Your age", description="In years")])
    assert schema_of(Pair[Age])["properties"]["left"] == {
        "type": "integer", "title": "Your age", "description": "In years", "minimum": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ({"address": {"street": "Main"}}, ["address"]),
        ({"address": "Main"}, ["address"]),
        ({"address.street": {"x": "Main"}}, ["address", "street"]),
        ({"point": [1, 2]}, ["point"]),
        ({"span": [1, 2]}, ["span"]),
        ({"address": {}, "address.street": "Main"}, ["address"]),
    ],
)
def test_objects_and_lists_in_place_of_the_fields_are_no_answer(content: dict[str, Any], path: list[str]) -> None:
    assert path in [each for _, each in issues(Order, GIVEN | content)]


def test_a_model_judges_what_was_not_asked_for_in_it() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(extra="forbid")
        name: str

    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        name: str

    class Form(BaseModel):
        strict: Strict
        open: Open
        none: Open | None = None

    names = {"strict.name": "a", "open.name": "b"}
    parsed = form_for(Form).parse({**names, "open.more": 1, "none.more": 1, "else": 1, "open.": 2})
    assert parsed.open.model_extra == {"more": 1, "": 2}
    assert parsed.none is None
    assert issues(Form, {**names, "strict.nam": 1}) == [
        ('unknown field "nam"; did you mean "name"?', ["strict", "nam"])
    ]


def test_a_name_with_a_dot_stays_a_name() -> None:
    class Form(BaseModel):
        odd: int = Field(alias="point.z")
        point: Point

    form = form_for(Form)
    assert list(form.schema["properties"]) == ["point.z", "point.x", "point.y"]
    assert form.parse({"point.z": 1, "point.x": 2}) == Form(**{"point.z": 1, "point": Point(2)})


def test_what_the_author_checks_of_an_object_is_checked() -> None:
    class Range(BaseModel):
        low: int = 0
        high: int = 1

        @model_validator(mode="after")
        def ordered(self) -> Range:
            if self.low > self.high:
                raise ValueError("low is not above high")
            return self

    class Form(BaseModel):
        range: Range = Field(default_factory=Range)

    assert form_for(Form).parse({"range.low": 1, "range.high": 2}).range.low == 1
    assert issues(Form, {"range.low": 3}) == [("what was given does not fit", ["range"])]


def test_what_an_object_is_by_default_is_shown_in_its_fields() -> None:
    class Form(BaseModel):
        span: Span = Span(1, 7)
        tag: Tag = {"name": "new"}
        point: Point = Point(0)

    form = form_for(Form)
    assert {name: each.get("default") for name, each in form.schema["properties"].items()} == {
        "span.first": 1, "span.last": 7, "tag.name": "new", "tag.colour": None, "point.x": 0, "point.y": 0,
    }  # fmt: skip
    assert form.parse({}) == Form()
    assert form.parse({"span.first": 1, "span.last": 8}).span == Span(1, 8)


class Part(BaseModel):
    x: int
    y: int | None = 2
    z: Annotated[Literal["p", "q"], Field(title="Z")] = "p"
    on: set[Literal["a", "b"]] = {"a"}


class Whole(BaseModel):
    part: Part | None = Part(x=1)
    n: int = 0


class Triple(NamedTuple):
    a: int = 1
    b: int = 2
    c: int = 3


@pytest.mark.parametrize("lists", [False, True])
def test_what_an_object_is_by_default_is_what_is_given_for_what_is_left_alone(lists: bool) -> None:
    class Form(BaseModel):
        part: Part = Part(x=5, y=6, z="q", on={"b"})
        bare: Part = Part(x=7, y=None)
        maybe: Part | None = Part(x=8)
        triple: Triple = Triple(7, 8, 9)
        whole: Whole = Whole(part=Part(x=3, y=4), n=1)
        without: Whole = Whole(part=None)

    form = form_for(Form, lists=lists)
    shown = {name: each["default"] for name, each in form.schema["properties"].items() if "default" in each}
    assert (shown["part.x"], shown["part.y"], shown["whole.part.y"], shown["triple.c"]) == (5, 6, 4, 9)
    assert "bare.y" not in shown
    assert form.parse({}) == Form()
    assert form.parse({"part.x": 1}).part == Part(x=1, y=6, z="q", on={"b"})
    assert form.parse({"part.y": 1}).part == Part(x=5, y=1, z="q", on={"b"})
    assert form.parse({"bare.x": 1}).bare == Part(x=1, y=None)
    assert form.parse({"maybe.y": 1}).maybe == Part(x=8, y=1)
    assert form.parse({"triple.b": 5}).triple == Triple(7, 5, 9)
    assert form.parse({"whole.n": 2}).whole == Whole(part=Part(x=3, y=4), n=2)
    assert form.parse({"whole.part.x": 2}).whole == Whole(part=Part(x=2, y=4), n=1)
    assert form.parse({"without.n": 2}).without == Whole(part=None, n=2)


def test_what_was_not_asked_for_is_no_more_of_a_named_tuple_than_of_a_model() -> None:
    assert form_for(Span).parse({"first": 1, "more": 2}) == Span(1)

    class Form(BaseModel):
        span: Span

    assert form_for(Form).parse({"span.first": 1, "span.more": 2, "more": 3}) == Form(span=Span(1))


def test_a_named_tuple_may_be_all_that_is_asked_for() -> None:
    assert schema_of(Span)["required"] == ["first"]
    assert form_for(Span).parse({"first": 1}) == Span(1, 9)

    @dataclass
    class Holder:
        options: Options = field(default_factory=Options)

    assert form_for(Holder).parse({}) == Holder()
    assert form_for(Holder).parse({"options.loud": "yes"}) == Holder(Options(loud=True))


class Shared(Sharing):
    days: int = 7
    with_whom: str = "all"


@dataclass
class Wide(Scope):
    width: int = 1


class OfSubclasses(BaseModel):
    sharing: Sharing = Shared(publish=True)
    scope: Scope = Wide(wipe=True)
    same: Sharing = Sharing(days=9)


@pytest.mark.parametrize("lists", [True, False])
def test_a_default_of_a_subclass_is_not_shown_and_left_alone_it_keeps_its_class(lists: bool) -> None:
    form = form_for(OfSubclasses, lists=lists)
    shown = {name: value for name, value in shows(form).items() if value != "-"}
    assert shown == {"same.publish": False, "same.days": 9, "same.note": "n"}
    left_alone = form.parse(shown)
    assert left_alone.sharing == Shared(publish=True)
    assert type(left_alone.sharing) is Shared
    assert left_alone.scope == Wide(wipe=True)
    given = form.parse({"sharing.note": "x", "scope.note": "y"})
    assert (given.sharing, given.scope) == (Sharing(note="x"), Scope(note="y"))


class Route(BaseModel):
    stops: list[Literal["a", "b", "c"]] = ["c", "a"]
    fast: bool = True


class Plan(BaseModel):
    route: Route = Route(stops=["b", "a"])
    order: list[Literal["x", "y"]] = ["y", "x"]


def test_boxes_as_they_are_shown_are_the_default_in_its_order() -> None:
    form = form_for(Plan)
    boxes = {name: written.get("default", False) for name, written in form.schema["properties"].items()}
    assert form.parse(boxes) == form.parse({}) == Plan()
    changed = form.parse({**boxes, "route.fast": False})
    assert changed == Plan(route=Route(stops=["b", "a"], fast=False))
    assert form.parse({"route.stops.a": True, "order.x": "yes"}) == Plan()
    assert form.parse({**boxes, "route.stops.c": True, "order.y": "no"}) == Plan(
        route=Route(stops=["a", "b", "c"]), order=["x"]
    )
