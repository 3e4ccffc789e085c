"""Edits between two CONFIG_DBs, and CONFIG_DBs with edits applied."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fabric.rollout.edits import Edit, apply, edits_between, in_two_steps, number_of, priorities, well_formed

_ROW = st.dictionaries(st.sampled_from("abc"), st.sampled_from("123"), max_size=3)
_TABLES = st.dictionaries(
    st.sampled_from(("PORT", "QUEUE")), st.dictionaries(st.sampled_from("xy"), _ROW, min_size=1, max_size=2), max_size=2
)


@given(_TABLES, _TABLES)
def test_old_with_all_edits_is_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = copy.deepcopy(old)
    assert edits_between(apply(old, edits_between(old, new)), new) == ()
    assert old == before


def test_a_reference_in_brackets_and_a_list_are_no_change() -> None:
    old = {"BUFFER_PG": {"E0|3": {"profile": "[BUFFER_PROFILE|p]"}}, "X": {"k": {"l": ["a", "b"]}}}
    new = {"BUFFER_PG": {"E0|3": {"profile": "p"}}, "X": {"k": {"l": "a,b"}}}
    assert edits_between(old, new) == ()


def test_a_slash_and_a_tilde_in_a_key_are_escaped_in_the_path() -> None:
    assert Edit("T", "Ethernet1/1~x", "f", "add", None, "1").path == "/T/Ethernet1~11~0x/f"


def test_priorities_that_are_swapped_are_all_on_between() -> None:
    old, new = ({"PORT_QOS_MAP": {"E0": {"pfc_enable": text}}} for text in ("3", "4"))
    first, second = in_two_steps(edits_between(old, new))
    assert (first.old, first.new, second.old, second.new) == ("3", "3,4", "3,4", "4")


def test_priorities_that_only_grow_are_one_edit() -> None:
    old, new = ({"PORT_QOS_MAP": {"E0": {"pfc_enable": text}}} for text in ("3", "3,4"))
    assert len(list(in_two_steps(edits_between(old, new)))) == 1


def test_a_table_that_loses_its_last_row_goes() -> None:
    edits = edits_between({"PORT": {"E0": {}}}, {})
    assert apply({"PORT": {"E0": {}}}, edits) == {}


def test_tables_and_rows_of_another_form_are_left_out() -> None:
    assert well_formed({"PORT": "x", "QUEUE": {"E0|3": None, "E0|4": {"a": "b"}}}) == {"QUEUE": {"E0|4": {"a": "b"}}}


def test_digits_that_are_no_decimal_numbers_are_no_numbers() -> None:
    assert number_of("²") == number_of("9" * 5000) == number_of(None) == 0
    assert number_of("18446744073709551615") == 2**64 - 1
    assert priorities("3, 4,²,9,x") == {3, 4}
