"""A run as an OpenMetrics file: what is in it, where it lies on the wall, and that a real Prometheus takes it."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from fabric.cli.main import main
from fabric.errors import FabricError
from fabric.runs.rundir import RunDir
from telemetry.catalogue.metrics import BY_NAME, CATALOGUE
from telemetry.export.clock import WallClock, latest_safe_start_ms, scraped
from telemetry.export.openmetrics import Recording, write_openmetrics
from telemetry.record.store import Store
from telemetry.sources.recorded import store_of
from tests.telemetry.programs import get, program, prometheus, run_tool

Capture = pytest.CaptureFixture[str]
START = "2026-01-31T12:00:00Z"
START_S = 1769860800


@pytest.fixture(scope="module")
def run(stormy_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run, in a folder that the tests may write beside it."""
    return Path(shutil.copytree(stormy_run, tmp_path_factory.mktemp("export") / "storm"))


@pytest.fixture(scope="module")
def store(run: Path) -> Store:
    return store_of(RunDir.open(run))


@pytest.fixture(scope="module")
def exported(run: Path) -> Path:
    """All of it, at the scale of the committed rules."""
    out = run.parent / "storm.om"
    assert main(["export", "openmetrics", str(run), "--out", str(out), "--start", START]) == 0
    return out


def families(path: Path) -> Iterator[Metric]:
    """Without histograms: prometheus_client drops all but the first sample of a histogram with several timestamps."""
    kept = []
    for line in path.read_text().splitlines():
        if line.startswith("# HELP"):
            histogram = BY_NAME.get(line.split()[2])
        if histogram is None or not histogram.is_histogram:
            kept.append(line)
    return text_string_to_metric_families("\n".join(kept) + "\n")


def test_a_strict_parser_takes_every_family_and_finds_its_type(run: Path) -> None:
    out = run.parent / "strict.om"
    assert (
        main(["export", "openmetrics", str(run), "--out", str(out), "--start", START, "--scrape-interval", "5s"]) == 0
    )
    found = {it.name: it for it in families(out)}
    assert len(found) > 60
    kinds = {spec.family: spec.kind.value for spec in CATALOGUE}
    assert {name: it.type for name, it in found.items()} == {name: kinds[name] for name in found}


def test_every_sample_of_every_series_is_in_the_file(exported: Path, store: Store) -> None:
    lines = exported.read_text().splitlines()
    assert lines[-1] == "# EOF"
    written = sum(not line.startswith("#") for line in lines)
    dilation = len(store.times_ns)
    assert written == dilation + sum(len(series[0]) for name in store.metrics for series in store.series(name).values())


def test_a_histogram_s_parts_stand_together_and_in_order(exported: Path) -> None:
    mine = [
        line.split("{")[0].split(" ")[0].rpartition("_")[2]
        for line in exported.read_text().splitlines()
        if line.startswith("fabric_flow_completion_seconds")
    ]
    bounds = len(BY_NAME["fabric_flow_completion_seconds"].buckets) + 1
    block = ["bucket"] * bounds + ["count", "sum"]
    assert mine == block * (len(mine) // len(block))


def test_the_file_and_the_command_say_the_time_scale(exported: Path, run: Path, capsys: Capture) -> None:
    text = exported.read_text()
    assert "15000 in this file, whose simulated time begins at 2026-01-31T12:00:00+00:00." in text
    assert f'fabric_sim_dilation_ratio{{instance="pause-storm",job="fabric"}} 15000.0 {START_S}.000' in text
    capsys.readouterr()
    assert (
        main(
            [
                "export",
                "openmetrics",
                str(run),
                "--out",
                str(exported.with_name("other.om")),
                "--start",
                START,
                "--time-scale",
                "1000",
            ]
        )
        == 0
    )
    assert "time scale 1000 (1 ms of simulated time takes 1s), from 2026-01-31T12:00:00.000Z" in capsys.readouterr().out


def test_a_scrape_interval_keeps_what_a_scraper_would_have_had(run: Path, store: Store, capsys: Capture) -> None:
    out = run.parent / "scraped.om"
    capsys.readouterr()
    assert (
        main(
            [
                "export",
                "openmetrics",
                str(run),
                "--out",
                str(out),
                "--start",
                START,
                "--scrape-interval",
                "15s",
                "--label",
                "instance=leaf-spine",
                "--json",
            ]
        )
        == 0
    )
    summary = json.loads(capsys.readouterr().out)
    assert summary["end"] == "2026-01-31T12:01:15.000Z"
    assert summary["labels"] == {"job": "fabric", "instance": "leaf-spine"}
    found = next(it for it in families(out) if it.name == "fabric_port_receive_bytes")
    mine = [it for it in found.samples if (it.labels["device"], it.labels["port"]) == ("leaf1", "Ethernet0")]
    truth = dict(
        zip(
            *(
                it.tolist()
                for it in next(
                    iter(store.series("fabric_port_receive_bytes_total", device="leaf1", port="Ethernet0").values())
                )
            ),
            strict=True,
        )
    )
    assert [(float(it.timestamp) - START_S, it.value) for it in mine] == [
        (15.0 * ms, truth[ms * 1_000_000]) for ms in range(6)
    ]


def test_an_exporter_s_view_has_a_name_of_its_own_and_less_in_it(run: Path, capsys: Capture) -> None:
    capsys.readouterr()
    summaries, out = [], str(run.parent / "seen.om")
    for exporter in ("ideal", "sonic"):
        assert (
            main(
                ["export", "openmetrics", str(run), "--out", out, "--start", START, "--json", "--as-seen-by", exporter]
            )
            == 0
        )
        summaries.append(json.loads(capsys.readouterr().out))
    ideal, sonic = summaries
    assert sonic["labels"]["instance"] == "pause-storm:sonic"
    assert sonic["series"] < ideal["series"]


def test_samples_on_one_millisecond_are_refused_with_a_scale_that_works(run: Path, capsys: Capture) -> None:
    args = ["export", "openmetrics", str(run), "--out", str(run.parent / "no.om"), "--start", START]
    assert main([*args, "--time-scale", "10"]) == 2
    assert "give --time-scale 20 or more" in capsys.readouterr().err
    assert not (run.parent / "no.om").exists()
    assert main([*args, "--time-scale", "20"]) == 0


def test_wrong_options_are_told_together(run: Path, capsys: Capture) -> None:
    assert (
        main(
            [
                "export",
                "openmetrics",
                str(run),
                "--time-scale",
                "-1",
                "--start",
                "noon",
                "--label",
                "1=2",
                "--scrape-interval",
                "1us",
                "--json",
            ]
        )
        == 2
    )
    text = capsys.readouterr().err
    for option in ("--time-scale", "--start", "--label", "--scrape-interval", "--json"):
        assert option in text
    assert main(["export", "openmetrics", str(run), "--start", "2026-01-31"]) == 2
    assert "write 2026-01-31T00:00:00Z" in capsys.readouterr().err


def test_the_file_is_there_only_when_it_is_whole(run: Path, capsys: Capture) -> None:
    out = run.parent / "there"
    out.mkdir()
    assert main(["export", "openmetrics", str(run), "--out", str(out)]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert not list(run.parent.glob("*.part"))


def test_events_lie_on_the_same_wall(run: Path) -> None:
    out = run.parent / "events.jsonl"
    assert main(["export", "events", str(run), "--out", str(out), "--start", START]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == RunDir.open(run).events().num_rows
    storm = next(it for it in lines if it["kind"] == "storm_detected")
    seconds = float(storm["time"].removesuffix("Z").split(":")[2]) + 60 * float(storm["time"].split(":")[1])
    assert seconds == pytest.approx(storm["sim_time_ns"] / 1e9 * 15_000, abs=1e-5)


def test_a_parquet_file_holds_the_same_store(run: Path, store: Store) -> None:
    out = run.parent / "metrics.parquet"
    assert main(["export", "parquet", str(run), "--out", str(out)]) == 0
    again = Store.read(out)
    assert again.metrics == store.metrics
    name = "fabric_pfc_receive_paused_seconds_total"
    assert {labels: value.tolist() for labels, (_, value) in again.series(name).items()} == {
        labels: value.tolist() for labels, (_, value) in store.series(name).items()
    }


def test_the_default_start_leaves_prometheus_its_last_three_hours() -> None:
    now_ms = 1_769_870_000_123
    for end_ns in (0, 1_000_000, 20_000_000_000):
        start_ms = latest_safe_start_ms(now_ms, end_ns, 15_000)
        end_ms = start_ms + end_ns * 15_000 // 1_000_000
        assert start_ms % 3_600_000 == 0
        assert 3 * 3_600_000 <= now_ms - end_ms < 4 * 3_600_000


def test_a_scrape_has_the_last_sample_before_it_and_the_end_is_kept() -> None:
    clock = WallClock(0, 1000)
    times_ns = np.array([0, 900_000, 1_100_000, 2_000_000, 2_700_000])
    assert scraped(times_ns, clock, 1000).tolist() == [0, 1, 3, 4]
    assert scraped(times_ns, clock, None).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(FabricError):
        scraped(np.array([0, 100]), clock, None)


def test_a_real_prometheus_gives_back_every_value(exported: Path, store: Store, tmp_path: Path) -> None:
    data = tmp_path / "data"
    run_tool(program("promtool"), "tsdb", "create-blocks-from", "openmetrics", str(exported), str(data))
    with prometheus(
        tmp_path / "prometheus", "global: {}\n", f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=100y"
    ) as url:
        at_s = START_S + int(store.times_ns[-1]) * 15_000 // 10**9
        n_compared = 0
        for metric in store.metrics:
            asked = urlencode({"query": f"{metric}[{at_s - START_S + 1}s]", "time": f"{at_s}"})
            found = {
                tuple(sorted(it["metric"].items())): it["values"]
                for it in get(f"{url}/api/v1/query?{asked}")["data"]["result"]
            }
            truth = store.series(metric)
            assert len(found) == len(truth), metric
            for labels, (time_ns, value) in truth.items():
                own = [pair for pair in labels if pair[1]]  # to Prometheus an empty label is none
                key = sorted([("__name__", metric), ("instance", "pause-storm"), ("job", "fabric"), *own])
                values = found[tuple(key)]
                assert [float(it) for _, it in values] == value.tolist(), (metric, labels)
                assert [round((when - START_S) * 1e9 / 15_000) for when, _ in values] == time_ns.tolist()
                n_compared += len(values)
    assert n_compared > 60_000


def test_writing_keeps_one_series_in_memory_and_not_the_file(store: Store, tmp_path: Path) -> None:
    clock = WallClock(START_S * 1000, 15_000)
    out = tmp_path / "streamed.om"
    recording = Recording(store, clock, scraped(store.times_ns, clock, None), {"job": "fabric"})
    with out.open("w", encoding="utf-8") as file:
        tracemalloc.start()
        try:
            write_openmetrics(recording, file)
            peak_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak_bytes < out.stat().st_size / 10
