"""One queue pair over several NIC ports: shares, pacing, ports that cannot send, what is lost, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from test_load_balancing import MS
from test_source_routes import FRAME, US, compiled, ended, one_flow, sent

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import DropReason, QpState
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.verify.conservation import check

DUAL: Final = {
    "kind": "dual-tor",
    "racks": 2,
    "hosts_per_rack": 2,
    "spines": 4,
    "planes": 2,
    "host_rate": "100G",
    "fabric_rate": "100G",
}
WIRE: Final = FRAME + 20
"""Bytes of a full frame with preamble and gap."""
CUT: Final = {"kind": "link-down", "link": "host1--tor1a", "at": "20us"}


def flow(size: str, src: str = "host1", dst: str = "host3") -> list[dict[str, Any]]:
    return [{"kind": "messages", "messages": [{"src": src, "dst": dst, "size": size}]}]


def of_host(it: CompiledScenario, engine: Emulator, host: str, field: str = "tx_pkts") -> list[int]:
    """A counter of every port of a host."""
    return [int(engine.state.ports[port][field]) for port in it.fabric.by_name[host].ports]


def test_the_packets_of_one_queue_pair_leave_by_all_ports_and_spines_in_turn() -> None:
    it = compiled(DUAL, flow(f"{4096 * 80}B"))
    engine = ended(it)
    assert of_host(it, engine, "host1") == [40, 40]
    assert sent(it, engine, "tor1a", "spine") == sent(it, engine, "tor1b", "spine") == [20, 20]
    assert of_host(it, engine, "host3") == [40, 40]  # one answer a packet, in turn as well
    assert int(engine.state.hosts["retransmitted_pkts"].sum()) == 0
    assert check(engine.state, it.fabric, engine.now_ps) == []


@pytest.mark.parametrize("size", ["1B", "4097B", "400KB", "4MB"])
def test_a_lone_message_takes_its_ideal_time_over_all_ports(size: str) -> None:
    """Within the time of the first frame's RETH: at twice its rate the third frame is due that much too early."""
    it = compiled(DUAL, flow(size))
    message = ended(it).state.messages[1]
    excess_ps = int(message["end_ps"] - message["start_ps"]) - int(it.ideal_ps[0])
    assert 0 <= excess_ps <= 16 * 8 * 10


def test_the_goodput_of_one_queue_pair_is_the_sum_of_its_ports() -> None:
    topology = {
        "kind": "rail",
        "nodes_per_pod": 2,
        "rails": 4,
        "spines": 0,
        "endpoints": "node",
        "host_rate": "100G",
        "fabric_rate": "100G",
    }
    it = compiled(topology, flow("20MB", "node1", "node2"))
    engines = [ended(it, until_ps=at * US) for at in (50, 150)]
    before, after = (int(engine.state.hosts["goodput_bytes"].sum()) for engine in engines)
    assert (after - before) * 8 / 100e-6 == pytest.approx(4 * 100e9 * 4096 / WIRE, rel=0.002)


def test_a_queue_pair_that_is_limited_paces_once_and_not_once_a_port() -> None:
    it = compiled(DUAL, flow("20MB"))
    engine = Emulator(it.fabric, it.params, it.edits)
    engine.advance(10 * US)
    engine.state.qps[0]["rate_bps"] = 40 * 10**9
    engine.advance(20 * US)
    before = of_host(it, engine, "host1")
    engine.advance(220 * US)
    passed = [after - at for after, at in zip(of_host(it, engine, "host1"), before, strict=True)]
    assert sum(passed) == pytest.approx(200e-6 * 40e9 / (8 * WIRE), abs=1.5)
    assert abs(passed[0] - passed[1]) <= 1


@pytest.mark.parametrize("queue_pairs", [1, 5])
def test_a_slow_port_does_not_hold_up_the_other(queue_pairs: int) -> None:
    """A free port takes what may use it: both are full, whatever their rates."""
    flows = [{"src": "host1", "dst": "host3", "size": "20MB"} for _ in range(queue_pairs)]
    slow = {"kind": "link-rate", "link": "host1--tor1a", "at": "10us", "rate": "25G"}
    it = compiled(DUAL, [{"kind": "messages", "messages": flows}], faults=[slow])
    engines = [ended(it, until_ps=at * US) for at in (50, 250)]
    busy = [
        after - before
        for after, before in zip(
            *(of_host(it, engine, "host1", "busy_ps") for engine in reversed(engines)), strict=True
        )
    ]
    assert [ps / (200 * US) for ps in busy] == pytest.approx([1.0, 1.0], abs=0.01)


@pytest.mark.parametrize("queue_pairs", [1, 5])
def test_a_paused_port_does_not_hold_up_the_other(queue_pairs: int) -> None:
    flows = [{"src": "host1", "dst": "host3", "size": "20MB"} for _ in range(queue_pairs)]
    it = compiled(DUAL, [{"kind": "messages", "messages": flows}])
    engine = Emulator(it.fabric, it.params, it.edits)
    engine.advance(20 * US)
    engine.state.ports["paused"][0] = 0xFF
    before = of_host(it, engine, "host1")
    engine.advance(120 * US)
    stopped = [after - at for after, at in zip(of_host(it, engine, "host1"), before, strict=True)]
    assert stopped[0] <= 1  # the frame whose port was free before the pause
    assert stopped[1] == pytest.approx(100e-6 * 100e9 / (8 * WIRE), abs=2)
    assert len({int(row) // 60 for row in engine.state.qps["sent_pkts"]}) <= 2  # all queue pairs alike


def test_many_queue_pairs_fill_all_ports() -> None:
    flows = [{"src": "host1", "dst": f"host{3 + number % 2}", "size": f"{300 + 37 * number}KB"} for number in range(12)]
    it = compiled(DUAL, [{"kind": "messages", "messages": flows}])
    engine = ended(it)
    ends = int(engine.state.messages["end_ps"].max())
    wire_bits = sum(of_host(it, engine, "host1", "tx_bytes")) * 8 + sum(of_host(it, engine, "host1")) * 160
    assert ends == pytest.approx(wire_bits / 200e9 * 1e12, rel=0.04)
    assert check(engine.state, it.fabric, engine.now_ps) == []


def lost_on_dead_links(engine: Emulator) -> int:
    return int(engine.state.drops.reshape(-1, 8, 16)["pkts"][:, :, DropReason.LINK_DOWN].sum())


def test_a_cut_port_loses_towards_it_the_rate_times_the_delay_times_its_share() -> None:
    it = compiled(DUAL, flow("20MB", "host3", "host1"), {"source_routes": {"withdrawal": "100us"}}, faults=[CUT])
    cut, before, after, later = (ended(it, until_ps=at * US) for at in (20, 125, 200, 300))
    on_way = of_host(it, cut, "host3")[0] - of_host(it, cut, "host1", "rx_pkts")[0]
    lost = lost_on_dead_links(before)
    assert lost == pytest.approx(100e-6 * 200e9 / (8 * WIRE) / 2 + on_way, abs=3)
    assert lost_on_dead_links(later) == lost
    assert after.state.hosts["routes_withdrawn"].tolist() == [0, 0, 2, 0]
    # The other port goes on alone.
    passed = int(later.state.ports["rx_bytes"][1] - after.state.ports["rx_bytes"][1])
    assert passed * 8 / 100e-6 == pytest.approx(100e9 * FRAME / WIRE, rel=0.01)


def test_a_nic_sees_the_carrier_of_its_own_port_at_once() -> None:
    """Lost are the frames on the cable, and half of the answers until the other NIC has withdrawn the port."""
    it = compiled(DUAL, flow("20MB"), {"source_routes": {"withdrawal": "100us"}}, faults=[CUT])
    cut, engine = (ended(it, until_ps=at * US) for at in (20, 300))
    on_way = of_host(it, cut, "host3")[0] - of_host(it, cut, "host1", "rx_pkts")[0]
    towards = next(port for port in it.fabric.by_name["tor1a"].ports if it.fabric.peer_of(port).name == "host1")
    dropped = engine.state.drops.reshape(-1, 8, 16)["pkts"][:, :, DropReason.LINK_DOWN].sum(axis=1)
    assert int(engine.state.hosts["declared_lost_pkts"][0]) <= 3
    # What was on its way at twice that rate is answered, too.
    assert int(dropped[towards]) == pytest.approx(100e-6 * 100e9 / (8 * WIRE) / 2 + on_way, abs=8)
    assert engine.state.hosts["routes_withdrawn"].tolist() == [2, 0, 0, 0]


def test_a_port_is_taken_again_after_its_cable_is_back() -> None:
    back = {**CUT, "until": "100us"}
    it = compiled(DUAL, flow("8MB"), {"source_routes": {"withdrawal": "30us"}}, faults=[back])
    counts = [of_host(it, ended(it, until_ps=at * US), "host1")[0] for at in (25, 60, 129, 150)]
    assert counts[0] == counts[1] == counts[2] < counts[3]
    engine = ended(it)
    assert engine.finished
    assert not engine.state.hosts["routes_withdrawn"].any()
    assert check(engine.state, it.fabric, engine.now_ps) == []


def test_a_nic_without_any_port_waits_for_its_cables() -> None:
    cuts = [{**CUT, "link": f"host1--tor1{side}", "until": "200us"} for side in "ab"]
    it = compiled(
        DUAL, flow("4MB"), {"source_routes": {"withdrawal": "30us"}, "retransmit_timeout": "1ms"}, faults=cuts
    )
    engine = ended(it, until_ps=199 * US)
    assert int(engine.state.nic_ports["live"][0]) == 0b11
    assert ended(it).finished


def test_each_queue_pair_keeps_one_port_and_leaves_it_where_it_is_dead() -> None:
    flows = [{"src": "host1", "dst": f"host{3 + number % 2}", "size": "1MB"} for number in range(4)]
    transport = {"source_routes": {"choice": "queue-pair", "withdrawal": "10us"}, "retransmit_timeout": "200us"}
    it = compiled(DUAL, [{"kind": "messages", "messages": flows}], transport, faults=[CUT])
    engine = ended(it, until_ps=19 * US)
    assert sorted(engine.state.nic_ports["live"][:4].tolist()) == [1, 1, 2, 2]
    assert set(engine.state.qps["line_bps"].tolist()) == {100 * 10**9}
    assert abs(np.subtract(*of_host(it, engine, "host1"))) <= 1
    assert set(ended(it, until_ps=31 * US).state.nic_ports["live"][:4].tolist()) == {2}
    engine = ended(it)
    assert engine.finished
    assert np.count_nonzero(engine.state.qps["retransmitted_pkts"]) <= 2  # those of the cut port


@pytest.mark.parametrize("choice", ["packet", "queue-pair"])
def test_runs_with_cnps_losses_pauses_and_cut_ports_are_the_same_for_any_threads(choice: str) -> None:
    incast = {"kind": "incast", "receiver": "host1", "senders": ["host*"], "size": "600KB"}
    faults = [
        {**CUT, "until": "100us"},
        {"kind": "link-down", "link": "tor2b--spine3", "at": "30us", "until": "90us"},
        {"kind": "pause-storm", "hosts": ["host2"], "at": "10us", "duration": "60us"},
    ]
    it = compiled(
        DUAL,
        [incast, {"kind": "permutation", "size": "400KB", "shift": 1}],
        {"cc": "dcqcn", "source_routes": {"choice": choice, "withdrawal": "20us"}, "retransmit_timeout": "300us"},
        faults=faults,
        switches={"load_balancing": "source-routed", "ecn": {"kmin": "10KB", "kmax": "40KB", "pmax": 0.5}},
    )
    engines = [ended(it, threads) for threads in (1, 3)]
    assert engines[0].digest() == engines[1].digest()
    assert engines[0].finished
    assert int(engines[0].state.hosts["cnp_handled"].sum()) > 0
    assert int(engines[0].state.prios["pauses"].sum()) > 0
    assert check(engines[0].state, it.fabric, engines[0].now_ps) == []
    assert not (engines[0].state.qps["state"] == QpState.READY).any()


@pytest.mark.parametrize("at", [40, 130])
def test_a_run_goes_on_from_a_checkpoint_to_the_same_digest(tmp_path: Path, at: int) -> None:
    faults = [CUT, {"kind": "link-down", "link": "tor2b--spine3", "at": "60us", "until": "150us"}]
    it = compiled(DUAL, flow("8MB"), {"source_routes": {"withdrawal": "50us"}}, faults=faults)
    engine = ended(it, until_ps=at * US)
    engine.save(tmp_path / "at")
    again = Emulator.restore(it.fabric, it.params, it.edits, path=tmp_path / "at", reroute_delay_ps=it.reroute_delay_ps)
    for one in (engine, again):
        one.advance(5 * MS)
    assert again.digest() == engine.digest()


@pytest.mark.parametrize("control", ["hpcc", "swift", "timely", "dctcp", "dcqcn"])
def test_each_control_has_the_line_rate_of_all_ports(control: str) -> None:
    it = compiled(DUAL, flow("4MB"), {"cc": control})
    engine = ended(it)
    assert engine.finished
    assert int(engine.state.qps[0]["line_bps"]) == 200 * 10**9
    message = engine.state.messages[1]
    assert int(message["end_ps"] - message["start_ps"]) < 1.5 * int(it.ideal_ps[0])


def test_a_host_that_only_one_port_reaches_is_sent_to_by_that_port() -> None:
    names = [("a", "switch"), ("b", "switch"), ("h1", "host"), ("h2", "host"), ("h3", "host")]
    cables = [("h1", "a"), ("h1", "b"), ("h2", "b"), ("h3", "a"), ("h3", "b")]
    topology = {
        "kind": "custom",
        "nodes": [{"name": name, "role": role} for name, role in names],
        "links": [{"a": a, "b": b, "rate": "100G", "cable": "3m"} for a, b in cables],
    }
    flows = [{"src": "h1", "dst": dst, "size": f"{4096 * 20}B"} for dst in ("h2", "h3")]
    it = compiled(topology, [{"kind": "messages", "messages": flows}])
    engine = ended(it)
    assert engine.finished
    assert sum(of_host(it, engine, "h1")) == 40
    assert of_host(it, engine, "h2", "rx_pkts") == [20]
    assert engine.state.qps["line_bps"].tolist() == [100 * 10**9, 200 * 10**9]


def test_hosts_with_one_port_are_as_before() -> None:
    assert int(ended(compiled(workload=one_flow("40KB"))).state.config[0]["nic_ports"]) == 1


REFUSED: Final[list[tuple[dict[str, Any], str]]] = [
    ({"transport": {"nic_port": "hash"}}, "a queue pair takes the routes of all ports in turn"),
    (
        {"switches": {"load_balancing": "source-routed", "overrides": [{"switch": "tor1b", "dscp_to_tc": {26: 4}}]}},
        "it waits in one class",
    ),
]


@pytest.mark.parametrize(("sections", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_what_several_ports_cannot_have_is_refused(sections: dict[str, Any], text: str) -> None:
    with pytest.raises(InputErrors) as caught:
        compiled(DUAL, flow("40KB"), **sections)
    assert any(text in f"{it.path} {it.text}; {it.hint}" for it in caught.value.problems)
