"""dataplane/transport: DCQCN's timers, counters and bounds at their moments, in both models; the pacing gap."""

from __future__ import annotations

import pytest

from fabric.dataplane.state import ancestry
from fabric.dataplane.state.codes import INFINITY_PS, CongestionControl, EventKind, Semantics
from fabric.dataplane.transport import dcqcn, hooks, ns3_dcqcn, pacing
from tests.edges.bench import AT, US, Bench, Row

LINE = 100 * 10**9
G = 10**9


@pytest.fixture
def pair(bench: Bench) -> Row:
    """A queue pair at line rate; DCQCN with the numbers below."""
    config = bench.config
    config["gain"], config["initial_alpha"], config["cut_divisor"], config["least_kept"] = 0.25, 1.0, 2, 0.0
    config["alpha_timer_ps"], config["increase_timer_ps"], config["decrease_interval_ps"] = 50 * US, 60 * US, 4 * US
    config["fast_recovery_steps"], config["additive_bps"], config["hyper_bps"] = 3, G, 5 * G
    config["min_rate_bps"], config["clamp_target"], config["byte_counter_bytes"] = G, 0, 0
    config["max_rate_bps"], config["first_rate_bps"], config["semantics"], config["cc"] = 0, 0, Semantics.ASIC, 1
    row = bench.state.qps[0]
    row["line_bps"] = LINE
    hooks.start(bench.state, 0)
    return row


def cut(bench: Bench, now_ps: int) -> bool:
    return bool(dcqcn.notify(bench.state, bench.host, 0, now_ps))


# ===== cuts (rule 1) =====


@pytest.mark.parametrize(("after_ps", "cuts"), [(4 * US - 1, 1), (4 * US, 2), (0, 1)])
def test_a_cnp_exactly_at_the_end_of_the_decrease_interval_cuts_the_rate(
    bench: Bench, pair: Row, after_ps: int, cuts: int
) -> None:
    assert cut(bench, AT)
    assert cut(bench, AT + after_ps) is (cuts == 2)
    assert pair["cuts"] == cuts
    assert bench.logged(EventKind.RATE_CUT) == cuts


def test_the_first_cut_halves_the_rate_and_starts_every_timer(bench: Bench, pair: Row) -> None:
    assert cut(bench, AT)
    assert (pair["rate_bps"], pair["target_bps"], pair["alpha"]) == (50 * G, LINE, 1.0)
    assert (pair["alpha_at_ps"], pair["increase_at_ps"]) == (AT + 50 * US, AT + 60 * US)
    assert pair["decrease_at_ps"] == AT + 4 * US


@pytest.mark.parametrize(
    ("clamp", "time_stage", "byte_stage", "target"),
    [(0, 0, 0, LINE), (1, 0, 0, 40 * G), (0, 1, 0, 40 * G), (0, 0, 1, 40 * G)],
)
def test_a_cut_lowers_the_target_if_the_rate_was_raised_since_the_last_or_if_clamped(
    bench: Bench, pair: Row, clamp: int, time_stage: int, byte_stage: int, target: int
) -> None:
    bench.config["clamp_target"] = clamp
    pair["started"], pair["rate_bps"], pair["alpha"], pair["decrease_at_ps"] = 1, 40 * G, 0.5, AT
    pair["time_stage"], pair["byte_stage"], pair["byte_count"] = time_stage, byte_stage, 77
    assert cut(bench, AT)
    assert (pair["rate_bps"], pair["target_bps"], pair["alpha"]) == (30 * G, target, 0.625)
    assert (pair["time_stage"], pair["byte_stage"], pair["byte_count"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("rate", "least", "kept", "after"),
    [
        (4 * G, G, 0.0, 2 * G),
        (2 * G, G, 0.0, G),
        (2 * G - 2, G, 0.0, G),
        (G, G, 0.0, G),
        (G // 2, G, 0.0, G // 2),
        (40 * G, G, 0.75, 30 * G),
    ],
)
def test_a_cut_lowers_the_rate_to_its_bounds_and_never_raises_it_to_them(
    bench: Bench, pair: Row, rate: int, least: int, kept: float, after: int
) -> None:
    bench.config["min_rate_bps"], bench.config["least_kept"] = least, kept
    pair["rate_bps"] = rate
    assert cut(bench, AT)
    assert pair["rate_bps"] == after


@pytest.mark.parametrize(("first", "after"), [(0, 50 * G), (1, 1), (30 * G, 30 * G), (LINE, LINE), (2 * LINE, LINE)])
def test_the_first_cnp_may_set_a_rate(bench: Bench, pair: Row, first: int, after: int) -> None:
    bench.config["first_rate_bps"] = first
    assert cut(bench, AT)
    assert pair["rate_bps"] == after
    assert pair["target_bps"] == (after if first else LINE)
    pair["rate_bps"] = 20 * G
    assert cut(bench, AT + 4 * US)
    assert pair["rate_bps"] < 20 * G, "only the first"


# ===== timers (rules 2 and 3) =====


@pytest.mark.parametrize(("early_ps", "alpha"), [(0, 0.75), (1, 1.0)])
def test_alpha_decreases_when_its_timer_expires(bench: Bench, pair: Row, early_ps: int, alpha: float) -> None:
    cut(bench, AT)
    dcqcn.advance(bench.state, bench.host, 0, AT + 50 * US - early_ps)
    assert pair["alpha"] == alpha
    assert pair["alpha_at_ps"] == AT + (50 if early_ps else 100) * US


@pytest.mark.parametrize(("early_ps", "rate"), [(0, 75 * G), (1, 50 * G)])
def test_the_rate_increases_when_the_increase_timer_expires(bench: Bench, pair: Row, early_ps: int, rate: int) -> None:
    cut(bench, AT)
    dcqcn.advance(bench.state, bench.host, 0, AT + 60 * US - early_ps)
    assert pair["rate_bps"] == rate
    assert pair["time_stage"] == (0 if early_ps else 1)


def test_of_two_timers_that_expire_together_alpha_runs_first_and_both_run(bench: Bench, pair: Row) -> None:
    bench.config["increase_timer_ps"] = 50 * US
    cut(bench, AT)
    dcqcn.advance(bench.state, bench.host, 0, AT + 100 * US)
    assert (pair["alpha"], pair["time_stage"], pair["rate_bps"]) == (0.75**2, 2, 87_500_000_000)


@pytest.mark.parametrize(("early_ps", "rate"), [(0, 75 * G), (1, 50 * G)])
def test_the_increase_timer_runs_also_before_the_alpha_timer(bench: Bench, pair: Row, early_ps: int, rate: int) -> None:
    bench.config["increase_timer_ps"] = 40 * US
    cut(bench, AT)
    dcqcn.advance(bench.state, bench.host, 0, AT + 40 * US - early_ps)
    assert (pair["rate_bps"], pair["alpha"]) == (rate, 1.0)


def test_alpha_decreases_before_a_rate_limit_that_ends_at_the_same_time_stops_its_timer(
    bench: Bench, pair: Row
) -> None:
    bench.config["increase_timer_ps"], bench.config["max_rate_bps"] = 50 * US, 75 * G
    cut(bench, AT)
    dcqcn.advance(bench.state, bench.host, 0, AT + 50 * US)
    assert (pair["started"], pair["rate_bps"], pair["alpha"]) == (0, LINE, 0.75)


def test_a_queue_pair_without_a_cnp_has_no_timers(bench: Bench, pair: Row) -> None:
    pair["alpha_at_ps"] = pair["increase_at_ps"] = 0
    dcqcn.advance(bench.state, bench.host, 0, AT)
    assert (pair["alpha"], pair["rate_bps"], pair["time_stage"]) == (1.0, LINE, 0)


@pytest.mark.parametrize(
    ("time_stage", "byte_stage", "target"),
    [
        (2, 2, 40),
        (2, 0, 40),
        (0, 2, 40),
        (3, 0, 41),
        (0, 3, 41),
        (3, 3, 41),
        (9, 3, 41),
        (3, 9, 41),
        (4, 4, 45),
        (9, 4, 45),
    ],
)
def test_fast_recovery_lasts_below_f_in_both_stages_and_hyper_increase_begins_above_it_in_both(
    bench: Bench, pair: Row, time_stage: int, byte_stage: int, target: int
) -> None:
    """Zhu et al., algorithm 1: max(T, BC) < F fast recovery, min(T, BC) > F hyper increase, else additive."""
    bench.config["byte_counter_bytes"] = 1
    found = dcqcn._raised_bps(bench.state, 0, 40 * G, LINE, time_stage, byte_stage)
    assert found == target * G


@pytest.mark.parametrize(("stage", "target"), [(2, 40), (3, 41), (4, 45)])
def test_without_a_byte_counter_the_timer_stage_decides(bench: Bench, pair: Row, stage: int, target: int) -> None:
    assert dcqcn._raised_bps(bench.state, 0, 40 * G, LINE, stage, 0) == target * G


@pytest.mark.parametrize("stage", [3, 4])
def test_the_target_rate_never_exceeds_the_line_rate(bench: Bench, pair: Row, stage: int) -> None:
    assert dcqcn._raised_bps(bench.state, 0, LINE - G // 2, LINE, stage, 0) == LINE


@pytest.mark.parametrize(
    ("limit", "rate", "released"),
    [(80 * G, 75 * G, False), (75 * G, 75 * G, True), (75 * G - 1, 75 * G, True), (0, 75 * G, False)],
)
def test_a_rate_at_the_maximum_is_no_longer_limited(
    bench: Bench, pair: Row, limit: int, rate: int, *, released: bool
) -> None:
    bench.config["max_rate_bps"] = limit
    cut(bench, AT)
    dcqcn.advance(bench.state, bench.host, 0, AT + 60 * US)
    assert pair["rate_bps"] == (LINE if released else rate)
    assert pair["started"] == (0 if released else 1)
    assert (pair["increase_at_ps"] == INFINITY_PS) == released


@pytest.mark.parametrize(("size", "stage", "left"), [(999, 0, 9_999), (1000, 1, 0), (1001, 1, 1)])
def test_the_byte_counter_ends_a_stage_with_its_last_byte(
    bench: Bench, pair: Row, size: int, stage: int, left: int
) -> None:
    bench.config["byte_counter_bytes"] = 10_000
    dcqcn._count(bench.state, 0, 50_000)
    assert pair["byte_count"] == 0, "at line rate nothing is counted"
    cut(bench, AT)
    dcqcn._count(bench.state, 0, 9_000)
    dcqcn._count(bench.state, 0, size)
    assert (pair["byte_stage"], pair["byte_count"]) == (stage, left)
    assert pair["rate_bps"] == (75 * G if stage else 50 * G)


def test_without_a_byte_counter_nothing_is_counted(bench: Bench, pair: Row) -> None:
    cut(bench, AT)
    dcqcn._count(bench.state, 0, 10**9)
    assert (pair["byte_stage"], pair["byte_count"]) == (0, 0)


# ===== what a departure owes (rule 5) =====


def test_a_pending_transmission_is_paced_at_the_later_rates(bench: Bench, pair: Row) -> None:
    """50 Gb/s for 60 us, then 75 Gb/s: 3.75 Mb take 60 us and 10 us more, and 3 Mb exactly the 60 us."""
    cut(bench, AT)
    for bits, end_ps in ((3_000_000, 60 * US), (3_750_000, 70 * US), (2_999_999, 60 * US - 20)):
        departs = int(dcqcn.departure_ps(bench.state, 0, AT, bits * 10**12))
        assert departs == AT + end_ps
        pair["available_ps"] = departs
        assert dcqcn.owed(bench.state, 0, AT) == bits * 10**12
    assert dcqcn.departure_ps(bench.state, 0, AT, 50 * G + 1) == AT + 2, "rounded up: no rate is exceeded"


def test_a_departure_in_the_past_leaves_nothing_to_pace(bench: Bench, pair: Row) -> None:
    cut(bench, AT)
    for moment in (AT, AT - 1, 0):
        pair["available_ps"] = moment
        assert dcqcn.owed(bench.state, 0, AT) == 0


def test_a_cut_delays_a_departure_by_the_bits_that_remain(bench: Bench, pair: Row) -> None:
    pair["available_ps"] = AT + US  # 100 kb at 100 Gb/s
    cut(bench, AT)
    assert pair["available_ps"] == AT + 2 * US
    pair["available_ps"] = AT - 5
    cut(bench, AT + 10 * US)
    assert pair["available_ps"] == AT - 5


@pytest.mark.parametrize(
    ("rate", "line", "after"),
    [(LINE, 25 * G, 25 * G), (LINE, 400 * G, 400 * G), (40 * G, 50 * G, 40 * G), (40 * G, 25 * G, 25 * G)],
)
def test_at_another_speed_a_queue_pair_at_line_rate_follows_it_and_others_are_bounded(
    bench: Bench, pair: Row, rate: int, line: int, after: int
) -> None:
    pair["rate_bps"] = pair["target_bps"] = rate
    dcqcn.change_line(bench.state, 0, AT, line)
    assert (pair["rate_bps"], pair["target_bps"], pair["line_bps"]) == (after, after, line)


@pytest.mark.parametrize(("available_ps", "after_ps"), [(AT - 5, AT - 5), (AT, AT), (AT + US, AT + 4 * US)])
def test_at_another_speed_remaining_bits_are_paced_at_the_new_rate_and_a_past_departure_is_unchanged(
    bench: Bench, pair: Row, available_ps: int, after_ps: int
) -> None:
    pair["available_ps"] = available_ps
    dcqcn.change_line(bench.state, 0, AT, 25 * G)
    assert pair["available_ps"] == after_ps


def test_a_reader_sees_the_state_after_all_expired_timers(bench: Bench, pair: Row) -> None:
    """look() on a copy is advance() on the row, at every moment beside a timer."""
    for late_ps in (0, 50 * US - 1, 50 * US, 60 * US - 1, 60 * US, 100 * US, 900 * US, 9000 * US):
        hooks.start(bench.state, 0)
        pair["started"] = pair["time_stage"] = 0
        cut(bench, AT)
        kept = pair.copy()
        dcqcn.advance(bench.state, bench.host, 0, AT + late_ps)
        advanced = [pair[name].item() for name in ("rate_bps", "target_bps", "alpha")]
        for name in kept.dtype.names:
            pair[name] = kept[name]
        dcqcn.look(bench.state, 0, AT + late_ps)
        assert [pair[name].item() for name in ("rate_bps", "target_bps")] == advanced[:2]
        assert pair["alpha"] == pytest.approx(advanced[2], rel=1e-12)


# ===== pacing =====


@pytest.mark.parametrize(("rate", "gap_ps"), [(LINE, 777), (LINE + 1, 777), (LINE - 1, 84_801), (50 * G, 169_600)])
def test_at_line_rate_the_gap_is_the_frames_time_and_below_it_the_frames_cost(
    bench: Bench, pair: Row, rate: int, gap_ps: int
) -> None:
    """1060 B with preamble and gap: 8480 bits are 84.8 ns at 100 Gb/s, rounded up."""
    bench.config["min_gap_bytes"] = 20
    pair["rate_bps"] = rate
    assert pacing.gap_ps(bench.state, 0, 1040, 777) == gap_ps


@pytest.mark.parametrize(("rate", "ns"), [(100 * G, 79), (99 * G, 80), (98 * G, 81), (3 * G, 2666)])
def test_the_ns3_model_truncates_the_gap_to_nanoseconds(bench: Bench, pair: Row, rate: int, ns: int) -> None:
    """1000 bytes: 80.8 ns at 99 Gb/s, 81.6 at 98; 80 ns are a little less in binary fractions of a second, hence 79."""
    bench.config["semantics"] = Semantics.NS3_RDMA
    pair["rate_bps"] = rate
    assert pacing.gap_ps(bench.state, 0, 1000, 777) == ns * 1000


# ===== DCQCN of the ns-3 model =====


@pytest.fixture
def ns3(bench: Bench, pair: Row) -> Row:
    """The same numbers, timers on whole nanoseconds, notifications in ACKs."""
    bench.config["semantics"], bench.config["cc"] = Semantics.NS3_RDMA, CongestionControl.NS3_DCQCN
    return pair


def marked(bench: Bench, now_ps: int) -> None:
    ns3_dcqcn.notify(bench.state, bench.host, 0, now_ps)


def advance(bench: Bench, now_ps: int) -> None:
    ns3_dcqcn.advance(bench.state, bench.host, 0, now_ps)


def test_the_first_mark_starts_timers_and_does_not_cut_the_rate(bench: Bench, ns3: Row) -> None:
    marked(bench, AT)
    assert (ns3["rate_bps"], ns3["alpha"], ns3["started"], ns3["cnp_seen"], ns3["alpha_seen"]) == (LINE, 1.0, 1, 1, 0)
    assert ns3["alpha_at_ps"] == AT + 50 * US
    assert ns3["decrease_at_ps"] == AT + 4 * US + 1000


@pytest.mark.parametrize(("early_ps", "rate"), [(0, 50 * G), (1, LINE)])
def test_a_mark_cuts_when_the_decrease_timer_runs(bench: Bench, ns3: Row, early_ps: int, rate: int) -> None:
    marked(bench, AT)
    due_ps = AT + 4 * US + 1000
    advance(bench, due_ps - early_ps)
    assert ns3["rate_bps"] == rate
    assert ns3["cnp_seen"] == (1 if early_ps else 0)
    if not early_ps:
        assert (ns3["increase_at_ps"], ns3["decrease_at_ps"]) == (due_ps + 60 * US, due_ps + 4 * US)


def test_without_a_mark_the_decrease_timer_does_not_cut_and_keeps_its_period(bench: Bench, ns3: Row) -> None:
    marked(bench, AT)
    first_ps = AT + 4 * US + 1000
    advance(bench, first_ps)
    advance(bench, first_ps + 4 * US)
    assert (ns3["cuts"], ns3["decrease_at_ps"]) == (1, first_ps + 8 * US), "at the very moment it runs"
    advance(bench, first_ps + 12 * US)
    assert (ns3["cuts"], ns3["decrease_at_ps"]) == (1, first_ps + 16 * US)
    advance(bench, first_ps + 16 * US - 1)
    assert ns3["decrease_at_ps"] == first_ps + 16 * US
    marked(bench, first_ps + 17 * US)
    advance(bench, first_ps + 20 * US)
    assert (ns3["cuts"], ns3["rate_bps"]) == (2, 25 * G)


@pytest.mark.parametrize(
    ("late_ps", "seen", "alpha"),
    [
        (50 * US - 1, 0, 1.0),
        (50 * US, 0, 0.75),
        (50 * US, 1, 1.0),
        (100 * US - 1, 0, 0.75),
        (100 * US, 0, 0.5625),
        (100 * US, 1, 0.75),
    ],
)
def test_alpha_rises_after_a_period_with_a_mark_and_falls_after_one_without(
    bench: Bench, ns3: Row, late_ps: int, seen: int, alpha: float
) -> None:
    """Only the first period can have had one here: alpha = (1 - g) alpha + g is 1 again."""
    marked(bench, AT)
    ns3["alpha_seen"] = seen
    ns3_dcqcn._alpha_before(bench.state, 0, AT + late_ps)
    assert ns3["alpha"] == alpha


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 66, 129, 130, 5000])
def test_many_periods_at_once_are_the_same_as_one_by_one(bench: Bench, ns3: Row, count: int) -> None:
    bench.config["gain"] = 1 / 256
    ns3["alpha"], ns3["alpha_seen"], ns3["alpha_at_ps"] = 0.9, 1, AT
    ns3_dcqcn._advance_alpha(bench.state, 0, count)
    alpha = (1 - 1 / 256) * 0.9 + 1 / 256
    for _ in range(count - 1):
        alpha *= 1 - 1 / 256
    assert (ns3["alpha"], ns3["alpha_seen"], ns3["alpha_at_ps"]) == (alpha, 0, AT + count * 50 * US)


@pytest.mark.parametrize(("stage", "target"), [(2, 40), (3, 41), (4, 45), (5, 45)])
def test_stage_f_adds_once_and_later_stages_more(bench: Bench, ns3: Row, stage: int, target: int) -> None:
    ns3["target_bps"], ns3["rate_bps"], ns3["time_stage"], ns3["increase_at_ps"] = 40 * G, 21, stage, AT
    ns3_dcqcn._increase(bench.state, 0)
    assert ns3["target_bps"] == target * G
    assert ns3["rate_bps"] == target * G // 2 + 10, "each half is truncated"
    assert (ns3["time_stage"], ns3["increase_at_ps"]) == (stage + 1, AT + 60 * US)


@pytest.mark.parametrize(("stage", "clamp", "target"), [(0, 0, LINE), (1, 0, 40 * G), (0, 1, 40 * G)])
def test_the_ns3_target_falls_if_the_rate_was_raised_or_if_clamped(
    bench: Bench, ns3: Row, stage: int, clamp: int, target: int
) -> None:
    bench.config["clamp_target"] = clamp
    ns3["rate_bps"], ns3["alpha"], ns3["time_stage"], ns3["alpha_at_ps"] = 40 * G, 0.5, stage, INFINITY_PS
    ns3_dcqcn._cut(bench.state, bench.host, 0, AT)
    assert (ns3["rate_bps"], ns3["target_bps"], ns3["time_stage"]) == (30 * G, target, 0)


@pytest.mark.parametrize(("alpha_at_ps", "rate"), [(AT, 30 * G), (AT + 1, 20 * G)])
def test_a_cut_uses_the_alpha_at_its_time(bench: Bench, ns3: Row, alpha_at_ps: int, rate: int) -> None:
    bench.config["gain"] = 0.5
    ns3["rate_bps"], ns3["alpha"], ns3["alpha_at_ps"] = 40 * G, 1.0, alpha_at_ps
    ns3_dcqcn._cut(bench.state, bench.host, 0, AT)
    assert ns3["rate_bps"] == rate


@pytest.mark.parametrize(("increase_us", "rate"), [(5, 30 * G), (4, 20 * G), (3, 20 * G)])
def test_of_two_timers_due_together_the_one_with_the_longer_period_runs_first(
    bench: Bench, ns3: Row, increase_us: int, rate: int
) -> None:
    """It was scheduled first. Increase to 60 Gb/s and cut, or cut, which restarts the increase timer."""
    bench.config["increase_timer_ps"] = increase_us * US
    ns3["rate_bps"], ns3["target_bps"], ns3["alpha"], ns3["started"], ns3["cnp_seen"] = 40 * G, 80 * G, 1.0, 1, 1
    ns3["increase_at_ps"], ns3["decrease_at_ps"], ns3["alpha_at_ps"] = AT, AT, INFINITY_PS
    advance(bench, AT)
    assert ns3["rate_bps"] == rate


@pytest.mark.parametrize(
    ("scheduled_ns", "first_of_its_ns", "is_first"),
    [(-1, 0, False), (1, 0, True), (0, -1, False), (0, 0, True), (0, 1, True)],
)
def test_a_timer_comes_before_an_event_that_was_scheduled_after_it(
    bench: Bench, ns3: Row, scheduled_ns: int, first_of_its_ns: int, *, is_first: bool
) -> None:
    """Insertion order: both run now; the alpha timer was started at AT by the event with the number start_order."""
    pair = bench.state.pairs[0]
    start = ancestry.first_number(AT) + 7
    pair["start_ps"], pair["start_order"] = AT, start
    order = start + first_of_its_ns if scheduled_ns == 0 else ancestry.first_number(AT + 1000 * scheduled_ns)
    bench.config["event_order"] = order
    found = ns3_dcqcn._is_first(bench.state, 0, ns3_dcqcn._ALPHA, AT + 50 * US)
    assert bool(found) is is_first


@pytest.mark.parametrize(("first_of_its_ns", "is_first"), [(-1, False), (0, True), (1, True)])
def test_the_first_decrease_timer_was_started_a_nanosecond_before_its_period(
    bench: Bench, ns3: Row, first_of_its_ns: int, *, is_first: bool
) -> None:
    pair, start = bench.state.pairs[0], ancestry.first_number(AT) + 7
    pair["start_ps"], pair["start_order"] = AT, start
    bench.config["event_order"] = start + first_of_its_ns
    found = ns3_dcqcn._is_first(bench.state, 0, ns3_dcqcn._DECREASE, AT + 4 * US + 1000)
    assert bool(found) is is_first


def test_a_finished_message_stops_its_timers(bench: Bench, ns3: Row) -> None:
    marked(bench, AT)
    ns3_dcqcn.stop(bench.state, bench.host, 0, AT + US)
    assert ns3["started"] == 0
    assert ns3["alpha_at_ps"] == ns3["increase_at_ps"] == ns3["decrease_at_ps"] == INFINITY_PS
    assert ns3_dcqcn.next_change_ps(bench.state, 0) == INFINITY_PS


@pytest.mark.parametrize(("seen", "decrease", "increase", "change"), [(1, 5, 9, 5), (0, 5, 9, 9), (1, 9, 5, 5)])
def test_the_next_change_of_the_rate_is_the_first_timer_that_changes_it(
    bench: Bench, ns3: Row, seen: int, decrease: int, increase: int, change: int
) -> None:
    ns3["started"], ns3["cnp_seen"], ns3["decrease_at_ps"], ns3["increase_at_ps"] = 1, seen, decrease, increase
    assert ns3_dcqcn.next_change_ps(bench.state, 0) == change
