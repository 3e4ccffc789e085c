"""tshark reads frames of every kind, in every encapsulation, as what they are: one capture of many small fabrics."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.capture.packets import KINDS
from fabric.capture.process import Frame, FrameFile
from fabric.capture.sessions import segments
from fabric.capture.taps import RECORD, Taps
from fabric.cli.capture import _KINDS
from fabric.cli.options.tapped import frame_maker, ports_called
from fabric.dataplane.engine.driver import Emulator
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.units import PS_PER_MS, PS_PER_NS, PS_PER_US

MOST: Final = 40
"""Frames of each kind, and of each reason in a comment, of a fabric."""
RACK: Final = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 3, "host_rate": "100G",
               "fabric_rate": "100G"}  # fmt: skip
DATAGRAMS: Final = {"kind": "datagrams", "senders": ["host6"], "receivers": ["host1"], "rate": "5G", "frame": "500B",
                    "count": 80}  # fmt: skip
LOSSY: Final[dict[str, Any]] = {
    "name": "kinds",
    "topology": RACK,
    "switches": {"ecn": {"kmin": "20KB", "kmax": "60KB", "pmax": 0.5}, "memory": "200KB"},
    "pfc": "off",
    "workload": [
        {"kind": "incast", "receiver": "host1", "senders": ["host2", "host3", "host4", "host5"], "size": "600KB"},
        DATAGRAMS,
    ],
    "run": {"duration": "2ms", "seed": 1},
}
"""Marks and discards, so CNPs and NAKs."""
FAST: Final = {"update_delay": "1ms", "fib_delay": "50us", "carrier_delay": "50us", "prune_delay": "20us",
               "learn_delay": "100us", "jitter": "off"}  # fmt: skip
SILENT: Final[dict[str, Any]] = {
    "name": "silent",
    "topology": RACK | {"leaves": 3, "spines": 2, "hosts_per_leaf": 2},
    "vxlan": {"silent": ["host5"]},
    "routing": "bgp",
    "bgp": FAST,
    "workload": [
        {
            "kind": "messages",
            "messages": [{"id": "a", "src": "host1", "dst": "host5", "size": "160KB", "start": "1ms"}],
        },
        {"kind": "arp", "interval": "20us", "start": "1ms", "stop": "1100us"},
    ],
    "run": {"duration": "8ms", "stop": "duration"},
}
"""Frames for a silent host are flooded until the fabric has learnt it, which its switches tell each other."""
NOTICES: Final[dict[str, Any]] = {
    "name": "notices",
    "topology": RACK | {"spines": 2, "link_overrides": [{"a": "leaf2", "b": "spine1", "rate": "25G"}]},
    "switches": {"load_balancing": "adaptive", "congestion_notices": "10KB"},
    "workload": [{"kind": "permutation", "size": "600KB", "shift": 3}],
    "run": {"duration": "1ms", "seed": 1},
}
"""A slow cable has a queue, which its spine announces to the other leaf."""
ROUTED: Final = LOSSY | {"switches": LOSSY["switches"] | {"load_balancing": "source-routed"}}
LOSSLESS: Final = LOSSY | {"pfc": "on", "switches": {**LOSSY["switches"], "memory": "1MB"}}


@dataclass(frozen=True)
class Fabric:
    scenario: dict[str, Any]
    ports: tuple[str, ...]
    from_ps: int
    to_ps: int
    kinds: frozenset[str]


def of(scenario: dict[str, Any], ports: str, kinds: str, window_us: tuple[int, int] = (0, 120)) -> Fabric:
    from_us, to_us = window_us
    return Fabric(scenario, tuple(ports.split()), from_us * PS_PER_US, to_us * PS_PER_US, frozenset(kinds.split()))


FABRICS: Final = {
    "lossy": of(LOSSY, "host1:eth0 leaf1:Ethernet12", "data ack nak cnp datagram"),
    "lossless": of(LOSSLESS, "leaf1:Ethernet12", "data ack pfc", (0, 80)),
    "ipv6": of(LOSSY | {"transport": {"ip": 6}}, "host1:eth0", "data ack nak cnp datagram"),
    "tagged": of(LOSSY | {"transport": {"ip": 6, "vlan_tag": True}}, "host1:eth0", "data ack datagram", (0, 30)),
    "hpcc": of(LOSSLESS | {"transport": {"cc": "hpcc"}}, "leaf1:Ethernet0", "data ack", (0, 30)),
    "selective": of(LOSSY | {"transport": {"recovery": "out-of-order"}}, "leaf1:Ethernet0", "data ack", (0, 30)),
    "routed": of(ROUTED, "leaf1:Ethernet12", "data ack datagram", (0, 30)),
    "routed6": of(
        ROUTED | {"transport": {"ip": 6, "vlan_tag": True, "recovery": "go-back-n"}}, "host1:eth0", "data ack nak cnp"
    ),
    "notices": of(NOTICES, "spine1", "data ack notice", (0, 200)),
    "silent": of(SILENT, "host6:eth0 host4:eth0 spine1", "data ack arp flooded bgp", (990, 1200)),
}
FIELDS: Final = (
    "frame.interface_name", "frame.time_epoch", "frame.comment", "frame.protocols", "infiniband.bth.opcode",
    "infiniband.aeth.syndrome.opcode", "_ws.malformed", "ip.checksum.status", "vlan.priority",
)  # fmt: skip


def captured(name: str, fabric: Fabric) -> list[tuple[int, str, Frame]]:
    """(ns, kind, frame), at most MOST of a kind, in order of time."""
    scenario = build_scenario(fabric.scenario, Path("kinds.yml"))
    one = compile_scenario(scenario)
    problems: list[Any] = []
    ports = [port for it in fabric.ports for port in ports_called(one.fabric, it, "--port", problems)]
    assert not problems
    engine = Emulator(one.fabric, one.params, one.edits, record=RECORD, reroute_delay_ps=one.reroute_delay_ps)
    packets = frame_maker(scenario, one)(engine)
    found = [
        (seen.time_ps, KINDS[seen.frame["kind"]], packets.frame(seen))
        for seen in Taps(engine, ports, [it.time_ps for it in one.edits]).sightings(fabric.from_ps, fabric.to_ps)
    ]
    if one.control is not None:
        told = segments(one.control, one.fabric, frozenset(ports), 0, 8 * PS_PER_MS)
        found += [(it.time_ps, "bgp", it.frame) for it in told]
    kept: list[tuple[int, str, Frame]] = []
    counts: Counter[str] = Counter()
    for time_ps, kind, frame in sorted(found, key=lambda it: it[0]):
        reason = str(frame.get("comment", "")).partition(" ")[0]
        counts.update({kind, reason})
        if counts[kind] <= MOST or (reason and counts[reason] <= MOST):
            kept.append((time_ps // PS_PER_NS, kind, {**frame, "interface": f"{name} {frame['interface']}"}))
    return kept


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, str, Frame]], list[list[str]]]:
    """(capture, what was written, what tshark read)."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    path = tmp_path_factory.mktemp("kinds") / "all.pcapng"
    written = [it for name, fabric in FABRICS.items() for it in captured(name, fabric)]
    file = FrameFile(path)
    for at_ns, _, frame in written:
        file.write(at_ns, frame)
    file.close()
    return path, written, [line.split("\t") for line in tshark(path, "-T", "fields", *(
        word for name in FIELDS for word in ("-e", name)
    ))]  # fmt: skip


def tshark(path: Path, *words: str) -> list[str]:
    done = subprocess.run(["tshark", "-r", str(path), *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def kind_read(protocols: str, opcode: str, syndrome: str) -> str:
    """The word of --kind for what tshark dissected."""
    layers = set(protocols.split(":"))
    for protocol, kind in (("macc", "pfc"), ("arp", "arp"), ("tcp", "bgp")):
        if protocol in layers:
            return kind
    if layers.isdisjoint({"ip", "ipv6"}):
        return "notice"
    if "infiniband" not in layers:
        return "datagram"
    return {"129": "cnp", "17": "nak" if syndrome == "3" else "ack"}.get(opcode, "data")


def test_frames_of_every_kind_are_read_as_what_they_are(
    read: tuple[Path, list[tuple[int, str, Frame]], list[list[str]]],
) -> None:
    _, written, told = read
    assert len(told) == len(written)
    wanted = [(frame["interface"], "data" if kind == "flooded" else kind) for _, kind, frame in written]
    assert [(line[0], kind_read(line[3], line[4], line[5])) for line in told] == wanted
    for name, fabric in FABRICS.items():
        assert fabric.kinds <= {kind for _, kind, frame in written if frame["interface"].split()[0] == name}, name
    assert {kind for _, kind, _ in written} == set(_KINDS)
    assert [line for line in told if line[6] or line[7] == "0"] == []
    assert {line[8] for line in told if line[0].startswith("tagged")} - {""}


def test_comments_and_nanoseconds_are_read_back(
    read: tuple[Path, list[tuple[int, str, Frame]], list[list[str]]],
) -> None:
    _, written, told = read
    assert [line[2] for line in told] == [frame.get("comment", "") for _, _, frame in written]
    reasons = {line[2].split(" ")[0] for line in told}
    assert reasons == {"", "marked", "discarded"}
    assert [round(float(line[1]) * 1e9) for line in told] == [at_ns for at_ns, _, _ in written]


def test_the_icrc_is_that_of_the_bytes_over_ipv4_ipv6_and_a_tag(
    read: tuple[Path, list[tuple[int, str, Frame]], list[list[str]]],
) -> None:
    path, written, told = read
    plain = path.with_suffix(".pcap")
    tshark(path, "-F", "pcap", "-w", str(plain))
    data, at, seen = plain.read_bytes(), 24, Counter[str]()
    for (_, _, frame), line in zip(written, told, strict=True):
        size = struct.unpack_from("<I", data, at + 8)[0]
        shown, at = data[at + 16 : at + 16 + size], at + 16 + size
        own, outer = frame.get("inner", frame), 40 if "ipv6" in frame and "inner" in frame else 0
        if "bth" in own and "vxlan" not in frame:
            seen["routed" if outer else "tagged" if "vlan" in frame else "ipv6" if "ipv6" in frame else "ipv4"] += 1
            assert shown[-4:] == icrc(shown[(18 if "vlan" in frame else 14) + outer :]), line
    assert min(seen[it] for it in ("ipv4", "ipv6", "tagged", "routed")) > 0


def icrc(packet: bytes) -> bytes:
    """Invariant CRC of a RoCEv2 packet from its IP header on (IB vol. 1, annex A17, section A17.3.3)."""
    covered = bytearray(b"\xff" * 8 + packet[:-4])
    if packet[0] >> 4 == 4:  # TOS, TTL, checksum of IPv4, checksum of UDP, FECN BECN Resv6a of the BTH
        variant = (9, 16, 18, 19, 34, 35, 40)
    else:  # traffic class and flow label, hop limit, the same of UDP and BTH
        covered[8] |= 0x0F
        variant = (9, 10, 11, 15, 54, 55, 60)
    for at in variant:
        covered[at] = 0xFF
    return struct.pack("<I", zlib.crc32(bytes(covered)))
