"""`MODULE:APP`: found, called, or said to be what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tesseron_py.cli.failure import Failure
from tesseron_py.cli.target import load

SHOP = """
class Box:
    app = "the app in a box"
    def make(self): return "made in a box"
box = Box()
app = "the app"
def make_app(): return "a made app"
def broken(): raise KeyError("no database")
def leave(): raise SystemExit(3)
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with a module in it, as the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "shop_of_a_test.py").write_text(SHOP)
    (tmp_path / "package_of_a_test").mkdir()
    (tmp_path / "package_of_a_test" / "inner.py").write_text("app = 'inner'")
    (tmp_path / "needs_of_a_test.py").write_text("import json\nimport no_such_dependency")
    (tmp_path / "raises_of_a_test.py").write_text("\n\nint('x')")
    (tmp_path / "leaves_of_a_test.py").write_text("import sys; sys.exit()")
    (tmp_path / "syntax_of_a_test.py").write_text("def (:")
    yield tmp_path
    for name in [name for name in sys.modules if "_of_a_test" in name]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("shop_of_a_test:app", "the app"),
        ("shop_of_a_test:box.app", "the app in a box"),
        ("shop_of_a_test:make_app()", "a made app"),
        ("shop_of_a_test:box.make()", "made in a box"),
        ("package_of_a_test.inner:app", "inner"),
    ],
)
def test_an_app_is_found(target: str, found: str) -> None:
    assert load(target) == found
    assert load(target) == found


@pytest.mark.parametrize(
    ("target", "code", "says"),
    [
        ("shop", 2, "does not name an app; write it as MODULE:APP"),
        ("shop:", 2, "does not name an app"),
        (":app", 2, "does not name an app"),
        ("shop.py:app", 2, "there is no module 'shop' here"),
        ("./shop:app", 2, "does not name an app"),
        ("shop:app:x", 2, "does not name an app"),
        ("shop:make_app(1)", 2, "does not name an app"),
        ("no_such_of_a_test:app", 2, "there is no module 'no_such_of_a_test' here"),
        ("package_of_a_test.none:app", 2, "there is no module 'package_of_a_test.none' here"),
        ("shop_of_a_test:ap", 2, "there is no 'ap' in shop_of_a_test; did you mean 'app'?"),
        ("shop_of_a_test:zebra", 2, "there is no 'zebra' in shop_of_a_test"),
        ("shop_of_a_test:app()", 2, "'app' is no factory; leave out the ()"),
        ("shop_of_a_test:broken()", 1, "the factory failed: KeyError: 'no database'"),
        ("shop_of_a_test:leave()", 1, "the factory failed: SystemExit: 3"),
        ("needs_of_a_test:app", 1, "ModuleNotFoundError: No module named 'no_such_dependency'"),
        ("raises_of_a_test:app", 1, "importing raises_of_a_test failed: ValueError: invalid literal"),
        ("leaves_of_a_test:app", 1, "importing leaves_of_a_test failed: SystemExit"),
        ("syntax_of_a_test:app", 1, "syntax_of_a_test.py, line 1"),
    ],
)
def test_what_is_wrong_is_said(target: str, code: int, says: str) -> None:
    with pytest.raises(Failure) as raised:
        load(target)
    assert says in raised.value.message
    assert raised.value.code == code


def test_a_failure_names_the_line_of_the_users_own_code(project: Path) -> None:
    with pytest.raises(Failure, match="no_such_dependency") as raised:
        load("needs_of_a_test:app")
    assert raised.value.message.endswith(f"({project / 'needs_of_a_test.py'}, line 2)")


def test_where_it_failed_stands_beside_what_failed_and_not_behind_what_to_write(project: Path) -> None:
    handler = "def f(ctx: Context) -> int:\n    return 1\n"
    (project / "wrong_of_a_test.py").write_text(
        f"from tesseron_py import Context, Tesseron\napp = Tesseron('x')\n@app.action\n{handler}"
    )
    with pytest.raises(Failure) as raised:
        load("wrong_of_a_test:app")
    first, *rest = raised.value.message.splitlines()
    assert f"RegistrationError: f ({project / 'wrong_of_a_test.py'}:3): " in first
    assert ", line " not in raised.value.message
    assert rest[-1] == "  write:  def f(ctx: SyncContext) -> int"

    (project / "lines_of_a_test.py").write_text("raise ValueError('first\\nsecond')")
    with pytest.raises(Failure) as raised:
        load("lines_of_a_test:app")
    assert raised.value.message.splitlines() == [
        "lines_of_a_test:app: importing lines_of_a_test failed: ValueError: first"
        f" ({project / 'lines_of_a_test.py'}, line 1)",
        "second",
    ]
