"""The options of `python -m bench.configs`: every unknown or wrong value is an error (exit code 2)."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.configs.estimate import Pair
from bench.configs.make import ANSWERS, default_mutants
from bench.configs.plan import LARGEST, SMALLEST
from tests.mistakes.mistake import LANGUAGES

_SWITCHES: Final = f"numbers from {SMALLEST} to {LARGEST:,} (default 10,100); '' with --results: measure none"


@dataclass(frozen=True, slots=True)
class Options:
    """What a call is to do."""

    pairs: tuple[Pair, ...]
    """To measure or to make, in their order."""
    results: Path | None
    resume: bool
    estimate: bool
    write: Path | None
    make: Path | None
    score: tuple[Path, Path] | None
    """(mutants, logs)."""
    folder: Path
    """Files of a measurement are written below it."""
    quiet: bool


def parse(arguments: list[str] | None) -> Options:
    """The options. Raises: SystemExit with code 2, after one message."""
    parser = argparse.ArgumentParser(prog="python -m bench.configs", description=(__doc__ or "").partition(":")[0])
    add = parser.add_argument
    add("--switches", type=_sizes, default=(10, 100), metavar="N,N", help=_SWITCHES)
    add("--languages", type=_languages, default=tuple(LANGUAGES), metavar="L,L", help=f"of {', '.join(LANGUAGES)}")
    add("--mutants", type=_count, help="of each language and size (default 40, 12, 3, 2, 1: fewer for larger ones)")
    add("--write", metavar="FILE", type=Path, help="write docs/benchmark.md")
    add("--results", metavar="FILE", type=Path, help="keep rows as JSON, beside those of earlier calls, after each one")
    add("--resume", action="store_true", help="leave out what --results has with as many mutants asked for")
    add("--estimate", action="store_true", help="time, memory and disk space, and whether it would start")
    add("--quiet", action="store_true", help="no line of progress")
    add("--make", metavar="DIR", type=Path, help="write mutants and answers, for another tool")
    add("--score", metavar="DIR", type=Path, help="score the logs of another tool on these mutants")
    add("--logs", metavar="DIR", type=Path, help="with --score: folder of <mutant>.sarif")
    args = parser.parse_args(arguments)
    for wrong in _contradictions(args):
        parser.error(wrong)
    return Options(
        pairs=tuple(
            Pair(language, size, args.mutants or default_mutants(size))
            for size in args.switches
            for language in args.languages
        ),
        results=args.results,
        resume=args.resume,
        estimate=args.estimate,
        write=args.write,
        make=args.make,
        score=None if args.score is None else (args.score, args.logs),
        folder=Path(tempfile.gettempdir()),
        quiet=args.quiet,
    )


def _contradictions(args: argparse.Namespace) -> list[str]:
    measures = args.make is None and args.score is None
    found = [
        f"--{name} is of a measurement, and --make and --score measure nothing"
        for name in ("results", "resume", "estimate", "write")
        if not measures and getattr(args, name)
    ]
    if args.make is not None and args.score is not None:
        found.append("--make contradicts --score: give one of them")
    if (args.score is None) != (args.logs is None):
        found.append("--score and --logs need each other: give both")
    if args.score is not None and not (args.score / ANSWERS).is_file():
        found.append(f"--score {args.score}: it has no {ANSWERS}; write it with --make")
    if args.logs is not None and not args.logs.is_dir():
        found.append(f"--logs {args.logs}: it is no folder")
    if args.resume and args.results is None:
        found.append("--resume needs --results FILE, which has the rows")
    if not args.switches and (args.results is None or not measures):
        found.append(f"--switches '' measures nothing: give numbers of {SMALLEST} to {LARGEST:,}")
    for name in ("results", "write"):
        path = getattr(args, name)
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            found.append(f"--{name} {path}: it has to be a file in a folder that exists")
    return found


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(_size(it) for it in text.split(","))) if text else ()


def _size(text: str) -> int:
    word = text.strip()
    if not (word.isascii() and word.isdecimal()) or not SMALLEST <= int(word) <= LARGEST:
        raise argparse.ArgumentTypeError(f"'{word}': give numbers of switches from {SMALLEST} to {LARGEST:,}")
    return int(word)


def _languages(text: str) -> tuple[str, ...]:
    words = [it.strip() for it in text.split(",")]
    for word in words:
        if word not in LANGUAGES:
            raise argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(LANGUAGES)}")
    return tuple(dict.fromkeys(words))


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of mutants: give 1 or more")
    return int(text)
