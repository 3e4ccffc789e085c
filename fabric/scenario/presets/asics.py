"""Switch chips: buffer memory, cell and default lossless profile, each number with its source.

The numbers are those of shipped SONiC device tables (sonic-net/sonic-buildimage at 086b03bd: pg_profile_lookup.ini and
the rendered BUFFER_POOL of one hardware SKU per chip). `assumed` names the fields that no public source decides.
Pipelines, cores that split the memory, virtual output queues and cut-through are not modelled: memory is one shared
pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fabric.dataplane.state.codes import WatchdogRule


@dataclass(frozen=True, slots=True)
class Asic:
    """One chip. Sizes in bytes."""

    name: str
    title: str
    cell_bytes: int
    buffer_bytes: int
    reserved_bytes: int
    """Guaranteed to every lossless priority group (BUFFER_PROFILE.size without headroom)."""
    dynamic_th: int
    """Lossless groups: limit = 2**dynamic_th * free shared bytes."""
    xon_bytes: int
    xon_offset_bytes: int
    watchdog_rule: WatchdogRule
    source: str
    assumed: tuple[str, ...] = ()
    """Fields that no public table gives."""


_BI = "sonic-buildimage 086b03bd"

ASICS: Final[Mapping[str, Asic]] = {
    asic.name: asic
    for asic in (
        Asic(
            "trident3",
            "Broadcom Trident 3, 3.2T",
            256,
            32 * 2**20,
            1248,
            -3,
            18432,
            2496,
            WatchdogRule.BROADCOM,
            f"{_BI} Celestica DS3000 pg_profile_lookup.ini (xon, offset, dynamic_th); 32 MB and 256 B cells: "
            "port-buffers.forwardingplane.net",
            ("reserved_bytes",),
        ),
        Asic(
            "tomahawk2",
            "Broadcom Tomahawk 2, 6.4T",
            208,
            42_349_632,
            1248,
            0,
            1248,
            2496,
            WatchdogRule.BROADCOM,
            f"{_BI} th2/7260 BALANCED row, Arista 7260CX3 egress_lossless_pool; every size there is a multiple of 208",
        ),
        Asic(
            "tomahawk3",
            "Broadcom Tomahawk 3, 12.8T",
            254,
            67_117_468,
            2540,
            -2,
            2540,
            2540,
            WatchdogRule.BROADCOM,
            f"{_BI} Dell Z9332f-O32 row and egress_lossless_profile; every size there is a multiple of 254",
        ),
        Asic(
            "tomahawk4",
            "Broadcom Tomahawk 4, 25.6T",
            254,
            113_000_000,
            2540,
            -2,
            2540,
            2540,
            WatchdogRule.BROADCOM,
            "113 MB: product pages of 25.6T switches; the rest as Tomahawk 3",
            ("cell_bytes", "buffer_bytes", "reserved_bytes", "dynamic_th", "xon_bytes", "xon_offset_bytes"),
        ),
        Asic(
            "tomahawk5",
            "Broadcom Tomahawk 5, 51.2T",
            254,
            147_226_020,
            8636,
            0,
            0,
            3556,
            WatchdogRule.BROADCOM,
            f"{_BI} Arista 7060X6-64PE-B-P32O64 row and egress_lossless_pool; every size there is a multiple of 254",
        ),
        Asic(
            "spectrum1",
            "NVIDIA Spectrum, 3.2T",
            96,
            16 * 2**20,
            19456,
            0,
            19456,
            0,
            WatchdogRule.MELLANOX,
            f"{_BI} ACS-MSN2700 rows; cell: platform/mellanox/asic_table.j2; 16 MB: data sheet",
            ("buffer_bytes",),
        ),
        Asic(
            "spectrum2",
            "NVIDIA Spectrum-2, 6.4T",
            144,
            42 * 2**20,
            19456,
            0,
            19456,
            0,
            WatchdogRule.MELLANOX,
            f"{_BI} ACS-MSN3700 rows; cell: asic_table.j2; 42 MB: data sheet",
            ("buffer_bytes",),
        ),
        Asic(
            "spectrum3",
            "NVIDIA Spectrum-3, 12.8T",
            144,
            60_817_392,
            19456,
            0,
            19456,
            0,
            WatchdogRule.MELLANOX,
            f"{_BI} ACS-MSN4700 rows and egress_lossless_pool; cell: asic_table.j2",
        ),
        Asic(
            "spectrum4",
            "NVIDIA Spectrum-4, 51.2T",
            192,
            158_229_504,
            19456,
            0,
            19456,
            0,
            WatchdogRule.MELLANOX,
            f"{_BI} ACS-SN5600 rows and egress_lossless_pool; cell: asic_table.j2",
        ),
        Asic(
            "spectrum5",
            "NVIDIA Spectrum-5, 51.2T",
            192,
            158_229_504,
            19456,
            0,
            19456,
            0,
            WatchdogRule.MELLANOX,
            f"{_BI} SN5640-C512X2 rows; cell: asic_table.j2; memory as Spectrum-4",
            ("buffer_bytes",),
        ),
        Asic(
            "teralynx10",
            "Marvell Teralynx 10, 51.2T",
            128,
            214_642_688,
            1518,
            1,
            0,
            13824,
            WatchdogRule.TERALYNX,
            f"{_BI} Teralynx10 64x800G rows and egress_lossless_pool; cell: largest common divisor of the shipped "
            f"headrooms",
            ("cell_bytes",),
        ),
        Asic(
            "jericho2c+",
            "Broadcom Jericho 2c+, 7.2T",
            256,
            32 * 2**20,
            0,
            -5,
            2560,
            1_454_025,
            WatchdogRule.BROADCOM,
            f"{_BI} Arista 7280DR3A-36 row (400G); 32 MB on chip: product pages; external memory and VOQs are not "
            f"modelled",
            ("cell_bytes", "buffer_bytes"),
        ),
    )
}
"""Name in a scenario -> chip."""

DEFAULT_ASIC: Final = "tomahawk3"
"""The chip for which one shipped hardware SKU has all numbers."""
