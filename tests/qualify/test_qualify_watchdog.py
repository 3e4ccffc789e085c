"""A watchdog in software and one of the chip on the same storms, from configurations that differ in that alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.qualify.case_runs import CaseRun, Row, runs_of
from fabric.qualify.cases import chosen
from fabric.validate.facts import Facts
from fabric.validate.judge import Request, network_of
from tests.qualify.plan_mutants import _late_polls
from tests.qualify.qualify_mutants import B, Config, healthy

SOFTWARE = ("software", 400)
"""Times and poll of `pfcwd start_default` with 33 to 64 ports."""


def config(kind: str, time_ms: int) -> Config:
    found = healthy()
    for name, row in found["PFC_WD"].items():
        times = {"POLL_INTERVAL": str(min(400, time_ms))} if name == "GLOBAL" else {
            "detection_time": str(time_ms), "restoration_time": str(time_ms)
        }  # fmt: skip
        row.update(times)
    found["PFC_WD_HW_CAPABILITIES"] = {"GLOBAL": {"recovery_type": kind}}
    return found


def simulated(folder: Path, made: Config, plan: str, case: str) -> CaseRun:
    path = folder / "config_db.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    facts = Facts(network_of(Request([path]), HeadroomTables.load([])))
    (device,) = facts.network.devices.values()
    (wanted,) = chosen(plan, [case])
    (one,) = runs_of(facts, device, wanted, None)
    return one


def rows(one: CaseRun) -> Iterator[Row]:
    return (row for result in one.results for row in result.rows)


def value_ms(one: CaseRun, measure: str) -> float:
    (found,) = {it.value for it in rows(one) if it.measure == f"{measure}(stormed)" and it.label == f"{B} Q3"}
    return found / 10**9


def test_the_chip_has_the_programmed_time_beside_the_configured_one(tmp_path: Path) -> None:
    """250 ms are 200 ms in steps of 100 ms; the storm begins at 50 ms, so steps fall 50 ms after it."""
    one = simulated(tmp_path, config("hardware", 250), "sonic-pfc-lossless", "L13")
    assert value_ms(one, "detection_configured") == 250
    assert value_ms(one, "detection_programmed") == 200
    assert value_ms(one, "detection_time") == 250
    assert one.green


def test_a_software_watchdog_declares_the_same_storm_at_a_poll(tmp_path: Path) -> None:
    """Polls at 400 and 800 ms; the first finds the pause already begun, so the whole interval counts at the second."""
    one = simulated(tmp_path, config(*SOFTWARE), "sonic-pfc-lossless", "L13")
    assert value_ms(one, "detection_programmed") == 400
    assert value_ms(one, "detection_time") == 750
    assert one.green


@pytest.mark.parametrize(("kind", "storms"), [("software", 0), ("hardware", 1)])
def test_a_storm_with_gaps_is_seen_by_the_chip_and_not_by_the_polls(kind: str, storms: int, tmp_path: Path) -> None:
    """Both have 400 ms. No pause of 500 ms covers the 400 ms between two polls here; each has four steps of the chip.

    The gaps of 100 ms are shorter than the restoration time, so the queue stays out until the end.
    """
    one = simulated(tmp_path, config(kind, 400), "sonic-pfcwd", "GAPS/bursts")
    assert value_ms(one, "storms_detected") * 10**9 == storms
    assert {it.colour for it in one.results} == {"reported", "green"}


def test_polls_that_come_late_make_the_check_of_the_detection_time_red(tmp_path: Path) -> None:
    made = config("software", 200)
    _late_polls(made)
    one = simulated(tmp_path, made, "sonic-pfc-lossless", "L13")
    assert value_ms(one, "detection_programmed") == 600
    late = next(it for it in one.results if it.check.id == "2")
    assert late.colour == "red"
    assert "comes every 300 ms, and counts for 100 ms" in late.text
