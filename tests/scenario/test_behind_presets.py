"""The numbers behind presets are printed with the resolved scenario, and one of them can be set alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from fabric.cli.main import main
from fabric.dataplane.state.params import EcnParams
from fabric.errors import InputErrors
from fabric.scenario.compile.curves import curve_of
from fabric.scenario.compile.layers import merge
from fabric.scenario.compile.scenario import compile_scenario, place
from fabric.scenario.load import load_scenario
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS, dcqcn_params, scaled
from fabric.scenario.presets.models import ecn_curve
from fabric.scenario.resolved import resolved
from fabric.scenario.schema.switches import EcnCurve, SwitchSettings
from fabric.units import parse_rate_bps
from tests.conftest import ROOT

INCAST = ROOT / "scenarios/incast.yml"
RATE = 100 * 10**9
MODEL = {"asic": [], "hpcc-ns3": ["model=hpcc-ns3", "switches.asic=null"]}


def shown(output: Callable[[], str], *sets: str) -> tuple[dict[str, Any], list[str]]:
    words = [word for it in sets for word in ("--set", it)]
    assert main(["scenario", "show", str(INCAST), "--resolved", *words]) == 0
    text = output()
    return yaml.safe_load(text), [line for line in text.splitlines() if line.startswith("#")]


@pytest.mark.parametrize("name", DCQCN_PRESETS)
def test_the_comments_have_every_value_of_the_preset(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    tree, comments = shown(lambda: capsys.readouterr().out, f"transport.dcqcn={name}")
    assert tree["transport"]["dcqcn"] == name
    values = dict(line[1:].strip().split(": ", 1) for line in comments if line.startswith("#     ") and "{" not in line)
    params = scaled(DCQCN_PRESETS[name], RATE)
    assert parse_rate_bps(values["additive"]) == params.additive_bps
    assert parse_rate_bps(values["min_rate"]) == params.min_rate_bps
    assert values["fast_recovery_steps"] == str(params.fast_recovery_steps)
    assert "# " in comments[-1]
    assert "100G: {kmin: 400KB, kmax: 1600KB, pmax: 0.2}" in "".join(comments)


def test_one_value_of_a_named_preset_is_set_alone() -> None:
    sets = ["transport.dcqcn=hpcc-dcqcn", "transport.dcqcn.min_rate=100M"]
    found = dcqcn_params(load_scenario(INCAST, sets).transport, RATE)
    base = scaled(DCQCN_PRESETS["hpcc-dcqcn"], RATE)
    assert found.min_rate_bps == 10**8
    assert found.additive_bps == base.additive_bps
    assert found.gain_ratio == base.gain_ratio


def test_a_value_that_was_set_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    _, comments = shown(lambda: capsys.readouterr().out, "transport.dcqcn.min_rate=100M")
    assert "#     min_rate: 100M  (written)" in comments


def test_the_resolved_scenario_with_its_comments_is_the_same_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    tree, _ = shown(lambda: capsys.readouterr().out)
    scenario = load_scenario(INCAST, [])
    assert tree == resolved(scenario, place(scenario).fabric)


@pytest.mark.parametrize("model", ["asic", "hpcc-ns3"])
@pytest.mark.parametrize("name", ["hpcc", "sonic", "dctcp", "paper-2015"])
def test_one_value_of_a_named_curve_is_set_alone(name: str, model: str) -> None:
    base = ecn_curve(name, RATE)
    for written in (
        [f"switches.ecn={name}", "switches.ecn.kmax=9MB"],
        [f"switches.ecn={{preset: {name}, kmax: 9MB}}"],
        ["switches.ecn={kmin: 1KB, kmax: 2KB, pmax: 0.5}", f"switches.ecn={{preset: {name}, kmax: 9MB}}"],
    ):
        scenario = load_scenario(INCAST, [*MODEL[model], *written])
        found = scenario.switches.ecn
        assert isinstance(found, EcnCurve)
        assert curve_of(found, RATE) == EcnParams(base.kmin_bytes, 9_000_000, base.pmax_ratio)


def test_an_override_starts_from_its_own_preset_and_not_from_the_curve_below() -> None:
    base = EcnCurve.model_validate({"kmin": "1KB", "kmax": "2KB", "pmax": 0.5})
    one = SwitchSettings(ecn=base)
    other = SwitchSettings.model_validate({"ecn": {"preset": "dctcp", "pmax": 0.25}})
    found = merge(one, other).ecn
    named = ecn_curve("dctcp", RATE)
    assert curve_of(found, RATE) == EcnParams(named.kmin_bytes, named.kmax_bytes, 0.25)


def test_three_values_replace_a_named_curve() -> None:
    sets = ["switches.ecn=dctcp", "switches.ecn.kmin=1KB", "switches.ecn.kmax=2KB", "switches.ecn.pmax=0.5"]
    assert curve_of(load_scenario(INCAST, sets).switches.ecn, RATE) == EcnParams(1000, 2000, 0.5)


def test_a_part_of_no_curve_names_what_is_missing_and_the_presets() -> None:
    with pytest.raises(InputErrors, match="kmin and pmax are missing") as caught:
        load_scenario(INCAST, ["switches.ecn={kmax: 2MB}"])
    assert "preset" in str(caught.value)


@pytest.mark.parametrize(
    ("model", "where"), [("asic", "switches.ecn"), ("asic", "switches.ecn_by_queue"), ("hpcc-ns3", "switches.ecn")]
)
def test_a_value_that_does_not_fit_its_preset_is_named_with_the_rate(model: str, where: str) -> None:
    curve = "{preset: hpcc, kmax: 300KB}"
    value = curve if where.endswith("ecn") else f"{{3: {curve}}}"
    with pytest.raises(InputErrors, match=r"kmin \(400KB\) is not below kmax \(300KB\).*100G"):
        compile_scenario(load_scenario(INCAST, [*MODEL[model], f"{where}={value}"]))
