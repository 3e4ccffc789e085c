"""make mutants: small changes of the code, one at a time, and whether the tests notice.

python -m tests.mutation [PACKAGE ...] [--sample N] [--seed N] [--added TESTS] [--write docs/mutation.md]

Verdicts are kept in .mutation/; a run that was ended goes on there. --fresh forgets them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    """Run, print the report, and write it with --write."""
    # Before anything imports Numba: kernels run as plain Python, so that a mutant needs no compilation.
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        os.execve(  # noqa: S606
            sys.executable,
            [sys.executable, "-m", "tests.mutation", *sys.argv[1:]],
            {**os.environ, "NUMBA_DISABLE_JIT": "1"},
        )
    import pytest

    from tests.mutation.packages import PACKAGES, TESTS
    from tests.mutation.report import report
    from tests.mutation.runner import Mutation

    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Mutation test of chosen packages.")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"of {', '.join(PACKAGES)}; default: all")
    parser.add_argument("--sample", type=int, default=60, metavar="N", help="mutants of each package; 0: all")
    parser.add_argument("--seed", type=int, default=17, help="which mutants a sample takes")
    parser.add_argument(
        "--added",
        action="append",
        default=[],
        metavar="TESTS",
        help="judge by the other tests first, and say what these add",
    )
    parser.add_argument("--only", default="", metavar="OPERATOR", help="mutants of one operator: bound, constant, ...")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the report as Markdown")
    parser.add_argument("--fresh", action="store_true", help="forget earlier verdicts")
    args = parser.parse_args()
    unknown = sorted(set(args.packages) - set(PACKAGES))
    if unknown:
        parser.error(f"no package {', '.join(unknown)}; there are {', '.join(PACKAGES)}")
    os.nice(10)
    os.chdir(ROOT)
    folder = ROOT / ".mutation"
    if args.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    wanted = dict.fromkeys(args.packages or PACKAGES, args.sample or 10**9)
    mutation = Mutation(ROOT, folder, wanted, args.seed, args.added, args.only)
    status = pytest.main(["-q", "-p", "no:cacheprovider", "-m", "not slow", *TESTS], plugins=[mutation])
    if int(status) not in {0, 5} or not mutation.results:
        print(
            "the run did not end: see above; tests that cannot be collected fail with NUMBA_DISABLE_JIT=1, too",
            file=sys.stderr,
        )
        return int(status) or 1
    text = report(mutation.results, args.seed, args.added)
    if args.write is not None:
        args.write.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
