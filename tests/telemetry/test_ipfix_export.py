"""``fabric export ipfix``: the values of a run's switches, and its options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.runs.rundir import RunDir
from telemetry.ipfix.buffers import BUFFERS
from telemetry.lint.readers import read
from telemetry.sources.recorded import store_of

OBJECT = ("port", "priority", "pool")
Capture = pytest.CaptureFixture[str]


def test_it_has_what_the_run_recorded_and_is_clean(stormy_run: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "storm.ipfix"
    start = ["--start", "2026-01-31T12:00:00Z"]
    assert main(["export", "ipfix", str(stormy_run), "--out", str(out), "--json", *start]) == 0
    said = json.loads(capsys.readouterr().out)
    found = read(out)
    assert said["series"] == len(found.series)
    assert said["points"] == sum(len(it.values) for it in found.series)
    store = store_of(RunDir.open(stormy_run))
    names = [
        ("fabric_port_transmit_bytes_total", "SAI_PORT_STAT_IF_OUT_OCTETS"),
        ("fabric_port_receive_packets_total", "SAI_PORT_STAT_IF_IN_UCAST_PKTS"),
        *((it.metric, it.elements[-1][0]) for it in BUFFERS),
    ]
    seen = set()
    for metric, name in names:
        recorded = {
            (about["device"], "|".join(about[it] for it in OBJECT if it in about)): values.tolist()
            for labels, (_, values) in store.iter_series(metric)
            if not (about := dict(labels))["device"].startswith("host")
        }
        read_back = {
            (it.labels["device"], it.labels["object_name"]): it.values.tolist()
            for it in found.series
            if it.name == name
        }
        assert read_back == recorded
        seen |= {metric} if any(map(any, recorded.values())) else set()
    assert {"fabric_pg_bytes", "fabric_pg_admitted_packets_total", "fabric_buffer_pool_used_bytes"} <= seen
    first_ns = min(int(it.times_ns[0]) for it in found.series)
    assert first_ns == 1_769_860_800 * 10**9 + int(store.times_ns[0])
    assert main(["telemetry", "lint", str(out), "--rate", "100G"]) == 0


def test_standard_output_has_the_bytes_and_nothing_else(
    stormy_run: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    asked = ["export", "ipfix", str(stormy_run), "--start", "2026-01-31T12:00:00Z", "--interval", "1ms", "--out"]
    assert main([*asked, str(tmp_path / "run.ipfix")]) == 0
    capfdbinary.readouterr()
    assert main([*asked, "-"]) == 0
    assert capfdbinary.readouterr().out == (tmp_path / "run.ipfix").read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--interval", "1ns"], "the run has samples every"),
        (["--interval", "0us"], "--interval: 0us is no interval"),
        (["--interval", "10"], "has no unit"),
        (["--start", "now"], "is not a date and time"),
        (["--out", "-", "--json"], "standard output is the export itself"),
    ],
)
def test_bad_options_are_refused(
    options: list[str], said: str, stormy_run: Path, tmp_path: Path, capsys: Capture
) -> None:
    assert main(["export", "ipfix", str(stormy_run), "--out", str(tmp_path / "x"), *options]) == 2
    shown = capsys.readouterr()
    assert said in shown.err + shown.out
    assert not (tmp_path / "x").exists()
