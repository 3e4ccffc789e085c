"""Configuration and routes of our speaker towards a real router: routes of an emulated fabric, or given prefixes.

The speaker replaces one switch of the emulated fabric. It advertises what that switch would advertise to a neighbour:
underlay prefixes with next hop self, EVPN routes with the VTEP that originated them (RFC 8365 section 5.1.2).
"""

from __future__ import annotations

import socket
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily, prefix_key
from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.config import Neighbor, PeerFamily, SpeakerConfig
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.switch import Switch
from fabric.errors import FabricError
from fabric.lab.sockets import SpeakerSockets

FAMILIES: Final = (IPV4_UNICAST, EVPN)
"""Offered to every neighbour; families that the neighbour does not support are not used (RFC 4760 section 8)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a neighbour; above them the session ends. docs/howto/control-plane.md has the memory they imply."""

    prefixes: int = 100_000
    """In each address family."""
    attribute_bytes: int = 32 << 20
    """Attribute bytes of all its routes."""
    restart_ns: int | None = None
    """Time to the next attempt; None: no attempt."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """Routes with the same attributes and next hop."""

    family: AddressFamily
    keys: tuple[bytes, ...]
    attributes: Attributes
    next_hop: bytes = b""
    """Packed; b'': this end of the session."""
    payload: Hashable = None


def announcements_of(prefixes: Iterable[str]) -> list[Announcement]:
    """IPv4 prefixes, announced as FRR's `network` statements do: origin IGP, MED 0. Raises: ValueError."""
    keys = tuple(prefix_key(prefix) for prefix in prefixes)
    return [Announcement(IPV4_UNICAST, keys, Attributes(med=0))] if keys else []


def announcements_by(switch: Switch) -> list[Announcement]:
    """Selected routes of an emulated switch, as it would announce them: a block per set of attributes, IPv4 first."""
    found: dict[tuple[AddressFamily, Attributes, bytes, Hashable], list[bytes]] = {}
    for family in FAMILIES:
        for keys, selection in switch.speaker.loc_rib(family) if family in switch.speaker.tables else ():
            best = selection.best
            next_hop = best.next_hop if family.keeps_next_hop else b""
            found.setdefault((family, best.attributes, next_hop, best.payload), []).extend(keys)
    return [
        Announcement(family, tuple(keys), attributes, next_hop, payload)
        for (family, attributes, next_hop, payload), keys in found.items()
    ]


def replaced_switch(network: Network, name: str | None) -> Switch:
    """The switch that the speaker replaces: the named one, or the first of the highest tier. Raises: FabricError."""
    by_name = {it.router.name: it for it in network.switches}
    if name is None:
        return max(network.switches, key=lambda it: it.router.tier)
    if name not in by_name:
        raise FabricError(f"no switch is called '{name}'", f"one of {', '.join(by_name)}")
    return by_name[name]


def local_address(peer: str, port: int) -> str:
    """Source address of this machine towards `peer`. Raises: FabricError if there is no route."""
    probe = socket.socket(socket.AF_INET6 if ":" in peer else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        probe.connect((peer, port))  # UDP connect selects a route and sends nothing
        return str(probe.getsockname()[0])
    except OSError as error:
        raise FabricError(
            f"no route to {peer}: {error.strerror}",
            "give the machine an address on the router's network, or name one with --local",
        ) from error
    finally:
        probe.close()


def session_config(
    local: str,
    peer: str,
    asn: int,
    peer_asn: int,
    router_id: str,
    hostname: str,
    *,
    passive: bool,
    hold_time_s: int,
    limits: Limits | None = None,
) -> SpeakerConfig:
    """One speaker with one neighbour."""
    limits = limits if limits is not None else Limits()
    families = dict.fromkeys(FAMILIES, PeerFamily(max_prefixes=limits.prefixes))
    neighbor = Neighbor(
        peer,
        peer_asn,
        local,
        peer,
        families,
        passive=passive,
        hold_time_s=hold_time_s,
        keepalive_s=max(1, hold_time_s // 3),
        max_attribute_bytes=limits.attribute_bytes,
        limit_restart_ns=limits.restart_ns,
    )
    return SpeakerConfig(asn, router_id, hostname, (neighbor,), update_delay_ns=0, announce_delay_ns=0)


def announce(sockets: SpeakerSockets, announcements: Sequence[Announcement]) -> None:
    """Originate all announcements."""
    for it in announcements:
        sockets.do(
            "originate",
            family=it.family,
            keys=it.keys,
            attributes=it.attributes,
            next_hop=it.next_hop,
            payload=it.payload,
        )
