"""FRR: the instances of BGP with their neighbours, address families and VNIs.

A neighbour's own setting goes before that of its group. What FRR does without a line: IPv4 unicast is active for every
neighbour, communities of both kinds are sent, the next hop of EVPN routes is kept, external sessions cross one hop.
Source: FRR user guide, "BGP" and "EVPN"; bgpd of 8.4.4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Final

from fabric.configs.frr.grammar import is_peer
from fabric.configs.identity import NOTHING, Stated, Vni, cluster_of
from fabric.configs.model import Defect, Meant, Session, Where
from fabric.configs.policy import Use
from fabric.configs.running_config.policy import read_aggregates, read_defaults
from fabric.configs.running_config.reader import Line, TextReader, note_target, seconds_of
from fabric.configs.text.spelling import is_address, meant, slip_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_FAMILY: Final = r"address-family (?:(ipv4|ipv6)(?: unicast)?|l2vpn evpn)"
"""vtysh writes 'ipv4 unicast', and takes 'ipv4' for it: SONiC's templates write that."""
_MOST_HOPS: Final = 255
_MOST_ROUTES: Final = 2**32 - 1
_INSTANCE: Final = r"router bgp (\d+)(?: (?:vrf (\S+)|view \S+))?(?: as-notation \S+)?"
_UNICAST: Final = re.compile(
    r"(?:activate|route-map|prefix-list|filter-list|distribute-list|allowas-in|route-reflector-client|next-hop-self|"
    r"send-community|maximum-prefix)\b.*"
)
"""What a neighbour's line says of IPv4 unicast where it stands outside of the address families (FRR before 3)."""
_KNOWN: Final = (
    r"(?:no )?bgp .*|timers .*|(?:no )?neighbor \S+ .*|coalesce-time .*|read-quanta .*|"
    r"write-quanta .*|no ipv6 .*|(?:no )?maximum-paths .*|address-family .*|distance .*"
)
_OF_FAMILY: Final = (
    r"soft-reconfiguration .*|(?:no )?neighbor \S+ .*|advertise .*|(?:no )?dampening.*|distance .*|"
    r"import .*|export .*|label .*|rd .*|rt .*|route-target .*|dup-addr-detection.*|flooding .*|advertise-.*|use-.*"
)


@dataclass(slots=True)
class _Peer:
    """A neighbour or a group while its lines are read; what no line states is None or empty."""

    where: Where = ()
    line: Line | None = None
    """The first one outside of the address families."""
    asn: str = ""
    group: str = ""
    interface: bool = False
    up: bool = True
    source: str = ""
    timers: tuple[int | None, int | None] | None = None
    hops: int | None = None
    password: str = ""
    bfd: bool = False
    passive: bool = False
    local_as: Stated = NOTHING
    ttl_security: Stated = NOTHING
    active: dict[str, bool] = field(default_factory=dict)
    """Address family to whether a line activates it, or takes that back."""
    policies: list[Use] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    """'allowas-in', 'route-reflector-client', 'next-hop-self evpn', 'next-hop-self ipv4'."""
    communities: dict[str, set[str]] = field(default_factory=dict)
    """Address family to the kinds that `no` lines take back."""
    max_prefixes: Stated = NOTHING
    places: dict[str, Where] = field(default_factory=dict)
    """Words of a setting to the place of its line."""
    mentions: list[tuple[Line, Where]] = field(default_factory=list)
    """Its lines in address families, each with its path."""


@dataclass(slots=True)
class _Instance:
    """One instance while it is read."""

    vrf: str
    header: str
    """The line that opens it."""
    peers: dict[str, _Peer] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)
    default_ipv4: bool = True
    timers: tuple[int | None, int | None] = (None, None)

    def of(self, name: str) -> _Peer:
        """The neighbour or group of this name."""
        return self.peers.setdefault(name, _Peer())


def read_instances(reader: TextReader, traditional: Line | None) -> None:
    """Fill in AS number, router ID, sessions, networks and VNIs' targets. `traditional`: the line of these defaults."""
    for block, match in reader.root.find(_INSTANCE):
        vrf = "" if match[2] in {None, "default"} else match[2]
        instance = _Instance(vrf, block.text)
        if not vrf:
            _default_instance(reader, block, match[1], traditional)
        for line, word in block.find(r"timers bgp (\d+) (\d+)"):
            instance.timers = seconds_of(reader, line, word[1], word[2])
        instance.default_ipv4 = not block.has(r"no bgp default ipv4-unicast")
        at = ("router bgp", *((instance.vrf,) if instance.vrf else ()))
        for line, word in block.find(r"(no )?neighbor (\S+) (.+)"):
            if _UNICAST.fullmatch(word[3]):
                _of_family(reader, line, instance.of(word[2]), "ipv4", (*at, word[2]), word[3], off=bool(word[1]))
            else:
                _neighbor(reader, line, instance, word[2], word[3], off=bool(word[1]))
        if not vrf:
            _unicast(reader, block, at)
        reader.device.identity.listens |= block.has(r"bgp listen range .*")
        for line, word in block.find(_FAMILY):
            _family(reader, line, instance, word[1] or "evpn")
        reader.device.sessions += _sessions(reader, instance)
        if block.has(r"bgp shutdown(?: .*)?"):
            where = reader.note(block, "router bgp", "bgp shutdown")
            reader.device.sessions[:] = [replace(it, up=False, where=where) for it in reader.device.sessions]
        block.accept(_KNOWN)


def _default_instance(reader: TextReader, block: Line, asn: str, traditional: Line | None) -> None:
    device, found = reader.device, reader.device.identity
    device.asn, found.asn_where = asn, reader.note(block, "router bgp", asn)
    for line, match in block.find(r"bgp router-id (\S+)"):
        found.router_id = Stated(match[1], reader.note(line, "router bgp", "bgp router-id"))
    for line, match in block.find(r"bgp cluster-id (\S+)"):
        found.cluster_id = Stated(cluster_of(match[1]), reader.note(line, "router bgp", "bgp cluster-id"))
    for line, _ in block.find(r"bgp graceful-shutdown"):
        found.drained = Stated("bgp graceful-shutdown", reader.note(line, "router bgp", "bgp graceful-shutdown"))
    found.networks, found.redistributes_connected = frozenset(), False
    # RFC 8212, which 'frr defaults traditional' follows since FRR 7.4, and 'datacenter' does not
    for line, _ in block.find(r"bgp ebgp-requires-policy"):
        found.requires_policy = Stated("bgp ebgp-requires-policy", reader.note(line, "router bgp", "requires-policy"))
    if traditional is not None and not found.requires_policy and not block.has(r"no bgp ebgp-requires-policy"):
        found.requires_policy = Stated(traditional.text, reader.note(traditional, "frr defaults"))


def _neighbor(reader: TextReader, line: Line, instance: _Instance, name: str, text: str, *, off: bool) -> None:
    """A line of a neighbour outside of the address families."""
    peer = instance.of(name)
    at = ("router bgp", *((instance.vrf,) if instance.vrf else ()), f"neighbor {name}")
    if off:
        line.judged = False
        return
    where = reader.note(line, *at)
    peer.where, peer.line = peer.where or where, peer.line or line
    setting = "remote-as" if " remote-as " in f" {text} " else text.split(maxsplit=1)[0]
    peer.places[setting] = reader.note(line, *at, setting)
    match text.split():
        case ["peer-group"]:
            instance.groups.add(name)
        case ["peer-group", group]:
            peer.group = group
        case ["interface", *words]:
            peer.interface = True
            words = [it for it in words if it != "v6only"]
            pairs = dict(zip(words[::2], words[1::2], strict=False))
            peer.group, peer.asn = pairs.get("peer-group", peer.group), pairs.get("remote-as", peer.asn)
        case ["remote-as", asn]:
            if not re.fullmatch(r"\d+(?:\.\d+)?|internal|external|auto", asn):
                reader.defect(line, f"neighbor {name}|remote-as", f"'{asn[:40]}' is no AS number")
                return
            peer.asn = asn
        case ["shutdown", *_]:
            peer.up = False
        case ["update-source", source]:
            peer.source = source
        case ["timers", keepalive, hold] if keepalive != "connect":
            peer.timers = seconds_of(reader, line, keepalive, hold)
        case ["ebgp-multihop", *hops]:
            peer.hops = reader.number(line, hops[0], 1, _MOST_HOPS, "ebgp-multihop") if hops else _MOST_HOPS
        case ["ttl-security", "hops", hops]:
            if reader.number(line, hops, 1, 254, "ttl-security hops") is not None:
                peer.hops, peer.ttl_security = int(hops), Stated(hops, reader.note(line, *at, "ttl-security"))
        case ["disable-connected-check"]:
            peer.hops = max(peer.hops or 0, 2)
        case ["local-as", asn, *_]:
            peer.local_as = Stated(asn, reader.note(line, *at, "local-as"))
        case ["password", *_]:
            peer.password = text.removeprefix("password ")
        case ["bfd", *_]:
            peer.bfd = True
        case ["passive"]:
            peer.passive = True
        case _:  # known, and nothing is judged by it: description, advertisement-interval, capability, ...
            line.judged = False


def _family(reader: TextReader, block: Line, instance: _Instance, family: str) -> None:
    at = ("router bgp", *((instance.vrf,) if instance.vrf else ()), block.text)
    for line, match in block.find(r"(no )?neighbor (\S+) (.+)"):
        peer = instance.of(match[2])
        peer.mentions += [] if match[1] else [(line, (instance.header, block.text, line.text))]
        _of_family(reader, line, peer, family, (*at, match[2]), match[3], off=bool(match[1]))
    if family == "ipv4" and not instance.vrf:
        _unicast(reader, block, at)
    if family == "evpn":
        _evpn(reader, block, instance.vrf, at, instance.header)
    block.accept(_OF_FAMILY)


def _unicast(reader: TextReader, block: Line, at: Where) -> None:
    """Prefixes and paths of IPv4 unicast: in its address family, or in the instance itself."""
    found = reader.device.identity
    for line, match in block.find(r"network (\S+)(?: mask (\S+))?(?: route-map (\S+))?(?: label-index \d+)?"):
        prefix = _prefix(match[1], match[2])
        if prefix is None:
            reader.defect(line, f"network {match[1][:40]}", f"'{match[2]}' is no mask of an IPv4 prefix")
            continue
        found.networks |= {prefix}
        if match[3]:
            found.network_maps[prefix] = match[3], reader.note(line, *at, f"network {match[1]}", "route-map")
    for line, match in block.find(r"redistribute connected(?: metric \d+)?(?: route-map (\S+))?"):
        found.redistributes_connected = True
        if match[1]:
            found.policies.redistribution = match[1], reader.note(line, *at, "redistribute connected")
    for line, match in block.find(r"maximum-paths (\d+)"):
        reader.device.multipath = reader.number(line, match[1], 1, 65_535, "maximum-paths")
        reader.note(line, "maximum-paths")
    for line, match in block.find(r"distance bgp (\d+) \d+ \d+"):
        found.distance = Stated(match[1], reader.note(line, *at, "distance bgp"))
    read_aggregates(reader, block)
    read_defaults(reader, block, *at[1:])
    block.accept(r"redistribute .*|maximum-paths ibgp .*")


def _prefix(word: str, mask: str | None) -> str | None:
    """The prefix of a `network` line; None: the mask is none. An address alone has the length of its class, as bgpd
    gives it one (FRR lib/prefix.c, netmask_str2prefix_str).
    """
    if "/" in word or not is_address(word) or ":" in word:
        return word
    first = int(word.partition(".")[0])
    of_class = 0 if not int(IPv4Address(word)) else 8 if first < 128 else 16 if first < 192 else 24
    try:
        return str(IPv4Network(f"{word}/{mask or of_class}", strict=False))
    except ValueError:
        return None


def _of_family(  # what one line says of a neighbour in a family
    reader: TextReader, line: Line, peer: _Peer, family: str, at: Where, text: str, *, off: bool
) -> None:
    match text.split():
        case ["activate"]:
            peer.active[family] = not off
        case ["route-map" | "prefix-list" as kind, name, "in" | "out" as way] if not off:
            peer.policies.append(Use(family, way == "in", name, reader.note(line, *at, f"{kind} {way}"), kind))
        case ["allowas-in", *_] | ["route-reflector-client"] if not off:
            peer.flags.add(text.split(maxsplit=1)[0])
        case ["next-hop-self", *_] if not off:
            peer.flags.add(f"next-hop-self {family}")
        case ["send-community", *kinds] if off:
            peer.communities.setdefault(family, set()).update(kinds or ["standard"])
        case ["maximum-prefix", limit, *words] if not off and "warning-only" not in words and family == "ipv4":
            if reader.number(line, limit, 1, _MOST_ROUTES, "maximum-prefix") is not None:
                peer.max_prefixes = Stated(limit, reader.note(line, *at, "maximum-prefix"))
        case _:  # known, and nothing is judged by it
            line.judged = False


def _evpn(reader: TextReader, block: Line, vrf: str, at: Where, header: str) -> None:
    """`advertise-all-vni`, and the targets of single VNIs and of a VRF's."""
    found = reader.device.identity
    if not vrf and found.vnis and not block.has(r"advertise-all-vni"):
        found.evpn = Stated("off", reader.note(block, *at, "advertise-all-vni"))
    by_number = {vni.number: vni for vni in (*found.vnis, *found.routed_vnis)}
    blocks = {match[1]: part for part, match in block.find(r"vni (\d+)")}
    unknown = blocks.keys() - by_number.keys()
    for number, part in blocks.items():
        vni, where = by_number.get(number), (*at, f"vni {number}")
        if vni is None:
            found.loose_where[number] = reader.note(part, *where)
            root = found.unnamed_vni({*blocks})
            new: tuple[Meant, ...] = ()
            if root and len(unknown) == 1:  # the one block and the one VNI that have no counterpart
                vni = next(it for it in by_number.values() if it.where == root)
                new = _renumbered((header, block.text), part, vni.number)
            near = f" (did you mean '{vni.number}'?)" if vni is not None else ""
            text = f"names a VNI that no VLAN and no VRF has{near}"
            reader.defect(part, f"vni {number}", text, "R1", root, new)
        if vni is not None:
            _targets(reader, part, vni, where)
        part.accept(r"advertise-.*")
    own = next((it for it in found.routed_vnis if vrf and it.vrf == vrf), None)
    if own is not None:
        _targets(reader, block, own, at)


def _renumbered(above: Where, part: Line, number: str) -> tuple[Meant, ...]:
    """A block of a VNI with another number, and the lines in it."""
    new = (*above, f"vni {number}")
    below = (line.text for line in part.children if line.text != "exit-vni")
    return Meant((*above, part.text), new), *(Meant((), (*new, it)) for it in below)


def _targets(reader: TextReader, block: Line, vni: Vni, at: Where) -> None:
    for line, match in block.find(r"rd (\S+)"):
        vni.distinguisher, vni.distinguisher_where = match[1], reader.note(line, *at, "rd")
    for line, match in block.find(r"route-target (both|import|export) (\S+)"):
        vni.targets_where = reader.note(line, *at, "route-target")
        note_target(reader, line, vni, match[1], match[2], *vni.targets_where[1:])
        vni.imports |= {match[2]} if match[1] != "export" else set()
        vni.exports |= {match[2]} if match[1] != "import" else set()


def _sessions(reader: TextReader, instance: _Instance) -> Iterable[Session]:
    for name, own in instance.peers.items():
        if name in instance.groups:
            continue
        if own.line is None:
            _unknown_peer(reader, instance, name, own)
            continue
        at = f"neighbor {name}"
        if not is_address(name) and not own.interface:
            if is_peer(name):  # else the line itself is refused (mistyped.py)
                text = f"no line creates '{name[:60]}' as a peer group or an interface, so bgpd refuses its lines"
                reader.defect(own.line, at, text, "R1", own.where)
            continue
        group = instance.peers.get(own.group) if own.group else None
        if own.group and own.group not in instance.groups:
            near = meant(own.group, frozenset(instance.groups))
            text = f"peer group '{own.group[:60]}' of {at} is not in the file{near}"
            reader.defect(own.line, at, text, "R1", (*own.where, "peer group"))
        if group is not None:
            _refuse_own_as(reader, name, own, group)
        source = next((it.source for it in (own, *([group] if group is not None else [])) if it.source), "")
        if source and _is_missing(reader, source):
            text = f"interface '{source[:60]}', which {at} is reached from, has no address in the files"
            reader.defect(own.line, at, text, "R1", (*own.where, "update-source"))
        yield _session(reader, instance, name, [own, *([group] if group is not None else [])])


def _refuse_own_as(reader: TextReader, name: str, own: _Peer, group: _Peer) -> None:
    """A defect (R9) for a member's own AS number where its group has one, which bgpd takes in any order of the lines.

    It refuses a later one ("Peer-group member cannot override remote-as of peer-group"), and drops an earlier one
    without a word (bgpd/bgpd.c, peer_remote_as and peer_group2peer_config_copy; measured with 8.4.4).
    """
    at = own.places.get("remote-as")
    if at is None or not own.group or not group.asn:
        return
    if own.asn != group.asn:
        text = (
            f"bgpd does not take {own.asn} as the AS number of {name[:60]}: its group {own.group[:60]} has {group.asn}"
        )
        reader.device.defects.append(Defect("R9", at, f"neighbor {name}"[:120], text))
    del own.places["remote-as"]
    own.asn = ""


def _unknown_peer(reader: TextReader, instance: _Instance, name: str, own: _Peer) -> None:
    """A defect (R1) for lines in address families of a neighbour or a group that no line makes.

    bgpd answers "Specify remote-as or peer-group commands first" (bgpd/bgp_vty.c, peer_and_group_lookup_vty) and has
    none of them.
    """
    if not own.mentions or not is_peer(name):
        return
    known = frozenset(it for it, peer in instance.peers.items() if peer.line is not None)
    slip = slip_of(name, known) or slip_of(name, known, 2)
    near = f" (did you mean '{slip}'?)" if slip else ""
    text = f"no line makes '{name[:60]}' a neighbour or a peer group, so bgpd refuses its lines{near}"
    its = [(path, (*path[:-1], path[-1].replace(f" {name} ", f" {slip} ", 1))) for _, path in own.mentions]
    meant = tuple(Meant(old, new) for old, new in its) if slip else ()
    root = instance.peers[slip].where if slip else ()
    reader.defect(own.mentions[0][0], f"neighbor {name}", text, "R1", root, meant)


def _is_missing(reader: TextReader, source: str) -> bool:
    """Whether a source is an interface that the switch does not have. Linux's `lo` need not be in a file."""
    known = {it.lower() for it in (*reader.device.addresses, *reader.device.ports)}
    loopbacks = any(it.startswith("lo") for it in known)
    return loopbacks and not is_address(source) and source != "lo" and source.lower() not in known


def _session(reader: TextReader, instance: _Instance, name: str, its: list[_Peer]) -> Session:
    asn = next((it.asn for it in its if it.asn), "")
    number = reader.device.asn if asn == "internal" else asn if asn[:1].isdigit() else ""
    source = next((it.source for it in its if it.source), "")
    timers = next((it.timers for it in its if it.timers), instance.timers)
    numbered = is_address(name)
    active = {family: on for it in reversed(its) for family, on in it.active.items()}
    families = {family for family, on in ({"ipv4": instance.default_ipv4} | active).items() if on}
    lost = {family: kinds for it in its for family, kinds in it.communities.items()}
    flags = {flag for it in its for flag in it.flags}
    local = reader.device.addresses.get(source, (source if is_address(source) else "",))[0].partition("/")[0]
    group = its[1] if len(its) > 1 else _Peer()
    return Session(
        its[0].where,
        "",
        number,
        name if numbered else "",
        local,
        all(it.up for it in its),
        keepalive_s=timers[0],
        hold_s=timers[1],
        families=frozenset(families),
        extended_communities=not {"extended", "both", "all"} & lost.get("evpn", set()),
        community_families=frozenset(it for it in families if not {"standard", "both", "all"} & lost.get(it, set())),
        keeps_next_hop=False if "next-hop-self evpn" in flags else None,
        allows_own_as="allowas-in" in flags,
        vrf=instance.vrf,
        interface="" if numbered else name,
        external=asn == "external",
        policies=tuple(use for number_, it in enumerate(its) for use in it.policies if not _said(its[:number_], use)),
        reflects="route-reflector-client" in flags,
        sets_next_hop="next-hop-self ipv4" in flags,
        source=source,
        hops=next((it.hops for it in its if it.hops), 1),
        password=any(it.password for it in its),
        secret=next((it.password for it in its if it.password), ""),
        bfd=any(it.bfd for it in its),
        passive=any(it.passive for it in its),
        states_asn=bool(asn),
        local_as=next((it.local_as for it in its if it.local_as), NOTHING),
        ttl_security=next((it.ttl_security for it in its if it.ttl_security), NOTHING),
        max_prefixes=next((it.max_prefixes for it in its if it.max_prefixes), NOTHING),
        group_where=group.where,
        inherited_where=tuple(it for it in group.places.items() if it[0] not in its[0].places),
    )


def _said(before: list[_Peer], use: Use) -> bool:
    """Whether the neighbour itself states a policy of this family, direction and kind."""
    key = (use.family, use.inbound, use.kind)
    return any((it.family, it.inbound, it.kind) == key for peer in before for it in peer.policies)
