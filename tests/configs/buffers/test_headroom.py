"""Headroom arithmetic against shipped tables, hand-computed values and its own laws."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.configs.buffers.headroom import bounds, cable_bytes, nic_xoff_bytes, quanta_bytes, vendor_row
from fabric.configs.buffers.platforms import PLATFORMS, dynamic_chip, find_platform
from fabric.configs.sonic.pgtable import HeadroomTables, parse_table
from fabric.errors import InputErrors


def _rows(vendor_files: Path, hwsku: str) -> list[dict[str, str]]:
    with (vendor_files / "pg_profile_lookup/ALL_ROWS.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["path"].split("/")[-2] == hwsku]
    return [row for row in rows if row["path"] == rows[0]["path"]]


@pytest.mark.vendor_files
@pytest.mark.parametrize("hwsku", PLATFORMS)
def test_the_formula_reproduces_every_row_of_the_shipped_table(hwsku: str, vendor_files: Path) -> None:
    rows = _rows(vendor_files, hwsku)
    assert rows
    platform = PLATFORMS[hwsku]
    for row in rows:
        speed, cable = int(row["speed"]), int(row["cable"].removesuffix("m"))
        assert platform.shipped(speed, cable), (speed, cable)
        ours = platform.row(speed, cable)
        assert (ours.size_bytes, ours.xon_bytes, ours.xoff_bytes) == (
            int(row["size"]),
            int(row["xon"]),
            int(row["xoff"]),
        ), (speed, cable)
    assert len(rows) == len(platform.keys)


SHIPPED_ROWS = [  # hwsku, speed in Mb/s, cable in m, then size, xon and xoff in bytes; fmt: off
    ("ACS-MSN2700", 10_000, 5, 49_152, 19_456, 29_696),
    ("ACS-MSN2700", 100_000, 300, 123_904, 19_456, 104_448),
    ("ACS-MSN3700", 50_000, 5, 53_248, 19_456, 33_792),
    ("ACS-MSN3700", 200_000, 300, 223_232, 19_456, 203_776),
    ("ACS-MSN4700", 50_000, 40, 58_368, 19_456, 38_912),
    ("ACS-MSN4700", 400_000, 300, 420_864, 37_888, 373_760),
    ("Mellanox-SN4600C-D24C52", 40_000, 40, 19_456, 19_456, 23_552),
    ("Mellanox-SN4600C-D24C52", 100_000, 2000, 19_456, 19_456, 331_776),
    ("ACS-SN5600", 100_000, 5, 133_120, 19_456, 113_664),
    ("ACS-SN5600", 800_000, 300, 1_198_080, 38_912, 1_150_976),
    ("Mellanox-SN5640-C512X2", 100_000, 5, 19_456, 19_456, 44_032),
    ("Mellanox-SN5640-C512X2", 400_000, 1000, 19_456, 19_456, 619_520),
    ("Mellanox-SN5640-C448O16", 10_000, 5, 19_456, 19_456, 20_480),
    ("Mellanox-SN5640-C512S2", 400_000, 1000, 19_456, 19_456, 619_520),
    ("ACS-SN6600", 200_000, 300, 173_056, 43_008, 130_048),
    ("ACS-SN6600_LD", 10_000, 5, 63_488, 43_008, 20_480),
    ("ACS-SN6810_LD", 800_000, 300, 516_096, 43_008, 473_088),
]


@pytest.mark.parametrize(("hwsku", "speed", "cable", "size", "xon", "xoff"), SHIPPED_ROWS)
def test_the_formula_gives_shipped_numbers_of_every_platform(
    hwsku: str, speed: int, cable: int, size: int, xon: int, xoff: int
) -> None:
    row = PLATFORMS[hwsku].row(speed, cable)
    assert (row.size_bytes, row.xon_bytes, row.xoff_bytes) == (size, xon, xoff)


def test_no_platform_is_left_without_a_shipped_number() -> None:
    assert {row[0] for row in SHIPPED_ROWS} == set(PLATFORMS)


def test_at_least_169_shipped_rows_are_reproduced() -> None:
    assert sum(len(it.keys) for it in PLATFORMS.values()) >= 169


def test_the_hand_computed_row_of_400g_at_40_m_is_met() -> None:
    # prop = 9100 + 20202 + 819.2 + 57920 + 6000 = 94041; 1024 + 3 * 94041 = 283148, up to 1024s: 283648
    assert PLATFORMS["ACS-SN5600"].row(400_000, 40).xoff_bytes == 283_648


def test_bounds_are_those_of_the_book_at_400g_40_m() -> None:
    found = bounds(400_000, 40, 9216)
    assert (found.b, found.c, found.d) == (33_562, 38_600, 96_520)
    assert found.a == 20_000 + 84 + 2 * 1542


@given(st.sampled_from([25_000, 100_000, 400_000, 800_000]), st.integers(0, 2000), st.integers(1500, 9216))
def test_bounds_are_ordered_and_grow_with_cable_and_mtu(speed: int, cable: int, mtu: int) -> None:
    here, longer, larger = bounds(speed, cable, mtu), bounds(speed, cable + 1, mtu), bounds(speed, cable, mtu + 1)
    assert here.a <= here.b <= here.c < here.d
    assert longer.d > here.d
    assert larger.d > here.d


@given(st.sampled_from(sorted(PLATFORMS)), st.sampled_from([25_000, 100_000, 400_000]), st.integers(1, 1000))
def test_xoff_never_shrinks_with_the_cable_and_is_whole_kilobytes(name: str, speed: int, cable: int) -> None:
    asic = PLATFORMS[name].asic
    near, far = vendor_row(asic, speed, cable), vendor_row(asic, speed, cable + 50)
    assert near.xoff_bytes <= far.xoff_bytes
    assert near.xoff_bytes % 1024 == 0
    assert near.xoff_bytes >= cable_bytes(speed, cable)


@pytest.mark.parametrize(("speed", "quanta"), [(200_000, 453), (400_000, 905), (799_999, 905), (800_000, 905)])
def test_quanta_of_the_fast_ports_are_those_of_802_3_31b_3_7(speed: int, quanta: int) -> None:
    assert quanta_bytes(speed) == quanta * 64
    assert quanta_bytes(200_001) == quanta_bytes(400_000)
    assert quanta_bytes(1_600_000) == quanta_bytes(800_000)


def test_a_speed_without_quanta_takes_the_next_higher_one() -> None:
    assert quanta_bytes(60_000) == quanta_bytes(100_000) == 25_216
    assert quanta_bytes(1_600_000) == 57_920


def test_a_nic_reserves_what_the_driver_computes() -> None:
    assert nic_xoff_bytes(400_000, 40, 9216) == 180_027


@pytest.mark.parametrize(
    ("word", "hwsku"),
    [
        ("sn5600", "ACS-SN5600"),
        ("MSN4700", "ACS-MSN4700"),
        ("x86_64-nvidia_sn5600-r0", "ACS-SN5600"),
        ("sn4700", "ACS-MSN4700"),
    ],
)
def test_a_platform_is_found_by_the_names_people_use(word: str, hwsku: str) -> None:
    found = find_platform(word)
    assert found is not None
    assert found.name == hwsku


def test_an_unknown_platform_is_not_guessed() -> None:
    assert find_platform("sn9999") is None
    assert HeadroomTables().find("Force10-S6000", "x86_64-dell_s6000_s1220-r0") is None


def test_every_bad_line_of_a_table_is_named() -> None:
    with pytest.raises(InputErrors) as caught:
        parse_table("400000 40m 1 2 3 0\n400000 40 1 2 3 0\n100000 5m x 2 3 0\n400000 40m 1 2 3 0\n", "t.ini")
    assert [problem.path for problem in caught.value.problems] == ["t.ini:2", "t.ini:3", "t.ini:4"]


@pytest.mark.parametrize(
    ("name", "chip"),
    [
        ("x86_64-mlnx_msn4410-r0", "Spectrum-3"),
        ("Mellanox-SN2700-D48C8", "Spectrum-1"),
        ("ACS-SN5400", "Spectrum-4"),
        ("x86_64-nvidia_sn6810_ld-r0", "Spectrum-6"),
        ("x86_64-accton_as9516_32d-r0", "Tofino 2"),
        ("newport", "Tofino 2"),
    ],
)
def test_the_chip_of_the_dynamic_model_is_told_by_any_name_of_the_switch(name: str, chip: str) -> None:
    found = dynamic_chip("", name)
    assert found is not None
    assert found.name == chip


def test_a_chip_without_a_published_formula_is_not_guessed() -> None:
    assert dynamic_chip("Force10-S6000", "x86_64-dell_z9332f_d1508-r0", "x86_64-sn9999-r0") is None


def test_spectrum_6_adds_18_kilobytes_and_takes_cells_of_256() -> None:
    chip = dynamic_chip("ACS-SN6600")
    assert chip is not None
    # prop = 9100 + 20202 + 819.2 + 57920 = 88041; all small packets fill four times their bytes
    row = vendor_row(chip.asic, 400_000, 40, port_mtu=9100, lossless_mtu=1024, small_percent=100)
    exact = 1024 + (9100 + 20_202.02 + 819.2 + 57_920) * 4 + 18 * 1024
    assert row.xoff_bytes == -int(-exact // 1024) * 1024
    assert row.xon_bytes == 42 * 1024


def test_tofino_gives_400g_peers_twice_the_quanta_and_reserves_xon_only() -> None:
    chip = dynamic_chip("newport")
    assert chip is not None
    row = vendor_row(chip.asic, 400_000, 40, port_mtu=9100, lossless_mtu=1024, small_percent=50)
    exact = 1024 + (9100 + 20_202.02 * 8000 / 8192 + 819.2 + 2 * 57_920) * (50 + 50 * 2.75) / 100
    assert row.xoff_bytes == -int(-exact // 1024) * 1024
    assert row.size_bytes == row.xon_bytes == 68 * 1024
