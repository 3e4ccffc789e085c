"""The `bgp:` section and the tenants of `vxlan:` -> who speaks BGP, with which timers, and which hosts share a VNI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabric.control.config import Bfd, ControlConfig, Design, NodePolicy, SpineAsn
from fabric.control.plan import ControlPlan, Tenant, plan_of
from fabric.errors import Problem
from fabric.faults.switches import policy
from fabric.scenario.bgp import BfdSpec, BgpSpec
from fabric.scenario.endpoints import VxlanSpec
from fabric.state.params import Messages
from fabric.topology.addressing import addressing
from fabric.topology.model import Fabric
from fabric.topology.select import match_hosts, nearest
from fabric.units import PS_PER_NS

DEFAULT_VNI: Final = 10_000
"""VNI of all hosts where no tenants are named."""


def control_config(spec: BgpSpec, fabric: Fabric, path: str, problems: list[Problem]) -> ControlConfig:
    """The section as the control plane takes it; names that do not exist are problems."""
    bfd = Bfd() if spec.bfd == "on" else (
        Bfd(spec.bfd.interval // PS_PER_NS, spec.bfd.multiplier) if isinstance(spec.bfd, BfdSpec) else None)
    names = [switch.name for switch in fabric.switches]
    for number, item in enumerate(spec.policies):
        for field, name in (("switch", item.switch), ("neighbour", item.neighbour)):
            if name is not None and name not in names:
                problems.append(Problem(f"{path}bgp.policies[{number}].{field}", f"no switch is called '{name}'",
                                        nearest(name, names, "switches")))
    return ControlConfig(
        design=Design(spec.design), spine_asn=SpineAsn(spec.spine_asn), keepalive_ns=spec.keepalive // PS_PER_NS,
        hold_ns=spec.hold // PS_PER_NS, connect_retry_ns=spec.connect_retry // PS_PER_NS,
        mrai_ns=spec.mrai // PS_PER_NS, update_delay_ns=spec.update_delay // PS_PER_NS,
        announce_delay_ns=spec.announce_delay // PS_PER_NS, fib_delay_ns=spec.fib_delay // PS_PER_NS,
        carrier_delay_ns=spec.carrier_delay // PS_PER_NS, prune_delay_ns=spec.prune_delay // PS_PER_NS,
        learn_delay_ns=spec.learn_delay // PS_PER_NS, bond_delay_ns=spec.bond_delay // PS_PER_NS,
        max_paths=spec.max_paths, multipath_relax=spec.multipath_relax, bfd=bfd, unnumbered=spec.unnumbered,
        policies=tuple(NodePolicy(it.switch, it.neighbour, it.direction, policy(it.rules)) for it in spec.policies))


def tenants_of(vxlan: VxlanSpec, fabric: Fabric, path: str, problems: list[Problem]) -> list[Tenant]:
    """Which hosts share which VNI; everybody one VNI where no tenant is named."""
    specs = vxlan.tenants
    if not specs:
        return [Tenant("default", DEFAULT_VNI, tuple(host.id for host in fabric.hosts), vxlan.arp_suppression == "on")]
    tenants = []
    taken: dict[int, str] = {}
    for number, spec in enumerate(specs):
        where = f"{path}vxlan.tenants[{number}]"
        hosts = match_hosts(fabric, spec.hosts, f"{where}.hosts", problems)
        twice = [host for host in hosts if host.id in taken]
        if twice:
            problems.append(Problem(f"{where}.hosts", f"{twice[0].name} is in tenant '{taken[twice[0].id]}' already",
                                    "a host belongs to one tenant"))
        taken.update((host.id, spec.name) for host in hosts)
        tenants.append(Tenant(spec.name, spec.vni, tuple(host.id for host in hosts), spec.arp_suppression == "on"))
    for field in ("name", "vni"):
        values = [getattr(spec, field) for spec in specs]
        problems += [Problem(f"{path}vxlan.tenants[{number}].{field}", f"{value} is another tenant's {field}",
                             f"give each tenant its own {field}")
                     for number, value in enumerate(values) if value in values[:number]]
    left = [host.name for host in fabric.hosts if host.id not in taken]
    if left:
        problems.append(Problem(f"{path}vxlan.tenants", f"{left[0]} is in no tenant ({len(left)} such hosts)",
                                "add it to one"))
    return tenants


def check_tenants(tenants: Sequence[Tenant], fabric: Fabric, messages: Messages, path: str,
                  problems: list[Problem]) -> None:
    """No message between tenants: no leaf has a route for it, so it would only ever be lost."""
    tenant_of = {host: tenant for tenant in tenants for host in tenant.hosts}
    pairs = dict.fromkeys(zip(messages.src.tolist(), messages.dst.tolist(), strict=True))
    crossing = [(src, dst) for src, dst in pairs if tenant_of.get(src) != tenant_of.get(dst)]
    if crossing and all(host in tenant_of for host in crossing[0]):
        names = [f"{fabric.nodes[host].name} (tenant '{tenant_of[host].name}')" for host in crossing[0]]
        problems.append(Problem(f"{path}workload", f"messages from {names[0]} to {names[1]} cross tenants "
                                f"({len(crossing)} such pairs)", "send within a tenant, or put both hosts into one"))


def control_plan(spec: BgpSpec, vxlan: VxlanSpec | None, fabric: Fabric, path: str,
                 problems: list[Problem]) -> tuple[ControlPlan, ControlConfig]:
    """The plan of a scenario's fabric; `vxlan` None: no overlay."""
    config = control_config(spec, fabric, path, problems)
    untiered = [switch.name for switch in fabric.switches if switch.tier < 0]
    if config.design is Design.IBGP_RR and untiered:
        problems.append(Problem(f"{path}bgp.design", f"ibgp-rr needs tiers to say who reflects for whom; {untiered[0]} "
                                f"has none ({len(untiered)} such switches)",
                                "give switches the roles leaf, spine and super-spine, or use design: ebgp"))
    placed = [] if vxlan is None else tenants_of(vxlan, fabric, path, problems)
    return plan_of(fabric, addressing(fabric), config, placed), config
