"""Sampling: replaying the rows gives back every counter at every sample, and only changes are written."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.dataplane.engine.counters import Kept, Snapshot
from fabric.dataplane.port.flowcontrol.counters import copied, with_present_pauses
from fabric.dataplane.state.codes import N_CLASSES
from fabric.runs import recorder, series
from fabric.runs.observables import OBSERVABLES, POSITION, Scope
from fabric.runs.readings import values
from fabric.runs.series import Sampler, n_rows, place
from tests.runs.sampling_oracle import SlowSampler, slow_pauses

FIELDS = {
    "ports": ("tx_bytes", "busy_ps", "paused"),
    "queues": ("depth_bytes", "peak_bytes"),
    "pgs": ("use_bytes", "peak_share_ratio"),
    "prios": ("rx_paused_ps", "pauses"),
    "drops": ("pkts",),
    "pools": ("used_bytes",),
    "hosts": ("goodput_bytes",),
    "qps": ("rate_bps", "alpha"),
    "rqps": ("out_of_sequence",),
    "members": ("bytes",),
}

change = st.tuples(
    st.sampled_from([(table, field) for table, fields in FIELDS.items() for field in fields]),
    st.integers(0, 10**6),
    st.integers(0, 255),
)


def dense(now: Snapshot) -> dict[tuple[int, int, int, int, int], int]:
    """Every value that is not 0, by (observable, device, port, class, item), read without a sampler."""
    found = {}
    for row, observable in enumerate(OBSERVABLES):
        if observable.name == "tx_utilisation_ratio":
            continue
        rows = np.arange(n_rows(now, observable.scope))
        keys = zip(*(column.tolist() for column in place(now, observable.scope, rows)), strict=True)
        for key, value in zip(keys, values(observable, now, rows).tolist(), strict=True):
            if value:
                found[row, *key] = value
    return found


@given(steps=st.lists(st.lists(change, max_size=4), min_size=1, max_size=4))
@settings(max_examples=30)
def test_replaying_the_rows_gives_every_counter_at_every_sample(still: Callable[..., Snapshot], steps: list) -> None:
    sampler = Sampler()
    seen: dict[tuple[int, ...], int] = {}
    now = still()
    for number, changes in enumerate(steps):
        before = now
        now = still(number * 1_000_000)
        for table in FIELDS:
            getattr(now, table)[...] = getattr(before, table)
        for (table, field), row, value in changes:
            flat = getattr(now, table).reshape(-1)
            flat[field][row % flat.size] = value
        for row in sampler.sample(now).tolist():
            if row[1] != POSITION["tx_utilisation_ratio"]:
                assert seen.get(row[1:6], 0) != row[6]
                seen[row[1:6]] = row[6]
        assert {key: value for key, value in seen.items() if value} == dense(now)


@given(steps=st.lists(st.tuples(st.integers(0, 3), st.lists(change, max_size=6)), min_size=1, max_size=5))
@settings(max_examples=40)
def test_a_sample_has_the_rows_that_reading_every_value_one_by_one_gives(
    still: Callable[..., Snapshot], steps: list[tuple[int, list]]
) -> None:
    sampler, slow = Sampler(), SlowSampler()
    now = still()
    for later, changes in steps:
        before, now = now, still(now.time_ps + later * 1_000_000)
        for table in (*FIELDS, "groups"):
            getattr(now, table)[...] = getattr(before, table)
        now.groups["count"] = 1
        for (table, field), row, value in changes:
            flat = getattr(now, table).reshape(-1)
            flat[field][row % flat.size] = value
        assert sampler.sample(now).tobytes() == slow.sample(now).tobytes()


pauses = st.lists(st.tuples(st.integers(0, 31), st.integers(0, 3000), st.booleans(), st.booleans()), max_size=6)


@given(pauses=pauses, time_ps=st.integers(0, 3000))
@settings(max_examples=60)
def test_present_pauses_are_those_of_the_whole_table_field_by_field(
    still: Callable[..., Snapshot], pauses: list[tuple[int, int, bool, bool]], time_ps: int
) -> None:
    now = still()
    prios = now.prios.reshape(-1)
    for number, since_ps, received, sent in pauses:
        row = number % prios.size
        prios["since_ps"][row] = prios["sent_since_ps"][row] = since_ps
        prios["xoff_sent"][row] = sent
        prios["longest_ps"][row] = 1500
        now.ports["paused"][row // N_CLASSES] |= np.uint8(received << row % N_CLASSES)
    before = prios.copy()
    found = with_present_pauses(prios, now.ports, time_ps)
    assert np.array_equal(found, slow_pauses(prios, now.ports, time_ps))
    assert np.array_equal(prios, before)


def test_equal_tables_of_two_snapshots_are_one_and_a_change_makes_another(still: Callable[..., Snapshot]) -> None:
    kept, table = Kept(), still().drops.copy()
    first = kept.frozen("drops", table)
    assert kept.frozen("drops", table) is first
    table["pkts"].reshape(-1)[5] = 1
    second = kept.frozen("drops", table)
    table["pkts"].reshape(-1)[5] = 2
    assert (first["pkts"].sum(), second["pkts"].sum()) == (0, 1)
    assert not second.flags.writeable
    longer = kept.frozen("drops", np.concatenate([table, table]))
    assert len(longer) == 2 * len(table)


def test_a_copy_of_a_table_has_its_padding_too(still: Callable[..., Snapshot]) -> None:
    ports = still().ports
    ports.view(np.uint8)[...] = 7
    assert copied(ports).tobytes() == ports.tobytes()


def test_a_sampler_that_was_saved_and_loaded_writes_the_same_rows(still: Callable[..., Snapshot]) -> None:
    first, second = still(1_000), still(2_000)
    first.queues["depth_bytes"][0, 3] = 7
    second.queues["depth_bytes"][0, 3] = 9
    second.ports["busy_ps"][1] = 500
    one = Sampler()
    one.sample(first)
    other = Sampler()
    other.load({name: array.copy() for name, array in one.save().items()})
    assert np.array_equal(one.sample(second), other.sample(second))


def test_utilisation_is_the_share_of_the_time_since_the_last_sample(still: Callable[..., Snapshot]) -> None:
    first, second = still(1_000_000), still(3_000_000)
    first.ports["busy_ps"][0] = 250_000
    second.ports["busy_ps"][0] = 1_250_000
    sampler = Sampler()
    shares = []
    for now in (first, second):
        rows = sampler.sample(now)
        mine = rows[rows["observable"] == POSITION["tx_utilisation_ratio"]]
        shares.append(float(mine["value"].view(np.float64)[0]))
    assert shares == [0.25, 0.5]


def test_counters_name_places_and_leave_zeros_out(still: Callable[..., Snapshot]) -> None:
    now = still(5_000)
    now.queues["peak_bytes"][2, 3] = 4096
    now.drops["pkts"][3, 0, 6] = 2
    found = {row["observable"]: row for row in recorder.counters(now).to_pylist()}
    assert found["queue_peak_bytes"] == {
        "observable": "queue_peak_bytes",
        "device": "leaf",
        "port": "Ethernet0",
        "class": 3,
        "item": None,
        "value": 4096,
        "value_ratio": None,
    }
    assert found["drop_mtu_pkts"]["value"] == 2
    assert "tx_bytes" not in found


def test_a_group_that_sends_everything_one_way_is_as_uneven_as_it_has_members(still: Callable[..., Snapshot]) -> None:
    now = still()
    now.groups["first"], now.groups["count"] = [0, 0], [2, 0]
    now.members["bytes"] = [900, 0]
    imbalance = next(it for it in OBSERVABLES if it.name == "ecmp_imbalance_ratio")
    assert imbalance.read(now, np.arange(2)).tolist() == [2.0, 0.0]


@pytest.mark.parametrize("scope", list(Scope))
def test_every_scope_has_observables_and_a_table(still: Callable[..., Snapshot], scope: Scope) -> None:
    assert series.BY_SCOPE[scope]
    assert n_rows(still(), scope) > 0


def test_names_of_observables_are_unique_and_ratios_end_in_ratio() -> None:
    assert len(POSITION) == len(OBSERVABLES)
    assert all(it.is_ratio == it.name.endswith("_ratio") for it in OBSERVABLES)
