"""V3: the PFC watchdog detects a long storm in time and acts on its queue alone; a short storm costs delay only.

Set-up: two senders and two receivers of sonic-mgmt. Timers are shortened, except in one case with SONiC's defaults; the
rule is the same for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import N_CLASSES, DropReason, EventKind
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.theory import pause
from fabric.verify.fidelity.experiment import PS_PER_S, compiled, of_kind, port, simulate
from fabric.verify.fidelity.table import Finding, Row, between, exactly

_NAME: Final = "v03-watchdog"
_LOSSLESS: Final = 3
_PS_PER_US: Final = 10**6
_PS_PER_NS: Final = 1000


def _drops(engine: Emulator) -> NDArray[Any]:
    return engine.snapshot().drops["pkts"]


def _hurt(engine: Emulator) -> int:
    """Messages but the first that were not done or were resent."""
    others = engine.snapshot().messages[1:]
    return int(((others["end_ps"] < 0) | (others["retransmitted_pkts"] > 0)).sum())


def _victim(case: CompiledScenario) -> int:
    return port(case.fabric, "leaf1", "host2")


def _long(name: str, *sets: str) -> Sequence[Finding]:
    case = compiled(_NAME, *sets)
    engine = simulate(case)
    events = engine.drain_events()
    storms, ends = of_kind(events, EventKind.STORM_DETECTED), of_kind(events, EventKind.STORM_RESTORED)
    watchdog = case.params.switches[case.fabric.by_name["leaf1"].id].watchdog
    if watchdog is None or watchdog.restoration_ps is None:
        raise ValueError("the scenario's leaf has no watchdog that restores")
    begin, end = (int(case.truth[0][moment]) * _PS_PER_NS for moment in ("start_ns", "end_ns"))
    # A storm without a pace repeats after half of its pause time, as a healthy sender refreshes.
    half_pause = round(pause.pause_time_s(case.fabric.links[0].rate_bps) * PS_PER_S / 2)
    declared = pause.watchdog_declares_ps(begin, watchdog.poll_ps, watchdog.detection_ps)
    restored = pause.watchdog_restores_ps(
        pause.last_frame_ps(begin, end, half_pause), watchdog.poll_ps, watchdog.restoration_ps
    )
    drops = _drops(engine)
    found = [(int(row["port"]), int(row["prio"])) for row in storms]
    ours = int(drops[_victim(case), _LOSSLESS, int(DropReason.WATCHDOG)])
    return (
        exactly(f"{name}: storms declared", 1, len(storms)),
        exactly(f"{name}: on other queues", 0, len([place for place in found if place != (_victim(case), _LOSSLESS)])),
        *(
            exactly(f"{name}: declared at, us", declared / _PS_PER_US, int(row["time_ps"]) / _PS_PER_US)
            for row in storms[:1]
        ),
        exactly(f"{name}: restorations", 1, len(ends)),
        *(
            exactly(f"{name}: restored at, us", restored / _PS_PER_US, int(row["time_ps"]) / _PS_PER_US)
            for row in ends[:1]
        ),
        exactly(f"{name}: packets lost elsewhere", 0, int(drops.sum()) - ours),
        exactly(f"{name}: the stormed queue loses packets (1: yes)", 1, int(ours > 0)),
        exactly(f"{name}: messages of other queues that suffered", 0, _hurt(engine)),
    )


def _short() -> Sequence[Finding]:
    case = compiled(_NAME, "faults[0].duration=200us")
    engine = simulate(case)
    return (
        exactly("shorter than detection: storms declared", 0, int(engine.state.queues["wd_detected"].sum())),
        exactly("shorter than detection: packets lost", 0, int(_drops(engine).sum())),
        exactly(
            "shorter than detection: messages done", len(case.labels), int(engine.state.hosts["messages_done"].sum())
        ),
    )


def _blind() -> Sequence[Finding]:
    """Pauses with a gap in every poll: invisible to 'on to off did not grow', however much they cost."""
    case = compiled(_NAME, "faults[0].duration=7ms", "faults[0].duty=0.95", "faults[0].quanta=20000")
    engine = simulate(case)
    row = engine.snapshot().prios[_victim(case), _LOSSLESS]
    return (
        exactly("paused 95 % of the time with gaps: storms declared", 0, int(engine.state.queues["wd_detected"].sum())),
        between("share of the storm's time paused", 0.95, int(row["rx_paused_ps"]) / 7e9, 0.94, 0.96, "one pause time"),
    )


def _all_priorities() -> Sequence[Finding]:
    """sonic-buildimage issue 29203: a platform that counts no PAUSE while it mitigates flaps; ours must not."""
    case = compiled(_NAME, "faults[0].priorities=[3, 4]", "faults[0].duration=7ms")
    engine = simulate(case, 7_000 * _PS_PER_US)
    queues = engine.state.queues[_victim(case) * N_CLASSES : (_victim(case) + 1) * N_CLASSES]
    return (
        exactly("all lossless priorities stormed: declared, once each", 2, int(queues["wd_detected"].sum())),
        exactly("restored while the storm lasts", 0, int(queues["wd_restored"].sum())),
        exactly(
            "queues touched on other ports",
            0,
            int(engine.state.queues["wd_detected"].sum() - np.int64(queues["wd_detected"].sum())),
        ),
    )


def _shortened() -> Sequence[Finding]:
    return [*_long("broadcom"), *_long("mellanox", "switches.asic=spectrum2"), *_short()]


def _real_time() -> Sequence[Finding]:
    """`pfcwd start_default` on up to 32 ports: 200 ms each, so isolation within 400 ms."""
    return _long(
        "200 ms timers",
        "switches.watchdog={poll: 200ms, detection: 200ms, restoration: 200ms}",
        "faults[0].duration=1s",
        "run.duration=2s",
    )


ROWS: Final = (
    Row(
        "V3/storm",
        "Watchdog: a long storm is found in time, a short one costs delay only",
        "asic",
        "C",
        "sonic-swss pfc_detect_broadcom.lua, pfc_restore.lua; set-up: sonic-mgmt PFCWD_2SENDER_2RECEIVER",
        _shortened,
    ),
    Row(
        "V3/real-time",
        "Watchdog with SONiC's default timers, two seconds of simulated time",
        "asic",
        "C",
        "sonic-utilities pfcwd/main.py start_default",
        _real_time,
    ),
    Row("V3/blind", "Watchdog: pauses with gaps are never a storm", "asic", "R", "sonic-mgmt issue 27589", _blind),
    Row(
        "V3/no-flap",
        "Watchdog: a storm that goes on stays declared",
        "asic",
        "R",
        "sonic-buildimage issue 29203",
        _all_priorities,
    ),
)
