"""Rows of ports: MTU, priority groups, marking, scheduler, PFC, map of DSCPs, watchdog.

`buffer` of a port of a scenario is the profile of RoCE's group; groups with another one are in `buffer_pg`. A group
without headroom is no lossless group: what comes in by it is lossy, and its port sends no pause for it. A pause that
stops another queue than its priority's (pfc_to_queue) is a pause that RoCE's queue does not honour.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Final

from fabric.configs.model import BufferProfile, Curve, Limit, Wred
from fabric.dataplane.state.codes import N_CLASSES
from fabric.proof.lowering.switch_rows import lossless_classes, map_entries, roce_class, usual_watchdog, watchdog_of
from fabric.proof.lowering.values import Lowered, NotLowered, Place, Row, Value, size
from fabric.validate.chips import is_nvidia

_LARGEST_MTU: Final = 9_600
_LEAST_MTU: Final = 576
_NO_PROBABILITY: Final = 1e-9
"""A scenario's curve has a probability above 0."""
_DEFAULT_LOSSY_TH: Final = 3
_DEFAULT_MBPS: Final = 100_000
"""Of a port whose speed is not stated, as its cable has it."""
LARGEST_TH: Final = 7


def _tc(place: Place) -> int:
    entering = place.cut.entering(place.device.name)
    found = roce_class(place, [place.here.name] if place.enters else entering)
    return DEFAULT_TC if found is None else found


DEFAULT_TC: Final = 3


def roce_group(place: Place) -> int:
    """The priority group of RoCE at this port."""
    entries = map_entries(place.device, place.here, "tc_to_pg")
    tc = _tc(place)
    return tc if entries is None else entries.get(tc, 0)


def roce_queue(place: Place) -> int:
    """The queue of RoCE at this port."""
    entries = map_entries(place.device, place.here, "tc_to_queue")
    tc = _tc(place)
    return tc if entries is None else entries.get(tc, 0)


def group_profile(place: Place) -> BufferProfile | None:
    """The profile of the lossless group of the port: RoCE's, or that of a priority with PFC."""
    port = place.here
    if place.group is not None:
        return place.device.profile_of(port.groups.get(place.group))
    for group in (roce_group(place), *sorted(port.lossless), *lossless_classes([place.device])):
        found = place.device.profile_of(port.groups.get(group))
        if found is not None and found.lossless:
            return found
    return None


def _mtu(place: Place) -> Lowered:
    mtu = place.here.mtu
    if not _LEAST_MTU <= mtu <= _LARGEST_MTU:
        return NotLowered(f"MTU {mtu}: a scenario has {_LEAST_MTU} to {_LARGEST_MTU}")
    return Value(size(mtu), place.origin(place.here.where, "mtu"))


def _known(place: Place) -> bool:
    """Whether the groups of the port are known, so that an absent one is absent on the switch."""
    return not place.here.headroom_unknown and (bool(place.device.profiles) or bool(place.device.pools))


def _headroom(place: Place) -> Lowered:
    found = group_profile(place)
    if found is not None:
        if found.derived and found.assumed:
            return Value(size(found.xoff_bytes), f"assumed: {found.derived}")
        backed = _backed(place, found)
        if backed < found.xoff_bytes:
            why = f"assumed: size {found.size_bytes} B backs no more of xoff {found.xoff_bytes} B"
            return Value(size(backed), f"{why} ({place.origin(found.where, 'size')})")
        return Value(size(found.xoff_bytes), place.origin(found.where, "xoff"))
    if _known(place):
        return Value("0B", f"{place.origin(place.here.where)}: no lossless group")
    return Value("auto", "assumed: the switch computes its headroom, and no file states it")


def _backed(place: Place, profile: BufferProfile) -> int:
    """Headroom that memory is set aside for: private headroom is a part of `size`, on NVIDIA beside xon."""
    pool = place.device.pools.get(profile.pool)
    if not place.device.capabilities.group_memory_stated or (pool and pool.shared_headroom_bytes):
        return profile.xoff_bytes
    return max(0, profile.size_bytes - (profile.xon_bytes if is_nvidia(place.device) else 0))


def _threshold(place: Place) -> Iterable[Lowered]:
    found = group_profile(place) or _zero_profile(place)
    if found is None or found.dynamic_th is None:
        return
    if -8 <= found.dynamic_th <= LARGEST_TH:
        yield Value(found.dynamic_th, place.origin(found.where, "dynamic_th"))
    else:
        yield NotLowered(f"dynamic_th {found.dynamic_th}: a scenario has -8 to 7")


def _zero_profile(place: Place) -> BufferProfile | None:
    return place.device.profile_of(place.here.groups.get(roce_group(place)))


def _static(place: Place) -> Lowered:
    found = group_profile(place)
    if found is None or found.dynamic_th is not None or not found.static_th_bytes:
        return None
    return Value(size(found.static_th_bytes), place.origin(found.where, "static_th"))


def _xon(place: Place) -> Lowered:
    found = group_profile(place)
    return None if found is None else Value(size(found.xon_bytes), place.origin(found.where, "xon"))


def _xon_offset(place: Place) -> Lowered:
    """NVIDIA's rows state no offset and mean xon: the whole limit is the offset then.

    Literally (SAI) an offset of 0 resumes at the limit; so it is taken where xon is 0, too.
    """
    found = group_profile(place)
    if found is None:
        return None
    if not found.xon_offset_bytes and found.xon_bytes and is_nvidia(place.device):
        pool = place.device.pools.get(found.pool)
        limit = pool.size_bytes if pool and pool.size_bytes else 2**30
        return Value(size(limit), "assumed: rows of NVIDIA state no xon_offset and resume at xon")
    return Value(size(found.xon_offset_bytes), place.origin(found.where, "xon_offset"))


def _reserved(place: Place) -> Lowered:
    """NVIDIA with private headroom: `size` contains xoff; else it is what is guaranteed beside it."""
    found = group_profile(place)
    if found is None:
        return None
    pool = place.device.pools.get(found.pool)
    private = is_nvidia(place.device) and not (pool and pool.shared_headroom_bytes)
    reserved = max(0, found.size_bytes - found.xoff_bytes) if private else found.size_bytes
    return Value(size(reserved), place.origin(found.where, "size"))


def _lossy_th(place: Place) -> Lowered:
    for group, profile in _lossy_groups(place).items():
        if profile.dynamic_th is not None and -8 <= profile.dynamic_th <= LARGEST_TH:
            name = f"group {group}, " if len(_lossy_groups(place)) > 1 else ""
            return Value(profile.dynamic_th, f"{name}{place.origin(profile.where, 'dynamic_th')}")
    return Value(_DEFAULT_LOSSY_TH, "assumed: no profile of a lossy group; 3 in shipped templates")


def _lossy_groups(place: Place) -> dict[int, BufferProfile]:
    """Profiles without headroom of the port's groups."""
    found = {group: place.device.profile_of(binding) for group, binding in sorted(place.here.groups.items())}
    return {group: it for group, it in found.items() if it is not None and not it.lossless and 0 <= group < N_CLASSES}


def lossless_groups(place: Place) -> frozenset[int]:
    """Groups with headroom: those of the port's rows; where the switch makes them itself, those of its PFC."""
    port = place.here
    if not _known(place):
        entries = map_entries(place.device, port, "pfc_to_pg")
        return frozenset(entries.get(p, p) if entries else p for p in port.lossless)
    found = {group: place.device.profile_of(binding) for group, binding in port.groups.items()}
    return frozenset(group for group, it in found.items() if it is not None and it.lossless and 0 <= group < N_CLASSES)


def _lossless(place: Place) -> Lowered:
    stated = sorted(lossless_groups(place))
    if _known(place):
        return Value(stated, f"{place.origin(place.here.where)}: its groups with headroom")
    return Value(stated, "assumed: the switch makes a group for each priority with PFC")


def _other_groups(place: Place) -> Iterable[Lowered]:
    """Profiles of groups that differ from what `buffer` has."""
    found: dict[str, dict[str, int | str]] = {}
    origins: list[str] = []
    usual, lossless = group_profile(place), lossless_groups(place)
    for group in sorted(lossless):
        profile = place.device.profile_of(place.here.groups.get(group))
        if profile is None or usual is None or profile.name == usual.name:
            continue
        there = replace(place, group=group)
        fields: dict[str, int | str] = {}
        for row in _GROUP_ROWS:
            for one in _each(row.lower(there)):
                if isinstance(one, NotLowered):
                    yield NotLowered(f"group {group}: {one.why}")
                elif one is not None:
                    fields[row.field.removeprefix("buffer.")] = one.value
        found[str(group)] = fields
        origins.append(place.origin(profile.where))
    base = _lossy_th(place)
    for group, profile in _lossy_groups(place).items():
        if profile.dynamic_th is None and profile.static_th_bytes:
            yield NotLowered(f"group {group}: a lossy group with a static limit; a scenario's is dynamic")
        elif isinstance(base, Value) and profile.dynamic_th not in {None, base.value}:
            found[str(group)] = {"lossy_dynamic_th": int(profile.dynamic_th or 0)}
            origins.append(place.origin(profile.where, "dynamic_th"))
    if found:
        yield Value(found, ", ".join(dict.fromkeys(origins)))


def _each(lowered: Lowered | Iterable[Lowered]) -> Iterable[Lowered]:
    return (lowered,) if lowered is None or isinstance(lowered, Value | NotLowered) else lowered


def _egress_limit(place: Place, kind: str, *, lossless: bool) -> Lowered:
    """Of RoCE's queue if it is of this kind, else of the first queue of this kind that has a profile.

    With SONiC's big red switch every lossless queue drops what it gets: a limit of 0.
    """
    if lossless and place.device.drops_lossless:
        place_ = place.origin(("PFC_WD", "GLOBAL"), "BIG_RED_SWITCH")
        return Value("0B", f"{place_}: lossless queues drop") if kind == "static_th" else None
    queues = [roce_queue(place), *sorted(place.here.queues)]
    of_kind = [queue for queue in queues if (queue in lossless_queues(place)) is lossless]
    profiles = (place.device.profile_of(place.here.queues.get(queue)) for queue in of_kind)
    profile = next((it for it in profiles if it is not None), None)
    if profile is None:
        return None
    if kind == "reserved":
        return Value(size(profile.size_bytes), place.origin(profile.where, "size")) if profile.size_bytes else None
    if kind == "dynamic_th" and profile.dynamic_th is not None and -8 <= profile.dynamic_th <= LARGEST_TH:
        return Value(profile.dynamic_th, place.origin(profile.where, "dynamic_th"))
    if kind == "static_th" and profile.dynamic_th is None and profile.static_th_bytes:
        return Value(size(profile.static_th_bytes), place.origin(profile.where, "static_th"))
    return None


def lossless_queues(place: Place) -> frozenset[int]:
    """Queues of the classes that are lossless at some port of the cut-out: these may hold what the pool has."""
    entries = map_entries(place.device, place.here, "tc_to_queue")
    classes = lossless_classes(place.cut.network.devices.values())
    return frozenset(tc if entries is None else entries.get(tc, 0) for tc in classes)


def _curves(place: Place) -> Iterable[Lowered]:
    """The curve of each queue that marks."""
    found: dict[str, dict[str, str | float | bool]] = {}
    origins: list[str] = []
    for queue, binding in sorted(place.here.queues.items()):
        wred = place.device.wreds.get(binding.wred or "")
        if wred is None or wred.curve is None or not 0 <= queue < N_CLASSES:
            continue
        if not wred.marks:
            if wred.drops:
                yield NotLowered(f"WRED of queue {queue} drops instead of marking: a scenario marks what is ECT")
            continue
        if wred.size_unknown:
            yield NotLowered(f"queue {queue}: marking thresholds in a unit of the chip whose size is not known")
            continue
        if wred.curve.min_bytes > wred.curve.max_bytes:
            yield NotLowered(f"queue {queue}: Kmin above Kmax: what a switch does with it is not known")
        found[str(queue)] = _curve(place, wred, wred.curve)
        origins.append(place.origin(wred.where))
    if found:
        yield Value(found, ", ".join(dict.fromkeys(origins)))


def _curve(place: Place, wred: Wred, curve: Curve) -> dict[str, str | float | bool]:
    probability = 100 if curve.pmax_percent is None else curve.pmax_percent
    kmax = max(curve.max_bytes, curve.min_bytes + 1)
    fields: dict[str, str | float | bool] = {
        "kmin": size(curve.min_bytes), "kmax": size(kmax), "pmax": probability / 100 or _NO_PROBABILITY
    }  # fmt: skip
    if "green" in wred.drops and _unmarked(place):
        fields["drop_non_ect"] = True
    return fields


def _unmarked(place: Place) -> bool:
    """Whether some packet is not ECN-capable: of other traffic, or in a tunnel in compatibility mode (RFC 6040)."""
    return place.cut.not_ect or any(
        it.ecn_mode != "standard" for device in place.cut.network.devices.values() for it in device.tunnels.values()
    )


def _no_curve(place: Place) -> Lowered:
    """Queues without a profile do not mark."""
    return Value("off", f"{place.origin(place.here.where)}: queues without a marking profile")


def _scheduler(place: Place) -> Iterable[Lowered]:
    found: dict[str, str | int] = {}
    where = place.here.where
    for queue, binding in sorted(place.here.queues.items()):
        scheduler = place.device.schedulers.get(binding.scheduler or "")
        if scheduler is None or not 0 <= queue < 8:
            continue
        where = scheduler.where
        found[str(queue)] = "strict" if scheduler.kind == "STRICT" else min(100, max(1, scheduler.weight))
        if scheduler.kind == "WRR":
            yield NotLowered("WRR counts packets: lowered as DWRR, which counts bytes")
    yield Value(found, place.origin(where)) if found else Value({"6": 1}, "assumed: no scheduler is stated")


def _shaper(place: Place, limit: Limit, what: str) -> Value | NotLowered | None:
    """A shaper below the port's speed; one that is not holds nothing back."""
    rate = limit.rate_mbps(place.here.speed_mbps)
    if rate is None or limit.packets:
        return NotLowered(f"shaper of {what}: {'in packets per second' if limit.packets else 'its rate is not known'}")
    if rate >= (place.here.speed_mbps or _DEFAULT_MBPS):
        return None
    origin = place.origin(limit.where, limit.field)
    burst = limit.burst_bytes or 0
    if not burst:
        origin += "; assumed: frames are evenly spaced, as no burst is stated"
    return Value({"rate": f"{max(1, round(rate * 10**6))}bps", "burst": size(burst)}, origin)


def _queue_shapers(place: Place) -> Iterable[Lowered]:
    found: dict[str, dict[str, str]] = {}
    origins: list[str] = []
    for queue, binding in sorted(place.here.queues.items()):
        if binding.limit is None or not 0 <= queue < N_CLASSES:
            continue
        one = _shaper(place, binding.limit, f"queue {queue}")
        if isinstance(one, Value):
            found[str(queue)] = one.value
            origins.append(one.origin)
        else:
            yield one
    if found:
        yield Value(found, ", ".join(dict.fromkeys(origins)))


def _port_shaper(place: Place) -> Lowered:
    return None if place.here.limit is None else _shaper(place, place.here.limit, "the port")


def _send(place: Place) -> Iterable[Lowered]:
    """Priorities that the port pauses at its peer: those with PFC whose group has headroom."""
    port = place.here
    if port.pfc_negotiated:
        yield NotLowered("PFC by DCBX: lowered as on, the peer's answer is not known")
    entries = map_entries(place.device, port, "pfc_to_pg") if place.device.map_of(port, "pfc_to_pg") else None
    groups, kept = lossless_groups(place), []
    for priority in sorted(port.lossless):
        group = priority if entries is None else entries.get(priority, 0)
        if group == priority and group in groups:
            kept.append(priority)
        elif group in groups:
            yield NotLowered(f"pfc_to_pg: priority {priority} for group {group}; a scenario's have one number")
    yield Value(kept, place.origin(port.pfc_where or port.qos_where or port.where))


def _honour(place: Place) -> Iterable[Lowered]:
    """Priorities whose pause the port obeys: where it stops the queue of the same number."""
    port, kept = place.here, []
    if port.global_pause:
        yield NotLowered("802.3x pause of the whole link: a scenario has PFC")
    entries = map_entries(place.device, port, "pfc_to_queue") if place.device.map_of(port, "pfc_to_queue") else None
    for priority in range(N_CLASSES) if port.pfc_asym else sorted(port.lossless):
        queue = priority if entries is None else entries.get(priority, priority)
        if queue == priority:
            kept.append(priority)
        else:
            yield NotLowered(f"pfc_to_queue: a pause of {priority} stops queue {queue}; in a scenario it stops nothing")
    yield Value(kept, place.origin(port.pfc_where or port.qos_where or port.where))


def _dscp_to_tc(place: Place) -> Lowered:
    """Where it differs from the map of the switch's section, which is that of the ports that data enters by."""
    port, device = place.here, place.device
    entries = map_entries(device, port, "dscp_to_tc")
    entering = [device.ports[name] for name in place.cut.entering(device.name)]
    usual = next((it for one in entering if (it := map_entries(device, one, "dscp_to_tc")) is not None), None)
    if entries is None or entries == usual:
        return None
    stated = device.map_of(port, "dscp_to_tc")
    origin = place.origin(stated.where) if stated else f"SAI's default: {port.name} has no dscp_to_tc map"
    sent = place.wire if place.enters else {}
    return Value({str(key): entries.get(sent.get(key, key), 0) for key in range(64)}, origin)


def _watchdog(place: Place) -> Iterable[Lowered]:
    """That of the port where it differs from that of the switch's section."""
    usual, mine = usual_watchdog(place), watchdog_of(place.device, place.here)
    if isinstance(mine, NotLowered):
        yield mine
        mine = None
    if usual is None or mine == usual[1]:
        return
    port = place.here
    if mine is None:
        yield Value("off", f"{place.origin(port.qos_where or port.where)}: {port.name} is not watched")
        return
    fields = {key: mine[key] for key in ("detection", "restoration", "action", "priorities")}
    yield Value(fields, place.origin(port.watchdog.where if port.watchdog else port.where))


def _response(_: Place) -> Lowered:
    return Value("half", "assumed: a peer takes half of what 802.3 31B.3.7 allows")


_GROUP_ROWS: Final = (
    Row("lossless group: xoff", "buffer.headroom", _headroom),
    Row("lossless group: dynamic_th", "buffer.dynamic_th", _threshold),
    Row("lossless group: static_th", "buffer.static_th", _static),
    Row("lossless group: xon", "buffer.xon", _xon),
    Row("lossless group: xon_offset", "buffer.xon_offset", _xon_offset),
    Row("lossless group: size", "buffer.reserved", _reserved),
)
"""Of RoCE's group; those of groups that differ are in `buffer_pg`."""


def _egress_rows(name: str, *, lossless: bool) -> tuple[Row, ...]:
    return tuple(
        Row(
            f"queues that are {name}, RoCE's first: {item}",
            f"egress.{name}.{kind}",
            partial(_egress_limit, kind=kind, lossless=lossless),
        )
        for item, kind in (("dynamic_th", "dynamic_th"), ("static_th", "static_th"), ("size", "reserved"))
    )


PORT_ROWS: Final = (
    Row("PORT.mtu", "mtu", _mtu),
    Row("WRED profile of each queue", "ecn_by_queue", _curves),
    Row("queues without a WRED profile", "ecn", _no_curve),
    *_GROUP_ROWS,
    Row("lossy group: dynamic_th", "buffer.lossy_dynamic_th", _lossy_th),
    Row("groups with other profiles", "buffer_pg", _other_groups),
    Row("groups with headroom", "lossless", _lossless),
    *_egress_rows("lossless", lossless=True),
    *_egress_rows("lossy", lossless=False),
    Row("schedulers of the queues", "scheduler", _scheduler),
    Row("shapers of the queues: pir, pbs", "shaper", _queue_shapers),
    Row("shaper of the port: pir, pbs", "port_shaper", _port_shaper),
    Row("pfc_enable, pfc_to_pg", "pfc_send", _send),
    Row("pfc_enable, pfc_asym, pfc_to_queue", "pfc_honour", _honour),
    Row("dscp_to_tc where it differs", "dscp_to_tc", _dscp_to_tc),
    Row("PFC_WD where it differs", "port_watchdog", _watchdog),
    Row("the peer's response to a pause", "response", _response),
)
