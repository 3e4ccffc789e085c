"""``fabric path SRC DST SOURCE``: the paths between two hosts; ``fabric path SOURCE``: a check of all paths."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric.cli.options.control import tell_beyond
from fabric.cli.options.sets import add_sets
from fabric.errors import InputErrors, Problem

if TYPE_CHECKING:  # numpy, pydantic and rich are loaded when there is something to answer
    from fabric.forwarding.path_view import FlowQuery
    from fabric.render.document import Document
    from fabric.show.subject import Subject

EXIT_FINDING: Final = 1
_ROCE_PORT: Final = 4791
_ROWS: Final = 16
"""Rows of a table on the terminal; `--json` has them all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = (
        "fabric path [SRC DST] SOURCE [--sport N] [--dport N] [--nic PORT] [--at TIME]\n"
        "                   [--set PATH=VALUE] [--json]"
    )
    parser.description = (
        "With two hosts: every equal-cost path between them, the path of a flow, and the hash inputs and results of\n"
        "each switch. Without: check all routes to hosts (black holes, loops, valleys, cyclic buffer dependencies),\n"
        "find polarised tiers, and show how evenly the scenario's flows are spread; exit 1 on a finding.\n"
        "Not checked: packets between the subnets of a tenant, and copies of broadcasts in VXLAN, which with\n"
        "routing: bgp follow the routes to VTEPs; 'fabric evpn check-isolation' shows hosts that leaves cannot\n"
        "reach in their tenants. Packets are not simulated."
    )
    first = parser.add_argument(
        "words", metavar="SRC DST SOURCE", help="two hosts, and a scenario file or run directory; or SOURCE alone"
    )
    first.dest = "first"
    for name in ("second", "third"):  # not nargs='?': before an option the arguments would count as absent
        parser.add_argument(name, metavar="", help=argparse.SUPPRESS).required = False
    parser.add_argument(
        "--sport",
        metavar="N",
        type=int,
        help="UDP source port (default: that of the scenario's first queue pair between the two)",
    )
    parser.add_argument("--dport", metavar="N", type=int, help=f"UDP destination port (default {_ROCE_PORT}, RoCEv2)")
    parser.add_argument("--nic", metavar="PORT", help="egress port of SRC, such as eth1 (default: the first)")
    parser.add_argument("--at", metavar="TIME", help="at this simulated time, such as 2ms (default: the start)")
    add_sets(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, numbers in base units")


def run(args: argparse.Namespace) -> int:
    """Answer, and exit 0; 1 where the check of all routes has findings."""
    words = [word for word in (args.first, args.second, args.third) if word is not None]
    if len(words) == 2:
        raise InputErrors(
            "command line",
            [
                Problem(
                    "SOURCE",
                    f"'{words[0]}' and '{words[1]}' are two words",
                    "name two hosts and a scenario file or run directory, or only the "
                    "latter: fabric path host1 host9 scenarios/incast.yml",
                )
            ],
        )
    from fabric.render.document import Status  # noqa: PLC0415  --help must not load numpy and pydantic
    from fabric.render.json import to_json  # noqa: PLC0415
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.show.subject import load_subject, moment  # noqa: PLC0415

    time_ps = moment(args.at)
    subject = load_subject(Path(words[-1]), args.sets)
    tell_beyond(subject, time_ps)
    document = _pair(subject, words, args, time_ps) if len(words) == 3 else _everything(subject, args, time_ps)
    if args.json:
        print(json.dumps(to_json(document), indent=2))
    else:
        print_document(document, console_for(sys.stdout), _ROWS)
    return EXIT_FINDING if len(words) == 1 and document.status in {Status.BAD, Status.WARNING} else 0


def _pair(subject: Subject, words: list[str], args: argparse.Namespace, time_ps: int) -> Document:
    from fabric.forwarding.path_view import explain_path, no_path_between_tenants  # noqa: PLC0415  as in run()

    query = _query(subject, words[0], words[1], args)
    routed = _routed(subject, query, args, time_ps)
    if routed is not None:
        return routed
    at = subject.at(time_ps)
    if not subject.may_send(query.src.id, query.dst.id):
        src, dst = (subject.tenants.get(it.id, "no tenant") for it in (query.src, query.dst))
        return no_path_between_tenants(query, src, dst, _when(subject, time_ps))
    if subject.compiled.params.source_routes is not None:
        hashed = {"--sport": args.sport, "--dport": args.dport}
        text, remedy = "has no effect where NICs choose paths: no switch hashes UDP ports", "leave it out"
        if given := [Problem(name, text, remedy) for name, value in hashed.items() if value is not None]:
            raise InputErrors("options", given)
        from fabric.forwarding.source_route_view import explain_source_routes, reached_ports  # noqa: PLC0415  as in run()

        withdrawn = subject.routes_withdrawn(time_ps)
        nics = (query.nic,) if args.nic is not None else reached_ports(at.fabric, query.src, query.dst)
        title = _when(subject, time_ps)
        return explain_source_routes(at, subject.rates(at), query, nics, withdrawn, title, ports=args.json)
    return explain_path(at, subject.rates(at), query, _when(subject, time_ps), ports=args.json)


def _routed(subject: Subject, query: FlowQuery, args: argparse.Namespace, time_ps: int) -> Document | None:
    """The answer between two subnets of a tenant; None for other pairs."""
    from fabric.forwarding.path_view import explain_path  # noqa: PLC0415  as in run()
    from fabric.forwarding.tenant_path import crossing, crossing_text, tenant_between  # noqa: PLC0415

    params = subject.compiled.params
    tenant = tenant_between(params, query)
    if tenant is None:
        return None
    at = subject.at(time_ps)
    found = crossing(at, query, tenant)
    prefix = "" if tenant.by_host else subject.matched_prefix(found.leaf, query.dst.id, time_ps)
    note = crossing_text(subject.fabric, params.host_ip.tolist(), query, found, prefix)
    return explain_path(at, subject.rates(at), query, _when(subject, time_ps), ports=args.json, notes=(note,))


def _query(subject: Subject, src_name: str, dst_name: str, args: argparse.Namespace) -> FlowQuery:
    """The flow; every problem of the words and options together."""
    import numpy as np  # noqa: PLC0415  as in run()

    from fabric.forwarding.flowpath import ENTROPY_PORTS  # noqa: PLC0415
    from fabric.forwarding.path_view import FlowQuery  # noqa: PLC0415
    from fabric.show.subject import node_called  # noqa: PLC0415
    from fabric.topology.select import nearest  # noqa: PLC0415

    fabric, problems = subject.fabric, list[Problem]()
    src = node_called(fabric, src_name, "host", problems, "SRC")
    dst = node_called(fabric, dst_name, "host", problems, "DST")
    if src is not None and src is dst:
        problems.append(Problem("DST", f"'{dst_name}' is SRC itself", "name two different hosts"))
    problems += [
        Problem(option, f"{port} is not a UDP port", "give 0 to 65535")
        for option, port in (("--sport", args.sport), ("--dport", args.dport))
        if port is not None and not 0 <= port <= 0xFFFF
    ]
    nics = {fabric.ports[port].name: port for port in src.ports} if src is not None else {}
    if args.nic is not None and nics and args.nic not in nics:
        problems.append(Problem("--nic", f"{src_name} has no port '{args.nic}'", nearest(args.nic, nics, "ports")))
    usable = fabric.ports_towards(src.id, dst.id) if src is not None and dst is not None else range(0)
    if usable and args.nic in nics and nics[args.nic] not in usable:
        hint = f"use {fabric.ports[usable[0]].name}"
        problems.append(Problem("--nic", f"nothing is sent from {src_name} to {dst_name} by '{args.nic}'", hint))
    if problems or src is None or dst is None:
        raise InputErrors("command line", problems)
    pairs = subject.compiled.params.queue_pairs
    mine = np.flatnonzero((pairs.src == src.id) & (pairs.dst == dst.id))
    nic = nics[args.nic] if args.nic is not None else usable[0]
    dport = _ROCE_PORT if args.dport is None else args.dport
    if args.sport is not None:
        return FlowQuery(
            src, dst, args.sport, dport, nic, "ports as given", int(mine[0]) if len(mine) else 0, tuple(mine.tolist())
        )
    if not len(mine):
        return FlowQuery(
            src,
            dst,
            ENTROPY_PORTS.start,
            dport,
            nic,
            "the scenario sends nothing between the two, so the source port is the first of RoCEv2's: "
            "--sport gives another",
        )
    first = int(mine[0])
    note = (
        f"queue pair {first}, the first of {len(mine)} that the scenario has between the two"
        if len(mine) > 1
        else f"queue pair {first}, the scenario's only one between the two"
    )
    return FlowQuery(
        src,
        dst,
        int(pairs.src_udp_port[first]),
        int(pairs.dst_udp_port[first]) if args.dport is None else dport,
        int(pairs.port[first]) if args.nic is None else nic,
        note,
        first,
        tuple(mine.tolist()),
    )


def _everything(subject: Subject, args: argparse.Namespace, time_ps: int) -> Document:
    from fabric.forwarding.ecmp_load import group_loads  # noqa: PLC0415  as in run()
    from fabric.forwarding.polarisation import survey  # noqa: PLC0415
    from fabric.forwarding.route_faults import check_routes  # noqa: PLC0415
    from fabric.forwarding.routes_view import explain_routes  # noqa: PLC0415

    given = {"--sport": args.sport, "--nic": args.nic}
    problems = [
        Problem(name, "has no effect without two hosts", "name SRC and DST, or leave it out")
        for name, value in given.items()
        if value is not None
    ]
    if problems:
        raise InputErrors("options", problems)
    at = subject.at(time_ps)
    faults = check_routes(
        subject.fabric,
        at.next_ports,
        [[host.id for host in hosts] for hosts in at.classes().values()],
        at.dead,
        subject.may_send,
    )
    found = survey(at, _ROCE_PORT if args.dport is None else args.dport)
    return explain_routes(
        at, f"Routes of {subject.compiled.name}", _when(subject, time_ps), faults, found, group_loads(at)
    )


def _when(subject: Subject, time_ps: int) -> str:
    """'incast at 2ms; routes change at 2.5ms'."""
    from fabric.show.subject import moment_text  # noqa: PLC0415  as in run()
    from fabric.units import format_time_ps  # noqa: PLC0415

    later = [moment for moment in subject.moments() if moment > time_ps]
    text = f"{subject.compiled.name} {moment_text(time_ps)}"
    if later:
        text += f"; cables or routes change at {', '.join(format_time_ps(moment) for moment in later[:4])}"
        text += f", ... ({len(later)} moments)" if len(later) > 4 else ""
    return text
