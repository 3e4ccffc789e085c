"""A change that is listed against the baseline is a statement of the file, not a value that follows from one."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.baseline import changes
from tests.mistakes.mistake import Edit, both, good, put, replaced, write

ROCE, CNP, REST = "class ROCEv2", "class CNP", "class class-default"
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


@pytest.mark.parametrize(
    ("language", "name", "edit", "said"),
    [
        (
            "nxos",
            "leaf2.cfg",
            both(
                replaced("  class CNP\n    set qos-group 7\n", ""),
                replaced("  class ROCEv2\n", "  class CNP\n    set qos-group 7\n  class ROCEv2\n"),
            ),
            f"policy-map type qos QOS_CLASSIFICATION order: {ROCE}, {CNP}, {REST} → {CNP}, {ROCE}, {REST}",
        ),
        (
            "nxos",
            "spine1.cfg",
            replaced("  set ip next-hop unchanged\n", ""),
            "route-map NH_UNCHANGED permit 10 set ip next-hop unchanged: present → absent",
        ),
        ("eos", "leaf2.cfg", replaced("ip routing\n", "no ip routing\n"), "ip routing: ip routing → no ip routing"),
        (
            "eos",
            "leaf2.cfg",
            replaced("send-community extended", "send-community"),
            "router bgp neighbor 10.1.1.1: send-community extended → send-community",
        ),
        (
            "nxos",
            "leaf2.cfg",
            replaced("   ingress-replication protocol bgp", "   mcast-group 239.1.1.1"),
            "interface nve1 member vni 10100: ingress-replication protocol bgp → mcast-group 239.1.1.1",
        ),
        (
            "eos",
            "leaf2.cfg",
            replaced("send-community extended\n", "send-community extended\n   neighbor 10.1.1.1 password 7 a1b2\n"),
            "router bgp neighbor 10.1.1.1 password: absent → (not shown)",
        ),
        (
            "nvue",
            "leaf2.yaml",
            put("qos", "pfc", "default-global", "switch-priority", value={"3": {}, "4": {}}),
            "qos pfc default-global switch-priority 4: absent → present",
        ),
        (
            "sonic",
            "leaf2.json",
            put("PORT_QOS_MAP", "Ethernet24", "pfc_enable", value="3,4"),
            "PORT_QOS_MAP|Ethernet24|pfc_enable: 3 → 3,4",
        ),
        (
            "sonic",
            "leaf2.json",
            put("PORT_QOS_MAP", "Ethernet24", "pfc_enable", value=""),
            'PORT_QOS_MAP|Ethernet24|pfc_enable: 3 → ""',
        ),
    ],
)
def test_a_change_has_the_words_of_the_file(language: str, name: str, edit: Edit, said: str, tmp_path: Path) -> None:
    assert _changed(language, name, edit, tmp_path) == (f"{name.partition('.')[0]}: {said}",)


@pytest.mark.parametrize(
    ("language", "name", "edit"),
    [
        ("nvue", "leaf2.yaml", put("qos", "pfc", "default-global", "switch-priority", value=3)),
        ("nvue", "leaf2.yaml", put("qos", "pfc", "default-global", "switch-priority", value=["3"])),
        ("sonic", "leaf2.json", put("QUEUE", "Ethernet24|3", "wred_profile", value="[WRED_PROFILE|W]")),
        ("sonic", "leaf2.json", put("INTERFACE", "Ethernet24", value={"NULL": "NULL"})),
        ("eos", "leaf2.cfg", replaced("interface Ethernet3/1\n", "interface ethernet 3/1\n")),
    ],
)
def test_another_way_to_write_the_same_is_no_change(language: str, name: str, edit: Edit, tmp_path: Path) -> None:
    assert _changed(language, name, edit, tmp_path) == ()


def _changed(language: str, name: str, edit: Edit, folder: Path) -> tuple[str, ...]:
    for state in ("old", "new"):
        files = good(language)
        if state == "new":
            files[name] = edit(files[name])
        (folder / state).mkdir()
        write(language, files, folder / state)
    return changes(load_network([folder / "old"]), load_network([folder / "new"]))
