"""Runs tests on mutants in forks of one process that has imported and collected everything.

1. One fork runs every test once under coverage: which lines each one runs, and how long it takes. Tests that fail
   uncompiled or take longer than SLOW_S are left out.
2. For each mutant a fork runs the tests that run the mutant's line, the fastest first, until one fails or BUDGET_S of
   test time is used up.

Times are the processor's, so that a busy machine changes no verdict. Verdicts are appended to a file as they come, so
that a run that was ended goes on where it was. Nothing is written into the tree: mutants exist in the memory of a fork.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, Final, NoReturn

import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.live import apply, functions_by_module
from tests.mutation.operators import Mutant, mutants
from tests.mutation.packages import LEFT_OUT, PACKAGES

SLOW_S: Final = 8.0
BUDGET_S: Final = 4.0
_MEMORY_BYTES: Final = 6 << 30
_TOGETHER: Final = 15
"""Tests that one fork measures: one of them that is too slow ends it, and the others are run again."""

Say = Callable[[object], NoReturn]
"""Send JSON to the parent and end this fork at once: interrupted code may hold a lock."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a mutant."""

    killer: str
    """The first test that failed; empty: it survived."""
    tests: int
    """How many ran."""
    seconds: float
    timeout: bool = False
    before: bool = False
    """Killed without the tests that --added names, too."""


def files_of(root: Path, package: str) -> list[str]:
    """Modules of a package, relative to the root."""
    paths = {path for pattern in PACKAGES[package] for path in root.glob(pattern)}
    return sorted(str(path.relative_to(root)) for path in paths if path.name not in LEFT_OUT)


def mutants_of(root: Path, package: str, seed: int, only: str = "") -> list[Mutant]:
    """Every mutant of a package in the order in which a sample takes them: a longer sample begins with the shorter."""
    found = [
        one
        for path in files_of(root, package)
        for one in mutants(path, (root / path).read_bytes())
        if only in {"", one.operator}
    ]
    return sorted(found, key=lambda one: hashlib.sha256(f"{seed}:{one.id}".encode()).digest())


class Ledger:
    """Verdicts on disk. A kill is valid while the module is unchanged; a survivor is tested by new test files only."""

    def __init__(self, folder: Path, root: Path, added: Sequence[str] = ()) -> None:
        which = hashlib.sha256(repr(tuple(added)).encode()).hexdigest()[:6] if added else "all"
        self._file, self._root = folder / f"verdicts-{which}.jsonl", root
        self._known: dict[str, dict[str, Any]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        if self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(json.JSONDecodeError):  # the last line of a run that was ended
                    row = json.loads(line)
                    self._known[row["key"]] = row

    def _key(self, mutant: Mutant) -> str:
        return hashlib.sha256((self._root / mutant.path).read_bytes() + mutant.id.encode()).hexdigest()[:24]

    def get(self, mutant: Mutant) -> tuple[Verdict, frozenset[str]] | None:
        """The verdict, and the test files that gave it."""
        row = self._known.get(self._key(mutant))
        if row is None:
            return None
        verdict = Verdict(row["killer"], row["tests"], row["seconds"], row["timeout"], row["before"])
        return verdict, frozenset(row["of"])

    def put(self, mutant: Mutant, verdict: Verdict, files: Iterable[str]) -> None:
        """Keep a verdict."""
        row = {
            "key": self._key(mutant),
            "id": mutant.id,
            "killer": verdict.killer,
            "tests": verdict.tests,
            "seconds": round(verdict.seconds, 3),
            "timeout": verdict.timeout,
            "before": verdict.before,
            "of": [] if verdict.killer else sorted(files),
        }
        self._known[row["key"]] = row
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def _in_a_fork(work: Callable[[Say], object], limit_s: float) -> Any:  # noqa: ANN401  its reply, from JSON
    """Run work() in a child process; None if it died or exceeded the limit. Its result is sent, too."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:

        def say(what: object) -> NoReturn:
            with os.fdopen(write, "w", encoding="utf-8") as pipe:
                json.dump(what, pipe)
            os._exit(0)

        try:
            os.setsid()
            os.close(read)
            silence = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(silence, number)
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
            say(work(say))
        finally:
            os._exit(1)
    os.close(write)
    text, until = b"", time.monotonic() + limit_s
    while time.monotonic() < until:
        if select.select([read], [], [], max(until - time.monotonic(), 0))[0]:
            chunk = os.read(read, 1 << 16)
            if not chunk:
                break
            text += chunk
    os.close(read)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def _fails(item: pytest.Item, following: pytest.Item | None, limit_s: float, late: Callable[[], object]) -> bool:
    """Whether a test fails; late() is called after so much time of the processor, and does not return."""
    signal.signal(signal.SIGPROF, lambda *_: late())
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    try:
        reports = runtestprotocol(item, nextitem=following, log=False)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return any(report.failed for report in reports)


@contextlib.contextmanager
def _own_temporary_folder(config: pytest.Config) -> Iterator[None]:
    """What the next fork writes goes with it."""
    with tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True) as folder:
        config._tmp_path_factory._basetemp = Path(folder)  # type: ignore[attr-defined]
        yield


def _digests(items: Iterable[pytest.Item]) -> dict[str, str]:
    """Files of tests to digests of them and of the helpers beside them."""
    paths = {item.nodeid.partition("::")[0]: item.path for item in items}
    helpers = {
        folder: b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")) if not path.name.startswith("test_"))
        for folder in {path.parent for path in paths.values()}
    }
    return {
        name: hashlib.sha256(path.read_bytes() + helpers[path.parent]).hexdigest()[:12] for name, path in paths.items()
    }


class Mutation:
    """A pytest plugin that runs mutants in place of the tests."""

    def __init__(
        self, root: Path, folder: Path, wanted: dict[str, int], seed: int, added: Sequence[str] = (), only: str = ""
    ) -> None:
        self.root, self.folder, self.wanted, self.seed = root, folder, wanted, seed
        self.added, self.only = tuple(added), only
        self.functions: dict[str, list[FunctionType]] = {}
        self.results: dict[str, tuple[int, list[tuple[Mutant, Verdict]]]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of pytest's own loop."""
        self.functions = functions_by_module()
        gc.collect()
        gc.freeze()  # a fork shares what its collector does not touch
        items = {item.nodeid: item for item in session.items}
        digests = _digests(session.items)
        marks = {
            name: f"{name}:{digest}:"
            + hashlib.sha256("".join(it for it in items if it.partition("::")[0] == name).encode()).hexdigest()[:6]
            for name, digest in digests.items()
        }
        facts = self._baseline(session, digests)
        ledger = Ledger(self.folder, self.root, self.added)
        for package, count in self.wanted.items():
            every = mutants_of(self.root, package, self.seed, self.only)
            rows: list[tuple[Mutant, Verdict]] = []
            self.results[package] = (len(every), rows)
            for mutant in every:
                if len(rows) == count:
                    break
                if not mutant.is_program((self.root / mutant.path).read_bytes()):
                    continue
                verdict, met = ledger.get(mutant) or (None, frozenset[str]())
                fresh = [name for name in digests if marks[name] not in met]
                if verdict is None or (not verdict.killer and fresh):
                    before = 0 if verdict is None else verdict.tests
                    verdict = self._try(mutant, items, facts, frozenset(fresh), before)
                    ledger.put(mutant, verdict, marks.values())
                rows.append((mutant, verdict))
                print(
                    f"\r{package} {len(rows)}/{min(count, len(every))}: "
                    f"{sum(not it.killer for _, it in rows)} survived ",
                    end="",
                    file=sys.stderr,
                )
            print(file=sys.stderr)
        return True

    # ===== what each test runs =====

    def _baseline(self, session: pytest.Session, digests: dict[str, str]) -> dict[str, Any]:
        """Seconds of each test, and the tests of each line; only files of tests that are new are run."""
        sources = [path for package in PACKAGES for path in files_of(self.root, package)]
        code = hashlib.sha256(b"".join((self.root / it).read_bytes() for it in sources)).hexdigest()[:16]
        facts: dict[str, Any] = {"seconds": {}, "lines": {path: {} for path in sources}}
        left_out = 0
        for name, digest in digests.items():
            kept = self.folder / f"baseline-{name.replace('/', '.')}-{digest}-{code}.json"
            mine = [item for item in session.items if item.nodeid.partition("::")[0] == name]
            found: dict[str, Any] = {"seconds": {}, "left_out": [], "lines": {}}
            if kept.exists():
                found = json.loads(kept.read_text(encoding="utf-8"))
            missing = [it for it in mine if it.nodeid not in found["seconds"] and it.nodeid not in found["left_out"]]
            if missing:
                print(f"running {len(missing)} tests of {name} once", file=sys.stderr)
                self._measured(missing, sources, found)
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(found), encoding="utf-8")
            left_out += sum(it.nodeid in found["left_out"] for it in mine)
            facts["seconds"] |= found["seconds"]
            for path, lines in found["lines"].items():
                for line, tests in lines.items():
                    facts["lines"][path].setdefault(line, []).extend(tests)
        print(f"{len(facts['seconds'])} tests; {left_out} are too slow or fail uncompiled", file=sys.stderr)
        return facts

    def _measured(self, items: list[pytest.Item], sources: list[str], found: dict[str, Any]) -> None:
        """Add the facts of tests; the names of those that fail or are too slow to `left_out`."""
        waiting = list(items)
        while waiting:
            some = waiting[:_TOGETHER]
            with _own_temporary_folder(some[0].config):
                reply = _in_a_fork(lambda say, it=some: self._measure(it, sources, say), 3600)
            if reply is None:
                raise RuntimeError(f"the tests from {some[0].nodeid} on did not end without mutants")
            if "slow" in reply:
                waiting = [item for item in waiting if item.nodeid != reply["slow"]]
                found["left_out"].append(reply["slow"])
                continue
            waiting = waiting[len(some) :]
            found["seconds"] |= reply["seconds"]
            found["left_out"] += [it.nodeid for it in some if it.nodeid not in reply["seconds"]]
            for path, of in reply["lines"].items():
                lines = found["lines"].setdefault(path, {})
                for line, tests in of.items():
                    lines.setdefault(line, []).extend(tests)

    def _measure(self, items: list[pytest.Item], sources: list[str], say: Say) -> dict[str, Any]:
        import coverage

        cov = coverage.Coverage(data_file=None, config_file=False, include=[str(self.root / it) for it in sources])
        seconds: dict[str, float] = {}
        cov.start()
        for number, item in enumerate(items):
            cov.switch_context(item.nodeid)
            following = items[number + 1] if number + 1 < len(items) else None
            begun = time.process_time()
            if not _fails(item, following, SLOW_S, lambda it=item.nodeid: say({"slow": it})):
                seconds[item.nodeid] = time.process_time() - begun
        cov.stop()
        data, lines = cov.get_data(), dict[str, dict[str, list[str]]]()
        for path in sources:
            contexts = data.contexts_by_lineno(str(self.root / path))
            lines[path] = {str(line): sorted(seconds.keys() & set(found)) for line, found in contexts.items()}
        return {"seconds": seconds, "lines": lines}

    # ===== one mutant =====

    def _candidates(self, mutant: Mutant, facts: dict[str, Any]) -> list[str]:
        """Tests that run the mutant's lines, the fastest first; those of a module-level change are all of the module.

        Lines run at import have no test: a changed constant is judged by every test that runs a line of its module.
        """
        lines: dict[str, list[str]] = facts["lines"][mutant.path]
        last = mutant.line + mutant.text.count("\n")
        found = {name for line in range(mutant.line, last + 1) for name in lines.get(str(line), ())}
        if mutant.at_import:
            found = {name for names in lines.values() for name in names}
        return sorted(found, key=lambda name: facts["seconds"][name])

    def _try(
        self, mutant: Mutant, items: dict[str, pytest.Item], facts: dict[str, Any], files: frozenset[str], before: int
    ) -> Verdict:
        names = [name for name in self._candidates(mutant, facts) if name in items and name.partition("::")[0] in files]
        added = [name for name in names if name.startswith(self.added)] if self.added else []
        phases = [[name for name in names if name not in set(added)], added]
        seconds, tests, begun = facts["seconds"], before, time.monotonic()
        for number, phase in enumerate(phases):
            chosen, left = [], BUDGET_S
            for name in phase:
                if left > 0:
                    chosen.append(name)
                    left -= seconds[name]
            if not chosen:
                continue
            tests += len(chosen)
            limit_s = 100 * sum(seconds[name] for name in chosen) + 300
            with _own_temporary_folder(items[chosen[0]].config):
                reply = _in_a_fork(
                    lambda say, it=chosen: self._judge(mutant, [items[name] for name in it], seconds, say), limit_s
                )
            if reply is None:
                reply = {"killer": "(the process)", "timeout": True}
            if "error" in reply:
                raise RuntimeError(reply["error"])
            if reply["killer"]:
                return Verdict(reply["killer"], tests, time.monotonic() - begun, reply["timeout"], before=number == 0)
        return Verdict("", tests, time.monotonic() - begun)

    def _judge(self, mutant: Mutant, items: list[pytest.Item], seconds: dict[str, float], say: Say) -> object:
        if not apply(mutant, (self.root / mutant.path).read_bytes(), self.functions):
            return {"error": f"nothing in memory is what {mutant.id} changes"}
        for number, item in enumerate(items):
            following = items[number + 1] if number + 1 < len(items) else None
            late = {"killer": item.nodeid, "timeout": True}
            if _fails(item, following, 10 * seconds[item.nodeid] + 2, lambda it=late: say(it)):
                return {"killer": item.nodeid, "timeout": False}
        return {"killer": "", "timeout": False}
