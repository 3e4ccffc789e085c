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
from fabric.configs.buffers.headroom import ROCE_MTU_BYTES, Assumptions, bounds, hop_of
from fabric.configs.buffers.mmu import cell_bytes_of
from fabric.configs.model import BufferProfile
from fabric.units import count
from fabric.validate.facts import Facts, Line

_SHOWN: Final = 4


def need_on(facts: Facts, line: Line) -> Need | None:
    """The need of one group of a port; None where speed or cable is not known."""
    speed, cable = line.port.speed_mbps, line.port.cable_m
    if speed is None or not cable:
        return None
    cell = cell_bytes_of(line.device.hwsku, line.device.platform)
    classes = len(line.port.lossless)
    return _need(speed, cable, link_mtu(facts, line), facts.network.assumed, cell, facts.roce_mtu, max(classes - 1, 0))


def link_mtu(facts: Facts, line: Line) -> int:
    """The larger MTU of a port and the port at the other end."""
    peer, host = facts.peers.get(line.end), facts.host_at(line)
    other = None if peer is None else facts.line(peer)
    return max(line.port.mtu, other.port.mtu if other else 0, (host.mtu or 0) if host else 0)


def same_sum(facts: Facts, line: Line, xoff_bytes: int) -> str:
    """The command that adds up the need of a port term by term, to the same bytes as need_on()."""
    need, usual, given = need_on(facts, line), Assumptions(), facts.network.assumed
    if need is None:
        message = f"{line} has no speed or no length of cable"
        raise ValueError(message)
    words = [f"--speed {(line.port.speed_mbps or 0) // 1000}G --cable {line.port.cable_m}m",
             f"--mtu {link_mtu(facts, line)} --xoff {xoff_bytes}"]  # fmt: skip
    words += [f"--cell {need.hop.cell_bytes}"] if need.hop.cell_bytes > 1 else []
    words += [f"--classes {len(line.port.lossless)}"] if len(line.port.lossless) > 1 else []
    words += [f"--frames {need.hop.frame_bytes}"] if facts.roce_mtu != ROCE_MTU_BYTES else []
    if given.response != usual.response:
        words.append(f"--response {given.response if isinstance(given.response, str) else f'{given.response}ps'}")
    words += [f"--latency {given.latency_ps}ps"] if given.latency_ps != usual.latency_ps else []
    return f"fabric headroom {' '.join(words)}"


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
    short, certain, ports, example = 0, 0, 0, ""
    left: dict[str, list[str]] = {}
    for line in facts.lossless:
        need, profiles = need_on(facts, line), profiles_on(line)
        if need is None or not profiles:
            left.setdefault(_not_judged(line), []).append(_needs(line, need))
            continue
        ports += 1
        least = min(it.xoff_bytes for it in profiles)
        certain += least < bounds(line.port.speed_mbps or 0, line.port.cable_m or 0, link_mtu(facts, line)).c
        if least < need.bytes:
            short += 1
            example = example or f"{line} with {least} of {need.bytes} B"
    open_ports = [
        f"not judged on {count(len(its), 'lossless port')} such as {its[0]}: {why}" for why, its in sorted(left.items())
    ]
    if not ports:
        return "; ".join(open_ports)
    frames = f"RoCE MTU {facts.roce_mtu}"
    some = count(ports, "lossless port")
    verdict = f"{short} of {some} {'needs' if short == 1 else 'need'} more (H1), such as {example}" if short else ""
    verdict = verdict or f"enough on {some}"
    if certain:
        verdict += f"; {certain} with less than bound C of 802.3, whatever is assumed"
    elif short:
        verdict += "; all have bound C of 802.3, so packets are lost only as far as the following holds"
    given, usual = facts.network.assumed, Assumptions()
    alike = (given.response, given.latency_ps) == (usual.response, usual.latency_ps)
    whose = "as in `fabric run`" if alike else f"as the options say (`fabric run` without settings: {usual.text})"
    made = Counter(it.device.name for it in facts.lossless if any(bound.made for bound in it.port.groups.values()))
    of = ", ".join(f"{number} of {name}" for name, number in sorted(made.items())[:_SHOWN])
    more = f" and of {len(made) - _SHOWN} more switches" if len(made) > _SHOWN else ""
    own = f"; ports whose lossless groups no row states, so that the switch makes them: {of}{more}" if made else ""
    return "; ".join([f"{verdict}; assumed: {given.text}, {frames}, {whose}{own}", *open_ports])


def _not_judged(line: Line) -> str:
    """Why the headroom of a port is held against nothing."""
    able = line.device.capabilities
    if line.port.speed_mbps is None:
        return "its speed is not in the file"
    if not line.port.cable_m:
        stated = "length_m in the links file" if able.cable_in_links_file else "CABLE_LENGTH"
        return f"no length of its cable is known ({stated})"
    bound = [line.device.profiles.get(it.profile or "") for it in line.port.groups.values()]
    if any(it is not None and it.assumed for it in bound):
        return f"{able.title} computes the headroom, and how is not published"
    if able.every_group_stated and bound:
        return "its lossless group has no xoff"
    covered = "" if able.default_headroom_m is None else f", which is for up to {able.default_headroom_m} m of cable"
    return f"the file states no headroom, the default of {able.title} acts{covered}"


def _needs(line: Line, need: Need | None) -> str:
    """A port, and what it needs where that is known."""
    if need is None:
        return str(line)
    return f"{line}, which needs {need.bytes} B at {line.port.cable_m} m if {need.assumed}"
