"""Handlers in a module whose annotations are postponed, as most are."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, Self, TypeVar

from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType, TypedDict

if TYPE_CHECKING:
    from decimal import Decimal

    from tesseron_py import Context, SyncContext

T = TypeVar("T")


class Color(enum.StrEnum):
    RED = "red"


class Item(BaseModel):
    """Named like one within `Shop`."""

    outer: int


class Order(BaseModel):
    items: list[Later]
    parent: Order | None = None


class Later(BaseModel):
    sku: str


@dataclasses.dataclass
class Point:
    x: int
    tags: list[str] = dataclasses.field(default_factory=list)


class Options(TypedDict):
    depth: int
    name: NotRequired[str]


class Pair(NamedTuple):
    a: int
    b: str = "b"


UserId = NewType("UserId", int)
Short = TypeAliasType("Short", Annotated[str, Field(max_length=3)])


async def many(
    ctx: Context,
    a: Annotated[int, Field(ge=1, description="An a")],
    b: Literal["x", "y"],
    c: Color,
    d: Order,
    e: Point,
    f: Options,
    g: Pair,
    h: UserId,
    i: Short,
    j: list[dict[str, int | None]],
    k: str | None,
    *,
    l: int = 3,  # noqa: E741  # one letter a parameter
    m: list[str] = Field(default_factory=list),  # noqa: B008  # how defaults are made
) -> Order:
    return d


def in_thread(text: str, ctx: SyncContext | None = None) -> str:
    return text


def quoted_too(text: "str", item: "list[Item]") -> "str":  # noqa: UP037  # twice postponed
    return text


def for_checkers_alone(price: Decimal) -> Decimal:
    return price


class Shop:
    class Item(BaseModel):
        inner: int

    class Nested(BaseModel):
        deep: int

    name: str

    def buy(self, nested: Nested) -> Nested:
        return nested

    @staticmethod
    def sell(nested: Nested) -> Nested:
        return nested

    @classmethod
    def gift(cls, nested: Nested) -> Nested:
        return nested

    def link(self, point: Point) -> Self:
        return self


class Node(BaseModel):
    value: int = 0

    def join(self, other: Self, more: list[Self] | None = None, named: dict[str, Annotated[Self, "x"]] = {}) -> Self:  # noqa: B006  # never changed
        return other

    @classmethod
    def made(cls, other: Self) -> Self:
        return other


class Leaf(Node):
    leaf: int = 1


class Shelf(Generic[T]):
    def put(self, item: T, others: list[T]) -> T:
        return item


class IntShelf(Shelf[int]):
    pass


def local(take: Callable[[Any], Any]) -> tuple[Any, type]:
    """A handler whose annotation is a class that only this call has, and that its body does not mention."""

    class Local(BaseModel):
        n: int

    def handler(value: Local, values: list[Local]) -> Local:
        return value

    return take(handler), Local


def local_method(take: Callable[[Any], Any]) -> tuple[Any, type]:
    class Local(BaseModel):
        n: int

    class Service:
        def run(self, value: Local) -> Local:
            return value

    return take(Service().run), Local


def closed_over(kind: type[T]) -> Callable[..., Any]:
    def handler(value: kind) -> kind:  # type: ignore[valid-type]
        return kind(value)  # type: ignore[call-arg]

    return handler


class Stall:
    Price = int

    class Item(BaseModel):
        inner: int

    def sell(self, item: Item, price: Price) -> Item:
        return item

    def list(self, prices: dict[str, Price]) -> None: ...


def shadowing(take: Callable[[Any], Any]) -> tuple[Any, type]:
    class Item(BaseModel):
        here: int

    def handler(item: Item) -> Item:
        return item

    return take(handler), Item
