"""A router of the plan -> the configuration of its BGP speaker, as an operator would write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from fabric.control.config import NS_PER_S, ControlConfig, Design
from fabric.control.plan import ControlPlan, Interface, Router
from fabric.overlay.addresses import mac_packed
from fabric.overlay.evpn_nlri import EVPN
from fabric.routing.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.routing.bgp.config import Neighbor, PeerFamily, SpeakerConfig
from fabric.routing.bgp.policy import ACCEPT_ALL, Policy, Rule, Set

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
    """What a router calls the neighbour on an interface: its address, or the interface itself if unnumbered."""
    return interface.name if config.unnumbered else address_text(plan.interfaces[interface.peer].address)


def link_local(interface: Interface) -> str:
    """The interface's IPv6 link-local address: fe80::/64 and the modified EUI-64 of its MAC (RFC 4291 appendix A)."""
    mac = mac_packed(interface.mac)
    return str(IPv6Address(b"\xfe\x80" + bytes(6) + bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]))


def speaker_config(plan: ControlPlan, router: Router, config: ControlConfig, policies: Mapping[PolicyKey, Policy],
                   asns: Mapping[int, int], jitter_key: int | None = None) -> SpeakerConfig:
    """The speaker of one router.

    Parameters
    ----------
    policies : mapping      what is in force now; the configuration's own policies, or a later event's
    asns : mapping          row of a router -> the AS number it runs with now where that is not the plan's
    jitter_key : int        of its jittered timers (draws.py); None: they are exact
    """
    asn = asns.get(router.row, router.asn)
    neighbors = tuple(_neighbor(plan, router, plan.interfaces[row], config, policies) for row in router.interfaces)
    connected = tuple(f"{IPv4Address(plan.interfaces[row].address & ~1)}/31" for row in router.interfaces
                      if plan.interfaces[row].prefix_len == 31)
    return SpeakerConfig(
        asn=asn, router_id=address_text(router.router_id), hostname=router.name, neighbors=neighbors,
        max_paths={IPV4_UNICAST: config.max_paths}, multipath_relax=config.multipath_relax,
        connected=() if config.unnumbered else connected, tracked_families=_tracked(plan, config),
        heard_families=(EVPN,) if router.vnis or router.vrfs else (), update_delay_ns=config.update_delay_ns,
        announce_delay_ns=config.announce_delay_ns, start_delay_ns=config.start_delay_ns,
        resolve_delay_ns=config.fib_delay_ns, jitter_key=jitter_key)


def _tracked(plan: ControlPlan, config: ControlConfig) -> tuple[AddressFamily, ...]:
    """Families whose next hops must resolve. FRR tracks all; where a session over one hop of eBGP ends with its cable,
    so do the paths by it, and there is nothing to look up.
    """
    ipv4 = (IPV4_UNICAST,) if config.design is Design.IBGP_RR and not config.unnumbered else ()
    return (*ipv4, EVPN) if plan.overlay else ipv4


def replaced(policies: Mapping[PolicyKey, Policy], router: str, peer: str | None, direction: str,
             policy: Policy) -> dict[PolicyKey, Policy]:
    """Policies with one more; what holds towards all neighbours replaces what held towards any of them."""
    kept = {key: its for key, its in policies.items() if peer is not None or (key[0], key[2]) != (router, direction)}
    return {**kept, (router, peer, direction): policy}


def prefer_clients(policy: Policy) -> Policy:
    """Import policy of a reflector towards a client: what comes from below wins over what comes back from above.

    Paths through the reflectors' own reflectors have the same AS_PATH, LOCAL_PREF and metric (with next hop self all
    next hops are neighbours), and multipath does not look at the cluster list; without this a spine would send a part
    of its leaf's traffic up again. Weight is local to a router, so nothing of it is announced.
    """
    rules = tuple(replace(rule, set=replace(rule.set, weight=CLIENT_WEIGHT)) if rule.accept and rule.set.weight is None
                  else rule for rule in policy.rules)
    rest = (Rule(set=Set(weight=CLIENT_WEIGHT)),) if policy.default_accept else ()
    return replace(policy, rules=rules + rest)


def configured_policies(config: ControlConfig) -> dict[PolicyKey, Policy]:
    """What the configuration puts in force."""
    return {(it.router, it.peer, it.direction): it.policy for it in config.policies}


def changed_policies(config: ControlConfig, policies: Mapping[PolicyKey, Policy], router: str,
                     where: tuple[str | None, str], policy: Policy | None,
                     others: Sequence[tuple[str | None, Policy]]) -> dict[PolicyKey, Policy]:
    """What is in force after a change at one router.

    Parameters
    ----------
    where : (neighbour or None for all, direction)
    policy : Policy or None    None: those of the direction are the configured ones again, with `others` on top
    others : (neighbour or None for all, policy)    in the order in which they began
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
    """The policy towards one neighbour: its own, else that for all neighbours, else none."""
    return policies.get((router, peer, direction), policies.get((router, None, direction), ACCEPT_ALL))


def _neighbor(plan: ControlPlan, router: Router, interface: Interface, config: ControlConfig,
              policies: Mapping[PolicyKey, Policy]) -> Neighbor:
    peer = plan.peer(interface.row)
    far = plan.interfaces[interface.peer]
    internal = config.design is Design.IBGP_RR

    imported, exported = (policy_of(policies, router.name, peer.name, it) for it in ("import", "export"))
    client = plan.is_client(router, peer)
    both = PeerFamily(import_policy=prefer_clients(imported) if client else imported, export_policy=exported,
                      route_reflector_client=client)
    settings = {family: replace(both, next_hop_self=internal and family is IPV4_UNICAST,
                                next_hop_unchanged=family is not IPV4_UNICAST and not internal)
                for family in families(plan)}
    ends = (link_local(interface), link_local(far)) if config.unnumbered else (
        address_text(interface.address), address_text(far.address))
    return Neighbor(
        name=peer_name(plan, interface, config), remote_asn=peer.asn, local_address=ends[0], remote_address=ends[1],
        families=settings, hold_time_s=config.hold_ns // NS_PER_S, keepalive_s=config.keepalive_ns // NS_PER_S,
        connect_retry_ns=config.connect_retry_ns, mrai_ns=config.mrai_ns, peer_group="FABRIC")
