"""V9: flows that cross no congested port suffer: from pauses without congestion control, from marks with it.

The victim's set-up is that of the DCQCN paper's testbed: two pods of two racks, two leaves each, two spines, 40G; four
hosts of the victim's rack write to a host of the other pod, then one and two hosts beside that receiver join. Where
the victim shares an uplink depends on hashes, so the median over seeds is compared.
The innocent flow's is that of a public validation of DCQCN (ns-3): two long flows share a cable between two switches,
fifteen hosts burst to the receiver of one of them. It leaves open what the fifteen hosts send in their millisecond
(here: messages of 4 KB at line rate) and the switch's thresholds (here: alpha 1/16 of 9 MB, as in that simulator).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import TraceBit
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.verify.fidelity.experiment import PS_PER_S, compiled, emulator, port, wire_bytes
from fabric.verify.fidelity.table import Finding, Row, between, exactly, missing

_NAME, _INNOCENT = "v09-victim", "v09-innocent"
_MS: Final = PS_PER_S // 1000
_LOSSLESS: Final = 3
_SENDERS: Final = ("host1", "host2", "host3", "host4", "host11", "host12")
_NEAR: Final = 4
"""Of them in the victim's rack."""
_SEEDS, _SEEDS_DCQCN = 60, 12
_ROOTS: Final = 10
_FALL: Final = 0.7
_KEPT: Final = 0.9
_DCQCN: Final = (
    "transport.cc=dcqcn",
    "transport.dcqcn=paper-2015",
    "switches.ecn={kmin: 40KB, kmax: 200KB, pmax: 0.1}",
    "run.duration=150ms",
)
_FULL: Final = 0.95


def _case(senders: int, seed: int, *sets: str) -> CompiledScenario:
    return compiled(_NAME, f"workload[1].senders=[{', '.join(_SENDERS[:senders])}]", f"run.seed={seed}", *sets)


def _victim_bps(case: CompiledScenario, settle_ps: int, end_ps: int) -> float:
    engine = emulator(case, record=TraceBit(0))
    engine.advance(settle_ps)
    before = int(engine.state.rqps[0]["expected_psn"])
    engine.advance(end_ps)
    return (int(engine.state.rqps[0]["expected_psn"]) - before) * wire_bytes(case) * 8 * PS_PER_S / (end_ps - settle_ps)


def _median_bps(senders: int, seeds: int, settle_ms: int, end_ms: int, *sets: str) -> float:
    return float(
        np.median(
            [_victim_bps(_case(senders, seed, *sets), settle_ms * _MS, end_ms * _MS) for seed in range(1, seeds + 1)]
        )
    )


def _root(case: CompiledScenario) -> str:
    """From the victim's rack against the pauses, always by the port that was paused longest, to the switch that was not
    paused; there the deepest queue, by the name of its peer.
    """
    engine = emulator(case, record=TraceBit(0))
    engine.advance(10 * _MS)
    now, fabric = engine.snapshot(), engine.fabric
    held = now.prios["rx_paused_ps"][:, _LOSSLESS]
    node = fabric.by_name["p1-leaf1"]
    for _ in range(len(fabric.switches)):
        longest = max(node.ports, key=lambda row: int(held[row]))
        if held[longest] < _MS // 10:
            deepest = max(node.ports, key=lambda row: int(now.queues[row, _LOSSLESS]["depth_bytes"]))
            return fabric.peer_of(deepest).name
        node = fabric.peer_of(longest)
    return ""


def _over(one: float, other: float) -> float:
    """A ratio; infinite where the victim got nothing, which fails every expectation."""
    return one / other if other else math.inf


def without_control(seeds: int = _SEEDS) -> Sequence[Finding]:
    """The victim's median with no, one and two more senders beside the receiver."""
    alone, one, two = (_median_bps(_NEAR + more, seeds, 5, 15) for more in (0, 1, 2))
    roots = [_root(_case(len(_SENDERS), seed)) for seed in range(1, _ROOTS + 1)]
    return (
        between(
            "no control: one more remote sender, victim's median over that without",
            1.0,
            _over(one, alone),
            0.0,
            1.0,
            "falls",
        ),
        between("no control: two more over one more", 1.0, _over(two, one), 0.0, 1.0, "falls"),
        between(
            "no control: two more over none",
            0.45,
            _over(two, alone),
            0.0,
            _FALL,
            f"at most {_FALL}: the paper's falls by half",
        ),
        between(
            f"runs of {_ROOTS} whose pauses lead to the receiver's port",
            _ROOTS,
            roots.count("host20"),
            1,
            _ROOTS,
            "at least one; where hashes put all on one cable to its rack, they end there",
        ),
        exactly(
            f"runs of {_ROOTS} whose pauses lead there or to a cable to its rack",
            _ROOTS,
            roots.count("host20") + roots.count("p2-leaf2"),
        ),
    )


def with_control(seeds: int = _SEEDS_DCQCN) -> Sequence[Finding]:
    """The same with DCQCN."""
    alone, two = (_median_bps(_NEAR + more, seeds, 100, 150, *_DCQCN) for more in (0, 2))
    return [
        between(
            "DCQCN: two more senders over none, victim's median",
            1.0,
            _over(two, alone),
            _KEPT,
            2.0,
            f"at least {_KEPT}",
        )
    ]


def _used(engine: Emulator, until_ms: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(share of the shared cable in use, rate of the innocent flow) in every 0.1 ms."""
    row, step = port(engine.fabric, "near", "far"), _MS // 10
    used, rates, busy = np.zeros(until_ms * 10), np.zeros(until_ms * 10), 0
    for place in range(until_ms * 10):
        engine.advance((place + 1) * step)
        now = int(engine.snapshot().ports[row]["busy_ps"])
        used[place], busy = (now - busy) / step, now
        rates[place] = float(engine.state.qps[0]["rate_bps"])
    return used, rates


def innocent() -> Sequence[Finding]:
    """Lowest rate of the innocent flow, and how long the shared cable is not full."""
    engine = emulator(compiled(_INNOCENT), record=TraceBit(0))
    used, rates = _used(engine, 50)
    burst = 30
    mean = np.convolve(used, np.ones(10) / 10, "valid")  # over a millisecond from there on
    full = np.flatnonzero(mean[burst + 1 :] >= _FULL)
    idle_ms = float(full[0]) / 10 if len(full) else 50.0
    paused = int(engine.state.prios["tx_xoff_pkts"].reshape(-1, 8)[port(engine.fabric, "far", "near")].sum())
    return (
        exactly("pauses reach the shared cable (1: yes)", 1, int(paused > 0)),
        between(
            "the innocent's lowest rate over that before the burst",
            0.2,
            float(rates[burst : burst + 60].min() / rates[burst - 1]),
            0.0,
            0.5,
            "cut to less than half",
        ),
        missing(between("the shared cable is not full for, ms", 16.0, idle_ms, 10.0, 25.0, "10 to 25 ms"), 25.1, 40.0),
    )


ROWS: Final = (
    Row(
        "V9/victim",
        "A victim of pauses: more remote congestion leaves it less",
        "asic",
        "C",
        "Zhu et al., SIGCOMM 2015, section 2.2 (set-up and phenomenon)",
        without_control,
        slow=True,
    ),
    Row(
        "V9/victim-dcqcn",
        "The same with DCQCN: the victim keeps what it had",
        "asic",
        "C",
        "Zhu et al., SIGCOMM 2015, section 6.2 (claim)",
        with_control,
        slow=True,
    ),
    Row(
        "V9/innocent",
        "A flow that shares a cable with a congested flow is cut too, and the cable is idle",
        "asic",
        "R",
        "sc20anonymous/DCQCN-validation, README: 16 ms (ns-3)",
        innocent,
        known_miss="How much the fifteen hosts send in their millisecond is not stated. At line rate, as here, it is "
        "75 MB: the receiver's port alone needs 15 ms for them, and only then can the guilty flow take its half "
        "again. What remains is the paper's additive increase of 40 Mb/s per 50 us.",
    ),
)
