"""Measurements of configuration checkers keep each row, go on after an interruption, and refuse wrong options."""

from __future__ import annotations

import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.configs import __main__ as program
from bench.configs.__main__ import main
from bench.configs.estimate import Bill, Pair, cost
from bench.configs.kept import SHIPPED, Kept, read_rows
from bench.configs.measure import Measured, Tick, measured
from bench.configs.page import page, table
from bench.configs.plan import shape_of
from bench.configs.progress import Progress
from bench.configs.sarif import Answer, Scored
from fabric.cli.terminal.bar import Bar
from fabric.errors import FabricError
from fabric.scenario.estimate.machine import Limit
from fabric.units import format_duration_s

ANSWER = Answer("eos-10-000", "eos", 10, "PFC off", ("leaf1",), "Ethernet3/1", ("L1",))
ROW = Measured(
    "eos", 10, (Scored(ANSWER, found=True, first=True, right=1, new=1, seconds=2.0),), 0, 2.0, 100.0,
    asked=1, prepare_s=1.0, files_bytes=1_000_000,
)  # fmt: skip


def counted(monkeypatch: pytest.MonkeyPatch, *, interrupt_at: int = 99) -> list[tuple[str, int, int]]:
    """What is measured, instead of measuring it."""
    calls: list[tuple[str, int, int]] = []

    def one(language: str, size: int, count: int, tick: Tick) -> Measured:
        calls.append((language, size, count))
        tick(0)
        if len(calls) == interrupt_at:
            raise KeyboardInterrupt
        return replace(ROW, language=language, switches=size, asked=count)

    monkeypatch.setattr(program, "measured", one)
    return calls


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--switches 10,3", "'3': give numbers of switches from 4 to 10,000"),
        ("--switches 10,10001", "'10001': give numbers of switches from 4 to 10,000"),
        ("--switches 10,,20", "'': give numbers"),
        ("--switches many", "'many': give numbers"),
        ("--languages eos,ios", "'ios' is none of"),
        ("--mutants 0", "'0' is no number of mutants"),
        ("--resume", "--resume needs --results"),
        ("--switches= ", "give numbers"),
        ("--logs .", "--score and --logs need each other"),
        ("--make m --results r.json", "--results is of a measurement"),
        ("--score . --logs .", "it has no answers.json"),
        ("--results no-folder/r.json", "a file in a folder that exists"),
        ("--write .", "a file in a folder that exists"),
    ],
)
def test_a_wrong_option_is_refused(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words.split())
    assert (stop.value.code, said in capsys.readouterr().err) == (2, True)


def test_any_number_of_switches_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch)
    assert main(["--switches", "10,5000,10", "--languages", "nvue", "--quiet"]) == 0
    assert calls == [("nvue", 10, 40), ("nvue", 5000, 1)]


def test_ctrl_c_leaves_the_finished_rows_and_resume_measures_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--switches",
        "10",
        "--languages",
        "eos,nvue,sonic",
        "--results",
        str(tmp_path / "r.json"),
        "--mutants",
        "1",
    ]
    counted(monkeypatch, interrupt_at=2)
    assert main(words) == 130
    assert "--resume measures the rest" in capsys.readouterr().err
    assert [it.language for it in read_rows(tmp_path / "r.json")] == ["eos"]
    calls = counted(monkeypatch)
    assert main([*words, "--resume"]) == 0
    assert [it[0] for it in calls] == ["nvue", "sonic"]
    assert main([*words[:-1], "2", "--resume"]) == 0, "more mutants than the rows have"
    assert [it[2] for it in calls[2:]] == [2, 2, 2]
    assert main(words) == 0
    assert len(calls) == 8


def test_results_of_another_program_are_named_and_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.json"
    for text in ("{", "{}", "[1]", '[{"rows": []}]'):
        path.write_text(text)
        assert main(["--results", str(path), "--switches", "10"]) == 2
        assert "r.json holds no results of this benchmark" in capsys.readouterr().err
        assert path.read_text() == text


def test_a_row_that_cannot_be_written_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept.read(tmp_path / "r.json")
    kept.add(ROW)
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(FabricError, match="No space left"):
        kept.add(replace(ROW, switches=20))
    assert read_rows(tmp_path / "r.json") == [ROW]
    assert [it.name for it in tmp_path.iterdir()] == ["r.json"]


def test_an_estimate_is_in_proportion_to_the_cables() -> None:
    found = cost(Pair("eos", 100, 3), [ROW, replace(ROW, language="nvue", switches=100)])
    ratio = shape_of(100).cables / shape_of(10).cables
    assert (found.run_s, found.prepare_s, found.runs) == (2.0 * ratio, ratio, 4)
    assert found.total_s == ratio * 9
    assert found.disk_bytes == 1_000_000 * ratio


def test_memory_is_on_the_line_through_the_smallest_row() -> None:
    half = (shape_of(10).cables + shape_of(100).cables) / 2
    rows = [ROW, replace(ROW, switches=100, memory_mib=300.0)]
    slope = 200.0 / (shape_of(100).cables - shape_of(10).cables)
    found = cost(Pair("eos", 60, 1), rows)
    assert found.memory_mib == pytest.approx(100.0 + slope * (shape_of(60).cables - shape_of(10).cables))
    assert (found.memory_mib < 200.0) == (shape_of(60).cables < half)


@pytest.mark.parametrize(("spare", "problems"), [(0, 0), (-1, 1)])
def test_what_does_not_fit_is_a_problem(spare: int, problems: int) -> None:
    costs = {Pair("eos", 10, 1): cost(Pair("eos", 10, 1), [ROW])}
    memory, disk = Limit(100 * 2**20 + spare, "RAM"), Limit(1_000_000 + spare, "the disk")
    assert len(Bill(costs, memory, None).problems()) == problems
    assert len(Bill(costs, None, disk).problems()) == problems


def test_estimate_measures_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    calls = counted(monkeypatch)
    assert main(["--switches", "20", "--languages", "eos", "--estimate"]) == 0
    said = capsys.readouterr().out
    assert (calls, "it would start" in said) == ([], True)
    monkeypatch.setattr("bench.configs.estimate.machine", lambda: _machine(1000))
    assert main(["--switches", "20", "--languages", "eos", "--estimate"]) == 1
    assert "it would be refused" in capsys.readouterr().out
    assert main(["--switches", "20", "--languages", "eos"]) == 2
    assert calls == []


def _machine(free_bytes: int) -> object:
    return type("Machine", (), {"memory": Limit(free_bytes, "RAM")})()


def test_the_time_left_follows_the_pace() -> None:
    now, out = [0.0], io.StringIO()
    pair = Pair("eos", 10, 2)
    progress = Progress(_Always(out), {pair: cost(pair, [ROW])}, clock=lambda: now[0])
    shown = []
    for step, at in ((0, 0.0), (1, 2.0), (None, 4.0), (2, 6.0), (3, 10.0)):  # twice as slow as estimated
        now[0] = at
        progress.tick(pair, step)
        shown.append(out.getvalue().splitlines()[-1])
    assert [re.sub(r".*about ", "", it) for it in shown] == [
        f"{format_duration_s(it)} left" for it in (7, 12, 10, 8, 4)
    ]
    assert "mutant 2 of 2" in shown[-1]


class _Always(Bar):
    """A bar that shows every text."""

    def __init__(self, out: io.StringIO) -> None:
        super().__init__(out, quiet=False)
        self._text = out

    def show(self, done: int, total: int, text: str) -> None:
        self._text.write(f"{done}/{total} {text}\n")


def test_the_table_says_how_many_mutants_were_asked_for() -> None:
    assert "| Arista EOS | 1 of 40 |" in table([replace(ROW, asked=40)])
    assert "| Arista EOS | 1 |" in page([ROW])


def test_the_shipped_rows_are_read() -> None:
    assert read_rows(SHIPPED)


def test_a_measurement_says_its_steps_and_keeps_what_it_took(tmp_path: Path) -> None:
    steps: list[int | None] = []
    row = measured("eos", 4, 2, steps.append)
    assert [it for it in steps if it is not None] == list(range(2 + len(row.rows)))
    assert (row.asked, row.switches, len(row.rows)) == (2, 4, 2)
    assert row.files_bytes > 4 * 512
    kept = Kept.read(tmp_path / "r.json")
    kept.add(row)
    assert json.loads((tmp_path / "r.json").read_text())[0]["asked"] == 2
    assert read_rows(tmp_path / "r.json") == [row]


def test_a_process_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(FabricError, match="failed with exit code 1"):
        measured("eos", 4, 1, lambda _: None)
