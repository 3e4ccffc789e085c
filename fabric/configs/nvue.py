"""NVIDIA NVUE (Cumulus Linux) YAML or JSON -> the neutral model.

`qos roce` is a macro: trust DSCP, priority 3 lossless in traffic class 3, CNPs in class 6 strict, ECN on class 3.
What the file states itself wins over the macro. Thresholds of the headroom are computed by the switch from
cable-length. Source: NVIDIA Cumulus Linux 5.x user guide, "RoCE" and "Quality of Service".
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fabric.configs.jsonfile import JsonText, refuse
from fabric.configs.model import (
    Binding,
    Curve,
    Defect,
    Device,
    Port,
    QosMap,
    Scheduler,
    Unread,
    Watchdog,
    Where,
    Wred,
)
from fabric.configs.yamlfile import YamlText
from fabric.units import parse_rate_bps

_ROCE_PRIORITY, _CNP_CLASS = 3, 6
_MIN_BYTES, _MAX_BYTES, _POLL_MS, _POLLS = 150_000, 1_500_000, 100, 3
_DEFAULT: Final = "default-global"
_KNOWN_QOS: Final = frozenset(("roce", "pfc", "congestion-control", "mapping", "egress-queue-mapping",
                               "egress-scheduler", "pfc-watchdog"))


def is_nvue(value: Any) -> bool:  # noqa: ANN401
    """Whether a value is a list of {header} and {set}, or a mapping with `set`."""
    rows = value if isinstance(value, list) else [value]
    return any(isinstance(row, dict) and isinstance(row.get("set"), dict) for row in rows)


class _Reader:
    def __init__(self, source: JsonText | YamlText, file: str) -> None:
        self.source = source
        self.top: dict[str, Any] = {}
        self.base: Where = ()
        rows = source.value if isinstance(source.value, list) else [source.value]
        header: dict[str, Any] = {}
        for number, row in enumerate(rows):
            if isinstance(row, dict) and isinstance(row.get("set"), dict):
                self.top = row["set"]
                self.base = (str(number), "set") if isinstance(source.value, list) else ("set",)
            if isinstance(row, dict) and isinstance(row.get("header"), dict):
                header = row["header"]
        self.device = Device(Path(file).stem, file, "nvue", source)
        self.device.hwsku = str(header.get("model", ""))

    def at(self, *path: str) -> dict[str, Any]:
        """A mapping of the file; empty where it is absent, a defect where it is something else."""
        here: Any = self.top
        for number, word in enumerate(path):
            here = here.get(word, {})
            if here is None:
                here = {}
            if not isinstance(here, dict):
                self.bad(path[: number + 1], "is not a mapping")
                return {}
        found: dict[str, Any] = here
        return found

    def where(self, *path: str) -> Where:
        return (*self.base, *path)

    def bad(self, path: tuple[str, ...], text: str) -> None:
        self.device.defects.append(Defect("R5", self.where(*path), ".".join(path), text))

    def unread(self, path: tuple[str, ...]) -> None:
        self.device.unread.append(Unread(self.device.place(self.where(*path)), ".".join(path)))

    def number(self, path: tuple[str, ...], value: Any, low: int, high: int) -> int | None:  # noqa: ANN401
        text = str(value)
        if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < 16
                                           and low <= int(text) <= high):
            self.bad(path, f"{text[:40]} is outside {low}..{high}")
            return None
        return int(text)

    def entries(self, *path: str) -> Iterator[tuple[int, dict[str, Any], tuple[str, ...]]]:
        """(number, mapping, path) of rows such as `dscp: {'26': {...}}`; keys may be lists and ranges."""
        for key, value in self.at(*path).items():
            for part in str(key).split(","):
                first, _, last = part.strip().partition("-")
                if not (first.isdigit() and (not last or last.isdigit()) and len(first + last) < 7 and isinstance(
                        value, dict)):
                    self.bad((*path, key), "is not a number with settings")
                    continue
                for number in range(int(first), min(int(last or first), 63) + 1):
                    yield number, value, (*path, key)


def parse_nvue(source: JsonText | YamlText, file: str) -> Device:
    """One startup.yaml or its JSON. Raises InputErrors where it is none."""
    if not is_nvue(source.value):
        raise refuse(file, "no 'set' mapping of NVUE in it", "give /etc/nvue.d/startup.yaml or `nv config show`")
    reader = _Reader(source, file)
    device, roce = reader.device, reader.at("qos", "roce")
    device.name = str(reader.at("system").get("hostname") or device.name)[:253]
    on = roce.get("enable") in {"on", True} or (bool(roce) and "enable" not in roce)
    for where, first, second in source.duplicates:
        device.defects.append(Defect("R8", where, ".".join(where), f"is given twice, on lines {first} and {second}"))
    _maps(reader, macro=on)
    lossless, watched = _pfc(reader, macro=on and roce.get("mode", "lossless") == "lossless")
    queues = _queues(reader, macro=on)
    _ports(reader, lossless, queues, watched)
    for word in reader.at("qos"):
        if word not in _KNOWN_QOS:
            reader.unread(("qos", word))
    for word in reader.top:
        if word not in {"qos", "interface", "system"}:
            reader.unread((word,))
    return device


def _maps(reader: _Reader, *, macro: bool) -> None:
    device, path = reader.device, ("qos", "mapping", _DEFAULT)
    dscp = {value: value // 8 for value in range(64)} if not macro else {
        value: {_ROCE_PRIORITY: _ROCE_PRIORITY, _CNP_CLASS: _CNP_CLASS}.get(value // 8, 0) for value in range(64)}
    for value, row, at in reader.entries(*path, "dscp"):
        found = reader.number((*at, "switch-priority"), row.get("switch-priority"), 0, 7)
        if found is not None and value < 64:
            dscp[value] = found
    queue = {value: value if not macro or value in {_ROCE_PRIORITY, _CNP_CLASS} else 0 for value in range(8)}
    for value, row, at in reader.entries("qos", "egress-queue-mapping", _DEFAULT, "switch-priority"):
        found = reader.number((*at, "traffic-class"), row.get("traffic-class"), 0, 7)
        if found is not None and value < 8:
            queue[value] = found
    device.maps = {"dscp_to_tc": {_DEFAULT: QosMap(_DEFAULT, reader.where(*path, "dscp"), dscp)},
                   "tc_to_queue": {_DEFAULT: QosMap(_DEFAULT, reader.where("qos", "egress-queue-mapping"), queue)}}
    device.maps["pfc_to_queue"] = {_DEFAULT: QosMap(_DEFAULT, reader.where("qos", "egress-queue-mapping"), dict(queue))}
    device.global_maps = dict.fromkeys(("dscp_to_tc", "tc_to_queue", "pfc_to_queue"), _DEFAULT)


def _pfc(reader: _Reader, *, macro: bool) -> tuple[dict[str, tuple[frozenset[int], int | None]], Watchdog]:
    profiles: dict[str, tuple[frozenset[int], int | None]] = {}
    if macro:
        profiles[_DEFAULT] = (frozenset((_ROCE_PRIORITY,)), None)
    for name in reader.at("qos", "pfc"):
        path = ("qos", "pfc", name)
        row = reader.at(*path)
        bits = frozenset(value for value, _, _ in reader.entries(*path, "switch-priority") if value < 8)
        both = row.get("tx", "enable") == "enable" and row.get("rx", "enable") == "enable"
        cable = row.get("cable-length")
        metres = None if cable is None else reader.number((*path, "cable-length"), cable, 1, 100_000)
        for word in row:
            if word not in {"switch-priority", "tx", "rx", "cable-length"}:
                reader.unread((*path, word))
        profiles[name] = (bits if both else frozenset(), metres)
    row, at = reader.at("qos", "pfc-watchdog"), ("qos", "pfc-watchdog")
    poll = reader.number((*at, "polling-interval"), row.get("polling-interval", _POLL_MS), 100, 5000) or _POLL_MS
    polls = reader.number((*at, "robustness"), row.get("robustness", _POLLS), 1, 1000) or _POLLS
    reader.device.watchdog_poll_ms = poll
    return profiles, Watchdog(reader.where(*at), "drop", poll * polls, poll)


def _queues(reader: _Reader, *, macro: bool) -> dict[int, Binding]:
    device, found = reader.device, {}
    where = reader.where("qos", "roce")
    if macro:
        for queue, kind in ((0, "DWRR"), (_ROCE_PRIORITY, "DWRR"), (_CNP_CLASS, "STRICT")):
            name = f"roce class {queue}"
            device.schedulers[name] = Scheduler(name, where, kind, 50)
            found[queue] = Binding(where, scheduler=name)
        device.wreds["roce"] = Wred("roce", where, "ecn_all", {"green": Curve(_MIN_BYTES, _MAX_BYTES, 100)})
        found[_ROCE_PRIORITY].wred = "roce"
    for queue, row, at in reader.entries("qos", "egress-scheduler", _DEFAULT, "traffic-class"):
        name = f"egress-scheduler {queue}"
        strict = row.get("mode") == "strict"
        weight = 1 if strict else reader.number((*at, "bw-percent"), row.get("bw-percent", 1), 1, 100) or 1
        device.schedulers[name] = Scheduler(name, reader.where(*at), "STRICT" if strict else "DWRR", weight)
        found.setdefault(queue, Binding(reader.where(*at))).scheduler = name
    for queue, row, at in reader.entries("qos", "congestion-control", _DEFAULT, "traffic-class"):
        name = f"congestion-control {queue}"
        low = reader.number((*at, "min-threshold"), row.get("min-threshold", _MIN_BYTES), 0, 2**40)
        high = reader.number((*at, "max-threshold"), row.get("max-threshold", _MAX_BYTES), 0, 2**40)
        pmax = reader.number((*at, "probability"), row.get("probability", 100), 0, 100)
        if low is not None and high is not None:
            marks = row.get("ecn", "enable") == "enable"
            drops = frozenset(("green",)) if row.get("red") == "enable" else frozenset()
            device.wreds[name] = Wred(name, reader.where(*at), "ecn_all" if marks else "ecn_none",
                                      {"green": Curve(low, high, pmax)}, drops)
            bound = found.setdefault(queue, Binding(reader.where(*at)))
            bound.wred, bound.where = name, reader.where(*at)
    return found


def _ports(reader: _Reader, profiles: dict[str, tuple[frozenset[int], int | None]], queues: dict[int, Binding],
           watchdog: Watchdog) -> None:
    for name in reader.at("interface"):
        path = ("interface", name)
        if str(reader.at(*path).get("type", "swp")) != "swp" or not str(name).startswith("swp"):
            continue
        link, qos = reader.at(*path, "link"), reader.at(*path, "qos")
        port = Port(str(name), reader.where(*path), admin_up=reader.at(*path, "link").get("state") != "down",
                    qos_where=reader.where("qos", "pfc"), queues=dict(queues))
        if "mtu" in link:
            port.mtu = reader.number((*path, "link", "mtu"), link["mtu"], 552, 9216) or port.mtu
        if "speed" in link:
            try:
                port.speed_mbps = parse_rate_bps(link["speed"]) // 10**6
            except ValueError as error:
                reader.bad((*path, "link", "speed"), str(error).splitlines()[0])
        profile = reader.at(*path, "qos", "pfc").get("profile", _DEFAULT)
        if profile in profiles:
            port.lossless, port.cable_m = profiles[profile]
            port.cable_where = reader.where("qos", "pfc", str(profile), "cable-length")
        elif profile != _DEFAULT:
            reader.device.defects.append(Defect("R1", reader.where(*path, "qos", "pfc"), str(name),
                                                f"pfc profile '{str(profile)[:40]}' is not in the file"))
        state = reader.at(*path, "qos", "pfc-watchdog").get("state")
        if state == "enable":
            port.watchdog, port.watched = watchdog, port.lossless
        for word in qos:
            if word not in {"pfc", "pfc-watchdog"}:
                reader.unread((*path, "qos", word))
        reader.device.ports[port.name] = port


