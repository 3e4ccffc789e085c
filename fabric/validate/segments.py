"""Hosts of a set of configurations and the segments they are in: ports of access VLANs, their VNIs, their VRFs.

Hosts at one VLAN of one switch share every verdict about reachability, so they are one group.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fabric.configs.identity import Vni
from fabric.configs.model import Device, Port
from fabric.validate.checks.identity import vtep_address
from fabric.validate.facts import Facts
from fabric.validate.sessions import Cause, place


@dataclass(frozen=True, slots=True)
class Group:
    """The hosts of one VLAN at one switch."""

    row: int
    device: Device
    vlan: str
    vni: Vni | None
    segment: str
    """'VNI 10100', or 'VLAN 100' where no switch gives the VLAN a VNI."""

    @property
    def vrf(self) -> str:
        """VRF of the VLAN's interface; '' for the default one."""
        if not self.vlan and self.vni is not None:
            return self.vni.vrf
        return self.device.identity.vrfs[self.vlan].value if self.vlan in self.device.identity.vrfs else ""

    @property
    def vni_number(self) -> str:
        """The VNI that its switch gives its VLAN; '' where it gives none."""
        return "" if self.vni is None else self.vni.number

    def __str__(self) -> str:
        return f"{self.device.name} VLAN {self.vlan}" if self.vlan else f"{self.device.name} {self.segment}"


@dataclass(slots=True)
class Host:
    """A host in one segment, and the groups it is attached to; a host in several segments is listed in each."""

    name: str
    segment: str
    groups: list[Group] = field(default_factory=list)
    shut: list[tuple[Device, Port]] = field(default_factory=list)
    """Its ports that are shut."""


def hosts_of(facts: Facts) -> tuple[list[Group], list[Host]]:
    """Groups and hosts. Where no cable is known, a port of an access VLAN stands for the host behind it."""
    at: dict[tuple[str, str], Group] = {}
    hosts: dict[tuple[str, str], Host] = {}
    usual = _usual(facts)
    for device in facts.devices:
        vnis = {vni.vlan: vni for vni in device.identity.vnis if vni.vlan}
        for port in device.ports.values():
            peer = facts.peers.get((device.name, port.name))
            if not port.vlan or (peer is None and device.name in facts.linked):
                continue
            if peer is not None and peer[0] in facts.network.devices:
                continue
            vni = vnis.get(port.vlan)
            key = device.name, port.vlan
            if key not in at:
                at[key] = Group(len(at), device, port.vlan, vni, _segment(port.vlan, vni, usual))
            name, segment = peer[0] if peer else f"{device.name}:{port.name}", at[key].segment
            host = hosts.setdefault((name, segment), Host(name, segment))
            if not port.admin_up:
                host.shut.append((device, port))
            elif at[key] not in host.groups:
                host.groups.append(at[key])
    return list(at.values()), list(hosts.values())


def routed_segments(facts: Facts, first_row: int) -> dict[tuple[str, str], Group]:
    """(switch, VRF) to the L3 VNI of the VRF there, as a group without hosts.

    The routes of a VRF have the targets, the next hop and the way of its L3 VNI (RFC 9135 section 5, RFC 9136 section
    4.4.1), so a switch has the routes of exactly those VTEPs whose L3 VNI it would learn as a segment.
    """
    found: dict[tuple[str, str], Group] = {}
    for device in facts.devices:
        for vni in device.identity.routed_vnis:
            row = first_row + len(found)
            found.setdefault((device.name, vni.vrf), Group(row, device, "", vni, f"VRF {vni.vrf}"))
    return found


def _usual(facts: Facts) -> dict[str, tuple[str, Counter[str]]]:
    """VLAN to its usual VNI, and to how many switches have which."""
    by_vlan: dict[str, Counter[str]] = {}
    for device in facts.devices:
        for vni in device.identity.vnis:
            if vni.vlan:
                by_vlan.setdefault(vni.vlan, Counter())[vni.number] += 1
    return {vlan: (count.most_common(1)[0][0], count) for vlan, count in by_vlan.items()}


def _segment(vlan: str, vni: Vni | None, usual: dict[str, tuple[str, Counter[str]]]) -> str:
    """The segment that hosts are meant to be in: of a VLAN whose VNI no other switch has, the VLAN's usual VNI."""
    if vlan not in usual:
        return f"VLAN {vlan}"
    number, count = usual[vlan]
    alone = vni is None or (count[vni.number] == 1 and sum(count.values()) > 1 and count[number] >= count[vni.number])
    return f"VNI {number if vni is None or alone else vni.number}"


def not_carried(group: Group) -> Cause | None:
    """Why a switch does not carry a group's VLAN into the overlay."""
    device, found, vni = group.device, group.device.identity, group.vni
    if vni is None:
        other = next((it for it in found.vnis if f"VNI {it.number}" == group.segment), None)
        if other is not None:
            text = f"{device.name} maps VNI {other.number} to VLAN {other.vlan or 'none'}, and not to {group.vlan}"
            return Cause(text, (place(device, other.where), place(device, found.vtep.where)))
        return Cause(f"{device.name} has no VNI for VLAN {group.vlan}", (place(device, found.vtep.where),))
    here = place(device, vni.where)
    if vni.vrf in found.unrouted_vrfs:
        text = f"{device.name} does not route in VRF {vni.vrf}: 'ip routing vrf {vni.vrf}' is missing"
        return Cause(text, (place(device, found.unrouted_vrfs[vni.vrf]),))
    address = vtep_address(device)
    owned = {text.partition("/")[0] for texts in device.addresses.values() for text in texts}
    if not found.vtep_up:
        return Cause(f"the tunnel of {device.name} is shut or off", (place(device, found.evpn.where or vni.where),))
    if not found.vtep:
        return Cause(f"{device.name} has no VTEP source", (here,))
    if not address or (device.addresses and address not in owned):
        text = f"the VTEP source {found.vtep.value} of {device.name} has no address"
        return Cause(text, (place(device, found.vtep.where),))
    if found.evpn.value == "off":
        return Cause(f"{device.name} does not use EVPN", (place(device, found.evpn.where),))
    if not vni.in_tunnel:
        return Cause(f"VNI {vni.number} is not in the tunnel of {device.name}", (here,))
    if vni.in_bgp is False:
        return Cause(f"VNI {vni.number} has no EVPN instance at {device.name}", (here,))
    return None
