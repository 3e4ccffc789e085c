"""One field of a construct as a command of the switch's own language.

A construct is known by its path in the file (`Where`), which its reader made. EOS and NX-OS: lines of configuration
mode, joined by '; '. Cumulus: `nv set`, joined by ' && '; `nv config apply` puts them in force. SONiC: a write to
CONFIG_DB, which is also what sonic-utils commands make. '' where the language has no line for the field.
Sources: NVUE object reference; EOS user manual, Quality of Service; Nexus 9000 NX-OS QoS configuration guide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import ceil
from typing import Final

from fabric.configs.capabilities import Language
from fabric.configs.model import Curve, Device, Limit, Port, QosMap, Where, Wred
from fabric.visible import command as shell_words

_POLL_MS: Final = 100
"""Fixed poll of NX-OS; the default of NVUE."""


def quoted(text: str) -> str:
    """One word for a shell: names come from files, and the command is there to be pasted."""
    return shell_words(text)


def field_command(device: Device, where: Where, field: str, value: object) -> str:
    """The command that gives a field of the model its value, or '' where the language has none."""
    return _LANGUAGES[device.language](device, where, field, str(value))


def block_lines(where: Where) -> tuple[str, ...]:
    """Lines of EOS or NX-OS that lead to the block that a path is in; () where the path names no block."""
    match where:
        case ("policy-map", policy, name, *_):
            return f"policy-map type queuing {policy}", f"class type queuing {name}"
        case (("qos" | "interface") as first, name, queue, *_) if "tx-queue" in queue:
            return f"{first} {name}", queue
        case (("qos" | "interface") as first, name, *_):
            return f"{first} {name}", *()
        case _:
            return ()


def nvue_words(where: Where) -> str:
    """The path of a construct below `set`, as words of `nv set`."""
    words = where[where.index("set") + 1 :] if "set" in where else where
    return " ".join(map(quoted, words))


def curve_command(device: Device, name: str, where: Where, kmin_bytes: int, kmax_bytes: int) -> str:
    """Both marking thresholds of green traffic; the probability stays."""
    wred = device.wreds.get(name)
    pmax = None if wred is None or wred.curve is None else wred.curve.pmax_percent
    if device.capabilities.tables:
        return f"ecnconfig -p {quoted(name)} -gmin {kmin_bytes} -gmax {kmax_bytes}"
    block = block_lines(where)
    line = _MARKING_LINES.get(device.language)
    if line is not None:
        made = _averaged(wred, line(kmin_bytes, kmax_bytes, pmax))
        return "; ".join((*block, made)) if block else ""
    path = nvue_words(_marking(where))
    return f"nv set {path} min-threshold {kmin_bytes} && nv set {path} max-threshold {kmax_bytes}"


def marking_lines(language: Language, kmin_bytes: int, kmax_bytes: int, pmax_percent: int) -> list[str]:
    """The marking curve of lossless traffic in a default configuration: of traffic class 3, or of class RDMA."""
    line = _MARKING_LINES.get(language)
    if line is not None:
        return ["; ".join((*_MARKING_BLOCKS[language], line(kmin_bytes, kmax_bytes, pmax_percent)))]
    path = "nv set qos congestion-control default-global traffic-class 3"
    return [
        f"{path} min-threshold {kmin_bytes}",
        f"{path} max-threshold {kmax_bytes}",
        f"{path} probability {pmax_percent}",
    ]


def marking_command(device: Device, where: Where, kmin_bytes: int, kmax_bytes: int, pmax_percent: int) -> str:
    """The marking curve of the queue or class at a place of the files; '' for SONiC, where it is a row of a profile."""
    if device.capabilities.tables:
        return ""
    line = _MARKING_LINES.get(device.language)
    if line is not None:
        block = block_lines(where)
        made = _averaged(_wred_at(device, where), line(kmin_bytes, kmax_bytes, pmax_percent))
        return "; ".join((*block, made)) if block else ""
    path = nvue_words(_marking(where))
    values = f"min-threshold {kmin_bytes}", f"max-threshold {kmax_bytes}", f"probability {pmax_percent}"
    return " && ".join(f"nv set {path} {it}" for it in values)


def bind_marking(device: Device, port: Port, queue: int, curve: Curve, profile: str) -> str:
    """Marking for a queue that has none. SONiC binds a profile of the same switch, which is named."""
    if device.capabilities.tables:
        row = quoted(f"QUEUE|{port.name}|{queue}")
        return f"sonic-db-cli CONFIG_DB HSET {row} wred_profile {quoted(profile)}" if profile else ""
    line = _MARKING_LINES.get(device.language)
    if line is None:
        path = f"nv set qos congestion-control default-global traffic-class {queue}"
        values = "ecn enable", f"min-threshold {curve.min_bytes}", f"max-threshold {curve.max_bytes}"
        return " && ".join(f"{path} {it}" for it in values)
    bound = port.queues.get(queue)
    block = (block_lines(bound.where) if bound is not None else ()) or _QUEUES[device.language](port.name, queue)
    return "; ".join((*block, line(curve.min_bytes, curve.max_bytes, curve.pmax_percent))) if block else ""


_OF_A_CLASS: Final = 4
"""Length of the place of a line of a class: ('policy-map', policy, class, word)."""


def pfc_command(device: Device, port: Port, changes: Sequence[tuple[int, bool]], *, elsewhere: bool) -> str:
    """PFC on or off for priorities of a port; `elsewhere`: another port of the switch has just these priorities."""
    return _PFC[device.language](port, changes, elsewhere) if changes else ""


def limit_command(device: Device, limit: Limit) -> str:
    """Take a shaper away."""
    if device.capabilities.tables:
        return f"sonic-db-cli CONFIG_DB HDEL {quoted('|'.join(limit.where))} {quoted(limit.field)}"
    if "set" in limit.where:
        return f"nv unset {nvue_words(limit.where)} {limit.field}"
    block = block_lines(limit.where)
    return "; ".join((*block, f"no {limit.field}")) if block else ""


def _pfc_sonic(port: Port, changes: Sequence[tuple[int, bool]], elsewhere: bool) -> str:
    del elsewhere
    name = quoted(port.name)
    return " && ".join(f"config interface pfc priority {name} {it} {'on' if on else 'off'}" for it, on in changes)


def _pfc_nvue(port: Port, changes: Sequence[tuple[int, bool]], elsewhere: bool) -> str:
    del elsewhere
    profile = nvue_words(port.qos_where) if "pfc" in port.qos_where else "qos pfc default-global"
    return " && ".join(f"nv {'set' if on else 'unset'} {profile} switch-priority {it}" for it, on in changes)


def _pfc_eos(port: Port, changes: Sequence[tuple[int, bool]], elsewhere: bool) -> str:
    del elsewhere
    lines = ["priority-flow-control on"] if not port.lossless and any(on for _, on in changes) else []
    lines += [f"priority-flow-control priority {it} {'no-drop' if on else 'drop'}" for it, on in changes]
    return "; ".join((*(block_lines(port.qos_where) or (f"interface {port.name}",)), *lines))


def _pfc_nxos(port: Port, changes: Sequence[tuple[int, bool]], elsewhere: bool) -> str:
    """The priorities are those of the network-qos policy of the whole switch: a port only turns them on."""
    wanted = sorted((port.lossless | {it for it, on in changes if on}) - {it for it, on in changes if not on})
    if len(port.pfc_where) == _OF_A_CLASS and wanted:
        policy, name = port.pfc_where[1:3]
        pause = f"pause pfc-cos {','.join(map(str, wanted))}"
        return f"policy-map type network-qos {policy}; class type network-qos {name}; {pause}"
    return f"interface {port.name}; priority-flow-control mode on" if elsewhere else ""


def _eos_marking(kmin_bytes: int, kmax_bytes: int, pmax: int | None) -> str:
    line = f"random-detect ecn minimum-threshold {kmin_bytes} bytes maximum-threshold {kmax_bytes} bytes"
    return line + (f" max-mark-probability {pmax}" if pmax else "")


def _nxos_marking(kmin_bytes: int, kmax_bytes: int, pmax: int | None) -> str:
    return (
        f"random-detect minimum-threshold {kmin_bytes} bytes maximum-threshold {kmax_bytes} bytes "
        f"drop-probability {pmax or 100} weight 0 ecn"
    )


def _wred_at(device: Device, where: Where) -> Wred | None:
    return next((it for it in device.wreds.values() if it.where == where), None)


def _averaged(wred: Wred | None, line: str) -> str:
    """A marking line with the weight that its queue has: without the words the switch's default acts."""
    return line if wred is None or " weight " in line else f"{line}{wred.averaging}"


def _marking(where: Where) -> Where:
    """Where NVUE states a curve: what the RoCE macro fills in is stated in the global profile, for class 3."""
    macro = where[-1:] == ("roce",)
    return ("qos", "congestion-control", "default-global", "traffic-class", "3") if macro else where


def _sonic(device: Device, where: Where, field: str, value: str) -> str:
    del device
    if len(where) != 2:
        return ""
    return f"sonic-db-cli CONFIG_DB HSET {quoted('|'.join(where))} {quoted(field)} {quoted(value)}"


def row_command(path: Where, value: str | None) -> str:
    """The write to CONFIG_DB that makes one change of a row: (table, key, field), or (table, key) for the whole row.

    A row without fields has the field NULL (sonic-swss-common, ConfigDBConnector).
    """
    key, fields = quoted("|".join(path[:2])), path[2:]
    if value is None:
        return f"sonic-db-cli CONFIG_DB {'HDEL' if fields else 'DEL'} {' '.join((key, *map(quoted, fields)))}"
    words = (*fields, value) if fields else ("NULL", "NULL")
    return f"sonic-db-cli CONFIG_DB HSET {key} {' '.join(map(quoted, words))}"


def _nvue(device: Device, where: Where, field: str, value: str) -> str:
    poll = device.watchdog_poll_ms or _POLL_MS
    if field in {"detection_time", "restoration_time"}:
        robustness = f"nv set qos pfc-watchdog robustness {ceil(int(value) / poll)}"
        return robustness if field == "detection_time" else ""
    words = {
        ("congestion-control", "ecn"): "ecn enable",
        ("congestion-control", "green_drop_probability"): f"probability {value}",
        ("egress-scheduler", "type"): f"mode {'strict' if value == 'STRICT' else 'dwrr'}",
        ("egress-scheduler", "weight"): f"bw-percent {value}",
        ("vxlan", "dscp_mode"): "encapsulation dscp action copy",
    }
    where = _marking(where) if field in {"ecn", "green_drop_probability"} else where
    line = next((text for (part, name), text in words.items() if name == field and part in where), "")
    return f"nv set {nvue_words(where)} {line}" if line else ""


def _eos(device: Device, where: Where, field: str, value: str) -> str:
    watchdog = "priority-flow-control pause watchdog"
    of_switch = {
        "detection_time": f"{watchdog} default timeout {_seconds(value)}",
        "restoration_time": f"{watchdog} default recovery-time {_seconds(value)}",
        "action": f"{watchdog} action {value}",
        "POLL_INTERVAL": f"{watchdog} default polling-interval {_seconds(value)}",
    }
    if field in of_switch:
        return of_switch[field]
    block = block_lines(where)
    lines = {"type": "priority strict" if value == "STRICT" else "no priority", "weight": f"bandwidth percent {value}"}
    wred = _wred_at(device, where)
    curve = None if wred is None else wred.curve
    if field == "green_drop_probability" and curve is not None:
        made = _eos_marking(curve.min_bytes, curve.max_bytes, int(value) if value.isdigit() else None)
        lines[field] = _averaged(wred, made)
    return "; ".join((*block, lines[field])) if block and field in lines else ""


def classified(policy: QosMap, dscp: int, group: int, used: Collection[int] = ()) -> str:
    """NX-OS: a DSCP into another qos-group, by the class of a policy that has it, or by the one that sets the group.

    The class that has nothing but this DSCP gets the group. Else the DSCP leaves the class that it is in, and joins the
    first one that sets the group: in place of its only DSCP where no traffic has that one. A class map that is
    match-all takes no second line, which no packet could match as well; there, as where no class sets the group, a
    class is made.

    Parameters
    ----------
    used    DSCPs that traffic is known to have; () where that is not known
    """
    mine = next((it for it in policy.classes if dscp in it[2]), None)
    if mine is not None and (mine[1] is None or mine[2] == (dscp,)):
        return f"policy-map type qos {policy.name}; class {mine[0]}; set qos-group {group}"

    def header(name: str) -> str:
        return policy.headers.get(name, f"class-map type qos match-any {name}")

    lines = [] if mine is None else [f"{header(mine[0])}; no match dscp {dscp}"]
    rest = next((its for name, its, _ in policy.classes if name == "class-default"), None) or 0
    targets = [(name, dscps) for name, its, dscps in policy.classes if its == group and name != "class-default"]
    odd = [(name, dscps[0]) for name, dscps in targets if used and len(dscps) == 1 and dscps[0] not in used]
    joined = [name for name, _ in targets if " match-any " in header(name)]
    if odd:
        name, wrong = odd[0]
        lines.append(f"{header(name)}; no match dscp {wrong}; match dscp {dscp}")
    elif joined:
        lines.append(f"{header(joined[0])}; match dscp {dscp}")
    elif group != rest or mine is None:
        name = f"DSCP{dscp}"
        lines.append(f"class-map type qos match-any {name}; match dscp {dscp}")
        lines.append(f"policy-map type qos {policy.name}; class {name}; set qos-group {group}")
    return "; ".join(lines)


def unmarked(device: Device, marks: QosMap, dscp: int) -> str:
    """EOS and NX-OS: no `set dscp` in the class of a policy that a DSCP is in."""
    policy = device.maps.get("dscp_to_tc", {}).get(marks.name)
    name = next((name for name, _, dscps in policy.classes if dscp in dscps), "class-default") if policy else ""
    kind, value = "quality-of-service" if device.capabilities.sessions else "qos", marks.entries.get(dscp)
    if not name or value is None:
        return ""
    return f"policy-map type {kind} {marks.name}; class {name}; no set dscp {value}"


def _nxos(device: Device, where: Where, field: str, value: str) -> str:
    if field in {"detection_time", "restoration_time"}:
        factor = max(1, ceil(int(value) / _POLL_MS))
        name = "watch-dog shutdown-multiplier" if field == "detection_time" else "auto-restore multiplier"
        return f"priority-flow-control {name} {factor}"
    block = block_lines(where)
    curve = next((it.curve for it in device.wreds.values() if it.where == where), None)
    lines = {
        "type": "priority level 1" if value == "STRICT" else "no priority level 1",
        "weight": f"bandwidth remaining percent {value}",
    }
    if curve is not None:
        lines["ecn"] = _nxos_marking(curve.min_bytes, curve.max_bytes, curve.pmax_percent)
        pmax = int(value) if value.isdigit() else None
        lines["green_drop_probability"] = _nxos_marking(curve.min_bytes, curve.max_bytes, pmax)
    return "; ".join((*block, lines[field])) if block and field in lines else ""


def _seconds(milliseconds: str) -> str:
    return f"{int(milliseconds) / 1000:g}" if milliseconds.isdigit() else milliseconds


_LANGUAGES: Final[dict[str, Callable[[Device, Where, str, str], str]]] = {
    "sonic": _sonic,
    "nvue": _nvue,
    "eos": _eos,
    "nxos": _nxos,
}
_MARKING_LINES: Final[dict[str, Callable[[int, int, int | None], str]]] = {"eos": _eos_marking, "nxos": _nxos_marking}
"""Languages in which one line states the whole curve."""
_NXOS_BLOCK: Final = ("policy-map type queuing RDMA-out", "class type queuing c-out-8q-q3")
_QUEUES: Final[dict[str, Callable[[str, int], tuple[str, ...]]]] = {
    "eos": lambda port, queue: (f"interface {port}", f"tx-queue {queue}"),
    "nxos": lambda _, __: (),  # queues are classes of a policy
}
_MARKING_BLOCKS: Final[Mapping[Language, tuple[str, ...]]] = {
    "eos": ("qos profile lossless", "tx-queue 3"),
    "nxos": _NXOS_BLOCK,
}
_PFC: Final[dict[str, Callable[[Port, Sequence[tuple[int, bool]], bool], str]]] = {
    "sonic": _pfc_sonic,
    "nvue": _pfc_nvue,
    "eos": _pfc_eos,
    "nxos": _pfc_nxos,
}
