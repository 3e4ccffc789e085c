"""Speakers of a leaf-spine fabric in one process: bytes of one arrive at the other after a fixed delay.

Only for tests and measurements of the speaker itself; controlplane/network puts speakers on the fabric's clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from fabric.controlplane.bgp.actions import Action, Close, Connect, RoutesChanged, Send
from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily, prefix_key
from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.config import Neighbor, PeerFamily, SpeakerConfig
from fabric.controlplane.bgp.speaker import Speaker
from fabric.controlplane.bgp.update import Memory
from fabric.controlplane.evpn.evpn_attributes import ENCAPSULATION_VXLAN, pmsi_ingress_replication
from fabric.controlplane.evpn.evpn_nlri import EVPN, Payload, mac_ip_key, multicast_key
from fabric.controlplane.evpn.rd import auto_rd

MS = 1_000_000
S = 1_000_000_000


@dataclass
class Wiring:
    """Speakers by name, and the other end of each session."""

    speakers: dict[str, Speaker] = field(default_factory=dict)
    remote: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """(speaker, its name of the neighbour) -> (other speaker, its name of this one)."""
    delay_ns: int = MS
    now_ns: int = 0
    changes: list[tuple[int, str, RoutesChanged]] = field(default_factory=list)
    keep_changes: bool = True
    sent_bytes: int = 0
    log: list[tuple[int, str, str, bytes]] = field(default_factory=list)
    """(time, sender, neighbour, bytes) if keep_log."""
    keep_log: bool = False
    down: set[tuple[str, str]] = field(default_factory=set)
    """Sessions whose link is down."""
    _queue: list[tuple[int, int, str, str, object]] = field(default_factory=list)
    _order: int = 0
    _wake: dict[str, int] = field(default_factory=dict)

    def start(self) -> None:
        for name, speaker in self.speakers.items():
            self.act(name, speaker.start(self.now_ns))

    def act(self, name: str, actions: Sequence[Action]) -> None:
        """Execute the actions of a speaker."""
        for action in actions:
            if isinstance(action, Send):
                self.sent_bytes += len(action.data)
                if self.keep_log:
                    self.log.append((self.now_ns, name, action.peer, action.data))
                if (name, action.peer) not in self.down:
                    self._push(self.delay_ns, *self.remote[name, action.peer], action.data)
            elif isinstance(action, Connect):
                if (name, action.peer) not in self.down:
                    self._push(self.delay_ns, name, action.peer, "connected")
                    self._push(self.delay_ns, *self.remote[name, action.peer], "accepted")
            elif isinstance(action, Close):
                self._push(self.delay_ns, *self.remote[name, action.peer], "closed")
            elif isinstance(action, RoutesChanged) and self.keep_changes:
                self.changes.append((self.now_ns, name, action))
        deadline_ns = self.speakers[name].next_deadline_ns()
        if deadline_ns is not None and self._wake.get(name) != deadline_ns:
            self._wake[name] = deadline_ns
            self._push(max(0, deadline_ns - self.now_ns), name, "", "tick")

    def _push(self, after_ns: int, name: str, peer: str, what: object) -> None:
        self._order += 1
        heapq.heappush(self._queue, (self.now_ns + after_ns, self._order, name, peer, what))

    def run(self, until_ns: int) -> None:
        queue = self._queue
        while queue and queue[0][0] <= until_ns:
            self.now_ns, _, name, peer, what = heapq.heappop(queue)
            speaker = self.speakers[name]
            if isinstance(what, bytes):
                if (name, peer) not in self.down:
                    self.act(name, speaker.received(peer, what, self.now_ns))
            elif what == "tick":
                if self._wake.get(name) == self.now_ns:
                    self._wake.pop(name)
                    self.act(name, speaker.tick(self.now_ns))
            elif what == "connected":
                self.act(name, speaker.connected(peer, self.now_ns))
            elif what == "accepted":
                self.act(name, speaker.connected(peer, self.now_ns, outgoing=False))
            else:
                self.act(name, speaker.closed(peer, self.now_ns))
        self.now_ns = until_ns

    def settle(self, seconds: int = 4) -> None:
        self.run(self.now_ns + seconds * S)

    def cut(self, one: str, its_peer: str) -> None:
        """Carrier loss at both ends. Bytes and connection attempts in flight are lost: none arrives after mend()."""
        ends = ((one, its_peer), self.remote[one, its_peer])
        self.down.update(ends)
        self._queue[:] = [event for event in self._queue if (event[2], event[3]) not in ends]
        heapq.heapify(self._queue)
        for name, peer in ends:
            self.act(name, self.speakers[name].link_down(peer, self.now_ns))

    def mend(self, one: str, its_peer: str) -> None:
        ends = ((one, its_peer), self.remote[one, its_peer])
        self.down.difference_update(ends)
        for name, peer in ends:
            self.act(name, self.speakers[name].link_up(peer, self.now_ns))

    def established(self) -> int:
        return sum(
            peer.established is not None for speaker in self.speakers.values() for peer in speaker.peers.values()
        )


def leaf_spine(
    spines: int,
    leaves: int,
    families: Sequence[AddressFamily] = (IPV4_UNICAST,),
    *,
    spine_asn: int = 65000,
    distinct_spines: bool = False,
    **changes: object,
) -> Wiring:
    """The plan of the recorded laboratory: /31 10.s.l.{0,1}, loopbacks 10.255.0.s and 10.255.1.l, leaves connect."""
    wiring = Wiring()
    memory = Memory(families)
    for name, speaker_config in configs(spines, leaves, families, spine_asn, distinct_spines):
        wiring.speakers[name] = Speaker(replace(speaker_config, **changes), memory)  # type: ignore[arg-type]
    for s in range(1, spines + 1):
        for n in range(1, leaves + 1):
            wiring.remote[f"spine{s}", link(s, n, 1)] = (f"leaf{n}", link(s, n, 0))
            wiring.remote[f"leaf{n}", link(s, n, 0)] = (f"spine{s}", link(s, n, 1))
    return wiring


def link(spine: int, leaf: int, end: int) -> str:
    return f"10.{spine}.{leaf}.{end}"


def configs(
    spines: int, leaves: int, families: Sequence[AddressFamily], spine_asn: int, distinct: bool
) -> Iterator[tuple[str, SpeakerConfig]]:
    per_family = {family: PeerFamily() for family in families}
    asn_of = {s: spine_asn + (s - 1 if distinct else 0) for s in range(1, spines + 1)}
    tracked = tuple(family for family in families if family is not IPV4_UNICAST)
    for s in range(1, spines + 1):
        yield (
            f"spine{s}",
            SpeakerConfig(
                asn_of[s],
                f"10.255.0.{s}",
                f"spine{s}",
                tuple(
                    Neighbor(
                        link(s, n, 1),
                        65100 + n,
                        link(s, n, 0),
                        link(s, n, 1),
                        per_family,
                        passive=True,
                        peer_group="FABRIC",
                    )
                    for n in range(1, leaves + 1)
                ),
                connected=(f"10.255.0.{s}/32",),
                tracked_families=tracked,
            ),
        )
    for n in range(1, leaves + 1):
        yield (
            f"leaf{n}",
            SpeakerConfig(
                65100 + n,
                f"10.255.1.{n}",
                f"leaf{n}",
                tuple(
                    Neighbor(link(s, n, 0), asn_of[s], link(s, n, 1), link(s, n, 0), per_family, peer_group="FABRIC")
                    for s in range(1, spines + 1)
                ),
                connected=(f"10.255.1.{n}/32",),
                tracked_families=tracked,
            ),
        )


def originate_loopbacks(wiring: Wiring) -> None:
    for name, speaker in wiring.speakers.items():
        wiring.act(
            name,
            speaker.originate(
                IPV4_UNICAST, (prefix_key(speaker.config.router_id + "/32"),), Attributes(med=0), wiring.now_ns
            ),
        )


def originate_hosts(wiring: Wiring, per_leaf: int) -> None:
    """EVPN routes as in FRR: a MAC and a MAC+IP route per host and a multicast route per leaf, one VNI."""
    for name, speaker in wiring.speakers.items():
        if name.startswith("spine"):
            continue
        number, address = speaker.config.asn - 65100, speaker.config.router_id
        vtep, rd = bytes(map(int, address.split("."))), auto_rd(address, 2)
        target = b"\0\2" + speaker.config.asn.to_bytes(2) + (10100).to_bytes(4)
        its = Attributes(ext_communities=(ENCAPSULATION_VXLAN, target))
        keys: list[bytes] = []
        for host in range(per_leaf):
            mac = f"02:00:{number >> 8:02x}:{number & 255:02x}:{host >> 8:02x}:{host & 255:02x}"
            keys += [mac_ip_key(rd, mac), mac_ip_key(rd, mac, f"172.16.{number}.{host}")]
        wiring.act(name, speaker.originate(EVPN, keys, its, wiring.now_ns, next_hop=vtep, payload=Payload((10100,))))
        flood = Attributes(ext_communities=its.ext_communities, pmsi_tunnel=pmsi_ingress_replication(10100, address))
        wiring.act(name, speaker.originate(EVPN, (multicast_key(rd, address),), flood, wiring.now_ns, next_hop=vtep))
