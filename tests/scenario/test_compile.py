"""The compilation of valid scenarios."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.dataplane.state.codes import CongestionControl, LoadBalance, Recovery, TraceBit, WatchdogRule
from fabric.dataplane.state.params import PgParams
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario, load_scenario
from fabric.scenario.presets.asics import ASICS
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS, scaled
from fabric.scenario.presets.headroom import headroom_bytes
from fabric.scenario.presets.models import MODELS, default_tree, ecn_curve
from fabric.scenario.schema.endpoints import DcqcnName
from fabric.scenario.schema.scenario import Scenario, json_schema
from fabric.scenario.schema.switches import AsicName
from fabric.theory.headroom import cells, response_bound_ps

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "scenarios").glob("*.yml"))
G = 10**9


def raw(**changes: object) -> dict[str, Any]:
    base: dict[str, Any] = {
        "name": "test",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "400G",
        },
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "1MB"}],
        "run": {"duration": "10ms"},
    }
    return {**base, **changes}


def compiled(**changes: object) -> CompiledScenario:
    return compile_scenario(build_scenario(raw(**changes), Path("test.yml")))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_example_compiles_and_has_a_description(file: Path) -> None:
    scenario = load_scenario(file)
    result = compile_scenario(scenario)
    assert scenario.name == file.stem
    assert len(scenario.description) > 30
    assert len(result.params.messages.src) + len(result.params.transfers) > 0
    assert (result.ideal_ps > 0).all()
    assert result.expectations
    json.dumps(result.card)
    json.dumps(list(result.truth))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_a_scenario_written_out_reads_back_as_itself(file: Path) -> None:
    scenario = load_scenario(file)
    again = build_scenario(scenario.model_dump(mode="json", exclude_unset=True, by_alias=True), file)
    assert again == scenario


def test_there_are_a_dozen_examples() -> None:
    assert len(EXAMPLES) >= 12


def test_every_table_has_a_row_for_every_device() -> None:
    result = compiled()
    assert sorted(result.params.switches) == [node.id for node in result.fabric.switches]
    assert sorted(result.params.hosts) == [node.id for node in result.fabric.hosts]
    assert len(result.params.ports) == len(result.fabric.ports)
    for port, params in enumerate(result.params.ports):
        assert len(params.queues) == 8
        assert len(params.pgs) == (0 if result.fabric.node_of(port).is_host else 8)
    assert len(set(result.params.host_ip.tolist())) == len(result.fabric.nodes)


def test_private_headroom_guarantees_and_pool_fill_the_memory_exactly() -> None:
    result = compiled()
    for node in result.fabric.switches:
        groups = [group for port in node.ports for group in result.params.ports[port].pgs]
        pool = result.params.switches[node.id].pools[0]
        assert (
            pool.size_bytes + sum(group.xoff_bytes + group.reserved_bytes for group in groups)
            == ASICS["tomahawk3"].buffer_bytes
        )


def test_shared_headroom_leaves_more_to_the_pool_than_private_headroom() -> None:
    shared = compiled(switches={"shared_headroom": "300KB"})
    private = compiled()
    leaf = private.fabric.by_name["leaf1"].id
    assert shared.params.switches[leaf].pools[0].shared_headroom_bytes == 300_000
    assert shared.params.switches[leaf].pools[0].size_bytes > private.params.switches[leaf].pools[0].size_bytes


def test_pfc_off_leaves_no_lossless_group_and_no_pause() -> None:
    result = compiled(pfc="off")
    assert all(port.flow_control.classes == 0 for port in result.params.ports)
    assert not any(group.lossless or group.xoff_bytes for port in result.params.ports for group in port.pgs)
    assert {params.tc_to_pg for params in result.params.switches.values()} == {(0,) * 8}


def test_no_congestion_control_means_no_dcqcn_at_all() -> None:
    transport = compiled(transport={"cc": "none"}).params.transport
    assert transport.congestion_control is CongestionControl.NONE
    assert transport.dcqcn is None


def test_roce_and_cnp_take_the_classes_of_the_vendor_default() -> None:
    result = compiled()
    leaf = result.params.switches[result.fabric.by_name["leaf1"].id]
    assert (leaf.dscp_to_tc[26], leaf.dscp_to_tc[48]) == (3, 6)
    port = result.params.ports[result.fabric.by_name["leaf1"].first_port]
    assert [queue.strict for queue in port.queues] == [False] * 6 + [True, False]
    assert [group.lossless for group in port.pgs] == [priority == 3 for priority in range(8)]
    assert port.queues[3].ecn == ecn_curve("hpcc", 100 * G)
    assert port.queues[0].ecn is None


def test_the_last_matching_override_decides_field_by_field() -> None:
    result = compiled(
        switches={
            "ecn": "sonic",
            "buffer": {"dynamic_th": 1},
            "overrides": [
                {"role": "leaf", "buffer": {"dynamic_th": -1}, "load_balancing": "spray"},
                {"switch": "leaf2", "asic": "spectrum4", "buffer": {"static_th": "500KB"}},
                {"port": "leaf1:Ethernet0", "ecn": "off"},
            ],
        }
    )
    fabric, params = result.fabric, result.params

    def group(port: str) -> PgParams:
        return next(params.ports[it.id].pgs[3] for it in fabric.ports if fabric.port_name(it.id) == port)

    assert (group("leaf1:Ethernet0").dynamic_th, group("spine1:Ethernet0").dynamic_th) == (-1, 1)
    assert (group("leaf2:Ethernet0").dynamic_th, group("leaf2:Ethernet0").static_th_bytes) == (None, 500_000)
    leaf1, leaf2, spine1 = (fabric.by_name[name] for name in ("leaf1", "leaf2", "spine1"))
    assert [params.switches[node.id].cell_bytes for node in (leaf1, leaf2, spine1)] == [254, 192, 254]
    assert params.switches[leaf2.id].load_balance is LoadBalance.SPRAY
    assert params.ports[leaf1.first_port].queues[3].ecn is None
    assert params.ports[leaf1.first_port + 1].queues[3].ecn == ecn_curve("sonic", 100 * G)


def test_nics_place_packets_in_any_order_where_a_switch_sprays_and_nothing_else_is_said() -> None:
    sprayed, plain = compiled(switches={"load_balancing": "spray"}), compiled()
    some = compiled(switches={"overrides": [{"switch": "leaf1", "load_balancing": "spray"}]})
    assert [it.params.transport.recovery for it in (sprayed, some, plain)] == [
        Recovery.OUT_OF_ORDER,
        Recovery.OUT_OF_ORDER,
        Recovery.GO_BACK_N,
    ]
    transport = sprayed.params.transport
    assert (transport.reorder_window_ps, transport.receive_bitmap_pkts) == (100_000_000, 1024)
    assert sprayed.params.frames.ack_bytes == plain.params.frames.ack_bytes + 8
    relied_on = {it["path"]: it["value"] for it in sprayed.card["defaults"]}
    assert relied_on["transport.recovery"] == "out-of-order"
    assert {it["path"]: it["value"] for it in plain.card["defaults"]}["transport.recovery"] == "go-back-n"


@pytest.mark.parametrize("recovery", ["go-back-n", "go-back-0", "selective"])
def test_nics_that_need_order_beside_spraying_are_warned_of(recovery: str, caplog: pytest.LogCaptureFixture) -> None:
    """In-order recovery beside spraying needs to be written, and gives a warning."""
    result = compiled(switches={"load_balancing": "spray"}, transport={"recovery": recovery, "window": "256KB"})
    assert result.params.transport.recovery.name == recovery.upper().replace("-", "_")
    assert [it.levelname for it in caplog.records] == ["WARNING"]
    assert "treats every overtaken packet as lost" in caplog.text
    caplog.clear()
    compiled(transport={"recovery": recovery, "window": "256KB"})
    compiled(switches={"load_balancing": "spray"}, transport={"recovery": "out-of-order"})
    assert not caplog.records


def test_a_watchdog_takes_its_rule_from_the_chip() -> None:
    result = compiled(
        switches={"asic": "spectrum4", "watchdog": {"poll": "1ms", "detection": "2ms", "restoration": "never"}}
    )
    watchdog = result.params.switches[result.fabric.by_name["spine1"].id].watchdog
    assert watchdog is not None
    assert (watchdog.rule, watchdog.priorities, watchdog.restoration_ps) == (WatchdogRule.MELLANOX, 8, None)


def test_a_watchdog_of_the_chip_polls_at_the_steps_of_its_timer() -> None:
    dog = {"kind": "hardware", "granularity": "100ms", "detection": "300ms", "restoration": "500ms"}
    result = compiled(switches={"asic": "spectrum4", "watchdog": dog})
    watchdog = result.params.switches[result.fabric.by_name["spine1"].id].watchdog
    assert watchdog is not None
    assert (watchdog.rule, watchdog.poll_ps, watchdog.charge_ps) == (WatchdogRule.HARDWARE, 100 * 10**9, 0)


@pytest.mark.parametrize(("asic", "charge_ms"), [("tomahawk3", 200), ("spectrum4", 0)])
def test_a_late_poll_counts_for_the_configured_interval_but_with_mellanox(asic: str, charge_ms: int) -> None:
    result = compiled(switches={"asic": asic, "watchdog": {"actual_poll": "400ms"}})
    watchdog = result.params.switches[result.fabric.by_name["spine1"].id].watchdog
    assert watchdog is not None
    assert (watchdog.poll_ps, watchdog.charge_ps) == (400 * 10**9, charge_ms * 10**9)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "hardware", "detection": "300ms", "restoration": "500ms"}, "granularity: is missing"),
        ({"kind": "hardware", "granularity": "100ms", "detection": "250ms"}, "detection: is no multiple"),
        ({"kind": "hardware", "granularity": "100ms", "poll": "100ms"}, "watchdog.poll: is of kind: software"),
        ({"granularity": "100ms"}, "granularity: is of kind: hardware"),
        ({"actual_poll": "100ms"}, "actual_poll: is shorter than poll"),
    ],
)
def test_fields_of_the_other_kind_of_watchdog_are_refused(fields: dict[str, str], words: str) -> None:
    with pytest.raises(InputErrors, match=words):
        compiled(switches={"watchdog": fields})


def test_switches_hash_with_different_seeds_by_default() -> None:
    seeds = {params.hash_seed for params in compiled().params.switches.values()}
    same = {params.hash_seed for params in compiled(switches={"hash": {"seed": 7}}).params.switches.values()}
    assert len(seeds) == 4
    assert same == {7}


def test_a_priority_finds_the_dscp_that_leads_to_it() -> None:
    result = compiled(
        workload=[
            {"name": "a", "kind": "incast", "receiver": "host1", "senders": ["host2"], "size": "1KB", "priority": 3},
            {"name": "b", "kind": "incast", "receiver": "host1", "senders": ["host2"], "size": "1KB", "priority": 5},
        ]
    )
    assert result.params.messages.dscp.tolist() == [26, 40]


def test_run_telemetry_and_expectations_arrive() -> None:
    result = compiled(
        run={"duration": "2ms", "seed": 9, "stop": "duration", "no_progress": "1ms"},
        telemetry={"interval": "20us", "events": ["pause", "drop"]},
        expectations=["fct.p99 < 2ms"],
    )
    assert (result.duration_ps, result.seed, result.stop_when_done) == (2 * 10**9, 9, False)
    assert (result.no_progress_ps, result.sampling_ps) == (10**9, 20_000_000)
    assert result.record == TraceBit.PAUSE | TraceBit.DROP
    assert result.expectations[0].holds(10**9)
    assert not result.expectations[0].holds(3 * 10**9)


def test_the_card_lists_only_defaults_that_the_scenario_left_open() -> None:
    card = compiled(transport={"cc": "none"}).card
    paths = {default["path"] for default in card["defaults"]}
    assert "transport.cc" not in paths
    assert "transport.mtu" in paths


def test_frames_are_as_long_as_the_standards_make_them() -> None:
    frames = compiled().params.frames
    assert (frames.data_header_bytes, frames.reth_bytes, frames.ack_bytes, frames.cnp_bytes) == (62, 16, 66, 78)
    tagged = compiled(transport={"vlan_tag": True, "ip": 6}).params.frames
    assert tagged.data_header_bytes == 62 + 4 + 20


def test_the_schema_offers_every_preset_and_no_other() -> None:
    assert set(AsicName.__args__) == set(ASICS)  # type: ignore[attr-defined]
    assert set(DcqcnName.__args__) == set(DCQCN_PRESETS)  # type: ignore[attr-defined]


def test_every_default_is_a_field_of_the_schema_and_has_a_source() -> None:
    tree = default_tree("asic")
    for default in MODELS["asic"].defaults:
        assert len(default.source) > 8, default.path
    for section, values in tree.items():
        fields = Scenario.model_fields[section].annotation.model_fields  # type: ignore[union-attr]
        assert set(values) <= set(fields), section


def test_hpcc_increments_grow_with_the_rate_and_mlx5_ones_do_not() -> None:
    assert scaled(DCQCN_PRESETS["hpcc-dcqcn"], 100 * G).additive_bps == 20 * 10**6
    assert scaled(DCQCN_PRESETS["mlx5"], 400 * G).additive_bps == 5 * 10**6


def test_a_dcqcn_value_replaces_that_of_its_preset_only() -> None:
    dcqcn = compiled(
        transport={"dcqcn": {"preset": "paper-2015", "gain": 0.5, "byte_counter": "off"}}
    ).params.transport.dcqcn
    assert dcqcn is not None
    assert (dcqcn.gain_ratio, dcqcn.byte_counter_bytes, dcqcn.cnp_interval_ps) == (0.5, 0, 50_000_000)


def test_the_default_dcqcn_set_is_that_of_the_firmware() -> None:
    """mlxconfig: RPG_GD 11, RPG_MIN_DEC_FAC 50, RPG_MAX_RATE 0, RATE_TO_SET_ON_FIRST_CNP 0, DCE_TCP_G 1019."""
    dcqcn = compiled().params.transport.dcqcn
    assert dcqcn is not None
    assert (dcqcn.cut_divisor, dcqcn.least_kept_ratio, dcqcn.max_rate_bps, dcqcn.first_rate_bps) == (2, 0.5, 0, 0)
    assert (dcqcn.gain_ratio, dcqcn.initial_alpha_ratio) == (1 - 1019 / 1024, 1023 / 1024)
    mine = {"cut_divisor": 1, "least_kept": 0.9, "max_rate": "20G", "first_cnp_rate": "5G"}
    dcqcn = compiled(transport={"dcqcn": mine}).params.transport.dcqcn
    assert dcqcn is not None
    assert (dcqcn.cut_divisor, dcqcn.least_kept_ratio, dcqcn.max_rate_bps, dcqcn.first_rate_bps) == (
        1,
        0.9,
        20 * G,
        5 * G,
    )


def test_the_json_schema_is_json_and_refuses_unknown_fields() -> None:
    schema = json.loads(json.dumps(json_schema()))
    assert schema["additionalProperties"] is False
    assert {"topology", "workload", "run"} <= set(schema["required"])


def test_response_bounds_are_those_of_802_3_31b_3_7() -> None:
    assert response_bound_ps(100 * G) == 394 * 512 * 10
    assert response_bound_ps(400 * G) == 905 * 512 * 5 // 2
    assert response_bound_ps(70 * G) > response_bound_ps(100 * G)  # the row of the next higher speed


@given(
    rate=st.sampled_from([10, 25, 40, 50, 100, 200, 400, 800]),
    metres=st.integers(1, 2000),
    mtu=st.integers(576, 9216),
    cell=st.sampled_from([96, 144, 192, 208, 254, 256]),
    latency=st.integers(0, 2_000_000),
)
def test_headroom_is_whole_cells_and_covers_round_trip_response_and_two_frames(
    rate: int, metres: int, mtu: int, cell: int, latency: int
) -> None:
    size = headroom_bytes(rate * G, metres * 5_000, mtu, latency, cell)
    wire = (2 * metres * 5_000 + latency + response_bound_ps(rate * G)) * rate / 8_000 + 2 * (mtu + 38) + 84
    assert size % cell == 0
    assert size >= wire
    assert size <= cells(int(5.1 * wire) + cell, cell)
    assert headroom_bytes(rate * G, (metres + 100) * 5_000, mtu, latency, cell) > size


def test_four_thousand_hosts_compile_in_seconds() -> None:
    import time

    scenario = build_scenario(
        raw(
            topology={
                "kind": "clos3",
                "pods": 16,
                "leaves_per_pod": 8,
                "spines_per_pod": 8,
                "super_spines": 32,
                "hosts_per_leaf": 32,
                "host_rate": "100G",
                "fabric_rate": "400G",
            },
            switches={"asic": "tomahawk5"},
            workload=[{"kind": "poisson", "sizes": "fb-hadoop", "load": 0.3, "stop": "900us"}],
        ),
        Path("big.yml"),
    )
    begin = time.process_time()
    result = compile_scenario(scenario)
    assert len(result.fabric.hosts) == 4096
    assert len(result.params.messages.src) > 90_000
    assert np.all(result.ideal_ps > 0)
    assert time.process_time() - begin < 60  # about 2 s; a guard against growing with hosts x messages
