"""Recording rules. The alerts are in telemetry/alerting/alerts.py, their rendering in telemetry/alerting/render.py.

Simulated time. Prometheus sees the milliseconds of a fabric as minutes, so a rate per second of wall time has no
meaning without the dilation. Every rate here is divided by the rate at which simulated time passes: the result is a
share, or a rate per simulated second, at any `--dilation` and also while the emulator lags behind its pace. The time
for which a condition must hold cannot be divided: windows and `for` are wall time. They are written for
NOMINAL_DILATION and are rendered for another dilation with Timing(dilation / NOMINAL_DILATION).

Conventions (prometheus.io/docs/practices/rules): level:metric:operations, `_total` stripped, `without` and never `by`,
ratios are never averaged, only divided sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from telemetry.alerting.promql.labels import TARGET, labels_of
from telemetry.alerting.promql.model import (
    Aggregate,
    Binary,
    Expr,
    Function,
    Latched,
    Matching,
    Number,
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
    without,
)
from telemetry.catalogue.metrics import BY_NAME

EMULATOR: Final = "127.0.0.1:9464"
"""Where `fabric serve` listens unless --listen says otherwise."""
NOMINAL_DILATION: Final = 15_000
"""Wall seconds per simulated second for which windows and `for` are written: 1 ms takes 15 s, one scrape interval."""
SCRAPE_S: Final = 15
"""Nominal seconds between two scrapes, and between two evaluations."""
MINUTE_S: Final = 60
LOWEST_DILATION: Final = 10
"""Scrapes every 10 ms."""
HIGHEST_DILATION: Final = 280_000
"""Scrapes every 280 s: Prometheus forgets a sample 300 s after its scrape (LOOKBACK_S), whatever the rules say."""


def timing(dilation: float) -> Timing:
    """The scale of nominal seconds for a dilation."""
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


def at_port(of: Expr, vector: str, *labels: str) -> Expr:
    """Rows of `of` at ports that `vector` (of value 1) lists, with `labels` copied from it."""
    return Binary(Symbol.MULTIPLY, of, select(vector), Matching(PORT, labels))


def at_peer(of: Expr) -> Expr:
    """Rows of ports under the names of the ports at the other ends of their cables."""
    named = at_port(of, "fabric_port_info", "peer_device", "peer_port")
    moved = Relabel(Relabel(named, "device", "peer_device"), "port", "peer_port")
    return Aggregate(Operator.MAX, moved, ("peer_device", "peer_port"))


def _per_simulated_second(of: Expr) -> Expr:
    return Binary(Symbol.DIVIDE, of, select(SIMULATED), Matching(("instance",), ()))


def _total(of: Expr, *gone: str) -> Expr:
    return Aggregate(Operator.SUM, of, gone)


def _mean(of: str, over: str) -> Expr:
    """Growth of one counter over that of another in five minutes; absent where the other did not grow."""
    return Binary(Symbol.DIVIDE, rate(select(of), 5 * MINUTE_S), above(rate(select(over), 5 * MINUTE_S), 0))


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
BUSBW: Final = "workload_operation_algorithm_kind:fabric_collective_bus_bytes:ratio_rate5m"
STRAGGLER: Final = "workload:fabric_job_straggler:ratio_rate5m"
STEP: Final = "workload:fabric_job_step_seconds:ratio_rate5m"
SILENT: Final = "device:fabric_switch_silent:info"
SILENT_CABLE: Final = "device_port:fabric_cable_silent:info"

ONE_FRAME: Final = 0.5
"""Between no frame and one: increase() of whole numbers is no whole number."""
SPARE_BYTES: Final = 20_000
"""Two frames of 9,216 B: one that is being sent is counted at its sender alone, and one may be at each sample."""
ONE_SENDER: Final = 1
"""One silent cable is the cable; a switch is silent from two senders on."""


def _frames(counter: str, pauses: str) -> Expr:
    """Frames of a minute without those of PFC: hardware that forwards nothing may still send and take them."""
    return Binary(Symbol.SUBTRACT, increase(select(counter), MINUTE_S), increase(select(pauses), MINUTE_S))


def _sessions_back() -> Expr:
    """BGP sessions that came up within a minute: their messages arrive, which no counter of frames may have."""
    state = select("fabric_bgp_peer_state", {"state": "established"})
    was_down = Binary(Symbol.LESS, Over(Function.MIN, state, MINUTE_S), Number(ONE_FRAME))
    return both(above(state, ONE_FRAME), was_down, "instance", "device", "peer")


_DEVICE_OF: Final = "([^:]*).*"
"""A peer with several sessions has its ports in its name: leaf1:Ethernet4."""


def _silent() -> Latched:
    """Switches to which neighbours sent frames within a minute, and which received none since; with their number.

    Neighbours stop sending when sessions expire and queue pairs give up, and the switch hangs all the same. So it stays
    silent until it receives something, a neighbour has a session with it again, or no cable of it has carrier: then it
    is down. Without samples of it nothing is known, and it stays as it was, for an hour.
    """
    switch = ("instance", "device")
    sent = _frames("fabric_port_transmit_packets_total", "fabric_port_transmit_pause_frames_total")
    got = _frames("fabric_port_receive_packets_total", "fabric_port_receive_pause_frames_total")
    received = Aggregate(Operator.SUM, got, ("port",))
    senders = above(Aggregate(Operator.COUNT, above(at_peer(sent), ONE_FRAME), ("port",)), ONE_SENDER)
    none = Binary(Symbol.AT_MOST, received, Number(ONE_FRAME))
    hosts = select("fabric_device_info", {"role": "host"})
    carrier = Aggregate(Operator.MAX, at_peer(select("fabric_port_up")), ("port",))
    no_carrier = Binary(Symbol.LESS, carrier, Number(ONE_FRAME))
    back = Relabel(Aggregate(Operator.MAX, _sessions_back(), ("device", "state")), "device", "peer", _DEVICE_OF)
    still = without(without(select(SILENT), above(received, ONE_FRAME), *switch), no_carrier, *switch)
    still = without(still, back, *switch)
    return Latched(
        without(both(senders, none, *switch), hosts, *switch),
        both(still, Over(Function.MAX, select("fabric_device_info"), 60 * MINUTE_S), *switch),
    )


def sent_less_on_the_way(window_s: int) -> Expr:
    """Bytes that the other end of each port's cable sent within a window, less those that a full cable holds.

    Both ends must be read at the same moment, as one exporter does: monitoring that polls each device at its own time
    has no fabric_port_arrival_delay_seconds, and there are no rows.
    """
    speed, delay = select("fabric_port_speed_bytes_per_second"), select("fabric_port_arrival_delay_seconds")
    sent = increase(select("fabric_port_transmit_bytes_total"), window_s)
    return at_peer(Binary(Symbol.SUBTRACT, sent, Binary(Symbol.MULTIPLY, speed, delay)))


def _silent_cable() -> Latched:
    """Ports of switches to which another switch sent frames within a minute, and which received none since; with bytes.

    Routes then avoid the cable, so that nobody sends on it any more, and it is as silent as before: until the port
    receives something, has no carrier, or its switches have a session again. A host may have nothing to say, so its
    cable is not among these.
    """
    received = increase(select("fabric_port_receive_bytes_total"), MINUTE_S)
    hosts = select("fabric_device_info", {"role": "host"})
    sent = above(sent_less_on_the_way(MINUTE_S), SPARE_BYTES)
    none = both(sent, Binary(Symbol.AT_MOST, received, Number(ONE_FRAME)), *PORT)
    down = Binary(Symbol.LESS, select("fabric_port_up"), Number(1))
    back = Relabel(_sessions_back(), "peer_device", "peer", _DEVICE_OF)
    used = both(select("fabric_port_info"), back, "instance", "device", "peer_device")
    still = without(without(select(SILENT_CABLE), above(received, ONE_FRAME), *PORT), down, *PORT)
    still = without(still, used, *PORT)
    of_switches = without(without(none, select(TO_HOST), *PORT), hosts, "instance", "device")
    return Latched(
        without(of_switches, down, *PORT),
        both(still, Over(Function.MAX, select("fabric_device_info"), 60 * MINUTE_S), "instance", "device"),
    )


RECORDINGS: Final = (
    Recording(
        SIMULATED,
        rate(select("fabric_sim_elapsed_seconds_total"), MINUTE_S),
        "Simulated seconds per second of wall time: the inverse of the dilation that is achieved.",
    ),
    Recording(
        PAUSED,
        _per_simulated_second(rate(select("fabric_pfc_receive_paused_seconds_total"), MINUTE_S)),
        "Share of the last minute in which a priority was paused at a port.",
    ),
    Recording(
        UTILIZATION,
        _per_simulated_second(rate(select("fabric_port_transmit_busy_seconds_total"), MINUTE_S)),
        "Share of the last minute in which a port was sending.",
    ),
    Recording(
        MARKED,
        Binary(
            Symbol.DIVIDE,
            rate(select("fabric_ecn_marked_packets_total"), MINUTE_S),
            above(rate(select("fabric_ecn_eligible_packets_total"), MINUTE_S), 0),
        ),
        "Share of the ECN-capable packets that a queue marked; absent where it sent none.",
    ),
    Recording(
        XOFFS,
        _total(increase(select("fabric_pg_xoff_episodes_total"), MINUTE_S), "port", "priority"),
        "Times that a switch sent XOFF to a neighbour in the last minute.",
    ),
    Recording(
        MARKS,
        _total(increase(select("fabric_ecn_marked_packets_total"), MINUTE_S), "port", "queue"),
        "Packets that a switch marked in the last minute.",
    ),
    Recording(
        HEADROOM,
        Binary(
            Symbol.DIVIDE,
            Over(Function.MAX, select("fabric_pg_headroom_watermark_bytes"), MINUTE_S),
            above(select("fabric_pg_headroom_limit_bytes"), 0),
            Matching(PORT_PRIORITY, ()),
        ),
        "Highest share of a priority group's headroom in use within the last minute.",
    ),
    Recording(
        TO_HOST,
        both(
            select("fabric_port_info"),
            Relabel(select("fabric_device_info", {"role": "host"}), "peer_device", "device"),
            "instance",
            "peer_device",
        ),
        "Ports of switches whose cable ends at a host.",
    ),
    Recording(
        MEMBER,
        Binary(
            Symbol.DIVIDE,
            _per_simulated_second(_total(rate(select("fabric_ecmp_member_bytes_total"), MINUTE_S), "group")),
            select("fabric_port_speed_bytes_per_second"),
            Matching(PORT, ()),
        ),
        "Share of its line rate that a port sent as a member of groups of equal-cost next hops.",
    ),
    Recording(
        IMBALANCE,
        Binary(
            Symbol.DIVIDE,
            Aggregate(Operator.MAX, recorded(MEMBER), ("port",)),
            above(Aggregate(Operator.AVG, recorded(MEMBER), ("port",)), 0),
        ),
        "Busiest uplink of a device over the mean of its uplinks; 1 is perfect balance.",
    ),
    Recording(
        BUSBW,
        _mean("fabric_collective_bus_bytes_total", "fabric_collective_active_seconds_total"),
        "Bus bandwidth of the operations that ended in the last five minutes, weighted by their durations.",
    ),
    Recording(
        STRAGGLER,
        _mean("fabric_job_computation_seconds_total", "fabric_job_median_computation_seconds_total"),
        "Computation of the slowest rank over that of the median rank in the steps of the last five minutes.",
    ),
    Recording(
        STEP,
        _mean("fabric_job_step_seconds_total", "fabric_job_steps_total"),
        "Mean simulated duration of the steps that ended in the last five minutes.",
    ),
    Recording(
        SILENT,
        _silent(),
        "Switches that received nothing of what two neighbours or more sent, and nothing since; value: their number.",
    ),
    Recording(
        SILENT_CABLE,
        _silent_cable(),
        "Ports between switches that received nothing of what the other end sent, and nothing since; value: bytes.",
    ),
)
"""In order of evaluation: a rule may read those before it."""


def known_labels() -> Mapping[str, frozenset[str]]:
    """Every name that a rule may read, with the labels of its series. Raises: UnknownNameError for a wrong rule."""
    known = {name: frozenset(spec.labels) | TARGET for name, spec in BY_NAME.items()}
    for rule in RECORDINGS:
        known[rule.name] = labels_of(rule.expr, known)
    return known
