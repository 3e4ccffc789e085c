"""AMD Pensando AI NICs: `nicctl show qos` and `nicctl show dcqcn`.

Forms as AMD's guides for distributed inference and AMD's node-scraper tests show them: blocks that begin with
'NIC : ID (PCI address)' and 'Port : ID', the classification type, DSCP lists with '==> priority', the PFC bitmap and
no-drop list, the table of scheduling; then for each RoCE device its DCQCN profile with 'DSCP value used for CNP'.
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.hosts.capture import Said
from fabric.configs.hosts.draft import HostDraft, NicDraft, bits_of, numbers_of
from fabric.configs.hosts.sections import Section
from fabric.configs.model import Place

_PRIORITIES: Final = 8
_FIELD: Final = re.compile(r"^(?P<name>[A-Za-z][^:]*?)\s*:\s*(?P<value>.*)$")
_TO: Final = re.compile(r"^(?P<codes>.*?)\s*==>\s*(?:priority|purpose)\s*:\s*(?P<value>.+)$")
_SCHEDULED: Final = re.compile(r"^(?P<priority>\d)\s+(?P<kind>\S+)\s+(?P<share>\S+)\s+(?P<limit>\S+)$")
_ADDRESS: Final = re.compile(r"\((?P<address>[\w:.]+)\)")
_HEADINGS: Final = re.compile(r"^(?:Priority\s+Scheduling|Type\s+\(in)")
_PARAMETERS: Final = re.compile(
    r"^(?:Rate|Alpha|Initial alpha|Token bucket|Min(?:imum)? rate|Clamp|Max|DCQCN profile).*$", re.IGNORECASE
)
_IGNORED: Final = frozenset(
    (
        "DSCP-to-priority",
        "DSCP-to-purpose",
        "DSCP bitmap",
        "PFC",
        "Scheduling",
        "PFC priority bitmap",
        "Lif id",
        "PCP-to-priority",
        "PCP bitmap",
        "PCP",
    )
)


def read_nicctl(section: Section, host: HostDraft) -> None:
    """Every NIC of an output; one that only `show port` or another verb has is not read."""
    if section.words and not {"qos", "dcqcn"} & set(section.words):
        return
    _Reader(section, host).read()


class _Reader:
    """One output, line by line: a block belongs to the NIC above it."""

    def __init__(self, section: Section, host: HostDraft) -> None:
        self.section, self.host = section, host
        self.address = self.port = ""
        self.purposes = False
        """Whether the list of DSCPs is that of purposes."""

    def read(self) -> None:
        for number, raw in self.section.lines:
            text, place = raw.strip(), self.section.place(number)
            if _HEADINGS.match(text):
                continue
            scheduled = _SCHEDULED.match(text)
            if scheduled is not None:
                self._scheduled(scheduled["priority"], scheduled["limit"], text, place)
                continue
            found = _FIELD.match(text)
            if found is None or not self._field(found["name"], found["value"], place):
                self.host.not_understood(place, text)

    def _nic(self, place: Place) -> NicDraft:
        """By the PCI address until an interface is known for it; the one NIC of an output without addresses has ''."""
        nic = self.host.nic(f"@{self.address}" if self.address else "", place)
        nic.tool, nic.selector = "nicctl", self.port or nic.selector
        return nic

    def _scheduled(self, priority: str, limit: str, text: str, place: Place) -> None:
        nic = self._nic(place)
        lossless, _ = nic.settings.get("pfc_enable", (frozenset(), place))
        if limit not in {"N/A", "0"} and isinstance(lossless, frozenset) and int(priority) in lossless:
            self.host.limited(place, f"{nic.interface} {text}")

    def _field(self, name: str, value: str, place: Place) -> bool:
        if name == "NIC":
            address = _ADDRESS.search(value)
            self.address, self.port = "" if address is None else address["address"], ""
        elif name == "Port":
            self.port = value.split(maxsplit=1)[0] if value else ""
        elif name == "Classification type":
            self._nic(place).put("trust", value.lower(), place)
        elif name == "DSCP":
            return self._codes(value, place)
        elif name == "PFC no-drop priorities":
            numbers = numbers_of("" if value.lower() in {"none", "n/a", "-"} else value, high=_PRIORITIES - 1)
            if numbers is None:
                return False
            self._nic(place).put("pfc_enable", frozenset(numbers), place)
        elif name == "ROCE device":
            if self.address:
                self.host.addresses[f"@{self.address}"] = value
            self.host.device(value).known_unset = True
        elif name == "Status":
            on = frozenset(range(_PRIORITIES)) if value.lower() == "enabled" else frozenset()
            nic = self._nic(place)
            nic.put("ecn_np_enable", on, place)
            nic.put("ecn_rp_enable", on, place)
        elif name == "DSCP value used for CNP":
            codes = numbers_of(value, high=63)
            if not codes:
                return False
            self._nic(place).put("cnp_dscp", codes[0], place)
        elif _PARAMETERS.match(name):
            codes = numbers_of(value, high=10**7)
            if codes and len(codes) == 1 and not name.startswith("DCQCN profile"):
                self._nic(place).dcqcn[name] = Said(codes[0], f"{name} {value}", place)
        else:
            if name in {"DSCP-to-priority", "DSCP-to-purpose"}:
                self.purposes = name.endswith("purpose")
            if name == "PFC priority bitmap" and "pfc_enable" not in self._nic(place).settings:
                self._bitmap(value, place)
            return name in _IGNORED
        return True

    def _bitmap(self, value: str, place: Place) -> None:
        """The bitmap of PFC, which the list of no-drop priorities below it says again."""
        try:
            mask = int(value, 16)
        except ValueError:
            return
        self._nic(place).put("pfc_enable", frozenset(bits_of(mask & 255)), place)

    def _codes(self, value: str, place: Place) -> bool:
        found = _TO.match(value)
        if found is None:
            return False
        codes = numbers_of(found["codes"], high=63)
        priority = found["value"].strip()
        if self.purposes or not priority.isdigit():
            return True
        if codes is None or int(priority) >= _PRIORITIES:
            return False
        nic = self._nic(place)
        nic.priorities.update({code: Said(int(priority), f"DSCP {code}", place) for code in codes})
        return True
