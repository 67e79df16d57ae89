"""Secrets are compared in constant time, everywhere: by looking at the code, and at what is called."""

from __future__ import annotations

import ast
import hmac
import re
from pathlib import Path

import pytest

import tesseron_py
from tesseron_py.bindings.channel import Offer
from tesseron_py.gateway.entries import AppInfo
from tesseron_py.gateway.greeting import Greeting, Welcome
from tesseron_py.gateway.instances import Minted
from tesseron_py.gateway.sessions import Sessions
from tesseron_py.host.claims import Claim, ClaimGate
from tesseron_py.mcp.messages import ProtocolError
from tesseron_py.mcp.seal import Seal, State
from tesseron_py.protocol.messages import AgentInfo
from tesseron_py.web.guard import Guard

PACKAGE = Path(tesseron_py.__file__).parent

SECRET = re.compile(r"(^|_)(tokens?|codes?|secrets?|tags?|passwords?|claim_code|resume_token|state_keys?)$")
"""Names of what may be a secret."""
OTHER = re.compile(r"^(error|failure|ended|closed|outcome\.error|response|problem)\.(status_)?code$")
"""Codes of errors, which are none."""
HARMLESS = {
    ("bindings/http.py", "' ' not in token"): "how one's own token is written",
    ("errors.py", "code == ErrorCode.INTERNAL_ERROR"): "the code of an error",
    ("gateway/claims.py", "path.stem == code"): "the gateway's own code, and its own file",
    ("gateway/claims.py", "breadcrumb.code != code"): "a file that was found by the code, and the code in it",
    ("gateway/sessions.py", "found.token == welcome.resume_token"): "both are the gateway's own",
    ("mcp/client_era.py", "code != HEADER_MISMATCH"): "the code of an error",
    ("running.py", "code != shown"): "the app's own code, shown already",
}
"""Comparisons of what is called like a secret that nobody from outside has a hand in, and why."""


def test_no_secret_is_compared_but_in_constant_time() -> None:
    found = set()
    for file in PACKAGE.rglob("*.py"):
        name = file.relative_to(PACKAGE).as_posix()
        if name.startswith(("testing/", "schema/")):  # the tags of `schema` are those of unions
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Compare):
                continue
            if not any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in node.ops):
                continue
            parts = [ast.unparse(part) for part in (node.left, *node.comparators)]
            if any(SECRET.search(part.rpartition(".")[2]) and not OTHER.match(part) for part in parts):
                found.add((name, ast.unparse(node)))
    assert found == HARMLESS.keys()


def test_nothing_else_compares_in_constant_time_than_hmac_with_bytes() -> None:
    """`secrets.compare_digest` and `hmac.compare_digest` of texts raise for what is not ASCII."""
    calls = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("compare_digest"):
                calls.add((file.relative_to(PACKAGE).as_posix(), ast.unparse(node)))
    assert calls == {
        ("gateway/instances.py", "hmac.compare_digest(self.code.upper().encode(), code.encode())"),
        ("gateway/sessions.py", "hmac.compare_digest(one.encode(), other.encode())"),
        ("host/claims.py", "hmac.compare_digest(offer.codes[0].upper().encode(), self._code)"),
        ("mcp/seal.py", "hmac.compare_digest(tag, _tag(secret, body, binding))"),
        ("web/guard.py", "hmac.compare_digest(given.strip(b' '), self._token)"),
    }


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, bytes]]:
    """What has been compared in constant time."""
    pairs: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest

    def spy(one: bytes, other: bytes) -> bool:
        pairs.append((one, other))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", spy)
    return pairs


def test_a_wrong_secret_is_compared_as_a_whole_however_wrong(compared: list[tuple[bytes, bytes]]) -> None:
    guard = Guard(token="s3cret", hosts=(), origins=())
    for given in (b"", b"Bearer x", b"Bearer s3cre", b"Basic s3cret", b"Bearer \xff"):
        assert not guard.allows_token([given])
    assert not guard.allows_token([])
    assert len(compared) == 6  # a missing token takes as long as a wrong one

    compared.clear()
    gate = ClaimGate(Claim("AB3X-7K", "s_1", "token", 0))
    for code in ("ZZZZ-ZZ", "AB3X-7L", "a"):
        gate.offer(Offer("/", (code,)))
    assert [other for _, other in compared] == [b"AB3X-7K"] * 3

    compared.clear()
    assert not Minted("AB3X-7K", "s_1", "token", None).is_of("AB3X-7L")
    assert not Minted("ÄB3X-7K", "s_1", "token", None).is_of("AB3X-7L")
    assert len(compared) == 2


def test_a_wrong_resume_token_is_compared_and_so_is_that_of_a_session_that_is_none(
    compared: list[tuple[bytes, bytes]],
) -> None:
    sessions = Sessions()
    sessions.keep(Welcome("s_1", resume_token="right"), "shop", AgentInfo("a", "A"), "local")
    info = AppInfo("shop", "Shop", "1", "")
    for session, token in (("s_1", "wrong"), ("s_2", "right"), (None, None)):
        greeting = Greeting(info, [], [], extended=False, session_id=session, resume_token=token)
        with pytest.raises(tesseron_py.TesseronError):
            sessions.resume(greeting)
    assert len(compared) >= 3


def test_a_state_is_compared_by_its_tag(compared: list[tuple[bytes, bytes]]) -> None:
    seal = Seal(lifetime=60)
    state = seal.close(State(b"c" * 16, 1), b"this call")
    with pytest.raises(ProtocolError):
        seal.open(state, b"another call")
    assert [len(one) for one, _ in compared] == [32]
