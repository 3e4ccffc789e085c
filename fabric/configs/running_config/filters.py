"""IPv4 access lists of EOS and NX-OS, which write them alike, and the interfaces that have them.

A list that no interface of the fabric has (of the control plane, of SNMP, of a class map) is left to be listed as not
understood. Sources: EOS user manual, "ACLs and Route Maps"; Nexus 9000 NX-OS Security guide, "Configuring IP ACLs".
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from fabric.configs.filters import PROTOCOLS, Filter, FilterRule, FilterUse, dscp_of, network_of, span
from fabric.configs.running_config.reader import Line, TextReader, numbers
from fabric.configs.text.spelling import is_number, meant

_RULE: Final = re.compile(r"(?:(\d+) )?(permit|deny) (\S+) (.+)")
_GROUP: Final = re.compile(r"(?:ip access-group|ip port access-group) (\S+) (in|out)")
_INTERFACE: Final = re.compile(r"interface ((?:Ethernet|Port-Channel|port-channel|Vlan)[\d/.]+)")
CONTROL_PLANE: Final = "control-plane"
"""What the switch itself receives, on whatever interface (EOS `system control-plane`)."""
_ORDER: Final = frozenset(("eq", "range", "gt", "lt", "neq"))
_PLAIN: Final = frozenset(("log", "log-input", "established", "fragments"))
_HARMLESS: Final = frozenset(("log", "log-input"))
_MAX_VLAN: Final = 4094


def read_filters(reader: TextReader) -> None:
    """Fill in `device.filters` and `device.filter_uses`."""
    device = reader.device
    lists = {line.text.split()[-1]: line for line in reader.root.children if re.match(r"ip access-list \S", line.text)}
    for block in reader.root.children:
        name = _INTERFACE.fullmatch(block.text) or re.fullmatch(r"system (control-plane)", block.text)
        block.used |= bool(name) and block.text.startswith("system ")
        for line in block.children if name else ():
            match = _GROUP.fullmatch(line.text)
            if match is None or name is None:
                continue
            line.used = True
            at = reader.note(line, "interface", name[1], line.text)
            device.filter_uses[f"{name[1]} {match[2]}"] = FilterUse(name[1], match[2] == "in", match[1], at)
            if match[1] not in lists:
                text = f"access list '{match[1][:40]}' is not in the file{meant(match[1], frozenset(lists))}"
                reader.defect(line, f"{name[1]}|{line.text}", text, "R1")
            elif match[1] not in device.filters:
                device.filters[match[1]] = _filter(reader, lists[match[1]], match[1])


def access_list(reader: TextReader, name: str) -> Filter | None:
    """A list by its name, for a use that is not at an interface; None where the file does not have it."""
    for line in reader.root.children:
        if re.fullmatch(rf"ip access-list (?:standard )?{re.escape(name)}", line.text):
            return _filter(reader, line, name)
    return None


def _filter(reader: TextReader, block: Line, name: str) -> Filter:
    """A list. A line that is not understood is listed; whether it matches is not known."""
    block.used = True
    found = Filter(name, reader.note(block, "ip access-list", name), permits_rest=False)
    numbered: list[tuple[int, FilterRule]] = []
    for line in block.children:
        if re.match(r"(?:\d+ )?(?:remark .*|statistics per-entry|counters per-entry)$", line.text):
            line.used, line.judged = True, False
            continue
        match = _RULE.fullmatch(line.text)
        if match is None:
            continue
        rule = FilterRule(match[2] == "permit", reader.note(line, "ip access-list", name, line.text))
        _conditions(rule, match[3], match[4].split())
        line.used = not rule.unread
        last = numbered[-1][0] if numbered else 0
        at = int(match[1][:9]) if match[1] else last + 10
        rule.number = str(at)
        numbered.append((at, rule))
    found.rules = [rule for _, rule in sorted(numbered, key=lambda it: it[0])]
    return found


def _conditions(rule: FilterRule, protocol: str, words: list[str]) -> None:
    """Fill in what 'PROTOCOL SOURCE [PORTS] TARGET [PORTS] [OPTIONS]' says."""
    if protocol not in {"ip", "ipv4"}:
        rule.protocol = int(protocol) if is_number(protocol, 3) else PROTOCOLS.get(protocol)
        if rule.protocol is None:
            rule.unread = protocol
    rest = words
    for side in ("source", "target"):
        network, rest = _address(rest)
        if network is None:
            rule.unread = " ".join(words)
            return
        setattr(rule, side, network)
        if rest and rest[0] in _ORDER:
            count = 1 + (2 if rest[0] == "range" else 1)
            while rest[0] == "eq" and count < len(rest) and span(["eq", rest[count]]) is not None:
                count += 1
            ports = span(rest[:count])
            rule.unread = rule.unread or ("" if ports else " ".join(rest[:count]))
            setattr(rule, f"{side}_ports", ports)
            rest = rest[count:]
    while rest:
        if rest[0] == "dscp" and len(rest) > 1 and dscp_of(rest[1]) is not None:
            rule.dscp, rest = dscp_of(rest[1]), rest[2:]
        elif rest[0] in _PLAIN:
            rule.unread = rule.unread or ("" if rest[0] in _HARMLESS else rest[0])
            rest = rest[1:]
        else:
            rule.unread, rest = " ".join(rest), []


def _address(words: list[str]) -> tuple[IPv4Network | None, list[str]]:
    """An address at the beginning, and what follows it; None where it is none: a group, IPv6."""
    match words:
        case ["any", *rest]:
            return IPv4Network("0.0.0.0/0"), rest
        case ["host", address, *rest]:
            return network_of(address), rest
        case [address, wildcard, *rest] if "/" not in address and wildcard.count(".") == 3:
            return _wildcard(address, wildcard), rest
        case [address, *rest]:
            return network_of(address), rest
    return None, []


def _wildcard(address: str, wildcard: str) -> IPv4Network | None:
    """'10.0.0.0 0.0.0.255' -> 10.0.0.0/24; None where the wildcard's ones are not at its end."""
    try:
        bits = int(IPv4Address(wildcard))
    except ValueError:
        return None
    return None if bits & (bits + 1) else network_of(f"{address}/{32 - bits.bit_length()}")


def read_vlan_filters(reader: TextReader) -> None:
    """VLAN access maps (NX-OS): the first entry whose list permits a packet decides; what none takes is dropped.

    Source: Nexus 9000 NX-OS Security guide, "Configuring VLAN ACLs".
    """
    device = reader.device
    lists = {line.text.split()[-1]: line for line in reader.root.children if re.match(r"ip access-list \S", line.text)}
    maps: dict[str, list[tuple[int, Line]]] = {}
    for block, match in reader.root.find(r"vlan access-map (\S+)(?: (\d+))?"):
        maps.setdefault(match[1], []).append((int((match[2] or "10")[:9]), block))
    for line, match in reader.root.find(r"vlan filter (\S+) vlan-list ([\d,-]+)"):
        name = f"vlan access-map {match[1]}"
        if match[1] not in maps:
            reader.defect(line, line.text, f"vlan access-map '{match[1][:40]}' is not in the file", "R1")
            continue
        found = Filter(name, reader.note(line, name), permits_rest=False)
        for _, block in sorted(maps[match[1]], key=lambda it: it[0]):
            found.rules += _entry(reader, block, lists, name)
        device.filters[name] = found
        for vlan in numbers(match[2], _MAX_VLAN):
            at = reader.note(line, name, str(vlan))
            device.filter_uses[f"Vlan{vlan} {name}"] = FilterUse(f"Vlan{vlan}", True, name, at)


def _entry(reader: TextReader, block: Line, lists: dict[str, Line], name: str) -> list[FilterRule]:
    """The rules of one entry. What a list denies goes on to the next entry, which is left open here."""
    actions = [match[1] for _, match in block.find(r"action (drop|forward|redirect)(?P<rest> .*)?")]
    forwards = not actions or actions[-1] != "drop"
    block.accept(r"statistics per-entry")
    named_ = [word for _, match in block.find(r"match ip address (.+)") for word in match[1].split()]
    if not named_:
        unread = next((it.text for it in block.children if it.text.startswith("match ")), "")
        return [FilterRule(forwards, reader.note(block, name, block.text), unread=unread)]
    rules: list[FilterRule] = []
    for word in named_:
        if word not in lists:
            reader.defect(
                block, block.text, f"access list '{word[:40]}' is not in the file{meant(word, frozenset(lists))}", "R1"
            )
            continue
        for rule in _filter(reader, lists[word], word).rules:
            rule.unread = rule.unread if rule.permit else rule.unread or "deny of an entry"
            rule.permit = forwards
            rules.append(rule)
    return rules
