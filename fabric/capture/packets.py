"""A frame of the data plane as headers: Ethernet, IPv4/UDP, RoCEv2, PFC, ARP, VXLAN, SRv6, in the format of writer.py.

The engine has no bytes: a packet is a row of PACKET. What follows from the row is exact: sizes, addresses, DSCP, ECN,
TTL, UDP ports, opcode, PSN, class vector and quanta. What the engine has no value for is
- the payload of a message: zeros; a control's telemetry and selective acknowledgements are bytes of zero behind it,
- RETH address and key, message sequence numbers of the AETH: 0,
- the number of a queue pair: its row plus 2, as 0 and 1 are reserved (IB vol. 1, section 10.2.4.4),
- the VLAN of `vlan_tag`: a priority tag, VID 0 (IEEE 802.1Q clause 6.9.1),
- `ip: 6`, and the source of a source-routed packet: the host's IPv4 address behind fd00::/96 (RFC 4193).

Frames have no FCS: each is 4 bytes shorter than its size in every counter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final

import numpy as np

from fabric.capture.process import Frame
from fabric.capture.taps import Sighting
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import FIRST_QPN, DropReason, PacketFlag, PacketKind
from fabric.dataplane.state.params import EngineParams
from fabric.dataplane.state.trace import NO_QP
from fabric.dataplane.state.types import ANY_VTEP, HOP_BITS, NO_HOST, State
from fabric.topology.addressing import addressing
from fabric.topology.model import Fabric
from fabric.wire.usid import destination

ROCE_PORT: Final = 4791
"""Annex A17, section A17.9."""
_VXLAN_PORT: Final = 4789
_FCS, _ETHERNET, _TAG, _UDP, _BTH, _ICRC, _RETH, _AETH = 4, 14, 4, 8, 12, 4, 16, 4
_VXLAN: Final = 50
_OUTER_IPV6: Final = 40
_PFC_ADDRESS: Final = "01:80:c2:00:00:01"
_EXPERIMENTAL: Final = 0x88B5
_BROADCAST_MAC: Final = "ff:ff:ff:ff:ff:ff"
_NOBODY: Final = "10.255.255.254"
"""Asked for by an ARP request for an address that no host has."""
_WRITE_FIRST, _WRITE_MIDDLE, _WRITE_LAST, _WRITE_ONLY = 0x06, 0x07, 0x08, 0x0A
_ACKNOWLEDGE, _CNP = 0x11, 0x81
"""IB vol. 1, table 38 (RC); annex A17.9.3."""
_ACK_SYNDROME, _NAK_SYNDROME = 0x1F, 0x60
"""IB vol. 1, table 44: ACK without credits; NAK, PSN sequence error."""
_BY_SIZE: Final = frozenset(
    {
        DropReason.HEADROOM,
        DropReason.SHARED_HEADROOM_POOL,
        DropReason.INGRESS_THRESHOLD,
        DropReason.EGRESS_THRESHOLD,
        DropReason.EGRESS_POOL,
        DropReason.EGRESS_PORT,
    }
)
"""Discards whose event has use, limit and size (runs/eventlog.py)."""
KINDS: Final[Mapping[PacketKind, str]] = {
    PacketKind.DATA: "data",
    PacketKind.ACK: "ack",
    PacketKind.NAK: "nak",
    PacketKind.CNP: "cnp",
    PacketKind.PFC: "pfc",
    PacketKind.ARP_REQUEST: "arp",
    PacketKind.ARP_REPLY: "arp",
    PacketKind.FLOODED: "flooded",
    PacketKind.DATAGRAM: "datagram",
    PacketKind.NOTICE: "notice",
}
"""Words of --kind."""


@dataclass(frozen=True, slots=True)
class Layers:
    """What `transport:` puts below and above RoCE."""

    ip: int
    vlan_tag: bool


class Packets:
    """Makes frames of one emulator's packets.

    Parameters
    ----------
    emulator
    layers
    macs    NodeId of a host -> MAC that its control plane gives it; others have that of the address plan
    """

    def __init__(self, emulator: Emulator, layers: Layers, macs: Mapping[int, str]) -> None:
        self._emulator, self._layers, self._macs = emulator, layers, macs
        self._fabric: Fabric = emulator.fabric
        self._params: EngineParams = emulator.params
        self._addresses = addressing(emulator.fabric)

    @property
    def _state(self) -> State:
        """The emulator's tables, which it replaces where they grow."""
        return self._emulator.state

    def frame(self, seen: Sighting) -> Frame:
        """The frame with its interface, direction, and comment."""
        found = dict(self._headers(seen))
        found |= {"interface": self._fabric.port_name(seen.port), "direction": seen.direction}
        comment = "; ".join(self._reasons(seen))
        return found | ({"comment": comment} if comment else {})

    # ===== headers =====

    def _headers(self, seen: Sighting) -> Frame:
        row = seen.frame
        out = seen.port if seen.direction == "out" else int(self._fabric.ports[seen.port].peer)
        cable = _mac(self._addresses.port_mac[out]), _mac(self._addresses.port_mac[self._fabric.ports[out].peer])
        if row["kind"] == PacketKind.PFC:
            return self._pause(row, cable[0])
        if row["kind"] == PacketKind.NOTICE:
            return self._notice(row, cable)
        if not int(row["flags"]) & PacketFlag.ENCAP:
            ends = self._ends(row, out, cable)
            return self._own(row, *ends, int(row["size"]), int(row["dscp"]), int(row["ecn"]), int(row["ttl"]))
        if self._params.source_routes is not None:
            return self._source_routed(row, cable)
        return self._tunnelled(row, cable)

    def _pause(self, row: np.void, mac: str) -> Frame:
        """IEEE 802.1Q clause 36: a class that is not enabled in the vector keeps its state."""
        classes, xoff = int(row["classes"]), int(row["xoff"])
        quanta = [
            (int(row["seq"]) if xoff >> number & 1 else 0) if classes >> number & 1 else None for number in range(8)
        ]
        return {
            "ethernet": {"source": mac, "destination": _PFC_ADDRESS},
            "class_based_pause": {"quanta": quanta},
            "zeros": int(row["size"]) - _FCS - _ETHERNET - 20,
        }

    def _notice(self, row: np.void, cable: tuple[str, str]) -> Frame:
        """No vendor publishes the format. Here it is the index of the port at its switch and the time in ns, under an
        EtherType for experiments (IEEE 802 clause 9.2.4).
        """
        notice = int(self._fabric.ports[int(row["in_port"])].index).to_bytes(2) + int(row["seq"]).to_bytes(4)
        return {
            "ethernet": {"source": cable[0], "destination": cable[1], "type": _EXPERIMENTAL},
            "payload": notice.hex(),
            "zeros": int(row["size"]) - _FCS - _ETHERNET - len(notice),
        }

    def _ends(self, row: np.void, out: int, cable: tuple[str, str]) -> tuple[str, str]:
        """MACs of a frame without an outer header: a routed cable has its own, a segment those of the hosts."""
        vxlan, node = self._params.vxlan, self._fabric.node_of
        if vxlan is None or not (node(out).is_host or node(self._fabric.ports[out].peer).is_host):
            return cable
        if self._crosses(row):
            source, target = cable
            return (
                (self._host_mac(int(row["src"])), target)
                if node(out).is_host
                else (source, self._host_mac(int(row["dst"])))
            )
        return self._bridged(row)

    def _bridged(self, row: np.void) -> tuple[str, str]:
        """MACs inside a segment."""
        source = self._host_mac(int(row["src"]))
        return source, _BROADCAST_MAC if row["kind"] == PacketKind.ARP_REQUEST else self._host_mac(self._target(row))

    def _crosses(self, row: np.void) -> bool:
        """Whether a packet goes from one subnet to another."""
        if row["kind"] in {PacketKind.ARP_REQUEST, PacketKind.ARP_REPLY}:
            return False
        vni = self._state.addresses["vni"]
        return bool(vni[int(row["src"])] != vni[int(row["dst"])])

    def _target(self, row: np.void) -> int:
        """The host that a frame is for; a flooded copy names it beside its outer source port."""
        flooded = int(row["flags"]) & (PacketFlag.ENCAP | PacketFlag.BROADCAST)
        if flooded == PacketFlag.ENCAP | PacketFlag.BROADCAST and row["kind"] != PacketKind.ARP_REQUEST:
            return int(row["words"]) >> 16
        return int(row["dst"])

    def _tunnelled(self, row: np.void, cable: tuple[str, str]) -> Frame:
        """In VXLAN (RFC 7348): the outer header of this cable around the packet."""
        words, routed = int(row["words"]), bool(int(row["flags"]) & PacketFlag.ROUTED)
        leaf = self._state.addresses["leaf"]
        ends = [int(leaf[int(row["src"])]), int(leaf[int(row["dst"])])]
        if routed and words >> 16 != ANY_VTEP:
            ends[1] = int(self._state.config[0]["n_hosts"]) + (words >> 16)
        macs = self._bridged(row)
        if routed:  # RFC 9135 section 5: MACs of the routers at both VTEPs
            macs = _mac(self._addresses.mac[ends[0]]), _mac(self._addresses.mac[ends[1]])
        tos = int(row["inner_tos"])
        inner = self._own(row, *macs, int(row["size"]) - _VXLAN, tos >> 2, tos & 3, int(row["classes"]))
        return {
            "ethernet": {"source": cable[0], "destination": cable[1]},
            "ipv4": {
                "source": _ip(int(self._addresses.loopback[ends[0]])),
                "destination": _ip(int(self._addresses.loopback[ends[1]])),
                "ttl": int(row["ttl"]),
                "dscp": int(row["dscp"]),
                "ecn": int(row["ecn"]),
                "dont_fragment": True,
            },
            "udp": {"source_port": words & 0xFFFF, "destination_port": _VXLAN_PORT, "checksum": 0},
            "vxlan": {"vni": self._vni(row, routed=routed)},
            "inner": inner,
        }

    def _source_routed(self, row: np.void, cable: tuple[str, str]) -> Frame:
        """In an outer IPv6 header whose destination is the rest of the route (RFC 9800)."""
        tos, size = int(row["inner_tos"]), int(row["size"]) - _OUTER_IPV6
        inner = dict(self._own(row, *cable, size, tos >> 2, tos & 3, int(row["classes"])))
        outside = {name: inner.pop(name) for name in ("ethernet", "vlan") if name in inner}
        place, passed = divmod(int(row["words"]), 1 << HOP_BITS)
        ports = [int(self._state.route_ports[place])]
        while not self._fabric.peer_of(ports[-1]).is_host:
            ports.append(int(self._state.route_ports[place + len(ports)]))
        indexes = [self._fabric.ports[port].index for port in ports]
        return outside | {
            "ipv6": {
                "source": f"fd00::{_ip(int(self._params.host_ip[int(row['src'])]))}",
                "destination": destination(indexes, int(row["dst"]), passed),
                "hop_limit": int(row["ttl"]),
                "dscp": int(row["dscp"]),
                "ecn": int(row["ecn"]),
            },
            "inner": inner,
        }

    def _vni(self, row: np.void, *, routed: bool) -> int:
        assert self._params.vxlan is not None  # noqa: S101  the packet is encapsulated
        subnet = int(self._state.addresses["vni"][int(row["src"])])
        return self._params.vxlan.vnis[int(self._state.domains[subnet]) if routed else subnet]

    def _own(self, row: np.void, source_mac: str, target_mac: str, size: int, dscp: int, ecn: int, ttl: int) -> Frame:
        """A frame without outer header; `size` with FCS."""
        ethernet: dict[str, Any] = {"source": source_mac, "destination": target_mac}
        left = size - _FCS - _ETHERNET
        if row["kind"] in {PacketKind.ARP_REQUEST, PacketKind.ARP_REPLY}:
            return self._arp(row, ethernet)
        found: dict[str, Any] = {"ethernet": ethernet}
        if self._layers.vlan_tag:
            found["vlan"] = {"id": 0, "priority": int(row["tc"])}
            left -= _TAG
        source, target = self._host_ip(int(row["src"])), self._host_ip(self._target(row))
        if self._layers.ip == 6:
            found["ipv6"] = {"source": source, "destination": target, "hop_limit": ttl, "dscp": dscp, "ecn": ecn}
            left -= 40
        else:
            found["ipv4"] = {
                "source": source, "destination": target, "ttl": ttl, "dscp": dscp, "ecn": ecn, "dont_fragment": True,
            }  # fmt: skip
            left -= 20
        words = self._words(row)
        found["udp"] = {"source_port": words & 0xFFFF, "destination_port": words >> 16}
        left -= _UDP
        if row["qp"] == NO_QP:
            return found | {"zeros": left}
        found["udp"]["checksum"] = 0
        return found | self._roce(row, left)

    def _words(self, row: np.void) -> int:
        """UDP ports of the packet's own header: source | destination << 16."""
        if not int(row["flags"]) & PacketFlag.ENCAP:
            return int(row["words"])
        if row["qp"] == NO_QP:
            return int(self._state.streams[int(row["msg"])]["words"])
        words = int(self._state.qps[int(row["qp"])]["words"])
        forth = int(self._state.qps[int(row["qp"])]["src"]) == int(row["src"])
        return words if forth or row["kind"] == PacketKind.CNP else words >> 16 | (words & 0xFFFF) << 16

    def _roce(self, row: np.void, left: int) -> dict[str, Any]:
        """BTH and what follows it; `left` bytes from the BTH to the ICRC, that included."""
        kind, flags = int(row["kind"]), int(row["flags"])
        psn = int(row["seq"])
        left -= _BTH + _ICRC
        bth: dict[str, Any] = {"queue_pair": (int(row["qp"]) + FIRST_QPN) & 0xFFFFFF}
        found: dict[str, Any] = {"bth": bth}
        if kind in {PacketKind.ACK, PacketKind.NAK}:
            acknowledged = kind == PacketKind.ACK
            bth |= {"opcode": _ACKNOWLEDGE, "psn": (psn - acknowledged) & 0xFFFFFF}
            found["aeth"] = {"syndrome": _ACK_SYNDROME if acknowledged else _NAK_SYNDROME, "msn": 0}
            left -= _AETH
        elif kind == PacketKind.CNP:
            bth |= {"opcode": _CNP, "psn": 0, "becn": True}
        else:
            first, last = bool(flags & PacketFlag.FIRST), bool(flags & PacketFlag.LAST)
            opcode = {(True, True): _WRITE_ONLY, (True, False): _WRITE_FIRST, (False, True): _WRITE_LAST}
            bth |= {
                "opcode": opcode.get((first, last), _WRITE_MIDDLE),
                "psn": psn & 0xFFFFFF,
                "ack_request": bool(flags & PacketFlag.ACK_REQUEST) or last,
            }
            if first:
                length = int(self._state.messages[int(row["msg"])]["size_bytes"]) & 0xFFFFFFFF
                found["reth"] = {"address": 0, "key": 0, "length": length}
                left -= _RETH
        return found | ({"zeros": left} if left > 0 else {})

    def _arp(self, row: np.void, ethernet: dict[str, Any]) -> Frame:
        request = row["kind"] == PacketKind.ARP_REQUEST
        source, asked = int(row["src"]), int(row["seq"])
        target_ip = (
            (_NOBODY if asked == NO_HOST else self._host_ip(asked)) if request else self._host_ip(int(row["dst"]))
        )
        return {
            "ethernet": ethernet,
            "arp": {
                "operation": 1 if request else 2,
                "sender_mac": ethernet["source"],
                "sender_ip": self._host_ip(source),
                "target_mac": "00:00:00:00:00:00" if request else ethernet["destination"],
                "target_ip": target_ip,
            },
            "zeros": 18,  # to the least size of a frame
        }

    def _host_ip(self, host: int) -> str:
        text = _ip(int(self._params.host_ip[host]))
        return f"fd00::{text}" if self._layers.ip == 6 else text

    def _host_mac(self, host: int) -> str:
        if host in self._macs:
            return self._macs[host]
        return _mac(self._addresses.port_mac[self._fabric.nodes[host].first_port])

    # ===== reasons =====

    def _reasons(self, seen: Sighting) -> list[str]:
        found = []
        if seen.mark is not None:
            event = seen.mark
            found.append(
                f"marked CE by {self._device(event)}, queue {event['prio']}: {event['a']} B waiting, "
                f"Kmin {event['b']} B, Kmax {event['c']} B"
            )
        if seen.drop is not None:
            event = seen.drop
            reason = DropReason(int(event["reason"]))
            numbers = ""
            if reason in _BY_SIZE:
                numbers = f": use {event['b']} B, limit {event['c']} B, size {event['d']} B"
            elif reason is DropReason.MTU:
                numbers = f": the MTU is {event['b']} B"
            found.append(f"discarded on arrival by {self._device(event)} ({reason.name.lower()}){numbers}")
        return found

    def _device(self, event: np.void) -> str:
        return self._fabric.nodes[int(event["device"])].name


def _ip(number: int) -> str:
    return str(IPv4Address(number))


def _mac(number: int | np.int64) -> str:
    return ":".join(f"{byte:02x}" for byte in int(number).to_bytes(6, "big"))
