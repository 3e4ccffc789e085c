"""Rules about the rules: whether what is scraped has the pace that the windows of the other rules are written for.

Windows and `for` are wall time, so rules of one dilation misjudge a run of another: a storm lasts for less than their
windows, alerts are pending in turn, and none fires. The emulator exports its dilation, and these rules compare it
with their own. A fabric of real switches has no such series, and neither of the two alerts can fire.

They are no part of ALERTS: they are about the installation and not about the fabric, so no run of the alert corpus can
fire them, and they mute and explain nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from telemetry.alerting.alert import Severity
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
NAMES: Final = (DILATION_MISMATCH, SCRAPED_TOO_SELDOM)


def fit_alerts(scaled: Timing) -> tuple[FitAlert, ...]:
    """Both alerts for rules of one dilation."""
    dilation = scaled.scale * NOMINAL_DILATION
    scrape, minute = duration(scaled.ms(SCRAPE_S)), duration(scaled.ms(MINUTE_S))
    low, high = dilation / TOLERATED_FACTOR, dilation * TOLERATED_FACTOR
    return (
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
