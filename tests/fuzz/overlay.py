"""Overlays with tenants, segments and routing between them; BGP with timers short enough for short runs."""

from __future__ import annotations

from typing import Any, Final

from fabric.faults.control_spec import PolicyMatch, PolicyRule, PolicySet
from fabric.scenario.compile.tenancy import DEFAULT_VNI
from fabric.scenario.schema.bgp import BfdSpec, BgpSpec, SwitchPolicySpec
from fabric.scenario.schema.endpoints import VxlanSpec
from fabric.scenario.schema.tenant_spec import SegmentSpec, TenantSpec
from tests.fuzz.filling import World, fill, of, one_of, whole

_SUBNETS: Final = ("172.16.10.0/24", "10.200.0.0/16", "192.168.4.0/28", "172.31.255.0/25")


def vxlan(world: World) -> dict[str, Any]:
    """The section; world.groups has the hosts that may send to each other."""
    raw = fill(world, VxlanSpec, {"tenants": None, "silent": None, "job_vni": None})
    world.vnis = [DEFAULT_VNI]
    hosts = world.hosts
    if len(hosts) >= 4 and world.choose.chance(60):
        raw["tenants"] = _tenants(world)
        raw.pop("arp_suppression", None)
    if world.bgp and world.choose.chance(15):
        routed = {
            host
            for tenant in raw.get("tenants", ())
            if "l3_vni" in tenant
            for part in (*tenant["segments"], {"hosts": tenant.get("routed", ())})
            for host in part["hosts"]
        }
        quiet = [host for host in hosts if host not in routed]
        if quiet:
            raw["silent"] = world.silent = world.choose.some(quiet, 1, 2)
    return raw


def _tenants(world: World) -> list[dict[str, Any]]:
    """Every host in one tenant, and in one place of it."""
    choose = world.choose
    left = list(world.hosts)
    world.groups, world.vnis = [], []
    several_ports = {
        host.name for host in world.fabric.hosts if len({world.fabric.peer_of(port).id for port in host.ports}) > 1
    }
    tenants = []
    for number in range(choose.integer(1, 2)):
        count = len(left) if number else choose.integer(3, len(left))
        mine = [left.pop(choose.integer(0, len(left) - 1)) for _ in range(count)]
        if mine:
            tenants.append((f"t{number}", mine))
    if left:
        tenants[0][1].extend(left)
    found = []
    subnets = list(_SUBNETS)
    for name, mine in tenants:
        base = 10_000 + 100 * world.number()
        if len(mine) < 3 or choose.chance(40):
            world.groups.append(mine)
            world.vnis.append(base)
            found.append(
                fill(
                    world,
                    TenantSpec,
                    {"name": name, "vni": base, "hosts": mine, "l3_vni": None, "segments": None, "routed": None},
                )
            )
            continue
        routes = choose.chance(70)
        cut = choose.integer(1 if routes else 2, len(mine) - 1)
        parts = [mine[:cut], mine[cut:]]
        last_routed = routes and choose.chance(40) and not several_ports & set(parts[1])
        segments = []
        world.vnis += [base + index for index in range(1 if last_routed else 2)]
        for index, part in enumerate(parts[:1] if last_routed else parts):
            fixed: dict[str, Any] = {
                "name": f"seg{index}",
                "vni": base + index,
                "hosts": part,
                "subnet": None,
                "gateway": None,
            }
            if routes and choose.chance(40):
                fixed["subnet"] = subnets.pop(choose.integer(0, len(subnets) - 1))
                first, _, _ = fixed["subnet"].rpartition(".")
                fixed["gateway"] = choose.pick((None, f"{first}.1", f"{first}.9"))
            segments.append(fill(world, SegmentSpec, fixed))
        fixed = {
            "name": name,
            "vni": None,
            "hosts": None,
            "arp_suppression": None,
            "segments": segments,
            "l3_vni": base + 50 if routes else None,
            "routed": parts[1] if last_routed else None,
        }
        found.append(fill(world, TenantSpec, fixed))
        world.groups += [mine] if routes else parts
    return found


def bgp(world: World) -> dict[str, Any]:
    """The section."""
    return fill(world, BgpSpec)


def _settled(world: World, written: dict[str, Any]) -> None:
    if written.get("jitter") == "off":
        written.pop("boot_spread", None)
    if written.get("design") == "ibgp-rr":
        written.pop("spine_asn", None)
        if any(switch.tier < 0 for switch in world.fabric.switches):
            written.pop("design")
    if "keepalive" in written or "hold" in written:
        written["keepalive"], written["hold"] = world.choose.pick((("1s", "3s"), ("2s", "9s"), ("3s", "500s")))


def neighbour(world: World, switch: str) -> str | None:
    """A switch beside it, where there is one."""
    node = world.fabric.by_name[switch]
    found = [peer.name for _, peer in world.fabric.neighbours(node.id) if not peer.is_host]
    return world.choose.pick(found) if found else None


def towards(world: World, written: dict[str, Any]) -> None:
    """A neighbour that the switch has."""
    if "neighbour" in written:
        found = neighbour(world, written["switch"])
        if found is None:
            del written["neighbour"]
        else:
            written["neighbour"] = found


def rules(world: World) -> list[dict[str, Any]]:
    """Rules of a route map."""
    return [fill(world, PolicyRule) for _ in range(world.choose.integer(1, 2))]


def _no_set(_: World, written: dict[str, Any]) -> None:
    if written.get("accept") is False:
        written.pop("set", None)


def _prefix(world: World, written: dict[str, Any]) -> None:
    if "prefix" not in written:
        written.pop("ge", None)
        written.pop("le", None)
        return
    least = int(written["prefix"].rpartition("/")[2])
    if "ge" in written:
        written["ge"] = least = world.choose.integer(least, 32)
    if "le" in written:
        written["le"] = world.choose.integer(least, 32)


def a_switch(world: World) -> str:
    """Name of a switch."""
    return world.choose.pick(world.switches)


_MS: Final = one_of("1ms", "0s", "50ms", "10us")

of(
    VxlanSpec,
    35,
    dscp=one_of("uniform", 0, 26, 48),
    ttl=one_of(64, 255, 4, 2, 1),
    silent=lambda _: [],
    job_vni=whole(20_000, 20_001),
)
of(TenantSpec, 40, name=one_of("t"), vni=one_of(1), hosts=lambda _: [], l3_vni=one_of(2), routed=lambda _: [])
of(SegmentSpec, 40, name=one_of("s"), vni=one_of(1), hosts=lambda _: [], subnet=one_of(*_SUBNETS), gateway=one_of(""))
of(BfdSpec, 60, interval=one_of("300ms", "50ms", "100ms"), multiplier=one_of(3, 1, 255))
of(SwitchPolicySpec, 50, [towards], switch=a_switch, neighbour=one_of(""), rules=rules)
of(
    BgpSpec,
    20,
    [_settled],
    keepalive=one_of("3s"),
    hold=one_of("9s"),
    connect_retry=one_of("10s", "1s"),
    mrai=one_of("0s", "1s", "10ms"),
    update_delay=one_of("50ms", "0s", "100us", "10us"),
    announce_delay=one_of("0s", "1s", "50ms"),
    start_delay=one_of("1s", "0s"),
    boot_spread=one_of("100ms", "0s", "1s"),
    fib_delay=one_of("10us", "0s", "10ms"),
    carrier_delay=one_of("10us", "0s", "10ms"),
    prune_delay=_MS,
    learn_delay=_MS,
    bond_delay=_MS,
    max_paths=one_of(64, 1, 2),
)
of(
    PolicyMatch,
    40,
    [_prefix],
    prefix=one_of("10.64.0.0/16", "0.0.0.0/0", "10.0.0.0/8"),
    ge=whole(0, 32),
    le=whole(0, 32),
    community=one_of("65535:0", "65000:1"),
    as_path=one_of(65000, 4200000000, 1),
)
of(
    PolicySet,
    40,
    local_pref=one_of(100, 0, 2**32 - 1),
    med=one_of(0, 1, 2**32 - 1),
    prepend=one_of([65001], [65001, 65001]),
    add_community=one_of(["65000:1"], ["65535:0", "1:1"]),
)
of(PolicyRule, 50, [_no_set])
