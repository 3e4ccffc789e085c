"""Packets of the data plane as pcapng: every frame of a port, its headers as tshark reads them, and its reasons."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.capture.packets import KINDS, Layers, Packets
from fabric.capture.process import FrameBuilder
from fabric.capture.sessions import segments
from fabric.capture.taps import RECORD, Sighting, Taps
from fabric.cli.main import main
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import PacketKind
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario

TSHARK = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
INCAST: dict[str, Any] = {
    "name": "small",
    "topology": {
        "kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 3,
        "host_rate": "100G", "fabric_rate": "100G",
    },
    "switches": {"ecn": {"kmin": "20KB", "kmax": "60KB", "pmax": 0.5}, "memory": "1MB"},
    "workload": [
        {"kind": "messages", "messages": [
            {"id": f"m{number}", "src": f"host{number}", "dst": "host1", "size": "600KB"} for number in (2, 3, 4, 5)
        ]},
    ],
    "run": {"duration": "2ms", "seed": 1},
}  # fmt: skip


def compiled(**changes: Any) -> CompiledScenario:  # noqa: ANN401  sections of a scenario
    return compile_scenario(build_scenario(INCAST | changes, Path("small.yml")))


def captured(
    one: CompiledScenario, ports: list[str], from_ps: int = 0, to_ps: int | None = None
) -> tuple[Emulator, list[Sighting]]:
    engine = Emulator(one.fabric, one.params, one.edits, record=RECORD, reroute_delay_ps=one.reroute_delay_ps)
    rows = [int(port.id) for port in one.fabric.ports if one.fabric.port_name(port.id) in ports]
    assert len(rows) == len(ports)
    taps = Taps(engine, rows, [edit.time_ps for edit in one.edits])
    return engine, list(taps.sightings(from_ps, one.duration_ps if to_ps is None else to_ps))


def port_row(one: CompiledScenario, name: str) -> int:
    return next(int(port.id) for port in one.fabric.ports if one.fabric.port_name(port.id) == name)


@pytest.mark.parametrize("name", ["leaf1:Ethernet0", "leaf1:Ethernet12", "host1:eth0", "spine1:Ethernet0"])
def test_a_port_s_packets_and_bytes_equal_its_counters(name: str) -> None:
    one = compiled()
    engine, seen = captured(one, [name])
    row = engine.snapshot().ports[port_row(one, name)]
    for direction, counter in (("out", "tx"), ("in", "rx")):
        frames = [it.frame for it in seen if it.direction == direction]
        assert sum(it["kind"] == PacketKind.PFC for it in frames) == row[f"{counter}_pause_pkts"]
        assert len(frames) == row[f"{counter}_pkts"]
        assert sum(int(it["size"]) for it in frames) == row[f"{counter}_bytes"]
    assert [it.time_ps for it in seen] == sorted(it.time_ps for it in seen)


def test_every_mark_of_a_queue_has_its_packet() -> None:
    one = compiled()
    engine, seen = captured(one, ["leaf1:Ethernet0"])
    queue = engine.snapshot().queues.reshape(-1, 8)[port_row(one, "leaf1:Ethernet0")]
    marks = [it.mark for it in seen if it.mark is not None]
    assert len(marks) == queue["marked_pkts"].sum() > 0
    assert all(it["a"] >= it["b"] for it in marks)  # depth above Kmin
    assert all(it.frame["ecn"] == 3 for it in seen if it.mark is not None)


def test_marks_at_dequeue_have_their_packets_too() -> None:
    one = compiled(switches={**INCAST["switches"], "mark": "dequeue"})
    engine, seen = captured(one, ["leaf1:Ethernet0"])
    queue = engine.snapshot().queues.reshape(-1, 8)[port_row(one, "leaf1:Ethernet0")]
    assert sum(it.mark is not None for it in seen) == queue["marked_pkts"].sum() > 0


def test_discards_on_arrival_have_their_packets() -> None:
    one = compiled(pfc="off", switches={"memory": "200KB", "ecn": "off"}, transport={"cc": "none"})
    engine, seen = captured(one, ["leaf1:Ethernet4", "leaf1:Ethernet8", "leaf1:Ethernet12"])
    dropped = [it for it in seen if it.drop is not None]
    rows = list(one.fabric.by_name["leaf1"].ports)  # a discard for lack of egress space is counted at the egress port
    assert len(dropped) == engine.snapshot().ports["dropped_pkts"][rows].sum() > 0


def test_a_capture_of_a_part_is_that_part_of_the_whole() -> None:
    one = compiled()
    _, whole = captured(one, ["leaf1:Ethernet12"])
    _, part = captured(one, ["leaf1:Ethernet12"], 40_000_000, 90_000_000)
    expected = [(it.time_ps, it.frame.tobytes()[16:20]) for it in whole if 40_000_000 <= it.time_ps < 90_000_000]
    assert [(it.time_ps, it.frame.tobytes()[16:20]) for it in part] == expected != []


def test_a_cable_that_fails_does_not_hide_what_was_on_it() -> None:
    fault = {"kind": "link-down", "link": "leaf1--spine1", "at": "20us", "until": "80us"}
    one = compiled(faults=[fault])
    engine, seen = captured(one, ["leaf1:Ethernet12"])
    row = engine.snapshot().ports[port_row(one, "leaf1:Ethernet12")]
    received = [it for it in seen if it.direction == "in"]
    assert row["lost_pkts"] > 0
    assert len(received) == row["rx_pkts"] + row["lost_pkts"]
    assert len([it for it in seen if it.direction == "out"]) == row["tx_pkts"]


@pytest.mark.parametrize(
    "transport", [{}, {"vlan_tag": True}, {"ip": 6}, {"recovery": "out-of-order"}, {"cc": "hpcc"}, {"cc": "timely"}]
)
def test_a_frame_has_the_size_of_the_model_without_fcs(transport: dict[str, Any]) -> None:
    one = compiled(transport=transport)
    engine, seen = captured(one, ["leaf1:Ethernet0"], 0, 60_000_000)
    layers = Layers(transport.get("ip", 4), transport.get("vlan_tag", False))
    packets = Packets(engine, layers, {})
    shown: Counter[str] = Counter()
    with FrameBuilder() as builder:
        for it in seen:
            kind = KINDS[it.frame["kind"]]
            shown[kind] += 1
            if shown[kind] <= 3:
                described = {
                    key: value
                    for key, value in packets.frame(it).items()
                    if key not in {"interface", "direction", "comment"}
                }
                assert len(builder.bytes_of(described)) + 4 == it.frame["size"], (kind, it.frame)
    assert set(shown) >= {"data", "ack"}


def _tshark(path: Path, *words: str) -> list[str]:
    done = subprocess.run(["tshark", "-r", str(path), *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@TSHARK
@pytest.mark.parametrize(
    ("scenario", "ports", "end", "wanted"),
    [
        ("pause-storm", ["leaf1:Ethernet12"], ("195us", "230us"), {"infiniband", "macc"}),
        ("arp-storm", ["leaf1:Ethernet32"], ("0", "60us"), {"infiniband", "vxlan", "arp"}),
        ("tenant-routing", ["leaf1:Ethernet16"], ("0", "20us"), {"infiniband", "vxlan"}),
    ],
)
@pytest.mark.slow
def test_tshark_reads_every_kind_without_a_malformed_frame(
    scenario: str, ports: list[str], end: tuple[str, str], wanted: set[str], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    out = tmp_path / "x.pcapng"
    words = [word for port in ports for word in ("--port", port)]
    assert main(["capture", scenario, *words, "--from", end[0], "--to", end[1], "-o", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    lines = _tshark(
        out, "-T", "fields", "-e", "frame.protocols", "-e", "frame.interface_name", "-e", "frame.time_epoch"
    )
    assert len(lines) == told["packets"] > 0
    seen = {protocol for line in lines for protocol in line.split("\t")[0].split(":")}
    assert wanted <= seen
    assert {line.split("\t")[1] for line in lines} == set(ports)
    times = [float(line.split("\t")[2]) for line in lines]
    assert times == sorted(times)
    assert any(round(time * 1e9) % 1000 for time in times)  # not microseconds
    assert _tshark(out, "-Y", "_ws.malformed || ip.checksum.status == 0") == []


def _frames(path: Path, folder: Path) -> list[bytes]:
    """Frames of a capture, by tshark's conversion to the older format: 24 bytes of header, 16 before each frame."""
    plain = folder / "x.pcap"
    _tshark(path, "-F", "pcap", "-w", str(plain))
    data, at, found = plain.read_bytes(), 24, []
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at + 8)
        found.append(data[at + 16 : at + 16 + size])
        at += 16 + size
    return found


def _icrc(frame: bytes) -> bytes:
    """Invariant CRC of a RoCEv2 frame in IPv4 without options (IB vol. 1, annex A17, section A17.3.3).

    Fields that a router may change count as ones, and so do 8 bytes in place of the LRH. It is the CRC-32 of Ethernet,
    with its least significant byte first.
    """
    covered = bytearray(b"\xff" * 8 + frame[14:-4])
    for at in (9, 16, 18, 19, 34, 35, 40):  # TOS, TTL, checksum of IPv4, checksum of UDP, FECN BECN Resv6a of the BTH
        covered[at] = 0xFF
    return struct.pack("<I", zlib.crc32(bytes(covered)))


LOSSY: dict[str, Any] = INCAST | {
    "pfc": "off",
    "switches": {"ecn": {"kmin": "20KB", "kmax": "60KB", "pmax": 0.5}, "memory": "200KB"},
    "workload": [
        *INCAST["workload"],
        {"kind": "datagrams", "senders": ["host6"], "receivers": ["host1"], "rate": "5G", "frame": "500B", "count": 80},
    ],
}
"""Packets are marked and discarded, so that the receiver sends CNPs and NAKs; datagrams are sent beside RoCE."""


@TSHARK
@pytest.mark.slow
def test_tshark_reads_cnps_naks_and_datagrams_and_every_icrc_is_that_of_its_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "lossy.yml", tmp_path / "x.pcapng"
    file.write_text(json.dumps(LOSSY), encoding="utf-8")
    words = ["capture", str(file), "--port", "host1:eth0", "--to", "150us", "-o", str(out), "--json", "--quiet"]
    assert main(words) == 0
    kinds = json.loads(capsys.readouterr().out)["kinds"]
    assert {"data", "ack", "nak", "cnp", "datagram"} <= set(kinds)
    assert _tshark(out, "-Y", "_ws.malformed || ip.checksum.status == 0") == []
    names = ("bth.opcode", "invariant.crc", "aeth.syndrome", "aeth.syndrome.opcode")
    fields = [word for name in (*(f"infiniband.{it}" for it in names), "udp.dstport") for word in ("-e", name)]
    told = [line.split("\t") for line in _tshark(out, "-T", "fields", *fields)]
    read = Counter((opcode, syndrome, kind) for opcode, _, syndrome, kind, _ in told)
    assert read["129", "", ""] == kinds["cnp"]
    assert read["17", "96", "3"] == kinds["nak"]  # 3: NAK
    assert read["17", "31", "0"] == kinds["ack"]
    assert sum(read[opcode, "", ""] for opcode in ("6", "7", "8")) == kinds["data"]
    assert sum((opcode, port) == ("", "9") for opcode, _, _, _, port in told) == kinds["datagram"]
    frames = _frames(out, tmp_path)
    assert len(frames) == len(told) == sum(kinds.values())
    seen: set[str] = set()
    for frame, (opcode, icrc, *_) in zip(frames, told, strict=True):
        if not opcode:
            assert len(frame) == 500 - 4  # without FCS
            continue
        seen.add(opcode)
        assert bool(frame[46] & 0x40) is (opcode == "129")  # BECN
        assert _icrc(frame) == frame[-4:], (opcode, frame.hex())
        if opcode != "129" or icrc:  # tshark 4.0 does not know the opcode of a CNP, and shows no ICRC of it
            assert bytes.fromhex(icrc.removeprefix("0x")) == frame[-4:]
    assert seen >= {"6", "7", "17", "129"}


@TSHARK
@pytest.mark.slow
def test_opcodes_psns_and_acknowledgements_are_those_of_the_messages(tmp_path: Path) -> None:
    file = tmp_path / "small.yml"
    file.write_text(json.dumps(INCAST), encoding="utf-8")
    out = tmp_path / "x.pcapng"
    assert main(["capture", str(file), "--port", "host2:eth0", "-o", str(out), "--quiet"]) == 0
    fields = ("-e", "infiniband.bth.opcode", "-e", "infiniband.bth.psn", "-e", "infiniband.reth.dmalen")
    sent = [line.split("\t") for line in _tshark(out, "-Y", "ip.src == 10.64.0.3", "-T", "fields", *fields)]
    n_packets = -(-600_000 // 4096)
    assert [int(line[1]) for line in sent] == list(range(n_packets))
    assert [int(line[0]) for line in sent] == [6] + [7] * (n_packets - 2) + [8]
    assert int(sent[0][2]) == 600_000
    acks = [line.split("\t") for line in _tshark(out, "-Y", "infiniband.bth.opcode == 17", "-T", "fields", *fields)]
    assert int(acks[-1][1]) == n_packets - 1


def test_wrong_ports_times_and_models_are_refused_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = str(tmp_path / "x.pcapng")
    words = ["--port", "laef1", "--port", "leaf1:Ethernet1", "--flow", "host1", "--from", "3", "-o", out]
    assert main(["capture", "incast", *words]) == 2
    said = capsys.readouterr().err
    assert "no device is called 'laef1'" in said
    assert "leaf1 has no port 'Ethernet1'" in said
    assert "--flow" in said
    assert "--from" in said
    assert main(["capture", "hpcc-ns3", "--port", "leaf1", "-o", out]) == 2
    assert "hpcc-ns3 has headers of its simulator" in capsys.readouterr().err
    assert not Path(out).exists()


def test_files_that_a_capture_reads_are_not_overwritten(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "small.yml"
    file.write_text(json.dumps(INCAST), encoding="utf-8")
    assert main(["capture", str(file), "--port", "leaf1", "-o", str(file)]) == 2
    assert "is a file that this command reads" in capsys.readouterr().err
    assert json.loads(file.read_text(encoding="utf-8")) == INCAST
    assert main(["capture", str(file), "--port", "leaf1", "-o", str(tmp_path / "no" / "x.pcapng")]) == 2
    assert "is no folder" in capsys.readouterr().err
    one = ["capture", str(file), "--port", "leaf1", "-o", str(tmp_path / "x.pcapng")]
    assert main([*one, "--flow", "host1,host1"]) == 2
    assert "is one host" in capsys.readouterr().err
    assert main([*one, "--flow", "host1,host2", "--kind", "pfc"]) == 2
    assert "neither belongs to a flow" in capsys.readouterr().err


def test_filters_choose_by_kind_class_and_hosts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "small.yml"
    file.write_text(json.dumps(INCAST), encoding="utf-8")
    found = {}
    for name, filters in {
        "all": [],
        "acks": ["--kind", "ack"],
        "pair": ["--flow", "host2,host1", "--kind", "data", "--class", "3"],
        "class": ["--class", "5"],
        "limit": ["--limit", "7"],
    }.items():
        out = str(tmp_path / f"{name}.pcapng")
        words = ["--port", "leaf1:Ethernet0", "--to", "30us", *filters, "-o", out, "--json", "--quiet"]
        assert main(["capture", str(file), *words]) == 0
        found[name] = json.loads(capsys.readouterr().out)
    assert set(found["acks"]["kinds"]) == {"ack"}
    assert 0 < found["pair"]["kinds"]["data"] < found["all"]["kinds"]["data"]
    assert found["class"]["packets"] == 0
    assert found["limit"]["packets"] == 7
    assert found["limit"]["limit_reached"]
    assert np.all([it["packets"] > 0 for name, it in found.items() if name != "class"])


@pytest.mark.slow
def test_a_capture_of_a_run_is_that_of_its_scenario(tmp_path: Path) -> None:
    file, run = tmp_path / "small.yml", tmp_path / "run"
    file.write_text(json.dumps(INCAST), encoding="utf-8")
    assert main(["run", str(file), "--out", str(run), "--quiet"]) == 0
    found = []
    for source in (file, run):
        out = tmp_path / f"{source.name}.pcapng"
        words = ["--port", "leaf1:Ethernet0", "--to", "40us", "-o", str(out), "--quiet"]
        assert main(["capture", str(source), *words]) == 0
        found.append(out.read_bytes())
    assert found[0] == found[1]
    assert len(found[0]) > 10_000


def test_bgp_of_a_scenario_without_bgp_and_a_wrong_dilation_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["capture", "incast", "--port", "leaf1", "-o", "x.pcapng", "--kind", "bgp", "--class", "3"]
    assert main([*words, "--dilation", "0"]) == 2
    said = capsys.readouterr().err
    assert "the scenario has no control plane" in said
    assert "its messages have no class" in said
    assert "0 is no ratio" in said


BGP: dict[str, Any] = INCAST | {
    "routing": "bgp",
    "topology": {**INCAST["topology"], "spines": 2},
    "faults": [{"kind": "drain", "switch": "spine2", "at": "20us"}],
    "run": {"duration": "40ms", "seed": 1},
}


def test_bgp_messages_depart_at_one_port_and_arrive_at_the_other() -> None:
    one = compiled(**BGP)
    assert one.control is not None
    ends = [port_row(one, name) for name in ("leaf1:Ethernet16", "spine2:Ethernet0")]
    found = segments(one.control, one.fabric, ends, 0, one.duration_ps)
    for sender, receiver in (ends, ends[::-1]):
        out, into = (
            [(it.time_ps, it.frame["tcp"]["sequence"]) for it in found if it.frame["interface"] == name and
             it.frame["direction"] == direction]
            for name, direction in ((one.fabric.port_name(sender), "out"), (one.fabric.port_name(receiver), "in"))
        )  # fmt: skip
        delay_ns = one.control.plan.cables[0].delay_ns
        assert [(time_ps + delay_ns * 1_000, number) for time_ps, number in out] == into != []
    assert [it.time_ps for it in found] == sorted(it.time_ps for it in found)


@TSHARK
@pytest.mark.slow
def test_a_pipe_carries_bgp_and_roce_in_order(tmp_path: Path) -> None:
    file = tmp_path / "small.yml"
    file.write_text(json.dumps(BGP), encoding="utf-8")
    command = [sys.executable, "-m", "fabric", "capture", str(file), "--port", "leaf1", "--quiet"]
    with subprocess.Popen(
        [*command, "-o", "-", "--dilation", "20", "--to", "5ms", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        fields = ("-T", "fields", "-e", "frame.time_epoch", "-e", "frame.protocols")
        done = subprocess.run(
            ["tshark", "-r", "-", *fields], stdin=child.stdout, capture_output=True, text=True, check=True
        )
        assert child.stdout is not None
        assert child.stderr is not None
        told = json.loads(child.stderr.read().splitlines()[-1])
        assert child.wait() == 0
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) == told["packets"] == sum(told["kinds"].values())
    assert told["kinds"]["bgp"] > 0
    assert sum(":bgp" in protocols for _, protocols in rows) > 0
    assert {protocol for _, protocols in rows for protocol in protocols.split(":")} >= {"bgp", "infiniband"}
    assert [float(time) for time, _ in rows] == sorted(float(time) for time, _ in rows)


def test_a_reader_that_leaves_ends_the_capture_without_a_traceback() -> None:
    command = [sys.executable, "-m", "fabric", "capture", "incast", "--port", "leaf1", "--to", "300us", "-o", "-"]
    with subprocess.Popen([*command, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.read(100)
        child.stdout.close()
        said = child.stderr.read()
        assert child.wait() != 0
    assert b"Traceback" not in said


def test_a_manifest_named_as_a_scenario_is_one_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    file.write_text('{"format": 3, "files": {}}', encoding="utf-8")
    assert main(["capture", str(file), "--port", "leaf1", "-o", str(tmp_path / "x.pcapng")]) == 2
    said = capsys.readouterr().err
    assert "is a file of a run, not a scenario" in said
    assert f"name its folder, {tmp_path}" in " ".join(said.split())
    assert said.count("hint") == 1
