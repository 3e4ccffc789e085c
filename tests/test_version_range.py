"""`python -m tools.version_range`: what it says last of ends that fail."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tools import tested_range, version_range


def main(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """(exit status, output)."""
    monkeypatch.setattr(sys, "argv", ["version_range", *words])
    code = version_range.main()
    return code, capfd.readouterr().out


def end_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *lines: str) -> None:
    """The lowest end has a Python that prints these lines and fails at everything."""
    python = tmp_path / "python"
    python.write_text("\n".join(["#!/bin/sh", *(f"echo '{line}'" for line in lines), "exit 3\n"]))
    python.chmod(0o755)
    monkeypatch.setattr(version_range, "_lowest", lambda: python)


def test_the_last_lines_name_every_failed_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    end_of(monkeypatch, tmp_path, "noise", "FAILED tests/a.py::test_a - assert 1 == 2", "ERROR tests/b.py", "2 failed")
    code, out = main(monkeypatch, capfd, "--end", "lowest")
    assert code == 1
    last = [
        "FAILED: lowest: imports, lowest: goldens, lowest: tests",
        *(
            f"  lowest: {step}: {line}"
            for step in ("imports", "goldens", "tests")
            for line in ("FAILED tests/a.py::test_a - assert 1 == 2", "ERROR tests/b.py")
        ),
    ]
    assert out.splitlines()[-len(last) :] == last


def test_a_step_that_names_no_failure_is_shown_with_its_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    end_of(monkeypatch, tmp_path, "first", *(f"line {it}" for it in range(19)), "MemoryError")
    code, out = main(monkeypatch, capfd, "--end", "lowest", "--quick")
    assert code == 1
    assert out.splitlines()[-20:] == [
        f"  lowest: goldens: {it}" for it in (*(f"line {i}" for i in range(19)), "MemoryError")
    ]


def test_the_whole_suite_is_run_without_what_judges_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], repo_root: Path
) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "ran $@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(version_range, "_newest", lambda: python)
    code, out = main(monkeypatch, capfd, "--end", "newest", "--whole")
    assert code == 0
    [ran] = [line.split()[1:] for line in out.splitlines() if line.startswith("ran ")]
    assert ran[:3] == ["-m", "tools.suite", "fast"]
    left_out = [word.removeprefix("--ignore=") for word in ran[3:]]
    assert left_out
    assert all((repo_root / path).is_file() for path in left_out)


def test_an_environment_that_cannot_be_made_is_a_failure_with_the_reason_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'ERROR: no matching distribution' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(version_range, "HOME", tmp_path / "range")
    monkeypatch.setattr(version_range, "_old_python", lambda: str(python))
    code, out = main(monkeypatch, capfd, "--end", "lowest")
    assert code == 1
    assert out.splitlines()[-3:-1] == [
        "FAILED: lowest: environment",
        "  lowest: environment: ERROR: no matching distribution",
    ]


def test_an_import_that_fails_is_named(tmp_path: Path) -> None:
    package = tmp_path / "fabric"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "gone.py").write_text("import no_such_module\n")
    code, lines = version_range._shown(
        [
            sys.executable,
            "-c",
            f"import os; os.chdir({str(tmp_path)!r}); import sys; sys.path.insert(0, ''); " + version_range._IMPORT_ALL,
        ]
    )
    assert code == 1
    assert lines == ["ERROR fabric.gone: ModuleNotFoundError: No module named 'no_such_module'"]


@pytest.fixture
def copy(tmp_path: Path, repo_root: Path) -> Path:
    """A root with what the record of the tested range is about, and a record."""
    shutil.copytree(repo_root / "lock", tmp_path / "lock")
    shutil.copytree(repo_root / tested_range.SOURCES, tmp_path / tested_range.SOURCES)
    tested_range.write(tmp_path)
    return tmp_path


def test_the_record_of_the_range_is_current_until_an_input_changes(copy: Path) -> None:
    assert tested_range.untested(copy) == ""
    (copy / tested_range.SOURCES / "atomic.py").write_text("")
    (copy / tested_range.SOURCES / "new.py").write_text("")
    lock = copy / "lock/lowest.txt"
    lock.write_text(lock.read_text().replace("numba==0.60.0", "numba==0.61.0"))
    changed = ", ".join(f"{tested_range.SOURCES}/{name}.py" for name in ("atomic", "new"))
    assert tested_range.untested(copy) == (
        f"{changed}, numba: changed since the lowest Numba passed; run {tested_range.COMMAND}"
    )


def test_without_a_record_nothing_is_tested(copy: Path) -> None:
    tested_range.record_path(copy).unlink()
    assert tested_range.untested(copy).startswith(f"{tested_range.SOURCES}/__init__.py")


@pytest.mark.parametrize(
    ("words", "code", "written"),
    [
        ((), 0, True),
        ((), 1, False),
        (("--end", "lowest", "--quick"), 0, True),
        (("--end", "highest"), 0, False),
        (("--end", "newest", "--whole"), 0, False),
    ],
    ids=["both", "failed", "lowest", "highest", "newest"],
)
def test_a_lowest_end_that_passes_is_recorded(
    words: tuple[str, ...], code: int, written: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    records: list[bool] = []
    monkeypatch.setattr(tested_range, "write", lambda: records.append(True))
    monkeypatch.setattr(version_range, "_python_of", Path)
    monkeypatch.setattr(version_range, "_shown", lambda *of: (code, []))
    assert main(monkeypatch, capfd, *words)[0] == code
    assert bool(records) is written
