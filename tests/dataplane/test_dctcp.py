"""DCTCP: the kernel against a plain restatement of RFC 8257, its limits, and the echoes of receivers."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pytest
import worlds
from hypothesis import given
from hypothesis import strategies as st
from runs import simulate
from worlds import LOSSLESS, World

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import CongestionControl, PacketFlag
from fabric.dataplane.state.compiled.jit import entry
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import dctcp

G: Final = 10**9
LINE_BPS: Final = 25 * G
ADDITIVE_BPS: Final = 4 * 10**8
FLOOR_BPS: Final = 10**8
GAIN: Final = 1 / 16
"""As worlds.parameters sets them."""
PAIR: Final = World(leaves=1, hosts=2, cc=int(CongestionControl.DCTCP), messages=((0, 1, 10_000_000, 0, LOSSLESS),))
_ECHO: Final = int(PacketFlag.ECHO)
u = np.uint32


@entry
def acknowledge(state: State, device: int, echo: int, newly_pkts: int, now_ps: int) -> None:
    """An ACK of queue pair 0 as host/sender hands it on: acked_psn has been raised, the packet has its flags."""
    state.qps[0]["acked_psn"] += newly_pkts
    state.packets[1]["flags"] = echo * _ECHO
    dctcp.acknowledged(state, device, 0, u(1), newly_pkts, now_ps)


def started() -> State:
    """A state in which queue pair 0 has begun, and has sent nothing."""
    fabric = worlds.topology(PAIR)
    state = Emulator(fabric, worlds.parameters(PAIR, fabric)).state
    row = state.qps[0]
    row["line_bps"] = row["rate_bps"] = row["target_bps"] = LINE_BPS
    row["alpha"] = 1.0
    state.dctcp[0]["cut_end_psn"] = -1
    return state


@dataclass
class Rfc:
    """RFC 8257 section 3.3 in packets, with rates in place of congestion windows."""

    rate: int = LINE_BPS
    alpha: float = 1.0
    una: int = 0
    window_end: int = 0
    acked: int = 0
    marked: int = 0
    cut_until: int = -1
    cuts: list[int] = field(default_factory=list)

    def ack(self, newly: int, nxt: int, *, ece: bool) -> None:
        """SND.UNA advances by `newly` and SND.NXT is `nxt`."""
        self.una += newly
        self.acked += newly
        self.marked += newly if ece else 0
        over = newly > 0 and self.una > self.window_end
        if over:
            self.alpha = (1 - GAIN) * self.alpha + GAIN * (self.marked / self.acked)
            self.window_end, self.acked, self.marked = nxt, 0, 0
        reduced = self.una <= self.cut_until
        if ece and not reduced:
            self.rate = max(int(self.rate * (1 - self.alpha / 2)), FLOOR_BPS)
            self.cut_until = nxt
            self.cuts.append(self.una)
        elif over and not reduced:
            self.rate = min(self.rate + ADDITIVE_BPS, LINE_BPS)


STEPS: Final = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8), st.booleans()), min_size=1, max_size=120)
"""(packets newly acknowledged, packets sent before that, echo)."""


@given(steps=STEPS)
def test_every_ack_follows_rfc_8257(steps: list[tuple[int, int, bool]]) -> None:
    state, rfc = started(), Rfc()
    row = state.qps[0]
    for now_ps, (newly, sent, ece) in enumerate(steps):
        row["next_psn"] += sent
        covered = min(newly, int(row["next_psn"]) - int(row["acked_psn"]))
        acknowledge(state, 0, int(ece), covered, now_ps)
        rfc.ack(covered, int(row["next_psn"]), ece=ece)
        assert (int(row["rate_bps"]), float(row["alpha"])) == (rfc.rate, rfc.alpha)
    assert int(row["cuts"]) == len(rfc.cuts)


def test_an_observation_window_ends_with_the_first_ack_beyond_its_end() -> None:
    state = started()
    row, mine = state.qps[0], state.dctcp[0]
    row["next_psn"], mine["window_end_psn"] = 30, 10
    acknowledge(state, 0, 0, 10, 0)  # up to the end: not over
    assert (float(row["alpha"]), int(mine["acked_pkts"])) == (1.0, 10)
    acknowledge(state, 0, 0, 1, 1)
    assert (float(row["alpha"]), int(mine["acked_pkts"]), int(mine["window_end_psn"])) == (1 - GAIN, 0, 30)


def test_there_is_one_cut_until_an_ack_is_beyond_the_packets_sent_before_it() -> None:
    state = started()
    row, mine = state.qps[0], state.dctcp[0]
    row["next_psn"], mine["window_end_psn"] = 20, 1000
    acknowledge(state, 0, 1, 1, 0)
    assert (int(row["cuts"]), int(mine["cut_end_psn"]), int(row["rate_bps"])) == (1, 20, LINE_BPS // 2)
    row["next_psn"] = 40
    acknowledge(state, 0, 1, 19, 1)  # acked_psn 20 is no further than the cut
    assert int(row["cuts"]) == 1
    acknowledge(state, 0, 1, 1, 2)
    assert (int(row["cuts"]), int(mine["cut_end_psn"]), int(row["rate_bps"])) == (2, 40, LINE_BPS // 4)


def test_a_window_that_ends_while_a_cut_is_running_raises_no_rate() -> None:
    state = started()
    row, mine = state.qps[0], state.dctcp[0]
    row["rate_bps"], row["next_psn"], mine["window_end_psn"], mine["cut_end_psn"] = 10 * G, 90, 10, 50
    acknowledge(state, 0, 0, 50, 0)
    assert (int(row["rate_bps"]), int(mine["window_end_psn"])) == (10 * G, 90)
    mine["window_end_psn"] = 50
    acknowledge(state, 0, 0, 1, 1)
    assert int(row["rate_bps"]) == 10 * G + ADDITIVE_BPS


@pytest.mark.parametrize(
    ("rate_bps", "after_bps"),
    [(LINE_BPS - ADDITIVE_BPS - 1, LINE_BPS - 1), (LINE_BPS - ADDITIVE_BPS, LINE_BPS), (LINE_BPS - 1, LINE_BPS)],
)
def test_a_rate_rises_to_line_rate_and_no_further(rate_bps: int, after_bps: int) -> None:
    state = started()
    state.qps[0]["rate_bps"], state.qps[0]["next_psn"] = rate_bps, 10
    acknowledge(state, 0, 0, 1, 0)
    assert int(state.qps[0]["rate_bps"]) == after_bps


@pytest.mark.parametrize(
    ("rate_bps", "after_bps"),
    [
        (2 * FLOOR_BPS + 2, FLOOR_BPS + 1),
        (2 * FLOOR_BPS, FLOOR_BPS),
        (2 * FLOOR_BPS - 2, FLOOR_BPS),
        (FLOOR_BPS, FLOOR_BPS),
        (FLOOR_BPS - 1, FLOOR_BPS - 1),
    ],
)
def test_a_cut_leaves_the_least_rate_and_raises_none(rate_bps: int, after_bps: int) -> None:
    state = started()
    state.qps[0]["rate_bps"], state.qps[0]["next_psn"], state.dctcp[0]["window_end_psn"] = rate_bps, 10, 100
    acknowledge(state, 0, 1, 1, 0)
    assert int(state.qps[0]["rate_bps"]) == after_bps


def test_a_stale_ack_with_an_echo_cuts_and_counts_nothing() -> None:
    state = started()
    row, mine = state.qps[0], state.dctcp[0]
    row["next_psn"], mine["window_end_psn"] = 10, 0
    acknowledge(state, 0, 1, 0, 0)
    assert (int(row["cuts"]), int(mine["acked_pkts"]), int(mine["marked_pkts"]), float(row["alpha"])) == (1, 0, 0, 1.0)


def test_bits_of_the_last_departure_are_paid_at_the_rate_after_the_cut() -> None:
    state = started()
    row = state.qps[0]
    row["rate_bps"], row["next_psn"], row["available_ps"] = 10 * G, 10, 5000
    state.dctcp[0]["window_end_psn"] = 100
    acknowledge(state, 0, 1, 1, 2000)  # 3000 ps at 10G are left, which take 6000 ps at 5G
    assert int(row["available_ps"]) == 2000 + 6000
    row["available_ps"], state.dctcp[0]["cut_end_psn"] = 1000, -1
    acknowledge(state, 0, 1, 1, 3000)  # no bits are owed
    assert int(row["available_ps"]) == 1000


# ===== on the wire =====


MARKED: Final = replace(
    PAIR,
    hosts=5,
    incast=True,
    kmin_kb=20,
    pool_kb=4000,
    timeout_us=0,
    messages=tuple((sender, 1, 200_000, 0, LOSSLESS) for sender in range(4)),
)
"""Four senders to one receiver, marked with up to 20 % from 20 KB on and always above 80 KB: so marked and unmarked
packets alternate."""


@pytest.mark.parametrize(
    ("ack_every", "recovery"), [*itertools.product([1, 2, 16], [0, 1, 2, 3]), (1000, 0), (1000, 2)]
)  # out-of-order: one ACK would be a tail loss
def test_senders_count_every_mark_once_however_acks_are_coalesced(ack_every: int, recovery: int) -> None:
    world = replace(MARKED, ack_every=ack_every, recovery=recovery, window_kb=300 if recovery == 1 else 0)
    fabric = worlds.topology(world)
    simulating = Emulator(fabric, worlds.parameters(world, fabric))
    simulate(simulating, 1000)
    state = simulating.state
    assert (state.qps["line_bps"] > 0).all()
    state.dctcp["window_end_psn"] = 10**9  # one observation window, so that nothing is reset
    simulate(simulating)
    assert simulating.finished
    packets = -(-200_000 // world.payload)
    assert state.hosts["retransmitted_pkts"].sum() == 0
    assert state.dctcp["acked_pkts"].tolist() == [packets] * 4
    assert 0 < state.dctcp["marked_pkts"].sum() == state.hosts["ecn_received"].sum() < 4 * packets
    assert state.hosts["cnp_sent"].sum() == 0


def test_an_ack_that_was_put_off_names_the_last_packet_that_it_covers() -> None:
    """Recovery out-of-order: each ACK names the packet that it answers, and must not name one that was never sent."""
    before = tuple((0, 1, 64, 0, LOSSLESS) for _ in range(300))  # numbers of messages are beyond those of packets
    world = replace(MARKED, ack_every=16, recovery=3, messages=before + MARKED.messages)
    simulating = simulate(worlds.emulator(world))
    state = simulating.state
    assert simulating.finished
    assert state.boards["end_psn"].tolist() == state.qps["posted_psn"].tolist()
    assert state.hosts["retransmitted_pkts"].sum() == 0


def test_coalesced_acks_are_more_only_where_marks_change() -> None:
    sent = {}
    for name, changes in {"unmarked": {"kmin_kb": 0}, "marked": {}, "DCQCN": {"cc": 1}}.items():
        world = replace(MARKED, ack_every=1000, **changes)
        simulating = simulate(worlds.emulator(world))
        receiver = simulating.fabric.hosts[-1]
        answers = simulating.state.ports[receiver.first_port]["tx_pkts"]
        sent[name] = int(answers - simulating.state.hosts[receiver.id]["cnp_sent"])
    assert sent["unmarked"] == sent["DCQCN"] == 4  # one for each message
    assert sent["marked"] > 4


def test_a_new_queue_pair_sends_at_line_rate_with_the_given_alpha() -> None:
    fabric = worlds.topology(PAIR)
    params = worlds.parameters(PAIR, fabric)
    control = params.transport.dctcp
    assert control is not None
    params = replace(params, transport=replace(params.transport, dctcp=replace(control, initial_alpha_ratio=0.25)))
    simulating = simulate(Emulator(fabric, params), 1000)
    row = simulating.state.qps[0]
    assert (int(row["rate_bps"]), float(row["alpha"])) == (LINE_BPS, 0.25)
    simulate(simulating)
    assert math.isclose(
        float(simulating.state.qps[0]["alpha"]),
        0.25 * (1 - GAIN) ** round(math.log(float(simulating.state.qps[0]["alpha"]) / 0.25, 1 - GAIN)),
    )
