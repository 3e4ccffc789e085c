"""What a SONiC switch makes of its PFC watchdog: polls that may be late, or timers of the chip that go in steps.

Software: a thread of syncd collects counters and runs a script over every watched queue, and waits for the rest of the
interval. Where that work takes longer than the interval, the next poll is at the next multiple of it (sonic-sairedis
FlexCounter.cpp), and the script counts one configured interval for it (sonic-buildimage issues 3964 and 29705).

Hardware (SONiC doc/pfcwd/pfc_hardware_recovery_hld.md, revision 0.2): a timer has 1 to 15 steps of a granularity, so
the programmed value can differ from the configured one. No attribute of SAI tells the granularity.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from fabric.configs.model import Device, Port, Watchdog

WORK_US: Final = 650
"""Of one watched queue: assumed, from the times of a script's redis calls in sonic-buildimage issue 6530 (Broadcom).
Pull request 4881 of sonic-swss halves it."""
_MOST_STEPS: Final = 15
_DETECTION_STEPS_MS: Final = (1, 10, 100)
_RESTORATION_STEPS_MS: Final = (100,)
_HARDWARE_SKUS: Final = re.compile(r"nh-4010", re.IGNORECASE)
"""sonic-swss pull request 4412, SwitchOrch::isHwPfcWdSupportedSku; all others use software."""


@dataclass(frozen=True, slots=True)
class Programmed:
    """A time as a timer of the chip has it."""

    configured_ms: int
    step_ms: int
    below_ms: int
    """The multiples of the step at both sides; both are the configured value where that is one."""
    above_ms: int

    @property
    def value_ms(self) -> int:
        """The nearest one; of two that are as near, the lower one, as in the document's example."""
        nearer_above = self.above_ms - self.configured_ms < self.configured_ms - self.below_ms
        return self.above_ms if nearer_above or not self.below_ms else self.below_ms

    @property
    def exact(self) -> bool:
        """Whether it is as configured."""
        return self.below_ms == self.above_ms


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer of the chip."""

    steps_ms: tuple[int, ...]
    least_ms: int
    most_ms: int

    def programmed(self, time_ms: int) -> Programmed | None:
        """With the finest step that reaches so far; None where it is out of range."""
        if not self.least_ms <= time_ms <= self.most_ms:
            return None
        step = next((it for it in self.steps_ms if time_ms <= it * _MOST_STEPS), self.steps_ms[-1])
        return Programmed(time_ms, step, time_ms // step * step, -(-time_ms // step) * step)


@dataclass(frozen=True, slots=True)
class Hardware:
    """A watchdog of the chip."""

    detection: Timer
    restoration: Timer
    why: str
    """Where it is known from."""

    def step_ms(self, device: Device) -> int:
        """The finest step of any port's detection; every other one is a multiple of it."""
        found = [
            it.step_ms
            for port in device.ports.values()
            if port.watchdog and (it := self.detection.programmed(port.watchdog.detection_ms or 0)) is not None
        ]
        return min(found, default=self.detection.steps_ms[-1])


def hardware_of(device: Device) -> Hardware | None:
    """The watchdog of the chip, where the switch uses it; None: software."""
    stated = device.watchdog_capability
    if stated is not None and stated.recovery == "software":
        return None
    if stated is None and not _HARDWARE_SKUS.search(device.hwsku):
        return None
    detection, restoration = (
        Timer(steps, steps[0], steps[-1] * _MOST_STEPS) for steps in (_DETECTION_STEPS_MS, _RESTORATION_STEPS_MS)
    )
    if stated is None:
        return Hardware(detection, restoration, f"HWSKU {device.hwsku}")
    return Hardware(
        Timer(detection.steps_ms, *(stated.detection_ms or (detection.least_ms, detection.most_ms))),
        Timer(restoration.steps_ms, *(stated.restoration_ms or (restoration.least_ms, restoration.most_ms))),
        "PFC_WD_HW_CAPABILITIES|GLOBAL",
    )


def poll_ms(device: Device, own: Watchdog | None = None) -> int:
    """The interval that a switch is to poll at: as stated, else its system's own.

    Parameters
    ----------
    own    the watchdog whose times the interval has to fit into, where the system shortens it
    """
    poll = device.watchdog_poll_ms or device.capabilities.watchdog_poll_ms
    if own is None or not device.capabilities.watchdog_poll_halved:
        return poll
    return min([poll, *(max(1, time // 2) for time in (own.detection_ms, own.restoration_ms) if time is not None)])


def watched_queues(device: Device) -> int:
    """Queues over which a poll's script runs."""
    if device.watched_queues is not None:
        return device.watched_queues
    return sum(len(port.watched) for port in device.ports.values() if _is_watched(port))


def _is_watched(port: Port) -> bool:
    return port.watchdog is not None and port.watchdog.detection_ms is not None


def actual_poll_ms(device: Device) -> int:
    """The interval of a software watchdog's polls with so many queues: a multiple of the configured one.

    The configured one itself in other languages than SONiC's, whose watchdogs run no such script.
    """
    poll = poll_ms(device)
    if not device.capabilities.tables:
        return poll
    work_ms = watched_queues(device) * WORK_US // 1000
    return (work_ms // poll + 1) * poll
