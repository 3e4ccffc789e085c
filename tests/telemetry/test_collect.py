"""A Snapshot becomes series: the right ones, with the right values, and they never step back."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import DropReason
from fabric.topology.model import Fabric
from fabric.units import PS_PER_S
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import RunInfo
from telemetry.catalogue.metrics import BY_NAME
from telemetry.export.collect import FabricCollector, ScrapeError, SnapshotRelay
from tests.telemetry.programs import PATIENCE_S, wait_for

Still = Callable[..., Snapshot]


def values(families: list[Metric], name: str) -> dict[tuple[str, ...], float]:
    """Label values (sorted by label name) -> value, of every sample called `name`."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name
    }


def scrape(snapshot: Snapshot, info: RunInfo) -> list[Metric]:
    return list(SnapshotMetrics(info).families(snapshot))


def test_a_port_counter_becomes_one_series_a_port(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny)
    snapshot.ports["rx_bytes"] = [1, 2, 3, 4]
    assert values(scrape(snapshot, info), "fabric_port_receive_bytes_total") == {
        ("h0", "eth0"): 1,
        ("h1", "eth0"): 2,
        ("leaf0", "Ethernet0"): 3,
        ("leaf0", "Ethernet4"): 4,
    }


def test_a_frame_that_is_lost_silently_is_in_no_counter_but_the_truth(
    tiny: Fabric, still: Still, info: RunInfo
) -> None:
    snapshot = still(tiny)
    port, silent, fcs = 2, int(DropReason.INJECTED), int(DropReason.FCS)
    snapshot.ports["rx_pkts"][port], snapshot.ports["rx_bytes"][port] = 10, 1000
    snapshot.pgs["rx_pkts"][port, 3], snapshot.pgs["rx_bytes"][port, 3] = 10, 1000
    snapshot.ports["dropped_pkts"][port], snapshot.ports["dropped_bytes"][port] = 5, 500
    snapshot.drops["pkts"][port, 3, silent], snapshot.drops["bytes"][port, 3, silent] = 3, 300
    snapshot.drops["pkts"][port, 3, fcs], snapshot.drops["bytes"][port, 3, fcs] = 2, 200
    families = scrape(snapshot, info)
    here = ("leaf0", "Ethernet0")
    assert values(families, "fabric_port_receive_packets_total")[here] == 7
    assert values(families, "fabric_port_receive_bytes_total")[here] == 700
    assert values(families, "fabric_priority_receive_packets_total")[*here, "3"] == 7
    assert values(families, "fabric_priority_receive_bytes_total")[*here, "3"] == 700
    assert values(families, "fabric_port_dropped_packets_total")[here] == 2
    assert values(families, "fabric_port_dropped_bytes_total")[here] == 200
    lost = values(families, "fabric_dropped_packets_total")
    assert {labels[2]: count for labels, count in lost.items()} == {"injected": 3, "fcs": 2}


def test_times_are_seconds_and_rates_are_bytes(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny, time_ps=5_000_000)
    families = scrape(snapshot, info)
    assert values(families, "fabric_sim_time_seconds") == {(): 5e-6}
    assert set(values(families, "fabric_port_speed_bytes_per_second").values()) == {12.5e9}


def test_priorities_without_pfc_have_no_series(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny)
    assert not values(scrape(snapshot, info), "fabric_pfc_paused")
    snapshot.ports["pfc_classes"][2] = 1 << 3
    shown = values(scrape(snapshot, info), "fabric_pfc_paused")
    assert {labels[2] for labels in shown} == {"3"}
    assert len(shown) == 4


def test_a_pfc_frame_of_a_priority_without_pfc_is_shown_all_the_same(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny)
    snapshot.prios["rx_xoff_pkts"][0, 5] = 9
    shown = values(scrape(snapshot, info), "fabric_pfc_receive_frames_total")
    assert shown["h0", "xoff", "eth0", "5"] == 9
    assert shown["h0", "xon", "eth0", "5"] == 0


def test_a_series_once_shown_stays(tiny: Fabric, still: Still, info: RunInfo) -> None:
    metrics = SnapshotMetrics(info)
    with_pfc, without = still(tiny), still(tiny)
    with_pfc.ports["pfc_classes"] = 1 << 3
    list(metrics.families(with_pfc))
    without.ports["pfc_classes"] = 1 << 4
    shown = values(list(metrics.families(without)), "fabric_pfc_paused")
    assert {labels[2] for labels in shown} == {"3", "4"}


def test_pauses_are_seconds_per_priority(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny)
    snapshot.ports["pfc_classes"] = 1 << 3
    snapshot.ports["paused"][2] = 1 << 3
    snapshot.prios["xoff_sent"][0, 3] = 1
    snapshot.prios["rx_paused_ps"][2, 3] = snapshot.prios["tx_paused_ps"][0, 3] = 7 * PS_PER_S
    snapshot.prios["longest_ps"][2, 3] = 6 * PS_PER_S
    snapshot.prios["recent_ps"][2, 3], snapshot.prios["begun_ps"][2, 3] = 2 * PS_PER_S, 9 * PS_PER_S
    families = scrape(snapshot, info)
    assert values(families, "fabric_pfc_receive_paused_seconds_total")["leaf0", "Ethernet0", "3"] == 7
    assert values(families, "fabric_pfc_longest_pause_seconds")["leaf0", "Ethernet0", "3"] == 6
    assert values(families, "fabric_pfc_recent_pause_seconds")["leaf0", "Ethernet0", "3"] == 2
    assert values(families, "fabric_pfc_recent_pause_start_seconds")["leaf0", "Ethernet0", "3"] == 9
    assert values(families, "fabric_pfc_transmit_paused_seconds_total")["h0", "eth0", "3"] == 7
    for name, place in [("fabric_pfc_paused", "leaf0"), ("fabric_pfc_pausing", "h0")]:
        assert [labels[0] for labels, value in values(families, name).items() if value] == [place]


def test_an_outage_that_still_lasts_is_counted(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny, time_ps=9 * PS_PER_S)
    snapshot.ports["up"][0] = 0
    snapshot.ports["down_since_ps"][0] = 2 * PS_PER_S
    assert values(scrape(snapshot, info), "fabric_port_down_seconds_total")["h0", "eth0"] == 7


def test_drops_carry_their_reason_and_only_those_that_happened(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny)
    snapshot.drops["pkts"][2, 3, DropReason.HEADROOM] = 5
    snapshot.drops["bytes"][2, 3, DropReason.HEADROOM] = 5000
    families = scrape(snapshot, info)
    assert values(families, "fabric_dropped_packets_total") == {("leaf0", "Ethernet0", "headroom", "3"): 5}
    assert values(families, "fabric_dropped_bytes_total") == {("leaf0", "Ethernet0", "headroom", "3"): 5000}


def test_queues_are_shown_for_the_classes_of_queue_pairs_before_anything_was_sent(
    tiny: Fabric, still: Still, info: RunInfo
) -> None:
    snapshot = still(tiny, qps=2)
    snapshot.qps["tc"] = [3, 6]
    families = scrape(snapshot, info)
    assert {labels[2] for labels in values(families, "fabric_queue_bytes")} == {"3", "6"}
    assert {labels[0] for labels in values(families, "fabric_ecn_marked_packets_total")} == {"leaf0"}


@pytest.mark.parametrize(
    ("limit", "shift", "expected"), [(5000, 3, 5000), (-1, 1, 1_600_000), (-1, -3, 100_000), (-1, 0, 800_000)]
)
def test_shared_threshold_follows_the_free_bytes_of_the_pool(
    tiny: Fabric, still: Still, info: RunInfo, limit: int, shift: int, expected: int
) -> None:
    snapshot = still(tiny)
    snapshot.pools["used_bytes"] = 200_000
    snapshot.pgs["lossless"][2, 3] = 1
    snapshot.pgs["limit_bytes"], snapshot.pgs["shift"] = limit, shift
    assert values(scrape(snapshot, info), "fabric_pg_shared_threshold_bytes")["leaf0", "Ethernet0", "3"] == expected


def test_watchdog_state_is_one_of_its_states(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny)
    snapshot.queues["wd_watched"][2:, 3] = 1
    snapshot.queues["wd_state"][3, 3] = 1
    assert values(scrape(snapshot, info), "fabric_pfcwd_state") == {
        ("leaf0", "Ethernet0", "3", "operational"): 1,
        ("leaf0", "Ethernet0", "3", "stormed"): 0,
        ("leaf0", "Ethernet4", "3", "operational"): 0,
        ("leaf0", "Ethernet4", "3", "stormed"): 1,
    }


def test_pools_are_called_by_their_names_where_the_run_knows_them(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny, pools=2)
    assert set(values(scrape(snapshot, info), "fabric_buffer_pool_size_bytes")) == {("leaf0", "0"), ("leaf0", "1")}
    named = RunInfo("1", "r", "s", "m", 0, pool_names=("ingress_lossless", "egress_lossless"))
    assert set(values(scrape(snapshot, named), "fabric_buffer_pool_size_bytes")) == {
        ("leaf0", "ingress_lossless"),
        ("leaf0", "egress_lossless"),
    }


def test_only_groups_with_a_choice_are_ecmp(tiny: Fabric, still: Still, info: RunInfo) -> None:
    still_ = still(tiny)
    tables = {name: getattr(still_, name) for name in still_.__dataclass_fields__}
    groups, members = np.zeros(2, still_.groups.dtype), np.zeros(3, still_.members.dtype)
    groups["first"], groups["count"] = [0, 1], [1, 2]
    members["port"], members["bytes"] = [2, 2, 3], [7, 8, 9]
    snapshot = Snapshot(**{**tables, "groups": groups, "members": members})
    assert values(scrape(snapshot, info), "fabric_ecmp_member_bytes_total") == {
        ("leaf0", "1", "Ethernet0"): 8,
        ("leaf0", "1", "Ethernet4"): 9,
    }


def test_completions_are_observed_once_and_by_size(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny, messages=5)
    snapshot.messages["size_bytes"] = [10_000, 10_001, 500, 10**9, 10**9]
    snapshot.messages["start_ps"] = 1_000_000
    snapshot.messages["end_ps"] = [2_000_000, 4_000_000, 6_000_000, -1, 8_000_000]
    snapshot.messages["failed"] = [0, 0, 0, 0, 1]
    families = scrape(snapshot, info)
    assert values(families, "fabric_flow_completion_seconds_count") == {
        ("0-10KB",): 2,
        ("10KB-100KB",): 1,
        ("10MB+",): 0,
    }
    buckets = values(families, "fabric_flow_completion_seconds_bucket")
    assert buckets["1e-06", "0-10KB"] == 1  # exactly on the bound
    assert buckets["5e-06", "0-10KB"] == 2
    assert buckets["2e-06", "10KB-100KB"] == 0
    assert values(families, "fabric_flow_completion_seconds_sum")["0-10KB",] == pytest.approx(6e-6)


def test_slowdown_has_no_series_without_ideal_times(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny, messages=2)
    snapshot.messages["size_bytes"] = 100
    snapshot.messages["start_ps"], snapshot.messages["end_ps"] = 0, [3000, -1]
    assert not values(scrape(snapshot, info), "fabric_flow_slowdown_ratio_count")
    knows = RunInfo("1", "r", "s", "m", 0, ideal_ps=np.array([2000, 2000]))
    families = scrape(snapshot, knows)
    assert values(families, "fabric_flow_slowdown_ratio_sum") == {("0-10KB",): 1.5}
    assert values(families, "fabric_flow_slowdown_ratio_bucket")["1.25", "0-10KB"] == 0


def test_rates_are_those_of_queue_pairs_at_work(tiny: Fabric, still: Still, info: RunInfo) -> None:
    snapshot = still(tiny, qps=3)
    snapshot.qps["posted_psn"] = [10, 10, 10]
    snapshot.qps["acked_psn"] = [10, 5, 0]
    snapshot.qps["rate_bps"] = [1, 40 * 10**9, 100 * 10**9]
    families = scrape(snapshot, info)
    assert values(families, "fabric_rnic_rate_bytes_per_second_gcount") == {(): 2}
    assert values(families, "fabric_rnic_rate_bytes_per_second_gsum") == {(): 17.5e9}
    assert values(families, "fabric_rnic_rate_bytes_per_second_bucket")["6.25e+09",] == 1


def test_live_metrics_measure_simulated_against_wall_time(tiny: Fabric, still: Still, info: RunInfo) -> None:
    clock = iter([110.0, 110.5, 120.0, 120.25])
    snapshots = iter([still(tiny, time_ps=2 * PS_PER_S), still(tiny, time_ps=3 * PS_PER_S)])
    collector = FabricCollector(lambda: next(snapshots), info, lambda: next(clock))
    first, second = collector.collect(), collector.collect()
    assert not values(first, "fabric_sim_realtime_ratio")
    assert values(first, "fabric_scrape_duration_seconds") == {(): 0.5}
    assert values(second, "fabric_sim_realtime_ratio") == {(): 0.1}


def test_registering_a_collector_takes_no_snapshot(info: RunInfo) -> None:
    def never() -> Snapshot:
        raise AssertionError("a snapshot was taken")

    registry = CollectorRegistry()
    registry.register(FabricCollector(never, info))
    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(FabricCollector(never, info))


def test_every_exported_name_is_in_the_catalogue(tiny: Fabric, still: Still, info: RunInfo) -> None:
    collector = FabricCollector(lambda: still(tiny, qps=1, messages=1), info)
    declared = {spec.family for spec in BY_NAME.values()}
    assert {family.name for family in collector.collect()} <= declared


def test_a_waiting_scrape_gets_a_snapshot_taken_after_it_asked(tiny: Fabric, still: Still) -> None:
    relay, answers = SnapshotRelay(PATIENCE_S), []
    old, new = still(tiny, time_ps=1), still(tiny, time_ps=2)
    assert not relay.offer(lambda: old)
    scraper = threading.Thread(target=lambda: answers.append(relay()))
    scraper.start()
    wait_for(lambda: relay.offer(lambda: new), "a scrape that waits")
    scraper.join(PATIENCE_S)
    assert answers == [new]


def test_a_closed_relay_answers_with_the_last_snapshot(tiny: Fabric, still: Still) -> None:
    relay, last = SnapshotRelay(timeout_s=30), still(tiny, time_ps=9)
    relay.close(last)
    assert relay() is last
    assert relay() is last


def test_a_scrape_that_nobody_answers_says_so() -> None:
    with pytest.raises(ScrapeError, match=r"no snapshot within 0\.01 s"):
        SnapshotRelay(timeout_s=0.01)()


def test_a_timed_out_scrape_leaves_no_waiter_behind(tiny: Fabric, still: Still) -> None:
    relay = SnapshotRelay(timeout_s=0.01)
    with pytest.raises(ScrapeError):
        relay()
    assert not relay.offer(lambda: still(tiny))


def test_text_of_a_live_scrape_parses(tiny: Fabric, still: Still, info: RunInfo) -> None:
    from prometheus_client import generate_latest

    registry = CollectorRegistry()
    registry.register(FabricCollector(lambda: still(tiny, qps=1, messages=1), info))
    generate_latest(registry)
    families = {family.name for family in text_string_to_metric_families(generate_latest(registry).decode())}
    assert {"fabric_port_up", "fabric_sim_realtime_ratio", "fabric_scrape_duration_seconds"} <= families


def test_a_queue_pair_is_at_work_until_all_is_acknowledged(tiny: Fabric, still: Still, info: RunInfo) -> None:
    now = still(tiny, qps=3)
    now.qps["src"], now.qps["posted_psn"], now.qps["acked_psn"] = [1, 1, 0], [5, 5, 5], [0, 4, 5]
    found = {it.name: it.values.tolist() for it in SnapshotMetrics(info).columns(now)}
    assert found["fabric_rnic_active_queue_pairs"] == [0, 2]
