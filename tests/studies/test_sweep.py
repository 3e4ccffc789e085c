"""A study carried out: its table is the same whatever happened on the way, and its values are those of `fabric run`."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_study import SCENARIO, swept, written

from fabric.errors import InputErrors, RunDirError
from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.expectations import METRICS, summary_key
from fabric.studies import dataset, journal
from fabric.studies.analysis import analysed
from fabric.studies.dataset import JOURNAL, RUNS, StudyResults
from fabric.studies.plan import examine, load_study
from fabric.studies.report import as_json, compose

N_RUNS = 12


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    folder = tmp_path_factory.mktemp("study")
    assert swept(written(folder), folder / "out").done == N_RUNS
    return StudyResults(folder / "out")


def test_the_table_has_a_row_for_each_run(finished: StudyResults) -> None:
    rows = finished.runs().to_pylist()
    assert [it["run"] for it in rows] == list(range(N_RUNS))
    assert [(it["point"], it["kmin_bytes"], it["cut"]) for it in rows[::3]] == [
        (0, 10_000, 0.1),
        (1, 10_000, 1.0),
        (2, 50_000, 0.1),
        (3, 50_000, 1.0),
    ]
    assert [it["seed"] for it in rows] == [1, 2, 3] * 4  # paired
    assert all(it["status"] == "done" and it["feasible"] and len(it["fct_percentiles_ns"]) == 101 for it in rows)
    assert '"kmin":"10KB"' in rows[0]["scenario"]


def test_values_are_those_of_a_recorded_run(finished: StudyResults, tmp_path: Path) -> None:
    row = finished.runs().to_pylist()[1]
    data = {**SCENARIO, "switches": {"ecn": {"kmin": "10KB", "kmax": "200KB", "pmax": 0.1}}}
    data["run"] = {"duration": "1ms", "seed": 2}
    compiled, plan = simulate.prepare(build_scenario(data, tmp_path / "x.yml"), text="")
    simulate.simulate(compiled, plan, simulate.Options(tmp_path / "run"))
    metrics = RunDir.open(tmp_path / "run").summary["metrics"]
    known = {name: value for name, value in metrics.items() if value is not None}
    assert {name: row[name] for name in known} == pytest.approx(known, rel=1e-12)
    assert all(row[name] is None for name in metrics.keys() - known.keys())
    assert metrics.keys() == {summary_key(name) for name in METRICS}


@pytest.mark.parametrize("most", [0, 5])
def test_a_resumed_study_has_the_same_table(
    most: int, finished: StudyResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "PART_ROWS", 4)  # some runs are in a part, some in the journal
    file, out = written(tmp_path), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        swept(file, out, most=most)
    assert StudyResults(out).index["status"] == "interrupted"
    assert swept(file, out, resume=True).done == N_RUNS - most
    assert StudyResults(out).digest() == finished.digest()
    assert StudyResults(out).runs().equals(finished.runs())


def test_a_line_that_was_cut_off_is_done_again_and_a_changed_one_is_refused(
    finished: StudyResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(dataset.StudyFolder, "end", lambda *_: None)  # killed: nothing is done at the end
        with pytest.raises(KeyboardInterrupt):
            swept(file, out, most=5)
    journal = out / JOURNAL
    whole = journal.read_bytes()
    assert whole.count(b"\n") == 5
    journal.write_bytes(whole.replace(b"done", b"dome", 1))
    with pytest.raises(RunDirError, match=r"journal\.jsonl, line 1: changed"):
        swept(file, out, resume=True)
    journal.write_bytes(whole[:-20])
    assert swept(file, out, resume=True).done == N_RUNS - 4
    assert StudyResults(out).digest() == finished.digest()


def test_a_run_in_a_part_and_in_the_journal_counts_once(finished: StudyResults, tmp_path: Path) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        swept(file, out, most=5)
    rows = StudyResults(out).runs().to_pylist()
    line = journal.line([rows[0], {"run": rows[0]["run"], "wall_s": 0.1}])
    (out / JOURNAL).write_bytes(line)
    (out / RUNS / "part-00099.parquet").write_bytes(b"left by a killed process")
    assert swept(file, out, resume=True).done == N_RUNS - 5
    assert StudyResults(out).digest() == finished.digest()


def test_damage_and_another_study_are_named(tmp_path: Path) -> None:
    file, out = written(tmp_path, repetitions={"seeds": 1}), tmp_path / "out"
    swept(file, out)
    with pytest.raises(RunDirError, match="is another study"):
        swept(written(tmp_path, repetitions={"seeds": 2}), out, resume=True)
    with pytest.raises(RunDirError, match="holds a study"):
        swept(file, out)
    part = out / RUNS / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(RunDirError, match=r"part-00000\.parquet is truncated"):
        StudyResults(out).runs()


def test_a_point_that_is_no_scenario_is_left_out_and_all_of_them_are_refused(tmp_path: Path) -> None:
    kmin = {"set": "switches.ecn.kmin", "values": ["10KB", "900KB"]}
    file = written(tmp_path, parameters={"kmin": kmin}, repetitions={"seeds": 1})
    plan = load_study(file)
    found = examine(plan)
    assert list(found.invalid) == [1]
    assert swept(file, tmp_path / "out").done == 1
    document = compose(analysed(plan, StudyResults(tmp_path / "out").runs()), found.invalid, complete=True, drawn=False)
    assert any("1 point left out" in it.text for it in document.reasons)
    wrong = {"set": "switches.ecn.kmim", "values": ["10KB"]}
    with pytest.raises(InputErrors, match=r"kmim=10KB: small\.yml: switches\.ecn\.kmim: unknown field"):
        examine(load_study(written(tmp_path, parameters={"kmim": wrong})))


def test_a_point_that_no_machine_can_carry_out_is_left_out_before_any_run_and_all_of_them_are_refused(
    tmp_path: Path,
) -> None:
    long = {"size": {"set": "workload[0].size", "values": ["1GB"]}, "end": {"set": "run.duration", "values": ["2s"]}}
    interval = {"set": "telemetry.interval", "values": ["10us", "1ns"]}
    found = examine(load_study(written(tmp_path, parameters={**long, "interval": interval})))
    assert len(found.estimates) == 1
    [why] = found.invalid.values()
    assert "telemetry.interval: at least" in why
    interval["values"] = ["1ns", "2ns"]
    with pytest.raises(InputErrors, match=r"telemetry\.interval: at least .* samples are more than 1,000,000"):
        examine(load_study(written(tmp_path, parameters={**long, "interval": interval})))


def test_repetitions_end_once_the_mean_is_known(tmp_path: Path) -> None:
    until = {"measure": "fct.mean", "half_width": "999%", "at_most": 9}
    easy = written(tmp_path, repetitions={"seeds": 3, "until": until})
    assert swept(easy, tmp_path / "easy").done == N_RUNS
    until = {"measure": "ecn.marked", "half_width": "0.01%", "at_most": 5}
    hard = written(tmp_path, repetitions={"seeds": 3, "until": until})
    first = swept(hard, tmp_path / "hard").done
    assert N_RUNS < first <= 4 * 5
    with pytest.raises(KeyboardInterrupt):
        swept(hard, tmp_path / "again", most=14)
    swept(hard, tmp_path / "again", resume=True)
    assert StudyResults(tmp_path / "again").digest() == StudyResults(tmp_path / "hard").digest()


def test_independent_seeds_are_all_different(tmp_path: Path) -> None:
    plan = load_study(written(tmp_path, repetitions={"seeds": 3, "pairing": "independent"}))
    seeds = [plan.seed(cell, repetition) for cell in plan.cells for repetition in range(3)]
    assert len(set(seeds)) == N_RUNS


def test_after_a_warm_up_only_later_messages_and_counts_are_measured(tmp_path: Path) -> None:
    arrivals = {"kind": "poisson", "sizes": "fixed", "size": "20KB", "load": 0.9, "stop": "300us"}
    found = []
    for warm_up in (None, "150us"):
        file = written(
            tmp_path,
            parameters=None,
            repetitions={"seeds": 1},
            measures=["fct.mean"],
            set={"workload[0]": arrivals, "telemetry.interval": "10us"},
            warm_up=warm_up,
        )
        swept(file, tmp_path / f"{warm_up}")
        found += StudyResults(tmp_path / f"{warm_up}").runs().to_pylist()
    whole, later = found
    assert later["messages.total"] == pytest.approx(whole["messages.total"] / 2, rel=0.25)
    assert later["messages.done"] == later["messages.total"]
    assert 0 < later["ecn.marked"] < whole["ecn.marked"]
    assert later["goodput.total_bps"] == pytest.approx(whole["goodput.total_bps"], rel=0.3)
    assert later["queue.peak_bytes"] is None
    assert later["digest"] == whole["digest"]


def test_the_figures_say_what_the_table_says(finished: StudyResults, tmp_path: Path) -> None:
    plan = load_study(written(tmp_path, objectives={"fct.p99": "min", "ecn.marked": "min"}))
    found = analysed(plan, finished.runs())
    rows = finished.runs().to_pylist()
    mean = sum(it["fct.p99_ns"] for it in rows[:3]) / 3
    facts = as_json(found)
    assert facts["points"][0]["measures"]["fct.p99_ns"]["mean"] == pytest.approx(mean)
    change = [b["fct.p99_ns"] - a["fct.p99_ns"] for a, b in zip(rows[:3], rows[3:6], strict=True)]
    assert facts["points"][1]["differences"]["fct.p99_ns"]["mean"] == pytest.approx(sum(change) / 3)
    assert facts["points"][0]["differences"] == {}
    assert facts["front"]
    keys = [
        it.key for section in compose(found, {}, complete=True).sections for it in section.blocks if hasattr(it, "key")
    ]
    assert {"points", "best", "differences", "effects", "response", "distribution", "tornado", "front"} <= set(keys)
