"""Without news an alert stays as it is: where its target is down, and where simulated time does not advance.

Prometheus drops an alert when its expression has no row, for whatever reason. A target that cannot be scraped has none,
and neither has a share of the last minute in which no simulated time has passed: to whoever is paged, a dead exporter,
a run that has ended and a run that is paused look like recovery. So every alert has a second part: while there is no
news of an instance, an alert of it that fires has a row, and no alert begins by that part
(docs/decisions/0182-an-alert-stays-as-it-is-without-news.md).

    expr or on (its labels) (-1 * its own firing state  and on (instance)  no news within REFILL_S)

The row has the value HELD, by which texts tell it from what was measured. It lasts for REFILL_S after news are back: by
then the windows of the expression are full again and say what is true. Evaluations of finished runs need none of this.

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
HELD: Final = -1
"""No expression of an alert has a value below 0."""
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


def held(alert: Alert, scaled: Timing) -> str:
    """The expression of an alert with the part that holds it."""
    on = ", ".join(sorted(labels_of(alert.expr, known_labels())))
    fires = f'sum without (alertstate) (ALERTS{{alertname="{alert.name}", alertstate="firing"}})'
    silence = f"max_over_time({NO_NEWS}[{duration(scaled.ms(REFILL_S))}])"
    return f"({promql(alert.expr, scaled)})\nor on ({on}) ({HELD} * {fires} and on (instance) {silence})"


def told(description: str) -> str:
    """The template of a description that says of a held alert what is known."""
    place = "{{ with $labels.device }} at {{ . }}{{ end }}{{ with $labels.port }}:{{ . }}{{ end }}"
    since = f"No news of {{{{ $labels.instance }}}}: this alert fired{place} before, and nothing says that it is over."
    return f"{{{{ if lt $value 0.0 }}}}{since}{{{{ else }}}}{description}{{{{ end }}}}"
