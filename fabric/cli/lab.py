"""``fabric lab up|show|down|compare``: a scenario's fabric in real kernels with FRR, and where the model of it differs.

Needs Linux, root and FRR. Every switch and host is a network namespace of this machine; nothing else is touched.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.errors import FabricError, InputErrors, Problem, UnitError

if TYPE_CHECKING:  # loaded when there is something to build
    from fabric.control.run import ControlScript
    from fabric.lab.compare import Row, Stage
    from fabric.lab.laboratory import Laboratory

EXIT_FINDING: Final = 1
EXIT_TERMINATED: Final = 143
NS_PER_MS: Final = 1_000_000
_ROWS: Final = 40
_ACTIONS: Final = (
    ("up", "build the fabric and start FRR in it; it runs until `fabric lab down`"),
    ("show", "sessions of a running laboratory, or what FRR says to a command in one switch"),
    ("down", "end a laboratory: daemons, namespaces, files"),
    ("compare", "build, compare with the model after the start and after each event; exit 1 where they differ"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in _ACTIONS:
        action = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        action.add_argument("source", metavar="SOURCE", type=Path,
                            help="scenario file with routing: bgp, or a run of one")
        action.add_argument("--set", metavar="PATH=VALUE", action="append", default=[], dest="sets",
                            help="override one value of the scenario; repeatable")
        action.add_argument("--json", action="store_true", help="print one JSON object")
        if name == "show":
            action.add_argument("--node", metavar="SWITCH", help="with --command: where")
            action.add_argument("--command", metavar="TEXT", help="of vtysh, such as 'show bgp l2vpn evpn'")
        elif name == "compare":
            action.add_argument("--settle", metavar="TIME", default="30s",
                                help="how long the real fabric may take after each event (default: 30s)")
            action.add_argument("--start-only", action="store_true", help="compare after the start, play no events")


def run(args: argparse.Namespace) -> int:
    """Do one of them."""
    settle_s = _checked(args)
    from fabric.report.subject import load_subject  # noqa: PLC0415  --help must not load numpy and pydantic

    subject = load_subject(args.source, args.sets)
    _end_in_order()
    control, name = subject.placed.control, re.sub(r"[^A-Za-z0-9]+", "-", subject.scenario.name)
    if control is None:
        raise FabricError(f"{subject.scenario.name} has no control plane: its routing is shortest-path",
                          "give it `routing: bgp`, or --set routing=bgp")
    from fabric.lab import blueprint  # noqa: PLC0415
    from fabric.lab.laboratory import Laboratory  # noqa: PLC0415

    omitted = blueprint.left_out(control.plan)
    control = replace(control, plan=blueprint.bridged(control.plan)) if omitted else control
    if args.action in {"up", "compare"}:
        bfd = control.config.bfd
        notes = [f"left out: {text}" for text in omitted.values()]
        if bfd is not None and bfd.interval_ns < blueprint.MIN_BFD_MS * NS_PER_MS:
            notes.append(f"BFD at intervals of {blueprint.MIN_BFD_MS} ms, the least that bfdd takes; tables do not "
                         "depend on it")
        for note in notes:
            print(note, file=sys.stderr)
    if args.action == "compare":
        return _compare(args, control, f"{name}-{os.getpid()}", settle_s, omitted)
    if args.action == "down":
        return _down(args, [Laboratory(control.plan, control.config, it) for it in _running(name)], name)
    lab = Laboratory(control.plan, control.config, name)
    return {"up": _up, "show": _show}[args.action](args, lab)


def _end_in_order() -> None:
    """SIGTERM unwinds the stack, so that what was built is removed; in this process only, not in netlink's helpers."""
    own = os.getpid()

    def end(*_: object) -> None:
        if os.getpid() != own:
            os._exit(EXIT_TERMINATED)
        sys.exit(EXIT_TERMINATED)

    signal.signal(signal.SIGTERM, end)


def _checked(args: argparse.Namespace) -> float:
    """--settle in seconds; every problem of the options together."""
    from fabric.units import PS_PER_S, parse_time_ps  # noqa: PLC0415

    problems = []
    settle_s = 0.0
    if args.action == "show" and (args.node is None) != (args.command is None):
        problems.append(Problem("--node", "--node and --command belong together",
                                "fabric lab show SOURCE --node leaf1 --command 'show bgp summary'"))
    if args.action == "compare":
        try:
            settle_s = parse_time_ps(args.settle) / PS_PER_S
        except UnitError as error:
            problems.append(Problem("--settle", error.text, error.hint))
    if problems:
        raise InputErrors("options", problems)
    return settle_s


def _up(args: argparse.Namespace, lab: Laboratory) -> int:
    with lab:
        lab.up()
        lab.keep()
    facts = {"name": lab.name, "folder": str(lab.folder), "switches": [it.name for it in lab.plan.routers],
             "hosts": [it.name for it in lab.plan.endpoints], "namespaces": f"fabric-{lab.name}-NODE"}
    if args.json:
        print(json.dumps(facts, indent=2))
    else:
        print(f"{len(lab.plan.routers)} switches and {len(lab.plan.endpoints)} hosts run in namespaces "
              f"fabric-{lab.name}-NODE\n  fabric lab show {args.source}\n"
              f"  ip netns exec fabric-{lab.name}-{lab.plan.routers[-1].name} ip route\n"
              f"  vtysh --vty_socket {lab.folder}/{lab.plan.routers[-1].name}\n  fabric lab down {args.source}")
    return 0


def _show(args: argparse.Namespace, lab: Laboratory) -> int:
    lab.adopt()
    try:
        if args.command is not None:
            if args.node not in lab.daemons:
                raise InputErrors("options", [Problem("--node", f"no switch is called '{args.node}'",
                                                      f"one of {', '.join(lab.daemons)}")])
            said = lab.daemons[args.node].shell(args.command)
            print(json.dumps({"node": args.node, "command": args.command, "said": said}) if args.json else said)
            return 0
        summaries: dict[str, Any] = {node: daemons.show("show bgp summary json")[0]
                                     for node, daemons in lab.daemons.items()}
    finally:
        lab.keep()
    if args.json:
        print(json.dumps(summaries, indent=2))
        return 0
    from fabric.report.control_tables import summary  # noqa: PLC0415
    from fabric.report.text import console_for, print_document  # noqa: PLC0415

    print_document(summary(summaries, f"laboratory {lab.name}, now"), console_for(sys.stdout), _ROWS)
    return 0


def _running(name: str) -> list[str]:
    """Laboratories of this name, and those of comparisons that did not live to end theirs."""
    from fabric.lab.laboratory import RUN  # noqa: PLC0415

    orphans = [path.name for path in RUN.glob(f"{name}-*")
               if path.name.removeprefix(f"{name}-").isdecimal()
               and not Path("/proc", path.name.rpartition("-")[2]).exists()]
    return [it for it in (name, *sorted(orphans)) if (RUN / it).exists()]


def _down(args: argparse.Namespace, labs: Sequence[Laboratory], name: str) -> int:
    if not labs:
        raise FabricError(f"no laboratory {name} runs here", f"fabric lab up {args.source} starts it")
    for lab in labs:
        lab.adopt().down()
    names = [lab.name for lab in labs]
    print(json.dumps({"ended": names}) if args.json else f"ended: {', '.join(names)}")
    return 0


def _compare(args: argparse.Namespace, control: ControlScript, name: str, settle_s: float,
             omitted: Mapping[str, str]) -> int:
    from fabric.lab.compare import compare, stages_of  # noqa: PLC0415
    from fabric.lab.laboratory import Laboratory, can_happen  # noqa: PLC0415

    events = [] if args.start_only else [event for event in control.events if can_happen(event)]
    skipped = sorted({type(event).__name__ for event in control.events if not can_happen(event)})
    if skipped and not args.start_only:
        print(f"not played, because a laboratory has no counterpart: {', '.join(skipped)}", file=sys.stderr)
    stages = []
    with Laboratory(control.plan, control.config, name) as lab:
        lab.up()
        for stage in compare(lab, control.plan, control.config, list(stages_of(events)), settle_s=settle_s,
                             tell=lambda what: print(what, file=sys.stderr, flush=True)):
            stages.append(stage)
            if not args.json:
                _print(stage)
    found = sum(len(stage.differences) for stage in stages)
    if args.json:
        print(json.dumps({"equal": found == 0, "not_played": [] if args.start_only else skipped,
                          "not_compared": dict(omitted), "stages": [{
            "what": it.what, "rows": it.rows, "settled_s": round(it.settled_s, 3),
            "differences": [_row(row) for row in it.differences],
            "differ_by_order_of_arrival": [_row(row) for row in it.by_order]} for it in stages]}, indent=2))
    return EXIT_FINDING if found else 0


def _row(row: Row) -> dict[str, Any]:
    return {"switch": row.node, "table": row.table, "key": row.key, "real": row.real, "model": row.modelled}


def _print(stage: Stage) -> None:
    from fabric.lab.tables import TITLES  # noqa: PLC0415

    verdict = f"{len(stage.differences)} of them differ" if stage.differences else "all equal"
    print(f"{stage.what}: {stage.rows} rows, {verdict}, after {stage.settled_s:.1f} s", flush=True)
    for row in stage.differences[:_ROWS]:
        print(f"  {row.node}, {TITLES[row.table]}\n    {row.key}\n      real   {json.dumps(row.real)}\n"
              f"      model  {json.dumps(row.modelled)}")
    if len(stage.differences) > _ROWS:
        print(f"  ... and {len(stage.differences) - _ROWS} more: --json")
    if stage.by_order:
        rows = f"{len(stage.by_order)} rows" if len(stage.by_order) > 1 else "1 row"
        print(f"  {rows} differed by the order in which equal routes arrived there; the model has taken it over")
