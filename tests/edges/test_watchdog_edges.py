"""dataplane/switch/watchdog: each platform's condition, detection, restoration, and what a storm leaves behind."""

from __future__ import annotations

import pytest

from fabric.dataplane.state.codes import WatchdogAction, WatchdogRule, WatchdogState
from fabric.dataplane.switch import forward, watchdog
from tests.edges.bench import AT, CLASS, US, Bench, Row

POLL = 20 * US


def watched(
    bench: Bench, action: WatchdogAction = WatchdogAction.ALERT, rule: WatchdogRule = WatchdogRule.CISCO
) -> Row:
    """A queue that has been polled once, at a switch with a watchdog of two polls each way."""
    switch = bench.state.switches[forward.switch_row(bench.state, bench.switch)]
    switch["wd_poll_ps"], switch["wd_rule"] = POLL, rule
    bench.state.ports["wd_detection_ps"] = bench.state.ports["wd_restoration_ps"] = 2 * POLL
    bench.state.ports["wd_action"] = action
    queue = bench.queue()
    queue["wd_polled"], queue["wd_left_ps"] = 1, 2 * POLL
    return queue


def holds(bench: Bench, rule: WatchdogRule) -> bool:
    return bool(watchdog._condition(bench.state, bench.port, CLASS, rule, POLL, AT))


def seen(
    bench: Bench,
    *,
    depth: int = 0,
    sent: int = 0,
    received: int = 0,
    paused_ps: int = 0,
    now: int = 0,
    before: int = 0,
    on2off: int = 0,
) -> None:
    """Changes of the queue since the last poll, which stored other counts."""
    queue, prio = bench.queue(), bench.prio()
    queue["depth_bytes"], queue["wd_last_paused"] = depth, before
    queue["sent_pkts"], queue["wd_last_sent_pkts"] = 50 + sent, 50
    prio["rx_xoff_pkts"], prio["rx_xon_pkts"], queue["wd_last_rx_pkts"] = 30 + received, 10, 40
    prio["on2off_pkts"], queue["wd_last_on2off"] = 7 + on2off, 7
    prio["rx_paused_ps"], queue["wd_last_paused_ps"] = 1000 + paused_ps, 1000
    bench.state.ports[bench.port]["paused"] = now << CLASS
    prio["since_ps"] = AT


@pytest.mark.parametrize(
    ("change", "storm"),
    [({}, True), ({"received": 0}, True), ({"sent": 1}, True), ({"on2off": 1}, False), ({"now": 0}, False),
     ({"before": 0}, False)],
)  # fmt: skip
def test_a_timer_of_the_chip_needs_an_unbroken_pause_over_its_step_and_nothing_else(
    bench: Bench, change: dict[str, int], *, storm: bool
) -> None:
    seen(bench, **{"received": 1, "now": 1, "before": 1, **change})
    assert holds(bench, WatchdogRule.HARDWARE) == storm


@pytest.mark.parametrize(("charge_ps", "declared"), [(2 * POLL, 1), (2 * POLL - 1, 0), (0, 0)])
def test_a_late_poll_counts_for_its_charge(bench: Bench, charge_ps: int, declared: int) -> None:
    queue = watched(bench)
    bench.state.switches[forward.switch_row(bench.state, bench.switch)]["wd_charge_ps"] = charge_ps
    seen(bench, received=1, now=1, before=1)
    watchdog._poll_queue(bench.state, bench.switch, bench.port, CLASS, AT)
    assert queue["wd_detected"] == declared


@pytest.mark.parametrize(
    ("change", "storm"),
    [({}, True), ({"received": 0}, False), ({"on2off": 1}, False), ({"now": 0}, False), ({"before": 0}, False)],
)
def test_broadcoms_rule_needs_pause_frames_and_an_unbroken_pause_over_both_polls(
    bench: Bench, change: dict[str, int], *, storm: bool
) -> None:
    seen(bench, **{"received": 1, "now": 1, "before": 1, **change})
    assert holds(bench, WatchdogRule.BROADCOM) is storm


@pytest.mark.parametrize(
    ("change", "storm"),
    [({}, True), ({"paused_ps": POLL * 99 // 100}, False), ({"depth": 0}, False), ({"sent": 1}, False)],
)
def test_mellanoxs_rule_needs_a_nonempty_queue_that_sends_nothing_and_is_paused_over_99_percent(
    bench: Bench, change: dict[str, int], *, storm: bool
) -> None:
    seen(bench, **{"depth": 1, "paused_ps": POLL * 99 // 100 + 1, **change})
    assert holds(bench, WatchdogRule.MELLANOX) is storm


@pytest.mark.parametrize(("now", "storm"), [(1, True), (0, False)])
def test_ciscos_rule_reads_the_pause_at_the_poll(bench: Bench, now: int, *, storm: bool) -> None:
    seen(bench, now=now, depth=1000, received=9)
    assert holds(bench, WatchdogRule.CISCO) is storm


@pytest.mark.parametrize(
    ("change", "storm"),
    [
        ({}, True),
        ({"received": 0}, False),
        ({"paused_ps": POLL * 8 // 10}, False),
        ({"sent": 1}, False),
        ({"depth": 0, "sent": 1}, True),
    ],
)
def test_teralynxs_rule_needs_pause_frames_and_over_80_percent_of_pause(
    bench: Bench, change: dict[str, int], *, storm: bool
) -> None:
    seen(bench, **{"depth": 1, "received": 1, "paused_ps": POLL * 8 // 10 + 1, **change})
    assert holds(bench, WatchdogRule.TERALYNX) is storm


@pytest.mark.parametrize(
    ("change", "storm"),
    [
        ({"depth": 1, "received": 1}, True),
        ({"depth": 1}, False),
        ({"depth": 1, "received": 1, "sent": 1}, False),
        ({"paused_ps": POLL * 8 // 10 + 1}, True),
        ({"paused_ps": POLL * 8 // 10}, False),
        ({"paused_ps": POLL, "sent": 1}, False),
        ({"depth": 1, "paused_ps": POLL}, False),
    ],
)
def test_the_occupancy_rule_needs_pause_frames_with_a_nonempty_queue_and_80_percent_of_pause_with_an_empty_one(
    bench: Bench, change: dict[str, int], *, storm: bool
) -> None:
    seen(bench, **change)
    assert holds(bench, WatchdogRule.OCCUPANCY) is storm


def test_a_pause_in_progress_counts_up_to_the_present(bench: Bench) -> None:
    seen(bench, depth=1, now=1)
    bench.prio()["since_ps"] = AT - POLL
    assert holds(bench, WatchdogRule.MELLANOX)


@pytest.mark.parametrize(
    ("left_ps", "state"),
    [(POLL, WatchdogState.STORMED), (POLL + 1, WatchdogState.OPERATIONAL), (1, WatchdogState.STORMED)],
)
def test_a_storm_is_declared_at_the_poll_that_completes_the_detection_time(
    bench: Bench, left_ps: int, state: WatchdogState
) -> None:
    queue = watched(bench)
    bench.state.ports[bench.port]["paused"] = 1 << CLASS
    queue["wd_left_ps"] = left_ps
    watchdog._poll_queue(bench.state, bench.switch, bench.port, CLASS, AT)
    assert queue["wd_state"] == state
    assert queue["wd_detected"] == (state == WatchdogState.STORMED)


def test_one_poll_without_a_storm_restarts_the_detection_time(bench: Bench) -> None:
    queue = watched(bench)
    queue["wd_left_ps"] = POLL
    watchdog._poll_queue(bench.state, bench.switch, bench.port, CLASS, AT)
    assert (queue["wd_left_ps"], queue["wd_detected"]) == (2 * POLL, 0)


@pytest.mark.parametrize(
    ("left_ps", "received", "restored", "after_ps"),
    [(POLL, 0, True, None), (POLL + 1, 0, False, 1), (POLL, 1, False, 2 * POLL), (3 * POLL, 0, False, 2 * POLL)],
)
def test_a_queue_is_restored_at_the_poll_that_completes_the_restoration_time_without_pause_frames(
    bench: Bench, left_ps: int, received: int, after_ps: int | None, *, restored: bool
) -> None:
    queue = watched(bench, WatchdogAction.DROP, WatchdogRule.BROADCOM)
    queue["wd_state"], queue["wd_restore_left_ps"], queue["wd_last_rx_pkts"] = WatchdogState.STORMED, left_ps, 5
    bench.prio()["rx_xoff_pkts"] = 5 + received
    bench.state.ports[bench.port]["wd_dropping"] = 1 << CLASS | 1 << 4
    watchdog._poll_queue(bench.state, bench.switch, bench.port, CLASS, AT)
    assert bool(queue["wd_state"] == WatchdogState.OPERATIONAL) is restored
    assert bench.state.ports[bench.port]["wd_dropping"] == (1 << 4 if restored else 1 << CLASS | 1 << 4)
    assert after_ps is None or queue["wd_restore_left_ps"] == after_ps


@pytest.mark.parametrize(("paused", "frames", "restored"), [(0, 1, True), (1, 0, False)])
def test_on_cisco_the_pause_at_the_poll_decides_and_not_the_frames(
    bench: Bench, paused: int, frames: int, *, restored: bool
) -> None:
    queue = watched(bench, WatchdogAction.DROP)
    queue["wd_state"], queue["wd_restore_left_ps"] = WatchdogState.STORMED, POLL
    bench.prio()["rx_xoff_pkts"] = frames
    bench.state.ports[bench.port]["paused"] = paused << CLASS | 1 << 4
    watchdog._poll_queue(bench.state, bench.switch, bench.port, CLASS, AT)
    assert bool(queue["wd_state"] == WatchdogState.OPERATIONAL) is restored


@pytest.mark.parametrize(("restoration_ps", "restored"), [(0, True), (-1, False)])
def test_a_restoration_time_of_0_restores_at_once(bench: Bench, restoration_ps: int, *, restored: bool) -> None:
    queue = watched(bench, WatchdogAction.DROP, WatchdogRule.BROADCOM)
    bench.state.ports["wd_restoration_ps"] = restoration_ps
    queue["wd_state"] = WatchdogState.STORMED
    watchdog._poll_queue(bench.state, bench.switch, bench.port, CLASS, AT)
    assert bool(queue["wd_state"] == WatchdogState.OPERATIONAL) is restored


@pytest.mark.parametrize(("paused", "restored"), [(0, True), (1, False)])
def test_an_alert_ends_as_soon_as_its_condition_does(bench: Bench, paused: int, *, restored: bool) -> None:
    queue = watched(bench)
    queue["wd_state"] = WatchdogState.STORMED
    bench.state.ports[bench.port]["paused"] = paused << CLASS
    watchdog._poll_queue(bench.state, bench.switch, bench.port, CLASS, AT)
    assert bool(queue["wd_state"] == WatchdogState.OPERATIONAL) is restored


def test_the_first_poll_only_records_the_counters(bench: Bench) -> None:
    queue = watched(bench)
    queue["wd_polled"], queue["wd_left_ps"] = 0, 1
    bench.state.ports[bench.port]["paused"] = 1 << CLASS
    watchdog._poll_queue(bench.state, bench.switch, bench.port, CLASS, AT)
    assert (queue["wd_state"], queue["wd_polled"], queue["wd_last_paused"]) == (WatchdogState.OPERATIONAL, 1, 1)


@pytest.mark.parametrize("had_pfc", [True, False])
def test_forward_disables_pfc_and_restores_it_where_it_was_enabled(bench: Bench, *, had_pfc: bool) -> None:
    queue, port = watched(bench, WatchdogAction.FORWARD, WatchdogRule.BROADCOM), bench.state.ports[bench.port]
    port["pfc_classes"] = (1 << CLASS if had_pfc else 0) | 1 << 4
    watchdog._storm(bench.state, bench.switch, bench.port, CLASS, WatchdogAction.FORWARD, POLL, AT)
    assert (port["pfc_classes"], queue["wd_state"]) == (1 << 4, WatchdogState.STORMED)
    watchdog.restore(bench.state, bench.switch, bench.port, CLASS, AT + 1)
    assert port["pfc_classes"] == (1 << CLASS if had_pfc else 0) | 1 << 4
    assert port["wd_unpaused"] == 0
