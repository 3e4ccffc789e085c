"""Routers in a line, and one router whose neighbour is the test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily, prefix_key
from fabric.controlplane.bgp.attributes import Attributes, sequence
from fabric.controlplane.bgp.capabilities import Capabilities, write_capabilities
from fabric.controlplane.bgp.config import Neighbor, PeerFamily, SpeakerConfig
from fabric.controlplane.bgp.message import KEEPALIVE_BYTES, Open, encode_open
from fabric.controlplane.bgp.rib import Path
from fabric.controlplane.bgp.speaker import Speaker
from fabric.controlplane.bgp.update import reach_messages, unreach_messages
from tests.bgp.wiring import Wiring

NET = prefix_key("192.0.2.0/24")
OTHER = prefix_key("198.51.100.0/24")


def line(*asns: int, families: Mapping[AddressFamily, PeerFamily] | None = None, **changes: object) -> Wiring:
    """Routers r1 - r2 - r3 ..., one AS each; r<n> connects to r<n+1>."""
    wiring = Wiring()
    families = families or {IPV4_UNICAST: PeerFamily()}
    for n, asn in enumerate(asns, 1):
        neighbors = []
        if n > 1:
            neighbors.append(
                Neighbor(f"10.0.{n - 1}.1", asns[n - 2], f"10.0.{n - 1}.2", f"10.0.{n - 1}.1", families, passive=True)
            )
        if n < len(asns):
            neighbors.append(Neighbor(f"10.0.{n}.2", asns[n], f"10.0.{n}.1", f"10.0.{n}.2", families))
            wiring.remote[f"r{n}", f"10.0.{n}.2"] = (f"r{n + 1}", f"10.0.{n}.1")
            wiring.remote[f"r{n + 1}", f"10.0.{n}.1"] = (f"r{n}", f"10.0.{n}.2")
        config = SpeakerConfig(asn, f"10.255.0.{n}", f"r{n}", tuple(neighbors), announce_delay_ns=0)
        wiring.speakers[f"r{n}"] = Speaker(replace(config, **changes))  # type: ignore[arg-type]
    return wiring


PLAIN = Attributes(med=0)


def announce(wiring: Wiring, name: str, *keys: bytes, its: Attributes = PLAIN) -> None:
    wiring.act(name, wiring.speakers[name].originate(IPV4_UNICAST, keys, its, wiring.now_ns))


def best(wiring: Wiring, name: str, key: bytes = NET, family: AddressFamily = IPV4_UNICAST) -> Path | None:
    selection = wiring.speakers[name].selection(family, key)
    return None if selection is None else selection.best


def by_hand(
    asn: int, theirs: Capabilities, routes: list[tuple[bytes, Attributes]], neighbor: Neighbor | None = None
) -> tuple[Speaker, list[object]]:
    """A speaker whose only neighbour is the test, after it has sent the initial table."""
    neighbor = neighbor or Neighbor("10.0.0.2", 65002, "10.0.0.1", "10.0.0.2")
    speaker = Speaker(SpeakerConfig(asn, "10.255.0.1", "r1", (neighbor,), announce_delay_ns=0, update_delay_ns=0))
    actions: list[object] = []
    for key, its in routes:
        actions += speaker.originate(IPV4_UNICAST, (key,), its, 0)
    actions += speaker.start(0)
    actions += speaker.connected(neighbor.name, 0)
    actions += speaker.received(neighbor.name, encode_open(Open(65002, 9, 7, write_capabilities(theirs))), 0)
    actions += speaker.received(neighbor.name, KEEPALIVE_BYTES, 0)
    actions += speaker.tick(0)
    return speaker, actions


FULL = Capabilities(
    families=((1, 1),),
    route_refresh=True,
    enhanced_refresh=True,
    asn4=65002,
    restart=(0, 60),
    restart_families=((1, 1, 0x80),),
)


def their_route(key: bytes, *asns: int) -> bytes:
    ((before, behind),) = reach_messages(IPV4_UNICAST, Attributes(as_path=sequence(*asns)), 4, [key], 4096, 4)
    return before + bytes([10, 0, 0, 2]) + behind


def their_withdrawal(key: bytes) -> bytes:
    return next(unreach_messages(IPV4_UNICAST, [key], 4096))
