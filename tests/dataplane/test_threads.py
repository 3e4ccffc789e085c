"""The number of threads changes the assignment of tasks, never the result."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pytest
from test_guard import emulator

from fabric.dataplane.engine.loop import simulate
from fabric.dataplane.engine.parallel import epoch, workers
from fabric.dataplane.engine.parallel.balancing import balance_tasks
from fabric.dataplane.engine.parallel.workers import WorkerPool
from fabric.dataplane.state.codes import LINE, N_MAIL, N_SHARED, Mail, Shared, Stop
from fabric.dataplane.state.compiled.atomic import fetch_add, load_acquire, replace_if, store_release
from fabric.dataplane.state.compiled.jit import is_compiled
from fabric.dataplane.state.layout import CACHE_LINE
from fabric.dataplane.state.types import State
from fabric.errors import FabricError
from tests.waiting import LIMIT_S

REALLY_IDLE = workers.idle_processors


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are invited independent of this machine's load."""
    monkeypatch.setattr(workers, "idle_processors", lambda: 8)


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_ends_in_the_state_of_one(threads: int) -> None:
    alone, together = emulator("all-to-all"), emulator("all-to-all", threads=threads)
    for engine in (alone, together):
        engine.advance(10**11)
    assert together.finished
    assert together.digest() == alone.digest()
    assert together.drain_events().tobytes() == alone.drain_events().tobytes()


def test_every_event_is_counted_by_its_thread() -> None:
    engine = emulator("all-to-all", threads=2)
    engine.advance(10**11)
    assert int(engine.state.threads["events"].sum()) == engine.events > 0


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_device_is_in_one_task_and_every_task_has_one_owner(threads: int) -> None:
    assert_assigned(emulator("permutation", threads=threads).state)


def assert_assigned(state: State) -> None:
    """Tasks, lists of tasks, and the ports' entries of peer tasks agree; hosts have their switch's owner."""
    devices = [state.roster[task["first"] : task["first"] + task["count"]].tolist() for task in state.tasks]
    assert sorted(device for members in devices for device in members) == list(range(len(state.devices)))
    for task, members in enumerate(devices):
        first = int(state.tasks[task]["first"])
        assert state.devices["slot"][members].tolist() == list(range(first, first + len(members)))
    assigned = [state.assigned[row["first"] : row["first"] + row["count"]].tolist() for row in state.lists]
    assert sorted(task for tasks in assigned for task in tasks) == list(range(len(state.tasks)))
    homed, groups = state.tasks["homed"].astype(bool), len(assigned) // len(state.threads)
    group = np.where(homed, groups - 1, state.tasks["side"])
    for row, tasks in enumerate(assigned):
        found = zip(group[tasks].tolist(), state.tasks["owner"][tasks].tolist(), strict=True)
        assert {divmod(row, len(state.threads))} >= set(found)
        if row >= (groups - 1) * len(state.threads):
            switches = assigned[row % len(state.threads)]
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
    """All work is in one thread's tasks."""
    busy = state.tasks["owner"] == of_owner
    state.tasks["events"] = np.where(busy, 100, 0)
    state.tasks["ticks"] = np.where(busy, 10_000, 0)
    return int(busy.sum())


def test_families_change_owners_until_lists_are_even() -> None:
    engine = emulator("permutation", threads=3)
    state = engine.state
    busy = load(state, 0)
    loads = state.tasks["events"].copy()
    balance_tasks(state)
    assert_assigned(state)
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


def test_rebalancing_even_lists_changes_nothing() -> None:
    state = emulator("permutation", threads=2).state
    state.tasks["events"], state.tasks["ticks"] = 100, 10_000
    before = state.assigned.copy(), state.lists[["first", "count"]].copy()
    balance_tasks(state)
    assert (state.assigned == before[0]).all()
    assert (state.lists[["first", "count"]] == before[1]).all()


def test_the_longest_task_is_simulated_first() -> None:
    state = emulator("permutation", threads=2).state
    took = (1000 * 1.2 ** np.random.default_rng(4).permutation(len(state.tasks))).astype(int)
    state.tasks["events"], state.tasks["ticks"] = took, 100 * took
    balance_tasks(state)
    assert_assigned(state)
    for row in state.lists[:2]:  # of leaves
        times = took[state.assigned[row["first"] : row["first"] + row["count"]]].tolist()
        assert len(times) > 1
        assert times == sorted(times, reverse=True)
    before = state.assigned.copy()
    took = (took * np.random.default_rng(5).uniform(0.97, 1.03, len(took))).astype(int)
    state.tasks["events"], state.tasks["ticks"] = took, 100 * took
    balance_tasks(state)
    assert (state.assigned == before).all(), "noise moves nothing"


def test_tasks_may_change_threads_between_windows() -> None:
    """Every few windows all tasks change threads; frames in flight are taken over all the same."""
    alone, together = emulator("all-to-all"), emulator("all-to-all", threads=3)
    together._workers._workers = []
    alone.advance(10**11)
    for step, owner in enumerate((0, 2, 1, 0, 2)):
        together.advance((step + 1) * 4_000_000)
        load(together.state, owner)
        balance_tasks(together.state)
        assert_assigned(together.state)
        together.state.devices["thread"] = together.state.tasks["thread"] = owner
        together._collect_events()
    together.advance(10**11)
    assert together.digest() == alone.digest()


def test_tasks_that_have_nothing_to_do_are_passed_by() -> None:
    engine = emulator("alone")
    state = engine.state
    state.tasks["thread"] = 1  # each simulated task gets the only thread
    engine.advance(10**11)
    assert engine.finished
    busy = [
        bool(state.devices["events"][state.roster[task["first"] : task["first"] + task["count"]]].any())
        for task in state.tasks
    ]
    assert 0 < sum(busy) < len(busy)
    assert (state.tasks["thread"] == 0).tolist() == busy


def test_every_task_of_an_open_window_is_claimed_once_from_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    state = emulator("permutation", threads=2).state
    plain(monkeypatch, "mail", "list_of", "sides")
    claim, open_list = (getattr(kernel, "py_func", kernel) for kernel in (epoch.claim, epoch.open_list))
    window = 3 + (5 << 23)  # of the second side; its number has more bits than a list keeps
    state.lists[3]["first"], state.lists[3]["count"] = first, count = 11, 6
    open_list(state, window, 1)
    assert claim(state, window + 2, 1, True) == claim(state, window - 2, 1, False) == -1, "not open yet, or no more"
    taken = [claim(state, window, 1, from_end) for from_end in (False, True, True, *[False] * count)]
    end = first + count
    assert taken == [first, end - 1, end - 2, *range(first + 1, end - 2), -1, -1, -1]


def plain(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Functions of engine/parallel/epoch call these as plain Python."""
    for name in names:
        monkeypatch.setattr(epoch, name, getattr(getattr(epoch, name), "py_func", getattr(epoch, name)))


def test_hosts_run_early_up_to_the_first_whose_switch_another_thread_has_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight homed hosts of thread 1, behind four switches; thread 0 took the third in the window before."""
    state = emulator("permutation", threads=2).state
    plain(monkeypatch, "sides", "ticks", "_run_timed")
    simulated: list[int] = []
    monkeypatch.setattr(epoch, "run_task", lambda _, thread, task, horizon_ps: simulated.append(task) or 7)
    monkeypatch.setattr(epoch.wire, "prefetch_inbox", lambda *_: None)
    monkeypatch.setattr(epoch.wire, "seen", getattr(epoch.wire.seen, "py_func", epoch.wire.seen))
    monkeypatch.setattr(epoch, "homed_list", lambda _, owner: 5)
    window, hosts, switches = 40, range(2, 10), [0, 0, 1, 1, 10, 10, 11, 11]
    state = state._replace(tasks=np.zeros(12, state.tasks.dtype), assigned=np.arange(12, dtype=np.uint32))
    state.lists[5]["first"], state.lists[5]["count"] = hosts.start, len(hosts)
    state.tasks["family"][hosts] = switches
    state.tasks["seen"][[0, 1, 11]], state.tasks["seen"][10] = 2 * (window - 1) + 1, 2 * (window - 1)
    run_homed = getattr(epoch._run_homed, "py_func", epoch._run_homed)
    assert run_homed(state, 1, 1, window, 0, True, 0) == 4, "half of them, for any thread of the others' switches"
    assert simulated == [2, 3, 4, 5]
    state.tasks["seen"][1] = 2 * (window - 1)
    assert run_homed(state, 1, 1, window, 0, True, 0) == 2
    state.tasks["seen"][1] = 2 * (window - 3) + 1
    assert run_homed(state, 1, 1, window, 0, True, 0) == 2, "nor one that this thread ran only in an earlier window"
    simulated.clear()
    assert run_homed(state, 1, 1, window, 2, False, 0) == len(hosts)
    assert simulated == [4, 5, 6, 7, 8, 9]
    assert state.tasks["events"][hosts].tolist() == [21, 21, 14, 14, 7, 7, 7, 7]


def test_a_budget_ends_at_one_moment_for_all_devices() -> None:
    """A scheduled event must not be before the time that another thread has already reached."""
    alone, together = emulator("all-to-all"), emulator("all-to-all", threads=3)
    steps = 0
    while together.advance(10**11, budget=1) is Stop.BUDGET:
        alone.advance(together.now_ps)
        assert together.digest() == alone.digest()
        steps += 1
    assert steps > 10


def test_the_pay_off_does_not_overflow_in_a_long_epoch_of_a_large_fabric() -> None:
    """10**6 events and 5 * 10**8 ticks a window, 2,048 windows: products of more than 2**63."""
    engine = emulator("permutation", threads=2)
    row = engine.state.threads[0]
    for field, value in (
        ("own_ticks", 10**12),
        ("waited_ticks", 10**9),
        ("own_events", 10**9),
        ("shared_events", 2 * 10**9 + 10**9 * 9),
    ):
        row[field] = value
    simulate(engine.state, 1, 0, 1, 0)
    assert not row["unprofitable"]


def test_one_shortage_doubles_the_packet_table_once_however_many_threads_have_it() -> None:
    engine = emulator("permutation", threads=3)
    state = engine.state
    rows = len(state.packets)
    state.devices["free_count"] = 0  # no device has a row to give
    state.threads["stop"], state.threads["stop_device"] = Stop.PACKETS, [0, 5, 17]
    engine._supply_packets()
    assert len(engine.state.packets) == 2 * rows


def test_a_task_whose_thread_lost_its_processor_counts_as_twice_as_slow_at_most() -> None:
    state = emulator("permutation", threads=2).state
    state.tasks["events"], state.tasks["ticks"] = 100, 10_000
    state.tasks["ticks"][state.assigned[0]] = 10**9
    before = state.lists["count"].copy()
    balance_tasks(state)
    assert_assigned(state)
    assert (np.abs(state.lists["count"].astype(int) - before) <= len(state.tasks) // 4).all()


class _AbsentWorker:
    """A worker that is invited and never joins."""

    def __init__(self) -> None:
        self.invited = 0

    def is_present(self, state: object) -> bool:
        return False

    def forget(self, state: object) -> None:
        pass

    def invite(self, state: State, generation: int) -> None:
        assert state.shared[Shared.GENERATION * LINE] == generation, "a worker that joins at once would return at once"
        self.invited += 1


def test_no_worker_is_invited_to_a_busy_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = emulator("permutation", threads=2)
    worker = _AbsentWorker()
    engine._workers._workers = [worker]
    monkeypatch.setattr(workers, "idle_processors", lambda: 0)
    engine.advance(20_000_000)
    assert worker.invited == 0
    assert set(engine.state.tasks["thread"].tolist()) == {0}
    monkeypatch.setattr(workers, "idle_processors", lambda: 1)
    engine._workers._dismissed_until = 0
    engine.advance(10**11)
    assert worker.invited > 0
    alone = emulator("permutation")
    alone.advance(10**11)
    assert engine.digest() == alone.digest()


@pytest.mark.parametrize(
    ("text", "allowed", "idle"),
    [
        ("0.20 0.10 0.05 1/345 999\n", 4, 3),
        ("9 9 9 4/345 999\n", 4, 0),
        ("nonsense", 4, 3),
        ("0.20 0.10 0.05 1/345 999\n", 2, 1),
        ("0.20 0.10 0.05 1/345 999\n", 1, 0),
        ("nonsense", 1, 0),
    ],
)
def test_idle_processors_are_those_of_ours_without_a_running_thread(
    text: str, allowed: int, idle: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(workers.os, "sched_getaffinity", lambda _: set(range(allowed)), raising=False)
    monkeypatch.setattr(workers, "_LOAD", tmp_path / "loadavg")
    assert REALLY_IDLE() == allowed - 1
    (tmp_path / "loadavg").write_text(text)
    assert REALLY_IDLE() == idle


def test_a_worker_that_never_joins_is_not_waited_for() -> None:
    alone, together = emulator("permutation"), emulator("permutation", threads=2)
    absent = _AbsentWorker()
    together._workers._workers = [absent]
    for engine in (alone, together):
        engine.advance(10**11)
    assert absent.invited > 0
    assert together.digest() == alone.digest()


def test_unprofitable_workers_are_dismissed_twice_as_long_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(workers.time, "monotonic", lambda: now[0])
    state = emulator("permutation", threads=2).state
    team = WorkerPool(1)
    row = state.threads[0]
    leaves = []
    for unprofitable in (1, 1, 1, 0, 1):
        row["shared_windows"], row["unprofitable"] = 10, unprofitable
        team._check_payoff(state)
        leaves.append(team._dismissed_until - now[0])
    assert leaves[1] == pytest.approx(2 * leaves[0])
    assert leaves[2] == pytest.approx(4 * leaves[0])
    assert leaves[4] == pytest.approx(leaves[0])


@pytest.mark.parametrize(("waited_ticks", "unprofitable"), [(400, False), (600, True)])
def test_workers_are_unprofitable_when_waiting_costs_half_of_the_saved_time(
    waited_ticks: int, unprofitable: bool
) -> None:
    """Workers ran as many events as the coordinator in 1,000 ticks, so they saved 1,000 ticks."""
    engine = emulator("permutation", threads=2)
    row = engine.state.threads[0]
    for field, value in (
        ("own_ticks", 1000),
        ("waited_ticks", waited_ticks),
        ("own_events", 5000),
        ("shared_events", 10_000),
    ):
        row[field] = value
    simulate(engine.state, 1, 0, 1, 0)
    assert bool(row["unprofitable"]) == unprofitable


@pytest.mark.parametrize("generation", [0, 1])
def test_a_new_invitation_clears_the_unprofitable_flag_and_halves_old_statistics(generation: int) -> None:
    state = emulator("permutation", threads=2).state
    row, counters = state.threads[0], ("shared_windows", "shared_events", "own_events", "own_ticks", "waited_ticks")
    for place, counter in enumerate(counters):
        row[counter] = (4 << 20) + 2 * place
    row["unprofitable"], row["waited_ticks"], row["own_events"] = 1, 10, 2 << 20
    before = [int(row[counter]) for counter in counters]
    simulate(state, generation, 0, 1, 0)
    if generation:
        assert row["unprofitable"] == 0
        assert [2 * int(row[counter]) for counter in counters] == before
    else:
        assert row["unprofitable"] == 1
        assert [int(row[counter]) for counter in counters] == before


def test_a_worker_is_invited_once_for_each_state_unless_it_is_present() -> None:
    state = emulator("permutation", threads=2).state
    worker = workers._Worker.__new__(workers._Worker)
    worker.jobs, worker._invited_for, worker._present = SimpleQueue(), 0, (N_SHARED + N_MAIL + Mail.PRESENT) * LINE
    for generation, queued in ((1, 1), (1, 1), (2, 2)):
        worker.invite(state, generation)
        assert worker.jobs.qsize() == queued
    state.shared[worker._present] = 1
    worker.invite(state, 3)
    assert worker.jobs.qsize() == 2


@pytest.mark.skipif(not is_compiled(), reason="plain Python has no workers")
def test_workers_end_with_their_emulator() -> None:
    before = set(threading.enumerate())
    engine = emulator("permutation", threads=3)
    workers = set(threading.enumerate()) - before
    assert {worker.name for worker in workers} == {"worker-1", "worker-2"}
    del engine
    gc.collect()
    for worker in workers:
        worker.join(LIMIT_S)
        assert not worker.is_alive()


def test_no_threads_are_refused() -> None:
    with pytest.raises(FabricError, match="0 threads"):
        emulator("permutation", threads=0)


def test_atomic_words_work_in_plain_python() -> None:
    words = np.zeros(4, np.int64)
    store_release(words, 2, 7)
    assert fetch_add(words, 2, -3) == 7
    assert load_acquire(words, 2) == 4
    assert not replace_if(words, 2, 5, 9)
    assert replace_if(words, 2, 4, 9)
    assert words.tolist() == [0, 0, 9, 0]


def test_rows_of_different_threads_share_no_pair_of_cache_lines() -> None:
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
