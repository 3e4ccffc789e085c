"""Probes of counters of the whole fabric, as the metrics have them at the samples in the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fabric.units import PS_PER_NS
from playbooks.evidence import RunEvidence
from playbooks.probes.base import Probe, Window


def _growth(*metrics: str) -> Callable[[RunEvidence, Window], int]:
    """Growth of counters between the last samples at or before both ends of the window, all series added."""

    def probe(evidence: RunEvidence, window: Window) -> int:
        grown = 0.0
        for metric in metrics:
            for times_ns, values in evidence.store.series(metric).values():
                rows = times_ns.searchsorted([window.since_ps // PS_PER_NS, window.until_ps // PS_PER_NS], "right") - 1
                first, last = (float(values[row]) if row >= 0 else 0.0 for row in rows.tolist())
                grown += last - first
        return round(grown)

    return probe


def _standing(metric: str, **match: str) -> Callable[[RunEvidence, Window], int]:
    """The value of a gauge at the last sample at or before the end of the window, all series added."""

    def probe(evidence: RunEvidence, window: Window) -> int:
        held = 0.0
        for times_ns, values in evidence.store.series(metric, **match).values():
            row = int(times_ns.searchsorted(window.until_ps // PS_PER_NS, "right")) - 1
            held += float(values[row]) if row >= 0 else 0.0
        return round(held)

    return probe


LOST: Final = Probe(
    "count",
    "packets that ports discarded, for any reason, or that were lost on cables",
    _growth("fabric_dropped_packets_total", "fabric_port_lost_packets_total"),
)
DAMAGED: Final = Probe("count", "frames that arrived with a wrong FCS", _growth("fabric_port_fcs_errors_total"))
RESENT: Final = Probe("count", "packets that hosts sent again", _growth("fabric_rnic_retransmitted_packets_total"))
MARKED: Final = Probe("count", "packets that switches marked CE", _growth("fabric_ecn_marked_packets_total"))
XOFFS: Final = Probe(
    "count", "times at which a priority group asked for silence", _growth("fabric_pg_xoff_episodes_total")
)
MAC_MOVES: Final = Probe("count", "moves of MAC addresses that leaves noticed", _growth("fabric_evpn_mac_moves_total"))
SESSIONS: Final = Probe(
    "count",
    "Established BGP sessions at `until`, counted at both ends",
    _standing("fabric_bgp_peer_state", state="established"),
)
ROUTES: Final = Probe(
    "count", "EVPN MAC/IP routes of all switches at `until`", _standing("fabric_evpn_routes", route_type="macip")
)
