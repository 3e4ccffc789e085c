"""Sub-interfaces at the two ends of a link: which of them face each other, and the VLAN tag that each sends.

Frames of a sub-interface have its tag (802.1Q section 9.6), those of the port itself have none. An end takes only
frames with its own tag, so that two ends of one subnet with two tags never meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Where
from fabric.validate.facts import Line, Wire


@dataclass(frozen=True, slots=True)
class TaggedEnd:
    """An interface with an address at one end of a link."""

    line: Line
    name: str
    address: IPv4Interface | IPv6Interface
    tag: str
    """'' for the port itself, whose frames have none."""
    where: Where
    """Of its tag, or of its address."""

    @property
    def shown(self) -> str:
        """'VLAN tag 100', or 'no VLAN tag'."""
        return f"VLAN tag {self.tag}" if self.tag else "no VLAN tag"


def apart_by_tags(wire: Wire) -> Iterator[tuple[TaggedEnd, TaggedEnd]]:
    """Pairs of interfaces over a link in one subnet, of which at least one is a sub-interface, with different tags.

    An end that meets another one of that subnet is in no pair.
    """
    ours, theirs = _ends(wire.a), _ends(wire.b)
    if not any(it.name.count(".") for it in (*ours, *theirs)):
        return
    for near in ours:
        facing = [
            it for it in theirs if it.address.network == near.address.network and it.address.ip != near.address.ip
        ]
        if facing and all(it.tag != near.tag for it in facing):
            yield near, facing[0]


def of_two_subnets(wire: Wire) -> Iterator[tuple[TaggedEnd, TaggedEnd]]:
    """Sub-interfaces that meet by their tag, and have no subnet of one IP version in common."""
    ours, theirs = ([it for it in _ends(line) if "." in it.name] for line in (wire.a, wire.b))
    for near in ours:
        met = [it for it in theirs if it.tag == near.tag and it.address.version == near.address.version]
        same = [it for it in ours if it.name == near.name and it.address.version == near.address.version]
        networks = {it.address.network for it in met}
        if met and same[0] is near and not networks & {it.address.network for it in same}:
            yield near, met[0]


def shut_at_one_end(wire: Wire) -> Iterator[tuple[TaggedEnd, TaggedEnd]]:
    """Sub-interfaces of one subnet and tag, of which the first is shut and the second is not."""
    for near in _ends(wire.a):
        for far in _ends(wire.b):
            if "." not in near.name or near.tag != far.tag or near.address.network != far.address.network:
                continue
            down = [it.name in it.line.device.identity.shut for it in (near, far)]
            if down[0] != down[1]:
                yield (near, far) if down[0] else (far, near)


def _ends(line: Line) -> list[TaggedEnd]:
    """The interfaces with addresses of a port, or of its LAG, whose tags are known."""
    own = line.device.identity
    names = {it for it in (line.port.name, line.port.lag) if it}
    found = []
    for name, texts in line.device.addresses.items():
        whole, dot, _ = name.partition(".")
        tag = own.tags_sent.get(name) if dot else None
        if whole not in names or (dot and tag is None):
            continue
        for text in texts:
            where = tag.where if tag is not None else own.address_where[name, text]
            found.append(TaggedEnd(line, name, interface_of(text), tag.value if tag is not None else "", where))
    return found
