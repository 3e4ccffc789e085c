"""Proofs of single findings: evidence, twin, guards, and what is refused. All cases: test_every_proof.py."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from broken_fabrics import Broken, every, nothing, put, with_lines
from proof_cases import CASES

from fabric.configs.load import load_network
from fabric.errors import InputErrors, Problem
from fabric.proof import prove as proving
from fabric.proof.cut import Cutter
from fabric.proof.outcome import simulate
from fabric.proof.recipe import Case, lowered, scenario_of
from fabric.proof.recipes import chain
from fabric.proof.registry import NO_CLAIM, RECIPES, WITHOUT
from fabric.validate.checks.registry import CHECKS
from fabric.validate.facts import Facts
from fabric.validate.proofs import Proof
from fabric.validate.runner import validate


def proof_of(check: str, folder: Path) -> Proof:
    return next(it for it in CASES if it.check == check).proof(folder)


def test_too_little_headroom_loses_frames_at_its_port_and_the_twin_does_not(tmp_path: Path) -> None:
    found = proof_of("H1", tmp_path)
    assert found.result == "proven"
    assert found.text.startswith("leaf1 Ethernet16 dropped 9 frames of class 3")
    assert "headroom 20016 B, 54288 B needed" in found.text
    assert not found.condition  # also with a peer that stops at once
    assert "xoff 91872 B instead of 20000 B" in found.remedy


def test_a_loss_that_depends_on_the_response_of_a_peer_says_on_how_much(tmp_path: Path) -> None:
    found = proof_of("H4", tmp_path)
    assert found.result == "proven"
    assert found.condition == "only if a peer takes more than 0.19 of the time that 802.3 31B.3.7 allows it"


def test_roce_in_a_lossy_class_is_lost_roce(tmp_path: Path) -> None:
    found = proof_of("M1", tmp_path)
    assert found.result == "proven"
    assert "frames of class 0" in found.text
    assert "expectations: [drops.total == 0, messages.done == 2]" in found.scenario


def test_a_mistake_that_hides_another_leaves_it_not_proven(tmp_path: Path) -> None:
    change = every(
        put("leaf1", "DSCP_TO_TC_MAP", "M", _26="0"),
        put("leaf1", "BUFFER_PROFILE", "pg_lossless_400000_40m_profile", xoff="20000"),
    )
    found = Broken("H1", "behind M1", change, device="leaf1").proof(tmp_path)
    assert found.result == "not proven"
    assert "never asked for a pause" in found.text


def test_a_rule_that_the_simulation_does_not_confirm_is_refuted(tmp_path: Path) -> None:
    found = proof_of("W5", tmp_path)
    assert found.result == "refuted"
    assert "watchdog.storms == 0: met" in found.text


@pytest.mark.parametrize("check", ["P1", "P2", "P3"])
def test_a_finding_about_a_session_that_comes_up_is_refuted(check: str, tmp_path: Path) -> None:
    """The routes are those of the converged speakers, whatever the finding says."""
    case = next(it for it in CASES if it.check == check and it.result == "proven").case(tmp_path / "broken")
    right = Broken(check, "", nothing, make=with_lines()).network(tmp_path / "right")
    facts = Facts(right)
    finding = case.finding
    found = proving.prove(Case(facts, Cutter(facts), finding))
    assert found.result == "refuted", found.text
    assert "drops.total == 0: met" in found.text


def test_a_session_that_is_down_beside_another_path_loses_nothing(tmp_path: Path) -> None:
    case = next(it for it in CASES if it.check == "P2" and it.result == "not proven")
    found = case.proof(tmp_path)
    assert found.result == "not proven"
    assert "leaf1 expects AS 65009" in found.text
    assert "other paths carry the packets" in found.text


def test_a_twin_that_shows_it_too_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = RECIPES["H1"]
    lame = type(recipe)(
        **{**{name: getattr(recipe, name) for name in recipe.__slots__}, "remedy": lambda *_: "nothing"}
    )
    monkeypatch.setattr(proving, "RECIPES", {**RECIPES, "H1": lame})
    found = proof_of("H1", tmp_path)
    assert found.result == "not proven"
    assert "the remedied configuration shows it, too" in found.text


def test_a_setting_that_no_scenario_has_is_a_reason_and_no_error(tmp_path: Path) -> None:
    found = Broken("N2", "", nothing, hosts={"ecn_rp_prio": 2}).proof(tmp_path)
    assert (found.result, found.scenario) == ("not proven", "")
    assert found.text.startswith("not lowered: notification and reaction point")


@pytest.mark.parametrize(
    ("pir", "words"), [("49990000000", "so close to the port's speed that a pause needs"), ("1", "shaper")]
)
def test_a_shaper_that_no_short_run_can_show_is_said(pir: str, words: str, tmp_path: Path) -> None:
    change = put("leaf1", "SCHEDULER", "data", pir=pir, meter_type="bytes" if len(pir) > 1 else "packets")
    found = Broken("M15", "", change).proof(tmp_path)
    assert found.result == "not proven"
    assert words in found.text


def test_asymmetric_pfc_at_one_end_loses_no_roce(tmp_path: Path) -> None:
    """L6: the port obeys every pause, RoCE's too."""
    change = put("spine1", "PORT", "Ethernet8", pfc_asym="on")
    case = Broken("L6", "", change).case(tmp_path)
    for enters in (False, True):
        plan = chain.chain(case.cutter.chain("spine1", "Ethernet8", enters=enters), 26, "spine1", "Ethernet8")
        run = simulate(scenario_of(plan, lowered(plan), "asymmetric"))
        assert run.count("pfc.pauses")
        assert run.ok


def test_a_class_beside_roce_in_its_group_keeps_roce_waiting_and_loses_none_of_it(tmp_path: Path) -> None:
    """M16: what is lost is the other class's own."""
    case = next(it for it in CASES if it.check == "M16").case(tmp_path)
    plan = RECIPES["M16"].plan(case)
    run = simulate(scenario_of(plan, lowered(plan), "m16"))
    assert run.count("drops.total") == run.count("datagrams.dropped") > 0
    assert run.count("messages.done") == 0


def test_a_scenario_that_is_refused_is_a_reason_and_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise InputErrors("checking", [Problem("proof.yml: name", "is not valid", "shorten it")])

    monkeypatch.setattr(proving, "simulate", refuse)
    found = proof_of("H1", tmp_path)
    assert (found.result, found.text) == (
        "not proven", "no scenario can be made of it: proof.yml: name: is not valid"
    )  # fmt: skip


def test_every_check_is_simulated_or_says_why_not_or_claims_nothing() -> None:
    """Families about files, routes and identities claim nothing of RoCE's packets."""
    about_packets = {id_ for id_ in CHECKS if id_[0] in "BHMELWTND"}
    about_packets -= {"E2b", "E12", "H9", "L3", "L7", "L13", "L14"}  # notes, and cabling
    assert about_packets <= {*RECIPES, *WITHOUT, *NO_CLAIM}
    assert not set(RECIPES) & {*WITHOUT, *NO_CLAIM}
    assert {*RECIPES, *WITHOUT, *NO_CLAIM} <= set(CHECKS)


def test_every_recipe_is_shown_by_some_case() -> None:
    proven = {case.check for case in CASES if case.result == "proven"}
    assert len(proven) >= 25
    assert set(RECIPES) - proven == {"H6", "H8", "H10", "M14", "T6", "W5"}  # H8 and W5 are refuted


def test_one_finding_of_each_check_of_a_cause_is_simulated(tmp_path: Path) -> None:
    network = Broken("M1", "", put("leaf1", "DSCP_TO_TC_MAP", "M", _26="0")).network(tmp_path)
    work = proving.tasks(validate(network))
    assert (work[0].finding.check.id, work[0].alike) == ("M1", 4)
    assert len({it.finding.check.id for it in work}) == len(work)


def test_a_clean_fabric_has_nothing_to_prove(tmp_path: Path) -> None:
    assert proving.tasks(validate(Broken("H1", "", nothing).network(tmp_path))) == []


@pytest.mark.parametrize("check", ["M1", "M2"])
def test_a_switch_that_states_no_pool_is_filled_as_its_chip_is_assumed(check: str, tmp_path: Path) -> None:
    """NX-OS: a deep buffer is marked before it pauses, so that the remedied message may outlast the run."""
    good = Path(__file__).parents[2] / "docs" / "howto" / "validate-nxos-example" / "before"
    shutil.copytree(good, tmp_path / "configs")
    file = tmp_path / "configs" / "leaf1.cfg"
    text = file.read_text(encoding="utf-8")
    assert "match dscp 26" in text
    file.write_text(text.replace("match dscp 26", "match dscp 24"), encoding="utf-8")
    facts = Facts(load_network([tmp_path / "configs"]))
    finding = next(it for it in validate(facts.network).findings if it.check.id == check)
    found = proving.prove(Case(facts, Cutter(facts), finding))
    assert (found.result, found.not_lowered) == ("proven", ())
