"""A recording rule that reads its own last result. promtool's word on the same rule: FabricSwitchSilent.yml."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry.alerting.latch import latched
from telemetry.alerting.promql.model import Expr, Latched, select
from telemetry.alerting.promql.vectors import Row, Vector

BEGINS, LASTS = select("begins"), select("lasts")


def row(moments: str, value: float = 2.0) -> Row:
    """Present at each '1'."""
    present = np.array([it == "1" for it in moments])
    return Row((("device", "a"),), np.where(present, value + np.arange(len(moments)), np.nan), present)


@pytest.mark.parametrize(
    ("begins", "lasts", "expected"),
    [
        ("00110000", "11111111", "00111111"),
        ("00110000", "11111011", "00111000"),  # once it is over, the condition alone does not bring it back
        ("00110010", "11110011", "00110011"),
        ("00100000", "00000000", "00100000"),
        ("10000000", "01110111", "11110000"),
    ],
)
def test_a_row_lasts_from_where_it_begins_until_its_condition_fails(begins: str, lasts: str, expected: str) -> None:
    kept: list[Vector] = []
    answers: dict[Expr, Vector] = {BEGINS: [row(begins)], LASTS: [row(lasts)]}
    (found,) = latched(Latched(BEGINS, LASTS), answers.__getitem__, kept.append)
    assert "".join("01"[int(it)] for it in found.present) == expected
    (always,) = kept[0]
    assert always.present.all()
    last = 0.0
    for moment, there in enumerate(found.present):
        last = 2.0 + moment if begins[moment] == "1" else last
        assert not there or found.values[moment] == last


def test_a_row_whose_condition_has_none_is_what_begins() -> None:
    answers: dict[Expr, Vector] = {BEGINS: [row("0101")], LASTS: []}
    (found,) = latched(Latched(BEGINS, LASTS), answers.__getitem__, lambda _: None)
    assert found.present.tolist() == [False, True, False, True]
