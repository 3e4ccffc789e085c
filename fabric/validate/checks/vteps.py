"""V: what a VTEP needs beside VNIs and targets: one UDP port, learned MACs, kept routes, replication, gateways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import ip_address, ip_network
from typing import Final

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, Session
from fabric.validate.checks.base import Check, E, Found, I, W, check, named, shows
from fabric.validate.checks.identity import is_loopback, vtep_address
from fabric.validate.checks.peers import sessions
from fabric.validate.facts import Facts
from fabric.validate.remedies import Fix
from fabric.validate.routing_fixes import (
    advertise_learned,
    bring_up,
    copy_no_more,
    keep_targets,
    map_vni,
    replicate,
    route_vni,
    set_gateway,
    set_vlan_mtu,
    set_vxlan_port,
)

_VXLAN_PORT: Final = "4789"
"""RFC 7348 section 5."""


@check(
    "V12",
    E,
    "VTEPs use different UDP ports",
    condition="every VTEP sends and expects VXLAN at one UDP port",
    consequence="frames arrive at a port at which the other VTEP does not listen, and are dropped",
    remedy="use 4789 everywhere",
    source="RFC 7348 section 5 (UDP port 4789)",
    leads_to="V11",
)
def V12(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Against what most VTEPs use; of two equals the one that is not 4789."""
    vteps = [device for device in facts.devices if device.identity.vtep]
    held = {device.name: device.identity.vxlan_port.value or _VXLAN_PORT for device in vteps}
    counts = Counter(held.values())
    if len(counts) < 2:
        return
    usual = max(counts, key=lambda it: (counts[it], it == _VXLAN_PORT))
    for device in vteps:
        if held[device.name] != usual:
            where = device.identity.vxlan_port.where or device.identity.vtep.where
            yield Found(
                device.name,
                named(where),
                f"VXLAN uses UDP port {held[device.name]}, elsewhere {usual}",
                (shows(device, where, "", held[device.name]),),
                fix=set_vxlan_port(device, usual),
            )


@check(
    "V13",
    E,
    "learned MAC addresses are not advertised",
    condition="the MAC-VRF of every VNI redistributes the MAC addresses that its ports learn",
    consequence="no route of type 2 for the hosts of this switch: the others flood every packet for them to all VTEPs",
    remedy="add redistribute learned below the VLAN in router bgp",
    source="RFC 7432 section 9.2 (advertisement of locally learned MAC addresses)",
)
def V13(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Languages in which a line says so."""
    for device in facts.devices:
        for vni in device.identity.vnis:
            if vni.learned is False:
                yield Found(
                    device.name,
                    named(vni.targets_where),
                    f"VLAN {vni.vlan} (VNI {vni.number}) has no 'redistribute learned'",
                    (shows(device, vni.targets_where, "", f"VLAN {vni.vlan}"),),
                    fix=advertise_learned(device, vni.vlan),
                )


@check(
    "V14",
    E,
    "a switch between VTEPs drops their EVPN routes",
    condition="a switch without VNIs that passes EVPN routes on keeps those whose route targets it does not import",
    consequence="it drops every EVPN route that it receives: VTEPs learn nothing of each other through this switch",
    remedy="add retain route-target all to the EVPN address family",
    source="RFC 4364 section 4.3.2 (routes without a matching import target are filtered); Cisco Nexus 9000 VXLAN "
    "guide, eBGP spines",
    leads_to="V8 V11",
)
def V14(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """A route reflector keeps the routes of its clients without the line."""
    with_evpn: dict[str, list[Session]] = {}
    for owner, session, _ in sessions(facts):
        if "evpn" in (session.families or ()):
            with_evpn.setdefault(owner.name, []).append(session)
    for device in facts.devices:
        carrying = with_evpn.get(device.name, [])
        found = device.identity
        if found.keeps_targets is not False or found.vnis or found.vtep or len(carrying) < 2:
            continue
        if any(it.reflects for it in carrying) or all(it.asn == device.asn for it in carrying):
            continue  # without clients it passes no internal route on (P15)
        where = ("router bgp", "l2vpn evpn")
        yield Found(
            device.name,
            named(where),
            f"no 'retain route-target all', and {len(carrying)} sessions carry EVPN",
            (shows(device, where, "", ""),),
            root=(device.name, ("router bgp",)),
            rests_on=[(device.name, where)],
            fix=keep_targets(device),
        )


@check(
    "V15",
    E,
    "broadcast of a VNI reaches no other VTEP, or what is none",
    condition="every VNI in a tunnel is replicated: ingress replication, or a multicast group; a list of VTEPs to copy "
    "to names other VTEPs of the fabric (warn; info where no VTEP of the fabric is in the address's /24)",
    consequence="ARP requests and unknown unicast stay at this switch: its hosts do not find the others",
    remedy="add ingress-replication protocol bgp below the VNI, or turn flooding on",
    source="RFC 8365 section 5.1.3 and 9 (ingress replication); Cisco Nexus 9000 VXLAN guide",
    leads_to="V11",
)
def V15(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Of a switch that turns flooding off: a warning, where others flood."""
    vteps = {it for other in facts.devices for it in (vtep_address(other), other.identity.shared_vtep) if it}
    blocks = {_block(it) for it in vteps}
    groups: dict[str, Counter[str]] = {}
    for device in facts.devices:
        for vni in device.identity.vnis:
            groups.setdefault(vni.number, Counter())[vni.group] += 1
    flooding = [it for it in facts.devices if it.identity.vnis and it.identity.floods.value != "off"]
    for device in facts.devices:
        for vni in device.identity.vnis:
            if vni.replicates is False and vni.in_tunnel and vni.vlan:
                where = ("interface", "nve1", f"member vni {vni.number}")
                yield Found(
                    device.name,
                    named(where),
                    f"VNI {vni.number} has neither ingress-replication nor a multicast group",
                    (shows(device, where, "", vni.number),),
                    fix=replicate(device, vni.number),
                )
        yield from _other_group(device, groups)
        yield from _stale_copies(device, vteps, blocks)
        off = device.identity.floods
        if device.identity.vnis and off.value == "off" and flooding:
            yield Found(
                device.name,
                named(off.where),
                f"flooding is off, and {flooding[0].name} floods",
                (shows(device, off.where, "", "off"),),
                W,
                fix=replicate(device, device.identity.vnis[0].number),
            )


def _stale_copies(device: Device, vteps: set[str], blocks: set[str]) -> Iterator[Found]:
    """Addresses in a list of VTEPs that are the switch's own one, or that no switch has as its VTEP.

    One among the fabric's VTEPs was one of them. One elsewhere may be a VTEP of another data centre, which is not in
    the files. `blocks`: the /24 and /64 of the fabric's VTEPs.
    """
    for stated in device.identity.flooded:
        if stated.value == vtep_address(device):
            yield Found(
                device.name,
                named(stated.where),
                f"broadcast is copied to {stated.value}, which is this switch's own VTEP",
                (shows(device, stated.where, "", stated.value, "|".join(stated.where[:2])),),
                W,
                fix=copy_no_more(device, stated.where, stated.value),
            )
        elif stated.value not in vteps and len(vteps) > 1:
            at = "|".join(stated.where[:2])
            ours = _block(stated.value) in blocks
            yield Found(
                device.name,
                named(stated.where),
                f"broadcast is copied to {stated.value}, which is no {'' if ours else 'given '}switch's VTEP",
                (shows(device, stated.where, "", stated.value, at),),
                W if ours else I,
                fix=copy_no_more(device, stated.where, stated.value) if ours else None,
            )


def _block(text: str) -> str:
    """The /24 of an IPv4 address, the /64 of an IPv6 one; the text where it is no address."""
    try:
        address = ip_address(text)
    except ValueError:
        return text
    return str(ip_network(f"{text}/{24 if address.version == 4 else 64}", strict=False))


def _other_group(device: Device, groups: Mapping[str, Counter[str]]) -> Iterator[Found]:
    """VNIs that are replicated another way than most switches do: by another multicast group, or without one.

    `groups`: VNI to how many switches use each group, '' for none, in the order of the switches.
    """
    for vni in device.identity.vnis:
        held = groups[vni.number]
        usual = max(held, key=lambda it: (held[it], not it))
        if vni.group != usual and vni.replicates:
            where = ("interface", "nve1", f"member vni {vni.number}")
            shown = [f"multicast group {it}" if it else "ingress replication" for it in (vni.group, usual)]
            yield Found(
                device.name,
                named(where),
                f"VNI {vni.number} uses {shown[0]}, elsewhere {shown[1]}",
                (shows(device, where, "", vni.group or "ingress-replication"),),
                fix=replicate(device, vni.number, usual),
            )


@check(
    "V16",
    E,
    "a VLAN with hosts, or a VRF, has no VNI on one switch",
    condition="a VLAN that another switch extends, and that has a port to a host here, has a VNI here; so has a VRF "
    "that another switch extends, and that the interface of a VLAN here is in",
    consequence="its hosts on this switch are cut off from the segment, or from the other subnets of the VRF",
    remedy="map the VLAN, or the VRF, to the VNI of the other switches",
    source="RFC 8365 section 5.1.2; RFC 9136 section 4.4 (a VRF's routes are advertised with its VNI)",
    leads_to="V6 V11",
)
def V16(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Switches with a VTEP."""
    usual: dict[str, Counter[str]] = {}
    for device in facts.devices:
        for vni in device.identity.vnis:
            if vni.vlan:
                usual.setdefault(vni.vlan, Counter())[vni.number] += 1
    for device in facts.devices:
        found = device.identity
        mapped = {it.vlan for it in found.vnis} | {it.vlan for it in found.routed_vnis}
        used = {port.vlan: port for port in device.ports.values() if port.vlan and port.admin_up}
        for vlan in sorted(used.keys() & usual.keys() - mapped) if found.vtep else ():
            number = usual[vlan].most_common(1)[0][0]
            where = found.vlan_where.get(vlan) or used[vlan].where
            field = ("vlan",) if device.capabilities.tables else ()
            elsewhere = next(((*it.where, *field) for it in found.vnis if it.number == number), found.vtep.where)
            yield Found(
                device.name,
                named(where),
                f"VLAN {vlan} (port {used[vlan].name}) has no VNI, elsewhere {number}",
                (shows(device, where, "", f"VLAN {vlan}"),),
                root=(device.name, elsewhere),
                fix=map_vni(device, vlan, number),
            )
    yield from _vrfs_without(facts)


def _vrfs_without(facts: Facts) -> Iterator[Found]:
    """VRFs of VLANs, on switches with a VTEP."""
    held = {vni.vrf: (device, vni) for device in facts.devices for vni in device.identity.routed_vnis if vni.vrf}
    for device in facts.devices:
        own = device.identity
        used = {stated_.value: stated_ for stated_ in own.vrfs.values()}
        for vrf in sorted(used.keys() & held.keys() - {it.vrf for it in own.routed_vnis}) if own.vtep else ():
            other, vni = held[vrf]
            yield Found(
                device.name,
                f"VRF|{vrf}",
                f"VRF {vrf} has no VNI, on {other.name} {vni.number}",
                (
                    shows(device, used[vrf].where, "", vrf),
                    shows(other, vni.where, "", vni.number, f"{other.name} VNI of {vrf}"),
                ),
                fix=route_vni(device, vrf, vni.number),
            )


@check(
    "V17",
    E,
    "an interface that the overlay needs is down",
    condition="the loopback of a VTEP and the interface of a VLAN with a gateway are up, and no VLAN with a VNI or a "
    "port is suspended",
    consequence="the tunnel has no source, or the hosts of the VLAN have no gateway at this switch",
    remedy="add no shutdown",
    source="Cisco Nexus 9000 Interfaces guide (an interface of a VLAN is shut until no shutdown); RFC 9135 section 4.1",
    leads_to="V11 P22",
)
def V17(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """By a line, or by the default of the language."""
    for device in facts.devices:
        yield from _suspended(device)
        gateways = {it.vlan for it in device.identity.gateways}
        for name, down in device.identity.shut.items():
            where, vlan = down.where, name.lower().removeprefix("vlan")
            owns = any(str(interface_of(text).ip) == vtep_address(device) for text in device.addresses.get(name, ()))
            if vlan in gateways or (is_loopback(name) and owns) or (name in device.addresses and _is_vlan(name)):
                what = "the VTEP's source" if is_loopback(name) else f"the gateway of VLAN {vlan}"
                yield Found(
                    device.name,
                    named(where),
                    f"{name} is down, and it is {what}",
                    (shows(device, where, "", name),),
                    rests_on=[
                        (device.name, it) for (own, _), it in device.identity.address_where.items() if own == name
                    ],
                    fix=bring_up(device, name),
                )


def _is_vlan(name: str) -> bool:
    return not is_loopback(name) and "." not in name


def _suspended(device: Device) -> Iterator[Found]:
    """VLANs in use that pass no traffic."""
    used = {it.vlan for it in device.identity.vnis} | {port.vlan for port in device.ports.values()}
    for vlan, stated in device.identity.suspended.items():
        if vlan in used:
            yield Found(
                device.name,
                named(stated.where),
                f"VLAN {vlan} is suspended, and has ports or a VNI",
                (shows(device, stated.where, "", stated.value),),
                fix=Fix(device.name, f"VLAN {vlan} state", "active", f"vlan {vlan}; state active; no shutdown"),
            )


@check(
    "V18",
    E,
    "a switch with hosts of a VLAN has no gateway for it",
    condition="where every other switch with hosts of an extended VLAN has its anycast gateway, this one has it, too; "
    "a switch with an ordinary address in the gateway's subnet is an error, one without any a warning",
    consequence="its hosts get no answer for the gateway's address, or reach it through another switch only",
    remedy="add the gateway of the other switches",
    source="RFC 9135 section 4.1 (anycast default gateway)",
    leads_to="V11",
)
def V18(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """VLANs with a VNI, at switches with a port to a host in them."""
    at: dict[str, list[Device]] = {}
    for device in facts.devices:
        mapped = {it.vlan for it in device.identity.vnis if it.vlan}
        for vlan in {port.vlan for port in device.ports.values() if port.vlan and port.admin_up} & mapped:
            at.setdefault(vlan, []).append(device)
    for vlan, devices in sorted(at.items()):
        having = {it.name: g for it in devices for g in it.identity.gateways if g.vlan == vlan}
        without = [it for it in devices if it.name not in having]
        if not having or len(without) != 1:
            continue
        device, (other, gateway) = without[0], next(iter(having.items()))
        network = interface_of(gateway.address).network
        own = [
            (name, text)
            for name, texts in device.addresses.items()
            for text in texts
            if name.lower() == f"vlan{vlan}" and interface_of(text).ip in network
        ]
        if any(text == gateway.address for _, text in own):
            continue  # an ordinary address that is the gateway elsewhere: V6
        where = device.identity.address_where[own[0]] if own else device.identity.vlan_where.get(vlan, ())
        yield Found(
            device.name,
            f"vlan{vlan}",
            f"VLAN {vlan} has the gateway {gateway.address} on {other} and none here",
            (
                shows(device, where, "", own[0][1] if own else f"VLAN {vlan}"),
                shows(facts.network.devices[other], gateway.where, "", gateway.address, f"{other} gateway"),
            ),
            E if own else W,
            fix=set_gateway(device, vlan, gateway.address),
        )


@check(
    "T8",
    E,
    "the interface of a VLAN routes smaller packets than hosts send",
    condition="the interface of a VLAN takes the hosts' MTU; where that is not known, the MTU that other switches give "
    "the VLAN (warn)",
    consequence="what hosts send through their gateway and is larger is dropped, or fragmented, which RoCE does not "
    "survive",
    remedy="state the MTU of the fabric at the interface: mtu 9214, or 9216 on NX-OS",
    source="EOS and NX-OS: the MTU of an interface of a VLAN is 1500 unless stated; RFC 1191; RFC 7348 section 4.3",
)
def T8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Interfaces with a gateway or an address."""
    hosts = [it.mtu for it in facts.network.stated_hosts.values() if it.mtu]
    usual: dict[str, int] = {}
    for device in facts.devices:
        for vlan, its in device.identity.vlan_mtus.items():
            usual[vlan] = max(usual.get(vlan, 0), int(its.value))
    for device in facts.devices:
        gateways = {it.vlan for it in device.identity.gateways}
        for vlan, its in device.identity.vlan_mtus.items():
            mtu, where = int(its.value), its.where
            if vlan not in gateways and not any(name.lower() == f"vlan{vlan}" for name in device.addresses):
                continue
            extended = any(it.vlan == vlan for it in device.identity.vnis)
            known = bool(hosts) and any(port.vlan == vlan for port in device.ports.values())
            needed = max(hosts) if known else usual[vlan] if extended else mtu
            if mtu < needed:
                stated = "has MTU" if where[-1:] == ("mtu",) and mtu != 1500 else "routes packets up to"
                what = f"hosts send {needed}" if known else f"other switches route {needed}"
                yield Found(
                    device.name,
                    f"Vlan{vlan}",
                    f"Vlan{vlan} {stated} {mtu} B, {what} B",
                    (shows(device, where, "", mtu),),
                    E if known else W,
                    fix=set_vlan_mtu(device, vlan, max(9216, needed)),
                )


CHECKS: Final[tuple[Check, ...]] = (V12, V13, V14, V15, V16, V17, V18)
MTU_CHECKS: Final[tuple[Check, ...]] = (T8,)
