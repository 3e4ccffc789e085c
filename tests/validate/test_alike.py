"""A fabric reduced to switches that are configured alike has the same verdict as the whole of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from large import large_fabric
from large_overlay import with_overlay

from fabric.configs.load import load_network
from fabric.configs.network import Network
from fabric.validate import reachability as oracle
from fabric.validate.alike import reduced
from fabric.validate.checks.base import Severity
from fabric.validate.facts import Facts
from fabric.validate.reach_table import meant_to_reach
from fabric.validate.reachability import Reachability
from fabric.validate.runner import validate
from fabric.validate.sessions import peerings
from tests.mistakes import plan
from tests.mistakes.mistake import LANGUAGES, Edit, both, everywhere, replaced, write

LEAVES, SPINES = 7, 3


def network(folder: Path, language: str = "eos", **edits: Edit) -> Network:
    files = LANGUAGES[language].good(plan.switches(LEAVES, SPINES))
    for switch, edit in edits.items():
        name = next(it for it in files if it.startswith(f"{switch}."))
        files[name] = edit(files[name])
    write(language, files, folder)
    return load_network([folder])


def switches_apart(reach: Reachability) -> set[tuple[str, str]]:
    """Pairs of switches of which a host of the first does not reach one of the second, for every switch alike."""
    found = set()
    for one in reach.groups:
        for other in reach.groups:
            if one is other or reach.between(one, other).reaches:
                continue
            ours, theirs = (reach.alike.get(it.device.name, (it.device.name,)) for it in (one, other))
            found |= {(a, b) for a in ours for b in theirs if a != b}
    return found


TARGET = "route-target both 65000:10100"
_SHUT = "   neighbor 10.1.{0}.1 shutdown\n   neighbor 10.1.{0}.3 shutdown\n   neighbor 10.1.{0}.5 shutdown\n"
_FILTER = (
    "ip prefix-list ONE seq 10 deny 10.0.0.4/32\nip prefix-list ONE seq 20 permit 0.0.0.0/0 le 32\n"
    "route-map ONE permit 10\n   match ip address prefix-list ONE\nrouter bgp"
)


def _filtered(text: str) -> str:
    text = text.replace("router bgp", _FILTER)
    return text.replace(
        "   address-family ipv4\n", "   address-family ipv4\n      neighbor 10.1.0.0 route-map ONE out\n"
    )


FAULTS: dict[str, dict[str, Edit]] = {
    "none": {},
    "one target": {"leaf3": replaced(TARGET, "route-target both 65000:10200")},
    "targets of four leaves": {f"leaf{it}": replaced(TARGET, "route-target both 65000:10200") for it in (1, 3, 5, 7)},
    "one spine changes the next hop": {
        "spine2": lambda text: "".join(it for it in text.splitlines(True) if "next-hop-unchanged" not in it)
    },
    "one leaf is cut off": {"leaf4": replaced("   maximum-paths", f"{_SHUT.format(3)}   maximum-paths")},
    "two leaves of one AS": {"leaf5": replaced("router bgp 65105", "router bgp 65104")},
    "one loopback is filtered at all spines": dict.fromkeys(("spine1", "spine2", "spine3"), _filtered),
    "another VNI at two leaves": {
        name: replaced("vlan 100 vni 10100", "vlan 100 vni 10150") for name in ("leaf2", "leaf6")
    },
    "one leaf does not advertise its VTEP": {"leaf7": replaced("      network 10.0.0.7/32\n", "")},
    "one VTEP address at two leaves": {
        "leaf2": both(everywhere("10.0.0.2/32", "10.0.0.1/32"), replaced("router-id 10.0.0.2", "router-id 10.9.9.9"))
    },
    "no session carries EVPN at one leaf": {
        "leaf1": lambda text: (
            text[: text.index("   address-family evpn")] + text[text.index("   address-family ipv4") :]
        )
    },
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_reduced_fabric_has_the_verdict_of_the_whole(fault: str, tmp_path: Path) -> None:
    facts = Facts(network(tmp_path, **FAULTS[fault]))
    part = reduced(facts, peerings(facts))
    whole, small = Reachability(facts), Reachability(part.facts, part.alike)
    assert not whole.unknown
    assert switches_apart(small) == switches_apart(whole)
    assert {name for its in part.alike.values() for name in its} == set(facts.network.devices)
    assert bool(list(meant_to_reach(small))) == bool(list(meant_to_reach(whole)))


def test_leaves_and_spines_of_a_working_fabric_are_two_classes(tmp_path: Path) -> None:
    facts = Facts(network(tmp_path))
    part = reduced(facts, peerings(facts))
    assert sorted(part.facts.network.devices) == ["leaf1", "leaf2", "spine1", "spine2"]
    assert len(set(part.alike.values())) == 2


def test_two_fabrics_without_a_session_between_them_are_not_one(tmp_path: Path) -> None:
    """Their switches are alike, and hosts of one do not reach those of the other."""
    fabric = with_overlay(large_fabric(pods=2, leaves=3, aggregations=2, cores=2, ports=4, parallel=1))
    for name, tables in fabric.items():
        if not name.startswith("leaf"):
            its = tables["BGP_NEIGHBOR"]
            tables["BGP_NEIGHBOR"] = {at: it for at, it in its.items() if "core" not in name + it["name"]}
    for name, tables in fabric.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(tables), encoding="utf-8")
    facts = Facts(load_network([tmp_path]))
    part = reduced(facts, peerings(facts))
    apart = {(a[:5], b[:5]) for a, b in switches_apart(Reachability(part.facts, part.alike))}
    assert apart == {("leaf0", "leaf1"), ("leaf1", "leaf0")}


def test_three_tiers_are_three_classes_in_every_pod(tmp_path: Path) -> None:
    fabric = with_overlay(large_fabric(pods=3, leaves=4, aggregations=4, cores=8, ports=8, parallel=2))
    fabric["leaf2-3"]["VXLAN_TUNNEL_MAP"] = {"vtep|map_10200_Vlan100": {"vlan": "Vlan100", "vni": "10200"}}
    for name, tables in fabric.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(tables), encoding="utf-8")
    facts = Facts(load_network([tmp_path]))
    part = reduced(facts, peerings(facts))
    assert part.alike["leaf2-3"] == ("leaf2-3",)
    assert len(part.facts.devices) < len(facts.devices)
    small = Reachability(part.facts, part.alike)
    assert switches_apart(small) == switches_apart(Reachability(facts))


def test_a_large_fabric_is_judged_and_the_switches_alike_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle, "MAX_WHOLE", 0)
    shut = {
        f"{kind}{at}": both(*(replaced(old, f"{old}{new}") for old, new in edits))
        for kind, at, edits in (
            *(("leaf", it, [("   maximum-paths 4\n", _SHUT.format(it - 1))]) for it in (2, 4, 6)),
            *(
                ("spine", it, [("   maximum-paths 4\n", "".join(f"   neighbor 10.1.{leaf}.{2 * it - 2} shutdown\n"
                                                                for leaf in (1, 3, 5)))])
                for it in (1, 2, 3)
            ),
        )
    }  # fmt: skip
    found = [it for it in validate(network(tmp_path, **shut)).findings if it.check.id == "V11"]
    assert found
    assert all(it.severity is Severity.ERROR for it in found)
    text = " ".join(f"{it.device} {it.text}" for it in found)
    assert all(f"leaf{it}" in text for it in (2, 4, 6))
