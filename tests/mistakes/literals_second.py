"""More mistakes of literal values, tried after the checks had learned from the first ones."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import Edit, Mistake, everywhere, put, renamed, replaced

_SUFFIX: Final = {"sonic": "json", "nvue": "yaml"}
_CAPITAL: Final = "leaf1 Leaf1"
_MAP_10100: Final = ("VXLAN_TUNNEL_MAP", "vtep|map_10100_Vlan100", "vni")
_OWN: Final = ("vrf", "default", "router", "bgp")


def _case(  # a row of the table
    language: str, title: str, checks: str, where: str, edit: Edit, *, devices: str = "leaf1", below: str = ""
) -> Mistake:
    file = f"leaf1.{_SUFFIX.get(language, 'cfg')}"
    return Mistake(language, title, checks, devices, where, file, edit, loopbacks=bool(below), interior=below)


def _after(header: str, old: str, new: str) -> Edit:
    return replaced(old, new, after=header)


_N3: Final = "interface Ethernet1/3\n"

CASES: Final = (
    _case(
        "sonic",
        "the session's source has a length",
        "R5",
        "local_addr",
        put("BGP_NEIGHBOR", "10.1.0.1", "local_addr", value="10.1.0.0/31"),
    ),
    _case(
        "sonic",
        "alpha is a letter O",
        "R5",
        "dynamic_th",
        put("BUFFER_PROFILE", "pg_lossless_400000_40m_profile", "dynamic_th", value="O"),
    ),
    _case("sonic", "marking's word has a dash", "R5", "ecn", put("WRED_PROFILE", "W", "ecn", value="ecn-all")),
    _case(
        "sonic", "the watchdog never polls", "R5", "POLL_INTERVAL", put("PFC_WD", "GLOBAL", "POLL_INTERVAL", value="0")
    ),
    _case(
        "sonic",
        "the loopback's length is 33",
        "R5",
        "10.0.0.1/33",
        renamed("LOOPBACK_INTERFACE", "Loopback0|10.0.0.1/32", to="Loopback0|10.0.0.1/33"),
    ),
    _case(
        "sonic",
        "a letter G in the gateway's MAC",
        "R5",
        "gateway_mac",
        put("SAG", "GLOBAL", "gateway_mac", value="00:00:5e:00:01:0g"),
    ),
    _case(
        "sonic",
        "the routing mode has an underscore",
        "R5",
        "docker_routing_config_mode",
        put("DEVICE_METADATA", "localhost", "docker_routing_config_mode", value="split_unified"),
    ),
    _case("sonic", "a letter O in the VNI", "R5", "vni", put(*_MAP_10100, value="1010O")),
    _case(
        "sonic",
        "the host name has a capital",
        "R11",
        "Leaf1",
        put("DEVICE_METADATA", "localhost", "hostname", value="Leaf1"),
        devices=_CAPITAL,
    ),
    _case(
        "sonic",
        "a blank in the neighbour's AS",
        "P2 R5",
        "10.1.0.1",
        put("BGP_NEIGHBOR", "10.1.0.1", "asn", value="65 000"),
    ),
    _case(
        "nvue",
        "a letter O in the neighbour's AS",
        "R5",
        "65OOO",
        put(*_OWN, "neighbor", "10.1.0.1", "remote-as", value="65OOO"),
    ),
    _case(
        "nvue",
        "an uplink's address has no length",
        "P1 R5",
        "10.1.0.0",
        put("interface", "swp3", "ip", "address", value={"10.1.0.0": {}}),
    ),
    _case("nvue", "FEC is on", "R5", "fec", put("interface", "swp3", "link", "fec", value="on")),
    _case(
        "nvue",
        "a letter O in the tunnel's source",
        "V4 R5",
        "10.0.0.1O",
        put("nve", "vxlan", "source", "address", value="10.0.0.1O"),
    ),
    _case(
        "nvue",
        "the host name has a capital",
        "R11",
        "Leaf1",
        put("system", "hostname", value="Leaf1"),
        devices=_CAPITAL,
    ),
    _case(
        "nvue", "the router ID has three parts", "R5", "router-id", put("router", "bgp", "router-id", value="10.0.0")
    ),
    _case(
        "nvue",
        "the VNI is a value",
        "refused",
        "vni",
        put("bridge", "domain", "br_default", "vlan", "100", "vni", value=10_100),
    ),
    _case(
        "nvue",
        "the access VLAN has a name",
        "R1 R5",
        "vlan100",
        put("interface", "swp1", "bridge", "domain", "br_default", "access", value="vlan100"),
    ),
    _case(
        "eos",
        "a letter O in the neighbour's AS",
        "R5",
        "6500O",
        replaced("neighbor 10.1.0.1 remote-as 65000", "neighbor 10.1.0.1 remote-as 6500O"),
    ),
    _case(
        "eos",
        "the word address is mistyped",
        "R5",
        "adress",
        replaced("ip address 10.1.0.0/31", "ip adress 10.1.0.0/31"),
    ),
    _case("eos", "a letter O in the VNI", "R5 V16", "10100", replaced("vni 10100", "vni 1010O")),
    _case(
        "eos",
        "the word Loopback is mistyped",
        "R5 V4",
        "Lopback0",
        replaced("\ninterface Loopback0", "\ninterface Lopback0"),
    ),
    _case("eos", "the gateway's MAC has five pairs", "V6 R5", "MAC", replaced("00:00:5e:00:01:01", "00:00:5e:00:01")),
    _case("eos", "a letter l in the own AS", "R5 P12", "65101", replaced("router bgp 65101", "router bgp 6510l")),
    _case(
        "eos",
        "a blank before the network's length",
        "V7 R5",
        "10.0.0.1",
        replaced("network 10.0.0.1/32", "network 10.0.0.1 32"),
    ),
    _case(
        "eos", "a letter O in the number of paths", "R5 D7", "paths", replaced("maximum-paths 4", "maximum-paths 4O")
    ),
    _case(
        "eos",
        "the host name has a capital",
        "R11",
        "Leaf1",
        replaced("hostname leaf1", "hostname Leaf1"),
        devices=_CAPITAL,
    ),
    _case(
        "eos",
        "a letter l in the neighbour's address",
        "R5",
        "10.1.0.l",
        everywhere("neighbor 10.1.0.1 ", "neighbor 10.1.0.l "),
    ),
    _case(
        "nxos",
        "a letter l in the neighbour's address",
        "R5",
        "10.1.0.l",
        replaced("neighbor 10.1.0.1\n", "neighbor 10.1.0.l\n"),
    ),
    _case("nxos", "a letter O in the tunnel's VNI", "R5 V2", "10100", replaced("member vni 10100", "member vni 1010O")),
    _case("nxos", "the uplink's length is 310", "R5", "10.1.0.0/310", replaced("10.1.0.0/31", "10.1.0.0/310")),
    _case("nxos", "a DSCP of 66", "M1 R5", "66", replaced("match dscp 26", "match dscp 66")),
    _case("nxos", "the word input is mistyped", "R5", "imput", _after(_N3, "type qos input", "type qos imput")),
    _case("nxos", "the word minimum is mistyped", "R5", "minimun", replaced("minimum-threshold", "minimun-threshold")),
    _case(
        "nxos",
        "the word Ethernet is mistyped",
        "R5",
        "etherent1/3",
        replaced("interface Ethernet1/3", "interface etherent1/3"),
    ),
    _case("nxos", "the word segment is mistyped", "R5", "vn-segmnet", _after("vlan 100\n", "vn-segment", "vn-segmnet")),
    _case(
        "nxos", "OSPF: the area has three parts", "R5", "0.0.0", _after(_N3, "area 0.0.0.0", "area 0.0.0"), below="ospf"
    ),
    _case("nxos", "the own AS is 0", "P12 R5", "AS", replaced("router bgp 65101", "router bgp 0")),
    _case("nxos", "the MTU is a word", "L4 R5", "MTU", _after(_N3, "mtu 9216", "mtu jumbo"), devices="leaf1 spine1"),
    _case(
        "nxos",
        "a blank in the name of the loopback",
        "V4 R5",
        "source",
        replaced("source-interface loopback0", "source-interface loopback 0"),
    ),
)
