"""Alerts about frames that are lost without congestion, and about links that come and go.

What a device discards for want of a way, or because it is too large, has a counter at that device. What is lost
silently has none: it is the difference between what one end of a cable has sent and what the other has received.
"""

from __future__ import annotations

from typing import Final

from telemetry.alerting.alert import Alert, Severity
from telemetry.alerting.promql.model import (
    Aggregate,
    Binary,
    Expr,
    Function,
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
from telemetry.alerting.rules import (
    MINUTE_S,
    ONE_FRAME,
    ONE_SENDER,
    PORT,
    SILENT,
    SILENT_CABLE,
    SPARE_BYTES,
    at_peer,
    at_port,
    recorded,
    sent_less_on_the_way,
)

FLAPS: Final = 2.5
"""Outages within ten minutes above which a link flaps; a port that is shut and opened again, also twice, does not."""


def _no_way(limit: float) -> Expr:
    """Packets that a switch discarded within a minute because no route, or a loop, led them nowhere."""
    lost = increase(select("fabric_dropped_packets_total", matching={"reason": "no_route|ttl"}), MINUTE_S)
    return above(Aggregate(Operator.SUM, lost, ("port", "traffic_class", "reason")), limit)


def _no_way_after_moves(limit: float) -> Expr:
    """Packets without a next hop at a switch that has counted moves of MAC addresses within ten minutes."""
    packets = increase(select("fabric_dropped_packets_total", {"reason": "no_route"}), MINUTE_S)
    lost = Aggregate(Operator.SUM, packets, ("port", "traffic_class", "reason"))
    moved = Aggregate(Operator.SUM, increase(select("fabric_evpn_mac_moves_total"), 10 * MINUTE_S), ("vni",))
    return both(above(lost, limit), above(moved, ONE_FRAME), "instance", "device")


def _too_large(limit: float) -> Expr:
    lost = increase(select("fabric_dropped_packets_total", {"reason": "mtu"}), 5 * MINUTE_S)
    return above(Aggregate(Operator.SUM, lost, ("traffic_class", "reason")), limit)


def _switch_down(limit: float) -> Expr:
    """Switches to which more than `limit` ports of neighbours lead, none of which has carrier.

    The neighbours' ports decide, because a switch without power answers no scrape. The alert has the switch in
    `peer_device` as well, where FabricLinkDown of a neighbour's port has it: inhibitions compare labels of one name.
    """
    up = at_peer(select("fabric_port_up"))
    cables = above(Aggregate(Operator.COUNT, up, ("port",)), limit)
    none = Binary(Symbol.LESS, Aggregate(Operator.MAX, up, ("port",)), Number(ONE_FRAME))
    hosts = select("fabric_device_info", {"role": "host"})
    found = without(both(cables, none, "instance", "device"), hosts, "instance", "device")
    return Relabel(found, "peer_device", "device")


def _silent_loss(limit: float) -> Expr:
    """Bytes that did not arrive within three minutes, beyond those that a full cable holds, at ports that kept carrier;
    and ports that have received nothing since nothing arrived.
    """
    received = increase(select("fabric_port_receive_bytes_total"), 3 * MINUTE_S)
    missing = above(Binary(Symbol.SUBTRACT, sent_less_on_the_way(3 * MINUTE_S), received), limit)
    lost = without(missing, above(increase(select("fabric_port_down_seconds_total"), 3 * MINUTE_S), 0), *PORT)
    silent = Binary(Symbol.OR, lost, recorded(SILENT_CABLE))
    return at_port(silent, "fabric_port_info", "peer_device", "peer_port")


def _outages(limit: float) -> Expr:
    """Outages of a link within ten minutes: samples between which it was down, less those at which it was.

    An outage that lasts is one, and so is one that is over before the next sample, which fabric_port_up never shows.
    """
    grown = Over(Function.CHANGES, select("fabric_port_down_seconds_total"), 10 * MINUTE_S)
    samples = Over(Function.COUNT, select("fabric_port_up"), 10 * MINUTE_S)
    up = Over(Function.SUM, select("fabric_port_up"), 10 * MINUTE_S)
    outages = Binary(Symbol.SUBTRACT, grown, Binary(Symbol.SUBTRACT, samples, up))
    return at_port(above(outages, limit), "fabric_port_info", "peer_device", "peer_port")


PAGES: Final = (
    Alert(
        "FabricSwitchDown",
        _switch_down,
        1,
        15,
        Severity.CRITICAL,
        "A switch is down: none of its cables has carrier.",
        "None of {value:count} cables to {device} has carrier.",
        "fabric-overview",
        "device",
        "One cable without carrier is the cable; all of them at once are the switch, its power, or somebody who shut "
        "all of its ports.",
    ),
    Alert(
        "FabricSwitchSilent",
        lambda limit: above(recorded(SILENT), limit),
        ONE_SENDER,
        30,
        Severity.CRITICAL,
        "A switch receives nothing on any of its cables.",
        "{value:count} neighbours sent frames to {device}, and it received none of them and nothing since: it keeps "
        "its carrier and forwards nothing.",
        "fabric-overview",
        "device",
        "One silent cable is the cable; all of them are the switch. A switch that is down, drained or idle is sent "
        "nothing.",
    ),
    Alert(
        "FabricBlackHole",
        _no_way,
        0,
        60,
        Severity.CRITICAL,
        "A switch discards packets because it has no way for them.",
        "{device} discarded {value:count} packets within {last:60} for lack of a next hop, or in a forwarding loop.",
        "fabric-overview",
        "device",
        "Routes that converge lose packets for moments; a table that is wrong loses them for as long as it is.",
        settle_s=MINUTE_S,
    ),
    Alert(
        "FabricMacMoves",
        _no_way_after_moves,
        0,
        60,
        Severity.CRITICAL,
        "Packets are lost where MAC addresses move.",
        "{device} discarded {value:count} packets within {last:60} for lack of a next hop, and has counted moves of "
        "MAC addresses within {last:600}.",
        "fabric-evpn-bgp",
        "device",
        "A host that migrates takes its address along, and routes follow within moments; a copied address or a loop "
        "moves it again and again, and each time packets arrive where the host is not.",
        settle_s=MINUTE_S,
    ),
    Alert(
        "FabricMtuDrops",
        _too_large,
        0,
        30,
        Severity.CRITICAL,
        "Packets are larger than the MTU of a port.",
        "{device}:{port} discarded {value:count} packets within {last:300} because they are larger than its MTU.",
        "fabric-overview",
        "device",
        "A fabric whose MTU fits its largest packet and the encapsulation discards none.",
    ),
)
"""Whole destinations are lost."""

SILENT_LOSS: Final = Alert(
    "FabricSilentLoss",
    _silent_loss,
    SPARE_BYTES,
    60,
    Severity.WARNING,
    "Frames vanish on a link, and no counter has them.",
    "{value:count} bytes that {peer_device}:{peer_port} sent did not arrive at {device}:{port}, and are not on the "
    "cable.",
    "fabric-overview",
    "device",
    "Sent less received is what is on the cable, at most speed times delay, and what is lost.",
    one_cable=True,
)
LINK_FLAPPING: Final = Alert(
    "FabricLinkFlapping",
    _outages,
    FLAPS,
    0,
    Severity.WARNING,
    "A link goes down and comes back again and again.",
    "{device}:{port} lost its carrier {value:count} times within {last:600}; {peer_device}:{peer_port} is at the other "
    "end.",
    "fabric-overview",
    "device",
    "Planned work takes a link down once or twice; a third outage within ten minutes is a plug or an optic.",
)
