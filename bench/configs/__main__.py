"""`python -m bench.configs`: measure `fabric validate`; make the mutants for another tool, and score its SARIF."""

from __future__ import annotations

import signal
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.configs.estimate import Pair, bill, text
from bench.configs.kept import MOST_BYTES, SHIPPED, Kept, read_rows, write_page
from bench.configs.make import ANSWERS, export, read_answers
from bench.configs.measure import Measured, measured
from bench.configs.options import Options, parse
from bench.configs.page import page, table
from bench.configs.progress import Progress
from bench.configs.sarif import Scored, scored
from fabric.cli.terminal.bar import Bar
from fabric.errors import FabricError, InputErrors
from fabric.reading import json_value, read_text

EXIT_BAD_INPUT, EXIT_INTERRUPTED = 2, 130


def main(arguments: list[str] | None = None) -> int:
    """Do what the options say. Returns: the exit code."""
    options = parse(arguments)
    try:
        return _run(options)
    except FabricError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _run(options: Options) -> int:
    if options.score is not None:
        print(table(score(*options.score)), end="")
        return 0
    if options.make is not None:
        made = [len(export(options.make, it.language, it.switches, it.mutants)) for it in options.pairs]
        print(f"{options.make}: {sum(made)} mutants of {len(made)} fabrics, and {options.make / ANSWERS}")
        return 0
    return _measure(options)


def _measure(options: Options) -> int:
    kept = Kept.read(options.results)
    left = [it for it in options.pairs if not (options.resume and kept.has(it))]
    found = bill(left, [*kept.rows, *read_rows(SHIPPED)], options.folder)
    problems = found.problems()
    if options.estimate:
        print(text(found), *problems, "it would be refused" if problems else "it would start", sep="\n")
        return int(bool(problems))
    if problems:
        raise InputErrors("the measurement does not fit on this machine", problems)
    bar = Bar(sys.stderr, quiet=options.quiet)
    try:
        _run_all(left, kept, Progress(bar, found.costs))
    except KeyboardInterrupt:
        bar.close()  # before the line below
        if options.results is not None:
            again = "the same command with --resume measures the rest"
            print(f"{options.results} has the finished rows; {again}", file=sys.stderr)
        raise
    finally:
        bar.close()
    if options.write is not None:
        write_page(options.write, page(kept.rows))
    print(table(kept.rows), end="")
    return 0


def _run_all(pairs: Sequence[Pair], kept: Kept, progress: Progress) -> None:
    for pair in pairs:
        row = measured(pair.language, pair.switches, pair.mutants, partial(progress.tick, pair))
        kept.add(row)
        missing = f" of {pair.mutants} that were asked for" if len(row.rows) < pair.mutants else ""
        progress.end(f"{pair.language} {pair.switches:,}: {len(row.rows)} mutants{missing}")


def score(mutants: Path, logs: Path) -> list[Measured]:
    """Scores of another tool's logs; a mutant without a log is missed."""
    groups: dict[tuple[str, int], list[Scored]] = defaultdict(list)
    for answer in read_answers(mutants):
        log = _log(logs / f"{answer.id}.sarif")
        healthy = _log(logs / f"{answer.language}-{answer.switches}-working.sarif")
        missed = Scored(answer, found=False, first=False, right=0, new=0)
        groups[answer.language, answer.switches].append(missed if log is None else scored(answer, log, healthy))
    return [Measured(*key, tuple(rows), 0, 0.0, 0.0) for key, rows in groups.items()]


def _log(path: Path) -> dict[str, object] | None:
    if not path.is_file():
        return None
    try:
        value = json_value(read_text(path, MOST_BYTES))
    except ValueError as error:
        raise FabricError(f"{path} is no JSON: {error}", "give SARIF 2.1.0") from error
    return value if isinstance(value, dict) else {}


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended by a scheduler: as by Ctrl-C
    sys.exit(main())
