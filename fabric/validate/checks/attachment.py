"""L: how hosts are attached: their ports in a VLAN, and without tags where the others have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from fabric.configs.model import Device, Port
from fabric.validate.checks.base import Check, E, Found, I, W, check, shows
from fabric.validate.facts import Facts, Line
from fabric.validate.routing_fixes import join_vlan, make_access, untag

_DEFAULT_VLAN: Final = "1"


def _attached(device: Device, port: Port) -> bool:
    """Whether a port is switched into a VLAN, or routes: an address, a subinterface, a session."""
    names = {port.name, port.lag or port.name}
    routed = any(name in names or name.partition(".")[0] in names for name in device.addresses)
    sessions = any(it.interface in names for it in device.sessions)
    member = any(names & set(vlan.members) for name, vlan in device.vlans.items() if name.startswith("Vlan"))
    allowed, known = port.trunk_vlans, device.identity.vlan_where
    trunk = port.trunk and (allowed is None or not known or any(str(it) in known for it in allowed))
    return bool(port.vlan) or trunk or routed or sessions or member


@check(
    "L13",
    E,
    "a host's port is in no VLAN, or alone in one",
    condition="where ports to hosts are in VLANs, every one of them is in a VLAN, or has an address; its VLAN has "
    "another port, a VNI, or an interface with an address",
    consequence="the host reaches no other host: its frames are in no segment",
    remedy="put the port into the VLAN of its host",
    source="IEEE 802.1Q clause 8.6.1 (a frame of a VLAN that the port is not in is discarded)",
    leads_to="V11",
)
def L13(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """The VLAN that most ports to hosts have, on this switch or else elsewhere, is proposed.

    A VLAN that any switch gives a VNI is left to V16.
    """
    lines = [line for line in facts.used if facts.faces_host(line)]
    by_switch: dict[str, Counter[str]] = {}
    every: Counter[str] = Counter()
    for line in lines:
        if line.port.vlan:
            by_switch.setdefault(line.device.name, Counter())[line.port.vlan] += 1
            every[line.port.vlan] += 1
    for line in lines:
        usual = by_switch.get(line.device.name) or every
        # Of a switch that bridges no host at all, another design is meant, unless it has the VLAN and a VTEP.
        meant = line.device.name in by_switch or (every and bool(line.device.identity.vnis))
        if not usual or not meant or _attached(line.device, line.port):
            continue
        vlan = usual.most_common(1)[0][0]
        yield Found(
            line.device.name,
            line.port.name,
            f"{line.port.name} to {facts.peers[line.end][0]} is in no VLAN, other ports to hosts are in {vlan}",
            (shows(line.device, line.port.where, "", line.port.name),),
            fix=join_vlan(line.device, line.port.name, vlan),
        )
    extended = {vni.vlan for device in facts.devices for vni in device.identity.vnis}
    for line in lines:
        usual = by_switch[line.device.name] if line.port.vlan else Counter()
        others = [(count, vlan) for vlan, count in usual.items() if vlan != line.port.vlan] or [
            (count, vlan) for vlan, count in every.items() if vlan != line.port.vlan
        ]
        if others and line.port.vlan not in extended and _alone(line):
            vlan = max(others)[1]
            yield Found(
                line.device.name,
                line.port.name,
                f"{line.port.name} to {facts.peers[line.end][0]} is alone in VLAN {line.port.vlan}, which has no VNI "
                f"and no address; other ports to hosts are in {vlan}",
                (shows(line.device, line.port.where, "", line.port.name),),
                fix=join_vlan(line.device, line.port.name, vlan),
            )


def _alone(line: Line) -> bool:
    """Whether nothing else of the switch is in a port's VLAN: no port, trunk, VNI, or interface with an address."""
    device, vlan = line.device, line.port.vlan
    own = device.identity
    if vlan not in own.vlan_where or line.port.trunk or line.port.lag is not None:
        return False  # a VLAN that the switch does not have is R1's
    extended = any(it.vlan == vlan for it in (*own.vnis, *own.routed_vnis))
    routed = any(name.lower() in {f"vlan{vlan}", f"irb.{vlan}"} for name in device.addresses)
    gateway = any(it.vlan == vlan for it in own.gateways)
    members = device.vlans[f"Vlan{vlan}"].members if f"Vlan{vlan}" in device.vlans else ()
    others = [port for port in device.ports.values() if port.name != line.port.name]
    carried = any(
        port.vlan == vlan
        or {port.name, port.lag} & set(members)
        or (port.trunk and (port.trunk_vlans is None or int(vlan) in port.trunk_vlans))
        for port in others
    )
    return not (extended or routed or gateway or carried)


@check(
    "L14",
    W,
    "a host's port is tagged where the others are not",
    condition="ports to hosts in one VLAN are all untagged, or all tagged (info: a port that carries several "
    "VLANs with tags may be that of a hypervisor)",
    consequence="the host's frames without a tag are in no VLAN, and it drops the tagged ones that it gets",
    remedy="make the port an untagged member",
    source="IEEE 802.1Q clause 8.6.1; sonic-vlan.yang, tagging_mode",
    leads_to="V11",
)
def L14(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where most ports to hosts in the VLAN, over all switches, are untagged, and this one has no untagged VLAN.

    Where half of the VLAN's are, as with one host of a rail on each of two switches, most ports of all VLANs decide.
    """
    lines = [line for line in facts.used if facts.faces_host(line)]
    untagged = Counter(line.port.vlan for line in lines if line.port.vlan)
    tagged: dict[str, list[Line]] = {}
    for line in lines:
        for name, vlan in line.device.vlans.items():
            number = name.removeprefix("Vlan")
            if number.isdigit() and line.port.name in vlan.members and line.port.vlan != number:
                tagged.setdefault(number, []).append(line)
        for number in _carried(line, untagged) if line.port.trunk and not line.port.vlan else ():
            tagged.setdefault(number, []).append(line)
    alike = untagged.total() > sum(map(len, tagged.values()))
    for number, its in tagged.items():
        for line in its if untagged[number] > len(its) or (alike and untagged[number] == len(its)) else ():
            if line.port.vlan:
                continue
            several = len(_vlans(line)) > 1
            if line.port.trunk:
                what, fix = "a trunk with VLAN {} and no native VLAN", make_access(line.device, line.port.name, number)
                shown = shows(line.device, line.port.where, "", line.port.name)
            else:
                what, fix = "a tagged member of VLAN {}", untag(line.device, line.port.name, number)
                where = ("VLAN_MEMBER", f"Vlan{number}|{line.port.name}")
                shown = shows(line.device, where, "tagging_mode", "tagged")
            yield Found(
                line.device.name,
                line.port.name,
                f"{line.port.name} is {what.format(number)}, other ports to hosts are untagged",
                (shown,),
                I if several else W,
                fix=None if several else fix,
            )


def _vlans(line: Line) -> set[str]:
    """VLANs that a port without an untagged one carries: of a trunk without limits all that the switch has for hosts.

    Those are not the default VLAN, which a switch has always, nor the VLANs of VRFs' VNIs.
    """
    device, port = line.device, line.port
    members = {name.removeprefix("Vlan") for name, vlan in device.vlans.items() if port.name in vlan.members}
    if not port.trunk:
        return members
    known = set(device.identity.vlan_where) - {it.vlan for it in device.identity.routed_vnis} - {_DEFAULT_VLAN}
    return known if port.trunk_vlans is None else known & set(map(str, port.trunk_vlans))


def _carried(line: Line, untagged: Counter[str]) -> list[str]:
    """VLANs of a trunk; of one that is not limited, the VLAN that most ports to hosts have, where the switch has it."""
    if line.port.trunk_vlans is not None:
        return sorted(map(str, line.port.trunk_vlans))
    known = set(line.device.identity.vlan_where) & untagged.keys()
    if not known or line.device.capabilities.tables:  # there a row names each VLAN of a port
        return []
    return [max(known, key=lambda it: (untagged[it], it))]


CHECKS: Final[tuple[Check, ...]] = (L13, L14)
