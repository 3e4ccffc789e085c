"""Alerts about the rules themselves: another dilation than theirs, and too few scrapes. And one default everywhere."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.cli import alerts, export, serve
from telemetry.alerting.fit import DILATION_MISMATCH, SCRAPED_TOO_SELDOM
from telemetry.alerting.render import prometheus_yaml, rules_yaml
from telemetry.alerting.rules import NOMINAL_DILATION, timing
from tests.telemetry.programs import program
from tests.telemetry.test_outlive import judged


def _default(verb: Any, option: str, *words: str) -> float:  # noqa: ANN401  a module
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    found: float = getattr(parser.parse_args(words), option)
    return found


def test_every_command_has_the_dilation_that_the_rules_are_written_for() -> None:
    assert _default(serve, "dilation", "storm.yml") == NOMINAL_DILATION
    assert _default(alerts, "dilation", "rules") == NOMINAL_DILATION
    assert _default(alerts, "dilation", "show", "run") == NOMINAL_DILATION
    for action in ("openmetrics", "events"):
        assert _default(export, "time_scale", action, "run") == NOMINAL_DILATION
    assert _default(export, "time_scale", "remote-write", "http://here", "run") == NOMINAL_DILATION


def test_prometheus_is_configured_to_scrape_as_often_as_the_rules_need() -> None:
    for dilation, interval in ((1000, "1s"), (15_000, "15s"), (60_000, "1m")):
        config = yaml.safe_load(prometheus_yaml(dilation))
        rules = yaml.safe_load(rules_yaml(dilation))
        assert config["global"]["scrape_interval"] == rules["groups"][0]["interval"] == interval
        assert config["rule_files"] == ["rules.yml"]


RUNS = {"fits": 1000, "faster than `+`": 1400, "twice as slow": 2000, "half as slow": 500, "of the default": 15_000}


@pytest.mark.parametrize("rules_for", [1000, 15_000])
def test_a_run_of_another_dilation_than_the_rules_is_named(rules_for: int, tmp_path: Path) -> None:
    """A run counts as another one from a factor of 1.5 on, in both directions."""
    program("promtool")
    runs = {name: dilation * rules_for / 1000 for name, dilation in RUNS.items()}
    scrape_ms = timing(rules_for).ms(15)
    expr = f'count by (instance) (ALERTS{{alertname="{DILATION_MISMATCH}", alertstate="firing"}})'
    test = {
        "interval": f"{scrape_ms}ms",
        "input_series": [
            {"series": f'fabric_sim_dilation_ratio{{instance="{name}"}}', "values": f"{dilation:g}x20"}
            for name, dilation in runs.items()
        ],
        "promql_expr_test": [
            {
                "expr": expr,
                "eval_time": f"{20 * scrape_ms}ms",
                "exp_samples": [
                    {"labels": f'{{instance="{name}"}}', "value": 1}
                    for name in sorted(RUNS)
                    if RUNS[name] not in (1000, 1400)
                ],
            }
        ],
    }
    assert judged(test, tmp_path, rules_yaml(rules_for)) == []


def test_a_run_that_is_scraped_too_seldom_is_named(tmp_path: Path) -> None:
    """Rules for 1000 need a scrape each second; every 15 s no window of four seconds has two of them."""
    program("promtool")
    seldom = f"{1000}" + " _" * 14
    test = {
        "interval": "1s",
        "input_series": [
            {"series": 'fabric_sim_dilation_ratio{instance="seldom"}', "values": " ".join([seldom] * 5)},
            {
                "series": 'fabric_sim_elapsed_seconds_total{instance="seldom"}',
                "values": " ".join(f"{t}" + " _" * 14 for t in range(5)),
            },
            {"series": 'fabric_sim_dilation_ratio{instance="often"}', "values": "1000x70"},
            {"series": 'fabric_sim_elapsed_seconds_total{instance="often"}', "values": "0+0.001x70"},
        ],
        "promql_expr_test": [
            {
                "expr": f'count by (instance) (ALERTS{{alertname="{SCRAPED_TOO_SELDOM}", alertstate="firing"}})',
                "eval_time": "60s",
                "exp_samples": [{"labels": '{instance="seldom"}', "value": 1}],
            }
        ],
    }
    assert judged(test, tmp_path, rules_yaml(1000)) == []


# A port whose share of the last minute swings about 95 %: one of the two alerts of its host must fire.
@pytest.mark.parametrize("peak_bytes", [0, 4096])
def test_a_port_about_the_limit_between_two_alerts_is_left_to_neither(peak_bytes: int, tmp_path: Path) -> None:
    from tests.telemetry.test_outlive import TIME, at, host_port

    swings = ([0.0] * 8 + [1.0, 1.0, 1.0, 1.0, 0.7, 1.0] * 40)[:TIME]
    test = {
        "interval": at(1),
        "input_series": host_port("e", swings, peak_bytes),
        "promql_expr_test": [
            {
                "expr": 'count(ALERTS{alertname="FabricPfcStorm", alertstate="firing"})',
                "eval_time": at(40),
                "exp_samples": [{"labels": "{}", "value": 1}],
            }
        ],
    }
    assert judged(test, tmp_path, rules_yaml()) == []
