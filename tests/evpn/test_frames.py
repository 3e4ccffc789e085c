"""Frames of the overlay, decoded by tshark and scapy."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.layers.vxlan import VXLAN
from scapy.utils import wrpcap

from fabric.capture.overlay import arp_frame, entropy_port, nd_frame, reply_frame, vxlan_frame
from fabric.capture.process import FrameBuilder
from fabric.controlplane.evpn.addresses import BROADCAST_MAC, ZERO_MAC
from fabric.controlplane.evpn.arp import ArpPacket, NdPacket, NdType, Operation, Reply

H1, H2 = "02:00:00:65:01:01", "02:00:00:65:02:01"
VTEPS, CABLE = ("10.255.1.1", "10.255.1.2"), ("02:aa:00:01:01:01", "02:aa:00:01:01:00")
REQUEST = ArpPacket(Operation.REQUEST, H1, "172.16.101.11", ZERO_MAC, "172.16.101.21")
SOLICITATION = NdPacket(
    NdType.NEIGHBOR_SOLICITATION, "2001:db8::11", "ff02::1:ff00:21", "2001:db8::21", H1, "33:33:ff:00:00:21"
)


def _frames() -> dict[str, bytes]:
    with FrameBuilder() as builder:
        build = builder.bytes_of
        return {
            "arp request": build(arp_frame(REQUEST)),
            "arp reply": build(reply_frame(Reply("172.16.101.21", H2, H1, "172.16.101.11"))),
            "rarp": build(arp_frame(ArpPacket(Operation.RARP_REQUEST, H1, "0.0.0.0", H1, "0.0.0.0"))),  # noqa: S104  no address
            "solicitation": build(nd_frame(SOLICITATION)),
            "advertisement": build(reply_frame(Reply("2001:db8::21", H2, H1, "2001:db8::11", router=True))),
            "arp in vxlan": build(vxlan_frame(build(arp_frame(REQUEST)), 10100, VTEPS, CABLE, dscp=48)),
            "solicitation in vxlan": build(vxlan_frame(build(nd_frame(SOLICITATION)), 10100, VTEPS, CABLE, ecn=1)),
            "data in vxlan": build(
                vxlan_frame(
                    bytes(
                        Ether(src=H1, dst=H2)
                        / IP(src="172.16.101.11", dst="172.16.101.21")
                        / UDP(sport=50000, dport=4791)
                        / bytes(64)
                    ),
                    10100,
                    VTEPS,
                    CABLE,
                )
            ),
        }


FRAMES = _frames()


@pytest.fixture(scope="module")
def dissected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """Layers of each frame, by tshark."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    path: Path = tmp_path_factory.mktemp("frames") / "frames.pcap"
    wrpcap(str(path), [Ether(frame) for frame in FRAMES.values()])
    text = subprocess.run(["tshark", "-r", str(path), "-T", "json", "-V"], capture_output=True, check=True, timeout=60)
    return {name: packet["_source"]["layers"] for name, packet in zip(FRAMES, json.loads(text.stdout), strict=True)}


def test_tshark_finds_nothing_malformed(dissected: dict[str, dict[str, object]]) -> None:
    assert not [name for name, layers in dissected.items() if "_ws.malformed" in layers or "malformed" in str(layers)]


def _field(layers: dict[str, object], layer: str, name: str) -> object:
    found = layers[layer]
    found = found[-1] if isinstance(found, list) else found
    assert isinstance(found, dict)
    return found[name]


def test_tshark_reads_what_was_written(dissected: dict[str, dict[str, object]]) -> None:
    assert _field(dissected["arp in vxlan"], "vxlan", "vxlan.vni") == "10100"
    assert _field(dissected["arp in vxlan"], "arp", "arp.dst.proto_ipv4") == "172.16.101.21"
    assert _field(dissected["arp in vxlan"], "udp", "udp.dstport") == "4789"
    assert _field(dissected["rarp"], "arp", "arp.opcode") == "3"
    assert _field(dissected["arp reply"], "arp", "arp.src.hw_mac") == H2
    assert _field(dissected["advertisement"], "icmpv6", "icmpv6.nd.na.target_address") == "2001:db8::21"
    assert _field(dissected["advertisement"], "icmpv6", "icmpv6.checksum.status") == "1"


def test_a_request_looks_as_the_recorded_ones() -> None:
    frame = Ether(FRAMES["arp request"])
    assert len(FRAMES["arp request"]) == 42
    assert (frame.src, frame.dst, frame[ARP].psrc, frame[ARP].pdst) == (
        H1,
        BROADCAST_MAC,
        "172.16.101.11",
        "172.16.101.21",
    )


def test_vxlan_costs_fifty_bytes_and_keeps_the_inner_frame() -> None:
    inner, outer = FRAMES["arp request"], FRAMES["arp in vxlan"]
    assert len(outer) == len(inner) + 50
    assert outer.endswith(inner)
    frame = Ether(outer)
    assert (frame[IP].tos, frame[UDP].chksum, frame[VXLAN].vni) == (48 << 2, 0, 10100)
    assert frame[UDP].sport == entropy_port(inner)


def test_flows_differ_in_their_outer_source_port() -> None:
    inner = [
        bytes(Ether(src=H1, dst=H2) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=port, dport=4791))
        for port in range(1000, 1064)
    ]
    ports = {entropy_port(frame) for frame in inner}
    assert len(ports) > 56
    assert all(49152 <= port <= 65535 for port in ports)
