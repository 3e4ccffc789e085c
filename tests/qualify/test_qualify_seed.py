"""`fabric qualify seed`: the bring-up of a whole fabric, and that each of its items can fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.main import main
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.qualify.cases import cases_of
from fabric.qualify.whole import traffic
from fabric.qualify.whole.case_runs import FabricCaseRun, runs_of
from fabric.qualify.whole.schema import FabricCaseSpec
from fabric.qualify.whole.subject import Subject, of_configurations, of_scenario
from fabric.validate.facts import Facts
from fabric.validate.judge import Request, network_of
from tests.qualify.seed_mutants import HEALTHY_FABRIC, SEED_MUTANTS, SeedMutant, healthy_fabric, mutated_fabric, written

Captured = pytest.CaptureFixture[str]
QUICK = {"MARKS-1", "STORM-4"}


def subject(folder: Path, ports: int | None = None) -> Subject:
    facts = Facts(network_of(Request([folder]), HeadroomTables.load([])))
    return of_configurations(facts, folder.name, ports)


def case_of(name: str) -> FabricCaseSpec:
    (found,) = (it for it in cases_of("seed") if it.case == name)
    assert isinstance(found, FabricCaseSpec)
    return found


def reds(runs: list[FabricCaseRun]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in runs:
        for it in one.results:
            if it.colour in {"red", "not run"}:
                found.setdefault(one.case.case, set()).add(it.check.id)
    return found


def all_items(folder: Path) -> list[FabricCaseRun]:
    mine = subject(folder)
    return [one for case in cases_of("seed") if isinstance(case, FabricCaseSpec) for one in runs_of(mine, case)]


@pytest.mark.parametrize(
    "mutant", [pytest.param(it, id=it.name, marks=() if it.name in QUICK else pytest.mark.slow) for it in SEED_MUTANTS]
)
def test_a_mutant_fails_its_item_and_no_other(mutant: SeedMutant, tmp_path: Path) -> None:
    runs = all_items(mutated_fabric(mutant, tmp_path))
    assert reds(runs) == {mutant.case: set(mutant.checks)}
    assert not any(one.findings for one in runs)
    assert all(it.text for one in runs for it in one.results if it.colour == "red"), "a red check says why"


def test_a_mutant_that_fails_several_checks_says_why() -> None:
    assert all((len(it.checks) > 1) == bool(it.because) for it in SEED_MUTANTS)
    assert {it.case for it in SEED_MUTANTS} == {it.case for it in cases_of("seed")}


def test_the_healthy_fabric_is_green_in_every_item_and_format(tmp_path: Path, capsys: Captured) -> None:
    assert main(["qualify", "seed", str(HEALTHY_FABRIC), "--json"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert data["fabric"] == "seed-example"
    assert data["green"] is True
    assert {it["case"] for it in data["scenarios"]} == {it.case for it in cases_of("seed")}
    scales = [it["scenario"] for it in data["scenarios"] if it["case"] == "SCALES"]
    assert scales == ["all-reduce-2", "all-reduce-4", "all-to-all-2", "all-to-all-4"]
    hops = next(it for it in data["scenarios"] if it["case"] == "HOPS")["checks"][0]["counters"]
    assert len(hops) == 16, "eight cables, both ways"
    for style in ("text", "markdown", "html", "junit"):
        out = tmp_path / style
        assert main(["qualify", "seed", str(HEALTHY_FABRIC), "--case", "ECMP", "--format", style, "-o", str(out)]) == 0
        assert "every cable between switches carries frames" in out.read_text(encoding="utf-8")


def test_a_fabric_without_watchdogs_does_not_contain_a_storm(capsys: Captured) -> None:
    assert main(["qualify", "seed", "incast", "--case", "STORM/odd"]) == 1
    text = capsys.readouterr().out
    assert "leaf1:Ethernet0 has no watchdog, so nothing ends a storm there" in text
    assert "arrivals_missing(others) host2: 100.00%" in text


@pytest.mark.slow
def test_a_hash_that_repeats_itself_is_found_in_a_scenario(capsys: Captured) -> None:
    assert main(["qualify", "seed", "polarised", "--case", "ECMP"]) == 1
    assert "spread(uplinks) p1-spine1: 4.000" in capsys.readouterr().out


def test_hosts_are_taken_of_each_leaf_in_turn() -> None:
    mine = subject(HEALTHY_FABRIC, 2)
    assert {mine.leaf_of(it) for it in mine.hosts} == {"leaf1", "leaf2"}


def test_cables_that_were_not_put_to_the_test_are_named() -> None:
    (one,) = runs_of(
        of_scenario(Path("incast")), case_of("MARKS").model_copy(update={"runs": case_of("MARKS").runs[1:]})
    )
    assert one.green
    assert any("not filled above its curve: the queue of leaf1:Ethernet16" in it for it in one.not_lowered)


def test_a_slot_is_offered_the_receivers_rate_in_its_first_half() -> None:
    mine = subject(HEALTHY_FABRIC)
    run = case_of("MARKS").runs[0]
    slots = traffic.slots(mine, run)
    assert [it.host for it in slots] == list(mine.hosts)
    (first, *_) = traffic.sections(mine, run, None)["workload"]
    span = (slots[0].end_ps - slots[0].begin_ps) // 2
    sent = 256_000 * first["repeat"] * len(first["senders"])
    assert 0.9 <= sent / traffic.offered(mine, slots[0].host, span) <= 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([str(HEALTHY_FABRIC), "--dut", "leaf1"], "is for a whole fabric"),
        ([str(HEALTHY_FABRIC), "--ports", "5"], "4 ports of switches lead to hosts"),
        (["incast", "--ports", "4"], "has no effect on a scenario"),
        (["nothing.yml"], "nothing.yml"),
    ],
)
def test_bad_input_ends_with_2_and_a_remedy(words: list[str], said: str, capsys: Captured) -> None:
    assert main(["qualify", "seed", *words]) == 2
    assert said in capsys.readouterr().err


def test_switches_without_hosts_are_bad_input(tmp_path: Path, capsys: Captured) -> None:
    spines = {name: it for name, it in healthy_fabric().items() if name.startswith("spine")}
    assert main(["qualify", "seed", str(written(spines, tmp_path))]) == 2
    assert "lead to hosts" in capsys.readouterr().err


def test_a_fabric_without_pfc_obeys_no_pause(capsys: Captured) -> None:
    assert main(["qualify", "seed", "pfc-off", "--case", "HOPS"]) == 1
    text = capsys.readouterr().out
    assert "red       1" in text
    assert "has no PFC for priority 3" in text


def test_a_slow_sender_is_held_to_no_more_than_it_sends(capsys: Captured) -> None:
    """Hosts of 100G and 400G: half of the receiver's port is twice what a slow host sends."""
    assert main(["qualify", "seed", "mixed-speeds", "--case", "ISOLATED"]) == 0
    assert "green     1" in capsys.readouterr().out


SIMULATOR = """name: simulator
description: A small fabric under the rules of the HPCC simulator.
model: hpcc-ns3
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G,
           host_cable: 200m, fabric_cable: 200m}
workload:
  - {kind: incast, receiver: host1, senders: [host3], size: 1MB}
run: {duration: 1ms}
"""


def simulator(folder: Path) -> Path:
    path = folder / "simulator.yml"
    path.write_text(SIMULATOR, encoding="utf-8")
    return path


def test_what_the_model_of_a_scenario_lacks_is_not_run_with_its_reason_and_the_rest_is(
    tmp_path: Path, capsys: Captured
) -> None:
    assert main(["qualify", "seed", str(simulator(tmp_path)), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    colours = {(it["case"], check["id"]): (check["result"], check["cause"])
               for it in data["scenarios"] for check in it["checks"]}  # fmt: skip
    run = {case for (case, _), (result, _) in colours.items() if result != "not run"}
    assert run == {"ECMP", "HOPS", "MARKS"}
    assert "has no datagrams" in colours["ISOLATED", "1"][1]
    assert "steps of a collective share queue pairs" in colours["SCALES", "1"][1]
    assert colours["MARKS", "3"][0] == "green", "switches that mark what leaves them have marked when the queues drain"


def test_a_run_with_too_many_queue_pairs_for_its_model_is_named(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabric.qualify.whole.case_runs._MOST_PAIRS", 100)
    path = str(simulator(tmp_path))
    assert main(["qualify", "bmwg", path, "--case", "THROUGHPUT/4kb-1qp", "--case", "FAILOVER"]) == 1
    text = capsys.readouterr().out
    assert "this run has" in text
    assert "at most 100 are emulated" in text
    assert "has no faults, and this run takes a cable down" in text


def test_two_hosts_are_too_few_for_an_incast(capsys: Captured) -> None:
    assert main(["qualify", "seed", str(HEALTHY_FABRIC), "--ports", "2", "--case", "MARKS", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["scenarios"][0]
    assert found["findings"] == ["seed-example has 2 hosts, and the case needs 3"]
    assert found["run"] is None
