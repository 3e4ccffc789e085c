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
from telemetry.alerting.rules import EMULATOR

DEVICE: Final = {"DEVICE": "device"}
LEAF_PORT: Final = {"LEAF": "device", "PORT": "port"}
WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "FabricBgpPeerDown": {**DEVICE, "PEER": "peer"},
    "FabricBlackHole": {"SWITCH": "device"},
    "FabricBrokenNic": {**LEAF_PORT, "HOST": "peer_device"},
    "FabricEcmpImbalance": {"SWITCH": "device"},
    "FabricEcnNeverMarks": {"SWITCH": "device"},
    "FabricLinkDegraded": {**DEVICE, "PORT": "port"},
    "FabricLinkDown": {**DEVICE, "PORT": "port", "PEER": "peer_device", "PEERPORT": "peer_port"},
    "FabricLinkFlapping": {**DEVICE, "PORT": "port"},
    "FabricLosslessDrop": {"SWITCH": "device"},
    "FabricMacMoves": {"SWITCH": "device"},
    "FabricMtuDrops": {"SWITCH": "device"},
    "FabricPfcPauseRatioHigh": {**DEVICE, "PORT": "port"},
    "FabricPfcStorm": {**LEAF_PORT, "HOST": "peer_device"},
    "FabricPfcwdDrop": {**LEAF_PORT, "HOST": "peer_device"},
    "FabricPfcwdStorm": LEAF_PORT,
    "FabricSilentLoss": {**LEAF_PORT, "PEER": "peer_device", "PEERPORT": "peer_port"},
    "FabricSlowReceiver": {"HOST": "peer_device"},
    "FabricSwitchDown": {"SWITCH": "device"},
    "FabricSwitchSilent": {"SWITCH": "device"},
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


def page(alert: str, text: str) -> str:
    """The page of one runbook."""
    words = list(WORDS.get(alert, {}))
    place = f'<p id="place">{", ".join(words)}: the place of your alert; its link fills them in.</p>\n' if words else ""
    title, _, rest = _html(text).partition("</h1>\n")
    return "".join(
        (_HEAD.format(title=escape(alert)), title, "</h1>\n", place, rest, _SCRIPT.format(words=json.dumps(words)))
    )


def pages() -> dict[str, str]:
    """File name -> page, of all runbooks."""
    files = sorted((shipped.folder("docs") / "runbooks").glob("Fabric*.md"))
    return {f"{file.stem}.html": page(file.stem, file.read_text(encoding="utf-8")) for file in files}


def write(folder: Path, emulator: str = EMULATOR) -> None:
    """All pages, in a folder for a web server. emulator: HOST:PORT that their commands ask."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text.replace(f"http://{EMULATOR}", f"http://{emulator}"), encoding="utf-8")


def _html(text: str) -> str:
    """CommonMark. Links to other runbooks lead to their pages; others leave the folder, and are words."""
    parser = MarkdownIt("commonmark", {"html": False}).disable("image")
    tokens = parser.parse(text)
    for token in tokens:
        kept, linked = [], False
        for child in token.children or []:
            if child.type == "link_open":
                name = str(child.attrGet("href"))
                linked = re.fullmatch(r"Fabric\w+\.md", name) is not None
                child.attrSet("href", f"{name.removesuffix('.md')}.html")
            if linked or child.type not in {"link_open", "link_close"}:
                kept.append(child)
        if token.children is not None:
            token.children = kept
    return str(parser.renderer.render(tokens, parser.options, {}))
