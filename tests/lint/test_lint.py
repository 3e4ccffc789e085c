"""Counters that cannot be true are found, each with its reason, and true ones are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from fabric.cli.main import main
from telemetry.lint.readers import from_text
from telemetry.lint.rules import Finding, check
from telemetry.lint.series import Batch, Series, meaning

Capture = pytest.CaptureFixture[str]
START_NS: Final = 1_760_000_000 * 10**9
STEP_NS: Final = 100_000
RATE_BPS: Final = 100e9
LINE: Final = 1_250_000
"""Bytes at line rate in a step."""


def stream(steps: list[float], times_ns: list[int] | None = None, start: float = 10**6) -> Batch:
    """One counter of bytes received, every 100 us."""
    values = start + np.concatenate([[0.0], np.cumsum(steps)])
    times = START_NS + STEP_NS * np.arange(len(values)) if times_ns is None else np.array(times_ns)
    series = Series("SAI_PORT_STAT_IF_IN_OCTETS", {"port": "Ethernet0"}, "unknown", times.astype(np.int64), values)
    return Batch("stream", [series])


def found(batch: Batch, rate_bps: float | None = RATE_BPS) -> list[Finding]:
    return check(batch, rate_bps, now_ns=START_NS + 10**12)


def rules(batch: Batch, rate_bps: float | None = RATE_BPS) -> list[str]:
    return [it.rule for it in found(batch, rate_bps)]


def test_a_port_at_line_rate_is_clean() -> None:
    assert rules(stream([LINE] * 20)) == []


def test_the_limit_is_line_rate_and_one_largest_frame() -> None:
    assert rules(stream([LINE] * 5 + [LINE + 10_240 - 100] + [LINE] * 5)) == []
    assert rules(stream([LINE] * 5 + [LINE + 10_240 + 100] + [LINE] * 5)) == ["rate"]


def test_without_a_rate_no_rise_is_judged() -> None:
    assert rules(stream([LINE] * 5 + [50 * LINE] + [LINE] * 5), None) == []


def test_a_rise_that_fits_with_its_neighbours_is_said_to_be_a_wrong_time() -> None:
    (one,) = found(stream([0.1 * LINE] * 5 + [1.5 * LINE] + [0.1 * LINE] * 5))
    assert one.rule == "rate"
    assert "one of the times" in one.text
    (other,) = found(stream([LINE] * 5 + [4 * LINE] + [LINE] * 5))
    assert "one of the times" not in other.text


def test_a_value_that_stands_still_and_catches_up_is_stale() -> None:
    (one,) = found(stream([LINE] * 3 + [0, 0, 3 * LINE] + [LINE] * 3))
    assert one.rule == "stale"
    assert "2 samples repeat" in one.text
    assert rules(stream([0.5 * LINE] * 3 + [0, 0, LINE] + [0.5 * LINE] * 3)) == []  # may be a pause


def test_an_older_value_is_stale_and_not_a_reset() -> None:
    assert rules(stream([LINE, LINE, -LINE, 2 * LINE, LINE])) == ["stale"]


def test_a_counter_that_begins_again_is_a_reset() -> None:
    assert rules(stream([LINE, LINE, -2 * LINE - 900_000, LINE, LINE])) == ["reset"]


def test_a_counter_of_32_bits_wraps() -> None:
    near = 2.0**32 - LINE
    values = [near, near + LINE / 2, LINE / 4, LINE / 2]
    assert rules(stream(list(np.diff(values)), start=near)) == ["wrap"]


@pytest.mark.parametrize(
    ("times_ns", "expected"),
    [
        ([0, 1, 2, 2, 3, 4], ["repeated"]),
        ([0, 1, 3, 2, 4, 5], ["clock"]),
        ([0, 1, 2, 3, 4, 5, 6, 20], ["gap"]),
        ([0, 1, 2, 3, 4, 5, 6, 8], []),
    ],
)
def test_times_are_judged(times_ns: list[int], expected: list[str]) -> None:
    steps = [0.1] * (len(times_ns) - 1) if expected == ["gap"] or not expected else [0.0] * (len(times_ns) - 1)
    assert rules(stream(steps, [START_NS + STEP_NS * it for it in times_ns])) == expected


def test_an_info_metric_that_ends_and_holds_again_has_no_gap() -> None:
    times = np.array([START_NS + STEP_NS * it for it in (0, 1, 2, 3, 4, 5, 6, 20)])
    for name, expected in (("fabric_pfc_pause_cause_info", []), ("fabric_pfc_pause_cause", ["gap"])):
        batch = Batch("stream", [Series(name, {"device": "leaf1"}, "gauge", times, np.ones(len(times)))])
        assert rules(batch) == expected


def test_times_in_another_unit_and_in_the_future_are_flagged() -> None:
    assert rules(stream([1.0] * 6, [START_NS // 1000 + it for it in range(7)])) == ["clock"]
    assert rules(stream([1.0] * 6, [START_NS + 10**17 + it for it in range(7)])) == ["clock"]


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_counter_below_0_or_without_a_number_is_flagged(value: float) -> None:
    batch = stream([1.0] * 4)
    batch.series[0].values[2] = value
    assert "value" in rules(batch)


def test_packets_that_stand_still_while_bytes_pass_are_stale() -> None:
    times = (START_NS + STEP_NS * np.arange(6)).astype(np.int64)
    labels = {"device": "leaf1", "port": "Ethernet0"}
    n_bytes = Series("fabric_port_receive_bytes_total", labels, "counter", times, np.arange(6.0) * 100_000)
    lazy = Series(
        "fabric_port_receive_packets_total", labels, "counter", times, np.array([0, 100, 200, 200, 300, 400.0])
    )
    (one,) = check(Batch("x", [n_bytes, lazy]), now_ns=START_NS + 10**12)
    assert (one.rule, one.series) == ("stale", str(lazy))


def test_a_counter_that_ends_early_is_stale() -> None:
    batch = stream([1.0] * 20)
    whole = batch.series[0]
    early = Series(whole.name, {"port": "Ethernet4"}, whole.kind, whole.times_ns[:8], whole.values[:8])
    batch.series.append(early)
    assert [(it.rule, it.series) for it in found(batch)] == [("stale", str(early))]


def test_names_of_exporters_are_understood() -> None:
    assert meaning("rdma_port_rcv_data_total", "counter").unit == pytest.approx(4)
    assert meaning("rdma_roce_pfc_pause_duration_total", "counter").unit == pytest.approx(1e-6)
    assert meaning("amd_nic_port_stats_octets_rx_all", "gauge").quantity == "bytes"
    assert not meaning("sonic_queue_watermark_bytes_total", "counter").counter
    assert meaning("ifHCInOctets", "unknown").quantity == "bytes"
    assert meaning("fabric_queue_dropped_bytes_total", "unknown").quantity == ""
    assert not meaning("node_memory_MemFree_bytes", "gauge").counter


def issue_29615(path: Path, ports: int = 8) -> None:
    """The published interval: 102.050 us in which 458.441 Gb/s came and 500.799 Gb/s left, on ports of 100 Gb/s."""
    times = START_NS + np.array([0, 100_000, 200_000, 302_050, 402_050, 502_050, 602_050])
    lines = ["timestamp_ns,port,SAI_PORT_STAT_IF_IN_OCTETS,SAI_PORT_STAT_IF_OUT_OCTETS"]
    for port in range(ports):
        into = np.cumsum([10**12, 9e5, 9e5, 458.441e9 * 102.050e-6 / 8, 9e5, 9e5, 9e5])
        out = np.cumsum([10**12, 9e5, 9e5, 500.799e9 * 102.050e-6 / 8, 9e5, 9e5, 9e5])
        lines += [f"{t},PORT-{port},{a:.0f},{b:.0f}" for t, a, b in zip(times, into, out, strict=True)]
    path.write_text("\n".join(lines) + "\n")


def test_the_numbers_of_buildimage_29615_are_flagged(tmp_path: Path, capsys: Capture) -> None:
    issue_29615(tmp_path / "hft.csv")
    assert main(["telemetry", "lint", str(tmp_path / "hft.csv"), "--rate", "100G"]) == 1
    out = capsys.readouterr().out
    assert "16 series together" in out
    assert "458.441 Gb/s; the port has 100.000 Gb/s" in out
    assert main(["telemetry", "lint", str(tmp_path / "hft.csv"), "--rate", "100G", "--json"]) == 1
    (answer,) = json.loads(capsys.readouterr().out)
    assert len(answer["findings"]) == 16
    assert {it["rule"] for it in answer["findings"]} == {"rate"}
    assert main(["telemetry", "lint", str(tmp_path / "hft.csv"), "--rate", "800G"]) == 0


def test_tables_in_parquet_and_arrow_are_read_as_csv_is(tmp_path: Path, capsys: Capture) -> None:
    issue_29615(tmp_path / "hft.csv", 2)
    table = pyarrow.csv.read_csv(tmp_path / "hft.csv")
    pq.write_table(table, tmp_path / "hft.parquet")
    with pa.OSFile(str(tmp_path / "hft.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    answers = []
    for name in ("hft.csv", "hft.parquet", "hft.arrow"):
        assert main(["telemetry", "lint", str(tmp_path / name), "--rate", "100G", "--json"]) == 1
        answers.append(json.loads(capsys.readouterr().out)[0]["findings"])
    assert answers[0] == answers[1] == answers[2] != []


def test_the_rate_of_a_port_is_read_from_the_file() -> None:
    text = (
        "# TYPE node_network_speed_bytes gauge\n"
        'node_network_speed_bytes{device="eth0"} 1.25e10 1760000000000\n'
        "# TYPE node_network_receive_bytes_total counter\n"
        'node_network_receive_bytes_total{device="eth0"} 0 1760000000000\n'
        'node_network_receive_bytes_total{device="eth0"} 1.2e11 1760000010000\n'
        'node_network_receive_bytes_total{device="eth0"} 2.6e11 1760000020000\n'
    )
    (one,) = check(from_text("x", text))
    assert (one.rule, one.time_ns) == ("rate", 1_760_000_020 * 10**9)


def test_a_file_that_is_no_telemetry_is_refused(tmp_path: Path, capsys: Capture) -> None:
    for name, text in {
        "a.txt": "hello world, this is no metric\n",
        "b.csv": "a,b\n1,2\n",
        "c.json": '{"a": 1}',
    }.items():
        (tmp_path / name).write_text(text)
        assert main(["telemetry", "lint", str(tmp_path / name)]) == 2, name
        assert name in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["pause-storm", "incast", "link-failure", "slow-receiver", "degraded-link", "pfc-off", "tcp-beside-rdma"]
)
def test_no_run_of_a_shipped_scenario_is_flagged(name: str, repo_root: Path, tmp_path: Path, capsys: Capture) -> None:
    run = tmp_path / name
    main(["run", str(repo_root / f"scenarios/{name}.yml"), "--out", str(run), "--quiet", "--until", "2ms"])
    main(["export", "openmetrics", str(run), "--out", str(tmp_path / "run.om")])
    main(["export", "ipfix", str(run), "--out", str(tmp_path / "run.ipfix")])
    capsys.readouterr()
    for source in (run, tmp_path / "run.om", tmp_path / "run.ipfix"):
        assert main(["telemetry", "lint", str(source)]) == 0, capsys.readouterr().out
