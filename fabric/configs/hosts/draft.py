"""What the readers of one host's outputs fill in; `assemble.py` makes the host's settings of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fabric.configs.hosts.capture import Said
from fabric.configs.model import Place, Unread


@dataclass(slots=True)
class NicDraft:
    """Settings of one interface, by the names of the hosts file, and what only captures have."""

    interface: str
    place: Place
    tool: str = ""
    selector: str = ""
    settings: dict[str, tuple[object, Place]] = field(default_factory=dict)
    priorities: dict[int, Said] = field(default_factory=dict)
    buffers: dict[int, Said] = field(default_factory=dict)
    dcqcn: dict[str, Said] = field(default_factory=dict)

    def put(self, name: str, value: object, place: Place) -> None:
        """One setting of the hosts file."""
        self.settings[name] = value, place


@dataclass(slots=True)
class VfDraft:
    """One VF of a port, as the list of the port has it."""

    number: int
    vlan_priority: Said | None = None


@dataclass(slots=True)
class DeviceDraft:
    """What an RDMA device says of traffic classes."""

    override: Said | None = None
    known_unset: bool = False
    cm_default: Said | None = None
    gid_types: dict[int, Said] = field(default_factory=dict)
    settings: dict[str, tuple[object, Place]] = field(default_factory=dict)
    """Of its NIC, by the names of the hosts file, where the vendor keeps them with the RDMA device."""


@dataclass(slots=True)
class HostDraft:
    """One host."""

    name: str
    nics: dict[str, NicDraft] = field(default_factory=dict)
    """By interface; '@' and the PCI address, or '#' and the tool's number, where the output has these; else ''."""
    devices: dict[str, DeviceDraft] = field(default_factory=dict)
    netdevs: dict[str, str] = field(default_factory=dict)
    """RDMA device to interface."""
    addresses: dict[str, str] = field(default_factory=dict)
    """PCI address, as '@0000:06:00.0', to RDMA device."""
    numbers: dict[str, str] = field(default_factory=dict)
    """Number that a vendor's tool gives a NIC, as '#1', to its interface."""
    parents: dict[str, str] = field(default_factory=dict)
    """Interface of a VF to that of its PF."""
    vfs: dict[str, list[VfDraft]] = field(default_factory=dict)
    """Interface of a PF to its VFs."""
    variables: dict[str, Said] = field(default_factory=dict)
    """Environment variables that set traffic classes or GIDs."""
    libraries: dict[str, Place] = field(default_factory=dict)
    """First word of a variable's name, such as NCCL, to the first line with one."""
    invalid: set[str] = field(default_factory=set)
    """Variables of these whose value is no traffic class and no index: what the library does with it is not known."""
    unread: list[Unread] = field(default_factory=list)
    unjudged: list[Unread] = field(default_factory=list)

    def nic(self, interface: str, place: Place) -> NicDraft:
        """The draft of an interface."""
        return self.nics.setdefault(interface, NicDraft(interface, place))

    def device(self, name: str) -> DeviceDraft:
        """The draft of an RDMA device."""
        return self.devices.setdefault(name, DeviceDraft())

    def not_understood(self, place: Place, text: str) -> None:
        """A line that no reader knows."""
        self.unread.append(Unread(place, f"'{' '.join(text.split())[:80]}'"))

    def limited(self, place: Place, text: str) -> None:
        """A limit of rate, which no check uses."""
        self.unjudged.append(Unread(place, f"{self.name}: '{' '.join(text.split())[:80]}'", roce="rate limit"))


def numbers_of(text: str, *, high: int) -> tuple[int, ...] | None:
    """'0-23, 25' -> numbers; None where the text is no such list or a number is above `high`."""
    found: list[int] = []
    for part in filter(None, (it.strip() for it in text.replace(",", " ").split())):
        low, dash, last = part.partition("-")
        if not _is_number(low, high) or (dash and not _is_number(last, high)):
            return None
        found += range(int(low), int(last or low) + 1)
    return tuple(found)


def _is_number(text: str, high: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 8 and int(text) <= high


def bits_of(mask: int) -> Iterable[int]:
    """Numbers of the bits that are set."""
    return (number for number in range(mask.bit_length()) if mask >> number & 1)
