"""Default routes of leaves, strict checks of sources, and management addresses: where they are wrong, and where not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mistakes import frr
from tests.mistakes.mistake import Edit, both, good, replaced, write
from tests.mistakes.score import judged

_SENDS = replaced("   address-family ipv4\n", "   address-family ipv4\n      neighbor 10.1.0.1 default-originate\n")
_SPINE_SENDS = replaced(
    "   address-family ipv4\n", "   address-family ipv4\n      neighbor 10.1.0.0 default-originate\n"
)


def _route(gateway: str) -> Edit:
    return replaced("router bgp", f"ip route 0.0.0.0/0 {gateway}\n!\nrouter bgp")


def _said(folder: Path, **edits: Edit) -> list[tuple[str, str, str]]:
    """(check, severity, switch) of every finding of a fabric of EOS."""
    files = good("eos")
    for name, edit in edits.items():
        files[f"{name}.cfg"] = edit(files[f"{name}.cfg"])
    write("eos", files, folder)
    return [(it.check.id, it.severity.name, it.device) for cause in judged(folder) for it in cause.findings]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({"leaf1": _SENDS}, [("P27", "ERROR", "leaf1")]),
        ({"leaf1": both(_SENDS, _route("192.0.2.1"))}, []),  # the only way out: a border leaf
        ({"leaf1": both(_SENDS, _route("10.1.0.1"))}, [("P27", "ERROR", "leaf1")]),  # over a spine, which has none
        ({"leaf1": both(_SENDS, _route("Ethernet3/1"))}, [("P27", "ERROR", "leaf1")]),  # the link to that spine
        ({"spine1": both(_SPINE_SENDS, _route("192.0.2.1"))}, []),
        ({"spine1": both(_SPINE_SENDS, _route("192.0.2.1")), "leaf1": _SENDS}, [("P27", "WARN", "leaf1")]),
        (
            {"spine1": both(_SPINE_SENDS, _route("192.0.2.1")), "leaf1": both(_SENDS, _route("192.0.2.9"))},
            [("P27", "WARN", "leaf1")],
        ),
    ],
)
def test_a_default_route_is_announced_where_a_way_out_is(
    edits: dict[str, Edit], expected: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    assert [it for it in _said(tmp_path, **edits) if it[0] == "P27"] == expected


def test_a_static_default_that_no_line_announces_is_no_finding(tmp_path: Path) -> None:
    assert "P27" not in {check for check, _, _ in _said(tmp_path, leaf1=_route("10.1.0.1"))}


_ADDRESS = "   ip address 10.1.0.0/31\n"
_CHECKED = "   ip verify unicast source reachable-via {}\n"


def _checks(kind: str) -> Edit:
    return replaced(_ADDRESS, _ADDRESS + _CHECKED.format(kind))


def test_a_strict_check_of_sources_is_found_on_a_link_and_a_loose_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "strict").mkdir()
    (tmp_path / "loose").mkdir()
    assert _said(tmp_path / "strict", leaf1=_checks("rx")) == [("P28", "WARN", "leaf1")]
    assert _said(tmp_path / "loose", leaf1=_checks("any")) == []


def test_a_strict_check_at_hosts_is_no_finding(tmp_path: Path) -> None:
    edit = replaced("   ip address virtual", "   ip verify unicast source reachable-via rx\n   ip address virtual")
    assert "P28" not in {check for check, _, _ in _said(tmp_path, leaf1=edit)}


@pytest.mark.parametrize(("address", "found"), [("172.16.100.9/24", True), ("172.16.101.9/24", False)])
def test_a_management_address_is_outside_of_the_fabric(address: str, found: bool, tmp_path: Path) -> None:
    port = f"interface Management1\n   ip address {address}\n!\ninterface Loopback0\n"
    said = _said(tmp_path, leaf1=replaced("interface Loopback0\n", port))
    assert ("I11", "WARN", "leaf1") in said or not found
    assert bool(said) == found


def _of_frr(folder: Path, interior: str = "", **edits: Edit) -> list[tuple[str, str]]:
    files = frr.good(loopbacks=bool(interior))
    for name, edit in edits.items():
        files[f"{name}.frr.conf"] = edit(files[f"{name}.frr.conf"])
    write("sonic", files, folder)
    return [(it.check.id, it.device) for cause in judged(folder) for it in cause.findings]


_PEER, _BACK = " neighbor 10.1.0.1 remote-as 65000\n", " neighbor 10.1.0.0 remote-as 65101\n"


@pytest.mark.parametrize(("there", "expected"), [("secret", []), ("Secret", [("P13", "leaf1")])])
def test_passwords_in_clear_are_compared_and_never_shown(
    there: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    leaf = replaced(_PEER, f"{_PEER} neighbor 10.1.0.1 password secret\n")
    spine = replaced(_BACK, f"{_BACK} neighbor 10.1.0.0 password {there}\n")
    assert _of_frr(tmp_path, leaf1=leaf, spine1=spine) == expected
    assert not any("ecret" in it.text for cause in judged(tmp_path) for it in cause.findings)


def test_the_identifier_of_zebra_is_that_of_bgp_and_ospf(tmp_path: Path) -> None:
    of_bgp = both(
        replaced(" bgp router-id 10.0.0.1\n", ""), replaced("router bgp", "ip router-id 10.0.0.2\n!\nrouter bgp")
    )
    (tmp_path / "bgp").mkdir()
    assert _of_frr(tmp_path / "bgp", leaf1=of_bgp)[0] == ("I3", "leaf1")
    of_ospf = both(
        replaced(" ospf router-id 10.0.0.1\n", ""), replaced("router ospf", "router-id 10.0.0.2\n!\nrouter ospf")
    )
    (tmp_path / "ospf").mkdir()
    assert ("O2", "leaf1") in _of_frr(tmp_path / "ospf", "ospf", leaf1=of_ospf)


def test_a_session_from_an_interface_that_is_not_there_is_found(tmp_path: Path) -> None:
    edit = replaced(_PEER, f"{_PEER} neighbor 10.1.0.1 update-source Loopback9\n")
    assert _of_frr(tmp_path, leaf1=edit) == [("R1", "leaf1")]


_LONGER = "route-map PRE permit 10\n set as-path prepend 65101 65101\nexit\n!\nrouter bgp"


@pytest.mark.parametrize(("peers", "expected"), [(["10.1.0.1"], [("P20", "leaf1")]), (["10.1.0.1", "10.1.0.3"], [])])
def test_paths_that_are_longer_towards_one_spine_are_a_drain(
    peers: list[str], expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    lines = "".join(f"  neighbor {it} route-map PRE out\n" for it in peers)
    edit = both(replaced("  maximum-paths 4\n", f"{lines}  maximum-paths 4\n"), replaced("router bgp", _LONGER))
    assert _of_frr(tmp_path, leaf1=edit) == expected


def test_a_distinguisher_of_another_switch_is_named_where_it_was_copied_to(tmp_path: Path) -> None:
    said = _said(tmp_path, leaf1=replaced("rd 10.0.0.1:10100", "rd 10.0.0.2:10100"))
    assert said == [("V10", "WARN", "leaf1")]
