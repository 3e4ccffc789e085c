"""The layered map as HTML: what it shows without scripts, its data for the script, and heat maps of large fabrics."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from fabric.render.document import (
    Answer,
    Document,
    Fact,
    Layer,
    LayeredMap,
    Map,
    MapLink,
    MapNode,
    Pane,
    Section,
    Status,
    Unit,
)
from fabric.render.drawing import CHARACTER, place
from fabric.render.heat import DRAWN_SWITCHES, MOST_LINES, matrices, too_large
from fabric.render.html import to_html
from fabric.render.json import to_json
from fabric.render.layered import layered_html, legend
from tests.render.test_html import NASTY, Checker

LIMITS = (0.0, 0.01, 0.05, 0.2, 0.5)


def leaf_spine(leaves: int, spines: int, hosts: int) -> Map:
    """Leaves, spines, and so many hosts at each leaf."""
    nodes = [MapNode(f"spine{n + 1}", "spine", 2) for n in range(spines)]
    links = []
    for leaf in range(leaves):
        row = len(nodes)
        nodes.append(MapNode(f"leaf{leaf + 1}", "leaf", 1))
        links += [MapLink(row, spine, 10**11, 0.0, 0.0) for spine in range(spines)]
        for host in range(hosts):
            links.append(MapLink(row, len(nodes), 10**11, 0.0, 0.0))
            nodes.append(MapNode(f"host{leaf * hosts + host + 1}", "host", 0))
    return Map("fabric", "fabric", tuple(nodes), tuple(links))


def layered(base: Map, **pane: tuple[int, ...]) -> LayeredMap:
    layers = (
        Layer("pauses", "Pauses", "share", Unit.RATIO, LIMITS, {0: ((1, 0.9),)}, empty="none"),
        Layer("loss", "Loss", "packets", Unit.COUNT, (0.0, 10.0, 100.0, 1e3, 1e4), {}, empty="Nothing was lost."),
    )
    ports = tuple(f"Ethernet{end}" for end in range(2 * len(base.links)))
    return LayeredMap("m", "Map", (0, 1000, 2000), (Pane("", base, ports, layers, **pane),), 0, 1)


def test_without_scripts_the_first_layer_and_moment_are_drawn_with_their_marks() -> None:
    page = layered_html(layered(leaf_spine(2, 2, 2), roots=(2,), root_ends=(0,), victims=(3,)), "")
    assert '<line id="m-0-h0a" class="half p5"' in page
    assert page.count('class="ring root"') == 1
    assert page.count('class="rootport"') == 1
    assert page.count('class="victim"') == 1
    assert "Highest: leaf1:Ethernet0 towards spine1 90%" in page.replace(": 90%", " 90%")
    assert page.count("<button") == 3
    assert 'aria-pressed="true">Pauses' in page


def test_the_signs_of_a_root_hide_no_name_of_a_host() -> None:
    base = leaf_spine(2, 2, 8)
    layout = place(base, 620)
    hosts = [number for number, node in enumerate(base.nodes) if node.role == "host"]
    for host in hosts:
        [end] = [2 * row + 1 for row, link in enumerate(base.links) if link.b == host]
        page = layered_html(layered(base, roots=(host,), root_ends=(end,)), "")
        sign = re.search(r'class="rootport" d="M([\d.]+) ([\d.]+)l(\d+)', page)
        ring = re.search(r'class="ring root" x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"', page)
        assert sign is not None
        assert ring is not None
        x, top, half = (float(it) for it in sign.groups())
        for other in hosts:
            at_x, at_y = layout.at[other]
            if abs(at_x - x) < half + CHARACTER * len(base.nodes[other].name) / 2:
                assert top >= at_y + 21 or top + 2 * half <= at_y + 13  # names are written from 13 to 21 below
        assert float(ring[1]) + float(ring[2]) <= layout.at[host][1] + 13


def test_a_page_without_a_place_to_open_has_no_link_to_the_map() -> None:
    section = Section("map", "Map", (layered(leaf_spine(2, 2, 2)),))
    document = Document("t", "s", Status.GOOD, "v", (), (section,), Answer(Status.GOOD, "None."))
    assert "See it on the map" not in to_html(document)


def test_a_layer_without_values_says_so_instead_of_being_empty() -> None:
    base = layered(leaf_spine(2, 2, 2))
    page = layered_html(LayeredMap(base.key, base.title, base.edges_ns, base.panes, 1, 0), "")
    assert "Nothing was lost." in page


def test_the_legend_has_units() -> None:
    depth = Layer("q", "Queue", "depth", Unit.BYTES, (0.0, 1e4, 5e4, 2e5, 1e6), {})
    text = unescape(re.sub("<[^>]*>", " ", legend(depth)))
    assert text.split() == [
        "none",
        "up",
        "to",
        "10KB",
        "up",
        "to",
        "50KB",
        "up",
        "to",
        "200KB",
        "up",
        "to",
        "1MB",
        "more",
    ]


@pytest.mark.parametrize(("leaves", "spines"), [(DRAWN_SWITCHES - 4, 5), (200, 8)])
def test_a_large_fabric_is_heat_maps_of_bounded_size_with_every_cable(leaves: int, spines: int) -> None:
    base = leaf_spine(leaves, spines, 2)
    assert too_large(base)
    assert not too_large(leaf_spine(DRAWN_SWITCHES - 5, 5, 2))
    node, spine = matrices(base)
    assert (node.title, spine.title) == ("leaf x node", "leaf x spine")
    assert spine.columns == tuple(f"spine{n + 1}" for n in range(spines))
    assert len(spine.rows) <= MOST_LINES
    assert sorted(end for it in (node, spine) for cell in it.cells for end in cell.ends) == list(
        range(2 * len(base.links))
    )
    page = layered_html(layered(base, roots=(spines,), root_ends=(0,)), "")
    assert page.count("rootcell") == 1
    assert "rootname" in page
    assert len(page) < 2_000_000


def test_names_of_a_map_are_escaped_and_the_answer_leads_to_it() -> None:
    base = Map(
        "fabric", NASTY, (MapNode(NASTY, "host", 0), MapNode("leaf1", "leaf", 1)), (MapLink(0, 1, 10**11, 0, 0),)
    )
    answer = Answer(Status.BAD, NASTY, (Fact("kind", "Kind", NASTY),), "m")
    document = Document("t", "s", Status.BAD, "v", (), (Section("map", "Map", (layered(base, roots=(0,)),)),), answer)
    page = to_html(document)
    assert NASTY not in page
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.loaded == []
    assert '<a href="#m" data-opens>' in page
    data = json.loads(re.findall(r'class="data">(.*?)</script>', page)[0])
    assert data["panes"][0]["nodes"][0] == NASTY
    assert to_json(document)["first_root"] == {"text": NASTY, "kind": NASTY}


def test_a_cable_past_other_devices_of_its_row_does_not_run_through_them() -> None:
    ring = Map(
        "ring", "ring", tuple(MapNode(f"s{n}", "switch", 1) for n in range(4)),
        tuple(MapLink(n, (n + 1) % 4, 10**11, 0, 0) for n in range(4)),
    )  # fmt: skip
    page = layered_html(layered(ring), "")
    heights = re.findall(r'<line id="m-0-h(\d)a" class="[^"]*" x1="[^"]*" y1="([^"]*)" x2="[^"]*" y2="([^"]*)"', page)
    assert [float(y2) < float(y1) for _, y1, y2 in sorted(heights)] == [False, False, False, True]
    assert min(float(y2) for _, _, y2 in heights) > 0
    assert place(ring).height > 0
