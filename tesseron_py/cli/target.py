"""`load`: from `MODULE:APP` on a command line to the object it names."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

from .failure import Failure

if TYPE_CHECKING:
    from ..app import Tesseron

_LIBRARY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_FORM = "MODULE:APP, like shop.main:app, or MODULE:make_app() for a factory"


def load(target: str) -> Any:
    """The object that `target` names: `module:attribute`, or `module:factory()`, whose result it is.

    The current directory is searched first, as `python -m` does.

    Raises:
        Failure: There is no such module or attribute, or the user's own code failed; the message says where.
    """
    module_name, colon, path = target.partition(":")
    call = path.endswith("()")
    names = path.removesuffix("()").split(".")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), *names)):
        raise Failure(f"{target!r} does not name an app; write it as {_FORM}", 2)
    if (cwd := os.getcwd()) not in sys.path:
        sys.path.insert(0, cwd)
    found = _import(module_name, target)
    for name in names:
        try:
            found = getattr(found, name)
        except AttributeError as error:
            close = difflib.get_close_matches(name, dir(found), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise Failure(f"{target}: there is no {name!r} in {module_name}{hint}", 2) from error
    if not call:
        return found
    if not callable(found):
        raise Failure(f"{target}: {'.'.join(names)!r} is no factory; leave out the ()", 2)
    try:
        return found()
    except (Exception, SystemExit) as error:
        raise Failure(f"{target}: the factory failed: {_where(error)}") from error


def load_app(target: str) -> Tesseron:
    """The app that `target` names.

    Raises:
        Failure: There is none; the message says what is there instead.
    """
    from ..app import Tesseron

    found = load(target)
    if not isinstance(found, Tesseron):
        hint = f"; if it makes the app, write {target}()" if callable(found) else ""
        raise Failure(f"{target} is a {type(found).__name__}, and a Tesseron app is needed{hint}", 2)
    return found


def _import(name: str, target: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise Failure(f"{target}: there is no module {missing!r} here ({os.getcwd()}) or installed", 2) from error
        raise Failure(f"{target}: {_where(error)}") from error
    except (Exception, SystemExit) as error:
        raise Failure(f"{target}: importing {name} failed: {_where(error)}") from error


def _where(error: BaseException) -> str:
    """The error, and the last line of the user's own code that it came through."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, SyntaxError):
        return said  # which names file and line itself
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_LIBRARY)
        and not frame.filename.startswith("<frozen importlib")
        and frame.lineno
        and not frame.filename.startswith(os.path.dirname(importlib.__file__))
    ]
    return f"{said} ({frames[-1].filename}, line {frames[-1].lineno})" if frames else said
