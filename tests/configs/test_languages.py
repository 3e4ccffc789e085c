"""Languages are told apart by lines that only one of them has; a file of two languages is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from fabric.configs.languages import language_of
from fabric.configs.load import load_network, parse_device
from fabric.errors import InputErrors

EOS: Final = "qos map dscp 26 to traffic-class 3\n"
NXOS: Final = "system qos\n  service-policy type network-qos N\n"
NVUE: Final = "nv set qos roce mode lossless\n"
TREE: Final = "- set:\n    qos:\n      roce: {}\n"
FRR: Final = "frr version 8.4\nfrr defaults datacenter\n"
OS10: Final = "interface ethernet1/1/1\n no shutdown\n"
POLICY: Final = "class-map type qos match-any C\n  match dscp 26\npolicy-map type qos P\n  class C\n"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (EOS, "eos"),
        (NXOS, "nxos"),
        (NVUE, "nvue_commands"),
        (TREE, "nvue"),
        (FRR, "frr"),
        (OS10, "os10"),
        (OS10 + NXOS + POLICY, "os10"),
        (POLICY + "    set qos-group 3\n", "nxos"),
        (POLICY + "    set traffic-class 3\n", "eos"),
        (POLICY + EOS, "eos"),
        ("vrf context A\n" + POLICY, "nxos"),
        ("policy-map type pbr P\n" + POLICY, "eos"),
        ("interface Ethernet1/1\n  priority-flow-control mode on\n", "nxos"),
        ("interface Ethernet1\n   priority-flow-control priority 3 no-drop\n", "eos"),
        ("priority-flow-control watch-dog-interval on\n", "nxos"),
        ("cumulus@leaf1:mgmt:~$ nv set interface swp1 link mtu 9216\n", "nvue_commands"),
    ],
)
def test_the_lines_of_one_language_name_it(text: str, language: str) -> None:
    assert language_of(text, "x.cfg") == language


@pytest.mark.parametrize(
    ("first", "second"),
    [(EOS, NXOS), (EOS, NVUE), (NXOS, NVUE), (NVUE, TREE), (FRR, NXOS), (FRR, EOS), (OS10, EOS), (TREE, EOS)],
)
def test_a_file_that_two_readers_claim_is_an_error_that_names_a_line_of_each(first: str, second: str) -> None:
    for text in (first + second, second + first):
        with pytest.raises(InputErrors) as caught:
            language_of(text, "x.cfg")
        (problem,) = caught.value.problems
        assert first.split("\n", maxsplit=1)[0] in problem.text
        assert second.split("\n", maxsplit=1)[0] in problem.text
        assert problem.hint


def test_lines_inside_a_block_claim_a_file_whose_margin_says_nothing() -> None:
    both = "interface Ethernet1\n  priority-flow-control mode on\n  priority-flow-control priority 3 no-drop\n"
    with pytest.raises(InputErrors, match="Arista EOS"):
        language_of(both, "x.cfg")
    assert language_of(EOS + both, "x.cfg") == "eos"  # there it is a mistake in an EOS file


def test_a_file_that_two_languages_have_all_lines_of_is_an_error() -> None:
    with pytest.raises(InputErrors) as caught:
        language_of(POLICY, "x.cfg")
    (problem,) = caught.value.problems
    assert "could be Arista EOS or Cisco NX-OS" in problem.text
    assert "'! device: ...' of EOS" in problem.hint


def test_the_text_of_a_banner_and_of_a_description_claims_nothing() -> None:
    text = f"{EOS}banner login\n{NVUE}feature bgp\nEOF\ninterface Ethernet1\n   description system qos\n"
    assert language_of(text, "x.cfg") == "eos"


def test_tables_of_sonic_beside_the_tree_of_nvue_are_an_error() -> None:
    with pytest.raises(InputErrors, match="CONFIG_DB"):
        parse_device('{"set": {"qos": {}}, "PORT": {"Ethernet0": {}}}', "x.json")


def test_a_router_s_frr_file_is_no_switch_and_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "frr.conf").write_text(FRR, encoding="utf-8")
    (tmp_path / "leaf1.cfg").write_text(f"hostname leaf1\n{EOS}interface Ethernet1\n", encoding="utf-8")
    network = load_network([tmp_path])
    assert list(network.devices) == ["leaf1"]
    assert ["FRR" in it.what for it in network.unread] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "hostname leaf1\nqos map dscp 26 to traffic-class 3\nhostname leaf2\n",
        "hostname leaf1\nfeature bgp\ninterface Ethernet1/1\nhostname leaf2\n",
        "nv set system hostname leaf1\nnv set interface swp1\nnv set system hostname leaf2\n",
    ],
    ids=["eos", "nxos", "nvue"],
)
def test_two_switches_in_one_file_are_an_error_that_names_both(text: str) -> None:
    with pytest.raises(InputErrors) as caught:
        parse_device(text, "all.cfg")
    (problem,) = caught.value.problems
    assert "hostname 'leaf1', then 'leaf2'" in problem.text
    assert parse_device(text.replace("leaf2", "leaf1"), "all.cfg").name == "leaf1"
