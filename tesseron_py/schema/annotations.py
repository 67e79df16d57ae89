"""Annotations as types: what they may name, what `Self` and type variables stand for, and why one is no type here."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, GenericAlias, SimpleNamespace, UnionType
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import typing_extensions

from ..unset import UNSET

_PACKAGE: Final = __name__.partition(".")[0]
_SELF: Final = (typing_extensions.Self,)


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An annotation that is no type here.

    Attributes:
        text: The annotation.
        reason: What evaluating it raised.
        corrected: The annotation with the name that was probably meant, or `None`.
        hidden: The import or definition that only type checkers see, with its line, or `None`.
        is_value: It is a value, such as a list, and every name in it is known.
    """

    text: str
    reason: str
    corrected: str | None = None
    hidden: str | None = None
    is_value: bool = False

    def mend(self) -> str:
        why = f"{self.text!r} cannot be resolved ({self.reason})"
        if self.hidden is not None:
            return f"{why}; {self.hidden} is under `if TYPE_CHECKING:`, so nothing runs it; move it out of there"
        if self.corrected is not None:
            return f"{why}; did you mean {self.corrected!r}?"
        if self.is_value:
            return f"{why}; write a type"
        return (
            f"{why}; define or import it at module level, before the handler and not only under TYPE_CHECKING or"
            " inside a function"
        )


class Scope:
    """What the annotations of a function may name.

    Args:
        fn: The function that has them.
        owner: The object that `fn` is a method of, or its class, or `None`.
    """

    def __init__(self, fn: Any, owner: Any = None) -> None:
        from .. import context

        self._fn = fn
        self._module: dict[str, Any] = getattr(fn, "__globals__", {})
        code = getattr(fn, "__code__", None)
        self._file: str | None = self._module.get("__file__") if code is None else code.co_filename
        self._class = _defining_class(fn, owner)
        self._bindings = _bindings(owner, self._class)
        # These are often imported for type checkers alone.
        ours = {"Context": context.Context, "SyncContext": context.SyncContext, _PACKAGE: sys.modules[_PACKAGE]}
        self._local: dict[str, Any] = {name: value for name, value in ours.items() if name not in self._module}
        self._local |= _local_names(fn)
        self._local |= {parameter.__name__: parameter for parameter in getattr(fn, "__type_params__", ())}
        names = getattr(code, "co_freevars", ())
        for name, cell in zip(names, getattr(fn, "__closure__", None) or (), strict=False):
            try:
                self._local[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                pass
        self._local |= _nested_classes(self._class)

    def resolved(self, annotation: Any) -> Any:
        """The type that an annotation is: `UNSET` where there is none, `Unresolved` where it is no type."""
        if annotation is inspect.Parameter.empty:
            return UNSET
        holder = SimpleNamespace(__annotations__={"it": annotation})
        try:
            try:
                found = get_type_hints(holder, self._module, self._local, include_extras=True)["it"]
            except NameError:
                around = {**self._class_names(), **self._local}
                found = get_type_hints(holder, self._module, around, include_extras=True)["it"]
        except Exception as error:
            # An annotation is any expression, so evaluating it raises anything.
            qualified = self._qualified(annotation)
            return self.unresolved(annotation, error) if qualified is None else qualified
        if isinstance(found, (list, dict, set)):
            return _no_type(found)
        return bound(found, self._bindings)

    @classmethod
    def of_class(cls, owner: type) -> Scope:
        """What the annotations in the body of a class may name."""
        return cls(SimpleNamespace(__globals__=vars(sys.modules.get(owner.__module__, builtins))), owner)

    def _qualified(self, annotation: Any) -> Any:
        """`Final` and `ClassVar`, which are annotations, but not of parameters; `None` for all others."""
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, self._module, self._local)
            except Exception:
                return None
        return annotation if (get_origin(annotation) or annotation) in (ClassVar, Final) else None

    def _class_names(self) -> dict[str, Any]:
        """What the class defines besides functions, such as an alias of a type."""
        if self._class is None:
            return {}
        return {name: value for name, value in vars(self._class).items() if not hasattr(value, "__get__")}

    def unresolved(self, annotation: Any, error: Exception) -> Unresolved:
        """Why an annotation is no type, and what it may have been meant for."""
        text = unquoted(annotation) if isinstance(annotation, str) else repr(annotation)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        name = error.name if isinstance(error, NameError) else None
        if name is None:
            return Unresolved(text, reason)
        if (hidden := _hidden(self._file, name)) is not None:
            return Unresolved(text, reason, hidden=hidden)
        known = [each for each, value in self._module.items() if inspect.isclass(value)]
        known += [each for each, value in vars(builtins).items() if inspect.isclass(value)]
        from difflib import get_close_matches  # only where something is wrong

        close = get_close_matches(name, [each for each in known if each != name], n=1, cutoff=0.75)
        return Unresolved(text, reason, corrected=text.replace(name, close[0]) if close else None)


def _no_type(found: list[Any] | dict[Any, Any] | set[Any]) -> Unresolved:
    """A list, dict or set of types where the type of one is meant."""
    from .definition import spelled  # only where something is wrong

    def each(value: Any) -> str:
        return spelled(value) if inspect.isclass(value) or get_origin(value) is not None else repr(value)

    kind = type(found).__name__
    if isinstance(found, dict):
        inside = ", ".join(f"{each(key)}: {each(value)}" for key, value in found.items())
        values = {spelled(value) for value in found.values() if inspect.isclass(value)}
        keys = {spelled(key) if inspect.isclass(key) else type(key).__name__ for key in found}
        types = [*keys, *values] if len(keys) == len(values) == 1 else []
        text = f"{{{inside}}}"
    else:
        types = [each(value) for value in found] if len(found) == 1 and inspect.isclass(next(iter(found))) else []
        inside = ", ".join(map(each, found))
        text = f"[{inside}]" if kind == "list" else f"{{{inside}}}"
    corrected = f"{kind}[{', '.join(types)}]" if types else None
    return Unresolved(text, f"a {kind} is no type", corrected=corrected, is_value=True)


def bound(annotation: Any, bindings: Mapping[Any, Any]) -> Any:
    """An annotation with what stands for `Self` and for type variables put in their places."""
    if not bindings:
        return annotation
    if isinstance(annotation, TypeVar) or annotation in _SELF:
        return bindings.get(annotation, annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if not args or origin is Literal:
        return annotation
    if origin is Annotated:
        return Annotated[(bound(args[0], bindings), *args[1:])]
    changed = tuple(bound(each, bindings) for each in args)
    if all(new is old for new, old in zip(changed, args, strict=True)):
        return annotation
    if origin is Union or origin is UnionType:
        return Union[changed]  # noqa: UP007  # `|` joins no tuple, and fails on a name in quotes
    if isinstance(annotation, GenericAlias):
        return GenericAlias(origin, changed)
    return annotation.copy_with(changed) if hasattr(annotation, "copy_with") else annotation


def unquoted(annotation: str) -> str:
    """A postponed annotation that was quoted as well, without its quotes."""
    inner = annotation[1:-1]
    return inner if annotation[:1] in ("'", '"') and annotation == repr(inner) else annotation


def free_variables(annotation: Any) -> Iterator[TypeVar]:
    """The type variables in an annotation that nothing says anything of: neither bound, constraints nor default."""
    if isinstance(annotation, TypeVar):
        default = getattr(annotation, "__default__", typing_extensions.NoDefault)
        if annotation.__bound__ is None and not annotation.__constraints__ and default is typing_extensions.NoDefault:
            yield annotation
    elif get_origin(annotation) is not Literal:
        for each in get_args(annotation):
            yield from free_variables(each)


def _bindings(owner: Any, defining: type | None) -> dict[Any, Any]:
    """What `Self` and the type variables of a method's class stand for, seen from the object that has the method."""
    if owner is None:
        return {}
    cls = owner if inspect.isclass(owner) else type(owner)
    found: dict[Any, Any] = dict.fromkeys(_SELF, cls)
    # One variable may stand for something else in each class, so it counts what it is where the method is defined.
    for variables in _variables(getattr(owner, "__orig_class__", cls), {}, defining):
        found = {**variables, **found}
    return found


def _variables(alias: Any, around: Mapping[Any, Any], wanted: type | None) -> Iterator[dict[Any, Any]]:
    """The type variables of `wanted`, or of every class where that is not known, in a class and its bases."""
    cls = get_origin(alias) or alias
    given = (bound(each, around) for each in get_args(alias))
    here = dict(zip(getattr(cls, "__parameters__", ()), given, strict=False))
    if wanted is None or cls is wanted:
        yield here
    for base in vars(cls).get("__orig_bases__", cls.__bases__) if inspect.isclass(cls) else ():
        yield from _variables(base, here, wanted)


def _defining_class(fn: Any, owner: Any) -> type | None:
    """The class whose body has the function, as far as it can be told."""
    steps = getattr(fn, "__qualname__", "").split(".")[:-1]
    if not steps or steps[-1] == "<locals>":
        return None
    if owner is not None:
        cls = owner if inspect.isclass(owner) else type(owner)
        return next((each for each in cls.__mro__ if each.__qualname__ == ".".join(steps)), None)
    found: Any = SimpleNamespace(**getattr(fn, "__globals__", {}))
    for step in steps:
        found = getattr(found, step, None)
    return found if inspect.isclass(found) else None


def _nested_classes(cls: type | None) -> dict[str, Any]:
    if cls is None:
        return {}
    return {
        name: value
        for name, value in vars(cls).items()
        if inspect.isclass(value) and value.__qualname__ == f"{cls.__qualname__}.{name}"
    }


def _local_names(fn: Any) -> dict[str, Any]:
    """The names of the functions that a local one is defined in, as far as those run still.

    Postponed annotations may be all that names a class there, so it is in no closure.
    """
    code = getattr(fn, "__code__", None)
    if code is None or "<locals>" not in getattr(fn, "__qualname__", ""):
        return {}
    return _names_in(_frames(), lambda frame: _defines(frame.f_code, lambda inner: inner == code))


def names_around(cls: type) -> dict[str, Any]:
    """The names of the functions that a local class is defined in, as far as those run still."""
    if "<locals>" not in cls.__qualname__:
        return {}
    module = vars(sys.modules.get(cls.__module__, builtins))

    def is_body(code: CodeType) -> bool:
        # Before Python 3.11 the code of a body does not say where it stands.
        return code.co_name == cls.__name__ and getattr(code, "co_qualname", cls.__qualname__) == cls.__qualname__

    def is_meant(frame: FrameType) -> bool:
        return frame.f_globals is module and _defines(frame.f_code, is_body)

    if found := _names_in(_frames(), is_meant):
        return found
    # A `def` handler waits in its thread for what is asked for it here; others may run the same function there.
    for top in sys._current_frames().values():
        found = _names_in(_frames(top), is_meant)
        if any(value is cls for value in found.values()):
            return found
    return {}


def _frames(top: FrameType | None = None) -> Iterator[FrameType]:
    """The functions that lead to a place, here by default, the innermost first."""
    frame = inspect.currentframe() if top is None else top
    while frame is not None:
        yield frame
        frame = frame.f_back


def _names_in(frames: Iterator[FrameType], is_meant: Callable[[FrameType], bool]) -> dict[str, Any]:
    """The local names of the functions that are meant; of two alike the inner one's."""
    found: dict[str, Any] = {}
    for frame in frames:
        if is_meant(frame) and frame.f_locals is not frame.f_globals:
            found = {**frame.f_locals, **found}
    return found


def _defines(outer: CodeType, is_meant: Callable[[CodeType], bool]) -> bool:
    nested = [each for each in outer.co_consts if isinstance(each, CodeType)]
    return any(is_meant(each) or _defines(each, is_meant) for each in nested)


def _hidden(file: str | None, name: str) -> str | None:
    """The statement under `if TYPE_CHECKING:` that gives `name` to type checkers, in the module of a file."""
    if file is None:
        return None
    for branch in _checkers_only("".join(linecache.getlines(file))):
        for statement in ast.walk(branch):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for alias in statement.names:
                    if (alias.asname or alias.name.partition(".")[0]) == name:
                        statement.names = [alias]
                        return f"`{ast.unparse(statement)}` (line {statement.lineno})"
            elif isinstance(statement, (ast.ClassDef, ast.FunctionDef)) and statement.name == name:
                return f"`class {name}` (line {statement.lineno})"
            elif isinstance(statement, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == name for target in statement.targets
            ):
                return f"`{name} = …` (line {statement.lineno})"
    return None


def _checkers_only(source: str) -> tuple[ast.If, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    return tuple(
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.If) and ast.unparse(each.test).rpartition(".")[2] == "TYPE_CHECKING"
    )
