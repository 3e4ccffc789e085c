"""Rates over time beside recorded ones: equal for staggered flows, and a difference of one digit is found."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from fabric.errors import InputErrors
from fabric.verify.fidelity import rate_traces, recorded
from fabric.verify.fidelity.rate_traces import RateTrace
from tests.recordings import NS3_CC

ROWS = [row for row in recorded.rows(NS3_CC) if row.id.endswith("/rates")]


def test_two_and_four_flows_of_every_control_have_recorded_rates() -> None:
    names = {row.id.split("/")[1] for row in ROWS}
    assert {name.split("_")[0] for name in names if "_b4" in name} == {"dctcp", "hpcc", "pint", "timely"}
    assert {name.split("_")[0] for name in names if "_b2" in name} == {"dctcp", "hpcc", "timely"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_rate_at_every_moment_is_equal(row: recorded.Row) -> None:
    presence, rates = row.run()
    assert presence.agrees, presence
    assert rates.reference > 200, "a trace without rates compares nothing"
    assert rates.agrees, rates


def traces(*rates: float) -> RateTrace:
    return RateTrace(np.arange(len(rates), dtype=float), np.array(rates)[:, None])


@pytest.mark.parametrize(
    ("ours", "agree"), [([1.0, 2.0004], [True, True]), ([1.0, 2.001], [True, False]), ([1.0, np.nan], [False, False])]
)
def test_another_rate_and_another_flow_are_found(ours: list[float], agree: list[bool]) -> None:
    found = rate_traces.compare(traces(*ours), traces(1.0, 2.0))
    assert [it.agrees for it in found] == agree


@pytest.mark.parametrize(
    ("text", "line"),
    [("", ""), ("moment,flow0\n0,1\n", ""), ("time_us,flow0\n0,fast\n", ":2"), ("time_us,flow0\n0,1\n5,1,2\n", ":3")],
)
def test_a_damaged_trace_is_refused_with_its_line(tmp_path: Path, text: str, line: str) -> None:
    file = tmp_path / "x.rates.csv.gz"
    file.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InputErrors) as caught:
        rate_traces.read_trace(file)
    [problem] = caught.value.problems
    assert problem.path == f"{file}{line}"
