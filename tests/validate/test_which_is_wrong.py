"""Two switches disagree: the one that is named is the wrong one, or both are where nothing tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.causes import Cause
from fabric.validate.checks.base import Severity
from fabric.validate.disagreement import UNDECIDED
from fabric.validate.runner import validate
from tests.mistakes import plan
from tests.mistakes.mistake import LANGUAGES, Edit, both, everywhere, put, renamed, replaced, write


def causes(
    language: str,
    folder: Path,
    leaves: int,
    /,
    *,
    spines: int = 2,
    before: dict[str, Edit] | None = None,
    **edits: Edit,
) -> list[Cause]:
    """Causes that are errors; `before` edits the baseline, which is then given."""
    networks = []
    for name, changes in (("new", edits), ("old", before or {})):
        files = LANGUAGES[language].good(plan.switches(leaves, spines))
        for switch, edit in changes.items():
            file = next(it for it in files if it.startswith(f"{switch}."))
            files[file] = edit(files[file])
        (folder / name).mkdir()
        write(language, files, folder / name)
        networks.append(load_network([folder / name]))
    verdict = validate(networks[0], before=None if before is None else networks[1])
    return [it for it in verdict.causes if it.severity is Severity.ERROR]


def named(found: list[Cause]) -> list[tuple[str, str]]:
    return [(it.check.id, device) for it in found for device in it.devices]


OWN_AS = {
    "sonic": put("DEVICE_METADATA", "localhost", "bgp_asn", value="65109"),
    "eos": replaced("router bgp 65101", "router bgp 65109"),
    "nxos": replaced("router bgp 65101", "router bgp 65109"),
    "nvue": put("router", "bgp", "autonomous-system", value=65109),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wrong_own_as_is_placed_at_the_switch_that_has_it(language: str, tmp_path: Path) -> None:
    found = causes(language, tmp_path, 3, leaf1=OWN_AS[language])
    assert named(found) == [("P2", "leaf1")]
    assert "65101" in found[0].first.text
    assert found[0].first.evidence[0].value == "65109"


def test_the_as_of_another_leaf_is_wrong_at_the_leaf_that_its_neighbours_know_otherwise(tmp_path: Path) -> None:
    found = causes("eos", tmp_path, 3, leaf1=replaced("router bgp 65101", "router bgp 65102"))
    assert named(found)[0][1] == "leaf1"
    assert len(found) == 1


def test_a_leaf_that_expects_another_as_of_every_spine_is_the_place(tmp_path: Path) -> None:
    found = causes("eos", tmp_path, 3, leaf1=everywhere("remote-as 65000", "remote-as 65009"))
    assert set(named(found)) == {("P2", "leaf1")}
    assert len(found) == 1


def test_an_only_neighbour_that_expects_another_as_leaves_both_open(tmp_path: Path) -> None:
    [found] = causes("eos", tmp_path, 3, spines=1, leaf1=replaced("router bgp 65101", "router bgp 65109"))
    assert UNDECIDED in found.first.text
    assert {it.root[0] for it in found.first.evidence if it.root} == {"leaf1", "spine1"}


def test_the_baseline_says_which_of_the_two_as_numbers_changed(tmp_path: Path) -> None:
    found = causes("eos", tmp_path, 3, spines=1, before={}, leaf1=replaced("router bgp 65101", "router bgp 65109"))
    assert named(found) == [("P2", "leaf1")]
    assert UNDECIDED not in found[0].first.text


def test_the_baseline_says_that_the_neighbour_changed(tmp_path: Path) -> None:
    edit = everywhere("remote-as 65101", "remote-as 65109")
    found = causes("eos", tmp_path, 3, before={}, spine1=edit, spine2=edit)
    assert {it.first.device for it in found} == {"spine1"} or set(named(found)) == {("P2", "spine1"), ("P2", "spine2")}


TARGET = "route-target both 65000:10100"


def _target(text: str) -> Edit:
    return replaced(TARGET, text)


@pytest.mark.parametrize("wrong", ["leaf1", "leaf2"])
def test_of_two_leaves_the_one_whose_target_is_not_made_of_the_vni_is_wrong(wrong: str, tmp_path: Path) -> None:
    found = causes("eos", tmp_path, 2, **{wrong: _target("route-target both 65000:10200")})
    assert named(found) == [("V3", wrong)]


@pytest.mark.parametrize("wrong", ["leaf1", "leaf2"])
def test_of_two_leaves_the_one_that_does_not_import_what_it_exports_is_wrong(wrong: str, tmp_path: Path) -> None:
    lines = "route-target import 65001:10100\n      route-target export 65000:10100"
    assert named(causes("eos", tmp_path, 2, **{wrong: _target(lines)})) == [("V3", wrong)]


@pytest.mark.parametrize("wrong", ["leaf1", "leaf3"])
def test_of_three_leaves_the_one_alone_is_wrong(wrong: str, tmp_path: Path) -> None:
    found = causes("eos", tmp_path, 3, **{wrong: _target("route-target both 65001:10100")})
    assert named(found) == [("V3", wrong)]


def test_two_leaves_with_targets_of_two_kinds_are_both_named(tmp_path: Path) -> None:
    [found] = causes("eos", tmp_path, 2, leaf1=_target("route-target both 65001:10100"))
    assert found.check.id == "V3"
    assert UNDECIDED in found.first.text
    assert all(word in f"{found.first.device} {found.first.text}" for word in ("leaf1", "leaf2", "65001:", "65000:"))


def test_other_vnis_of_the_fabric_say_which_target_is_usual(tmp_path: Path) -> None:
    second = "   vlan 200\n      rd 10.0.0.{0}:200\n      route-target both 65000:10200\n      redistribute learned\n"
    second += "   address-family evpn\n"
    vni = replaced("   vxlan vlan 100", "   vxlan vlan 200 vni 10200\n   vxlan vlan 100")
    vlan = replaced("vlan 100\n!", "vlan 100,200\n!")
    leaves = {f"leaf{it}": both(vlan, vni, replaced("   address-family evpn\n", second.format(it))) for it in (1, 2)}
    leaves["leaf1"] = both(_target("route-target both 65001:10100"), leaves["leaf1"])
    assert named(causes("eos", tmp_path, 2, **leaves)) == [("V3", "leaf1")]


def test_the_baseline_says_which_target_changed(tmp_path: Path) -> None:
    found = causes("eos", tmp_path, 2, before={}, leaf1=_target("route-target both 65001:10100"))
    assert named(found) == [("V3", "leaf1")]


@pytest.mark.parametrize("wrong", ["leaf1", "leaf2"])
def test_of_two_leaves_the_one_whose_vni_its_own_target_contradicts_is_wrong(wrong: str, tmp_path: Path) -> None:
    found = causes("eos", tmp_path, 2, **{wrong: replaced("vlan 100 vni 10100", "vlan 100 vni 10150")})
    assert named(found) == [("V2", wrong)]


def test_two_leaves_with_two_gateways_are_both_named(tmp_path: Path) -> None:
    [found] = causes("eos", tmp_path, 2, leaf1=replaced("virtual 172.16.100.1/24", "virtual 172.16.100.2/24"))
    assert found.check.id == "V6"
    assert UNDECIDED in found.first.text
    assert {it.root[0] for it in found.first.evidence if it.root} == {"leaf1", "leaf2"}


def test_the_baseline_says_which_gateway_changed(tmp_path: Path) -> None:
    edit = replaced("virtual 172.16.100.1/24", "virtual 172.16.100.2/24")
    assert named(causes("eos", tmp_path, 2, before={}, leaf1=edit)) == [("V6", "leaf1")]


@pytest.mark.parametrize("wrong", ["leaf1", "leaf2"])
def test_an_address_that_is_used_twice_is_wrong_where_other_lines_say_another(wrong: str, tmp_path: Path) -> None:
    right = {"leaf1": "10.0.0.1", "leaf2": "10.0.0.2"}
    other = right["leaf2" if wrong == "leaf1" else "leaf1"]
    edit = replaced(f"ip address {right[wrong]}/32", f"ip address {other}/32")
    assert named(causes("eos", tmp_path, 2, **{wrong: edit}))[0] == ("I1", wrong)


def test_a_session_to_an_address_that_two_switches_have_follows_from_that(tmp_path: Path) -> None:
    edit = both(
        replaced("10.0.0.2/32", "10.0.0.1/32", after="interface loopback0"),
        everywhere("network 10.0.0.2", "network 10.0.0.1"),
    )
    files = LANGUAGES["nxos"].good(loopbacks=True)
    files["leaf2.cfg"] = edit(files["leaf2.cfg"])
    write("nxos", files, tmp_path)
    found = [it for it in validate(load_network([tmp_path])).causes if it.severity is Severity.ERROR]
    assert found[0].check.id == "I1"
    assert "P3" not in {it.check.id for it in found}


OTHER_VNI = {
    "nxos": replaced("vn-segment 10100", "vn-segment 10010"),
    "nvue": renamed("bridge", "domain", "br_default", "vlan", "100", "vni", "10100", to="10010"),
    "eos": replaced("vxlan vlan 100 vni 10100", "vxlan vlan 100 vni 10010"),
}


@pytest.mark.parametrize("language", OTHER_VNI)
@pytest.mark.parametrize("leaf", ["leaf1", "leaf2"])
def test_a_vni_is_wrong_that_the_other_blocks_of_the_switch_do_not_have(
    language: str, leaf: str, tmp_path: Path
) -> None:
    found = causes(language, tmp_path, 2, **{leaf: OTHER_VNI[language]})
    assert named(found)[0] == ("V2", leaf)
    assert UNDECIDED not in found[0].first.text


@pytest.mark.parametrize(
    ("language", "edit"),
    [
        ("eos", replaced("vxlan vlan 100", "vxlan vlan 10")),
        ("sonic", put("VXLAN_TUNNEL_MAP", "vtep|map_10100_Vlan100", "vlan", value="Vlan10")),
    ],
)
def test_a_vni_at_a_vlan_that_is_not_there_is_one_cause(language: str, edit: Edit, tmp_path: Path) -> None:
    [cause] = causes(language, tmp_path, 2, leaf1=edit)
    assert cause.check.id == "R1"
    assert "V16" in cause.counts
