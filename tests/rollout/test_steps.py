"""The order of edits inside one switch."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fabric.rollout.edits import Tables, apply, edits_between
from fabric.rollout.steps import Step, merged, steps_of

OLD: Tables = {
    "PORT": {"E0": {"admin_status": "up", "mtu": "9100", "speed": "100000"}},
    "CABLE_LENGTH": {"AZURE": {"E0": "5m"}},
    "BUFFER_POOL": {"ingress_lossless_pool": {"size": "1000", "type": "ingress", "mode": "dynamic"}},
    "BUFFER_PROFILE": {"p": {"pool": "ingress_lossless_pool", "xoff": "100", "size": "10"}},
    "BUFFER_PG": {"E0|3": {"profile": "p"}},
    "TC_TO_PRIORITY_GROUP_MAP": {"M": {"3": "3", "4": "0"}},
    "DSCP_TO_TC_MAP": {"M": {"26": "3", "30": "0"}},
    "PORT_QOS_MAP": {"E0": {"pfc_enable": "3", "pfcwd_sw_enable": "3"}},
    "PFC_WD": {"E0": {"action": "drop"}},
}


def edited(**tables: dict[str, dict[str, Any] | None]) -> Tables:
    found = copy.deepcopy(OLD)
    for table, rows in tables.items():
        for key, row in rows.items():
            if row is None:
                found[table].pop(key)
            else:
                found.setdefault(table, {}).setdefault(key, {}).update(row)
    return found


def titles(new: Tables, old: Tables = OLD) -> list[str]:
    return [step.title for step in steps_of(old, new, "202511")]


@pytest.mark.parametrize(
    ("new", "there", "back"),
    [
        (
            edited(BUFFER_PROFILE={"q": {"xoff": "300"}}, BUFFER_PG={"E0|3": {"profile": "q"}}),
            ["add objects", "more headroom"],
            ["less headroom", "remove objects"],
        ),
        (
            edited(BUFFER_POOL={"ingress_lossless_pool": {"size": "900"}}, BUFFER_PROFILE={"p": {"xoff": "200"}}),
            ["shrink pools", "more headroom"],
            ["less headroom", "grow pools"],
        ),
        (
            edited(CABLE_LENGTH={"AZURE": {"E0": "40m"}}, BUFFER_PROFILE={"p": {"xoff": "200"}}),
            ["more headroom", "cables, speeds, ports"],
            ["cables, speeds, ports", "less headroom"],
        ),
        (
            edited(PORT_QOS_MAP={"E0": {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}}),
            ["watchdog on", "PFC on"],
            ["PFC off", "watchdog off"],
        ),
        (
            edited(
                TC_TO_PRIORITY_GROUP_MAP={"M": {"4": "4"}},
                BUFFER_PG={"E0|4": {"profile": "p"}},
                PORT_QOS_MAP={"E0": {"pfc_enable": "3,4"}},
                DSCP_TO_TC_MAP={"M": {"30": "4"}},
            ),
            ["more headroom", "groups, queues, marking", "PFC on", "classes"],
            ["classes removed", "PFC off", "groups and queues removed", "less headroom"],
        ),
        (edited(PORT={"E0": {"mtu": "9216"}}), ["larger MTU"], ["smaller MTU"]),
        (edited(PORT_QOS_MAP={"E0": {"pfc_enable": "4"}}), ["PFC on", "PFC off"], ["PFC on", "PFC off"]),
        (edited(BGP_NEIGHBOR={"10.0.0.1": {"asn": "1"}}), ["other settings"], ["other settings"]),
        (edited(PFC_WD={"E0": None}), ["watchdog off"], ["watchdog on"]),
    ],
)
def test_steps_are_in_the_order_that_is_safe_inside_a_switch(new: Tables, there: list[str], back: list[str]) -> None:
    assert titles(new) == there
    assert titles(OLD, new) == back


def test_the_steps_together_make_new() -> None:
    new = edited(PORT_QOS_MAP={"E0": {"pfc_enable": "4"}}, DSCP_TO_TC_MAP={"M": {"26": "0", "30": "4"}})
    tables = OLD
    for step in steps_of(OLD, new, "202511"):
        tables = apply(tables, step.edits)
    assert edits_between(tables, new) == ()


def test_a_port_that_two_steps_take_down_flaps_twice_and_once_when_they_are_one() -> None:
    steps = steps_of(OLD, edited(PORT_QOS_MAP={"E0": {"pfc_enable": "4"}}), "202511")
    assert [step.flaps for step in steps] == [("E0",), ("E0",)]
    assert merged(steps, "all").flaps == ("E0",)


def test_a_refused_edit_needs_a_reload() -> None:
    new = edited(BUFFER_PROFILE={"p": {"size": "20"}})
    assert [step.reload for step in steps_of(OLD, new, "202511")] == [True]
    assert not Step(1, "x").reload
