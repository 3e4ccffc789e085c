"""`python -m bench`: measure, print tables, optionally draw them and put them into docs/performance.md."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench import page, plots
from bench.cases import permutation
from bench.machine import conditions, yardstick_steps_per_s
from bench.sections import SECTIONS
from bench.simulate import simulate
from fabric.dataplane.state.compiled.jit import is_compiled
from fabric.errors import FabricError, InputErrors, Problem
from fabric.extras import check_installed


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    listing = "\n".join(f"  {name:8} {section.about}" for name, section in SECTIONS.items())
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        choices=tuple(SECTIONS),
        default=[],
        help=f"measure only this; repeatable. One of:\n{listing}",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="an eighth of the work, once, and no cold start: seconds instead of minutes",
    )
    parser.add_argument("--plots", metavar="DIR", type=Path, help="draw SVGs into this folder")
    parser.add_argument("--write", metavar="FILE", type=Path, help="put the tables between this Markdown file's marks")
    parser.add_argument("--json", action="store_true", help="print results as JSON instead of tables")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Measure the chosen sections; 2 if that is not possible."""
    args = arguments(given)
    if args.plots:
        check_installed("matplotlib")
    names = [name for name in SECTIONS if name in (args.only or SECTIONS)]
    try:
        _check(args, names)
        _report(args, names)
    except FabricError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def _check(args: argparse.Namespace, names: list[str]) -> None:
    """Check the options, all problems together, and then the page, before minutes of measuring."""
    problems = []
    if not is_compiled():
        problems.append(Problem("NUMBA_DISABLE_JIT", "the measurements need compiled kernels", "unset it"))
    if args.write and args.quick:
        problems.append(Problem("--write", "needs full measurements", "leave out --quick"))
    if problems:
        raise InputErrors("options", problems)
    if args.write:
        page.check(args.write, names)


def _report(args: argparse.Namespace, names: list[str]) -> None:
    about = conditions()
    print(f"measuring {', '.join(names)}; kernels are compiled first if they are not", file=sys.stderr)
    simulate(permutation(16, "10KB", "warm-up"))
    steps = yardstick_steps_per_s()
    found: dict[str, Any] = {}
    for name in names:
        print(f"  {name}: {SECTIONS[name].about}", file=sys.stderr, flush=True)
        found[name] = SECTIONS[name].run(args.quick)
    made = page.tables(found)
    if args.json:
        print(
            json.dumps(
                {"conditions": about, "yardstick_steps_per_s": steps, "quick": args.quick, "results": found}, indent=2
            )
        )
    else:
        print(page.conditions_line(about, steps), end="\n\n")
        print("\n".join(table.text() for table in made.values()))
    for path in plots.draw(found, args.plots) if args.plots else []:
        print(f"  {path}", file=sys.stderr)
    if args.write:
        page.write(args.write, page.parts(made, page.conditions_line(about, steps), whole=len(names) == len(SECTIONS)))


if __name__ == "__main__":
    sys.exit(main())
