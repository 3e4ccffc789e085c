"""Arista EOS running-config -> the neutral model: QoS maps, profiles, PFC, its watchdog, ECN, interfaces.

Buffer carving is platform CLI: `eos_mmu.py` reads Trident's and Tomahawk's. Unmapped DSCPs follow the EOS default
(DSCP / 8), traffic class to transmit queue is 1:1. Thresholds in segments need the platform's cell, which is known
where the `! device:` line names the model, and refused with the remedy where not.
Source: EOS user manual, "Quality of Service and Traffic Management"; AVD's eos_cli schema.
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.eos_mmu import cell_bytes, model_of, read_mmu
from fabric.configs.model import Binding, Curve, Device, Port, Scheduler, Watchdog, Wred, name_of_file
from fabric.configs.textconfig import Line, TextReader, numbers

_UNITS: Final = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_ECN: Final = (r"random-detect ecn minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+)"
               r"(?: max-mark-probability (\d+))?(?: weight \d+)?")
_WATCHDOG: Final = "priority-flow-control pause watchdog "
_SPEED: Final = re.compile(r"(?:forced |auto )?(\d+)g(?:full)?(?:-(\d+))?")
_ROUTED_MTU, _SWITCHED_MTU = 1500, 9214
"""Of an interface that states none (EOS User Manual, Ethernet Ports: mtu)."""


def parse_eos(text: str, file: str) -> Device:
    """One running-config."""
    reader = TextReader(text, file, name_of_file(file), "eos")
    device = reader.device
    device.hwsku = model_of(text)
    dscp = {value: value // 8 for value in range(64)}
    tc_queue = {tc: tc for tc in range(8)}
    first = reader.lines.note(("qos map",), 1)
    stated: set[int] = set()
    for line, match in reader.root.find(r"qos map dscp ([\d ,-]+) to traffic-class (\d)"):
        reader.note(line, "qos map", match[1])
        for value in numbers(match[1].replace(" ", ","), 63):
            dscp[value] = int(match[2])
            stated.add(value)
            reader.note(line, "qos map", str(value))
    for _, match in reader.root.find(r"qos map traffic-class (\d) to (?:tx|uc-tx)-queue (\d)"):
        tc_queue[int(match[1])] = int(match[2])
    reader.map_("dscp_to_tc", "default", first, dscp, frozenset(stated))
    reader.map_("tc_to_queue", "default", first, tc_queue)
    device.global_maps = {"dscp_to_tc": "default", "tc_to_queue": "default"}
    reader.common()
    default = _watchdog_default(reader)
    off = reader.root.has(r"priority-flow-control all off")
    profiles = {match[1]: line for line, match in reader.root.find(r"qos profile (\S+)")}
    for line, match in reader.root.find(r"interface (Ethernet[\d/,-]+)"):
        ports = reader.ports(line, match[1])
        blocks = [line]
        for child, word in line.find(r"service-profile (\S+)"):
            if word[1] in profiles:
                blocks.insert(0, profiles[word[1]])
            else:
                reader.defect(child, f"interface {match[1][:40]}",
                              f"service-profile '{word[1][:40]}' is not in the file",
                              "R1")
        reader.switched(line, ports)
        for port in ports:
            _interface(reader, line, port)
            for block in blocks:
                _qos(reader, block, port, default)
            if off:
                port.lossless = frozenset()
    read_mmu(reader)
    return reader.finish()


def _watchdog_default(reader: TextReader) -> Watchdog | None:
    times: dict[str, int] = {}
    where = ("priority-flow-control pause watchdog",)
    timer = _WATCHDOG + r"default (timeout|recovery-time|polling-interval) ([\d.]+)(?: forced)?"
    for line, match in reader.root.find(timer):
        reader.note(line, *where)
        times[match[1]] = _ms(reader, line, match[2])
    action = [match[1] for _, match in reader.root.find(_WATCHDOG + r"(?:default )?action (\w+)")]
    if not times and not action:
        return None
    reader.device.watchdog_poll_ms = times.get("polling-interval")
    return Watchdog(where, action[-1] if action else "errdisable", times.get("timeout"), times.get("recovery-time"))


def _ms(reader: TextReader, line: Line, text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 60:
        reader.defect(line, "watchdog", f"{text[:40]} s is outside 0.005..60")
        return 200
    return round(value * 1000)


def _interface(reader: TextReader, line: Line, port: Port) -> None:
    port.mtu = _ROUTED_MTU if line.has(r"no switchport") else _SWITCHED_MTU
    for child, match in line.find(r"mtu (\d+)"):
        port.mtu = reader.number(child, match[1], 68, 9214, "mtu") or port.mtu
    for child, match in line.find(r"speed (\S+)"):
        speed = _SPEED.fullmatch(match[1])
        if speed is None or len(speed[1]) > 4:
            reader.defect(child, port.name, f"speed '{match[1][:40]}' is not known")
        else:
            port.speed_mbps, port.lanes = int(speed[1]) * 1000, int((speed[2] or "1")[:2])
    if line.has(r"shutdown"):
        port.admin_up = False
    if line.has(r"flowcontrol (?:send|receive) on"):
        port.global_pause = True
    for _, match in line.find(r"channel-group (\d+).*"):
        port.lag = f"Port-Channel{match[1]}"
    for _ in line.find(r"description .*|ip address .*|no shutdown|no flowcontrol.*"):
        pass


def _qos(reader: TextReader, block: Line, port: Port, default: Watchdog | None) -> None:
    where = reader.note(block, *block.text.split(" ", 1))
    if block.has(r"priority-flow-control on"):
        port.qos_where = where
        port.lossless |= {int(match[1]) for _, match in block.find(r"priority-flow-control priority (\d) no-drop")}
    list(block.find(r"qos trust dscp"))
    timers = [match for _, match in block.find(
        r"priority-flow-control pause watchdog port timer timeout ([\d.]+) polling-interval ([\d.]+|auto) "
        r"recovery-time ([\d.]+)(?: forced)?")]
    if block.has(r"priority-flow-control pause watchdog") or timers:
        own = default or Watchdog(where, "errdisable", None, None)
        if timers:
            own = Watchdog(where, own.action, _ms(reader, block, timers[-1][1]), _ms(reader, block, timers[-1][3]))
        port.watchdog, port.watched = own, port.lossless
    for line, match in block.find(r"(?:uc-)?tx-queue (\d)"):
        queue = int(match[1])
        here = reader.note(line, *where, match[0])
        name = f"{' '.join(where)} queue {queue}"
        bound = port.queues.setdefault(queue, Binding(here))
        strict = line.has(r"priority strict")
        weight = [reader.number(it, word[1], 1, 100, "bandwidth") or 1
                  for it, word in line.find(r"bandwidth (?:percent|guaranteed percent) (\d+)")]
        list(line.find(r"no priority"))
        if strict or weight:
            reader.device.schedulers[name] = Scheduler(name, here, "STRICT" if strict else "DWRR",
                                                       weight[-1] if weight else 1)
            bound.scheduler = name
        for child, ecn in line.find(_ECN):
            low, high = _size(reader, child, ecn[1], ecn[2]), _size(reader, child, ecn[3], ecn[4])
            if low is not None and high is not None:
                at = reader.note(child, *here, "random-detect ecn")
                pmax = reader.number(child, ecn[5], 1, 100, "max-mark-probability") if ecn[5] else 100
                reader.device.wreds[name] = Wred(name, at, "ecn_all", {"green": Curve(low, high, pmax)})
                bound.wred, bound.where = name, at
        list(line.find(r"random-detect ecn count"))


def _size(reader: TextReader, line: Line, text: str, unit: str) -> int | None:
    scale = cell_bytes(reader.device.hwsku) if unit == "segments" else _UNITS.get(unit)
    if scale is None:
        reader.defect(line, "random-detect", f"unit '{unit[:20]}' depends on the chip's cell: write bytes or kbytes, "
                      "or keep the '! device:' line")
        return None
    value = reader.number(line, text, 1, 256_000_000, "threshold")
    return None if value is None else value * scale
