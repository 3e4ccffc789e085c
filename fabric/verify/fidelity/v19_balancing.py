"""V19: load balancers under an all-reduce: a ring is as fast as its fullest link, and published gains over plain ECMP.

A ring of 32 hosts under four leaves, every neighbour under another leaf, as many uplinks as hosts at a leaf (1:1) or
more: each host sends one long flow at line rate, which is the pattern of the sources. PFC holds the queues, without
congestion control, as in Meta's clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import TraceBit
from fabric.errors import FabricError
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.topology.model import Fabric
from fabric.verify.fidelity.experiment import PS_PER_S, compiled, emulator, wire_bytes
from fabric.verify.fidelity.table import Finding, Row, between, within

_SEEDS: Final = range(1, 11)
_FEW: Final = range(1, 4)
_PUBLISHED_GAIN: Final = 1.40
"""Gangidi et al., SIGCOMM 2024: up to so much, of an all-reduce, by E-ECMP with queue-pair scaling over plain ECMP."""
_PUBLISHED_SHARE: Final = {"ecmp": 0.60, "spray": 0.95}
"""NVIDIA on a cluster of 100,000 GPUs (Spectrum-X, 2024): throughput of standard Ethernet, and with its balancing."""
_PAIR: Final = "transport.source_port=pair"
"""The queue pairs of two hosts differ in their number alone, which plain ECMP does not hash."""
_E_ECMP: Final = (
    _PAIR,
    "switches.hash={fields: [source-ip, destination-ip, source-port, destination-port, destination-qp]}",
)


_SOON_PS: Final = 10_000_000
_OUTER_IPV6: Final = 40
_ROCE_AND_GAP: Final = 14 + 20 + 8 + 12 + 4 + 4 + 20
"""Ethernet, IPv4, UDP, BTH, ICRC, FCS, preamble and gap."""


class Ring(NamedTuple):
    """One all-reduce."""

    seconds: float
    fullest: float
    """Bytes over the fullest link between switches, as a multiple of what a host sends."""
    sending_s: float
    """Time that a host's link sends."""


def ring(*sets: str) -> Ring:
    """Run the all-reduce of v19-ring.yml with `--set` overrides."""
    case = compiled("v19-ring", *sets)
    engine = emulator(case, record=TraceBit(0))
    engine.advance(case.duration_ps)
    if not engine.finished:
        raise FabricError("v19-ring: the all-reduce did not end", "give a longer run.duration")
    sent = engine.state.ports["tx_bytes"]
    hosts = {host.id for host in case.fabric.hosts}
    ports = case.fabric.ports
    links = [port.id for port in ports if port.node not in hosts and ports[port.peer].node not in hosts]
    nics = [host.first_port for host in case.fabric.hosts]
    busy_s = float(engine.snapshot().ports["busy_ps"][nics].mean()) / PS_PER_S
    return Ring(engine.now_ps / PS_PER_S, float(sent[links].max() / sent[nics].mean()), busy_s)


def _fullest(seeds: Sequence[int] = _FEW) -> Sequence[Finding]:
    free = ring("switches.load_balancing=spray")
    found = [ring(f"run.seed={seed}", _PAIR) for seed in seeds]
    expected_s = [free.seconds + (it.fullest - 1) * free.sending_s for it in found]
    worst = max(abs(it.seconds / there_s - 1) for it, there_s in zip(found, expected_s, strict=True))
    return (
        within("sprayed: load of the fullest link, of what a host sends", 1.0, free.fullest, 0.02),
        between(
            f"ECMP, {len(found)} seeds: largest error of the time, by the load of the fullest link",
            0.0,
            worst,
            0.0,
            0.1,
            "10 %: two full links need not hold the same step",
        ),
    )


def gain(uplinks: int, before: int, after: int, seeds: Sequence[int] = _SEEDS) -> float:
    """Mean speed with `after` distinguishable queue pairs a NIC over that with `before`."""
    speeds = [
        [
            1
            / ring(
                f"topology.spines={uplinks}", f"run.seed={seed}", f"workload[0].queue_pairs={pairs}", *_E_ECMP
            ).seconds
            for seed in seeds
        ]
        for pairs in (before, after)
    ]
    return float(np.mean(speeds[1]) / np.mean(speeds[0]))


def scaling(seeds: Sequence[int] = _SEEDS) -> Sequence[Finding]:
    """Queue-pair scaling by four, of a NIC with four channels, with as many uplinks as hosts and with twice as many."""
    as_many, twice = gain(8, 4, 16, seeds), gain(16, 4, 16, seeds)
    return (
        between(
            "as many uplinks as NICs: speed of the all-reduce with 16 flows a NIC over that with 4",
            _PUBLISHED_GAIN,
            as_many,
            _PUBLISHED_GAIN - 0.15,
            _PUBLISHED_GAIN + 0.15,
            "published: up to 1.40",
        ),
        between(
            "twice as many uplinks: the same",
            _PUBLISHED_GAIN,
            twice,
            1.05,
            _PUBLISHED_GAIN,
            "published: up to 1.40; some gain",
        ),
    )


def _share(balancing: str, seed: int) -> float:
    """Share of line rate that eight line-rate pairs under two leaves get through eight uplinks."""
    long = ("workload[0].repeat=1", "workload[0].interval=null", "workload[0].size=10GB", "run.duration=1ms")
    case = compiled("v16-ecmp", *long, f"switches.load_balancing={balancing}", f"run.seed={seed}")
    engine = emulator(case)
    begin_ps = PS_PER_S // 2000
    engine.advance(begin_ps)
    receivers = [host.id for host in case.fabric.hosts]
    before = engine.snapshot().hosts["goodput_bytes"].sum()
    engine.advance(2 * begin_ps)
    passed = float(engine.snapshot().hosts["goodput_bytes"].sum() - before)
    payload = case.params.frames.payload_bytes / wire_bytes(case)
    return passed * 8 * PS_PER_S / (begin_ps * case.fabric.links[0].rate_bps * len(receivers) * payload)


def throughput(seeds: Sequence[int] = _SEEDS) -> Sequence[Finding]:
    """Line-rate pairs over as many uplinks: by the hash, packet by packet, and by the shortest queue."""
    hashed = float(np.mean([_share("ecmp", seed) for seed in seeds]))
    expected = 1 - (1 - 1 / 8) ** 8
    return (
        within("ECMP: share of line rate, against 1 - (1 - 1/8)^8", expected, hashed, 0.12),
        between("ECMP: the same against the published one", _PUBLISHED_SHARE["ecmp"], hashed, 0.5, 0.7, "0.6 +- 0.1"),
        *balanced(),
    )


def balanced() -> Sequence[Finding]:
    """The same, packet by packet in turn and by the shortest queue."""
    reference = _PUBLISHED_SHARE["spray"]
    return [
        between(f"{name}: share of line rate", reference, _share(name, 1), reference, 1.0, "at least 0.95")
        for name in ("spray", "adaptive")
    ]


def _source_routes() -> Sequence[Finding]:
    """Shares of planes and of their cores, goodput with the outer header, and what a dead plane costs."""
    case = compiled("v19-source-routes")
    engine, fabric = emulator(case), case.fabric
    delay_ps = case.params.source_routes.withdrawal_ps if case.params.source_routes is not None else 0
    down_ps = min(edit.time_ps for edit in case.edits)
    engine.advance(down_ps)
    ports = engine.state.ports["tx_pkts"]
    shares = []
    for tier in ("p1-leaf1", "p1-spine"):
        up = [port for node in fabric.switches if node.name.startswith(tier) for port in node.ports]
        sent = ports[[port for port in up if fabric.peer_of(port).tier > fabric.node_of(port).tier]]
        shares.append(float(sent.max() / sent.mean()))
    payload, rate = case.params.frames.payload_bytes, case.fabric.links[0].rate_bps
    outside = _OUTER_IPV6 + payload + _ROCE_AND_GAP
    goodput = _goodput_bps(case, down_ps // 5, engine)
    engine.advance(case.duration_ps)
    lost = int(engine.state.hosts["declared_lost_pkts"].sum())
    expected = delay_ps * rate / (8 * PS_PER_S * outside) / 4
    return (
        within("fullest plane over the mean of four", 1.0, shares[0], 0.002),
        within("fullest core over the mean of eight", 1.0, shares[1], 0.005),
        within("goodput, against rate x payload / (payload + 40 + 82)", rate * payload / outside, goodput, 0.002),
        within("packets lost, against rate x withdrawal x 1/4", expected, lost, 0.01),
    )


def _goodput_bps(case: CompiledScenario, begin_ps: int, engine: Emulator) -> float:
    """Of all hosts from begin_ps to the present moment of a run."""
    fresh = emulator(case)
    fresh.advance(begin_ps)
    passed = int(engine.state.hosts["goodput_bytes"].sum()) - int(fresh.state.hosts["goodput_bytes"].sum())
    return passed * 8 * PS_PER_S / (engine.now_ps - begin_ps)


def _nic_ports() -> Sequence[Finding]:
    """One queue pair over two ports of a NIC: shares, its goodput and pace, and what a dead plane costs."""
    case = compiled("v19-nic-ports")
    engine, fabric = emulator(case), case.fabric
    delay_ps = case.params.source_routes.withdrawal_ps if case.params.source_routes is not None else 0
    down_ps = min(edit.time_ps for edit in case.edits)
    engine.advance(down_ps)
    nic = list(fabric.by_name["host1"].ports)
    up = [port for name in ("tor1a", "tor1b") for port in fabric.by_name[name].ports if port not in _to_hosts(fabric)]
    shares = [
        float(engine.state.ports["tx_pkts"][ports].max() / engine.state.ports["tx_pkts"][ports].mean())
        for ports in (nic, up)
    ]
    payload, rate = case.params.frames.payload_bytes, case.fabric.links[0].rate_bps
    outside = _OUTER_IPV6 + payload + _ROCE_AND_GAP
    goodput = _goodput_bps(case, down_ps // 5, engine)
    on_cable = int(engine.state.ports["tx_pkts"][nic[0]] - engine.state.ports["rx_pkts"][fabric.ports[nic[0]].peer])
    engine.advance(case.duration_ps)
    return (
        within("fuller NIC port over the mean of two", 1.0, shares[0], 0.001),
        within("fullest spine over the mean of eight", 1.0, shares[1], 0.005),
        within(
            "goodput, against both ports x payload / (payload + 40 + 82)", 2 * rate * payload / outside, goodput, 0.002
        ),
        within("pace of a queue pair with a quarter of a port's rate", rate / 4, _pace_bps(case, rate // 4), 0.01),
        within(
            "packets lost, against both ports x withdrawal x 1/2 + those on the NIC's cable",
            delay_ps * 2 * rate / (8 * PS_PER_S * outside) / 2 + on_cable,
            int(engine.state.hosts["declared_lost_pkts"].sum()),
            0.02,
        ),
    )


def _pace_bps(case: CompiledScenario, rate_bps: int) -> float:
    """What the first host sends in 100 us, preamble and gap included, with a queue pair limited to a rate."""
    engine, nic = emulator(case), list(case.fabric.hosts[0].ports)
    engine.advance(_SOON_PS)
    engine.state.qps[0]["rate_bps"] = rate_bps
    sent = []
    for moment_ps in (2 * _SOON_PS, 12 * _SOON_PS):
        engine.advance(moment_ps)
        sent.append(int(engine.state.ports["tx_pkts"][nic].sum()))
    frame = _OUTER_IPV6 + case.params.frames.payload_bytes + _ROCE_AND_GAP
    return (sent[1] - sent[0]) * frame * 8 * PS_PER_S / (10 * _SOON_PS)


def _to_hosts(fabric: Fabric) -> frozenset[int]:
    return frozenset(int(fabric.ports[port].peer) for host in fabric.hosts for port in host.ports)


ROWS: Final = (
    Row(
        "V19/fullest",
        "A ring all-reduce is as fast as the fullest link of its hash",
        "asic",
        "C",
        "time of a ring that is sprayed, and (load of the fullest link - 1) x time of sending",
        _fullest,
    ),
    Row(
        "V19/queue-pairs",
        "E-ECMP: all-reduce with four times the queue pairs",
        "asic",
        "R",
        "Gangidi et al., RDMA over Ethernet for distributed AI training at Meta scale, SIGCOMM 2024: E-ECMP with "
        "queue-pair scaling, up to 40 % for AllReduce; the number of channels of its NICs is not published: four here",
        scaling,
        slow=True,
    ),
    Row(
        "V19/throughput",
        "Line-rate pairs through as many uplinks: hashed, sprayed, adaptive",
        "asic",
        "R",
        "NVIDIA, Spectrum-X in a cluster of 100,000 GPUs, 2024: 95 % of throughput, against 60 % by standard Ethernet",
        throughput,
        slow=True,
    ),
    Row(
        "V19/source-routes",
        "Source routes over four planes: shares, bytes, and the cost of a dead plane",
        "asic",
        "C",
        "turns (decision 0168), RFC 8986 section 5.2, and rate x withdrawal x share of the dead routes",
        _source_routes,
    ),
    Row(
        "V19/nic-ports",
        "One queue pair over the two ports of its NIC: shares, pace, and the cost of a dead plane",
        "asic",
        "C",
        "turns and one pace for all ports (decision 0176), and rate x withdrawal x share of the dead plane",
        _nic_ports,
    ),
)
