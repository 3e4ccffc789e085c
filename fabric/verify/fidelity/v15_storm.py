"""V15: a NIC that pauses without end: the frame rate that holds a link, the propagation of the pause, the ports that it
reaches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import N_CLASSES, EventKind
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.theory import pause
from fabric.theory.routing import stopped_by
from fabric.verify.fidelity.experiment import (
    PS_PER_S,
    charge_bytes,
    compiled,
    emulator,
    of_kind,
    port,
    simulate,
    wire_bytes,
)
from fabric.verify.fidelity.table import Finding, Row, between, exactly, within

RATES: Final = {"10G": 10, "25G": 25, "40G": 40, "100G": 100, "200G": 200, "400G": 400, "800G": 800}
_LOSSLESS: Final = 3
_PERIODS: Final = 4


def _held_share(rate: str, frames_per_second: int) -> float:
    """Share of time for which the switch's port is paused, over whole periods of the storm."""
    case = compiled(
        "v15-hold",
        *(f"topology.links[{link}].rate={rate}" for link in (0, 1)),
        f"faults[0].frames_per_second={frames_per_second}",
    )
    engine = emulator(case)
    row = port(case.fabric, "switch", "victim")
    gap_ps = PS_PER_S // frames_per_second
    paused = []
    for periods in (1, 1 + _PERIODS):
        engine.advance(periods * gap_ps + gap_ps // 2)
        paused.append(int(engine.snapshot().prios[row, _LOSSLESS]["rx_paused_ps"]))
    return (paused[1] - paused[0]) / (_PERIODS * gap_ps)


def _holding() -> Sequence[Finding]:
    findings = []
    for name, gbps in RATES.items():
        needed = pause.frames_per_second_to_hold(gbps * 10**9)
        for pace in (math.ceil(needed), int(needed * 0.75)):
            expected = pause.paused_share(gbps * 10**9, pace)
            findings.append(
                within(
                    f"{name}, {pace} frames/s ({needed:.2f} hold it): share of time paused",
                    expected,
                    _held_share(name, pace),
                    1e-6,
                    "1e-6: the gap is whole picoseconds",
                )
            )
    return findings


def _climb(dynamic_th: int) -> Sequence[Finding]:
    case = compiled("v15-climb", f"switches.buffer.dynamic_th={dynamic_th}")
    sent = of_kind(simulate(case).drain_events(), EventKind.PAUSE_SENT)
    stopped = _first_moments(case)
    alpha = Fraction(2) ** dynamic_th
    findings = []
    for switch, downstream, upstream in (
        ("leaf1", "host1", "spine1"),
        ("spine1", "leaf1", "leaf2"),
        ("leaf2", "spine1", "host4"),
    ):
        pool = case.params.switches[case.fabric.by_name[switch].id].pools[0].size_bytes
        frames = pause.charges_until_pause(pool, alpha, charge_bytes(case, switch))
        rate = case.fabric.links[0].rate_bps
        expected = pause.climb_s(frames * wire_bytes(case), rate)
        towards = port(case.fabric, switch, upstream)
        moment = int(sent["time_ps"][sent["port"] == towards][0])
        ours = (moment - stopped[port(case.fabric, switch, downstream)]) / PS_PER_S
        findings.append(
            within(
                f"alpha 2^{dynamic_th}: {switch} stopped until it pauses {upstream}, us",
                expected * 1e6,
                ours * 1e6,
                0.01,
                "1 %: a frame more or less",
            )
        )
    return findings


def _first_moments(case: CompiledScenario) -> dict[int, int]:
    """Per port, when it first received XOFF."""
    engine = simulate(case)
    first: dict[int, int] = {}
    for row in of_kind(engine.drain_events(), EventKind.PAUSED):
        first.setdefault(int(row["port"]), int(row["time_ps"]))
    return first


def _propagation() -> Sequence[Finding]:
    return [*_climb(-3), *_climb(0)]


_FLOWS: Final = (
    ("host5", "host1"),
    ("host2", "host1"),
    ("host6", "host3"),
    ("host4", "host8"),
    ("host7", "host8"),
    ("host9", "host6"),
    ("host8", "host9"),
)
"""To the victim from a remote and the same leaf; to its neighbour from that remote leaf (a shared cable); others."""


def _path(flow: tuple[str, str]) -> list[str]:
    leaf_of = {f"host{number}": f"leaf{(number + 2) // 3}" for number in range(1, 10)}
    source, target = flow
    if leaf_of[source] == leaf_of[target]:
        return [source, leaf_of[source], target]
    return [source, leaf_of[source], "spine1", leaf_of[target], target]


def _paused_hosts(engine: Emulator, hosts: Iterable[str]) -> set[str]:
    fabric = engine.fabric
    paused = engine.snapshot().paused[:, _LOSSLESS]
    return {host for host in hosts if paused[fabric.by_name[host].first_port]}


def _blast() -> Sequence[Finding]:
    flows = ", ".join(f"{{src: {source}, dst: {target}, size: 1GB}}" for source, target in _FLOWS)
    case = compiled(
        "v15-climb",
        f"workload[0].messages=[{flows}]",
        "run.duration=20ms",
        "telemetry.events=[]",
        "switches.buffer.dynamic_th=-5",
    )
    engine = simulate(case)
    senders = {source for source, _ in _FLOWS}
    expected = {source for source, _ in stopped_by([_path(flow) for flow in _FLOWS], ("leaf1", "host1"))} & senders
    ours = _paused_hosts(engine, senders)
    queue = engine.state.queues[port(case.fabric, "leaf1", "host1") * N_CLASSES + _LOSSLESS]
    return (
        exactly("stopped senders", len(expected), len(ours)),
        exactly("of them not predicted", 0, len(ours - expected)),
        exactly("lossless packets dropped", 0, int(engine.state.drops["pkts"].sum())),
        exactly("the victim's port holds packets (1: yes)", 1, int(queue["depth_pkts"] > 0)),
    )


_OLD_ALPHA, _NEW_ALPHA = -4, -6
_RATIO: Final = 5


def _alpha() -> Sequence[Finding]:
    """A new switch that came with alpha 1/64 where the old one had 1/16, under the same load."""
    sent = {
        shift: int(
            simulate(compiled("v15-alpha", f"switches.buffer.dynamic_th={shift}")).state.prios["tx_xoff_pkts"].sum()
        )
        for shift in (_OLD_ALPHA, _NEW_ALPHA)
    }
    most = sent[_NEW_ALPHA] / _RATIO
    return (
        between(
            f"XOFF frames with alpha 1/16, beside {sent[_NEW_ALPHA]} with 1/64",
            most,
            sent[_OLD_ALPHA],
            0,
            most,
            f"fewer than one {_RATIO}th",
        ),
        exactly("with alpha 1/64: pauses (1: yes)", 1, int(sent[_NEW_ALPHA] > 0)),
    )


ROWS: Final = (
    Row(
        "V15/hold",
        "XOFF frames a second that hold a link, 10G to 800G",
        "asic",
        "C",
        "IEEE 802.3 annex 31B: 65535 quanta of 512 bit times",
        _holding,
    ),
    Row(
        "V15/climb",
        "A pause climbs three hops: threshold over rate",
        "asic",
        "C",
        "dynamic threshold alpha B / (1 + alpha) of 32 MB, in whole frames",
        _propagation,
    ),
    Row(
        "V15/blast",
        "A storm stops exactly the senders whose path shares a stopped cable",
        "asic",
        "C",
        "closure over paths; phenomenon: Guo et al., SIGCOMM 2016, section 4.3",
        _blast,
    ),
    Row(
        "V15/alpha",
        "A smaller share of the buffer makes pauses appear: alpha 1/16 against 1/64",
        "asic",
        "C",
        "the dynamic limit falls to a quarter; phenomenon: Guo et al., SIGCOMM 2016, section 6.2",
        _alpha,
    ),
)
