"""Completion scripts know values: playbooks, demos, models, scenarios, runs in ./runs, and fields for --set."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from fabric.cli.completion import fields, script


@cache
def bash_script() -> str:
    return script("bash")


def completed(folder: Path, *words: str) -> set[str]:
    """What bash offers for the last word."""
    bash = shutil.which("bash")
    assert bash is not None
    file = folder / "fabric.bash"
    file.write_text(bash_script(), encoding="utf-8")
    line = " ".join(f"'{word}'" for word in ("fabric", *words))
    code = f'source {file}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _shtab_fabric; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run([bash, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("playbook", "run", "pfc-"), {"pfc-storm", "pfc-missing"}),
        (("demo", "pfc"), {"pfc-storm"}),
        (("docs", "howto/l"), {"howto/live", "howto/lab"}),
        (("init", "valid"), {"validate-example"}),
        (("model", "show", "dcq"), {"dcqcn"}),
        (("run", "inc"), {"incast"}),
        (("run", "incast", "--set", "transport.c"), {"transport.cc="}),
        (("explain", "pfc", "ru"), {"runs/one", "runs/two"}),
        (("report", "runs/o"), {"runs/one"}),
    ],
)
def test_bash_completes_values(words: tuple[str, ...], offered: set[str], tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "manifest.json").write_text("{}")
    (tmp_path / "runs/empty").mkdir()
    found = completed(tmp_path, *words)
    assert offered <= found
    assert "runs/empty" not in found
    assert all(word.startswith(words[-1]) for word in found)


def test_fields_reach_into_sections_and_lists() -> None:
    assert {"transport.cc=", "run.seed=", "switches.ecn.kmin=", "topology.spines=", "workload[0].size="} <= set(
        fields()
    )


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_have_a_script(shell: str) -> None:
    assert "pfc-storm" in script(shell)
