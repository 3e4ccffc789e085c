"""The alert corpus: its arithmetic, its file, and docs/alerts.md."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.errors import InputErrors
from fabric.scenario.yaml_input import read_yaml
from telemetry.alerting.alert_corpus import Label, Simulated, highest_limit, measure
from telemetry.alerting.alert_corpus_page import head, tail
from telemetry.alerting.alerts import ALERTS, BY_NAME
from telemetry.alerting.score import Score
from telemetry.sources.corpus_case import load_corpus

STORM = BY_NAME["FabricPfcStorm"]
NOTHING = Score((), 0, 0)


def simulated(*, fires: bool, fired_at: int | None, limit: float | None = None, may: bool = False) -> Simulated:
    label = Label(frozenset({STORM.name} if fires else ()), frozenset({STORM.name} if may else ()))
    return Simulated(
        "case", 1, label, 1000, {} if fired_at is None else {STORM.name: fired_at}, {STORM.name: limit}, NOTHING
    )


def test_every_case_counts_once_and_a_may_not_at_all() -> None:
    found = measure(
        STORM,
        [
            simulated(fires=True, fired_at=3000, limit=0.9),
            simulated(fires=True, fired_at=None, limit=0.4),
            simulated(fires=False, fired_at=5000, limit=0.7),
            simulated(fires=False, fired_at=None),
            simulated(fires=False, fired_at=4000, limit=1.0, may=True),
        ],
    )
    assert (found.true, found.missed, found.false) == (1, 1, 1)
    assert (found.precision, found.recall, found.delay_ns) == (0.5, 0.5, 2000)
    assert (found.silent_limit, found.firing_limit) == (0.7, 0.4)


def test_an_alert_that_no_case_is_about_has_no_figures() -> None:
    found = measure(STORM, [simulated(fires=False, fired_at=None)])
    assert (found.precision, found.recall, found.delay_ns, found.silent_limit) == (None, None, None, None)


@pytest.mark.parametrize("edge", [0.001, 0.02, 0.31, 0.95, 3.0, 1000.0])
def test_the_highest_threshold_that_fires_is_found_on_the_ladder(edge: float) -> None:
    found = highest_limit(STORM, lambda alert: [None] if alert.limit < edge else [])  # type: ignore[list-item]
    ladder = [STORM.limit * 2 ** (step / 4) for step in range(-24, 25)]
    assert found == (max((limit for limit in ladder if limit < edge), default=None))


def test_every_alert_is_fired_by_a_scenario(repo_root: Path) -> None:
    corpus = load_corpus(repo_root / "scenarios/alerts/corpus.yml")
    fired = {name for case in corpus.cases for name in case.fires}
    assert {alert.name for alert in ALERTS} == fired


def test_every_alert_has_a_case_that_must_not_fire_it(repo_root: Path) -> None:
    corpus = load_corpus(repo_root / "scenarios/alerts/corpus.yml")
    for alert in ALERTS:
        assert any(alert.name not in (*case.fires, *case.may) for case in corpus.cases), alert.name


def test_every_scenario_of_the_folder_is_in_the_corpus(repo_root: Path) -> None:
    folder = repo_root / "scenarios/alerts"
    listed = {case.scenario for case in load_corpus(folder / "corpus.yml").cases}
    assert listed == {file.name for file in folder.glob("*.yml")} - {"corpus.yml"}


def test_all_problems_of_a_corpus_come_together(tmp_path: Path) -> None:
    (tmp_path / "corpus.yml").write_text(
        "seeds: [1, 2]\nheld_out: [2]\ncases:\n"
        "  - {scenario: gone.yml, fires: [FabricPfcStrom], may: [FabricLinkDown]}\n"
        "  - {scenario: corpus.yml, fires: [FabricLinkDown], may: [FabricLinkDown]}\n"
    )
    with pytest.raises(InputErrors) as caught:
        load_corpus(tmp_path / "corpus.yml")
    texts = [f"{it.path}: {it.text} ({it.hint})" for it in caught.value.problems]
    assert len(texts) == 4
    assert "held_out: seed 2 is one of seeds, too" in texts[0]
    assert "did you mean 'FabricPfcStorm'?" in texts[1]
    assert "there is no file" in texts[2]
    assert "must fire already" in texts[3]


def test_an_alert_carries_its_threshold_into_its_expression() -> None:
    assert replace(STORM, limit=0.5).expr != STORM.expr


def test_the_page_has_the_text_of_its_source(repo_root: Path) -> None:
    """Everything but the figures, which take minutes (the slow test below)."""
    file = repo_root / "scenarios/alerts/corpus.yml"
    corpus, cases = load_corpus(file), []
    for case in corpus.cases:
        raw = read_yaml(file.parent / case.scenario)
        cases.append((raw["name"], raw["description"], Label(frozenset(case.fires), frozenset(case.may))))
    page = (repo_root / "docs/alerts.md").read_text(encoding="utf-8")
    assert page.startswith(head(len(cases), corpus.seeds, corpus.held_out))
    assert page.endswith(tail(ALERTS, cases))


@pytest.mark.slow
def test_the_page_about_alerts_is_what_the_corpus_gives(
    repo_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "alerts.md"
    code = main(
        ["alerts", "corpus", "--corpus", str(repo_root / "scenarios/alerts/corpus.yml"), "--write", str(page), "--json"]
    )
    found = json.loads(capsys.readouterr().out)
    assert code == 0, [it for it in found["fitted"] if it["false"] or it["missed"]]
    assert page.read_text(encoding="utf-8") == (repo_root / "docs/alerts.md").read_text(encoding="utf-8"), (
        "run: fabric alerts corpus --write docs/alerts.md"
    )
    for it in found["held_out"]:
        assert it["recall"] in {None, 1.0}, it["alert"]
        assert it["precision"] is None or it["precision"] >= 0.9, it["alert"]
