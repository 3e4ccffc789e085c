"""tools.suite: two parts, one second look at what failed, and a report that names what failed last."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import Mock

import pytest

from tests.waiting import LIMIT_S, until
from tools import schedule, shuffle, suite
from tools.outcomes import pytest_deselected, timed_files
from tools.suite import ROOT, Outcome, Part, _listed, outcomes, report

PYPROJECT: Final = '[tool.pytest.ini_options]\nmarkers = ["slow", "timed"]\n'
TESTS: Final = """\
import os
from pathlib import Path

import pytest


def once(name):
    before = Path(name).exists()
    Path(name).touch()
    return not before


def test_passes():
    pass


def test_fails():
    assert "left" == "right", "they differ"


def test_passes_alone():
    assert not once("race")


def test_ends_its_worker():
    os._exit(3)


def test_after_the_worker_has_ended():
    pass


@pytest.mark.timed
def test_passes_later():
    assert not once("late")


@pytest.mark.timed
@pytest.mark.slow
def test_of_the_slow_ones():
    raise AssertionError


def test_is_skipped():
    pytest.skip("no program")
"""


COMPUTES: Final = """\
import subprocess
import sys
import time


def test_computes():
    subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.6: pass"], check=True)


def test_waits():
    time.sleep(0.7)
"""


def part(name: str = "parallel", *outcomes: Outcome, passed: bool = True) -> Part:
    return Part(name, outcomes, passed, 1.0, "load unknown")


def failed(name: str) -> Outcome:
    return Outcome(name, "failed", 1.0, "assert 1 == 2")


def test_a_run_names_last_what_failed_and_tells_races_from_unstable_tests(tmp_path: Path, repo_root: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (project / "test_it.py").write_text(TESTS, encoding="utf-8")
    code = (
        "import sys; from pathlib import Path; from tools import suite; suite.ROOT, suite.FREE_WITHIN_S = Path(), 0; "
        "sys.exit(suite.main(['fast', '--out', '../out', '--workers', '1', '--none-skipped']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(repo_root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-4:] == [
        "FAILED test_it.py::test_fails: AssertionError: they differ",
        "FAILED test_it.py::test_passes_alone (passed alone: a race): AssertionError: assert not True",
        (
            "FAILED test_it.py::test_ends_its_worker: "
            "worker 'gw0' crashed while running 'test_it.py::test_ends_its_worker'"
        ),
        "FAILED 1 tests were skipped, named above",
    ]
    assert "unstable: test_it.py::test_passes_later: AssertionError: assert not True" in lines
    assert "skipped: test_it.py::test_is_skipped: Skipped: no program" in lines
    assert [line.partition(" in ")[0] for line in lines if line.startswith(("== parallel", "== timed"))] == [
        "== parallel: 2 passed, 3 failed, 1 skipped",
        "== timed: 0 passed, 1 failed, 0 skipped",
    ]
    assert {path.name for path in (tmp_path / "out").glob("*.xml")} == {"parallel.xml", "timed.xml", "again.xml"}


LASTING: Final = """\
import time
from pathlib import Path


def test_lasts():
    Path("begun").touch()
    try:
        time.sleep(600)
    finally:
        Path("tidied").touch()
"""


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_run_that_is_ended_lets_its_tests_take_away_what_they_made(
    workers: int, tmp_path: Path, repo_root: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(LASTING, encoding="utf-8")
    code = (
        "import sys; from pathlib import Path; from tools import suite; suite.ROOT = Path(); "
        f"sys.exit(suite.main(['fast', '--out', 'out', '--workers', '{workers}']))"
    )
    in_background = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    command, environment = [*in_background, sys.executable, "-c", code], {**os.environ, "PYTHONPATH": str(repo_root)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) as process:
        until((tmp_path / "begun").exists, "the test has begun")
        process.terminate()
        assert process.wait(timeout=LIMIT_S) == 128 + signal.SIGTERM
    assert (tmp_path / "tidied").exists()


def test_shuffled_tests_of_a_file_stay_together_in_the_order_of_the_seed() -> None:
    plain = [SimpleNamespace(path=file, name=number) for file in "abcd" for number in range(5)]

    def shuffled(seed: int | None) -> list[tuple[str, int]]:
        items: list[Any] = list(plain)
        config: Any = SimpleNamespace(getoption=lambda _: seed)
        shuffle.pytest_collection_modifyitems(config, items)
        return [(item.path, item.name) for item in items]

    as_collected, one, other = shuffled(None), shuffled(1), shuffled(2)
    assert as_collected == [(item.path, item.name) for item in plain]
    assert shuffled(1) == one
    assert sorted(one) == sorted(other) == as_collected
    assert len({tuple(order) for order in (as_collected, one, other)}) == 3
    assert len([file for file, _ in groupby(one, key=lambda item: item[0])]) == 4


def test_a_run_without_tests_is_wrong_usage(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["fast", "--out", str(tmp_path / "out"), "--workers", "1", "tests/test_suite.py", "-k", "no_such_test"]
    assert suite.main(words) == 2
    assert "no test was found" in capfd.readouterr().err


@pytest.mark.parametrize(("count", "fails"), [(suite.MOST_UNSTABLE, False), (suite.MOST_UNSTABLE + 1, True)])
def test_so_many_timed_tests_may_pass_at_the_second_look_only(count: int, fails: bool) -> None:
    ones = [failed(f"t::{number}") for number in range(count)]
    lines, bad = report([part("timed", *ones, passed=False)], {one.id: "passed" for one in ones}, none_skipped=True)
    assert bad is fails
    assert sum(line.startswith("unstable: ") for line in lines) == count


@pytest.mark.parametrize("again", [{}, {"t::1": "failed"}])
def test_a_timed_test_that_does_not_pass_the_second_look_has_failed(again: dict[str, str]) -> None:
    lines, bad = report([part("timed", failed("t::1"), passed=False)], again, none_skipped=False)
    assert bad
    assert lines[-1] == "FAILED t::1: assert 1 == 2"


def test_a_part_that_ends_early_without_a_failed_test_has_failed() -> None:
    lines, bad = report([part(passed=False)], {}, none_skipped=False)
    assert bad
    assert lines[-1] == "FAILED part parallel: pytest ended early"


@pytest.mark.parametrize("none_skipped", [True, False])
def test_a_skipped_test_fails_where_none_may_be_skipped(none_skipped: bool) -> None:
    skipped = Outcome("t::1", "skipped", 0.0, "Skipped: no tshark")
    lines, bad = report([part("parallel", skipped)], {}, none_skipped=none_skipped)
    assert "skipped: t::1: Skipped: no tshark" in lines
    assert bad is none_skipped


def test_files_of_timed_tests_that_a_part_leaves_out_are_listed_once(tmp_path: Path) -> None:
    outcomes = tmp_path / "parallel.jsonl"

    def item(test: str, marked: bool, worker: str = "gw0") -> SimpleNamespace:
        config = SimpleNamespace(getoption=lambda _: outcomes, workerinput={"workerid": worker})
        return SimpleNamespace(
            nodeid=test, config=config, get_closest_marker=lambda name: marked if name == "timed" else None
        )

    pytest_deselected([item("a.py::one", True, "gw1")])
    assert not timed_files(outcomes).exists(), "one worker writes for all"
    pytest_deselected(
        [item("b.py::one", True), item("a.py::one[x]", True), item("b.py::two", True), item("c.py::x", False)]
    )
    pytest_deselected([item("d.py::one", True), item("a.py::two", True)])
    assert _listed(timed_files(outcomes)) == ["a.py", "b.py", "d.py"]
    assert _listed(tmp_path / "absent") == []


def test_the_longest_files_are_begun_first_and_exist(repo_root: Path) -> None:
    named = [*schedule.LONGEST, *schedule.TOGETHER, *schedule.TOGETHER.values()]
    assert [file for file in named if not (repo_root / file).is_file()] == []
    given: list[list[int]] = []
    files = ["tests/a.py", schedule.LONGEST[3], "tests/b.py", schedule.LONGEST[1]]
    queue = schedule._EachOnce(SimpleNamespace(getvalue=lambda _: ["popen"], option=None))
    worker: Any = Mock(send_runtest_some=given.append)
    queue.registered_collections[worker] = [f"{file}::test" for file in files]
    queue.workqueue.update({file: {f"{file}::test": False} for file in files})
    for _ in files:
        queue._assign_work_unit(worker)
    assert given == [[3], [1], [0], [2]]


def test_a_test_that_computes_in_a_process_of_its_own_has_the_processors_seconds(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(COMPUTES, encoding="utf-8")
    file = tmp_path / "outcomes.jsonl"
    words = ["-q", "-n", "1", "-p", "tools.outcomes", f"--outcomes={file}", "--rootdir", str(tmp_path), str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pytest", *words], capture_output=True, check=True, cwd=ROOT)
    computes, waits = outcomes(file)
    assert computes.cpu_s > 0.5 > waits.cpu_s
