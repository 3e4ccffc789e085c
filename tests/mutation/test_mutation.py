"""The mutation runner itself: it makes the mutants that it should, runs them in memory, and counts right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation import runner
from tests.mutation.operators import mutants
from tests.mutation.packages import PACKAGES
from tests.mutation.report import earlier_scores, once_survived, report, wilson
from tests.mutation.runner import Ledger, Verdict, files_of, mutants_of
from tests.mutation.survivors import EQUIVALENT, ONCE_SURVIVED, Caught


@pytest.mark.parametrize("it", ONCE_SURVIVED, ids=lambda it: it.what)
def test_what_once_survived_is_among_the_mutants(it: Caught, repo_root: Path) -> None:
    texts = {path: (repo_root / path).read_bytes() for path in files_of(repo_root, it.package)}
    places = sum(text.count(it.before.encode()) for text in texts.values())
    found = {
        (path, mutant.start)
        for path, text in texts.items()
        for mutant in mutants(path, text)
        if it.before in mutant.before and it.after in mutant.after and it.before not in mutant.after
    }
    assert len(found) == places > 0


def test_each_test_that_detects_a_former_survivor_is_there_and_on_the_page(repo_root: Path) -> None:
    page = (repo_root / "docs" / "mutation.md").read_text(encoding="utf-8")
    assert "\n".join(once_survived()) in page
    assert "\n".join(earlier_scores()) in page
    for it in ONCE_SURVIVED:
        file, _, name = it.test.partition("::")
        assert f"def {name}(" in (repo_root / file).read_text(encoding="utf-8")


SOURCE = b'''"""Says 1 + 1."""
LIMIT: int = 7


def over(a: int | None, b: int = 3) -> bool | None:
    """Not 2 * 3."""
    rows[a] += 1
    prefetch(rows, a + 1)
    return a < LIMIT and f"{b + 1}" not in (
        rows)
'''


def test_mutants_are_changes_of_what_runs_and_of_nothing_else() -> None:
    found = {(it.line, it.operator, it.after) for it in mutants("fabric/x.py", SOURCE)}
    assert found == {
        (2, "constant", "LIMIT: int = 8"), (2, "constant", "LIMIT: int = 6"), (2, "mask", "LIMIT: int = 3"),
        (7, "left out", "pass"), (7, "arithmetic", "rows[a] -= 1"), (7, "constant", "rows[a] += 2"),
        (7, "constant", "rows[a] += 0"),
        (9, "bound", 'return a <= LIMIT and f"{b + 1}" not in ('),
        (9, "negation", 'return a >= LIMIT and f"{b + 1}" not in ('),
        (9, "boolean", 'return a < LIMIT or f"{b + 1}" not in ('),
        (9, "negation", 'return a < LIMIT and f"{b + 1}" in ('),
    }  # fmt: skip
    for mutant in mutants("fabric/x.py", SOURCE):
        assert mutant.is_program(SOURCE)
        assert mutant.applied(SOURCE).count(b"\n") == SOURCE.count(b"\n"), "lines keep their numbers"
        assert mutant.at_import == (mutant.line == 2)


def test_a_longer_sample_begins_with_the_shorter_and_another_seed_draws_another(repo_root: Path) -> None:
    ids = [[it.id for it in mutants_of(repo_root, "decision", seed)] for seed in (1, 1, 2)]
    assert ids[0] == ids[1]
    assert ids[0] != ids[2]
    assert sorted(ids[0]) == sorted(ids[2])
    assert len(set(ids[0])) == len(ids[0])


def test_every_package_has_modules_and_every_named_survivor_its_mutant(repo_root: Path) -> None:
    assert all(files_of(repo_root, package) for package in PACKAGES)
    made = {
        (f"{package}/{it.path.rpartition('/')[2]}", it.before, it.after)
        for package in {row.module.partition("/")[0] for row in EQUIVALENT}
        for it in mutants_of(repo_root, package, 1)
    }
    assert not [row for row in EQUIVALENT if row[:3] not in made], "the code has changed: strike these rows"
    assert all(row.reason for row in EQUIVALENT)


@pytest.mark.parametrize(
    ("killed", "tried", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (15, 148, 0.0624, 0.1605), (0, 0, 0.0, 1.0)],
)
def test_intervals_are_wilsons(killed: int, tried: int, low: float, high: float) -> None:
    """Third row: Newcombe, Statistics in Medicine 1998, table I."""
    assert wilson(killed, tried) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_a_verdict_stands_while_the_module_does_and_knows_which_tests_a_survivor_met(tmp_path: Path) -> None:
    (tmp_path / "fabric").mkdir()
    (tmp_path / "fabric" / "x.py").write_bytes(SOURCE)
    killed, survived = mutants("fabric/x.py", SOURCE)[:2]
    ledger = Ledger(tmp_path / "kept", tmp_path)
    ledger.put(killed, Verdict("a test", 1, 0.1), ["tests/a.py:1"])
    ledger.put(survived, Verdict("", 2, 0.1), ["tests/a.py:1", "tests/b.py:2"])
    with (tmp_path / "kept" / "verdicts-all.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"key": "cut o')  # a run was ended here
    again = Ledger(tmp_path / "kept", tmp_path)
    assert again.get(killed) == (Verdict("a test", 1, 0.1), frozenset())
    assert again.get(survived) == (Verdict("", 2, 0.1), frozenset({"tests/a.py:1", "tests/b.py:2"}))
    (tmp_path / "fabric" / "x.py").write_bytes(SOURCE + b"\n")
    assert again.get(killed) is None


def test_a_fork_that_hangs_or_dies_is_a_verdict_and_no_hang() -> None:
    def hang(_: object) -> None:
        while True:
            pass

    assert runner._in_a_fork(hang, 0.5) is None
    assert runner._in_a_fork(lambda _: sys.exit(1), 10) is None
    assert runner._in_a_fork(lambda _: {"killer": "x"}, 10) == {"killer": "x"}
    assert runner._in_a_fork(lambda say: [say({"killer": "y"}), hang(None)], 10) == {"killer": "y"}


IN_MEMORY = """
from fabric.dataplane.port import scheduler
from fabric.dataplane.switch import forward, hashing
from pathlib import Path
from fabric.dataplane.port.scheduler import emptied
from tests.mutation.live import apply, functions_by_module
from tests.mutation.operators import mutants

def take(path, before, after):
    source = Path(path).read_bytes()
    mutant = next(it for it in mutants(path, source) if before in it.before and after in it.after)
    assert apply(mutant, source, functions_by_module())

before = emptied.__code__
take("fabric/dataplane/port/scheduler.py", '["deficit_bytes"] = 0', "pass")
assert emptied is scheduler.emptied and emptied.__code__ is not before
table = hashing.CRC_TABLES.copy()
take("fabric/dataplane/switch/hashing.py", "crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)", "else 1)")
assert (hashing.CRC_TABLES != table).any(), "what was computed at import is computed again"
assert forward.FLOWLETS_PER_SWITCH == 1024
take("fabric/dataplane/switch/vtep.py", "VXLAN_PORT = 4789", "4790")
assert forward.VXLAN_PORT == 4790, "who imported a constant by name sees it change"
"""


def test_a_mutant_runs_in_memory_and_changes_no_file(repo_root: Path) -> None:
    files = [repo_root / path for package in ("port", "switch") for path in files_of(repo_root, package)]
    texts = [file.read_bytes() for file in files]
    done = subprocess.run(
        [sys.executable, "-c", IN_MEMORY],
        cwd=repo_root,
        capture_output=True,
        text=True,
        check=False,
        env={"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(repo_root), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    assert [file.read_bytes() for file in files] == texts


def test_a_report_counts_what_computes_the_same_apart(repo_root: Path) -> None:
    found = mutants_of(repo_root, "decision", 1)[:4]
    rows = [
        (found[0], Verdict("t", 1, 0.1, before=True)),
        (found[1], Verdict("t", 1, 0.1, timeout=True)),
        (found[2], Verdict("", 3, 0.1)),
        (found[3], Verdict("", 0, 0.1)),
    ]
    text = report({"decision": (99, rows)}, 1, ["tests/new"])
    assert "| `decision` | 99 | 4 | 0 | 2 | 1 | 2 | 25% (5%–70%) | 50% (15%–85%) |" in text
    assert text.count("no test runs it |") == 1
