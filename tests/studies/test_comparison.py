"""Comparisons: what options describe, and which point is best in what."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from small_study import SCENARIO

from fabric.cli.main import main
from fabric.errors import InputErrors
from fabric.render.document import Status, Table
from fabric.studies.analysis import Analysis, CellFigures
from fabric.studies.comparison import (
    BALANCERS,
    MEASURES,
    bests,
    comparison_json,
    comparison_of,
    compose_comparison,
    with_measures,
)
from fabric.studies.plan import StudyPlan, examine
from fabric.studies.statistics import interval


def plan(controls: list[str], balancers: list[str]) -> StudyPlan:
    return with_measures(comparison_of([Path("incast")], controls, balancers, 2))


def found(of: StudyPlan, values: list[list[float]], measure: str = "fct.p99") -> Analysis:
    """A value for each point and seed."""
    cells = []
    for point, own in zip(of.points, values, strict=True):
        known = interval(own, 0.95)
        assert known is not None
        cells.append(
            CellFigures(point, "incast", 2, 0, True, {measure: known}, {}, [], {measure: dict(enumerate(own))})
        )
    return Analysis(of, tuple(cells), (), (), {})


def test_every_combination_is_a_valid_scenario() -> None:
    """Also those of balancers among themselves: each sets load_balancing, so none leaves the last one's behind."""
    made = plan(["dcqcn", "none"], list(BALANCERS))
    assert len(made.points) == 2 * len(BALANCERS)
    assert set(MEASURES) <= set(made.study.measures)
    assert not examine(made).invalid


def test_source_routes_of_a_scenario_are_left_out_with_other_balancers_and_this_is_said() -> None:
    made = with_measures(comparison_of([Path("source-routes")], [], ["ecmp", "spray", "source-routed"], 1))
    assert not examine(made).invalid
    note = "transport.source_routes of source-routes is left out with ecmp, spray: only source-routed has it"
    assert made.notes == (note,)
    document = compose_comparison(found(made, [[10], [20], [30]]), {}, complete=True)
    assert [it.text for it in document.reasons] == [note]
    assert document.status is not Status.WARNING
    assert not comparison_of([Path("source-routes")], ["dcqcn", "none"], [], 1).notes
    assert not comparison_of([Path("incast")], [], ["ecmp", "source-routed"], 1).notes


def test_little_is_best_of_times_and_much_of_goodput() -> None:
    of = plan(["dcqcn", "dctcp", "none"], [])
    (least,) = bests(found(of, [[20], [10], [30]]))
    assert (least.best.point.number, least.worst.point.number, least.alike) == (1, 2, ())
    (most,) = bests(found(of, [[20], [10], [30]], "goodput.total"))
    assert (most.best.point.number, most.worst.point.number) == (2, 1)


def test_points_whose_difference_seed_by_seed_may_be_0_are_as_good() -> None:
    of = plan(["dcqcn", "dctcp", "none"], [])
    (least,) = bests(found(of, [[10, 20, 30], [11, 19, 33], [12, 22, 32]]))
    assert [it.point.number for it in least.alike] == [1]  # the third is later by 2 with every seed
    assert comparison_json(found(of, [[10, 20, 30], [11, 19, 33], [12, 22, 32]])) == [
        {"workload": "incast", "measure": "fct.p99_ns", "goal": "min", "best": 0, "alike": [1], "worst": 2}
    ]


def test_a_measure_in_which_all_are_equal_has_no_best() -> None:
    of = plan(["dcqcn", "none"], [])
    assert bests(found(of, [[10], [10]])) == []
    document = compose_comparison(found(of, [[10], [10]]), {}, complete=False)
    assert "no two points differ" in document.verdict
    assert "not every planned run" in document.reasons[0].text


def test_the_document_has_a_table_of_points_and_a_map_of_what_differs() -> None:
    of = plan(["dcqcn", "none"], ["ecmp", "spray"])
    document = compose_comparison(found(of, [[1e6], [2e6], [3e6], [4e6]]), {}, complete=True)
    by_key = {it.key: it for it in document.sections}
    table = by_key["workload-0"].blocks[0]
    assert isinstance(table, Table)
    assert [row[:3] for row in table.rows] == [
        ("dcqcn", "ecmp", 1e6),
        ("dcqcn", "spray", 2e6),
        ("none", "ecmp", 3e6),
        ("none", "spray", 4e6),
    ]
    assert len(by_key["drawings"].blocks) == 1
    assert document.verdict == "shortest 99th percentile of completion times: incast: dcqcn ecmp (1ms)"


def test_values_that_are_printed_alike_have_no_best_and_what_differs_is_named() -> None:
    of = plan(["dcqcn", "none"], [])
    document = compose_comparison(found(of, [[1_000_000], [1_000_001]]), {}, complete=True)
    assert document.verdict == "no difference in the 99th percentile of completion times: incast (1ms)"
    assert document.status is Status.NEUTRAL


def test_one_point_is_no_comparison() -> None:
    with pytest.raises(InputErrors, match="nothing to compare"):
        plan(["dcqcn"], [])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["incast", "--cc", "dcqn"], "did you mean 'dcqcn'?"),
        (["incast", "--balance", "adaptiv,ecmp"], "did you mean 'adaptive'?"),
        (["incast", "--cc", "dcqcn,dcqcn"], "'dcqcn' is named twice"),
        (["incast", "incast", "--cc", "dcqcn,none"], "'incast' is named twice"),
        (["incast", "--cc", ","], "--cc: names nothing"),
        (["incast", "permutation"], "scenarios are compared under what --cc or --balance name"),
        (["balancers", "--seeds", "3"], "--seeds: has no effect on a study"),
        (["incast", "--cc", "dcqcn,none", "--seeds", "0"], "0 is not possible"),
        (["incast", "--cc", "dcqcn,none", "--resume", "--force"], "contradicts --force"),
        (["incast", "--cc", "dcqcn"], "nothing to compare"),
        (["incast", "--cc", "dcqcn,none", "--page", "no/compare.html"], "there is no folder 'no'"),
        (["incast", "--cc", "dcqcn,none", "--page", "."], "'.' is a folder"),
        (["incast"], "'incast' is a scenario, and nothing says what it is compared under"),
    ],
)
def test_words_that_contradict_or_do_nothing_are_refused(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *words]) == 2
    assert expected in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_study_keeps_its_own_measures() -> None:
    made = plan(["dcqcn", "none"], [])
    own = replace(made, study=made.study.model_copy(update={"measures": ("fct.p50",)}))
    assert with_measures(own).study.measures == (*MEASURES, "fct.p50")


@pytest.mark.slow
def test_a_comparison_is_carried_out_resumed_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yml").write_text(yaml.safe_dump(SCENARIO), encoding="utf-8")
    words = ["compare", "small.yml", "--cc", "dcqcn,none", "--workers", "1", "--quiet", "--out", "made"]
    assert main([*words, "--page", "page.html", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["status"], facts["runs"], len(facts["points"])) == ("done", 2, 2)
    assert "fct.p99_ns" in {it["measure"] for it in facts["comparison"]}
    assert "fct.p99" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (tmp_path / "made" / "report.html").is_file()
    assert main([*words, "--resume"]) == 0
    text = capsys.readouterr().out
    assert "Best of each measure" in text
    assert max(map(len, text.splitlines())) <= 120
    assert main(words) == 2
    assert "--resume" in capsys.readouterr().err
