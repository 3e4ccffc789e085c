"""A run with transfers equals the run of the same messages given one by one, to the picosecond and the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from runs import simulate
from transfer_worlds import (
    INSERTION,
    WINDOWS,
    Drawn,
    as_messages,
    as_transfers,
    drawings,
    engine_of,
    ring,
    schedule,
    without_delays,
)
from worlds import World, topology, troubled, worlds

from fabric.collectives.transfers import Transfers
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.issued import in_order
from fabric.verify.conservation import check
from tests.forked import UNCOMPILED, printed

LINKS: Final = {
    "ports": ("first_loss", "ctrl_head", "ctrl_tail", "in_head", "out_tail", "out_window", "pin_head", "pout_tail",
              "pout_window", "free_pending"),
    "queues": ("head", "tail", "share"),
    "hosts": ("first_storm", "rx_head", "rx_tail", "cnp_head", "cnp_tail", "starts", "n_starts"),
    "qps": ("msg_head", "msg_tail", "msg_now"),
}  # fmt: skip
"""Row numbers, which differ; the heap of single messages, which is empty."""
TABLES: Final = ("ports", "queues", "pgs", "prios", "pools", "drops", "switches", "hosts", "qps", "rqps", "random")


def times_of_messages(engine: Emulator) -> np.ndarray[Any, Any]:
    """(transfer, index, size, start, first, arrived, end, retransmitted, failed) of everything posted, sorted."""
    rows = in_order([engine.drain_messages(unfinished=True)])
    names = [name for name in rows.dtype.names or () if name != "ready_ps"]
    table = np.stack([rows[name] for name in names], axis=1)
    return table[np.lexsort((table[:, 1], table[:, 0]))]


def times_of_singles(engine: Emulator, places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    rows, received = engine.state.messages[1:], engine.state.rmessages[1:]
    columns = [rows["size_bytes"], rows["start_ps"], received["first_ps"], received["arrived_ps"], rows["end_ps"],
               rows["retransmitted_pkts"], rows["failed"]]  # fmt: skip
    return np.concatenate([places, np.stack(columns, axis=1).astype(np.int64)], axis=1)[rows["start_ps"] >= 0]


def assert_equal_runs(world: World, rows: Transfers, **options: Any) -> None:  # noqa: ANN401
    """Counters, events and times of messages."""
    fabric = topology(world)
    single, places = as_messages(world, rows, fabric)
    one = simulate(engine_of(world, single, **options))
    many = simulate(engine_of(world, as_transfers(world, rows, fabric), keep_messages=True, **options))
    expected, found = times_of_singles(one, places), times_of_messages(many)
    np.testing.assert_array_equal(found, expected)
    for name in TABLES:
        table, other = getattr(one.state, name), getattr(many.state, name)
        for field in table.dtype.names:
            if field not in LINKS.get(name, ()):
                np.testing.assert_array_equal(other[field], table[field], f"{name}.{field}")
    assert one.drain_events().tobytes() == many.drain_events().tobytes()
    assert one.events == many.events
    assert one.finished == many.finished
    sizes = many.state.transfers["n_sent"].sum()
    assert sizes == len(places)


@given(worlds(), drawings())
@settings(max_examples=60, deadline=None)
def test_transfers_equal_single_messages(world: World, drawn: Drawn) -> None:
    rows = without_delays(schedule(drawn, len(topology(world).hosts)))
    assert_equal_runs(world, rows, **WINDOWS)


@given(worlds(trouble=False), drawings())
@settings(max_examples=25, deadline=None)
def test_transfers_equal_single_messages_in_insertion_order(world: World, drawn: Drawn) -> None:
    rows = without_delays(schedule(drawn, len(topology(world).hosts)))
    assert_equal_runs(world, rows, **INSERTION)


@given(troubled(), drawings())
@settings(max_examples=40, deadline=None)
def test_transfers_equal_single_messages_under_faults(world: World, drawn: Drawn) -> None:
    rows = without_delays(schedule(drawn, len(topology(world).hosts)))
    assert_equal_runs(world, rows, **WINDOWS)


WORLD: Final = World(leaves=3, hosts=3, spines=2, kmin_kb=5, seed=3)
"""Nine hosts with marking."""


def digest(world: World, rows: Transfers, until_ps: int | None = None, **options: Any) -> str:  # noqa: ANN401
    engine = engine_of(world, as_transfers(world, rows, topology(world)), **options)
    simulate(engine, *([] if until_ps is None else [until_ps]))
    return engine.digest()


@given(troubled(), drawings())
@settings(max_examples=25, deadline=None)
def test_a_run_has_one_digest_for_threads_schedulers_and_readers(world: World, drawn: Drawn) -> None:
    """Rows of messages are shared out differently each time; computations and delays are in it."""
    rows = schedule(drawn, len(topology(world).hosts), computing=True)
    expected = digest(world, rows)
    for options in ({"threads": 2}, {"threads": 3, "keep_messages": True}, {"scheduler": "sequential"}):
        assert digest(world, rows, **options) == expected, options


@pytest.mark.parametrize("moment_us", [3, 20, 60])
def test_messages_under_way_have_one_digest(moment_us: int) -> None:
    rows = ring(9, 30_000)
    expected = digest(WORLD, rows, moment_us * 1_000_000)
    assert digest(WORLD, rows, moment_us * 1_000_000, threads=3, keep_messages=True) == expected
    assert digest(WORLD, rows, moment_us * 1_000_000 + 1_000_000) != expected


def test_a_resumed_run_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    rows, fabric = ring(9, 30_000), topology(WORLD)
    params = as_transfers(WORLD, rows, fabric)
    whole = engine_of(WORLD, params, keep_messages=True)
    expected = times_of_messages(simulate(whole))
    begun = engine_of(WORLD, params, keep_messages=True)
    simulate(begun, 40_000_000)
    begun.save(tmp_path / "state")
    again = Emulator.restore(
        fabric, params, (), tmp_path / "state", record=begun.state.config[0]["trace_mask"], keep_messages=True
    )
    np.testing.assert_array_equal(times_of_messages(simulate(again)), expected)
    assert again.digest() == whole.digest()


def test_rows_of_messages_are_used_again() -> None:
    """A ring of nine hosts has one message a host under way, however long it lasts."""
    engine = engine_of(WORLD, as_transfers(WORLD, ring(9, 3000, rounds=40), topology(WORLD)))
    before = len(engine.state.messages)
    simulate(engine)
    assert engine.finished
    assert int(engine.state.hosts["messages_done"].sum()) == 9 * 40 * 8
    assert len(engine.state.messages) == before


def test_the_tables_grow_where_all_messages_are_posted_at_once() -> None:
    rows = schedule(Drawn(((0, 1, 3000, 100, 0, 0, 0, 0, 1, 0, 0, 0),)), 9)
    engine = engine_of(WORLD, as_transfers(WORLD, rows, topology(WORLD)))
    before = len(engine.state.messages)
    simulate(engine)
    assert engine.finished
    assert before < 3000 < len(engine.state.messages)


_UNCOMPILED: Final = """
import sys
sys.path[:0] = [{folder!r}]
from test_transfers_exact import WORLD, digest
from transfer_worlds import ring
print(digest(WORLD, ring(9, 3000, rounds=1)))
"""


def test_the_uncompiled_engine_has_the_same_digest() -> None:
    text = _UNCOMPILED.format(folder=str(Path(__file__).parent))
    assert printed(text, env=UNCOMPILED).strip() == digest(WORLD, ring(9, 3000, rounds=1))


@given(troubled(), drawings())
@settings(max_examples=15, deadline=None)
def test_counts_of_transfers_and_rows_of_messages_are_conserved(world: World, drawn: Drawn) -> None:
    fabric = topology(world)
    rows = schedule(drawn, len(fabric.hosts), computing=True)
    engine = engine_of(world, as_transfers(world, rows, fabric), keep_messages=bool(world.seed % 2))
    for moment_us in (5, 30, 200, 20_000):
        simulate(engine, moment_us * 1_000_000)
        assert [it for it in check(engine.state, fabric, engine.now_ps) if it.startswith("(9)")] == []


def test_a_lost_message_row_is_found() -> None:
    engine = simulate(engine_of(WORLD, as_transfers(WORLD, ring(9, 30_000), topology(WORLD))))
    engine.state.agendas[0]["free"] = 0
    assert any("message rows" in it for it in check(engine.state, topology(WORLD), engine.now_ps))
