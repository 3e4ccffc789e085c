"""A: access lists at the ports of the fabric that drop what the fabric itself needs."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Final

from fabric.configs.filters import TCP, UDP, Filter, FilterUse, Flow, network_of
from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device
from fabric.configs.running_config.filters import CONTROL_PLANE
from fabric.configs.text.roce_effect import ROCE_PORT
from fabric.configs.text.spelling import is_address, is_number
from fabric.validate.checks.base import Check, E, Found, Root, check, shows
from fabric.validate.checks.identity import vtep_address
from fabric.validate.checks.peers import near_address
from fabric.validate.facts import Facts, Line
from fabric.validate.sessions import place

_BGP_PORT: Final = 179
_VXLAN_PORT: Final = 4789
_DYNAMIC_PORT: Final = 49_152
"""The first of those that the end takes which opens a connection (RFC 6335 section 6)."""
_Applied = tuple[Device, Filter, FilterUse, list[Line]]


def _applied(facts: Facts) -> Iterator[_Applied]:
    """Every access list at a port, with the ports: members of the LAG, or of the VLAN."""
    for device in facts.devices:
        lines = facts.used_of(device) if device.filter_uses else ()
        for use in device.filter_uses.values():
            found = device.filters.get(use.name)
            at = [
                line
                for line in lines
                if use.interface in (line.port.name, line.port.lag)
                or (line.port.vlan and use.interface.lower() == f"vlan{line.port.vlan}")
                or (use.interface in device.vlans and line.port.name in device.vlans[use.interface].members)
            ]
            if found is not None and at:
                yield device, found, use, at


def _found(device: Device, found: Filter, use: FilterUse, what: str, at: tuple[str, ...], rests: list[Root]) -> Found:
    way = "from" if use.inbound else "to"
    rule = "no rule permits it" if at == found.where else "a rule denies it"
    return Found(
        device.name,
        f"{use.interface}|{found.name}",
        f"access list {found.name} drops {what} {way} {use.interface}: {rule}",
        (shows(device, at, "", "deny" if at != found.where else "no match"), place(device, use.where)),
        rests_on=rests,
    )


@check(
    "A1",
    E,
    "an access list drops RoCE",
    condition="no access list at a port that RoCE or its congestion notifications cross drops UDP 4791 with their DSCP",
    consequence="RoCE connections through this port time out",
    remedy="permit udp any any eq 4791 before the rule that denies",
    source="UDP destination port 4791 is RoCEv2 (IBTA annex A17)",
)
def A1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Where it is not encapsulated: at ports to hosts, and between switches without a VTEP on either side."""
    overlay = any(vtep_address(device) for device in facts.devices)
    gateways = (it for device in facts.devices for it in device.identity.gateways)
    subnets = {it.vlan: network for it in gateways if (network := network_of(it.address))}
    for device, found, use, lines in _applied(facts):
        if overlay and not any(facts.faces_host(line) for line in lines):
            continue
        for name, dscps in (("RoCE", facts.roce_dscps or (None,)), ("CNPs", facts.cnp_dscps)):
            results = [(dscp, found.decide(_of_hosts(subnets, lines, use, dscp))) for dscp in dscps]
            dropped = [(dscp, at) for dscp, (passes, at) in results if passes is False]
            if dropped:
                code = "" if dropped[0][0] is None else f", DSCP {dropped[0][0]}"
                yield _found(device, found, use, f"{name} (UDP {ROCE_PORT}{code})", dropped[0][1], [])
                break


def _of_hosts(subnets: dict[str, IPv4Network], lines: list[Line], use: FilterUse, dscp: int | None) -> Flow:
    """RoCE of the hosts at a port: their addresses are those of the gateway's subnet in their VLAN."""
    networks = {subnets.get(line.port.vlan) for line in lines}
    its = networks.pop() if len(networks) == 1 else None
    return Flow(UDP, None, ROCE_PORT, dscp, its if use.inbound else None, None if use.inbound else its)


@check(
    "A2",
    E,
    "an access list drops VXLAN",
    condition="no access list at a link between switches drops the VXLAN packets of a VTEP to another",
    consequence="hosts of the segment do not reach each other over this link, although BGP shows all routes",
    remedy="permit udp any any eq 4789 (vxlan) before the rule that denies",
    source="RFC 7348 section 5 (UDP destination port 4789)",
)
def A2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """With the addresses of the VTEPs, and RoCE's DSCP, which the outer header has."""
    vteps = {device.name: network for device in facts.devices if (network := _network(vtep_address(device)))}
    for device, found, use, lines in _applied(facts) if len(vteps) > 1 else ():
        if all(facts.faces_host(line) for line in lines) or not any(line.end in facts.peers for line in lines):
            continue
        flow = _tunnel(facts, device, use, vteps)
        passes, at = found.decide(flow)
        if passes is False:
            port = f"VXLAN (UDP {flow.target_port})"
            yield _found(device, found, use, port, at, [])


def _tunnel(facts: Facts, device: Device, use: FilterUse, vteps: dict[str, IPv4Network]) -> Flow:
    own = vteps.get(device.name)
    stated = device.identity.vxlan_port.value
    port = int(stated) if is_number(stated) else _VXLAN_PORT
    dscp = facts.roce_dscps[0] if facts.roce_dscps else None
    others = [network for name, network in vteps.items() if name != device.name]
    far = others[0] if own is not None and others else None
    near = own
    return Flow(UDP, None, port, dscp, far if use.inbound else near, near if use.inbound else far)


@check(
    "A3",
    E,
    "an access list drops a BGP session",
    condition="no access list at the port of a session, or of the control plane, drops its TCP segments in both "
    "directions of its opening",
    consequence="the session stays down: its link carries no routes",
    remedy="permit tcp any any eq bgp, and permit tcp any eq bgp any, before the rule that denies",
    source="RFC 4271 section 8.2.1 (TCP port 179); either end may open the connection",
    leads_to="V8 V11 P22",
)
def A3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Sessions between ports, at the control plane all: the neighbour's connection and the own one are dropped."""
    for device, found, use, lines in (*_applied(facts), *_of_control_planes(facts)):
        names = {name for line in lines for name in (line.port.name, line.port.lag) if name}
        for session in device.sessions:
            if not lines and session.vrf:
                continue  # what the control plane's list is applied to is the default VRF
            near, far = _network(near_address(facts, device, session)), _network(session.address)
            at_port = not lines or any(
                far is not None and far.subnet_of(network)
                for name in (*names, use.interface)
                for network in _networks(device, name)
            )
            if not (session.up and at_port and near and far):
                continue
            source, target = (far, near) if use.inbound else (near, far)
            opened = found.decide(Flow(TCP, _DYNAMIC_PORT, _BGP_PORT, None, source, target))
            answered = found.decide(Flow(TCP, _BGP_PORT, _DYNAMIC_PORT, None, source, target))
            if opened[0] is False and answered[0] is False:
                what = f"BGP with {session.address} (TCP {_BGP_PORT})"
                yield _found(device, found, use, what, opened[1], [(device.name, session.where)])


def _of_control_planes(facts: Facts) -> Iterator[_Applied]:
    """Access lists on what switches themselves receive: at no port, and thus at every one."""
    for device in facts.devices:
        for use in device.filter_uses.values():
            found = device.filters.get(use.name)
            if use.interface == CONTROL_PLANE and use.inbound and found is not None:
                yield device, found, use, []


def _networks(device: Device, name: str) -> Iterator[IPv4Network]:
    for text in device.addresses.get(name, ()):
        network = interface_of(text).network
        if isinstance(network, IPv4Network):
            yield network


def _network(address: str) -> IPv4Network | None:
    """A host route; None where there is no IPv4 address."""
    return IPv4Network(address) if is_address(address) and ":" not in address else None


CHECKS: Final[tuple[Check, ...]] = (A1, A2, A3)
