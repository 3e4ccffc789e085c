"""Cisco NX-OS (Nexus 9000) running-config -> the neutral model: class maps, policies, PFC, watchdog, interfaces.

qos-group N is traffic class and queue N; a class of a network-qos policy that pauses pfc-cos N makes priority N
lossless on ports whose PFC mode is on. An input queuing policy may state a no-drop class's buffer: headroom is what
lies above the pause threshold in it. Source: Cisco Nexus 9000 NX-OS Quality of Service Configuration Guide.
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.model import (
    Binding,
    BufferProfile,
    Curve,
    Device,
    Pool,
    Scheduler,
    Watchdog,
    Wred,
    name_of_file,
)
from fabric.configs.textconfig import Line, TextReader, numbers

_UNITS: Final = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_ECN: Final = (r"random-detect minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+) drop-probability (\d+)"
               r"(?: weight \d+)?( ecn)?(?: .*)?")
_PAUSE: Final = r"pause buffer-size (\d+) pause-threshold (\d+) resume-threshold (\d+)"
_INPUT: Final = re.compile(r"(?:\d+p\d+q\d+t-)?(?:c-)?in-(?:\w+-)?q(\d)")
_POOL: Final = "no-drop"
_QUEUE: Final = re.compile(r"(?:\d+p\d+q\d+t-)?(?:c-)?out-(?:\w+-)?q(\d)")
_POLL_MS: Final = 100
"""Fixed poll of the watchdog; its action is to shut the queue, that is, drop."""


def parse_nxos(text: str, file: str) -> Device:
    """One running-config."""
    reader = TextReader(text, file, name_of_file(file), "nxos")
    device, root = reader.device, reader.root
    groups = _classes(reader)
    reader.map_("tc_to_queue", "qos-group", reader.lines.note(("class-map",), 1), {n: n for n in range(8)})
    device.global_maps = {"tc_to_queue": "qos-group"}
    for line, match in root.find(r"policy-map type qos (\S+)"):
        where = reader.note(line, "policy-map", match[1])
        dscp = dict.fromkeys(range(64), 0)
        for row, word in line.find(r"class (?:type qos )?(\S+)"):
            for _, group in row.find(r"set qos-group (\d)"):
                for value in groups.get(word[1], range(64) if word[1] == "class-default" else ()):
                    if word[1] != "class-default":
                        dscp[value] = int(group[1])
                        reader.note(row, *where, str(value))
        reader.map_("dscp_to_tc", match[1], where, dscp)
    pausing = _network_qos(reader)
    policies = [(match[1], line) for line, match in root.find(r"policy-map type queuing (?:\S+ )??(\S+)")]
    inputs = {name: _pauses(reader, line, name) for name, line in policies}
    queuing = {name: _queues(reader, line, name) for name, line in policies}
    system = [line for line, _ in root.find(r"system qos")]
    lossless: frozenset[int] = frozenset()
    queues: dict[int, Binding] = {}
    groups_in: dict[int, Binding] = {}
    for line in system:
        for row, match in line.find(r"service-policy type network-qos (\S+)"):
            lossless = pausing.get(match[1], frozenset())
            _known(reader, row, match[1], pausing)
        for row, match in line.find(r"service-policy type queuing output (\S+)"):
            queues = queuing.get(match[1], {})
            _known(reader, row, match[1], queuing)
        for row, match in line.find(r"service-policy type queuing input (\S+)"):
            groups_in = inputs.get(match[1], {})
            _known(reader, row, match[1], inputs)
    reader.common()
    watchdog = root.has(r"priority-flow-control watch-dog-interval on")
    _interfaces(reader, lossless, (groups_in, inputs), (queues, queuing), watchdog=watchdog)
    return reader.finish()


def _known(reader: TextReader, line: Line, name: str, known: object) -> None:
    if isinstance(known, dict) and name not in known:
        reader.defect(line, "service-policy", f"policy '{name[:40]}' is not in the file", "R1")


def _classes(reader: TextReader) -> dict[str, list[int]]:
    found = {}
    for line, match in reader.root.find(r"class-map type qos (?:match-any |match-all )?(\S+)"):
        found[match[1]] = [value for _, word in line.find(r"match dscp ([\d, -]+)") for value in numbers(word[1], 63)]
    return found


def _network_qos(reader: TextReader) -> dict[str, frozenset[int]]:
    found = {}
    for line, match in reader.root.find(r"policy-map type network-qos (\S+)"):
        bits: set[int] = set()
        for row, _ in line.find(r"class type network-qos (\S+)"):
            list(row.find(r"mtu \d+"))
            for _, word in row.find(r"pause (?:\S+ )?pfc-cos ([\d,]+)"):
                bits.update(numbers(word[1], 7))
        reader.note(line, "policy-map", match[1])
        found[match[1]] = frozenset(bits)
    return found


def _queues(reader: TextReader, policy: Line, name: str) -> dict[int, Binding]:
    found: dict[int, Binding] = {}
    for line, match in policy.find(r"class type queuing (\S+)"):
        queue = 0 if match[1].endswith("q-default") else None
        number = _QUEUE.fullmatch(match[1])
        queue = int(number[1]) if number else queue
        if queue is None:
            line.used = _INPUT.fullmatch(match[1]) is not None
            continue
        where = reader.note(line, "policy-map", name, match[1])
        bound = found.setdefault(queue, Binding(where))
        strict = line.has(r"priority level \d")
        weight = [reader.number(row, word[1], 1, 100, "bandwidth") or 1
                  for row, word in line.find(r"bandwidth (?:remaining )?percent (\d+)")]
        if strict or weight:
            bound.scheduler = f"{name} {match[1]}"
            reader.device.schedulers[bound.scheduler] = Scheduler(
                bound.scheduler, where, "STRICT" if strict else "DWRR", weight[-1] if weight else 1)
        for row, word in line.find(_ECN):
            ends = [reader.number(row, word[i], 0, 10**9, "threshold") for i in (1, 3)]
            if word[2] not in _UNITS or word[4] not in _UNITS or None in ends:
                reader.defect(row, match[1], f"thresholds in {word[2][:20]}: write bytes, kbytes or mbytes")
                continue
            at = reader.note(row, *where, "random-detect")
            curve = Curve((ends[0] or 0) * _UNITS[word[2]], (ends[1] or 0) * _UNITS[word[4]],
                          reader.number(row, word[5], 0, 100, "drop-probability"))
            bound.wred, bound.where = f"{name} {match[1]}", at
            reader.device.wreds[bound.wred] = Wred(bound.wred, at, "ecn_all" if word[6] else "ecn_none",
                                                   {"green": curve})
    return found


def _pauses(reader: TextReader, policy: Line, name: str) -> dict[int, Binding]:
    """No-drop classes of an input policy that state their buffer. The threshold is Cisco's: where the pause is sent."""
    found: dict[int, Binding] = {}
    for line, match in policy.find(r"class type queuing (\S+)"):
        number = _INPUT.fullmatch(match[1])
        if number is None:
            line.used = False
            continue
        for row, word in line.find(_PAUSE):
            size, pause, resume = (reader.number(row, word[i], 0, 10**9, "pause") or 0 for i in (1, 2, 3))
            where = reader.note(row, "policy-map", name, match[1])
            if not resume <= pause < size:
                reader.defect(row, match[1], f"resume {resume} <= pause {pause} < buffer {size} does not hold")
                continue
            key = f"{name} {match[1]}"
            reader.device.pools.setdefault(_POOL, Pool(_POOL, where, "ingress", "dynamic", None))
            reader.device.profiles[key] = BufferProfile(key, where, _POOL, size, xon_bytes=resume,
                                                        xoff_bytes=size - pause)
            found[int(number[1])] = Binding(where, key, where)
        list(line.find(r"bandwidth (?:remaining )?percent \d+|priority level \d"))
    return found


def _interfaces(reader: TextReader, lossless: frozenset[int],
                inputs: tuple[dict[int, Binding], dict[str, dict[int, Binding]]],
                outputs: tuple[dict[int, Binding], dict[str, dict[int, Binding]]], *, watchdog: bool) -> None:
    """`inputs` and `outputs` are what holds for the whole switch, and the policies that an interface may name."""
    for line, match in reader.root.find(r"interface (Ethernet[\d/,-]+)"):
        modes = [(row, word[1]) for row, word in line.find(r"priority-flow-control mode (on|off|auto)(?: .*)?")]
        policies = [(row, word[1]) for row, word in line.find(r"service-policy type qos input (\S+)")]
        named_out = [word[1] for _, word in line.find(r"service-policy type queuing output (\S+)")]
        named_in = [(row, word[1]) for row, word in line.find(r"service-policy type queuing input (\S+)")]
        mtus = [reader.number(row, word[1], 68, 9216, "mtu") for row, word in line.find(r"mtu (\d+)")]
        speeds = [reader.number(row, word[1], 1, 1_600_000, "speed") for row, word in line.find(r"speed (\d+)")]
        own = line.has(r"priority-flow-control watch-dog-interval on")
        down, paused = line.has(r"shutdown"), line.has(r"flowcontrol (?:send|receive) on")
        lags = [match[1] for _, match in line.find(r"channel-group (\d+)(?: .*)?")]
        list(line.find(r"no shutdown|description .*|no switchport|ip address .*"))
        ports = reader.ports(line, match[1])
        reader.switched(line, ports)
        for port in ports:
            port.mtu = mtus[-1] or port.mtu if mtus else 1500          # NX-OS: 1500 unless stated
            port.speed_mbps = speeds[-1] if speeds else None
            port.admin_up, port.global_pause = not down, paused
            port.lag = f"port-channel{lags[-1]}" if lags else None
            mode = modes[-1][1] if modes else "auto"
            port.lossless = frozenset() if mode == "off" else lossless
            port.pfc_negotiated = mode == "auto" and bool(lossless)
            for row, name in policies:
                port.maps["dscp_to_tc"] = name
                _known(reader, row, name, reader.device.maps.get("dscp_to_tc", {}))
            port.queues = dict(outputs[1].get(named_out[-1], outputs[0]) if named_out else outputs[0])
            for row, name in named_in:
                _known(reader, row, name, inputs[1])
            groups = inputs[1].get(named_in[-1][1], inputs[0]) if named_in else inputs[0]
            port.groups = {group: bound for group, bound in groups.items() if group in port.lossless}
            if own and watchdog:
                port.watched = port.lossless
                port.watchdog = Watchdog(reader.note(line, "interface", port.name), "drop", _POLL_MS, _POLL_MS)
