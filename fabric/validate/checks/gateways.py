"""V: anycast gateways that differ between switches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Interface, IPv6Interface
from typing import Final

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, Where
from fabric.validate.checks.base import Check, E, Found, check, named
from fabric.validate.checks.identity import stated
from fabric.validate.disagreement import UNDECIDED, changed, told_apart
from fabric.validate.facts import Facts
from fabric.validate.routing_fixes import set_gateway, set_gateway_mac


@check(
    "V6",
    E,
    "an anycast gateway differs between switches",
    condition="the gateway of a VLAN has one address, one prefix length, one VRF and one MAC address on every switch, "
    "and is in the subnet of the switch's own address in the VLAN, where it has one, and is not that address",
    consequence="hosts lose their gateway when they move, or have another subnet than their neighbours",
    remedy="copy address, prefix and MAC address from the other switches",
    source="RFC 9135 section 4.1 (anycast default gateway)",
    leads_to="V11",
)
def V6(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Against what most switches have."""
    yield from _half_gateways(facts)
    yield from _other_vrfs(facts)
    yield from _outside(facts)
    yield from _own_is_gateway(facts)
    by_vlan: dict[str, list[tuple[Device, str, tuple[str, ...]]]] = {}
    for device in facts.devices:
        for gateway in device.identity.gateways:
            by_vlan.setdefault(gateway.vlan, []).append((device, gateway.address, gateway.where))
    macs = [
        (device, gateway.mac or device.identity.gateway_mac.value, where)
        for device in facts.devices
        for gateway in device.identity.gateways
        if (where := gateway.where if gateway.mac else device.identity.gateway_mac.where)
        and (gateway.mac or device.identity.gateway_mac)
    ]
    for what, held in (*((f"gateway of VLAN {vlan}", held) for vlan, held in by_vlan.items()), ("gateway MAC", macs)):
        sets: dict[str, tuple[str, ...]] = {}
        for device, value, _ in held:
            sets[device.name] = tuple(dict.fromkeys((*sets.get(device.name, ()), value)))
        if len(set(sets.values())) < 2:
            continue
        usual, undecided = _usual_gateways(facts, sets, what)
        for device, value, where in held:
            if sets[device.name] != usual and value not in usual:
                alike = (it for it in held if sets[it[0].name] == usual)
                other, text, place = next(alike, next(it for it in held if it[0] is not device))
                yield Found(
                    device.name,
                    named(where),
                    f"{what} is {value}, on {other.name} {text}" + (f"; {UNDECIDED}" if undecided else ""),
                    (stated(device, value, where), stated(other, text, place, f"{other.name} {what}")),
                )
        for name, own in sets.items():
            absent = [value for value in usual if value not in own]
            if absent and set(own) < set(usual):
                device, where = next((it, where) for it, _, where in held if it.name == name)
                other, _, place = next(it for it in held if it[1] == absent[0])
                yield Found(
                    name,
                    named(where),
                    f"{what} is not {absent[0]} as well, which {other.name} and most other switches have",
                    (stated(device, own[0], where), stated(other, absent[0], place, f"{other.name} {what}")),
                    fix=set_gateway(device, what.rpartition(" ")[2], absent[0]),
                )


def _usual_gateways(facts: Facts, sets: dict[str, tuple[str, ...]], what: str) -> tuple[tuple[str, ...], bool]:
    """What most switches have, and whether nothing but the order of the files says so."""
    count = Counter(sets.values()).most_common(2)
    if count[0][1] > count[1][1]:
        return count[0][0], False
    vlan = what.rpartition(" ")[2]
    wrong = told_apart(
        list(sets),
        (
            lambda name: bool(changed(facts, facts.network.devices[name], lambda it: _gateway_values(it, vlan))),
            lambda name: not vlan.isdigit() and any(int(it[:2], 16) & 1 for it in sets[name]),
            lambda name: not vlan.isdigit() and _has_own_mac(facts.network.devices[name]),
            lambda name: any(map(_is_subnet, sets[name])) if vlan.isdigit() else False,
        ),
    )
    if not wrong and (common := set.intersection(*map(set, sets.values()))):
        return tuple(it for it in count[0][0] if it in common), True  # one has more: what all have is not in doubt
    return next((value for name, value in sets.items() if name not in wrong), count[0][0]), not wrong


def _is_subnet(text: str) -> bool:
    """Whether an address is that of its subnet, which no host may have."""
    its = _interface(text)
    if its is None:
        return False
    return its.version == 4 and its.network.prefixlen < _POINT_TO_POINT and its.ip == its.network.network_address


_POINT_TO_POINT: Final = 31
"""RFC 3021: both addresses of such a subnet are of hosts."""


def _has_own_mac(device: Device) -> bool:
    """Whether some gateway has another MAC address than the one that the switch states for all."""
    general = device.identity.gateway_mac.value
    return bool(general) and any(it.mac not in {"", general} for it in device.identity.gateways)


def _gateway_values(device: Device, vlan: str) -> object:
    """Addresses of a VLAN's gateways, or what `vlan` names instead of a number: the MAC addresses of all."""
    if not vlan.isdigit():
        return device.identity.gateway_mac.value, [it.mac for it in device.identity.gateways]
    return [it.address for it in device.identity.gateways if it.vlan == vlan]


def _half_gateways(facts: Facts) -> Iterator[Found]:
    """A switch that has the address of a gateway and is none, one without the MAC address, one without the VRF."""
    anycast = {(it.vlan, it.address): (device, it) for device in facts.devices for it in device.identity.gateways}
    with_mac = [it for it in facts.devices if it.identity.gateways and it.identity.gateway_mac]
    in_vrf: dict[tuple[str, str], Device] = {}
    for device in facts.devices:
        for gateway in device.identity.gateways:
            if gateway.vlan in device.identity.vrfs:
                in_vrf.setdefault((gateway.vlan, gateway.address), device)
    for device in facts.devices:
        own = device.identity
        for (name, address), where in own.address_where.items():
            other, elsewhere = anycast.get((name.lower().removeprefix("vlan"), address), (device, None))
            if elsewhere is not None and (elsewhere.vlan, address) not in gateways_of(device):
                text = f"{address} is an anycast gateway on {other.name}, and an ordinary address of {name} here"
                at = stated(other, address, elsewhere.where, f"{other.name} gateway")
                fix = set_gateway(device, elsewhere.vlan, address)
                yield Found(device.name, named(where), text, (stated(device, address, where), at), fix=fix)
        if own.gateways and not own.gateway_mac and not all(it.mac for it in own.gateways) and with_mac:
            mac = with_mac[0].identity.gateway_mac
            first = own.gateways[0].where
            at = stated(with_mac[0], mac.value, mac.where, f"{with_mac[0].name} gateway MAC")
            text = "the gateways have no MAC address"
            fix = set_gateway_mac(device, mac.value)
            yield Found(device.name, named(first), text, (stated(device, "", first), at), fix=fix)
        for gateway in own.gateways:
            other = in_vrf.get((gateway.vlan, gateway.address), device)
            if gateway.vlan not in own.vrfs and other is not device:
                vrf = other.identity.vrfs[gateway.vlan]
                text = f"gateway of VLAN {gateway.vlan} is in no VRF, on {other.name} in {vrf.value}"
                at = stated(other, vrf.value, vrf.where, f"{other.name} VRF")
                yield Found(device.name, named(gateway.where), text, (stated(device, "", gateway.where), at))


def _other_vrfs(facts: Facts) -> Iterator[Found]:
    """Gateways in VRFs of other names and other VNIs than most have: VRFs of one VNI are one, whatever their names."""
    held: dict[str, list[tuple[Device, Where, str, str]]] = {}
    for device in facts.devices:
        own = device.identity
        vnis = {it.vrf: it.number for it in own.routed_vnis}
        for vlan in dict.fromkeys(it.vlan for it in own.gateways):
            vrf = own.vrfs.get(vlan)
            if vrf is not None and vrf.value in vnis:
                held.setdefault(vlan, []).append((device, vrf.where, vrf.value, vnis[vrf.value]))
    for vlan, rows in held.items():
        count = Counter(number for *_, number in rows).most_common(2)
        decided = len(count) > 1 and count[0][1] > count[1][1]
        other, place, name, number = next(row for row in rows if row[3] == count[0][0])
        for device, where, its_name, its in rows:
            if its == number or its_name == name:
                continue
            text = f"gateway of VLAN {vlan} is in {its_name} (VNI {its}), on {other.name} in {name} (VNI {number})"
            evidence = stated(device, its_name, where), stated(other, name, place, f"{other.name} VRF")
            yield Found(device.name, named(where), text if decided else f"{text}; {UNDECIDED}", evidence)


def _outside(facts: Facts) -> Iterator[Found]:
    """A gateway on an interface whose own addresses are all of other subnets: hosts and switch do not share one.

    Only a gateway that more than half of the switches with that VLAN's gateway have: another one is wrong itself.
    """
    held: dict[str, Counter[str]] = {}
    for device in facts.devices:
        for vlan, address in gateways_of(device):
            held.setdefault(vlan, Counter())[address] += 1
    for device in facts.devices:
        gateways = {(vlan, text): _interface(text) for vlan, text in gateways_of(device)}
        anycast = {(vlan, it.ip) for (vlan, _), it in gateways.items() if it is not None}
        own: dict[str, list[tuple[IPv4Interface | IPv6Interface, tuple[str, ...]]]] = {}
        for (name, text), where in device.identity.address_where.items():
            vlan, one = name.lower().removeprefix("vlan"), interface_of(text)
            if name.lower().startswith("vlan") and (vlan, one.ip) not in anycast and not one.ip.is_link_local:
                own.setdefault(vlan, []).append((one, where))
        for (vlan, shown), gateway in gateways.items():
            mine = [(it, where) for it, where in own.get(vlan, ()) if gateway and it.version == gateway.version]
            if gateway is None or not mine or held[vlan][shown] * 2 <= held[vlan].total():
                continue
            if not any(gateway.ip in it.network or it.ip in gateway.network for it, _ in mine):
                its, where = mine[0]
                yield Found(
                    device.name,
                    named(where),
                    f"the own address {its} of VLAN {vlan} is not in the subnet of its gateway {shown}",
                    (stated(device, str(its), where),),
                )


def _own_is_gateway(facts: Facts) -> Iterator[Found]:
    """An interface whose own address, stated beside the gateway, is that of the gateway: two MAC addresses answer."""
    for device in facts.devices:
        for gateway in device.identity.gateways:
            its = _interface(gateway.address)
            for (name, text), where in device.identity.address_where.items():
                if (
                    its is not None
                    and name.lower() == f"vlan{gateway.vlan}"
                    and interface_of(text).ip == its.ip
                    and where != gateway.where
                ):
                    yield Found(
                        device.name,
                        named(where),
                        f"the own address {text} of VLAN {gateway.vlan} is its gateway's: both the switch's and the "
                        "gateway's MAC address answer for it",
                        (stated(device, text, where), stated(device, gateway.address, gateway.where)),
                    )


def _interface(text: str) -> IPv4Interface | IPv6Interface | None:
    try:
        return interface_of(text)
    except ValueError:
        return None


def gateways_of(device: Device) -> set[tuple[str, str]]:
    """(VLAN, address with length) of every anycast gateway of a switch."""
    return {(it.vlan, it.address) for it in device.identity.gateways}


CHECKS: Final[tuple[Check, ...]] = (V6,)
