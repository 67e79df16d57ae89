"""Whether an object still fits its type: what pydantic takes for granted of an instance of a model.

An instance may have been changed, or made by `model_construct`, since it was validated. Validating it again would run
the author's validators on what they have made already, and every hook with it. So what is checked is the structure
alone: types, constraints and choices of the fields, none of the author's functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pydantic_core import SchemaError, SchemaValidator

from .nodes import with_children

__all__ = ["structure_of"]

_UNWRAPPED: Final = frozenset({"function-before", "function-after", "function-wrap", "default", "custom-error"})
_MADE_OF_TEXT: Final = frozenset({"url", "multi-host-url"})  # whose instances do not pass for what they are made of


def structure_of(schema: Any) -> Any:
    """A validator of the structure of the core schema `schema`; `None` where no instance can be in a value."""
    seen: list[type] = []
    try:
        structure = _node(schema, seen)
        return SchemaValidator(structure) if seen else None
    except SchemaError:  # a form of schema that is not known here
        return None


def _node(node: Any, seen: list[type]) -> Any:
    match node.get("type"):
        case "function-wrap" if node["schema"].get("type") in _MADE_OF_TEXT:
            return _with_ref({"type": "any"}, node)
        case kind if kind in _UNWRAPPED:
            return _with_ref(_node(node["schema"], seen), node)
        case "function-plain":
            return _with_ref({"type": "any"}, node)
        case "model" | "dataclass":
            seen.append(node["cls"])
            return _with_ref(_instance(node, seen), node)
        case "tagged-union":
            choices = [_node(each, seen) for each in node["choices"].values() if isinstance(each, dict)]
            return _with_ref({"type": "union", "choices": choices}, node)
    return with_children(node, lambda each: _node(each, seen))


def _instance(node: dict[str, Any], seen: list[type]) -> dict[str, Any]:
    fields = node["schema"]
    while fields.get("type") in _UNWRAPPED:
        fields = fields["schema"]
    if node.get("root_model"):
        return _before(_reads(node["cls"], lambda value: value.root), _node(fields, seen))
    if fields.get("type") == "model-fields":
        found = {name: each["schema"] for name, each in fields["fields"].items()}
    elif fields.get("type") == "dataclass-args":
        found = {each["name"]: each["schema"] for each in fields["fields"] if not each.get("init_only")}
    else:
        return {"type": "is-instance", "cls": node["cls"]}
    entries = {
        name: {"type": "typed-dict-field", "schema": _node(each, seen), "required": False}
        for name, each in found.items()
    }
    names = tuple(entries)
    values = {"type": "typed-dict", "fields": entries, "extra_behavior": "ignore"}
    return _before(
        _reads(node["cls"], lambda value: {n: getattr(value, n) for n in names if hasattr(value, n)}), values
    )


def _before(function: Callable[[Any], Any], schema: Any) -> dict[str, Any]:
    return {"type": "function-before", "function": {"type": "no-info", "function": function}, "schema": schema}


def _reads(cls: type, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def reads(value: Any) -> Any:
        if not isinstance(value, cls):
            raise ValueError(f"an instance of {cls.__qualname__} is expected")
        return read(value)

    return reads


def _with_ref(structure: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    return {**structure, "ref": node["ref"]} if "ref" in node else structure
