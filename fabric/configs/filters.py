"""Access lists of a switch in one form, and what they do with the packets of a flow.

The first rule that matches decides; where none does, EOS and NX-OS drop, SONiC and Cumulus pass on. A condition that a
rule does not state matches every packet. A condition that this model does not have, or a value of the flow that is not
known, leaves open whether the rule matches: `decide` then answers only where both ways lead to the same end.
Sources: EOS user manual, "ACLs and Route Maps"; Nexus 9000 NX-OS Security guide, "Configuring IP ACLs"; SONiC HLD
"ACL support in SONiC"; Cumulus Linux user guide, "Access Control List Configuration".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fabric.configs.model import Where

PROTOCOLS: Final = {"icmp": 1, "igmp": 2, "ipip": 4, "tcp": 6, "udp": 17, "gre": 47, "esp": 50, "ospf": 89, "pim": 103}
TCP: Final = 6
UDP: Final = 17
PORTS: Final = {
    "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "tacacs": 49, "domain": 53, "bootps": 67, "bootpc": 68, "tftp": 69,
    "www": 80, "http": 80, "ntp": 123, "snmp": 161, "snmptrap": 162, "bgp": 179, "https": 443, "syslog": 514,
    "bfd": 3784, "bfd-echo": 3785, "vxlan": 4789,
}  # fmt: skip
"""Names of ports in EOS, NX-OS and NVUE (IANA service names)."""
DSCPS: Final = {
    "default": 0, "cs1": 8, "af11": 10, "af12": 12, "af13": 14, "cs2": 16, "af21": 18, "af22": 20, "af23": 22,
    "cs3": 24, "af31": 26, "af32": 28, "af33": 30, "cs4": 32, "af41": 34, "af42": 36, "af43": 38, "cs5": 40, "ef": 46,
    "cs6": 48, "cs7": 56,
}  # fmt: skip
"""RFC 2474, RFC 2597 and RFC 3246."""
_LAST_PORT: Final = 65_535
Span = tuple[int, int]
"""First and last port."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Packets that a network needs. None: any value, or one that the files do not say."""

    protocol: int
    source_port: int | None = None
    target_port: int | None = None
    dscp: int | None = None
    source: IPv4Network | None = None
    target: IPv4Network | None = None


@dataclass(slots=True)
class FilterRule:
    """One rule. None: no condition."""

    permit: bool
    where: Where
    protocol: int | None = None
    source: IPv4Network | None = None
    target: IPv4Network | None = None
    source_ports: tuple[Span, ...] | None = None
    target_ports: tuple[Span, ...] | None = None
    dscp: int | None = None
    unread: str = ""
    """A condition that this model does not have."""
    number: str = ""
    """Its name in the list."""

    def matches(self, flow: Flow) -> bool | None:
        """Whether the packets of a flow match; None where that is not known, or only some do."""
        found = [
            None if self.unread else True,
            True if self.protocol is None else self.protocol == flow.protocol,
            _inside(self.source, flow.source),
            _inside(self.target, flow.target),
            _among(self.source_ports, flow.source_port),
            _among(self.target_ports, flow.target_port),
            True if self.dscp is None else None if flow.dscp is None else self.dscp == flow.dscp,
        ]
        return False if False in found else None if None in found else True


def _inside(wanted: IPv4Network | None, its: IPv4Network | None) -> bool | None:
    if wanted is None or wanted.prefixlen == 0:
        return True
    if its is None:
        return None
    return True if its.subnet_of(wanted) else None if its.supernet_of(wanted) else False


def _among(wanted: tuple[Span, ...] | None, port: int | None) -> bool | None:
    if wanted is None:
        return True
    return None if port is None else any(low <= port <= high for low, high in wanted)


@dataclass(slots=True)
class Filter:
    """One access list."""

    name: str
    where: Where
    permits_rest: bool
    """What happens to a packet that no rule matches."""
    rules: list[FilterRule] = field(default_factory=list)

    def decide(self, flow: Flow) -> tuple[bool | None, Where]:
        """Whether it passes, with the rule that decides, or the list where none does; None where it is open."""
        return _decide(self.rules, flow, self)


def _decide(rules: Sequence[FilterRule], flow: Flow, whole: Filter) -> tuple[bool | None, Where]:
    open_: list[FilterRule] = []
    end: tuple[bool, Where] = whole.permits_rest, whole.where
    for rule in rules:
        found = rule.matches(flow)
        if found:
            end = rule.permit, rule.where
            break
        if found is None:
            open_.append(rule)
    return (end[0] if all(rule.permit is end[0] for rule in open_) else None), end[1]


@dataclass(frozen=True, slots=True)
class FilterUse:
    """An access list at a port, a LAG or the interface of a VLAN."""

    interface: str
    inbound: bool
    name: str
    where: Where


def span(words: Sequence[str]) -> tuple[Span, ...] | None:
    """['eq', 'bgp', '4789'], ['range', '1', '9'], ['gt', '1023'] as ports; None where it is not understood."""
    numbers = [_port(word) for word in words[1:]]
    if not numbers or None in numbers:
        return None
    known = [it for it in numbers if it is not None]
    match words[0]:
        case "eq":
            return tuple((it, it) for it in known)
        case "range" if len(known) == 2:
            return ((known[0], known[1]),)
        case "gt" if len(known) == 1:
            return ((known[0] + 1, _LAST_PORT),)
        case "lt" if len(known) == 1:
            return ((0, known[0] - 1),)
        case "neq" if len(known) == 1:
            return (0, known[0] - 1), (known[0] + 1, _LAST_PORT)
    return None


def _port(word: str) -> int | None:
    if word.isascii() and word.isdigit() and len(word) < 6:
        return int(word)
    return PORTS.get(word)


def dscp_of(word: str) -> int | None:
    """'26', 'af31' or 'AF31' as a number; None where it is none."""
    return int(word) if word.isascii() and word.isdigit() and len(word) < 3 else DSCPS.get(word.lower())


def network_of(text: str) -> IPv4Network | None:
    """'10.0.0.0/8' or '10.0.0.1' as a network; None where it is none of IPv4."""
    try:
        found = ip_network(text, strict=False)
    except ValueError:
        return None
    return found if isinstance(found, IPv4Network) else None
