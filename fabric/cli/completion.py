"""``fabric completion bash|zsh|tcsh``: print the shell's completion script, made by shtab from the parser itself."""

from __future__ import annotations

import argparse
import json
from typing import Final

import shtab

from fabric.cli.main import build_parser

_PATHS: Final = {"FILE": shtab.FILE, "SCENARIO": shtab.FILE, "SOURCE": shtab.FILE, "DIR": shtab.DIRECTORY}
_INSTALL: Final = {
    "bash": "fabric completion bash > ~/.local/share/bash-completion/completions/fabric",
    "zsh": "fabric completion zsh > ~/.zfunc/_fabric     (with ~/.zfunc on $fpath before compinit)",
    "tcsh": "fabric completion tcsh > ~/.fabric.completion.csh     (then source it in ~/.tcshrc)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the shell's name."""
    parser.add_argument("shell", choices=sorted(_INSTALL), help="whose completion script to print")
    parser.add_argument("--json", action="store_true", help="print an object with shell, script and how to install it")
    parser.epilog = "install:\n" + "\n".join(f"  {line}" for line in _INSTALL.values())


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    """Have the shell offer files and folders where an option or an argument takes one, as its metavar says."""
    for action in parser._actions:  # noqa: SLF001  argparse has no public list of them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for inner in action.choices.values():
                _complete_paths(inner)
        elif action.metavar in _PATHS:
            vars(action)["complete"] = _PATHS[str(action.metavar)]      # shtab reads it


def run(args: argparse.Namespace) -> int:
    """Print the script; every verb is imported, because the script must know every option."""
    root, _ = build_parser()
    _complete_paths(root)
    script = shtab.complete(root, shell=args.shell)
    if args.json:
        print(json.dumps({"shell": args.shell, "install": _INSTALL[args.shell], "script": script}))
    else:
        print(script)
    return 0
