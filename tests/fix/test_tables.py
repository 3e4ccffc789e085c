"""Rows as JSON Patch: a library of others applies it to the same result, and RFC 6902's rules hold."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.validate.edits import Row
from fabric.validate.fix import tables

TREE: dict[str, Any] = {
    "PORT": {"Ethernet0": {"mtu": "1500", "speed": "400000"}},
    "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}},
    "PFC_WD": {"Ethernet0": {"action": "drop"}},
}
MTU, SPEED = "/PORT/Ethernet0/mtu", "/PORT/Ethernet0/speed"
CASES = [
    ((Row(("PORT", "Ethernet0", "mtu"), "9216"),), [("test", MTU), ("replace", MTU)]),
    ((Row(("PORT", "Ethernet0", "fec"), "rs"),), [("add", "/PORT/Ethernet0/fec")]),
    ((Row(("QUEUE", "Ethernet0|3", "wred_profile"), "W"),), [("add", "/QUEUE")]),
    ((Row(("PFC_WD", "Ethernet8", "action"), "drop"),), [("add", "/PFC_WD/Ethernet8")]),
    ((Row(("PORT", "Ethernet0", "speed"), None),), [("test", SPEED), ("remove", SPEED)]),
    (
        (Row(("INTERFACE", "Ethernet0|10.0.0.0/31"), None), Row(("INTERFACE", "Ethernet0|10.0.0.2/31"), "")),
        [
            ("test", "/INTERFACE/Ethernet0|10.0.0.0~131"),
            ("remove", "/INTERFACE/Ethernet0|10.0.0.0~131"),
            ("add", "/INTERFACE/Ethernet0|10.0.0.2~131"),
        ],
    ),
    ((Row(("PFC_WD", "Ethernet0"), None),), [("test", "/PFC_WD"), ("remove", "/PFC_WD")]),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "operations"), CASES)
def test_a_patch_tests_what_it_replaces_and_removes(rows: tuple[Row, ...], operations: list[tuple[str, str]]) -> None:
    patch = tables.patch(TREE, tables.applied(TREE, rows))
    assert [(it["op"], it["path"]) for it in patch] == operations


@pytest.mark.parametrize(("rows", "operations"), CASES)
def test_a_library_applies_the_patch_to_the_same_tree(rows: tuple[Row, ...], operations: list[tuple[str, str]]) -> None:
    del operations
    new = tables.applied(TREE, rows)
    assert jsonpatch.apply_patch(TREE, tables.patch(TREE, new)) == new
    assert TREE["PORT"]["Ethernet0"]["mtu"] == "1500"


def test_a_switch_that_changed_since_refuses_the_patch() -> None:
    new = tables.applied(TREE, (Row(("PORT", "Ethernet0", "mtu"), "9216"),))
    other = tables.applied(TREE, (Row(("PORT", "Ethernet0", "mtu"), "4200"),))
    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        jsonpatch.apply_patch(other, tables.patch(TREE, new))


_NAMES = st.text("ab/~|0", min_size=1, max_size=4)
_TREES = st.dictionaries(_NAMES, st.dictionaries(_NAMES, st.dictionaries(_NAMES, _NAMES, max_size=3), max_size=3))


@given(_TREES, _TREES)
def test_any_two_trees_have_a_patch_between_them(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert jsonpatch.apply_patch(old, tables.patch(old, new)) == new


def test_a_hosts_file_keeps_the_types_of_its_values() -> None:
    tree = {"host1": {"mtu": 4200, "global_pause": True, "trust": "pcp"}}
    rows = (Row(("host1", "mtu"), "9000"), Row(("host1", "global_pause"), "false"), Row(("host1", "trust"), "dscp"))
    assert tables.applied(tree, rows) == {"host1": {"mtu": 9000, "global_pause": False, "trust": "dscp"}}
