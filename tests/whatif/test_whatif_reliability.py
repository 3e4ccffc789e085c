"""Reliability of many parts, and the best interval of checkpoints, against published values."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.theory import checkpointing, series_system
from fabric.topology.registry import build_topology, parse_topology
from fabric.whatif.reliability import Figure, mtbf_h, parts_of

SPEC = {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 3, "host_rate": "100G", "fabric_rate": "100G"}


def test_a_thousand_parts_of_three_nines_work_together_in_37_percent() -> None:
    assert series_system.all_work(0.999, 1000) == pytest.approx(0.3677, abs=1e-4)
    assert series_system.all_work(series_system.needed_each(0.9, 50), 50) == pytest.approx(0.9)


@pytest.mark.parametrize(("mtbf_min", "best_min"), [(24 * 60, 117), (6 * 60, 57), (15, 9.1)])
def test_the_interval_is_that_of_the_examples_of_daly(mtbf_min: float, best_min: float) -> None:
    """Daly 2006, figures 3 to 5: a dump takes 5 min, a restart 10 min."""
    found = checkpointing.daly_interval(5, mtbf_min)
    assert found == pytest.approx(best_min, rel=0.01)
    if mtbf_min > 60:  # the perturbation is for dumps that are short against the MTBF
        at_best = checkpointing.expected_ratio(found, 5, 10, mtbf_min)
        assert at_best <= checkpointing.expected_ratio(found * 0.97, 5, 10, mtbf_min)
        assert at_best <= checkpointing.expected_ratio(found * 1.03, 5, 10, mtbf_min)


def test_the_interval_of_young_and_its_limits() -> None:
    assert checkpointing.young_interval(2, 100) == 20
    assert checkpointing.daly_interval(2, 1) == 1
    assert checkpointing.daly_interval(1.99, 1) != 1
    assert checkpointing.expected_ratio(1e9, 1, 1, 1) == math.inf
    assert checkpointing.lost_share(1e9, 1, 1, 1) == 1


def test_rates_add_and_only_parts_that_cut_hosts_off_stop_a_job() -> None:
    fabric = build_topology(parse_topology(SPEC))
    parts = parts_of(fabric, {"switch": Figure(1000, "test"), "host": Figure(1200, "test")})
    by = {(it.kind, it.where): (it.count, it.stops) for it in parts}
    assert by == {
        ("switch", "leaf"): (4, True),
        ("switch", "spine"): (2, False),
        ("optic", "leaf - spine"): (16, False),  # host cables of 3 m are copper
        ("cable", "host - leaf"): (12, True),
        ("cable", "leaf - spine"): (8, False),
        ("nic", "host"): (12, True),
        ("host", "host"): (12, True),
    }
    assert mtbf_h(parts, stopping=False) == pytest.approx(1 / (6 / 1000 + 12 / 1200))
    assert mtbf_h(parts, stopping=True) == pytest.approx(1 / (4 / 1000 + 12 / 1200))


def test_the_command_prints_figures_with_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yml"
    file.write_text(
        json.dumps(
            {
                "name": "s",
                "topology": SPEC,
                "workload": [{"kind": "permutation", "size": "1KB"}],
                "run": {"duration": "1ms"},
            }
        ),
        encoding="utf-8",
    )
    assert main(["reliability", str(file), "--checkpoint-time", "2min", "--interval", "1h", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert next(it["interval"] for it in found["checkpoints"]["checkpoints"]) == "best (Daly 2006)"
    assert "No figure for cable and optic" in found["reasons"][0]
    assert all(it["source"] for it in found["parts"]["parts"])


def test_wrong_options_are_named_together(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reliability", "--parts", "0", "--mtbf", "lamp=3", "--interval", "1 hour"]
    assert main(words) == 2
    told = capsys.readouterr().err
    for text in ("belong together", "0 parts are not possible", "PART=HOURS", "--interval"):
        assert text in told
