"""IPv4 access lists of SONiC (ACL_TABLE, ACL_RULE) and NVUE (`acl`), and the ports that have them.

Sources: SONiC sonic-acl.yang and aclorch.cpp (a higher priority first; what no rule matches is forwarded); Cumulus
Linux user guide, "Access Control List Configuration" (what no rule matches is accepted).
"""

from __future__ import annotations

from typing import Any, Final

from fabric.configs.filters import PROTOCOLS, Filter, FilterRule, FilterUse, dscp_of, network_of, span
from fabric.configs.model import Device
from fabric.configs.nvue.reader import Reader, words_of
from fabric.configs.sonic.rows import Rows
from fabric.configs.text.spelling import is_number, meant

_FILTERING: Final = frozenset(("L3", "L3V4V6"))
"""Types of ACL_TABLE whose rules drop or forward IPv4 packets of the data plane."""
_ACTIONS: Final = {"DROP": False, "FORWARD": True, "ACCEPT": True}
_OTHER_ACTIONS: Final = ("REDIRECT", "COPY", "DO_NOT_NAT", "DISABLE_TRIM")
"""What the switch takes beside, with `REDIRECT:` and a target (aclorch.cpp, aclPacketActionLookup)."""
_ADDRESSES: Final = {"L3": ("SRC_IPV6", "DST_IPV6"), "L3V6": ("SRC_IP", "DST_IP")}
"""Type of a table to the fields that are of the other IP version: a rule with one of them is refused."""


def read_sonic_filters(rows: Rows, device: Device) -> frozenset[str]:
    """Fill in the filters; the tables of which every row was understood."""
    whole = True
    for key, where, fields in rows.raw("ACL_TABLE"):
        if str(fields.get("type", "")).upper() not in _FILTERING:
            whole = False
            continue
        ports = fields.get("ports", fields.get("ports@", []))
        names = ports if isinstance(ports, list) else str(ports).split(",")
        inbound = str(fields.get("stage", "ingress")).lower() != "egress"
        device.filters[key] = Filter(key, where, permits_rest=True)
        bundles = {*rows.keys("PORTCHANNEL"), *rows.keys("VLAN")}
        for name in (it for it in map(str, names) if it and it not in bundles):
            list(rows.ports("ACL_TABLE", name, where))
        for name in filter(None, map(str, names)):
            way = f"{name} {'in' if inbound else 'out'} {key}"  # a port may have several tables
            device.filter_uses[way] = FilterUse(name, inbound, key, where)
    ranked: dict[str, list[tuple[int, FilterRule]]] = {}
    types = {key: str(fields.get("type", "")).upper() for key, _, fields in rows.raw("ACL_TABLE")}
    for key, where, fields in rows.raw("ACL_RULE"):
        table = key.partition("|")[0]
        stated = str(fields.get("PACKET_ACTION", ""))
        action = _ACTIONS.get(stated.upper())
        if stated and action is None and stated.upper().partition(":")[0] not in _OTHER_ACTIONS:
            text = (
                f"PACKET_ACTION '{stated[:40]}' is none of DROP, FORWARD, {', '.join(_OTHER_ACTIONS)}: no rule is made"
            )
            rows.defect("R5", (*where, "PACKET_ACTION"), f"ACL_RULE|{key}"[:120], text)
        its_type = types.get(table, "")
        for field in (it for it in _ADDRESSES.get(its_type, ()) if it in fields):
            text = f"{field} is no field of a table of type {its_type}: no rule is made"
            rows.defect("R9", (*where, field), f"ACL_RULE|{key}"[:120], text)
            action = None
        priority = str(fields.get("PRIORITY", "0"))
        if table not in rows.keys("ACL_TABLE"):
            rows.defect(
                "R1",
                where,
                f"ACL_RULE|{key}"[:120],
                f"ACL_TABLE '{table[:40]}' is not in the file{meant(table, frozenset(rows.keys('ACL_TABLE')))}",
            )
        if table not in device.filters or action is None or not is_number(priority):
            whole = False
            continue
        rule = FilterRule(action, where, number=key.rpartition("|")[2])
        for field, value in fields.items():
            _sonic_condition(rule, field, str(value))
        whole = whole and not rule.unread
        ranked.setdefault(table, []).append((-int(priority), rule))
    for table, its in ranked.items():
        device.filters[table].rules = [rule for _, rule in sorted(its, key=lambda it: it[0])]
    return frozenset(("ACL_TABLE", "ACL_RULE")) if whole and device.filters else frozenset()


def _sonic_condition(rule: FilterRule, field: str, value: str) -> None:
    """Add what one field of a rule says."""
    match field:
        case "PRIORITY" | "PACKET_ACTION":
            return
        case "IP_PROTOCOL":
            rule.protocol = int(value) if is_number(value, 3) else None
            rule.unread = rule.unread or ("" if rule.protocol is not None else field)
        case "L4_SRC_PORT" | "L4_SRC_PORT_RANGE":
            rule.source_ports = span(_ordered(field, value))
            rule.unread = rule.unread or ("" if rule.source_ports else field)
        case "L4_DST_PORT" | "L4_DST_PORT_RANGE":
            rule.target_ports = span(_ordered(field, value))
            rule.unread = rule.unread or ("" if rule.target_ports else field)
        case "DSCP":
            rule.dscp = dscp_of(value)
            rule.unread = rule.unread or ("" if rule.dscp is not None else field)
        case "SRC_IP":
            rule.source = network_of(value)
            rule.unread = rule.unread or ("" if rule.source else field)
        case "DST_IP":
            rule.target = network_of(value)
            rule.unread = rule.unread or ("" if rule.target else field)
        case "ETHER_TYPE" if value in {"0x0800", "2048"}:
            return
        case "IP_TYPE" if value.upper() in {"ANY", "IP", "IPV4", "IPV4ANY"}:
            return
        case _:
            rule.unread = field


def _ordered(field: str, value: str) -> list[str]:
    return ["range", *value.split("-")] if field.endswith("RANGE") else ["eq", value]


def read_nvue_filters(reader: Reader) -> bool:
    """Fill in the filters; whether every rule of every list was understood."""
    device, whole = reader.device, True
    for name in reader.at("acl"):
        path = ("acl", str(name))
        if str(reader.at(*path).get("type", "ipv4")) != "ipv4":
            whole = False
            continue
        found = device.filters[str(name)] = Filter(str(name), reader.where(*path), permits_rest=True)
        numbered = sorted((str(it) for it in reader.at(*path, "rule")), key=lambda it: (len(it), it))
        for number in numbered:
            at = (*path, "rule", number)
            actions = words_of(reader.at(*at).get("action"))
            rule = FilterRule("permit" in actions, reader.where(*at), number=number)
            if not {"permit", "deny"} & set(actions):
                whole = False  # it marks, counts or limits, and the next rule decides
                continue
            ip = reader.at(*at, "match", "ip")
            for key, value in ip.items():
                _nvue_condition(rule, str(key), value)
            if set(reader.at(*at, "match")) - {"ip"}:
                rule.unread = "match"
            whole = whole and not rule.unread
            found.rules.append(rule)
    for key in reader.at("interface"):
        for name, way in reader.at("interface", str(key), "acl").items():
            at = ("interface", str(key), "acl", str(name))
            if str(name) not in reader.at("acl"):
                near = meant(str(name), frozenset(map(str, reader.at("acl"))))
                reader.bad(at, f"acl '{str(name)[:40]}' is not in the file{near}", "R1")
            words = words_of(way)
            for word in words:
                use = FilterUse(str(key), word == "inbound", str(name), reader.where(*at))
                device.filter_uses[f"{key} {word} {name}"] = use
            whole = whole and set(words) <= {"inbound", "outbound"}
    return whole


def _nvue_condition(rule: FilterRule, key: str, value: Any) -> None:  # noqa: ANN401  YAML
    words = words_of(value)
    match key:
        case "protocol":
            rule.protocol = int(words[0]) if is_number(words[0], 3) else PROTOCOLS.get(words[0])
            rule.unread = rule.unread or ("" if rule.protocol is not None else key)
        case "udp" | "tcp" if isinstance(value, dict):
            rule.protocol = PROTOCOLS[key]
            for word, ports in value.items():
                _nvue_condition(rule, str(word), ports)
        case "dest-port" | "source-port":
            spans = [span(["range", *it.split(":")] if ":" in it else ["eq", it]) for it in words]
            side = "target_ports" if key == "dest-port" else "source_ports"
            if None in spans or not spans:
                rule.unread = key
            else:
                setattr(rule, side, tuple(one for its in spans if its is not None for one in its))
        case "dest-ip" | "source-ip":
            network = network_of("0.0.0.0/0" if words[0].upper() == "ANY" else words[0])
            setattr(rule, "target" if key == "dest-ip" else "source", network)
            rule.unread = rule.unread or ("" if network else key)
        case "dscp":
            rule.dscp = dscp_of(words[0])
            rule.unread = rule.unread or ("" if rule.dscp is not None else key)
        case _:
            rule.unread = key
