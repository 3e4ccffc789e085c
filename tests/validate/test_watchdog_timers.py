"""Checks W12 to W14: what the switch makes of the watchdog's times, with a pair for each limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from fabrics import Judge, Tables, small_fabric
from finding_cases import E, W, put

from fabric.configs.load import load_network
from fabric.configs.model import Device, Language
from fabric.configs.text.jsonfile import FixedLines
from fabric.configs.watchdogs import Timer, actual_poll_ms
from fabric.validate.checks.base import Finding
from fabric.validate.runner import validate
from tests.recordings import SONIC

Fabric = dict[str, Tables]
TIMERS = {"W12", "W13", "W14"}


def watchdogs(fabric: Fabric, ports: int, poll_ms: int) -> Fabric:
    """A switch with so many more ports that have a watchdog over two queues."""
    put("leaf1", "PFC_WD", "GLOBAL", POLL_INTERVAL=str(poll_ms))(fabric)
    for number in range(100, 100 + ports):
        name = f"Ethernet{number}"
        put("leaf1", "PORT", name, speed="400000", admin_status="up")(fabric)
        put("leaf1", "PORT_QOS_MAP", name, pfc_enable="3,4", pfcwd_sw_enable="3,4")(fabric)
        put("leaf1", "PFC_WD", name, action="drop", detection_time="400", restoration_time="400")(fabric)
    return fabric


def hardware(fabric: Fabric, **fields: str) -> Fabric:
    put("leaf1", "PFC_WD_HW_CAPABILITIES", "GLOBAL", recovery_type="hardware", **fields)(fabric)
    return fabric


def timed(fabric: Fabric, detection: int, restoration: int) -> Fabric:
    put("leaf1", "PFC_WD", "Ethernet0", detection_time=str(detection), restoration_time=str(restoration))(fabric)
    return fabric


def found(judge: Judge, fabric: Fabric, obj: str = "") -> list[Finding]:
    return [it for it in judge(fabric, only=TIMERS) if it.device == "leaf1" and obj in it.object]


def test_polls_are_late_where_the_work_over_all_queues_takes_longer_than_the_interval(judge: Judge) -> None:
    """Two queues at each port, four in the small fabric, 0.65 ms each: 98 ms with 74 ports, 100 ms with 75."""
    assert not found(judge, watchdogs(small_fabric(), 75, 200))
    assert not found(judge, watchdogs(small_fabric(), 74, 100))
    (late,) = found(judge, watchdogs(small_fabric(), 75, 100))
    assert (late.check.id, late.severity, late.object) == ("W12", W, "PFC_WD|GLOBAL")
    assert "polls every 200 ms, configured 100 ms" in late.text
    assert late.fix is not None
    assert "POLL_INTERVAL" in late.fix.command


@pytest.mark.parametrize(("language", "actual_ms"), [("sonic", 700), ("nvue", 100), ("eos", 100), ("nxos", 100)])
def test_only_sonic_s_polls_are_late(language: Language, actual_ms: int) -> None:
    device = Device("leaf1", "leaf1", language, FixedLines(), watchdog_poll_ms=100, watched_queues=1000)
    assert actual_poll_ms(device) == actual_ms


def test_the_interval_of_late_polls_is_a_multiple_of_the_configured_one(judge: Judge) -> None:
    (late,) = found(judge, watchdogs(small_fabric(), 260, 100))
    assert "polls every 400 ms, configured 100 ms" in late.text
    assert late.fix is None, "a poll of 400 ms would be longer than the detection of 200 ms"


@pytest.mark.parametrize(
    ("detection", "restoration", "words"),
    [
        (300, 500, None),
        (250, 500, "detection_time 250 ms: the chip's timer has 200 ms or 300 ms (steps of 100 ms"),
        (300, 550, "restoration_time 550 ms: the chip's timer has 500 ms or 600 ms (steps of 100 ms"),
        (200, 250, "restoration_time 250 ms"),
        (130, 300, None),  # steps of 10 ms reach 150 ms
        (151, 300, "detection_time 151 ms: the chip's timer has 100 ms or 200 ms (steps of 100 ms"),
    ],
)
def test_a_time_that_is_no_multiple_of_the_chips_step_is_named_with_what_is_programmed(
    detection: int, restoration: int, words: str | None, judge: Judge
) -> None:
    put_poll = watchdogs(small_fabric(), 0, 100)
    rows = found(judge, timed(hardware(put_poll), detection, restoration), "Ethernet0")
    assert [it.check.id for it in rows] == ([] if words is None else ["W13"])
    assert words is None or words in rows[0].text


def test_a_time_out_of_the_chips_range_is_an_error(judge: Judge) -> None:
    assert not found(judge, timed(hardware(small_fabric()), 1500, 1500), "Ethernet0")
    rows = found(judge, timed(hardware(small_fabric()), 1501, 2000), "Ethernet0")
    assert [(it.check.id, it.severity) for it in rows] == [("W14", E)] * 2
    stated = hardware(small_fabric(), detection_timer_min="10", detection_timer_max="400")
    assert [it.check.id for it in found(judge, timed(stated, 500, 1000), "Ethernet0")] == ["W14"]


def test_a_switch_whose_sku_forces_software_has_no_timers(judge: Judge) -> None:
    fabric = timed(small_fabric(), 250, 2000)
    assert not found(judge, fabric)
    put("leaf1", "DEVICE_METADATA", "localhost", hwsku="NH-4010-64x800G")(fabric)
    assert {it.check.id for it in found(judge, fabric)} == {"W13", "W14"}
    put("leaf1", "PFC_WD_HW_CAPABILITIES", "GLOBAL", recovery_type="software")(fabric)
    assert not found(judge, fabric)


@pytest.mark.parametrize(
    ("configured", "programmed", "step"),
    [(1, 1, 1), (15, 15, 1), (16, 20, 10), (144, 140, 10), (146, 150, 10), (250, 200, 100), (350, 300, 100),
     (351, 400, 100), (1500, 1500, 100)],
)  # fmt: skip
def test_the_finest_step_that_reaches_so_far_is_taken(configured: int, programmed: int, step: int) -> None:
    made = Timer((1, 10, 100), 1, 1500).programmed(configured)
    assert made is not None
    assert (made.value_ms, made.step_ms) == (programmed, step)


@pytest.mark.parametrize(("stated", "found"), [("0.10", None), ("0.11", "every 100 ms"), ("0.50", "every 100 ms")])
def test_eos_shortens_a_poll_that_does_not_fit_twice_into_the_times(
    stated: str, found: str | None, tmp_path: Path
) -> None:
    text = (SONIC / "other_nos" / "eos_leaf.cfg").read_text(encoding="utf-8")
    (tmp_path / "leaf1.cfg").write_text(text.replace("polling-interval 0.10", f"polling-interval {stated}"))
    its = [it for it in validate(load_network([tmp_path])).findings if it.check.id == "W3"]
    assert all(it.severity is W and found is not None and found in it.text for it in its)
    assert bool(its) is (found is not None)
    for it in its:
        assert it.fix is not None
        assert "polling-interval 0.1" in it.fix.command
