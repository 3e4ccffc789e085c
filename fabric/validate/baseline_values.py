"""The value of the baseline as the remedy of findings that a changed setting of a host, or speed of a port, causes.

Two ends that disagree do not show which one is wrong. Where the finding shows a setting of a host that differs from the
baseline, the host is changed back, and no switch is changed to follow it. The speed of a port is changed back where it
changed alone, because its profile and the marking of the switch did not follow. Where most ports of the switch changed,
or the port at the other end with it, the new speed is intended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fabric.configs.network import HOST_SETTINGS, Host, Network
from fabric.validate.checks.base import Finding, Root, Severity
from fabric.validate.remedies import (
    Fix,
    interface_of,
    set_host,
    set_host_cnp,
    set_host_dscp,
    set_host_ecn,
    set_host_pfc,
    set_host_trust,
    set_port,
)

BASELINE: Final = "the baseline has it so"
"""Source of a change to the value of the baseline."""
_OF_SPEED: Final = frozenset(("H3", "E5", "E7"))
"""Checks of what has to follow the speed of a port."""
_COMMANDS: Final[Mapping[str, Callable[[Host, Any], Fix]]] = {
    "roce_dscp": set_host_dscp,
    "cnp_dscp": set_host_cnp,
    "pfc_enable": set_host_pfc,
    "trust": set_host_trust,
    "ecn_np_prio": lambda host, value: set_host_ecn(host, "ecn_np_prio", value),
    "ecn_rp_prio": lambda host, value: set_host_ecn(host, "ecn_rp_prio", value),
    "mtu": lambda host, value: set_host(host, "mtu", value, f"ip link set dev {interface_of(host)} mtu {value}"),
}
"""Settings with a command; the others are changed where the hosts file was made from."""


def with_baseline_values(findings: Sequence[Finding], network: Network, before: Network | None) -> list[Finding]:
    """The findings; where a changed setting of a host or speed of a port causes one, its old value is the remedy."""
    if before is None:
        return list(findings)
    settings, speeds = _settings(network, before), _speeds(network, before)
    return [
        _of_port(_of_host(it, settings), speeds, network) if it.severity >= Severity.WARN else it for it in findings
    ]


def _settings(network: Network, before: Network) -> dict[str, Fix]:
    """'host1.mtu' to the change that gives it the value of the baseline."""
    old = before.stated_hosts
    found = {}
    for name, host in network.stated_hosts.items():
        was = old.get(name) or old.get("default")
        for setting in sorted(HOST_SETTINGS) if was is not None else ():
            value = getattr(was, setting)
            if value is not None and value != getattr(host, setting):
                made = _COMMANDS.get(setting, lambda it, to, its=setting: set_host(it, its, to, ""))(host, value)
                found[f"{host.name}.{setting}"] = replace(made, source=BASELINE)
    return found


def _of_host(finding: Finding, changed: Mapping[str, Fix]) -> Finding:
    for shown in finding.evidence:
        fix = changed.get(shown.label)
        if fix is not None:
            return replace(finding, fix=fix, root=shown.root or finding.root)
    return finding


@dataclass(frozen=True, slots=True)
class _Speed:
    """A port whose speed alone was changed."""

    port: str
    root: Root
    fix: Fix
    text: str


def _speeds(network: Network, before: Network) -> dict[str, list[_Speed]]:
    """Switch to its ports whose speed was changed, and neither that of most of its ports nor of the other end."""
    far = {near: end for cable in network.links for near, end in ((cable.a, cable.b), (cable.b, cable.a))}
    new = {
        (name, port.name): port.speed_mbps
        for name, device in network.devices.items()
        for port in device.ports.values()
        if name in before.devices
        and (was := before.devices[name].ports.get(port.name)) is not None
        and None not in (was.speed_mbps, port.speed_mbps)
        and was.speed_mbps != port.speed_mbps
    }
    changed = Counter(name for name, _ in new)
    found: dict[str, list[_Speed]] = {}
    for (name, port_name), speed in new.items():
        device = network.devices[name]
        if 2 * changed[name] > len(device.ports) or new.get(far.get((name, port_name), ("", ""))) == speed:
            continue
        port, old = device.ports[port_name], before.devices[name].ports[port_name].speed_mbps
        fix = replace(set_port(device, port, "speed", old), source=BASELINE)
        text = f"the baseline has {old} Mb/s at {port_name}"
        found.setdefault(name, []).append(_Speed(port_name, (name, (*port.where, "speed")), fix, text))
    return found


def _of_port(finding: Finding, speeds: Mapping[str, Sequence[_Speed]], network: Network) -> Finding:
    """A finding of a port is of that port's speed alone; one of a profile or a switch is of any port's."""
    its = speeds.get(finding.device, ()) if finding.check.id in _OF_SPEED else ()
    port = finding.object.partition("|")[0]
    match = next((it for it in its if it.port == port or port not in network.devices[finding.device].ports), None)
    if match is None:
        return finding
    return replace(finding, text=f"{finding.text}; {match.text}", fix=match.fix, root=match.root)
