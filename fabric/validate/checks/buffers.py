"""B: pools, profiles and thresholds of the packet buffer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from fabric.configs.buffers.mmu import chip_of
from fabric.configs.model import BufferProfile, Device, Pool
from fabric.validate.checks.base import Check, E, Evidence, Found, I, Severity, W, check, construct, shows
from fabric.validate.checks.entries import pause_roots
from fabric.validate.checks.membership import lossless_pool
from fabric.validate.checks.without_xoff import lacks_xoff
from fabric.validate.chips import is_nvidia, mmu_bytes
from fabric.validate.facts import Facts, Line, threshold
from fabric.validate.held import feeding
from fabric.validate.remedies import Fix, set_field

_KB: Final = 1024
_FEW_CELLS_BYTES: Final = 16 * _KB
_LOWEST_TH, _HIGHEST_TH = -6, 3
_STARVING_TH: Final = 6
_LOW_EGRESS_LIMIT: Final = "teralynx10"
"""A chip whose shipped egress limit is below T(1)."""


def lossless_pools(facts: Facts, device: Device) -> Iterator[tuple[BufferProfile, Pool, int]]:
    """(profile, its pool, number of groups that use it) for every lossless profile in use."""
    for profile, groups in facts.lossless_profiles(device).values():
        pool = device.pools.get(profile.pool)
        if pool is not None:
            yield profile, pool, len(groups)


@check(
    "B1",
    E,
    "more buffer given away than there is",
    condition="ingress pools <= packet buffer of the chip; on NVIDIA with shared and private headroom",
    consequence="SAI rejects the pool, or the SDK over-commits and lossless packets are dropped",
    remedy="shrink the ingress pools by what is missing",
    source="sonic-swss buffer_pool_mellanox.lua l.186-472",
)
def B1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Only where the size of the buffer is known."""
    for device in facts.devices:
        total = mmu_bytes(device)
        ingress = [pool for pool in device.pools.values() if pool.direction == "ingress"]
        if total is None or device.dynamic_buffers or not ingress or not device.capabilities.all_pools_stated:
            continue
        pools = sum(pool.size_bytes or 0 for pool in ingress)
        private = 0
        if is_nvidia(device):  # others count headroom inside the pools
            pools += sum(pool.shared_headroom_bytes for pool in ingress)
            private = sum(profile.size_bytes * n for profile, _, n in lossless_pools(facts, device))
        if pools + private > total:
            yield Found(
                device.name,
                "BUFFER_POOL",
                f"pools {pools} B + lossless groups {private} B exceed "
                f"the buffer's {total} B by {pools + private - total} B",
                tuple(shows(device, pool.where, "size", pool.size_bytes) for pool in ingress),
                fix=_smaller_pool(device, ingress, pools + private - total),
            )


def _smaller_pool(device: Device, pools: Sequence[Pool], missing: int) -> Fix | None:
    """The largest pool without the bytes that there are not; None where it is not larger than they are."""
    largest = max(pools, key=lambda it: it.size_bytes or 0)
    left = (largest.size_bytes or 0) - missing
    return set_field(device, largest.where, "size", left) if left > 0 else None


@check(
    "B2",
    W,
    "shared headroom smaller than what may be needed at once",
    condition="sum of the groups' xoff <= 6 x shared headroom pool (info above 1 x; shipped: 0.5 to 5.4 x)",
    consequence="pauses on many ports at once overflow the shared headroom: loss in the lossless class",
    remedy="enlarge BUFFER_POOL.xoff",
    source="shipped configurations of nine platforms",
)
def B2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Ratio of demand to the shared pool."""
    for device in facts.devices:
        for pool in device.pools.values():
            if not pool.shared_headroom_bytes:
                continue
            demand = sum(profile.xoff_bytes * n for profile, its, n in lossless_pools(facts, device) if its is pool)
            ratio = demand / pool.shared_headroom_bytes
            if ratio > 1:
                yield Found(
                    device.name,
                    construct(device, "BUFFER_POOL", pool.name),
                    f"groups may need {demand} B of headroom at once, "
                    f"{ratio:.1f} x the shared {pool.shared_headroom_bytes} B",
                    (shows(device, pool.where, "xoff", pool.shared_headroom_bytes),),
                    W if ratio > 6 else I,
                )


@check(
    "B3",
    W,
    "threshold of a lossless group far from any shipped one",
    condition="-6 <= dynamic_th <= 3; a static_th holds a full frame of the port (error)",
    consequence="large: one group may take nearly the whole pool and the others starve, pauses come very late; "
    "small: pauses at an almost empty buffer",
    remedy="use the vendor's value (-3 to 1 on most platforms)",
    source="4991 rows of shipped pg_profile_lookup.ini: -6 to 1",
    leads_to="E2 E2b B6 B7 B8 B15 E11 D8",
)
def B3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Error where one group can starve several others."""
    for device in facts.devices:
        for profile, pool, n in lossless_pools(facts, device):
            th = profile.dynamic_th
            frame = max((line.port.mtu for line in facts.lossless_of(device)), default=0)
            if profile.static_th_bytes is not None and 0 < profile.static_th_bytes < frame:
                yield Found(
                    device.name,
                    construct(device, "BUFFER_PROFILE", profile.name),
                    f"static_th {profile.static_th_bytes} B, and a frame up to {frame} B: the first begins a pause",
                    (shows(device, profile.where, "static_th", profile.static_th_bytes),),
                    E,
                )
            if th is None or _LOWEST_TH <= th <= _HIGHEST_TH:
                continue
            level = threshold(profile, pool, 1)
            share = (
                f": one group may hold {level / pool.size_bytes:.0%} of {pool.name}"
                if (level is not None and pool.size_bytes)
                else ""
            )
            worse = th >= _STARVING_TH and n > 4
            yield Found(
                device.name,
                construct(device, "BUFFER_PROFILE", profile.name),
                f"dynamic_th {th}, alpha {2.0**th:g}, on {n} groups{share}",
                (shows(device, profile.where, "dynamic_th", th), shows(device, pool.where, "size", pool.size_bytes)),
                E if worse else W,
            )


@check(
    "B4",
    E,
    "headroom not backed by reserved memory",
    condition="without shared headroom: size >= xon + xoff (NVIDIA), size >= xoff (others)",
    consequence="the group runs out before its headroom is used: loss although PFC works",
    remedy="size = xoff + xon, as the vendor's table has it",
    source="SONiC HLD dynamically headroom l.69, l.1027",
)
def B4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Private headroom only; a size of a few cells is B5's."""
    for device in facts.devices:
        if not device.capabilities.group_memory_stated:
            continue
        for profile, pool, _ in lossless_pools(facts, device):
            need = profile.xoff_bytes + (profile.xon_bytes if is_nvidia(device) else 0)
            few = profile.size_bytes <= _FEW_CELLS_BYTES and profile.size_bytes < profile.xoff_bytes
            if not pool.shared_headroom_bytes and profile.size_bytes < need and not few and not profile.derived:
                yield Found(
                    device.name,
                    construct(device, "BUFFER_PROFILE", profile.name),
                    f"size {profile.size_bytes} B < {need} B needed",
                    (
                        shows(device, profile.where, "size", profile.size_bytes),
                        shows(device, profile.where, "xoff", profile.xoff_bytes),
                        shows(device, profile.where, "xon", profile.xon_bytes),
                    ),
                )


@check(
    "B5",
    E,
    "headroom exists nowhere",
    condition="a profile with xoff has a shared headroom pool, or a size that covers it",
    consequence="neither private nor shared headroom: every pause loses packets",
    remedy="give the pool an xoff, or the profile a size",
    source="SAI saibuffer.h XOFF_TH, XOFF_SIZE",
    leads_to="B4 H4",
)
def B5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """A size of a few cells is meant for shared headroom."""
    for device in facts.devices:
        if not device.capabilities.group_memory_stated:
            continue
        for profile, pool, _ in lossless_pools(facts, device):
            if profile.assumed or pool.shared_headroom_bytes:
                continue
            if profile.size_bytes < min(profile.xoff_bytes, _FEW_CELLS_BYTES + 1):
                yield Found(
                    device.name,
                    construct(device, "BUFFER_PROFILE", profile.name),
                    f"xoff {profile.xoff_bytes} B, but size is "
                    f"{profile.size_bytes} B and {pool.name} has no shared headroom",
                    (shows(device, profile.where, "size", profile.size_bytes), shows(device, pool.where, "xoff", 0)),
                )


@check(
    "B6",
    W,
    "no usable resume threshold",
    condition="xon > 0 or xon_offset > 0; xon_offset < T with every group full",
    consequence="resume only when empty: holes in the traffic; or resume at the limit: pauses flap",
    remedy="take xon and xon_offset from the vendor's row",
    source="SAI saibuffer.h XON_TH, XON_OFFSET_TH",
)
def B6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Either form of hysteresis will do."""
    for device in facts.devices:
        if not device.capabilities.group_memory_stated:
            continue
        groups = sum(n for _, _, n in lossless_pools(facts, device))
        for profile, pool, _ in lossless_pools(facts, device):
            level = threshold(profile, pool, max(1, groups))
            if profile.assumed:
                continue
            if not profile.xon_bytes and not profile.xon_offset_bytes:
                text = "xon and xon_offset are both 0"
            elif level is not None and profile.xon_offset_bytes > level:
                text = f"xon_offset {profile.xon_offset_bytes} B > {level:.0f} B, the limit with all groups full"
            else:
                continue
            yield Found(
                device.name,
                construct(device, "BUFFER_PROFILE", profile.name),
                text,
                (shows(device, profile.where, "xon_offset", profile.xon_offset_bytes),),
            )


def egress_cap(device: Device, profile: BufferProfile) -> float | None:
    """What one egress queue may hold; None where it is unlimited or unknown."""
    pool = device.pools.get(profile.pool)
    if profile.static_th_bytes is not None and profile.dynamic_th is None:
        return float(profile.static_th_bytes) or None  # SAI: a static threshold of 0 is no limit
    if profile.alpha is None or pool is None or pool.size_bytes is None:
        return None
    return profile.size_bytes + profile.alpha * pool.size_bytes / (1 + profile.alpha)


def _with_profile(facts: Facts, line: Line, queue: int) -> str:
    """What has a buffer profile where a lossless queue has none: other queues of the port, or the queue elsewhere."""
    if any(it.profile for it in line.port.queues.values()):
        return "other queues of the port"
    others = [it.port.queues.get(queue) for it in facts.lossless_of(line.device) if it is not line]
    having = sum(it is not None and it.profile is not None for it in others)
    return "other ports" if 2 * having > len(others) else ""


@check(
    "B7",
    E,
    "a lossless queue may drop before its group pauses",
    condition="egress limit of a lossless queue >= T(1) + xoff (error: < T(1); Teralynx: < T of all groups) and >= "
    "what the groups of all other ports hold together when they pause (warn) and with their headroom (note), and no "
    "lossy profile; a separate profile where other queues have one (warn)",
    consequence="drops inside the lossless class although PFC works",
    remedy="raise the limit of the queue's profile above what its groups hold when they pause, or bind the "
    "lossless egress profile",
    source="SAI buffer model; shipped egress lossless limits equal the pool",
)
def B7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Judged per lossless queue of ports in use."""
    for line in facts.lossless:
        for priority, queue, bound in facts.lossless_queues(line):
            least = facts.smallest_threshold(line.device, queue)
            profile = line.device.profile_of(bound)
            if (
                line.device.capabilities.queue_profile_stated
                and (bound is None or bound.profile is None)
                and (others := _with_profile(facts, line, queue))
            ):
                where = bound.where if bound else line.port.where
                yield Found(
                    line.device.name,
                    f"{line.port.name}|{queue}",
                    f"lossless queue has no buffer profile, {others} have",
                    (shows(line.device, where, "", ""),),
                    W,
                    rests_on=pause_roots(facts, line, priority),
                )
            if bound is None or profile is None or "zero" in profile.name:
                continue
            cap = egress_cap(line.device, profile)
            severity = E
            if "lossy" in profile.name:
                text = f"lossless queue uses '{profile.name}'"
            elif cap is not None and least is not None and cap < least[0] + least[1].xoff_bytes:
                text = (
                    f"queue drops at {cap:.0f} B, its group pauses at {least[0]:.0f} B and takes "
                    f"{least[1].xoff_bytes} B more"
                )
                # Groups that fill one queue hold more together than one alone when they pause. Teralynx ships a limit
                # below T(1), for many congested queues at once, whose groups pause earlier; below T(all) none does.
                groups = sum(n for _, _, n in lossless_pools(facts, line.device))
                most = (
                    threshold(least[1], least[2], max(1, groups))
                    if chip_of(line.device) == _LOW_EGRESS_LIMIT
                    else least[0]
                )
                severity = E if cap < (most or 0) else W
            elif cap is not None and (both := feeding(facts, line, queue)) is not None and cap < both.most_bytes:
                more = both.most_bytes - both.paused_bytes
                text = (
                    f"queue drops at {cap:.0f} B, the {both.groups} groups that feed it pause at "
                    f"{both.paused_bytes:.0f} B together and take {more:.0f} B more"
                )
                severity = W if cap < both.paused_bytes else I
            else:
                continue
            yield Found(
                line.device.name,
                f"{line.port.name}|{queue}",
                text,
                (
                    shows(line.device, bound.profile_where, "profile", profile.name),
                    shows(line.device, profile.where, "", profile.name, "limit"),
                ),
                severity,
            )


@check(
    "B8",
    W,
    "lossy traffic may take the lossless pool",
    condition="a lossy profile in the lossless pool has a smaller alpha than the lossless one, and a static limit "
    "below the pool (info for an alpha of 8 or less that most switches of the platform have)",
    consequence="a burst of ordinary traffic lowers T: pauses without congestion of the lossless class",
    remedy="lower the lossy profile's threshold, or give it a separate pool",
    source="SAI dynamic threshold; shipped Broadcom templates have a static limit above the pool (info)",
)
def B8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Info for what vendors ship: nothing is lost, pauses only come earlier. A warning above that, or on a minority.

    Shipped SONiC templates have a lossy alpha of 8 beside lossless ones of 1/8 (buffers_defaults_*.j2), or a static
    limit above the pool.
    """
    common = _usual_lossy(facts)
    for device in facts.devices:
        meant = lossless_pool(facts, device)  # a lossless profile in the lossy pool is B13's, not the lossy one's
        pools = {pool.name: (profile, pool) for profile, pool, _ in lossless_pools(facts, device) if pool.name == meant}
        lossy = {bound.profile for line in facts.lossless_of(device) for bound in line.port.groups.values()}
        for profile in device.profiles.values():
            if profile.name not in lossy or profile.lossless or profile.pool not in pools:
                continue
            if lacks_xoff(facts, device, profile):  # not meant for lossy traffic: M4 says so
                continue
            lossless, pool = pools[profile.pool]
            if (
                profile.dynamic_th is not None
                and lossless.dynamic_th is not None
                and (profile.dynamic_th >= lossless.dynamic_th)
            ):
                yield Found(
                    device.name,
                    construct(device, "BUFFER_PROFILE", profile.name),
                    f"lossy alpha {2.0**profile.dynamic_th:g} >= "
                    f"lossless alpha {2.0**lossless.dynamic_th:g} in {pool.name}",
                    (
                        shows(device, profile.where, "dynamic_th", profile.dynamic_th),
                        shows(device, lossless.where, "dynamic_th", lossless.dynamic_th),
                    ),
                    I if profile.dynamic_th <= _SHIPPED_TH and (device.platform, profile.dynamic_th) in common else W,
                )
            elif profile.static_th_bytes and profile.static_th_bytes >= (pool.size_bytes or 2**62):
                yield Found(
                    device.name,
                    construct(device, "BUFFER_PROFILE", profile.name),
                    f"lossy limit {profile.static_th_bytes} B >= {pool.name}'s {pool.size_bytes} B",
                    (shows(device, profile.where, "static_th", profile.static_th_bytes),),
                    I,
                )


_SHIPPED_TH: Final = 3
"""Largest exponent of a lossy profile in vendors' templates: an alpha of 8."""


def _usual_lossy(facts: Facts) -> set[tuple[str, int]]:
    """(platform, exponent) that the lossy profiles of most switches of the platform have."""
    every = Counter(device.platform for device in facts.devices)
    having = Counter(
        key
        for device in facts.devices
        for key in {
            (device.platform, it.dynamic_th)
            for it in device.profiles.values()
            if it.dynamic_th is not None and not it.lossless
        }
    )
    return {key for key, count in having.items() if 2 * count > every[key[0]]}


@check(
    "B9",
    W,
    "lossless classes take too much of the buffer",
    condition="at most two lossless priorities per port; reserved headroom <= half of the buffer",
    consequence="headroom eats the shared buffer: smaller bursts, earlier pauses",
    remedy="use one or two lossless priorities",
    source="Guo et al., SIGCOMM 2016, section 2",
)
def B9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Count of priorities, then share of memory."""
    for line in facts.lossless:
        if len(line.port.lossless) > 2:
            yield Found(
                line.device.name,
                line.port.name,
                f"{len(line.port.lossless)} lossless priorities {','.join(map(str, sorted(line.port.lossless)))}",
                (shows(line.device, line.port.qos_where, "pfc_enable", sorted(line.port.lossless)),),
            )
    for device in facts.devices:
        ingress = [pool for pool in device.pools.values() if pool.direction == "ingress"]
        total = mmu_bytes(device) or sum((pool.size_bytes or 0) + pool.shared_headroom_bytes for pool in ingress)
        shared = sum(pool.shared_headroom_bytes for pool in ingress)
        demand = sum(profile.xoff_bytes * n for profile, _, n in lossless_pools(facts, device))
        taken = min(demand, shared) if shared else demand
        if total and taken > total / 2:
            yield Found(
                device.name,
                "BUFFER_POOL",
                f"headroom takes {taken} B of {total} B",
                tuple(shows(device, pool.where, "size", pool.size_bytes) for pool in ingress),
            )


@check(
    "B10",
    E,
    "a profile for unused ports on a port in use",
    condition="no lossless group or queue has a zero profile",
    consequence="the port drops: alpha 1/256 or no buffer at all",
    remedy="bind the profile of ports in use",
    source="sonic-buildimage buffers_defaults_objects.j2",
)
def B10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Zero profiles are known by name, as in the templates."""
    for line in facts.lossless:
        for table, bindings in (("BUFFER_PG", line.port.groups), ("BUFFER_QUEUE", line.port.queues)):
            for index, bound in bindings.items():
                if bound.profile and "zero" in bound.profile and index in line.port.lossless:
                    yield Found(
                        line.device.name,
                        f"{line.port.name}|{index}",
                        f"{table} has '{bound.profile}'",
                        (shows(line.device, bound.profile_where, "profile", bound.profile),),
                    )


@check(
    "B11",
    W,
    "a port's headroom exceeds what the platform allows",
    condition="4 KB + lossy group + 20 KB mirror + sum of lossless sizes <= max_headroom_size",
    consequence="buffermgrd refuses the profile; the port keeps what it had",
    remedy="fewer lossless priorities, or a shorter cable",
    source="sonic-swss buffer_check_headroom_mellanox.lua l.26-190",
)
def B11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Dynamic model with a stated maximum only."""
    for line in facts.lossless:
        limit = line.device.max_headroom_bytes
        if limit is None:
            continue
        profiles = [line.device.profile_of(bound) for bound in line.port.groups.values()]
        need = (4 + 19 + 20) * _KB + sum(item.size_bytes for item in profiles if item is not None and item.lossless)
        if need > limit:
            yield Found(
                line.device.name,
                line.port.name,
                f"needs {need} B of {limit} B",
                (Evidence("max_headroom_size", str(limit), line.device.place(("DEFAULT_LOSSLESS_BUFFER_PARAMETER",))),),
                Severity.WARN,
            )


CHECKS: Final[tuple[Check, ...]] = (B1, B2, B3, B4, B5, B6, B7, B8, B9, B10, B11)
