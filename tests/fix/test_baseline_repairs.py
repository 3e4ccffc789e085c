"""What a change of the files removed, added or replaced is repaired to the value of the baseline, where it changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.baseline import changes
from fabric.validate.checks.base import Severity
from fabric.validate.fix import lines
from fabric.validate.fix.files import patches
from fabric.validate.fix.search import Plan, find
from fabric.validate.fix.told import told
from fabric.validate.judge import Request, judge
from fabric.validate.output.text import remedy
from tests.mistakes import frr as fabric_of_frr
from tests.mistakes.mistake import REMOVED, Edit, everywhere, good, put, renamed, replaced, write

LANGUAGES = ("sonic", "frr", "eos", "nxos", "nvue")
_SLOW = pytest.mark.slow
_BGP = ("vrf", "default", "router", "bgp", "neighbor")


def fabric(language: str, folder: Path, **edits: Edit) -> Path:
    folder.mkdir()
    files = fabric_of_frr.good() if language == "frr" else good(language)
    for switch, edit in edits.items():
        ends = ".frr.conf" if language == "frr" else "."
        file = next(it for it in files if it.startswith(switch + ends))
        files[file] = edit(files[file])
    write("sonic" if language == "frr" else language, files, folder)
    return folder


def plan(language: str, folder: Path, **edits: Edit) -> tuple[Plan, Request]:
    """The plan for a fabric with the edits, whose baseline has none."""
    old = fabric(language, folder / "old")
    request = Request([fabric(language, folder / "new", **edits)], baseline=old)
    return find(request, judge(request)), request


def assert_given_back(found: Plan, request: Request) -> None:
    assert found.asked
    assert found.gone == found.asked
    assert request.baseline is not None
    assert changes(load_network([request.baseline]), found.end.network) == ()


def without(start: str, *more: str) -> Edit:
    """A text without the lines that begin with `start`, and without the lines that follow each of them."""

    def edit(text: str) -> str:
        rows = text.split("\n")
        gone = {at + by for at, row in enumerate(rows) if row.startswith(start) for by in range(len(more) + 1)}
        assert gone, start
        return "\n".join(row for at, row in enumerate(rows) if at not in gone)

    return edit


NO_NEIGHBOR: dict[str, Edit] = {
    "sonic": put("BGP_NEIGHBOR", "10.1.0.0", value=REMOVED),
    "frr": without(" neighbor 10.1.0.0 "),
    "eos": lambda text: without("      neighbor 10.1.0.0 ")(without("   neighbor 10.1.0.0 ")(text)),
    "nxos": without("  neighbor 10.1.0.0", *["remote-as", "ipv4", "evpn", "send-community", "route-map"]),
    "nvue": put(*_BGP, "10.1.0.0", value=REMOVED),
}


@pytest.mark.parametrize("language", [it if it != "nvue" else pytest.param(it, marks=_SLOW) for it in LANGUAGES])
def test_a_neighbour_that_was_removed_is_given_back_where_it_was(language: str, tmp_path: Path) -> None:
    found, request = plan(language, tmp_path, spine1=NO_NEIGHBOR[language])
    assert_given_back(found, request)
    assert {it.device for it in found.changes} == {"spine1"}
    first = told(judge(request), found).causes[0].first
    assert first.place is not None
    assert Path(first.place.file).name.startswith("spine1")


OTHER_ADDRESS: dict[str, Edit] = {
    "sonic": renamed("BGP_NEIGHBOR", "10.1.0.0", to="10.1.0.100"),
    "frr": everywhere("neighbor 10.1.0.0 ", "neighbor 10.1.0.100 "),
    "eos": everywhere("neighbor 10.1.0.0 ", "neighbor 10.1.0.100 "),
    "nxos": everywhere("neighbor 10.1.0.0\n", "neighbor 10.1.0.100\n"),
    "nvue": renamed(*_BGP, "10.1.0.0", to="10.1.0.100"),
}


@pytest.mark.parametrize(
    "language", [it if it in {"sonic", "eos"} else pytest.param(it, marks=_SLOW) for it in LANGUAGES]
)
def test_a_neighbour_with_another_address_goes_and_the_right_one_comes(language: str, tmp_path: Path) -> None:
    found, request = plan(language, tmp_path, spine1=OTHER_ADDRESS[language])
    assert_given_back(found, request)


@pytest.mark.parametrize(
    "language", [it if it in {"frr", "nxos"} else pytest.param(it, marks=_SLOW) for it in LANGUAGES]
)
def test_a_neighbour_that_a_rule_knows_gets_its_address_without_a_baseline(language: str, tmp_path: Path) -> None:
    old = fabric(language, tmp_path / "old")
    request = Request([fabric(language, tmp_path / "new", spine1=OTHER_ADDRESS[language])])
    found = find(request, judge(request))
    assert found.gone == found.asked
    assert changes(load_network([old]), found.end.network) == ()
    assert "no command" not in "".join(remedy(told(judge(request), found).causes[0]))


OTHER_TARGET: dict[str, Edit] = {
    "eos": replaced("route-target both 65000:10100", "route-target both 65000:10101"),
    "nxos": replaced("route-target import 65000:10100", "route-target import 65000:10101"),
}


@pytest.mark.parametrize("language", OTHER_TARGET)
@pytest.mark.parametrize("baseline", [True, False])
def test_a_wrong_route_target_is_taken_away_before_the_right_one_comes(
    language: str, baseline: bool, tmp_path: Path
) -> None:
    old = fabric(language, tmp_path / "old")
    new = fabric(language, tmp_path / "new", leaf1=OTHER_TARGET[language])
    request = Request([new], baseline=old if baseline else None)
    found = find(request, judge(request))
    assert found.gone == found.asked
    (change,) = found.changes
    wrong, right = change.statements[-2:]
    assert wrong.startswith("no route-target ")
    assert wrong.endswith(" 65000:10101")
    assert right == wrong.removeprefix("no ").replace("10101", "10100")
    assert f"{wrong}; {right}" in change.command
    assert f"{wrong}\n{right}\n" in patches(found)["leaf1.commands.txt"]
    assert changes(load_network([old]), found.end.network) == ()


@pytest.mark.parametrize("language", OTHER_TARGET)
@pytest.mark.parametrize(("wrong", "severity"), [("65000:10101", Severity.WARN), ("65000:777", Severity.INFO)])
def test_a_target_that_is_left_beside_the_right_one_is_found(
    language: str, wrong: str, severity: Severity, tmp_path: Path
) -> None:
    right, indent = {"eos": ("both 65000:10100", 6), "nxos": ("import 65000:10100", 4)}[language]
    edit = replaced(f"route-target {right}", f"route-target {right}\n{' ' * indent}route-target import {wrong}")
    found = judge(Request([fabric(language, tmp_path / "new", leaf1=edit)])).findings
    assert [(it.check.id, it.device, it.severity) for it in found if it.check.id[0] == "V"] == [
        ("V20", "leaf1", severity)
    ]


def test_lines_that_add_up_stand_beside_each_other_in_a_copy() -> None:
    text = (
        "evpn\n  vni 10100 l2\n    route-target import 65000:10101\nclass-map type qos match-any R\n  match dscp 24\n"
    )
    block = ("evpn", "vni 10100 l2", "route-target import 65000:10100")
    assert lines.applied(text, block).count("route-target import") == 2
    assert lines.applied(text, ("class-map type qos match-any R", "match dscp 26")).count("match dscp") == 2


def test_a_vlan_list_is_replaced_and_its_continuation_is_not() -> None:
    text = "interface Ethernet1\n  switchport trunk allowed vlan 10,20\n  switchport trunk allowed vlan add 30\n"
    assert lines.applied(text, ("interface Ethernet1", "switchport trunk allowed vlan 10,21")) == text.replace(
        "10,20", "10,21"
    )


ADDED: dict[str, Edit] = {
    "frr": replaced(
        "  network ", "  neighbor 10.1.0.0 route-map OUT out\n  neighbor 10.1.1.0 route-map OUT out\n  network "
    ),
    "nxos": everywhere("route-map NH_UNCHANGED out", "route-map NH_UNCHANGE out"),
}


@pytest.mark.parametrize("language", ["frr", pytest.param("nxos", marks=_SLOW)])
def test_a_reference_that_was_added_or_changed_is_taken_back(language: str, tmp_path: Path) -> None:
    found, request = plan(language, tmp_path, spine1=ADDED[language])
    assert_given_back(found, request)


NO_NETWORK: dict[str, Edit] = {
    "frr": without("  network 10.0.0.1/32"),
    "eos": without("      network 10.0.0.1/32"),
    "nxos": without("    network 10.0.0.1/32"),
}


@pytest.mark.parametrize("language", ["frr", *(pytest.param(it, marks=_SLOW) for it in ("eos", "nxos"))])
def test_a_network_that_was_removed_is_given_back(language: str, tmp_path: Path) -> None:
    found, request = plan(language, tmp_path, leaf1=NO_NETWORK[language])
    assert_given_back(found, request)
