"""Checks of BGP sessions without addresses, over the port of a cable (RFC 4861, RFC 8950)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mistakes.mistake import REMOVED, Edit, both, put, renamed
from tests.mistakes.score import judged
from tests.validate.test_reach_unnumbered import _NVUE as PORTS
from tests.validate.test_reach_unnumbered import unnumbered
from tests.validate.test_reachability import fabric

_BGP = ("vrf", "default", "router", "bgp", "neighbor")


def _external(tree: dict[str, object]) -> object:
    neighbors: object = tree
    for step in _BGP:
        neighbors = neighbors[step]  # type: ignore[index]
    for row in neighbors.values():  # type: ignore[attr-defined]
        row["remote-as"] = "external"
    return tree


def _whole(**more: Edit) -> dict[str, Edit]:
    """Every session unnumbered and external, with more edits of some switches."""
    return {name: both(unnumbered(name), _external, *([more[name]] if name in more else [])) for name in PORTS}


def _number(asn: int) -> Edit:
    return put("router", "bgp", "autonomous-system", value=asn)


def test_a_fabric_with_unnumbered_sessions_alone_has_no_finding(tmp_path: Path) -> None:
    assert not judged(fabric("nvue", tmp_path, **_whole()))


@pytest.mark.parametrize(
    ("check", "switch", "where", "edit"),
    [
        ("P2", "leaf1", "swp3", put(*_BGP, "swp3", "remote-as", value=64_999)),
        ("P2", "leaf1", "swp3", put(*_BGP, "swp3", "remote-as", value="internal")),
        ("P3", "spine1", "swp1", put(*_BGP, "swp3", value=REMOVED)),
        ("P6", "leaf1", "swp3", put(*_BGP, "swp3", "shutdown", value="on")),
        ("P9", "leaf1", "swp9", renamed(*_BGP, "swp3", to="swp9")),
        ("P10", "leaf1", "swp3", put(*_BGP, "swp3", "address-family", "ipv4-unicast", "enable", value="off")),
        ("P11", "leaf1", "swp3", put(*_BGP, "swp3", "remote-as", value=REMOVED)),
        ("P12", "leaf1", "autonomous-system", put("router", "bgp", "autonomous-system", value=REMOVED)),
        ("P13", "spine1", "swp1", put(*_BGP, "swp3", "password", value="secret")),
        ("P24", "spine1", "swp1", put(*_BGP, "swp3", "bfd", "enable", value="on")),
        ("V8", "leaf1", "swp3", put(*_BGP, "swp3", "address-family", "l2vpn-evpn", "enable", value="off")),
        ("I5", "leaf2", "65102", put("router", "bgp", "autonomous-system", value=65_102)),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_a_mistake_at_an_unnumbered_session_is_the_first_cause(
    check: str, switch: str, where: str, edit: Edit, tmp_path: Path
) -> None:
    first = judged(fabric("nvue", tmp_path, **_whole(leaf1=edit)))[0]
    shown = " ".join((first.first.object, first.first.text, *(str(it) for it in first.first.evidence)))
    assert (first.check.id, first.first.device) == (check, switch), shown
    assert where in shown


def test_an_external_neighbour_of_the_own_as_is_named(tmp_path: Path) -> None:
    first = judged(fabric("nvue", tmp_path, **_whole(spine1=_number(65_101))))[0]
    assert first.check.id == "P2"
    assert "external" in first.first.text
    assert "V11" not in {it.check.id for it in judged(tmp_path)}  # it follows from the first


def _over_ports(text: str) -> str:
    """EOS: the sessions over ports, of one line each, as a running-config writes them."""
    lines = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["neighbor"] and words[1].startswith("10.1."):
            continue
        lines.append(line)
        if line.startswith("router bgp"):
            leaf = "hostname leaf" in text
            asns = ["65000", "65000"] if leaf else ["65101", "65102"]
            first = 3 if leaf else 1
            lines += ["   neighbor FABRIC peer group", "   neighbor FABRIC send-community extended"]
            if leaf:
                lines.append(f"   neighbor interface Et{first}/1-{first + 1}/1 peer-group FABRIC remote-as {asns[0]}")
            else:
                lines.append("   neighbor FABRIC next-hop-unchanged")
                lines += [
                    f"   neighbor interface Et{first + at}/1 peer-group FABRIC remote-as {asn}"
                    for at, asn in enumerate(asns)
                ]
        if line.strip() in {"address-family evpn", "address-family ipv4"}:
            lines.append("      neighbor FABRIC activate")
    return "\n".join(lines) + "\n"


def test_a_range_of_ports_with_short_names_is_a_session_for_each(tmp_path: Path) -> None:
    edits: dict[str, Edit] = dict.fromkeys(("leaf1", "leaf2", "spine1", "spine2"), _over_ports)
    assert not judged(fabric("eos", tmp_path, **edits))
    edits["leaf1"] = lambda text: _over_ports(text).replace("remote-as 65000", "remote-as 65009")
    first = judged(fabric("eos", tmp_path, **edits))[0]
    assert first.check.id == "P2"
    assert {it.device for it in first.findings} == {"leaf1"}
    assert len(first.findings) == 2


def _folded(tree: dict[str, object]) -> object:
    """The two neighbours of a switch under one key, as `nv config show` folds them."""
    neighbors: dict[str, object] = tree
    for step in _BGP:
        neighbors = neighbors[step]  # type: ignore[assignment]
    first, second = sorted(neighbors)
    neighbors[f"{first}-{second.removeprefix('swp')}"] = neighbors.pop(first)
    del neighbors[second]
    return tree


def test_neighbours_of_a_folded_range_of_ports_are_a_session_each(tmp_path: Path) -> None:
    assert not judged(fabric("nvue", tmp_path, **_whole(spine1=_folded, leaf1=_folded)))
    first = judged(fabric("nvue", tmp_path, **_whole(leaf1=_folded, spine1=_number(64_999))))
    assert not first, "external neighbours have any other number"


def test_a_session_of_an_unnumbered_pair_may_be_shut_at_both_ends(tmp_path: Path) -> None:
    shut = put(*_BGP, "swp3", "shutdown", value="on"), put(*_BGP, "swp1", "shutdown", value="on")
    found = {it.check.id for it in judged(fabric("nvue", tmp_path, **_whole(leaf1=shut[0], spine1=shut[1])))}
    assert not found & {"P3", "P6", "P9"}


def test_a_session_over_the_link_of_a_pair_of_switches_is_no_loose_port(tmp_path: Path) -> None:
    extra = put(*_BGP, "peerlink.4094", value={"type": "unnumbered", "remote-as": "external"})
    shut = put(*_BGP, "swp3", "shutdown", value="on")
    found = judged(fabric("nvue", tmp_path, **_whole(leaf1=both(extra, shut))))
    assert "P9" not in {it.check.id for it in found}


def test_equal_own_numbers_may_be_hidden_by_a_local_as(tmp_path: Path) -> None:
    shown = both(*(put(*_BGP, port, "local-as", value={"enable": "on", "asn": 65_099}) for port in ("swp1", "swp2")))
    leaf = both(*(put(*_BGP, port, "local-as", value={"enable": "on", "asn": 65_050}) for port in ("swp3", "swp4")))
    found = judged(fabric("nvue", tmp_path, **_whole(spine1=both(_number(65_101), shown), leaf1=leaf)))
    assert "P2" not in {it.check.id for it in found}


def test_a_switch_that_listens_for_neighbours_needs_no_session_of_its_own(tmp_path: Path) -> None:
    def listens(text: str) -> str:
        lines = [line for line in _over_ports(text).splitlines() if "neighbor interface" not in line]
        at = next(n for n, line in enumerate(lines) if line.startswith("router bgp"))
        lines.insert(at + 1, "   bgp listen range fe80::/10 peer-group FABRIC peer-filter LEAVES")
        return "\n".join(lines) + "\n"

    edits: dict[str, Edit] = dict.fromkeys(("leaf1", "leaf2"), _over_ports)
    found = judged(fabric("eos", tmp_path, **edits, spine1=listens, spine2=listens))
    assert not {it.check.id for it in found} & {"P3", "P9"}
