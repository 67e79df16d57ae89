"""`listening_host`: an app that listens on this machine, by its binding and by who mints its claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..bindings.channel import OpenGate
from .claims import Claim, ClaimGate
from .endpoints import unix_source, websocket_source
from .host import Claims, Host

if TYPE_CHECKING:
    from ..app import Tesseron
    from ..workers import Workers


def listening_host(
    app: Tesseron,
    binding: Literal["ws", "uds"] = "ws",
    *,
    claims: Claims = "host",
    port: int = 0,
    pairing: str | Path | None = None,
    claim: Claim | None = None,
    workers: Workers | None = None,
) -> Host:
    """The host of `Tesseron.listen`.

    Args:
        app: The app.
        binding: As for `listen`.
        claims: As for `listen`.
        port: As for `listen`.
        pairing: As for `listen`.
        claim: The claim, instead of one minted here: for tests of gateways.
        workers: The threads of `def` handlers; by default the app's.

    Raises:
        ValueError: The binding or who mints the claims is none.
    """
    if claims not in ("host", "gateway"):
        raise ValueError(f'claims are minted by the "host" or by the "gateway", not by {claims!r}')
    if claims == "host" and claim is None:
        claim = Claim.mint()
    gate = ClaimGate(claim) if claim is not None else None
    match binding:
        case "ws":
            source = websocket_source(gate or OpenGate(), port=port, limits=app.limits)
        case "uds":
            source = unix_source(gate or OpenGate(), limits=app.limits)
        case _:
            raise ValueError(f'an app listens on "ws" or "uds", not on {binding!r}')
    file = Path(pairing) if pairing is not None else None
    return Host(app, source, gate=gate, claim=claim, pairing_file=file, workers=workers)
