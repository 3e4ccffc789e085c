"""States that are taken as equal have equal verdicts."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fabrics import HOSTS, Tables

from fabric.rollout.check import Checker, View
from fabric.rollout.order import search, tiers
from fabric.rollout.plan import Request, prepare
from fabric.rollout.units import State

Fabric = dict[str, Tables]
Edit = Callable[[Tables], None]


def one_port(tables: Tables) -> None:
    """PFC of one port, which leads to another switch on each switch."""
    tables["PORT_QOS_MAP"]["Ethernet16"]["pfc_enable"] = "4"


def all_ports(tables: Tables) -> None:
    for row in tables["PORT_QOS_MAP"].values():
        row["pfc_enable"] = "3"


def marking(tables: Tables) -> None:
    tables["WRED_PROFILE"]["W"].update(green_min_threshold="14000000", green_max_threshold="15000000")


def other_class(tables: Tables) -> None:
    tables["DSCP_TO_TC_MAP"]["M"]["26"] = "4"


@pytest.mark.parametrize(
    ("edit", "names"),
    [
        (one_port, "leaf1 leaf2 spine1 spine2"),
        (one_port, "leaf1 spine1"),
        (all_ports, "leaf1 leaf2 spine1 spine2"),
        (marking, "leaf1 leaf2 spine1"),
        (other_class, "leaf1 leaf2 spine1 spine2"),
    ],
)
def test_states_with_one_key_are_all_safe_or_all_hazardous(
    edit: Edit, names: str, two_classes: Fabric, tmp_path: Path, write_fabric: Callable[..., Path]
) -> None:
    new = copy.deepcopy(two_classes)
    for name in names.split():
        edit(new[name])
    hosts: dict[str, Any] = {"default": {**HOSTS["default"], "pfc_enable": "3,4"}}
    prepared = prepare(
        Request(write_fabric(tmp_path / "old", two_classes, hosts), write_fabric(tmp_path / "new", new, hosts))
    )
    change = prepared.checker.change
    plain = Checker(change, prepared.checker.known)
    whole = change.as_whole()
    keyed, single = View(prepared.checker, whole), View(plain, whole)
    safe: dict[State, bool] = {}
    for state in product((0, 1), repeat=len(names.split())):
        safe[state] = single.check(state).safe
        assert keyed.check(state).safe is safe[state], state
    assert plain.checked != ()
    found = search(single, most=10**6, tier=tiers(change.old))
    assert found.found is _reaches(safe, whole.start, whole.end)
    assert all(safe[state] for state in found.states)


def _reaches(safe: dict[State, bool], start: State, end: State) -> bool:
    """Whether some order leads from start to end through safe states, by trying all."""
    seen, waiting = {start}, [start]
    while waiting:
        at = waiting.pop()
        for index in range(len(at)):
            after = (*at[:index], 1, *at[index + 1 :])
            if after not in seen and safe[after]:
                seen.add(after)
                waiting.append(after)
    return end in seen
