"""Fixes and rollouts from Python: the same as the command line, with Python's words in errors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import fabric
from fabric.cli.main import main

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/howto/rollout-example"
BROKEN = Path(__file__).resolve().parents[2] / "docs/howto/validate-example/after"


@pytest.fixture(scope="module")
def fixes() -> fabric.Fixes:
    return fabric.validate(BROKEN).fix()


def test_fixes_are_those_of_the_command_line(fixes: fabric.Fixes, capsys: pytest.CaptureFixture[str]) -> None:
    main(["validate", str(BROKEN), "--fix", "--json"])
    printed = json.loads(capsys.readouterr().out)["fix"]
    assert (fixes.gone, fixes.asked) == (printed["gone"], printed["asked"])
    assert {name.removesuffix(".patch.json") for name in fixes.patches} == set(printed["patches"])
    assert [it.reason for it in fixes.left] == [it["reason"] for it in printed["left"]]
    assert all(it.text and it.source and it.clears for it in fixes.changes)
    assert "fixes" in repr(fixes).lower()


def test_written_copies_have_fewer_findings(fixes: fabric.Fixes, tmp_path: Path) -> None:
    fixes.write_copies(tmp_path / "fixed")
    before, after = (sum(fabric.validate(it).counts[level] for level in ("error", "warn"))
                     for it in (BROKEN, tmp_path / "fixed"))  # fmt: skip
    assert before - after == fixes.gone > 0
    assert [it.name for it in fixes.write_patches(tmp_path / "patches")] == list(fixes.patches)
    with pytest.raises(fabric.InputErrors, match="fix_apply"):
        fixes.write_copies(BROKEN)
    with pytest.raises(fabric.InputErrors, match="'junit' is not a format of fixes"):
        fixes.render("junit")  # type: ignore[arg-type]


def test_a_safe_rollout_has_its_order_and_its_edits() -> None:
    found = fabric.rollout(EXAMPLE / "old", EXAMPLE / "new")
    assert found.safe
    assert [it.unit for it in found.order][:4] == ["spine1", "spine2", "leaf1", "leaf2"]
    first = found.order[0]
    assert (first.title, first.edits[0].path, first.edits[0].effect) == ("classes", "/DSCP_TO_TC_MAP/M/30", "live")
    assert (found.hazard, found.remedies, found.hazard_state) == ((), (), "")
    assert found.verdict in found.render("text")
    assert found.render("html").startswith("<!doctype html>")
    assert json.loads(found.render("json"))["safe"] is True


def test_a_hazard_has_its_state_findings_and_remedies() -> None:
    found = fabric.rollout(EXAMPLE / "old", EXAMPLE / "other-class")
    assert not found.safe
    assert found.order == ()
    assert {it.check for it in found.hazard} >= {"M2"}
    assert found.hazard_state.startswith("NEW: ")
    assert [(it.kind, it.validated) for it in found.remedies] == [("split", True), ("window", False)]


def test_a_rollout_takes_one_file_of_hosts_or_two(tmp_path: Path) -> None:
    files = tmp_path / "a.yml", tmp_path / "b.yml"
    for file, name in zip(files, ("old", "new"), strict=True):
        shutil.copy(EXAMPLE / name / "hosts.yml", file)
    units = [{it.unit for it in fabric.rollout(EXAMPLE / "old", EXAMPLE / "new", hosts=hosts).steps}
             for hosts in (files, files[0])]  # fmt: skip
    assert ["hosts" in its for its in units] == [True, False]


def test_bad_parameters_of_a_rollout_are_errors() -> None:
    with pytest.raises(fabric.InputErrors) as error:
        fabric.rollout("a", "b", sonic_release="2024", fail_on="never", max_states=0)  # type: ignore[arg-type]
    assert [it.path for it in error.value.problems] == ["fail_on", "sonic_release", "max_states"]
    with pytest.raises(fabric.InputErrors, match="is no folder"):
        fabric.rollout("absent", EXAMPLE / "new")
    with pytest.raises(fabric.InputErrors, match="'pdf' is not a format"):
        fabric.rollout(EXAMPLE / "old", EXAMPLE / "old").render("pdf")  # type: ignore[arg-type]
    with pytest.raises(fabric.InputErrors, match="prove_out: has no effect without prove"):
        fabric.rollout(EXAMPLE / "old", EXAMPLE / "old", prove_out="x")


@pytest.mark.slow
def test_a_hazard_is_simulated_on_request_and_its_scenario_shows_it(tmp_path: Path) -> None:
    found = fabric.rollout(EXAMPLE / "old", EXAMPLE / "other-class", prove=True, prove_out=tmp_path / "proofs")
    [proof] = found.proofs
    assert (proof.check, proof.device, proof.result, proof.state) == ("M2", "spine1", "proven", "NEW: spine1")
    assert proof.file is not None
    assert not fabric.run(fabric.load(proof.file)).ok
    assert found.not_simulated == ()
