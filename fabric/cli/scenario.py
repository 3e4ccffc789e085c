"""``fabric scenario``: list and check files, print one with its defaults, the JSON Schema, the reference."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from fabric import shipped
from fabric.cli.options.estimating import figures_json, one_line
from fabric.cli.options.output import add_out, write_out
from fabric.cli.options.sets import add_sets
from fabric.dataplane.state.schedule import totals
from fabric.errors import InputErrors
from fabric.scenario.behind import preset_comments
from fabric.scenario.compile.check_whole import check_whole
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario, place
from fabric.scenario.docs import scenario_markdown
from fabric.scenario.load import load_scenario
from fabric.scenario.placed_remarks import placed_remarks
from fabric.scenario.remarks import loss_remarks, remarks
from fabric.scenario.resolved import resolved
from fabric.scenario.schema.scenario import Scenario, json_schema
from fabric.topology.quantities import exact_time
from fabric.units import count
from fabric.visible import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the jobs and their options."""
    jobs = parser.add_subparsers(dest="job", metavar="JOB", required=True)
    listing = jobs.add_parser("list", help="the scenarios that come with the package")
    listing.add_argument("--json", action="store_true", help="print an object")
    check = jobs.add_parser("check", help="read, validate and compile scenarios without running them")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE", help="scenario files")
    show = jobs.add_parser(
        "show", help="print a resolved scenario: written values, defaults with sources, computed buffers"
    )
    show.add_argument("files", nargs=1, type=Path, metavar="FILE", help="scenario file")
    for job in (check, show):
        add_sets(job, "override one value, such as transport.cc=none; may be repeated")
        job.add_argument("--json", action="store_true", help="print an object")
    show.add_argument(
        "--resolved",
        action="store_true",
        help="print the scenario itself with every default written out, as YAML (with --json as JSON); "
        "it can be run, and gives the same run",
    )
    schema = jobs.add_parser("schema", help="print the JSON Schema of scenario files, for editors")
    schema.add_argument("--json", action="store_true", help="the schema is JSON either way")
    docs = jobs.add_parser("docs", help="write the scenario reference, made from the schema")
    add_out(docs, "FILE", "default docs/scenario.md; '-' for standard output", default=Path("docs/scenario.md"))
    docs.add_argument("--json", action="store_true", help="print an object naming the file")


def run(args: argparse.Namespace) -> int:
    """0, or 2 with every problem of every file."""
    if args.job == "list":
        _list(as_json=args.json)
    elif args.job == "schema":
        print(json.dumps(json_schema(), indent=2))
    elif args.job == "docs":
        if write_out(args.out, scenario_markdown()):
            print(json.dumps({"wrote": str(args.out)}) if args.json else args.out)
    elif args.job == "show":
        _show(args)
    else:
        _check(args)
    return 0


def _list(*, as_json: bool) -> None:
    found = [(file.stem, load_scenario(file).description) for file in shipped.scenarios()]
    if as_json:
        print(json.dumps({"scenarios": [{"name": name, "description": text} for name, text in found]}, indent=2))
        return
    from rich.table import Table  # noqa: PLC0415  for people only

    from fabric.render.console import PlainConsole  # noqa: PLC0415

    table = Table("Name", "What it shows", box=None, pad_edge=False)
    for row in found:
        table.add_row(*row)
    PlainConsole(sys.stdout).print(table)
    print("\nRun one: fabric run NAME     Copy one to change it: fabric init NAME")


def _show(args: argparse.Namespace) -> None:
    scenario = load_scenario(args.files[0], args.sets)
    if args.resolved:
        fabric = place(scenario).fabric
        whole = resolved(scenario, fabric)
        if args.json:
            print(json.dumps(whole, indent=2))
            return
        print(yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=120), end="")
        print(preset_comments(Scenario.model_validate(whole), fabric), end="")
        return
    card = compile_scenario(scenario).card
    print(json.dumps(card, indent=2) if args.json else _card_text(card))


def _check(args: argparse.Namespace) -> None:
    found, lines = [], []
    problems = []
    for file in args.files:
        try:
            scenario, compiled = check_whole(file, args.sets)
            said = [*remarks(scenario), *placed_remarks(scenario, compiled), *loss_remarks(scenario)]
            found.append({**_summary(file, compiled), "remarks": said})
            lines.append(one_line(compiled.estimate) if compiled.estimate is not None else "")
        except InputErrors as error:
            problems += list(error.problems)
    if problems:
        raise InputErrors("checking scenarios", problems)
    if args.json:
        print(json.dumps({"scenarios": found}, indent=2))
    else:
        for item, line in zip(found, lines, strict=True):
            parts = [
                count(item["hosts"], "host"),
                count(item["switches"], "switch", "switches"),
                f"{count(item['messages'], 'message')} of {item['bytes']:,} B",
                count(item["faults"], "fault"),
                f"at most {item['duration']}",
            ]
            print(f"{visible(item['file'])}: ok, {', '.join(parts)}; a run: {line}")
            for remark in item["remarks"]:
                print(f"  note: {visible(remark)}")


def _summary(file: Path, compiled: CompiledScenario) -> dict[str, Any]:
    params = compiled.params
    series = totals(params.transfers.rows, params.frames.payload_bytes)
    return {
        "file": str(file),
        "name": compiled.name,
        "hosts": len(compiled.fabric.hosts),
        "switches": len(compiled.fabric.switches),
        "messages": len(params.messages.src) + int(series.messages.sum()),
        "bytes": int(params.messages.size_bytes.sum() + series.size_bytes.sum()),
        "queue_pairs": len(compiled.params.queue_pairs.src),
        "faults": len(compiled.truth),
        "edits": len(compiled.edits),
        "estimate": None if compiled.estimate is None else figures_json(compiled.estimate),
        "duration": exact_time(compiled.duration_ps),
        "expectations": [str(item) for item in compiled.expectations],
    }


def _card_text(card: Any) -> str:  # noqa: ANN401  JSON data
    lines = [
        f"model {card['model']}: {card['purpose']}",
        "",
        "written:",
        json.dumps(card["scenario"], indent=2),
        "",
        "defaults relied on:",
    ]
    lines += [f"  {item['path']} = {item['value']}    ({item['source']})" for item in card["defaults"]]
    lines += ["", "switch buffers (bytes):"]
    lines += [
        f"  {name}: cell {item['cell_bytes']}, pools {item['pools']}, headroom per group {item['headroom_bytes']}"
        for name, item in card["switches"].items()
    ]
    return "\n".join(lines)
