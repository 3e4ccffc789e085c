"""Threads change who plays what, never what is played."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from test_guard import emulator

from fabric.engine import crew
from fabric.engine.crew import Crew
from fabric.errors import FabricError
from fabric.state.atomic import fetch_add, load_acquire, replace_if, store_release
from fabric.state.codes import LINE, N_SHARED, Shared


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


def test_every_device_is_in_exactly_one_task() -> None:
    state = emulator("permutation", threads=3).state
    tasks = np.concatenate([state.roster[task["first"] : task["first"] + task["count"]] for task in state.tasks])
    assert sorted(tasks.tolist()) == list(range(len(state.devices)))
    claimed = sorted(index for row in state.threads for index in range(row["first"], row["first"] + row["count"]))
    assert claimed == list(range(int(np.count_nonzero(state.tasks["count"]))))


class _Helpless:
    """A helper that is invited and never comes."""

    def __init__(self) -> None:
        self.invited = 0

    def forget(self, state: object) -> None:
        pass

    def invite(self, state: object, generation: int) -> None:
        self.invited += 1


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
    row["shared_windows"], row["own_ticks"], row["waited_ticks"] = 10, 1000, 5000
    leaves = []
    for _ in range(3):
        team._judge(state, np.array([500, 500]))
        leaves.append(team._away_until - now[0])
    assert leaves[1] == pytest.approx(2 * leaves[0])
    assert leaves[2] == pytest.approx(4 * leaves[0])
    row["waited_ticks"] = 100
    team._judge(state, np.array([500, 500]))
    row["waited_ticks"] = 5000
    team._judge(state, np.array([500, 500]))
    assert team._away_until - now[0] == pytest.approx(leaves[0])


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
    assert len(state.shared) == LINE * (N_SHARED + 2 * 2)
    assert len({word * LINE * 8 // 64 for word in Shared}) == N_SHARED
