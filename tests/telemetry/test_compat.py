"""Every alias has the value of its native series, under the other exporter's name."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from fabric.dataplane.engine.counters import Snapshot
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import LinkSpec, NodeSpec, Role
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import RunInfo
from telemetry.catalogue.metrics import BY_NAME
from telemetry.export.collect import FabricCollector
from telemetry.export.compat.model import Layer
from telemetry.export.compat.registry import LAYERS
from tests.telemetry.conftest import make_still

INFO: Final = RunInfo(version="1", run="r", scenario="s", model="asic", seed=1)
CLASSES: Final = 8


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    """Some leaves with hosts, and counters anywhere."""
    leaves, hosts = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    nodes = [NodeSpec(f"h{n}", Role.HOST, 0) for n in range(hosts)]
    nodes += [NodeSpec(f"leaf{n}", Role.LEAF, 1) for n in range(leaves)]
    cables = [
        LinkSpec(f"h{n}", f"leaf{n % leaves}", draw(st.sampled_from([10, 100])) * 10**9, 1000) for n in range(hosts)
    ]
    cables += [LinkSpec(f"leaf{n}", f"leaf{n + 1}", 10**11, 1000) for n in range(leaves - 1)]
    now = make_still(assemble("world", nodes, cables), time_ps=draw(st.integers(0, 10**12)))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    for table in (now.ports, now.queues, now.prios, now.pgs, now.hosts):
        for name in table.dtype.names or ():
            if name.endswith(("_pkts", "_bytes", "_ps", "_errors")) or name in COUNTS:
                table[name] = random.integers(0, 10**6, table.shape)
    now.ports["pfc_classes"] = draw(st.integers(1, 255))
    now.ports["up"] = random.integers(0, 2, len(now.ports))
    return now


COUNTS: Final = (
    "cnp_sent",
    "cnp_handled",
    "cnp_ignored",
    "ecn_received",
    "out_of_sequence",
    "naks_received",
    "timeouts",
    "rx_discards",
)

CLASS: Final = ("queue", "queue_name", "priority")

FIELDS: Final = {
    "node_infiniband_np_cnp_packets_sent_total": lambda now, port, *_: now.hosts["cnp_sent"][port.node],
    "node_infiniband_rp_cnp_packets_handled_total": lambda now, port, *_: now.hosts["cnp_handled"][port.node],
    "node_infiniband_port_data_received_bytes_total": lambda now, port, *_: now.ports["rx_bytes"][port.id],
    "node_ethtool_received_prio{}_pause": lambda now, port, c, *_: (
        now.prios["rx_xoff_pkts"][port.id, c] + now.prios["rx_xon_pkts"][port.id, c]
    ),
    "node_ethtool_received_prio{}_pause_duration": lambda now, port, c, *_: now.prios["rx_paused_ps"][port.id, c] / 1e6,
    "node_ethtool_transmitted_prio{}_bytes": lambda now, port, c, *_: now.queues["sent_bytes"][port.id, c],
    "rdma_roce_pfc_pause_frames_total": lambda now, port, c, labels: (
        now.prios[f"{labels['direction']}_xoff_pkts"][port.id, c]
        + now.prios[f"{labels['direction']}_xon_pkts"][port.id, c]
    ),
    "rdma_cc_rx_cnp_pkts_total": lambda now, port, *_: (
        now.hosts["cnp_handled"][port.node] + now.hosts["cnp_ignored"][port.node]
    ),
    "rdma_port_rcv_data_total": lambda now, port, *_: now.ports["rx_bytes"][port.id] / 4,
    "amd_nic_port_stats_frames_rx_pripause": lambda now, port, *_: now.ports["rx_pause_pkts"][port.id],
    "omnistat_network_rx_ecn_marked_packets": lambda now, port, *_: now.hosts["ecn_received"][port.node],
    "sonic_interface_receive_bytes_total": lambda now, port, *_: now.ports["rx_bytes"][port.id],
    "sonic_queue_dropped_packets_total": lambda now, port, c, *_: now.queues["dropped_pkts"][port.id, c],
    "interfaces_interface_state_counters_out_octets": lambda now, port, *_: now.ports["tx_bytes"][port.id],
    "qos_interfaces_interface_output_queues_queue_state_ecn_marked_pkts": lambda now, port, c, *_: now.queues[
        "marked_pkts"
    ][port.id, c],
}
"""Straight from the tables, without the catalogue: name -> value of (snapshot, port, class)."""


def native(now: Snapshot) -> list[Metric]:
    return list(SnapshotMetrics(INFO).families(now))


@given(now=worlds(), layer=st.sampled_from(list(LAYERS.values())))
@settings(max_examples=60, deadline=None)
def test_both_layers_agree(now: Snapshot, layer: Layer) -> None:
    ours = native(now)
    theirs = {sample.name: 0.0 for family in layer.families(ours) for sample in family.samples}
    totals: dict[str, float] = defaultdict(float)
    hosts = {node.name for node in now.fabric.hosts}
    for alias in layer.aliases:
        for family in ours:
            for sample in family.samples:
                used = sample.name == alias.source and (sample.labels["device"] in hosts) == alias.on_hosts
                if used and all(sample.labels[key] == value for key, value in alias.only.items()):
                    value = 1.0 if alias.when is not None else alias.constant
                    if alias.when in {None, sample.value}:
                        name = alias.name.format_map({**sample.labels, "index": ""})
                        totals[name] += sample.value * alias.factor if value is None else value
    for family in layer.families(ours):
        for sample in family.samples:
            theirs[sample.name] += sample.value
    kept = {name: value for name, value in theirs.items() if not name.startswith("fabric_")}
    assert kept == pytest.approx(dict(totals))


@given(now=worlds())
@settings(max_examples=40, deadline=None)
def test_aliases_show_the_counters_of_their_own_port(now: Snapshot) -> None:
    checked = 0
    for layer in LAYERS.values():
        for sample in (it for family in layer.families(native(now)) for it in family.samples):
            found = re.fullmatch(r"(.*_prio)(\d)(_.*)", sample.name)
            name = f"{found[1]}{{}}{found[3]}" if found else sample.name
            if name not in FIELDS:
                continue
            labels = sample.labels
            device = labels.get("instance") or labels["source"].split(":")[0]
            places = [
                labels.get(key)
                for key in ("interface_name", "interface_interface_id", "interface", "port_name", "device")
            ]
            place = re.sub("mlx5_|ionic_", "eth", next(it for it in places if it))
            port = next(it for it in now.fabric.ports if it.name == place and now.fabric.nodes[it.node].name == device)
            class_ = int(found[2] if found else next((labels[it] for it in CLASS if it in labels), 0))
            assert sample.value == pytest.approx(float(FIELDS[name](now, port, class_, labels))), sample
            checked += 1
    assert checked


@pytest.mark.parametrize("layer", LAYERS.values(), ids=lambda it: it.name)
def test_every_alias_has_a_source_in_the_catalogue(layer: Layer) -> None:
    for alias in layer.aliases:
        spec = BY_NAME[alias.source]
        used = set(re.findall(r"\{(\w+)\}", alias.name + "".join(alias.labels.values()))) - {"index"}
        assert used <= set(spec.labels), alias.name


@pytest.mark.parametrize("layer", LAYERS.values(), ids=lambda it: it.name)
def test_the_answer_is_valid_text_without_duplicates(layer: Layer) -> None:
    class Once(Collector):
        def collect(self) -> list[Metric]:
            return list(layer.families(native(world())))

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Once())
    text = generate_latest(registry).decode()
    generate_openmetrics(registry)
    series = [
        (sample.name, *sorted(sample.labels.items()))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
    assert len(series) == len(set(series))
    assert len(series) > 10


@pytest.mark.parametrize("layer", LAYERS.values(), ids=lambda it: it.name)
def test_a_scrape_may_ask_for_some_of_its_names(layer: Layer) -> None:
    registry = CollectorRegistry()
    registry.register(FabricCollector(world, INFO, layer=layer))
    for family in layer.families(native(world())):
        name = family.samples[0].name
        answer = {sample.name for it in registry.restricted_registry([name]).collect() for sample in it.samples}
        assert answer == {name}


def test_the_command_line_offers_every_layer() -> None:
    from fabric.cli.run import COMPAT

    assert tuple(LAYERS) == COMPAT


@pytest.mark.parametrize("layer", LAYERS.values(), ids=lambda it: it.name)
def test_what_is_said_to_be_absent_is_not_served(layer: Layer) -> None:
    """Names with a wildcard are of a kind; the others are names."""
    served = {name for alias in layer.aliases for name in alias.names()}
    said = {name for it in layer.absent for name in re.findall(r"[a-z]+_[a-z0-9_]+(?=$|,)", it.names)}
    assert not said & served


def test_a_port_that_is_down_has_another_state() -> None:
    now = world()
    now.ports["up"] = 0
    (found,) = (it for it in LAYERS["rdma_exporter"].families(native(now)) if it.name == "rdma_port_info")
    assert [(it.labels["state"], it.value) for it in found.samples] == [("DOWN", 1.0)]


def world() -> Snapshot:
    nodes = [NodeSpec("h0", Role.HOST, 0), NodeSpec("leaf0", Role.LEAF, 1)]
    now = make_still(assemble("w", nodes, [LinkSpec("h0", "leaf0", 10**11, 1000)]))
    now.ports["pfc_classes"], now.queues["sent_bytes"], now.queues["enqueued_pkts"] = 8, 7, 1
    return now


def test_oddities_that_dashboards_depend_on_are_kept() -> None:
    text = {name: generate_latest(_registry(layer)).decode() for name, layer in LAYERS.items()}
    assert "# TYPE node_ethtool_received_prio3_pause_duration untyped" in text["node_exporter"]
    assert 'node_ethtool_received_prio3_pause{device="eth0",instance="h0"}' in text["node_exporter"]
    assert "# TYPE node_infiniband_np_cnp_packets_sent_total counter" in text["node_exporter"]
    assert (
        'sonic_queue_watermark_bytes_total{device="Ethernet0",instance="leaf0",queue="3",type="persistent",'
        'watermark="shared"}'
    ) in text["sonic-exporter"]
    assert (
        'interfaces_interface_state_counters_in_octets{interface_name="Ethernet0",source="leaf0:57400",'
        'subscription_name="interfaces"}'
    ) in text["gnmic"]
    assert all("fabric_sim_time_seconds" in it for it in text.values())


def _registry(layer: Layer) -> CollectorRegistry:
    class Once(Collector):
        def collect(self) -> list[Metric]:
            return list(layer.families(native(world())))

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Once())
    return registry
