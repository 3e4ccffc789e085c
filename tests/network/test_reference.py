"""Recorded FRR labs, table by table: every switch, every stage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric.lab.compare import count_rows, differences
from fabric.lab.modelled import model
from fabric.show.evpn import bgp_evpn_vni
from tests.network.lab import distinguishers, labs, recorded, simulate


@pytest.mark.parametrize("lab", labs(), ids=lambda lab: lab.name)
def test_every_table_of_every_switch_is_frrs_at_every_stage(lab: Path) -> None:
    stages = [stage["stage"] for stage in json.loads((lab / "stages.json").read_text())]
    seen = []
    for stage, network in simulate(lab):
        seen.append(stage)
        real, ours = recorded(lab, stage), model(network)
        assert set(real) == set(ours)
        assert count_rows(real) > 20 * len(real)
        assert [str(row) for row in differences(real, ours)] == [], stage
        for switch in network.switches:
            mine = {} if switch.vtep is None else bgp_evpn_vni(switch.vtep)
            assert {vni: row["rd"] for vni, row in mine.items() if vni.isdecimal()} == distinguishers(
                lab, stage, switch.router.name
            )
    assert seen == stages
