"""R: references, ranges and syntax of a file as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from fabric.configs.model import Defect, Device, Where
from fabric.configs.network import Cable
from fabric.configs.text.spelling import slip_of
from fabric.validate.checks.base import (
    Check,
    E,
    Evidence,
    Found,
    I,
    Root,
    Severity,
    W,
    check,
    construct,
    named,
    shows,
    whole_file,
)
from fabric.validate.facts import Facts, Line
from fabric.validate.frr_fixes import in_frr, spelled_in_frr
from fabric.validate.meant_by_peers import as_peers_have_it
from fabric.validate.remedies import Fix, set_field, spelled_right


def _defects(id_: str) -> Callable[[Facts], Iterator[Found]]:
    def found(facts: Facts) -> Iterator[Found]:
        for device in facts.devices:
            for stated in device.defects:
                if stated.check == id_:
                    item = as_peers_have_it(facts, device, stated)
                    yield Found(
                        device.name,
                        item.object,
                        item.text,
                        (shows(device, item.where, "", "", _label(item.where)),),
                        Severity.INFO if item.harmless else None,
                        root=(device.name, item.root) if item.root else None,
                        rests_on=_mistyped(device, stated),
                        fix=_spelled(device, item),
                    )

    return found


def _mistyped(device: Device, missing: Defect) -> list[Root]:
    """The lines that were meant to be the one that is missing: with another letter it is not there."""
    wanted = {it.new for it in missing.meant if not it.old}
    return [
        (device.name, it.root or it.where)
        for it in device.defects
        if it is not missing and any(meant.old and meant.new in wanted for meant in it.meant)
    ]


def _spelled(device: Device, item: Defect) -> Fix | None:
    if in_frr(device, item.where):
        return spelled_in_frr(device, item.where, item.meant)
    return spelled_right(device, item.meant)


def _label(where: Where) -> str:
    """A place as evidence names it: the number of a line stands in its place already."""
    return f"line {where[1]}" if where[:1] == ("line",) else "|".join(where)


def _dangling(facts: Facts) -> Iterator[Found]:
    """What the readers found, and policies that no line defines."""
    yield from _defects("R1")(facts)
    for device in facts.devices:
        policies = device.identity.policies
        named_ = [(it.kind, it.name, it.where) for session in device.sessions for it in session.policies if it.of_ipv4]
        if policies.redistribution is not None:
            named_.append(("route-map", *policies.redistribution))
        named_ += [("route-map", *it) for it in device.identity.network_maps.values()]
        named_ += [("route-map", it.hidden_by, it.where) for it in device.identity.aggregates if it.hidden_by]
        named_ += [
            ("prefix-list", name, clause.where)
            for clauses in policies.route_maps.values()
            for clause in clauses
            for name in clause.prefix_lists
        ]
        clauses = [clause for its in policies.route_maps.values() for clause in its]
        if not device.capabilities.tables:  # there, each field names its table, and Rows says it
            named_ += [("as-path-list", name, clause.where) for clause in clauses for name in clause.as_paths]
            named_ += [("community-list", name, clause.where) for clause in clauses for name in clause.communities]
        named_ += [(kind, name, clause.where) for clause in clauses for kind, name in clause.others]
        known: dict[str, set[str]] = {kind: set() for clause in clauses for kind, _ in clause.others}
        for kind, name in policies.unread_lists:
            known.setdefault(kind, set()).add(name)
        known |= {"route-map": set(policies.route_maps), "prefix-list": policies.prefix_lists.keys() | policies.others}
        known |= {"as-path-list": policies.as_path_lists.keys() | policies.others}
        known |= {"community-list": policies.community_lists.keys() | policies.others}
        absent: dict[tuple[str, str], Found] = {}
        for kind, name, where in named_:
            if name not in known[kind]:
                does = dict(device.capabilities.missing_policies).get(kind, "")
                system = device.capabilities.title
                applied = all(where != clause.where for clause in clauses)
                said = f": {system} {does} every route where it is applied" if does and applied else ""
                near = slip_of(name, frozenset(known[kind])) or slip_of(name, frozenset(known[kind]), 2)
                asked = f" (did you mean '{near}'?)" if near else ""
                text = f"{kind} {name!r} is not in the file{asked}{said}"
                evidence = (shows(device, where, "", "", "|".join(where)),)
                absent.setdefault((kind, name), Found(device.name, "|".join(where), text, evidence))
        yield from absent.values()


R1: Final = check(
    "R1",
    E,
    "dangling reference",
    condition="every reference names an object that is in the file",
    consequence="the object is silently absent, or the load is refused",
    remedy="correct the name, or add the object it names",
    source="sonic-yang-models leafrefs; sonic-swss qosorch.cpp l.2126 (need_retry)",
    leads_to="M1 M3 M4 M9 L1 L9 N1 E3 E4 B7 B10 B12 B13 B14 H1 P18 R2 V9 V11 P3 P10 P11 P22 O1 O3 V7 V8 V3 V16",
)(_dangling)


@check(
    "R2",
    I,
    "object that nothing uses",
    condition="every profile, scheduler and map is bound somewhere",
    consequence="none by itself; often the other half of a mistyped name",
    remedy="bind it or remove it",
    source="operational practice",
)
def R2(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Profiles, schedulers and maps without a user."""
    for device in facts.devices:
        if not device.capabilities.named_objects:
            continue
        used: dict[str, set[str]] = {"BUFFER_PROFILE": set(), "WRED_PROFILE": set(), "SCHEDULER": set()}
        maps = set(device.global_maps.items())
        for port in device.ports.values():
            maps.update(port.maps.items())
            used["BUFFER_PROFILE"].update(port.ingress_profiles, port.egress_profiles)
            for bound in (*port.groups.values(), *port.queues.values()):
                used["BUFFER_PROFILE"].add(bound.profile or "")
                used["WRED_PROFILE"].add(bound.wred or "")
                used["SCHEDULER"].add(bound.scheduler or "")
        for table, objects in (
            ("BUFFER_PROFILE", device.profiles),
            ("WRED_PROFILE", device.wreds),
            ("SCHEDULER", device.schedulers),
        ):
            for name, item in objects.items():
                if name not in used[table]:
                    yield Found(
                        device.name,
                        f"{table}|{name}",
                        f"nothing uses {table} '{name}'",
                        (shows(device, item.where, "", ""),),
                    )
        for kind, of_kind in device.maps.items():
            for name, map_ in of_kind.items():
                if (kind, name) not in maps and name not in device.decap_maps.values():
                    yield Found(
                        device.name,
                        named(map_.where),
                        f"nothing uses the {kind} map '{name}'",
                        (shows(device, map_.where, "", ""),),
                    )


R3: Final = check(
    "R3",
    W,
    "references in the syntax of old releases",
    condition="references are plain names, not [TABLE|name]",
    consequence="current orchagent does not resolve them unless db_migrator has run",
    remedy="load the file through db_migrator, or write plain names",
    source="sonic-utilities db_migrator, version_3_0_2 to version_3_0_3",
)(_defects("R3"))
R4: Final = check(
    "R4",
    E,
    "two profiles on one index",
    condition="no group or queue of a port is bound twice to different profiles",
    consequence="the last writer wins, which is not the same one at every start",
    remedy="remove one of the ranges",
    source="SAI applies sets in order of arrival",
    leads_to="M4 L9 H1 H3 B7",
)(_defects("R4"))
R5: Final = check(
    "R5",
    E,
    "value, name or line that the switch does not accept",
    condition="every value, name of a field and line is one that the switch accepts (SONiC: YANG and orchagent)",
    consequence="the load is refused, or the object is skipped with a line in syslog",
    remedy="correct it",
    source="sonic-yang-models; sonic-swss orchagent",
    leads_to="R6 R7 R9 B3 B4 B5 B6 B7 B10 B12 B13 B14 E1 E2 E3 E4 E5 E6 E7 E9 H1 H3 H4 H8 L1 L2 L4 L9 L12 L14 M1 M3 M4 "
    "M6 M9 M11 M14 N1 T1 T6 P1 P2 P3 P6 P7 P8 P9 P10 P11 P12 P18 P22 W2 W3 W4 V4 V5 V7 V8 V9 V11 V16 O1 O3 O4",
)(_defects("R5"))


@check(
    "R6",
    E,
    "profile needs one threshold",
    condition="a profile has exactly one of static_th and dynamic_th; in a static ingress pool a lossless one has "
    "static_th",
    consequence="SAI refuses to create the buffer profile",
    remedy="keep the one that fits the pool's mode",
    source="sonic-swss bufferorch.cpp l.690-722",
    leads_to="B3 B6 E2",
)
def R6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Both or neither."""
    for device in facts.devices:
        for profile in device.profiles.values():
            both = profile.dynamic_th is not None and profile.static_th_bytes is not None
            if (
                device.capabilities.one_threshold
                and not profile.derived
                and (both or (profile.dynamic_th is None and profile.static_th_bytes is None))
            ):
                defect = any(item.where[:2] == profile.where for item in device.defects if item.check == "R5")
                if not defect:
                    yield Found(
                        device.name,
                        construct(device, "BUFFER_PROFILE", profile.name),
                        f"has {'both' if both else 'neither'} of static_th and dynamic_th",
                        (shows(device, profile.where, "", ""),),
                    )
            pool = device.pools.get(profile.pool)
            mixed = profile.dynamic_th is not None and not both and pool is not None and pool.mode == "static"
            if mixed and pool is not None and profile.lossless and pool.direction == "ingress":
                yield Found(
                    device.name,
                    construct(device, "BUFFER_PROFILE", profile.name),
                    f"has dynamic_th, and its pool '{pool.name}' is static",
                    (
                        shows(device, pool.where, "mode", pool.mode),
                        shows(device, profile.where, "dynamic_th", profile.dynamic_th),
                    ),
                    Severity.WARN,  # a profile states its own mode (SAI saibuffer.h THRESHOLD_MODE)
                )


@check(
    "R7",
    E,
    "port without a speed",
    condition="every port with PFC has a speed",
    consequence="the switch cannot choose headroom for it until its breakout default is applied",
    remedy="write PORT.speed",
    source="sonic-swss buffermgr.cpp; sonic-buildimage hwsku.json",
)
def R7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Error where other ports of the switch have one; a template as shipped has none at all, which is a warning."""
    for line in facts.lossless:
        if line.device.capabilities.headroom_from_table and line.port.speed_mbps is None:
            some = any(port.speed_mbps for port in line.device.ports.values())
            in_file = line.port.where[:1] == ("PORT",) and len(line.port.where) > 1
            text = "has no speed, other ports have" if some else "has no speed; the HWSKU's default breakout decides"
            if in_file:
                yield Found(
                    line.device.name,
                    line.port.name,
                    text,
                    (shows(line.device, line.port.where, "", ""),),
                    Severity.ERROR if some else Severity.WARN,
                    within=((line.device.name, line.port.where),),
                )


R8: Final = check(
    "R8",
    E,
    "key given twice",
    condition="no JSON object has one key twice; a note: no list of commands sets a leaf twice",
    consequence="the last value wins without a word; what was reviewed is not what runs",
    remedy="remove one of them",
    source="RFC 8259 section 4 (names SHOULD be unique)",
)(_defects("R8"))

R9: Final = check(
    "R9",
    E,
    "required field missing, or fields that exclude each other",
    condition="mandatory fields and lines are there (a feature, ip routing, no switchport, a service-policy for a "
    "policy that is defined); pir >= cir, pbs >= cbs; percentage without size; a lane has one port",
    consequence="the switch refuses the rows or lines that need it, or skips them with a line in syslog",
    remedy="add the field, or remove the one that contradicts",
    source="sonic-yang-models mandatory and must; sonic-swss pfcwdorch.cpp l.318",
    leads_to="W2 W4 R7 M14 L1 L9 N1 M1 M4 M6 M9 M11 E4 P3 V5 V7 V8 V11 P22 O1 O3",
)(_defects("R9"))


@check(
    "R10",
    W,
    "part of a file that could act on RoCE and was not judged",
    condition="every filter on UDP 4791, rate limit, storm control, policy map and QoS statement is used by a check "
    "(error with --strict)",
    consequence="the verdict is silent about it: RoCE may be dropped, slowed or reclassified there",
    remedy="look at the lines; remove them, or accept them with --suppress",
    source="operational practice; UDP port 4791 is RoCEv2 (IBTA annex A17)",
)
def R10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Not understood, or understood and of no effect on a check."""
    severity = Severity.ERROR if facts.network.strict else None
    for device in facts.devices:
        for items, why in ((device.unread, "not understood"), (device.unjudged, "understood, and not judged")):
            for item in items:
                if item.roce:
                    yield Found(
                        device.name,
                        item.what[:120],
                        f"{item.roce}: {why}",
                        (Evidence(item.what[:120], "", item.place),),
                        severity,
                        rests_on=(whole_file(device),),
                    )
    for item in facts.network.unjudged:  # of the hosts: a file of links has nothing of that kind
        if item.roce:
            text = f"{item.roce}: understood, and not judged"
            yield Found("hosts", item.what[:120], text, (Evidence(item.what[:120], "", item.place),), severity)


@check(
    "R11",
    E,
    "a switch, or a part of one, is missing",
    condition="every switch that a link, a neighbour table or the baseline names was given (a note where one switch "
    "alone was given); ports with a cable, BGP, VXLAN and PFC that a switch has in the baseline are there still",
    consequence="what is missing is not judged, and no path over it is",
    remedy="give it; where it is outside the fabric or was removed on purpose, accept that with --suppress",
    source="operational practice",
    leads_to="L7 V11",
)
def R11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """By links; `fabric.validate.missing` adds what only the baseline has."""
    if not facts.absent:
        return
    severity = None if len(facts.devices) > 1 else I
    unnamed, wrong, known = _unnamed(facts), _wrong_neighbours(facts), frozenset(facts.network.devices)
    without_links = frozenset(unnamed)
    for name, cable in facts.absent.items():
        text = "a link names it, and it was not given"
        fix: Fix | None = None
        evidence = [Evidence("link", f"{':'.join(cable.a)} to {':'.join(cable.b)}", cable.place)]
        if device := unnamed.get(slip_of(name, without_links)):
            where = device.name_where or ("hostname",)
            evidence.insert(0, shows(device, where, "", device.name, "hostname"))
            text += f"; {device.name} was, which no other file names (did you mean '{name}'?)"
            fix = _renamed(device, name)
        elif name in wrong:
            near, far = wrong[name]
            where = ("DEVICE_NEIGHBOR", near.port.name)
            evidence.insert(0, shows(near.device, where, "", f"{name}:{_end(cable, name)}", "|".join(where)))
            text += f"; {far} has {near} as its neighbour (did you mean '{far.device.name}'?)"
            fix = set_field(near.device, where, "name", far.device.name) if near.device.capabilities.tables else None
        elif meant := slip_of(name, known):
            text += f" (did you mean '{meant}'?)"
        yield Found(name, "configuration", text, tuple(evidence), severity, fix=fix)


def _end(cable: Cable, name: str) -> str:
    """The port of a cable at one of its ends."""
    return cable.a[1] if cable.a[0] == name else cable.b[1]


def _renamed(device: Device, name: str) -> Fix | None:
    """The change of a switch's own name, in its language."""
    if device.capabilities.tables:
        return set_field(device, ("DEVICE_METADATA", "localhost"), "hostname", name)
    words = "nv set system hostname" if device.capabilities.shell_statements else "hostname"
    return Fix(device.name, "hostname", name, f"{words} {name}")


def _unnamed(facts: Facts) -> dict[str, Device]:
    """Switches that no link of another file names, by name."""
    named = {
        end[0]
        for cable in facts.network.links
        for end in (cable.a, cable.b)
        if end[0] not in facts.network.devices or facts.network.devices[end[0]].file != cable.place.file
    }
    return {it.name: it for it in facts.devices if it.name not in named}


def _wrong_neighbours(facts: Facts) -> dict[str, tuple[Line, Line]]:
    """Absent switch to a port whose table names it, and the port of another switch whose table names this port."""
    every = [Line(device, port) for device in facts.devices for port in device.ports.values() if port.neighbor]
    ends = {line.port.neighbor: line for line in every}
    found: dict[str, tuple[Line, Line]] = {}
    for line in every:
        name = line.port.neighbor[0] if line.port.neighbor is not None else ""
        if name in facts.absent and line.end in ends:
            found.setdefault(name, (line, ends[line.end]))
    return found


CHECKS: Final[tuple[Check, ...]] = (R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, R11)
