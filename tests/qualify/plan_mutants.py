"""Mutants of the plans of PFC and ECN: what each changes, and the checks that are red then; as qualify_mutants.py.

A: Ethernet0 sends to B: Ethernet8, whose tester pauses it. With three ports A and B send to C: Ethernet16.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from fabric.dataplane.engine.edits import PauseStorm
from fabric.qualify.bench import Bench
from tests.qualify.qualify_mutants import (
    ORDER,
    A,
    B,
    C,
    Config,
    D,
    Mutant,
    _closed_group,
    _early_xoff,
    _own_map,
    _paused_lossy,
    _shaped,
    _small_headroom,
    unchanged,
)

GBPS: Final = 125_000_000
"""Bytes per second."""
NOT_LESS: Final = "what is not paused is lost, or does not resume"
LATE: Final = "a late poll is late for both"
OTHER_PRIORITY: Final = "the tester's PAUSE frames have priority 0 as well"
MEMORY: Final = "the pools have 60 MB, and dynamic_th is 3, so that all of the burst finds room"


def _no_pfc(port: str, left: str = "4") -> Callable[[Config], None]:
    def edit(config: Config) -> None:
        config["PORT_QOS_MAP"][port]["pfc_enable"] = left

    return edit


def _slow(queue: int, port: str, gbps: float, room_bytes: int | None = None) -> Callable[[Config], None]:
    """A shaper; frames without preamble and gap. With `room_bytes` the lossy queues of the port hold no more."""

    def edit(config: Config) -> None:
        like = config["QUEUE"][f"{port}|{queue}"]["scheduler"]
        pir = str(round(gbps * GBPS))
        config["SCHEDULER"]["scheduler.slow"] = {**config["SCHEDULER"][like], "cir": "1", "pir": pir}
        config["QUEUE"][f"{port}|{queue}"]["scheduler"] = "scheduler.slow"
        if room_bytes is not None:
            config["BUFFER_PROFILE"]["short"] = {
                "pool": "egress_lossy_pool", "size": "0", "static_th": str(room_bytes)
            }  # fmt: skip
            config["BUFFER_QUEUE"][f"{port}|0-2"]["profile"] = "short"

    return edit


def _mtu(port: str, mtu: int) -> Callable[[Config], None]:
    def edit(config: Config) -> None:
        config["PORT"][port]["mtu"] = str(mtu)

    return edit


def _curve(low: int, high: int) -> Callable[[Config], None]:
    def edit(config: Config) -> None:
        config["WRED_PROFILE"]["AZURE_LOSSLESS"].update(green_min_threshold=str(low), green_max_threshold=str(high))

    return edit


def _wred(queue: int, port: str, profile: str | None) -> Callable[[Config], None]:
    def edit(config: Config) -> None:
        row = config["QUEUE"][f"{port}|{queue}"]
        row.pop("wred_profile", None)
        if profile is not None:
            row["wred_profile"] = profile

    return edit


def _unwatched(port: str) -> Callable[[Config], None]:
    def edit(config: Config) -> None:
        config["PORT_QOS_MAP"][port]["pfcwd_sw_enable"] = "4"

    return edit


def _never_restored(port: str) -> Callable[[Config], None]:
    def edit(config: Config) -> None:
        del config["PFC_WD"][port]["restoration_time"]

    return edit


def _late_polls(config: Config) -> None:
    """A poll of 100 ms over the queues of 160 more ports."""
    config["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"] = "100"
    for number in range(160):
        name = f"Ethernet{1000 + number}"
        config["PORT"][name] = {"lanes": str(1000 + number), "speed": "100000", "admin_status": "down", "mtu": "9100"}
        config["PORT_QOS_MAP"][name] = {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}
        config["PFC_WD"][name] = {"action": "drop", "detection_time": "200", "restoration_time": "200"}


def _no_egress_room(config: Config) -> None:
    """The egress limit of the lossless queues is below the level at which ports are paused."""
    config["BUFFER_PROFILE"]["egress_lossless_profile"] = {
        "pool": "egress_lossless_pool", "size": "0", "static_th": "500000"
    }  # fmt: skip


def _large_memory(config: Config) -> None:
    """Pools of nearly all of the chip's memory, of which one group may take eight times what is free."""
    for pool in ("ingress_lossless_pool", "egress_lossy_pool"):
        config["BUFFER_POOL"][pool]["size"] = "60000000"
    config["BUFFER_PROFILE"]["pg_lossless_400000_5m_profile"]["dynamic_th"] = "3"


def _early_lossy(config: Config) -> None:
    """What class 0 has in the switch is counted in group 4, whose pauses do not stop it."""
    _early_xoff(config)
    config["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["0"] = "4"


def _alert(config: Config) -> None:
    config["PFC_WD"][B]["action"] = "alert"


def _stopped(*queues: int) -> Callable[[Config], None]:
    return _all_of(*(_shaped(it, (B,), 1, "scheduler.lossless") for it in queues))


def _all_of(*edits: Callable[[Config], None]) -> Callable[[Config], None]:
    def edit(config: Config) -> None:
        for one in edits:
            one(config)

    return edit


_RARELY: Final = _curve(6_000_000, 60_000_000)
"""Above the level at which the ports pause."""


# What the switch does unlike its configuration -----------------------------------------------------------------------


def _moment(sections: Config) -> None:
    """The watchdog asks at each poll whether the queue is paused at that moment, not whether it was all the time."""
    for own in sections["switches"]["overrides"]:
        if "watchdog" in own:
            own["watchdog"]["rule"] = "cisco"


def _bit_errors(sections: Config) -> None:
    """Of the cable at B."""
    cable = {"kind": "bit-errors", "name": "dirty", "link": f"leaf1:{B}", "ratio": 1e-4, "at": "0ns"}
    sections["faults"] = [cable]


def _half_as_often(sections: Config) -> None:
    for own in sections["switches"]["overrides"]:
        for curve in own.get("ecn_by_queue", {}).values():
            curve["pmax"] /= 2


# What the tester sends unlike the plan -------------------------------------------------------------------------------


def _no_pauses(_: Bench, __: PauseStorm) -> None:
    """None at all."""


def _of_priority_0_too(_: Bench, storm: PauseStorm) -> PauseStorm:
    return replace(storm, classes=storm.classes | 1)


def _none_to_end(bench: Bench, storm: PauseStorm) -> PauseStorm | None:
    """No PAUSE where the pause is to end."""
    return None if bench.scenario.name == "resumed" else storm


# fmt: off
PLAN_MUTANTS: Final = (
    Mutant("TC3", "1", f"group 3 of {B} has no room for one frame", _closed_group),
    Mutant("TC3", "2", "the marking curve begins at 6 MB, and headroom (xoff) of 1 KiB", _all_of(_RARELY,
           _small_headroom), ("1", "7"), f"what marks do not hold is paused, and {ORDER}", ports=3),
    Mutant("TC3", "3", f"DSCP 48 is class 7 at {A}, {B} and {C}", _own_map(48, 7, (A, B, C)), ports=3),
    Mutant("TC3", "4", f"queues 3 and 4 of {C} have no WRED profile", _all_of(_wred(3, C, None), _wred(4, C, None)),
           ("6", "7"), "without marks there is no CNP, and PFC holds the traffic", ports=3),
    Mutant("TC3", "5", f"DSCP 46 is class 7 at {A}, {B} and {C}", _own_map(46, 7, (A, B, C)), ports=3),
    Mutant("TC3", "6", f"queue 4 of {C} has no WRED profile", _wred(4, C, None), ("7",), "PFC holds what is not marked",
           ports=3),
    Mutant("TC3", "7", "the marking curve begins at 6 MB", _RARELY, ports=3),
    Mutant("TC4/pfc", "1", f"pfc_enable of {A}, {B} and {C} is 4", _all_of(_no_pfc(A), _no_pfc(B), _no_pfc(C)), ("2",),
           "what is not paused is lost"),
    Mutant("TC4/pfc", "2", "headroom (xoff) of 1 KiB", _small_headroom),
    Mutant("TC4/dcqcn", "3", "the marking curve begins at 6 MB", _RARELY),
    Mutant("TC4/dcqcn", "4", "the marking curve begins at 6 MB, and headroom (xoff) of 1 KiB", _all_of(_RARELY,
           _small_headroom), ("3",), "PFC holds what is not marked"),
    Mutant("L01", "1", f"pfc_enable of {B} is 4", _no_pfc(B), ports=2),
    Mutant("L01", "2", f"queue 1 of {B} is shaped to 20G", _slow(1, B, 20), ports=2),
    Mutant("L01", "3", f"queue 1 of {B} is shaped to 49G and has room for 4000 B", _slow(1, B, 49, 4000), ports=2),
    Mutant("L01", "4", f"the tester sends no PAUSE, and queue 3 of {B} is shaped to 1 B/s", _stopped(3), ports=2,
           pauses=_no_pauses),
    Mutant("L01", "5", OTHER_PRIORITY, unchanged, ports=2, pauses=_of_priority_0_too),
    Mutant("L02", "1", f"pfc_enable of {B} is 4", _no_pfc(B), ports=2),
    Mutant("L02", "2", f"queue 1 of {B} is shaped to 20G", _slow(1, B, 20), ports=2),
    Mutant("L02", "3", f"queue 1 of {B} is shaped to 49G and has room for 4000 B", _slow(1, B, 49, 4000), ports=2),
    Mutant("L02", "4", f"the tester sends no PAUSE, and queues 3 and 4 of {B} are shaped to 1 B/s", _stopped(3, 4),
           ports=2, pauses=_no_pauses),
    Mutant("L02", "5", OTHER_PRIORITY, unchanged, ports=2, pauses=_of_priority_0_too),
    Mutant("L03", "1", f"pfc_enable of {B} is 4", _no_pfc(B), ("3",), NOT_LESS, ports=2),
    Mutant("L03", "2", f"queue 3 of {B} is shaped to 20G", _slow(3, B, 20), ports=2),
    Mutant("L03", "3", "the tester sends no PAUSE in scenario resumed", unchanged, ports=2, pauses=_none_to_end),
    Mutant("L04", "1", f"pfc_enable of {B} is 4", _no_pfc(B), ports=2),
    Mutant("L05", "1", f"pfc_enable of {D} is 4", _no_pfc(D)),
    Mutant("L05", "2", f"queue 1 of {B} is shaped to 49G and has room for 4000 B", _slow(1, B, 49, 4000)),
    Mutant("L05", "3", f"queue 1 of {B} is shaped to 20G", _slow(1, B, 20)),
    Mutant("L06/frames-512", "1", f"pfc_enable of {B} is 4", _no_pfc(B), ports=2),
    Mutant("L06/frames-9100", "2", f"mtu of {B} is 4096", _mtu(B, 4096), ports=2),
    Mutant("L07", "1", f"pfc_enable of {B} is 4", _no_pfc(B), ports=2),
    Mutant("L07", "2", f"queue 1 of {B} is shaped to 20G", _slow(1, B, 20), ports=2),
    Mutant("L08", "1", MEMORY, _large_memory, ports=3),
    Mutant("L08", "2", "headroom (xoff) of 1 KiB", _small_headroom, ports=3),
    Mutant("L09", "1", "the marking curve begins at 40 MB", _curve(40_000_000, 50_000_000), ports=3),
    Mutant("L09", "2", "headroom (xoff) of 1 KiB", _small_headroom, ports=3),
    Mutant("L11", "1", f"queue 3 of {B} is shaped to 20G", _slow(3, B, 20), ports=2),
    Mutant("L11", "2", f"queue 1 of {B} is shaped to 20G", _slow(1, B, 20), ports=2),
    Mutant("L12", "1", f"the watchdog asks for the moment of the poll alone, and action of {B} is alert", _alert,
           ports=2, lowered=_moment),
    Mutant("L12", "2", f"queue 0 of {B} is shaped to 50M and has room for 4000 B", _slow(0, B, 0.05, 4000), ports=2),
    Mutant("L12", "3", f"queue 3 of {B} is shaped to 1 B/s", _shaped(3, (B,), 1, "scheduler.lossless"), ports=2),
    Mutant("L13", "1", f"pfcwd_sw_enable of {B} is 4", _unwatched(B), ("2", "3"), "no storm, no times", ports=2),
    Mutant("L13", "2", "160 more ports have a watchdog, and the poll is 100 ms", _late_polls, ("3",), LATE, ports=2),
    Mutant("L13", "3", f"{B} has no restoration_time", _never_restored(B), ports=2),
    Mutant("L13", "4", f"queue 0 of {B} is shaped to 50M and has room for 4000 B", _slow(0, B, 0.05, 4000), ports=2),
    Mutant("L15", "1", f"the cable at {B} has a bit error ratio of 0.0001", unchanged, ports=2, lowered=_bit_errors),
    Mutant("L15", "2", OTHER_PRIORITY, unchanged, ports=2, pauses=_of_priority_0_too),
    Mutant("GAPS", "3", f"queue 0 of {B} is shaped to 50M and has room for 4000 B", _slow(0, B, 0.05, 4000), ports=2),
    Mutant("Y01", "1", f"queue 1 of {B} is shaped to 20G", _slow(1, B, 20), ports=2),
    Mutant("Y01", "2", f"queue 1 of {B} is shaped to 65.2G and has room for 4000 B", _slow(1, B, 65.2, 4000), ports=2),
    Mutant("Y01", "3", OTHER_PRIORITY, unchanged, ports=2, pauses=_of_priority_0_too),
    Mutant("Y04", "1", "TC_TO_PRIORITY_GROUP_MAP leads class 0 to group 2, which is lossless", _paused_lossy, ports=3),
    Mutant("Y04", "2", MEMORY, _large_memory, ports=3),
    Mutant("ECN-CURVE/fill-25", "1", f"queue 3 of {C} has no WRED profile", _wred(3, C, None), ports=3),
    Mutant("ECN-CURVE/fill-50", "1", "the switch marks half as often as its profile says", unchanged, ports=3,
           lowered=_half_as_often),
    Mutant("ECN-LOAD/one", "1", f"queue 3 of {C} is shaped to 240G", _slow(3, C, 240), ports=3),
    Mutant("ECN-LOAD/both", "2", f"queue 3 of {C} has no WRED profile", _wred(3, C, None), ports=3),
    Mutant("ECN-LOAD/both", "3", "headroom (xoff) of 1 KiB", _small_headroom, ports=3),
    Mutant("ECN-LOAD/lossy", "4", f"queue 0 of {C} has the WRED profile of queue 3", _wred(0, C, "AZURE_LOSSLESS"),
           ports=3),
    Mutant("ECN-RESPONSE/both", "1", f"queue 3 of {C} has no WRED profile", _wred(3, C, None), ports=3),
    Mutant("ECN-RESPONSE/ends", "3", f"queue 3 of {C} is shaped to 250G", _slow(3, C, 250), ports=3),
    Mutant("PFC-RATE/half", "1", f"queue 3 of {B} is shaped to 100G", _slow(3, B, 100), ports=2),
    Mutant("PFC-RATE/half", "2", f"pfc_enable of {B} is 4", _no_pfc(B), ("1",), "what is not paused has no time in "
           "pause", ports=2),
    Mutant("PFC-RATE/half", "3", "the lossless queues hold at most 500 KB", _no_egress_room, ports=2),
    Mutant("PFC-QUANTA/quanta-7fff", "1", f"queue 3 of {B} is shaped to 100G", _slow(3, B, 100), ports=2),
    Mutant("PFC-QUANTA/quanta-7fff", "2", f"pfc_enable of {B} is 4", _no_pfc(B), ("1",), "what is not paused has no "
           "time in pause", ports=2),
    Mutant("PFC-QUANTA/quanta-7fff", "3", "the lossless queues hold at most 500 KB", _no_egress_room, ports=2),
    Mutant("SMALLEST/lossy", "1", f"queue 0 of {B} is shaped to 303G and has room for 4000 B", _slow(0, B, 303, 4000),
           ports=2),
    Mutant("SMALLEST/lossless", "2", f"queue 3 of {B} is shaped to 200G", _slow(3, B, 200), ports=2),
    Mutant("SMALLEST/lossy", "3", f"groups 3 and 4 of {A} and {B}: static_th of 1 B, and TC_TO_PRIORITY_GROUP_MAP "
           "leads class 0 to group 4", _early_lossy, ports=2),
)
# fmt: on
