"""A legal name for what an author gave."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py import RegistrationError, Tesseron, action
from tesseron_py.protocol.messages import ACTION_NAME
from tesseron_py.schema.naming import legal_name


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("fine", "fine"),
        ("new tool", "new_tool"),
        ("shop.add-todo", "shop_add-todo"),
        ("_private", "private"),
        ("2nd try", "nd_try"),
        ("überweisen", "uberweisen"),
        ("加", "action"),
        ("", "action"),
        ("...", "action"),
        ("a" * 80, "a" * 54),
        ("remove_every_completed_todo_of_this_person_for_ever_and_ever",
         "remove_every_completed_todo_of_this_person_for_ever"),
    ],
)  # fmt: skip
def test_names(name: str, legal: str) -> None:
    assert legal_name(name) == legal


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert legal_name("add", taken={"add", "add_2"}) == "add_3"
    assert legal_name("add_todo", taken={"add_todo"}, longest=8) == "add_2"


@given(st.text(max_size=80), st.sets(st.sampled_from(["a", "action", "action_2", "b"])), st.integers(8, 60))
def test_whatever_was_given_the_name_is_legal_free_and_short_enough(name: str, taken: set[str], longest: int) -> None:
    found = legal_name(name, taken=taken, longest=longest)
    assert ACTION_NAME.fullmatch(found)
    assert found not in taken
    assert len(found) <= longest


def handler() -> None: ...


@pytest.mark.parametrize("name", ["a.b", "New Tool", "1st", "é", ""])
def test_field_26_an_illegal_name_is_refused_with_the_place_and_a_legal_one(name: str) -> None:
    with pytest.raises(RegistrationError) as refused:
        action(name).handler(handler)
    place = f"handler ({__file__}:{handler.__code__.co_firstlineno}): "
    assert str(refused.value) == (
        f"{place}{name!r} is no name for an action; use letters, digits, _ and -, a letter first:"
        f' app.action("{legal_name(name)}")'
    )


def test_a_function_whose_own_name_is_illegal_is_told_the_same() -> None:
    def _private() -> None: ...

    with pytest.raises(RegistrationError, match=r"'_private' is no name for an action; .*app\.action\(\"private\"\)"):
        action(_private)


def test_the_name_that_is_offered_fits_with_the_apps_id_and_beside_the_others() -> None:
    app = Tesseron("a_shop_with_a_long_id_of_its_own")
    app.action("clear").handler(handler)
    with pytest.raises(RegistrationError, match=r'another name, app\.action\("clear_2"\), or remove that one'):
        app.action("clear").handler(handler)
    long = "clear_every_completed_todo_item"
    with pytest.raises(RegistrationError) as refused:
        app.action(long).handler(handler)
    offered = str(refused.value).rpartition('app.action("')[2].partition('"')[0]
    assert offered == "clear_every_completed_todo"
    assert app.action(offered).handler(handler).name == offered
    assert f"handler ({__file__}:" in str(refused.value)
