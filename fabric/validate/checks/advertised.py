"""V7: whether a VTEP's address gets into BGP, by network statements, redistribution or templates."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, ip_address, ip_network
from typing import Final

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, Where
from fabric.configs.text.spelling import is_address, prefix_of
from fabric.validate.checks.base import Check, E, Evidence, Found, check, named
from fabric.validate.checks.identity import address_roots, stated, vtep_address
from fabric.validate.facts import Facts
from fabric.validate.originated import dropped_by, has_route, lets
from fabric.validate.routing_fixes import advertise


@check(
    "V7",
    E,
    "the VTEP's address is not advertised",
    condition="the VTEP's address is in a network statement that has a route of this length, or connected routes are "
    "redistributed, or templates advertise its loopback (SONiC: Loopback0)",
    consequence="other switches have no route to this VTEP: its EVPN routes are unusable",
    remedy="advertise the loopback in the IPv4 address family",
    source="RFC 8365 section 5 (the underlay must reach every next hop)",
    leads_to="V11 P22",
)
def V7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where the file says how prefixes get into BGP, and BGP alone carries them."""
    for device in facts.devices:
        found, address = device.identity, vtep_address(device)
        if not is_address(address) or not device.sessions:
            continue
        named_ = device.capabilities.advertised_loopback if found.redistributes_connected is None else ""
        holders = [name for name, its in device.addresses.items() for it in its if str(interface_of(it).ip) == address]
        if named_ and holders and named_ not in holders:
            where = found.address_where.get((holders[0], device.addresses[holders[0]][0]), found.vtep.where)
            yield Found(
                device.name,
                named(found.vtep.where),
                f"{address} is the address of {holders[0]}, and the switch advertises that of {named_} only",
                (stated(device, address, found.vtep.where), stated(device, holders[0], where, "its interface")),
            )
        if found.redistributes_connected is None:
            continue
        if found.igp or any(it.asn == device.asn for it in device.sessions):  # an interior protocol may carry it
            continue
        covering = [text for text in found.networks if ip_address(address) in (prefix_of(text) or ())]
        if found.redistributes_connected:
            if not covering:
                yield from _not_redistributed(device, address)
            continue
        dropped = next((it for text in covering if (it := dropped_by(device, text)) is not None), None)
        if not any(has_route(device, text) and dropped_by(device, text) is None for text in covering):
            length = f"{address}/{ip_address(address).max_prefixlen}"
            text = f"{address} is in no network statement"
            if covering:
                text = f"network {covering[0]} has no route of that length, and {address} is not advertised without one"
            vrf = found.interface_vrfs.get(_interface(device, address), "")
            if covering and vrf:
                text = f"{address} is in VRF {vrf}, and network {covering[0]} is of the default VRF"
            if dropped is not None:
                text = f"route-map {dropped[0]} of network {covering[0]} drops it, and {address} is not advertised"
            yield Found(
                device.name,
                named(found.vtep.where),
                text,
                (
                    *(_dropping(device, *dropped, address) if dropped is not None else ()),
                    stated(device, address, found.vtep.where),
                    stated(device, device.asn, found.asn_where),
                ),
                root=(device.name, found.vtep.where),
                rests_on=address_roots(device, address),
                fix=advertise(device, length) if _holds(device, length) and not (dropped or vrf) else None,
            )


def _not_redistributed(device: Device, address: str) -> Iterator[Found]:
    """A VTEP's address that the route map of `redistribute connected` keeps out of BGP."""
    policy, own = device.identity.policies.redistribution, ip_network(address)
    if policy is None or not isinstance(own, IPv4Network) or lets(device, *policy, own):
        return
    yield Found(
        device.name,
        named(device.identity.vtep.where),
        f"route-map {policy[0]} of redistribute connected drops {address}, and no network statement has it",
        (*_dropping(device, *policy, address), stated(device, address, device.identity.vtep.where)),
        root=(device.name, device.identity.vtep.where),
    )


def _dropping(device: Device, name: str, where: Where, address: str) -> list[Evidence]:
    """Where a route map is applied that drops an address: first the lines of prefix lists that make it do so."""
    policies = device.identity.policies
    lines = policies.lines_for(policies.route_maps.get(name, ()), IPv4Network(address))
    return [stated(device, name, it) for it in (*lines, where)]


def _interface(device: Device, address: str) -> str:
    """The interface that has an address; '' where none has."""
    found = (
        name for name, texts in device.addresses.items() if any(str(interface_of(it).ip) == address for it in texts)
    )
    return next(found, "")


def _holds(device: Device, prefix: str) -> bool:
    return any(str(interface_of(text).network) == prefix for its in device.addresses.values() for text in its)


CHECKS: Final[tuple[Check, ...]] = (V7,)
