"""Switches, hosts, transport, queue pairs, DCQCN: valid values that small runs feel."""

from __future__ import annotations

from typing import Any, Final, get_args

from pydantic import BaseModel

from fabric.scenario.compile.ns3_rdma_checks import NS3_RDMA_PRESETS
from fabric.scenario.presets.cubic import Cubic
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS
from fabric.scenario.presets.dctcp import Dctcp
from fabric.scenario.presets.hpcc import Hpcc
from fabric.scenario.presets.pint import Pint
from fabric.scenario.presets.swift import Swift
from fabric.scenario.presets.timely import Timely
from fabric.scenario.schema.endpoints import (
    Dcqcn,
    HostOverride,
    HostSettings,
    HostsSpec,
    QpPolicy,
    SourceRoutes,
    TransportOverride,
    TransportSpec,
)
from fabric.scenario.schema.switches import (
    SELECTORS,
    Buffer,
    EcnCurve,
    Egress,
    EgressLimit,
    EgressPools,
    EgressQueue,
    Hash,
    HashFieldName,
    PortSettings,
    PortWatchdog,
    Shaper,
    SwitchesSpec,
    SwitchOverride,
    SwitchSettings,
    Watchdog,
)
from tests.fuzz.filling import Strategy, World, exclusive, fill, of, one_of, time, whole

PARAMETERS: Final[dict[str, tuple[str, type[BaseModel]]]] = {
    "dctcp": ("dctcp", Dctcp),
    "timely": ("timely", Timely),
    "hpcc": ("hpcc", Hpcc),
    "hpcc-pint": ("pint", Pint),
    "swift": ("swift", Swift),
    "cubic": ("cubic", Cubic),
}
"""Congestion control -> (field of its parameters, their model)."""
SMALL: Final = ("2KB", "10KB", "50KB", "200KB", "1MB")


def priorities(world: World) -> list[int]:
    """Some priorities; those of the default traffic most often."""
    return world.choose.pick(([3], [3, 4], [3, 6], [0, 3], [4], [1, 2, 3, 5], [0, 1, 2, 3, 4, 5, 6, 7]))


def few_priorities(world: World) -> list[int]:
    """The lossless classes; each uses headroom on every port."""
    return world.choose.pick(([3], [3, 4], [4], [3, 6], []))


def _table(keys: int, *, most: int = 3) -> Strategy:
    def values(world: World) -> dict[int, int]:
        chosen = [world.choose.integer(0, keys - 1) for _ in range(world.choose.integer(1, most))]
        return {key: world.choose.integer(0, 7) for key in chosen}

    return values


def _dscps(world: World) -> dict[int, int]:
    common = world.choose.some((26, 48, 0, 46, 10), 1, 2)
    return {dscp: world.choose.pick((3, 4, 6, 0, 5)) for dscp in common}


def scheduler(world: World) -> dict[int, Any]:
    """Queues with a weight, or strict."""
    return {queue: world.choose.pick(("strict", 1, 10, 100)) for queue in world.choose.some(range(8), 1, 4)}


def ecn(world: World) -> Any:  # noqa: ANN401  a word or a mapping
    """A curve that small queues reach, a named one, or none."""
    kind = world.choose.integer(0, 1)
    return fill(world, EcnCurve) if kind else world.choose.pick(("hpcc", "paper-2015", "dctcp", "sonic", "off"))


def shaper(world: World) -> Any:  # noqa: ANN401  a word or a mapping
    """Slower than most ports, or none."""
    return fill(world, Shaper) if world.choose.chance(80) else "off"


def response(world: World) -> str:
    """Time to react to a pause."""
    return world.choose.pick(("half", "worst", "0s", "100ns", "2us"))


def _whole_curve(_: World, written: dict[str, Any]) -> None:
    """Three values, or a preset and values that fit every curve at every rate."""
    if "preset" in written:
        if written.get("kmin") not in {"0B", "1B"}:
            written.pop("kmin", None)
        if "kmax" in written:
            written["kmax"] = "100MB"
        if {"kmin", "kmax", "pmax"} <= written.keys():
            del written["pmax"]
        return
    written.setdefault("kmin", "4KB")
    written.setdefault("pmax", 0.2)
    written["kmax"] = {"0B": "1B", "1B": "2B", "4KB": "16KB", "20KB": "80KB", "100KB": "100001B"}[written["kmin"]]


def _poll_first(world: World, written: dict[str, Any]) -> None:
    poll = world.choose.integer(1, 50) * 1_000_000
    written["poll"] = time(poll)
    written["detection"] = time(poll * world.choose.integer(1, 3))
    written["restoration"] = world.choose.pick(("never", time(poll), time(poll * 2), time(poll * 5)))
    written.pop("granularity", None)
    if "actual_poll" in written:
        written["actual_poll"] = time(poll * 2)
    if written.get("kind") == "hardware":
        written["granularity"] = time(poll)
        for field in ("poll", "actual_poll", "rule"):
            written.pop(field, None)


def _fitting(world: World, written: dict[str, Any]) -> None:
    """What single ports and groups have nearly always fits the lossless priorities and the watchdog of the section."""
    usual = written.get("lossless", [3])
    for part in (written, *written.get("overrides", ())):
        lossless = set(part.get("lossless", usual))
        if not isinstance(written.get("watchdog"), dict) and world.choose.chance(97):
            part.pop("port_watchdog", None)
        if "pfc_send" in part and world.choose.chance(97):
            every = [set(other.get("lossless", usual)) for other in (written, *written.get("overrides", ()))]
            part["pfc_send"] = [priority for priority in part["pfc_send"] if all(priority in it for it in every)]
        for group, profile in [*part.get("buffer_pg", {}).items()]:
            for field in [*profile]:
                if (field == "lossy_dynamic_th") is (group in lossless) and world.choose.chance(97):
                    del profile[field]
            if not profile:
                del part["buffer_pg"][group]
        if not part.get("buffer_pg", True):
            del part["buffer_pg"]
        if not set(part) - SELECTORS and part is not written:
            part["pause_quanta"] = 1000


def _watched(_: World, written: dict[str, Any]) -> None:
    if not written:
        written["action"] = "alert"


def _selected(world: World, written: dict[str, Any]) -> None:
    for name in SELECTORS:
        written.pop(name, None)
    kind = world.choose.pick(("switch", "role", "port"))
    switch = world.choose.pick(world.fabric.switches)
    port = world.fabric.ports[world.choose.pick(tuple(switch.ports))]
    written[kind] = {
        "switch": world.choose.pick((switch.name, switch.name[:-1] + "*")),
        "role": str(switch.role),
        "port": world.choose.pick((f"{switch.name}:{port.name}", switch.name, f"{switch.name}:*")),
    }[kind]
    if kind == "port":
        for name in set(written) - set(PortSettings.model_fields) - SELECTORS:
            del written[name]
    if not set(written) - SELECTORS:
        written["pause_quanta"] = world.choose.pick((1000, 65535))


def _changes_host(world: World, written: dict[str, Any]) -> None:
    if set(written) == {"host"}:
        written["pause_quanta"] = world.choose.pick((1000, 65535))


def _receive_buffer(_: World, written: dict[str, Any]) -> None:
    """0 < xon < xoff < buffer, at any speed."""
    if written.get("rx_xoff", "auto") != "auto" and written.get("rx_xon", "auto") == "auto":
        written["rx_xon"] = "20KB"
    if written.get("rx_xon", "auto") != "auto" and written.get("rx_xoff", "auto") == "auto":
        written["rx_xoff"] = "60KB"


def _preset(world: World) -> str:
    return world.choose.pick(NS3_RDMA_PRESETS if world.ns3_rdma else tuple(DCQCN_PRESETS))


def _timer(world: World) -> str:
    return world.choose.pick(("4us", "55us", "1us") if world.ns3_rdma else ("4us", "55us", "1us", "1500ns"))


def _dcqcn(world: World) -> Any:  # noqa: ANN401  a word or a mapping
    return fill(world, Dcqcn) if world.choose.chance(60) else _preset(world)


def _mtu(world: World) -> str:
    return world.choose.pick(
        ("1000B", "256B", "64B", "1500B", "9000B") if world.ns3_rdma else ("1024B", "256B", "512B", "2048B", "4096B")
    )


def _own_parameters(world: World, written: dict[str, Any]) -> None:
    """Parameters of the chosen control only, as its model takes them."""
    if world.ns3_rdma and written.get("cc") in {"swift", "cubic"}:
        written["cc"] = "timely"
    for control, (name, model) in PARAMETERS.items():
        if written.get("cc") != control:
            written.pop(name, None)
        elif name not in written and world.choose.chance(50):
            written[name] = fill(world, model)
    if written.get("cc") in {"swift", "cubic"}:
        written.pop("variable_window", None)
    if world.ns3_rdma:
        for name in ("initial_alpha", "loss_cut"):
            written.get("dctcp", {}).pop(name, None)
    if written.get("cc") in {"hpcc", "hpcc-pint", "swift", "cubic"} and written.get("window") == "off":
        written.pop("window")


def _retransmission(world: World, written: dict[str, Any]) -> None:
    if written.get("retransmit_timeout") == "off":
        written.pop("retries", None)
    if written.get("recovery") == "selective" and written.get("window", "auto") in {"auto", "off"}:
        written["window"] = "64KB"
    if written.get("window") == "off":
        written.pop("variable_window", None)
    _own_parameters(world, written)
    if written.get("cc") in {"none", "dctcp", "timely", "hpcc", "hpcc-pint", "swift", "cubic"}:
        for name in ("dcqcn", "cnp_dscp", "variable_window"):
            written.pop(name, None)
    recovery = written.get("recovery")
    if recovery in {"selective", "out-of-order"}:
        written.pop("nak_interval", None)
    if recovery != "out-of-order":
        written.pop("reorder_window", None)
        written.pop("receive_bitmap", None)


def _another_control(world: World, written: dict[str, Any]) -> None:
    """Parameters of its control, for all queue pairs: which ones there are, the workload decides."""
    if written["cc"] == "hpcc-pint":
        written["cc"] = "hpcc"
    _own_parameters(world, written)
    if written["cc"] != "dcqcn":
        written.pop("dcqcn", None)
    if written["cc"] != "dcqcn" or written.get("window", "auto") in {"auto", "off"}:
        written.pop("variable_window", None)
    if not {"host", "workload"} & set(written):
        written["host"] = "*"


def _per_pair(_: World, written: dict[str, Any]) -> None:
    if written.get("per") != "pair":
        written.pop("count", None)


def _a_limit(world: World, written: dict[str, Any]) -> None:
    if not written:
        written["dynamic_th"] = world.choose.integer(-3, 3)


_TH: Final = whole(-8, 7)
_SIZE: Final = one_of("0B", "1KB", "10KB", "100KB", "1MB")

of(
    EcnCurve,
    30,
    [_whole_curve],
    kmin=one_of("4KB", "0B", "1B", "20KB", "100KB"),
    kmax=one_of("1MB"),
    pmax=one_of(0.2, 1.0, 0.01, 1e-9),
)
of(
    Buffer,
    30,
    [exclusive("dynamic_th", "static_th")],
    dynamic_th=_TH,
    static_th=one_of("100KB", "20KB", "1MB"),
    headroom=one_of("auto", "50KB", "100KB", "20KB"),
    reserved=one_of("0B", "1KB", "5000B"),
    xon=one_of("0B", "1KB", "20KB"),
    xon_offset=one_of("0B", "2KB", "20KB"),
    lossy_dynamic_th=_TH,
)
of(EgressLimit, 50, [exclusive("dynamic_th", "static_th"), _a_limit], dynamic_th=_TH, static_th=_SIZE)
of(EgressQueue, 50, reserved=one_of("0B", "1KB", "5000B"))
of(Egress, 50)
of(EgressPools, 60, lossless=one_of("auto", "1MB", "100KB"), lossy=one_of("auto", "1MB", "100KB"))
of(
    Watchdog,
    60,
    [_poll_first],
    granularity=one_of("10us"),
    actual_poll=one_of("20us"),
    poll=one_of("10us"),
    detection=one_of("10us"),
    restoration=one_of("never"),
    priorities=priorities,
)
of(
    PortWatchdog,
    60,
    [_watched],
    detection=one_of("1ms", "3ms"),
    restoration=one_of("never", "2ms"),
    priorities=priorities,
)
of(Shaper, 60, rate=one_of("1Gbps", "10G", "40G", "999Mbps"), burst=one_of("0B", "1B", "16KB", "1MB"))
of(
    Hash,
    70,
    algorithm=one_of("crc32", "xor", "toeplitz", "murmur3"),
    fields=lambda world: world.choose.some(get_args(HashFieldName), 1, 5),
    seed=one_of("per-switch", 0, 1, 2**32 - 1),
)
of(
    PortSettings,
    12,
    mtu=one_of("9100B", "9600B", "4500B", "1500B", "576B"),
    ecn=ecn,
    ecn_queues=priorities,
    ecn_by_queue=lambda world: {queue: ecn(world) for queue in world.choose.some(range(8), 1, 2)},
    buffer_pg=lambda world: {group: fill(world, Buffer) for group in world.choose.some((0, 3, 4), 1, 2)},
    lossless=few_priorities,
    dscp_to_tc=_dscps,
    scheduler=scheduler,
    shaper=lambda world: {queue: shaper(world) for queue in world.choose.some(range(8), 1, 2)},
    port_shaper=shaper,
    pfc_priorities=priorities,
    pfc_send=few_priorities,
    pfc_honour=priorities,
    pause_quanta=one_of(65535, 1000, 10, 1),
    response=response,
)
of(
    SwitchSettings,
    12,
    latency=one_of("600ns", "0s", "1ns", "3us"),
    memory=one_of("16MiB", "4MiB", "64MiB"),
    cell=one_of("254B", "1B", "16384B", "80B"),
    pool=one_of("auto", "1MB", "100KB"),
    shared_headroom=one_of("off", "100KB", "1MB"),
    tc_to_pg=_table(8),
    tc_to_queue=_table(8),
    flowlet_gap=one_of("50us", "1us", "1ps"),
    congestion_notices=one_of("off", "1B", "20KB", "10MB"),
)
of(SwitchOverride, 30, [_selected], switch=one_of("*"), port=one_of("*"))
of(SwitchesSpec, 12, [_fitting])
of(
    HostSettings,
    15,
    [_receive_buffer],
    latency=one_of("500ns", "0s", "1ns", "2us"),
    mtu=one_of("9100B", "9600B", "4300B"),
    response=response,
    pfc_priorities=priorities,
    pause_quanta=one_of(65535, 1000, 10, 1),
    scheduler=scheduler,
    drain=one_of("off", "5G", "1M", "90G"),
    rx_buffer=one_of("4MB", "2MB"),
    rx_xoff=one_of("auto", "60KB", "200KB"),
    rx_xon=one_of("auto", "20KB", "50KB"),
)
of(HostOverride, 15, [_changes_host], host=lambda world: world.choose.pick((world.choose.pick(world.hosts), "*")))
of(HostsSpec, 15)
of(
    Dcqcn,
    25,
    preset=_preset,
    gain=one_of(0.00390625, 0.5, 1e-9),
    initial_alpha=one_of(1.0, 0.5, 1e-9),
    alpha_timer=_timer,
    decrease_interval=lambda world: world.choose.pick(("4us", "0s", "50us")),
    increase_timer=_timer,
    byte_counter=one_of("off", "10KB", "1B", "10MB"),
    fast_recovery_steps=one_of(1, 5, 100),
    additive=one_of("5M", "1bps", "10G"),
    hyper=one_of("50M", "1bps", "100G"),
    min_rate=one_of("100M", "100K", "1G", "1M"),
    cut_divisor=one_of(2, 1, 32),
    least_kept=one_of(0.5, 0.0, 0.99),
    max_rate=one_of("off", "5G", "1G"),
    first_cnp_rate=one_of("off", "5G", "1G"),
    cnp_interval=one_of("4us", "0s", "50us"),
    cnp_delay=one_of("0s", "1us", "1ps"),
)
of(
    Dctcp,
    25,
    gain=one_of(0.0625, 0.5, 1e-9),
    initial_alpha=one_of(1.0, 0.5, 0.0),
    additive=one_of("auto", "615M", "1bps", "10G"),
    min_rate=one_of("100M", "100K", "1G", "1M"),
    loss_cut=one_of(0.0, 0.5),
)
of(Cubic, 40, beta=one_of(0.7, 0.1, 0.9), scale=one_of(0.4, 1e9), first_window=whole(1, 20))
of(
    Timely,
    25,
    gain=one_of(0.875, 0.5, 1e-9, 1),
    beta=one_of(0.8, 0.1),
    low_rtt=one_of("50us", "1ns", "8us"),
    high_rtt=one_of("500us", "60us"),
    min_rtt=one_of("20us", "1ns"),
    additive=one_of("auto", "10M", "1bps", "10G"),
    hyper=one_of("auto", "50M", "1G"),
    min_rate=one_of("100M", "100K", "1G", "1M"),
)
of(
    Hpcc,
    60,
    target=one_of(0.95, 0.5, 1),
    additive=one_of("auto", "40M", "1bps", "10G"),
    min_rate=one_of("100M", "100K", "1G", "1M"),
    increase_stages=whole(0, 5),
    fast_react=one_of(True, False),
    multi_rate=one_of(True, False),
    sample_feedback=one_of(True, False),
)
of(
    Pint,
    40,
    target=one_of(0.95, 0.5, 1),
    additive=one_of("auto", "40M", "1bps", "10G"),
    min_rate=one_of("100M", "100K", "1G", "1M"),
    increase_stages=whole(0, 5),
    log_base=one_of(1.01, 1.001, 1.05, 2),
    probability=one_of(1.0, 0.5, 2**-16),
)
of(
    Swift,
    40,
    base_target=one_of("25us", "1ns", "8us"),
    hop_target=one_of("1us", "0s"),
    flow_range=one_of("50us", "0s", "5us"),
    flow_min_window=one_of(0.1, 1, 2.5),
    flow_max_window=one_of(100, 3),
    host_target=one_of("50us", "1ns"),
    increment=one_of(1.0, 0.1, 20),
    beta=one_of(0.8, 0.1, 1),
    largest_cut=one_of(0.5, 0.9),
    min_window=one_of(0.01, 0.001, 1),
)
of(QpPolicy, 60, [_per_pair], count=one_of(1, 2, 7))
of(
    TransportOverride,
    30,
    [_another_control],
    host=one_of("*"),
    workload=one_of("*"),
    dcqcn=_dcqcn,
    window=one_of("auto", "64KB", "1MB"),
)


def _chosen(_: World, written: dict[str, Any]) -> None:
    if not written:
        written["choice"] = "queue-pair"


of(SourceRoutes, 60, [_chosen], withdrawal=one_of("1ms", "0s", "1us", "20us"))
of(
    TransportSpec,
    18,
    [_retransmission],
    overrides=lambda world: None,  # tests/fuzz/scenarios.py: they need traffic
    mtu=_mtu,
    dcqcn=_dcqcn,
    reorder_window=one_of("20us", "1us", "1ps"),
    receive_bitmap=one_of(1024, 16, 64, 65536),
    window=one_of("auto", "off", "64KB", "4KB", "1MB"),
    ack_every=one_of(1, 4, 1024),
    retransmit_timeout=one_of("100us", "off", "20us", "1ms", "10us"),
    retries=whole(0, 7),
    nak_interval=one_of("0s", "10us"),
    dscp=one_of(26, 0, 34, 63),
    cnp_dscp=one_of(48, 26, 0),
    ack_dscp=one_of("data", 48, 0, 26),
    ttl=one_of(64, 255, 3, 1, 2),
)
