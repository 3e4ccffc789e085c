"""EOS class and policy maps of type QoS -> DSCP maps of the ports that have them.

The first class of a policy that matches a packet decides, class-default takes the rest, and a packet of no class has
the traffic class of the global map. A line of a class other than those with
DSCPs and access lists, `set traffic-class` and `set dscp` is not understood: which packets it matches is open, and
the line is listed.
Source: EOS user manual, "Quality of Service", policy maps and class maps.
"""

from __future__ import annotations

from fabric.configs.running_config.class_conditions import Conditions, read_conditions
from fabric.configs.running_config.reader import Line, TextReader, note_marks
from fabric.configs.text.spelling import meant

_ALL = range(64)


def read_policies(reader: TextReader) -> None:
    """Add a map for every policy. Before the interfaces, after the global map."""
    classes = {
        match[2]: read_conditions(reader, line, every=match[1] == "match-all ")
        for line, match in reader.root.find(r"class-map type qos (match-any |match-all )?(\S+)")
    }
    usual = reader.device.maps["dscp_to_tc"]["default"].entries
    for line, match in reader.root.find(r"policy-map type (?:quality-of-service|qos) (\S+)"):
        where = reader.note(line, "policy-map", match[1])
        found: dict[int, int] = {}
        matched: set[int] = set()
        marks: dict[int, int] = {}
        uncertain: dict[int, str] = {}
        rows: list[tuple[str, int | None, tuple[int, ...]]] = []
        for block, word in line.find(r"(?:\d+ )?class (\S+)"):
            if word[1] != "class-default" and word[1] not in classes:
                text = f"class-map '{word[1][:40]}' is not in the file{meant(word[1], frozenset(classes))}"
                reader.defect(block, match[1], text, "R1", ("policy-map", match[1]))
            conditions = classes.get(word[1], Conditions())
            values = (set(_ALL) if word[1] == "class-default" else set(conditions.dscps)) - matched
            doubtful = {value: text for value in _ALL if (text := conditions.uncertain(value))}
            uncertain.update({value: text for value, text in doubtful.items() if value not in matched})
            sets = [int(tc[1]) for _, tc in block.find(r"set traffic-class ([0-7])")]
            if sets:
                found.update(dict.fromkeys(values, sets[-1]))
            for row, mark in block.find(r"set dscp (\S+)"):
                note_marks(reader, row, where, marks, values, mark[1])
            rows.append((word[1], sets[-1] if sets else None, tuple(sorted(values))))
            for value in values if word[1] != "class-default" else ():
                reader.note(block, *where, str(value))
            matched |= values
        reader.map_("dscp_to_tc", match[1], where, {**usual, **found}, frozenset(found))
        reader.device.maps["dscp_to_tc"][match[1]].classes = tuple(rows)
        reader.device.maps["dscp_to_tc"][match[1]].uncertain = uncertain
        if marks:
            reader.map_("dscp_to_dscp", match[1], (*where, "set dscp"), marks)


def bind_policy(reader: TextReader, interface: Line) -> str | None:
    """The policy of an interface; a name that leads nowhere is a defect."""
    found = None
    for line, match in interface.find(r"service-policy type qos input (\S+)"):
        if match[1] in reader.device.maps["dscp_to_tc"]:
            found = match[1]
        else:
            reader.defect(line, "service-policy", f"policy '{match[1][:40]}' is not in the file", "R1")
    return found
