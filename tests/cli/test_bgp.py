"""fabric bgp: sessions and routes of a scenario at a moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.main import main

ROOT = Path(__file__).parents[2]
CRASH = str(ROOT / "scenarios" / "bgp-spine-failure.yml")
"""spine1 hangs at 1 ms with its carrier kept; BFD finds out 3 ms later."""
INCAST = str(ROOT / "scenarios" / "incast.yml")


def table(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["bgp", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def text(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["bgp", *words]) == 0
    return " ".join(capsys.readouterr().out.split())


def error(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["bgp", *words, "--json"]) == 2
    found = json.loads(capsys.readouterr().out)["error"]
    assert isinstance(found, dict)
    return found


def used(found: dict[str, Any], prefix: str) -> set[str]:
    return {
        path["nexthops"][0]["hostname"]
        for path in found["routes"][prefix]
        if path.get("bestpath") or path.get("multipath")
    }


def test_sessions_are_up_before_a_crash_and_one_is_lost_at_every_leaf_after_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before, after = table(capsys, "summary", CRASH), table(capsys, "summary", CRASH, "--at", "5ms")
    assert set(before) == {f"{kind}{n}" for kind in ("leaf", "spine") for n in range(1, 5)}
    assert {node: it["ipv4Unicast"]["failedPeers"] for node, it in before.items()} == dict.fromkeys(before, 0)
    assert "spine1" not in after
    assert {node: it["ipv4Unicast"]["failedPeers"] for node, it in after.items()} == {
        node: int(node.startswith("leaf")) for node in after
    }
    shown = text(capsys, "summary", CRASH, "--at", "5ms")
    assert "4 of 28 neighbours are not established." in shown
    assert "spine1 does not answer" in shown


def test_a_hung_spine_stays_in_the_multipath_set_until_bfd_has_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    spines = {}
    for moment in ("0", "3ms", "6ms"):
        spines[moment] = used(table(capsys, "routes", CRASH, "--node", "leaf1", "--at", moment), "10.0.0.3/32")
    everyone = {f"spine{n}" for n in range(1, 5)}
    assert spines == {"0": everyone, "3ms": everyone, "6ms": everyone - {"spine1"}}


def test_one_prefix_is_explained_path_by_path_with_rules(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text(capsys, "routes", "10.0.0.3/32", "--node", "leaf1", CRASH)
    assert shown.count("multipath, after") == 3
    assert "RFC" in shown
    route = table(capsys, "routes", "10.0.0.3/32", "--node", "leaf1", CRASH)
    assert route["prefix"] == "10.0.0.3/32"
    assert len(route["paths"]) == 4
    assert table(capsys, "routes", "192.0.2.0/24", CRASH, "--node", "leaf1") == {}


def test_a_drained_spine_loses_by_local_preference_and_says_its_community(capsys: pytest.CaptureFixture[str]) -> None:
    """RFC 8326: marked routes get LOCAL_PREF 0 at the neighbours, before the sessions end."""
    drain = str(ROOT / "scenarios" / "bgp-drain.yml")
    shown = text(capsys, "routes", "10.0.0.2/32", drain, "--node", "leaf1", "--at", "2ms")
    assert "LocPrf 0, graceful-shutdown lost by Local Pref RFC 4271 section 9.1.1" in shown
    route = table(capsys, "routes", "10.0.0.2/32", drain, "--node", "leaf1", "--at", "2ms")
    assert [path["community"]["list"] for path in route["paths"] if "community" in path] == [["gracefulShutdown"]]
    failed = {
        moment: table(capsys, "summary", drain, "--node", "leaf1", "--at", moment)["ipv4Unicast"]["failedPeers"]
        for moment in ("2ms", "5ms")
    }
    assert failed == {"2ms": 0, "5ms": 1}


def test_neighbours_tell_timers_and_counters(capsys: pytest.CaptureFixture[str]) -> None:
    found = table(capsys, "neighbors", CRASH, "--node", "spine2")
    assert {peer["bgpState"] for peer in found.values()} == {"Established"}
    assert {peer["hostname"] for peer in found.values()} == {"leaf1", "leaf2", "leaf3", "leaf4"}
    assert all(peer["messageStats"]["totalSent"] > 0 for peer in found.values())
    assert "Hold time, ms 9000" in text(capsys, "neighbors", CRASH, "--node", "spine2")


def test_a_scenario_without_control_plane_says_so_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    found = error(capsys, "summary", INCAST)
    assert found["text"] == "incast has no control plane: its routing is shortest-path"
    assert "routing: bgp" in found["hint"]
    assert set(table(capsys, "summary", INCAST, "--set", "routing=bgp")) >= {"leaf1", "spine1"}


def test_wrong_input_names_the_nearest_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    [problem] = error(capsys, "summary", CRASH, "--node", "lef1")["problems"]
    assert (problem["path"], problem["text"]) == ("--node", "no switch is called 'lef1'")
    assert (problem["id"], problem["hint"]) == ("no-switch-is-called", "did you mean 'leaf1'?")
    assert "does not answer at 5ms" in error(capsys, "summary", CRASH, "--node", "spine1", "--at", "5ms")["text"]
    assert error(capsys, "routes", "10.0.0.3/33", CRASH)["problems"][0]["path"] == "PREFIX"
    assert error(capsys, "routes", "2001:db8::/32", CRASH)["problems"][0]["path"] == "PREFIX"
    assert error(capsys, "summary", CRASH, "--at", "soon")["problems"][0]["path"] == "--at"


def test_routes_of_the_underlay_and_what_is_behind_them_are_shown_by_fabric_route(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["route", "leaf1", "host9", CRASH, "--at", "6ms"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Written by EVPN since" in shown
    assert "is behind VTEP 10.0.0.3 (leaf3)" in shown
    assert shown.count("multipath, after") == 2
    assert main(["route", "leaf1", CRASH, "--at", "2ms", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["10.0.0.3/32"][0]["protocol"] == "bgp"
    assert len(found["10.0.0.3/32"][0]["nexthops"]) == 4
    assert found["10.128.0.0/31"][0]["protocol"] == "connected"
    assert main(["route", "leaf1", "10.0.0.3", CRASH, "--at", "2ms"]) == 0
    assert "other end loses every frame" in capsys.readouterr().out


def test_a_word_that_is_no_prefix_is_said_to_be_no_ipv4_prefix_and_who_asks_for_hosts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    [host] = error(capsys, "routes", "host1", CRASH)["problems"]
    assert host["text"] == "'host1' is not an IPv4 prefix"
    assert "`fabric route NODE HOST SOURCE`" in host["hint"]
    assert error(capsys, "routes", "10.0.0.1/24", CRASH)["problems"][0]["text"] == "10.0.0.1/24 has host bits set"
