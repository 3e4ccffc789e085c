"""NVIDIA NVUE (Cumulus Linux) YAML or JSON -> the neutral model.

`qos roce` is a macro: trust DSCP, priority 3 lossless in traffic class 3, CNPs in class 6 strict, ECN on class 3.
What the file states itself wins over the macro. A profile of an interface wins over `default-global`. Buffers are
read by `buffers.py`. Source: NVIDIA Cumulus Linux 5.x user guide, "RoCE" and "Quality of Service".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from fabric.configs.identity import NOTHING, Stated
from fabric.configs.model import Binding, Curve, Device, Lag, Port, QosMap, Scheduler, Tunnel, Vlan, Watchdog, Wred
from fabric.configs.nvue.buffers import PfcProfile, add_buffers
from fabric.configs.nvue.commands import Commands
from fabric.configs.nvue.coverage import list_unjudged
from fabric.configs.nvue.cut import check_end
from fabric.configs.nvue.reader import Reader, is_nvue, words_of
from fabric.configs.nvue.routing import read_routing
from fabric.configs.nvue.shaper import Shaper, read_shapers
from fabric.configs.nvue.words import check_words, is_on, is_shut
from fabric.configs.running_config.reader import numbers
from fabric.configs.text.jsonfile import JsonText, outermost, refuse, two_switches
from fabric.configs.text.port_ranges import folded_ports
from fabric.configs.text.spelling import meant
from fabric.configs.text.yamlfile import YamlText
from fabric.configs.tree_filters import read_nvue_filters
from fabric.units import parse_rate_bps

_ROCE_PRIORITY, _CNP_CLASS = 3, 6
_MIN_BYTES, _MAX_BYTES, _POLL_MS, _POLLS = 150_000, 1_500_000, 100, 3
_DEFAULT: Final = "default-global"
_QOS: Final = (
    "roce",
    "pfc",
    "congestion-control",
    "mapping",
    "egress-queue-mapping",
    "egress-scheduler",
    "remark",
    "pfc-watchdog",
    "link-pause",
    "traffic-pool",
    "advance-buffer-config",
    "egress-shaper",
)
_PORT_QOS: Final = (
    "pfc",
    "pfc-watchdog",
    "mapping",
    "remark",
    "egress-scheduler",
    "congestion-control",
    "link-pause",
    "egress-shaper",
)
_PORT: Final = ("type", "link", "qos", "description", "ip", "bridge", "evpn", "lldp", "router", "counters")
_SUB_INTERFACE: Final = (*_PORT, "base-interface", "vlan")
_DEFAULT_MTU: Final = 9216
"""Of a port that states none (Cumulus Linux, Switch Port Attributes: MTU)."""
_FEC: Final = ("rs", "baser", "off", "auto", "llrs", "driver-auto")
_LINK: Final = ("mtu", "speed", "state", "fec", "auto-negotiate", "lanes", "duplex", "breakout")
_MAX_PORTS: Final = 4096
_MAX_VLAN: Final = 4094
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Profiles:
    """Profiles an interface can name, by family and name."""

    pfc: Mapping[str, PfcProfile]
    mapping: Mapping[str, str]
    remark: Mapping[str, str]
    scheduler: Mapping[str, dict[int, str]]
    """Queue to scheduler."""
    marking: Mapping[str, dict[int, tuple[str, Binding]]]
    """Queue to marking profile, and where it stands."""
    pause: frozenset[str]
    shaper: Mapping[str, Shaper]


def parse_nvue(source: JsonText | YamlText | Commands, file: str) -> Device:
    """One startup.yaml or its JSON. Raises InputErrors where it is none."""
    if not is_nvue(source.value):
        raise refuse(file, "no 'set' mapping of NVUE in it", "give /etc/nvue.d/startup.yaml or `nv config show`")
    reader = Reader(source, file)
    device, roce = reader.device, reader.at("qos", "roce")
    hostname = reader.at("system").get("hostname") or device.name
    if isinstance(hostname, list) and len(set(map(str, hostname))) > 1:
        raise two_switches(file, *map(str, hostname[:2]))
    device.name = str(hostname[0] if isinstance(hostname, list) else hostname)[:253]
    device.name_where = reader.where("system", "hostname") if reader.at("system").get("hostname") else ()
    reader.literal(reader.written)
    check_words(reader)
    on = (
        roce.get("enable") in ("on", True)
        or roce.get("state") in ("enabled", "enable")
        or (bool(roce) and not {"enable", "state"} & roce.keys())
    )
    for where, first, second in outermost(source.duplicates):
        reader.bad(where[len(reader.base) :], f"is given twice, on lines {first} and {second}", "R8")
    if isinstance(source, Commands):
        for where, (first, last) in source.replaced.items():
            text = f"is set on line {first} and again on line {last}, which holds"
            reader.bad(where[len(reader.base) :], text, "R8", harmless=True)
    mapping = _maps(reader, macro=on)
    mode = reader.choice(
        ("qos", "roce", "mode"), roce.get("mode", "lossless"), ("lossless", "lossy", "lossless-single-ipool")
    )
    profiles = _Profiles(
        _pfc(reader, macro=on and mode != "lossy"),
        mapping,
        _remark(reader),
        _schedulers(reader, macro=on),
        _marking(reader, macro=on),
        frozenset(
            str(name)
            for name in reader.at("qos", "link-pause")
            if any(is_on(reader.at("qos", "link-pause", name).get(way)) for way in ("tx", "rx"))
        ),
        read_shapers(reader),
    )
    own = profiles.pfc.get(_DEFAULT)
    if on and mode == "lossy" and own is not None and _ROCE_PRIORITY in own.priorities:
        text = f"'lossy' is RoCE without PFC, and 'qos pfc {_DEFAULT}' pauses switch priority {_ROCE_PRIORITY}"
        reader.bad(("qos", "roce", "mode"), text, "R9")
    _ports(reader, profiles, _watchdog(reader))
    _tunnel(reader)
    for domain in reader.at("bridge", "domain"):
        age = reader.at("bridge", "domain", domain).get("ageing")
        device.mac_age_s = None if age is None else reader.number(("bridge", "domain", domain, "ageing"), age, 0, 10**6)
    add_buffers(reader, profiles.pfc, macro=on)
    reader.only(("qos",), _QOS)
    filters = ("acl",) if read_nvue_filters(reader) else ()
    reader.only(
        (), ("qos", "interface", "system", "nve", "bridge", "router", "evpn", "vrf", "mlag", "maintenance", *filters)
    )
    read_routing(reader)
    list_unjudged(reader)
    if isinstance(source, YamlText):
        check_end(reader)
    reader.check_shape()
    return device


def _maps(reader: Reader, *, macro: bool) -> dict[str, str]:
    device = reader.device
    device.maps = {"dscp_to_tc": {}, "tc_to_queue": {}, "tc_to_pg": {}, "pfc_to_queue": {}, "tc_to_dscp": {}}
    for name in dict.fromkeys((_DEFAULT, *reader.at("qos", "mapping"))):
        path = ("qos", "mapping", name)
        row = reader.at(*path)
        reader.only(path, ("trust", "dscp", "pcp", "port-default-sp"))
        default = reader.number((*path, "port-default-sp"), row.get("port-default-sp", 0), 0, 7) or 0
        trust = reader.choice((*path, "trust"), row.get("trust", "l3"), ("l2", "l3", "port", "both")) or "l3"
        if trust in {"l2", "port"}:  # routed packets have no 802.1p: the port's default decides
            dscp = dict.fromkeys(range(64), default)
        elif macro and name == _DEFAULT:
            dscp = {value: value // 8 if value // 8 in {_ROCE_PRIORITY, _CNP_CLASS} else 0 for value in range(64)}
        else:
            dscp = {value: value // 8 for value in range(64)}
        stated: set[int] = set()
        for value, entry, at in reader.entries(*path, "dscp"):
            found = reader.number((*at, "switch-priority"), entry.get("switch-priority"), 0, 7)
            if found is not None and value < 64 and trust not in {"l2", "port"}:
                dscp[value] = found
                stated.add(value)
        where = reader.where(*path, "trust" if trust in {"l2", "port"} else "dscp")
        device.maps["dscp_to_tc"][str(name)] = QosMap(str(name), where, dscp, frozenset(stated))
    queue = {value: value if not macro or value in {_ROCE_PRIORITY, _CNP_CLASS} else 0 for value in range(8)}
    for value, row, at in reader.entries("qos", "egress-queue-mapping", _DEFAULT, "switch-priority"):
        found = reader.number((*at, "traffic-class"), row.get("traffic-class"), 0, 7)
        if found is not None and value < 8:
            queue[value] = found
    where = reader.where("qos", "egress-queue-mapping")
    device.maps["tc_to_queue"][_DEFAULT] = QosMap(_DEFAULT, where, queue)
    device.maps["pfc_to_queue"][_DEFAULT] = QosMap(_DEFAULT, where, dict(queue))
    device.maps["tc_to_pg"][_DEFAULT] = QosMap(_DEFAULT, where, {value: value for value in range(8)})
    device.global_maps = dict.fromkeys(("dscp_to_tc", "tc_to_queue", "pfc_to_queue", "tc_to_pg"), _DEFAULT)
    return {name: name for name in device.maps["dscp_to_tc"]}


def _remark(reader: Reader) -> dict[str, str]:
    found = {}
    for name in reader.at("qos", "remark"):
        path = ("qos", "remark", name)
        reader.only(path, ("rewrite", "switch-priority"))
        rewrite = reader.choice((*path, "rewrite"), reader.at(*path).get("rewrite", "l2"), ("l2", "l3", "both"))
        entries: dict[int, int] = {}
        for value, row, at in reader.entries(*path, "switch-priority"):
            dscp = reader.number((*at, "dscp"), row["dscp"], 0, 63) if "dscp" in row else None
            if dscp is not None and value < 8 and rewrite in {"l3", "both"}:
                entries[value] = dscp
        reader.device.maps["tc_to_dscp"][str(name)] = QosMap(str(name), reader.where(*path, "switch-priority"), entries)
        found[str(name)] = str(name)
    return found


def _pfc(reader: Reader, *, macro: bool) -> dict[str, PfcProfile]:
    length = reader.at("qos", "roce").get("cable-length")
    roce = PfcProfile(
        reader.where("qos", "roce"),
        frozenset((_ROCE_PRIORITY,)),
        None if length is None else reader.number(("qos", "roce", "cable-length"), length, 1, 100_000),
    )
    found = {_DEFAULT: roce} if macro else {}
    for name in reader.at("qos", "pfc"):
        path = ("qos", "pfc", name)
        row = reader.at(*path)
        reader.only(
            path, ("switch-priority", "tx", "rx", "cable-length", "xoff-threshold", "xon-threshold", "port-buffer")
        )
        bits = (
            reader.priorities((*path, "switch-priority"), row["switch-priority"])
            if "switch-priority" in row
            else (found[str(name)].priorities if str(name) in found else frozenset())
        )
        both = all(str(row.get(way, "enable")) in {"enable", "enabled"} for way in ("tx", "rx"))

        def number(
            word: str, low: int, high: int, path: tuple[str, ...] = path, row: dict[str, Any] = row
        ) -> int | None:
            if word not in row:
                return None
            if word == "cable-length":
                return reader.number((*path, word), row[word], low, high)
            return reader.size((*path, word), row[word], high)

        found[str(name)] = PfcProfile(
            reader.where(*path),
            bits if both else frozenset(),
            number("cable-length", 1, 100_000),
            number("port-buffer", 0, 2**32),
            number("xoff-threshold", 0, 2**32),
            number("xon-threshold", 0, 2**32),
        )
    return found


def _watchdog(reader: Reader) -> Watchdog:
    row, at = reader.at("qos", "pfc-watchdog"), ("qos", "pfc-watchdog")
    poll = reader.number((*at, "polling-interval"), row.get("polling-interval", _POLL_MS), 100, 5000) or _POLL_MS
    polls = reader.number((*at, "robustness"), row.get("robustness", _POLLS), 1, 1000) or _POLLS
    reader.device.watchdog_poll_ms = poll
    return Watchdog(reader.where(*at), "drop", poll * polls, poll)


def _schedulers(reader: Reader, *, macro: bool) -> dict[str, dict[int, str]]:
    device, found = reader.device, {_DEFAULT: dict[int, str]()}
    if macro:
        for queue, kind in ((0, "DWRR"), (_ROCE_PRIORITY, "DWRR"), (_CNP_CLASS, "STRICT")):
            name = f"roce class {queue}"
            device.schedulers[name] = Scheduler(name, reader.where("qos", "roce"), kind, 50)
            found[_DEFAULT][queue] = name
    for profile in reader.at("qos", "egress-scheduler"):
        own = found.setdefault(str(profile), {})
        for queue, row, at in reader.entries("qos", "egress-scheduler", profile, "traffic-class"):
            name = f"egress-scheduler {profile} {queue}"
            strict = reader.choice((*at, "mode"), row.get("mode", "dwrr"), ("strict", "dwrr")) == "strict"
            weight = 1 if strict else reader.number((*at, "bw-percent"), row.get("bw-percent", 1), 0, 100) or 1
            device.schedulers[name] = Scheduler(name, reader.where(*at), "STRICT" if strict else "DWRR", weight)
            own[queue] = name
    return found


def _marking(reader: Reader, *, macro: bool) -> dict[str, dict[int, tuple[str, Binding]]]:
    device, found = reader.device, {_DEFAULT: dict[int, tuple[str, Binding]]()}
    if macro:
        where = reader.where("qos", "roce")
        device.wreds["roce"] = Wred("roce", where, "ecn_all", {"green": Curve(_MIN_BYTES, _MAX_BYTES, 100)})
        found[_DEFAULT][_ROCE_PRIORITY] = "roce", Binding(where)
    for profile in reader.at("qos", "congestion-control"):
        own = found.setdefault(str(profile), {})
        for queue, row, at in reader.entries("qos", "congestion-control", profile, "traffic-class"):
            name = f"congestion-control {profile} {queue}"
            low = reader.size((*at, "min-threshold"), row.get("min-threshold", _MIN_BYTES), 2**40)
            high = reader.size((*at, "max-threshold"), row.get("max-threshold", _MAX_BYTES), 2**40)
            pmax = reader.number((*at, "probability"), row.get("probability", 100), 0, 100)
            if low is not None and high is not None:
                marks = str(row.get("ecn", "enable")) in {"enable", "enabled", "on", "True"}
                drops = frozenset(("green",)) if str(row.get("red")) in {"enable", "enabled"} else frozenset()
                device.wreds[name] = Wred(
                    name,
                    reader.where(*at),
                    "ecn_all" if marks else "ecn_none",
                    {"green": Curve(low, high, pmax)},
                    drops,
                )
                own[queue] = name, Binding(reader.where(*at))
    return found


def _ports(reader: Reader, profiles: _Profiles, watchdog: Watchdog) -> None:
    written = [str(key) for key in reader.at("interface")]
    keys: dict[str, list[str]] = {}
    for key in written:
        for name in folded_ports(key) if key.startswith("swp") else ():
            if len(keys) >= _MAX_PORTS:
                raise refuse(
                    str(reader.device.place(reader.where("interface", key))),
                    f"more than {_MAX_PORTS} ports",
                    "give one file per switch",
                )
            if name.startswith("swp") and "." not in name:
                keys.setdefault(name, []).append(key)
        if key.startswith("swp"):
            reader.only(("interface", key), _SUB_INTERFACE if "." in key else _PORT)
            reader.only(("interface", key, "qos"), _PORT_QOS)
            reader.only(("interface", key, "link"), _LINK)
    bridged = [(key, reader.at("interface", key, "bridge", "domain")) for key in written]
    bonds = [(key, reader.at("interface", key, "bond", "member")) for key in written]
    reader.unfold(keys)
    for name in keys:
        _whole_port(reader, name)
        if reader.at("interface", name).get("type", "swp") == "swp" and not _broken_out(reader, name):
            reader.device.ports[name] = _port(reader, ("interface", name), name, profiles, watchdog)
    for key, domain in bridged:
        if domain:
            vlan = reader.device.vlans.setdefault("switched", Vlan("switched", reader.where("interface", key), None))
            vlan.members = (*vlan.members, *(name for name in folded_ports(key) if name in reader.device.ports))
    for key, members in bonds:
        for member in members:
            for name in (it for it in folded_ports(str(member)) if it in reader.device.ports):
                before = reader.device.ports[name].lag
                if before not in (None, key):
                    at = ("interface", key, "bond", "member", str(member))
                    reader.bad(at, f"{name} is a member of {before} already, and a port has one bond", "R9")
                reader.device.ports[name].lag = key
        if members:
            link, where = reader.at("interface", key, "link"), reader.where("interface", key)
            down = is_shut(reader, ("interface", key))
            shut = Stated("down", reader.where("interface", key, "link", "state")) if down else NOTHING
            mtu = reader.number(("interface", key, "link", "mtu"), link["mtu"], 552, 9216) if "mtu" in link else None
            reader.device.bundle(Lag(key, where, shut, mode=_lacp(reader, key)), mtu)
    for key, domain in bridged:
        rows = [row if isinstance(row, dict) else {} for row in domain.values()]
        whole = any(not row.get("access") for row in rows)
        names = set(folded_ports(key))
        for port in (it for it in reader.device.ports.values() if domain and (it.name in names or it.lag == key)):
            port.trunk = port.trunk or whole
            for row in rows:
                port.vlan = str(row.get("access") or row.get("untagged") or port.vlan)
                tagged = words_of(row.get("vlan"))
                if tagged and "all" not in tagged:
                    port.trunk_vlans = frozenset(number for it in tagged for number in numbers(it, _MAX_VLAN))


def _lacp(reader: Reader, bond: str) -> str:
    """Mode of a bond: LACP is the default, and static (balance-xor) speaks none; '' where both may do.

    A bond that bypasses LACP forwards without a partner (Cumulus Linux user guide, "Bonding", "LACP Bypass").
    """
    row = reader.at("interface", bond, "bond")
    if str(row.get("mode", "lacp")) == "static":
        return "on"
    return "" if is_on(row.get("lacp-bypass"), default=False) else "active"


def _broken_out(reader: Reader, name: str) -> bool:
    """Whether a port is split into others, such as swp1s0: it exists no more."""
    modes = words_of(reader.at("interface", name, "link").get("breakout"))
    split = bool(modes) and not any(mode.startswith("1x") for mode in modes)
    rows = reader.at("interface", name)
    left = [key for key in ("ip", "bridge", "qos", "router", "evpn", "acl") if rows.get(key)] if split else []
    if left:
        text = f"{name} is split ({modes[0]}) and has '{left[0]}' of a whole port: its ports are {name}s0 and following"
        reader.bad(("interface", name, "link", "breakout"), text, "R9")
    return split


def _whole_port(reader: Reader, name: str) -> None:
    """A defect (R9) of a part of a port, such as swp1s0, whose port is not split, or into fewer parts than that."""
    match = _PART.fullmatch(name)
    if match is None:
        return
    if match[1] not in reader.at("interface"):
        links = (reader.at("interface", str(it), "link") for it in reader.at("interface"))
        if not any("breakout" in link for link in links):
            return  # the file leaves splits out
    modes = words_of(reader.at("interface", match[1], "link").get("breakout"))
    parts = [int(found[1]) for mode in modes if (found := _SPLIT.match(mode))]
    if not modes or (parts and int(match[2]) >= max(parts)):
        its = f"is split in {max(parts)}" if parts else "has no 'link breakout'"
        reader.bad(("interface", name), f"{name} is a part of {match[1]}, which {its}: the port does not exist", "R9")


_PART: Final = re.compile(r"(swp\d+)s(\d+)", re.ASCII)
_SPLIT: Final = re.compile(r"(\d+)x", re.ASCII)


def _port(reader: Reader, path: tuple[str, ...], name: str, profiles: _Profiles, watchdog: Watchdog) -> Port:
    link = reader.at(*path, "link")
    port = Port(
        name,
        reader.where(*path),
        mtu=_DEFAULT_MTU,
        admin_up=not is_shut(reader, path),
        description=str(reader.at(*path).get("description", "") or ""),
    )
    if "mtu" in link:
        port.mtu = reader.number((*path, "link", "mtu"), link["mtu"], 552, 9216) or port.mtu
    if "speed" in link and str(link["speed"]) != "auto":
        try:
            port.speed_mbps = parse_rate_bps(link["speed"]) // 10**6
        except ValueError as error:
            reader.bad((*path, "link", "speed"), str(error).splitlines()[0])
    if "fec" in link:
        fec = reader.choice((*path, "link", "fec"), link["fec"], _FEC)
        port.fec = {"rs": "rs", "baser": "fc", "off": "none"}.get(fec or "", "auto")
    if "auto-negotiate" in link:
        port.autoneg = "on" if is_on(link["auto-negotiate"]) else "off"
    pfc = _chosen(reader, path, "pfc", profiles.pfc)
    if pfc is not None:
        port.lossless, port.cable_m, port.qos_where = pfc.priorities, pfc.cable_m, pfc.where
        port.cable_where = (*pfc.where, "cable-length")
    mapping, remark = (
        _chosen(reader, path, word, known)
        for word, known in (("mapping", profiles.mapping), ("remark", profiles.remark))
    )
    port.maps = {**({"dscp_to_tc": mapping} if mapping else {}), **({"tc_to_dscp": remark} if remark else {})}
    for queue, scheduler in (_chosen(reader, path, "egress-scheduler", profiles.scheduler) or {}).items():
        port.queues[queue] = Binding(reader.device.schedulers[scheduler].where, scheduler=scheduler)
    for queue, (wred, bound) in (_chosen(reader, path, "congestion-control", profiles.marking) or {}).items():
        port.queues[queue] = replace(port.queues.get(queue, bound), wred=wred, where=bound.where)
    shaper = _chosen(reader, path, "egress-shaper", profiles.shaper)
    if shaper is not None:
        port.limit = shaper.port
        for queue, limit in shaper.queues.items():
            port.queues[queue] = replace(port.queues.get(queue, Binding(limit.where)), limit=limit)
    dog = reader.at(*path, "qos").get("pfc-watchdog", False)
    reader.only((*path, "qos", "pfc-watchdog"), ("state",))
    if dog is not False and reader.at(*path, "qos", "pfc-watchdog").get("state", "enable") in ("enable", "enabled"):
        port.watchdog, port.watched = watchdog, port.lossless
    port.global_pause = (
        bool(profiles.pause) and reader.at(*path, "qos", "link-pause").get("profile", _DEFAULT) in profiles.pause
    )
    return port


def _chosen(reader: Reader, path: tuple[str, ...], family: str, known: Mapping[str, T]) -> T | None:
    """The profile an interface names, else the global one; a name that leads nowhere is a defect."""
    name = str(reader.at(*path, "qos", family).get("profile", _DEFAULT))
    if name not in known and name != _DEFAULT:
        near = meant(name, frozenset(known))
        reader.bad((*path, "qos", family, "profile"), f"{family} profile '{name[:40]}' is not in the file{near}", "R1")
        return known.get(_DEFAULT)
    return known.get(name)


def _tunnel(reader: Reader) -> None:
    row, path = reader.at("nve", "vxlan"), ("nve", "vxlan")
    reader.only(("nve",), ("vxlan",))
    if not row or row.get("enable") in ("off", False) or row.get("state") == "disabled":
        return
    action = reader.at(*path, "encapsulation", "dscp").get("action", "derive")
    mode = reader.choice((*path, "encapsulation", "dscp", "action"), action, ("copy", "set", "derive"))
    address = str(reader.at(*path, "source").get("address", ""))
    # `derive` writes the DSCP of the switch priority: the class survives, as with `copy`.
    reader.device.tunnels["vxlan"] = Tunnel(
        "vxlan", reader.where(*path), "pipe" if mode == "set" else "uniform", source=address
    )
