"""Checks W and N: one change of a small clean fabric at a time; its check reports it, about its object."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from fabrics import HOSTS, Judge, small_fabric
from finding_cases import Case, Change, E, I, W, assert_found, drop, one_case, put

from fabric.configs.network import HEEDS_NO_MARKS
from fabric.validate.checks.base import Severity

CASES: list[Case] = [
    ("W1", E, "leaf1", "Ethernet0", put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfcwd_sw_enable="")),
    ("W2", E, "leaf1", "Ethernet0", drop("leaf1", "PFC_WD", "Ethernet0")),
    ("W2", W, "leaf1", "Ethernet16", drop("leaf1", "PFC_WD", "Ethernet16")),
    ("W3", E, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "GLOBAL", POLL_INTERVAL="1000")),
    ("W4", W, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", restoration_time=None)),
    ("W5", W, "leaf1", "Ethernet0", put("leaf1", "PORT", "Ethernet0", speed="1000")),
    ("W7", W, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", action="alert")),
    ("W10", W, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", action="alert")),
    ("W6", W, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", detection_time="5000")),
    ("W8", W, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", action="forward")),
]


@one_case(CASES)
def test_one_change_is_found_by_its_check(
    id_: str, severity: Severity, device: str, obj: str, change: Change, judge: Judge
) -> None:
    assert_found(judge, id_, severity, device, obj, change)


HOST_CASES = [
    ("N1", {"trust": "pcp"}),
    ("N1", {"pfc_enable": ""}),
    ("L1", {"pfc_enable": "3,5"}),
    ("N2", {"ecn_rp_prio": 2}),
    ("N3", {"cnp_dscp": 0}),
    ("N5", {"rx_buffer_bytes": 100_000}),
    ("T5", {"roce_mtu": 4096, "mtu": 4100}),
    ("L10", {"global_pause": True}),
    ("W6", {"rdma_timeout": 8, "rdma_retries": 1}),
    ("E10", {"cc": "none"}),
    ("L2", {"speed": 200_000}),
]


@pytest.mark.parametrize(("id_", "settings"), HOST_CASES)
def test_a_host_setting_is_judged_against_its_port(id_: str, settings: dict[str, Any], judge: Judge) -> None:
    assert id_ not in {it.check.id for it in judge(small_fabric()) if it.severity > I}
    assert id_ in {
        it.check.id for it in judge(small_fabric(), {"default": {**HOSTS["default"], **settings}}) if it.severity > I
    }


def test_hosts_of_different_congestion_control_share_no_class_unnoticed(judge: Judge) -> None:
    hosts = {**copy.deepcopy(HOSTS), "host1": {"cc": "timely"}}
    assert [it.object for it in judge(small_fabric(), hosts, only={"N6"})] == ["DSCP 26"]


@pytest.mark.parametrize(
    ("control", "found"),
    [("dcqcn", False), (None, False), ("zero-touch", False), *((it, True) for it in HEEDS_NO_MARKS), ("dctcp", True)],
)
def test_marking_for_dcqcn_is_named_where_hosts_run_another_control(
    control: str | None, found: bool, judge: Judge
) -> None:
    settings = {name: value for name, value in HOSTS["default"].items() if name != "cc"}
    hosts = {"default": settings if control is None else {**settings, "cc": control}}
    assert {it.object for it in judge(small_fabric(), hosts, only={"N7"})} == (
        {"Ethernet0|3", "Ethernet8|3"} if found else set()
    )


def test_dctcp_is_content_with_a_step(judge: Judge) -> None:
    hosts = {"default": {**HOSTS["default"], "cc": "dctcp"}}
    fabric = small_fabric()
    put("leaf1", "WRED_PROFILE", "W", green_min_threshold="300000", green_max_threshold="300000")(fabric)
    before = {it.device for it in judge(small_fabric(), hosts, only={"N7"})}
    assert before - {it.device for it in judge(fabric, hosts, only={"N7"})} == {"leaf1"}


def test_hosts_that_send_no_cnps_need_no_class_for_them(judge: Judge) -> None:
    bulk = {**HOSTS["default"], "cnp_dscp": 0}
    assert "N3" in {it.check.id for it in judge(small_fabric(), {"default": bulk})}
    assert "N3" not in {it.check.id for it in judge(small_fabric(), {"default": {**bulk, "cc": "dctcp"}})}


def test_many_ports_with_the_times_of_few_are_noted(judge: Judge) -> None:
    fabric = small_fabric()
    for number in range(100, 200):
        put("leaf1", "PORT", f"Ethernet{number}", speed="400000", admin_status="down")(fabric)
    assert [(it.device, it.severity) for it in judge(fabric, only={"W9"})] == [("leaf1", I)]


def test_kmin_below_a_round_trip_is_named_where_hosts_use_dcqcn(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "WRED_PROFILE", "W", green_min_threshold="210000")(fabric)
    assert {it.object for it in judge(fabric, only={"N4"})} == {"Ethernet0|3", "Ethernet8|3"}
