"""Mistakes that lose packets are errors, and end with exit code 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fabrics import Judge, small_fabric
from finding_cases import put

from fabric.configs.load import load_network
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate
from tests.mistakes.mistake import good, write

E, W = Severity.ERROR, Severity.WARN


def test_a_host_port_without_any_pfc_beside_ports_that_have_it_is_an_error(judge: Judge) -> None:
    fabric = small_fabric()
    fabric["leaf1"]["PORT_QOS_MAP"]["Ethernet0"].pop("pfc_enable")
    assert {it.severity for it in judge(fabric, only={"M7"})} == {E}
    for row in fabric["leaf1"]["PORT_QOS_MAP"].values():
        row.pop("pfc_enable", None)
    assert {it.severity for it in judge(fabric, only={"M7"})} <= {W}  # M14 speaks of the whole switch


@pytest.mark.parametrize(
    ("hosts", "name", "severity"),
    [
        (None, "host2", E),  # nothing tells it from host1, which has PFC
        (None, "mgmt2", W),
        (None, "storage-2", W),
        ({"host2": {"mtu": 9000}}, "host2", E),
        ({"host2": {"mtu": 9000, "pfc_enable": ""}}, "host2", W),
        ({"storage-2": {"mtu": 9000, "pfc_enable": "3"}}, "storage-2", E),
        ({"storage-2": {"mtu": 9000, "cc": "dcqcn"}}, "storage-2", E),
        ({"storage-2": {"mtu": 9000}}, "storage-2", W),
    ],
)
def test_a_host_without_pfc_is_an_error_where_it_sends_roce(
    hosts: dict[str, object] | None, name: str, severity: Severity, tmp_path: Path
) -> None:
    for switch, tables in small_fabric().items():
        if switch == "leaf1":
            tables["PORT_QOS_MAP"]["Ethernet8"].pop("pfc_enable")
            tables["DEVICE_NEIGHBOR"]["Ethernet8"]["name"] = name
            tables["DEVICE_NEIGHBOR_METADATA"] = {name: {"type": "Server"}}
        (tmp_path / f"{switch}.json").write_text(json.dumps(tables), encoding="utf-8")
    path = None
    if hosts is not None:
        path = tmp_path / "h.yml"
        path.write_text(json.dumps(hosts), encoding="utf-8")
    files = [tmp_path / f"{it}.json" for it in small_fabric()]
    found = validate(load_network(files, hosts=path), only={"M7"}).findings
    assert [(it.object, it.severity) for it in found] == [("Ethernet8|3", severity)]


@pytest.mark.parametrize(
    ("left_out", "severity"), [((("leaf1", "Ethernet8"),), E), ((("leaf1", "Ethernet8"), ("leaf2", "Ethernet8")), W)]
)
def test_several_hosts_named_alike_without_pfc_are_a_choice_that_no_file_states(
    left_out: tuple[tuple[str, str], ...], severity: Severity, tmp_path: Path
) -> None:
    files = good("sonic")
    del files["hosts.json"]
    for switch, port in left_out:
        files[f"{switch}.json"]["PORT_QOS_MAP"][port].pop("pfc_enable")
    write("sonic", files, tmp_path)
    found = validate(load_network([tmp_path]), only={"M7"}).findings
    assert [(it.device, it.severity) for it in found] == [(switch, severity) for switch, _ in left_out]
    assert all("is assumed from hosts named alike: give their settings with --hosts" in it.text for it in found)


def test_an_egress_limit_below_the_pause_of_one_group_is_an_error(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "BUFFER_PROFILE", "egress_lossless_profile", dynamic_th="-3")(fabric)
    found = judge(fabric, only={"B7"})
    assert {it.severity for it in found} == {E}
    assert "its group pauses at" in found[0].text


def test_a_threshold_above_the_whole_buffer_is_an_error(tmp_path: Path) -> None:
    files = good("eos")
    text = "! device: leaf1 (DCS-7060DX5-64S, EOS-4.32.2F)\n" + files["leaf1.cfg"]
    for kmin, severity in (("113000 kbytes", E), ("112999 kbytes", W)):
        changed = text.replace("minimum-threshold 400 kbytes", f"minimum-threshold {kmin}")
        files["leaf1.cfg"] = changed.replace("maximum-threshold 1600 kbytes", "maximum-threshold 120000 kbytes")
        write("eos", files, tmp_path)
        assert {it.severity for it in validate(load_network([tmp_path]), only={"E5"}).findings} == {severity}
