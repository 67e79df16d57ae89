"""The text of a refusal."""

from __future__ import annotations

import pytest

from tesseron_py import RegistrationError
from tesseron_py.schema.definition import Definition, Written
from tesseron_py.schema.faults import Faults


def text(faults: Faults) -> str:
    with pytest.raises(RegistrationError) as refused:
        faults.refuse()
    return str(refused.value)


def define() -> Definition:
    return Definition("fn", False, [Written("a"), Written("ctx")])


def test_one_fault_stands_beside_the_place_and_several_below_it() -> None:
    faults = Faults("fn (app.py:1)")
    assert not faults
    faults.add("one")
    faults.add("one")
    assert faults
    assert text(faults) == "fn (app.py:1): one"
    faults.add("two")
    assert text(faults) == "fn (app.py:1): it cannot be a handler as it stands:\n  - one\n  - two"


def test_what_is_mended_elsewhere_has_no_corrected_line() -> None:
    faults = Faults("fn (app.py:1)", define)
    faults.tidy(lambda definition: definition.annotate("ctx", "Context"))
    faults.add("one")
    assert text(faults) == "fn (app.py:1): one\n  found:  def fn(a, ctx)"
    faults.add("two", lambda definition: definition.annotate("a", "int"), at="a")
    assert text(faults).endswith("\n  found:  def fn(a, ctx)\n  write:  def fn(a: int, ctx: Context)")


def test_a_definition_that_cannot_be_shown_is_left_out() -> None:
    faults = Faults("fn", lambda: None)
    faults.add("one", lambda definition: definition.drop("a"))
    assert text(faults) == "fn: one"
