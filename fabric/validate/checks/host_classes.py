"""N: the class of RoCE from the application to the switch port: what libraries ask for, and what NICs make of it.

These checks need outputs of the hosts' tools (fabric.configs.hosts). Each names the first place at which RoCE is not in
the class that the NIC and the switch port protect; what follows there is evidence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from fabric.configs.hosts.capture import Mark, Nic, Said, Tclass, Vf
from fabric.configs.network import Host
from fabric.validate.checks.base import Check, E, Evidence, Found, I, Severity, W, check, listed
from fabric.validate.checks.entries import host_evidence, host_root, map_evidence, pfc_root
from fabric.validate.facts import Facts, Line
from fabric.validate.remedies import (
    Fix,
    set_buffers,
    set_dcqcn,
    set_gid,
    set_host_map,
    set_override,
    set_tclass,
    set_vf_priority,
)

_CONTROL: Final = frozenset(("NCCL's control messages",))
"""Few and small messages, which some put into a class of their own on purpose."""
_CM: Final = "connections by rdma_cm"
_SEVERAL: Final = 3
"""NICs of which most must agree for one to be called different."""


@check(
    "N8",
    E,
    "an application's RoCE leaves its class at the host",
    condition="the DSCP of the traffic class that each library and RDMA device sets (TOS byte / 4) is one that the NIC "
    "and the switch port protect; its GID is of RoCE v2 (warn: a default that the files leave open; rdma_cm beside "
    "libraries; info: NCCL's control messages)",
    consequence="its packets are in a lossy queue: drops and timeouts under congestion, though PFC and ECN look right",
    remedy="set the library's variable, or the device's traffic class, to four times RoCE's DSCP (DSCP 26: 104 or 106)",
    source="RFC 2474 section 3 (DSCP in the TOS byte); NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS, MORI_RDMA_TC; mlx5 "
    "tc/1/traffic_class; IBTA annex A17 (RoCE v1 has no IP header)",
)
def N8(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Every library and RDMA device of every cabled NIC, its VFs, too."""
    for line, host in facts.host_lines:
        nic = host.captured
        if nic is None or line.port.class_by_tag or host.trust == "pcp":
            continue
        for vf in (None, *(it for it in nic.vfs if it.device)):
            device = nic.device if vf is None else vf.device
            tclass = nic.tclass(device)
            for mark in marks_of(nic, tclass, device):
                yield from _of_mark(facts, line, host, mark, tclass, device, vf)


def marks_of(nic: Nic, tclass: Tclass, device: str) -> Iterator[Mark]:
    """The libraries of a NIC; rdma_cm; the device alone where it sets the class and no library is known."""
    yield from nic.marks
    if tclass.cm_default is not None:
        yield Mark(_CM, f"cma_roce_tos -d {device or 'DEVICE'}", tclass.cm_default)
    elif tclass.override is not None and not nic.marks:
        yield Mark("RoCE", "traffic_class", tclass.override)


def _of_mark(
    facts: Facts, line: Line, host: Host, mark: Mark, tclass: Tclass, device: str, vf: Vf | None
) -> Iterator[Found]:
    where = "" if vf is None else f" on VF {vf.name}"
    object_ = " ".join(filter(None, (device or (host.captured and host.captured.interface) or "", mark.library)))
    kind = None if mark.gid_index is None else tclass.gid_types.get(mark.gid_index.value)
    if mark.gid_index is not None and kind is not None and kind.value == 1:
        text = f"{mark.library}{where} has GID {mark.gid_index.value}, which is of RoCE v1: no IP header, so no DSCP"
        evidence = (_said(mark.gid_index), Evidence(f"GID {mark.gid_index.value}", kind.words, kind.place))
        yield Found(host.name, object_, text, evidence, fix=_other_gid(host, mark, tclass))
        return
    said = tclass.override or mark.tclass
    if said.dscp == host.roce_dscp or _protected(facts, line, host, said.dscp):
        return
    asked = said.words if tclass.override is None else f"{said.words}, which overrides {mark.words}"
    if mark.library == "RoCE" or (tclass.override is not None and not mark.stated):
        asked = said.words
    text = f"{mark.library}{where}: DSCP {said.dscp} ({asked}); RoCE's class is that of DSCP {host.roce_dscp}"
    fix = set_override(host, device, host.roce_dscp) if tclass.override else set_tclass(host, mark, host.roce_dscp)
    yield Found(
        host.name, object_, text, (_said(said), *_trail(line, host, said.dscp)), _severity(host, mark, tclass), fix=fix
    )


def _severity(host: Host, mark: Mark, tclass: Tclass) -> Severity | None:
    if tclass.override is not None:
        return None
    if mark.library in _CONTROL:
        return I
    if not mark.stated and not tclass.known_unset:
        return W
    return W if mark.library == _CM and host.captured is not None and host.captured.marks else None


def _protected(facts: Facts, line: Line, host: Host, dscp: int) -> bool:
    """Whether NIC and switch port protect a DSCP, and by the same priority."""
    _, priority = facts.lossless_class(line, dscp)
    own = None if host.captured is None else host.captured.priorities.get(dscp)
    if priority is None or (own is not None and own.value != priority):
        return False
    return host.pfc_enable is None or priority in host.pfc_enable


def _said(said: Said) -> Evidence:
    return Evidence(said.words, "", said.place)


def _trail(line: Line, host: Host, dscp: int) -> tuple[Evidence, ...]:
    """What the NIC and the switch port make of a DSCP."""
    own = None if host.captured is None else host.captured.priorities.get(dscp)
    at_nic = () if own is None else (Evidence(f"{host.shown}: {own.words}", f"priority {own.value}", own.place),)
    pfc = () if host.pfc_enable is None else (host_evidence(host, "pfc_enable"),)
    return (*at_nic, *pfc, *map_evidence(line, "dscp_to_tc", dscp))


def _other_gid(host: Host, mark: Mark, tclass: Tclass) -> Fix | None:
    """The entry of RoCE v2 next to the one of RoCE v1: tables have both versions of an address side by side."""
    if mark.gid_index is None:
        return None
    fitting = [index for index, kind in tclass.gid_types.items() if kind.value > 1]
    if not fitting:
        return None
    wanted = min(fitting, key=lambda index: (abs(index - mark.gid_index.value), -index))  # type: ignore[union-attr]
    return set_gid(host, mark.gid_index.words.partition("=")[0], wanted)


@check(
    "N9",
    E,
    "a NIC puts RoCE into another priority than its switch port",
    condition="the NIC's priority of RoCE's DSCP is the one by which the port protects it; where the port looks at the "
    "802.1Q tag, so is the priority of the VLAN that a VF gets",
    consequence="a pause of the switch stops other traffic of the NIC, and RoCE goes on: loss at the switch",
    remedy="map the DSCP to the switch's priority: mlnx_qos --dscp2prio set,DSCP,PRIORITY",
    source="mlnx_qos; nicctl update qos dscp-to-priority; IEEE 802.1Q clause 36 (pauses are per priority)",
    leads_to="N1 N2",
)
def N9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where PFC is right, or neither is; where PFC alone is wrong, N1 says it."""
    for line, host in facts.host_lines:
        nic = host.captured
        if nic is None:
            continue
        if line.port.class_by_tag or host.trust == "pcp":
            yield from _tagged(line, host, nic)
            continue
        _, priority = facts.lossless_class(line, host.roce_dscp)
        own = nic.priorities.get(host.roce_dscp)
        if priority is None or own is None or own.value == priority:
            continue
        if host.pfc_enable is not None and own.value in host.pfc_enable and priority not in host.pfc_enable:
            continue
        yield Found(
            host.name,
            nic.interface,
            f"DSCP {host.roce_dscp} has priority {own.value} at the NIC, priority {priority} at the switch port",
            (Evidence(own.words, f"priority {own.value}", own.place), *_trail(line, host, host.roce_dscp)[1:]),
            rests_on=(pfc_root(line),),
            fix=set_host_map(host, host.roce_dscp, priority),
        )


def _tagged(line: Line, host: Host, nic: Nic) -> Iterator[Found]:
    """VFs with a VLAN: its priority is that of their packets."""
    for vf in nic.vfs:
        said = vf.vlan_priority
        if said is not None and line.port.lossless and said.value not in line.port.lossless:
            yield Found(
                host.name,
                f"{nic.interface} {vf.name}",
                f"packets of VF {vf.name} have 802.1Q priority {said.value}, PFC is on for "
                f"{listed(line.port.lossless)} at the switch port",
                (_said(said),),
                fix=set_vf_priority(host, said.words, min(line.port.lossless)),
            )


@check(
    "N10",
    W,
    "a priority with PFC shares its NIC buffer with one without",
    condition="no receive buffer of the NIC has a priority with PFC and one without",
    consequence="lossy packets fill the buffer that RoCE's headroom is in: the NIC pauses for them, or drops RoCE",
    remedy="mlnx_qos --prio2buffer with a buffer of its own for the priorities with PFC",
    source="mlnx_qos (prio2buffer); Linux mlx5e en/port_buffer.c (one buffer for all lossless priorities)",
    leads_to="N5",
)
def N10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where mlnx_qos shows the buffers."""
    for _, host in facts.host_lines:
        nic = host.captured
        if nic is None or not nic.buffers or not host.pfc_enable:
            continue
        own = {nic.buffers[it].value for it in host.pfc_enable if it in nic.buffers}
        lossy = [it for it, said in nic.buffers.items() if said.value in own and it not in host.pfc_enable]
        if lossy:
            place = next(iter(nic.buffers.values())).place
            yield Found(
                host.name,
                nic.interface,
                f"priority {listed(host.pfc_enable)} with PFC has the receive buffer of priority {listed(lossy)}",
                (Evidence("buffer", " ".join(str(it.value) for it in nic.buffers.values()), place),),
                rests_on=(host_root(host, "pfc_enable"),),
                fix=set_buffers(host, host.pfc_enable),
            )


@check(
    "N11",
    W,
    "a NIC's congestion control is set otherwise than at most NICs",
    condition="parameters of DCQCN are those of most NICs whose vendor's tool has the same names, of three or more",
    consequence="its flows get more, or less, than their share of a congested link",
    remedy="set the parameter to the value of the other NICs",
    source="Zhu et al., SIGCOMM 2015, section 4 (fairness rests on equal parameters); mlx5 ecn/roce_rp; nicctl dcqcn",
)
def N11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """NICs of cabled hosts."""
    values: dict[str, list[tuple[Host, Said]]] = defaultdict(list)
    for _, host in facts.host_lines:
        for name, said in () if host.captured is None else host.captured.dcqcn.items():
            values[name].append((host, said))
    for name, found in values.items():
        usual, votes = Counter(said.value for _, said in found).most_common(1)[0]
        if len(found) < _SEVERAL or 2 * votes <= len(found):
            continue
        for host, said in found:
            if said.value != usual and host.captured is not None:
                yield Found(
                    host.name,
                    f"{host.captured.interface} {name}",
                    f"{name} is {said.value}, {usual} at most NICs",
                    (Evidence(name, str(said.value), said.place),),
                    fix=set_dcqcn(host, name, usual),
                )


CHECKS: Final[tuple[Check, ...]] = (N8, N9, N10, N11)
