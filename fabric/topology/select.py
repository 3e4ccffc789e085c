"""Names in the user's files -> nodes, ports and cables, with the nearest valid spelling where nothing fits.

A name is exact ('leaf1'), a shell pattern ('leaf*', 'host[20-30]'; fabric/name_patterns.py), a port
('leaf1:Ethernet0', either part a pattern), or a cable ('leaf1--spine2': all parallel cables of the pair;
'leaf1--spine2#1': the second of them).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Hashable, Iterable
from itertools import chain

from fabric.errors import Problem
from fabric.name_patterns import fits_pattern, is_pattern
from fabric.topology.model import Fabric, Link, Node, Port

_LISTED = 8
_RANKED_OF_A_KIND = 64
"""Names of one kind whose likeness is computed: a fabric has up to 100,000 hosts."""
_NUMBER = re.compile(r"\d+")


def nearest(word: str, known: Collection[str], what: str = "", kind: Callable[[str], Hashable] | None = None) -> str:
    """'did you mean ...?', or a list of valid names, the most like `word` first; '' where none exist.

    A list that is cut off has names of each kind; without `kind` names are of one kind where only their numbers differ.
    """
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    if not known:
        return ""
    names = _most_alike(word, known, kind or (lambda name: _NUMBER.sub("#", name)))
    shown = ", ".join(names) + (f", ... ({len(known)} in all)" if len(known) > len(names) else "")
    return f"{what or 'valid'}: {shown}"


def _most_alike(word: str, known: Iterable[str], kind: Callable[[str], Hashable]) -> list[str]:
    """The names to list: of each kind in turn the one most like `word`, the kind of the likest name first."""
    kinds: dict[Hashable, list[str]] = {}
    for name in known:
        kinds.setdefault(kind(name), []).append(name)
    match = difflib.SequenceMatcher(b=word)  # its second text is the one whose letters it keeps

    def likeness(name: str) -> float:
        match.set_seq1(name)
        return match.ratio()

    ranked = []
    for group in kinds.values():
        alike = sorted(((-likeness(name), place) for place, name in enumerate(group[:_RANKED_OF_A_KIND])))
        ranked.append([(turn, alike[0][0], unlike, group[place]) for turn, (unlike, place) in enumerate(alike)])
    ordered = sorted(chain.from_iterable(ranked), key=lambda it: it[:3])
    return [name for *_, name in ordered[:_LISTED]]


def plural(what: str) -> str:
    """'host' -> 'hosts', 'switch' -> 'switches'."""
    return f"{what}es" if what.endswith("ch") else f"{what}s"


def such(count: int, what: str) -> str:
    """' (3 such hosts)', after the first of them; '' where it is the only one."""
    return f" ({count} such {plural(what)})" if count > 1 else ""


def match_nodes(
    fabric: Fabric, patterns: Iterable[str], nodes: Collection[Node], path: str, what: str, problems: list[Problem]
) -> list[Node]:
    """Nodes out of `nodes` that any pattern names, in id order; every pattern that fits none is a problem."""
    chosen: dict[int, Node] = {}
    allowed = {node.name: node for node in nodes}
    for pattern in patterns:
        if pattern in allowed:
            found = [allowed[pattern]]
        elif is_pattern(pattern):
            found = [node for node in nodes if fits_pattern(node.name, pattern)]
        else:
            found = []
        if not found:
            other = fabric.by_name.get(pattern)
            text = f"'{pattern}' is a {other.role}, not a {what}" if other else f"no {what} is called '{pattern}'"
            if is_pattern(pattern):
                text = f"no {what} matches '{pattern}'"
            remedy = nearest_node(pattern, nodes, plural(what)) or f"the fabric has no {what}: remove the name"
            problems.append(Problem(path, text, remedy))
        chosen.update((node.id, node) for node in found)
    return [chosen[key] for key in sorted(chosen)]


def nearest_node(name: str, nodes: Collection[Node], what: str) -> str:
    """As nearest(), of nodes, of which a list has some of each tier. what: 'nodes', 'switches'."""
    tiers = {node.name: node.tier for node in nodes}
    return nearest(name, list(tiers), what, tiers.__getitem__)


def match_hosts(fabric: Fabric, patterns: Iterable[str], path: str, problems: list[Problem]) -> list[Node]:
    """Hosts that any pattern names, in id order."""
    return match_nodes(fabric, patterns, fabric.hosts, path, "host", problems)


def match_ports(fabric: Fabric, pattern: str, path: str, problems: list[Problem]) -> list[Port]:
    """Ports 'node:port', either part a pattern; a pattern without a colon takes all ports of the nodes."""
    node_part, colon, port_part = pattern.partition(":")
    nodes = match_nodes(fabric, [node_part], fabric.nodes, path, "node", problems)
    ports = [fabric.ports[port] for node in nodes for port in node.ports]
    if not colon:
        return ports
    found = [port for port in ports if fits_pattern(port.name, port_part)]
    if nodes and not found:
        names = list(dict.fromkeys(port.name for port in ports))
        problems.append(
            Problem(path, f"no port of '{node_part}' is called '{port_part}'", nearest(port_part, names, "ports"))
        )
    return found


def match_links(fabric: Fabric, text: str, path: str, problems: list[Problem]) -> list[Link]:
    """Cables named by their two nodes or by one of their ports (module docstring)."""
    if "--" not in text:
        if ":" not in text:
            problems.append(
                Problem(
                    path,
                    f"'{text}' does not name a cable",
                    "write 'leaf1--spine1', 'leaf1--spine1#0' or a port such as 'leaf1:Ethernet0'",
                )
            )
            return []
        ports = match_ports(fabric, text, path, problems)
        return [fabric.links[link] for link in sorted({port.link for port in ports})]
    pair, mark, number = text.partition("#")
    a_pattern, _, b_pattern = pair.partition("--")
    a_nodes = match_nodes(fabric, [a_pattern], fabric.nodes, path, "node", problems)
    b_nodes = {node.id for node in match_nodes(fabric, [b_pattern], fabric.nodes, path, "node", problems)}
    found: list[Link] = []
    for node in a_nodes:
        pair_links: dict[int, list[int]] = {}
        for port, peer in fabric.neighbours(node.id):
            if peer.id in b_nodes:
                pair_links.setdefault(peer.id, []).append(port.link)
        for links in pair_links.values():
            if not mark:
                found += [fabric.links[link] for link in links]
            elif number.isdigit() and int(number) < len(links):
                found.append(fabric.links[links[int(number)]])
            else:
                problems.append(
                    Problem(
                        path,
                        f"'{text}': the pair has {len(links)} parallel cable(s)",
                        f"number them from #0 to #{len(links) - 1}",
                    )
                )
                return []
    if a_nodes and b_nodes and not found:
        names = [peer.name for node in a_nodes[:1] for _, peer in fabric.neighbours(node.id)]
        problems.append(
            Problem(
                path,
                f"no cable joins '{a_pattern}' and '{b_pattern}'",
                nearest(b_pattern, names, f"neighbours of {a_nodes[0].name}"),
            )
        )
    return sorted({link.id: link for link in found}.values(), key=lambda link: link.id)
