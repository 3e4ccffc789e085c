"""B12 to B15: which pool a buffer profile is in, and whether ports and switches have the profiles they need."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from fabric.configs.buffers.mmu import chip_of
from fabric.configs.model import Binding, BufferProfile, Device, Pool
from fabric.validate.checks.base import Check, E, Found, I, Severity, W, check, construct, shows
from fabric.validate.facts import Facts, Line
from fabric.validate.remedies import Fix, set_field


def _bound(line: Line, bindings: dict[int, Binding]) -> Iterator[tuple[int, Binding, BufferProfile, Pool]]:
    for index, bound in bindings.items():
        profile = line.device.profile_of(bound)
        pool = None if profile is None else line.device.pools.get(profile.pool)
        if profile is not None and pool is not None:
            yield index, bound, profile, pool


@check(
    "B12",
    E,
    "a buffer profile of the other direction",
    condition="priority groups have profiles of ingress pools, queues of egress pools",
    consequence="SAI refuses the binding: the group or queue keeps the chip's default, which is lossy",
    remedy="bind a profile of a pool of the right direction",
    source="SAI saibuffer.h (pool type); sonic-swss bufferorch.cpp",
    leads_to="M4 B7 B13 L9 E8",
)
def B12(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Ports in use, groups and queues."""
    for line in facts.used:
        for bindings, direction, what in (
            (line.port.groups, "ingress", "group"),
            (line.port.queues, "egress", "queue"),
        ):
            for index, bound, profile, pool in _bound(line, bindings):
                if pool.direction in {"ingress", "egress"} and pool.direction != direction and not profile.derived:
                    yield Found(
                        line.device.name,
                        f"{line.port.name}|{index}",
                        f"{what} {index} has '{profile.name}' of {pool.direction} pool {pool.name}",
                        (
                            shows(line.device, bound.profile_where, "profile", profile.name),
                            shows(line.device, profile.where, "pool", pool.name),
                            shows(line.device, pool.where, "type", pool.direction),
                        ),
                        _severity(line, index, profile, direction),
                        fix=_right_pool(facts, line.device, profile) if direction == "ingress" else None,
                    )


def _right_pool(facts: Facts, device: Device, profile: BufferProfile) -> Fix | None:
    """The lossless pool for a profile with headroom that groups alone have: its pool is wrong, not the binding."""
    queues = [bound.profile for port in device.ports.values() for bound in port.queues.values()]
    wanted = lossless_pool(facts, device)
    if not profile.lossless or profile.name in queues or wanted is None or wanted == profile.pool:
        return None
    return set_field(device, profile.where, "pool", wanted)


def _severity(line: Line, index: int, profile: BufferProfile, direction: str) -> Severity:
    """Error for a lossless group, or a queue with a headroom profile; Teralynx ships the rest, which is a note."""
    if (direction == "ingress" and index in line.port.lossless) or (direction == "egress" and profile.lossless):
        return E
    return I if chip_of(line.device) == "teralynx10" else W


def lossless_pool(facts: Facts, device: Device) -> str | None:
    """The ingress pool that lossless groups are meant for: the one so named, else the one that most of them use."""
    named = [pool.name for pool in device.pools.values() if pool.direction == "ingress" and "lossless" in pool.name]
    if named:
        return named[0]
    used = Counter(profile.pool for profile, groups in facts.lossless_profiles(device).values() for _ in groups)
    return used.most_common(1)[0][0] if used else None


@check(
    "B13",
    E,
    "a lossless profile in another pool",
    condition="profiles with headroom of one switch are in its ingress lossless pool, those of lossless queues in its "
    "egress lossless pool",
    consequence="lossy traffic fills the pool that the group's threshold is a share of, and the shared headroom is "
    "another pool's: pauses come early, headroom is not there",
    remedy="put the lossless profile in the lossless pool",
    source="sonic-buildimage buffers_config.j2; SAI saibuffer.h XOFF_SIZE",
    leads_to="B2 B4 B5 B7 B8 B14 E2 E2b E11 D8",
)
def B13(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once per profile in use."""
    for device in facts.devices:
        wanted = lossless_pool(facts, device)
        for profile, _ in facts.lossless_profiles(device).values():
            pool = device.pools.get(profile.pool)
            if pool is None or wanted is None or pool.name == wanted or pool.direction != "ingress":
                continue
            yield Found(
                device.name,
                construct(device, "BUFFER_PROFILE", profile.name),
                f"has headroom and is in {pool.name}, the lossless pool is {wanted}",
                (
                    shows(device, profile.where, "pool", pool.name),
                    shows(device, profile.where, "xoff", profile.xoff_bytes),
                ),
                rests_on=((device.name, profile.where),),
                fix=set_field(device, profile.where, "pool", wanted),
            )
        yield from _egress(facts, device)


def _egress(facts: Facts, device: Device) -> Iterator[Found]:
    """Profiles of lossless queues in a pool that lossy queues fill, while the switch has a lossless egress pool."""
    named = [pool.name for pool in device.pools.values() if pool.direction == "egress" and "lossless" in pool.name]
    if not named:
        return
    lossless: dict[str, BufferProfile] = {}
    lossy: dict[str, str] = {}
    for line in facts.lossless_of(device):
        queues = {queue for _, queue, _ in facts.lossless_queues(line)}
        for index, _, profile, pool in _bound(line, line.port.queues):
            if index in queues:
                lossless.setdefault(profile.name, profile)
            elif pool.name not in named:
                lossy.setdefault(pool.name, f"{line.port.name}|{index}")
    for profile in lossless.values():
        pool = device.pools[profile.pool]
        if pool.direction == "egress" and pool.name in lossy and "lossy" not in profile.name:  # B7 says that of a name
            yield Found(
                device.name,
                construct(device, "BUFFER_PROFILE", profile.name),
                f"lossless queues are in {pool.name}, which lossy ones such as {lossy[pool.name]} fill; the lossless "
                f"pool is {named[0]}",
                (shows(device, profile.where, "pool", pool.name), shows(device, pool.where, "", pool.name)),
                rests_on=((device.name, profile.where),),
                fix=set_field(device, profile.where, "pool", named[0]),
            )


_LISTS: Final = (("BUFFER_PORT_INGRESS_PROFILE_LIST", "ingress"), ("BUFFER_PORT_EGRESS_PROFILE_LIST", "egress"))


@check(
    "B14",
    W,
    "a port's profile list lacks the lossless pool",
    condition="BUFFER_PORT_INGRESS_PROFILE_LIST and _EGRESS_ of a lossless port have a profile of the pool that its "
    "lossless group, or queue, is in",
    consequence="the port has no share of that pool: its lossless packets are not admitted, or not counted",
    remedy="add the pool's profile to the list",
    source="sonic-buffer-port-ingress-profile-list.yang; sonic-swss bufferorch.cpp",
)
def B14(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where the port has a list at all."""
    for line in facts.lossless:
        for (table, direction), names, bindings in zip(
            _LISTS,
            (line.port.ingress_profiles, line.port.egress_profiles),
            (line.port.groups, line.port.queues),
            strict=True,
        ):
            if not names:
                continue
            pools = {line.device.profiles[name].pool for name in names if name in line.device.profiles}
            for index, bound, profile, pool in _bound(line, bindings):
                lossless = profile.lossless if direction == "ingress" else index in line.port.lossless
                if lossless and pool.direction == direction and pool.name not in pools and len(pools) == len(names):
                    yield Found(
                        line.device.name,
                        line.port.name,
                        f"the {direction} profile list has {', '.join(names)}, nothing of {pool.name}",
                        (
                            shows(line.device, (table, line.port.name), "profile_list", ",".join(names)),
                            shows(line.device, bound.profile_where, "profile", profile.name),
                            shows(line.device, profile.where, "pool", pool.name),
                        ),
                    )
                    break


@check(
    "B15",
    W,
    "alpha differs on one switch only",
    condition="lossless profiles of one name have one dynamic_th on all switches of a HWSKU; where most do not agree, "
    "that of most lossless profiles there",
    consequence="that switch pauses at another level than its neighbours of the same kind",
    remedy="use the value of the other switches",
    source="one design, one threshold: SAI dynamic threshold",
    leads_to="E2 E2b E11 D8 B6 B8",
)
def B15(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Switches that differ from a majority of at least two others."""
    found: dict[tuple[str, str], dict[str, tuple[Device, BufferProfile]]] = {}
    for device in facts.devices:
        for name, (profile, _) in facts.lossless_profiles(device).items():
            if profile.dynamic_th is not None and not profile.derived:
                found.setdefault((device.hwsku, name), {})[device.name] = device, profile
    every: dict[str, Counter[int | None]] = {}
    for (hwsku, _), devices in found.items():
        every.setdefault(hwsku, Counter()).update(profile.dynamic_th for _, profile in devices.values())
    for devices in found.values():
        usual, count = Counter(profile.dynamic_th for _, profile in devices.values()).most_common(1)[0]
        if usual is None or count == len(devices):
            continue
        if count < 2 or 2 * count <= len(devices):
            yield from _unlike_the_rest(devices, every)
            continue
        for device, profile in devices.values():
            if profile.dynamic_th is not None and profile.dynamic_th != usual:
                yield Found(
                    device.name,
                    construct(device, "BUFFER_PROFILE", profile.name),
                    f"dynamic_th {profile.dynamic_th}, {usual} on {count} of {len(devices)} switches of "
                    f"'{device.hwsku}'",
                    (shows(device, profile.where, "dynamic_th", profile.dynamic_th),),
                    fix=set_field(device, profile.where, "dynamic_th", usual),
                )


def _unlike_the_rest(
    devices: Mapping[str, tuple[Device, BufferProfile]], every: Mapping[str, Counter[int | None]]
) -> Iterator[Found]:
    """Where a profile has no usual value: those that differ from most lossless profiles of these switches."""
    for device, profile in devices.values():
        usual, count = every[device.hwsku].most_common(1)[0]
        if usual is not None and profile.dynamic_th != usual and 2 * count > every[device.hwsku].total() > 2:
            others = ", ".join(name for name in devices if name != device.name)
            yield Found(
                device.name,
                construct(device, "BUFFER_PROFILE", profile.name),
                f"dynamic_th {profile.dynamic_th}, {usual} in most lossless profiles of '{device.hwsku}' "
                f"and on {others}",
                (shows(device, profile.where, "dynamic_th", profile.dynamic_th),),
                fix=set_field(device, profile.where, "dynamic_th", usual),
            )


_FAR: Final = 4
"""A pool that is smaller by this factor is no matter of rounding, or of more ports."""


@check(
    "B16",
    W,
    "a pool is far smaller than on the other switches",
    condition=f"the size of an ingress pool is not below 1/{_FAR} of that on most other switches of a HWSKU",
    consequence="that switch pauses, and drops lossy traffic, at a small part of the level of its neighbours",
    remedy="use the size of the other switches",
    source="one chip, one buffer: sonic-buildimage buffers_defaults_objects.j2 (a pool's size follows from the chip)",
    leads_to="E2 E2b E8 E11 D8 B2 B6 B7 B8",
)
def B16(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Against the median of at least two others."""
    found: dict[tuple[str, str], list[tuple[Device, Pool]]] = {}
    for device in facts.devices:
        for name, pool in device.pools.items():
            if pool.size_bytes and pool.direction == "ingress":
                found.setdefault((device.hwsku, name), []).append((device, pool))
    for (hwsku, name), its in found.items():
        sizes = sorted(pool.size_bytes or 0 for _, pool in its)
        middle = (len(sizes) - 1) // 2
        for device, pool in its:
            # The median of the other pools: without this one, the sizes behind it move up by one.
            usual = sizes[middle + (bisect_left(sizes, pool.size_bytes or 0) <= middle)] if len(sizes) > 2 else 0
            if (pool.size_bytes or 0) * _FAR < usual:
                yield Found(
                    device.name,
                    construct(device, "BUFFER_POOL", name),
                    f"size {pool.size_bytes} B, {usual} B on other switches of '{hwsku}'",
                    (shows(device, pool.where, "size", pool.size_bytes),),
                    fix=set_field(device, pool.where, "size", usual),
                )


CHECKS: Final[tuple[Check, ...]] = (B12, B13, B14, B15, B16)
