"""``fabric explain minimal DIR``: the smallest scenario that still has a root cause of the run."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.cli.main import EXIT_INTERRUPTED
from fabric.cli.options.output import add_out
from fabric.cli.terminal import streams
from fabric.errors import InputErrors, Problem
from fabric.render.document import Column, Document, Fact, Facts, Prose, Section, Status, Table
from fabric.units import counted
from fabric.visible import command

if TYPE_CHECKING:  # annotations only
    from telemetry.sources.minimal import Minimal

_STAGE = "options"


def add_arguments(question: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_out(question, "FILE", "scenario file to write (default NAME-minimal.yml)")
    question.add_argument("--force", action="store_true", help="write over a file that exists")
    question.add_argument(
        "--root", metavar="N", type=int, default=1, help="number of the root in `fabric explain roots`; default 1"
    )
    question.add_argument(
        "--runs", metavar="N", type=int, default=80, help="simulations at most, two or more; default 80"
    )
    question.add_argument("--quiet", action="store_true", help="no progress on standard error")


def run(args: argparse.Namespace) -> int:
    """Search, write the file, print what is left. Ctrl-C keeps the best so far and exits 130."""
    from fabric.render.json import to_json  # noqa: PLC0415  --help must not load the engine
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.runs.rundir import RunDir  # noqa: PLC0415
    from telemetry.sources.minimal import minimal  # noqa: PLC0415
    from telemetry.sources.roots import roots_of  # noqa: PLC0415

    if args.runs < 2:
        raise InputErrors(_STAGE, [Problem("--runs", f"{args.runs} is too few", "give 2 or more")])
    run_dir = RunDir.open(args.dir)
    out = args.out or Path(f"{run_dir.manifest['name']}-minimal.yml")
    if out.exists() and not args.force:
        raise InputErrors(_STAGE, [Problem("--out", f"{out} exists", "name another file, or give --force")])
    roots = roots_of(run_dir)
    if not roots:
        hint = "there is nothing to make smaller: read `fabric explain DIR`"
        raise InputErrors(_STAGE, [Problem(str(args.dir), "no metric of this run shows a fault", hint)])
    if not 1 <= args.root <= len(roots):
        hint = f"give 1 to {len(roots)}, as `fabric explain roots {args.dir}` lists them"
        raise InputErrors(_STAGE, [Problem("--root", f"there is no root {args.root}", hint)])
    found = minimal(run_dir, roots[args.root - 1], args.runs, (lambda _: None) if args.quiet else streams.say)
    found.write(out)
    document = _document(found, out)
    if args.json:
        print(json.dumps(to_json(document), indent=2))
    else:
        print_document(document, console_for(sys.stdout))
    return EXIT_INTERRUPTED if found.interrupted else 0


def _document(it: Minimal, out: Path) -> Document:
    before, after = it.before, it.after
    hosts, switches = (int(str(after[name])) for name in ("hosts", "switches"))
    rows = tuple((name, str(before[name]), str(after[name])) for name in before)
    table = Table("size", "", (Column("what", "What"), Column("before", "Before"), Column("after", "After")), rows)
    ended = (
        "none of the reductions tried goes further"
        if it.complete
        else "interrupted: not all reductions were tried"
        if it.interrupted
        else "the number of runs was used up before all reductions were tried: give --runs more"
    )
    facts = Facts(
        (
            Fact("kind", "Kind", it.found.kind.value),
            Fact("place", "Where", it.found.place),
            Fact("place_in_run", "Where, in the run", it.root.place),
            Fact("file", "Scenario", str(out)),
            Fact("runs", "Simulations", it.runs),
            Fact("complete", "Complete", it.complete),
            Fact("twin_checked", "Silent without its faults", it.twin_checked),
        )
    )
    more = Prose(f"{command('fabric', 'run', out, '--out', 'again')}; {command('fabric', 'explain', 'roots', 'again')}")
    evidence = [Prose(f"Evidence: {'; '.join(it.found.evidence)}.")] if it.found.evidence else []
    left = [Prose(f"Less: {text}") for text in it.left_out]
    verdict = (
        f"{it.found.kind.value} at {it.found.place} in "
        f"{counted((hosts, 'host'), (switches, 'switch', 'switches'))}: {ended}"
    )
    section = Section("minimal", "Smallest scenario", (facts, table, *evidence, *left, more))
    return Document("Minimal scenario", it.source.name, Status.GOOD, verdict, (), (section,))
