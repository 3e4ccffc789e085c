"""Which DSCPs a class map of type qos matches, in EOS and NX-OS, and which of its conditions leave that open.

A condition on an access list holds for RoCE if the list permits UDP 4791 with the DSCP. Sources: EOS user manual,
"Quality of Service", class maps; Cisco Nexus 9000 NX-OS QoS Configuration Guide, "Configuring Classification".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from fabric.configs.filters import UDP, Flow, dscp_of
from fabric.configs.running_config.filters import access_list
from fabric.configs.running_config.reader import Line, TextReader, numbers
from fabric.configs.text.roce_effect import ROCE_PORT

_MAX_DSCP: Final = 63
_EVERY: Final = frozenset(range(_MAX_DSCP + 1))
DSCP_LINE: Final = r"match (?:ip )?dscp ((?:\w[\w-]*)(?:[ ,]+\w[\w-]*)*)"
_LIST_LINE: Final = r"match (?:ip )?access-group (?:name )?(\S+)"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is known of the packets that a class map matches."""

    rows: tuple[frozenset[int], ...] = ()
    """DSCPs of each condition that was read: of lines with DSCPs, and of access lists where all must match."""
    open: str = ""
    """A condition of which it is not known whether RoCE meets it."""
    every: bool = False
    """Whether all conditions must hold (match-all), or one of them."""

    @property
    def named(self) -> frozenset[int]:
        """DSCPs that some condition names."""
        return frozenset().union(*self.rows)

    @property
    def dscps(self) -> frozenset[int]:
        """DSCPs whose packets match, those aside that also need the open condition."""
        return self.rows[0].intersection(*self.rows[1:]) if self.every and self.rows else self.named

    def uncertain(self, value: int) -> str:
        """The open condition that decides whether packets with a DSCP match; '' where it is known."""
        if not self.open or (self.every and self.rows and value not in self.dscps):
            return ""
        return self.open if self.every or value not in self.dscps else ""


def read_conditions(reader: TextReader, block: Line, *, every: bool) -> Conditions:
    """The conditions of one class map. A line that is not understood stays open, and is listed."""
    rows, open_ = [], ""
    for line, match in block.find(DSCP_LINE):
        values = dscps_of(match[1])
        if values is None:
            line.used = False
        else:
            rows.append(values)
    for line, match in block.find(_LIST_LINE):
        found = access_list(reader, match[1])
        if found is None:
            reader.defect(line, block.text, f"access list '{match[1][:40]}' is not in the file", "R1")
            open_ = open_ or line.text
            continue
        ends = [found.decide(Flow(UDP, None, ROCE_PORT, value))[0] for value in sorted(_EVERY)]
        wanted = frozenset(value for value, end in enumerate(ends) if end)
        if None in ends or (wanted and not every):
            open_ = open_ or line.text
        elif every:
            rows.append(wanted)
    for line in block.children:
        if not line.used and re.match(r"(?:\d+ )?match ", line.text) and not line.text.startswith("match cos "):
            open_ = open_ or line.text
    return Conditions(tuple(rows), open_, every)


def dscps_of(text: str) -> frozenset[int] | None:
    """'24-26,af31 48' as numbers; None where a word is no DSCP."""
    found: set[int] = set()
    for word in re.split(r"[ ,]+", text.strip()):
        one = dscp_of(word)
        values = [one] if one is not None else numbers(word, _MAX_DSCP) if re.fullmatch(r"\d+-\d+", word) else []
        if not values or max(values) > _MAX_DSCP:
            return None
        found.update(values)
    return frozenset(found)
