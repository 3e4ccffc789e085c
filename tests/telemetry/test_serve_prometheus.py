"""A real Prometheus scrapes `fabric serve`: values from PromQL equal the results of the run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.compute as pc
import pytest

from fabric.runs.rundir import RunDir
from telemetry.catalogue.metrics import CATALOGUE
from telemetry.catalogue.spec import Kind
from tests.telemetry.programs import PATIENCE_S, prometheus, query, wait_for
from tests.telemetry.watched import served

pytestmark = [pytest.mark.slow, pytest.mark.timed]
SCENARIO: Final = """\
name: steady
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3}
transport: {cc: none}
workload:
  - kind: messages
    messages:
      - {id: a, src: host3, dst: host1, size: 400MB}
      - {id: b, src: host4, dst: host1, size: 400MB}
telemetry: {interval: 50us}
run: {duration: DURATION, seed: 3, stop: duration}
"""
CONFIG: Final = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs: [{{job_name: fabric, static_configs: [{{targets: ['{target}']}}]}}]
"""
ELAPSED: Final = "fabric_sim_elapsed_seconds_total"


@contextmanager
def scraped(folder: Path, duration: str, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """(URL of a Prometheus that scrapes a served run, process of the run)."""
    path = folder / "steady.yml"
    path.write_text(SCENARIO.replace("DURATION", duration), encoding="utf-8")
    with (
        served(path, *options) as (target, process),
        prometheus(folder / "prometheus", CONFIG.format(target=target)) as url,
    ):
        yield url, process


def scrape_where(url: str, metric: str, condition: str) -> float:
    """Time of the second scrape with such a value: what is asked for this time does not depend on later scrapes."""

    def later(than_s: float) -> float:
        rows = query(url, f"timestamp({metric}) > {than_s:.3f} and {metric} {condition}")
        return max((float(it["value"][1]) for it in rows), default=0.0)

    first_s = wait_for(lambda: later(0), f"{metric} {condition}", 4 * PATIENCE_S)
    return float(wait_for(lambda: later(first_s), f"{metric} {condition}, again", 4 * PATIENCE_S))


def samples(url: str, at_s: float, *selectors: str) -> list[tuple[float, ...]]:
    """(time of the scrape, value of each series), scrape after scrape until at_s."""
    found = [
        {float(when): float(value) for when, value in query(url, f"{selector}[10m]", at_s)[0]["values"]}
        for selector in selectors
    ]
    return [(when, *(values[when] for values in found)) for when in sorted(found[0])]


def recorded(run: RunDir, name: str, device: str, port: str) -> tuple[np.ndarray, np.ndarray]:
    """(seconds, values) of one observable; a value holds until the next row."""
    table = run.timeseries([name])
    table = table.filter(pc.and_(pc.equal(table["device"], device), pc.equal(table["port"], port)))
    return table["time_ns"].to_numpy() / 1e9, table["value"].to_numpy()


def test_a_rate_per_simulated_second_is_the_rate_of_the_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with scraped(tmp_path, "8ms", "--out", str(out), "--dilation", "2000") as (url, process):
        port = '{device="host3",port="eth0"}'
        times, sim_s, sent, paused = zip(
            *samples(
                url,
                scrape_where(url, ELAPSED, "== 0.008"),
                ELAPSED,
                f"fabric_port_transmit_bytes_total{port}",
                'fabric_pfc_receive_paused_seconds_total{device="host3",port="eth0",priority="3"}',
            ),
            strict=True,
        )
        first, *_, last = (number for number, value in enumerate(sim_s) if 0.001 < value < 0.008)
        window_ms = round((times[last] - times[first]) * 1000) + 20
        ratio = query(
            url,
            f"rate(fabric_port_transmit_bytes_total{port}[{window_ms}ms])"
            f" / on () group_left () rate({ELAPSED}[{window_ms}ms])",
            times[last] + 0.01,
        )
        process.terminate()
        assert process.wait(timeout=PATIENCE_S) == 0
    run = RunDir.open(out)
    moments, totals = recorded(run, "tx_bytes", "host3", "eth0")
    # Every scrape shows a moment of the run between two of its samples, so what was sent is between theirs.
    for at_s, value in zip(sim_s, sent, strict=True):
        before, after = np.searchsorted(moments, [at_s + 1e-12, at_s - 1e-12])
        assert (totals[before - 1] if before else 0) <= value <= totals[min(after, len(totals) - 1)], at_s
    assert sent[-1] == totals[-1]
    counted = run.counters(["pfc_rx_paused_ns"])
    mine = counted.filter(pc.equal(counted["device"], "host3"))
    assert paused[-1] == pytest.approx(sum(mine["value"].to_pylist()) / 1e9)
    # Extrapolation to the window's ends is the same for both counters, so it divides out.
    expected = (sent[last] - sent[first]) / (sim_s[last] - sim_s[first])
    assert float(ratio[0]["value"][1]) == pytest.approx(expected, rel=1e-3)
    assert 0.2 * 12.5e9 < expected < 12.5e9  # below 100G, and more than nothing


def test_a_looped_run_has_no_resets_and_its_rates_are_those_of_one_pass(tmp_path: Path) -> None:
    with scraped(tmp_path, "500us", "--loop", "--dilation", "1500") as (url, process):
        at_s = scrape_where(url, "fabric_sim_passes_total", ">= 8")
        found = query(url, 'group by (__name__) ({__name__=~"fabric_.+_(total|bucket|count|sum)"})', at_s)
        growing = {spec.name for spec in CATALOGUE if spec.kind is Kind.COUNTER} | {
            f"{spec.family}_{part}"
            for spec in CATALOGUE
            if spec.kind is Kind.HISTOGRAM
            for part in ("bucket", "count", "sum")
        }
        names = growing & {it["metric"]["__name__"] for it in found}
        assert len(names) > 30
        resets = {name: query(url, f"sum(resets({name}[10m]))", at_s)[0]["value"][1] for name in names}
        assert resets == dict.fromkeys(names, "0")
        sim = query(url, "fabric_sim_time_seconds", at_s)[0]["value"][1]
        assert float(sim) <= 0.0005  # a gauge shows the present pass
        received = 'fabric_port_receive_bytes_total{device="host1"}'
        per_pass = query(url, f"{received} / on () group_left () {ELAPSED}", at_s)
        rate = query(url, f"rate({received}[10m]) / on () group_left () rate({ELAPSED}[10m])", at_s)
        assert float(rate[0]["value"][1]) == pytest.approx(float(per_pass[0]["value"][1]), rel=0.2)
        process.terminate()
        assert process.wait(timeout=PATIENCE_S) == 0
