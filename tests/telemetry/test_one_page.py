"""A real Prometheus and a real Alertmanager against a served storm: one page, and what the offline road finds, too; and
no ticket as it begins, ends and begins again.

They are seven times faster than the committed rules expect, with rules and waiting times rendered for that dilation:
one nominal scrape of 15 s takes 2 s here. The same logic without a clock is in test_outlive.py (promtool), and in
test_alert_corpus.py and test_incidents.py (telemetry/alerting/evaluate.py over recorded runs).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import pytest

from fabric.runs.rundir import RunDir
from telemetry.alerting.alerts import ALERTS
from telemetry.alerting.evaluate import evaluate_store
from telemetry.sources.recorded import store_of
from tests.telemetry.programs import PATIENCE_S, get, query, query_range, wait_for
from tests.telemetry.watched import Inbox, Watch, watched

pytestmark = pytest.mark.timed
T = TypeVar("T")
DILATION: Final = 2000.0
EVALUATION_S: Final = DILATION / 1000
"""Wall time from one scrape and evaluation to the next: a simulated millisecond."""
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
    with watched(tmp_path / "watched", scenario, DILATION) as (inbox, url, door):
        wait_for(lambda: query(url, "up == 1"), "a scrape")
        wait_for(lambda: inbox.firing("/pager"), "the page", 4 * PATIENCE_S)
        rules = [rule for group in get(f"{url}/api/v1/rules")["data"]["groups"] for rule in group["rules"]]
        assert {it["name"]: it["lastError"] for it in rules if it.get("lastError")} == {}
        assert {alert.name for alert in ALERTS} <= {it["name"] for it in rules}
        assert "inhibit_rules" in get(f"{door}/api/v2/status")["config"]["original"]
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


def seen(folder: Path, scenario: Path, options: Sequence[str], look: Callable[[Watch], T]) -> T:
    """What `look` finds or raises; of a second try where the machine did not keep up in the first.

    Windows of rules are seconds here: where scrapes are lost, or simulated time falls behind, alerts are other ones.
    """
    for number in range(2):
        found: T | AssertionError
        with watched(folder / str(number), scenario, DILATION, *options) as watch:
            try:
                found = look(watch)
            except AssertionError as error:
                found = error
            lost, slipped = (
                sum(float(it["value"][1]) for it in query(watch.prometheus, expr))
                for expr in ("count_over_time((up == 0)[1h:])", "max_over_time(fabric_sim_slipped_seconds_total[1h])")
            )
        print(f"try {number}: {lost:g} scrapes lost, {slipped:g} s slipped")  # noqa: T201  a failure is told with it
        if not lost and slipped < EVALUATION_S:
            break
    if isinstance(found, AssertionError):
        raise found
    return found


@pytest.fixture(scope="module")
def storm_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the storm is recorded."""
    return tmp_path_factory.mktemp("storm") / "run"


@pytest.fixture(scope="module")
def storm(storm_run: Path, repo_root: Path) -> Seen:
    """scenarios/alerts/storm.yml, served, scraped and alerted on, until its page is resolved."""

    def look(watch: Watch) -> Seen:
        muted: set[str] = set()

        def page_is_over() -> bool:
            # The scenario has ended and simulated time does not advance, so no share of it is above a threshold.
            found = get(f"{watch.alertmanager}/api/v2/alerts")
            muted.update(it["labels"]["alertname"] for it in found if it["status"]["inhibitedBy"])
            return bool(watch.inbox.resolved("/pager"))

        wait_for(page_is_over, "the page to be resolved", 4 * PATIENCE_S)
        return Seen(watch.inbox, _fired(watch.prometheus), muted)

    options = ("--out", str(storm_run), "--force")
    return seen(storm_run.parent, repo_root / "scenarios/alerts/storm.yml", options, look)


class Looped(NamedTuple):
    """What a storm that begins, ends and begins again left behind."""

    inbox: Inbox
    firing: dict[str, set[int]]
    """Alert -> moments, in seconds, at which it fired somewhere."""


LOOPED: Final = (
    "--loop",
    "--set",
    "faults[0].duration=20ms",
    "--set",
    "run.duration=90ms",
    "--set",
    "workload[0].repeat=1050",
    "--set",
    "workload[1].stop=90ms",
)
"""The storm of storm.yml from 2 to 22 ms of 90: senders catch up after it for another ten or so.

The alert fires for 20 ms and is kept for 24 more, so it is silent for some 46 ms of a pass. Alertmanager looks at a
group every 20 ms and tells of an end only where it finds one: a shorter silence can lie between two looks, and the
storms are one page.
"""


@pytest.fixture(scope="module")
def looped(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Looped:
    """Two passes, until the page of the second is resolved."""

    def look(watch: Watch) -> Looped:
        began_s = time.time()
        wait_for(lambda: len(watch.inbox.resolved("/pager")) == 2, "the second page to be resolved", 3.5 * PATIENCE_S)
        firing = 'count by (alertname) (ALERTS{alertstate="firing"})'
        rows = query_range(watch.prometheus, firing, began_s, time.time(), EVALUATION_S)
        moments = {row["metric"]["alertname"]: {round(float(at)) for at, _ in row["values"]} for row in rows}
        return Looped(watch.inbox, moments)

    return seen(tmp_path_factory.mktemp("looped"), repo_root / "scenarios/alerts/storm.yml", LOOPED, look)


@pytest.mark.slow
def test_one_storm_is_one_page_that_names_its_root(storm: Seen) -> None:
    pages = storm.inbox.firing("/pager")
    assert len(pages) == 1, [it["commonLabels"] for it in pages]
    assert pages[0]["commonLabels"]["alertname"] == "FabricPfcStorm"
    assert pages[0]["commonLabels"]["root_device"] == "host1"
    assert pages[0]["commonLabels"]["fabric"] == "test"
    assert len(storm.inbox.resolved("/pager")) == 1


@pytest.mark.slow
def test_symptoms_of_the_storm_fire_and_are_muted(storm: Seen) -> None:
    fired = {name for name, _, _ in storm.alerts}
    assert {"FabricPfcPauseRatioHigh", "FabricVictimFlows"} <= fired
    assert {"FabricPfcPauseRatioHigh", "FabricVictimFlows"} <= storm.muted
    alerts_sent = {alert["labels"]["alertname"] for it in storm.inbox.firing("/tickets") for alert in it["alerts"]}
    assert not alerts_sent & {"FabricPfcPauseRatioHigh", "FabricVictimFlows"}


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
    assert sure <= storm.alerts <= found


SYMPTOMS: Final = ("FabricPfcPauseRatioHigh", "FabricVictimFlows")


@pytest.mark.slow
def test_a_storm_that_begins_ends_and_begins_again_writes_no_ticket(looped: Looped) -> None:
    assert looped.inbox.received["/tickets"] == []
    pages = looped.inbox.firing("/pager")
    assert [it["commonLabels"]["alertname"] for it in pages] == ["FabricPfcStorm"] * 2
    assert {it["commonLabels"]["root_device"] for it in pages} == {"host1"}


@pytest.mark.slow
@pytest.mark.parametrize("symptom", SYMPTOMS)
def test_the_storm_fires_before_its_symptoms_and_resolves_after_them(looped: Looped, symptom: str) -> None:
    """So this is why: the symptoms fired in both passes, and at no evaluation without the storm."""
    fired = sorted(looped.firing[symptom])
    assert max(after - before for before, after in pairwise(fired)) > 10 * EVALUATION_S, "one pass only"
    assert set(fired) <= looped.firing["FabricPfcStorm"]


@pytest.mark.slow
def test_a_broken_nic_that_storms_again_is_not_called_a_slow_receiver(looped: Looped) -> None:
    assert "FabricSlowReceiver" not in looped.firing
