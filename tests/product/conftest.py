"""Every foreign client, on every event loop it knows, over both carriers: one session of each for a module's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from .clients import Address, Client, Heard, by_hand, official, old
from .person import Person
from .processes import http_server, mcp_command

APP = "tests.product.app:app"


FOREIGN = [
    # The HTTP client below mcp 2.3 leaves its generators to the collector, which trio says aloud.
    pytest.mark.filterwarnings("ignore:Async generator '(httpx2|httpcore2)[.]:ResourceWarning"),
    # Its legacy methods are deprecated, and what is tested.
    pytest.mark.filterwarnings("ignore:resources/subscribe is removed"),
]
"""What the official client has to be excused for."""


@dataclass(frozen=True)
class Kind:
    """A client, on an event loop.

    Attributes:
        withdraws: Whether it takes a prompt away from the person when the server says so. One that does not shows one
            prompt at a time, too.
    """

    name: str
    loop: str
    connect: Callable[..., AbstractAsyncContextManager[Client]]
    withdraws: bool = True

    def __str__(self) -> str:
        return f"{self.name}-{self.loop}"


OFFICIAL = [Kind("mcp 2.3", "asyncio", official), Kind("mcp 2.3", "trio", official)]
AUTO = [Kind("mcp 2.3 auto", loop, partial(official, mode="auto")) for loop in ("asyncio", "trio")]
BY_HAND = [Kind("by hand", "asyncio", by_hand), Kind("by hand", "trio", by_hand)]
# Its process runs asyncio, the only loop in its environment.
OLD = Kind("mcp 1.30", "asyncio", old, withdraws=False)


@pytest.fixture(scope="module", params=[*OFFICIAL, OLD], ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Who connects; `of_kind` names others."""
    found: Kind = request.param
    return found


def of_kind(*kinds: Kind) -> pytest.MarkDecorator:
    """Run a test with these clients."""
    return pytest.mark.parametrize("kind", kinds, ids=str, indirect=True)


@pytest.fixture(scope="module")
def anyio_backend(kind: Kind) -> str:
    """The event loop that the client runs on; of the module's scope, as its session is."""
    return kind.loop


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the app is served over HTTP."""
    with http_server(APP) as (url, _):
        yield url


@pytest.fixture(scope="module", params=["stdio", "http"])
def carrier(request: pytest.FixtureRequest) -> str:
    """How the client reaches the app."""
    return str(request.param)


@pytest.fixture(scope="module")
def address(carrier: str, request: pytest.FixtureRequest) -> Address:
    """The URL of the app's server, or the command that starts one."""
    return str(request.getfixturevalue("url")) if carrier == "http" else mcp_command(APP)


@pytest.fixture(scope="module")
async def session(kind: Kind, address: Address, anyio_backend: Any) -> AsyncIterator[Client]:
    """A session that the tests of a module share."""
    async with kind.connect(address) as client:
        yield client


@pytest.fixture
def client(session: Client) -> Client:
    """The shared session, with a person who has been asked nothing yet."""
    session.person = Person()
    session.heard = Heard()
    return session
