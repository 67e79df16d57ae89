"""What a person can be asked for, and what becomes of their answer.

A form is derived from a type, or is a flat JSON Schema of the author's. Either way an answer is validated in full
before a handler sees it, and whatever does not fit is an error, never a value (Tesseron 1.2 §5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from ..errors import InvalidAnswer, InvalidSchema
from ..jsontext import decode, encode
from .caching import cached_by_type
from .fields import Choices, form_fields, title_of
from .flat import FlatSchema
from .generate import form_document, named, reason
from .handler import is_function
from .inline import inline_schema
from .issues import Issue, Mismatch, kind
from .references import References
from .subset import check_subset
from .validation import JsonValidator

__all__ = ["AnswerForm", "check_subset", "form_for", "form_for_json_schema", "plain_form"]

_make_typed_dict: Any = TypedDict  # type checkers want its arguments as literals


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
    _read: Callable[[dict[str, Any]], Any] = field(repr=False)

    def parse(self, content: Any) -> Any:
        """The value of an accepted answer.

        Args:
            content: What came with the acceptance: an object; `None` counts as `{}`.

        Raises:
            InvalidAnswer: It does not fit; `data` is the list of all `{message, path}`.
        """
        if content is not None and not isinstance(content, Mapping):
            issue = Issue(f"the answer is an object of fields and values, not {kind(content)}", [])
            raise InvalidAnswer(issue.message, [issue.to_wire()])
        try:
            return self._read(dict(content or {}))
        except Mismatch as error:
            raise InvalidAnswer(str(error), error.data) from None


def plain_form() -> AnswerForm:
    """The form of a question without a schema: one string, `response`."""
    return form_for(str)


def form_for(schema_type: Any = str) -> AnswerForm:
    """The form that asks for a value of `schema_type`.

    Args:
        schema_type: A model, dataclass or TypedDict, whose fields are asked for; or one value's type, asked for in a
            field `value` (`str`: `response`).

    Raises:
        InvalidSchema: It cannot be asked for; the message names the field and says what can be.
    """
    return _form(schema_type)


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

    def read(content: dict[str, Any]) -> dict[str, Any]:
        try:
            content = decode(encode(content))
        except ValueError as error:
            raise Mismatch([Issue(f"it cannot be read as JSON: {error}", [])]) from error
        answer, issues = flat.read(content)
        if issues:
            raise Mismatch(issues)
        return answer

    return AnswerForm(document, read)


@cached_by_type
def _form(schema_type: Any) -> AnswerForm:
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
        document = form_document(adapter)
        if single := inline_schema(document).get("type") != "object":
            adapter = TypeAdapter(_make_typed_dict("Answer", {name: schema_type}))
            document = form_document(adapter)
        inlined = inline_schema(document)
        validator = JsonValidator(
            adapter, document, inlined, refuse_unknown=False, noun="field", show=False, base64=False
        )
    except Exception as error:
        # Building a schema runs hooks of the author's types, so anything may be raised.
        raise InvalidSchema(f"{named(schema_type)} has no JSON Schema: {reason(error)}") from error
    if not isinstance(inlined.get("properties"), dict):
        raise InvalidSchema(
            f"{named(schema_type)} has no fields of its own to ask for; use a model, a dataclass or a TypedDict"
        )
    properties, choices = form_fields(inlined, {} if single else _titles(document))
    required = inlined.get("required", [])
    optional = properties.keys() - required
    schema = {"type": "object", "properties": properties, "required": required}

    def read(content: dict[str, Any]) -> Any:
        content = {key: item for key, item in content.items() if item is not None or key not in optional}
        issues = _read_choices(content, choices)
        value: Any = None
        try:
            value = validator(content)
        except Mismatch as error:
            known = [issue.path for issue in issues]
            issues += [issue for issue in error.issues if issue.path[:1] not in known]
        if issues:
            raise Mismatch(issues)
        return value[name] if single else value

    return AnswerForm(schema, read)


def _read_choices(content: dict[str, Any], choices: Mapping[str, Choices]) -> list[Issue]:
    """Replace the published texts of choices by their values; an answer outside the choices is an issue, always."""
    issues: list[Issue] = []
    for name, each in choices.items():
        if name in content:
            known, content[name] = each.read(content[name])
            if not known:
                issues.append(Issue(f"{each} is expected", [name]))
    return issues


def _titles(document: Mapping[str, Any]) -> dict[str, str]:
    """The titles that stand at the fields themselves, where a choice would otherwise be titled with its type's name."""
    references = References(document)
    schema: Mapping[str, Any] | None = document
    while schema is not None and "$ref" in schema:
        schema = references.resolve(schema["$ref"])
    properties = (schema or {}).get("properties", {})
    return {name: each.get("title") or title_of(name) for name, each in properties.items()}
