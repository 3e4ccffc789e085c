"""Maps of fabrics: who is to blame is legible, whole and above the rest; tooltips are reached without a mouse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabric.render.document import (
    Document,
    Layer,
    LayeredMap,
    Map,
    MapLink,
    MapNode,
    Pane,
    Section,
    Status,
    Still,
    Unit,
)
from fabric.render.drawing import LEAST_SCALE, map_svg
from fabric.render.html import to_html
from tests.render.test_pages_in_a_browser import CSS, PHONE, in_browser

LEAST_PX = 9.0
MAPS_PROBE = """
const doc = frame.contentDocument, view = frame.contentWindow;
const scale = ({a, b}) => Math.hypot(a, b);
const pixels = (text) => parseFloat(view.getComputedStyle(text).fontSize) * scale(text.getCTM());
const box = doc.querySelector('.mapbox:not(.layered) > .scroll');
const readout = box.nextElementSibling;
const key = (name) => box.dispatchEvent(new view.KeyboardEvent('keydown', {key: name, bubbles: true}));
const said = [];
const first = box.querySelector('.ring').getBoundingClientRect(), own = box.getBoundingClientRect();
const seen = own.left <= first.left && first.right <= own.right;
box.focus();
const focused = doc.activeElement === box;
for (const name of ['ArrowRight', 'End', 'Home']) { key(name); said.push(readout.textContent); }
const ring = box.querySelector('.ring');
const dot = ring.parentNode.querySelector('.body').getBoundingClientRect();
ring.dispatchEvent(new view.MouseEvent('click',
  {bubbles: true, clientX: dot.left + dot.width / 2, clientY: dot.top + dot.height / 2}));
const tapped = readout.textContent;
const lines = [...box.querySelectorAll('line')];
const stopped = lines.map((line) => line.classList.contains('stopped'));
result = {focused, said, tapped, count: doc.querySelector('.replay .count').textContent,
  least: Math.min(...[...doc.querySelectorAll('svg.map text')].map(pixels)),
  above: stopped.lastIndexOf(false) < stopped.indexOf(true),
  seen};
"""


def fabric(leaves: int, spines: int, per_leaf: int, paused: int) -> Map:
    """A leaf-spine fabric whose last host pauses; every `paused`-th cable is paused, the last host's among them."""
    n_hosts = leaves * per_leaf
    nodes = [MapNode(f"host{number + 1}", "host", 0) for number in range(n_hosts)]
    nodes += [MapNode(f"leaf{number + 1}", "leaf", 1) for number in range(leaves)]
    nodes += [MapNode(f"spine{number + 1}", "spine", 2) for number in range(spines)]
    pairs = [(host, n_hosts + host // per_leaf) for host in range(n_hosts)]
    pairs += [(n_hosts + leaf, n_hosts + leaves + spine) for leaf in range(leaves) for spine in range(spines)]
    links = tuple(MapLink(a, b, 10**11, 0.0, 0.9 * (row % paused == 0)) for row, (a, b) in enumerate(pairs))
    stills = tuple(Still(row, False, 10, 1000, 0) for row in range(0, len(links), paused))
    return Map("replay", "Replay", tuple(nodes), links, stills, (n_hosts - 1,), 0, 1000)


def page(drawing: Map) -> str:
    layer = Layer("pauses", "Pauses", "share paused", Unit.RATIO, (0.0, 0.01, 0.05, 0.2, 0.5), {1: ((0, 0.9),)})
    root = drawing.origins[0]
    own = Map("fabric", "fabric", drawing.nodes, drawing.links)
    ports = tuple(f"Ethernet{number}" for number in range(2 * len(drawing.links)))
    panes = (Pane("", own, ports, (layer,), (root,), (2 * root + 1,), (0,)),)
    layered = LayeredMap("fabric-map", "Fabric map", (0, 10, 20), panes, 0, 0, "")
    return to_html(Document("t", "s", Status.BAD, "v", (), (Section("m", "M", (layered, drawing)),)))


@pytest.mark.parametrize(("leaves", "spines", "per_leaf"), [(4, 2, 4), (80, 32, 4), (96, 16, 1), (1, 1, 2)])
def test_the_culprit_is_named_and_its_ring_is_whole_and_above_all(leaves: int, spines: int, per_leaf: int) -> None:
    drawing = fabric(leaves, spines, per_leaf, 7)
    svg = map_svg(drawing)
    left, _, width, height = (float(it) for it in re.search(r'viewBox="(.*?)"', svg)[1].split())  # type: ignore[index]
    ring = re.search(r'<circle class="ring" cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"', svg)
    assert ring is not None
    x, y, r = (float(it) for it in ring.groups())
    assert left <= x - r - 1 < x + r + 1 <= left + width
    assert y + r + 1 <= height
    name = f">host{leaves * per_leaf}</text>"
    assert name in svg[ring.start() :]
    assert "<circle" not in svg[ring.end() :].partition("</circle>")[2].partition('class="body"')[2]
    at = re.search(rf'<text[^>]* x="([\d.]+)" y="([\d.]+)"{name}', svg)
    assert at is not None
    half = 6.7 * len(name.strip(">").partition("<")[0]) / 2
    assert left <= float(at[1]) - half < float(at[1]) + half <= left + width
    assert float(at[2]) <= height


def test_paused_cables_are_drawn_above_the_others() -> None:
    steps = [int(it) for it in re.findall(r'class="half p(\d)"', map_svg(fabric(12, 4, 2, 5)))]
    assert steps == sorted(steps)
    assert {0, 5} <= set(steps)


def test_the_smallest_name_of_a_map_has_nine_pixels_at_its_least_size() -> None:
    sizes = [float(it) for it in re.findall(r"\.map [^{]*text[^{]*\{[^}]*font-size: ([\d.]+)px", CSS)]
    assert sizes
    assert min(sizes) * LEAST_SCALE >= LEAST_PX


def test_no_text_is_made_transparent() -> None:
    """The contrast of colours is tested as they are (test_pages_in_a_browser.py)."""
    assert "opacity" not in CSS


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("width", [PHONE, 1280])
@pytest.mark.parametrize(("leaves", "spines", "per_leaf"), [(4, 2, 4), (40, 8, 1), (80, 32, 4)])
def test_a_map_is_legible_and_its_tooltips_are_reached_by_key_and_by_finger(
    width: int, leaves: int, spines: int, per_leaf: int, tmp_path: Path
) -> None:
    drawing = fabric(leaves, spines, per_leaf, 7)
    found = in_browser(page(drawing), width, tmp_path, MAPS_PROBE)
    culprit = drawing.nodes[drawing.origins[0]].name
    assert found["focused"]
    assert found["said"][0] == found["said"][2] == "host1"
    assert "towards" in found["said"][1]
    assert found["tapped"] == culprit
    assert found["least"] >= LEAST_PX
    assert found["above"]
    assert found["seen"]


@pytest.mark.slow
@pytest.mark.timed
def test_one_port_is_paused_in_the_singular(tmp_path: Path) -> None:
    drawing = fabric(2, 2, 2, 1000)
    found = in_browser(page(drawing), PHONE, tmp_path, MAPS_PROBE)
    assert found["count"] == "1 port and 1 host are paused"
