"""Mistakes that lose packets are errors, and end with exit code 1."""

from __future__ import annotations

from pathlib import Path

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
