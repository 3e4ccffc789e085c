"""Many queue pairs a host under `model: hpcc-ns3`: their cost, and timers without events take effect in time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.compiled.jit import is_compiled
from fabric.dataplane.state.fill_faults import lose_every
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from tests.forked import UNCOMPILED, printed

Order = Literal["source", "insertion"]
ORDERS = ("source", "insertion")
LEAF = {
    "kind": "leaf-spine",
    "leaves": 1,
    "spines": 1,
    "hosts_per_leaf": 5,
    "host_rate": "100G",
    "fabric_rate": "100G",
    "host_delay": "1us",
    "fabric_delay": "1us",
}


def compiled(
    pairs: int,
    size: str,
    *,
    model: str = "hpcc-ns3",
    start: str = "0us",
    **sections: Any,  # noqa: ANN401
) -> CompiledScenario:
    again = {"repeat": pairs, "interval": "1ns"} if pairs > 1 else {}
    load = {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": size, "start": start, **again}
    raw = {"name": "pairs", "model": model, "topology": LEAF, "workload": [load], "run": {"duration": "2s"}, **sections}
    return compile_scenario(build_scenario(raw, Path("pairs.yml")))


def emulator(made: CompiledScenario, order: Order) -> Emulator:
    return Emulator(
        made.fabric, made.params, made.edits, order=order, scheduler="sequential" if order == "insertion" else "windows"
    )


def simulated(made: CompiledScenario, order: Order) -> Emulator:
    engine = emulator(made, order)
    while not engine.finished:
        engine.advance(engine.now_ps + 100_000_000)
    return engine


def outcome(engine: Emulator) -> list[list[float]]:
    """Both orders of equal times must agree if no two relevant events share a time."""
    messages, pairs = engine.state.messages[1:], engine.state.qps
    return [
        (messages["end_ps"] - messages["start_ps"]).tolist(),
        *(pairs[field].tolist() for field in ("cuts", "rate_bps", "target_bps", "alpha")),
    ]


@pytest.mark.parametrize("pairs", [1, 64, 256])
def test_the_number_of_events_a_packet_hop_does_not_grow_with_queue_pairs(pairs: int) -> None:
    engine = simulated(compiled(pairs, f"{1_024_000 // pairs}B"), "insertion")
    assert int(engine.state.qps["cuts"].sum()) > 0
    assert engine.events < 2.5 * engine.packet_hops


@pytest.mark.parametrize("order", ORDERS)
def test_rate_timers_do_not_run_before_the_first_notification(order: Order) -> None:
    """They used to cost a step per decrease interval since the beginning of the run, for every message."""
    engine = simulated(
        compiled(4, "20KB", start="100ms", switches={"ecn": {"kmin": "9MB", "kmax": "10MB", "pmax": 1.0}}), order
    )
    assert int(engine.state.queues["marked_pkts"].sum()) == 0
    assert not engine.state.qps["decrease_at_ps"].any()


def test_a_cut_that_is_due_before_the_last_acknowledgement_counts_in_both_orders() -> None:
    made = compiled(1, "400KB", transport={"dcqcn": "hpcc-dcqcn", "acks": "strict"})
    source, insertion = simulated(made, "source"), simulated(made, "insertion")
    assert int(source.state.qps["cuts"].sum()) > 0
    assert outcome(source) == outcome(insertion)


def test_a_window_that_follows_the_rate_is_that_of_the_present_rate_in_both_orders() -> None:
    made = compiled(
        1,
        "400KB",
        topology={**LEAF, "leaves": 2, "hosts_per_leaf": 3},
        transport={"dcqcn": "hpcc-dcqcn-vwin", "acks": "stock"},
    )
    assert made.params.transport.variable_window
    source, insertion = simulated(made, "source"), simulated(made, "insertion")
    assert int(source.state.qps["cuts"].sum()) > 0
    assert outcome(source) == outcome(insertion)


@pytest.mark.parametrize("order", ORDERS)
def test_pausing_a_run_at_odd_moments_changes_nothing(order: Order, tmp_path: Path) -> None:
    made = compiled(24, "30KB", transport={"dcqcn": "hpcc-dcqcn-vwin", "window": "20KB"})
    whole = emulator(made, order)
    whole.advance(600_000_000)
    parts = emulator(made, order)
    for moment in (1, 77_777_000, 123_456_789, 300_000_000):
        parts.advance(moment)
        parts.advance(moment + 1_000_000, budget=17)
    parts.save(tmp_path / "c.npz")
    restored = Emulator.restore(
        made.fabric,
        made.params,
        made.edits,
        tmp_path / "c.npz",
        order=order,
        scheduler="sequential" if order == "insertion" else "windows",
    )
    restored.advance(600_000_000)
    assert int(whole.state.qps["cuts"].sum()) > 0
    if order == "insertion":
        assert restored.digest() == whole.digest()
    assert outcome(restored) == outcome(whole)


def test_at_a_pause_every_timer_has_run_under_insertion_order() -> None:
    engine = emulator(compiled(64, "64KB"), "insertion")
    for moment in (60_000_000, 61_234_567, 400_000_000):
        engine.advance(moment)
        pairs = engine.state.qps[engine.state.qps["started"] != 0]
        assert len(pairs) > 0
        for field in ("alpha_at_ps", "decrease_at_ps", "increase_at_ps"):
            assert int(pairs[field].min()) >= moment


def test_a_run_whose_last_packets_were_lost_goes_on_to_its_end_without_an_event_for_its_timers() -> None:
    """There is no retransmission timeout, and rate timers of a message that never ends run until the stop time."""
    engine = emulator(compiled(8, "64KB"), "insertion")
    engine.advance(60_000_000)
    engine.state = lose_every(engine.state, engine.fabric.hosts[0].first_port, 1, "")  # nothing arrives any more
    engine.advance(1_000_000_000_000)
    assert not engine.finished
    assert engine.now_ps == 1_000_000_000_000
    assert int(engine.state.config[0]["running_timers"]) > 0
    assert engine.events < 3 * engine.packet_hops


def test_plain_python_gives_the_digests_of_compiled_kernels() -> None:
    if not is_compiled():
        pytest.skip("this is plain Python")
    code = (
        "import warnings; warnings.simplefilter('error', RuntimeWarning)\n"
        "import tests.dataplane.test_ns3_queue_pairs as t\n"
        "made = t.compiled(70, '3KB', transport={'dcqcn': 'hpcc-dcqcn-vwin', 'window': '2KB'})\n"
        "print(*(t.simulated(made, order).digest() for order in t.ORDERS))"
    )
    plain = printed(code, env=UNCOMPILED)
    made = compiled(70, "3KB", transport={"dcqcn": "hpcc-dcqcn-vwin", "window": "2KB"})
    assert plain.split() == [simulated(made, "source").digest(), simulated(made, "insertion").digest()]


def test_pairs_on_hosts_of_more_than_one_word_are_served_in_turn() -> None:
    """Without congestion each of 200 equal messages of a host gets one packet a round: they end within one round."""
    alone = {
        "kind": "incast",
        "receiver": "host1",
        "senders": ["host2"],
        "size": "10KB",
        "repeat": 200,
        "interval": "1ns",
    }
    made = compiled(200, "10KB", transport={"cc": "none"}, workload=[alone])
    engine = simulated(made, "insertion")
    ends = np.sort(engine.state.messages["end_ps"][1:])
    assert int(ends[-1] - ends[0]) == 199 * 83_000


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.skipif(not is_compiled(), reason="compares the speed of compiled kernels")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("pairs", [1, 32, 512])
def test_a_packet_hop_costs_at_most_twice_that_of_model_asic(order: Order, pairs: int) -> None:
    """Both are measured in turns, and the best of each counts: what disturbs one then disturbs the other, too."""
    models = {model: compiled(pairs, f"{16_384_000 // pairs}B", model=model) for model in ("asic", "hpcc-ns3")}
    seconds: dict[str, list[float]] = {model: [] for model in models}
    for _ in range(6):
        for model, made in models.items():
            began = time.process_time()
            hops = simulated(made, order).packet_hops
            seconds[model].append((time.process_time() - began) / hops)
    # The first of each loads the kernels.
    assert min(seconds["hpcc-ns3"][1:]) < 2 * min(seconds["asic"][1:])
