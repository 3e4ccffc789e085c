"""A link that is slower than its peers from the start is the root of a slow collective, and its look-alikes are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from fabric.cli.main import main
from tests.diagnosis.conftest import Diagnose

Capture = pytest.CaptureFixture[str]
SLOW: Final = [{"a": "leaf3", "b": "spine*", "rate": "100G"}]


def ring(overrides: list[dict[str, str]] | None = None, **changes: Any) -> dict[str, Any]:  # noqa: ANN401  sections
    """A ring all-reduce over 16 hosts of four leaves."""
    topology = {
        "kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4, "host_rate": "400G", "fabric_rate": "400G",
    }  # fmt: skip
    return {
        "name": "ring",
        "topology": topology | {"link_overrides": overrides or []} | changes.pop("topology", {}),
        "workload": [{"kind": "collective", "operation": "all-reduce", "algorithm": "ring", "size": "8MB"}],
        "telemetry": {"interval": "20us"},
        "run": {"duration": "10ms"},
    } | changes  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slow")
    (folder / "scenario.yml").write_text(yaml.safe_dump(ring(SLOW)), encoding="utf-8")
    assert main(["run", str(folder / "scenario.yml"), "--out", str(folder / "run"), "--quiet"]) == 0
    return folder / "run"


def test_slow_uplinks_of_one_leaf_are_the_root_of_a_slow_ring(run: Path, capsys: Capture) -> None:
    assert main(["explain", "roots", str(run), "--json"]) == 0
    [root] = json.loads(capsys.readouterr().out)["roots"]["roots"]
    assert (root["kind"], root["device"], root["members"]) == ("slow-link", "leaf3", ["spine1", "spine2"])
    assert root["port"] in {"Ethernet16", "Ethernet20"}
    assert main(["explain", "roots", str(run)]) == 0
    said = capsys.readouterr().out
    assert "leaf3: its 2 cables at Ethernet16, Ethernet20 have 100G each where those of its peers have 400G" in said
    assert "fabric topology check" in said


def test_a_step_names_them_first_and_is_faster_with_the_rate_of_their_peers(run: Path, capsys: Capture) -> None:
    assert main(["explain", "step", str(run), "--without", "slow-links", "--quiet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    first = found["causes"]["causes"][0]
    assert first["cause"].startswith("slow link leaf3:")
    assert "(100Gbit/s where its peers have 400Gbit/s)" in first["cause"]
    [without] = found["without"]["without"]
    assert "leaf3" in without["without"]
    assert without["change_ratio"] < -0.4
    assert -without["change_ratio"] == pytest.approx(first["share_ratio"], abs=0.2)


def test_the_run_and_the_check_say_it_in_one_line(run: Path, capsys: Capture) -> None:
    scenario = run.parent / "scenario.yml"
    text = "leaf3: its 2 cables at Ethernet16, Ethernet20 have 100G each where those of its peers have 400G"
    assert main(["scenario", "check", str(scenario)]) == 0
    [line] = [it for it in capsys.readouterr().out.splitlines() if text in it]
    assert f"fabric topology check {scenario}" in line
    assert main(["run", str(scenario), "--out", str(run.parent / "again")]) == 0
    told = capsys.readouterr()
    assert [it for it in told.err.splitlines() if text in it]
    lines = told.out.splitlines()
    assert lines[1].startswith("  ! a link is slower than its peers: leaf3:")
    assert [it for it in lines if text in it and "see `fabric topology check`" in it]
    assert main(["topology", "check", str(scenario)]) == 1
    assert "its 2 cables at Ethernet16, Ethernet20 have 100G each" in capsys.readouterr().out


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(ring(), id="healthy"),
        pytest.param(ring([{"a": "leaf*", "b": "spine*", "rate": "100G"}]), id="uniform"),
        pytest.param(
            ring(faults=[{"kind": "link-rate", "link": "leaf3--spine*", "rate": "100G", "at": "1us"}]), id="lanes lost"
        ),
        pytest.param(
            ring(topology={"host_rates": ["400G", "200G"], "host_rate": None}), id="mixed hosts", marks=pytest.mark.slow
        ),
        pytest.param(
            ring(topology={"links_per_pair": 2, "fabric_rate": "200G"}), id="parallel cables", marks=pytest.mark.slow
        ),
        pytest.param(
            ring(SLOW, workload=[{"kind": "collective", "operation": "all-reduce", "algorithm": "ring", "size": "8MB",
                                  "hosts": ["host[1-8]"]}]),
            id="not on the way", marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_look_alikes_are_no_slow_links(data: dict[str, Any], diagnosed: Diagnose) -> None:
    topology = {name: value for name, value in data["topology"].items() if value is not None}
    assert [it.kind for it in diagnosed(data | {"topology": topology}) if it.kind == "slow-link"] == []


def test_a_slow_cable_of_one_host_is_named_at_the_host(diagnosed: Diagnose) -> None:
    roots = diagnosed(ring([{"a": "host6", "b": "leaf2", "rate": "100G"}]))
    assert [(it.kind.value, it.place, it.members) for it in roots if it.rank < 2] == [
        ("slow-link", "host6:eth0", ("leaf2",))
    ]


@pytest.mark.parametrize(
    ("uplinks", "spines"),
    [(1, 2), pytest.param(2, 3, marks=pytest.mark.slow), pytest.param(2, 2, marks=pytest.mark.slow)],
)
def test_full_uplinks_of_one_switch_with_fewer_than_its_peers_are_told_as_such(
    uplinks: int, spines: int, diagnosed: Diagnose
) -> None:
    nodes = [{"name": f"l{leaf}", "role": "leaf"} for leaf in range(4)]
    nodes += [{"name": f"s{spine}", "role": "spine"} for spine in range(spines)]
    nodes += [{"name": f"h{host}", "role": "host"} for host in range(16)]
    links = [{"a": f"h{host}", "b": f"l{host // 4}", "rate": "100G", "cable": "2m"} for host in range(16)]
    links += [
        {"a": f"l{leaf}", "b": f"s{spine}", "rate": f"{400 // spines}G", "cable": "20m"}
        for leaf in range(4)
        for spine in range(uplinks if leaf == 2 else spines)
    ]
    found = diagnosed(
        {
            "name": "fewer",
            "topology": {"kind": "custom", "nodes": nodes, "links": links},
            "switches": {"asic": "trident3"},
            "transport": {"cc": "dctcp", "qp": {"per": "pair", "count": 8}},
            "workload": [{"kind": "permutation", "size": "1MB", "shift": 4, "repeat": 20, "interval": "1ns"}],
            "telemetry": {"interval": "200us", "events": []},
            "run": {"duration": "3ms", "stop": "duration"},
        }
    )
    titles = {it.meaning.title for it in found if it.kind == "oversubscription"}
    assert titles == ({"the uplinks of one switch are full, and its peers have more of them for their hosts"}
                      if uplinks < spines else set())  # fmt: skip
