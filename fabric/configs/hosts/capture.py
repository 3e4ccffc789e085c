"""What the captured outputs of a host say of its NICs and applications, each value with its place.

`Nic` is one interface with its RDMA device. A virtual function (VF) shares its port's classification, PFC and ECN with
the physical function (PF), and has a traffic class of its own: the override and the default are set per RDMA device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fabric.configs.model import Place

DSCP_SHIFT: Final = 2
"""A traffic class is the TOS byte: DSCP in the upper six bits, ECN in the lower two (RFC 2474 section
3, RFC 3168 section 5). 104 and 106 are DSCP 26."""


@dataclass(frozen=True, slots=True)
class Said:
    """A value, how the file words it, and where."""

    value: int
    words: str
    place: Place

    @property
    def dscp(self) -> int:
        """Of a traffic class."""
        return self.value >> DSCP_SHIFT


@dataclass(frozen=True, slots=True)
class Mark:
    """The traffic class that one library asks for."""

    library: str
    variable: str
    """Its environment variable, or the tool that sets it."""
    tclass: Said
    stated: bool = True
    """Whether the file has the variable; else the value is the library's default, placed where the library is named."""
    gid_index: Said | None = None
    """The entry of the GID table that its connections use, where it is set."""

    @property
    def words(self) -> str:
        """'NCCL_IB_TC=104', or 'NCCL_IB_TC is not set'."""
        return self.tclass.words


@dataclass(frozen=True, slots=True)
class Vf:
    """A virtual function of a port."""

    name: str
    """'ens1f0v0', or 'vf 0' where only the port's list has it."""
    device: str = ""
    """Its RDMA device; '' where the files do not say."""
    vlan_priority: Said | None = None
    """802.1Q priority of the VLAN that the port adds for it."""


@dataclass(frozen=True, slots=True)
class Tclass:
    """What an RDMA device does with the traffic classes that libraries ask for."""

    override: Said | None = None
    """Traffic class of every connection, whatever the library asked for (mlx5: tc/1/traffic_class)."""
    known_unset: bool = False
    """The files say that there is no override."""
    cm_default: Said | None = None
    """Traffic class of connections by rdma_cm that ask for none (cma_roce_tos)."""
    gid_types: Mapping[int, Said] = field(default_factory=dict)
    """Index of the GID table to its kind; the value is the version of RoCE."""


@dataclass(frozen=True, slots=True)
class Nic:
    """One port of a host's NIC."""

    interface: str
    place: Place
    """First line about it."""
    device: str = ""
    tool: str = ""
    """'mlnx_qos', 'nicctl' or 'niccli': whose commands change it."""
    selector: str = ""
    """Number of the device for niccli, id of the port for nicctl; '' where the output has none."""
    priorities: Mapping[int, Said] = field(default_factory=dict)
    """DSCP to the priority that the NIC gives it."""
    buffers: Mapping[int, Said] = field(default_factory=dict)
    """Priority to the receive buffer that it is kept in."""
    dcqcn: Mapping[str, Said] = field(default_factory=dict)
    """Parameters of DCQCN by the names of the vendor."""
    tclasses: Mapping[str, Tclass] = field(default_factory=dict)
    """RDMA device to its traffic classes: of the port's own device, and of those of its VFs."""
    vfs: tuple[Vf, ...] = ()
    marks: tuple[Mark, ...] = ()
    """Of the libraries that the host's environment sets up: the same at all of its NICs."""

    def tclass(self, device: str) -> Tclass:
        """Of one RDMA device; of the only one where the files do not say which is whose."""
        if device in self.tclasses:
            return self.tclasses[device]
        if not device and len(self.tclasses) == 1:
            return next(iter(self.tclasses.values()))
        return Tclass()
