"""Route policies in four languages: what they permit reaches, what they drop does not, and the policy is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.validate.checks.base import Severity
from tests.mistakes.mistake import Edit, both, everywhere, put, replaced
from tests.mistakes.reach_edits import filtered_eos, filtered_nvue, filtered_nxos, filtered_sonic
from tests.validate.test_reach_check import verdict
from tests.validate.test_reachability import BACK, FORTH, fabric, failing, reachability

DROPS: list[tuple[str, Callable[[], Edit], set[str]]] = [
    ("eos", lambda: filtered_eos("seq 10 permit 10.9.0.0/16 le 32"), FORTH),
    (
        "eos",
        lambda: filtered_eos("seq 10 deny 10.0.0.1/32\nip prefix-list LOOPBACKS seq 20 permit any", way="out"),
        BACK,
    ),
    ("eos", lambda: filtered_eos("seq 10 permit 10.0.0.0/24", "deny 10", "route-map FILTER permit 20\n"), set()),
    ("eos", lambda: filtered_eos("seq 10 permit 10.0.0.0/24 ge 32", "deny 10", "route-map FILTER permit 20\n"), FORTH),
    ("nxos", lambda: filtered_nxos("seq 5 permit 10.0.0.2/32", "deny 10", "route-map FILTER permit 20\n"), FORTH),
    ("nxos", lambda: filtered_nxos("seq 5 permit 10.0.0.0/8 le 32"), set()),
    ("nvue", lambda: filtered_nvue("permit", "10.9.0.0/16"), FORTH),
    ("nvue", lambda: filtered_nvue("deny", "10.0.0.1/32", rest=True, way="outbound"), BACK),
    ("nvue", lambda: filtered_nvue("permit", "10.0.0.0/8"), set()),
    ("sonic", lambda: filtered_sonic("permit", "10.9.0.0/16"), FORTH),
    ("sonic", lambda: filtered_sonic("deny", "10.0.0.0/8", rest=True, way="out"), BACK),
    ("sonic", lambda: filtered_sonic("permit", "10.0.0.0/8"), set()),
]


@pytest.mark.parametrize(("language", "edit", "pairs"), DROPS)
def test_a_route_map_drops_what_its_prefix_list_says(
    language: str, edit: Callable[[], Edit], pairs: set[str], tmp_path: Path
) -> None:
    folder = fabric(language, tmp_path, leaf1=edit())
    reach = reachability(folder)
    assert not reach.unknown
    found = failing(reach)
    assert set(found) == pairs
    assert all("leaf1 drops it" in said and "route-map FILTER" in said for said in found.values()), found
    errors = [it for it in verdict(folder).causes if it.severity is Severity.ERROR]
    assert [(it.check.id, it.first.device) for it in errors] == ([("V11", "leaf1")] if pairs else [])


def test_a_prefix_list_filters_without_a_route_map(tmp_path: Path) -> None:
    uses = "".join(f"   neighbor {it} prefix-list NONE in\n" for it in ("10.1.0.1", "10.1.0.3"))
    edit = both(
        replaced("router bgp", "ip prefix-list NONE seq 10 deny 0.0.0.0/0 le 32\nrouter bgp"),
        replaced("   maximum-paths 4\n", f"   maximum-paths 4\n{uses}"),
    )
    assert set(failing(reachability(fabric("eos", tmp_path, leaf1=edit)))) == FORTH


def _evpn_filter(lines: str) -> Edit:
    uses = "".join(f"      neighbor {it} route-map EVPN-IN in\n" for it in ("10.1.0.1", "10.1.0.3"))
    return both(
        replaced("router bgp", f"{lines}router bgp"),
        replaced("   address-family evpn\n", f"   address-family evpn\n{uses}"),
    )


@pytest.mark.parametrize(
    ("lines", "pairs"),
    [
        ("route-map EVPN-IN permit 10\n   match route-type mac-ip\n", set()),
        ("route-map EVPN-IN permit 10\n   match route-type ip-prefix\n", FORTH),
        ("route-map EVPN-IN deny 10\n   match route-type ip-prefix\nroute-map EVPN-IN permit 20\n", set()),
        ("route-map EVPN-IN deny 10\n   match route-type mac-ip\nroute-map EVPN-IN permit 20\n", FORTH),
    ],
)
def test_a_route_map_drops_by_evpn_route_type(lines: str, pairs: set[str], tmp_path: Path) -> None:
    found = failing(reachability(fabric("eos", tmp_path, leaf1=_evpn_filter(lines))))
    assert set(found) == pairs
    assert all("route-map EVPN-IN" in said for said in found.values())


def test_a_community_that_one_switch_sets_is_dropped_by_another(tmp_path: Path) -> None:
    out = "".join(f"      neighbor {it} route-map MARK out\n" for it in ("10.1.0.1", "10.1.0.3"))
    into = "".join(f"      neighbor {it} route-map DROP in\n" for it in ("10.1.1.1", "10.1.1.3"))
    leaf1 = both(
        everywhere("send-community extended", "send-community standard extended"),
        replaced("router bgp", "route-map MARK permit 10\n   set community 65000:99 additive\nrouter bgp"),
        replaced("   address-family ipv4\n", f"   address-family ipv4\n{out}"),
    )
    lines = "ip community-list BAD permit 65000:99\nroute-map DROP deny 10\n   match community BAD\n"
    lines += "route-map DROP permit 20\n"
    leaf2 = both(
        replaced("router bgp", f"{lines}router bgp"),
        replaced("   address-family ipv4\n", f"   address-family ipv4\n{into}"),
    )
    found = failing(reachability(fabric("eos", tmp_path, leaf1=leaf1, leaf2=leaf2)))
    assert set(found) == BACK
    assert all("leaf2 drops it from spine" in said for said in found.values())


@pytest.mark.parametrize("lines", ["   match local-preference 7\n", "   match metric 7\n"])
def test_a_condition_that_is_not_computed_leaves_pairs_undecided(lines: str, tmp_path: Path) -> None:
    reach = reachability(fabric("eos", tmp_path, leaf1=_evpn_filter(f"route-map EVPN-IN permit 10\n{lines}")))
    assert "which is not computed" in str(reach.unknown[0])
    free = "route-map EVPN-IN permit 10\n" + lines + "route-map EVPN-IN permit 20\n"
    assert not failing(reachability(fabric("eos", tmp_path, leaf1=_evpn_filter(free))))


def test_a_route_map_of_the_redistribution_keeps_the_loopback_in(tmp_path: Path) -> None:
    def edit(prefix: str) -> Edit:
        return both(
            replaced("      network 10.0.0.1/32\n", "      redistribute connected route-map RM\n"),
            replaced(
                "router bgp",
                f"ip prefix-list PL seq 10 permit {prefix} ge 32\nroute-map RM permit 10\n"
                "   match ip address prefix-list PL\nrouter bgp",
            ),
        )

    assert not failing(reachability(fabric("eos", tmp_path, leaf1=edit("10.0.0.0/24"))))
    found = failing(reachability(fabric("eos", tmp_path, leaf1=edit("10.9.0.0/24"))))
    assert set(found) == BACK
    assert all("10.0.0.1 of leaf1 is not advertised" in said for said in found.values())


def _preferred_nvue(**change: object) -> Edit:
    peer = ("vrf", "default", "router", "bgp", "neighbor", "10.1.0.1", "address-family", "ipv4-unicast")
    return both(
        put("router", "policy", "route-map", "PREF", value={"rule": {"10": {"action": "permit", "set": change}}}),
        put(*peer, "policy", "inbound", value={"route-map": "PREF"}),
    )


def _preferred_sonic(**change: str) -> Edit:
    families = {f"default|{it}|l2vpn_evpn": {"admin_status": "true"} for it in ("10.1.0.1", "10.1.0.3")}
    families |= {
        "default|10.1.0.1|ipv4_unicast": {"admin_status": "true", "route_map_in": ["PREF"]},
        "default|10.1.0.3|ipv4_unicast": {"admin_status": "true"},
    }
    return both(
        put("ROUTE_MAP", value={"PREF|10": {"route_operation": "permit", **change}}),
        put("BGP_NEIGHBOR_AF", value=families),
    )


@pytest.mark.parametrize(
    ("language", "edit", "effect"),
    [
        ("nvue", _preferred_nvue(**{"local-preference": 200}), "prefers"),
        ("nvue", _preferred_nvue(**{"as-path-prepend": {"as": 65101}}), "makes worse"),
        ("sonic", _preferred_sonic(set_local_pref="50"), "makes worse"),
        ("sonic", _preferred_sonic(set_asn="65101", set_repeat_asn="2"), "makes worse"),
        ("sonic", _preferred_sonic(set_local_pref="100"), ""),
    ],
)
def test_a_policy_at_one_uplink_makes_it_unequal(language: str, edit: Edit, effect: str, tmp_path: Path) -> None:
    found = [it for it in verdict(fabric(language, tmp_path, leaf1=edit)).causes if it.check.id == "P18"]
    assert [it.first.device for it in found] == (["leaf1"] if effect else [])
    assert all(f"route-map PREF {effect} the routes" in it.first.text for it in found)
