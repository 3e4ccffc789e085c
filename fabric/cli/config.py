"""``fabric config``: the defaults in effect, and where each comes from."""

from __future__ import annotations

import argparse
import json

from fabric.cli.settings import EXAMPLE, VARIABLE, config_file, settings
from fabric.errors import InputErrors, Problem
from fabric.visible import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the two forms of output."""
    parser.add_argument("--example", action="store_true", help="print a commented file with the defaults, to edit")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.epilog = (
        f"The file is ${VARIABLE}, else fabric-emulator/config.toml below $XDG_CONFIG_HOME or\n"
        "~/.config. Options override it, and so do NO_COLOR and FORCE_COLOR.\n\n"
        "example:\n"
        "  mkdir -p ~/.config/fabric-emulator\n"
        "  fabric config --example > ~/.config/fabric-emulator/config.toml\n"
        "  fabric config"
    )


def run(args: argparse.Namespace) -> int:
    """Print the values."""
    if args.example:
        if args.json:
            problem = Problem("--example", "is TOML and contradicts --json", "leave out one of them")
            raise InputErrors("options", [problem])
        print(EXAMPLE, end="")
        return 0
    found, file = settings(), config_file()
    values = {"colour": found.colour, "threads": found.threads, "out": str(found.out)}
    if args.json:
        rows = [{"key": key, "value": value, "source": found.sources[key]} for key, value in values.items()]
        about = {"file": None if file is None else str(file), "exists": file is not None and file.is_file()}
        print(json.dumps({**about, "settings": rows}, indent=2))
        return 0
    for key, value in values.items():
        print(f"{key:<8} {visible(str(value)):<8} {visible(found.sources[key])}")
    if file is None:
        print(f"file: none, because {VARIABLE} is empty")
    else:
        print(f"file: {visible(str(file))}{'' if file.is_file() else ' (no such file)'}")
    return 0
