"""Slips that part 7 of the corpus showed: their siblings in the other languages, and what is like them and right."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network, parse_device
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.runner import validate
from tests.mistakes.mistake import LANGUAGES, Edit, both, put, renamed, replaced, write
from tests.mistakes.score import judged

NEIGHBORS = ("vrf", "default", "router", "bgp", "neighbor")
_HOST = ("interface", "swp1", "bridge", "domain", "br_default")
_AF = "BGP_NEIGHBOR_AF"


def found(language: str, folder: Path, edit: Edit, *, loopbacks: bool = False) -> dict[str, tuple[str, str]]:
    """Check to the text and the command of its first finding; warnings and errors of leaf1 with an edit."""
    files = LANGUAGES[language].good(loopbacks=loopbacks)
    name = next(it for it in files if it.startswith("leaf1."))
    files[name] = edit(files[name])
    write(language, files, folder)
    return {
        it.check.id: (it.text, it.fix.command if it.fix else "")
        for cause in judged(folder)
        for it in (*cause.findings, *cause.consequences)
        if it.check.id != "N5"
    }


def _bgp_line(line: str) -> Edit:
    return replaced("router bgp 65101\n", f"router bgp 65101\n{line}\n")


MAINTENANCE: dict[tuple[str, str], Edit] = {
    ("sonic", "sonic-db-cli CONFIG_DB HSET 'BGP_DEVICE_GLOBAL|STATE' tsa_enabled false"): put(
        "BGP_DEVICE_GLOBAL", "STATE", "tsa_enabled", value="true"
    ),
    ("nvue", "nv set router bgp graceful-shutdown off"): put("router", "bgp", "graceful-shutdown", value="enabled"),
    ("nvue", "nv set maintenance unit all-protocols mode disabled"): put(
        "maintenance", "unit", "all-protocols", "mode", value="enabled"
    ),
    ("eos", "maintenance; unit System; no quiesce"): replaced(
        "router bgp", "maintenance\n   unit System\n      quiesce\n!\nrouter bgp"
    ),
    ("nxos", "no system mode maintenance"): replaced("router bgp", "system mode maintenance\nrouter bgp"),
    ("nxos", "router bgp 65101; no isolate"): _bgp_line("  isolate"),
    ("nxos", "router bgp 65101; no graceful-shutdown activate"): _bgp_line("  graceful-shutdown activate"),
}


@pytest.mark.parametrize("case", MAINTENANCE, ids=" ".join)
def test_maintenance_that_was_left_on_is_said_with_the_line_that_ends_it(case: tuple[str, str], tmp_path: Path) -> None:
    assert found(case[0], tmp_path, MAINTENANCE[case])["P20"][1] == case[1]


def test_a_leaf_that_is_ready_for_maintenance_and_in_service_is_right(tmp_path: Path) -> None:
    for number, (language, edit) in enumerate(
        (
            ("sonic", put("BGP_DEVICE_GLOBAL", "STATE", value={"tsa_enabled": "false", "wcmp_enabled": "false"})),
            ("sonic", put("FEATURE", value={"bgp": {"state": "enabled"}, "telemetry": {"state": "disabled"}})),
            ("nvue", put("router", "bgp", "graceful-shutdown", value="off")),
            ("nvue", put("maintenance", "unit", "all-protocols", "mode", value="disabled")),
            ("eos", replaced("router bgp", "maintenance\n   unit System\n      profile P\n!\nrouter bgp")),
            ("nxos", _bgp_line("  graceful-shutdown aware")),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert not found(language, folder, edit).keys() - {"R10"}, language


@pytest.mark.parametrize("language", ["eos", "nxos"])
def test_a_member_of_a_lag_with_an_address_is_named_in_text_languages(language: str, tmp_path: Path) -> None:
    name = "interface Ethernet3/1\n" if language == "eos" else "interface Ethernet1/3\n"
    edit = replaced(name, f"{name}   channel-group 1 mode active\n")
    text, _ = found(language, tmp_path, edit)["R9"]
    assert "has an address and is a member of" in text


def test_a_lag_with_the_address_of_its_link_is_right(tmp_path: Path) -> None:
    edit = both(
        put("PORTCHANNEL", value={"PortChannel1": {"admin_status": "up", "mtu": "9216"}}),
        put("PORTCHANNEL_MEMBER", value={"PortChannel1|Ethernet24": {}}),
        put("INTERFACE", value={"Ethernet32": {}, "Ethernet32|10.1.0.2/31": {}}),
        put("PORTCHANNEL_INTERFACE", value={"PortChannel1": {}, "PortChannel1|10.1.0.0/31": {}}),
        put("ACL_TABLE", value={"F": {"type": "L3", "stage": "ingress", "ports": ["PortChannel1", "Ethernet8"]}}),
        put("ACL_RULE", value={"F|1": {"PRIORITY": "9", "DSCP": "8", "PACKET_ACTION": "DROP"}}),
    )
    assert not {"R9", "R1"} & found("sonic", tmp_path, edit).keys()


def test_a_port_may_be_tagged_in_a_second_vlan(tmp_path: Path) -> None:
    edit = both(
        put("VLAN", "Vlan200", value={"vlanid": "200"}),
        put("VLAN_MEMBER", "Vlan200|Ethernet8", value={"tagging_mode": "tagged"}),
    )
    assert "R9" not in found("sonic", tmp_path, edit)


def test_a_vrf_with_a_vni_and_a_vlan_of_its_own_is_right(tmp_path: Path) -> None:
    edit = both(
        put("VRF", value={"Vrf1": {"vni": "50001"}}),
        put("VLAN", "Vlan3001", value={"vlanid": "3001"}),
        put("VXLAN_TUNNEL_MAP", "vtep|map_50001_Vlan3001", value={"vlan": "Vlan3001", "vni": "50001"}),
    )
    assert "V1" not in found("sonic", tmp_path, edit)


@pytest.mark.parametrize("language", ["eos", "nvue"])
def test_the_vni_of_a_vlan_and_of_a_vrf_is_named_in_other_languages(language: str, tmp_path: Path) -> None:
    edit = {
        "eos": replaced("   vxlan vlan 100 vni 10100\n", "   vxlan vlan 100 vni 10100\n   vxlan vrf T vni 10100\n"),
        "nvue": put("vrf", "T", value={"evpn": {"enable": "on", "vni": {"10100": {}}}}),
    }[language]
    assert found(language, tmp_path, edit)["V1"][0] == "VNI 10100 is that of VRF T, and of VLAN 100, which has ports"


def test_the_neighbour_that_was_meant_is_proposed_where_the_own_address_is_given(tmp_path: Path) -> None:
    edit = renamed(*NEIGHBORS, "10.1.0.1", to="10.1.0.0")
    text, _ = found("nvue", tmp_path, edit)["P19"]
    assert text == "the neighbour 10.1.0.0 is the address of swp3 of leaf1 itself"


def test_required_policies_that_are_there_are_right(tmp_path: Path) -> None:
    uses = {"admin_status": "true", "route_map_in": ["ALL"], "route_map_out": ["ALL"]}
    loopbacks = {f"default|10.0.0.{it}|l2vpn_evpn": uses for it in (11, 12)}
    edit = both(
        put("BGP_GLOBALS", "default", "ebgp_requires_policy", value="true"),
        put("ROUTE_MAP", value={"ALL|10": {"route_operation": "permit"}}),
        put(_AF, value={**{f"default|10.1.0.{it}|ipv4_unicast": uses for it in (1, 3)}, **loopbacks}),
    )
    assert "P21" not in found("sonic", tmp_path, edit, loopbacks=True)


def test_a_trunk_to_a_host_with_the_vlan_untagged_is_right(tmp_path: Path) -> None:
    assert "L14" not in found("nvue", tmp_path, put(*_HOST, value={"untagged": 100, "vlan": {"100": {}}}))


def test_a_trunk_to_a_host_with_the_vlan_tagged_gets_a_command_of_its_language(tmp_path: Path) -> None:
    text, command = found("nvue", tmp_path, put(*_HOST, value={"vlan": {"100": {}}}))["L14"]
    assert text == "swp1 is a trunk with VLAN 100 and no native VLAN, other ports to hosts are untagged"
    assert command == "nv set interface swp1 bridge domain br_default access 100"


_OFF = {"ipv4": {"forward": "off"}}


@pytest.mark.parametrize(
    ("name", "ip"),
    [
        ("eth0", {"address": {"203.0.113.9/24": {}}, "vrf": "mgmt", **_OFF}),
        ("eth0", {"address": {"203.0.113.9/24": {}}, **_OFF}),
        ("vlan4001", {"address": {"203.0.113.9/24": {}}, "vrf": "mgmt", **_OFF}),
        ("lo", {"address": {"10.0.0.1/32": {}}, **_OFF}),
    ],
)
def test_no_packet_of_the_fabric_is_forwarded_from_a_management_port(name: str, ip: object, tmp_path: Path) -> None:
    assert "R9" not in found("nvue", tmp_path, put("interface", name, "ip", value=ip))


@pytest.mark.parametrize(
    ("language", "old", "more"),
    [
        ("eos", "interface Loopback0", "interface Management1\n   ip address 203.0.113.9/24\n!\n"),
        ("nxos", "interface Vlan100", "interface mgmt0\n  vrf member management\n  ip address 203.0.113.9/24\n"),
    ],
)
def test_a_management_port_needs_no_line_that_makes_it_routed(
    language: str, old: str, more: str, tmp_path: Path
) -> None:
    assert "R9" not in found(language, tmp_path, replaced(old, more + old))


def test_a_second_own_address_in_the_gateways_subnet_is_enough(tmp_path: Path) -> None:
    own = put("interface", "vlan100", "ip", "address", value={"192.0.2.1/24": {}, "172.16.100.2/24": {}})
    assert "V6" not in found("nvue", tmp_path, own)


def test_a_queue_of_ordinary_traffic_that_is_strict_beside_a_strict_lossless_queue_is_another_matter(
    tmp_path: Path,
) -> None:
    edit = both(
        put("QUEUE", "Ethernet24|0", "scheduler", value="cnp"), put("QUEUE", "Ethernet24|3", "scheduler", value="cnp")
    )
    assert "M17" not in found("sonic", tmp_path, edit)


def test_the_command_for_a_weighted_cnp_queue_of_one_port_leaves_the_other_ports_alone(tmp_path: Path) -> None:
    _, command = found("sonic", tmp_path, put("QUEUE", "Ethernet24|6", "scheduler", value="data"))["M6"]
    assert command == "sonic-db-cli CONFIG_DB HSET 'QUEUE|Ethernet24|6' scheduler cnp"


def test_words_of_later_releases_are_the_same_switches(tmp_path: Path) -> None:
    good = LANGUAGES["nvue"].good()["leaf1.yaml"]
    good["qos"]["pfc"]["default-global"].update(tx="enabled", rx="enabled")
    good["interface"]["swp3"]["link"]["auto-negotiate"] = "enabled"
    good["interface"]["swp3"]["qos"]["pfc-watchdog"]["state"] = "enabled"
    good["interface"]["swp3"]["ip"]["ipv4"] = {"forward": "enabled"}
    path = tmp_path / "leaf1.yaml"
    path.write_text(LANGUAGES["nvue"].text(good), encoding="utf-8")
    port = load_network([path]).devices["leaf1"].ports["swp3"]
    assert (port.autoneg, port.lossless, port.watched) == ("on", frozenset({3}), frozenset({3}))
    assert not parse_device(path.read_text(encoding="utf-8"), "leaf1.yaml").defects


@pytest.mark.parametrize(
    ("fields", "defects"),
    [
        ({"xon-threshold": 9_000, "xoff-threshold": 10_000, "port-buffer": 20_000}, 0),
        ({"xon-threshold": 10_000, "xoff-threshold": 10_000, "port-buffer": 10_000}, 0),
        ({"xon-threshold": 10_001, "xoff-threshold": 10_000}, 1),
        ({"xoff-threshold": 10_001, "port-buffer": 10_000}, 1),
    ],
)
def test_a_pause_ends_at_the_level_of_its_begin_at_most(fields: dict[str, int], defects: int) -> None:
    good = LANGUAGES["nvue"].good()["leaf1.yaml"]
    good["qos"]["pfc"]["default-global"].update(fields)
    device = parse_device(LANGUAGES["nvue"].text(good), "leaf1.yaml")
    assert [it.check for it in device.defects] == ["R9"] * defects


def test_the_shares_of_classes_may_sum_up_to_all_and_not_to_more() -> None:
    for share, defects in ((50, []), (51, ["R5"])):
        good = LANGUAGES["nvue"].good()["leaf1.yaml"]
        good["qos"]["egress-scheduler"]["default-global"]["traffic-class"]["0"]["bw-percent"] = share
        device = parse_device(LANGUAGES["nvue"].text(good), "leaf1.yaml")
        assert [it.check for it in device.defects] == defects


def test_a_port_in_two_bonds_is_named(tmp_path: Path) -> None:
    bonds = both(*(put("interface", f"bond{it}", value={"bond": {"member": {"swp1": {}}}}) for it in (1, 2)))
    assert found("nvue", tmp_path, bonds)["R9"][0] == "swp1 is a member of bond1 already, and a port has one bond"


def test_names_of_interfaces_fit_their_types() -> None:
    good = LANGUAGES["nvue"].good()["leaf1.yaml"]
    good["interface"] |= {"eth0": {"type": "eth"}, "peerlink.4094": {"type": "peerlink"}, "swp9s0": {"type": "swp"}}
    good["interface"] |= {"storage": {"type": "bond", "bond": {"member": {"swp9s1": {}}}}, "swp10-12": {"type": "swp"}}
    assert not parse_device(LANGUAGES["nvue"].text(good), "leaf1.yaml").defects


@pytest.mark.parametrize(
    ("rule", "drops"),
    [
        ({"source-ip": "172.16.0.0/16"}, True),
        ({"source-ip": "172.16.100.0/24", "protocol": "tcp"}, False),
        ({"source-ip": "172.16.200.0/24"}, False),
        ({"source-ip": "172.16.100.9/32"}, False),
        ({"source-ip": "172.16.100.0/24", "dest-ip": "10.99.0.0/16"}, False),
    ],
)
def test_a_rule_about_addresses_drops_roce_only_where_it_has_all_hosts_of_the_port(
    rule: dict[str, str], drops: bool, tmp_path: Path
) -> None:
    edit = both(
        put("acl", value={"H": {"type": "ipv4", "rule": {"10": {"match": {"ip": rule}, "action": {"deny": {}}}}}}),
        put("interface", "swp1", "acl", value={"H": {"inbound": {}}}),
    )
    assert ("A1" in found("nvue", tmp_path, edit)) is drops


def test_the_lossless_pool_may_have_the_priority_that_pauses(tmp_path: Path) -> None:
    pools = {
        "default-lossy": {"memory-percent": 50},
        "roce-lossless": {"memory-percent": 50, "switch-priority": {"3": {}}},
    }
    assert "R9" not in found("nvue", tmp_path, put("qos", "traffic-pool", value=pools))


def test_counters_that_are_on_and_instances_of_vrfs_are_right(tmp_path: Path) -> None:
    edit = both(
        put("FLEX_COUNTER_TABLE", value={"PFCWD": {"FLEX_COUNTER_STATUS": "enable"}}),
        put("VRF", value={"Vrf1": {}}),
        put("BGP_GLOBALS", "Vrf1", value={"local_asn": "65101"}),
    )
    assert not {"R1", "R9"} & found("sonic", tmp_path, edit, loopbacks=True).keys()


def test_a_session_from_the_address_that_the_neighbour_has_is_right(tmp_path: Path) -> None:
    assert not found("nvue", tmp_path, put(*NEIGHBORS, "10.1.0.1", "update-source", value="swp3"))


def test_next_hop_self_of_evpn_is_named_in_sonics_tables(tmp_path: Path) -> None:
    files = LANGUAGES["sonic"].good(loopbacks=True)
    files["spine1.json"]["BGP_PEER_GROUP_AF"]["default|OVERLAY|l2vpn_evpn"]["nhself"] = "true"
    write("sonic", files, tmp_path)
    assert "V9" in {it.check.id for it in judged(tmp_path)}


def test_the_longer_cable_is_wrong_where_its_profile_is_for_the_shorter_one(tmp_path: Path) -> None:
    _, command = found("sonic", tmp_path, put("CABLE_LENGTH", "AZURE", "Ethernet24", value="5m"))["H5"]
    assert command == "config interface cable-length Ethernet24 40m"


def _described(language: str, number: int, text: str) -> Edit:
    port, old = LANGUAGES[language].PORTS[number], {1: "host1", 3: "spine1"}[number]
    if language == "nvue":
        return put("interface", port, "description", value=text)
    return replaced(f"description {old}", f"description {text}", after=f"interface {port}\n")


@pytest.mark.parametrize("language", ["eos", "nxos", "nvue"])
@pytest.mark.parametrize(
    ("number", "text"), [(1, "host1 (also on leaf2)"), (3, "to leaf2 (path A)"), (3, "SPINE1, spare port of spine2")]
)
def test_a_description_may_say_more_than_the_far_end(language: str, number: int, text: str, tmp_path: Path) -> None:
    assert "L7" not in found(language, tmp_path, _described(language, number, text))


@pytest.mark.parametrize("language", ["eos", "nxos", "nvue"])
@pytest.mark.parametrize("text", ["to spine2", "leaf2"])
def test_a_description_that_names_another_far_end_is_wrong(language: str, text: str, tmp_path: Path) -> None:
    assert found(language, tmp_path, _described(language, 3, text))["L7"][0].endswith("its link leads to spine1")


def every_finding(language: str, folder: Path, edit: Edit) -> dict[str, Finding]:
    """Check to its first finding, notes too, of leaf1 with an edit."""
    files = LANGUAGES[language].good()
    name = next(it for it in files if it.startswith("leaf1."))
    files[name] = edit(files[name])
    write(language, files, folder)
    return {it.check.id: it for it in reversed(validate(load_network([folder])).findings)}


_TENANTS = {
    "sonic": both(
        put("VLAN", "Vlan200", value={"vlanid": "200"}),
        put("VLAN_MEMBER", "Vlan100|Ethernet8", "tagging_mode", value="tagged"),
        put("VLAN_MEMBER", "Vlan200|Ethernet8", value={"tagging_mode": "tagged"}),
    ),
    "eos": both(
        replaced("vlan 100\n", "vlan 200\n!\nvlan 100\n"),
        replaced("   switchport access vlan 100\n", "   switchport mode trunk\n"),
    ),
    "nxos": both(
        replaced("vlan 100\n", "vlan 200\nvlan 100\n"),
        replaced(
            "  switchport access vlan 100\n", "  switchport mode trunk\n  switchport trunk allowed vlan 100,200\n"
        ),
    ),
    "nvue": both(
        put("bridge", "domain", "br_default", "vlan", "200", value={}), put(*_HOST, value={"vlan": {"100-200": {}}})
    ),
}


@pytest.mark.parametrize("language", _TENANTS)
def test_a_port_that_carries_several_vlans_with_tags_may_be_a_hypervisors(language: str, tmp_path: Path) -> None:
    item = every_finding(language, tmp_path, _TENANTS[language])["L14"]
    assert (item.severity, item.fix) == (Severity.INFO, None)


_FLOODS = {
    "eos": lambda it: replaced("   vxlan vlan 100 vni", f"   vxlan flood vtep 10.0.0.2 {it}\n   vxlan vlan 100 vni"),
    "nxos": lambda it: replaced(
        "    ingress-replication protocol bgp\n",
        f"    ingress-replication protocol static\n      peer-ip 10.0.0.2\n      peer-ip {it}\n",
    ),
}


@pytest.mark.parametrize("language", _FLOODS)
def test_a_vtep_elsewhere_in_a_flood_list_may_be_of_another_data_centre(language: str, tmp_path: Path) -> None:
    item = every_finding(language, tmp_path, _FLOODS[language]("203.0.113.7"))["V15"]
    assert (item.severity, item.fix) == (Severity.INFO, None)
    assert item.text == "broadcast is copied to 203.0.113.7, which is no given switch's VTEP"


@pytest.mark.parametrize("language", _FLOODS)
def test_an_address_among_the_vteps_that_no_switch_has_is_stale(language: str, tmp_path: Path) -> None:
    assert every_finding(language, tmp_path, _FLOODS[language]("10.0.0.9"))["V15"].severity is Severity.WARN
