"""Tables of an emulated switch, in the format of tables.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily, address_text
from fabric.controlplane.bgp.attributes import path_text
from fabric.controlplane.bgp.decision import Reason
from fabric.controlplane.bgp.rib import Path
from fabric.controlplane.evpn.config import VniConfig
from fabric.controlplane.evpn.evpn_attributes import community_text
from fabric.controlplane.evpn.evpn_nlri import EVPN, key_of
from fabric.controlplane.evpn.rd import rd_text
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.switch import Switch
from fabric.lab import tables
from fabric.lab.tables import Json, Tables
from fabric.show import evpn as views
from fabric.show.ip_route import ip_route
from fabric.wire.iana import Origin

ONLINK: Final = "169.254.0.1"


def model(network: Network) -> dict[str, Tables]:
    """Tables of every switch whose daemon runs, now."""
    names: dict[str, str] = {}
    for switch in network.switches:
        if switch.vtep is not None:
            names |= tables.distinguishers(views.bgp_evpn_vni(switch.vtep))
    return {switch.router.name: _tables(network, switch, names) for switch in network.switches if switch.daemon_up}


def _tables(network: Network, switch: Switch, names: dict[str, str]) -> Tables:
    found: Tables = {
        "bgp_ipv4": _bgp(switch),
        "rib": _rib(network, switch),
        "kernel_fib": _fib(network, switch),
        "evpn": _evpn(switch, names) if network.plan.overlay else {},
    }
    vtep = switch.vtep
    if vtep is not None:
        bridges = frozenset(VniConfig(vni).bridge_name for vni in vtep.vnis)
        found |= {
            "bgp_vni": tables.bgp_vnis(views.bgp_evpn_vni(vtep)),
            "import_rt": tables.import_targets(views.import_rt(vtep)),
            "evpn_vni": tables.vnis(views.evpn_vni(vtep)),
            "evpn_mac": tables.macs(views.evpn_mac(vtep)),
            "evpn_arp": tables.arps(views.arp_cache(vtep)),
            "kernel_fdb": tables.fdb(views.kernel_fdb(vtep)),
            "kernel_neigh": tables.neighbors(views.kernel_neighbors(vtep), bridges),
        }
    return found


def _paths(switch: Switch, family: AddressFamily) -> Iterator[tuple[bytes, list[tuple[Path, bool, bool]]]]:
    """(key, its paths with the flags 'in use' and 'valid') of every route of any neighbour or this switch."""
    for group in switch.speaker.table(family).groups:
        for key in group.keys:
            decision = switch.speaker.explain(family, key)
            used = {id(path) for path in decision.selection.multipath} if decision.selection is not None else set()
            lost = {id(path) for path, reason in decision.lost if reason is Reason.UNREACHABLE}
            yield (
                key,
                [(path, id(path) in used, id(path) not in lost) for path in switch.speaker.candidates(family, key)],
            )


def _bgp(switch: Switch) -> Json:
    return {
        IPV4_UNICAST.text(key): sorted(
            (
                {
                    "nexthop": address_text(path.next_hop),
                    "path": path_text(path.attributes.as_path),
                    "med": path.attributes.med,
                    "origin": Origin(path.attributes.origin).name,
                    "weight": path.weight,
                    "local_pref": path.attributes.local_pref,
                    "used": used,
                }
                for path, used, _ in paths
            ),
            key=lambda it: str(it["nexthop"]),
        )
        for key, paths in _paths(switch, IPV4_UNICAST)
        if paths
    }


def _evpn(switch: Switch, names: dict[str, str]) -> Json:
    found: Json = {}
    for key, paths in _paths(switch, EVPN):
        view = key_of(key)
        if paths:
            found[f"{names.get(rd_text(view.rd), rd_text(view.rd))} {view.text}"] = sorted(
                (
                    {
                        "nexthop": address_text(path.next_hop),
                        "path": path_text(path.attributes.as_path),
                        "weight": path.weight,
                        "valid": valid,
                        "peer": address_text(path.source.address) if path.source.name else "self",
                        "local_pref": path.attributes.local_pref,
                        "extcomm": sorted(" ".join(map(community_text, path.attributes.ext_communities)).split()),
                    }
                    for path, _, valid in paths
                ),
                key=lambda it: str(it["peer"]),
            )
    return found


def _rib(network: Network, switch: Switch) -> Json:
    return {
        prefix: [
            {
                "proto": route["protocol"],
                "distance": route["distance"],
                "nexthops": sorted(f"{hop.get('ip', 'connected')} {hop['interfaceName']}" for hop in route["nexthops"]),
            }
            for route in routes
        ]
        for prefix, routes in ip_route(network, switch).items()
    }


def _fib(network: Network, switch: Switch) -> Json:
    """Forwarding in hardware: next hops of BGP routes."""
    by_port = {interface.port: interface for interface in network.plan.interfaces}
    found = {}
    for key, ports in switch.routes().items():
        hops = [by_port[port] for port in ports if port in by_port]
        if hops:
            # zebra gives the kernel an IPv4 gateway for an IPv6 next hop, always this one.
            gateways = [
                ONLINK
                if network.config.unnumbered
                else address_text(network.plan.interfaces[it.peer].address.to_bytes(4, "big"))
                for it in hops
            ]
            found[IPV4_UNICAST.text(key)] = sorted(
                f"{address} {it.name}" for address, it in zip(gateways, hops, strict=True)
            )
    return found
