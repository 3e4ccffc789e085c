"""A study of every failure of a small fabric: what breaks, what slows, the order, and a study that was interrupted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from fabric.errors import FabricError, InputErrors
from fabric.render.html import to_html
from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.scenario.load import apply_overrides, build_scenario
from fabric.studies.journal import NAME as JOURNAL
from fabric.studies.journal import Journal
from fabric.whatif.damage import Effect, damage
from fabric.whatif.measure import Compared, Measured, _steps, measured
from fabric.whatif.page import compose, ranking_rows
from fabric.whatif.results import Results
from fabric.whatif.study import Finding, Study, place, study
from fabric.whatif.worst import explained
from tests.whatif.whatif_small import SMALL, Inline, question

BASE = Measured(10, 10, 1000, 100, 50, None, 0, 0, 0)


def compared(**fields: float) -> Compared:
    fct, step, makespan = (fields.get(name) for name in ("fct_p99_ratio", "step_ratio", "makespan_ratio"))
    return Compared(fct, step, makespan, None, None, None, None)


def run_with(**fields: int) -> Measured:
    return Measured(**{**{name: getattr(BASE, name) for name in Measured.__slots__}, **fields})


def found(study_: Study, name: str, kind: str) -> Finding:
    return next(it for it in study_.findings if it.case.name == name and it.case.what == kind)


@pytest.mark.parametrize(
    ("run", "ratios", "cut", "effect", "ratio"),
    [
        (run_with(), {"fct_p99_ratio": 1.0}, 0, Effect.NONE, 0.0),
        (run_with(), {"fct_p99_ratio": 1.019}, 0, Effect.NONE, 1 - 1 / 1.019),
        (run_with(), {"fct_p99_ratio": 1.02}, 0, Effect.SLOWS, 1 - 1 / 1.02),
        (run_with(), {"fct_p99_ratio": 0.5, "step_ratio": 2.0}, 0, Effect.SLOWS, 0.5),
        (run_with(lossless_pkts=1), {}, 0, Effect.LOSES, 0.0),
        (run_with(done=9), {"fct_p99_ratio": 1.0}, 0, Effect.BREAKS, 0.1),
        (run_with(done=5), {"fct_p99_ratio": 2.0}, 0, Effect.BREAKS, 0.75),
        (run_with(), {}, 1, Effect.BREAKS, 0.0),
        (run_with(done=0), {}, 2, Effect.BREAKS, 1.0),
    ],
)
def test_damage_is_what_is_not_delivered_and_what_is_late(
    run: Measured, ratios: dict[str, float], cut: int, effect: Effect, ratio: float
) -> None:
    hurt = damage(run, compared(**ratios), BASE, cut)
    assert hurt.effect is effect
    assert hurt.damage_ratio == pytest.approx(ratio)


def test_a_spine_slows_and_a_leaf_breaks(studied: tuple[Study, Path]) -> None:
    it, _ = studied
    spine = found(it, next(f.case.name for f in it.findings if f.case.what == "spine"), "spine")
    leaf = next(f for f in it.findings if f.case.what == "leaf")
    assert spine.damage is not None
    assert spine.damage.effect is Effect.SLOWS
    assert spine.damage.undelivered == 0
    assert leaf.damage is not None
    assert (leaf.damage.effect, leaf.damage.hosts_cut, leaf.damage.undelivered) == (Effect.BREAKS, 2, 4)


def test_both_spines_cut_the_leaves_apart_as_a_group_and_as_a_double_failure(studied: tuple[Study, Path]) -> None:
    it, _ = studied
    group, double = found(it, "power-a", "risk-group"), found(it, "spine1 and spine2", "double")
    assert group.damage == double.damage
    assert group.damage is not None
    assert group.damage.undelivered == 4


def test_the_worst_comes_first_and_groups_count_their_members(studied: tuple[Study, Path]) -> None:
    it, _ = studied
    rows = ranking_rows(it.findings)
    keys = [(int(f.damage.effect), -f.damage.damage_ratio) for f in it.findings if f.damage is not None]
    assert keys == sorted(keys)
    assert (
        sum(int(row["equal"] or 0) for row in rows) == 8 + 2 + 2 + 2 + 1
    )  # cables, optics, leaves, spines, groups, double


def test_recovery_is_the_rerouting_delay_and_a_retransmission(studied: tuple[Study, Path]) -> None:
    it, _ = studied
    spine = next(f for f in it.findings if f.case.what == "spine")
    assert spine.outcome is not None
    against = spine.outcome.compared
    assert against is not None
    assert against.control_ns == 100_000
    assert against.hosts_not_back == 0
    assert 400_000 <= (against.outage_ns or 0) <= 700_000  # retransmit_timeout
    leaf = next(f for f in it.findings if f.case.what == "leaf")
    assert leaf.outcome is not None
    assert leaf.outcome.compared is not None
    assert leaf.outcome.compared.hosts_not_back == 4


def test_the_command_of_a_case_gives_the_same_run(studied: tuple[Study, Path], tmp_path: Path) -> None:
    it, _ = studied
    case = next(f for f in it.findings if f.case.what == "spine")
    again = build_scenario(apply_overrides(SMALL, case.case.sets), Path("small.yml"))
    compiled, plan = simulate.prepare(again, text="")
    simulate.simulate(compiled, plan, simulate.Options(tmp_path / "run"))
    assert case.outcome is not None
    assert measured(RunDir.open(tmp_path / "run")) == case.outcome.measured


def test_the_page_has_ranking_map_and_the_worst_explained(studied: tuple[Study, Path]) -> None:
    it, folder = studied
    page = to_html(compose(it, explained(it, folder), "fabric whatif small.yml"))
    assert "power-a" in page
    assert "damage of a cut cable" in page
    assert "The worst failure explained" in page
    assert "fabric explain drops" in page
    written = (folder / "worst" / "manifest.json").stat().st_mtime_ns
    explained(it, folder)  # the run that is there is used again
    assert (folder / "worst" / "manifest.json").stat().st_mtime_ns == written


def test_an_interrupted_study_goes_on_where_it_was(tmp_path: Path) -> None:
    asked = question(kinds=("spine",), run_all=True)
    first = Inline(at_most=2)
    with pytest.raises(KeyboardInterrupt):
        study(asked, place(asked), Results(tmp_path / "s", asked.identity(), resume=False), first)
    rows = (tmp_path / "s" / JOURNAL).read_text(encoding="utf-8")
    (tmp_path / "s" / JOURNAL).write_text(rows + rows.splitlines()[-1][:40], encoding="utf-8")  # cut off by a kill
    second = Inline()
    found_ = study(asked, place(asked), Results(tmp_path / "s", asked.identity(), resume=True), second)
    assert len(first.done) + len(second.done) == 3
    assert not set(first.done) & set(second.done)
    third = Inline()
    again = study(asked, place(asked), Results(tmp_path / "s", asked.identity(), resume=True), third)
    assert third.done == []
    assert ranking_rows(again.findings) == ranking_rows(found_.findings)
    other = question(kinds=("spine",))
    with pytest.raises(FabricError, match="another scenario, or with other options"):
        Results(tmp_path / "s", other.identity(), resume=True)
    with pytest.raises(FabricError, match="holds a what-if study already"):
        Results(tmp_path / "s", asked.identity(), resume=False)


def test_results_of_another_version_are_refused_with_a_sentence(tmp_path: Path) -> None:
    asked = question(kinds=("spine",), run_all=True)
    results = Results(tmp_path / "s", asked.identity(), resume=False)
    results.close()
    older = Journal(tmp_path / "s" / JOURNAL, b"")
    older.add({"key": "a", "outcome": {"measured": {}, "compared": None}, "failure": "", "wall_s": 1.0})
    older.close()
    with pytest.raises(FabricError, match="has results of another version of fabric"):
        Results(tmp_path / "s", asked.identity(), resume=True)


def test_a_run_that_fails_is_a_row_and_is_tried_again(tmp_path: Path) -> None:
    asked = question(kinds=("spine",), run_all=True, at_ps=20_000_000_000)  # after the end of the run
    results = Results(tmp_path / "s", asked.identity(), resume=False)
    it = study(asked, place(asked), results, Inline())
    assert all(f.failure.startswith("input: ") and f.damage is None for f in it.findings)
    assert "2 not simulated" in compose(it).verdict
    again = Inline()
    study(asked, place(asked), Results(tmp_path / "s", asked.identity(), resume=True), again)
    assert len(again.done) == 2


@pytest.mark.slow
def test_growth_is_compared_with_now(tmp_path: Path) -> None:
    asked = question(singles=False, grow=("pod+job", "100G:200G", "topology.spines=4+workload[0].size=2MB"))
    it = study(asked, place(asked), Results(tmp_path / "s", asked.identity(), resume=False), Inline())
    by_name = {f.case.name: f.outcome for f in it.findings}
    pod, faster, more = (by_name[name] for name in asked.grow)
    assert pod is not None
    assert pod.measured.work == 12
    assert faster is not None
    assert faster.compared is not None
    assert (faster.compared.fct_p99_ratio or 9) < 0.7
    assert more is not None
    assert more.measured.goodput_bytes == 8_000_000


def test_growth_that_does_not_fit_says_why() -> None:
    with pytest.raises(InputErrors, match="no rate of the topology is 400G"):
        place(question(singles=False, grow=("400G:800G",)))
    with pytest.raises(InputErrors, match=r"topology\.spines"):
        place(question(singles=False, grow=("topology.spines=0",)))


def test_a_drain_needs_bgp() -> None:
    with pytest.raises(InputErrors, match="shortest-path routing"):
        place(question(singles=False, drain=("spine1",)))


@pytest.mark.slow
def test_a_drained_spine_loses_nothing_and_one_switched_off_does(tmp_path: Path) -> None:
    data = {
        **SMALL,
        "routing": "bgp",
        "bgp": {"update_delay": "100us", "fib_delay": "20us"},
        "run": {"duration": "10ms"},
    }
    asked = question(data=data, singles=False, drain=("spine1",))
    it = study(asked, place(asked), Results(tmp_path / "s", asked.identity(), resume=False), Inline())
    drained, off = it.findings
    assert drained.outcome is not None
    assert off.outcome is not None
    assert (drained.case.what, drained.outcome.measured.lost_pkts) == ("drained", 0)
    assert off.outcome.measured.lost_pkts > 0


class _Steps:
    """A run directory of which only the transfers are read."""

    def __init__(self, ends: dict[str, list[int | None]]) -> None:
        self._rows = [(name, end) for name, found in ends.items() for end in found]

    def transfers(self, _columns: list[str]) -> pa.Table:
        names, ends = zip(*self._rows, strict=True)
        return pa.table({"operation": pa.array(names), "end_ns": pa.array(ends, pa.int64())})


def test_a_step_counts_once_every_rank_has_ended_it() -> None:
    run = _Steps({"a/step 0 end": [5, 9], "a/step 1 end": [20, None], "b/step 0 end": [3, 4], "b/step 1 end": [8, 11]})
    assert _steps(run) == {("a", 0): 9, ("b", 0): 4, ("b", 1): 7}  # type: ignore[arg-type]
