"""What often is a mistake of a handler's author, and may be meant: logged as a warning, with the handler's place."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ..jsontext import encode
from .docstring import Documentation
from .handler import Handler, layers_of
from .issues import shortened, summary

logger = logging.getLogger("tesseron_py.schema")


def with_unknown_parameters(
    documentation: Documentation, fn: Callable[..., Any], handler: Handler, *, warn: bool
) -> Documentation:
    """What a docstring says, in its description also what it says of parameters that `fn` does not have.

    Args:
        documentation: What the docstring says.
        fn: The handler.
        handler: The same, read.
        warn: Whether such a parameter is a mistake: the parameters are the input.
    """
    names = {each.name for each in handler.parameters}
    left = {name: text for name, text in documentation.arguments.items() if name.partition(".")[0] not in names}
    if left:
        known = _all_names(fn) | {handler.context}
        left = {name: text for name, text in left.items() if name.partition(".")[0] not in known}
    if not left:
        return documentation
    if warn:
        from difflib import get_close_matches

        for name in left:
            close = get_close_matches(name, names, n=1, cutoff=0.6)
            meant = f"; is {close[0]!r} meant?" if close else ""
            logger.warning(
                "%s: its docstring describes a parameter %r, which it does not have%s", handler.where, name, meant
            )
    kept = "\n".join(f"{name}: {text}" for name, text in left.items())
    return replace(documentation, description=f"{documentation.description}\n\n{kept}".strip())


def _all_names(fn: Callable[..., Any]) -> set[str]:
    """The parameters of a handler and of what it wraps, those that are bound included."""
    names: set[str] = set()
    for layer in layers_of(fn):
        try:
            names |= inspect.signature(layer, follow_wrapped=False).parameters.keys()
        except (TypeError, ValueError, NameError):  # NameError: annotations evaluated late, from Python 3.14 on
            continue
    return names


def warn_of_defaults(
    handler: Handler, annotations: Mapping[str, Any], published: Mapping[str, Any], wire: Mapping[str, str]
) -> None:
    """Warn of defaults that their own types do not take; an object that stands for "not given" is none of them.

    Args:
        handler: The handler.
        annotations: Its parameters as the keys of its input.
        published: The input's schema.
        wire: By the name of a parameter, the one it is published under.
    """
    for parameter in handler.parameters:
        default = parameter.default
        if isinstance(default, FieldInfo):
            default = default.default
        property = published.get("properties", {}).get(wire.get(parameter.name), {})
        if type(default) not in _PLAIN or "default" in property:
            continue
        try:
            json.dumps(default, allow_nan=False)
            TypeAdapter(annotations[parameter.name]).validate_json(encode(default), strict=True)
        except ValidationError as error:
            from .alternatives import nearest_issues

            why = summary(nearest_issues(error, default, noun="field", show=lambda path: True))
            logger.warning(
                "%s: the default of %r, %s, is not what its type takes (%s), so no agent is shown it; calls without"
                " %r get it all the same",
                handler.where,
                parameter.name,
                shortened(default),
                why,
                parameter.name,
            )
        except Exception:
            continue  # it is no JSON, or a validator of the author's has something else to say of it


_PLAIN: Final = frozenset({str, int, float, bool, list, tuple, dict})
