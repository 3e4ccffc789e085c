"""Threads change who plays what, never what is played."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pytest
from test_guard import emulator

from fabric.engine import crew, stretch
from fabric.engine.crew import Crew
from fabric.engine.dealing import deal_tasks
from fabric.engine.loop import play
from fabric.errors import FabricError
from fabric.state.atomic import fetch_add, load_acquire, replace_if, store_release
from fabric.state.codes import LINE, N_MAIL, N_SHARED, Mail, Shared, Stop
from fabric.state.jit import is_compiled
from fabric.state.types import CACHE_LINE, State

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
def test_every_device_is_in_one_task_and_every_task_has_one_owner(threads: int) -> None:
    assert_dealt(emulator("permutation", threads=threads).state)


def assert_dealt(state: State) -> None:
    """Tasks, lists of tasks, and what ports know of their peers' tasks agree; hosts belong to their switch's owner."""
    devices = [state.roster[task["first"] : task["first"] + task["count"]].tolist() for task in state.tasks]
    assert sorted(device for members in devices for device in members) == list(range(len(state.devices)))
    for task, members in enumerate(devices):
        first = int(state.tasks[task]["first"])
        assert state.devices["slot"][members].tolist() == list(range(first, first + len(members)))
    dealt = [state.dealt[row["first"] : row["first"] + row["count"]].tolist() for row in state.lists]
    assert sorted(task for tasks in dealt for task in tasks) == list(range(len(state.tasks)))
    homed, groups = state.tasks["homed"].astype(bool), len(dealt) // len(state.threads)
    group = np.where(homed, groups - 1, state.tasks["side"])
    for row, tasks in enumerate(dealt):
        found = zip(group[tasks].tolist(), state.tasks["owner"][tasks].tolist(), strict=True)
        assert {divmod(row, len(state.threads))} >= set(found)
        if row >= (groups - 1) * len(state.threads):
            switches = dealt[row % len(state.threads)]
            order = [switches.index(task) for task in state.tasks["family"][tasks]]
            assert order == sorted(order), "hosts in the order of their switches"
    assert (state.tasks["owner"] == state.tasks["owner"][state.tasks["family"]]).all()
    task_of = {device: task for task, members in enumerate(devices) for device in members}
    assert state.wires["task"].tolist() == [task_of[int(node)] for node in state.ports["peer_node"]]
    assert state.wires["inbox"].tolist() == state.tasks["inbox"][state.wires["task"]].tolist()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_cable_leads_to_the_other_side(threads: int) -> None:
    state = emulator("permutation", threads=threads).state
    side = state.tasks["side"][state.wires["task"]]
    assert (side != side[state.wires["port"]]).all()
    assert len(state.lists) == 3 * threads
    assert (state.tasks["homed"].astype(bool) == (state.tasks["family"] != np.arange(len(state.tasks)))).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_inbox_has_room_for_every_wire_to_its_task_once_for_data_and_once_for_pauses(threads: int) -> None:
    state = emulator("permutation", threads=threads).state
    room = np.diff([*state.tasks["inbox"].tolist(), int(state.config[0]["inbox_rows"])])
    assert (room >= 2 * np.bincount(state.wires["task"], minlength=len(state.tasks))).all()
    assert (state.tasks["inbox"] % LINE == 0).all()
    assert len(state.inbox) == 2 * threads * int(state.config[0]["inbox_rows"])


def load(state: State, of_owner: int) -> int:
    """All work is where one thread's tasks are."""
    busy = state.tasks["owner"] == of_owner
    state.tasks["events"] = np.where(busy, 100, 0)
    state.tasks["ticks"] = np.where(busy, 10_000, 0)
    return int(busy.sum())


def test_families_change_owners_until_lists_are_even() -> None:
    engine = emulator("permutation", threads=3)
    state = engine.state
    busy = load(state, 0)
    loads = state.tasks["events"].copy()
    deal_tasks(state)
    assert_dealt(state)
    found = [int(loads[state.tasks["owner"] == owner].sum()) for owner in range(3)]
    biggest = max(int(loads[state.tasks["family"] == task].sum()) for task in range(len(state.tasks)))
    assert max(found) - min(found) <= biggest < sum(found) == 100 * busy
    for side in range(2):
        ours = state.tasks["side"] == side
        found = [int(loads[ours & (state.tasks["owner"] == owner)].sum()) for owner in range(3)]
        assert state.lists["load"][3 * side :][:3].tolist() == [100 * load for load in found]
    assert not state.tasks["events"].any()
    assert not state.tasks["ticks"].any()
    engine.advance(10**11)
    alone = emulator("permutation")
    alone.advance(10**11)
    assert engine.digest() == alone.digest()


def test_dealing_what_is_even_changes_nothing() -> None:
    state = emulator("permutation", threads=2).state
    state.tasks["events"], state.tasks["ticks"] = 100, 10_000
    before = state.dealt.copy(), state.lists[["first", "count"]].copy()
    deal_tasks(state)
    assert (state.dealt == before[0]).all()
    assert (state.lists[["first", "count"]] == before[1]).all()


def test_what_took_longest_is_played_first() -> None:
    state = emulator("permutation", threads=2).state
    took = (1000 * 1.2 ** np.random.default_rng(4).permutation(len(state.tasks))).astype(int)
    state.tasks["events"], state.tasks["ticks"] = took, 100 * took
    deal_tasks(state)
    assert_dealt(state)
    for row in state.lists[:2]:         # of leaves
        times = took[state.dealt[row["first"] : row["first"] + row["count"]]].tolist()
        assert len(times) > 1
        assert times == sorted(times, reverse=True)
    before = state.dealt.copy()
    took = (took * np.random.default_rng(5).uniform(0.97, 1.03, len(took))).astype(int)
    state.tasks["events"], state.tasks["ticks"] = took, 100 * took
    deal_tasks(state)
    assert (state.dealt == before).all(), "noise moves nothing"


def test_whoever_played_a_task_last_another_may_play_it_next() -> None:
    """Every few windows all tasks change hands; what is under way is taken over all the same."""
    alone, together = emulator("all-to-all"), emulator("all-to-all", threads=3)
    together._crew._helpers = []
    alone.advance(10**11)
    for step, owner in enumerate((0, 2, 1, 0, 2)):
        together.advance((step + 1) * 4_000_000)
        load(together.state, owner)
        deal_tasks(together.state)
        assert_dealt(together.state)
        together.state.devices["player"] = together.state.tasks["player"] = owner
        together._collect_events()
    together.advance(10**11)
    assert together.digest() == alone.digest()


def test_tasks_that_have_nothing_to_do_are_passed_by() -> None:
    engine = emulator("alone")
    state = engine.state
    state.tasks["player"] = 1                                    # whoever is played gets the only player there is
    engine.advance(10**11)
    assert engine.finished
    busy = [bool(state.devices["events"][state.roster[task["first"] : task["first"] + task["count"]]].any())
            for task in state.tasks]
    assert 0 < sum(busy) < len(busy)
    assert (state.tasks["player"] == 0).tolist() == busy


def test_every_task_of_an_open_window_is_claimed_once_from_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    state = emulator("permutation", threads=2).state
    plain(monkeypatch, "mail", "list_of", "sides")
    claim, open_list = (getattr(kernel, "py_func", kernel) for kernel in (stretch.claim, stretch.open_list))
    window = 3 + (5 << 23)              # of the second side; its number has more bits than a list keeps
    state.lists[3]["first"], state.lists[3]["count"] = first, count = 11, 6
    open_list(state, window, 1)
    assert claim(state, window + 2, 1, True) == claim(state, window - 2, 1, False) == -1, "not open yet, or no more"
    taken = [claim(state, window, 1, from_end) for from_end in (False, True, True, *[False] * count)]
    end = first + count
    assert taken == [first, end - 1, end - 2, *range(first + 1, end - 2), -1, -1, -1]


def plain(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Functions of engine/stretch call these as plain Python."""
    for name in names:
        monkeypatch.setattr(stretch, name, getattr(getattr(stretch, name), "py_func", getattr(stretch, name)))


def test_hosts_are_played_early_up_to_the_first_whose_switch_another_thread_has_taken(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight homed hosts of thread 1, behind four switches of which thread 0 took the third in the window before."""
    state = emulator("permutation", threads=2).state
    plain(monkeypatch, "sides", "ticks", "_play_timed")
    played: list[int] = []
    monkeypatch.setattr(stretch, "play_task", lambda _, player, task, horizon_ps: played.append(task) or 7)
    monkeypatch.setattr(stretch.wire, "ask_ahead", lambda *_: None)
    monkeypatch.setattr(stretch.wire, "seen", getattr(stretch.wire.seen, "py_func", stretch.wire.seen))
    monkeypatch.setattr(stretch, "homed_list", lambda _, owner: 5)
    window, hosts, switches = 40, range(2, 10), [0, 0, 1, 1, 10, 10, 11, 11]
    state = state._replace(tasks=np.zeros(12, state.tasks.dtype), dealt=np.arange(12, dtype=np.uint32))
    state.lists[5]["first"], state.lists[5]["count"] = hosts.start, len(hosts)
    state.tasks["family"][hosts] = switches
    state.tasks["seen"][[0, 1, 11]], state.tasks["seen"][10] = 2 * (window - 1) + 1, 2 * (window - 1)
    play_homed = getattr(stretch._play_homed, "py_func", stretch._play_homed)
    assert play_homed(state, 1, 1, window, 0, True, 0) == 4, "half of them, whoever played the others' switches"
    assert played == [2, 3, 4, 5]
    state.tasks["seen"][1] = 2 * (window - 1)
    assert play_homed(state, 1, 1, window, 0, True, 0) == 2
    state.tasks["seen"][1] = 2 * (window - 3) + 1
    assert play_homed(state, 1, 1, window, 0, True, 0) == 2, "nor one that it has played earlier only"
    played.clear()
    assert play_homed(state, 1, 1, window, 2, False, 0) == len(hosts)
    assert played == [4, 5, 6, 7, 8, 9]
    assert state.tasks["events"][hosts].tolist() == [21, 21, 14, 14, 7, 7, 7, 7]


def test_a_budget_ends_at_one_moment_for_all_devices() -> None:
    """What is scheduled there must not come after what somebody has played already."""
    alone, together = emulator("all-to-all"), emulator("all-to-all", threads=3)
    steps = 0
    while together.advance(10**11, budget=1) is Stop.BUDGET:
        alone.advance(together.now_ps)
        assert together.digest() == alone.digest()
        steps += 1
    assert steps > 10


def test_judging_helpers_does_not_overflow_in_a_long_stretch_of_a_large_fabric() -> None:
    """10**6 events and 5 * 10**8 ticks a window, 2,048 windows: products of more than 2**63."""
    engine = emulator("permutation", threads=2)
    row = engine.state.threads[0]
    for field, value in (("own_ticks", 10**12), ("waited_ticks", 10**9), ("own_events", 10**9),
                         ("shared_events", 2 * 10**9 + 10**9 * 9)):
        row[field] = value
    play(engine.state, 1, 0, 1, 0)
    assert not row["dear"]


def test_one_shortage_doubles_the_packet_table_once_however_many_players_have_it() -> None:
    engine = emulator("permutation", threads=3)
    state = engine.state
    rows = len(state.packets)
    state.devices["free_count"] = 0     # nobody has any to give
    state.threads["stop"], state.threads["stop_device"] = Stop.PACKETS, [0, 5, 17]
    engine._supply_packets()
    assert len(engine.state.packets) == 2 * rows


def test_a_task_whose_player_waited_for_its_processor_counts_as_twice_as_slow_at_most() -> None:
    state = emulator("permutation", threads=2).state
    state.tasks["events"], state.tasks["ticks"] = 100, 10_000
    state.tasks["ticks"][state.dealt[0]] = 10**9
    before = state.lists["count"].copy()
    deal_tasks(state)
    assert_dealt(state)
    assert (np.abs(state.lists["count"].astype(int) - before) <= len(state.tasks) // 4).all()


class _Helpless:
    """A helper that is invited and never comes."""

    def __init__(self) -> None:
        self.invited = 0

    def is_there(self, state: object) -> bool:
        return False

    def forget(self, state: object) -> None:
        pass

    def invite(self, state: State, generation: int) -> None:
        assert state.shared[Shared.GENERATION * LINE] == generation, "who comes at once would leave at once"
        self.invited += 1


def test_nobody_is_invited_to_processors_that_others_use(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = emulator("permutation", threads=2)
    helper = _Helpless()
    engine._crew._helpers = [helper]
    monkeypatch.setattr(crew, "idle_processors", lambda: 0)
    engine.advance(20_000_000)
    assert helper.invited == 0
    assert set(engine.state.tasks["player"].tolist()) == {0}
    monkeypatch.setattr(crew, "idle_processors", lambda: 1)
    engine._crew._away_until = 0
    engine.advance(10**11)
    assert helper.invited > 0
    alone = emulator("permutation")
    alone.advance(10**11)
    assert engine.digest() == alone.digest()


@pytest.mark.parametrize(("text", "allowed", "idle"), [
    ("0.20 0.10 0.05 1/345 999\n", 4, 3), ("9 9 9 4/345 999\n", 4, 0), ("nonsense", 4, 3),
    ("0.20 0.10 0.05 1/345 999\n", 2, 1), ("0.20 0.10 0.05 1/345 999\n", 1, 0), ("nonsense", 1, 0)])
def test_idle_processors_are_those_of_ours_without_a_running_thread(text: str, allowed: int, idle: int, tmp_path: Path,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(crew.os, "sched_getaffinity", lambda _: set(range(allowed)), raising=False)
    monkeypatch.setattr(crew, "_LOAD", tmp_path / "loadavg")
    assert REALLY_IDLE() == allowed - 1
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
    play(engine.state, 1, 0, 1, 0)
    assert bool(row["dear"]) == dear


@pytest.mark.parametrize("generation", [0, 1])
def test_helpers_that_are_invited_again_are_judged_anew_and_what_was_long_ago_counts_half(generation: int) -> None:
    state = emulator("permutation", threads=2).state
    row, counters = state.threads[0], ("shared_windows", "shared_events", "own_events", "own_ticks", "waited_ticks")
    for place, counter in enumerate(counters):
        row[counter] = (4 << 20) + 2 * place
    row["dear"], row["waited_ticks"], row["own_events"] = 1, 10, 2 << 20
    before = [int(row[counter]) for counter in counters]
    play(state, generation, 0, 1, 0)
    if generation:
        assert row["dear"] == 0
        assert [2 * int(row[counter]) for counter in counters] == before
    else:
        assert row["dear"] == 1
        assert [int(row[counter]) for counter in counters] == before


def test_a_helper_is_asked_once_for_each_state_unless_it_has_come() -> None:
    state = emulator("permutation", threads=2).state
    helper = crew._Helper.__new__(crew._Helper)
    helper.jobs, helper._asked, helper._present = SimpleQueue(), 0, (N_SHARED + N_MAIL + Mail.PRESENT) * LINE
    for generation, queued in ((1, 1), (1, 1), (2, 2)):
        helper.invite(state, generation)
        assert helper.jobs.qsize() == queued
    state.shared[helper._present] = 1
    helper.invite(state, 3)
    assert helper.jobs.qsize() == 2


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


def test_what_threads_write_shares_no_pair_of_cache_lines() -> None:
    state = emulator("permutation", threads=2).state
    pair = 2 * CACHE_LINE
    for table in (state.devices, state.switches, state.rqps, state.threads, state.tasks):
        assert table.itemsize % pair == table.ctypes.data % pair == 0
    for words in (state.shared, state.next_ps, state.inbox_count, state.inbox):
        assert words.ctypes.data % pair == 0
    assert LINE * state.shared.itemsize == pair
    assert (state.tasks["first"] % LINE == 0).all()
    assert len(state.shared) == LINE * (N_SHARED + N_MAIL * 2)
    assert (len(Shared), len(Mail)) == (N_SHARED, N_MAIL)
