"""dataplane/port: PFC timers, the scheduler's deficit, the end of a frame, counted losses."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fabric.dataplane.engine import edits as e
from fabric.dataplane.port import damage, scheduler, transmit
from fabric.dataplane.port.flowcontrol import gate, pfc
from fabric.dataplane.port.flowcontrol import hooks as flow
from fabric.dataplane.state import calendar
from fabric.dataplane.state.codes import INFINITY_PS, Aux, DropReason, EventKind, Order, PacketKind, Semantics
from tests.edges.bench import AT, CLASS, US, Bench

OTHER = 5


@pytest.mark.parametrize(("early_ps", "looked_at_ps", "released"), [(0, AT, True), (1, 0, False), (1, AT, False)])
def test_a_pause_ends_when_its_timer_expires_and_not_before(
    bench: Bench, early_ps: int, looked_at_ps: int, *, released: bool
) -> None:
    port = bench.state.ports[bench.port]
    port["paused"], bench.prio()["until_ps"], port["pfc_next_ps"] = 1 << CLASS, AT, looked_at_ps
    assert flow.expire(bench.state, bench.switch, bench.port, AT - early_ps) is released
    assert port["paused"] == (0 if released else 1 << CLASS)
    assert bench.prio()["until_ps"] == (INFINITY_PS if released else AT)


@pytest.mark.parametrize(("early_ps", "frames"), [(0, 1), (1, 0)])
def test_xoff_is_refreshed_after_half_of_its_timer_and_not_before(bench: Bench, early_ps: int, frames: int) -> None:
    port = bench.state.ports[bench.port]
    port["pfc_next_ps"], port["pause_quanta"], port["quantum_ps"], bench.prio()["refresh_ps"] = 0, 100, 20_000, AT
    assert not flow.expire(bench.state, bench.switch, bench.port, AT - early_ps)
    assert port["tx_pause_pkts"] == frames
    assert bench.prio()["tx_xoff_pkts"] == frames
    following = AT + 50 * 20_000 if frames else AT
    assert bench.prio()["refresh_ps"] == port["pfc_next_ps"] == following


@pytest.mark.parametrize(("quanta", "refresh_ps"), [(0, INFINITY_PS), (1, AT + 10_000), (100, AT + 1_000_000)])
def test_a_pause_without_a_timer_is_never_refreshed(bench: Bench, quanta: int, refresh_ps: int) -> None:
    port = bench.state.ports[bench.port]
    port["pause_quanta"], port["quantum_ps"] = quanta, 20_000
    flow.full(bench.state, bench.switch, bench.port, CLASS, AT)
    assert bench.prio()["refresh_ps"] == refresh_ps
    assert bench.prio()["xoff_sent"] == 1
    assert bench.prio()["tx_xoff_pkts"] == 1


@pytest.mark.parametrize(("quanta", "until_ps"), [(0, INFINITY_PS), (1, AT + 20_000), (65_535, AT + 65_535 * 20_000)])
def test_a_received_pause_lasts_its_quanta_and_with_0_quanta_until_xon(
    bench: Bench, quanta: int, until_ps: int
) -> None:
    bench.state.ports[bench.port]["quantum_ps"] = 20_000
    frame = bench.packet(kind=PacketKind.PFC, classes=1 << CLASS, xoff=1 << CLASS, seq=quanta)
    assert not flow.receive(bench.state, bench.switch, bench.port, frame, AT)
    assert bench.prio()["until_ps"] == until_ps
    assert bench.state.ports[bench.port]["paused"] == 1 << CLASS
    assert bench.prio()["rx_xoff_pkts"] == bench.prio()["pauses"] == 1


def test_xon_for_one_class_leaves_the_pause_of_another(bench: Bench) -> None:
    port = bench.state.ports[bench.port]
    port["pfc_classes"] = 1 << CLASS | 1 << OTHER
    both = bench.packet(kind=PacketKind.PFC, classes=1 << CLASS | 1 << OTHER, xoff=1 << CLASS | 1 << OTHER, seq=100)
    flow.receive(bench.state, bench.switch, bench.port, both, AT)
    xon = bench.packet(kind=PacketKind.PFC, classes=1 << OTHER, xoff=0, seq=0)
    assert flow.receive(bench.state, bench.switch, bench.port, xon, AT + 700)
    assert port["paused"] == 1 << CLASS
    assert bench.prio(c=OTHER)["rx_paused_ps"] == bench.prio(c=OTHER)["longest_ps"] == 700
    assert bench.prio(c=OTHER)["on2off_pkts"] == 1
    again = bench.packet(kind=PacketKind.PFC, classes=1 << OTHER, xoff=0, seq=0)
    assert not flow.receive(bench.state, bench.switch, bench.port, again, AT + 800), "it was not paused any more"
    assert bench.prio(c=OTHER)["on2off_pkts"] == 1
    assert bench.prio(c=OTHER)["rx_xon_pkts"] == 2


def test_the_history_of_pauses_has_the_start_and_length_of_the_most_recent_one(bench: Bench) -> None:
    port = bench.state.ports[bench.port]
    port["quantum_ps"] = 20_000
    for begin, length in ((AT, 700), (AT + 5_000, 40)):
        xoff = bench.packet(kind=PacketKind.PFC, classes=1 << CLASS, xoff=1 << CLASS, seq=100)
        flow.receive(bench.state, bench.switch, bench.port, xoff, begin)
        refresh = bench.packet(kind=PacketKind.PFC, classes=1 << CLASS, xoff=1 << CLASS, seq=100)
        flow.receive(bench.state, bench.switch, bench.port, refresh, begin + 10)
        assert bench.prio()["begun_ps"] == begin, "a refresh begins no pause"
        xon = bench.packet(kind=PacketKind.PFC, classes=1 << CLASS, xoff=0, seq=0)
        flow.receive(bench.state, bench.switch, bench.port, xon, begin + length)
        assert (bench.prio()["recent_ps"], bench.prio()["begun_ps"]) == (length, begin)
    assert bench.prio()["pauses"] == 2
    assert bench.prio()["rx_paused_ps"] == 740
    assert bench.prio()["longest_ps"] == 700


@pytest.mark.parametrize("c", range(8))
def test_flow_control_of_every_class_can_be_suspended_and_restored(bench: Bench, c: int) -> None:
    port = bench.state.ports[bench.port]
    port["pfc_classes"] = 0xFF
    gate.suspend(bench.state, bench.port, c)
    assert (port["pfc_classes"], port["wd_unpaused"]) == (0xFF - (1 << c), 1 << c)
    gate.restore(bench.state, bench.port, c)
    assert (port["pfc_classes"], port["wd_unpaused"]) == (0xFF, 0)


def test_a_pause_for_a_class_without_flow_control_is_only_counted(bench: Bench) -> None:
    frame = bench.packet(kind=PacketKind.PFC, classes=1 << OTHER, xoff=1 << OTHER, seq=100)
    flow.receive(bench.state, bench.switch, bench.port, frame, AT)
    assert bench.state.ports[bench.port]["paused"] == 0
    assert (bench.prio(c=OTHER)["rx_xoff_pkts"], bench.prio(c=OTHER)["pauses"]) == (1, 0)


def test_a_refresh_extends_a_pause_and_counts_as_the_same_pause(bench: Bench) -> None:
    bench.state.ports[bench.port]["quantum_ps"] = 20_000
    for moment in (AT, AT + 300):
        frame = bench.packet(kind=PacketKind.PFC, classes=1 << CLASS, xoff=1 << CLASS, seq=10)
        flow.receive(bench.state, bench.switch, bench.port, frame, moment)
    prio = bench.prio()
    assert (prio["pauses"], prio["rx_xoff_pkts"], prio["since_ps"]) == (1, 2, AT)
    assert prio["until_ps"] == AT + 300 + 10 * 20_000
    assert bench.logged(EventKind.PAUSED) == 1


def test_the_earliest_timer_of_a_port_schedules_its_timer_event(bench: Bench) -> None:
    """Two classes paused for different times: the earlier one is the port's, and after it the later one."""
    port = bench.state.ports[bench.port]
    port["pfc_classes"], port["quantum_ps"] = 1 << CLASS | 1 << OTHER, 20_000
    for c, quanta in ((CLASS, 30), (OTHER, 10)):
        frame = bench.packet(kind=PacketKind.PFC, classes=1 << c, xoff=1 << c, seq=quanta)
        flow.receive(bench.state, bench.switch, bench.port, frame, AT)
    source = calendar.aux_source(bench.state, bench.switch, Aux.PFC)
    assert calendar.pending_ps(bench.state, bench.switch, source) == port["pfc_next_ps"] == AT + 10 * 20_000
    assert flow.expire(bench.state, bench.switch, bench.port, AT + 10 * 20_000)
    gate.rearm(bench.state, bench.switch)
    assert calendar.pending_ps(bench.state, bench.switch, source) == port["pfc_next_ps"] == AT + 30 * 20_000


@pytest.mark.parametrize(
    ("left_ps", "expected_ps"),
    [(20_000, 5_000), (20_001, 5_001), (20_004, 5_001), (20_005, 5_002), (0, 0), (40_000, 10_000)],
)
def test_the_rest_of_a_pause_keeps_its_quanta_rounded_up_at_another_speed(left_ps: int, expected_ps: int) -> None:
    assert pfc.in_new_quanta(left_ps, 5_000, 20_000) == expected_ps


@pytest.mark.parametrize("paused", [True, False])
def test_a_change_of_speed_scales_only_running_timers(bench: Bench, *, paused: bool) -> None:
    port, prio = bench.state.ports[bench.port], bench.prio()
    port["quantum_ps"] = 20_000
    if paused:
        port["paused"], prio["until_ps"], prio["refresh_ps"] = 1 << CLASS, AT + 40_000, AT + 20_000
    flow.speed_changed(bench.state, bench.switch, bench.port, AT, 5_000)
    assert port["quantum_ps"] == 5_000
    assert prio["refresh_ps"] == (AT + 5_000 if paused else INFINITY_PS)
    assert port["pfc_next_ps"] == (AT + 5_000 if paused else INFINITY_PS)
    if paused:
        assert prio["until_ps"] == AT + 10_000


def test_a_change_of_speed_leaves_timers_of_neighbouring_ports_unchanged(bench: Bench) -> None:
    """Class 0 of the next port has the row after class 7 of this one."""
    rows = bench.state.prios
    before, after = bench.out * 8 - 1, bench.out * 8 + 8
    for row in (before, after):
        rows[row]["refresh_ps"] = rows[row]["until_ps"] = AT
    for moment in (AT, AT + 1):
        flow.expire(bench.state, bench.switch, bench.out, moment)
    flow.speed_changed(bench.state, bench.switch, bench.out, AT + 1, 5_000)
    assert [rows[row]["refresh_ps"] for row in (before, after)] == [AT, AT]
    assert bench.state.ports["tx_pause_pkts"].sum() == 0


def test_a_pause_without_a_timer_gets_none_at_another_speed(bench: Bench) -> None:
    port, prio = bench.state.ports[bench.port], bench.prio()
    port["paused"], prio["until_ps"] = 1 << CLASS, INFINITY_PS
    flow.speed_changed(bench.state, bench.switch, bench.port, AT, 5_000)
    assert prio["until_ps"] == port["pfc_next_ps"] == INFINITY_PS


# ===== the scheduler =====

WAITING = 1 << CLASS | 1


@pytest.mark.parametrize(("deficit", "chosen", "left"), [(1000, CLASS, 0), (1001, CLASS, 1), (999, 0, 999)])
def test_a_class_sends_while_its_deficit_covers_the_frame_to_the_byte(
    bench: Bench, deficit: int, chosen: int, left: int
) -> None:
    """Shreedhar and Varghese, section 3.2: a packet may be sent if its length is not greater than the deficit."""
    bench.state.ports[bench.port]["rr_class"] = CLASS
    bench.state.ports[bench.port]["strict"] = 0
    bench.queue()["deficit_bytes"] = deficit
    bench.queue(c=0)["quantum_bytes"] = 1000
    assert scheduler.pick(bench.state, bench.port, WAITING, 1000) == chosen
    assert bench.queue()["deficit_bytes"] == left


def test_a_class_that_was_empty_starts_with_deficit_0(bench: Bench) -> None:
    """Section 3.2: the deficit of a queue that is left empty is set to 0; else an idle class saves up bandwidth."""
    port = bench.state.ports[bench.port]
    port["strict"], port["nonempty"], port["rr_class"] = 0, WAITING, CLASS
    bench.queue()["deficit_bytes"] = 5000
    for c in (0, CLASS):
        bench.queue(c=c)["quantum_bytes"] = 1000
    scheduler.emptied(bench.state, bench.port, CLASS)
    assert port["nonempty"] == 1
    # Both wait again, and it is class 3's turn: with its old deficit it would send five frames in a row.
    assert [scheduler.pick(bench.state, bench.port, WAITING, 1000) for _ in range(4)] == [0, CLASS, 0, CLASS]


def test_a_class_gets_its_quantum_once_per_round(bench: Bench) -> None:
    port = bench.state.ports[bench.port]
    port["strict"], port["rr_class"] = 0, 0
    bench.queue(c=0)["quantum_bytes"], bench.queue()["quantum_bytes"] = 1000, 3000
    order = [scheduler.pick(bench.state, bench.port, WAITING, 1000) for _ in range(9)]
    assert order == [CLASS, CLASS, CLASS, 0, CLASS, CLASS, CLASS, 0, CLASS]


def test_the_deficit_must_cover_the_frame_at_the_head_of_the_queue(bench: Bench) -> None:
    port = bench.state.ports[bench.port]
    port["strict"], port["rr_class"] = 0, CLASS
    bench.queue()["head"] = bench.packet(size=600)
    bench.queue()["deficit_bytes"] = 600
    assert scheduler.pick(bench.state, bench.port, WAITING, 1000) == CLASS
    assert bench.queue()["deficit_bytes"] == 0


@pytest.mark.parametrize(("strict", "chosen"), [(0b1000_0000, 7), (0b1010_0000, 7), (0b0010_0000, 5), (0b0100_0000, 0)])
def test_the_highest_strict_class_with_packets_is_sent_first(bench: Bench, strict: int, chosen: int) -> None:
    """The last row: a strict class without packets leaves the port to the others."""
    bench.state.ports[bench.port]["strict"], bench.state.ports[bench.port]["rr_class"] = strict, 0
    bench.queue(c=0)["deficit_bytes"] = 1000
    assert scheduler.pick(bench.state, bench.port, 0b1010_0001, 1000) == chosen


@pytest.mark.parametrize(("last", "order"), [(7, [1, 5, 6, 7, 1]), (5, [6, 7, 1, 5, 6]), (0, [1, 5, 6, 7, 1])])
def test_the_ns3_model_serves_the_classes_round_robin(bench: Bench, last: int, order: list[int]) -> None:
    bench.config["semantics"] = Semantics.NS3_RDMA
    bench.state.ports[bench.port]["strict"], bench.state.ports[bench.port]["rr_class"] = 0, last
    found = [scheduler.pick(bench.state, bench.port, 0b1110_0010, 1000) for _ in range(5)]
    assert found == order


def test_a_single_class_needs_no_deficit(bench: Bench) -> None:
    assert scheduler.pick(bench.state, bench.port, 1 << CLASS, 1000) == CLASS
    assert bench.queue()["deficit_bytes"] == 0


# ===== the end of a frame =====


@pytest.mark.parametrize(
    ("order", "now_ps", "pending", "busy"),
    [
        (Order.SOURCE, AT - 1, 0, True),
        (Order.SOURCE, AT, 0, False),
        (Order.SOURCE, AT, 1, True),
        (Order.INSERTION, AT - 1, 0, False),
        (Order.INSERTION, AT, 1, True),
    ],
)
def test_a_port_is_free_exactly_at_the_end_of_a_frame(
    bench: Bench, order: Order, now_ps: int, pending: int, *, busy: bool
) -> None:
    """Unless the event of that moment, which comes later, owns it; under insertion order that event alone decides."""
    bench.config["order"] = order
    row = bench.state.ports[bench.port]
    row["busy_until_ps"], row["free_pending"] = AT, pending
    assert bool(transmit.is_busy(bench.state, bench.port, now_ps)) is busy


def test_control_frames_leave_in_the_order_in_which_they_were_queued(bench: Bench) -> None:
    row = bench.state.ports[bench.port]
    row["busy_until_ps"] = AT + 1
    frames = [bench.packet(kind=PacketKind.PFC, size=64, classes=1, xoff=xoff) for xoff in (1, 0, 1)]
    for frame in frames:
        transmit.queue_control(bench.state, bench.switch, bench.port, frame, AT)
    assert (row["ctrl_head"], row["ctrl_tail"], row["free_pending"]) == (frames[0], frames[2], 1)
    for left in (2, 1, 0):
        transmit.send_control(bench.state, bench.switch, bench.port, AT + 1)
        waiting = int(row["ctrl_head"])
        assert waiting == (int(frames[3 - left]) if left else 0)
    assert row["ctrl_tail"] == 0
    assert (bench.prio(c=0)["tx_xoff_pkts"], bench.prio(c=0)["tx_xon_pkts"], row["tx_pause_pkts"]) == (2, 1, 3)


# ===== what a cable does =====


@pytest.mark.parametrize(("every", "dropped"), [(1, range(1, 8)), (2, (2, 4, 6)), (3, (3, 6))])
def test_every_nth_frame_is_dropped_and_no_other(bench: Bench, every: int, dropped: Sequence[int]) -> None:
    bench.emulator.schedule([e.DropEvery(US, bench.port, every)])
    bench.emulator.advance(2 * US)
    bench.state.losses["count"] = 0  # frames of the world's own message
    frames = [damage.damaged(bench.state, bench.switch, bench.port, bench.packet()) for _ in range(7)]
    assert frames == [DropReason.INJECTED if number in dropped else damage.INTACT for number in range(1, 8)]
    other = bench.packet(kind=PacketKind.ACK)
    assert damage.damaged(bench.state, bench.switch, bench.port, other) == damage.INTACT


EXACTLY = 1.0 - (1.0 - 1e-5) ** (8.0 * 1038)


@pytest.mark.parametrize(
    ("draw", "lost"), [(0.0, True), (0.0796, True), (EXACTLY, False), (0.0800, False), (0.9, False)]
)
def test_a_frame_is_corrupted_with_the_probability_that_any_of_its_bits_is(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, draw: float, *, lost: bool
) -> None:
    """1 - (1 - 1e-5)**(8 x 1038) = 0.07968: of 1038 bytes all bits count, the last one, too."""
    monkeypatch.setattr("fabric.dataplane.state.rng.draw", lambda *_: draw)
    bench.state.ports[bench.port]["bit_error_ratio"] = 1e-5
    found = damage.damaged(bench.state, bench.switch, bench.port, bench.packet(size=1038))
    assert found == (DropReason.FCS if lost else damage.INTACT)
    assert bench.state.ports[bench.port]["fcs_errors"] == lost


def test_a_cable_without_bit_errors_draws_no_random_number(bench: Bench) -> None:
    before = bench.state.random["count"].copy()
    assert damage.damaged(bench.state, bench.switch, bench.port, bench.packet()) == damage.INTACT
    assert not damage.is_suspect(bench.state, bench.port)
    assert (bench.state.random["count"] == before).all()
    bench.state.ports[bench.port]["bit_error_ratio"] = 1e-12
    assert damage.is_suspect(bench.state, bench.port)
