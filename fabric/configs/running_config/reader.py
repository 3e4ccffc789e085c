"""Running-config text as a tree of lines by indentation, of which every line is either used or reported.

Shared by the readers of Arista EOS and Cisco NX-OS. A reader asks for the lines it knows; what is left at the end
is what was not understood, and is listed with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Final

from fabric.configs.capabilities import CAPABILITIES, Language
from fabric.configs.filters import dscp_of
from fabric.configs.identity import NOTHING, Gateway, Stated, Vni
from fabric.configs.model import Defect, Device, Lag, Meant, Place, Port, QosMap, Session, Unread, Vlan, Where
from fabric.configs.policy import Use
from fabric.configs.running_config.banners import BLANKS, banner_end, ends_of, rows_of
from fabric.configs.running_config.cut import cut_of
from fabric.configs.running_config.line_order import INTERFACE, MAX_COPIED, in_order
from fabric.configs.running_config.mistyped import intended
from fabric.configs.text.jsonfile import FixedLines, refuse, two_switches
from fabric.configs.text.port_ranges import interfaces_of
from fabric.configs.text.roce_effect import effect_of, is_free_text
from fabric.configs.text.secrets import without_secret
from fabric.configs.text.spelling import is_address, odd_characters, prefix_of
from fabric.units import count as counted
from fabric.visible import sentence

MAX_LINES: Final = 500_000
_ANY: Final = 99_999
"""Above every number that a list may have."""
_MAX_DEPTH: Final = 64
"""Blocks inside each other; neither system has more than six."""
_MOST_LOOKED_AT: Final = 2000
"""Lines of a file whose words are compared with known ones: people mistype few, and a foreign file has many."""
_SEPARATOR: Final = re.compile(r"[ \t]+")
"""What separates words for the parsers of EOS and NX-OS; a no-break space is part of a word."""
IPV4_ADDRESS: Final = r"\d[\d.]*(?:/\d+| [\d.]+)"
"""An address with its prefix length or netmask."""


@dataclass(slots=True)
class Line:
    """One line and the block below it."""

    number: int
    text: str
    children: list[Line] = field(default_factory=list)
    used: bool = False
    judged: bool = True
    """False where the line is known and of no effect on any check."""
    rest: str = ""
    """Words of a used line that no check uses: what a pattern matched in its named groups."""
    asked: dict[str, None] = field(default_factory=dict)
    """Patterns of the lines that the readers of this block know, in the order of their questions."""

    def find(self, pattern: str) -> Iterator[tuple[Line, re.Match[str]]]:
        """Lines of the block that match as a whole; they count as used."""
        self.asked[pattern] = None
        matches = re.compile(pattern, re.ASCII).fullmatch  # looked up once: this loop is most of the time of reading
        for child in self.children:
            match = matches(child.text)
            if match is not None:
                child.used = child.judged = True
                child.rest = " ".join(word.strip() for word in match.groupdict().values() if word)
                yield child, match

    def accept(self, pattern: str) -> None:
        """Lines of the block that are known and of no effect on any check: used, and listed as not judged."""
        matches = re.compile(pattern, re.ASCII).fullmatch
        for child in self.children:
            if not child.used and matches(child.text) is not None:
                child.used, child.judged = True, False

    def has(self, pattern: str) -> bool:
        """Whether some line of the block matches."""
        return any(True for _ in list(self.find(pattern)))


def parse_tree(text: str, file: str, bundle: str) -> Line:
    """Lines under lines by indentation; comments and separators are left out. A banner's text is below its line.

    `bundle`: the language's name of a LAG's interface.
    """
    root = Line(0, "")
    names = {"ethernet": "Ethernet", "vlan": "Vlan", "port-channel": bundle}
    stack: list[tuple[int, Line]] = [(-1, root)]
    rows = rows_of(text)
    if len(rows) > MAX_LINES:
        raise refuse(file, f"more than {MAX_LINES} lines", "give one running-config per switch")
    ends = ends_of(rows)
    banner, last = root, 0
    for number, raw in enumerate(rows, 1):
        stripped = raw.strip(BLANKS)
        if number <= last:
            if stripped and number < last:
                banner.children.append(Line(number, stripped))
            continue
        if not stripped or stripped[0] in "!#" or stripped == "end":
            continue
        indent = len(raw) - len(raw.lstrip(BLANKS))
        while stack[-1][0] >= indent:
            stack.pop()
        if len(stack) > _MAX_DEPTH:
            what = f"a line inside more than {_MAX_DEPTH} blocks"
            raise refuse(
                f"{file}:{number}", what, "indent each line by the blocks that it is in, as the switch writes it"
            )
        line = Line(number, _plain_name(" ".join(_SEPARATOR.split(stripped)), names))
        stack[-1][1].children.append(line)
        stack.append((indent, line))
        banner, last = line, banner_end(rows, number, stripped, ends)
    try:
        in_order(root)
    except ValueError as error:
        what = f"ranges of ports with lines that single ports take back: {error} lines when written out"
        raise refuse(file, what, f"write a block for each port, at most {MAX_COPIED} lines in all") from error
    return root


def _plain_name(text: str, names: dict[str, str]) -> str:
    """An interface line with the name as a running-config has it: 'interface ethernet 1/1' -> 'interface Ethernet1/1'.

    Published templates are typed, and both systems accept the name with a blank and in any case.
    """
    match = INTERFACE.fullmatch(text)
    return text if match is None else f"interface {names.get(match[1].lower(), match[1])}{match[2]}"


class TextReader:
    """A device that is being filled from a tree, with lines noted for each construct."""

    def __init__(self, text: str, file: str, name: str, language: Language) -> None:
        self.root = parse_tree(text, file, CAPABILITIES[language].bundle)
        self.text = text
        self.lines = FixedLines()
        self.device = Device(name, file, language, self.lines)
        self._looked_at = 0
        self.tagged: dict[tuple[str, str], str] = {}
        """Port and VLAN tag to the sub-interface that has them."""
        named = ""
        for line, match in self.root.find(r"hostname (\S+)"):
            if named and match[1] != named:
                raise two_switches(f"{file}:{line.number}", named, match[1])
            named = match[1]
            self.device.name_where = self.lines.note(("hostname",), line.number)
            self.device.name = match[1]

    def note(self, line: Line, *where: str) -> Where:
        """Remember where a construct stands."""
        return self.lines.note(where, line.number)

    def defect(
        self, line: Line, name: str, text: str, check: str = "R5", root: Where = (), meant: tuple[Meant, ...] = ()
    ) -> None:
        """Something wrong with a line."""
        found = Defect(check, self.note(line, "line", str(line.number)), name, text, root, meant=meant)
        if found not in self.device.defects[-4:]:  # a profile is read once for each port that has it
            self.device.defects.append(found)

    def map_(
        self, kind: str, name: str, where: Where, entries: dict[int, int], stated: frozenset[int] | None = None
    ) -> None:
        """Add a map."""
        self.device.maps.setdefault(kind, {})[name] = QosMap(name, where, entries, stated)

    def number(self, line: Line, text: str, low: int, high: int, what: str, root: Where = ()) -> int | None:
        """A number in its range, or None and a defect. `root`: the construct that has no such value then."""
        if text.isascii() and text.isdigit() and len(text) < 19 and low <= int(text) <= high:
            return int(text)
        name = f"{root[-1]}|{what}" if root else what
        self.defect(line, name, f"{what} {text[:40]} is outside {low}..{high}", root=root)
        return None

    def numbers(self, line: Line, text: str, high: int, what: str, root: Where = ()) -> list[int]:
        """'24-31,48' -> the numbers, and a defect where one is above `high`."""
        found = numbers(text, _ANY)
        if (most := max(found, default=0)) > high:
            self.number(line, str(most), 0, high, what, root)
        return [it for it in found if it <= high]

    def ports(self, line: Line, text: str) -> list[Port]:
        """'Ethernet1/1-4,Ethernet6' -> ports, made where they are new."""
        names, wrong = interfaces_of(text)
        for what in wrong:
            self.defect(line, "interface", what)
        return [self._port(line, name) for name in names]

    def _port(self, line: Line, name: str) -> Port:
        if name not in self.device.ports:
            where = self.note(line, "interface", name)
            self.device.ports[name] = Port(name, where, admin_up=True, qos_where=where)
        return self.device.ports[name]

    def common(self) -> None:
        """What EOS and NX-OS write alike: ageing times, the width of ECMP, and the twin of a pair."""
        self.twin()
        for line, match in self.root.find(r"mac address-table aging-time (\d+)"):
            self.device.mac_age_s = self.number(line, match[1], 0, 10**6, "aging-time")
            self.note(line, "SWITCH", "switch")
        for line, match in self.root.find(r"(?:arp aging timeout default|ip arp timeout) (\d+)"):
            self.device.arp_age_s = self.number(line, match[1], 60, 10**6, "ARP timeout")
        interior = [line for line in self.root.children if re.match(r"router (?:ospf|isis|rip|eigrp)", line.text)]
        for line in [it for it in interior if " vrf " not in it.text][:1]:
            self.device.identity.igp = Stated(line.text.removeprefix("router "), self.note(line, "router"))
        for block, _ in self.root.find(r"router bgp [\d.]+"):
            if not interior:
                self.device.multipath = 1  # of both, where no line says more
            self.note(block, "maximum-paths")
            for line, match in block.find(r"maximum-paths (?:ibgp |eibgp )?(\d+)(?: ecmp (\d+))?"):
                counts = [self.number(line, it, 1, 512, "maximum-paths") for it in match.groups() if it]
                self.device.multipath = min((it for it in counts if it is not None), default=None)
                self.note(line, "maximum-paths")

    def twin(self) -> None:
        """The link to the other switch of a pair: EOS `mlag configuration`, NX-OS `vpc peer-link`."""
        for block, _ in self.root.find(r"mlag configuration"):
            for line, match in block.find(r"peer-link (\S+)"):
                self.device.peer_link, self.device.peer_where = match[1], self.note(line, "mlag", "peer-link")
            block.accept(r"(?:domain-id|local-interface|peer-address|reload-delay) .*")
        for block, match in self.root.find(r"interface (port-channel\d+)"):
            for line, _ in block.find(r"vpc peer-link"):
                self.device.peer_link, self.device.peer_where = match[1], self.note(line, "vpc", "peer-link")

    def switched(self, line: Line, ports: list[Port]) -> None:
        """Ports that say they are in a VLAN."""
        if line.has(r"switchport(?: (?:access|mode (?:access|trunk)|trunk)(?: .*)?)?"):
            vlan = self.device.vlans.setdefault("switched", Vlan("switched", self.note(line, "switchport"), None))
            vlan.members = (*vlan.members, *(port.name for port in ports))
        for port in ports if line.has(r"switchport (?:mode trunk|trunk .*)") else ():
            port.trunk = True
            for _, match in line.find(r"switchport trunk allowed vlan (?:add )?([\d,-]+)"):
                port.trunk_vlans = (port.trunk_vlans or frozenset()) | frozenset(numbers(match[1], 4094))
        if not line.has(r"no switchport"):
            trunk = line.has(r"switchport mode trunk")
            untagged = r"switchport trunk native vlan (\d+)" if trunk else r"switchport access vlan (\d+)"
            for child, match in line.find(untagged):
                vlan_id = self.number(child, match[1], 1, 4094, "VLAN")
                for port in ports if vlan_id is not None else ():
                    dropped = trunk and port.trunk_vlans is not None and vlan_id not in port.trunk_vlans
                    port.vlan = "" if dropped else match[1]  # a native VLAN that the trunk does not carry

    def bundled(self, routed_mtu: int | None = None) -> None:
        """Members of a LAG are in its VLAN and have its MTU.

        `routed_mtu`: of a routed LAG that states none; None where it takes that of its members.
        """
        for line, match in self.root.find(rf"interface ({self.device.capabilities.bundle}\d+)"):
            self.switched(line, [port for port in self.device.ports.values() if port.lag == match[1]])
            where = self.note(line, "interface", match[1])
            shut = Stated("down", (*where, "shutdown")) if line.has(r"shutdown") else NOTHING
            least = NOTHING
            for child, number in line.find(r"(?:port-channel|lacp) min-links (\d+)"):
                if self.number(child, number[1], 1, 1024, "min-links") is not None:
                    least = Stated(number[1], self.note(child, *where, "min-links"))
            mtus = [self.number(child, word[1], 68, 9216, "mtu") for child, word in line.find(r"mtu (\d+)")]
            mtu = mtus[-1] if mtus else routed_mtu if line.has(r"no switchport") else None
            self.device.bundle(Lag(match[1], where, shut, least), mtu)

    def finish(self) -> Device:
        """The device, with every line that no check uses: not understood, or known and not judged."""
        cut, last = cut_of(self.text, self.device.capabilities, self.root)
        if cut:
            self.defect(last, "configuration", cut, "R13")
        for line, path, block in _walk(self.root):
            place = Place(self.device.file, line.number)
            odd = "" if is_free_text(line.text) else odd_characters(line.text)
            if odd:
                self.defect(line, "line", f"'{line.text[:60]}' is a line {odd}")
            below = tuple((it_path, "") for it_path in _paths(line, path))
            more = f" and {counted(len(below) - 1, 'line')} below it" if len(below) > 1 else ""
            whole = not (cut and line is last)
            slip = whole and not (line.used and line.judged) and self._mistyped(line, path, block)
            if not line.used:
                effect = "" if slip else effect_of(line.text, below)
                self.device.unread.append(Unread(place, f"'{_shown(line.text)}'{more}", below, effect))
            elif not line.judged:
                what = f"'{_listed(line.text)}'{more}"
                self.device.unjudged.append(Unread(place, what, below, effect_of(line.text)))
            elif line.rest:
                what = f"'{_shown(line.rest)}' of '{_shown(line.text)}'"
                leaf = (*path[:-1], line.rest)  # what is judged of the line is compared by its own name
                self.device.unjudged.append(Unread(place, what, ((leaf, ""),), effect_of(line.rest)))
        return self.device

    def _mistyped(self, line: Line, path: Where, block: Line) -> bool:
        """Add a defect (R5) for a line that would be known but for one slip; whether it is one."""
        self._looked_at += 1
        if self._looked_at > _MOST_LOOKED_AT or is_free_text(line.text):
            return False
        meant_line = intended(line.text, block.asked)
        if meant_line:
            text = f"'{_shown(line.text)}' is no line of this system (did you mean '{_shown(meant_line)}'?)"
            top = path[0].split(" ", 1)
            port = top[0] == "interface" and len(path) > 1
            # a policy or a profile is used by ports that are not known here
            root: Where = tuple(top) if port else ("interface",) if effect_of(line.text) else ()
            root = ("router bgp",) if meant_line.startswith("router bgp ") else root
            if path[0].startswith("router bgp ") and len(path) > 1 and path[-2].startswith("neighbor "):
                root = ("router bgp", *path[1:-1])
            if match := re.fullmatch(r"ip routing(?: vrf (\S+))?", meant_line):
                root = tuple(filter(None, ("ip routing", match[1])))  # the requirement that the line is for
            right = () if line.children else (Meant(path, (*path[:-1], meant_line)),)
            self.defect(line, "|".join(path)[:120], text, root=root, meant=right)
        return bool(meant_line)


@dataclass(slots=True)
class BgpNeighbor:
    """A neighbour, or the group it belongs to, while its lines are read; None and '' are not stated."""

    where: Where = ()
    asn: str = ""
    group: str = ""
    source: str = ""
    """Interface whose address it uses."""
    up: bool = True
    keepalive_s: int | None = None
    hold_s: int | None = None
    communities: bool | None = None
    standard: frozenset[str] | None = None
    """Families whose standard communities are sent; '' stands for all of them."""
    keeps_next_hop: bool = False
    allows_own_as: bool = False
    families: set[str] = field(default_factory=set)
    policies: tuple[Use, ...] = ()
    reflects: bool = False
    sets_next_hop: bool = False
    hops: int | None = None
    """Of `ebgp-multihop`."""
    password: bool = False
    bfd: bool = False
    local_as: Stated = NOTHING
    ttl_security: Stated = NOTHING
    max_prefixes: Stated = NOTHING
    passive: bool = False
    places: dict[str, Where] = field(default_factory=dict)
    """Words of a setting to the place of its line."""
    group_where: Where = ()
    inherited_where: tuple[tuple[str, Where], ...] = ()

    def over(self, group: BgpNeighbor | None) -> BgpNeighbor:
        """The neighbour with what its group states and it does not."""
        if group is None:
            return self
        return BgpNeighbor(
            self.where,
            self.asn or group.asn,
            self.group,
            self.source or group.source,
            self.up and group.up,
            group.keepalive_s if self.keepalive_s is None else self.keepalive_s,
            group.hold_s if self.hold_s is None else self.hold_s,
            group.communities if self.communities is None else self.communities,
            group.standard if self.standard is None else self.standard,
            self.keeps_next_hop or group.keeps_next_hop,
            self.allows_own_as or group.allows_own_as,
            self.families | group.families,
            self.policies + tuple(it for it in group.policies if not self._replaces(it)),
            self.reflects or group.reflects,
            self.sets_next_hop or group.sets_next_hop,
            group.hops if self.hops is None else self.hops,
            self.password or group.password,
            self.bfd or group.bfd,
            self.local_as or group.local_as,
            self.ttl_security or group.ttl_security,
            self.max_prefixes or group.max_prefixes,
            self.passive or group.passive,
            self.places,
            group.where,
            tuple(it for it in group.places.items() if it[0] not in self.places),
        )

    def _replaces(self, its: Use) -> bool:
        """Whether the neighbour states a policy that replaces its group's."""
        return any((it.family, it.inbound, it.kind) == (its.family, its.inbound, its.kind) for it in self.policies)


Timers = tuple[int | None, int | None, Where]
"""Keepalive and hold time in seconds, and their place."""


def shut_sessions(reader: TextReader, block: Line) -> None:
    """`shutdown` of `router bgp` keeps every session of the switch down, in all VRFs (EOS, NX-OS)."""
    for line, _ in block.find(r"shutdown"):
        where = reader.note(line, "router bgp", "shutdown")
        reader.device.sessions[:] = [replace(it, up=False, where=where) for it in reader.device.sessions]
    block.accept(r"no shutdown")


def session_of(
    device: Device, address: str, peer: BgpNeighbor, families: frozenset[str], timers: Timers, vrf: str = ""
) -> Session:
    """The session; `timers` hold where the neighbour states none. An unnumbered one has its port for an address."""
    own = peer.hold_s is not None
    numbered = is_address(address)
    local = device.addresses.get(peer.source, ("",))[0].partition("/")[0] if peer.source else ""
    return Session(
        peer.where,
        "",
        peer.asn if re.fullmatch(r"[\d.]+", peer.asn) else "",
        str(ip_address(address)) if numbered else "",
        local,
        up=peer.up,
        keepalive_s=peer.keepalive_s if own else timers[0],
        hold_s=peer.hold_s if own else timers[1],
        families=families,
        extended_communities=bool(peer.communities),
        community_families=families if "" in (peer.standard or ()) else peer.standard or frozenset(),
        keeps_next_hop=peer.keeps_next_hop,
        allows_own_as=peer.allows_own_as,
        vrf=vrf,
        interface="" if numbered else address,
        external=peer.asn == "external",
        policies=peer.policies,
        reflects=peer.reflects,
        sets_next_hop=peer.sets_next_hop,
        source=peer.source,
        hops=peer.hops or 1,
        password=peer.password,
        bfd=peer.bfd,
        passive=peer.passive,
        states_asn=bool(peer.asn),
        local_as=peer.local_as,
        ttl_security=peer.ttl_security,
        max_prefixes=peer.max_prefixes,
        group_where=peer.group_where,
        inherited_where=peer.inherited_where,
    )


def seconds_of(reader: TextReader, line: Line, keepalive: str, hold: str) -> tuple[int | None, int | None]:
    """Keepalive and hold time of a session; the field of the hold time has 16 bits (RFC 4271 section 4.2)."""
    return reader.number(line, keepalive, 0, 65_535, "keepalive"), reader.number(line, hold, 0, 65_535, "hold time")


def note_target(reader: TextReader, line: Line, vni: Vni, way: str, target: str, *where: str) -> None:
    """Remember the line of a route target; `way`: 'import', 'export' or 'both'."""
    for side in ("import", "export") if way == "both" else (way,):
        vni.target_where[side, target] = reader.note(line, *where, side, target)


def description_of(interface: Line) -> str:
    """The words that an interface is described with."""
    texts = [it.text for it in interface.children if it.text.startswith("description ")]
    return texts[-1].removeprefix("description ") if texts else ""


def note_marks(
    reader: TextReader, line: Line, where: Where, marks: dict[int, int], values: Iterable[int], text: str
) -> None:
    """`set dscp` of a class: the DSCP that packets of its DSCPs leave with. Values of an earlier class keep theirs."""
    new = dscp_of(text)
    if new is None:
        reader.defect(line, "|".join(where), f"'{text[:20]}' is no DSCP")
        return
    for value in values:
        if value not in marks:
            marks[value] = new
            reader.note(line, *where, "set dscp", str(value))


def read_address(reader: TextReader, line: Line, interface: str, text: str) -> None:
    """An address of an interface, with its prefix length or netmask: '10.0.0.1/31', '10.0.0.1 255.255.255.254'."""
    text = text.replace(" ", "/")
    if _is_prefix(reader, line, interface, text):
        reader.device.add_address(interface, text, reader.note(line, "interface", interface, "ip address", text))


def read_gateway(reader: TextReader, line: Line, interface: str, text: str) -> None:
    """An address that every switch of a VLAN has."""
    text = text.replace(" ", "/")
    if _is_prefix(reader, line, interface, text):
        at = reader.note(line, "gateway", interface, text)
        reader.device.identity.gateways.append(Gateway(interface.removeprefix("Vlan"), text, at))


def _is_prefix(reader: TextReader, line: Line, interface: str, text: str) -> bool:
    if prefix_of(text) is not None:
        return True
    reader.defect(line, interface, f"'{text[:60]}' is no address with its prefix length")
    return False


def read_interface(reader: TextReader, block: Line, name: str, mtu: int, *, down: bool = False) -> None:
    """Whether a loopback, a sub-interface or the interface of a VLAN is up, and the MTU that a VLAN routes with.

    `mtu` and `down` are the language's defaults: of packets without a line, and of an interface without `no shutdown`.
    """
    found = reader.device.identity
    if not (name.lower().startswith(("lo", "vlan")) or "." in name):
        return
    stated = [line for line in block.children if line.text in {"shutdown", "no shutdown"}]
    if (stated[-1].text == "shutdown") if stated else (down and name.lower().startswith("vlan")):
        at = reader.note(stated[-1] if stated else block, "interface", name, "shutdown")
        found.shut[name] = Stated("down", at)
    if stated:
        stated[-1].used = True
    if name.startswith("Vlan"):
        own = [(line, int(line.text.split()[1])) for line in block.children if re.fullmatch(r"mtu \d{2,5}", line.text)]
        at = reader.note(own[-1][0] if own else block, "interface", name, "mtu")
        found.vlan_mtus[name.removeprefix("Vlan")] = Stated(str(own[-1][1] if own else mtu), at)
        for line, _ in own:
            line.used = line.judged = True


def _walk(root: Line) -> Iterator[tuple[Line, Where, Line]]:
    """Every line with its path and its block; below a line that is not used, nothing."""
    waiting: list[tuple[Line, Where, Line]] = [(line, (line.text,), root) for line in reversed(root.children)]
    while waiting:
        line, path, block = waiting.pop()
        yield line, path, block
        if line.used and line.judged:
            waiting += ((child, (*path, child.text), line) for child in reversed(line.children))


def _paths(line: Line, path: Where) -> Iterator[Where]:
    """Paths of a line and of all lines below it."""
    waiting = [(line, path)]
    while waiting:
        here, at = waiting.pop()
        yield at
        waiting += ((child, (*at, child.text)) for child in reversed(here.children))


def _listed(text: str) -> str:
    """A known line as it is listed: whole, but of a description the keyword, so that those of all ports are one row."""
    return "description" if text.startswith("description ") else _shown(text)


def _shown(text: str) -> str:
    """A line in an output: one line of visible characters, without its password."""
    return sentence(without_secret(text))


def numbers(text: str, high: int) -> list[int]:
    """'24-31,48' -> the numbers; nothing above `high`."""
    found: list[int] = []
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if (
            first.isascii()
            and first.isdigit()
            and len(first) < 6
            and (not last or (last.isascii() and last.isdigit() and len(last) < 6))
        ):
            found += [n for n in range(int(first), int(last or first) + 1) if n <= high]
    return found
