"""``fabric path SRC DST SOURCE``: the paths between two hosts; ``fabric path SOURCE``: what is wrong with any."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric.cli.control_options import tell_beyond
from fabric.errors import InputErrors, Problem

if TYPE_CHECKING:  # numpy, pydantic and rich are loaded when there is something to answer
    from fabric.report.explain_path import Asked
    from fabric.report.model import Document
    from fabric.report.subject import Subject

EXIT_FINDING: Final = 1
_ROCE_PORT: Final = 4791
_ROWS: Final = 16
"""Rows of a table on the terminal; `--json` has them all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = ("fabric path [SRC DST] SOURCE [--sport N] [--dport N] [--nic PORT] [--at TIME]\n"
                    "                   [--set PATH=VALUE] [--json]")
    parser.description = (
        "With two hosts: every equal-cost path between them, the one that a flow takes, and the numbers that each\n"
        "switch hashed to choose it. Without: check all routes to hosts (black holes, loops, valleys, cyclic buffer\n"
        "dependencies), find polarised tiers, and say how evenly the scenario's flows fall; exit 1 on a finding.\n"
        "Left out of that check: packets between the subnets of a tenant, and copies of broadcasts in VXLAN, which\n"
        "with routing: bgp follow the routes to VTEPs; whom leaves cannot reach in their tenants says\n"
        "'fabric evpn check-isolation'. Nothing is played.")
    first = parser.add_argument("words", metavar="SRC DST SOURCE",
                                help="two hosts, and a scenario file or run directory; or SOURCE alone")
    first.dest = "first"
    for name in ("second", "third"):        # not nargs='?': those would be taken as absent before an option
        parser.add_argument(name, metavar="", help=argparse.SUPPRESS).required = False
    parser.add_argument("--sport", metavar="N", type=int,
                        help="UDP source port (default: that of the scenario's first queue pair between the two)")
    parser.add_argument("--dport", metavar="N", type=int, help=f"UDP destination port (default {_ROCE_PORT}, RoCEv2)")
    parser.add_argument("--nic", metavar="PORT", help="port of SRC it leaves by, such as eth1 (default: the first)")
    parser.add_argument("--at", metavar="TIME", help="at this simulated time, such as 2ms (default: the start)")
    parser.add_argument("--set", metavar="PATH=VALUE", action="append", default=[], dest="sets",
                        help="override one value of the scenario; repeatable")
    parser.add_argument("--json", action="store_true", help="print one JSON object, numbers in base units")


def run(args: argparse.Namespace) -> int:
    """Answer, and exit 0; 1 where all routes were asked for and something is wrong with them."""
    words = [word for word in (args.first, args.second, args.third) if word is not None]
    if len(words) == 2:
        raise InputErrors("command line", [Problem("SOURCE", f"'{words[0]}' and '{words[1]}' are two words",
                                                   "name two hosts and a scenario file or run directory, or only the "
                                                   "latter: fabric path host1 host9 scenarios/incast.yml")])
    from fabric.report.json import to_json  # noqa: PLC0415  --help must not load numpy and pydantic
    from fabric.report.model import Status  # noqa: PLC0415
    from fabric.report.subject import load_subject, moment  # noqa: PLC0415
    from fabric.report.text import console_for, print_document  # noqa: PLC0415

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
    from fabric.report.explain_path import apart, explain_path  # noqa: PLC0415

    asked = _asked(subject, words[0], words[1], args)
    routed = _routed(subject, asked, args, time_ps)
    if routed is not None:
        return routed
    at = subject.at(time_ps)
    if not subject.may_send(asked.src.id, asked.dst.id):
        src, dst = (subject.tenants.get(it.id, "no tenant") for it in (asked.src, asked.dst))
        return apart(asked, src, dst, _when(subject, time_ps))
    return explain_path(at, subject.rates(at), asked, _when(subject, time_ps), ports=args.json)


def _routed(subject: Subject, asked: Asked, args: argparse.Namespace, time_ps: int) -> Document | None:
    """The answer between two subnets of a tenant; None for other pairs."""
    from fabric.report.explain_path import explain_path  # noqa: PLC0415
    from fabric.report.tenant_path import crossing, words  # noqa: PLC0415

    params = subject.compiled.params
    found = crossing(subject.fabric, params, subject.edits, time_ps, asked)
    if found is None:
        return None
    prefix = "" if found.tenant.by_host else subject.matched_prefix(found.leaf, asked.dst.id, time_ps)
    at = subject.at(time_ps)
    note = words(subject.fabric, params.host_ip.tolist(), asked, found, prefix)
    return explain_path(at, subject.rates(at), asked, _when(subject, time_ps), ports=args.json, notes=(note,))


def _asked(subject: Subject, src_name: str, dst_name: str, args: argparse.Namespace) -> Asked:
    """The flow; every problem of the words and options together."""
    import numpy as np  # noqa: PLC0415

    from fabric.report.explain_path import Asked  # noqa: PLC0415
    from fabric.report.flowpath import ENTROPY_PORTS  # noqa: PLC0415
    from fabric.report.subject import node_called  # noqa: PLC0415
    from fabric.topology.select import nearest  # noqa: PLC0415

    fabric, problems = subject.fabric, list[Problem]()
    src = node_called(fabric, src_name, "host", problems, "SRC")
    dst = node_called(fabric, dst_name, "host", problems, "DST")
    if src is not None and src is dst:
        problems.append(Problem("DST", f"'{dst_name}' is SRC itself", "name two different hosts"))
    problems += [Problem(option, f"{port} is no UDP port", "give 0 to 65535")
                 for option, port in (("--sport", args.sport), ("--dport", args.dport))
                 if port is not None and not 0 <= port <= 0xFFFF]
    nics = {fabric.ports[port].name: port for port in src.ports} if src is not None else {}
    if args.nic is not None and nics and args.nic not in nics:
        problems.append(Problem("--nic", f"{src_name} has no port '{args.nic}'", nearest(args.nic, nics, "ports")))
    if problems or src is None or dst is None:
        raise InputErrors("command line", problems)
    pairs = subject.compiled.params.queue_pairs
    mine = np.flatnonzero((pairs.src == src.id) & (pairs.dst == dst.id))
    nic = nics[args.nic] if args.nic is not None else src.first_port
    dport = _ROCE_PORT if args.dport is None else args.dport
    if args.sport is not None:
        return Asked(src, dst, args.sport, dport, nic, "ports as asked for", tuple(mine.tolist()))
    if not len(mine):
        return Asked(src, dst, ENTROPY_PORTS.start, dport, nic,
                     "the scenario sends nothing between the two, so the source port is the first of RoCEv2's: "
                     "--sport asks for another")
    first = int(mine[0])
    note = (f"queue pair {first}, the first of {len(mine)} that the scenario has between the two" if len(mine) > 1 else
            f"queue pair {first}, the scenario's only one between the two")
    return Asked(src, dst, int(pairs.src_udp_port[first]),
                 int(pairs.dst_udp_port[first]) if args.dport is None else dport,
                 int(pairs.port[first]) if args.nic is None else nic, note, tuple(mine.tolist()))


def _everything(subject: Subject, args: argparse.Namespace, time_ps: int) -> Document:
    from fabric.report.ecmp_load import group_loads  # noqa: PLC0415
    from fabric.report.explain_routes import Theory, explain_routes  # noqa: PLC0415
    from fabric.report.polarisation import survey  # noqa: PLC0415
    from fabric.validate.routing_walks import check_routes  # noqa: PLC0415
    from fabric.validate.theory import collisions  # noqa: PLC0415

    given = {"--sport": args.sport, "--nic": args.nic}
    problems = [Problem(name, "has no effect without two hosts", "name SRC and DST, or leave it out")
                for name, value in given.items() if value is not None]
    if problems:
        raise InputErrors("options", problems)
    at = subject.at(time_ps)
    walked = check_routes(subject.fabric, at.next_ports,
                          [[host.id for host in hosts] for hosts in at.classes().values()], at.dead, subject.may_send)
    found = survey(at, _ROCE_PORT if args.dport is None else args.dport)
    return explain_routes(at, f"Routes of {subject.compiled.name}", _when(subject, time_ps), walked, found,
                          group_loads(at), Theory(collisions.expected_max_over_mean, collisions.chance_of_max,
                                                  collisions.expected_delivered))


def _when(subject: Subject, time_ps: int) -> str:
    """'incast at 2ms; routes change at 2.5ms'."""
    from fabric.report.subject import moment_text  # noqa: PLC0415
    from fabric.units import format_time_ps  # noqa: PLC0415

    later = [moment for moment in subject.moments() if moment > time_ps]
    text = f"{subject.compiled.name} {moment_text(time_ps)}"
    if later:
        text += f"; cables or routes change at {', '.join(format_time_ps(moment) for moment in later[:4])}"
        text += f", ... ({len(later)} moments)" if len(later) > 4 else ""
    return text
