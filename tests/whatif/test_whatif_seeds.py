"""What-if studies with several seeds, and their admission."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from fabric.cli.main import main
from fabric.errors import FabricError, InputErrors
from fabric.render.json import to_json
from fabric.scenario.estimate.machine import Limit, Machine
from fabric.studies import admission as machines_of
from fabric.whatif import whole
from fabric.whatif.admission import Size, admitted, size_of
from fabric.whatif.carry_out import Outcome
from fabric.whatif.damage import Damage, Effect
from fabric.whatif.measure import Compared, Measured
from fabric.whatif.page import compose, ranking_rows
from fabric.whatif.results import Results
from fabric.whatif.seeds import Seeded, is_apart, pooled, pooled_damage, spread, worst_seed
from fabric.whatif.study import Study, place, static, study
from fabric.whatif.worst import explained
from tests.whatif.whatif_small import SMALL, Inline, question

GB = 10**9
MANY = {**SMALL, "workload": [{"kind": "permutation", "size": "200KB"}]}
"""The seed decides who sends to whom, and the paths."""
MEASURED = Measured(10, 10, 1000, 100, 50, None, 0, 0, 0)
COMPARED = Compared(1.0, None, 1.0, 5, None, 7, 0)


def outcome(measured: Measured = MEASURED, compared: Compared | None = COMPARED) -> Outcome:
    return Outcome(measured, compared, "", 5, 100, None)


def seeded(*ratios: float, effect: Effect = Effect.SLOWS) -> tuple[Seeded, ...]:
    hurt = Damage(effect, 0.0, 1.0, 0, 0.0, 0, 0)
    return tuple(Seeded(n, outcome(), replace(hurt, damage_ratio=ratio)) for n, ratio in enumerate(ratios))


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    folder = tmp_path_factory.mktemp("seeds")
    asked = question(data=MANY, kinds=("spine", "leaf"), seeds=3)
    return study(asked, place(asked), Results(folder, asked.identity(), resume=False), Inline()), folder


def test_each_case_has_every_seed_and_the_first_is_that_of_the_scenario(
    three: tuple[Study, Path], tmp_path: Path
) -> None:
    found, folder = three
    assert all([run.seed for run in it.runs] == [1, 2, 3] for it in found.findings)
    assert {it.name for it in folder.iterdir() if it.name.startswith("baseline")} == {
        "baseline", "baseline-2", "baseline-3"
    }  # fmt: skip
    assert found.runs == 3 * (len(found.findings) + 1)
    asked = question(data=MANY, kinds=("spine", "leaf"), run_all=True)
    one = study(asked, place(asked), Results(tmp_path / "one", asked.identity(), resume=False), Inline())
    alone = {it.case.key: it.outcome for it in one.findings}
    for it in found.findings:
        mine = it.runs[0].outcome
        assert alone[it.case.key] is not None
        assert mine.measured == alone[it.case.key].measured  # type: ignore[union-attr]


def test_ranks_have_the_mean_and_the_interval_of_their_seeds(three: tuple[Study, Path]) -> None:
    found, _ = three
    for row, it in zip(ranking_rows(found.findings), found.findings, strict=True):
        known = spread(it.runs)
        assert known is not None
        assert it.damage is not None
        assert row["damage_ratio"] == pytest.approx(known.mean)
        assert row["damage_half_width"] == known.half_width
        assert str(row["seeds_alike"]).endswith(" of 3")
        damages = [run.damage.damage_ratio for run in it.runs if run.damage is not None]
        assert min(damages) <= known.mean <= max(damages)
    table = to_json(compose(found))["ranking"]["failures"][0]
    assert {"damage_half_width", "seeds_alike"} <= table.keys()


def test_a_rank_names_the_first_one_of_its_effect_that_it_is_not_told_apart_from(three: tuple[Study, Path]) -> None:
    found, _ = three
    of_seeds = (
        seeded(0.9, 0.8, 0.7, effect=Effect.BREAKS),
        seeded(0.9, 0.8, 0.7),
        seeded(0.6, 0.5, 0.4),
        seeded(0.5, 0.6, 0.35),
        seeded(0.5, 0.6, 0.35, effect=Effect.NONE),
    )
    findings = tuple(
        replace(found.findings[0], runs=runs, damage=pooled_damage([it.damage for it in runs if it.damage is not None]))
        for runs in of_seeds
    )
    assert [row["not_apart_from"] for row in ranking_rows(findings)] == [None, None, None, "3", None]
    said = "the worst is not told apart from rank"
    for those, alike in ((findings, None), (findings[2:4], "2")):
        reasons = [it.text for it in compose(replace(found, findings=those)).reasons]
        assert any(f"{said} {alike};" in it for it in reasons) == (alike is not None)
        assert any(said in it for it in reasons) == (alike is not None)


def test_the_page_of_one_seed_has_no_columns_of_seeds(studied: tuple[Study, Path]) -> None:
    found, _ = studied
    rows = ranking_rows(found.findings)
    assert all(row["damage_half_width"] is row["seeds_alike"] is row["not_apart_from"] is None for row in rows)
    assert not {"damage_half_width", "seeds_alike"} & to_json(compose(found))["ranking"]["failures"][0].keys()


def test_the_worst_is_explained_with_its_worst_seed(three: tuple[Study, Path]) -> None:
    found, folder = three
    section = explained(found, folder)
    worst = worst_seed(found.findings[0].runs)
    assert worst is not None
    assert f"with run.seed={worst.seed}." in str(section[0].blocks[0])
    manifest = json.loads((folder / "worst" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["scenario"]["resolved"]["run"]["seed"] == worst.seed


def test_a_study_with_another_number_of_seeds_is_not_resumed(three: tuple[Study, Path]) -> None:
    _, folder = three
    for seeds in (1, 2, 4):
        identity = question(data=MANY, kinds=("spine", "leaf"), seeds=seeds).identity()
        with pytest.raises(FabricError, match="another scenario, or with other options"):
            Results(folder, identity, resume=True)


def test_a_what_if_study_of_other_code_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = question(kinds=("spine",))
    Results(tmp_path / "s", asked.identity(), resume=False).close()
    monkeypatch.setattr(sys.modules["fabric.whatif.study"], "code_digest", lambda: "0123456789abcdef")
    with pytest.raises(FabricError, match="begun with other code"):
        Results(tmp_path / "s", asked.identity(), resume=True)


def test_outcomes_of_several_seeds_are_means_of_ratios_and_the_worst_counts_and_times() -> None:
    one = outcome(MEASURED, COMPARED)
    two = outcome(replace(MEASURED, done=8, makespan_ns=200), replace(COMPARED, fct_p99_ratio=2.0, outage_ns=70))
    both = pooled([one, two])
    assert (both.measured.done, both.measured.makespan_ns, both.measured.step_ns) == (9, 150, None)
    assert both.compared == replace(COMPARED, fct_p99_ratio=1.5, outage_ns=70)
    assert (both.packet_hops, both.peak_rss_bytes) == (10, 100)
    assert pooled([one]) is one
    gone = outcome(MEASURED, replace(COMPARED, makespan_ratio=None))
    assert pooled([one, gone]).compared == replace(COMPARED, makespan_ratio=None)


def test_damage_of_several_seeds_has_the_worst_effect_and_the_mean_ratio() -> None:
    (slow,), (broken,) = seeded(0.2), seeded(0.6, effect=Effect.BREAKS)
    assert slow.damage is not None
    assert broken.damage is not None
    found = pooled_damage([slow.damage, replace(broken.damage, undelivered=3, hosts_cut=2)])
    assert (found.effect, found.undelivered, found.hosts_cut) == (Effect.BREAKS, 3, 2)
    assert found.damage_ratio == pytest.approx(0.4)
    assert worst_seed([slow, broken]) is broken


def test_damages_are_told_apart_seed_by_seed() -> None:
    base = seeded(0.1, 0.5, 0.9)
    assert is_apart(seeded(0.2, 0.6, 1.0), base)  # by 0.1 with every seed, though the means overlap
    assert not is_apart(seeded(0.3, 0.4, 0.95), base)
    assert not is_apart(base, base)
    assert not is_apart(seeded(0.1), seeded(0.9))  # one seed cannot tell
    assert spread(seeded(0.1)) is None


@pytest.mark.parametrize("seeds", [0, 10_001])
def test_impossible_numbers_of_seeds_are_refused(
    seeds: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.yml"
    file.write_text(yaml.safe_dump(SMALL), encoding="utf-8")
    assert main(["whatif", str(file), "--seeds", str(seeds)]) == 2
    assert f"--seeds: {seeds} runs of each case are not possible" in capsys.readouterr().err


# ===== admission =====


def small_machine(monkeypatch: pytest.MonkeyPatch, free_bytes: float) -> None:
    limit = Limit(int(free_bytes), "free memory")
    monkeypatch.setattr(machines_of.machines, "machine", lambda: Machine(limit, 0))


def test_runs_side_by_side_have_memory_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = question(kinds=("spine",))
    size = size_of(asked, place(asked))
    small_machine(monkeypatch, 2.5 * size.run.memory_bytes)
    assert admitted(size, 8, 3, lambda _: False) == 2
    small_machine(monkeypatch, 1.5 * size.run.memory_bytes)
    assert admitted(size, 8, 3, lambda _: False) == 1
    small_machine(monkeypatch, 0.5 * size.run.least_memory_bytes)
    with pytest.raises(InputErrors, match=r"a run \(without a failure\) takes at least"):
        admitted(size, 8, 3, lambda _: True)
    assert admitted(size, None, 3, lambda _: False) == 1  # the workers are elsewhere


def test_a_grown_fabric_counts_with_its_own_memory_and_time() -> None:
    asked = question(singles=False, grow=("topology.spines=8",), seeds=2)
    size = size_of(asked, place(asked))
    assert (size.least_runs, size.most_runs, len(size.growths)) == (4, 4, 1)
    assert size.examined.estimates[1] == size.growths[0]
    assert size.time_s(4) == pytest.approx(2 * size.run.time_s + 2 * size.growths[0].time_s)


def test_a_study_of_more_than_an_hour_asks_before_there_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = question(kinds=("spine",))
    real = size_of(asked, place(asked))
    slow: Size = replace(real, run=replace(real.run, time_s=4000.0))
    monkeypatch.setattr(whole, "size_of", lambda *_: slow)
    monkeypatch.setattr(whole, "executor_of", lambda *_: Inline())
    with pytest.raises(InputErrors, match="or confirm with --yes"):
        whole.answer(asked, place(asked), tmp_path / "s", workers=1)
    assert not (tmp_path / "s").exists()


def test_a_study_that_turns_out_longer_asks_when_its_runs_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = question(kinds=("spine",), run_all=True)
    real = size_of(asked, place(asked))
    monkeypatch.setattr(whole, "size_of", lambda *_: replace(real, least_runs=1, run=replace(real.run, time_s=3000.0)))
    monkeypatch.setattr(whole, "executor_of", lambda *_: Inline())
    with pytest.raises(InputErrors, match="or go on with --resume --yes"):
        whole.answer(asked, place(asked), tmp_path / "s", workers=1)
    accepted = replace(asked, confirmed=True)
    found = whole.answer(accepted, place(accepted), tmp_path / "s", workers=1, resume=True)
    assert len(found.study.findings) == 2


def test_the_estimate_names_the_least_and_the_most_runs_and_simulates_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.yml"
    file.write_text(yaml.safe_dump(SMALL), encoding="utf-8")
    words = ["whatif", str(file), "--kinds", "spine,leaf", "--estimate", "--workers", "1"]
    assert main([*words, "--seeds", "3", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["least_runs"], facts["most_runs"], facts["verdict"]) == (3 * (1 + 2), 3 * (1 + 4), "starts")
    assert main(words) == 0
    assert "3 to 5 runs: which parts are equal is known after the run" in capsys.readouterr().out
    assert main([*words, "--all"]) == 0
    assert capsys.readouterr().out.startswith("5 runs\n")
    assert main([*words, "--yes"]) == 2
    assert "--yes: has no effect with --estimate" in capsys.readouterr().err


def test_a_scenario_without_risk_groups_is_told_so() -> None:
    without = {name: value for name, value in SMALL.items() if name != "risk_groups"}
    found = {}
    for name, data, kinds in (
        ("declared", SMALL, None),
        ("none", without, None),
        ("not asked for", without, ("spine",)),
    ):
        asked = question(data=data, **({} if kinds is None else {"kinds": kinds}))
        reasons = compose(static(asked, place(asked))).reasons
        found[name] = any("declares no risk_groups" in it.text for it in reasons)
    assert found == {"declared": False, "none": True, "not asked for": False}
