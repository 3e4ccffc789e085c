"""V: the VLANs and the VNIs of one switch, which correspond one to one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.identity import Vni
from fabric.configs.model import Device
from fabric.validate.checks.base import Check, E, Found, check, named
from fabric.validate.checks.identity import stated
from fabric.validate.facts import Facts
from fabric.validate.remedies import Fix
from fabric.validate.routing_fixes import unmap_vni


@check(
    "V1",
    E,
    "VLAN and VNI do not correspond one to one",
    condition="on one switch no VNI has two VLANs, no VLAN two VNIs, and no VLAN with ports to hosts the VNI of a VRF",
    consequence="the switch refuses one of the mappings, or bridges two VLANs into one segment",
    remedy="give each VLAN its own VNI",
    source="RFC 7348 section 4.3; SONiC HLD EVPN VXLAN (one VLAN per VNI)",
    leads_to="V2 V3 V10 V11",
)
def V1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Each direction on its own."""
    for device in facts.devices:
        by_vni: dict[str, dict[str, Vni]] = {}
        by_vlan: dict[str, dict[str, Vni]] = {}
        for vni in device.identity.vnis:
            if vni.vlan:
                by_vni.setdefault(vni.number, {})[vni.vlan] = vni
                by_vlan.setdefault(vni.vlan, {})[vni.number] = vni
        yield from _of_both_kinds(device)
        for what, other, table in (("VNI", "VLANs", by_vni), ("VLAN", "VNIs", by_vlan)):
            for number, rows in table.items():
                if len(rows) > 1:
                    yield Found(
                        device.name,
                        named(list(rows.values())[-1].where),
                        f"{what} {number} has {other} {', '.join(rows)}",
                        tuple(stated(device, f"VLAN {it.vlan}, VNI {it.number}", it.where) for it in rows.values()),
                        fix=_one_mapping(facts, device, list(rows.values())),
                    )


def _one_mapping(facts: Facts, device: Device, rows: list[Vni]) -> Fix | None:
    """The mapping that no other switch has, taken away, where the others have one of two."""
    others = [it for other in facts.devices if other is not device for it in other.identity.vnis]
    odd = [it for it in rows if all((one.vlan, one.number) != (it.vlan, it.number) for one in others)]
    return unmap_vni(device, odd[0]) if len(odd) == 1 and len(rows) == len(odd) + 1 else None


def _of_both_kinds(device: Device) -> Iterator[Found]:
    """A VNI that routes for a VRF and has a VLAN with ports: the switch makes one of them, and loses the other."""
    own = device.identity
    used = {port.vlan for port in device.ports.values() if port.vlan}
    bridged = {it.number: it for it in own.vnis if it.vlan}
    for vni in own.routed_vnis:
        its = bridged.get(vni.number)
        vlan = its.vlan if its is not None else vni.vlan if vni.vlan in used else ""
        if vlan:
            where = own.vlan_where.get(vlan, vni.where) if its is None else its.where
            yield Found(
                device.name,
                named(vni.where),
                f"VNI {vni.number} is that of VRF {vni.vrf}, and of VLAN {vlan}, which has ports",
                (stated(device, f"VRF {vni.vrf}, VNI {vni.number}", vni.where), stated(device, f"VLAN {vlan}", where)),
                within=((device.name, where),),
            )


CHECKS: Final[tuple[Check, ...]] = (V1,)
