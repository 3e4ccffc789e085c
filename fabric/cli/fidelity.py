"""``fabric fidelity``: run the comparisons with other simulators and theory, print every number, write the page."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.cli.options.output import add_out, problems_of_out, write_file
from fabric.errors import FabricError, InputErrors, Problem
from fabric.extras import check_installed
from fabric.name_patterns import fits_pattern
from fabric.units import count, format_per_s

if TYPE_CHECKING:  # the engine and its compiler are loaded when there is something to run
    from fabric.verify.fidelity.table import Finding, Outcome, Row

log = logging.getLogger(__name__)

_HEADER: Final = ("row", "quantity", "reference", "ours", "error", "tolerance", "verdict")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--reference",
        metavar="DIR",
        type=Path,
        help="recorded runs of the public HPCC simulator: a folder with cases/, results/ and ties.json",
    )
    parser.add_argument(
        "--case",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        dest="cases",
        help="only this recorded case, with its run in ../results if present; repeatable",
    )
    parser.add_argument(
        "--row",
        metavar="PATTERN",
        action="append",
        default=[],
        dest="patterns",
        help="only rows whose id matches, such as 'V*' or 'ns3/C_step/*'; repeatable",
    )
    parser.add_argument("--fast", action="store_true", help="leave out rows that take more than a few seconds")
    parser.add_argument(
        "--order",
        choices=("insertion", "source"),
        help="recorded cases without random decisions in this order of simultaneous events only; default both",
    )
    parser.add_argument("--list", action="store_true", help="print the rows without running them")
    parser.add_argument(
        "--draw-rates",
        metavar="FILE",
        type=Path,
        help="run no row; draw the rates of flows, recorded and ours, of every recorded case that has them: "
        "FILE.svg, FILE.png or FILE.pdf",
    )
    add_out(
        parser,
        "FILE",
        "write the page, such as docs/fidelity.md, with its figures beside it in images/",
        "--write",
        dest="write",
    )
    parser.add_argument(
        "--json", action="store_true", help="print an object; with --case it holds every flow's completion time"
    )


def run(args: argparse.Namespace) -> int:
    """0 if every finding agrees or is a known miss within its bounds, 1 if one is neither."""
    _check(args)
    if args.draw_rates is not None or args.write is not None:
        check_installed("matplotlib")
    if args.draw_rates is not None:
        from fabric.verify.fidelity import rate_figure  # noqa: PLC0415  the compiler takes its time to load

        drawn = rate_figure.write(args.draw_rates, args.reference)
        print(f"wrote {args.draw_rates}: {count(drawn, 'case')}", file=sys.stderr)
        return 0
    chosen = _chosen(args)
    if args.list:
        _print_rows(chosen, as_json=args.json)
        return 0
    from fabric.verify.fidelity.table import Outcome  # noqa: PLC0415

    families: dict[str, list[Outcome]] = {}
    for heading, rows in chosen.items():
        for row in rows:
            log.info("running a row", extra={"row": row.id})
            families.setdefault(heading, []).append(Outcome(row, row.run()))
    outcomes = [outcome for family in families.values() for outcome in family]
    simulated = [_simulated(file, order) for file in args.cases for order in _orders(args.order)] if args.cases else []
    if args.json:
        print(
            json.dumps(
                {
                    "rows": [_as_data(outcome) for outcome in outcomes],
                    "cases": simulated,
                    "known_misses": sum(it.passes and not it.agrees for outcome in outcomes for it in outcome.findings),
                    "misses": sum(not it.passes for outcome in outcomes for it in outcome.findings),
                },
                indent=2,
            )
        )
    else:
        _print_table(outcomes, sys.stdout)
        for item in simulated:
            print(
                f"{item['case']}, order {item['order']}: {len(item['fct_ns'])} of {item['flows']} flows complete, "
                f"mean FCT {item['mean_fct_ns']:.1f} ns, {sum(item['pauses'].values())} PAUSE frames, "
                f"{item['drops']} drops, {format_per_s(item['packet_hops_per_s'], 'packet-hops')}"
            )
        _print_verdict(outcomes)
    if args.write is not None:
        _write(args.write, families, args.reference)
    return int(any(not outcome.passes for outcome in outcomes))


def _check(args: argparse.Namespace) -> None:
    problems = []
    if args.reference is not None and not args.reference.is_dir():
        problems.append(
            Problem(
                "--reference", f"{args.reference} is not a folder", "give the folder that holds cases/ and results/"
            )
        )
    problems += [
        Problem("--case", f"{file} does not exist", "give a case file") for file in args.cases if not file.is_file()
    ]
    if args.cases and (args.reference is not None or args.write is not None):
        problems.append(
            Problem("--case", "runs single files; --reference and --write are for all of a folder", "leave one out")
        )
    if args.write is not None and (args.fast or args.patterns or args.order or args.list):
        problems.append(
            Problem(
                "--write", "the page shows every row; --fast, --row, --order and --list choose some", "leave one out"
            )
        )
    if args.write is not None and args.reference is None:
        problems.append(Problem("--write", "the page shows the recorded runs, too", "give --reference"))
    if args.draw_rates is not None:
        problems += _rates_problems(args)
    if problems:
        raise InputErrors("options", problems)


def _rates_problems(args: argparse.Namespace) -> list[Problem]:
    """Of --draw-rates."""
    option, others = "--draw-rates", ("cases", "patterns", "fast", "order", "list", "write", "json")
    problems = problems_of_out(args.draw_rates, (), (), option)
    if args.draw_rates.suffix.lower() not in {".svg", ".png", ".pdf"}:
        problems.append(Problem(option, f"{args.draw_rates} is no picture", "name FILE.svg, FILE.png or FILE.pdf"))
    if any(getattr(args, name) for name in others):
        problems.append(Problem(option, "runs no row, so that the other options have no effect", "leave them out"))
    if args.reference is None:
        problems.append(Problem(option, "draws recorded runs", "give --reference"))
    return problems


def _chosen(args: argparse.Namespace) -> dict[str, list[Row]]:
    """Rows by heading, as the options choose them."""
    from fabric.verify.fidelity import recorded  # noqa: PLC0415  the compiler takes its time to load
    from fabric.verify.fidelity.rows import all_rows  # noqa: PLC0415

    found: Mapping[str, Sequence[Row]]
    if args.cases:
        with_result = [file for file in args.cases if recorded.result_of(file).is_file()]
        for file in args.cases:
            if file not in with_result:
                print(
                    f"{file}: no recorded run at {recorded.result_of(file)}; simulated without comparison",
                    file=sys.stderr,
                )
        found = {"Cases": [row for file in with_result for row in recorded.case_rows(file)]}
    else:
        found = all_rows(args.reference)
        if args.reference is None:
            print("no --reference: recorded runs of the HPCC simulator are left out", file=sys.stderr)
    other = {"insertion": "/windows", "source": "/insertion", None: "\0"}[args.order]
    chosen = {
        heading: [
            row
            for row in rows
            if not row.id.endswith(other)
            and not (args.fast and row.slow)
            and (not args.patterns or any(fits_pattern(row.id, one) for it in args.patterns for one in (it, f"{it}/*")))
        ]
        for heading, rows in found.items()
    }
    if not args.cases and not any(chosen.values()):
        raise FabricError(
            f"no row matches {' '.join(args.patterns) or 'these options'}",
            "`fabric fidelity --list` names them; those of recorded runs need --reference",
        )
    return chosen


def _orders(order: str | None) -> Sequence[str]:
    return ("insertion", "source") if order is None else (order,)


def _simulated(file: Path, order: str) -> dict[str, Any]:
    """One case simulated once, as data."""
    from fabric.verify.fidelity.case import read_case  # noqa: PLC0415
    from fabric.verify.fidelity.simulating import simulate  # noqa: PLC0415

    case = read_case(file)
    result = simulate(case, "insertion" if order == "insertion" else "windows")
    return {
        "case": case.name,
        "order": order,
        "flows": len(case.flow_ids),
        "fct_ns": dict(result.fct_ns),
        "mean_fct_ns": sum(result.fct_ns.values()) / max(len(result.fct_ns), 1),
        "pauses": dict(result.pauses),
        "drops": result.drops,
        "marks": result.marks,
        "packet_hops": result.packet_hops,
        "wall_s": result.wall_s,
        "packet_hops_per_s": result.packet_hops / max(result.wall_s, 1e-9),
        "digest": result.digest,
    }


def _as_data(outcome: Outcome) -> dict[str, Any]:
    row = outcome.row
    return {
        "id": row.id,
        "title": row.title,
        "model": row.model,
        "tag": row.tag,
        "source": row.source,
        "agrees": outcome.agrees,
        "passes": outcome.passes,
        "known_miss": row.known_miss,
        "findings": [
            {
                "quantity": it.quantity,
                "reference": it.reference,
                "ours": it.ours,
                "low": it.low,
                "high": it.high,
                "tolerance": it.tolerance,
                "error_ratio": it.error_ratio,
                "agrees": it.agrees,
                "known": it.known,
                "verdict": it.verdict,
            }
            for it in outcome.findings
        ],
    }


def _print_rows(chosen: Mapping[str, Sequence[Row]], *, as_json: bool) -> None:
    rows = [row for family in chosen.values() for row in family]
    if as_json:
        print(
            json.dumps(
                {
                    "rows": [
                        {
                            "id": row.id,
                            "title": row.title,
                            "model": row.model,
                            "tag": row.tag,
                            "slow": row.slow,
                            "source": row.source,
                        }
                        for row in rows
                    ]
                },
                indent=2,
            )
        )
        return
    width = max((len(row.id) for row in rows), default=0)
    for row in rows:
        print(f"{row.id:<{width}}  {row.title}{'  (slow)' if row.slow else ''}")


def _print_table(outcomes: Sequence[Outcome], stream: Any) -> None:  # noqa: ANN401  a text stream
    from fabric.verify.fidelity.page import error_text, number, verdict_text  # noqa: PLC0415
    from fabric.verify.fidelity.table import Verdict  # noqa: PLC0415

    def cells(outcome: Outcome, it: Finding) -> tuple[str, ...]:
        return (
            outcome.row.id,
            it.quantity,
            number(it.reference),
            number(it.ours),
            error_text(it),
            it.tolerance,
            verdict_text(it) if it.verdict is Verdict.AGREES else verdict_text(it).upper(),
        )

    lines = [cells(outcome, it) for outcome in outcomes for it in outcome.findings]
    if not lines:
        return
    widths = [max(len(line[column]) for line in [_HEADER, *lines]) for column in range(len(_HEADER))]
    for line in [_HEADER, *lines]:
        print(
            "  ".join(
                f"{cell:>{width}}" if column in {2, 3, 4} else f"{cell:<{width}}"
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip(),
            file=stream,
        )


def _print_verdict(outcomes: Sequence[Outcome]) -> None:
    from fabric.verify.fidelity.table import Verdict  # noqa: PLC0415

    for outcome in outcomes:
        for verdict in (Verdict.KNOWN, Verdict.MISSES, Verdict.MOVED):
            many = sum(finding.verdict is verdict for finding in outcome.findings)
            if many:
                why = f": {outcome.row.known_miss}" if verdict is not Verdict.MISSES and outcome.row.known_miss else ""
                print(f"{verdict}: {outcome.row.id}, {many} of {len(outcome.findings)} numbers{why}")
    if outcomes:
        found = [finding.verdict for outcome in outcomes for finding in outcome.findings]
        new = sum(verdict in {Verdict.MISSES, Verdict.MOVED} for verdict in found)
        print(
            f"{sum(outcome.agrees for outcome in outcomes)} of {len(outcomes)} rows agree; of {len(found)} numbers "
            f"{found.count(Verdict.KNOWN)} are known misses within their bounds, {new} are new misses"
        )


def _write(file: Path, families: Mapping[str, Sequence[Outcome]], reference: Path) -> None:
    from fabric.verify.fidelity import figures, page  # noqa: PLC0415

    images = file.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    figures.write(images, reference)
    write_file(file, page.markdown(families))
    print(f"wrote {file}", file=sys.stderr)
