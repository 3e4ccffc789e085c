"""Leaves of OpenConfig models.

Sources: openconfig-interfaces, openconfig-if-ethernet, openconfig-qos and openconfig-network-instance (which has the
nodes of openconfig-bgp) of github.com/openconfig/public. `ecn-marked-pkts` of a queue is documented by NVIDIA for
Cumulus Linux ("gNMI Streaming") and used by collectors; it is served under the name of openconfig-qos.

Deviations: a model's other leaves are absent, and there is no config. `admin-status`, `last-change` and `peer-as` are
among them: no metric tells a port that an operator has shut from a broken one, and none has times or AS numbers. PFC
has no leaf of its own in these models: the frames are counted as MAC pause frames. A queue's name is its number, a
neighbour's address the name that the metrics have for the peer: the remote device, with its port where two devices have
several sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from telemetry.gnmi.leaf import Form, Leaf, Source

MODELS: Final[Mapping[str, str]] = {
    "openconfig-interfaces": "3.0.0",
    "openconfig-if-ethernet": "2.12.0",
    "openconfig-qos": "0.8.0",
    "openconfig-network-instance": "4.0.0",
}
"""Modules, and versions that have every leaf below."""
ROOTS: Final[Mapping[str, str]] = {
    "interfaces": "openconfig-interfaces",
    "qos": "openconfig-qos",
    "network-instances": "openconfig-network-instance",
}
"""Top-level containers, and their modules."""
AUGMENTED: Final[Mapping[str, str]] = {"ethernet": "openconfig-if-ethernet"}
"""Nodes that another module adds to its parent: from there on its name is theirs (RFC 7951 section 4)."""
SOFTWARE: Final = "network-instances"
"""Root of what software processes do: data of the type OPERATIONAL (gNMI specification section 3.3.1)."""

_GBPS: Final = (10, 25, 40, 50, 100, 200, 400, 800)
_FAMILIES: Final = {"ipv4-unicast": "IPV4_UNICAST", "l2vpn-evpn": "L2VPN_EVPN"}

_INTERFACE: Final = "/interfaces/interface[name={port}]"
_COUNTERS: Final = f"{_INTERFACE}/state/counters"
_ETHERNET: Final = f"{_INTERFACE}/ethernet/state"
_PORT: Final = "/qos/interfaces/interface[interface-id={port}]"
_QUEUE: Final = f"{_PORT}/output/queues/queue[name={{queue}}]"
_NEIGHBOUR: Final = (
    "/network-instances/network-instance[name=default]/protocols/protocol[identifier=BGP][name=BGP]/bgp/neighbors"
    "/neighbor[neighbor-address={peer}]"
)
_FAMILY: Final = f"{_NEIGHBOUR}/afi-safis/afi-safi[afi-safi-name={{family}}]"


def _status(source: Source) -> str:
    return "UP" if source.value else "DOWN"


def _speed(source: Source) -> str:
    gbps = source.value * 8 / 1e9
    return f"openconfig-if-ethernet:SPEED_{f'{gbps:g}GB' if gbps in _GBPS else 'UNKNOWN'}"


def _state(source: Source) -> str | None:
    """One sample per state: the one that is 1 names it."""
    return source.labels["state"].upper() if source.value else None


def _stands(source: Source) -> int:
    """1 while the session is in Established: it came up once more often than it was left."""
    return int(source.labels["state"] == "established" and source.value)


def _named(path: str, metric: str, label: str) -> Leaf:
    """A leaf that repeats a key of its list."""
    return Leaf(path, metric, Form.STRING, text=lambda source: source.labels[label])


def _family(path: str) -> Leaf:
    def name(source: Source) -> str:
        return f"openconfig-bgp-types:{_FAMILIES[source.labels['family']]}"

    return Leaf(path, "fabric_bgp_prefixes", Form.IDENTITY, text=name, keys={"family": _FAMILIES})


# fmt: off
LEAVES: Final = (
    _named(f"{_INTERFACE}/name", "fabric_port_up", "port"),
    _named(f"{_INTERFACE}/state/name", "fabric_port_up", "port"),
    Leaf(f"{_INTERFACE}/state/oper-status", "fabric_port_up", Form.STRING, text=_status),
    Leaf(f"{_COUNTERS}/in-octets", "fabric_port_receive_bytes_total"),
    Leaf(f"{_COUNTERS}/in-pkts", "fabric_port_receive_packets_total", note="with PFC frames"),
    Leaf(f"{_COUNTERS}/in-fcs-errors", "fabric_port_fcs_errors_total"),
    Leaf(f"{_COUNTERS}/out-octets", "fabric_port_transmit_bytes_total"),
    Leaf(f"{_COUNTERS}/out-pkts", "fabric_port_transmit_packets_total", note="with PFC frames"),
    Leaf(f"{_COUNTERS}/out-discards", "fabric_queue_dropped_packets_total", note="sum of the port's queues"),
    Leaf(f"{_ETHERNET}/port-speed", "fabric_port_speed_bytes_per_second", Form.IDENTITY, text=_speed),
    Leaf(f"{_ETHERNET}/counters/in-mac-pause-frames", "fabric_port_receive_pause_frames_total", note="PFC frames"),
    Leaf(f"{_ETHERNET}/counters/out-mac-pause-frames", "fabric_port_transmit_pause_frames_total", note="PFC frames"),
    _named(f"{_PORT}/interface-id", "fabric_port_up", "port"),
    _named(f"{_QUEUE}/name", "fabric_queue_transmit_packets_total", "queue"),
    _named(f"{_QUEUE}/state/name", "fabric_queue_transmit_packets_total", "queue"),
    Leaf(f"{_QUEUE}/state/transmit-pkts", "fabric_queue_transmit_packets_total"),
    Leaf(f"{_QUEUE}/state/transmit-octets", "fabric_queue_transmit_bytes_total"),
    Leaf(f"{_QUEUE}/state/dropped-pkts", "fabric_queue_dropped_packets_total"),
    Leaf(f"{_QUEUE}/state/dropped-octets", "fabric_queue_dropped_bytes_total"),
    Leaf(f"{_QUEUE}/state/ecn-marked-pkts", "fabric_ecn_marked_packets_total"),
    Leaf(f"{_QUEUE}/state/max-queue-len", "fabric_queue_peak_bytes", note="since the start of the pass"),
    _named(f"{_NEIGHBOUR}/neighbor-address", "fabric_bgp_peer_flaps_total", "peer"),
    _named(f"{_NEIGHBOUR}/state/neighbor-address", "fabric_bgp_peer_flaps_total", "peer"),
    Leaf(f"{_NEIGHBOUR}/state/session-state", "fabric_bgp_peer_state", Form.STRING, text=_state),
    Leaf(f"{_NEIGHBOUR}/state/established-transitions", "fabric_bgp_peer_flaps_total", note="sum: left"),
    Leaf(f"{_NEIGHBOUR}/state/established-transitions", "fabric_bgp_peer_state", text=_stands, note="sum: stands"),
    _family(f"{_FAMILY}/afi-safi-name"),
    _family(f"{_FAMILY}/state/afi-safi-name"),
    Leaf(f"{_FAMILY}/state/prefixes/received", "fabric_bgp_prefixes", Form.UINT32, keys={"family": _FAMILIES}),
)
# fmt: on
