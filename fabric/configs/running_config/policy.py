"""Route maps, prefix lists and community lists of EOS and NX-OS, which write them alike.

Sources: EOS user manual, "Route Maps" and "ACLs and Route Maps"; Cisco Nexus 9000 Unicast Routing Configuration Guide,
"Configuring Route Policy Manager".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fabric.configs.identity import Aggregate, Stated
from fabric.configs.policy import Clause, Policies, PrefixEntry, as_path_expression, prefix_entry
from fabric.configs.running_config.reader import Line, TextReader

_ENTRY: Final = r"(?:seq (\d+) )?(permit|deny) (\S+)(?: eq (\d+))?(?: ge (\d+))?(?: le (\d+))?"
_WELL_KNOWN: Final = "(?:no-export|no-advertise|local-as|local-AS|graceful-shutdown)"
"""Communities with a name (RFC 1997, RFC 8326)."""
_TYPES: Final = {"2": 2, "3": 3, "5": 5, "mac-ip": 2, "imet": 3, "ip-prefix": 5}
_HARMLESS: Final = re.compile(r"set (?:local-preference|metric|weight|origin|as-path|tag|ip next-hop|distance).*")


_OTHERS: Final = {
    "extcommunity-list": r"match extcommunity (?!or-results)(\S+(?: (?!exact-match)\S+)*)(?: exact-match)?",
    "large-community-list": r"match large-community (?!or-results)(\S+)(?: exact-match)?",
    "access-list": r"match ip address (?:access-list )?(?!prefix-list|dynamic)(\S+)",
}
"""Conditions on lists that are not read, whose names must be there all the same."""
_LISTS: Final = re.compile(
    r"(?:(?:ip|bgp) )?(extcommunity-list|large-community-list|access-list) (?:(?:standard|expanded|regexp) )?(\S+).*"
)


def read_policies(reader: TextReader) -> Policies:
    """Fill in `device.identity.policies`."""
    found = reader.device.identity.policies
    for line, match in reader.root.find(rf"ip prefix-list (\S+) {_ENTRY}"):
        _prefix(reader, line, found, match[1], match.groups()[1:])
    for block, match in reader.root.find(r"ip prefix-list (\S+)"):
        found.prefix_lists.setdefault(match[1], [])
        for line, entry in block.find(_ENTRY):
            _prefix(reader, line, found, match[1], entry.groups())
    for line, match in reader.root.find(
        r"(?:ip|bgp) community-list (?:standard )?(\S+) (?:seq \d+ )?(permit|deny) ((?!.*[*\[^$]).+)"
    ):
        found.community_lists.setdefault(match[1], []).append((match[2] == "permit", tuple(match[3].split())))
        reader.note(line, "ip community-list", match[1])
    for line in reader.root.children:  # with regular expressions, which are not read
        name = re.match(r"(?:ip|bgp) community-list (?:(?:standard|expanded|regexp) )?(\S+) ", line.text)
        if name is not None and not line.used:
            found.others.add(name[1])
    pattern = r"(?:ip|bgp) as-path access-list (\S+) (?:seq \d+ )?(permit|deny) (\"[^\"]*\"|\S+)(?: any)?"
    for line, match in reader.root.find(pattern):
        expression = as_path_expression(match[3])
        if expression:
            found.as_path_lists.setdefault(match[1], []).append((match[2] == "permit", expression))
            reader.note(line, "ip as-path", match[1])
        else:
            line.judged = False
            found.others.add(match[1])
    for line in reader.root.children:
        named = _LISTS.fullmatch(line.text)
        if named is not None:
            found.unread_lists.add((named[1], named[2]))
    for block, match in reader.root.find(r"route-map (\S+)(?: (permit|deny))?(?: (\d+))?"):
        found.route_maps.setdefault(match[1], []).append(_clause(reader, block, match))
    return found


def read_defaults(reader: TextReader, block: Line, *where: str) -> None:
    """Lines of a BGP instance, of its IPv4 family, or of a neighbour's, that announce the default route."""
    its = reader.device.identity
    for line, match in block.find(r"(?:neighbor (\S+) )?default-originate(?P<rest> .*)?|default-information originate"):
        named = (f"neighbor {match[1]}",) if match[1] else ()
        its.defaults.append(Stated(line.text, reader.note(line, "router bgp", *where, *named, "default-originate")))
    for line, _ in block.find(r"network 0\.0\.0\.0(?:/0| mask 0\.0\.0\.0)?(?: route-map \S+)?"):
        its.defaults_of_routes.append(Stated(line.text, reader.note(line, "router bgp", *where, "network 0.0.0.0/0")))
    for line, _ in block.find(r"redistribute static(?P<rest> (?:route-map|metric) .*)?"):
        its.defaults_of_routes.append(Stated(line.text, reader.note(line, "router bgp", *where, "redistribute static")))


def read_aggregates(reader: TextReader, block: Line) -> None:
    """Aggregates of a BGP instance or of its IPv4 family.

    `unsuppress-map` lets routes out at single neighbours: then the file itself says what is not hidden.
    """
    out = any(" unsuppress-map " in f" {line.text}" for line in below(reader.root))
    pattern = r"aggregate-address (\S+)((?: (?:as-set|summary-only|(?:suppress|match)-map \S+))*)(?P<rest> .*)?"
    for line, match in block.find(pattern):
        chosen = re.search(r"(?:suppress|match)-map (\S+)", match[2])
        hides = "summary-only" in match[2] or "suppress-map" in match[2]
        where = reader.note(line, "router bgp", f"aggregate-address {match[1]}")
        found = Aggregate(match[1], where, hides and not out, chosen[1] if chosen else "")
        if prefix_entry(True, match[1], None, None, 0) is None:
            reader.defect(line, "aggregate-address", f"'{match[1][:40]}' is no IPv4 prefix")
        else:
            reader.device.identity.aggregates.append(found)


def below(block: Line) -> Iterator[Line]:
    """Every line of a block and of the blocks in it."""
    for line in block.children:
        yield line
        yield from below(line)


def _prefix(reader: TextReader, line: Line, found: Policies, name: str, words: tuple[str | None, ...]) -> None:
    number, action, text, equal, low, high = words
    entries: list[PrefixEntry] = found.prefix_lists.setdefault(name, [])
    at = int(number[:9]) if number else 5 + 5 * len(entries)
    where = reader.note(line, "ip prefix-list", name, str(at))
    entry = prefix_entry(action == "permit", text or "", equal or low, equal or high, at, where)
    if entry is None:
        reader.defect(line, f"ip prefix-list {name}", f"'{(text or '')[:40]}' is no IPv4 prefix")
    else:
        entries.append(entry)
        reader.note(line, "ip prefix-list", name)


def _clause(reader: TextReader, block: Line, match: re.Match[str]) -> Clause:
    number = int((match[3] or "10")[:9])
    clause = Clause(number, match[2] != "deny", reader.note(block, "route-map", match[1], str(number)))
    for _, word in block.find(r"match ip address prefix-list (.+)"):
        clause.prefix_lists += tuple(word[1].split())
    for _, word in block.find(r"match community (\S+)"):
        clause.communities += (word[1],)
    for line, word in block.find(r"match as-path (\S+)"):
        clause.as_paths += (word[1],)
        reader.note(line, "route-map", match[1], str(number), "match as-path")
    for _, word in block.find(r"match tag (\d[\d ]*)"):
        clause.tags |= frozenset(word[1].split())
    for line in block.children:
        for of, pattern in _OTHERS.items():
            named = re.fullmatch(pattern, line.text)
            clause.others += tuple((of, it) for it in named[1].split()) if named else ()
    for line, word in block.find(r"match (?:evpn )?route-type (\S+)"):
        kind = _TYPES.get(word[1])
        clause.route_types |= {kind} if kind else set()
        if not kind:
            line.judged, clause.unread = False, line.text
    for _, word in block.find(rf"set community ((?:(?:\d+:\d+|{_WELL_KNOWN}) ?)+)(?:additive)?"):
        clause.sets_communities += tuple(it.lower() for it in word[1].split())
    for _, word in block.find(r"set as-path prepend ([\d ]+)"):
        clause.prepends += tuple(int(it[:10]) for it in word[1].split())
    for _, word in block.find(r"set local-preference (\d{1,10})"):
        clause.local_preference = int(word[1])
    for _, word in block.find(r"set ip next-hop (\d+\.\d+\.\d+\.\d+)"):
        clause.next_hop = word[1]
    clause.goes_on = block.has(r"continue(?: \d+)?|on-match (?:next|goto \d+)")
    if block.has(r"set ip next-hop unchanged"):
        pass  # what it changes is read with the session
    for line in block.children:
        if line.text.startswith(("match ", "no match ", "sub-route-map ", "call ")) and not line.used:
            line.used, line.judged, clause.unread = True, False, line.text
    block.accept(rf"description .*|{_HARMLESS.pattern}|set .*")
    return clause
