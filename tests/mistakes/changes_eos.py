"""Mistakes of changes to a running EOS fabric: ranges of ports, groups of neighbours, policies, copied blocks."""

from __future__ import annotations

from typing import Final

from tests.mistakes import eos
from tests.mistakes.mistake import Edit, Mistake, both, replaced

_UP, _OTHER_UP, _HOST = "Ethernet3/1", "Ethernet4/1", "Ethernet1/1"
_ENDS: Final = "leaf1 spine1"


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake("eos", title, checks, devices, where, file, edit)


def appended(text: str) -> Edit:
    """Lines at the end of the file, as a change pastes them."""
    return lambda content: content + text


def grouped(text: str) -> str:
    """leaf1 with its spines in a peer group."""
    for peer in ("10.1.0.1", "10.1.0.3"):
        text = text.replace(
            f"   neighbor {peer} remote-as 65000\n   neighbor {peer} send-community extended\n",
            f"   neighbor {peer} peer group SPINES\n",
        )
        text = text.replace(f"      neighbor {peer} activate\n", "")
    text = text.replace(
        "   maximum-paths 4\n",
        "   maximum-paths 4\n   neighbor SPINES peer group\n   neighbor SPINES remote-as 65000\n"
        "   neighbor SPINES send-community extended\n",
    )
    for family in ("evpn", "ipv4"):
        text = text.replace(
            f"   address-family {family}\n", f"   address-family {family}\n      neighbor SPINES activate\n"
        )
    return text


def policy(lines: str, way: str = "out") -> Edit:
    """A policy of both sessions of leaf1, with its lines before."""
    uses = "".join(f"      neighbor {it} route-map LOOPBACK {way}\n" for it in ("10.1.0.1", "10.1.0.3"))
    return both(
        replaced("router bgp", f"{lines}router bgp"),
        replaced("   address-family ipv4\n", f"   address-family ipv4\n{uses}"),
    )


def uplinks_in_one_block(text: str) -> str:
    """The lines that both uplinks share are in one block of a range."""
    shared = "   mtu 9214\n   speed 400g-8\n   error-correction encoding reed-solomon\n   no switchport\n"
    for port in (_UP, _OTHER_UP):
        begin = text.index(f"interface {port}\n")
        end = text.index("!\n", begin)
        block = text[begin:end].replace(shared, "").replace("   service-profile ROCE\n", "")
        text = text[:begin] + block + text[end:]
    return text.replace(
        f"interface {_UP}\n", f"interface {_UP},{_OTHER_UP[8:]}\n{shared}   service-profile ROCE\n!\ninterface {_UP}\n"
    )


def _block_of_leaf2(text: str) -> str:
    other = eos.good()["leaf2.cfg"]
    return text[: text.index("router bgp")] + other[other.index("router bgp") :]


def _port_of_leaf2(text: str) -> str:
    other = eos.good()["leaf2.cfg"]
    begin, end = (text.index(f"interface {it}\n") for it in (_UP, _OTHER_UP))
    first, last = (other.index(f"interface {it}\n") for it in (_UP, _OTHER_UP))
    return text[:begin] + other[first:last] + text[end:]


def _lag(mode: str, port: str) -> Edit:
    def edit(text: str) -> str:
        begin = text.index(f"interface {port}\n")
        address = text[text.index("   ip address", begin) :].split("\n", maxsplit=1)[0]
        end = text.index("!\n", begin)
        block = text[begin:end].replace("   no switchport\n", "").replace(f"{address}\n", "")
        block += (
            f"   channel-group 1 mode {mode}\n!\ninterface Port-Channel1\n   mtu 9214\n   no switchport\n{address}\n"
        )
        return text[:begin] + block + text[end:]

    return edit


def _each(leaf1: Edit, spine1: Edit) -> Edit:
    def edit(text: str) -> str:
        return leaf1(text) if "hostname leaf1" in text else spine1(text) if "hostname spine1" in text else text

    return edit


CASES: Final = (
    _case(
        "the lossless profile is taken off one port of a range",
        "L1 L9 M1 M14 M7",
        _ENDS,
        _UP,
        both(uplinks_in_one_block, appended(f"interface {_UP}\n   no service-profile ROCE\n")),
    ),
    _case(
        "the MTU is taken off one port of a range",
        "L4 T1",
        "leaf1 spine2",
        _OTHER_UP,
        both(uplinks_in_one_block, appended(f"interface {_OTHER_UP}\n   no mtu\n")),
    ),
    _case(
        "a range of both uplinks gets the default MTU",
        "L4 T1",
        "leaf1 spine1 spine2",
        "",
        appended("interface Ethernet3/1,4/1\n   mtu 1500\n"),
    ),
    _case(
        "the group of the spines is not activated for EVPN",
        "V8",
        "leaf1 spine1 spine2",
        "",
        both(grouped, replaced("      neighbor SPINES activate\n", "", after="family evpn\n")),
    ),
    _case(
        "the group of the spines has another AS number",
        "P2",
        "leaf1 spine1 spine2",
        "65001",
        both(grouped, replaced("SPINES remote-as 65000", "SPINES remote-as 65001")),
    ),
    _case(
        "one spine is not in the group",
        "P11 P3",
        "leaf1 spine1",
        "10.1.0.",
        both(grouped, replaced("   neighbor 10.1.0.1 peer group SPINES\n", "")),
    ),
    _case(
        "the network statement has a digit too much",
        "V7",
        "leaf1",
        "10.0.0.1",
        replaced("network 10.0.0.1/32", "network 10.0.0.11/32"),
    ),
    _case(
        "the list of own prefixes has another subnet",
        "V7 P18 V11",
        "leaf1",
        "LOOPBACK",
        policy(
            "ip prefix-list LO seq 10 permit 10.0.1.0/24 le 32\n"
            "route-map LOOPBACK permit 10\n   match ip address prefix-list LO\n"
        ),
    ),
    _case(
        "a policy names a list that is spelled otherwise",
        "R1",
        "leaf1",
        "LOOPS",
        policy(
            "ip prefix-list LO seq 10 permit 10.0.0.0/24 le 32\n"
            "route-map LOOPBACK permit 10\n   match ip address prefix-list LOOPS\n"
        ),
    ),
    _case(
        "an uplink with the address of the next link",
        "P1 I8 I1",
        _ENDS,
        "10.1.0.",
        replaced("ip address 10.1.0.0/31", "ip address 10.1.0.4/31"),
    ),
    _case(
        "the gateway lost a digit",
        "V6",
        "leaf1 leaf2",
        "172.16.10",
        replaced("virtual 172.16.100.1/24", "virtual 172.16.10.1/24"),
    ),
    _case("router bgp copied from the other leaf", "P2 I3 I5 P9 P3 V10 V7", "leaf1 leaf2", "", _block_of_leaf2),
    _case("an uplink copied from the other leaf", "P1 I1", "leaf1 leaf2 spine1", "10.1.1.0", _port_of_leaf2),
    _case(
        "marking stands under queue 4",
        "E4",
        "leaf1",
        "ROCE",
        both(
            replaced(
                "      random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes"
                " max-mark-probability 20 weight 0\n",
                "",
            ),
            replaced(
                "   uc-tx-queue 6\n",
                "   uc-tx-queue 4\n      random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes"
                " max-mark-probability 20 weight 0\n   uc-tx-queue 6\n",
            ),
        ),
    ),
    _case(
        "a LAG waits at both ends",
        "L8",
        _ENDS,
        "",
        _each(_lag("passive", _UP), _lag("passive", "Ethernet1/1")),
        "*1.cfg",
    ),
    _case(
        "an access list of a host's port forgets UDP",
        "A1",
        "leaf1",
        _HOST,
        both(
            replaced(
                "interface Ethernet1/1\n",
                "ip access-list HOSTS\n   10 permit tcp any any\n   20 permit icmp any any\n!\ninterface Ethernet1/1\n",
            ),
            replaced(
                "   service-profile ROCE\n",
                "   service-profile ROCE\n   ip access-group HOSTS in\n",
                after="interface Ethernet1/1\n",
            ),
        ),
    ),
    _case(
        "BFD on the spine alone",
        "P24",
        _ENDS,
        "10.1.0.",
        replaced(
            "   neighbor 10.1.0.0 remote-as 65101\n", "   neighbor 10.1.0.0 remote-as 65101\n   neighbor 10.1.0.0 bfd\n"
        ),
        "spine1.cfg",
    ),
    _case(
        "a tunnel that floods to a wrong address",
        "V15",
        "leaf1",
        "10.0.0.22",
        replaced(
            "   vxlan vlan 100 vni 10100\n", "   vxlan vlan 100 vni 10100\n   vxlan vlan 100 flood vtep 10.0.0.22\n"
        ),
    ),
)
