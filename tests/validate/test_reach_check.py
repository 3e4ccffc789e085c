"""V11: a fabric whose hosts do not reach each other fails, with the root named, and never as a second cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.main import main
from fabric.configs.load import load_network
from fabric.validate import reachability
from fabric.validate.checks.base import Severity
from fabric.validate.runner import Verdict, validate
from tests.mistakes.mistake import LANGUAGES, Edit, both, everywhere, put, replaced
from tests.validate.test_reachability import fabric


def verdict(folder: Path) -> Verdict:
    return validate(load_network([folder]))


def errors(folder: Path) -> list[str]:
    """'V11 leaf1: text' of each cause that is an error."""
    causes = [it for it in verdict(folder).causes if it.severity is Severity.ERROR]
    return [f"{it.check.id} {it.first.device}: {it.first.text}" for it in causes]


def _shut(*addresses: str) -> Edit:
    return both(*(put("BGP_NEIGHBOR", it, "admin_status", value="down") for it in addresses))


SHUT_AT_BOTH_ENDS = {"leaf1": _shut("10.1.0.1", "10.1.0.3"), "spine1": _shut("10.1.0.0"), "spine2": _shut("10.1.0.2")}


def test_a_leaf_that_is_cut_off_fails_where_no_other_check_speaks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fabric("sonic", tmp_path, **SHUT_AT_BOTH_ENDS)
    [only] = errors(folder)
    assert only.startswith("V11 leaf1: no session of leaf1 comes up")
    assert "leaf1 has it shut" in only
    assert "8 ordered pairs of hosts of VNI 10100 do not reach" in only
    assert main(["validate", str(folder)]) == 1
    assert "V11" in capsys.readouterr().out


def test_pairs_that_other_checks_explain_are_no_second_cause(tmp_path: Path) -> None:
    folder = fabric("nxos", tmp_path, leaf2=replaced("route-target import 65000:10100", "route-target import 65000:1"))
    [cause] = [it for it in verdict(folder).causes if it.severity is Severity.ERROR]
    assert cause.check.id == "V3"
    assert cause.counts == {"V11": 1}


def test_two_mistakes_that_cut_a_leaf_off_are_two_causes(tmp_path: Path) -> None:
    edit = both(
        put("BGP_NEIGHBOR", "10.1.0.1", "asn", value="1"), put("BGP_NEIGHBOR", "10.1.0.3", "admin_status", value="down")
    )
    causes = [it for it in verdict(fabric("sonic", tmp_path, leaf1=edit)).causes if it.severity is Severity.ERROR]
    assert {it.check.id for it in causes} == {"P2", "P6"}
    assert all("V11" in it.counts for it in causes)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_apart_on_purpose_or_undecided_is_no_error(language: str, tmp_path: Path) -> None:
    folder = fabric(language, tmp_path)
    assert not errors(folder)
    next(folder.glob("spine1.*")).unlink()
    assert not [it for it in errors(folder) if it.startswith("V11")]


def test_a_host_port_that_is_shut_is_no_error(tmp_path: Path) -> None:
    edit = put("PORT", "Ethernet8", "admin_status", value="down")
    assert not [it for it in errors(fabric("sonic", tmp_path, leaf1=edit)) if it.startswith("V11")]


def test_one_uplink_of_two_hurts_nobody(tmp_path: Path) -> None:
    wrong = everywhere("10.1.0.1 remote-as 65000", "10.1.0.1 remote-as 65009")
    found = verdict(fabric("eos", tmp_path, leaf1=wrong)).findings
    assert {"P2"} <= {it.check.id for it in found}
    assert "V11" not in {it.check.id for it in found}


def test_a_fabric_above_the_limit_gets_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fabric("sonic", tmp_path, **SHUT_AT_BOTH_ENDS)
    monkeypatch.setattr(reachability, "MAX_WHOLE", 0)
    monkeypatch.setattr(reachability, "MAX_WORK", 7)  # 4 sessions, 2 switches with a VNI
    [note] = [it for it in verdict(folder).findings if it.check.id == "V11"]
    assert note.severity is Severity.INFO
    assert "8 sessions × switches of switches that are not configured alike are more than 7" in note.text
    monkeypatch.setattr(reachability, "MAX_WORK", 8)
    assert [it.severity for it in verdict(folder).findings if it.check.id == "V11"] == [Severity.ERROR]


def _elsewhere(content: Any) -> Any:  # noqa: ANN401  text or JSON
    """The neighbour 10.1.0.1 has an address that is in no subnet of the switch."""
    if isinstance(content, str):
        return content.replace("neighbor 10.1.0.1", "neighbor 10.99.0.1")
    return json.loads(json.dumps(content).replace('"10.1.0.1"', '"10.99.0.1"').replace("|10.1.0.1|", "|10.99.0.1|"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_external_neighbour_that_no_link_has_leaves_the_ways_over_other_spines(
    language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its session never comes up, so that nothing it could bring keeps the rest undecided."""
    folder = fabric(language, tmp_path, leaf1=_elsewhere)
    capsys.readouterr()
    assert main(["validate", str(folder), "--reach"]) == 0
    said = capsys.readouterr().out
    assert "12 of 12 ordered pairs reach" in said
    assert "undecided" not in said
