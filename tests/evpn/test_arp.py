"""ARP and ND suppression: the recorded cases of the Linux bridge, and the rules behind them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fabric.controlplane.evpn.actions import Action, Originate
from fabric.controlplane.evpn.addresses import BROADCAST_MAC, ZERO_MAC
from fabric.controlplane.evpn.arp import VXLAN_PORT, ArpPacket, Decision, NdPacket, NdType, Operation, Reason
from fabric.controlplane.evpn.config import VniConfig
from fabric.controlplane.evpn.vtep import Vtep
from tests.evpn.conftest import Mesh, S, leaf

ANY = "0.0.0.0"  # noqa: S104  no address
H1, H2 = "02:00:00:65:01:01", "02:00:00:65:02:01"
IP1, IP2, UNKNOWN = "172.16.101.11", "172.16.101.21", "172.16.101.77"
CASES = (
    "bcast_request_known",
    "unicast_request_known",
    "garp_request",
    "garp_reply",
    "dad_probe_sip0",
    "dad_probe_sip0_unknown",
    "bcast_request_unknown",
    "rarp_request",
)
LINE = re.compile(
    r"(?P<source>\S+) > (?P<destination>\S+), ethertype ARP \(0x0806\), length 42: "
    r"(?P<what>Request who-has (?P<target>\S+) tell (?P<sender>\S+)|Reply (?P<ip>\S+) is-at (?P<mac>\S+)"
    r"|Reverse Request who-is (?P<whose>\S+) tell (?P<who>\S+)), length 28"
)


def _mesh(**more: object) -> Mesh:
    vnis = (VniConfig(10100, ports=("pa1", "pa2"), **more),)  # type: ignore[arg-type]
    mesh = Mesh(leaf(1, vnis), leaf(2, vnis), leaf(3, vnis))
    mesh.say(1, 10100, H1, IP1, "pa1", S)
    mesh.say(2, 10100, H2, IP2, "pa1", S)
    return mesh


def _parse(line: str) -> ArpPacket:
    found = LINE.fullmatch(line)
    assert found is not None, line
    source, destination = found["source"], found["destination"]
    if found["target"]:
        return ArpPacket(Operation.REQUEST, source, found["sender"], ZERO_MAC, found["target"], destination)
    if found["ip"]:
        # A broadcast reply is gratuitous: tcpdump does not print its target, which is the sender.
        target = found["ip"] if destination == BROADCAST_MAC else IP1
        return ArpPacket(Operation.REPLY, source, found["ip"], destination, target, destination)
    return ArpPacket(Operation.RARP_REQUEST, found["who"], ANY, found["whose"], ANY, destination)


@pytest.mark.parametrize("case", CASES)
def test_recorded_case(frr: Path, case: str) -> None:
    """The request is sent to the recorded ports; the reply has the recorded sender."""
    recorded = json.loads((frr / "arp-cases.json").read_text())[case]
    mesh = _mesh()
    request = _parse(recorded["h1a"][0])
    decision, _ = mesh.vteps[0].arp(10100, request, "pa1", 2 * S)
    crossed = [line for line in recorded["leaf1_vxlan"] if line.startswith(H1)]
    assert bool(decision.vteps) == bool(crossed)
    reply = [line for line in recorded["h1a"] if not line.startswith(H1)]
    answered_by_host = any(line.startswith(H2) for line in recorded["leaf1_vxlan"])
    assert (decision.reply is not None) == (bool(reply) and not answered_by_host)
    if decision.reply is not None:
        seen = _parse(reply[0])
        assert (decision.reply.mac, decision.reply.ip) == (seen.sender_mac, seen.sender_ip)
        assert decision.reply.to_mac == seen.ethernet_destination
    if crossed:
        arrived, _ = mesh.vteps[1].arp(10100, request, VXLAN_PORT, 2 * S)
        assert ("pa1" in arrived.ports) == bool(recorded["h2a"])
        assert arrived.reply is None
        assert not arrived.vteps


def _ask(target: str, *, sender: str = IP1, destination: str = BROADCAST_MAC, mac: str = H1) -> ArpPacket:
    return ArpPacket(Operation.REQUEST, mac, sender, ZERO_MAC, target, destination)


def _decide(vtep: Vtep, packet: ArpPacket | NdPacket, port: str = "pa1") -> Decision:
    return vtep.arp(10100, packet, port, 2 * S)[0]


def test_unknown_targets_are_replicated_to_every_vtep_of_the_vni() -> None:
    decision = _decide(_mesh().vteps[0], _ask(UNKNOWN))
    assert decision.vteps == ("10.255.1.2", "10.255.1.3")
    assert decision.ports == ("pa2",)


def test_without_suppression_a_known_target_crosses() -> None:
    vtep = _mesh(suppression=False).vteps[0]
    for packet in (_ask(IP2), _ask(IP1), _ask(IP2, sender=ANY)):
        decision = _decide(vtep, packet)
        assert decision.vteps == ("10.255.1.2", "10.255.1.3")
        assert decision.reason is Reason.SUPPRESSION_OFF


def test_suppression_can_be_turned_off_and_on() -> None:
    vtep = _mesh().vteps[0]
    vtep.set_suppression(10100, on=False)
    assert _decide(vtep, _ask(IP2)).vteps
    vtep.set_suppression(10100, on=True)
    assert not _decide(vtep, _ask(IP2)).vteps


def test_a_host_at_another_port_of_the_switch_answers_for_itself() -> None:
    mesh = _mesh()
    mesh.say(1, 10100, "02:00:00:65:01:02", "172.16.101.12", "pa2", S)
    decision = _decide(mesh.vteps[0], _ask("172.16.101.12"))
    assert decision == Decision(Reason.LOCAL_TARGET, None, ("pa2",), ())


def test_a_binding_whose_mac_aged_out_no_longer_suppresses() -> None:
    mesh = _mesh()
    mesh.note(1, mesh.vteps[1].host_gone(10100, H2, 2 * S))
    mesh.deliver(2 * S)
    decision = _decide(mesh.vteps[0], _ask(IP2))
    assert decision.reason is Reason.UNKNOWN_TARGET
    assert decision.vteps


def test_what_comes_out_of_a_tunnel_goes_to_access_ports_only() -> None:
    assert _decide(_mesh().vteps[0], _ask(UNKNOWN, mac=H2), VXLAN_PORT) == Decision(
        Reason.FROM_TUNNEL, None, ("pa1", "pa2"), ()
    )


def test_a_unicast_request_crosses_to_one_vtep_and_only_older_kernels_answer_it() -> None:
    config = leaf(1, (VniConfig(10100, ports=("pa1",)),), proxy_unicast_requests=True)
    old = Mesh(config, leaf(2))
    old.say(2, 10100, H2, IP2, "pa1", S)
    assert _decide(old.vteps[0], _ask(IP2, destination=H2)).reason is Reason.PROXIED
    assert _decide(_mesh().vteps[0], _ask(IP2, destination=H2)) == Decision(
        Reason.UNICAST_KNOWN, None, (), ("10.255.1.2",)
    )


def test_a_unicast_reply_goes_where_its_mac_is() -> None:
    mesh = _mesh()
    reply = ArpPacket(Operation.REPLY, H1, IP1, H2, IP2, H2)
    assert _decide(mesh.vteps[0], reply) == Decision(Reason.UNICAST_KNOWN, None, (), ("10.255.1.2",))
    assert mesh.vteps[1].arp(10100, reply, VXLAN_PORT, S)[0] == Decision(Reason.UNICAST_KNOWN, None, ("pa1",))
    assert mesh.vteps[2].arp(10100, reply, VXLAN_PORT, S)[0] == Decision(Reason.UNICAST_HAIRPIN)
    lost = ArpPacket(Operation.REPLY, H1, IP1, "02:00:00:00:00:99", IP2, "02:00:00:00:00:99")
    assert _decide(mesh.vteps[0], lost).reason is Reason.UNICAST_UNKNOWN
    assert _decide(mesh.vteps[0], ArpPacket(Operation.REPLY, H1, IP1, H1, IP1, H1)).ports == ()


@pytest.mark.parametrize("target", ["127.0.0.1", "224.0.0.5"])
def test_loopback_and_multicast_targets_are_none_of_its_business(target: str) -> None:
    assert _decide(_mesh().vteps[0], _ask(target)).reason is Reason.SPECIAL_TARGET


def test_the_anycast_gateway_is_answered_by_every_leaf_itself() -> None:
    mesh = _mesh(gateway="172.16.101.1/24", gateway_mac="02:00:5e:00:01:01")
    for vtep in mesh.vteps:
        decision = vtep.arp(10100, _ask("172.16.101.1"), "pa1", 2 * S)[0]
        assert decision.reply is not None
        assert decision.reply.mac == "02:00:5e:00:01:01"
        assert not decision.vteps
    assert _decide(mesh.vteps[0], _ask("172.16.101.1", destination="02:00:5e:00:01:01")).reason is Reason.GATEWAY
    other = ArpPacket(Operation.REPLY, H1, IP1, ZERO_MAC, "172.16.101.1", "02:00:5e:00:01:01")
    assert _decide(mesh.vteps[0], other) == Decision(Reason.TO_GATEWAY)


def test_frames_are_counted_by_what_became_of_them() -> None:
    vtep = _mesh().vteps[0]
    for packet in (_ask(IP2), _ask(IP2), _ask(IP1), _ask(UNKNOWN), _ask(IP2, destination=H2)):
        _decide(vtep, packet)
    counted = vtep.vnis[10100].arp
    assert (counted.proxied, counted.suppressed, counted.flooded, counted.flooded_copies) == (2, 1, 1, 2)


def _announced(actions: list[Action]) -> list[str]:
    return [key.text for action in actions if isinstance(action, Originate) for key in action.keys]


@pytest.mark.parametrize(
    ("learn", "packet", "taught"),
    [
        ("garp", _ask(IP1), True),
        ("garp", _ask(UNKNOWN), False),
        ("any", _ask(UNKNOWN), True),
        ("any", _ask(UNKNOWN, sender=ANY), False),
        ("any", ArpPacket(Operation.RARP_REQUEST, H1, ANY, H1, ANY), False),
    ],
)
def test_arp_teaches_a_binding_as_configured(learn: str, packet: ArpPacket, taught: bool) -> None:
    vtep = Vtep(leaf(1, (VniConfig(10100, ports=("pa1",)),), learn=learn))
    _, actions = vtep.arp(10100, packet, "pa1", S)
    keys = _announced(actions)
    assert f"[2]:[0]:[48]:[{H1}]" in keys
    assert (f"[2]:[0]:[48]:[{H1}]:[32]:[{IP1}]" in keys) is taught


V1, V2 = "2001:db8::11", "2001:db8::21"
NODE = "ff02::1:ff00:21"


def _solicit(target: str = V2, *, source: str = V1, destination: str = "33:33:ff:00:00:21") -> NdPacket:
    return NdPacket(NdType.NEIGHBOR_SOLICITATION, source, NODE, target, H1, destination)


def _nd_mesh() -> Mesh:
    mesh = _mesh()
    advert = NdPacket(NdType.NEIGHBOR_ADVERTISEMENT, V2, "ff02::1", V2, H2, "33:33:00:00:00:01", router=True)
    decision, actions = mesh.vteps[1].arp(10100, advert, "pa1", S)
    assert decision.reason is Reason.GRATUITOUS
    mesh.note(1, actions)
    mesh.deliver(S)
    return mesh


def test_a_known_ipv6_neighbour_is_advertised_by_the_switch_with_its_router_flag() -> None:
    decision = _decide(_nd_mesh().vteps[0], _solicit())
    assert decision.reply is not None
    assert (decision.reply.mac, decision.reply.to_ip, decision.reply.router) == (H2, V1, True)
    assert not decision.vteps


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (_solicit(source="::"), Reason.PROBE),  # duplicate address detection
        (_solicit("2001:db8::99"), Reason.UNKNOWN_TARGET),
        (_solicit(destination=H2), Reason.UNICAST_KNOWN),  # unreachability detection
        (NdPacket(NdType.NEIGHBOR_ADVERTISEMENT, V1, V2, V1, H1, H2, solicited=True), Reason.UNICAST_KNOWN),
    ],
)
def test_neighbour_discovery_is_treated_as_the_bridge_treats_it(packet: NdPacket, reason: Reason) -> None:
    assert _decide(_nd_mesh().vteps[0], packet).reason is reason


@pytest.mark.parametrize(
    ("learn", "packet", "taught"),
    [
        ("any", _solicit(), V1),
        ("garp", _solicit(), ""),
        ("any", _solicit(source="::"), ""),
        ("garp", NdPacket(NdType.NEIGHBOR_ADVERTISEMENT, V1, "ff02::1", V1, H1, "33:33:00:00:00:01"), V1),
        ("garp", NdPacket(NdType.NEIGHBOR_ADVERTISEMENT, V1, V2, V1, H1, H2, solicited=True), ""),
    ],
)
def test_neighbour_discovery_teaches_a_binding_as_configured(learn: str, packet: NdPacket, taught: str) -> None:
    vtep = Vtep(leaf(1, (VniConfig(10100, ports=("pa1",)),), learn=learn))
    vtep.arp(10100, packet, "pa1", S)
    assert list(vtep.vnis[10100].neighbors) == ([taught] if taught else [])
