"""Why a finding has no command: for a check as a whole, or for it in one language.

A command needs one field, its value, and a line of the switch's language. Where the files do not hold the value (which
of two equal addresses is wrong), or the change is a choice (more uplinks, fewer hosts), the reason is said instead.
A test holds that every check has, in every language, a command or a reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fabric.configs.capabilities import Language

_PLAN: Final = "which of the values is right is in the plan of the fabric, not in the files"
_MEANT: Final = "which name is meant is not in the file"
_DESIGN: Final = "it is a choice of the design: capacity, cabling, or routing"
_SEE: Final = "repair what it follows from: its causes are separate findings"
_SIZES: Final = "the sizes depend on the chip and on each other: take them from the platform's own template"
_NOT_STATED: Final = "the files of this language do not state the field, so the check says nothing there"
_CLASS_MAP: Final = "a code point is one word of a `match dscp` line of a class map: change that line"
_LINKS: Final = "the length is not in this language's files: correct the links file"
_CHIP: Final = "the command differs from chip to chip"
_OTHER: Final[tuple[Language, ...]] = ("nvue", "eos", "nxos")

REASONS: Final[dict[str, str]] = {
    **dict.fromkeys(("R1", "R3"), _MEANT),
    "R2": "nothing uses the object: keep or remove it",
    "R4": "which of the two profiles is meant is not in the file",
    "R5": "the value that was meant is not in the file",
    "R6": "which of the two thresholds is meant is not in the file",
    "R7": "the port's speed is not in the file",
    "R8": "which of the two values is meant is not in the file",
    "R9": "the value that was meant is not in the file",
    "R10": "the part was not understood, or no check uses it",
    "R11": "what is missing has to be given",
    "R12": "what is missing is not in the files",
    "R13": "what the file lacks is on the switch: collect it again",
    **dict.fromkeys(("B1", "B2", "B4", "B5", "B7", "B8", "B9", "B10", "B11", "B12", "B14"), _SIZES),
    **dict.fromkeys(("B3", "B6", "H3", "H8", "H9"), _SIZES),
    "H1": "nothing to change: the headroom covers the need already, or the switch computes it",
    "H2": "the row is part of the platform's table, not of the configuration",
    "H4": "nothing to change: more headroom than the row's only takes shared buffer",
    "H6": "the cable's length has to be measured",
    "H7": "the cable's length has to be measured",
    "H10": "the headroom that the switch adds for a long cable is not published",
    "M5": "which of the maps is meant is not in the files",
    "M8": "what other traffic the code points carry is not in the files",
    "M13": "which of the two maps is meant is not in the files",
    "M14": "whether the switch should carry RoCE is not in the files",
    "L7": "the cabling has to be looked at",
    "L8": "which member of the LAG is right is not in the files",
    "L9": _SEE,
    "E2b": "nothing needs to change",
    "T4": "which of the maps is meant is not in the files",
    "T5": "the MTU is a choice of the hosts",
    "N3": "a DSCP for CNPs is a choice of the hosts and all switches",
    **dict.fromkeys(("N6", "N7"), "the congestion control is a choice of the hosts"),
    "W6": "the transport's timeout is a choice of the hosts",
    "W9": "nothing needs to change",
    "D1": _DESIGN,
    "D2": _DESIGN,
    "D3": _DESIGN,
    "D4": _DESIGN,
    "D5": _DESIGN,
    "D7": _DESIGN,
    "D8": _DESIGN,
    "D9": "a forwarding loop follows from routes: repair those",
    "D10": "the route that is missing is not in the files",
    "D11": _DESIGN,
    "D12": "whether the static route or the routes of BGP are meant is not in the files",
    "D13": "the route that is missing is not in the files",
    **dict.fromkeys(("P1", "P2", "P3", "P6", "P9", "P13", "P14", "P15", "P16", "P18", "P19", "P21", "P22"), _PLAN),
    **dict.fromkeys(("I1", "I2", "I3", "I4", "I5", "I6", "I8", "I9", "I11"), _PLAN),
    **dict.fromkeys(("O1", "O2"), _PLAN),
    **dict.fromkeys(("A1", "A2", "A3"), "where the rule belongs depends on what the other rules of the list are for"),
    **dict.fromkeys(("V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8", "V9", "V10", "V19", "V20"), _PLAN),
    "V11": "which value is meant on the line that is named is not in the files",
    "P4": "the priorities of a peer link are those of the whole pair",
    "P5": "the classes of a dual ToR are a choice of the design",
}
"""Check -> why it has no command in any language."""

BY_LANGUAGE: Final[dict[tuple[str, Language], str]] = {
    **{
        (id_, it): _NOT_STATED
        for id_ in ("B13", "B15", "L6", "M4", "M7", "E10", "E12", "T3", "T6", "W1", "W7", "W8", "W10")
        for it in _OTHER
    },
    **{(id_, it): _NOT_STATED for id_ in ("W11", "W12", "W13", "W14", "M16", "B16", "B17") for it in _OTHER},
    **{("D6", it): _NOT_STATED for it in ("nvue", "eos")},
    **{(id_, "sonic"): _NOT_STATED for id_ in ("P23", "P26", "P28")},
    ("P28", "nvue"): _NOT_STATED,
    **{("I10", it): _NOT_STATED for it in _OTHER},
    **{(id_, "sonic"): _NOT_STATED for id_ in ("O3", "O4")},
    **{("V13", it): _NOT_STATED for it in ("sonic", "nvue", "nxos")},
    **{("V14", it): _NOT_STATED for it in ("sonic", "nvue", "eos")},
    **{("V15", it): _NOT_STATED for it in ("sonic", "eos")},
    ("V12", "sonic"): _NOT_STATED,
    **{("P12", it): "the block of BGP with its neighbours has to come back" for it in ("eos", "nxos")},
    ("T8", "sonic"): "the MTU of a VLAN is a field of VLAN here, and T6 compares it",
    **{("L11", it): _NOT_STATED for it in ("sonic", "nvue", "eos")},
    **{("T7", it): _NOT_STATED for it in ("sonic", "nvue", "eos")},
    **{("T2", it): _NOT_STATED for it in ("eos", "nxos")},
    ("L10", "sonic"): _NOT_STATED,
    ("W4", "nvue"): _NOT_STATED,
    ("W4", "nxos"): _NOT_STATED,
    **{(id_, it): _LINKS for id_ in ("H5", "L3") for it in ("eos", "nxos")},
    **{(id_, "nxos"): _CLASS_MAP for id_ in ("M3", "M10")},
    ("M12", "nxos"): _NOT_STATED,
    ("E3", "eos"): "a queue of EOS that has a marking profile marks, so the check says nothing there",
    **{(id_, it): _CHIP for id_ in ("E8",) for it in ("nvue", "eos", "nxos")},
}
"""(check, language) -> why it has no command in this one."""


_CHOICES: Final = frozenset((_DESIGN, _SEE))
_NOTHING: Final = frozenset(
    ("R2", "R10", "R11", "R12", "R13", "E2b", "W9", "T4", "T5", "N3", "N6", "H6", "H7", "H10", "L7")
)
"""Checks whose findings no value of another switch repairs."""
NOT_OF_PEERS: Final = frozenset(
    (
        "I1",
        "I2",
        "I3",
        "I4",
        "I5",
        "I8",
        "I9",
        "I11",
        "P1",
        "P3",
        "P9",
        "P13",
        "P15",
        "P19",
        "O2",
        "V11",
        "D9",
        "D10",
        "D12",
        "D13",
        "H2",
        "H5",
        "L3",
    )
)
"""Checks of values that each switch has for itself, or that are facts: what most of them have says nothing."""


def is_choice(check: str) -> str:
    """Why no change of a configuration is looked for: a choice, or a fact that has to be measured; '' otherwise."""
    why = REASONS.get(check, "")
    return why if why in _CHOICES or check in _NOTHING else ""


def reason(check: str, languages: Iterable[Language] = ()) -> str:
    """Why a check has no command, for the first of these languages that has a reason; '' without one."""
    own = next((BY_LANGUAGE[check, it] for it in languages if BY_LANGUAGE.get((check, it))), "")
    return own or REASONS.get(check, "")
