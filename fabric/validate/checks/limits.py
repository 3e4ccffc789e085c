"""M13 to M15, W11: settings of a whole switch or port that make RoCE lossy or slow, whatever the maps say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.model import Limit
from fabric.validate.checks.base import Check, E, Found, I, Severity, W, check, listed, shows, whole_file
from fabric.validate.checks.entries import pause_roots
from fabric.validate.facts import Facts, Line
from fabric.validate.remedies import remove_field, remove_limit

_GLOBAL: Final = ("PFC_WD", "GLOBAL")


@check(
    "M15",
    E,
    "a shaper on a lossless queue",
    condition="no shaper holds a lossless queue, or its port, below the port's speed (warning where the rate or the "
    "speed is not known; note where the shaper is not below it)",
    consequence="the queue grows at every load above the shaper's rate: marks and pauses start on a link that has room",
    remedy="remove the shaper, or state a rate that is not below the port's speed",
    source="SAI saischeduler.h (MAX_BANDWIDTH_RATE); IEEE 802.1Q clause 8.6.8",
    leads_to="M9 M11",
)
def M15(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Per lossless queue, and once for a shaper of the whole port."""
    for line in facts.lossless:
        if line.port.limit is not None:
            yield _limited(line, line.port.limit, line.port.name, "the port")
        for priority, queue, bound in facts.lossless_queues(line):
            if bound is not None and bound.limit is not None:
                found = _limited(line, bound.limit, f"{line.port.name}|{queue}", f"lossless queue {queue}")
                yield Found(
                    found.device,
                    found.object,
                    found.text,
                    found.evidence,
                    found.severity,
                    rests_on=pause_roots(facts, line, priority),
                    fix=found.fix,
                )


def _limited(line: Line, limit: Limit, name: str, what: str) -> Found:
    speed, rate = line.port.speed_mbps, limit.rate_mbps(line.port.speed_mbps)
    severity: Severity = W
    if limit.packets or rate is None:
        text = f"{what} has a shaper" + (" in packets per second" if limit.packets else "")
    else:
        text = f"{what} is held to {rate / 1000:g} Gb/s"
        if speed is not None:
            severity = E if rate < speed else I
            text += f" at a port of {speed / 1000:g} Gb/s"
    shown = "" if rate is None else f"{rate:g} Mb/s"
    return Found(
        line.device.name,
        name,
        text,
        (
            shows(line.device, limit.where, limit.field, shown),
            shows(line.device, line.port.where, "speed", "not stated" if speed is None else speed),
        ),
        severity,
        fix=remove_limit(line.device, limit),
    )


@check(
    "W11",
    E,
    "the watchdog's big red switch is on",
    condition="BIG_RED_SWITCH is not enabled while a port has PFC",
    consequence="every lossless queue of every port drops what it gets, storm or not",
    remedy="disable BIG_RED_SWITCH",
    source="sonic-swss pfcwdorch.cpp (enableBigRedSwitchMode)",
    leads_to="W1 W2 W3 W4",
)
def W11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once per switch."""
    for device in facts.devices:
        lines = facts.lossless_of(device)
        if device.drops_lossless and lines:
            priorities = listed({priority for line in lines for priority in line.port.lossless})
            yield Found(
                device.name,
                "PFC_WD|GLOBAL",
                f"BIG_RED_SWITCH is on: {len(lines)} ports drop priority {priorities}",
                (
                    shows(device, _GLOBAL, "BIG_RED_SWITCH", "enable"),
                    *(shows(line.device, line.port.qos_where, "pfc_enable", priorities) for line in lines[:3]),
                ),
                fix=remove_field(device, _GLOBAL, "BIG_RED_SWITCH"),
            )


@check(
    "M13",
    W,
    "global and port DSCP maps differ",
    condition="the global map equals the ports' map",
    consequence="tunnelled and CPU traffic is classified differently",
    remedy="use one map",
    source="sonic-swss qosorch.cpp (switch-level DSCP map)",
)
def M13(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """By content, not by name."""
    for device in facts.devices:
        if not device.capabilities.tables:  # elsewhere it is the map of ports without one, and of nothing else
            continue
        whole = device.maps.get("dscp_to_tc", {}).get(device.global_maps.get("dscp_to_tc", ""))
        for line in facts.lossless_of(device) if whole else ():
            own = device.map_of(line.port, "dscp_to_tc")
            if own is not None and whole is not None and own.entries != whole.entries:
                yield Found(
                    device.name,
                    line.port.name,
                    f"'{own.name}' here, '{whole.name}' for the whole switch",
                    (shows(device, own.where, "", ""), shows(device, whole.where, "", "")),
                )


@check(
    "M14",
    W,
    "a switch without a lossless port",
    condition="at least one port of the switch is up and has PFC",
    consequence="RoCE is lossy there, and the checks of PFC, buffers and ECN had nothing to judge: silence says "
    "nothing (error where links of the switch are known and all its ports are down)",
    remedy="bring the ports up, enable PFC, or leave the file out",
    source="sonic-port.yang (admin_status: down)",
    leads_to="L1 L9 N1 M1",
)
def M14(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """So that a file without the part that matters is not taken for a good one."""
    for device in facts.devices:
        if facts.lossless_of(device):
            continue
        some_up = any(it.admin_up for it in device.ports.values())
        if not device.ports:
            text, severity = "no port is in the file", W
        elif not some_up:
            absent = "; admin_status is down where it is absent" if device.capabilities.down_by_default else ""
            text = f"none of {len(device.ports)} ports is up{absent}"
            severity = E if device.name in facts.linked else W
        else:
            text, severity = "no port in use has PFC", W
        port = next(iter(device.ports.values()), None)
        shut = [] if some_up else [(device.name, it.where) for it in device.ports.values()]
        where = () if port is None else port.pfc_where or port.qos_where or port.where
        yield Found(
            device.name,
            "ports",
            text,
            () if port is None else (shows(device, where, "", ""),),
            severity,
            root=None if port is None else (device.name, where[:1]),
            rests_on=(whole_file(device), (device.name, ("interface",))),
            within=[*([] if port is None else [(device.name, where)]), *shut],
        )


MAP_CHECKS: Final[tuple[Check, ...]] = (M13, M14, M15)
WATCHDOG_CHECKS: Final[tuple[Check, ...]] = (W11,)
