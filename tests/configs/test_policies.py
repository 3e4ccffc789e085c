"""AS-path lists and tags of routes: which expressions are taken, and what an undefined policy does."""

from __future__ import annotations

import re
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from fabric.configs.load import load_network, parse_device
from fabric.configs.policy import as_path_expression
from fabric.validate.control_plan import advertised
from fabric.validate.runner import validate
from tests.mistakes.mistake import LANGUAGES, Edit, both, put, replaced, write

PATHS = ("", "65000", "65000 65102", "165000")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("^$", {""}),
        ("_65000_", {"65000", "65000 65102"}),
        ('"^65000_"', {"65000", "65000 65102"}),
        ("65102$", {"65000 65102"}),
        ("^[0-9]+$", {"65000", "165000"}),
        (".*", set(PATHS)),
    ],
)
def test_an_expression_finds_what_the_switch_finds(text: str, found: set[str]) -> None:
    assert {path for path in PATHS if re.search(as_path_expression(text), path)} == found


@pytest.mark.parametrize("text", ["(1*)*$", "(a+)+b", "[0-9", "([0-9]+_)+$", "x" * 300])
def test_an_expression_that_is_not_safe_or_not_one_is_not_taken(text: str) -> None:
    assert as_path_expression(text) == ""


_EOS = replaced(
    "      neighbor 10.1.0.1 activate\n",
    "      neighbor 10.1.0.1 activate\n      neighbor 10.1.0.1 route-map NONE in\n"
    "      neighbor 10.1.0.3 route-map NONE in\n",
    after="address-family ipv4\n",
)
_NXOS = both(
    *(
        replaced(
            "    address-family ipv4 unicast\n",
            "    address-family ipv4 unicast\n      route-map NONE in\n",
            after=f"neighbor {it}\n",
        )
        for it in ("10.1.0.1", "10.1.0.3")
    )
)
_NVUE = both(
    *(
        put(
            *("vrf", "default", "router", "bgp", "neighbor", it, "address-family", "ipv4-unicast", "policy", "inbound"),
            value={"route-map": "NONE"},
        )
        for it in ("10.1.0.1", "10.1.0.3")
    )
)


@pytest.mark.parametrize(
    ("language", "edit", "does"), [("eos", _EOS, "permits"), ("nxos", _NXOS, "denies"), ("nvue", _NVUE, "denies")]
)
def test_an_undefined_route_map_does_what_its_system_does(language: str, edit: Edit, does: str, tmp_path: Path) -> None:
    files = LANGUAGES[language].good()
    name = next(it for it in files if it.startswith("leaf1."))
    files[name] = edit(files[name])
    write(language, files, tmp_path)
    findings = validate(load_network([tmp_path])).findings
    assert [f"{does} every route" in it.text for it in findings if it.check.id == "R1"] == [True]
    assert any(it.check.id == "V11" for it in findings) == (does == "denies")


@pytest.mark.parametrize(("tag", "there"), [("12345", True), ("54321", False)])
def test_a_redistribution_takes_the_tag_that_it_names(tag: str, there: bool) -> None:
    edit = both(
        replaced("    network 10.0.0.1/32\n", "    redistribute direct route-map TAGGED\n"),
        replaced("router bgp", f"route-map TAGGED permit 10\n  match tag {tag}\nrouter bgp"),
        replaced("ip address 10.0.0.1/32\n", "ip address 10.0.0.1/32 tag 12345\n"),
    )
    device = parse_device(edit(LANGUAGES["nxos"].good()["leaf1.cfg"]), "leaf1.cfg")
    loopback = int(IPv4Address("10.0.0.1")), 32
    assert (loopback in advertised(device)) is there
