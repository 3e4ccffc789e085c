"""``fabric explain [run|pfc|drops|message] DIR``: why it happened, from what a run directory holds."""

from __future__ import annotations

import argparse
import json
import sys

from fabric.cli.main import EXPLAIN_QUESTIONS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the questions, each with its run directory."""
    questions = parser.add_subparsers(dest="question", metavar="QUESTION", required=True)
    texts = ("all of the following in short, causes first; `fabric explain DIR` means the same",
             "which port started each pause tree; how near every group was to sending XOFF",
             "which rule discarded every packet, with the numbers that decided it",
             "where one message's time went (default: the slowest one)")
    for name, text in zip(EXPLAIN_QUESTIONS, texts, strict=True):
        question = questions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        question.add_argument("dir", metavar="DIR", help="run directory written by `fabric run`")
        if name == "message":
            question.add_argument("id", metavar="ID", nargs="?", help="message id, as in `fabric show DIR messages`")
        question.add_argument("--json", action="store_true", help="print one JSON object, numbers in base units")


def run(args: argparse.Namespace) -> int:
    """Explain, and exit 0: an explanation is no judgement."""
    from fabric.report.evidence import Evidence  # noqa: PLC0415  --help must not load pyarrow
    from fabric.report.explain_drops import explain_drops  # noqa: PLC0415
    from fabric.report.explain_message import explain_message, known_or_error  # noqa: PLC0415
    from fabric.report.explain_pfc import explain_pfc  # noqa: PLC0415
    from fabric.report.explain_run import explain_run  # noqa: PLC0415
    from fabric.report.json import to_json  # noqa: PLC0415
    from fabric.report.rundir import RunDir  # noqa: PLC0415
    from fabric.report.text import console_for, print_document  # noqa: PLC0415

    evidence = Evidence(RunDir.open(args.dir))
    if args.question == "run":
        document = explain_run(evidence)
    elif args.question == "pfc":
        document = explain_pfc(evidence)
    elif args.question == "drops":
        document = explain_drops(evidence)
    else:
        document = explain_message(evidence, known_or_error(evidence, args.id))
    if args.json:
        print(json.dumps(to_json(document), indent=2))
    else:
        print_document(document, console_for(sys.stdout))
    return 0
