"""Cases of a campaign, their scores and the command."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric import __version__, dataplane
from fabric.cli.main import main
from fabric.scenario.load import build_scenario
from telemetry.campaign import page
from telemetry.campaign.calibration import calibration, fit, tune_rows
from telemetry.campaign.fabrics import CHIPS, SHAPES
from telemetry.campaign.generate import draw_case
from telemetry.campaign.results import figures, pages, wilson
from telemetry.campaign.scoring import is_judged, pairs
from telemetry.campaign.seeds import TestSeed, TuneSeed, parse_seed
from telemetry.campaign.truth import Group, group_of
from telemetry.diagnosis.confidence import DECIDES, FAMILIES, Table, family, isotonic, score, steps_at, table
from telemetry.diagnosis.root import Kind, Root
from telemetry.diagnosis.seen import missing_in, read_by
from telemetry.sources.campaign_case import campaign_case
from telemetry.sources.campaign_run import rules_digest

_MS = 1_000_000


def _root(kind: Kind, device: str, began_ms: int, **more: Any) -> Root:  # noqa: ANN401  fields of a root
    return Root(kind, device, began_ms * _MS, (began_ms + 2) * _MS, ("a number",), **more)


def _group(kind: Kind, *devices: str, start_ms: int = 5, **more: Any) -> Group:  # noqa: ANN401  fields of a group
    return Group((kind,), devices, start_ms * _MS, 30 * _MS, **more)


def test_a_seed_has_one_case_and_the_two_sides_differ() -> None:
    assert draw_case(TuneSeed(3)) == draw_case(TuneSeed(3))
    assert TuneSeed(3).value != TestSeed(3).value
    assert parse_seed("test/12") == TestSeed(12)
    with pytest.raises(ValueError, match="tune/17"):
        parse_seed("tune/-1")


def test_cases_are_valid_scenarios_in_about_the_mix() -> None:
    cases = [draw_case(seed(number)) for number in range(60) for seed in (TuneSeed, TestSeed)]
    for case in cases:
        build_scenario(case.scenario, Path("case.yml"))
        assert len(case.without) == len(case.what) <= len(case.groups)
    sorts = Counter(it.sort for it in cases)
    assert sorts["healthy"] > 20
    assert sorts["single"] > sorts["near"]
    assert {it.scenario["topology"]["kind"] for it in cases} == {*SHAPES["tune"], *SHAPES["test"]}


def test_a_nearly_slow_host_is_never_faster_than_its_line() -> None:
    [fault] = draw_case(TuneSeed(220)).scenario["faults"]  # twice what arrives there is more than a NIC receives
    assert (fault["kind"], fault["drain"]) == ("slow-receiver", "95000000000bps")


def test_test_seeds_have_chips_and_shapes_that_tune_seeds_lack() -> None:
    assert set(CHIPS["test"]) - set(CHIPS["tune"])
    assert set(SHAPES["test"]) - set(SHAPES["tune"])


def test_roots_and_groups_are_matched_one_to_one() -> None:
    groups = [_group(Kind.BAD_OPTIC, "leaf1", "spine1", ports=("leaf1:a", "spine1:b"))]
    roots = [_root(Kind.SILENT_LOSS, "leaf1", 6, port="a"), _root(Kind.BAD_OPTIC, "spine1", 6, port="b")]
    [pair] = pairs(roots, groups, _MS)
    assert (pair.root, pair.right, pair.device) == (1, True, True)
    assert pairs([_root(Kind.BAD_OPTIC, "spine2", 6)], groups, _MS) == []
    assert pairs([_root(Kind.BAD_OPTIC, "leaf1", 1)], groups, _MS) == [], "it began before the fault"
    [wrong] = pairs([_root(Kind.BAD_OPTIC, "leaf1", 6, port="c")], groups, _MS)
    assert not wrong.right, "another port"


def test_a_setting_may_be_named_at_several_switches_and_load_is_not_judged() -> None:
    setting = _group(Kind.ECN_WRONG, start_ms=0, part="setting")
    roots = [_root(Kind.ECN_WRONG, name, 1) for name in ("leaf1", "leaf2")]
    assert [it.right for it in pairs(roots, [setting], _MS)] == [True, True]
    assert not is_judged(_root(Kind.INCAST, "leaf1", 1), [setting])
    assert is_judged(roots[0], [])


def test_wilson_of_nothing_and_of_all() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(10, 10)
    assert low == pytest.approx(0.7225, abs=1e-4)
    assert high == pytest.approx(1.0)


def test_steps_of_confidence_do_not_decrease_and_are_drawn_to_the_mean() -> None:
    points = [(1.0, True), (2.0, False), (3.0, True), (4.0, True)]
    steps = isotonic(points, 0.75)
    values = [p for _, p in steps]
    assert values == sorted(values)
    assert steps[0] == (1.0, round((1 + 4 * 0.75) / (2 + 4), 4))
    assert steps_at(steps, 0.0) == steps[0][1]
    assert steps_at(steps, 99.0) == steps[-1][1]
    assert steps_at([], 1.0) is None


def test_a_rival_at_the_same_device_lowers_the_score() -> None:
    root = _root(Kind.BAD_OPTIC, "leaf1", 5, margin=8.0)
    assert score(root, [root]) == 3.0
    assert score(root, [root, _root(Kind.LINK_DOWN, "leaf1", 6)]) == 1.0
    assert score(root, [root, _root(Kind.INCAST, "leaf1", 6)]) == 3.0, "load is no rival"


def _row(seed: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401  fields of a row
    root = {
        "kind": "bad-optic", "device": "leaf1", "port": "", "class": None, "began_ns": 6 * _MS, "ended_ns": 8 * _MS,
        "members": [], "evidence": ["11 frames"], "judged": True, "score": 3.0,
    }  # fmt: skip
    view = {"roots": [root], "pairs": [[0, 0, True, True]]}
    return {
        "seed": seed, "sort": "single", "what": ["bad-optic"], "duration_ns": 30 * _MS,
        "groups": [_group(Kind.BAD_OPTIC, "leaf1").as_json()], "felt": [{"felt": True}], "views": {"ideal": view},
        "alerts": {"pages": 0, "incidents": [{"fired_ns": 9 * _MS, "severity": "warning", "alerts": []}]},
    } | more  # fmt: skip


def test_figures_of_rows() -> None:
    missed = _row("tune/1", views={"ideal": {"roots": [], "pairs": []}})
    found = figures([_row("tune/0"), missed], "ideal")
    assert (found.precision.ratio, found.recall.ratio, found.accuracy.ratio) == (1.0, 0.5, 0.5)
    assert found.confusion == {("bad-optic", "bad-optic"): 1, ("bad-optic", "nothing"): 1}
    assert [it.seed for it in found.misses] == ["tune/1"]
    assert found.delays_ns == [2 * _MS]
    assert pages([_row("tune/0")]).delays_ns == (4 * _MS,)
    group = _group(Kind.BAD_OPTIC, "leaf1")
    assert group_of(json.loads(json.dumps(group.as_json()))) == group


def test_a_page_is_about_the_fault_where_an_alert_of_its_kind_is_in_it() -> None:
    def paging(*alerts: str, at_ms: int = 9) -> dict[str, Any]:
        incident = {"fired_ns": at_ms * _MS, "severity": "critical", "alerts": list(alerts)}
        return {"pages": 1, "incidents": [incident]}

    group = _group(Kind.MAC_MOVE, "leaf1").as_json()
    shown = [
        _row(f"tune/{row}", what=["mac-move"], groups=[group], alerts=alerts)
        for row, alerts in enumerate(
            (paging("FabricBlackHole", "FabricMacMoves"), paging("FabricBlackHole"), paging("FabricBlackHole", at_ms=2))
        )
    ]
    assert (pages(shown).about.part, pages(shown).about.whole) == (1, 2)  # before the fault it is about something else


def test_no_table_is_fitted_on_test_seeds() -> None:
    with pytest.raises(ValueError, match="test seed"):
        tune_rows([_row("test/0")])
    fitted = fit(tune_rows([_row("tune/0")]), "rules")
    assert fitted.views["ideal"]["cables"] == [(3.0, 0.7333)], "one right root does not make it certain"
    its = calibration([_row("test/0")], "ideal", fitted, 0.6)
    assert (its.roots, its.brier, its.ece) == (1, pytest.approx(0.0711, abs=1e-4), pytest.approx(0.2667))


def test_the_table_of_the_package_has_both_views() -> None:
    found = table()
    assert isinstance(found, Table)
    assert set(found.views) == {"ideal", "sonic"}
    assert set(DECIDES) <= set().union(*FAMILIES.values())
    assert family(Kind.INCAST) == ""


def test_a_view_of_switches_lacks_what_they_do_not_count() -> None:
    assert missing_in("ideal") == frozenset()
    missing = missing_in("sonic")
    assert {"fabric_ecn_marked_packets_total", "fabric_bgp_peer_state"} <= missing
    assert "fabric_port_fcs_errors_total" not in missing
    assert not missing & {it for it in read_by("sonic") if it != "fabric_dropped_packets_total"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--resume", "--force"], "contradicts --force"),
        (["--page", "page.md"], "add --test"),
        (["--test", "--fit", "table.json"], "leave --test out"),
        (["--runs", "0"], "give 1 or more"),
        (["--read", "--runs", "3"], "has no effect with --read"),
        (["--write-case", "17", "cases"], "such as tune/17"),
    ],
)
def test_wrong_options_are_refused(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", *words]) == 2
    assert text in capsys.readouterr().err


def test_a_case_is_written_as_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "--write-case", "tune/3", str(tmp_path), "--json"]) == 0
    file = Path(json.loads(capsys.readouterr().out)["file"])
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert "broken-nic at host4" in data["description"]
    assert main(["scenario", "check", str(file)]) == 0


def test_a_folder_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert main(["campaign", "--out", str(tmp_path), "--force", "--runs", "1"]) == 2
    assert "holds no campaign" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"format": 1', "is damaged"),
        ('{"format": 1}', "no valid `side`"),
        ('{"format": 2, "side": "tune", "rules": "0"}', "another format than 1"),
        ("[]", "another format than 1"),
    ],
)
@pytest.mark.parametrize("option", ["--resume", "--read"])
def test_a_damaged_campaign_is_refused(
    option: str, text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "campaign.json").write_text(text, encoding="utf-8")
    assert main(["campaign", "--out", str(tmp_path), option]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert "--force" in said


def test_a_campaign_of_another_engine_is_not_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = {"format": 1, "version": __version__, "side": "tune", "rules": rules_digest()}
    (tmp_path / "campaign.json").write_text(json.dumps(index), encoding="utf-8")
    engine = tmp_path / "engine"
    engine.mkdir()
    (engine / "kernels.py").write_text("CHANGED = True", encoding="utf-8")
    monkeypatch.setattr(dataplane, "__path__", [str(engine)])
    assert rules_digest() != index["rules"]
    assert main(["campaign", "--out", str(tmp_path), "--resume", "--runs", "1"]) == 2
    assert "another engine" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--test", "--page"], ["--fit"]])
def test_a_missing_folder_of_the_page_is_found_before_the_first_run(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["campaign", "--out", str(out), *words, str(tmp_path / "none" / "it.md")]) == 2
    assert "is no folder" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.slow
def test_a_seed_gives_the_same_row_twice() -> None:
    first, again = campaign_case("tune/3"), campaign_case("tune/3")
    assert first.pop("wall_s") > 0
    again.pop("wall_s")
    assert first == again
    assert first["felt"][0]["felt"]
    assert first["views"]["ideal"]["pairs"][0][2:] == [True, True]


@pytest.mark.slow
def test_a_small_campaign_is_resumed_read_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--test", "--out", str(tmp_path / "test")]
    assert main(["campaign", *out, "--runs", "1", "--workers", "1", "--quiet"]) == 0
    assert main(["campaign", *out, "--runs", "2", "--workers", "1", "--quiet"]) == 2, "it would be replaced"
    assert main(["campaign", *out, "--runs", "2", "--workers", "1", "--quiet", "--resume"]) == 0
    capsys.readouterr()
    page = tmp_path / "page.md"
    assert main(["campaign", *out, "--read", "--json", "--page", str(page)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["runs"], facts["seeds"], len(facts["rules"])) == (2, "test", 16)
    assert "2 runs" in page.read_text(encoding="utf-8")


def test_a_page_tells_which_seeds_are_fresh() -> None:
    seen = page.SEEN
    rows = [{"seed": f"test/{number}"} for number in (0, 1, 2, seen, seen + 2)]
    assert page._numbers(rows) == f"0 to 2 and {seen} and {seen + 2}"
    assert page._fresh(rows[:3], Table("", 0, {})) == ""
    assert "None of them is on this page" in page._fresh(rows[3:], Table("", 0, {}))


def test_a_first_seed_of_0_is_an_option_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "--read", "--first", "0"]) == 2
    assert "--first: has no effect with --read" in capsys.readouterr().err
    assert main(["campaign", "--first", "-1"]) == 2
    assert "-1 is below 0" in capsys.readouterr().err
