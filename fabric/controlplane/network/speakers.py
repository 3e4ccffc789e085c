"""Configuration of the BGP speaker of each router of a plan, as an operator would write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.controlplane.bgp.config import Neighbor, PeerFamily, SpeakerConfig
from fabric.controlplane.bgp.policy import ACCEPT_ALL, Policy, Rule, Set
from fabric.controlplane.evpn.addresses import mac_packed
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.controlplane.network.config import NS_PER_S, ControlConfig, Design
from fabric.controlplane.network.plan import ControlPlan, Interface, Router

CLIENT_WEIGHT: Final = 100
PolicyKey = tuple[str, str | None, str]
"""(router, neighbour or None for all, direction)."""


def families(plan: ControlPlan) -> tuple[AddressFamily, ...]:
    """Address families of every session."""
    return (IPV4_UNICAST, EVPN) if plan.overlay else (IPV4_UNICAST,)


def address_text(address: int) -> str:
    """0x0A010101 -> '10.1.1.1'."""
    return str(IPv4Address(address))


def peer_name(plan: ControlPlan, interface: Interface, config: ControlConfig) -> str:
    """A router's name for the neighbour on an interface: its address, or the interface if unnumbered."""
    return interface.name if config.unnumbered else address_text(plan.interfaces[interface.peer].address)


def link_local(interface: Interface) -> str:
    """IPv6 link-local address of an interface: fe80::/64 and the modified EUI-64 of its MAC (RFC 4291 appendix A)."""
    mac = mac_packed(interface.mac)
    return str(IPv6Address(b"\xfe\x80" + bytes(6) + bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]))


def speaker_config(
    plan: ControlPlan,
    router: Router,
    config: ControlConfig,
    policies: Mapping[PolicyKey, Policy],
    asns: Mapping[int, int],
    jitter_key: int | None = None,
) -> SpeakerConfig:
    """The speaker configuration of one router.

    Parameters
    ----------
    policies : mapping      policies in force now, from the configuration or from a later event
    asns : mapping          row of a router -> its present AS number, if it differs from the plan
    jitter_key : int        of its timer jitter (draws.py); None: exact timers
    """
    asn = asns.get(router.row, router.asn)
    neighbors = tuple(_neighbor(plan, router, plan.interfaces[row], config, policies) for row in router.interfaces)
    connected = tuple(
        f"{IPv4Address(plan.interfaces[row].address & ~1)}/31"
        for row in router.interfaces
        if plan.interfaces[row].prefix_len == 31
    )
    interior = tuple(f"{IPv4Address(address)}/{length}" for address, length in router.interior)
    return SpeakerConfig(
        asn=asn,
        router_id=address_text(router.router_id),
        hostname=router.name,
        neighbors=neighbors,
        max_paths={IPV4_UNICAST: config.max_paths},
        multipath_relax=config.multipath_relax,
        connected=() if config.unnumbered else tuple(dict.fromkeys((*connected, *interior))),
        cluster_id=address_text(router.cluster_id) if router.cluster_id else "",
        tracked_families=_tracked(plan, config),
        report_received=(EVPN,) if router.vnis or router.vrfs else (),
        update_delay_ns=config.update_delay_ns,
        announce_delay_ns=config.announce_delay_ns,
        start_delay_ns=config.start_delay_ns,
        resolve_delay_ns=config.fib_delay_ns,
        jitter_key=jitter_key,
    )


def _tracked(plan: ControlPlan, config: ControlConfig) -> tuple[AddressFamily, ...]:
    """Families whose next hops must resolve. FRR tracks all. A single-hop eBGP session ends with its cable, and its
    paths with it, so no resolution is needed there.
    """
    internal = config.design is Design.IBGP_RR or plan.internal_ends
    ipv4 = (IPV4_UNICAST,) if internal and not config.unnumbered else ()
    return (*ipv4, EVPN) if plan.overlay else ipv4


def replaced(
    policies: Mapping[PolicyKey, Policy], router: str, peer: str | None, direction: str, policy: Policy
) -> dict[PolicyKey, Policy]:
    """Add a policy. A policy for all neighbours replaces those for single neighbours."""
    kept = {key: its for key, its in policies.items() if peer is not None or (key[0], key[2]) != (router, direction)}
    return {**kept, (router, peer, direction): policy}


def prefer_clients(policy: Policy) -> Policy:
    """Import policy of a reflector towards a client: paths of clients win over paths from the tier above.

    Paths through the reflectors of the tier above have the same AS_PATH, LOCAL_PREF and metric (with next hop self all
    next hops are neighbours), and multipath ignores the cluster list. Without this policy a spine would send a part of
    its leaf's traffic up again. Weight is local to a router and not advertised.
    """
    rules = tuple(
        replace(rule, set=replace(rule.set, weight=CLIENT_WEIGHT)) if rule.accept and rule.set.weight is None else rule
        for rule in policy.rules
    )
    rest = (Rule(set=Set(weight=CLIENT_WEIGHT)),) if policy.default_accept else ()
    return replace(policy, rules=rules + rest)


def configured_policies(config: ControlConfig) -> dict[PolicyKey, Policy]:
    """The policies of the configuration."""
    return {(it.router, it.peer, it.direction): it.policy for it in config.policies}


def changed_policies(
    config: ControlConfig,
    policies: Mapping[PolicyKey, Policy],
    router: str,
    where: tuple[str | None, str],
    policy: Policy | None,
    others: Sequence[tuple[str | None, Policy]],
) -> dict[PolicyKey, Policy]:
    """The policies in force after a change at one router.

    Parameters
    ----------
    where : (neighbour or None for all, direction)
    policy : Policy or None    None: the configured ones of the direction, then `others`
    others : (neighbour or None for all, policy)    in the order of their start
    """
    peer, direction = where
    if policy is not None:
        return replaced(policies, router, peer, direction, policy)

    def here(key: PolicyKey) -> bool:
        return (key[0], key[2]) == (router, direction)

    found = {key: its for key, its in policies.items() if not here(key)}
    found |= {key: its for key, its in configured_policies(config).items() if here(key)}
    for its_peer, its in others:
        found = replaced(found, router, its_peer, direction, its)
    return found


def policy_of(policies: Mapping[PolicyKey, Policy], router: str, peer: str, direction: str) -> Policy:
    """The policy towards one neighbour: the specific one, else the one for all neighbours, else none."""
    return policies.get((router, peer, direction), policies.get((router, None, direction), ACCEPT_ALL))


def _neighbor(
    plan: ControlPlan, router: Router, interface: Interface, config: ControlConfig, policies: Mapping[PolicyKey, Policy]
) -> Neighbor:
    peer = plan.peer(interface.row)
    remote = plan.interfaces[interface.peer]
    internal = config.design is Design.IBGP_RR

    imported, exported = (policy_of(policies, router.name, peer.name, it) for it in ("import", "export"))
    its = interface.session
    client = plan.is_client(router, peer) if its.reflects is None else its.reflects
    both = PeerFamily(
        import_policy=prefer_clients(imported) if client and its.reflects is None else imported,
        export_policy=exported,
        route_reflector_client=client,
        allowas_in=interface.session.allowas_in,
    )
    settings = {
        family: replace(
            both,
            next_hop_self=family is IPV4_UNICAST and (internal if its.next_hop_self is None else its.next_hop_self),
            next_hop_unchanged=family is not IPV4_UNICAST and not internal,
        )
        for family in families(plan)
        if (interface.session.ipv4 if family is IPV4_UNICAST else interface.session.evpn)
    }
    ends = (
        (link_local(interface), link_local(remote))
        if config.unnumbered
        else (address_text(interface.address), address_text(remote.address))
    )
    return Neighbor(
        name=peer_name(plan, interface, config),
        remote_asn=peer.asn,
        local_address=ends[0],
        remote_address=ends[1],
        families=settings,
        hold_time_s=config.hold_ns // NS_PER_S,
        keepalive_s=config.keepalive_ns // NS_PER_S,
        connect_retry_ns=config.connect_retry_ns,
        mrai_ns=config.mrai_ns,
        peer_group="FABRIC",
    )
