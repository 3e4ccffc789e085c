"""Rates of flows over time beside recorded ones: results/<case>.rates.csv.gz of a folder of recorded runs.

Such a file has a line every few microseconds from the first flow's start on: time_us, then each flow's rate in Gb/s
with three decimals, empty before the flow's start and after its end. A rate is the one that a sender has after all
events up to that moment.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import TraceBit
from fabric.errors import InputErrors, Problem
from fabric.reading import MIB
from fabric.units import PS_PER_NS, PS_PER_US
from fabric.verify.fidelity.case import Case
from fabric.verify.fidelity.case_files import name_of, plain_text
from fabric.verify.fidelity.table import Finding, exactly

_STAGE: Final = "reading recorded rates"
_REMEDY: Final = "record the rates again"
_MAX_BYTES: Final = 16 * MIB
_LAST_DIGIT_GBPS: Final = 0.001


@dataclass(frozen=True)
class RateTrace:
    """Rates of one run."""

    time_us: NDArray[np.float64]
    """(moments,), since the start of the first flow."""
    rate_gbps: NDArray[np.float64]
    """(moments, flows), in the order of the case's flows; nan where the flow is not there."""


def trace_file(case_file: Path) -> Path:
    """Where the recorded rates of a case are, if there are any."""
    return case_file.resolve().parent.parent / "results" / f"{name_of(case_file)}.rates.csv.gz"


def read_trace(file: Path) -> RateTrace:
    """A recorded trace. Raises: InputErrors naming file and line."""
    lines = list(csv.reader(plain_text(file, _MAX_BYTES, _REMEDY).splitlines()))
    if len(lines) < 2 or lines[0][:1] != ["time_us"]:
        raise InputErrors(_STAGE, [Problem(str(file), "is no table that begins with time_us", _REMEDY)])
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(lines[0]):
            raise InputErrors(
                _STAGE, [Problem(f"{file}:{number}", f"has {len(line)} cells, not {len(lines[0])}", _REMEDY)]
            )
        try:
            rows.append([float(cell) if cell else np.nan for cell in line])
        except ValueError as error:
            raise InputErrors(_STAGE, [Problem(f"{file}:{number}", str(error), _REMEDY)]) from error
    table = np.array(rows, np.float64)
    return RateTrace(table[:, 0], table[:, 1:])


def trace(case: Case, time_us: NDArray[np.float64]) -> RateTrace:
    """The rates of our run of a case at given moments, in the order of insertion."""
    engine = Emulator(case.fabric, case.params, record=TraceBit(0), scheduler="sequential", order="insertion")
    messages: NDArray[Any] = engine.state.messages[1:]
    start_ps = case.params.messages.start_ps
    begin_ps = int(start_ps.min())
    rates = np.full((len(time_us), len(messages)), np.nan)
    for row, moment_us in enumerate(time_us):
        moment_ps = begin_ps + round(moment_us * PS_PER_US)
        engine.advance(moment_ps + PS_PER_NS)  # the bound is exclusive; times of this model are whole nanoseconds
        ended = (messages["end_ps"] > 0) & (messages["end_ps"] <= moment_ps)
        there = (start_ps <= moment_ps) & ~ended
        rates[row, there] = engine.state.qps["rate_bps"][messages["qp"][there]] / 1e9
    return RateTrace(time_us, rates)


def compare(ours: RateTrace, theirs: RateTrace) -> Sequence[Finding]:
    """Presence of flows and rates at every moment; equal to the last recorded digit."""
    both = ~np.isnan(ours.rate_gbps) & ~np.isnan(theirs.rate_gbps)
    differences = np.abs(ours.rate_gbps - theirs.rate_gbps)[both]
    equal = int((differences <= 0.51 * _LAST_DIGIT_GBPS).sum())
    recorded = int((~np.isnan(theirs.rate_gbps)).sum())
    return [
        exactly(
            "moments at which another set of flows is there",
            0,
            int((np.isnan(ours.rate_gbps) != np.isnan(theirs.rate_gbps)).any(axis=1).sum()),
        ),
        exactly("rates that are equal to 0.001 Gb/s", recorded, equal),
    ]
