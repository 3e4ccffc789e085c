"""Mistakes that newcomers made: the cause comes first, at its own line, with a repair that restores the file."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from fabric.configs.load import load_network
from fabric.validate.causes import Cause
from fabric.validate.checks.base import Severity
from fabric.validate.fix.search import Plan, find
from fabric.validate.fix.told import told
from fabric.validate.judge import Request, judge
from fabric.validate.runner import validate
from tests.mistakes import frr, nvue
from tests.mistakes.mistake import good, write

_TARGETS = (
    "  advertise-all-vni\n  vni 10100\n   route-target import 65000:10100\n   route-target export 65000:10100\n"
    "  exit-vni"
)
_LISTED = (
    "ip prefix-list PL_LOOPBACK seq 10 permit 10.0.0.1/32\nroute-map LOOPBACK permit 10\n"
    "   match ip address prefix-list PL_LOOPBACK\nrouter bgp"
)


def folder(name: str, language: str, files: dict[str, Any], work: Path) -> Path:
    (work / name).mkdir()
    write("sonic" if language == "frr" else language, files, work / name)
    return work / name


def first(language: str, files: dict[str, Any], work: Path) -> Cause:
    network = load_network([folder("new", language, files, work)])
    return next(it for it in validate(network).causes if it.severity >= Severity.WARN)


def repaired(language: str, old: dict[str, Any], new: dict[str, Any], work: Path) -> tuple[Cause, Plan]:
    """The first cause with the baseline, and the plan."""
    request = Request([folder("new", language, new, work)], baseline=folder("old", language, old, work))
    verdict = judge(request)
    plan = find(request, verdict)
    return told(verdict, plan).causes[0], plan


def line_of(cause: Cause) -> str:
    place = cause.first.place
    assert place is not None
    return Path(place.file).read_text(encoding="utf-8").split("\n")[place.line - 1].strip()


def with_vni() -> dict[str, Any]:
    files = frr.good()
    for leaf in ("leaf1.frr.conf", "leaf2.frr.conf"):
        files[leaf] = files[leaf].replace("  advertise-all-vni", _TARGETS)
    return files


@pytest.mark.parametrize("baseline", [False, True])
def test_a_mistyped_table_is_renamed_with_all_of_its_rows(baseline: bool, tmp_path: Path) -> None:
    old = copy.deepcopy(good("sonic"))
    new = copy.deepcopy(old)
    rows = new["leaf1.json"].pop("BUFFER_PG")
    new["leaf1.json"]["BUFER_PG"] = rows
    work = tmp_path
    request = Request(
        [folder("new", "sonic", new, work)], baseline=folder("old", "sonic", old, work) if baseline else None
    )
    verdict = judge(request)
    plan = find(request, verdict)
    assert [it.check.id for it in verdict.causes if it.severity >= Severity.WARN] == ["R5"]
    assert plan.gone == plan.asked
    assert "BUFER_PG" not in plan.end.text(str(work / "new/leaf1.json"))
    assert plan.end.network.devices["leaf1"].ports["Ethernet24"].groups[3].profile == "pg_lossless_400000_40m_profile"


def test_a_table_of_sonic_that_is_near_another_one_is_no_slip(tmp_path: Path) -> None:
    files = copy.deepcopy(good("sonic"))
    files["leaf1.json"]["DSCP_TO_FC_MAP"] = {"M": {"0": "0"}}
    device = load_network([folder("new", "sonic", files, tmp_path)]).devices["leaf1"]
    assert not [it for it in device.defects if it.check == "R5"]


def test_a_switch_without_bgp_gets_the_whole_block_of_the_baseline(tmp_path: Path) -> None:
    old = good("nxos")
    text = old["leaf1.cfg"]
    new = {**old, "leaf1.cfg": text[: text.index("router bgp")] + text[text.index("evpn\n  vni") :]}
    cause, plan = repaired("nxos", old, new, tmp_path)
    assert "no BGP session is left" in cause.first.text
    end = plan.end.text(str(tmp_path / "new/leaf1.cfg"))
    assert sorted(end.split("\n")) == sorted(text.split("\n"))


def test_a_switch_without_bgp_is_told_so_first_and_gets_no_half_of_it(tmp_path: Path) -> None:
    files = good("nxos")
    text = files["leaf1.cfg"]
    cause = first(
        "nxos", {**files, "leaf1.cfg": text[: text.index("router bgp")] + text[text.index("evpn\n  vni") :]}, tmp_path
    )
    assert cause.check.id == "P12"
    assert cause.first.fix is None


def test_a_group_that_no_line_makes_is_named_with_the_one_that_is_meant(tmp_path: Path) -> None:
    files = frr.good()
    text = files["leaf1.frr.conf"].replace(
        " neighbor 10.1.0.1 remote", " neighbor SPINES peer-group\n neighbor 10.1.0.1 remote", 1
    )
    files["leaf1.frr.conf"] = text.replace("  advertise-all-vni", "  neighbor SPINE activate\n  advertise-all-vni")
    cause = first("frr", files, tmp_path)
    assert (cause.check.id, line_of(cause)) == ("R1", "neighbor SPINE activate")
    assert "did you mean 'SPINES'" in cause.first.text


@pytest.mark.parametrize("way", ["import", "export"])
def test_the_line_of_a_wrong_route_target_is_that_of_its_direction(way: str, tmp_path: Path) -> None:
    files = with_vni()
    files["leaf1.frr.conf"] = files["leaf1.frr.conf"].replace(f"{way} 65000:10100", f"{way} 65000:10109")
    cause = first("frr", files, tmp_path)
    assert (cause.check.id, line_of(cause)) == ("V3", f"route-target {way} 65000:10109")


def test_a_vni_of_frr_that_no_vlan_has_is_one_cause_with_its_block_as_the_repair(tmp_path: Path) -> None:
    old = with_vni()
    new = {**old, "leaf1.frr.conf": old["leaf1.frr.conf"].replace("vni 10100", "vni 10200")}
    cause, plan = repaired("frr", old, new, tmp_path)
    assert (cause.check.id, line_of(cause)) == ("R1", "vni 10200")
    assert plan.end.text(str(tmp_path / "new/leaf1.frr.conf")) == old["leaf1.frr.conf"]


@pytest.mark.parametrize("language", ["eos", "frr"])
def test_a_loopback_that_a_policy_drops_is_told_at_the_line_of_its_list(language: str, tmp_path: Path) -> None:
    file = "leaf1.frr.conf" if language == "frr" else "leaf1.cfg"
    files = frr.good() if language == "frr" else copy.deepcopy(good(language))
    text = files[file].replace("router bgp", _LISTED, 1)
    text = text.replace("network 10.0.0.1/32", "network 10.0.0.1/32 route-map LOOPBACK")
    old = {**files, file: text}
    new = {**files, file: text.replace("permit 10.0.0.1/32", "permit 10.0.0.9/32")}
    cause, plan = repaired(language, old, new, tmp_path)
    assert (cause.check.id, line_of(cause)) == ("V7", "ip prefix-list PL_LOOPBACK seq 10 permit 10.0.0.9/32")
    assert plan.end.text(str(tmp_path / "new" / file)) == text


def test_a_startup_file_that_ends_in_an_empty_section_is_cut(tmp_path: Path) -> None:
    files = copy.deepcopy(good("nvue"))
    text = nvue.text(files["leaf1.yaml"])
    cause = first("nvue", {**files, "leaf1.yaml": text[: text.index("timers:") + 7] + "\n"}, tmp_path)
    assert (cause.check.id, line_of(cause)) == ("R13", "timers:")


def test_a_mistyped_word_of_nvue_is_repaired_without_a_rest(tmp_path: Path) -> None:
    old = copy.deepcopy(good("nvue"))
    new = copy.deepcopy(old)
    qos = new["leaf1.yaml"]["qos"]
    qos["congestion-contol"] = qos.pop("congestion-control")
    request = Request([folder("new", "nvue", new, tmp_path)])
    plan = find(request, judge(request))
    assert plan.gone == plan.asked
    assert "contol" not in plan.end.text(str(tmp_path / "new/leaf1.yaml"))


def test_a_spine_that_lost_bgp_is_told_so_where_all_leaves_wait_for_it(tmp_path: Path) -> None:
    files = good("nxos")
    text = files["spine1.cfg"]
    cause = first("nxos", {**files, "spine1.cfg": text[: text.index("router bgp")]}, tmp_path)
    assert (cause.check.id, cause.first.device) == ("P12", "spine1")


def test_a_missing_neighbour_gets_the_lines_of_the_one_beside_it(tmp_path: Path) -> None:
    files = copy.deepcopy(good("nvue"))
    working = copy.deepcopy(files["leaf1.yaml"]["vrf"]["default"]["router"]["bgp"]["neighbor"])
    del files["leaf1.yaml"]["vrf"]["default"]["router"]["bgp"]["neighbor"]["10.1.0.1"]
    request = Request([folder("new", "nvue", files, tmp_path)])
    plan = find(request, judge(request))
    assert plan.gone == plan.asked
    (change,) = plan.changes
    assert f"remote-as {working['10.1.0.1']['remote-as']}" in change.command
    assert "address-family l2vpn-evpn enable on" in change.command
    assert not any(it.endswith("address-family") for it in change.statements)


@pytest.mark.parametrize("language", ["eos", "nxos", "nvue"])
def test_a_link_s_address_is_put_back_by_the_other_end(language: str, tmp_path: Path) -> None:
    files = copy.deepcopy(good(language))
    if language == "nvue":
        ip = files["leaf1.yaml"]["interface"]["swp3"]["ip"]
        ip["address"] = {"10.9.0.0/31": {}}
    else:
        files["leaf1.cfg"] = files["leaf1.cfg"].replace("ip address 10.1.0.0/31", "ip address 10.9.0.0/31")
    request = Request([folder("new", language, files, tmp_path)])
    plan = find(request, judge(request))
    assert plan.gone == plan.asked
    assert [it.value for it in plan.changes] == ["10.1.0.0/31"]


def test_a_class_that_is_written_otherwise_is_renamed_where_it_stands(tmp_path: Path) -> None:
    files = good("nxos")
    text = files["leaf1.cfg"]
    request = Request(
        [folder("new", "nxos", {**files, "leaf1.cfg": text.replace("  class ROCEv2", "  class ROCEV2")}, tmp_path)]
    )
    plan = find(request, judge(request))
    assert plan.end.text(str(tmp_path / "new/leaf1.cfg")) == text
