"""Source routes: a NIC chooses the path of each packet of a queue pair, data and answers, and writes it on the packet.

Rules
1. The packet gets an outer IPv6 header whose destination is the list of segments of the route, one for each switch
   (End.X with NEXT-CSID, RFC 9800 section 4.1.2) and at last that of the NIC that removes the header (H.Encaps.Red,
   RFC 8986 section 5.2). Sizes of frames have it from the start (FrameParams).
2. The next route is taken from those that are not withdrawn, each in turn; or a queue pair keeps its route, and takes
   another one while that is withdrawn (codes.RouteChoice). Where packets leave by several ports of the NIC, it is the
   next one of those from that port (host/nic_ports).
3. The outer header has the DSCP, ECN and hop limit of the inner one. Switches mark the outer header, and the NIC that
   removes it copies the mark to the inner one (RFC 6040 section 4).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import nic_ports
from fabric.dataplane.state.codes import PacketFlag, RouteChoice
from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import HOP_BITS, State

_OUTER = int(PacketFlag.ENCAP) | int(PacketFlag.ROUTED)
_QUEUE_PAIR = int(RouteChoice.QUEUE_PAIR)
u = np.uint32


@kernel
def route_of(state: State, number: int, turn: int) -> int:
    """Row of State.routes for a turn among the routes of a set."""
    row = state.route_sets[number]
    first = i64(row["first"])
    if state.config[0]["route_choice"] == _QUEUE_PAIR:
        own = first + turn % i64(row["count"])
        if state.routes[own]["withdrawn"] == 0:
            return own
    return first + i64(state.routes[first + turn % i64(row["live"])]["order"])


@kernel
def encapsulate(state: State, device: int, port: int, packet: np.uint32, sender: int) -> None:
    """Add the outer header to a packet that leaves by a host port; sender: row of State.route_turns."""
    frame, n_hosts = state.packets[packet], i64(state.config[0]["n_hosts"])
    switch = i64(state.ports[u(port)]["peer_node"])
    number = i64(state.route_set_of[(switch - n_hosts) * n_hosts + i64(frame["dst"])])
    place = sender
    if nic_ports.several(state):
        place = sender * i64(state.config[0]["nic_ports"]) + port - i64(state.devices[device]["first_port"])
        nic_ports.left_by(state, device, sender, port)
    turn = i64(state.route_turns[place])
    if state.config[0]["route_choice"] != _QUEUE_PAIR:
        state.route_turns[place] = turn + 1 & 0xFFFFFFFF
    frame["words"] = i64(state.routes[route_of(state, number, turn)]["place"]) << HOP_BITS
    frame["flags"] = i64(frame["flags"]) | _OUTER
    frame["inner_tos"] = i64(frame["dscp"]) << 2 | i64(frame["ecn"])
    frame["classes"] = frame["ttl"]
    state.hosts[device]["source_routed_pkts"] += 1
