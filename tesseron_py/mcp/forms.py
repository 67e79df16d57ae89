"""Forms as each revision of MCP can show them: clients refuse, unseen, what they cannot render.

`normalise` turns the schema that a provider asks with into the subset of the client's revision (`spec/mcp.md` §1).
It only ever loosens a form, since whoever asked validates the answer against the schema it had in mind; what would
make the answer another one altogether (an object, a free list) is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .messages import RICH_FORMS_SINCE

_PRIMITIVE: Final = ("string", "integer", "number", "boolean")
_FORMATS: Final = ("email", "uri", "date", "date-time")


class NoSuchForm(ValueError):
    """The form asks for something that this revision of MCP has no field for; names the field."""


def normalise(schema: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The `requestedSchema` for a client of `version`.

    A list of types becomes its first that is a field; a field without a type gets that of its `enum` or `const`, else
    string; an optional (`anyOf` with null) is its other branch. Titled choices (`oneOf`) are `enum` with `enumNames`
    before 2025-11-25, where only booleans have a default. What the choices of a number or a boolean are titled, which
    have no field of their own, is told in the description. Unknown formats, `pattern`, `$schema`, null defaults
    and whatever else is not in the subset are dropped; `properties` is always there.

    Raises:
        NoSuchForm: A field is an object or a list that is no choice of several; before 2025-11-25, any list.

    Example:
        ```python
        normalise({"properties": {"day": {"type": ["string", "null"], "format": "date"}}}, "2025-11-25")
        # {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
        ```
    """
    given = schema.get("properties")
    properties = (
        {str(name): _field(str(name), field, version) for name, field in given.items()}
        if isinstance(given, Mapping)
        else {}
    )
    form: dict[str, Any] = {"type": "object", "properties": properties}
    required = schema.get("required")
    if isinstance(required, Sequence) and not isinstance(required, str):
        # A client that cannot fill a required field that is not there can never submit the form.
        names = list(dict.fromkeys(name for name in required if isinstance(name, str) and name in properties))
        if names:
            form["required"] = names
    return form


def _field(name: str, given: Any, version: str) -> dict[str, Any]:
    schema: Mapping[str, Any] = _chosen(_branch(given)) if isinstance(given, Mapping) else {}
    kind = _type(schema)
    field: dict[str, Any] = {"type": kind}
    for key in ("title", "description"):
        if isinstance(schema.get(key), str):
            field[key] = schema[key]
    match kind:
        case "string":
            _string(schema, field, version)
        case "integer" | "number":
            _number(schema, field)
        case "boolean":
            _say(field, _ways(schema))
        case "array" if version >= RICH_FORMS_SINCE:
            _several(name, schema, field)
        case _:
            since = f" before {RICH_FORMS_SINCE}" if kind == "array" else ""
            raise NoSuchForm(f"the field {name!r} is of type {kind}, which a form of MCP cannot ask for{since}")
    if (version >= RICH_FORMS_SINCE or kind == "boolean") and _fits(schema.get("default"), kind, field):
        field["default"] = schema["default"]
    return field


def _branch(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema itself; or of an optional or a union, its first branch that is not null, under its own title.

    What one branch of several, or one choice, says of itself would be said of the field, so it is not said; nor are its
    limits, where another branch is a field of the same type.
    """
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        if not isinstance(branches, Sequence) or _constants(branches) is not None:
            continue
        left = [each for each in branches if isinstance(each, Mapping) and each.get("type") != "null"]
        if left:
            is_field = len(left) == 1 and "const" not in left[0]
            said = left[0] if is_field else _without(left[0], "title", "description")
            if any(_is_alike(each, said) for each in left[1:]):
                said = {"type": _type(said)} | _all_choices(left) | {k: said[k] for k in ("items",) if k in said}
            return {**said, **{k: v for k, v in schema.items() if k != key and v is not None}}
    return schema


def _is_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether what the one takes may be given in a field for the other, so that the limits of either would be wrong."""
    kinds = {_type(one), _type(other)}
    return len(kinds) == 1 or kinds == {"integer", "number"}


def _all_choices(branches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The choices of all branches; nothing where one is free."""
    values: list[Any] = []
    for each in branches:
        choices = [each["const"]] if "const" in each else each.get("enum")
        if not isinstance(choices, Sequence) or isinstance(choices, str):
            return {}
        values += [value for value in choices if value not in values]
    return {"enum": values}


def _chosen(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Titled choices that are not all strings, for which MCP has no field, as `enum` and `enumNames`."""
    for key in ("oneOf", "anyOf"):
        found = _constants(schema.get(key))
        if found is not None and not all(isinstance(value, str) for value, _ in found):
            return {
                **_without(schema, key),
                "enum": [value for value, _ in found],
                "enumNames": [title for _, title in found],
            }
    return schema


def _constants(branches: Any) -> list[tuple[Any, str | None]] | None:
    """The choices of `[{const, title}, …]` of any type; `None` when it is something else."""
    if not isinstance(branches, Sequence) or isinstance(branches, str) or not branches:
        return None
    found: list[tuple[Any, str | None]] = []
    for branch in branches:
        if not isinstance(branch, Mapping) or "const" not in branch:
            return None
        title = branch.get("title")
        found.append((branch["const"], title if isinstance(title, str) else None))
    return found


def _without(schema: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in keys}


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind if kind in (*_PRIMITIVE, "array", "object") else "string"
    if isinstance(kind, Sequence):
        return next((entry for entry in kind if entry in (*_PRIMITIVE, "array", "object")), "string")
    if "const" in schema:
        return _type_of([schema["const"]])
    choices = schema.get("enum")
    return _type_of(choices) if isinstance(choices, Sequence) and not isinstance(choices, str) else "string"


def _type_of(values: Sequence[Any]) -> str:
    values = [value for value in values if value is not None]
    if values and all(isinstance(value, bool) for value in values):
        return "boolean"
    if not values or any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return "string"
    return "integer" if all(isinstance(value, int) for value in values) else "number"


def _string(schema: Mapping[str, Any], field: dict[str, Any], version: str) -> None:
    titled = _titled(schema.get("oneOf")) or _titled(schema.get("anyOf"))
    choices = titled or _named(schema)
    if choices is None:
        for key in ("minLength", "maxLength"):
            if _is_count(schema.get(key)):
                field[key] = schema[key]
        if schema.get("format") in _FORMATS:
            field["format"] = schema["format"]
    elif all(title is None for _, title in choices):
        field["enum"] = [value for value, _ in choices]
    elif titled is not None and version >= RICH_FORMS_SINCE:
        field["oneOf"] = [{"const": value, "title": value if title is None else title} for value, title in choices]
    else:  # what came with `enumNames` keeps them, since every revision knows them
        field["enum"] = [value for value, _ in choices]
        field["enumNames"] = [value if title is None else title for value, title in choices]


def _named(schema: Mapping[str, Any]) -> list[tuple[str, str | None]] | None:
    """The choices of an `enum` (titled by `enumNames`) or a `const`; `None` when there are none."""
    values = [schema["const"]] if isinstance(schema.get("const"), str) else schema.get("enum")
    if not isinstance(values, Sequence) or isinstance(values, str):
        return None
    names = schema.get("enumNames")
    if not isinstance(names, Sequence) or isinstance(names, str) or len(names) != len(values):
        names = [None] * len(values)
    choices = {
        value: name if isinstance(name, str) and name else None
        for value, name in zip(values, names, strict=True)
        if isinstance(value, str)
    }
    return list(choices.items()) or None


def _titled(branches: Any) -> list[tuple[str, str | None]] | None:
    """The choices of `[{const, title}, …]`; `None` when it is something else."""
    if not isinstance(branches, Sequence) or isinstance(branches, str) or not branches:
        return None
    choices: dict[str, str | None] = {}
    for branch in branches:
        if not isinstance(branch, Mapping) or not isinstance(branch.get("const"), str):
            return None
        title = branch.get("title")
        choices[branch["const"]] = title if isinstance(title, str) and title else None
    return list(choices.items())


def _number(schema: Mapping[str, Any], field: dict[str, Any]) -> None:
    for key in ("minimum", "maximum"):
        if _is_number(schema.get(key)):
            field[key] = schema[key]
    # MCP has no numeric choices; the person at least reads which there are, and whoever asked checks the answer.
    listed = [(value, name) for value, name in _titles(schema) if _is_number(value)]
    if listed:
        _say(
            field, "One of: " + ", ".join(str(value) if name is None else f"{value} ({name})" for value, name in listed)
        )


def _ways(schema: Mapping[str, Any]) -> str:
    """What ticking a checkbox means, and what not ticking it, where the author says so; either alone would mislead."""
    titles = {value: name for value, name in _titles(schema) if isinstance(value, bool) and name is not None}
    said = {True: "Ticked: {}.", False: "Not ticked: {}."}
    return " ".join(text.format(titles[value].rstrip(".")) for value, text in said.items() if value in titles)


def _titles(schema: Mapping[str, Any]) -> list[tuple[Any, str | None]]:
    """The choices of an `enum`, of any type, and their titles."""
    values, names = schema.get("enum"), schema.get("enumNames")
    if not isinstance(values, Sequence) or isinstance(values, str):
        return []
    if not isinstance(names, Sequence) or isinstance(names, str) or len(names) != len(values):
        names = [None] * len(values)
    return [
        (value, name if isinstance(name, str) and name else None) for value, name in zip(values, names, strict=True)
    ]


def _say(field: dict[str, Any], text: str) -> None:
    if text:
        field["description"] = f"{field['description']} {text}" if "description" in field else text


def _several(name: str, schema: Mapping[str, Any], field: dict[str, Any]) -> None:
    items = schema.get("items")
    items = items if isinstance(items, Mapping) else {}
    titled = _titled(items.get("anyOf")) or _titled(items.get("oneOf"))
    plain = _named(items)
    if titled is not None:
        field["items"] = {"anyOf": [{"const": value, "title": title or value} for value, title in titled]}
    elif plain is not None:
        field["items"] = {"type": "string", "enum": [value for value, _ in plain]}
    else:
        raise NoSuchForm(f"the field {name!r} is a list that is no choice of several strings")
    for key in ("minItems", "maxItems"):
        if _is_count(schema.get(key)):
            field[key] = schema[key]


def _fits(default: Any, kind: str, field: Mapping[str, Any]) -> bool:
    match kind:
        case "boolean":
            return isinstance(default, bool)
        case "string":
            return isinstance(default, str) and default in _choices(field, default)
        case "integer":
            return isinstance(default, int) and not isinstance(default, bool)
        case "number":
            return _is_number(default)
        case _:
            return isinstance(default, list) and all(entry in _choices(field["items"], None) for entry in default)


def _choices(field: Mapping[str, Any], otherwise: Any) -> list[Any]:
    """What may be chosen in a field; `[otherwise]` where it is free."""
    for key in ("oneOf", "anyOf"):
        if key in field:
            return [choice["const"] for choice in field[key]]
    return list(field.get("enum", [otherwise]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value < math.inf


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
