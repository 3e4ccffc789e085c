"""tshark decodes our sessions without a malformed mark, and finds the same routes in them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from fabric.controlplane.bgp.afi import IPV4_UNICAST, prefix_key
from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.evpn.evpn_attributes import ENCAPSULATION_VXLAN, mobility, pmsi_ingress_replication
from fabric.controlplane.evpn.evpn_nlri import EVPN, Payload, mac_ip_key, multicast_key
from fabric.controlplane.evpn.rd import auto_rd
from tests.bgp.wiring import S, Wiring, leaf_spine, originate_loopbacks
from tests.waiting import LIMIT_S

TSHARK = shutil.which("tshark")
pytestmark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")


def recorded() -> Wiring:
    """A 2x2 fabric with EVPN, one link lost and restored, a drain, a refresh and a stop."""
    wiring = leaf_spine(2, 2, (IPV4_UNICAST, EVPN))
    wiring.keep_log = True
    originate_loopbacks(wiring)
    for n in (1, 2):
        vtep = bytes([10, 255, 1, n])
        rd, target = auto_rd(f"10.255.1.{n}", 2), b"\0\2" + (65100 + n).to_bytes(2) + (10100).to_bytes(4)
        its = Attributes(ext_communities=(ENCAPSULATION_VXLAN, target, mobility(n)))
        mac = f"02:00:00:00:00:0{n}"
        speaker = wiring.speakers[f"leaf{n}"]
        wiring.act(
            f"leaf{n}",
            speaker.originate(
                EVPN,
                (mac_ip_key(rd, mac), mac_ip_key(rd, mac, f"172.16.0.{n}")),
                its,
                0,
                next_hop=vtep,
                payload=Payload((10100,)),
            ),
        )
        flood = Attributes(
            ext_communities=its.ext_communities, pmsi_tunnel=pmsi_ingress_replication(10100, f"10.255.1.{n}")
        )
        wiring.act(f"leaf{n}", speaker.originate(EVPN, (multicast_key(rd, f"10.255.1.{n}"),), flood, 0, next_hop=vtep))
    # tshark 4.0 does not decode messages of more than 4096 bytes (RFC 8654).
    many = [prefix_key(f"10.{64 + (n >> 8)}.{n & 255}.0/24") for n in range(900)]
    communities = Attributes(communities=tuple(range(0x10000, 0x10046)), large_communities=((1, 2, 3),), med=5)
    wiring.act("leaf1", wiring.speakers["leaf1"].originate(IPV4_UNICAST, many, communities, 0))
    wiring.start()
    wiring.settle()
    wiring.act("leaf1", wiring.speakers["leaf1"].request_refresh("10.1.1.0", EVPN, wiring.now_ns))
    wiring.act("spine1", wiring.speakers["spine1"].graceful_shutdown(wiring.now_ns, on=True))
    wiring.settle(1)
    wiring.cut("spine2", "10.2.1.1")
    wiring.settle(1)
    wiring.act("spine1", wiring.speakers["spine1"].stop(wiring.now_ns))
    wiring.settle(1)
    return wiring


def write(wiring: Wiring, path: Path) -> int:
    """Write the log as TCP between the speakers; returns the number of BGP messages."""
    sequence: dict[tuple[str, str], int] = {}
    packets, messages = [], 0
    for time_ns, name, peer, data in wiring.log:
        far = wiring.remote[name, peer]
        source, target = far[1], peer
        for at in range(0, len(data), 1400):
            number = sequence.get((source, target), 1)
            ports = (179, 40000) if name.startswith("spine") else (40000, 179)
            packet = (
                Ether()
                / IP(src=source, dst=target)
                / TCP(sport=ports[0], dport=ports[1], seq=number, flags="PA")
                / data[at : at + 1400]
            )
            packet.time = time_ns / S
            packets.append(packet)
            sequence[source, target] = number + len(data[at : at + 1400])
        at = 0
        while at < len(data):
            messages += 1
            at += int.from_bytes(data[at + 16 : at + 18])
    wrpcap(str(path), packets)
    return messages


def tshark(path: Path, *arguments: str) -> list[str]:
    assert TSHARK is not None
    command = [TSHARK, "-r", str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    return done.stdout.splitlines()


def test_tshark_finds_every_message_and_nothing_malformed(tmp_path: Path) -> None:
    path = tmp_path / "bgp.pcap"
    written = write(recorded(), path)
    types = [kind for row in tshark(path, "-Y", "bgp", "-T", "fields", "-e", "bgp.type") for kind in row.split(",")]
    assert len(types) == written
    assert {"1", "2", "3", "4", "5"} == set(types)
    assert tshark(path, "-Y", "_ws.malformed || _ws.expert.severity == error") == []


def test_tshark_reads_the_routes_we_meant(tmp_path: Path) -> None:
    path = tmp_path / "bgp.pcap"
    write(recorded(), path)
    fields = (
        "bgp.evpn.nlri.mac_addr",
        "bgp.evpn.nlri.ip.addr",
        "bgp.ext_com_evpn.mmac.seq",
        "bgp.update.path_attribute.community_wellknown",
        "bgp.large_communities.ga",
        "bgp.nlri_prefix",
    )
    wanted = ("02:00:00:00:00:02", "172.16.0.2", "2", "0xffff0000", "1", "10.67.131.0")
    for field, value in zip(fields, wanted, strict=True):
        rows = tshark(path, "-Y", "bgp.type == 2", "-T", "fields", "-e", field)
        assert value in {one for row in rows for one in row.split(",")}, field
