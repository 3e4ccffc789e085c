"""A switch's identity and its configuration of BGP, EVPN and VXLAN: the neutral model that every language fills.

A value that a file does not state stays empty; a check that needs it is then silent. `Stated` keeps the place of a
value beside it, because two files are compared and the reader of a finding wants both lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from fabric.configs.policy import Policies

if TYPE_CHECKING:
    from fabric.configs.interior import Interior
    from fabric.configs.model import Where


@dataclass(frozen=True, slots=True)
class Stated:
    """A value and the construct that states it."""

    value: str
    where: Where

    def __bool__(self) -> bool:
        return self.value != ""


NOTHING = Stated("", ())


@dataclass(slots=True)
class Vni:
    """One VXLAN segment of a switch: a VLAN's (L2 VNI) or a VRF's (L3 VNI)."""

    number: str
    where: Where
    vlan: str = ""
    """VLAN number; '' where the switch maps none."""
    in_tunnel: bool = True
    """Whether the tunnel interface carries it (NX-OS `member vni`)."""
    in_bgp: bool | None = None
    """Whether EVPN advertises it; None where the language does so for every VNI."""
    imports: frozenset[str] = frozenset()
    """Route targets; empty: automatic (RFC 8365 section 5.1.2.1)."""
    exports: frozenset[str] = frozenset()
    imports_nothing: bool = False
    """No target is imported, not even an automatic one."""
    exports_nothing: bool = False
    targets_where: Where = ()
    target_where: dict[tuple[str, str], Where] = field(default_factory=dict)
    """('import' or 'export', target) to its line, where each is one."""
    distinguisher: str = ""
    """Route distinguisher; '' or 'auto': the switch makes one."""
    distinguisher_where: Where = ()
    vrf: str = ""
    """VRF of an L3 VNI."""
    group: str = ""
    """Multicast group of its broadcast (NX-OS); '' for copies to each VTEP."""
    learned: bool | None = None
    """Whether MAC addresses that are learned at ports are advertised (EOS `redistribute learned`); None: always."""
    instance: bool | None = None
    """Whether `evpn` has a block for it (NX-OS); without one the targets are automatic. None: no such block exists."""
    replicates: bool | None = None
    """Whether broadcast and unknown unicast get a way to the other VTEPs; None where the language always has one."""

    def line_of(self, way: str, wanted: frozenset[str]) -> Where:
        """Where the first target of a direction stands that is none of those wanted; else where all are."""
        its = sorted(it for side, it in self.target_where if side == way and it not in wanted)
        return self.target_where[way, its[0]] if its else self.targets_where


@dataclass(frozen=True, slots=True)
class Gateway:
    """An anycast gateway address of a VLAN."""

    vlan: str
    address: str
    """With its prefix length."""
    where: Where
    mac: str = ""
    """Where it is not the switch's own gateway MAC address."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A prefix that BGP announces for the more specific ones in it (RFC 4271 section 9.2.2.2)."""

    prefix: str
    where: Where
    hides: bool = False
    """Whether more specific routes are kept from every neighbour."""
    hidden_by: str = ""
    """Route map that permits those that are kept back; '': all of them."""


@dataclass(slots=True)
class Identity:
    """What must be unique in a fabric, or agree between switches."""

    router_id: Stated = NOTHING
    cluster_id: Stated = NOTHING
    """Cluster of a route reflector (RFC 4456 section 7), as an IPv4 address; empty: its router ID."""
    mac: Stated = NOTHING
    """System MAC address: twelve lower-case digits with colons."""
    asn_where: Where = ()
    bgp_withdrawn: Stated = NOTHING
    """The line that takes the block of BGP back which stands before it ('no router bgp 65101')."""
    no_routing: Stated = NOTHING
    """The line that does not act because the switch does not route ('router bgp 65101'): EOS without `ip routing`."""
    unrouted_vrfs: dict[str, Where] = field(default_factory=dict)
    """VRFs with an L3 VNI in which the switch does not route, with their places."""
    vtep: Stated = NOTHING
    """VTEP's address, or the interface that has it."""
    vtep_up: bool = True
    evpn: Stated = NOTHING
    """'on' or 'off': whether the VTEP learns from BGP EVPN; empty where the file does not say."""
    shared_vtep: str = ""
    """Address that both VTEPs of a multi-chassis pair send from (NVUE)."""
    vnis: list[Vni] = field(default_factory=list)
    """Those of VLANs."""
    routed_vnis: list[Vni] = field(default_factory=list)
    """Those of VRFs."""
    interface_vrfs: dict[str, str] = field(default_factory=dict)
    """Interface to its VRF, where that is not the default one."""
    gateways: list[Gateway] = field(default_factory=list)
    gateway_mac: Stated = NOTHING
    vrfs: dict[str, Stated] = field(default_factory=dict)
    """VLAN to the VRF that its interface is in; a VLAN that is not here is in the default VRF."""
    unnumbered: Where = ()
    """A BGP neighbour that is an interface, which is in no list of sessions; () where there is none."""
    address_where: dict[tuple[str, str], Where] = field(default_factory=dict)
    """(interface, address) to its place."""
    networks: frozenset[str] = frozenset()
    """Prefixes of `network` statements."""
    network_maps: dict[str, tuple[str, Where]] = field(default_factory=dict)
    """Such a prefix to the route map that decides whether it gets into BGP (EOS, NX-OS)."""
    aggregates: list[Aggregate] = field(default_factory=list)
    management: dict[str, Stated] = field(default_factory=dict)
    """Addresses of management ports, which are on no cable of the fabric; as written, and by that."""
    policies: Policies = field(default_factory=Policies)
    vxlan_port: Stated = NOTHING
    """UDP port of VXLAN; empty where the file states none, which is 4789 (RFC 7348)."""
    keeps_targets: bool | None = None
    """Whether EVPN routes are kept that no VNI here imports (NX-OS `retain route-target all`); None: always."""
    vlan_where: dict[str, Where] = field(default_factory=dict)
    """VLANs that the switch has, by number."""
    vlan_mtus: dict[str, Stated] = field(default_factory=dict)
    """VLAN to the largest packet that its interface routes, bytes: stated, or the default where the line is missing."""
    shut: dict[str, Stated] = field(default_factory=dict)
    """Loopbacks, interfaces of VLANs and sub-interfaces that are 'down': by a line, or by the language's default."""
    suspended: dict[str, Stated] = field(default_factory=dict)
    """VLANs that pass no traffic: `state suspend`, or shut (EOS, NX-OS)."""
    tags: dict[tuple[str, str], str] = field(default_factory=dict)
    """(interface, address) to the tag of its connected route (NX-OS)."""
    tags_sent: dict[str, Stated] = field(default_factory=dict)
    """Sub-interface to the VLAN tag of its frames (EOS, NX-OS: `encapsulation dot1q`; NVUE, SONiC: `vlan`)."""
    floods: Stated = NOTHING
    """'on' or 'off': whether broadcast is replicated to the other VTEPs (NVUE); empty: on."""
    flooded: list[Stated] = field(default_factory=list)
    """Addresses of VTEPs that broadcast is copied to by a line, beside those that EVPN brings (EOS, NX-OS)."""
    listens: bool = False
    """Whether it takes sessions of neighbours that it does not name (EOS `bgp listen range`)."""
    drained: Stated = NOTHING
    """What takes traffic away from the switch for maintenance, in the words of its language; empty: nothing does."""
    igp: Stated = NOTHING
    """The interior routing protocol beside BGP in the default VRF; empty: none."""
    interior: Interior | None = None
    """The same with its circuits, where they are read; None where they are not, or where there are two protocols."""
    routing_elsewhere: str = ""
    """A file of FRR that has more of the switch's routing, and that is not read; '' where none was given."""
    routing_mode: Stated = NOTHING
    """Where BGP and OSPF come from (SONiC: docker_routing_config_mode); empty: from this file."""
    borrowed: dict[str, Stated] = field(default_factory=dict)
    """Interface without an address of its own to the one whose address it has (`ip unnumbered`)."""
    requires_policy: Stated = NOTHING
    """What lets external sessions carry routes only where a policy says so (RFC 8212); empty: nothing does."""
    distance: Stated = NOTHING
    """Administrative distance of external BGP routes of IPv4 in the default VRF; empty: the language's default."""
    defaults: list[Stated] = field(default_factory=list)
    """Lines that announce the default route of IPv4, where the switch has it or whether it has it or not."""
    defaults_of_routes: list[Stated] = field(default_factory=list)
    """Lines that announce it where the routing table has it: `network 0.0.0.0/0`, `redistribute static`."""
    strict_sources: dict[str, Stated] = field(default_factory=dict)
    """Interface to the line by which it drops packets whose source it has no route back to (RFC 3704 section 2.2)."""
    redistributes_connected: bool | None = None
    """None: the file does not say how prefixes get into BGP (SONiC, whose templates advertise the loopback)."""
    loose_where: dict[str, Where] = field(default_factory=dict)
    """VNIs that a block of EVPN names, and that no VLAN and no VRF has, with the place of the block."""

    def unnamed_vni(self, named: set[str]) -> Where:
        """The VLAN's or VRF's VNI that no block of EVPN names, where it is the only one; else ()."""
        others = [it.where for it in (*self.vnis, *self.routed_vnis) if it.number not in named]
        return others[0] if len(others) == 1 else ()


def cluster_of(text: str) -> str:
    """'10.0.0.1' or '167772161' as an IPv4 address; '' where it is none."""
    try:
        return str(IPv4Address(int(text) if text.isascii() and text.isdigit() and len(text) < 11 else text))
    except ValueError:
        return ""


def canonical_mac(text: str) -> str:
    """'0000.5E00.0101' -> '00:00:5e:00:01:01'; '' where it is no MAC address."""
    digits = "".join(char for char in text.lower() if char not in ".:-")
    if len(digits) != 12 or any(char not in "0123456789abcdef" for char in digits):
        return ""
    return ":".join(digits[at : at + 2] for at in range(0, 12, 2))
