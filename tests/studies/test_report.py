"""Words and axis labels of a study's page: what the seeds cannot tell apart is not called the best."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from small_study import swept, written

from fabric.render.document import Unit
from fabric.studies.analysis import Analysis, analysed
from fabric.studies.dataset import StudyResults
from fabric.studies.figures import pictures, tick_label
from fabric.studies.plan import load_study
from fabric.studies.report import as_json, compose


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("study")
    swept(written(folder, constraints=None), folder / "out")
    return analysed(load_study(folder / "STUDY.yml"), StudyResults(folder / "out").runs())


def with_values(found: Analysis, values: dict[int, dict[int, float]]) -> Analysis:
    """The same with other values of the first measure: point -> seed -> value."""
    cells = []
    for cell in found.cells:
        mine = list(values[cell.point.number].values())
        known = cell.measures["fct.p99"]
        cells.append(replace(cell, measures={**cell.measures, "fct.p99": replace(known, mean=sum(mine) / len(mine))}))
    return replace(found, cells=tuple(cells), by_seed={**found.by_seed, "fct.p99": values})


def test_the_best_point_is_told_apart_only_where_the_interval_of_the_difference_excludes_0(analysis: Analysis) -> None:
    base = {1: 10.0, 2: 20.0, 3: 30.0}  # seeds differ far more than points
    later = {seed: value + 1 for seed, value in base.items()}
    unsure = {1: 9.0, 2: 21.0, 3: 32.0}
    clear = with_values(analysis, {0: base, 1: later, 2: later, 3: later})
    assert clear.alike(0, "fct.p99") == []
    assert "cannot be told apart" not in compose(clear, {}, complete=True, drawn=False).verdict
    found = with_values(analysis, {0: base, 1: later, 2: unsure, 3: later})
    assert found.alike(0, "fct.p99") == [2]
    document = compose(found, {}, complete=True, drawn=False)
    assert document.verdict.endswith("and cannot be told apart from 1 other point")
    assert any("kmin=50KB cut=0.1: the 95% interval of the difference, seed by seed, contains 0" in it.text
               for it in document.reasons)  # fmt: skip
    assert as_json(found)["best"] == [{"measure": "fct.p99_ns", "point": 0, "alike": [2]}]


def test_with_one_seed_nothing_is_said_to_be_better(tmp_path: Path) -> None:
    swept(written(tmp_path, repetitions={"seeds": 1}, constraints=None), tmp_path / "out")
    found = analysed(load_study(tmp_path / "STUDY.yml"), StudyResults(tmp_path / "out").runs())
    assert (
        "with one seed it is not known whether others differ" in compose(found, {}, complete=True, drawn=False).verdict
    )


def test_ticks_of_an_axis_have_different_labels(analysis: Analysis) -> None:
    ticks = [27105.1, 27105.2, 27105.3]
    assert [tick_label(it, ticks, Unit.NS) for it in ticks] == ["27.1051us", "27.1052us", "27.1053us"]
    assert tick_label(27105.1, [27105.1, 30000.0], Unit.NS) == "27.11us"
    values = {number: dict.fromkeys((1, 2, 3), 27105.0 + number / 10) for number in range(4)}
    drawn = next(it for it in pictures(with_values(analysis, values)) if it.key == "response")
    labels = re.findall(r">([\d.]+us)<", drawn.svg)
    assert len(labels) > 2
    assert len(set(labels)) == len(labels)
