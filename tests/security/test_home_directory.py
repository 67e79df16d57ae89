"""Tricks in `~/.tesseron`: links, devices, pipes, other owners, names that lead elsewhere, files that change."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tesseron_py import directory, local_gateways
from tesseron_py.directory import DirectoryProblem
from tesseron_py.gateway.claims import Breadcrumbs, read_code
from tesseron_py.gateway.discovery import Discovery
from tesseron_py.gateway.entries import AppInfo
from tesseron_py.gateway.instances import Instance
from tesseron_py.host.manifest import Manifest
from tesseron_py.host.pairing import Pairing
from tesseron_py.protocol.messages import AgentInfo

pytestmark = pytest.mark.skipif(os.name == "nt", reason="what is tried here is of POSIX")

SECRET = '{"version": 2, "secret": "of another file"}'
AGENT = AgentInfo("a", "A")


def manifest(**changes: Any) -> dict[str, Any]:
    transport = {"kind": "ws", "url": "ws://127.0.0.1:9/"}
    common = {"version": 2, "instanceId": "i", "appName": "An app", "addedAt": 1, "pid": os.getpid()}
    return {**common, "transport": transport, **changes}


def a_link(place: Path, target: Path) -> None:
    place.symlink_to(target)


def a_link_in_circles(place: Path, target: Path) -> None:
    place.symlink_to(place)


def a_pipe(place: Path, target: Path) -> None:
    os.mkfifo(place)


def a_directory(place: Path, target: Path) -> None:
    place.mkdir()


def a_socket(place: Path, target: Path) -> None:
    import socket

    sock = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(place.parent)  # a path of a socket may be no longer than a hundred bytes
    try:
        sock.bind(place.name)
    finally:
        os.chdir(here)
        sock.close()


def a_link_to_a_device(place: Path, target: Path) -> None:
    place.symlink_to("/dev/zero")


def a_huge_file(place: Path, target: Path) -> None:
    with place.open("wb") as file:
        file.truncate(1 << 40)  # a terabyte, of which nothing is on the disk


TRICKS = [a_link, a_link_in_circles, a_pipe, a_directory, a_socket, a_link_to_a_device, a_huge_file]


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__)
def test_what_is_no_plain_file_of_ours_is_nothing_to_any_reader(
    trick: Callable[[Path, Path], None], tesseron_home: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target.json"
    target.write_text(json.dumps(manifest()))
    folders = [directory.private(name) for name in ("instances", "tabs", "claims", "gateways")]
    for folder in folders:
        trick(folder / ("AB3X-7K.json" if folder.name == "claims" else "1.json"), target)
    changes: list[Any] = []
    discovery = Discovery(lambda file, instance: changes.append(instance))
    discovery.look()
    assert discovery.instances == {}
    assert changes == []
    assert Breadcrumbs().find("AB3X-7K") is None
    Breadcrumbs().sweep()
    assert local_gateways.running() == []
    pairing = tesseron_home / "pairing.json"
    trick(pairing, target)
    assert Pairing("shop", file=pairing).pair is None
    assert json.loads(target.read_text()) == manifest()  # nobody has followed the link to write, nor to remove


def test_what_is_written_takes_the_place_of_a_link_and_not_of_what_it_leads_to(
    tesseron_home: Path, tmp_path: Path
) -> None:
    target = tmp_path / "precious"
    target.write_text(SECRET)
    place = directory.private(directory.INSTANCES) / "a.json"
    place.symlink_to(target)
    directory.write(place, {"a": 1})
    assert target.read_text() == SECRET
    assert not place.is_symlink()
    pairing = tmp_path / "pairing.json"
    pairing.symlink_to(target)
    Pairing("shop", file=pairing).keep("s_1", "token", AGENT)
    assert target.read_text() == SECRET
    assert stat.S_IMODE(pairing.lstat().st_mode) == 0o600


def test_a_temporary_name_that_is_taken_is_not_written_through(
    tesseron_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "precious"
    target.write_text(SECRET)
    place = directory.private(directory.INSTANCES) / "a.json"
    monkeypatch.setattr("tesseron_py.directory.secrets.token_hex", lambda _: "guessed")
    place.with_name(".a.json.guessed.tmp").symlink_to(target)
    with pytest.raises(FileExistsError):
        directory.write(place, {"a": 1})
    assert target.read_text() == SECRET


@pytest.mark.parametrize("which", ["the directory", "what is in it"])
def test_a_directory_of_somebody_else_is_refused_also_behind_a_link(
    which: str, tesseron_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o777)
    if which == "the directory":
        tesseron_home.symlink_to(theirs)
    else:
        tesseron_home.mkdir()
        (tesseron_home / "instances").symlink_to(theirs)
    real = Path.stat

    def stat_of(path: Path, **options: Any) -> os.stat_result:
        found = list(real(path, **options))
        if path == (tesseron_home if which == "the directory" else tesseron_home / "instances"):
            found[4] = os.geteuid() + 1
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", stat_of)
    with pytest.raises(DirectoryProblem, match="belongs to another user"):
        directory.private("instances")


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o750, 0o1777])
def test_a_directory_that_others_may_enter_is_closed_to_them_before_anything_is_in_it(
    mode: int, tesseron_home: Path
) -> None:
    tesseron_home.mkdir()
    (tesseron_home / "instances").mkdir()
    for place in (tesseron_home, tesseron_home / "instances"):
        place.chmod(mode)
    before = os.umask(0)
    try:
        made = Manifest("shop")
        made.write({"kind": "ws", "url": "ws://127.0.0.1:1/"})
    finally:
        os.umask(before)
    for place in (tesseron_home, tesseron_home / "instances"):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    made.remove()


def test_a_file_that_is_exchanged_between_the_check_and_the_use_is_not_used(
    tesseron_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is opened is what is looked at and read: there is no time between, whatever happens to the name."""
    place = directory.private(directory.INSTANCES) / "a.json"
    directory.write(place, {"ours": 1})
    evil = tmp_path / "evil.json"
    evil.write_text(json.dumps({"evil": 1}))
    real = os.fstat

    def exchange(descriptor: int) -> os.stat_result:
        place.unlink()
        place.symlink_to(evil)
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", exchange)
    assert directory.read(place) == {"ours": 1}
    monkeypatch.undo()
    assert directory.read(place) is None


def test_a_file_that_grows_while_it_is_read_is_not_read_on(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = directory.private(directory.INSTANCES) / "a.json"
    directory.write(place, {"a": 1})
    real = os.fstat

    def grow(descriptor: int) -> os.stat_result:
        found = real(descriptor)
        with place.open("ab") as file:
            file.truncate(1 << 40)
        return found

    monkeypatch.setattr(os, "fstat", grow)
    assert directory.read(place) is None


def test_names_that_lead_elsewhere_name_no_file(tesseron_home: Path, tmp_path: Path) -> None:
    outside = tesseron_home.parent / "AB3X-7K.json"
    for text in ("../AB3X-7K", "..%2fAB3X-7K", "/etc/passwd", "AB3X/7K", "AB3X-7K\0", "..", "AB3X-7K.json", "ＡB3X-7K"):
        assert read_code(text) is None, text
    crumbs = Breadcrumbs()
    crumbs.write("AB3X-7K", "../../s", AppInfo("../../id", "../../name", "1", ""))
    assert [file.name for file in (tesseron_home / "claims").iterdir()] == ["AB3X-7K.json"]
    crumbs.remove_all()
    assert not outside.exists()
    # Ids from manifests are shown and compared, and no file is ever named by one.
    place = directory.private(directory.INSTANCES)
    directory.write(place / "a.json", manifest(instanceId="../../../x", appName="../x"))
    found: dict[Path, Instance | None] = {}
    discovery = Discovery(found.__setitem__)
    discovery.look()
    (instance,) = discovery.instances.values()
    assert (instance.id, instance.file) == ("../../../x", place / "a.json")


def test_what_is_removed_is_the_file_itself(tesseron_home: Path, tmp_path: Path) -> None:
    """A manifest of a dead process is removed; a link never is taken for one, and what it leads to stays."""
    dead = tmp_path / "dead.json"
    dead.write_text(json.dumps(manifest(pid=2**22 + 4321)))
    place = directory.private(directory.INSTANCES)
    (place / "link.json").symlink_to(dead)
    os.link(dead, place / "hard.json")
    Discovery(lambda file, instance: None).look()
    assert dead.exists()
    assert (place / "link.json").is_symlink()
    assert not (place / "hard.json").exists()
