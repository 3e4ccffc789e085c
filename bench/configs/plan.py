"""Fabrics of 4 to 10,000 switches, in which leaf1, leaf2, spine1 and spine2 are those of the plan of tests/mistakes.

Three tiers: pods of leaves and spines, and planes of cores, each spine of a pod to every core of its plane. eBGP for
IPv4 and EVPN on every fabric cable (RFC 7938); one tenant VLAN on every leaf.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from tests.mistakes.plan import SPINE_ASN, Port, Switch


@dataclass(frozen=True, slots=True)
class Shape:
    """How many switches of each tier."""

    pods: int
    leaves: int
    """Of a pod, or one more than that of the last `short` pods; two hosts each."""
    spines: int
    """Of a pod; one plane each."""
    cores: int
    """Of a plane."""
    short: int = 0
    """Pods, the last ones, that have one leaf less."""

    @property
    def switches(self) -> int:
        """All of them."""
        return self.pods * (self.leaves + self.spines) - self.short + self.spines * self.cores

    @property
    def cables(self) -> int:
        """Between switches."""
        return self.spines * (self.pods * (self.leaves + self.cores) - self.short)


SMALLEST, LARGEST = 4, 10_000
"""The mistakes name two leaves and two spines; `fabric validate` reads at most 10,000 files (configs/load.py)."""
_TIERS: Final = ((20, 0, 2), (400, 20, 4), (LARGEST, 54, 8))
"""(switches up to which, leaves of a pod at most, spines of a pod); 0 leaves: one pod, without cores."""
_PODS_OF_A_CORE: Final = 16
"""A plane has a core for each sixteen pods, as in fabrics whose core layer grows with them."""


def shape_of(count: int) -> Shape:
    """The fabric with exactly `count` switches, SMALLEST to LARGEST; pods differ by one leaf at most."""
    _, most, spines = next(it for it in _TIERS if count <= it[0])
    if not most:
        return Shape(1, count - spines, spines, 0)
    cores = max(1, round(count / (_PODS_OF_A_CORE * (most + spines))))
    below = count - spines * cores
    pods = math.ceil(below / (most + spines))
    leaves = math.ceil((below - pods * spines) / pods)
    return Shape(pods, leaves, spines, cores, short=pods * (leaves + spines) - below)


_PLANNED: Final = 2
"""Leaves, and spines, of the plan of tests/mistakes. The other switches have none of the addresses that mistakes
mistype theirs to: a neighbour 10.1.0.5 in place of 10.1.0.1 has to be an address that no switch has."""
_OTHER_WAYS: Final = 128
"""Added to the last byte of a leaf's addresses to further spines."""
_CORE_ASN: Final = 65_050


def switches(shape: Shape) -> tuple[Switch, ...]:
    """The fabric of a shape, leaves first."""
    ports: dict[str, list[Port]] = defaultdict(list)
    asn: dict[str, int] = {}
    spare = 0
    leaf = 0
    for pod in range(shape.pods):
        for slot in range(shape.leaves - (pod >= shape.pods - shape.short)):
            leaf += 1
            asn[f"leaf{leaf}"] = 65_100 + leaf if leaf < 400 else 4_200_000_000 + leaf
            ports[f"leaf{leaf}"] += [Port(number, f"host{2 * (leaf - 1) + number}", 0) for number in (1, 2)]
            for way in range(1, shape.spines + 1):
                spine = pod * shape.spines + way
                asn[f"spine{spine}"] = SPINE_ASN if pod == 0 else 64_512 + pod
                base = f"10.{1 + (leaf - 1) // 256}.{(leaf - 1) % 256}"
                last = 2 * (way - 1) + (0 if way <= _PLANNED else _OTHER_WAYS)
                pair = (f"{base}.{last}", f"{base}.{last + 1}")
                _cable(ports, asn, (f"leaf{leaf}", 2 + way), (f"spine{spine}", slot + 1), pair)
        for way in range(1, shape.spines + 1):
            spine = pod * shape.spines + way
            for turn in range(shape.cores):
                core = (way - 1) * shape.cores + turn + 1
                asn[f"core{core}"] = _CORE_ASN
                pair = (_address(spare), _address(spare + 1))
                spare += 2
                _cable(ports, asn, (f"spine{spine}", shape.leaves + turn + 1), (f"core{core}", pod + 1), pair)
    order = {"leaf": 1, "spin": 2, "core": 3}
    names = sorted(ports, key=lambda it: (order[it[:4]], _number(it)))
    return tuple(
        Switch(
            name,
            asn[name],
            _loopback(name),
            f"02:00:00:{_number(name) // 256:02x}:{order[name[:4]]:02x}:{_number(name) % 256:02x}",
            tuple(sorted(ports[name], key=lambda it: it.number)),
        )
        for name in names
    )


def _cable(
    ports: dict[str, list[Port]],
    asn: dict[str, int],
    below: tuple[str, int],
    above: tuple[str, int],
    pair: tuple[str, str],
) -> None:
    """One fabric cable, at both of its ends."""
    for (name, number), (peer, peer_number), (own, other) in ((below, above, pair), (above, below, (pair[1], pair[0]))):
        ports[name].append(Port(number, peer, peer_number, f"{own}/31", other, asn[peer]))


def _address(count: int) -> str:
    return f"10.{128 + count // 65_536}.{count // 256 % 256}.{count % 256}"


def _number(name: str) -> int:
    return int(name.strip("abcdefghijklmnopqrstuvwxyz"))


def _loopback(name: str) -> str:
    number = _number(name)
    if name.startswith("leaf"):
        return f"10.0.0.{number}" if number <= _PLANNED else f"10.240.{number // 256}.{number % 256}"
    if name.startswith("spine") and number <= _PLANNED:
        return f"10.0.0.{10 + number}"
    return f"10.{241 if name.startswith('spine') else 242}.{number // 256}.{number % 256}"
