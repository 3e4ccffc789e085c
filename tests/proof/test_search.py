"""The search without a finding: classes of ports, ladders, margins, mutated workloads, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from broken_fabrics import Broken, narrow_network, nothing, written
from fabrics import HOSTS, small_fabric
from proof_cases import CASES

from fabric.cli.main import main
from fabric.configs.load import load_network
from fabric.proof.cut import Cutter
from fabric.proof.outcome import simulate
from fabric.proof.recipe import lowered, scenario_of
from fabric.proof.registry import RECIPES
from fabric.proof.search import families
from fabric.proof.search.adversary import (
    MOST_FAULTS,
    MOST_MESSAGES,
    Genome,
    drawn,
    hunt,
    mutated,
    shrunk,
    tried_workload,
)
from fabric.proof.search.bench import EXPECTED, Bench, Moved, bench_at, failover_at
from fabric.proof.search.classes import members
from fabric.proof.search.margins import OF_SEVERAL, QUANTITIES, Margin, _Scan, largest
from fabric.proof.search.output import COLUMNS, as_data, as_markdown, as_text
from fabric.proof.search.rungs import RUNGS, Rungs
from fabric.proof.search.runs import Runs
from fabric.proof.search.search import Search
from fabric.validate.facts import Facts
from fabric.validate.runner import validate
from fabric.workload.streams import stream

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "margins-example"
DSCP = 26


def _rungs(**values: object) -> Rungs:
    """A ladder on which nothing was reached, but for what is given."""
    empty = dict.fromkeys(Rungs.__dataclass_fields__, 0) | {
        "mark_us": None,
        "pause_us": None,
        "loss": None,
        "storm_us": None,
    }
    return Rungs(**{**empty, "deadlock": False, **values})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def example() -> tuple[Facts, Cutter]:
    """The fabric whose egress pool is smaller than what its groups may hold."""
    facts = Facts(load_network([EXAMPLE]))
    return facts, Cutter(facts)


@pytest.fixture(scope="module")
def leaf(example: tuple[Facts, Cutter]) -> Bench:
    """Its first port to a host."""
    facts, cutter = example
    rows, _ = members(facts, cutter, DSCP)
    return bench_at(cutter, next(it for it in rows if it.kind.peer == "host"), DSCP)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The same port, with queues that are limited to 15 MB: check B7 says so."""
    facts = Facts(narrow_network(tmp_path_factory.mktemp("narrow")))
    cutter = Cutter(facts)
    rows, _ = members(facts, cutter, DSCP)
    return bench_at(cutter, next(it for it in rows if it.kind.peer == "host"), DSCP)


# Classes --------------------------------------------------------------------------------------------------------------


def test_ports_with_the_same_settings_are_one_class(tmp_path: Path) -> None:
    facts = Facts(Broken("", "", nothing).network(tmp_path))
    rows, omitted = members(facts, Cutter(facts), DSCP)
    found = {(it.kind.peer, it.kind.ports): len(it.ports) for it in rows}
    assert found == {("host", 4): 4, ("switch", 4): 4, ("switch", 2): 4}
    assert not omitted


def test_another_curve_makes_another_class(tmp_path: Path) -> None:
    fabric = small_fabric()
    fabric["leaf1"]["WRED_PROFILE"]["W"]["green_min_threshold"] = "300000"
    facts = Facts(written(tmp_path, fabric, HOSTS))
    rows, _ = members(facts, Cutter(facts), DSCP)
    assert len(rows) == 5


@pytest.mark.parametrize(
    ("table", "key", "values"),
    [
        ("PORT", "Ethernet8", {"speed": "100000"}),
        ("PORT", "Ethernet8", {"mtu": "1500"}),
        ("QUEUE", "Ethernet8|3", {"scheduler": "slow"}),
        ("PORT_QOS_MAP", "Ethernet8", {"dscp_to_tc_map": "OTHER"}),
    ],
)
def test_another_port_of_the_switch_makes_another_class(
    table: str, key: str, values: dict[str, str], tmp_path: Path
) -> None:
    """A run around a port sends into the others: leaf2 is searched, too, where only one other port differs."""
    fabric = small_fabric()
    fabric["leaf2"]["SCHEDULER"]["slow"] = {"type": "DWRR", "weight": "1"}
    fabric["leaf2"]["DSCP_TO_TC_MAP"]["OTHER"] = {**fabric["leaf2"]["DSCP_TO_TC_MAP"]["M"], "9": "2"}
    fabric["leaf2"][table][key].update(values)
    facts = Facts(written(tmp_path, fabric, HOSTS))
    rows, _ = members(facts, Cutter(facts), DSCP)
    first = {port: row.ports[0] for row in rows for port in row.ports}
    for name in ("Ethernet0", "Ethernet16"):
        assert first[f"leaf2:{name}"] != f"leaf1:{name}"
        assert first[f"leaf2:{name}"].startswith("leaf2:")
    assert first["spine2:Ethernet8"] == "spine1:Ethernet8"


def test_a_switch_that_nothing_crosses_is_named(tmp_path: Path) -> None:
    fabric = {"leaf1": small_fabric()["leaf1"]}
    for port in ("Ethernet8", "Ethernet16", "Ethernet24"):
        fabric["leaf1"]["PORT"][port]["admin_status"] = "down"
    facts = Facts(written(tmp_path, fabric, HOSTS))
    rows, omitted = members(facts, Cutter(facts), DSCP)
    assert not rows
    assert omitted == ["leaf1: fewer than two of its ports are in use, so nothing crosses it"]


# Bisection ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edge", [1, 2, 37, 9_999, 10_000])
def test_the_first_value_that_reaches_a_rung_is_found_to_one_percent(edge: int) -> None:
    tried: list[int] = []

    def at(value: int) -> list[Rungs]:
        tried.append(value)
        return [_rungs(lost=int(value >= edge))]

    found = _Scan(at).first("loss", 1, 10_000)
    assert found is not None
    assert edge <= found <= edge + max(1, edge // 100)
    assert len(tried) == len(set(tried)) < 20


def test_a_rung_beyond_the_limit_is_none() -> None:
    assert _Scan(lambda _: [_rungs()]).first("pause", 1, 100) is None


def test_growth_that_stops_hurting_is_told() -> None:
    scan = _Scan(lambda value: [_rungs(lost=int(10 <= value <= 40 or value == 100))])
    assert scan.first("loss", 1, 100) == 10
    assert scan.falls("loss", 10, 100) == 70


def test_the_largest_value_whose_need_is_met() -> None:
    assert largest(lambda n: 100 + n, 150, 1_000) == 50
    assert largest(lambda n: 100 + n, 2_000, 1_000) == 1_000
    assert largest(lambda n: 100 + n, 99, 1_000) is None


# Runs -----------------------------------------------------------------------------------------------------------------


def test_the_example_has_no_finding() -> None:
    assert not [it for it in validate(load_network([EXAMPLE])).findings if it.severity.word != "info"]


def test_groups_of_several_senders_overflow_a_queue_that_holds_one(narrow: Bench) -> None:
    """Above T(1) + xoff, and below what three groups hold: n groups have n T(n) of the pool."""
    runs = Runs(1)
    assert not runs.run(narrow, families.storm(narrow, 1)).bad
    traffic = families.storm(narrow, 3)
    rungs = runs.run(narrow, traffic)
    assert rungs.loss is not None
    assert rungs.loss.reason == "egress_threshold"
    assert 14_900_000 < rungs.depth_bytes <= 15_000_000
    runs.keep(narrow, traffic, rungs)
    (hit,) = runs.hits.values()
    assert hit.condition == ""
    assert hit.text.startswith("leaf1 Ethernet8 dropped ")


def test_two_queues_overflow_an_egress_pool_that_each_alone_does_not(leaf: Bench) -> None:
    """No rule adds up what the queues of a switch hold: the pool is full before a group asks for a pause."""
    runs = Runs(1)
    assert not runs.run(leaf, families.storm(leaf, 3)).bad
    rungs = runs.run(leaf, families.two_storms(leaf), Moved(response=0.0))
    assert rungs.loss is not None
    assert rungs.loss.reason == "egress_pool"
    assert rungs.pause_us is None


def test_the_same_traffic_is_clean_where_the_egress_pool_holds_all(tmp_path: Path) -> None:
    fabric = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in EXAMPLE.glob("[ls]*.json")}
    for tables in fabric.values():
        tables["BUFFER_POOL"]["egress_lossless_pool"]["size"] = "60817392"
    facts = Facts(written(tmp_path, fabric, HOSTS))
    cutter = Cutter(facts)
    bench = bench_at(cutter, members(facts, cutter, DSCP)[0][0], DSCP)
    rungs = Runs(1).run(bench, families.two_storms(bench))
    assert not rungs.bad
    assert rungs.pause_us is not None


def test_a_loss_that_needs_a_slow_peer_says_so(tmp_path: Path) -> None:
    """The clean fabric has the headroom of the vendor's row: less than half of the 802.3 limit needs."""
    facts = Facts(Broken("", "", nothing).network(tmp_path))
    cutter = Cutter(facts)
    bench = bench_at(cutter, members(facts, cutter, DSCP)[0][0], DSCP)
    runs = Runs(1)
    found = [(it, runs.run(bench, it)) for it in families.tries(bench, "storm")]
    runs.keep_one(bench, [pair for pair in found if pair[1].bad])
    (hit,) = runs.hits.values()
    assert hit.reason == "headroom"
    assert hit.condition.startswith("only if a peer takes more than 0.4")


def test_a_longer_cable_and_a_slower_peer_take_more_headroom(leaf: Bench) -> None:
    runs = Runs(1)
    traffic = families.storm(leaf, 1, against=True)
    base = runs.run(leaf, traffic).headroom_bytes
    assert runs.run(leaf, traffic, Moved(cable_m=50)).headroom_bytes > base
    assert runs.run(leaf, traffic, Moved(response=1.0)).headroom_bytes > base
    assert runs.run(leaf, traffic, Moved(response=0.0)).headroom_bytes < base


def test_frames_against_the_pause_take_headroom(leaf: Bench) -> None:
    runs = Runs(1)
    alone = runs.run(leaf, families.storm(leaf, 1)).headroom_bytes
    phased = [families.storm(leaf, 1, against=True, phase_ns=it) for it in families.phases(leaf)]
    assert max(runs.run(leaf, it).headroom_bytes for it in phased) > alone


def test_a_run_that_comes_to_a_standstill_without_a_loss_fails_the_expectations_of_a_search(tmp_path: Path) -> None:
    """`fabric run` of a hit exits with 1, also where packets wait for each other in a cycle."""
    case = next(it for it in CASES if it.check == "D1").case(tmp_path)
    plan = RECIPES["D1"].plan(case)
    run = simulate(scenario_of(plan, lowered(plan), "ring") | {"expectations": list(EXPECTED)})
    assert run.cycle
    assert run.count("drops.lossless") == 0
    assert not run.ok


@pytest.mark.parametrize("name", ["cable", "response"])
def test_no_run_loses_what_the_closed_form_allows(name: str, leaf: Bench) -> None:
    found = QUANTITIES[name](leaf, Runs(1))
    assert found.formula is not None
    assert not found.note
    lost = found.first["loss"]
    assert lost is None or found.formula < lost


def test_a_long_storm_shows_when_the_watchdog_acts(leaf: Bench) -> None:
    rungs = Runs(1).run(leaf, families.long_storm(leaf))
    assert rungs.storms == 1
    assert rungs.storm_us is not None
    assert 200_000 < rungs.storm_us <= 600_000  # detection of 200 ms at a poll of 200 ms
    assert not rungs.bad


def test_a_failover_moves_the_load_to_the_other_path(example: tuple[Facts, Cutter]) -> None:
    facts, cutter = example
    rows, _ = members(facts, cutter, DSCP)
    bench = failover_at(cutter, next(it for it in rows if it.kind.peer == "switch" and it.kind.ports == 4), DSCP)
    assert sorted(bench.cut.network.devices) == ["leaf1", "leaf2", "spine1", "spine2"]
    rungs = Runs(1).run(bench, families.failover(bench))
    assert rungs.mark_us is not None
    assert not rungs.bad


# Mutated workloads ----------------------------------------------------------------------------------------------------


def test_mutated_workloads_stay_within_their_bounds(leaf: Bench) -> None:
    genome = drawn(leaf, stream(1, "test"))
    tried = tried_workload(leaf, Runs(1), genome)
    for number in range(200):
        genome = mutated(leaf, [tried], stream(1, str(number)))
        assert 1 <= len(genome.messages) <= MOST_MESSAGES
        assert len(genome.faults) <= MOST_FAULTS
        assert all(src != dst for src, dst, _, _ in genome.messages)


def test_equal_seeds_try_equal_workloads_and_keep_to_the_budget(leaf: Bench) -> None:
    first, second = Runs(7), Runs(7)
    found = [[it.genome for it in hunt(leaf, runs, 12)] for runs in (first, second)]
    assert found[0] == found[1]
    assert first.count == second.count == 12


def test_a_loss_is_shown_with_the_messages_that_it_needs(narrow: Bench) -> None:
    runs = Runs(1)
    size = 16_000_000
    needed = tuple((host, narrow.cut.receiver, size, 1.0) for host in narrow.senders)
    idle = tuple((narrow.senders[0], narrow.senders[1], 10_000, float(at)) for at in range(2, 6))
    faults = (("pause-storm", narrow.cut.receiver, 5.0, 300.0), ("link-rate", narrow.senders[1], 1.0, 50.0))
    tried = tried_workload(narrow, runs, Genome((*needed, *idle), faults))
    assert tried.rungs.bad
    small = shrunk(narrow, runs, tried, 10_000)
    assert small.rungs.bad
    assert len(small.genome.messages) < 4
    assert len(small.genome.faults) < 2


@pytest.mark.slow
def test_mutation_alone_finds_the_loss(narrow: Bench) -> None:
    runs = Runs(1)
    best = [it.rungs.lost for it in hunt(narrow, runs, 120)]
    assert best[-1] > 0
    assert {it.reason for it in runs.hits.values()} == {"egress_threshold"}


# Output ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quick(example: tuple[Facts, Cutter]) -> Search:
    """A search that was ended by Ctrl-C in the margins of its first class."""
    search = Search(example[0].network, 1, 10)

    def tell(_done: int, _total: int, text: str) -> None:
        if text.startswith("margin of the speed"):
            raise KeyboardInterrupt

    search.carry_out(tell)
    return search


def test_ctrl_c_leaves_what_was_found(quick: Search) -> None:
    assert not quick.found.complete
    assert [row.family for row in quick.found.classes[0].rows] == ["incast", "step", "storm", "long storm"]
    assert [it.name for it in quick.found.classes[0].margins] == ["fan-in", "load", "cable"]
    assert quick.found.hits
    assert "ended early" in as_text(quick.found)


def test_the_text_has_eighty_columns_and_every_rung(quick: Search) -> None:
    lines = as_text(quick.found).splitlines()
    assert max(len(line) for line in lines if not line.startswith("  $")) <= COLUMNS
    assert any(all(title in line for title in ("first mark", "first pause", "headroom", "loss")) for line in lines)


def test_json_and_markdown_have_the_same_margins(quick: Search) -> None:
    data = as_data(quick.found)
    first = data["classes"][0]["margins"][0]
    assert set(first["first"]) == set(RUNGS)
    assert first["first"]["mark"] == 2
    assert f"| {first['quantity']} | 2 |" in as_markdown(quick.found)
    assert data["losses"][0]["scenario"].startswith("# Search, ")


def test_quantities_of_several_senders_are_named() -> None:
    assert set(QUANTITIES) > OF_SEVERAL
    assert Margin("cable", "m", 40, 100, {}).first == {}


def test_a_loss_without_a_finding_is_written_and_reproduced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the families of the first class: the rest is ended as by Ctrl-C, which is tested above."""
    monkeypatch.setattr("fabric.proof.search.search.QUANTITIES", {})
    out = tmp_path / "proofs"
    options = ["validate", str(EXAMPLE), "--prove", "--search", "0", "--prove-out", str(out), "--quiet"]
    assert main(options) == 1
    shown = capsys.readouterr().out
    assert "0 errors, 0 warnings" in shown
    assert "loss without a finding (storm)" in shown
    file = next(out.glob("search-storm-*.yml"))
    assert f"$ fabric run {file}" in shown
    assert main(["run", str(file), "--out", str(tmp_path / "run"), "--quiet"]) == 1
    assert (out / "search.json").exists()
    assert main([*options, "--fail-on", "never"]) == 0


def test_an_interrupted_search_ends_with_130_and_its_margins(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Margin:
        raise KeyboardInterrupt

    monkeypatch.setattr("fabric.proof.search.search.QUANTITIES", {"cable": interrupted})
    assert main(["validate", str(EXAMPLE), "--prove", "--json", "--quiet"]) == 130
    out, err = capsys.readouterr()
    found = json.loads(out)["search"]
    assert found["complete"] is False
    assert [it["family"] for it in found["classes"][0]["ladders"]] == ["incast", "step", "storm", "long storm"]
    assert "interrupted: " in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--search"], "--search: has no effect without --prove"),
        (["--search-seed", "2"], "--search-seed: has no effect without --prove"),
        (["--prove", "--search-seed", "2"], "--search-seed: has no effect without --search"),
    ],
)
def test_options_without_effect_are_refused(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(EXAMPLE), *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("text", ["x", "-1", "1e3", "9" * 30])
def test_a_budget_that_is_no_number_of_runs_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(EXAMPLE), "--prove", f"--search={text}"]) == 2
    assert "is not a number of runs" in capsys.readouterr().err


@pytest.mark.slow
def test_the_guide_shows_what_its_command_prints(
    repo_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").symlink_to(repo_root / "docs")
    monkeypatch.chdir(tmp_path)
    guide = (repo_root / "docs/howto/margins.md").read_text(encoding="utf-8")
    command, *lines = next(it for it in guide.split("```\n")[1::2] if it.startswith("$ ")).splitlines()
    assert main(command.removeprefix("$ fabric ").split()) == 1
    assert "\n".join(lines) in capsys.readouterr().out
    (line,) = (it for it in guide.splitlines() if it.startswith("fabric run "))
    assert main([*line.removeprefix("fabric ").split(" ", 2)[:2], "--out", "run", "--quiet"]) == 1
