"""Runbooks as pages: the place of the alert that links to one is in its queries, and nothing else of the address is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
import yaml

from fabric import shipped
from telemetry.alerting.alert import Severity
from telemetry.alerting.alerts import ALERTS
from telemetry.alerting.fit import NAMES
from telemetry.alerting.render import rules_yaml
from telemetry.alerting.runbook_pages import WORDS, page, pages, query, write
from telemetry.diagnosis.rehearsed import runbooks
from telemetry.diagnosis.root import Kind

READ_OFF = {"FabricPfcPauseRatioHigh": {"ROOT"}}
"""Words that an answer to an earlier query tells."""
WORD = re.compile(r'(?<=")[A-Z]+(?=")')
"""A word to fill in, the whole value of a label in a query."""
PATIENCE_S = 600


@pytest.mark.parametrize(
    "file", sorted((shipped.folder("docs") / "runbooks").glob("Fabric*.md")), ids=lambda file: file.stem
)
def test_every_word_in_the_queries_of_a_runbook_is_filled_in_or_read_off(file: Path) -> None:
    quoted = set(WORD.findall(file.read_text(encoding="utf-8")))
    assert quoted - READ_OFF.get(file.stem, set()) == set(WORDS.get(file.stem, {}))


def test_every_alert_links_to_a_page_that_is_made() -> None:
    rules = yaml.safe_load(rules_yaml(runbooks="http://there"))["groups"][0]["rules"]
    linked = {it["annotations"]["runbook_url"].partition("?")[0] for it in rules if "alert" in it}
    assert linked == {f"http://there/{name}" for name in pages()}
    assert len(linked) == len(ALERTS) + len(NAMES)


def test_the_address_gives_each_word_the_label_that_the_alert_has() -> None:
    assert query("FabricSlowReceiver") == "?HOST={{ $labels.peer_device | urlquery }}"
    assert query("FabricDilationMismatch") == ""


def test_markup_of_a_runbook_is_text_and_links_stay_within_the_folder() -> None:
    text = page(
        "FabricX", "# FabricX\n\n<script>x</script> [a](FabricY.md) [b](../../README.md) [c](https://example.org)\n"
    )
    assert "&lt;script&gt;" in text
    assert re.findall(r'<a href="([^"]*)"', text) == ["FabricY.html"]
    assert " b c</p>" in text


@pytest.mark.slow  # a browser: 3 s
def test_a_browser_fills_in_the_place_and_nothing_else(tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    write(tmp_path / "user")
    hostile = 'Ethernet"0\\<img src=x onerror=document.title=1>'
    given = {"LEAF": "leaf1", "PORT": hostile, "HOST": "host4", "DEVICE": "spine9"}
    done = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
         f"{(tmp_path / 'user/FabricPfcStorm.html').as_uri()}?{urlencode(given)}"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )  # fmt: skip
    codes = [unescape(it) for it in re.findall(r"<code>(.*?)</code>", done.stdout, re.DOTALL)]
    assert 'sum without (port) (fabric_pfc_pause_cause_info{root_device="host4"})' in codes, done.stderr[-1000:]
    assert f'increase(fabric_pfc_receive_resume_total{{device="leaf1", port={json.dumps(hostile)}}}[1m])' in codes
    assert "<img" not in done.stdout
    assert "spine9" not in done.stdout.partition("<script>")[0], "the page has no such word"
    assert "Of this alert: LEAF is <b>leaf1</b>, PORT is" in done.stdout
    assert 'href="../graph?g0.expr=sum%20without' in done.stdout


@pytest.mark.parametrize("alert", [it.name for it in ALERTS if it.severity is Severity.CRITICAL])
def test_a_page_names_the_command_that_finds_the_root(alert: str) -> None:
    text = (shipped.folder("docs") / "runbooks" / f"{alert}.md").read_text(encoding="utf-8")
    assert "`fabric explain roots http://127.0.0.1:9464`" in text.partition("\n## Diagnosis")[2].partition("\n## ")[0]


def test_the_runbook_of_lost_lossless_packets_leads_to_each_of_its_causes() -> None:
    text = (shipped.folder("docs") / "runbooks" / "FabricLosslessDrop.md").read_text(encoding="utf-8")
    about = [kind.value for kind in Kind if "FabricLosslessDrop" in runbooks(kind)]
    assert about
    for kind in about:
        assert f"`{kind}`" in text
        assert f"fabric playbook run {kind}" in text
