"""Small fabrics of every kind, files of other tools included."""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import TypeAdapter

from fabric.topology.builders.custom import READERS
from fabric.topology.formats.export import WRITERS
from fabric.topology.registry import SPECS, build_topology
from fabric.topology.scale_up import ScaleUpSpec
from fabric.topology.spec import (
    Clos3Spec,
    CustomLink,
    CustomNode,
    CustomSpec,
    DualTorSpec,
    LeafSpineSpec,
    LinkOverride,
    RailSpec,
    ServerSpec,
    TopologySpec,
    _Built,
)
from fabric.topology.storage import StorageNetSpec
from tests.fuzz.filling import Strategy, World, exclusive, fill, of, one_of, whole

RATES: Final = ("100G", "25G", "10G", "40G", "200G", "400G")
ENDINGS: Final = {"graphml": ".graphml", "node-link": ".json", "containerlab": ".yml"}
_ADAPTER: Final[TypeAdapter[Any]] = TypeAdapter(TopologySpec)


def rate(world: World) -> str:
    """A line rate."""
    return world.choose.pick(RATES)


def cable(world: World) -> str:
    """A length; whole nanoseconds of delay where the model needs them."""
    return world.choose.pick(
        ("1m", "3m", "30m", "100m", "500m") if world.ns3_rdma else ("3m", "1m", "30m", "100m", "500m", "1mm", "37cm")
    )


def delay(world: World) -> str:
    """A propagation delay."""
    return world.choose.pick(
        ("100ns", "1ns", "1us", "5us") if world.ns3_rdma else ("100ns", "1ns", "1us", "3us", "1ps", "12345ps")
    )


def topology(world: World) -> dict[str, Any]:
    """The section; world.built is its fabric."""
    simple = (LeafSpineSpec, Clos3Spec, RailSpec, CustomSpec)
    no_servers = world.bgp or world.overlay  # not modelled beside scale-up links
    kinds = tuple(model for model in SPECS.values() if not (no_servers and model is ServerSpec))
    model = world.choose.pick(simple if world.ns3_rdma else kinds)
    one_port = {LeafSpineSpec: {"links_per_host": None}, RailSpec: {"endpoints": None}}
    if model is CustomSpec:
        return _custom(world)
    fixed: dict[str, Any] = dict(one_port.get(model, {})) if world.ns3_rdma else {}
    if no_servers or world.ns3_rdma:
        fixed |= {name: None for name in ("scale_up", "gpus_per_server") if name in model.model_fields}
    if world.ns3_rdma and "storage" in model.model_fields:
        fixed |= {"storage": None}
    raw = fill(world, model, fixed)
    world.built = build_topology(_ADAPTER.validate_python(raw))
    return raw


def _custom(world: World) -> dict[str, Any]:
    """Switches in a tree with some more cables, hosts on one or two of them; as lists or as a file of another tool."""
    choose = world.choose
    roles = choose.some(("leaf", "spine", "switch", "super-spine"), 1, 2)
    switches = [{"name": f"s{number}", "role": choose.pick(roles)} for number in range(choose.integer(1, 4))]
    hosts = [{"name": f"h{number}", "role": "host"} for number in range(choose.integer(2, 6))]
    nodes = [fill(world, CustomNode, it) for it in (*switches, *hosts)]
    pairs = [(f"s{number}", f"s{choose.integer(0, number - 1)}") for number in range(1, len(switches))]
    pairs += [(a["name"], b["name"]) for a in switches for b in switches if a["name"] < b["name"] and choose.chance(20)]
    for host in hosts:
        pairs.append((host["name"], choose.pick(switches)["name"]))
        if not world.ns3_rdma and choose.chance(15):
            pairs.append((host["name"], choose.pick(switches)["name"]))
    links = [fill(world, CustomLink, {"a": a, "b": b, **({"count": None} if world.ns3_rdma else {})}) for a, b in pairs]
    raw = fill(
        world,
        CustomSpec,
        {
            "nodes": nodes,
            "links": links,
            "file": None,
            "format": None,
            "default_rate": None,
            "default_cable": None,
            "default_delay": None,
        },
    )
    world.built = build_topology(_ADAPTER.validate_python(raw))
    return _as_file(world, raw) if choose.chance(40) else raw


def _as_file(world: World, raw: dict[str, Any]) -> dict[str, Any]:
    kind = world.choose.pick(tuple(READERS))
    name = f"fabric{world.choose.pick(('', '-2'))}{ENDINGS[kind]}"
    text = WRITERS[kind](world.fabric)
    file: dict[str, Any] = {"kind": "custom", "file": name}
    if "name" in raw:
        file["name"] = raw["name"]
    if world.choose.chance(40):
        file["format"] = kind
    if kind == "node-link" and world.choose.chance(60):  # links that leave out what the defaults say
        graph = json.loads(text)
        edges = graph.get("edges", graph.get("links"))
        for edge in edges:
            for field in ("rate_bps", "delay_ps", "length_mm"):
                edge.pop(field, None)
        text = json.dumps(graph)
        lengths = {"default_cable": cable(world)} if world.choose.chance(50) else {"default_delay": delay(world)}
        file |= {"default_rate": rate(world), **lengths}
    world.files[name] = text
    return file


def _several_rates(world: World) -> list[str]:
    return [rate(world) for _ in range(world.choose.integer(1, 3))]


def _name(_: World) -> str:
    return "Fabric-1.x_y"


def _one_host_rate(world: World, written: dict[str, Any]) -> None:
    if "host_rates" in written:
        written.pop("host_rate", None)
    else:
        written.setdefault("host_rate", rate(world))


def _planes(_: World, written: dict[str, Any]) -> None:
    if written.get("core") != "full":
        written["super_spines"] = written["spines_per_pod"] * -(-written["super_spines"] // written["spines_per_pod"])


def _servers_fit(_: World, written: dict[str, Any]) -> None:
    """Servers of two GPUs."""
    if "scale_up" not in written:
        written.pop("gpus_per_server", None)
        return
    written["gpus_per_server"] = 2
    written["hosts_per_leaf"] = 2 * -(-written["hosts_per_leaf"] // 2)


def _rails_of_servers(_: World, written: dict[str, Any]) -> None:
    if "scale_up" in written:
        written.pop("endpoints", None)
        written["rails"] = 2


def _storage_network(world: World, written: dict[str, Any]) -> None:
    if written.get("network") != "separate":
        for field in ("spines", "host_rate"):
            written.pop(field, None)
    else:
        written["host_rate"] = rate(world)
        if written.get("leaves", 1) > 1:
            written["spines"] = 1
        else:
            for field in ("spines", "fabric_rate"):
                written.pop(field, None)
    written["nodes"] = max(written["nodes"], written.get("leaves", 1))


def _spines_for_storage(_: World, written: dict[str, Any]) -> None:
    if "storage" in written:
        written["spines"] = max(written["spines"], 1)


def _network_of_switches(_: World, written: dict[str, Any]) -> None:
    if written["role"] == "host":
        written.pop("network", None)


def _small_server(world: World, written: dict[str, Any]) -> None:
    written.setdefault("gpus", world.choose.integer(2, 4))
    for field in ("pcie", "nics_per_slot"):
        written.get("scale_up", {}).pop(field, None)


def _slots(_: World, written: dict[str, Any]) -> None:
    if "pcie" not in written:
        written.pop("nics_per_slot", None)


def _rails_meet(_: World, written: dict[str, Any]) -> None:
    if written["spines"] == 0 and (
        written.get("pods", 1) > 1 or (written.get("endpoints", "gpu") == "gpu" and written.get("rails", 8) > 1)
    ):
        written["spines"] = 1


def _two_planes(_: World, written: dict[str, Any]) -> None:
    if written.get("planes") == 2:
        written["spines"] = 2 * -(-written["spines"] // 2)


def _link_override(world: World, written: dict[str, Any]) -> None:
    if "rate" not in written and "cable" not in written and "delay" not in written:
        written["rate"] = rate(world)


def _one_length(world: World, written: dict[str, Any]) -> None:
    if "cable" not in written:
        written.setdefault("delay", delay(world))
    if written.get("count", 1) > 1:
        written.pop("a_port", None)
        written.pop("b_port", None)


def _port(world: World) -> str:
    return f"port{world.number()}"


_ENDS: Final = {
    LeafSpineSpec: ("leaf*", "host*"),
    Clos3Spec: ("*leaf*", "*spine*"),
    RailSpec: ("*", "*"),
    DualTorSpec: ("tor*", "*"),
}


def _overrides(model: type[_Built]) -> Strategy:
    a, b = _ENDS[model]
    return lambda world: [fill(world, LinkOverride, {"a": a, "b": b})]


of(
    _Built,
    25,
    [_one_host_rate, exclusive("host_cable", "host_delay"), exclusive("fabric_cable", "fabric_delay")],
    name=_name,
    host_rate=rate,
    host_rates=_several_rates,
    host_cable=cable,
    host_delay=delay,
    fabric_rate=rate,
    fabric_cable=cable,
    fabric_delay=delay,
    links_per_pair=whole(1, 2),
)
of(
    LeafSpineSpec,
    25,
    [_servers_fit],
    gpus_per_server=whole(2, 2),
    leaves=whole(1, 3),
    spines=whole(1, 2),
    hosts_per_leaf=whole(1, 3),
    links_per_host=whole(1, 2),
    link_overrides=_overrides(LeafSpineSpec),
)
of(
    Clos3Spec,
    25,
    [_planes, exclusive("core_cable", "core_delay")],
    pods=whole(1, 2),
    leaves_per_pod=whole(1, 2),
    spines_per_pod=whole(1, 2),
    super_spines=whole(1, 2),
    hosts_per_leaf=whole(1, 2),
    core_rate=rate,
    core_cable=cable,
    core_delay=delay,
    core_links_per_pair=whole(1, 2),
    link_overrides=_overrides(Clos3Spec),
)
of(
    RailSpec,
    40,
    [_rails_of_servers, _rails_meet, _spines_for_storage],
    pods=whole(1, 2),
    nodes_per_pod=whole(1, 2),
    rails=whole(1, 3),
    spines=whole(0, 2),
    link_overrides=_overrides(RailSpec),
)
of(
    StorageNetSpec,
    40,
    [_storage_network],
    nodes=whole(1, 2),
    rate=rate,
    leaves=whole(1, 2),
    spines=whole(1, 1),
    host_rate=rate,
    fabric_rate=rate,
)
of(ServerSpec, 50, [_small_server], name=_name, gpus=whole(2, 4))
of(
    ScaleUpSpec,
    40,
    [_slots],
    rate=rate,
    latency=one_of("936ns", "67ns", "2us"),
    unit=one_of("16000B", "9000B", "256B", "4KiB"),
    nics_per_slot=whole(1, 2),
)
of(
    DualTorSpec,
    30,
    [_two_planes],
    racks=whole(1, 2),
    hosts_per_rack=whole(1, 2),
    spines=whole(1, 2),
    link_overrides=_overrides(DualTorSpec),
)
of(
    LinkOverride,
    40,
    [_link_override, exclusive("cable", "delay")],
    a=one_of("*"),
    b=one_of("*"),
    rate=rate,
    cable=cable,
    delay=delay,
)
of(
    CustomNode,
    30,
    [_network_of_switches],
    name=lambda world: f"n{world.number()}",
    group=one_of("pod1", "rack 2"),
    network=one_of("front"),
)
of(
    CustomLink,
    25,
    [exclusive("cable", "delay"), _one_length],
    a=one_of("h0"),
    b=one_of("s0"),
    rate=rate,
    cable=cable,
    delay=delay,
    a_port=_port,
    b_port=_port,
    count=whole(1, 2),
)
of(
    CustomSpec,
    25,
    name=_name,
    nodes=lambda _: [],
    links=lambda _: [],
    file=one_of("fabric.json"),
    default_rate=rate,
    default_cable=cable,
    default_delay=delay,
)
