"""Runbooks as pages that open with the place of the alert that links to them.

docs/runbooks has the texts. In their queries words in capitals stand for what an alert knows: {device="LEAF",
port="PORT"}. The annotation `runbook_url` gives them in its query, FabricPfcStorm.html?LEAF=leaf1&PORT=Ethernet0, and
the page fills them in. A page is one file that loads nothing, so any web server will do; the one of Prometheus
(--web.user-assets) adds a link that runs each query.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

from fabric import shipped
from telemetry.alerting.promql.text import duration
from telemetry.alerting.rules import EMULATOR, NOMINAL_DILATION, timing

DEVICE: Final = {"DEVICE": "device"}
LEAF_PORT: Final = {"LEAF": "device", "PORT": "port"}
PEER: Final = {"PEER": "peer_device", "PEERPORT": "peer_port"}
JOB: Final = {"JOB": "workload"}
TARGET: Final = {"TARGET": "instance"}
WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "FabricArpFloodHigh": {"LEAF": "device", "VNI": "vni"},
    "FabricBgpPeerDown": {**DEVICE, "PEER": "peer"},
    "FabricBlackHole": {"SWITCH": "device"},
    "FabricBrokenNic": {**LEAF_PORT, "HOST": "peer_device"},
    "FabricCnpIgnored": {"HOST": "device"},
    "FabricCollectiveBusbwLow": JOB,
    "FabricEcmpImbalance": {"SWITCH": "device"},
    "FabricEcnNeverMarks": {"SWITCH": "device"},
    "FabricEvpnRouteLoss": DEVICE,
    "FabricExporterDown": TARGET,
    "FabricFcsErrors": {**DEVICE, "PORT": "port", **PEER},
    "FabricHeadroomNearlyFull": {**DEVICE, "PORT": "port"},
    "FabricJobSlowdown": JOB,
    "FabricLinkDegraded": {**DEVICE, "PORT": "port"},
    "FabricLinkDown": {**DEVICE, "PORT": "port", **PEER},
    "FabricLinkFlapping": {**DEVICE, "PORT": "port"},
    "FabricLosslessDrop": {"SWITCH": "device"},
    "FabricMacMoves": {"SWITCH": "device"},
    "FabricMtuDrops": {"SWITCH": "device"},
    "FabricPfcBeforeEcn": {"SWITCH": "device"},
    "FabricPfcPauseRatioHigh": {**DEVICE, "PORT": "port"},
    "FabricPfcStorm": {**LEAF_PORT, "HOST": "peer_device"},
    "FabricPfcwdDrop": {**LEAF_PORT, "HOST": "peer_device"},
    "FabricPfcwdFlapping": LEAF_PORT,
    "FabricPfcwdStorm": LEAF_PORT,
    "FabricRnicOutOfSequence": {"HOST": "device"},
    "FabricSilentLoss": {**LEAF_PORT, **PEER},
    "FabricSlowReceiver": {"HOST": "peer_device"},
    "FabricStragglerRank": JOB,
    "FabricSwitchDown": {"SWITCH": "device"},
    "FabricSwitchSilent": {"SWITCH": "device"},
    "FabricRunStopped": TARGET,
    "FabricVictimFlows": {"HOST": "device"},
}
"""Alert -> word of its runbook -> label of the alert. Other words are read off an earlier answer."""

_HEAD: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --text: #1b1f24; --page: #fff; --box: #eef1f4; --mark: #7a2e00 }}
@media (prefers-color-scheme: dark) {{
  :root {{ --text: #e6edf3; --page: #11151a; --box: #222a33; --mark: #ffb380 }}
}}
body {{ font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 46rem;
  margin: 0 auto; padding: 1rem; overflow-wrap: anywhere }}
code {{ font: .9em ui-monospace, monospace; background: var(--box); padding: .1em .3em; border-radius: 3px }}
#place {{ background: var(--box); padding: .6rem .8rem; border-radius: 4px }}
#place b {{ color: var(--mark) }}
a {{ color: inherit }}
</style>
"""
_SCRIPT: Final = """<script>
"use strict";
const words = {words};
const asked = new URLSearchParams(location.search);
const given = new Map(words.filter((word) => asked.get(word)).map((word) => [word, asked.get(word)]));
const place = document.getElementById("place");
if (place && given.size) place.replaceChildren(...[...given].flatMap(([word, value], at) => {{
  const name = document.createElement("b");
  name.textContent = value;
  return [`${{at ? ", " : "Of this alert: "}}${{word}} is `, name];
}}), ".");
for (const code of document.querySelectorAll("code")) {{
  const text = code.textContent;
  const query = text.replace(/"([A-Z]+)"/g, (all, word) => given.has(word) ? JSON.stringify(given.get(word)) : all);
  if (query !== text) code.textContent = query;
  const open = (query.match(/"[A-Z]+"/g) || []).length;
  if (!open && /fabric_/.test(query) && /\\/user\\/[^/]*$/.test(location.pathname)) {{
    const link = document.createElement("a");
    link.href = `../graph?g0.expr=${{encodeURIComponent(query)}}&g0.tab=1`;
    link.textContent = "run";
    code.after(" ", link);
  }}
}}
for (const link of document.querySelectorAll("a[href$='.html']")) link.search = location.search;
</script>
"""


def query(alert: str) -> str:
    """The query of an alert's `runbook_url`, as Prometheus expands it; '' where its page has nothing to fill in."""
    fields = [f"{word}={{{{ $labels.{label} | urlquery }}}}" for word, label in WORDS.get(alert, {}).items()]
    return f"?{'&'.join(fields)}" if fields else ""


def url(runbooks: str, alert: str) -> str:
    """Address of an alert's page below `runbooks`, with its place."""
    return f"{runbooks}/{alert}.html{query(alert)}"


def page(alert: str, text: str, dilation: float = NOMINAL_DILATION) -> str:
    """The page of one runbook. dilation: as for write()."""
    words = list(WORDS.get(alert, {}))
    place = f'<p id="place">{", ".join(words)}: the place of your alert; its link fills them in.</p>\n' if words else ""
    if dilation != NOMINAL_DILATION:
        windows = (
            f"Windows in queries are those of the rules for a dilation of {dilation:g}; times in words are nominal."
        )
        place += f"<p>{windows}</p>\n"
    title, _, rest = _html(text, dilation).partition("</h1>\n")
    return "".join(
        (_HEAD.format(title=escape(alert)), title, "</h1>\n", place, rest, _SCRIPT.format(words=json.dumps(words)))
    )


def pages(dilation: float = NOMINAL_DILATION) -> dict[str, str]:
    """File name -> page, of all runbooks. dilation: as for write()."""
    files = sorted((shipped.folder("docs") / "runbooks").glob("Fabric*.md"))
    return {f"{file.stem}.html": page(file.stem, file.read_text(encoding="utf-8"), dilation) for file in files}


def write(folder: Path, emulator: str = EMULATOR, dilation: float = NOMINAL_DILATION) -> None:
    """All pages, in a folder for a web server.

    Parameters
    ----------
    emulator : str       HOST:PORT that their commands ask
    dilation : float     the windows of their queries are as much wall time as those of the rules for it
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(dilation).items():
        (folder / name).write_text(text.replace(f"http://{EMULATOR}", f"http://{emulator}"), encoding="utf-8")


_OR_ITS_RUNBOOK: Final = re.compile(r",\s+or\s+its\s+\[runbook\]\([^)]*\)")
"""Of a playbook, by its file: the command beside it prints the same."""
_WINDOW: Final = re.compile(r"\[(\d+)([smh])\]")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}


def _in_wall_time(query: str, dilation: float) -> str:
    """A query with its windows, which are nominal, in wall time. An hour of `up` is an hour at any dilation."""
    if "fabric_" not in query:
        return query

    def scaled(found: re.Match[str]) -> str:
        return f"[{duration(timing(dilation).ms(int(found[1]) * _SECONDS[found[2]]))}]"

    return _WINDOW.sub(scaled, query)


def _html(text: str, dilation: float) -> str:
    """CommonMark. Links to other runbooks lead to their pages; others leave the folder, and are words."""
    parser = MarkdownIt("commonmark", {"html": False}).disable("image")
    tokens = parser.parse(_OR_ITS_RUNBOOK.sub("", text))
    for token in tokens:
        kept, linked = [], False
        for child in token.children or []:
            if child.type == "code_inline":
                child.content = _in_wall_time(child.content, dilation)
            if child.type == "link_open":
                name = str(child.attrGet("href"))
                linked = re.fullmatch(r"Fabric\w+\.md", name) is not None
                child.attrSet("href", f"{name.removesuffix('.md')}.html")
            if linked or child.type not in {"link_open", "link_close"}:
                kept.append(child)
        if token.children is not None:
            token.children = kept
    return str(parser.renderer.render(tokens, parser.options, {}))
