"""Forms of a link that people write in containerlab files: containerlab #1643, #378 and PRs #2791, #294, #1402."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from fabric.topology.formats.containerlab import from_containerlab

FIELD: Final = Path(__file__).parents[1] / "data" / "field" / "27-containerlab-link-forms"


@pytest.mark.parametrize(("name", "left_out"), [("lab.clab.yml", 5), ("b.clab.yml", 2), ("c.clab.yml", 0)])
def test_cables_between_nodes_are_read_and_links_out_of_the_lab_are_named(
    name: str, left_out: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        _, nodes, edges = from_containerlab(FIELD / name)
    assert len(edges) == 4
    assert Counter(str(it.attributes["role"]) for it in nodes) == {"leaf": 2, "spine": 1, "host": 2}
    named = [record.__dict__["links"].count("topology.links[") for record in caplog.records]
    assert sum(named) == left_out


def test_a_node_has_the_kind_of_its_group(tmp_path: Path) -> None:
    path = tmp_path / "lab.clab.yml"
    path.write_text(
        "name: g\ntopology:\n  defaults: {kind: nokia_srlinux}\n  groups:\n    server: {kind: linux, image: alpine}\n"
        "    routers: {kind: linux, image: frr, labels: {fabric-role: spine}}\n"
        "  nodes: {a: {group: server}, b: {group: routers}, c: {}}\n  links: [{endpoints: ['a:eth1', 'b:eth1']}]\n",
        encoding="utf-8",
    )
    _, nodes, _ = from_containerlab(path)
    assert {it.name: it.attributes["role"] for it in nodes} == {"a": "host", "b": "spine", "c": "switch"}
