"""Recorded series equal scraped ones, need no space while values are constant, and are equal after write and read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.dataplane.engine.counters import Snapshot
from fabric.topology.model import Fabric
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import RunInfo
from telemetry.catalogue.metrics import BY_NAME
from telemetry.record.sampler import Sampler, record
from telemetry.record.store import Store, StoreError

Still = Callable[..., Snapshot]
LEAF0 = (("device", "leaf0"), ("port", "Ethernet0"))


def run(tiny: Fabric, still: Still) -> list[Snapshot]:
    """Four samples: bytes move twice, PFC comes into use at the third."""
    snapshots = [still(tiny, time_ps=1_000_000 * n, qps=1, messages=1) for n in range(4)]
    for now, rx_bytes in zip(snapshots, [0, 70, 70, 90], strict=True):
        now.ports["rx_bytes"][2] = rx_bytes
    for now in snapshots[2:]:
        now.ports["pfc_classes"] = 1 << 3
    return snapshots


def test_a_series_has_a_value_at_every_sample(tiny: Fabric, still: Still, info: RunInfo) -> None:
    store = record(run(tiny, still), info)
    time_ns, value = store.series("fabric_port_receive_bytes_total")[LEAF0]
    assert time_ns.tolist() == [0, 1000, 2000, 3000]
    assert value.tolist() == [0, 70, 70, 90]


def test_a_series_begins_where_it_was_first_seen(tiny: Fabric, still: Still, info: RunInfo) -> None:
    store = record(run(tiny, still), info)
    found = store.series("fabric_pfc_paused", device="h0")
    time_ns, value = found[("device", "h0"), ("port", "eth0"), ("priority", "3")]
    assert time_ns.tolist() == [2000, 3000]
    assert value.tolist() == [0, 0]


def test_only_changes_are_kept(tiny: Fabric, still: Still, info: RunInfo) -> None:
    store = record(run(tiny, still), info)
    kept = {metric: len(series) for metric, _, _, series, _ in store.changes()}
    assert kept["fabric_port_receive_bytes_total"] == 4 + 2
    assert kept["fabric_port_up"] == 4


def test_labels_select_series(tiny: Fabric, still: Still, info: RunInfo) -> None:
    store = record(run(tiny, still), info)
    assert list(store.series("fabric_port_up", device="leaf0", port="Ethernet0")) == [LEAF0]
    assert store.series("fabric_port_up", device="leaf9") == {}
    assert store.series("no_such_metric") == {}


def test_a_series_that_ends_has_no_samples_after_it(tiny: Fabric, still: Still, info: RunInfo) -> None:
    store = Store()
    track = store.track("it")
    track.labels.append(())
    for sample, value in enumerate([1.0, np.nan, np.nan, 2.0]):
        store.begin(sample)
        if sample != 2:
            track.append(sample, np.zeros(1, np.int32), np.array([value]))
    time_ns, values = store.series("it")[()]
    assert (time_ns.tolist(), values.tolist()) == ([0, 3], [1, 2])


def test_recorded_equals_scraped(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshots = run(tiny, still)
    store = record(snapshots, info)
    for number, now in enumerate(snapshots):
        scraped = {
            (it.name, tuple(labels.items())): value
            for it in SnapshotMetrics(info).columns(now)
            for labels, value in zip(it.labels, it.values.tolist(), strict=True)
        }
        recorded = {
            (name, labels): values[times == now.time_ps // 1000]
            for name in store.metrics
            for labels, (times, values) in store.iter_series(name)
        }
        assert all(recorded[key].tolist() == [value] for key, value in scraped.items()), number


def test_only_what_is_asked_for_is_recorded(tiny: Fabric, still: Still, info: RunInfo) -> None:
    store = record(run(tiny, still), info, only=["fabric_queue_bytes"])
    assert set(store.metrics) <= {"fabric_queue_bytes"}
    assert len(store.times_ns) == 4


def test_time_must_advance(tiny: Fabric, still: Still, info: RunInfo) -> None:
    sampler = Sampler(info)
    sampler.sample(still(tiny, time_ps=5000))
    with pytest.raises(ValueError, match="cannot follow"):
        sampler.sample(still(tiny, time_ps=5000))


def test_a_file_gives_back_every_series(tiny: Fabric, still: Still, info: RunInfo, tmp_path: Path) -> None:
    store = record(run(tiny, still), info)
    store.write(tmp_path / "it.parquet")
    again = Store.read(tmp_path / "it.parquet")
    assert again.times_ns.tolist() == store.times_ns.tolist()
    assert set(again.metrics) == set(store.metrics)
    for name in store.metrics:
        ours = {frozenset(labels): [it.tolist() for it in series] for labels, series in store.iter_series(name)}
        assert ours == {frozenset(labels): [it.tolist() for it in series] for labels, series in again.iter_series(name)}


def test_an_empty_store_survives_its_file(tmp_path: Path) -> None:
    Store().write(tmp_path / "it.parquet")
    assert Store.read(tmp_path / "it.parquet").metrics == ()


def test_another_parquet_file_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "it.parquet")
    with pytest.raises(StoreError, match="holds no recorded metrics"):
        Store.read(tmp_path / "it.parquet")
    with pytest.raises(StoreError, match="cannot be read"):
        Store.read(tmp_path / "nothing.parquet")


@given(values=st.lists(st.integers(0, 5), min_size=1, max_size=30))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sequence_of_values_comes_back(tiny: Fabric, still: Still, info: RunInfo, values: list[int]) -> None:
    snapshots = [still(tiny, time_ps=1000 * n) for n in range(len(values))]
    for now, value in zip(snapshots, values, strict=True):
        now.ports["tx_bytes"][2] = value
    found = record(snapshots, info, only=["fabric_port_transmit_bytes_total"])
    assert found.series("fabric_port_transmit_bytes_total")[LEAF0][1].tolist() == values
    assert "fabric_port_transmit_bytes_total" in BY_NAME


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 6), st.lists(st.lists(st.sampled_from([0.0, 1.0, None]), min_size=3, max_size=3), max_size=6))
def test_the_last_samples_are_what_a_reader_has_that_began_then(kept: int, values: list[list[float | None]]) -> None:
    whole, late = Store(), Store()
    first = max(len(values) - kept, 0)
    last: list[float | None] = [None] * 3
    for store, start in ((whole, 0), (late, first)):
        last = [None] * 3
        track = store.track("m")
        track.labels.extend((("row", str(row)),) for row in range(3))
        for number, row in enumerate(values):
            if number < start:
                continue
            sample = store.begin(number)
            changed = [at for at in range(3) if row[at] != last[at]]
            if changed:
                now = np.array([np.nan if row[at] is None else row[at] for at in changed])
                track.append(sample, np.array(changed, np.int32), now)
            last = row
    found = whole.last(kept)
    assert found.times_ns.tolist() == late.times_ns.tolist()
    for labels, (time_ns, value) in late.series("m").items():
        there = found.series("m")[labels]
        assert there[0].tolist() == time_ns.tolist()
        assert there[1].tolist() == value.tolist()


def test_a_sampler_that_forgets_goes_on_where_it_was(tiny: Fabric, still: Still, info: RunInfo) -> None:
    taken = run(tiny, still)
    sampler = Sampler(info)
    for now in taken[:3]:
        sampler.sample(now)
    sampler.forget(2)
    sampler.sample(taken[3])
    time_ns, value = sampler.store.series("fabric_port_receive_bytes_total")[LEAF0]
    assert time_ns.tolist() == [2000, 3000]
    assert value.tolist() == [70, 90]
    assert sampler.changes == sum(len(series) for _, _, _, series, _ in sampler.store.changes())
