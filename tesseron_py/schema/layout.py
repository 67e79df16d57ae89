"""A type's fields laid out as one flat form, and an answer to it put together again.

What is certainly wrong with an answer becomes an issue with the path of the value; the rest is left to validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import InvalidSchema
from ..unset import UNSET
from .again import Asked, hinted
from .fields import Field
from .flat import equal
from .issues import Issue, shortened, spelled
from .nesting import Group
from .spelling import spelled_value


class Layout:
    """The properties of a form, and how its answers are read.

    Args:
        root: The fields.
        lists: Whether the form may have lists, and clients show the defaults of all fields; without them several
            choices are one boolean each, and only the defaults of booleans are shown.

    Raises:
        InvalidSchema: Two fields have one name.
    """

    def __init__(self, root: Group, *, lists: bool) -> None:
        self.root: Group = root
        self.lists: bool = lists
        self.fields: dict[str, Field] = {}
        """The field that each property is of."""
        self.properties: dict[str, dict[str, Any]] = {}
        _check_names(root)
        for each in root.fields():
            for name, written in each.properties(lists=lists).items():
                self.properties[name] = written
                self.fields[name] = each
        self.groups: dict[str, Group] = {spelled(each.path): each for each in root.groups()}
        """The objects within, by their names with dots."""

    @property
    def schema(self) -> dict[str, Any]:
        """What is asked."""
        required = [name for name, each in self.fields.items() if each.required]
        return {"type": "object", "properties": self.properties, "required": required}

    def is_left_out(self, name: str, given: Any) -> bool:
        """Whether what came for a property says that nothing was given."""
        return self.fields[name].is_left_out(given)

    def asked(self) -> list[Asked]:
        """What each part of the value is asked as."""
        parts = [Asked(each.path, each.title, ()) for each in self.root.groups()]
        for each in self.root.fields():
            names = tuple(name for name, field in self.fields.items() if field is each)
            hint = hinted(each.written.get("description"), each.examples)
            parts.append(Asked(each.path, each.title, names, each.is_secret, hint))
        return parts

    def read(self, content: Mapping[str, Any]) -> tuple[dict[str, Any], list[Issue]]:
        """The value that an answer means, nested as the type is, for validation; and what is wrong by now."""
        return _Reading(self, content).whole()


def _check_names(root: Group) -> None:
    # What collides where there are no lists does so everywhere, so that it is found wherever it is tried first.
    known: dict[str, Field] = {}
    for each in root.fields():
        for name in {**each.properties(lists=True), **each.properties(lists=False)}:
            if (other := known.setdefault(name, each)) is not each:
                raise InvalidSchema(
                    f"{name}: two fields have this name in the form, {list(other.path)} and {list(each.path)}; rename"
                    " one of them"
                )


class _Reading:
    """One answer, while it is read."""

    def __init__(self, layout: Layout, content: Mapping[str, Any]) -> None:
        self._layout = layout
        self._issues: list[Issue] = []
        self._given = {
            name: value
            for name, value in content.items()
            if (field := layout.fields.get(name)) is None or not field.is_left_out(value)
        }
        self._built: dict[tuple[str, ...], dict[str, Any]] = {}

    def whole(self) -> tuple[dict[str, Any], list[Issue]]:
        value = self._group(self._layout.root)
        for name, each in self._given.items():
            if name not in self._layout.fields:
                self._unasked(name, each)
        return value, self._issues

    def _group(self, group: Group) -> dict[str, Any]:
        value = self._built[group.path] = {}
        for name, member in group.members.items():
            if isinstance(member, Group):
                if member.required or self._is_filled_in(member) or member.inherited not in (UNSET, None):
                    value[name] = self._group(member)
                elif member.inherited is None:
                    value[name] = None
            elif (found := self._field(member)) is not UNSET:
                value[name] = found
        return value

    def _is_filled_in(self, group: Group) -> bool:
        """Whether an object that the form can go without is given.

        One that is an object by default is, when a field of it is anything else than what the form shows. Another is,
        when a field is more than an empty text or box. What a client fills in by itself, the defaults that it shows,
        makes none where nothing else is given, or a field that is needed is empty.
        """
        if group.has_default:
            return any(
                self._is_filled_in(each) if isinstance(each, Group) else any(map(self._differs, self._names(each)))
                for each in group.members.values()
            )
        names = [name for each in group.fields() for name in self._names(each)]
        came = [name for name in names if name in self._given and not self._is_blank(name)]
        needed = list(_needed(group))
        if not needed:
            return any(self._differs(name) or not self._is_shown(name) for name in came)
        return any(name in came for each in needed for name in self._names(each)) or any(map(self._differs, came))

    def _differs(self, name: str) -> bool:
        """Whether what came for a property is anything else than what the form has for it."""
        if name not in self._given:
            return False
        field, written = self._layout.fields[name], self._layout.properties[name]
        given, default = self._given[name], written.get("default", UNSET)
        if field.several is not None and not self._layout.lists:
            given = spelled_value(given, "boolean") if isinstance(given, str) else given
            return field.several.default is None or not equal(given, default is True)
        return default is UNSET or not equal(field.read(given)[0], field.read(default)[0])

    def _is_shown(self, name: str) -> bool:
        """Whether a client shows the default of a property: those that have no lists show those of booleans alone."""
        return self._layout.lists or self._layout.properties[name]["type"] == "boolean"

    def _is_blank(self, name: str) -> bool:
        """Whether it is an empty text, an unticked box or no choice, where nothing else stood."""
        given, written = self._given[name], self._layout.properties[name]
        if written.get("default") or "enum" in written:
            return False
        match written["type"]:
            case "boolean":
                return (spelled_value(given, "boolean") if isinstance(given, str) else given) is False
            case "array":
                return isinstance(given, list) and not given
        return isinstance(given, str) and not given

    def _names(self, field: Field) -> list[str]:
        """The properties that a field is."""
        if field.several is None or self._layout.lists:
            return [field.key]
        return [field.several.key(field.key, text) for text in field.several.choices.values]

    def _field(self, field: Field) -> Any:
        """The JSON value of a field; `UNSET` when nothing was given."""
        if field.several is None or self._layout.lists:
            if field.key not in self._given:
                return field.inherited
            value, fault = field.read(self._given[field.key])
        else:
            keys = {text: field.several.key(field.key, text) for text in field.several.choices.values}
            given = {text: self._given[key] for text, key in keys.items() if key in self._given}
            if not given or self._is_as_shown(field, keys.values()):
                return field.inherited
            value, fault = field.several.read_booleans(given, required=field.required)
        if fault is not None:
            self._issues.append(Issue(fault, list(field.path)))
        return value

    def _is_as_shown(self, field: Field, names: Iterable[str]) -> bool:
        """Whether boxes are what the form shows of a default, which has an order that they have not."""
        return field.has_default and not field.required and not any(map(self._differs, names))

    def _unasked(self, name: str, given: Any) -> None:
        """What came and was not asked for: a model may allow it or refuse it, unless it stands in for what was."""
        layout = self._layout
        for each in layout.root.fields():
            if name == each.key or (each.several is not None and name.startswith(f"{each.key}.")):
                self._issues.append(Issue(_asked_as(self._names(each)), list(each.path)))
                return
        if name in layout.groups:
            group = layout.groups[name]
            names = [name for each in group.fields() for name in self._names(each)]
            self._issues.append(Issue(_asked_as(names), list(group.path)))
            return
        around = max((each for each in layout.groups if name.startswith(f"{each}.")), key=len, default=None)
        if (layout.root if around is None else layout.groups[around]).has_places:
            return
        if around is None:
            self._built[()].setdefault(name, given)
        elif (built := self._built.get(layout.groups[around].path)) is not None:
            built.setdefault(name.removeprefix(f"{around}."), given)


def _needed(group: Group) -> Iterator[Field]:
    """The fields without which an optional object cannot be given, and for which the form has no default."""
    for each in group.members.values():
        if isinstance(each, Group):
            if each.required:
                yield from _needed(each)
        elif each.is_needed and not each.has_default:
            yield each


def _asked_as(names: list[str]) -> str:
    shown = ", ".join(map(shortened, names[:3])) + (", …" if len(names) > 3 else "")
    return f"it is asked for as {shown}"
