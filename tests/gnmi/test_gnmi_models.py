"""Paths and types of the gNMI server against OpenConfig's published models."""

from __future__ import annotations

import pytest

from telemetry.catalogue.control import BGP_STATES
from telemetry.gnmi.leaf import Leaf, Source
from telemetry.gnmi.openconfig import LEAVES
from tests.gnmi.published import FORMS, LISTS, NOT_PUBLISHED, SESSION_STATES, TYPES

TRANSITIONS = "established-transitions"


def path_of(leaf: Leaf) -> str:
    return "/" + "/".join(name for name, _ in leaf.elements)


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: f"{leaf.path} of {leaf.metric}")
def test_a_leaf_is_one_of_a_published_model_with_its_type_and_keys(leaf: Leaf) -> None:
    path, lists = "", {}
    for name, keys in leaf.elements:
        path += f"/{name}"
        if keys:
            lists[path] = tuple(key for key, _ in keys)
    if path not in NOT_PUBLISHED:
        assert FORMS[TYPES[path]] == leaf.form
    assert lists == {name: keys for name, keys in LISTS.items() if f"{path}/".startswith(f"{name}/")}


def test_states_of_sessions_are_those_of_the_model() -> None:
    assert {state.upper() for state in BGP_STATES} == SESSION_STATES


@pytest.mark.parametrize(
    ("flaps", "state", "transitions"), [(0, "established", 1), (2, "idle", 2), (2, "established", 3)]
)
def test_a_session_came_up_once_more_than_it_was_left_while_it_stands(flaps: int, state: str, transitions: int) -> None:
    left, stands = (leaf for leaf in LEAVES if leaf.path.endswith(TRANSITIONS))
    states = [stands.value(Source(float(it == state), {"state": it}, -1)) for it in BGP_STATES]
    counts = [it for it in (left.value(Source(float(flaps), {}, -1)), *states) if isinstance(it, int)]
    assert len(counts) == len(states) + 1
    assert sum(counts) == transitions
