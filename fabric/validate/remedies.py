"""The change that repairs a finding: the field, its value, and the command in the language of that switch.

`commands.py` spells one field of a construct. SONiC: `config`, `ecnconfig` and `pfcwd` of sonic-utilities where they
have a command for the field, else a write to CONFIG_DB by `sonic-db-cli`. Cumulus: `nv set`, which `nv config apply`
puts in force. EOS and NX-OS: configuration mode. Where a language states the value in a way that one command cannot
change, the command is '' and `manual.py` says why.
Sources: sonic-utilities doc/Command-Reference.md; NVUE, EOS and NX-OS command references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Final

from fabric.configs.hosts.capture import DSCP_SHIFT, Mark
from fabric.configs.model import TRUST_COS, Curve, Device, Limit, Meant, Port, Where
from fabric.configs.network import Host
from fabric.validate.commands import (
    bind_marking,
    block_lines,
    classified,
    curve_command,
    field_command,
    limit_command,
    nvue_words,
    pfc_command,
    row_command,
    unmarked,
)
from fabric.validate.commands import quoted as _quoted
from fabric.validate.edits import BETWEEN_COMMANDS, BETWEEN_LINES, Row, rows
from fabric.validate.field_words import field_word, value_word

_LARGEST_MTU: Final = {"eos": 9214, "nxos": 9216, "nvue": 9216}
_FEC: Final = "error-correction encoding"
_RS, _FC = f"{_FEC} reed-solomon", f"{_FEC} fire-code"
_FIELD_DEPTH: Final = 3
"""Words of the path of a field of CONFIG_DB: table, key, field."""
_ROW_DEPTH: Final = 2
"""Words of the path of a row: table, key."""
_MOST_ROWS: Final = 16
"""Writes of one command that is shown; a longer one is in the patch of --fix alone."""
_NICCTL_DCQCN: Final = {"Rate increase in AI phase": "ai-rate", "Rate increase in HAI phase": "hai-rate"}
"""Parameters whose option of `nicctl update dcqcn` is not their name."""


@dataclass(frozen=True, slots=True)
class Fix:
    """One change of one field."""

    device: str
    field: str
    """As the file has it: 'DSCP_TO_TC_MAP|M|26'."""
    value: str
    command: str = ""
    rows: tuple[Row, ...] = ()
    """The same change as rows, for a switch with tables and for a hosts file."""
    source: str = ""
    """Where the value is from; '' where the rule of the check gives it."""
    what: str = ""
    """The change in words; '': 'set FIELD to VALUE'."""
    file: str = ""
    """The file that its lines go into, where that is not the switch's own but one of FRR beside it."""
    in_file: tuple[str, ...] = ()
    """Statements that make the change in the file, where they are others than the command's: no switch has the part
    of a file that it refused."""

    def __str__(self) -> str:
        return f"{self.device}: {self.what or f'set {self.field} to {self.value}'}"


def set_field(device: Device, where: Where, field: str, value: object, command: str = "") -> Fix:
    """Any field, by the language's own line for it."""
    command = command or field_command(device, where, field, value)
    path = (*where, field) if field != where[-1] else where
    row = (Row(path, str(value)),) if device.capabilities.tables and len(path) == _FIELD_DEPTH else ()
    return Fix(device.name, _shown(device, where, field), value_word(device.language, value), command, row)


def _shown(device: Device, where: Where, *fields: str) -> str:
    """A field with its construct, in the words of the switch's language."""
    return "|".join((*where[-2:], ", ".join(field_word(device.language, it) for it in fields)))


def set_fields(device: Device, where: Where, values: Mapping[str, object]) -> Fix:
    """Several fields of one construct, which belong together."""
    fixes = [set_field(device, where, field, value) for field, value in values.items()]
    between = BETWEEN_LINES if device.capabilities.blocks_of_lines else BETWEEN_COMMANDS
    return Fix(
        device.name,
        _shown(device, where, *values),
        ", ".join(it.value for it in fixes),
        between.join(it.command for it in fixes) if all(it.command for it in fixes) else "",
        tuple(row for it in fixes for row in it.rows),
    )


def bind_headroom(device: Device, where: Where, name: str, fields: Mapping[str, object]) -> Fix:
    """A new lossless profile, and the priority groups of one key bound to it (SONiC)."""
    profile = set_fields(device, ("BUFFER_PROFILE", name), fields)
    bound = set_field(device, where, "profile", name)
    command = f"{profile.command}{BETWEEN_COMMANDS}{bound.command}"
    return Fix(device.name, bound.field, name, command, (*profile.rows, *bound.rows))


def spelled_right(device: Device, meant: Collection[Meant]) -> Fix | None:
    """Mistyped parts of a file as they were meant; None where that is not known.

    The command states what was meant. It removes what was mistyped only from SONiC's database, which takes any field;
    other switches refused it.
    """
    its = list(meant)
    if not its:
        return None
    shown = "|".join(its[0].new[-2:])
    value = ", ".join(dict.fromkeys(it.value for it in its if it.value)) or its[0].new[-1]
    if device.capabilities.tables:
        changed = tuple(row for it in its for row in (*([Row(it.old, None)] if it.old else []), Row(it.new, it.value)))
        if len(its[0].old) == _ROW_DEPTH:
            return _renamed(device, its[0], changed)
        command = BETWEEN_COMMANDS.join(row_command(it.path, it.value) for it in changed)
        return Fix(device.name, "|".join(its[0].new), value, command, changed)
    if device.capabilities.shell_statements:
        wanted = [f"nv set {' '.join(map(quote, filter(None, (*it.new, it.value))))}" for it in its]
        gone = dict.fromkeys(f"nv unset {' '.join(map(quote, _wrong(it)))}" for it in its)
        wrong, right = _wrong(its[0])[-1], its[0].new[len(_wrong(its[0])) - 1]
        what = f"write '{right}' in place of '{wrong}'" if len(its) > 1 else ""
        return Fix(device.name, shown, value, BETWEEN_COMMANDS.join(wanted), what=what, in_file=(*gone, *wanted))
    wanted = [line for it in its for line in it.new]
    gone_first = [(*it.old[:-1], f"no {it.old[-1]}", it.new[-1]) if it.old else it.new for it in its if its[0].old]
    in_file = tuple(line for those in gone_first for line in those)
    return Fix(device.name, shown, value, BETWEEN_LINES.join(wanted), what=written(its[0]), in_file=in_file)


def _wrong(meant: Meant) -> Where:
    """The mistyped word with the path to it: below it nothing stays."""
    pairs = zip(meant.old, meant.new, strict=False)
    same = next((at for at, (old, new) in enumerate(pairs) if old != new), len(meant.old) - 1)
    return meant.old[: same + 1]


def _renamed(device: Device, first: Meant, changed: tuple[Row, ...]) -> Fix:
    """Rows of a mistyped table in the one that was meant; many are a list of commands that nobody reads."""
    moved = [
        it for it in changed if it.value is not None and (len(it.path) > _ROW_DEPTH or not _has_fields(it, changed))
    ]
    gone = [it for it in changed if it.value is None]
    its = (*moved, *gone)
    command = BETWEEN_COMMANDS.join(row_command(it.path, it.value) for it in its) if len(its) <= _MOST_ROWS else ""
    old, new = first.old[0], first.new[0]
    return Fix(device.name, old, new, command, changed, what=f"rename the table {old} to {new}")


def _has_fields(row: Row, rows: Iterable[Row]) -> bool:
    return any(it.path[:-1] == row.path for it in rows)


def written(meant: Meant) -> str:
    """A line that was meant, with the block that it is in, as a change in words."""
    return f"write '{meant.new[-1]}'" + (f" in '{meant.new[-2]}'" if len(meant.new) > 1 else "")


def remove_limit(device: Device, limit: Limit) -> Fix:
    """Take a shaper away."""
    row = (Row((*limit.where, limit.field), None),) if device.capabilities.tables else ()
    shown = "|".join((*limit.where[-2:], limit.field))
    return Fix(device.name, shown, "nothing (remove it)", limit_command(device, limit), row)


def remove_field(device: Device, where: Where, field: str) -> Fix:
    """Take a field away, so that the default acts."""
    command = (
        f"sonic-db-cli CONFIG_DB HDEL {_quoted('|'.join(where))} {_quoted(field)}"
        if device.capabilities.tables and len(where) == 2
        else ""
    )
    row = (Row((*where, field), None),) if command else ()
    return Fix(device.name, _shown(device, where, field), "nothing (remove it)", command, row)


def set_map(device: Device, port: Port, kind: str, key: int, value: int, used: Collection[int] = ()) -> Fix:
    """One entry of a map; without a map of that kind the name of the table is all that is known.

    `used`: DSCPs that traffic is known to have, for languages in which a class has them; () where that is not known.
    """
    found = device.map_of(port, kind)
    if found is None:
        return Fix(device.name, kind, f"a map that has {key} -> {value}")
    if found.name.startswith(TRUST_COS):  # no entry helps until the DSCP is trusted
        return set_field(device, found.where, "qos trust", "dscp", f"{' '.join(found.where)}; qos trust dscp")
    command = {
        ("eos", "dscp_to_tc"): f"qos map dscp {key} to traffic-class {value}" if found.name == "default" else "",
        ("eos", "tc_to_queue"): f"qos map traffic-class {key} to tx-queue {value}",
        ("eos", "tc_to_dscp"): f"qos map traffic-class {key} to dscp {value}",
        ("nxos", "dscp_to_tc"): classified(found, key, value, used),
        ("nxos", "dscp_to_dscp"): unmarked(device, found, key),
        ("eos", "dscp_to_dscp"): unmarked(device, found, key),
        ("nvue", "tc_to_dscp"): f"nv set qos remark {_quoted(found.name)} switch-priority {key} dscp {value}",
        ("nvue", "dscp_to_tc"): f"nv set qos mapping {_quoted(found.name)} dscp {key} switch-priority {value}",
        ("nvue", "tc_to_queue"): f"nv set qos egress-queue-mapping {_quoted(found.name)} switch-priority {key} "
        f"traffic-class {value}",
    }.get((device.language, kind), "")
    return set_field(device, found.where, str(key), value, command)


def set_pfc(device: Device, port: Port, priorities: Iterable[int]) -> Fix:
    """The PFC priorities of one port, and on a switch with tables those that its watchdog looks at (check W1)."""
    wanted = frozenset(priorities)
    value = ",".join(map(str, sorted(wanted))) or "none"
    on, off = sorted(wanted - port.lossless), sorted(port.lossless - wanted)
    changes = [(priority, True) for priority in on] + [(priority, False) for priority in off]
    elsewhere = any(other.lossless == wanted for other in device.ports.values())
    command = pfc_command(device, port, changes, elsewhere=elsewhere)
    if device.capabilities.tables:
        where = port.qos_where or ("PORT_QOS_MAP", port.name)
        pfc = set_field(device, where, "pfc_enable", value, command)
        if port.watchdog is None or wanted <= port.watched:
            return pfc
        watched = set_field(device, where, "pfcwd_sw_enable", value)
        return Fix(
            device.name,
            f"{pfc.field}, pfcwd_sw_enable",
            f"{pfc.value}, {watched.value}",
            BETWEEN_COMMANDS.join((pfc.command, watched.command)),
            (*pfc.rows, *watched.rows),
        )
    place = f"{port.name} PFC priorities"
    if command.startswith("policy-map"):
        place = "|".join(port.pfc_where)
    elif device.capabilities.shell_statements and "pfc" in port.qos_where:  # a profile, which other ports may have, too
        place = "|".join((*nvue_words(port.qos_where).split(), "switch-priority"))
    return Fix(device.name, place, value, command)


def set_port(device: Device, port: Port, field: str, value: object) -> Fix:
    """mtu, speed (Mb/s), fec or admin_status of one port."""
    shown, name = str(value), _quoted(port.name)
    if field == "mtu" and port.mtu_where:
        return _lag_mtu(device, port, shown)
    if field == "mtu":
        shown = str(min(int(shown), _LARGEST_MTU.get(device.language, int(shown))))
    gigabits = f"{int(shown) // 1000}g" if field == "speed" else ""
    words: dict[tuple[str, str], str] = {
        ("sonic", "mtu"): f"config interface mtu {name} {shown}",
        ("sonic", "speed"): f"config interface speed {name} {shown}",
        ("sonic", "fec"): f"config interface fec {name} {shown}",
        ("sonic", "admin_status"): f"config interface startup {name}",
        ("nvue", "mtu"): f"nv set interface {name} link mtu {shown}",
        ("nvue", "speed"): f"nv set interface {name} link speed {gigabits.upper()}",
        ("nvue", "fec"): f"nv set interface {name} link fec {shown}",
        ("nvue", "admin_status"): f"nv set interface {name} link state up",
        ("eos", "fec"): _on_port(port, {"rs": _RS, "fc": _FC, "none": f"no {_FEC}"}.get(shown, "")),
        ("nxos", "fec"): _on_port(port, {"rs": "fec rs-fec", "fc": "fec fc-fec", "none": "fec off"}.get(shown, "")),
        ("sonic", "pfc_asym"): f"config interface pfc asymmetric {name} {shown}",
        ("eos", "mtu"): _on_port(port, f"mtu {shown}"),
        ("nxos", "mtu"): _on_port(port, f"mtu {shown}"),
        ("eos", "admin_status"): _on_port(port, "no shutdown"),
        ("nxos", "admin_status"): _on_port(port, "no shutdown"),
        ("eos", "speed"): _on_port(port, f"speed {gigabits}-{_lanes(device, port, shown)}"),
        ("nxos", "speed"): _on_port(port, f"speed {shown}"),
    }
    return set_field(device, port.where, field, shown, words.get((device.language, field), ""))


def _lanes(device: Device, port: Port, mbps: str) -> int:
    """Lanes that most ports of a switch have at a speed; those of the port where none has it."""
    same = Counter(it.lanes for it in device.ports.values() if it is not port and str(it.speed_mbps) == mbps)
    return same.most_common(1)[0][0] if same else port.lanes


def largest_mtu(device: Device) -> int | None:
    """The largest MTU that a port takes; None where it is the chip's, and not known."""
    return _LARGEST_MTU.get(device.language)


def _lag_mtu(device: Device, port: Port, shown: str) -> Fix:
    """The MTU of a LAG, which its members have from it."""
    shown = str(min(int(shown), _LARGEST_MTU.get(device.language, int(shown))))
    lag = port.lag or ""
    command = {
        "sonic": f"sonic-db-cli CONFIG_DB HSET {_quoted(f'PORTCHANNEL|{lag}')} mtu {shown}",
        "nvue": f"nv set interface {_quoted(lag)} link mtu {shown}",
        "eos": f"interface {lag}; mtu {shown}",
        "nxos": f"interface {lag}; mtu {shown}",
    }[device.language]
    return set_field(device, port.mtu_where, "mtu", shown, command)


def set_cable(device: Device, port: Port, metres: int) -> Fix:
    """The cable length of one port."""
    where = port.cable_where or ("CABLE_LENGTH", "AZURE", port.name)
    command = {
        "sonic": f"config interface cable-length {_quoted(port.name)} {metres}m",
        "nvue": f"nv set {nvue_words(where)} {metres}" if where[-1:] == ("cable-length",) else "",
    }.get(device.language, "")
    row = (Row(where, f"{metres}m"),) if device.capabilities.tables and len(where) == _FIELD_DEPTH else ()
    return Fix(device.name, "|".join(where[-3:]), f"{metres}m", command, row)


def start_watchdog(device: Device, port: Port, milliseconds: int = 200) -> Fix:
    """A PFC watchdog that drops."""
    command = {
        "sonic": f"pfcwd start --action drop {_quoted(port.name)} {milliseconds} --restoration-time {milliseconds}",
        "nvue": f"nv set interface {_quoted(port.name)} qos pfc-watchdog state enable",
        "eos": "; ".join(
            (*(block_lines(port.qos_where) or (f"interface {port.name}",)), "priority-flow-control pause watchdog")
        ),
        "nxos": "priority-flow-control watch-dog-interval on; "
        + _on_port(port, "priority-flow-control watch-dog-interval on"),
    }.get(device.language, "")
    if not device.capabilities.tables:
        return Fix(device.name, f"{port.name} watchdog", "drop", command)
    fields = {"action": "drop", "detection_time": milliseconds, "restoration_time": milliseconds}
    return Fix(device.name, f"PFC_WD|{port.name}", "drop", command, rows("PFC_WD", port.name, fields))


def set_curve(device: Device, name: str, where: Where, kmin_bytes: int, kmax_bytes: int) -> Fix:
    """Both marking thresholds of green traffic."""
    command = curve_command(device, name, where, kmin_bytes, kmax_bytes)
    values = {"green_min_threshold": kmin_bytes, "green_max_threshold": kmax_bytes}
    tables = device.capabilities.tables
    row = tuple(Row((*where, field), str(value)) for field, value in values.items()) if tables else ()
    fields = ", ".join(values) if tables else "Kmin, Kmax"
    return Fix(device.name, "|".join((*where[-2:], fields)), f"{kmin_bytes}, {kmax_bytes}", command, row)


def set_pause(device: Device, port: Port) -> Fix:
    """Take 802.3x pause away, which excludes PFC."""
    command = {
        "eos": _on_port(port, "no flowcontrol send", "no flowcontrol receive"),
        "nxos": _on_port(port, "no flowcontrol send on", "no flowcontrol receive on"),
        "nvue": f"nv unset interface {_quoted(port.name)} qos link-pause && nv unset qos link-pause default-global",
    }.get(device.language, "")
    return Fix(device.name, f"{port.name} 802.3x pause", "off", command)


def set_pfc_mode(device: Device, port: Port) -> Fix:
    """PFC that does not depend on DCBX."""
    command = {"nxos": _on_port(port, "priority-flow-control mode on")}.get(device.language, "")
    return Fix(device.name, f"{port.name} priority-flow-control mode", "on", command)


def set_class_mtu(device: Device, policy: str, name: str, mtu: int) -> Fix:
    """The largest frame of a lossless class (NX-OS)."""
    lines = f"policy-map type network-qos {policy}", f"class type network-qos {name}", f"mtu {mtu}"
    return Fix(device.name, f"{policy}|{name}|mtu", str(mtu), "; ".join(lines))


def set_marking(device: Device, port: Port, queue: int, curve: Curve, profile: str) -> Fix:
    """A marking profile for a queue that has none; `profile` is one of the same switch, or ''."""
    shown = f"{curve.min_bytes} B, {curve.max_bytes} B"
    bound = profile or next(iter(device.wreds), "")
    command = bind_marking(device, port, queue, curve, bound)
    row = (
        (Row(("QUEUE", f"{port.name}|{queue}", "wred_profile"), bound),) if device.capabilities.tables and bound else ()
    )
    return Fix(device.name, f"{port.name}|{queue}|marking", profile or shown, command, row)


def set_host(host: Host, field: str, value: object, command: str) -> Fix:
    """One setting of a host, as the hosts file names it, and the command on that host."""
    return Fix(host.name, f"{host.name}.{field}", str(value), command, (Row((host.name, field), str(value)),))


def interface_of(host: Host) -> str:
    """The interface of a host's NIC; the word INTERFACE where no output names it."""
    own = "" if host.captured is None else host.captured.interface
    return own if own and own[:1] not in "@#" else "INTERFACE"


def device_of(host: Host) -> str:
    """The RDMA device of a host's NIC; the word DEVICE where no output names it."""
    return (host.captured and host.captured.device) or "DEVICE"


def tool_of(host: Host) -> str:
    """The vendor's tool that changes a host's NIC: 'mlnx_qos' where nothing is known."""
    return (host.captured and host.captured.tool) or "mlnx_qos"


def _niccli(host: Host) -> str:
    number = "" if host.captured is None else host.captured.selector
    return f"niccli --dev {number.lstrip('#') or 'NUMBER'} qos"


def set_host_dscp(host: Host, dscp: int) -> Fix:
    """The DSCP by which a host marks RoCE (rdma-core's and MLNX_OFED's tools take the TOS byte)."""
    tos = dscp << DSCP_SHIFT
    return set_host(host, "roce_dscp", dscp, f"cma_roce_tos -d {device_of(host)} -t {tos}")


def set_host_pfc(host: Host, priorities: Iterable[int]) -> Fix:
    """The priorities of a host's NIC with PFC."""
    wanted = set(priorities)
    mask = ",".join("1" if priority in wanted else "0" for priority in range(8))
    value = ",".join(map(str, sorted(wanted))) or "none"
    if tool_of(host) == "nicctl":
        old = host.pfc_enable or frozenset()
        words = [(priority, "enable") for priority in sorted(wanted - old)]
        words += [(priority, "disable") for priority in sorted(old - wanted)]
        command = "; ".join(f"nicctl update qos pfc --priority {it} --no-drop {word}" for it, word in words)
    elif tool_of(host) == "niccli":
        command = f"{_niccli(host)} --pfc --enable {value if wanted else '0xFF'}"
    else:
        command = f"mlnx_qos -i {interface_of(host)} --pfc {mask}"
    return set_host(host, "pfc_enable", value, command)


def set_host_trust(host: Host, trust: str) -> Fix:
    """What a host's NIC takes the priority of a packet from: 'dscp' or 'pcp'."""
    command = f"mlnx_qos -i {interface_of(host)} --trust {trust}"
    if tool_of(host) == "nicctl":
        command = f"nicctl update qos --classification-type {trust}"
    return set_host(host, "trust", trust, command)


def set_host_ecn(host: Host, field: str, priority: int) -> Fix:
    """Notification or reaction point of a host's NIC for one priority (mlx5 sysfs; AMD: the DCQCN profile)."""
    point = "roce_np" if "_np_" in field else "roce_rp"
    command = {
        "nicctl": f"nicctl update dcqcn --roce-device {device_of(host)} --profile-id 1",
        "niccli": f"echo 1 > /sys/kernel/config/bnxt_re/{device_of(host)}/ports/1/cc/ecn_enable",
    }.get(tool_of(host), f"echo 1 > /sys/class/net/{interface_of(host)}/ecn/{point}/enable/{priority}")
    return set_host(host, field, priority, command)


def set_host_cnp(host: Host, dscp: int) -> Fix:
    """The DSCP of a host's CNPs (mlx5 sysfs; AMD: the DCQCN profile; Broadcom: configfs)."""
    command = {
        "nicctl": f"nicctl update dcqcn --roce-device {device_of(host)} --profile-id 1 --cnp-dscp {dscp}",
        "niccli": f"echo {dscp} > /sys/kernel/config/bnxt_re/{device_of(host)}/ports/1/cc/cnp_dscp",
    }.get(tool_of(host), f"echo {dscp} > /sys/class/net/{interface_of(host)}/ecn/roce_np/cnp_dscp")
    return set_host(host, "cnp_dscp", dscp, command)


def set_host_map(host: Host, dscp: int, priority: int) -> Fix:
    """The priority that a host's NIC gives a DSCP."""
    command = {
        "nicctl": f"nicctl update qos dscp-to-priority --dscp {dscp} --priority {priority}",
        "niccli": f"{_niccli(host)} --apptlv --add --app {priority},5,{dscp}",
    }.get(tool_of(host), f"mlnx_qos -i {interface_of(host)} --dscp2prio set,{dscp},{priority}")
    return set_host(host, f"dscp2prio {dscp}", priority, command)


def set_tclass(host: Host, mark: Mark, dscp: int) -> Fix:
    """The traffic class that a library asks for: the TOS byte of the DSCP."""
    tos = dscp << DSCP_SHIFT
    command = (
        f"{mark.variable} -t {tos}" if mark.variable.startswith("cma_roce_tos") else f"export {mark.variable}={tos}"
    )
    return set_host(host, mark.variable, tos, command)


def set_gid(host: Host, variable: str, index: int) -> Fix:
    """The entry of the GID table that a library takes."""
    return set_host(host, variable, index, f"export {variable}={index}")


def set_override(host: Host, device: str, dscp: int) -> Fix:
    """The traffic class of every connection of an RDMA device (mlx5)."""
    tos = dscp << DSCP_SHIFT
    path = f"/sys/class/infiniband/{device or 'DEVICE'}/tc/1/traffic_class"
    return set_host(host, f"traffic_class of {device or 'DEVICE'}", tos, f"echo {tos} > {path}")


def set_vf_priority(host: Host, words: str, priority: int) -> Fix:
    """The 802.1Q priority of a VF's VLAN; `words`: 'vf 0 vlan 100, qos 0', as `ip link` lists it."""
    vf, _, vlan = words.partition(" vlan ")
    command = f"ip link set {interface_of(host)} {vf} vlan {vlan.partition(',')[0]} qos {priority}"
    return set_host(host, f"{vf} qos", priority, command)


def set_buffers(host: Host, lossless: Iterable[int]) -> Fix:
    """A receive buffer of its own for the priorities with PFC (mlx5)."""
    own = set(lossless)
    wanted = ",".join("1" if priority in own else "0" for priority in range(8))
    return set_host(host, "prio2buffer", wanted, f"mlnx_qos -i {interface_of(host)} --prio2buffer {wanted}")


def set_dcqcn(host: Host, name: str, value: int) -> Fix:
    """One parameter of DCQCN by its vendor's name."""
    if "/" in name:
        return set_host(host, name, value, f"echo {value} > /sys/class/net/{interface_of(host)}/ecn/{name}")
    option = _NICCTL_DCQCN.get(name, name.lower().replace(" ", "-"))
    command = f"nicctl update dcqcn --roce-device {device_of(host)} --profile-id 1 --{option} {value}"
    return set_host(host, name, value, command)


def _on_port(port: Port, *lines: str) -> str:
    return "; ".join((f"interface {port.name}", *lines))
