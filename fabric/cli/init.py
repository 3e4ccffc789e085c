"""``fabric init``: write a commented scenario, or an example, into the current folder."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from fabric import shipped
from fabric.cli.output import add_out
from fabric.errors import InputErrors, Problem
from fabric.report.files import naming

EXAMPLE = "validate-example"
_DEFAULT = "leaf-spine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is written, and where."""
    parser.add_argument("what", metavar="WHAT", nargs="?", default=_DEFAULT,
                        help=f"a starter with comments ({', '.join(starters())}; default: {_DEFAULT}), a scenario of "
                        f"`fabric scenario list`, or {EXAMPLE}: switch configurations for `fabric validate`")
    add_out(parser, "PATH", "file to write, or folder of the example (default: named after WHAT, in this folder)")
    parser.add_argument("--force", action="store_true", help="replace what is there")
    parser.add_argument("--json", action="store_true", help="print an object naming what was written")


def starters() -> list[str]:
    """Names of the commented scenarios."""
    return sorted(path.stem for path in (shipped.folder("scenarios") / "starters").glob("*.yml"))


def run(args: argparse.Namespace) -> int:
    """Copy one file or folder; 2 where it is unknown or would overwrite something."""
    source = _source(args.what)
    out = args.out or Path(source.name)
    if out.exists() and not args.force:
        raise InputErrors("options", [Problem(str(out), "exists already", "give another name with --out, or --force")])
    if source.is_dir():
        shutil.copytree(source, out, dirs_exist_ok=True)
        steps = [f"fabric validate {out}/after --baseline {out}/before"]
    else:
        with naming(out):
            out.write_bytes(source.read_bytes())
        steps = [f"fabric scenario check {out}", f"fabric run {out}"]
    if args.json:
        print(json.dumps({"wrote": str(out), "next": steps}))
    else:
        print(f"wrote {out}; next:")
        print("\n".join(f"  {step}" for step in steps))
    return 0


def _source(what: str) -> Path:
    if what == EXAMPLE:
        return shipped.folder("examples") / EXAMPLE
    file = shipped.folder("scenarios") / "starters" / f"{what}.yml"
    if what in starters():
        return file
    files = {path.stem: path for path in shipped.scenarios()}
    if what not in files:
        from fabric.topology.select import nearest  # noqa: PLC0415  only for someone who has mistyped

        raise InputErrors("options", [Problem(what, "is no starter, scenario or example that comes with the package",
                                              nearest(what, [*starters(), EXAMPLE, *files]))])
    return files[what]
