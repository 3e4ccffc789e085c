"""Faults of every kind, alone, beside each other and at the same moment."""

from __future__ import annotations

from typing import Any, Final, get_args

from pydantic import BaseModel

from fabric.faults import control_spec, spec
from fabric.faults.control_spec import NEEDS_BGP, NEEDS_OVERLAY
from fabric.faults.spec_base import FaultBase, Lasting
from fabric.units import parse_time_ps
from tests.fuzz.filling import World, exclusive, fill, moment, of, one_of, time, whole, within
from tests.fuzz.models import members
from tests.fuzz.overlay import a_switch, rules, towards
from tests.fuzz.settings import priorities

KINDS: Final[dict[str, type[BaseModel]]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in members(spec.FaultSpec)
}


def faults(world: World, *, pfc: bool) -> list[dict[str, Any]]:
    """Up to four, each with a distinct name or none."""
    kinds = [
        kind
        for kind in KINDS
        if (world.bgp or kind not in NEEDS_BGP)
        and (world.overlay or kind not in NEEDS_OVERLAY)
        and (pfc or kind != "pause-storm")
        and (kind != "slow-receiver" or _with_nic(world))
    ]
    if world.bgp and world.choose.chance(50):
        kinds = [kind for kind in kinds if kind in NEEDS_BGP] or kinds
    return [fill(world, KINDS[world.choose.pick(kinds)]) for _ in range(world.choose.integer(1, 4))]


def link(world: World) -> str:
    """A cable, by its ends, its number or a port."""
    found = world.choose.pick(world.fabric.links)
    a, b = world.fabric.node_of(found.a).name, world.fabric.node_of(found.b).name
    return world.choose.pick((f"{a}--{b}", f"{b}--{a}#0", world.fabric.port_name(found.a)))


def some_hosts(world: World) -> list[str]:
    """Hosts by name, or all."""
    return ["*"] if world.choose.chance(20) else world.choose.some(world.hosts, 1, 2)


def _with_nic(world: World) -> list[str]:
    return [host.name for host in world.fabric.hosts if world.fabric.network_ports(host.id)]


def _hosts_of_the_network(world: World) -> list[str]:
    """Hosts with a NIC; others have ports of their server's scale-up network only."""
    able = _with_nic(world)
    return ["*"] if len(able) == len(world.hosts) and world.choose.chance(20) else world.choose.some(able, 1, 2)


def _switch_ports(world: World) -> str:
    switch = world.choose.pick(world.fabric.switches)
    port = world.fabric.ports[world.choose.pick(tuple(switch.ports))]
    return world.choose.pick((f"{switch.name}:{port.name}", switch.name, "*"))


def _any_port(world: World) -> str:
    port = world.choose.pick(world.fabric.ports)
    return world.choose.pick((world.fabric.port_name(port.id), world.fabric.node_of(port.id).name))


def _in_time(world: World, written: dict[str, Any]) -> None:
    """`until` after `at`, both within the run; often at a moment that other faults have, too."""
    first = moment(world, 0, world.duration_ps * 8 // 9)
    written["at"] = time(first)
    if "until" in written:
        written["until"] = time(moment(world, first + 1))


def _flaps(world: World, written: dict[str, Any]) -> None:
    count = written["count"]
    first = moment(world, 0, world.duration_ps // 2)
    part = max((world.duration_ps - 1 - first) // (2 * count), 1)
    written["at"] = time(first)
    down = max(part // world.choose.integer(1, 3), 1)
    written["down"], written["up"] = time(down), time(part)
    if "until" in written:
        written["until"] = time(moment(world, first + 1, first + (count - 1) * (down + part) + down))


def _drift(world: World, written: dict[str, Any]) -> None:
    if not set(written) - {"kind", "name", "at", "until", "ports"}:
        written["dynamic_th"] = world.choose.integer(-8, 7)


def _curve(_: World, written: dict[str, Any]) -> None:
    written["kmax"] = {"0B": "1B", "4KB": "16KB", "50KB": "60KB"}[written["kmin"]]


def _via(world: World) -> list[str]:
    return []


def _next_hops(world: World, written: dict[str, Any]) -> None:
    switch = a_switch(world)
    written["switches"] = [switch]
    peers = sorted(
        {peer.name for _, peer in world.fabric.neighbours(world.fabric.by_name[switch].id) if not peer.is_host}
    )
    written["via"] = world.choose.some(peers, 0, 2) if peers else []


def _shutdown(world: World, written: dict[str, Any]) -> None:
    if "shutdown_after" not in written:
        return
    at = _ps(world, written["at"])
    end = _ps(world, written["until"]) if "until" in written else world.duration_ps
    written["shutdown_after"] = time(max((end - at) // 3, 1))
    if "until" in written and at + max((end - at) // 3, 1) >= end:
        del written["shutdown_after"]


def _ps(_: World, text: str) -> int:
    return parse_time_ps(text)


def _moved(world: World, written: dict[str, Any]) -> None:
    host = world.fabric.by_name[written["host"]]
    home = world.fabric.peer_of(host.first_port).name
    others = [leaf for leaf in world.leaves if leaf != home]
    if others:
        written["to"] = world.choose.pick(others)
    else:
        written["to"] = home
        written.setdefault("gap", "1ps")
    if "gap" in written:
        written["gap"] = time(_ps(world, written["at"]) // world.choose.integer(1, 3))
    written["arp_interval"] = time(max(world.duration_ps // 20, 1))


def _churn_ends(world: World, written: dict[str, Any]) -> None:
    first = moment(world, 0, world.duration_ps // 2)
    written["at"], written["until"] = time(first), time(moment(world, first + 1))
    span_s = world.duration_ps / 1e12
    written["per_minute"] = min(10_000_000, max(int(60 / span_s * world.choose.integer(1, 10)), 1))


def _name(world: World) -> str:
    return f"fault{world.number()}"


_RATE: Final = one_of("1G", "5G", "1M", "9G")

of(FaultBase, 25, name=_name, at=within())
of(Lasting, 25, [_in_time], until=within())
of(spec.LinkDownSpec, 60, link=link)
of(spec.LinkFlapSpec, 30, [_flaps], link=link, down=one_of("1us"), up=one_of("1us"), count=whole(1, 4), until=within())
of(spec.LinkRateSpec, 60, link=link, rate=_RATE)
of(spec.BitErrorsSpec, 60, link=link, ratio=one_of(1e-5, 1e-12, 1e-3, 0.09))
of(
    spec.PauseStormSpec,
    50,
    [exclusive("frames_per_second", "duty")],
    hosts=some_hosts,
    priorities=priorities,
    duration=lambda world: time(max(world.duration_ps // world.choose.integer(1, 6), 1)),
    frames_per_second=one_of(1_000_000, 1, 10_000_000),
    duty=one_of(1.0, 0.5, 0.01),
    quanta=one_of(65535, 1000, 1),
)
of(spec.SlowReceiverSpec, 60, hosts=_hosts_of_the_network, drain=_RATE)
of(spec.DriftCurve, 30, [_curve], kmin=one_of("4KB", "0B", "50KB"), kmax=one_of("1MB"), pmax=one_of(0.5, 1.0, 1e-9))
of(
    spec.ConfigDriftSpec,
    40,
    [exclusive("ecn", "ecn_curve"), _drift],
    ports=_switch_ports,
    dynamic_th=whole(-8, 7),
    headroom=one_of("0B", "10KB", "1MB"),
    pfc_priorities=lambda world: [] if world.choose.chance(30) else priorities(world),
)
of(spec.DropEverySpec, 60, port=_any_port, every=one_of(7, 1, 50, 2))
of(spec.RouteSpec, 60, [_next_hops], switches=lambda world: [a_switch(world)], hosts=some_hosts, via=_via)
of(control_spec.SwitchCrashSpec, 60, switch=a_switch)
of(control_spec.LinkSilentSpec, 60, link=link)
of(control_spec.BgpCrashSpec, 60, switch=a_switch)
of(control_spec.DrainSpec, 60, [_shutdown], switch=a_switch, shutdown_after=one_of("1us"))
of(control_spec.WrongAsnSpec, 60, switch=a_switch, asn=one_of(65_535, 1, 2**32 - 1))
of(control_spec.RoutePolicySpec, 60, [towards], switch=a_switch, neighbour=one_of(""), rules=rules)
of(
    control_spec.MacMoveSpec,
    50,
    [_moved],
    host=lambda world: world.choose.pick(world.hosts),
    to=one_of(""),
    gap=one_of("1us"),
    arps=one_of(3, 0, 1),
    arp_interval=one_of("1us"),
)
of(control_spec.HostLeaveSpec, 60, hosts=some_hosts)
of(
    control_spec.EndpointChurnSpec,
    30,
    [_churn_ends],
    until=within(),
    per_minute=whole(1, 100),
    vni=lambda world: world.choose.pick(world.vnis),
)
