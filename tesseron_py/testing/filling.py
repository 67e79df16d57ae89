"""A form filled in with what a test's author gave: with a dict, or with an object of the type that is asked for.

A form is flat: what an object in an object holds has dots in its name, and several choices are a list or a box each.
Here is how the author's value becomes that, and what may be wrong with the result; whether it fits is the app's to say.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from enum import Enum, Flag
from typing import Any

from ..jsontext import encode


def members_of(given: Any) -> dict[str, Any] | None:
    """The parts of a mapping, model, dataclass or named tuple, by their names on the wire; `None` for others."""
    if isinstance(given, Mapping):
        return {str(name): value for name, value in given.items()}
    if isinstance(given, (type, Enum)):
        return None
    # Models and pydantic's dataclasses; a dump would hold computed fields, too.
    if isinstance(known := getattr(type(given), "__pydantic_fields__", None), Mapping):
        return {_alias(info) or name: getattr(given, name) for name, info in known.items()}
    if is_dataclass(given):
        return {field.name: getattr(given, field.name) for field in fields_of(given)}
    if isinstance(given, tuple) and isinstance(names := getattr(given, "_fields", None), tuple):
        return dict(zip(names, given, strict=True))
    return None


def _alias(info: Any) -> str | None:
    return info.validation_alias if isinstance(info.validation_alias, str) else info.alias


def filled(given: Any, form: Sequence[str] | Mapping[str, Any], *, within: str = "") -> dict[str, Any]:
    """The content of a form.

    Args:
        given: A mapping or an object; see `members_of`. Of an object, what is `None` is left empty.
        form: The names of the form's fields.
        within: What the names of those fields begin with that are meant.
    """
    content: dict[str, Any] = {}
    for part, value in (members_of(given) or {}).items():
        name = within + part
        below = [field for field in form if field.startswith(f"{name}.")]
        if value is None and (not isinstance(given, Mapping) or (below and name not in form)):
            continue
        if name in form or not below:
            content[name] = plain_value(value)
        elif members_of(value) is not None:
            content |= filled(value, form, within=f"{name}.")
        elif isinstance(chosen := plain_value(value), list):
            texts = [each if isinstance(each, str) else encode(each) for each in chosen]
            content |= {field: field.removeprefix(f"{name}.") in texts for field in below}
            content |= {
                f"{name}.{text}": True for text in texts if f"{name}.{text}" not in below
            }  # for the app to refuse
        else:
            content[name] = chosen
    return content if within else _listed(content, form)


def _listed(content: dict[str, Any], form: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """The same, where boxes were given and the form has a list."""
    listed: dict[str, Any] = {}
    for name, value in content.items():
        lists = [field for field in form if name.startswith(f"{field}.")] if name not in form else []
        if len(lists) == 1 and isinstance(value, bool):
            chosen = listed.setdefault(lists[0], [])
            if value and isinstance(chosen, list):
                chosen.append(name.removeprefix(f"{lists[0]}."))
        else:
            listed[name] = value
    return listed


def plain_value(value: Any) -> Any:
    """A value as a form has it; what JSON has no form for stays what it is."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Flag):
        return [flag.name for flag in value]
    if isinstance(value, Enum):
        return plain_value(value.value)
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain_value, value), key=str)
    if (members := members_of(value)) is not None:
        return {name: plain_value(member) for name, member in members.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(each) for each in value]
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return to_jsonable_python(value)
    except PydanticSerializationError:
        return value


def shortcomings(content: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """What the content of a form has or lacks by name, in words."""
    form, wants = list(schema.get("properties") or ()), schema.get("required") or ()
    missing = [name for name in wants if name not in content]
    found: list[str] = []
    known = [*form, *{name.rpartition(".")[0] for name in form if "." in name}]
    for name in content:
        if name not in form:
            close = difflib.get_close_matches(name, known, n=1)
            found.append(f"has {name!r}, which the form does not{f'; did you mean {close[0]!r}?' if close else ''}")
    if missing:
        found.append(f"has no {', '.join(map(repr, missing))}, which the form wants")
    return found
