"""Hostile texts through verbs that judge, plan and convert: what none of the other ways in leads to."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from tests.reliability import worlds
from tests.reliability.hostile_tries import EXAMPLE, Try, row
from tests.reliability.report import PAGE, Row

ROLLOUT: Final = PAGE.parents[1] / "docs/howto/rollout-example"
_NAMES: Final = re.compile(r'"(pg_lossless_\w+|AZURE\w*|leaf[12]|spine[12]|ingress_\w+|egress_\w+)"')
_LOG: Final = """\
# {0}
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        1024 256 {0} sum -1 10.0 0.1 0.1 0 10.0 0.1 0.1 0
"""


def _spelled(source: Path, target: Path, text: str) -> None:
    """A copy of configurations with the text in the names of profiles, maps, pools, neighbours and in the HWSKU."""
    spelled = json.dumps(text)[1:-1]
    shutil.copytree(source, target)
    for file in target.glob("*.json"):
        raw = _NAMES.sub(lambda match: f'"{match[1]}{spelled}"', file.read_text(encoding="utf-8"))
        file.write_text(raw, encoding="utf-8")


def _without_a_chip(target: Path, text: str) -> None:
    """One configuration of hardware that nobody knows: nothing is simulated for it."""
    target.mkdir()
    raw: dict[str, Any] = json.loads((EXAMPLE / "leaf1.json").read_text(encoding="utf-8"))
    raw["DEVICE_METADATA"]["localhost"] |= {"hwsku": text, "hostname": f"leaf1{text}"}
    (target / "leaf1.json").write_text(json.dumps(raw), encoding="utf-8")


def _tries(folder: Path, text: str) -> Iterator[Try]:
    _spelled(EXAMPLE, folder / "configs", text)
    _spelled(ROLLOUT / "old", folder / "old", text)
    _spelled(ROLLOUT / "new", folder / "new", text)
    _without_a_chip(folder / "unknown", text)
    for style, reader in {"text": "text", "json": "json", "sarif": "json", "markdown": "markdown"}.items():
        yield Try(reader, ("validate", folder / "configs", "--fix", "--format", style))
    for style, reader in {"text": "text", "json": "json", "markdown": "markdown"}.items():
        yield Try(reader, ("validate", folder / "unknown", "--recommend", "--quiet", "--format", style))
    yield Try("text", ("validate", folder / "configs", "--reach"))
    for style, reader in {"text": "text", "json": "json", "html": "html", "markdown": "markdown"}.items():
        yield Try(reader, ("rollout", folder / "old", folder / "new", "--format", style, "--quiet"))
    yield Try("text", ("thresholds", folder / "configs" / "leaf1.json", "--asic", "td3"))
    yield Try("json", ("thresholds", folder / "configs" / "leaf1.json", "--asic", "td3", "--json"))
    table = folder / "lookup.ini"
    table.write_text(f"100000 5m {text} 1 2 3\n", encoding="utf-8", errors="surrogatepass")
    yield Try("text", ("headroom", "--speed", "100G", "--cable", "5m", "--pg-profile-lookup", table))
    log, goal, job, study, scenario = (folder / it for it in ("n.log", "g.goal", "j.yml", "study.yml", "s.yml"))
    log.write_text(_LOG.format(text), encoding="utf-8", errors="surrogatepass")
    goal.write_text(f"num_ranks 2\nrank 0 {{\n{text}: send 10b to 1\n}}\n", encoding="utf-8", errors="surrogatepass")
    yield Try("text", ("trace", "compare", log, log))
    yield Try("text", ("trace", "info", goal))
    yield Try("text", ("bgp", "replay", log))
    job.write_text(yaml.safe_dump({"name": text, text: 1, f"{text}[x]": 1, "gpu": text}), encoding="utf-8")
    yield from (Try("text", ("job", action, job)) for action in ("plan", "place"))
    study.write_text(yaml.safe_dump({"name": text, "scenario": text, text: 1}), encoding="utf-8")
    yield from (Try("text", (verb, study, "--list")) for verb in ("sweep", "tune"))
    base = yaml.safe_load(worlds.SCENARIO.replace("SIZE", "1KB").replace("SEED", "1"))
    scenario.write_text(yaml.safe_dump({**base, "risk_groups": {text: ["leaf1"]}}), encoding="utf-8")
    yield Try("text", ("whatif", scenario, "--static", "--quiet"))
    yield Try("json", ("whatif", scenario, "--static", "--quiet", "--json"))
    yield from (Try("text", words) for words in (
        ("errors", text), ("explain", "step", scenario, text), ("campaign", "--seeds", text),
        ("compare", scenario, "--controls", text), ("lab", "show", "--name", text), ("lab", "down", "--name", text),
    ))  # fmt: skip


def verbs(work: Path, texts: Mapping[str, str]) -> Row:
    """Fixes, recommendations, rollouts, thresholds, traces, jobs, studies and what-if questions."""

    def cases() -> Iterator[tuple[str, Sequence[Try]]]:
        for name, text in texts.items():
            folder = work / "verbs"
            folder.mkdir()
            yield name, list(_tries(folder, text))
            shutil.rmtree(folder)

    return row(
        "the same in configurations that are mended, rolled out and recommended for, in traces, logs, jobs, studies "
        "and risk groups, as text, JSON, SARIF, HTML and Markdown",
        "forged lines (thresholds), control characters and open Markdown (validate --recommend), a traceback (job)",
        cases(),
        terminal=False,
    )
