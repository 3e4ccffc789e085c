"""``fabric rollout OLD NEW``: mixed states on the way from one set of configurations to another, and a safe order."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric import shipped
from fabric.cli.options.output import add_out, problems_of_out, write_styled
from fabric.cli.terminal.bar import Bar
from fabric.errors import InputErrors, Problem
from fabric.render.folding import folded, terminal_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabric.configs.network import Network
    from fabric.proof.files import Folder
    from fabric.rollout.plan import Prepared, Rollout
    from fabric.validate.checks.base import Finding
    from fabric.validate.proofs import Proof

EXIT_HAZARD: Final = 1
_FORMATS: Final = ("text", "json", "markdown", "html")
_NAMES: Final = {"markdown": "Markdown", "html": "HTML"}
_RELEASES: Final = ("202405", "202411", "202505", "202511")
_MOST: Final = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "examples:\n  fabric rollout old/ new/\n  fabric rollout old/ new/ --sonic-release 202505 --format markdown\n"
        "  fabric rollout old/ new/ --format html -o rollout.html\n"
        "  fabric rollout old/ new/ --prove --prove-out proofs/\n  fabric rollout old/ new/ --estimate\n\n"
        "exit codes: 0 a safe order, 1 a hazard on the way or in NEW, or no answer,\n2 bad input"
    )
    parser.add_argument(
        "old", type=shipped.example, metavar="OLD", help="folder of the present configurations, one per switch"
    )
    parser.add_argument("new", type=shipped.example, metavar="NEW", help="folder of the configurations to arrive at")
    parser.add_argument(
        "--hosts",
        type=shipped.example,
        action="append",
        default=[],
        metavar="FILE",
        help="hosts' RoCE settings; twice for OLD and NEW (default: hosts.* in each folder)",
    )
    parser.add_argument(
        "--links",
        type=shipped.example,
        action="append",
        default=[],
        metavar="FILE",
        help="links file; twice for OLD and NEW (default: the neighbour tables, or topology.* in each folder)",
    )
    parser.add_argument(
        "--pg-profile-lookup",
        action="append",
        default=[],
        metavar="[HWSKU=]FILE",
        help="headroom table of the switches, or of one HWSKU; repeatable",
    )
    parser.add_argument(
        "--sonic-release",
        choices=_RELEASES,
        default=_RELEASES[-1],
        help=f"release whose effects of edits are stated (default {_RELEASES[-1]})",
    )
    parser.add_argument(
        "--fail-on",
        choices=("error", "warn", "info"),
        default="error",
        help="findings from this severity on are hazards (default error)",
    )
    parser.add_argument(
        "--max-states",
        type=_states,
        default=_MOST,
        metavar="N",
        help=f"mixed states that are validated at most in one search (default {_MOST})",
    )
    parser.add_argument(
        "--every-state",
        action="store_true",
        help="validate each state, also those that are equal but for the names of switches",
    )
    parser.add_argument(
        "--prove",
        action="store_true",
        help="simulate the hazards of the state that is shown, and the findings of NEW that OLD does not have: traffic "
        "that shows each one there, and not on the remedied state (docs/proof.md)",
    )
    parser.add_argument(
        "--prove-out",
        type=Path,
        metavar="DIR",
        help="with --prove: write each proof as scenario files for `fabric run`, as soon as it is made",
    )
    parser.add_argument("--estimate", action="store_true", help="say how many states will be validated, and stop")
    parser.add_argument("--format", choices=_FORMATS, help="default text")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("--all", action="store_true", help="text: every edit and every state")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on standard error")
    add_out(parser, "FILE", "write to FILE instead of standard output")


def run(args: argparse.Namespace) -> int:
    """Read, say what will be done, check, print."""
    style = _checked(args)
    from fabric.rollout.output.words import promise  # noqa: PLC0415  --help needs no parser
    from fabric.rollout.plan import Request, carry_out, prepare  # noqa: PLC0415
    from fabric.validate.checks.base import Severity  # noqa: PLC0415

    request = Request(
        args.old,
        args.new,
        tuple(args.hosts),
        tuple(args.links),
        tuple(args.pg_profile_lookup),
        args.sonic_release,
        Severity[args.fail_on.upper()],
        args.max_states,
        args.every_state,
    )
    if args.prove_out is not None:
        from fabric.proof.files import ROLLOUT  # noqa: PLC0415  --help needs no parser
        from fabric.runs.owned import check  # noqa: PLC0415

        check(args.prove_out, "--prove-out", ROLLOUT)
    prepared = prepare(request)
    if args.estimate:
        write_styled(args.out, _estimate(prepared, style), style)
        return 0
    if not args.quiet:
        text = folded(promise(prepared), terminal_width(), prose=sys.stderr.isatty())
        print(text, end="", file=sys.stderr, flush=True)
    bar = Bar(sys.stderr, quiet=args.quiet)
    try:
        prover = _Prover(bar, args.prove_out, quiet=args.quiet) if args.prove else None
        found = carry_out(prepared, _Progress(prepared, bar), prover)
        if prover is not None:
            prover.index(found)
    finally:
        bar.close()
    write_styled(args.out, _rendered(found, style, everything=args.all), style)
    return 0 if found.safe else EXIT_HAZARD


class _Progress:
    """What is being done, and how many states of the first search were validated."""

    def __init__(self, prepared: Prepared, bar: Bar) -> None:
        self._prepared = prepared
        self._bar = bar

    def __call__(self, what: str) -> None:
        """Show the step that begins; later searches may validate more states than the first one has."""
        done, states = len(self._prepared.checker.checked), self._prepared.states
        self._bar.show(min(done, states), states, f"{done} states validated of about {states}; {what}")


class _Prover:
    """Simulates one hazard of each check of a state; an interruption keeps those that are finished."""

    def __init__(self, bar: Bar, folder: Path | None, *, quiet: bool) -> None:
        self._bar, self._quiet = bar, quiet
        self._folder: Folder | None = None
        if folder is not None:
            from fabric.proof.files import ROLLOUT, Folder  # noqa: PLC0415  it loads the engine

            self._folder = Folder(folder, command=ROLLOUT)

    def index(self, found: Rollout) -> None:
        """Write what became of each hazard, where a folder was given."""
        if self._folder is not None:
            self._folder.index_of_states(found.proofs_by_state)

    def __call__(self, network: Network, hazards: Sequence[Finding]) -> tuple[Sequence[Proof], str]:
        from fabric.cli.terminal.proof_progress import ProofProgress  # noqa: PLC0415  it loads the engine
        from fabric.proof.prove import left_out, proofs, tasks  # noqa: PLC0415
        from fabric.validate.runner import Verdict  # noqa: PLC0415

        self._bar.close()
        verdict = Verdict(tuple(hazards))
        work = tasks(verdict)
        found: list[Proof] = []
        with ProofProgress(sys.stderr, len(work), quiet=self._quiet) as show:
            try:
                for proof in proofs(network, work):
                    found.append(proof if self._folder is None else self._folder.write(proof))
                    show.update(found)
            except KeyboardInterrupt:
                print(f"interrupted: {len(found)} of {len(work)} hazards were simulated", file=sys.stderr)
        return found, left_out(verdict)


def _checked(args: argparse.Namespace) -> str:
    """The format; every contradiction of the options together."""
    problems = []
    if args.json and args.format not in {None, "json"}:
        problems.append(Problem("--json", f"contradicts --format {args.format}", "give one of them"))
    style: str = "json" if args.json else args.format or "text"
    if args.all and style != "text":
        problems.append(Problem("--all", f"has no effect on {style}", "leave it out"))
    if args.estimate and style not in {"text", "json"}:
        problems.append(Problem("--estimate", f"has no {_NAMES[style]}", "use text or json"))
    if args.estimate and args.prove:
        problems.append(Problem("--prove", "has no effect with --estimate", "leave one of them out"))
    if args.prove_out is not None and not args.prove:
        problems.append(Problem("--prove-out", "has no effect without --prove", "add --prove, or leave it out"))
    if args.estimate and args.all:
        problems.append(Problem("--all", "has no effect with --estimate", "leave it out"))
    from fabric.configs.load import SUFFIXES  # noqa: PLC0415  --help needs no parser

    problems += problems_of_out(args.out, (args.old, args.new, *args.hosts, *args.links), SUFFIXES)
    if problems:
        raise InputErrors("options", problems)
    return style


def _estimate(prepared: Prepared, style: str) -> str:
    import json  # noqa: PLC0415

    from fabric.rollout.output.words import promise  # noqa: PLC0415

    if style == "json":
        value = {
            "units": len(prepared.checker.change.units),
            "states": prepared.states,
            "most": prepared.request.most,
            "seconds": round(prepared.seconds, 1),
        }
        return json.dumps(value, indent=1) + "\n"
    return promise(prepared) + "\n"


def _rendered(found: Rollout, style: str, *, everything: bool) -> str:
    from fabric.rollout.output import data, markdown, page, text  # noqa: PLC0415

    if style == "text":
        return text.as_text(found, everything=everything)
    writers = {"json": data.as_json, "markdown": markdown.as_markdown, "html": page.as_html}
    return writers[style](found)


def _states(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of states in 1..999999999")
    return int(text)
