"""What our speaker is and says when it talks to a real router: a neighbour; routes of an emulated fabric or given ones.

The speaker takes the place of one switch of the emulated fabric: it says what that switch would say to a neighbour, the
underlay's prefixes with itself as next hop, EVPN routes with the VTEP that originated them (RFC 8365 section 5.1.2).
"""

from __future__ import annotations

import socket
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from fabric.control.network import Network
from fabric.control.switch import Switch
from fabric.errors import FabricError
from fabric.lab.sockets import Door
from fabric.overlay.evpn_nlri import EVPN
from fabric.routing.bgp.afi import IPV4_UNICAST, AddressFamily, prefix_key
from fabric.routing.bgp.attributes import Attributes
from fabric.routing.bgp.config import Neighbor, PeerFamily, SpeakerConfig

FAMILIES: Final = (IPV4_UNICAST, EVPN)
"""Offered to every neighbour; what it does not know is not used (RFC 4760 section 8)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a neighbour may send; more ends the session. docs/howto/control-plane.md says what memory that is."""

    prefixes: int = 100_000
    """In each address family."""
    attribute_bytes: int = 32 << 20
    """Of all its routes."""
    restart_ns: int | None = None
    """Time to the next attempt; None: there is none."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """Routes that are announced alike."""

    family: AddressFamily
    keys: tuple[bytes, ...]
    attributes: Attributes
    next_hop: bytes = b""
    """Packed; b'': this end of the session."""
    payload: Hashable = None


def announcements_of(prefixes: Iterable[str]) -> list[Announcement]:
    """IPv4 prefixes as `network` statements of FRR announce them: origin IGP, MED 0. Raises: ValueError."""
    keys = tuple(prefix_key(prefix) for prefix in prefixes)
    return [Announcement(IPV4_UNICAST, keys, Attributes(med=0))] if keys else []


def announcements_by(switch: Switch) -> list[Announcement]:
    """What an emulated switch has selected and would announce: a block per set of attributes, IPv4 unicast first."""
    found: dict[tuple[AddressFamily, Attributes, bytes, Hashable], list[bytes]] = {}
    for family in FAMILIES:
        for keys, selection in switch.speaker.loc_rib(family) if family in switch.speaker.tables else ():
            best = selection.best
            next_hop = best.next_hop if family.keeps_next_hop else b""
            found.setdefault((family, best.attributes, next_hop, best.payload), []).extend(keys)
    return [Announcement(family, tuple(keys), attributes, next_hop, payload)
            for (family, attributes, next_hop, payload), keys in found.items()]


def switch_to_be(network: Network, name: str | None) -> Switch:
    """The switch whose place is taken: the one named, or the first of the highest tier. Raises: FabricError."""
    by_name = {it.router.name: it for it in network.switches}
    if name is None:
        return max(network.switches, key=lambda it: it.router.tier)
    if name not in by_name:
        raise FabricError(f"no switch is called '{name}'", f"one of {', '.join(by_name)}")
    return by_name[name]


def local_address(peer: str, port: int) -> str:
    """The address from which this machine reaches `peer`. Raises: FabricError where there is no route."""
    probe = socket.socket(socket.AF_INET6 if ":" in peer else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        probe.connect((peer, port))                 # of a UDP socket: chooses a route, sends nothing
        return str(probe.getsockname()[0])
    except OSError as error:
        raise FabricError(f"no route to {peer}: {error.strerror}",
                          "give the machine an address on the router's network, or name one with --local") from error
    finally:
        probe.close()


def session_config(local: str, peer: str, asn: int, peer_asn: int, router_id: str, hostname: str, *, passive: bool,
                   hold_time_s: int, limits: Limits | None = None) -> SpeakerConfig:
    """One speaker with one neighbour."""
    limits = limits if limits is not None else Limits()
    families = dict.fromkeys(FAMILIES, PeerFamily(max_prefixes=limits.prefixes))
    neighbor = Neighbor(peer, peer_asn, local, peer, families, passive=passive, hold_time_s=hold_time_s,
                        keepalive_s=max(1, hold_time_s // 3), max_attribute_bytes=limits.attribute_bytes,
                        limit_restart_ns=limits.restart_ns)
    return SpeakerConfig(asn, router_id, hostname, (neighbor,), update_delay_ns=0, announce_delay_ns=0)


def announce(door: Door, announcements: Sequence[Announcement]) -> None:
    """Originate everything."""
    for it in announcements:
        door.do("originate", family=it.family, keys=it.keys, attributes=it.attributes, next_hop=it.next_hop,
                payload=it.payload)
