"""The engine does no more work per packet than it did: exact counts, and a ratio to a bare loop of the same run.

No figure here is an absolute time. Counts are deterministic, so they are compared exactly: a change of a rule of the
model may move them, and then renews them here on purpose. A change for speed must not move the packet-hops and may only
lower the events.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.compiled.jit import is_compiled
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario

FABRIC: Final = {
    "kind": "leaf-spine",
    "leaves": 4,
    "spines": 2,
    "hosts_per_leaf": 4,
    "host_rate": "100G",
    "fabric_rate": "100G",
    "host_delay": "1us",
    "fabric_delay": "1us",
}
WORK: Final = {
    "alone": {"kind": "messages", "messages": [{"src": "host1", "dst": "host16", "size": "1MB"}]},
    "permutation": {"kind": "permutation", "size": "200KB"},
    "incast": {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "400KB"},
    "all-to-all": {"kind": "all-to-all", "size": "16KB"},
}
CONTROL: Final = {work: {"cc": "none"} if work == "incast" else {"dcqcn": "mlx5"} for work in WORK}
"""The incast has only PFC to slow it down, so that pause frames are counted as well."""
COUNTS: Final[dict[str, tuple[int, int]]] = {  # packet-hops, events
    "alone": (7816, 11722),
    "permutation": (21168, 33254),
    "incast": (42228, 63349),
    "all-to-all": (27648, 46984),
}
BOUND: Final = {"alone": 1.6, "permutation": 1.75, "incast": 1.75, "all-to-all": 1.75}
"""Events a packet-hop, at most: one arrival, and a port-free event only where a frame waits."""


def emulator(work: str, *, order: str = "source", threads: int = 1) -> Emulator:
    raw: dict[str, Any] = {
        "name": work,
        "topology": FABRIC,
        "transport": {"mtu": "1024B", "ack_every": 1, **CONTROL[work]},
        "switches": {"asic": "trident3", "hash": {"algorithm": "crc32"}},
        "workload": [WORK[work]],
        "run": {"duration": "100ms", "seed": 1},
    }
    compiled = compile_scenario(build_scenario(raw, Path("guard.yml")))
    return Emulator(
        compiled.fabric,
        compiled.params,
        compiled.edits,
        record=compiled.record,
        scheduler="windows" if order == "source" else "sequential",
        order="source" if order == "source" else "insertion",
        threads=threads,
    )


def simulated(work: str, *, order: str = "source") -> Emulator:
    engine = emulator(work, order=order)
    engine.advance(10**11)
    assert engine.finished
    return engine


@pytest.mark.parametrize("work", WORK)
def test_a_scenario_takes_exactly_the_packet_hops_and_events_it_took_before(work: str) -> None:
    engine = simulated(work)
    assert (engine.packet_hops, engine.events) == COUNTS[work], "renew COUNTS only with the change of a rule"


@pytest.mark.parametrize("work", WORK)
def test_events_per_packet_hop_stay_within_the_band(work: str) -> None:
    engine = simulated(work)
    assert 1.0 <= engine.events / engine.packet_hops <= BOUND[work]


def test_an_idle_port_costs_no_event_of_its_own() -> None:
    """Insertion order has an event for the end of each frame, so it handles more events."""
    lean, full = simulated("permutation"), simulated("permutation", order="insertion")
    assert lean.events / lean.packet_hops < 0.9 * full.events / full.packet_hops


def test_a_window_is_worth_its_barrier() -> None:
    engine = simulated("permutation")
    windows = int(engine.state.threads["windows"].sum())
    assert engine.events / windows > 4


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.skipif(not is_compiled(), reason="plain Python has no speed to guard")
def test_a_packet_hop_costs_no_more_than_a_few_dozen_steps_of_a_bare_loop() -> None:
    """15 to 20 steps a hop were measured on a shared machine; three times that is a regression, not noise.

    Both are measured in turns, and the best of each counts: what disturbs one then disturbs the other, too.
    """
    from bench.machine import yardstick_steps_per_s

    simulated("permutation")  # loads the kernels
    hops_per_s, steps_per_s = [], []
    for _ in range(5):
        steps_per_s.append(yardstick_steps_per_s(1))
        engine = emulator("all-to-all")
        engine.advance(1)
        began = time.process_time()
        engine.advance(10**11)
        hops_per_s.append(engine.packet_hops / (time.process_time() - began))
    assert max(steps_per_s) / max(hops_per_s) < 60
