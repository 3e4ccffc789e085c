"""TIMELY and HPCC under model asic: their kernels at their limits, and what differs from the simulator's rules.

The laws themselves are held to recorded runs, rate by rate: tests/fidelity/test_recorded_controls.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pytest
import worlds
from answering import apply, begin
from runs import emulator, simulate
from worlds import LOSSLESS, World

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import TELEMETRY_WORDS, CongestionControl
from fabric.dataplane.state.compiled.jit import entry, i64
from fabric.dataplane.state.control_tables import HOPS
from fabric.dataplane.state.types import State
from fabric.dataplane.switch import arp
from fabric.dataplane.transport import hpcc

G: Final = 10**9
LINE_BPS: Final = 25 * G
WORDS: Final = TELEMETRY_WORDS[CongestionControl.HPCC]
NS: Final = 1000


@entry
def known_speed(state: State, rate_bps: int) -> int:
    """A port's speed as HPCC's senders understand it."""
    return hpcc.speed_gbps(state, rate_bps)


@entry
def flooded(state: State, device: int, packet: int) -> int:
    """Row of the copy that a leaf makes of a frame."""
    return i64(arp._copy(state, device, np.uint32(packet)))


def started(cc: CongestionControl) -> State:
    """A state in which queue pair 0 has begun, at line rate, with ten packets on their way; its answers are frame 1."""
    world = World(leaves=1, hosts=2, cc=int(cc), messages=((0, 1, 10_000_000, 0, LOSSLESS),))
    fabric = worlds.topology(world)
    state = Emulator(fabric, worlds.parameters(world, fabric)).state
    row = state.qps[0]
    row["line_bps"] = LINE_BPS
    begin(state)
    row["next_psn"] = 10
    return state


def answer(state: State, seq: int, now_ps: int) -> None:
    state.packets[1]["seq"] = seq
    apply(state, now_ps)


def hop(state: State, number: int, time_ns: int, sent_units: int, queue_units: int, gbps: int = 25) -> None:
    """Write a record of frame 1 as a switch would."""
    state.telemetry[WORDS + 1 + number] = time_ns | sent_units << 24 | queue_units << 44
    state.telemetry[WORDS + 1 + HOPS] |= gbps << 12 * number


# ===== TIMELY =====


def sample(state: State, rtt_ns: int) -> int:
    """The first ACK of the next window, with a round trip; returns the rate."""
    row = state.qps[0]
    now_ps = 10**12
    state.telemetry[TELEMETRY_WORDS[CongestionControl.TIMELY]] = now_ps - rtt_ns * NS
    seq = int(state.timely[0]["mark_psn"]) + 1
    row["next_psn"] = seq + 10
    answer(state, seq, now_ps)
    return int(row["rate_bps"])


def test_timely_between_its_limits_follows_the_gradient_and_outside_them_the_limits() -> None:
    state = started(CongestionControl.TIMELY)
    state.qps[0]["rate_bps"] = state.timely[0]["base_bps"] = 10 * G
    assert sample(state, 10_000) == 10 * G  # the first only notes its round trip
    assert sample(state, 10_000) == 10 * G + 25 * 10**6  # no gradient
    base = 10 * G + 25 * 10**6
    gradient = 0.875 * 1000 / 2000
    assert sample(state, 11_000) == int(base * (1 - 0.8 * gradient))
    low = int(state.qps[0]["rate_bps"])
    assert sample(state, 4_999) == low + 25 * 10**6  # below T_low, whatever the gradient
    assert sample(state, 200_000) == int((low + 25 * 10**6) * (1 - 0.8 * (1 - 50_000.0 / 200_000)))


def test_timely_adds_its_larger_step_from_the_sixth_increase_in_a_row_on() -> None:
    state = started(CongestionControl.TIMELY)
    state.qps[0]["rate_bps"] = state.timely[0]["base_bps"] = 10 * G
    rates = [sample(state, 3_000) for _ in range(8)]
    assert np.diff(rates).tolist() == [25 * 10**6] * 5 + [125 * 10**6] * 2


def test_timely_keeps_the_least_rate_and_line_rate() -> None:
    state = started(CongestionControl.TIMELY)
    sample(state, 3_000)
    assert sample(state, 3_000) == LINE_BPS
    assert sample(state, 45_000) == 10**8  # the gradient would leave nothing


def test_timely_counts_one_ack_of_a_window() -> None:
    state = started(CongestionControl.TIMELY)
    state.qps[0]["rate_bps"] = state.timely[0]["base_bps"] = 10 * G
    sample(state, 3_000)
    end = int(state.timely[0]["mark_psn"])
    answer(state, end, 10**12)  # no further than the packets sent before
    assert int(state.qps[0]["rate_bps"]) == 10 * G


# ===== HPCC =====


def loaded(load_ratio: float, queue_units: int = 0, *, multi_rate: bool = False) -> State:
    """After two ACKs, 8 us apart, between which the only hop had a load, at 25G and with units of 128 bytes."""
    state = started(CongestionControl.HPCC)
    state.config[0]["multi_rate"] = multi_rate
    state.telemetry[WORDS : 2 * WORDS] = 0
    state.telemetry[WORDS] = 7 << 8 | 1
    hop(state, 0, 1_000, 0, queue_units)
    answer(state, 1, 10**9)
    state.telemetry[WORDS : 2 * WORDS] = 0
    state.telemetry[WORDS] = 7 << 8 | 1
    hop(state, 0, 9_000, round(load_ratio * 25_000 / 128), queue_units)
    answer(state, 2, 10**9 + 8_000 * NS)
    return state


def test_hpcc_divides_the_rate_by_load_over_target() -> None:
    state = loaded(0.5)
    row, load = state.qps[0], round(0.5 * 25_000 / 128) * 128 / 25_000
    assert float(state.hpcc[0]["load_ratio"]) == pytest.approx(load)
    assert int(row["rate_bps"]) == LINE_BPS  # a link that is half full asks for more than line rate
    full = loaded(1.9)
    load = round(1.9 * 25_000 / 128) * 128 / 25_000
    stages = int(full.config[0]["increase_stages"])
    assert stages == 1
    assert int(full.qps[0]["rate_bps"]) == pytest.approx(LINE_BPS / (load / 0.95) + 10**7, abs=2)


def test_hpcc_weighs_the_lesser_queue_by_the_window() -> None:
    queued = loaded(1.0, queue_units=100)
    assert float(queued.hpcc[0]["load_ratio"]) == pytest.approx(195 * 128 / 25_000 + 8000 / 25_000, rel=1e-6)


@pytest.mark.parametrize(("path", "later_ns", "changes"), [(7, 8_000, True), (8, 8_000, False), (7, 8_388_609, False)])
def test_hpcc_compares_no_records_of_another_path_or_of_long_ago(path: int, later_ns: int, changes: bool) -> None:
    state = loaded(1.9)
    before = int(state.qps[0]["rate_bps"])
    state.telemetry[WORDS] = path << 8 | 1
    state.telemetry[WORDS + 1] = 17_000 | 4_000 << 24
    answer(state, 3, 10**9 + 8_000 * NS + later_ns * NS)
    assert (int(state.qps[0]["rate_bps"]) != before) == changes
    assert int(state.hpcc_hops[0]["record"]) == 17_000 | 4_000 << 24  # noted in any case


def test_hpcc_does_nothing_beyond_five_switches() -> None:
    state = loaded(1.9)
    before = int(state.qps[0]["rate_bps"])
    for _ in range(2):
        state.telemetry[WORDS] = 7 << 8 | 6
        answer(state, 3, 10**9 + 16_000 * NS)
    assert int(state.qps[0]["rate_bps"]) == before


def test_hpcc_takes_a_link_that_seems_empty_to_ask_for_line_rate() -> None:
    state = loaded(0.0, multi_rate=True)
    assert float(state.hpcc_hops[0]["load_ratio"]) == 0.0
    assert int(state.qps[0]["rate_bps"]) == LINE_BPS


@pytest.mark.parametrize(
    ("rate_bps", "gbps"), [(25 * G, 25), (40 * G, 40), (1600 * G, 1600), (5000 * G, 4095), (10**8, 1)]
)
def test_hpcc_knows_speeds_in_whole_gigabits(rate_bps: int, gbps: int) -> None:
    assert known_speed(started(CongestionControl.HPCC), rate_bps) == gbps


# ===== runs =====

PAIRS: Final = World(
    leaves=2,
    spines=1,
    hosts=3,
    pool_kb=800,
    messages=tuple((source, 5 - source, 600_000, 0, LOSSLESS) for source in range(4)),
    incast=True,
)


@pytest.mark.parametrize("cc", [CongestionControl.TIMELY, CongestionControl.HPCC])
def test_every_byte_arrives_and_rates_were_cut(cc: CongestionControl) -> None:
    engine = simulate(emulator(replace(PAIRS, cc=int(cc), window_kb=64 if cc is CongestionControl.HPCC else 0)))
    assert bool((engine.state.messages["end_ps"][1:] > 0).all())
    assert int(engine.state.qps["cuts"].sum()) > 0


def test_a_flooded_copy_carries_what_its_frame_carries() -> None:
    state, leaf = started(CongestionControl.HPCC), 2
    assert int(state.devices[leaf]["free_count"]) > 0
    state.telemetry[WORDS : 2 * WORDS] = range(1, WORDS + 1)
    state.packets[1]["xoff"] = 3  # of an answer: switches that its data packet crossed
    made = flooded(state, leaf, 1)
    assert made != 1
    assert state.telemetry[made * WORDS : (made + 1) * WORDS].tolist() == list(range(1, WORDS + 1))
    assert int(state.packets[made]["xoff"]) == 3


def test_telemetry_grows_with_the_packets_and_other_controls_have_none() -> None:
    fabric = worlds.topology(PAIRS)
    engine = Emulator(fabric, worlds.parameters(replace(PAIRS, cc=6), fabric))
    rows = len(engine.state.packets)
    assert len(engine.state.telemetry) == rows * WORDS
    engine.state.telemetry[:] = 5
    engine._grow_packets()
    assert len(engine.state.telemetry) == len(engine.state.packets) * WORDS == 2 * rows * WORDS
    assert engine.state.telemetry[: rows * WORDS].tolist() == [5] * rows * WORDS
    for cc, words in TELEMETRY_WORDS.items():
        state = Emulator(fabric, worlds.parameters(replace(PAIRS, cc=int(cc)), fabric)).state
        assert len(state.telemetry) == rows * words
    plain = Emulator(fabric, worlds.parameters(PAIRS, fabric))
    plain._grow_packets()
    assert len(plain.state.telemetry) == 1
