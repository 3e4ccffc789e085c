"""The page: self-contained, escaped, and complete; the drawings and charts behind it."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.render.document import (
    Answer,
    Branch,
    Chart,
    Column,
    Document,
    Fact,
    Facts,
    Map,
    MapLink,
    MapNode,
    Mark,
    Prose,
    Section,
    Series,
    Status,
    Still,
    Table,
    Tree,
    Unit,
    show,
)
from fabric.render.drawing import WIDTH, level, place
from fabric.render.html import MAX_ROWS, N_WARP, _warp, to_html
from fabric.render.json import to_json
from fabric.render.plots import MAX_POINTS, chart_svg, thin
from fabric.render.text import PIPE_WIDTH, console_for, print_document

NASTY = "</script><b>&\"'leaf1"
VOID = {"meta", "input", "br", "img", "hr", "link", "wbr"}


def fabric_map(stills: tuple[Still, ...] = ()) -> Map:
    nodes = (MapNode("host1", "host", 0, Status.BAD), MapNode(NASTY, "host", 0), MapNode("leaf1", "leaf", 1))
    links = (MapLink(0, 2, 10**11, 0.0, 0.6), MapLink(1, 2, 4 * 10**11, 0.03, 0.0))
    return Map("replay" if stills else "map", "Map", nodes, links, stills, (0,), 0, 1000)


def document() -> Document:
    columns = (
        Column("port", "Port"),
        Column("peak_bytes", "Peak", Unit.BYTES),
        Column("share_ratio", "Share", Unit.RATIO),
    )
    rows = tuple((f"{NASTY}:{row}", 1_000 * row, row / 100) for row in range(MAX_ROWS + 7))
    tree = Branch(NASTY, (Fact("paused_ns", "paused for", 1500, Unit.NS),), (Branch("child"),), Status.BAD)
    blocks = (
        Facts((Fact("drops", "drops", 0, Unit.COUNT, Status.GOOD),)),
        Prose(NASTY),
        Table("queues", "Queues", columns, rows),
        Tree("trees", "Tree", tree),
        Chart(
            "c",
            "Chart",
            "time",
            Unit.NS,
            "bytes",
            Unit.BYTES,
            (Series("a", (0, 10, 20), (0, 5000, 100)),),
            (Mark(10, NASTY),),
        ),
        fabric_map(),
        fabric_map((Still(0, False, 100, 300, 0),)),
    )
    return Document(NASTY, "sub", Status.BAD, NASTY, (Prose("reason"),), (Section("all", "All", blocks),))


class Checker(HTMLParser):
    """Refuses tags that do not nest and collects what the page would load."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value for name, value in attrs if name in {"src", "href"} and value and value[0] != "#"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value for name, value in attrs if name in {"src", "href"} and value and value[0] != "#"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_nests_and_loads_nothing_from_elsewhere() -> None:
    page = to_html(document())
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.loaded == []
    assert not re.search(r"@import|url\(|https?://", page)


def test_names_of_a_scenario_cannot_end_the_script_or_become_markup() -> None:
    page = to_html(document())
    assert NASTY not in page
    assert "<b>&" not in page
    checker = Checker()
    checker.feed(page)
    assert NASTY in checker.texts


def test_the_page_follows_the_readers_colour_scheme_and_prints() -> None:
    page = to_html(document())
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert 'content="light dark"' in page


def test_long_tables_say_how_many_rows_they_leave_out() -> None:
    page = to_html(document())
    assert page.count("<tr") == MAX_ROWS + 1
    assert "7 more rows are in the run directory" in page


def test_a_page_without_pauses_carries_no_replay_script() -> None:
    plain = Document("t", "s", Status.GOOD, "v", (), (Section("m", "M", (fabric_map(),)),))
    assert "Replay of pause" not in to_html(plain)


def test_replay_data_names_lines_and_nodes_that_the_drawing_has() -> None:
    page = to_html(document())
    found = re.search(r'id="replay-data">(.*?)</script>', page)
    assert found is not None
    data = json.loads(found[1])
    for link in range(len(data["links"])):
        assert f'id="replay-h{link}a"' in page
        assert f'id="replay-h{link}b"' in page
    for node in range(len(data["hosts"])):
        assert f'id="replay-n{node}"' in page


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 10**6)), min_size=1, max_size=40))
def test_the_replay_clock_never_runs_backwards_and_covers_everything(spans: list[tuple[int, int]]) -> None:
    stills = tuple(Still(0, True, start, start + length, 0) for start, length in spans)
    end = max(still.end_ns for still in stills)
    warp = _warp(Map("m", "M", (), (), stills, (), 0, end))
    assert len(warp) == N_WARP + 1
    assert warp == sorted(warp)
    assert (warp[0], warp[-1]) == (0, end)


def test_every_device_is_drawn_inside_the_picture_and_hosts_below_their_leaf() -> None:
    leaves, per_leaf = 16, 64
    nodes = [MapNode(f"host{row}", "host", 0) for row in range(leaves * per_leaf)]
    nodes += [MapNode(f"leaf{row}", "leaf", 1) for row in range(leaves)] + [MapNode("spine1", "spine", 2)]
    links = [MapLink(row, leaves * per_leaf + row // per_leaf, 10**11, 0, 0) for row in range(leaves * per_leaf)]
    links += [MapLink(leaves * per_leaf + row, len(nodes) - 1, 10**11, 0, 0) for row in range(leaves)]
    layout = place(Map("m", "M", tuple(nodes), tuple(links)))
    at = layout.at
    assert all(
        half <= x <= WIDTH - half and 0 < y < layout.height for (x, y), half in zip(at, layout.half_width, strict=True)
    )
    for link in links[: leaves * per_leaf]:
        assert at[link.a][1] > at[link.b][1]
    assert len(set(at)) == len(at)


def test_colour_steps_grow_with_paused_time() -> None:
    assert [level(ratio) for ratio in (0, 0.005, 0.02, 0.1, 0.3, 0.9)] == [0, 1, 2, 3, 4, 5]


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=5000))
def test_thinning_a_line_keeps_its_extremes_and_its_ends(values: list[float]) -> None:
    line = Series("l", tuple(float(row) for row in range(len(values))), tuple(values))
    thinned = thin(line)
    assert len(thinned.x) <= MAX_POINTS + 3
    assert max(thinned.y) == max(line.y)
    assert min(thinned.y) == min(line.y)
    assert (thinned.x[0], thinned.x[-1]) == (line.x[0], line.x[-1])


@given(st.lists(st.tuples(st.floats(1, 1e12), st.floats(0, 1e12)), min_size=1, max_size=30), st.booleans())
def test_every_point_of_a_chart_lies_inside_its_frame(points: list[tuple[float, float]], log_x: bool) -> None:
    points.sort()
    line = Series("l", tuple(x for x, _ in points), tuple(y for _, y in points))
    svg = chart_svg(Chart("c", "C", "x", Unit.NS, "y", Unit.BYTES, (line,), log_x=log_x))
    assert "nan" not in svg
    found = re.search(r'points="([^"]*)"', svg)
    assert found is not None
    for pair in found[1].split():
        x, y = map(float, pair.split(","))
        assert 73 <= x <= 743
        assert 21 <= y <= 241


def test_a_chart_without_points_says_so() -> None:
    assert "nothing was recorded" in chart_svg(Chart("c", "C", "x", Unit.NS, "y", Unit.BYTES, ()))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, Unit.NS, "-"),
        (True, Unit.COUNT, "yes"),
        (0, Unit.NS, "0"),
        (1_500, Unit.NS, "1.5us"),
        (1_048_576, Unit.BYTES, "1.049MB"),
        (0.256, Unit.RATIO, "25.6%"),
        (1234567, Unit.COUNT, "1,234,567"),
        (14.06, Unit.TIMES, "14.1x"),
        (1764.1, Unit.TIMES, "1,764x"),
        (10**11, Unit.BPS, "100Gbit/s"),
    ],
)
def test_raw_numbers_read_well(value: float | None, unit: Unit, text: str) -> None:
    assert show(value, unit) == text


def test_json_keeps_raw_numbers_and_every_row() -> None:
    found = to_json(document())
    assert len(found["all"]["queues"]) == MAX_ROWS + 7
    assert found["all"]["queues"][3]["peak_bytes"] == 3_000
    assert math.isclose(found["all"]["queues"][3]["share_ratio"], 0.03)
    assert found["all"]["trees"][0]["paused_ns"] == 1500
    assert json.loads(json.dumps(found)) == found


def test_text_has_verdict_tables_and_trees_and_no_escape_codes_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    print_document(document(), console_for(sys.stdout))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "└── child" in out
    assert f"{NASTY}:0" in out
    assert "7 more rows: --json" in out
    assert max(len(line) for line in out.splitlines()) <= PIPE_WIDTH


@pytest.mark.parametrize(
    ("text", "across"),
    [("shut the port of the host", False), ("docs/runbooks/FabricBrokenNic.md", True), ("15 hosts paused, " * 8, True)],
)
def test_a_tile_of_much_text_or_of_a_long_word_goes_across_the_page(text: str, across: bool) -> None:
    page = to_html(
        Document("t", "d", Status.GOOD, "v", (), (), answer=Answer(Status.GOOD, "a", (Fact("f", "F", text),)))
    )
    assert ('<div class="neutral line"><dt>F</dt>' in page) is across


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("leaf1:Ethernet3/2", "leaf1:<wbr>Ethernet3/<wbr>2"),
        ("a:e1--b:e2", "a:<wbr>e1--<wbr>b:<wbr>e2"),
        ("link_down", "link_<wbr>down"),
        ("a sentence: it wraps", "a sentence: it wraps"),
        ("host1", "host1"),
    ],
)
def test_a_name_in_a_table_is_broken_between_its_parts_alone(name: str, shown: str) -> None:
    table = Table("t", "", (Column("name", "Name"),), ((name,),), "")
    page = to_html(Document("d", "", Status.GOOD, "", (), (Section("s", "S", (table,)),)))
    assert f">{shown}</td>" in page
