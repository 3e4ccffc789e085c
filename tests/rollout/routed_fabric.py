"""A small EOS fabric of two leaves with hosts and some spines, for rollouts that add or remove a switch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

LEAVES = (1, 2)


def write_routed(
    folder: Path, spines: Sequence[int] = (1, 2), *, stale: Sequence[int] = (), links: bool = True
) -> Path:
    """Leaves with a session to each spine. `stale`: spines that have no file, and that the leaves still name."""
    folder.mkdir(parents=True, exist_ok=True)
    named = sorted({*spines, *stale})
    for leaf in LEAVES:
        (folder / f"leaf{leaf}.cfg").write_text(_leaf(leaf, named), encoding="utf-8")
    for spine in spines:
        (folder / f"spine{spine}.cfg").write_text(_spine(spine), encoding="utf-8")
    cables = [{"a": [f"leaf{leaf}", "Ethernet1"], "b": [f"host{leaf}", "eth0"]} for leaf in LEAVES]
    cables += [
        {"a": [f"leaf{leaf}", f"Ethernet{spine + 2}"], "b": [f"spine{spine}", f"Ethernet{leaf}"]}
        for leaf in LEAVES
        for spine in (named if links else spines)
    ]
    (folder / "links.json").write_text(json.dumps({"links": cables}), encoding="utf-8")
    return folder


def _leaf(leaf: int, spines: Sequence[int]) -> str:
    ports = "".join(
        f"interface Ethernet{it + 2}\n   no switchport\n   ip address 10.{it}.{leaf}.0/31\n!\n" for it in spines
    )
    sessions = "".join(f"   neighbor 10.{it}.{leaf}.1 remote-as 65000\n" for it in spines)
    return (
        f"! device: leaf{leaf} (DCS-7060X6-64PE, EOS-4.32.1F)\nhostname leaf{leaf}\n!\nip routing\n!\n"
        f"interface Ethernet1\n   no switchport\n   ip address 172.16.{leaf}.1/24\n!\n{ports}"
        f"interface Loopback0\n   ip address 10.0.0.{leaf}/32\n!\n"
        f"router bgp 6510{leaf}\n   router-id 10.0.0.{leaf}\n   maximum-paths 8\n{sessions}"
        f"   network 10.0.0.{leaf}/32\n   network 172.16.{leaf}.0/24\n"
    )


def _spine(spine: int) -> str:
    ports = "".join(
        f"interface Ethernet{it}\n   no switchport\n   ip address 10.{spine}.{it}.1/31\n!\n" for it in LEAVES
    )
    sessions = "".join(f"   neighbor 10.{spine}.{it}.0 remote-as 6510{it}\n" for it in LEAVES)
    return (
        f"! device: spine{spine} (DCS-7060X6-64PE, EOS-4.32.1F)\nhostname spine{spine}\n!\nip routing\n!\n{ports}"
        f"interface Loopback0\n   ip address 10.0.0.{10 + spine}/32\n!\n"
        f"router bgp 65000\n   router-id 10.0.0.{10 + spine}\n{sessions}"
        f"   network 10.0.0.{10 + spine}/32\n"
    )
