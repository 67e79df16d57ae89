"""Files that others may have written: manifests, breadcrumbs, gateways, a kept pairing."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from tesseron_py import local_gateways
from tesseron_py.bindings.websocket import _local_uri
from tesseron_py.gateway.claims import Breadcrumbs, read_code
from tesseron_py.gateway.discovery import Discovery
from tesseron_py.gateway.instances import Instance, WebSocketAt, read_instance
from tesseron_py.host.pairing import Pairing

_CODE = "AB3X-7K"
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where files cost least."""


def files_target(data: bytes) -> None:
    """A file is what its chapter says, or nothing; what may be dialled is on this machine; none stands in the way."""
    home = Path(tempfile.mkdtemp(prefix="fuzz-", dir=MEMORY))
    before = os.environ.get("TESSERON_HOME")
    os.environ["TESSERON_HOME"] = str(home)
    try:
        _look(home, data)
    finally:
        if before is None:
            del os.environ["TESSERON_HOME"]
        else:
            os.environ["TESSERON_HOME"] = before
        shutil.rmtree(home)


def _look(home: Path, data: bytes) -> None:
    files = [home / folder / name for folder in ("instances", "tabs") for name in ("a.json", "b.json")]
    files += [home / "claims" / f"{_CODE}.json", home / "gateways" / "1.json", home / "pairing.json"]
    for file in files:
        file.parent.mkdir(exist_ok=True, mode=0o700)
        file.write_bytes(data)
    good = home / "instances" / "good.json"
    good.write_text(
        '{"version":2,"instanceId":"inst-1","appName":"x","addedAt":1,"transport":{"kind":"ws","url":"ws://[::1]:1/"},'
        f'"helloHandledByHost":true,"hostMintedClaim":{{"code":"{_CODE}","sessionId":"s","resumeToken":"t"}}}}'
    )

    found: dict[Path, Instance | None] = {}
    discovery = Discovery(found.__setitem__)
    discovery.look()
    assert good in discovery.instances, "a bad file stands in the way of a good one"
    instance = read_instance(files[0], "instances")
    for each in (instance, read_instance(files[2], "tabs")):
        if each is not None and isinstance(each.place, WebSocketAt):
            _assert_dials_here(each.place.url)
    with_code = [each for each in discovery.instances.values() if each.minted is not None and each.minted.is_of(_CODE)]
    assert with_code, "the code of a good file is not found beside a bad one"
    crumbs = Breadcrumbs()
    crumb = crumbs.find(_CODE)
    assert crumb is None or crumb.code == _CODE
    crumbs.sweep()
    for gateway in local_gateways.running():
        assert gateway.pid > 0
    pair = Pairing("shop", file=home / "pairing.json").pair
    assert pair is None or (pair.session_id is not None and "resume_token" not in repr(pair))
    code = read_code(data.decode("utf-8", "replace"))
    assert code is None or (len(code) == 7 and "/" not in code and "." not in code)


def _assert_dials_here(url: str) -> None:
    try:
        uri = _local_uri(url)
    except ValueError:
        return
    assert uri.host.lower() in ("localhost", "::1") or uri.host.startswith("127."), url
    parts = urlsplit(url)
    assert (parts.hostname or "").lower() == uri.host.lower(), url
    assert "@" not in parts.netloc, url
