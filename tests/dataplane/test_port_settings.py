"""Settings of single ports, and of single classes of a port: what each one changes, at that place and at no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.port.flowcontrol.params import PfcParams
from fabric.dataplane.state.codes import DropReason, WatchdogAction
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.verify import conservation

FABRIC = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 1,
    "hosts_per_leaf": 2,
    "host_rate": "100G",
    "fabric_rate": "100G",
}
UP = "leaf1:Ethernet8"
"""leaf1's port to the spine."""
STORM = {"kind": "pause-storm", "hosts": ["host3"], "at": "10us", "duration": "900us"}


def sent(**fields: Any) -> dict[str, Any]:  # noqa: ANN401  of the entry
    plain = {"kind": "datagrams", "senders": ["host1"], "receivers": ["host3"], "load": 1.0, "frame": "1000B"}
    return {**plain, "dscp": 26, "count": 2000, **fields}


def compiled(switches: dict[str, Any], *workload: dict[str, Any], **more: Any) -> CompiledScenario:  # noqa: ANN401
    raw = {
        "name": "ports",
        "topology": FABRIC,
        "switches": {"memory": "4MB", "buffer": {"static_th": "50KB", "headroom": "100KB"}, **switches},
        "workload": list(workload or (sent(),)),
        "run": {"duration": "1ms", "stop": "duration"},
        **more,
    }
    return compile_scenario(build_scenario(raw, Path("ports.yml")))


def simulated(switches: dict[str, Any], *workload: dict[str, Any], **more: Any) -> Snapshot:  # noqa: ANN401
    made = compiled(switches, *workload, **more)
    engine = Emulator(made.fabric, made.params, made.edits)
    for share in range(1, 5):
        engine.advance(share * 10**9 // 4)
        assert conservation.check(engine.state, engine.fabric, engine.now_ps) == []
    return engine.snapshot()


def refusal(switches: dict[str, Any], **more: Any) -> str:  # noqa: ANN401  sections
    with pytest.raises(InputErrors) as caught:
        compiled(switches, **more)
    return str(caught.value)


def at(port: str, **settings: Any) -> dict[str, Any]:  # noqa: ANN401  of an override
    return {"overrides": [{"port": port, **settings}]}


def port_of(now: Snapshot | CompiledScenario, name: str) -> int:
    return next(port.id for port in now.fabric.ports if now.fabric.port_name(port.id) == name)


def lost(now: Snapshot, reason: DropReason) -> dict[str, int]:
    counts = now.drops["pkts"][:, :, reason].sum(axis=1)
    return {now.fabric.port_name(port): int(counts[port]) for port in counts.nonzero()[0].tolist()}


def test_the_port_that_serves_the_spine_is_named_as_the_tests_think() -> None:
    made = compiled({})
    assert made.fabric.peer_of(port_of(made, UP)).name == "spine1"


def test_a_port_that_obeys_no_pause_overruns_its_peer_and_still_sends_pause() -> None:
    fed = (sent(count=8000),)
    usual = simulated({}, *fed, faults=[STORM])
    deaf = simulated(at(UP, pfc_honour=[]), *fed, faults=[STORM])
    assert lost(usual, DropReason.HEADROOM) == {}
    assert set(lost(deaf, DropReason.HEADROOM)) == {"spine1:Ethernet0"}
    assert deaf.prios["pauses"][port_of(deaf, UP), 3] == 0
    # It pauses its peer: traffic the other way, to a host that stops it.
    back = [{**STORM, "hosts": ["host1"]}]
    other = simulated(at(UP, pfc_honour=[]), sent(senders=["host3"], receivers=["host1"], count=8000), faults=back)
    assert lost(other, DropReason.HEADROOM) == {}
    assert other.prios["tx_xoff_pkts"][port_of(other, UP), 3] > 0


def test_a_port_that_sends_no_pause_loses_packets_itself() -> None:
    entry = sent(senders=["host3"], receivers=["host1"], count=8000)
    mute = simulated(at(UP, pfc_send=[]), entry, faults=[{**STORM, "hosts": ["host1"]}])
    assert set(lost(mute, DropReason.HEADROOM)) == {UP}
    assert mute.prios["tx_xoff_pkts"][port_of(mute, UP), 3] == 0


def test_directions_of_pfc_are_told_apart_in_the_parameters() -> None:
    made = compiled(at(UP, pfc_send=[3], pfc_honour=[3, 4]))
    control = made.params.ports[port_of(made, UP)].flow_control
    assert isinstance(control, PfcParams)
    assert (control.classes, control.unsent, control.ignored) == (0b11000, 0b10000, 0)


def test_a_port_without_a_lossless_group_loses_what_comes_in_there() -> None:
    entry = sent(senders=["host3"], receivers=["host1"], count=8000)
    lossy = {"buffer": {"static_th": "50KB", "headroom": "100KB", "lossy_dynamic_th": -6}}
    storm = [{**STORM, "hosts": ["host1"]}]
    now = simulated({**lossy, **at(UP, lossless=[])}, entry, faults=storm)
    assert set(lost(now, DropReason.INGRESS_THRESHOLD)) == {UP}
    assert now.pgs["lossless"][port_of(now, UP)].sum() == 0
    assert now.pgs["lossless"][port_of(now, "leaf1:Ethernet0"), 3] == 1


def test_a_class_that_is_lossless_at_one_port_alone_has_its_group_and_queues() -> None:
    made = compiled(at(UP, lossless=[3, 5]))
    leaf = made.params.switches[made.fabric.by_name["leaf1"].id]
    assert leaf.tc_to_pg[5] == 5
    assert [made.params.ports[port_of(made, name)].pgs[5].lossless for name in (UP, "leaf1:Ethernet0")] == [True, False]
    assert {made.params.ports[port].queues[5].pool for port in made.fabric.by_name["leaf1"].ports} == {1}


def test_a_map_of_one_port_moves_only_what_comes_in_there() -> None:
    now = simulated(
        at("leaf1:Ethernet0", dscp_to_tc={26: 5}), sent(count=50), sent(name="b", senders=["host2"], count=50)
    )
    rx = now.pgs["rx_pkts"]
    first, second = port_of(now, "leaf1:Ethernet0"), port_of(now, "leaf1:Ethernet4")
    assert (rx[first, 5], rx[first, 3], rx[second, 3]) == (50, 0, 50)
    assert now.streams["tc"].tolist() == [5, 3]  # a host uses the map of the port at its other end
    assert rx[port_of(now, "spine1:Ethernet0"), 3] == 100


def test_a_host_answers_in_the_class_of_its_own_port() -> None:
    load = {"kind": "incast", "receiver": "host1", "senders": ["host2"], "size": "20KB"}
    now = simulated(at("leaf1:Ethernet0", dscp_to_tc={26: 5}), load)
    assert now.pgs["rx_pkts"][port_of(now, "leaf1:Ethernet0")].nonzero()[0].tolist() == [5]
    assert now.messages["end_ps"][0] > 0


def test_a_profile_of_one_group_leaves_the_others_as_they_are() -> None:
    own = {"buffer_pg": {3: {"dynamic_th": -1, "headroom": "60KB"}, 0: {"lossy_dynamic_th": -8}}}
    made = compiled({"lossless": [3, 4], **at(UP, **own)})
    groups, others = (made.params.ports[port_of(made, name)].pgs for name in (UP, "leaf1:Ethernet0"))
    assert (groups[3].dynamic_th, groups[3].static_th_bytes) == (-1, 0)
    assert 60_000 <= groups[3].xoff_bytes < 60_500
    assert groups[4] == others[4] == others[3]
    assert (groups[0].dynamic_th, groups[1]) == (-8, others[1])


def test_a_curve_of_one_queue_marks_there_alone() -> None:
    curve = {"kmin": "1KB", "kmax": "2KB", "pmax": 1.0}
    made = compiled({"ecn": "off", **at(UP, ecn_by_queue={3: curve, 0: curve})})
    queues = made.params.ports[port_of(made, UP)].queues
    assert [queue for queue in range(8) if queues[queue].ecn] == [0, 3]
    off = compiled({"ecn": curve, "lossless": [3, 4], **at(UP, ecn_by_queue={3: "off"})})
    queues = off.params.ports[port_of(off, UP)].queues
    assert [queue for queue in range(8) if queues[queue].ecn] == [4]
    entries = (sent(ect=True, count=200), sent(name="b", senders=["host2"], ect=True, count=200))
    now = simulated({"ecn": "off", **at(UP, ecn_by_queue={3: curve})}, *entries)
    assert now.queues["marked_pkts"].nonzero()[0].tolist() == [port_of(now, UP)]


def test_a_watchdog_of_one_port_acts_by_its_own_times() -> None:
    polls = {"watchdog": {"poll": "20us", "detection": "20us", "restoration": "never", "rule": "cisco"}}
    slow = at("leaf2:Ethernet0", port_watchdog={"detection": "200us", "action": "alert"})
    off = at("leaf2:Ethernet0", port_watchdog="off")
    found = {}
    for name, own in (("usual", {}), ("slow", slow), ("off", off)):
        made = compiled({**polls, **own}, sent(count=8000), faults=[STORM])
        engine = Emulator(made.fabric, made.params, made.edits)
        port = port_of(made, "leaf2:Ethernet0")
        detected = []
        for until in (100, 400):
            engine.advance(until * 10**6)
            detected.append(int(engine.snapshot().queues["wd_detected"][port, 3]))
        found[name] = detected, int(engine.snapshot().queues["wd_dropped_pkts"][port, 3] > 0)
    assert found == {"usual": ([1, 1], 1), "slow": ([0, 1], 0), "off": ([0, 0], 0)}


def test_a_watchdog_of_a_port_keeps_what_it_does_not_name() -> None:
    whole = {"watchdog": {"poll": "20us", "detection": "60us", "restoration": "80us", "action": "drop"}}
    made = compiled({**whole, **at(UP, port_watchdog={"action": "forward", "restoration": "never"})})
    own = made.params.switches[made.fabric.by_name["leaf1"].id].port_watchdogs[port_of(made, UP)]
    assert own is not None
    assert (own.action, own.restoration_ps, own.detection_ps) == (WatchdogAction.FORWARD, None, 60 * 10**6)


@pytest.mark.parametrize(
    ("switches", "words"),
    [
        (
            at(UP, pfc_send=[3, 4]),
            "pfc_send: has no effect for priority 4: its group is not lossless at leaf1:Ethernet8",
        ),
        (at(UP, pfc_priorities=[3], pfc_send=[3], pfc_honour=[]), "has no effect beside pfc_send and pfc_honour"),
        (
            at(UP, buffer_pg={0: {"headroom": "10KB"}}),
            "headroom of group 0 has no effect: no port with this profile has a lossless one",
        ),
        (at(UP, buffer_pg={3: {"lossy_dynamic_th": 1}}), "lossy_dynamic_th of group 3 has no effect"),
        (at(UP, port_watchdog={"action": "drop"}), "leaf1 has no watchdog, which polls"),
        (at(UP, port_watchdog={}), "changes nothing"),
        (
            {"watchdog": {"poll": "20us", "detection": "20us"}, **at(UP, port_watchdog={"detection": "9us"})},
            "than a poll",
        ),
        (at(UP, tc_to_pg={3: 4}), "tc_to_pg: belongs to a whole switch"),
    ],
)
def test_what_has_no_effect_is_refused(switches: dict[str, Any], words: str) -> None:
    if "watchdog" not in switches:
        switches = {**switches, "watchdog": "off"}
    assert words in refusal(switches)


SLOW_SHAPER, IDLE_SHAPER = {"rate": "10G"}, {"rate": "100G"}
"""Below the ports' speed, and not below it."""


@pytest.mark.parametrize(
    ("switches", "places"),
    [
        (at(UP, shaper={5: IDLE_SHAPER}), ["switches.overrides[0].shaper.5.rate"]),
        (at(UP, port_shaper=IDLE_SHAPER), ["switches.overrides[0].port_shaper.rate"]),
        ({"shaper": {5: IDLE_SHAPER}}, ["switches.shaper.5.rate"]),
        ({"shaper": {5: IDLE_SHAPER}, **at(UP, shaper={5: SLOW_SHAPER})}, ["switches.shaper.5.rate"]),
        ({"shaper": {5: SLOW_SHAPER}, **at(UP, shaper={5: IDLE_SHAPER})}, ["switches.overrides[0].shaper.5.rate"]),
        (at(UP, buffer_pg={0: {"headroom": "9KB"}}), ["switches.overrides[0].buffer_pg.0.headroom"]),
        ({"buffer_pg": {0: {"headroom": "9KB"}}}, ["switches.buffer_pg.0.headroom"]),
        (
            {"buffer_pg": {3: {"headroom": "9KB"}}, **at(UP, lossless=[], buffer_pg={3: {"xon": "1KB"}})},
            ["switches.overrides[0].buffer_pg.3.xon"],
        ),
        (at(UP, pfc_send=[3, 4]), ["switches.overrides[0].pfc_send"]),
        ({"pfc_send": [3, 4]}, ["switches.pfc_send"]),
        (at(UP, buffer={"xon": "60KB"}), ["switches.overrides[0].buffer.xon"]),
        (at(UP, buffer_pg={3: {"xon": "60KB"}}), ["switches.overrides[0].buffer_pg.3.xon"]),
        ({"buffer_pg": {3: {"xon": "60KB"}}}, ["switches.buffer_pg.3.xon"]),
        (at("leaf1:*", buffer={"headroom": "5MB"}), ["switches.pool", "switches.overrides[0].buffer.headroom"]),
        ({"overrides": [{"role": "spine", "pool": "3999KB"}]}, ["switches.overrides[0].pool"]),
        (
            {"overrides": [{"switch": "leaf1", "egress_pools": {"lossy": "1GB"}}]},
            ["switches.overrides[0].egress_pools.lossy"],
        ),
        (at(UP, port_watchdog={"action": "drop"}), ["switches.overrides[0].port_watchdog"]),
        ({"overrides": [{"role": "leaf", "mtu": "1500B"}, {"port": UP, "pfc_send": [4]}]},
         ["switches.overrides[1].pfc_send"]),
    ],
)  # fmt: skip
def test_an_error_names_the_layer_that_gives_the_value(switches: dict[str, Any], places: list[str]) -> None:
    with pytest.raises(InputErrors) as caught:
        compiled({"watchdog": "off", **switches})
    assert sorted(it.path for it in caught.value.problems) == sorted(f"ports.yml: {place}" for place in places)


@pytest.mark.parametrize(
    ("own", "place"),
    [({"rx_xoff": "3KB", "rx_xon": "4KB", "rx_buffer": "512KB"}, "rx_buffer"), ({"mtu": "1000B"}, "mtu")],
)
@pytest.mark.parametrize("section", ["hosts", "hosts.overrides[0]"])
def test_an_error_names_the_layer_of_hosts_that_gives_the_value(own: dict[str, Any], place: str, section: str) -> None:
    own = {**own, "drain": "50G"}
    with pytest.raises(InputErrors) as caught:
        compiled({}, hosts=own if section == "hosts" else {"overrides": [{"host": "host2", **own}]})
    assert [it.path for it in caught.value.problems] == [f"ports.yml: {section}.{place}"]


@pytest.mark.parametrize(
    "switches",
    [
        {"shaper": {5: SLOW_SHAPER}, "port_shaper": SLOW_SHAPER},
        at("leaf1:*", shaper={5: SLOW_SHAPER}),
        {"buffer_pg": {3: {"headroom": "9KB"}}, **at(UP, lossless=[], buffer_pg={3: {"lossy_dynamic_th": 1}})},
    ],
)
def test_what_has_an_effect_at_some_port_is_taken(switches: dict[str, Any]) -> None:
    compiled(switches)


def test_pause_settings_of_ports_have_no_effect_without_pfc() -> None:
    for own in ({"pfc_send": [3]}, {"pfc_honour": [3]}, {"port_watchdog": {"action": "drop"}}):
        assert "has no effect with pfc: off" in refusal({"buffer": {}, **at(UP, **own)}, pfc="off")
