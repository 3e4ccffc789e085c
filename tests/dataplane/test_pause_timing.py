"""PFC to the picosecond: quanta, refresh, response, expiry; and headroom to the byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
import worlds
from runs import simulate
from worlds import LOSSLESS, US, World

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import N_DROP_REASONS, DropReason, EventKind
from fabric.verify.conservation import check

BIT_PS: Final = 40
"""At 25 Gb/s."""
PFC_WIRE_PS: Final = (64 + 20) * 8 * BIT_PS
QUANTUM_PS: Final = 512 * BIT_PS


def one_xoff(quanta: int, delay_ns: int, response_ns: int) -> Emulator:
    """h1's NIC sends a single XOFF at 5 us, nothing else is on its cable."""
    world = World(
        leaves=1, hosts=2, cc=0, delay_ns=delay_ns, response_ns=response_ns, messages=((1, 1, 100, 9000, LOSSLESS),)
    )
    fabric = worlds.topology(world)
    storm = e.PauseStorm(5 * US, fabric.hosts[1].id, 1 << LOSSLESS, US, 10 * US, quanta)
    simulating = Emulator(fabric, worlds.parameters(world, fabric), [storm])
    simulating.advance(8 * US)
    simulating.advance(10_000 * US)
    return simulating


@pytest.mark.parametrize("quanta", [1, 100, 65_535])
@pytest.mark.parametrize(("delay_ns", "response_ns"), [(100, 100), (5, 850)])
def test_a_pause_lasts_its_quanta_from_the_end_of_the_response_time(
    quanta: int, delay_ns: int, response_ns: int
) -> None:
    simulating = one_xoff(quanta, delay_ns, response_ns)
    log = simulating.drain_events()
    begun = int(log["time_ps"][log["kind"] == EventKind.PAUSED][0])
    ended = int(log["time_ps"][log["kind"] == EventKind.RESUMED][0])
    assert begun == 5 * US + PFC_WIRE_PS + (delay_ns + response_ns) * 1000
    assert ended - begun == quanta * QUANTUM_PS
    assert log["c"][log["kind"] == EventKind.RESUMED].tolist() == [1], "the timer ended it, not an XON"


def test_a_pause_that_is_meant_is_refreshed_before_half_of_it_has_run() -> None:
    """A slow receiver pauses its peer for many timer values; the peer does not resume in between."""
    quanta = 400
    world = World(
        leaves=1, hosts=3, cc=0, timeout_us=0, drain_mbps=100, quanta=quanta, messages=((0, 1, 90_000, 0, LOSSLESS),)
    )
    fabric = worlds.topology(world)
    simulating = simulate(Emulator(fabric, worlds.parameters(world, fabric)), 900 * US)
    port = int(fabric.ports[fabric.hosts[1].first_port].peer)
    prio = simulating.state.prios[port * 8 + LOSSLESS]
    log = simulating.drain_events()
    begun = int(log["time_ps"][(log["kind"] == EventKind.PAUSED) & (log["port"] == port)][0])
    assert prio["pauses"] == 1
    assert prio["on2off_pkts"] == 0
    half_ps = quanta * QUANTUM_PS // 2
    frames = (900 * US - begun) / half_ps
    assert abs(int(prio["rx_xoff_pkts"]) - 1 - frames) <= 1


def test_a_dead_senders_pause_ends_by_itself_and_a_dead_links_at_once() -> None:
    world = World(leaves=1, hosts=3, cc=0, timeout_us=0, drain_mbps=100, messages=((0, 1, 90_000, 0, LOSSLESS),))
    fabric = worlds.topology(world)
    port = int(fabric.ports[fabric.hosts[1].first_port].peer)
    link = fabric.links[fabric.ports[port].link].id
    simulating = Emulator(fabric, worlds.parameters(world, fabric), [e.LinkState(100 * US, link, up=False)])
    simulate(simulating, 100 * US)
    assert simulating.state.ports[port]["paused"] == 1 << LOSSLESS
    simulate(simulating, 101 * US)
    assert not simulating.state.ports["paused"].any()
    assert not simulating.state.prios["xoff_sent"].any()


def test_pause_frames_suffer_bit_errors_as_all_frames_do() -> None:
    world = World(leaves=1, hosts=2, cc=0, messages=((1, 1, 100, 9000, LOSSLESS),))
    fabric = worlds.topology(world)
    port = int(fabric.ports[fabric.hosts[1].first_port].peer)
    link = fabric.links[fabric.ports[port].link].id
    storm = e.PauseStorm(5 * US, fabric.hosts[1].id, 1 << LOSSLESS, 1000 * US, US, 10)
    simulating = Emulator(fabric, worlds.parameters(world, fabric), [storm, e.LinkErrors(0, link, 1e-3)])
    simulate(simulating, 3000 * US)
    state = simulating.state
    sent = int(state.prios["tx_xoff_pkts"].sum())
    # 512 bits at 1e-3: two in five frames are damaged; five standard deviations of 1000 trials are 78.
    assert sent == 1000
    lost = sent - int(state.prios["rx_xoff_pkts"].sum())
    assert abs(lost - 401) < 80
    assert lost <= state.ports["fcs_errors"][port]
    assert not check(state, fabric, simulating.now_ps)


@pytest.mark.parametrize("cell", [1, 208])
def test_headroom_of_exactly_the_use_is_enough_and_a_byte_less_is_not(cell: int) -> None:
    world = World(
        leaves=1,
        hosts=4,
        cc=0,
        timeout_us=0,
        pool_kb=60,
        dynamic_th=-2,
        cell=cell,
        messages=tuple((sender, 3 - sender, 200_000, 0, LOSSLESS) for sender in range(3)),
    )
    fabric = worlds.topology(world)
    params = worlds.parameters(world, fabric)

    def peak_and_drops(headroom: int) -> tuple[int, int]:
        ports = [
            replace(
                mine,
                pgs=tuple(replace(pg, xoff_bytes=headroom if c == LOSSLESS else 0) for c, pg in enumerate(mine.pgs)),
            )
            for mine in params.ports
        ]
        simulating = simulate(Emulator(fabric, replace(params, ports=ports)), 400 * US)
        rows = simulating.state.pgs["headroom_peak_bytes"].reshape(-1, 8)[:, LOSSLESS]
        drops = simulating.state.drops["pkts"].reshape(-1, 8, N_DROP_REASONS)[:, LOSSLESS, DropReason.HEADROOM]
        return int(rows.max()), int(drops.sum())

    used, lost = peak_and_drops(100_000)
    assert used > 1024
    assert lost == 0
    assert peak_and_drops(used) == (used, 0)
    assert peak_and_drops(used - 1)[1] > 0
