"""Views: what a diagnosis knows where monitoring polls some counters and lacks others.

A metric that monitoring does not have is absent, and absent is not zero. A counter that is read on hosts alone is
absent at switches; queue counters of marks (WRED) are off in SONiC until somebody enables them.
"""

from __future__ import annotations

from typing import Final

from telemetry.catalogue.metrics import BY_NAME
from telemetry.diagnosis.diagnose import FALLBACKS, METRICS
from telemetry.record.polling.profiles import DERIVED_FROM, PROFILES

IDEAL: Final = "ideal"
_OFF: Final = frozenset({"wred"})
"""Groups of counters that are off by default."""
_TABLES_OF_SWITCHES: Final = ("ports.", "queues.", "pgs.", "prios.", "pools.", "segments.")


def read_by(view: str) -> tuple[str, ...]:
    """Metrics to record for a diagnosis by a view (a name in PROFILES): those that it has."""
    profile = PROFILES[view]
    if not profile.groups:
        return METRICS
    absent = missing_in(view)
    return tuple(it for it in (*METRICS, *FALLBACKS) if it not in absent)


def missing_in(view: str) -> frozenset[str]:
    """Metrics that a diagnosis asks for and the monitoring does not have."""
    profile = PROFILES[view]
    if not profile.groups:
        return frozenset()
    at_switches = frozenset[str]().union(
        *(it.fields for it in profile.groups if not it.on_hosts and it.name not in _OFF)
    )
    found = set()
    for name in (*METRICS, *FALLBACKS):
        fields = (DERIVED_FROM.get(it, it) for it in BY_NAME[name].sources())
        sources = [it for it in fields if it.startswith(_TABLES_OF_SWITCHES)]
        unread = any(it not in at_switches for it in sources) and name not in _SETTINGS
        if name not in profile.metrics or unread:
            found.add(name)
    return frozenset(found)


_SETTINGS: Final = frozenset(
    {"fabric_port_speed_bytes_per_second", "fabric_pg_lossless", "fabric_pg_headroom_limit_bytes"}
)
"""Configuration, known without polling."""
