"""transport.overrides: several congestion controls in one fabric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import CongestionControl
from fabric.errors import InputErrors
from fabric.scenario.compile.laws import at_override
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario

PARTS = [{"src": f"host{n}", "dst": "host1", "size": "120KB"} for n in (2, 3)]
OTHERS = [{"src": f"host{n}", "dst": "host4", "size": "120KB"} for n in (5, 6)]
"""Two incasts, each under a leaf of its own, so that they share no link and no random numbers."""


def compiled(transport: dict[str, Any], **sections: Any) -> CompiledScenario:  # noqa: ANN401
    raw: dict[str, Any] = {
        "name": "two",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 1,
            "hosts_per_leaf": 3,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "switches": {"ecn": {"kmin": "20KB", "kmax": "20001B", "pmax": 1.0}},
        "transport": {"mtu": "4096B", **transport},
        "workload": [
            {"kind": "messages", "name": "first", "messages": PARTS},
            {"kind": "messages", "name": "second", "messages": OTHERS},
        ],
        "run": {"duration": "5ms", "seed": 3},
        "telemetry": {"events": []},
    } | sections
    return compile_scenario(build_scenario(raw, Path("two.yml")))


def ends_ps(case: CompiledScenario) -> list[int]:
    engine = Emulator(case.fabric, case.params)
    engine.advance(case.duration_ps)
    found: list[int] = engine.state.messages["end_ps"][1:5].tolist()
    assert min(found) > 0
    return found


@pytest.fixture(scope="module")
def base() -> list[int]:
    return ends_ps(compiled({"cc": "dcqcn"}))


@pytest.mark.parametrize("control", ["none", "dctcp", "timely", "hpcc", "swift"])
def test_groups_that_share_no_link_take_the_times_that_their_control_takes_alone(base: list[int], control: str) -> None:
    alone = ends_ps(compiled({"cc": control}))
    mixed = compiled({"cc": "dcqcn", "overrides": [{"workload": "second", "cc": control}]})
    assert base[:2] != alone[:2]  # else the test would compare nothing
    assert ends_ps(mixed) == base[:2] + alone[2:]
    turned = compiled({"cc": control, "overrides": [{"host": "host[56]", "cc": "dcqcn"}]})
    assert ends_ps(turned) == alone[:2] + base[2:]


def test_the_last_override_that_matches_decides() -> None:
    overrides = [{"host": "host*", "workload": "first", "cc": "none"}, {"host": "host3", "cc": "dctcp"}]
    params = compiled({"overrides": overrides}).params
    assert params.queue_pairs.law is not None
    assert params.queue_pairs.law.tolist() == [1, 2, 0, 0]
    assert [law.transport.congestion_control for law in params.laws] == [
        CongestionControl.NONE,
        CongestionControl.DCTCP,
    ]


def test_messages_of_two_controls_share_no_queue_pair_of_their_hosts() -> None:
    work = [{"kind": "messages", "name": name, "messages": PARTS[:1]} for name in ("first", "second")]
    given = {"qp": {"per": "pair"}, "overrides": [{"workload": "second", "cc": "dctcp"}]}
    pairs = compiled(given, workload=work).params.queue_pairs
    assert pairs.src.tolist() == [1, 1]
    assert pairs.law is not None
    assert pairs.law.tolist() == [0, 1]


def test_an_override_has_the_window_and_the_frames_of_its_control_alone() -> None:
    params = compiled({"window": "off", "overrides": [{"host": "host2", "cc": "hpcc"}]}).params
    only = compiled({"cc": "hpcc"}).params
    (law,) = params.laws
    assert params.transport.window_bytes == 0
    assert (law.transport, law.frames) == (only.transport, only.frames)
    assert law.frames.data_header_bytes == params.frames.data_header_bytes + 42


def test_the_ideal_time_of_a_message_counts_the_frames_of_its_control() -> None:
    ideal = compiled({"overrides": [{"workload": "second", "cc": "hpcc"}]}).ideal_ps
    assert ideal[2:].tolist() == compiled({"cc": "hpcc"}).ideal_ps[2:].tolist()
    assert np.all(ideal[2:] > ideal[:2])


@pytest.mark.parametrize(
    ("transport", "place", "text"),
    [
        ({"overrides": [{"host": "host9", "cc": "none"}]}, "overrides[0].host", "'host9' matches no host"),
        (
            {"overrides": [{"workload": "thrid", "cc": "none"}]},
            "overrides[0].workload",
            "'thrid' matches no entry of workload",
        ),
        ({"overrides": [{"cc": "none"}]}, "overrides[0]", "is for all queue pairs"),
        ({"overrides": [{"host": "host4", "cc": "none"}]}, "overrides[0]", "no queue pair has it"),
        ({"overrides": [{"host": "*", "cc": "hpcc-pint"}]}, "overrides[0].cc", "beside another control"),
        (
            {"overrides": [{"host": "host2", "cc": "none", "dctcp": {"gain": 0.1}}]},
            "overrides[0].dctcp",
            "has no effect with cc: none",
        ),
        (
            {"recovery": "selective", "window": "1MB", "overrides": [{"host": "host2", "cc": "none"}]},
            "overrides[0].window",
            "bitmap of the window",
        ),
        (
            {"overrides": [{"host": "host2", "cc": "dctcp", "dctcp": {"min_rate": "200G"}}]},
            "overrides[0].dctcp.min_rate",
            "",
        ),
        (
            {"overrides": [{"host": "host2", "cc": "dcqcn", "dcqcn": {"cnp_delay": "2us"}}]},
            "overrides[0].dcqcn.cnp_delay",
            "differs from another one",
        ),
        ({"cc": "dctcp", "ack_every": 4, "overrides": [{"host": "host2", "cc": "hpcc"}]}, "ack_every", "has no effect"),
    ],
)
def test_an_override_without_effect_or_sense_is_refused_at_its_place(
    transport: dict[str, Any], place: str, text: str
) -> None:
    with pytest.raises(InputErrors) as refused:
        compiled(transport)
    found = [(it.path, it.text) for it in refused.value.problems]
    assert any(path.endswith(f"transport.{place}") and text in said for path, said in found), found


def test_a_field_of_an_override_is_named_in_a_file_that_has_the_sections_name() -> None:
    assert at_override("transport.yml: transport.dctcp.gain", 2) == "transport.yml: transport.overrides[2].dctcp.gain"
