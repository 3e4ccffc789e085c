"""A recorded lab: its topology as a plan, its stages as dated events, its tables in the format of fabric/lab."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from ipaddress import IPv4Interface
from pathlib import Path

from fabric.controlplane.evpn.config import VniConfig
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import Bfd, ControlConfig
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import Cable, ControlPlan, Endpoint, Interface, Router, VniPlan
from fabric.lab.observed import arranged
from fabric.lab.tables import Json, Tables
from tests.recordings import FRR

S = 1_000_000_000


def labs() -> list[Path]:
    """Recorded labs with a comparison view."""
    return sorted(path.parent for path in FRR.glob("*/distilled.json"))


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
            interfaces.append(
                Interface(
                    first + side,
                    row_of[link[end]],
                    link[f"{end}_if"],
                    int(address.ip),
                    address.network.prefixlen,
                    len(cables),
                    first + 1 - side,
                    first + side,
                    link[f"{end}_mac"],
                )
            )
        cables.append(Cable(len(cables), first, first + 1, 1000, len(cables)))
    routers = [
        Router(
            row,
            node["name"],
            node["asn"],
            number(node["router_id"]),
            number(node["loopback"]),
            tier=1 if node["role"] == "leaf" else 2,
            reflector=False,
            interfaces=tuple(it.row for it in interfaces if it.router == row),
            networks=((number(node["loopback"]), 32),),
            vnis=tuple(
                VniPlan(vni["vni"], "default", topology["options"]["neigh_suppress"]) for vni in node.get("vnis", ())
            ),
        )
        for row, node in enumerate(nodes)
    ]
    ports = len(interfaces)
    endpoints = tuple(
        Endpoint(
            name,
            host["mac"],
            host["ip"].partition("/")[0],
            host["vni"],
            ((row_of[host["leaf"]], host["port"], ports + index),),
        )
        for index, (name, host) in enumerate(stages[0]["hosts"].items())
    )
    return ControlPlan(tuple(routers), tuple(interfaces), tuple(cables), endpoints)


def config_of_lab(topology: Json) -> ControlConfig:
    options = topology["options"]
    return ControlConfig(
        max_paths=options["maximum_paths"],
        multipath_relax=options["multipath_relax"],
        unnumbered=options["unnumbered"],
        bfd=Bfd() if options["bfd"] else None,
    )


def simulate(lab: Path) -> Iterator[tuple[str, Network]]:
    """(stage, the network at that stage), ten seconds apart; one network is advanced."""
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
    """Events of links from the stage's text, of hosts from the difference to the stage before."""
    what = stage["what"]
    cables = {
        (plan.routers[plan.interfaces[row].router].name, plan.interfaces[row].name): cable.row
        for cable in plan.cables
        for row in (cable.a, cable.b)
    }
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
        yield from (
            e.HostSeen(at_ns + second * S, host["mac"], host["ip"].partition("/")[0], host["vni"], there, host["port"])
            for second in arps
        )


COMMANDS = {
    "show ip bgp json": "bgp_ipv4",
    "show ip route json": "ip_route",
    "show bgp l2vpn evpn json": "evpn",
    "show bgp l2vpn evpn vni json": "bgp_evpn_vni",
    "show bgp l2vpn evpn import-rt json": "import_rt",
    "show evpn vni json": "evpn_vni",
    "show evpn mac vni all json": "evpn_mac",
    "show evpn arp-cache vni all json": "arp_cache",
}
"""Command -> name of its recorded output."""
EVERYWHERE = {"bgp_ipv4", "ip_route", "evpn"}
"""The other commands are for switches with VNIs."""


def recorded(lab: Path, stage: str) -> dict[str, Tables]:
    """Every switch at a stage, in the format of comparisons."""
    raw = {}
    for file in sorted((lab / stage).glob("*.json")):
        answers = json.loads(file.read_text())
        if "frr" not in answers:
            continue  # of the hosts
        leaf = any(vni.isdecimal() for vni in answers["frr"]["evpn_vni"])
        raw[file.stem] = {
            command: answers["frr"][name] for command, name in COMMANDS.items() if leaf or name in EVERYWHERE
        }
        raw[file.stem] |= {
            "ip -j route": answers["kernel"]["route"],
            "bridge -j fdb": answers["kernel"]["fdb"],
            "ip -j neigh": answers["kernel"]["neigh"],
        }
    vnis = {vni for answers in raw.values() for vni in answers.get("show evpn vni json", {})}
    return arranged(raw, frozenset(VniConfig(int(vni)).bridge_name for vni in vnis))


def distinguishers(lab: Path, stage: str, node: str) -> Json:
    """VNI -> distinguisher, as FRR numbered them."""
    answers = json.loads((lab / stage / f"{node}.json").read_text())["frr"]["bgp_evpn_vni"]
    return {vni: row["rd"] for vni, row in answers.items() if vni.isdecimal()}
