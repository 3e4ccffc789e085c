"""W: the PFC watchdog: is it there, does it look at the right queues, do its times fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Final

from fabric.configs.model import Device, Where
from fabric.configs.network import Host
from fabric.configs.watchdogs import poll_ms
from fabric.validate.checks.base import Check, E, Found, I, W, check, listed, shows
from fabric.validate.checks.entries import pfc_root
from fabric.validate.facts import Facts
from fabric.validate.field_words import field_word
from fabric.validate.remedies import Fix, set_field, set_fields, start_watchdog

_MIGRATED: Final = (3, 0, 3)
"""db_migrator copies pfc_enable to pfcwd_sw_enable when it leaves this version."""
_HOPS: Final = 3
_TIMEOUT, _RETRIES = 14, 7
"""RDMA transport settings that most libraries start with: 67 ms, seven times."""
_PATIENT_TIMEOUT: Final = 18
"""NCCL's IB timeout before 2.23, which has 20 since."""
_USUAL_FACTOR: Final = 2
"""`pfcwd start` without a restoration time takes twice the detection time."""
_DEFAULT_MS: Final = 200
_MAX_POLL_MS: Final = 1000
_POLLS: Final = 2
"""That have to fit into each time of a watchdog whose poll is shortened otherwise."""


@check(
    "W1",
    E,
    "the watchdog does not look at a lossless priority",
    condition="pfcwd_sw_enable covers pfc_enable",
    consequence="the watchdog is configured but never starts on that queue: a storm is not contained",
    remedy="let the watchdog look at every priority with PFC",
    source="sonic-swss pfcwdorch.cpp l.62-92",
)
def W1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Info for files so old that the upgrade repairs them."""
    for line in facts.lossless:
        missing = line.port.lossless - line.port.watched
        if line.port.watchdog is not None and missing:
            old = line.device.schema_version is not None and line.device.schema_version <= _MIGRATED
            absent = ",".join(map(str, sorted(missing)))
            yield Found(
                line.device.name,
                line.port.name,
                f"watchdog on, but not for priority {absent}" + (" (db_migrator will add it)" if old else ""),
                (
                    shows(
                        line.device,
                        line.port.qos_where,
                        "pfcwd_sw_enable",
                        ",".join(map(str, sorted(line.port.watched))) or "empty",
                    ),
                    shows(line.device, line.port.watchdog.where, "", ""),
                ),
                I if old else E,
                rests_on=(pfc_root(line),),
                fix=set_field(line.device, line.port.qos_where, "pfcwd_sw_enable", listed(line.port.lossless)),
            )


@check(
    "W2",
    W,
    "no watchdog on a lossless port",
    condition="every lossless port in use has a PFC watchdog",
    consequence="one NIC or peer that pauses for ever freezes the fabric (error at ports to hosts)",
    remedy="start a PFC watchdog that drops",
    source="Guo et al., SIGCOMM 2016, section 4.3",
)
def W2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """default_pfcwd_status starts it everywhere. A switch without any is one mistake, as bad as at its worst port."""
    without: dict[str, list[bool]] = {}
    for line in facts.lossless:
        without.setdefault(line.device.name, []).append(line.port.watchdog is None)
    exposed = {line.device.name for line in facts.lossless if facts.faces_host(line)}
    for line in facts.lossless:
        if line.port.watchdog is None and not line.device.watchdog_default:
            bad = facts.faces_host(line) or (all(without[line.device.name]) and line.device.name in exposed)
            times = line.device.watchdog_times
            also = ": the switch's default times act only at ports that have one" if times else ""
            yield Found(
                line.device.name,
                line.port.name,
                f"no PFC watchdog{also}",
                (
                    shows(line.device, line.port.qos_where or line.port.where, "", ""),
                    *((shows(line.device, times, "", "", "default times"),) if times else ()),
                ),
                E if bad else W,
                rests_on=((line.device.name, ("PFC_WD", line.port.name)),),
                fix=start_watchdog(line.device, line.port),
            )


def _raised(facts: Facts, device: Device, where: Where, short: Sequence[str], poll: int) -> Fix:
    """Both times of a port that are short; a poll that is longer than every time of the switch is what is odd."""
    place = ("PFC_WD", "GLOBAL") if device.capabilities.tables else where
    of = [line.port.watchdog for line in facts.used if line.device is device]
    times = [it for own in of if own is not None for it in (own.detection_ms, own.restoration_ms) if it]
    if device.capabilities.watchdog_poll_halved:
        return set_field(device, place, "POLL_INTERVAL", max(1, min(times) // _POLLS))
    if times and max(times) < poll and device.watchdog_poll_ms is not None:
        return set_field(device, place, "POLL_INTERVAL", min(times))
    return set_fields(device, where, dict.fromkeys(short, poll))


@check(
    "W3",
    E,
    "watchdog times shorter than its poll",
    condition="detection and restoration >= poll interval; on EOS, which shortens the poll instead of refusing the "
    "times, >= two of them where the file states the poll (warn)",
    consequence="the switch refuses the times, and the port has no watchdog; detection is counted in polls",
    remedy="raise the time or shorten the poll",
    source="sonic-pfcwd.yang; Cisco Nexus 9000 NX-OS QoS Configuration Guide, PFC watchdog (times are multiples of the "
    "poll)",
)
def W3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Both times of every port with a watchdog."""
    for line in facts.used:
        own, its = line.port.watchdog, line.device.capabilities
        if own is None or (its.watchdog_poll_halved and line.device.watchdog_poll_ms is None):
            continue
        poll = poll_ms(line.device)
        least = _POLLS * poll if its.watchdog_poll_halved else poll
        times = (("detection_time", own.detection_ms), ("restoration_time", own.restoration_ms))
        short = [(name, value) for name, value in times if value is not None and value < least]
        if short:
            text = ", ".join(f"{field_word(line.device.language, name)} {value} ms" for name, value in short)
            text += f" < {'two polls of' if its.watchdog_poll_halved else 'poll'} {poll} ms"
            if its.watchdog_poll_halved:
                text += f": the switch polls every {poll_ms(line.device, own)} ms"
            yield Found(
                line.device.name,
                line.port.name,
                text,
                (
                    *(shows(line.device, own.where, name, value) for name, value in short),
                    shows(
                        line.device,
                        ("PFC_WD", "GLOBAL") if its.tables else own.where,
                        "POLL_INTERVAL",
                        poll if line.device.watchdog_poll_ms is not None else f"{poll} (the system's own)",
                    ),
                ),
                W if its.watchdog_poll_halved else E,
                fix=_raised(facts, line.device, own.where, [name for name, _ in short], poll),
            )


@check(
    "W4",
    W,
    "a stormed queue is restored too late, or never",
    condition="the restoration time is set unless the action is alert; not above both twice the detection time and "
    "4.096 us x 2^timeout x retries of the hosts' RDMA transport",
    consequence="after a storm the queue drops or forwards until an operator intervenes, or for so long that "
    "connections of hosts fail although the storm has ended",
    remedy="set the restoration time to the detection time",
    source="sonic-swss pfcwdsworch.cpp l.245, pfc_restore.lua l.24; sonic-utilities pfcwd/main.py (once or twice the "
    "detection time)",
)
def W4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Absent means infinite. The time counts from the last pause that arrives, so all of it is lost after a storm."""
    for line in facts.lossless:
        own = line.port.watchdog
        if own is not None and own.restoration_ms is None and own.action != "alert":
            yield Found(
                line.device.name,
                line.port.name,
                "no restoration time: never restored",
                (shows(line.device, own.where, "", ""),),
                within=((line.device.name, own.where),),
                fix=set_field(line.device, own.where, "restoration_time", own.detection_ms or _DEFAULT_MS),
            )
    patience_ms, assumed = _patience(facts)
    for line in facts.lossless:
        own = line.port.watchdog
        if own is None or own.restoration_ms is None or own.action == "alert":
            continue
        detection_ms = own.detection_ms or _DEFAULT_MS
        if own.restoration_ms > max(_USUAL_FACTOR * detection_ms, patience_ms):
            yield Found(
                line.device.name,
                line.port.name,
                f"restored {own.restoration_ms} ms after the storm, hosts give up after {patience_ms:.0f} ms{assumed}",
                (
                    shows(line.device, own.where, "restoration_time", own.restoration_ms),
                    shows(line.device, own.where, "detection_time", own.detection_ms),
                ),
                fix=set_field(line.device, own.where, "restoration_time", detection_ms),
            )


def _patience(facts: Facts) -> tuple[float, str]:
    """How long the least patient host repeats a packet, in milliseconds, and what of it is assumed.

    Where no host states its timeout, that of a library of collective operations is assumed: a long one, so that a time
    which some of them survive is not reported.
    """
    hosts = [it for it in facts.network.stated_hosts.values() if it.rdma_timeout]
    pairs = [(it.rdma_timeout or 0, _retries(it)) for it in hosts] or [(_PATIENT_TIMEOUT, _RETRIES)]
    assumed = "" if hosts else f" (assumed: timeout {_PATIENT_TIMEOUT}, {_RETRIES} retries)"
    return min(0.004096 * 2**timeout * max(1, retries) for timeout, retries in pairs), assumed


def _retries(host: Host) -> int:
    """How often a host repeats a packet: 0 where it says so, the usual number where it says nothing."""
    return _RETRIES if host.rdma_retries is None else host.rdma_retries


@check(
    "W5",
    W,
    "detection within reach of a healthy pause",
    condition="detection > 3 hops x (T(1) + xoff) / rate",
    consequence="a healthy incast is taken for a storm and dropped",
    remedy="raise the detection time",
    source="drain time of a full group at line rate",
)
def W5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At the port's own rate."""
    for line in facts.lossless:
        own, least = line.port.watchdog, facts.smallest_threshold(line.device)
        if own is None or own.detection_ms is None or least is None or not line.port.speed_mbps:
            continue
        longest_ms = _HOPS * (least[0] + least[1].xoff_bytes) * 8 / (line.port.speed_mbps * 1000)
        if own.detection_ms <= longest_ms:
            yield Found(
                line.device.name,
                line.port.name,
                f"detection {own.detection_ms} ms, a healthy pause may last {longest_ms:.0f} ms",
                (shows(line.device, own.where, "detection_time", own.detection_ms),),
                rests_on=[(line.device.name, (*line.port.where, "speed"))],
                fix=set_field(line.device, own.where, "detection_time", ceil((longest_ms + 1) / 100) * 100),
            )


@check(
    "W6",
    W,
    "hosts give up before the watchdog acts",
    condition="detection + poll < 4.096 us x 2^timeout x retries of the hosts' RDMA transport",
    consequence="queue pairs fail before the storm is contained",
    remedy="lower the detection time or raise the timeout",
    source="InfiniBand Architecture, local ACK timeout",
)
def W6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where there is a hosts file; the usual timeout where it does not state one.

    A note where the timeout is assumed and the detection time is what the switch starts with: libraries of collective
    operations raise the timeout (NCCL has 20, 18 before 2.23, 14 before 2.14), so few hosts fail by it.
    """
    hosts = list(facts.network.stated_hosts.values())
    times = [0.004096 * 2 ** (host.rdma_timeout or _TIMEOUT) * max(1, _retries(host)) for host in hosts]
    assumed = "" if any(host.rdma_timeout for host in hosts) else f" (assumed: timeout {_TIMEOUT}, {_RETRIES} retries)"
    for line in facts.lossless if times else ():
        own = line.port.watchdog
        if (
            own is not None
            and own.detection_ms is not None
            and (own.detection_ms + (line.device.watchdog_poll_ms or 0) >= min(times))
        ):
            poll = f" and a poll of {line.device.watchdog_poll_ms} ms" if line.device.watchdog_poll_ms else ""
            yield Found(
                line.device.name,
                line.port.name,
                f"detection {own.detection_ms} ms{poll}, hosts give up after {min(times):.0f} ms{assumed}",
                (shows(line.device, own.where, "detection_time", own.detection_ms),),
                I if assumed and own.detection_ms <= _started_with(line.device) else W,
            )


def _started_with(device: Device) -> int:
    """The detection time that a switch of this language starts with, in milliseconds; 0 where none is published."""
    its = device.capabilities
    steps = 1 + max(0, len(device.ports) - 1) // its.watchdog_ports_per_step if its.watchdog_ports_per_step else 1
    return its.watchdog_default_ms * steps


@check(
    "W7",
    W,
    "watchdog actions differ or are not supported",
    condition="one action per switch; no forward on cisco-8000",
    consequence="later ports are rejected where the chip has one action for all (Broadcom)",
    remedy="use drop everywhere",
    source="sonic-swss pfcwdorch.cpp l.251-283",
    leads_to="W8 W10",
)
def W7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Ports that differ from most."""
    for device in facts.devices:
        lines = [(line, line.port.watchdog) for line in facts.lossless_of(device) if line.port.watchdog]
        if not lines:
            continue
        usual = Counter(own.action for _, own in lines).most_common(1)[0][0]
        for line, own in lines:
            if own.action != usual:
                yield Found(
                    device.name,
                    line.port.name,
                    f"action {own.action}, most ports have {usual}",
                    (shows(device, own.where, "action", own.action),),
                    fix=set_field(device, own.where, "action", usual),
                )
            if own.action == "forward" and "8000" in device.platform and "cisco" in device.platform.lower():
                yield Found(
                    device.name,
                    line.port.name,
                    "action forward is rejected on this platform",
                    (shows(device, own.where, "action", own.action),),
                    E,
                    fix=set_field(device, own.where, "action", "drop"),
                )


@check(
    "W8",
    W,
    "forward at a port to a host",
    condition="action is drop where a host is behind the port",
    consequence="forward ignores the pause: the NIC's buffer overflows",
    remedy="use drop",
    source="SONiC HLD PFC watchdog",
)
def W8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Host ports only."""
    for line in facts.lossless:
        own = line.port.watchdog
        if own is not None and own.action == "forward" and facts.faces_host(line):
            yield Found(
                line.device.name,
                line.port.name,
                "action forward towards a host",
                (shows(line.device, own.where, "action", "forward"),),
                fix=set_field(line.device, own.where, "action", "drop"),
            )


@check(
    "W10",
    W,
    "the watchdog only reports",
    condition="action is drop or forward",
    consequence="a storm is logged and goes on: the fabric freezes as if there were no watchdog",
    remedy="use drop",
    source="sonic-swss pfcwdorch.cpp (alert handler does nothing to the queue)",
)
def W10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Lossless ports."""
    for line in facts.lossless:
        own = line.port.watchdog
        if own is not None and own.action == "alert":
            yield Found(
                line.device.name,
                line.port.name,
                "action alert",
                (shows(line.device, own.where, "action", "alert"),),
                fix=set_field(line.device, own.where, "action", "drop"),
            )


@check(
    "W9",
    I,
    "watchdog times are not the default's for so many ports",
    condition="on SONiC: detection = 200 ms x ceil(ports / 32) above 32 ports",
    consequence="more polling work than the default script plans for",
    remedy="start the watchdog with the default times for this number of ports, or know why not",
    source="sonic-utilities pfcwd/main.py l.404-441",
)
def W9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once per switch, where the default grows with the number of ports."""
    for device in facts.devices:
        per_step = device.capabilities.watchdog_ports_per_step
        if not per_step:
            continue
        steps, usual = (len(device.ports) - 1) // per_step + 1, _started_with(device)
        poll = min(usual, _MAX_POLL_MS)
        own = next((line.port.watchdog for line in facts.lossless_of(device) if line.port.watchdog), None)
        if own is not None and steps > 1 and own.detection_ms is not None and own.detection_ms < usual:
            yield Found(
                device.name,
                "PFC_WD",
                f"detection {own.detection_ms} ms with {len(device.ports)} ports; the "
                f"default script uses {usual} ms and a poll of {poll} ms",
                (shows(device, own.where, "detection_time", own.detection_ms),),
            )


CHECKS: Final[tuple[Check, ...]] = (W1, W2, W3, W4, W5, W6, W7, W8, W9, W10)
