"""``fabric init``: write a commented scenario, or an example, into the current folder."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Final

from fabric import shipped
from fabric.cli.options.output import add_out
from fabric.errors import InputErrors, Problem
from fabric.runs.files import naming
from fabric.visible import command, visible

EXAMPLES: Final = {
    "hosts-example": ("validate", "validate-example/before", "--hosts", "{}"),
    "margins-example": ("validate", "{}", "--prove", "--search", "0"),
    "qualify-example": ("qualify", "sonic-rocev2", "{}", "--case", "TC1"),
    "rollout-example": ("rollout", "{}/old", "{}/new"),
    "seed-example": ("qualify", "seed", "{}"),
    "tenants-example": ("validate", "{}/working", "--reach"),
    "validate-example": ("validate", "{}/after", "--baseline", "{}/before"),
    "validate-nvue-example": ("validate", "{}/after", "--baseline", "{}/before"),
    "validate-nxos-example": ("validate", "{}/after", "--baseline", "{}/before"),
}
"""Folder of switch configurations -> words of the command that shows it; {} is the copied folder."""
_DEFAULT = "leaf-spine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is written, and where."""
    parser.add_argument(
        "what",
        metavar="WHAT",
        nargs="?",
        default=_DEFAULT,
        help=f"a starter with comments ({', '.join(starters())}; default: {_DEFAULT}), a scenario of "
        f"`fabric scenario list`, or an example of switch configurations ({', '.join(EXAMPLES)})",
    )
    add_out(
        parser,
        "PATH",
        "file to write, or folder of the example (default: named after WHAT, in this folder); files "
        "that a scenario names are written beside it",
    )
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.add_argument("--json", action="store_true", help="print an object with the written paths")


def starters() -> list[str]:
    """Names of the commented scenarios."""
    return sorted(path.stem for path in (shipped.folder("scenarios") / "starters").glob("*.yml"))


def run(args: argparse.Namespace) -> int:
    """Copy one file or folder; 2 where it is unknown or would overwrite something."""
    source = _source(args.what)
    out = args.out or Path(source.name)
    copies = {out: source, **_named_by(source, out.parent)}
    if not args.force:
        _check_free(copies)
    made = None if out.parent.is_dir() else out.parent
    with naming(out.parent):
        out.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, out, dirs_exist_ok=True)
        steps = [command("fabric", *(word.format(out) for word in EXAMPLES[source.name]))]
    else:
        for path, original in copies.items():
            with naming(path):
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(original.read_bytes())
        steps = [command("fabric", "scenario", "check", out), command("fabric", "run", out)]
    beside = [str(path) for path in copies if path != out]
    if args.json:
        print(
            json.dumps(
                {"wrote": str(out), "beside": beside, "made": None if made is None else str(made), "next": steps}
            )
        )
    else:
        if made is not None:
            print(f"made the folder {visible(str(made))}, which did not exist")
        print(f"wrote {visible(', '.join([str(out), *beside]))}; next:")
        print("\n".join(f"  {step}" for step in steps))
    return 0


def _named_by(source: Path, folder: Path) -> dict[Path, Path]:
    """Copy -> original of the files that a scenario names, such as traces and jobs, below the folder of its copy."""
    if source.is_dir():
        return {}
    from fabric.scenario.load import load_scenario  # noqa: PLC0415  the schema is not loaded for folders
    from fabric.scenario.named_files import named_files  # noqa: PLC0415

    return {folder / name: source.parent / name for name in named_files(load_scenario(source))}


def _check_free(copies: dict[Path, Path]) -> None:
    """A file that is the same already may stay: several scenarios name one job. Raises: InputErrors."""
    first = next(iter(copies))
    taken = [
        path for path, original in copies.items() if path.exists() and (path == first or not _same(path, original))
    ]
    if taken:
        hint = "give another name with --out, or --force"
        raise InputErrors("options", [Problem(str(path), "exists already", hint) for path in taken])


def _same(path: Path, original: Path) -> bool:
    data = original.read_bytes()
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _source(what: str) -> Path:
    if what in EXAMPLES:
        return shipped.folder("examples") / what
    file = shipped.folder("scenarios") / "starters" / f"{what}.yml"
    if what in starters():
        return file
    files = {path.stem: path for path in shipped.scenarios()}
    if what not in files:
        from fabric.topology.select import nearest  # noqa: PLC0415  only for a misspelled word

        raise InputErrors(
            "options",
            [
                Problem(
                    what,
                    "is not a starter, scenario or example of the package",
                    nearest(what, [*starters(), *EXAMPLES, *files]),
                )
            ],
        )
    return files[what]
