"""One run in two ways: scraped by a Prometheus while it ran live, and backfilled into another from its directory.
Both say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from fabric.cli.main import main
from telemetry.catalogue.metrics import CATALOGUE, UNRECORDED
from telemetry.catalogue.spec import Kind
from tests.telemetry.programs import PATIENCE_S, program, prometheus, query, run_tool
from tests.telemetry.test_serve_prometheus import ELAPSED, scrape_where, scraped

pytestmark = [pytest.mark.slow, pytest.mark.timed]
START: Final = "2026-01-31T12:00:00Z"
START_S: Final = 1769860800
SCALE: Final = 1000
END_NS: Final = 3_000_000
COUNTED: Final = {spec.name for spec in CATALOGUE if spec.kind is Kind.COUNTER and spec.source not in UNRECORDED} | {
    f"{spec.family}_{part}" for spec in CATALOGUE if spec.kind is Kind.HISTOGRAM for part in ("bucket", "count", "sum")
}

Totals = dict[tuple[tuple[str, str], ...], float]


def totals(rows: list[dict[str, Any]]) -> Totals:
    """Every counter and every part of a histogram, without what the target adds."""
    return {
        tuple(sorted((name, value) for name, value in it["metric"].items() if name not in {"job", "instance"})): float(
            it["value"][1]
        )
        for it in rows
        if it["metric"]["__name__"] in COUNTED
    }


def test_final_counters_scraped_live_equal_those_backfilled(tmp_path: Path) -> None:
    out, everything = tmp_path / "out", '{__name__=~"fabric_.+"}'
    with scraped(tmp_path, "3ms", "--out", str(out), "--dilation", str(SCALE)) as (url, process):
        live = totals(query(url, everything, scrape_where(url, ELAPSED, f"== {END_NS / 1e9}")))
        process.terminate()
        assert process.wait(timeout=PATIENCE_S) == 0
    file, data = tmp_path / "run.om", tmp_path / "data"
    assert (
        main(["export", "openmetrics", str(out), "--out", str(file), "--start", START, "--time-scale", str(SCALE)]) == 0
    )
    run_tool(program("promtool"), "tsdb", "create-blocks-from", "openmetrics", str(file), str(data))
    with prometheus(
        tmp_path / "second", "global: {}\n", f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=100y"
    ) as url:
        backfilled = totals(query(url, everything, START_S + END_NS * SCALE / 1e9))
        dilation = query(url, "fabric_sim_dilation_ratio", START_S + 1)
    assert len({dict(key)["__name__"] for key in live}) > 40
    assert set(live) == set(backfilled)
    close = {key: pytest.approx(value, rel=1e-12, abs=1e-9) for key, value in backfilled.items()}  # a run has whole ns
    assert {key: value for key, value in live.items() if value != close[key]} == {}
    assert dilation[0]["value"][1] == str(SCALE)
