"""``fabric completion bash|zsh|tcsh``: print the shell's completion script, made by shtab from the parser itself."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Final, get_args, get_origin

import shtab
from pydantic import BaseModel

from fabric import shipped
from fabric.cli.demo_gallery import DEMOS
from fabric.cli.init import EXAMPLES, starters
from fabric.cli.main import build_parser

_PATHS: Final = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}
_RUNS: Final = {"bash": "_fabric_compgen_runs", "zsh": "_fabric_runs", "tcsh": "d"}
_SCENARIOS: Final = {"bash": "_fabric_compgen_scenarios", "zsh": "_fabric_scenarios", "tcsh": "f"}
_FIELDS: Final = {"bash": "_fabric_compgen_fields", "zsh": "_fabric_fields"}
_OWN: Final = {"SCENARIO": _SCENARIOS, "SOURCE": _SCENARIOS, "PATH=VALUE": _FIELDS}
_PREAMBLE: Final = {
    "bash": """\
_fabric_compgen_runs() {  # finished runs below runs/, and folders
  local file
  for file in runs/*/manifest.json; do
    if [ -e "$file" ]; then compgen -W "${file%/manifest.json}" -- "$1"; fi
  done
  case "$1" in runs*) ;; *) compgen -d -- "$1" ;; esac
}
_fabric_compgen_scenarios() { compgen -W "SCENARIOS" -- "$1"; compgen -f -- "$1"; }
_fabric_compgen_fields() { compgen -W "FIELDS" -- "$1"; }
""",
    "zsh": """\
_fabric_runs() { compadd -- runs/*/manifest.json(N:h); _files -/; }
_fabric_scenarios() { compadd -- SCENARIOS; _files; }
_fabric_fields() { compadd -S '' -- 'FIELDS'; }
""",
    "tcsh": "",
}
"""Functions of the scripts; SCENARIOS and FIELDS become the words."""
_INSTALL: Final = {
    "bash": "fabric completion bash > ~/.local/share/bash-completion/completions/fabric",
    "zsh": "fabric completion zsh > ~/.zfunc/_fabric     (with ~/.zfunc on $fpath before compinit)",
    "tcsh": "fabric completion tcsh > ~/.fabric.completion.csh     (then source it in ~/.tcshrc)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the shell's name."""
    parser.add_argument("shell", choices=sorted(_INSTALL), help="shell of the completion script")
    parser.add_argument("--json", action="store_true", help="print an object with shell, script and how to install it")
    parser.epilog = "install:\n" + "\n".join(f"  {line}" for line in _INSTALL.values())


def fields() -> list[str]:
    """Fields of a scenario as --set takes them, with their '='; an entry of a list is its first."""
    from fabric.scenario.schema.scenario import Scenario  # noqa: PLC0415  pydantic, only where a script is made

    return [f"{path}=" for path in sorted(_fields_of(Scenario, "", 3))]


def _fields_of(model: type[BaseModel], before: str, levels: int) -> set[str]:
    found = set()
    for name, field in model.model_fields.items():
        path = f"{before}{field.alias or name}"
        inner = set(_models(field.annotation))
        if levels > 1:
            found |= {it for model, mark in inner for it in _fields_of(model, f"{path}{mark}.", levels - 1)}
        if not inner:
            found.add(path)
    return found


def _models(annotation: object, mark: str = "") -> Iterator[tuple[type[BaseModel], str]]:
    """(model, '[0]' where it is an entry of a list) of every model in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, mark
        return
    inside = "[0]" if get_origin(annotation) in {tuple, list} else mark
    for part in get_args(annotation):
        yield from _models(part, inside)


def _complete_names(root: argparse.ArgumentParser) -> None:
    """Complete the names of what comes with the package: playbooks, demos, pages, what `init` copies, models."""
    from fabric.cli.model import PRESETS  # noqa: PLC0415  as below
    from fabric.scenario.presets.models import MODELS  # noqa: PLC0415
    from playbooks.catalogue import slugs  # noqa: PLC0415  numba, only where a script is made

    def inner(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
        of = (it for it in parser._actions if isinstance(it, argparse._SubParsersAction))  # noqa: SLF001  as below
        return next(iter(of)).choices

    verbs = inner(root)
    rows = [(parser, "NAME|DIR", slugs()) for parser in inner(verbs["playbook"]).values()]
    rows += [
        (verbs["demo"], "NAME", [it.name for it in DEMOS]),
        (verbs["docs"], "PAGE", [name for name in shipped.pages() if not name.startswith("decisions/")]),
        (verbs["init"], "WHAT", [*starters(), *EXAMPLES, *(it.stem for it in shipped.scenarios())]),
        (inner(verbs["model"])["show"], "NAME", [*MODELS, *PRESETS]),
    ]
    for parser, metavar, names in rows:
        for argument in parser._actions:  # noqa: SLF001
            if argument.metavar == metavar:
                argument.choices = names


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    """Complete files and folders for options and arguments, by their metavar."""
    for action in parser._actions:  # noqa: SLF001  argparse has no public list of them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for inner in action.choices.values():
                _complete_paths(inner)
        elif action.metavar in _OWN:
            vars(action)["complete"] = _OWN[str(action.metavar)]
        elif action.metavar == "DIR" and not action.option_strings:
            vars(action)["complete"] = _RUNS
        elif action.metavar in _PATHS:
            vars(action)["complete"] = _PATHS[str(action.metavar)]  # shtab reads it


def script(shell: str) -> str:
    """The script; every verb is imported, because it must know every option."""
    root, _ = build_parser()
    _complete_paths(root)
    _complete_names(root)
    words = {"SCENARIOS": " ".join(it.stem for it in shipped.scenarios())}
    words["FIELDS"] = ("' '" if shell == "zsh" else " ").join(fields())
    preamble = _PREAMBLE[shell]
    for name, text in words.items():
        preamble = preamble.replace(name, text)
    return shtab.complete(root, shell=shell, preamble=preamble)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    text = script(args.shell)
    if args.json:
        print(json.dumps({"shell": args.shell, "install": _INSTALL[args.shell], "script": text}))
    else:
        print(text)
    return 0
