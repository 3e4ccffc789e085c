"""A real Prometheus takes every layer, keeps the device as instance, and answers a dashboard's query."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from fabric.dataplane.engine.counters import Snapshot
from fabric.topology.model import Fabric
from telemetry.catalogue.derive import RunInfo
from telemetry.export.collect import FabricCollector
from telemetry.export.compat.registry import LAYERS
from telemetry.export.server import serve
from tests.telemetry.programs import get, prometheus, query, wait_for

CONFIG = """\
global: {{scrape_interval: 2s}}
scrape_configs:
{jobs}"""
JOB = "  - {{job_name: '{name}', honor_labels: true, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}\n"

QUERIES = {
    "node_exporter": ('node_ethtool_received_prio3_pause_duration{instance="h0",device="eth0"}', 7.0),
    "sonic-exporter": ('sonic_interface_receive_bytes_total{instance="leaf0",device="Ethernet0"}', 1234.0),
    "rdma_exporter": ('rdma_roce_pfc_pause_duration_total{instance="h0",priority="3",direction="rx"}', 7.0),
    "amd": ('amd_nic_port_stats_octets_rx_all{instance="h1",port_name="eth0"}', 77.0),
    "omnistat": ('omnistat_network_rx_bytes{instance="h1",interface="ionic_0"}', 77.0),
    "gnmic": ('interfaces_interface_state_counters_in_octets{source="leaf0:57400",interface_name="Ethernet0"}', 1234.0),
}


@pytest.mark.timed
def test_prometheus_scrapes_every_layer(
    tiny: Fabric, still: Callable[..., Snapshot], info: RunInfo, tmp_path: Path
) -> None:
    now = still(tiny, time_ps=10**9)
    now.ports["rx_bytes"][1] = 77
    now.ports["rx_bytes"][2], now.ports["pfc_classes"] = 1234, 8
    now.prios["rx_paused_ps"][0, 3] = 7_000_000
    servers = []
    try:
        for layer in LAYERS.values():
            registry = CollectorRegistry()
            registry.register(FabricCollector(lambda: now, info, layer=layer))
            servers.append(serve("127.0.0.1:0", registry))
        jobs = "".join(
            JOB.format(name=name, port=server.address[1]) for name, server in zip(LAYERS, servers, strict=True)
        )
        with prometheus(tmp_path / "prometheus", CONFIG.format(jobs=jobs)) as url:
            for name, (expr, expected) in QUERIES.items():
                found = wait_for(lambda expr=expr: query(url, expr), f"an answer of {name}")
                assert [float(it["value"][1]) for it in found] == pytest.approx([expected])
                assert found[0]["metric"]["job"] == name

            def health() -> set[tuple[str, str]]:
                return {(it["health"], it["lastError"]) for it in get(f"{url}/api/v1/targets")["data"]["activeTargets"]}

            wait_for(lambda: health() == {("up", "")}, "scrapes without an error")
    finally:
        for server in servers:
            server.close()
