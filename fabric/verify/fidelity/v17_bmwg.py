"""V17: the sweeps of the BMWG drafts on AI fabrics, in their units.

Those are completion time over ideal, max-mean ratio (MMR), Jain's fairness index (JFI), PAUSE events a second, paused
time, share of packets marked, job completion time (JCT) ratio. Each has a computed expectation: the time on the wire,
the size of the buffer, the largest of a multinomial, the bytes that pass a deadlock. The 300 s of the deadlock pattern
are simulated in full: nothing moves, so they cost little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import TraceBit
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.theory.collisions import expected_max_over_mean
from fabric.theory.routing import balance
from fabric.verify.fidelity import dcqcn_link, v16_ecmp
from fabric.verify.fidelity.experiment import PS_PER_S, compiled, emulator, jain, simulate, wire_bytes
from fabric.verify.fidelity.table import Finding, Row, between, exactly, missing, within

_INCAST, _JOB, _RING = "v17-incast", "v17-job", "v14-ring"
_US: Final = PS_PER_S // 10**6
_MS: Final = PS_PER_S // 1000
SENDERS: Final = (2, 4, 8, 16, 32, 64)
QUEUE_PAIRS: Final = (1, 4, 8, 16, 32)
FLOWS: Final = (4, 16, 64, 256)
_LOSSLESS: Final = 3
_UPLINKS: Final = 8
_MARKED: Final = (
    "transport.cc=dcqcn",
    "transport.dcqcn=hpcc-dcqcn",
    "switches.ecn={kmin: 400KB, kmax: 1600KB, pmax: 0.2}",
)


def _message_ps(case: CompiledScenario, size_bytes: int) -> int:
    """A whole message on the wire."""
    frames = case.params.frames
    packets = -(-size_bytes // frames.payload_bytes)
    total = size_bytes + frames.reth_bytes + packets * (frames.data_header_bytes + frames.wire_overhead_bytes)
    return total * 8 * PS_PER_S // case.fabric.links[0].rate_bps


def incast(senders: Sequence[int] = SENDERS) -> Sequence[Finding]:
    """N to 1, 1 MB each, without congestion control and with it."""
    findings: list[Finding] = []
    for count in senders:
        case = compiled(_INCAST, f"topology.hosts_per_leaf={count + 1}")
        engine = simulate(case, record=TraceBit(0))
        messages = engine.state.messages[1:]
        fct = (messages["end_ps"] - messages["start_ps"]).astype(np.float64)
        size = int(case.params.messages.size_bytes[0])
        ideal, memory = (
            count * _message_ps(case, size),
            case.params.switches[case.fabric.switches[0].id].pools[0].size_bytes,
        )
        paused = (
            engine.snapshot().prios["rx_paused_ps"].sum(axis=1)[[host.first_port for host in case.fabric.hosts[1:]]]
        )
        name, fits = f"{count} to 1", (count - 1) * size < memory // 2
        seconds = fct.max() / PS_PER_S
        findings += [
            between(
                f"{name}: last completion, us",
                ideal / _US,
                fct.max() / _US,
                ideal / _US,
                ideal / _US + 4,
                "up to 4 us of path",
            ),
            between(f"{name}: JFI of the rates", 1.0, jain(1 / fct), 0.99, 1.0, "at least 0.99"),
            exactly(f"{name}: packets lost", 0, int(engine.state.drops["pkts"].sum())),
            exactly(f"{name}: share of packets marked", 0, int(engine.state.queues["marked_pkts"].sum())),
        ]
        events = int(engine.state.prios["tx_xoff_pkts"].sum())
        if fits:
            findings.append(exactly(f"{name}: PAUSE events a second", 0, events / seconds))
        if count * size > 2 * memory:
            # A sender is held while it has not sent, but for its own message; the last memory's worth is sent before.
            most = float(ideal - _message_ps(case, size))
            whole = memory + sum(port.pgs[_LOSSLESS].xoff_bytes for port in case.params.ports if port.pgs)
            least = most - whole * 8 * PS_PER_S / case.fabric.links[0].rate_bps
            findings += [
                between(
                    f"{name}: PAUSE events a second", 1e5, events / seconds, 1.0, 1e7, "some: the buffer is too small"
                ),
                between(
                    f"{name}: paused time of a sender, us",
                    most / _US,
                    float(paused.mean()) / _US,
                    least / _US,
                    most / _US,
                    "ideal less its own message, and less up to the memory at line rate",
                ),
            ]
        marked = simulate(compiled(_INCAST, f"topology.hosts_per_leaf={count + 1}", *_MARKED), record=TraceBit(0))
        share = int(marked.state.queues["marked_pkts"].sum()) / int(marked.state.queues["sent_pkts"].sum())
        findings.append(
            between(f"{name}, DCQCN: share of packets marked", 0.1, share, 0.001, 0.5, "some, and not most")
        )
    return findings


def spread(queue_pairs: Sequence[int] = QUEUE_PAIRS) -> Sequence[Finding]:
    """MMR and JFI of eight uplinks for so many queue pairs a pair of hosts."""
    findings = []
    for count in queue_pairs:
        ours = balance(v16_ecmp.loads(_UPLINKS, count))
        theory = expected_max_over_mean(_UPLINKS * count, _UPLINKS)
        findings.append(within(f"{_UPLINKS} uplinks, {count} QP: MMR", theory, ours.max_over_mean, 0.05))
    return findings


def _last_unfair_ms(flows: int) -> float:
    """From the start of as many flows again to the end of the last 10 ms in which one half is not within 10 % of its
    share.
    """
    old, new = (", ".join(f"host{number}" for number in range(first, first + flows)) for first in (2, flows + 2))
    case = compiled(
        dcqcn_link.NAME,
        f"topology.hosts_per_leaf={2 * flows + 1}",
        "switches.mark=dequeue",
        "run.duration=400ms",
        "switches.ecn={kmin: 40KB, kmax: 1640KB, pmax: 1}",
        f"workload=[{{kind: incast, name: old, receiver: host1, senders: [{old}], size: 10GB}},"
        f" {{kind: incast, name: new, receiver: host1, senders: [{new}], size: 10GB, start: 100ms}}]",
    )
    engine = emulator(case, record=TraceBit(0))
    engine.advance(100 * _MS)
    before = engine.state.rqps["expected_psn"].astype(np.float64)
    fair = case.fabric.links[0].rate_bps / (8 * wire_bytes(case)) / 2 * 0.01
    last = 0
    for step in range(1, 31):
        engine.advance((100 + 10 * step) * _MS)
        now = engine.state.rqps["expected_psn"].astype(np.float64)
        halves = [float((now - before)[part].sum()) / fair for part in (slice(0, flows), slice(flows, 2 * flows))]
        before = now
        if max(abs(half - 1) for half in halves) > 0.1:
            last = 10 * step
    return float(last)


def convergence(flows: Sequence[int] = FLOWS) -> Sequence[Finding]:
    """M long flows, and M more."""
    findings = []
    for count in flows:
        found = between(
            f"{count} to {2 * count} flows: fair to 10 % after, ms",
            50.0,
            _last_unfair_ms(count),
            0.0,
            200.0,
            "at most 200 ms",
        )
        findings.append(missing(found, 210.0, 300.0) if count == max(FLOWS) else found)
    return findings


def job(rounds: int = 20) -> Sequence[Finding]:
    """Compute, send to the next host, wait for the one before: JCT over rounds x (C + S / rate)."""
    hosts, compute_us, size_mb = 4, 100, 4
    messages = []
    for step in range(rounds):
        for host in range(hosts):
            after = f", after: [s{step - 1}h{(host - 1) % hosts}], delay: {compute_us}us" if step else ""
            messages.append(
                f"{{id: s{step}h{host}, src: host{host + 1}, dst: host{(host + 1) % hosts + 1},"
                f" size: {size_mb}MB{after}}}"
            )
    case = compiled(_JOB, f"workload[0].messages=[{', '.join(messages)}]")
    engine = simulate(case, record=TraceBit(0))
    ended = float(engine.state.messages["end_ps"][1:].max())
    # The first messages wait for nothing, so one time of computing is missing.
    begun = float(engine.state.messages["start_ps"][1:].min())
    ideal = rounds * _message_ps(case, size_mb * 10**6) + (rounds - 1) * compute_us * _US
    return (
        between(
            f"{rounds} rounds: JCT ratio",
            1.0,
            (ended - begun) / ideal,
            1.0,
            1.01,
            "at least 1, and 1 % for the path of each message",
        ),
        exactly("messages not done", 0, int((engine.state.messages["end_ps"][1:] <= 0).sum())),
    )


def _delivered(engine: Emulator) -> int:
    return int(engine.state.hosts["goodput_bytes"].sum())


def deadlock(seconds: int = 300) -> Sequence[Finding]:
    """The ring of V14, locked by its bursts, for the draft's 300 s."""
    engine = emulator(compiled(_RING, f"run.duration={seconds}s"), record=TraceBit(0))
    engine.advance(10 * _MS)
    before = _delivered(engine)
    engine.advance(seconds * PS_PER_S)
    return (
        exactly(f"bytes delivered in {seconds} s of deadlock", 0, _delivered(engine) - before),
        exactly("packets lost", 0, int(engine.state.drops["pkts"].sum())),
    )


_DRAFT: Final = "IETF BMWG drafts on benchmarking AI fabrics (patterns and units)"

ROWS: Final = (
    Row(
        "V17/incast",
        "Incast of 2 to 64: completion, JFI, PAUSE events, paused time, marks",
        "asic",
        "C",
        f"{_DRAFT}; N S / rate, buffer size",
        incast,
    ),
    Row(
        "V17/spread",
        "MMR of eight uplinks, 1 to 32 queue pairs",
        "asic",
        "C",
        f"{_DRAFT}; largest of a multinomial",
        spread,
        slow=True,
    ),
    Row(
        "V17/convergence",
        "DCQCN: as many flows again, until all are fair",
        "asic",
        "C",
        f"{_DRAFT}; fair share; marking at dequeue, 40 KB to 1640 KB",
        convergence,
        slow=True,
        known_miss="The line-rate start of 256 flows fills the buffer, and PFC keeps it full: news of congestion is a "
        "whole buffer old when it is acted upon, and halves that start together keep swinging. With marking at enqueue "
        "it is so from 64 flows on.",
    ),
    Row("V17/job", "A ring that computes and sends: JCT ratio", "asic", "C", f"{_DRAFT}; rounds x (C + S / rate)", job),
    Row("V17/deadlock", "A deadlock pattern for 300 s", "asic", "C", f"{_DRAFT}; nothing moves", deadlock, slow=True),
)
