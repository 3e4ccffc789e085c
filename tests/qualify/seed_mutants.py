"""Mutants of the healthy fabric of docs/howto/seed-example: what each changes, and the checks that are red then.

A mutant of an item of the bring-up fails that item, and no other item.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Configs = dict[str, dict[str, Any]]
"""Switch to its config_db.json."""
HEALTHY_FABRIC: Final = Path(__file__).parents[2] / "docs" / "howto" / "seed-example"


@dataclass(frozen=True, slots=True)
class SeedMutant:
    """One change."""

    case: str
    checks: tuple[str, ...]
    """All that are red, in one of the case's runs."""
    text: str
    edit: Callable[[Configs], None]
    because: str = ""
    """Why more than one check is red."""

    @property
    def name(self) -> str:
        """For tests."""
        return f"{self.case}-{'-'.join(self.checks)}"


def healthy_fabric() -> Configs:
    """The configurations that pass everything."""
    files = [it for it in HEALTHY_FABRIC.glob("*.json") if it.name != "hosts.json"]
    return {it.stem: json.loads(it.read_text(encoding="utf-8")) for it in files}


def written(configs: Configs, folder: Path) -> Path:
    """A folder with these configurations and the hosts of the example."""
    (folder / "hosts.json").write_bytes((HEALTHY_FABRIC / "hosts.json").read_bytes())
    for name, config in configs.items():
        (folder / f"{name}.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def mutated_fabric(mutant: SeedMutant, folder: Path) -> Path:
    """A folder with the mutant's change."""
    configs = healthy_fabric()
    mutant.edit(configs)
    return written(configs, folder)


# Edits ------------------------------------------------------------------------------------------------------------


def _row(switch: str, table: str, key: str, field: str, value: str | None) -> Callable[[Configs], None]:
    def edit(configs: Configs) -> None:
        row = configs[switch][table][key]
        if value is None:
            del row[field]
        else:
            row[field] = value

    return edit


def _without(switch: str, table: str, key: str) -> Callable[[Configs], None]:
    def edit(configs: Configs) -> None:
        del configs[switch][table][key]

    return edit


def _small_headroom(configs: Configs) -> None:
    """Of the ports of spine1: too small for the frames on their way when XOFF is sent."""
    configs["spine1"]["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"].update(xoff="8192", size="55296")


def _dscp_0(configs: Configs) -> None:
    configs["leaf1"]["DSCP_TO_TC_MAP"]["M"]["0"] = "3"


def _class_0_lossless(configs: Configs) -> None:
    """DSCP 0 is class 1, which has PFC and headroom at leaf1."""
    for name, own in configs.items():
        own["DSCP_TO_TC_MAP"]["M"]["0"] = "1"
        for table in ("TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP"):
            own[table]["M"]["1"] = "1"
        for port in own["PORT"]:
            own["QUEUE"][f"{port}|1"] = dict(own["QUEUE"][f"{port}|0"])
            if name in {"leaf1", "leaf2"}:
                own["PORT_QOS_MAP"][port]["pfc_enable"] = "1,3"
                own["BUFFER_PG"][f"{port}|1"] = dict(own["BUFFER_PG"][f"{port}|3"])


def _slow_spines(configs: Configs) -> None:
    """RoCE's queues of the spines are shaped to half of the rate."""
    for name in ("spine1", "spine2"):
        own = configs[name]
        own["SCHEDULER"]["slow"] = {"type": "DWRR", "weight": "50", "pir": str(200 * 125_000_000)}
        for port in own["PORT"]:
            own["QUEUE"][f"{port}|3"]["scheduler"] = "slow"


# fmt: off
SEED_MUTANTS: Final = (
    SeedMutant("HOPS", ("1", "2"), "pfc_enable of spine1 Ethernet16 is empty", _row("spine1", "PORT_QOS_MAP",
               "Ethernet16", "pfc_enable", ""), "what is not paused is lost"),
    SeedMutant("HOPS", ("2",), "headroom (xoff) of spine1 is 8 KiB", _small_headroom),
    SeedMutant("MARKS", ("1",), "queue 3 of leaf1 Ethernet0 has no WRED profile", _row("leaf1", "QUEUE", "Ethernet0|3",
               "wred_profile", None)),
    SeedMutant("MARKS", ("3",), "queue 3 of spine1 Ethernet8 has no WRED profile", _row("spine1", "QUEUE",
               "Ethernet8|3", "wred_profile", None)),
    SeedMutant("ISOLATED", ("1", "2"), "DSCP 0 is class 3 at leaf1", _dscp_0, "the PAUSE of RoCE's class is its own"),
    SeedMutant("ISOLATED", ("2",), "DSCP 0 is class 1, which is lossless at the leaves", _class_0_lossless),
    SeedMutant("STORM", ("1", "2", "3", "4"), "leaf1 Ethernet0 has no row in PFC_WD", _without("leaf1", "PFC_WD",
               "Ethernet0"), "the class stays blocked, and the spines take the leaf for the storm"),
    SeedMutant("STORM", ("4",), "leaf1 Ethernet0 has no restoration_time", _row("leaf1", "PFC_WD", "Ethernet0",
               "restoration_time", None)),
    SeedMutant("ECMP", ("1", "2"), "leaf1 Ethernet24 is down", _row("leaf1", "PORT", "Ethernet24", "admin_status",
               "down"), "leaf2 has one path left to leaf1"),
    SeedMutant("SCALES", ("1",), "queue 3 of every port of the spines is shaped to 200G", _slow_spines),
)
# fmt: on
WITHOUT: Final = {"ECMP": ("2",), "STORM": ("2", "3")}
"""Checks that no configuration fails alone: STORM 2 and 3 fail with 1, ECMP 2 with 1, or where the hashes of two tiers
repeat each other (`fabric qualify seed polarised`)."""
