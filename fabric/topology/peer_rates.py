"""What a device has less of than its peers, the devices of its kind: the rate of a cable, or uplinks for its hosts.

A cable between switches is compared with the other cables of its ECMP group, and with those of the other switches of
its tier where its switch has less capacity towards the spines for its hosts than they have, or where one of its hosts
is faster than the cable. Cables between the same two devices are compared by their sum: two of 200G are one of 400G. A
tier whose switches are all alike has no slow cable, however oversubscribed it is. A switch without a slow cable, and
with more capacity to its hosts for that of its uplinks than is usual in its tier, is oversubscribed unlike its peers.

A host's cable is compared with those of the other hosts of its leaf. Speeds that most leaves have are a planned
mixture.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from fabric.topology.levels import levels
from fabric.topology.model import STORAGE_GROUP, Fabric, Node
from fabric.units import format_rate_bps, listed

_FEW: Final = 3
"""A leaf with fewer hosts says little: its hosts are compared with those of all leaves."""
_NAMED: Final = 4
_Pair = tuple[int, int]
"""NodeId of the lower device and of the upper one."""


@dataclass(frozen=True, slots=True)
class SlowCables:
    """Cables of one device that are slower than their peers, all alike."""

    device: str
    """The device that differs from its peers: of a host's cable the host."""
    links: tuple[int, ...]
    """LinkIds."""
    rate_bps: int
    """Of each of them."""
    peers_bps: int
    """Of each of their peers."""

    def ports(self, fabric: Fabric) -> tuple[str, ...]:
        """'leaf3:Ethernet16' of each, at the device."""
        ends = (end for row in self.links for end in (fabric.links[row].a, fabric.links[row].b))
        return tuple(fabric.port_name(it) for it in ends if fabric.node_of(it).name == self.device)

    def neighbours(self, fabric: Fabric) -> tuple[str, ...]:
        """Names of the devices at their other ends, each once."""
        ends = (end for row in self.links for end in (fabric.links[row].a, fabric.links[row].b))
        return tuple(dict.fromkeys(it for it in (fabric.node_of(end).name for end in ends) if it != self.device))

    def text(self, fabric: Fabric) -> str:
        """'leaf3: its 2 cables at Ethernet16, Ethernet20 have 100G each where those of its peers have 400G'."""
        return f"{self.device}: {self.words(fabric)}"

    def words(self, fabric: Fabric) -> str:
        """As `text`, without the device."""
        names = [name.partition(":")[2] for name in self.ports(fabric)]
        which = f"its {len(names)} cables at {listed(names, _NAMED)} have"
        if len(names) == 1:
            which = f"its cable at {names[0]} to {self.neighbours(fabric)[0]} has"
        each = " each" if len(names) > 1 else ""
        rate, peers = format_rate_bps(self.rate_bps), format_rate_bps(self.peers_bps)
        return f"{which} {rate}{each} where those of its peers have {peers}"


@dataclass(frozen=True, slots=True)
class Oversubscribed:
    """A switch that has fewer uplinks for its hosts than its peers, or more hosts for its uplinks."""

    device: str
    down_bps: int
    up_bps: int
    peers_ratio: float
    """Capacity to hosts over that of uplinks that is usual in its tier."""

    @property
    def text(self) -> str:
        """'leaf3: 800G down over uplinks of 400G (2:1) where its peers have 1:1'."""
        down, up = format_rate_bps(self.down_bps), format_rate_bps(self.up_bps)
        own = f"{self.down_bps / self.up_bps:.3g}:1"
        return f"{self.device}: {down} down over uplinks of {up} ({own}) where its peers have {self.peers_ratio:.3g}:1"


def oversubscribed(fabric: Fabric) -> list[Oversubscribed]:
    """Switches that are oversubscribed unlike their peers, and have no slow cable, in the order of the switches."""
    rates = _Rates(fabric)
    slow = {device for device, _ in rates.slow().values()}
    return [
        Oversubscribed(fabric.nodes[switch].name, *rates.sums(switch), float(usual))
        for switch, usual in rates.short()
        if switch not in slow
    ]


def slow_cables(fabric: Fabric) -> list[SlowCables]:
    """All of them, in the order of their first cable."""
    found: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for link, (device, peers) in sorted(_Rates(fabric).slow().items()):
        found[device, fabric.links[link].rate_bps, peers].append(link)
    return [
        SlowCables(fabric.nodes[device].name, tuple(links), rate, peers)
        for (device, rate, peers), links in found.items()
    ]


def unlike_peers(fabric: Fabric) -> list[str]:
    """A sentence about each device that has slower cables, or fewer uplinks for its hosts, than its peers."""
    return [*(it.text(fabric) for it in slow_cables(fabric)), *(it.text for it in oversubscribed(fabric))]


def peer_rates(fabric: Fabric) -> dict[int, int]:
    """LinkId -> rate in bit/s that the peers of a slow cable have."""
    return {link: it.peers_bps for it in slow_cables(fabric) for link in it.links}


class _Rates:
    """Rates of the cables of a fabric, without those of scale-up networks, by the devices that they join."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._level = levels(fabric)
        self._pairs: dict[_Pair, list[int]] = defaultdict(list)
        for link in fabric.links:
            a, b = fabric.ports[link.a].node, fabric.ports[link.b].node
            if self._level[a] != self._level[b] and not fabric.is_scale_up(link.a):
                self._pairs[(a, b) if self._level[a] < self._level[b] else (b, a)].append(int(link.id))
        self._kinds = [self._kind(node) for node in fabric.nodes]

    def slow(self) -> dict[int, tuple[int, int]]:
        """LinkId of every slow cable -> (NodeId of the device that differs, rate of its peers).

        The upper device differs where all of its cables of the class are slow and those of the lower one are not.
        """
        found: dict[int, tuple[int, int]] = {}
        for pairs in self._classes.values():
            of_host = self._fabric.nodes[pairs[0][0]].is_host
            short = dict(self._slow_hosts(pairs) if of_host else self._slow_switches(pairs))
            usual = self._usual_cables(pairs) if short else {}
            slow = {pair: rates for pair, wanted in short.items() if (rates := self._cables(pair, wanted, usual))}
            whole = {pair for pair, rates in slow.items() if len(rates) == len(self._pairs[pair])}
            uppers, lowers = self._all_in(whole, pairs, 1), self._all_in(whole, pairs, 0)
            for (lower, upper), rates in slow.items():
                device = upper if upper in uppers and lower not in lowers else lower
                found |= {link: (device, peers) for link, peers in rates.items()}
        return found

    def short(self) -> list[tuple[int, Fraction]]:
        """(NodeId, usual ratio) of switches with more capacity to hosts than away from them, beyond what is usual."""
        kinds: dict[Hashable, list[Node]] = defaultdict(list)
        for lower in sorted({lower for lower, _ in self._pairs if not self._fabric.nodes[lower].is_host}):
            kinds[self._kinds[lower]].append(self._fabric.nodes[lower])
        found = []
        for peers in kinds.values():
            usual = self._usual_ratio(peers)
            found += [(int(it.id), usual) for it in peers if self._ratio(it.id) > max(usual, Fraction(1))]
        return sorted(found)

    def _all_in(self, chosen: Collection[_Pair], pairs: Sequence[_Pair], end: int) -> set[int]:
        """Devices at one end of several of the pairs, all of which are chosen."""
        every, some = Counter(it[end] for it in pairs), Counter(it[end] for it in chosen)
        return {device for device, number in every.items() if some[device] == number > 1}

    def _kind(self, node: Node) -> Hashable:
        """Devices of one kind are peers."""
        if node.is_host:
            return node.group == STORAGE_GROUP
        hosts = (peer for _, peer in self._fabric.neighbours(node.id) if peer.is_host)
        return int(self._level[node.id]), node.role, node.network, frozenset(it.group == STORAGE_GROUP for it in hosts)

    @cached_property
    def _classes(self) -> Mapping[tuple[Hashable, Hashable], list[_Pair]]:
        """Pairs of devices of the same two kinds."""
        found: dict[tuple[Hashable, Hashable], list[_Pair]] = defaultdict(list)
        for lower, upper in self._pairs:
            found[self._kinds[lower], self._kinds[upper]].append((lower, upper))
        return found

    def _sum(self, pair: _Pair) -> int:
        return sum(self._fabric.links[it].rate_bps for it in self._pairs[pair])

    def _slow_switches(self, pairs: Sequence[_Pair]) -> Iterator[tuple[_Pair, int]]:
        """(pair, sum that its peers have) of pairs of switches whose cables have less."""
        usual = _commonest(map(self._sum, pairs))
        groups: dict[int, list[_Pair]] = defaultdict(list)
        for pair in pairs:
            groups[pair[0]].append(pair)
        normal = self._usual_ratio([self._fabric.nodes[it] for it in groups])
        for lower, group in groups.items():
            in_group = _commonest(map(self._sum, group))
            short = self._ratio(lower) > normal or self._outruns(lower, usual, group)
            wanted = max(in_group, usual) if short else in_group
            yield from ((pair, wanted) for pair in group if self._sum(pair) < wanted)

    def _ratio(self, switch: int) -> Fraction:
        """Capacity towards hosts over capacity away from them."""
        return Fraction(*self.sums(switch))

    def sums(self, switch: int) -> tuple[int, int]:
        """Capacity of a switch towards hosts, and away from them, in bit/s."""
        down, up = (
            sum(self._fabric.links[port.link].rate_bps for port, peer in self._fabric.neighbours(switch)
                if sign * (self._level[peer.id] - self._level[switch]) > 0)
            for sign in (-1, 1)
        )  # fmt: skip
        return down, up

    def _usual_ratio(self, switches: Sequence[Node]) -> Fraction:
        """The commonest of its kind, of several the least."""
        counted = Counter(self._ratio(it.id) for it in switches)
        return min(counted, key=lambda it: (-counted[it], it))

    def _outruns(self, switch: int, usual: int, group: Sequence[_Pair]) -> bool:
        """Whether one of its hosts is faster than a cable of its uplinks, and no faster than their peers."""
        fastest = max(
            (self._fabric.links[port.link].rate_bps for port, peer in self._fabric.neighbours(switch) if peer.is_host),
            default=0,
        )
        slowest = min(self._fabric.links[it].rate_bps for pair in group for it in self._pairs[pair])
        return slowest < fastest <= usual

    def _slow_hosts(self, pairs: Sequence[_Pair]) -> Iterator[tuple[_Pair, int]]:
        """As _slow_switches, of hosts: fewer than half of their leaf, and not as on most other leaves."""
        leaves: dict[int, list[_Pair]] = defaultdict(list)
        for pair in pairs:
            leaves[pair[1]].append(pair)
        everywhere = Counter(map(self._sum, pairs))
        with_sum = Counter(total for own in leaves.values() for total in set(map(self._sum, own)))
        for own in leaves.values():
            group = own if len(own) >= _FEW else pairs
            here = Counter(map(self._sum, group))
            usual = min(here, key=lambda it: (-here[it], it))
            for pair in own:
                total = self._sum(pair)
                rare = 2 * with_sum[total] < len(leaves) or everywhere[total] == 1
                if total < usual and 2 * here[total] < len(group) and rare:
                    yield pair, usual

    def _usual_cables(self, pairs: Sequence[_Pair]) -> dict[int, int]:
        """Sum of a pair -> the commonest rate of its cables."""
        rates: dict[int, list[int]] = defaultdict(list)
        for pair in pairs:
            rates[self._sum(pair)] += [self._fabric.links[it].rate_bps for it in self._pairs[pair]]
        return {total: _commonest(its) for total, its in rates.items()}

    def _cables(self, pair: _Pair, wanted: int, usual: Mapping[int, int]) -> dict[int, int]:
        """LinkId -> rate of its peers, of the cables of a pair that has less than the wanted sum. Where a parallel
        cable is missing and the others are as those of the peers, none is slow.
        """
        rates = {it: self._fabric.links[it].rate_bps for it in self._pairs[pair]}
        slow = [it for it, rate in rates.items() if rate < usual[wanted]]
        left = wanted - sum(rate for it, rate in rates.items() if it not in slow)
        return {it: max(min(usual[wanted], left // len(slow)), rates[it]) for it in slow}


def _commonest(values: Iterable[int]) -> int:
    """The value that is there most often, of several the largest."""
    counted = Counter(values)
    return max(counted, key=lambda it: (counted[it], it))
