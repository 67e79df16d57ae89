"""The type of an action's output: its JSON Schema, and the check of a strict action."""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..errors import ActionError, RegistrationError
from ..unset import UNSET
from .defaults import fits
from .generate import named, reason
from .handler import is_function, place_of
from .issues import Issue, issues_of, summary
from .nodes import children
from .signature import output_schema
from .unusable import unusable

_NO_TYPES: Final = (dict, list, set, tuple)

logger = logging.getLogger("tesseron_py.schema")


@dataclass(frozen=True, slots=True)
class Output:
    """What an action puts out: `schema` is published, `check` is for strict actions."""

    schema: dict[str, Any]
    _adapter: Any
    _serializer: Any
    _structure: Any
    _is_computed: bool
    """Whether functions of the author's write a part of it, which nothing has validated."""

    def check(self, value: Any) -> Any:
        """`value` as JSON, when it fits the type.

        Raises:
            ActionError: It does not; `data` lists every issue as `{message, path}`.
        """
        from pydantic import ValidationError

        try:
            checked = self._adapter.validate_python(value)
        except ValidationError as error:
            raise _misfit(issues_of(error, value, noun="field", show=lambda path: True)) from error
        if self._structure is not None:  # an instance counts as valid there, whatever it holds by now
            try:
                self._structure.validate_python(checked)
            except ValidationError as error:
                held = self._adapter.dump_python(checked, warnings=False)  # an issue's path leads through dicts
                raise _misfit(issues_of(error, held, noun="field", show=lambda path: True)) from error
        plain = self._serializer.to_python(checked, mode="json", by_alias=True, warnings="error")
        if (path := _not_finite(plain)) is not None:
            raise _misfit([Issue("NaN and infinity are no JSON numbers", path)])
        if self._is_computed and not fits(plain, self.schema):
            raise _misfit([Issue("a computed field or a serializer gives what its own annotation does not allow", [])])
        return plain


def _misfit(issues: list[Issue]) -> ActionError:
    return ActionError(
        f"The action's output does not fit its type: {summary(issues)}", [issue.to_wire() for issue in issues]
    )


def _holds_functions(node: Mapping[str, Any]) -> bool:
    """Whether a core schema has computed fields or serializers of the author's."""
    writer = node.get("serialization")
    if node.get("computed_fields") or (isinstance(writer, dict) and "function" in writer):
        return True
    return any(_holds_functions(each) for _, each in children(node))


def _not_finite(value: Any) -> list[Any] | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if (path := _not_finite(item)) is not None:
            return [key, *path]
    return None


def _warn_of(fn: Callable[..., Any], type: Any) -> None:
    """A return annotation without a schema is no promise; but a plain class is most often a mistake."""
    if not inspect.isclass(type) or inspect.isabstract(type) or type.__module__ == "builtins":
        return
    if hasattr(type, "__await__"):  # what is awaited gives something else
        return
    what = "calling it gives one of its objects" if fn is type else f"it returns {type.__qualname__}"
    logger.warning(
        "%s: %s, and JSON has no values for those, so its calls will fail; use a model, a dataclass, a TypedDict or a"
        " JSON type",
        place_of(fn),
        what,
    )


def output_for(fn: Callable[..., Any], *, name: str, declared: Any, returned: Any) -> Output | None:
    """The output of an action: of its declared type, else of its return annotation where that has a schema.

    Raises:
        RegistrationError: The declared type has no JSON Schema.
    """
    from pydantic import PydanticSchemaGenerationError, TypeAdapter

    from .binary import serializer_for
    from .fitting import structure_of

    explicit = declared is not UNSET
    type = declared if explicit else returned
    if type is UNSET or type is None or type is Any or type is inspect.Signature.empty:
        return None
    if explicit and is_function(type):
        raise RegistrationError(
            f"the output type {named(type)} of action {name!r} is a function; give .output(…) a type"
        )
    try:
        adapter = TypeAdapter(type)
        schema = output_schema(adapter)
        serializer = serializer_for(adapter.core_schema)
        return Output(
            schema,
            adapter,
            adapter.serializer if serializer is None else serializer,
            structure_of(adapter.core_schema),
            _holds_functions(adapter.core_schema),
        )
    except Exception as error:
        # Building a schema runs hooks of the author's types, so anything may be raised.
        if not explicit:
            if isinstance(error, PydanticSchemaGenerationError):
                _warn_of(fn, type)
            return None
        if (why := unusable(error)) is not None:
            raise RegistrationError(
                f"the output type {named(type)} of action {name!r} cannot be used: {why}"
            ) from error
        what = f"a {type.__class__.__name__} is no type" if isinstance(type, _NO_TYPES) else reason(error)
        raise RegistrationError(
            f"the output type {type!r} of action {name!r} has no JSON Schema ({what});"
            " use a model, a dataclass, a TypedDict or a JSON type"
        ) from error
