"""Good twins of the mistakes of changes: ranges, groups, LAGs, policies and VRFs as they should be."""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes import changes_eos, changes_nvue, changes_nxos, changes_second
from tests.mistakes.mistake import Edit, Mistake, both, put, replaced
from tests.mistakes.tree_edits import each, nvue_bond, sonic_lag, updated

_ENDS: Final = "*[12].json"


def _twin(language: str, title: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake(language, title, "", "", "", file, edit)


def _bond(port: str, **fields: object) -> Edit:
    return both(nvue_bond(port), updated("interface", "bond1", "bond", **fields))


def _grouped_nvue(tree: dict[str, Any]) -> dict[str, Any]:
    bgp = tree["vrf"]["default"]["router"]["bgp"]
    bgp["peer-group"] = {"underlay": {"remote-as": bgp["neighbor"]["10.1.0.1"].pop("remote-as")}}
    bgp["neighbor"]["10.1.0.1"]["peer-group"] = "underlay"
    return tree


TWINS: Final = (
    _twin("eos", "both uplinks are in one block", changes_eos.uplinks_in_one_block),
    _twin("nxos", "both uplinks are in one block", changes_nxos.uplinks_in_one_block),
    _twin(
        "eos",
        "what is taken off one port of a range comes back",
        both(
            changes_eos.uplinks_in_one_block,
            changes_eos.appended(
                "interface Ethernet3/1\n   no service-profile ROCE\n   no mtu\n   service-profile ROCE\n   mtu 9214\n"
            ),
        ),
    ),
    _twin(
        "nxos",
        "what a range takes off comes back port by port",
        both(
            changes_nxos.appended("interface Ethernet1/3-4\n  no mtu\n"),
            changes_nxos.appended("interface Ethernet1/3\n  mtu 9216\ninterface Ethernet1/4\n  mtu 9216\n"),
        ),
    ),
    _twin("eos", "the spines are a group", changes_eos.grouped),
    _twin(
        "eos",
        "the list of own prefixes has the loopbacks",
        changes_eos.policy(
            "ip prefix-list LO seq 10 permit 10.0.0.0/24 le 32\n"
            "route-map LOOPBACK permit 10\n   match ip address prefix-list LO\n"
        ),
    ),
    _twin("nxos", "the gateway is in a VRF on both leaves", changes_nxos.tenant(), "leaf*.cfg"),
    _twin(
        "sonic",
        "a LAG does without a partner",
        each(leaf1=sonic_lag("Ethernet24", fallback="true"), spine1=sonic_lag("Ethernet8")),
        _ENDS,
    ),
    _twin(
        "nvue",
        "a bond is static at both ends",
        each(leaf1=_bond("swp3", mode="static"), spine1=_bond("swp1", mode="static")),
        "*[12].yaml",
    ),
    _twin(
        "nvue",
        "a bond may bypass LACP",
        each(leaf1=_bond("swp3", **{"lacp-bypass": "on"}), spine1=_bond("swp1", mode="static")),
        "*[12].yaml",
    ),
    _twin(
        "nvue",
        "the default mode of a bond is stated",
        each(leaf1=_bond("swp3", mode="lacp"), spine1=nvue_bond("swp1")),
        "*[12].yaml",
    ),
    _twin(
        "nvue",
        "a port is broken out into itself",
        put("interface", "swp3", "link", "breakout", value={"1x": {}}),
        "leaf1.yaml",
    ),
    _twin("nvue", "the policy lets the loopbacks out", changes_nvue.connected_by_policy("10.0.0.0/24"), "leaf1.yaml"),
    _twin(
        "nvue",
        "the VNI imports what the other leaf exports by itself",
        put("evpn", "vni", "10100", value={"route-target": {"import": {"65102:10100": {}}}}),
        "leaf1.yaml",
    ),
    _twin("nvue", "a spine is in a group", _grouped_nvue, "leaf1.yaml"),
    _twin(
        "eos",
        "the tunnel's second loopback is advertised",
        both(
            changes_second.second_loopback_eos,
            replaced("      network 10.0.0.1/32\n", "      network 10.0.0.1/32\n      network 10.0.1.1/32\n"),
        ),
    ),
)
