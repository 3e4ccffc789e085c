"""Cisco NX-OS: addresses, BGP with its address families, EVPN, the NVE interface and anycast gateways.

Source: Cisco Nexus 9000 NX-OS VXLAN Configuration Guide (BGP EVPN); Unicast Routing Configuration Guide (BGP).
"""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Final

from fabric.configs.identity import Stated, Vni, canonical_mac, cluster_of
from fabric.configs.model import Tunnel
from fabric.configs.policy import Use
from fabric.configs.running_config.filters import read_filters, read_vlan_filters
from fabric.configs.running_config.interior import read_interior
from fabric.configs.running_config.policy import below, read_aggregates, read_defaults, read_policies
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
from fabric.configs.text.spelling import is_address, meant

_MAX_VLAN: Final = 4094
_MAX_VNI: Final = 16_777_215
_AUTO_RD: Final = 32_767
"""`rd auto` of a VLAN is ROUTER-ID:(32767 + VLAN) (Nexus 9000 VXLAN Configuration Guide, "About RD Auto")."""
_ROUTED_MTU: Final = 1500
"""Of an interface of a VLAN that states none; the interface is shut unless a line says `no shutdown`
(Nexus 9000 Interfaces Configuration Guide, "Configuring Layer 3 Interfaces")."""


def read_routing(reader: TextReader) -> None:
    """Fill in addresses, sessions and identity of the device."""
    root, found = reader.root, reader.device.identity
    for line, match in root.find(r"interface ((?:Ethernet|port-channel|loopback|Vlan)[\d/.]+)"):
        for _, word in line.find(r"vrf member (\S+)"):
            found.interface_vrfs[match[1]] = word[1]
        anycast = line.has(r"fabric forwarding mode anycast-gateway")
        for child, word in line.find(r"ipv6 address (\S+/\d+)(?P<rest> .*)?"):
            read_address(reader, child, match[1], word[1])
        for child, word in line.find(rf"ip address ({IPV4_ADDRESS})(?: secondary)?(?P<rest> tag \d+)?"):
            if word["rest"]:
                found.tags[match[1], word[1].replace(" ", "/")] = word["rest"].split()[1]
                child.rest = ""
            if anycast:
                read_gateway(reader, child, match[1], word[1])
            else:
                read_address(reader, child, match[1], word[1])
        for child, word in line.find(r"vrf member (\S+)") if match[1].startswith("Vlan") else ():
            found.vrfs[match[1].removeprefix("Vlan")] = Stated(word[1], reader.note(child, "vrf", match[1]))
        read_tag(reader, line, match[1])
        needs_primary(reader, line)
        needs_vrf_first(reader, line, r"vrf member \S+")
        read_interface(reader, line, match[1], _ROUTED_MTU, down=True)
        if not match[1].startswith("Ethernet"):
            line.accept(r"description .*|no shutdown|mtu \d+|no ip redirects|no ipv6 redirects|ip forward")
    needs_vrfs(reader, r"vrf member (\S+)", r"vrf context (\S+)")
    for line, match in root.find(r"fabric forwarding anycast-gateway-mac ([0-9a-fA-F.:-]{12,17})"):
        found.gateway_mac = Stated(canonical_mac(match[1]), reader.note(line, "anycast-gateway-mac"))
    keeping = {
        match[1] for line, match in root.find(r"route-map (\S+) permit \d+") if line.has(r"set ip next-hop unchanged")
    }
    permits = {match[1] for _, match in root.find(r"route-map (\S+)(?: permit)?(?: \d+)?")}
    keeping |= {match[1] for _, match in root.find(r"route-map (\S+) deny \d+")} - permits  # passes nothing on
    read_policies(reader)
    read_static_routes(reader)
    read_source_checks(reader)
    read_interior(reader)
    read_filters(reader)
    read_vlan_filters(reader)
    check_vlans(reader)
    note_vlans(reader)
    needs_no_switchport(reader)
    _features(reader)
    _load_sharing(reader)
    for line, match in root.find(r"vxlan udp port (\d+)"):
        found.vxlan_port = Stated(match[1], reader.note(line, "vxlan udp port"))
    for line, _ in root.find(r"system mode maintenance"):
        found.drained = Stated("system mode maintenance", reader.note(line, "system mode maintenance"))
    for block, _ in root.find(r"vpc domain \d+"):
        for line, match in block.find(r"system-mac ([0-9a-fA-F.:-]{12,17})"):
            found.mac = Stated(canonical_mac(match[1]), reader.note(line, "vpc", "system-mac"))
        block.accept(r".*")
    vnis = _vlans(reader)
    _vrfs(reader, vnis)
    _nve(reader, vnis)
    for line, match in root.find(r"router bgp ([\d.]+)"):
        _bgp(reader, line, match[1], keeping)
    for line, _ in root.find(r"no router bgp.*"):
        found.bgp_withdrawn = Stated(line.text, reader.note(line, line.text))
    for vni in vnis if found.evpn.value == "on" else ():
        vni.instance = False
    for line, _ in root.find(r"evpn"):
        _targets(reader, line, vnis)
    found.vnis = vnis
    root.accept(r"feature .*|spanning-tree .*|nv overlay evpn|version .*|copp profile \S+")


_SHARED: Final = {"source-destination": ("SRC_IP", "DST_IP"), "destination": ("DST_IP",)}


def _load_sharing(reader: TextReader) -> None:
    """Fields of the hash of ECMP (Unicast Routing Configuration Guide, `ip load-sharing address`).

    A line without `port` has no ports; a file without the line leaves the default, which has them.
    """
    words = r"(destination|source-destination)(?: port (destination|source-destination))?"
    for line, match in reader.root.find(rf"ip load-sharing address {words}(?P<rest> .*)?"):
        ports = {"destination": ("L4_DST_PORT",), "source-destination": ("L4_SRC_PORT", "L4_DST_PORT")}
        reader.device.hash_fields = (*_SHARED[match[1]], *ports.get(match[2], ()))
        reader.note(line, "SWITCH_HASH", "GLOBAL")


_FEATURES: Final = (
    ("bgp", r"router bgp .*"),
    ("nv overlay", r"interface nve\d+"),
    ("interface-vlan", r"interface Vlan(?!1$)\d+"),
    ("vn-segment-vlan-based", r"vlan [\d,-]+"),
    ("lacp", r"interface Ethernet\S+"),
    ("bfd", r"router bgp .*|interface \S+"),
    ("ospf", r"router ospf .*"),
    ("isis", r"router isis .*"),
    ("vpc", r"vpc domain .*"),
    ("pim", r"ip pim rp-address .*"),
)
"""Feature, and the blocks that NX-OS refuses without it."""
_NEEDS: Final = {
    "vn-segment-vlan-based": r"vn-segment .*",
    "lacp": r"channel-group \d+ .*mode (?:active|passive)",
    "bfd": r"bfd(?: multihop.*| singlehop)?|bfd interval .*",
}
"""Features that such a block needs only with this line in it."""


def _features(reader: TextReader) -> None:
    """A defect (R9) for each feature that is needed and not on. A file without `feature` lines is part of one."""
    on = {match[1] for _, match in reader.root.find(r"feature (.+)")}
    for feature, pattern in _FEATURES if on else ():
        for line in reader.root.children:
            its = _NEEDS.get(feature)
            inside = its is None or any(re.fullmatch(its, it.text) for it in below(line))
            if inside and re.fullmatch(pattern, line.text) and feature not in on:
                reader.defect(line, line.text, f"'feature {feature}' is missing, and this needs it", "R9")
                break
    routes = [it for line in reader.root.children for it in line.children if it.text == "address-family l2vpn evpn"]
    evpn = next((line for line in reader.root.children if line.text == "evpn" or routes), None)
    if on and evpn is not None and not reader.root.has("nv overlay evpn"):
        line = routes[0] if routes else evpn
        text = "'nv overlay evpn' is missing, and NX-OS refuses the address family and the VNIs of EVPN without it"
        reader.defect(line, line.text, text, "R9")


_RESERVED_VLANS: Final = 128
_FIRST_RESERVED: Final = 3968
"""VLANs that NX-OS keeps for itself: so many from this one on, unless `system vlan N reserve` moves them (Nexus 9000
Layer 2 Switching Configuration Guide, "VLAN Ranges")."""


def _reserved(reader: TextReader) -> range:
    first = _FIRST_RESERVED
    for line, match in reader.root.find(r"system vlan (\d+) reserve"):
        first = reader.number(line, match[1], 2, _FIRST_RESERVED, "system vlan") or first
        line.judged = False
    return range(first, min(first + _RESERVED_VLANS, _MAX_VLAN + 1))


def _vlans(reader: TextReader) -> list[Vni]:
    vnis: list[Vni] = []
    reserved = _reserved(reader)
    for line, match in reader.root.find(r"vlan ([\d,-]+)"):
        own = [it for it in reader.numbers(line, match[1], _MAX_VLAN, "VLAN") if it in reserved]
        if own:
            text = f"VLAN {own[0]} is one of {reserved[0]}..{reserved[-1]}, which the switch keeps for itself"
            reader.defect(line, line.text, text)
        for child, word in line.find(r"vn-segment (\d+)"):
            if reader.number(child, word[1], 1, _MAX_VNI, "VNI") is None:
                continue
            for vlan in numbers(match[1], _MAX_VLAN):
                where = reader.note(child, f"vlan {vlan}", "vn-segment")
                vnis.append(Vni(word[1], where, str(vlan), in_tunnel=False, targets_where=where))
        line.accept(r"name .*|state .*")
    return vnis


def _vrfs(reader: TextReader, vnis: list[Vni]) -> None:
    """L3 VNIs, which leave the list of those of VLANs: NX-OS maps each to a separate VLAN."""
    for block, name in reader.root.find(r"vrf context (\S+)"):
        vni = Vni("", reader.note(block, "vrf context", name[1]), in_tunnel=False, vrf=name[1])
        for line, match in block.find(r"vni (\d+)(?: l3)?"):
            vni.number, vni.where = match[1], reader.note(line, "vrf context", name[1], "vni")
            reader.device.identity.routed_vnis.append(vni)
        vni.targets_where = vni.where
        for part in (block, *(family for family, _ in block.find(r"address-family ipv[46] unicast"))):
            for line, match in part.find(r"rd (\S+)"):
                vni.distinguisher = match[1]
                vni.distinguisher_where = reader.note(line, "vrf context", name[1], "rd")
            part.accept(r"route-target (?:both|import|export) \S+")  # of MPLS VPNs and MVPN, not of EVPN
            _read_targets(reader, part, vni, r"route-target (both|import|export) (\S+) evpn", "vrf context", name[1])
    for vni in reader.device.identity.routed_vnis if vnis else ():
        _check_routed(reader, vni, [it.vlan for it in vnis if it.number == vni.number])
    routed = {it.number for it in reader.device.identity.routed_vnis}
    vnis[:] = [it for it in vnis if it.number not in routed]


def _check_routed(reader: TextReader, vni: Vni, vlans: list[str]) -> None:
    """Defects (R9) of an L3 VNI that lacks its VLAN, or the interface of that VLAN that routes."""
    for block, name in reader.root.find(r"vrf context (\S+)"):
        if name[1] != vni.vrf or block.has(r"vni \d+ l3"):
            continue
        at = f"vrf context {vni.vrf}|vni {vni.number}"
        if not vlans:
            reader.defect(block, at, f"no VLAN has 'vn-segment {vni.number}', which the VRF's VNI needs", "R9")
        for vlan in vlans:
            texts = {
                it.text for line in reader.root.children if line.text == f"interface Vlan{vlan}" for it in line.children
            }
            absent = [it for it in (f"vrf member {vni.vrf}", "ip forward") if it not in texts]
            if absent:
                lines = " and ".join(f"'{it}'" for it in absent)
                reader.defect(block, at, f"the VNI routes at interface Vlan{vlan}, which lacks {lines}", "R9")


def _nve(reader: TextReader, vnis: list[Vni]) -> None:
    found = reader.device.identity
    needs_one_tunnel(reader, "nve")
    for line, _ in reader.root.find(r"interface nve1"):
        where = reader.note(line, "interface", "nve1")
        for child, match in line.find(r"source-interface (\S+)"):
            found.vtep = Stated(match[1], reader.note(child, *where, "source-interface"))
            reader.device.tunnels["nve1"] = Tunnel("nve1", where, source=match[1])
        found.evpn = Stated("on" if line.has(r"host-reachability protocol bgp") else "off", where)
        found.vtep_up = line.has(r"no shutdown")
        everywhere = line.has(r"global (?:ingress-replication protocol bgp|mcast-group \S+ [Ll]2)")
        for child, match in line.find(r"member vni (\d+)( associate-vrf)?"):
            at = reader.note(child, *where, f"member vni {match[1]}")
            known = [vni for vni in vnis if vni.number == match[1]]
            if reader.number(child, match[1], 1, _MAX_VNI, "VNI") is None:
                continue
            routed = [it for it in found.routed_vnis if it.number == match[1]]
            for vni in routed if match[2] else known:
                vni.in_tunnel = True
            if match[2] and not routed:
                text = f"no 'vrf context' has 'vni {match[1]}', which 'associate-vrf' says is the VNI of a VRF"
                reader.defect(child, f"nve1|member vni {match[1]}", text, "R1")
            if not known and "associate-vrf" not in child.text:
                vnis.append(Vni(match[1], at, targets_where=at))
            replicated = child.has(r"ingress-replication protocol (?:bgp|static)|mcast-group .*") or everywhere
            group = next((word[1] for _, word in child.find(r"mcast-group (\S+)(?: .*)?")), "")
            for vni in (it for it in vnis if it.number == match[1]):
                vni.replicates, vni.group = replicated, group
            for part, _ in child.find(r"ingress-replication protocol static"):
                for row, word in part.find(r"peer-ip ([\d.]+)"):
                    found.flooded.append(Stated(word[1], reader.note(row, *at, "peer-ip", word[1])))
            child.accept(r"ingress-replication protocol bgp|mcast-group .*|suppress-arp")
        line.accept(r"description .*|advertise virtual-rmac|global .*")


_SETTINGS: Final = {"transport": "passive"}
"""First word of a neighbour's line to the word that EOS and FRR have for the setting."""
_DIRECT: Final = 2
"""`disable-connected-check`: the loopback of a neighbour on the same cable is reached without `ebgp-multihop`."""


def _bgp(reader: TextReader, block: Line, asn: str, keeping: set[str]) -> None:
    device, found = reader.device, reader.device.identity
    device.asn, found.asn_where = asn, reader.note(block, "router bgp", asn)
    for line, match in block.find(r"router-id (\S+)"):
        found.router_id = Stated(match[1], reader.note(line, "router bgp", "router-id"))
    for line, match in block.find(r"cluster-id (\S+)"):
        found.cluster_id = Stated(cluster_of(match[1]), reader.note(line, "router bgp", "cluster-id"))
    networks: set[str] = set()
    connected = False
    for line, _ in block.find(r"address-family (?:ipv4 unicast|l2vpn evpn)"):
        stated = r"network (\S+)(?: mask ([\d.]+))?(?: route-map (\S+))?(?P<rest> .*)?"
        for child, word in line.find(stated) if "ipv4" in line.text else ():
            prefix = _network(word[1], word[2])
            networks.add(prefix)
            if word[3]:
                at = reader.note(child, "router bgp", f"network {prefix}", "route-map")
                found.network_maps[prefix] = word[3], at
        if "ipv4" in line.text:
            read_aggregates(reader, line)
            read_defaults(reader, line, line.text)
            for child, word in line.find(r"distance (\d+) \d+ \d+"):
                found.distance = Stated(word[1], reader.note(child, "router bgp", "distance"))
        for child, word in line.find(r"redistribute direct(?: route-map (\S+))?"):
            connected = True
            if word[1]:
                at = reader.note(child, "router bgp", "redistribute direct")
                found.policies.redistribution = word[1], at
        for child, word in line.find(r"maximum-paths (?:ibgp |eibgp )?(\d+)") if "ipv4" in line.text else ():
            device.multipath = reader.number(child, word[1], 1, 512, "maximum-paths")
            reader.note(child, "maximum-paths")
        if "evpn" in line.text:
            found.keeps_targets = line.has(r"retain route-target all")
            reader.note(line, "router bgp", "l2vpn evpn")
        line.accept(r".*")
    for line, match in block.find(r"(isolate|graceful-shutdown activate)(?: .*)?"):
        found.drained = Stated(match[1], reader.note(line, "router bgp", match[1]))
    found.networks, found.redistributes_connected = frozenset(networks), connected
    _check_templates(reader, block)
    templates = {
        match[1]: _neighbor(reader, line, match[1], keeping)
        for line, match in block.find(r"template (?:peer|peer-session|peer-policy) (\S+)")
    }
    _instance(reader, block, "", templates, keeping)
    for line, match in block.find(r"vrf (\S+)"):
        _instance(reader, line, match[1], templates, keeping)
    shut_sessions(reader, block)


def _network(text: str, mask: str | None) -> str:
    """A prefix of a network statement; without length and mask it is that of the address's class (RFC 791)."""
    if "/" in text or not is_address(text) or ":" in text:
        return text
    first = int(text.partition(".")[0])
    own = mask or next((length for above, length in ((192, "24"), (128, "16")) if first >= above), "8")
    try:
        return str(ip_network(f"{text}/{own}", strict=mask is not None))
    except ValueError:
        return text


def _check_templates(reader: TextReader, block: Line) -> None:
    """A defect (R1) for each template that a neighbour inherits and no line defines: nothing of it is applied."""
    defined = {
        (match[1], match[2]) for line in block.children if (match := re.match(r"template (\S+) (\S+)", line.text))
    }
    vrfs = [line for line in block.children if line.text.startswith("vrf ")]
    for neighbor in (line for part in (block, *vrfs) for line in part.children if line.text.startswith("neighbor ")):
        families = [line for line in neighbor.children if line.text.startswith("address-family ")]
        for line in (line for part in (neighbor, *families) for line in part.children):
            match = re.match(r"inherit (peer|peer-session|peer-policy) (\S+)", line.text)
            if match and (match[1], match[2]) not in defined:
                near = meant(match[2], frozenset(name for kind, name in defined if kind == match[1]))
                text = f"template {match[1]} '{match[2][:40]}' is not in the file{near}"
                reader.defect(line, f"router bgp|{neighbor.text}", text, "R1")


def _instance(reader: TextReader, block: Line, vrf: str, templates: dict[str, Neighbor], keeping: set[str]) -> None:
    """The sessions of a VRF."""
    timers: Timers = (None, None, ())
    needs_hold_time(reader, block)
    for line, match in block.find(r"timers bgp (\d+) (\d+)"):
        its = seconds_of(reader, line, match[1], match[2])
        timers = (*its, reader.note(line, "router bgp", vrf, "timers bgp"))
    for line, match in block.find(r"neighbor (\S+)(?: remote-as (\S+))?"):
        peer = _neighbor(reader, line, match[1], keeping, vrf)
        if match[1].startswith("Ethernet"):
            reader.device.identity.unnumbered = peer.where
        peer.asn = match[2] or peer.asn
        whole = peer.over(templates.get(peer.group))
        if "/" not in match[1]:  # a range of neighbours waits for them
            families = frozenset(whole.families)
            reader.device.sessions.append(session_of(reader.device, match[1], whole, families, timers, vrf))
    for line, _ in block.find(r"address-family .*") if vrf else ():
        line.accept(r".*")
    block.accept(
        r"bestpath .*|log-neighbor-changes|timers .*|graceful-.*|reconnect-interval \d+|rd .*|route-target .*|"
        r"router-id .*|address-family .*"
    )


_FAMILIES: Final = (
    r"address-family ((?:ipv4|ipv6) (?:unicast|multicast|mvpn|labeled-unicast)|l2vpn (?:evpn|vpls)|vpnv[46] unicast)"
)


def _neighbor(reader: TextReader, block: Line, name: str, keeping: set[str], vrf: str = "") -> Neighbor:
    kind = block.text.rpartition(f" {name}")[0] if block.text.startswith("template ") else "neighbor"
    where = ("router bgp", *((vrf,) if vrf else ()), f"{kind} {name}")
    peer = Neighbor(reader.note(block, *where))
    for line in block.children:
        setting = _SETTINGS.get(line.text.split(" ")[0], line.text.split(" ")[0])
        peer.places[setting] = reader.note(line, *where, setting)
    if " remote-as " in block.text:
        peer.places["remote-as"] = peer.where
    for line, match in block.find(r"remote-as (\S+)"):
        peer.asn = match[1]
        reader.note(line, *where)
        check_as(reader, line, name, match[1])
    for _, match in block.find(r"update-source (\S+)"):
        peer.source = match[1]
    for _, match in block.find(r"inherit (?:peer|peer-session|peer-policy) (\S+)(?P<rest> \d+)?"):
        peer.group = match[1]
    for line, match in block.find(r"timers (\d+) (\d+)"):
        peer.keepalive_s, peer.hold_s = seconds_of(reader, line, match[1], match[2])
    if block.has(r"shutdown"):
        peer.up = False
    for line, match in block.find(r"ebgp-multihop (\d+)"):
        peer.hops = reader.number(line, match[1], 1, 255, "ebgp-multihop")
    for line, match in block.find(r"ttl-security hops (\d+)"):
        between = reader.number(line, match[1], 1, 254, "ttl-security hops")
        peer.hops = None if between is None else between + 1
        peer.ttl_security = Stated(match[1], reader.note(line, *where, "ttl-security"))
    for line, match in block.find(r"local-as ([\d.]+)(?: no-prepend(?: replace-as)?)?"):
        peer.local_as = Stated(match[1], reader.note(line, *where, "local-as"))
    peer.password = block.has(r"password .*")
    peer.bfd = block.has(r"bfd(?: (?:singlehop|multihop))?")
    peer.passive = block.has(r"transport connection-mode passive")
    if block.has(r"disable-connected-check"):
        peer.hops = max(peer.hops or 0, _DIRECT)
    block.accept(r"description .*|timers .*|bfd.*|password .*|no .*|log-.*|disable-.*|local-as .*")
    for line, match in block.find(_FAMILIES):
        family = "evpn" if match[1] == "l2vpn evpn" else match[1].split(" ")[0]
        peer.families.add(family)
        if line.has(r"allowas-in(?: \d+)?"):
            peer.allows_own_as = True
        communities = [word[1] for _, word in line.find(r"send-community ?(\S*)")]
        if any(kind in {"", "standard", "both"} for kind in communities):
            peer.standard = (peer.standard or frozenset()) | {family}
        maps = {word[1] for _, word in line.find(r"route-map (\S+) out")}
        for child, word in line.find(r"(route-map|prefix-list) (\S+) (in|out)"):
            at = reader.note(child, *where, family, f"{word[1]} {word[3]}")
            peer.policies += (Use(family, word[3] == "in", word[2], at, word[1]),)
        for child, word in line.find(r"maximum-prefix (\d+)(?: \d+)?(?: restart \d+)?") if family == "ipv4" else ():
            if reader.number(child, word[1], 1, 2**32 - 1, "maximum-prefix") is not None:
                peer.max_prefixes = Stated(word[1], reader.note(child, *where, family, "maximum-prefix"))
        if family == "ipv4" and not vrf:
            read_defaults(reader, line, block.text, line.text)
        if line.has(r"route-reflector-client"):
            peer.reflects = True
        if line.has(r"next-hop-self(?: all)?") and family == "ipv4":
            peer.sets_next_hop = True
        line.accept(r".*")
        if family == "evpn":
            peer.communities = any(kind in {"extended", "both"} for kind in communities)
            peer.keeps_next_hop = bool(maps & keeping)
    return peer


def _targets(reader: TextReader, block: Line, vnis: list[Vni]) -> None:
    for line, match in block.find(r"vni (\d+) l2"):
        where = reader.note(line, "evpn", f"vni {match[1]}")
        stated = Vni(match[1], where, targets_where=where)
        _read_targets(reader, line, stated, r"route-target (both|import|export) (\S+)", *where)
        rds = list(line.find(r"rd (\S+)"))
        distinguisher = "".join(word[1] for _, word in rds)
        rd_where = reader.note(rds[-1][0], *where, "rd") if rds else ()
        for vni in vnis:
            if vni.number == match[1]:
                own = reader.device.identity.router_id.value
                if distinguisher == "auto" and own and vni.vlan:
                    distinguisher = f"{own}:{_AUTO_RD + int(vni.vlan)}"
                vni.imports, vni.exports = stated.imports, stated.exports
                vni.imports_nothing, vni.exports_nothing = stated.imports_nothing, stated.exports_nothing
                vni.distinguisher, vni.distinguisher_where, vni.instance = distinguisher, rd_where, True
                vni.targets_where, vni.target_where = stated.targets_where, stated.target_where


def _read_targets(reader: TextReader, block: Line, vni: Vni, pattern: str, *where: str) -> None:
    """Route targets of a block. A direction of which no line speaks has none, once the other one is stated."""
    ways: set[str] = set()
    for line, match in block.find(pattern):
        at = reader.note(line, *where, "route-target")
        way, target = match[1], {match[2]} - {"auto"}
        ways |= {"import", "export"} if way == "both" else {way}
        if target:
            vni.targets_where = at
            note_target(reader, line, vni, match[1], match[2], *at)
        vni.imports |= target if way != "export" else set()
        vni.exports |= target if way != "import" else set()
    if ways:
        vni.imports_nothing, vni.exports_nothing = "import" not in ways, "export" not in ways
