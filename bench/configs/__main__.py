"""`python -m bench.configs`: measure `fabric validate`; make the mutants for another tool, and score its SARIF."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

from bench.configs.make import DEFAULT_MUTANTS, export, read_answers
from bench.configs.measure import Measured, measured, prepare, read_results, worker
from bench.configs.page import page, table
from bench.configs.plan import SHAPES
from bench.configs.sarif import Scored, scored
from fabric.errors import FabricError
from fabric.reading import json_value, read_text
from tests.mistakes.mistake import LANGUAGES

MIB = 2**20


def main(arguments: list[str] | None = None) -> int:
    """Do what the options say."""
    parser = argparse.ArgumentParser(prog="python -m bench.configs", description=__doc__)
    parser.add_argument(
        "--switches", default="10,100", help="of 10, 100, 1000, 10000 (default 10,100); '' with --results: none"
    )
    parser.add_argument("--languages", default=",".join(LANGUAGES), help="default: all four")
    parser.add_argument("--mutants", type=int, help="of each language and size (default 40, 12, 3, 1)")
    parser.add_argument("--write", metavar="FILE", type=Path, help="write docs/benchmark.md")
    parser.add_argument("--results", metavar="FILE", type=Path, help="keep rows as JSON, beside those of earlier calls")
    parser.add_argument("--make", metavar="DIR", type=Path, help="write mutants and answers, for another tool")
    parser.add_argument("--score", metavar="DIR", type=Path, help="score the logs of another tool on these mutants")
    parser.add_argument("--logs", metavar="DIR", type=Path, help="with --score: folder of <mutant>.sarif")
    parser.add_argument("--prepare", nargs=4, metavar=("DIR", "LANGUAGE", "SIZE", "COUNT"), help=argparse.SUPPRESS)
    parser.add_argument("--worker", type=Path, metavar="DIR", help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.prepare:
        folder, language, size, count = args.prepare
        prepare(Path(folder), language, int(size), int(count))
        return 0
    if args.worker is not None:
        print(worker(args.worker))
        return 0
    if args.score is not None:
        if args.logs is None:
            parser.error("--score needs --logs DIR")
        print(table(score(args.score, args.logs)), end="")
        return 0
    sizes = [int(it) for it in args.switches.split(",") if it.isdecimal() and int(it) in SHAPES]
    languages = [it for it in args.languages.split(",") if it in LANGUAGES]
    if not languages or not (sizes or (args.results and not args.switches)):
        parser.error(f"--switches are of {', '.join(map(str, SHAPES))}, --languages of {', '.join(LANGUAGES)}")
    pairs = [(language, size, args.mutants or DEFAULT_MUTANTS[size]) for size in sizes for language in languages]
    if args.make is not None:
        made = [len(export(args.make, *pair)) for pair in pairs]
        print(f"{args.make}: {sum(made)} mutants of {len(pairs)} fabrics, and {args.make / 'answers.json'}")
        return 0
    kept = {} if args.results is None else {(it.language, it.switches): it for it in read_results(args.results)}
    for pair in pairs:
        one = kept[pair[:2]] = measured(*pair)
        print(f"{pair[0]} {pair[1]}: {len(one.rows)} mutants", file=sys.stderr)
        if args.results is not None:
            args.results.write_text(json.dumps([asdict(it) for it in kept.values()], indent=1) + "\n", encoding="utf-8")
    found = list(kept.values())
    if args.write is not None:
        args.write.write_text(page(found), encoding="utf-8")
    print(table(found), end="")
    return 0


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
        value = json_value(read_text(path, 512 * MIB))
    except ValueError as error:
        raise FabricError(f"{path} is no JSON: {error}", "give SARIF 2.1.0") from error
    return value if isinstance(value, dict) else {}


if __name__ == "__main__":
    sys.exit(main())
