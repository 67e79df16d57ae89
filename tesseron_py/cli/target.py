"""`load`: from `MODULE:APP` on a command line to the object it names."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from .failure import Failure

if TYPE_CHECKING:
    from ..app import Tesseron

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
            where = getattr(sys.modules.get(module_name), "__file__", None)
            file = f" ({where})" if where else ""
            raise Failure(f"{target}: there is no {name!r} in {module_name}{hint}{file}", 2) from error
    if not call:
        return found
    if not callable(found):
        raise Failure(f"{target}: {'.'.join(names)!r} is no factory; leave out the ()", 2)
    try:
        return found()
    except (Exception, SystemExit) as error:
        raise Failure(f"{target}: the factory failed: {_described(error)}") from error


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
            hint = f"; a module is named without .py: {name[:-3]}" if name.endswith(".py") else ""
            message = f"{target}: there is no module {missing!r} here ({os.getcwd()}) or installed{hint}"
            raise Failure(message, 2) from error
        raise Failure(f"{target}: {_described(error)}") from error
    except (Exception, SystemExit) as error:
        raise Failure(f"{target}: importing {name} failed: {_described(error)}") from error


def _described(error: BaseException) -> str:
    from .origin import described  # it takes time to import, and most apps load

    return described(error)
