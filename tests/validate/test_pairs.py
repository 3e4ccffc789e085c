"""The two switches of a multi-chassis pair share addresses on purpose; two other switches may not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.configs.load import load_network
from fabric.validate.runner import validate

MAC = "44:38:39:ff:00:01"


def nvue(number: int, *, mlag: bool) -> dict[str, Any]:
    """A switch with its own VTEP address, and the address and MAC address of its pair."""
    loopback = {f"10.0.0.{number}/32": {}, "10.0.9.9/32": {}}
    tree: dict[str, Any] = {
        "system": {"hostname": f"leaf{number}", "global": {} if mlag else {"system-mac": MAC}},
        "interface": {"lo": {"ip": {"address": loopback}}, "swp1": {}},
        "nve": {"vxlan": {"source": {"address": f"10.0.0.{number}"}, "mlag": {"shared-address": "10.0.9.9"}}},
    }
    return {**tree, "mlag": {"mac-address": MAC, "peer-ip": "linklocal"}} if mlag else tree


@pytest.mark.parametrize(("mlag", "checks"), [(True, set()), (False, {"I1", "I4"})])
def test_a_pair_shares_its_vtep_address_and_its_mac_address(mlag: bool, checks: set[str], tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"leaf{number}.json").write_text(json.dumps({"set": nvue(number, mlag=mlag)}), encoding="utf-8")
    found = validate(load_network([tmp_path])).findings
    assert {it.check.id for it in found if it.check.id[0] == "I"} == checks
