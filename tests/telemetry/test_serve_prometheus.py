"""A real Prometheus scrapes `fabric serve`: values from PromQL equal the results of the run."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import numpy as np
import pyarrow.compute as pc
import pytest

from fabric.runs.rundir import RunDir
from telemetry.catalogue.metrics import CATALOGUE
from telemetry.catalogue.spec import Kind
from tests.forked import fabric
from tests.telemetry.programs import get, prometheus, wait_for

pytestmark = pytest.mark.slow
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
global: {{scrape_interval: 250ms, scrape_timeout: 250ms}}
scrape_configs: [{{job_name: fabric, static_configs: [{{targets: ['{target}']}}]}}]
"""


@contextmanager
def scraped(folder: Path, duration: str, *options: str) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    """(URL of Prometheus, of the served run, its process)."""
    path = folder / "steady.yml"
    path.write_text(SCENARIO.replace("DURATION", duration), encoding="utf-8")
    words = ("serve", path, "--listen", "127.0.0.1:0", "--json", "--quiet", *options)
    process = fabric(*words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"].removesuffix("/metrics")
        wait_for(lambda: get(f"{url}/-/ready"), "the run to begin", 120)
        with prometheus(folder / "prometheus", CONFIG.format(target=url.removeprefix("http://"))) as prometheus_url:
            yield prometheus_url, url, process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def query(url: str, expr: str, at_s: float | None = None) -> list[dict[str, Any]]:
    asked = {"query": expr} | ({} if at_s is None else {"time": f"{at_s:.3f}"})
    return list(get(f"{url}/api/v1/query?{urlencode(asked)}")["data"]["result"])


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
    with scraped(tmp_path, "8ms", "--out", str(out)) as (url, _, process):
        wait_for(lambda: query(url, "fabric_sim_elapsed_seconds_total == 0.008"), "the end of the run", 120)
        time.sleep(0.6)  # one more scrape of the end
        port = '{device="host3",port="eth0"}'
        times, sim_s, sent, paused = zip(
            *samples(
                url,
                time.time(),
                "fabric_sim_elapsed_seconds_total",
                f"fabric_port_transmit_bytes_total{port}",
                'fabric_pfc_receive_paused_seconds_total{device="host3",port="eth0",priority="3"}',
            ),
            strict=True,
        )
        middle = next(number for number, value in enumerate(sim_s) if value > 0.006)
        window_s = 3
        ratio = query(
            url,
            f"rate(fabric_port_transmit_bytes_total{port}[{window_s}s])"
            f" / on () group_left () rate(fabric_sim_elapsed_seconds_total[{window_s}s])",
            times[middle] + 0.01,
        )
        process.terminate()
        assert process.wait(timeout=60) == 0
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
    first = next(number for number, at in enumerate(times) if at > times[middle] + 0.01 - window_s)
    expected = (sent[middle] - sent[first]) / (sim_s[middle] - sim_s[first])
    assert float(ratio[0]["value"][1]) == pytest.approx(expected, rel=1e-3)
    assert 0.2 * 12.5e9 < expected < 12.5e9  # below 100G, and more than nothing


def test_a_looped_run_has_no_resets_and_its_rates_are_those_of_one_pass(tmp_path: Path) -> None:
    with scraped(tmp_path, "500us", "--loop", "--dilation", "1500") as (url, _, process):
        wait_for(lambda: query(url, "fabric_sim_passes_total >= 8"), "eight passes", 120)
        found = query(url, 'group by (__name__) ({__name__=~"fabric_.+_(total|bucket|count|sum)"})')
        growing = {spec.name for spec in CATALOGUE if spec.kind is Kind.COUNTER} | {
            f"{spec.family}_{part}"
            for spec in CATALOGUE
            if spec.kind is Kind.HISTOGRAM
            for part in ("bucket", "count", "sum")
        }
        names = growing & {it["metric"]["__name__"] for it in found}
        assert len(names) > 30
        assert {name: query(url, f"sum(resets({name}[10m]))")[0]["value"][1] for name in names} == dict.fromkeys(
            names, "0"
        )
        sim = query(url, "fabric_sim_time_seconds")[0]["value"][1]
        assert float(sim) <= 0.0005  # a gauge shows the present pass
        per_pass = query(
            url,
            'fabric_port_receive_bytes_total{device="host1"} / on () group_left () fabric_sim_elapsed_seconds_total',
        )
        rate = query(
            url,
            'rate(fabric_port_receive_bytes_total{device="host1"}[5s]) / on () group_left () '
            "rate(fabric_sim_elapsed_seconds_total[5s])",
        )
        assert float(rate[0]["value"][1]) == pytest.approx(float(per_pass[0]["value"][1]), rel=0.2)
        speed = query(url, "avg_over_time(fabric_sim_realtime_ratio[5s]) * fabric_sim_dilation_ratio")
        assert 0.3 < float(speed[0]["value"][1]) < 1.2  # what is held of the pace, on a machine with other work
        process.terminate()
        assert process.wait(timeout=60) == 0
