"""Whatever is asked for, what a person fills in becomes the value they meant, and what does not fit never a value.

In the form of every revision: what is asked is inside its subset, and what is answered is what that revision's clients
can send.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any
from unittest.mock import patch

import anyio
import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import Field, create_model

from tesseron_py import Accepted, Context, Tesseron
from tesseron_py.errors import InvalidAnswer, InvalidSchema
from tesseron_py.gateway.answers import with_titles
from tesseron_py.mcp import client_legacy
from tesseron_py.mcp.client_era import EraChoice
from tesseron_py.mcp.forms import normalise
from tesseron_py.schema.elicitation import AnswerForm, check_subset, form_for
from tesseron_py.testing import Agent, accept
from tesseron_py.testing.answers import Answer, Prompt

from .form_cases import NOTHING, Case, cases

REVISIONS = {"tesseron": False, "2025-06-18": False, "2025-11-25": True, "2026-07-28": True}
"""Each way a form may go, and whether there are lists on it."""

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
many = settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
revisions = st.sampled_from(list(REVISIONS))


def shown(form: AnswerForm, revision: str) -> dict[str, Any]:
    """The form as a client of the revision has it."""
    if revision == "tesseron":
        return form.schema
    return normalise(with_titles(form.schema), revision)


@many
@given(cases(), revisions)
def test_an_answer_is_the_value_that_was_meant(case: Case, revision: str) -> None:
    lists = REVISIONS[revision]
    form = form_for(case.type, lists=lists)
    check_subset(form.schema, lists=lists)
    answer = case.answer(lists=lists)
    schema = shown(form, revision)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(answer, schema)
    assert not answer.keys() - schema["properties"].keys()
    assert form.parse(answer) == case.value


def text_of(value: Any) -> Any:
    """What a client sends that has text for everything."""
    if isinstance(value, bool):
        return "Yes" if value else "FALSE"
    if isinstance(value, (int, float)):
        text = repr(value)
        return value if re.fullmatch(r"-?[1-9]\d{0,2}\.\d{3}", text) else f" {text} "
    return value


@many
@given(cases(), revisions)
def test_text_for_numbers_and_booleans_is_the_same_value(case: Case, revision: str) -> None:
    lists = REVISIONS[revision]
    answer = {name: text_of(value) for name, value in case.answer(lists=lists).items()}
    assert form_for(case.type, lists=lists).parse(answer) == case.value


@many
@given(cases(), revisions, st.booleans())
def test_what_is_left_empty_in_an_optional_field_is_not_given(case: Case, revision: str, null: bool) -> None:
    lists = REVISIONS[revision]
    form = form_for(case.type, lists=lists)
    answer = case.answer(lists=lists)
    required = form.schema["required"]
    for name, field in form.schema["properties"].items():
        has_empty_text = field["type"] == "string" and field.keys() <= {"type", "title"}
        if name not in answer and name not in required and (null or not has_empty_text):
            answer[name] = None if null else " "
    if not null:
        for leaf in case.leaves():  # the texts whose type tells what their form cannot
            if answer.get(leaf.key) == " " and leaf.kind.type is str:
                del answer[leaf.key]
    assert form.parse(answer) == case.value


@many
@given(cases(), revisions, st.data())
def test_what_does_not_fit_is_never_a_value(case: Case, revision: str, data: st.DataObject) -> None:
    lists = REVISIONS[revision]
    form = form_for(case.type, lists=lists)
    leaf = data.draw(st.sampled_from(case.leaves()))
    for wrong in leaf.wrongs(lists=lists):
        answer = {name: each for name, each in (case.answer(lists=lists) | wrong).items() if each is not NOTHING}
        with pytest.raises(InvalidAnswer) as refused:
            form.parse(answer)
        path = leaf.key.split(".")
        assert any(issue["path"] == path[: len(issue["path"])] for issue in refused.value.data)
        # And what is asked next is a form of the same revision, in which what was typed does no harm.
        question, again = form.again("Which?", answer, refused.value)
        schema = again.schema
        assert question.startswith("Which?\n\nThe last answer did not fit:\n- ")
        check_subset(schema, lists=lists)
        assert form.schema["properties"].keys() == schema["properties"].keys()


def shows(revision: str, field: dict[str, Any]) -> bool:
    """Whether a client shows the default of a field: before 2025-11-25 only booleans have one (MCP, elicitation)."""
    return revision != "2025-06-18" or field["type"] == "boolean"


@many
@given(cases(), revisions)
def test_what_is_left_alone_when_asked_again_is_what_was_shown(case: Case, revision: str) -> None:
    lists = REVISIONS[revision]
    first = form_for(create_model("Spoilt", __base__=case.type, spoilt=(Annotated[int, Field(ge=0)], ...)), lists=lists)
    typed = case.answer(lists=lists)
    with pytest.raises(InvalidAnswer) as refused:
        first.parse({**typed, "spoilt": -1})
    _, second = first.again("Which?", {**typed, "spoilt": -1}, refused.value, booleans_only=revision == "2025-06-18")
    properties = second.schema["properties"].items()
    shown = {name: each["default"] for name, each in properties if "default" in each and shows(revision, each)}
    required = first.schema["required"]
    given = {name: each for name, each in typed.items() if name in required or name not in shown or shown[name] != each}
    assert second.parse({**given, "spoilt": 1}) == first.parse({**typed, "spoilt": 1})


@many
@given(cases(), revisions, st.data())
def test_what_an_object_is_by_default_is_what_its_fields_show(case: Case, revision: str, data: st.DataObject) -> None:
    """What is left alone in an object with a default is of that default, whatever its class says."""
    lists = REVISIONS[revision]
    value = case.value
    holder = create_model("Holder", part=(case.type, value))
    try:
        form = form_for(holder, lists=lists)
    except InvalidSchema:  # one level too deep
        assume(False)
    assert form.parse({}).part == value
    some = data.draw(st.sets(st.sampled_from(sorted(case.answer(lists=lists))))) if case.answer(lists=lists) else set()
    given = {f"part.{name}": each for name, each in case.answer(lists=lists).items() if name in some}
    for leaf in case.leaves():  # one box that is filled in stands for all of a choice
        if leaf.kind.several and not lists and any(name.startswith(f"part.{leaf.key}.") for name in given):
            given |= {
                f"part.{name}": each
                for name, each in case.answer(lists=lists).items()
                if name.startswith(f"{leaf.key}.")
            }
    assert form.parse(given).part == value


@many
@given(cases(), revisions, st.data())
def test_objects_where_fields_are_asked_for_are_never_a_value(case: Case, revision: str, data: st.DataObject) -> None:
    lists = REVISIONS[revision]
    form = form_for(case.type, lists=lists)
    answer = case.answer(lists=lists)
    part = data.draw(st.sampled_from(case.parts))
    if part.kind is None:
        inner = {name.removeprefix(f"{part.name}."): each for name, each in answer.items() if "." in name}
        answer = {name: each for name, each in answer.items() if not name.startswith(f"{part.name}.")}
        answer[part.name] = inner
    else:
        answer[part.name] = {"value": answer.pop(part.name, 1)}
    with pytest.raises(InvalidAnswer):
        form.parse(answer)


# From a handler to a client and back --------------------------------------------------------------------------------


@contextmanager
def spoken(revision: str) -> Iterator[EraChoice]:
    """The era in which an agent speaks a revision."""
    with patch.object(client_legacy, "PROTOCOL_VERSION", revision):
        yield "modern" if revision == "2026-07-28" else "legacy"


@st.composite
def told(draw: st.DrawFn, lists: bool) -> tuple[Case, dict[str, Any]]:
    """A case, and an answer that is none, which the person gives first.

    What is wrong is in a field that they give again: one they leave alone the next time is what they gave.
    """
    case = draw(cases().filter(lambda case: bool(case.answer(lists=lists))))
    answer = case.answer(lists=lists)
    leaves = [
        leaf
        for leaf in case.leaves()
        if any(name == leaf.key or name.startswith(f"{leaf.key}.") for name in answer) and leaf.wrongs(lists=lists)
    ]
    leaf = draw(st.sampled_from(leaves))
    wrongs = leaf.wrongs(lists=lists)
    if leaf.kind.several and not lists:  # `accept` ticks the boxes of a list
        wrongs = [each for each in wrongs if leaf.key not in each]
    answer |= draw(st.sampled_from(wrongs))
    return case, {name: each for name, each in answer.items() if each is not NOTHING}


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
@settings(max_examples=8, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_a_handler_gets_the_value_that_a_person_means_and_no_other(revision: str, data: st.DataObject) -> None:
    lists = REVISIONS[revision]
    told_cases = data.draw(st.lists(told(lists), min_size=25, max_size=25))
    app, got = Tesseron("forms"), []

    @app.action
    async def ask(number: int, ctx: Context) -> None:
        answer = await ctx.ask("Which?", told_cases[number][0].type, attempts=2, key="which")
        assert isinstance(answer, Accepted)
        got.append(answer.value)

    given = [each for case, wrong in told_cases for each in (wrong, case.answer(lists=lists))]

    def answer(prompt: Prompt) -> Answer:
        content = given.pop(0)
        assert prompt.schema["type"] == "object"
        return accept(content)

    async def run(era: EraChoice) -> None:
        with anyio.fail_after(60):
            async with Agent(app, answers=answer, era=era) as agent:
                assert agent.client.server.protocol_version == revision
                for number in range(len(told_cases)):
                    await agent.call("ask", {"number": number})
                assert len(agent.questions) == 2 * len(told_cases)

    with spoken(revision) as era:
        anyio.run(run, era)
    assert got == [case.value for case, _ in told_cases]
    assert not given
