"""dataplane/transport/cubic: cuts, growth and bounds at their moments (RFC 9438)."""

from __future__ import annotations

import numpy as np
import pytest

from fabric.dataplane.state.codes import CongestionControl, EventKind, PacketFlag, PacketKind
from fabric.dataplane.transport import cubic, dctcp
from tests.edges.bench import AT, US, Bench, Row

S = 10**12
ACK, NAK = int(PacketKind.ACK), int(PacketKind.NAK)
ECHO = int(PacketFlag.ECHO)


@pytest.fixture
def pair(bench: Bench) -> Row:
    """A queue pair with a window of 10 packets, of 1000 at most; packets 0 to 99 are sent, 0 to 9 acknowledged."""
    config, row = bench.config, bench.state.qps[0]
    config["cc"], config["window_bytes"], config["variable_window"] = CongestionControl.CUBIC, 1_000_000, 1
    config["beta"], config["cubic_scale"], config["first_window"], config["fast_convergence"] = 0.7, 0.4, 10, 1
    row["line_bps"], row["payload_bytes"] = 10**11, 1000
    cubic.start(bench.state, 0)
    row["acked_psn"], row["top_psn"], row["next_psn"] = 10, 100, 100
    return row


def answer(bench: Bench, newly: int, kind: int = ACK, flags: int = 0, now_ps: int = AT) -> Row:
    """The table of CUBIC after an answer."""
    packet = bench.packet(kind=kind, flags=flags)
    cubic.acknowledged(bench.state, bench.host, 0, packet, newly, now_ps)
    return bench.state.cubic[0]


def test_slow_start_adds_a_packet_for_each_acknowledged_one_up_to_the_largest_window(bench: Bench, pair: Row) -> None:
    assert pair["rate_bps"] == 10**9  # 10 of 1000 packets
    assert answer(bench, 3)["window_pkts"] == 13
    assert answer(bench, 2000)["window_pkts"] == 1000
    assert pair["rate_bps"] == pair["line_bps"]


def test_slow_start_ends_exactly_at_the_threshold(bench: Bench, pair: Row) -> None:
    mine = bench.state.cubic[0]
    mine["threshold_pkts"] = 15
    assert answer(bench, 4)["window_pkts"] == 14
    assert mine["begin_ps"] == 0
    assert answer(bench, 4)["window_pkts"] == 15
    assert mine["begin_ps"] == AT


@pytest.mark.parametrize(("kind", "flags", "cuts"), [(ACK, 0, 0), (ACK, ECHO, 1), (NAK, 0, 1)])
def test_a_mark_and_a_loss_cut_the_window_to_beta_of_it(
    bench: Bench, pair: Row, kind: int, flags: int, cuts: int
) -> None:
    mine = answer(bench, 0, kind, flags)
    assert mine["window_pkts"] == (7 if cuts else 10)
    assert pair["cuts"] == bench.logged(EventKind.RATE_CUT) == cuts


@pytest.mark.parametrize(("sacked", "resend", "cuts"), [(20, 19, 1), (20, 20, 0)])
def test_packets_that_are_known_to_be_missing_are_a_loss(
    bench: Bench, pair: Row, sacked: int, resend: int, cuts: int
) -> None:
    pair["recover_psn"], pair["sacked_psn"], pair["resend_psn"] = 100, sacked, resend
    answer(bench, 1)
    assert pair["cuts"] == cuts


@pytest.mark.parametrize(("acked", "cuts"), [(99, 1), (100, 2)])
def test_there_is_no_further_cut_until_all_packets_sent_before_it_are_acknowledged(
    bench: Bench, pair: Row, acked: int, cuts: int
) -> None:
    answer(bench, 0, NAK)
    pair["acked_psn"] = acked
    answer(bench, 1, NAK)
    assert pair["cuts"] == cuts


def test_no_cut_leaves_a_threshold_below_two_packets(bench: Bench, pair: Row) -> None:
    bench.state.cubic[0]["window_pkts"] = 2.5
    mine = answer(bench, 0, NAK)
    assert (mine["window_pkts"], mine["threshold_pkts"]) == (2, 2)


@pytest.mark.parametrize(("peak", "fast", "remembered"), [(10, 1, 10), (11, 1, 8.5), (11, 0, 10)])
def test_a_window_below_the_last_peak_remembers_a_smaller_one(
    bench: Bench, pair: Row, peak: float, fast: int, remembered: float
) -> None:
    bench.config["fast_convergence"], bench.state.cubic[0]["peak_pkts"] = fast, peak
    assert answer(bench, 0, NAK)["peak_pkts"] == pytest.approx(remembered)


def test_a_timeout_leaves_one_packet_and_slow_start_to_beta_of_the_window(bench: Bench, pair: Row) -> None:
    pair["timeouts"] = 1
    mine = answer(bench, 1)
    assert (mine["window_pkts"], mine["threshold_pkts"], pair["cuts"]) == (1, 7, 1)
    assert answer(bench, 2)["window_pkts"] == 3
    assert pair["cuts"] == 1, "each timeout counts once"


@pytest.mark.parametrize("at_ms", [1, 300, 2000, 4000, 6000])
def test_the_window_after_a_cut_is_the_larger_one_of_cubic_and_reno(bench: Bench, pair: Row, at_ms: int) -> None:
    """RFC 9438 equations 1 to 4, written again."""
    mine = bench.state.cubic[0]
    mine["window_pkts"] = 100.0
    answer(bench, 0, NAK)
    pair["acked_psn"] = 100
    mine["reno_pkts"] = 71.5
    found = float(answer(bench, 1, now_ps=AT + at_ms * S // 1000)["window_pkts"])
    k = np.cbrt((100 - 70) / 0.4)
    cubic_pkts = 0.4 * (at_ms / 1000 - k) ** 3 + 100
    reno_pkts = 71.5 + 3 * 0.3 / 1.7 / 70
    target = min(max(cubic_pkts, 70), 105)
    expected = reno_pkts if cubic_pkts < reno_pkts else 70 + (target - 70) / 70
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(("reno", "more"), [(99.9, 3 * 0.3 / 1.7), (100, 1)])
def test_reno_grows_by_a_packet_a_window_from_the_window_before_the_cut_on(
    bench: Bench, pair: Row, reno: float, more: float
) -> None:
    mine = bench.state.cubic[0]
    mine["window_pkts"] = 100.0
    answer(bench, 0, NAK)
    pair["acked_psn"], mine["reno_pkts"] = 100, reno
    assert answer(bench, 1)["reno_pkts"] == pytest.approx(reno + more / 70)


def test_another_speed_of_the_port_keeps_the_window(bench: Bench, pair: Row) -> None:
    cubic.change_line(bench.state, 0, AT, 4 * 10**10)
    assert (bench.state.cubic[0]["window_pkts"], pair["rate_bps"]) == (10, 4 * 10**8)


# ===== DCTCP's cut by losses =====


@pytest.mark.parametrize(
    ("loss_cut", "kind", "flags", "left"),
    [(0.0, NAK, 0, 100), (0.5, NAK, 0, 50), (0.5, ACK, 0, 100), (0.5, ACK, ECHO, 80), (0.5, NAK, ECHO, 50)],
)
def test_dctcp_cuts_by_a_loss_where_that_is_more_than_by_marks(
    bench: Bench, pair: Row, loss_cut: float, kind: int, flags: int, left: int
) -> None:
    bench.config["loss_cut"], bench.config["additive_bps"], bench.config["min_rate_bps"] = loss_cut, 0, 1
    bench.state.dctcp[0]["cut_end_psn"], bench.state.dctcp[0]["window_end_psn"] = -1, 1000
    pair["rate_bps"], pair["alpha"] = 10**11, 0.4
    packet = bench.packet(kind=kind, flags=flags)
    dctcp.acknowledged(bench.state, bench.host, 0, packet, 0, AT + US)
    assert pair["rate_bps"] == left * 10**9
