"""The page of searches: a search measured against a grid on known points, and the page of results made by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench.study_results import page
from bench.study_results.against_grid import Compared, Grid, area, front
from bench.study_results.drawing import of_report
from fabric.errors import FabricError
from fabric.studies.plan import load_study

CORNERS = np.array([[1.0, 4.0], [2.0, 2.0], [4.0, 1.0], [4.0, 4.0], [5.0, 5.0]])


def test_the_covered_area_is_that_of_its_steps() -> None:
    worst = np.array([5.0, 5.0])
    assert area(CORNERS, worst) == 1 * (5 - 4) + 2 * (5 - 2) + 1 * (5 - 1)  # from x = 1, 2 and 4 to the next
    assert area(np.array([[5.0, 1.0]]), worst) == 0
    assert front(CORNERS).tolist() == [[1, 4], [2, 2], [4, 1]]


def test_a_search_is_as_good_as_a_grid_that_has_its_points() -> None:
    grid = Grid(CORNERS, 5, 10)
    same = grid.compare({number: (it[0], it[1]) for number, it in enumerate(CORNERS.tolist())}, 5, 10)
    assert (same.covered_ratio, same.lag_ratio) == (1, 0)
    better = grid.compare({0: (0.5, 0.5)}, 1, 2)
    assert better.covered_ratio > 1
    assert better.lag_ratio < 0
    one = grid.compare({0: (2.0, 2.0)}, 1, 2)
    assert one.covered_ratio == pytest.approx(9 / 11)
    assert one.lag_ratio == pytest.approx(1 / 4)  # 1 of a range of 4 behind both ends of the front


def test_random_parts_of_a_grid_cover_no_more_than_the_grid() -> None:
    drawn = Grid(CORNERS, 5, 10).draws(2, covered_ratio=2.0)
    assert drawn.beaten == drawn.draws
    assert drawn.mean_ratio < drawn.best_ratio <= 1
    assert Grid(CORNERS, 5, 10).draws(5, covered_ratio=1.0).mean_ratio == 1


def interval(mean: float) -> dict[str, Any]:
    return {"mean": mean, "low": mean - 1, "high": mean + 1, "count": 3}


def point(number: int, first: float, second: float) -> dict[str, Any]:
    values = {"step.mean_ns": interval(first), "queue.peak_bytes": interval(second)}
    names = {"balance": "spray", "kmin": f"{number}KB", "ratio": "2"}
    return {"point": number, "parameters": names, "feasible": True, "objectives": values}


def test_the_page_names_knobs_front_chosen_point_costs_and_patch() -> None:
    plan = load_study(Path("tune-job"), search=True)
    front_points = [point(number, 10.0 + number, 90.0 - number) for number in range(12)]
    figures = {
        "trials": 30,
        "front": [*front_points, {**front_points[0], "point": 77}],
        "chosen": front_points[3],
        "baseline": point(99, 50, 500),
        "importances": {"step.mean_ns": {"balance": 0.75}, "queue.peak_bytes": {"balance": 0.5}},
        "workloads": [
            {"workload": where, "measure": "step.mean_ns", "baseline": interval(50), "difference": interval(change)}
            for where, change in (("two-jobs", -37.0), ("permutation", 0.5))
        ],
        "patches": [{"language": "eos", "lines": ["line of eos"], "missing": ["switches.load_balancing"]}],
    }
    search: Any = SimpleNamespace(plan=plan, result=SimpleNamespace(figures=figures), runs=40, runs_s=12.0)
    grid: Any = SimpleNamespace(
        grid=Grid(CORNERS, 5, 10), searches={1: Compared(5, 10, 1.034, 0.01)}, seeds=2,
        drawn=Grid(CORNERS, 5, 10).draws(2, 1.034),
    )  # fmt: skip
    machine = {"cpu": "a processor", "cores": 2, "load_average": [0.5], "date": "2026-01-01"}
    text = page.page([search], grid, machine)
    assert (
        "| balance | `switches.load_balancing` | ecmp, flowlet, spray, adaptive | spray | spray | 75% | 50% |" in text
    )
    assert text.count("**chosen**") == 1
    assert "| spray | 99KB | 2 | 50ns ± 1ns | 500B ± 1B | baseline |" in text
    assert text.count("\n| spray | ") == page.MOST_ROWS + 1
    assert "| permutation (elsewhere) | step.mean |" in text
    assert "+1.0%, not told apart |" in text
    assert "| two-jobs | step.mean | 50ns | -37ns | -38ns to -36ns | -74.0% |" in text
    assert "line of eos" in text
    assert "No line for `switches.load_balancing`: eos." in text
    assert "| the search | 5 | 10 | 103.4% | 1.0% |" in text
    assert max(len(line) for line in text.splitlines() if not line.startswith(("|", "[", "!"))) <= 120


def test_a_drawing_of_a_report_is_a_file_with_its_namespace() -> None:
    part = '<svg viewBox="0 0 1 1" id="surface-surface-svg"><path/></svg>'
    found = of_report(f"<p><svg id='other'></svg><figure>{part}</figure>", "surface")
    assert found.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert found.endswith("<path/></svg>")
    with pytest.raises(FabricError, match="no drawing 'front'"):
        of_report(part, "front")
