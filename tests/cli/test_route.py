"""fabric route: a switch's table at a moment, in FRR's shape, with reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.main import main
from tests.recordings import FRR

ROOT = Path(__file__).parents[2]
FAILURE = str(ROOT / "scenarios" / "link-failure.yml")
REFERENCE = FRR / "2x2" / "0-initial" / "leaf1.json"


def table(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["route", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def text(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["route", *words]) == 0
    return " ".join(capsys.readouterr().out.split())


def problems(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str]]:
    assert main(["route", *words, "--json"]) == 2
    return [(it["path"], it["hint"]) for it in json.loads(capsys.readouterr().out)["error"]["problems"]]


def interfaces(found: dict[str, Any], prefix: str) -> list[str]:
    return [hop["interfaceName"] for hop in found[prefix][0]["nexthops"]]


def test_every_host_is_covered_once_its_own_by_32s_and_others_by_their_subnet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = table(capsys, "leaf1", FAILURE)
    assert [prefix for prefix, (route,) in found.items() if route["protocol"] == "connected"] == [
        "10.64.0.2/32",
        "10.64.0.3/32",
        "10.64.0.4/32",
        "10.64.0.5/32",
    ]
    assert [prefix for prefix, (route,) in found.items() if route["protocol"] == "shortest-path"] == [
        "10.64.1.0/24",
        "10.64.2.0/24",
        "10.64.3.0/24",
    ]
    assert interfaces(found, "10.64.1.0/24") == ["Ethernet16", "Ethernet20", "Ethernet24", "Ethernet28"]


def test_a_failed_cable_leaves_the_route_at_the_reroute_and_returns_after_the_repair(
    capsys: pytest.CaptureFixture[str],
) -> None:
    active = {}
    for moment in ("100us", "300us", "800us", "3ms"):
        [route] = table(capsys, "leaf1", "host9", "--at", moment, FAILURE).values()
        active[moment] = [hop["active"] for hop in route[0]["nexthops"]]
    assert active == {"100us": [True] * 4, "300us": [False, True, True, True], "800us": [True] * 3, "3ms": [True] * 4}
    between = text(capsys, "leaf1", "host9", "--at", "300us", FAILURE)
    assert "Ethernet16: cable is down, and the route still leads there" in between
    later = text(capsys, "leaf1", "10.64.2.3", FAILURE, "--at", "800us")
    assert "Shortest path since 700us" in later
    assert "Left out: Ethernet16, whose cable is down." in later


def test_a_route_fault_is_told_from_a_shortest_path(capsys: pytest.CaptureFixture[str]) -> None:
    loop = str(ROOT / "scenarios" / "fidelity" / "v13-loop.yml")
    assert "A route fault of the scenario wrote it" in text(capsys, "s1", "target", loop, "--at", "1s")


def test_keys_of_routes_and_next_hops_are_those_that_frr_prints(capsys: pytest.CaptureFixture[str]) -> None:
    recorded = json.loads(REFERENCE.read_text(encoding="utf-8"))["frr"]["ip_route"]
    theirs = {route["protocol"]: route for routes in recorded.values() for route in routes}
    ours = {route["protocol"]: route for routes in table(capsys, "leaf1", FAILURE).values() for route in routes}
    never = {"internalStatus", "internalFlags", "nexthopGroupId", "installedNexthopGroupId"}  # zebra's own handles
    for mine, its in ((ours["connected"], theirs["connected"]), (ours["shortest-path"], theirs["bgp"])):
        assert set(mine) == set(its) - never
        assert {type(mine[key]) for key in mine} == {type(its[key]) for key in mine}
        assert set(mine["nexthops"][0]) == set(its["nexthops"][0])


def test_wrong_words_name_the_nearest_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert problems(capsys, "lef1", FAILURE) == [("NODE", "did you mean 'leaf1'?")]
    assert problems(capsys, "host1", FAILURE)[0][0] == "NODE"
    assert problems(capsys, "leaf1", "hst9", FAILURE) == [("PREFIX", "did you mean 'host9'?")]
    assert problems(capsys, "leaf1", "192.0.2.1", FAILURE)[0][0] == "PREFIX"
    assert problems(capsys, "leaf1")[0][0] == "SOURCE"


def test_a_switch_that_hangs_is_said_to_lose_every_frame(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = str(Path(__file__).parents[2] / "scenarios" / "bgp-spine-failure.yml")
    for words in (["spine1"], ["spine1", "host9"]):
        for at, lost in (("500us", False), ("2ms", True)):
            assert main(["route", *words, scenario, "--at", at]) == 0
            assert ("Every frame that arrives at spine1 is lost" in capsys.readouterr().out) == lost
    assert main(["route", "leaf1", scenario, "--at", "2ms"]) == 0
    assert "Every frame" not in capsys.readouterr().out


def test_a_moment_before_the_start_is_said_to_be_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route", "leaf1", FAILURE, "--at", "-1ms"]) == 2
    assert "'-1ms' is not a time" in capsys.readouterr().err


def test_since_has_a_unit_or_is_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert text(capsys, "leaf1", "host9", FAILURE).split()[-1] == "start"
    assert text(capsys, "leaf1", "host9", FAILURE, "--at", "800us").split()[-1] == "700us"
