"""Which of a union's alternatives a value was meant for, so that a message tells how to mend it and not all there is.

pydantic lists the faults of every alternative. Here they are told apart, and those of the nearest are kept: of the
one that the value is of a kind with, whose tag it has, that misses least. Where none is nearest, one issue says what
there is to choose from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .issues import (
    FIXED,
    MISSING,
    MOST,
    UNKNOWN,
    Issue,
    Path,
    expectation,
    got,
    holds,
    shortened,
    spelled,
    untold,
    worded,
)

if TYPE_CHECKING:
    from pydantic import ValidationError

_MOST: Final = 4  # alternatives that one message tells of
_KEY: Final = "[key]"  # pydantic's step to the name of an entry


@dataclass(frozen=True, slots=True)
class _Fault:
    """One issue, and what is needed to weigh it.

    Attributes:
        issue: The issue.
        type: pydantic's type of it.
        expected: What is expected there, where that is the fault.
        rest: What came, as the end of the message.
        is_tag: A field is missing that tells which alternative is meant.
    """

    issue: Issue
    type: str
    expected: tuple[str, ...] = ()
    rest: str = ""
    is_tag: bool = False

    @property
    def path(self) -> Path:
        return self.issue.path


_Faults: TypeAlias = list[_Fault]
_Errors: TypeAlias = list[tuple[Any, int]]
"""pydantic's errors, each with the number of steps of its location that are taken."""


def nearest_issues(
    error: ValidationError,
    raw: Any,
    *,
    noun: str,
    show: Callable[[Path], bool],
    choices: Callable[[Path], list[list[Any]]] = lambda path: [],
) -> list[Issue]:
    """pydantic's errors as issues: of a union those of the alternative that the value was meant for.

    Args:
        error: What strict validation of `raw`'s JSON text raised.
        raw: The value that was validated.
        noun: What an unknown field is called: "argument" or "field".
        show: Whether a message may show the value that came at a place.
        choices: The values that each alternative publishes for a place, if only those are taken.
    """
    found = _Reading(noun, show, choices).faults(
        [(each, 0) for each in error.errors(include_url=False)[:MOST]], raw, []
    )
    return [*{(fault.issue.message, *fault.path): fault.issue for fault in found}.values(), *untold(error)]


class _Reading:
    def __init__(self, noun: str, show: Callable[[Path], bool], choices: Callable[[Path], list[list[Any]]]) -> None:
        self._noun = noun
        self._show = show
        self._choices = choices

    def faults(self, errors: _Errors, here: Any, path: Path) -> _Faults:
        """The faults at and below one place of the value."""
        groups: dict[Any, _Errors] = {}
        is_union = False
        for error, taken in errors:
            rest = error["loc"][taken:]
            if not rest or (len(rest) == 1 and error["type"] in _NAMED):
                groups[error["loc"], len(groups)] = [(error, taken)]
                continue
            groups.setdefault(rest[0], []).append((error, taken + 1))
            is_union = is_union or (rest[0] != _KEY and not holds(here, rest[0]))
        alternatives: list[_Faults] = []
        plain: _Faults = []
        for step, inside in groups.items():
            if isinstance(step, tuple):
                plain.append(self._fault(*inside[0], path))
            elif is_union and step != _KEY:
                alternatives.append(self.faults(inside, here, path))
            elif step == _KEY:
                plain += self.faults(inside, None, path)
            else:
                plain += self.faults(inside, here[step], [*path, step])
        return plain + self._nearest(alternatives, here, path) if alternatives else plain

    def _fault(self, error: Any, taken: int, path: Path) -> _Fault:
        kind, context, given = error["type"], error.get("ctx", {}), error["input"]
        path = [*path, *error["loc"][taken:]]
        if kind in UNKNOWN:
            return _Fault(Issue(f"unknown {self._noun} {shortened(path[-1])}", path, str(path[-1])), kind)
        if kind in MISSING:
            return _Fault(Issue("required, but missing", path), kind)
        if kind in _TAGS:
            return self._of_tag(kind, context, given, path)
        expected, rest = worded(kind, error["msg"], context, given, self._show(path))
        if expected is None:
            return _Fault(Issue(rest, path, quotes=kind not in FIXED), kind)
        return _Fault(Issue(expectation(expected) + rest, path), kind, (expected,), rest)

    def _of_tag(self, kind: str, context: Any, given: Any, path: Path) -> _Fault:
        """A tag that is missing or none of those there are; it stands in a field, unless a function tells it."""
        field = _FIELD.fullmatch(context["discriminator"])
        if field is None:
            return _Fault(Issue(f"it fits none of the alternatives{got(given, self._show(path))}", path), kind)
        name = field[1]
        path = [*path, name]
        if kind == "union_tag_not_found" or not holds(given, name):
            return self._with_choices(_Fault(Issue("required, but missing", path), "missing"))
        head, comma, last = context["expected_tags"].rpartition(", ")
        expected, rest = f"{head} or {last}" if comma else last, got(given[name], self._show(path))
        return _Fault(Issue(expectation(expected) + rest, path), "literal_error", (expected,), rest)

    def _with_choices(self, fault: _Fault) -> _Fault:
        if fault.type not in MISSING or not (choices := self._choices(fault.path)):
            return fault
        values: list[Any] = []
        for value in (each for alternative in choices for each in alternative):
            if value not in values:
                values.append(value)
        told = _listed([repr(each) if isinstance(each, str) else shortened(each) for each in values[:20]], " or ")
        issue = replace(fault.issue, message=f"required, but missing: {told}")
        return replace(fault, issue=issue, is_tag=any(each != choices[0] for each in choices))

    def _nearest(self, alternatives: list[_Faults], here: Any, path: Path) -> _Faults:
        """Of the faults of each alternative of a union at `path`, those to tell."""
        alternatives = _distinct(alternatives)
        if not isinstance(here, (dict, list)):
            return self._of_scalar(alternatives, here, path)
        inside = [each for each in alternatives if not _is_another_kind(each, path)]
        if not inside:
            return _combined(alternatives, path)
        below = len(path) + 1
        inside = _distinct(
            [[self._with_choices(each) if len(each.path) == below else each for each in faults] for faults in inside]
        )
        tags = [
            {each.path[-1]: each for each in faults if len(each.path) == below and _is_choice(each)}
            for faults in inside
        ]
        fewest = min(map(len, tags))
        if fewest:
            names = [name for name in tags[0] if all(name in each for each in tags)]
            told = [_combined([[each[name]] for each in tags], [*path, name]) for name in names]
            if any(len(each[0].expected) > 1 for each in told):
                return [fault for each in told for fault in each if len(fault.expected) > 1]
        ranked = [(_rank(faults), faults) for faults, wrong in zip(inside, tags, strict=True) if len(wrong) == fewest]
        best = min(rank for rank, _ in ranked)
        nearest = [faults for rank, faults in ranked if rank == best]
        common = [fault for fault in nearest[0] if all(fault in each for each in nearest)]
        others = [[fault for fault in faults if fault not in common] for faults in nearest]
        if not all(others) or any(fault.is_tag for fault in common):
            return common
        return common + _combined(others, path)

    def _of_scalar(self, alternatives: list[_Faults], here: Any, path: Path) -> _Faults:
        near = [each for each in alternatives if not _is_another_kind(each, path)]
        if near:
            # Of its kind are choices of strings for a string, too.
            alternatives = [
                each
                for each in alternatives
                if each in near or (isinstance(here, str) and all(map(_is_choice_of_strings, each)))
            ]
        return alternatives[0] if len(alternatives) == 1 else _combined(alternatives, path)


_NAMED: Final = MISSING | UNKNOWN
_TAGS: Final = frozenset({"union_tag_invalid", "union_tag_not_found"})
_FIELD: Final = re.compile("'([^']*)'")
_CHOICES: Final = frozenset({"literal_error", "enum"})
_OTHER_KINDS: Final = _CHOICES | {"int_from_float", "none_required", "union_tag_not_found", "is_instance_of"}


def _is_choice(fault: _Fault) -> bool:
    return fault.type in _CHOICES


def _is_choice_of_strings(fault: _Fault) -> bool:
    return _is_choice(fault) and all(each.startswith("'") for each in fault.expected)


def _is_another_kind(faults: _Faults, path: Path) -> bool:
    """Whether an alternative takes another kind of value altogether."""
    return any(
        len(each.path) == len(path) and (each.type in _OTHER_KINDS or each.type.endswith("_type")) for each in faults
    )


def _distinct(alternatives: Iterable[_Faults]) -> list[_Faults]:
    found: list[_Faults] = []
    for each in alternatives:
        if each not in found:
            found.append(each)
    return found


def _rank(faults: _Faults) -> tuple[int, int]:
    """How far a value is from an alternative: fields that are missing or not known, then all faults.

    A name that is nearly the missing one is one fault with it, a misspelling.
    """
    missing = [each for each in faults if each.type in MISSING]
    unknown = [each for each in faults if each.issue.unknown is not None]
    misspelt = sum(
        bool(get_close_matches(str(each.issue.unknown), _names_beside(each, missing), n=1, cutoff=0.7))
        for each in unknown
    )
    return len(missing) + len(unknown) - misspelt, len(faults) - misspelt


def _names_beside(fault: _Fault, others: Sequence[_Fault]) -> list[str]:
    return [str(each.path[-1]) for each in others if each.path[:-1] == fault.path[:-1]]


def _combined(alternatives: list[_Faults], path: Path) -> _Faults:
    """One fault that says what there is to choose from."""
    first = alternatives[0][0]
    flat = [fault for faults in alternatives for fault in faults]
    if len(flat) == len(alternatives) and all(each.expected and each.path == first.path for each in flat):
        expected = tuple(dict.fromkeys(phrase for each in flat for phrase in each.expected))
        if "a number" in expected:
            expected = tuple(phrase for phrase in expected if phrase != "a whole number")
        if len(expected) == 1:
            return [first]
        rest = next((each.rest for each in flat if each.rest), "")
        told = _listed(expected, ", or " if any(" or " in phrase for phrase in expected) else " or ")
        return [_Fault(Issue(f"{told} is expected{rest}", first.path), first.type, expected, rest)]
    ways = [f"({' and '.join(_relative(fault.issue, path) for fault in faults)})" for faults in alternatives]
    more = [f"one of {len(ways) - _MOST} more"] if len(ways) > _MOST else []
    return [_Fault(Issue(f"either {' or '.join([*ways[:_MOST], *more])}", path), "either")]


def _relative(issue: Issue, path: Path) -> str:
    inner = issue.path[len(path) :]
    return f"{spelled(inner)}: {issue.message}" if inner else issue.message


def _listed(phrases: Sequence[str], last: str) -> str:
    between = ", " if last == " or " else last
    return between.join(phrases[:-1]) + (last if len(phrases) > 1 else "") + phrases[-1]
