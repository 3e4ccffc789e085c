"""The numbers behind presets are printed with the resolved scenario, and one of them can be set alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from fabric.cli.main import main
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import place
from fabric.scenario.load import load_scenario
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS, dcqcn_params, scaled
from fabric.scenario.resolved import resolved
from fabric.units import parse_rate_bps
from tests.conftest import ROOT

INCAST = ROOT / "scenarios/incast.yml"
RATE = 100 * 10**9


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


def test_a_part_of_a_named_curve_says_where_its_numbers_are() -> None:
    with pytest.raises(InputErrors, match="has no parts") as caught:
        load_scenario(INCAST, ["switches.ecn=dctcp", "switches.ecn.kmax=2MB"])
    assert "--resolved" in caught.value.problems[0].hint
