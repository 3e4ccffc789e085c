"""I: prefixes of interfaces: loopbacks as host routes, and interfaces of one switch whose subnets overlap."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, Where
from fabric.configs.text.spelling import prefix_of
from fabric.validate.checks.base import Check, E, Found, W, check, named, shows
from fabric.validate.checks.identity import is_loopback, vtep_address
from fabric.validate.disagreement import UNDECIDED
from fabric.validate.facts import Facts
from fabric.validate.meant_addresses import readdressed
from fabric.validate.routing_fixes import set_address

_Network = IPv4Network | IPv6Network


@check(
    "I7",
    E,
    "a loopback has a subnet instead of a host route",
    condition="a loopback that is a VTEP's source, or in whose subnet another switch has an address, is a /32 or /128",
    consequence="the switch takes the addresses of other switches in that subnet for its own neighbours, and a network "
    "statement for the /32 finds no route: the VTEP is not advertised, or its routes hide others",
    remedy="give the loopback the prefix length 32, or 128 for IPv6",
    source="RFC 7938 section 5.2.3 (loopbacks as host routes); RFC 4271 section 9.4 (what is advertised is in the RIB)",
    leads_to="P1 P3 V4 V7 V8 V11 I1 P22",
)
def I7(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Loopbacks of the default VRF."""
    others = [
        (device, interface_of(text).ip) for device in facts.devices for its in device.addresses.values() for text in its
    ]
    for device in facts.devices:
        vtep = vtep_address(device)
        for name, texts in device.addresses.items():
            if not is_loopback(name) or name in device.identity.interface_vrfs:
                continue
            for text in texts:
                its = interface_of(text)
                if its.network.prefixlen == its.max_prefixlen or its.ip.is_loopback or its.is_link_local:
                    continue
                inside = [
                    other.name
                    for other, ip in others
                    if other is not device and ip.version == its.version and ip in its.network
                ]
                if str(its.ip) != vtep and not inside:
                    continue
                whole = f"{its.ip}/{its.max_prefixlen}"
                also = f", and {', '.join(sorted(set(inside))[:_SHOWN])} has an address in it" if inside else ""
                where = device.identity.address_where[name, text]
                yield Found(
                    device.name,
                    named(where),
                    f"{name} has {text} instead of {whole}{also}",
                    (shows(device, where, "", text),),
                    fix=set_address(device, name, text, whole),
                )


_SHOWN: Final = 4


@check(
    "I8",
    E,
    "two interfaces of a switch are in one subnet",
    condition="the subnets of the ports, LAGs and VLANs of a VRF of one switch do not overlap, and no two of its "
    "loopbacks have one address",
    consequence="the switch refuses the second address, or sends what is for one link over the other",
    remedy="correct the address that differs from its link's other end",
    source="RFC 1812 section 2.2.7 (an interface is in its own subnet)",
    leads_to="P1 P3 P9 I1 V11",
)
def I8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Each interface with the one before it in the order of prefixes; subnets of loopbacks are I7's."""
    for device in facts.devices:
        yield from _loopbacks(device)
        by_vrf: dict[tuple[str, int], list[tuple[int, int, str, str]]] = {}
        for name, texts in device.addresses.items():
            for text in texts:
                its = interface_of(text)
                if not (is_loopback(name) or its.ip.is_link_local):
                    vrf = device.identity.interface_vrfs.get(name, "")
                    row = int(its.network.network_address), its.network.prefixlen, name, text
                    by_vrf.setdefault((vrf, its.version), []).append(row)
        for rows in by_vrf.values():
            yield from _overlaps(facts, device, sorted(rows))


def _loopbacks(device: Device) -> Iterator[Found]:
    """The second of two loopbacks of a VRF that have one address."""
    owners: dict[tuple[str, str], tuple[str, str]] = {}
    for name, texts in device.addresses.items():
        for text in texts if is_loopback(name) else ():
            key = device.identity.interface_vrfs.get(name, ""), str(interface_of(text).ip)
            first = owners.setdefault(key, (name, text))
            if first[0] != name:
                places = [device.identity.address_where[it] for it in ((name, text), first)]
                yield Found(
                    device.name,
                    named(places[0]),
                    f"{name} has {text}, which {first[0]} has already",
                    tuple(shows(device, at, "", it) for at, it in zip(places, (text, first[1]), strict=True)),
                )


def _overlaps(facts: Facts, device: Device, rows: list[tuple[int, int, str, str]]) -> Iterator[Found]:
    widest: tuple[_Network, str, str] | None = None
    for _, _, name, text in rows:
        network = interface_of(text).network
        if widest is not None and network.network_address in widest[0] and name != widest[1]:
            pair = [(name, text), widest[1:]]
            wrong, other = sorted(pair, key=lambda it: _fits(facts, device, *it))
            places = [device.identity.address_where[it] for it in (wrong, other)]
            yield Found(
                device.name,
                named(places[0]),
                f"{wrong[0]} has {wrong[1]}, which overlaps with {other[1]} of {other[0]}",
                tuple(shows(device, at, "", it[1]) for at, it in zip(places, (wrong, other), strict=True)),
                rests_on=[(device.name, device.ports[it].where) for it in (name, widest[1]) if it in device.ports],
                fix=readdressed(facts, device, wrong[0]),
            )
        elif widest is None or network.network_address not in widest[0]:
            widest = network, name, text


def _fits(facts: Facts, device: Device, name: str, text: str) -> bool:
    """Whether the other end of the interface's link is in its subnet."""
    end = facts.peers.get((device.name, name))
    far = None if end is None else facts.network.devices.get(end[0])
    if far is None or end is None:
        return True
    own = interface_of(text)
    return any(
        interface_of(it).network == own.network and interface_of(it).ip != own.ip
        for it in far.addresses.get(end[1], ())
    )


@check(
    "I9",
    E,
    "a management address is used twice",
    condition="no two switches have one address at their management ports",
    consequence="operators and automation reach one of the two, now this one, now the other: a change lands on the "
    "wrong switch",
    remedy="give each switch its own management address",
    source="RFC 826 (two owners of an address answer each other's ARP); RFC 5227 section 1",
)
def I9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """By address without its length; what is no address is another check's."""
    holders: dict[str, list[tuple[Device, Where]]] = {}
    for device in facts.devices:
        for stated in device.identity.management.values():
            address = stated.value.partition("/")[0]
            if address:
                holders.setdefault(address, []).append((device, stated.where))
    for address, its in holders.items():
        for device, where in its[1:]:
            first, at = its[0]
            yield Found(
                device.name,
                named(where),
                f"the management address {address} is also that of {first.name}; {UNDECIDED}",
                (shows(device, where, "", address), shows(first, at, "", address, f"{first.name} management address")),
            )


@check(
    "I11",
    W,
    "a management address is in a subnet of the fabric",
    condition="no address of a management port is in the subnet of a link, or of hosts, of any switch",
    consequence="the switch has two interfaces into one subnet, or answers hosts over the wrong one: management or the "
    "link is lost, depending on which route goes first",
    remedy="give the management port an address of the management network",
    source="RFC 1122 section 3.3.1.1 (a destination in the subnet of an interface is on that interface's link)",
)
def I11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """One finding for each management address, with the interface of the same switch where it has one there."""
    subnets: dict[_Network, list[tuple[Device, str, Where]]] = {}
    for device in facts.devices:
        texts = [(name, text) for name, its in device.addresses.items() for text in its]
        texts += [(f"Vlan{it.vlan}", it.address) for it in device.identity.gateways]
        for name, text in texts:
            network = prefix_of(text)
            if network is not None and network.prefixlen < network.max_prefixlen:
                where = device.identity.address_where.get((name, text), ())
                subnets.setdefault(network, []).append((device, name, where))
    lengths = sorted({(it.version, it.prefixlen) for it in subnets})
    for device in facts.devices:
        for stated in device.identity.management.values():
            own = prefix_of(stated.value)
            address = interface_of(stated.value).ip if own is not None else None
            for version, length in lengths if address is not None else ():
                if address is None or address.version != version:
                    continue
                network = interface_of(f"{address}/{length}").network
                its = [it for it in subnets.get(network, ()) if stated.value not in it[0].addresses.get(it[1], ())]
                if its:
                    other, name, where = next((it for it in its if it[0] is device), its[0])
                    of = name if other is device else f"{name} of {other.name}"
                    yield Found(
                        device.name,
                        named(stated.where),
                        f"the management address {address} is in {network}, the subnet of {of}",
                        (
                            shows(device, stated.where, "", stated.value),
                            *((shows(other, where, "", network, f"{of} subnet"),) if where else ()),
                        ),
                    )
                    break


CHECKS: Final[tuple[Check, ...]] = (I7, I8, I9, I11)
