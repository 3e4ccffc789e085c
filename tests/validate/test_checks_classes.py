"""Checks M and E: one change of a small clean fabric at a time; its check reports it, about its object."""

from __future__ import annotations

import pytest
from fabrics import HOSTS, Judge, Tables, small_fabric, switch
from finding_cases import LOSSLESS, Case, Change, E, I, W, assert_found, one_case, put

from fabric.validate.checks.base import Severity


def shut(fabric: dict[str, Tables]) -> None:
    for row in fabric["leaf1"]["PORT"].values():
        del row["admin_status"]


def lossy(table: str, key: str) -> Change:
    """A lossy profile on leaf1, for one queue or group."""
    pool = "egress_lossless_pool" if table == "BUFFER_QUEUE" else "ingress_lossless_pool"
    profile = put("leaf1", "BUFFER_PROFILE", "lossy", pool=pool, size="0", dynamic_th="0")
    row = put("leaf1", table, key, profile="lossy")
    return lambda f: (profile(f), row(f))


CASES: list[Case] = [
    (
        "E2b",
        I,
        "leaf1",
        "WRED_PROFILE|W",
        put("leaf1", "WRED_PROFILE", "W", green_min_threshold="5000000", green_max_threshold="6000000"),
    ),
    ("E2", W, "leaf1", "Ethernet0|3", put("leaf1", "WRED_PROFILE", "W", green_max_threshold="14000000")),
    ("E7", W, "leaf1", "ToRRouter at 400G", put("leaf1", "WRED_PROFILE", "W", green_min_threshold="500000")),
    (
        "E11",
        W,
        "leaf1",
        "Ethernet0|3",
        put("leaf1", "WRED_PROFILE", "W", green_min_threshold="13000000", green_max_threshold="13100000"),
    ),
    ("M1", E, "leaf1", "Ethernet0", put("leaf1", "DSCP_TO_TC_MAP", "M", _26="0")),
    ("M2", E, "leaf1", "DSCP 48", put("leaf1", "DSCP_TO_TC_MAP", "M", _48="0")),
    ("M3", E, "leaf1", "DSCP_TO_TC_MAP|M", put("leaf1", "DSCP_TO_TC_MAP", "M", _13=None)),
    ("M3", I, "leaf1", "BUFFER_QUEUE", lambda _: None),
    ("M3", W, "leaf1", "BUFFER_QUEUE", lambda f: f["leaf1"].pop("BUFFER_QUEUE")),
    ("M3", W, "leaf1", "Ethernet8|queue 0", lossy("BUFFER_QUEUE", "Ethernet0|0")),
    ("M3", E, "leaf1", "Ethernet8|queue 6", lossy("BUFFER_QUEUE", "Ethernet0|6")),
    ("M3", E, "leaf1", "Ethernet8|group 0", lossy("BUFFER_PG", "Ethernet0|0")),
    ("M4", E, "leaf1", "Ethernet0|3", put("leaf1", "TC_TO_PRIORITY_GROUP_MAP", "M", _3="0")),
    (
        "M5",
        E,
        "leaf1",
        "Ethernet0|3",
        lambda f: (
            put("leaf1", "MAP_PFC_PRIORITY_TO_QUEUE", "P", _3="6")(f),
            put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfc_to_queue_map="P")(f),
        ),
    ),
    ("M6", E, "leaf1", "Ethernet0", put("leaf1", "DSCP_TO_TC_MAP", "M", _48="3")),
    ("M7", W, "leaf1", "Ethernet0|3", put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfc_enable="4")),
    ("M8", W, "leaf1", "DSCP_TO_TC_MAP|M", put("leaf1", "DSCP_TO_TC_MAP", "M", _24="3", _25="3", _27="3", _28="3")),
    ("M9", E, "leaf1", "Ethernet0|3", put("leaf1", "QUEUE", "Ethernet0|3", scheduler="cnp")),
    ("M17", E, "leaf1", "Ethernet0|0", put("leaf1", "QUEUE", "Ethernet0|0", scheduler="cnp")),
    ("M15", E, "leaf1", "Ethernet0|3", put("leaf1", "SCHEDULER", "data", pir="1000000000", cir="1")),
    ("M15", I, "leaf1", "Ethernet0|3", put("leaf1", "SCHEDULER", "data", pir="50000000000", cir="1")),
    ("M15", W, "leaf1", "Ethernet0|3", put("leaf1", "SCHEDULER", "data", pir="1", cir="1", meter_type="packets")),
    (
        "M15",
        E,
        "leaf1",
        "Ethernet0",
        lambda f: (
            put("leaf1", "SCHEDULER", "slow", type="DWRR", weight="1", pir="1000000000", cir="1")(f),
            put("leaf1", "PORT_QOS_MAP", "Ethernet0", scheduler="slow")(f),
        ),
    ),
    ("W11", E, "leaf1", "PFC_WD|GLOBAL", put("leaf1", "PFC_WD", "GLOBAL", BIG_RED_SWITCH="enable")),
    ("M10", W, "leaf1", "Ethernet0", put("leaf1", "QUEUE", "Ethernet0|6", scheduler="data")),
    (
        "M11",
        W,
        "leaf1",
        "Ethernet0|3",
        lambda f: (
            put("leaf1", "SCHEDULER", "low", type="DWRR", weight="1")(f),
            put("leaf1", "QUEUE", "Ethernet0|3", scheduler="low")(f),
        ),
    ),
    (
        "M12",
        E,
        "leaf1",
        "Ethernet0",
        lambda f: (
            put("leaf1", "TC_TO_DSCP_MAP", "R", _3="0")(f),
            put("leaf1", "PORT_QOS_MAP", "Ethernet0", tc_to_dscp_map="R")(f),
        ),
    ),
    (
        "M13",
        W,
        "leaf1",
        "Ethernet0",
        lambda f: (
            put("leaf1", "DSCP_TO_TC_MAP", "G", _26="1")(f),
            put("leaf1", "PORT_QOS_MAP", "global", dscp_to_tc_map="G")(f),
        ),
    ),
    ("E1", E, "leaf1", "WRED_PROFILE|W", put("leaf1", "WRED_PROFILE", "W", green_min_threshold="1700000")),
    (
        "E2",
        E,
        "leaf1",
        "Ethernet0|3",
        put("leaf1", "WRED_PROFILE", "W", green_min_threshold="14000000", green_max_threshold="20000000"),
    ),
    ("E3", E, "leaf1", "Ethernet0|3", put("leaf1", "WRED_PROFILE", "W", ecn="ecn_none")),
    ("E4", E, "leaf1", "Ethernet0|3", put("leaf1", "QUEUE", "Ethernet0|3", wred_profile=None)),
    ("E5", W, "leaf1", "Ethernet0|3", put("leaf1", "WRED_PROFILE", "W", green_min_threshold="20000")),
    ("E6", E, "leaf1", "WRED_PROFILE|W", put("leaf1", "WRED_PROFILE", "W", green_drop_probability="0")),
    ("E8", W, "leaf1", "Ethernet0|3", put("leaf1", "WRED_PROFILE", "W", green_max_threshold="61000000")),
    ("E9", W, "leaf1", "WRED_PROFILE|W", put("leaf1", "WRED_PROFILE", "W", green_min_threshold="4095")),
    ("E12", I, "leaf1", "WRED_PROFILE|W", put("leaf1", "WRED_PROFILE", "W", green_drop_probability=None)),
    (
        "M8",
        W,
        "leaf1",
        "DSCP_TO_TC_MAP|M",
        lambda f: (
            put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfc_enable="3,4", pfcwd_sw_enable="3,4")(f),
            put("leaf1", "DSCP_TO_TC_MAP", "M", _32="4", _33="4", _34="4", _35="4")(f),
        ),
    ),
    (
        "E13",
        E,
        "leaf1",
        "WRED_PROFILE|W",
        put("leaf1", "WRED_PROFILE", "W", green_min_threshold="400", green_max_threshold="1600"),
    ),
]


@one_case(CASES)
def test_one_change_is_found_by_its_check(
    id_: str, severity: Severity, device: str, obj: str, change: Change, judge: Judge
) -> None:
    assert_found(judge, id_, severity, device, obj, change)


@pytest.mark.parametrize(("control", "severity"), [("dcqcn", E), ("dctcp", E), ("timely", W)])
def test_a_queue_that_never_marks_is_worse_where_senders_listen_for_marks(
    control: str, severity: Severity, judge: Judge
) -> None:
    fabric = small_fabric()
    for tables in fabric.values():
        for binding in tables["QUEUE"].values():
            binding.pop("wred_profile", None)
    found = judge(fabric, {"default": {**HOSTS["default"], "cc": control}}, only={"E4"})
    assert {it.severity for it in found} == {severity}


def test_a_switch_whose_ports_are_all_down_is_not_taken_for_a_good_one(judge: Judge) -> None:
    fabric = small_fabric()
    for tables in fabric.values():
        shut({"leaf1": tables})
    found = judge(fabric)
    assert {it.device for it in found if it.check.id == "M14" and it.severity is E} == set(fabric)
    assert "none of 4 ports is up" in next(it.text for it in found if it.device == "leaf1")


def test_a_switch_without_pfc_is_not_taken_for_a_good_one(judge: Judge) -> None:
    leaf = switch("leaf1", "65101", "ToRRouter", {"Ethernet0": ("host1", "eth0")})
    leaf["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = ""
    assert [(it.text, it.severity) for it in judge({"leaf1": leaf}, only={"M14"})] == [("no port in use has PFC", W)]


def two_priorities(th_of_4: str) -> dict[str, Tables]:
    """Priorities 3 and 4 with separate queues, groups and profiles on leaf1's Ethernet16."""
    fabric = small_fabric()
    low = {**fabric["leaf1"]["BUFFER_PROFILE"][LOSSLESS], "dynamic_th": th_of_4}
    fabric["leaf1"]["BUFFER_PROFILE"]["low"] = low
    for table, key, row in (
        ("BUFFER_PG", "Ethernet16|4", {"profile": "low"}),
        ("QUEUE", "Ethernet16|4", {"scheduler": "data", "wred_profile": "W"}),
        ("PORT_QOS_MAP", "Ethernet16", {"pfc_enable": "3,4"}),
    ):
        fabric["leaf1"][table].setdefault(key, {}).update(row)
    return fabric


def test_ecn_is_judged_against_the_groups_of_its_own_priority(judge: Judge) -> None:
    found = judge(two_priorities("-6"), only={"E2", "E11"})
    assert {it.object for it in found if it.device == "leaf1"} == {"Ethernet16|4"}


def test_a_profile_that_lacks_a_threshold_never_marks(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "WRED_PROFILE", "W", green_max_threshold=None, green_max_treshold="1600000")(fabric)
    found = judge(fabric, only={"E4"})
    assert {(it.object, it.severity) for it in found} == {(f"Ethernet{n}|3", E) for n in (0, 8, 16, 24)}
    assert "lacks a threshold" in found[0].text
