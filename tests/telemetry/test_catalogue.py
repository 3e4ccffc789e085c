"""The catalogue obeys Prometheus' naming rules, resolves against the engine's tables, and leaves no observable out."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Final

import pytest

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state import types
from fabric.dataplane.state.codes import N_DROP_REASONS
from fabric.topology.model import Fabric
from telemetry.catalogue.collectives import COLLECTIVE_OBSERVED, COLLECTIVE_VALUES
from telemetry.catalogue.columns import column
from telemetry.catalogue.derive import DERIVED, FACTS, OBSERVED, PASSING, RunInfo
from telemetry.catalogue.jobs import JOB_OBSERVED, JOB_VALUES
from telemetry.catalogue.metrics import BY_NAME, CATALOGUE, SECTIONS, WALL_CLOCK, markdown
from telemetry.catalogue.spec import LABELS, Kind, MetricSpec, Rows
from telemetry.export.exposition import render
from telemetry.record.polling.profiles import DERIVED_FROM

TABLES: Final = {
    "ports": types.PORT,
    "queues": types.QUEUE,
    "pgs": types.PG,
    "prios": types.PRIO,
    "pools": types.POOL,
    "hosts": types.HOST,
    "segments": types.SEGMENT,
    "drops": types.DROP,
    "members": types.MEMBER,
}
BASE_UNITS: Final = {"", "seconds", "bytes", "packets", "frames", "ratio", "bytes_per_second"}

# What a run must show, and the metric that shows it.
OBSERVABLES: Final = {
    "bytes sent by a port": "fabric_port_transmit_bytes_total",
    "bytes received by a port": "fabric_port_receive_bytes_total",
    "packets sent by a port": "fabric_port_transmit_packets_total",
    "packets received by a port": "fabric_port_receive_packets_total",
    "drops by reason": "fabric_dropped_packets_total",
    "FCS errors": "fabric_port_fcs_errors_total",
    "link state": "fabric_port_up",
    "utilisation": "fabric_port_transmit_busy_seconds_total",
    "PFC frames received, by priority and kind": "fabric_pfc_receive_frames_total",
    "PFC frames sent, by priority and kind": "fabric_pfc_transmit_frames_total",
    "paused time": "fabric_pfc_receive_paused_seconds_total",
    "time for which the peer was paused": "fabric_pfc_transmit_paused_seconds_total",
    "longest pause": "fabric_pfc_longest_pause_seconds",
    "queue depth now": "fabric_queue_bytes",
    "queue watermark since the last sample": "fabric_queue_watermark_bytes",
    "ECN marks": "fabric_ecn_marked_packets_total",
    "queue drops": "fabric_queue_dropped_bytes_total",
    "shared use of a priority group": "fabric_pg_bytes",
    "headroom use of a priority group": "fabric_pg_headroom_used_bytes",
    "watermark of a priority group": "fabric_pg_watermark_bytes",
    "XOFF state": "fabric_pfc_pausing",
    "pool use": "fabric_buffer_pool_used_bytes",
    "pool watermark": "fabric_buffer_pool_watermark_bytes",
    "rate of queue pairs": "fabric_rnic_rate_bytes_per_second",
    "alpha of queue pairs": "fabric_rnic_dcqcn_alpha_ratio",
    "CNPs sent": "fabric_rnic_cnp_sent_packets_total",
    "CNPs handled": "fabric_rnic_cnp_handled_packets_total",
    "retransmits": "fabric_rnic_retransmitted_packets_total",
    "out of sequence": "fabric_rnic_out_of_sequence_packets_total",
    "timeouts": "fabric_rnic_timeouts_total",
    "goodput": "fabric_rnic_goodput_bytes_total",
    "flow completion time": "fabric_flow_completion_seconds",
    "slowdown": "fabric_flow_slowdown_ratio",
    "bytes per ECMP member": "fabric_ecmp_member_bytes_total",
}


def by_name(spec: MetricSpec) -> str:
    return spec.name


@pytest.mark.parametrize("spec", CATALOGUE, ids=by_name)
def test_a_name_says_its_kind_and_unit(spec: MetricSpec) -> None:
    assert re.fullmatch(r"fabric_[a-z0-9]+(_[a-z0-9]+)*", spec.name)
    assert spec.name.endswith("_total") == (spec.kind is Kind.COUNTER)
    assert spec.name.endswith("_info") == (spec.kind is Kind.INFO)
    assert spec.unit in BASE_UNITS
    assert not spec.unit or spec.family.endswith(f"_{spec.unit}")
    # These endings belong to the parts of histograms and to OpenMetrics itself.
    assert not spec.family.endswith(("_bucket", "_count", "_sum", "_created", "_total", "_gcount", "_gsum"))


@pytest.mark.parametrize("spec", CATALOGUE, ids=by_name)
def test_no_label_stands_in_a_name_and_none_is_reserved(spec: MetricSpec) -> None:
    assert not set(spec.labels) & {"le", "quantile", "job", "instance", "__name__"}
    assert len(set(spec.labels)) == len(spec.labels)
    assert "_by_" not in spec.name


@pytest.mark.parametrize("spec", CATALOGUE, ids=by_name)
def test_help_is_one_sentence_or_more_on_one_line(spec: MetricSpec) -> None:
    assert re.fullmatch(r"[A-Z0-9][^\n|]+\.", spec.help)


@pytest.mark.parametrize("name", [name for name in BY_NAME if "cnp" in name or "ecn_marked_rec" in name])
def test_congestion_notifications_say_which_direction_is_congested(name: str) -> None:
    outbound = "handled" in name or "ignored" in name
    assert BY_NAME[name].help.endswith("(outbound)." if outbound else "(inbound).")


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(CATALOGUE)
    assert len({spec.family for spec in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize("spec", CATALOGUE, ids=by_name)
def test_every_source_resolves(spec: MetricSpec) -> None:
    known = (
        {**OBSERVED, **COLLECTIVE_OBSERVED, **JOB_OBSERVED}
        if spec.is_histogram
        else {**FACTS, **PASSING}
        if spec.kind is Kind.INFO
        else {**DERIVED, **COLLECTIVE_VALUES, **JOB_VALUES}
    )
    for source in spec.sources():
        if source.endswith("()"):
            assert source in known or source in WALL_CLOCK
        else:
            table, field = source.split(".")
            assert field in (TABLES[table].names or ())


def test_no_derivation_is_without_a_metric() -> None:
    used = {source for spec in CATALOGUE for source in spec.sources()}
    assert {*DERIVED, *FACTS, *OBSERVED, *PASSING, *WALL_CLOCK} <= used
    assert {*COLLECTIVE_VALUES, *COLLECTIVE_OBSERVED, *JOB_VALUES, *JOB_OBSERVED} <= used


@pytest.mark.parametrize(
    "spec",
    [
        spec
        for spec in CATALOGUE
        if spec.kind in (Kind.COUNTER, Kind.GAUGE)
        and spec.source not in {*WALL_CLOCK, *COLLECTIVE_VALUES, *JOB_VALUES}  # test_job_metrics.py
    ],
    ids=by_name,
)
def test_a_source_has_the_shape_of_its_rows(spec: MetricSpec, tiny: Fabric, still: Callable[..., Snapshot]) -> None:
    snapshot = still(tiny, qps=1)
    shape = {
        Rows.FABRIC: (1,),
        Rows.PORT: (4,),
        Rows.DROP: (4, 8, N_DROP_REASONS),
        Rows.POOL: (1,),
        Rows.HEADROOM_POOL: (1,),
        Rows.HOST: (2,),
        Rows.MEMBER: (0,),
        Rows.SEARCHED: (1,),
        **dict.fromkeys((Rows.BGP_PEER, Rows.BGP_FAMILY, Rows.EVPN_TYPE, Rows.MOVES), (0,)),
        Rows.VNI: (1, 0),
    }.get(spec.rows, (4, 8))
    for source in spec.sources():
        assert column(snapshot, source).shape == shape


@pytest.mark.parametrize("observable", OBSERVABLES)
def test_every_observable_has_a_metric(observable: str) -> None:
    assert OBSERVABLES[observable] in BY_NAME


def test_every_row_set_has_labels_and_a_metric() -> None:
    assert set(LABELS) == set(Rows) == {spec.rows for spec in CATALOGUE}


def test_every_counter_of_ports_priorities_and_hosts_is_exported() -> None:
    used = {DERIVED_FROM.get(source, source) for spec in CATALOGUE for source in spec.sources()}
    derived = {"ports.down_ps", "hosts.retransmitted_pkts"}  # the latter is the sum of its kinds
    counters = {
        "ports": (
            "tx_bytes",
            "tx_pkts",
            "rx_bytes",
            "rx_pkts",
            "tx_pause_pkts",
            "rx_pause_pkts",
            "fcs_errors",
            "dropped_pkts",
            "dropped_bytes",
            "busy_ps",
            "down_ps",
        ),
        "prios": (
            "rx_xoff_pkts",
            "rx_xon_pkts",
            "tx_xoff_pkts",
            "tx_xon_pkts",
            "on2off_pkts",
            "rx_paused_ps",
            "tx_paused_ps",
            "longest_ps",
            "pauses",
            "begun_ps",
            "recent_ps",
        ),
        "hosts": (types.HOST.names or ())[(types.HOST.names or ()).index("goodput_bytes") :],
    }
    missing = {f"{table}.{field}" for table, names in counters.items() for field in names} - used - derived
    assert not missing


def test_the_page_about_metrics_names_each() -> None:
    page = markdown()
    assert all(f"`{spec.name}`" in page for specs in SECTIONS.values() for spec in specs)


def test_promtool_finds_nothing_to_say(tiny: Fabric, still: Callable[..., Snapshot], info: RunInfo) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    snapshot = still(tiny, qps=2, messages=2)
    snapshot.ports["pfc_classes"] = 8
    snapshot.pgs["lossless"][2:, 3] = 1
    snapshot.pools["headroom_size_bytes"] = 1000
    snapshot.queues["wd_watched"][2:, 3] = 1
    snapshot.drops["pkts"][2, 3, 0] = 1
    done = subprocess.run(
        [promtool, "check", "metrics"],
        input=render(snapshot, info),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.stdout + done.stderr).strip() == ""
    assert done.returncode == 0
