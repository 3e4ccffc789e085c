"""Mistakes that cut hosts off, or lose packets, though each line by itself is right: policies and static routes."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import LANGUAGES, Edit, Mistake, both, put, replaced
from tests.mistakes.reach_edits import (
    by_path_eos,
    by_path_nvue,
    by_path_nxos,
    by_path_sonic,
    filtered_eos,
    filtered_nvue,
    filtered_nxos,
    filtered_sonic,
    static,
)

_FILES: Final = {"sonic": "json", "eos": "cfg", "nxos": "cfg", "nvue": "yaml"}
_OTHER, _OWN = "10.0.0.2/32", "10.0.0.1/32"


def _case(language: str, title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake(language, title, checks, devices, where, f"{file}.{_FILES[language]}", edit)


def _policies(language: str) -> tuple[Edit, Edit]:
    """A filter of received routes that lets too little in, and one of sent routes that denies the own loopback."""
    if language == "eos":
        rest = "route-map FILTER permit 20\n"
        return filtered_eos("seq 10 permit 10.9.0.0/16 le 32"), filtered_eos(
            f"seq 10 permit {_OWN}", "deny 10", rest, way="out"
        )
    if language == "nxos":
        rest = "route-map FILTER permit 20\n"
        return filtered_nxos("seq 5 permit 10.9.0.0/16 le 32"), filtered_nxos(
            f"seq 5 permit {_OWN}", "deny 10", rest, way="out"
        )
    if language == "nvue":
        return filtered_nvue("permit", "10.9.0.0/16"), filtered_nvue("deny", _OWN, rest=True, way="outbound")
    return filtered_sonic("permit", "10.9.0.0/16"), filtered_sonic("deny", _OWN, rest=True, way="out")


def _of(language: str) -> tuple[Mistake, ...]:
    received, sent = _policies(language)
    return (
        _case(language, "a policy drops the other loopbacks", "V11", "leaf1", "FILTER", received),
        _case(language, "a policy keeps the own loopback back", "V11", "leaf1", "FILTER", sent),
        _case(
            language,
            "the default route leads to a switch that has none",
            "D13",
            "leaf1",
            "0.0.0.0/0",
            static(language, "0.0.0.0/0", "10.1.0.1"),
        ),
        _case(
            language,
            "a gateway is on no interface",
            "D13",
            "leaf1",
            "10.77.0.1",
            static(language, "192.0.2.0/24", "10.77.0.1"),
        ),
        _case(
            language,
            "a static route sends a loopback back",
            "D9 D12",
            "spine1 leaf1",
            _OTHER,
            static(language, _OTHER, "10.1.0.0"),
            "spine1",
        ),
    )


_NONE: Final = "^65999$"
"""An AS_PATH that no route of the fabric has."""


def _as_paths(language: str) -> Edit:
    """A filter of received routes by AS_PATH, which lets none in, in the spelling of each language."""
    return {"eos": by_path_eos, "nxos": by_path_nxos, "nvue": by_path_nvue, "sonic": by_path_sonic}[language](_NONE)


_TARGET: Final = put("BGP_GLOBALS_EVPN_VNI_RT", "default|l2vpn_evpn|10100|65000:1", value={"route-target-type": "both"})

_TAGGED: Final = both(
    replaced("    network 10.0.0.1/32\n", "    redistribute direct route-map TAGGED\n"),
    replaced("router bgp", "route-map TAGGED permit 10\n  match tag 54321\nrouter bgp"),
    replaced("ip address 10.0.0.1/32\n", "ip address 10.0.0.1/32 tag 12345\n"),
)
CASES: Final = (
    *(case for language in LANGUAGES for case in _of(language)),
    *(
        _case(language, "a policy permits an AS_PATH that no route has", "V11", "leaf1", "FILTER", _as_paths(language))
        for language in LANGUAGES
    ),
    _case("nxos", "the redistribution matches another tag", "V7 V11", "leaf1", "10.0.0.1", _TAGGED),
    _case("sonic", "a route target is stated at one leaf only", "V3 V11", "leaf1 leaf2", "65000:1", _TARGET),
)
