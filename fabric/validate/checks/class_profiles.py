"""M3: traffic classes in use whose queue or priority group has no buffer profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from fabric.configs.model import Device, Port
from fabric.validate.checks.base import E, Found, I, W, first, shows
from fabric.validate.facts import Facts
from fabric.validate.remedies import set_field

_TABLES: Final = (("BUFFER_PG", "tc_to_pg", "group"), ("BUFFER_QUEUE", "tc_to_queue", "queue"))
"""Table of the bindings, the map that leads to them, and what they are called."""


def unprofiled(facts: Facts) -> Iterator[Found]:
    """Every queue and group of a lossless port that some DSCP leads to, and that no row gives a profile.

    Groups that PFC protects are M4's, queues that it stops B7's. An error where RoCE or its CNPs are in the class, a
    warning elsewhere; one note for a switch whose file gives no lossy class a profile: it may be a part of the whole.
    One warning for a switch without any row of a table in which others have rows.
    """
    bindings = {(it.name, table): bindings_of(it, table) for it in facts.devices for table, _, _ in _TABLES}
    having = {table: [it.name for it in facts.devices if bindings[it.name, table]] for table, _, _ in _TABLES}
    noted = set()
    for line in facts.lossless:
        device, port = line.device, line.port
        classes = device.map_of(port, "dscp_to_tc")
        if not device.capabilities.tables or classes is None:
            continue
        used = sorted(set(classes.entries.values()))
        roce = {tc for it in facts.network.roce_dscps if (tc := classes.entries.get(it)) is not None}
        vital = roce | {classes.entries.get(it) for it in facts.cnp_dscps}
        protected = {tc for it in port.lossless for tc in facts.classes_of(line, it)}
        for table, kind, word in _TABLES:
            usual = bindings[device.name, table]
            held: dict[int | None, list[int]] = {}
            for tc in used:
                held.setdefault(facts.value(device, port, kind, tc), []).append(tc)
            paused, rdma = ({facts.value(device, port, kind, tc) for tc in its} for its in (protected, roce))
            theirs = {profile for number, profile in usual.items() if number in paused | rdma}
            theirs |= {name for name, it in device.profiles.items() if it.lossless}
            part = all(profile in theirs for profile in usual.values())
            others = [] if usual else [it for it in having[table] if it != device.name]
            if others and (device.name, table) not in noted:
                noted.add((device.name, table))
                give = "gives" if len(others) == 1 else "give"
                text = f"no {word} of a port has a buffer profile, and {first(others)} {give} theirs one"
                yield Found(device.name, table, text, (shows(device, (table,), "rows", "none"),), W)
            for number, its in held.items():
                if number is None or not usual or number in paused or _named(port, table, number):
                    continue
                where = (table, f"{port.name}|{number}")
                if part:
                    if (device.name, table) not in noted:
                        noted.add((device.name, table))
                        text = f"no class without PFC has a buffer profile, such as class {its[0]} in {word} {number}"
                        yield Found(device.name, table, text, (shows(device, where, "profile", "none"),), I)
                    continue
                profile = usual.get(number)
                chosen = device.map_of(port, kind)
                yield Found(
                    device.name,
                    f"{port.name}|{word} {number}",
                    f"class {', '.join(map(str, its))} is in {word} {number}, which has no buffer profile",
                    (shows(device, where, "profile", "none"),),
                    E if vital & set(its) else W,
                    within=() if chosen is None else ((device.name, chosen.where),),
                    fix=None if profile is None else set_field(device, where, "profile", profile),
                )


def _named(port: Port, table: str, number: int) -> bool:
    """Whether a row names a profile; one that leads nowhere is R1's."""
    bound = (port.groups if table == "BUFFER_PG" else port.queues).get(number)
    return bound is not None and bound.profile is not None


def bindings_of(device: Device, table: str) -> dict[int, str]:
    """Number of a queue or group to the profile that most ports of the switch give it."""
    counts: dict[int, Counter[str]] = {}
    for port in device.ports.values():
        for number, bound in (port.groups if table == "BUFFER_PG" else port.queues).items():
            if bound.profile is not None:
                counts.setdefault(number, Counter())[bound.profile] += 1
    return {number: its.most_common(1)[0][0] for number, its in counts.items()}
