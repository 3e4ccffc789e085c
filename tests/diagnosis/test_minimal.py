"""`fabric explain minimal`: the smallest scenario that still has a root cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.cli.main import main
from fabric.runs.rundir import RunDir
from fabric.scenario.compile.scenario import admitted_fabric
from fabric.scenario.load import build_scenario
from telemetry.diagnosis.root import Kind, Root
from telemetry.sources import minimal as search
from telemetry.sources.roots import roots_of
from tests.diagnosis.conftest import played, scenario

HOLE = {"name": "hole", "kind": "route", "switches": ["leaf1"], "hosts": ["host5"], "via": [], "at": "500us"}
NOISE = {"name": "noise", "kind": "config-drift", "ports": "leaf3:*", "dynamic_th": -2, "at": "1ms"}
LOAD = [
    {"name": "row", "kind": "permutation", "size": "16KB", "shift": 4, "repeat": 30, "interval": "100us"},
    {"name": "beside", "kind": "permutation", "size": "4KB", "shift": 3, "repeat": 10, "interval": "200us"},
]
RUN = {"duration": "4ms", "stop": "duration"}


@pytest.fixture(scope="module")
def hole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One destination is discarded at leaf1; a change elsewhere and a second load have nothing to do with it."""
    return played(tmp_path_factory.mktemp("minimal"), scenario(HOLE, NOISE, workload=LOAD, run=RUN)).path


@pytest.mark.slow
def test_the_smallest_scenario_has_the_root_and_nothing_else(
    hole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "small.yml"
    words = ["explain", "minimal", str(hole), "--out", str(out), "--runs", "200", "--quiet", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)["minimal"]
    assert (found["kind"], found["place"], found["complete"], found["twin_checked"]) == (
        "black-hole",
        "leaf1",
        True,
        True,
    )
    data = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert [it["kind"] for it in data["faults"]] == ["route"]
    assert len(data["workload"]) == 1
    assert data["topology"]["leaves"] * data["topology"]["hosts_per_leaf"] <= 4
    run = tmp_path / "again"
    assert main(["run", str(out), "--out", str(run), "--quiet"]) in (0, 1)
    assert [(it.kind, it.device) for it in roots_of(RunDir.open(run)) if it.rank == 0] == [(Kind.BLACK_HOLE, "leaf1")]
    again = ["explain", "minimal", str(run), "--out", str(tmp_path / "twice.yml"), "--runs", "200", "--quiet", "--json"]
    assert main(again) == 0
    same = yaml.safe_load((tmp_path / "twice.yml").read_text(encoding="utf-8"))
    assert {**same, "name": ""} == {**data, "name": ""}


def test_the_place_of_a_root_about_equal_cost_links_is_their_tiers() -> None:
    topology = {"kind": "clos3", "pods": 2, "leaves_per_pod": 2, "spines_per_pod": 2, "super_spines": 2, "core": "full",
                "hosts_per_leaf": 2, "host_rate": "25G", "fabric_rate": "50G"}  # fmt: skip
    fabric = admitted_fabric(build_scenario(scenario(topology=topology), Path("x.yml")))

    def target(kind: Kind, device: str, towards: str) -> object:
        ports = fabric.by_name[device].ports
        port = next(fabric.ports[it].name for it in ports if fabric.peer_of(it).name == towards)
        return search._target(Root(kind, device, 0, 1, (), port, 3), fabric)

    up, other = ("p1-spine1", "superspine1"), ("p2-spine2", "superspine2")
    assert target(Kind.POLARISED, *up) == target(Kind.POLARISED, *other)
    assert target(Kind.POLARISED, *up) != target(Kind.ELEPHANTS, *up)
    assert target(Kind.POLARISED, *up) != target(Kind.POLARISED, "p1-leaf1", "p1-spine1")
    assert target(Kind.ECN_WRONG, *up) != target(Kind.ECN_WRONG, *other)


def test_the_number_of_runs_bounds_the_search(hole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "small.yml"
    assert main(["explain", "minimal", str(hole), "--out", str(out), "--runs", "5", "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)["minimal"]
    assert (found["runs"], found["complete"], found["kind"]) == (5, False, "black-hole")
    assert "run 3 of at most 5: without fault noise" in said.err
    data = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert [it["name"] for it in data["faults"]] == ["hole"]
    assert out.read_text(encoding="utf-8").startswith("# Smallest scenario found that still has black-hole at leaf1.")


def test_an_interrupt_keeps_the_best_so_far(
    hole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    count, real = 0, search.sampled

    def interrupted(*args: Any) -> Any:  # noqa: ANN401  as sampled()
        nonlocal count
        count += 1
        if count > 4:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(search, "sampled", interrupted)
    out = tmp_path / "small.yml"
    assert main(["explain", "minimal", str(hole), "--out", str(out), "--quiet"]) == 130
    assert "interrupted" in capsys.readouterr().out
    assert [it["name"] for it in yaml.safe_load(out.read_text(encoding="utf-8"))["faults"]] == ["hole"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--root", "9"], "there is no root 9"),
        (["--root", "0"], "there is no root 0"),
        (["--runs", "1"], "1 is too few"),
        (["--out", "scenario.yml"], "exists"),
    ],
)
def test_wrong_options_name_their_remedy(
    hole: Path, options: list[str], text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(hole.parent)
    assert main(["explain", "minimal", str(hole), *options]) == 2
    assert text in capsys.readouterr().err


def test_a_run_without_a_root_has_nothing_to_make_smaller(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = played(tmp_path, scenario(workload=LOAD, run=RUN)).path
    assert main(["explain", "minimal", str(run), "--out", str(tmp_path / "small.yml")]) == 2
    assert "no metric of this run shows a fault" in capsys.readouterr().err


def test_files_that_the_scenario_names_go_with_it(tmp_path: Path) -> None:
    source = tmp_path / "from" / "scenario.yml"
    source.parent.mkdir()
    (source.parent / "sizes.cdf").write_text("1000 50\n2000 100\n", encoding="utf-8")
    data = {"topology": {"kind": "custom"}, "workload": [{"kind": "poisson", "sizes": "file", "cdf": "sizes.cdf"}]}
    out = tmp_path / "to" / "small.yml"
    assert list(search.files_named(data)) == ["sizes.cdf"]
    search.copy_files(data, source.parent, out.parent)
    assert (out.parent / "sizes.cdf").read_text(encoding="utf-8") == "1000 50\n2000 100\n"
