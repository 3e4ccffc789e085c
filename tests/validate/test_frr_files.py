"""Files of FRR beside config_db.json are the switch's routing: read, judged, and named as the place of findings."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fabric.configs.frr.nesting import nested
from fabric.configs.load import load_network
from fabric.configs.model import Device
from fabric.errors import InputErrors
from fabric.rollout.units import change_between
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate
from tests.mistakes import frr
from tests.mistakes.mistake import Edit, good, replaced, write
from tests.mistakes.score import judged

_PEER = "neighbor 10.1.0.1 remote-as 65000"


def _fabric(folder: Path, interior: str = "", **edits: Edit) -> Path:
    """The working fabric with edits of single files: leaf1_frr, spine1_frr, leaf1."""
    files = frr.good(loopbacks=bool(interior))
    for name, edit in edits.items():
        file = name.replace("_frr", ".frr.conf") if name.endswith("_frr") else f"{name}.json"
        files[file] = edit(files[file])
    write("sonic", files, folder)
    return folder


def _leaf(folder: Path) -> Device:
    return load_network([folder]).devices["leaf1"]


@pytest.mark.parametrize("interior", ["", "ospf"])
def test_a_working_fabric_with_frr_s_files_has_no_finding(interior: str, tmp_path: Path) -> None:
    assert not judged(_fabric(tmp_path, interior))


@pytest.mark.parametrize("interior", ["", "ospf"])
def test_the_files_of_these_tests_are_what_vtysh_takes(interior: str, tmp_path: Path) -> None:
    program = shutil.which("vtysh")
    if program is None:
        pytest.skip("FRR is not installed")
    for file in sorted(_fabric(tmp_path, interior).glob("*.frr.conf")):
        done = subprocess.run([program, "-C", "-f", file], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("interior", "edit", "check", "said"),
    [
        ("", replaced(_PEER, "neighbor 10.1.0.1 remote-as 65001"), "P2", "AS 65001 is expected"),
        ("", replaced(f" {_PEER}\n", f" {_PEER}\n neighbor 10.1.0.1 shutdown\n"), "P6", ""),
        ("", replaced(f" {_PEER}\n", f" {_PEER}\n neighbor 10.1.0.1 bfd\n"), "P24", ""),
        ("", replaced(f" {_PEER}\n", f" {_PEER}\n neighbor 10.1.0.1 password x\n"), "P13", ""),
        ("", replaced("router bgp 65101", "router bgp 65102"), "I5", ""),
        ("", replaced("bgp router-id 10.0.0.1", "bgp router-id 10.0.0.2"), "I3", "10.0.0.2"),
        ("", replaced("timers bgp 3 9", "timers bgp 9 3"), "I6", ""),
        ("", replaced("  network 10.0.0.1/32\n", ""), "V7", "10.0.0.1"),
        ("", replaced("  maximum-paths 4\n", "  distance bgp 255 255 255\n"), "P26", "distance 255"),
        ("", replaced("  advertise-all-vni\n", ""), "V5", "does not use BGP EVPN"),
        ("", replaced(" no bgp ebgp-requires-policy\n", ""), "P21", ""),
        ("", replaced("neighbor 10.1.0.1 activate", "no neighbor 10.1.0.1 activate"), "P10", "10.1.0.1"),
        ("", replaced("10.1.0.1 activate", "10.1.0.1 activate", after="l2vpn evpn\n"), "", ""),
        (
            "",
            replaced("  neighbor 10.1.0.1 activate\n", "", after="l2vpn evpn\n"),
            "V8",
            "EVPN is not activated towards 10.1.0.1",
        ),
        (
            "",
            replaced(
                "  advertise-all-vni\n", "  advertise-all-vni\n  vni 10100\n   route-target import 9:9\n  exit-vni\n"
            ),
            "V3",
            "",
        ),
        (
            "",
            replaced("  advertise-all-vni\n", "  advertise-all-vni\n  vni 10101\n   rd 10.0.0.1:7\n  exit-vni\n"),
            "R1",
            "names a VNI that no VLAN",
        ),
        ("", replaced("10.1.0.1 activate\n", "10.1.0.1 activate\n  neighbor 10.1.0.1 route-map NO in\n"), "R1", "'NO'"),
        ("", replaced("neighbor 10.1.0.1 activate", "neigbor 10.1.0.1 activate"), "R5", "did you mean"),
        ("", replaced("router bgp", "ip route 10.0.0.2/32 blackhole\n!\nrouter bgp"), "D10", ""),
        ("ospf", replaced(" ip ospf area 0\n", " ip ospf area 3\n"), "O1", "area"),
        ("ospf", replaced(" neighbor OVERLAY ebgp-multihop 3\n", ""), "P8", "loopback"),
        ("ospf", replaced(" neighbor OVERLAY update-source Loopback0\n", ""), "P7", ""),
        ("ospf", replaced("peer-group OVERLAY\n", "peer-group OVERLAI\n"), "R1", "OVERLAI"),
        ("ospf", replaced("ospf router-id 10.0.0.1", "ospf router-id 10.0.0.2"), "O2", "10.0.0.2"),
    ],
)
def test_a_mistake_in_the_file_is_found_in_the_file(
    interior: str, edit: Edit, check: str, said: str, tmp_path: Path
) -> None:
    causes = judged(_fabric(tmp_path, interior, leaf1_frr=edit))
    found = [it for cause in causes[:1] for it in cause.findings if it.check.id == check and said in it.text]
    assert bool(found) == bool(check), [(it.check.id, it.first.device, it.first.text) for it in causes]
    if check and check not in {"V7", "V3", "P24", "P13"}:  # these name another place first: the VTEP, the other end
        place = next(it for it in found if it.device == "leaf1" or len(found) == 1).place
        assert place is not None
        assert Path(place.file).name == "leaf1.frr.conf"
        assert place.line > 1


def test_a_remedy_is_a_line_of_vtysh_that_repairs_the_file(tmp_path: Path) -> None:
    cause = judged(_fabric(tmp_path, leaf1_frr=replaced(_PEER, "neighbor 10.1.0.1 remote-as 65001")))[0]
    lines = "-c 'router bgp 65101' -c 'neighbor 10.1.0.1 remote-as 65000'"
    assert [it.command for it in cause.fixes] == [f"vtysh -c 'configure terminal' {lines} -c end -c 'write memory'"]
    assert not any(it.rows for it in cause.fixes)


def test_an_address_family_has_frr_s_name_in_a_remedy(tmp_path: Path) -> None:
    edit = replaced("  neighbor 10.1.0.1 activate\n", "", after="l2vpn evpn\n")
    fix = judged(_fabric(tmp_path, leaf1_frr=edit))[0].fixes[0]
    assert "-c 'address-family l2vpn evpn' -c 'neighbor 10.1.0.1 activate'" in fix.command


def test_the_sessions_of_the_file_are_in_the_place_of_those_of_the_tables(tmp_path: Path) -> None:
    def stale(tree: dict[str, Any]) -> dict[str, Any]:
        tree["BGP_NEIGHBOR"] = {"10.9.9.9": {"asn": "1", "name": "spine9"}}
        return tree

    device = _leaf(_fabric(tmp_path, leaf1=stale))
    assert {it.address for it in device.sessions} == {"10.1.0.1", "10.1.0.3"}
    assert any("bgpd runs that" in it.what for it in device.unjudged)


def test_a_file_of_frr_without_bgp_leaves_the_sessions_of_the_tables(tmp_path: Path) -> None:
    write("sonic", good("sonic"), tmp_path)
    (tmp_path / "leaf1.staticd.conf").write_text("hostname staticd\nip route 10.9.0.0/16 10.1.0.1\n", encoding="utf-8")
    device = _leaf(tmp_path)
    assert len(device.sessions) == 2
    assert [it.prefix for it in device.routes] == ["10.9.0.0/16"]


def _split(folder: Path) -> None:
    """One folder for each switch with one file for each daemon in 'frr', as in /etc/sonic."""
    for name, content in frr.good(loopbacks=True).items():
        switch, _, rest = name.partition(".")
        if rest == "json" and isinstance(content, dict):
            (folder / switch / "frr").mkdir(parents=True, exist_ok=True)
            write("sonic", {"config_db.json": content}, folder / switch)
        elif rest == "frr.conf":
            (folder / switch / "frr").mkdir(parents=True, exist_ok=True)
            at = content.index("router bgp"), content.index("router ospf")
            begin = content.index("interface")
            bgp = f"hostname bgpd\npassword zebra\n{content[at[0] : at[1]]}"
            ospf = f"hostname ospfd\n{content[begin : at[0]]}{content[at[1] :]}"
            (folder / switch / "frr" / "bgpd.conf").write_text(bgp, encoding="utf-8")
            (folder / switch / "frr" / "ospfd.conf").write_text(ospf, encoding="utf-8")
        else:
            write("sonic", {name: content}, folder)


def test_a_folder_for_each_switch_with_a_file_for_each_daemon_is_read(tmp_path: Path) -> None:
    _split(tmp_path)
    folders = [it for it in tmp_path.iterdir() if it.is_dir()]
    network = load_network(folders, links=tmp_path / "topology.json", hosts=tmp_path / "hosts.json")
    assert set(network.devices) == {"leaf1", "leaf2", "spine1", "spine2"}
    assert all(it.sessions and it.identity.interior for it in network.devices.values())
    assert not [it for it in validate(network).causes if it.severity >= Severity.WARN]


def test_a_rollout_changes_a_switch_with_files_of_frr_in_one_step(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    old = load_network([_fabric(tmp_path / "old")])
    edit = replaced(f" {_PEER}\n", f" {_PEER}\n neighbor 10.1.0.1 ttl-security hops 1\n")
    new = load_network([_fabric(tmp_path / "new", leaf1_frr=edit)])
    (unit,) = change_between(old, new, "202405").units
    assert (unit.name, unit.last) == ("leaf1", 1)
    assert [bool(it and it.sessions[0].ttl_security) for it in unit.devices] == [False, True]


@pytest.mark.parametrize("name", ["leaf1.frr.conf", "leaf1-frr.conf", "leaf1.bgpd.conf", "leaf1.conf"])
def test_a_file_is_given_to_its_switch_by_name_or_hostname(name: str, tmp_path: Path) -> None:
    files = frr.good()
    files[name] = files.pop("leaf1.frr.conf")
    if name != "leaf1.conf":
        files[name] = files[name].replace("hostname leaf1", "hostname bgpd")
    write("sonic", files, tmp_path)
    assert len(_leaf(tmp_path).sessions) == 2


def test_two_files_of_one_name_for_a_switch_are_refused(tmp_path: Path) -> None:
    _split(tmp_path)
    shutil.copy(tmp_path / "leaf1" / "frr" / "bgpd.conf", tmp_path / "leaf1" / "bgpd.conf")
    with pytest.raises(InputErrors, match=r"is a second bgpd[.]conf of leaf1"):
        load_network([it for it in tmp_path.iterdir() if it.is_dir()])


@pytest.mark.parametrize(("mode", "noted"), [("split", True), ("split-unified", True), ("unified", False), ("", False)])
def test_a_mode_that_needs_frr_s_files_without_one_is_a_note(mode: str, noted: bool, tmp_path: Path) -> None:
    files = frr.good()
    del files["leaf1.frr.conf"]
    files["leaf1.json"]["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] = mode
    write("sonic", files, tmp_path)
    found = [it for it in validate(load_network([tmp_path]), only={"R12"}).findings if "docker_routing" in it.object]
    assert [(it.device, it.severity) for it in found] == [("leaf1", Severity.INFO)] * noted


@pytest.mark.parametrize(
    ("line", "prefix"),
    [
        ("10.0.0.1/32", "10.0.0.1/32"),
        ("10.0.0.1 mask 255.255.255.255", "10.0.0.1/32"),
        ("10.0.0.1", "10.0.0.0/8"),
        ("172.16.3.9", "172.16.0.0/16"),
        ("192.168.7.9", "192.168.7.0/24"),
    ],
)
def test_a_network_without_a_length_has_that_of_its_class(line: str, prefix: str, tmp_path: Path) -> None:
    device = _leaf(_fabric(tmp_path, leaf1_frr=replaced("network 10.0.0.1/32", f"network {line}")))
    assert device.identity.networks == {prefix}


def test_a_mask_that_is_none_is_an_error(tmp_path: Path) -> None:
    edit = replaced("network 10.0.0.1/32", "network 10.0.0.1 mask 255.0.255.0")
    found = [it.text for it in _leaf(_fabric(tmp_path, leaf1_frr=edit)).defects]
    assert found == ["'255.0.255.0' is no mask of an IPv4 prefix"]


def test_what_no_check_uses_is_listed_with_its_line(tmp_path: Path) -> None:
    edit = replaced("router bgp", "segment-routing\n srv6\nexit\n!\nrouter bgp")
    device = _leaf(_fabric(tmp_path, leaf1_frr=edit))
    listed = {(Path(it.place.file).name, it.place.line) for it in device.unread if "segment-routing" in it.what}
    assert listed == {("leaf1.frr.conf", 7)}
    assert all("exit" not in it.what for it in (*device.unread, *device.unjudged))


def test_a_vrf_of_the_file_has_the_vni_of_the_tables(tmp_path: Path) -> None:
    def red(tree: dict[str, Any]) -> dict[str, Any]:
        tree["VRF"] = {"VrfRed": {"vni": "50001"}}
        tree["VLAN"]["Vlan501"] = {"vlanid": "501"}
        tree["VXLAN_TUNNEL_MAP"]["vtep|map_50001_Vlan501"] = {"vlan": "Vlan501", "vni": "50001"}
        return tree

    def edit(vni: str) -> Edit:
        return replaced("router bgp", f"vrf VrfRed\n vni {vni}\nexit-vrf\n!\nrouter bgp")

    (tmp_path / "same").mkdir()
    (tmp_path / "other").mkdir()
    same = _leaf(_fabric(tmp_path / "same", leaf1=red, leaf1_frr=edit("50001")))
    other = _leaf(_fabric(tmp_path / "other", leaf1=red, leaf1_frr=edit("50002")))
    assert not [it for it in same.defects if it.check == "R9"]
    assert [it.text for it in other.defects if it.check == "R9"] == [
        "VRF VrfRed has VNI 50002 here, and 50001 in CONFIG_DB"
    ]


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_of_a_daemon_is_nothing(content: str, tmp_path: Path) -> None:
    _split(tmp_path)
    (tmp_path / "leaf1" / "frr" / "zebra.conf").write_text(content, encoding="utf-8")
    folders = [it for it in tmp_path.iterdir() if it.is_dir()]
    network = load_network(folders, links=tmp_path / "topology.json", hosts=tmp_path / "hosts.json")
    assert [Path(it.place.file).name for it in network.unread if "empty" in it.what] == ["zebra.conf"]
    assert not [it for it in validate(network).causes if it.severity >= Severity.WARN]


@pytest.mark.parametrize(("first", "second"), [("frr", "bgpd"), ("frr", "ospfd")])
def test_two_files_of_a_switch_with_one_protocol_are_refused(first: str, second: str, tmp_path: Path) -> None:
    files = frr.good(loopbacks=True)
    for name in (first, second):
        files[f"leaf1.{name}.conf"] = files["leaf1.frr.conf"]
    if second == "ospfd":
        files["leaf1.ospfd.conf"] = "hostname leaf1\nrouter ospf\n ospf router-id 10.0.0.1\n"
    write("sonic", files, tmp_path)
    with pytest.raises(InputErrors, match=r"has 'router \w+' of leaf1, and so has \S+leaf1[.]\w+[.]conf"):
        load_network([tmp_path])


def _without_families(text: str) -> str:
    """The lines of IPv4 unicast in the instance itself, where they are active without a line."""
    begin, end = text.index(" address-family ipv4"), text.index(" exit-address-family") + len(" exit-address-family\n")
    rows = [it[1:] for it in text[begin:end].split("\n")[1:-2] if "activate" not in it]
    text = text[:begin] + "".join(f"{it}\n" for it in rows) + text[end:]
    return text.replace(" no bgp default ipv4-unicast\n", "")


def test_a_file_in_the_style_before_address_families_is_read(tmp_path: Path) -> None:
    device = _leaf(_fabric(tmp_path, leaf1_frr=_without_families))
    assert not judged(tmp_path)
    assert all("ipv4" in (it.families or ()) for it in device.sessions)
    assert device.identity.networks == {"10.0.0.1/32"}
    assert device.multipath == 4
    assert not [it.what for it in device.unread if it.place.file.endswith(".conf")]


@pytest.mark.parametrize(
    ("old", "new", "check", "said"),
    [
        (" network 10.0.0.1/32\n", "", "V7", "10.0.0.1"),
        (" network 10.0.0.1/32\n", " network 10.0.0.1/32\n no neighbor 10.1.0.1 activate\n", "P10", "10.1.0.1"),
        (" network 10.0.0.1/32\n", " network 10.0.0.1/32\n neighbor 10.1.0.1 route-map NO in\n", "R1", "'NO'"),
        (" timers bgp 3 9\n", " timers bgp 3 9\n no bgp default ipv4-unicast\n", "P10", "10.1.0"),
        (" network 10.0.0.1/32\n", " network 10.0.0.1/32\n neighbor 10.1.0.1 maximum-prefix 1\n", "P17", ""),
    ],
)
def test_a_mistake_in_that_style_is_found(old: str, new: str, check: str, said: str, tmp_path: Path) -> None:
    causes = judged(_fabric(tmp_path, leaf1_frr=lambda text: replaced(old, new)(_without_families(text))))
    assert [it.check.id for it in causes][:1] == [check]
    assert said in causes[0].first.text


@pytest.mark.parametrize("family", ["ipv4", "ipv4 unicast"])
def test_the_unicast_family_may_be_written_without_its_word(family: str, tmp_path: Path) -> None:
    folder = _fabric(tmp_path, leaf1_frr=replaced("address-family ipv4 unicast", f"address-family {family}"))
    assert not judged(folder)
    device = _leaf(folder)
    assert all("ipv4" in (it.families or ()) for it in device.sessions)
    assert "10.0.0.1/32" in (device.identity.networks or ())


def test_bgp_of_a_cumulus_switch_in_a_file_of_frr_is_not_missing(tmp_path: Path) -> None:
    files = good("nvue")
    tree = files["leaf1.yaml"]
    tree["router"].pop("bgp")
    tree["vrf"]["default"]["router"].pop("bgp")
    write("nvue", files, tmp_path)
    found = validate(load_network([tmp_path])).findings
    assert [it.device for it in found if it.check.id == "P12"] == ["leaf1"]
    (tmp_path / "leaf1.frr.conf").write_text(frr.good()["leaf1.frr.conf"], encoding="utf-8")
    found = validate(load_network([tmp_path])).findings
    assert not [it for it in found if it.check.id == "P12"]
    assert [it.device for it in found if it.check.id == "R12" and "not read beside" in it.text] == ["leaf1"]


_OF_VTYSH = """Building configuration...

Current configuration:
!
no fpm use-next-hop-groups
no service integrated-vtysh-config
access-list 10 seq 5 permit 10.0.0.0/8
ipv6 prefix-list SIX seq 5 permit ::/0 le 128
bgp community-list standard COMMUNITY permit 65000:1
bgp large-community-list standard LARGE seq 5 permit 65000:1:1
bgp extcommunity-list standard EXTENDED seq 5 permit rt 1:1
bgp as-path access-list PATH seq 5 permit ^65000$
ip protocol bgp route-map ALL
ip router-id 10.0.0.1
route-map ALL permit 10
 match community COMMUNITY
 match large-community LARGE
 match extcommunity EXTENDED
 match as-path PATH
 match ip address 10
 on-match next
exit
route-map ALL permit 20
 call OTHER
exit
route-map OTHER permit 10
exit
"""


def test_lines_that_vtysh_writes_are_known(tmp_path: Path) -> None:
    device = _leaf(_fabric(tmp_path, leaf1_frr=lambda text: _OF_VTYSH + text))
    assert not [it.what for it in device.unread if Path(it.place.file).suffix == ".conf"]
    first, second = device.identity.policies.route_maps["ALL"]
    assert first.goes_on
    assert second.unread == "call OTHER"
    assert device.identity.policies.community_lists["COMMUNITY"] == [(True, ("65000:1",))]
    assert not [it for it in validate(load_network([tmp_path])).causes if it.severity >= Severity.WARN]


def test_a_list_that_no_line_of_the_file_has_is_missing(tmp_path: Path) -> None:
    text = _OF_VTYSH.replace("bgp large-community-list standard LARGE", "bgp large-community-list standard LARG")
    found = validate(load_network([_fabric(tmp_path, leaf1_frr=lambda its: text + its)])).findings
    assert [it.device for it in found if it.check.id == "R1" and "LARGE" in it.text] == ["leaf1"]


def _flat(text: str) -> str:
    return "\n".join(row.strip() for row in text.split("\n"))


def _flat_without_exits(text: str) -> str:
    return "\n".join(row for row in _flat(text).split("\n") if row not in {"exit", "exit-address-family"})


_VRF = "vrf VrfRed\n ip protocol bgp route-map ALL\n vni 50001\n ip route 10.9.0.0/16 10.1.0.1\nexit-vrf\n!\nrouter bgp"


@pytest.mark.parametrize("edit", [_flat, _flat_without_exits])
@pytest.mark.parametrize("interior", ["", "ospf"])
def test_a_file_without_indentation_is_read_as_vtysh_reads_it(interior: str, edit: Edit, tmp_path: Path) -> None:
    def both(text: str) -> str:
        return edit(replaced("router bgp", _VRF)(text))

    (tmp_path / "flat").mkdir()
    (tmp_path / "indented").mkdir()
    flat = _fabric(tmp_path / "flat", interior, leaf1_frr=both)
    indented = _fabric(tmp_path / "indented", interior, leaf1_frr=replaced("router bgp", _VRF))
    assert [(it.check.id, it.first.text) for it in judged(flat)] == [
        (it.check.id, it.first.text) for it in judged(indented)
    ]
    one, other = _leaf(flat), _leaf(indented)
    assert one.sessions == other.sessions
    assert one.sessions
    assert one.identity == other.identity
    assert [it.what for it in one.unread] == [it.what for it in other.unread]


def test_words_that_begin_like_another_block_close_none() -> None:
    text = "router ospf\nlog-adjacency-changes detail\nospf router-id 10.0.0.1\nrouter-id 10.0.0.1\nlog syslog\n"
    assert nested(text).split("\n")[1:] == [
        " log-adjacency-changes detail",
        " ospf router-id 10.0.0.1",
        " router-id 10.0.0.1",
        "log syslog",
        "",
    ]


@pytest.mark.parametrize("interior", ["", "ospf"])
def test_the_blocks_of_an_indented_file_are_those_of_its_words(interior: str) -> None:
    text = frr.good(loopbacks=bool(interior))["leaf1.frr.conf"]
    assert nested(text) == text
    commands = [
        row for row in nested(_flat(text)).split("\n") if row.strip() not in {"exit", "exit-address-family", "!"}
    ]
    assert commands == [row for row in text.split("\n") if row.strip() not in {"exit", "exit-address-family", "!"}]
