"""Acts and probes follow from their registries: schema, reference, runner, error texts. A test adds one of each."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from pydantic import TypeAdapter

from fabric.cli.main import main
from fabric.scenario.schema.expectations import METRICS
from playbooks.acts.registry import ACTS, AnyAct
from playbooks.checks import parse_check
from playbooks.docs import playbook_markdown
from playbooks.probes.registry import PROBES
from telemetry.live.changes import schemas

ROOT = Path(__file__).parents[2]
VALUES = {"count": "1", "time": "1ms", "rate": "1G", "text": "host1", "ratio": "1.50"}
NEW_ACT = '''
from typing import Literal
from fabric.dataplane.engine.edits import Edit, LinkState
from playbooks.acts.base import Act, ActContext

class ShutAll(Act):
    """Take every cable out of service."""
    kind: Literal["shut-all"]

    def edits(self, context: ActContext) -> list[Edit]:
        return [LinkState(context.time_ps, link.id, up=False) for link in context.compiled.fabric.links]
'''
NEW_PROBE = """
from playbooks.probes.base import Probe
SENDERS = Probe("count", "hosts that sent a message", lambda evidence, window: len(set(evidence.messages["src"])))
"""
COMMANDS = """
import contextlib, io, json, sys
from fabric.cli.main import main
ended = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        status = main(words)
    ended.append((status, out.getvalue()))
json.dump(ended, sys.stdout)
"""
PLAYBOOK = """
title: Small
severity: info
summary: Small.
scenario: scenario.yml
steps:
  - {step: act, text: Shut all., at: 1us, do: {kind: shut-all}}
  - {step: verify, text: Nothing arrives., check: [done == 0, senders == 3]}
"""
SCENARIO = """
name: small
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
workload:
  - {kind: incast, receiver: host1, senders: ["*"], size: 64KB}
run: {duration: 200us, seed: 1, stop: duration}
telemetry: {interval: 20us}
"""


@pytest.mark.parametrize("kind", ACTS)
def test_an_act_is_registered_under_its_kind(kind: str) -> None:
    assert ACTS[kind].model_json_schema()["properties"]["kind"]["const"] == kind


def test_the_schema_of_do_has_every_act() -> None:
    assert sorted(TypeAdapter(AnyAct).json_schema()["discriminator"]["mapping"]) == sorted(ACTS)


def test_the_control_api_takes_every_act() -> None:
    assert ACTS.keys() <= schemas(routed=True).change["discriminator"]["mapping"].keys()


@pytest.mark.parametrize("name", PROBES)
def test_a_check_of_each_probe_reads_back_as_it_was_written(name: str) -> None:
    text = f"{name} == {VALUES[PROBES[name].kind]}"
    assert parse_check(text) == parse_check(str(parse_check(text)).replace("bit/s", ""))


def test_no_probe_hides_a_metric_of_expectations() -> None:
    assert not PROBES.keys() & METRICS.keys()


def test_the_reference_names_every_act_and_probe() -> None:
    page = playbook_markdown()
    assert all(f"### do: {kind}\n" in page for kind in ACTS)
    assert all(f"| `{name}` |" in page for name in PROBES)


def test_schema_and_reference_are_written_on_demand(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["playbook", "schema"]) == 0
    assert '"shut"' in capsys.readouterr().out
    assert main(["playbook", "docs", "--out", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == playbook_markdown()


def test_a_verb_is_one_file_and_one_registration(tmp_path: Path) -> None:
    """The rows of CONTRIBUTING.md, followed in a copy of the package: nothing else is changed."""
    copy = tmp_path / "playbooks"
    shutil.copytree(ROOT / "playbooks", copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "acts/shut_all.py").write_text(NEW_ACT, encoding="utf-8")
    (copy / "probes/senders.py").write_text(NEW_PROBE, encoding="utf-8")
    _register(copy / "acts/registry.py", "from playbooks.acts.shut_all import ShutAll", "ACTS", '"shut-all": ShutAll')
    _register(
        copy / "probes/registry.py", "from playbooks.probes import senders", "PROBES", '"senders": senders.SENDERS'
    )
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "playbook.yml").write_text(PLAYBOOK, encoding="utf-8")
    (folder / "scenario.yml").write_text(SCENARIO, encoding="utf-8")

    shutil.copytree(folder, tmp_path / "misspelt")
    (tmp_path / "misspelt/playbook.yml").write_text(PLAYBOOK.replace("senders ==", "sender =="), encoding="utf-8")

    page, schema, ran, refused = _fabric(
        tmp_path,
        ["playbook", "docs", "--out", "-"],
        ["playbook", "schema"],
        ["playbook", "run", "own", "--out", "run", "--quiet"],
        ["playbook", "run", "misspelt", "--out", "run2"],
    )
    assert [it.exit for it in (page, schema, ran, refused)] == [0, 0, 0, 2], refused.out
    assert "### do: shut-all\n\nTake every cable out of service." in page.out
    assert "| `senders` | count |  | hosts that sent a message |" in page.out
    assert '"shut-all"' in schema.out
    assert '"senders"' in schema.out
    assert "senders == 3: 3" in ran.out
    assert "did you mean 'senders'?" in refused.out


def _register(registry: Path, import_line: str, name: str, entry: str) -> None:
    text = registry.read_text(encoding="utf-8")
    text = re.sub(r"^from playbooks", f"{import_line}\nfrom playbooks", text, count=1, flags=re.MULTILINE)
    text, found = re.subn(rf"^({name}: .* = {{)$", rf"\1\n    {entry},", text, flags=re.MULTILINE)
    assert found == 1
    registry.write_text(text, encoding="utf-8")


class Said(NamedTuple):
    """How a command ended, and what it wrote to both streams."""

    exit: int
    out: str


def _fabric(folder: Path, *commands: list[str]) -> list[Said]:
    """Commands in one process, with the package of this folder before the installed one."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Said(*it) for it in json.loads(done.stdout)]
