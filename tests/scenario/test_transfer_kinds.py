"""A kind of transfers is placed, checked, given queue pairs and simulated as any other entry of `workload:`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.collectives.transfers import Event, TransferList
from fabric.dataplane.engine.driver import Emulator
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.estimate.estimator import estimate
from fabric.scenario.load import build_scenario
from fabric.workload.batch import Surroundings
from fabric.workload.demand import NO_FIELD, Demand, SpecField
from fabric.workload.placed import PlacedTransfers, of_transfers
from fabric.workload.registry import TRANSFER_KINDS, TransferKind

RANKS: Final = 4
LEAVES: Final = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 1,
    "hosts_per_leaf": 4,
    "host_rate": "100G",
    "fabric_rate": "100G",
}


class Ring:
    """A kind for these tests in place of `permutation`: a ring of the first hosts, and a computation at each end."""

    def __init__(self, *, cycle: bool = False, together: bool = False, late_ps: int = 0) -> None:
        self.cycle, self.together, self.late_ps = cycle, together, late_ps

    def place(self, spec: Any, name: str, path: str, around: Surroundings) -> PlacedTransfers:  # noqa: ANN401
        made = TransferList()
        for rank in range(RANKS):
            made.add(
                rank, (rank + 1) % RANKS, 2 * (RANKS - 1), small_bytes=spec.size, start_ps=spec.start + self.late_ps
            )
            made.add(rank, rank, 1, delay_ps=5_000_000)
        for rank in range(RANKS):
            made.need(2 * rank, 2 * ((rank + 1) % RANKS), lead=1 if self.cycle else 0, per=1)
            made.need(2 * rank, 2 * rank + 1, lead=2 * (RANKS - 1), event=Event.COMPLETED)
        hosts = around.hosts(("*",), path)[:RANKS]
        return PlacedTransfers(made.build(), hosts[[0, 0, 1, 2]] if self.together else hosts, ["all-reduce"])

    def demand(self, spec: Any, name: str, path: str, around: Surroundings) -> Demand:  # noqa: ANN401
        field = SpecField("size", spec.size, "size")
        return of_transfers(NO_FIELD, field, self.place(spec, name, path, around), len(around.fabric.hosts))

    def kind(self) -> TransferKind:
        return TransferKind(self.place, self.demand)


@pytest.fixture(autouse=True)
def ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRANSFER_KINDS, "permutation", Ring().kind())


def scenario(**sections: Any) -> Any:  # noqa: ANN401
    load = {"kind": "permutation", "name": "ring", "size": "40KB"}
    raw = {"name": "series", "topology": LEAVES, "workload": [load], "run": {"duration": "5ms"}, **sections}
    return build_scenario(raw, Path("series.yml"))


def compiled(**sections: Any) -> CompiledScenario:  # noqa: ANN401
    return compile_scenario(scenario(**sections))


def test_ranks_become_hosts_and_computations_have_no_queue_pair() -> None:
    params = compiled().params
    transfers = params.transfers
    assert transfers.operations == ["ring/all-reduce"]
    assert transfers.rows.src[::2].tolist() == [0, 1, 2, 3]
    assert transfers.rows.dst[::2].tolist() == [1, 2, 3, 0]
    assert (transfers.qp[1::2] == -1).all()
    pairs = params.queue_pairs
    assert pairs.dst[transfers.qp[::2]].tolist() == [1, 2, 3, 0]
    assert len(params.messages.src) == 0


@pytest.mark.parametrize(("policy", "pairs"), [({"per": "message"}, 8), ({"per": "pair"}, 4)])
def test_a_transfer_counts_as_one_message_where_queue_pairs_are_shared(policy: dict[str, Any], pairs: int) -> None:
    two = [{"kind": "permutation", "name": name, "size": "40KB"} for name in ("first", "second")]
    params = compiled(workload=two, transport={"qp": policy}).params
    assert len(params.queue_pairs.src) == pairs
    assert params.transfers.rows.earlier.max() >= 8
    assert params.transfers.operations == ["first/all-reduce", "second/all-reduce"]


def test_messages_and_transfers_of_one_scenario_keep_their_queue_pairs() -> None:
    loads = [
        {"kind": "permutation", "name": "ring", "size": "40KB", "priority": 4},
        {"kind": "incast", "receiver": "host1", "senders": ["host2", "host3"], "size": "1KB"},
    ]
    params = compiled(workload=loads).params
    pairs, messages, transfers = params.queue_pairs, params.messages, params.transfers
    assert pairs.dst[messages.qp].tolist() == messages.dst.tolist()
    sent = transfers.qp >= 0
    assert pairs.dst[transfers.qp[sent]].tolist() == transfers.rows.dst[sent].tolist()
    assert len(np.unique(pairs.dscp[transfers.qp[sent]])) == 1
    assert pairs.dscp[transfers.qp[0]] != pairs.dscp[messages.qp[0]]


def test_the_schedule_runs_to_its_end() -> None:
    made = compiled()
    engine = Emulator(made.fabric, made.params, made.edits)
    while not engine.finished:
        engine.advance(engine.now_ps + 1_000_000_000)
    rows = engine.snapshot().transfers
    assert rows["done_messages"].tolist() == [2 * (RANKS - 1), 1] * RANKS
    # A computation takes its time after the last acknowledgement.
    assert (rows["completed_ps"][1::2] == rows["completed_ps"][::2] + 5_000_000).all()


def test_transfers_that_wait_for_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRANSFER_KINDS, "permutation", Ring(cycle=True).kind())
    with pytest.raises(InputErrors, match=r"8 transfers can never finish.*ring/all-reduce \(rank"):
        compiled()


def test_ranks_that_exchange_messages_need_different_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRANSFER_KINDS, "permutation", Ring(together=True).kind())
    with pytest.raises(InputErrors, match="ranks 0 and 1 exchange messages and are both on 'host1'"):
        compiled()


def test_a_start_after_the_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRANSFER_KINDS, "permutation", Ring(late_ps=6_000_000_000).kind())
    with pytest.raises(InputErrors, match="a transfer starts at 6000 us, after the end of the run"):
        compiled()


def test_a_model_with_a_queue_pair_for_each_message_refuses_transfers() -> None:
    with pytest.raises(InputErrors, match="its messages share queue pairs"):
        compiled(model="hpcc-ns3")


def test_the_estimate_counts_messages_and_needs_memory_for_transfers() -> None:
    made = scenario()
    fabric = compiled().fabric
    found = {name: figure.likely for name, figure in estimate(made, fabric).figures.items()}
    assert found["messages"] == RANKS * 2 * (RANKS - 1)
    assert found["queue pairs"] == RANKS
    long = scenario(workload=[{"kind": "permutation", "name": "ring", "size": "40MB"}])
    assert estimate(long, fabric).figures["memory to compile"].likely == pytest.approx(found["memory to compile"])


def test_a_collective_across_subnets_that_no_leaf_routes_is_refused_at_its_entry() -> None:
    segments = [
        {"name": name, "vni": vni, "hosts": [host]} for name, vni, host in (("a", 10, "host1"), ("b", 11, "host5"))
    ]
    raw = {
        "name": "apart",
        "topology": LEAVES,
        "vxlan": {"tenants": [{"name": "blue", "segments": segments}]},
        "workload": [
            {
                "kind": "collective",
                "operation": "all-reduce",
                "algorithm": "ring",
                "size": "1KB",
                "hosts": ["host1", "host5"],
            }
        ],
        "run": {"duration": "1ms"},
    }
    with pytest.raises(InputErrors) as caught:
        compile_scenario(build_scenario(raw, Path("apart.yml")))
    assert "apart.yml: workload[0]" in [it.path for it in caught.value.problems]
    assert any("cross subnets of tenant 'blue'" in it.text for it in caught.value.problems)
