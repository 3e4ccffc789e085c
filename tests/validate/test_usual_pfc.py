"""Which PFC priorities are the fabric's: those of most switches, not those of most ports."""

from __future__ import annotations

import json
from pathlib import Path

from fabric.configs.load import load_network
from fabric.validate.runner import validate
from tests.validate.fabrics import switch

_HOSTS = {f"Ethernet{8 * slot}": (f"host{slot}", "eth0") for slot in range(4)}


def _folder(folder: Path, spines: int, leaf: str, spine: str = "3") -> Path:
    """One leaf with four hosts, and spines that have a port each."""
    up = {f"Ethernet{64 + 8 * it}": (f"spine{it}", "Ethernet0") for it in range(spines)}
    tables = [switch("leaf1", "65101", "ToRRouter", _HOSTS | up)]
    tables += [
        switch(f"spine{it}", "65000", "LeafRouter", {"Ethernet0": ("leaf1", f"Ethernet{64 + 8 * it}")})
        for it in range(spines)
    ]
    for its in tables:
        name = its["DEVICE_METADATA"]["localhost"]["hostname"]
        for row in its["PORT_QOS_MAP"].values():
            row["pfc_enable"] = leaf if name == "leaf1" else spine
        (folder / f"{name}.json").write_text(json.dumps(its), encoding="utf-8")
    return folder


def _remedies(folder: Path) -> set[str]:
    """What M1's changes of leaf1 set the priorities to."""
    found = [it for it in validate(load_network([folder])).findings if it.check.id == "M1" and it.device == "leaf1"]
    return {it.fix.value.partition(", ")[0] for it in found if it.fix is not None}


def test_a_leaf_with_more_ports_than_its_spines_is_one_switch(tmp_path: Path) -> None:
    assert _remedies(_folder(tmp_path, 2, "4")) == {"3"}


def test_of_one_leaf_and_one_spine_the_one_that_protects_roce_is_right(tmp_path: Path) -> None:
    assert _remedies(_folder(tmp_path, 1, "4")) == {"3"}


def test_two_lossless_classes_of_most_switches_are_kept(tmp_path: Path) -> None:
    assert _remedies(_folder(tmp_path, 2, "4", "3,4")) == {"3,4"}
