"""A failing property holds the objects of one failed example, not of all."""

from __future__ import annotations

import gc
import weakref
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.internal.reflection import function_digest

from tests.failed_examples import forgetting


class Heavy:
    """Stands for an emulator."""


MADE: Final[weakref.WeakSet[Heavy]] = weakref.WeakSet()


def _check(heavy: Heavy, numbers: list[int]) -> None:
    try:
        assert sum(numbers) < 60
    except AssertionError as error:
        raise ValueError(f"{heavy} of {numbers}") from error


@given(number=st.integers())
def test_a_property_is_made_to_forget_when_it_is_collected(number: int) -> None:
    here = test_a_property_is_made_to_forget_when_it_is_collected.hypothesis  # type: ignore[attr-defined]
    assert here.inner_test.__code__ is forgetting(here.inner_test).__code__, number


def test_a_failing_property_keeps_the_last_failed_example_only() -> None:
    alive: list[int] = []

    @settings(database=None)
    @given(numbers=st.lists(st.integers(0, 300), min_size=5, max_size=40))
    def fails(numbers: list[int]) -> None:
        alive.append(len(MADE))
        heavy = Heavy()
        MADE.add(heavy)
        _check(heavy, numbers)

    plain = fails.hypothesis.inner_test  # type: ignore[attr-defined]  # the seam that Hypothesis documents
    fails.hypothesis.inner_test = forgetting(plain)  # type: ignore[attr-defined]
    assert function_digest(forgetting(plain)) == function_digest(plain)
    gc.disable()
    try:
        with pytest.raises(ValueError, match="Heavy") as caught:
            fails()
    finally:
        gc.enable()
    assert len(alive) > 10
    assert max(alive) <= 1
    assert "heavy" in caught.traceback[-1].frame.f_locals  # what pytest reports of the last one is there
