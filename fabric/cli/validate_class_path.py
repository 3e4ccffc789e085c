"""`fabric validate --class-path`: the class of RoCE from applications to receivers' NICs, in place of a verdict."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fabric.errors import Problem

if TYPE_CHECKING:
    from fabric.validate.judge import Request


def add_class_path(parser: argparse.ArgumentParser) -> None:
    """The option."""
    parser.add_argument(
        "--class-path",
        nargs="*",
        metavar="HOST",
        help="no checks: the class of RoCE from each library of each host with outputs to the receivers' NICs, and the "
        "first place where it changes; with hosts, every place",
    )


def problems_of(args: argparse.Namespace, style: str) -> list[Problem]:
    """Options that say nothing of a class's path."""
    problems = []
    if style not in {"text", "json"}:
        problems.append(Problem("--format", f"{style} is for verdicts", "use text or json with --class-path"))
    given = (
        ("--only", args.only is not None),
        ("--baseline", args.baseline is not None),
        ("--suppress", args.suppress is not None),
        ("--strict", args.strict),
        ("--all", args.all),
        ("--reach", args.reach is not None),
        ("--recommend", args.recommend),
        ("--fix", args.fix is not None or args.fix_apply is not None),
        ("--prove", args.prove),
        ("--list", args.list or bool(args.explain)),
    )
    text = "is for checks, and --class-path runs none"
    return [*problems, *(Problem(option, text, "leave it out") for option, is_given in given if is_given)]


def class_path(args: argparse.Namespace, request: Request, style: str) -> tuple[str, bool]:
    """The text, and whether every library keeps RoCE's class. Raises: InputErrors."""
    from fabric.validate.class_path import class_paths  # noqa: PLC0415  --list needs no parser
    from fabric.validate.judge import facts_of  # noqa: PLC0415
    from fabric.validate.output.class_path import as_json, as_text  # noqa: PLC0415

    paths = class_paths(facts_of(request), args.class_path)
    text = as_json(paths) if style == "json" else as_text(paths, every=bool(args.class_path))
    return text, all(path.changes is None for path in paths)
