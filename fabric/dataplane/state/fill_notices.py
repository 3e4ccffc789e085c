"""Tables of congestion notices (switch/notice): for each port between switches, a row for each port of its peer."""

from __future__ import annotations

from fabric.dataplane.state import types as t
from fabric.dataplane.state.params import EngineParams
from fabric.topology.model import Fabric


def used(params: EngineParams) -> bool:
    """Whether a switch sends notices."""
    return any(switch.notice_bytes for switch in params.switches.values())


def rows(fabric: Fabric, params: EngineParams) -> int:
    """Rows of State.noticed."""
    if not used(params):
        return 1
    peers = (peer for node in fabric.switches for _, peer in fabric.neighbours(node.id))
    return max(sum(peer.n_ports for peer in peers if not peer.is_host), 1)


def fill_notices(state: t.State, fabric: Fabric, params: EngineParams) -> None:
    """Write thresholds of ports between switches, and the slices of State.noticed."""
    if not used(params):
        return
    first = 0
    for node in fabric.switches:
        for port, peer in fabric.neighbours(node.id):
            if not peer.is_host:
                row = state.notices[port.id]
                row["threshold_bytes"] = params.switches[node.id].notice_bytes
                row["first"], row["count"] = first, peer.n_ports
                first += peer.n_ports
