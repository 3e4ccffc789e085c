"""A baseline speaks of lines that the files have, and never of the model's own fields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.configs.load import load_network
from fabric.configs.network import Network
from fabric.validate.baseline import changes
from tests.mistakes.mistake import good, write

MODEL = re.compile(
    r"identity|-nothing|in[ -]bgp|in[ -]tunnel|states[ -]asn|unread|_bytes|_mbps|\bms\b|keeps|lag[ -]mode|multipath: |"
    r"redistributes|interface[ -]vrfs|trunk-vlans|community-families|, : |segments"
)
"""Words of the model, and a list of ports with an empty one."""


def changed(language: str, edit: Callable[[Any], Any], work: Path) -> tuple[str, ...]:
    """What an edit of leaf1 changes, in the words of a baseline."""
    networks: list[Network] = []
    for name in ("old", "new"):
        files = good(language)
        file = next(it for it in files if it.startswith("leaf1."))
        files[file] = files[file] if name == "old" else edit(files[file])
        (work / name).mkdir()
        write(language, files, work / name)
        networks.append(load_network([work / name]))
    return changes(*networks)


def everywhere(old: str, new: str) -> Callable[[Any], Any]:
    """Replaces a text in a tree or a running-config."""
    return lambda it: it.replace(old, new) if isinstance(it, str) else json.loads(json.dumps(it).replace(old, new))


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("sonic", "leaf1: VXLAN_TUNNEL_MAP|vtep|map_10999_Vlan100: absent → present"),
        ("nvue", "leaf1: bridge domain br_default vlan 100 vni 10999: absent → present"),
        ("eos", "leaf1: interface Vxlan1 vxlan vlan 100 vni: 10100 → 10999"),
        ("nxos", "leaf1: vlan 100 vn-segment: 10100 → 10999"),
    ],
)
def test_another_vni_is_the_line_that_states_it(language: str, said: str, tmp_path: Path) -> None:
    found = changed(language, everywhere("10100", "10999"), tmp_path)
    assert said in found
    assert not [it for it in found if MODEL.search(it)]


@pytest.mark.parametrize(
    ("language", "old", "new", "said"),
    [
        ("eos", "redistribute learned", "", ["leaf1: router bgp vlan 100 redistribute learned: present → absent"]),
        ("nxos", "member vni 10100", "member vni 10101", None),
    ],
)
def test_what_follows_from_a_line_is_named_as_the_line(
    language: str, old: str, new: str, said: list[str] | None, tmp_path: Path
) -> None:
    found = changed(language, everywhere(old, new), tmp_path)
    assert said is None or list(found) == said
    assert not [it for it in found if MODEL.search(it)]


def test_a_port_that_is_shut_has_its_line_shutdown(tmp_path: Path) -> None:
    found = changed("eos", everywhere("interface Ethernet1/1\n", "interface Ethernet1/1\n   shutdown\n"), tmp_path)
    assert "leaf1: interface Ethernet1/1 shutdown: absent → present" in found
