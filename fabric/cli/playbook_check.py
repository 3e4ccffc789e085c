"""``fabric playbook check`` and ``new``: playbooks with their healthy twins in worker processes; a new playbook."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.errors import FabricError, InputErrors, Problem
from fabric.visible import visible

if TYPE_CHECKING:
    from playbooks.check import Checked


def add_check(action: argparse.ArgumentParser) -> None:
    """Declare the options."""
    action.add_argument("playbooks", metavar="NAME|DIR", nargs="*", help="playbooks, by name or folder")
    action.add_argument("--all", action="store_true", help="every playbook that comes with the package")
    action.add_argument(
        "--workers", metavar="N", type=int, help="processes on this machine; default: one for each processor"
    )
    action.add_argument("--json", action="store_true", help="print one JSON array")
    action.add_argument("--quiet", action="store_true", help="show nothing while they run")
    action.epilog = (
        "Exit 1 where a playbook is not met or its twin is not silent, 2 where one is no valid playbook; the others "
        "run all the same.\n\nexample: fabric playbook check pfc-missing"
    )


def add_new(action: argparse.ArgumentParser) -> None:
    """Declare the options."""
    action.add_argument("name", metavar="NAME", help="name of the new folder: a-z, 0-9 and '-'")
    action.add_argument(
        "--kind", metavar="KIND", help="kind of root that it is about, as in docs/diagnosis.md (default: link-down)"
    )
    action.add_argument("--json", action="store_true", help="print an object naming the folder")
    action.epilog = "Nothing is overwritten.\n\nexample: fabric playbook new my-storm --kind broken-nic"


def run_new(args: argparse.Namespace) -> int:
    """Write the folder into the current one."""
    from playbooks.new import write_new  # noqa: PLC0415  --help must not load pydantic

    folder = write_new(args.name, args.kind, Path())
    if args.json:
        print(json.dumps({"folder": str(folder)}))
    else:
        print(f"{folder}/ is written; next: fabric playbook check ./{folder}")
    return 0


def run_check(args: argparse.Namespace) -> int:
    """Print one line a playbook, and why each failed one did; exit 2 where one is bad input, 1 where one failed."""
    from playbooks.catalogue import find, slugs  # noqa: PLC0415  --help must not load pydantic

    problems = []
    if args.all and args.playbooks:
        problems.append(Problem("--all", "has no effect beside names", "give names, or --all"))
    if not args.all and not args.playbooks:
        problems.append(Problem("NAME", "no playbook is given", "name some of `fabric playbook list`, or give --all"))
    if args.workers is not None and args.workers < 1:
        problems.append(Problem("--workers", f"{args.workers} processes are not possible", "give 1 or more"))
    if problems:
        raise InputErrors("options", problems)
    folders = list(dict.fromkeys(find(name) for name in (slugs() if args.all else args.playbooks)))
    began = time.monotonic()
    found = _checked(folders, args)
    if args.json:
        print(json.dumps([_as_json(it) for it in found], indent=2))
    else:
        _tell(found, time.monotonic() - began)
    if any(it.bad_input for it in found):
        return InputErrors.exit_code
    return 0 if all(it.passed for it in found) else 1


def _checked(folders: list[Path], args: argparse.Namespace) -> list[Checked]:
    """The results in the order of the folders."""
    from fabric.cli.terminal.bar import Bar  # noqa: PLC0415  rich, only where something runs
    from fabric.studies.code import is_first_use  # noqa: PLC0415  loads the compiler
    from fabric.studies.jobs import Job  # noqa: PLC0415
    from fabric.studies.local import LocalProcesses  # noqa: PLC0415
    from playbooks.check import check  # noqa: PLC0415

    jobs = deque(Job(str(folder), folder) for folder in folders)
    workers = min(args.workers or len(os.sched_getaffinity(0)), len(jobs))
    found: dict[str, Checked] = {}
    bar = Bar(sys.stderr, quiet=args.quiet)
    try:
        bar.show(0, len(jobs), "starting")
        with LocalProcesses(workers, is_first_use) as executor:
            for result in executor.results(check, jobs):
                if result.failure is not None:
                    raise FabricError(f"{result.key}: {result.failure.text}", "`fabric playbook run` shows more")
                found[result.key] = result.value
                bar.show(
                    len(found), len(folders), f"{len(found)} of {len(folders)} playbooks, last {result.value.name}"
                )
    finally:
        bar.close()
    return [found[str(folder)] for folder in folders]


def _tell(found: list[Checked], wall_s: float) -> None:
    from fabric.cli.terminal.tables import print_table  # noqa: PLC0415

    rows = [
        (
            visible(it.name),
            "bad input" if it.bad_input else "met" if it.met else "not met",
            "-" if it.bad_input else "none" if it.twin is None else "silent" if it.twin.silent else "not silent",
            it.root or "-",
            str(len(it.alerts)),
            f"{it.wall_s:.1f} s",
        )
        for it in found
    ]
    print_table("", ("playbook", "result", "twin", "first root", ">alerts", ">took"), rows)
    for it in found:
        for text in it.problems:
            print(f"{visible(it.name)}: {visible(text, lines=True)}")
    passed = sum(it.passed for it in found)
    print(f"{passed} of {len(found)} passed in {wall_s:.0f} s")


def _as_json(it: Checked) -> dict[str, object]:
    return {
        "name": it.name,
        "passed": it.passed,
        "met": it.met,
        "bad_input": it.bad_input,
        "twin": None if it.twin is None else "silent" if it.twin.silent else "not silent",
        "checked_steps": it.checks,
        "first_root": it.root or None,
        "alerts": list(it.alerts),
        "problems": list(it.problems),
        "wall_s": round(it.wall_s, 3),
    }
