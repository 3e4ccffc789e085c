"""What is known of switch platforms: headroom formula constants, buffer size, and which cables their tables have.

Only platforms whose shipped table is reproduced to the byte by the published formula are here; for every other one
the user gives the table (pg_profile_lookup.ini), which is also what the switch itself reads.
Source: sonic-buildimage platform/mellanox/asic_table.j2 and the tables' own numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final

from fabric.configs.headroom import Asic, Row, vendor_row

_KB: Final = 1024
_LEGACY_PEER: Final = 3.8 * _KB


@dataclass(frozen=True, slots=True)
class Platform:
    """One hardware SKU."""

    name: str
    """HWSKU as in DEVICE_METADATA."""
    asic: Asic
    speeds_mbps: tuple[int, ...]
    cables_m: tuple[int, ...]
    speed_8_lanes_mbps: int | None = None
    """The speed that takes eight lanes, with twice the pipeline."""
    mmu_bytes: int | None = None
    odd_sizes: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Shipped sizes that are not the sum of their own xoff and xon."""

    def row(self, speed_mbps: int, cable_m: int) -> Row:
        """What the shipped table has for this speed and cable; also computed where it has no such row."""
        row = vendor_row(self.asic, speed_mbps, cable_m, eight_lanes=speed_mbps == self.speed_8_lanes_mbps)
        odd = self.odd_sizes.get((speed_mbps, cable_m))
        return row if odd is None else replace(row, size_bytes=odd)

    def shipped(self, speed_mbps: int, cable_m: int) -> bool:
        """Whether the shipped table has this row. Only then does the switch make a lossless group."""
        return speed_mbps in self.speeds_mbps and cable_m in self.cables_m


_SPECTRUM: Final = Asic(cell_factor=2.0, small_percent=100, lossless_mtu=1024, port_mtu=9100, peer_bytes=_LEGACY_PEER,
                        tile=False, pipeline_bytes=19 * _KB, pipeline_8_lanes_bytes=37 * _KB, shared_headroom=False,
                        size_8_lanes_bytes=9 * _KB)
_SPECTRUM_2_3: Final = replace(_SPECTRUM, cell_factor=2.25, port_mtu=9216)
_SPECTRUM_4: Final = Asic(cell_factor=3.0, small_percent=100, lossless_mtu=1024, port_mtu=9216, peer_bytes=None,
                          tile=True, pipeline_bytes=19 * _KB, pipeline_8_lanes_bytes=38 * _KB, shared_headroom=False,
                          size_8_lanes_bytes=9100)
_SPECTRUM_3_SHARED: Final = replace(_SPECTRUM_2_3, small_percent=50, peer_bytes=None, shared_headroom=True)
_SPECTRUM_5: Final = replace(_SPECTRUM_4, small_percent=50, lossless_mtu=4096, port_mtu=9216, shared_headroom=True)

_TO_100G: Final = (10_000, 25_000, 40_000, 50_000, 100_000)
_TO_400G: Final = (10_000, 25_000, 50_000, 100_000, 200_000, 400_000)

PLATFORMS: Final = {platform.name: platform for platform in (
    Platform("ACS-MSN2700", _SPECTRUM, _TO_100G, (5, 40, 300)),
    Platform("ACS-MSN3700", _SPECTRUM_2_3, (*_TO_100G, 200_000), (5, 40, 300)),
    Platform("ACS-MSN4700", _SPECTRUM_2_3, (*_TO_100G, 200_000, 400_000), (5, 40, 300), 400_000, 60_817_392),
    Platform("Mellanox-SN4600C-D24C52", _SPECTRUM_3_SHARED, _TO_100G, (2, 5, 40, 300, 2000)),
    Platform("ACS-SN5600", _SPECTRUM_4, (*_TO_100G, 200_000, 400_000, 800_000), (5, 40, 300), 800_000, 158_229_504,
             {(40_000, 5): 75_776}),
    Platform("Mellanox-SN5640-C512X2", _SPECTRUM_5, _TO_400G, (5, 30, 40, 200, 250, 300, 1000)),
    Platform("Mellanox-SN5640-C448O16", _SPECTRUM_5, _TO_400G, (5, 30, 40, 250, 300, 1000)),
    Platform("Mellanox-SN5640-C512S2", _SPECTRUM_5, _TO_400G, (5, 30, 40, 250, 300, 1000)),
)}
_ALIASES: Final = {"msn3700c": "ACS-MSN3700", "msn3420": "ACS-MSN3700", "sn5640": "Mellanox-SN5640-C512X2",
                   "sn4600c": "Mellanox-SN4600C-D24C52"}


def find_platform(name: str) -> Platform | None:
    """The platform a HWSKU or a model name ('sn5600', 'MSN4700', 'x86_64-nvidia_sn5600-r0') means; None if unknown."""
    if name in PLATFORMS:
        return PLATFORMS[name]
    word = re.sub(r"^(x86_64-)?(acs-|mlnx_|nvidia_|mellanox-)?|-r\d+$", "", name.strip().lower())
    if word in _ALIASES:
        return PLATFORMS[_ALIASES[word]]
    for platform in PLATFORMS.values():
        model = platform.name.lower().removeprefix("acs-").removeprefix("mellanox-")
        if word in {model, model.removeprefix("m")}:
            return platform
    return None


def dynamic_platform(name: str) -> Platform | None:
    """The platform as the dynamic buffer model computes it (buffer_headroom_mellanox.lua), not as its table has it.

    The script takes the standard's pause quanta, whole cells per small packet, and twice the pipeline on eight lanes.
    """
    found = find_platform(name)
    if found is None:
        return None
    asic = replace(found.asic, peer_bytes=None, cell_factor=float(ceil(found.asic.cell_factor)),
                   pipeline_8_lanes_bytes=2 * found.asic.pipeline_bytes)
    return replace(found, asic=asic)
