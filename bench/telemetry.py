"""Cost of telemetry: a scrape of many series, and sampling during a run."""

from __future__ import annotations

import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, Final

from prometheus_client.registry import CollectorRegistry

from bench import cases
from bench.machine import median
from bench.simulate import emulator, warm_up
from fabric.dataplane.engine.driver import Emulator
from fabric.runs.series import Sampler as RunSampler
from fabric.units import PS_PER_S
from telemetry.catalogue.derive import RunInfo
from telemetry.export.collect import FabricCollector
from telemetry.export.server import serve
from telemetry.record.sampler import Sampler

_INFO: Final = RunInfo(version="0", run="bench", scenario="bench", model="asic", seed=1)
_AS_PROMETHEUS: Final = {
    "Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
    "Accept-Encoding": "gzip",
}
_SAMPLE_PS: Final = PS_PER_S // 1000
"""Sampling interval of the reported slowdown: 1 ms."""
_SAMPLES: Final = 5


def scrape(hosts: int, repeats: int) -> dict[str, Any]:
    """Scrape a fabric of `hosts` hosts over HTTP as Prometheus does: the first scrape, and median and worst of the
    others.

    The first scrape makes every label and its text; the others reuse them. A scrape lasts from the copy of all counters
    to the last byte of the compressed answer, in the serving process.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        warm_up(folder)
        compiled = cases.compiled(cases.permutation(hosts, "1MB", "scraped"), folder)
    engine = emulator(compiled)
    engine.advance(PS_PER_S // 20_000)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(FabricCollector(engine.snapshot, _INFO))
    with serve("127.0.0.1:0", registry) as server:
        first_s, size_bytes = _ask(server.url)
        again_s = [_ask(server.url)[0] for _ in range(repeats)]
        text = urllib.request.urlopen(server.url, timeout=60).read().decode()  # noqa: S310  our server's address
    series = sum(not line.startswith("#") for line in text.splitlines())
    return {
        "hosts": hosts,
        "ports": len(compiled.fabric.ports),
        "series": series,
        "first_s": first_s,
        "again_s": median(again_s),
        "worst_s": max(again_s),
        "answer_bytes": size_bytes,
        "text_bytes": len(text),
    }


def _ask(url: str) -> tuple[float, int]:
    began = time.perf_counter()
    request = urllib.request.Request(url, headers=_AS_PROMETHEUS)  # noqa: S310  as above
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  as above
        body = answer.read()
    return time.perf_counter() - began, len(body)


def sampling(raw: dict[str, Any]) -> dict[str, Any]:
    """Share of a busy run's time that one sample a simulated millisecond takes.

    All metrics are sampled several times while all hosts send. The cost of a sample, its Snapshot included, is related
    to the time in which the same process simulates a millisecond.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        warm_up(folder)
        engine = emulator(cases.compiled(raw, folder))
    step_ps = PS_PER_S // 20_000
    samplers = {"metrics": Sampler(_INFO), "run": RunSampler()}
    spent_s: dict[str, list[float]] = {name: [] for name in samplers}
    wall_s = []
    _simulate(engine, step_ps)
    for sampler in samplers.values():
        sampler.sample(engine.snapshot())  # the first sample makes labels and reads every row
    for _ in range(_SAMPLES):
        wall_s.append(_simulate(engine, step_ps))
        for name, sampler in samplers.items():
            began = time.perf_counter()
            sampler.sample(engine.snapshot(reset_watermarks=True))
            spent_s[name].append(time.perf_counter() - began)
    assert not engine.finished, "the run ended while it was measured"
    per_ms_s = median(wall_s) * _SAMPLE_PS / step_ps
    return {
        "hosts": len(engine.fabric.hosts),
        "simulating_s_per_ms": per_ms_s,
        **{f"{name}_sample_s": median(spent) for name, spent in spent_s.items()},
        **{f"{name}_share_ratio": median(spent) / per_ms_s for name, spent in spent_s.items()},
    }


def _simulate(engine: Emulator, step_ps: int) -> float:
    began = time.perf_counter()
    engine.advance(engine.now_ps + step_ps)
    engine.drain_events()
    return time.perf_counter() - began
