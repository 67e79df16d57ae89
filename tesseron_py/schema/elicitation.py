"""What a person can be asked for, and what becomes of their answer.

A form is derived from a type, or is a flat JSON Schema of the author's. Either way an answer is validated in full
before a handler sees it, and whatever does not fit is an error, never a value (Tesseron 1.2 §5).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Final, get_origin

from pydantic import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, TypeAdapter
from typing_extensions import TypedDict

from ..errors import InvalidAnswer, InvalidSchema, TesseronError
from ..jsontext import decode, encode
from .again import Asked, asked_again, hinted, with_defaults, with_kept
from .caching import cached_by_type
from .defaults import with_readers
from .flat import FlatSchema
from .generate import Schemas, named, reason, schemas_of
from .handler import is_function
from .issues import Issue, Mismatch, kind, summary
from .layout import Layout
from .nesting import group_of
from .silence import without_answers
from .subset import check_subset
from .undefined import check_defined
from .unusable import unusable
from .validation import JsonValidator

__all__ = ["AnswerForm", "check_subset", "form_for", "form_for_json_schema", "plain_form"]

_log = logging.getLogger("tesseron_py.schema")
_make_typed_dict: Any = TypedDict  # type checkers want its arguments as literals


def _unfit(told: Sequence[Issue], issues: Sequence[Issue]) -> InvalidAnswer:
    """The error for an answer that does not fit: what the person is told of it, and what anybody else is."""
    error = InvalidAnswer(summary(issues), [issue.to_wire() for issue in issues])
    error.told = [issue.to_wire() for issue in told]
    return error


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What is asked, as a flat JSON object schema, and how an answer to it is read.

    Example:
        ```python
        form = form_for(Address)
        form.schema                              # goes out
        form.parse({"street": "Main St 1"})      # an Address, or InvalidAnswer
        ```
    """

    schema: dict[str, Any]
    """Sent as it is; not to be changed, since forms are shared."""
    _read: Callable[[dict[str, Any], Mapping[str, Any]], Any] = field(repr=False)
    """Of an answer, and what the form shows of one before it."""
    _is_left_out: Callable[[str, Any], bool] = field(repr=False)
    """Whether what came for a property says that nothing was given."""
    _asked: Sequence[Asked] = field(default=(), repr=False)
    _kept: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _first: dict[str, Any] | None = field(default=None, repr=False)
    """The schema as it was asked first, if this form asks again."""

    def parse(self, content: Any) -> Any:
        """The value of an accepted answer.

        Args:
            content: What came with the acceptance: an object; `None` counts as `{}`.

        Raises:
            InvalidAnswer: It does not fit; `data` is the list of all `{message, path}`, which hold nothing of what was
                given.
        """
        if content is not None and not isinstance(content, Mapping):
            issue = Issue(f"the answer is an object of fields and values, not {kind(content)}", [])
            raise InvalidAnswer(issue.message, [issue.to_wire()])
        given = dict(content or {})
        try:
            return self._read(given, self._kept)
        except Mismatch as error:
            raise _unfit(error.issues, without_answers(error.issues)) from None
        except TesseronError:
            raise  # in an author's own words, for the agent
        except Exception as error:
            # A validator of the author's may raise anything, and say in it what was given.
            _log.error("%s", _fault_of(error))
            issues = [Issue("what was given cannot be checked", [])]
            raise _unfit(issues, issues) from None

    def again(
        self, question: str, content: Mapping[str, Any], error: InvalidAnswer, *, booleans_only: bool = False
    ) -> tuple[str, AnswerForm]:
        """What to ask after an answer that did not fit: the question, which says why not, and the form.

        The form holds what was typed as its defaults, and that is what is given for a field that is left alone; what a
        secret field held is nowhere.

        Args:
            question: The first question.
            content: What came with the acceptance.
            error: What `parse` raised for it.
            booleans_only: The client shows the defaults of booleans alone (MCP before 2025-11-25).
        """
        first = self._first or self.schema
        given = with_kept(dict(content), self._kept, first, self._is_left_out)
        # What is missing in a required field was typed once all the same.
        schema, kept = with_defaults(first, self._asked, {**self._kept, **given}, booleans_only=booleans_only)
        form = replace(self, schema=schema, _kept=kept, _first=first)
        return asked_again(question, self._asked, given, error.told or error.data), form


def _fault_of(error: Exception) -> str:
    """What an author needs to find it, without what a person gave."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    return f"a validator raised {type(error).__name__}{where} for an answer, which is none then; raise ValueError"


def plain_form() -> AnswerForm:
    """The form of a question without a schema: one string, `response`."""
    return form_for(str)


def form_for(schema_type: Any = str, *, lists: bool = False) -> AnswerForm:
    """The form that asks for a value of `schema_type`.

    Args:
        schema_type: A model, dataclass, TypedDict or NamedTuple, whose fields are asked for; or one value's type, asked
            for in a field `value` (`str`: `response`).
        lists: Whether several choices may be asked for as a list, and not by one boolean each, and the defaults of all
            fields are shown, and not those of booleans alone (MCP since 2025-11-25).

    Raises:
        InvalidSchema: It cannot be asked for; the message names the field and says what can be.
    """
    plain, with_lists = _forms(schema_type)
    return with_lists if lists else plain


def form_for_json_schema(schema: Mapping[str, Any]) -> AnswerForm:
    """The form of a flat JSON object schema, which is sent as it stands; `parse` gives a dict that fits it.

    Raises:
        InvalidSchema: It is outside the subset, or restricts answers in a way that is not checked here.
    """
    check_subset(schema)
    try:
        document = decode(encode(dict(schema)))
    except ValueError as error:
        raise InvalidSchema(f"a form's schema is JSON: {error}") from error
    flat = FlatSchema(document)

    def read(content: dict[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
        try:
            content = decode(encode(with_kept(content, kept, document, flat.is_left_out)))
        except ValueError as error:
            raise Mismatch([Issue(f"it cannot be read as JSON: {error}", [])]) from error
        answer, issues = flat.read(content)
        if issues:
            raise Mismatch(issues)
        return answer

    return AnswerForm(
        document,
        read,
        flat.is_left_out,
        [_asked(name, each) for name, each in (document.get("properties") or {}).items()],
    )


def _asked(name: str, schema: Mapping[str, Any]) -> Asked:
    title = schema.get("title")
    is_secret = schema.get("writeOnly") is True or schema.get("format") == "password"
    hint = hinted(schema.get("description"), schema.get("examples"))
    return Asked((name,), title if isinstance(title, str) and title else name, (name,), is_secret, hint)


@cached_by_type
def _forms(schema_type: Any) -> tuple[AnswerForm, AnswerForm]:
    """For clients without lists, and for those with them."""
    name = "response" if schema_type is str else "value"
    if isinstance(schema_type, (list, tuple, set, frozenset, dict)):
        raise InvalidSchema(
            f"{schema_type!r} is no type to ask for; choices are Literal[…] or an Enum, and a JSON Schema goes into"
            " json_schema="
        )
    if is_function(schema_type):
        raise InvalidSchema(
            f"{named(schema_type)} is a function, no type to ask for; it would be called with an answer"
        )
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(schema_type)
        schemas = _schemas(adapter)
        if single := schemas.published.get("type") != "object":
            adapter = TypeAdapter(_make_typed_dict("Answer", {name: schema_type}))
            schemas = _schemas(adapter)
        document, inlined = schemas.document, schemas.published
        validator = JsonValidator(
            adapter, document, inlined, refuse_unknown=False, noun="field", show=False, base64=False
        )
    except Exception as error:
        # Building a schema runs hooks of the author's types, so anything may be raised.
        raise InvalidSchema(_no_form(schema_type, error)) from error
    if not isinstance(inlined.get("properties"), dict):
        raise InvalidSchema(
            f"{named(schema_type)} has no fields of its own to ask for; use a model, a dataclass or a TypedDict"
        )
    root = group_of(document, inlined, single=single, name=named(schema_type))
    key = name if single else None
    return _laid_out(Layout(root, lists=False), validator, key), _laid_out(Layout(root, lists=True), validator, key)


def _schemas(adapter: TypeAdapter[Any]) -> Schemas:
    """The schemas of a type for a form, without the defaults that would be others when they are sent back."""
    check_defined(adapter)
    marked = copy(adapter)
    marked.core_schema = with_readers(adapter.core_schema, base64=False)
    return schemas_of(marked, "form")


def _no_form(declared: Any, error: Exception) -> str:
    """Why there is no form of a type, and what to give instead."""
    if isinstance(declared, str):
        return f"{declared!r} is a text, no type to ask for; a text is asked for with str"
    if unusable(error) is not None:
        return f"{named(declared)} cannot be asked for: {reason(error)}"
    if not isinstance(declared, type) and get_origin(declared) is None and type(declared).__module__ not in _OF_TYPES:
        kind = type(declared).__qualname__
        return f"an object of {kind} is no type to ask for; give the class, {kind}"
    if isinstance(error, PydanticSchemaGenerationError) and isinstance(declared, type):
        return f"{declared.__qualname__} is a class whose fields are not known; {_MEND}"
    if isinstance(error, (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema)):
        why = reason(error).partition(". Set `arbitrary_types_allowed")[0]
        return f"{named(declared)} holds what cannot be asked for; {_MEND} of JSON types ({why})"
    return f"{named(declared)} has no JSON Schema: {reason(error)}"


_OF_TYPES: Final = frozenset({"types", "typing", "typing_extensions"})  # whose objects are types
_MEND: Final = "use a model, a dataclass or a TypedDict"


def _laid_out(layout: Layout, validator: JsonValidator, single: str | None) -> AnswerForm:
    """The form of a layout; `single` is the name of the one field that is the value."""

    schema = layout.schema

    def read(content: dict[str, Any], kept: Mapping[str, Any]) -> Any:
        raw, issues = layout.read(with_kept(content, kept, schema, layout.is_left_out))
        value: Any = None
        try:
            value = validator(raw)
        except Mismatch as error:
            known = [issue.path for issue in issues]
            issues += [issue for issue in error.issues if not any(issue.path[: len(path)] == path for path in known)]
        if issues:
            raise Mismatch(issues)
        return value if single is None else value[single]

    return AnswerForm(schema, read, layout.is_left_out, layout.asked())
