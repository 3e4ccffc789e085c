"""Rows of whole switches: chip, memory, pools, maps, watchdog.

A map that SONiC does not have sends everything to 0 (SAI's default); in a scenario every one of 64 DSCPs is written.
Maps from DSCP and class to group act where traffic enters, the map from class to queue where it leaves. Ports have
their own map of DSCPs (port_rows.py). Of the other two a switch of a scenario has one each, so those of the ports that
the cut-out's data takes are lowered, and ports that differ are reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from fabric.configs.buffers.mmu import PoolSize, chip_of, find_mmu, pool_size_of
from fabric.configs.model import BufferProfile, Device, Pool, Port
from fabric.configs.watchdogs import Hardware, actual_poll_ms, hardware_of, poll_ms
from fabric.proof.cut import Cut
from fabric.proof.lowering.values import CHIP, Lowered, NotLowered, Place, Row, Value, size
from fabric.scenario.presets.asics import ASICS
from fabric.validate.chips import mmu_bytes

DEFAULT_CHIP: Final = "tomahawk3"
DEFAULT_LOSSLESS: Final = (3,)


def chip(device: Device) -> str | None:
    """The scenario's name of the chip."""
    name = chip_of(device)
    return name if name in ASICS else None


def roce_class(place: Place, ports: Iterable[str]) -> int | None:
    """Traffic class of RoCE where it enters the switch."""
    for name in ports:
        found = map_entries(place.device, place.device.ports[name], "dscp_to_tc")
        if found is not None:
            return found.get(place.dscp, 0)
    return None


def map_entries(device: Device, port: Port, kind: str) -> dict[int, int] | None:
    """Entries of a port's map; all to 0 where SONiC has none; None where the language's default is not known here."""
    found = device.map_of(port, kind)
    if found is not None:
        return dict(found.entries)
    return {} if device.capabilities.tables else None


def on_the_wire(cut: Cut) -> dict[str, dict[int, int]]:
    """The DSCPs with which packets come in to the switches of a chain, where tc_to_dscp rewrites them before.

    Returns: switch to {DSCP of the sender: DSCP on the wire}; only switches behind a port that rewrites some DSCP.
    """
    wire = {dscp: dscp for dscp in range(64)}
    found: dict[str, dict[int, int]] = {}
    for hop in cut.hops:
        device = cut.network.devices[hop.device]
        if any(sent != now for sent, now in wire.items()):
            found[hop.device] = dict(wire)
        marks = device.map_of(device.ports[hop.leaves], "tc_to_dscp")
        classes = map_entries(device, device.ports[hop.enters], "dscp_to_tc")
        if marks is not None and classes is not None:
            wire = {sent: marks.entries.get(classes.get(now, 0), now) for sent, now in wire.items()}
    return found


def lossless_classes(cut_devices: Iterable[Device]) -> tuple[int, ...]:
    """Priorities that are lossless at some port of the cut-out."""
    found = {p for device in cut_devices for port in device.ports.values() for p in port.lossless}
    return tuple(sorted(found)) or DEFAULT_LOSSLESS


def ingress_pool(device: Device) -> tuple[Pool, BufferProfile | None] | None:
    """The ingress pool of the lossless groups; else the largest one."""
    for port in device.ports.values():
        for binding in port.groups.values():
            profile = device.profile_of(binding)
            if profile is not None and profile.lossless and profile.pool in device.pools:
                return device.pools[profile.pool], profile
    pools = [pool for pool in device.pools.values() if pool.direction in {"ingress", "both"}]
    pools.sort(key=lambda pool: (-("lossless" in pool.name), -(pool.size_bytes or 0)))
    return (pools[0], None) if pools else None


def _asic(place: Place) -> Lowered:
    name = chip(place.device)
    if name is None:
        return Value(DEFAULT_CHIP, "assumed: the chip of this HWSKU and platform is not known")
    return Value(name, f"{CHIP}: {place.device.hwsku or place.device.platform}")


def _memory(place: Place) -> Lowered:
    found = mmu_bytes(place.device)
    name = chip(place.device) or DEFAULT_CHIP
    return Value(size(found or ASICS[name].buffer_bytes), f"{CHIP}: {name}" if found else "assumed: the chip's")


def _cell(place: Place) -> Lowered:
    name = chip(place.device)
    return Value(size(ASICS[name or DEFAULT_CHIP].cell_bytes), f"{CHIP}: {name}" if name else "assumed: the chip's")


def _latency(_: Place) -> Lowered:
    return Value("0ns", "assumed: no configuration states it; none is the favourable end, with more of it more is lost")


def _pool(place: Place) -> Lowered:
    found = ingress_pool(place.device)
    if found is None or not found[0].size_bytes:
        return Value("auto", "assumed: the switch computes its pool, and no file states it")
    pool = found[0]
    total, mmu = pool.size_bytes or 0, find_mmu(chip(place.device) or "")
    origin = place.origin(pool.where, "size")
    if mmu is not None and pool_size_of(mmu, total, pool.shared_headroom_bytes) is PoolSize.GROSS:
        reserved = pool.shared_headroom_bytes or sum(_private(place.device))
        if reserved < total:
            return Value(size(total - reserved), f"{origin}, less what is set aside from it ({mmu.name})")
    return Value(size(total), origin)


def _private(device: Device) -> Iterable[int]:
    for port in device.ports.values():
        for binding in port.groups.values():
            profile = device.profile_of(binding)
            if profile is not None and profile.lossless:
                yield profile.xoff_bytes


def _shared_headroom(place: Place) -> Lowered:
    found = ingress_pool(place.device)
    if found is None or not found[0].shared_headroom_bytes:
        return Value("off", place.origin(found[0].where, "xoff") if found else "assumed: no pool states one")
    return Value(size(found[0].shared_headroom_bytes), place.origin(found[0].where, "xoff"))


def _egress_pool(place: Place, *, lossless: bool) -> Lowered:
    for name in place.cut.leaving(place.device.name):
        for queue in place.device.ports[name].queues.values():
            profile = place.device.profile_of(queue)
            pool = place.device.pools.get(profile.pool) if profile else None
            of_kind = pool is not None and pool.direction == "egress" and ("lossless" in pool.name) is lossless
            if pool is not None and of_kind and pool.size_bytes:
                return Value(size(pool.size_bytes), place.origin(pool.where, "size"))
    return None


def _lossless(place: Place) -> Lowered:
    classes = lossless_classes(place.cut.network.devices.values())
    stated = any(port.lossless for device in place.cut.network.devices.values() for port in device.ports.values())
    return Value(list(classes), "PFC priorities of the ports" if stated else "assumed: no port has PFC")


def _map(place: Place, kind: str, ports: tuple[str, ...], keys: int) -> Iterable[Lowered]:
    """The map of the ports that traffic takes."""
    found: dict[int, int] | None = None
    origin, first = "", ""
    for name in ports:
        port = place.device.ports[name]
        entries = map_entries(place.device, port, kind)
        if entries is None:
            continue
        if found is None:
            stated = place.device.map_of(port, kind)
            found, first = entries, name
            origin = place.origin(stated.where) if stated else f"SAI's default: {name} has no {kind} map"
        elif entries != found:
            if kind == "dscp_to_tc":
                continue  # a port has its own
            yield NotLowered(f"{kind}: {place.device.name} {name} differs from {first}; a switch has one map")
    if found is not None:
        sent = place.wire if kind == "dscp_to_tc" else {}
        yield Value({str(key): found.get(sent.get(key, key), 0) for key in range(keys)}, origin)


def _dscp_to_tc(place: Place) -> Iterable[Lowered]:
    entering = place.cut.entering(place.device.name)
    if any(place.device.ports[name].class_by_tag for name in entering):
        yield NotLowered("class by 802.1Q tag: a scenario classifies by DSCP")
    yield from _map(place, "dscp_to_tc", entering, 64)


def _tc_to_pg(place: Place) -> Iterable[Lowered]:
    return _map(place, "tc_to_pg", place.cut.entering(place.device.name), 8)


def _tc_to_queue(place: Place) -> Iterable[Lowered]:
    return _map(place, "tc_to_queue", place.cut.leaving(place.device.name), 8)


def watchdog_of(device: Device, port: Port) -> dict[str, Any] | NotLowered | None:
    """Fields of a scenario's watchdog; None where the port is not watched."""
    dog, watched = port.watchdog, sorted(port.watched)
    if dog is None or dog.detection_ms is None or not watched:
        return None
    hardware = hardware_of(device)
    if hardware is not None:
        return _timers_of(device, port, hardware)
    poll = poll_ms(device, dog)
    late = actual_poll_ms(device) if device.capabilities.tables else poll
    if dog.detection_ms < poll or (dog.restoration_ms is not None and dog.restoration_ms < poll):
        return NotLowered(f"watchdog of {port.name}: a time below the poll, which the switch refuses: lowered as off")
    return {
        "poll": f"{poll}ms",
        **({"actual_poll": f"{late}ms"} if late != poll else {}),
        "detection": f"{dog.detection_ms}ms",
        "restoration": "never" if dog.restoration_ms is None else f"{dog.restoration_ms}ms",
        "action": dog.action if dog.action in {"drop", "forward", "alert"} else "drop",
        "rule": "auto",
        "priorities": watched,
    }


def _timers_of(device: Device, port: Port, hardware: Hardware) -> dict[str, Any] | NotLowered | None:
    """Of the chip: the programmed values."""
    dog = port.watchdog
    if dog is None or dog.detection_ms is None:
        return None
    detection = hardware.detection.programmed(dog.detection_ms)
    restoration = hardware.restoration.programmed(dog.restoration_ms) if dog.restoration_ms is not None else None
    if detection is None or (dog.restoration_ms is not None and restoration is None):
        return NotLowered(f"watchdog of {port.name}: a time out of the range of the chip's timer: lowered as off")
    return {
        "kind": "hardware",
        "granularity": f"{hardware.step_ms(device)}ms",
        "detection": f"{detection.value_ms}ms",
        "restoration": "never" if restoration is None else f"{restoration.value_ms}ms",
        "action": dog.action if dog.action in {"drop", "forward", "alert"} else "drop",
        "priorities": sorted(port.watched),
    }


def usual_watchdog(place: Place) -> tuple[Port, dict[str, Any]] | None:
    """That of the first port that has one, of those by which data leaves first: a storm comes from beyond them."""
    leaving = place.cut.leaving(place.device.name)
    for name in (*leaving, *(it for it in place.device.ports if it not in leaving)):
        port = place.device.ports[name]
        found = watchdog_of(place.device, port)
        if isinstance(found, dict):
            return port, found
    return None


def _watchdog(place: Place) -> Iterable[Lowered]:
    """The poll is the switch's; ports have their own times."""
    found = usual_watchdog(place)
    if found is None:
        yield Value("off", "no port of the cut-out has a watchdog that watches a priority")
        return
    port, fields = found
    yield Value(fields, place.origin(port.watchdog.where if port.watchdog else port.where))


def _hash(place: Place) -> Lowered:
    words = {"CRC": "crc32", "CRC_32LO": "crc32", "CRC_32HI": "crc32", "CRC_CCITT": "crc32", "XOR": "xor"}
    algorithm = words.get(place.device.hash_algorithm, "murmur3")
    stated = place.device.hash_algorithm in words
    return Value(
        {"algorithm": algorithm, "seed": 0 if stated else "per-switch"},
        place.origin(("SWITCH_HASH", "GLOBAL")) if stated else "assumed: seed and algorithm are not stated",
    )


SWITCH_ROWS: Final = (
    Row("HWSKU, platform", "asic", _asic),
    Row("packet memory of the chip", "memory", _memory),
    Row("cell of the chip", "cell", _cell),
    Row("forwarding latency", "latency", _latency),
    Row("ingress pool of the lossless groups, size", "pool", _pool),
    Row("ingress pool of the lossless groups, xoff", "shared_headroom", _shared_headroom),
    Row(
        "egress pool of the lossless queues, size", "egress_pools.lossless", lambda it: _egress_pool(it, lossless=True)
    ),
    Row("egress pool of the lossy queues, size", "egress_pools.lossy", lambda it: _egress_pool(it, lossless=False)),
    Row("PFC priorities of all ports of the cut-out", "lossless", _lossless),
    Row("dscp_to_tc of the ports that data enters by", "dscp_to_tc", _dscp_to_tc),
    Row("tc_to_pg of the ports that data enters by", "tc_to_pg", _tc_to_pg),
    Row("tc_to_queue of the port that data leaves by", "tc_to_queue", _tc_to_queue),
    Row("PFC watchdog: poll, and the port that data leaves by first", "watchdog", _watchdog),
    Row("ECMP hash", "hash", _hash),
)
