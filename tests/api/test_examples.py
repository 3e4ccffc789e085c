"""The programs and the notebook of examples/ run, and answer what they promise."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
ANSWERS = {
    "sweep_kmin": (0, r"1600KB +[1-9]"),
    "who_was_hurt": (0, r"broken NIC host4"),
    "headroom_of_links": (0, r"dci1 to dci2 .* below bound a"),
    "compare_hashes": (0, r"seed per switch"),
    "step_and_break": (0, r"cut leaf1:Ethernet20--spine2"),
    "validate_in_ci": (1, r"error  W2 +leaf2"),
}
"""Program -> exit code, and what it prints."""
LINES = 40


class Said(NamedTuple):
    """How a program ended, and what it wrote."""

    exit: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[[str], Said]:
    """Runs a program as the main module, in a folder of its own; this process has loaded the packages already."""

    def started(name: str) -> Said:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [f"{name}.py"])
        status = 0
        try:
            runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        except SystemExit as ended:
            status = int(ended.code or 0)
        return Said(status, *capfd.readouterr())

    return started


def test_every_program_is_known_here_and_in_its_readme() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert names == set(ANSWERS)
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"[{path.name}]({path.name})" in readme for path in EXAMPLES.iterdir() if path.suffix != ".md")


@pytest.mark.parametrize("name", ANSWERS)
def test_a_program_is_short_and_answers(name: str, run: Callable[[str], Said]) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) < LINES
    done = run(name)
    code, answer = ANSWERS[name]
    assert (done.exit, done.err) == (code, ""), done.out
    assert re.search(answer, done.out), done.out
    if name == "compare_hashes":  # the other hash uses more of the fabric
        alike, mixed = (int(count) for count in re.findall(r"(\d+) of \d+ fabric ports used", done.out))
        assert mixed > alike


@pytest.mark.slow  # a kernel of its own: 10 s
def test_the_notebook_is_kept_without_outputs_and_runs(tmp_path: Path) -> None:
    import nbclient
    import nbformat

    book = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    nbformat.validate(book)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells)
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = "".join(str(output.get("data", {}).get("text/html", "")) for cell in cells for output in cell.outputs)
    assert "expectation" in shown
    assert "all 15 messages done" in shown
