"""What a valid scenario asks for and cannot get within its run: said before the run, not refused."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.scenario.presets.models import default_tree
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.schema.switches import Watchdog
from fabric.units import format_time_ps, parse_time_ps


def remarks(scenario: Scenario, duration_ps: int | None = None) -> list[str]:
    """One sentence each. duration_ps: of the run, where it is shorter than run.duration."""
    whole_ps = scenario.run.duration if duration_ps is None else duration_ps
    return list(_watchdogs(scenario, whole_ps))


def loss_remarks(scenario: Scenario, duration_ps: int | None = None) -> list[str]:
    """One sentence where a packet that is lost cannot be sent again by its timer within the run.

    By default the timer of RDMA NICs is longer than many simulated runs. What is lost at the end of a message, or
    whole windows of it, waits for the timer, and counts as not delivered: an effect of the run's length alone.
    """
    whole_ps = scenario.run.duration if duration_ps is None else duration_ps
    timeout = scenario.transport.retransmit_timeout
    if timeout is None:
        written = default_tree(scenario.model)["transport"].get("retransmit_timeout", "off")
        timeout = "off" if written == "off" else parse_time_ps(written)
    if not scenario.workload or scenario.model == "hpcc-ns3" or not isinstance(timeout, int) or timeout < whole_ps:
        return []
    text = (
        f"run.duration ({format_time_ps(whole_ps)}) is not longer than transport.retransmit_timeout "
        f"({format_time_ps(timeout)}): a message whose last packets are lost is not delivered in this run, however "
        "short the fault; lengthen run.duration or shorten the timer before you inject faults"
    )
    return [text]


def _watchdogs(scenario: Scenario, duration_ps: int) -> Iterator[str]:
    """Watchdogs whose detection is not over when the run is, whatever is paused from its start on."""
    switches = scenario.switches
    places = [("switches.watchdog", switches.watchdog)]
    places += [(f"switches.overrides[{row}].watchdog", it.watchdog) for row, it in enumerate(switches.overrides or ())]
    for place, watchdog in places:
        if not isinstance(watchdog, Watchdog):
            continue
        step_ps = (watchdog.granularity if watchdog.kind == "hardware" else watchdog.poll) or watchdog.detection
        least_ps = -(-watchdog.detection // step_ps) * step_ps
        if least_ps >= duration_ps:
            yield (
                f"{place} cannot act in this run: it detects a storm after {format_time_ps(least_ps)} at the earliest, "
                f"and the run takes {format_time_ps(duration_ps)}; shorten detection and poll, or lengthen run.duration"
            )
