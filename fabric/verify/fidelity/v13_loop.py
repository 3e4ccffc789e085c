"""V13: a routing loop of lossless links locks up exactly above r = n B / crossings.

A packet crosses TTL - 1 cables of the loop: the first switch already takes one from the TTL, and a packet that arrives
with TTL 1 is dropped (RFC 1812 section 5.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import DropReason
from fabric.theory.routing import loop_deadlock_threshold_bps
from fabric.verify.deadlock import find_cycle
from fabric.verify.fidelity.experiment import compiled, emulator, until
from fabric.verify.fidelity.table import Finding, Row, exactly

_US: Final = 10**6
_STEP_PS: Final = 500 * _US
_LOOPS: Final = {
    "two switches": ("s2", ("s1", "s2"), 64),
    "four switches": ("s3", ("s1", "s2", "s3", "s4"), 64),
    "two switches, TTL 16": ("s2", ("s1", "s2"), 16),
}
"""Attachment of the target, the loop, and the TTL of packets of hosts."""
BELOW, ABOVE = 0.8, 1.25


def _sets(loop: str, rate_bps: int) -> list[str]:
    home, ring, ttl = _LOOPS[loop]
    following = {switch: ring[(place + 1) % len(ring)] for place, switch in enumerate(ring)}
    routes = ", ".join(
        f"{{kind: route, switches: [{switch}], hosts: [target], via: [{after}], at: 0s}}"
        for switch, after in following.items()
    )
    return [
        f"topology.links[1].b={home}",
        f"topology.links[0].rate={rate_bps}bps",
        f"faults=[{routes}]",
        f"transport.ttl={ttl}",
    ]


def _locked(engine: Emulator) -> bool:
    """A cycle of paused queues that stays."""
    cycle = find_cycle(engine.state, engine.fabric)
    if not cycle:
        return False
    sent = engine.state.queues["sent_pkts"].copy()
    engine.advance(engine.now_ps + _STEP_PS)
    rows = [8 * port + c for port, c in cycle]
    return bool((engine.state.queues["sent_pkts"][rows] == sent[rows]).all()) and bool(
        find_cycle(engine.state, engine.fabric)
    )


def _run(loop: str, factor: float, end_ps: int) -> Sequence[Finding]:
    home_case = compiled("v13-loop", *_sets(loop, 10**9))
    link_bps = home_case.fabric.links[2].rate_bps
    ring = _LOOPS[loop][1]
    threshold = loop_deadlock_threshold_bps(link_bps, len(ring), home_case.params.initial_ttl - 1)
    rate = int(threshold * round(factor * 100) / 100)
    case = compiled("v13-loop", *_sets(loop, rate))
    engine = emulator(case)
    locked = until(engine, end_ps, _STEP_PS, _locked)
    name = f"{loop}, {rate / 1e9:.2f} G = {factor} x {float(threshold) / 1e9:.3f} G"
    ended = int(engine.snapshot().drops[:, :, int(DropReason.TTL)]["pkts"].sum())
    return (
        exactly(f"{name}, {end_ps / 1e9:g} ms: locks up (1: yes)", int(factor > 1), int(locked)),
        exactly(f"{name}: packets end by TTL (1: yes)", 1, int(ended > 0)),
        exactly(f"{name}: packets lost otherwise", 0, int(engine.snapshot().drops["pkts"].sum()) - ended),
    )


def findings(end_ms: int) -> Sequence[Finding]:
    """Both loops, below and above the threshold, for a given time."""
    end_ps = end_ms * 1000 * _US
    return [finding for loop in _LOOPS for factor in (BELOW, ABOVE) for finding in _run(loop, factor, end_ps)]


ROWS: Final = (
    Row(
        "V13/quick",
        "A routing loop locks up above n B / crossings, 20 ms",
        "asic",
        "C",
        "Hu et al., HotNets 2016, section 3, with crossings = TTL - 1",
        lambda: findings(20),
    ),
    Row(
        "V13",
        "A routing loop locks up above n B / crossings, 1 s",
        "asic",
        "C",
        "Hu et al., HotNets 2016, section 3, with crossings = TTL - 1",
        lambda: findings(1000),
        slow=True,
    ),
)
