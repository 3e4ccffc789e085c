"""L: what the two ends of a link must agree on, and paths that are only as lossless as their worst hop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.network import End
from fabric.validate.checks.base import Check, E, Evidence, Found, I, W, check, listed, shows
from fabric.validate.checks.classification import map_evidence
from fabric.validate.facts import Facts, Line, Wire


def _both(wire: Wire, field: str, a: object, b: object) -> tuple[Evidence, ...]:
    return tuple(shows(line.device, line.port.where, field, value, f"{line} {field}")
                 for line, value in ((wire.a, a), (wire.b, b)))


@check("L1", E, "PFC differs at the two ends", condition="pfc_enable is the same at both ends; a host's is part of it",
       consequence="one end pauses and the other does not listen: loss; or nobody pauses",
       remedy="enable the same priorities at both ends", source="IEEE 802.1Q clause 36; Guo et al., SIGCOMM 2016")
def L1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Links between switches, then links to hosts."""
    for wire in facts.wires:
        a, b = wire.a.port.lossless, wire.b.port.lossless
        if a != b:
            yield Found(wire.a.device.name, str(wire), f"PFC on {listed(a)} here, {listed(b)} there",
                        (_pfc(wire.a), _pfc(wire.b)))
    for line, host in facts.host_lines:
        if host.pfc_enable is not None and not host.pfc_enable <= line.port.lossless:
            yield Found(line.device.name, line.port.name, f"PFC on {listed(line.port.lossless)} here, "
                        f"{listed(host.pfc_enable)} at the host",
                        (shows(line.device, line.port.qos_where or line.port.where, "pfc_enable",
                               listed(line.port.lossless)), Evidence(f"{host.name}.pfc_enable", listed(host.pfc_enable),
                                                                    host.place)))


@check("L2", E, "speed differs at the two ends", condition="speed, and autoneg where stated, are the same at both ends",
       consequence="the link stays down, or has headroom for another speed", remedy="set the same speed",
       source="sonic-port.yang")
def L2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Also against the host's speed, if stated."""
    for wire in facts.wires:
        a, b = wire.a.port, wire.b.port
        if a.speed_mbps and b.speed_mbps and a.speed_mbps != b.speed_mbps:
            yield Found(wire.a.device.name, str(wire), f"{a.speed_mbps} Mb/s here, {b.speed_mbps} Mb/s there",
                        _both(wire, "speed", a.speed_mbps, b.speed_mbps))
        elif a.autoneg and b.autoneg and a.autoneg != b.autoneg:
            yield Found(wire.a.device.name, str(wire), f"autoneg {a.autoneg} here, {b.autoneg} there",
                        _both(wire, "autoneg", a.autoneg, b.autoneg))
    for line, host in facts.host_lines:
        if host.speed and line.port.speed_mbps and host.speed != line.port.speed_mbps:
            yield Found(line.device.name, line.port.name, f"{line.port.speed_mbps} Mb/s here, {host.speed} Mb/s at the "
                        "host", (shows(line.device, line.port.where, "speed", line.port.speed_mbps),
                                 Evidence(f"{host.name}.speed", str(host.speed), host.place)))


@check("L3", W, "cable length differs at the two ends", condition="both ends state the same cable length",
       consequence="one of them is wrong; H5 says whether headroom suffers", remedy="state the measured length",
       source="sonic-cable-length.yang")
def L3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Any link."""
    for wire in facts.wires:
        a, b = wire.a.port.cable_m, wire.b.port.cable_m
        if a is not None and b is not None and a != b:
            yield Found(wire.a.device.name, str(wire), f"{a} m here, {b} m there", tuple(
                shows(line.device, line.port.cable_where, "", f"{line.port.cable_m}m", f"{line} cable")
                for line in (wire.a, wire.b)))


@check("L4", E, "MTU differs at the two ends", condition="MTU is the same at both ends, a host's not above its port's",
       consequence="jumbo frames vanish in one direction; RoCE retries for ever",
       remedy="set the same MTU (warning where every host's frame still fits)",
       source="RoCE packets cannot be fragmented")
def L4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """A warning where the smaller end still takes the hosts' largest frame."""
    hosts = [host.mtu for host in (*facts.network.hosts.values(), facts.network.default_host) if host and host.mtu]
    for wire in facts.wires:
        a, b = wire.a.port.mtu, wire.b.port.mtu
        if a != b:
            yield Found(wire.a.device.name, str(wire), f"MTU {a} here, {b} there", _both(wire, "mtu", a, b),
                        W if hosts and min(a, b) >= max(hosts) else E)
    for line, host in facts.host_lines:
        if host.mtu and host.mtu > line.port.mtu:
            yield Found(line.device.name, line.port.name, f"MTU {line.port.mtu} here, {host.mtu} at the host",
                        (shows(line.device, line.port.where, "mtu", line.port.mtu),
                         Evidence(f"{host.name}.mtu", str(host.mtu), host.place)))


@check("L5", E, "FEC differs at the two ends", condition="fec is the same at both ends, where stated",
       consequence="the link stays down", remedy="set rs at both ends", source="IEEE 802.3 clause 91")
def L5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """auto agrees with anything."""
    for wire in facts.wires:
        a, b = wire.a.port.fec, wire.b.port.fec
        if a and b and a != b and "auto" not in {a, b}:
            yield Found(wire.a.device.name, str(wire), f"fec {a} here, {b} there", _both(wire, "fec", a, b))


@check("L6", E, "asymmetric PFC at one end", condition="pfc_asym is the same at both ends",
       consequence="pauses are not honoured in one direction", remedy="turn pfc_asym off",
       source="sonic-port.yang pfc_asym")
def L6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Links between switches."""
    for wire in facts.wires:
        a, b = wire.a.port.pfc_asym, wire.b.port.pfc_asym
        if a != b:
            yield Found(wire.a.device.name, str(wire), f"pfc_asym {'on' if a else 'off'} here, {'on' if b else 'off'} "
                        "there", _both(wire, "pfc_asym", a, b))


@check("L7", W, "cabling data does not agree", condition="neighbour tables point at each other, at ports that are up",
       consequence="every check of links and paths judges a network that is not there",
       remedy="refresh the neighbour tables",
       source="sonic-device_neighbor.yang")
def L7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Tables against each other and against the links file."""
    for device in facts.devices:
        for port in device.ports.values():
            if port.neighbor is None:
                continue
            evidence = (shows(device, ("DEVICE_NEIGHBOR", port.name), "", f"{port.neighbor[0]}:{port.neighbor[1]}"),)
            listed = facts.peers.get((device.name, port.name))
            if listed is not None and listed != port.neighbor:
                yield Found(device.name, port.name, f"neighbour is {':'.join(port.neighbor)} here, {':'.join(listed)} "
                            "in the links", evidence)
            if port.neighbor[0] not in facts.network.devices:
                continue
            other = facts.line(port.neighbor)
            if other is None:
                yield Found(device.name, port.name, f"neighbour {':'.join(port.neighbor)} has no such port", evidence)
            elif other.port.neighbor is not None and other.port.neighbor != (device.name, port.name):
                yield Found(device.name, port.name, f"{other} names {':'.join(other.port.neighbor)} as its neighbour",
                            evidence)
            elif port.admin_up != other.port.admin_up:
                yield Found(device.name, port.name, f"{'up' if port.admin_up else 'down'} here, "
                            f"{'up' if other.port.admin_up else 'down'} at {other}", evidence)
    for cable in facts.network.links:
        for end in (cable.a, cable.b):
            if end[0] in facts.network.devices and facts.line(end) is None:
                yield Found(end[0], end[1] or "?", "is in the links, but the switch has no such port",
                            (Evidence("link", f"{':'.join(cable.a)} - {':'.join(cable.b)}", cable.place),))
        for end, far in ((cable.a, cable.b), (cable.b, cable.a)):
            down = facts.line(end)
            if down is not None and not down.port.admin_up and far[0] not in facts.network.devices:
                yield Found(end[0], end[1], f"is down, and cabled to {':'.join(far)}",
                            (shows(down.device, down.port.where, "", ""),), I)


@check("L8", W, "members of a LAG differ", condition="PFC, maps, cable and speed are the same on all members",
       consequence="a flow's treatment depends on the member its hash chooses", remedy="configure members alike",
       source="IEEE 802.1AX: members carry one aggregate")
def L8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Against the first member."""
    first: dict[tuple[str, str], Line] = {}
    for line in facts.used:
        if line.port.lag is None:
            continue
        other = first.setdefault((line.device.name, line.port.lag), line).port
        differ = [name for name, a, b in (
            ("PFC", line.port.lossless, other.lossless), ("maps", line.port.maps, other.maps),
            ("cable", line.port.cable_m, other.cable_m), ("speed", line.port.speed_mbps, other.speed_mbps)) if a != b]
        if differ:
            yield Found(line.device.name, line.port.name, f"{' and '.join(differ)} differ from {other.name} of "
                        f"{line.port.lag}", (shows(line.device, line.port.qos_where or line.port.where, "", ""),))


def bad_ends(facts: Facts) -> dict[End, tuple[Evidence, ...]]:
    """Ends of links between switches where RoCE is not lossless, and what says so."""
    bad: dict[End, tuple[Evidence, ...]] = {}
    for wire in facts.wires:
        for line, other in ((wire.a, wire.b), (wire.b, wire.a)):
            for dscp in facts.network.roce_dscps:
                _, priority = facts.lossless_class(line, dscp)
                profile = None if priority is None else facts.group_profile(line, priority)
                if priority is None:
                    why = (*map_evidence(line, "dscp_to_tc", dscp), _pfc(line))
                elif priority not in other.port.lossless:
                    why = (_pfc(line), _pfc(other))
                elif profile is not None and not profile.lossless:
                    why = (shows(line.device, profile.where, "", profile.name, f"{line} group of priority {priority}"),)
                else:
                    continue
                bad[line.end] = (*bad.get(line.end, ()), *why)
    return bad


def _pfc(line: Line) -> Evidence:
    return shows(line.device, line.port.qos_where or line.port.where, "pfc_enable", listed(line.port.lossless),
                 f"{line} pfc_enable")


@check("L9", E, "a path that is not lossless all the way",
       condition="between edge switches every hop of every equal-cost path keeps RoCE lossless",
       consequence="a fraction of the flows loses packets, those that the hash sends over the bad hop",
       remedy="repair the hops named", source="a path is as lossless as its worst hop")
def L9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Paths between switches with hosts; one finding per pair, with the share of its paths."""
    bad = bad_ends(facts)
    if not bad:
        return
    for (start, to), (count, every, hops) in facts.routes.share_of_paths(set(bad)).items():
        shown = ", ".join(f"{':'.join(hop.out)}→{':'.join(hop.into)}" for hop in hops[:4])
        more = f" and {len(hops) - 4} more" if len(hops) > 4 else ""
        evidence = dict.fromkeys(one for hop in hops[:4] for end in (hop.out, hop.into) for one in bad.get(end, ()))
        yield Found(start, f"{start}→{to}", f"{count} of {every} paths lose RoCE: {shown}{more}", tuple(evidence))


@check("L10", E, "802.3x pause together with PFC", condition="no link-wide pause where PFC is on",
       consequence="the whole link stops, or both are ignored", remedy="turn flow control (ethtool -A) off",
       source="IEEE 802.1Q clause 36.2: PFC and 802.3x PAUSE are exclusive")
def L10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Switch ports and hosts."""
    for line in facts.lossless:
        if line.port.global_pause:
            yield Found(line.device.name, line.port.name, "link-wide pause is on, and PFC, too",
                        (shows(line.device, line.port.where, "", ""),))
    for line, host in facts.host_lines:
        if host.global_pause and line.port.lossless:
            yield Found(line.device.name, line.port.name, f"host {host.name} has link-wide pause on",
                        (Evidence(f"{host.name}.global_pause", "true", host.place),))


@check("L11", W, "PFC only if the peer speaks DCBX", condition="PFC is on, not negotiated",
       consequence="a peer without DCBX leaves PFC off", remedy="priority-flow-control mode on",
       source="Cisco NX-OS QoS guide, Configuring PFC (mode auto)")
def L11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Languages that can negotiate."""
    for line in facts.lossless:
        if line.port.pfc_negotiated:
            yield Found(line.device.name, line.port.name, "PFC mode auto",
                        (shows(line.device, line.port.qos_where or line.port.where, "", ""),))


CHECKS: Final[tuple[Check, ...]] = (L1, L2, L3, L4, L5, L6, L7, L8, L9, L10, L11)
