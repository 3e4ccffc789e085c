"""Rules that a campaign mended, and diagnosis with the counters that a switch polls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from fabric.cli.main import main
from tests.diagnosis.conftest import LEAF_SPINE, Diagnose, scenario

_INCAST = {"kind": "incast", "receiver": "host1", "senders": ["host[5-9]", "host1[0-2]"], "size": "20MB"}


def test_a_silent_cable_is_not_dated_before_the_fault(diagnosed: Diagnose) -> None:
    """Frames in flight on a long cable that is full at every sample are no loss."""
    data = scenario(
        {"kind": "link-silent", "link": "leaf2--spine1", "at": "4ms"},
        topology=LEAF_SPINE | {"fabric_cable": "300m"},
        workload=[{"name": "all", "kind": "permutation", "shift": 5, "size": "40MB"}],
    )
    [root] = [it for it in diagnosed(data) if it.kind == "silent-loss"]
    assert root.devices == {"leaf2", "spine1"}
    assert root.began_ns == 4_000_000


def test_a_few_lost_frames_are_told_where_the_cable_is_idle_at_times(diagnosed: Diagnose) -> None:
    fault = {"kind": "drop-every", "port": "host3:eth0", "every": 200, "at": "0s"}
    once = [{"name": "all", "kind": "permutation", "shift": 5, "size": "4MB", "repeat": 2, "interval": "5ms"}]
    [root] = [it for it in diagnosed(scenario(fault, workload=once)) if it.rank < 2]
    assert (root.kind, root.device) == ("silent-loss", "host3")


def test_marking_that_is_turned_off_is_dated_from_then(diagnosed: Diagnose) -> None:
    drift = {"kind": "config-drift", "ports": "leaf1:*", "ecn": "off", "at": "3ms"}
    data = scenario(
        drift,
        topology=LEAF_SPINE | {"fabric_rate": "400G"},
        switches={"asic": "trident3", "ecn": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}},
        transport={"dcqcn": "hpcc-dcqcn"},
        workload=[_INCAST],
    )
    [root] = [it for it in diagnosed(data) if it.kind == "ecn-wrong"]
    assert root.began_ns >= 3_000_000


@pytest.mark.parametrize(("view", "counter"), [("ideal", ""), ("sonic", "not known")])
def test_roots_as_a_switch_sees_them(
    view: str, counter: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = {"name": "storage", "kind": "incast", "receiver": "host1", "senders": ["*"], "size": "32KB",
               "repeat": 40, "interval": "120us", "jitter": "80us"}  # fmt: skip
    data = scenario({"kind": "pause-storm", "hosts": ["host1"], "at": "2ms", "duration": "20ms"}, workload=[storage])
    (tmp_path / "scenario.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    assert main(["run", str(tmp_path / "scenario.yml"), "--out", str(tmp_path / "run"), "--quiet"]) in (0, 1)
    capsys.readouterr()
    assert main(["explain", "roots", str(tmp_path / "run"), "--as-seen-by", view, "--json"]) == 0
    root = json.loads(capsys.readouterr().out)["roots"]["roots"][0]
    assert (root["kind"], root["place"]) == ("broken-nic", "host1:eth0 (class 3)")
    assert 0 <= root["confidence"] <= 1
    assert main(["explain", "roots", str(tmp_path / "run"), "--as-seen-by", view]) == 0
    assert counter in " ".join(capsys.readouterr().out.split())


def test_a_watchdog_that_ignores_pauses_is_no_missing_pfc(diagnosed: Diagnose) -> None:
    """Its queue sends although it is asked for silence: the losses beyond it are its, and not those of PFC."""
    watchdog = {"poll": "200us", "detection": "200us", "restoration": "400us", "action": "forward"}
    data = scenario(
        topology=LEAF_SPINE | {"fabric_rate": "400G"},
        transport={"cc": "none", "retransmit_timeout": "1ms"},
        switches={"asic": "trident3", "ecn": "off", "watchdog": watchdog},
        workload=[_INCAST],
    )
    assert {it.kind.value for it in diagnosed(data)} == {"incast"}


def test_a_storm_hides_no_losses_before_it(diagnosed: Diagnose) -> None:
    """A watchdog explains what is lost from detection to restoration, and not what headroom lacked before."""
    watchdog = {"poll": "200us", "detection": "200us", "restoration": "400us", "action": "drop"}
    drift = {"kind": "config-drift", "ports": "leaf1:*", "headroom": "20KB", "at": "0s"}
    data = scenario(
        drift,
        {"kind": "pause-storm", "hosts": ["host1"], "at": "3ms", "duration": "2ms"},
        topology=LEAF_SPINE | {"fabric_rate": "400G"},
        transport={"cc": "none", "retransmit_timeout": "1ms"},
        switches={"asic": "trident3", "ecn": "off", "watchdog": watchdog},
        workload=[_INCAST],
    )
    found = diagnosed(data)
    [short] = [it for it in found if it.kind == "headroom-short"]
    assert (short.device, short.began_ns) == ("leaf1", 0)
