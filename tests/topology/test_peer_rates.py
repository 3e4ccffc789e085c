"""A cable is slow where its peers are faster, and not where a whole tier or a planned mixture is as it is."""

from __future__ import annotations

from typing import Any, Final

import pytest

from fabric.topology.analysis import analyse
from fabric.topology.lint import findings
from fabric.topology.peer_rates import oversubscribed, peer_rates, slow_cables
from tests.topology.conftest import fabric_of

LEAF_SPINE: Final[dict[str, Any]] = {
    "kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4, "host_rate": "400G", "fabric_rate": "800G",
}  # fmt: skip


def override(a: str, b: str, rate: str) -> dict[str, Any]:
    return {"link_overrides": [{"a": a, "b": b, "rate": rate}]}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        (override("leaf3", "spine*", "200G"), [("leaf3", 2, 200, 800)]),
        (override("leaf*", "spine*", "200G"), []),  # all alike: oversubscribed 4:1
        (override("leaf*", "spine1", "200G"), [("spine1", 4, 200, 800)]),
        (override("leaf2", "spine2", "200G"), [("leaf2", 1, 200, 800)]),
        ({"leaves": 2} | override("leaf2", "spine*", "200G"), [("leaf2", 2, 200, 800)]),
        ({"spines": 1} | override("leaf3", "spine1", "200G"), [("leaf3", 1, 200, 800)]),
        ({"links_per_pair": 2, "fabric_rate": "400G"}, []),
        ({"links_per_pair": 2, "fabric_rate": "400G"} | override("leaf3", "spine*", "100G"), [("leaf3", 4, 100, 400)]),
        (override("host5", "leaf2", "100G"), [("host5", 1, 100, 400)]),
        ({"host_rate": None, "host_rates": ["400G", "800G"]}, []),
        ({"host_rate": None, "host_rates": ["800G", "800G", "800G", "400G"]}, []),
        ({"leaves": 1, "hosts_per_leaf": 8} | override("host5", "leaf1", "100G"), [("host5", 1, 100, 400)]),
        ({"hosts_per_leaf": 1} | override("host3", "leaf3", "100G"), [("host3", 1, 100, 400)]),
    ],
)
def test_cables_slower_than_their_peers_are_named(
    changes: dict[str, Any], found: list[tuple[str, int, int, int]]
) -> None:
    """found: device, cables, their rate and that of the peers in Gbit/s."""
    changes = {name: value for name, value in (LEAF_SPINE | changes).items() if value is not None}
    fabric = fabric_of(**changes)
    rows = [(it.device, len(it.links), it.rate_bps // 10**9, it.peers_bps // 10**9) for it in slow_cables(fabric)]
    assert rows == found


def custom(uplinks: dict[str, list[str]], hosts: dict[str, str]) -> Any:  # noqa: ANN401  a fabric
    """Leaves with a spine each rate of `uplinks`, in order, and four hosts of the rate of `hosts`."""
    nodes = [{"name": name, "role": "leaf"} for name in uplinks]
    links = []
    for leaf, rates in uplinks.items():
        for number in range(4):
            nodes.append({"name": f"{leaf}-h{number}", "role": "host"})
            links.append({"a": f"{leaf}-h{number}", "b": leaf, "rate": hosts[leaf], "cable": "1m"})
        links += [{"a": leaf, "b": f"s{number + 1}", "rate": rate.partition("x")[2] or rate,
                   "count": int(rate.partition("x")[0]) if "x" in rate else 1, "cable": "3m"}
                  for number, rate in enumerate(rates)]  # fmt: skip
    nodes += [{"name": f"s{number + 1}", "role": "spine"} for number in range(max(map(len, uplinks.values())))]
    return fabric_of(kind="custom", nodes=nodes, links=links)


NEW: Final = {"l1": ["400G", "400G"], "l2": ["400G", "400G"], "l3": ["400G", "400G"]}
FAST: Final = dict.fromkeys(("l1", "l2", "l3", "l4"), "200G")


@pytest.mark.parametrize(
    ("uplinks", "hosts", "device"),
    [
        (NEW | {"l4": ["2x200G", "2x200G"]}, FAST, []),  # parallel cables with the same sum
        (NEW | {"l4": ["2x100G", "2x100G"]}, FAST, ["l4"]),
        (NEW | {"l4": ["100G", "100G"]}, FAST | {"l4": "50G"}, []),  # a rack of older servers
        (NEW | {"l4": ["100G", "100G"]}, FAST, ["l4"]),
        ({"l1": ["400G", "800G"], "l2": ["400G", "800G"], "l3": ["400G", "800G"]}, FAST, ["s1"]),  # one ECMP group
        ({"l1": ["2x400G"], "l2": ["2x400G"], "l3": ["400G"]}, FAST, []),  # a cable is missing, and none is slow
    ],
)
def test_a_leaf_is_compared_by_the_sum_of_parallel_cables_and_by_what_its_hosts_need(
    uplinks: dict[str, list[str]], hosts: dict[str, str], device: list[str]
) -> None:
    assert [it.device for it in slow_cables(custom(uplinks, hosts))] == device


def test_peers_give_the_rate_that_a_cable_would_need() -> None:
    fabric = custom(NEW | {"l4": ["2x100G", "2x100G"]}, FAST)
    assert sorted(peer_rates(fabric).values()) == [200 * 10**9] * 4  # two of them are one of 400G
    [found] = slow_cables(fabric)
    ports = "Ethernet16, Ethernet20, Ethernet24, Ethernet28"
    assert found.text(fabric) == f"l4: its 4 cables at {ports} have 100G each where those of its peers have 200G"
    assert found.ports(fabric)[0] == "l4:Ethernet16"


def test_the_check_of_a_topology_lists_every_slow_cable() -> None:
    for changes in (override("leaf3", "spine*", "200G"), override("host5", "leaf2", "100G")):
        fabric = fabric_of(**(LEAF_SPINE | changes))
        [cables] = slow_cables(fabric)
        said = [it for it in findings(fabric, analyse(fabric)) if it.rule == "slow-link"]
        assert [(it.severity, it.place) for it in said] == [("warning", cables.device)]
        assert said[0].text in cables.text(fabric)


@pytest.mark.parametrize(
    ("uplinks", "said"),
    [
        (NEW | {"l4": ["400G"]}, ["l4: 800G down over uplinks of 400G (2:1) where its peers have 1:1"]),
        (NEW | {"l4": ["400G", "400G"]}, []),
        ({"l1": ["200G"], "l2": ["200G"], "l3": ["200G"]}, []),  # all alike
        (NEW | {"l4": ["100G", "100G"]}, []),  # its cables are slow
    ],
)
def test_a_switch_with_fewer_uplinks_for_its_hosts_than_its_peers_is_told(
    uplinks: dict[str, list[str]], said: list[str]
) -> None:
    assert [it.text for it in oversubscribed(custom(uplinks, FAST))] == said
