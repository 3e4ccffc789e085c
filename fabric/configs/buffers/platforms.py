"""What is known of switch platforms: headroom formula constants, buffer size, and which cables their tables have.

`PLATFORMS`: SKUs whose shipped table the published formula reproduces to the byte; for every other one the user gives
the table (pg_profile_lookup.ini), which is also what the switch itself reads. `dynamic_chip`: chips whose switches
compute their headroom themselves. Those are NVIDIA's and Tofino 2; other vendors publish no formula at all.
Source: sonic-buildimage platform/mellanox/asic_table.j2 and the tables' own numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Final

from fabric.configs.buffers.headroom import Asic, Row, vendor_row

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
    """Shipped sizes that are not the sum of xoff and xon in the same row."""
    also: tuple[tuple[int, int], ...] = ()
    """Rows beside every speed with every cable."""

    @property
    def keys(self) -> list[tuple[int, int]]:
        """(speed, cable) of every shipped row."""
        return [*((speed, cable) for speed in self.speeds_mbps for cable in self.cables_m), *self.also]

    def row(self, speed_mbps: int, cable_m: int) -> Row:
        """What the shipped table has for this speed and cable; also computed where it has no such row."""
        row = vendor_row(self.asic, speed_mbps, cable_m, eight_lanes=speed_mbps == self.speed_8_lanes_mbps)
        odd = self.odd_sizes.get((speed_mbps, cable_m))
        return row if odd is None else replace(row, size_bytes=odd)

    def shipped(self, speed_mbps: int, cable_m: int) -> bool:
        """Whether the shipped table has this row. Only then does the switch make a lossless group."""
        return (speed_mbps, cable_m) in self.keys


_SPECTRUM: Final = Asic(
    cell_factor=2.0,
    small_percent=100,
    lossless_mtu=1024,
    port_mtu=9100,
    peer_bytes=_LEGACY_PEER,
    tile=False,
    pipeline_bytes=19 * _KB,
    pipeline_8_lanes_bytes=37 * _KB,
    shared_headroom=False,
    size_8_lanes_bytes=9 * _KB,
)
_SPECTRUM_2_3: Final = replace(_SPECTRUM, cell_factor=2.25, port_mtu=9216)
_SPECTRUM_4: Final = Asic(
    cell_factor=3.0,
    small_percent=100,
    lossless_mtu=1024,
    port_mtu=9216,
    peer_bytes=None,
    tile=True,
    pipeline_bytes=19 * _KB,
    pipeline_8_lanes_bytes=38 * _KB,
    shared_headroom=False,
    size_8_lanes_bytes=9100,
)
_SPECTRUM_3_SHARED: Final = replace(_SPECTRUM_2_3, small_percent=50, peer_bytes=None, shared_headroom=True)
_SPECTRUM_5: Final = replace(_SPECTRUM_4, small_percent=50, lossless_mtu=4096, port_mtu=9216, shared_headroom=True)

_SPECTRUM_6: Final = replace(
    _SPECTRUM_5,
    cell_factor=4.0,
    tile=False,
    pipeline_bytes=42 * _KB,
    pipeline_8_lanes_bytes=42 * _KB,
    shared_headroom=False,
    slow_peer_mbps=800_000,
)

_TO_100G: Final = (10_000, 25_000, 40_000, 50_000, 100_000)
_TO_400G: Final = (10_000, 25_000, 50_000, 100_000, 200_000, 400_000)

PLATFORMS: Final = {
    platform.name: platform
    for platform in (
        Platform("ACS-MSN2700", _SPECTRUM, _TO_100G, (5, 40, 300)),
        Platform("ACS-MSN3700", _SPECTRUM_2_3, (*_TO_100G, 200_000), (5, 40, 300)),
        Platform("ACS-MSN4700", _SPECTRUM_2_3, (*_TO_100G, 200_000, 400_000), (5, 40, 300), 400_000, 60_817_392),
        Platform("Mellanox-SN4600C-D24C52", _SPECTRUM_3_SHARED, _TO_100G, (2, 5, 40, 300, 2000)),
        Platform(
            "ACS-SN5600",
            _SPECTRUM_4,
            (*_TO_100G, 200_000, 400_000, 800_000),
            (5, 40, 300),
            800_000,
            158_229_504,
            {(40_000, 5): 75_776},
        ),
        Platform("Mellanox-SN5640-C512X2", _SPECTRUM_5, _TO_400G, (5, 30, 40, 200, 250, 300, 1000)),
        Platform("Mellanox-SN5640-C448O16", _SPECTRUM_5, _TO_400G, (5, 30, 40, 250, 300, 1000)),
        Platform("Mellanox-SN5640-C512S2", _SPECTRUM_5, _TO_400G, (5, 30, 40, 250, 300, 1000)),
        *(
            Platform(
                name, _SPECTRUM_6, (100_000, 200_000, 400_000, 800_000), (5, 40, 300), also=((10_000, 5), (25_000, 5))
            )
            for name in ("ACS-SN6600", "ACS-SN6600_LD", "ACS-SN6810_LD")
        ),
    )
}
_ALIASES: Final = {
    "sn6810": "ACS-SN6810_LD",
    "msn3700c": "ACS-MSN3700",
    "msn3420": "ACS-MSN3700",
    "sn5640": "Mellanox-SN5640-C512X2",
    "sn4600c": "Mellanox-SN4600C-D24C52",
}


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


def known_words() -> str:
    """The models with a known table, as people type them."""
    return ", ".join(
        sorted(
            {
                name.lower().removeprefix("acs-").removeprefix("mellanox-").split("-")[0].split("_")[0]
                for name in PLATFORMS
            }
        )
    )


@dataclass(frozen=True, slots=True)
class Chip:
    """A switch chip of the dynamic buffer model: the formula as its own script computes it, not as tables have it."""

    name: str
    asic: Asic
    nvidia: bool = True


def _spectrum(generation: int, cell_bytes: int, **more: Any) -> Chip:  # noqa: ANN401  fields of Asic
    """The script takes the standard's pause quanta, whole cells per small packet, and twice the pipeline on 8 lanes."""
    pipeline = more.pop("pipeline_bytes", 19 * _KB)
    asic = replace(
        _SPECTRUM,
        cell_factor=float(ceil(cell_bytes / 64)),
        peer_bytes=None,
        pipeline_bytes=pipeline,
        pipeline_8_lanes_bytes=2 * pipeline,
        **more,
    )
    return Chip(f"Spectrum-{generation}", asic)


_CHIPS: Final = {
    1: _spectrum(1, 96),
    2: _spectrum(2, 144),
    3: _spectrum(3, 144),
    4: _spectrum(4, 192, tile=True),
    5: _spectrum(5, 192, tile=True),
    6: _spectrum(6, 256, pipeline_bytes=42 * _KB, extra_bytes=18 * _KB),
}
"""Cells of asic_table.j2. Spectrum-4 and 5 add a tile, Spectrum-6 adds 18 KB (buffer_headroom_mellanox.lua)."""
_GENERATIONS: Final = {
    **dict.fromkeys(("2010", "2100", "2201", "2410", "2700", "2740"), 1),
    **dict.fromkeys(("3420", "3700", "3800"), 2),
    **dict.fromkeys(("4280", "4410", "4600", "4700", "4800"), 3),
    **dict.fromkeys(("5400", "5600", "5610"), 4),
    "5640": 5,
    "6600": 6,
    "6810": 6,
}
_MODEL: Final = re.compile(r"(?<![a-z])m?sn(\d{4})")
TOFINO_2: Final = Chip(
    "Tofino 2",
    replace(
        _SPECTRUM,
        cell_factor=176 / 64,
        peer_bytes=None,
        pipeline_bytes=68 * _KB,
        pipeline_8_lanes_bytes=68 * _KB,
        shared_headroom=True,
        slow_peer_mbps=400_000,
        share_as_stated=True,
        cable_divisor=8 * _KB,
    ),
    nvidia=False,
)
"""buffer_headroom_barefoot.lua: 400G peers get twice the quanta, size is xon always. MAC and PHY *assumed*: 0.8 KB."""


def dynamic_chip(*names: str) -> Chip | None:
    """The chip that the first telling one of a HWSKU and a platform name ('x86_64-nvidia_sn4410-r0') means."""
    for name in names:
        model = _MODEL.search(name.lower())
        if model is not None and model[1] in _GENERATIONS:
            return _CHIPS[_GENERATIONS[model[1]]]
        if "as9516" in name.lower() or "newport" in name.lower():
            return TOFINO_2
    return None
