"""``fabric playbook list|show|run``: an incident from injection to mitigation, with its runbook."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fabric.cli.output import add_out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the three actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="the playbooks that come with the package")
    listing.add_argument("--json", action="store_true", help="print one JSON array")
    showing = actions.add_parser("show", help="its runbook and its steps, without running anything")
    running = actions.add_parser("run", help="play it, judge every step, write the run directory and the HTML report")
    for action in (showing, running):
        action.add_argument("playbook", metavar="NAME|DIR", help="a name of `fabric playbook list`, or your own folder")
        action.add_argument("--json", action="store_true", help="print one JSON object")
    add_out(running, "DIR", "run directory (default: runs/playbook-NAME)")
    running.add_argument("--force", action="store_true", help="replace what an earlier run left in DIR")
    running.add_argument("--threads", metavar="N", type=int, default=1, help="threads; never changes the result")
    running.add_argument("--set", metavar="PATH=VALUE", action="append", default=[], dest="sets",
                         help="override a value of the scenario, as in `fabric run`; repeatable")
    running.add_argument("--quiet", action="store_true", help="show nothing while it runs")


def run(args: argparse.Namespace) -> int:
    """Do one action; `run` exits 1 where a step was not met."""
    return {"list": _list, "show": _show, "run": _run}[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from playbooks.catalogue import find, slugs  # noqa: PLC0415  --help must not load pydantic
    from playbooks.schema import load_playbook  # noqa: PLC0415

    found = [(slug, load_playbook(find(slug))) for slug in slugs()]
    if args.json:
        print(json.dumps([{"name": slug, "title": playbook.title, "severity": playbook.severity,
                           "summary": playbook.summary} for slug, playbook in found], indent=2))
        return 0
    width = max(len(slug) for slug, _ in found)
    for slug, playbook in found:
        print(f"{slug:<{width}}  {playbook.severity:<8}  {playbook.title}")
    return 0


def _show(args: argparse.Namespace) -> int:
    from playbooks.catalogue import RUNBOOK, find  # noqa: PLC0415
    from playbooks.schema import load_playbook  # noqa: PLC0415

    folder = find(args.playbook)
    playbook = load_playbook(folder)
    if args.json:
        print(json.dumps(playbook.model_dump(mode="json"), indent=2))
        return 0
    runbook = folder / RUNBOOK
    print(f"{playbook.title} ({playbook.severity})\n\n{playbook.summary.strip()}\n")
    for step in playbook.steps:
        print(f"  {step.step:<8} {step.text}")
    if runbook.is_file():
        print("\n" + runbook.read_text(encoding="utf-8").strip())
    return 0


def _run(args: argparse.Namespace) -> int:
    from fabric.report.json import to_json  # noqa: PLC0415
    from fabric.report.model import Document, Section, Status  # noqa: PLC0415
    from fabric.report.play import Options  # noqa: PLC0415
    from fabric.report.session import Hooks  # noqa: PLC0415
    from fabric.report.text import console_for, print_document  # noqa: PLC0415
    from playbooks import runner  # noqa: PLC0415
    from playbooks.catalogue import find  # noqa: PLC0415
    from playbooks.live import LiveView  # noqa: PLC0415
    from playbooks.schema import ActStep  # noqa: PLC0415

    prepared = runner.prepare(find(args.playbook), args.sets)
    out = args.out or Path("runs") / f"playbook-{prepared.folder.name}"
    acts = [(step.at, step.text) for step in prepared.playbook.steps if isinstance(step, ActStep)]
    with LiveView(sys.stderr, prepared.compiled.duration_ps, acts, quiet=args.quiet) as view:
        result = runner.run(prepared, Options(out=out, threads=args.threads, force=args.force),
                            Hooks(on_sample=view.on_sample))
    document = Document(result.playbook.title, f"run {result.directory}", Status.GOOD if result.met else Status.BAD,
                        result.verdict, (), (Section("playbook", "Steps", (runner.steps_table(result),)),))
    if args.json:
        print(json.dumps({**to_json(document), "met": result.met, "run_status": result.outcome.status,
                          "directory": str(result.directory), "report": str(result.page)}, indent=2))
    else:
        print_document(document, console_for(sys.stdout))
        print(f"report: {result.page}")
    return result.exit_code
