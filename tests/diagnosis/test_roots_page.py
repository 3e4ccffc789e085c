"""`fabric explain roots`, the first section of `fabric explain`, and the page of kinds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import yaml

from fabric.cli.main import main
from fabric.explain.evidence import Evidence
from fabric.runs.rundir import RunDir
from telemetry.catalogue.metrics import BY_NAME
from telemetry.diagnosis.confidence import FAMILIES, unfitted
from telemetry.diagnosis.diagnose import METRICS
from telemetry.diagnosis.root import MEANINGS, Kind, Root
from telemetry.diagnosis.seen import IDEAL
from telemetry.sources import incidents
from telemetry.sources.focus import focus_on
from telemetry.sources.incidents import completed, hurt, hurt_jobs
from telemetry.sources.roots import roots_of
from tests.diagnosis.conftest import scenario


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which a spine cable damages frames."""
    folder = tmp_path_factory.mktemp("roots")
    data = scenario({"kind": "bit-errors", "link": "leaf2--spine2", "ratio": 1.0e-6, "at": "2ms"})
    (folder / "scenario.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    assert main(["run", str(folder / "scenario.yml"), "--out", str(folder / "run"), "--quiet"]) in (0, 1)
    return folder / "run"


def test_roots_as_text_and_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "roots", str(run)]) == 0
    text = capsys.readouterr().out
    assert "frames arrive damaged" in text
    assert ("not measured" in text) is bool(unfitted(IDEAL))
    assert "First: drain the link; clean or replace the optics." in " ".join(text.split())
    assert main(["explain", "roots", str(run), "--json"]) == 0
    [root] = json.loads(capsys.readouterr().out)["roots"]["roots"]
    assert (root["kind"], root["began_ns"]) == ("bad-optic", 2_000_000)
    device, port = root["place"].split(":")
    assert (root["device"], root["port"], root["class"]) == (device, port, None)
    assert root["members"]


def test_kinds_without_a_confidence_are_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    families = unfitted("sonic")
    assert families
    assert main(["explain", "roots", str(run), "--as-seen-by", "sonic"]) == 0
    kinds = sorted(kind.value for name in families for kind in FAMILIES[name])
    assert f"not measured: {', '.join(kinds)}." in " ".join(capsys.readouterr().out.split())


def test_a_card_is_a_ticket_with_who_was_hurt_and_commands(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "roots", str(run), "--card", "text"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("INCIDENT bad-optic at ")
    for field in ("Place", "First seen", "Last seen", "Hurt", "Evidence", "First act", "See it again"):
        assert f"\n{field} " in text
    assert "First seen    2ms" in text
    assert "fabric explain roots again" in text
    assert max(len(it) for it in text.splitlines() if "fabric run" not in it) <= 80
    assert main(["explain", "roots", str(run), "--card", "markdown"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("## Incident: bad-optic at ")
    assert "**First act:** drain the link; clean or replace the optics" in page
    assert main(["explain", "roots", str(run), "--card", "text", "--json"]) == 2


def test_a_card_as_a_picture_is_a_png_with_the_words_of_the_text(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "roots", str(run), "--card", "png"]) == 0
    assert capsys.readouterr() == ("", "ticket in diagnosed-incident.png\n")
    content = (tmp_path / "diagnosed-incident.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20], "big") == 1500
    assert main(["explain", "roots", str(run), "--card", "text", "--out", "card.txt"]) == 0
    assert (tmp_path / "card.txt").read_text(encoding="utf-8").startswith("INCIDENT bad-optic at ")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--card", "png", "--out", "card.jpg"], "is no name of a PNG picture"),
        (["--card", "png", "--out", "absent/card.png"], "absent is no folder"),
        (["--card", "png", "--json"], "contradicts --json"),
        (["--out", "card.png"], "add --card"),
    ],
)
def test_a_card_is_refused_with_a_remedy(
    run: Path, words: list[str], text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(run.parent)
    assert main(["explain", "roots", str(run), *words]) == 2
    assert text in capsys.readouterr().err


def test_messages_hurt_are_those_that_took_longer_than_before(run: Path) -> None:
    found = RunDir.open(run)
    [root] = roots_of(found)
    it = hurt(found, root)
    assert it.slower > 0
    assert it.usual is not None
    assert it.messages >= it.failed + it.unfinished + it.slower
    early = replace(root, began_ns=0, ended_ns=0)
    assert (hurt(found, early).usual, hurt(found, early).slower) == (None, 0)


def test_before_any_message_ended_those_that_a_root_reached_are_hurt_beside_their_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The storm begins before any message is done: there is no usual time. Those of host5 take many times as long as
    the others of their workload; the page and the card say the same.
    """
    data = scenario({"kind": "pause-storm", "hosts": ["host5"], "at": "20us", "duration": "3ms"})
    data["workload"] = [{"kind": "permutation", "size": "1MB"}]
    data["transport"] = {"cc": "dcqcn"}
    (tmp_path / "scenario.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    assert main(["run", str(tmp_path / "scenario.yml"), "--out", str(tmp_path / "run"), "--quiet"]) in (0, 1)
    found = RunDir.open(tmp_path / "run")
    root = next(it for it in roots_of(found) if it.device == "host5")
    it = hurt(found, root)
    assert it.usual is None
    assert it.slower >= 1
    built: list[RunDir] = []

    class Counted(Evidence):
        def __init__(self, run: RunDir) -> None:
            super().__init__(run)
            built.append(run)

    monkeypatch.setattr(incidents, "Evidence", Counted)
    [one, again] = completed(found, [root, root])
    assert one.hurt == again.hurt == it
    assert len(built) == 1
    assert it.slower < it.messages
    assert dict(it.hosts)["host5"] >= 1
    assert "that it reached took more than" in it.lines[0]
    focus = focus_on(Evidence(found), [root])
    assert it.lines[0] in str(next(fact.value for fact in focus.answer.facts if fact.key == "hurt"))


def test_the_whole_run_begins_with_its_roots(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(run)]) == 0
    text = capsys.readouterr().out
    assert 0 < text.index("Root causes") < text.index("fabric explain drops")


def test_every_kind_has_words_and_every_metric_exists() -> None:
    assert set(MEANINGS) == set(Kind)
    assert set(METRICS) <= set(BY_NAME)


def job(name: str, *steps_us: int, planned: int = 0) -> dict[str, object]:
    """An entry of summary.json."""
    return {
        "name": name,
        "kind": "job",
        "begin_ns": 0,
        "steps_planned": planned or len(steps_us),
        "steps": [{"duration_ns": it * 1e3} for it in steps_us],
    }


def hurt_of(root: Root, *jobs: dict[str, object], stop_us: int) -> list[tuple[str, int, bool]]:
    summary = {"jobs": list(jobs), "stop": {"time_ns": stop_us * 1000}}
    run = SimpleNamespace(listed={"summary.json"}, summary=summary)
    return [(it.name, it.steps, it.unfinished) for it in hurt_jobs(cast("RunDir", run), root)]


def test_a_job_is_hurt_by_longer_steps_while_the_root_lasts_and_by_a_step_that_does_not_end() -> None:
    root = Root(Kind.LANES_LOST, "leaf1", 300_000, 600_000, ())
    even, slow, after = (job(name, 100, 100, 100, *late) for name, late in
                         (("even", (100, 114)), ("slow", (200, 150)), ("after", (100, 100, 100, 300))))  # fmt: skip
    stuck, waits = job("stuck", 100, 100, 100, planned=4), job("waits", 100, 100, 100, planned=4)
    assert hurt_of(root, even, slow, after, stop_us=800) == [("slow", 2, False)]
    assert hurt_of(root, stuck, stop_us=800) == [("stuck", 0, True)]
    assert hurt_of(root, waits, stop_us=410) == []
    assert hurt_of(replace(root, began_ns=0), slow, stop_us=800) == []  # no step before it to compare with


def test_a_straggler_hurts_its_own_job() -> None:
    root = Root(Kind.STRAGGLER, "train", 0, 600_000, ())
    assert hurt_of(root, job("train", 100, 100), job("other", 100, 100), stop_us=200) == [("train", 0, False)]
