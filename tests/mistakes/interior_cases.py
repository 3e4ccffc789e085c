"""Mistakes of OSPF and IS-IS below EVPN between loopbacks."""

from __future__ import annotations

from typing import Final

from tests.mistakes.interior import net
from tests.mistakes.mistake import REMOVED, Edit, Mistake, both, put, replaced

_FILES: Final = {"eos": "cfg", "nxos": "cfg", "nvue": "yaml"}
_BACKBONE: Final = "area 0.0.0.0"


def _case(  # a row of the table
    language: str,
    protocol: str,
    title: str,
    checks: str,
    where: str,
    edit: Edit,
    file: str = "leaf1",
    devices: str = "",
) -> Mistake:
    shown = {"ospf": "OSPF", "isis": "IS-IS"}[protocol]
    name = f"{file}.{_FILES[language]}"
    return Mistake(
        language, f"{shown}: {title}", checks, devices or file, where, name, edit, loopbacks=True, interior=protocol
    )


def _after(header: str, old: str, new: str) -> Edit:
    return replaced(old, new, after=header)


_E3, _N3 = "interface Ethernet3/1\n", "interface Ethernet1/3\n"
_LOOP_E, _LOOP_N = "\ninterface Loopback0\n", "\ninterface loopback0\n"
_SWP3 = ("interface", "swp3", "router", "ospf")
_LINK_E = "   ip ospf network point-to-point\n"
_LINK_N = "  ip ospf network point-to-point\n"
_IN_E, _IN_N = f"   ip ospf {_BACKBONE}\n", f"  ip router ospf U {_BACKBONE}\n"

CASES: Final = (
    # ===== the link =====
    _case("eos", "ospf", "an uplink has another area", "O1", "Ethernet3/1", _after(_E3, _BACKBONE, "area 0.0.0.3")),
    _case("nxos", "ospf", "an uplink has another area", "O1", "Ethernet1/3", _after(_N3, _BACKBONE, "area 0.0.0.3")),
    _case("nvue", "ospf", "an uplink has another area", "O1", "swp3", put(*_SWP3, "area", value=3)),
    _case("eos", "ospf", "an uplink is not in it", "O1", "Ethernet3/1", _after(_E3, _IN_E, "")),
    _case("nxos", "ospf", "an uplink is not in it", "O1", "Ethernet1/3", _after(_N3, _IN_N, "")),
    _case("nvue", "ospf", "an uplink is not in it", "O1", "swp3", put(*_SWP3, value=REMOVED)),
    _case("eos", "ospf", "one end is broadcast", "O1", "network", _after(_E3, _LINK_E, "")),
    _case("nxos", "ospf", "one end is broadcast", "O1", "network", _after(_N3, _LINK_N, "")),
    _case("nvue", "ospf", "one end is broadcast", "O1", "network", put(*_SWP3, "network-type", value=REMOVED)),
    _case(
        "eos", "ospf", "an uplink is passive", "O1", "passive", replaced("   no passive-interface Ethernet3/1\n", "")
    ),
    _case(
        "nxos",
        "ospf",
        "every uplink is passive",
        "O1",
        "passive",
        _after("router ospf U\n", "  router-id 10.0.0.1\n", "  router-id 10.0.0.1\n  passive-interface default\n"),
    ),
    _case("nvue", "ospf", "an uplink is passive", "O1", "passive", put(*_SWP3, "passive", value="on")),
    _case(
        "eos",
        "ospf",
        "the hello interval is shorter at one end",
        "O1",
        "hello",
        _after("interface Ethernet1/1\n", _LINK_E, f"{_LINK_E}   ip ospf hello-interval 3\n"),
        "spine2",
    ),
    _case(
        "nxos",
        "ospf",
        "the dead interval is shorter at one end",
        "O1",
        "dead",
        _after("interface Ethernet1/2\n", _LINK_N, f"{_LINK_N}  ip ospf dead-interval 15\n"),
        "spine1",
    ),
    _case(
        "nvue",
        "ospf",
        "the dead interval is shorter at one end",
        "O1",
        "dead",
        put(*_SWP3, "timers", value={"dead-interval": 12}),
    ),
    _case(
        "eos",
        "ospf",
        "one end is authenticated",
        "O1",
        "authentication",
        _after(_E3, _LINK_E, f"{_LINK_E}   ip ospf authentication message-digest\n"),
    ),
    _case(
        "nxos",
        "ospf",
        "the area is authenticated at one switch",
        "O1",
        "authentication",
        _after("router ospf U\n", "  router-id 10.0.0.12\n", f"  router-id 10.0.0.12\n  {_BACKBONE} authentication\n"),
        "spine2",
    ),
    _case(
        "nxos",
        "ospf",
        "one end is unnumbered",
        "O1 P1",
        "Ethernet1/3",
        _after(_N3, "  ip address 10.1.0.0/31\n", "  medium p2p\n  ip unnumbered loopback0\n"),
    ),
    _case(
        "nxos",
        "ospf",
        "an uplink is in the tenant's VRF",
        "O1",
        "VRF T",
        both(
            _after(_N3, "  no switchport\n", "  no switchport\n  vrf member T\n"),
            replaced("feature bgp", "vrf context T\nfeature bgp"),
        ),
    ),
    # ===== the instance =====
    _case(
        "nxos",
        "ospf",
        "the instance is shut",
        "O1",
        "down",
        _after("router ospf U\n", "  router-id", "  shutdown\n  router-id"),
    ),
    _case("nxos", "ospf", "an uplink names another instance", "R1", "V", _after(_N3, "ospf U", "ospf V")),
    _case(
        "eos",
        "ospf",
        "two switches have one router ID",
        "O2",
        "10.0.0.1",
        _after("router ospf 1\n", "router-id 10.0.0.2", "router-id 10.0.0.1"),
        "leaf2",
    ),
    _case(
        "eos",
        "ospf",
        "max-metric is left",
        "P20",
        "max-metric",
        replaced("   max-lsa 12000\n", "   max-metric router-lsa\n"),
        "spine1",
    ),
    _case(
        "nxos", "ospf", "one uplink is costly", "O4", "cost", _after(_N3, _LINK_N, f"{_LINK_N}  ip ospf cost 4000\n")
    ),
    _case("nvue", "ospf", "one uplink is costly", "O4", "cost", put(*_SWP3, "cost", value=4000)),
    # ===== the loopback =====
    _case("eos", "ospf", "the VTEP is not in it", "O3", "10.0.0.1", _after(_LOOP_E, _IN_E, "")),
    _case("nxos", "ospf", "the VTEP is not in it", "O3", "10.0.0.1", _after(_LOOP_N, _IN_N, "")),
    _case("nvue", "ospf", "the VTEP is not in it", "O3", "10.0.0.1", put("interface", "lo", "router", value=REMOVED)),
    _case("nxos", "ospf", "a spine's loopback is not in it", "O3", "10.0.0.11", _after(_LOOP_N, _IN_N, ""), "spine1"),
    # ===== IS-IS =====
    _case("eos", "isis", "two switches have one NET", "O2", "0000.0000.0001", replaced(net(2), net(1)), "leaf2"),
    _case("nxos", "isis", "the NET is too short", "R5", "net", replaced(".0000.0001.00", ".0001.00")),
    _case("eos", "isis", "the NET is missing", "R9", "net", replaced(f"   net {net(1)}\n", "")),
    _case(
        "eos",
        "isis",
        "an uplink is of level 1",
        "O1",
        "level",
        _after(_E3, "circuit-type level-2", "circuit-type level-1"),
    ),
    _case("nxos", "isis", "the switch is of level 1", "O1", "level", replaced("is-type level-2", "is-type level-1")),
    _case("nxos", "isis", "one end is broadcast", "O1", "network", _after(_N3, "  isis network point-to-point\n", "")),
    _case(
        "nxos",
        "isis",
        "an uplink is passive",
        "O1",
        "passive",
        _after(_N3, "  isis network", "  isis passive-interface level-2\n  isis network"),
    ),
    _case(
        "eos",
        "isis",
        "the overload bit is left",
        "P20",
        "set-overload-bit",
        replaced("   is-type level-2\n", "   is-type level-2\n   set-overload-bit\n"),
        "spine1",
    ),
    _case("eos", "isis", "one uplink is costly", "O4", "cost", _after(_E3, "metric 50", "metric 5000")),
    _case(
        "eos",
        "isis",
        "one end is authenticated",
        "O1",
        "authentication",
        _after(_E3, "   isis metric", "   isis authentication mode md5\n   isis metric"),
    ),
    _case(
        "eos",
        "isis",
        "the VTEP is not in it",
        "O3",
        "10.0.0.1",
        _after(_LOOP_E, "   isis enable U\n   isis passive\n", ""),
    ),
    _case(
        "nxos",
        "isis",
        "both uplinks are not in it",
        "O1",
        "Ethernet1/4",
        both(_after(_N3, "  ip router isis U\n", ""), _after("interface Ethernet1/4\n", "  ip router isis U\n", "")),
    ),
)
