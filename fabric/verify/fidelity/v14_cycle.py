"""V14: a cyclic buffer dependency is needed for deadlock and not enough: a ring that just fits runs, bursts deadlock
it.

As Hawkeye's deadlock case has it: four switches in a ring at 100G, hosts of 50G whose flows fill the ring clockwise,
hosts of 100G that burst, static thresholds, no congestion control. The places of hosts and the direction of flows are
ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import EventKind
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.theory.routing import buffer_dependency_cycles
from fabric.topology.model import Fabric
from fabric.topology.paths import equal_cost_ports
from fabric.verify.deadlock import find_cycle
from fabric.verify.fidelity.experiment import compiled, emulator, of_kind, until
from fabric.verify.fidelity.table import Finding, Row, between, exactly, within

_US: Final = 10**6
_RING: Final = ("s1", "s2", "s3", "s4")
_LONG: Final = 4
"""Long flows."""
_POLL_US, _DETECTION_US = 200, 400


def _arrived(engine: Emulator) -> int:
    return int(engine.state.hosts["goodput_bytes"].sum())


def _ring_paths() -> list[list[str]]:
    """Of the long flows."""
    return [[f"a{k + 1}", *(_RING[(k + step) % 4] for step in range(3)), f"b{(k + 2) % 4 + 1}"] for k in range(4)]


def _goodput_bps(case: CompiledScenario) -> float:
    """Payload of the long flows when each has its host's rate."""
    frames = case.params.frames
    share = frames.payload_bytes / (frames.payload_bytes + frames.data_header_bytes + frames.wire_overhead_bytes)
    first = case.fabric.by_name["a1"].first_port
    return _LONG * case.fabric.links[case.fabric.ports[first].link].rate_bps * share


def _without_bursts() -> Sequence[Finding]:
    case = compiled("v14-ring", *(f"workload[1].messages[{burst}].start=5999us" for burst in range(4)))
    engine = emulator(case)
    engine.advance(2000 * _US)
    before = _arrived(engine)
    engine.advance(5900 * _US)
    goodput = (_arrived(engine) - before) * 8 / 3900e-6
    expected = _goodput_bps(case)
    return (
        exactly("cycles of buffer dependencies along the paths", 1, buffer_dependency_cycles(_ring_paths())),
        exactly("without bursts: cycle of paused queues (1: yes)", 0, int(bool(find_cycle(engine.state, case.fabric)))),
        within("without bursts: goodput, bit/s", expected, goodput, 0.01),
    )


def _with_bursts() -> Sequence[Finding]:
    engine = emulator(compiled("v14-ring"))
    engine.advance(2000 * _US)
    cycle = find_cycle(engine.state, engine.fabric)
    before = _arrived(engine)
    engine.advance(6000 * _US)
    switches = {engine.fabric.node_of(port).name for port, _ in cycle}
    return (
        exactly("with bursts: switches in the cycle of paused queues", len(_RING), len(switches)),
        exactly("with bursts: bytes that arrive in the 4 ms after", 0, _arrived(engine) - before),
        exactly("with bursts: packets lost", 0, int(engine.state.drops["pkts"].sum())),
    )


def _with_watchdog() -> Sequence[Finding]:
    timers = f"poll: {_POLL_US}us, detection: {_DETECTION_US}us, restoration: {_DETECTION_US}us"
    engine = emulator(compiled("v14-ring", f"switches.watchdog={{{timers}}}"))
    until(engine, 6000 * _US, 20 * _US, lambda now: bool(find_cycle(now.state, now.fabric)))
    locked_ps = engine.now_ps
    engine.advance(6000 * _US)
    storms = of_kind(engine.drain_events(), EventKind.STORM_DETECTED)
    first = int(storms["time_ps"][0]) if len(storms) else 0
    calm = emulator(compiled("v14-ring"))
    calm.advance(2000 * _US)
    return (
        between(
            "with a watchdog: lock to the first storm declared, us",
            _DETECTION_US + _POLL_US,
            (first - locked_ps) / _US,
            0,
            _DETECTION_US + _POLL_US,
            "detection + poll",
        ),
        exactly(
            "with a watchdog: cycle of paused queues at the end (1: yes)",
            0,
            int(bool(find_cycle(engine.state, engine.fabric))),
        ),
        exactly(
            "with a watchdog: more arrives than in the locked fabric (1: yes)",
            1,
            int(_arrived(engine) > 2 * _arrived(calm)),
        ),
    )


def _paths(fabric: Fabric) -> Iterator[list[str]]:
    """Every equal-cost path between the first hosts of all pairs of leaves."""
    table = equal_cost_ports(fabric)
    hosts = list({fabric.peer_of(host.first_port).id: host for host in reversed(fabric.hosts)}.values())
    for target in hosts:
        for source in hosts:
            if source is not target:
                partial = [[source.id, fabric.peer_of(source.first_port).id]]
                while partial:
                    path = partial.pop()
                    if path[-1] == target.id:
                        yield [fabric.nodes[node].name for node in path]
                        continue
                    ports = table.ports_to(path[-1], target.id)
                    partial += [[*path, fabric.peer_of(port).id] for port in ports]


def _static() -> Sequence[Finding]:
    """Up and down again has no cycle; one bounce off a leaf makes one; a tag more per bounce takes it away (Tagger)."""
    two, three = (
        list(_paths(compiled(*names).fabric)) for names in (("v16-ecmp", "topology.leaves=4"), ("v16-polarisation",))
    )
    # spine1 has lost leaf2, spine2 has lost leaf1: packets that come down to the wrong leaf go up again.
    there = ["host1", "leaf1", "spine1", "leaf3", "spine2", "leaf2", "host9"]
    back = ["host9", "leaf2", "spine2", "leaf4", "spine1", "leaf1", "host1"]
    around = ["host17", "leaf3", "spine2", "leaf4", "host25"]
    across = ["host25", "leaf4", "spine1", "leaf3", "host17"]
    bounced = [there, back, around, across]
    tags = {tuple(path): [0, 0, 0, 1, 1, 1] for path in (there, back)}
    return (
        exactly("leaf-spine, all equal-cost paths: cycles", 0, buffer_dependency_cycles(two)),
        exactly("three tiers, all equal-cost paths: cycles", 0, buffer_dependency_cycles(three)),
        between("two bounced paths: cycles", 1, buffer_dependency_cycles(bounced), 1, len(bounced), "at least one"),
        exactly(
            "two bounced paths, another priority after the bounce: cycles", 0, buffer_dependency_cycles(bounced, tags)
        ),
    )


_CBD: Final = "cyclic buffer dependency: Hu et al., HotNets 2016; set-up after Hawkeye mix_deadlock"

ROWS: Final = (
    Row(
        "V14/cycle",
        "A ring that only just fits runs, although its buffers depend on each other",
        "asic",
        "C",
        _CBD,
        _without_bursts,
    ),
    Row("V14/deadlock", "Bursts lock the ring for good", "asic", "C", _CBD, _with_bursts),
    Row("V14/watchdog", "The PFC watchdog opens the lock within detection + poll", "asic", "C", _CBD, _with_watchdog),
    Row(
        "V14/static",
        "Buffer dependencies: none up-down, some with a bounce, none with a tag per bounce",
        "-",
        "C",
        "Hu et al., HotNets 2016 and CoNEXT 2017 (Tagger)",
        _static,
    ),
)
