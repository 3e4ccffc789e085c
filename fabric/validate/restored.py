"""A host's setting that the baseline has otherwise is what a finding asks to be changed back.

Which of two ends that disagree is wrong is not in the files; a setting of hosts that was changed, and that the finding
shows, is. No switch is changed to follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fabric.configs.network import HOST_SETTINGS, Host, Network
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.remedies import (
    Fix,
    interface_of,
    set_host,
    set_host_cnp,
    set_host_dscp,
    set_host_ecn,
    set_host_pfc,
    set_host_trust,
)

SOURCE: Final = "the baseline has it so"
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


def restored(findings: Sequence[Finding], network: Network, before: Network | None) -> list[Finding]:
    """The findings, with the baseline's value as the remedy of those that show a changed setting of a host."""
    changed = {} if before is None else _changed(network, before)
    return [_restored(it, changed) if changed and it.severity >= Severity.WARN else it for it in findings]


def settings_of(network: Network) -> dict[str, Host]:
    """Every host with settings; `default` stands for all others."""
    return {**network.hosts, **({} if network.default_host is None else {"default": network.default_host})}


def _changed(network: Network, before: Network) -> dict[str, Fix]:
    """'host1.mtu' to the change that gives it the value of the baseline."""
    old = settings_of(before)
    found = {}
    for name, host in settings_of(network).items():
        was = old.get(name) or old.get("default")
        for setting in sorted(HOST_SETTINGS) if was is not None else ():
            value = getattr(was, setting)
            if value is not None and value != getattr(host, setting):
                made = _COMMANDS.get(setting, lambda it, to, its=setting: set_host(it, its, to, ""))(host, value)
                found[f"{host.name}.{setting}"] = replace(made, source=SOURCE)
    return found


def _restored(finding: Finding, changed: Mapping[str, Fix]) -> Finding:
    for shown in finding.evidence:
        fix = changed.get(shown.label)
        if fix is not None:
            return replace(finding, fix=fix, root=shown.root or finding.root)
    return finding
