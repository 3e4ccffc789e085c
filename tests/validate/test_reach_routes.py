"""D12, D13: loops and black holes by static routes and BGP, of any prefix and of the default route."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.validate.checks.base import Severity
from tests.mistakes.mistake import LANGUAGES, both, put, replaced
from tests.mistakes.reach_edits import static
from tests.validate.test_reach_check import verdict
from tests.validate.test_reachability import fabric


def _folder(work: Path, name: str) -> Path:
    (work / name).mkdir()
    return work / name


def errors(folder: Path) -> list[tuple[str, str, str]]:
    causes = [it for it in verdict(folder).causes if it.severity is Severity.ERROR]
    return [(it.check.id, it.first.device, it.first.text) for it in causes]


@pytest.mark.parametrize("prefix", ["0.0.0.0/0", "192.0.2.0/24"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_two_switches_that_send_a_prefix_to_each_other_are_a_loop(language: str, prefix: str, tmp_path: Path) -> None:
    leaf, spine = static(language, prefix, "10.1.0.1"), static(language, prefix, "10.1.0.0")
    [(check, device, text)] = errors(fabric(language, tmp_path, leaf1=leaf, spine1=spine))
    assert (check, device) == ("D12", "leaf1")
    assert f"packets to {prefix} go leaf1 → spine1 → leaf1" in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_default_route_to_a_switch_without_one_is_a_black_hole(language: str, tmp_path: Path) -> None:
    [found] = errors(fabric(language, tmp_path, leaf1=static(language, "0.0.0.0/0", "10.1.0.1")))
    assert found == ("D13", "leaf1", "packets to 0.0.0.0/0 go to spine1, which has no route to 0.0.0.0/0")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_gateway_on_no_interface_is_a_black_hole(language: str, tmp_path: Path) -> None:
    [(check, device, text)] = errors(fabric(language, tmp_path, leaf1=static(language, "192.0.2.0/24", "10.77.0.1")))
    assert (check, device) == ("D13", "leaf1")
    assert "10.77.0.1, the next hop to 192.0.2.0/24, is on no interface and has no route" in text


@pytest.mark.parametrize(
    ("prefix", "gateway"),
    [
        ("192.0.2.0/24", "172.16.100.9"),  # a host of the VLAN, or what is behind one
        ("192.0.2.0/24", "10.0.0.2"),  # a loopback that BGP leads to; leaf2 has the route, below
    ],
)
def test_routes_that_lead_somewhere_are_no_finding(prefix: str, gateway: str, tmp_path: Path) -> None:
    leaf2 = static("eos", prefix, "172.16.100.9")
    through = static("eos", prefix, "10.0.0.2")
    spines = {"spine1": through, "spine2": through}
    assert not errors(fabric("eos", tmp_path, leaf1=static("eos", prefix, gateway), leaf2=leaf2, **spines))


def test_a_route_that_is_discarded_on_purpose_is_no_finding(tmp_path: Path) -> None:
    null = static("eos", "0.0.0.0/0", "Null0")
    assert not errors(fabric("eos", tmp_path, leaf1=both(static("eos", "0.0.0.0/0", "10.1.0.1")), spine1=null))


def test_a_static_route_against_bgp_is_a_loop_of_a_loopback(tmp_path: Path) -> None:
    """spine1 sends leaf2's loopback to leaf1, whose BGP sends it to both spines."""
    found = errors(fabric("eos", tmp_path, spine1=static("eos", "10.0.0.2/32", "10.1.0.0")))
    assert {check for check, _, _ in found} & {"D9", "D12"}


def test_a_floating_route_behind_bgp_is_not_used(tmp_path: Path) -> None:
    floating = replaced("router bgp", "ip route 10.0.0.2/32 10.1.0.0 250\nrouter bgp")
    assert not [it for it in errors(fabric("eos", tmp_path, spine1=floating)) if it[0] in {"D12", "D13"}]


def test_a_default_route_of_the_management_port_is_no_finding(tmp_path: Path) -> None:
    port = "interface Management1\n   ip address 10.250.0.5/24\n!\n"
    edit = both(replaced("router bgp", f"{port}router bgp"), static("eos", "0.0.0.0/0", "10.250.0.1"))
    assert not errors(fabric("eos", _folder(tmp_path, "eos"), leaf1=edit))
    row = {"eth0|10.250.0.5/24": {"gwaddr": "10.250.0.1"}}
    edit = both(put("MGMT_INTERFACE", value=row), static("sonic", "0.0.0.0/0", "10.250.0.1"))
    assert not errors(fabric("sonic", _folder(tmp_path, "sonic"), leaf1=edit))
