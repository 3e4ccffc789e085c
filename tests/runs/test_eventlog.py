"""The event log is the same at any pace, keeps the first rows of a category, and names its numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fabric.dataplane.state.codes import DropReason, EventKind
from fabric.dataplane.state.types import TRACE
from fabric.runs import eventlog, schemas
from fabric.runs.eventlog import KINDS, NO_ID, EventLog
from fabric.topology.model import Fabric

rows_of = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 2), st.sampled_from(list(EventKind))), max_size=40)


def trace(rows: list[tuple[int, int, EventKind]]) -> np.ndarray:
    found = np.zeros(len(rows), TRACE)
    for place, (time_ps, device, kind) in enumerate(rows):
        row = found[place]
        row["time_ps"], row["device"], row["kind"], row["a"] = time_ps, device, kind, place
    found["port"], found["qp"] = NO_ID, NO_ID
    return found


def simulate(rows: np.ndarray, pauses: list[int], cap: int) -> tuple[np.ndarray, EventLog]:
    """Return rows as an engine does that pauses at these times; some later rows come early."""
    log = EventLog(cap)
    out, start = [], 0
    for moment in sorted(pauses):
        end = start + int((rows["time_ps"][start:] < moment + 3).sum())  # some devices are ahead
        out.append(log.take(rows[start:end], moment))
        start = end
    out += [log.take(rows[start:], 1 << 60), log.finish()]
    return np.concatenate(out), log


@given(rows=rows_of, pauses=st.lists(st.integers(0, 60), max_size=6), cap=st.integers(0, 10))
def test_the_log_does_not_depend_on_when_the_engine_paused(rows: list, pauses: list[int], cap: int) -> None:
    ordered = trace(sorted(rows, key=lambda row: row[:2]))
    whole, log = simulate(ordered, [], cap)
    pieces, other = simulate(ordered, pauses, cap)
    assert np.array_equal(whole, pieces)
    assert (log.recorded, log.unrecorded) == (other.recorded, other.unrecorded)


@given(rows=rows_of, pauses=st.lists(st.integers(0, 60), min_size=2, max_size=2))
def test_a_log_that_was_saved_and_loaded_goes_on_the_same(rows: list, pauses: list[int]) -> None:
    ordered = trace(sorted(rows, key=lambda row: row[:2]))
    moment = min(pauses)
    one = EventLog(5)
    first = one.take(ordered, moment)
    other = EventLog(5)
    other.load({name: array.copy() for name, array in one.save().items()})
    assert np.array_equal(one.finish(), other.finish())
    assert one.recorded == other.recorded
    assert len(first) <= len(ordered)


def test_a_cap_keeps_the_first_rows_of_its_category_and_counts_the_rest() -> None:
    rows = trace([(time, 0, EventKind.MARK) for time in range(5)] + [(9, 0, EventKind.DROP)])
    found, log = simulate(rows, [], 3)
    assert found["kind"].tolist() == [EventKind.MARK] * 3 + [EventKind.DROP]
    assert log.unrecorded["mark"] == 2
    assert log.recorded == log.recorded | {"mark": 3, "drop": 1}


def test_times_are_nanoseconds_and_absent_numbers_are_null(tiny: Fabric) -> None:
    rows = trace([(12_345, 2, EventKind.RESUMED), (20_999, 2, EventKind.LINK_UP), (30_000, 2, EventKind.DROP)])
    rows["port"], rows["prio"], rows["reason"], rows["a"] = 3, 4, DropReason.MTU, 7_000
    coded, _ = simulate(rows, [], 10)
    table = eventlog.decode(pa.table({name: coded[name] for name in coded.dtype.names or ()}), tiny)
    resumed, up, drop = table.to_pylist()
    assert table.schema.equals(schemas.EVENTS)
    assert (resumed["time_ns"], resumed["a"], resumed["d"]) == (12, 7, None)
    assert (resumed["class"], resumed["port"]) == (4, "Ethernet4")
    assert (up["time_ns"], up["a"], up["class"], up["reason"]) == (20, None, None, None)
    assert (drop["kind"], drop["reason"], drop["a"], drop["device"]) == ("drop", "mtu", 7_000, "leaf")


def test_every_kind_of_event_is_explained() -> None:
    assert set(KINDS) == set(EventKind)
