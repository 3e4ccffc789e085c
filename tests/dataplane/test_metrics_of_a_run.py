"""The metrics endpoint with runs of the real engine."""

from __future__ import annotations

import math
import shutil
import subprocess
import threading
import urllib.request

import pytest
import worlds
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from runs import END_PS, simulate
from worlds import US, World, emulator

from fabric.dataplane.state.codes import Stop
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import RunInfo
from telemetry.export.collect import FabricCollector, SnapshotRelay
from telemetry.export.exposition import render
from telemetry.export.server import serve
from tests.waiting import LIMIT_S

INFO = RunInfo("0", "run", "world", "asic", 1)


@settings(max_examples=20)
@given(world=worlds.troubled(), budget=st.integers(1, 40))
def test_no_counter_steps_back_and_no_series_vanishes(world: World, budget: int) -> None:
    simulating, metrics = emulator(world), SnapshotMetrics(INFO)
    before: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for moment in range(5 * US, 60 * US, 5 * US):
        simulating.advance(moment, budget=budget)
        now = {}
        for family in metrics.families(simulating.snapshot()):
            if family.type in ("counter", "histogram"):
                now |= {(sample.name, frozenset(sample.labels.items())): sample.value for sample in family.samples}
        assert before.keys() <= now.keys()
        assert all(now[series] >= value for series, value in before.items())
        assert all(value >= 0 and math.isfinite(value) for value in now.values())
        before = now


def test_promtool_accepts_a_real_run() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    simulating = simulate(emulator(World(kmin_kb=1, watchdog=True, drain_mbps=2000, shared_headroom=True, spines=2)))
    done = subprocess.run(
        [promtool, "check", "metrics"],
        input=render(simulating.snapshot(), INFO),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert (done.stdout + done.stderr).strip() == ""
    assert done.returncode == 0


def test_a_scrape_in_mid_run_is_answered_by_the_simulating_thread() -> None:
    simulating, relay, answers = emulator(World(watchdog=True)), SnapshotRelay(timeout_s=LIMIT_S), []
    registry = CollectorRegistry()
    registry.register(FabricCollector(relay, INFO))

    def scrape(url: str) -> None:
        with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:  # noqa: S310  an address of our own
            answers.append(answer.read().decode())

    with serve("127.0.0.1:0", registry) as server:
        scraper = threading.Thread(target=scrape, args=(server.url,))
        scraper.start()
        moment = 0
        while not relay.offer(simulating.snapshot):
            # The time of the scrape is not known: half of the run is left for the checks after it.
            moment = min(moment + US, END_PS // 2)
            assert simulating.advance(moment) is Stop.BOUND
        scraper.join(LIMIT_S)
        relay.close(simulate(simulating).snapshot())
        scrape(server.url)
    times = [
        float(line.split()[1])
        for text in answers
        for line in text.splitlines()
        if line.startswith("fabric_sim_time_seconds ")
    ]
    assert times[0] < times[1] == END_PS / 1e12
