"""The recorded FRR laboratory, stage by stage: IPv4 tables, next-hop sets, counters, and their JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.controlplane.bgp.afi import IPV4_UNICAST, address_text, prefix_key
from fabric.controlplane.bgp.attributes import path_text
from fabric.show import bgp as frr_bgp
from tests.bgp.wiring import Wiring, leaf_spine, originate_loopbacks

SWITCHES = ("spine1", "spine2", "leaf1", "leaf2")
STAGES = ("0-initial", "1-link-down", "2-link-restored", "6-spine1-down")


def laboratory(stage: str) -> Wiring:
    """Two spines and two leaves, simulated up to `stage`."""
    wiring = leaf_spine(2, 2)
    originate_loopbacks(wiring)
    wiring.start()
    wiring.settle()
    if stage == STAGES[0]:
        return wiring
    wiring.cut("spine1", "10.1.1.1")
    wiring.settle()
    if stage == STAGES[1]:
        return wiring
    wiring.mend("spine1", "10.1.1.1")
    wiring.settle()
    if stage == STAGES[2]:
        return wiring
    for leaf in ("10.1.1.1", "10.1.2.1"):
        wiring.cut("spine1", leaf)
    wiring.settle()
    return wiring


@pytest.fixture(scope="session")
def distilled(frr: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((frr / "2x2" / "distilled.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("stage", STAGES)
def test_ipv4_tables_are_those_of_frr(distilled: dict[str, Any], stage: str) -> None:
    wiring = laboratory(stage)
    compared = 0
    for switch in SWITCHES:
        if switch not in distilled[stage]:
            continue
        speaker = wiring.speakers[switch]
        mine = {}
        for key in speaker.table(IPV4_UNICAST).group_of:
            selection = speaker.selection(IPV4_UNICAST, key)
            assert selection is not None
            mine[IPV4_UNICAST.text(key)] = sorted(
                (
                    path.source.name or "self",
                    address_text(path.next_hop),
                    path_text(path.attributes.as_path),
                    path.attributes.med,
                    path.weight,
                    path in selection.multipath,
                )
                for path in speaker.candidates(IPV4_UNICAST, key)
            )
        theirs = {
            prefix: sorted(
                (
                    path["peer"],
                    path["nexthop"],
                    path["path"],
                    path["med"],
                    path["weight"],
                    path["best"] or path["multipath"],
                )
                for path in paths
            )
            for prefix, paths in distilled[stage][switch]["bgp_ipv4"].items()
        }
        assert mine == theirs, switch
        compared += len(theirs)
    assert compared >= 8


def raw(frr: Path, switch: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((frr / "2x2" / "0-initial" / f"{switch}.json").read_text(encoding="utf-8"))
    return found["frr"]  # type: ignore[no-any-return]


VOLATILE = {"version", "tableVersion", "bestpath", "multipath", "selectionReason", "lastUpdate"}


def settled(paths: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Paths without the fields that depend on the order of arrival."""
    return sorted(
        ({name: value for name, value in path.items() if name not in VOLATILE} for path in paths),
        key=lambda path: str(path.get("peerId", path.get("peer"))),
    )


@pytest.mark.parametrize("switch", SWITCHES)
def test_the_table_in_json_is_frrs(frr: Path, switch: str) -> None:
    theirs, mine = raw(frr, switch)["bgp_ipv4"], frr_bgp.ipv4(laboratory("0-initial").speakers[switch])
    assert set(theirs) == set(mine)
    assert set(theirs["routes"]) == set(mine["routes"])
    for prefix, paths in theirs["routes"].items():
        assert settled(mine["routes"][prefix]) == settled(paths), prefix
        assert sum(path.get("bestpath", False) for path in mine["routes"][prefix]) == 1
        assert {path["selectionReason"] for path in mine["routes"][prefix] if "bestpath" in path} <= {
            "First path received",
            "Router ID",
            "Older Path",
        }


@pytest.mark.parametrize("switch", SWITCHES)
def test_prefix_counters_are_frrs_also_for_routes_sent_back(frr: Path, switch: str) -> None:
    wiring = laboratory("0-initial")
    mine = frr_bgp.summary(wiring.speakers[switch], wiring.now_ns)["ipv4Unicast"]
    theirs = raw(frr, switch)["bgp_summary"]["ipv4Unicast"]
    for name, row in theirs["peers"].items():
        for field in ("pfxRcd", "pfxSnt", "state", "hostname", "remoteAs"):
            assert mine["peers"][name][field] == row[field], field
    assert mine["bestPath"] == theirs["bestPath"]


def test_spines_of_different_as_open_valleys_as_measured() -> None:
    """With distinct spine AS numbers spine1 reaches spine2's loopback through both leaves."""
    wiring = leaf_spine(2, 2, distinct_spines=True)
    originate_loopbacks(wiring)
    wiring.start()
    wiring.settle()
    selection = wiring.speakers["spine1"].selection(IPV4_UNICAST, prefix_key("10.255.0.2/32"))
    assert selection is not None
    assert sorted(path_text(path.attributes.as_path) for path in selection.multipath) == ["65101 65001", "65102 65001"]
