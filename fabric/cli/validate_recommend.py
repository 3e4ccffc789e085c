"""``fabric validate CONFIGS --recommend``: thresholds for each class of ports, from simulated runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from fabric.cli.terminal import streams
from fabric.errors import Problem

if TYPE_CHECKING:
    import argparse

    from fabric.validate.judge import Request

_FORMATS: Final = ("text", "json", "markdown")


def problems_of(args: argparse.Namespace, style: str) -> list[Problem]:
    """Contradictions with --recommend."""
    problems = []
    if style not in _FORMATS:
        problems.append(Problem("--format", f"{style} is for verdicts", "use text, json or markdown with --recommend"))
    if args.peer_response is not None:
        text = "has no effect with --recommend, which tries half and all of the 802.3 limit"
        problems.append(Problem("--peer-response", text, "leave it out"))
    for option, given in (
        ("--only", args.only is not None),
        ("--baseline", args.baseline is not None),
        ("--suppress", args.suppress is not None),
        ("--reach", args.reach is not None),
        ("--strict", args.strict),
        ("--fail-on", args.fail_on is not None),
        ("--all", args.all),
        ("--prove", args.prove),
        ("--fix", args.fix is not None),
        ("--fix-apply", args.fix_apply is not None),
        ("--max-oversubscription", args.max_oversubscription is not None),
    ):
        if given:
            problems.append(Problem(option, "has no effect with --recommend, which runs no check", "leave it out"))
    return problems


def recommended(request: Request, style: str, *, quiet: bool) -> tuple[str, bool]:
    """The output, and whether it is complete. Raises: InputErrors."""
    from fabric.recommend.output import as_data, as_markdown, as_text  # noqa: PLC0415  --list needs no engine
    from fabric.recommend.recommend import recommend  # noqa: PLC0415
    from fabric.render.folding import terminal_width  # noqa: PLC0415
    from fabric.validate.judge import facts_of  # noqa: PLC0415

    found = recommend(facts_of(request), _silent if quiet else _tell)
    if style == "json":
        return json.dumps(as_data(found), indent=2) + "\n", found.complete
    if style == "markdown":
        return as_markdown(found), found.complete
    return as_text(found, terminal_width()), found.complete


def _tell(done: int, steps: int, text: str) -> None:
    if text:
        streams.say(f"step {done + 1} of {steps}: {text}")


def _silent(_done: int, _steps: int, _text: str) -> None:
    """No progress."""
