"""``fabric trace export``: the schedules of a run or of a scenario as files of another tool."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.cli.options.output import add_out
from fabric.cli.options.sets import add_sets
from fabric.errors import InputErrors, Problem
from fabric.units import count, format_size_bytes
from fabric.visible import visible

if TYPE_CHECKING:  # annotations only: --help loads neither pyarrow nor protobuf
    from collections.abc import Sequence

    from fabric.traces.summary import Summary
    from fabric.workload.exported import Schedules

FORMATS: Final = ("chakra", "goal", "goal-binary", "simai")


def add_options(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "Each entry of the workload becomes a trace, named after it.\n"
        "examples:\n  fabric trace export training-job --format chakra -o traces\n"
        "  fabric trace export runs/training-job --format goal -o traces"
    )
    parser.add_argument("source", metavar="RUN|SCENARIO", type=Path, help="run directory, or scenario file (YAML)")
    parser.add_argument("--format", choices=FORMATS, required=True, help="Chakra execution traces, GOAL of LogGOPSim "
                        "as text or binary, or a SimAI workload")  # fmt: skip
    add_out(parser, "DIR", "folder for the files; it is made if it does not exist", required=True)
    parser.add_argument("--messages", action="store_true", help="with chakra: write collective operations as messages")
    add_sets(parser)
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def run_export(args: Namespace) -> int:
    """Write the files and say what they hold."""
    _check_options(args)
    if args.format == "simai":
        return _simai(args)
    from fabric.traces.export import files_of, write  # noqa: PLC0415
    from fabric.traces.summary import summarise  # noqa: PLC0415

    found = _schedules(args)
    _check_free(
        args, [path for it in found.entries for path in files_of(args.out / it.name, args.format, len(it.hosts))]
    )
    args.out.mkdir(parents=True, exist_ok=True)
    told = []
    for it in found.entries:
        written = write(it.rows, it.groups, len(it.hosts), (args.out, it.name), args.format,
                        collectives=not args.messages)  # fmt: skip
        told.append(
            _about(it.name, written.file, summarise(written.trace), it.hosts, written.algorithms, written.notes)
        )
    _print(args, told, found.left_out, found.notes)
    return 0


def _check_options(args: Namespace) -> None:
    problems = []
    if args.messages and args.format != "chakra":
        only = "no messages" if args.format == "simai" else "messages only"
        problems.append(Problem("--messages", f"has no effect: {args.format} has {only}", "remove it"))
    if args.sets and args.source.is_dir():
        problems.append(Problem("--set", "has no effect: a run has been carried out as it is", "name its scenario"))
    if args.out.exists() and not args.out.is_dir():
        problems.append(Problem(str(args.out), "is not a folder", "give another name with --out"))
    if problems:
        raise InputErrors("command line", problems)


def _check_free(args: Namespace, files: list[Path]) -> None:
    taken = [path for path in files if path.exists()]
    if taken and not args.force:
        more = f", and {len(taken) - 1} more of its files" if len(taken) > 1 else ""
        hint = "give another folder with --out, or --force"
        raise InputErrors("command line", [Problem(str(taken[0]), f"exists already{more}", hint)])


def _schedules(args: Namespace) -> Schedules:
    if args.source.is_dir():
        from fabric.runs.exported import schedules as of_run  # noqa: PLC0415
        from fabric.runs.rundir import RunDir  # noqa: PLC0415

        return of_run(RunDir.open(args.source))
    from fabric.workload.exported import schedules  # noqa: PLC0415

    return schedules(*_workload(args))


def _workload(args: Namespace) -> tuple[Any, ...]:
    """(entries, name of the file, surroundings) of a scenario, or of the one that a run carried out."""
    from fabric.scenario.compile.scenario import admitted_fabric  # noqa: PLC0415
    from fabric.scenario.estimate.admission import compiling  # noqa: PLC0415
    from fabric.scenario.load import load_scenario  # noqa: PLC0415
    from fabric.scenario.surroundings import surroundings  # noqa: PLC0415

    if args.source.is_dir():
        from fabric.runs.exported import scenario_of  # noqa: PLC0415
        from fabric.runs.rundir import RunDir  # noqa: PLC0415

        run = RunDir.open(args.source)
        scenario, fabric = scenario_of(run), run.fabric
    else:
        scenario = load_scenario(args.source, args.sets)
        fabric = admitted_fabric(scenario, compiling(scenario.file.name))
    return scenario.workload, scenario.file.name, surroundings(scenario, fabric, [])


def _about(
    name: str, file: Path, found: Summary, hosts: Sequence[str], algorithms: dict[str, str], notes: list[str]
) -> dict[str, Any]:
    """What is told of one trace; `workload` is the entry of a scenario that runs it."""
    entry: dict[str, Any] = {"kind": "trace", "file": file.name}
    if algorithms:
        entry["algorithms"] = algorithms
    return {
        "name": name,
        "file": str(file),
        "n_ranks": found.n_ranks,
        "operations": found.n_operations,
        "collectives": found.n_collectives,
        "collective_bytes": sum(found.collective_bytes.values()),
        "messages": found.operations.get("send", 0),
        "message_bytes": found.message_bytes,
        "hosts": list(hosts),
        "workload": entry,
        "notes": notes,
    }


def _print(args: Namespace, told: list[dict[str, Any]], left_out: list[str], notes: list[str]) -> None:
    if args.json:
        print(json.dumps({"format": args.format, "entries": told, "left_out": left_out, "notes": notes}, indent=2))
        return
    for it in told:
        parts = [count(it["n_ranks"], "rank"), count(it["operations"], "operation")]
        if it["collectives"]:
            moved = format_size_bytes(it["collective_bytes"])
            parts.append(f"{count(it['collectives'], 'collective')} (at least {moved})")
        if it["messages"]:
            parts.append(f"{count(it['messages'], 'message')} ({format_size_bytes(it['message_bytes'])})")
        print(visible(f"{it['file']}: {', '.join(parts)}"))
        print(visible(f"  to run it: workload: [{json.dumps(it['workload'])}]"))
        for note in it["notes"]:
            print(visible(f"  note: {note}"))
    for name in left_out:
        print(visible(f"left out: {name}, which is messages of hosts and not a schedule of ranks"))
    for note in notes:
        print(visible(f"note: {note}"))


def _simai(args: Namespace) -> int:
    """Workload files of the jobs and collectives of a scenario."""
    from fabric.traces.formats import read_trace  # noqa: PLC0415
    from fabric.traces.simai.writer import write_workload  # noqa: PLC0415
    from fabric.traces.summary import summarise  # noqa: PLC0415
    from fabric.workload.simai import workloads  # noqa: PLC0415

    found, left_out = workloads(*_workload(args))
    files = [args.out / f"{name}.txt" for name, _ in found]
    _check_free(args, files)
    args.out.mkdir(parents=True, exist_ok=True)
    told = []
    for (name, (workload, hosts, notes)), file in zip(found, files, strict=True):
        write_workload(workload, file)
        told.append(_about(name, file, summarise(read_trace(file)), hosts, {}, notes))
    _print(args, told, left_out, [])
    return 0
