"""`fabric explain probes`: cables that lose or delay probes, beside what the counters say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric.cli.main import main
from telemetry.sources.probe_mesh import Suspect, suspects
from tests.diagnosis.conftest import played, scenario

SILENT = {"kind": "drop-every", "port": "leaf3:Ethernet16", "every": 10, "at": "500us"}
PROBES = [
    {"name": f"probes-{shift}", "kind": "permutation", "shift": shift, "size": "64B", "repeat": 40, "interval": "100us"}
    for shift in (1, 4, 8)
]


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One frame in ten towards leaf3 from spine1 vanishes."""
    data = scenario(SILENT, workload=PROBES, transport={"qp": {"per": "pair", "count": 4}, "retransmit_timeout": "1ms"})
    return played(tmp_path_factory.mktemp("probes"), data).path


def test_the_cable_that_loses_probes_is_the_suspect_and_counters_agree(
    lossy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "probes", str(lossy), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["probes"]["suspects"]
    assert [(it["from"].partition(":")[0], it["to"]) for it in found if it["what"] == "loses"][:1] == [
        ("spine1", "leaf3:Ethernet16")
    ]
    assert found[0]["counters"].startswith("silent-loss at ")


def test_a_fabric_without_a_fault_has_no_suspect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = played(tmp_path, scenario(workload=PROBES)).path
    assert main(["explain", "probes", str(run)]) == 0
    assert "no cable loses or delays them" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "text"),
    [(["--workload", "probes-2"], "no entry 'probes-2' sent messages"), (["--workload", "probes-1"], "")],
)
def test_an_entry_is_chosen_by_its_name(
    lossy: Path, words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "probes", str(lossy), *words]) == (2 if text else 0)
    assert text in capsys.readouterr().err


def test_large_messages_are_no_probes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = played(tmp_path, scenario()).path
    assert main(["explain", "probes", str(run)]) == 2
    assert "no message of at most 1024 B" in capsys.readouterr().err


def test_same_leaf_probes_part_a_host_from_the_cables_beyond_it() -> None:
    own, far = ("h1", "leaf1:h2"), ("h1", "leaf1:s", "s:leaf2", "leaf2:h3")
    near = [own] * 20 + [far] * 20 + [("h4", "leaf1:h2")] * 20
    by_host = list(suspects(near, [True] * 10 + [False] * 10 + [True] * 10 + [False] * 30))
    assert by_host == [Suspect("h1", 20, 40)]
    [beyond] = suspects(near, [False] * 20 + [True] * 10 + [False] * 30)
    assert {beyond.port, *beyond.alike} == set(far[1:])


def test_few_bad_probes_and_losses_everywhere_make_no_suspect() -> None:
    paths = [("a", "b")] * 50 + [("c", "d")] * 50
    assert list(suspects(paths, [True, True] + [False] * 98)) == []
    assert list(suspects(paths, [True, False] * 50)) == []
