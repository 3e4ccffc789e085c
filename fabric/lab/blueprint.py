"""What a plan of routers is in FRR and Linux: configuration of both daemons of each router, and devices of each VTEP.

The same plan drives the emulated control plane, so what is rendered here is what that model claims to be. A design that
cannot be rendered faithfully is refused, never simplified in silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Final

from fabric.control.config import NS_PER_S, ControlConfig, Design
from fabric.control.plan import ControlPlan, Endpoint, Interface, Router
from fabric.control.speakers import CLIENT_WEIGHT, address_text, peer_name
from fabric.errors import InputErrors, Problem

VXLAN_PORT: Final = 4789
VXLAN_TOS: Final = 0x20
"""Not zero, or Linux pins one route per remote VTEP and all its flows take one spine."""
MAX_ARP_ENTRIES: Final = 400
"""The kernel's table of neighbours is shared by all namespaces; above gc_thresh2, 512, entries are evicted."""
_INTERFACE_NAME_LIMIT: Final = 15


def problems_of(plan: ControlPlan, config: ControlConfig) -> list[Problem]:
    """Why a plan cannot be built here; nothing where it can."""
    found = []
    if config.policies:
        found.append(Problem("bgp.policies", "policies are not rendered as route-maps", "leave them out"))
    tenants = sorted({vrf.name for router in plan.routers for vrf in router.vrfs})
    if tenants:
        found.append(Problem("vxlan.tenants", f"an l3_vni needs VRFs, which are not rendered ({', '.join(tenants)})",
                             "leave out l3_vni and routed"))
    entries = 2 * len(plan.cables) + 2 * len(plan.endpoints)
    if entries > MAX_ARP_ENTRIES:
        found.append(Problem("topology", f"{entries} ARP entries are more than one kernel keeps ({MAX_ARP_ENTRIES})",
                             "take a smaller fabric: all namespaces share one table"))
    names = {it.name for it in plan.interfaces} | {name for it in plan.endpoints for _, name, _ in it.attachments}
    found += [Problem("topology", f"'{name}' is no name for a Linux interface",
                      "at most 15 characters; no '/', ':' or space")
              for name in sorted(names) if len(name) > _INTERFACE_NAME_LIMIT or set(name) & {"/", " ", ":"}]
    return found


def check(plan: ControlPlan, config: ControlConfig) -> None:
    """Raise InputErrors with every reason why a plan cannot be built here."""
    problems = problems_of(plan, config)
    if problems:
        raise InputErrors("laboratory", problems)


def zebra_config(router: Router) -> str:
    """zebra.conf. Without kernel next hop objects: FRR 8.4 does not repair a group after a link flap."""
    return f"frr defaults datacenter\nhostname {router.name}\nno zebra nexthop kernel enable\n"


def bgpd_config(plan: ControlPlan, router: Router, config: ControlConfig) -> str:
    """bgpd.conf of one router."""
    return "\n".join(_bgpd(plan, router, config)) + "\n"


def _bgpd(plan: ControlPlan, router: Router, config: ControlConfig) -> Iterator[str]:
    internal = config.design is Design.IBGP_RR
    peers = [(plan.interfaces[plan.interfaces[row].peer], plan.peer(row)) for row in router.interfaces]
    keepalive_s, hold_s = (max(1, it // NS_PER_S) for it in (config.keepalive_ns, config.hold_ns))
    retry_s = max(1, config.connect_retry_ns // NS_PER_S)
    yield from ("frr defaults datacenter", f"hostname {router.name}", f"router bgp {router.asn}",
                f" bgp router-id {address_text(router.router_id)}", " no bgp default ipv4-unicast")
    if config.multipath_relax:
        yield " bgp bestpath as-path multipath-relax"
    if len(router.networks) > 1:
        yield " no bgp network import-check"       # hosts' subnets have no interface here
    yield f" timers bgp {keepalive_s} {hold_s}"
    yield " neighbor FABRIC peer-group"
    yield f" neighbor FABRIC timers connect {retry_s}"
    if config.mrai_ns:
        yield f" neighbor FABRIC advertisement-interval {max(1, config.mrai_ns // NS_PER_S)}"
    names = [peer_name(plan, plan.interfaces[row], config) for row in router.interfaces]
    kind = "interface " if config.unnumbered else ""
    for name, (_, peer) in zip(names, peers, strict=True):
        yield f" neighbor {name} {kind}remote-as {peer.asn}"
        yield f" neighbor {name} {kind}peer-group FABRIC"
    clients = [name for name, (_, peer) in zip(names, peers, strict=True) if plan.is_client(router, peer)]
    yield " address-family ipv4 unicast"
    yield from (f"  network {IPv4Address(address)}/{length}" for address, length in router.networks)
    yield "  neighbor FABRIC activate"
    yield f"  maximum-paths {'ibgp ' if internal else ''}{config.max_paths}"
    if internal:
        yield "  neighbor FABRIC next-hop-self force"
    yield from _client_lines(clients)
    yield " exit-address-family"
    if plan.overlay:
        yield " address-family l2vpn evpn"
        yield "  neighbor FABRIC activate"
        yield from _client_lines(clients)
        if router.vnis:
            yield "  advertise-all-vni"
        elif not internal:
            yield "  neighbor FABRIC attribute-unchanged next-hop"
        yield " exit-address-family"
    yield "exit"
    if clients:
        # What comes from below wins: prefer_clients() of fabric/control/speakers.py says why.
        yield from ("route-map CLIENT permit 10", f" set weight {CLIENT_WEIGHT}", "exit")


def _client_lines(clients: Sequence[str]) -> Iterator[str]:
    for client in clients:
        yield f"  neighbor {client} route-reflector-client"
        yield f"  neighbor {client} route-map CLIENT in"


def subnet_of(endpoints: Sequence[Endpoint]) -> IPv4Network:
    """The smallest network, /30 or larger, that holds all hosts of a VNI: they are neighbours on one link."""
    addresses = [int(IPv4Address(it.ip)) for it in endpoints]
    length = 32 - max((min(addresses) ^ max(addresses)).bit_length(), 2)
    network = ip_network((addresses[0], length), strict=False)
    if not isinstance(network, IPv4Network):
        raise TypeError("an IPv4 address makes an IPv4 network")
    return network


def interface_ends(plan: ControlPlan) -> Iterator[tuple[Interface, Interface]]:
    """Both ends of every cable."""
    for cable in plan.cables:
        yield plan.interfaces[cable.a], plan.interfaces[cable.b]
