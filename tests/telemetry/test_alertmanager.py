"""Alertmanager's configuration: rendered as committed, accepted by amtool, and routing every alert where it belongs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from telemetry.alerting.alert import Severity, cable, fields
from telemetry.alerting.alertmanager import alertmanager_yaml, receiver_of
from telemetry.alerting.alerts import ALERTS, BY_NAME
from telemetry.alerting.inhibitions import INHIBITIONS
from telemetry.alerting.runbook_pages import query
from tests.telemetry.programs import program, run_tool


@pytest.mark.parametrize("dilation", [1000, 15_000])
def test_amtool_accepts_the_configuration(dilation: float, tmp_path: Path) -> None:
    (tmp_path / "am.yml").write_text(alertmanager_yaml(dilation, "http://127.0.0.1:1/p", "http://127.0.0.1:1/t"))
    assert f"{len(INHIBITIONS)} inhibit rules" in run_tool(program("amtool"), "check-config", str(tmp_path / "am.yml"))


@pytest.mark.parametrize("name", [alert.name for alert in ALERTS])
def test_amtool_routes_an_alert_to_whom_it_belongs(name: str, repo_root: Path) -> None:
    alert = next(it for it in ALERTS if it.name == name)
    output = run_tool(
        program("amtool"),
        "config",
        "routes",
        "test",
        f"--config.file={repo_root / 'telemetry/alertmanager/alertmanager.yml'}",
        f"--verify.receivers={'pager' if alert.severity is Severity.CRITICAL else 'tickets'}",
        f"alertname={name}",
        f"severity={alert.severity.value}",
        "fabric=f",
    )
    assert receiver_of(name) in output


def test_ports_that_one_root_stops_are_one_page() -> None:
    route = yaml.safe_load(alertmanager_yaml())["route"]["routes"][0]
    assert route["receiver"] == "pager"
    assert route["group_by"] == ["fabric", "root_device"]


def test_waiting_times_scale_with_the_dilation() -> None:
    nominal, fast = (yaml.safe_load(alertmanager_yaml(dilation))["route"] for dilation in (15_000, 1000))
    assert [nominal[key] for key in ("group_wait", "group_interval", "repeat_interval")] == ["30s", "5m", "4h"]
    assert [fast[key] for key in ("group_wait", "group_interval", "repeat_interval")] == ["2s", "20s", "16m"]


def test_a_cable_that_damages_or_loses_frames_is_one_ticket_whichever_end_fires() -> None:
    routes = yaml.safe_load(alertmanager_yaml())["route"]["routes"]
    [ticket] = [it for it in routes if "FabricFcsErrors" in it["matchers"][0]]
    assert (ticket["receiver"], ticket["group_by"]) == ("tickets", ["fabric", "alertname", "cable"])
    here = {"device": "spine1", "port": "e1", "peer_device": "leaf1", "peer_port": "e9"}
    there = {"device": "leaf1", "port": "e9", "peer_device": "spine1", "peer_port": "e1"}
    assert cable(here) == cable(there) == "leaf1:e9 spine1:e1"


def test_both_ends_of_a_cable_are_one_ticket_that_names_them() -> None:
    routes = yaml.safe_load(alertmanager_yaml())["route"]["routes"]
    [ticket] = [it for it in routes if "FabricLinkDown" in it["matchers"][0]]
    assert (ticket["receiver"], ticket["group_by"]) == ("tickets", ["fabric", "alertname"])
    alert = BY_NAME["FabricLinkDown"]
    assert {"device", "port", "peer_device", "peer_port"} <= set(fields(alert.description))
    assert query(alert.name).count("urlquery") == 4
