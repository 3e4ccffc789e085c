"""T: VXLAN, MTU of the underlay, and the marks on the outer header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.units import count
from fabric.validate.checks.base import Check, E, Found, W, check, named, shows
from fabric.validate.checks.entries import host_evidence
from fabric.validate.facts import Facts, Line
from fabric.validate.remedies import largest_mtu, set_class_mtu, set_field, set_port

_ROCE_HEADERS_BYTES: Final = 78
_LARGEST_BYTES: Final = 9216
"""MTU of a port that most switches take."""


@check(
    "T1",
    E,
    "links between switches are too small for the hosts' frames",
    condition="MTU between switches >= host MTU, + 50 (IPv4) or 70 (IPv6) where a VXLAN tunnel exists",
    consequence="full frames vanish in the fabric; RoCE cannot be fragmented",
    remedy="raise the fabric's MTU to the largest that its ports take, 9216 or 9214 (EOS), or lower the hosts' "
    "(warning without tunnels where the hosts' MTU is only that of their ports, or where a port has its largest)",
    source="RFC 7348 section 4.3",
)
def T1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Host MTU from the hosts file, else from the ports to hosts or in VLANs."""
    hosts = [host.mtu for host in facts.network.stated_hosts.values() if host.mtu]
    extra = facts.tunnel_bytes
    inner = max(hosts, default=0) or max((line.port.mtu for line in facts.used if facts.faces_host(line)), default=0)
    full: list[Line] = []
    for wire in facts.wires if inner else ():
        for line in (wire.a, wire.b):
            if line.port.mtu >= inner + extra:
                continue
            most = largest_mtu(line.device) or _LARGEST_BYTES
            if line.port.mtu >= most and not hosts:
                full.append(line)
                continue
            yield Found(
                line.device.name,
                line.port.name,
                f"MTU {line.port.mtu} < {inner} of the hosts" + (f" + {extra} of VXLAN" if extra else ""),
                (shows(line.device, line.port.mtu_at, "mtu", line.port.mtu),),
                E if extra or hosts else W,
                fix=set_port(line.device, line.port, "mtu", max(_LARGEST_BYTES, inner + extra))
                if line.port.mtu < most
                else None,
            )
    for line in full[:1]:
        of = f" of {count(len(full), 'port')}" if len(full) > 1 else ""
        yield Found(
            line.device.name,
            line.port.name,
            f"MTU {line.port.mtu}{of} is the largest that a port takes, and leaves no room for {extra} B of VXLAN if "
            f"hosts use the {inner} of their ports: the hosts' MTU is assumed, give --hosts",
            (shows(line.device, line.port.mtu_at, "mtu", line.port.mtu),),
            W,
        )


@check(
    "T2",
    E,
    "the tunnel hides the DSCP",
    condition="DSCP is copied at encapsulation (uniform)",
    consequence="the spine sees another DSCP: RoCE is lossy there",
    remedy="use the uniform model",
    source="SAI saitunnel.h ENCAP_DSCP_MODE; RFC 2983",
)
def T2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """SONiC's default is uniform."""
    for device in facts.devices:
        for tunnel in device.tunnels.values():
            if tunnel.dscp_mode != "uniform":
                yield Found(
                    device.name,
                    f"VXLAN_TUNNEL|{tunnel.name}",
                    f"dscp_mode {tunnel.dscp_mode}",
                    (shows(device, tunnel.where, "dscp_mode", tunnel.dscp_mode),),
                    fix=set_field(device, tunnel.where, "dscp_mode", "uniform"),
                )


@check(
    "T3",
    E,
    "the tunnel loses congestion marks",
    condition="ECN follows RFC 6040 in both directions",
    consequence="CE set in the underlay never reaches the receiver: no CNP",
    remedy="use the standard mode",
    source="RFC 6040 section 4.2; SAI saitunnel.h l.604, l.625",
)
def T3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Anything but the standard mode."""
    for device in facts.devices:
        for tunnel in device.tunnels.values():
            if tunnel.ecn_mode != "standard":
                yield Found(
                    device.name,
                    f"VXLAN_TUNNEL|{tunnel.name}",
                    f"ecn_mode {tunnel.ecn_mode}",
                    (shows(device, tunnel.where, "ecn_mode", tunnel.ecn_mode),),
                    fix=set_field(device, tunnel.where, "ecn_mode", "standard"),
                )


@check(
    "T4",
    W,
    "decapsulated traffic goes to another group",
    condition="the decap class-to-group map sends lossless classes to lossless groups",
    consequence="bounced traffic of a dual-ToR is dropped, or closes a cycle of pauses",
    remedy="make the decap map agree",
    source="SONiC HLD tunnel_dscp_remapping",
)
def T4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Maps named in PORT_QOS_MAP."""
    for device in facts.devices:
        found = device.maps.get("tc_to_pg", {}).get(device.decap_maps.get("decap_tc_to_pg_map", ""))
        lines = facts.lossless_of(device)
        if found is None or not lines:
            continue
        for priority in sorted(lines[0].port.lossless):
            for tc in facts.classes_of(lines[0], priority):
                group = found.entries.get(tc)
                profile = None if group is None else device.profile_of(lines[0].port.groups.get(group))
                if group is not None and (profile is None or not profile.lossless):
                    yield Found(
                        device.name,
                        named(found.where),
                        f"class {tc} goes to group {group} after decapsulation",
                        (shows(device, found.where, str(tc), group),),
                    )


@check(
    "T5",
    W,
    "RoCE MTU does not fit or differs",
    condition="RoCE MTU + 78 <= host MTU; one RoCE MTU for all hosts",
    consequence="queue pairs fall back or fail",
    remedy="raise the host's MTU, or lower the RoCE MTU",
    source="InfiniBand Architecture: path MTU; RoCEv2 headers",
)
def T5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Hosts file only."""
    hosts = list(facts.network.stated_hosts.values())
    sizes = sorted({host.roce_mtu for host in hosts if host.roce_mtu})
    for host in hosts:
        if host.roce_mtu and host.mtu and host.roce_mtu + _ROCE_HEADERS_BYTES > host.mtu:
            yield Found(
                host.name,
                "roce_mtu",
                f"RoCE MTU {host.roce_mtu} + {_ROCE_HEADERS_BYTES} > MTU {host.mtu}",
                (host_evidence(host, "roce_mtu"),),
            )
        if host.roce_mtu and len(sizes) > 1 and host.roce_mtu != sizes[-1]:
            yield Found(
                host.name,
                "roce_mtu",
                f"RoCE MTU {host.roce_mtu}, other hosts have {sizes[-1]}",
                (host_evidence(host, "roce_mtu"),),
            )


@check(
    "T6",
    W,
    "the VLAN's MTU is below its ports'",
    condition="MTU of a routed VLAN >= MTU of its members",
    consequence="full frames are dropped when they are routed",
    remedy="raise VLAN.mtu",
    source="sonic-vlan.yang",
)
def T6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Only where the VLAN has an address and states an MTU."""
    for device in facts.devices:
        for vlan in device.vlans.values():
            largest = max((device.ports[name].mtu for name in vlan.members if name in device.ports), default=0)
            if vlan.routed and vlan.mtu is not None and vlan.mtu < largest:
                yield Found(
                    device.name,
                    vlan.name,
                    f"MTU {vlan.mtu}, its ports have {largest}",
                    (shows(device, vlan.where, "mtu", vlan.mtu),),
                    fix=set_field(device, vlan.where, "mtu", largest),
                )


@check(
    "T7",
    E,
    "the lossless class takes smaller frames than its ports",
    condition="where a class of a network-qos policy pauses, its MTU, 1500 unless stated, is not below that of a "
    "lossless port; that of the other classes is not below it either (warn)",
    consequence="frames between the two sizes are dropped in the lossless class",
    remedy="give the class the MTU of the ports: mtu 9216",
    source="Cisco Nexus 9000 NX-OS QoS Configuration Guide, network QoS (mtu of a no-drop class)",
)
def T7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Classes of the policy in force; the port with the largest frames stands for all."""
    for device in facts.devices:
        largest = max(facts.lossless_of(device), key=lambda line: line.port.mtu, default=None)
        largest_any = max(facts.used_of(device), key=lambda line: line.port.mtu, default=None)
        for name, mtu in device.lossy_mtus.items():
            policy, _, of_policy = name.partition(" ")
            if device.class_mtus and largest_any is not None and mtu < largest_any.port.mtu:
                yield Found(
                    device.name,
                    name,
                    f"class MTU {mtu} B, {largest_any.port.name} takes {largest_any.port.mtu} B; the class is lossy",
                    (shows(device, ("policy-map", policy, of_policy), "mtu", mtu),),
                    W,
                    fix=set_class_mtu(device, policy, of_policy, largest_any.port.mtu),
                )
        for name, mtu in device.class_mtus.items():
            policy, _, of_policy = name.partition(" ")
            if largest is not None and mtu < largest.port.mtu:
                yield Found(
                    device.name,
                    name,
                    f"class MTU {mtu} B, {largest.port.name} takes {largest.port.mtu} B",
                    (
                        shows(device, ("policy-map", policy, of_policy), "mtu", mtu),
                        shows(device, largest.port.mtu_at, "mtu", largest.port.mtu),
                    ),
                    fix=set_class_mtu(device, policy, of_policy, largest.port.mtu),
                )


CHECKS: Final[tuple[Check, ...]] = (T1, T2, T3, T4, T5, T6, T7)
