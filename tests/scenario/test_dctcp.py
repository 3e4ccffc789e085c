"""`transport.cc: dctcp`: its parameters of the engine, and the settings that it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.cli.main import main
from fabric.dataplane.state.codes import CongestionControl
from fabric.dataplane.state.params import DctcpParams, EcnParams
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import apply_overrides, build_scenario
from fabric.scenario.presets.dctcp import SOURCES, Dctcp
from fabric.scenario.presets.models import ecn_curve
from fabric.topology.paths import equal_cost_ports
from fabric.units import PS_PER_S
from fabric.workload.ideal import base_rtt_ps

G: Final = 10**9
ONE: Final = "remove one of them"
Problems = list[tuple[str, str, str]]


def compiled(transport: dict[str, Any], **changes: object) -> CompiledScenario:
    raw: dict[str, Any] = {
        "name": "test",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "400G",
        },
        "transport": transport,
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "1MB"}],
        "run": {"duration": "10ms"},
    }
    return compile_scenario(build_scenario({**raw, **changes}, Path("test.yml")))


def refused(transport: dict[str, Any], **changes: object) -> Problems:
    with pytest.raises(InputErrors) as caught:
        compiled(transport, **changes)
    return [(it.path.partition(": ")[2], it.text, it.hint) for it in caught.value.problems]


def test_the_defaults_are_a_window_of_one_bdp_and_one_packet_per_round_trip() -> None:
    case = compiled({"cc": "dctcp"})
    transport = case.params.transport
    rtt_ps = int(base_rtt_ps(case.fabric, case.params, equal_cost_ports(case.fabric)).max())
    assert transport.congestion_control is CongestionControl.DCTCP
    assert transport.dcqcn is None
    assert transport.dctcp is not None
    assert (transport.dctcp.gain_ratio, transport.dctcp.initial_alpha_ratio) == (1 / 16, 1.0)
    assert transport.dctcp.additive_bps == -(-4096 * 8 * PS_PER_S // rtt_ps)
    assert transport.window_bytes == pytest.approx(100 * G * rtt_ps / PS_PER_S / 8, abs=1)
    assert transport.variable_window
    assert case.card["dctcp"]["additive_bps"] == transport.dctcp.additive_bps
    assert case.card["dcqcn"] is None


@pytest.mark.parametrize(
    ("written", "window", "variable"),
    [
        ({"window": "200KB"}, 200_000, True),
        ({"window": "200KB", "variable_window": False}, 200_000, False),
        ({"window": "off"}, 0, False),
    ],
)
def test_a_written_window_is_kept(written: dict[str, Any], window: int, variable: bool) -> None:
    transport = compiled({"cc": "dctcp", **written}).params.transport
    assert (transport.window_bytes, transport.variable_window) == (window, variable)


def test_written_numbers_are_kept() -> None:
    mine = {"gain": 0.5, "initial_alpha": 0.25, "additive": "615M", "min_rate": "1G"}
    found = compiled({"cc": "dctcp", "dctcp": mine}).params.transport.dctcp
    assert found is not None
    assert (found.gain_ratio, found.initial_alpha_ratio, found.additive_bps, found.min_rate_bps) == (
        0.5,
        0.25,
        615 * 10**6,
        G,
    )


def test_selective_repeat_has_the_window_that_it_needs() -> None:
    assert compiled({"cc": "dctcp", "recovery": "selective"}).params.transport.window_bytes > 0


@pytest.mark.parametrize(
    ("transport", "problems"),
    [
        ({"dctcp": {"gain": 0.5}}, [("transport.dctcp", "has no effect with cc: dcqcn", ONE)]),
        ({"cc": "none", "dctcp": {"gain": 0.5}}, [("transport.dctcp", "has no effect with cc: none", ONE)]),
        ({"cc": "dctcp", "dcqcn": "mlx5"}, [("transport.dcqcn", "has no effect with cc: dctcp", ONE)]),
        ({"cc": "none", "dcqcn": "mlx5"}, [("transport.dcqcn", "has no effect with cc: none", ONE)]),
        ({"dctcp": {}}, [("transport.dctcp", "has no effect with cc: dcqcn", ONE)]),
        ({"cc": "dctcp", "dcqcn": "paper-2015"}, [("transport.dcqcn", "has no effect with cc: dctcp", ONE)]),
        ({"cc": "dctcp", "dcqcn": {"gain": 0.1}}, [("transport.dcqcn", "has no effect with cc: dctcp", ONE)]),
        (
            {"cc": "dctcp", "cnp_dscp": 46},
            [("transport.cnp_dscp", "has no effect with cc: dctcp: no host sends CNPs", "remove it")],
        ),
        (
            {"cc": "dctcp", "ack_every": 8},
            [
                (
                    "transport.ack_every",
                    "has no effect with a window that varies with the rate: every packet requests its ACK",
                    "remove it, or use variable_window: false",
                )
            ],
        ),
        (
            {"cc": "dctcp", "window": "off", "variable_window": True},
            [("transport.variable_window", "has no effect without window", "give a size such as '1MB'")],
        ),
        (
            {"cc": "dctcp", "window": "off", "recovery": "selective"},
            [("transport.recovery", "selective keeps a bitmap of the window", "give window a size such as '1MB'")],
        ),
        (
            {"cc": "dctcp", "dctcp": {"min_rate": "100G"}},
            [
                (
                    "transport.dctcp.min_rate",
                    "100G is not below the 100G of the slowest NIC: no mark would slow it",
                    "give a lower rate, or transport.cc: none",
                )
            ],
        ),
        (
            {"cc": "dctcp", "dcqcn": "simai", "cnp_dscp": 46},
            [
                ("transport.dcqcn", "has no effect with cc: dctcp", "remove one of them"),
                ("transport.cnp_dscp", "has no effect with cc: dctcp: no host sends CNPs", "remove it"),
            ],
        ),
    ],
)
def test_an_option_that_does_nothing_is_an_error(transport: dict[str, Any], problems: Problems) -> None:
    assert refused(transport) == problems


@pytest.mark.parametrize(
    "transport",
    [
        {"cc": "dctcp", "cnp_dscp": 48},
        {"cc": "dctcp", "dctcp": {"gain": 0.0625, "additive": "auto"}},
        {"cc": "dctcp", "dctcp": {"min_rate": "99G"}},
    ],
)
def test_a_default_that_is_written_out_has_no_effect(transport: dict[str, Any]) -> None:
    compiled(transport)


@pytest.mark.parametrize(
    "numbers",
    [
        {"gain": 0},
        {"gain": 1},
        {"initial_alpha": 1.01},
        {"initial_alpha": -0.01},
        {"additive": "0G"},
        {"additive": "off"},
        {"min_rate": "999K"},
        {"g": 0.5},
    ],
)
def test_numbers_beyond_their_bounds_are_refused(numbers: dict[str, Any]) -> None:
    found = [path for path, _, _ in refused({"cc": "dctcp", "dctcp": numbers})]
    assert found == [f"transport.dctcp.{name}" for name in numbers]


def test_the_ns3_model_has_run_pys_numbers_and_no_first_alpha() -> None:
    found = compiled({"cc": "dctcp", "dctcp": {"gain": 0.5}}, model="hpcc-ns3").params.transport
    assert found.congestion_control is CongestionControl.NS3_DCTCP
    assert found.dctcp == DctcpParams(0.5, 1.0, 615 * 10**6, G)
    problems = refused({"cc": "dctcp", "dctcp": {"initial_alpha": 0.5}}, model="hpcc-ns3")
    text = "is 1 in model hpcc-ns3"
    assert ("transport.dctcp.initial_alpha", text, "remove it, or use model: asic") in problems


def test_the_named_curve_is_a_step_that_grows_with_the_rate() -> None:
    assert ecn_curve("dctcp", 25 * G) == EcnParams(75_000, 75_001, 1.0)
    assert ecn_curve("dctcp", 100 * G).kmin_bytes == 300_000


def test_every_parameter_is_shown_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "show", "dctcp", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["dctcp"]
    assert [row["name"] for row in rows] == list(Dctcp.model_fields) == list(SOURCES)
    assert all(row["source"] for row in rows)


def test_null_is_no_congestion_control() -> None:
    for written in ({}, {"cc": "dctcp"}):
        with pytest.raises(InputErrors, match=r"null is no congestion control") as caught:
            apply_overrides({"transport": written}, ["transport.cc=null"])
        assert "write none" in caught.value.problems[0].hint


def test_null_removes_a_field_that_is_written() -> None:
    assert apply_overrides({"transport": {"window": "1MB"}}, ["transport.window=null"]) == {"transport": {}}
    with pytest.raises(InputErrors, match=r"removes nothing: the field is not written"):
        apply_overrides({"transport": {}}, ["transport.window=null"])
