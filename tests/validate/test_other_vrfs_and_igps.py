"""What a check must not judge: other VRFs, families that a session lacks, and routes of an interior protocol."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.configs.model import Place
from fabric.configs.network import Host
from fabric.validate.checks.watchdog import _patience
from fabric.validate.facts import Facts
from tests.mistakes.mistake import LANGUAGES, Edit, both, replaced, write
from tests.mistakes.score import judged
from tests.validate.test_reachability import fabric

_TENANT = "vrf instance T\n!\ninterface Ethernet60/1\n   no switchport\n   vrf T\n   ip address 10.9.0.1/31\n!\n"
_OF_TENANT = "   vrf T\n      neighbor 10.9.0.0 remote-as 65009\n"


def _before(header: str, lines: str) -> Edit:
    return replaced(header, lines + header)


def _said(folder: Path, check: str) -> list[str]:
    causes = judged(folder)
    return [it.text for cause in causes for it in (*cause.findings, *cause.consequences) if it.check.id == check]


_NEXT_HOP = _before("router bgp", "route-map NH permit 10\n   set ip next-hop 10.0.0.11\n!\n")


@pytest.mark.parametrize(("family", "number"), [("ipv4", 0), ("evpn", 1)])
def test_a_next_hop_that_is_set_concerns_sessions_with_evpn(family: str, number: int, tmp_path: Path) -> None:
    files = LANGUAGES["eos"].good(loopbacks=True)
    peer = "10.1.0.0" if family == "ipv4" else "10.0.0.1"
    session = f"   neighbor {peer} remote-as 65101\n"
    files["spine1.cfg"] = both(_NEXT_HOP, replaced(session, f"{session}   neighbor {peer} route-map NH out\n"))(
        files["spine1.cfg"]
    )
    write("eos", files, tmp_path)
    assert len([it for it in _said(tmp_path, "V9") if "by route map NH" in it]) == number


@pytest.mark.parametrize("vrf", [True, False])
def test_the_control_planes_list_is_of_the_default_vrf(vrf: bool, tmp_path: Path) -> None:
    rules = "".join(f"   {at}0 {it}\n" for at, it in enumerate(("permit icmp any any", "permit tcp any any eq ssh"), 1))
    rules += "" if not vrf else "   30 permit tcp 10.1.0.0/16 any\n"
    lists = f"ip access-list CP\n{rules}!\nsystem control-plane\n   ip access-group CP in\n!\n"
    edit = both(_before("interface Ethernet1/1", lists), _before("interface Loopback0", _TENANT))
    folder = fabric("eos", tmp_path, leaf1=both(edit, _before("   address-family evpn", _OF_TENANT)))
    assert bool(_said(folder, "A3")) is not vrf


@pytest.mark.parametrize("vrf", [True, False])
def test_an_address_of_another_vrf_is_not_the_switchs_own_next_hop(vrf: bool, tmp_path: Path) -> None:
    port = _TENANT.replace("10.9.0.1/31", "10.1.0.1/31") if vrf else ""
    gateway = "10.1.0.1" if vrf else "10.1.0.0"
    edit = both(
        _before("interface Loopback0", port or "!\n"), _before("router bgp", f"ip route 192.0.2.0/24 {gateway}\n")
    )
    said = _said(fabric("eos", tmp_path, leaf1=edit), "D13")
    assert any("is an address of leaf1 itself" in it for it in said) is not vrf


_NVUE_OSPF = {"enable": "on", "area": {"0": {"network": {"10.0.0.0/8": {}}}}}


@pytest.mark.parametrize("language", LANGUAGES)
def test_routes_of_an_interior_protocol_may_lead_to_a_loopback(language: str, tmp_path: Path) -> None:
    """External EVPN sessions between loopbacks over OSPF: BGP has no route to them, and needs none."""
    for with_igp in (True, False):
        files = LANGUAGES[language].good(loopbacks=True)
        for name in files if with_igp else ():
            if name.startswith(("leaf", "spine")):
                files[name] = _with_ospf(language, files[name])
        name = next(it for it in files if it.startswith("spine1."))
        files[name] = _unannounced(language, files[name])
        folder = tmp_path / str(with_igp)
        folder.mkdir()
        write(language, files, folder)
        assert bool(_said(folder, "P22")) is not with_igp


def test_an_overlay_of_external_sessions_over_ospf_has_no_error(tmp_path: Path) -> None:
    """No session carries IPv4: OSPF alone leads to the loopbacks."""
    files = LANGUAGES["eos"].good(loopbacks=True)
    for name in [it for it in files if it.endswith(".cfg")]:
        text = re.sub(r"   neighbor 10\.1\..*\n", "", files[name])
        text = re.sub(r"   address-family ipv4\n(?:      .*\n)+", "", text)
        text = re.sub(r"(   ip address 10\.[01]\..*\n)", r"\1   ip ospf area 0.0.0.0\n", text)
        files[name] = text.replace("router bgp", "router ospf 1\n!\nrouter bgp", 1)
    write("eos", files, tmp_path)
    assert not judged(tmp_path)
    files["leaf1.cfg"] = replaced("route-target both 65000:10100", "route-target both 65000:9")(files["leaf1.cfg"])
    write("eos", files, tmp_path)
    assert _said(tmp_path, "V11")


def _with_ospf(language: str, content: object) -> object:
    if isinstance(content, str):
        feature = "feature ospf\n" if language == "nxos" else ""
        return content.replace("router bgp", f"{feature}router ospf 1\n   max-metric router-lsa\nrouter bgp", 1)
    assert isinstance(content, dict)
    if language == "nvue":
        content["vrf"]["default"]["router"]["ospf"] = _NVUE_OSPF
    else:
        content["OSPFV2_ROUTER"] = {"default": {"router_id": "10.0.0.1"}}
    return content


def _unannounced(language: str, content: object) -> object:
    if isinstance(content, str):
        return "".join(it for it in content.splitlines(keepends=True) if "network 10.0.0.11/32" not in it)
    assert isinstance(content, dict)
    if language == "nvue":
        family = content["vrf"]["default"]["router"]["bgp"]["address-family"]["ipv4-unicast"]
        family.pop("network", None)
        family.pop("redistribute", None)
    else:
        del content["BGP_GLOBALS_AF_NETWORK"]
    return content


def test_a_stated_zero_of_retries_is_no_missing_value(tmp_path: Path) -> None:
    network = load_network([fabric("sonic", tmp_path)])
    times = {}
    for retries in (None, 0, 1, 7):
        network.hosts = {}
        network.default_host = Host("host1", Place("hosts.json", 1), rdma_timeout=14, rdma_retries=retries)
        times[retries] = _patience(Facts(network))[0]
    assert times[0] == times[1]
    assert times[None] == times[7] == 7 * times[1]
