"""R12: rules that could not be judged, because the files do not say what they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.validate.checks.base import Check, Evidence, Found, I, Severity, check
from fabric.validate.facts import Facts

_SEVERAL: Final = 2
"""Switches of which it is odd that no link is known."""


@check(
    "R12",
    I,
    "a rule could not be judged",
    condition="the files say what the rules need: links between the switches, a headroom table for each HWSKU whose "
    "switches compute lossless groups, the limit of a port's headroom (error with --strict)",
    consequence="the verdict is silent where the rule may be broken: no error is no proof",
    remedy="give what is missing, or accept it with --suppress",
    source="operational practice",
)
def R12(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Once for each thing that is missing, at the first switch without it."""
    severity = Severity.ERROR if facts.network.strict else None
    first = facts.devices[0] if facts.devices else None
    if first is not None and len(facts.devices) >= _SEVERAL and not facts.network.links and facts.lossless:
        text = (
            "no link is known: rules of links, paths, capacity and deadlock (L, D), and those of both ends, had "
            "nothing to judge; give --links, or neighbour tables in the files"
        )
        yield Found(first.name, "links", text, (Evidence("links", "none", first.place(())),), severity)
    for device in facts.devices:
        lines = facts.lossless_of(device)
        unknown = [line for line in lines if line.port.headroom_unknown]
        if unknown:
            text = (
                f"lossless groups and headroom of {len(unknown)} of {len(lines)} lossless ports (M4, H1, H2, H4): the "
                f"switch computes them, and no headroom table of '{device.hwsku}' is known; give --pg-profile-lookup"
            )
            yield Found(device.name, "headroom", text, (Evidence("hwsku", device.hwsku, device.place(())),), severity)
        if device.dynamic_buffers and device.max_headroom_bytes is None and lines:
            text = "the limit of a port's headroom (B11): no file states max_headroom_size"
            yield Found(device.name, "max_headroom_size", text, (Evidence("limit", "", device.place(())),), severity)


CHECKS: Final[tuple[Check, ...]] = (R12,)
