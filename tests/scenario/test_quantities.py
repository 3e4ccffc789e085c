"""Whole quantities are read without Decimal, and have the values that Decimal gives."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.units import UnitError, parse_rate_bps, parse_size_bytes, parse_time_ps


@given(number=st.integers(0, 10**24), digits=st.integers(0, 30))
def test_a_whole_number_of_any_length_has_its_decimal_value_or_is_refused(number: int, digits: int) -> None:
    text = f"{number:0{digits}}"
    for unit, factor, parse in (
        ("ns", 1000, parse_time_ps),
        ("KiB", 1024, parse_size_bytes),
        ("G", 10**9, parse_rate_bps),
    ):
        value = Decimal(text) * factor
        if value > 2**62:
            with pytest.raises(UnitError, match="absurdly large"):
                parse(text + unit)
        else:
            assert parse(text + unit) == value


def test_a_fraction_below_the_base_unit_is_still_refused() -> None:
    assert parse_time_ps("1.5ns") == 1500
    with pytest.raises(UnitError, match="finer"):
        parse_size_bytes("1.5B")
