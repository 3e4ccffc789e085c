"""Trends of link classes: lines of known growth, intervals that hold, and histories that say too little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fabric.cli.main import main
from fabric.render.html import to_html
from telemetry.capacity.history import DAY_S, History, Reading, histories
from telemetry.capacity.prometheus_api import Source, query
from telemetry.capacity.trend import (
    HORIZON,
    LEAST_POINTS,
    MONTH_S,
    Crossing,
    Trend,
    effective_number,
    trend,
    weekday_spread,
)
from telemetry.sources.capacity_page import compose, examine
from tests.telemetry.programs import program, prometheus, run_tool

START_S = 1_767_225_600  # 2026-01-01
WEEK_S = 7 * DAY_S


def history(values: NDArray[np.float64], step_s: float = DAY_S) -> History:
    times = START_S + step_s * np.arange(len(values), dtype=np.float64)
    return History("leaf to spine", times, values, values / 2, 4, "leaf1:Ethernet8")


def line_of(values: NDArray[np.float64], step_s: float = DAY_S) -> Trend:
    found = trend(history(values, step_s))
    assert found is not None
    return found


def held(line: Trend, limit: float) -> NDArray[np.float64]:
    """Times after the history at which the band holds a limit, found by looking at every hour."""
    grid = np.arange(line.times_s[-1], line.horizon_s, 3600.0)
    return np.asarray(grid[np.abs(line.line(grid) - limit) <= line.half_width(grid)])


def test_a_line_without_noise_reaches_its_limits_on_exact_days() -> None:
    line = line_of(0.2 + 0.01 * np.arange(30.0))
    assert line.per_month == pytest.approx(0.01 * MONTH_S / DAY_S)
    found = line.reaches(0.7)
    assert found.time_s == pytest.approx(START_S + 50 * DAY_S)
    assert found.earliest_s == pytest.approx(found.time_s, abs=600)
    assert found.latest_s == pytest.approx(found.time_s, abs=600)
    assert not found.reached
    assert line.reaches(0.48).reached
    assert not line.reaches(0.4901).reached


def test_a_flat_line_never_reaches_a_limit() -> None:
    assert line_of(np.full(20, 0.3)).reaches(0.7) == Crossing(0.7, None, None, None, reached=False)


def test_links_without_traffic_grow_by_nothing_and_not_by_nan() -> None:
    line = line_of(np.zeros(30))
    assert (line.per_month, line.low_per_month, line.high_per_month) == (0.0, 0.0, 0.0)
    assert line.half_width(line.times_s).tolist() == [0.0] * len(line.times_s)


def test_a_falling_line_never_reaches_a_limit() -> None:
    rng = np.random.default_rng(1)
    found = line_of(0.6 - 0.01 * np.arange(30) + rng.normal(0, 0.005, 30)).reaches(0.7)
    assert (found.time_s, found.earliest_s, found.latest_s) == (None, None, None)


def test_no_date_is_told_beyond_the_horizon() -> None:
    n = 31
    last = START_S + (n - 1) * DAY_S
    for slope, told in ((0.4 / (30 + 30 * HORIZON - 1), True), (0.4 / (30 + 30 * HORIZON + 1), False)):
        found = line_of(0.3 + slope * np.arange(float(n))).reaches(0.7)
        assert (found.time_s is not None) is told
        assert found.time_s is None or found.time_s <= last + HORIZON * 30 * DAY_S


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("slope", [0.0, 0.002, 0.01])
def test_the_interval_of_a_date_is_where_the_band_holds_the_limit(seed: int, slope: float) -> None:
    rng = np.random.default_rng(seed)
    line = line_of(0.3 + slope * np.arange(30) + rng.normal(0, 0.05, 30))
    found, times = line.reaches(0.7), held(line, 0.7)
    assert (found.earliest_s is None) is (len(times) == 0)
    if len(times):
        assert found.earliest_s == pytest.approx(times[0], abs=3601)
        assert (found.latest_s is None) is bool(times[-1] > line.horizon_s - 3601)
        if found.latest_s is not None:
            assert found.latest_s == pytest.approx(times[-1], abs=3601)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_nineteen_of_twenty_intervals_hold_the_true_growth(correlation: float) -> None:
    rng, right, n = np.random.default_rng(7), 0, 400
    for _ in range(n):
        noise = rng.normal(0, 0.03, 40)
        for row in range(1, 40):
            noise[row] += correlation * noise[row - 1]
        line = line_of(0.2 + 0.003 * np.arange(40) + noise, 3 * DAY_S)  # no daily values: no weeks
        right += line.low_per_month <= 0.001 * MONTH_S / DAY_S <= line.high_per_month
    # Without rule 2 the second share is near 0.68.
    assert right / n >= (0.92 if correlation == 0 else 0.85)


def test_a_history_that_is_too_short_has_no_trend() -> None:
    assert trend(history(0.1 * np.arange(float(LEAST_POINTS - 1)), WEEK_S)) is None
    assert trend(history(0.1 * np.arange(float(LEAST_POINTS)), WEEK_S)) is not None


def test_a_weekday_pattern_is_no_growth() -> None:
    days = np.arange(6 * 7)
    pattern = np.where(days % 7 < 5, 0.5, 0.1)
    line = line_of(pattern)
    assert line.weekly
    assert line.points == 6
    assert line.per_month == pytest.approx(0, abs=1e-9)
    assert not line_of(pattern[:-7]).weekly
    spread = weekday_spread(history(pattern))
    assert spread == pytest.approx(0.4, abs=0.02)
    assert weekday_spread(history(pattern[:13])) is None


def test_correlated_residuals_count_for_less() -> None:
    assert effective_number(np.array([1.0, -1.0] * 10)) == 20
    assert effective_number(np.repeat([1.0, -1.0], 10)) == 3
    assert effective_number(np.zeros(9)) == 9


def test_a_class_has_the_value_of_its_busiest_port() -> None:
    found = histories(
        [Reading(1, "a", "x", 0.2), Reading(1, "a", "y", 0.4), Reading(2, "a", "x", 0.9), Reading(1, "b", "z", 0.1)]
    )
    assert [it.link_class for it in found] == ["a", "b"]
    assert found[0].busiest_ratio.tolist() == [0.4, 0.9]
    assert found[0].mean_ratio.tolist() == [pytest.approx(0.3), 0.9]
    assert (found[0].ports, found[0].busiest_port) == (2, "x")


def test_the_report_says_which_histories_are_too_short_and_when_to_order() -> None:
    short = History("host to leaf", np.arange(3.0) * WEEK_S, np.full(3, 0.5), np.full(3, 0.5), 1, "host1:eth0")
    growing = history(0.3 + 0.02 * np.arange(12.0), WEEK_S)
    found = examine([short, growing], [0.7, 0.8], mean=False)
    document = compose("test", found, [0.7, 0.8], 100 * DAY_S, mean=False, pictures=True)
    page = to_html(document)
    assert "leaf to spine reaches 80% of the line rate first, about 2026-06-25. Order now for leaf to spine." in page
    assert "too little history: 3 values, and 6 are needed" in page
    assert page.count('role="img"') >= 2
    later = compose("test", examine([growing], [0.8], mean=False), [0.8], DAY_S, mean=False, pictures=False)
    assert "Order" not in later.verdict


def test_options_that_do_nothing_or_are_wrong_are_named_together(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["capacity", "--run", "x", "--start", "2026", "--limits", "70,120", "--lead-time", "soon"]
    assert main(words) == 2
    told = capsys.readouterr().err
    for text in ("--limits", "--lead-time", "is not DATE=DIR", "--start: has no effect without --prometheus"):
        assert text in told
    assert main(["capacity", "--prometheus", "http://127.0.0.1:9"]) == 2
    assert "cannot be reached" in capsys.readouterr().err


def test_the_query_multiplies_by_the_dilation_only_where_it_is_known() -> None:
    assert "dilation" in query(Source("http://x", 'job="fabric"'), dilated=True)
    assert "dilation" not in query(Source("http://x"), dilated=False)


@pytest.mark.slow
def test_a_prometheus_filled_by_export_and_the_runs_themselves_give_the_true_growth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two hosts of a leaf send at their line rate, which rises by 2G a week: 4 % of their leaf's one uplink of 100G."""
    spec: dict[str, Any] = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "fabric_rate": "100G"}
    data, words = tmp_path / "data", []
    for week in range(7):
        scenario = {
            "name": "load",
            "topology": {**spec, "host_rate": f"{10 + 2 * week}G"},
            "workload": [{"kind": "permutation", "size": "2MB", "shift": 2}],
            "telemetry": {"interval": "20us", "events": []},
            "run": {"duration": "400us", "stop": "duration"},
        }
        file, out = tmp_path / "load.yml", tmp_path / f"run{week}"
        file.write_text(json.dumps(scenario), encoding="utf-8")
        assert main(["run", str(file), "--out", str(out), "--quiet", "--json"]) == 0
        day = f"2026-{1 + (5 + 7 * week) // 31:02d}-{(5 + 7 * week) % 31 or 31:02d}"
        om = tmp_path / "run.om"
        begin = ["--start", f"{day}T09:00:00Z", "--time-scale", "9000000", "--label", "instance=dc1"]
        assert main(["export", "openmetrics", str(out), "--out", str(om), *begin]) == 0
        run_tool(program("promtool"), "tsdb", "create-blocks-from", "openmetrics", str(om), str(data))
        words += ["--run", f"{day}={out}"]
    capsys.readouterr()
    arguments = [f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=100y"]
    with prometheus(tmp_path / "server", "global: {}\n", *arguments) as url:
        asked = ["--prometheus", url, "--start", "2026-01-01T00:00:00Z", "--end", "2026-03-01T00:00:00Z"]
        assert main(["capacity", *asked, "--sample", "10min", "--json"]) == 0
    served = json.loads(capsys.readouterr().out)
    assert main(["capacity", *words, "--json"]) == 0
    recorded = json.loads(capsys.readouterr().out)
    for found in (served, recorded):
        rows = {row["link_class"]: row for row in found["classes"]["classes"]}
        assert set(rows) == {"host to leaf", "leaf to host", "leaf to spine", "spine to leaf"}
        assert rows["leaf to spine"]["growth_per_month_ratio"] == pytest.approx(0.04 * MONTH_S / WEEK_S, rel=0.08)
        assert rows["leaf to spine"]["last_ratio"] == pytest.approx(0.44, rel=0.08)
        date = next(
            it for it in found["dates"]["dates"] if it["link_class"] == "leaf to spine" and it["limit_ratio"] == 0.8
        )
        assert "2026-03-25" <= date["date"] <= "2026-05-15"
