"""How a part of a configuration that no check uses could act on RoCE traffic, by the words in it.

A word is enough: the part was not understood, so its effect is not known. Free text (descriptions, banners, names of
users) and protection of the control plane have no effect. Sources: the command references of EOS and NX-OS, NVUE's
object model, sonic-yang-models; UDP port 4791 is RoCEv2 (IANA, IBTA annex A17).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from fabric.configs.model import Leaf

ROCE_PORT: Final = 4791
UNKNOWN_LANGUAGE: Final = "unknown language"
"""Of a whole configuration that has no reader."""
_FREE_TEXT: Final = re.compile(
    r"(?:no |default )?(?:description|banner|remark|hostname|username|alias|snmp-server|logging|aaa|tacacs|radius|ntp|"
    r"event-handler|daemon|management|hardware counter|random-detect ecn count|vlan \d+|name|copp|control-plane|"
    r"(?:policy|class)-map type (?:copp|control-plane|pdp))(?![a-z])"
)
_RANGE: Final = re.compile(r"(?<![0-9.:])([0-9]{1,5})\s?(?:-|:| )\s?([0-9]{1,5})(?![0-9.:])")
_NUMBER: Final = re.compile(r"(?<![0-9.:])4791(?![0-9.:])")
_FILTERS: Final = re.compile(
    r"acl|access.list|permit|deny|l4 (?:dst|src) port|range|\beq\b|\budp\b|dest-port|source-port"
)
_QOS: Final = (
    r"qos|pfc|pfcwd|priority.flow.control|flowcontrol|pause|dcbx|ecn|wred|random.detect|queu(?:e|es|ing)|schedulers?|"
    r"buffers?|mmu|headroom|lossless|no.drop|dscp|cos|dot1p|traffic.class|priority.group|trim(?:ming)?|"
    r"roce|hardware profile tcam|big red switch"
)
_WORDS: Final = (
    ("storm control", r"storm.?control"),
    ("rate limit", r"shap(?:e|er|ing)|polic(?:e|er|ing)|rate.limit|bandwidth|policers?"),
    ("port mode", r"traffic.loopback|switchport mode"),
    ("policy map", r"policy.map|class.map|service.policy|service.profile|traffic.policy"),
    ("QoS", _QOS),
)
_EFFECTS: Final = tuple((reason, re.compile(rf"(?<![a-z])(?:{words})(?![a-z])")) for reason, words in _WORDS)


def effect_of(text: str, leaves: Iterable[Leaf] = (), *, by_name: bool = False) -> str:
    """'storm control', 'rate limit', 'port mode', 'policy map', 'QoS', 'filter on UDP 4791'; '' where no word says so.

    `text` and the paths of leaves are words of the language; values are looked at for the UDP port alone. With
    `by_name` only `text` is: a table's name says what it is for, its fields may limit the rate of log lines.
    """
    lines = [_plain(text)]
    if not is_free_text(lines[0]):
        words = [lines[0]]
        for path, value in leaves:
            name = _plain(" ".join(path))
            words += [] if by_name else [name]
            lines.append(f"{name} {_plain(value)}")
        if any(_names_port(line) and _FILTERS.search(line) for line in lines):
            return f"filter on UDP {ROCE_PORT}"
        for reason, pattern in _EFFECTS:
            if any(pattern.search(word) and not _FREE_TEXT.match(word) for word in words):
                return reason
    return ""


def is_free_text(text: str) -> bool:
    """Whether a line of EOS or NX-OS holds words for people: a description, a banner."""
    return _FREE_TEXT.match(text) is not None


def _plain(text: str) -> str:
    return text.lower().replace("_", " ")


def _names_port(text: str) -> bool:
    """Whether a text names the RoCEv2 port: by itself, or in a range such as '4000-5000'."""
    return _NUMBER.search(text) is not None or any(
        int(low) <= ROCE_PORT <= int(high) for low, high in _RANGE.findall(text)
    )
