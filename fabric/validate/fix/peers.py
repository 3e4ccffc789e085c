"""What most of the fabric has in the same place: candidates for a value that a finding asks for and no rule gives.

A configuration is a set of blocks: a row of CONFIG_DB, a mapping of NVUE, a block of lines of EOS and NX-OS. Two
blocks are peers if their paths are equal but for the names of ports of one kind (to hosts, to switches), addresses of
neighbours and the own AS number. A value that more than half of a block's peers have is the usual one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from shlex import quote
from typing import Final

from fabric.configs.model import Device, Site
from fabric.configs.text.secrets import before_secret
from fabric.validate.blocks import NEIGHBOR, Blocks, Path, blocks_of, of_frr
from fabric.validate.checks.base import Finding
from fabric.validate.commands import row_command
from fabric.validate.edits import BETWEEN_COMMANDS, BETWEEN_LINES, Row
from fabric.validate.facts import Facts
from fabric.validate.fix import frr, lines
from fabric.validate.fix.state import Change, State
from fabric.validate.frr_fixes import vtysh

_ADDRESS: Final = re.compile(r"\d+\.\d+\.\d+\.\d+(?:/\d+)?")
_OWN_ASN: Final = re.compile(r"(router bgp) \S+(?P<vrf> vrf \S+)?")
_FRR: Final = "<file of FRR>"
_SHOWN: Final = 3
_MOST_BESIDE: Final = 8
"""A block with more blocks beside it is one of many of its kind, which have nothing to do with each other."""
_FEW_PORTS: Final = 2
"""With so many ports of a kind, the one beside an odd one says nothing."""
_IDENTITY: Final = frozenset(
    ("hostname", "router-id", "bgp_asn", "local_asn", "autonomous-system", "bgp_router_id", "router_id", "mac", "rd",
     "system-mac", "src_ip", "local_addr", "ip address", "description", "name", "peer_group_name")
)  # fmt: skip
"""Values that each switch or neighbour has for itself."""
_ROUTES: Final = ("ip route", "ipv6 route", "network")


@dataclass(frozen=True, slots=True)
class Usual:
    """One difference from the peers."""

    device: str
    path: Path
    head: str
    old: str | None
    new: str | None
    """None: the peers do not state it."""
    source: str
    general: tuple[str, ...]
    """Path without names, and the head: equal for the same difference in several places."""


class Peers:
    """The blocks of every switch of a state."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.facts = Facts(state.network)
        self._blocks: dict[str, Blocks] = {}
        self._rows: dict[str, list[str]] = {}

    def blocks(self, device: Device) -> Blocks:
        """The blocks of a switch."""
        if device.name not in self._blocks:
            found = blocks_of(device, self.state.text(device.file))
            for key, (file, _) in device.beside.items():
                found.update({(key, *path): its for path, its in of_frr(self.state.text(file)).items()})
            self._blocks[device.name] = found
        return self._blocks[device.name]

    @cached_property
    def index(self) -> dict[tuple[str, Path], list[tuple[Device, Path]]]:
        """(language, path without names) to the blocks with it."""
        found: dict[tuple[str, Path], list[tuple[Device, Path]]] = {}
        for device in self.facts.devices:
            for path in self.blocks(device):
                found.setdefault((device.language, self._general(device, path)), []).append((device, path))
        return found

    def _general(self, device: Device, path: Path) -> Path:
        return tuple(self._without_names(device, word) for word in path)

    def _without_names(self, device: Device, word: str) -> str:
        if word in device.beside:
            return _FRR
        if own := _OWN_ASN.fullmatch(word):
            return own[1] + (own["vrf"] or "")
        begin, blank, name = word.rpartition(" ")
        parts = [self._kind(device, part) for part in name.split("|")]
        return _ADDRESS.sub("<address>", begin + blank + "|".join(parts))

    def _kind(self, device: Device, name: str) -> str:
        if name not in device.ports:
            return name
        far = self.facts.peers.get((device.name, name))
        return "<free port>" if far is None else "<uplink>" if far[0] in self.state.network.devices else "<host port>"

    def _role(self, device: Device) -> bool:
        """Whether hosts are connected to a switch."""
        return any(self._kind(device, name) == "<host port>" for name in device.ports)

    def of(self, device: Device, path: Path, *, role: bool) -> list[tuple[Device, Path]]:
        """The peers of a block; `role`: only on switches that, as this one, have hosts or have none."""
        found = list(self.index.get((device.language, self._general(device, path)), []))
        if len(path) > 1 and lines.is_header(path[:-1], path[-1]):  # peers that have no line below this one
            above = self.index.get((device.language, self._general(device, path[:-1])), [])
            found += [(other, (*its, path[-1])) for other, its in above if path[-1] in self.blocks(other)[its]]
        return [
            (other, its)
            for other, its in found
            if (other is not device or its != path) and (not role or self._role(other) == self._role(device))
        ]

    def differences(self, device: Device, path: Path, *, decided: bool) -> Iterator[Usual]:
        """What most peers of a block state otherwise, and blocks that most peers have inside.

        Parameters
        ----------
        decided    the finding says that this switch is wrong: a single peer's value counts, too
        """
        seen: set[str] = set()
        if path[:1] == ("CABLE_LENGTH",):
            return
        for role in (True, False):
            peers = self.of(device, path, role=role)
            its = [self.blocks(other).get(there, {}) for other, there in peers]
            own = self.blocks(device).get(path, {})
            heads = dict.fromkeys([*own, *(it for one in its for it in one)])
            most = {head: _most(it.get(head) for it in its) for head in heads}
            come = {lines.place(head) for head, (usual, _) in most.items() if usual is not None and head not in own}
            for head, (usual, count) in most.items():
                replaced = usual is None and lines.place(head) in come  # a line of a list: another one is in its place
                single = decided and (usual is not None or replaced)
                if head in seen or not _enough(count, len(its), decided=single) or (head in device.ports and not role):
                    continue
                seen.add(head)
                if usual == own.get(head) or _is_own(head, usual) or _is_own(head, own.get(head)):
                    continue
                source = self._source(peers, head, usual)
                general = (*self._general(device, path), head)
                yield Usual(device.name, path, head, own.get(head), usual, source, general)
            yield from self._missing(device, path, peers, decided=decided, seen=seen)
            if not peers and decided:
                yield from self._odd(device, path, role=role, seen=seen)

    def _odd(self, device: Device, path: Path, *, role: bool, seen: set[str]) -> Iterator[Usual]:
        """The outermost block around a path that no peer has, where several have what is around it."""
        if device.capabilities.tables and path[:1] and path[0] not in device.beside:
            yield from self._odd_row(device, path)
            return
        for length in range(len(path) - 1, 0, -1):
            peers = self.of(device, path[:length], role=role)
            if not peers:
                continue
            alone = len(peers) > 1 and all(path[length] not in self._inside(*it) for it in peers)
            if alone and path[length] not in seen and not self._has_address(device, path[: length + 1]):
                seen.add(path[length])
                general = (*self._general(device, path[:length]), path[length])
                source = f"none of {len(peers)} peers has it"
                yield Usual(device.name, path[:length], path[length], path[length], None, source, general)
            return

    def _has_address(self, device: Device, path: Path) -> bool:
        """Whether an address is stated in a block: a switch has a port for itself that others need not have."""
        inside = (it for it in self.blocks(device).items() if it[0][: len(path)] == path)
        return any("address" in below[len(path) :] or "ip address" in stated for below, stated in inside)

    def _odd_row(self, device: Device, path: Path) -> Iterator[Usual]:
        """A row of a port that no other port of its kind has."""
        port = next((it for it in path[-1].split("|") if it in device.ports), "")
        kind = self._kind(device, port) if port else ""
        switches = [it for it in self.facts.devices if it.capabilities is device.capabilities]
        others = [it for other in switches for it in other.ports if kind and self._kind(other, it) == kind]
        if len(others) > _FEW_PORTS:
            source = f"none of {len(others) - 1} ports of this kind has it"
            yield Usual(device.name, path, "", "", None, source, self._general(device, path))

    def _inside(self, device: Device, path: Path) -> set[str]:
        """What stands in a block: words that open further blocks, and heads of lines."""
        blocks = self.blocks(device)
        size = len(path)
        return {*blocks.get(path, {}), *(it[size] for it in blocks if len(it) > size and it[:size] == path)}

    def _missing(
        self, device: Device, path: Path, peers: Sequence[tuple[Device, Path]], *, decided: bool, seen: set[str]
    ) -> Iterator[Usual]:
        """Blocks inside most peers that this one lacks, with what most of them state there."""
        other_ports = {name for other, _ in peers for name in other.ports}
        count: Counter[Path] = Counter()
        states: dict[Path, list[dict[str, str]]] = {}
        for other, there in peers:
            for its, stated in self.blocks(other).items():
                if len(its) > len(there) and its[: len(there)] == there:
                    count[its[len(there) :]] += 1
                    states.setdefault(its[len(there) :], []).append(stated)
        for below, number in count.items():
            whole = (*path, *below)
            if any(_ADDRESS.search(word) or _OWN_ASN.fullmatch(word) or word in other_ports for word in below):
                continue
            if not _enough(number, len(peers), decided=decided) or whole in self.blocks(device) or str(whole) in seen:
                continue
            seen.add(str(whole))
            those = f"{peers[0][0].name} has it" if len(peers) == 1 else f"{number} of {len(peers)} peers have it"
            yield from self._whole(device, whole, states[below], those)

    def rows_of_port(self, device: Device, port: str) -> Iterator[Usual]:
        """Rows of CONFIG_DB that most ports of the same kind have, and this one lacks."""
        kind = self._kind(device, port)
        alike = [
            (other, name) for other in self.facts.devices for name in other.ports if self._kind(other, name) == kind
        ]
        alike = [it for it in alike if it[0].capabilities is device.capabilities]
        for (_, general), its in self.index.items():
            if (
                its[0][0].capabilities is not device.capabilities
                or len(general) != 2
                or kind not in general[1].split("|")
            ):
                continue
            path = tuple(word.replace(kind, port) for word in general)
            if path in self.blocks(device) or "<" in path[1] or 2 * len(its) <= len(alike) - 1:
                continue
            states = [self.blocks(other)[there] for other, there in its]
            yield from self._whole(device, path, states, f"{len(its)} of {len(alike) - 1} ports of this kind have it")

    def _whole(self, device: Device, path: Path, states: Sequence[dict[str, str]], source: str) -> Iterator[Usual]:
        general = self._general(device, path)
        found = False
        for head in dict.fromkeys(it for one in states for it in one):
            usual, count = Counter(one.get(head) for one in states).most_common(1)[0]
            if usual is not None and 2 * count > len(states) and not _is_own(head, usual):
                found = True
                yield Usual(device.name, path, head, None, usual, source, general)
        if not found:
            yield Usual(device.name, path, "", None, "", source, general)

    def _source(self, peers: Sequence[tuple[Device, Path]], head: str, usual: str | None) -> str:
        having = [other.name for other, there in peers if self.blocks(other).get(there, {}).get(head) == usual]
        names = list(dict.fromkeys(having))
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        return f"{shown} has it so" if len(peers) == 1 else f"{len(having)} of {len(peers)} peers have it so ({shown})"

    def places(self, finding: Finding) -> list[tuple[Device, Path]]:
        """The blocks that a finding is about: of its root, then of its evidence."""
        found: dict[tuple[str, Path], Device] = {}
        sites = [finding.root, *(it.root for it in finding.evidence if isinstance(it.at, Site) and it.root)]
        for name, where in sites:
            device = self.state.network.devices.get(name)
            if device is None:
                device = next((it for it in self.facts.devices if name in _files(it)), None)
                path = None if device is None else self._at_line(device, int(where[0]), name)
            else:
                path = self._block(device, where)
            if device is not None and path is not None:
                found.setdefault((device.name, path), device)
        return [(device, path) for (_, path), device in found.items()]

    def around(self, device: Device, path: Path) -> list[Path]:
        """Blocks of statements in a block, two levels deep, beside it, above it, and those that it applies by name (a
        profile, a policy); none of them twice.
        """
        every = self.blocks(device)
        size = len(path)
        inside = [it for it in every if size and size < len(it) <= size + 2 and it[:size] == path]
        beside = [it for it in every if size > 1 and len(it) == size and it[:-1] == path[:-1] and it != path]
        if path and path[0].startswith("policy-map type qos"):
            beside += [it for it in every if it[:1] and it[0].startswith("class-map")]
        if path and path[0].startswith("policy-map "):
            beside += [it for it in every if it == ("system qos",)]
        further = [it for it in every if size > 2 and len(it) == size and it[:-2] == path[:-2] and it[-2] != path[-2]]
        above = [path[:-1]] if size > 1 else []
        named = {value.rpartition(" ")[2] for value in every.get(path, {}).values()} if size else set()
        applied = [it for it in every if len(it) == 1 and it != path and it[0].rpartition(" ")[2] in named]
        many = [it for its in (beside, further) if len(its) <= _MOST_BESIDE for it in its]
        return list(dict.fromkeys([*inside, *above, *applied, *many, ()]))

    def _block(self, device: Device, where: Path) -> Path | None:
        if where and where[0] in device.beside:
            place = device.place(where)
            return self._at_line(device, place.line, place.file)
        if device.capabilities.blocks_of_lines:
            return self._at_line(device, device.locator.line(where), device.file)
        path = where[where.index("set") + 1 :] if "set" in where else where
        if device.capabilities.tables:
            return path[:2] if len(path) > 1 else None
        own = self.blocks(device)
        return next((path[:length] for length in range(len(path), 0, -1) if path[:length] in own), ())

    def _at_line(self, device: Device, number: int, file: str) -> Path:
        """The block that a line opens, or is in."""
        key = next((it for it, (its, _) in device.beside.items() if its == file), "")
        return (key, *self._block_at(file, number, beside=True)) if key else self._of_own(device, number)

    def _of_own(self, device: Device, number: int) -> Path:
        return self._block_at(device.file, number) if device.capabilities.blocks_of_lines else ()

    def _block_at(self, file: str, number: int, *, beside: bool = False) -> Path:
        if file not in self._rows:
            text = self.state.text(file)
            self._rows[file] = frr.rows_of(text) if beside else text.split("\n")
        for path, block in lines.tree(self._rows[file]).walk():
            if block.row == number - 1:
                neighbor = NEIGHBOR.fullmatch(block.text)
                if block.children or lines.is_header(path[:-1], block.text):
                    return path
                return (*path[:-1], neighbor[1]) if neighbor else path[:-1]
        return ()


def _most(values: Iterable[str | None]) -> tuple[str | None, int]:
    """The most frequent value, and how often it is there; nothing of nothing."""
    return next(iter(Counter(values).most_common(1)), (None, 0))


def _is_own(head: str, value: str | None) -> bool:
    """Whether each switch has its own value, or a fact: names, AS numbers, addresses, routes, cables."""
    if head in _IDENTITY or head.startswith("description "):
        return True
    return head.startswith(_ROUTES) or "cable" in head or _ADDRESS.search(value or "") is not None


def _enough(count: int, total: int, *, decided: bool) -> bool:
    """Whether a value is that of most peers; of a single one where the finding says which side is wrong."""
    return 2 * count > total and (count > 1 or (decided and total == 1))


def _files(device: Device) -> list[str]:
    return [device.file, *(file for file, _ in device.beside.values())]


def change_of(device: Device, its: Iterable[Usual]) -> Change:
    """Differences of one block as a change to what the peers have. What goes is taken away before anything comes."""
    its = sorted(its, key=lambda it: it.new is not None)
    first = its[0]
    shown = " ".join(first.path)
    field = "|".join((*first.path[-2:], ", ".join(it.head for it in its if it.head))).strip("|")
    value = ", ".join(filter(None, map(_value, its)))
    file = device.beside[first.path[0]][0] if first.path and first.path[0] in device.beside else ""
    if device.capabilities.tables and not file:
        rows = tuple(Row((*it.path, it.head) if it.head else it.path, it.new) for it in its)
        parts = [f"{it.head} to {it.new}" if it.new is not None else f"{it.head} to nothing (remove it)" for it in its]
        what = f"set {'|'.join(first.path)}|{', '.join(parts)}"
        if not first.head:
            what = f"{'remove' if first.new is None else 'add'} {'|'.join(first.path)}"
        command = BETWEEN_COMMANDS.join(row_command(it.path, it.value) for it in rows)
        return Change(device.name, what, first.source, rows, (), command, field, value)
    if device.capabilities.shell_statements:
        made = tuple(_nv(it) for it in its)
        command = BETWEEN_COMMANDS.join(made)
        return Change(device.name, "; ".join(made), first.source, (), made, command, field, value)
    path = first.path[1:] if file else first.path
    prefix = first.path[-1] + " " if first.path and NEIGHBOR.fullmatch(f"{first.path[-1]} x") else ""
    above = path
    if prefix and (file or device.capabilities.neighbor_on_each_line):
        above = path[:-1]
    else:
        prefix = ""
    body = [prefix + it.new if it.new else _negated(prefix + (it.old or "")) for it in its if it.new or it.old]
    made = (*above, *body)
    return Change(device.name, f"{', '.join(body) or shown}, in '{shown}'" if shown else ", ".join(body),
                  first.source, (), made, vtysh(BETWEEN_LINES.join(made)) if file else BETWEEN_LINES.join(made),
                  field, value, file)  # fmt: skip


def _value(it: Usual) -> str:
    """The value without the words that name it, which a line of text has, too; '' for a block without values."""
    if it.new is None:
        return "nothing (remove it)"
    return it.new.removeprefix(it.head).strip() or it.new


def _negated(line: str) -> str:
    return line.removeprefix("no ") if line.startswith("no ") else f"no {before_secret(line)}"


def _nv(it: Usual) -> str:
    words = " ".join(quote(word) for word in (*it.path, it.head) if word)
    if it.new is None:
        return f"nv unset {words}"
    return f"nv set {words}" + (f" {quote(it.new)}" if it.new else "")
