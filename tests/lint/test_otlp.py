"""OTLP in JSON: what a run counted, at the times at which it counted, and read back without a finding."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from fabric.cli.main import main
from telemetry.export.grid import sampled
from telemetry.export.otlp import Requests, write_otlp
from telemetry.lint.readers import from_otlp
from telemetry.lint.rules import check
from telemetry.record.store import Store

START_NS = 1_760_000_000 * 10**9
SENT = "fabric_port_transmit_bytes_total"
SPEED = "fabric_port_speed_bytes_per_second"
LABELS = (("device", "leaf1"), ("port", "Ethernet0"))


def store(per_step: int = 1_250_000, steps: int = 20) -> Store:
    """A port of 100G, every 100 us."""
    found = Store()
    for name in (SENT, SPEED):
        found.track(name).labels.append(LABELS)
    for row in range(steps):
        sample = found.begin(row * 100_000)
        found.track(SENT).append(sample, np.array([0], np.int32), np.array([float(row * per_step)]))
        if row == 0:
            found.track(SPEED).append(sample, np.array([0], np.int32), np.array([1.25e10]))
    return found


def exported(of: Store, interval_ns: int | None = None) -> str:
    out = io.StringIO()
    write_otlp(Requests(of, START_NS, {"service.name": "fabric"}, interval_ns), out)
    return out.getvalue()


def test_a_request_has_the_names_and_forms_of_the_specification() -> None:
    first = json.loads(exported(store()).splitlines()[3])
    (resource,) = first["resourceMetrics"]
    assert resource["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "fabric"}}]
    by_name = {it["name"]: it for it in resource["scopeMetrics"][0]["metrics"]}
    sent = by_name[SENT]
    assert sent["unit"] == "By"
    assert (sent["sum"]["aggregationTemporality"], sent["sum"]["isMonotonic"]) == (2, True)
    (point,) = sent["sum"]["dataPoints"]
    assert point["asInt"] == "3750000"
    assert point["timeUnixNano"] == str(START_NS + 300_000)
    assert point["startTimeUnixNano"] == str(START_NS)
    assert by_name[SPEED]["gauge"]["dataPoints"][0]["asDouble"] == 1.25e10


def test_what_was_written_is_read_back_and_is_clean() -> None:
    batch = from_otlp("run", exported(store()))
    (sent,) = (it for it in batch.series if it.name == SENT)
    assert sent.labels == {"device": "leaf1", "port": "Ethernet0", "service.name": "fabric"}
    assert (np.diff(sent.times_ns) == 100_000).all()
    assert sent.values[-1] == 19 * 1_250_000
    assert not check(batch)


def test_a_stream_above_line_rate_is_flagged_by_the_speed_in_it() -> None:
    found = check(from_otlp("run", exported(store(per_step=1_300_000))))
    assert {it.rule for it in found} == {"rate"}


def test_an_interval_keeps_the_samples_at_its_multiples() -> None:
    assert sampled(np.arange(0, 1_000_001, 100_000), 250_000).tolist() == [0, 3, 5, 8, 10]
    assert len(exported(store(), 500_000).splitlines()) == 4
    assert sampled(np.array([0, 5, 9]), None).tolist() == [0, 1, 2]


def test_a_delta_is_refused_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = exported(store()).replace('"aggregationTemporality":2', '"aggregationTemporality":1')
    (tmp_path / "delta.json").write_text(text)
    assert main(["telemetry", "lint", str(tmp_path / "delta.json")]) == 2
    shown = capsys.readouterr().err
    assert "delta.json: " in shown
    assert "is a delta, not a cumulative counter" in shown
    assert "export it as cumulative" in shown
