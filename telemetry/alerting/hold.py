"""Without news an alert stays as it is: where its target is down, and where simulated time does not advance.

Prometheus drops an alert when its expression has no row, for whatever reason. A target that cannot be scraped has none,
and neither has a share of the last minute in which no simulated time has passed: to whoever is paged, a dead exporter,
a run that has ended and a run that is paused look like recovery. So the rows of every alert are recorded, and while
there is no news of an instance, a row that was there stays, with its value, if its alert fires; no alert begins so
(docs/decisions/0182-an-alert-stays-as-it-is-without-news.md).

    rows = expr  or  (rows, as they were  and on (instance) no news within REFILL_S  and on (its labels) it fires)

Rows stay for REFILL_S after news are back: by then the windows of the expression are full again and say what is true.
An alert that is only kept firing (keep_firing_for) has no row, and ends. Evaluations of finished runs need none of it.

Source: the series ALERTS, prometheus.io/docs/prometheus/latest/configuration/alerting_rules.
"""

from __future__ import annotations

from typing import Any, Final

from telemetry.alerting.alert import Alert
from telemetry.alerting.promql.labels import labels_of
from telemetry.alerting.promql.model import Timing
from telemetry.alerting.promql.text import duration, promql
from telemetry.alerting.rules import MINUTE_S, known_labels

JOB: Final = "fabric"
"""The job of the targets in the configuration that `fabric alerts rules` writes."""
REFILL_S: Final = 5 * MINUTE_S
"""The longest window of an alert that says what is wrong; longer ones say what is normal, or count repeated events."""
NO_DATA: Final = "instance:fabric_no_data:info"
NO_NEWS: Final = "instance:fabric_no_news:info"
STOPPED: Final = "fabric_sim_ended == 1 or fabric_sim_paused == 1"
_NO_DATA: Final = f"""\
(up{{job="{JOB}"}} == 0)
or (up == 0 and on (job, instance) max_over_time(fabric_sim_dilation_ratio[1h]))
or (0 * max_over_time(up{{job="{JOB}"}}[1h]) unless on (job, instance) up)"""
"""Targets of the job, and others that had a fabric within an hour of wall clock time: down, or no target any more."""


def recordings() -> list[dict[str, Any]]:
    """Two rules before all others: instances without data, and instances without news. Their values say nothing."""
    return [{"record": NO_DATA, "expr": _NO_DATA}, {"record": NO_NEWS, "expr": f"{NO_DATA} or 0 * ({STOPPED})"}]


def name(alert: Alert) -> str:
    """The recording rule with the rows of an alert."""
    return f"alert:{alert.name}:rows"


def held(alert: Alert, scaled: Timing) -> dict[str, Any]:
    """The recording rule of an alert: its expression, and while there is no news what the rule had and what fires."""
    on = ", ".join(sorted(labels_of(alert.expr, known_labels())))
    fires = f'ALERTS{{alertname="{alert.name}", alertstate="firing"}}'
    silence = f"max_over_time({NO_NEWS}[{duration(scaled.ms(REFILL_S))}])"
    stays = f"{name(alert)}\nand on (instance) {silence}\nand on ({on}) {fires}"
    return {"record": name(alert), "expr": f"({promql(alert.expr, scaled)})\nor ({stays})"}
