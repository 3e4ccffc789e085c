"""The queries of rdma_exporter's Grafana board 24241, asked of a real Prometheus that holds a storm.

Source: dashboards/rdma_exporter_dashboard.grafana.com.json of yuuki/rdma_exporter, revision of 2026-08.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from fabric.cli.main import main
from telemetry.export.compat.registry import LAYERS
from tests.telemetry.programs import program, prometheus, query_range, run_tool

START: Final = "2026-01-31T12:00:00Z"
START_S: Final = 1769860800
SCALE: Final = 15_000
END_S: Final = START_S + 60
"""Four milliseconds at 15000 seconds a second."""
STORM: Final = """\
name: board
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3, buffer: {dynamic_th: -6}, watchdog: {poll: 500us, detection: 1ms, restoration: 1ms}}
transport: {retransmit_timeout: 2ms}
workload: [{kind: incast, receiver: host2, senders: [host1, host3, host4], size: 4MB}]
faults: [{name: broken-nic, kind: pause-storm, hosts: [host2], at: 200us, duration: 2ms}]
run: {duration: 4ms, stop: duration}
telemetry: {interval: 50us}
"""
"""The broken NIC's storm reaches every sender."""
CHOSEN: Final = '{job="fabric", instance=~".*", device=~".*", port=~".*"}'
INTERVAL: Final = "1m"

RATES: Final = [
    "port_rcv_packets",
    "port_xmit_packets",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "rp_cnp_handled",
    "rp_cnp_ignored",
    "cc_rx_ce_pkts",
    "cc_rx_cnp_pkts",
    "cc_tx_cnp_pkts",
    "port_rcv_errors",
    "port_xmit_discards",
    "roce_pfc_pause_duration",
    "roce_pfc_pause_frames",
    "roce_pfc_pause_transitions",
]
"""The last two are named by the exporter's design, beside the board."""
NOT_ZERO: Final = [
    "port_rcv_packets",
    "port_xmit_packets",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "rp_cnp_handled",
    "cc_rx_ce_pkts",
    "cc_rx_cnp_pkts",
    "cc_tx_cnp_pkts",
    "roce_pfc_pause_duration",
    "roce_pfc_pause_frames",
    "roce_pfc_pause_transitions",
]
OTHERS: Final = (
    f"rdma_port_info{CHOSEN}",
    f"topk(10, 4 * rate(rdma_port_rcv_data_total{CHOSEN}[{INTERVAL}]))",
    f"topk(10, 4 * rate(rdma_port_xmit_data_total{CHOSEN}[{INTERVAL}]))",
    f'rdma_optional_counter_enabled{CHOSEN[:-1]}, counter=~"^cc_.*"}}',
    (
        f"100 * rate(rdma_port_xmit_discards_total{CHOSEN}[{INTERVAL}]) / "
        f"clamp_min(rate(rdma_port_xmit_packets_total{CHOSEN}[{INTERVAL}]), 1e-6)"
    ),
)
EMPTY: Final = [
    "port_multicast_rcv_packets",
    "port_unicast_rcv_packets",
    "port_xmit_wait",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "port_rcv_remote_physical_errors",
    "symbol_error",
    "port_rcv_switch_relay_errors",
    "port_rcv_constraint_errors",
    "port_xmit_constraint_errors",
    "pcie_outbound_stalled_seconds",
    "netdev_global_pause_duration",
    "netdev_pause_storm_events",
    "netdev_global_pause_frames",
    "netdev_global_pause_transitions",
    "qp_rx_bytes",
    "qp_tx_bytes",
    "qp_rx_packets",
    "qp_tx_packets",
    "optional_rx_bytes",
    "optional_tx_bytes",
    "optional_rx_packets",
    "optional_tx_packets",
    "link_downed",
    "link_error_recovery",
    "phy_rx_corrected_bits",
    "phy_rx_bits",
    "phy_rx_pcs_symbol_err",
]
"""Counters of the board that the model does not have."""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus that holds the storm under the exporter's names."""
    promtool, folder = program("promtool"), tmp_path_factory.mktemp("board")
    out, data, run = folder / "storm.om", folder / "data", folder / "run"
    (folder / "storm.yml").write_text(STORM, encoding="utf-8")
    assert main(["run", str(folder / "storm.yml"), "--out", str(run), "--quiet"]) == 0
    named = ["--out", str(out), "--start", START, "--compat", "rdma_exporter"]
    assert main(["export", "openmetrics", str(run), *named]) == 0
    run_tool(promtool, "tsdb", "create-blocks-from", "openmetrics", str(out), str(data))
    options = (f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=100y")
    with prometheus(folder / "prometheus", "global: {}\n", *options) as url:
        yield url


def values(url: str, expr: str) -> list[float]:
    return [float(value) for row in query_range(url, expr, START_S, END_S, 5) for _, value in row["values"]]


@pytest.mark.slow
def test_every_query_of_counters_that_the_model_has_returns_data(board: str) -> None:
    for name in RATES:
        found = values(board, f"rate(rdma_{name}_total{CHOSEN}[{INTERVAL}])")
        assert found, name
        assert (max(found) > 0) >= (name in NOT_ZERO), name
    for expr in OTHERS:
        assert values(board, expr), expr


@pytest.mark.slow
def test_occupancy_is_the_share_of_time_that_a_sender_is_paused(board: str) -> None:
    """The board divides microseconds by a million; seconds of the wall clock are SCALE times those of the run."""
    found = values(board, f"rate(rdma_roce_pfc_pause_duration_total{CHOSEN}[{INTERVAL}]) / 1e6")
    assert 0.1 < max(found) * SCALE <= 1


@pytest.mark.slow
def test_the_other_queries_are_empty_and_the_layer_says_so(board: str) -> None:
    said = " ".join(it.names for it in LAYERS["rdma_exporter"].absent)
    for name in EMPTY:
        assert not values(board, f"rdma_{name}_total"), name
        known = any(part in said for part in (f"rdma_{name}_total", *FAMILIES.get(name.split("_")[0], ())))
        assert known or name.startswith(("netdev_global", "pcie", "port_xmit_con", "port_rcv_con", "optional")), name


FAMILIES: Final = {"port": ("port_unicast",), "optional": ("rdma_optional_rx",)}


@pytest.mark.slow
def test_a_storm_has_no_port_that_is_not_active(board: str) -> None:
    """The board shows 0 where this is empty."""
    expr = 'count(count by (job, instance, device, port) (rdma_port_info{job="fabric", state!="ACTIVE"}))'
    assert not values(board, expr)
