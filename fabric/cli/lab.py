"""``fabric lab up|show|list|down|compare``: a scenario's fabric in real kernels with FRR, and where the model differs.

Needs Linux, root and FRR. Every switch and host is a network namespace of this machine; nothing else is changed. The
processes, namespaces and files of a laboratory are listed in /run/fabric-lab/NAME/record.jsonl, and only these are
ended or removed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.cli.options.sets import add_sets
from fabric.errors import FabricError, InputErrors, Problem, UnitError
from fabric.visible import command, visible

if TYPE_CHECKING:  # loaded when there is something to build
    from fabric.controlplane.network.run import ControlScript
    from fabric.lab.compare import Row, Stage
    from fabric.lab.laboratory import Laboratory
    from fabric.lab.record import Head
    from fabric.lab.state import State
    from fabric.lab.teardown import Removal

EXIT_FINDING: Final = 1
NS_PER_MS: Final = 1_000_000
DOWN_PATIENCE_S: Final = 30.0
"""How long `down` waits for another `down` of the same laboratory."""
_ROWS: Final = 40
_ACTIONS: Final = (
    ("up", "build the fabric and start FRR in it; it runs until `fabric lab down`"),
    ("show", "state of a laboratory's daemons and sessions; or FRR's answer to a command in one switch"),
    ("list", "all laboratories of this machine, and whether they run"),
    ("down", "end a laboratory: exactly the daemons, namespaces and files that its record lists"),
    ("compare", "build, compare with the model after the start and after each event; exit 1 where they differ"),
)
_BUILDS: Final = frozenset({"up", "compare"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in _ACTIONS:
        action = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        action.add_argument("--json", action="store_true", help="print one JSON object")
        if name == "list":
            continue
        action.add_argument(
            "source",
            metavar="SOURCE",
            type=Path,
            nargs=None if name in _BUILDS else "?",
            help="scenario file with routing: bgp, or a run of one"
            + ("" if name in _BUILDS else "; not needed with --name"),
        )
        add_sets(action)
        if name != "compare":
            action.add_argument("--name", metavar="NAME", help="of the laboratory (default: the scenario's)")
        if name == "show":
            action.add_argument("--node", metavar="SWITCH", help="with --command: where")
            action.add_argument("--command", metavar="TEXT", help="of vtysh, such as 'show bgp l2vpn evpn'")
        elif name == "compare":
            action.add_argument(
                "--settle",
                metavar="TIME",
                default="30s",
                help="maximum convergence time of the real fabric after each event (default: 30s)",
            )
            action.add_argument("--start-only", action="store_true", help="compare after the start, without events")


def run(args: argparse.Namespace) -> int:
    """Do one of them."""
    settle_s = _checked(args)
    if args.action == "list":
        return _list(args)
    from fabric.lab.interrupts import unwinding  # noqa: PLC0415  --help must not load anything

    with unwinding():
        if args.action in _BUILDS:
            return _build(args, settle_s)
        from fabric.lab.netns import require  # noqa: PLC0415

        require(("vtysh",) if args.action == "show" else ())
        return {"show": _show, "down": _down}[args.action](args, _name(args))


def _checked(args: argparse.Namespace) -> float:
    """--settle in seconds; every problem of the options together."""
    from fabric.lab.names import name_problems  # noqa: PLC0415
    from fabric.units import PS_PER_S, parse_time_ps  # noqa: PLC0415

    problems = []
    settle_s = 0.0
    if args.action in {"show", "down"}:
        if args.source is None and args.name is None:
            problems.append(
                Problem(
                    "SOURCE",
                    "is missing",
                    "name the scenario, or the laboratory with --name NAME; `fabric lab list` names all",
                )
            )
        if args.sets and (args.source is None or args.name is not None):
            problems.append(Problem("--set", "has no effect with --name", "leave out one of them"))
    if args.action == "show" and (args.node is None) != (args.command is None):
        problems.append(
            Problem(
                "--node",
                "--node and --command belong together",
                "fabric lab show SOURCE --node leaf1 --command 'show bgp summary'",
            )
        )
    if getattr(args, "name", None) is not None:
        # Remains of a comparison have a name that is not valid for a new laboratory.
        problems += name_problems(args.name if args.action == "up" else args.name.partition("@")[0])
    if args.action == "compare":
        try:
            settle_s = parse_time_ps(args.settle) / PS_PER_S
        except UnitError as error:
            problems.append(Problem("--settle", error.text, error.hint))
    if problems:
        raise InputErrors("options", problems)
    return settle_s


def _name(args: argparse.Namespace) -> str:
    """Of the laboratory: as given, or the scenario's."""
    if args.name is not None:
        return str(args.name)
    from fabric.show.subject import load_subject  # noqa: PLC0415

    return load_subject(args.source, args.sets).scenario.name


def _build(args: argparse.Namespace, settle_s: float) -> int:
    from fabric.show.subject import load_subject  # noqa: PLC0415  --help must not load numpy and pydantic

    subject = load_subject(args.source, args.sets)
    control, scenario = subject.placed.control, subject.scenario.name
    if control is None:
        raise FabricError(
            f"{scenario} has no control plane: its routing is shortest-path",
            "give it `routing: bgp`, or --set routing=bgp",
        )
    from fabric.lab import blueprint, names  # noqa: PLC0415
    from fabric.lab.laboratory import Laboratory  # noqa: PLC0415
    from fabric.lab.record import Kind  # noqa: PLC0415

    omitted = blueprint.left_out(control.plan)
    control = replace(control, plan=blueprint.bridged(control.plan)) if omitted else control
    bfd = control.config.bfd
    notes = [f"left out: {text}" for text in omitted.values()]
    if bfd is not None and bfd.interval_ns < blueprint.MIN_BFD_MS * NS_PER_MS:
        notes.append(f"BFD at intervals of {blueprint.MIN_BFD_MS} ms, the minimum of bfdd; tables do not depend on it")
    for note in notes:
        print(note, file=sys.stderr)
    compares = args.action == "compare"
    name = names.of_comparison(scenario, os.getpid()) if compares else args.name or scenario
    lab = Laboratory(
        control.plan,
        control.config,
        name,
        scenario=scenario,
        source=str(args.source.resolve()),
        kind=Kind.COMPARE if compares else Kind.UP,
    )
    try:
        return _compare(args, control, lab, settle_s, omitted) if compares else _up(args, lab)
    finally:
        if lab.removal is not None:
            for text in lab.removal.left:
                print(f"left: {text}", file=sys.stderr)


def _up(args: argparse.Namespace, lab: Laboratory) -> int:
    from fabric.lab.names import namespace_name  # noqa: PLC0415

    with lab:
        lab.up()
        lab.keep()
    spaces = namespace_name(lab.name, "NODE")
    facts = {
        "name": lab.name,
        "folder": str(lab.folder),
        "switches": [it.name for it in lab.plan.routers],
        "hosts": [it.name for it in lab.plan.endpoints],
        "namespaces": spaces,
    }
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    which = (args.source,) if args.name is None else ("--name", args.name)
    node = lab.plan.routers[-1].name
    from fabric.units import counted  # noqa: PLC0415

    devices = counted((len(lab.plan.routers), "switch", "switches"), (len(lab.plan.endpoints), "host"))
    print(
        f"{devices} run in namespaces {spaces}\n"
        f"  {command('fabric', 'lab', 'show', *which)}\n  ip netns exec {namespace_name(lab.name, node)} ip route\n"
        f"  {command('vtysh', '--vty_socket', lab.folder / node)}\n  {command('fabric', 'lab', 'down', *which)}"
    )
    return 0


def _show(args: argparse.Namespace, name: str) -> int:
    from fabric.lab import frr  # noqa: PLC0415
    from fabric.lab.names import RUN  # noqa: PLC0415
    from fabric.lab.state import Condition, state_of  # noqa: PLC0415

    state = state_of(name)
    if state is None:
        raise FabricError(
            f"no laboratory {name} runs here", "`fabric lab list` names those that do, `fabric lab up` starts one"
        )
    bgp = [it for it in state.daemons if it.name == "bgpd"]
    if args.command is not None:
        nodes = [it.node for it in bgp]
        if args.node not in nodes:
            raise InputErrors(
                "options", [Problem("--node", f"there is no switch '{args.node}'", f"one of {', '.join(nodes)}")]
            )
        if not any(it.runs for it in state.daemons if it.node == args.node):
            raise FabricError(
                f"no daemon of {args.node} runs", f"`fabric lab show --name {name}` shows the end of its log"
            )
        output = frr.shell(RUN / name / args.node, args.command)
        facts = {"node": args.node, "command": args.command, "output": output}
        print(json.dumps(facts) if args.json else visible(output, lines=True))
        return 0
    summaries: dict[str, Any] = {
        it.node: frr.show(RUN / name / it.node, "show bgp summary json")[0] for it in bgp if it.runs
    }
    if args.json:
        print(
            json.dumps(
                {
                    **_facts(state),
                    "lost_namespaces": state.lost,
                    "daemons": [asdict(it) for it in state.daemons],
                    "sessions": summaries,
                },
                indent=2,
            )
        )
    else:
        _print_state(state, summaries)
    return 0 if state.condition is Condition.RUNNING else EXIT_FINDING


def _print_state(state: State, summaries: Mapping[str, Any]) -> None:
    from fabric.lab.state import Condition  # noqa: PLC0415

    count = len(state.daemons) - len(state.dead)
    print(f"laboratory {state.name}: {state.condition.value}, {count} of {len(state.daemons)} daemons run")
    if state.problem:
        print(f"  {state.problem}")
    for name in state.lost:
        print(f"  the namespace {name} is not there")
    for it in state.dead:
        print(
            f"  {it.name} of {it.node} "
            f"{'was not started' if it.pid is None else f'(process {it.pid}) does not run'}"
            + ("; its log ends with" if it.log else "")
        )
        for line in it.log:
            print(f"    {visible(line)}")
    if summaries:
        from fabric.render.text import console_for, print_document  # noqa: PLC0415
        from fabric.show.control_tables import summary  # noqa: PLC0415

        print_document(summary(dict(summaries), f"laboratory {state.name}, now"), console_for(sys.stdout), _ROWS)
    if state.condition is not Condition.RUNNING:
        print(f"fabric lab down --name {state.name} removes what is left of it")


def _facts(state: State) -> dict[str, Any]:
    head: Head | None = state.head
    return {
        "name": state.name,
        "state": state.condition.value,
        "scenario": head.scenario if head is not None else None,
        "source": head.source if head is not None else None,
        "kind": head.kind.value if head is not None else None,
        "started": head.started if head is not None else None,
        "switches": len(head.switches) if head is not None else 0,
        "hosts": len(head.hosts) if head is not None else 0,
        "daemons_running": len(state.daemons) - len(state.dead),
        "problem": state.problem,
    }


def _list(args: argparse.Namespace) -> int:
    from fabric.lab.state import states  # noqa: PLC0415

    found = states()
    if args.json:
        print(json.dumps({"laboratories": [_facts(it) for it in found]}, indent=2))
        return 0
    if not found:
        print("no laboratories here", file=sys.stderr)
        return 0
    rows = [
        ("name", "state", "daemons", "switches", "hosts", "started", "source"),
        *(
            (
                it.name,
                it.condition.value,
                f"{len(it.daemons) - len(it.dead)} of {len(it.daemons)}",
                str(len(it.head.switches)) if it.head else "-",
                str(len(it.head.hosts)) if it.head else "-",
                it.head.started if it.head else "-",
                it.head.source if it.head else "-",
            )
            for it in found
        ),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(visible(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for it in found:
        if it.problem:
            print(it.problem, file=sys.stderr)
    return 0


def _down(args: argparse.Namespace, name: str) -> int:
    """End the laboratory, and remains of aborted comparisons of its scenario."""
    from fabric.lab.interrupts import held_back  # noqa: PLC0415
    from fabric.lab.record import Record  # noqa: PLC0415
    from fabric.lab.teardown import take_down  # noqa: PLC0415

    done: list[Removal] = []
    for which in (name, *_abandoned(args, name)):
        record = Record.open(which, patience_s=DOWN_PATIENCE_S if _is_built(which) else 0.5)
        if record is not None:
            with held_back():
                done.append(take_down(record))
    if args.json:
        print(json.dumps({"ended": [asdict(it) for it in done]}, indent=2))
    elif not done:
        print(f"no laboratory {name} exists: nothing to end", file=sys.stderr)
    for it in done:
        if not args.json:
            _print_removal(it)
    return 0 if all(it.clean for it in done) else EXIT_FINDING


def _is_built(name: str) -> bool:
    """Whether no process builds or compares: then the lock is held by another `down`, which ends soon."""
    from fabric.lab.state import Condition, state_of  # noqa: PLC0415

    state = state_of(name)
    return state is None or (
        state.condition is not Condition.BUILDING and (state.head is None or state.head.kind.value == "up")
    )


def _abandoned(args: argparse.Namespace, name: str) -> list[str]:
    from fabric.lab.state import Condition, states  # noqa: PLC0415

    return (
        []
        if args.name is not None
        else [
            it.name
            for it in states()
            if it.condition is Condition.ABANDONED
            and it.head is not None
            and it.head.scenario == name
            and it.name != name
        ]
    )


def _print_removal(it: Removal) -> None:
    print(f"ended: {it.name} ({len(it.ended)} daemons and namespaces)")
    for text in it.absent:
        print(f"  was gone already: {text}")
    for text in it.left:
        print(f"  left: {text}", file=sys.stderr)


def _compare(
    args: argparse.Namespace, control: ControlScript, lab: Laboratory, settle_s: float, omitted: Mapping[str, str]
) -> int:
    from fabric.lab.compare import compare, stages_of  # noqa: PLC0415
    from fabric.lab.laboratory import can_apply  # noqa: PLC0415

    events = [] if args.start_only else [event for event in control.events if can_apply(event)]
    skipped = sorted({type(event).__name__ for event in control.events if not can_apply(event)})
    if skipped and not args.start_only:
        print(f"left out, because a laboratory has no counterpart: {', '.join(skipped)}", file=sys.stderr)
    stages = []
    with lab:
        lab.up()
        for stage in compare(
            lab,
            control.plan,
            control.config,
            list(stages_of(events)),
            settle_s=settle_s,
            report=lambda what: print(what, file=sys.stderr, flush=True),
        ):
            stages.append(stage)
            if not args.json:
                _print(stage)
    found = sum(len(stage.differences) for stage in stages)
    if args.json:
        print(
            json.dumps(
                {
                    "equal": found == 0,
                    "left_out": [] if args.start_only else skipped,
                    "not_compared": dict(omitted),
                    "stages": [
                        {
                            "what": it.what,
                            "rows": it.rows,
                            "settled_s": round(it.settled_s, 3),
                            "differences": [_row(row) for row in it.differences],
                            "differ_by_order_of_arrival": [_row(row) for row in it.by_order],
                        }
                        for it in stages
                    ],
                },
                indent=2,
            )
        )
    return EXIT_FINDING if found else 0


def _row(row: Row) -> dict[str, Any]:
    return {"switch": row.node, "table": row.table, "key": row.key, "real": row.real, "model": row.modelled}


def _print(stage: Stage) -> None:
    from fabric.lab.tables import TITLES  # noqa: PLC0415

    verdict = f"{len(stage.differences)} of them differ" if stage.differences else "all equal"
    print(f"{stage.what}: {stage.rows} rows, {verdict}, after {stage.settled_s:.1f} s", flush=True)
    for row in stage.differences[:_ROWS]:
        print(
            f"  {row.node}, {TITLES[row.table]}\n    {row.key}\n      real   {json.dumps(row.real)}\n"
            f"      model  {json.dumps(row.modelled)}"
        )
    if len(stage.differences) > _ROWS:
        print(f"  ... and {len(stage.differences) - _ROWS} more: --json")
    if stage.by_order:
        rows = f"{len(stage.by_order)} rows" if len(stage.by_order) > 1 else "1 row"
        print(f"  {rows} differed by the order of arrival of equal routes, which the model then adopted")
