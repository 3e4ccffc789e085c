"""Sessions without IPv4 addresses: over an interface (unnumbered), and between IPv6 addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mistakes.mistake import Edit, both, everywhere, renamed
from tests.validate.test_reachability import BACK, FORTH, fabric, failing, reachability

_NEIGHBORS = ("vrf", "default", "router", "bgp", "neighbor")
_NVUE = {
    "leaf1": {"10.1.0.1": "swp3", "10.1.0.3": "swp4"},
    "leaf2": {"10.1.1.1": "swp3", "10.1.1.3": "swp4"},
    "spine1": {"10.1.0.0": "swp1", "10.1.1.0": "swp2"},
    "spine2": {"10.1.0.2": "swp1", "10.1.1.2": "swp2"},
}


def unnumbered(switch: str, wrong: int = 0) -> Edit:
    def typed(tree: object) -> object:
        neighbors = tree[1]["set"] if isinstance(tree, list) else tree  # type: ignore[index]
        for step in _NEIGHBORS:
            neighbors = neighbors[step]
        for row in neighbors.values():
            row["type"] = "unnumbered"
            row["remote-as"] = wrong or row["remote-as"]
        return tree

    return both(*(renamed(*_NEIGHBORS, old, to=new) for old, new in _NVUE[switch].items()), typed)


def test_unnumbered_sessions_of_nvue_carry_the_fabric(tmp_path: Path) -> None:
    reach = reachability(fabric("nvue", tmp_path, **{name: unnumbered(name) for name in _NVUE}))
    assert not reach.unknown
    assert sum(it.down is None for it in reach.sessions) == 4
    assert not failing(reach)


def test_an_unnumbered_session_with_the_wrong_as_stays_down(tmp_path: Path) -> None:
    edits = {name: unnumbered(name, 64_999 if name == "leaf1" else 0) for name in _NVUE}
    found = failing(reachability(fabric("nvue", tmp_path, **edits)))
    assert set(found) == FORTH | BACK
    assert all("leaf1 expects AS 64999, spine1 has 65000" in said for said in found.values())


def test_unnumbered_at_one_end_only_stays_down(tmp_path: Path) -> None:
    found = failing(reachability(fabric("nvue", tmp_path, leaf1=unnumbered("leaf1"))))
    assert set(found) == FORTH | BACK
    assert all("has no session at swp1" in said for said in found.values())


def test_an_unnumbered_session_to_a_switch_that_was_not_given_is_undecided(tmp_path: Path) -> None:
    folder = fabric("nvue", tmp_path, **{name: unnumbered(name) for name in _NVUE})
    (folder / "spine1.yaml").unlink()
    assert "whose configuration was not given" in str(reachability(folder).unknown[0])


def _v6(text: str) -> str:
    for leaf in (0, 1):
        for host in range(4):
            text = text.replace(f"ip address 10.1.{leaf}.{host}/31", f"ipv6 address 2001:db8:{leaf}::{host}/127")
            text = text.replace(f"neighbor 10.1.{leaf}.{host} ", f"neighbor 2001:db8:{leaf}::{host} ")
    return text


def test_ipv6_sessions_that_activate_ipv4_carry_the_fabric(tmp_path: Path) -> None:
    reach = reachability(fabric("eos", tmp_path, leaf1=_v6, leaf2=_v6, spine1=_v6, spine2=_v6))
    assert not reach.unknown
    assert not failing(reach)


@pytest.mark.parametrize("line", ["remote-as 65000", "activate"])
def test_a_mistake_at_ipv6_sessions_is_named(line: str, tmp_path: Path) -> None:
    wrong = everywhere("remote-as 65000", "remote-as 65009") if line != "activate" else _without_evpn
    found = failing(reachability(fabric("eos", tmp_path, leaf1=both(_v6, wrong), leaf2=_v6, spine1=_v6, spine2=_v6)))
    assert set(found) == FORTH | BACK


def _without_evpn(text: str) -> str:
    begin, end = text.index("   address-family evpn"), text.index("   address-family ipv4")
    return text[:begin] + text[end:]
