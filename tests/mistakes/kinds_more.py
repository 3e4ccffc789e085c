"""Lines that stand everywhere and are left out once, words of a kind, words of three letters: found by a sweep that
removed and changed each statement of a leaf in each language.
"""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import REMOVED, Edit, Mistake, put, replaced

_BGP: Final = ("vrf", "default", "router", "bgp")
_UPLINK: Final = "interface Ethernet1/3\n"


def _case(language: str, title: str, checks: str, where: str, edit: Edit) -> Mistake:
    file = {"sonic": "leaf1.json", "nvue": "leaf1.yaml"}.get(language, "leaf1.cfg")
    return Mistake(language, title, checks, "leaf1", where, file, edit)


CASES: Final = (
    _case(
        "sonic",
        "the loopback's row is missing",
        "R9",
        "Loopback0",
        put("LOOPBACK_INTERFACE", "Loopback0", value=REMOVED),
    ),
    _case(
        "sonic",
        "the switch's role has a small letter",
        "R5",
        "type",
        put("DEVICE_METADATA", "localhost", "type", value="TorRouter"),
    ),
    _case(
        "nvue",
        "the family of EVPN is missing",
        "V8",
        "10.1.0.1",
        put(*_BGP, "address-family", "l2vpn-evpn", value=REMOVED),
    ),
    _case("nvue", "RoCE is lossy and PFC is on", "R9", "mode", put("qos", "roce", "mode", value="lossy")),
    _case("nvue", "an interface's type is mistyped", "R5", "type", put("interface", "vlan100", "type", value="svvi")),
    _case(
        "nvue",
        "a neighbour's type is mistyped",
        "R5",
        "type",
        put(*_BGP, "neighbor", "10.1.0.1", "type", value="numberd"),
    ),
    _case("eos", "the word mtu is mistyped", "R5", "mtuu 9214", replaced("mtu 9214", "mtuu 9214")),
    _case("eos", "a speed of nine lanes", "R5", "400g-9", replaced("speed 400g-8", "speed 400g-9")),
    _case("eos", "the word router-id is mistyped", "R5", "router-i", replaced("router-id", "router-i")),
    _case(
        "nxos",
        "an uplink has no line no shutdown",
        "L12",
        "Ethernet1/3",
        replaced("  no shutdown\n", "", after=_UPLINK),
    ),
    _case("nxos", "the word no is mistyped", "R5", "nno", replaced("no shutdown", "nno shutdown", after=_UPLINK)),
    _case("nxos", "the kind of FEC is mistyped", "R5", "rs-fecc", replaced("fec rs-fec", "fec rs-fecc")),
    _case(
        "nxos",
        "a neighbour's family is mistyped",
        "R5",
        "evnp",
        replaced("    address-family l2vpn evpn\n", "    address-family l2vpn evnp\n"),
    ),
)
