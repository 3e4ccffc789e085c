"""``fabric drill``: find the root of a hidden incident; drills of every single failure of a scenario."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.cli import drill_failover, drill_plans
from fabric.cli.options.estimating import add_yes, admission
from fabric.cli.options.folders import free_folder, runs_folder
from fabric.cli.options.output import add_out
from fabric.cli.terminal import streams
from fabric.errors import FabricError, InputErrors, Problem
from fabric.visible import command, visible

if TYPE_CHECKING:  # numpy and the engine are loaded when there is something to do
    from fabric.render.document import Section
    from telemetry.drill.folder import Folder
    from telemetry.drill.tables import Window

TABLES: Final = (
    "overview", "alerts", "topology", "ports", "pfc", "watchdog", "queues", "groups", "drops", "hosts", "sessions",
    "overlay", "jobs", "series",
)  # fmt: skip
"""What `look` shows: names in telemetry/drill/tables.py, which --help must not load, and four more."""
ACTS: Final = ("shut", "drain", "reset", "restore-config", "replace", "watchdog", "pace", "pfc-off", "wait")
"""ACTS in telemetry/drill/acts.py, as above."""
ROWS: Final = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    parser.epilog = (
        "example:\n"
        "  fabric drill start --level 1 --out runs/drill\n"
        "  fabric drill look runs/drill alerts\n"
        "  fabric drill look runs/drill pfc --device leaf2\n"
        "  fabric drill answer runs/drill --kind slow-receiver --device host3 --act drain"
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    start = actions.add_parser("start", help="simulate an incident whose cause is hidden")
    start.add_argument(
        "--kind", metavar="KIND", default="any", help="a kind of root, a scenario of `drill list`, or any (default)"
    )
    start.add_argument(
        "--level",
        type=int,
        choices=(1, 2, 3),
        default=1,
        help="1: every counter, alerts, five kinds to choose from (default); 2: as SONiC polls, alerts; "
        "3: as SONiC polls, no alerts, perhaps nothing is broken",
    )
    start.add_argument("--seed", metavar="N", type=int, help="repeats a drill with its names (default: drawn)")
    add_out(start, "DIR", "folder of the drill (default: runs/drill, with a number where that exists)")
    add_yes(start)
    look = actions.add_parser("look", help="what the telemetry of a drill shows; each look is counted")
    look.add_argument("dir", metavar="DIR", type=Path, help="folder of `drill start`")
    look.add_argument("table", nargs="?", choices=TABLES, default="overview", help="which table (default overview)")
    look.add_argument("--device", metavar="NAME", default="", help="rows of this device only")
    look.add_argument("--port", metavar="NAME", default="", help="rows of this port only, such as Ethernet0")
    look.add_argument("--since", metavar="TIME", help="from this simulated time on, such as 4ms")
    look.add_argument("--until", metavar="TIME", help="up to this simulated time")
    look.add_argument("--metric", metavar="NAME", help="with series: the metric, every sample of it (docs/metrics.md)")
    look.add_argument("--all", action="store_true", dest="every", help="rows in which nothing was counted, too")
    look.add_argument("--top", metavar="N", type=int, help=f"at most N rows (default {ROWS}; --json: all)")
    answer = actions.add_parser("answer", help="your diagnosis; prints the score, the root and its evidence")
    answer.add_argument("dir", metavar="DIR", type=Path, help="folder of `drill start`")
    answer.add_argument("--kind", metavar="KIND", required=True, help="kind of the root (docs/diagnosis.md), or none")
    answer.add_argument("--device", metavar="NAME", default="", help="device of the root, or the job")
    answer.add_argument("--port", metavar="NAME", default="", help="its port, where the root is one")
    answer.add_argument("--class", metavar="N", type=int, dest="priority", help="its class, where the root has one")
    answer.add_argument("--act", choices=ACTS, help="what you would do first, at this device and port")
    listing = actions.add_parser("list", help="kinds and scenarios that are drilled, levels, acts")
    history = actions.add_parser("history", help="drills in a folder, with their scores")
    history.add_argument("folder", nargs="?", type=Path, help="holds the folders (default: runs)")
    failing = actions.add_parser("failover", help="every single failure of a scenario, and what users would feel")
    drill_failover.add_arguments(failing)
    replaying = actions.add_parser("plans", help="test plans of sonic-mgmt, replayed with their pass criteria")
    drill_plans.add_arguments(replaying)
    for action in (start, look, answer, listing, history, failing, replaying):
        action.add_argument("--json", action="store_true", help="print one JSON value")


def run(args: argparse.Namespace) -> int:
    """Do one action; `answer` exits 1 where kind or device is wrong."""
    actions = {
        "start": _start, "look": _look, "answer": _answer, "list": _list, "history": _history,
        "failover": drill_failover.run,
        "plans": drill_plans.run,
    }  # fmt: skip
    return actions[args.action](args)


def _start(args: argparse.Namespace) -> int:
    from secrets import randbelow  # noqa: PLC0415

    from fabric.cli.terminal.compiler_note import CompilerNote  # noqa: PLC0415  --help must not load the engine
    from telemetry.drill.begin import begun, drawn  # noqa: PLC0415  as above

    if args.seed is not None and args.seed < 0:
        raise InputErrors("options", [Problem("--seed", f"{args.seed} is below 0", "give 0 or more")])
    seed = randbelow(1_000_000_000) if args.seed is None else args.seed
    incident = drawn(args.kind, args.level, seed)
    out = args.out or free_folder("drill")
    with CompilerNote(sys.stderr, quiet=False):
        folder = begun(incident, args.level, seed, out, lambda scenario: admission(scenario, yes=args.yes))
    if args.json:
        print(json.dumps({"directory": str(out), **_about(folder)}, indent=2))
        return 0
    print(f"drill in {visible(str(out))}")
    _print_overview(folder)
    return 0


def _about(folder: Folder) -> dict[str, Any]:
    return {
        name: folder.index[name] for name in ("started", "level", "view", "duration_ns", "choices", "shows_alerts")
    } | {
        "hosts": len(folder.fabric.hosts),
        "switches": len(folder.fabric.switches),
        "alerts": len(folder.alerts),
        "looks": len(folder.looks),
        "answered": folder.result is not None,
    }


def _print_overview(folder: Folder) -> None:
    from fabric.units import PS_PER_NS, format_time_ps  # noqa: PLC0415
    from fabric.units import count as count_of  # noqa: PLC0415

    about = _about(folder)
    print(f"level {about['level']}: {about['view']}")
    lasted = format_time_ps(about["duration_ns"] * PS_PER_NS)
    devices = f"{count_of(about['hosts'], 'host')}, {count_of(about['switches'], 'switch', 'switches')}"
    print(f"{devices}, {lasted} of simulated time")
    if about["shows_alerts"]:
        print(f"{count_of(about['alerts'], 'alert')} fired")
    if about["choices"]:
        print("the root is one of: " + ", ".join(about["choices"]))
    print("tables: " + ", ".join(TABLES[1:]))
    print("look:   " + command("fabric", "drill", "look", folder.path, "ports"))
    print("answer: " + command("fabric", "drill", "answer", folder.path) + " --kind KIND --device NAME --act ACT")


def _look(args: argparse.Namespace) -> int:
    from telemetry.drill.folder import Folder  # noqa: PLC0415

    folder = Folder(args.dir)
    window = _window(args, folder)
    if args.table == "overview":
        if args.json:
            print(json.dumps(_about(folder), indent=2))
        else:
            _print_overview(folder)
        return 0
    section = _section(args, folder, window)
    folder.looked(" ".join(it for it in (args.table, args.device, args.port, args.metric or "") if it))
    from fabric.render.document import Document, Status  # noqa: PLC0415
    from fabric.render.json import to_json  # noqa: PLC0415
    from fabric.render.text import console_for, print_document  # noqa: PLC0415

    looks = len(folder.looks)
    document = Document("Drill", folder.path.name, Status.NEUTRAL, f"look {looks}", (), (section,))
    if args.json:
        print(json.dumps(to_json(document), indent=2))
    else:
        print_document(document, console_for(sys.stdout), args.top or ROWS)
    return 0


def _window(args: argparse.Namespace, folder: Folder) -> Window:
    """Rows and time to show; every problem of the options together."""
    from fabric.errors import UnitError  # noqa: PLC0415
    from fabric.units import PS_PER_NS, parse_time_ps  # noqa: PLC0415
    from telemetry.drill.tables import Window  # noqa: PLC0415

    problems = _problems_of_place(folder, args.device, args.port, jobs=False)
    problems += _problems_of_labels(args, folder)
    times: list[int | None] = []
    for option, text in (("--since", args.since), ("--until", args.until)):
        try:
            times.append(None if text is None else parse_time_ps(text) // PS_PER_NS)
        except UnitError as error:
            problems.append(Problem(option, error.text, error.hint))
            times.append(None)
    problems += _problems_of_times(folder, *times)
    given = {"--device": args.device, "--port": args.port, "--since": args.since, "--until": args.until,
             "--all": args.every, "--top": args.top}  # fmt: skip
    without = {"overview": set(given), "alerts": {"--port", "--since", "--until", "--all"},
               "topology": {"--port", "--since", "--until", "--all"}, "series": {"--all"}}  # fmt: skip
    problems += [
        Problem(option, f"has no effect on {args.table}", "leave it out, or name another table")
        for option in sorted(without.get(args.table, ()))
        if given[option]
    ]
    if args.table == "series" and args.metric is None:
        problems.append(Problem("--metric", "series needs a metric", "such as --metric fabric_port_up"))
    if args.table == "series" and args.metric is not None and args.metric not in folder.store.metrics:
        from fabric.topology.select import nearest  # noqa: PLC0415

        hint = nearest(args.metric, folder.store.metrics, "metrics")
        problems.append(Problem("--metric", f"this view has no metric '{args.metric}'", hint))
    if args.table != "series" and args.metric is not None:
        problems.append(Problem("--metric", f"has no effect on {args.table}", "name the table: series"))
    if args.top is not None and args.top < 1:
        problems.append(Problem("--top", f"{args.top} rows are not possible", "give 1 or more"))
    if args.top is not None and args.json:
        problems.append(Problem("--top", "has no effect with --json, which has every row", "leave it out"))
    if problems:
        raise InputErrors("options", problems)
    return Window(args.device, args.port, times[0] or 0, times[1], args.every)


def _problems_of_labels(args: argparse.Namespace, folder: Folder) -> list[Problem]:
    """Options of a place whose label the rows of the table, or the series of the metric, do not have."""
    from telemetry.drill.tables import LAYOUTS  # noqa: PLC0415

    given = [(f"--{name}", name) for name in ("device", "port") if getattr(args, name)]
    if args.table in LAYOUTS:
        labels = LAYOUTS[args.table].labels
        return [
            Problem(option, f"has no effect on {args.table}", "leave it out, or name another table")
            for option, name in given
            if name not in labels
        ]
    if args.table != "series" or args.metric not in folder.store.metrics:
        return []
    known = {name for labels in folder.store.series(args.metric) for name, _ in labels}
    return [
        Problem(option, f"{args.metric} has no label '{name}'", "leave it out")
        for option, name in given
        if name not in known
    ]


def _problems_of_times(folder: Folder, since_ns: int | None, until_ns: int | None) -> list[Problem]:
    """A window without a moment of the drill."""
    from fabric.units import PS_PER_NS, format_time_ps  # noqa: PLC0415

    if since_ns is None:
        return []
    shown, last_ns = format_time_ps(since_ns * PS_PER_NS), int(folder.index["duration_ns"])
    if until_ns is not None and since_ns > until_ns:
        return [Problem("--since", f"{shown} is after --until", "exchange them")]
    if since_ns > last_ns:
        hint = f"it lasts {format_time_ps(last_ns * PS_PER_NS)}"
        return [Problem("--since", f"{shown} is after the end of the drill", hint)]
    return []


def _problems_of_place(folder: Folder, device: str, port: str, *, jobs: bool) -> list[Problem]:
    from fabric.topology.select import nearest  # noqa: PLC0415

    names = list(folder.fabric.by_name)
    if jobs:
        series = folder.store.series("fabric_job_straggler_ratio")
        names += sorted({dict(labels)["workload"] for labels in series})
    if device and device not in names:
        return [Problem("--device", f"the drill has no device '{device}'", nearest(device, names, "devices"))]
    if port and not device and jobs:
        return [Problem("--port", "a port needs its device", "add --device")]
    if port and not device:
        every = sorted({it.name for it in folder.fabric.ports})
        text = f"no device has a port '{port}'"
        return [] if port in every else [Problem("--port", text, nearest(port, every, "ports"))]
    if port and device in folder.fabric.by_name:
        node = folder.fabric.by_name[device]
        ports = [folder.fabric.ports[it].name for it in node.ports]
        if port not in ports:
            return [Problem("--port", f"{device} has no port '{port}'", nearest(port, ports, "ports"))]
    return []


def _section(args: argparse.Namespace, folder: Folder, window: Window) -> Section:
    from fabric.render.document import Column, Prose, Section, Table, Unit  # noqa: PLC0415
    from telemetry.drill.tables import cables, series, table  # noqa: PLC0415

    if args.table != "alerts":
        if args.table == "topology":
            found = cables(folder.fabric, window)
        elif args.table == "series":
            found = series(folder.store, args.metric, window)
        else:
            found = table(args.table, folder.store, window)
        more = () if found.rows else (Prose(found.note or "nothing here"),)  # an empty table is not printed
        return Section(args.table, "PFC" if args.table == "pfc" else args.table.capitalize(), (found, *more))
    if not folder.index["shows_alerts"]:
        text = f"level {folder.index['level']} shows no alerts: users only say that their work is slow or fails"
        return Section("alerts", "Alerts", (Prose(text),))
    columns = (Column("fired_ns", "Fired", Unit.NS), Column("cleared_ns", "Until", Unit.NS), Column("alert", "Alert"),
               Column("text", "What"))  # fmt: skip
    rows = tuple(
        (it["firing_ns"], it["cleared_ns"], it["alert"], it["text"])
        for it in folder.alerts
        if not window.device or window.device in it["labels"].values()
    )
    return Section("alerts", "Alerts", (Table("alerts", "Alerts, by the time they fired", columns, rows),))


def _answer(args: argparse.Namespace) -> int:
    from telemetry.drill.folder import Folder, now  # noqa: PLC0415
    from telemetry.drill.score import Answer, scored  # noqa: PLC0415

    folder = Folder(args.dir)
    _check_answer(args, folder)
    if folder.result is not None:
        raise FabricError(f"{args.dir} is answered already", "start another one: fabric drill start")
    switches = frozenset(node.name for node in folder.fabric.switches)
    began, ended = (datetime.fromisoformat(it) for it in (str(folder.index["started"]), now()))
    wall_s = max(int((ended.astimezone(UTC) - began.astimezone(UTC)).total_seconds()), 0)
    answer = Answer(args.kind, args.device, args.port, args.priority, args.act or "")
    result = scored(answer, folder.opened(), switches, len(folder.looks), wall_s)
    folder.answered(result)
    if args.json:
        print(json.dumps({"directory": str(args.dir), **result}, indent=2))
    else:
        _print_result(result)
    return 0 if all(it["right"] for it in result["parts"] if it["part"] in {"kind", "device"}) else 1


def _check_answer(args: argparse.Namespace, folder: Folder) -> None:
    from fabric.topology.select import nearest  # noqa: PLC0415
    from telemetry.drill.incidents import ANSWERS, NONE  # noqa: PLC0415

    problems = []
    if args.kind not in ANSWERS:
        hint = nearest(args.kind, ANSWERS, "kinds")
        problems.append(Problem("--kind", f"there is no kind of root '{args.kind}'", hint))
    elif args.kind != NONE and not args.device:
        problems.append(Problem("--device", "a root has a place", "name the device, or answer --kind none"))
    elif args.kind == NONE and (args.device or args.port or args.priority is not None):
        problems.append(Problem("--kind none", "has no place", "leave out --device, --port and --class"))
    if args.priority is not None and not 0 <= args.priority <= 7:
        problems.append(Problem("--class", f"{args.priority} is no class", "0 to 7"))
    problems += _problems_of_place(folder, args.device, args.port, jobs=True)
    if problems:
        raise InputErrors("the answer", problems)


def _print_result(result: dict[str, Any]) -> None:
    from fabric.units import count as count_of  # noqa: PLC0415

    print(f"{result['points']} of {result['of']} points, {count_of(result['looks'], 'look')}, {result['wall_s']} s\n")
    for it in result["parts"]:
        mark = "right" if it["right"] else "wrong"
        told = visible(it["answer"]) or "-"
        print(f"  {it['part']:<7} {it['points']:>2} of {it['of']:<2} {mark}: {told}")
        if not it["right"]:
            print(f"          right is {visible(it['root'])}")
        if it["why"]:
            print(f"          {visible(it['why'])}")
    if result["evidence"]:
        print("\nwhat decides it:")
    for text in result["evidence"]:
        print(f"  {visible(text)}")
    if not result["evidence"] and result["kind"] != "none":
        print("\nthe rules of docs/diagnosis.md do not name this root in this run")
    if result["also"]:
        print("\nalso in these metrics:")
    for text in result["also"]:
        print(f"  {visible(text)}")
    print("\nin the scenario the place is called:")
    for real, shown in list(result["names"].items())[:4]:
        print(f"  {visible(shown)} = {visible(real)}")
    print("\nread:")
    for name in result["runbooks"]:
        print(f"  docs/runbooks/{name}.md")
    if result["playbook"]:
        print(f"  fabric playbook show {result['playbook']}")
    print("  docs/diagnosis.md\nsee it again:")
    for line in result["reproduce"]:
        print(f"  {visible(line)}")


def _list(args: argparse.Namespace) -> int:
    from telemetry.diagnosis.root import MEANINGS, Kind  # noqa: PLC0415
    from telemetry.drill.acts import ACTS as MEANT  # noqa: PLC0415
    from telemetry.drill.begin import LEVELS  # noqa: PLC0415
    from telemetry.drill.incidents import INCIDENTS, KINDS, NONE  # noqa: PLC0415

    by_kind = {kind: [it.name for it in INCIDENTS if it.kind == kind] for kind in (*KINDS, NONE)}
    if args.json:
        levels = {str(number): level.text for number, level in LEVELS.items()}
        print(json.dumps({"kinds": by_kind, "levels": levels, "acts": dict(MEANT)}, indent=2))
        return 0
    print("kinds that are drilled")
    for kind, names in by_kind.items():
        title = "nothing is broken (level 3)" if kind == NONE else MEANINGS[Kind(kind)].title
        more = f" ({len(names)} scenarios)" if len(names) > 1 else ""
        print(f"  {kind:<18} {title}{more}")
    print("levels")
    for number, level in LEVELS.items():
        print(f"  {number}  {level.text}")
    print("acts")
    for act, text in MEANT.items():
        print(f"  {act:<15} {text}")
    return 0


def _history(args: argparse.Namespace) -> int:
    from fabric.units import count as count_of  # noqa: PLC0415
    from telemetry.drill.folder import folders  # noqa: PLC0415

    rows = []
    home = args.folder or runs_folder()
    for it in [] if args.folder is None and not home.exists() else folders(home):
        result = it.result
        rows.append(
            {
                "directory": str(it.path),
                "started": it.index["started"],
                "level": it.index["level"],
                "looks": len(it.looks),
                "points": None if result is None else result["points"],
                "of": None if result is None else result["of"],
                "kind": None if result is None else result["kind"],
            }
        )
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    if not rows:
        streams.say(f"no drill in {home}; begin with `fabric drill start`")
        return 0
    width = max(len(str(row["directory"])) for row in rows)
    for row in rows:
        score = "open" if row["points"] is None else f"{row['points']} of {row['of']}, {row['kind']}"
        name = visible(str(row["directory"]))
        looks = count_of(row["looks"], "look")
        print(f"{name:<{width}}  {row['started']}  level {row['level']}  {looks:>8}  {score}")
    return 0
