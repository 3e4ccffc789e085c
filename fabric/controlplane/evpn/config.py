"""Configuration of a switch's overlay. Frozen; addresses as text, times in nanoseconds; checked as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_interface, ip_network
from typing import Final, Literal

from fabric.controlplane.evpn.addresses import ip_packed, mac_packed
from fabric.controlplane.evpn.rd import rd_packed
from fabric.controlplane.evpn.targets import RtStyle, import_target, target_packed
from fabric.errors import InputErrors, Problem

NS_PER_S: Final = 1_000_000_000
DEFAULT_TENANT: Final = "default"
_VNI_LIMIT: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class VniConfig:
    """One L2 VNI: a bridge domain, its local ports and its tenant."""

    vni: int
    tenant: str = DEFAULT_TENANT
    """Name of the tenant (its VRF)."""
    ports: tuple[str, ...] = ()
    """Local access ports; more can be attached later."""
    rd: str = ""
    """'' derives router-id:index."""
    import_targets: tuple[str, ...] = ()
    """() derives '*:VNI'."""
    export_targets: tuple[str, ...] = ()
    """() derives 'ASN:VNI'."""
    suppression: bool = True
    """ARP and ND suppression on the VXLAN port."""
    gateway: str = ""
    """Anycast gateway, '172.16.101.1/24': same address and MAC on every leaf (RFC 9135 section 4.1); '': none."""
    gateway_mac: str = ""
    advertise_gateway: bool = False
    """Announce the gateway's MAC and address with the default gateway community (RFC 7432 section 10.1)."""
    bridge: str = ""
    """Name of the bridge device; '' is 'br' and the VNI."""
    vxlan: str = ""
    """Name of the VXLAN device; '' is 'vx' and the VNI."""
    bridge_mac: str = ""
    vxlan_mac: str = ""

    @property
    def bridge_name(self) -> str:
        """Name of the bridge device."""
        return self.bridge or f"br{self.vni}"

    @property
    def vxlan_name(self) -> str:
        """Name of the VXLAN device."""
        return self.vxlan or f"vx{self.vni}"


@dataclass(frozen=True, slots=True)
class VrfConfig:
    """A tenant with symmetric IRB: routing between its subnets through an L3 VNI (RFC 9135 section 5)."""

    name: str
    l3_vni: int
    rd: str = ""
    import_targets: tuple[str, ...] = ()
    export_targets: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    """Prefixes announced as Type-5 routes; with `advertise_subnets` the subnets of local gateways too."""
    advertise_subnets: bool = True


@dataclass(frozen=True, slots=True)
class DuplicateDetection:
    """RFC 7432 section 15.1, with FRR's defaults: 5 moves in 180 s, detection only."""

    enabled: bool = True
    max_moves: int = 5
    window_ns: int = 180 * NS_PER_S
    freeze: bool = False
    """A duplicate MAC is no longer announced or moved."""
    freeze_ns: int = 0
    """Duration of a freeze; 0: permanent."""


@dataclass(frozen=True, slots=True)
class VtepConfig:
    """One switch's overlay."""

    hostname: str
    asn: int
    router_id: str
    address: str
    """VTEP address: next hop of all routes of the switch."""
    vnis: tuple[VniConfig, ...] = ()
    vrfs: tuple[VrfConfig, ...] = ()
    router_mac: str = ""
    """Inner destination MAC of packets routed to this switch; required with a VRF."""
    rt_style: RtStyle = "frr"
    ageing_ns: int | None = 300 * NS_PER_S
    """Ageing time of local MACs; None: no ageing. The kernel's default is 300 s."""
    neighbor_timeout_ns: int | None = None
    """Lifetime of an unconfirmed local ARP/ND entry; None: unlimited, as below the kernel's gc_thresh1."""
    learn: Literal["garp", "any"] = "garp"
    """ARP from which bindings are learned: gratuitous only (a bridge without an address, arp_accept=1) or any."""
    proxy_unicast_requests: bool = False
    """Answer unicast requests from the cache too, like Linux before 6.15; later kernels forward them."""
    duplicates: DuplicateDetection = DuplicateDetection()
    ifindex: Mapping[str, int] = field(default_factory=dict)
    """Interface numbers for views; interfaces without a number are left out there."""
    port_macs: Mapping[str, str] = field(default_factory=dict)
    """MACs of the switch's own ports, for views of the forwarding database."""


def check(config: VtepConfig) -> None:
    """Raise InputErrors with every problem of a configuration."""
    problems = list(_problems(config))
    if problems:
        raise InputErrors(f"overlay of {config.hostname}", problems)


def _problems(config: VtepConfig) -> Iterator[Problem]:
    yield from _unreadable("address", ip_packed, config.address)
    yield from _unreadable("router_mac", mac_packed, config.router_mac)
    if config.vrfs and not config.router_mac:
        yield Problem("router_mac", "missing", "a switch that routes between subnets needs a router MAC")
    numbers = Counter([vni.vni for vni in config.vnis] + [vrf.l3_vni for vrf in config.vrfs])
    yield from (
        Problem("vnis", f"VNI {vni} is used {count} times", "give every L2 and L3 VNI a unique number")
        for vni, count in numbers.items()
        if count > 1
    )
    ports = Counter(port for vni in config.vnis for port in vni.ports)
    yield from (
        Problem("vnis", f"port {port} is in {count} VNIs", "an access port belongs to one VNI")
        for port, count in ports.items()
        if count > 1
    )
    names = Counter(vrf.name for vrf in config.vrfs)
    yield from (
        Problem("vrfs", f"VRF {name} is defined {count} times", "merge them")
        for name, count in names.items()
        if count > 1
    )
    for vni in config.vnis:
        yield from vni_problems(vni)
    for vrf in config.vrfs:
        place = f"vrfs.{vrf.name}"
        yield from _number(f"{place}.l3_vni", vrf.l3_vni)
        yield from _identity(place, vrf)
        for prefix in vrf.prefixes:
            yield from _unreadable(f"{place}.prefixes", ip_network, prefix)


def vni_problems(vni: VniConfig) -> Iterator[Problem]:
    """Problems of the configuration of one VNI."""
    place = f"vnis.{vni.vni}"
    yield from _number(place, vni.vni)
    yield from _identity(place, vni)
    yield from _unreadable(f"{place}.gateway", ip_interface, vni.gateway)
    for name, mac in (("gateway_mac", vni.gateway_mac), ("bridge_mac", vni.bridge_mac), ("vxlan_mac", vni.vxlan_mac)):
        yield from _unreadable(f"{place}.{name}", mac_packed, mac)
    if bool(vni.gateway) != bool(vni.gateway_mac):
        yield Problem(f"{place}.gateway", "an anycast gateway needs an address and a MAC", "give both or neither")
    if vni.advertise_gateway and not vni.gateway:
        yield Problem(f"{place}.advertise_gateway", "there is no gateway to announce", "set gateway and gateway_mac")


def _number(place: str, vni: int) -> Iterator[Problem]:
    if not 0 < vni < _VNI_LIMIT:
        yield Problem(place, f"{vni} is no VNI", "from 1 to 16777215 (RFC 7348 section 5)")


def _identity(place: str, part: VniConfig | VrfConfig) -> Iterator[Problem]:
    yield from _unreadable(f"{place}.rd", rd_packed, part.rd)
    for target in part.import_targets:
        yield from _unreadable(f"{place}.import_targets", import_target, target)
    for target in part.export_targets:
        yield from _unreadable(f"{place}.export_targets", target_packed, target)


def _unreadable(place: str, read: Callable[[str], object], text: str) -> Iterator[Problem]:
    """A problem if `text` is not empty and cannot be read."""
    try:
        if text:
            read(text)
    except ValueError as error:
        yield Problem(place, str(error), "correct it or leave it out")
