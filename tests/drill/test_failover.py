"""A failover drill is the study of `fabric whatif`, told by what users felt."""

from __future__ import annotations

import re
import shlex
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fabric.cli import drill_failover
from fabric.cli.main import main
from fabric.render.console import PlainConsole
from fabric.render.document import Document, Section, Status
from fabric.render.json import to_json
from fabric.render.text import print_document
from fabric.runs.rundir import RunDir
from fabric.whatif import failover
from fabric.whatif.damage import Damage, Effect
from fabric.whatif.elements import ElementKind
from fabric.whatif.felt import Felt, felt
from fabric.whatif.results import Results
from fabric.whatif.study import Finding, place, study
from tests.whatif.whatif_small import Inline, question

GUIDE = Path(__file__).parents[2] / "docs/howto/drill.md"
SMALL = """\
name: small
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
workload: [{kind: permutation, size: 1MB, shift: 2}]
transport: {retransmit_timeout: 500us}
telemetry: {interval: 20us}
run: {duration: 10ms, reroute_delay: 100us}
"""


def test_every_kind_of_part_has_a_word() -> None:
    assert tuple(failover.PARTS) == drill_failover.PARTS
    assert set(failover.PARTS.values()) == set(ElementKind)


def test_what_users_felt_of_a_dead_leaf_and_of_a_dead_spine(tmp_path: Path) -> None:
    asked = question(kinds=("leaf", "spine"))
    found = study(asked, place(asked), Results(tmp_path / "drill", asked.identity(), resume=False), Inline())
    page = to_json(failover.compose(found))
    waited = {row["kind"]: row for row in page["ranking"]["waited"]}
    rows = {row["kind"]: row | waited[row["kind"]] for row in page["ranking"]["felt"]}
    assert list(rows) == ["leaf", "spine"]
    leaf, spine = rows["leaf"], rows["spine"]
    assert (leaf["effect"], leaf["hosts_cut"], leaf["recovery_ns"]) == ("breaks", 2, None)
    assert leaf["undelivered"] > 0
    assert (leaf["stall"], leaf["hosts_not_back"]) == ("to the end", 4)
    assert spine["stall"] != "to the end"
    assert spine["stall_ns"] > 0
    assert spine["undelivered"] == spine["failed"] == 0
    assert spine["delayed"] > 0
    assert spine["recovery_ns"] >= 500_000  # lost packets are sent again after the timeout
    assert 0 < spine["behind_bytes"] < leaf["behind_bytes"]
    kept = Results(tmp_path / "drill", asked.identity(), resume=True)
    again = study(asked, place(asked), kept, Inline(at_most=0))
    assert to_json(failover.compose(again))["ranking"] == page["ranking"]
    base = RunDir.open(tmp_path / "drill/baseline")
    same = felt(base, base, 50_000)
    assert (same.delayed, same.behind_bytes, same.missing_bytes, same.recovery_ns, same.lost_pkts) == (0, 0, 0, 0, 0)


def test_a_host_that_is_ahead_does_not_make_up_for_one_that_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = np.array([0, 10, 20]), np.array([[0, 9, 9], [0, 1, 9]]), np.array([[0, 5, 9], [0, 5, 9]])
    module = sys.modules[felt.__module__]  # its package exports a function of its own name
    monkeypatch.setattr(module, "_payload", lambda *_: payload)
    monkeypatch.setattr(module, "ends_ns", lambda _: np.array([5]))
    monkeypatch.setattr(module, "completion_ns", lambda _: np.array([5]))
    run = SimpleNamespace(summary={"metrics": {"drops.total": 0, "messages.failed": 0}})
    found = felt(run, run, 0)  # type: ignore[arg-type]  # stands for a run directory
    assert (found.behind_bytes, found.missing_bytes) == (4, 0)


def _finding(name: str, effect: Effect | None, noticed: Felt | None, undelivered: int = 0) -> Finding:
    case = SimpleNamespace(name=name, what="link", members=("a", "b"))
    done = None if effect is None else Damage(effect, 0.0, 1.0, undelivered, 0.0, 0, 0)
    outcome = None if noticed is None else SimpleNamespace(felt=noticed, compared=None)
    return Finding(case, outcome, "", done, None)  # type: ignore[arg-type]  # stand for a case and an outcome


def test_the_worst_is_what_users_felt_most_and_failed_runs_are_counted() -> None:
    nothing, late = Felt(0, 0, 0, 0, 0, 9, 0), Felt(3, 700_000, 5_000, 0, 0, 9, 0)
    found = [
        _finding("dead", None, None),
        _finding("quiet", Effect.LOSES, nothing),
        _finding("slow", Effect.NONE, late),
    ]
    told = failover.verdict(found)
    assert told.startswith("6 single failures, 0 of them break something, and 2 could not be simulated.")
    assert "The worst is link slow: 3 delayed by up to 700" in told
    held = Felt(0, 0, 5_000, 0, 0, 0, 0)
    assert "link held: 5KB behind at the worst moment" in failover.verdict([_finding("held", Effect.NONE, held)])
    assert failover.verdict(found[:2]).endswith("Users would not notice any of the others.")
    assert failover.verdict(found[1:2]).endswith("Users would not notice any of them.")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--parts", "link"], "did you mean 'links'?"),
        (["--resume"], "name its folder with --out"),
        (["--workers", "0"], "give 1 or more"),
        (["--parts", "super-spines"], "nothing that can fail"),
    ],
)
def test_a_wrong_option_is_refused(
    words: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.yml").write_text(SMALL, encoding="utf-8")
    assert main(["drill", "failover", str(tmp_path / "small.yml"), *words]) == 2
    assert text in capsys.readouterr().err


def test_every_column_has_room_in_80_columns() -> None:
    """With the names of a small fabric; longer ones leave out the last numbers, which the note below names."""
    late = Felt(3, 779_300, 37_970_000, 0, 4_600_000, 45_958, 8)
    study_of = SimpleNamespace(findings=[_finding("leaf4--spine4", Effect.NONE, late)])
    out = StringIO()
    for table in failover._felt(study_of):  # type: ignore[arg-type]  # stands for a study
        print_document(Document("t", "", Status.NEUTRAL, "", (), (Section("s", "S", (table,)),)), PlainConsole(out, 80))
    assert "left out" not in out.getvalue()


@pytest.mark.slow
def test_the_guide_shows_what_its_failover_drill_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    block = GUIDE.read_text(encoding="utf-8").split("## Failover")[1].split("```\n")[1]
    command, *lines = block.splitlines()
    assert main(shlex.split(command.removeprefix("$ fabric "))) == 0
    printed = re.sub(r"[ \n]+", " ", capsys.readouterr().out)
    assert [it for it in lines if it.strip() != "..." and " ".join(it.split()) not in printed] == []
