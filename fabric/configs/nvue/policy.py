"""NVUE: route maps, prefix lists and community lists below `router policy`, and their use at BGP neighbours.

Source: NVIDIA Cumulus Linux 5.x user guide, "Route Filtering and Redistribution"; the `nv set router policy` reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from fabric.configs.nvue.reader import Reader, words_of
from fabric.configs.policy import Clause, Use, as_path_expression, prefix_entry
from fabric.configs.text.spelling import is_address, is_number

_TYPES: Final = {"macip": 2, "multicast": 3, "imet": 3, "prefix": 5, "ip-prefix": 5}
_FAMILIES: Final = (("ipv4-unicast", "ipv4"), ("l2vpn-evpn", "evpn"))
_POLICY: Final = ("router", "policy")


def read_policies(reader: Reader) -> None:
    """Fill in `device.identity.policies`."""
    found = reader.device.identity.policies
    for name in reader.at(*_POLICY, "prefix-list"):
        path = (*_POLICY, "prefix-list", str(name))
        if str(reader.at(*path).get("type", "ipv4")) != "ipv4":
            found.others.add(str(name))
            continue
        entries = found.prefix_lists.setdefault(str(name), [])
        for number, rule, at in _rules(reader, path):
            for text, limits in _matches(rule.get("match")):
                low, high = (str(limits[key]) if key in limits else None for key in _limits(limits))
                entry = prefix_entry(rule.get("action") != "deny", text, low, high, number, reader.where(*at))
                if entry is None:
                    reader.bad((*at, "match", text), f"'{text[:40]}' is no IPv4 prefix")
                else:
                    entries.append(entry)
    for name in reader.at(*_POLICY, "community-list"):
        rules = found.community_lists.setdefault(str(name), [])
        for _, rule, _ in _rules(reader, (*_POLICY, "community-list", str(name))):
            rules.append((rule.get("action") != "deny", tuple(words_of(rule.get("community", {})))))
    for name in reader.at(*_POLICY, "as-path-list"):
        paths = found.as_path_lists.setdefault(str(name), [])
        for _, rule, at in _rules(reader, (*_POLICY, "as-path-list", str(name))):
            expression = as_path_expression(str(rule.get("aspath-exp", "")))
            if expression:
                paths.append((rule.get("action") != "deny", expression))
            else:
                reader.unread((*at, "aspath-exp"))
                del found.as_path_lists[str(name)]
                found.others.add(str(name))
                break
    for name in reader.at(*_POLICY, "route-map"):
        clauses = found.route_maps.setdefault(str(name), [])
        clauses += [_clause(reader, *it) for it in _rules(reader, (*_POLICY, "route-map", str(name)))]


def _rules(reader: Reader, path: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any], tuple[str, ...]]]:
    for number in reader.at(*path, "rule"):
        at = (*path, "rule", str(number))
        found = reader.number(at, number, 1, 65_535)
        if found is not None:
            yield found, reader.at(*at), at


def _limits(limits: dict[str, Any]) -> tuple[str, str]:
    return ("min-prefix-len" if "min-prefix-len" in limits else "ge"), (
        "max-prefix-len" if "max-prefix-len" in limits else "le"
    )


def _matches(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401
    """'10.0.0.0/8', or {'10.0.0.0/8': {'max-prefix-len': 24}}."""
    for text in words_of(value if value is not None else {}):
        limits = value.get(text) if isinstance(value, dict) else None
        yield text, limits if isinstance(limits, dict) else {}


def _clause(reader: Reader, number: int, rule: dict[str, Any], at: tuple[str, ...]) -> Clause:
    action = rule.get("action", "permit")
    deny = action == "deny" or (isinstance(action, dict) and "deny" in action)
    clause = Clause(number, not deny, reader.where(*at))
    match = reader.at(*at, "match")
    for key, value in match.items():
        if key in {"ip-prefix-list", "prefix-list"}:
            clause.prefix_lists += tuple(words_of(value))
        elif key == "community-list":
            clause.communities += tuple(words_of(value))
        elif key == "as-path-list":
            clause.as_paths += tuple(words_of(value))
        elif key == "tag":
            clause.tags |= frozenset(words_of(value))
        elif key == "evpn-route-type" and str(value) in _TYPES:
            clause.route_types |= {_TYPES[str(value)]}
        elif not (key == "type" and str(value) == "ipv4"):
            clause.unread = str(key)
    for text in words_of(reader.at(*at, "set").get("community", {})):
        clause.sets_communities += (text,)
    preference = str(reader.at(*at, "set").get("local-preference", ""))
    clause.local_preference = int(preference) if is_number(preference, 10) else None
    prepended = words_of(reader.at(*at, "set", "as-path-prepend").get("as", {}))
    clause.prepends = tuple(int(it) for text in prepended for it in text.split() if is_number(it, 10))
    hop = str(reader.at(*at, "set").get("ip-nexthop", ""))
    clause.next_hop = hop if is_address(hop) else ""
    clause.goes_on = "exit-policy" in rule
    return clause


def uses_of(reader: Reader, rows: Sequence[tuple[str, ...]]) -> Iterator[Use]:
    """The policies of a neighbour; `rows` are its path and its group's, of which the first that states one holds."""
    for key, family in _FAMILIES:
        for way in ("inbound", "outbound"):
            for field, kind in (("route-map", "route-map"), ("prefix-list", "prefix-list")):
                for row in rows:
                    path = (*row, "address-family", key, "policy", way)
                    name = str(reader.at(*path).get(field, "") or "")
                    if name:
                        yield Use(family, way == "inbound", name, reader.where(*path, field), kind)
                        break
