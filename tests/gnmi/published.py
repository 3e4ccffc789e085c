"""Paths of OpenConfig's published models that the gNMI server uses: lists with their keys, leaves with their types.

Read from release/models of github.com/openconfig/public: openconfig-interfaces 3.0.0, openconfig-if-ethernet 2.12.0,
openconfig-qos 0.8.0 (openconfig-qos-interfaces), openconfig-bgp 9.1.0 (openconfig-bgp-neighbor) below
openconfig-network-instance 4.0.0. A leafref has the type of what it refers to.
"""

from __future__ import annotations

from typing import Final

BGP: Final = "/network-instances/network-instance/protocols/protocol/bgp/neighbors/neighbor"
QUEUE: Final = "/qos/interfaces/interface/output/queues/queue"
LISTS: Final = {
    "/interfaces/interface": ("name",),
    "/qos/interfaces/interface": ("interface-id",),
    QUEUE: ("name",),
    "/network-instances/network-instance": ("name",),
    "/network-instances/network-instance/protocols/protocol": ("identifier", "name"),
    BGP: ("neighbor-address",),
    f"{BGP}/afi-safis/afi-safi": ("afi-safi-name",),
}
TYPES: Final = {
    "/interfaces/interface/name": "string",
    "/interfaces/interface/state/name": "string",
    "/interfaces/interface/state/oper-status": "enumeration",
    "/interfaces/interface/state/counters/in-octets": "counter64",
    "/interfaces/interface/state/counters/in-pkts": "counter64",
    "/interfaces/interface/state/counters/in-fcs-errors": "counter64",
    "/interfaces/interface/state/counters/out-octets": "counter64",
    "/interfaces/interface/state/counters/out-pkts": "counter64",
    "/interfaces/interface/state/counters/out-discards": "counter64",
    "/interfaces/interface/ethernet/state/port-speed": "identityref",
    "/interfaces/interface/ethernet/state/counters/in-mac-pause-frames": "counter64",
    "/interfaces/interface/ethernet/state/counters/out-mac-pause-frames": "counter64",
    "/qos/interfaces/interface/interface-id": "string",
    f"{QUEUE}/name": "string",
    f"{QUEUE}/state/name": "string",
    f"{QUEUE}/state/transmit-pkts": "counter64",
    f"{QUEUE}/state/transmit-octets": "counter64",
    f"{QUEUE}/state/dropped-pkts": "counter64",
    f"{QUEUE}/state/dropped-octets": "counter64",
    f"{QUEUE}/state/max-queue-len": "counter64",
    f"{BGP}/neighbor-address": "ip-address",
    f"{BGP}/state/neighbor-address": "ip-address",
    f"{BGP}/state/session-state": "enumeration",
    f"{BGP}/state/established-transitions": "counter64",
    f"{BGP}/afi-safis/afi-safi/afi-safi-name": "identityref",
    f"{BGP}/afi-safis/afi-safi/state/afi-safi-name": "identityref",
    f"{BGP}/afi-safis/afi-safi/state/prefixes/received": "uint32",
}
SESSION_STATES: Final = {"IDLE", "CONNECT", "ACTIVE", "OPENSENT", "OPENCONFIRM", "ESTABLISHED"}
NOT_PUBLISHED: Final = {f"{QUEUE}/state/ecn-marked-pkts"}
"""Served by switches of a vendor, and said so in telemetry/gnmi/openconfig.py."""
FORMS: Final = {
    "counter64": "uint64", "uint32": "uint32", "identityref": "identityref", "string": "string",
    "enumeration": "string", "ip-address": "string",
}  # fmt: skip
"""Type of a model -> the form in which a leaf is served."""
