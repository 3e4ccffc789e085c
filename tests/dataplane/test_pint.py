"""HPCC-PINT: its random numbers, what a switch writes, and the sender's rule at its limits.

The law itself is held to recorded runs: tests/fidelity/test_recorded_controls.py.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pytest
import worlds
from answering import apply, begin
from worlds import LOSSLESS, World

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state import fill_pint
from fabric.dataplane.state.codes import TELEMETRY_WORDS, CongestionControl, PacketKind
from fabric.dataplane.state.compiled.jit import entry
from fabric.dataplane.state.control_tables import CODES, LOGARITHMS
from fabric.dataplane.state.rng import seeded
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import pint

G: Final = 10**9
DATA: Final = int(PacketKind.DATA)
LINE_BPS: Final = 25 * G


@entry
def coded(state: State, load: float) -> int:
    """The code of a load, drawn by device 0."""
    return pint._code(state, 0, max(math.ceil(load * 512), 1), -1)


@entry
def terms(state: State, size_bytes: int, rate_bps: int) -> int:
    """Note the term of a frame of this size on port 0 at a speed."""
    if state.load_terms[0]["rate_bps"] != rate_bps:
        pint._renew(state, 0, rate_bps)
    state.load_terms[0]["frame_load_ratio"] = pint._load_of_frame(state, 0, 0, size_bytes)
    return 0


@entry
def differences(state: State, count: int) -> int:
    """How many small numbers have another logarithm, power or code in the tables than the kernels compute."""
    found = 0
    for number in range(1, LOGARITHMS):
        if pint.computed_log2(state, 0, number) != state.logs[number]:
            found += 1
    for number in range(1, CODES):
        if pint.power(state, number) != state.pint_codes[number]["power"]:
            found += 1
        state.draws[0]["count"] = count
        code = pint.computed_code(state, 0, number)
        state.draws[0]["count"] = count
        if pint._code(state, 0, number, -1) != code:
            found += 1
        state.draws[0]["count"] = count
        if pint._code(state, 0, number, code) > code or state.draws[0]["count"] != count + 1:
            found += 1
    return found


def started() -> State:
    """Queue pair 0 has begun, at line rate, with ten packets on their way; every answer counts, base 1.01."""
    world = World(leaves=1, hosts=2, cc=int(CongestionControl.PINT), messages=((0, 1, 10_000_000, 0, LOSSLESS),))
    state = Emulator(worlds.topology(world), worlds.parameters(world, worlds.topology(world))).state
    config = state.config[0]
    config["accepted"], config["code_base"], config["code_scale"] = 65536, 1.01, 1 / math.log(1.01)
    fill_pint.fill_pint(state)
    state.qps[0]["line_bps"] = LINE_BPS
    begin(state)
    state.qps[0]["next_psn"] = 10
    return state


def answer(state: State, seq: int, code: int) -> int:
    state.packets[1]["seq"] = seq
    state.telemetry[TELEMETRY_WORDS[CongestionControl.PINT]] = code
    apply(state, 10**12)
    return int(state.qps[0]["rate_bps"])


def code_of(load: float) -> int:
    return math.ceil(math.log(512 * load) / math.log(1.01))


def drawn(generator: np.ndarray, count: int) -> list[int]:
    """As rng.shared_word31(), in plain Python."""
    ring = [int(it) for it in np.roll(generator[1:], -int(generator[0]))]
    found = []
    for _ in range(count):
        ring = [*ring[1:], (ring[0] + ring[28]) & 0xFFFFFFFF]
        found.append(ring[-1] >> 1)
    return found


def test_the_shared_generator_is_the_c_librarys() -> None:
    assert drawn(seeded(1), 4) == [1804289383, 846930886, 1681692777, 1714636915]
    assert seeded(0).tolist() == seeded(1).tolist()
    assert seeded(2).tolist() != seeded(1).tolist()


@pytest.mark.parametrize("load", [0.002, 0.3, 0.95, 1.7])
def test_a_code_stands_for_its_load_in_the_mean(load: float) -> None:
    state = started()
    codes = [coded(state, load) for _ in range(2000)]
    wanted = max(math.ceil(512 * load), 1)
    assert set(codes) <= {math.floor(math.log(wanted) / math.log(1.01)), math.ceil(math.log(wanted) / math.log(1.01))}
    assert np.mean([1.01**code for code in codes]) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_tables_hold_what_the_kernels_compute(count: int) -> None:
    assert differences(started(), count) == 0


def test_the_term_of_a_frame_is_that_of_its_size_and_of_the_speed_of_the_port() -> None:
    state = started()
    span, kept = float(state.config[0]["span_ns"]), state.load_terms[0]
    for size_bytes, gbps in ((1100, 25), (84, 25), (1100, 25), (500, 25), (84, 25), (84, 100), (1100, 100), (84, 25)):
        terms(state, size_bytes, gbps * G)
        assert float(kept["frame_load_ratio"]) == pytest.approx(size_bytes * 8e9 / (gbps * G * span), rel=1e-3)
    assert (int(kept["bytes"]), int(kept["other_bytes"])) == (84, 0)  # the last speed has had one size only


@entry
def left(state: State, packet: int, size_bytes: int, waiting_bytes: int, now_ps: int) -> int:
    """A data frame of this size begins to leave port 0, where so much waits; returns its code."""
    state.ports[0]["nonempty"], state.queues[0]["depth_bytes"] = 1, waiting_bytes
    state.packets[packet]["kind"], state.packets[packet]["size"] = DATA, size_bytes
    state.telemetry[packet * state.config[0]["telemetry_words"]] = 0
    pint.forwarded(state, 0, 0, packet, now_ps)
    return int(state.telemetry[packet * state.config[0]["telemetry_words"]])


@pytest.mark.parametrize("gap_ns", [1, 84, 88, 3000, 10**6])
def test_a_port_s_load_is_rounded_as_the_exact_sum_is(gap_ns: int) -> None:
    state, now_ps = started(), 10**9
    queues = np.random.default_rng(gap_ns).integers(0, 40_000, 400).tolist()
    for place, waiting_bytes in enumerate(queues):
        now_ps += 1000 * (gap_ns + place % 5)
        code = left(state, 1, 1100 if place % 3 else 84, waiting_bytes if place % 4 else 0, now_ps)
        load = float(fill_pint.loads(state)[0])
        assert int(state.loads[0]) == math.floor(load * 8192 + 0.5)
        state.draws[0]["count"] -= 1  # the last number drawn is the code's
        assert code == coded(state, load) & int(state.config[0]["code_mask"])
    assert int(state.loads[0]) > 0


def test_a_load_close_to_a_whole_unit_is_summed_exactly() -> None:
    state = started()
    state.config[0]["span_ns"] = 1 << 13
    fill_pint.fill_pint(state)
    # 2048 bytes at 16 Gbit/s take 1024 ns: an eighth of the span, 1024 whole units but for the last bits.
    state.ports[0]["rate_bps"], state.departures[0]["bytes"] = 16 * G, 2048
    left(state, 1, 1100, 0, 10**9)
    load = float(fill_pint.loads(state)[0])
    assert abs(load * 8192 - 1024) < 1e-6
    assert int(state.loads[0]) == math.floor(load * 8192 + 0.5)
    state.draws[0]["count"] = 0
    wanted = coded(state, load) & int(state.config[0]["code_mask"])
    state.draws[0]["count"], state.load_terms[0] = 0, 0
    state.departures[0]["bytes"], state.loads[0] = 2048, 0
    assert left(state, 1, 1100, 0, 10**10) == wanted


def test_an_empty_port_has_code_0() -> None:
    assert coded(started(), 0.0) == 0


def test_the_first_answer_only_begins_the_window() -> None:
    state = started()
    assert answer(state, 1, code_of(2.0)) == LINE_BPS
    assert int(state.hpcc[0]["mark_psn"]) == 10


def test_every_answer_changes_the_rate_and_the_end_of_a_window_keeps_it() -> None:
    state, code = started(), code_of(1.9)
    answer(state, 1, 0)
    config = state.config[0]
    expected = int(LINE_BPS / (1.01**code / 512 / 0.95)) + int(config["additive_bps"])
    assert answer(state, 10, code) == expected  # fast: not beyond the window
    assert int(state.hpcc[0]["base_bps"]) == LINE_BPS
    assert answer(state, 11, code) == expected
    assert int(state.hpcc[0]["base_bps"]) == expected


def test_an_answer_that_does_not_count_changes_nothing() -> None:
    state = started()
    answer(state, 1, 0)
    state.config[0]["accepted"] = 0
    assert answer(state, 11, code_of(2.0)) == LINE_BPS
