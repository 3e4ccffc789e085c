"""Arista EOS running-config -> the neutral model: QoS maps, profiles, PFC, its watchdog, ECN, interfaces.

`policy.py` reads class and policy maps, `trust.py` which ports classify by the DSCP. Buffer carving is platform
CLI: `mmu.py` reads Trident's and Tomahawk's. Unmapped DSCPs follow the EOS default
(DSCP / 8), traffic class to transmit queue is 1:1. Thresholds in segments need the platform's cell, which is known
where the `! device:` line names the model; elsewhere the curve is listed with the remedy, and not judged.
Source: EOS user manual, "Quality of Service and Traffic Management"; AVD's eos_cli schema.
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.eos.mmu import cell_bytes, model_of, read_mmu
from fabric.configs.eos.policy import bind_policy, read_policies
from fabric.configs.eos.routing import read_routing
from fabric.configs.eos.trust import ROUTED_BY_DEFAULT, Spoken, read_trust
from fabric.configs.file_names import name_of_file
from fabric.configs.model import Binding, Curve, Device, Limit, Meant, Port, Scheduler, Watchdog, Where, Wred
from fabric.configs.running_config.reader import Line, TextReader, description_of, numbers

_UNITS: Final = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_ECN: Final = (
    r"random-detect ecn minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+)"
    r"(?: max-mark-probability (\d+))?(?P<rest> weight \d+)?"
)
_CHIP_UNITS: Final = frozenset(("segments",))
_NO_CELL: Final = "a unit of the chip, whose size is not known: write bytes or kbytes, or keep the '! device:' line"
_WATCHDOG: Final = "priority-flow-control pause watchdog "
_MEMBER: Final = r"channel-group (\d+)(?: mode (active|passive|on))?(?P<rest> .*)?"
_SPEED: Final = re.compile(r"(?:(forced|auto) )?(\d+)g(?:full)?(?:-(\d+))?")
_LANES: Final = (None, "1", "2", "4", "8")
"""Numbers of lanes of a speed (IEEE 802.3 has PHYs of no others)."""
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
    dscps = r"(no )?qos map dscp ([\d ,-]+?)(?: to traffic-class (\d+)(?P<rest> drop-precedence \d)?)?"
    for line, match in reader.root.find(dscps):
        if not match[1] and match[3] is None:
            line.used = False
            continue
        reader.note(line, "qos map", match[2])
        chosen = None if match[1] else reader.number(line, match[3], 0, 7, "traffic-class", first)
        for value in reader.numbers(line, match[2].replace(" ", ","), 63, "dscp"):
            dscp[value] = value // 8 if chosen is None else chosen
            stated.add(value)
            reader.note(line, "qos map", str(value))
    for line, match in reader.root.find(r"qos map traffic-class ([\d ,-]+) to (?:tx|uc-tx)-queue (\d+)"):
        queue = reader.number(line, match[2], 0, 7, "queue", first)
        classes = reader.numbers(line, match[1].replace(" ", ","), 7, "traffic-class", first)
        tc_queue.update(dict.fromkeys(classes if queue is not None else (), queue or 0))
    reader.map_("dscp_to_tc", "default", first, dscp, frozenset(stated))
    reader.map_("tc_to_queue", "default", first, tc_queue)
    device.global_maps = {"dscp_to_tc": "default", "tc_to_queue": "default"}
    _rewrite(reader)
    read_policies(reader)
    reader.common()
    default = _watchdog_default(reader)
    off = reader.root.has(r"priority-flow-control all off")
    profiles = {match[1]: line for line, match in reader.root.find(r"qos profile (\S+)")}
    queue_policies = {match[1]: line for line, match in reader.root.find(r"policy-map type tx-queue (\S+)")}
    bundles = {
        match[1]: Spoken([*_profiles_of(reader, line, profiles), line], bind_policy(reader, line))
        for line, match in reader.root.find(r"interface Port-Channel(\d+)")
    }
    routes = reader.root.has(ROUTED_BY_DEFAULT)
    begun: set[str] = set()
    spoken: dict[str, Spoken] = {}
    stated_mtu: set[str] = set()
    for line, match in reader.root.find(r"interface (Ethernet[\d/,-]+)"):
        ports = reader.ports(line, match[1])
        blocks = [line]
        for child, word in line.find(r"service-policy type tx-queue output (\S+)"):
            if word[1] in queue_policies:
                blocks.insert(0, queue_policies[word[1]])
            else:
                reader.defect(
                    child, "service-policy", f"policy '{word[1][:40]}' is not in the file", "R1", ports[0].where
                )
        profile = _profiles_of(reader, line, profiles)
        bundle = [bundles[word[1]] for _, word in line.find(_MEMBER) if word[1] in bundles]
        blocks = [*(block for it in bundle for block in it.blocks[:-1]), *profile, *blocks]
        reader.switched(line, ports)
        policy = bind_policy(reader, line) or next((it.policy for it in bundle if it.policy), None)
        for port in ports:
            if policy is not None:
                port.maps["dscp_to_tc"] = policy
                if policy in device.maps.get("dscp_to_dscp", {}):
                    port.maps["dscp_to_dscp"] = policy
            _interface(reader, line, port, stated_mtu, new=port.name not in begun, routes=routes)
            begun.add(port.name)
            for block in blocks:
                _qos(reader, block, port, default)
            spoken.setdefault(port.name, Spoken()).blocks += blocks
            _withdrawn(line, port)
            if off:
                port.lossless = frozenset()
    read_trust(reader, spoken, bundles)
    reader.bundled(_ROUTED_MTU)
    read_mmu(reader)
    read_routing(reader)
    return reader.finish()


def _profiles_of(reader: TextReader, interface: Line, profiles: dict[str, Line]) -> list[Line]:
    """QoS profiles of an interface; a name that leads nowhere is a defect."""
    found = []
    for line, match in interface.find(r"service-profile (\S+)"):
        if match[1] in profiles:
            found.append(profiles[match[1]])
        else:
            name = interface.text
            text = f"service-profile '{match[1][:40]}' is not in the file"
            reader.defect(line, name, text, "R1", tuple(name.split(" ", 1)))
    return found


def _rewrite(reader: TextReader) -> None:
    """The DSCP that each class leaves with. The map does nothing without `qos rewrite dscp`."""
    written: dict[int, int] = {}
    where: Where = ("qos rewrite dscp",)
    for line, _ in reader.root.find(r"qos rewrite dscp"):
        reader.note(line, *where)
        for row, match in reader.root.find(r"qos map traffic-class ([\d ,-]+) to dscp (\d+)"):
            value = reader.number(row, match[2], 0, 63, "dscp")
            for tc in numbers(match[1].replace(" ", ","), 7) if value is not None else ():
                written[tc] = value or 0
                reader.note(row, *where, str(tc))
    if written:
        reader.map_("tc_to_dscp", "rewrite", where, written)
        reader.device.global_maps["tc_to_dscp"] = "rewrite"
    reader.root.accept(r"qos map (?:traffic-class|cos|exp) .*|hardware counter feature .*|no qos rewrite .*")


def _watchdog_default(reader: TextReader) -> Watchdog | None:
    times: dict[str, int] = {}
    where = ("priority-flow-control pause watchdog",)
    timer = _WATCHDOG + r"default (timeout|recovery-time|polling-interval) ([\d.]+)(?P<rest> forced)?"
    for line, match in reader.root.find(timer):
        reader.note(line, *where)
        times[match[1]] = _ms(reader, line, match[2])
    action = [match[1] for _, match in reader.root.find(_WATCHDOG + r"(?:default )?action (\w+)")]
    if not times and not action:
        return None
    reader.device.watchdog_poll_ms = times.get("polling-interval")
    reader.device.watchdog_times = where if times else ()
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


def _interface(reader: TextReader, line: Line, port: Port, stated_mtu: set[str], *, new: bool, routes: bool) -> None:
    """One block of a port.

    Parameters
    ----------
    stated_mtu    ports whose MTU a line says
    new           no block before this one has the port, alone or in a range
    routes        ports that say nothing are routed
    """
    routed = line.has(r"no switchport") or (new and routes and not line.has(r"switchport(?: .*)?"))
    if (routed or new) and port.name not in stated_mtu:
        port.mtu = _ROUTED_MTU if routed else _SWITCHED_MTU
    for child, match in line.find(r"mtu (\d+)"):
        port.mtu = reader.number(child, match[1], 68, 9214, "mtu", ("interface", port.name)) or port.mtu
        stated_mtu.add(port.name)
    for child, match in line.find(r"speed (auto|(?:(?:forced|auto) )?\S+)"):
        speed = _SPEED.fullmatch(match[1])
        if match[1] == "auto":
            port.autoneg = "on"
        elif speed is None or len(speed[2]) > 4 or speed[3] not in _LANES:
            reader.defect(child, port.name, f"speed '{match[1][:40]}' is not known")
        else:
            port.speed_mbps, port.lanes = int(speed[2]) * 1000, int((speed[3] or "1")[:2])
            port.autoneg = {"forced": "off", "auto": "on"}.get(speed[1])
    if line.has(r"shutdown"):
        port.admin_up = False
    elif line.has(r"no shutdown"):
        port.admin_up = True
    for _, match in line.find(r"(no )?error-correction encoding(?: (reed-solomon|fire-code))?"):
        port.fec = "none" if match[1] else {"reed-solomon": "rs", "fire-code": "fc"}.get(match[2])
    if line.has(r"flowcontrol (?:send|receive) on"):
        port.global_pause = True
    for child, match in line.find(_MEMBER):
        port.lag, port.lag_mode = f"Port-Channel{match[1]}", match[2] or ""
        in_vlan = any(re.match(r"switchport (?:access|trunk) ", it.text) for it in line.children)
        if in_vlan and not any(it.text == f"interface {port.lag}" for it in reader.root.children):
            text = f"{port.lag} is not in the file: the switch makes one in VLAN 1, and no VLAN of the member counts"
            reader.defect(child, f"interface {port.name}|channel-group", text, "R1", ("interface", port.name))
    port.limit = _limit(reader, line, ("interface", port.name)) or port.limit
    list(line.find(r"no flowcontrol.*"))  # what holds without the line
    port.description = description_of(line) or port.description
    line.accept(r"description .*|spanning-tree .*")


def _qos(reader: TextReader, block: Line, port: Port, default: Watchdog | None) -> None:
    where = reader.note(block, *block.text.split(" ", 1))
    if block.has(r"priority-flow-control on"):
        port.qos_where = where
        for line, match in block.find(r"priority-flow-control priority (\d+) no-drop"):
            priority = reader.number(line, match[1], 0, 7, "priority", ("interface",))
            port.lossless |= frozenset() if priority is None else {priority}
    else:
        _without_on(reader, block)
    timers = [
        match
        for _, match in block.find(
            r"priority-flow-control pause watchdog port timer timeout ([\d.]+) polling-interval ([\d.]+|auto) "
            r"recovery-time ([\d.]+)(?P<rest> forced)?"
        )
    ]
    if block.has(r"priority-flow-control pause watchdog") or timers:
        own = default or Watchdog(where, "errdisable", None, None)
        if timers:
            own = Watchdog(where, own.action, _ms(reader, block, timers[-1][1]), _ms(reader, block, timers[-1][3]))
        port.watchdog, port.watched = own, port.lossless
    for line, match in block.find(r"(?:class )?(?:uc-)?tx-queue (\d)"):
        queue = int(match[1])
        here = reader.note(line, *where, match[0])
        name = f"{' '.join(where)} queue {queue}"
        bound = port.queues.setdefault(queue, Binding(here))
        strict = line.has(r"priority strict")
        weight = [
            reader.number(it, word[1], 1, 100, "bandwidth") or 1
            for it, word in line.find(r"bandwidth (?:percent|guaranteed percent) (\d+)")
        ]
        list(line.find(r"no priority"))
        bound.limit = _limit(reader, line, here) or bound.limit
        if strict or weight:
            reader.device.schedulers[name] = Scheduler(
                name, here, "STRICT" if strict else "DWRR", weight[-1] if weight else 1
            )
            bound.scheduler = name
        for child, ecn in line.find(_ECN):
            at = reader.note(child, *here, "random-detect ecn")
            if {ecn[2], ecn[4]} & _CHIP_UNITS and cell_bytes(reader.device.hwsku) is None:
                child.rest = f"{ecn[2]}, {ecn[4]}: {_NO_CELL}"
                reader.device.wreds[name] = Wred(name, at, "ecn_all", size_unknown=True)
                bound.wred, bound.where = name, at
                continue
            low, high = _size(reader, child, ecn[1], ecn[2]), _size(reader, child, ecn[3], ecn[4])
            if low is not None and high is not None:
                pmax = reader.number(child, ecn[5], 1, 100, "max-mark-probability") if ecn[5] else 100
                curves, words = {"green": Curve(low, high, pmax)}, ecn["rest"] or ""
                reader.device.wreds[name] = Wred(name, at, "ecn_all", curves, averaging=words)
                bound.wred, bound.where = name, at
        line.accept(r"random-detect ecn count")


def _without_on(reader: TextReader, block: Line) -> None:
    """A defect (R9) for lossless priorities of a block that does not switch PFC on: they have no effect.

    A block that says `no priority-flow-control`, and a port with a profile, which may have it on, do not need the line.
    Source: EOS user manual, "Quality of Service": priority-flow-control.
    """
    rows = [line for line, _ in block.find(r"priority-flow-control priority \d+ no-drop")]
    others = block.has(r"no priority-flow-control(?: on)?") or any(
        "service-profile" in it.text for it in block.children
    )
    if not rows or others:
        return
    text = f"'{rows[0].text}' has no effect: 'priority-flow-control on' is missing"
    root = tuple(block.text.split(" ", 1)) if block.text.startswith("interface ") else ("interface",)
    meant = (Meant((), (block.text, "priority-flow-control on")),)
    reader.defect(rows[0], f"{block.text}|priority-flow-control", text, "R9", root, meant)


def _withdrawn(interface: Line, port: Port) -> None:
    """What `no` lines of the interface take back from its profile: PFC, one priority of it, the watchdog."""
    if interface.has(r"no priority-flow-control(?: on)?"):
        port.lossless = frozenset()
        port.qos_where = port.where
    for _, match in interface.find(
        r"(?:no priority-flow-control priority (\d)(?: no-drop)?|"
        r"priority-flow-control priority (\d) drop)"
    ):
        port.lossless -= {int(match[1] or match[2])}
        port.qos_where = port.where
    if interface.has(r"no priority-flow-control pause watchdog"):
        port.watchdog, port.watched = None, frozenset()
    port.watched &= port.lossless


def _limit(reader: TextReader, block: Line, where: Where) -> Limit | None:
    """`shape rate`: kb/s unless a unit is stated, packets per second, or percent of the port's speed."""
    found = None
    for line, match in block.find(r"shape rate (\d+)(?: (kbps|mbps|pps|percent))?"):
        value = reader.number(line, match[1], 0, 10**12, "shape rate")
        at = reader.note(line, *where, "shape rate")
        if value is None:
            continue
        percent = float(value) if match[2] == "percent" else None
        mbps = None if match[2] in {"percent", "pps"} else value / (1 if match[2] == "mbps" else 1000)
        found = Limit(at, "shape rate", mbps, percent, packets=match[2] == "pps")
    list(block.find(r"no shape rate"))
    return found


def _size(reader: TextReader, line: Line, text: str, unit: str) -> int | None:
    cell = cell_bytes(reader.device.hwsku) if unit in _CHIP_UNITS else None
    scale = cell or _UNITS.get(unit)
    if scale is None:
        reader.defect(line, "random-detect", f"unit '{unit[:20]}' is none of {', '.join((*_UNITS, *_CHIP_UNITS))}")
        return None
    value = reader.number(line, text, 1, 256_000_000, "threshold")
    return None if value is None else value * scale
