"""What can be declared and never be used is refused where it is declared, with the field and the mend."""

from __future__ import annotations

import enum
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Optional, Protocol, TypeVar

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, OnErrorOmit, create_model
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypedDict

from tesseron_py import action
from tesseron_py.errors import InvalidInput, InvalidSchema, RegistrationError
from tesseron_py.schema.annotations import Scope
from tesseron_py.schema.elicitation import form_for
from tesseron_py.schema.output import output_for
from tesseron_py.schema.signature import read_handler
from tesseron_py.unset import UNSET

if TYPE_CHECKING:
    from collections import OrderedDict as OnlyForCheckers


class Unfinished(BaseModel):
    other: Nowhere  # noqa: F821  # that it is unknown is the case


class Given(BaseModel):
    x: int = 1


class Base(BaseModel): ...


class Query(Base): ...


class Keys(TypedDict):
    x: int


class HasX(Protocol):
    x: int


Var = TypeVar("Var")


def refused(fn: Callable[..., Any], **options: Any) -> tuple[str, str]:
    """What is wrong with a handler, and its corrected signature."""
    with pytest.raises(RegistrationError) as raised:
        read_handler(fn, name="act", **options)
    first, *others = str(raised.value).splitlines()
    return first.partition("): ")[2], "".join(others).partition("  write:  ")[2]


def taking(annotation: Any) -> Callable[..., Any]:
    def act(value: Any) -> None: ...

    act.__annotations__["value"] = annotation
    return act


@pytest.mark.parametrize(
    ("declared", "annotation"),
    [(Given, int), (Given, Query), (Base, Query), (Keys, int), (Keys, Given), (Given, Keys), (Given, dict)],
)
def test_an_input_for_a_parameter_of_another_class_is_refused(declared: Any, annotation: Any) -> None:
    name, other = declared.__name__, annotation.__name__
    fault, corrected = refused(taking(annotation), input_type=declared)
    assert fault == (
        f"the input is {name}, and the parameter 'value' says it takes {other}; write `value: {name}`, or give"
        " .input(…) the other"
    )
    assert corrected == f"def act(value: {name}) -> None"


@pytest.mark.parametrize(
    ("declared", "annotation"),
    [
        (Query, Query), (Query, Base), (Query, BaseModel), (Given, Any), (Given, object), (Given, HasX),
        (Given, Var), (Given, int | str), (Given, Given | None), (Keys, dict), (Keys, dict[str, Any]), (Keys, Mapping),
        (Keys, Keys), (Annotated[Given, "note"], int),
    ],
)  # fmt: skip
def test_what_it_may_be_annotated_with_besides(declared: Any, annotation: Any) -> None:
    assert read_handler(taking(annotation), name="act", input_type=declared).input_schema["type"] == "object"


def test_an_object_is_no_annotation() -> None:
    for annotation in (Given(), Annotated[Given(), 1]):
        fault, corrected = refused(taking(annotation))
        assert fault == "the annotation of 'value' is an object of Given and no type; write `value: Given`"
        assert corrected == "def act(value: Given) -> None"

    @dataclass
    class Point:
        x: int = 1

    assert "has a type JSON has no values for" in refused(taking(Point()))[0]


@dataclass
class Waiting:
    at: list[Nowhere]  # noqa: F821  # that it is unknown is the case


class Holding(BaseModel):
    inner: list[Unfinished] = []


class Round(BaseModel):
    same: list[Round] = []
    noted: Annotated[int, "no Python ("]
    inner: Unfinished


class Mistyped(BaseModel):
    one: Givn  # noqa: F821  # that it is unknown is the case


class Hidden(BaseModel):
    one: OnlyForCheckers


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            Unfinished,
            "the annotation of Unfinished.other, 'Nowhere' cannot be resolved (name 'Nowhere' is not defined);",
        ),
        (list[Unfinished], "the annotation of Unfinished.other, 'Nowhere' cannot be resolved"),
        (Waiting, "the annotation of Waiting.at, 'list[Nowhere]' cannot be resolved (name 'Nowhere' is not defined)"),
        (Holding, "the annotation of Unfinished.other, 'Nowhere' cannot be resolved"),
        (
            Mistyped,
            "the annotation of Mistyped.one, 'Givn' cannot be resolved (name 'Givn' is not defined); did you mean",
        ),
        (Round, "the annotation of Unfinished.other, 'Nowhere' cannot be resolved"),
        (
            create_model("Maybe", one=(Optional["Nowhere"], ...)),  # noqa: F821  # that it is unknown is the case
            "the annotation of Maybe.one, \"typing.Optional[ForwardRef('Nowhere')]\" cannot be resolved",
        ),
        (Mistyped, "; did you mean 'Given'?"),
        (Hidden, "the annotation of Hidden.one, 'OnlyForCheckers' cannot be resolved (name 'OnlyForCheckers' is not"),
        (
            create_model("Listed", inner=(list[Given | None], ...), other=("list['Nowhere']", ...)),
            """the annotation of Listed.other, "list['Nowhere']" cannot be resolved (name 'Nowhere' is not defined)""",
        ),
        (
            create_model("Held", one=(dict[str, "Nowhere"], ...)),  # noqa: F821  # that it is unknown is the case
            "the annotation of Held.one, \"dict[str, 'Nowhere']\" ca",
        ),
        (Hidden, "is under `if TYPE_CHECKING:`, so nothing runs it; move it out of there"),
    ],
)
def test_a_name_that_a_model_does_not_find_is_told_with_its_field(declared: Any, message: str) -> None:
    assert message in refused(taking(declared))[0]
    with pytest.raises(InvalidSchema) as asked:
        form_for(declared)
    assert message in asked.value.message
    with pytest.raises(RegistrationError) as put_out:
        output_for(taking(Any), name="act", declared=declared, returned=UNSET)
    assert message in str(put_out.value)


def test_a_name_that_no_field_has_is_told_alone() -> None:
    with pytest.raises(InvalidSchema, match="name 'Nowhere' is not defined; define or import it at module level"):
        form_for(list["Nowhere"])  # noqa: F821  # that it is unknown is the case


def test_what_is_defined_by_now_is_found() -> None:
    signature = read_handler(taking(Early), name="act")
    assert signature.bind({"value": {"late": {"x": 1}}}).values["value"].late == Late(x=1)


class Early(BaseModel):
    late: Late


class Late(BaseModel):
    x: int


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there it is the same")
def test_a_typed_dict_of_typing_is_told_where_it_has_to_come_from() -> None:
    keys: Any = typing.TypedDict("keys", {"x": int})  # the wrong one
    message = "before Python 3.12 a TypedDict has to come from typing_extensions; write `from typing_extensions import"
    assert message in refused(taking(keys))[0]
    with pytest.raises(InvalidSchema, match="typing_extensions"):
        form_for(keys)


class ByPath(BaseModel):
    p: int = Field(validation_alias=AliasPath("o", "k"))


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (ByPath, "the alias of ByPath.p is a path into other data; give it a name of its own"),
        (dict[str, list[ByPath]], "the alias of ByPath.p is a path into other data"),
    ],
)
def test_an_alias_that_nobody_can_give_is_refused(declared: Any, message: str) -> None:
    assert message in refused(taking(declared))[0]
    with pytest.raises(InvalidSchema) as asked:
        form_for(declared)
    assert message in asked.value.message
    assert output_for(taking(Any), name="act", declared=declared, returned=UNSET) is not None


def test_an_alias_beside_a_name_is_none_of_those() -> None:
    class Choosing(BaseModel):
        p: int = Field(validation_alias=AliasChoices(AliasPath("o", "k"), "z"))

    class Both(BaseModel):
        model_config = ConfigDict(populate_by_name=True)

        p: int = Field(validation_alias=AliasPath("o", "k"))

    class Same(BaseModel):
        model_config = ConfigDict(validate_by_name=True, validate_by_alias=False)

        x: int

    for declared, given in ((Choosing, {"z": 1}), (Both, {"p": 1}), (Same, {"x": 1})):
        signature = read_handler(taking(declared), name="act")
        assert signature.input_schema["properties"]["value"]["properties"].keys() == given.keys()
        signature.bind({"value": given})


BY_NAME = ConfigDict(validate_by_name=True, validate_by_alias=False, alias_generator=to_camel)


class ByNameAlone(BaseModel):
    model_config = BY_NAME

    user_id: int
    pin: Annotated[str, Field(alias="code", json_schema_extra={"writeOnly": True})] = "hush"
    path: int = Field(default=0, validation_alias=AliasPath("o", "k"))


@pydantic_dataclass(config=BY_NAME)
class ByNameAsWell:
    user_id: Annotated[int, Field(alias="userId")]


class KeysByName(TypedDict):
    __pydantic_config__ = BY_NAME

    user_id: int


@pytest.mark.parametrize("declared", [ByNameAlone, ByNameAsWell, KeysByName])
def test_what_takes_names_alone_is_published_by_them_and_written_by_its_aliases(declared: Any) -> None:
    def act(value: Any) -> Any:
        return value

    made = action("act").confirm("{user_id}?").input(declared).output(declared).handler(act)
    assert next(iter(made.signature.input_schema["properties"])) == "user_id"
    assert made.output is not None
    assert next(iter(made.output.schema["properties"])) == "userId"
    bound = made.signature.bind({"user_id": 5})
    assert bound.values["user_id"] == 5
    assert bound.shown["user_id"] == 5
    with pytest.raises(InvalidInput) as error:
        made.signature.bind({"userId": 5})
    assert error.value.data[0] == {"message": "required, but missing", "path": ["user_id"]}
    assert next(iter(form_for(declared).schema["properties"])) == "user_id"


def test_its_fields_are_found_and_hidden_within_others_too() -> None:
    signature = read_handler(taking(list[ByNameAlone]), name="act")
    item = signature.input_schema["properties"]["value"]["items"]
    assert item["properties"].keys() == {"user_id", "pin", "path"}
    assert signature.bind({"value": [{"user_id": 5}]}).shown["value"] == [
        {"user_id": 5, "pin": "**********", "path": 0}
    ]


class NoChoice(enum.Enum): ...


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (BaseModel, "BaseModel itself has no values; write a model of your own, or dict[str, Any] for any object"),
        (dict[str, list[BaseModel]], "BaseModel itself has no values"),
        (enum.Enum, "Enum has no members to choose from; write an Enum that has some, or Literal[…]"),
        (enum.Flag, "Flag has no members to choose from"),
        (list[NoChoice | None], "NoChoice has no members to choose from"),
        (OnErrorOmit[int], "OnErrorOmit leaves an item out of a list, a set or a dict, and nothing can be left out"),
    ],
)
def test_a_type_without_values_is_refused(declared: Any, message: str) -> None:
    found = refused(taking(declared))[0]
    assert message in found
    assert "the parameter 'value'" in found
    with pytest.raises(InvalidSchema) as asked:
        form_for(declared)
    known = message in asked.value.message
    assert known or asked.value.message == "value: it is a choice without choices"


def test_so_it_is_as_a_whole_input_and_an_output_may_be_any_model() -> None:
    with pytest.raises(RegistrationError, match="the input type BaseModel cannot be used: BaseModel itself has no"):
        read_handler(taking(Any), name="act", input_type=BaseModel)
    assert output_for(taking(Any), name="act", declared=BaseModel, returned=UNSET) is not None


def test_an_item_that_may_be_left_out_is_none_of_those() -> None:
    signature = read_handler(taking(list[OnErrorOmit[int]]), name="act")
    assert signature.bind({"value": [1, "x"]}).call(lambda value: value, None) == [1]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module with a model whose field is of a class that is defined after it."""
    module = types.ModuleType("elsewhere")
    monkeypatch.setitem(sys.modules, "elsewhere", module)
    exec(
        "from __future__ import annotations\nfrom pydantic import BaseModel\n"
        "class Order(BaseModel):\n    items: list[OrderItem] = []\n"
        "class OrderItem(BaseModel):\n    sku: str\n",
        module.__dict__,
    )
    return module


def test_what_a_model_of_another_module_left_open_is_told_with_the_mend(
    elsewhere: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Early(elsewhere.Order): ...

    message = (
        "the annotation of Order.items, 'list[OrderItem]', cannot be resolved where"
        f" {Early.__qualname__} inherits it; call Order.model_rebuild() before {Early.__qualname__} is defined,"
        f" or import OrderItem into {__name__}"
    )
    assert message in refused(taking(Early))[0]

    elsewhere.Order.model_rebuild()

    class Later(elsewhere.Order): ...

    read_handler(taking(Later), name="act")
    monkeypatch.setitem(globals(), "OrderItem", elsewhere.OrderItem)
    read_handler(taking(Early), name="act")


def test_what_is_written_is_not_suggested() -> None:
    found = Scope.of_class(Given).unresolved("Given", NameError("name 'Given' is not defined", name="Given"))
    assert found.corrected != "Given"
