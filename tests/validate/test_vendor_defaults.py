"""What vendors ship is a note: a warning says that something can be lost, or that a switch differs from the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fabrics import Judge, small_fabric

from fabric.configs.load import load_network
from fabric.validate.causes import Cause
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate
from tests.mistakes import nvue, nxos, plan
from tests.mistakes.mistake import write

E, W, I = Severity.ERROR, Severity.WARN, Severity.INFO  # noqa: E741


def severities(found: list[Any], check: str) -> set[tuple[str, Severity]]:
    return {(it.device, it.severity) for it in found if it.check.id == check}


def with_lossy_profile(switches: dict[str, Any], names: list[str], exponent: str) -> None:
    for name in names:
        profiles = switches[name]["BUFFER_PROFILE"]
        profiles["lossy"] = {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": exponent}
        for port in switches[name]["PORT"]:
            switches[name]["BUFFER_PG"][f"{port}|0"] = {"profile": "lossy"}


@pytest.mark.parametrize(("exponent", "severity"), [("3", I), ("5", W)])
def test_the_lossy_alpha_that_vendors_ship_is_a_note(exponent: str, severity: Severity, judge: Judge) -> None:
    fabric = small_fabric()
    with_lossy_profile(fabric, list(fabric), exponent)
    assert severities(judge(fabric, only={"B8"}), "B8") == {(name, severity) for name in fabric}


def test_a_lossy_alpha_of_one_switch_is_a_warning(judge: Judge) -> None:
    fabric = small_fabric()
    with_lossy_profile(fabric, ["leaf2"], "3")
    assert severities(judge(fabric, only={"B8"}), "B8") == {("leaf2", W)}


@pytest.mark.parametrize(
    ("detection", "timeout", "severity"), [("400", None, I), ("600", None, W), ("400", 14, W), ("400", 20, None)]
)
def test_a_detection_time_is_a_warning_where_hosts_state_a_shorter_one(
    detection: str, timeout: int | None, severity: Severity | None, judge: Judge
) -> None:
    """A leaf of 40 ports starts with 400 ms, and the poll is 200 ms; 4.096 us x 2**14 x 7 are 470 ms."""
    fabric = small_fabric()
    for number in range(40):
        fabric["leaf1"]["PORT"].setdefault(f"Ethernet{400 + number}", {"speed": "400000", "admin_status": "down"})
    fabric["leaf1"]["PFC_WD"]["Ethernet0"]["detection_time"] = detection
    hosts: dict[str, Any] = {"default": {"mtu": 9000, "trust": "dscp", "roce_dscp": 26, "pfc_enable": "3"}}
    hosts["default"] |= {} if timeout is None else {"rdma_timeout": timeout}
    found = [it.severity for it in judge(fabric, hosts, only={"W6"}) if it.object == "Ethernet0"]
    assert found == ([] if severity is None else [severity])


def codes(switches: dict[str, Any], names: list[str], dscps: list[int]) -> None:
    for name in names:
        switches[name]["DSCP_TO_TC_MAP"]["M"] |= {str(it): "3" for it in dscps}


SELECTOR = [24, 25, 27, 28, 29, 30, 31]


def test_the_class_selector_of_roce_in_its_class_is_a_note_on_all_switches(judge: Judge) -> None:
    fabric = small_fabric()
    codes(fabric, list(fabric), SELECTOR)
    assert severities(judge(fabric, only={"M8"}), "M8") == {(name, I) for name in fabric}


def test_other_code_points_in_the_class_are_a_warning_on_all_switches(judge: Judge) -> None:
    fabric = small_fabric()
    codes(fabric, list(fabric), [32, 33, 34, 35])
    assert severities(judge(fabric, only={"M8"}), "M8") == {(name, W) for name in fabric}


def test_the_class_selector_on_one_switch_is_a_warning(judge: Judge) -> None:
    fabric = small_fabric()
    codes(fabric, ["spine1"], SELECTOR)
    assert severities(judge(fabric, only={"M8"}), "M8") == {("spine1", W)}


def nvue_fabric(folder: Path, length_m: int | None, edit: Any = None) -> list[Any]:  # noqa: ANN401
    files = nvue.good()
    links = json.loads(files["topology.json"])
    for link in links["links"]:
        if length_m is not None and link["b"][0].startswith("host"):
            link["length_m"] = length_m
    files["topology.json"] = json.dumps(links)
    if edit is not None:
        edit(files["leaf1.yaml"])
    write("nvue", files, folder)
    return list(validate(load_network([folder])).findings)


@pytest.mark.parametrize(("length_m", "severity"), [(None, I), (5, None), (30, W)])
def test_the_length_of_a_host_cable_is_that_of_the_links(
    length_m: int | None, severity: Severity | None, tmp_path: Path
) -> None:
    found = {it.severity for it in nvue_fabric(tmp_path, length_m) if it.check.id == "N5"}
    assert found == (set() if severity is None else {severity})


def test_a_port_with_a_pfc_profile_has_its_length(tmp_path: Path) -> None:
    def edit(tree: Any) -> None:  # noqa: ANN401
        tree["qos"]["pfc"]["HOSTS"] = {**tree["qos"]["pfc"]["default-global"], "cable-length": 5}
        tree["interface"]["swp1"]["qos"]["pfc"] = {"profile": "HOSTS"}

    found = nvue_fabric(tmp_path, None, edit)
    assert ("leaf1", "swp1") not in {(it.device, it.object) for it in found if it.check.id == "N5"}
    assert ("leaf1", "swp2") in {(it.device, it.object) for it in found if it.check.id == "N5"}


def paused(folder: Path, *names: str) -> list[Cause]:
    """Errors of a fabric of NX-OS in which switches pause priority 4 instead of 3."""
    files = nxos.good(plan.switches(3, 2))
    for name in names:
        files[f"{name}.cfg"] = files[f"{name}.cfg"].replace("pause pfc-cos 3", "pause pfc-cos 4")
    write("nxos", files, folder)
    return [it for it in validate(load_network([folder])).causes if it.severity is E]


@pytest.mark.parametrize("name", ["leaf2", "spine1"])
def test_a_wrong_pause_line_is_one_cause_at_its_switch(name: str, tmp_path: Path) -> None:
    [cause] = paused(tmp_path, name)
    assert (cause.check.id, set(cause.devices)) == ("L1", {name})
    [fix] = cause.fixes
    assert fix.command == "policy-map type network-qos qos_network; class type network-qos c-8q-nq3; pause pfc-cos 3"


def test_hosts_of_another_priority_than_all_switches_are_one_cause(tmp_path: Path) -> None:
    [cause] = paused(tmp_path, "leaf1", "leaf2", "leaf3", "spine1", "spine2")
    assert cause.check.id == "L1"
    assert {"N1", "N2"} <= set(cause.counts)
