"""Broadcom (Thor): `niccli -dev N get_qos` or `niccli --dev N qos --ets --show`, `get_dscp2prio`, `dump pri2cos`.

Forms as AMD's guide for multi-node networks and AMD's node-scraper tests show them: the TLVs of IEEE 802.1Qaz:
PRIO_MAP, 'PFC enabled: 3', and APP entries of Priority, Sel and DSCP (Sel 5 is DSCP, 802.1Q annex D). A DSCP without
an entry has priority 0. Congestion control is not in these outputs.
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.hosts.capture import Said
from fabric.configs.hosts.draft import HostDraft, numbers_of
from fabric.configs.hosts.sections import Section

_PAIR: Final = re.compile(r"^priority:\s*(\d)\s+dscp:\s*([\d,\s]+)$")
_FULL: Final = 100
_IGNORED: Final = re.compile(
    r"^(?:IEEE 8021QAZ .*|PRIO_MAP:.*|TC Bandwidth:.*|TSA_MAP:.*|APP#\d+:|Sel:\s*\d+|UDP or DCCP:.*|TCP or SCTP:.*"
    r"|Ethertype:.*|dscp2prio mapping:|Base Queue is.*|Priority\s+TC\s+Queue ID.*|\d\s+\d\s+\d+)$"
)
_LISTED: Final = re.compile(r"^\s*(\d+)\s*\)")
_NAMED: Final = re.compile(r"^\s*Device Interface Name\s*:\s*(\S+)")


def read_niccli(section: Section, host: HostDraft) -> None:
    """One device; its interface is in the output of `niccli --list_devices`."""
    number_of = section.option("-dev", "--dev", "-i", "--i", "-d")
    if {"--listdev", "--list_devices"} & set(section.words):
        _list(section, host)
    if {"--list", "--listdev", "--list_devices", "--version", "nvm"} & set(section.words):
        return
    nic = host.nic(f"#{number_of}" if number_of else "", section.place())
    nic.tool, nic.selector = "niccli", number_of
    nic.put("trust", "dscp", section.place())  # APP entries of Sel 5: the NIC looks at the DSCP
    priority = ""
    tlvs = False
    for number, raw in section.lines:
        text, place = raw.strip(), section.place(number)
        key, _, value = (part.strip() for part in text.partition(":"))
        tlvs |= text.startswith("IEEE 8021QAZ")
        pair = _PAIR.match(text)
        if pair is not None:
            for code in numbers_of(pair[2], high=63) or ():
                nic.priorities[code] = Said(int(pair[1]), f"dscp2prio {code}", place)
        elif key == "PFC enabled":
            priorities = numbers_of("" if value.lower() in {"none", ""} else value, high=7)
            if priorities is None:
                host.not_understood(place, text)
            else:
                nic.put("pfc_enable", frozenset(priorities), place)
        elif key == "Priority" and value.isdigit():
            priority = value
        elif key == "DSCP" and value.isdigit() and priority:
            nic.priorities[int(value)] = Said(int(priority), f"APP DSCP {value}", place)
        elif key == "TC Rate Limit":
            if any(0 < rate < _FULL for rate in (int(it) for it in re.findall(r"(\d+)%", value))):
                host.limited(place, f"{nic.interface} {text}")
        elif not _IGNORED.match(text):
            host.not_understood(place, text)
    if tlvs:
        default = Said(0, "no APP entry", section.place())
        nic.priorities = {code: nic.priorities.get(code, default) for code in range(64)}


def _list(section: Section, host: HostDraft) -> None:
    """'1 ) Broadcom BCM57608 ...' and below it 'Device Interface Name : benic1p1'."""
    number = ""
    for _, raw in section.lines:
        if (found := _LISTED.match(raw)) is not None:
            number = found[1]
        elif (found := _NAMED.match(raw)) is not None and number:
            host.numbers[f"#{number}"] = found[1]
