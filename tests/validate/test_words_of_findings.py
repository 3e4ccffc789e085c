"""Words of reports: what is not there is said so, and a change is shown once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fabrics import HOSTS, Judge, small_fabric

from fabric.configs.load import parse_device
from fabric.validate.fix.told import with_remedies
from fabric.validate.judge import Request
from fabric.validate.judge import judge as verdict_of
from fabric.validate.output.reach import _failures
from fabric.validate.output.text import render
from fabric.validate.reach_table import Failure, Row
from fabric.validate.sessions import Cause
from tests.mistakes.mistake import good, write

_ROUTED = "! device: leaf1 (DCS-7060X6-64PE, EOS-4.32.1F)\nhostname leaf1\n"


def test_a_code_point_without_a_class_has_no_class(judge: Judge) -> None:
    fabric = small_fabric()
    del fabric["leaf1"]["DSCP_TO_TC_MAP"]["M"]["48"]
    said = [it.text for it in judge(fabric) if it.check.id == "M2"]
    assert said
    assert all(it.startswith("no class, ") for it in said)
    assert "None" not in "".join(said)


@pytest.mark.parametrize(("pairs", "verb"), [(1, "1 pair fails"), (2, "2 pairs fail")])
def test_one_pair_fails(pairs: int, verb: str) -> None:
    row = Row("VNI 1", 2, (), "", pairs)
    row.failures.append(Failure(False, Cause("why"), pairs, [("a", "b")]))
    assert _failures(row)[0].startswith(f"  {verb} (")


def test_a_line_is_named_by_its_number(tmp_path: Path) -> None:
    files = good("eos")
    files["leaf1.cfg"] = files["leaf1.cfg"].replace("ip routing\n", "ip routng\n")
    write("eos", files, tmp_path)
    [found] = [it for it in verdict_of(Request([tmp_path])).findings if it.check.id == "R5"]
    assert found.evidence[0].label == "line 5"


def test_one_change_of_two_causes_is_printed_once(tmp_path: Path) -> None:
    fabric = small_fabric()
    fabric["leaf1"]["PFC_WD"]["Ethernet24"] |= {"detection_time": "20", "restoration_time": "20"}
    for name, tables in fabric.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(tables, indent=1), encoding="utf-8")
    (tmp_path / "hosts.json").write_text(json.dumps(HOSTS), encoding="utf-8")
    request = Request([tmp_path])
    text = render(with_remedies(request, verdict_of(request)))
    assert text.count("$ sonic-db-cli CONFIG_DB HSET 'PFC_WD|Ethernet24' detection_time 200") == 1
    assert "the same change as for R5 leaf1  PFC_WD|Ethernet24" in text


@pytest.mark.parametrize("block", ["interface Ethernet1/1", "qos profile ROCE"])
def test_lossless_priorities_without_pfc_on_name_the_missing_line(block: str) -> None:
    used = "" if block.startswith("interface") else "interface Ethernet1/1\n   service-profile ROCE\n"
    device = parse_device(f"{_ROUTED}{block}\n   priority-flow-control priority 3 no-drop\n{used}", "leaf1.cfg")
    assert [(it.check, it.text) for it in device.defects] == [
        ("R9", "'priority-flow-control priority 3 no-drop' has no effect: 'priority-flow-control on' is missing")
    ]
    assert not device.unread
    assert device.defects[0].meant[0].new == (block, "priority-flow-control on")


def test_a_port_that_switches_pfc_off_needs_no_line() -> None:
    text = f"{_ROUTED}interface Ethernet1/1\n   no priority-flow-control\n   priority-flow-control priority 3 no-drop\n"
    assert not parse_device(text, "leaf1.cfg").defects
