"""fabric evpn: the overlay of a scenario at a moment, and the proof that tenants are apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.main import main

ROOT = Path(__file__).parents[2]
OVERLAY = str(ROOT / "scenarios" / "bgp-spine-failure.yml")
APART = "{name: blue, vni: 10100, hosts: ['host[1-9]']}, {name: red, vni: 10200, hosts: ['host1[0-6]']}"
WITHIN = "{kind: messages, messages: [{src: host1, dst: host5, size: 4KB}]}"
TENANTS = ("--set", f"vxlan={{tenants: [{APART}]}}", "--set", f"workload=[{WITHIN}]", "--set", "expectations=[]")


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["evpn", *words, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return code, found


def test_every_leaf_floods_to_every_other_and_knows_every_host(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer(capsys, "vni", OVERLAY)
    assert code == 0
    assert set(found) == {"leaf1", "leaf2", "leaf3", "leaf4"}
    for table in found.values():
        [vni] = table.values()
        assert (vni["numMacs"], vni["numArpNd"], len(vni["remoteVteps"])) == (16, 16, 3)


def test_macs_and_bindings_are_local_at_one_leaf_and_remote_at_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    _, macs = answer(capsys, "mac", OVERLAY)
    _, arps = answer(capsys, "arp", OVERLAY)
    kinds: dict[str, list[str]] = {}
    for table in macs.values():
        for mac, entry in table["10000"]["macs"].items():
            kinds.setdefault(mac, []).append(entry["type"])
    assert {tuple(sorted(kind)) for kind in kinds.values()} == {("local", "remote", "remote", "remote")}
    assert len(kinds) == 16
    assert {len(table["10000"]) - 1 for table in arps.values()} == {16}


def test_routes_can_be_asked_by_type(capsys: pytest.CaptureFixture[str]) -> None:
    _, every = answer(capsys, "routes", OVERLAY, "--node", "leaf1")
    _, flood = answer(capsys, "routes", OVERLAY, "--node", "leaf1", "--type", "3")
    assert (every["numPrefix"], flood["numPrefix"]) == (36, 4)
    for routes in flood.values():
        if isinstance(routes, dict):
            assert all(name == "rd" or name.startswith("[3]") for name in routes)
    assert main(["evpn", "routes", OVERLAY, "--node", "leaf1", "--type", "3"]) == 0
    assert "[3]:[0]:[32]:[10.0.0.4]" in capsys.readouterr().out


def test_tenants_with_vnis_of_their_own_are_proved_apart(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer(capsys, "check-isolation", OVERLAY, *TENANTS)
    assert code == 0
    assert (found["scope"]["proved"], found["scope"]["tenants"]) == (True, 2)
    assert found["breaches"]["breaches"] == []


def test_tables_are_those_of_the_moment(capsys: pytest.CaptureFixture[str]) -> None:
    paths = {}
    for moment in ("0", "6ms"):
        _, found = answer(capsys, "routes", OVERLAY, "--node", "leaf1", "--type", "3", "--at", moment)
        paths[moment] = found["totalPrefix"]
    assert paths == {"0": 13, "6ms": 10}


def test_one_mac_can_be_followed_through_every_table(capsys: pytest.CaptureFixture[str]) -> None:
    mover, moves = "02:00:00:00:00:00", str(ROOT / "scenarios" / "mac-move.yml")
    for table, key in (("mac", "macs"), ("arp", None)):
        _, found = answer(capsys, table, moves, "--match", mover)
        for part in (it["10000"] for it in found.values()):
            entries = part[key] if key else {ip: row for ip, row in part.items() if isinstance(row, dict)}
            assert len(entries) == 1
    assert main(["evpn", "routes", moves, "--match", mover, "--node", "tor1a", "--at", "11ms"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("MM:1") == 2
    assert "best: Router ID" in shown
    assert "lost by Router" in shown
    _, found = answer(capsys, "routes", moves, "--match", "no such route", "--node", "tor1a")
    assert found == {"numPrefix": 0, "totalPrefix": 0}


def test_wrong_input_is_refused_with_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer(capsys, "vni", OVERLAY, "--set", "vxlan=null")
    assert code == 2
    assert "no overlay" in found["error"]["text"]
    code, found = answer(capsys, "vni", OVERLAY, "--node", "spine2")
    assert code == 2
    assert "has no VTEP" in found["error"]["text"]
    code, found = answer(capsys, "vni", OVERLAY, "--node", "leef2")
    assert found["error"]["problems"][0]["hint"] == "did you mean 'leaf2'?"
    code, found = answer(capsys, "mac", str(ROOT / "scenarios" / "incast.yml"))
    assert "no control plane" in found["error"]["text"]


def test_a_mac_that_moves_twice_counts_two_on_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    """RFC 7432 section 15: each move raises the sequence number by one."""
    mover, moves = "02:00:00:00:00:00", str(ROOT / "scenarios" / "mac-move.yml")
    seen = {}
    for moment in ("0", "11ms", "30ms"):
        _, found = answer(capsys, "mac", moves, "--at", moment)
        entries = {node: table["10000"]["macs"][mover] for node, table in found.items()}
        seen[moment] = {node: (it["type"], it["localSequence"], it["remoteSequence"]) for node, it in entries.items()}
    assert seen["0"] == {"tor1a": ("local", 0, 0), **dict.fromkeys(("tor1b", "tor2a", "tor2b"), ("remote", 0, 0))}
    assert seen["11ms"] == {
        "tor1a": ("remote", 0, 1),
        "tor1b": ("local", 1, 0),
        **dict.fromkeys(("tor2a", "tor2b"), ("remote", 0, 1)),
    }
    assert seen["30ms"] == {
        "tor1a": ("local", 2, 1),
        "tor1b": ("remote", 1, 2),
        **dict.fromkeys(("tor2a", "tor2b"), ("remote", 0, 2)),
    }
