"""The port that a finding is about, from the words of its object."""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.model import Device
from fabric.proof.recipe import Case, NoProofError
from fabric.validate.facts import Line

_WORDS: Final = re.compile(r"[|↔→]")


def locate(case: Case) -> Line:
    """The port that is named; else the first in use of the profile, map or switch that is. Raises: NoProofError."""
    device = case.facts.network.devices.get(case.finding.device)
    if device is None:
        raise NoProofError(f"{case.finding.device} is no switch that was given", "")
    words = _WORDS.split(case.finding.object)
    for word in words:
        switch, _, port = word.partition(":")
        for name in (word, port if switch == device.name else ""):
            if name in device.ports:
                return Line(device, device.ports[name])
    used = [line for line in case.facts.used if line.device is device]
    used.sort(key=case.facts.faces_host)
    for line in used:
        if any(word in _names(line, device) for word in words):
            return line
    lossless = [line for line in used if line.port.lossless]
    if not (lossless or used):
        raise NoProofError(f"no port of {device.name} is in use", "")
    return (lossless or used)[0]


def _names(line: Line, device: Device) -> set[str]:
    """Profiles, maps and marking curves of a port."""
    port = line.port
    found = {it.profile for it in (*port.groups.values(), *port.queues.values()) if it.profile}
    found |= {it.wred for it in port.queues.values() if it.wred}
    found |= {it.scheduler for it in port.queues.values() if it.scheduler}
    found |= {name for kind in device.maps if (name := port.maps.get(kind))}
    return found
