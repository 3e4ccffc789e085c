"""An interior routing protocol of the default VRF, OSPF or IS-IS: the neutral model that every language fills.

OSPFv2 (RFC 2328) has areas, IS-IS (RFC 1195) has levels: `zones` of a circuit are its area, or the levels on which it
forms adjacencies, of which level 2 is the backbone as area 0 is. A value that a file does not state is the default of
both protocols.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import TYPE_CHECKING, Final

from fabric.configs.identity import NOTHING, Stated
from fabric.configs.interface_address import interface_of

if TYPE_CHECKING:
    from fabric.configs.model import Device, Where

BACKBONE: Final = "0.0.0.0"  # noqa: S104  an area of OSPF, not an address to listen on
"""OSPF's area 0 (RFC 2328 section 3)."""
POINT_TO_POINT: Final = "point-to-point"
BROADCAST: Final = "broadcast"
HELLO_S: Final = 10
"""HelloInterval where no line states it: EOS, NX-OS, FRR."""
DEAD_HELLOS: Final = 4
"""RouterDeadInterval in HelloIntervals where no line states it (RFC 2328 section C.3)."""
_NET: Final = re.compile(r"[0-9a-f]{2}(?:\.[0-9a-f]{4}){4,9}\.[0-9a-f]{2}")
_SYSTEM_ID_GROUPS: Final = 3


@dataclass(frozen=True, slots=True)
class Circuit:
    """An interface that takes part in the protocol."""

    name: str
    where: Where
    process: str = ""
    """Name of the instance that it is in, as its line has it; '' where the language has one."""
    area: Stated = NOTHING
    """OSPF's area, as an IPv4 address. Empty for IS-IS."""
    level: Stated = NOTHING
    """IS-IS: 'level-1', 'level-2', 'level-1-2' of the circuit; empty: that of the switch."""
    network: Stated = NOTHING
    """'point-to-point' or 'broadcast'; empty: broadcast on a port."""
    passive: Stated = NOTHING
    """'on' where its address is announced and no adjacency is formed."""
    hello: Stated = NOTHING
    dead: Stated = NOTHING
    """OSPF's timers in seconds, as stated; empty: the default."""
    authentication: Stated = NOTHING
    """Kind of authentication: 'md5', 'sha512', 'password', ...; empty: none."""
    ignores_mtu: bool = False
    cost: Stated = NOTHING
    shut: Stated = NOTHING
    """'down' where a line keeps the protocol down here."""

    @property
    def timers(self) -> tuple[str, str]:
        """OSPF's hello and dead interval in seconds."""
        hello = self.hello.value or str(HELLO_S)
        return hello, self.dead.value or str(int(hello) * DEAD_HELLOS)


@dataclass(slots=True)
class Interior:
    """A switch's instance of OSPF or IS-IS in the default VRF."""

    protocol: str
    """'OSPF' or 'IS-IS'."""
    name: str
    where: Where
    up: bool = True
    router_id: Stated = NOTHING
    net: Stated = NOTHING
    """IS-IS: network entity title (ISO 10589 section 7.1), in small letters."""
    level: Stated = NOTHING
    """IS-IS: 'level-1', 'level-2' or 'level-1-2' of the switch."""
    circuits: dict[str, Circuit] = field(default_factory=dict)
    """By interface."""
    area_kinds: dict[str, Stated] = field(default_factory=dict)
    """OSPF: area to 'stub' or 'nssa', where it is no usual one."""
    outside: dict[str, str] = field(default_factory=dict)
    """Interface that its line puts into this instance, and the VRF that it is in, where no line has the instance."""
    redistributes: Stated = NOTHING
    """What else it announces: every loopback may be among that."""
    authentication: Stated = NOTHING
    """IS-IS: kind of authentication of the link state that it floods; empty: none."""
    authenticates: dict[str, Stated] = field(default_factory=dict)
    """OSPF: area to the kind of authentication that its circuits have where their own lines state none."""

    def zones(self, circuit: Circuit) -> frozenset[str]:
        """Its area, or the levels of its adjacencies; level 2 is '0.0.0.0', level 1 the area of the NET."""
        if self.protocol == "OSPF":
            return frozenset((circuit.area.value,))
        own = levels_of(self.level.value) & levels_of(circuit.level.value)
        return frozenset(BACKBONE if level == "2" else area_of(self.net.value) for level in own)

    def announces(self, interface: str) -> bool:
        """Whether the address of an interface gets into the protocol."""
        return self.up and (bool(self.redistributes) or interface in self.circuits)


def levels_of(text: str) -> frozenset[str]:
    """'level-1-2' -> {'1', '2'}; both where nothing is stated."""
    return frozenset("12" if not text else re.findall(r"[12]", text))


def area_of(net: str) -> str:
    """The area address of a NET: what stands before system ID and selector."""
    return net.rsplit(".", _SYSTEM_ID_GROUPS + 1)[0]


def system_id_of(net: str) -> str:
    """The six octets that name a router of IS-IS (ISO 10589 section 7.1.1)."""
    return ".".join(net.split(".")[-_SYSTEM_ID_GROUPS - 1 : -1])


def is_net(text: str) -> bool:
    """Whether a text is a network entity title, whose selector is 00."""
    return _NET.fullmatch(text.lower()) is not None and text.endswith("00")


def area_name(text: str) -> str:
    """'0' or '0.0.0.0' as an IPv4 address; '' where it is none."""
    try:
        return str(IPv4Address(int(text) if text.isascii() and text.isdigit() and len(text) < 11 else text))
    except ValueError:
        return ""


def interfaces_inside(device: Device, network: IPv4Network | IPv6Network) -> Iterator[str]:
    """Interfaces of the default VRF that have an address in a prefix: a network statement of OSPF takes these in."""
    for name, texts in device.addresses.items():
        if name not in device.identity.interface_vrfs and any(interface_of(it).ip in network for it in texts):
            yield name


def with_defaults(interior: Interior) -> None:
    """Circuits take the authentication of their area where their own lines state none."""
    for name, circuit in interior.circuits.items():
        kind = interior.authenticates.get(circuit.area.value, NOTHING)
        if kind and not circuit.authentication:
            interior.circuits[name] = replace(circuit, authentication=kind)


def one_of(found: Iterable[Interior]) -> Interior | None:
    """The only instance of a switch; of several none is judged, for each may lead where the others do not."""
    every = [it for it in found if it.circuits or it.redistributes]
    return every[0] if len(every) == 1 else None
