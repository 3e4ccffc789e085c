"""D: deadlock, polarisation, and capacity of the fabric as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, ip_network
from typing import Final

import networkx as nx

from fabric.configs.model import Device, StaticRoute
from fabric.controlplane.network.forwarding import prefix_key
from fabric.topology.cycles import cycles
from fabric.units import listed
from fabric.validate.checks.base import Check, E, Evidence, Found, I, Root, Severity, W, check, construct, named, shows
from fabric.validate.checks.identity import vtep_address
from fabric.validate.facts import Facts, Line, threshold
from fabric.validate.reachability import reachability_of
from fabric.validate.remedies import Fix, set_field
from fabric.validate.routing_fixes import remove_route, set_multipath
from fabric.validate.sessions import Cause
from fabric.validate.trees import Tree

_SEEDS: Final = {"ToRRouter": 0, "LeafRouter": 10, "LowerRegionalHub": 60}
_SPINE_SEED: Final = 25
_AFTER_FAILURE: Final = 1.25
_ARP_S: Final = 14_400
"""Kernel and vendor defaults of neighbour ageing go up to 4 h."""
_LOOP_NS: Final = 14_000


@check(
    "D1",
    E,
    "a cyclic buffer dependency",
    condition="the graph (ingress port) -> (next ingress port) over all routes has no cycle",
    consequence="PFC deadlock: the ports of the cycle stop for ever",
    remedy="make routes valley-free: no leaf in transit",
    source="Hu et al., HotNets 2016; Guo et al., SIGCOMM 2016, section 4.2",
)
def D1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """One finding per strongly connected part, with one cycle."""
    for cycle in cycles(facts.routes.buffer_graph()):
        lines = [line for line in map(facts.line, cycle) if line is not None]
        yield Found(
            cycle[0][0],
            ":".join(cycle[0]),
            "cycle " + listed([":".join(end) for end in cycle], 12, " → "),
            tuple(shows(line.device, line.port.where, "", str(line), "port") for line in lines[:12]),
            rests_on=[(line.device.name, route.where) for line in lines for route in line.device.routes],
        )


@check(
    "D2",
    W,
    "a failure may open a valley",
    condition="all spines that a leaf peers with have one AS number",
    consequence="a leaf passes one spine's routes to another: transit over the leaf, and a cycle of pauses (D1)",
    remedy="one AS for the spines of a pod, or a filter on the leaves",
    source="RFC 7938 section 5.2.1",
)
def D2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Leaves are the switches with hosts."""
    for device in facts.devices:
        if not any(facts.faces_host(line) for line in facts.lossless_of(device)):
            continue
        switches = {name: asn for name, asn in device.bgp.items() if name in facts.network.devices}
        if len(set(switches.values())) > 1:
            shown = ", ".join(f"{name} {asn}" for name, asn in sorted(switches.items()))
            yield Found(
                device.name,
                "BGP_NEIGHBOR",
                f"spines of different AS: {shown}",
                (shows(device, ("BGP_NEIGHBOR",), "", ""),),
                rests_on=tuple((device.name, (*it.where, "asn")) for it in device.sessions if it.peer in switches),
            )


@check(
    "D3",
    W,
    "flooding in a lossless class",
    condition="MAC ageing is not shorter than neighbour ageing",
    consequence="packets of a lossless class are flooded, which breaks up-down routing: deadlock",
    remedy="raise the FDB ageing time, or suppress flooding",
    source="Guo et al., SIGCOMM 2016, section 4.2",
)
def D3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Switches with VLANs on lossless ports that state an FDB ageing time."""
    for device in facts.devices:
        members = {name for vlan in device.vlans.values() for name in vlan.members}
        arp = device.arp_age_s or _ARP_S
        if (
            device.mac_age_s
            and device.mac_age_s < arp
            and any(line.port.name in members for line in facts.lossless_of(device))
        ):
            yield Found(
                device.name,
                "SWITCH|switch",
                f"MACs live {device.mac_age_s} s, neighbours up to {arp} s",
                (shows(device, ("SWITCH", "switch"), "fdb_aging_time", device.mac_age_s),),
            )


def _down_and_up(facts: Facts, name: str) -> tuple[list[Line], list[Line]]:
    device = facts.network.devices[name]
    lines = [line for line in facts.used_of(device) if line.port.speed_mbps]
    down = [line for line in lines if facts.faces_host(line)]
    up = [line for line in lines if line.end in facts.peers and not facts.faces_host(line)]
    given = any(facts.peers[line.end][0] in facts.network.devices for line in up)
    return down, up if given else []  # a switch on its own is no fabric


@check(
    "D4",
    W,
    "more host capacity than uplink",
    condition="sum of host ports <= sum of uplinks (error above 3:1)",
    consequence="congestion that no load balancing removes: permanent marking and pauses",
    remedy="more uplinks, fewer hosts",
    source="Clos: non-blocking needs as much up as down",
)
def D4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """With all uplinks, and (info) with one failed."""
    for device in facts.devices:
        down, up = _down_and_up(facts, device.name)
        if not down or not up or not all(line.port.speed_mbps for line in facts.used_of(device)):
            continue  # R7 names ports without a speed
        hosts, uplinks = (sum(line.port.speed_mbps or 0 for line in lines) for lines in (down, up))
        ratio = hosts / uplinks
        left = uplinks - max(line.port.speed_mbps or 0 for line in up)
        text = f"{hosts // 1000}G to hosts, {uplinks // 1000}G up: {ratio:.2f}:1"
        severity: Severity | None = E if ratio > facts.network.max_oversubscription else W
        if ratio <= 1:
            after = hosts / left if left else float("inf")
            if after <= _AFTER_FAILURE:
                continue
            text, severity = f"{text}; {after:.2f}:1 with one uplink failed" if left else "has one uplink only", I
        yield Found(
            device.name,
            "uplinks",
            text,
            tuple(shows(line.device, line.port.where, "speed", line.port.speed_mbps) for line in up[:4]),
            severity,
            rests_on=tuple(
                (device.name, (*port.where, "admin_status")) for port in device.ports.values() if not port.admin_up
            ),
        )


_LINEAR: Final = frozenset({"CRC", "CRC_32LO", "CRC_32HI", "CRC_CCITT", "CRC_XOR", "XOR"})
"""Values of ecmp_hash_algorithm (sonic-hash.yang, saihash.h) other than RANDOM."""


def _seed(role: str) -> int | None:
    return _SPINE_SEED if "SpineRouter" in role else _SEEDS.get(role)


def _choose_twice(facts: Facts) -> set[tuple[str, str]]:
    """(first, second) switch of a path that both have several next hops to the same destination."""
    return {
        (name, hop.into[0])
        for tree in facts.routes.trees
        for name in tree.changes()
        if len(tree.next_hops[name]) > 1
        for hop in tree.next_hops[name]
        if len(tree.next_hops.get(hop.into[0], ())) > 1
    }


@check(
    "D5",
    W,
    "two tiers hash alike",
    condition="the tiers of a path differ in ECMP seed, algorithm or fields, and not in a linear hash's seed alone",
    consequence="polarisation: the second tier uses one of its uplinks per flow group, the others idle",
    remedy="set the device types (the seed follows from them), and another ecmp_hash_algorithm or offset per tier, "
    "or RANDOM",
    source="sonic-buildimage switch.json.j2; saihash.h; a CRC or XOR under another seed differs by a constant",
)
def D5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """A leaf and its spine of the same type; a note where no path has a choice at both, so that nothing polarises.

    Seeds that differ do not help a linear hash. XOR has nothing else, so that is a warning. Of a CRC a chip may take
    other bits by role (ecmp_hash_offset), which no configuration says, so that is a note.
    """
    seen = set()
    twice = _choose_twice(facts)
    for wire in facts.wires:
        a, b = wire.a.device, wire.b.device
        pair = tuple(sorted((a.name, b.name)))
        same = (_seed(a.role), a.hash_algorithm, a.hash_fields) == (_seed(b.role), b.hash_algorithm, b.hash_fields)
        seeded = a.capabilities.hash_seed_from_role and b.capabilities.hash_seed_from_role
        known = _seed(a.role) is not None and seeded
        linear = a.hash_algorithm == b.hash_algorithm in _LINEAR and a.hash_fields == b.hash_fields
        if (
            pair not in seen
            and a is not b
            and linear
            and not same
            and seeded
            and ({(a.name, b.name), (b.name, a.name)} & twice)
        ):
            seen.add(pair)
            yield Found(
                a.name,
                f"{a.name}↔{b.name}",
                f"both hash by {a.hash_algorithm}, which is linear: another seed "
                "changes every hash by the same bits, and flows that went together stay together",
                tuple(shows(it, ("SWITCH_HASH", "GLOBAL"), "ecmp_hash_algorithm", it.hash_algorithm) for it in (a, b)),
                W if a.hash_algorithm == "XOR" else I,
            )
        if pair not in seen and a is not b and same and known:
            seen.add(pair)
            idle = bool(facts.routes.edges) and not {(a.name, b.name), (b.name, a.name)} & twice
            text = f"types {a.role} and {b.role} give one seed, {_seed(a.role)}"
            yield Found(
                a.name,
                f"{a.name}↔{b.name}",
                text + ("; no path has a choice at both" if idle else ""),
                tuple(shows(it, ("DEVICE_METADATA", "localhost"), "type", it.role) for it in (a, b)),
                I if idle else W,
            )


_WITH_PORTS: Final = {
    "nxos": "ip load-sharing address source-destination port source-destination",
    "nvue": "nv set system forwarding ecmp-hash source-port on",
}
"""The line that puts ports into the hash, in languages without a field for it."""


@check(
    "D6",
    W,
    "the hash does not see the UDP source port",
    condition="the ECMP hash has L4_SRC_PORT",
    consequence="all queue pairs of two hosts take one path: RoCE's entropy is its UDP source port",
    remedy="add the UDP source port to the fields of the ECMP hash",
    source="RFC 7348 section 5; RoCEv2 annex A17; sonic-hash.yang",
)
def D6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where the fields are stated."""
    for device in facts.devices:
        if device.hash_fields is not None and "L4_SRC_PORT" not in device.hash_fields:
            tables = device.capabilities.tables
            where = device.hash_where
            seen = ",".join(device.hash_fields)
            wanted = ",".join((*device.hash_fields, "L4_SRC_PORT"))
            line = _WITH_PORTS.get(device.language, "")
            yield Found(
                device.name,
                named(where),
                f"{'ecmp_hash is' if tables else 'the hash has'} {seen}",
                (shows(device, where, "ecmp_hash", seen, "" if tables else "fields of the hash"),),
                fix=set_field(device, where, "ecmp_hash@", wanted)
                if tables
                else Fix(device.name, "fields of the hash", wanted, line),
            )


@check(
    "D7",
    W,
    "uplinks that do not share evenly",
    condition="uplinks have one speed; ECMP is as wide as their number; no static route to a VTEP overrides equal "
    "paths of BGP",
    consequence="equal shares on unequal links: the slower ones congest",
    remedy="one speed per group; raise maximum-paths",
    source="ECMP divides by count, not by speed (RFC 2992)",
)
def D7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Leaves and spines alike."""
    vteps: dict[str, list[Device]] = {}
    for device in facts.devices:
        if address := vtep_address(device):
            vteps.setdefault(address, []).append(device)
    for device in facts.devices:
        down, up = _down_and_up(facts, device.name)
        speeds = sorted({line.port.speed_mbps or 0 for line in up})
        if down and len(speeds) > 1:
            yield Found(
                device.name,
                "uplinks",
                "speeds " + ", ".join(f"{speed // 1000}G" for speed in speeds),
                tuple(shows(line.device, line.port.where, "speed", line.port.speed_mbps) for line in up[:4]),
            )
        runs = bool(device.asn or device.sessions)  # without BGP the width of its ECMP is no cause: P12 speaks
        if down and runs and device.multipath is not None and device.multipath < len(up):
            yield Found(
                device.name,
                "maximum-paths",
                f"{device.multipath} paths of {len(up)} uplinks",
                (shows(device, device.multipath_where, "", device.multipath, "maximum-paths"),),
                fix=set_multipath(device, len(up)),
            )
        yield from _pinned(facts, device, vteps)


def _pinned(facts: Facts, device: Device, vteps: Mapping[str, Sequence[Device]]) -> Iterator[Found]:
    """Static routes to the VTEP of another switch with fewer next hops than BGP has equal ones, which they override.

    `vteps`: address to the switches that have it as their VTEP.
    """
    for route in device.routes:
        address = route.prefix.removesuffix("/32")
        owner = next((it for it in reversed(vteps.get(address, ())) if it is not device), None)
        if owner is None or not _leads(facts, device, route) or route.distance >= _EXTERNAL_DISTANCE:
            continue
        reach = reachability_of(facts)
        key = prefix_key(int(IPv4Address(address)), 32)
        paths = () if isinstance(reach, Cause) else reach.next_switches(device.name, key) or ()
        if len(route.hops) < len(paths):
            yield Found(
                device.name,
                named(route.where),
                f"a static route to {address} of {owner.name} has {len(route.hops)} next hops, BGP has "
                f"{len(paths)} equal ones: {listed(list(paths), _SHOWN)}",
                (shows(device, route.where, "", route.prefix),),
            )


def _leads(facts: Facts, device: Device, route: StaticRoute) -> bool:
    """Whether each next hop is a switch of the files."""
    known = [facts.owners.get(gateway) or facts.peers.get((device.name, name)) for gateway, name in route.hops]
    return bool(known) and all(known)


_EXTERNAL_DISTANCE: Final = 20
"""Administrative distance of external BGP routes; Arista's is 200. A static route below it overrides BGP."""
_SHOWN: Final = 4


@check(
    "D8",
    I,
    "incast certainly pauses",
    condition="2 (T(2) + xoff) / rate >= round trip + CNP interval (14 us)",
    consequence="two senders fill the groups before congestion control can act",
    remedy="larger alpha or lower Kmin",
    source="buffer time against control loop",
)
def D8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once per switch, at its fastest lossless port."""
    for device in facts.devices:
        least = facts.smallest_threshold(device)
        speed = max((line.port.speed_mbps or 0 for line in facts.lossless_of(device)), default=0)
        level = None if least is None else threshold(least[1], least[2], 2)
        if least is None or level is None or not speed:
            continue
        time_ns = 2 * (level + least[1].xoff_bytes) * 8000 / speed
        if time_ns < _LOOP_NS:
            yield Found(
                device.name,
                construct(device, "BUFFER_PROFILE", least[1].name),
                f"two senders at {speed // 1000}G fill their groups in {time_ns / 1000:.1f} us",
                (shows(device, least[2].where, "size", least[2].size_bytes),),
            )


def _chain(names: list[str]) -> str:
    return listed(names, 12, " → ")


@check(
    "D9",
    E,
    "a forwarding loop",
    condition="no prefix's next hops lead back to a switch they came from",
    consequence="packets loop until their TTL is 0; in a lossless class the loop also deadlocks",
    remedy="remove or correct one of the routes",
    source="RFC 1812 section 5.3.1; Hu et al., HotNets 2016",
    leads_to="D1 D10 D11",
)
def D9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Only FIBs and static routes can have one; shortest paths have none."""
    seen = set()
    for tree in facts.routes.trees:
        if tree.destination in facts.network.devices:
            continue  # shortest paths have no loop
        graph: nx.DiGraph[str] = nx.DiGraph(
            (name, to) for name in tree.reach(facts.routes.edges) for to in tree.near.get(name, ())
        )
        for names in cycles(graph):
            if frozenset(names) not in seen:
                seen.add(frozenset(names))
                static = _static(facts, tree, names)
                yield Found(
                    static[0] if static is not None else names[0],
                    tree.destination,
                    f"loop {_chain([*names, names[0]])}",
                    _routes(facts, tree, names),
                    root=static,
                    fix=_without_route(facts, tree, names),
                )


def _static(facts: Facts, tree: Tree, names: list[str]) -> Root | None:
    """The first static route of the cycle: without it there is none."""
    for name in names:
        for route in facts.network.devices[name].routes:
            if name not in facts.network.fibs and str(ip_network(route.prefix)) == tree.destination:
                return name, route.where
    return None


def _routes(facts: Facts, tree: Tree, names: list[str]) -> tuple[Evidence, ...]:
    """The next hops of each switch to the destination."""
    found = []
    for name in names[:6]:
        hops = listed([f"{hop.out[1]} to {hop.into[0]}" for hop in tree.next_hops.get(name, ())], 4)
        line = next((facts.line(hop.out) for hop in tree.next_hops.get(name, ())), None)
        device = facts.network.devices[name]
        place = facts.routes.place(name, tree.destination) or device.place(line.port.where if line else ())
        found.append(Evidence(f"{name} {tree.destination}", hops or "no route", place))
    return tuple(found)


@check(
    "D10",
    E,
    "packets end at a switch without a next hop",
    condition="from every switch with hosts, every next hop towards every prefix leads to a switch that delivers it",
    consequence="everything to that prefix is lost there, whatever the class",
    remedy="announce the prefix there, or correct the next hop",
    source="RFC 1812 section 5.3.1",
)
def D10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Of FIBs and static routes; a pair of switches without any link between them is a matter of the topology."""
    for tree in facts.routes.trees:
        if tree.destination in facts.network.devices:
            continue
        starts = [name for name in facts.routes.edges if name in facts.routes.hops]
        for name in tree.reach(starts):
            if name not in tree.ends and not tree.next_hops.get(name) and name in facts.routes.hops:
                yield Found(
                    name,
                    tree.destination,
                    f"no next hop leads to a known switch; {listed(sorted(tree.ends), 4)} would deliver it",
                    _routes(facts, tree, [name]),
                    rests_on=[(name, it.where) for it in _static_routes(facts, tree, name)],
                    fix=_without_route(facts, tree, [name]),
                )


def _static_routes(facts: Facts, tree: Tree, name: str) -> list[StaticRoute]:
    return [it for it in facts.network.devices[name].routes if it.prefix == tree.destination]


def _without_route(facts: Facts, tree: Tree, names: list[str]) -> Fix | None:
    """The only static route of these switches to a destination, taken away; where there are several, one is meant."""
    its = [(facts.network.devices[name], it) for name in names for it in _static_routes(facts, tree, name)]
    return remove_route(*its[0]) if len(its) == 1 else None


@check(
    "D11",
    W,
    "a path goes down and up again",
    condition="no switch with hosts passes packets from one spine to another",
    consequence="up-down order is broken: with one more such path pauses can close a cycle (D1)",
    remedy="filter what leaves announce, or repair the links that force the detour",
    source="Guo et al., SIGCOMM 2016, section 4.2; RFC 7938 section 5.2.1",
)
def D11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """An edge switch between two switches without hosts."""
    edges, seen = set(facts.routes.edges), set()
    turning: set[str] = set()
    for tree in facts.routes.trees:
        if not _turns(tree, edges) and (tree.base is None or tree.base.destination not in turning):
            continue
        turning.add(tree.destination)
        reached = tree.reach(facts.routes.edges)
        into = {hop.into[0]: name for name in reached if name not in edges for hop in tree.next_hops.get(name, ())}
        for name in reached:
            if name not in edges or name not in into:
                continue
            ups = [hop.into[0] for hop in tree.next_hops.get(name, ()) if hop.into[0] not in edges]
            # A switch that gets its own packets back is in a loop, which is D9's.
            if ups and (name, into[name], ups[0]) not in seen and name not in tree.reach(ups):
                seen.add((name, into[name], ups[0]))
                yield Found(name, tree.destination, f"from {into[name]} to {ups[0]}", _routes(facts, tree, [name]))


def _turns(tree: Tree, edges: Collection[str]) -> bool:
    """Whether a switch without hosts leads to one with hosts that passes packets on, where the tree is not its base."""
    return any(
        to in edges and any(up not in edges for up in tree.near.get(to, ()))
        for name in tree.changes()
        if name not in edges
        for to in tree.near[name]
    )


CHECKS: Final[tuple[Check, ...]] = (D1, D2, D3, D4, D5, D6, D7, D8, D9, D10, D11)
