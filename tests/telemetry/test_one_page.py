"""A real Prometheus and a real Alertmanager against a served storm: one page, and what the offline road finds, too; and
no ticket as it begins, ends and begins again.

The run is fifteen times faster than the committed rules expect, with rules and waiting times rendered for that
dilation: one nominal scrape of 15 s takes 1 s here.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from fabric.runs.rundir import RunDir
from telemetry.alerting.alertmanager import alertmanager_yaml
from telemetry.alerting.evaluate import evaluate_store
from telemetry.alerting.render import rules_yaml
from telemetry.sources.recorded import store_of
from tests.forked import fabric
from tests.telemetry.programs import PATIENCE_S, free_port, get, program, prometheus, query_range, running, wait_for

DILATION: Final = 1000.0
COMPILING_S: Final = 600.0
SIMULATED_S: Final = 30.0
"""Wall time of scenarios/alerts/storm.yml, 30 ms."""

CONFIG: Final = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s, external_labels: {{fabric: test}}}}
rule_files: [rules.yml]
alerting: {{alertmanagers: [{{static_configs: [{{targets: ['{alertmanager}']}}]}}]}}
scrape_configs: [{{job_name: fabric, static_configs: [{{targets: ['{emulator}']}}]}}]
"""


class Inbox:
    """A webhook receiver: notifications by receiver's path."""

    def __init__(self) -> None:
        self.received: dict[str, list[dict[str, Any]]] = {"/pager": [], "/tickets": []}
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                inbox.received[self.path].append(json.loads(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def firing(self, path: str) -> list[dict[str, Any]]:
        return [it for it in self.received[path] if it["status"] == "firing"]

    def resolved(self, path: str) -> list[dict[str, Any]]:
        return [it for it in self.received[path] if it["status"] == "resolved"]


@contextmanager
def served(scenario: Path, *options: str) -> Iterator[str]:
    """host:port of `fabric serve`, once it answers."""
    words = ("serve", scenario, "--listen", "127.0.0.1:0", "--json", "--quiet", "--dilation", str(DILATION))
    process = fabric(*words, *options, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        wait_for(lambda: get(url.replace("/metrics", "/-/ready")), "the emulator to play", COMPILING_S)
        yield url.removeprefix("http://").removesuffix("/metrics")
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)


class Seen(NamedTuple):
    """What a storm left behind."""

    inbox: Inbox
    alerts: set[tuple[str, str, str]]
    """(alert, device, port) that fired in Prometheus."""
    muted: set[str]
    """Names of alerts that Alertmanager muted."""
    run: Path


def _fired(url: str) -> set[tuple[str, str, str]]:
    found = get(f"{url}/api/v1/series?match[]=ALERTS{{alertstate=%22firing%22}}")["data"]
    return {(it["alertname"], it.get("device", ""), it.get("port", "")) for it in found}


class Watch(NamedTuple):
    """A storm that is being watched."""

    inbox: Inbox
    prometheus: str
    alertmanager: str


@contextmanager
def watched(folder: Path, scenario: Path, *options: str) -> Iterator[Watch]:
    """`fabric serve`, scraped and alerted on."""
    alertmanager = program("prometheus-alertmanager", "alertmanager")
    program("prometheus")
    (folder / "prom").mkdir()
    (folder / "prom" / "rules.yml").write_text(rules_yaml(DILATION))
    inbox = Inbox()
    (folder / "am.yml").write_text(alertmanager_yaml(DILATION, f"{inbox.url}/pager", f"{inbox.url}/tickets"))
    door = f"127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        stack.callback(inbox.close)
        stack.enter_context(
            running(
                [
                    alertmanager,
                    f"--config.file={folder / 'am.yml'}",
                    "--cluster.listen-address=",
                    f"--storage.path={folder / 'am'}",
                    f"--web.listen-address={door}",
                    "--log.level=warn",
                ],
                f"http://{door}/-/ready",
                folder / "am.log",
            )
        )
        target = stack.enter_context(served(scenario, *options))
        url = stack.enter_context(
            prometheus(
                folder / "prom", CONFIG.format(alertmanager=door, emulator=target), "--rules.alert.resend-delay=2s"
            )
        )
        yield Watch(inbox, url, f"http://{door}")


@pytest.fixture(scope="module")
def storm(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Iterator[Seen]:
    """scenarios/alerts/storm.yml, served, scraped and alerted on, until its page is resolved."""
    folder = tmp_path_factory.mktemp("storm")
    scenario = repo_root / "scenarios/alerts/storm.yml"
    with watched(folder, scenario, "--out", str(folder / "run")) as (inbox, url, door):
        muted: set[str] = set()

        def page_is_over() -> bool:
            # The scenario has ended and simulated time does not advance, so no share of it is above a threshold.
            muted.update(
                it["labels"]["alertname"] for it in get(f"{door}/api/v2/alerts") if it["status"]["inhibitedBy"]
            )
            return bool(inbox.resolved("/pager"))

        wait_for(page_is_over, "the page to be resolved", SIMULATED_S + 2 * PATIENCE_S)
        yield Seen(inbox, _fired(url), muted, folder / "run")


class Looped(NamedTuple):
    """What a storm that begins, ends and begins again left behind."""

    inbox: Inbox
    firing: dict[str, set[int]]
    """Alert -> evaluations, in seconds, at which it fired somewhere."""


LOOPED: Final = (
    "--loop",
    "--set",
    "faults[0].duration=20ms",
    "--set",
    "run.duration=60ms",
    "--set",
    "workload[0].repeat=700",
    "--set",
    "workload[1].stop=60ms",
)
"""The storm of storm.yml from 2 to 22 ms of 60: senders catch up after it for another ten or so."""


@pytest.fixture(scope="module")
def looped(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Iterator[Looped]:
    """Two passes, until the page of the second is resolved."""
    folder = tmp_path_factory.mktemp("looped")
    with watched(folder, repo_root / "scenarios/alerts/storm.yml", *LOOPED) as (inbox, url, _):
        began_s = time.time()
        wait_for(lambda: len(inbox.resolved("/pager")) == 2, "the second page to be resolved", 8 * PATIENCE_S)
        rows = query_range(url, 'count by (alertname) (ALERTS{alertstate="firing"})', began_s, time.time(), 1)
        yield Looped(inbox, {row["metric"]["alertname"]: {round(float(at)) for at, _ in row["values"]} for row in rows})


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
def test_both_roads_find_the_same_alerts(storm: Seen) -> None:
    run = RunDir.open(storm.run)
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
    assert max(after - before for before, after in pairwise(fired)) > 10, "one pass only"
    assert set(fired) <= looped.firing["FabricPfcStorm"]


@pytest.mark.slow
def test_a_broken_nic_that_storms_again_is_not_called_a_slow_receiver(looped: Looped) -> None:
    assert "FabricSlowReceiver" not in looped.firing
