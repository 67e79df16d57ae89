"""What an app says of itself, and of what its author forgot."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tesseron_py import RegistrationError, Tesseron
from tesseron_py.testing import Agent


async def warned(app: Tesseron, log: pytest.LogCaptureFixture) -> list[str]:
    """The warnings that serving begins with."""
    with log.at_level(logging.WARNING, "tesseron_py.app"):
        async with Agent(app):
            return [record.getMessage() for record in log.records if record.name == "tesseron_py.app"]


async def test_an_action_without_a_handler_is_told_when_the_app_is_served(caplog: pytest.LogCaptureFixture) -> None:
    app = Tesseron("shop")
    app.action("clear").describe("Empty the cart")
    app.resource("stats").describe("Counters")
    said = await warned(app, caplog)
    assert len(said) == 2
    assert said[0].startswith("The action 'clear' was begun with app.action(…) and not ended, so no agent sees it")
    assert ".handler(fn)" in said[0]
    assert said[1].startswith("The resource 'stats' was begun with app.resource(…)")
    assert ".read(fn)" in said[1]
    caplog.clear()
    assert await warned(app, caplog) == []  # once


async def test_what_is_ended_or_was_never_begun_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    app = Tesseron("shop")
    half = app.action("clear").describe("Empty the cart")
    half.timeout(5).handler(lambda: 1)
    app.resource("stats").read(lambda: 1)
    app.action(lookup)
    app.resource(figures)
    assert await warned(app, caplog) == []


def lookup() -> int:
    return 1


def figures() -> int:
    return 1


@pytest.mark.parametrize(
    ("item", "mend"),
    [
        (Tesseron("shop").action("x"), "end its steps with .handler(fn) or .read(fn)"),
        (Tesseron("shop").resource("x"), "end its steps with .handler(fn) or .read(fn)"),
        (lookup, "a function becomes one with @app.action"),
    ],
)
def test_what_is_no_action_yet_is_refused_with_the_mend(item: Any, mend: str) -> None:
    with pytest.raises(RegistrationError, match=r"add\(…\) takes an action or a resource, not ") as caught:
        Tesseron("shop").add(item)
    assert str(caught.value).endswith(mend)


@pytest.mark.parametrize("run", [Tesseron.run, Tesseron.start, Tesseron.listen])
def test_an_option_that_there_is_not_is_refused_by_the_name_that_was_called(run: Any) -> None:
    with pytest.raises(
        TypeError, match=rf"Tesseron\.{run.__name__}\(\) got an unexpected keyword argument 'transport'"
    ):
        run(Tesseron("shop"), transport="stdio")
