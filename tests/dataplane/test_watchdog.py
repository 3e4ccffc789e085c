"""The PFC watchdog, poll by poll: the detection of each platform's rule, the restoration of a queue, and the state
after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
import worlds
from runs import simulate
from worlds import LOSSLESS, US, World

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import EventKind, WatchdogAction, WatchdogRule
from fabric.dataplane.state.params import WatchdogParams

POLL: Final = 20 * US
BROKEN: Final = World(leaves=1, hosts=3, cc=0, timeout_us=0, messages=((0, 1, 300_000, 0, LOSSLESS),))
"""h0 sends to h1, whose NIC pauses it with timers of 1.3 ms for a time that the test sets."""


def watchdog(
    rule: WatchdogRule = WatchdogRule.CISCO,
    action: WatchdogAction = WatchdogAction.DROP,
    *,
    polls: int = 2,
    restoration: int | None = 2 * POLL,
) -> WatchdogParams:
    return WatchdogParams(POLL, polls * POLL, restoration, action, rule, 1 << LOSSLESS)


def stormy(
    watch: WatchdogParams,
    *more: e.Edit,
    from_us: int = 5,
    us: int = 400,
    gap: int = US,
    quanta: int = 65_535,
    world: World = BROKEN,
) -> Emulator:
    fabric = worlds.topology(world)
    params = worlds.parameters(world, fabric)
    switches = {node: replace(switch, watchdog=watch) for node, switch in params.switches.items()}
    storm = e.PauseStorm(from_us * US, fabric.hosts[1].id, 1 << LOSSLESS, us * US, gap, quanta)
    return Emulator(fabric, replace(params, switches=switches), [storm, *more])


def moments(simulating: Emulator, kind: EventKind) -> list[int]:
    log = simulating.drain_events()
    return [int(row["time_ps"]) for row in log if row["kind"] == kind]


def port_to_h1(simulating: Emulator) -> int:
    return int(simulating.fabric.ports[simulating.fabric.hosts[1].first_port].peer)


RULES: Final = [
    WatchdogRule.BROADCOM,
    WatchdogRule.MELLANOX,
    WatchdogRule.CISCO,
    WatchdogRule.OCCUPANCY,
    WatchdogRule.TERALYNX,
    WatchdogRule.HARDWARE,
]


@pytest.mark.parametrize("polls", [1, 2, 5])
@pytest.mark.parametrize("rule", RULES)
def test_a_storm_is_detected_between_the_detection_time_and_one_poll_more(rule: WatchdogRule, polls: int) -> None:
    """Broadcom needs the pause in two consecutive polls, hence one more."""
    for from_us in (1, 7, 19, 21, 33):
        simulating = stormy(watchdog(rule, polls=polls), from_us=from_us)
        simulate(simulating, (from_us + 200) * US)
        found = moments(simulating, EventKind.STORM_DETECTED)[:1]
        assert found, (rule, from_us)
        waited = found[0] - from_us * US
        assert (polls - 1) * POLL < waited <= (polls + 2) * POLL
        assert found[0] % POLL == 0


@pytest.mark.parametrize(
    ("rule", "detects"),
    [
        (WatchdogRule.BROADCOM, True),
        (WatchdogRule.MELLANOX, False),
        (WatchdogRule.CISCO, True),
        (WatchdogRule.OCCUPANCY, False),
        (WatchdogRule.TERALYNX, True),
        (WatchdogRule.HARDWARE, True),
    ],
)
def test_which_rules_detect_a_pause_without_waiting_bytes(rule: WatchdogRule, detects: bool) -> None:
    """The queue is empty: Mellanox's rule needs occupancy; the other occupancy rule needs 80 % paused time."""
    idle = replace(BROKEN, messages=((0, 2, 1000, 0, LOSSLESS),))
    simulating = stormy(watchdog(rule), world=idle)
    simulate(simulating, 300 * US)
    expected = detects or rule == WatchdogRule.OCCUPANCY
    assert bool(moments(simulating, EventKind.STORM_DETECTED)) == expected


@pytest.mark.parametrize("rule", [WatchdogRule.BROADCOM, WatchdogRule.MELLANOX])
def test_a_receiver_that_pauses_and_resumes_in_turn_is_no_storm(rule: WatchdogRule) -> None:
    """XOFF and XON within each poll interval: these two rules do not see it."""
    slow = World(
        leaves=1, hosts=3, cc=0, timeout_us=0, drain_mbps=8000, host_gbps=25, messages=((0, 1, 2_000_000, 0, LOSSLESS),)
    )
    fabric = worlds.topology(slow)
    params = worlds.parameters(slow, fabric)
    switches = {node: replace(switch, watchdog=watchdog(rule)) for node, switch in params.switches.items()}
    simulating = simulate(Emulator(fabric, replace(params, switches=switches)))
    assert simulating.state.prios["rx_xoff_pkts"].sum() > 10
    assert not moments(simulating, EventKind.STORM_DETECTED)


@pytest.mark.parametrize(
    ("rule", "poll", "detection", "seen"),
    [
        (WatchdogRule.HARDWARE, 10, 40, True),  # each pause is longer than the timer
        (WatchdogRule.BROADCOM, 120, 120, False),  # no pause lasts from one poll to the next
        (WatchdogRule.HARDWARE, 10, 120, False),  # no pause is as long as the timer
        (WatchdogRule.CISCO, 20, 60, True),  # paused at most polls
    ],
)
def test_a_storm_with_gaps_is_seen_by_one_kind_of_watchdog_and_not_by_the_other(
    rule: WatchdogRule, poll: int, detection: int, *, seen: bool
) -> None:
    """Pauses of 102 us with gaps of 8 us: neither kind is the stricter one; it depends on steps, polls and times."""
    watch = WatchdogParams(poll * US, detection * US, None, WatchdogAction.DROP, rule, 1 << LOSSLESS)
    simulating = stormy(watch, us=3000, gap=110 * US, quanta=5000)
    simulate(simulating, 3000 * US)
    assert bool(moments(simulating, EventKind.STORM_DETECTED)) == seen


def test_polls_that_are_late_count_for_the_configured_interval() -> None:
    """Configured 20 us and two polls; each poll takes 60 us, so the storm is declared three times as late."""
    for rule in (WatchdogRule.BROADCOM, WatchdogRule.CISCO):
        found = {}
        for poll, charge in ((POLL, 0), (3 * POLL, POLL), (3 * POLL, 0)):
            watch = replace(watchdog(rule), poll_ps=poll, charge_ps=charge)
            simulating = stormy(watch, from_us=POLL * 3 // US + 1, us=900)
            simulate(simulating, 900 * US)
            (found[poll, charge],) = moments(simulating, EventKind.STORM_DETECTED)[:1]
        polls = 3 if rule == WatchdogRule.BROADCOM else 2  # the first only finds the pause
        assert found[POLL, 0] == (3 + polls) * POLL
        assert found[3 * POLL, POLL] == (1 + polls) * 3 * POLL
        assert found[3 * POLL, 0] == polls * 3 * POLL, "what has passed is counted: one poll is enough"


def test_a_queue_is_restored_after_the_restoration_time_without_pause_frames() -> None:
    simulating = stormy(watchdog(WatchdogRule.BROADCOM), us=200, gap=10 * US)
    simulate(simulating, 600 * US)
    log = simulating.drain_events()
    restored = log["time_ps"][log["kind"] == EventKind.STORM_RESTORED]
    last_xoff = 5 * US + 200 * US
    assert len(restored) == 1
    assert last_xoff + 2 * POLL - 10 * US <= restored[0] <= last_xoff + 4 * POLL


def test_on_cisco_a_queue_is_restored_when_its_pause_has_run_out() -> None:
    """PAUSE_STATUS decides there, not the frames that were received."""
    simulating = stormy(watchdog(), us=200)
    simulate(simulating, 4000 * US)
    timer_ps = 65_535 * 512 * 40  # 40 ps a bit at 25 Gb/s
    restored = moments(simulating, EventKind.STORM_RESTORED)
    assert len(restored) == 1
    assert 205 * US + timer_ps - POLL <= restored[0] <= 205 * US + timer_ps + 4 * POLL


def test_without_a_restoration_time_a_queue_stays_out_for_ever() -> None:
    simulating = stormy(watchdog(restoration=None), us=100)
    simulate(simulating, 2000 * US)
    assert moments(simulating, EventKind.STORM_RESTORED) == []
    assert simulating.state.queues["wd_state"].sum() == 1


def test_alert_touches_no_packet_and_ends_with_its_condition() -> None:
    simulating = stormy(watchdog(action=WatchdogAction.ALERT), us=200)
    simulate(simulating, 5000 * US)
    assert simulating.finished
    assert simulating.state.drops["pkts"].sum() == 0
    log = simulating.drain_events()
    assert (log["kind"] == EventKind.STORM_DETECTED).sum() == (log["kind"] == EventKind.STORM_RESTORED).sum() == 1


def test_forwarding_gives_pfc_back_and_dropping_never_took_it() -> None:
    for action in (WatchdogAction.FORWARD, WatchdogAction.DROP):
        simulating = stormy(watchdog(WatchdogRule.BROADCOM, action), us=100)
        simulate(simulating, 80 * US)
        row = simulating.state.ports[port_to_h1(simulating)]
        assert row["pfc_classes"] == (0 if action is WatchdogAction.FORWARD else 1 << LOSSLESS)
        simulate(simulating, 600 * US)
        assert simulating.state.queues["wd_restored"].sum() == 1
        assert simulating.state.ports[port_to_h1(simulating)]["pfc_classes"] == 1 << LOSSLESS


@pytest.mark.parametrize("action", list(WatchdogAction))
@pytest.mark.parametrize("at_us", [2, 80])
def test_pfc_that_an_operator_removes_does_not_return_with_the_storms_end(action: WatchdogAction, at_us: int) -> None:
    simulating = stormy(watchdog(action=action), us=100)
    port = port_to_h1(simulating)
    simulating = stormy(
        watchdog(action=action), e.FlowControlClasses(at_us * US, simulating.fabric.ports[port].id, 0), us=100
    )
    simulate(simulating, 1000 * US)
    assert simulating.state.ports[port]["pfc_classes"] == 0
    assert not simulating.state.queues["wd_state"].any()


def test_a_watchdog_that_is_switched_off_leaves_a_paused_queue_paused() -> None:
    """PFC is still on and the peer's XOFF still counts."""
    switch = stormy(watchdog()).fabric.switches[0].id
    simulating = stormy(watchdog(), e.WatchdogSet(80 * US, switch, None), gap=1000 * US)
    simulate(simulating, 81 * US)
    assert not simulating.state.queues["wd_state"].any()
    assert simulating.state.ports[port_to_h1(simulating)]["paused"] == 1 << LOSSLESS


def test_the_first_poll_after_a_watchdog_change_takes_no_action() -> None:
    """Counters of the first watchdog are no last poll of the second; and a storm of the first does not outlive it."""
    switch = stormy(watchdog()).fabric.switches[0].id
    elsewhere = replace(watchdog(), priorities=1)
    simulating = stormy(watchdog(), e.WatchdogSet(80 * US, switch, elsewhere), us=400)
    simulate(simulating, 300 * US)
    assert not simulating.state.ports["wd_dropping"].any()
    again = stormy(watchdog(polls=1), e.WatchdogSet(85 * US, switch, watchdog(polls=1)), us=400)
    simulate(again, 124 * US)
    assert [moment for moment in moments(again, EventKind.STORM_DETECTED) if moment > 85 * US] == []
    simulate(again, 126 * US)
    assert moments(again, EventKind.STORM_DETECTED) == [125 * US]
