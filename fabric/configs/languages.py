"""Which language a text is in, by the lines that only some languages have.

Every mark is a line and the languages that have it. The language is the one that has all marks of the text; where no
language has them all, two readers claim the file, and it is an error that names a line of each. Marks at the left
margin come first: a line inside a block may be a mistake of its author, and the block says whose it is.
Sources: configuration guides of the five systems; docs/decisions/0114.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from fabric.configs.nvue.commands import PROMPT
from fabric.configs.running_config.banners import outside_banners
from fabric.configs.text.jsonfile import refuse

NAMES: Final = {
    "nvue_commands": "NVUE commands",
    "nvue": "NVUE's YAML",
    "eos": "Arista EOS",
    "nxos": "Cisco NX-OS",
    "os10": "Dell OS10",
    "frr": "FRR",
}
"""The languages of text, with their names in messages."""
_OWN_NAME: Final = {
    "eos": "the line '! device: ...' of EOS",
    "nxos": "the line '!Command: show running-config' of NX-OS",
    "os10": "the line '! Version 10...' of OS10",
}
"""First lines of a running-config, which no other system writes."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A line, from its first character, and the languages that have it."""

    languages: frozenset[str]
    line: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Seen:
    """A mark in a text."""

    number: int
    text: str
    languages: frozenset[str]


def _marks(words: dict[str, tuple[str, ...]]) -> tuple[Mark, ...]:
    return tuple(
        Mark(frozenset(languages.split()), re.compile("|".join(lines), re.ASCII)) for languages, lines in words.items()
    )


_AT_MARGIN: Final = _marks(
    {
        "nvue_commands": (PROMPT + r"nv (?:un)?set ",),
        "nvue": (r"- (?:set|header):", r"set:\s*$"),
        "frr": (r"frr (?:version|defaults) ", r"service integrated-vtysh-config$"),
        "os10": (
            r"! Version 10\.\d+\.\d+\.\d+",
            r"interface ethernet\d+/\d+/\d+",
            r"qos-map traffic-class ",
            r"trust (?:dot1p|dscp)-map ",
            r"dcbx enable",
        ),
        "nxos": (
            r"!Command: show running-config",
            r"!Running configuration last done",
            r"version \d+\.\d+\(\d+\)",
            r"feature \w+",
            r"nv overlay",
            r"vrf context ",
            r"vpc domain \d",
            r"vdc \S+ id ",
            r"boot nxos ",
            r"interface (?:nve\d|mgmt0)",
            r"spanning-tree port type ",
            r"hardware (?:access-list tcam region|qos) ",
            r"fabric forwarding ",
            r"priority-flow-control (?:watch-dog-interval|auto-restore) ",
        ),
        "nxos os10": (r"system qos\s*$", r"(?:class|policy)-map type (?:network-qos|queuing) "),
        "nxos eos os10": (r"(?:class|policy)-map type qos ",),
        "eos": (
            r"! device: .*\bEOS",
            r"! Command: show running-config",
            r"! boot system flash:",
            r"qos (?:map|profile|rewrite|random-detect) ",
            r"transceiver qsfp ",
            r"service routing protocols ",
            r"spanning-tree mode mstp",
            r"switchport default mode ",
            r"vrf instance ",
            r"interface (?:Vxlan|Management)\d",
            r"management api ",
            r"mlag configuration",
            r"platform (?:trident|tomahawk|sand|jericho|fap) ",
            r"priority-flow-control (?:all off|pause watchdog )",
            r"policy-map type (?:quality-of-service|tx-queue|pbr|copp) ",
            r"class-map type (?:pbr|copp) ",
            r"ip virtual-router mac-address ",
        ),
    }
)
_INSIDE: Final = _marks(
    {
        "eos": (
            r"priority-flow-control (?:on$|priority \d|pause )",
            r"(?:no )?qos trust",
            r"qos (?:cos|dscp) \d",
            r"service-profile ",
            r"service-policy type tx-queue ",
            r"(?:uc-)?tx-queue \d",
            r"random-detect ecn ",
            r"set traffic-class ",
            r"speed (?:forced |auto )?\d+gfull|speed \d+g-\d",
            r"error-correction encoding ",
        ),
        "nxos os10": (
            r"match qos-group \d",
            r"set qos-group \d",
            r"class type (?:network-qos|queuing) ",
            r"service-policy type (?:network-qos|queuing) ",
            r"pause (?:pfc-cos|no-drop)",
        ),
        "nxos": (
            r"priority-flow-control (?:mode (?:on|off|auto)|watch-dog-interval )",
            r"random-detect (?:minimum-)?threshold ",
            r"class type qos ",
            r"vrf member ",
            r"member vni ",
            r"fec (?:rs-fec|fc-fec|off)",
            r"(?:no )?vpc (?:\d|peer-link)",
        ),
    }
)

_ANY_AT_MARGIN: Final = re.compile("|".join(it.line.pattern for it in _AT_MARGIN), re.ASCII)
_ANY_INSIDE: Final = re.compile("|".join(it.line.pattern for it in _INSIDE), re.ASCII)
_YAML: Final = re.compile(r"^(?:- |---|\w+:)", re.MULTILINE)
"""A text without a mark that may be NVUE's tree: its reader says what is wrong with it."""


def is_prose(text: str) -> bool:
    """Whether a text has no line of any language, and is no JSON."""
    margin, inside = _seen(text)
    return bool(text.strip()) and not margin and not inside and text.lstrip()[0] not in "{["


def language_of(text: str, file: str) -> str:
    """A key of NAMES. Raises InputErrors where the lines are of no language, of two, or of any of several."""
    margin, inside = _seen(text)
    left = frozenset(NAMES)
    for seen in (margin, inside):
        if seen and len(left) > 1:
            held = left.intersection(*(it.languages for it in seen))
            if not held:
                raise _two(file, seen)
            left = held
    if {"os10", "nxos"} <= left and margin + inside:
        left -= {"os10"}  # its ports have three numbers, so that a mark of its own is never missing
    if len(left) == 1:
        return next(iter(left))
    if not margin and not inside:
        if _YAML.search(text):
            return "nvue"
        raise refuse(
            file,
            "not a configuration that is known",
            "known are CONFIG_DB JSON, NVUE YAML or JSON, and running-configs of EOS and NX-OS",
        )
    first = (margin or inside)[0]
    raise refuse(
        f"{file}:{first.number}",
        f"could be {_named(left)}: '{first.text[:60]}' is a line of each, and no line is of one of them alone",
        "keep the first lines that the switch writes: " + " or ".join(_OWN_NAME[it] for it in NAMES if it in left),
    )


def _seen(text: str) -> tuple[list[Seen], list[Seen]]:
    """Marks at the margin and inside blocks; of those of the same languages the first."""
    margin: dict[frozenset[str], Seen] = {}
    inside: dict[frozenset[str], Seen] = {}
    for number, raw in outside_banners(text):
        line = raw.strip()
        if _ANY_AT_MARGIN.match(raw):
            for it in _AT_MARGIN:
                if it.line.match(raw):
                    margin.setdefault(it.languages, Seen(number, line, it.languages))
        elif _ANY_INSIDE.match(line):
            for it in _INSIDE:
                if it.line.match(line):
                    inside.setdefault(it.languages, Seen(number, line, it.languages))
    return list(margin.values()), list(inside.values())


def _named(languages: frozenset[str]) -> str:
    return " or ".join(NAMES[it] for it in NAMES if it in languages)


def _two(file: str, seen: list[Seen]) -> Exception:
    """An error that names two lines that no language has both of."""
    pairs = ((one, other) for number, other in enumerate(seen) for one in seen[:number])
    first, second = next(((one, it) for one, it in pairs if not one.languages & it.languages), (seen[0], seen[-1]))
    return refuse(
        f"{file}:{second.number}",
        f"'{second.text[:60]}' is a line of {_named(second.languages)}, and '{first.text[:60]}' on line {first.number} "
        f"is one of {_named(first.languages)}",
        "give one file for each switch, in one language: remove the lines that are of another system",
    )
