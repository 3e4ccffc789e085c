"""``fabric drill plans``: sonic-mgmt's plans for PFC, ECN and the PFC watchdog, replayed with their pass criteria."""

from __future__ import annotations

import argparse
import json

from fabric.cli.options.output import add_out, problems_of_out, write_file
from fabric.cli.terminal import streams
from fabric.errors import InputErrors, Problem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = (
        "Replay test plans of sonic-mgmt as scenarios whose expectations are their pass criteria\n"
        "(docs/testplans.md). Exits with 1 where one is not met."
    )
    parser.epilog = "example: fabric drill plans --only PFCWD"
    parser.add_argument("--only", metavar="TEXT", default="", help="plans whose name contains this")
    parser.add_argument("--list", action="store_true", dest="listed", help="name them, simulate nothing")
    add_out(parser, "FILE", "write the page about test plans (docs/testplans.md)", "--write", dest="write")


def run(args: argparse.Namespace) -> int:
    """Replay the plans."""
    from telemetry.drill.testplans import PLANS, page, replayed  # noqa: PLC0415  --help must not load the engine

    plans = tuple(it for it in PLANS if args.only.lower() in it.name.lower())
    problems = []
    if not plans:
        from fabric.topology.select import nearest  # noqa: PLC0415

        names = [it.name for it in PLANS]
        problems.append(Problem("--only", f"no plan has '{args.only}' in its name", nearest(args.only, names, "plans")))
    if args.write is not None and (args.only or args.listed):
        problems.append(Problem("--write", "the page has every plan, replayed", "leave out --only and --list"))
    problems += problems_of_out(args.write, (), (), "--write")
    if problems:
        raise InputErrors("options", problems)
    if args.listed:
        rows = [{"plan": it.name, "passes": it.passes, "trials": len(it.trials), "why_not": it.why_not} for it in plans]
        if args.json:
            print(json.dumps(rows, indent=2))
        else:
            for it in plans:
                print(f"{it.name}\n  {(it.why_not and 'not replayed: ' + it.why_not) or it.passes}")
        return 0
    results = []
    for result in replayed(plans):
        results.append(result)
        if not args.json:
            print(f"{'met    ' if result.met else 'NOT MET'}  {result.plan}: {result.trial.what}")
            print(f"         {result.figures}")
    if args.json:
        replays: list[dict[str, object]] = [
            {"plan": it.plan, "trial": it.trial.what, "scenario": it.trial.scenario, "sets": it.trial.sets,
             "met": it.met, "figures": it.figures}
            for it in results
        ]  # fmt: skip
        replays += [
            {"plan": it.name, "trial": None, "scenario": None, "sets": [], "met": None,
             "figures": f"not replayed: {it.why_not}"}
            for it in plans if it.why_not
        ]  # fmt: skip
        print(json.dumps(replays, indent=2))
    else:
        for it in plans:
            if it.why_not:
                print(f"{'-':<7}  {it.name}\n         not replayed: {it.why_not}")
    if args.write is not None:
        write_file(args.write, page(plans, results))
        streams.say(f"wrote {args.write}")
    return 0 if all(it.met for it in results) else 1
