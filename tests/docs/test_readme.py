"""What README shows of a command's output is what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabric.cli.main import main


@pytest.mark.slow
def test_each_line_of_output_in_the_readme_is_printed_by_its_command(
    repo_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(
        r"^```\n(.*?)^```", (repo_root / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    [shown] = [block for block in blocks if block.startswith("incast  done")]
    run = tmp_path / "incast"
    assert main(["run", "incast", "--out", str(run), "--quiet"]) == 0
    assert main(["explain", "message", str(run)]) == 0
    printed = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    lines = [" ".join(line.split()) for line in shown.splitlines() if line.strip()]
    assert len(lines) > 8
    assert [line for line in lines if line not in printed] == []
