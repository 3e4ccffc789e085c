"""The alerts: few, on symptoms an operator can act on, each with a runbook and measured thresholds (docs/alerts.md).

An alert's name, severity and annotations follow the conventions of the monitoring mixins: `summary` is a fixed
sentence, `description` names the place and the value. `root_device` is the device to look at. Every alert that
can name one has it, because Alertmanager joins alerts only by labels that both have.

Those of frames that are lost without congestion, and of links, are in losses.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from telemetry.alerting import losses, rules
from telemetry.alerting.alert import Alert, Severity
from telemetry.alerting.promql.model import (
    Aggregate,
    Binary,
    Expr,
    Function,
    Matching,
    Number,
    Operator,
    Over,
    Relabel,
    Symbol,
    above,
    both,
    increase,
    select,
    without,
)
from telemetry.alerting.rules import MINUTE_S, PORT, PORT_PRIORITY, at_port, recorded

STOPPED_RATIO: Final = 0.95
"""Above it a port is stopped permanently; below it the port is slowed."""
PAUSED_RATIO: Final = 0.05
BUSY_RATIO: Final = 0.1
"""Uplinks below this mean utilisation are idle, and balance means nothing."""
DRAIN_S: Final = 180
"""How long a fabric may still pause after the cause is gone, nominal seconds: 12 ms of simulated time, in which queues
and the backlog of the senders drain. Measured: 6, 10 and 9 ms after storms of 10, 20 and 40 ms, with senders that offer
half of the stopped port's rate in an open loop (docs/decisions/0034)."""


def _unless_idle(of: Expr) -> Expr:
    """Rows of `of` (at ports towards a host) without those whose host has an empty receive buffer."""
    return without(of, Relabel(_IDLE, "peer_device", "device"), "instance", "peer_device")


def _if_idle(of: Expr) -> Expr:
    """Rows of `of` (at ports towards a host) whose host has an empty receive buffer."""
    return both(of, Relabel(_IDLE, "peer_device", "device"), "instance", "peer_device")


def _host_pauses(limit: float) -> Expr:
    """Ports towards hosts that are paused for more than `limit` of the time, also permanently: an upper bound would let
    this alert and FabricPfcStorm be pending in turn, each reset by the other, and neither would fire.
    """
    return at_port(above(_PAUSED, limit), rules.TO_HOST, "peer_device")


def _watchdog(counter: str, limit: float, *gone: str) -> Expr:
    """Growth of a counter of the PFC watchdog within five minutes where a storm begins, by queue and class in it.

    The number of a queue is no priority: a switch may put class 3 into queue 4. What waits behind the queue upstream
    is paused by the priority of its packets, and the inhibitions join by that.
    """

    def grown(minutes: int) -> Expr:
        found = increase(select(counter), minutes * _MINUTE)
        return _by_class(above(Aggregate(Operator.SUM, found, gone) if gone else found, limit))

    return _where_it_begins(grown(5), Binary(Symbol.OR, grown(10), _STOPPED, Matching(PORT_PRIORITY)))


def _flaps(limit: float) -> Expr:
    """Queues at which the watchdog detected more than `limit` storms within ten minutes, where they begin."""

    def more(minutes: int) -> Expr:
        return _by_class(above(increase(select(_DETECTED), minutes * _MINUTE), limit))

    return _where_it_begins(more(10), more(20))


def _by_class(queues: Expr) -> Expr:
    """Rows of queues under the watchdog, with the class that the switch puts into each."""
    return Binary(Symbol.MULTIPLY, select("fabric_pfcwd_queue_info"), queues, Matching((*PORT, "queue"), ()))


def _where_it_begins(queues: Expr, storms: Expr) -> Expr:
    """Rows of queues, with the device at the other end; without those towards switches while a port towards a host has
    a row of `storms` of the same class, so that there is an alert about that host.

    A port that stays paused fills its switch, which then pauses its neighbours just as long: the watchdog of each of
    them detects a storm and drops, and the device at its other end is a victim, not the origin. Their last drops come
    while the fabric drains (DRAIN_S), so `storms` looks back twice as long. Storms between switches alone, as in a
    cycle, have rows; beside the storm of a host they have them when it is over.
    """
    of_hosts = both(storms, select(rules.TO_HOST), *PORT)
    spread = both(without(queues, select(rules.TO_HOST), *PORT), of_hosts, "instance", "priority")
    return at_port(without(queues, spread, *PORT, "queue"), "fabric_port_info", "peer_device")


_DETECTED: Final = "fabric_pfcwd_storms_detected_total"
_PAUSED: Final = recorded(rules.PAUSED)
_HOSTS: Final = select("fabric_device_info", {"role": "host"})
_MINUTE: Final = MINUTE_S
_STOPPED: Final = above(Over(Function.MAX, select(rules.PAUSED), 5 * _MINUTE), STOPPED_RATIO)
"""Ports that were stopped permanently at some time in the last five minutes. When a storm begins or ends, its share of
the last minute passes through every value between 0 and 1; that is not a slow receiver. One such minute is enough for
FabricPfcStorm, so a port is never left to neither."""
_IDLE: Final = Binary(
    Symbol.EQUAL, Over(Function.MAX, select("fabric_rnic_receive_buffer_peak_bytes"), 5 * _MINUTE), Number(0)
)
"""Hosts whose receive buffer stayed empty. Absent where hosts are not polled. The peak is reset by every pass of a
looped run, hence the maximum over five minutes."""
_IGNORED: Final = increase(select("fabric_rnic_cnp_ignored_packets_total"), _MINUTE)
_HANDLED: Final = increase(select("fabric_rnic_cnp_handled_packets_total"), _MINUTE)
_FLOODED: Final = increase(select("fabric_arp_requests_flooded_total"), _MINUTE)
_SUPPRESSED: Final = increase(select("fabric_arp_requests_suppressed_total"), _MINUTE)


def _evpn_loss(limit: float) -> Expr:
    """EVPN routes now over the maximum of the last hour, of the type and at the switch that lost most, below `limit`.

    A VTEP that is gone is missing at all other switches, and must be one page: at the device that lost every session,
    so that it is the page of that device's other alerts. Where there is no such device, a session, a policy or an
    announcement may be the cause, and the row has no device.
    """
    share = Binary(
        Symbol.DIVIDE,
        select("fabric_evpn_routes"),
        above(Over(Function.MAX, select("fabric_evpn_routes"), 60 * _MINUTE), 0),
    )
    lost = Binary(Symbol.LESS, Aggregate(Operator.MIN, share, ("device", "route_type")), Number(limit))
    gone = _without_sessions()
    at_device = Binary(Symbol.ADD, gone, lost, Matching(("instance",), ()))
    return Binary(Symbol.OR, at_device, lost, Matching(("instance",)))


def _without_sessions() -> Expr:
    """Devices with which no other device has a session, of value 0, by those that have one with another device: a
    device that has none itself knows nothing of its peers.
    """
    up = select("fabric_bgp_peer_state", {"state": "established"})
    alive = above(Aggregate(Operator.MAX, up, ("peer", "state")), 0)
    # A device with several sessions has their ports in its name: leaf1:Ethernet4.
    by_peer = Aggregate(Operator.MAX, both(up, alive, "instance", "device"), ("device",))
    seen = Relabel(by_peer, "device", "peer", "([^:]*).*")
    return Binary(Symbol.EQUAL, Aggregate(Operator.MAX, seen, ("peer", "state")), Number(0))


def _speed_share() -> Expr:
    """Speed over the configured one: both of one moment, so another run before this one says nothing."""
    return Binary(
        Symbol.DIVIDE,
        select("fabric_port_speed_bytes_per_second"),
        select("fabric_port_configured_speed_bytes_per_second"),
    )


ALERTS: Final = (
    Alert(
        "FabricPfcStorm",
        lambda limit: at_port(
            above(Over(Function.MAX, select(rules.PAUSED), _MINUTE), limit), rules.TO_HOST, "peer_device"
        ),
        STOPPED_RATIO,
        30,
        Severity.CRITICAL,
        "A host keeps its switch port paused permanently.",
        "{peer_device} kept {device}:{port} from sending priority {priority} for {value:percent} of the last "
        "{last:60}.",
        "fabric-pfc-storm",
        "peer_device",
        "A receiver that takes 5 % of its line rate still drains its queue; a slower one stops the fabric as a broken "
        "NIC does.",
        "percent",
    ),
    Alert(
        "FabricPfcwdDrop",
        lambda limit: _watchdog("fabric_pfcwd_dropped_packets_total", limit, "direction"),
        0,
        0,
        Severity.CRITICAL,
        "The PFC watchdog contained a storm and dropped packets of a lossless priority.",
        "The watchdog of {device}:{port} dropped {value:count} packets of queue {queue}, which has priority "
        "{priority}, within {last:300}, because {peer_device} at the other end pauses without end.",
        "fabric-pfc-storm",
        "peer_device",
        "Lossless means none. A storm that the watchdog contains is too short for FabricPfcStorm, and costs packets.",
    ),
    Alert(
        "FabricPfcDeadlock",
        lambda limit: above(select("fabric_pfc_deadlock"), limit),
        0,
        30,
        Severity.CRITICAL,
        "Paused queues wait for each other in a cycle.",
        "Paused queues wait for each other in a cycle, which does not resolve without intervention.",
        "fabric-pfc-storm",
        "",
        "A cycle in one sample may be transient; a cycle that is still there two scrapes later is not.",
    ),
    Alert(
        "FabricLosslessDrop",
        lambda limit: both(
            above(increase(select("fabric_pg_dropped_packets_total"), 5 * _MINUTE), limit),
            Binary(Symbol.EQUAL, select("fabric_pg_lossless"), Number(1)),
            *PORT_PRIORITY,
        ),
        0,
        0,
        Severity.CRITICAL,
        "A lossless priority group dropped packets.",
        "{device}:{port} dropped {value:count} packets of lossless priority {priority} within {last:300}: headroom is "
        "short, or the neighbour obeys no PFC, or a switch before it has another DSCP map.",
        "fabric-buffers",
        "device",
        "Lossless means none: one packet is too many.",
    ),
    Alert(
        "FabricEvpnRouteLoss",
        _evpn_loss,
        0.9,
        60,
        Severity.CRITICAL,
        "Switches lost EVPN routes.",
        "A switch holds only {value:percent} of the EVPN routes of one type that it held within the last {last:3600}"
        "[; {device} has lost every session].",
        "fabric-evpn-bgp",
        "device",
        "Hosts come and go one by one; losing a tenth at once means that a VTEP or a session is gone.",
    ),
    *losses.PAGES,
    Alert(
        "FabricSlowReceiver",
        lambda limit: without(_unless_idle(_host_pauses(limit)), _STOPPED, *PORT_PRIORITY),
        0.1,
        90,
        Severity.WARNING,
        "A host takes less than its line rate and pauses its switch.",
        "{peer_device} has paused {device}:{port} priority {priority} for {value:percent} of the last {last:60}.",
        "fabric-pfc-storm",
        "peer_device",
        "A healthy host never pauses its switch, so any share above rounding separates; 10 % deserves attention.",
        "percent",
    ),
    Alert(
        "FabricBrokenNic",
        lambda limit: _if_idle(_host_pauses(limit)),
        0.1,
        90,
        Severity.WARNING,
        "A host pauses its switch although its receive buffer is empty.",
        "{peer_device} has paused {device}:{port} priority {priority} for {value:percent} of the last {last:60}, and "
        "its receive buffer was empty throughout.",
        "fabric-pfc-storm",
        "peer_device",
        "A NIC sends XOFF when its receive buffer fills; a NIC that sends it with an empty buffer is broken.",
        "percent",
    ),
    Alert(
        "FabricPfcPauseRatioHigh",
        lambda limit: above(_PAUSED, limit),
        PAUSED_RATIO,
        2 * _MINUTE,
        Severity.WARNING,
        "A port is paused for much of the time.",
        "{device}:{port} was kept from sending priority {priority} for {value:percent} of the last {last:60}.",
        "fabric-pfc-storm",
        "",
        "Bursts that ECN then slows down pause a port for less, and for less than two minutes.",
        "percent",
        settle_s=DRAIN_S,
    ),
    Alert(
        "FabricPfcwdStorm",
        lambda limit: _watchdog(_DETECTED, limit),
        0,
        2 * _MINUTE,
        Severity.WARNING,
        "The PFC watchdog detected a storm.",
        "Storms at queue {queue} (priority {priority}) that the watchdog of {device}:{port} detected within "
        "{last:300}: {value:count}; {peer_device} is at the other end.",
        "fabric-pfc-storm",
        "peer_device",
        "One detected storm is one device that pauses without end. An alert about its cost fires first: two minutes.",
    ),
    Alert(
        "FabricPfcwdFlapping",
        _flaps,
        5.5,
        0,
        Severity.WARNING,
        "The PFC watchdog detects storms at one queue again and again.",
        "The watchdog of {device}:{port} queue {queue} detected {value:count} storms within {last:600}; {peer_device} "
        "is at the other end.",
        "fabric-pfc-storm",
        "peer_device",
        "One storm is one detection; six in ten minutes mean an intermittent fault (5.5: increase() extrapolates).",
        "ratio",
    ),
    Alert(
        "FabricHeadroomNearlyFull",
        lambda limit: above(recorded(rules.HEADROOM), limit),
        0.8,
        60,
        Severity.WARNING,
        "Headroom is nearly full; when it is full, lossless packets are dropped.",
        "{device}:{port} used {value:percent} of the headroom of priority {priority}.",
        "fabric-buffers",
        "device",
        "Headroom of the computed size keeps a fifth in reserve.",
        "percent",
    ),
    Alert(
        "FabricEcnNeverMarks",
        lambda limit: without(
            above(recorded(rules.XOFFS), limit), above(recorded(rules.MARKS), 0), "instance", "device"
        ),
        0,
        5 * _MINUTE,
        Severity.WARNING,
        "A switch pauses its neighbours and marks nothing.",
        "{device} sent XOFF {value:count} times within {last:60} and marked no packet: senders get no signal to "
        "slow down.",
        "fabric-congestion",
        "device",
        "Where marking works, a queue that is deep enough for XOFF has marked packets long before.",
        settle_s=DRAIN_S,
    ),
    Alert(
        "FabricPfcBeforeEcn",
        lambda limit: above(Binary(Symbol.DIVIDE, recorded(rules.XOFFS), above(recorded(rules.MARKS), 0)), limit),
        1,
        5 * _MINUTE,
        Severity.WARNING,
        "A switch pauses before it marks.",
        "{device} sent {value:ratio} XOFF per marked packet: its ECN thresholds lie too high for its buffer.",
        "fabric-congestion",
        "device",
        "Marks far outnumber XOFFs where Kmin is below XOFF, also where the pause of another device fills the queue.",
        "ratio",
        settle_s=DRAIN_S,
    ),
    Alert(
        "FabricVictimFlows",
        lambda limit: both(
            at_port(both(above(_PAUSED, limit), _HOSTS, "instance", "device"), "fabric_port_info", "peer_device"),
            Relabel(above(Aggregate(Operator.MAX, _PAUSED, ("port",)), limit), "peer_device", "device"),
            "instance",
            "peer_device",
            "priority",
        ),
        PAUSED_RATIO,
        2 * _MINUTE,
        Severity.WARNING,
        "A host is paused because of congestion beyond its own switch.",
        "{device} was paused for {value:percent} of the last {last:60} by {peer_device}, which is paused itself: all "
        "its flows of priority {priority} wait, for any destination.",
        "fabric-congestion",
        "",
        "A switch that is congested itself is not paused; a paused switch passes on congestion from elsewhere.",
        "percent",
        settle_s=DRAIN_S,
    ),
    Alert(
        "FabricEcmpImbalance",
        lambda limit: both(
            above(recorded(rules.IMBALANCE), limit),
            above(Aggregate(Operator.AVG, recorded(rules.MEMBER), ("port",)), BUSY_RATIO),
            "instance",
            "device",
        ),
        1.75,
        5 * _MINUTE,
        Severity.WARNING,
        "Equal-cost uplinks carry very different loads.",
        "The busiest uplink of {device} carries {value:ratio} times the mean of its uplinks.",
        "fabric-ecmp",
        "device",
        "Many flows of similar size stay well below; few large flows, or a polarised hash, do not.",
        "ratio",
        settle_s=DRAIN_S,
    ),
    Alert(
        "FabricRnicOutOfSequence",
        lambda limit: above(increase(select("fabric_rnic_out_of_sequence_packets_total"), _MINUTE), limit),
        0,
        5 * _MINUTE,
        Severity.WARNING,
        "A host receives packets out of sequence.",
        "{device} received {value:count} packets out of sequence within {last:60}: some were lost in the fabric.",
        "fabric-hosts",
        "",
        "A healthy fabric keeps a queue pair on one path and loses nothing.",
        settle_s=_MINUTE,
    ),
    Alert(
        "FabricCnpIgnored",
        lambda limit: above(Binary(Symbol.DIVIDE, _IGNORED, above(Binary(Symbol.ADD, _IGNORED, _HANDLED), 0)), limit),
        0.5,
        5 * _MINUTE,
        Severity.WARNING,
        "A host does not slow down for most congestion notifications.",
        "{device} ignored {value:percent} of the CNPs of the last {last:60}.",
        "fabric-hosts",
        "device",
        "A CNP within the decrease interval of the last cut is ignored: some are normal, most are not.",
        "percent",
    ),
    Alert(
        "FabricFcsErrors",
        lambda limit: at_port(
            above(increase(select("fabric_port_fcs_errors_total"), 5 * _MINUTE), limit),
            "fabric_port_info",
            "peer_device",
            "peer_port",
        ),
        0,
        60,
        Severity.WARNING,
        "Frames arrive damaged.",
        "{device}:{port} received {value:count} damaged frames within {last:300} from {peer_device}:{peer_port}.",
        "fabric-overview",
        "device",
        "FEC corrects what healthy optics produce.",
        one_cable=True,
    ),
    losses.SILENT_LOSS,
    Alert(
        "FabricLinkDegraded",
        lambda limit: at_port(
            Binary(Symbol.LESS, _speed_share(), Number(limit)), "fabric_port_info", "peer_device", "peer_port"
        ),
        1,
        60,
        Severity.WARNING,
        "A link is slower than it is configured.",
        "{device}:{port} runs at {value:percent} of its configured speed: it lost lanes; {peer_device}:{peer_port} is "
        "at the other end.",
        "fabric-overview",
        "device",
        "A port runs at the speed that it is configured for, or it lost lanes.",
        one_cable=True,
    ),
    Alert(
        "FabricStragglerRank",
        lambda limit: above(recorded(rules.STRAGGLER), limit),
        1.2,
        60,
        Severity.WARNING,
        "One rank of a job computes longer than the others.",
        "The slowest rank of {workload} computes {value:ratio} times as long as its median rank: all others wait.",
        "fabric-jobs",
        "",
        "Even ranks differ by some percent; a GPU that lowers its clock, or whose host is busy, by a fifth and more.",
        "ratio",
    ),
    Alert(
        "FabricCollectiveBusbwLow",
        lambda limit: Binary(
            Symbol.LESS,
            Binary(Symbol.DIVIDE, recorded(rules.BUSBW), Over(Function.MAX, select(rules.BUSBW), 60 * _MINUTE)),
            Number(limit),
        ),
        0.8,
        60,
        Severity.WARNING,
        "The bus bandwidth of a collective operation fell.",
        "{operation} of {workload} has {value:percent} of its highest bus bandwidth of the last {last:3600}.",
        "fabric-jobs",
        "",
        "Messages of one size repeat, so bandwidth is steady; a link without one of its four lanes leaves 75 %.",
    ),
    Alert(
        "FabricJobSlowdown",
        lambda limit: above(
            Binary(Symbol.DIVIDE, recorded(rules.STEP), Over(Function.MIN, select(rules.STEP), 60 * _MINUTE)), limit
        ),
        1.15,
        60,
        Severity.WARNING,
        "The steps of a job became longer.",
        "A step of {workload} takes {value:ratio} times as long as the shortest mean of the last {last:3600}.",
        "fabric-jobs",
        "",
        "A completion time up to 1.15 times the ideal is acceptable (draft-calabria-bmwg-ai-fabric-training-bench).",
        "ratio",
    ),
    Alert(
        "FabricLinkDown",
        lambda limit: at_port(
            Binary(Symbol.LESS, select("fabric_port_up"), Number(limit)), "fabric_port_info", "peer_device", "peer_port"
        ),
        1,
        30,
        Severity.WARNING,
        "A link is down.",
        "{device}:{port} is down; {peer_device}:{peer_port} is at the other end of its cable.",
        "fabric-overview",
        "device",
        "Redundant paths carry the traffic, so this does not page; a flap shorter than two scrapes shows only in "
        "counters.",
    ),
    losses.LINK_FLAPPING,
    Alert(
        "FabricBgpPeerDown",
        lambda limit: Binary(Symbol.LESS, select("fabric_bgp_peer_state", {"state": "established"}), Number(limit)),
        1,
        60,
        Severity.WARNING,
        "A BGP session is not established.",
        "{device} has no BGP session with {peer}.",
        "fabric-evpn-bgp",
        "peer",
        "A session that restarts comes back within its hold time; a session that is away for longer is down.",
        settle_s=_MINUTE,
    ),
    Alert(
        "FabricArpFloodHigh",
        lambda limit: above(
            Binary(Symbol.DIVIDE, _FLOODED, above(Binary(Symbol.ADD, _FLOODED, _SUPPRESSED), 0)), limit
        ),
        0.5,
        60,
        Severity.WARNING,
        "A VTEP floods most ARP requests.",
        "{device} flooded {value:percent} of the ARP requests of VNI {vni} within the last {last:60}.",
        "fabric-evpn-bgp",
        "device",
        "Suppression answers for every host that EVPN knows; requests are flooded for unknown hosts, or because "
        "suppression is off.",
        settle_s=_MINUTE,
    ),
)
"""In order of severity; docs/runbooks has a page for each."""

BY_NAME: Final[Mapping[str, Alert]] = {alert.name: alert for alert in ALERTS}
