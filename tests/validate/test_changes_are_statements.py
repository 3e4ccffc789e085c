"""A change that is listed against the baseline is a statement of the file, not a value that follows from one."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.baseline import changes
from tests.mistakes.mistake import Edit, good, put, replaced, write

CASES: tuple[tuple[str, str, Edit, str], ...] = (
    (
        "nxos",
        "leaf2.cfg",
        replaced("pause pfc-cos 3", "pause pfc-cos 4"),
        "policy-map type network-qos qos_network class type network-qos c-8q-nq3 pause pfc-cos: 3 → 4",
    ),
    (
        "nvue",
        "leaf2.yaml",
        put("interface", "swp3", "qos", "pfc-watchdog", "state", value="disable"),
        "interface swp3 qos pfc-watchdog state: enable → disable",
    ),
    ("nvue", "leaf2.yaml", put("interface", "swp3", "link", "mtu", value=1500), "interface swp3 link mtu: 9216 → 1500"),
    (
        "frr",
        "leaf2.frr.conf",
        replaced("  network 10.0.0.2/32\n", ""),
        "leaf2.frr.conf|router bgp|address-family ipv4 unicast|network 10.0.0.2/32: present → absent",
    ),
)
SEVERAL: tuple[tuple[str, str, Edit, tuple[str, ...]], ...] = (
    (
        "eos",
        "leaf2.cfg",
        replaced("service-profile ROCE\n", "service-profile ROC\n"),
        ("interface Ethernet1/1 service-profile: ROCE → ROC",),
    ),
    (
        "eos",
        "leaf2.cfg",
        replaced("priority-flow-control on", "priority-flow-contrl on"),
        (
            "qos profile ROCE priority-flow-control on: present → absent",
            "qos profile ROCE priority-flow-contrl on: absent → present",
        ),
    ),
    ("nxos", "leaf2.cfg", replaced("vn-segment 10100", "vn-segment 10010"), ("vlan 100 vn-segment: 10100 → 10010",)),
    (
        "nvue",
        "leaf2.yaml",
        put("qos", "mapping", "default-global", "trust", value="l2"),
        ("qos mapping default-global trust: l3 → l2",),
    ),
    ("nxos", "leaf2.cfg", lambda it: it.replace("  mtu 9216\n", "  mtu  9216\n"), ()),
)
"""What follows from a line is not listed; what means the same is no change."""


@pytest.mark.parametrize(("language", "name", "edit", "said"), SEVERAL)
def test_a_line_and_not_what_follows_from_it(
    language: str, name: str, edit: Edit, said: tuple[str, ...], tmp_path: Path
) -> None:
    for folder in ("old", "new"):
        files = good(language)
        if folder == "new":
            files[name] = edit(files[name])
        (tmp_path / folder).mkdir()
        write(language, files, tmp_path / folder)
    found = changes(load_network([tmp_path / "old"]), load_network([tmp_path / "new"]))
    assert found == tuple(f"leaf2: {it}" for it in said)


@pytest.mark.parametrize(("language", "name", "edit", "line"), CASES)
def test_one_line_is_one_change(language: str, name: str, edit: Edit, line: str, tmp_path: Path) -> None:
    for folder in ("old", "new"):
        files = good(language)
        if folder == "new":
            files[name] = edit(files[name])
        (tmp_path / folder).mkdir()
        write("sonic" if language == "frr" else language, files, tmp_path / folder)
    assert changes(load_network([tmp_path / "old"]), load_network([tmp_path / "new"])) == (f"leaf2: {line}",)
