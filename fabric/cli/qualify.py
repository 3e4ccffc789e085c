"""``fabric qualify PLAN CONFIGS``: a test plan run against a switch's configuration, or against a whole fabric."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric.cli.main import EXIT_INTERRUPTED
from fabric.cli.options.output import add_out, problems_of_out, write_styled
from fabric.errors import InputErrors, Problem
from fabric.topology.select import nearest

if TYPE_CHECKING:  # the engine and its compiler are loaded when there is something to run
    from collections.abc import Iterator

    from fabric.configs.model import Device
    from fabric.qualify.cases import AnyCase
    from fabric.qualify.report import Report
    from fabric.qualify.schema import LeftOutSpec
    from fabric.validate.facts import Facts

EXIT_NOT_GREEN: Final = 1
_FORMATS: Final = ("text", "json", "junit", "markdown", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "examples:\n"
        "  fabric qualify --list\n"
        "  fabric qualify sonic-rocev2 config_db.json\n"
        "  fabric qualify sonic-rocev2 configs/ --dut leaf1 --case TC2 --ports 8\n"
        "  fabric qualify sonic-rocev2 configs/ --dut leaf1 --case TC2/q3_single --format html -o page.html\n"
        "  fabric qualify seed configs/                        the whole fabric of the folder\n"
        "  fabric qualify seed incast                          the fabric of a scenario\n"
        "  fabric qualify bmwg configs/ --json -o a.json       KPIs of a fabric\n"
        "  fabric qualify --compare a.json b.json              of two\n"
        "docs/qualify.md has the checks, and for each a configuration that fails it."
    )
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="test plan; `fabric qualify --list` has them")
    parser.add_argument(
        "configs",
        nargs="*",
        type=Path,
        metavar="CONFIGS",
        help="files, or folders of them, one per switch; for a plan of whole fabrics also a scenario",
    )
    parser.add_argument(
        "--list", action="store_true", help="the plans with their cases and checks; with PLAN, one plan"
    )
    parser.add_argument(
        "--compare", nargs=2, type=Path, metavar=("A.json", "B.json"), help="two results of --json, side by side"
    )
    parser.add_argument(
        "--case", action="append", default=[], metavar="CASE[/SCENARIO]", help="only this case; repeatable"
    )
    parser.add_argument(
        "--ports",
        type=_ports,
        metavar="N",
        help="ports of the switch that the tester takes; of a whole fabric, ports to hosts",
    )
    parser.add_argument("--dut", metavar="SWITCH", help="the switch under test, where CONFIGS has several")
    parser.add_argument(
        "--links", type=Path, metavar="FILE", help="as in `fabric validate`: which ports have a cable, and its length"
    )
    parser.add_argument(
        "--pg-profile-lookup",
        action="append",
        default=[],
        metavar="[HWSKU=]FILE",
        help="headroom table of the switches, or of one HWSKU; repeatable",
    )
    parser.add_argument("--format", choices=_FORMATS, help="default text")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    add_out(parser, "FILE", "write to FILE instead of standard output")


def run(args: argparse.Namespace) -> int:
    """List, or run the cases. Exit 1 where a check is not green, or the configuration lacks what a case needs."""
    style = _checked(args)
    if args.compare:
        write_styled(args.out, _compared(args.plan, args.compare, style), style)
        return 0
    if args.list:
        write_styled(args.out, _listed(args.plan, style), style)
        return 0
    from fabric.qualify.cases import chosen, is_of_fabric, left_out_of  # noqa: PLC0415  --help must not load the parsers

    cases, left_out = chosen(args.plan, args.case), left_out_of(args.plan, args.case)
    name, running = _of_fabric(args, cases) if is_of_fabric(args.plan) else _of_switch(args, cases)
    runs, whole = _finished(running, quiet=args.quiet)
    write_styled(args.out, _rendered(args.plan, name, runs, left_out, style), style)
    if not whole:
        return EXIT_INTERRUPTED
    from fabric.qualify.output.facts import all_green  # noqa: PLC0415  as above

    named = bool(args.case and left_out)  # asked for, and not run
    return 0 if all_green(runs) and not named else EXIT_NOT_GREEN


def _compared(plan: str | None, files: Sequence[Path], style: str) -> str:
    from fabric.qualify.compare import compared  # noqa: PLC0415  --help must not load the models
    from fabric.qualify.output import comparison  # noqa: PLC0415  as above

    render = {"text": comparison.as_text, "json": comparison.as_json, "markdown": comparison.as_markdown,
              "html": comparison.as_html}  # fmt: skip
    return render[style](compared(plan, *files))


def _of_switch(args: argparse.Namespace, cases: Sequence[AnyCase]) -> tuple[str, Iterator[Report]]:
    """The switch under test, and its scenarios, which are carried out one after the other."""
    from fabric.qualify.case_runs import runs_of  # noqa: PLC0415  the engine
    from fabric.qualify.schema import CaseSpec  # noqa: PLC0415  as in run()

    facts = _facts(args)
    device = _switch(facts, args.dut)
    mine = [it for it in cases if isinstance(it, CaseSpec)]
    return device.name, (one for case in mine for one in runs_of(facts, device, case, args.ports))


def _of_fabric(args: argparse.Namespace, cases: Sequence[AnyCase]) -> tuple[str, Iterator[Report]]:
    """The fabric under test: of a scenario, if one file is given that is no configuration; else of the folder."""
    from fabric.qualify.whole.case_runs import runs_of  # noqa: PLC0415  the engine
    from fabric.qualify.whole.schema import FabricCaseSpec  # noqa: PLC0415  as in run()
    from fabric.qualify.whole.subject import of_configurations, of_scenario  # noqa: PLC0415  as in run()

    if args.dut is not None:
        raise InputErrors("options", [Problem("--dut", f"{args.plan} is for a whole fabric", "leave it out")])
    if _is_scenario(args.configs):
        given = (("--links", args.links), ("--pg-profile-lookup", args.pg_profile_lookup), ("--ports", args.ports))
        problems = [Problem(word, "has no effect on a scenario", "leave it out") for word, it in given if it]
        if problems:
            raise InputErrors("options", problems)
        subject = of_scenario(args.configs[0])
    else:
        subject = of_configurations(_facts(args), args.configs[0].resolve().name, args.ports)
    mine = [it for it in cases if isinstance(it, FabricCaseSpec)]
    return subject.name, (one for case in mine for one in runs_of(subject, case))


def _is_scenario(files: Sequence[Path]) -> bool:
    """Whether one scenario file is meant, or the name of one that comes with the package."""
    if len(files) != 1 or files[0].is_dir():
        return False
    from fabric import shipped  # noqa: PLC0415  as in run()

    return shipped.scenario(files[0]).suffix in {".yml", ".yaml"} and shipped.scenario(files[0]).exists()


def _finished(running: Iterator[Report], *, quiet: bool) -> tuple[list[Report], bool]:
    """What was carried out, and whether nothing interrupted it."""
    found: list[Report] = []
    try:
        for one in running:
            found.append(one)
            if not quiet and sys.stderr.isatty():
                print(f"{one.case.case} {one.scenario.name}: done", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"interrupted: {len(found)} scenarios were carried out", file=sys.stderr)
        return found, False
    return found, True


def _facts(args: argparse.Namespace) -> Facts:
    from fabric.configs.sonic.pgtable import HeadroomTables  # noqa: PLC0415  as in run()
    from fabric.validate.facts import Facts  # noqa: PLC0415
    from fabric.validate.judge import Request, network_of  # noqa: PLC0415

    request = Request(args.configs, args.links, headroom_tables=args.pg_profile_lookup)
    return Facts(network_of(request, HeadroomTables.load(list(request.headroom_tables))))


def _switch(facts: Facts, name: str | None) -> Device:
    """The switch under test. Raises: InputErrors where it is not the only one, or not there."""
    devices = facts.network.devices
    if name is None and len(devices) == 1:
        return next(iter(devices.values()))
    if name is None:
        text = f"{len(devices)} switches were given, and a plan is for one"
        raise InputErrors("options", [Problem("--dut", text, nearest("", list(devices), "name one of them"))])
    if name not in devices:
        raise InputErrors("options", [Problem("--dut", f"no switch is called '{name}'", nearest(name, list(devices)))])
    return devices[name]


def _rendered(plan: str, switch: str, runs: Sequence[Report], left_out: Sequence[LeftOutSpec], style: str) -> str:
    from fabric.qualify.output.data import as_json, as_junit  # noqa: PLC0415  as in run()
    from fabric.qualify.output.page import as_html  # noqa: PLC0415
    from fabric.qualify.output.text import as_markdown, as_text  # noqa: PLC0415

    render = {"text": as_text, "json": as_json, "junit": as_junit, "markdown": as_markdown, "html": as_html}
    return render[style](plan, switch, runs, left_out)


def _listed(plan: str | None, style: str) -> str:
    from fabric.qualify.cases import cases_of, left_out_of, plans  # noqa: PLC0415  --help must not load pydantic
    from fabric.qualify.output.catalogue import as_text  # noqa: PLC0415

    names = [plan] if plan is not None else list(plans())
    found, left_out = {it: cases_of(it) for it in names}, {it: left_out_of(it) for it in names}
    if style == "json":
        data = {name: [it.model_dump(mode="json") for it in (*found[name], *left_out[name])] for name in names}
        return json.dumps({"plans": data}, indent=1, ensure_ascii=False) + "\n"
    return as_text(found, left_out)


def _ports(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 2 <= int(text) <= 512):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of ports; give 2 to 512")
    return int(text)


def _checked(args: argparse.Namespace) -> str:
    """The format; every contradiction of the options together."""
    problems = []
    if args.json and args.format not in {None, "json"}:
        problems.append(Problem("--json", f"contradicts --format {args.format}", "give one of them"))
    style: str = "json" if args.json else args.format or "text"
    if args.list or args.compare:
        given = (("CONFIGS", args.configs), ("--case", args.case), ("--ports", args.ports), ("--dut", args.dut),
                 ("--links", args.links), ("--quiet", args.quiet),
                 ("--pg-profile-lookup", args.pg_profile_lookup))  # fmt: skip
        word = "--list" if args.list else "--compare"
        problems += [Problem(name, f"has no effect with {word}", "leave it out") for name, value in given if value]
        if args.list and args.compare:
            problems.append(Problem("--compare", "contradicts --list", "give one of them"))
        if args.compare and style == "junit":
            problems.append(Problem("--format", "junit is for the checks of one result", "use another one"))
        if args.list and style not in {"text", "json"}:
            problems.append(Problem("--format", f"{style} is for results", "use text or json with --list"))
    elif args.plan is None:
        problems.append(Problem("PLAN", "no test plan was named", "name one; `fabric qualify --list` has them"))
    elif not args.configs:
        problems.append(Problem("CONFIGS", "no configuration was given", "name files or a folder, one file per switch"))
    if args.out is not None:
        from fabric.configs.load import SUFFIXES  # noqa: PLC0415  --list needs no parser

        read = (*args.configs, args.links, *(args.compare or ()))
        problems += problems_of_out(args.out, [path for path in read if path is not None], SUFFIXES)
    if problems:
        raise InputErrors("options", problems)
    return style
