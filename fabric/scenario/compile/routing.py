"""The `bgp:` section and the tenants of an overlay -> BGP speakers, their timers, and the hosts that they announce."""

from __future__ import annotations

from fabric.controlplane.network.config import Bfd, ControlConfig, Design, Jitter, NodePolicy, SpineAsn
from fabric.controlplane.network.fabric_plan import plan_of
from fabric.controlplane.network.plan import ControlPlan
from fabric.errors import Problem
from fabric.faults.switches import policy
from fabric.scenario.compile.tenancy import Tenancy, tenancy_of
from fabric.scenario.schema.bgp import BfdSpec, BgpSpec
from fabric.scenario.schema.endpoints import VxlanSpec
from fabric.topology.model import Fabric
from fabric.topology.select import nearest, such
from fabric.units import PS_PER_NS


def control_config(spec: BgpSpec, fabric: Fabric, path: str, problems: list[Problem]) -> ControlConfig:
    """The section as parameters of the control plane; unknown names are problems."""
    bfd = (
        Bfd()
        if spec.bfd == "on"
        else (Bfd(spec.bfd.interval // PS_PER_NS, spec.bfd.multiplier) if isinstance(spec.bfd, BfdSpec) else None)
    )
    names = [switch.name for switch in fabric.switches]
    for number, item in enumerate(spec.policies):
        for field, name in (("switch", item.switch), ("neighbour", item.neighbour)):
            if name is not None and name not in names:
                problems.append(
                    Problem(
                        f"{path}bgp.policies[{number}].{field}",
                        f"no switch is called '{name}'",
                        nearest(name, names, "switches"),
                    )
                )
    return ControlConfig(
        design=Design(spec.design),
        spine_asn=SpineAsn(spec.spine_asn),
        keepalive_ns=spec.keepalive // PS_PER_NS,
        hold_ns=spec.hold // PS_PER_NS,
        connect_retry_ns=spec.connect_retry // PS_PER_NS,
        mrai_ns=spec.mrai // PS_PER_NS,
        update_delay_ns=spec.update_delay // PS_PER_NS,
        announce_delay_ns=None if spec.announce_delay is None else spec.announce_delay // PS_PER_NS,
        start_delay_ns=spec.start_delay // PS_PER_NS,
        boot_spread_ns=spec.boot_spread // PS_PER_NS,
        jitter=Jitter(spec.jitter),
        fib_delay_ns=spec.fib_delay // PS_PER_NS,
        carrier_delay_ns=spec.carrier_delay // PS_PER_NS,
        prune_delay_ns=spec.prune_delay // PS_PER_NS,
        learn_delay_ns=spec.learn_delay // PS_PER_NS,
        bond_delay_ns=spec.bond_delay // PS_PER_NS,
        max_paths=spec.max_paths,
        multipath_relax=spec.multipath_relax,
        bfd=bfd,
        unnumbered=spec.unnumbered,
        policies=tuple(NodePolicy(it.switch, it.neighbour, it.direction, policy(it.rules)) for it in spec.policies),
    )


def control_plan(
    spec: BgpSpec, vxlan: VxlanSpec | None, fabric: Fabric, path: str, problems: list[Problem]
) -> tuple[ControlPlan, ControlConfig]:
    """The plan of a scenario's fabric; `vxlan` None: no overlay."""
    config = control_config(spec, fabric, path, problems)
    untiered = [switch.name for switch in fabric.switches if switch.tier < 0]
    if config.design is Design.IBGP_RR and untiered:
        problems.append(
            Problem(
                f"{path}bgp.design",
                f"ibgp-rr needs tiers, which decide the route reflectors; {untiered[0]} "
                f"has none{such(len(untiered), 'switch')}",
                "give switches the roles leaf, spine and super-spine, or use design: ebgp",
            )
        )
    placed = Tenancy() if vxlan is None else tenancy_of(vxlan, fabric, path, problems)
    return plan_of(fabric, placed.addresses(fabric), config, placed.segments, placed.routed), config
