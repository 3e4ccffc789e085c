"""Which DSCP is RoCE's at hosts whose settings come from their tools' outputs, where no hosts file says it.

Outputs say what libraries ask for and what NICs and switches do with it, and one of them may be wrong. RoCE's DSCP is
the one that most NICs and switch ports together protect, of those that libraries or NICs set and of 26
(decisions/0143). Checks then name whatever differs from it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from fabric.configs.classes import lossless_class
from fabric.configs.model import Device, Port
from fabric.configs.network import DEFAULT_ROCE_DSCP, Host, Network

_DSCPS = range(64)


def settle_roce_dscps(network: Network) -> None:
    """Set `roce_dscp` of every NIC that was read from outputs and that the hosts file says nothing of."""
    if not any(_open(nic) for host in network.hosts.values() for nic in host.nics.values()):
        return
    ports = _ports(network)
    wanted = Counter[int]()
    for host in network.hosts.values():
        for interface, nic in host.nics.items():
            port = ports.get((host.name, interface)) or ports.get((host.name, ""))
            for dscp in _DSCPS:
                asked = dscp in _asked(nic)
                wanted[dscp] += 3 * (_at_nic(nic, dscp) and _at_port(port, dscp)) + _at_port(port, dscp) + asked
    usual = max(wanted, key=lambda dscp: (wanted[dscp], dscp == DEFAULT_ROCE_DSCP, -dscp), default=DEFAULT_ROCE_DSCP)
    for name, host in network.hosts.items():
        nics = {
            interface: _settled(nic, ports.get((name, interface)) or ports.get((name, "")), usual)
            for interface, nic in host.nics.items()
        }
        if nics:
            first = next(iter(nics.values()))
            network.hosts[name] = replace(host, roce_dscp=first.roce_dscp, nics=nics)


def _settled(nic: Host, port: tuple[Device, Port] | None, usual: int) -> Host:
    """Its own DSCP where NIC and port protect what a library asks for; else that of the fabric."""
    if not _open(nic):
        return nic
    own = sorted(dscp for dscp in _asked(nic) if _at_nic(nic, dscp) and _at_port(port, dscp))
    return replace(nic, roce_dscp=usual if not own or usual in own else own[0])


def _open(nic: Host) -> bool:
    return nic.captured is not None and "roce_dscp" not in nic.places


def _asked(host: Host) -> set[int]:
    """DSCPs that a library or the device sets, without 0, which means that nothing was asked for."""
    nic = host.captured
    if nic is None:
        return set()
    by_device = (said for it in nic.tclasses.values() for said in (it.override, it.cm_default) if said is not None)
    by_library = (mark.tclass for mark in nic.marks)
    return {said.dscp for said in (*by_device, *by_library)} - {0}


def _at_nic(host: Host, dscp: int) -> bool:
    """Whether the NIC has PFC for a DSCP; so it is where nothing says otherwise."""
    nic = host.captured
    if nic is None or host.pfc_enable is None or dscp not in nic.priorities:
        return bool(dscp)
    return nic.priorities[dscp].value in host.pfc_enable


def _at_port(port: tuple[Device, Port] | None, dscp: int) -> bool:
    return port is not None and lossless_class(*port, dscp)[1] is not None


def _ports(network: Network) -> dict[tuple[str, str], tuple[Device, Port]]:
    """(host, its port) to the switch's port; (host, '') to one of them."""
    found: dict[tuple[str, str], tuple[Device, Port]] = {}
    for cable in network.links:
        for here, there in ((cable.a, cable.b), (cable.b, cable.a)):
            port = network.port(here)
            if port is not None and there[0] in network.hosts:
                at = network.devices[here[0]], port
                found[there] = at
                found.setdefault((there[0], ""), at)
    return found
