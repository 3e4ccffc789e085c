"""An exporter has only the values of its polls; a microburst shows the difference."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import DropReason
from fabric.errors import FabricError
from fabric.topology.model import Fabric
from fabric.units import PS_PER_S
from telemetry.catalogue.columns import SnapshotMetrics, column
from telemetry.catalogue.derive import RunInfo
from telemetry.catalogue.metrics import BY_NAME
from telemetry.record.polling.compare import compare, depth_curves
from telemetry.record.polling.estimator import counted_ps
from telemetry.record.polling.poller import Poller
from telemetry.record.polling.profiles import PROFILES, Group, Profile

Still = Callable[..., Snapshot]
QUEUE = (2, 3)
"""Leaf port 0, class 3, of the fabric `tiny`."""
MS = PS_PER_S // 1000


def burst(tiny: Fabric, still: Still, samples: int = 100, at: int = 40) -> list[Snapshot]:
    """One sample per millisecond; at one of them 1 MB waits, which only the watermark after that sample shows."""
    run = [still(tiny, time_ps=n * MS) for n in range(samples)]
    for n, now in enumerate(run):
        now.ports["rate_bps"] = 10**10
        now.ports["tx_bytes"][2] = 1_000_000 if n >= at else 0
        now.queues["sent_bytes"][QUEUE] = 1_000_000 if n >= at else 0
    run[at].queues["depth_bytes"][QUEUE] = 900_000
    run[at].queues["watermark_bytes"][QUEUE] = 1_000_000
    return run


@pytest.mark.parametrize(("was", "activity", "now"), list(product([True, False], repeat=3)))
def test_sonics_table_decides_what_counts_as_paused(*, was: bool, activity: bool, now: bool) -> None:
    # The HLD's table, line by line.
    expected = {
        (True, True, True): 7,
        (True, True, False): 7,
        (True, False, True): 7,
        (True, False, False): 0,
        (False, True, True): 7,
        (False, True, False): 7,
        (False, False, True): 0,
        (False, False, False): 0,
    }
    flags = (np.array([it]) for it in (was, activity, now))
    assert counted_ps(*flags, np.array([7])).tolist() == [expected[was, activity, now]]


def test_the_ideal_eye_sees_every_sample(tiny: Fabric, still: Still) -> None:
    run = burst(tiny, still)
    assert list(Poller(PROFILES["ideal"], tiny).over(run)) == run


def test_a_poll_of_ten_seconds_misses_a_millisecond(tiny: Fabric, still: Still) -> None:
    found = compare(burst(tiny, still), Poller(PROFILES["sonic"], tiny))
    queue = found.queues[0]
    assert (queue.device, queue.port, queue.queue, queue.truth) == ("leaf0", "Ethernet0", 3, 1_000_000)
    assert (queue.read, queue.seen) == (0, 1_000_000)
    assert queue.seen_ns > found.end_ns  # the watermark tells of it, but not when it mattered
    assert found.ports[0].truth == pytest.approx(0.8)
    assert 0 < found.ports[0].seen < 0.01


def test_a_faster_clock_sees_more(tiny: Fabric, still: Still) -> None:
    found = compare(burst(tiny, still), Poller(PROFILES["hft"], tiny, dilation=100))
    assert found.queues[0].read == 900_000
    assert found.ports[0].seen == pytest.approx(found.ports[0].truth)


def test_curves_show_the_burst_and_its_absence(tiny: Fabric, still: Still) -> None:
    place = compare(burst(tiny, still), Poller(PROFILES["sonic"], tiny)).queues[0]
    truth, polled, watermark = depth_curves(burst(tiny, still), Poller(PROFILES["sonic"], tiny), place)
    assert (max(truth.value), max(polled.value), max(watermark.value)) == (900_000, 0, 1_000_000)


def test_a_counter_catches_up_once_the_run_is_over(tiny: Fabric, still: Still) -> None:
    run = burst(tiny, still)
    *_, last = Poller(PROFILES["sonic"], tiny).over(run)
    assert last.queues["sent_bytes"][QUEUE] == run[-1].queues["sent_bytes"][QUEUE]
    assert last.ports["tx_bytes"].tolist() == run[-1].ports["tx_bytes"].tolist()


def test_a_watermark_is_cleared_by_being_read(tiny: Fabric, still: Still) -> None:
    poller = Poller(PROFILES["sonic"], tiny, dilation=60 / 0.030)  # watermarks every 30 ms
    shown = [int(known.queues["watermark_bytes"][QUEUE]) for known in poller.over(burst(tiny, still))]
    assert set(shown) == {0, 1_000_000}
    assert 25 <= shown.count(1_000_000) <= 31


def test_one_short_pause_is_a_whole_interval_to_sonic(tiny: Fabric, still: Still) -> None:
    run = [still(tiny, time_ps=n * MS) for n in range(1000)]
    for now in run[500:]:
        now.prios["rx_xoff_pkts"][QUEUE], now.prios["rx_paused_ps"][QUEUE] = 1, MS // 1000
    *_, last = Poller(PROFILES["sonic"], tiny).over(run)
    assert last.prios["rx_paused_ps"][QUEUE] == PS_PER_S // 5


def test_hosts_are_read_by_another_exporter(tiny: Fabric, still: Still) -> None:
    run = [still(tiny, time_ps=n * PS_PER_S) for n in range(12)]
    for now in run[1:]:
        now.hosts["cnp_sent"] = 5
    poller = Poller(PROFILES["sonic"], tiny)
    known = [poller.take(now).hosts["cnp_sent"].tolist() for now in run]
    assert known[0] == [0, 0]
    *_, after = Poller(PROFILES["sonic"], tiny).over(run)
    assert after.hosts["cnp_sent"].tolist() == [5, 5]


@given(
    seed=st.integers(0, 9), dilation=st.floats(1, 1e5), steps=st.lists(st.integers(0, 10**6), min_size=2, max_size=40)
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_known_was_true_before(
    tiny: Fabric, still: Still, seed: int, dilation: float, steps: list[int]
) -> None:
    run, total, truths = [], 0, set()
    for n, step in enumerate(steps):
        total += step
        now = still(tiny, time_ps=n * MS)
        now.ports["rx_bytes"][2] = now.queues["sent_bytes"][QUEUE] = total
        run.append(now)
    poller = Poller(PROFILES["sonic"], tiny, dilation, seed)
    before = -1
    for now in run:
        truths.add(int(now.ports["rx_bytes"][2]))
        known = int(poller.take(now).ports["rx_bytes"][2])
        assert known in truths
        assert known >= before
        before = known


def test_a_polled_port_never_unreceives_what_was_lost_silently(tiny: Fabric, still: Still) -> None:
    silent, poller = int(DropReason.INJECTED), Poller(PROFILES["sonic"], tiny, seed=1)
    before = -1.0
    for n in range(3000):
        now = still(tiny, time_ps=n * MS)
        now.ports["rx_pkts"][2], now.drops["pkts"][2, 3, silent] = 4 * n, n
        known = float(column(poller.take(now), "received_pkts()")[2])
        assert before <= known <= 3 * n
        assert known % 3 == 0, "both counts are of one moment"
        before = known
    assert before > 0


def test_switches_are_not_synchronised_and_the_seed_decides(tiny: Fabric, still: Still) -> None:
    def first_seen(seed: int) -> int:
        run = burst(tiny, still, samples=1500, at=1)
        poller = Poller(PROFILES["sonic"], tiny, seed=seed)
        return next(n for n, now in enumerate(run) if poller.take(now).ports["tx_bytes"][2])

    assert first_seen(1) == first_seen(1)
    assert len({first_seen(seed) for seed in range(4)}) > 1


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda it: it.name)
def test_a_profile_shows_metrics_of_the_catalogue_that_it_polls(profile: Profile) -> None:
    assert set(profile.metrics) <= set(BY_NAME)
    assert {"fabric_port_receive_bytes_total", "fabric_queue_watermark_bytes"} <= set(profile.metrics)


def test_nobody_polls_what_no_exporter_has() -> None:
    hidden = {
        "fabric_pg_shared_threshold_bytes",
        "fabric_queue_peak_bytes",
        "fabric_flow_completion_seconds",
        "fabric_pfc_longest_pause_seconds",
        "fabric_ecn_eligible_packets_total",
    }
    assert not hidden & set(PROFILES["sonic"].metrics)
    assert hidden <= set(PROFILES["ideal"].metrics)


def test_what_is_seen_can_be_scraped(tiny: Fabric, still: Still, info: RunInfo) -> None:
    metrics = SnapshotMetrics(info, PROFILES["sonic"].metrics)
    known = Poller(PROFILES["sonic"], tiny).take(still(tiny, qps=1))
    assert {it.spec.name for it in metrics.columns(known)} <= set(PROFILES["sonic"].metrics)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda it: it.name)
def test_every_polled_field_exists(profile: Profile, tiny: Fabric, still: Still) -> None:
    def check(group: Group) -> None:
        for source in group.fields:
            table, name = source.split(".")
            assert name in getattr(still(tiny), table).dtype.names

    for group in profile.groups:
        check(group)


@pytest.mark.parametrize("dilation", [0, -1, float("inf"), float("nan")])
def test_a_clock_that_stands_still_is_refused(tiny: Fabric, dilation: float) -> None:
    with pytest.raises(FabricError, match="is not the speed of a clock"):
        Poller(PROFILES["sonic"], tiny, dilation)


def test_a_run_without_samples_cannot_be_watched(tiny: Fabric) -> None:
    with pytest.raises(ValueError, match="without a sample"):
        compare([], Poller(PROFILES["sonic"], tiny))


def test_the_command_line_offers_every_profile() -> None:
    from fabric.cli.report import EXPORTERS

    assert tuple(PROFILES) == EXPORTERS
