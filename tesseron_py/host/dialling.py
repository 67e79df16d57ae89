"""`dialling_host`: an app that connects to a gateway over HTTP, wherever that runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .. import local_gateways
from ..bindings.channel import Closed
from .endpoints import Find, dialling_source
from .host import Host

if TYPE_CHECKING:
    from ..app import Tesseron

_NONE = "no gateway on this machine takes apps over HTTP; start one: tesseron-py gateway --http"


def dialling_host(
    app: Tesseron, url: str | None = None, *, token: str | None = None, pairing: str | Path | None = None
) -> Host:
    """The host of `Tesseron.connect`.

    Args:
        app: The app.
        url: As for `connect`.
        token: As for `connect`.
        pairing: As for `connect`.

    Raises:
        ValueError: The URL or the token is none, or the token is missing.
    """
    from ..bindings.http import check_url

    find: Find
    if url is None:
        find = _find_newest
    else:
        given = str(check_url(url))
        token = token or os.environ.get("TESSERON_TOKEN") or None
        find = _found(given, token) if token is not None else _at(given)
    file = Path(pairing) if pairing is not None else None
    return Host(app, dialling_source(find, limit=app.limits.frame), announce=False, pairing_file=file)


def _found(url: str, token: str) -> Find:
    return lambda: (url, token)


def _find_newest() -> tuple[str, str]:
    """The gateway of this user on this machine that started last."""
    for gateway in local_gateways.running():
        return gateway.url, gateway.token
    raise Closed(_NONE)


def _at(url: str) -> Find:
    """The gateway of this user on this machine at `url`, which left its token."""

    def find() -> tuple[str, str]:
        for gateway in local_gateways.running():
            if gateway.url == url:
                return url, gateway.token
        raise Closed(
            f"no gateway of yours on this machine is at {url}; start it (tesseron-py gateway --http), or give the token"
            " of one that is elsewhere (token=…, or $TESSERON_TOKEN)"
        )

    return find
