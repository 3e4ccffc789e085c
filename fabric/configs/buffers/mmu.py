"""How a switch chip divides its packet memory: partitions, what a pool's `size` contains, what is set aside from it.

Facts come from the shipped SONiC buffer templates of each chip and from the counts that sonic-mgmt's QoS tests expect
of switches. A fact without a public source is None, or named in `assumed`. Chips with virtual output queues have other
rules and are not here.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from fabric.configs.buffers.platforms import dynamic_chip
from fabric.configs.model import Device


class PoolSize(Enum):
    """What BUFFER_POOL.size of the ingress lossless pool contains."""

    GROSS = "gross"
    """The shared headroom pool and every guarantee, too: they are taken off before it is shared."""
    NET = "net"
    """Only what is shared."""


class Headroom(Enum):
    """Who shares the headroom of a priority group after XOFF."""

    GROUP = "priority group"
    PORT = "port"
    """The lossless groups of a port together."""


@dataclass(frozen=True, slots=True)
class Mmu:
    """The memory management unit of one chip. Sizes in bytes."""

    name: str
    title: str
    words: tuple[str, ...]
    """Other names: the asic_type of sonic-mgmt."""
    cell_bytes: int
    memory_bytes: int
    """All of the packet memory. A pool may be smaller or, where it is no limit, larger: see `usable`."""
    partitions: int | None
    """Parts with separate pools; a port belongs to one of them. None: not known."""
    pool_size: PoolSize | None
    """None: not known; the sizes of a configuration then decide (pool_size_of)."""
    queue_minimums: bool = True
    """Whether the minimums of lossy queues are set aside from a gross ingress pool."""
    headroom: Headroom = Headroom.GROUP
    source: str = ""
    assumed: tuple[str, ...] = ()
    """Fields that no public source states."""
    usable: str = ""
    """Why scenarios and checks take another memory (`ASICS[name].buffer_bytes`); '' where they take this one."""


_MGMT: Final = "sonic-mgmt b4ba9de3 tests/qos/files/qos_params"
_LUA: Final = "cells: sonic-buildimage platform/mellanox/asic_table.j2"

MMUS: Final = {
    mmu.name: mmu
    for mmu in (
        Mmu("trident2", "Broadcom Trident 2", ("td2",), 208, 12 * 2**20, 1, PoolSize.GROSS,
            source=f"{_MGMT}.td2: the `size` of every lossless group, headroom included, is taken out of the pool"),
        Mmu("trident3", "Broadcom Trident 3", ("td3",), 256, 32 * 2**20, 1, PoolSize.GROSS,
            source=f"{_MGMT}.td3; registers in the log of sonic-buildimage fe7ea6695d"),
        Mmu("tomahawk", "Broadcom Tomahawk", ("th",), 208, 16 * 2**20, 4, PoolSize.NET,
            source=f"{_MGMT}.th; four slices: log of sonic-buildimage 7b0a5ba6ae"),
        Mmu("tomahawk2", "Broadcom Tomahawk 2", ("th2",), 208, 42_349_632, 4, None,
            source="four slices: log of sonic-buildimage 7b0a5ba6ae; memory: egress_lossless_pool of Arista 7260CX3"),
        Mmu("tomahawk3", "Broadcom Tomahawk 3", ("th3",), 254, 64 * 2**20, 2, PoolSize.GROSS,
            source=f"{_MGMT}.th3: two halves, and queue minimums in each; 64 MiB: product pages",
            usable="67,117,468 B is static_th of egress_lossless_profile of Dell Z9332f-O32, 8,604 B more than 64 MiB, "
            "so it limits nothing; no public source has the exact memory"),
        Mmu("tomahawk4", "Broadcom Tomahawk 4", ("th4",), 254, 113_000_000, 2, None,
            source="113 MB: product pages", assumed=("cell_bytes", "partitions")),
        Mmu("tomahawk5", "Broadcom Tomahawk 5", ("th5",), 254, 165_363_200, 2, None,
            source="cells: every size of Arista 7060X6 is a multiple of 254; 157.7 MiB: product pages",
            assumed=("partitions",),
            usable="147,226,020 B is the size of both pools of Arista 7060X6-64PE, which its template divides; "
            "the other 18,137,180 B are in no pool, and no public source says what for"),
        *(Mmu(f"spectrum{number}", title, (f"spc{number}",), cell, memory, 1, PoolSize.NET, headroom=Headroom.PORT,
              source=f"{_LUA}; {_MGMT}.spc3: pools are what is left, groups of a port share its headroom",
              assumed=() if number == 3 else ("pool_size", "headroom"))
          for number, title, cell, memory in (
              (1, "NVIDIA Spectrum", 96, 16 * 2**20),
              (2, "NVIDIA Spectrum-2", 144, 42 * 2**20),
              (3, "NVIDIA Spectrum-3", 144, 60_817_392),
              (4, "NVIDIA Spectrum-4", 192, 158_229_504),
              (5, "NVIDIA Spectrum-5", 192, 158_229_504))),
    )
}  # fmt: skip
"""Name of the chip, as in a scenario's `asic` -> its memory."""

_MODELS: Final = (
    (re.compile(r"s6000|7050.?qx"), "trident2"),
    (re.compile(r"s6100|7060cx.?32s|z9100"), "tomahawk"),
    (re.compile(r"ds3000|7050cx3|7050x3|s5232|s5248|s5296|as7326|as7726"), "trident3"),
    (re.compile(r"7260cx3|z9264"), "tomahawk2"),
    (re.compile(r"z9332|7060dx4|7060px4|as9716|ds4000"), "tomahawk3"),
    (re.compile(r"z9432|7060dx5|7060px5|as9736"), "tomahawk4"),
    (re.compile(r"7060x6|z9864|ds5000|as9817"), "tomahawk5"),
    (re.compile(r"teralynx10|d64p512t"), "teralynx10"),
)
"""Parts of model names, and the chip in them (device folders of sonic-buildimage)."""


def mmu_card() -> list[dict[str, Any]]:
    """Every chip's record as data; None is what no public source states."""
    return [
        {
            **asdict(mmu),
            "words": list(mmu.words),
            "assumed": list(mmu.assumed),
            "pool_size": mmu.pool_size and mmu.pool_size.value,
            "headroom": mmu.headroom.value,
        }
        for mmu in MMUS.values()
    ]


def chip_of(device: Device) -> str | None:
    """Name of the chip; None where neither HWSKU nor platform means a known one."""
    return chip_named(device.hwsku, device.platform)


def chip_named(*names: str) -> str | None:
    """Name of the chip that a HWSKU or a platform name means; None if unknown."""
    nvidia = dynamic_chip(*names)
    if nvidia is not None and nvidia.nvidia:
        return nvidia.name.lower().replace("-", "")
    text = " ".join(names).lower()
    return next((chip for model, chip in _MODELS if model.search(text)), None)


@lru_cache(maxsize=1024)
def cell_bytes_of(*names: str) -> int | None:
    """Accounting unit of the switch that a HWSKU, platform or chip name means; None if unknown."""
    mmu = MMUS.get(chip_named(*names) or "") or next(filter(None, map(find_mmu, names)), None)
    return None if mmu is None else mmu.cell_bytes


def find_mmu(word: str) -> Mmu | None:
    """The chip of a name ('trident3') or of sonic-mgmt's word for it ('td3'); None if unknown."""
    word = word.strip().lower()
    return next((mmu for mmu in MMUS.values() if word == mmu.name or word in mmu.words), None)


def pool_size_of(mmu: Mmu, size_bytes: int, shared_headroom_bytes: int) -> PoolSize:
    """What the `size` of an ingress lossless pool contains: the chip's fact, or else what its sizes say.

    A pool without a shared headroom pool, or one that exceeds the memory together with it, can only be gross. Every
    shipped configuration of the chips whose fact is known obeys this.
    """
    if mmu.pool_size is not None:
        return mmu.pool_size
    gross = shared_headroom_bytes == 0 or size_bytes + shared_headroom_bytes > mmu.memory_bytes
    return PoolSize.GROSS if gross else PoolSize.NET
