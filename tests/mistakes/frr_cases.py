"""Mistakes in files of FRR beside config_db.json."""

from __future__ import annotations

from typing import Final

from tests.mistakes import frr
from tests.mistakes.mistake import Edit, Mistake, both, everywhere, replaced


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake("frr", title, checks, devices, where, f"{file}.frr.conf", edit)


def _ospf(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake("frr", title, checks, devices, where, f"{file}.frr.conf", edit, loopbacks=True)


def _removed(old: str, *, after: str = "") -> Edit:
    return replaced(old, "", after=after)


def _added(new: str, *, before: str) -> Edit:
    return replaced(before, new + before)


def _to_spine1(line: str) -> Edit:
    """One more line of leaf1's session with spine1."""
    return _added(f" neighbor 10.1.0.1 {line}\n", before=" neighbor 10.1.0.3 remote-as")


def _policy(lines: str, line: str) -> Edit:
    """Lists and route maps above `router bgp`, and the line of the family that uses them."""
    return both(
        _added(lines, before="router bgp"),
        _added(f"  neighbor 10.1.0.1 {line}\n", before="  maximum-paths 4\n exit-address-family"),
    )


def _of_leaf2(_: str) -> str:
    return str(frr.good()["leaf2.frr.conf"])


_FAMILY: Final = "address-family ipv4 unicast"
_EVPN: Final = "address-family l2vpn evpn"

CASES: Final = (
    # ===== Sessions =====
    _case(
        "the neighbour's AS is another",
        "P2",
        "leaf1 spine1",
        "65001",
        replaced("10.1.0.1 remote-as 65000", "10.1.0.1 remote-as 65001"),
    ),
    _case(
        "the switch's own AS is another",
        "P2",
        "leaf1 spine1 spine2",
        "65111",
        replaced("router bgp 65101", "router bgp 65111"),
    ),
    _case(
        "two leaves have one AS",
        "I5 P2",
        "leaf1 leaf2 spine1 spine2",
        "65101",
        replaced("router bgp 65102", "router bgp 65101"),
        "leaf2",
    ),
    _case(
        "a neighbour is missing",
        "P3",
        "leaf1 spine1",
        "10.1.0.",
        both(
            _removed(" neighbor 10.1.0.1 remote-as 65000\n neighbor 10.1.0.1 description spine1\n"),
            _removed("  neighbor 10.1.0.1 activate\n"),
            _removed("  neighbor 10.1.0.1 activate\n"),
        ),
    ),
    _case(
        "a neighbour's address is another",
        "P9 P3",
        "leaf1",
        "10.1.0.33",
        everywhere("neighbor 10.1.0.1 ", "neighbor 10.1.0.33 "),
    ),
    _case(
        "a neighbour's address is the switch's own",
        "P19",
        "leaf1",
        "10.1.0.0",
        everywhere("neighbor 10.1.0.1 ", "neighbor 10.1.0.0 "),
    ),
    _case("a neighbour has no AS", "P11 R5", "leaf1", "10.1.0.1", _removed(" neighbor 10.1.0.1 remote-as 65000\n")),
    _case(
        "remote-as internal for external",
        "P2",
        "leaf1 spine1",
        "10.1.0.",
        replaced("10.1.0.1 remote-as 65000", "10.1.0.1 remote-as internal"),
    ),
    _case("the session is shut", "P6", "leaf1", "10.1.0.1", _to_spine1("shutdown")),
    _case("a password at one end", "P13", "leaf1 spine1", "10.1.0.", _to_spine1("password S3cret")),
    _case("TTL security at one end", "P16", "leaf1 spine1", "10.1.0.", _to_spine1("ttl-security hops 1")),
    _case("BFD at one end", "P24", "leaf1 spine1", "10.1.0.", _to_spine1("bfd")),
    _case("local-as hides the switch's AS", "P2", "leaf1 spine1", "65009", _to_spine1("local-as 65009")),
    _case(
        "the hold time is not above keepalive",
        "I6 R5",
        "leaf1",
        "hold time",
        replaced("timers bgp 3 9", "timers bgp 9 3"),
    ),
    _case("another source of one session", "P3 P7 P9 R1", "leaf1 spine1", "", _to_spine1("update-source Loopback0")),
    # ===== Families =====
    _case(
        "IPv4 is not activated for a neighbour",
        "P10",
        "leaf1 spine1",
        "10.1.0.",
        _removed("  neighbor 10.1.0.1 activate\n", after=_FAMILY),
    ),
    _case(
        "EVPN is not activated for a neighbour",
        "V8",
        "leaf1 spine1",
        "10.1.0.",
        _removed("  neighbor 10.1.0.1 activate\n", after=_EVPN),
    ),
    _case("VNIs are not advertised", "V5 V13", "leaf1", "", _removed("  advertise-all-vni\n")),
    _case("the loopback is not advertised", "V7", "leaf1", "10.0.0.1", _removed("  network 10.0.0.1/32\n")),
    _case(
        "another loopback is advertised",
        "V7",
        "leaf1",
        "10.0.0.1",
        replaced("network 10.0.0.1/32", "network 10.0.0.7/32"),
    ),
    _case(
        "the loopback is advertised as a subnet",
        "V7 I7",
        "leaf1",
        "10.0.0.",
        replaced("network 10.0.0.1/32", "network 10.0.0.0/24"),
    ),
    _case("one path only", "D7", "leaf1", "maximum-paths", replaced("maximum-paths 4", "maximum-paths 1")),
    _case(
        "the spine changes the next hop of EVPN routes",
        "V9",
        "spine1",
        "10.1.0.0",
        _added("  neighbor 10.1.0.0 next-hop-self force\n", before=" exit-address-family\nexit"),
        "spine1",
    ),
    _case(
        "router ID used twice", "I3", "leaf1 leaf2", "10.0.0.2", replaced("router-id 10.0.0.1", "router-id 10.0.0.2")
    ),
    # ===== Policies =====
    _case(
        "policies are required, and there is none",
        "P21",
        "leaf1",
        "10.1.0.1",
        _removed(" no bgp ebgp-requires-policy\n"),
    ),
    _case("a route map that does not exist", "R1", "leaf1", "OUT", _policy("", "route-map OUT out")),
    _case("a prefix list that does not exist", "R1", "leaf1", "LOOPBACKS", _policy("", "prefix-list LOOPBACKS out")),
    _case(
        "a policy denies the loopback towards one spine",
        "V7 P18",
        "leaf1",
        "",
        _policy(
            "ip prefix-list L seq 5 permit 10.0.0.1/32\nroute-map OUT deny 10\n match ip address prefix-list L\nexit\n"
            "route-map OUT permit 20\nexit\n",
            "route-map OUT out",
        ),
    ),
    _case(
        "a route map has no permit at its end",
        "P18 V7",
        "leaf1",
        "",
        _policy(
            "ip prefix-list L seq 5 permit 10.9.9.9/32\nroute-map OUT permit 10\n match ip address prefix-list L\n"
            "exit\n",
            "route-map OUT out",
        ),
    ),
    _case(
        "the path is prepended towards one spine",
        "P18 P20",
        "leaf1",
        "",
        _policy("route-map OUT permit 10\n set as-path prepend 65101 65101\nexit\n", "route-map OUT out"),
    ),
    _case("a limit of prefixes below what is announced", "P17", "leaf1", "10.1.0.1", _policy("", "maximum-prefix 1")),
    # ===== Words =====
    _case(
        "a word with one letter wrong",
        "R5",
        "leaf1",
        "neighbour",
        replaced("neighbor 10.1.0.1 remote-as", "neighbour 10.1.0.1 remote-as"),
    ),
    _case(
        "a letter O for a zero in the AS",
        "R5",
        "leaf1",
        "6500O",
        replaced("10.1.0.1 remote-as 65000", "10.1.0.1 remote-as 6500O"),
    ),
    _case(
        "an address with a comma",
        "R5",
        "leaf1",
        "10.1,0.1",
        replaced("neighbor 10.1.0.1 remote-as", "neighbor 10.1,0.1 remote-as"),
    ),
    _case("the family's name is mistyped", "R5", "leaf1", "evnp", replaced("l2vpn evpn", "l2vpn evnp")),
    _case(
        "an AS number out of range",
        "R5",
        "leaf1",
        "4294967296",
        replaced("10.1.0.1 remote-as 65000", "10.1.0.1 remote-as 4294967296"),
    ),
    _case(
        "the prefix has no length", "R5 V7", "leaf1", "10.0.0.1", replaced("network 10.0.0.1/32", "network 10.0.0.1")
    ),
    _case(
        "the neighbour's name is no group and no interface",
        "R1",
        "leaf1",
        "SPINE",
        replaced("neighbor 10.1.0.1 remote-as", "neighbor SPINE remote-as"),
    ),
    _case(
        "a block that a pasted no takes back", "P12", "leaf1", "", replaced("!\nend\n", "!\nno router bgp 65101\nend\n")
    ),
    _case("the file of another switch", "refused", "leaf1 leaf2", "'router bgp' of leaf2", _of_leaf2),
    # ===== Over OSPF =====
    _ospf("a link has another area", "O1", "leaf1 spine1", "", replaced("ip ospf area 0", "ip ospf area 1")),
    _ospf(
        "OSPF is missing at one link",
        "O1",
        "leaf1 spine1",
        "Ethernet24",
        _removed(" ip ospf area 0\n", after="interface Ethernet24\n"),
    ),
    _ospf(
        "a link is passive",
        "O1",
        "leaf1 spine1",
        "Ethernet24",
        _added(" ip ospf passive\n", before=" ip ospf network point-to-point\n"),
    ),
    _ospf("a link is broadcast at one end", "O1", "leaf1 spine1", "", _removed(" ip ospf network point-to-point\n")),
    _ospf(
        "hello of another length at one end",
        "O1",
        "leaf1 spine1",
        "",
        _added(" ip ospf hello-interval 5\n", before=" ip ospf network point-to-point\n"),
    ),
    _ospf(
        "the loopback is not in OSPF",
        "O3",
        "leaf1",
        "",
        _removed("interface Loopback0\n ip ospf area 0\n ip ospf passive\nexit\n!\n"),
    ),
    _ospf(
        "sessions between loopbacks have no source",
        "P7",
        "leaf1",
        "10.0.0.11",
        _removed(" neighbor OVERLAY update-source Loopback0\n"),
    ),
    _ospf(
        "sessions between loopbacks are limited to one hop",
        "P8",
        "leaf1",
        "10.0.0.11",
        _removed(" neighbor OVERLAY ebgp-multihop 3\n"),
    ),
    _ospf("EVPN is not activated for the group", "V8", "leaf1", "10.0.0.11", _removed("  neighbor OVERLAY activate\n")),
    _ospf(
        "a neighbour is not of the group",
        "P7 P8 V8",
        "leaf1",
        "10.0.0.11",
        _removed(" neighbor 10.0.0.11 peer-group OVERLAY\n"),
    ),
    _ospf(
        "the group's name is mistyped at a neighbour",
        "R1 R5 P7",
        "leaf1",
        "OVERLAYS",
        replaced("10.0.0.11 peer-group OVERLAY\n", "10.0.0.11 peer-group OVERLAYS\n"),
    ),
    _ospf(
        "a router ID of OSPF is used twice",
        "O2 I3",
        "leaf1 leaf2",
        "10.0.0.2",
        replaced("ospf router-id 10.0.0.1", "ospf router-id 10.0.0.2"),
    ),
)
