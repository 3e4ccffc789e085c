"""Faults: dated edits in order, repairs that restore, and a truth record that names what is broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.dataplane.engine.edits import (
    DropEvery,
    FlowControlClasses,
    HostDrain,
    LinkErrors,
    LinkRate,
    LinkState,
    PauseStorm,
    PgThreshold,
    QueueEcn,
    StaticRoute,
)
from fabric.errors import InputErrors
from fabric.faults.control_spec import NEEDS_BGP
from fabric.faults.registry import FAULTS
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario

MS = 10**9
CASES: dict[str, dict[str, Any]] = {
    "link-down": {"link": "leaf1--spine1", "at": "1ms", "until": "3ms"},
    "link-flap": {"link": "leaf1:Ethernet8", "at": "1ms", "down": "100us", "up": "200us", "count": 3},
    "link-rate": {"link": "leaf1--spine1", "at": "1ms", "until": "3ms", "rate": "25G"},
    "bit-errors": {"link": "leaf*--spine2", "at": "1ms", "until": "3ms", "ratio": 1e-9},
    "pause-storm": {"hosts": ["host1"], "at": "1ms", "duration": "2ms"},
    "slow-receiver": {"hosts": ["host[12]"], "at": "1ms", "until": "3ms", "drain": "10G"},
    "config-drift": {
        "ports": "leaf1:*",
        "at": "1ms",
        "until": "3ms",
        "ecn": "off",
        "dynamic_th": -6,
        "headroom": "10KB",
        "pfc_priorities": [],
    },
    "drop-every": {"port": "spine1:*", "at": "1ms", "until": "3ms", "every": 256},
    "route": {"switches": ["leaf1"], "hosts": ["host3", "host4"], "via": ["spine2"], "at": "1ms", "until": "3ms"},
    "switch-crash": {"switch": "spine1", "at": "1ms", "until": "3ms"},
    "link-silent": {"link": "leaf1--spine1", "at": "1ms", "until": "3ms"},
}


def compiled(*faults: dict[str, Any], **changes: object) -> CompiledScenario:
    raw = {
        "name": "faults",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
            "links_per_pair": 2,
        },
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "1MB"}],
        "faults": list(faults),
        "run": {"duration": "10ms"},
        **changes,
    }
    return compile_scenario(build_scenario(raw, Path("faults.yml")))


def test_every_kind_has_a_case_here_or_is_about_routing_alone() -> None:
    assert set(CASES) == set(FAULTS) - NEEDS_BGP


@pytest.mark.parametrize("kind", CASES)
def test_a_fault_makes_edits_in_order_of_time_and_one_truth_record(kind: str) -> None:
    result = compiled({"kind": kind, **CASES[kind]})
    times = [edit.time_ps for edit in result.edits]
    assert times == sorted(times)
    assert times[0] == MS
    [record] = json.loads(json.dumps(list(result.truth)))
    assert (record["kind"], record["name"], record["start_ns"]) == (kind, f"{kind}-0", 10**6)
    assert record["end_ns"] > record["start_ns"]
    assert record["repaired"]
    assert record["expect"]
    assert any(record["objects"].values())


@pytest.mark.parametrize("kind", [kind for kind, case in CASES.items() if "until" in case])
def test_an_unrepaired_fault_lasts_to_the_end_of_the_run(kind: str) -> None:
    case = {key: value for key, value in CASES[kind].items() if key != "until"}
    result = compiled({"kind": kind, **case})
    assert {edit.time_ps for edit in result.edits} == {MS}
    assert result.truth[0]["end_ns"] == 10**7
    assert not result.truth[0]["repaired"]


def test_all_parallel_cables_of_a_pair_go_down_unless_one_is_chosen() -> None:
    both = compiled({"kind": "link-down", "link": "leaf1--spine1", "at": "1ms"})
    one = compiled({"kind": "link-down", "link": "leaf1--spine1#1", "at": "1ms"})
    reverse = compiled({"kind": "link-down", "link": "spine1--leaf1#1", "at": "1ms"})
    assert [edit.link for edit in both.edits if isinstance(edit, LinkState)] == [4, 5]
    assert one.edits == reverse.edits == (LinkState(MS, 5, up=False, fault="faults[0]"),)  # type: ignore[arg-type]


def test_a_flap_goes_down_and_up_as_often_as_asked() -> None:
    edits = compiled({"kind": "link-flap", **CASES["link-flap"]}).edits
    assert [(edit.time_ps // 10**6, edit.up) for edit in edits if isinstance(edit, LinkState)] == [
        (1000, False),
        (1100, True),
        (1300, False),
        (1400, True),
        (1600, False),
        (1700, True),
    ]


def test_repairs_put_back_what_the_fabric_was_built_with() -> None:
    rate = compiled({"kind": "link-rate", **CASES["link-rate"]}).edits
    assert {(edit.time_ps, edit.rate_bps) for edit in rate if isinstance(edit, LinkRate)} == {
        (MS, 25 * 10**9),
        (3 * MS, 100 * 10**9),
    }
    errors = compiled({"kind": "bit-errors", **CASES["bit-errors"]}).edits
    assert {edit.bit_error_ratio for edit in errors if isinstance(edit, LinkErrors) and edit.time_ps == 3 * MS} == {0.0}
    drain = compiled({"kind": "slow-receiver", **CASES["slow-receiver"]}, hosts={"drain": "50G"}).edits
    assert {(edit.time_ps, edit.drain_bps) for edit in drain if isinstance(edit, HostDrain)} == {
        (MS, 10**10),
        (3 * MS, 5 * 10**10),
    }
    drops = compiled({"kind": "drop-every", **CASES["drop-every"]}).edits
    assert {(edit.time_ps, edit.every) for edit in drops if isinstance(edit, DropEvery)} == {(MS, 256), (3 * MS, 0)}


def test_drift_changes_what_it_names_and_restores_it_exactly() -> None:
    result = compiled({"kind": "config-drift", **CASES["config-drift"]})
    leaf = result.fabric.by_name["leaf1"]
    for edit in result.edits:
        assert isinstance(edit, QueueEcn | PgThreshold | FlowControlClasses)
        now = result.params.ports[edit.port]
        assert edit.port in leaf.ports
        if isinstance(edit, QueueEcn):
            assert edit.ecn == (None if edit.time_ps == MS else now.queues[edit.queue].ecn)
        elif isinstance(edit, PgThreshold):
            drifted = (edit.pg_params.dynamic_th, edit.pg_params.xoff_bytes) == (-6, 10_000)
            assert drifted if edit.time_ps == MS else edit.pg_params == now.pgs[edit.pg]
        else:
            assert edit.classes == (0 if edit.time_ps == MS else now.flow_control.classes)
    assert len(result.edits) == 2 * 3 * leaf.n_ports


def test_a_storm_takes_the_lossless_priorities_and_its_pace_from_duty_or_frames() -> None:
    def storm(**more: object) -> PauseStorm:
        [edit] = compiled({"kind": "pause-storm", **CASES["pause-storm"], **more}).edits
        assert isinstance(edit, PauseStorm)
        return edit

    assert (storm().classes, storm().gap_ps, storm().quanta) == (8, 0, 65535)
    assert storm(frames_per_second=2980).gap_ps == 10**12 // 2980
    # One frame of 65535 quanta pauses a 100G link for 335.5 us; half of the time means one frame per 671 us.
    assert storm(duty=0.5).gap_ps == 2 * 65535 * 512 * 10
    assert storm(priorities=[3, 4]).classes == 0b11000


def test_holding_a_link_paused_takes_the_frames_that_the_standard_implies() -> None:
    # 802.3 annex 31B: 65535 quanta of 512 bits; frames per second to hold 100G paused: 2980.
    [edit] = compiled({"kind": "pause-storm", **CASES["pause-storm"], "frames_per_second": 2981}).edits
    assert isinstance(edit, PauseStorm)
    assert edit.gap_ps < 65535 * 512 * 10 < 10**12 // 2980


def test_all_problems_of_all_faults_are_reported_together() -> None:
    with pytest.raises(InputErrors) as caught:
        compiled(
            {"kind": "link-down", "link": "leaf1--leaf9", "at": "1ms"},
            {"kind": "pause-storm", "hosts": ["hots1"], "at": "1ms", "duration": "1ms"},
            {"kind": "config-drift", "ports": "host1", "at": "1ms", "ecn": "off"},
        )
    text = str(caught.value)
    assert len(caught.value.problems) == 3
    assert "faults[0].link: no node is called 'leaf9'" in text
    assert "did you mean 'host1'?" in text
    assert "names no port of a switch" in text


def test_a_route_uses_every_cable_to_its_neighbours_and_names_those_it_has_not() -> None:
    edits = compiled({"kind": "route", **CASES["route"]}).edits
    fabric = compiled().fabric
    peers = {}
    for edit in edits:
        assert isinstance(edit, StaticRoute)
        peers[edit.time_ps, fabric.nodes[edit.host].name] = (
            [fabric.peer_of(port).name for port in edit.ports],
            edit.ends,
        )
    begins, ends = (["spine2", "spine2"], False), ([], True)
    assert peers == {(MS, "host3"): begins, (MS, "host4"): begins, (3 * MS, "host3"): ends, (3 * MS, "host4"): ends}
    with pytest.raises(InputErrors, match="leaf1 has no cable to 'leaf2'"):
        compiled({"kind": "route", "switches": ["leaf1"], "hosts": ["host3"], "via": ["leaf2"], "at": "1ms"})


def test_a_route_to_nowhere_is_a_black_hole() -> None:
    [edit] = compiled({"kind": "route", "switches": ["leaf1"], "hosts": ["host3"], "via": [], "at": "1ms"}).edits
    assert isinstance(edit, StaticRoute)
    assert edit.ports == ()


ROUTED_TENANT: dict[str, Any] = {
    "routing": "bgp",
    "vxlan": {
        "tenants": [
            {
                "name": "blue",
                "l3_vni": 900,
                "segments": [
                    {"name": "a", "vni": 10, "hosts": ["host1", "host3"]},
                    {"name": "b", "vni": 11, "hosts": ["host2", "host4"]},
                ],
            }
        ]
    },
}


@pytest.mark.parametrize("hosts", [["host1"], ["host3"], ["host[34]"]])
def test_a_route_for_bridged_packets_of_a_routed_tenant_is_written(hosts: list[str]) -> None:
    """host1 and host3 exchange messages inside their segment; host4 does not, and is named with one of them."""
    found = compiled(
        {"kind": "route", "switches": ["spine1"], "hosts": hosts, "via": [], "at": "1ms"}, **ROUTED_TENANT
    ).edits
    assert [edit for edit in found if isinstance(edit, StaticRoute) and edit.time_ps == MS and edit.ports == ()]


def test_a_route_at_the_leaf_that_delivers_is_written_for_routed_packets_too() -> None:
    fault = {"kind": "route", "hosts": ["host4"], "via": [], "at": "1ms"}
    assert any(
        isinstance(edit, StaticRoute) and edit.time_ps == MS
        for edit in compiled({**fault, "switches": ["leaf2"]}, **ROUTED_TENANT).edits
    )
    with pytest.raises(InputErrors, match="a route for host4 at leaf1 has no effect"):
        compiled({**fault, "switches": ["leaf1"]}, **ROUTED_TENANT)
    assert compiled({**fault, "switches": ["leaf1"]}, **{**ROUTED_TENANT, "routing": "shortest-path"}).edits
