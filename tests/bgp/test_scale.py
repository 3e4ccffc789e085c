"""Whole fabrics: every route arrives everywhere, in blocks, and one failure changes only the affected routes.

Times are measured by bench, not asserted here.
"""

from __future__ import annotations

import pytest

from fabric.controlplane.bgp.afi import IPV4_UNICAST, prefix_key
from fabric.controlplane.evpn.evpn_nlri import EVPN
from tests.bgp.wiring import Wiring, leaf_spine, originate_hosts, originate_loopbacks


def converged(spines: int, leaves: int, per_leaf: int) -> Wiring:
    wiring = leaf_spine(spines, leaves, (IPV4_UNICAST, EVPN))
    originate_loopbacks(wiring)
    originate_hosts(wiring, per_leaf)
    wiring.start()
    wiring.settle(12)  # FRR's coalesce time is 1 s and 50 ms for each neighbour, at most 10 s
    return wiring


def everything_is_everywhere(wiring: Wiring, spines: int, leaves: int, per_leaf: int) -> None:
    assert wiring.established() == 2 * spines * leaves
    for name, speaker in wiring.speakers.items():
        evpn = speaker.tables[EVPN]
        assert len(evpn.group_of) == leaves * (2 * per_leaf + 1)
        assert all(group.selection is not None for group in evpn.groups)
        # Two UPDATEs per leaf, so two groups per leaf: no group was split.
        assert len(evpn.groups) == 2 * leaves
        if name.startswith("leaf"):
            for other in range(1, leaves + 1):
                selection = speaker.selection(IPV4_UNICAST, prefix_key(f"10.255.1.{other}/32"))
                assert selection is not None
                assert len(selection.next_hops) == (1 if name == f"leaf{other}" else spines)
            received = {source: count for source, count in evpn.accepted.items() if source}
            assert set(received.values()) == {(leaves - 1) * (2 * per_leaf + 1)}
            assert len(received) == spines


def test_every_leaf_hears_every_route_from_every_spine_and_blocks_stay_whole() -> None:
    everything_is_everywhere(converged(8, 16, 32), 8, 16, 32)


@pytest.mark.slow
def test_so_it_is_with_64_leaves_and_16_spines() -> None:
    everything_is_everywhere(converged(16, 64, 32), 16, 64, 32)


def test_a_link_failure_touches_the_routes_over_it_and_its_repair_restores_all() -> None:
    spines, leaves, per_leaf = 4, 8, 8
    wiring = converged(spines, leaves, per_leaf)
    wiring.changes.clear()
    before = {name: speaker.tables[IPV4_UNICAST].version for name, speaker in wiring.speakers.items()}
    wiring.cut("spine1", "10.1.1.1")
    wiring.settle(1)
    # leaf1 lost one of four paths to all others and the only one to spine1; the others one of four paths to leaf1.
    moved = {name: speaker.tables[IPV4_UNICAST].version - before[name] for name, speaker in wiring.speakers.items()}
    assert moved == {"leaf1": leaves, "spine1": 1} | {f"leaf{n}": 1 for n in range(2, leaves + 1)} | {
        f"spine{n}": 0 for n in range(2, spines + 1)
    }
    assert all(
        speaker.selection(EVPN, key) is not None
        for name, speaker in wiring.speakers.items()
        if name.startswith("leaf")
        for key in speaker.tables[EVPN].group_of
    )
    wiring.mend("spine1", "10.1.1.1")
    wiring.settle(3)
    everything_is_everywhere(wiring, spines, leaves, per_leaf)
