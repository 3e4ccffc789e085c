"""``fabric explain [QUESTION] DIR``: root causes and what changed before them; causes of pauses, drops and delays."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.cli import explain_minimal
from fabric.cli.main import EXPLAIN_QUESTIONS
from fabric.cli.options.estimating import add_yes
from fabric.cli.options.output import add_out, problems_of_out, write_out
from fabric.errors import InputErrors, Problem
from fabric.extras import check_installed
from fabric.render.document import Document, Prose, Section, worst
from fabric.visible import visible

if TYPE_CHECKING:  # annotations only
    from fabric.explain.evidence import Evidence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the questions, each with its run directory."""
    questions = parser.add_subparsers(dest="question", metavar="QUESTION", required=True)
    texts = (
        "summary of the following, causes first; `fabric explain DIR` is the same",
        "root causes, found from metrics alone: place, evidence, first act (docs/diagnosis.md)",
        "change log: configurations, endpoints, acts, BGP sessions, routes, links; what came before each root",
        "smallest scenario that still has a root cause, found by simulating smaller ones",
        "cables that lose or delay small messages, and whether the counters say the same",
        "root port of each pause tree; distance of every group to its XOFF threshold",
        "rule that discarded each packet, with the deciding numbers",
        "breakdown of one message's time (default: the slowest one)",
        "critical path of a schedule of transfers (trace, job, collective), by cause; stragglers",
    )
    for name, text in zip(EXPLAIN_QUESTIONS, texts, strict=True):
        question = questions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name == "roots":
            question.add_argument(
                "dir",
                metavar="DIR|URL",
                help="run directory written by `fabric run`, or address of a live run: http://...",
            )
            question.add_argument(
                "--token-file", metavar="FILE", type=Path, help="with a URL: a token of its API, as for `fabric top`"
            )
        else:
            question.add_argument("dir", metavar="DIR", help="run directory written by `fabric run`")
        if name == "roots":
            question.add_argument(
                "--card", choices=("text", "markdown", "png"), help="the first root as a ticket, instead of the page"
            )
            add_out(question, "FILE", "with --card: write the ticket there; default NAME-incident.png of a PNG")
            question.add_argument(
                "--as-seen-by",
                choices=("ideal", "sonic"),
                default="ideal",
                help="counters that are known; sonic: those that SONiC polls, at its periods in the nominal time of "
                "docs/alerts.md; default ideal",
            )
        if name == "minimal":
            explain_minimal.add_arguments(question)
        if name == "probes":
            question.add_argument(
                "--workload", metavar="NAME", help="entry whose messages are probes; default: all of at most 1 KiB"
            )
        if name == "message":
            question.add_argument("id", metavar="ID", nargs="?", help="message id, as in `fabric show DIR messages`")
        if name == "step":
            question.add_argument("--operation", metavar="NAME", help="one operation, as in transfers.parquet")
            question.add_argument("--job", metavar="NAME", help="one job: an entry of the workload")
            question.add_argument("--step", metavar="N", type=int, help="one step of the job, from 0")
            question.add_argument(
                "--without",
                metavar="WHAT",
                action="append",
                default=[],
                help="simulate again without this, and print the difference: a fault of the scenario, 'faults' for "
                "each of them, stragglers, rate-cuts, pauses, collisions, slow-links, losses, or 'causes' for those of "
                "them that come first on the critical path; repeatable",
            )
            question.add_argument("--quiet", action="store_true", help="no progress on standard error")
            add_yes(question)
        question.add_argument("--json", action="store_true", help="print one JSON object, numbers in base units")


def run(args: argparse.Namespace) -> int:
    """Explain, and exit 0: an explanation has no verdict."""
    from fabric.explain.drops import explain_drops  # noqa: PLC0415  --help must not load pyarrow
    from fabric.explain.evidence import Evidence  # noqa: PLC0415
    from fabric.explain.message import explain_message, known_or_error  # noqa: PLC0415
    from fabric.explain.pfc import explain_pfc  # noqa: PLC0415
    from fabric.runs.rundir import RunDir  # noqa: PLC0415
    from telemetry.sources.changes_page import explain_changes  # noqa: PLC0415
    from telemetry.sources.roots_page import explain_roots  # noqa: PLC0415

    if args.question == "minimal":
        return explain_minimal.run(args)
    if args.question == "roots" and args.card is None and args.out is not None:
        raise InputErrors("options", [Problem("--out", "is the file of a ticket", "add --card, or leave it out")])
    if args.question == "roots" and _is_url(args.dir):
        return _shown(_live_roots(args), args)
    if args.question == "roots" and args.token_file is not None:
        problem = Problem(
            "--token-file", "has no effect on a run directory", "give the URL of a live run, or remove it"
        )
        raise InputErrors("options", [problem])
    if args.question == "roots" and args.card is not None:
        return _card(args)
    evidence = Evidence(RunDir.open(args.dir))
    if args.question == "run":
        document = _with_roots(evidence)
    elif args.question == "roots":
        document = explain_roots(evidence.run, args.as_seen_by)
    elif args.question == "changes":
        document = explain_changes(evidence.run)
    elif args.question == "probes":
        from telemetry.sources.probe_mesh import explain_probes  # noqa: PLC0415  as above

        document = explain_probes(evidence.run, args.workload)
    elif args.question == "pfc":
        document = explain_pfc(evidence)
    elif args.question == "drops":
        document = explain_drops(evidence)
    elif args.question == "step":
        document = _step(evidence, args)
    else:
        document = explain_message(evidence, known_or_error(evidence, args.id))
    return _shown(document, args)


def _shown(document: Document, args: argparse.Namespace) -> int:
    """Print it."""
    from fabric.render.json import to_json  # noqa: PLC0415  as in run()
    from fabric.render.text import console_for, print_document  # noqa: PLC0415

    if args.json:
        print(json.dumps(to_json(document), indent=2))
    else:
        print_document(document, console_for(sys.stdout))
    return 0


def _is_url(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _live_roots(args: argparse.Namespace) -> Document:
    """The roots of a live run so far, by its API."""
    from telemetry.live.client import LiveClient, base_url, find_token  # noqa: PLC0415  as in run()
    from telemetry.live.roots_page import live_roots  # noqa: PLC0415

    problems = []
    if args.card is not None:
        problems.append(Problem("--card", "needs a finished run: who was hurt is known at its end", "leave it out"))
    if args.as_seen_by != "ideal":
        problems.append(Problem("--as-seen-by", "is of run directories: a live run is read as it is", "leave it out"))
    if problems:
        raise InputErrors("options", problems)
    url = base_url(args.dir)
    client = LiveClient(url, find_token(url, args.token_file, os.environ))
    return live_roots(url, client.get("roots"))


def _card(args: argparse.Namespace) -> int:
    """The first root as a ticket."""
    from fabric.runs.rundir import RunDir  # noqa: PLC0415  as in run()
    from telemetry.sources.incident_card import card, ticket  # noqa: PLC0415

    problems = problems_of_out(args.out, (), ())
    if args.json:
        problems.append(Problem("--card", "contradicts --json", "leave out one of them: --json has every root"))
    if args.card == "png" and args.out is not None and args.out.suffix.lower() != ".png":
        problems.append(Problem(f"--out {args.out}", "is no name of a PNG picture", "name FILE.png"))
    if problems:
        raise InputErrors("options", problems)
    if args.card == "png":
        check_installed("matplotlib")
    run_dir = RunDir.open(args.dir)
    if args.card != "png":
        write_out(args.out, card(run_dir, args.card, args.as_seen_by))
        return 0
    from fabric.cli.terminal import streams  # noqa: PLC0415  as in run()
    from telemetry.sources.incident_picture import draw  # noqa: PLC0415

    found = ticket(run_dir, args.as_seen_by)
    if found is None:
        hint = "there is nothing to draw: read `fabric explain DIR`"
        raise InputErrors("options", [Problem(str(args.dir), "no metric of this run shows a fault", hint)])
    out = args.out or Path(f"{run_dir.manifest['name']}-incident.png")
    draw(found, out)
    streams.say(f"ticket in {visible(str(out))}")
    return 0


def _with_roots(evidence: Evidence) -> Document:
    """The whole run, root causes first."""
    from fabric.explain.whole_run import explain_run  # noqa: PLC0415  as in run()
    from telemetry.sources.incidents import incidents_of  # noqa: PLC0415
    from telemetry.sources.roots_page import section, status_of, verdict  # noqa: PLC0415

    document = explain_run(evidence)
    found = incidents_of(evidence.run)
    sections = (section(found), *document.sections)
    if not found or found[0].root.rank > 1:  # nothing is wrong: what the network is built for is no headline
        return replace(document, sections=sections)
    status = worst([document.status, status_of(found)])
    was = Prose(document.verdict, document.status)
    return replace(document, status=status, verdict=verdict(found), reasons=(was, *document.reasons), sections=sections)


def _step(evidence: Evidence, args: argparse.Namespace) -> Document:
    """The step, with --without also what it would have taken without faults or kinds of causes."""
    from fabric.explain.step import Step, by_cause, explain_step  # noqa: PLC0415  as in run()

    problems = [
        Problem(f"--{option}", "has no effect without --without", "remove it")
        for option in ("quiet", "yes")
        if getattr(args, option) and not args.without
    ]
    if args.operation is not None:
        problems += [
            Problem(f"--{option}", "contradicts --operation, whose name has job and step", "give one of them")
            for option in ("job", "step")
            if getattr(args, option) is not None
        ]
    if problems:
        raise InputErrors("options", problems)
    more: list[Section] = []
    if args.without:
        from fabric.api.hooks import hooks_of  # noqa: PLC0415  the engine, for --without alone
        from fabric.cli.options.estimating import admission  # noqa: PLC0415
        from fabric.cli.terminal import streams  # noqa: PLC0415
        from fabric.cli.terminal.progress import ProgressLine  # noqa: PLC0415
        from fabric.explain import counterfactual  # noqa: PLC0415

        step = Step(evidence)
        choice = step.choose(args.operation, args.job, args.step)
        path = step.path(choice)
        causes, stragglers = by_cause(step.lines(path)), step.stragglers(choice)
        found = []
        for trial in counterfactual.trials(evidence.run, args.without, causes, stragglers):
            if not args.quiet:
                streams.say(f"without {trial.text}")
            with ProgressLine(sys.stderr, quiet=args.quiet) as line:
                check = admission(trial.scenario, yes=args.yes)
                found.append(
                    counterfactual.without(
                        evidence.run, trial.scenario, trial.text, args.operation, hooks_of(on_progress=line.update),
                        check, change=trial.change, job=args.job, number=args.step,
                    )
                )  # fmt: skip
        more.append(counterfactual.section(found, path.end_ns - path.start_ns))
    return explain_step(evidence, args.operation, more, job=args.job, number=args.step)
