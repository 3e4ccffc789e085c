"""Polarised tiers and uneven groups, found by counting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.forwarding.ecmp_load import group_loads
from fabric.forwarding.polarisation import Survey, relation, remedy, survey
from fabric.forwarding.tables import Forwarding, forwarding_at
from fabric.forwarding.walk import walk
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario

ROCE = 4791


def fabric_with(hash_: dict[str, Any], **topology: Any) -> Forwarding:  # noqa: ANN401  of the topology section
    shape = {
        "kind": "clos3",
        "pods": 2,
        "leaves_per_pod": 2,
        "spines_per_pod": 4,
        "super_spines": 4,
        "core": "full",
        "hosts_per_leaf": 2,
        "host_rate": "100G",
        "fabric_rate": "100G",
        **topology,
    }
    case = compile_scenario(
        build_scenario(
            {
                "name": "p",
                "topology": shape,
                "switches": {"hash": hash_},
                "run": {"duration": "1ms"},
                "workload": [{"kind": "permutation", "shift": 4, "size": "4KB"}],
                "transport": {"qp": {"per": "pair"}},
            },
            Path("p.yml"),
        )
    )
    return forwarding_at(case.fabric, case.params, (), 0)


def reached(found: Survey) -> set[int]:
    return {it.reached for it in found.found}


@pytest.mark.parametrize("algorithm", ["crc32", "xor", "toeplitz", "murmur3"])
def test_one_hash_and_one_seed_leave_one_member_at_every_second_choice(algorithm: str) -> None:
    found = survey(fabric_with({"algorithm": algorithm, "seed": 7}), ROCE)
    assert found.found
    assert reached(found) == {1}
    assert all(it.polarised for it in found.found)


def test_a_seed_per_switch_depolarises_murmur3_and_not_xor() -> None:
    assert reached(survey(fabric_with({"algorithm": "murmur3", "seed": "per-switch"}), ROCE)) == {4}
    at = fabric_with({"algorithm": "xor", "seed": "per-switch"})
    found = survey(at, ROCE)
    assert reached(found) == {1}
    assert "flip the same bits" in relation(at, found.found[0].first, found.found[0].second)


def test_two_seeds_of_a_hash_that_is_not_linear_are_not_called_linear() -> None:
    at = fabric_with({"algorithm": "murmur3", "seed": "per-switch"})
    first, second = sorted(at.params.switches)[:2]
    assert "linear" not in relation(at, first, second)
    assert "another seed" in remedy(at, first, second)


def test_groups_of_coprime_sizes_do_not_polarise_even_with_one_hash() -> None:
    at = fabric_with({"algorithm": "crc32", "seed": 7}, spines_per_pod=3, super_spines=4)
    leaf_to_spine = [it for it in survey(at, ROCE).found if len(it.first_members) == 3 and len(it.flows) == 4]
    assert leaf_to_spine
    assert {it.reached for it in leaf_to_spine} == {4}


def test_every_dependence_accounts_for_every_flow_of_its_first_switch() -> None:
    at = fabric_with({"algorithm": "crc32", "seed": "per-switch"})
    found = survey(at, ROCE)
    leaves = [it for it in found.found if at.fabric.nodes[it.first].role == "leaf"]
    assert sum(sum(it.flows) for it in leaves) == found.n_flows


def test_group_loads_count_each_queue_pair_once_per_choice_on_its_path() -> None:
    at = fabric_with({"algorithm": "murmur3", "seed": "per-switch"})
    loads = group_loads(at)
    choices = int((walk(at.tables, at.queue_pairs()).group >= 0).sum())
    assert sum(load.n_flows for load in loads) == choices > 0
    assert sum(sum(load.bytes) for load in loads) == choices * 4000
    assert all(max(load.flows) * len(load.flows) / load.n_flows == load.flows_max_over_mean for load in loads)


def test_two_tiers_with_one_choice_have_nothing_to_polarise() -> None:
    case = compile_scenario(
        build_scenario(
            {
                "name": "p",
                "topology": {
                    "kind": "leaf-spine",
                    "leaves": 2,
                    "spines": 4,
                    "hosts_per_leaf": 2,
                    "host_rate": "100G",
                    "fabric_rate": "100G",
                },
                "workload": [{"kind": "permutation", "size": "4KB"}],
                "run": {"duration": "1ms"},
            },
            Path("p.yml"),
        )
    )
    found = survey(forwarding_at(case.fabric, case.params, (), 0), ROCE)
    assert not found.found
    assert np.isclose(found.n_flows, 0)


def test_a_run_puts_the_predicted_bytes_on_every_member() -> None:
    """Payload is predicted from tables and hashes alone; headers and acknowledgements are additional."""
    from fabric.dataplane.engine.driver import Emulator
    from fabric.scenario.load import load_scenario

    case = compile_scenario(load_scenario(Path(__file__).parents[2] / "scenarios" / "polarised.yml"))
    engine = Emulator(case.fabric, case.params)
    engine.advance(case.duration_ps)
    assert engine.finished
    groups, members = engine.state.groups, engine.state.members
    carried = {}
    for first, count in zip(groups["first"].tolist(), groups["count"].tolist(), strict=True):
        rows = members[first : first + count]
        carried[tuple(rows["port"].tolist())] = rows["bytes"].tolist()
    loads = group_loads(forwarding_at(case.fabric, case.params, (), 0))
    assert len(loads) == 20
    for load in loads:
        for predicted, counted in zip(load.bytes, carried[load.members], strict=True):
            assert predicted <= counted <= predicted * 1.05 + 0.05 * sum(load.bytes)
