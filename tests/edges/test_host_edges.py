"""dataplane/host: notifications, ACKs, NAKs, windows, timeouts, loss by time, slow receivers, storms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabric.dataplane.host import nic, pause_storm, placement, receiver, scoreboard, sender, slow_receiver, timeouts
from fabric.dataplane.state import calendar
from fabric.dataplane.state.codes import (
    INFINITY_PS,
    Aux,
    DropReason,
    Ecn,
    EventKind,
    PacketFlag,
    PacketKind,
    QpState,
    Recovery,
)
from tests.dataplane import worlds
from tests.edges.bench import AT, CLASS, US, Bench


def posted(**changes: Any) -> Bench:  # noqa: ANN401  fields of a World
    """Host 0 has posted its message of 100 packets to host 1, and sent none."""
    bench = Bench(worlds.World(leaves=1, hosts=3, messages=((0, 1, 102_400, 0, CLASS),), **changes))
    bench.state.ports[bench.host_port]["busy_until_ps"] = AT + 1000 * US
    sender.post(bench.state, bench.host, 1, AT)
    return bench


def arriving(bench: Bench, **fields: int) -> np.uint32:
    """A data packet of queue pair 0 that host 1 holds."""
    receiver_port = bench.fabric.hosts[1].first_port
    return bench.packet(
        bench.fabric.hosts[1].id,
        **{"in_port": receiver_port, "qp": 0, "msg": 1, "payload": 1024, "flags": 0, "seq": 0, **fields},
    )


def receive(bench: Bench, now_ps: int = AT, **fields: int) -> None:
    receiver.receive_data(bench.state, bench.fabric.hosts[1].id, arriving(bench, **fields), now_ps)


def sent_by_receiver(bench: Bench) -> int:
    port = bench.state.ports[bench.fabric.hosts[1].first_port]
    queue = bench.state.queues[bench.fabric.hosts[1].first_port * 8 + CLASS]
    return int(port["tx_pkts"]) + int(queue["depth_pkts"])


# ===== the notification point =====


@pytest.mark.parametrize(("after_ps", "sent"), [(10 * US - 1, 1), (10 * US, 2), (0, 1)])
def test_a_mark_exactly_at_the_end_of_the_cnp_interval_causes_a_cnp(after_ps: int, sent: int) -> None:
    """At most one per interval: two that are an interval apart are one each."""
    bench = posted()
    bench.config["cnp_interval_ps"] = 10 * US
    for psn, moment in enumerate((AT, AT + after_ps)):
        receive(bench, moment, seq=psn, ecn=Ecn.CE)
    assert bench.state.hosts[1]["cnp_sent"] == sent
    assert bench.state.hosts[1]["ecn_received"] == 2


def test_an_unmarked_packet_causes_no_cnp() -> None:
    bench = posted()
    receive(bench, ecn=Ecn.ECT0)
    receive(bench, seq=1, ecn=Ecn.NOT_ECT)
    assert (bench.state.hosts[1]["cnp_sent"], bench.state.hosts[1]["ecn_received"]) == (0, 0)


def test_delayed_cnps_leave_in_order_each_after_its_delay() -> None:
    bench = posted()
    bench.config["cnp_interval_ps"], bench.config["cnp_delay_ps"] = US, 3 * US
    device = bench.fabric.hosts[1].id
    for psn in range(3):
        receive(bench, AT + psn * US, seq=psn, ecn=Ecn.CE)
    host = bench.state.hosts[1]
    for psn in range(3):
        assert bench.state.packets[host["cnp_head"]]["time_ps"] == AT + (psn + 3) * US
        receiver.on_notify(bench.state, device, AT + (psn + 3) * US)
    assert (host["cnp_head"], host["cnp_tail"]) == (0, 0)


# ===== acknowledgement =====


@pytest.mark.parametrize(("packets", "answers"), [(1, 0), (3, 0), (4, 1), (5, 1), (7, 1), (8, 2)])
def test_one_ack_is_sent_per_ack_every_packets(packets: int, answers: int) -> None:
    bench = posted(ack_every=4)
    for psn in range(packets):
        receive(bench, seq=psn)
    assert sent_by_receiver(bench) == answers
    assert bench.state.rqps[0]["expected_psn"] == packets


@pytest.mark.parametrize("flag", [PacketFlag.LAST, PacketFlag.ACK_REQUEST])
def test_the_last_packet_and_an_ack_request_are_acknowledged_at_once(flag: PacketFlag) -> None:
    bench = posted(ack_every=4)
    receive(bench, flags=flag)
    assert sent_by_receiver(bench) == 1
    assert bench.state.rqps[0]["unacked_pkts"] == 0


@pytest.mark.parametrize(("psn", "expected", "duplicates", "gaps"), [(4, 5, 1, 0), (5, 6, 0, 0), (6, 5, 0, 1)])
def test_the_expected_psn_is_accepted_a_lower_one_is_a_duplicate_a_higher_one_a_gap(
    psn: int, expected: int, duplicates: int, gaps: int
) -> None:
    bench = posted()
    bench.state.rqps[0]["expected_psn"] = 5
    receive(bench, seq=psn)
    host = bench.state.hosts[1]
    assert bench.state.rqps[0]["expected_psn"] == expected
    assert (host["duplicates"], host["out_of_sequence"], host["naks_sent"]) == (duplicates, gaps, gaps)
    assert host["goodput_bytes"] == (1024 if psn == 5 else 0)


@pytest.mark.parametrize(
    ("after_ps", "interval_us", "naks"), [(50 * US - 1, 50, 1), (50 * US, 50, 2), (10_000 * US, 0, 1)]
)
def test_a_nak_is_repeated_after_its_interval_and_not_at_all_without_an_interval(
    after_ps: int, interval_us: int, naks: int
) -> None:
    bench = posted(nak_interval_us=interval_us)
    for moment in (AT, AT + after_ps):
        receive(bench, moment, seq=5)
    assert bench.state.hosts[1]["naks_sent"] == naks
    receive(bench, AT + after_ps, seq=0)
    receive(bench, AT + after_ps, seq=5)
    assert bench.state.hosts[1]["naks_sent"] == naks + 1, "another gap is another NAK"


def test_go_back_0_reports_the_same_gap_again_after_the_message_was_retransmitted() -> None:
    bench = posted(recovery=Recovery.GO_BACK_0)
    for naks in (1, 2):
        receive(bench, seq=0, flags=PacketFlag.FIRST)
        receive(bench, seq=2)
        assert bench.state.hosts[1]["naks_sent"] == naks
        assert bench.state.rqps[0]["expected_psn"] == 0, "the whole message again"


def test_selective_repeat_keeps_out_of_order_packets_and_counts_each_once() -> None:
    bench = posted(recovery=Recovery.SELECTIVE, window_kb=64)
    for psn in (2, 1, 2):
        receive(bench, seq=psn)
    host = bench.state.hosts[1]
    assert (host["naks_sent"], host["duplicates"], bench.state.rqps[0]["expected_psn"]) == (2, 1, 0)
    receive(bench, seq=0)
    assert bench.state.rqps[0]["expected_psn"] == 3
    receive(bench, seq=2)
    assert (host["duplicates"], host["goodput_bytes"]) == (2, 3 * 1024)


# ===== the sender's window and timer =====


@pytest.mark.parametrize(("in_flight", "blocked"), [(61, False), (62, False), (63, True), (64, True)])
def test_a_queue_pair_is_blocked_when_its_window_is_used_to_the_byte(in_flight: int, *, blocked: bool) -> None:
    """64,000 B and packets of 1,024 B: with 62 out there is room for half a packet, which is enough."""
    bench = posted(window_kb=64)
    bench.config["variable_window"] = 0
    row = bench.state.qps[0]
    row["acked_psn"], row["next_psn"] = 10, 10 + in_flight
    assert bool(sender.is_blocked(bench.state, 0)) is blocked


@pytest.mark.parametrize(("in_flight", "blocked"), [(0, False), (1, True)])
def test_a_variable_window_at_rate_0_allows_one_packet(in_flight: int, *, blocked: bool) -> None:
    bench = posted(window_kb=64)
    bench.config["variable_window"] = 1
    row = bench.state.qps[0]
    row["rate_bps"], row["next_psn"] = 0, in_flight
    assert bool(sender.is_blocked(bench.state, 0)) is blocked


def test_without_a_window_a_queue_pair_is_never_blocked() -> None:
    bench = posted()
    bench.state.qps[0]["next_psn"] = 10**6
    assert not sender.is_blocked(bench.state, 0)


@pytest.mark.parametrize(("retries", "failed"), [(6, False), (7, True), (8, True)])
def test_a_queue_pair_fails_beyond_the_retry_limit_and_not_at_it(retries: int, *, failed: bool) -> None:
    """retry_limit is 7: seven timeouts in a row are retried, the eighth is not."""
    bench = posted()
    row = bench.state.qps[0]
    row["retries"], row["next_psn"] = retries, 3
    assert sender.expire(bench.state, bench.host, 0, AT) is not failed
    assert bool(row["state"] == QpState.FAILED) is failed
    assert bool(bench.state.messages[1]["failed"]) is failed
    assert row["next_psn"] == (row["posted_psn"] if failed else 0)
    assert bench.logged(EventKind.QP_FAILED) == failed


@pytest.mark.parametrize(("late_ps", "timeouts_"), [(-1, 0), (0, 1), (1, 1)])
def test_a_retransmission_timer_is_served_when_it_expires_and_not_before(late_ps: int, timeouts_: int) -> None:
    bench = posted()
    row = bench.state.qps[0]
    row["deadline_ps"], row["next_psn"], row["top_psn"] = AT, 3, 3
    timeouts.on_timeout(bench.state, bench.host, AT + late_ps)
    assert row["timeouts"] == timeouts_
    assert bench.state.hosts[0]["timeout_ps"] == (AT + late_ps + bench.config["timeout_ps"] if timeouts_ else AT)


@pytest.mark.parametrize(("most", "timeouts_"), [(1, [1, 0]), (2, [1, 1])])
def test_one_timer_event_serves_a_limited_number_of_queue_pairs_and_the_next_event_the_others(
    monkeypatch: pytest.MonkeyPatch, most: int, timeouts_: list[int]
) -> None:
    monkeypatch.setattr(timeouts, "_MOST", most)
    bench = Bench(worlds.World(leaves=1, hosts=3, messages=((0, 1, 9000, 0, CLASS), (0, 2, 9000, 0, CLASS))))
    for message in (1, 2):
        sender.post(bench.state, bench.host, message, AT)
    bench.state.ports[bench.host_port]["busy_until_ps"] = AT + 1000 * US
    for row in bench.state.qps:
        row["deadline_ps"], row["next_psn"], row["top_psn"] = AT, 3, 3
    timeouts.on_timeout(bench.state, bench.host, AT)
    assert bench.state.qps["timeouts"].tolist() == timeouts_
    if most == 1:
        assert bench.state.hosts[0]["timeout_ps"] == AT
        timeouts.on_timeout(bench.state, bench.host, AT)
        assert bench.state.qps["timeouts"].tolist() == [1, 1]


def test_the_first_packet_in_flight_starts_the_timer_and_the_next_does_not_restart_it() -> None:
    bench = posted()
    timeout_ps = bench.config["timeout_ps"]
    for moment in (AT, AT + US):
        sender.make_packet(bench.state, bench.host, bench.host_port, 0, moment)
        assert bench.state.qps[0]["deadline_ps"] == AT + timeout_ps


@pytest.mark.parametrize(("psn", "next_psn"), [(4, 20), (5, 5)])
def test_go_back_0_restarts_the_message_in_progress(psn: int, next_psn: int) -> None:
    """A NAK for an earlier packet has no effect any more."""
    bench = posted(recovery=Recovery.GO_BACK_0)
    row = bench.state.qps[0]
    bench.state.messages[1]["base_psn"] = 5
    row["next_psn"], row["top_psn"], row["posted_psn"] = 20, 20, 105
    row["acked_psn"] = 5
    nak = bench.packet(bench.host, kind=PacketKind.NAK, seq=psn, qp=0)
    sender.receive_ack(bench.state, bench.host, nak, AT)
    assert row["next_psn"] == next_psn


@pytest.mark.parametrize(("psn", "done", "acked"), [(99, 0, 99), (100, 1, 100)])
def test_a_message_is_complete_when_its_last_packet_is_acknowledged(psn: int, done: int, acked: int) -> None:
    bench = posted()
    row = bench.state.qps[0]
    row["next_psn"] = row["top_psn"] = 100
    ack = bench.packet(bench.host, kind=PacketKind.ACK, seq=psn, qp=0)
    sender.receive_ack(bench.state, bench.host, ack, AT + US)
    assert (bench.state.hosts[0]["messages_done"], row["acked_psn"]) == (done, acked)
    assert bench.state.messages[1]["end_ps"] == (AT + US if done else -1)
    assert bool(row["deadline_ps"] == INFINITY_PS) is bool(done), "the timer runs as long as anything is out"


@pytest.mark.parametrize(("psn", "next_psn"), [(4, 20), (5, 5), (6, 6)])
def test_a_nak_below_the_acknowledged_psn_is_ignored(psn: int, next_psn: int) -> None:
    bench = posted()
    row = bench.state.qps[0]
    row["next_psn"] = row["top_psn"] = 20
    row["acked_psn"] = 5
    nak = bench.packet(bench.host, kind=PacketKind.NAK, seq=psn, qp=0)
    sender.receive_ack(bench.state, bench.host, nak, AT)
    assert row["next_psn"] == next_psn


@pytest.mark.parametrize(("available_ps", "due"), [(AT, True), (AT + 1, False)])
def test_a_paced_queue_pair_is_ready_at_its_departure_time_and_not_before(available_ps: int, *, due: bool) -> None:
    bench = posted()
    row = bench.state.qps[0]
    row["available_ps"] = available_ps
    nic._park(bench.state, bench.host, 0)
    assert nic._wake_due(bench.state, bench.host, AT) is due
    assert row["state"] == (QpState.READY if due else QpState.WAITING)


@pytest.mark.parametrize(("free_ps", "state"), [(AT, QpState.READY), (AT - 1, QpState.WAITING)])
def test_a_queue_pair_whose_departure_is_due_when_the_port_is_free_stays_ready(free_ps: int, state: QpState) -> None:
    bench = posted()
    bench.state.ports[bench.host_port]["busy_until_ps"] = free_ps
    bench.state.qps[0]["available_ps"] = AT
    nic._put_back(bench.state, bench.host, bench.host_port, 0, AT)
    assert bench.state.qps[0]["state"] == state


# ===== loss distinguished from reordering by time (RFC 8985) =====


@pytest.fixture
def board() -> Bench:
    """Ten packets out since AT, a microsecond apart; a round trip of 10 us, a reordering window of 20 us."""
    bench = posted(recovery=Recovery.OUT_OF_ORDER, bitmap=64, reorder_us=20)
    for psn in range(10):
        scoreboard.sent(bench.state, bench.host, 0, psn, 0, AT + psn * US)
    row, mine = bench.state.qps[0], bench.state.boards[0]
    row["next_psn"] = row["top_psn"] = 10
    mine["rtt_ps"] = mine["srtt_ps"] = mine["peak_rtt_ps"] = mine["min_rtt_ps"] = 10 * US
    mine["newest_sent_ps"], mine["newest_psn"], mine["end_psn"] = AT + 5 * US, 5, 6
    bench.state.bitmap[scoreboard._slot(bench.state, 0, 5)] = 1
    return bench


@pytest.mark.parametrize(("late_ps", "lost"), [(-1, 0), (0, 1), (US - 1, 1), (US, 2), (100 * US, 5)])
def test_a_packet_is_lost_after_a_round_trip_time_and_the_reordering_window(
    board: Bench, late_ps: int, lost: int
) -> None:
    """Packet 0 left at AT, so it is lost at AT + 10 us + 20 us; packets after the newest are never checked."""
    scoreboard._detect(board.state, board.host, 0, AT + 30 * US + late_ps)
    assert board.state.boards[0]["pending_pkts"] == board.state.hosts[0]["declared_lost_pkts"] == lost
    following = AT + (30 + lost) * US if lost < 5 else INFINITY_PS
    assert board.state.boards[0]["reorder_ps"] == following


def test_of_packets_sent_at_the_same_time_the_higher_psn_counts_as_later(board: Bench) -> None:
    for psn in range(10):
        board.state.sent_ps[scoreboard._slot(board.state, 0, psn)] = AT
    board.state.boards[0]["newest_sent_ps"] = AT
    scoreboard._detect(board.state, board.host, 0, AT + 100 * US)
    assert board.state.boards[0]["pending_pkts"] == 5


@pytest.mark.parametrize(
    ("reorder", "srtt", "peak", "mult", "window"),
    [
        (20, 10, 10, 1, 20),
        (20, 30, 10, 1, 30),
        (20, 10, 25, 1, 30),
        (20, 10, 10, 2, 40),
        (20, 10, 10, 16, 320),
        (20, 10, 600, 1, 500),
    ],
)
def test_the_reordering_window_is_the_largest_of_three_times_multiplied_and_at_most_the_timeout(
    board: Bench, reorder: int, srtt: int, peak: int, mult: int, window: int
) -> None:
    mine = board.state.boards[0]
    board.config["reorder_window_ps"] = reorder * US
    mine["srtt_ps"], mine["peak_rtt_ps"], mine["window_mult"] = srtt * US, peak * US, mult
    assert scoreboard.reordering_window_ps(board.state, 0) == window * US


@pytest.mark.parametrize(("acked", "ended"), [(7, False), (8, True)])
def test_a_recovery_ends_when_everything_sent_before_it_is_acknowledged(
    board: Bench, acked: int, *, ended: bool
) -> None:
    mine = board.state.boards[0]
    mine["recovery_end_psn"], mine["persist"], mine["window_mult"] = 8, 1, 4
    board.state.qps[0]["acked_psn"] = acked
    scoreboard.settle(board.state, board.host, 0, 1, AT + 11 * US)
    assert (mine["recovery_end_psn"], mine["window_mult"], mine["persist"]) == ((0, 1, 0) if ended else (8, 4, 1))


@pytest.mark.parametrize(("again", "round_trip_us", "newest"), [(0, 9, 3), (1, 9, 5), (1, 10, 3), (0, 3, 3)])
def test_a_round_trip_below_the_minimum_is_assigned_to_the_first_copy_not_the_retransmission(
    board: Bench, again: int, round_trip_us: int, newest: int
) -> None:
    """Rule 2: left out; of a packet sent once every round trip counts."""
    slot = scoreboard._slot(board.state, 0, 3)
    board.state.bitmap[slot] = 4 if again else 0
    board.state.sent_ps[slot] = AT + 20 * US
    assert scoreboard._arrive(board.state, 0, 3, AT + (20 + round_trip_us) * US) == 1
    mine = board.state.boards[0]
    assert mine["newest_psn"] == newest
    assert mine["min_rtt_ps"] == min(10, round_trip_us if not again else 10) * US
    assert scoreboard._arrive(board.state, 0, 3, AT + 40 * US) == 0, "it has arrived already"


@pytest.mark.parametrize(("early_ps", "probes"), [(1, 0), (0, 1)])
def test_a_probe_is_sent_at_its_time_and_not_before(board: Bench, early_ps: int, probes: int) -> None:
    """The last packet that has not arrived, once."""
    mine, row = board.state.boards[0], board.state.qps[0]
    mine["reorder_ps"], mine["probe_ps"] = INFINITY_PS, AT + 50 * US
    assert bool(scoreboard.look(board.state, board.host, 0, AT + 50 * US - early_ps)) is bool(probes)
    assert (mine["probes"], mine["pending_pkts"]) == (probes, probes)
    assert not probes or (row["resend_psn"], mine["probe_psn"]) == (9, 9)


@pytest.mark.parametrize(("reorder_ps", "pending"), [(AT + 900 * US, 0), (INFINITY_PS, 1)])
def test_no_probe_is_sent_while_the_reordering_timer_is_pending(board: Bench, reorder_ps: int, pending: int) -> None:
    mine = board.state.boards[0]
    mine["reorder_ps"], mine["probe_ps"], mine["pending_pkts"] = reorder_ps, AT + 50 * US, pending
    assert bool(scoreboard.look(board.state, board.host, 0, AT + 50 * US)) is bool(pending)
    assert mine["probes"] == 0
    assert mine["probe_ps"] == AT + 50 * US + 2 * 10 * US + 20 * US, "twice the round trip and the window"


@pytest.mark.parametrize(("end_psn", "waits"), [(0, False), (1, True)])
def test_the_reordering_timer_runs_only_while_a_later_packet_is_acknowledged(
    board: Bench, end_psn: int, *, waits: bool
) -> None:
    mine = board.state.boards[0]
    mine["reorder_ps"], mine["end_psn"] = INFINITY_PS, end_psn
    scoreboard.settle(board.state, board.host, 0, 1, AT + 11 * US)
    assert bool(mine["reorder_ps"] < INFINITY_PS) is waits


@pytest.mark.parametrize(("psn", "arrived", "mult"), [(3, 0, 1), (3, 1, 2), (4, 0, 1), (2, 0, 2)])
def test_the_reordering_window_grows_after_a_spurious_retransmission(
    board: Bench, psn: int, arrived: int, mult: int
) -> None:
    """Packet 3 is the first not acknowledged: of it, or a later one, the first ACK that says so proves nothing."""
    board.state.qps[0]["acked_psn"], board.state.boards[0]["window_mult"] = 3, 1
    board.state.boards[0]["probe_psn"], board.state.boards[0]["round_psn"] = -1, 0
    board.state.bitmap[scoreboard._slot(board.state, 0, psn)] = arrived
    scoreboard._both_arrived(board.state, board.host, 0, psn, 3)
    assert board.state.boards[0]["window_mult"] == mult
    assert board.state.hosts[0]["spurious_pkts"] == 1


@pytest.mark.parametrize(("round_psn", "mult"), [(3, 4), (4, 2)])
def test_the_reordering_window_grows_once_per_round_trip(board: Bench, round_psn: int, mult: int) -> None:
    mine = board.state.boards[0]
    mine["window_mult"], mine["round_psn"], mine["probe_psn"] = 2, round_psn, -1
    board.state.qps[0]["acked_psn"] = 3
    scoreboard._both_arrived(board.state, board.host, 0, 2, 3)
    assert mine["window_mult"] == mult
    assert mine["round_psn"] == (10 if mult == 4 else 4)


@pytest.mark.parametrize(("psn", "end_psn", "peak_ps"), [(8, 9, 1_023_000_000), (3, 6, 1_023_000_000)])
def test_an_acknowledgement_advances_the_highest_psn_and_decays_the_peak_round_trip_time(
    board: Bench, psn: int, end_psn: int, peak_ps: int
) -> None:
    """By 1/1024 a packet, down to the round trip just seen."""
    mine = board.state.boards[0]
    mine["peak_rtt_ps"] = 1_024_000_000
    scoreboard._arrive(board.state, 0, psn, AT + psn * US + 10 * US)
    assert (mine["end_psn"], mine["peak_rtt_ps"]) == (end_psn, peak_ps)
    scoreboard._arrive(board.state, 0, 1, AT + 2000 * US)
    assert mine["peak_rtt_ps"] == 1999 * US


@pytest.mark.parametrize(
    ("expected", "answered", "before", "arrived"),
    [
        (0, 7, 0b0, {5, 7}),
        (0, 7, 0b1001, {3, 5, 6, 7}),
        (3, 7, 0b100001, {0, 1, 2, 5, 6, 7}),
        (8, 7, 0b1111, set(range(8))),
    ],
)
def test_an_ack_acknowledges_packets_below_the_expected_psn_its_own_packet_and_the_bitmap_before_it(
    board: Bench, expected: int, answered: int, before: int, arrived: set[int]
) -> None:
    """Packet 5 was known to have arrived. Bit k stands for the packet k + 1 before the one answered."""
    ack = board.packet(board.host, kind=PacketKind.ACK, seq=expected, msg=answered, payload=before, flags=0, qp=0)
    found = scoreboard.note_ack(board.state, board.host, 0, ack, AT + 30 * US)
    here = {psn for psn in range(10) if board.state.bitmap[scoreboard._slot(board.state, 0, psn)] & 1}
    assert here == arrived
    assert found == len(arrived) - 1


@pytest.mark.parametrize(("late_us", "lost"), [(0, 1), (31, 2), (34, 5), (35, 5), (36, 6), (100, 9)])
def test_a_timeout_marks_the_first_packet_and_all_overdue_packets_as_lost(
    board: Bench, late_us: int, lost: int
) -> None:
    """A packet is out for a round trip of 10 us and a window of 20 us; packet n left n us after the first, and 5 is
    here.
    """
    scoreboard.time_out(board.state, board.host, 0, AT + late_us * US)
    mine = board.state.boards[0]
    assert (mine["pending_pkts"], board.state.qps[0]["resend_psn"]) == (lost, 0)
    assert (mine["reorder_ps"], mine["probes"]) == (INFINITY_PS, 0)
    assert board.state.hosts[0]["declared_lost_pkts"] == lost


# ===== placement =====


@pytest.mark.parametrize(
    ("psn", "found", "expected"),
    [(0, placement.IN_ORDER, 1), (1, placement.OUT_OF_ORDER, 0), (63, placement.OUT_OF_ORDER, 0)],
)
def test_a_packet_is_placed_in_any_order(psn: int, found: int, expected: int) -> None:
    bench = posted(recovery=Recovery.OUT_OF_ORDER, bitmap=64)
    device = bench.fabric.hosts[1].id
    assert placement.place(bench.state, device, arriving(bench, seq=psn), AT) == found
    assert bench.state.rqps[0]["expected_psn"] == expected
    assert placement.place(bench.state, device, arriving(bench, seq=psn), AT) == placement.DUPLICATE
    assert bench.state.hosts[1]["out_of_order_peak_pkts"] == (0 if psn == 0 else psn + 1)


@pytest.mark.parametrize(("order", "founds"), [([1, 0, 2], [2, 2, 1]), ([2, 0, 1], [2, 2, 2]), ([0, 1, 2], [1, 1, 1])])
def test_a_filled_gap_advances_the_expected_psn_past_all_received_packets(order: list[int], founds: list[int]) -> None:
    bench = posted(recovery=Recovery.OUT_OF_ORDER, bitmap=64)
    device = bench.fabric.hosts[1].id
    assert [placement.place(bench.state, device, arriving(bench, seq=psn), AT) for psn in order] == founds
    assert bench.state.rqps[0]["expected_psn"] == 3


def test_an_ack_has_a_bitmap_of_the_sixteen_packets_before_its_own() -> None:
    bench = posted(recovery=Recovery.OUT_OF_ORDER, bitmap=64)
    device = bench.fabric.hosts[1].id
    for psn in (3, 4, 19, 20):
        placement.place(bench.state, device, arriving(bench, seq=psn), AT)
    assert placement.arrived_before(bench.state, 0, 20) == 1 | 1 << 15, "19 and 4; 3 is the seventeenth"
    assert placement.arrived_before(bench.state, 0, 5) == 0b11
    bench.state.rqps[0]["expected_psn"] = 4
    assert placement.arrived_before(bench.state, 0, 5) == 0b1, "what is before the expected one has arrived anyway"


# ===== slow receivers and broken NICs =====


def slow(used: int) -> Bench:
    """Host 1 consumes slowly; its buffer of 10,000 B asks for silence at 5,000 and ends it at 2,000."""
    bench = posted()
    host = bench.state.hosts[1]
    host["drain_bps"], host["rx_buffer_bytes"], host["rx_used_bytes"] = 10**9, 10_000, used
    host["rx_xoff_bytes"], host["rx_xon_bytes"] = 5_000, 2_000
    return bench


@pytest.mark.parametrize(("size", "lost"), [(1000, False), (1001, True)])
def test_a_receive_buffer_is_filled_to_the_byte(size: int, *, lost: bool) -> None:
    bench = slow(9_000)
    port = bench.fabric.hosts[1].first_port
    slow_receiver.buffer_data(bench.state, bench.fabric.hosts[1].id, port, arriving(bench, size=size), AT)
    assert bench.drops() == ({DropReason.RX_BUFFER.name: 1} if lost else {})
    assert bench.state.hosts[1]["rx_used_bytes"] == (9_000 if lost else 10_000)


@pytest.mark.parametrize(("size", "sent"), [(999, 0), (1000, 1), (1001, 1)])
def test_a_slow_receiver_sends_xoff_at_its_threshold(size: int, sent: int) -> None:
    bench = slow(4_000)
    port = bench.fabric.hosts[1].first_port
    slow_receiver.buffer_data(bench.state, bench.fabric.hosts[1].id, port, arriving(bench, size=size), AT)
    assert bench.state.hosts[1]["rx_xoff_sent"] == bench.prio(port)["xoff_sent"] == sent


@pytest.mark.parametrize(("before", "sent"), [(3_001, 1), (3_000, 0), (2_999, 0)])
def test_a_slow_receiver_sends_xon_at_its_threshold(before: int, sent: int) -> None:
    bench = slow(before)
    host, device, port = bench.state.hosts[1], bench.fabric.hosts[1].id, bench.fabric.hosts[1].first_port
    packet = arriving(bench, size=1000)
    host["rx_head"] = host["rx_tail"] = packet
    host["rx_xoff_sent"] = bench.prio(port)["xoff_sent"] = 1
    slow_receiver.on_drain(bench.state, device, AT)
    assert (host["rx_used_bytes"], host["rx_xoff_sent"], bench.prio(port)["xoff_sent"]) == (before - 1000, sent, sent)


@pytest.mark.parametrize(("drain_bps", "after_ps"), [(0, 0), (10**9, 8 * US)])
def test_a_receiver_without_a_rate_consumes_at_once(drain_bps: int, after_ps: int) -> None:
    bench = slow(1000)
    host, device = bench.state.hosts[1], bench.fabric.hosts[1].id
    host["rx_head"] = host["rx_tail"] = arriving(bench, size=1000)
    host["drain_bps"] = drain_bps
    slow_receiver._schedule_drain(bench.state, device, AT)
    assert (
        calendar.pending_ps(bench.state, device, calendar.aux_source(bench.state, device, Aux.DRAIN)) == AT + after_ps
    )


@pytest.mark.parametrize(
    ("now_ps", "frames", "left"), [(AT - 1, 0, 1), (AT, 1, 1), (AT + 10 * US - 1, 1, 1), (AT + 10 * US, 0, 0)]
)
def test_a_pause_storm_sends_frames_when_due_and_stops_at_its_end(now_ps: int, frames: int, left: int) -> None:
    from fabric.dataplane.state.fill_faults import begin_storm

    bench = posted()
    port = bench.fabric.hosts[1].first_port
    bench.emulator.state = begin_storm(bench.state, 1, port, 1 << CLASS, (AT, AT + 10 * US, US), 100)
    pause_storm.on_storm(bench.state, bench.fabric.hosts[1].id, now_ps)
    assert bench.state.ports[port]["tx_pause_pkts"] == frames
    assert bool(bench.state.hosts[1]["first_storm"]) is bool(left)
