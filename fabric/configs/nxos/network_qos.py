"""NX-OS: policies of type network-qos, which say which qos-groups are lossless, and the classes that they may have.

A class is one of the system's (c-8q-nq3, or c-nq3 in the scheme of four queues) or a class map of type network-qos
of the file, as on Nexus 3000. The switch refuses any other name, one of a queuing class among them, and a pause in
the default class. Sources: Cisco Nexus 9000 NX-OS Quality of Service Configuration Guide, "Configuring Network QoS" and
"Configuring Priority Flow Control"; Cisco Nexus 3000 NX-OS QoS Configuration Guide, "Configuring a No-Drop Policy".
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.model import Where
from fabric.configs.running_config.reader import Line, TextReader

_SYSTEM: Final = re.compile(r"c-(?:\d+q-)?nq(?:([1-7])|-default)")
_DEFAULT: Final = "class-default"
_PAUSE: Final = r"pause (?:no-drop|(?:\S+ )?pfc-cos ([\d,]+))"
_CLASS_MTU: Final = 1500
"""Of a class that states none (Nexus 9000 NX-OS QoS Configuration Guide, "Configuring Network QoS": mtu)."""


def class_groups(reader: TextReader, kind: str) -> dict[str, int | None]:
    """Class maps of one type and their qos-group, None where they name none."""
    found: dict[str, int | None] = {}
    for line, match in reader.root.find(rf"class-map type {kind} (?:match-any |match-all )?(\S+)"):
        found[match[1]] = None
        for _, word in line.find(r"match qos-group (\d)"):
            found[match[1]] = int(word[1])
    return found


def refuse(reader: TextReader, block: Line, name: str, text: str, check: str = "R1") -> None:
    """A defect for a block that the switch does not take, with all of its lines."""
    reader.defect(block, name, text, check, ("interface",))
    for line in block.children:
        line.used = True


def read_network_qos(reader: TextReader) -> dict[str, dict[int, int]]:
    """Policy -> its lossless priorities, each with the qos-group that its pause stops."""
    found = {}
    groups = class_groups(reader, "network-qos")
    for line, match in reader.root.find(r"policy-map type network-qos (\S+)"):
        paused: dict[int, int] = {}
        reader.note(line, "policy-map", match[1])
        for row, name in line.find(r"class type network-qos (\S+)"):
            group = _group(reader, row, match[1], name[1], groups)
            pauses = list(row.find(_PAUSE))
            for child, _ in row.find(r"pause (?:\S+ )?pfc-cos [\d,]+ receive"):  # pauses are obeyed and never sent
                reader.note(child, "policy-map", match[1])
            _class_mtu(reader, row, match[1], name[1], pauses=bool(pauses))
            for child, word in pauses if group is not None else ():
                _pause(reader, child, (match[1], name[1]), word[1], group or 0, paused)
            row.accept(r"mtu \d+")
        found[match[1]] = paused
    return found


def _group(reader: TextReader, block: Line, policy: str, name: str, groups: dict[str, int | None]) -> int | None:
    """The qos-group of a class; None, and a defect, where the switch refuses the class, or its pause."""
    system = _SYSTEM.fullmatch(name)
    default = name == _DEFAULT or (system is not None and system[1] is None)
    pauses = [line for line in block.children if re.match(r"pause\b", line.text)]
    if system is None and name != _DEFAULT and name not in groups:
        # Templates leave class maps without a pause to the switch that they are made for.
        if pauses:
            text = f"there is no class map '{name[:40]}' of type network-qos"
            refuse(reader, block, f"policy-map|{policy}", text)
        return None
    if default:
        for line in pauses:
            text = f"'{line.text}' in {name}: the switch refuses a pause in the default class"
            reader.defect(line, f"policy-map|{policy}", text, "R9", ("interface",))
            line.used = True
        return None
    group = int(system[1]) if system else groups[name]
    if group is None and pauses:
        text = f"class map '{name[:40]}' names no qos-group: its pause stops no queue"
        reader.defect(block, f"policy-map|{policy}", text, "R9", ("interface",))
    return group


def _pause(
    reader: TextReader, line: Line, names: tuple[str, str], priorities: str | None, group: int, paused: dict[int, int]
) -> None:
    """Enter the lossless priorities of one line. `pause no-drop` names none: that of the qos-group is assumed."""
    policy, name = names
    reader.note(line, "policy-map", policy, name, "pause")
    for priority in reader.numbers(line, priorities, 7, "pfc-cos", ("interface",)) if priorities else [group]:
        if paused.setdefault(priority, group) != group:
            text = f"priority {priority} is paused by the classes of two qos-groups, {paused[priority]} and {group}"
            reader.defect(line, f"policy-map|{policy}", text, "R9", ("interface",))


def pause_where(reader: TextReader, policy: str) -> Where:
    """The one line that pauses a class in a network-qos policy; the policy where there are several, or none."""
    found: list[Where] = [
        ("policy-map", policy, name[1], "pause")
        for line, match in reader.root.find(r"policy-map type network-qos (\S+)")
        if match[1] == policy
        for row, name in line.find(r"class type network-qos (\S+)")
        if row.has(_PAUSE)
    ]
    return found[0] if len(found) == 1 else ("policy-map", policy)


def _class_mtu(reader: TextReader, block: Line, policy: str, name: str, *, pauses: bool) -> None:
    """The largest frame of a class; `pauses`: a lossless one."""
    device = reader.device
    (device.class_mtus if pauses else device.lossy_mtus)[f"{policy} {name}"] = _CLASS_MTU
    reader.note(block, "policy-map", policy, name, "mtu")
    for line, match in block.find(r"mtu (\d+)"):
        mtu = reader.number(line, match[1], 576, 9216, "mtu")
        if mtu is not None:
            (device.class_mtus if pauses else device.lossy_mtus)[f"{policy} {name}"] = mtu
            reader.note(line, "policy-map", policy, name, "mtu")
