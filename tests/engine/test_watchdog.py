"""The PFC watchdog, poll by poll: when each platform's rule fires, when a queue works again, what it leaves behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
import worlds
from laws import play
from worlds import LOSSLESS, US, World

from fabric.engine import edits as e
from fabric.engine.driver import Emulator
from fabric.state.codes import EventKind, WatchdogAction, WatchdogRule
from fabric.state.params import WatchdogParams

POLL: Final = 20 * US
BROKEN: Final = World(leaves=1, hosts=3, cc=0, timeout_us=0, messages=((0, 1, 300_000, 0, LOSSLESS),))
"""h0 sends to h1, whose NIC pauses it with timers of 1.3 ms for as long as a test says."""


def watchdog(rule: WatchdogRule = WatchdogRule.CISCO, action: WatchdogAction = WatchdogAction.DROP, *, polls: int = 2,
             restoration: int | None = 2 * POLL) -> WatchdogParams:
    return WatchdogParams(POLL, polls * POLL, restoration, action, rule, 1 << LOSSLESS)


def stormy(watch: WatchdogParams, *more: e.Edit, from_us: int = 5, us: int = 400, gap: int = US,
           world: World = BROKEN) -> Emulator:
    fabric = worlds.topology(world)
    params = worlds.parameters(world, fabric)
    switches = {node: replace(switch, watchdog=watch) for node, switch in params.switches.items()}
    storm = e.PauseStorm(from_us * US, fabric.hosts[1].id, 1 << LOSSLESS, us * US, gap, 65_535)
    return Emulator(fabric, replace(params, switches=switches), [storm, *more])


def moments(playing: Emulator, kind: EventKind) -> list[int]:
    log = playing.drain_events()
    return [int(row["time_ps"]) for row in log if row["kind"] == kind]


def port_to_h1(playing: Emulator) -> int:
    return int(playing.fabric.ports[playing.fabric.hosts[1].first_port].peer)


RULES: Final = [WatchdogRule.BROADCOM, WatchdogRule.MELLANOX, WatchdogRule.CISCO, WatchdogRule.OCCUPANCY,
                WatchdogRule.TERALYNX]


@pytest.mark.parametrize("polls", [1, 2, 5])
@pytest.mark.parametrize("rule", RULES)
def test_a_storm_is_detected_between_the_detection_time_and_one_poll_more(rule: WatchdogRule, polls: int) -> None:
    """Broadcom needs the pause in two consecutive polls, hence one more."""
    for from_us in (1, 7, 19, 21, 33):
        playing = stormy(watchdog(rule, polls=polls), from_us=from_us)
        play(playing, (from_us + 200) * US)
        found = moments(playing, EventKind.STORM_DETECTED)[:1]
        assert found, (rule, from_us)
        waited = found[0] - from_us * US
        assert (polls - 1) * POLL < waited <= (polls + 2) * POLL
        assert found[0] % POLL == 0


@pytest.mark.parametrize(("rule", "detects"), [
    (WatchdogRule.BROADCOM, True), (WatchdogRule.MELLANOX, False), (WatchdogRule.CISCO, True),
    (WatchdogRule.OCCUPANCY, False), (WatchdogRule.TERALYNX, True)])
def test_who_sees_a_pause_that_holds_back_nothing(rule: WatchdogRule, detects: bool) -> None:
    """Nothing waits in the queue: Mellanox's rule asks for occupancy; the other occupancy rule for 80 % paused time."""
    idle = replace(BROKEN, messages=((0, 2, 1000, 0, LOSSLESS),))
    playing = stormy(watchdog(rule), world=idle)
    play(playing, 300 * US)
    expected = detects or rule == WatchdogRule.OCCUPANCY
    assert bool(moments(playing, EventKind.STORM_DETECTED)) == expected


@pytest.mark.parametrize("rule", [WatchdogRule.BROADCOM, WatchdogRule.MELLANOX])
def test_a_receiver_that_pauses_and_resumes_in_turn_is_no_storm(rule: WatchdogRule) -> None:
    """XOFF to XON within every poll: invisible to these two."""
    slow = World(leaves=1, hosts=3, cc=0, timeout_us=0, drain_mbps=8000, host_gbps=25,
                 messages=((0, 1, 2_000_000, 0, LOSSLESS),))
    fabric = worlds.topology(slow)
    params = worlds.parameters(slow, fabric)
    switches = {node: replace(switch, watchdog=watchdog(rule)) for node, switch in params.switches.items()}
    playing = play(Emulator(fabric, replace(params, switches=switches)))
    assert playing.state.prios["rx_xoff_pkts"].sum() > 10
    assert not moments(playing, EventKind.STORM_DETECTED)


def test_a_queue_is_restored_after_the_restoration_time_without_pause_frames() -> None:
    playing = stormy(watchdog(WatchdogRule.BROADCOM), us=200, gap=10 * US)
    play(playing, 600 * US)
    log = playing.drain_events()
    restored = log["time_ps"][log["kind"] == EventKind.STORM_RESTORED]
    last_xoff = 5 * US + 200 * US
    assert len(restored) == 1
    assert last_xoff + 2 * POLL - 10 * US <= restored[0] <= last_xoff + 4 * POLL


def test_on_cisco_a_queue_is_restored_when_its_pause_has_run_out() -> None:
    """PAUSE_STATUS decides there, not the frames that were received."""
    playing = stormy(watchdog(), us=200)
    play(playing, 4000 * US)
    timer_ps = 65_535 * 512 * 40                        # 40 ps a bit at 25 Gb/s
    restored = moments(playing, EventKind.STORM_RESTORED)
    assert len(restored) == 1
    assert 205 * US + timer_ps - POLL <= restored[0] <= 205 * US + timer_ps + 4 * POLL


def test_without_a_restoration_time_a_queue_stays_out_for_ever() -> None:
    playing = stormy(watchdog(restoration=None), us=100)
    play(playing, 2000 * US)
    assert moments(playing, EventKind.STORM_RESTORED) == []
    assert playing.state.queues["wd_state"].sum() == 1


def test_alert_touches_no_packet_and_ends_with_its_condition() -> None:
    playing = stormy(watchdog(action=WatchdogAction.ALERT), us=200)
    play(playing, 5000 * US)
    assert playing.finished
    assert playing.state.drops["pkts"].sum() == 0
    log = playing.drain_events()
    assert (log["kind"] == EventKind.STORM_DETECTED).sum() == (log["kind"] == EventKind.STORM_RESTORED).sum() == 1


def test_forwarding_gives_pfc_back_and_dropping_never_took_it() -> None:
    for action in (WatchdogAction.FORWARD, WatchdogAction.DROP):
        playing = stormy(watchdog(WatchdogRule.BROADCOM, action), us=100)
        play(playing, 80 * US)
        row = playing.state.ports[port_to_h1(playing)]
        assert row["pfc_classes"] == (0 if action is WatchdogAction.FORWARD else 1 << LOSSLESS)
        play(playing, 600 * US)
        assert playing.state.queues["wd_restored"].sum() == 1
        assert playing.state.ports[port_to_h1(playing)]["pfc_classes"] == 1 << LOSSLESS


@pytest.mark.parametrize("action", list(WatchdogAction))
@pytest.mark.parametrize("at_us", [2, 80])
def test_pfc_that_an_operator_takes_away_does_not_come_back_with_the_storms_end(
        action: WatchdogAction, at_us: int) -> None:
    playing = stormy(watchdog(action=action), us=100)
    port = port_to_h1(playing)
    playing = stormy(watchdog(action=action), e.PfcClasses(at_us * US, playing.fabric.ports[port].id, 0), us=100)
    play(playing, 1000 * US)
    assert playing.state.ports[port]["pfc_classes"] == 0
    assert not playing.state.queues["wd_state"].any()


def test_a_watchdog_that_is_switched_off_leaves_a_paused_queue_paused() -> None:
    """PFC is still on and the peer's XOFF still counts."""
    switch = stormy(watchdog()).fabric.switches[0].id
    playing = stormy(watchdog(), e.WatchdogSet(80 * US, switch, None), gap=1000 * US)
    play(playing, 81 * US)
    assert not playing.state.queues["wd_state"].any()
    assert playing.state.ports[port_to_h1(playing)]["paused"] == 1 << LOSSLESS


def test_a_watchdog_that_is_set_anew_begins_with_a_poll_that_only_looks() -> None:
    """Counters of the first watchdog are no last poll of the second; and a storm of the first does not outlive it."""
    switch = stormy(watchdog()).fabric.switches[0].id
    elsewhere = replace(watchdog(), priorities=1)
    playing = stormy(watchdog(), e.WatchdogSet(80 * US, switch, elsewhere), us=400)
    play(playing, 300 * US)
    assert not playing.state.ports["wd_dropping"].any()
    again = stormy(watchdog(polls=1), e.WatchdogSet(85 * US, switch, watchdog(polls=1)), us=400)
    play(again, 124 * US)
    assert [moment for moment in moments(again, EventKind.STORM_DETECTED) if moment > 85 * US] == []
    play(again, 126 * US)
    assert moments(again, EventKind.STORM_DETECTED) == [125 * US]
