"""Remedies of headroom: the need decides, the platform's rule gives the size, and no check sends the user back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from fabrics import HOSTS, small_fabric

from fabric.configs.buffers.headroom import Assumptions
from fabric.configs.load import load_network
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.units import parse_time_ps
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.runner import Verdict, validate

FAR: Final = "pg_lossless_400000_40m_profile"
RESERVED: Final = 124_928 - 77_824
"""What the size of NVIDIA's row has beside its xoff: xon and, on eight lanes, 9 KB."""


def judged(folder: Path, response: str = "half", latency: str = "600ns", **fields: int) -> Verdict:
    """The small fabric; the 40 m profile of leaf1 has other fields."""
    fabric = small_fabric()
    for name, tables in fabric.items():
        if name == "leaf1":
            tables["BUFFER_PROFILE"][FAR].update({key: str(value) for key, value in fields.items()})
        (folder / f"{name}.json").write_text(json.dumps(tables), encoding="utf-8")
    (folder / "hosts.json").write_text(json.dumps(HOSTS), encoding="utf-8")
    network = load_network([folder], tables=HeadroomTables())
    network.assumed = Assumptions(response, parse_time_ps(latency))
    return validate(network)


def of(verdict: Verdict, check: str) -> list[Finding]:
    """Findings of a check about the 40 m profile of leaf1."""
    return [it for it in verdict.findings if it.check.id == check and it.device == "leaf1" and FAR in it.object]


def remedied(finding: Finding) -> dict[str, int]:
    assert finding.fix is not None
    return {row.path[-1]: int(row.value or "") for row in finding.fix.rows}


@pytest.mark.parametrize(
    ("response", "latency", "need"), [("half", "600ns", 96_048), ("worst", "600ns", 121_104), ("worst", "0ns", 91_872)]
)
def test_the_remedy_is_the_need_and_nothing_sends_back(response: str, latency: str, need: int, tmp_path: Path) -> None:
    finding = of(judged(tmp_path, response, latency), "H1")[0]
    values = remedied(finding)
    assert values == {"xoff": need, "size": RESERVED + need}
    assert "need" in finding.check.remedy
    assert "vendor" not in finding.check.remedy
    after = judged(tmp_path, response, latency, **values)
    assert [it.fix for it in (*of(after, "H1"), *of(after, "H4"), *of(after, "B4")) if it.fix] == []


def test_the_size_is_the_rows_reserve_and_xoff_whatever_the_size_was(tmp_path: Path) -> None:
    finding = of(judged(tmp_path, xoff=20_000), "H1")[0]
    assert finding.severity > Severity.INFO
    assert remedied(finding) == {"xoff": 96_048, "size": 143_152}


def test_the_size_is_left_out_where_the_platforms_rule_is_not_known(tmp_path: Path) -> None:
    tables = small_fabric()["leaf1"]
    tables["DEVICE_METADATA"]["localhost"]["hwsku"] = "Nobody-1"
    tables["BUFFER_PROFILE"][FAR]["size"] = "300000"
    (tmp_path / "leaf1.json").write_text(json.dumps(tables), encoding="utf-8")
    verdict = validate(load_network([tmp_path], tables=HeadroomTables()), only={"H1"})
    assert set(remedied(of(verdict, "H1")[0])) == {"xoff"}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"xoff": 100_000, "size": 150_000}, {}),
        ({"xoff": 100_000, "size": 150_000, "xon": 18_432}, {"xon": 37_888}),
        ({"xoff": 100_000}, {"size": RESERVED + 100_000}),
        ({"xoff": 70_000}, {"xoff": 96_048, "size": RESERVED + 96_048}),
        ({"xoff": 70_000, "xon": 18_432}, {"xoff": 96_048, "xon": 37_888, "size": RESERVED + 96_048}),
    ],
    ids=["more", "other xon", "size too small", "less", "less, other xon"],
)
def test_h4_never_takes_headroom_away(fields: dict[str, int], wanted: dict[str, Any], tmp_path: Path) -> None:
    (finding,) = of(judged(tmp_path, **fields), "H4")
    assert (remedied(finding) if finding.fix else {}) == wanted
    assert (finding.severity is Severity.INFO) == (not wanted)


@pytest.mark.parametrize("xoff", [20_000, 38_912, 70_000])
def test_one_remedy_of_h4_leaves_nothing_for_h1_to_ask(xoff: int, tmp_path: Path) -> None:
    (finding,) = of(judged(tmp_path, xoff=xoff), "H4")
    after = judged(tmp_path, **remedied(finding))
    assert [it.fix for it in (*of(after, "H1"), *of(after, "H4"), *of(after, "B4")) if it.fix] == []


@pytest.mark.parametrize(
    ("response", "latency", "alike"), [("half", "600ns", True), ("worst", "600ns", False), ("half", "5us", False)]
)
def test_only_the_assumptions_of_a_run_are_called_so(response: str, latency: str, alike: bool, tmp_path: Path) -> None:
    assert judged(tmp_path, response, latency).headroom.endswith("as in `fabric run`") == alike


def test_a_length_that_is_not_the_cables_is_not_advised(tmp_path: Path) -> None:
    tables = small_fabric()["leaf1"]
    tables["CABLE_LENGTH"]["AZURE"]["Ethernet16"] = "60m"
    (tmp_path / "leaf1.json").write_text(json.dumps(tables), encoding="utf-8")
    findings = validate(load_network([tmp_path], tables=HeadroomTables()), only={"H2"}).findings
    (finding,) = [it for it in findings if it.object == "Ethernet16"]
    assert finding.fix is None
    assert "add a row" in finding.check.remedy
    assert "dynamic buffers" in finding.check.remedy


def test_pfc_and_the_watchdogs_priorities_are_set_together(tmp_path: Path) -> None:
    fabric = small_fabric()
    fabric["spine1"]["PORT_QOS_MAP"]["Ethernet8"].update(pfc_enable="", pfcwd_sw_enable="")
    for name, tables in fabric.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(tables), encoding="utf-8")
    (finding,) = validate(load_network([tmp_path], tables=HeadroomTables()), only={"L1"}).findings
    assert finding.fix is not None
    assert [(row.path[-1], row.value) for row in finding.fix.rows] == [("pfc_enable", "3"), ("pfcwd_sw_enable", "3")]
    assert "pfcwd_sw_enable" in finding.fix.command
