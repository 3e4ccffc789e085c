"""Mistakes of many switches, and two mistakes at once: one cause each, at the switches that have to change."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.causes import Cause
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate
from tests.mistakes import plan
from tests.mistakes.mistake import LANGUAGES, write

LEAVES, SPINES = [f"leaf{it}" for it in range(1, 7)], [f"spine{it}" for it in range(1, 4)]
Change = Callable[[str], str]


def errors(language: str, folder: Path, changes: Mapping[str, Change]) -> list[Cause]:
    files = LANGUAGES[language].good(plan.switches(len(LEAVES), len(SPINES)))
    for name, change in changes.items():
        text = files[f"{name}.cfg"]
        files[f"{name}.cfg"] = change(text)
        assert files[f"{name}.cfg"] != text
    write(language, files, folder)
    return [it for it in validate(load_network([folder])).causes if it.severity is Severity.ERROR]


def put(old: str, new: str) -> Change:
    return lambda text: text.replace(old, new)


def without(pattern: str) -> Change:
    return lambda text: re.sub(pattern, "", text)


LOSSY = put("dscp 26 to traffic-class 3", "dscp 26 to traffic-class 1")
CASES: dict[str, tuple[str, dict[str, Change], list[tuple[str, list[str]]]]] = {
    "RoCE is lossy at all leaves": ("eos", dict.fromkeys(LEAVES, LOSSY), [("M1", LEAVES)]),
    "the MTU of all spines": ("eos", dict.fromkeys(SPINES, put("mtu 9214", "mtu 1500")), [("L4", SPINES)]),
    "the speed of one spine": ("eos", {"spine2": put("speed 400g-8", "speed 200g-4")}, [("L2", ["spine2"])]),
    "the AS number of all spines": (
        "eos", dict.fromkeys(SPINES, put("router bgp 65000", "router bgp 65009")), [("P2", SPINES)]
    ),
    "a leaf copied from another": ("eos", {"leaf3": put("10.0.0.3", "10.0.0.1")}, [("I1", ["leaf3"])]),
    "another VNI at half of the leaves": (
        "eos", dict.fromkeys(LEAVES[:3], put("vlan 100 vni 10100", "vlan 100 vni 10200")), [("V2", LEAVES[:3])]
    ),
    "the pause of all spines": (
        "nxos", dict.fromkeys(SPINES, put("pause pfc-cos 3", "pause pfc-cos 4")), [("L1", SPINES)]
    ),
    "a target and a next hop": (
        "eos",
        {"leaf2": put("both 65000:10100", "both 65000:10101"), "spine1": without(".*next-hop-unchanged\n")},
        [("V3", ["leaf2"]), ("V9", ["spine1"])],
    ),
    "a class and an AS number": (
        "nxos",
        {"leaf1": put("router bgp 65101", "router bgp 65199"), "leaf5": put("match dscp 26", "match dscp 24")},
        [("M1", ["leaf5"]), ("P2", ["leaf1"])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", CASES)
def test_each_mistake_is_one_cause_at_its_switches(title: str, tmp_path: Path) -> None:
    language, changes, expected = CASES[title]
    found = errors(language, tmp_path, changes)
    assert [(it.check.id, sorted(it.devices)) for it in found] == expected


def test_the_remedy_of_a_speed_is_the_other_ends(tmp_path: Path) -> None:
    [found] = errors("eos", tmp_path, CASES["the speed of one spine"][1])
    assert {it.device for it in found.fixes} == {"spine2"}
    assert all("speed 400g" in it.command for it in found.fixes)
