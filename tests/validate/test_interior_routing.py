"""What an interior protocol leads to, through areas and levels; and what of it cannot be judged is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.adjacencies import interior_of
from fabric.validate.facts import Facts
from fabric.validate.output.text import render
from fabric.validate.runner import validate
from tests.mistakes.mistake import both, everywhere, good, replaced, write
from tests.mistakes.score import judged

Edit = Callable[[str], str]


def fabric(folder: Path, language: str, protocol: str, **edits: Edit) -> Path:
    files = good(language, loopbacks=True, interior=protocol)
    for switch, edit in edits.items():
        name = next(it for it in files if it.startswith(f"{switch}."))
        files[name] = edit(files[name])
    write(language, files, folder)
    return folder


def leads(folder: Path, source: str, address: str) -> bool | None:
    facts = Facts(load_network([folder]))
    return interior_of(facts).reaches(facts.network.devices[source], address)


def in_area(old: str, *areas: str) -> Edit:
    """The areas of the switch's circuits, in the order of its file."""

    def edit(text: str) -> str:
        rest = iter(areas)
        return re.sub(re.escape(old), lambda _: f"area {next(rest)}", text)

    return edit


AREA = "area 0.0.0.0"


@pytest.mark.parametrize(
    ("leaf1", "leaf2", "spines", "reached"),
    [
        # the leaves in areas of their own, the spines between them and the backbone
        (("1", "1", "1"), ("2", "2", "2"), ("1", "2", "0"), True),
        (("1", "1", "1"), ("2", "2", "2"), ("1", "2", "1"), False),  # no backbone
        (("1", "1", "0"), ("1", "1", "0"), ("1", "1", "1"), True),  # of leaves that border it through loopbacks
        (("1", "1", "2"), ("1", "1", "1"), ("1", "1", "1"), False),  # no border router for area 2
    ],
)
def test_routes_between_areas_go_through_the_backbone(
    leaf1: tuple[str, ...], leaf2: tuple[str, ...], spines: tuple[str, ...], reached: bool, tmp_path: Path
) -> None:
    edits = {"leaf1": in_area(AREA, *leaf1), "leaf2": in_area(AREA, *leaf2)}
    folder = fabric(tmp_path, "eos", "ospf", **edits, spine1=in_area(AREA, *spines), spine2=in_area(AREA, *spines))
    assert leads(folder, "leaf2", "10.0.0.1") is reached
    assert bool(judged(folder)) is not reached


def test_levels_and_areas_of_is_is_decide_what_is_reached(tmp_path: Path) -> None:
    level = {"leaf1": "1", "leaf2": "2", "spine1": "1-2", "spine2": "1-2"}
    edits = {
        name: (
            lambda text, its=its: re.sub(r"   isis circuit-type .*\n", "", text).replace(
                "is-type level-2", f"is-type level-{its}"
            )
        )
        for name, its in level.items()
    }
    folder = fabric(tmp_path, "eos", "isis", **edits)
    assert leads(folder, "leaf2", "10.0.0.1")
    text = (folder / "leaf1.cfg").read_text().replace("net 49.0001.", "net 49.0002.")
    (folder / "leaf1.cfg").write_text(text)
    assert leads(folder, "leaf2", "10.0.0.1") is False
    assert judged(folder)[0].check.id == "O1"


def test_connected_routes_that_are_redistributed_announce_every_loopback(tmp_path: Path) -> None:
    left_out = replaced("  ip router ospf U area 0.0.0.0\n", "", after="\ninterface loopback0\n")
    redistributed = replaced("router ospf U\n", "router ospf U\n  redistribute direct route-map ALL\n")
    assert leads(fabric(tmp_path, "nxos", "ospf", leaf1=left_out), "leaf2", "10.0.0.1") is False
    assert leads(fabric(tmp_path, "nxos", "ospf", leaf1=both(left_out, redistributed)), "leaf2", "10.0.0.1")


def test_two_links_keep_a_session_up_that_one_would_lose(tmp_path: Path) -> None:
    edit = replaced("  ip ospf network point-to-point\n", "", after="ip address 10.1.0.0/31\n")
    folder = fabric(tmp_path, "nxos", "ospf", leaf1=edit)
    assert leads(folder, "leaf1", "10.0.0.11")
    assert [it.check.id for it in judged(folder)] == ["O1"]


def test_ends_with_different_protocols_form_no_adjacency(tmp_path: Path) -> None:
    other = good("nxos", loopbacks=True, interior="isis")
    found = judged(fabric(tmp_path, "nxos", "ospf", leaf1=lambda _: other["leaf1.cfg"]))[0].first
    assert (found.check.id, found.device) == ("O1", "leaf1")
    assert found.text == "IS-IS here, OSPF at spine1:Ethernet1/1"


def test_max_metric_after_a_restart_only_is_no_maintenance(tmp_path: Path) -> None:
    edit = replaced("   max-lsa 12000\n", "   max-metric router-lsa on-startup 300\n")
    assert not judged(fabric(tmp_path, "eos", "ospf", spine1=edit))


def test_a_network_statement_with_a_wildcard_takes_interfaces_in(tmp_path: Path) -> None:
    def edit(text: str) -> str:
        text = re.sub(r"   ip ospf area .*\n", "", text)
        return text.replace("   max-lsa 12000\n", "   network 10.0.0.0 0.255.255.255 area 0\n")

    assert not judged(fabric(tmp_path, "eos", "ospf", leaf1=edit))


def test_a_loopback_outside_the_default_vrf_need_not_be_in_the_protocol(tmp_path: Path) -> None:
    loopback = "interface loopback9\n  vrf member T\n  ip address 10.99.0.1/32\nvrf context T\n"
    assert not judged(fabric(tmp_path, "nxos", "ospf", leaf1=replaced("router ospf U\n", f"{loopback}router ospf U\n")))


@pytest.mark.parametrize(
    ("language", "end", "command"),
    [
        ("eos", "Ethernet3/1", "router ospf 1; no passive-interface Ethernet3/1"),
        ("nxos", "Ethernet1/3", "interface Ethernet1/3; no ip ospf passive-interface"),
    ],
)
def test_of_a_passive_and_an_active_end_the_passive_one_changes(
    language: str, end: str, command: str, tmp_path: Path
) -> None:
    """Also where most ends in the files are passive."""
    passive = {"eos": re.compile("   no passive-interface .*\n"), "nxos": re.compile("(?<=router ospf U\n)")}[language]
    line = {"eos": "", "nxos": "  passive-interface default\n"}[language]
    folder = fabric(tmp_path, language, "ospf", leaf1=lambda text: passive.sub(line, text))
    (folder / "leaf2.cfg").unlink()
    found = [it for cause in judged(folder) for it in cause.findings if it.check.id == "O1"]
    assert {it.device for it in found} == {"leaf1"}
    (fix,) = (it.fix for it in found if it.object == end)
    assert fix is not None
    assert fix.command == command


@pytest.mark.parametrize("strict", [False, True])
def test_a_protocol_whose_circuits_are_not_read_is_said_first(strict: bool, tmp_path: Path) -> None:
    def edit(text: str) -> str:
        return text.replace("router ospf 1\n", "router rip\n!\nrouter ospf 1\n").replace("router ospf", "router eigrp")

    network = load_network(
        [fabric(tmp_path, "eos", "ospf", leaf1=lambda text: edit(re.sub("   ip ospf.*\n", "", text)))]
    )
    network.strict = strict
    verdict = validate(network, only={"R12"})
    assert "could not be judged" in render(verdict).splitlines()[0]
    assert [it.severity.word for it in verdict.findings] == ["error" if strict else "info"]


def test_a_file_of_frr_beside_a_switch_of_another_system_is_said_first(tmp_path: Path) -> None:
    write("nvue", good("nvue"), tmp_path)
    (tmp_path / "leaf1.conf").write_text("frr defaults datacenter\nhostname leaf1\nrouter ospf\n!\n", encoding="utf-8")
    verdict = validate(load_network([tmp_path]), only={"R12"})
    assert [(it.device, it.object) for it in verdict.findings] == [("leaf1", "routing")]


@pytest.mark.parametrize("kind", ["stub", "nssa", "stub no-summary"])
def test_an_area_is_stub_at_both_ends_or_at_none(kind: str, tmp_path: Path) -> None:
    usual = everywhere("area 0.0.0.0", "area 0.0.0.1")
    edit = both(usual, replaced("router ospf U\n", f"router ospf U\n  area 0.0.0.1 {kind}\n"))
    folder = fabric(tmp_path, "nxos", "ospf", leaf1=edit, leaf2=edit, spine1=edit, spine2=edit)
    assert not judged(folder)
    found = judged(fabric(tmp_path, "nxos", "ospf", leaf1=usual, leaf2=edit, spine1=edit, spine2=edit))[0]
    assert (found.check.id, found.first.device) == ("O1", "leaf1")
    assert "area here" in found.first.text
