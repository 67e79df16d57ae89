"""Docstrings: what they say of the whole, and what of each parameter.

Google, NumPy and Sphinx style, read by Griffe (the extra `docstrings`). It is imported only for a docstring that seems
to have a section of parameters; without it, and where it finds no such section after all, a docstring is taken whole.
"""

from __future__ import annotations

import functools
import inspect
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Final

logger = logging.getLogger("tesseron_py.schema")

# Not compiled before they are used: most docstrings are one line.
_HEADERS: Final = {
    "numpy": r"(?m)^[ \t]*(?:Other[ \t]+)?(?:Parameters|Attributes)[ \t]*\n[ \t]*-{3,}[ \t]*$",
    "google": r"(?m)^(?:(?:Keyword |Other )?(?:Args|Arguments|Params|Parameters)|Attributes):[ \t]*\n[ \t]+\S",
    "sphinx": r"(?m)^[ \t]*:(?:param|parameter|arg|argument|key|keyword|ivar|cvar|var)[ \t]+[^:\n]+:",
}
_WITHOUT_BLANK_LINE: Final = (
    r"(?<=\S\n)(?=(?:(?:Keyword |Other )?(?:Args|Arguments|Params|Parameters)"
    r"|Attributes|Returns|Yields|Raises|Examples?|Notes?|Warnings?):[ \t]*\n)"
)
_WRAPPED: Final = r"(?<!\n)\n[ \t]*(?![-*•>\d\s])"
_FIELD: Final = r"[ \t]*:[a-zA-Z]+(?:[ \t]+[^:\n]+)?:(?:\s|$)"
_TYPE: Final = r"[\w.]+(?:\[.*\])?(?: \| [\w.]+(?:\[.*\])?)*"
_LEAD: Final = "-\n\n"  # Griffe finds no section that a docstring begins with
_FOR_DEVELOPERS: Final = frozenset({"example", "examples", "see-also", "references", "todo"})


@dataclass(frozen=True, slots=True)
class Documentation:
    """What a docstring says.

    Attributes:
        description: Of the whole: without what it says of parameters, exceptions and examples; what is returned is a
            line of its own at the end.
        parameters: By name; of a class what it says of its attributes, too.
        arguments: Of these, the ones that a function's docstring calls parameters or arguments.
    """

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


def documentation_of(fn: Any) -> Documentation:
    """What the docstring of a handler says; a class's is its own, then that of its `__init__`."""
    documents = [read(text) for text in _docstrings(fn)]
    description = next((each.description for each in documents if each.description), "")
    parameters: dict[str, str] = {}
    for each in reversed(documents):
        parameters.update(each.parameters)
    # A class's may be those of other methods.
    is_function = inspect.isroutine(_innermost(fn))
    return Documentation(description, parameters, documents[0].arguments if is_function and documents else {})


def read(text: str) -> Documentation:
    """One docstring, cleaned of its indentation. It never fails: what cannot be read is description."""
    text = text.strip()
    style = _style(text)
    sections = [] if style is None else _sections(text, style)
    parameters: dict[str, str] = {}
    arguments: dict[str, str] = {}
    for section in sections:
        if section.kind.value in ("parameters", "other parameters", "attributes"):
            for each in section.value:
                name = each.name.lstrip("*\\").partition("(")[0].strip()
                if name and (described := unwrapped(each.description or "")):
                    parameters.setdefault(name, described)
                    if section.kind.value != "attributes":
                        arguments.setdefault(name, described)
    if not parameters:
        return Documentation(text)
    return Documentation("\n\n".join(filter(None, map(_kept, sections))), parameters, arguments)


def documented(document: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema whose objects' descriptions are their classes' docstrings: each property gets what is said of it.

    A property keeps a description of its own. Aliases that differ from the name in case and underscores are found.
    """
    places = [document, *document.get("$defs", {}).values()]
    if not any(_seems_to_name_parameters(place) for place in places):
        return document
    document = {**document, "$defs": {name: _documented(each) for name, each in document.get("$defs", {}).items()}}
    if not document["$defs"]:
        del document["$defs"]
    return _documented(document)


def _style(text: str) -> str | None:
    """Which style a docstring's section of parameters is in; `None` where it has none."""
    if "\n" not in text and ":" not in text:
        return None
    return next((name for name, header in _HEADERS.items() if re.search(header, text)), None)


def unwrapped(text: str) -> str:
    """A text without the line breaks that only keep lines short."""
    text = text.strip()
    return re.sub(_WRAPPED, " ", text) if "\n" in text else text


def _seems_to_name_parameters(schema: Mapping[str, Any]) -> bool:
    text = schema.get("description")
    return isinstance(text, str) and _style(text) is not None


def _documented(schema: dict[str, Any]) -> dict[str, Any]:
    if not _seems_to_name_parameters(schema) or "properties" not in schema:
        return schema
    found = read(schema["description"])
    said = {_folded(name): text for name, text in found.parameters.items()}
    schema = {**schema, "properties": dict(schema["properties"])}
    if found.description:
        schema["description"] = found.description
    else:
        del schema["description"]
    for name, declared in schema["properties"].items():
        text = said.get(_folded(name))
        if text is not None and isinstance(declared, dict) and "description" not in declared:
            schema["properties"][name] = {**declared, "description": text}
    return schema


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


# Where docstrings are ---------------------------------------------------------------------------------------------


def _docstrings(fn: Any) -> Iterator[str]:
    fn = _innermost(fn)
    if inspect.isclass(fn):
        found = [_of_class(fn), _of_method(fn, "__init__")]
    elif inspect.isroutine(fn):
        found = [inspect.getdoc(fn)]
    elif "__call__" in vars(type(fn)):
        found = [inspect.getdoc(fn), _of_method(type(fn), "__call__")]
    else:
        found = []
    yield from filter(None, found)


def _innermost(fn: Any) -> Any:
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.unwrap(fn)


def _of_class(cls: type) -> str | None:
    """The docstring that an author wrote: neither inherited nor made by a decorator."""
    text = vars(cls).get("__doc__")
    if not isinstance(text, str) or _is_made(cls, text):
        return None
    return inspect.cleandoc(text)


def _of_method(cls: type, name: str) -> str | None:
    owner = next((each for each in cls.__mro__ if name in vars(each)), None)
    method = vars(owner).get(name)
    if owner is None or owner.__module__.partition(".")[0] == "pydantic" or not inspect.isfunction(method):
        return None
    return inspect.cleandoc(method.__doc__) if method.__doc__ is not None else None


def _is_made(cls: type, text: str) -> bool:
    return (is_dataclass(cls) or issubclass(cls, tuple)) and text.startswith(f"{cls.__name__}(")


# Griffe -----------------------------------------------------------------------------------------------------------


def _sections(text: str, style: str) -> list[Any]:
    parse = _parsers().get(style)
    if parse is None:
        return []
    if style == "google":
        text = re.sub(_WITHOUT_BLANK_LINE, "\n", text)
    prose, text = _prose_and_fields(text) if style == "sphinx" else ("", text)
    try:
        sections = parse(_LEAD + text)
    except Exception:  # whatever a docstring holds, an action can be declared
        return []
    first = sections[0] if sections else None
    if first is not None and first.kind.value == "text":
        first.value = prose + first.value.removeprefix(_LEAD.strip()).strip()
    return sections


def _prose_and_fields(text: str) -> tuple[str, str]:
    """A docstring of fields in two: Griffe takes what stands between fields for the text of the one above.

    What a field says goes on in the next lines, and after a blank one where those are indented.
    """
    prose: list[str] = []
    fields: list[str] = []
    around, was_blank, indent = prose, False, 0
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        if re.match(_FIELD, line):
            around, indent = fields, depth
        elif around is fields and (line.lstrip().startswith(":") or (line.strip() and was_blank and depth <= indent)):
            around = prose
            prose += [""] if prose and prose[-1].strip() else []
        around.append(line)
        was_blank = not line.strip()
    return "\n".join(prose).strip(), "\n".join(fields)


@functools.cache
def _parsers() -> Mapping[str, Callable[[str], list[Any]]]:
    try:
        import griffe
    except ImportError:
        logger.info(
            "A docstring describes parameters, and agents get it whole: griffe, which reads it, is not installed;"
            ' pip install "tesseron-py[docstrings]"'
        )
        return {}
    return {
        "google": lambda text: griffe.parse_google(
            griffe.Docstring(text), warnings=False, returns_named_value=False, returns_multiple_items=False
        ),
        "numpy": lambda text: griffe.parse_numpy(griffe.Docstring(text), warnings=False),
        "sphinx": lambda text: griffe.parse_sphinx(griffe.Docstring(text), warnings=False),
    }


def _kept(section: Any) -> str:
    """What stays in the description of a section."""
    match section.kind.value:
        case "text":
            return str(section.value).strip()
        case "admonition" if section.value.kind not in _FOR_DEVELOPERS:
            title = section.title or section.value.kind.capitalize()
            return f"{title}: {section.value.contents.strip()}"
        case "deprecated":
            return f"Deprecated since {section.value.version}: {section.value.description.strip()}"
        case "returns":
            returned = "; ".join(filter(None, map(_returned, section.value)))
            return f"Returns: {returned}" if returned else ""
    return ""


def _returned(item: Any) -> str:
    text = unwrapped(item.description or "")
    annotation = str(item.annotation or "")
    if annotation and not re.fullmatch(_TYPE, annotation):
        return f"{annotation}: {text}"  # `The total: with tax` has no type in front
    return text
