"""A plan of routers in FRR and Linux: configuration of the daemons of each router, and devices of each VTEP.

The same plan drives the emulated control plane, so both describe the same fabric. A design that cannot be rendered
exactly is refused, never simplified without notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Final

from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.controlplane.bgp.config import SpeakerConfig
from fabric.controlplane.bgp.policy import Policy
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.controlplane.network.config import NS_PER_MS, NS_PER_S, Bfd, ControlConfig, Design
from fabric.controlplane.network.plan import ControlPlan, Endpoint, Interface, Router
from fabric.controlplane.network.speakers import PolicyKey, address_text, peer_name, speaker_config
from fabric.errors import InputErrors, Problem
from fabric.lab import routemaps
from fabric.lab.names import INTERFACE_LIMIT
from fabric.lab.netns import has_vrf
from fabric.lab.routemaps import RouteMaps

PROFILE: Final = "fabric"
"""Name of the BFD profile."""
VXLAN_PORT: Final = 4789
VXLAN_TOS: Final = 0x20
"""Not 0: with 0 Linux caches one route per remote VTEP, and all of its flows take one spine."""
MAX_ARP_ENTRIES: Final = 400
"""All namespaces share the kernel's neighbour table; above gc_thresh2, 512, entries are evicted."""
MIN_BFD_MS: Final = 10
"""Smallest interval that bfdd accepts."""
_NO_VRF: Final = "needs a VRF, which {}"
_OF_VRFS: Final = {
    "bgp_evpn_type5": "BGP, EVPN: type-5 routes of tenants' subnets; second labels and router MACs of type-2 routes",
    "tenant_rib": "routing tables of tenants, in zebra and in the kernel",
    "l3_vni": "L3 VNIs, their next hops and router MACs",
    "gateways": "anycast gateways and the MACs that they announce",
}
"""Tables that are left out of a comparison if tenants route."""


def left_out(plan: ControlPlan) -> dict[str, str]:
    """Tables that a comparison here cannot have -> reason; empty if no tenant routes."""
    if not any(router.vrfs for router in plan.routers):
        return {}
    why = _NO_VRF.format("laboratories do not render" if has_vrf() else "this kernel does not have (CONFIG_NET_VRF)")
    return {what: f"{title}: {why}" for what, title in _OF_VRFS.items()}


def bridged(plan: ControlPlan) -> ControlPlan:
    """The plan without routing between subnets: VNIs, MACs and neighbours of tenants without gateways."""
    return replace(
        plan,
        routed=(),
        routers=tuple(
            replace(router, vrfs=(), vnis=tuple(replace(vni, gateway="") for vni in router.vnis))
            for router in plan.routers
        ),
    )


def problems_of(plan: ControlPlan, config: ControlConfig) -> list[Problem]:
    """Reasons why a plan cannot be built here; empty if it can."""
    found = [
        problem
        for number, it in enumerate(config.policies)
        for problem in routemaps.problems_of(it.policy, f"bgp.policies[{number}]")
    ]
    tenants = sorted({vrf.name for router in plan.routers for vrf in router.vrfs})
    if tenants:
        found.append(
            Problem(
                "vxlan.tenants",
                f"an l3_vni needs VRFs, which are not rendered ({', '.join(tenants)})",
                "build the plan of blueprint.bridged()",
            )
        )
    entries = 2 * len(plan.cables) + 2 * len(plan.endpoints)
    if entries > MAX_ARP_ENTRIES:
        found.append(
            Problem(
                "topology",
                f"{entries} ARP entries are more than one kernel keeps ({MAX_ARP_ENTRIES})",
                "take a smaller fabric: all namespaces share one table",
            )
        )
    names = {it.name for it in plan.interfaces} | {name for it in plan.endpoints for _, name, _ in it.attachments}
    found += [
        Problem("topology", f"'{name}' is not a Linux interface name", "at most 15 characters; no '/', ':' or space")
        for name in sorted(names)
        if not 0 < len(name) <= INTERFACE_LIMIT or set(name) & {"/", " ", ":"}
    ]
    return found


def check(plan: ControlPlan, config: ControlConfig) -> None:
    """Raise InputErrors with every reason why a plan cannot be built here."""
    problems = problems_of(plan, config)
    if problems:
        raise InputErrors("laboratory", problems)


def zebra_config(router: Router) -> str:
    """zebra.conf. Without kernel next hop objects: FRR 8.4 does not repair a group after a link flap."""
    return f"frr defaults datacenter\nhostname {router.name}\nno zebra nexthop kernel enable\n"


def bfdd_config(router: Router, bfd: Bfd) -> str:
    """bfdd.conf: the profile that all sessions use."""
    interval_ms = max(MIN_BFD_MS, bfd.interval_ns // NS_PER_MS)
    return (
        f"frr defaults datacenter\nhostname {router.name}\nbfd\n profile {PROFILE}\n"
        f"  transmit-interval {interval_ms}\n  receive-interval {interval_ms}\n"
        f"  detect-multiplier {bfd.multiplier}\n exit\nexit\n"
    )


def bgpd_config(
    plan: ControlPlan,
    router: Router,
    config: ControlConfig,
    policies: Mapping[PolicyKey, Policy] | None = None,
    asns: Mapping[int, int] | None = None,
) -> str:
    """bgpd.conf of one router, with the present policies and AS numbers; None: those of the configuration."""
    if policies is None:
        policies = {(it.router, it.peer, it.direction): it.policy for it in config.policies}
    speaker = speaker_config(plan, router, config, policies, asns or {})
    return "\n".join(_bgpd(plan, router, config, speaker)) + "\n"


def attachments(speaker: SpeakerConfig, maps: RouteMaps) -> Iterator[tuple[str, AddressFamily, str, str]]:
    """(neighbour, family, 'in' or 'out', route-map) of all policies of a speaker."""
    for neighbor in speaker.neighbors:
        for family, its in neighbor.families.items():
            for direction, policy in (("in", its.import_policy), ("out", its.export_policy)):
                name = maps.name(policy, family)
                if name is not None:
                    yield neighbor.name, family, direction, name


def _bgpd(plan: ControlPlan, router: Router, config: ControlConfig, speaker: SpeakerConfig) -> Iterator[str]:
    maps = RouteMaps()
    attached = list(attachments(speaker, maps))
    internal = config.design is Design.IBGP_RR
    peers = [(plan.interfaces[plan.interfaces[row].peer], plan.peer(row)) for row in router.interfaces]
    keepalive_s, hold_s = (max(1, it // NS_PER_S) for it in (config.keepalive_ns, config.hold_ns))
    retry_s = max(1, config.connect_retry_ns // NS_PER_S)
    yield from (
        "frr defaults datacenter",
        f"hostname {router.name}",
        f"router bgp {speaker.asn}",
        f" bgp router-id {address_text(router.router_id)}",
        " no bgp default ipv4-unicast",
    )
    if config.multipath_relax:
        yield " bgp bestpath as-path multipath-relax"
    if config.announce_delay_ns is not None:
        yield f" coalesce-time {config.announce_delay_ns // NS_PER_MS}"
    if len(router.networks) > 1:
        yield " no bgp network import-check"  # hosts' subnets have no interface here
    yield f" timers bgp {keepalive_s} {hold_s}"
    yield " neighbor FABRIC peer-group"
    yield f" neighbor FABRIC timers connect {retry_s}"
    if config.mrai_ns:
        yield f" neighbor FABRIC advertisement-interval {max(1, config.mrai_ns // NS_PER_S)}"
    if config.bfd is not None:
        yield " neighbor FABRIC bfd"
        yield f" neighbor FABRIC bfd profile {PROFILE}"
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
    yield from _family_lines(clients, attached, IPV4_UNICAST)
    yield " exit-address-family"
    if plan.overlay:
        yield " address-family l2vpn evpn"
        yield "  neighbor FABRIC activate"
        yield from _family_lines(clients, attached, EVPN)
        if router.vnis:
            yield "  advertise-all-vni"
        elif not internal:
            yield "  neighbor FABRIC attribute-unchanged next-hop"
        yield " exit-address-family"
    yield "exit"
    yield from maps.lines()


def _family_lines(
    clients: Sequence[str], attached: Sequence[tuple[str, AddressFamily, str, str]], family: AddressFamily
) -> Iterator[str]:
    for client in clients:
        yield f"  neighbor {client} route-reflector-client"
    for neighbor, its, direction, name in attached:
        if its is family:
            yield f"  neighbor {neighbor} route-map {name} {direction}"


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
