"""A real Prometheus and a real Alertmanager against a storm that begins, ends and begins again: two pages, no ticket.

test_one_page.py is about one storm, and says how fast both are watched.
"""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.telemetry.programs import PATIENCE_S, query_range, wait_for
from tests.telemetry.watched import EVALUATION_S, Inbox, Watch, seen

pytestmark = [pytest.mark.timed, pytest.mark.slow]
SYMPTOMS: Final = ("FabricPfcPauseRatioHigh", "FabricVictimFlows")


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


def test_a_storm_that_begins_ends_and_begins_again_writes_no_ticket(looped: Looped) -> None:
    assert looped.inbox.received["/tickets"] == []
    pages = looped.inbox.firing("/pager")
    assert [it["commonLabels"]["alertname"] for it in pages] == ["FabricPfcStorm"] * 2
    assert {it["commonLabels"]["root_device"] for it in pages} == {"host1"}


@pytest.mark.parametrize("symptom", SYMPTOMS)
def test_the_storm_fires_before_its_symptoms_and_resolves_after_them(looped: Looped, symptom: str) -> None:
    """So this is why: the symptoms fired in both passes, and at no evaluation without the storm."""
    fired = sorted(looped.firing[symptom])
    assert max(after - before for before, after in pairwise(fired)) > 10 * EVALUATION_S, "one pass only"
    assert set(fired) <= looped.firing["FabricPfcStorm"]


def test_a_broken_nic_that_storms_again_is_not_called_a_slow_receiver(looped: Looped) -> None:
    assert "FabricSlowReceiver" not in looped.firing
