"""Changes of upkeep in EOS and NX-OS that look like a mistake of upkeep_eos.py or upkeep_nxos.py and are none."""

from __future__ import annotations

import re
from typing import Final

from tests.mistakes import upkeep_eos, upkeep_nxos
from tests.mistakes.mistake import Edit, Mistake, both, everywhere, replaced

_EOS_FAMILY, _NXOS_PATHS = "   address-family ipv4\n", "    maximum-paths 4\n"
_MAP: Final = "ip prefix-list LOOPBACKS seq 10 permit 10.0.0.0/24 le 32\nroute-map LOOPBACKS permit 10\n"


def _eos(title: str, edit: Edit, file: str = "leaf1.cfg", *, loopbacks: bool = False) -> Mistake:
    return Mistake("eos", title, "", "", "", file, edit, loopbacks=loopbacks)


def _nxos(title: str, edit: Edit, file: str = "leaf1.cfg", *, loopbacks: bool = False) -> Mistake:
    return Mistake("nxos", title, "", "", "", file, edit, loopbacks=loopbacks)


TWINS: Final = (
    _eos(
        "an aggregate is beside the loopbacks",
        replaced(_EOS_FAMILY, f"{_EOS_FAMILY}      aggregate-address 10.0.0.0/24\n"),
        "spine*.cfg",
    ),
    _eos(
        "the aggregate is of the hosts' subnets",
        replaced(_EOS_FAMILY, f"{_EOS_FAMILY}      aggregate-address 172.16.0.0/16 summary-only\n"),
    ),
    _nxos(
        "an aggregate is beside the loopbacks",
        replaced(_NXOS_PATHS, f"{_NXOS_PATHS}    aggregate-address 10.0.0.0/24\n"),
        "spine*.cfg",
    ),
    _nxos(
        "a suppressing map names other prefixes",
        both(
            replaced(
                "router bgp",
                "ip prefix-list HOSTS seq 5 permit 172.16.0.0/16 le 32\nroute-map HOSTS permit 10\n"
                "  match ip address prefix-list HOSTS\nrouter bgp",
            ),
            replaced(_NXOS_PATHS, f"{_NXOS_PATHS}    aggregate-address 10.0.0.0/8 suppress-map HOSTS\n"),
        ),
        "spine*.cfg",
    ),
    _eos(
        "a policy passes every loopback, EVPN between loopbacks",
        both(
            replaced("router bgp", f"{_MAP}   match ip address prefix-list LOOPBACKS\nrouter bgp"),
            replaced(
                _EOS_FAMILY,
                _EOS_FAMILY + "".join(f"      neighbor 10.1.0.{it} route-map LOOPBACKS in\n" for it in (1, 3)),
            ),
        ),
        loopbacks=True,
    ),
    _eos(
        "the network's route map passes it",
        both(
            replaced("router bgp", f"{_MAP}   match ip address prefix-list LOOPBACKS\nrouter bgp"),
            replaced("network 10.0.0.1/32", "network 10.0.0.1/32 route-map LOOPBACKS"),
        ),
    ),
    _nxos(
        "the network's route map sets a community",
        both(
            replaced("router bgp", "route-map OWN permit 10\n  set community 65000:1\nrouter bgp"),
            replaced("network 10.0.0.1/32", "network 10.0.0.1/32 route-map OWN"),
        ),
    ),
    _eos("one end of a LAG is passive", upkeep_eos.lag({"leaf1": "active", "spine1": "passive"}), "*.cfg"),
    _nxos("one end of a LAG is passive", upkeep_nxos.lag({"leaf1": "passive", "spine1": "active"}), "*.cfg"),
    _nxos("a LAG is static at both ends", upkeep_nxos.lag({"leaf1": "on", "spine1": "on"}, feature=""), "*.cfg"),
    _eos(
        "a LAG is brought up",
        upkeep_eos.lag({"leaf1": "active", "spine1": "active"}, {"leaf1": "   no shutdown\n"}),
        "*.cfg",
    ),
    _eos(
        "static routes have every next hop of BGP",
        replaced("router bgp", "ip route 10.0.0.2/32 10.1.0.1\nip route 10.0.0.2/32 10.1.0.3\n!\nrouter bgp"),
    ),
    _nxos(
        "a static route waits for BGP to fail", replaced("router bgp", "ip route 10.0.0.2/32 10.1.0.1 250\nrouter bgp")
    ),
    _eos(
        "the control plane's list passes BGP",
        replaced(
            "interface Ethernet1/1",
            "ip access-list CPU\n   10 permit tcp any any eq bgp\n   20 permit tcp any eq bgp any\n"
            "   30 permit tcp any any eq ssh\n!\nsystem control-plane\n   ip access-group CPU in\n!\n"
            "interface Ethernet1/1",
        ),
    ),
    _eos(
        "routing is of several agents",
        replaced("ip routing\n", "ip routing\n!\nservice routing protocols model multi-agent\n"),
    ),
    _eos("as many routes per destination as paths", replaced("maximum-paths 4", "maximum-paths 4 ecmp 4")),
    _eos(
        "an uplink has a secondary address beside its own",
        replaced("ip address 10.1.0.0/31\n", "ip address 10.1.0.0/31\n   ip address 10.9.0.0/31 secondary\n"),
    ),
    _eos(
        "an EVPN policy names a list of the file",
        both(
            replaced(
                "router bgp",
                "ip extcommunity-list TENANTS permit rt 65000:10100\nroute-map EVPN permit 10\n"
                "   match extcommunity TENANTS\nroute-map EVPN permit 20\nrouter bgp",
            ),
            replaced("   address-family evpn\n", "   address-family evpn\n      neighbor 10.1.0.1 route-map EVPN in\n"),
        ),
    ),
    _eos("the map leaves the CNPs to the default", replaced("qos map dscp 48 to traffic-class 6\n", "")),
    _eos(
        "a port has a second block with its description",
        replaced("interface Loopback0", "interface Ethernet3/1\n   description spine1\n!\ninterface Loopback0"),
    ),
    _nxos(
        "a range of ports has the MTU, and each port the rest",
        both(
            everywhere("  mtu 9216\n  ip address 10.1", "  ip address 10.1"),
            replaced("interface Vlan100", "interface Ethernet1/1-4\n  mtu 9216\ninterface Vlan100"),
        ),
    ),
    _nxos(
        "a shutdown is taken back in a second block",
        both(
            replaced("  no shutdown\n", "  shutdown\n", after="interface Ethernet1/3\n"),
            replaced("\ninterface loopback0", "\ninterface Ethernet1/3\n  no shutdown\ninterface loopback0"),
        ),
    ),
    _eos("a switch has longer timers than its neighbours", replaced("timers bgp 3 9", "timers bgp 30 90")),
    _eos(
        "a neighbour is removed and written again",
        replaced(
            "   neighbor 10.1.0.1 remote-as 65000\n",
            "   neighbor 10.1.0.1 remote-as 65009\n   no neighbor 10.1.0.1\n   neighbor 10.1.0.1 remote-as 65000\n",
        ),
    ),
    _nxos(
        "BFD runs with its feature",
        both(
            replaced("feature bgp\n", "feature bgp\nfeature bfd\n"),
            lambda text: re.sub(r"(    remote-as \d+\n)", r"\1    bfd\n", text),
        ),
        "*[12].cfg",
    ),
    _nxos(
        "the hash has ports",
        replaced(
            "interface Vlan100", "ip load-sharing address source-destination port source-destination\ninterface Vlan100"
        ),
    ),
    _nxos(
        "EVPN between loopbacks has a static route to a spine",
        replaced("router bgp", "ip route 10.0.0.11/32 10.1.0.1\nrouter bgp"),
        loopbacks=True,
    ),
)
