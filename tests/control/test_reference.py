"""Recorded FRR labs, table by table: every switch, every stage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.control.lab import comparable, labs, play, tables

TABLES = ("bgp_ipv4", "rib", "kernel_fib", "evpn", "bgp_vni", "import_rt", "evpn_vni", "evpn_mac", "evpn_arp",
          "kernel_fdb", "kernel_neigh")


NONE = pytest.param(None, marks=pytest.mark.skip(reason="no recorded lab is here"))


@pytest.mark.parametrize("lab", labs() or [NONE], ids=lambda lab: lab.name if lab else "none")
def test_every_table_of_every_switch_is_frrs_at_every_stage(lab: Path) -> None:
    recorded = json.loads((lab / "distilled.json").read_text())
    seen = []
    for stage, network in play(lab):
        seen.append(stage)
        for name, expected in recorded[stage].items():
            ours, theirs = comparable(tables(network, name)), comparable(expected)
            for table in TABLES:
                assert ours[table] == theirs[table], (stage, name, table)
    assert seen == list(recorded)
