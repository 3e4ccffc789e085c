"""``fabric validate CONFIGS --prove`` without a finding, or with --search: margins, and losses that no rule names."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fabric.errors import Problem

if TYPE_CHECKING:
    from fabric.configs.network import Network
    from fabric.proof.search.search import Found
    from fabric.validate.checks.base import Severity
    from fabric.validate.runner import Verdict

_AUTO: Final = -1
_MOST_RUNS: Final = 1_000_000
_MOST_SEED: Final = 2**63 - 1


def add_search(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--search",
        nargs="?",
        type=_runs,
        const=_AUTO,
        metavar="RUNS",
        help="with --prove, after CONFIGS: look for the worst traffic of every class of ports, for margins, and with "
        "RUNS mutated workloads (default 200) for losses that no check names, also where there are findings",
    )
    parser.add_argument("--search-seed", type=_seed, metavar="N", help="with --search: its seed (default 1)")


def problems_of(args: argparse.Namespace) -> list[Problem]:
    """Contradictions."""
    problems = []
    for option, given in (("--search", args.search), ("--search-seed", args.search_seed)):
        if given is not None and not args.prove:
            problems.append(Problem(option, "has no effect without --prove", "add --prove, or leave it out"))
    if args.prove and args.search_seed is not None and args.search is None:
        problems.append(Problem("--search-seed", "has no effect without --search", "add --search, or leave it out"))
    return problems


def wanted(args: argparse.Namespace, verdict: Verdict) -> bool:
    """Whether to search: asked for, or no finding was simulated."""
    return args.search is not None or not verdict.proofs


def searched(args: argparse.Namespace, network: Network) -> Found:
    """Carry the search out, and write its scenarios."""
    from fabric.cli.terminal.search_progress import SearchProgress  # noqa: PLC0415  --list needs no engine
    from fabric.proof.files import Folder  # noqa: PLC0415
    from fabric.proof.search.output import as_data  # noqa: PLC0415
    from fabric.proof.search.search import DEFAULT_RUNS, Search  # noqa: PLC0415
    from fabric.runs.files import naming  # noqa: PLC0415

    budget = DEFAULT_RUNS if args.search in {None, _AUTO} else args.search
    search = Search(network, 1 if args.search_seed is None else args.search_seed, budget)
    with SearchProgress(sys.stderr, quiet=args.quiet) as progress:
        found = search.carry_out(progress.update)
    if not found.complete:
        print(f"interrupted: {found.runs} runs were simulated", file=sys.stderr)
    if args.prove_out is not None:
        with ExitStack() as stack:
            stack.enter_context(naming(args.prove_out))
            folder = Folder(args.prove_out, more=True)
            found.hits = [replace(it, file=folder.add(it.name, ".yml", it.scenario)) for it in found.hits]
            folder.add("search", ".json", json.dumps(as_data(found, scenarios=False), indent=1) + "\n")
    return found


def with_search(verdict: Verdict, found: Found, style: str, limit: Severity | None, *, everything: bool) -> str:
    """The verdict, with what the search found."""
    from fabric.proof.search import output  # noqa: PLC0415
    from fabric.validate.checks.base import Severity  # noqa: PLC0415
    from fabric.validate.output import data, page, text  # noqa: PLC0415

    if style == "json":
        return data.as_json(verdict, search=output.as_data(found))
    if style == "markdown":
        return page.as_markdown(verdict) + output.as_markdown(found)
    if style == "text":
        return text.render(verdict, everything=everything) + "\n" + output.as_text(found)
    searched = output.as_searched(found)
    if style == "sarif":
        return data.as_sarif(verdict, searched=searched)
    if style == "junit":
        return data.as_junit(verdict, limit or Severity.ERROR, searched)
    return page.as_html(verdict, searched)


def _runs(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _MOST_RUNS):
        hint = "" if text.isdigit() else "; write CONFIGS before --search, as in `validate CONFIGS --prove --search`"
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of runs from 0 to {_MOST_RUNS:,}{hint}")
    return int(text)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _MOST_SEED):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^63 - 1")
    return int(text)
