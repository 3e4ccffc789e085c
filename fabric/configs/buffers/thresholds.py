"""From a buffer configuration to the packet counts at which a switch sends XOFF, drops and resumes.

A packet of 64 B occupies one cell; every count is of such packets, in one priority group or queue, with nothing else
in the buffer, nothing leaving it, and a sender that ignores pause. Words: S is the shared cells that a threshold sees,
alpha is 2**dynamic_th.

Rules
1. S is what the ingress pool leaves to one partition of the memory: its size, less (where the size is gross) the shared
   headroom pool and every minimum of a lossless group and lossy queue. A queue can be filled from every partition, so
   its minimum is set aside in each.
2. A group fills its minimum first, then shared cells: XOFF at minimum + S alpha / (1 + alpha), rounded down (the limit
   alpha x free in equilibrium, Choudhury and Hahne 1998).
3. After XOFF it takes its headroom; the packet after that is dropped.
4. XON has come, at the latest, when its use is xon_offset below the count of XOFF.
5. A lossy queue drops at minimum + Se alpha / (1 + alpha), Se being the shared cells of its egress pool.
6. Several groups take headroom from the shared headroom pool of their partition, until that is full.
7. Spectrum counts in bytes, and the lossless groups of a port share its headroom.

Counts of switches differ from these by a few packets: rounding inside the chip is not public.
Source: sonic-mgmt qos_params and the logs named in mmu.py; docs/silicon.md compares rule and switch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from fabric.configs.buffers.mmu import Headroom, Mmu, PoolSize, pool_size_of
from fabric.configs.model import BufferProfile, Device, Pool, Port

_LOSSY_GROUP: Final = 0
"""The group of every class that has no other."""


@dataclass(frozen=True, slots=True)
class Cells:
    """One addend of a shared limit."""

    name: str
    cells: int
    """Negative: set aside."""
    rule: str


@dataclass(frozen=True, slots=True)
class SharedHeadroom:
    """How many groups at XOFF fill the shared headroom pool of one partition."""

    cells: int
    groups: int
    """So many groups at XOFF exhaust it."""
    xoff_packets: int
    """Of each of them, where all of them fill up together."""
    full_packets: int
    """That each but the last takes after XOFF."""
    partial_packets: int
    """That the last one takes; its next packet is dropped."""


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """One lossless priority group, alone in the buffer."""

    port: str
    group: int
    profile: str
    minimum_cells: int
    headroom_cells: int
    alpha: float | None
    """None: a static limit."""
    xoff_packets: int
    ingress_drop_packets: int
    xon_packets: int | None
    """Use at which XON has come, at the latest; None where the profile has no xon_offset."""
    shared_headroom: SharedHeadroom | None


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """One lossy queue, alone in the buffer."""

    port: str
    queue: int
    profile: str
    pool: str
    minimum_cells: int
    shared_cells: int
    alpha: float | None
    drop_packets: int
    dropped_at: str
    """'egress' or 'ingress': the side whose limit is reached first."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What one switch does with its buffer configuration."""

    mmu: Mmu
    pool_size: PoolSize
    terms: tuple[Cells, ...]
    """What S is made of, in one partition."""
    shared_cells: int
    """S."""
    minimums_of_port: dict[str, int]
    """Cells that a port's groups and queues set aside in one partition: given back to S when its link goes down."""
    groups: tuple[GroupCounts, ...]
    queues: tuple[QueueCounts, ...]
    unknown: tuple[str, ...]
    """What cannot be said, and why."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A lossless group of a port."""

    port: str
    number: int
    profile: BufferProfile


@dataclass(frozen=True, slots=True)
class _Queue:
    """A lossy queue of a port."""

    port: str
    number: int
    profile: BufferProfile


def _up(size_bytes: int, cell_bytes: int) -> int:
    return -(-size_bytes // cell_bytes)


def _share(cells: int | Fraction, profile: BufferProfile, cell_bytes: int, groups: int = 1) -> int:
    """Shared cells that each of `groups` equally filled groups reaches (rule 2); a static limit itself."""
    if profile.dynamic_th is None:
        return (profile.static_th_bytes or 0) // cell_bytes
    alpha = Fraction(2) ** profile.dynamic_th
    return int(cells * alpha / (1 + groups * alpha))


class _Calculation:
    """The counts of one switch; parameters as those of thresholds()."""

    def __init__(
        self,
        device: Device,
        mmu: Mmu,
        groups: Sequence[_Group],
        pool: Pool,
        *,
        queue_minimums: bool | None,
        lossy_pool: str | None,
    ) -> None:
        self.device, self.mmu, self.groups, self.pool, self.lossy_pool = device, mmu, groups, pool, lossy_pool
        self.queue_minimums = mmu.queue_minimums if queue_minimums is None else queue_minimums
        self.cell = mmu.cell_bytes
        self.partitions = mmu.partitions or 1
        self.queues = [
            _Queue(port.name, number, profile)
            for port in device.ports.values()
            for number, binding in sorted(port.queues.items())
            if (profile := device.profile_of(binding)) is not None and number not in self._lossless_queues(port)
        ]

    def _lossless_queues(self, port: Port) -> set[int]:
        """Queues from which classes of lossless groups are sent."""
        to_group, to_queue = self.device.map_of(port, "tc_to_pg"), self.device.map_of(port, "tc_to_queue")
        groups = {it.number for it in self.groups if it.port == port.name}
        classes = [tc for tc in range(8) if (to_group.entries.get(tc, tc) if to_group else tc) in groups]
        return {to_queue.entries.get(tc, tc) if to_queue else tc for tc in classes}

    @property
    def pool_size(self) -> PoolSize:
        """What the size of the ingress pool contains."""
        return pool_size_of(self.mmu, self.pool.size_bytes or 0, self.pool.shared_headroom_bytes)

    @property
    def is_shared_headroom(self) -> bool:
        """Whether groups take their headroom from a pool."""
        return self.pool.shared_headroom_bytes > 0

    def headroom_cells(self, profile: BufferProfile) -> int:
        """Headroom of a group."""
        return _up(profile.xoff_bytes, self.cell)

    def reserved_cells(self, profile: BufferProfile) -> int:
        """What a lossless group sets aside: its `size`."""
        return _up(profile.size_bytes, self.cell)

    def minimum_cells(self, profile: BufferProfile) -> int:
        """What a group fills before it draws on shared cells. Without a shared headroom pool its size holds both."""
        size = self.reserved_cells(profile)
        return size if self.is_shared_headroom else max(size - self.headroom_cells(profile), 0)

    def queue_minimum_sum(self) -> int:
        """Minimums of all lossy queues."""
        return sum(_up(it.profile.size_bytes, self.cell) for it in self.queues)

    def shared(self) -> tuple[Cells, ...]:
        """What S is made of (rule 1)."""
        pool = self.pool
        size = (pool.size_bytes or 0) // self.cell
        whole = [Cells(pool.name, size, f"size / {self.cell} B")]
        if self.pool_size is PoolSize.GROSS:
            if self.is_shared_headroom:
                whole.append(
                    Cells("shared headroom pool", -(pool.shared_headroom_bytes // self.cell), "xoff of the pool")
                )
            reserved = sum(self.reserved_cells(it.profile) for it in self.groups)
            whole.append(
                Cells(
                    "lossless groups",
                    -reserved,
                    f"size of {len(self.groups)} groups"
                    + ("" if self.is_shared_headroom else ", headroom included: no shared headroom pool"),
                )
            )
        total = sum(it.cells for it in whole)
        if self.partitions > 1:
            part = total // self.partitions
            whole.append(Cells("other partitions", part - total, f"one of {self.partitions} partitions"))
        if self.pool_size is PoolSize.GROSS and self.is_shared_headroom and self.queue_minimums and self.queues:
            whole.append(
                Cells(
                    "lossy queues", -self.queue_minimum_sum(), f"size of {len(self.queues)} queues, in every partition"
                )
            )
        return tuple(whole)

    def group_counts(self, group: _Group, shared: int) -> GroupCounts:
        """Rules 2 to 4, and 7."""
        profile, pool = group.profile, self.pool
        minimum, headroom = self.minimum_cells(profile), self.headroom_cells(profile)
        if self.mmu.headroom is Headroom.PORT:
            size = profile.size_bytes if self.is_shared_headroom else profile.size_bytes - profile.xoff_bytes
            limit = Fraction(profile.static_th_bytes or 0)
            if profile.dynamic_th is not None:
                alpha = Fraction(2) ** profile.dynamic_th
                limit = (pool.size_bytes or 0) * alpha / (1 + alpha)
            xoff = int((size + limit) / self.cell)
            drop = xoff + sum(it.profile.xoff_bytes for it in self.groups if it.port == group.port) // self.cell + 1
        else:
            xoff = minimum + _share(shared, profile, self.cell)
            drop = xoff + headroom + 1
        return GroupCounts(
            group.port,
            group.number,
            profile.name,
            minimum,
            headroom,
            profile.alpha,
            xoff,
            drop,
            xoff - profile.xon_offset_bytes // self.cell if profile.xon_offset_bytes else None,
            self.shared_headroom(profile, shared),
        )

    def shared_headroom(self, profile: BufferProfile, shared: int) -> SharedHeadroom | None:
        """Rule 6, with groups of this profile; None without a shared headroom pool, or where a port shares it."""
        headroom = self.headroom_cells(profile)
        if not self.is_shared_headroom or self.mmu.headroom is Headroom.PORT or not headroom:
            return None
        cells = self.pool.shared_headroom_bytes // self.cell // self.partitions
        groups = max(_up(cells, headroom), 1)
        each = self.minimum_cells(profile) + _share(shared, profile, self.cell, groups)
        return SharedHeadroom(cells, groups, each, min(headroom, cells), cells - (groups - 1) * headroom)

    def queue_counts(self, queue: _Queue, shared: int) -> QueueCounts | None:
        """Rule 5; None where the egress pool is not in the file."""
        profile = queue.profile
        name = self.lossy_pool or profile.pool
        pool = self.device.pools.get(name)
        if pool is None or pool.size_bytes is None:
            return None
        cells = pool.size_bytes // self.cell // self.partitions
        own = any(name == it.profile.pool for it in self.queues)
        if self.pool_size is PoolSize.GROSS and self.is_shared_headroom and own:
            if self._is_lossless_pool(name):
                cells = min(cells, shared)
            elif self.queue_minimums:
                cells -= self.queue_minimum_sum()
        minimum = _up(profile.size_bytes, self.cell)
        egress = minimum + _share(cells, profile, self.cell) + 1
        ingress = self._lossy_ingress_drop(queue.port, shared)
        first = "ingress" if ingress is not None and ingress < egress else "egress"
        return QueueCounts(
            queue.port,
            queue.number,
            profile.name,
            name,
            minimum,
            cells,
            profile.alpha,
            min(egress, ingress or egress),
            first,
        )

    def _is_lossless_pool(self, name: str) -> bool:
        """Whether queues of lossless classes use this egress pool, too."""
        return any(
            profile.pool == name
            for port in self.device.ports.values()
            for number in self._lossless_queues(port)
            if (profile := self.device.profile_of(port.queues.get(number))) is not None
        )

    def _lossy_ingress_drop(self, port: str, shared: int) -> int | None:
        """Packets of the lossy group that the ingress side takes, and one; None without a profile of that group."""
        profile = self.device.profile_of(self.device.ports[port].groups.get(_LOSSY_GROUP))
        if profile is None or profile.lossless or (profile.dynamic_th is None and profile.static_th_bytes is None):
            return None
        return _up(profile.size_bytes, self.cell) + min(_share(shared, profile, self.cell), shared) + 1

    def result(self) -> Thresholds:
        """The counts of every lossless group and lossy queue."""
        unknown = _assumed(self.mmu)
        if self.mmu.pool_size is None:
            unknown.append(
                f"whether pool sizes of {self.mmu.title} contain its guarantees: {self.pool_size.value} by their sizes"
            )
        terms = self.shared()
        shared = sum(it.cells for it in terms)
        queues = [self.queue_counts(it, shared) for it in self.queues]
        if any(it is None for it in queues):
            unknown.append("drops of lossy queues: their egress pool has no size in the file")
        return Thresholds(
            self.mmu,
            self.pool_size,
            terms,
            shared,
            self._minimums_of_ports(),
            tuple(self.group_counts(it, shared) for it in self.groups),
            tuple(it for it in queues if it is not None),
            tuple(unknown),
        )

    def _minimums_of_ports(self) -> dict[str, int]:
        if self.pool_size is PoolSize.NET:
            return {}
        sums = dict.fromkeys(self.device.ports, 0)
        for group in self.groups:
            sums[group.port] += self.reserved_cells(group.profile) // self.partitions
        if self.queue_minimums and self.is_shared_headroom:
            for queue in self.queues:
                sums[queue.port] += _up(queue.profile.size_bytes, self.cell)
        return sums


def _assumed(mmu: Mmu) -> list[str]:
    return [f"{field} of {mmu.title}: assumed" for field in mmu.assumed]


def _lossless_groups(device: Device) -> list[_Group]:
    return [
        _Group(port.name, number, profile)
        for port in device.ports.values()
        for number, binding in sorted(port.groups.items())
        if (profile := device.profile_of(binding)) is not None and profile.lossless
    ]


def thresholds(
    device: Device, mmu: Mmu, *, queue_minimums: bool | None = None, lossy_pool: str | None = None
) -> Thresholds:
    """The counts of a switch.

    Parameters
    ----------
    device : Device               its configuration
    mmu : Mmu                     its chip
    queue_minimums : bool | None  whether minimums of lossy queues are set aside; None: as the chip does
    lossy_pool : str | None       egress pool that lossy queues are charged to; None: that of their profile

    The last two are known to differ between versions of the vendor's software, and no configuration states them.
    """
    groups = _lossless_groups(device)
    names = {it.profile.pool for it in groups}
    pool = device.pools.get(min(names)) if len(names) == 1 else None
    if pool is None or pool.size_bytes is None:
        why = "no lossless group" if not groups else "lossless groups in several pools, or in one without a size"
        return Thresholds(mmu, PoolSize.GROSS, (), 0, {}, (), (), (*_assumed(mmu), f"every count: {why}"))
    return _Calculation(device, mmu, groups, pool, queue_minimums=queue_minimums, lossy_pool=lossy_pool).result()
