"""IPFIX: what a run's switches counted, in the layout of SONiC's design, read back without a finding, and by tshark."""

from __future__ import annotations

import io
import json
import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from fabric.cli.main import main
from fabric.errors import FabricError
from telemetry.export.ipfix import write_ipfix
from telemetry.gnmi.sonic import LEAVES
from telemetry.ipfix import sai, wire
from telemetry.ipfix.wire import Field, FormatError, Template
from telemetry.lint.ipfix import from_ipfix
from telemetry.lint.rules import check
from telemetry.lint.series import Batch
from telemetry.record.store import Store
from tests.waiting import LIMIT_S

TSHARK = shutil.which("tshark")
START_NS = 1_760_000_000 * 10**9
STEP_NS = 100_000
LINE_RATE = 1_250_000
"""Bytes of 100 Gb/s in 100 us."""
OUT_OCTETS = sai.BY_NAME["SAI_PORT_STAT_IF_OUT_OCTETS"]
TIME = Field(325, 8)
MARKS = ("_ws.expert", "_ws.malformed")

Row = tuple[str, Mapping[str, str], float]
"""(metric, labels, value)."""


def store(*samples: list[Row]) -> Store:
    """Samples every 100 us; a series that a sample has not has ended."""
    found, before = Store(), set[tuple[str, tuple[tuple[str, str], ...]]]()
    for row, rows in enumerate(samples):
        sample = found.begin(row * STEP_NS)
        now = {(name, tuple(labels.items())): value for name, labels, value in rows}
        for name, labels in [*now, *(before - now.keys())]:
            track = found.track(name)
            if labels not in track.labels:
                track.labels.append(labels)
            value = now.get((name, labels), np.nan)
            track.append(sample, np.array([track.labels.index(labels)], np.int32), np.array([value]))
        before = set(now)
    return found


def switch(per_step: int, row: int, ports: int = 2, name: str = "leaf1") -> list[Row]:
    """A sample of a switch and a host."""
    rows: list[Row] = [
        ("fabric_device_info", {"device": name, "role": "leaf"}, 1.0),
        ("fabric_device_info", {"device": "h0", "role": "host"}, 1.0),
        ("fabric_port_transmit_bytes_total", {"device": "h0", "port": "eth0"}, 1.0),
        ("fabric_buffer_pool_headroom_used_bytes", {"device": name, "pool": "ingress"}, row % 3 * 2_000.0),
    ]
    for port in (f"Ethernet{it * 4}" for it in range(ports)):
        about = {"device": name, "port": port}
        rows += [
            ("fabric_port_transmit_bytes_total", about, row * per_step),
            ("fabric_queue_bytes", {**about, "queue": "3"}, row % 3 * 1_000.0),
            ("fabric_pg_headroom_used_bytes", {**about, "priority": "3"}, row % 3 * 500.0),
            ("fabric_queue_dropped_packets_total", {**about, "queue": "3"}, row),
            ("fabric_queue_dropped_packets_total", {**about, "queue": "4"}, row * 10),
        ]
    return rows


def exported(of: Store, interval_ns: int | None = None) -> bytes:
    out = io.BytesIO()
    write_ipfix(of, out, START_NS, interval_ns)
    return out.getvalue()


def steady(per_step: int = LINE_RATE, steps: int = 20, ports: int = 2) -> bytes:
    return exported(store(*(switch(per_step, row, ports) for row in range(steps))))


def split(data: bytes) -> list[bytes]:
    """The messages of a file."""
    found = []
    while data:
        length = int.from_bytes(data[2:4])
        found.append(data[:length])
        data = data[length:]
    return found


def values_of(batch: Batch, name: str) -> dict[str, list[float]]:
    return {it.labels["object_name"]: it.values.tolist() for it in batch.series if it.name == name}


def test_the_example_of_the_design_has_its_bytes() -> None:
    """HLD 7.2.2: SAI_PORT_STAT_IF_IN_ERRORS of two ports."""
    assert sai.BY_NAME["SAI_PORT_STAT_IF_IN_ERRORS"] == 0x00010004
    assert sai.BY_NAME["SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"] == 0x00150022
    errors = 0x00010004
    template = Template(256, (TIME, Field(2, 8, errors), Field(5, 8, errors)))
    whole = "0002 001c 0100 0003 0145 0008 8002 0008 00010004 8005 0008 00010004"
    assert wire.template_set(template) == bytes.fromhex(whole)
    assert list(wire.templates(2, wire.template_set(template)[4:])) == [template]


def test_every_counter_of_sonics_database_has_a_number() -> None:
    names = {leaf.at(dict.fromkeys(leaf.labels, "3"))[-1][0] for leaf in LEAVES}
    assert {it for it in names if it.startswith("SAI_")} <= set(sai.BY_NAME)


def test_a_message_is_laid_out_as_sonic_sends_it() -> None:
    *_, last = split(steady())
    version, length, export_s, _, domain = struct.unpack_from(">HHIII", last)
    assert (version, length, export_s, domain) == (10, len(last), START_NS // 10**9, 1)
    set_id, set_length, time_ns = struct.unpack_from(">HHQ", last, 16)
    assert set_id >= 256
    assert set_length < len(last)
    assert time_ns == START_NS + 19 * STEP_NS


def test_what_was_written_is_read_back_and_is_clean() -> None:
    batch = from_ipfix("run", steady())
    assert not check(batch)
    assert {it.labels["device"] for it in batch.series} == {"leaf1"}
    sent = values_of(batch, "SAI_PORT_STAT_IF_OUT_OCTETS")
    assert sent == {port: [row * float(LINE_RATE) for row in range(20)] for port in ("Ethernet0", "Ethernet4")}
    assert values_of(batch, "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES")["Ethernet4|3"][:4] == [0, 1_000, 2_000, 0]
    assert values_of(batch, "SAI_PORT_STAT_IF_OUT_DISCARDS")["Ethernet0"][:3] == [0, 11, 22]
    assert values_of(batch, "SAI_QUEUE_STAT_DROPPED_PACKETS")["Ethernet0|4"][:3] == [0, 10, 20]
    assert all((np.diff(it.times_ns) == STEP_NS).all() for it in batch.series)
    kinds = {it.name: it.kind for it in batch.series}
    assert kinds["SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES"] == "gauge"
    assert kinds["SAI_PORT_STAT_IF_OUT_OCTETS"] == "counter"


def test_names_are_in_messages_that_a_reader_of_counters_can_leave_out() -> None:
    """SONiC's reader takes template sets, and data sets of their templates; it refuses a message with another set."""
    ids = [tuple({set_id for set_id, _ in one.sets}) for one in wire.messages(steady())]
    assert ids[0] == (3,)
    assert set(ids[1]) == {256, 257}
    assert ids[2] == (2,)
    assert all(min(it) > 257 for it in ids[3:])
    bare_of_names = b"".join(split(steady())[2:])
    batch = from_ipfix("run", bare_of_names)
    assert values_of(batch, "SAI_PORT_STAT_IF_OUT_OCTETS").keys() == {"1", "2"}
    assert not check(batch)


def test_an_interval_keeps_the_samples_at_its_multiples() -> None:
    samples = store(*(switch(LINE_RATE, row) for row in range(20)))
    batch = from_ipfix("run", exported(samples, 500_000))
    assert values_of(batch, "SAI_PORT_STAT_IF_OUT_OCTETS")["Ethernet0"] == [row * LINE_RATE for row in (0, 5, 10, 15)]


def test_sequence_numbers_count_data_records_and_messages_fit_a_packet() -> None:
    data = steady(ports=200)
    records = 0
    templates: dict[int, Template] = {}
    for one in wire.messages(data):
        assert one.sequence == records
        for set_id, body in one.sets:
            if set_id in {2, 3}:
                templates |= {it.id: it for it in wire.templates(set_id, body)}
            else:
                records += len(list(wire.records(templates[set_id], body)))
    assert max(len(it) for it in split(data)) <= 1_452
    assert max(len(it.fields) for it in templates.values()) <= 60
    assert not check(from_ipfix("run", data))


def test_a_counter_that_ends_and_returns_keeps_the_others_whole() -> None:
    """A template has a value for each of its fields: series of other times have another one."""
    samples = [switch(LINE_RATE, row) for row in range(12)]
    gone = "fabric_port_transmit_bytes_total", "Ethernet4"
    for row in (4, 5):
        samples[row] = [it for it in samples[row] if (it[0], it[1].get("port")) != gone]
    sent = values_of(from_ipfix("run", exported(store(*samples))), "SAI_PORT_STAT_IF_OUT_OCTETS")
    assert sent["Ethernet0"] == [row * LINE_RATE for row in range(12)]
    assert sent["Ethernet4"] == [row * LINE_RATE for row in range(12) if row not in {4, 5}]


def test_switches_are_domains() -> None:
    rows = [
        switch(LINE_RATE, row) + [it for it in switch(1_000, row, name="leaf2") if it[1]["device"] == "leaf2"]
        for row in range(3)
    ]
    data = exported(store(*rows))
    assert {one.domain for one in wire.messages(data)} == {1, 2}
    found = {(it.labels["device"], it.values[-1]) for it in from_ipfix("", data).series if "OUT_OCTETS" in it.name}
    assert found == {("leaf1", 2 * LINE_RATE), ("leaf2", 2_000)}


def test_a_stream_above_line_rate_is_flagged() -> None:
    found = check(from_ipfix("run", steady(per_step=1_300_000)), 100e9)
    assert {it.rule for it in found} == {"rate"}


@pytest.mark.parametrize(
    ("changed", "rules"),
    [(5, {"stale"}), (9 * LINE_RATE, {"stale"}), (50 * LINE_RATE, {"rate", "reset"}), (2**63, {"rate", "reset"})],
)
def test_a_changed_value_is_flagged(changed: int, rules: set[str]) -> None:
    data = bytearray(steady())
    at = data.index((10 * LINE_RATE).to_bytes(8))
    data[at : at + 8] = changed.to_bytes(8)
    found = check(from_ipfix("run", bytes(data)), 100e9)
    assert {it.rule for it in found} == rules
    assert {it.series for it in found} == {"SAI_PORT_STAT_IF_OUT_OCTETS{device=leaf1,object_name=Ethernet0}"}


def test_a_lost_message_is_flagged_once_and_another_order_too() -> None:
    parts = split(steady())
    lost = check(from_ipfix("run", b"".join(parts[:8] + parts[9:])))
    assert [(it.rule, it.series) for it in lost] == [("lost", "leaf1")]
    assert "4 records before this are missing" in lost[0].text
    turned = check(from_ipfix("run", b"".join([*parts[:8], parts[9], parts[8], *parts[10:]])))
    assert {"lost", "clock"} <= {it.rule for it in turned}


def bare(sequences: list[int], times: list[int], values: list[int]) -> bytes:
    """A stream without names, one record a message, in domain 0."""
    template = Template(300, (TIME, Field(7, 8, OUT_OCTETS), Field(7, 8, 0x7ABC0001)))
    data = wire.message(0, 0, 1_760_000_000, [wire.template_set(template)])
    for sequence, time_ns, value in zip(sequences, times, values, strict=True):
        record = time_ns.to_bytes(8) + value.to_bytes(8) + bytes(8)
        data += wire.message(0, sequence, 1_760_000_000, [wire.set_of(300, record)])
    return data


@pytest.mark.parametrize("step", [0, 1, 7])
def test_a_stream_without_names_has_those_of_the_sai(step: int) -> None:
    """Whatever its sequence numbers count."""
    times = [START_NS + row * STEP_NS for row in range(12)]
    batch = from_ipfix("x", bare([row * step for row in range(12)], times, [row * 1000 for row in range(12)]))
    assert [str(it) for it in batch.series] == [
        "SAI_PORT_STAT_IF_OUT_OCTETS{object_name=7,observation_domain=0}",
        "enterprise_0x7abc0001{object_name=7,observation_domain=0}",
    ]
    assert not check(batch, 100e9)


def test_times_since_1900_are_read_as_unix_time() -> None:
    """RFC 7011 section 6.1.9: seconds, and a fraction of 2**-32."""
    wanted = [START_NS + row * STEP_NS + 123 for row in range(12)]
    seconds = [divmod(it, 10**9) for it in wanted]
    times = [(whole + 2_208_988_800 << 32) + round(rest * 2**32 / 10**9) for whole, rest in seconds]
    assert from_ipfix("x", bare(list(range(12)), times, [0] * 12)).series[0].times_ns.tolist() == wanted


def test_short_numbers_and_withdrawn_templates() -> None:
    """RFC 7011 sections 6.2 and 8.1."""
    template = Template(300, (Field(1, 3, OUT_OCTETS), TIME, Field(82, wire.VARIABLE)))
    name = wire.variable("x" * 300)
    body = (70_000).to_bytes(3) + START_NS.to_bytes(8) + name + (70_001).to_bytes(3) + (START_NS + 5).to_bytes(8) + name
    head = [wire.template_set(template), wire.set_of(300, body)]
    again = [wire.set_of(2, struct.pack(">HH", 300, 0)), wire.set_of(300, bytes(20))]
    batch = from_ipfix("x", wire.message(5, 0, 0, head) + wire.message(5, 2, 0, again))
    assert batch.series[0].values.tolist() == [70_000, 70_001]
    assert [it.text for it in batch.breaks] == ["data sets without a template: 1; their values are not read"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\0\x0a\0\x10" + bytes(8), "less than the header"),
        (b"\0\x0a\0\x0f" + bytes(12), "a message of 15 bytes"),
        (wire.message(0, 0, 0, []) + b"\0\x09" + bytes(14), "version 9"),
        (wire.message(0, 0, 0, [b"\1\0\0\x09"]), "a set of 9 bytes in 4"),
        (wire.message(0, 0, 0, [b"\1\0\0"]), "a set of 0 bytes in 3"),
        (wire.message(0, 0, 0, [wire.set_of(2, b"\1\x2c\0\2\1\x45\0\x08")]), "a template ends within a field"),
        (wire.message(0, 0, 0, [wire.set_of(2, b"\0\x2c\0\1\1\x45\0\x08")]), "a reserved number"),
        (wire.message(0, 0, 0, [wire.set_of(2, b"\1\x2c\0\1\1\x45\0\0")]), "records of no bytes"),
        (wire.message(0, 0, 0, [wire.set_of(3, b"\1\x2c\0\1\0\2\1\x45\0\x08")]), "2 scope fields of 1"),
        (wire.message(0, 0, 0, [wire.set_of(300, bytes(16))]), "holds no record"),
    ],
)
def test_what_is_no_ipfix_is_refused(
    data: bytes, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.ipfix").write_bytes(data)
    assert main(["telemetry", "lint", str(tmp_path / "bad.ipfix")]) == 2
    shown = capsys.readouterr().err
    assert text in shown
    assert "give Prometheus text" in shown


def test_a_delta_is_refused_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """RFC 5610 section 3.6: 3 is a deltaCounter."""
    names = Template(256, (Field(346, 4), Field(303, 2), Field(344, 1), Field(341, wire.VARIABLE)), scopes=2)
    about = OUT_OCTETS.to_bytes(4) + b"\0\7\3" + wire.variable("octets")
    head = wire.message(0, 0, 0, [wire.template_set(names), wire.set_of(256, about)])
    (tmp_path / "delta.ipfix").write_bytes(head + bare([1], [START_NS], [1]))
    assert main(["telemetry", "lint", str(tmp_path / "delta.ipfix")]) == 2
    shown = capsys.readouterr().err
    assert "delta.ipfix: octets is a delta, not a cumulative counter" in shown
    assert "export it as cumulative" in shown


def test_any_cut_or_broken_byte_is_read_or_refused() -> None:
    data = steady(steps=3)
    rng = np.random.default_rng(1)
    for _ in range(300):
        broken = bytearray(data[: rng.integers(1, len(data))])
        for at in rng.integers(0, len(broken), 3):
            broken[at] = rng.integers(0, 256)
        try:
            check(from_ipfix("x", bytes(broken)))
        except (FormatError, FabricError):
            continue


def test_a_run_without_switches_is_refused() -> None:
    hosts = [it for it in switch(1, 0) if it[1]["device"] == "h0"]
    with pytest.raises(FabricError, match="no counter of a switch"):
        exported(store(hosts))


def test_priority_groups_and_pools_have_their_numbers_and_names() -> None:
    found = {
        (it.name, it.labels["object_name"]): it.values.tolist() for it in from_ipfix("run", steady(steps=3)).series
    }
    assert found["SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_CURR_OCCUPANCY_BYTES", "Ethernet4|3"] == [0, 500, 1_000]
    assert found["SAI_BUFFER_POOL_STAT_XOFF_ROOM_CURR_OCCUPANCY_BYTES", "ingress"] == [0, 2_000, 4_000]
    fields = {it.enterprise for one in wire.messages(steady()) for it in _fields(one)}
    assert {0x001A0006, 0x00180013} <= fields


def _fields(message: wire.Message) -> list[Field]:
    sets = [it for it in message.sets if it[0] == wire.TEMPLATE_SET]
    return [it for one in sets for template in wire.templates(*one) for it in template.fields]


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
def test_tshark_decodes_every_message_in_packets_and_in_the_file(tmp_path: Path) -> None:
    data = steady(steps=4, ports=20)
    (tmp_path / "run.ipfix").write_bytes(data)
    sides = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="192.0.2.1", dst="192.0.2.2")
    wrpcap(str(tmp_path / "run.pcap"), [sides / UDP(sport=40_000, dport=4739) / it for it in split(data)])
    for name in ("run.pcap", "run.ipfix"):
        fields = ["cflow.sequence", "cflow.observation_domain_name", "cflow.information_element_name", *MARKS]
        shown = [text for field in fields for text in ("-e", field)]
        asked = [str(TSHARK), "-r", str(tmp_path / name), "-T", "json", *shown]
        said = subprocess.run(asked, capture_output=True, check=True, timeout=LIMIT_S)
        packets = [it["_source"]["layers"] for it in json.loads(said.stdout)]
        assert len(packets) == len(split(data))
        assert [it for it in packets if it.keys() & set(MARKS)] == []
        assert {it for one in packets for it in one.get("cflow.observation_domain_name", [])} == {"leaf1"}
        named = {it for one in packets for it in one.get("cflow.information_element_name", [])}
        assert named == {it.name for it in from_ipfix("run", data).series}
        assert [int(it["cflow.sequence"][0]) for it in packets] == [it.sequence for it in wire.messages(data)]
