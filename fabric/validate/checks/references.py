"""R: references, ranges and syntax of a file as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from fabric.validate.checks.base import Check, E, Evidence, Found, I, Severity, W, check, named, shows
from fabric.validate.facts import Facts


def _defects(id_: str) -> Callable[[Facts], Iterator[Found]]:
    def found(facts: Facts) -> Iterator[Found]:
        for device in facts.devices:
            for item in device.defects:
                if item.check == id_:
                    place = device.place(item.where)
                    yield Found(device.name, item.object, item.text, (Evidence("|".join(item.where), "", place),))

    return found


R1: Final = check(
    "R1", E, "dangling reference", condition="every reference names an object that is in the file",
    consequence="orchagent retries for ever or YANG refuses the load; the object is silently absent",
    remedy="correct the name, or add the object it names",
    source="sonic-yang-models leafrefs; sonic-swss qosorch.cpp l.2126 (need_retry)")(_defects("R1"))


@check("R2", I, "object that nothing uses", condition="every profile, scheduler and map is bound somewhere",
       consequence="none by itself; often the other half of a mistyped name", remedy="bind it or remove it",
       source="operational practice")
def R2(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Profiles, schedulers and maps without a user."""
    for device in facts.devices:
        if device.language != "sonic":
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
        for table, objects in (("BUFFER_PROFILE", device.profiles), ("WRED_PROFILE", device.wreds),
                               ("SCHEDULER", device.schedulers)):
            for name, item in objects.items():
                if name not in used[table]:
                    yield Found(device.name, f"{table}|{name}", f"nothing uses {table} '{name}'",
                                (shows(device, item.where, "", ""),))
        for kind, of_kind in device.maps.items():
            for name, map_ in of_kind.items():
                if (kind, name) not in maps and name not in device.decap_maps.values():
                    yield Found(device.name, named(map_.where), f"nothing uses the {kind} map '{name}'",
                                (shows(device, map_.where, "", ""),))


R3: Final = check(
    "R3", W, "references in the syntax of old releases", condition="references are plain names, not [TABLE|name]",
    consequence="current orchagent does not resolve them unless db_migrator has run",
    remedy="load the file through db_migrator, or write plain names",
    source="sonic-utilities db_migrator, version_3_0_2 to version_3_0_3")(_defects("R3"))
R4: Final = check(
    "R4", E, "two profiles on one index", condition="no group or queue of a port is bound twice to different profiles",
    consequence="the last writer wins, which is not the same one at every start", remedy="remove one of the ranges",
    source="SAI applies sets in order of arrival")(_defects("R4"))
R5: Final = check(
    "R5", E, "value outside its range or of the wrong type", condition="every value is what YANG and orchagent accept",
    consequence="the load is refused, or the object is skipped with a line in syslog", remedy="correct the value",
    source="sonic-yang-models; sonic-swss orchagent")(_defects("R5"))


@check("R6", E, "profile needs one threshold", condition="a profile has exactly one of static_th and dynamic_th",
       consequence="SAI refuses to create the buffer profile", remedy="keep the one that fits the pool's mode",
       source="sonic-swss bufferorch.cpp l.690-722")
def R6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Both or neither."""
    for device in facts.devices:
        for profile in device.profiles.values():
            both = profile.dynamic_th is not None and profile.static_th_bytes is not None
            if device.language == "sonic" and not profile.derived and (
                    both or (profile.dynamic_th is None and profile.static_th_bytes is None)):
                defect = any(item.where[:2] == profile.where for item in device.defects if item.check == "R5")
                if not defect:
                    yield Found(device.name, f"BUFFER_PROFILE|{profile.name}",
                                f"has {'both' if both else 'neither'} of static_th and dynamic_th",
                                (shows(device, profile.where, "", ""),))


@check("R7", E, "port without a speed", condition="every port with PFC has a speed",
       consequence="the switch cannot choose headroom for it until its breakout default is applied",
       remedy="write PORT.speed", source="sonic-swss buffermgr.cpp; sonic-buildimage hwsku.json")
def R7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Error where other ports of the switch have one; a template as shipped has none at all, which is a warning."""
    for line in facts.lossless:
        if line.device.language == "sonic" and line.port.speed_mbps is None:
            some = any(port.speed_mbps for port in line.device.ports.values())
            in_file = line.port.where[:1] == ("PORT",) and len(line.port.where) > 1
            text = "has no speed, other ports have" if some else "has no speed; the HWSKU's default breakout decides"
            if in_file:
                yield Found(line.device.name, line.port.name, text, (shows(line.device, line.port.where, "", ""),),
                            Severity.ERROR if some else Severity.WARN)


R8: Final = check(
    "R8", E, "key given twice", condition="no JSON object has one key twice",
    consequence="the last value wins without a word; what was reviewed is not what runs", remedy="remove one of them",
    source="RFC 8259 section 4 (names SHOULD be unique)")(_defects("R8"))

R9: Final = check(
    "R9", E, "required field missing, or fields that exclude each other",
    condition="mandatory fields are there; pir >= cir, pbs >= cbs; percentage without size; a lane has one port",
    consequence="YANG refuses the load, or orchagent skips the row with a line in syslog",
    remedy="add the field, or remove the one that contradicts",
    source="sonic-yang-models mandatory and must; sonic-swss pfcwdorch.cpp l.318")(_defects("R9"))

CHECKS: Final[tuple[Check, ...]] = (R1, R2, R3, R4, R5, R6, R7, R8, R9)
