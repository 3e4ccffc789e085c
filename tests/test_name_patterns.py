"""Patterns of names: those of fnmatch, and ranges of numbers."""

from __future__ import annotations

import string
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.name_patterns import fits_pattern


@given(st.text(string.ascii_letters + string.digits + ":-[]*?", max_size=12), st.text("leaf*?[]!ab", max_size=10))
def test_a_pattern_without_a_range_is_one_of_fnmatch(name: str, pattern: str) -> None:
    assert fits_pattern(name, pattern) == fnmatchcase(name, pattern)


@given(st.integers(0, 300), st.integers(0, 300), st.integers(10, 300))
def test_a_range_takes_its_numbers_and_no_others(number: int, low: int, high: int) -> None:
    assert fits_pattern(f"leaf2-host{number}:eth0", f"leaf[1-9]-host[{low}-{high}]:*") == (low <= number <= high)


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("host2", "host[20-30]", False),
        ("host125", "*[20-30]", False),
        ("host25", "*[20-30]", True),
        ("25", "[20-30]", True),
        ("host205", "host[20-30]*", False),
        ("host20b", "host[20-30]*", True),
        ("host025", "host[20-30]", False),
        ("host08", "host[08-12]", True),
        ("host8", "host[08-12]", False),
        ("host8", "host[8-12]", True),
        ("host25", "host[30-20]", False),
        ("leaf12:Ethernet100", "leaf[10-12]:Ethernet[96-104]", True),
        ("leaf13:Ethernet100", "leaf[10-12]:Ethernet[96-104]", False),
    ],
)
def test_numbers_are_whole_and_written_as_the_bounds(name: str, pattern: str, *, expected: bool) -> None:
    assert fits_pattern(name, pattern) == expected
