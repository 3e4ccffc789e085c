"""Rules about the rules: whether what is scraped has the pace that the windows of the other rules are written for.

Windows and `for` are wall time, so rules of one dilation misjudge a run of another: a storm lasts for less than their
windows, alerts are pending in turn, and none fires. The emulator exports its dilation, and these rules compare it
with their own. A fabric of real switches has no such series, and neither of the two alerts can fire.

Two more say that there is nothing to judge: a target that is down, or simulated time that does not advance. Until then
alerts stay as they are (telemetry/alerting/hold.py).

They are no part of ALERTS: they are about the installation and not about the fabric, so no run of the alert corpus can
fire them, and they mute and explain nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from telemetry.alerting.alert import Severity
from telemetry.alerting.hold import NO_DATA, STOPPED
from telemetry.alerting.promql.model import Timing
from telemetry.alerting.promql.text import duration
from telemetry.alerting.rules import MINUTE_S, NOMINAL_DILATION, SCRAPE_S, SIMULATED

TOLERATED_FACTOR: Final = 1.5
"""Windows that are too long or too short by less still separate the alerts: the corpus has gaps of a factor of 1.2 and
more on either side of every threshold. `fabric top` changes the pace by a factor of 2 at each key."""
DASHBOARD: Final = "fabric-overview"


@dataclass(frozen=True, slots=True)
class FitAlert:
    """An alert about the rules themselves, with its expression as text for one dilation."""

    name: str
    expr: str
    hold: str
    severity: Severity
    summary: str
    description: str
    dashboard: str = DASHBOARD


DILATION_MISMATCH: Final = "FabricDilationMismatch"
SCRAPED_TOO_SELDOM: Final = "FabricScrapedTooSeldom"
EXPORTER_DOWN: Final = "FabricExporterDown"
RUN_STOPPED: Final = "FabricRunStopped"
NAMES: Final = (EXPORTER_DOWN, RUN_STOPPED, DILATION_MISMATCH, SCRAPED_TOO_SELDOM)


def _still_said(name: str) -> str:
    """Rows of an alert that fires of a target that has no data: a run that has ended does not go on by being ended."""
    fires = f'sum without (alertstate) (ALERTS{{alertname="{name}", alertstate="firing"}})'
    return f"({fires} and on (job, instance) {NO_DATA})"


def fit_alerts(scaled: Timing) -> tuple[FitAlert, ...]:
    """The alerts for rules of one dilation."""
    dilation = scaled.scale * NOMINAL_DILATION
    scrape, minute = duration(scaled.ms(SCRAPE_S)), duration(scaled.ms(MINUTE_S))
    low, high = dilation / TOLERATED_FACTOR, dilation * TOLERATED_FACTOR
    return (
        FitAlert(
            EXPORTER_DOWN,
            NO_DATA,
            minute,
            Severity.CRITICAL,
            "Prometheus has no data of a fabric: its target is down, or is no target any more.",
            "No data of {{ $labels.instance }}: its last scrape failed, or it is no target any more. Nothing can be "
            "said of its fabric: alerts that fired stay, and are not over; new ones do not come.",
        ),
        FitAlert(
            RUN_STOPPED,
            f"{STOPPED}\nor on (job, instance) {_still_said(RUN_STOPPED)}",
            minute,
            Severity.WARNING,
            "The run has ended or is paused: simulated time does not advance.",
            "The run at {{ $labels.instance }} has ended or is paused, so nothing changes there: alerts that fired "
            "stay, and are not over.",
        ),
        FitAlert(
            DILATION_MISMATCH,
            f"fabric_sim_dilation_ratio < {low:g} or fabric_sim_dilation_ratio > {high:g}",
            minute,
            Severity.WARNING,
            "The alert rules are written for another dilation than the run has.",
            "{{ $labels.instance }} runs at a dilation of {{ $value }}, and these rules are written for "
            f"{dilation:g}: alerts fire too early, too late or not at all. Write rules with fabric alerts rules "
            f"--dilation {{{{ $value }}}}, or serve with --dilation {dilation:g}.",
        ),
        FitAlert(
            SCRAPED_TOO_SELDOM,
            f"fabric_sim_dilation_ratio unless on (instance) {SIMULATED}",
            duration(scaled.ms(5 * MINUTE_S)),
            Severity.WARNING,
            "The run is scraped too seldom for the windows of the alert rules.",
            f"{{{{ $labels.instance }}}} has fewer than two scrapes in {minute}, so that no rate is known and nearly "
            f"no alert can fire. Set scrape_interval to {scrape}, or write rules for a higher dilation.",
        ),
    )
