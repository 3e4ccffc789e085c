"""The workflow and the SARIF excerpt of the page on continuous integration are what the commands take and give."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.cli.main import build_parser, main
from tests.conftest import ROOT

PAGE = ROOT / "docs/howto/validate-in-ci.md"
WORKFLOW = ROOT / "docs/howto/validate-workflow.yml"
EXAMPLE = "docs/howto/rollout-example"


def _steps() -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["validate"]["steps"]
    return steps


def _commands() -> list[list[str]]:
    lines = [line.strip() for step in _steps() for line in step.get("run", "").splitlines()]
    return [shlex.split(re.sub(r" (?:>>|\|\|) .*", "", line))[1:] for line in lines if line.startswith("fabric ")]


def _within(part: Any, whole: Any) -> bool:  # noqa: ANN401  JSON data
    """Whether an excerpt's values are in the whole: fields, items in their order, beginnings of texts before '...'."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and _within(part[key], whole[key]) for key in part)
    if isinstance(part, list):
        return len(part) <= len(whole) and all(_within(*pair) for pair in zip(part, whole, strict=False))
    if isinstance(part, str) and part.endswith("..."):
        return str(whole).startswith(part.removesuffix("..."))
    return bool(part == whole)


def test_the_workflow_validates_proves_and_plans_the_rollout() -> None:
    parser = build_parser({"validate", "rollout"})[0]
    assert all(not parser.parse_known_args(words)[1] for words in _commands())
    assert any("--prove" in words for words in _commands())
    assert "rollout" in [words[0] for words in _commands()]


def _installation() -> dict[str, Any]:
    (step,) = [it for it in _steps() if "pip install" in it.get("run", "")]
    return step


def test_the_workflow_installs_from_a_repository_that_is_set_and_never_from_an_index() -> None:
    """The name is on no index before a release: whoever registers it there would run code in everybody's workflow."""
    step = _installation()
    assert step["env"] == {"FABRIC_EMULATOR": "${{ vars.FABRIC_EMULATOR }}"}
    pip = 'pip() { printf "%s|" "$@"; }\n'
    told = subprocess.run(
        ["bash", "-ec", pip + step["run"]],
        env={"FABRIC_EMULATOR": "git+https://git.example/net/emulator.git@0123abc"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "install|git+https://git.example/net/emulator.git@0123abc|"
    unset = subprocess.run(
        ["bash", "-ec", pip + step["run"]], env={"FABRIC_EMULATOR": ""}, capture_output=True, text=True, check=False
    )
    assert unset.returncode != 0
    assert "set the variable FABRIC_EMULATOR" in unset.stderr
    assert unset.stdout == ""


def test_the_workflow_says_of_each_action_that_its_tag_is_to_be_pinned() -> None:
    uses = re.findall(r"uses: (\S+@\S+) *(.*)", WORKFLOW.read_text(encoding="utf-8").split("\nname:", 1)[1])
    assert len(uses) == 5
    for action, comment in uses:
        assert re.search(r"@[0-9a-f]{40}$", action) or comment == "# a tag: pin by hash", action


@pytest.mark.slow
def test_a_hazard_on_the_way_ends_the_workflow_with_its_comment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fabric").symlink_to(ROOT / EXAMPLE / "other-class")
    (tmp_path / "baseline").mkdir()
    (tmp_path / "baseline/fabric").symlink_to(ROOT / EXAMPLE / "old")
    codes = [main(words) for words in _commands() if "--prove" not in words]
    assert codes == [1, 0, 0]
    assert "spine1" in (tmp_path / "comment.md").read_text(encoding="utf-8")


def test_the_excerpt_of_sarif_is_part_of_what_its_command_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    command = re.search(rf"^\$ fabric (validate {EXAMPLE}/.* --format sarif) ", text, re.MULTILINE)
    excerpt = re.search(r'^```json\n(\{"ruleId".*?)^```', text, re.MULTILINE | re.DOTALL)
    assert command
    assert excerpt
    monkeypatch.chdir(ROOT)
    assert main([*shlex.split(command[1]), "-o", str(tmp_path / "x.sarif")]) == 1
    errors = [
        it
        for it in json.loads((tmp_path / "x.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
        if it["level"] == "error"
    ]
    assert len(errors) == 1
    assert _within(json.loads(excerpt[1]), errors[0])
