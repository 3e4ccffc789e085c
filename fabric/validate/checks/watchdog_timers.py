"""W: what the switch makes of the watchdog's times: polls that are late, timers of the chip that go in steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.model import Where
from fabric.configs.watchdogs import WORK_US, Hardware, Timer, actual_poll_ms, hardware_of, poll_ms, watched_queues
from fabric.validate.checks.base import Check, E, Evidence, Found, W, check, shows
from fabric.validate.facts import Facts, Line
from fabric.validate.remedies import set_field

_GLOBAL: Final = ("PFC_WD", "GLOBAL")
_LONGEST_POLL_MS: Final = 1000
_HLD: Final = "SONiC doc/pfcwd/pfc_hardware_recovery_hld.md"


@check(
    "W12",
    W,
    "the watchdog polls later than it is configured to",
    condition="on SONiC, with a watchdog in software: the work of a poll, which grows with the watched queues, takes "
    "less than the poll interval",
    consequence="each poll counts for the configured interval, so a storm is declared and ends late by the same factor",
    remedy="lengthen the poll, with detection and restoration not below it, or watch fewer queues",
    source="sonic-sairedis FlexCounter.cpp; sonic-buildimage issues 3964, 29705; 0.65 ms a queue is assumed (issue "
    "6530)",
)
def W12(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once per switch."""
    for device in facts.devices:
        if hardware_of(device) is not None:
            continue
        configured = poll_ms(device)
        actual, queues = actual_poll_ms(device), watched_queues(device)
        if actual == configured:
            continue
        enough = -(-(queues * WORK_US // 1000 + 1) // 100) * 100
        dogs = [port.watchdog for port in device.ports.values() if port.watchdog and port.watchdog.detection_ms]
        shortest = min(min(it.detection_ms or 0, it.restoration_ms or enough) for it in dogs)
        detection = min(it.detection_ms or 0 for it in dogs)
        latest = actual * (-(-detection // configured) + 1)
        fits = enough <= min(shortest, _LONGEST_POLL_MS)
        yield Found(
            device.name,
            "PFC_WD|GLOBAL",
            f"a poll over {queues} queues takes {queues * WORK_US // 1000} ms: polls every {actual} ms, configured "
            f"{configured} ms; detection {detection} ms takes up to {latest} ms",
            (shows(device, _GLOBAL, "POLL_INTERVAL", configured), shows(device, dogs[0].where, "", "")),
            fix=set_field(device, _GLOBAL, "POLL_INTERVAL", enough) if fits else None,
        )


@check(
    "W13",
    W,
    "the chip's watchdog timer has another value than is configured",
    condition="on SONiC, with a watchdog of the chip: detection and restoration are multiples of the timer's step",
    consequence="the timer has the multiple below or above; `show pfcwd config` has the configured value, `show pfcwd "
    "status` the programmed one",
    remedy="configure a multiple of the step",
    source=f"{_HLD} section 5.2 (steps of 1, 10 or 100 ms, 1 to 15 of them)",
)
def W13(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Each time of each port."""
    for line, name, value, timer, hardware in _times(facts):
        made = timer.programmed(value)
        if made is not None and not made.exact:
            below = f"{made.below_ms} ms or " if made.below_ms else ""
            yield Found(
                line.device.name,
                line.port.name,
                f"{name} {value} ms: the chip's timer has {below}{made.above_ms} ms (steps of {made.step_ms} ms; "
                f"{hardware.why})",
                _shown(line, name, value),
                fix=set_field(line.device, _where(line), name, made.value_ms),
            )


@check(
    "W14",
    E,
    "a watchdog time is out of the range of the chip's timer",
    condition="on SONiC, with a watchdog of the chip: detection and restoration are within the range of its timers",
    consequence="the switch refuses it, and the port has no watchdog",
    remedy="configure a time within the range",
    source=f"{_HLD} section 5.1 (PFC_WD_HW_CAPABILITIES)",
)
def W14(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Each time of each port."""
    for line, name, value, timer, hardware in _times(facts):
        if timer.programmed(value) is None:
            yield Found(
                line.device.name,
                line.port.name,
                f"{name} {value} ms, the chip's timer has {timer.least_ms} to {timer.most_ms} ms ({hardware.why})",
                _shown(line, name, value),
                fix=set_field(line.device, _where(line), name, min(max(value, timer.least_ms), timer.most_ms)),
            )


def _times(facts: Facts) -> Iterator[tuple[Line, str, int, Timer, Hardware]]:
    """Of every port with a watchdog of the chip: the field, its value, and the timer that is to have it."""
    for line in facts.used:
        own = line.port.watchdog
        hardware = hardware_of(line.device) if own is not None else None
        if own is None or hardware is None:
            continue
        if own.detection_ms is not None:
            yield line, "detection_time", own.detection_ms, hardware.detection, hardware
        if own.restoration_ms is not None:
            yield line, "restoration_time", own.restoration_ms, hardware.restoration, hardware


def _where(line: Line) -> Where:
    return line.port.watchdog.where if line.port.watchdog else line.port.where


def _shown(line: Line, name: str, value: int) -> tuple[Evidence, ...]:
    return (shows(line.device, _where(line), name, value),)


CHECKS: Final[tuple[Check, ...]] = (W12, W13, W14)
