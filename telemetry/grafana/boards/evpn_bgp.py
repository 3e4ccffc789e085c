"""The control plane: sessions, routes, address moves, ARP, tunnels."""

from __future__ import annotations

from typing import Final

from telemetry.catalogue.control import BGP_STATES
from telemetry.grafana.clock import clock
from telemetry.grafana.model import Board, Kind, Need, Panel, Quantity, Query, Section, Unit
from telemetry.grafana.queries import DEVICES, INSTANCES, Asking, over

_ASK: Final = Asking(INSTANCES, DEVICES)
_ALL: Final = Asking(INSTANCES)
_PEER: Final = "{{device}} to {{peer}}"
_VNI: Final = "{{device}} VNI {{vni}}"
_STATES: Final = Quantity(f"sum by (instance, state) ({_ASK.rows('fabric_bgp_peer_state')})", Unit.COUNT)
_BROKEN: Final = Quantity(
    f"count by (instance) ({_ASK.rows('fabric_bgp_peer_state', state='established')} == 0) or "
    f"0 * max by (instance) ({_ASK.rows('fabric_bgp_peer_state')})",
    Unit.COUNT,
)
_FLOODED: Final = _ASK.rate("fabric_arp_requests_flooded_total")
_SUPPRESSED: Final = _ASK.rate("fabric_arp_requests_suppressed_total")


def _packets(title: str, name: str, about: str) -> Panel:
    return Panel(title, Kind.LINES, (Query(_ASK.rate(name), _VNI),), about, needs=(Need.OVERLAY,))


BOARD: Final = Board(
    "fabric-evpn-bgp",
    "EVPN and BGP",
    "Sessions, routes, address moves, ARP and tunnels. Has data where a control plane runs.",
    (INSTANCES, DEVICES),
    (
        clock(_ALL),
        Section(
            "BGP",
            (
                Panel(
                    "Session ends not established",
                    Kind.NUMBER,
                    (Query(_BROKEN, ""),),
                    "Each session has two ends.",
                    4,
                    8,
                    (1,),
                    needs=(Need.BGP,),
                ),
                Panel(
                    "Session ends by state",
                    Kind.LINES,
                    (Query(_STATES, "{{state}}"),),
                    f"RFC 4271 section 8.2.2: {', '.join(BGP_STATES)}.",
                    10,
                    needs=(Need.BGP,),
                ),
                Panel(
                    "Flaps",
                    Kind.LINES,
                    (Query(_ASK.now("fabric_bgp_peer_flaps_total"), _PEER),),
                    "Times that a session left Established, since the start.",
                    10,
                    needs=(Need.BGP,),
                ),
                Panel(
                    "Routes by session",
                    Kind.LINES,
                    (Query(_ASK.now("fabric_bgp_prefixes"), f"{_PEER} {{{{family}}}}"),),
                    "Routes that the session received.",
                    needs=(Need.BGP,),
                ),
                Panel(
                    "EVPN routes by type",
                    Kind.LINES,
                    (Query(_ASK.now("fabric_evpn_routes"), "{{device}} {{route_type}}"),),
                    "RFC 7432 section 7 and RFC 9136. A step down is a VTEP or a session that is gone.",
                    needs=(Need.OVERLAY,),
                ),
            ),
        ),
        Section(
            "Overlay",
            (
                Panel(
                    "Addresses that moved",
                    Kind.LINES,
                    (Query(_ASK.now("fabric_evpn_mac_moves_total"), _VNI),),
                    "Since the start (RFC 7432 section 7.7); many moves of few addresses are a loop or a duplicate.",
                    needs=(Need.OVERLAY,),
                ),
                Panel(
                    "Packets without a next hop",
                    Kind.LINES,
                    (Query(_ASK.discarded("no_route"), "{{device}}"),),
                    "Discarded. Where an address moves, these are packets for a host that is not there.",
                ),
                Panel(
                    "Share of ARP requests flooded",
                    Kind.LINES,
                    (Query(over(_FLOODED, Quantity(f"{_FLOODED.expr} + {_SUPPRESSED.expr}", _FLOODED.unit)), _VNI),),
                    "Suppression answers for every host that EVPN knows; the rest is flooded.",
                    limits=(0.5,),
                    top=1,
                    needs=(Need.ARP,),
                ),
                _packets("Packets into tunnels", "fabric_vxlan_encap_packets_total", "VXLAN encapsulation, by VNI."),
                _packets("Packets out of tunnels", "fabric_vxlan_decap_packets_total", "VXLAN decapsulation, by VNI."),
            ),
        ),
    ),
)
"""fabric-evpn-bgp."""
