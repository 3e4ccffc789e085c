"""Pages as a reader sees them: on a phone, with a keyboard, in light and dark; measured in headless Chromium."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.main import main
from fabric.render.document import Document, LayeredMap, Map, Markdown, Section, Status
from fabric.render.drawing import CHARACTER, place
from fabric.render.html import to_html

ROOT = Path(__file__).resolve().parents[2]
CSS = (ROOT / "fabric" / "render" / "assets" / "page.css").read_text(encoding="utf-8")
PHONE = 390
AA = 4.5
"""WCAG 2.1, success criterion 1.4.3: contrast of text."""
PATIENCE_S = 600
"""An end to a browser that hangs, also on a busy machine."""
TINY = """\
name: s
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
workload: [{kind: incast, receiver: host1, senders: ['*'], size: 256KB}]
telemetry: {interval: 10us}
run: {duration: 1ms}
"""
REPORTS = "<script>addEventListener('error', event => parent.errors.push(event.message));</script>"
"""Reports errors of a page's scripts to the page around it."""
PROBE = """
const doc = frame.contentDocument, view = frame.contentWindow;
const scrolls = [...doc.querySelectorAll('*')].filter(e => e.scrollWidth > e.clientWidth + 1 &&
  ['auto', 'scroll'].includes(view.getComputedStyle(e).overflowX));
const slider = doc.querySelector('.replay input');
const figure = doc.querySelector('.layered');
let map = null;
if (figure) {
  const text = (name) => figure.querySelector(name).textContent;
  const shown = () => ({text: text('.readout'), layer: text('.shown')});
  const key = (name) => figure.querySelector('.drawing').dispatchEvent(new view.KeyboardEvent('keydown', {key: name}));
  map = {opened: shown(), marked: figure.querySelectorAll('.root, .rootcell').length,
    victims: figure.querySelectorAll('.victim').length, seen: []};
  for (const button of figure.querySelectorAll('.layers button')) {
    button.focus();
    map.reached = (map.reached || 0) + (doc.activeElement === button);
    button.click();
    key('ArrowRight'); key('ArrowDown');
    map.seen.push(shown().text || text('.empty'));
    key('Escape');
  }
  const link = doc.querySelector('a[data-opens]');
  if (link) link.click();
  map.again = link ? shown() : map.opened;  // without a root cause there is no link
}
result = {map, page: doc.documentElement.scrollWidth, width: view.innerWidth,
  unreachable: scrolls.filter(e => e.tabIndex < 0).map(e => e.className),
  unnamed: scrolls.filter(e => e.tabIndex >= 0 && !e.getAttribute('aria-label')).length,
  scrolling: scrolls.length, slider: slider && slider.getAttribute('aria-valuetext')};
"""


def in_browser(page: str, width: int, folder: Path, probe: str = PROBE) -> dict[str, Any]:
    """Findings of a probe in a page of this width, whose scripts must not fail.

    It uses a frame, because a window cannot be narrower than 500.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    assert "<head>" in page
    file = folder / "frame.html"
    file.write_text(
        "<!doctype html><script>window.errors = [];</script>"
        f'<iframe id="frame" width="{width}" height="800" style="border:0" '
        f'srcdoc="{escape(page.replace("<head>", f"<head>{REPORTS}", 1))}">'
        "</iframe><pre id=out></pre><script>frame.addEventListener('load', () => { let result;"
        + probe
        + "out.textContent = JSON.stringify({...result, errors}); });</script>",
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-quic",
            f"--user-data-dir={folder / 'profile'}",
            "--window-size=1300,900",
            "--virtual-time-budget=5000",
            "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    found = re.search(r'<pre id="out">(\{.*?\})</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-1000:]
    result = dict(json.loads(unescape(found.group(1))))
    assert result.pop("errors") == []
    return result


@pytest.fixture(scope="module")
def storm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the playbook of `make demo`."""
    folder = tmp_path_factory.mktemp("demo") / "run"
    assert main(["playbook", "run", "pfc-storm", "--out", str(folder), "--quiet"]) == 0
    return folder / "playbook.html"


@pytest.mark.timed
def test_the_report_of_a_run_opens_without_an_error_of_its_scripts(tmp_path: Path) -> None:
    scenario, page = tmp_path / "s.yml", tmp_path / "report.html"
    scenario.write_text(TINY, encoding="utf-8")
    assert main(["run", str(scenario), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert main(["report", str(tmp_path / "run"), "--out", str(page)]) == 0
    found = in_browser(page.read_text(encoding="utf-8"), PHONE, tmp_path)
    assert found["map"]["seen"]
    assert all(found["map"]["seen"])


@pytest.mark.slow
@pytest.mark.timed
def test_the_demos_page_fits_a_phone_and_every_part_that_scrolls_is_reached_by_keyboard(
    storm: Path, tmp_path: Path
) -> None:
    found = in_browser(storm.read_text(encoding="utf-8"), PHONE, tmp_path)
    assert found["width"] == PHONE
    assert found["page"] <= PHONE
    assert found["scrolling"] > 3
    assert found["unreachable"] == []
    assert found["unnamed"] == 0
    assert re.fullmatch(
        r"[0-9.]+ ms, (nothing is|[1-9][0-9]* (port|host) is|[1-9][0-9]* .+ are) paused", found["slider"]
    )
    shown = found["map"]
    assert shown["opened"]["layer"].startswith("Pauses:")
    assert "towards" in shown["opened"]["text"]
    assert shown["again"] == shown["opened"]
    assert shown["marked"] == 1
    assert shown["victims"] > 0
    assert shown["reached"] == len(shown["seen"]) == 8
    assert all(shown["seen"])


@pytest.mark.slow
@pytest.mark.timed
def test_the_page_of_a_verdict_fits_a_phone(tmp_path: Path) -> None:
    example = ROOT / "docs" / "howto" / "validate-example"
    page = tmp_path / "verdict.html"
    assert (
        main(
            [
                "validate",
                str(example / "after"),
                "--baseline",
                str(example / "before"),
                "--format",
                "html",
                "-o",
                str(page),
            ]
        )
        == 1
    )
    found = in_browser(page.read_text(encoding="utf-8"), PHONE, tmp_path)
    assert found["page"] <= PHONE
    assert found["unreachable"] == []


def test_the_playbooks_page_holds_its_runbook(storm: Path) -> None:
    text = storm.read_text(encoding="utf-8")
    runbook = text[text.index('<section id="runbook">') :]
    for heading in ("Meaning", "Impact", "Diagnosis", "Mitigation"):
        assert f"<h4>{heading}</h4>" in runbook
    assert '<a href="#runbook">Runbook</a>' in text


def test_html_in_a_runbook_is_text_and_its_links_lead_nowhere() -> None:
    page = to_html(
        Document(
            "t",
            "s",
            Status.GOOD,
            "v",
            (),
            (Section("a", "A", (Markdown("# Head\n<script>alert(1)</script> [word](other.md) **bold**"),)),),
        )
    )
    body = page[page.index("<main>") :]
    assert "<script>alert" not in body
    assert "&lt;script&gt;" in body
    assert "other.md" not in body
    assert "<h3>Head</h3>" in body
    assert "word <strong>bold</strong>" in body


def colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]{3,6})\b", block))


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        r, g, b = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark", "print"])
def test_every_colour_of_text_has_contrast_on_every_ground(mode: str) -> None:
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    found = colours(blocks[0]) | colours(blocks[("light", "dark", "print").index(mode)])
    poor = [
        (ink, ground, round(contrast(found[ink], found[ground]), 2))
        for ink in ("ink", "soft", "good", "warn", "bad", "accent")
        for ground in ("page", "card", "faint")
        if contrast(found[ink], found[ground]) < AA and not (mode == "print" and ink == "accent")
    ]
    assert poor == []


def drawn(scenario: str, folder: Path, *words: str) -> Map:
    """The map of a fabric, from a short run's report."""
    from fabric.explain.evidence import Evidence
    from fabric.explain.report import compose
    from fabric.runs.rundir import RunDir

    assert main(["run", scenario, "--out", str(folder / "run"), "--quiet", *words]) in {0, 1}
    document = compose(Evidence(RunDir.open(folder / "run")))
    maps = (block for section in document.sections for block in section.blocks if isinstance(block, LayeredMap))
    return next(maps).panes[0].base


@pytest.mark.parametrize(
    ("topology", "hosts_named"),
    [
        ("{kind: rail, pods: 1, nodes_per_pod: 2, rails: 16, spines: 4, host_rate: 400G, fabric_rate: 400G}", True),
        ("{kind: leaf-spine, leaves: 4, spines: 2, hosts_per_leaf: 8, host_rate: 100G, fabric_rate: 400G}", True),
        ("{kind: leaf-spine, leaves: 2, spines: 96, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 400G}", True),
        ("{kind: leaf-spine, leaves: 120, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 400G}", False),
    ],
)
def test_names_on_the_map_do_not_overlap(topology: str, hosts_named: bool, tmp_path: Path) -> None:
    scenario = tmp_path / "s.yml"
    scenario.write_text(
        f"name: s\ntopology: {topology}\nworkload: [{{kind: permutation, size: 4KB}}]\nrun: {{duration: 1ms}}\n",
        encoding="utf-8",
    )
    drawing = drawn(str(scenario), tmp_path)
    layout = place(drawing)
    assert layout.named_hosts == hosts_named
    boxes = []
    for number, node in enumerate(drawing.nodes):
        (x, y), half, tall = layout.at[number], layout.half_width[number], layout.half_height[number]
        length = CHARACTER * len(node.name) / 2
        if node.role != "host":
            assert length <= (max(half, tall)) + 1, node.name
            boxes.append((x - half, y - tall, x + half, y + tall, node.name))
        elif hosts_named:
            boxes.append((x - length, y + 10, x + length, y + 22, node.name))
    assert all(box[0] >= 0 and box[2] <= layout.width for box in boxes)
    for first, one in enumerate(boxes):
        for other in boxes[first + 1 :]:
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, (one, other)


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("new", ["new", "other-class"])
def test_the_page_of_a_rollout_fits_a_phone(new: str, tmp_path: Path) -> None:
    example = ROOT / "docs" / "howto" / "rollout-example"
    page = tmp_path / "rollout.html"
    main(["rollout", str(example / "old"), str(example / new), "--quiet", "--format", "html", "--out", str(page)])
    found = in_browser(page.read_text(encoding="utf-8"), PHONE, tmp_path)
    assert found["page"] <= PHONE
    assert found["unreachable"] == []
    assert found["unnamed"] == 0


@pytest.mark.slow
@pytest.mark.timed
def test_two_runs_side_by_side_fit_a_phone_and_share_layer_and_moment(tmp_path: Path) -> None:
    scenario = tmp_path / "s.yml"
    scenario.write_text(TINY, encoding="utf-8")
    before, after, page = tmp_path / "before", tmp_path / "after", tmp_path / "diff.html"
    assert main(["run", str(scenario), "--out", str(before), "--quiet"]) == 0
    assert main(["run", str(scenario), "--out", str(after), "--quiet", "--set", "run.seed=2"]) == 0
    assert main(["diff", str(before), str(after), "--page", str(page)]) in {0, 1}
    text = page.read_text(encoding="utf-8")
    assert "Before: before" in text
    assert "After: after" in text
    found = in_browser(text, PHONE, tmp_path)
    assert found["page"] <= PHONE
    assert found["unreachable"] == []
    assert found["unnamed"] == 0
    assert found["scrolling"] == 2  # the two maps, which say so; tables wrap
    assert all(found["map"]["seen"])
