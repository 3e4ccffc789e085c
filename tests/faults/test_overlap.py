"""Two overlapping faults on one device or link: both act, each until its own end, each with a record of the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.driver import Emulator
from fabric.faults.control_spec import NEEDS_BGP
from fabric.faults.registry import FAULTS
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.verify.conservation import check

US = 10**6
TWO: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "link-down": ({"link": "leaf1--spine1"}, {"link": "leaf1--spine*"}),
    "link-flap": (
        {"link": "leaf1--spine1", "down": "40us", "up": "1us", "count": 1},
        {"link": "leaf1--spine1", "down": "40us", "up": "1us", "count": 1},
    ),
    "link-rate": ({"link": "leaf1--spine1", "rate": "25G"}, {"link": "leaf1--spine1", "rate": "50G"}),
    "bit-errors": ({"link": "leaf1--spine1", "ratio": 1e-6}, {"link": "leaf1--spine1", "ratio": 1e-7}),
    "pause-storm": (
        {"hosts": ["host1"], "duration": "40us"},
        {"hosts": ["host1"], "duration": "40us", "priorities": [2, 3]},
    ),
    "slow-receiver": ({"hosts": ["host1"], "drain": "20G"}, {"hosts": ["host*"], "drain": "10G"}),
    "config-drift": (
        {"ports": "leaf1:*", "dynamic_th": -6, "ecn": "off", "pfc_priorities": []},
        {
            "ports": "leaf1:*",
            "headroom": "10KB",
            "pfc_priorities": [2],
            "ecn_curve": {"kmin": "1KB", "kmax": "2KB", "pmax": 0.5},
        },
    ),
    "drop-every": ({"port": "spine1:*", "every": 100}, {"port": "spine1:*", "every": 7}),
    "route": (
        {"switches": ["leaf1"], "hosts": ["host3"], "via": ["spine1"]},
        {"switches": ["leaf1"], "hosts": ["host3", "host4"], "via": ["spine2"]},
    ),
    "switch-crash": ({"switch": "spine1"}, {"switch": "spine1", "carrier": "kept"}),
    "link-silent": ({"link": "leaf1--spine1"}, {"link": "leaf*--spine1"}),
}
"""Two faults of each kind on the same leaf1, host1 or spine1."""
MOMENTS = (10, 30, 50, 70, 90)
"""Microseconds: before both, in the first, in both, in the second, after both. They last from 20 to 60, 40 to 80."""


def fault(kind: str, fields: dict[str, Any], begin_us: int) -> dict[str, Any]:
    lasting = {} if {"duration", "down"} & set(fields) else {"until": f"{begin_us + 40}us"}
    return {"kind": kind, "at": f"{begin_us}us", **lasting, **fields}


def compiled(*faults: dict[str, Any], **changes: object) -> CompiledScenario:
    raw = {
        "name": "overlap",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "workload": [{"kind": "permutation", "size": "200KB"}],
        "faults": list(faults),
        "run": {"duration": "1ms", "reroute_delay": "1us"}
        if any(it["kind"] in {"link-down", "link-flap", "switch-crash"} for it in faults)
        else {"duration": "1ms"},
        **changes,
    }
    return compile_scenario(build_scenario(raw, Path("overlap.yml")))


def emulator(result: CompiledScenario) -> Emulator:
    return Emulator(result.fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps)


def lists(engine: Emulator, owners: str, first: str, table: str, *fields: str) -> list[list[tuple[int, ...]]]:
    """The injected faults in the list of every owner."""
    rows, found = getattr(engine.state, table), []
    for owner in getattr(engine.state, owners):
        at, mine = int(owner[first]), []
        while at:
            mine.append(tuple(int(rows[at][field]) for field in fields))
            at = int(rows[at]["next"])
        found.append(sorted(mine))
    return found


def routes(engine: Emulator) -> list[list[int]]:
    state = engine.state
    found: list[list[int]] = []
    for group in state.fib:
        row = state.groups[int(group) - 1]
        first = int(row["first"])
        found.append(state.members["port"][first : first + int(row["count"])].tolist() if group else [])
    return found


def seen(engine: Emulator) -> dict[str, Any]:
    """All values that faults of this module change."""
    state = engine.state
    return {
        **{name: state.ports[name].tolist() for name in ("up", "rate_bps", "bit_error_ratio", "pfc_classes")},
        "kmin_bytes": (state.queues["ecn"] * state.queues["kmin_bytes"]).tolist(),
        **{name: state.pgs[name].tolist() for name in ("shift", "xoff_bytes", "reserved_bytes")},
        "drain_bps": state.hosts["drain_bps"].tolist(),
        "routes": routes(engine),
        "losses": lists(engine, "ports", "first_loss", "losses", "every"),
        "storms": [
            [it for it in mine if it[1] > engine.now_ps]
            for mine in lists(engine, "hosts", "first_storm", "storms", "classes", "until_ps")
        ],
    }


def simulated(result: CompiledScenario) -> list[dict[str, Any]]:
    engine, found = emulator(result), []
    for moment in MOMENTS:
        engine.advance(moment * US)
        assert not check(engine.state, engine.fabric, engine.now_ps)
        found.append(seen(engine))
    return found


def test_every_kind_without_a_control_plane_has_a_pair_here() -> None:
    assert set(TWO) == set(FAULTS) - NEEDS_BGP


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("kind", TWO)
def test_each_of_two_faults_acts_until_its_own_end(kind: str, swapped: bool) -> None:
    first, second = reversed(TWO[kind]) if swapped else TWO[kind]
    one, two = fault(kind, first, 20), fault(kind, second, 40)
    result = compiled(one, two)
    healthy, only_first, both, only_second, after = simulated(result)
    alone_first, alone_second = simulated(compiled(one)), simulated(compiled(two))
    assert only_first == alone_first[1] != healthy
    if kind in {"bit-errors", "drop-every", "pause-storm", "config-drift"}:
        assert both not in (alone_first[2], alone_second[2])
    assert both != healthy
    assert only_second == alone_second[3] != healthy
    assert after == alone_second[4]
    assert [(row["start_ns"], row["end_ns"], row["repaired"]) for row in result.truth] == [
        (20_000, 60_000, True),
        (40_000, 80_000, True),
    ]


@pytest.mark.parametrize(
    ("kind", "field", "place", "values"),
    [
        ("link-rate", "rate_bps", "leaf1:Ethernet8", [100, 25, 25, 50, 100]),
        ("bit-errors", "bit_error_ratio", "leaf1:Ethernet8", [0, 1e-6, 1 - (1 - 1e-6) * (1 - 1e-7), 1e-7, 0]),
        ("link-down", "up", "leaf1:Ethernet8", [1, 0, 0, 0, 1]),
        ("link-down", "up", "leaf1:Ethernet12", [1, 1, 0, 0, 1]),
        ("config-drift", "pfc_classes", "leaf1:Ethernet8", [8, 0, 4, 4, 8]),
    ],
)
def test_what_two_faults_come_to_together(kind: str, field: str, place: str, values: list[float]) -> None:
    result = compiled(*(fault(kind, fields, begin) for fields, begin in zip(TWO[kind], (20, 40), strict=True)))
    [port] = [port.id for port in result.fabric.ports if result.fabric.port_name(port.id) == place]
    unit = 10**9 if field == "rate_bps" else 1
    assert [now[field][port] / unit for now in simulated(result)] == pytest.approx(values, rel=1e-9)


def test_a_slow_receiver_consumes_at_the_lowest_of_its_rates() -> None:
    first, second = TWO["slow-receiver"]
    result = compiled(fault("slow-receiver", first, 20), fault("slow-receiver", second, 40), hosts={"drain": "80G"})
    assert [now["drain_bps"][0] // 10**9 for now in simulated(result)] == [80, 20, 10, 10, 80]
    reverse = compiled(fault("slow-receiver", second, 20), fault("slow-receiver", first, 40), hosts={"drain": "80G"})
    assert [now["drain_bps"][0] // 10**9 for now in simulated(reverse)] == [80, 10, 10, 20, 80]


def test_two_counted_losses_at_one_port_lose_what_each_would_lose() -> None:
    raw = {
        "workload": [{"kind": "messages", "messages": [{"src": "host1", "dst": "host2", "size": "4MB"}]}],
        "transport": {"cc": "none", "retransmit_timeout": "1ms"},
    }

    def lost(*every: int) -> int:
        faults = [{"kind": "drop-every", "port": "leaf1:Ethernet0", "every": n, "at": "0s"} for n in every]
        engine = emulator(compiled(*faults, **raw))
        engine.advance(60 * US)
        arrived = int(engine.state.ports["rx_pkts"][engine.fabric.by_name["leaf1"].first_port])
        assert sum(arrived // n for n in every) > 0
        return int(engine.snapshot().drops["pkts"].sum()) - len(
            [k for k in range(1, arrived + 1) if any(k % n == 0 for n in every)]
        )

    assert lost(5) == lost(7) == lost(5, 7) == 0


def test_a_cable_that_is_cut_stays_cut_when_its_switch_starts_again() -> None:
    crash, cut = fault("switch-crash", {"switch": "spine1"}, 20), fault("link-down", {"link": "leaf1--spine1"}, 40)
    result = compiled(crash, cut)
    [mine] = [port.id for port in result.fabric.ports if result.fabric.port_name(port.id) == "leaf1:Ethernet8"]
    [other] = [port.id for port in result.fabric.ports if result.fabric.port_name(port.id) == "leaf2:Ethernet8"]
    assert [now["up"][mine] for now in simulated(result)] == [1, 0, 0, 0, 1]
    assert [now["up"][other] for now in simulated(result)] == [1, 0, 0, 1, 1]


def test_what_begins_as_another_fault_ends_takes_over_without_a_gap() -> None:
    first = {"kind": "link-down", "link": "leaf1--spine1", "at": "20us", "until": "40us"}
    second = {"kind": "link-down", "link": "leaf1--spine1", "at": "40us", "until": "80us"}
    engine = emulator(compiled(first, second))
    engine.advance(90 * US)
    [port] = [port.id for port in engine.fabric.ports if engine.fabric.port_name(port.id) == "leaf1:Ethernet8"]
    assert int(engine.state.ports["down_ps"][port]) == 60 * US
    log = engine.drain_events()
    assert [int(row["time_ps"]) // US for row in log if row["port"] == port and row["kind"] in (8, 9)] == [20, 80]


def test_an_operators_repair_ends_what_faults_hold() -> None:
    result = compiled(
        fault("link-down", {"link": "leaf1--spine1"}, 20),
        fault("slow-receiver", {"hosts": ["host1"], "drain": "10G"}, 20),
        hosts={"drain": "80G"},
    )
    link, host = result.fabric.links[4].id, result.fabric.by_name["host1"].id
    engine = emulator(result)
    engine.schedule(
        [e.LinkState(30 * US, link, up=True), e.HostDrain(30 * US, host, 0), e.LinkState(40 * US, link, up=False)]
    )
    ups, drains = [], []
    for moment in (25, 35, 45, 70):
        engine.advance(moment * US)
        ups.append(int(engine.state.ports["up"][result.fabric.links[4].a]))
        drains.append(int(engine.state.hosts["drain_bps"][host]) // 10**9)
    assert (ups, drains) == ([0, 1, 0, 0], [10, 0, 0, 0])  # the fault's end undoes neither


# ===== pause storms =====


def storms(*which: dict[str, Any], moments_us: tuple[int, ...]) -> list[list[int]]:
    """Classes that the leaf's port to host1 is paused in, at each moment."""
    faults = [{"kind": "pause-storm", "hosts": ["host1"], **it} for it in which]
    result = compiled(*faults, switches={"lossless": [2, 3]})
    engine, found = emulator(result), []
    port = result.fabric.ports[result.fabric.by_name["host1"].first_port].peer
    for moment in moments_us:
        engine.advance(moment * US)
        paused = int(engine.state.ports["paused"][port])
        found.append([c for c in range(8) if paused >> c & 1])
        assert not check(engine.state, engine.fabric, engine.now_ps)
    assert [row["kind"] for row in result.truth] == ["pause-storm"] * len(which)
    return found


def test_two_storms_of_different_classes_pause_both_and_end_each_at_its_end() -> None:
    """1,000 quanta of 512 bits at 100G last 5.12 us."""
    long = {"at": "10us", "duration": "80us", "priorities": [3], "quanta": 1000}
    short = {"at": "30us", "duration": "20us", "priorities": [2], "quanta": 1000}
    assert storms(long, short, moments_us=(5, 20, 40, 70, 120)) == [[], [3], [2, 3], [3], []]
    assert storms(short, long, moments_us=(5, 20, 40, 70, 120)) == [[], [3], [2, 3], [3], []]


def test_two_storms_of_one_class_pause_for_their_union() -> None:
    one = {"at": "10us", "duration": "30us", "priorities": [3], "quanta": 1000}
    two = {"at": "30us", "duration": "30us", "priorities": [3], "quanta": 1000}
    assert storms(one, two, moments_us=(5, 20, 35, 50, 59, 80)) == [[], [3], [3], [3], [3], []]
    inner = {"at": "20us", "duration": "10us", "priorities": [3], "quanta": 1000}
    outer = {"at": "10us", "duration": "60us", "priorities": [3], "quanta": 1000}
    assert storms(outer, inner, moments_us=(15, 25, 40, 65, 90)) == [[3], [3], [3], [3], []]


def test_a_short_timer_of_a_second_storm_does_not_cut_the_first_ones_pause() -> None:
    """One frame of 20,000 quanta pauses for 102 us; a received timer would replace it (802.3 annex 31B)."""
    long = {"at": "10us", "duration": "95us", "priorities": [3], "quanta": 20_000, "frames_per_second": 10_000}
    short = {"at": "20us", "duration": "10us", "priorities": [2, 3], "quanta": 300, "frames_per_second": 1_000_000}
    assert storms(long, short, moments_us=(15, 25, 40, 90, 130)) == [[3], [2, 3], [3], [3], []]


def test_a_reset_ends_every_storm_of_a_nic() -> None:
    one = fault("pause-storm", {"hosts": ["host1"], "duration": "500us", "quanta": 100}, 10)
    two = fault("pause-storm", {"hosts": ["host1"], "duration": "500us", "quanta": 100}, 20)
    result = compiled(one, two)
    engine = emulator(result)
    engine.schedule([e.NicReset(100 * US, result.fabric.by_name["host1"].id)])
    engine.advance(99 * US)
    peer = result.fabric.ports[result.fabric.by_name["host1"].first_port].peer
    assert int(engine.state.ports["paused"][peer])
    engine.advance(110 * US)
    received = int(engine.state.ports["rx_pause_pkts"][peer])
    engine.advance(400 * US)
    assert int(engine.state.ports["rx_pause_pkts"][peer]) == received
    assert not int(engine.state.ports["paused"][peer])


@pytest.mark.parametrize("kind", TWO)
@pytest.mark.parametrize("stop_us", [30, 50, 70])
def test_a_run_restored_among_overlapping_faults_ends_as_if_it_had_never_stopped(
    tmp_path: Path, kind: str, stop_us: int
) -> None:
    result = compiled(*(fault(kind, fields, begin) for fields, begin in zip(TWO[kind], (20, 40), strict=True)))
    whole = emulator(result)
    whole.advance(300 * US)
    stopped = emulator(result)
    stopped.advance(stop_us * US)
    stopped.save(tmp_path / "state")
    again = Emulator.restore(
        result.fabric, result.params, result.edits, tmp_path / "state", reroute_delay_ps=result.reroute_delay_ps
    )
    again.advance(300 * US)
    assert (again.digest(), seen(again)) == (whole.digest(), seen(whole))
