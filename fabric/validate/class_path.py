"""The class of RoCE from each application to the receivers' NICs: what every place makes of its DSCP, in order.

Places in order: the library, the RDMA device, the sender's NIC, its switch port, every port on every path to the other
hosts, and the NICs of the receivers. A place *keeps* the class if it protects the DSCP by PFC, by the priority that the
places before it have. The first place that does not is where the class changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fabric.configs.hosts.capture import Mark, Tclass
from fabric.configs.network import Host
from fabric.errors import InputErrors, Problem
from fabric.topology.select import nearest
from fabric.validate.checks.base import Evidence, listed
from fabric.validate.checks.entries import host_evidence, map_evidence
from fabric.validate.checks.host_classes import marks_of
from fabric.validate.facts import Facts, Line


@dataclass(frozen=True, slots=True)
class Step:
    """One place."""

    where: str
    """'host1 eth0', or 'leaf1:Ethernet0 in'."""
    what: str
    """What it makes of the DSCP: 'class 3, group 3, queue 3, PFC 3'."""
    keeps: bool
    evidence: tuple[Evidence, ...] = ()


@dataclass(slots=True)
class ClassPath:
    """One library on one RDMA device, and every place after it."""

    host: str
    device: str
    library: str
    dscp: int
    steps: list[Step] = field(default_factory=list)

    @property
    def changes(self) -> Step | None:
        """The first place that does not keep the class; None where all do."""
        return next((step for step in self.steps if not step.keeps), None)


def class_paths(facts: Facts, names: Sequence[str] = ()) -> list[ClassPath]:
    """Of every cabled host whose outputs were given, or of those named. Raises: InputErrors for a name that is none."""
    known = {host.name for _, host in facts.host_lines if host.captured is not None}
    problems = [
        Problem("--class-path", f"'{name}' is no cabled host with outputs", nearest(name, sorted(known)))
        for name in names
        if name not in known
    ]
    if problems or not known:
        text = "no outputs of a cabled host's tools were given"
        hint = "give a folder of them with --hosts (docs/howto/hosts.md)"
        raise InputErrors("options", problems or [Problem("--class-path", text, hint)])
    ways: dict[tuple[str, int, int | None], list[Step]] = {}
    found = []
    for line, host in facts.host_lines:
        nic = host.captured
        if nic is None or (names and host.name not in names):
            continue
        for device in dict.fromkeys((nic.device, *(vf.device for vf in nic.vfs if vf.device))):
            tclass = nic.tclass(device)
            marks = marks_of(nic, tclass, device)
            found += [_of_mark(facts, line, host, mark, tclass, device, ways) for mark in marks]
    return found


def _of_mark(
    facts: Facts,
    line: Line,
    host: Host,
    mark: Mark,
    tclass: Tclass,
    device: str,
    ways: dict[tuple[str, int, int | None], list[Step]],
) -> ClassPath:
    said = tclass.override or mark.tclass
    dscp = said.dscp
    _, priority = facts.lossless_class(line, dscp)
    _, usual = facts.lossless_class(line, host.roce_dscp)
    path = ClassPath(host.name, device, mark.library, dscp)
    asked = Evidence(mark.words, "", mark.tclass.place)
    right = usual is None or dscp == host.roce_dscp or priority is not None
    kept = right or tclass.override is not None
    path.steps.append(Step(f"{host.name} {mark.library}", f"{mark.words}: DSCP {mark.tclass.dscp}", kept, (asked,)))
    if tclass.override is not None:
        evidence = (Evidence(said.words, "", said.place),)
        path.steps.append(Step(f"{host.name} {device}", f"{said.words}: DSCP {dscp}", right, evidence))
    wanted = _wanted(facts, host, dscp) if priority is None else priority
    path.steps.append(_at_nic(host, dscp, wanted))
    path.steps.append(_at_port(facts, line, dscp, wanted, "in"))
    key = line.device.name, dscp, wanted
    if key not in ways:
        ways[key] = list(_onwards(facts, line.device.name, dscp, wanted))
    path.steps += [step for step in ways[key] if not step.where.startswith(f"{host.name} ")]
    return path


def _wanted(facts: Facts, host: Host, dscp: int) -> int | None:
    """The priority that a DSCP should have: of most switch ports, else of the NIC."""
    usual = facts.usual_class(dscp)
    if usual is not None:
        return usual[1]
    own = None if host.captured is None else host.captured.priorities.get(dscp)
    return None if own is None else own.value


def _at_nic(host: Host, dscp: int, wanted: int | None) -> Step:
    """The NIC's priority of a DSCP, and whether PFC is on for it; what no output says is taken as right."""
    own = None if host.captured is None else host.captured.priorities.get(dscp)
    number = wanted if own is None else own.value
    pfc = "PFC not stated" if host.pfc_enable is None else f"PFC {listed(host.pfc_enable)}"
    trusted = host.trust in {None, "dscp"}
    what = f"priority {'?' if own is None else own.value}, {pfc}" + ("" if trusted else f", trusts {host.trust}")
    keeps = trusted and number == wanted and (host.pfc_enable is None or number in host.pfc_enable)
    evidence: tuple[Evidence, ...] = ()
    if own is not None:
        evidence = (Evidence(own.words, f"priority {own.value}", own.place),)
    evidence += () if host.pfc_enable is None else (host_evidence(host, "pfc_enable"),)
    return Step(host.shown, what, keeps, evidence)


def _at_port(facts: Facts, line: Line, dscp: int, wanted: int | None, direction: str) -> Step:
    """Class, group, queue and PFC of a DSCP at one port of a switch."""
    tc, priority = facts.lossless_class(line, dscp)
    group = None if tc is None else facts.value(line.device, line.port, "tc_to_pg", tc)
    queue = facts.queue_of(line, dscp)
    words = [f"class {'none' if tc is None else tc}"]
    words += [f"group {group}"] if group is not None else []
    words += [f"queue {queue}"] if queue is not None else []
    words.append("no PFC" if priority is None else f"PFC {priority}")
    keeps = priority is not None and priority == wanted
    return Step(f"{line} {direction}", ", ".join(words), keeps, map_evidence(line, "dscp_to_tc", dscp))


def _onwards(facts: Facts, start: str, dscp: int, wanted: int | None) -> Iterator[Step]:
    """Every port on the paths from a switch to the hosts of all, each once, the nearest first; then the receivers."""
    seen: set[tuple[str, str]] = set()
    ends = {start}
    for tree in facts.routes.trees:
        ends |= tree.ends
        for name in tree.reach([start]):
            for hop in () if name in tree.ends else tree.next_hops.get(name, ()):
                for end, direction in ((hop.out, "out"), (hop.into, "in")):
                    line = facts.line(end)
                    if line is not None and (str(line), direction) not in seen:
                        seen.add((str(line), direction))
                        yield _at_port(facts, line, dscp, wanted, direction)
    for line, host in facts.host_lines:
        if line.device.name in ends:
            yield _at_port(facts, line, dscp, wanted, "out")
            if host.captured is not None:
                yield _at_nic(host, dscp, wanted)
