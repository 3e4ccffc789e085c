"""Shapers of queues and ports: the rate that leaves, what it leaves free, and what passes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.verify import conservation

FABRIC = {
    "kind": "leaf-spine",
    "leaves": 1,
    "spines": 1,
    "hosts_per_leaf": 3,
    "host_rate": "100G",
    "fabric_rate": "100G",
}
DOWN = "leaf1:Ethernet8"
"""leaf1's port to host3."""
FRAME = 1000


def flow(sender: str, dscp: int, frame: int = FRAME, load: float = 1.0) -> dict[str, Any]:
    """Datagrams to host3 for the whole run."""
    more = {"load": load, "frame": f"{frame}B", "count": 100_000, "dscp": dscp}
    return {"kind": "datagrams", "name": sender, "senders": [sender], "receivers": ["host3"], **more}


def compiled(switches: dict[str, Any], *workload: dict[str, Any]) -> CompiledScenario:
    raw = {
        "name": "shaped",
        "topology": FABRIC,
        "switches": {"memory": "8MB", **switches},
        "workload": list(workload),
        "run": {"duration": "1ms", "stop": "duration"},
    }
    return compile_scenario(build_scenario(raw, Path("shaped.yml")))


def simulated(made: CompiledScenario) -> Snapshot:
    engine = Emulator(made.fabric, made.params, made.edits)
    for share in range(1, 5):
        engine.advance(share * 10**9 // 4)
        assert conservation.check(engine.state, engine.fabric, engine.now_ps) == []
    return engine.snapshot()


def rate_gbps(made: CompiledScenario, found: Snapshot, queue: int) -> float:
    """Of a queue towards host3 in the run of 1 ms, frames without preamble and gap."""
    port = next(it.id for it in made.fabric.ports if made.fabric.port_name(it.id) == DOWN)
    return float(found.queues["sent_bytes"][port, queue]) * 8 / 1e6


@pytest.mark.parametrize("burst", ["0B", "20KB"])
@pytest.mark.parametrize(("rate", "gbps"), [("40G", 40.0), ("7Gbps", 7.0)])
def test_a_queue_sends_at_its_shaper_s_rate_and_no_faster(rate: str, gbps: float, burst: str) -> None:
    made = compiled({"shaper": {3: {"rate": rate, "burst": burst}}}, flow("host1", 26))
    found = simulated(made)
    most = gbps + (FRAME + (20_000 if burst == "20KB" else 0)) * 8 / 1e6
    assert 0.99 * gbps <= rate_gbps(made, found, 3) <= most
    assert found.prios["tx_xoff_pkts"].sum() > 0  # the queue grows although the link has room: PFC stops the sender


def test_other_queues_take_what_a_shaper_leaves() -> None:
    """With a burst of two frames: the time in which a frame waits for its turn is not lost."""
    shaped = {"shaper": {3: {"rate": "20G", "burst": "2KB"}}, "lossless": [3]}
    made = compiled(shaped, flow("host1", 26), flow("host2", 0))
    found = simulated(made)
    assert rate_gbps(made, found, 3) == pytest.approx(20, rel=0.01)
    assert rate_gbps(made, found, 0) == pytest.approx(100 * FRAME / (FRAME + 20) - 20, rel=0.02)


def test_a_port_s_shaper_holds_all_its_queues_together_and_weights_still_share() -> None:
    shaped = {"port_shaper": {"rate": "40G"}, "scheduler": {3: 30, 0: 10}, "lossless": [3]}
    made = compiled(shaped, flow("host1", 26), flow("host2", 0))
    found = simulated(made)
    assert rate_gbps(made, found, 3) == pytest.approx(30, rel=0.02)
    assert rate_gbps(made, found, 0) == pytest.approx(10, rel=0.02)


def test_an_idle_time_is_a_burst_at_the_port_s_speed() -> None:
    """16 kB after a pause: with a burst of 16 kB the last frame leaves after their time at 100G, else at 10G."""
    ends = []
    for burst in ("0B", "16KB"):
        message = {"kind": "messages", "messages": [{"src": "host1", "dst": "host3", "size": "16KB", "start": "1us"}]}
        made = compiled({"shaper": {3: {"rate": "10G", "burst": burst}}}, message)
        ends.append(int(simulated(made).messages["end_ps"].max()) / 10**6)
    assert ends[0] == pytest.approx(ends[1] + (16_000 - 4_096) * 8 / 10e3, rel=0.2)
    assert ends[1] < 6


def test_pauses_pass_the_shaper_of_a_port() -> None:
    """host3 sends to host1, whose frames to host3 are shaped: its pauses towards host3 leave at once."""
    shaped = {"overrides": [{"port": DOWN, "port_shaper": {"rate": "1Gbps"}}], "buffer": {"static_th": "50KB"}}
    back = {**flow("host3", 26), "receivers": ["host1"]}
    slow = {"port": "leaf1:Ethernet0", "port_shaper": {"rate": "10G"}}
    made = compiled({**shaped, "overrides": [*shaped["overrides"], slow]}, back, flow("host2", 26))
    found = simulated(made)
    assert found.prios["tx_xoff_pkts"].sum() > 0
    assert int(found.drops["pkts"].sum()) == 0


def test_both_schedulers_and_two_threads_shape_alike() -> None:
    made = compiled({"shaper": {3: {"rate": "40G"}}, "lossless": [3]}, flow("host1", 26), flow("host2", 0))
    digests = []
    for how in ({}, {"threads": 2}, {"scheduler": "sequential"}):
        engine = Emulator(made.fabric, made.params, made.edits, **how)
        engine.advance(10**9 // 4)
        digests.append(engine.digest())
    assert digests == digests[:1] * 3


@pytest.mark.parametrize(
    ("switches", "words"),
    [
        ({"shaper": {3: {"rate": "100G"}}}, "switches.shaper.3.rate: 100G has no effect"),
        ({"port_shaper": {"rate": "400G"}}, "switches.port_shaper.rate: 400G has no effect"),
        ({"port_shaper": {"rate": "0G"}}, "port_shaper"),
        ({"shaper": {9: {"rate": "10G"}}}, "shaper"),
        ({"shaper": {3: {"burst": "1KB"}}}, "rate"),
    ],
)
def test_a_shaper_that_holds_nothing_is_refused(switches: dict[str, Any], words: str) -> None:
    with pytest.raises(InputErrors) as caught:
        compiled(switches, flow("host1", 26))
    assert words in str(caught.value)


def test_off_takes_a_shaper_from_a_port() -> None:
    shaped = {"port_shaper": {"rate": "40G"}, "overrides": [{"port": DOWN, "port_shaper": "off"}]}
    made = compiled(shaped, flow("host1", 26))
    ports = {made.fabric.port_name(it.id): made.params.ports[it.id].shaper for it in made.fabric.ports}
    assert ports[DOWN] is None
    assert ports["leaf1:Ethernet0"] is not None
