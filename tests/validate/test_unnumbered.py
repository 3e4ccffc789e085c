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
