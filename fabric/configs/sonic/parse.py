"""SONiC CONFIG_DB JSON -> the neutral model.

Old and new reference syntax, lists and ranges in keys, full and partial files. What the switch itself would add at
run time (headroom profiles, dynamic buffers) is added by `buffermgr.py` afterwards, from the same tables.
Sources: sonic-yang-models; sonic-swss orchagent/qosorch.cpp, pfcwdorch.cpp.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

from fabric.configs.file_names import name_of_file
from fabric.configs.identity import NOTHING, Stated
from fabric.configs.model import (
    Binding,
    BufferProfile,
    Curve,
    Device,
    Lag,
    Limit,
    Pool,
    Port,
    QosMap,
    Scheduler,
    Tunnel,
    Vlan,
    Watchdog,
    WatchdogCapability,
    Wred,
)
from fabric.configs.sonic.identity import read_identity
from fabric.configs.sonic.musts import check_musts
from fabric.configs.sonic.policy import read_policies, read_targets
from fabric.configs.sonic.routing import read_routing
from fabric.configs.sonic.rows import Fields, Rows
from fabric.configs.sonic.schema import COLOURS, MAP_FIELDS, MAP_TABLES, SCHEMA
from fabric.configs.sonic.shape import check_shape
from fabric.configs.text.jsonfile import JsonText, outermost, refuse
from fabric.configs.text.spelling import meant
from fabric.configs.tree_filters import read_sonic_filters

_CABLE: Final = re.compile(r"([0-9]{1,7})m")
_VERSION: Final = re.compile(r"version_(\d+(?:_\d+)*)")
_MAX_PORTS: Final = 4096
_READ: Final = frozenset((*SCHEMA, *MAP_TABLES, "CABLE_LENGTH"))
_DEFAULT_WEIGHT: Final = 1


def is_config_db(value: Any) -> bool:  # noqa: ANN401
    """Whether this JSON value has at least one table of a CONFIG_DB."""
    return isinstance(value, dict) and any(name.partition("|")[0] in _READ for name in value)


def parse_sonic(source: JsonText, file: str) -> Device:
    """One CONFIG_DB file. Raises InputErrors where it is none."""
    if not is_config_db(source.value):
        raise refuse(
            file,
            "no table of a CONFIG_DB in it",
            "give `sonic-cfggen -d --print-data` or /etc/sonic/config_db.json; hosts and links have separate options",
        )
    check_shape(source, file)
    device = Device(name_of_file(file), file, "sonic", source)
    rows = Rows(source.value, device)
    for where, first, second in outermost(source.duplicates):
        rows.defect("R8", where, "|".join(where), f"is given twice, on lines {first} and {second}; the last one wins")
    _metadata(rows, device)
    _ports(rows, device)
    _cables(rows, device)
    _buffers(rows, device)
    _maps(rows, device)
    _port_qos(rows, device, _queues(rows, device))
    _watchdog(rows, device)
    _network(rows, device)
    _overlay(rows, device)
    read_routing(rows, device)
    read_identity(rows, device)
    read_policies(rows, device)
    read_targets(rows, device)
    check_musts(rows, device)
    read = _READ | read_sonic_filters(rows, device)
    for table, (where, text, count) in rows.brackets.items():
        rows.defect(
            "R3", where, table, f"{count} references such as '{text[:60]}' have the syntax of version_3_0_2 and older"
        )
    for name in rows.names:
        if name not in read:
            rows.table_unread(name, f"table {name[:60]}{meant(name, _READ)}")
    rows.finish()
    return device


def _text(fields: Fields, name: str, default: str = "") -> str:
    return cast("str", fields.get(name, default))


def _int(fields: Fields, name: str) -> int | None:
    return cast("int | None", fields.get(name))


def _bits(text: str) -> frozenset[int]:
    return frozenset(int(part) for part in text.split(",") if part)


def _metadata(rows: Rows, device: Device) -> None:
    for key, where, fields in rows.rows("DEVICE_METADATA"):
        if key == "localhost":
            if name := _text(fields, "hostname"):
                device.name, device.name_where = name, (*where, "hostname")
            device.hwsku, device.platform = _text(fields, "hwsku"), _text(fields, "platform")
            device.role, device.asn = _text(fields, "type"), _text(fields, "bgp_asn")
            device.dynamic_buffers = fields.get("buffer_model") == "dynamic"
            device.watchdog_default = fields.get("default_pfcwd_status") == "enable"
            # A render of the dynamic model without buffer_model: only that model computes the pools' sizes.
            pools = [pool for _, _, pool in rows.raw("BUFFER_POOL")]
            if "buffer_model" not in fields and pools and not any("size" in pool for pool in pools):
                device.dynamic_buffers = True
    for key, _, fields in rows.rows("VERSIONS"):
        match = _VERSION.fullmatch(_text(fields, "VERSION"))
        if key == "DATABASE" and match:
            device.schema_version = tuple(int(part) for part in match[1].split("_"))


def _ports(rows: Rows, device: Device) -> None:
    for key, where, fields in rows.rows("PORT"):
        if len(device.ports) >= _MAX_PORTS:
            raise refuse(
                f"{device.file}:{device.locator.line(where)}",
                f"more than {_MAX_PORTS} ports",
                "give one file per switch",
            )
        device.ports[key] = Port(
            key,
            where,
            speed_mbps=_int(fields, "speed"),
            mtu=_int(fields, "mtu") or Port(key, where).mtu,
            admin_up=_text(fields, "admin_status", "down") == "up",
            admin_stated="admin_status" in fields,
            lanes=max(1, len(cast("tuple[str, ...]", fields.get("lanes", ())))),
            fec=_text(fields, "fec") or None,
            autoneg=_text(fields, "autoneg") or None,
            macsec=_text(fields, "macsec"),
            pfc_asym=fields.get("pfc_asym") == "on",
            description=_text(fields, "description"),
            advertised=_advertised(fields),
        )
    if "PORT" not in rows:
        # A partial file (the output of a QoS template alone): ports are those something is bound to.
        for table in ("PORT_QOS_MAP", "CABLE_LENGTH", "BUFFER_PG", "QUEUE"):
            names = [key.partition("|")[0] for key in rows.keys(table)]
            if table == "CABLE_LENGTH":
                names = [str(port) for _, _, fields in rows.raw(table) for port in fields]
            for name in sorted({port for text in names for port in text.split(",")} - {"global", "CPU"}):
                if len(device.ports) < _MAX_PORTS:
                    device.ports.setdefault(name, Port(name, (table,), admin_up=True))


def _advertised(fields: Fields) -> tuple[str, ...]:
    found = cast("tuple[str, ...]", fields.get("adv_speeds", ()))
    return () if "all" in found else found


def _cables(rows: Rows, device: Device) -> None:
    for key, where, fields in rows.raw("CABLE_LENGTH"):
        for name, value in fields.items():
            match = _CABLE.fullmatch(value) if isinstance(value, str) else None
            if match is None:
                rows.defect(
                    "R5",
                    (*where, name),
                    f"CABLE_LENGTH|{key}|{name[:40]}",
                    f"'{str(value)[:40]}' is no cable length in whole metres, such as 40m",
                )
                continue
            for port in rows.ports("CABLE_LENGTH", name, (*where, name)):
                device.ports[port].cable_m = int(match[1])
                device.ports[port].cable_where = (*where, name)


def _buffers(rows: Rows, device: Device) -> None:
    for key, where, fields in rows.rows("BUFFER_POOL"):
        device.pools[key] = Pool(
            key, where, _text(fields, "type"), _text(fields, "mode"), _int(fields, "size"), _int(fields, "xoff") or 0
        )
    for key, where, fields in rows.rows("BUFFER_PROFILE"):
        device.profiles[key] = BufferProfile(
            key,
            where,
            _text(fields, "pool"),
            _int(fields, "size") or 0,
            _int(fields, "dynamic_th"),
            _int(fields, "static_th"),
            _int(fields, "xon") or 0,
            _int(fields, "xon_offset") or 0,
            _int(fields, "xoff") or 0,
        )
    for table, high in (("BUFFER_PG", 7), ("BUFFER_QUEUE", 15)):
        for key, where, fields in rows.rows(table):
            profile = _text(fields, "profile") or None
            for name, index in rows.port_index(table, key, where, high):
                port = device.ports[name]
                bound = (port.groups if table == "BUFFER_PG" else port.queues).setdefault(index, Binding(where))
                if bound.profile is not None and bound.profile != profile:
                    rows.defect(
                        "R4",
                        where,
                        f"{table}|{key}",
                        f"index {index} of {name} has '{bound.profile}' in {'|'.join(bound.profile_where)} and "
                        f"'{profile}' here; which one holds depends on the order of arrival",
                    )
                bound.profile, bound.profile_where = profile, where
    for key, where, fields in rows.rows("BUFFER_PORT_EGRESS_PROFILE_LIST"):
        for name in rows.ports("BUFFER_PORT_EGRESS_PROFILE_LIST", key, where):
            device.ports[name].egress_profiles = cast("tuple[str, ...]", fields.get("profile_list", ()))
    for key, where, fields in rows.rows("BUFFER_PORT_INGRESS_PROFILE_LIST"):
        for name in rows.ports("BUFFER_PORT_INGRESS_PROFILE_LIST", key, where):
            device.ports[name].ingress_profiles = cast("tuple[str, ...]", fields.get("profile_list", ()))


def _maps(rows: Rows, device: Device) -> None:
    for table, (kind, high_key, high_value) in MAP_TABLES.items():
        for key, where, fields in rows.raw(table):
            found = QosMap(key, where)
            for name, value in fields.items():
                text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else "?"
                if not (
                    re.fullmatch(r"[0-9]{1,3}", name)
                    and re.fullmatch(r"[0-9]{1,3}", text)
                    and int(name) <= high_key
                    and int(text) <= high_value
                ):
                    rows.defect(
                        "R5",
                        (*where, name),
                        f"{table}|{key}",
                        f"entry {name[:20]} -> {text[:20]} is outside 0..{high_key} -> 0..{high_value}",
                    )
                else:
                    found.entries[int(name)] = int(text)
            device.maps.setdefault(kind, {})[key] = found


def _queues(rows: Rows, device: Device) -> dict[str, Limit]:
    """Queues with their schedulers and marking profiles; the limit of each scheduler that has one."""
    limits: dict[str, Limit] = {}
    for key, where, fields in rows.rows("SCHEDULER"):
        pir = _int(fields, "pir")
        if pir:  # SAI: 0 is no limit
            packets = fields.get("meter_type") == "packets"
            burst = None if packets else _int(fields, "pbs")
            limits[key] = Limit(where, "pir", None if packets else pir * 8 / 10**6, packets=packets, burst_bytes=burst)
        device.schedulers[key] = Scheduler(
            key, where, _text(fields, "type", "WRR"), _int(fields, "weight") or _DEFAULT_WEIGHT
        )
    for key, where, fields in rows.rows("WRED_PROFILE"):
        wred = Wred(
            key,
            where,
            _text(fields, "ecn", "ecn_none"),
            drops=frozenset(c for c in COLOURS if fields.get(f"wred_{c}_enable") == "true"),
        )
        for colour in COLOURS:
            low, high = _int(fields, f"{colour}_min_threshold"), _int(fields, f"{colour}_max_threshold")
            if low is not None and high is not None:
                wred.curves[colour] = Curve(low, high, _int(fields, f"{colour}_drop_probability"))
            else:
                fields.unused(f"{colour}_min_threshold", f"{colour}_max_threshold")
        device.wreds[key] = wred
    for key, where, fields in rows.rows("QUEUE"):
        for name, index in rows.port_index("QUEUE", key, where, 15):
            bound = device.ports[name].queues.setdefault(index, Binding(where))
            bound.where = where
            bound.wred = _text(fields, "wred_profile") or bound.wred
            bound.scheduler = _text(fields, "scheduler") or bound.scheduler
            bound.limit = limits.get(bound.scheduler or "")
    return limits


def _port_qos(rows: Rows, device: Device, limits: dict[str, Limit]) -> None:
    for key, where, fields in rows.rows("PORT_QOS_MAP"):
        maps = {kind: _text(fields, name) for name, (kind, _) in MAP_FIELDS.items() if name in fields}
        if key == "global":
            device.global_maps = maps
            continue
        for name in rows.ports("PORT_QOS_MAP", key, where):
            port = device.ports[name]
            port.qos_where, port.maps = where, maps
            port.limit = limits.get(_text(fields, "scheduler"))
            port.lossless = _bits(_text(fields, "pfc_enable"))
            port.watched = _bits(_text(fields, "pfcwd_sw_enable"))
        device.decap_maps.update(
            {name: _text(fields, name) for name in ("decap_tc_to_pg_map", "decap_dscp_to_tc_map") if name in fields}
        )


def _watchdog(rows: Rows, device: Device) -> None:
    for key, where, fields in rows.rows("PFC_WD"):
        if key == "GLOBAL":
            device.watchdog_poll_ms = _int(fields, "POLL_INTERVAL")
            device.drops_lossless = fields.get("BIG_RED_SWITCH") == "enable"
            continue
        for name in rows.ports("PFC_WD", key, where):
            device.ports[name].watchdog = Watchdog(
                where, _text(fields, "action", "drop"), _int(fields, "detection_time"), _int(fields, "restoration_time")
            )

    for key, _, fields in rows.rows("PFC_WD_HW_CAPABILITIES"):
        if key == "GLOBAL":
            ends = {name: (_int(fields, f"{name}_timer_min"), _int(fields, f"{name}_timer_max"))
                    for name in ("detection", "restoration")}  # fmt: skip
            known = {name: (low, high) for name, (low, high) in ends.items() if low is not None and high is not None}
            device.watchdog_capability = WatchdogCapability(
                _text(fields, "recovery_type"), known.get("detection"), known.get("restoration")
            )


def _network(rows: Rows, device: Device) -> None:
    for key, where, fields in rows.rows("DEVICE_NEIGHBOR"):
        if key not in device.ports:  # YANG asks for no such port: cabling data may be older than the breakout
            rows.unread(where, f"neighbour of port '{key[:40]}', which the file does not have")
        elif fields.get("name"):
            device.ports[key].neighbor = (_text(fields, "name"), _text(fields, "port"))
    for key, _, fields in rows.rows("DEVICE_NEIGHBOR_METADATA"):
        device.neighbor_types[key] = _text(fields, "type")
    for key, where, _ in rows.rows("PORTCHANNEL_MEMBER"):
        lag, _, member = key.partition("|")
        for name in rows.ports("PORTCHANNEL_MEMBER", member, where):
            device.ports[name].lag = lag
    for key, where, fields in rows.rows("PORTCHANNEL"):
        shut = Stated("down", (*where, "admin_status")) if fields.get("admin_status") == "down" else NOTHING
        least = fields.get("min_links")
        needed = Stated(str(least), (*where, "min_links")) if least is not None else NOTHING
        # sonic-swss teammgr.cpp starts teamd with the runner lacp, active; with fallback a LAG may do without a partner
        mode = "" if fields.get("fallback") == "true" else "active"
        device.bundle(Lag(key, where, shut, needed, mode), _int(fields, "mtu"))
        if not any(port.lag == key for port in device.ports.values()):
            fields.unused("mtu")
    for _, _, fields in rows.rows("SWITCH_HASH"):
        if "ecmp_hash" in fields:
            device.hash_fields = cast("tuple[str, ...]", fields["ecmp_hash"])
        device.hash_algorithm = _text(fields, "ecmp_hash_algorithm")
    for _, _, fields in rows.rows("SWITCH"):
        device.mac_age_s = _int(fields, "fdb_aging_time")
    for _, where, fields in rows.rows("LOSSLESS_TRAFFIC_PATTERN"):
        device.pattern_mtu, device.pattern_where = _int(fields, "mtu"), where
        device.pattern_small_percent = _int(fields, "small_packet_percentage")
    for _, _, fields in rows.rows("DEFAULT_LOSSLESS_BUFFER_PARAMETER"):
        device.over_subscribe_ratio = _int(fields, "over_subscribe_ratio") or 0
        device.max_headroom_bytes = _int(fields, "max_headroom_size")
        device.default_dynamic_th = _int(fields, "default_dynamic_th") or 0


def _overlay(rows: Rows, device: Device) -> None:
    for key, where, fields in rows.rows("VXLAN_TUNNEL"):
        device.tunnels[key] = Tunnel(
            key,
            where,
            _text(fields, "dscp_mode", "uniform"),
            _text(fields, "ecn_mode", "standard"),
            _text(fields, "src_ip"),
        )
    routed = {key.partition("|")[0] for key in rows.keys("VLAN_INTERFACE")}
    for key, where, fields in rows.rows("VLAN"):
        device.vlans[key] = Vlan(key, where, _int(fields, "mtu"), routed=key in routed)
        device.identity.vlan_where[key.removeprefix("Vlan")] = where
        if fields.get("admin_status") == "down":
            device.identity.shut[key] = Stated("down", (*where, "admin_status"))
        number = _int(fields, "vlanid")
        if number is not None and key != f"Vlan{number}":
            text = f"vlanid {number} is not the number in the key {key[:20]}"
            rows.defect("R9", (*where, "vlanid"), f"VLAN|{key}"[:120], text)
    for key, where, _ in rows.rows("SUPPRESS_VLAN_NEIGH"):
        if key not in device.vlans:
            rows.defect("R1", where, f"SUPPRESS_VLAN_NEIGH|{key}", f"VLAN '{key[:40]}' is not in the file")
    for key, where, fields in rows.rows("VLAN_MEMBER"):
        name, _, member = key.partition("|")
        vlan = device.vlans.get(name)
        if vlan is None:
            rows.defect("R1", where, f"VLAN_MEMBER|{key}", f"VLAN '{name[:40]}' is not in the file")
            for port in device.ports.values():
                port.trunk = port.trunk or port.name == member
        else:
            vlan.members = (*vlan.members, member)
            if fields.get("tagging_mode") == "untagged":
                for port in device.ports.values():
                    if member in (port.name, port.lag):
                        port.vlan = name.removeprefix("Vlan")
            if not member.startswith("PortChannel"):
                list(rows.ports("VLAN_MEMBER", member, where))
