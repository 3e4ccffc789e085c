"""``fabric playbook``: list, show and run playbooks; the JSON Schema and the reference of their files."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from pathlib import Path

from fabric.cli.options.estimating import add_yes, admission
from fabric.cli.options.folders import runs_folder
from fabric.cli.options.output import add_out, write_out
from fabric.cli.options.sets import add_sets
from fabric.cli.options.threads import add_threads, problems_of_threads
from fabric.cli.playbook_check import add_check, add_new, run_check, run_new
from fabric.errors import InputErrors
from fabric.render.folding import folded, terminal_width
from fabric.visible import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="the playbooks that come with the package")
    listing.add_argument("--json", action="store_true", help="print one JSON array")
    showing = actions.add_parser("show", help="its runbook and its steps, without a run")
    running = actions.add_parser(
        "run", help="simulate it, check every step, write the run directory and the HTML report"
    )
    for action in (showing, running):
        action.add_argument("playbook", metavar="NAME|DIR", help="a name of `fabric playbook list`, or another folder")
        action.add_argument("--json", action="store_true", help="print one JSON object")
    add_out(running, "DIR", "run directory (default: runs/playbook-NAME)")
    running.add_argument("--force", action="store_true", help="replace what an earlier run left in DIR")
    add_threads(running)
    add_sets(running, "override a value of the scenario, as in `fabric run`; repeatable")
    add_yes(running)
    add_check(actions.add_parser("check", help="run playbooks, each with its healthy twin, and compare"))
    add_new(actions.add_parser("new", help="write a commented playbook folder that runs as it is"))
    schema = actions.add_parser("schema", help="print the JSON Schema of playbook files, for editors")
    schema.add_argument("--json", action="store_true", help="the schema is JSON either way")
    docs = actions.add_parser("docs", help="write the reference of steps, acts and probes, made from the schema")
    add_out(docs, "FILE", "default docs/playbooks.md; '-' for standard output", default=Path("docs/playbooks.md"))
    docs.add_argument("--json", action="store_true", help="print an object naming the file")
    running.add_argument("--quiet", action="store_true", help="show nothing while it runs")


def run(args: argparse.Namespace) -> int:
    """Do one action; `run` and `check` exit 1 where a step was not met."""
    actions = {
        "list": _list,
        "show": _show,
        "run": _run,
        "check": run_check,
        "new": run_new,
        "schema": _schema,
        "docs": _docs,
    }
    return actions[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from playbooks.catalogue import find, slugs  # noqa: PLC0415  --help must not load pydantic
    from playbooks.schema import load_playbook  # noqa: PLC0415

    found = [(slug, load_playbook(find(slug))) for slug in slugs()]
    if args.json:
        print(
            json.dumps(
                [
                    {"name": slug, "title": playbook.title, "severity": playbook.severity, "summary": playbook.summary}
                    for slug, playbook in found
                ],
                indent=2,
            )
        )
        return 0
    width = max(len(slug) for slug, _ in found)
    lines = [f"{slug:<{width}}  {playbook.severity:<8}  {visible(playbook.title)}" for slug, playbook in found]
    print(folded("\n".join(lines), terminal_width()), end="")
    return 0


def _show(args: argparse.Namespace) -> int:
    from playbooks.catalogue import find, runbook  # noqa: PLC0415
    from playbooks.schema import load_playbook  # noqa: PLC0415

    folder = find(args.playbook)
    playbook, text = load_playbook(folder), runbook(folder)
    if args.json:
        print(json.dumps(playbook.model_dump(mode="json"), indent=2))
        return 0
    width = terminal_width()
    print(f"{visible(playbook.title)} ({playbook.severity})\n")
    for line in visible(playbook.summary.strip(), lines=True).splitlines():
        print(textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False))
    print()
    steps = "\n".join(f"  {step.step:<8}  {visible(step.text)}" for step in playbook.steps)
    print(folded(steps, width), end="")
    if text:
        print()
        _print_runbook(text)
    return 0


def _print_runbook(text: str) -> None:
    """Markdown: laid out on a terminal, as it is in a pipe or a file."""
    if not sys.stdout.isatty():
        print(visible(text.strip(), lines=True))
        return
    from rich.markdown import Markdown  # noqa: PLC0415  only for a terminal

    from fabric.render.text import console_for  # noqa: PLC0415

    console_for(sys.stdout).print(Markdown(visible(text, lines=True), hyperlinks=False))


def _schema(_: argparse.Namespace) -> int:
    from playbooks.schema import json_schema  # noqa: PLC0415

    print(json.dumps(json_schema(), indent=2))
    return 0


def _docs(args: argparse.Namespace) -> int:
    from playbooks.docs import playbook_markdown  # noqa: PLC0415

    if write_out(args.out, playbook_markdown()):
        print(json.dumps({"wrote": str(args.out)}) if args.json else args.out)
    return 0


def _run(args: argparse.Namespace) -> int:
    from fabric.cli.terminal.compiler_note import CompilerNote  # noqa: PLC0415  it loads the compiler
    from fabric.render.document import Document, Section  # noqa: PLC0415
    from fabric.render.json import to_json  # noqa: PLC0415
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.runs.session import Hooks  # noqa: PLC0415
    from fabric.runs.simulate import Options  # noqa: PLC0415
    from playbooks import runner  # noqa: PLC0415
    from playbooks.catalogue import find  # noqa: PLC0415
    from playbooks.live import LiveView  # noqa: PLC0415
    from playbooks.schema import ActStep  # noqa: PLC0415

    if problems := problems_of_threads(args):
        raise InputErrors("options", problems)
    folder = find(args.playbook)
    out = args.out or runs_folder() / f"playbook-{folder.name}"
    prepared = runner.prepare(folder, args.sets, lambda scenario: admission(scenario, yes=args.yes, out=out))
    acts = [(step.at, step.text) for step in prepared.playbook.steps if isinstance(step, ActStep)]
    with (
        CompilerNote(sys.stderr, quiet=args.quiet),
        LiveView(sys.stderr, prepared.compiled.duration_ps, acts, quiet=args.quiet) as view,
    ):
        result = runner.run(
            prepared, Options(out=out, threads=args.threads, force=args.force), Hooks(on_sample=view.on_sample)
        )
    document = Document(
        result.playbook.title,
        f"run {result.directory}",
        result.status,
        result.verdict,
        (),
        (Section("playbook", "Steps", (runner.steps_table(result),)),),
    )
    if args.json:
        print(
            json.dumps(
                {
                    **to_json(document),
                    "met": result.met,
                    "run_status": result.outcome.status,
                    "directory": str(result.directory),
                    "report": str(result.page),
                },
                indent=2,
            )
        )
    else:
        print_document(document, console_for(sys.stdout))
        print(f"report: {result.page}")
    return result.exit_code
