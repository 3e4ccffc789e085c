"""Valid and nearly valid scenarios are refused with place and remedy, or run, keep every invariant, and have one
digest.

A failure names the seed and the file that it wrote; `python -m tests.fuzz.campaign KIND SEED` makes it again. The slow
tests try 10,000 of each (tests/reliability, family scenario-fuzz).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.errors import Problem
from tests.fuzz import oracle
from tests.fuzz.campaign import Tally, campaign, made, main, tried
from tests.fuzz.choices import drawn, seeded
from tests.fuzz.oracle import How, judge
from tests.fuzz.places import known
from tests.fuzz.scenarios import Case, remove, scenario

PORTION = 40


@pytest.mark.parametrize("kind", ["valid", "mutant"])
@pytest.mark.parametrize("first", [0, pytest.param(PORTION, marks=pytest.mark.slow)])
def test_scenarios_are_explained_or_run(kind: str, first: int, tmp_path: Path) -> None:
    tally = campaign(kind, range(first, first + PORTION), tmp_path)
    print(tally)  # noqa: T201  what `pytest -rP` shows
    assert not tally.failures, "\n".join([*tally.failures, "again: python -m tests.fuzz.campaign KIND SEED"])
    # Most mutants are refused; at least one in ten must be simulated, or the portion tries readers only.
    # Of valid ones the compiler refuses one in eight: buffers that do not fit a memory, choices without a table.
    assert tally.reached["engine"] >= (PORTION * 7 // 10 if kind == "valid" else PORTION // 10)


@st.composite
def scenarios(draw: st.DrawFn) -> Case:
    """Valid scenarios; hypothesis shrinks one that fails."""
    return scenario(drawn(draw))


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(case=scenarios())
def test_any_scenario_is_explained_or_runs(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "shrunk"
    verdict = judge(case, folder, How(sequential=True))
    assert not verdict.failures, f"fabric run --check {folder / 'fuzz.yml'}\n{case.text()}"


def test_the_same_seed_is_the_same_case(tmp_path: Path) -> None:
    for kind in ("valid", "mutant"):
        one, other = made(kind, 11, tmp_path), made(kind, 11, tmp_path)
        assert (one.text(), one.files, one.about) == (other.text(), other.files, other.about)
        assert one.text() != made(kind, 12, tmp_path).text()


def small() -> Case:
    return Case(
        {
            "name": "small",
            "topology": {
                "kind": "leaf-spine",
                "leaves": 2,
                "spines": 1,
                "hosts_per_leaf": 1,
                "host_rate": "100G",
                "fabric_rate": "100G",
            },
            "telemetry": {"interval": "5us"},
            "workload": [{"kind": "permutation", "size": "50KB", "shift": 1}],
            "run": {"duration": "50us"},
        }
    )


def test_a_case_reaches_the_engine_and_every_comparison(tmp_path: Path) -> None:
    verdict = judge(small(), tmp_path, How(threads=2, sequential=True, resume=True, command=True))
    assert (verdict.reached, verdict.failures, verdict.cut) == ("engine", [], False)
    assert verdict.events > 100
    assert (tmp_path / "run" / "summary.json").is_file()


def test_a_broken_law_another_digest_and_a_warning_are_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(oracle, "check", lambda *_: ["(1) a packet is nowhere"])
        assert "a packet is nowhere" in judge(small(), tmp_path, How()).failures[0]
    with monkeypatch.context() as patch:
        again = oracle._again
        patch.setattr(
            oracle,
            "_again",
            lambda first, **options: again(oracle._Run(first.engine, first.compiled, first.bounds[:1]), **options),
        )
        found = judge(small(), tmp_path, How(sequential=True)).failures
        assert found == ["the sequential scheduler has another digest"]
    with monkeypatch.context() as patch:
        patch.setattr(oracle, "compile_scenario", lambda _: __import__("numpy").int64(2**62) * 4)
        assert "overflow" in judge(small(), tmp_path, How()).failures[0]


def test_an_engine_that_stands_still_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fabric.dataplane.state.codes import Stop

    monkeypatch.setattr(oracle.Emulator, "_simulate", lambda *_: Stop.BUDGET)
    monkeypatch.setattr(oracle.Emulator, "_simulated_ps", lambda self: self.now_ps)
    monkeypatch.setattr(oracle._Run, "to", lambda run, bound: run._advance(bound))
    assert judge(small(), tmp_path, How()).failures == ["stuck at 0 ps after 0 events"]


def test_an_error_without_a_place_or_a_remedy_is_a_failure() -> None:
    case = small()
    case.files["sizes.cdf"] = ""
    good = Problem("fuzz.yml: workload[0].size", "is bad", "make it good")
    assert not oracle._unclear([good], case)
    assert len(oracle._unclear([], case)) == 1
    assert len(oracle._unclear([Problem("fuzz.yml: workload[1].size", "is bad", "")], case)) == 2
    idle = "2 has no effect"
    assert not oracle._unclear([Problem("fuzz.yml: workload[0].shift", idle, "make it good")], case)
    assert len(oracle._unclear([Problem("fuzz.yml: switches.pfc_send", idle, "write it elsewhere")], case)) == 1
    assert known("fuzz.yml: switches.buffer.headroom", case)
    assert known("fuzz.yml: workload[0].priority, sizes.cdf line 3", case)
    assert not known("fuzz.yml: switches.buffers", case)
    assert not known("other.yml: switches", case)


def test_following_a_remedy_takes_the_field_away_and_what_it_leaves_empty() -> None:
    raw = {"hosts": {"overrides": [{"host": "a"}]}, "switches": {"tc_to_pg": {3: 1, 4: 2}}}
    assert remove(raw, "hosts.overrides[0].host")
    assert remove(raw, "switches.tc_to_pg.4")
    assert not remove(raw, "switches.pool")
    assert raw == {"hosts": {}, "switches": {"tc_to_pg": {3: 1}}}


def test_a_tally_counts_stages_and_comparisons(tmp_path: Path) -> None:
    tally = Tally()
    tried("valid", 5, tmp_path, tally)
    assert tally.cases == sum(tally.reached.values()) == 1
    assert seeded(5).integer(0, 10**9) == seeded(5).integer(0, 10**9)


def test_a_case_is_written_to_a_named_folder_and_not_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    working, out = tmp_path / "working", tmp_path / "out"
    working.mkdir()
    monkeypatch.chdir(working)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["mutant", "11", "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"{out / 'fuzz-mutant-11/fuzz.yml'}: reached ")
    assert (out / "fuzz-mutant-11/fuzz.yml").is_file()
    assert main(["mutant", "11"]) == 0
    written = Path(capsys.readouterr().out.partition(":")[0])
    assert written.read_text() == (out / "fuzz-mutant-11/fuzz.yml").read_text()
    assert tmp_path in written.parents
    assert not list(working.iterdir())
