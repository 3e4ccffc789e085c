"""Random worlds under all disturbances at once: the run does not depend on threads, room in tables or interruptions.

Disturbances: one to five threads, logs with room for hardly more than one event, packet tables that must grow, budgets,
random load balancing, checkpoints, dated edits. Unchanged must be: the digest, every byte of the log, packet-hops, and
conservation.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
import worlds
from worlds import LOSSLESS, US, World

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import Edit
from fabric.dataplane.engine.parallel import workers
from fabric.dataplane.engine.parallel.balancing import balance_tasks
from fabric.dataplane.engine.parallel.workers import WorkerPool
from fabric.dataplane.state import trace, types
from fabric.dataplane.state.codes import LINE, Shared, Stop, TraceBit
from fabric.dataplane.state.compiled.jit import is_compiled
from fabric.dataplane.state.params import EngineParams
from fabric.dataplane.state.types import State
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.verify import conservation
from tests.waiting import until

END_PS: Final = 3000 * US if is_compiled() else 60 * US
QUICK: Final = 6 if is_compiled() else 3
THREADS: Final = (1, 2, 3, 5)


@dataclass(frozen=True)
class Scene:
    """A fabric with its parameters and edits."""

    fabric: Fabric
    params: EngineParams
    edits: tuple[Edit, ...] = ()

    def emulator(self, **options: Any) -> Emulator:  # noqa: ANN401  as Emulator takes them
        return Emulator(self.fabric, self.params, self.edits, record=TraceBit(31), **options)


@dataclass(frozen=True)
class Result:
    """Results that must not depend on the threads."""

    digest: str
    hops: int
    log: bytes
    broken: tuple[str, ...]


def two_planes(world: World) -> Fabric:
    """Every host has a cable to each of two leaves."""
    hosts = [f"h{index}" for index in range(max(world.hosts, 2))]
    nodes = [NodeSpec(f"leaf{leaf}", Role.LEAF, 1) for leaf in range(2)]
    return assemble(
        "planes",
        [*nodes, *(NodeSpec(host, Role.HOST, 0) for host in hosts)],
        [LinkSpec(host, node.name, world.host_gbps * 10**9, world.delay_ns * 1000) for host in hosts for node in nodes],
    )


def ring(world: World) -> Fabric:
    """Three leaves with a cable to each other: so the graph has no two sides."""
    leaves = [f"leaf{leaf}" for leaf in range(3)]
    hosts = [(f"h{index}", leaves[index % 3]) for index in range(max(world.hosts, 3))]
    nodes = [*(NodeSpec(leaf, Role.LEAF, 1) for leaf in leaves), *(NodeSpec(host, Role.HOST, 0) for host, _ in hosts)]
    cables = [(a, b, world.up_gbps) for a, b in zip(leaves, [*leaves[1:], leaves[0]], strict=True)]
    cables += [(host, leaf, world.host_gbps) for host, leaf in hosts]
    return assemble("ring", nodes, [LinkSpec(a, b, gbps * 10**9, world.delay_ns * 1000) for a, b, gbps in cables])


def scene(seed: int) -> Scene:
    """A small fabric with faults. Long cables, so that windows are worth sharing."""
    dice = random.Random(seed)
    small = dice.random() < 0.25
    world = World(
        leaves=1 if small else dice.choice([1, 2, 3, 5]),
        spines=dice.choice([1, 2, 3]),
        hosts=dice.choice([2, 3]) if small else dice.choice([2, 4, 9, 12]),
        host_gbps=dice.choice([25, 100]),
        up_gbps=dice.choice([40, 100]),
        delay_ns=dice.choice([1, 500, 3000, 10_000]),
        parallel=dice.choice([1, 2]),
        payload=dice.choice([256, 1024]),
        cell=dice.choice([1, 254]),
        pool_kb=dice.choice([60, 150, 800]),
        pfc=dice.random() < 0.8,
        quanta=dice.choice([2000, 65_535]),
        kmin_kb=dice.choice([0, 1, 5]),
        cc=dice.choice([0, 1, 3]),
        recovery=dice.choice([0, 1, 2, 3]),
        window_kb=64,
        balance=dice.choice([0, 1, 2, 3, 4]),
        vxlan=dice.random() < 0.4,
        drain_mbps=dice.choice([0, 2000]),
        watchdog=dice.random() < 0.4,
        drop_every=dice.choice([0, 0, 50]),
        strict=dice.random() < 0.5,
        seed=dice.randrange(10**6),
        messages=tuple(
            (
                dice.randrange(60),
                1 + dice.randrange(59),
                dice.choice([300, 20_000, 90_000]),
                dice.choice([0, 0, 100, 5000]),
                dice.choice([LOSSLESS, LOSSLESS, 0]),
            )
            for _ in range(dice.choice([4, 30, 60]))
        ),
        incast=dice.random() < 0.3,
        chained=dice.random() < 0.3,
        faults=tuple(
            (dice.choice(worlds.FAULTS), dice.randrange(31), 1 + dice.randrange(150_000), dice.randrange(100_000))
            for _ in range(dice.choice([0, 2, 5]))
        ),
    )
    if world.recovery != 1 and dice.random() < 0.5:
        world = replace(world, window_kb=0)
    shape = dice.random()
    fabric = two_planes(world) if shape < 0.2 else ring(world) if shape < 0.35 else worlds.topology(world)
    params = worlds.parameters(world, fabric)
    if params.vxlan is not None:
        asks = sorted((dice.randrange(100) * US, dice.randrange(len(fabric.hosts)), None) for _ in range(6))
        params = replace(params, vxlan=replace(params.vxlan, asks=tuple(asks)))
    edits = worlds.edits(world, fabric)
    if dice.random() < 0.3:  # a switch dies: all of its cables at one time
        moment, switch = dice.randrange(1, 150) * US, dice.choice(fabric.switches)
        edits += [e.LinkState(moment, fabric.ports[port].link, up=False) for port in switch.ports]
        edits += [e.LinkState(moment + 90 * US, fabric.ports[port].link, up=True) for port in switch.ports]
    return Scene(fabric, params, tuple(edits))


def result(engine: Emulator, log: list[bytes]) -> Result:
    return Result(
        engine.digest(),
        engine.packet_hops,
        b"".join([*log, engine.drain_events().tobytes()]),
        tuple(conservation.check(engine.state, engine.fabric, engine.now_ps)),
    )


def undisturbed(it: Scene, **options: Any) -> Result:  # noqa: ANN401  as Emulator takes them
    engine = it.emulator(**options)
    assert engine.advance(END_PS) in (Stop.BOUND, Stop.IDLE)
    return result(engine, [])


def least_trace_rows(state: State) -> int:
    """As State.build has it: an edit may log twice the rows of an event, and the driver leaves it half of a region."""
    margin = getattr(trace.margin, "py_func", trace.margin)
    return 8 * max(margin(int(row["n_ports"]), int(row["reserve"])) for row in state.devices)


def squeeze(engine: Emulator, dice: random.Random) -> None:
    """Little room: logs for a few events at a time, hardly a packet row without an owner."""
    state, config = engine.state, engine.state.config[0]
    if dice.random() < 0.6:
        config["trace_rows"] = least_trace_rows(state) + dice.randrange(50)
        state = state._replace(trace=types.rows(len(state.threads) * int(config["trace_rows"]), types.TRACE))
    if dice.random() < 0.6:
        packets = types.rows(int(state.shared[Shared.SPARE_PACKET * LINE]) + dice.randrange(100), types.PACKET)
        packets[:] = state.packets[: len(packets)]
        state = state._replace(packets=packets)
    engine.state = state


def assign_at_random(state: State, dice: random.Random) -> None:
    """Random times of tasks, so that load balancing moves them."""
    state.tasks["events"] = [dice.randrange(1000) for _ in state.tasks]
    state.tasks["ticks"] = [dice.randrange(10**5) for _ in state.tasks]
    balance_tasks(state)


def disturbed(it: Scene, seed: int, threads: int, folder: Path) -> Result:
    """Simulate with every disturbance that must not change a run."""
    dice = random.Random(f"{seed} {threads}")
    engine, shadow, log = it.emulator(threads=threads), it.emulator(), []
    squeeze(engine, dice)
    for moment in [*sorted(dice.randrange(1, END_PS // 4) for _ in range(4)), END_PS]:
        budget = dice.choice([1, 2, 3, 5, 40, 200, None])
        while engine.advance(moment, budget=budget) is Stop.BUDGET:
            if dice.random() < 0.05:
                shadow.advance(engine.now_ps)
                assert engine.digest() == shadow.digest(), "a budget ends at a moment, the same everywhere"
            if dice.random() < 0.3:
                assign_at_random(engine.state, dice)
            if dice.random() < 0.02:
                log.append(engine.drain_events().tobytes())
            if dice.random() < 0.2:
                budget = dice.choice([2, 3, 40, 200, None])
        assert conservation.check(engine.state, it.fabric, engine.now_ps) == []
        if dice.random() < 0.4:
            engine.save(folder / "checkpoint")
            room = len(engine.state.trace)
            engine = Emulator.restore(
                it.fabric, it.params, it.edits, folder / "checkpoint", record=TraceBit(31), threads=threads
            )
            assert len(engine.state.trace) == room
    return result(engine, log)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Workers are never dismissed and always waited for, and epochs are short; counts the shared windows."""
    counts: Counter[str] = Counter()
    invite = workers._Worker.invite

    def invite_and_wait(worker: Any, state: State, generation: int) -> None:  # noqa: ANN401  it has no public name
        """Until its thread is inside the kernel; one that has left again meanwhile is called again."""

        def is_present() -> bool:
            invite(worker, state, generation)  # nothing is done where it is invited already
            return worker.is_present(state)

        until(is_present, "the worker has come", pause_s=0)

    def judge(team: WorkerPool, state: State) -> None:
        row = state.threads[0]
        counts["windows"] += int(row["shared_windows"])
        counts["helped"] += int(row["own_events"] < row["shared_events"])
        row["shared_windows"] = row["unprofitable"] = 0

    monkeypatch.setattr(workers, "_EPOCH", 75)
    monkeypatch.setattr(workers, "_JOIN_SPINS", 1 << 24)
    monkeypatch.setattr(workers._Worker, "invite", invite_and_wait)
    monkeypatch.setattr(workers, "idle_processors", lambda: 8)
    monkeypatch.setattr(WorkerPool, "_check_payoff", judge)
    return counts


def compare(seed: int, folder: Path) -> None:
    it = scene(seed)
    alone = undisturbed(it)
    assert alone.broken == ()
    assert undisturbed(it, scheduler="sequential") == alone
    for threads in THREADS:
        found = disturbed(it, seed, threads, folder)
        assert found.broken == (), (seed, threads)
        assert (found.hops, found.digest) == (alone.hops, alone.digest), (seed, threads)
        assert found.log == alone.log, (seed, threads)


def busy(leaves: int = 3) -> Scene:
    """Enough events in a window to share it."""
    world = World(
        leaves=leaves,
        hosts=9,
        delay_ns=3000,
        payload=256,
        kmin_kb=1,
        pool_kb=60,
        pfc=False,
        messages=tuple((host, 7 + host % 5, 60_000, 0, LOSSLESS) for host in range(27)),
    )
    fabric = worlds.topology(world)
    return Scene(fabric, worlds.parameters(world, fabric))


def short_of(full: Stop, engine: Emulator) -> Emulator:
    """With just the necessary room in the log or the packet table."""
    config, state = engine.state.config[0], engine.state
    if full is Stop.TRACE:  # stops for packets would empty the log, too
        config["trace_rows"] = least_trace_rows(state)
        state = state._replace(trace=types.rows(len(state.threads) * int(config["trace_rows"]), types.TRACE))
    else:
        packets = types.rows(int(state.shared[Shared.SPARE_PACKET * LINE]), types.PACKET)
        packets[:] = state.packets[: len(packets)]
        state = state._replace(packets=packets)
    engine.state = state
    return engine


@pytest.mark.skipif(not is_compiled(), reason="plain Python has no workers")
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("leaves", [2, 3])
def test_a_budget_ends_at_one_moment_also_after_stops(
    leaves: int, threads: int, opened: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that did not stop may be further than the next two windows."""
    it, budget = busy(leaves), 2
    shadow, engine = it.emulator(), short_of(Stop.PACKETS, it.emulator(threads=threads))
    monkeypatch.setattr(workers, "_EPOCH", 1024)
    while engine.advance(END_PS, budget=budget) is Stop.BUDGET:
        shadow.advance(engine.now_ps)
        assert engine.digest() == shadow.digest()
    assert opened["windows"] > 0


@pytest.mark.skipif(not is_compiled(), reason="plain Python has no workers")
@pytest.mark.parametrize("full", [Stop.PACKETS, Stop.TRACE])
def test_the_disturbances_occur(opened: Counter[str], monkeypatch: pytest.MonkeyPatch, full: Stop) -> None:
    """Windows are shared, and a log or a packet table is full; otherwise the tests above test nothing."""
    stops: Counter[Stop] = Counter()
    it = busy()
    alone, engine = it.emulator(), short_of(full, it.emulator(threads=3))
    real = engine._workers.simulate

    def simulate(state: State, until_ps: int, max_windows: int) -> int:
        code = real(state, until_ps, max_windows)
        stops[Stop(code)] += 1
        return code

    monkeypatch.setattr(engine._workers, "simulate", simulate)
    for simulating in (alone, engine):
        simulating.advance(END_PS)
    assert engine.digest() == alone.digest()
    assert engine.drain_events().tobytes() == alone.drain_events().tobytes()
    assert stops[full] > 0
    assert int(engine.state.threads[0]["windows"]) > int(alone.state.threads[0]["windows"])
    assert opened["windows"] > 0


def test_hosts_are_homed_where_no_switch_has_more_of_them_than_a_thread_should() -> None:
    for threads, homed in ((1, True), (2, True), (3, False)):
        tasks = busy(leaves=2).emulator(threads=threads).state.tasks
        assert (tasks["homed"].astype(bool) == (homed & (tasks["family"] != range(len(tasks))))).all()
    planes = [it for it in map(scene, range(12)) if it.fabric.name == "planes"]
    assert planes
    for it in planes:
        assert not it.emulator(threads=2).state.tasks["homed"].any(), "their cables lead to two switches"


def test_leaves_in_a_ring_leave_no_two_sides() -> None:
    rings = [it for it in map(scene, range(12)) if it.fabric.name == "ring"]
    assert rings
    for it in rings:
        assert len(it.emulator(threads=2).state.lists) == 4, "one list a thread, and one of homed hosts, which is empty"
        assert not it.emulator(threads=2).state.lists["count"][2:].any()


@pytest.mark.parametrize("seed", range(QUICK))
def test_disturbances_leave_a_run_as_it_is(seed: int, opened: Counter[str], tmp_path: Path) -> None:
    compare(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_more_disturbances_leave_a_run_as_it_is(seed: int, opened: Counter[str], tmp_path: Path) -> None:
    compare(seed, tmp_path)
