"""docs/howto/two-tenants.md: what the page shows is what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabric.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = re.findall(r"\$ fabric (.+)\n((?:(?!```).*\n)+)", (ROOT / "docs/howto/two-tenants.md").read_text("utf-8"))


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=lambda it: it.split("\n")[0][:60])
def test_the_page_shows_what_the_command_prints(
    command: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    code = main(command.split())
    assert code == int("broken" in command)
    printed = iter(capsys.readouterr().out.splitlines())
    for line in shown.splitlines():
        assert line.strip() == "..." or line in printed  # in this order


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) == 3
