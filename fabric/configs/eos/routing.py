"""Arista EOS: addresses, BGP with its address families, VXLAN and anycast gateways of a running-config.

Source: EOS user manual, chapters "Border Gateway Protocol (BGP)", "VXLAN" and "EVPN"; AVD's eos_cli schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from fabric.configs.identity import Stated, Vni, canonical_mac, cluster_of
from fabric.configs.model import Meant, Tunnel, Where
from fabric.configs.policy import Use
from fabric.configs.running_config.filters import read_filters
from fabric.configs.running_config.interior import read_interior
from fabric.configs.running_config.policy import read_aggregates, read_defaults, read_policies
from fabric.configs.running_config.reader import (
    IPV4_ADDRESS,
    Line,
    TextReader,
    Timers,
    note_target,
    numbers,
    read_address,
    read_gateway,
    read_interface,
    seconds_of,
    session_of,
    shut_sessions,
)
from fabric.configs.running_config.reader import BgpNeighbor as Neighbor
from fabric.configs.running_config.requirements import (
    check_as,
    needs_hold_time,
    needs_one_tunnel,
    needs_primary,
    needs_vrf_first,
    needs_vrfs,
    read_tag,
)
from fabric.configs.running_config.routes import read_source_checks, read_static_routes
from fabric.configs.running_config.vlans import check_vlans, needs_no_switchport, note_vlans
from fabric.configs.text.port_ranges import interfaces_of
from fabric.configs.text.spelling import is_address, is_number, meant

_MAX_VLAN: Final = 4094
_MOST_HOPS: Final = 255
_MOST_ROUTES: Final = 2**32 - 2
"""`ebgp-multihop` without a number (EOS User Manual, BGP: neighbor ebgp-multihop)."""
_MAX_VNI: Final = 16_777_215
_NETWORK: Final = r"network (\S+)(?: mask (\d[\d.]+))?(?: route-map (\S+))?"
_ROUTED_MTU: Final = 1500
"""Of an interface of a VLAN that states none (EOS User Manual, "Ethernet Ports": mtu)."""


def read_routing(reader: TextReader) -> None:
    """Fill in addresses, sessions and identity of the device."""
    root, found = reader.root, reader.device.identity
    for line, match in root.find(r"interface ((?:Ethernet|Port-Channel|Loopback|Vlan)[\d/.]+)"):
        name = match[1]
        for _, word in line.find(r"vrf (?:forwarding )?(\S+)"):
            found.interface_vrfs[name] = word[1]
        for child, word in line.find(rf"ip address ({IPV4_ADDRESS})(?: secondary)?"):
            read_address(reader, child, name, word[1])
        for child, word in line.find(r"ipv6 address (\S+/\d+)"):
            read_address(reader, child, name, word[1])
        for child, word in line.find(r"vrf (?!definition|instance)(\S+)") if name.startswith("Vlan") else ():
            found.vrfs[name.removeprefix("Vlan")] = Stated(word[1], reader.note(child, "vrf", name))
        for child, word in line.find(r"ip (?:address virtual|virtual-router address) (\d\S*)(?: secondary)?"):
            read_gateway(reader, child, name, word[1])
        read_tag(reader, line, name)
        needs_primary(reader, line)
        needs_vrf_first(reader, line, r"vrf (?:forwarding )?\S+")
        read_interface(reader, line, name, _ROUTED_MTU)
        if not name.startswith("Ethernet"):
            line.accept(r"description .*|no autostate|no shutdown|mtu \d+")
    needs_vrfs(reader, r"vrf (?:forwarding )?(\S+)", r"vrf (?:instance|definition) (\S+)")
    for line, match in root.find(r"ip virtual-router mac-address ([0-9a-fA-F.:-]{12,17})"):
        found.gateway_mac = Stated(canonical_mac(match[1]), reader.note(line, "ip virtual-router mac-address"))
    read_policies(reader)
    read_static_routes(reader)
    read_source_checks(reader)
    read_interior(reader)
    read_filters(reader)
    check_vlans(reader)
    note_vlans(reader)
    vnis = _vxlan(reader)
    for block, _ in root.find(r"maintenance"):
        for unit, match in block.find(r"unit (\S+)"):
            for line, _ in unit.find(r"quiesce"):
                found.drained = Stated("quiesce", reader.note(line, "maintenance", f"unit {match[1]}", "quiesce"))
    for line, match in root.find(r"router bgp ([\d.]+)"):
        _bgp(reader, line, match[1], vnis)
    for line, _ in root.find(r"no router bgp.*"):
        found.bgp_withdrawn = Stated(line.text, reader.note(line, line.text))
    _check_encapsulation(reader)
    if found.vtep and not found.evpn:
        found.evpn = Stated("off", found.vtep.where)
    found.vnis = list(vnis.values())
    _check_routing(reader)
    _check_agents(reader)
    needs_no_switchport(reader)
    root.accept(r"(?:no )?spanning-tree .*|(?:no )?lldp (?:run|timer .*|holdtime .*|reinit .*)|(?:no )?aaa .*")
    root.accept(r"(?:no )?ip(?:v6)? (?:unicast-)?routing(?: vrf \S+)?|vrf instance \S+|service routing .*")
    for line, _ in root.find(r"vlan [\d,-]+"):  # what names a VLAN needs it
        line.accept(r".*")
    root.accept(r"transceiver (?:qsfp|osfp) default-mode .*")


def _check_encapsulation(reader: TextReader) -> None:
    """A defect (R9) for EVPN routes that say MPLS (RFC 8365 section 5.1.3), where a switch has a VXLAN tunnel."""
    tunnel = any(line.text == "interface Vxlan1" for line in reader.root.children)
    blocks = [it for line in reader.root.children if line.text.startswith("router bgp ") for it in line.children]
    for block in blocks if tunnel else ():
        for line, _ in block.find(r"neighbor \S+ encapsulation mpls.*") if block.text == "address-family evpn" else ():
            text = f"'{line.text[:60]}': routes of its VNIs leave as those of MPLS, which no VXLAN tunnel uses"
            reader.defect(line, line.text, text, "R9")


def _check_agents(reader: TextReader) -> None:
    """A defect (R9) for EVPN with the routing model of one agent, which has no such family.

    Source: EOS user manual, "EVPN": `service routing protocols model multi-agent`.
    """
    families = (it for line in reader.root.children for it in line.children if it.text == "address-family evpn")
    evpn = next(families, None)
    for line, _ in reader.root.find(r"service routing protocols model ribd") if evpn is not None else ():
        reader.defect(line, line.text, f"'{line.text}': BGP EVPN needs the model multi-agent", "R9")


def _check_routing(reader: TextReader) -> None:
    """A defect (R9) for each L3 VNI whose VRF does not route, which is EOS's default; not in a part of a file."""
    vrfs = {match[1]: line for line, match in reader.root.find(r"vrf instance (\S+)")}
    on = {match[1] for _, match in reader.root.find(r"ip routing(?: vrf (\S+))?")}
    for line in reader.root.children if None not in on and _routes(reader) else ():
        if line.text.startswith("router bgp "):
            text = "'ip routing' is missing: EOS routes nothing without it, and BGP installs no route"
            where = reader.note(line, "ip routing")
            reader.defect(line, line.text, text, "R9", where, (Meant((), ("ip routing",)),))
            reader.device.identity.no_routing = Stated(line.text, where)
    for vni in reader.device.identity.routed_vnis if on else ():
        if vni.vrf not in on and vni.vrf in vrfs:
            line = vrfs[vni.vrf]
            text = f"'ip routing vrf {vni.vrf}' is missing, and VNI {vni.number} routes in this VRF"
            where = reader.note(line, "ip routing", vni.vrf)
            reader.defect(line, line.text, text, "R9", where, (Meant((), (f"ip routing vrf {vni.vrf}",)),))
            reader.device.identity.unrouted_vrfs[vni.vrf] = where


def _routes(reader: TextReader) -> bool:
    """Whether the file is a whole one of a switch that routes: it names the switch and its routed ports."""
    texts = {line.text for line in reader.root.children}
    routed = any("no switchport" in {it.text for it in line.children} for line in reader.root.children)
    return routed and any(text.startswith("hostname ") for text in texts)


def _vxlan(reader: TextReader) -> dict[tuple[str, str], Vni]:
    """(VLAN, VNI) to the mapping."""
    vnis: dict[tuple[str, str], Vni] = {}
    found = reader.device.identity
    needs_one_tunnel(reader, "Vxlan")
    for line, _ in reader.root.find(r"interface Vxlan1"):
        where = reader.note(line, "interface", "Vxlan1")
        for child, match in line.find(r"vxlan source-interface (\S+)"):
            found.vtep = Stated(match[1], reader.note(child, *where, "vxlan source-interface"))
            reader.device.tunnels["Vxlan1"] = Tunnel("Vxlan1", where, source=match[1])
        for child, match in line.find(r"vxlan vlan (?:add )?([\d,-]+) vni ([\d,-]+)"):
            vlans, segments = numbers(match[1], _MAX_VLAN), _segments(match[2])
            if len(vlans) != len(segments) or not vlans:
                reader.defect(child, "Vxlan1", f"{len(vlans)} VLANs and {len(segments)} VNIs")
            for vlan, number in zip(vlans, segments, strict=False):
                at = reader.note(child, *where, f"vxlan vlan {vlan}")
                vnis[str(vlan), number] = Vni(number, at, str(vlan), in_bgp=False, targets_where=at)
        for child, match in line.find(r"vxlan vrf (\S+) vni (\d+)"):
            if reader.number(child, match[2], 1, _MAX_VNI, "VNI") is not None:
                at = reader.note(child, *where, f"vxlan vrf {match[1]}")
                found.routed_vnis.append(Vni(match[2], at, in_bgp=False, targets_where=at, vrf=match[1]))
        for child, match in line.find(r"vxlan virtual-router encapsulation mac-address ([0-9a-fA-F.:]+)"):
            found.mac = Stated(canonical_mac(match[1]), reader.note(child, *where, "virtual-router mac"))
        for child, match in line.find(r"vxlan udp-port (\d+)"):
            found.vxlan_port = Stated(match[1], reader.note(child, *where, "vxlan udp-port"))
        for child, match in line.find(r"vxlan (?:vlan [\d,-]+ )?flood vtep (?:add )?([\d. ]+)"):
            for address in match[1].split():
                at = reader.note(child, *where, "vxlan flood vtep", address)
                found.flooded.append(Stated(address, at))
        line.accept(r"description .*|vxlan virtual-router .*")
        found.vtep_up = not line.has(r"shutdown")
    return vnis


def _segments(text: str) -> list[str]:
    """'10100-10102,20000' -> the VNIs."""
    found: list[str] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if is_number(first, 8) and (not last or is_number(last, 8)):
            found += [str(number) for number in range(int(first), min(int(last or first), int(first) + _MAX_VLAN) + 1)]
    return found


@dataclass(slots=True)
class _Bgp:
    """Neighbours and peer groups while they are read."""

    peers: dict[str, Neighbor] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)

    def of(self, name: str) -> Neighbor:
        """The neighbour or group of this name."""
        return self.peers.setdefault(name, Neighbor())


def _bgp(reader: TextReader, block: Line, asn: str, vnis: dict[tuple[str, str], Vni]) -> None:
    device, found = reader.device, reader.device.identity
    device.asn, found.asn_where = asn, reader.note(block, "router bgp", asn)
    for line, match in block.find(r"router-id (\S+)"):
        found.router_id = Stated(match[1], reader.note(line, "router bgp", "router-id"))
    for line, match in block.find(r"bgp cluster-id (\S+)"):
        found.cluster_id = Stated(cluster_of(match[1]), reader.note(line, "router bgp", "bgp cluster-id"))
    bgp = _Bgp()
    networks, connected = _instance(reader, block, bgp, "")
    found.networks, found.redistributes_connected = frozenset(networks), connected
    if any("evpn" in (it.families or ()) for it in device.sessions):
        found.evpn = Stated("on", found.asn_where)
    _instances(reader, block, vnis)
    for line, match in block.find(r"vrf (\S+)"):
        _vrf(reader, line, match[1], bgp)
    shut_sessions(reader, block)


def _vrf(reader: TextReader, block: Line, name: str, bgp: _Bgp) -> None:
    """A VRF's sessions, and the targets of its L3 VNI."""
    groups = {it: bgp.peers[it] for it in bgp.groups if it in bgp.peers}
    vni = next((it for it in reader.device.identity.routed_vnis if it.vrf == name), None)
    if vni is not None:
        vni.in_bgp = True
        for line, match in block.find(r"rd (\S+)"):
            vni.distinguisher, vni.distinguisher_where = match[1], reader.note(line, "router bgp", "vrf", name, "rd")
        for line, match in block.find(r"route-target (both|import|export)(?: evpn| vpn-ipv4)? (\S+)"):
            vni.targets_where = reader.note(line, "router bgp", "vrf", name, "route-target")
            note_target(reader, line, vni, match[1], match[2], *vni.targets_where)
            vni.imports |= {match[2]} if match[1] != "export" else set()
            vni.exports |= {match[2]} if match[1] != "import" else set()
        vni.imports_nothing, vni.exports_nothing = not vni.imports, not vni.exports
    block.accept(r"rd .*|route-target .*|router-id .*")
    _instance(reader, block, _Bgp(groups, set(groups)), name)


def _instance(reader: TextReader, block: Line, bgp: _Bgp, vrf: str) -> tuple[set[str], bool]:
    """Add the sessions of a VRF; the networks it states, and whether it redistributes connected ones."""
    timers: Timers = (None, None, ())
    at = ("router bgp", *((vrf,) if vrf else ()))
    needs_hold_time(reader, block)
    for line, match in block.find(r"timers bgp (\d+) (\d+)(?P<rest> .*)?"):
        timers = (*seconds_of(reader, line, match[1], match[2]), reader.note(line, *at, "timers bgp"))
    default_ipv4 = not block.has(r"no bgp default ipv4-unicast")
    for line, match in block.find(r"neighbor interface (\S+) peer-group (\S+)(?: remote-as (\S+))?(?P<rest> .*)?"):
        for name in _ports(match[1]):
            bgp.peers[name] = Neighbor(reader.note(line, *at, f"neighbor {name}"), match[3] or "", match[2])
    for line, match in block.find(r"neighbor (\S+) (.+)"):
        if match[1] != "interface":
            _neighbor(reader, line, bgp, match[1], match[2])
    reader.device.identity.listens |= block.has(r"bgp listen range .*")
    activated: dict[str, set[str]] = {}
    off: dict[str, set[str]] = {}
    networks = _networks(reader, block, vrf)
    connected = _redistributed(reader, block, vrf)
    if not vrf:
        read_aggregates(reader, block)
        read_defaults(reader, block)
        for line, match in block.find(r"distance bgp (\d+)(?: \d+ \d+)?"):
            reader.device.identity.distance = Stated(match[1], reader.note(line, "router bgp", "distance bgp"))
    for line, match in block.find(r"address-family (\S+)(?: unicast)?"):
        for _, word in line.find(r"neighbor (\S+) activate"):
            activated.setdefault(word[1], set()).add(match[1])
        if match[1] == "ipv4":
            networks |= _networks(reader, line, vrf)
            if not vrf:
                read_aggregates(reader, line)
                read_defaults(reader, line, line.text)
        connected |= _redistributed(reader, line, vrf)
        for _, word in line.find(r"no neighbor (\S+) activate"):
            off.setdefault(word[1], set()).add(match[1])
        for child, word in line.find(r"neighbor (\S+) (route-map|prefix-list) (\S+) (in|out)"):
            at_line = reader.note(child, *at, match[1], f"neighbor {word[1]} {word[2]} {word[4]}")
            bgp.of(word[1]).policies += (Use(match[1], word[4] == "in", word[3], at_line, word[2]),)
        line.accept(r"neighbor .*|no neighbor .*|host-flap .*|redistribute .*|bgp .*")
    for name, peer in bgp.peers.items():
        if name in bgp.groups or not (is_address(name) or name.startswith(_PORTS)):
            if name not in bgp.groups and name[:1].isdigit() and peer.where:
                text = f"'{name[:60]}' is no address of a neighbour"
                reader.defect(block, f"neighbor {name}"[:120], text, root=peer.where)
            continue
        group = bgp.peers.get(peer.group)
        if peer.group and group is None:
            near = meant(peer.group, frozenset(bgp.groups & bgp.peers.keys()))
            text = f"peer group '{peer.group[:60]}' of neighbor {name} is not in the file{near}"
            reader.defect(block, f"neighbor {name}", text, "R1", (*peer.where, "peer group"))
        families = set(activated.get(name, ())) | set(activated.get(peer.group, ()))
        families |= {"ipv4"} if default_ipv4 else set()
        families -= off.get(name, set()) | (off.get(peer.group, set()) - activated.get(name, set()))
        whole = peer.over(group)
        reader.device.sessions.append(session_of(reader.device, name, whole, frozenset(families), timers, vrf))
    block.accept(r"no neighbor .*|bgp .*|no bgp .*|timers .*|redistribute .*|distance .*|graceful.*")
    return networks, connected


def _networks(reader: TextReader, block: Line, vrf: str) -> set[str]:
    """Prefixes of network statements, whose length may be a mask; of the default VRF, their route maps are kept."""
    found = set()
    for line, match in block.find(_NETWORK):
        prefix = f"{match[1]}/{match[2]}" if match[2] else match[1]
        found.add(prefix)
        if match[3] and not vrf:
            at = reader.note(line, "router bgp", f"network {prefix}", "route-map")
            reader.device.identity.network_maps[prefix] = match[3], at
    return found


def _redistributed(reader: TextReader, block: Line, vrf: str) -> bool:
    """Whether connected routes get into BGP; the route map that filters them is kept."""
    found = False
    for line, match in block.find(r"redistribute connected(?: route-map (\S+))?"):
        found = True
        if match[1] and not vrf:
            at = reader.note(line, "router bgp", "redistribute connected")
            reader.device.identity.policies.redistribution = match[1], at
    return found


def _ports(text: str) -> list[str]:
    """Interfaces of 'Et1/1-4/1,Po5' by their whole names; a running-config writes them short."""
    whole = re.sub(r"(?<![A-Za-z-])(Et|Po|Vl)(?=\d)", lambda match: _SHORT[match[1]], text)
    return interfaces_of(whole)[0] or [text]


_SHORT: Final = {"Et": "Ethernet", "Po": "Port-Channel", "Vl": "Vlan"}
_PORTS: Final = tuple(_SHORT.values())


def _neighbor(reader: TextReader, line: Line, bgp: _Bgp, name: str, text: str) -> None:
    words = text.split()
    if name == "interface":
        reader.device.identity.unnumbered = reader.note(line, "router bgp", "neighbor interface")
        line.used = False
        return
    peer = bgp.of(name)
    peer.where = peer.where or reader.note(line, "router bgp", f"neighbor {name}")
    peer.places[words[0]] = reader.note(line, "router bgp", f"neighbor {name}", words[0])
    match words:
        case ["peer", "group"]:
            bgp.groups.add(name)
        case ["peer", "group", group] | ["peer-group", group]:
            peer.group = group
            bgp.groups.add(group)
        case ["peer-group"]:
            bgp.groups.add(name)
        case ["remote-as", asn]:
            peer.asn = asn
            check_as(reader, line, name, asn)
            peer.where = reader.note(line, "router bgp", f"neighbor {name}")
        case ["shutdown"]:
            peer.up = False
        case ["send-community", *kinds]:
            peer.communities = not kinds or bool({"extended", "all"} & set(kinds))
            peer.standard = frozenset(("",)) if not kinds or {"standard", "all"} & set(kinds) else frozenset()
        case ["next-hop-unchanged"]:
            peer.keeps_next_hop = True
        case ["timers", keepalive, hold] if keepalive[:1].isdigit():
            peer.keepalive_s, peer.hold_s = seconds_of(reader, line, keepalive, hold)
        case ["allowas-in", *_]:
            peer.allows_own_as = True
        case ["route-map" | "prefix-list" as kind, policy, "in" | "out" as way]:
            at = reader.note(line, "router bgp", f"neighbor {name} {kind} {way}")
            family = "ipv4" if kind == "prefix-list" else ""
            peer.policies += (Use(family, way == "in", policy, at, kind),)
        case ["route-reflector-client"]:
            peer.reflects = True
        case ["next-hop-self"]:
            peer.sets_next_hop = True
        case ["update-source", interface]:
            peer.source = interface
        case ["ttl", "maximum-hops", hops] if hops[:1].isdigit():
            between = reader.number(line, hops, 0, _MOST_HOPS, "ttl maximum-hops")
            peer.hops = None if between is None else between + 1  # RFC 5082: so many routers between the two
            peer.ttl_security = Stated(hops, reader.note(line, "router bgp", f"neighbor {name} ttl maximum-hops"))
        case ["local-as", asn, *words] if "fallback" not in words:
            peer.local_as = Stated(asn, reader.note(line, "router bgp", f"neighbor {name} local-as"))
        case ["maximum-routes", limit, *words] if limit[:1].isdigit() and "warning-only" not in words:
            most = reader.number(line, limit, 0, _MOST_ROUTES, "maximum-routes")
            at = reader.note(line, "router bgp", f"neighbor {name} maximum-routes")
            peer.max_prefixes = Stated(limit if most else "", at)
        case ["password", *_]:
            peer.password = True
        case ["bfd"]:
            peer.bfd = True
        case ["passive"]:
            peer.passive = True
        case ["ebgp-multihop", *ttl] if not ttl or ttl[0][:1].isdigit():
            peer.hops = reader.number(line, ttl[0], 1, _MOST_HOPS, "ebgp-multihop") if ttl else _MOST_HOPS
        case _:  # known, and nothing is judged by it
            line.judged = False


def _instances(reader: TextReader, block: Line, vnis: dict[tuple[str, str], Vni]) -> None:
    """MAC-VRFs: `vlan N`, and `vlan-aware-bundle NAME` with its VLANs."""
    for line, match in block.find(r"(?:vlan (\d+)|vlan-aware-bundle \S+)"):
        vlans = (
            {match[1]}
            if match[1]
            else {str(it) for _, word in line.find(r"vlan ([\d,-]+)") for it in numbers(word[1], _MAX_VLAN)}
        )
        imports, exports = set(), set()
        where: Where = reader.note(line, "router bgp", line.text)
        at = where
        stated = Vni("", where)
        for child, word in line.find(r"route-target (both|import|export)(?: evpn)? (\S+)"):
            at = reader.note(child, *where, "route-target")
            note_target(reader, child, stated, word[1], word[2], *at)
            imports |= {word[2]} if word[1] != "export" else set()
            exports |= {word[2]} if word[1] != "import" else set()
        rds = list(line.find(r"rd (\S+)"))
        distinguisher = "".join(word[1] for _, word in rds)
        rd_where = reader.note(rds[-1][0], "router bgp", line.text, "rd") if rds else ()
        learned = line.has(r"redistribute learned")
        line.accept(r"redistribute .*|rd .*|route-target .*")
        for (vlan, _), vni in vnis.items():
            if vlan in vlans:
                vni.distinguisher = distinguisher if match[1] else ""  # a bundle is one MAC-VRF
                vni.distinguisher_where = rd_where
                vni.in_bgp, vni.imports, vni.exports = True, frozenset(imports), frozenset(exports)
                vni.imports_nothing, vni.exports_nothing = not imports, not exports  # EOS derives none unasked
                vni.targets_where, vni.target_where, vni.learned = at, stated.target_where, learned
