"""Mutants of the healthy configuration: what each changes, and the checks that are red then.

A mutant of a check fails it and no other. Where physics forbids that, `with_` says which other check must fail with it
and why: a CNP answers a CE mark, and in one switch the frames of a queue pair stay in order, so that a sequence error
is a lost frame.

Most are changes of the configuration. Where a check is about counters or timers that no configuration changes, the
switch does something else than its configuration says (`lowered`), or the tester sends other PAUSE frames than the plan
(`pauses`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabric.dataplane.engine.edits import PauseStorm
from fabric.qualify.bench import Bench

Config = dict[str, Any]
HEALTHY: Final = Path(__file__).parents[2] / "docs" / "howto" / "qualify-example" / "config_db.json"
A, B, C, D = "Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24"
"""The first four ports. TC1: A and B are the lossless pair, C and D the lossy one. TC2: A, B and C send to D."""
ORDER: Final = "a frame out of sequence in one switch is a lost one"
ANSWER: Final = "a CNP answers a CE mark"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change."""

    case: str
    """'TC1' or 'TC2/q3_single'."""
    check: str
    text: str
    edit: Callable[[Config], None]
    with_: tuple[str, ...] = ()
    """Checks that cannot but fail as well."""
    because: str = ""
    ports: int = 4
    dcqcn: bool = False
    """The tester's DCQCN is on: a mistake in the set-up, because no configuration of a switch makes a tester send CNPs
    that has it off."""
    lowered: Callable[[Config], None] | None = None
    """Changes the switch and its cables as they are emulated; its configuration stays as it is."""
    pauses: Callable[[Bench, PauseStorm], PauseStorm | None] | None = None
    """What the tester sends instead of a storm of the plan."""

    @property
    def plan(self) -> str:
        """Plan of the case."""
        plans = {"TC": "sonic-rocev2", "L": "sonic-pfc-lossless", "Y": "sonic-pfc-lossy", "G": "sonic-pfcwd"}
        return next((plan for begin, plan in plans.items() if self.case.startswith(begin)), "sonic-ecn-pause")

    @property
    def fails(self) -> set[str]:
        """All checks that are red."""
        return {self.check, *self.with_}

    @property
    def of(self) -> str:
        """What is not healthy: the configuration, or the switch and its cables as emulated, or the tester."""
        parts = ["switch"] if self.lowered is not None else []
        parts += ["tester"] if self.pauses is not None or self.dcqcn else []
        if self.edit is not unchanged:
            parts.insert(0, "configuration")
        return ", ".join(parts)

    @property
    def name(self) -> str:
        """For tests."""
        return f"{self.case.replace('/', '-')}-{self.check}"


def healthy() -> Config:
    """The configuration that passes everything."""
    found: Config = json.loads(HEALTHY.read_text(encoding="utf-8"))
    return found


def mutated(mutant: Mutant, folder: Path) -> Path:
    """A file with the mutant's change."""
    config = healthy()
    mutant.edit(config)
    path = folder / "config_db.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def unchanged(_: Config) -> None:
    """The configuration is healthy; the switch or the tester is not."""


# Edits ------------------------------------------------------------------------------------------------------------


def _mtu(config: Config) -> None:
    config["PORT"][B]["mtu"] = "576"


def _long_cables(config: Config) -> None:
    config["CABLE_LENGTH"]["AZURE"].update({C: "1000m", D: "1000m"})


def _shaped(queue: int, ports: tuple[str, ...], bytes_per_s: int, like: str) -> Callable[[Config], None]:
    def edit(config: Config) -> None:
        config["SCHEDULER"]["scheduler.shaped"] = {**config["SCHEDULER"][like], "pir": str(bytes_per_s)}
        for port in ports:
            config["QUEUE"][f"{port}|{queue}"]["scheduler"] = "scheduler.shaped"

    return edit


def _slow_and_short(config: Config) -> None:
    """Queue 1 of D at 160G, with room for 3 us."""
    _shaped(1, (D,), 20_000_000_000, "scheduler.lossy")(config)
    config["BUFFER_PROFILE"]["short"] = {"pool": "egress_lossy_pool", "size": "0", "static_th": "60000"}
    for queue in ("0-2", "5-6"):
        config["BUFFER_QUEUE"][f"{D}|{queue}"]["profile"] = "short"


def _marking(queues: tuple[int, ...], ports: tuple[str, ...], bytes_per_s: int) -> Callable[[Config], None]:
    """A shaper that is a little slower than the traffic keeps some frames in the queue."""

    def edit(config: Config) -> None:
        config["WRED_PROFILE"]["early"] = {
            "ecn": "ecn_all",
            "green_min_threshold": "1",
            "green_max_threshold": "2",
            "green_drop_probability": "100",
        }
        for queue in queues:
            like = config["QUEUE"][f"{ports[0]}|{queue}"]["scheduler"]
            _shaped(queue, ports, bytes_per_s, like)(config)
            for port in ports:
                config["QUEUE"][f"{port}|{queue}"]["wred_profile"] = "early"

    return edit


def _early_xoff(config: Config) -> None:
    profile = {"pool": "ingress_lossless_pool", "xon": "0", "xoff": "38912", "size": "38912", "static_th": "1"}
    config["BUFFER_PROFILE"]["early"] = profile
    for port in (A, B):
        config["BUFFER_PG"][f"{port}|3-4"]["profile"] = "early"


def _own_map(dscp: int, tc: int, ports: tuple[str, ...]) -> Callable[[Config], None]:
    def edit(config: Config) -> None:
        config["DSCP_TO_TC_MAP"]["OTHER"] = {**config["DSCP_TO_TC_MAP"]["AZURE"], str(dscp): str(tc)}
        for port in ports:
            config["PORT_QOS_MAP"][port]["dscp_to_tc_map"] = "OTHER"

    return edit


def _queue_of_class(tc: int, queue: int) -> Callable[[Config], None]:
    def edit(config: Config) -> None:
        config["TC_TO_QUEUE_MAP"]["AZURE"][str(tc)] = str(queue)
        for port in config["PORT"]:
            config["QUEUE"][f"{port}|{queue}"] = dict(config["QUEUE"][f"{port}|{tc}"])

    return edit


def _closed_group(config: Config) -> None:
    """Group 3 of B has no room for one frame."""
    profile = {"pool": "ingress_lossless_pool", "xon": "0", "xoff": "64", "size": "64", "static_th": "1"}
    config["BUFFER_PROFILE"]["closed"] = profile
    config["BUFFER_PG"][f"{B}|3-4"]["profile"] = "closed"


def _small_headroom(config: Config) -> None:
    config["BUFFER_PROFILE"]["pg_lossless_400000_5m_profile"].update(xoff="1024", size="48128")


def _strict(queue: int) -> Callable[[Config], None]:
    def edit(config: Config) -> None:
        config["QUEUE"][f"{C}|{queue}"]["scheduler"] = "scheduler.control"

    return edit


def _rarely_marking(config: Config) -> None:
    """Near the level at which the ports pause."""
    _queue_of_class(3, 2)(config)
    config["WRED_PROFILE"]["AZURE_LOSSLESS"].update(
        green_min_threshold="2000000", green_max_threshold="20000000", green_drop_probability="1"
    )


def _paused_lossy(config: Config) -> None:
    """Class 0 is counted in lossless group 2, whose pauses stop nothing that is sent."""
    config["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["0"] = "2"
    for port in config["PORT"]:
        config["BUFFER_PG"][f"{port}|2"] = {"profile": "pg_lossless_400000_5m_profile"}
        config["PORT_QOS_MAP"][port]["pfc_enable"] = "2,3,4"


# fmt: off
MUTANTS: Final = (
    Mutant("TC1", "1", f"PORT|{B}: mtu 576, so that no data frame leaves by it", _mtu),
    Mutant("TC1", "2", f"queue 1 of {D} is shaped to 160G and has room for 3 us", _slow_and_short, ("1",), ORDER),
    Mutant("TC1", "3", f"CABLE_LENGTH of {C} and {D}: 1000 m", _long_cables),
    Mutant("TC1", "4", f"queue 6 of {A} and {B} is shaped to 1 B/s", _shaped(6, (A, B), 1, "scheduler.control")),
    Mutant("TC1", "5", f"queue 3 of {A} and {B} is shaped to 385G and marks from 1 B",
           _marking((3,), (A, B), 48_125_000_000)),
    Mutant("TC1", "6", f"queue 3 of {A} and {B} is shaped to 385G and marks from 1 B, and the tester's DCQCN is on",
           _marking((3,), (A, B), 48_125_000_000), ("5",), ANSWER, dcqcn=True),
    Mutant("TC1", "7", f"queue 6 of {C} and {D} is shaped to 1 B/s", _shaped(6, (C, D), 1, "scheduler.control")),
    Mutant("TC1", "8", f"queues 0 and 1 of {C} and {D} are shaped to 198G and mark from 1 B",
           _marking((0, 1), (C, D), 24_750_000_000)),
    Mutant("TC1", "9", f"queues 0 and 1 of {C} and {D} are shaped to 198G and mark from 1 B, and the tester's DCQCN "
           "is on",
           _marking((0, 1), (C, D), 24_750_000_000), ("8",), ANSWER, dcqcn=True),
    Mutant("TC1", "10", f"groups 3 and 4 of {A} and {B}: static_th of 1 B", _early_xoff),
    Mutant("TC1", "11", f"DSCP 48 is class 7 at {A} and {B}", _own_map(48, 7, (A, B))),
    Mutant("TC1", "12", f"DSCP 48 is class 7 at {C} and {D}", _own_map(48, 7, (C, D))),
    Mutant("TC1", "13", "TC_TO_QUEUE_MAP leads class 1 to queue 2", _queue_of_class(1, 2)),
    Mutant("TC2/q3_single", "1", f"group 3 of {B} has no room for one frame", _closed_group),
    Mutant("TC2/q3_single", "2", "headroom (xoff) of 1 KiB", _small_headroom, ("1",), ORDER),
    Mutant("TC2/q3_single", "3", f"queue 6 of {A}, {B} and {C} is shaped to 1 B/s",
           _shaped(6, (A, B, C), 1, "scheduler.control")),
    Mutant("TC2/q3_single", "4", "TC_TO_QUEUE_MAP leads class 3 to queue 2, which marks", _queue_of_class(3, 2)),
    Mutant("TC2/q3_single", "5", "TC_TO_QUEUE_MAP leads class 3 to queue 2, which marks rarely, and the tester's "
           "DCQCN is on", _rarely_marking, ("4",), ANSWER, dcqcn=True),
    Mutant("TC2/q3_single", "6", f"queue 3 of {C}, to which two ports send, is STRICT", _strict(3), ports=3),
    Mutant("TC2/q3_single", "7", "TC_TO_PRIORITY_GROUP_MAP leads class 0 to group 2, which is lossless", _paused_lossy),
    Mutant("TC2/q3_single", "8", f"DSCP 0, which the plan has for lossy, is class 3 at {B}", _own_map(0, 3, (B,))),
    Mutant("TC2/q3_single", "9", f"queue 1 of {D} is shaped to 20G",
           _shaped(1, (D,), 2_500_000_000, "scheduler.lossy")),
)
# fmt: on
