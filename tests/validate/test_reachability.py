"""Reachability from configurations alone: working fabrics, single mistakes, two tenants, and what files do not decide.

The fabric is tests/mistakes/plan.py: host1 and host2 at leaf1, host3 and host4 at leaf2, two spines, one VNI.
"""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.configs.load import load_network
from fabric.validate.facts import Facts
from fabric.validate.reach_table import between_segments, table_of
from fabric.validate.reachability import Reachability
from tests.mistakes.mistake import LANGUAGES, REMOVED, Edit, both, everywhere, put, renamed, replaced, write
from tests.mistakes.score import CASES

FORTH, BACK, LOCAL = {"13", "14", "23", "24"}, {"31", "32", "41", "42"}, {"12", "21", "34", "43"}
"""Ordered pairs of hosts by number: leaf1 to leaf2, leaf2 to leaf1, and at one leaf."""


def fabric(language: str, folder: Path, **edits: Edit) -> Path:
    """A fabric with edits of the files of some switches."""
    files = LANGUAGES[language].good()
    for switch, edit in edits.items():
        name = next(it for it in files if it.startswith(f"{switch}."))
        files[name] = edit(files[name])
    write(language, files, folder)
    return folder


def reachability(folder: Path) -> Reachability:
    return Reachability(Facts(load_network([folder])))


def failing(reach: Reachability) -> dict[str, str]:
    """Ordered pair of hosts, '13', to the reason why it does not reach; with the places."""
    found = {}
    for source, target in permutations(reach.hosts, 2):
        verdict = reach.hosts_reach(source, target)
        if not verdict.reaches:
            found[source.name[-1] + target.name[-1]] = str(verdict.cause)
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_host_of_a_working_fabric_reaches_every_other(language: str, tmp_path: Path) -> None:
    reach = reachability(fabric(language, tmp_path))
    assert len(reach.hosts) == 4
    assert not reach.unknown
    assert not failing(reach)
    assert table_of(reach).whole


@pytest.mark.parametrize(
    ("case", "pairs", "reason"),
    [
        ("sonic: the VLAN has another VNI", FORTH | BACK, "no common VNI"),
        ("eos: the VLAN has another VNI", FORTH | BACK, "no common VNI"),
        ("nvue: the VLAN has another VNI", FORTH | BACK, "no common VNI"),
        ("sonic: the VTEP's source does not exist", FORTH | BACK, "10.0.0.99 of leaf1 has no address"),
        ("nxos: the VTEP's source does not exist", FORTH | BACK, "loopback1 of leaf1 has no address"),
        ("sonic: no EVPN NVO", FORTH | BACK, "leaf1 does not use EVPN"),
        ("nvue: EVPN is off", FORTH | BACK, "leaf1 does not use EVPN"),
        ("nxos: flood and learn instead of EVPN", FORTH | BACK, "leaf1 does not use EVPN"),
        ("nxos: the tunnel is shut", FORTH | BACK, "the tunnel of leaf1 is shut or off"),
        ("nvue: VXLAN is off", FORTH | BACK, "the tunnel of leaf1 is shut or off"),
        ("eos: the loopback is not advertised", BACK, "VTEP address 10.0.0.1 of leaf1 is not advertised"),
        ("nxos: the loopback is not advertised", BACK, "VTEP address 10.0.0.1 of leaf1 is not advertised"),
        ("nvue: the loopback is not advertised", BACK, "VTEP address 10.0.0.1 of leaf1 is not advertised"),
        ("eos: the route target differs", FORTH | BACK, "route target is not imported"),
        ("nxos: the import target differs", BACK, "leaf2 imports 65000:10200"),
        ("nxos: the VNI is not in the tunnel", FORTH | BACK, "VNI 10100 is not in the tunnel of leaf1"),
        ("eos: no EVPN instance of the VLAN", FORTH | BACK, "no EVPN instance at leaf1"),
        ("eos: a spine changes the next hop", FORTH, "spine1 sets itself as next hop"),
        ("nxos: a spine changes the next hop", FORTH, "spine1 sets itself as next hop"),
        ("eos: two leaves have one AS", FORTH | BACK, "spine1 expects AS 65102, leaf2 has 65101"),
        ("sonic: a loopback is used twice", FORTH | BACK, "is also that of leaf"),
        ("eos: a session at one end only", set(), ""),
        ("nvue: the neighbour's AS is wrong", set(), ""),
        ("sonic: a port is shut", set(), ""),
    ],
)
def test_a_mistake_stops_the_right_pairs_with_its_reason(
    case: str, pairs: set[str], reason: str, tmp_path: Path
) -> None:
    [mistake] = [it for it in CASES if it.id == case]
    mistake.write(tmp_path)
    found = failing(reachability(tmp_path))
    assert set(found) == pairs
    for message in found.values():
        assert reason in message
        assert str(tmp_path) in message  # with file and line


def _lines(*starts: str) -> Edit:
    """Without the lines that begin so."""
    return lambda text: "".join(line for line in text.splitlines(keepends=True) if not line.strip().startswith(starts))


_SHUT = "   neighbor 10.1.0.1 shutdown\n   neighbor 10.1.0.3 shutdown\n"
_AS_65101 = everywhere("remote-as 65102", "remote-as 65101")


def _renumbered(port: str, number: int) -> Edit:
    return renamed("interface", port, "ip", "address", f"10.1.0.{number}/31", to=f"10.9.0.{number}/31")


BOTH_UPLINKS = [
    (
        "sonic",
        {
            "leaf1": both(
                put("BGP_NEIGHBOR", "10.1.0.1", value=REMOVED), put("BGP_NEIGHBOR", "10.1.0.3", "asn", value="1")
            )
        },
        "no session of leaf1 comes up",
    ),
    (
        "sonic",
        {"leaf1": both(*(put("PORT", port, "admin_status", value="down") for port in ("Ethernet24", "Ethernet32")))},
        "is shut",
    ),
    ("eos", {"leaf1": everywhere("remote-as 65000", "remote-as 65009")}, "leaf1 expects AS 65009, spine1 has 65000"),
    (
        "eos",
        {"spine1": _lines("neighbor 10.1.0.0"), "spine2": _lines("neighbor 10.1.0.2")},
        "spine1 has no neighbour 10.1.0.0",
    ),
    ("eos", {"leaf1": replaced("   neighbor 10.1.0.1 send", f"{_SHUT}   neighbor 10.1.0.1 send")}, "leaf1 has it shut"),
    ("eos", {"leaf1": _lines("neighbor 10.1.0.1 send", "neighbor 10.1.0.3 send")}, "leaf1 sends no route targets"),
    ("nxos", {"leaf1": everywhere("remote-as 65000", "remote-as 65009")}, "leaf1 expects AS 65009"),
    (
        "nxos",
        {"leaf1": everywhere("    address-family l2vpn evpn\n      send-community extended\n", "")},
        "does not activate evpn",
    ),
    (
        "nxos",
        {"leaf2": replaced("router bgp 65102", "router bgp 65101"), "spine1": _AS_65101, "spine2": _AS_65101},
        "its own AS 65101 is in the AS_PATH",
    ),
    (
        "eos",
        {"leaf2": replaced("router bgp 65102", "router bgp 65101"), "spine1": _AS_65101, "spine2": _AS_65101},
        "its own AS 65101 is in the AS_PATH",
    ),
    (
        "nvue",
        {"leaf1": both(_renumbered("swp3", 0), _renumbered("swp4", 2))},
        "no address in the subnet of its neighbour",
    ),
]


@pytest.mark.parametrize(
    ("language", "edits", "reason"), BOTH_UPLINKS, ids=lambda it: it if isinstance(it, str) else ""
)
def test_a_leaf_whose_every_uplink_is_wrong_is_cut_off(
    language: str, edits: dict[str, Edit], reason: str, tmp_path: Path
) -> None:
    reach = reachability(fabric(language, tmp_path, **edits))
    found = failing(reach)
    assert set(found) == FORTH | BACK
    assert all(reason in message for message in found.values()), found


def test_an_as_that_is_allowed_to_come_back_reaches(tmp_path: Path) -> None:
    allowed = "remote-as 65000\n   neighbor {0} allowas-in 1"
    own = both(*(replaced(f"{it} remote-as 65000", f"{it} " + allowed.format(it)) for it in ("10.1.1.1", "10.1.1.3")))
    reach = reachability(
        fabric(
            "eos",
            tmp_path,
            leaf1=both(
                *(replaced(f"{it} remote-as 65000", f"{it} " + allowed.format(it)) for it in ("10.1.0.1", "10.1.0.3"))
            ),
            leaf2=both(replaced("router bgp 65102", "router bgp 65101"), own),
            spine1=_AS_65101,
            spine2=_AS_65101,
        )
    )
    assert not failing(reach)


def test_a_shut_host_port_is_named(tmp_path: Path) -> None:
    found = failing(
        reachability(fabric("sonic", tmp_path, leaf1=put("PORT", "Ethernet8", "admin_status", value="down")))
    )
    assert set(found) == {"12", "13", "14", "21", "31", "41"}
    assert all("leaf1:Ethernet8 of host1 is shut" in message for message in found.values())


# ===== two tenants =====

_BLUE_GATEWAY = "interface Vlan200\n   vrf BLUE\n   ip address virtual 172.16.200.1/24\n!\n"
_EOS_BLUE = both(
    replaced("vlan 100\n", "vlan 100\n!\nvlan 200\n"),
    replaced("vxlan vlan 100 vni 10100\n", "vxlan vlan 100 vni 10100\n   vxlan vlan 200 vni 10200\n"),
    replaced("interface Vlan100\n", "interface Vlan100\n   vrf RED\n"),
    replaced("interface Vxlan1\n", _BLUE_GATEWAY + "interface Vxlan1\n"),
    replaced("   address-family evpn\n", "   vlan 200\n      route-target both 65000:10200\n   address-family evpn\n"),
    replaced("access vlan 100", "access vlan 200", after="interface Ethernet2/1\n"),
)
"""host2 and host4 belong to another tenant, in VRF BLUE."""


def test_two_tenants_are_explained(tmp_path: Path) -> None:
    reach = reachability(fabric("eos", tmp_path, leaf1=_EOS_BLUE, leaf2=_EOS_BLUE))
    found = failing(reach)
    assert set(found) == {"12", "14", "21", "23", "32", "34", "41", "43"}
    assert "VNI 10100 is in VRF RED, VNI 10200 in VRF BLUE, and nothing routes between them" in found["14"]
    assert "leaf1.cfg" in found["14"]
    assert "leaf2.cfg" in found["14"]
    table = table_of(reach)
    assert table.whole  # each tenant by itself
    assert [(row.name, row.vrf, row.pairs) for row in table.segments] == [
        ("VNI 10100", "RED", 2),
        ("VNI 10200", "BLUE", 2),
    ]
    assert [row.reaching for row in between_segments(reach)] == [0, 0]


def test_two_segments_of_one_vrf_are_routed_at_the_first_switch(tmp_path: Path) -> None:
    one_vrf = both(_EOS_BLUE, everywhere("vrf BLUE", "vrf RED"))
    assert not failing(reachability(fabric("eos", tmp_path, leaf1=one_vrf, leaf2=one_vrf)))


@pytest.mark.parametrize("language", ["sonic", "nxos", "nvue"])
def test_vrfs_of_vlans_are_read(language: str, tmp_path: Path) -> None:
    edit = {
        "sonic": put("VLAN_INTERFACE", "Vlan100", "vrf_name", value="VrfRed"),
        "nxos": replaced("interface Vlan100\n", "interface Vlan100\n  vrf member VrfRed\n"),
        "nvue": put("interface", "vlan100", "ip", "vrf", value="VrfRed"),
    }[language]
    [row] = table_of(reachability(fabric(language, tmp_path, leaf1=edit, leaf2=edit))).segments
    assert row.vrf == "VrfRed"


# ===== without VXLAN, and what is not decided =====


def _without_vxlan(number: int) -> Edit:
    return both(
        put("VXLAN_TUNNEL", value=REMOVED),
        put("VXLAN_TUNNEL_MAP", value=REMOVED),
        put("VXLAN_EVPN_NVO", value=REMOVED),
        put("SAG", value=REMOVED),
        put("VLAN_INTERFACE", value={"Vlan100": {}, f"Vlan100|172.16.{number}.1/24": {}}),
    )


def test_routed_subnets_reach_each_other_without_vxlan(tmp_path: Path) -> None:
    assert not failing(reachability(fabric("sonic", tmp_path, leaf1=_without_vxlan(1), leaf2=_without_vxlan(2))))


def test_one_subnet_at_two_switches_is_not_joined_without_vxlan(tmp_path: Path) -> None:
    found = failing(reachability(fabric("sonic", tmp_path, leaf1=_without_vxlan(1), leaf2=_without_vxlan(1))))
    assert set(found) == FORTH | BACK
    assert "is a subnet of both leaf" in found["13"]


def test_a_switch_whose_file_is_missing_leaves_pairs_undecided(tmp_path: Path) -> None:
    folder = fabric("eos", tmp_path)
    (folder / "spine1.cfg").unlink()
    reach = reachability(folder)
    assert "whose configuration was not given" in str(reach.unknown[0])
    verdict = reach.hosts_reach(reach.hosts[0], reach.hosts[-1])
    assert verdict.reaches is None


@pytest.mark.parametrize(
    "edit",
    [
        everywhere("65000:10100", "no target"),
        everywhere("router bgp 65101", "router bgp 99999999999"),
        everywhere("vni 10100", "vni 99999999"),
        everywhere("10.0.0.1", "0.0.0.1"),
        everywhere("10.1.0.", "2001:db8::"),
    ],
)
def test_nonsense_is_no_crash(edit: Edit, tmp_path: Path) -> None:
    reach = reachability(fabric("eos", tmp_path, leaf1=edit))
    failing(reach)
    assert between_segments(reach) == ()


# ===== the command =====


def test_the_command_prints_a_table_and_explains_a_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric("nxos", tmp_path)
    assert main(["validate", str(tmp_path), "--reach"]) == 0
    assert "VNI 10100: 4 hosts at leaf1, leaf2: 12 of 12 ordered pairs reach" in capsys.readouterr().out
    fabric("nxos", tmp_path, leaf2=replaced("route-target import 65000:10100", "route-target import 65000:10200"))
    assert main(["validate", str(tmp_path), "--reach"]) == 1
    assert main(["validate", str(tmp_path), "--reach", "--fail-on", "never"]) == 0
    capsys.readouterr()
    assert main(["validate", str(tmp_path), "--reach", "host3", "host1"]) == 1
    out = capsys.readouterr().out
    assert "host3 (leaf2 VLAN 100, VNI 10100) → host1 (leaf1 VLAN 100, VNI 10100): does not reach" in out
    assert "leaf2.cfg:" in out
    assert main(["validate", str(tmp_path), "--reach", "--json"]) == 1
    value = json.loads(capsys.readouterr().out)
    assert value["segments"][0]["reaching"] == 8
    assert value["segments"][0]["failures"][0]["evidence"][0]["line"] > 1
    assert main(["validate", str(tmp_path), "--reach", "host3", "host1", "--json"]) == 1
    assert [it["reaches"] for it in json.loads(capsys.readouterr().out)["pairs"]] == [False, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--reach", "host1"], "name two hosts or none"),
        (["--reach", "host1", "hosst3"], "'hosst3' is no host"),
        (["--reach", "host1", "host1"], "given twice"),
        (["--reach", "--format", "html"], "use text or json with --reach"),
        (["--reach", "--only", "V"], "--reach runs none"),
    ],
)
def test_wrong_options_are_refused(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fabric("eos", tmp_path)
    assert main(["validate", str(tmp_path), *options]) == 2
    assert message in capsys.readouterr().err
