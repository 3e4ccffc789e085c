"""The edits of one switch as steps in an order that is safe inside the switch.

An object comes before what refers to it and goes after it; pools shrink before headroom grows and grow after it has
shrunk, so that the memory always suffices; headroom grows before cables and speeds; the watchdog comes before PFC and
goes after it; groups and queues come before PFC, and PFC before the classes that need it; they go in the other
direction; MTUs grow early and shrink late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fabric.rollout.edits import Edit, Tables, edits_between, in_two_steps, number_of, priorities
from fabric.rollout.effects import Effect, Kind, effect_of

_MAPS: Final = (
    "DSCP_TO_TC_MAP",
    "DOT1P_TO_TC_MAP",
    "TC_TO_QUEUE_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "TC_TO_DSCP_MAP",
)
_OBJECTS: Final = ("BUFFER_POOL", "BUFFER_PROFILE", "WRED_PROFILE", "SCHEDULER", *_MAPS)
"""Tables of rows that others refer to."""
_GROUP_MAPS: Final = ("TC_TO_PRIORITY_GROUP_MAP", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")
TITLES: Final = {
    10: "add objects",
    15: "shrink pools",
    20: "more headroom",
    25: "larger MTU",
    30: "watchdog on",
    35: "groups, queues, marking",
    40: "PFC on",
    50: "classes",
    55: "other settings",
    60: "cables, speeds, ports",
    65: "classes removed",
    70: "PFC off",
    72: "groups and queues removed",
    75: "watchdog off",
    80: "less headroom",
    82: "smaller MTU",
    85: "grow pools",
    90: "remove objects",
}
"""Rank of a step to its title; steps are made in the order of ranks."""
_WATCHDOG: Final = 30
_LESS: Final = 80
_LEFT: Final = "groups left to the switch, which makes them again from cable length and speed"
HOSTS_RANK: Final = 52
"""Hosts move after the classes are there, and before PFC is taken away."""
LINKS_RANK: Final = 60


@dataclass(frozen=True, slots=True)
class Step:
    """Edits of one switch that are made together."""

    rank: int
    title: str
    edits: tuple[Edit, ...] = ()
    effects: tuple[Effect, ...] = ()
    """Of each edit; () where the system is not SONiC."""
    text: str = ""
    """What changes, where there are no edits."""

    @property
    def flaps(self) -> tuple[str, ...]:
        """Ports and sessions that go down, each once."""
        return tuple(dict.fromkeys(name for effect in self.effects for name in effect.flaps))

    @property
    def kinds(self) -> dict[Kind, int]:
        """Kind of effect to the number of edits with it."""
        found = {kind: sum(it.kind is kind for it in self.effects) for kind in Kind}
        return {kind: number for kind, number in found.items() if number}

    @property
    def reload(self) -> bool:
        """Whether `config apply-patch` does not take it."""
        return any(it.kind is Kind.REFUSED for it in self.effects)


def steps_of(old: Tables, new: Tables, release: str) -> tuple[Step, ...]:
    """The steps from one CONFIG_DB to another, in order."""
    ranked: dict[int, list[Edit]] = {}
    for edit in in_two_steps(edits_between(old, new)):
        ranked.setdefault(rank_of(edit, old, new), []).append(edit)
    return tuple(
        Step(rank, _title(rank, edits, new), tuple(edits), tuple(effect_of(it, release, old) for it in edits))
        for rank, edits in sorted(ranked.items())
    )


def _title(rank: int, edits: Sequence[Edit], new: Tables) -> str:
    """That of the rank, unless the edits do less than it says.

    A changed time turns no watchdog on; rows of groups that buffermgrd makes again (buffermgr.cpp l.146) take no
    headroom away.
    """
    if rank == _WATCHDOG and all(it.table == "PFC_WD" and it.field and it.op == "replace" for it in edits):
        return "watchdog settings"
    meta = new.get("DEVICE_METADATA", {}).get("localhost", {})
    if rank != _LESS or (isinstance(meta, dict) and meta.get("buffer_model") == "dynamic"):
        return TITLES[rank]
    return _LEFT if all(_made_again(edit, new) for edit in edits) else TITLES[rank]


def _made_again(edit: Edit, new: Tables) -> bool:
    """Whether the row of a lossless group goes and the port keeps what buffermgrd makes the group from."""
    if edit.table != "BUFFER_PG" or edit.field or edit.op != "remove":
        return False
    port, _, groups = edit.key.partition("|")
    first, _, last = groups.partition("-")
    row = new.get("PORT_QOS_MAP", {}).get(port, {})
    lossless = priorities(row.get("pfc_enable")) if isinstance(row, dict) else frozenset()
    lengths = [it.get(port) for it in new.get("CABLE_LENGTH", {}).values() if isinstance(it, dict)]
    wanted = {str(it) for it in range(number_of(first), number_of(last or first) + 1)}
    return wanted <= set(map(str, lossless)) and any(it not in {None, "0m"} for it in lengths)


def merged(steps: Sequence[Step], title: str) -> Step:
    """All steps as one."""
    edits = tuple(edit for step in steps for edit in step.edits)
    effects = tuple(effect for step in steps for effect in step.effects)
    return Step(
        min(step.rank for step in steps), title, edits, effects, "; ".join(filter(None, (s.text for s in steps)))
    )


def rank_of(edit: Edit, old: Tables, new: Tables) -> int:
    """When an edit is made."""
    whole = not edit.field
    if edit.table in _OBJECTS and whole and edit.op != "replace":
        return 10 if edit.op == "add" else 90
    if edit.table == "BUFFER_POOL" and edit.field in {"size", "xoff"}:
        return 15 if number_of(edit.new) < number_of(edit.old) else 85
    if edit.table == "BUFFER_PROFILE" and edit.field in {"size", "xoff"}:
        return 20 if number_of(edit.new) > number_of(edit.old) else 80
    if edit.table == "BUFFER_PG":
        return 20 if _headroom(edit, new, edit.new) >= _headroom(edit, old, edit.old) else 80
    if edit.table == "PFC_WD" or edit.field == "pfcwd_sw_enable":
        return 75 if _takes(edit) else 30
    if edit.field == "pfc_enable":
        return 70 if _takes(edit) else 40
    if edit.table == "PORT" and edit.field == "mtu":
        return 25 if number_of(edit.new) > number_of(edit.old) else 82
    if edit.table in {"CABLE_LENGTH", "PORT"}:
        return 60
    if edit.table in _GROUP_MAPS:
        return 35 if _is_lossless(edit.new, new) or not _is_lossless(edit.old, old) else 72
    if edit.table in {"QUEUE", "TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "WRED_PROFILE", "SCHEDULER"}:
        return 72 if edit.op == "remove" else 35
    if edit.table.startswith("BUFFER_"):
        return 72 if edit.op == "remove" else 35
    if edit.table in {"DSCP_TO_TC_MAP", "DOT1P_TO_TC_MAP"}:
        return 65 if _class_is_lossless(edit.old, old) and not _class_is_lossless(edit.new, new) else 50
    return 50 if edit.table in {*_OBJECTS, "PORT_QOS_MAP"} else 55


def _class_is_lossless(class_: object, tables: Tables) -> bool:
    """Whether a traffic class is charged to a group with headroom, by some map of the switch."""
    maps = tables.get("TC_TO_PRIORITY_GROUP_MAP", {}).values()
    return any(isinstance(it, dict) and _is_lossless(it.get(str(class_)), tables) for it in maps)


def _is_lossless(group: object, tables: Tables) -> bool:
    """Whether a priority group has headroom on some port."""
    if group is None:
        return False
    number = number_of(group)
    for key, row in tables.get("BUFFER_PG", {}).items():
        first, _, last = key.rpartition("|")[2].partition("-")
        if not isinstance(row, dict) or not number_of(first) <= number <= number_of(last or first):
            continue
        name = str(row.get("profile")).removeprefix("[BUFFER_PROFILE|").rstrip("]")
        profile = tables.get("BUFFER_PROFILE", {}).get(name, {})
        if name == "NULL" or (isinstance(profile, dict) and number_of(profile.get("xoff"))):
            return True
    return False


def _takes(edit: Edit) -> bool:
    """Whether a row goes, or a list of priorities loses some."""
    return edit.op == "remove" if edit.table == "PFC_WD" else bool(priorities(edit.old) - priorities(edit.new))


def _headroom(edit: Edit, tables: Tables, value: object) -> int:
    """Bytes of headroom that a row of BUFFER_PG has in a CONFIG_DB; 0 without a profile."""
    name = value.get("profile") if isinstance(value, dict) else value if edit.field == "profile" else None
    row = tables.get("BUFFER_PROFILE", {}).get(str(name).removeprefix("[BUFFER_PROFILE|").rstrip("]"), {})
    return number_of(row.get("xoff")) if isinstance(row, dict) else 0
