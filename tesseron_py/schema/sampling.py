"""What an agent's model answered: its text, or a value of a type read from it (Tesseron 1.2 §6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from ..errors import ActionError, InvalidSchema
from ..jsontext import decode, encode
from .caching import cached_by_type
from .generate import named, reason, schemas_of
from .handler import is_function
from .issues import Mismatch
from .validation import JsonValidator

__all__ = ["SampleForm", "sample_form", "text_of"]

_FENCE = "```"


@dataclass(frozen=True, slots=True)
class SampleForm:
    """What a model is asked to answer with, and how its answer is read."""

    schema: dict[str, Any]
    """Sent as it is; not to be changed, since forms are shared."""
    _validate: JsonValidator = field(repr=False)

    def parse(self, content: Any) -> Any:
        """The value in a model's answer.

        Args:
            content: Text with JSON in it, bare or in a fenced block; text blocks, which are joined; or a JSON value.

        Raises:
            ActionError: It holds no value that fits; `data` is its text.
        """
        text = _joined(content)
        try:
            return self._validate(content) if text is None else self._read(text)
        except Mismatch as error:
            raise ActionError(f"The model's answer does not fit: {error}", text_of(content)) from None
        except ValueError as error:
            raise ActionError(f"The model's answer is no JSON: {error}", text) from None

    def _read(self, text: str) -> Any:
        refused: Mismatch | ValueError | None = None
        for candidate in _candidates(text):
            try:
                return self._validate(decode(candidate))
            except (Mismatch, ValueError) as error:
                # That JSON which does not fit says more than that something else is no JSON.
                if refused is None or isinstance(error, Mismatch):
                    refused = error
        if self.schema.get("type") == "string":  # a string, a date, a choice: models leave out the quotes
            return self._validate(text.strip())
        raise refused or ValueError("it is empty")


def sample_form(schema_type: Any) -> SampleForm:
    """The form that asks a model for a value of `schema_type`, any type pydantic validates from JSON.

    Raises:
        InvalidSchema: It has no JSON Schema.
    """
    return _form(schema_type)


def text_of(content: Any) -> str:
    """The text of a model's answer: a string as it is, text blocks joined, anything else as JSON."""
    text = _joined(content)
    return encode(content) if text is None else text


@cached_by_type
def _form(schema_type: Any) -> SampleForm:
    if is_function(schema_type):
        raise InvalidSchema(f"{named(schema_type)} is a function, no type; it would be called with a model's answer")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(schema_type)
        schemas = schemas_of(adapter, "sample")
        published = decode(encode(schemas.published))
        validator = JsonValidator(adapter, schemas.document, published, refuse_unknown=False, noun="field", show=True)
    except Exception as error:
        # Building a schema runs hooks of the author's types, so anything may be raised.
        raise InvalidSchema(f"{named(schema_type)} has no JSON Schema: {reason(error)}") from error
    return SampleForm(published, validator)


def _joined(content: Any) -> str | None:
    """The text of a string, a text block, or a list of text blocks; `None` for any other value."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else [content]
    texts = [
        each["text"]
        for each in blocks
        if isinstance(each, dict) and each.get("type") == "text" and isinstance(each.get("text"), str)
    ]
    return "".join(texts) if blocks and len(texts) == len(blocks) else None


def _candidates(text: str) -> Iterator[str]:
    """Where the JSON may be: all of the text, or its first fenced block, ended by the next fence or by the last."""
    yield text
    start = text.find(_FENCE)
    if start < 0:
        return
    start += len(_FENCE)
    ends = dict.fromkeys((text.find(_FENCE, start), text.rfind(_FENCE, start)))
    for end in ends:
        if end < 0:
            continue
        block = text[start:end]
        yield block
        language, _, rest = block.partition("\n") if "\n" in block else block.partition(" ")
        if rest and language.strip().isalnum():
            yield rest
