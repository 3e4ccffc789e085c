"""Every root cause of a run, what to do first at the top.

Stages follow a network from the cable up: cables and switches, control plane, losses, pauses and queues. A stage leaves
out what an earlier one explains: packets without a route at a switch that hangs, sessions over a dead link, a queue
towards a link that became slower, or that is slower than its peers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabric.topology.model import Fabric
from telemetry.diagnosis.cables import cable_roots
from telemetry.diagnosis.control import control_roots
from telemetry.diagnosis.early_marks import KMAX, KMIN, PMAX, early_marks
from telemetry.diagnosis.losses import loss_roots
from telemetry.diagnosis.queues import pause_roots
from telemetry.diagnosis.root import Kind, Root
from telemetry.diagnosis.slow_links import is_at_slow_cable, of_one_switch, slow_link_roots
from telemetry.diagnosis.view import View
from telemetry.diagnosis.waits import waits
from telemetry.record.store import Store

_OUTAGES: Final = frozenset({Kind.LINK_DOWN, Kind.LINK_FLAP})
_NO_CARRIER: Final = _OUTAGES | {Kind.SWITCH_DOWN}
_REROUTING: Final = _NO_CARRIER | {Kind.SWITCH_HANG, Kind.BGP_DOWN}
"""After these, routes move: packets may lack one for a while, and what is left of a tier is fuller."""
_LOSING: Final = frozenset({Kind.SILENT_LOSS, Kind.BAD_OPTIC})
_ROUTELESS: Final = _REROUTING | {Kind.EVPN_LOSS, Kind.MAC_MOVE}
"""After these, a device that they touch may lack a route."""
_WITHDRAWING_NS: Final = 2_000_000
"""Half a minute of an operator, at the pace of docs/alerts.md, for a withdrawal to leave."""
_PEER_STATE: Final = "fabric_bgp_peer_state"
_LOAD: Final = frozenset(
    {Kind.OVERSUBSCRIPTION, Kind.POLARISED, Kind.ELEPHANTS, Kind.INCAST, Kind.MICROBURST, Kind.SLOW_LINK}
)


METRICS: Final = (
    "fabric_port_transmit_packets_total",
    "fabric_port_transmit_bytes_total",
    "fabric_port_receive_packets_total",
    "fabric_port_receive_bytes_total",
    "fabric_port_up",
    "fabric_port_transmit_busy_seconds_total",
    "fabric_port_speed_bytes_per_second",
    "fabric_port_down_seconds_total",
    "fabric_port_lost_packets_total",
    "fabric_port_fcs_errors_total",
    "fabric_priority_receive_packets_total",
    "fabric_dropped_packets_total",
    "fabric_pfc_receive_paused_seconds_total",
    "fabric_pfc_transmit_paused_seconds_total",
    "fabric_pfcwd_storms_detected_total",
    "fabric_pfcwd_storms_restored_total",
    "fabric_queue_watermark_bytes",
    "fabric_queue_transmit_packets_total",
    "fabric_ecn_marked_packets_total",
    KMIN,
    KMAX,
    PMAX,
    "fabric_pg_lossless",
    "fabric_pg_headroom_limit_bytes",
    "fabric_pg_xoff_episodes_total",
    "fabric_rnic_cnp_handled_packets_total",
    "fabric_rnic_cnp_ignored_packets_total",
    "fabric_rnic_cnp_sent_packets_total",
    "fabric_rnic_rate_cuts_total",
    "fabric_rnic_retransmitted_packets_total",
    "fabric_rnic_active_queue_pairs",
    "fabric_rnic_receive_buffer_peak_bytes",
    "fabric_job_straggler_ratio",
    _PEER_STATE,
    "fabric_bgp_prefixes",
    "fabric_evpn_routes",
    "fabric_evpn_mac_moves_total",
    "fabric_arp_requests_total",
    "fabric_arp_requests_flooded_total",
)
"""All that a diagnosis reads."""
FALLBACKS: Final = (
    "fabric_pg_dropped_packets_total",
    "fabric_pfc_transmit_frames_total",
    "fabric_pfc_receive_resume_total",
)
"""Read where monitoring lacks others."""


def diagnose(store: Store, fabric: Fabric, missing: frozenset[str] = frozenset()) -> list[Root]:
    """Root causes from recorded metrics alone.

    Parameters
    ----------
    store : at least METRICS, all on one grid of samples, as a run records them
    fabric : the topology
    missing : metrics that the monitoring in use does not have (seen.py)

    Returns: roots, those that lose or stop traffic first (Root.rank), then by time.
    """
    view = View(store, fabric, missing)
    if view.size < 2:
        return []
    cables = list(cable_roots(view))
    broken = frozenset(device for it in cables if it.kind in _NO_CARRIER | {Kind.SWITCH_HANG} for device in _dead(it))
    losing = [it for it in cables if it.kind in _LOSING]
    control = list(control_roots(view, broken))
    hung = {it.device: it.began_ns for it in cables if it.kind is Kind.SWITCH_HANG}
    moving = [it for it in (*cables, *control) if it.kind in _REROUTING]
    routeless = [it for it in (*cables, *control) if it.kind in _ROUTELESS]
    cut_off = [it for it in routeless if _cuts_off(view, it, cables)]
    losses = [
        it
        for it in loss_roots(view, hung)
        if not (it.kind is Kind.BLACK_HOLE and (_follows(it, routeless) or _meanwhile(it, cut_off)))
    ]
    slower = [it for it in cables if it.kind is Kind.LANES_LOST]
    hanging = [it for it in cables if it.kind is Kind.SWITCH_HANG]
    lasting = [it for it in slow_link_roots(view) if not _explained(it, moving, ())]
    pauses = [
        of_one_switch(view, it)
        for it in (*pause_roots(view, waits(view)), *early_marks(view))
        if not _explained(it, moving, slower)
        and not _towards(view, it, hanging)
        and not (it.kind in _LOAD and is_at_slow_cable(view, it, lasting))
    ]
    found = [*cables, *(it for it in control if not _over(it, losing)), *losses, *lasting, *pauses]
    return sorted(found, key=lambda it: (it.rank, it.began_ns, it.kind.value, it.place))


def _over(root: Root, losing: Sequence[Root]) -> bool:
    """Whether the only session that was lost is over a cable that loses frames."""
    return root.kind is Kind.BGP_DOWN and any(
        it.devices == root.devices and it.began_ns <= root.began_ns for it in losing
    )


def _dead(root: Root) -> Sequence[str]:
    """Devices whose sessions a root takes away: of a link both ends, of a switch the switch."""
    return (root.device,) if root.kind in {Kind.SWITCH_DOWN, Kind.SWITCH_HANG} else sorted(root.devices)


def _follows(root: Root, causes: Sequence[Root]) -> bool:
    """Whether losses began after a cause that touches the device, or in the same interval. The first move of an address
    may not count, only the way back, so packets may have no next hop before the first one; and a leaf that loses its
    hosts discards what is for them before it has withdrawn their routes.
    """
    return any(
        root.device in it.devices
        and (
            it.began_ns <= root.began_ns
            or (it.kind is Kind.MAC_MOVE and it.began_ns <= root.ended_ns)
            or (it.kind is Kind.EVPN_LOSS and it.began_ns - _WITHDRAWING_NS <= root.began_ns)
        )
        for it in causes
    )


def _cuts_off(view: View, cause: Root, cables: Sequence[Root]) -> bool:
    """Whether no switch has a route to some host any more, because the only switch of that host is down, hangs, or lost
    every session, or because each of the host's own cables is down. Then every other switch discards packets for that
    host.
    """
    if cause.kind in _OUTAGES:
        down = [it for it in cables if it.kind in _OUTAGES]
        return any(
            len(view.fabric.network_ports(host.id)) <= sum(host.name in it.devices for it in down)
            for host in view.fabric.hosts
            if host.name in cause.devices
        )
    if cause.kind is Kind.BGP_DOWN:
        peers = {labels["peer"] for labels, _ in view.series(_PEER_STATE, device=cause.device)}
        if not peers or not peers <= set(cause.members):
            return False
    elif cause.kind not in {Kind.SWITCH_DOWN, Kind.SWITCH_HANG}:
        return False
    return any({view.device(view.peer(int(it))) for it in host.ports} == {cause.device} for host in view.fabric.hosts)


def _meanwhile(root: Root, causes: Sequence[Root]) -> bool:
    """Whether losses began while a cause lasted, or in its first interval."""
    return any(it.began_ns <= root.began_ns <= it.ended_ns for it in causes)


def _towards(view: View, root: Root, hanging: Sequence[Root]) -> bool:
    """Whether a queue leads to a switch that hangs: what it marks never arrives, so nobody slows down for it."""
    if not root.port or root.kind not in _LOAD | {Kind.ECN_WRONG, Kind.CC_OFF}:
        return False
    port = next(it.id for it in view.fabric.ports if view.name(int(it.id)) == f"{root.device}:{root.port}")
    return any(view.device(view.peer(int(port))) == it.device and it.began_ns <= root.ended_ns for it in hanging)


def _explained(root: Root, moving: Sequence[Root], slower: Sequence[Root]) -> bool:
    """Whether a queue is full because a link is slower, or because others of its tier are gone."""
    if root.kind not in _LOAD:
        return False
    if any({root.device} & it.devices and it.began_ns <= root.ended_ns for it in slower):
        return True
    return any(it.began_ns <= root.ended_ns and root.began_ns <= it.ended_ns for it in moving)
