"""NX-OS: what class maps of type qos match, and the policies that every switch has without a line.

Sources: Cisco Nexus 9000 NX-OS Quality of Service Configuration Guide, "Configuring Classification" (match-any and
match-all), "Configuring Queuing and Scheduling" (system-defined policies, `bandwidth remaining`), "Configuring Network
QoS" (system jumbomtu).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from fabric.configs.model import Where
from fabric.configs.running_config.class_conditions import Conditions, read_conditions
from fabric.configs.running_config.reader import Line, TextReader, numbers

_MAX_TAG: Final = 7
_WHOLE: Final = 100
"""Percent."""
_PLAIN_MTU: Final = 1500
_SHOWN: Final = 3
_MAX_PORT: Final = 256

SYSTEM_POLICIES: Final[dict[str, dict[str, tuple[tuple[str, str], ...]]]] = {
    "queuing": {
        "default-8q-out-policy": (
            ("c-out-8q-q7", "priority level 1"),
            *((f"c-out-8q-q{queue}", "bandwidth remaining percent 0") for queue in range(6, 0, -1)),
            ("c-out-8q-q-default", "bandwidth remaining percent 100"),
        ),
        "default-out-policy": (
            ("c-out-q3", "priority level 1"),
            ("c-out-q2", "bandwidth remaining percent 0"),
            ("c-out-q1", "bandwidth remaining percent 0"),
            ("c-out-q-default", "bandwidth remaining percent 100"),
        ),
    },
    "network-qos": {
        name: ((f"c-{queues}nq-default", "mtu 1500"),)
        for name, queues in (("default-8q-nq-policy", "8q-"), ("default-nq-policy", ""))
    },
}
"""Kind and name of a policy to its classes, each with its line: defined on every switch, and shown by none."""


@dataclass(frozen=True, slots=True)
class ClassMap:
    """What a class map of type qos matches."""

    dscps: tuple[int, ...] = ()
    tags: tuple[int, ...] = ()
    """802.1Q priorities."""
    never: tuple[int, ...] = ()
    """DSCPs that a line names, and that match-all leaves out: another line does not match the same packets."""
    line: Line | None = None
    conditions: Conditions = field(default_factory=Conditions)

    def check(self, reader: TextReader, name: str, root: Where) -> None:
        """A defect (R9) where match-all leaves out what a line names. `root`: the entry that is missing for it."""
        if self.line is not None and self.never:
            rows = [it.text for it in self.line.children if it.text.startswith("match ")]
            why = "; a packet without a tag has no cos" if any("cos" in it for it in rows) else ""
            text = f"match-all: no packet matches {', '.join(repr(it) for it in rows[:_SHOWN])} at once{why}"
            reader.defect(self.line, f"class-map|{name}", text, "R9", (*root, str(self.never[0])))


OWN_CLASSES: Final = frozenset(("class-default", "class-fcoe", "class-all-flood", "class-ip-multicast"))
"""Classes of type qos that a switch has without a line (Nexus 9000 QoS Configuration Guide, "Class Map Types")."""


def read_classes(reader: TextReader) -> dict[str, ClassMap]:
    """Every class map of type qos. Without a word it is match-all, and all of its lines must match."""
    found = {}
    for line, match in reader.root.find(r"class-map type qos (match-any |match-all )?(\S+)"):
        conditions = read_conditions(reader, line, every=match[1] != "match-any ")
        tags = []
        for row, word in line.find(r"match cos ([\d, -]+)"):
            tags += numbers(word[1], _MAX_TAG)
            row.judged = False  # the sender's tag is in no file
        line.accept(r"description .*")
        kept = frozenset() if conditions.every and tags else conditions.dscps
        never = tuple(sorted(conditions.named - kept))
        found[match[2]] = ClassMap(tuple(sorted(kept)), tuple(tags), never, line, conditions)
    return found


def add_system_policies(reader: TextReader) -> None:
    """Put the system's policies that a line names into the tree, at the place of that line."""
    for kind, policies in SYSTEM_POLICIES.items():
        defined = {it.text.split()[-1] for it in reader.root.children if it.text.startswith(f"policy-map type {kind} ")}
        blocks = [it for it in reader.root.children if it.text.startswith(("system qos", "interface "))]
        for line in [row for block in blocks for row in block.children]:
            match = re.match(rf"service-policy type {kind} (?:output )?(\S+)", line.text)
            if match is None or match[1] not in policies or match[1] in defined:
                continue
            defined.add(match[1])
            rows = [
                Line(line.number, f"class type {kind} {name}", [Line(line.number, text)])
                for name, text in policies[match[1]]
            ]
            reader.root.children.append(Line(line.number, f"policy-map type {kind} {match[1]}", rows))


def check_bandwidth(reader: TextReader, policy: Line, name: str) -> None:
    """A defect (R5) for a queuing policy that gives away more than all: the switch refuses the line that exceeds it."""
    for word in ("bandwidth remaining percent", "bandwidth percent"):
        rows = [it for block in policy.children for it in block.children if re.fullmatch(rf"{word} \d{{1,3}}", it.text)]
        shares = [int(it.text.split()[-1]) for it in rows]
        total = sum(shares)
        if total > _WHOLE >= max(shares):  # one that is above all by itself has a finding of its own
            text = f"'{word}' of all classes is {total} %, at most {_WHOLE} % is taken"
            reader.defect(rows[-1], f"policy-map|{name}", text)


_SCHEME: Final = re.compile(r"c-(?:out-|in-)?(8q-)?(?:nq|q)(?:\d|-default)")


def check_schemes(reader: TextReader) -> None:
    """A defect (R9) for classes of the four-queue scheme beside those of eight queues in one policy, or the reverse.

    Both sets of class maps are system-defined; a switch works with one of them ("Configuring Queuing and Scheduling":
    changing from 8 to 4 queues), so the policy with the other kind is refused.
    """
    for policy in reader.root.children:
        found: dict[bool, list[Line]] = {True: [], False: []}
        if re.match(r"policy-map type (?:network-qos|queuing) ", policy.text):
            for line in policy.children:
                match = _SCHEME.fullmatch(line.text.split()[-1]) if line.text.startswith("class type ") else None
                if match is not None:
                    found[match[1] is not None].append(line)
        odd = min(found.values(), key=len) if all(found.values()) else []
        for line in odd:
            own, other = ("eight", "four") if line in found[True] else ("four", "eight")
            beside = ", ".join(it.text.split()[-1] for it in found[line not in found[True]][:_SHOWN])
            text = f"'{line.text}' is a class of the scheme of {own} queues, and {beside} of the policy of {other}"
            reader.defect(line, f"policy-map|{policy.text.split()[-1]}", text, "R9", ("interface",))


def check_jumbo(reader: TextReader) -> None:
    """A defect (R9) for switched ports whose MTU is neither 1500 nor `system jumbomtu`, where that is stated."""
    for line, match in reader.root.find(r"system jumbomtu (\d+)"):
        jumbo = reader.number(line, match[1], _PLAIN_MTU, 9216, "system jumbomtu")
        odd = []
        for block in reader.root.children:
            texts = {it.text for it in block.children}
            mtu = next((it.split()[1] for it in texts if re.fullmatch(r"mtu \d{2,5}", it)), "")
            switched = block.text.startswith("interface Ethernet") and any(it.startswith("switchport") for it in texts)
            if switched and "no switchport" not in texts and mtu not in {"", str(_PLAIN_MTU), str(jumbo)}:
                odd.append((block.text.removeprefix("interface "), mtu))
        if odd and jumbo is not None:
            more = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
            text = (
                f"{odd[0][0]}{more} has MTU {odd[0][1]}: a switched port takes {_PLAIN_MTU} or system jumbomtu, {jumbo}"
            )
            reader.defect(line, "system jumbomtu", text, "R9")


def check_breakouts(reader: TextReader) -> None:
    """A defect (R9) for lines of a port that is broken out, and for those of a lane of one that is not.

    A file without any breakout leaves it open whether a lane exists: the module may have it by default.
    Source: Nexus 9000 Interfaces Configuration Guide, "interface breakout".
    """
    whole: dict[str, str] = {}
    pattern = r"interface breakout module (\d+) port ([\d,-]+) map (\S+)"
    for _, match in reader.root.find(pattern):
        whole.update({f"Ethernet{match[1]}/{port}": match[3] for port in numbers(match[2], _MAX_PORT)})
    for line in reader.root.children if whole else ():
        name = line.text.removeprefix("interface ")
        if name in whole and line.children:
            text = f"{name} is broken out by 'interface breakout' ({whole[name]}): its ports are {name}/1 and following"
            reader.defect(line, name, text, "R9", ("interface", name))
        cage, _, lane = name.rpartition("/")
        if re.fullmatch(r"Ethernet\d+/\d+", cage) and lane.isdigit() and cage not in whole:
            text = f"{name} is a lane of {cage}, which no 'interface breakout' breaks out"
            reader.defect(line, name, text, "R9", ("interface", name))
