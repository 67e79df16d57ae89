"""`~/.tesseron`: private, whole or not at all, and unreadable things are nothing."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tesseron_py import directory
from tesseron_py.directory import DirectoryProblem


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_made_private_and_tightened(tesseron_home: Path) -> None:
    made = directory.private("instances")
    assert made == tesseron_home / "instances"
    assert (mode(tesseron_home), mode(made)) == (0o700, 0o700)
    made.chmod(0o777)
    tesseron_home.chmod(0o755)
    directory.private("instances")
    assert (mode(tesseron_home), mode(made)) == (0o700, 0o700)


def test_a_file_is_written_whole_with_mode_0600_and_replaced(tesseron_home: Path) -> None:
    path = directory.private("instances") / "a.json"
    previous = os.umask(0)
    try:
        directory.write(path, {"a": 1})
        directory.write(path, {"a": 2})
    finally:
        os.umask(previous)
    assert mode(path) == 0o600
    assert directory.read(path) == {"a": 2}
    assert [entry.name for entry in path.parent.iterdir()] == ["a.json"]


def test_nothing_is_left_behind_by_a_write_that_fails(tesseron_home: Path) -> None:
    path = directory.private("instances") / "a.json"
    with pytest.raises(ValueError, match="serialize"):
        directory.write(path, {"a": object()})
    path.mkdir()
    with pytest.raises(OSError, match=r".+"):
        directory.write(path, {"a": 1})
    assert [entry.name for entry in path.parent.iterdir()] == ["a.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", "7", '{"a":NaN}', "\x00" * 50, '{"a": 1}' + " " * (1024 * 1024)])
def test_what_is_no_object_or_too_large_is_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    assert directory.read(path) is None


def test_what_is_no_plain_file_is_nothing(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text('{"a":1}')
    link, pipe = tmp_path / "link.json", tmp_path / "pipe.json"
    link.symlink_to(real)
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, b'{"a":1}')
    for path in (link, pipe, tmp_path, tmp_path / "missing.json"):
        assert directory.read(path) is None
    os.close(writer)
    assert directory.read(real) == {"a": 1}


def test_a_file_of_another_user_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a":1}')
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert directory.read(path) is None


def test_a_place_that_cannot_be_used_says_what_to_do(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tesseron_home.write_text("a file")
    with pytest.raises(DirectoryProblem, match="TESSERON_HOME"):
        directory.private("instances")
    tesseron_home.unlink()
    directory.private("instances")
    monkeypatch.setattr(os, "geteuid", lambda: tesseron_home.stat().st_uid + 1)
    with pytest.raises(DirectoryProblem, match="belongs to another user"):
        directory.private("instances")
    monkeypatch.undo()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TESSERON_HOME", str(tmp_path / "file" / "below"))
    with pytest.raises(DirectoryProblem, match="make it writable"):
        directory.private("instances")


def test_without_a_home_directory_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("TESSERON_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(DirectoryProblem, match="set HOME"):
        directory.root()
    monkeypatch.undo()
    monkeypatch.delenv("TESSERON_HOME", raising=False)
    assert directory.root() == Path.home() / ".tesseron"


def test_a_link_of_the_users_own_is_followed(tesseron_home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    tesseron_home.symlink_to(elsewhere)
    path = directory.private("instances") / "a.json"
    directory.write(path, {"a": 1})
    assert json.loads((elsewhere / "instances" / "a.json").read_text()) == {"a": 1}
    assert mode(elsewhere) == 0o700


def test_field_79_where_modes_mean_nothing_it_works_without_them(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(sys, "platform", "win32")
    for name in ("fchmod", "fchown", "geteuid", "getuid", "O_NOFOLLOW", "O_NONBLOCK"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(os, "chmod", lambda *args, **options: None)
    monkeypatch.setattr(Path, "chmod", lambda *args, **options: None)
    monkeypatch.setattr(os, "kill", lambda pid, signal: killed.append(pid))  # which ends a process there
    tesseron_home.mkdir(mode=0o755)
    path = directory.private("instances") / "a.json"
    for content in ({"a": 1}, {"a": 2}):
        directory.write(path, content)
        assert directory.read(path) == content
    assert [entry.name for entry in path.parent.iterdir()] == ["a.json"]
    assert directory.is_alive(os.getpid())
    assert killed == []


def test_field_79_a_file_system_that_keeps_no_modes_is_good_enough(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tesseron_home.mkdir(mode=0o755)
    monkeypatch.setattr(os, "chmod", lambda *args, **options: None)
    monkeypatch.setattr(Path, "chmod", lambda *args, **options: None)
    path = directory.private("instances") / "a.json"
    directory.write(path, {"a": 1})
    assert directory.read(path) == {"a": 1}
    assert mode(tesseron_home) == 0o755
