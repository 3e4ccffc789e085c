"""Cisco NX-OS (Nexus 9000) running-config -> the neutral model: class maps, policies, PFC, watchdog, interfaces.

qos-group N is traffic class and queue N. A class of a network-qos policy is that of the qos-group in its name
(c-8q-nq4) or in its class map; where it pauses pfc-cos M, priority M is lossless and stops queue N, on ports whose PFC
mode is on. An input queuing policy may state a no-drop class's buffer: headroom is what
lies above the pause threshold in it. Source: Cisco Nexus 9000 NX-OS Quality of Service Configuration Guide.
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.file_names import name_of_file
from fabric.configs.model import Binding, BufferProfile, Curve, Device, Limit, Pool, Scheduler, Watchdog, Where, Wred
from fabric.configs.nxos.classes import (
    OWN_CLASSES,
    ClassMap,
    add_system_policies,
    check_bandwidth,
    check_breakouts,
    check_jumbo,
    check_schemes,
    read_classes,
)
from fabric.configs.nxos.network_qos import class_groups, pause_where, read_network_qos, refuse
from fabric.configs.nxos.routing import read_routing
from fabric.configs.running_config.reader import Line, TextReader, description_of, note_marks
from fabric.configs.text.spelling import meant

_UNITS: Final = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_ECN: Final = (
    r"random-detect minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+) drop-probability (\d+)"
    r"(?P<weight> weight \d+)?( ecn)?(?P<rest> .*)?"
)
_PAUSE: Final = r"pause buffer-size (\d+) pause-threshold (\d+) resume-threshold (\d+)"
_INPUT: Final = re.compile(r"(?:\d+p\d+q\d+t-)?(?:c-)?in-(?:\w+-)?q(\d)")
_POOL: Final = "no-drop"
_FEC: Final = {"rs-fec": "rs", "fc-fec": "fc", "off": "none", "auto": None}
_QUEUE: Final = re.compile(r"(?:\d+p\d+q\d+t-)?(?:c-)?out-(?:\w+-)?q(\d)")
_NO_STATS: Final = "(?: no-stats)?"
"""Counters of a policy; of no effect on traffic."""
_RATES: Final = {"bps": 1e-6, "kbps": 1e-3, "mbps": 1.0, "gbps": 1e3}
_SHAPE: Final = re.compile(r"shape (?:(\w+) )?min (\d+)(?: ([a-z]\w*))? max (\d+)(?: ([a-z]\w*))?", re.IGNORECASE)
_PORT_MTU: Final = 1500
"""Of a port that states none."""
_POLL_MS: Final = 100
"""Fixed poll of the watchdog; its action is to shut the queue, that is, drop."""


def parse_nxos(text: str, file: str) -> Device:
    """One running-config."""
    reader = TextReader(text, file, name_of_file(file), "nxos")
    device, root = reader.device, reader.root
    check_schemes(reader)
    add_system_policies(reader)
    groups = read_classes(reader)
    reader.map_("tc_to_queue", "qos-group", reader.lines.note(("class-map",), 1), {n: n for n in range(8)})
    device.global_maps = {"tc_to_queue": "qos-group"}
    tagged: set[str] = set()
    for line, match in root.find(r"policy-map type qos (\S+)"):
        where = reader.note(line, "policy-map", match[1])
        dscp: dict[int, int] = {}
        usual = 0
        line.accept(r"description .*")
        by_tag = False
        decided: set[int] = set()
        uncertain: dict[int, str] = {}
        marks: dict[int, int] = {}
        classes: list[tuple[str, int | None, tuple[int, ...]]] = []
        for row, word in line.find(r"class (?:type qos )?(\S+)"):
            matched = groups.get(word[1], ClassMap())
            if groups and word[1] not in groups and word[1] not in OWN_CLASSES:
                text = f"class-map '{word[1][:40]}' is not in the file{meant(word[1], frozenset(groups))}"
                reader.defect(row, match[1], text, "R1", ("policy-map", match[1]))
            by_tag |= bool(matched.tags)
            stated = [(child, group[1]) for child, group in row.find(r"set qos-group (\d+)")]
            own = (reader.number(child, text, 0, 7, "qos-group", ("interface",)) for child, text in stated)
            sets = [it for it in own if it is not None]
            classes.append((word[1], sets[-1] if sets else None, matched.dscps))
            if sets:
                matched.check(reader, word[1], where)
                if word[1] == "class-default":
                    usual = sets[-1]
            doubtful = {value: text for value in range(64) if (text := matched.conditions.uncertain(value))}
            uncertain.update({value: text for value, text in doubtful.items() if value not in decided})
            fresh = set(range(64)) - decided if word[1] == "class-default" else set(matched.dscps) - decided
            for child, mark in row.find(r"set dscp (\S+)"):
                note_marks(reader, child, where, marks, fresh, mark[1])
            for value in matched.dscps:
                if value not in decided:  # the first class that matches a packet decides
                    decided.add(value)
                    dscp[value] = sets[-1] if sets else 0
                    reader.note(row, *where, str(value))
        if by_tag and not dscp:
            tagged.add(match[1])
        reader.map_("dscp_to_tc", match[1], where, {value: dscp.get(value, usual) for value in range(64)})
        device.maps["dscp_to_tc"][match[1]].classes = tuple(classes)
        device.maps["dscp_to_tc"][match[1]].headers = {
            name: it.line.text for name, *_ in classes if (it := groups.get(name, ClassMap())).line is not None
        }
        device.maps["dscp_to_tc"][match[1]].uncertain = uncertain
        if marks:
            reader.map_("dscp_to_dscp", match[1], (*where, "set dscp"), marks)
    numbered = class_groups(reader, "queuing")
    pausing = read_network_qos(reader)
    policies = [(match[1], line) for line, match in root.find(r"policy-map type queuing (?:\S+ )??(\S+)")]
    inputs = {name: _pauses(reader, line, name) for name, line in policies}
    queuing = {name: _queues(reader, line, name, numbered) for name, line in policies}
    for name, line in policies:
        check_bandwidth(reader, line, name)
    check_jumbo(reader)
    system = [line for line, _ in root.find(r"system qos")]
    lossless: frozenset[int] = frozenset()
    pfc_where: Where = ()
    queues: dict[int, Binding] = {}
    groups_in: dict[int, Binding] = {}
    for line in system:
        for row, match in line.find(r"service-policy type qos input (\S+)" + _NO_STATS):
            device.global_maps["dscp_to_tc"] = match[1]
            _known(reader, row, match[1], device.maps.get("dscp_to_tc", {}))
            if match[1] in device.maps.get("dscp_to_dscp", {}):
                device.global_maps["dscp_to_dscp"] = match[1]
        for row, match in line.find(r"service-policy type network-qos (\S+)" + _NO_STATS):
            paused = pausing.get(match[1], {})
            lossless = frozenset(paused)
            pfc_where = pause_where(reader, match[1])
            device.class_mtus, device.lossy_mtus = (
                {name: mtu for name, mtu in its.items() if name.split(" ")[0] == match[1]}
                for its in (device.class_mtus, device.lossy_mtus)
            )
            if any(priority != group for priority, group in paused.items()):
                where = reader.note(row, "policy-map", match[1])
                for kind in ("pfc_to_queue", "pfc_to_pg"):
                    reader.map_(kind, match[1], where, {**{n: n for n in range(8)}, **paused})
                    device.global_maps[kind] = match[1]
            _known(reader, row, match[1], pausing)
        for row, match in line.find(r"service-policy type queuing output (\S+)" + _NO_STATS):
            queues = queuing.get(match[1], {})
            _known(reader, row, match[1], queuing)
        for row, match in line.find(r"service-policy type queuing input (\S+)" + _NO_STATS):
            groups_in = inputs.get(match[1], {})
            _known(reader, row, match[1], inputs)
    reader.common()
    if root.has(r"priority-flow-control override-interface mode off"):
        lossless = frozenset()
    _unapplied(reader, system)
    _misdirected(reader, system)
    check_breakouts(reader)
    root.accept(r"priority-flow-control (?:override-interface mode .*|watch-dog internal-interface-multiplier \d+)")
    _interfaces(reader, lossless, (groups_in, inputs), (queues, queuing), _watchdog(reader))
    for port in device.ports.values():
        port.pfc_where = pfc_where if port.lossless == lossless else ()
        # A routed port has no tag to look at.
        policy = port.maps.get("dscp_to_tc", device.global_maps.get("dscp_to_tc"))
        if policy in tagged and any(port.name in vlan.members for vlan in device.vlans.values()):
            port.class_by_tag, port.maps["dscp_to_tc"] = True, ""
    _bundled_policies(reader)
    reader.bundled()
    read_routing(reader)
    return reader.finish()


def _unapplied(reader: TextReader, system: list[Line]) -> None:
    """A defect (R9) for a kind of policy that the file defines, and applies neither to the switch nor to a port."""
    for kind in ("network-qos", "queuing"):
        defined = [line for line in reader.root.children if line.text.startswith(f"policy-map type {kind} ")]
        ports = [line for line in reader.root.children if line.text.startswith("interface Ethernet")]
        uses = [it.text for block in (*system, *ports) for it in block.children]
        if defined and ports and not any(text.startswith(f"service-policy type {kind} ") for text in uses):
            name = defined[-1].text.split()[-1]
            text = f"no service-policy applies '{name}', nor another policy of type {kind}: 'system qos' has no line"
            reader.defect(defined[-1], f"policy-map|{name}", text, "R9", ("interface",))


def _bundled_policies(reader: TextReader) -> None:
    """The classification of a port channel is that of its members."""
    for line, match in reader.root.find(r"interface (port-channel\d+)"):
        for row, word in line.find(r"service-policy type qos input (\S+)" + _NO_STATS):
            _known(reader, row, word[1], reader.device.maps.get("dscp_to_tc", {}))
            for port in reader.device.ports.values():
                if port.lag == match[1]:
                    port.maps["dscp_to_tc"] = word[1]


def _misdirected(reader: TextReader, system: list[Line]) -> None:
    """A defect (R9) for a queuing policy that is applied in the direction that its classes are not of."""
    kinds = {"input": _INPUT, "output": _QUEUE}
    classes: dict[str, list[str]] = {}
    for line in reader.root.children:
        if line.text.startswith("policy-map type queuing "):
            names = [it.text.split()[-1] for it in line.children if it.text.startswith("class type queuing ")]
            classes[line.text.split()[-1]] = names
    ports = [line for line in reader.root.children if line.text.startswith("interface Ethernet")]
    for block in (*system, *ports):
        for line in block.children:
            match = re.fullmatch(r"service-policy type queuing (input|output) (\S+)" + _NO_STATS, line.text)
            way, other = ("input", "output") if match and match[1] == "input" else ("output", "input")
            its = classes.get(match[2], []) if match else []
            if any(kinds[other].fullmatch(it) for it in its) and not any(kinds[way].fullmatch(it) for it in its):
                text = f"'{line.text}' applies to the {way} a queuing policy whose classes are of the {other}"
                root: Where = ("interface",) if block in system else ("interface", block.text.split()[-1])
                reader.defect(line, f"{block.text}|service-policy", text, "R9", root)


def _known(reader: TextReader, line: Line, name: str, known: object, root: Where = ()) -> None:
    if isinstance(known, dict) and name not in known:
        near = meant(name, frozenset(map(str, known)))
        reader.defect(line, "service-policy", f"policy '{name[:40]}' is not in the file{near}", "R1", root)


def _queues(reader: TextReader, policy: Line, name: str, numbered: dict[str, int | None]) -> dict[int, Binding]:
    found: dict[int, Binding] = {}
    for line, match in policy.find(r"class type queuing (\S+)"):
        queue = 0 if match[1].endswith("q-default") or match[1] == "class-default" else None
        number = _QUEUE.fullmatch(match[1])
        queue = int(number[1]) if number else numbered.get(match[1], queue)
        if queue is None:
            if _INPUT.fullmatch(match[1]) is None and match[1] not in numbered:
                refuse(reader, line, f"policy-map|{name}", f"there is no class map '{match[1][:40]}' of type queuing")
            line.used = match[1] not in numbered
            continue
        where = reader.note(line, "policy-map", name, match[1])
        bound = found.setdefault(queue, Binding(where))
        strict = line.has(r"priority level \d")
        weight = [
            reader.number(row, word[1], 0, 100, "bandwidth", where) or 0
            for row, word in line.find(r"bandwidth (?:remaining )?percent (\d+)")
        ]
        bound.limit = _limit(reader, line, where)
        if strict or weight:
            bound.scheduler = f"{name} {match[1]}"
            reader.device.schedulers[bound.scheduler] = Scheduler(
                bound.scheduler, where, "STRICT" if strict else "DWRR", weight[-1] if weight else 1
            )
        for row, word in line.find(_ECN):
            ends = [reader.number(row, word[i], 0, 10**9, "threshold") for i in (1, 3)]
            if word[2] not in _UNITS or word[4] not in _UNITS or None in ends:
                reader.defect(row, match[1], f"thresholds in {word[2][:20]}: write bytes, kbytes or mbytes")
                continue
            at = reader.note(row, *where, "random-detect")
            curve = Curve(
                (ends[0] or 0) * _UNITS[word[2]],
                (ends[1] or 0) * _UNITS[word[4]],
                reader.number(row, word[5], 0, 100, "drop-probability"),
            )
            bound.wred, bound.where = f"{name} {match[1]}", at
            reader.device.wreds[bound.wred] = Wred(
                bound.wred,
                at,
                "ecn_all" if word[7] else "ecn_none",
                {"green": curve},
                frozenset() if word[7] else frozenset(("green",)),
            )
    return found


def _limit(reader: TextReader, block: Line, where: Where) -> Limit | None:
    """`shape min A kbps max B kbps`: the larger rate is the limit."""
    for line, _ in block.find(r"shape .+"):
        match = _SHAPE.fullmatch(line.text)
        unit = "" if match is None else (match[5] or match[3] or match[1] or "").lower()
        if match is None or unit not in _RATES:
            line.used = False
            continue
        value = reader.number(line, match[4], 0, 10**12, "shape")
        at = reader.note(line, *where, "shape")
        return None if value is None else Limit(at, "shape", value * _RATES[unit])
    return None


def _pauses(reader: TextReader, policy: Line, name: str) -> dict[int, Binding]:
    """No-drop classes of an input policy that state their buffer. The threshold is Cisco's: where the pause is sent."""
    found: dict[int, Binding] = {}
    for line, match in policy.find(r"class type queuing (\S+)"):
        number = _INPUT.fullmatch(match[1])
        if number is None:
            continue
        for row, word in line.find(_PAUSE):
            size, pause, resume = (reader.number(row, word[i], 0, 10**9, "pause") or 0 for i in (1, 2, 3))
            where = reader.note(row, "policy-map", name, match[1])
            if not resume <= pause < size:
                reader.defect(row, match[1], f"resume {resume} <= pause {pause} < buffer {size} does not hold")
                continue
            key = f"{name} {match[1]}"
            reader.device.pools.setdefault(_POOL, Pool(_POOL, where, "ingress", "dynamic", None))
            reader.device.profiles[key] = BufferProfile(
                key, where, _POOL, size, xon_bytes=resume, xoff_bytes=size - pause, pause_bytes=pause
            )
            found[int(number[1])] = Binding(where, key, where)
        line.accept(r"bandwidth (?:remaining )?percent \d+|priority level \d")
    return found


def _watchdog(reader: TextReader) -> Watchdog | None:
    """The watchdog of the whole switch; None where it is off. Its times are multiples of the fixed poll."""
    root, times = reader.root, {"shutdown": 1, "restore": 1}
    where = ("priority-flow-control",)
    for line, match in root.find(r"priority-flow-control (?:watch-dog (shutdown)-|auto-(restore) )multiplier (\d+)"):
        reader.note(line, *where)
        value = reader.number(line, match[3], 0, 100, "multiplier")
        times[match[1] or match[2]] = 1 if value is None else value
    list(root.find(r"priority-flow-control watch-dog-interval off"))
    if not root.has(r"priority-flow-control watch-dog-interval on"):
        return None
    return Watchdog(where, "drop", times["shutdown"] * _POLL_MS, times["restore"] * _POLL_MS)


def _interfaces(
    reader: TextReader,
    lossless: frozenset[int],
    inputs: tuple[dict[int, Binding], dict[str, dict[int, Binding]]],
    outputs: tuple[dict[int, Binding], dict[str, dict[int, Binding]]],
    watchdog: Watchdog | None,
) -> None:
    """`inputs` and `outputs` are what holds for the whole switch, and the policies that an interface may name."""
    begun: set[str] = set()  # a port may be in several blocks: its own, and those of ranges
    routed: dict[str, bool] = {}
    stated: set[str] = set()
    for line, match in reader.root.find(r"interface (Ethernet[\d/,-]+)"):
        pfc = r"priority-flow-control mode (on|off|auto)(?P<rest> .*)?|no priority-flow-control mode(?: \w+)?"
        modes = [word[1] or "auto" for _, word in line.find(pfc)]
        policies = [(row, word[1]) for row, word in line.find(r"service-policy type qos input (\S+)" + _NO_STATS)]
        named_out = [word[1] for _, word in line.find(r"service-policy type queuing output (\S+)" + _NO_STATS)]
        named_in = [(row, word[1]) for row, word in line.find(r"service-policy type queuing input (\S+)" + _NO_STATS)]
        own_block: Where = ("interface", line.text.removeprefix("interface "))
        mtus = [reader.number(row, word[1], 68, 9216, "mtu", own_block) for row, word in line.find(r"mtu (\d+)")]
        speeds = [reader.number(row, word[1], 1, 1_600_000, "speed") for row, word in line.find(r"speed (\d+)")]
        fec = [_FEC[word[1]] for _, word in line.find(r"fec (rs-fec|fc-fec|off|auto)")]
        autoneg = [word[1] for _, word in line.find(r"(no )?negotiate auto")]
        own = line.has(r"priority-flow-control watch-dog-interval on")
        factor = None
        for row, word in line.find(r"priority-flow-control watch-dog interface-multiplier (\d+)"):
            factor = reader.number(row, word[1], 1, 100, "interface-multiplier")
        list(line.find(r"priority-flow-control watch-dog-interval off"))
        down, up, paused = line.has(r"shutdown"), line.has(r"no shutdown"), line.has(r"flowcontrol (?:send|receive) on")
        bundle = r"channel-group (\d+)(?: force)?(?: mode (active|passive|on))?(?P<rest> .*)?"
        lags = [(word[1], word[2] or "on") for _, word in line.find(bundle)]  # without a word it is static
        routing = line.has(r"no switchport")
        line.accept(r"description .*|spanning-tree .*")
        ports = reader.ports(line, match[1])
        reader.switched(line, ports)
        for port in ports:
            new = port.name not in begun
            begun.add(port.name)
            port.mtu = mtus[-1] or port.mtu if mtus else _PORT_MTU if new else port.mtu
            port.speed_mbps = speeds[-1] if speeds else port.speed_mbps
            port.admin_up = not down if new or down or up else port.admin_up
            routed[port.name] = routing or routed.get(port.name, False)
            stated.update({port.name} if down or up else ())
            port.global_pause |= paused
            port.fec = fec[-1] if fec else port.fec
            port.autoneg = ("off" if autoneg[-1] else "on") if autoneg else port.autoneg
            if lags:
                port.lag, port.lag_mode = f"port-channel{lags[-1][0]}", lags[-1][1]
            port.description = description_of(line) or port.description
            if modes or new:
                mode = modes[-1] if modes else "auto"
                port.lossless = frozenset() if mode == "off" else lossless
                port.pfc_negotiated = mode == "auto" and bool(lossless)
            for row, name in policies:
                port.maps["dscp_to_tc"] = name
                if name in reader.device.maps.get("dscp_to_dscp", {}):
                    port.maps["dscp_to_dscp"] = name
                _known(reader, row, name, reader.device.maps.get("dscp_to_tc", {}), port.where)
            if named_out or new:
                port.queues = dict(outputs[1].get(named_out[-1], outputs[0]) if named_out else outputs[0])
            for row, name in named_in:
                _known(reader, row, name, inputs[1], port.where)
            if named_in or modes or new:
                groups = inputs[1].get(named_in[-1][1], inputs[0]) if named_in else inputs[0]
                to_group = reader.device.map_of(port, "pfc_to_pg")
                used = {priority if to_group is None else to_group.entries[priority] for priority in port.lossless}
                port.groups = {group: bound for group, bound in groups.items() if group in used}
            if own and watchdog:
                at = reader.note(line, "interface", port.name)
                detection_ms = watchdog.detection_ms if factor is None else factor * _POLL_MS
                port.watched = port.lossless
                port.watchdog = Watchdog(at, "drop", detection_ms, watchdog.restoration_ms)
    _down_by_default(reader.device, {name for name, its in routed.items() if its}, stated)


def _down_by_default(device: Device, routed: set[str], stated: set[str]) -> None:
    """A routed port without `no shutdown` is down, where the file has that line at others: it may leave it out at all.

    Source: Nexus 9000 Interfaces Configuration Guide, "Default Settings for Layer 3 Interfaces": shut.
    """
    if any(device.ports[name].admin_up for name in routed & stated):
        for name in routed - stated:
            device.ports[name].admin_up = device.ports[name].admin_stated = False
