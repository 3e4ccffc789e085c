"""Mistakes of daily upkeep in EOS, invented and tried before the checks knew them."""

from __future__ import annotations

from typing import Final

from tests.mistakes import eos
from tests.mistakes.mistake import Edit, Mistake, both, everywhere, replaced

_UP, _UP2, _HOST = "interface Ethernet3/1\n", "interface Ethernet4/1\n", "interface Ethernet1/1\n"
_IPV4, _EVPN = "   address-family ipv4\n", "   address-family evpn\n"
_VLAN = "   vlan 100\n      rd"
_SPINES = ("10.1.0.1", "10.1.0.3")
_ALL = "leaf1 leaf2 spine1 spine2"


def _eos(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    """`title` says where EVPN runs between loopbacks."""
    return Mistake("eos", title, checks, devices, where, file, edit, loopbacks="between loopbacks" in title)


def _before(line: str, text: str) -> Edit:
    """Lines in front of a line."""
    return replaced(line, text + line)


def _behind(line: str, text: str) -> Edit:
    """Lines behind a line."""
    return replaced(line, line + text)


def _copied(text: str) -> str:
    """The file of leaf1 under leaf2's name."""
    assert "hostname leaf2" in text
    return eos.good()["leaf1.cfg"].replace("hostname leaf1", "hostname leaf2").replace("device: leaf1", "device: leaf2")


def lag(modes: dict[str, str], more: dict[str, str] | None = None) -> Edit:
    """The cable between leaf1 and spine1 as a LAG at both ends, each with its mode, and lines at the bundles."""
    ports = {"leaf1": "Ethernet3/1", "spine1": "Ethernet1/1"}

    def edit(text: str) -> str:
        switch = text.split("hostname ")[1].split("\n", maxsplit=1)[0]
        if switch not in ports:
            return text
        address = f"   ip address 10.1.0.{0 if switch == 'leaf1' else 1}/31\n"
        bundle = f"interface Port-Channel10\n   no switchport\n   mtu 9214\n{(more or {}).get(switch, '')}{address}!\n"
        text = replaced(address, f"   channel-group 10 mode {modes[switch]}\n", after=f"interface {ports[switch]}\n")(
            text
        )
        return replaced("interface ", f"{bundle}interface ", after="interface ")(text)

    return edit


CASES: Final = (
    _eos(
        "RoCE's DSCP in the map has swapped digits", "M8", "leaf1", "62", replaced("qos map dscp 26", "qos map dscp 62")
    ),
    _eos(
        "the profile's name is in the wrong case at one uplink",
        "R1",
        "leaf1",
        "Roce",
        replaced("service-profile ROCE", "service-profile Roce", after=_UP),
    ),
    _eos("thresholds are in megabytes", "E2 E5 E8 R5", "leaf1", "", everywhere("kbytes", "mbytes")),
    _eos(
        "the watchdog acts before it looks",
        "W3 W5",
        "leaf1",
        "",
        replaced("watchdog default timeout 0.20", "watchdog default timeout 0.02"),
    ),
    _eos(
        "both ends of a LAG are passive",
        "L8 L12 R9 L7 P1 P3",
        "leaf1 spine1",
        "assive",
        lag({"leaf1": "passive", "spine1": "passive"}),
        "*.cfg",
    ),
    _eos(
        "a LAG is static at one end",
        "L8 L12 R9 L7",
        "leaf1 spine1",
        "static",
        lag({"leaf1": "on", "spine1": "active"}),
        "*.cfg",
    ),
    _eos(
        "an uplink's only address is a secondary one",
        "P1 P9 R9 R5 P3",
        "leaf1 spine1",
        "10.1.0",
        replaced("10.1.0.0/31", "10.1.0.0/31 secondary"),
    ),
    _eos(
        "a prefix list's name is in the wrong case",
        "R1",
        "leaf1",
        "loopbacks",
        both(
            _before(
                "router bgp",
                "ip prefix-list LOOPBACKS seq 10 permit 10.0.0.0/24 le 32\n"
                "route-map IN permit 10\n   match ip address prefix-list loopbacks\n",
            ),
            _behind(_IPV4, "".join(f"      neighbor {it} route-map IN in\n" for it in _SPINES)),
        ),
    ),
    _eos("another leaf's file under the own name", "I1 I2 I3 I5 P2 P1", "leaf1 leaf2", "", _copied, "leaf2.cfg"),
    _eos(
        "a spine is still drained by its policy",
        "V11 P18 D7 P20",
        "spine1 leaf1 leaf2",
        "DRAIN",
        both(
            _before("router bgp", "route-map DRAIN deny 10\n"),
            _behind(_IPV4, "".join(f"      neighbor 10.1.{it}.0 route-map DRAIN out\n" for it in (0, 1))),
        ),
        "spine1.cfg",
    ),
    _eos(
        "a spine is still in maintenance mode",
        "P20",
        "spine1",
        "quiesce",
        _before("router bgp", "maintenance\n   unit System\n      quiesce\n!\n"),
        "spine1.cfg",
    ),
    _eos(
        "the SVI is in a VRF without an instance",
        "R1 V6",
        "leaf1 leaf2",
        "TENANT",
        _behind("interface Vlan100\n", "   vrf TENANT\n"),
    ),
    _eos(
        "the route target's halves are swapped",
        "V3",
        "leaf1 leaf2",
        "10100:65000",
        replaced("65000:10100", "10100:65000"),
    ),
    _eos("a neighbour's timers are swapped", "I6 R5", "leaf1", "", _before(_VLAN, "   neighbor 10.1.0.1 timers 9 3\n")),
    _eos(
        "a spine sends the aggregate only",
        "P23",
        _ALL,
        "10.0.0.0/24",
        _behind(_IPV4, "      aggregate-address 10.0.0.0/24 summary-only\n"),
        "spine*.cfg",
    ),
    _eos(
        "every spine sends the aggregate only, at router level",
        "P23",
        _ALL,
        "10.0.0.0/24",
        _behind("   maximum-paths 4\n", "   aggregate-address 10.0.0.0/24 summary-only\n"),
        "spine*.cfg",
    ),
    _eos(
        "an uplink trusts 802.1p",
        "M1 M13 M2",
        "leaf1",
        "Ethernet3/1",
        replaced("   service-profile ROCE\n", "   service-profile ROCE\n   qos trust cos\n", after=_UP),
    ),
    _eos(
        "the control plane's list drops BGP",
        "A3",
        "leaf1",
        "CPU",
        _before(
            "interface Ethernet1/1",
            "ip access-list CPU\n   10 permit icmp any any\n   20 permit tcp any any eq ssh\n!\n"
            "system control-plane\n   ip access-group CPU in\n!\n",
        ),
    ),
    _eos(
        "the gateway's list drops RoCE between subnets",
        "A1",
        "leaf1",
        "GUARD",
        both(
            _before(
                "interface Ethernet1/1",
                "ip access-list GUARD\n   10 permit tcp any any\n   20 permit icmp any any\n!\n",
            ),
            _behind("interface Vlan100\n", "   ip access-group GUARD in\n"),
        ),
    ),
    _eos(
        "a host port has the speed of its predecessor",
        "L2",
        "leaf1 host1",
        "Ethernet1/1",
        replaced("400g-8", "100g-2", after=_HOST),
    ),
    _eos(
        "FEC is taken off an uplink",
        "L5",
        "leaf1 spine1",
        "Ethernet3/1",
        replaced("   error-correction encoding", "   no error-correction encoding", after=_UP),
    ),
    _eos(
        "a neighbour's group is in the wrong case",
        "R1 P11",
        "leaf1",
        "",
        both(
            _behind("   maximum-paths 4\n", "   neighbor SPINES peer group\n   neighbor SPINES remote-as 65000\n"),
            replaced("neighbor 10.1.0.1 remote-as 65000", "neighbor 10.1.0.1 peer group Spines"),
        ),
    ),
    _eos(
        "the network's route map matches another prefix",
        "V7 V11",
        "leaf1",
        "10.0.0.1",
        both(
            _before(
                "router bgp",
                "ip prefix-list OWN seq 10 permit 10.0.0.2/32\nroute-map OWN permit 10\n"
                "   match ip address prefix-list OWN\n",
            ),
            replaced("network 10.0.0.1/32", "network 10.0.0.1/32 route-map OWN"),
        ),
    ),
    _eos(
        "the VTEP's loopback is in the management VRF",
        "V4 V7",
        "leaf1",
        "VRF",
        both(
            _before("interface Loopback0", "vrf instance MGMT\n!\n"), _behind("interface Loopback0\n", "   vrf MGMT\n")
        ),
    ),
    _eos(
        "PFC is off at both ends of one cable",
        "L9 M14 M4 M1 L1",
        "leaf1 spine1",
        "",
        lambda text: (
            replaced(
                "   service-profile ROCE\n", "   service-profile ROCE\n   no priority-flow-control on\n", after=_UP
            )(text)
            if "hostname leaf1" in text
            else replaced(
                "   service-profile ROCE\n", "   service-profile ROCE\n   no priority-flow-control on\n", after=_HOST
            )(text)
            if "hostname spine1" in text
            else text
        ),
        "*1.cfg",
    ),
    _eos(
        "MTU is small at both ends of one cable",
        "T1",
        "leaf1 spine1",
        "1500",
        lambda text: replaced("mtu 9214", "mtu 1500", after=_UP if "hostname leaf1" in text else _HOST)(text),
        "*1.cfg",
    ),
    _eos(
        "every threshold lost two digits",
        "E5 E9 E13",
        _ALL,
        "",
        both(everywhere("400 kbytes", "4 kbytes"), everywhere("1600 kbytes", "16 kbytes")),
        "*.cfg",
    ),
    _eos(
        "the bandwidths exceed 100 percent",
        "R5 M11",
        "leaf1",
        "",
        replaced("bandwidth percent 10", "bandwidth percent 90"),
    ),
    _eos("one route per destination", "D7", "leaf1", "", replaced("maximum-paths 4", "maximum-paths 4 ecmp 1")),
    _eos(
        "an older block of a port comes again",
        "L4 T1",
        "leaf1",
        "Ethernet3/1",
        _before("interface Loopback0", "interface Ethernet3/1\n   mtu 1500\n!\n"),
    ),
    _eos(
        "routing is of one agent",
        "R9 V8",
        "leaf1",
        "ribd",
        _behind("ip routing\n", "!\nservice routing protocols model ribd\n"),
    ),
    _eos(
        "an EVPN policy names an unknown list",
        "R1",
        "leaf1",
        "TENANTS",
        both(
            _before("router bgp", "route-map EVPN permit 10\n   match extcommunity TENANTS\n"),
            _behind(_EVPN, "".join(f"      neighbor {it} route-map EVPN in\n" for it in _SPINES)),
        ),
    ),
    _eos(
        "EVPN between loopbacks: a policy drops one spine's loopback",
        "P22",
        "leaf1 spine1",
        "10.0.0.11",
        both(
            _before(
                "router bgp",
                "ip prefix-list NOT seq 10 permit 10.0.0.11/32\nroute-map IN deny 10\n"
                "   match ip address prefix-list NOT\nroute-map IN permit 20\n",
            ),
            _behind(_IPV4, "".join(f"      neighbor {it} route-map IN in\n" for it in _SPINES)),
        ),
    ),
    _eos(
        "EVPN between loopbacks: a spine does not advertise its loopback",
        "P22",
        "leaf1 leaf2 spine1",
        "10.0.0.11",
        replaced("      network 10.0.0.11/32\n", ""),
        "spine1.cfg",
    ),
    _eos("the RoCE queue has no bandwidth", "M9 M11", "leaf1", "", replaced("      bandwidth percent 90\n", "")),
    _eos(
        "no recovery of a stormed queue",
        "W4 R5",
        "leaf1",
        "",
        replaced("watchdog default recovery-time 0.20", "watchdog default recovery-time 0"),
    ),
    _eos(
        "a static route holds traffic at one uplink",
        "D7 P18",
        "leaf1",
        "10.0.0.2",
        _before("router bgp", "ip route 10.0.0.2/32 10.1.0.1\n!\n"),
    ),
    _eos(
        "the VLAN of the tunnel is mapped twice",
        "V1 R1",
        "leaf1",
        "10100",
        _behind("   vxlan vlan 100 vni 10100\n", "   vxlan vlan 101 vni 10100\n"),
    ),
)
