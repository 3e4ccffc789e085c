"""Rules over several fields: sections that contradict each other, and options without effect.

All rules here need the file alone; problems that need the fabric (names, buffers, reachability) are found in compile/.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Final

from pydantic import BaseModel

from fabric.errors import Problem
from fabric.faults.control_spec import NEEDS_BGP, NEEDS_OVERLAY
from fabric.scenario.compile.controls import CONTROLS, control_of
from fabric.scenario.compile.laws import OF_A_LAW, alone, at_override
from fabric.scenario.compile.layers import all_given, given
from fabric.scenario.compile.ns3_rdma_checks import ns3_rdma_only, outside_ns3_rdma
from fabric.scenario.compile.recovery import OUT_OF_ORDER, PER_PACKET, recovery_of
from fabric.scenario.compile.scale_up import CLASSIFYING
from fabric.scenario.compile.transport import RDMA_MTUS
from fabric.scenario.compile.window import brings_window, varies_window
from fabric.scenario.presets.models import DEFAULT_REROUTE_DELAY, default_tree
from fabric.scenario.schema.bgp import BgpSpec
from fabric.scenario.schema.endpoints import HostSettings, TransportSpec
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.schema.switches import EcnCurve, Egress, EgressPools, SwitchSettings
from fabric.scenario.source_routes import TAKES_DOWN, source_route_rules
from fabric.topology.quantities import exact_time
from fabric.topology.spec import ServerSpec
from fabric.units import PS_PER_NS, parse_time_ps
from fabric.workload.spec import DatagramsSpec, JobLoad

_PAUSE_FIELDS = (
    "pfc_priorities",
    "pfc_send",
    "pfc_honour",
    "port_watchdog",
    "pause_quanta",
    "shared_headroom",
    "watchdog",
    "response",
)
_ONE_LAW: Final = (
    "hpcc-pint cannot run beside another control: its switches tell the load of a port in frames of its own"
)
_REROUTE_PS: Final = parse_time_ps(DEFAULT_REROUTE_DELAY)
_LEFT_OUT: Final[Mapping[str, BaseModel]] = {
    "switches.egress": Egress(),
    "switches.egress_pools": EgressPools(lossless="auto", lossy="auto"),
}
"""Parts that are absent from the model's defaults, with the smallest value that the schema accepts."""
_PAUSE_BUFFER = ("dynamic_th", "static_th", "headroom", "reserved", "xon", "xon_offset")


def check(scenario: Scenario) -> list[Problem]:
    """All problems of a scenario that can be found without building its fabric."""
    file = f"{scenario.file.name}: "
    if scenario.model == "hpcc-ns3":
        return [
            Problem(f"{file}{path}", text, hint)
            for path, text, hint in (*outside_ns3_rdma(scenario), *_names(scenario), *_times(scenario))
        ]
    return [
        Problem(f"{file}{path}", text, hint)
        for path, text, hint in (
            *_pfc_off(scenario),
            *_switches(scenario),
            *_server(scenario),
            *_hosts(scenario),
            *_transport(scenario),
            *_overrides(scenario),
            *ns3_rdma_only(scenario),
            *_routing(scenario),
            *_names(scenario),
            *_times(scenario),
            *_admission(scenario),
        )
    ]


_Found = Iterable[tuple[str, str, str]]


@cache
def _defaults(path: str) -> BaseModel:
    """A section of the asic model's defaults, as the schema reads it."""
    sections: dict[str, type[BaseModel]] = {
        "switches": SwitchSettings,
        "hosts": HostSettings,
        "transport": TransportSpec,
    }
    name, _, part = path.partition(".")
    section = sections[name].model_validate(default_tree("asic")[name])
    found: BaseModel = _LEFT_OUT.get(path) or (getattr(section, part) if part else section)
    return found


def changed(settings: BaseModel, path: str) -> set[str]:
    """Fields a user wrote with another value than the model's default.

    A default that is written out changes nothing, so it is never reported as an option without effect.
    """
    if path == "run":
        own = given(settings)
        return own - {"reroute_delay"} if getattr(settings, "reroute_delay", None) == _REROUTE_PS else own
    defaults = _defaults(path)
    return {
        name for name in given(settings) if not _asks_nothing(getattr(settings, name), getattr(defaults, name, None))
    }


def _asks_nothing(value: object, default: object) -> bool:
    """Whether a written value is the default, or a part of it such as `hash: {algorithm: crc32}`."""
    if isinstance(value, BaseModel) and type(value) is type(default):
        return all(getattr(value, name) == getattr(default, name) for name in given(value))
    return value == default


def _admission(scenario: Scenario) -> _Found:
    """A queue needs jobs, and so do VNIs of jobs; time limits need a queue."""
    jobs = [(number, it) for number, it in enumerate(scenario.workload) if isinstance(it, JobLoad)]
    if scenario.vxlan is not None and scenario.vxlan.job_vni is not None:
        if not jobs:
            yield "vxlan.job_vni", "has no effect: no entry of workload is a job", "remove it"
        if scenario.admission is not None:
            text = "a host that one job leaves to another would change its VNI, which is not modelled"
            yield "vxlan.job_vni", text, "remove it, or admission"
    if scenario.admission is not None:
        if not jobs:
            yield "admission", "has no effect: no entry of workload is a job", "remove it"
        return
    for number, job in jobs:
        if job.time_limit is not None:
            text = "has no effect without admission, whose queue plans by it"
            yield f"workload[{number}].time_limit", text, "remove it, or give admission: backfill"


def _server(scenario: Scenario) -> _Found:
    """A server's NVSwitch takes the classes of packets from `switches:`, and else only what selects it."""
    if isinstance(scenario.topology, ServerSpec):
        for field in sorted(changed(scenario.switches, "switches") - set(CLASSIFYING)):
            text = "has no effect: the only switch is the server's NVSwitch"
            yield f"switches.{field}", text, "remove it, or use switches.overrides with role: scale-up"


def _pfc_off(scenario: Scenario) -> _Found:
    if scenario.pfc == "on":
        return
    remedy = "remove it, or use pfc: on"
    for section, name in ((scenario.switches, "switches"), (scenario.hosts, "hosts")):
        for path, settings in all_given(section, name):
            for field in _PAUSE_FIELDS:
                if field in changed(settings, name) and getattr(settings, field) != "off":
                    yield f"{path}.{field}", "has no effect with pfc: off", remedy
            buffer = getattr(settings, "buffer", None)
            for field in _PAUSE_BUFFER:
                if buffer is not None and field in changed(buffer, "switches.buffer"):
                    yield f"{path}.buffer.{field}", "has no effect with pfc: off, which makes every class lossy", remedy
    for number, fault in enumerate(scenario.faults):
        if fault.kind == "pause-storm":
            yield f"faults[{number}]", "a pause storm has no effect with pfc: off", remedy
        if fault.kind == "config-drift" and (
            fault.pfc_priorities is not None or fault.headroom is not None or fault.dynamic_th is not None
        ):
            yield f"faults[{number}]", "pfc_priorities, headroom and dynamic_th have no effect with pfc: off", remedy


def _switches(scenario: Scenario) -> _Found:
    every = all_given(scenario.switches, "switches")
    if not any(getattr(settings, "load_balancing", None) == "flowlet" for _, settings in every):
        for path, settings in every:
            if "flowlet_gap" in changed(settings, "switches"):
                yield (
                    f"{path}.flowlet_gap",
                    "has no effect without load_balancing: flowlet",
                    "set it, or remove flowlet_gap",
                )
    chosen = {getattr(settings, "load_balancing", None) for _, settings in every}
    for path, settings in every:
        place = f"{path}.congestion_notices"
        notices = getattr(settings, "congestion_notices", None)
        if notices in (None, "off") or "congestion_notices" not in changed(settings, "switches"):
            continue
        if notices == 0:
            yield place, "is 0, so that an empty queue would count as congested", "give 1B or more, as 100KB, or off"
        if not chosen & {"adaptive", "flowlet"}:
            yield (
                place,
                "has no effect without load_balancing: adaptive or flowlet, which alone look at queues",
                "set one of them, or remove congestion_notices",
            )
        if scenario.vxlan is not None:
            yield (
                place,
                "does not work with vxlan: notices are of routes to hosts, and tunnels take routes to leaves",
                "remove congestion_notices or vxlan",
            )
    if (
        scenario.pfc == "on"
        and scenario.switches.lossless == ()
        and not any(getattr(settings, "lossless", None) for _, settings in every)
    ):
        yield "switches.lossless", "is empty, so PFC has nothing to protect", "name a priority, or use pfc: off"
    some_not_ect = scenario.vxlan is not None and scenario.vxlan.ecn == "compatibility"
    some_not_ect |= any(isinstance(load, DatagramsSpec) and not load.ect for load in scenario.workload)
    for path, settings in every:
        curve = getattr(settings, "ecn", None)
        if getattr(settings, "ecn_queues", None) is not None and curve == "off":
            yield f"{path}.ecn_queues", "has no effect with ecn: off", "remove one of them"
        named = {f"ecn_by_queue.{queue}": it for queue, it in (getattr(settings, "ecn_by_queue", None) or {}).items()}
        for name, it in {"ecn": curve, **named}.items():
            if not isinstance(it, EcnCurve) or not it.drop_non_ect or some_not_ect:
                continue
            yield (
                f"{path}.{name}.drop_non_ect",
                "has no effect: every packet is ECN-capable",
                "remove it, use vxlan: {ecn: compatibility}, or send datagrams without ect",
            )
    yield from source_route_rules(scenario, changed(scenario.switches, "switches") | changed(scenario.run, "run"))
    protects = scenario.pfc == "on" and (
        scenario.switches.lossless != () or any(getattr(settings, "lossless", None) for _, settings in every)
    )
    for path, settings in every:
        for section, name in (("egress", "lossless"), ("egress", "port_lossless"), ("egress_pools", "lossless")):
            part = getattr(settings, section, None)
            if not protects and part is not None and name in changed(part, f"switches.{section}"):
                yield f"{path}.{section}.{name}", "has no effect: no priority is lossless", "remove it"
        for name in ("port_lossless", "port_lossy"):
            limit = getattr(getattr(settings, "egress", None), name, None)
            if limit is not None and limit.dynamic_th is None and limit.static_th is None:
                yield f"{path}.egress.{name}", "has no effect without a limit", "give dynamic_th or static_th"
    if (
        not scenario.switches.overrides
        and scenario.switches.load_balancing in PER_PACKET
        and ("hash" in changed(scenario.switches, "switches"))
    ):
        balance = scenario.switches.load_balancing
        yield "switches.hash", f"has no effect with load_balancing: {balance}", "remove one of them"


def _hosts(scenario: Scenario) -> _Found:
    slow = any(fault.kind == "slow-receiver" for fault in scenario.faults) or any(
        getattr(settings, "drain", None) not in {None, "off"} for _, settings in all_given(scenario.hosts, "hosts")
    )
    if slow:
        return
    for path, settings in all_given(scenario.hosts, "hosts"):
        for field in ("rx_buffer", "rx_xoff", "rx_xon"):
            if field in changed(settings, "hosts"):
                yield (
                    f"{path}.{field}",
                    "has no effect: every host drains at line rate, no fault slows it",
                    "give drain, a slow-receiver fault, or remove it",
                )


def _transport(scenario: Scenario) -> _Found:
    transport = scenario.transport
    own = changed(transport, "transport")
    if transport.mtu is not None and transport.mtu not in RDMA_MTUS:
        sizes = [f"{size}B" for size in RDMA_MTUS]
        yield ("transport.mtu", f"{transport.mtu} B is no RDMA path MTU", f"use {', '.join(sizes[:-1])} or {sizes[-1]}")
    control = control_of(transport)
    for other in CONTROLS.values():
        if other is not control and other.section and getattr(transport, other.section) is not None:
            yield f"transport.{other.section}", f"has no effect with cc: {control.name}", "remove one of them"
    unbounded = transport.window in {None, "auto", "off"}
    if transport.variable_window and unbounded and not brings_window(scenario):
        yield "transport.variable_window", "has no effect without window", "give a size such as '1MB'"
    if transport.variable_window is False and control.is_window:
        yield "transport.variable_window", f"false: {control.title} is a window that varies", "remove it"
    if transport.recovery == "selective" and unbounded and not brings_window(scenario):
        yield ("transport.recovery", "selective keeps a bitmap of the window", "give window a size such as '1MB'")
    ways = (scenario, *alone(scenario))
    if "ack_every" in own and all(varies_window(it) and it.transport.window != "off" for it in ways):
        text = "has no effect with a window that varies with the rate: every packet requests its ACK"
        yield "transport.ack_every", text, "remove it, or use variable_window: false"
    if transport.retransmit_timeout == "off" and "retries" in own:
        yield "transport.retries", "has no effect with retransmit_timeout: off", "remove one of them"
    if not any(it.cnps for it in (control, *(CONTROLS[it.cc] for it in transport.overrides))) and "cnp_dscp" in own:
        yield "transport.cnp_dscp", f"has no effect with cc: {control.name}: no host sends CNPs", "remove it"
    if transport.cc == "none" and transport.variable_window:
        yield "transport.variable_window", "has no effect with cc: none: the rate never changes", "remove it"
    yield from _recovery(scenario, own)
    takes_down = any(fault.kind in TAKES_DOWN for fault in scenario.faults)
    if scenario.routing == "shortest-path" and "reroute_delay" in changed(scenario.run, "run") and not takes_down:
        yield "run.reroute_delay", "has no effect: no fault takes a cable down", "remove it, or add a link-down fault"


def _overrides(scenario: Scenario) -> _Found:
    """Each override as if it were the only control, for the fields that it decides."""
    if scenario.transport.overrides and control_of(scenario.transport).name == "hpcc-pint":
        yield "transport.cc", _ONE_LAW, "use another control, or remove transport.overrides"
    for number, own in enumerate(alone(scenario)):
        if own.transport.cc == "hpcc-pint":
            yield f"transport.overrides[{number}].cc", _ONE_LAW, "use another control"
        for path, text, remedy in _transport(own):
            at = "transport.window" if path == "transport.recovery" else path
            if at.split(".")[1] in OF_A_LAW:
                yield at_override(at, number), text, remedy


def _recovery(scenario: Scenario, own: Collection[str]) -> _Found:
    transport, recovery = scenario.transport, recovery_of(scenario)
    chosen = f"recovery: {recovery}" + (
        ", the default where packets are sprayed" if transport.recovery is None and recovery == OUT_OF_ORDER else ""
    )
    if recovery in {"selective", OUT_OF_ORDER} and "nak_interval" in own:
        yield "transport.nak_interval", f"has no effect with {chosen}", "remove it"
    if recovery != OUT_OF_ORDER:
        for field in ("reorder_window", "receive_bitmap"):
            if field in own:
                yield (f"transport.{field}", f"has no effect with {chosen}", "use recovery: out-of-order, or remove it")
        return
    window, timeout = transport.reorder_window, transport.retransmit_timeout
    if timeout is None:
        timeout = parse_time_ps(default_tree(scenario.model)["transport"]["retransmit_timeout"])
    if window is not None and "reorder_window" in own and isinstance(timeout, int) and window >= timeout:
        text = f"{exact_time(window)} is no shorter than retransmit_timeout, {exact_time(timeout)}"
        yield "transport.reorder_window", f"{text}, which would find every loss first", "make it shorter"


def _bgp(spec: BgpSpec, *, overlay: bool) -> _Found:
    """Fields of `bgp:` that differ from their defaults and have no effect because of another field."""
    plain = BgpSpec()
    own = {name for name in given(spec) if getattr(spec, name) != getattr(plain, name)}
    if not overlay:
        for name, what in (("learn_delay", "no leaf learns a MAC"), ("bond_delay", "no host is an EVPN route")):
            if name in own:
                yield f"bgp.{name}", f"has no effect without an overlay: {what}", "add vxlan: {}, or remove it"
    if "multipath_relax" in own:
        for why in (["design: ibgp-rr, where all paths are of one AS"] if spec.design == "ibgp-rr" else []) + (
            ["max_paths: 1, which shares no load"] if spec.max_paths == 1 else []
        ):
            yield "bgp.multipath_relax", f"has no effect with {why}", "remove one of them"


def _routing(scenario: Scenario) -> _Found:
    if (scenario.routes is not None) != (scenario.routing == "given"):
        text = f"has no effect with routing: {scenario.routing}" if scenario.routes is not None else "is missing"
        yield "routes", text, "give both routing: given and routes, or neither"
    if scenario.routing == "bgp":
        if scenario.run.reroute_delay is not None:  # it has no default with bgp, so a written value was intended
            yield (
                "run.reroute_delay",
                "has no effect with routing: bgp, which reroutes without it",
                "remove it; bgp.update_delay and bgp.fib_delay set the delay",
            )
        if scenario.bgp is not None:
            yield from _bgp(scenario.bgp, overlay=scenario.vxlan is not None)
        if scenario.vxlan is None:
            for number, fault in enumerate(scenario.faults):
                if fault.kind in NEEDS_OVERLAY:
                    yield (
                        f"faults[{number}]",
                        f"{fault.kind} has no effect without an overlay",
                        "add vxlan: {}, so that hosts are EVPN routes",
                    )
        return
    remedy, without = "use routing: bgp, or remove it", f"has no effect with routing: {scenario.routing}"
    if scenario.routing == "given" and scenario.run.reroute_delay is not None:
        yield "run.reroute_delay", f"{without}: no failure changes the routes", "remove it, or use shortest-path"
    if scenario.bgp is not None:
        yield "bgp", without, remedy
    for number, fault in enumerate(scenario.faults):
        if fault.kind in NEEDS_BGP:
            yield f"faults[{number}]", f"{fault.kind} {without}", remedy


def _names(scenario: Scenario) -> _Found:
    for section, items in (("workload", scenario.workload), ("faults", scenario.faults)):
        names = [item.name or (item.kind if section == "workload" else "") for item in items]
        for name, count in Counter(filter(None, names)).items():
            if count > 1:
                mine = [number for number, other in enumerate(names) if other == name]
                # An entry without a name takes that of its kind, so a user may have written no name at all.
                unnamed = [number for number in mine if not items[number].name]
                numbers = ", ".join(map(str, mine))
                place = f"{section}[{unnamed[-1] if unnamed else mine[0]}].name"
                text = f"'{name}' is the name of {count} entries ({numbers})"
                if unnamed:
                    yield (
                        place,
                        text,
                        "without a name an entry has that of its kind; write name: in all but one of them",
                    )
                else:
                    yield place, text, "give each another name; names choose the random streams"
    repeated = [text for text, count in Counter(str(item) for item in scenario.expectations).items() if count > 1]
    for text in repeated:
        yield "expectations", f"'{text}' is written twice", "remove one"


def _times(scenario: Scenario) -> _Found:
    end = scenario.run.duration
    when = f"the run ends at {exact_time(end)} (run.duration)"
    for number, load in enumerate(scenario.workload):
        late = [(field, start) for field, start in load.starts() if start >= end]
        for field, start in late:
            yield (
                f"workload[{number}].{field}",
                f"{exact_time(start)} is too late: {when}",
                "start earlier or run longer",
            )
        for field, stop in () if late else load.stops():
            if stop > end:
                yield (
                    f"workload[{number}].{field}",
                    f"it lasts until {exact_time(stop)}, but {when}",
                    f"{field}: {exact_time(end)}",
                )
    for number, fault in enumerate(scenario.faults):
        if fault.at >= end:
            yield f"faults[{number}].at", f"{exact_time(fault.at)} is too late: {when}", "begin earlier or run longer"
            continue
        until = getattr(fault, "until", None)
        if until is not None and until >= end:
            yield f"faults[{number}].until", f"has no effect: {when}", "repair earlier, run longer, or remove it"
        if fault.kind == "link-flap" and until is None:
            last = fault.at + (fault.count - 1) * (fault.down + fault.up) + fault.down
            if last >= end:
                yield (
                    f"faults[{number}].count",
                    f"the last flap ends at {exact_time(last)}, but {when}",
                    "flap less often, faster, or run longer",
                )
    interval_ps = scenario.telemetry.interval
    if interval_ps is not None and interval_ps < PS_PER_NS:
        text = f"{exact_time(interval_ps)} is shorter than the resolution of time series, 1 ns"
        yield "telemetry.interval", text, "give 1ns or more"
    if interval_ps is not None and interval_ps > end:
        yield (
            "telemetry.interval",
            f"{exact_time(interval_ps)} is longer than the run: {when}",
            "sample more often or run longer",
        )
    if isinstance(scenario.run.no_progress, int) and scenario.run.no_progress >= end:
        yield "run.no_progress", f"has no effect: {when}", "make it shorter, or remove it"
