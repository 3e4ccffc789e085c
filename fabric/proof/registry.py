"""Recipes by check, and why a check that claims something has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fabric.proof.recipe import Recipe
from fabric.proof.recipes import (
    chain,
    classes,
    hosts,
    marking,
    mixed,
    rings,
    routing,
    scheduling,
    shaping,
    sizes,
    storms,
)

_FAMILIES: Final = (
    chain.RECIPES,
    classes.RECIPES,
    marking.RECIPES,
    mixed.RECIPES,
    scheduling.RECIPES,
    shaping.RECIPES,
    sizes.RECIPES,
    storms.RECIPES,
    hosts.RECIPES,
    rings.RECIPES,
    routing.RECIPES,
)
RECIPES: Final[Mapping[str, Recipe]] = {
    check: recipe for family in _FAMILIES for recipe in family for check in recipe.checks.split()
}

_POLICY: Final = "a rule of policy: alone it causes no loss, no pause and no missing mark"
_ROUTES: Final = "not lowered: the hash of these switches; which of equal paths a flow takes depends on it alone"
_LATE: Final = "no recipe yet: a storm that lasts between the configured and the real time of the watchdog"
_LOAD: Final = "the switch refuses or ignores it when it loads the configuration: no packet shows that"

NO_CLAIM: Final[Mapping[str, str]] = {
    **dict.fromkeys(("B3", "B9", "B14", "B15", "B17", "E5", "E7", "E9", "N4", "N6", "N7", "N11"), _POLICY),
    **dict.fromkeys(("D4", "D7", "D8", "M7"), _POLICY),
    **dict.fromkeys(("W3", "W9", "W14"), _LOAD),
}
"""Checks whose findings claim nothing that packets show: they get no proof."""

WITHOUT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("D5", "D6"), _ROUTES),
    "D2": "a valley alone loses no packet; `--search` simulates the cycles of the routes without each single link",
    "D3": "not lowered: flooding of frames; a scenario's packets have a known receiver",
    "D11": "a path over a leaf is longer, and loses no packet by that alone; D1 speaks of the cycle that it may close",
    **dict.fromkeys(("W12", "W13"), _LATE),
    "B1": "what the switch does with pools larger than its memory is not known: SAI refuses them, or over-commits",
    "B12": "not lowered: an egress profile at an ingress group, or the reverse",
    "B13": "not lowered: several ingress pools; a scenario has one",
    "E1": "what a switch keeps of a refused curve is not known",
    "E8": "a pause comes before the queue's limit where PFC is on; E2 speaks of that",
    "E13": "not lowered: no other unit of a curve; E5 and E9 speak of its size",
    "L6": "no lossless packet is lost by it: such a port obeys pauses of every priority, and sends those it is set to",
    "L11": "what the peer answers over DCBX is not known",
    "L12": "a port that is shut carries nothing; D4, D7 and D10 speak of what is left",
    "M6": "not lowered: a metric of the delay of CNPs; completion times do not show it",
    "M10": "routing sessions are no packets of the fabric yet",
    "M13": "not lowered: the map of the global table acts on traffic of the CPU and of tunnels",
    "M17": "no recipe yet: other traffic in a strict queue above RoCE's",
    "N2": "not lowered: notification and reaction point of one host",
    "N3": "not lowered: a metric of the delay of CNPs",
    "N8": "not lowered: two DSCPs of one host's RoCE; M1 proves what a lossy class does",
    "N9": "not lowered: a NIC's own map of DSCPs",
    "N10": "not lowered: a NIC's receive buffers",
    "P4": "not lowered: MC-LAG",
    "P5": "not lowered: dual-ToR ports",
    "T4": "not lowered: maps of decapsulation",
    "T5": "not lowered: how queue pairs agree on a path MTU; a scenario's hosts have one",
    "T7": "not lowered: the MTU of a class",
    "T8": "not lowered: the MTU of a VLAN's interface",
}
"""Checks that claim something about packets and have no recipe: why."""
