from __future__ import annotations

from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from fabric.errors import TopologyError
from fabric.topology.draw import draw
from fabric.topology.layout import PITCH, layout
from fabric.topology.model import Fabric
from tests.topology.conftest import fabric_of

pytest.importorskip("matplotlib", reason="drawing needs the extra `plot`")


def test_every_switch_has_a_place_of_its_own(small: Fabric) -> None:
    places = layout(small)
    assert set(places.switch_at) == {switch.id for switch in small.switches}
    for (xa, ya), (xb, yb) in combinations(places.switch_at.values(), 2):
        assert ya != yb or abs(xa - xb) >= 0.9 * PITCH


def test_every_host_is_in_one_block_and_blocks_do_not_overlap(small: Fabric) -> None:
    blocks = layout(small).blocks
    assert sorted(host.id for block in blocks for host in block.hosts) == [host.id for host in small.hosts]
    for a, b in combinations(blocks, 2):
        assert abs(a.x - b.x) >= (a.width + b.width) / 2


def test_the_svg_names_every_switch_and_is_the_same_every_time(small: Fabric, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        draw(small, tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    words = {element.text for element in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314
    assert {switch.name for switch in small.switches} <= words


def test_hosts_of_a_large_fabric_are_counted_not_drawn(tmp_path: Path) -> None:
    fabric = fabric_of(kind="leaf-spine", leaves=16, spines=4, hosts_per_leaf=16, host_rate="100G", fabric_rate="400G")
    draw(fabric, tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text().count("16 hosts") == 16


def test_a_png_is_a_png(leaf_spine: Fabric, tmp_path: Path) -> None:
    draw(leaf_spine, tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_another_ending_is_refused_with_those_that_work(leaf_spine: Fabric, tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r"\.svg, \.png, \.pdf"):
        draw(leaf_spine, tmp_path / "x.gif")
