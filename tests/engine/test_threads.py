"""Threads change who plays what, never what is played."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import numpy as np
import pytest
from test_guard import emulator

from fabric.engine import crew
from fabric.engine.crew import Crew
from fabric.engine.dealing import deal_tasks, gather
from fabric.engine.loop import play
from fabric.errors import FabricError
from fabric.state.atomic import fetch_add, load_acquire, replace_if, store_release
from fabric.state.codes import LINE, N_MAIL, N_SHARED, Mail, Shared, Stop
from fabric.state.jit import is_compiled
from fabric.state.types import State

REALLY_IDLE = crew.idle_processors


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers are invited whatever else this machine does."""
    monkeypatch.setattr(crew, "idle_processors", lambda: 8)


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_ends_in_the_state_of_one(threads: int) -> None:
    alone, together = emulator("all-to-all"), emulator("all-to-all", threads=threads)
    for engine in (alone, together):
        engine.advance(10**11)
    assert together.finished
    assert together.digest() == alone.digest()
    assert together.drain_events().tobytes() == alone.drain_events().tobytes()


def test_every_event_is_counted_by_the_thread_that_played_it() -> None:
    engine = emulator("all-to-all", threads=2)
    engine.advance(10**11)
    assert int(engine.state.threads["events"].sum()) == engine.events > 0


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_device_is_in_exactly_one_task_and_one_share(threads: int) -> None:
    assert_dealt(emulator("permutation", threads=threads).state)


def assert_dealt(state: State) -> None:
    """Tasks, shares, and what ports know of the other side's share agree."""
    slots = [range(task["first"], task["first"] + task["count"]) for task in state.tasks]
    devices = [state.roster[places].tolist() for places in slots]
    assert sorted(device for members in devices for device in members) == list(range(len(state.devices)))
    assert [state.devices["slot"][members].tolist() for members in devices] == [list(places) for places in slots]
    dealt = [state.dealt[row["first"] : row["first"] + row["count"]].tolist() for row in state.threads]
    assert sorted(task for share in dealt for task in share) == list(range(len(state.tasks)))
    for share, tasks in enumerate(dealt):
        assert {int(state.devices["share"][device]) for task in tasks for device in devices[task]} <= {share}
    assert (state.ports["peer_share"] == state.devices["share"][state.ports["peer_node"]]).all()


def test_tasks_change_hands_until_shares_are_even() -> None:
    """Everything happens below one thread's leaves; the others get tasks, and what belongs together stays together."""
    engine = emulator("permutation", threads=3)
    state = engine.state
    row = state.threads[0]
    busy = state.dealt[row["first"] : row["first"] + row["count"]].copy()
    state.tasks["load"][busy] = 100
    row["played_ticks"] = 100 * len(busy)
    loads = state.tasks["load"].copy()
    deal_tasks(state, 0)
    assert_dealt(state)
    found = [int(loads[state.dealt[it["first"] : it["first"] + it["count"]]].sum()) for it in state.threads]
    assert max(found) < 100 * len(busy)
    assert sum(found) == 100 * len(busy)
    assert not state.tasks["load"].any()
    engine.advance(10**11)
    alone = emulator("permutation")
    alone.advance(10**11)
    assert engine.digest() == alone.digest()


def test_tasks_come_back_to_where_they_were_with_everything_that_is_under_way() -> None:
    alone, together = emulator("all-to-all"), emulator("all-to-all", threads=3)
    together._crew._helpers = []
    alone.advance(10**11)
    first = together.state.devices["share"].copy()
    for step, share in enumerate((0, -1, 2, 1, -1)):
        together.advance((step + 1) * 4_000_000)
        gather(together.state, share)
        assert_dealt(together.state)
        assert set(together.state.devices["share"].tolist()) == ({share} if share >= 0 else set(first.tolist()))
    assert together.state.devices["share"].tolist() == first.tolist()
    together.advance(10**11)
    assert together.digest() == alone.digest()


def test_a_task_that_was_stopped_for_want_of_room_stays_where_its_log_is() -> None:
    """Else two events of one moment could be logged in two regions, the later one in front."""
    state = emulator("permutation", threads=3).state
    row = state.threads[0]
    busy = state.dealt[row["first"] : row["first"] + row["count"]].copy()
    state.tasks["load"][busy] = 100
    row["played_ticks"] = 100 * len(busy)
    state.next_ps[:] = 1000
    ahead = state.tasks[busy[0]]
    state.next_ps[ahead["first"] : ahead["first"] + ahead["count"]] = 2000
    before = state.devices["share"].copy()
    deal_tasks(state, 2000)
    moved = np.flatnonzero(state.devices["share"] != before)
    assert moved.tolist() == sorted(state.roster[ahead["first"] : ahead["first"] + ahead["count"]].tolist())
    assert_dealt(state)


def test_a_budget_ends_at_one_moment_for_all_devices_though_shares_are_crowded() -> None:
    """What is scheduled there must not come after what somebody has played already."""
    alone, together = emulator("all-to-all"), emulator("all-to-all", threads=3)
    together.state.config[0]["outbox_rows"] = int(together.state.devices["reserve"].max())
    for _ in range(20):
        assert together.advance(10**11, budget=3) is Stop.BUDGET
        alone.advance(together.now_ps)
        assert together.digest() == alone.digest()
    assert int(together.state.threads[0]["windows"]) > 60


def test_judging_helpers_does_not_overflow_in_a_long_stretch_of_a_large_fabric() -> None:
    """10**6 events and 5 * 10**8 ticks a window, 2,048 windows: products of more than 2**63."""
    engine = emulator("permutation", threads=2)
    row = engine.state.threads[0]
    for field, value in (("own_ticks", 10**12), ("waited_ticks", 10**9), ("own_events", 10**9),
                         ("shared_events", 2 * 10**9 + 10**9 * 9)):
        row[field] = value
    play(engine.state, 1, 0, 1)
    assert not row["dear"]


def test_one_shortage_doubles_the_packet_table_once_however_many_shares_have_it() -> None:
    engine = emulator("permutation", threads=3)
    state = engine.state
    rows = len(state.packets)
    state.devices["free_count"] = 0     # nobody has any to give
    state.threads["stop"], state.threads["stop_device"] = Stop.PACKETS, [0, 5, 17]
    engine._supply_packets()
    assert len(engine.state.packets) == 2 * rows


def test_who_waited_for_its_processor_counts_as_a_quarter_slower_at_most() -> None:
    state = emulator("permutation", threads=2).state
    state.tasks["load"] = 100
    state.threads["played_ticks"] = [10_000, 10_000_000]
    before = state.threads["count"].copy()
    deal_tasks(state, 0)
    assert_dealt(state)
    assert abs(int(state.threads[0]["count"]) - int(before[0])) <= len(state.tasks) // 4


def test_shares_that_send_each_other_more_than_a_window_may_go_on_in_the_next() -> None:
    alone, together = emulator("all-to-all"), emulator("all-to-all", threads=2)
    together.state.config[0]["outbox_rows"] = 2 * int(together.state.devices["reserve"].max())
    for engine in (alone, together):
        engine.advance(10**11)
    assert together.digest() == alone.digest()
    assert int(together.state.threads[0]["windows"]) > int(alone.state.threads[0]["windows"])


class _Helpless:
    """A helper that is invited and never comes."""

    def __init__(self) -> None:
        self.invited = 0

    def is_there(self, state: object) -> bool:
        return False

    def forget(self, state: object) -> None:
        pass

    def invite(self, state: object, generation: int) -> None:
        self.invited += 1


def test_nobody_is_invited_to_processors_that_others_use(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = emulator("permutation", threads=2)
    helper = _Helpless()
    engine._crew._helpers = [helper]
    monkeypatch.setattr(crew, "idle_processors", lambda: 0)
    engine.advance(20_000_000)
    assert helper.invited == 0
    assert set(engine.state.devices["share"].tolist()) == {0}
    monkeypatch.setattr(crew, "idle_processors", lambda: 1)
    engine._crew._away_until = 0
    engine.advance(10**11)
    assert helper.invited > 0
    alone = emulator("permutation")
    alone.advance(10**11)
    assert engine.digest() == alone.digest()


@pytest.mark.parametrize(("text", "idle"), [
    ("0.20 0.10 0.05 1/345 999\n", 3), ("9 9 9 4/345 999\n", 0), ("nonsense", 4)])
def test_idle_processors_are_those_without_a_running_thread(text: str, idle: int, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(crew, "_LOAD", tmp_path / "loadavg")
    assert REALLY_IDLE() == 4
    (tmp_path / "loadavg").write_text(text)
    assert REALLY_IDLE() == idle


def test_a_helper_that_never_comes_is_not_waited_for() -> None:
    alone, together = emulator("permutation"), emulator("permutation", threads=2)
    absent = _Helpless()
    together._crew._helpers = [absent]
    for engine in (alone, together):
        engine.advance(10**11)
    assert absent.invited > 0
    assert together.digest() == alone.digest()


def test_helpers_that_cost_more_than_they_do_stay_away_twice_as_long_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(crew.time, "monotonic", lambda: now[0])
    state = emulator("permutation", threads=2).state
    team = Crew(1)
    row = state.threads[0]
    leaves = []
    for dear in (1, 1, 1, 0, 1):
        row["shared_windows"], row["dear"] = 10, dear
        team._judge(state)
        leaves.append(team._away_until - now[0])
    assert leaves[1] == pytest.approx(2 * leaves[0])
    assert leaves[2] == pytest.approx(4 * leaves[0])
    assert leaves[4] == pytest.approx(leaves[0])


@pytest.mark.parametrize(("waited_ticks", "dear"), [(400, False), (600, True)])
def test_helpers_are_dear_when_waiting_eats_half_of_what_they_save(waited_ticks: int, dear: bool) -> None:
    """They played as many events as the coordinator in 1,000 ticks, so they saved it 1,000."""
    engine = emulator("permutation", threads=2)
    row = engine.state.threads[0]
    for field, value in (("own_ticks", 1000), ("waited_ticks", waited_ticks), ("own_events", 5000),
                         ("shared_events", 10_000)):
        row[field] = value
    play(engine.state, 1, 0, 1)
    assert bool(row["dear"]) == dear


@pytest.mark.skipif(not is_compiled(), reason="plain Python has no helpers")
def test_helpers_end_with_their_emulator() -> None:
    before = set(threading.enumerate())
    engine = emulator("permutation", threads=3)
    helpers = set(threading.enumerate()) - before
    assert {helper.name for helper in helpers} == {"helper-1", "helper-2"}
    del engine
    gc.collect()
    for helper in helpers:
        helper.join(timeout=10)
        assert not helper.is_alive()


def test_no_threads_are_refused() -> None:
    with pytest.raises(FabricError, match="0 threads"):
        emulator("permutation", threads=0)


def test_atomic_words_do_in_plain_python_what_their_names_say() -> None:
    words = np.zeros(4, np.int64)
    store_release(words, 2, 7)
    assert fetch_add(words, 2, -3) == 7
    assert load_acquire(words, 2) == 4
    assert not replace_if(words, 2, 5, 9)
    assert replace_if(words, 2, 4, 9)
    assert words.tolist() == [0, 0, 9, 0]


def test_shared_words_do_not_share_cache_lines() -> None:
    state = emulator("permutation", threads=2).state
    assert len(state.shared) == LINE * (N_SHARED + N_MAIL * 2)
    assert (len(Shared), len(Mail)) == (N_SHARED, N_MAIL)
