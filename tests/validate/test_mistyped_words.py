"""A mistyped field or line is the cause in every language, and its remedy writes what was meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fabrics import Judge, small_fabric

from fabric.configs.load import parse_device
from fabric.validate.causes import Cause, find_causes
from fabric.validate.checks.base import Severity
from fabric.validate.fix.search import find
from fabric.validate.fix.told import with_remedies
from fabric.validate.judge import Request, judge
from fabric.validate.output.text import remedy
from tests.mistakes import nvue
from tests.mistakes.mistake import good, put, write


def _top(folder: Path, baseline: Path | None = None) -> tuple[Cause, Request]:
    request = Request([folder], baseline=baseline)
    return with_remedies(request, judge(request)).causes[0], request


@pytest.mark.parametrize(
    ("table", "right", "wrong"),
    [
        ("PORT", "mtu", "mut"),
        ("PORT", "admin_status", "admin-status"),
        ("PORT", "speed", "Speed"),
        ("PORT_QOS_MAP", "pfc_enable", "pfc_enabel"),
        ("BUFFER_PROFILE", "xoff", "xof"),
        ("WRED_PROFILE", "ecn", "ecnn"),
        ("DEVICE_METADATA", "bgp_asn", "bgp_sn"),
        ("DEVICE_NEIGHBOR", "name", "nmae"),
    ],
)
def test_a_mistyped_field_of_sonic_is_an_error_that_names_the_known_one(
    table: str, right: str, wrong: str, judge: Judge
) -> None:
    fabric = small_fabric()
    row: dict[str, Any] = next(it for it in fabric["leaf1"][table].values() if right in it)
    row[wrong] = row.pop(right)
    first = find_causes(judge(fabric))[0]
    assert first.check.id == "R5"
    assert f"'{wrong}' is no field of {table} (did you mean '{right}'?)" in first.first.text
    assert first.fixes[0].command.endswith(f"{right} {first.fixes[0].value}")


def test_an_mtu_that_falls_back_follows_from_the_mistyped_field(judge: Judge) -> None:
    fabric = small_fabric()
    row = fabric["leaf1"]["PORT"]["Ethernet16"]
    row["mut"] = row.pop("mtu")
    first = find_causes(judge(fabric))[0]
    assert first.check.id == "R5"
    assert "L4" in first.counts


def test_an_unknown_field_far_from_all_others_has_the_nearest_one_named() -> None:
    fabric = small_fabric()["leaf1"]
    fabric["PORT"]["Ethernet0"]["admin_statuss_x"] = "up"
    device = parse_device(json.dumps(fabric), "leaf1.json")
    assert [it.what for it in device.unread] == ["field 'admin_statuss_x' of PORT (did you mean 'admin_status'?)"]
    assert not device.defects


@pytest.mark.parametrize(
    ("right", "wrong"), [("bgp_asn", "bpg_asnn"), ("hwsku", "hwksuu"), ("hostname", "HostNmae_"), ("hwsku", "hw-skus")]
)
def test_two_slips_in_a_table_with_further_fields_are_named_with_the_known_one(right: str, wrong: str) -> None:
    fabric = small_fabric()["leaf1"]
    row = fabric["DEVICE_METADATA"]["localhost"]
    row[wrong] = row.pop(right)
    device = parse_device(json.dumps(fabric), "leaf1.json")
    assert [it.what for it in device.unread] == [f"field '{wrong}' of DEVICE_METADATA (did you mean '{right}'?)"]
    assert not device.unjudged


def test_a_mistyped_field_of_a_table_with_further_fields_is_named_once() -> None:
    fabric = small_fabric()["leaf1"]
    row = fabric["DEVICE_METADATA"]["localhost"]
    row["bgp_sn"] = row.pop("bgp_asn")
    device = parse_device(json.dumps(fabric), "leaf1.json")
    assert [it.check for it in device.defects] == ["R5"]
    assert not device.unread
    assert not device.unjudged


@pytest.mark.parametrize(
    ("table", "key", "field"),
    [
        ("DEVICE_METADATA", "localhost", "default_bgp_status"),
        ("DEVICE_METADATA", "localhost", "subtype"),
        ("DEVICE_METADATA", "localhost", "bgp_asnn"),
        ("BGP_NEIGHBOR_AF", "default|10.1.0.1|ipv4_unicast", "allow_as_count"),
        ("SWITCH", "switch", "ecmp_hash_offset"),
        ("FEATURE", "lldp", "set_owner"),
    ],
)
def test_a_further_field_of_a_table_is_no_slip_of_another(table: str, key: str, field: str) -> None:
    fabric = small_fabric()["leaf1"]
    fabric.setdefault(table, {}).setdefault(key, {})[field] = "1"
    device = parse_device(json.dumps(fabric), "leaf1.json")
    assert not device.unread
    assert not [it for it in device.defects if field in it.text]
    assert f"field '{field}' of {table}" in [it.what for it in device.unjudged]


@pytest.mark.parametrize("word", ["max_ibgp_paths", "ipv6_mtu"])
def test_a_field_that_sonic_has_is_no_slip_of_another(word: str) -> None:
    fabric = small_fabric()["leaf1"]
    fabric["BGP_GLOBALS_AF"] = {"default|ipv4_unicast": {word: "4"}}
    assert not parse_device(json.dumps(fabric), "leaf1.json").defects


def test_a_mistyped_word_of_nvue_is_an_error_that_names_the_word() -> None:
    text = nvue.text(put("qos", "rcoe", value={"enable": "on"})(good("nvue")["leaf1.yaml"]))
    [found] = [it for it in parse_device(text, "leaf1.yaml").defects if it.check == "R5"]
    assert "'rcoe' is no word of NVUE here (did you mean 'roce'?)" in found.text


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("nv set qos roce enable on", "nv set qos rcoe enable on"),
        ("nv set interface swp1 link mtu 9216", "nv set interface swp1 link mut 9216"),
        ("nv set interface swp1 link mtu 9216", "nv set interface swp1 lnik mtu 9216"),
    ],
)
def test_a_mistyped_word_of_nvue_has_the_command_that_was_meant(line: str, wrong: str) -> None:
    text = f"nv set system hostname leaf1\nnv set interface swp1 link speed 400G\n{wrong}\n"
    [found] = parse_device(text, "leaf1.txt").defects
    assert found.check == "R5"
    [meant] = found.meant
    assert " ".join(filter(None, ("nv set", *meant.new, meant.value))) == line


@pytest.mark.parametrize("language", ["eos", "nxos", "nvue", "sonic"])
@pytest.mark.parametrize("with_baseline", [True, False])
def test_the_remedy_of_a_slip_writes_what_was_meant(language: str, with_baseline: bool, tmp_path: Path) -> None:
    files = good(language)
    for it in ("good", "bad"):
        (tmp_path / it).mkdir()
        write(language, files, tmp_path / it)
    name, old, new = {
        "eos": ("leaf1.cfg", "priority-flow-control priority", "priority-flow-control priorty"),
        "nxos": ("leaf1.cfg", "priority-flow-control mode", "priority-flow-control mdoe"),
        "nvue": ("leaf1.yaml", "mtu:", "mut:"),
        "sonic": ("leaf1.json", '"mtu"', '"mut"'),
    }[language]
    file = tmp_path / "bad" / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    cause, request = _top(tmp_path / "bad", tmp_path / "good" if with_baseline else None)
    assert cause.check.id == "R5"
    lines = [it for it in remedy(cause) if it.startswith("$ ")]
    assert lines, remedy(cause)
    assert not any("no " in it for it in lines)
    plan = find(request, judge(request))
    assert {check for check, _, _ in plan.asked - plan.gone} <= {"R11"}
    assert len(plan.changes) == 1


def test_the_remedy_of_a_slip_outside_every_block_writes_the_line(tmp_path: Path) -> None:
    files = good("eos")
    write("eos", files, tmp_path)
    file = tmp_path / "leaf1.cfg"
    text = file.read_text(encoding="utf-8")
    assert "ip routing\n" in text
    file.write_text(text.replace("ip routing\n", "ip routng\n", 1), encoding="utf-8")
    cause, _ = _top(tmp_path)
    assert cause.check.id == "R5"
    assert "$ ip routing" in remedy(cause)
    assert {"R9", "V11"} <= set(cause.counts)


def test_everything_that_a_mistyped_word_of_nvue_causes_is_below_it(tmp_path: Path) -> None:
    write("nvue", good("nvue"), tmp_path)
    file = tmp_path / "leaf1.yaml"
    text = file.read_text(encoding="utf-8")
    tree = text.replace("\n      roce:", "\n      rcoe:", 1).replace("\n      pfc:", "\n      pcf:", 1)
    assert tree != text
    file.write_text(tree, encoding="utf-8")
    cause, _ = _top(tmp_path)
    assert cause.check.id == "R5"
    assert {"M14", "L1"} <= set(cause.counts)


def test_a_mistyped_line_is_the_cause_and_the_line_that_is_missing_for_it_follows(tmp_path: Path) -> None:
    files = good("eos")
    files["leaf1.cfg"] = files["leaf1.cfg"].replace("priority-flow-control on", "priority-flow-contrl on", 1)
    write("eos", files, tmp_path)
    cause, _ = _top(tmp_path)
    assert cause.check.id == "R5"
    assert "R9" in {it.check.id for it in cause.consequences}
    assert cause.first.place is not None
    line = Path(cause.first.place.file).read_text(encoding="utf-8").split("\n")[cause.first.place.line - 1]
    assert line.strip() == "priority-flow-contrl on"


def test_a_plan_counts_findings_as_the_report_does(tmp_path: Path) -> None:
    files = good("nxos")
    files["leaf2.cfg"] = files["leaf2.cfg"].replace("pause pfc-cos 3", "pause pfc-cos 4", 1)
    write("nxos", files, tmp_path)
    request = Request([tmp_path])
    verdict = judge(request)
    wanted = sum(it.severity >= Severity.WARN for it in verdict.findings)
    plan = find(request, verdict)
    assert wanted > len(plan.asked)
    assert (plan.findings(plan.asked), plan.findings(plan.gone)) == (wanted, wanted)
