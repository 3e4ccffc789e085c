"""V18: the control plane: a Type-3 route per VTEP, a copy of a broadcast per other VTEP, none with suppression; moves
count up; and a lost cable is routed around when FRR did it.

Counts follow from RFC 7432. Times are those recorded from FRR 8.4 in network namespaces (two leaves, two spines, its
datacenter profile), counted from the loss of carrier, on one machine: +-10 % where delays decide, the range of
the timers where their phase decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabric.controlplane.evpn.evpn_attributes import read
from fabric.controlplane.evpn.evpn_nlri import EVPN, EvpnKey, key_of
from fabric.controlplane.network.network import Network
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.verify.fidelity.experiment import compiled, simulate
from fabric.verify.fidelity.table import Finding, Row, between, exactly, within

_NAME: Final = "v18-control"
_NS_PER_S: Final = 10**9
_MULTICAST: Final = 3
"""Inclusive multicast Ethernet tag route (RFC 7432 section 7.3)."""
_MAC: Final = 2
_HOP_S: Final = 0.133 - 0.0108
"""Recorded from FRR 8.4: the remote leaf shrinks its ECMP group 133 ms after `ip link set down`, the local leaf loses
carrier 10.8 ms after it."""
_RESTORED_S: Final = 1.32
_DETECTIONS: Final = {
    "silent cable, hold time 9 s": ("bgp.bfd=off", 7.6969, 6.0, 9.2, "hold time less up to a keepalive, and 0.2 s"),
    "silent cable, BFD 3 x 300 ms": (
        "bgp.bfd=on",
        0.8732,
        0.6,
        1.05,
        "detection time less up to an interval, and 0.15 s",
    ),
}


def _network(case: CompiledScenario, at_ns: int = 0) -> Network:
    if case.control is None:
        raise ValueError("the scenario has no control plane")
    return case.control.at(at_ns)


def _keys(network: Network, leaf: int, kind: int) -> list[EvpnKey]:
    """EVPN routes of a type that a leaf knows."""
    keys = (key_of(key) for key in network.switches[leaf].speaker.table(EVPN).group_of)
    return [key for key in keys if key.type == kind]


def _leaves(network: Network) -> list[int]:
    return [row for row, switch in enumerate(network.switches) if switch.vtep is not None]


def _routes() -> Sequence[Finding]:
    case = compiled(_NAME)
    network = _network(case)
    vteps = sum(node.role == "leaf" for node in case.fabric.switches)
    hosts = len(case.fabric.hosts)
    leaves = _leaves(network)
    remote = [
        len(table.flood_vteps())
        for leaf in leaves
        if (vtep := network.switches[leaf].vtep) is not None
        for table in vtep.vnis.values()
    ]
    multicast = [len(_keys(network, leaf, _MULTICAST)) for leaf in leaves]
    # A host has a route of its MAC and one of MAC and IP address (RFC 7432 section 10).
    macs = [len(_keys(network, leaf, _MAC)) for leaf in leaves]
    return (
        exactly("VTEPs", vteps, len(leaves)),
        exactly("Type-3 routes at the leaf that knows fewest", vteps, min(multicast)),
        exactly("Type-3 routes at the leaf that knows most", vteps, max(multicast)),
        exactly("Type-2 routes at the leaf that knows fewest", 2 * hosts, min(macs)),
        exactly("remote VTEPs of every leaf's VNI, fewest", vteps - 1, min(remote)),
        exactly("remote VTEPs of every leaf's VNI, most", vteps - 1, max(remote)),
    )


def _arp_counts(case: CompiledScenario) -> tuple[int, int, int, int]:
    """(requests, answered at the leaf, copies to other leaves, requests with a reply)."""
    engine = simulate(case)
    segments = engine.state.segments
    return (
        int(segments["arp_requests"].sum()),
        int(segments["arp_suppressed"].sum()),
        int(segments["bum_sent_pkts"].sum()),
        int((engine.snapshot().asks["answered_ps"] >= 0).sum()),
    )


def _broadcast() -> Sequence[Finding]:
    case = compiled(_NAME)
    vteps = sum(node.role == "leaf" for node in case.fabric.switches)
    asked, suppressed, copies, answered = _arp_counts(case)
    findings = [
        between("requests of a host", 20, asked, 19, 20, "1 ms in steps of 50 us from a random moment of the first"),
        exactly("suppression: answered by the leaf", asked, suppressed),
        exactly("suppression: copies to other leaves", 0, copies),
        exactly("suppression: requests with a reply", asked, answered),
    ]
    asked, suppressed, copies, answered = _arp_counts(compiled(_NAME, "vxlan.arp_suppression=off"))
    return [
        *findings,
        exactly("no suppression: answered by the leaf", 0, suppressed),
        exactly("no suppression: copies per request", vteps - 1, copies / asked),
        exactly("no suppression: requests with a reply", asked, answered),
    ]


def _moves() -> Sequence[Finding]:
    """Every move raises the sequence number by one (RFC 7432 section 15), and every leaf follows."""
    findings = []
    targets = ("leaf2", "leaf3", "leaf4", "leaf2")
    for moves in range(1, len(targets) + 1):
        faults = ", ".join(
            f"{{kind: mac-move, host: host1, to: {leaf}, at: {1 + 3 * place}s}}"
            for place, leaf in enumerate(targets[:moves])
        )
        case = compiled(
            _NAME, f"faults=[{faults}]", "run.duration=15s", "workload[0].hosts=[host2]", "workload[0].targets=[host3]"
        )
        network = _network(case, 14 * _NS_PER_S)
        found, holders = [], set()
        [mac] = [endpoint.mac for endpoint in network.plan.endpoints if endpoint.name == "host1"]
        for leaf in _leaves(network):
            speaker = network.switches[leaf].speaker
            for key in _keys(network, leaf, _MAC):
                selection = speaker.selection(EVPN, key)
                if key.mac == mac and selection is not None:
                    found.append(read(selection.best.attributes.ext_communities).sequence)
                    holders.add(key.rd)
        findings += [
            exactly(f"{moves} moves: sequence number, least", moves, min(found)),
            exactly(f"{moves} moves: sequence number, largest", moves, max(found)),
            exactly(f"{moves} moves: VTEPs that announce the host", 1, len(holders)),
        ]
    return findings


def _convergence() -> Sequence[Finding]:
    small = ("topology.leaves=2", "workload[0].targets=[host3]")
    lost = compiled(
        _NAME, *small, "faults=[{kind: link-down, link: leaf1--spine1, at: 1s, until: 10s}]", "run.duration=20s"
    )
    findings = [
        within("cable lost: last change of forwarding, s", _HOP_S, _last_s(lost, 0), 0.1),
        within("cable back: last change of forwarding, s", _RESTORED_S, _last_s(lost, 1), 0.1),
    ]
    for name, (bfd, theirs, low, high, why) in _DETECTIONS.items():
        case = compiled(
            _NAME, *small, bfd, "faults=[{kind: link-silent, link: leaf1--spine1, at: 1s}]", "run.duration=20s"
        )
        findings.append(between(f"{name}: last change of forwarding, s", theirs, _last_s(case, 0), low, high, why))
    return findings


def _last_s(case: CompiledScenario, event: int) -> float:
    if case.control is None or case.control.convergence[event].convergence_ns is None:
        raise ValueError("forwarding did not change")
    return float(case.control.convergence[event].convergence_ns or 0) / _NS_PER_S


_EVPN: Final = "RFC 7432 sections 7.3, 10, 11.1 and 15: counts follow from the number of VTEPs and hosts"

ROWS: Final = (
    Row(
        "V18/routes",
        "Four VTEPs of one VNI: a Type-3 route each, all others in every flood list",
        "asic",
        "C",
        _EVPN,
        _routes,
    ),
    Row(
        "V18/broadcast",
        "An ARP request costs a copy per other VTEP, with suppression none",
        "asic",
        "C",
        _EVPN,
        _broadcast,
    ),
    Row("V18/moves", "A host that moves: sequence numbers count up, one VTEP announces it", "asic", "C", _EVPN, _moves),
    Row(
        "V18/convergence",
        "A cable lost, found again, or silent: when FRR 8.4 has routed around it",
        "asic",
        "R",
        "FRR 8.4 in network namespaces, two leaves and two spines, recorded",
        _convergence,
    ),
)
