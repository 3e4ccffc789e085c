"""V0: every shipped DCQCN parameter set does what its parameters say, and none depends on its least rate.

Floor. The first CNP cuts a queue pair to 1 Mb/s at c (initial_alpha 1, cut_divisor 1), and no further CNP comes. The
pacing debt of its last packet, D bits, is paid at that rate f until the increase timer T halves the gap to the target
R:

    next departure = c + D / f                            if D <= f T
                     c + T + (D - f T) / ((f + R) / 2)    otherwise, R being line rate

A packet at f alone would take 33 ms.

Incast. n = 15 hosts send 1 MB each to one. Where an increase timer T outlasts the halvings from line rate R to the
floor f, all senders are at f when the queue is empty, and the link carries n f until the timer raises them: the ideal
completion moves by T (1 - n f / R) at least and by T at most, once, because the target is still high. A timer as
short as the interval of cuts may leave no silence. With clamp_tgt_rate every cut lowers the target, too, to 2 f at
most, which lasts through fast recovery; then only R_AI brings it back.

Long flows keep the link busy, get equal shares and pause nobody once they have settled: PFC would share the link, too.
A window bounds the queue of n flows by n windows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import EventKind, TraceBit
from fabric.dataplane.state.params import DcqcnParams
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS, DEFAULT_DCQCN
from fabric.verify.fidelity.experiment import (
    PS_PER_S,
    compiled,
    emulator,
    frame_bytes,
    jain,
    of_kind,
    port,
    simulate,
    until,
    wire_bytes,
)
from fabric.verify.fidelity.table import Finding, Row, between, exactly

_NAME: Final = "v00-presets"
_MARKING: Final = "switches.ecn={kmin: 100KB, kmax: 400KB, pmax: 0.2}"
_US: Final = 10**6
_MS: Final = 10**9
_FLOOR_BPS: Final = 10**6
_FLOORS_MBPS: Final = (1, 3, 10)
_FLOOR_SPREAD: Final = 0.05
_SLACK: Final = 0.02
"""Of the ideal completion: the way of the last packets, and senders that end one after the other."""
_CLAMPED: Final = 3.0
_BURST_RATIO: Final = 1.5
_PEER_RATIO: Final = 2.0
_PEER: Final = "hpcc-dcqcn"
_SEEDS: Final = (1, 2, 3)
_BUSY, _FAIR = 0.8, 0.95


def _senders(count: int) -> str:
    return f"workload[0].senders=[{', '.join(f'host{number}' for number in range(2, count + 2))}]"


def _dcqcn(case: CompiledScenario) -> DcqcnParams:
    params = case.params.transport.dcqcn
    if params is None:
        raise ValueError("the scenario has no DCQCN")
    return params


# ===== floor =====


def departure_after_a_cut(preset: str) -> Finding:
    """When the first queue pair that is cut to its floor sends again; looked for twice as long as it should take."""
    case = compiled(
        _NAME,
        _senders(2),
        "switches.ecn={kmin: 5KB, kmax: 6KB, pmax: 1}",
        "transport.window=off",  # a window scaled with the rate would hold the packet back, too
        f"transport.dcqcn={{preset: {preset}, initial_alpha: 1, cut_divisor: 1, least_kept: 0, "
        f"cnp_interval: 9ms, min_rate: {_FLOOR_BPS // 10**6}Mbps}}",
    )
    engine = emulator(case, record=TraceBit.RATE)
    cuts: list[tuple[int, int]] = []

    def is_cut(it: Emulator) -> bool:
        cuts.extend((int(row["time_ps"]), int(row["qp"])) for row in of_kind(it.drain_events(), EventKind.RATE_CUT))
        return bool(cuts)

    until(engine, _MS, _US // 100, is_cut)
    cut_ps, qp = cuts[0]
    row = engine.state.qps[qp]
    nic, sent = engine.state.ports[int(row["port"])], int(row["sent_pkts"])
    line, frame_ps = int(row["line_bps"]), 8 * wire_bytes(case) * PS_PER_S // int(row["line_bps"])
    owed = max(int(nic["busy_until_ps"]) - cut_ps, 0) * line / PS_PER_S
    timer_ps = _dcqcn(case).increase_timer_ps
    at_floor = _FLOOR_BPS * timer_ps / PS_PER_S
    expected = owed * PS_PER_S / _FLOOR_BPS
    if owed > at_floor:
        expected = timer_ps + (owed - at_floor) * PS_PER_S / ((_FLOOR_BPS + line) // 2)
    has_left = until(
        engine, cut_ps + int(2 * expected), frame_ps // 4, lambda it: bool(it.state.qps[qp]["sent_pkts"] > sent)
    )
    waited = (int(nic["busy_until_ps"]) - frame_ps if has_left else engine.now_ps) - cut_ps
    return between(
        "from the cut to the next departure, us",
        expected / _US,
        waited / _US,
        (expected - 2) / _US,
        (expected + 2) / _US,
        "2 ps",
    )


def _floor(preset: str) -> Sequence[Finding]:
    return [departure_after_a_cut(preset)]


# ===== incast =====


def _completion_ps(case: CompiledScenario) -> int:
    """When the last message is complete; the end of the run if one is not."""
    messages = simulate(case, record=TraceBit(0)).state.messages[1:]
    if (messages["end_ps"] < 0).any():
        return case.duration_ps
    return int(messages["end_ps"].max())


def _ideal_ps(case: CompiledScenario) -> float:
    """Time of all bytes on the cable of the receiver."""
    frames, rate = case.params.frames, case.fabric.links[0].rate_bps
    sizes = case.params.messages.size_bytes.astype(np.float64)
    packets = np.ceil(sizes / frames.payload_bytes)
    bits = 8 * (sizes + packets * (wire_bytes(case) - frames.payload_bytes) + frames.reth_bytes)
    return float(bits.sum()) * PS_PER_S / rate


def _incast_bounds_ps(case: CompiledScenario, ideal: float) -> tuple[float, float, str]:
    """Bounds of the last completion, and where they come from; `ideal` is the time of all bytes on the cable."""
    dcqcn, line = _dcqcn(case), case.fabric.links[0].rate_bps
    timer, senders = dcqcn.increase_timer_ps, len(case.params.messages.size_bytes)
    silence = timer * (1 - senders * dcqcn.min_rate_bps / line)
    if dcqcn.clamp_target:
        least = ideal + dcqcn.fast_recovery_steps * (2 * silence - timer)
        return (
            least,
            _CLAMPED * ideal,
            f"fast recovery at no more than twice the floor; at most {_CLAMPED:g} times ideal",
        )
    high, until_floor = ideal + timer + _SLACK * ideal, math.ceil(math.log2(line / dcqcn.min_rate_bps))
    if until_floor * dcqcn.decrease_interval_ps < timer:
        return ideal + silence, high, f"a timer at the floors after the ideal; {_SLACK:.0%} of it above"
    return ideal, high, f"a timer after the ideal at most, and {_SLACK:.0%} of it"


def _incast(preset: str) -> Sequence[Finding]:
    case = compiled(_NAME, _MARKING, f"transport.dcqcn={preset}")
    ideal = _ideal_ps(case)
    low, high, why = _incast_bounds_ps(case, ideal)
    whole = [
        _completion_ps(compiled(_NAME, _MARKING, f"transport.dcqcn={{preset: {preset}, min_rate: {floor}Mbps}}"))
        for floor in _FLOORS_MBPS
    ]
    return (
        between(
            "15 to 1, 1 MB each: last completion, us",
            ideal / _US,
            _completion_ps(case) / _US,
            low / _US,
            high / _US,
            why,
        ),
        between(
            "the same with floors of 1, 3 and 10 Mb/s: largest over smallest, less 1",
            0.0,
            max(whole) / min(whole) - 1,
            0.0,
            _FLOOR_SPREAD,
            "5 %",
        ),
    )


def _long(preset: str) -> Sequence[Finding]:
    findings: list[Finding] = []
    for count in (2, 8):
        case = compiled(
            _NAME, _MARKING, _senders(count), f"transport.dcqcn={preset}", "workload[0].size=1GB", "run.stop=duration"
        )
        engine = emulator(case, record=TraceBit(0))
        bottleneck = engine.state.ports[port(case.fabric, "leaf1", "host1")]
        frame_ps = 8 * wire_bytes(case) * PS_PER_S // case.fabric.links[0].rate_bps
        engine.advance(20 * _MS)
        busy, before = int(bottleneck["busy_ps"]), engine.state.rqps["expected_psn"].astype(np.float64)
        pauses = int(engine.state.prios["tx_xoff_pkts"].sum())
        engine.advance(60 * _MS)
        moved = engine.state.rqps["expected_psn"] - before
        findings += [
            between(
                f"{count} flows: utilisation over 40 ms",
                1.0,
                (int(bottleneck["busy_ps"]) - busy) / (40 * _MS),
                _BUSY,
                1 + frame_ps / (40 * _MS),
                f"at least {_BUSY:g}; a frame counts when it begins",
            ),
            between(f"{count} flows: Jain's index over 40 ms", 1.0, jain(moved), _FAIR, 1.0, f"at least {_FAIR:g}"),
            exactly(
                f"{count} flows: PAUSE frames over 40 ms", 0, int(engine.state.prios["tx_xoff_pkts"].sum()) - pauses
            ),
        ]
        if case.params.transport.window_bytes:
            most = count * (case.params.transport.window_bytes + frame_bytes(case))
            findings.append(
                between(
                    f"{count} flows: deepest queue, bytes",
                    float(most),
                    int(engine.state.queues["peak_bytes"].max()),
                    0.0,
                    float(most),
                    "at most a window and a frame of each flow",
                )
            )
    return findings


def _default() -> Sequence[Finding]:
    findings = []
    for seed in _SEEDS:
        burst = compiled(_NAME, _senders(6), "workload[0].size=8MB", f"run.seed={seed}")
        ours, peer = (
            _completion_ps(compiled(_NAME, _MARKING, f"run.seed={seed}", f"transport.dcqcn={preset}"))
            for preset in (DEFAULT_DCQCN, _PEER)
        )
        ideal = _ideal_ps(burst)
        findings += [
            between(
                f"seed {seed}: 6 to 1, 8 MB each, all defaults: last completion over ideal",
                1.0,
                _completion_ps(burst) / ideal,
                1.0,
                _BURST_RATIO,
                f"at most {_BURST_RATIO:g}",
            ),
            between(
                f"seed {seed}: 15 to 1, 1 MB each: last completion over that of {_PEER}",
                1.0,
                ours / peer,
                0.0,
                _PEER_RATIO,
                f"at most {_PEER_RATIO:g}",
            ),
        ]
    return findings


_FIRST: Final = sorted(DCQCN_PRESETS, key=lambda name: name != DEFAULT_DCQCN)
"""The default before the others."""

ROWS: Final = (
    Row(
        "V0/default",
        f"The default parameter set, {DEFAULT_DCQCN}: bursts beside the ideal and beside {_PEER}",
        "asic",
        "C",
        "wire time of all bytes; the reference simulator's parameter set",
        _default,
    ),
    *(
        Row(
            f"V0/floor/{name}",
            f"{name}: a queue pair at its floor sends when its timer has raised the rate",
            "asic",
            "C",
            "closed form c + T + (D - f T) / ((f + R) / 2)",
            partial(_floor, name),
        )
        for name in _FIRST
    ),
    *(
        Row(
            f"V0/incast/{name}",
            f"{name}: an incast, and the same with other floors",
            "asic",
            "C",
            "wire time of all bytes, increase timer",
            partial(_incast, name),
        )
        for name in _FIRST
    ),
    *(
        Row(
            f"V0/long/{name}",
            f"{name}: long flows fill the link and share it",
            "asic",
            "C",
            "full link, equal shares",
            partial(_long, name),
        )
        for name in _FIRST
    ),
)
