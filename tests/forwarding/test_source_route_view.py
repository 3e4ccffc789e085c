"""`fabric path SRC DST` with source routes, the segments in it, and the order of turns."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fabric import shipped
from fabric.cli.main import main
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.topology.source_routes import _turn
from fabric.wire.usid import MOST_SEGMENTS, address, destination


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["path", "host1", "host9", "source-routes", "--json", *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document["routes"]["routes"]
    return found


def test_a_list_of_segments_is_shifted_by_one_at_each_switch() -> None:
    """Two switches send by their ports 3 and 17; the NIC is that of the fifth host."""
    assert destination([3, 17], 4) == "fcbb:bbbb:e003:e011:5::"
    assert destination([3, 17], 4, passed=1) == "fcbb:bbbb:e011:5::"
    assert destination([3, 17], 4, passed=2) == "fcbb:bbbb:5::"


def test_six_segments_fill_an_address_and_seven_do_not_fit() -> None:
    assert address([1] * MOST_SEGMENTS) == "fcbb:bbbb:1:1:1:1:1:1"
    with pytest.raises(ValueError, match="7 segments do not fit one address of 6"):
        address([1] * (MOST_SEGMENTS + 1))


@pytest.mark.parametrize(
    ("counts", "places"),
    [
        ([2, 2], [(0, 0), (1, 0), (0, 1), (1, 1)]),
        ([1, 3], [(0, 0), (1, 0), (1, 1), (1, 2)]),
        ([3, 1, 2], [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2)]),
    ],
)
def test_things_with_unlike_numbers_of_turns_take_them_in_turn(
    counts: list[int], places: list[tuple[int, int]]
) -> None:
    assert [_turn(counts, number) for number in range(sum(counts))] == places
    with pytest.raises(IndexError):
        _turn(counts, sum(counts))


def test_every_route_is_listed_with_its_destination_and_planes_alternate(capsys: pytest.CaptureFixture[str]) -> None:
    document = shown(capsys)
    routes = rows(document)
    assert [row["number"] for row in routes] == list(range(1, 9))
    assert len({row["destination"] for row in routes}) == 8
    planes = [row["path"].split(" → ")[2].split(":")[0] for row in routes]
    assert planes == [f"p1-spine{number}" for number in (1, 2, 3, 4, 1, 2, 3, 4)]
    assert {row["state"] for row in routes} == {"up"}
    assert document["verdict"] == "8 routes: each packet takes the next of 8."
    assert "queue_pairs" not in routes[0]


def test_a_dead_route_is_lost_until_it_is_withdrawn(capsys: pytest.CaptureFixture[str]) -> None:
    lost, after = shown(capsys, "--at", "299us"), shown(capsys, "--at", "300us")
    assert "2 of 8 packets are lost, as at p1-leaf1:Ethernet16" in lost["verdict"]
    assert after["verdict"] == "8 routes: each packet takes the next of 6; 2 withdrawn."
    states = [row["state"] for row in rows(after)]
    assert [state.startswith("withdrawn") for state in states] == [number % 4 == 0 for number in range(8)]


def test_a_second_cable_is_withdrawn_after_its_own_delay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shipped.scenario(Path("source-routes")).read_text(encoding="utf-8")
    [first] = [line for line in text.splitlines() if line.startswith("  - {kind: link-down")]
    second = first.replace("p1-spine1", "p1-spine2").replace("200us", "290us")
    (tmp_path / "two.yml").write_text(text.replace(first, f"{first}\n{second}"), encoding="utf-8")
    for moment, withdrawn in (("299us", 0), ("300us", 2), ("389us", 2), ("390us", 4)):
        assert main(["path", "host1", "host9", str(tmp_path / "two.yml"), "--json", "--at", moment]) == 0
        states = [row["state"] for row in rows(json.loads(capsys.readouterr().out))]
        assert sum(state.startswith("withdrawn") for state in states) == withdrawn


def test_ports_that_no_switch_hashes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "host1", "host9", "source-routes", "--sport", "50000", "--dport", "4791"]) == 2
    shown = capsys.readouterr().err
    assert "--sport: has no effect where NICs choose paths" in shown
    assert "--dport: has no effect where NICs choose paths" in shown


def test_the_queue_pair_that_keeps_a_route_is_counted_there(capsys: pytest.CaptureFixture[str]) -> None:
    by_pair = ("--set", "transport.source_routes.choice=queue-pair")
    before, after = (rows(shown(capsys, *by_pair, "--at", moment)) for moment in ("0us", "300us"))
    assert sum(row["queue_pairs"] for row in before) == sum(row["queue_pairs"] for row in after) == 1
    assert after[0]["queue_pairs"] == after[4]["queue_pairs"] == 0


def test_the_moments_of_change_are_those_of_the_cable_and_of_the_nics(capsys: pytest.CaptureFixture[str]) -> None:
    assert "200us, 300us" in shown(capsys)["subtitle"]


def test_a_route_of_six_switches_is_refused() -> None:
    switches = [f"s{number}" for number in range(1, 7)]
    cables = [*pairwise(switches), ("h1", "s1"), ("h2", "s6")]
    tree: dict[str, Any] = {
        "name": "chain",
        "topology": {
            "kind": "custom",
            "nodes": [{"name": name, "role": "switch"} for name in switches]
            + [{"name": name, "role": "host"} for name in ("h1", "h2")],
            "links": [{"a": a, "b": b, "rate": "100G", "cable": "3m"} for a, b in cables],
        },
        "switches": {"load_balancing": "source-routed"},
        "workload": [{"kind": "messages", "messages": [{"src": "h1", "dst": "h2", "size": "1KB"}]}],
        "run": {"duration": "1ms"},
    }
    with pytest.raises(InputErrors, match="the route from h1 to h2 passes 6 switches; one address holds 5"):
        compile_scenario(build_scenario(tree, Path("chain.yml")))


def two_ports(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["path", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_routes_of_all_nic_ports_are_listed_in_turn(capsys: pytest.CaptureFixture[str]) -> None:
    document = two_ports(capsys, "host9", "host1", "source-routes-planes")
    ports = [row["path"].split(" → ")[1].split(":")[0] for row in rows(document)]
    assert ports == ["tor2a", "tor2b"] * 4
    assert document["verdict"] == "8 routes over 2 NIC ports: each packet takes the next of 8."
    alone = two_ports(capsys, "host9", "host1", "source-routes-planes", "--nic", "eth1")
    assert [row["path"].split(" → ")[1].split(":")[0] for row in rows(alone)] == ["tor2b"] * 4


def test_a_dead_port_is_lost_to_others_until_it_is_withdrawn_and_not_used_by_its_own_nic(
    capsys: pytest.CaptureFixture[str],
) -> None:
    towards, own = (
        two_ports(capsys, *ends, "source-routes-planes", "--at", "220us")
        for ends in (("host9", "host1"), ("host1", "host9"))
    )
    assert "4 of 8 packets are lost, as at tor1a:Ethernet0" in towards["verdict"]
    assert own["verdict"] == "8 routes over 2 NIC ports: each packet takes the next of 4."
    assert sum(row["state"].startswith("not used; host1:eth0") for row in rows(own)) == 4
    after = two_ports(capsys, "host9", "host1", "source-routes-planes", "--at", "250us")
    assert after["verdict"] == "8 routes over 2 NIC ports: each packet takes the next of 4; 4 withdrawn."


def test_a_queue_pair_is_counted_at_the_port_that_it_keeps(capsys: pytest.CaptureFixture[str]) -> None:
    by_pair = ("--set", "transport.source_routes.choice=queue-pair", "--at", "250us")
    both = rows(two_ports(capsys, "host9", "host1", "source-routes-planes", *by_pair))
    alone = rows(two_ports(capsys, "host9", "host1", "source-routes-planes", *by_pair, "--nic", "eth1"))
    assert sum(row["queue_pairs"] for row in both) == sum(row["queue_pairs"] for row in alone) == 1
