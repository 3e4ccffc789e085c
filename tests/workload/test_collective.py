"""Collectives as transfers: repetitions, names, hosts, and what is refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from pydantic import TypeAdapter

from fabric.collectives.transfers import expand
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.topology.registry import build_topology, parse_topology
from fabric.workload.batch import Surroundings
from fabric.workload.placed import PlacedTransfers
from fabric.workload.registry import TRANSFER_KINDS
from fabric.workload.spec import WorkloadSpec

ADAPTER: TypeAdapter[Any] = TypeAdapter(WorkloadSpec)
KIND: Final = TRANSFER_KINDS["collective"]
LEAVES: Final = {
    "kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4, "host_rate": "100G", "fabric_rate": "400G",
}  # fmt: skip
ENTRY: Final = {"kind": "collective", "operation": "all-reduce", "algorithm": "ring", "size": "1003B"}


def around(**shape: Any) -> Surroundings:  # noqa: ANN401
    return Surroundings(build_topology(parse_topology({**LEAVES, **shape})), 1, Path())


def made(**fields: Any) -> PlacedTransfers:  # noqa: ANN401
    here = around()
    found: PlacedTransfers = KIND.place(ADAPTER.validate_python({**ENTRY, **fields}), "it", "workload[0]", here)
    assert not here.problems
    return found


def test_operations_are_named_in_their_order_and_have_equal_bytes() -> None:
    placed = made(repeat=2, warm_up=1, placement="across-leaves")
    assert placed.operations == ["all-reduce 0", "all-reduce 1", "all-reduce 2"]
    rows = placed.rows
    assert list(rows.problems()) == []
    sent = [int(sum(rows.sizes_bytes(row).sum() for row in np.flatnonzero(rows.operation == it))) for it in range(3)]
    assert sent == [2 * 15 * 1000] * 3
    assert placed.host_of.tolist() == [leaf * 4 + place for place in range(4) for leaf in range(4)]


def test_a_start_delays_the_first_operation_alone() -> None:
    rows = made(repeat=2, start="3us").rows
    first = rows.start_ps[rows.operation == 0]
    assert set(first.tolist()) == {0, 3_000_000}
    assert not rows.start_ps[rows.operation == 1].any()


@pytest.mark.parametrize(
    ("operation", "algorithm"), [("all-reduce", "ring"), ("broadcast", "double-binary-tree"), ("gather", "direct")]
)
def test_an_operation_begins_at_a_rank_when_its_own_last_one_has_ended(operation: str, algorithm: str) -> None:
    rows = made(operation=operation, algorithm=algorithm, repeat=2).rows
    full = expand(rows)
    before: dict[int, set[int]] = {}
    for earlier, later, _ in full.after:
        before.setdefault(later, set()).add(earlier)
    operation_of = rows.operation[full.transfer]
    for message in np.flatnonzero((operation_of == 1) & (full.index == 0)).tolist():
        pending, seen = [message], set()
        while pending:
            for earlier in before.get(pending.pop(), ()):
                if earlier not in seen:
                    seen.add(earlier)
                    pending.append(earlier)
        rank = rows.src[full.transfer[message]]
        arrived = np.flatnonzero((operation_of == 0) & (rows.dst[full.transfer] == rank) & (full.size_bytes > 0))
        # The last message of each transfer that ends at the rank stands for those before it.
        last = {int(row): int(it) for row, it in zip(full.transfer[arrived], arrived, strict=True)}
        assert set(last.values()) <= seen


def test_demand_is_that_of_the_transfers() -> None:
    spec = ADAPTER.validate_python({**ENTRY, "repeat": 2})
    demand = KIND.demand(spec, "it", "workload[0]", around())
    assert demand.transfers == len(made(repeat=2))


def test_the_model_of_another_simulator_names_the_kind_and_the_model() -> None:
    raw = {"name": "it", "topology": LEAVES, "model": "hpcc-ns3", "workload": [ENTRY], "run": {"duration": "1ms"}}
    with pytest.raises(InputErrors) as caught:
        compile_scenario(build_scenario(raw, Path("it.yml")))
    told = [it for it in caught.value.problems if it.path.endswith("workload[0].kind")]
    assert len(told) == 1
    assert "hpcc-ns3" in told[0].text
    assert "model: asic" in told[0].hint


def test_many_ranks_are_placed_in_a_moment() -> None:
    here = around(leaves=32, hosts_per_leaf=32)
    spec = ADAPTER.validate_python({**ENTRY, "size": "64MiB", "repeat": 3})
    begun = time.process_time()
    placed = KIND.place(spec, "it", "workload[0]", here)
    assert time.process_time() - begun < 5  # as single messages, 27 s
    assert placed.rows.n_messages == 3 * 1024 * 2 * 1023 + 2 * 1024
    assert len(placed) == 3 * 2 * 1024 + 2 * 1024
