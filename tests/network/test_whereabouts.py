"""Hosts that leave and come back after they moved: what happens, happens where the host is then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import ControlConfig
from fabric.controlplane.network.network import Network
from fabric.errors import FabricError
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from tests.network.worlds import MS, World, fabric_of

S = 1_000 * MS
LEAVES = ("leaf1", "leaf2", "leaf3")


def events_of(faults: Sequence[str], kind: str = "leaf-spine") -> list[e.ControlEvent]:
    """The events of faults of a scenario file."""
    shape = {"leaf-spine": {"leaves": 3, "spines": 2, "hosts_per_leaf": 2}, "dual-tor": {}}[kind]
    topology = {"kind": kind, "host_rate": "100G", "fabric_rate": "100G", **shape}
    if kind == "dual-tor":
        topology |= {"racks": 2, "hosts_per_rack": 2, "spines": 2}
    pairs = [[pair.split("=") for pair in it.split()] for it in faults]
    parts = [{name: int(value) if value.isdigit() else value for name, value in it} for it in pairs]
    raw = {
        "name": "moves",
        "topology": topology,
        "routing": "bgp",
        "vxlan": {},
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "1KB"}],
        "faults": [{**it, **({"hosts": [it["hosts"]]} if "hosts" in it else {})} for it in parts],
        "run": {"duration": "60s"},
    }
    return list(compile_scenario(build_scenario(raw, Path("moves.yml"))).control.events)  # type: ignore[union-attr]


def network_at(seconds: int, *faults: str, kind: str = "leaf-spine") -> tuple[World, Network]:
    """The fabric that many seconds after its convergence."""
    fabric = fabric_of(leaves=3) if kind == "leaf-spine" else fabric_of(kind, racks=2, hosts_per_rack=2, spines=2)
    here = World(fabric, ControlConfig())
    return here, here.network(events_of(faults, kind), until_ms=seconds * 1_000)


def where(here: World, network: Network, host: str = "host1") -> dict[str, str | None]:
    """Leaf -> the leaf where it has learned a host; None: it knows no place."""
    endpoint = next(it for it in here.plan.endpoints if it.name == host)
    found = {}
    for router in here.plan.routers:
        if router.vnis:
            at = network.switches[router.row].locations().get((endpoint.vni, endpoint.mac))
            found[router.name] = None if at is None else here.plan.routers[at[0]].name
    return found


def test_a_host_that_moved_and_left_is_at_no_leaf() -> None:
    here, network = network_at(12, "kind=mac-move host=host1 to=leaf2 at=2s", "kind=host-leave hosts=host1 at=8s")
    assert where(here, network) == dict.fromkeys(LEAVES)


@pytest.mark.parametrize("order", [("leaf2",), ("leaf2", "leaf3"), ("leaf3", "leaf1", "leaf2")])
def test_a_host_comes_back_where_it_was_last(order: Sequence[str]) -> None:
    moves = [f"kind=mac-move host=host1 to={leaf} at={2 + 6 * turn}s" for turn, leaf in enumerate(order)]
    leave = f"kind=host-leave hosts=host1 at={2 + 6 * len(order)}s until={5 + 6 * len(order)}s"
    here, network = network_at(10 + 6 * len(order), *moves, leave)
    assert where(here, network) == dict.fromkeys(LEAVES, order[-1])


def test_the_gap_of_a_second_move_is_at_the_leaf_of_the_first() -> None:
    moves = ("kind=mac-move host=host1 to=leaf2 at=2s", "kind=mac-move host=host1 to=leaf3 at=20s gap=5s")
    here, network = network_at(18, *moves)
    assert where(here, network) == dict.fromkeys(LEAVES)
    assert where(*network_at(25, *moves)) == dict.fromkeys(LEAVES, "leaf3")


def test_a_move_while_a_host_is_away_decides_where_it_is_back() -> None:
    faults = ("kind=host-leave hosts=host1 at=2s until=20s", "kind=mac-move host=host1 to=leaf3 at=8s")
    here, network = network_at(5, *faults)
    assert where(here, network) == dict.fromkeys(LEAVES)
    assert where(*network_at(30, *faults)) == dict.fromkeys(LEAVES, "leaf3")


def test_a_host_that_has_left_is_not_announced_when_its_leaf_boots() -> None:
    faults = ("kind=host-leave hosts=host1 at=2s", "kind=switch-crash switch=leaf1 at=4s until=6s")
    here, network = network_at(50, *faults)
    assert where(here, network) == dict.fromkeys(LEAVES)
    assert where(here, network, "host2") == dict.fromkeys(LEAVES, "leaf1")


def test_a_bond_comes_back_on_the_port_that_is_up() -> None:
    faults = ("kind=host-leave hosts=host1 at=8s until=12s",)
    fabric = fabric_of("dual-tor", racks=2, hosts_per_rack=2, spines=2)
    here = World(fabric, ControlConfig())
    endpoint = next(it for it in here.plan.endpoints if it.name == "host1")
    row, _, data_port = endpoint.attachments[0]
    network = here.network([e.HostPortDown(2 * S, row, data_port), *events_of(faults, "dual-tor")], until_ms=20_000)
    other = here.plan.routers[endpoint.attachments[1][0]].name
    assert set(where(here, network).values()) == {other}  # also the leaf of its cable that is down


def test_a_move_to_its_own_leaf_has_an_effect_only_for_a_host_that_has_left() -> None:
    move = "kind=mac-move host=host1 to=leaf1 at=8s"
    with pytest.raises(FabricError, match="host1 is at leaf1 already"):
        events_of([move])
    assert events_of(["kind=host-leave hosts=host1 at=2s", move])
    with pytest.raises(FabricError, match="host1 is at leaf2 already"):
        events_of(
            [
                "kind=mac-move host=host1 to=leaf2 at=1s",
                "kind=host-leave hosts=host1 at=2s until=3s",
                "kind=mac-move host=host1 to=leaf2 at=8s",
            ]
        )


@pytest.mark.parametrize("restart", ["switch-crash", "bgp-crash"])
def test_a_host_that_has_moved_is_announced_when_its_new_leaf_starts_again(restart: str) -> None:
    faults = ("kind=mac-move host=host1 to=leaf2 at=2s", f"kind={restart} switch=leaf2 at=8s until=12s")
    assert where(*network_at(50, *faults)) == dict.fromkeys(LEAVES, "leaf2")


def test_a_host_that_moves_to_a_leaf_without_power_is_there_when_the_leaf_starts() -> None:
    faults = ("kind=mac-move host=host1 to=leaf2 at=5s gap=1s", "kind=switch-crash switch=leaf2 at=2s until=12s")
    assert where(*network_at(11, *faults))["leaf3"] is None  # nobody has heard it since
    assert where(*network_at(50, *faults)) == dict.fromkeys(LEAVES, "leaf2")


@pytest.mark.parametrize(
    "fault", ["kind=switch-crash switch=leaf1 at=4s until=10s", "kind=link-down link=leaf1--host1 at=4s until=10s"]
)
def test_a_host_that_comes_back_behind_what_is_down_is_heard_when_that_is_up(fault: str) -> None:
    faults = ("kind=host-leave hosts=host1 at=2s until=6s", fault)
    assert where(*network_at(9, *faults))["leaf2"] is None
    assert where(*network_at(50, *faults)) == dict.fromkeys(LEAVES, "leaf1")


@pytest.mark.parametrize(
    ("later", "place"),
    [
        ("kind=host-leave hosts=host1 at=2500ms", None),
        ("kind=mac-move host=host1 to=leaf3 at=2500ms arps=1", "leaf3"),
        ("kind=mac-move host=host1 to=leaf3 at=30s gap=27500ms", None),
    ],
)
def test_a_move_repeats_no_announcement_once_the_host_is_elsewhere(later: str, place: str | None) -> None:
    """Its ARPs are at 2, 3 and 4 s."""
    here, network = network_at(12, "kind=mac-move host=host1 to=leaf2 at=2s", later)
    assert where(here, network) == dict.fromkeys(LEAVES, place)


def test_a_move_within_the_gap_of_another_is_followed_by_that_other() -> None:
    faults = ("kind=mac-move host=host1 to=leaf2 at=20s gap=10s", "kind=mac-move host=host1 to=leaf3 at=14s arps=1")
    for second, place in ((12, None), (18, "leaf3"), (30, "leaf2")):
        assert where(*network_at(second, *faults)) == dict.fromkeys(LEAVES, place)


def test_an_endpoint_of_churn_is_announced_when_its_leaf_starts_again() -> None:
    here = World(fabric_of(leaves=3), ControlConfig())
    leaf, vni = here.row("leaf2"), here.plan.endpoints[0].vni
    born = e.HostSeen(2 * S, "06:00:00:00:00:01", "100.64.0.1", vni, leaf, f"churn-{vni}")
    events = [born, e.DaemonCrash(5 * S, leaf), e.DaemonStart(8 * S, leaf)]
    network = here.network(events, until_ms=40_000)
    at = {switch.row: switch.locations().get((vni, born.mac)) for switch in network.switches if switch.router.vnis}
    assert all(place is not None and place[0] == leaf for place in at.values())
