"""The text of a snapshot: exact, parseable by the standard clients, and the same in both formats."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from fabric.dataplane.engine.counters import Snapshot
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.visible import visible
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import RunInfo
from telemetry.export.exposition import Writer, render

Still = Callable[..., Snapshot]
GOLDEN: Final = Path(__file__).with_name("golden.prom")


@pytest.fixture
def busy(tiny: Fabric, still: Still) -> Snapshot:
    """A snapshot with rows in every row set."""
    snapshot = still(tiny, time_ps=12_345_678, qps=2, messages=2)
    snapshot.ports["rx_bytes"] = [1000, 0, 3_000_000_000, 4]
    snapshot.ports["pfc_classes"] = 1 << 3
    snapshot.ports["paused"][2] = 1 << 3
    snapshot.prios["rx_paused_ps"][2, 3] = snapshot.prios["longest_ps"][2, 3] = 345_678
    snapshot.prios["rx_xoff_pkts"][2, 3] = 2
    snapshot.pgs["lossless"][2:, 3] = 1
    snapshot.pools["headroom_size_bytes"] = 50_000
    snapshot.queues["wd_watched"][2, 3] = 1
    snapshot.drops["pkts"][2, 3, 0] = 1
    snapshot.drops["bytes"][2, 3, 0] = 1086
    snapshot.qps["src"], snapshot.qps["tc"], snapshot.qps["cuts"] = [0, 1], 3, [4, 0]
    snapshot.qps["posted_psn"], snapshot.qps["rate_bps"], snapshot.qps["alpha"] = 7, [100 * 10**9, 10**9], [1.0, 0.25]
    snapshot.messages["size_bytes"] = [1000, 2_000_000]
    snapshot.messages["start_ps"], snapshot.messages["end_ps"] = 0, [5_000_000, -1]
    return snapshot


def samples(families: list[Metric]) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def test_the_text_of_a_tiny_snapshot_is_the_golden_one(busy: Snapshot, info: RunInfo) -> None:
    # prometheus_client below 0.26 writes three digits of an exponent, 1.25e+010.
    assert re.sub(r"e\+0(\d\d)", r"e+\1", render(busy, info)) == GOLDEN.read_text(encoding="utf-8")


def test_the_same_snapshot_gives_the_same_text(busy: Snapshot, info: RunInfo) -> None:
    assert render(busy, info) == render(busy, info)


def test_the_text_format_loses_no_sample(busy: Snapshot, info: RunInfo) -> None:
    assert samples(list(parse_text(render(busy, info)))) == samples(list(SnapshotMetrics(info).families(busy)))


def test_openmetrics_loses_no_sample_and_ends_properly(busy: Snapshot, info: RunInfo) -> None:
    text = render(busy, info, openmetrics=True)
    assert text.endswith("# EOF\n")
    assert "# UNIT fabric_port_receive_bytes bytes\n" in text
    assert samples(list(parse_openmetrics(text))) == samples(list(SnapshotMetrics(info).families(busy)))


@given(name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_device_name_survives_the_round_trip(still: Still, info: RunInfo, name: str) -> None:
    nodes = [NodeSpec(f"a{name}", Role.HOST, 0), NodeSpec(f"b{name}", Role.LEAF, 1)]
    snapshot = still(assemble("odd", nodes, [LinkSpec(f"a{name}", f"b{name}", 10**9, 1000)]))
    for parse, openmetrics in ((parse_text, False), (parse_openmetrics, True)):
        families = list(parse(render(snapshot, info, openmetrics=openmetrics)))
        up = next(family for family in families if family.name == "fabric_port_up")
        assert {sample.labels["device"] for sample in up.samples} == {visible(f"a{name}"), visible(f"b{name}")}


def theirs(families: list[Metric], *, openmetrics: bool) -> str:
    """The text by prometheus_client's own writers."""

    class Once(Collector):
        def collect(self) -> list[Metric]:
            return families

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Once())
    return (generate_openmetrics if openmetrics else generate_latest)(registry).decode()


@pytest.mark.parametrize("openmetrics", [False, True])
def test_our_writer_gives_the_bytes_of_prometheus_client(busy: Snapshot, info: RunInfo, *, openmetrics: bool) -> None:
    metrics, writer = SnapshotMetrics(info), Writer()
    for _ in range(2):  # the second time from known labels
        families = list(metrics.families(busy))
        assert writer.text(families, openmetrics=openmetrics) == theirs(families, openmetrics=openmetrics)


@given(
    values=st.lists(st.floats(), min_size=1, max_size=8),
    kind=st.sampled_from(["counter", "gauge", "unknown"]),
    text=st.text(st.characters(exclude_categories=["Cs"])).map(partial(visible, lines=True)),
    openmetrics=st.booleans(),
)
@settings(max_examples=300)
def test_any_number_and_text_is_written_as_prometheus_client_writes_it(
    values: list[float], kind: str, text: str, *, openmetrics: bool
) -> None:
    family = Metric("it", text, kind)
    name = "it_total" if kind == "counter" else "it"
    family.samples = [Sample(name, {"b": text, "a": str(n)}, value) for n, value in enumerate(values)]
    assert Writer().text([family], openmetrics=openmetrics) == theirs([family], openmetrics=openmetrics)


def test_labels_that_are_gone_are_forgotten(tiny: Fabric, still: Still, info: RunInfo) -> None:
    writer = Writer()
    writer.text(SnapshotMetrics(info).families(still(tiny, qps=1)), openmetrics=True)
    writer.text([], openmetrics=True)
    assert not writer._known
