"""A real Prometheus and a real Alertmanager against a served storm: one page, and what the offline road finds, too.

They are seven times faster than the committed rules expect, with rules and waiting times rendered for that dilation:
one nominal scrape of 15 s takes 2 s here. The same logic without a clock is in test_outlive.py (promtool), and in
test_alert_corpus.py and test_incidents.py (telemetry/alerting/evaluate.py over recorded runs).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import pytest

from fabric.runs.rundir import RunDir
from telemetry.alerting.alerts import ALERTS
from telemetry.alerting.evaluate import evaluate_store
from telemetry.alerting.fit import RUN_STOPPED
from telemetry.sources.recorded import store_of
from tests.telemetry.programs import PATIENCE_S, get, query, wait_for
from tests.telemetry.watched import DILATION, Inbox, Watch, seen, watched

pytestmark = pytest.mark.timed
LASTING: Final = """\
name: lasting-storm
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3}
transport: {retransmit_timeout: "off"}
workload: [{kind: incast, receiver: host1, senders: [host2, host3], size: 4MB}]
faults: [{kind: pause-storm, hosts: [host1], at: 100us, duration: 10s}]
telemetry: {interval: 10ms, events: []}
run: {duration: 10s, stop: duration}
"""
"""A storm that no test outlasts, so that the alert fires however late its scrapes come."""


def test_a_storm_that_is_scraped_live_reaches_the_receiver_as_one_page(tmp_path: Path) -> None:
    """Both programs start with what is rendered for them, a scrape arrives, and so does a notification."""
    scenario = tmp_path / "lasting-storm.yml"
    scenario.write_text(LASTING, encoding="utf-8")
    with watched(tmp_path / "watched", scenario, DILATION) as (inbox, url, manager):
        wait_for(lambda: query(url, "up == 1"), "a scrape")
        wait_for(lambda: inbox.firing("/pager"), "the page", 4 * PATIENCE_S)
        rules = [rule for group in get(f"{url}/api/v1/rules")["data"]["groups"] for rule in group["rules"]]
        assert {it["name"]: it["lastError"] for it in rules if it.get("lastError")} == {}
        assert {alert.name for alert in ALERTS} <= {it["name"] for it in rules}
        assert "inhibit_rules" in get(f"{manager}/api/v2/status")["config"]["original"]
    (page,) = inbox.firing("/pager")
    assert page["commonLabels"]["alertname"] == "FabricPfcStorm"
    assert page["commonLabels"]["root_device"] == "host1"
    assert page["commonLabels"]["fabric"] == "test"


class Seen(NamedTuple):
    """What a storm left behind."""

    inbox: Inbox
    alerts: set[tuple[str, str, str]]
    """(alert, device, port) that fired in Prometheus."""
    muted: set[str]
    """Names of alerts that Alertmanager muted."""


def _fired(url: str) -> set[tuple[str, str, str]]:
    found = get(f"{url}/api/v1/series?match[]=ALERTS{{alertstate=%22firing%22}}")["data"]
    return {(it["alertname"], it.get("device", ""), it.get("port", "")) for it in found}


@pytest.fixture(scope="module")
def storm_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the storm is recorded."""
    return tmp_path_factory.mktemp("storm") / "run"


@pytest.fixture(scope="module")
def storm(storm_run: Path, repo_root: Path) -> Seen:
    """scenarios/alerts/storm.yml, served, scraped and alerted on, until there is a ticket that its run has ended: three
    minutes after the last moment at which an alert could have ended that looks at a minute.
    """

    def look(watch: Watch) -> Seen:
        muted: set[str] = set()

        def run_is_over() -> bool:
            found = get(f"{watch.alertmanager}/api/v2/alerts")
            muted.update(it["labels"]["alertname"] for it in found if it["status"]["inhibitedBy"])
            ended = query(watch.prometheus, "min_over_time(fabric_sim_ended[24s]) == 1")
            return bool(ended) and any(RUN_STOPPED in str(it) for it in watch.inbox.firing("/tickets"))

        wait_for(run_is_over, "the end of the run to be told", 4 * PATIENCE_S)
        return Seen(watch.inbox, _fired(watch.prometheus), muted)

    options = ("--out", str(storm_run), "--force")
    return seen(storm_run.parent, repo_root / "scenarios/alerts/storm.yml", options, look)


@pytest.mark.slow
def test_one_storm_is_one_page_that_names_its_root(storm: Seen) -> None:
    pages = storm.inbox.firing("/pager")
    assert len(pages) == 1, [it["commonLabels"] for it in pages]
    assert pages[0]["commonLabels"]["alertname"] == "FabricPfcStorm"
    assert pages[0]["commonLabels"]["root_device"] == "host1"
    assert pages[0]["commonLabels"]["fabric"] == "test"
    assert storm.inbox.resolved("/pager") == [], "the run ended during the storm: that is no recovery"


@pytest.mark.slow
def test_symptoms_of_the_storm_fire_and_are_muted(storm: Seen) -> None:
    fired = {name for name, _, _ in storm.alerts}
    assert {"FabricPfcPauseRatioHigh", "FabricVictimFlows"} <= fired
    assert {"FabricPfcPauseRatioHigh", "FabricVictimFlows"} <= storm.muted
    alerts_sent = {alert["labels"]["alertname"] for it in storm.inbox.firing("/tickets") for alert in it["alerts"]}
    assert alerts_sent == {RUN_STOPPED}, "one storm is one page, and no ticket but that of the end of the run"


@pytest.mark.slow
def test_both_roads_find_the_same_alerts(storm: Seen, storm_run: Path) -> None:
    run = RunDir.open(storm_run)
    offline = evaluate_store(store_of(run), dilation=DILATION).firings
    found = {(it.alert.name, it.labels.get("device", ""), it.labels.get("port", "")) for it in offline}
    # The live road looks at other instants of the same counters: within two evaluations of the end it may miss one.
    end_ns = max(it.firing_ns for it in offline) - 2 * 10**6
    sure = {
        (it.alert.name, it.labels.get("device", ""), it.labels.get("port", ""))
        for it in offline
        if it.firing_ns <= end_ns
    }
    assert sure <= storm.alerts - {(RUN_STOPPED, "", "")} <= found
