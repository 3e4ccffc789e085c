"""`fabric fidelity` and its page: misses are reported, single cases can be run, contradictions are refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.verify.fidelity import closed_forms, page, rows
from fabric.verify.fidelity.rows import FAMILIES, all_rows
from fabric.verify.fidelity.table import Outcome, Row, exactly, missing


def spoken(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["fidelity", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def wrong_result(folder: Path, ns3_dir: Path) -> Path:
    """A copy of one recorded case whose flow 0 took a nanosecond longer."""
    for name in ("cases", "results"):
        (folder / name).mkdir()
        shutil.copy(ns3_dir / name / "G_B.json", folder / name)
        (folder / name / "G_B.json").chmod(0o644)
    file = folder / "results" / "G_B.json"
    result = json.loads(file.read_text())
    result["flows"][0]["fct_ns"] += 1
    file.write_text(json.dumps(result))
    return folder


def test_ids_are_unique_and_every_row_says_where_its_reference_comes_from() -> None:
    found = [row for family in all_rows(None).values() for row in family]
    assert len({row.id for row in found}) == len(found)
    assert all(len(row.source) > 5 and row.title for row in found)
    assert len(FAMILIES) >= 2


def test_one_row_is_run_by_its_id_and_a_pattern_that_matches_nothing_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = spoken(capsys, "--row", "closed/line/2x100G")
    assert code == 0
    assert "834091" in out
    assert "1 of 1 rows agree" in out
    assert "recorded runs of the HPCC simulator are left out" in err
    code, out, err = spoken(capsys, "--row", "nothing*")
    assert (code, out) == (2, "")
    assert "no row matches nothing*" in err


def test_a_list_runs_nothing_and_names_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = spoken(capsys, "--list", "--json")
    assert code == 0
    listed = [row["id"] for row in json.loads(out)["rows"]]
    assert listed == [row.id for family in all_rows(None).values() for row in family]


def test_a_single_nanosecond_is_a_miss_with_exit_code_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ns3_dir: Path
) -> None:
    folder = wrong_result(tmp_path, ns3_dir)
    code, out, _ = spoken(capsys, "--reference", str(folder), "--row", "ns3/*/insertion", "--json")
    answer = json.loads(out)
    assert (code, answer["misses"], answer["known_misses"]) == (1, 3, 0)
    missed = {it["quantity"]: it["ours"] - it["reference"] for it in answer["rows"][0]["findings"] if not it["agrees"]}
    assert missed == {"flows with equal FCT": -1, "mean FCT, ns": -0.5, "largest FCT difference, ns": 1}


@pytest.mark.parametrize(("order", "count"), [("insertion", 1), ("source", 1), (None, 2)])
def test_a_case_is_compared_in_the_given_orders(
    capsys: pytest.CaptureFixture[str], ns3_dir: Path, order: str | None, count: int
) -> None:
    words = ["--case", str(ns3_dir / "cases" / "G_B.json"), "--json", *(["--order", order] if order else [])]
    code, out, _ = spoken(capsys, *words)
    answer = json.loads(out)
    assert (code, len(answer["rows"]), len(answer["cases"])) == (0, count, count)
    assert sorted(answer["cases"][0]["fct_ns"].values()) == [1_664_008, 1_664_091]
    assert sum(answer["cases"][0]["pauses"].values()) == 134


def test_a_case_without_a_recorded_run_is_run_without_comparison(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(closed_forms.plain_case("mine", 1, [0, 0], 10**11, 1000, [(0, 1, 10_000_000)])))
    code, out, err = spoken(capsys, "--case", str(file), "--order", "insertion")
    assert code == 0
    assert "mine, order insertion: 1 of 1 flows complete, mean FCT 834091.0 ns" in out
    assert "simulated without comparison" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--reference", "nowhere"], "--reference: nowhere is not a folder"),
        (["--case", "nowhere.json"], "--case: nowhere.json does not exist"),
        (["--write", "x.md"], "--write: the page shows the recorded runs, too"),
        (["--write", "x.md", "--fast"], "--fast, --row, --order and --list choose some"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    code, out, err = spoken(capsys, *words)
    assert (code, out) == (2, "")
    assert text in err


def outcome(time_ns: float, known: tuple[float, float] | None = None) -> Outcome:
    why = "The formula leaves it out." if known else ""
    row = Row("x/1", "a | title", "asic", "C", "a formula", list, known_miss=why)
    time = exactly("time, ns", 7, time_ns)
    return Outcome(row, [exactly("bytes", 100, 100), missing(time, *known) if known else time])


def test_the_page_publishes_every_miss_with_its_size() -> None:
    text = page.markdown({"A family": [outcome(8)]})
    assert "**0 of 1 rows agree, 1 of 2 numbers; 0 are known misses within their bounds, 1 are not.**" in text
    assert "- `x/1`: time, ns: 8 instead of 7 (+14.286%, allowed 7 to 7; misses). Not explained." in text
    assert "| A family | 0 of 1 | 1 of 2 | 0 | 1 |" in text
    assert "a \\| title" in text
    known = page.markdown({"A family": [outcome(8, (7.5, 8.5))]})
    assert "1 are known misses within their bounds, 0 are not" in known
    assert "allowed 7 to 7; known miss (7.5 to 8.5)). The formula leaves it out." in known
    good = page.markdown({"A family": [outcome(7)]})
    assert good.split("## What misses")[1].strip().startswith("None.")


@pytest.mark.parametrize(
    ("time_ns", "known", "code"),
    [(7, None, 0), (8, None, 1), (8, (7.5, 8.5), 0), (9, (7.5, 8.5), 1), (7, (7.5, 8.5), 1)],
)
def test_the_exit_code_is_0_for_agreement_and_known_misses_and_1_for_new_and_moved_ones(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    time_ns: float,
    known: tuple[float, float] | None,
    code: int,
) -> None:
    made = outcome(time_ns, known)
    monkeypatch.setattr(rows, "all_rows", lambda _: {"A family": [replace(made.row, run=lambda: made.findings)]})
    found, out, _ = spoken(capsys, "--row", "x/1")
    assert found == code
    text = page.markdown({"A family": [made]})
    assert ("0 are not.**" in text) == (code == 0)  # the page agrees with the exit code
    assert f"{code} are new misses" in out


def test_bounds_of_a_known_miss_lie_apart_from_the_tolerance() -> None:
    for low, high in ((6, 7), (8, 7.5), (7, 9)):
        with pytest.raises(ValueError, match="bounds"):
            missing(exactly("time, ns", 7, 8), low, high)


@pytest.mark.slow
def test_the_page_in_the_repository_holds_every_row(repo_root: Path, ns3_dir: Path) -> None:
    text = (repo_root / "docs" / "fidelity.md").read_text(encoding="utf-8")
    missing = [row.id for family in all_rows(ns3_dir).values() for row in family if f"`{row.id}`" not in text]
    assert not missing, "run: fabric fidelity --reference DIR --write docs/fidelity.md"


def test_numbers_are_written_as_a_reader_can_use_them() -> None:
    assert [page.number(value) for value in (3.0, 0.12345678, 1234.56, 1e-9)] == ["3", "0.1235", "1234.6", "1e-09"]
