"""Internal BGP with route reflectors, in four languages: what they pass on, and a client that is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.configs.load import load_network
from fabric.validate.causes import Cause
from fabric.validate.checks.base import Severity
from fabric.validate.facts import Facts
from fabric.validate.reachability import Reachability
from fabric.validate.runner import Verdict, validate
from tests.mistakes import internal, plan
from tests.mistakes.mistake import LANGUAGES, Edit, both, put, replaced, write

LEAVES = 3


def fabric(language: str, folder: Path, **edits: Edit) -> Path:
    files = internal.good(language, plan.switches(LEAVES, 2))
    for switch, edit in edits.items():
        name = next(it for it in files if it.startswith(f"{switch}."))
        files[name] = edit(files[name])
    write(language, files, folder)
    return folder


def verdict(language: str, folder: Path, **edits: Edit) -> Verdict:
    return validate(load_network([fabric(language, folder, **edits)]))


def causes(language: str, folder: Path, **edits: Edit) -> list[Cause]:
    return [it for it in verdict(language, folder, **edits).causes if it.severity is Severity.ERROR]


def _without_lines(word: str) -> Edit:
    return lambda text: "".join(it for it in text.splitlines(keepends=True) if word not in it)


def _no_client(content: Any) -> Any:  # noqa: ANN401  text or tree
    if isinstance(content, str):
        return _without_lines("route-reflector-client")(content)
    for row in content.get("BGP_NEIGHBOR_AF", {}).values():
        row.pop("rrclient", None)
    for row in content.get("vrf", {}).get("default", {}).get("router", {}).get("bgp", {}).get("neighbor", {}).values():
        row["address-family"]["l2vpn-evpn"].pop("route-reflector-client", None)
    return content


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_fabric_with_reflectors_is_whole_and_decided(language: str, tmp_path: Path) -> None:
    assert not causes(language, tmp_path)
    reach = Reachability(Facts(load_network([tmp_path])))
    assert not reach.unknown
    assert all(reach.between(a, b).reaches for a in reach.groups for b in reach.groups)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_spine_that_does_not_reflect_is_the_cause(language: str, tmp_path: Path) -> None:
    found = causes(language, tmp_path, spine2=_no_client)
    assert [(it.check.id, list(it.devices)) for it in found] == [("P15", ["spine2"])]
    assert "V11" not in found[0].counts  # spine1 joins all


@pytest.mark.parametrize("language", LANGUAGES)
def test_hosts_do_not_reach_where_no_spine_reflects(language: str, tmp_path: Path) -> None:
    found = causes(language, tmp_path, spine1=_no_client, spine2=_no_client)
    assert found
    texts = " ".join(item.text for cause in found for item in (*cause.findings, *cause.consequences))
    assert "does not reflect it from" in texts
    assert "neither is its client" in texts


def test_one_neighbour_that_is_no_client_of_one_reflector_is_a_warning(tmp_path: Path) -> None:
    edit = replaced("   neighbor 10.0.0.2 route-reflector-client\n", "")
    found = verdict("eos", tmp_path, spine1=edit)
    assert [(it.check.id, it.severity, it.device) for it in found.findings if it.check.id == "P15"] == [
        ("P15", Severity.WARN, "spine1")
    ]
    assert not [it for it in found.findings if it.severity is Severity.ERROR]


def test_two_that_are_no_clients_of_every_reflector_do_not_reach_each_other(tmp_path: Path) -> None:
    edit = both(*(replaced(f"   neighbor 10.0.0.{it} route-reflector-client\n", "") for it in (1, 2)))
    [found] = causes("eos", tmp_path, spine1=edit, spine2=edit)
    assert found.check.id == "P15"
    assert set(found.devices) == {"spine1", "spine2"}
    assert found.counts["V11"]


def test_a_session_between_leaf_and_reflector_that_is_shut_is_placed_there(tmp_path: Path) -> None:
    lines = "".join(f"   neighbor 10.0.0.{it} shutdown\n" for it in (11, 12))
    found = causes("eos", tmp_path, leaf1=replaced("   address-family evpn\n", f"{lines}   address-family evpn\n"))
    assert [(it.check.id, it.first.device) for it in found] == [("P6", "leaf1")]


CLUSTERS = {
    "eos": replaced("   no bgp default", "   bgp cluster-id 1.1.1.1\n   no bgp default"),
    "nxos": replaced(
        "  address-family l2vpn evpn\n    max", "  cluster-id 1.1.1.1\n  address-family l2vpn evpn\n    max"
    ),
    "nvue": put("vrf", "default", "router", "bgp", "route-reflection", value={"cluster-id": "1.1.1.1"}),
    "sonic": put("BGP_GLOBALS", value={"default": {"rr_cluster_id": "1.1.1.1"}}),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_reflectors_of_one_cluster_drop_what_the_other_has_reflected(language: str, tmp_path: Path) -> None:
    """Leaf1 has a session to spine1 only, leaf2 to spine2 only; the spines are each other's neighbours."""
    reach = Reachability(Facts(load_network([fabric(language, tmp_path, spine1=CLUSTERS[language])])))
    assert reach.facts.network.devices["spine1"].identity.cluster_id.value == "1.1.1.1"
    assert [it.cluster_id for it in reach.plan.routers if it.name == "spine1"] == [0x01010101]


def test_leaves_at_two_reflectors_of_one_cluster(tmp_path: Path) -> None:
    peer = (
        "   neighbor 10.0.0.{0} remote-as 65000\n   neighbor 10.0.0.{0} update-source Loopback0\n"
        "   neighbor 10.0.0.{0} send-community extended\n   no bgp default"
    )
    active = "   address-family evpn\n      neighbor 10.0.0.{0} activate\n"

    def spine(own: int, gone: int) -> Edit:
        other = 23 - own
        return both(
            replaced("   no bgp default", peer.format(other)),
            replaced("   address-family evpn\n", active.format(other)),
            _without_lines(f"neighbor 10.0.0.{gone} "),
        )

    leaves = {"leaf1": _without_lines("neighbor 10.0.0.12 "), "leaf2": _without_lines("neighbor 10.0.0.11 ")}
    spines = {"spine1": spine(11, 2), "spine2": spine(12, 1)}
    apart = []
    for name, edit in (("two", lambda text: text), ("one", CLUSTERS["eos"])):
        (tmp_path / name).mkdir()
        edits = {**leaves, **{it: both(its, edit) for it, its in spines.items()}}
        reach = Reachability(Facts(load_network([fabric("eos", tmp_path / name, **edits)])))
        groups = {it.device.name: it for it in reach.groups}
        apart.append(reach.between(groups["leaf1"], groups["leaf2"]).reaches)
    assert apart == [True, False]
