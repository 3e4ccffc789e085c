"""Recording rules, and what a rule is. The alerts are in telemetry/alerts.py, their rendering in telemetry/render.py.

Simulated time. A fabric's milliseconds are shown to Prometheus stretched to minutes, so a rate per second of wall time
means nothing by itself. Every rate here is divided by the rate at which simulated time passes, and so is a share or
a rate per simulated second whatever the stretch (`--dilation`), and also while the emulator lags behind its pace. What
cannot be divided is how long a condition must hold: windows and `for` are wall time of the scraped world. They are
written for NOMINAL_DILATION and are rendered for another one with Timing(dilation / NOMINAL_DILATION).

Conventions (prometheus.io/docs/practices/rules): level:metric:operations, `_total` stripped, `without` and never `by`,
ratios are never averaged, only divided sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from telemetry.metrics import BY_NAME
from telemetry.promql.labels import TARGET, labels_of
from telemetry.promql.model import (
    Aggregate,
    Binary,
    Expr,
    Function,
    Matching,
    Operator,
    Over,
    Relabel,
    Symbol,
    Timing,
    above,
    both,
    increase,
    rate,
    select,
)

NOMINAL_DILATION: Final = 15_000
"""Wall seconds per simulated second for which windows and `for` are written: 1 ms is seen as 15 s, one scrape."""
SCRAPE_S: Final = 15
"""Nominal seconds between two scrapes, and between two evaluations."""
MINUTE_S: Final = 60


def timing(dilation: float) -> Timing:
    """How nominal seconds stretch for a dilation."""
    return Timing(dilation / NOMINAL_DILATION)


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording rule."""

    name: str
    expr: Expr
    help: str


PORT: Final = ("instance", "device", "port")
PORT_PRIORITY: Final = (*PORT, "priority")


def recorded(name: str) -> Expr:
    """The vector of a recording rule."""
    return select(name)


def _per_simulated_second(of: Expr) -> Expr:
    return Binary(Symbol.DIVIDE, of, select(SIMULATED), Matching(("instance",), ()))


def _total(of: Expr, *gone: str) -> Expr:
    return Aggregate(Operator.SUM, of, gone)


SIMULATED: Final = "instance:fabric_sim_elapsed_seconds:rate1m"
PAUSED: Final = "device_port_priority:fabric_pfc_receive_paused:ratio_rate1m"
UTILIZATION: Final = "device_port:fabric_port_utilization:ratio_rate1m"
MARKED: Final = "device_port_queue:fabric_ecn_marked:ratio_rate1m"
XOFFS: Final = "device:fabric_pg_xoff_episodes:increase1m"
MARKS: Final = "device:fabric_ecn_marked_packets:increase1m"
HEADROOM: Final = "device_port_priority:fabric_pg_headroom:ratio_max1m"
TO_HOST: Final = "device_port:fabric_port_to_host:info"
MEMBER: Final = "device_port:fabric_ecmp_member_utilization:ratio_rate1m"
IMBALANCE: Final = "device:fabric_ecmp_imbalance:ratio_rate1m"

RECORDINGS: Final = (
    Recording(SIMULATED, rate(select("fabric_sim_elapsed_seconds_total"), MINUTE_S),
              "Simulated seconds per second of wall time: 1 over the dilation that is really held."),
    Recording(PAUSED, _per_simulated_second(rate(select("fabric_pfc_receive_paused_seconds_total"), MINUTE_S)),
              "Share of the last minute in which a port was kept from sending a priority."),
    Recording(UTILIZATION, _per_simulated_second(rate(select("fabric_port_transmit_busy_seconds_total"), MINUTE_S)),
              "Share of the last minute in which a port was sending."),
    Recording(MARKED, Binary(Symbol.DIVIDE, rate(select("fabric_ecn_marked_packets_total"), MINUTE_S),
                             above(rate(select("fabric_ecn_eligible_packets_total"), MINUTE_S), 0)),
              "Share of the ECN-capable packets that a queue marked; absent where none passed."),
    Recording(XOFFS, _total(increase(select("fabric_pg_xoff_episodes_total"), MINUTE_S), "port", "priority"),
              "Times in the last minute that a switch asked a neighbour to stop."),
    Recording(MARKS, _total(increase(select("fabric_ecn_marked_packets_total"), MINUTE_S),
                            "port", "queue"),
              "Packets that a switch marked in the last minute."),
    Recording(HEADROOM, Binary(
        Symbol.DIVIDE, Over(Function.MAX, select("fabric_pg_headroom_watermark_bytes"), MINUTE_S),
        above(select("fabric_pg_headroom_limit_bytes"), 0), Matching(PORT_PRIORITY, ())),
              "Highest share of a priority group's headroom in use within the last minute."),
    Recording(TO_HOST, both(select("fabric_port_info"),
                            Relabel(select("fabric_device_info", {"role": "host"}), "peer_device", "device"),
                            "instance", "peer_device"),
              "Ports of switches whose cable ends at a host."),
    Recording(MEMBER, Binary(
        Symbol.DIVIDE, _per_simulated_second(_total(rate(select("fabric_ecmp_member_bytes_total"), MINUTE_S), "group")),
        select("fabric_port_speed_bytes_per_second"), Matching(PORT, ())),
              "Share of its line rate that a port sent as a member of groups of equal-cost next hops."),
    Recording(IMBALANCE, Binary(Symbol.DIVIDE, Aggregate(Operator.MAX, recorded(MEMBER), ("port",)),
                                above(Aggregate(Operator.AVG, recorded(MEMBER), ("port",)), 0)),
              "Busiest uplink of a device over the mean of its uplinks; 1 is perfect balance."),
)
"""In order of evaluation: a rule may read those before it."""


def known_labels() -> Mapping[str, frozenset[str]]:
    """Every name a rule may read, and the labels of its series. Raises: UnknownNameError where a recording is wrong."""
    known = {name: frozenset(spec.labels) | TARGET for name, spec in BY_NAME.items()}
    for rule in RECORDINGS:
        known[rule.name] = labels_of(rule.expr, known)
    return known
