"""The model adopts the order in which equal paths arrived in a real fabric.

If several paths are equal in every clause of the decision process, the oldest one stays the best (RFC 5004; FRR without
`bgp bestpath compare-routerid`). The order of arrival decides which one that is, and it differs between two starts of
one real fabric. It decides what a router advertises, so all further state can differ too: paths of other routers, their
next hop sets, and the tables of zebra, VTEPs and kernels.

So the model takes the best path of the real router among the paths that are equal in the model, and propagates the
consequences. Rows that are equal then differed only by order of arrival; rows that still differ are real differences. A
path that is not equal to the best one in the model is never adopted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily, address_text
from fabric.controlplane.evpn.evpn_nlri import EVPN, key_of
from fabric.controlplane.evpn.rd import rd_text
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.switch import Switch
from fabric.lab import tables
from fabric.lab.observed import EVPN_TABLE, IPV4_TABLE, Answers
from fabric.show import evpn as views

ROUNDS: Final = 12
"""A choice at one router can create new equal paths at the next; no chain of routers is longer than this."""
_SETTLE_NS: Final = 5_000_000_000

Best = Mapping[AddressFamily, Mapping[str, str]]
"""Route as the real router prints it -> address of the neighbour of its best path."""


def best_paths(answers: Answers) -> Best:
    """The best paths of one real router."""
    ipv4 = {
        prefix: path["peerId"]
        for prefix, paths in answers[IPV4_TABLE].get("routes", {}).items()
        for path in paths
        if path.get("bestpath")
    }
    evpn = {
        f"{rd} {name}": path["peerId"]
        for rd, routes in answers.get(EVPN_TABLE, {}).items()
        if isinstance(routes, dict)
        for name, route in routes.items()
        if isinstance(route, dict)
        for path in route["paths"]
        if path.get("bestpath")
    }
    return {IPV4_UNICAST: ipv4, EVPN: evpn}


def adopt_order(network: Network, raw: Mapping[str, Answers]) -> int:
    """Make every router of the model prefer the real router's best path among equal paths, until nothing changes.

    Advances the network by some seconds. Returns the number of changed choices.
    """
    chosen = {node: best_paths(answers) for node, answers in raw.items()}
    real_names: dict[str, str] = {}
    for answers in raw.values():
        real_names |= tables.distinguishers(answers.get("show bgp l2vpn evpn vni json", {}))
    total = 0
    for _ in range(ROUNDS):
        names: dict[str, str] = {}
        for switch in network.switches:
            if switch.vtep is not None:
                names |= tables.distinguishers(views.bgp_evpn_vni(switch.vtep))
        changed = 0
        for switch in network.switches:
            if switch.daemon_up and switch.router.name in chosen:
                changed += _prefer(network, switch, chosen[switch.router.name], names, real_names)
        if not changed:
            break
        total += changed
        network.advance(network.now_ns - network.epoch_ns + _SETTLE_NS)
    return total


def _prefer(
    network: Network, switch: Switch, best: Best, names: Mapping[str, str], real_names: Mapping[str, str]
) -> int:
    of_address = {address_text(peer.source.address): name for name, peer in switch.speaker.peers.items()}
    changed = 0
    for family, routes in best.items():
        if family not in switch.speaker.tables or not routes:
            continue
        by_text = dict(_routes(switch, family, names))
        older = {}
        for text, address in routes.items():
            where = text
            if family is EVPN:
                rd, _, name = text.partition(" ")
                where = f"{real_names.get(rd, rd)} {name}"
            if where in by_text and address in of_address:
                older[by_text[where]] = of_address[address]
        moved, actions = switch.speaker.prefer_older(family, older, network.now_ns)
        changed += moved
        network.perform(switch, actions)
    return changed


def _routes(switch: Switch, family: AddressFamily, names: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Every route of a table by its name in comparisons, and its key."""
    for group in switch.speaker.table(family).groups:
        for key in group.keys:
            if family is EVPN:
                view = key_of(key)
                yield f"{names.get(rd_text(view.rd), rd_text(view.rd))} {view.text}", key
            else:
                yield family.text(key), key
