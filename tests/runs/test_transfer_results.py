"""Tables of transfers and of their messages: their values, an interrupted and resumed run, and what is not recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.collectives.transfers import Event, TransferList
from fabric.errors import InputErrors, RunDirError
from fabric.runs import files
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks
from fabric.runs.simulate import Options, prepare, simulate
from fabric.scenario.load import build_scenario
from fabric.workload.batch import Surroundings
from fabric.workload.demand import NO_FIELD, Demand
from fabric.workload.placed import PlacedTransfers, of_transfers
from fabric.workload.registry import TRANSFER_KINDS, TransferKind

RANKS, STEPS = 4, 30
TOPOLOGY: Final = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "host_rate": "100G",
                   "fabric_rate": "100G"}  # fmt: skip


def place(spec: Any, name: str, path: str, around: Surroundings) -> PlacedTransfers:  # noqa: ANN401
    """A ring in the place of `permutation`, and a computation at rank 0 behind it."""
    made = TransferList()
    for rank in range(RANKS):
        made.add(rank, (rank + 1) % RANKS, STEPS, small_bytes=spec.size)
    for rank in range(RANKS):
        made.need(rank, (rank + 1) % RANKS, lead=0, per=1)
    last = made.add(0, 0, 2, delay_ps=1_000_000, operation=1)
    made.need(0, last, lead=STEPS, event=Event.COMPLETED)
    return PlacedTransfers(made.build(), around.hosts(("*",), path)[:RANKS], ["ring", "end"])


def demand(spec: Any, name: str, path: str, around: Surroundings) -> Demand:  # noqa: ANN401
    return of_transfers(NO_FIELD, NO_FIELD, place(spec, name, path, around), len(around.fabric.hosts))


@pytest.fixture(autouse=True)
def kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRANSFER_KINDS, "permutation", TransferKind(place, demand))


def run(out: Path, telemetry: dict[str, Any] | None = None, hooks: Hooks | None = None, **options: Any) -> RunDir:  # noqa: ANN401
    raw = {
        "name": "series",
        "topology": TOPOLOGY,
        "workload": [{"kind": "permutation", "name": "job", "size": "20KB"}],
        "run": {"duration": "5ms"},
        "telemetry": {"interval": "5us", **(telemetry or {})},
    }
    simulate(*prepare(build_scenario(raw, Path("series.yml")), text="series"), Options(out, **options), hooks)
    return RunDir.open(out)


def test_transfers_and_their_messages_agree(tmp_path: Path) -> None:
    found = run(tmp_path / "run")
    transfers = found.transfers().to_pydict()
    assert transfers["operation"] == ["job/ring"] * RANKS + ["job/end"]
    assert transfers["done"] == [STEPS] * RANKS + [2]
    assert transfers["size_bytes"] == [STEPS * 20_000] * RANKS + [0]
    assert transfers["qp"][-1] is None
    assert set(transfers["state"]) == {"done"}
    messages = found.transfer_messages().to_pandas()
    assert len(messages) == RANKS * STEPS + 2
    assert (np.diff(messages["end_ns"]) >= 0).all()
    for row, mine in messages.groupby("transfer"):
        assert sorted(mine["index"]) == list(range(len(mine)))
        assert mine["end_ns"].max() == transfers["end_ns"][row]
        assert (mine["ready_ns"] <= mine["start_ns"]).all()
    # Message k of a rank was ready when k messages of the rank before it had arrived.
    second = messages[messages["transfer"] == 1].sort_values("index")
    first = messages[messages["transfer"] == 0].sort_values("index")
    assert (second["ready_ns"].to_numpy()[1:] >= first["arrived_ns"].to_numpy()[:-1]).all()
    assert found.summary["transfers"]["messages_done"] == RANKS * STEPS + 2
    assert found.summary["stop"]["reason"] == "all messages done"
    # The run's time is that of its transfers: 100 Gb/s into each of four hosts are a bound.
    assert 0 < found.summary["metrics"]["goodput.total_bps"] < RANKS * 100e9


def test_messages_are_left_out_where_they_are_switched_off(tmp_path: Path) -> None:
    found = run(tmp_path / "run", {"transfer_messages": "off"})
    assert files.TRANSFER_MESSAGES not in found.listed
    with pytest.raises(RunDirError, match="did not record the messages of transfers"):
        found.transfer_messages()
    assert found.transfers().num_rows == RANKS + 1
    assert found.summary["transfers"]["messages_recorded"] is False


def test_a_resumed_run_has_the_same_tables(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole")

    class StopError(Exception):
        pass

    def break_off(snapshot: Any) -> None:  # noqa: ANN401
        if snapshot.time_ps > 30_000_000:
            raise StopError

    with pytest.raises(StopError):
        run(tmp_path / "broken", hooks=Hooks(on_sample=break_off), checkpoint_every_s=1e-9)
    again = run(tmp_path / "broken", resume=True)
    assert again.manifest["digest"] == whole.manifest["digest"]
    assert again.transfer_messages().equals(whole.transfer_messages())
    assert again.manifest["timings"]["resumed"] == 1


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_writes_the_same_run(tmp_path: Path, threads: int) -> None:
    one, many = run(tmp_path / "one"), run(tmp_path / "many", threads=threads)
    assert one.manifest["digest"] == many.manifest["digest"]


def test_a_run_without_transfers_has_empty_tables_and_refuses_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(TRANSFER_KINDS, "permutation")
    found = run(tmp_path / "run")
    assert found.transfers().num_rows == 0
    assert found.transfer_messages(["index"]).column_names == ["index"]
    with pytest.raises(InputErrors, match="no entry of workload is a table of transfers"):
        run(tmp_path / "other", {"transfer_messages": "on"})
