"""What a wrong name may have been meant for: names are compared, and not what many of them begin with."""

from __future__ import annotations

import pytest

from tesseron_py.gateway.meant import meant
from tesseron_py.mcp.provider import UnknownResource, UnknownTool

from .fake_app import FakeClient
from .test_gateway import CLAIM, a_gateway, connect, output

KNOWN = {"shop": ["data://stats", "boom", "carts"], "depot": ["data://stats", "file://stock", "gates"]}


@pytest.mark.parametrize(
    ("wanted", "within", "found"),
    [
        ("stat", "shop", ("shop", "data://stats")),
        ("stats", "depot", ("depot", "data://stats")),
        ("data://stat", "", ("shop", "data://stats")),
        ("file://stats", "depot", ("depot", "data://stats")),
        ("data://stats", "deepot", ("depot", "data://stats")),
        ("data://stats", "shopp", ("shop", "data://stats")),
        ("gate", "", ("depot", "gates")),
        ("gate", "shop", None),
        ("data://zzz", "shop", None),
        ("zzzzz", "", None),
        ("", "", None),
        ("x" * 1_000_000, "y" * 1_000_000, None),
        ("x" * 1_000_000 + "://stats", "shop", None),
    ],
)
def test_names_are_compared(wanted: str, within: str, found: tuple[str, str] | None) -> None:
    assert meant(wanted, KNOWN, within=within) == found


def test_where_there_is_nothing_nothing_is_meant() -> None:
    assert meant("stats", {}) is None
    assert meant("stats", {"shop": []}, within="shop") is None


async def test_a_gateway_compares_without_the_names_of_apps() -> None:
    hello = {
        "actions": [{"name": name, "inputSchema": {"type": "object"}} for name in ("boom", "count")],
        "resources": [{"name": name} for name in ("boom", "data://stats")],
    }
    async with a_gateway(discover=False) as gateway:
        client = FakeClient(gateway)
        welcome = (await connect(gateway).hello(**hello))["result"]
        await output(gateway, client, CLAIM, code=welcome["claimCode"])
        for tool, mend in (
            ("shop__zoo", ""),
            ("shop__cont", "; did you mean 'shop__count'?"),
            ("count", "; did you mean 'shop__count'?"),
            ("shpo__count", "; did you mean 'shop__count'?"),
            ("tesseron__claim_sesion", "; did you mean 'tesseron__claim_session'?"),
        ):
            with pytest.raises(UnknownTool) as unknown_tool:
                gateway.call_tool(tool, {}, client.caller())
            assert unknown_tool.value.args[0] == f"There is no tool {tool!r}{mend}"
        for uri, mend in (
            ("tesseron://shop/stat", "; did you mean 'tesseron://shop/data%3A%2F%2Fstats'?"),
            ("tesseron://shpo/boom", "; did you mean 'tesseron://shop/boom'?"),
            ("tesseron://shop/zoo", ""),
            ("tesseron://shop", ""),
            ("boom", "; did you mean 'tesseron://shop/boom'?"),
            ("data://stats", "; did you mean 'tesseron://shop/data%3A%2F%2Fstats'?"),
        ):
            with pytest.raises(UnknownResource) as unknown:
                gateway.read_resource(uri, client.caller())
            assert unknown.value.args[0] == f"There is no resource {uri!r}{mend}"
