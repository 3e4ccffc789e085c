"""`fabric qualify bmwg`: KPIs by name and unit, and two fabrics side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric import shipped
from fabric.cli.main import main
from fabric.qualify.cases import cases_of, chosen, left_out_of, scenarios_of
from fabric.qualify.compare import compared
from fabric.qualify.names import KPI, MEASURES
from fabric.qualify.output import comparison
from fabric.qualify.whole.case_runs import runs_of
from fabric.qualify.whole.schema import FabricCaseSpec
from fabric.qualify.whole.subject import of_scenario
from tests.qualify.seed_mutants import HEALTHY_FABRIC

Captured = pytest.CaptureFixture[str]


def result(out: Path, subject: str, *cases: str) -> dict[str, Any]:
    words = [word for it in cases for word in ("--case", it)]
    assert main(["qualify", "bmwg", subject, *words, "--json", "-o", str(out)]) == 0
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def values(data: dict[str, Any], scenario: str) -> dict[tuple[str, str], float]:
    (one,) = (it for it in data["scenarios"] if it["scenario"] == scenario)
    return {(row["measure"], row["label"]): row["value"] for it in one["checks"] for row in it["counters"]}


def test_every_kpi_is_reported_by_the_drafts_name_and_unit() -> None:
    """The title of a check is 'NAME, UNIT', and the measure has that unit."""
    used = set()
    for case in cases_of("bmwg"):
        for check in case.checks:
            assert not check.holds, "the draft sets no limits"
            (demand,) = check.shown
            about = MEASURES[demand.left.name]
            assert check.title.rpartition(", ")[2] == about.unit
            name = about.counter.removeprefix("KPI: ")
            assert check.title.startswith(name)
            used.add(demand.left.name)
    assert used == {name for name, it in MEASURES.items() if it.of == (KPI,)}
    assert all(it.left_out for it in left_out_of("bmwg"))


def test_kpis_of_collectives_follow_from_their_times(tmp_path: Path) -> None:
    data = result(tmp_path / "a.json", str(HEALTHY_FABRIC), "COLLECTIVES")
    found = values(data, "all-reduce-4")
    took_s, size_bits, factor, line_bps = found["jct(kpi)", "mean"], 4 * 8e6, 2 * 3 / 4, 400e9
    assert found["busbw(kpi)", "mean"] == pytest.approx(size_bits * factor / took_s / 1e9)
    assert found["busbw_efficiency(kpi)", "mean"] == pytest.approx(found["busbw(kpi)", "mean"] / 4)
    ratio = (10e-3 + took_s) / (10e-3 + size_bits * factor / line_bps)
    assert found["jct_ratio(kpi)", "C 10 ms"] == pytest.approx(ratio)
    assert 1 < ratio < 1.01
    design = next(it for it in data["scenarios"] if it["scenario"] == "all-reduce-4")["run"]["design"]
    assert (design["accelerators"], design["line_rate_gbps"], design["leaf_oversubscription"]) == (4, [400.0], 1.0)
    assert design["structure"] == {"tiers": 2, "hops_worst": 3, "equal_cost_paths": 2, "bisection_gbps": 800.0}


def test_a_scale_that_the_fabric_lacks_is_named(tmp_path: Path) -> None:
    data = result(tmp_path / "a.json", str(HEALTHY_FABRIC), "INCAST")
    assert [it["scenario"] for it in data["scenarios"]] == ["incast-2"]
    assert "INCAST incast-32: needs 33 hosts, and there are 4" in data["not_emulated"]
    assert any(it.startswith("UET, ") for it in data["not_emulated"]) is False, "only those of the cases asked for"


def eight_spines(folder: Path) -> Path:
    """The scenario incast with eight slow spines instead of two fast ones: the same bisection."""
    raw = yaml.safe_load(shipped.scenario(Path("incast")).read_text(encoding="utf-8"))
    raw["topology"] |= {"spines": 8, "fabric_rate": "100G"}
    path = folder / "eight.yml"
    path.write_text(yaml.safe_dump(raw | {"name": "eight"}, sort_keys=False), encoding="utf-8")
    return path


def test_two_designs_of_one_bisection_are_compared(tmp_path: Path, capsys: Captured) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    result(a, "incast", "BALANCE/1qp")
    result(b, str(eight_spines(tmp_path)), "BALANCE/1qp")
    found = compared("bmwg", a, b)
    assert found.comparable
    assert {key: pair for key, *pair in found.structure}["equal_cost_paths"] == ["2", "8"]
    assert {key: pair for key, *pair in found.structure}["bisection_gbps"] == ["800", "800"]
    (worst,) = (it for it in found.lines if (it.measure, it.label) == ("mmr", "worst switch"))
    assert worst.change is not None
    assert worst.change > 0.2, "a flow fills more of a slow cable's share"
    for style in ("text", "markdown", "html", "json"):
        assert main(["qualify", "--compare", str(a), str(b), "--format", style]) == 0
        assert "ECMP Imbalance (MMR)" in capsys.readouterr().out
    assert max(map(len, comparison.as_text(found).splitlines())) <= 80


def test_unlike_fabrics_are_side_by_side_without_a_change(tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    result(a, "incast", "BALANCE/1qp")
    result(b, str(HEALTHY_FABRIC), "BALANCE/1qp")
    found = compared(None, a, b)
    assert not found.comparable
    assert ("line_rate_gbps", "100", "400") in found.differs
    assert all(it.change is None for it in found.lines)
    assert "no change is computed" in comparison.as_text(found)


def test_another_load_balancing_is_stated_and_compared(tmp_path: Path) -> None:
    raw = yaml.safe_load(shipped.scenario(Path("incast")).read_text(encoding="utf-8"))
    raw["switches"]["load_balancing"] = "spray"
    sprayed = tmp_path / "spray.yml"
    sprayed.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    result(a, "incast", "BALANCE/1qp")
    result(b, str(sprayed), "BALANCE/1qp")
    found = compared(None, a, b)
    assert [key for key, *_ in found.differs] == ["load_balancing"]
    assert any(it.change is not None for it in found.lines)


def test_a_failed_cable_loses_what_is_on_its_way(tmp_path: Path) -> None:
    found = values(result(tmp_path / "a.json", "incast", "FAILOVER"), "uplink")
    assert found["failover_lost(kpi)", "all"] > 0


def small(folder: Path, **changes: Any) -> str:  # noqa: ANN401  of a scenario file
    """Two leaves of four hosts at 100G, one spine: 4 to 1; little memory."""
    raw = {
        "name": "small",
        "description": "Two leaves and one spine.",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "host_rate": "100G",
                     "fabric_rate": "100G"},
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["host5"], "size": "1MB"}],
        "switches": {"memory": "16MB"},
        "run": {"duration": "1ms"},
        **changes,
    }  # fmt: skip
    path = folder / "small.yml"
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    return str(path)


def test_jobs_at_leaves_of_their_own_do_not_disturb_each_other_and_jobs_that_share_an_uplink_do(tmp_path: Path) -> None:
    names = [f"TENANTS/{it}-all-to-all" for it in ("apart", "mixed")]
    data = result(tmp_path / "a.json", small(tmp_path), *names)
    assert set(values(data, "apart-all-to-all").values()) == {1.0, 0.0}, "no frame is lost, and no time"
    mixed = values(data, "mixed-all-to-all")
    assert 1.5 < mixed["interference(kpi)", "job 1"] < 2.5, "one uplink for two jobs"


def test_a_lossy_fabric_absorbs_what_its_buffer_holds_and_a_lossless_one_all(tmp_path: Path) -> None:
    """Four send to one at line rate: three quarters of what is sent waits."""
    lossless = values(result(tmp_path / "a.json", small(tmp_path), "BURST/incast-4"), "incast-4")
    assert lossless["burst_lost(kpi)", "all"] == 0
    assert lossless["pfc_pause_count(kpi)", "all ports"] > 0
    lossy = values(result(tmp_path / "b.json", small(tmp_path, pfc="off"), "BURST/incast-4"), "incast-4")
    assert lossy["burst_lost(kpi)", "all"] > 0
    assert 0 < lossy["burst_bytes(kpi)", "all"] < lossless["burst_bytes(kpi)", "all"]
    assert lossy["burst_bytes(kpi)", "all"] == 4096 * lossy["burst_frames(kpi)", "all"]


@pytest.mark.slow
def test_flows_of_dcqcn_become_fair_and_flows_that_never_do_have_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = result(tmp_path / "a.json", small(tmp_path), "DCQCN/m-1")
    assert 0 < values(data, "m-1")["convergence(kpi)", "all"] <= 120_000
    monkeypatch.setattr("fabric.qualify.whole.kpis._FAIR", -1.0)
    data = result(tmp_path / "b.json", small(tmp_path), "DCQCN/m-1")
    assert values(data, "m-1")["convergence(kpi)", "all"] is None
    assert comparison.as_text(compared(None, tmp_path / "a.json", tmp_path / "b.json"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "is no result of fabric qualify"),
        ('{"plan": "seed", "scenarios": []}', "is a result of seed, not of bmwg"),
        ('{"plan": "bmwg", "scenarios": [{"case": "A", "scenario": "b"}]}', "a result lacks"),
    ],
)
def test_files_that_are_no_results_are_bad_input(text: str, said: str, tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    assert main(["qualify", "bmwg", "--compare", str(path), str(path)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--list", "--compare", "a.json", "b.json"], "contradicts --list"),
        (["--compare", "a.json", "b.json", "--format", "junit"], "junit is for the checks of one result"),
        (["--compare", "a.json", "b.json", "--ports", "4"], "has no effect with --compare"),
        (["--compare", "a.json", "nothing.json"], "a.json"),
    ],
)
def test_contradictions_of_compare_are_bad_input(words: list[str], said: str, capsys: Captured) -> None:
    assert main(["qualify", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("share", "shared", "leaves"), [(25, 1, 7), (50, 2, 6), (75, 3, 5)])
def test_jobs_overlap_at_the_leaves_that_they_share(share: int, shared: int, leaves: int, tmp_path: Path) -> None:
    """With one spine a job uses both directions of one cable a leaf, so the overlap of cables is that of leaves."""
    topology = {"kind": "leaf-spine", "leaves": leaves, "spines": 1, "hosts_per_leaf": 2, "host_rate": "100G",
                "fabric_rate": "100G"}  # fmt: skip
    path = small(tmp_path, topology=topology)
    found = values(
        result(tmp_path / "a.json", path, f"TENANTS/overlap-{share}-all-to-all"), f"overlap-{share}-all-to-all"
    )
    assert shared * 25 == share
    assert (found["link_overlap(kpi)", "job 1"], found["link_overlap(kpi)", "job 2"]) == (share, share)
    assert found["interference(kpi)", "job 1"] > 1.05


def test_an_overlap_needs_its_leaves(tmp_path: Path) -> None:
    data = result(tmp_path / "a.json", small(tmp_path), "TENANTS")
    assert not [it for it in data["scenarios"] if it["scenario"].startswith("overlap")]
    assert any("overlap-25-all-reduce: needs" in it for it in data["not_emulated"])


def test_a_long_run_is_left_out_and_named_unless_it_is_asked_for(tmp_path: Path) -> None:
    (case,) = (it for it in cases_of("bmwg") if it.case == "DCQCN")
    assert [it.name for it in scenarios_of(case) if getattr(it, "long", False)] == ["m-64", "m-256"]
    subject = of_scenario(shipped.scenario(Path("incast")))
    brief = case.model_copy(update={"runs": scenarios_of(case)[-1:]})
    assert isinstance(brief, FabricCaseSpec)
    assert list(runs_of(subject, brief)) == []
    assert "DCQCN m-256: takes long; --case DCQCN/m-256 runs it" in subject.not_lowered
    (named,) = chosen("bmwg", ["DCQCN/m-256", "DCQCN/m-1"])
    assert [(it.name, getattr(it, "long", None)) for it in scenarios_of(named)] == [("m-1", False), ("m-256", False)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "flows"), [("m-64", 128), ("m-256", 512)])
def test_many_flows_are_queue_pairs_of_few_hosts(name: str, flows: int) -> None:
    (case,) = chosen("bmwg", [f"DCQCN/{name}"])
    assert isinstance(case, FabricCaseSpec)
    (one,) = runs_of(of_scenario(shipped.scenario(Path("incast"))), case)
    assert one.trial is not None
    assert len(one.trial.end.qps) == flows
    assert (one.trial.end.qps["acked_psn"] > 0).all()
