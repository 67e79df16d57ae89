"""Handlers in a module whose annotations are evaluated where they stand, some of them quoted."""

from typing import Annotated

from pydantic import BaseModel, Field

from tesseron_py import Context, SyncContext


async def forward(
    ctx: "Context", item: "Item", items: list["Item"], maybe: "Item | None" = None, n: Annotated["int", Field(ge=1)] = 1
) -> "Item":
    return item


def in_thread(ctx: SyncContext, text: "Annotated[str, Field(min_length=2)]") -> str:
    return text


def never_defined(item: "Itme") -> None: ...  # type: ignore[name-defined]  # noqa: F821  # the case


class Item(BaseModel):
    sku: str
