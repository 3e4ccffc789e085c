"""`fabric serve --gnmi` with pygnmi during a pause storm: counters rise, and values are those of /metrics."""

# ruff: noqa: ANN401  messages of pygnmi have no types
from __future__ import annotations

import re
import signal
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fabric.cli.main import main
from telemetry.catalogue.metrics import BY_NAME
from telemetry.gnmi import openconfig, sonic
from telemetry.gnmi.leaf import Leaf
from tests.cli.test_serve import PATIENCE_S, Served, scenario, serving
from tests.gnmi.small_switches import client, updates, values
from tests.telemetry.conftest import STORM
from tests.waiting import until

FRAMES: Final = "COUNTERS/Ethernet4/SAI_PORT_STAT_PFC_3_RX_PKTS"
"""leaf1's port to host2, whose NIC sends XOFF."""


def expected(text: str, leaf: Leaf) -> dict[tuple[str, str], int]:
    """(device, path without keys' names) -> value of a counter, from the text of /metrics."""
    found: dict[tuple[str, str], int] = defaultdict(int)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == leaf.metric and sample.labels["device"].startswith(("leaf", "spine")):
                path = "/".join(
                    name + "".join(f"[{key}={value}]" for key, value in keys) for name, keys in leaf.at(sample.labels)
                )
                found[sample.labels["device"], path] += round(sample.value * leaf.factor)
    return found


def flat(document: Any, path: str) -> dict[str, str]:
    """Path -> value of each leaf of SONiC's tables."""
    if not isinstance(document, dict):
        return {path: document}
    return {key: value for name, inner in document.items() for key, value in flat(inner, f"{path}/{name}").items()}


@pytest.mark.slow
@pytest.mark.timed
def test_a_subscriber_sees_the_storm_and_the_values_of_a_scrape(tmp_path: Path) -> None:
    storm = tmp_path / "storm.yml"
    storm.write_text(STORM, encoding="utf-8")
    options = ("--dilation", "5000", "--duration", "600s", "--gnmi", "127.0.0.1:0")
    with serving(tmp_path, *options, path=storm) as served:
        assert served.gnmi is not None
        served.client.post("pause")  # the storm waits for its subscriber
        with client(served.gnmi) as asked:
            entry = {"path": FRAMES, "mode": "sample", "sample_interval": 200_000_000}
            stream = asked.subscribe2(
                {"subscription": [entry], "mode": "stream", "encoding": "json_ietf"}, "COUNTERS_DB/leaf1"
            )
            seen = [int(updates(stream.next())[FRAMES])]
            served.client.post("resume")
            while len(set(seen)) < 4 and len(seen) < 300:
                seen.append(int(updates(stream.get_update(PATIENCE_S))[FRAMES]))
            assert seen == sorted(seen)
            assert len(set(seen)) == 4, seen
            stream.close()
            served.client.post("pause")
            _same_as_a_scrape(served, asked)
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(PATIENCE_S) == 0
    errors = (tmp_path / "err").read_text()
    assert f"gNMI at {served.gnmi}, without TLS" in errors
    assert "Traceback" not in errors
    assert "Task was destroyed" not in errors


LOST: Final = STORM.replace(
    "faults: [",
    "routing: bgp\n"
    "bgp: {update_delay: 1ms, fib_delay: 50us, carrier_delay: 50us, prune_delay: 20us, jitter: off}\n"
    "faults: [{kind: link-down, link: leaf1--spine1, at: 3ms}, ",
)
"""With sessions, one of which is lost after the watchdogs have seen the storm."""
STATUS: Final = "/interfaces/interface[name=Ethernet8]/state/oper-status"
"""leaf1's port to spine1."""


@pytest.mark.slow
@pytest.mark.timed
def test_a_lost_cable_is_reported_on_change_and_its_session_and_watchdogs_are_those_of_a_scrape(tmp_path: Path) -> None:
    lost = tmp_path / "lost.yml"
    lost.write_text(LOST, encoding="utf-8")
    options = ("--dilation", "3000", "--duration", "600s", "--gnmi", "127.0.0.1:0")
    with serving(tmp_path, *options, path=lost) as served:
        assert served.gnmi is not None
        served.client.post("pause")  # the cable waits for its subscriber
        with client(served.gnmi) as asked:
            stream = asked.subscribe2(
                {"subscription": [{"path": STATUS, "mode": "on_change"}], "mode": "stream", "encoding": "json_ietf"},
                "leaf1",
            )
            seen = [updates(stream.next())[STATUS.removeprefix("/")]]
            served.client.post("resume")
            while "DOWN" not in seen:
                found = updates(stream.get_update(PATIENCE_S))
                seen += found.values()
            assert seen == ["UP", "DOWN"]
            stream.close()
            until(lambda: sorted(_sessions(asked, "session-state")) == ["ESTABLISHED", "IDLE"], "a session is lost")
            served.client.post("pause")
            assert _sessions(asked, "established-transitions") == [1, 1]
            _same_as_a_scrape(served, asked)
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(PATIENCE_S) == 0


def _sessions(asked: Any, leaf: str) -> list[Any]:
    leaves = values(asked.get(path=["/network-instances"], target="leaf1", encoding="proto"))
    return [value for path, value in leaves.items() if path.endswith(f"state/{leaf}")]


def _same_as_a_scrape(served: Served, asked: Any) -> None:
    text = served.metrics()
    checked = 0
    for device in ("leaf1", "leaf2", "spine1"):
        leaves = values(asked.get(path=["/"], target=device, encoding="proto"))
        # The transitions of sessions are made of two metrics (test_gnmi_models.py).
        for leaf in (it for it in openconfig.LEAVES if it.text is None and "transitions" not in it.path):
            for (name, path), value in expected(text, leaf).items():
                if name == device:
                    assert leaves[path] == value, path
                    checked += 1
        tables: dict[str, str] = {}
        for path in ("COUNTERS/Ethernet*", "COUNTERS/Ethernet*/Queues", "COUNTERS/Ethernet*/Pfcwd"):
            (document,) = values(asked.get(path=[path], target=f"COUNTERS_DB/{device}")).values()
            tables |= flat(document, "")
        for leaf in (it for it in sonic.LEAVES if it.text is None):
            for (name, path), value in expected(text, leaf).items():
                if name == device:
                    assert tables[re.sub(r"^COUNTERS(/\w+/(Queues|Pfcwd))?", "", path)] == str(value), path
                    checked += 1
    assert checked > 100


def test_a_reading_does_not_take_the_watermarks_of_a_scrape() -> None:
    assert not [it for it in (*openconfig.LEAVES, *sonic.LEAVES) if "watermark" in it.metric]


@pytest.mark.parametrize("leaf", [*openconfig.LEAVES, *sonic.LEAVES], ids=lambda leaf: leaf.path)
def test_a_leaf_has_a_metric_of_the_catalogue_with_the_labels_of_its_path(leaf: Leaf) -> None:
    assert {*leaf.labels, *leaf.keys} <= {*BY_NAME[leaf.metric].labels}


def test_without_the_packages_one_error_names_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabric.extras.find_spec", lambda name: None if name == "pygnmi" else sys)
    assert main(["serve", str(scenario(tmp_path)), "--gnmi"]) == 2
    error = capsys.readouterr().err
    assert "grpcio and pygnmi are not installed" in error
    assert "[gnmi]'" in error


def test_the_address_is_not_that_of_the_http_interface(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(scenario(tmp_path)), "--gnmi", "127.0.0.1:9464"]) == 2
    assert "--gnmi" in (error := capsys.readouterr().err)
    assert "is the address of --listen" in error


def test_an_invalid_address_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(scenario(tmp_path)), "--gnmi", "9339"]) == 2
    assert "'9339' is not an address to listen on" in capsys.readouterr().err
