"""The fabric that every language of the corpus configures: two leaves, two spines, four hosts, one tenant VLAN.

All four renderers (sonic.py, eos.py, nxos.py, nvue.py) write this plan, so a mistake means the same in each of them.
eBGP runs on every fabric cable (RFC 7938) for IPv4 unicast and EVPN; VLAN 100 is VNI 10100 on both leaves.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

VLAN: Final = 100
VNI: Final = 10_100
ROUTE_TARGET: Final = "65000:10100"
GATEWAY: Final = "172.16.100.1/24"
GATEWAY_MAC: Final = "00:00:5e:00:01:01"
SPINE_ASN: Final = 65_000
KEEPALIVE_S, HOLD_S = 3, 9
HOST_CABLE_M, FABRIC_CABLE_M = 5, 40


@dataclass(frozen=True)
class Port:
    """One cabled port of a switch; `number` counts from 1 in every language."""

    number: int
    peer: str
    peer_number: int
    address: str = ""
    """With its length, '10.1.0.0/31'; '' at a port to a host."""
    peer_address: str = ""
    peer_asn: int = 0

    @property
    def to_host(self) -> bool:
        """Whether a host is at the other end."""
        return not self.address


@dataclass(frozen=True)
class Switch:
    """One switch of the plan."""

    name: str
    asn: int
    loopback: str
    mac: str
    ports: tuple[Port, ...]

    @property
    def leaf(self) -> bool:
        """Whether hosts are connected to it."""
        return self.name.startswith("leaf")

    @property
    def paths(self) -> int:
        """Equal paths that BGP may use: one over each spine, and at least four, which the edits of mistakes expect."""
        return max(4, sum(not port.to_host for port in self.ports)) if self.leaf else 4


def _leaf(number: int, spines: int) -> Switch:
    hosts = tuple(Port(slot, f"host{2 * (number - 1) + slot}", 0) for slot in (1, 2))
    uplinks = tuple(
        Port(
            2 + spine,
            f"spine{spine}",
            number,
            f"10.1.{number - 1}.{2 * (spine - 1)}/31",
            f"10.1.{number - 1}.{2 * (spine - 1) + 1}",
            SPINE_ASN,
        )
        for spine in range(1, spines + 1)
    )
    loopback = f"10.0.0.{number if number < 11 else 100 + number}"
    return Switch(f"leaf{number}", 65_100 + number, loopback, f"02:00:00:00:01:{number:02x}", hosts + uplinks)


def _spine(number: int, leaves: int) -> Switch:
    ports = tuple(
        Port(
            leaf,
            f"leaf{leaf}",
            2 + number,
            f"10.1.{leaf - 1}.{2 * (number - 1) + 1}/31",
            f"10.1.{leaf - 1}.{2 * (number - 1)}",
            65_100 + leaf,
        )
        for leaf in range(1, leaves + 1)
    )
    return Switch(f"spine{number}", SPINE_ASN, f"10.0.0.{10 + number}", f"02:00:00:00:02:{number:02x}", ports)


def switches(leaves: int = 2, spines: int = 2) -> tuple[Switch, ...]:
    """The plan with other numbers of leaves (at most 60) and spines (at most 16)."""
    return (
        *(_leaf(number, spines) for number in range(1, leaves + 1)),
        *(_spine(number, leaves) for number in range(1, spines + 1)),
    )


SWITCHES: Final = switches()

LOOPBACKS: Final = {switch.name: switch.loopback for switch in SWITCHES}
HOPS: Final = 3
"""Of an external session between loopbacks, in the variant whose EVPN sessions are such."""

HOSTS: Final = json.dumps(
    {
        "default": {
            "speed": "400000",
            "mtu": 9000,
            "roce_mtu": 4096,
            "trust": "dscp",
            "roce_dscp": 26,
            "pfc_enable": "3",
            "cnp_dscp": 48,
            "ecn_np_prio": 3,
            "ecn_rp_prio": 3,
            "cc": "dcqcn",
        }
    },
    indent=1,
)


def cabling(port_name: dict[int, str], of: Sequence[Switch] = SWITCHES) -> str:
    """topology.json: every cable once, by the port names of a language."""
    links = [
        {"a": [switch.name, port_name[port.number]], "b": [port.peer, port_name.get(port.peer_number, "eth0")]}
        for switch in of
        if switch.leaf
        for port in switch.ports
    ]
    return json.dumps({"links": links}, indent=1)
