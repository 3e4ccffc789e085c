"""`transport.cc: timely` and `hpcc`: their parameters of the engine in both models, and the settings they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.cli.main import main
from fabric.dataplane.state.codes import CongestionControl
from fabric.dataplane.state.control_params import HpccParams, TimelyParams
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.scenario.presets import hpcc, timely
from fabric.topology.paths import equal_cost_ports
from fabric.workload.ideal import base_rtt_ps

G: Final = 10**9
ONE: Final = "remove one of them"


def compiled(transport: dict[str, Any], *, rate: str = "100G", **changes: object) -> CompiledScenario:
    raw: dict[str, Any] = {
        "name": "test",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 2,
            "host_rate": rate,
            "fabric_rate": "400G",
            "host_cable": "200m",
            "fabric_cable": "200m",
        },
        "transport": transport,
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "1MB"}],
        "run": {"duration": "10ms"},
    }
    return compile_scenario(build_scenario({**raw, **changes}, Path("test.yml")))


def refused(transport: dict[str, Any], **changes: Any) -> list[tuple[str, str, str]]:  # noqa: ANN401
    with pytest.raises(InputErrors) as caught:
        compiled(transport, **changes)
    return [(it.path.partition(": ")[2], it.text, it.hint) for it in caught.value.problems]


def test_timely_has_no_window_and_scales_with_the_slowest_nic() -> None:
    case = compiled({"cc": "timely"}, rate="25G")
    transport = case.params.transport
    assert transport.congestion_control is CongestionControl.TIMELY
    assert (transport.window_bytes, transport.dcqcn) == (0, None)
    assert transport.timely == TimelyParams(0.875, 0.8, 50_000, 500_000, 20_000, 25 * 10**6, 125 * 10**6, 10**8)
    assert case.card["timely"]["additive_bps"] == 25 * 10**6


def test_hpcc_has_a_window_of_one_bdp_that_varies_and_the_round_trip_of_the_fabric() -> None:
    case = compiled({"cc": "hpcc"})
    transport = case.params.transport
    rtt_ps = int(base_rtt_ps(case.fabric, case.params, equal_cost_ports(case.fabric)).max())
    assert transport.window_bytes == -(-rtt_ps * 100 * G // (8 * 10**12))
    assert transport.variable_window
    assert transport.hpcc == HpccParams(
        0.95, 4 * 10**7, 10**8, 0, True, False, False, 4, rtt_ps // 1000, transport.window_bytes
    )


@pytest.mark.parametrize(("cc", "extra"), [("timely", 8), ("hpcc", 42)])
def test_data_frames_and_answers_carry_its_telemetry_and_those_of_other_controls_do_not(cc: str, extra: int) -> None:
    mine, plain = compiled({"cc": cc}).params.frames, compiled({}).params.frames
    assert mine.data_header_bytes == plain.data_header_bytes + extra
    assert mine.ack_bytes == plain.ack_bytes + extra


def test_a_written_window_is_the_one_that_hpcc_weighs_queues_by() -> None:
    transport = compiled({"cc": "hpcc", "window": "50KB"}).params.transport
    assert transport.hpcc is not None
    assert (transport.window_bytes, transport.hpcc.window_bytes, transport.variable_window) == (50_000, 50_000, True)


def test_the_ns3_model_takes_run_pys_numbers_windows_and_acks() -> None:
    one = compiled({"cc": "timely"}, model="hpcc-ns3").params.transport
    assert one.timely is not None
    assert (one.timely.min_rate_bps, one.window_bytes, one.ack_strict_at_host) == (G, 0, True)
    two = compiled({"cc": "hpcc", "hpcc": {"min_rate": "2G"}}, model="hpcc-ns3").params.transport
    assert two.hpcc is not None
    # 4 x 1000 ns of cables both ways; 80 + 20 + 20 + 80 ns of payload
    assert (two.hpcc.base_rtt_ns, two.window_bytes, two.ack_strict_at_host) == (8200, 102_500, False)
    assert (two.hpcc.min_rate_bps, two.hpcc.additive_bps, two.hpcc.multiple) == (2 * G, 4 * 10**7, 4)


@pytest.mark.parametrize("model", ["asic", "hpcc-ns3"])
@pytest.mark.parametrize(
    ("transport", "expected"),
    [
        ({"timely": {"gain": 0.5}}, ("transport.timely", "has no effect with cc: dcqcn", ONE)),
        ({"hpcc": {"target": 0.9}}, ("transport.hpcc", "has no effect with cc: dcqcn", ONE)),
        ({"cc": "hpcc", "timely": {"gain": 0.5}}, ("transport.timely", "has no effect with cc: hpcc", ONE)),
        ({"cc": "timely", "dcqcn": "simai"}, ("transport.dcqcn", "has no effect with cc: timely", ONE)),
        (
            {"cc": "timely", "variable_window": True},
            ("transport.variable_window", "has no effect without window", "give a size such as '1MB'"),
        ),
        (
            {"cc": "hpcc", "window": "off"},
            ("transport.window", "off: HPCC weighs queues by the window", "remove it, or give a size"),
        ),
        (
            {"cc": "hpcc", "hpcc": {"min_rate": "100G"}},
            (
                "transport.hpcc.min_rate",
                "100G is not below the 100G of the slowest NIC: no load would slow it",
                "give a lower rate, or transport.cc: none",
            ),
        ),
        (
            {"cc": "timely", "timely": {"min_rate": "100G"}},
            (
                "transport.timely.min_rate",
                "100G is not below the 100G of the slowest NIC: no round trip would slow it",
                "give a lower rate, or transport.cc: none",
            ),
        ),
        (
            {"cc": "timely", "timely": {"low_rtt": "500us"}},
            (
                "transport.timely.low_rtt",
                "500us is not below high_rtt, 500us: no gradient would ever count",
                "give a lower low_rtt, or a higher high_rtt",
            ),
        ),
    ],
)
def test_options_without_effect_are_refused(
    model: str, transport: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    assert expected in refused(transport, model=model)


def test_a_speed_that_hpccs_telemetry_cannot_name_is_refused_by_the_simulators_model_only() -> None:
    (problem,) = refused({"cc": "hpcc"}, rate="40G", model="hpcc-ns3")
    assert problem[0] == "topology"
    assert "has 40G" in problem[1]
    assert "has codes for 25, 50, 100, 200 and 400G" in problem[1]
    compiled({"cc": "hpcc"}, rate="40G")


@pytest.mark.parametrize("name", ["timely", "hpcc"])
def test_every_parameter_has_a_source_and_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    preset = {"timely": timely, "hpcc": hpcc}[name]
    model = {"timely": timely.Timely, "hpcc": hpcc.Hpcc}[name]
    assert set(preset.SOURCES) == set(model.model_fields)
    assert main(["model", "show", name, "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)[name]] == list(preset.SOURCES)
