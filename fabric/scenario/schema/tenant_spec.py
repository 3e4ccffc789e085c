"""The tenants of `vxlan:`: hosts that share a VNI, or segments with a VNI each and routing between them (RFC 9135)."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from fabric.scenario.schema.values import Patterns
from fabric.topology.spec import Name, Strict

Vni = Annotated[int, Field(ge=1, lt=2**24)]
"""RFC 7348 section 5: 24 bits; 0 is reserved."""

_NO_HOSTS: Final = {
    IPv4Network("0.0.0.0/8"): "this network, RFC 1122 section 3.2.1.3",
    IPv4Network("127.0.0.0/8"): "loopback, RFC 1122 section 3.2.1.3",
    IPv4Network("169.254.0.0/16"): "link-local, which no router forwards: RFC 3927 section 7",
    IPv4Network("224.0.0.0/4"): "multicast, RFC 5771",
    IPv4Network("240.0.0.0/4"): "reserved, RFC 1112 section 4",
}
"""Addresses that no host of a routed subnet can have."""


class SegmentSpec(Strict):
    """One layer-2 VNI of a tenant: a subnet with its hosts."""

    name: Name = Field(description="Name of the segment, once in the tenant.")
    vni: Vni = Field(description="VXLAN network identifier of layer 2 (RFC 7348).")
    hosts: Patterns = Field(description="Its hosts, by name or pattern.")
    subnet: str | None = Field(
        None, description="'172.16.10.0/24', with l3_vni; a free one of 172.16.0.0/12 where absent."
    )
    gateway: str | None = Field(
        None,
        description="Anycast gateway's address, the same on every leaf with hosts of the "
        "segment (RFC 9135 section 4.1); the subnet's first where absent.",
    )
    arp_suppression: Literal["on", "off"] = Field(
        "on", description="Leaves answer ARP from their Type-2 routes (RFC 7432 section 10), or flood it."
    )

    @model_validator(mode="after")
    def _addresses(self) -> Self:
        network = self.network
        if self.gateway is None:
            return self
        if ":" in self.gateway:
            raise ValueError(
                f"gateway: {self.gateway} is IPv6, and tenants route IPv4 alone; write it as '172.16.10.1'"
            )
        try:
            address = IPv4Address(self.gateway)
        except AddressValueError as error:
            raise ValueError(f"gateway: {error}; write it as '172.16.10.1'") from error
        if network is None:
            raise ValueError("gateway needs a subnet that it is in; give subnet, or remove gateway")
        if address not in network or address in {network.network_address, network.broadcast_address}:
            raise ValueError(
                f"gateway {address} is no host address of {network}; give one from {network[1]} to {network[-2]}"
            )
        return self

    @property
    def network(self) -> IPv4Network | None:
        """The subnet, where it is given. Raises ValueError where it has no room for a gateway and hosts."""
        if self.subnet is None:
            return None
        if ":" in self.subnet:
            raise ValueError(
                f"subnet: {self.subnet} is IPv6, and tenants route IPv4 alone; write it as '172.16.10.0/24'"
            )
        try:
            network = IPv4Network(self.subnet)
        except (AddressValueError, NetmaskValueError, ValueError) as error:
            raise ValueError(f"subnet: {error}; write it as '172.16.10.0/24'") from error
        if not 8 <= network.prefixlen <= 30:
            raise ValueError(
                f"subnet: {network} has no room for a gateway and a host, or is no subnet; give a length from /8 to /30"
            )
        for special, why in _NO_HOSTS.items():
            if network.overlaps(special):
                raise ValueError(
                    f"subnet: {network} is no subnet for hosts ({special}: {why}); give one such as 172.16.10.0/24"
                )
        return network


class TenantSpec(Strict):
    """Hosts that reach only each other: in one VNI (vni, hosts), or in several segments."""

    name: Name = Field(description="Name of the tenant: of its VRF, where it has one.")
    vni: Vni | None = Field(None, description="VNI of a tenant that is one segment.")
    hosts: Patterns | None = Field(None, description="Hosts of a tenant that is one segment, by name or pattern.")
    arp_suppression: Literal["on", "off"] = Field(
        "on", description="Of a tenant that is one segment; segments have their own."
    )
    l3_vni: Vni | None = Field(
        None,
        description="Leaves route between the tenant's subnets, through this VNI (symmetric IRB, RFC 9135 section 5).",
    )
    segments: Annotated[tuple[SegmentSpec, ...], Field(strict=False)] = Field(
        (), description="Subnets with a layer-2 VNI each."
    )
    routed: Patterns | None = Field(
        None,
        description="Hosts on routed ports, with l3_vni: no VNI of layer 2 and no Type-2 routes; their leaf "
        "announces its subnet of the address plan by Type-5 (RFC 9136).",
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        problems = []
        listed = bool(self.segments) or self.routed is not None
        if listed and (self.vni is not None or self.hosts is not None):
            problems.append(
                "vni and hosts are those of a tenant with one segment; with segments or routed, make them a segment"
            )
        if listed and self.arp_suppression != "on":
            problems.append("arp_suppression has no effect beside segments or routed; each segment has its own")
        if not listed and (self.vni is None or self.hosts is None):
            problems.append("has no hosts; give vni and hosts, or segments")
        if not listed and self.l3_vni is not None:
            problems.append("l3_vni has no effect on a tenant with one segment; list segments, or remove it")
        if listed and self.l3_vni is not None and len(self.segments) == 1 and self.routed is None:
            problems.append("l3_vni has no effect with one segment and no routed hosts; add what it routes to")
        if self.l3_vni is None:
            if self.routed is not None:
                problems.append("routed hosts need an l3_vni; give one, or put them into a segment")
            problems += [
                f"segments[{number}].{field} has no effect without l3_vni, because no leaf routes there; give "
                "l3_vni, or remove it"
                for number, segment in enumerate(self.segments)
                for field in ("subnet", "gateway")
                if getattr(segment, field) is not None
            ]
        names = [segment.name for segment in self.segments]
        problems += [
            f"segments[{number}].name: '{name}' is another segment's name; give it its own"
            for number, name in enumerate(names)
            if name in names[:number]
        ]
        if problems:
            raise ValueError("\n".join(problems))
        return self
