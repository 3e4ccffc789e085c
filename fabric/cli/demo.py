"""``fabric demo [NAME]``: list the gallery, or run one demo: its commands, its page, and what to ask next."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import textwrap
from pathlib import Path
from typing import Any

from fabric.cli.demo_gallery import DEMOS, Demo, Step
from fabric.cli.main import main
from fabric.cli.options.folders import free_folder, runs_folder
from fabric.cli.options.output import add_out
from fabric.errors import InputErrors, Problem
from fabric.visible import command, visible

_FIRST = "The first run compiles the engine: about a minute, once per version"
_WIDTH = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the name and where it is run."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="the demo to run (default: list them)")
    add_out(parser, "DIR", "folder of the demo; default runs/demo-NAME, with a number where that exists")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object: the gallery, or the commands of the demo with their exit codes and its page",
    )
    parser.epilog = (
        "example:\n  fabric demo pfc-storm\n\n"
        f"{_FIRST}.\nExit codes: 0, or that of the first command which did not end as it should."
    )


def run(args: argparse.Namespace) -> int:
    """List or run."""
    if args.name is None:
        if args.out is not None:
            raise InputErrors("options", [Problem("--out", "has no effect without a demo", "name one: `fabric demo`")])
        _list(as_json=args.json)
        return 0
    chosen = _chosen(args.name)
    if args.out is not None and args.out.exists() and (not args.out.is_dir() or any(args.out.iterdir())):
        text = "is not empty" if args.out.is_dir() else "is a file"
        raise InputErrors("options", [Problem(f"--out {args.out}", text, "name a new folder")])
    folder = args.out or free_folder(f"demo-{chosen.name}")
    return _play(chosen, folder, as_json=args.json)


def _chosen(name: str) -> Demo:
    found = {it.name: it for it in DEMOS}
    if name not in found:
        import difflib  # noqa: PLC0415  only for a misspelled word

        near = difflib.get_close_matches(name, found, n=1)
        hint = f"did you mean '{near[0]}'?" if near else "`fabric demo` lists them"
        raise InputErrors("options", [Problem(name, "is no demo", hint)])
    return found[name]


def _words(words: tuple[str, ...], folder: Path) -> list[str]:
    return [word.replace("{}", str(folder)) for word in words]


def _shown(words: tuple[str, ...], folder: Path) -> str:
    return command("fabric", *_words(words, folder))


def _list(*, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "name": it.name,
                "question": it.question,
                "shows": it.shows,
                "seconds": it.seconds,
                "commands": [_shown(step.words, runs_folder() / f"demo-{it.name}") for step in it.steps],
                "next": [_shown(words, runs_folder() / f"demo-{it.name}") for words in it.ask],
            }
            for it in DEMOS
        ]
        print(json.dumps({"demos": rows}, indent=2))
        return
    width = max(len(it.name) for it in DEMOS)
    for it in DEMOS:
        print(f"{it.name:<{width}}  {it.question}")
    print(f"\nRun one: fabric demo {DEMOS[0].name}")
    print(f"{_FIRST}.")


def _play(chosen: Demo, folder: Path, *, as_json: bool) -> int:
    """Run its commands in this process; each is printed before it begins."""
    done: list[dict[str, Any]] = []
    if not as_json:
        print(f"{chosen.question}\n")
        print(textwrap.fill(chosen.shows, _WIDTH))
        print(f"(about {chosen.seconds} s. {_FIRST}.)")
    for step in chosen.steps:
        shown = _shown(step.words, folder)
        if not as_json:
            print(f"\n$ {shown}", flush=True)
        code = _code(step, folder, quiet=as_json)
        done.append({"command": shown, "exit_code": code})
        if code != step.exit_code:
            break
    met = len(done) == len(chosen.steps) and done[-1]["exit_code"] == chosen.steps[-1].exit_code
    page = chosen.page.replace("{}", str(folder))
    more = [_shown(words, folder) for words in chosen.ask]
    if as_json:
        about = {"name": chosen.name, "question": chosen.question, "as_expected": met, "commands": done}
        print(json.dumps({**about, "page": page if met else None, "next": more if met else []}, indent=2))
    elif met:
        print(f"\npage: {visible(page)}\nnext:")
        print("\n".join(f"  {line}" for line in more))
    return 0 if met else int(done[-1]["exit_code"]) or 1


def _code(step: Step, folder: Path, *, quiet: bool) -> int:
    words = _words(step.words, folder)
    if not quiet:
        return main(words)
    with contextlib.redirect_stdout(io.StringIO()):  # standard output is one document
        return main(words)
