"""What each lossless port needs with the assumptions of the validation (`fabric headroom --explain`).

The bounds of check H1 hold for any switch. Whether `fabric run` loses a packet depends on more: the peer's response,
the time of reception, the frames, and that the frame which reaches the limit is charged to headroom. No configuration
states these, so a headroom that is below the need and above the bounds is a note that names them, not an error.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Final

from fabric.configs.buffers.budget import Need, need_of
from fabric.configs.buffers.headroom import Assumptions, hop_of
from fabric.configs.buffers.mmu import cell_bytes_of
from fabric.configs.model import BufferProfile
from fabric.validate.facts import Facts, Line

_SHOWN: Final = 4


def need_on(facts: Facts, line: Line) -> Need | None:
    """The need of one group of a port; None where speed or cable is not known."""
    speed, cable = line.port.speed_mbps, line.port.cable_m
    if speed is None or not cable:
        return None
    cell = cell_bytes_of(line.device.hwsku, line.device.platform)
    classes = len(line.port.lossless)
    return _need(speed, cable, line.port.mtu, facts.network.assumed, cell, facts.roce_mtu, max(classes - 1, 0))


@lru_cache(maxsize=1024)
def _need(
    speed: int, cable: int, mtu: int, assumed: Assumptions, cell: int | None, roce: int, other_classes: int
) -> Need:
    hop = hop_of(speed, cable, mtu, assumed, cell_bytes=cell, roce_mtu=roce, other_classes=other_classes)
    return need_of(hop, assumed)


def profiles_on(line: Line) -> list[BufferProfile]:
    """Profiles of a port's groups with a headroom that the configuration, a table or a formula states."""
    names = dict.fromkeys(bound.profile for bound in line.port.groups.values() if bound.profile)
    found = [line.device.profiles.get(name) for name in names]
    return [it for it in found if it is not None and it.lossless and not it.assumed]


def headroom_text(facts: Facts) -> str:
    """What headroom was checked with, and how many ports have less; '' where none could be checked."""
    short, ports, example = 0, 0, ""
    for line in facts.lossless:
        need, profiles = need_on(facts, line), profiles_on(line)
        if need is None or not profiles:
            continue
        ports += 1
        if min(it.xoff_bytes for it in profiles) < need.bytes:
            short += 1
            example = example or f"{line} {need.bytes} B"
    if not ports:
        return ""
    frames = f"RoCE MTU {facts.roce_mtu}"
    verdict = (
        f"{short} of {ports} lossless ports need more (H1), such as {example}"
        if short
        else (f"enough on {ports} lossless port{'s' if ports > 1 else ''}")
    )
    given, usual = facts.network.assumed, Assumptions()
    alike = (given.response, given.latency_ps) == (usual.response, usual.latency_ps)
    whose = "as in `fabric run`" if alike else f"as the options say (`fabric run` without settings: {usual.text})"
    made = Counter(it.device.name for it in facts.lossless if any(bound.made for bound in it.port.groups.values()))
    of = ", ".join(f"{number} of {name}" for name, number in sorted(made.items())[:_SHOWN])
    more = f" and of {len(made) - _SHOWN} more switches" if len(made) > _SHOWN else ""
    own = f"; ports whose lossless groups no row states, so that the switch makes them: {of}{more}" if made else ""
    return f"{verdict}; assumed: {given.text}, {frames}, {whose}{own}"
