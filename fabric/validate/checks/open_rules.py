"""R12: rules that could not be judged, because the files do not say what they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.frr.files import OWN_MODES
from fabric.configs.model import Device, Port
from fabric.configs.network import Host
from fabric.configs.text.roce_effect import UNKNOWN_LANGUAGE
from fabric.units import count
from fabric.validate.checks.base import Check, Evidence, Found, I, Severity, check
from fabric.validate.facts import Facts

_SEVERAL: Final = 2
"""Switches of which it is odd that no link is known."""


@check(
    "R12",
    I,
    "a rule could not be judged",
    condition="the files say what the rules need: links of every switch, the state of every port with PFC, a headroom "
    "table for each HWSKU whose switches compute lossless groups, the limit of a port's headroom, a language that is "
    "read, the circuits of an interior protocol, the NIC at a link, FRR's files where they have BGP (error with "
    "--strict)",
    consequence="the verdict is silent where the rule may be broken: no error is no proof",
    remedy="give what is missing, or accept it with --suppress",
    source="operational practice",
)
def R12(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Once for each thing that is missing, at the first switch without it, or at each."""
    severity = Severity.ERROR if facts.network.strict else None
    found = (*_links(facts), *_nics(facts), *(row for device in facts.devices for row in _of_switch(facts, device)))
    for device, what, text, value in found:
        yield Found(device.name, what, text, (Evidence(what, value, device.place(())),), severity)


_Row = tuple[Device, str, str, str]
"""A switch, what is missing, the sentence, and what the files have of it."""


def _links(facts: Facts) -> Iterator[_Row]:
    """Where no link is known, the first switch; else each switch that no link leads to."""
    if len(facts.devices) < _SEVERAL or not facts.lossless:
        return
    rules = "rules of links, paths, capacity and deadlock (L, D), and those of both ends, had nothing to judge"
    give = "give --links, or neighbour tables in the files"
    if not facts.network.links:
        yield facts.devices[0], "links", f"no link is known: {rules}; {give}", "none"
        return
    for device in facts.devices:
        if device.name not in facts.linked and facts.lossless_of(device):
            yield device, "links", f"no link of this switch is known: {rules} there; {give}", "none"


def _nics(facts: Facts) -> Iterator[_Row]:
    """A host with several NICs that are set differently, and a link that names none of them."""
    for line in facts.used:
        end = facts.peers.get(line.end)
        host = None if end is None else facts.network.hosts.get(end[0])
        if end is None or host is None or len(host.nics) < _SEVERAL or end[1] in host.nics:
            continue
        first, *rest = host.nics.values()
        if any(_differ(first, other) for other in rest):
            text = (
                f"which NIC of {host.name} is here (N, L): the link says '{end[1] or 'no port'}', the host's outputs "
                f"{', '.join(host.nics)}, and these are set differently; write the interface into the link"
            )
            yield line.device, f"{line.port.name} {host.name}", text, end[1]


def _differ(nic: Host, other: Host) -> bool:
    """Whether both say something of a setting that the checks of hosts look at, and not the same."""
    for name in ("trust", "pfc_enable", "ecn_np_enable", "ecn_rp_enable"):
        values = {getattr(nic, name), getattr(other, name)} - {None}
        if len(values) > 1:
            return True
    if nic.captured is None or other.captured is None:
        return False
    ours, theirs = nic.captured.priorities.get(nic.roce_dscp), other.captured.priorities.get(nic.roce_dscp)
    return ours is not None and theirs is not None and ours.value != theirs.value


def _of_switch(facts: Facts, device: Device) -> Iterator[_Row]:
    lines = facts.lossless_of(device)
    unknown = [line for line in lines if line.port.headroom_unknown]
    if unknown:
        text = (
            f"lossless groups and headroom of {len(unknown)} of {len(lines)} lossless ports (M4, H1, H2, H4): the "
            f"switch computes them, and no headroom table of '{device.hwsku}' is known; give --pg-profile-lookup"
        )
        yield device, "headroom", text, device.hwsku
    if device.dynamic_buffers and device.max_headroom_bytes is None and lines:
        yield device, "max_headroom_size", "the limit of a port's headroom (B11): no file states max_headroom_size", ""
    silent = [] if not lines else [port for port in device.ports.values() if _says_nothing(facts, device, port)]
    if silent:
        text = (
            f"PFC, buffers and ECN of {count(len(silent), 'port')} with PFC (M, B, H, E, W): no admin_status is "
            f"stated, as at {silent[0].name}, so that they are down; state it"
        )
        yield device, "admin_status", text, "not stated: down"
    own = device.identity
    if own.igp and own.interior is None and (device.sessions or own.vtep):
        text = (
            f"whether {own.igp.value.partition(' ')[0]} leads to the loopbacks of VTEPs and sessions (O, P22, V11): "
            "its circuits are not read, and the routes are taken to be there"
        )
        yield device, "interior routing", text, own.igp.value
    if own.routing_elsewhere:
        text = (
            f"BGP, OSPF, IS-IS and route maps of {own.routing_elsewhere} (P, O, V): a file of FRR is not read beside "
            "the switch's configuration; state them in that, or check them otherwise"
        )
        yield device, "routing", text, own.routing_elsewhere
    if own.routing_mode.value in OWN_MODES and not device.beside:
        text = (
            f"BGP, OSPF and route maps (P, O, V): docker_routing_config_mode is {own.routing_mode.value}, so that they "
            f"are in files of FRR, which were not given; put them beside this file, as {device.name}.frr.conf"
        )
        yield device, "docker_routing_config_mode", text, own.routing_mode.value
    for item in device.unread:
        if item.roce == UNKNOWN_LANGUAGE:
            yield device, "language", f"every rule: {item.what}", "none"


def _says_nothing(facts: Facts, device: Device, port: Port) -> bool:
    """Whether a port with PFC that may be cabled is down because its file does not say that it is up."""
    may_be_cabled = device.name not in facts.linked or (device.name, port.name) in facts.peers
    default = device.capabilities.down_by_default and not port.admin_stated
    return default and not port.admin_up and bool(port.lossless) and may_be_cabled


CHECKS: Final[tuple[Check, ...]] = (R12,)
