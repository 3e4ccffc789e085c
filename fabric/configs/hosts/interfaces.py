"""`ip link show`, `rdma link` and `ibdev2netdev`: VFs of a port, and which RDMA device is which interface.

Forms: iproute2 (a VF is 'vf 0 ... vlan 100, qos 3, ... max_tx_rate 10000Mbps'; an rdma link is 'link mlx5_0/1 state
ACTIVE ... netdev ens1f0'); mlnx-tools ('mlx5_0 port 1 ==> ens1f0 (Up)').
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.hosts.capture import Said
from fabric.configs.hosts.draft import HostDraft, VfDraft
from fabric.configs.hosts.sections import Section

_PORT: Final = re.compile(r"^\d+:\s+([^\s:@]+)(?:@\S+)?:\s+<")
_VF: Final = re.compile(r"^\s*vf (\d+)\s+(.*)$")
_QOS: Final = re.compile(r"\bqos (\d)\b")
_VLAN: Final = re.compile(r"\bvlan (\d{1,4})\b")
_RATE: Final = re.compile(r"\b(?:max_tx_rate|tx rate) (\d+)")
_OTHER: Final = re.compile(r"^\s+(?:link/|altname |parent|RX:|TX:|\d+\s|alias )")
_RDMA: Final = re.compile(r"^(?:link )?(?:\d+/\d+: )?(\S+)/\d+:? state \S+ .*\bnetdev (\S+)")
_RDMA_ALONE: Final = re.compile(r"^(?:link )?\S+/\d+:? ")
_IBDEV: Final = re.compile(r"^(\S+) port \d+ ==> (\S+)")


def read_ip_link(section: Section, host: HostDraft) -> None:
    """The VFs below each port."""
    port = ""
    for number, raw in section.lines:
        place = section.place(number)
        found, vf = _PORT.match(raw.strip()), _VF.match(raw)
        if found is not None:
            port = found[1]
        elif vf is not None and port:
            qos, vlan, rate = _QOS.search(vf[2]), _VLAN.search(vf[2]), _RATE.search(vf[2])
            priority = None
            if vlan is not None and int(vlan[1]):
                value = 0 if qos is None else int(qos[1])
                priority = Said(value, f"vf {vf[1]} vlan {vlan[1]}, qos {value}", place)
            host.vfs.setdefault(port, []).append(VfDraft(int(vf[1]), priority))
            if rate is not None and int(rate[1]):
                host.limited(place, f"{port} vf {vf[1]} {rate[0]}")
        elif not _OTHER.match(raw):
            host.not_understood(place, raw)


def read_rdma_link(section: Section, host: HostDraft) -> None:
    """RDMA devices of `rdma link`."""
    for number, raw in section.lines:
        found = _RDMA.match(raw.strip())
        if found is not None:
            host.netdevs[found[1]] = found[2]
        elif not _RDMA_ALONE.match(raw.strip()):
            host.not_understood(section.place(number), raw)


def read_ibdev2netdev(section: Section, host: HostDraft) -> None:
    """RDMA devices of `ibdev2netdev`."""
    for number, raw in section.lines:
        found = _IBDEV.match(raw.strip())
        if found is not None:
            host.netdevs[found[1]] = found[2]
        else:
            host.not_understood(section.place(number), raw)
