"""`fabric report --as-seen-by`: the truth beside what monitoring would have shown, in every rendering."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.runs import simulate
from fabric.runs.replay import snapshots
from fabric.runs.rundir import RunDir
from fabric.runs.simulate import Options
from fabric.scenario.load import load_scenario
from telemetry.record.polling.compare import compare
from telemetry.record.polling.poller import Poller
from telemetry.record.polling.profiles import PROFILES
from telemetry.sources.recorded import store_of

INCAST = Path(__file__).resolve().parents[2] / "scenarios" / "incast.yml"
Report = Callable[..., dict[str, list[dict[str, float]]]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "incast"
    compiled, plan = simulate.prepare(load_scenario(INCAST))
    simulate.simulate(compiled, plan, Options(out))
    return out


@pytest.fixture
def report(run: Path, capsys: pytest.CaptureFixture[str]) -> Report:
    def tables(*options: str) -> dict[str, list[dict[str, float]]]:
        main(["report", str(run), "--json", *options])
        found = json.loads(capsys.readouterr().out)
        return {name: block for name, block in found["as_seen_by"].items() if isinstance(block, list)}

    return tables


def test_real_periods_miss_an_incast_of_a_millisecond(report: Report) -> None:
    found = report("--as-seen-by", "sonic")
    queue = found["as_seen_by_queues"][0]
    assert queue["polled_bytes"] == 0
    assert queue["watermark_bytes"] == queue["truth_bytes"] > 8e6
    assert queue["watermark_ns"] > 1e9
    rate = found["as_seen_by_rates"][0]
    assert rate["truth_ratio"] > 0.9
    assert rate["seen_ratio"] < 0.01


def test_a_dilated_clock_sees_it(report: Report) -> None:
    rate = report("--as-seen-by", "hft", "--dilation", "1000")["as_seen_by_rates"][0]
    assert rate["seen_ratio"] == pytest.approx(rate["truth_ratio"], rel=0.01)


def test_a_microburst_is_nowhere_to_be_seen_but_in_a_late_watermark(tmp_path: Path) -> None:
    compiled, plan = simulate.prepare(load_scenario(INCAST.with_name("microburst.yml")))
    simulate.simulate(compiled, plan, Options(tmp_path / "run"))
    found = RunDir.open(tmp_path / "run")
    real, fast = (
        compare(snapshots(found), Poller(PROFILES[name], found.fabric, dilation, 1))
        for name, dilation in (("sonic", 1), ("hft", 1000))
    )
    assert real.queues[0].truth == fast.queues[0].truth > 100_000
    assert real.queues[0].read == 0 < fast.queues[0].read
    assert (real.queues[0].seen_ns or 0) > 10**9
    assert min(real.ports[0].truth, fast.ports[0].seen) > 0.9
    assert real.ports[0].seen < 0.01


def test_counters_are_all_there_in_the_end(report: Report) -> None:
    for row in report("--as-seen-by", "sonic")["as_seen_by_totals"]:
        assert row["during"] <= row["truth"] == row["after"]


def test_page_and_text_have_the_section(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", str(run), "--as-seen-by", "sonic", "-o", str(tmp_path / "page.html")])
    main(["report", str(run), "--as-seen-by", "sonic", "--text"])
    for text in ((tmp_path / "page.html").read_text(encoding="utf-8"), capsys.readouterr().out):
        assert "As seen by sonic" in text
        assert "Deepest queues" in text


def test_a_dilation_needs_an_exporter(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run), "--dilation", "10"]) != 0
    assert "--as-seen-by" in capsys.readouterr().err


def test_a_store_of_what_was_seen_has_its_metrics_only(run: Path) -> None:
    found = RunDir.open(run)
    store = store_of(found, poller=Poller(PROFILES["sonic"], found.fabric))
    assert set(store.metrics) <= set(PROFILES["sonic"].metrics)
    assert store.times_ns[-1] > 10**10
