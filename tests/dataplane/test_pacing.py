"""Departures of a paced queue pair against a leaky bucket with the rate of a restatement of DCQCN."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest
import worlds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runs import simulate
from worlds import LOSSLESS, US, World

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import INFINITY_PS, EventKind
from fabric.dataplane.state.params import DcqcnParams
from fabric.topology.model import Fabric

PS_PER_S: Final = 10**12
FRAME: Final = 1024 + 62
RETH: Final = 16
WIRE: Final = 20
NEVER: Final = INFINITY_PS


@dataclass
class Bucket:
    """Zhu et al., SIGCOMM 2015, section 5.1, with the limits that mlx5 adds; bits in exact fractions."""

    d: DcqcnParams
    line: int
    rate: int = 0
    target: int = 0
    alpha: float = 1.0
    limited: bool = False
    time_stage: int = 0
    byte_stage: int = 0
    counted: int = 0
    alpha_at: int = NEVER
    raise_at: int = NEVER
    at: int = 0
    owed: Fraction = field(default_factory=lambda: Fraction(0))
    rounded: Fraction = field(default_factory=lambda: Fraction(0))
    """Bound on the engine's additions to `owed`: at every unforeseen change of rate a picosecond's worth of the last.
    """

    def __post_init__(self) -> None:
        self.rate = self.target = self.line

    def pay(self, now: int) -> None:
        self.owed = max(self.owed - Fraction(self.rate * (now - self.at), PS_PER_S), Fraction(0))
        self.at = now

    def until(self, now: int) -> None:
        while min(self.alpha_at, self.raise_at) <= now:
            if self.alpha_at <= self.raise_at:
                self.alpha *= 1 - self.d.gain_ratio
                self.alpha_at += self.d.alpha_timer_ps
            else:
                self.pay(self.raise_at)
                self.raise_at += self.d.increase_timer_ps
                self.time_stage += 1
                self.increase()
        self.pay(now)

    def increase(self) -> None:
        stages = self.time_stage, self.byte_stage if self.d.byte_counter_bytes else self.time_stage
        if max(stages) >= self.d.fast_recovery_steps:
            step = self.d.hyper_bps if min(stages) > self.d.fast_recovery_steps else self.d.additive_bps
            self.target = min(self.target + step, self.line)
        self.rate = (self.rate + self.target) // 2
        if 0 < self.d.max_rate_bps <= self.rate:
            self.rate = self.target = self.line
            self.limited, self.alpha_at, self.raise_at = False, NEVER, NEVER

    def depart(self, now: int, frame_bytes: int) -> None:
        self.until(now)
        if self.limited and self.d.byte_counter_bytes:
            self.counted += frame_bytes
            if self.counted >= self.d.byte_counter_bytes:
                self.counted -= self.d.byte_counter_bytes
                self.byte_stage += 1
                self.increase()
        self.owed, self.rounded = Fraction((frame_bytes + WIRE) * 8), Fraction(0)

    def cut(self, now: int) -> None:
        self.until(now)
        self.rounded += Fraction(self.rate, PS_PER_S)
        d, first = self.d, not self.limited
        if first:
            self.limited, self.alpha = True, d.initial_alpha_ratio
        if first or d.clamp_target or self.time_stage or self.byte_stage:
            self.target = self.rate
        if first and d.first_rate_bps:
            self.rate = self.target = min(d.first_rate_bps, self.rate)
        else:
            kept = max(int(self.rate * (1 - self.alpha / d.cut_divisor)), int(self.rate * d.least_kept_ratio))
            self.rate = min(max(kept, d.min_rate_bps), self.rate)
        self.alpha = (1 - d.gain_ratio) * self.alpha + d.gain_ratio
        self.time_stage = self.byte_stage = self.counted = 0
        self.alpha_at, self.raise_at = now + d.alpha_timer_ps, now + d.increase_timer_ps

    def change_line(self, now: int, line: int) -> None:
        self.until(now)
        self.rounded += Fraction(self.rate, PS_PER_S)
        self.rate, self.target = (line if it == self.line else min(it, line) for it in (self.rate, self.target))
        self.line = line

    def leaves(self, more: Fraction = Fraction(0)) -> int:
        """The time at which no bits are owed, without further events."""
        later = copy.copy(self)
        later.owed += more
        while True:
            end = later.at + math.ceil(later.owed * PS_PER_S / later.rate)
            if end <= later.raise_at:
                return end
            later.until(later.raise_at)


PRESET: Final = DcqcnParams(
    1 / 256,
    55 * US,
    4 * US,
    55 * US,
    0,
    3,
    4 * 10**7,
    4 * 10**8,
    10**8,
    clamp_target=False,
    initial_alpha_ratio=1.0,
    cnp_interval_ps=10 * US,
    cnp_delay_ps=US,
)


def engine_of(world: World, dcqcn: DcqcnParams, edits: list[e.Edit], **options: Any) -> Emulator:  # noqa: ANN401
    fabric = worlds.topology(world)
    params = worlds.parameters(world, fabric)
    params = replace(params, transport=replace(params.transport, dcqcn=dcqcn))
    return Emulator(fabric, params, edits, **options)


def cable_of(fabric: Fabric, host: int) -> Any:  # noqa: ANN401  a link id
    return fabric.ports[fabric.hosts[host].first_port].link


def departures(engine: Emulator, world: World, dcqcn: DcqcnParams, changes: list[e.LinkRate], count: int) -> list[str]:
    """Check the first `count` departures of queue pair 0; returns their causes ('cut', 'timer', 'line')."""
    bucket, qp = Bucket(dcqcn, world.host_gbps * 10**9), engine.state.qps[0]
    port = engine.state.ports[int(qp["port"])]
    changes, cuts, moved, free_at = list(changes), [], [], 0
    for sent in range(count):
        while True:  # until nothing more comes before the departure
            planned = max(bucket.leaves(), free_at)
            line_at = changes[0].time_ps if changes else NEVER
            simulate(engine, max(min(planned, line_at), engine.now_ps))
            log = engine.drain_events()
            cuts += log[(log["kind"] == EventKind.RATE_CUT) & (log["qp"] == 0)]["time_ps"].tolist()
            if cuts:
                what = "cut"
                bucket.cut(cuts.pop(0))
            elif line_at < planned:
                what = "line"
                bucket.change_line(line_at, changes.pop(0).rate_bps)
            else:
                break
            moved += [what] * (max(bucket.leaves(), free_at) != planned)
        assert qp["sent_pkts"] == sent, f"packet {sent} left before {planned} ps"
        latest = max(bucket.leaves(bucket.rounded), free_at)
        simulate(engine, latest + 1)
        assert qp["sent_pkts"] == sent + 1, f"packet {sent} did not leave at {planned} ps"
        frame = FRAME + (RETH if sent == 0 else 0)
        serialised = math.ceil(Fraction((frame + WIRE) * 8 * PS_PER_S, bucket.line))
        free_at = int(port["busy_until_ps"])
        left_at = free_at - serialised
        moved += ["timer"] * (bucket.raise_at < left_at)
        bucket.depart(left_at, frame)
    return moved


LIMITS: Final = {
    "min_rate_bps": st.sampled_from([10**6, 10**8]),
    "byte_counter_bytes": st.sampled_from([0, 8192]),
    "fast_recovery_steps": st.integers(1, 3),
    "clamp_target": st.booleans(),
    "increase_timer_ps": st.sampled_from([7 * US, 55 * US, 300 * US]),
    "cut_divisor": st.sampled_from([1, 2, 2, 4]),
    "least_kept_ratio": st.sampled_from([0.0, 0.0, 0.5, 0.9]),
    "max_rate_bps": st.sampled_from([0, 0, 5 * 10**9]),
    "first_rate_bps": st.sampled_from([0, 0, 2 * 10**9]),
}
ROOMY: Final = World(
    leaves=1,
    hosts=4,
    kmin_kb=2,
    pfc=False,
    pool_kb=4000,
    timeout_us=0,
    incast=True,
    messages=tuple((sender, 1, 300_000, 0, LOSSLESS) for sender in range(3)),
)
"""Three senders of 25G, one receiver, and only DCQCN delays a packet."""


@given(
    limits=st.fixed_dictionaries(LIMITS),
    seed=st.integers(0, 1000),
    dip=st.one_of(st.none(), st.tuples(st.integers(1, 150), st.integers(1, 300), st.integers(1, 20))),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_every_departure_is_that_of_a_leaky_bucket(
    limits: dict[str, Any], seed: int, dip: tuple[int, int, int] | None
) -> None:
    world, dcqcn = replace(ROOMY, seed=seed), replace(PRESET, **limits)
    changes: list[e.LinkRate] = []
    if dip is not None:
        link = cable_of(worlds.topology(world), 0)
        changes = [e.LinkRate(dip[0] * US, link, dip[2] * 10**9), e.LinkRate((dip[0] + dip[1]) * US, link, 25 * 10**9)]
    departures(engine_of(world, dcqcn, changes), world, dcqcn, changes, 120)


def test_cuts_timers_and_lost_lanes_all_move_departures() -> None:
    """The property above has something to check."""
    dcqcn = replace(PRESET, min_rate_bps=10**6)
    link = cable_of(worlds.topology(ROOMY), 0)
    changes = [e.LinkRate(12 * US, link, 10**9), e.LinkRate(300 * US, link, 25 * 10**9)]
    moved = departures(engine_of(ROOMY, dcqcn, changes), ROOMY, dcqcn, changes, 120)
    assert {"cut", "timer", "line"} <= set(moved)


@pytest.mark.parametrize("floor_mbps", [1, 10])
def test_a_queue_pair_at_its_floor_does_not_wait_for_a_packet_at_the_floor(floor_mbps: int) -> None:
    """A packet at 1 Mb/s takes 9 ms; the increase timer comes every 55 us."""
    dcqcn = replace(PRESET, min_rate_bps=floor_mbps * 10**6)
    engine = simulate(engine_of(ROOMY, dcqcn, []), 3_000 * US)
    assert (engine.state.messages["end_ps"][1:] > 0).all()


def test_a_window_that_a_slower_line_widens_is_open_at_once() -> None:
    """A quarter of the line, of which a quarter is left: the window is four times as wide, and no ACK is near."""
    world = World(leaves=1, delay_ns=100_000, window_kb=64, messages=((0, 1, 1_000_000, 0, LOSSLESS),))
    fabric = worlds.topology(world)
    params = worlds.parameters(world, fabric)
    params = replace(params, transport=replace(params.transport, variable_window=True))
    line = world.host_gbps * 10**9
    engine = Emulator(fabric, params, [e.LinkRate(100 * US, cable_of(fabric, 0), line // 4)])
    simulate(engine, US // 10)
    pair = engine.state.qps[0]
    pair["rate_bps"] = pair["target_bps"] = line // 4
    simulate(engine, 100 * US)
    sent = int(pair["sent_pkts"])
    assert sent == 16, "a quarter of 64 KB, and no ACK yet"
    simulate(engine, 150 * US)
    assert pair["sent_pkts"] > sent


def test_a_reader_sees_the_rate_that_timers_have_set_and_changes_nothing() -> None:
    dcqcn = replace(PRESET, min_rate_bps=10**6)
    quiet, watched = (engine_of(ROOMY, dcqcn, []) for _ in range(2))
    simulate(quiet, 400 * US)
    older = 0
    for moment in range(1, 401):
        simulate(watched, moment * US)
        before, seen = watched.state.qps.copy(), watched.snapshot().qps
        assert np.array_equal(watched.state.qps, before)
        busy = seen["acked_psn"] < seen["posted_psn"]
        due = busy & (before["increase_at_ps"] <= moment * US)
        older += int(due.sum())
        assert (seen["increase_at_ps"][busy] > moment * US).all()
        assert (seen["rate_bps"] >= before["rate_bps"]).all()
    assert older > 4, "timers came due while queue pairs waited"
    assert watched.digest() == quiet.digest()


def test_the_drained_part_of_a_frame_is_not_drained_again() -> None:
    """A frame half consumed at 1 Gb/s needs the other half at 100 Mb/s, and however often the rate is set."""
    world = World(leaves=1, hosts=2, cc=0, drain_mbps=1000, timeout_us=0, messages=((0, 1, 1024, 0, LOSSLESS),))
    fabric = worlds.topology(world)

    def arrived(*edits: e.Edit) -> int:
        return int(simulate(Emulator(fabric, worlds.parameters(world, fabric), edits)).state.rmessages["arrived_ps"][1])

    bits = (FRAME + RETH) * 8
    plain = arrived()
    half = plain - bits * 1000 // 2
    host = fabric.hosts[1].id
    assert arrived(e.HostDrain(half, host, 10**8)) == half + bits * 10_000 // 2
    assert arrived(*(e.HostDrain(half + step * US, host, 10**9) for step in range(4))) == plain


def test_a_pause_counts_the_quanta_of_the_speed_there_is() -> None:
    """802.3 annex 31B: 512 bit times. A port that falls from 25G to 5G has five times as long to wait."""
    quanta, at, quantum = 100, 6 * US, 512 * 40
    world = World(leaves=1, hosts=2, cc=0, messages=((1, 1, 100, 9000, LOSSLESS),))
    fabric = worlds.topology(world)
    storm = e.PauseStorm(5 * US, fabric.hosts[1].id, 1 << LOSSLESS, US, 20 * US, quanta)

    def ended(*edits: e.Edit) -> tuple[int, int]:
        engine = Emulator(fabric, worlds.parameters(world, fabric), [storm, *edits])
        log = simulate(engine).drain_events()
        return tuple(int(log["time_ps"][log["kind"] == kind][0]) for kind in (EventKind.PAUSED, EventKind.RESUMED))

    begun, plain = ended()
    assert plain == begun + quanta * quantum
    assert begun < at < plain
    assert ended(e.LinkRate(at, cable_of(fabric, 1), 5 * 10**9)) == (begun, at + (plain - at) * 5)


def test_a_broken_nic_goes_on_without_a_gap_when_its_lanes_come_back() -> None:
    """Its XOFF comes when half of the last one has run, also at five times the speed."""
    world = World(leaves=1, hosts=2, cc=0, messages=((0, 1, 100, 0, LOSSLESS),))
    fabric = worlds.topology(world)
    link, host = cable_of(fabric, 1), fabric.hosts[1]
    edits = [
        e.LinkRate(0, link, 5 * 10**9),
        e.PauseStorm(5 * US, host.id, 1 << LOSSLESS, 4000 * US, 0, 65_535),
        e.LinkRate(1000 * US, link, 25 * 10**9),
    ]
    engine = simulate(Emulator(fabric, worlds.parameters(world, fabric), edits), 4000 * US)
    log = engine.drain_events()
    port = int(fabric.ports[host.first_port].peer)
    assert ((log["kind"] == EventKind.RESUMED) & (log["port"] == port)).sum() == 0


def test_storms_of_one_nic_go_on_without_a_gap_when_its_lanes_come_back() -> None:
    """Each keeps its gap at half of its pause time; they pause different classes."""
    other = 2
    world = World(leaves=1, hosts=2, cc=0, messages=((0, 1, 100, 0, LOSSLESS),))
    fabric = worlds.topology(world)
    link, host = cable_of(fabric, 1), fabric.hosts[1]
    edits = [
        e.LinkRate(0, link, 5 * 10**9),
        e.PauseStorm(5 * US, host.id, 1 << LOSSLESS, 4000 * US, 0, 65_535),
        e.PauseStorm(9 * US, host.id, 1 << other, 4000 * US, 0, 30_000),
        e.LinkRate(1000 * US, link, 25 * 10**9),
    ]
    engine = simulate(Emulator(fabric, worlds.parameters(world, fabric), edits), 4000 * US)
    log = engine.drain_events()
    port = int(fabric.ports[host.first_port].peer)
    assert ((log["kind"] == EventKind.RESUMED) & (log["port"] == port)).sum() == 0
    sent = engine.state.prios["rx_xoff_pkts"].reshape(-1, 8)[port]
    plain = simulate(Emulator(fabric, worlds.parameters(world, fabric), edits[1:3]), 4000 * US)
    assert 0 < sent[other] < plain.state.prios["rx_xoff_pkts"].reshape(-1, 8)[port][other]


def test_a_storm_leaves_another_storms_pause_alone_also_after_a_change_of_speed() -> None:
    """The first one's pause is counted in quanta of the speed at the time of the second one's frame."""
    world = World(leaves=1, hosts=2, cc=0, messages=((0, 1, 100, 0, LOSSLESS),))
    fabric = worlds.topology(world)
    link, host = cable_of(fabric, 1), fabric.hosts[1]
    port = int(fabric.ports[host.first_port].peer)
    edits = [
        e.LinkRate(0, link, 5 * 10**9),
        e.PauseStorm(5 * US, host.id, 1 << LOSSLESS, 20_000 * US, 30_000 * US, 65_535),
        e.LinkRate(1000 * US, link, 25 * 10**9),
    ]
    second = e.PauseStorm(1100 * US, host.id, 1 << LOSSLESS, 500 * US, 100 * US, 10)

    def ended(*more: e.Edit) -> int:
        engine = simulate(Emulator(fabric, worlds.parameters(world, fabric), [*edits, *more]), 15_000 * US)
        log = engine.drain_events()
        return int(log["time_ps"][(log["kind"] == EventKind.RESUMED) & (log["port"] == port)][-1])

    asked = 5 * US + 65_535 * 512 * 200
    assert abs(ended() - (1000 * US + (asked - 1000 * US) // 5)) < US
    # A timer counts whole quanta from the end of its own frame, so a frame in between may add one and its own delay.
    assert 0 <= ended(second) - ended() < 2 * US
