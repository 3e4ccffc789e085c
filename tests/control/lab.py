"""A recorded lab as a plan: its topology.json read, its stages turned into dated events, its tables made comparable."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from typing import Any

from fabric.control import events as e
from fabric.control.config import Bfd, ControlConfig
from fabric.control.network import Network
from fabric.control.plan import Cable, ControlPlan, Endpoint, Interface, Router, VniPlan
from fabric.control.switch import Switch
from fabric.control.views import ip_route
from fabric.overlay.evpn_attributes import community_text
from fabric.overlay.evpn_nlri import EVPN, key_of
from fabric.overlay.rd import rd_text
from fabric.overlay.views import arp_cache, bgp_evpn_vni, evpn_mac, evpn_vni, import_rt, kernel_fdb, kernel_neighbors
from fabric.routing.bgp.afi import IPV4_UNICAST, AddressFamily, address_text
from fabric.routing.bgp.attributes import path_text
from fabric.wire.iana import Origin

FRR = Path(__file__).resolve().parents[3] / "shared" / "reference" / "frr"
S = 1_000_000_000
Json = dict[str, Any]


def labs() -> list[Path]:
    """Recorded labs with a comparison view."""
    return sorted(path.parent for path in FRR.glob("*/distilled.json")) if FRR.is_dir() else []


def number(address: str) -> int:
    return int(IPv4Interface(address).ip)


def plan_of_lab(topology: Json, stages: list[Json]) -> ControlPlan:
    """Everything is read from the file: AS numbers, addresses, links, VNIs, hosts; ports count from 0."""
    nodes = topology["nodes"]
    row_of = {node["name"]: row for row, node in enumerate(nodes)}
    interfaces: list[Interface] = []
    cables: list[Cable] = []
    for link in topology["links"]:
        first = len(interfaces)
        for side, end in enumerate("ab"):
            address = IPv4Interface(link[f"{end}_ip"])
            interfaces.append(Interface(first + side, row_of[link[end]], link[f"{end}_if"], int(address.ip),
                                        address.network.prefixlen, len(cables), first + 1 - side, first + side,
                                        link[f"{end}_mac"]))
        cables.append(Cable(len(cables), first, first + 1, 1000, len(cables)))
    routers = [Router(
        row, node["name"], node["asn"], number(node["router_id"]), number(node["loopback"]),
        tier=1 if node["role"] == "leaf" else 2, reflector=False,
        interfaces=tuple(it.row for it in interfaces if it.router == row),
        networks=((number(node["loopback"]), 32),),
        vnis=tuple(VniPlan(vni["vni"], "default", topology["options"]["neigh_suppress"])
                   for vni in node.get("vnis", ()))) for row, node in enumerate(nodes)]
    ports = len(interfaces)
    endpoints = tuple(Endpoint(name, host["mac"], host["ip"].partition("/")[0], host["vni"],
                               ((row_of[host["leaf"]], host["port"], ports + index),))
                      for index, (name, host) in enumerate(stages[0]["hosts"].items()))
    return ControlPlan(tuple(routers), tuple(interfaces), tuple(cables), endpoints)


def config_of_lab(topology: Json) -> ControlConfig:
    options = topology["options"]
    return ControlConfig(max_paths=options["maximum_paths"], multipath_relax=options["multipath_relax"],
                         unnumbered=options["unnumbered"], bfd=Bfd() if options["bfd"] else None)


def play(lab: Path) -> Iterator[tuple[str, Network]]:
    """(stage, the network as it was recorded then), ten seconds apart; the same network is moved on."""
    topology = json.loads((lab / "topology.json").read_text())
    stages = json.loads((lab / "stages.json").read_text())
    plan = plan_of_lab(topology, stages)
    network = Network(plan, config_of_lab(topology))
    network.converge()
    before = stages[0]["hosts"]
    for turn, stage in enumerate(stages):
        network.schedule(events_of(plan, stage, before, turn * 10 * S + S))
        network.advance((turn + 1) * 10 * S)
        before = stage["hosts"]
        yield stage["stage"], network


def events_of(plan: ControlPlan, stage: Json, before: Json, at_ns: int) -> Iterator[e.ControlEvent]:
    """Links as the stage's sentence says, hosts as they differ from the stage before."""
    what = stage["what"]
    cables = {(plan.routers[plan.interfaces[row].router].name, plan.interfaces[row].name): cable.row
              for cable in plan.cables for row in (cable.a, cable.b)}
    for node in re.findall(r"all links of (\w+) admin down", what):
        yield from (e.CableDown(at_ns, cable) for (name, _), cable in cables.items() if name == node)
    yield from (e.CableDown(at_ns, cables[end]) for end in re.findall(r"(\w+):(\w+) set admin down", what))
    yield from (e.CableUp(at_ns, cables[end]) for end in re.findall(r"(\w+):(\w+) up again", what))
    for name, host in stage["hosts"].items():
        old = before[name]
        if (old["leaf"], old["port"]) == (host["leaf"], host["port"]):
            continue
        there = plan.by_name[host["leaf"]].row
        arps = (1,) if "break-before-make" in stage["stage"] else (0, 1, 3)
        if len(arps) == 1:
            yield e.HostGone(at_ns, host["mac"], host["vni"], plan.by_name[old["leaf"]].row)
        yield from (e.HostSeen(at_ns + second * S, host["mac"], host["ip"].partition("/")[0], host["vni"], there,
                               host["port"]) for second in arps)


def paths(switch: Switch, family: AddressFamily) -> Iterator[tuple[bytes, Json]]:
    """(key, one path of it as the comparison view has it), sorted as there."""
    for keys, selection in switch.speaker.loc_rib(family):
        for key in keys:
            used = {id(path) for path in selection.multipath}
            for path in sorted(switch.speaker.candidates(family, key), key=lambda path: path.source.address):
                best = path is selection.best
                yield key, {
                    "best": best, "med": path.attributes.med, "multipath": id(path) in used and not best,
                    "nexthop": address_text(path.next_hop), "origin": Origin(path.attributes.origin).name,
                    "path": path_text(path.attributes.as_path), "weight": path.weight,
                    "peer": address_text(path.source.address) if path.source.name else "self",
                    "extcomm": sorted(map(community_text, path.attributes.ext_communities))}


def tables(network: Network, name: str) -> Json:
    """One switch in the shape of distilled.json."""
    switch = network.switches[network.plan.by_name[name].row]
    ipv4: Json = {}
    for key, path in paths(switch, IPV4_UNICAST):
        ipv4.setdefault(IPV4_UNICAST.text(key), []).append({k: v for k, v in path.items() if k != "extcomm"})
    evpn: Json = {}
    for key, path in paths(switch, EVPN):
        view = key_of(key)
        evpn.setdefault(rd_text(view.rd), {}).setdefault(view.text, []).append(
            {k: v for k, v in path.items() if k not in {"med", "multipath", "origin"}})
    rib = {prefix: [{"distance": it["distance"], "metric": it["metric"], "proto": it["protocol"], "selected": True,
                     "nexthops": [{"dev": hop["interfaceName"], "fib": True, "ip": hop.get("ip")}
                                  for hop in it["nexthops"]]} for it in routes]
           for prefix, routes in ip_route(network, switch).items()}
    return {"bgp_ipv4": ipv4, "evpn": evpn, "rib": rib, **_fib(network, switch), **_overlay(switch)}


def _fib(network: Network, switch: Switch) -> Json:
    """Forwarding as hardware has it: next hops of BGP routes."""
    by_port = {interface.port: interface for interface in network.plan.interfaces}
    found = {}
    for key, ports in switch.routes().items():
        if ports:
            name = str(IPv4Address(key[1:].ljust(4, b"\0"))) + ("" if key[0] == 32 else f"/{key[0]}")
            far = [network.plan.interfaces[by_port[port].peer] for port in ports]
            found[name] = {"nexthops": sorted([str(IPv4Address(it.address)), by_port[port].name]
                                              for it, port in zip(far, ports, strict=True)), "proto": "bgp"}
    return {"kernel_fib": found}


def _overlay(switch: Switch) -> Json:
    vtep = switch.vtep
    if vtep is None:
        return {key: {} for key in ("bgp_vni", "evpn_arp", "evpn_mac", "evpn_vni", "import_rt")} | {
            "kernel_fdb": [], "kernel_neigh": []}
    mac_keys = ("intf", "isDuplicate", "localSequence", "remoteSequence", "remoteVtep", "type")
    arp_keys = ("localSequence", "mac", "remoteSequence", "remoteVtep", "state", "type")
    return {
        "bgp_vni": {vni: {key: row[key] for key in ("exportRTs", "importRTs", "originatorIp", "rd")}
                    for vni, row in bgp_evpn_vni(vtep).items() if vni.isdecimal()},
        "evpn_mac": {vni: {mac: {key: row.get(key) for key in mac_keys} for mac, row in table["macs"].items()}
                     for vni, table in evpn_mac(vtep).items()},
        "evpn_arp": {vni: {ip: {key: row.get(key) for key in arp_keys} for ip, row in table.items()
                           if ip != "numArpNd"} for vni, table in arp_cache(vtep).items()},
        "evpn_vni": {vni: {"arps": row["numArpNd"], "macs": row["numMacs"], "remote_vteps": row["remoteVteps"],
                           "vtep": vtep.config.address} for vni, row in evpn_vni(vtep).items()},
        "import_rt": {text: row["vnis"] for text, row in import_rt(vtep).items()},
        "kernel_fdb": sorted([row["ifname"], row["mac"], row.get("dst") or "",
                              "self" if "self" in row["flags"] else "master",
                              "ext" if "extern_learn" in row["flags"] else row["state"] or "learned"]
                             for row in kernel_fdb(vtep)),
        "kernel_neigh": sorted([row["dst"], row["dev"], row["lladdr"], "ext" if "extern_learn" in row else "local"]
                               for row in kernel_neighbors(vtep))}


def comparable(recorded: Json) -> Json:
    """The recorded view without what no control plane decides.

    Which of equal paths is best depends on the order of arrival, so only the set of paths in use is compared; permanent
    entries are the devices' own MACs; connected routes of the kernel stay at the end that did not lose its cable.
    """
    view = json.loads(json.dumps(recorded))
    for routes in view["bgp_ipv4"].values():
        for path in routes:
            path["used"] = path.pop("best") | path.pop("multipath")
        routes.sort(key=lambda path: IPv4Address(path["nexthop"]))
    for table in view["evpn"].values():
        for routes in table.values():
            assert sum(path.pop("best") for path in routes) == 1
            routes.sort(key=lambda path: path["peer"])
    for routes in view["rib"].values():
        for route in routes:
            route["nexthops"].sort(key=lambda hop: hop["ip"] or "")
    view["kernel_fib"] = {prefix: route for prefix, route in view["kernel_fib"].items() if route["proto"] == "bgp"}
    view["kernel_fdb"] = sorted([dev, mac, dst or "", table, kind] for dev, mac, dst, table, kind in view["kernel_fdb"]
                                if kind != "permanent" or mac == "00:00:00:00:00:00")
    view["kernel_neigh"] = sorted(view["kernel_neigh"])
    return dict(view)
