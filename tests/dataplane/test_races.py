"""Interactions of two threads, step by step; and the log of a run does not depend on the threads."""

from __future__ import annotations

import sys
import threading
import weakref
from dataclasses import replace
from typing import Any

import pytest
from worlds import US, World, parameters, topology, with_classes

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine import kernels
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import Edit
from fabric.dataplane.state import pool
from fabric.dataplane.state.codes import LINE, Shared, TraceBit
from fabric.dataplane.state.compiled.jit import is_compiled
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import LinkSpec, NodeSpec, Role
from fabric.verify import conservation
from tests.waiting import LIMIT_S, until

MOMENT_PS = 100 * US
TRAFFIC = World(
    leaves=2,
    hosts=2,
    delay_ns=3000,
    vxlan=True,
    messages=tuple((host, 1 + host % 5, 250_000, 0, 3) for host in range(4)),
)


def emulator(
    world: World,
    edits: tuple[Edit, ...] = (),
    asks: tuple[tuple[int, int, None], ...] = (),
    **options: Any,  # noqa: ANN401
) -> Emulator:
    fabric = topology(world)
    params = parameters(world, fabric)
    if params.vxlan is not None:
        params = replace(params, vxlan=replace(params.vxlan, asks=asks))
    return Emulator(fabric, params, edits, record=TraceBit(31), **options)


def run_by(engine: Emulator, thread: int) -> None:
    """As if one worker had simulated every event so far: the next rows go to its region of the log."""
    engine.state.devices["thread"] = engine.state.tasks["thread"] = thread


def test_rows_of_the_store_are_given_out_once_however_refills_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A switch needs more rows than are left; a host behind it fails for that reason only. Each is held before it
    reverts its addition, until others have been served.
    """
    refill = getattr(pool.refill, "py_func", pool.refill)
    state = emulator(World(leaves=2, hosts=20)).state
    switch, portion = 40, 2 * int(state.devices[0]["reserve"])
    assert 2 * int(state.devices[switch]["reserve"]) > 2 * portion + 5
    state.shared[Shared.SPARE_PACKET * LINE] = len(state.packets) - 2 * portion - 5
    add = getattr(pool, "fetch_add", None)
    held = {device: (threading.Event(), threading.Event()) for device in (switch, 0)}

    def slow(array: Any, index: int, value: int) -> int:  # noqa: ANN401
        name = threading.current_thread().name
        if value < 0 and name.isdigit():
            arrived, go_on = held[int(name)]
            arrived.set()
            assert go_on.wait(LIMIT_S)
        return int(add(array, index, value))

    def begin(device: int) -> threading.Thread:
        def whole() -> None:
            refill(state, device)
            held[device][0].set()

        thread = threading.Thread(target=whole, name=str(device))
        thread.start()
        assert held[device][0].wait(LIMIT_S)
        return thread

    if add is not None:
        monkeypatch.setattr(pool, "fetch_add", slow)
    for device, thread in [(device, begin(device)) for device in held]:
        held[device][1].set()
        thread.join(LIMIT_S)
        refill(state, 1 + device % 39)
    rows: list[int] = []
    for device in (0, 1, 2):
        packet = int(state.devices[device]["free_head"])
        for _ in range(int(state.devices[device]["free_count"])):
            rows.append(packet)
            packet = int(state.packets[packet]["next"])
    assert len(rows) == len(set(rows))


@pytest.mark.skipif(not is_compiled(), reason="plain Python has no directories")
def test_two_first_calls_with_a_state_use_one_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker may join while the caller's thread makes the table directory: the worker's copy must not be freed."""
    state = emulator(World(leaves=1)).state
    fresh = state._replace(packets=state.packets.copy())
    call = kernels.level_packets
    place = call.__code__.co_freevars.index("directory")
    real, used = call.__closure__[place].cell_contents, []

    def slow(listed: Any) -> Any:  # noqa: ANN401
        made = real(listed)
        used.append((threading.current_thread().name, weakref.ref(made)))
        if threading.current_thread() is threading.main_thread():
            worker.start()
            until(lambda: "directory" in fresh.__dict__, "the worker has a directory")
        return made

    worker = threading.Thread(target=call, args=(fresh, 0, 0, 10**6), name="worker")
    monkeypatch.setattr(call.__closure__[place], "cell_contents", slow)
    call(fresh, 0, 0, 10**6)
    worker.join()
    assert fresh.__dict__["directory"] is next(made() for name, made in used if name == "worker")


def test_rows_of_one_time_are_logged_in_order_for_any_thread_before_an_edit() -> None:
    """A host's cable is cut at the time of its ARP request: first the frames in flight are lost, then the request."""
    logs = []
    for threads in (1, 2):
        link = topology(TRAFFIC).links[0].id
        engine = emulator(TRAFFIC, (e.LinkState(MOMENT_PS, link, up=False),), ((MOMENT_PS, 0, None),), threads=threads)
        engine._workers._workers = []
        engine.advance(MOMENT_PS)
        run_by(engine, threads - 1)
        engine.advance(MOMENT_PS + US)
        logs.append(engine.drain_events().tolist())
    assert logs[0] == logs[1]


def test_several_edits_of_one_time_are_logged_in_their_order_for_any_thread_before() -> None:
    """All cables of a switch are cut at once, as when the switch fails."""
    logs = []
    for threads in (1, 2):
        fabric = topology(TRAFFIC)
        cables = sorted({fabric.ports[port].link for port in fabric.switches[0].ports})
        engine = emulator(
            TRAFFIC,
            tuple(e.LinkState(MOMENT_PS, link, up=up) for link in cables for up in (False, True)),
            threads=threads,
        )
        engine._workers._workers = []
        engine.advance(MOMENT_PS)
        run_by(engine, threads - 1)
        engine.advance(MOMENT_PS + US)
        logs.append(engine.drain_events().tolist())
    assert logs[0] == logs[1]


def test_plain_python_has_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Atomic words are not atomic there: a lost count of finished tasks would be waited for without end."""
    workers = sys.modules["fabric.dataplane.engine.parallel.workers"]
    monkeypatch.setattr(workers, "is_compiled", lambda: False, raising=False)
    assert emulator(World(leaves=1), threads=3)._workers._workers == []


def test_a_slow_receiver_with_many_ports_and_classes_has_packet_rows_for_all_its_pause_frames() -> None:
    world = World(leaves=1, hosts=2, host_gbps=100, drain_mbps=1000, messages=((0, 1, 400_000, 0, 3),))
    hosts = ("h0", "h1")
    fabric = assemble(
        "rails",
        [NodeSpec("leaf0", Role.LEAF, 1), *(NodeSpec(host, Role.HOST, 0) for host in hosts)],
        [LinkSpec(host, "leaf0", 10**11, 10**5) for host in hosts for _ in range(4)],
    )
    params = with_classes(parameters(world, fabric), 0xFF)
    engine = Emulator(fabric, params)
    for moment_us in range(1, 60):
        engine.advance(moment_us * US)
        assert conservation.check(engine.state, fabric, engine.now_ps) == []
    assert engine.state.ports["tx_pause_pkts"].max() >= 8


def test_a_host_whose_cable_is_cut_does_not_silence_broadcasts_to_its_leaf() -> None:
    """The route to a VTEP is no route to one host behind it."""
    world = World(leaves=2, hosts=2, vxlan=True, messages=((2, 1, 1000, 0, 3),))
    fabric = topology(world)
    cut = fabric.ports[fabric.hosts[0].first_port].link
    engine = emulator(world, (e.LinkState(1, cut, up=False),), ((MOMENT_PS, 2, None),))
    engine.advance(2 * MOMENT_PS)
    assert engine.state.hosts["arp_requests_received"].tolist() == [0, 1, 0, 1]
