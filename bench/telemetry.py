"""What watching a run costs: a scrape of many series, and sampling while packets move."""

from __future__ import annotations

import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, Final

from prometheus_client.registry import CollectorRegistry

from bench import cases
from bench.machine import median
from bench.play import emulator, warm_up
from fabric.engine.driver import Emulator
from fabric.report.series import Sampler as RunSampler
from fabric.units import PS_PER_S
from telemetry.collect import FabricCollector
from telemetry.derive import RunInfo
from telemetry.sampler import Sampler
from telemetry.server import serve

_INFO: Final = RunInfo(version="0", run="bench", scenario="bench", model="asic", seed=1)
_AS_PROMETHEUS: Final = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
                         "Accept-Encoding": "gzip"}
_SAMPLE_PS: Final = PS_PER_S // 1000
"""The interval for which the slowdown is said: 1 ms."""
_SAMPLES: Final = 5


def scrape(hosts: int, repeats: int) -> dict[str, Any]:
    """Scrape a fabric of `hosts` hosts over HTTP as Prometheus does: the first time, and median and worst of others.

    The first scrape makes every label and its text; the others reuse them. Both begin with a copy of all counters and
    end with the last byte of the compressed answer, in the process that serves it.
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
        text = urllib.request.urlopen(server.url, timeout=60).read().decode()  # noqa: S310  an address of our own
    series = sum(not line.startswith("#") for line in text.splitlines())
    return {"hosts": hosts, "ports": len(compiled.fabric.ports), "series": series, "first_s": first_s,
            "again_s": median(again_s), "worst_s": max(again_s), "answer_bytes": size_bytes,
            "text_bytes": len(text)}


def _ask(url: str) -> tuple[float, int]:
    began = time.perf_counter()
    request = urllib.request.Request(url, headers=_AS_PROMETHEUS)  # noqa: S310  as above
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  as above
        body = answer.read()
    return time.perf_counter() - began, len(body)


def sampling(raw: dict[str, Any]) -> dict[str, Any]:
    """Share of a busy run's time that one sample a simulated millisecond takes.

    Everything is sampled some times while all hosts send; the cost of a sample, its Snapshot included, is set against
    the time in which the same process plays a millisecond of this.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        warm_up(folder)
        engine = emulator(cases.compiled(raw, folder))
    step_ps = PS_PER_S // 20_000
    samplers = {"metrics": Sampler(_INFO), "run": RunSampler()}
    spent_s: dict[str, list[float]] = {name: [] for name in samplers}
    wall_s = []
    _play(engine, step_ps)
    for sampler in samplers.values():
        sampler.sample(engine.snapshot())     # the first makes labels and looks at every row
    for _ in range(_SAMPLES):
        wall_s.append(_play(engine, step_ps))
        for name, sampler in samplers.items():
            began = time.perf_counter()
            sampler.sample(engine.snapshot(reset_watermarks=True))
            spent_s[name].append(time.perf_counter() - began)
    assert not engine.finished, "the run ended while it was measured"
    per_ms_s = median(wall_s) * _SAMPLE_PS / step_ps
    return {"hosts": len(engine.fabric.hosts), "playing_s_per_ms": per_ms_s,
            **{f"{name}_sample_s": median(spent) for name, spent in spent_s.items()},
            **{f"{name}_share_ratio": median(spent) / per_ms_s for name, spent in spent_s.items()}}


def _play(engine: Emulator, step_ps: int) -> float:
    began = time.perf_counter()
    engine.advance(engine.now_ps + step_ps)
    engine.drain_events()
    return time.perf_counter() - began
