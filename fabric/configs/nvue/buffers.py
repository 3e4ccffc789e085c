"""NVUE's buffer carving -> pools, thresholds and headroom of the neutral model.

`traffic-pool` shares the buffer out in percent; `advance-buffer-config default-global` overrides service pools (pool 1
is the lossless one) and gives regions their alpha or static share. Headroom of a lossless priority is what lies
above `xoff-threshold` in its `port-buffer`; where only the cable length is stated the switch computes it, which the
vendor does not publish: 802.3's worst case (bound D) stands in for it and no check judges it. Sizes are known where
the model is (header), alphas only where the file states them: what is not known is judged by no check.
Source: NVIDIA Cumulus Linux 5.x user guide, "Quality of Service": Traffic Pools, Advanced Buffer Tuning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fabric.configs.buffers.headroom import bounds
from fabric.configs.buffers.platforms import find_platform
from fabric.configs.model import Binding, BufferProfile, Defect, Device, Pool, Port, Where
from fabric.configs.nvue.reader import Reader

_ADVANCED: Final = ("qos", "advance-buffer-config", "default-global")
_LOSSLESS: Final = frozenset(("default-lossless", "roce-lossless"))
_POOL_OF: Final = {"default-lossy": 0, "roce-lossy": 0, "default-lossless": 1, "roce-lossless": 1, "mc-lossy": 2}
"""Service pool of each traffic pool."""
_LOSSLESS_POOL: Final = 1
_ALPHA: Final = {
    "alpha_0": -8,
    **{f"alpha_1_{2**n}": -n for n in range(1, 8)},
    "alpha_1": 0,
    **{f"alpha_{2**n}": n for n in range(1, 7)},
    "alpha_infinity": 7,
}
"""Words for the factor to its exponent; 0 and infinity to the ends of SONiC's range."""
_POOL_WORDS: Final = ("infinite", "memory-percent", "mode", "reserved", "shared-alpha", "shared-bytes")
_REGION_WORDS: Final = ("name", "reserved", "service-pool", "shared-alpha", "shared-bytes", "headroom")


@dataclass(frozen=True, slots=True)
class PfcProfile:
    """What a PFC profile of NVUE states; None where it does not."""

    where: Where
    priorities: frozenset[int]
    cable_m: int | None = None
    port_buffer_bytes: int | None = None
    xoff_bytes: int | None = None
    """Level at which the pause is sent, as NVUE has it: the opposite of SONiC's xoff."""
    xon_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class _Region:
    where: Where
    pool: int
    reserved: int = 0
    alpha: int | None = None
    static_bytes: int | None = None


def add_buffers(reader: Reader, pfc: Mapping[str, PfcProfile], *, macro: bool) -> None:
    """Pools, and the profile of every lossless group and queue. Lossy groups only where a pool claims a priority."""
    device = reader.device
    stated = bool(reader.at("qos", "traffic-pool") or reader.at(*_ADVANCED))
    percents, lossy = _traffic_pools(reader, macro=macro)
    ingress, egress = _service_pools(reader, percents)
    headroom = sum(
        _headroom(port, _profile_of(port, pfc)) * len(port.lossless) for port in device.ports.values() if port.admin_up
    )
    known = find_platform(device.hwsku)
    whole = None if known is None or known.mmu_bytes is None else max(0, known.mmu_bytes - headroom)
    for direction, pools in (("ingress", ingress), ("egress", egress)):
        for number, (where, percent, mode) in pools.items():
            size = None if whole is None else whole * percent // 100
            name = f"{direction}-pool {number}"
            device.pools[name] = Pool(name, where, direction, mode, size)
    if not stated:
        return
    region = _region(reader, "ingress-lossless-buffer", (), _LOSSLESS_POOL)
    for port in device.ports.values():
        own = _profile_of(port, pfc)
        for priority in sorted(port.lossless):
            pool = lossy.get(priority)
            profile = _lossy(device, pool) if pool is not None else _lossless(device, port, own, region)
            port.groups[priority] = Binding(port.qos_where, profile, port.qos_where)
    _egress(reader)


def _profile_of(port: Port, pfc: Mapping[str, PfcProfile]) -> PfcProfile | None:
    return next((it for it in pfc.values() if it.where == port.qos_where), None)


def _headroom(port: Port, pfc: PfcProfile | None) -> int:
    """Bytes kept for one lossless group above its threshold."""
    if pfc is not None and pfc.port_buffer_bytes is not None and pfc.xoff_bytes is not None:
        return max(0, pfc.port_buffer_bytes - pfc.xoff_bytes)
    return bounds(port.speed_mbps, port.cable_m, port.mtu).d if port.speed_mbps and port.cable_m else 0


def _traffic_pools(reader: Reader, *, macro: bool) -> tuple[dict[int, tuple[Where, int]], dict[int, str]]:
    """Service pool -> (where, percent), and the lossy pool that claims each priority."""
    percents: dict[int, tuple[Where, int]] = {}
    lossy: dict[int, str] = {}
    lossless = [name for name in reader.at("qos", "traffic-pool") if name in _LOSSLESS]
    if macro:  # the guide's table: half for each
        percents = {0: (reader.where("qos", "roce"), 50), 1: (reader.where("qos", "roce"), 50)}
    if len(lossless) > 1:
        reader.bad(
            ("qos", "traffic-pool", lossless[1]),
            f"there is one lossless pool at a time, and '{lossless[0]}' is stated, too",
        )
    for name in reader.at("qos", "traffic-pool"):
        path = ("qos", "traffic-pool", name)
        if name not in _POOL_OF:
            reader.unread(path)
            continue
        row = reader.at(*path)
        reader.only(path, ("memory-percent", "switch-priority"))
        if "memory-percent" in row:
            percent = reader.number((*path, "memory-percent"), row["memory-percent"], 0, 100)
            percents[_POOL_OF[name]] = reader.where(*path, "memory-percent"), percent or 0
        if "switch-priority" in row and name not in _LOSSLESS:
            lossy.update(dict.fromkeys(reader.priorities((*path, "switch-priority"), row["switch-priority"]), name))
    for name in lossless:  # what a lossless pool claims is its own
        path = ("qos", "traffic-pool", name)
        if "switch-priority" in reader.at(*path):
            claimed = reader.priorities(path, reader.at(*path)["switch-priority"])
            for priority in claimed:
                lossy.pop(priority, None)
            paused = frozenset(it for port in reader.device.ports.values() for it in port.lossless)
            if paused - claimed:
                text = f"has priority {_listed(claimed)}, and PFC is on for {_listed(paused)}"
                reader.bad((*path, "switch-priority"), text, "R9")
    return percents, lossy


def _listed(priorities: frozenset[int]) -> str:
    return ",".join(map(str, sorted(priorities))) or "none"


def _service_pools(
    reader: Reader, percents: dict[int, tuple[Where, int]]
) -> tuple[dict[int, tuple[Where, int, str]], dict[int, tuple[Where, int, str]]]:
    found = []
    for direction in ("ingress", "egress"):
        pools = {number: (where, percent, "dynamic") for number, (where, percent) in percents.items()}
        for word in (f"{direction}-pool", f"{direction}-service-pool"):
            for number, row, path in reader.entries(*_ADVANCED, word):
                reader.only(path, _POOL_WORDS)
                where, percent, mode = pools.get(number, (reader.where(*path), 0, "dynamic"))
                if "memory-percent" in row:
                    percent = reader.number((*path, "memory-percent"), row["memory-percent"], 0, 100) or 0
                    where = reader.where(*path, "memory-percent")
                mode = reader.choice((*path, "mode"), row.get("mode", mode), ("static", "dynamic")) or mode
                pools[number] = where, percent, mode
        default = reader.where("qos", "roce")  # what the macro gives a pool yields to what is stated
        total = sum(percent for where, percent, _ in pools.values() if where != default)
        if total > 100:
            where = max((it[0] for it in pools.values()), key=reader.source.line)
            reader.device.defects.append(
                Defect("R5", where, f"{direction} pools", f"memory-percent of the pools sums up to {total}, above 100")
            )
        found.append(pools)
    return found[0], found[1]


def _region(reader: Reader, name: str, more: tuple[str, ...], pool: int) -> _Region:
    path = (*_ADVANCED, name, *more)
    row = reader.at(*path)

    def number(word: str, default: int | None, high: int = 2**32) -> int | None:
        return reader.number((*path, word), row[word], 0, high) if word in row else default

    alpha: Any = row.get("shared-alpha")
    if alpha is not None and reader.choice((*path, "shared-alpha"), alpha, tuple(_ALPHA)) is None:
        alpha = None
    return _Region(
        reader.where(*path),
        number("service-pool", pool, 7) or 0,
        number("reserved", 0) or 0,
        None if alpha is None else _ALPHA[str(alpha).lower()],
        number("shared-bytes", None),
    )


def _lossless(device: Device, port: Port, pfc: PfcProfile | None, region: _Region) -> str:
    stated = pfc is not None and pfc.port_buffer_bytes is not None and pfc.xoff_bytes is not None
    headroom = _headroom(port, pfc) or 1
    name = f"pfc {pfc.where[-1] if pfc else ''} {headroom}"
    if name not in device.profiles:
        xoff, xon = (pfc.xoff_bytes or 0, pfc.xon_bytes) if pfc else (0, None)
        device.profiles[name] = BufferProfile(
            name,
            pfc.where if stated and pfc else region.where,
            f"ingress-pool {region.pool}",
            (pfc.port_buffer_bytes or 0) if stated and pfc else headroom,
            region.alpha,
            region.static_bytes,
            xon_bytes=xoff if xon is None else xon,
            xoff_bytes=headroom,
            assumed=not stated,
            derived="" if stated else "computed by the switch from the cable's length; bound D stands in for it",
        )
    return name


def _lossy(device: Device, pool: str) -> str:
    name = f"traffic-pool {pool}"
    if name not in device.profiles:
        device.profiles[name] = BufferProfile(name, (), f"ingress-pool {_POOL_OF[pool]}")
    return name


def _egress(reader: Reader) -> None:
    """Regions of the egress buffer: one for lossless queues, one per traffic class for the others."""
    device = reader.device
    known = (
        "ingress-lossless-buffer",
        "egress-lossless-buffer",
        "egress-lossy-buffer",
        "ingress-lossy-buffer",
        "ingress-pool",
        "egress-pool",
        "ingress-service-pool",
        "egress-service-pool",
    )
    reader.only(_ADVANCED, known)
    reader.only(_ADVANCED[:2], ("default-global",))
    reader.only((*_ADVANCED, "ingress-lossless-buffer"), _REGION_WORDS)
    reader.only((*_ADVANCED, "egress-lossless-buffer"), _REGION_WORDS)
    reader.only((*_ADVANCED, "egress-lossy-buffer"), ("traffic-class",))
    for group in reader.at(*_ADVANCED, "ingress-lossy-buffer"):
        reader.unread((*_ADVANCED, "ingress-lossy-buffer", group))
    queue_of = device.maps["pfc_to_queue"]["default-global"].entries
    profiles: dict[int | None, str] = {}
    if reader.at(*_ADVANCED, "egress-lossless-buffer"):
        region = _region(reader, "egress-lossless-buffer", (), _LOSSLESS_POOL)
        profiles[None] = _add(device, "egress-lossless-buffer", region)
    for queue, _, path in reader.entries(*_ADVANCED, "egress-lossy-buffer", "traffic-class"):
        region = _region(reader, "egress-lossy-buffer", path[-2:], 0)
        profiles[queue] = _add(device, f"egress-lossy-buffer {queue}", region)
    for port in device.ports.values():
        for queue in {queue_of.get(priority, priority) for priority in port.lossless}:
            profile = profiles.get(None, profiles.get(queue))
            if profile is not None:
                bound = port.queues.setdefault(queue, Binding(device.profiles[profile].where))
                bound.profile, bound.profile_where = profile, device.profiles[profile].where


def _add(device: Device, name: str, region: _Region) -> str:
    device.profiles[name] = BufferProfile(
        name, region.where, f"egress-pool {region.pool}", region.reserved, region.alpha, region.static_bytes
    )
    return name
