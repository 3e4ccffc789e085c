"""Without news an alert stays as it is, and with news it is what they say. promtool evaluates the rules, all cases in
one start, each on its own instance."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from telemetry.alerting.hold import REFILL_S
from telemetry.alerting.outlive import kept_s
from telemetry.alerting.render import rules_yaml
from telemetry.alerting.rules import SCRAPE_S
from tests.telemetry.programs import program
from tests.telemetry.test_outlive import at, case, firing, judged

Yaml = dict[str, Any]
SICK: Final = 120
"""Scrapes after which the news end (tests/telemetry/test_outlive.py: the trouble lasts as long)."""
SILENT: Final = 60
BACK: Final = 60
MEMORY: Final = 12
"""Scrapes after the trouble at which no window of FabricPfcStorm has it any more."""
REFILL: Final = REFILL_S // SCRAPE_S
ALERT: Final = "FabricLinkDown"
BY_STATE: Final = ("FabricPfcStorm", "FabricLinkDown", "FabricSilentLoss", "FabricEvpnRouteLoss", "FabricBlackHole")
"""Alerts by growth, by state, by two ends, by two ways, by reasons."""


def back(values: list[str], gone: int, after: str) -> list[str]:
    """A series whose scrapes fail from SICK on, and which is then well, or goes on as it was, for BACK scrapes."""
    last, step = float(values[SICK - 1]), float(values[SICK - 1]) - float(values[SICK - 2])
    goes_on = [f"{last + step * (gone + number):.9g}" for number in range(BACK)]
    return [*values[:SICK], "stale", *["_"] * (gone - 1), *([values[-1]] * BACK if after == "well" else goes_on)]


def fires(name: str, instance: str, scrape: int, count: int) -> Yaml:
    rows = [{"labels": f'{{alertname="{name}"}}', "value": 1}] if count else []
    return {
        "expr": f"count by (alertname) (max by (alertname) ({firing(name, instance)}))",
        "eval_time": at(scrape),
        "exp_samples": rows,
    }


def ended(name: str, instance: str, repo_root: Path) -> tuple[list[Yaml], list[Yaml]]:
    """A run that ends while the alert fires: no series changes."""
    inputs = []
    for it in case(repo_root, name, instance):
        values = it["values"].split(" ")[:SICK]
        inputs.append({**it, "values": " ".join([*values, f"{values[-1]}x{SILENT}"])})
    inputs.append(
        {"series": f'fabric_sim_ended{{instance="{instance}", job="fabric"}}', "values": f"0x{SICK - 1} 1x{SILENT}"}
    )
    return inputs, [fires(name, instance, scrape, 1) for scrape in (SICK - 1, SICK + 5, SICK + 30, SICK + SILENT - 1)]


def dead(name: str, instance: str, after: str, repo_root: Path) -> tuple[list[Yaml], list[Yaml]]:
    """An exporter that answers nothing for a time while the alert fires, and then that all is well, or as before."""
    inputs = [
        {**it, "values": " ".join(back(it["values"].split(" "), SILENT, after))}
        for it in case(repo_root, name, instance)
    ]
    up = f"1x{SICK - 1} 0x{SILENT - 1} 1x{BACK - 1}"
    inputs.append({"series": f'up{{instance="{instance}", job="fabric"}}', "values": up})
    again = SICK + SILENT
    scrapes = (SICK - 1, SICK + 1, SICK + 20, again - 1, again + REFILL - 1)
    expected = [fires(name, instance, scrape, 1) for scrape in scrapes]
    return inputs, [*expected, fires(name, instance, again + BACK - 1, int(after != "well"))]


def over(name: str, instance: str, repo_root: Path) -> tuple[list[Yaml], list[Yaml]]:
    """A run that ends when the trouble is over and the alert is only kept firing: it ends all the same."""
    kept = kept_s(name) // SCRAPE_S
    last = SICK + MEMORY
    inputs = []
    for it in case(repo_root, name, instance):
        values = it["values"].split(" ")[:last]
        inputs.append({**it, "values": " ".join([*values, f"{values[-1]}x{SILENT}"])})
    stopped = f"0x{last - 1} 1x{SILENT}"
    inputs.append({"series": f'fabric_sim_ended{{instance="{instance}", job="fabric"}}', "values": stopped})
    return inputs, [fires(name, instance, last, 1), fires(name, instance, last + kept + 2, 0)]


@pytest.fixture(scope="module")
def unmet(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What promtool says of all cases."""
    program("promtool")
    inputs, expected = [], []
    for name in BY_STATE:
        for found in (ended(name, f"{name} ended", repo_root), dead(name, f"{name} dead", "sick", repo_root)):
            inputs += found[0]
            expected += found[1]
    for found in (
        dead(ALERT, f"{ALERT} recovered", "well", repo_root),
        over("FabricPfcStorm", "FabricPfcStorm over", repo_root),
    ):
        inputs += found[0]
        expected += found[1]
    test = {"interval": at(1), "input_series": inputs, "promql_expr_test": expected}
    return judged(test, tmp_path_factory.mktemp("hold"), rules_yaml())


@pytest.mark.parametrize("name", BY_STATE)
@pytest.mark.parametrize("how", ["ended", "dead"])
def test_an_alert_that_fires_stays_where_there_is_no_news(name: str, how: str, unmet: list[str]) -> None:
    assert not [text for text in unmet if f"{name} {how}" in text]


def test_an_alert_that_is_only_kept_firing_ends_without_news(unmet: list[str]) -> None:
    assert not [text for text in unmet if "FabricPfcStorm over" in text]


def test_an_alert_ends_when_the_data_that_is_back_says_so(unmet: list[str]) -> None:
    assert not [text for text in unmet if f"{ALERT} recovered" in text]
