"""Carry out every search of the package and write docs/study-results.md, with its pictures in docs/images.

--keep DIR keeps the folders of the studies, and continues them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.machine import conditions
from bench.study_results import page
from bench.study_results.carried_out import against_grid, searches
from bench.study_results.drawing import fronts, of_report
from fabric.errors import FabricError


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.study_results", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--keep", metavar="DIR", type=Path, help="folder of the studies; default: a temporary one")
    parser.add_argument(
        "--write", metavar="FILE", type=Path, help="write the page, its pictures into images/ beside it; default: print"
    )
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Carry out the studies and write the page; 2 where that is not possible."""
    args = arguments(given)
    try:
        if args.keep is not None:
            _report(args.keep, args.write)
        else:
            with tempfile.TemporaryDirectory(prefix="fabric-") as work:
                _report(Path(work), args.write)
    except FabricError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def _conditions(file: Path) -> dict[str, Any]:
    """The machine when the studies of the folder were begun."""
    if not file.exists():
        file.write_text(json.dumps(conditions()), encoding="utf-8")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _report(work: Path, out: Path | None) -> None:
    work.mkdir(parents=True, exist_ok=True)
    machine = _conditions(work / "conditions.json")
    found = searches(work)
    grid = against_grid(work, found[0])
    text = page.page(found, grid, machine)
    if out is None:
        print(text, end="")
        return
    images = out.parent / "images"
    images.mkdir(exist_ok=True)
    (images / page.FRONT_PICTURE).write_text(fronts(found[0], grid) + "\n", encoding="utf-8")
    (images / page.SURFACE_PICTURE).write_text(of_report(grid.result.report_html(), "surface") + "\n", encoding="utf-8")
    out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
