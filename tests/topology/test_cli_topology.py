from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric.cli.main import main
from tests.topology.conftest import SMALL, fabric_of

SETS = [
    "--kind",
    "leaf-spine",
    "--set",
    "leaves=2",
    "--set",
    "topology.spines=2",
    "--set",
    "hosts_per_leaf=4",
    "--set",
    "host_rate=100G",
    "--set",
    "fabric_rate=200G",
]

SCENARIO = """
name: x
topology:
  kind: leaf-spine
  leaves: 2
  spines: 2
  hosts_per_leaf: 16
  host_rate: 100G
  fabric_rate: 400G
"""


def test_show_prints_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "show", *SETS]) == 0
    out = capsys.readouterr().out
    for part in ("8 hosts, 2 leaves, 2 spines, 12 cables", "host - leaf", "1:1", "diameter", "bisection"):
        assert part in out


def test_show_json_holds_the_same_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "show", *SETS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["nodes"] == {"host": 8, "leaf": 2, "spine": 2}
    assert found["diameter_hops"] == 4
    assert found["bisection"] == {"rate_bps": 400_000_000_000, "exact": True, "per_host_ratio": 1.0}


def test_show_draws_to_the_given_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="drawing needs the extra `plot`")
    assert main(["topology", "show", *SETS, "--draw", str(tmp_path / "x.svg")]) == 0
    assert "leaf1" in (tmp_path / "x.svg").read_text()
    capsys.readouterr()


def test_check_exits_1_on_a_warning_and_0_on_notes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "check", *SETS]) == 0
    assert main(["topology", "check", *SETS, "--strict"]) == 1
    capsys.readouterr()
    (tmp_path / "s.yml").write_text(SCENARIO)
    assert main(["topology", "check", str(tmp_path / "s.yml")]) == 1
    assert "2:1 at the leaf tier (1.6T down, 800G up)" in capsys.readouterr().out
    assert main(["topology", "check", str(tmp_path / "s.yml"), "--max-oversubscription", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"]


def test_only_the_topology_of_a_scenario_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yml").write_text(SCENARIO + "workload: {kind: nonsense}\n")
    assert main(["topology", "show", str(tmp_path / "s.yml"), "--set", "leaves=3"]) == 0
    assert "3 leaves" in capsys.readouterr().out


def test_a_file_that_is_a_topology_itself_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.yml").write_text(
        "kind: dual-tor\nracks: 1\nhosts_per_rack: 2\nspines: 2\nhost_rate: 25G\nfabric_rate: 100G\n"
    )
    assert main(["topology", "show", str(tmp_path / "t.yml")]) == 0
    assert "2 hosts, 2 leaves, 2 spines" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "ending"), [("graphml", "graphml"), ("node-link", "json"), ("containerlab", "clab.yml")]
)
def test_what_export_writes_show_reads(
    kind: str, ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / f"x.{ending}")
    assert main(["topology", "export", *SETS, "--format", kind, "-o", file]) == 0
    assert capsys.readouterr().out == ""
    assert main(["topology", "show", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == fabric_of(**SMALL["leaf-spine"]).name


def test_export_without_a_file_writes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "export", *SETS, "--format", "netlab"]) == 0
    assert capsys.readouterr().out.startswith("name: leaf-spine\nprovider: clab\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["show"], "neither a file nor --kind is given"),
        (["show", "x.yml", "--kind", "rail"], "both given"),
        (["show", "nowhere.yml"], "nowhere.yml"),
        (["show", "--kind", "leaf-spine", "--set", "spins=2"], "did you mean 'spines'?"),
        (["show", *SETS, "--set", "leaves"], "is not path=value"),
        (["show", *SETS, "--set", "host_rate=100"], "100 has no unit"),
        (["show", *SETS, "--draw", "x.gif"], "use one of .svg, .png, .pdf"),
        (["check", *SETS, "--max-oversubscription", "0"], "is not a ratio above 0"),
        (["export", *SETS], "--format"),
        (["sow"], "is no choice"),
        (["export", *SETS, "--format", "netlab", "-o", "/nonexistent/x"], "/nonexistent/x"),
    ],
)
def test_bad_input_is_named_and_exits_2_without_a_traceback(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topology", *words]) == 2
    captured = capsys.readouterr()
    assert expected in captured.err
    assert "Traceback" not in captured.err
