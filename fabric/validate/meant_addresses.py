"""The address that an interface was meant to have: by the other end of its link, or by the switch's own other lines.

A link has one subnet, and a BGP session over it names the other end. Where the far end's address and its neighbour
statement agree, this end's address follows from them. A loopback's address follows from the router ID, which is such
an address by convention (RFC 7938 section 5.2.3; RFC 6286 section 2.1 asks for no more than that it is unique).
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device
from fabric.configs.text.spelling import is_address
from fabric.validate.facts import Facts
from fabric.validate.remedies import Fix
from fabric.validate.routing_fixes import set_address


def by_link(facts: Facts, device: Device, name: str) -> str:
    """The address with its length that the other end of an interface's link is configured for; '' where it says none.

    It is the far end's neighbour in the far end's own subnet, if no other switch has that address.
    """
    far, there = facts.across(device, name)
    other = facts.network.devices.get(far)
    vrf = device.identity.interface_vrfs.get(name, "")
    asked = () if other is None else _asked(other, there)
    meant = [it for it in asked if facts.owners_in(vrf).get(it[0]) in (None, device)]
    return f"{meant[0][0]}/{meant[0][1]}" if len(meant) == 1 else ""


def _asked(other: Device, there: str) -> Iterator[tuple[str, int]]:
    """(address, length) of the neighbours of a switch in the subnets of one of its interfaces."""
    for text in other.addresses.get(there, ()):
        own = interface_of(text)
        if own.ip.is_link_local:
            continue
        for address in dict.fromkeys(it.address for it in other.sessions if is_address(it.address)):
            if ip_address(address) in own.network and ip_address(address) != own.ip:
                yield address, own.network.prefixlen


def readdressed(facts: Facts, device: Device, name: str) -> Fix | None:
    """The change of an interface to the address that its link's other end is configured for; None where it has that
    one, or where the other end says none.
    """
    meant, texts = by_link(facts, device, name), device.addresses.get(name, ())
    if not meant or meant in texts:
        return None
    version = interface_of(meant).version
    old = next((it for it in texts if interface_of(it).version == version), "")
    return set_address(device, name, old, meant)


def of_two_ends(facts: Facts, ends: tuple[tuple[Device, str], tuple[Device, str]]) -> Fix | None:
    """The change of the one end of a link that the other end contradicts; None where both do, or none."""
    found = [it for it in (readdressed(facts, *end) for end in ends) if it is not None]
    return found[0] if len(found) == 1 else None


def own_loopback(facts: Facts, device: Device) -> tuple[str, str]:
    """(interface, address) of the loopback that is a switch's own: the one of its router ID, else the only one with an
    address that no other switch has; ('', '') where neither is there.
    """
    rows = [(name, str(interface_of(text).ip)) for name, texts in device.addresses.items() for text in texts]
    names = [it for it in rows if it[0].lower().startswith("lo") and it[0] not in device.identity.interface_vrfs]
    mine = [it for it in names if not _elsewhere(facts, device, it[1])]
    of_id = [it for it in mine if it[1] == device.identity.router_id.value]
    return of_id[0] if of_id else mine[0] if len(mine) == 1 else ("", "")


def _elsewhere(facts: Facts, device: Device, address: str) -> bool:
    """Whether another switch has an address, or says that it is its router ID."""
    others = (it for it in facts.devices if it is not device)
    return any(it.identity.router_id.value == address or _has(it, address) for it in others)


def _has(device: Device, address: str) -> bool:
    return any(text.partition("/")[0] == address for its in device.addresses.values() for text in its)


def claimed(facts: Facts, device: Device, address: str) -> Fix | None:
    """The change of a loopback that has another switch's address to the one that the own router ID says."""
    own = device.identity.router_id.value
    names = [name for name, its in device.addresses.items() for it in its if it.partition("/")[0] == address]
    if not is_address(own) or own == address or _elsewhere(facts, device, own) or _has(device, own) or len(names) != 1:
        return None
    old = next(it for it in device.addresses[names[0]] if it.partition("/")[0] == address)
    whole = names[0].lower().startswith("lo") and ip_address(own).version == interface_of(old).version
    return set_address(device, names[0], old, f"{own}/{old.partition('/')[2]}") if whole else None
