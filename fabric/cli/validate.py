"""``fabric validate CONFIGS...``: judge switch configurations before they are rolled out."""

from __future__ import annotations

import argparse
import logging
import sys
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric.cli.output import STDOUT, add_out, write_file
from fabric.errors import InputErrors, Problem

if TYPE_CHECKING:
    from fabric.configs.network import Network
    from fabric.configs.pgtable import HeadroomTables
    from fabric.validate.checks.base import Severity
    from fabric.validate.runner import Verdict
    from fabric.validate.suppress import Suppression

log = logging.getLogger(__name__)

EXIT_FINDING: Final = 1
_FORMATS: Final = ("text", "json", "sarif", "junit", "html", "markdown")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = ("examples:\n  fabric validate configs/ --hosts hosts.yml --format html -o verdict.html\n"
                     "  fabric validate new/ --baseline old/\n  fabric validate --explain E2")
    parser.add_argument("configs", nargs="*", type=Path, metavar="CONFIGS",
                        help="files, or folders of them, one per switch")
    parser.add_argument("--links", type=Path, metavar="FILE", help="links, containerlab or netlab file, or a "
                        "folder of LLDP dumps named SWITCH.json (default: the switches' neighbour tables, or "
                        "topology.* in the folder)")
    parser.add_argument("--hosts", type=Path, metavar="FILE",
                        help="hosts' RoCE settings, or a folder of mlnx_qos outputs (default: hosts.* in the folder)")
    parser.add_argument("--fib", type=Path, action="append", default=[], metavar="FILE|DIR", help="the switches' "
                        "forwarding tables as JSON (`ip -j route`, FRR or EOS `show ip route`), named SWITCH.json; "
                        "paths follow them (default: static routes, else shortest paths); repeatable")
    parser.add_argument("--pg-profile-lookup", action="append", default=[], metavar="[HWSKU=]FILE",
                        help="headroom table of the switches, or of one HWSKU; repeatable")
    parser.add_argument("--roce-dscp", type=_dscp, action="append", metavar="N",
                        help="DSCP of RoCE (default: the hosts', "
                        "else 26); repeatable")
    parser.add_argument("--cnp-dscp", type=_dscp, action="append", metavar="N",
                        help="DSCP of CNPs (default: the hosts', "
                        "else 48); repeatable")
    parser.add_argument("--max-oversubscription", type=_ratio, metavar="RATIO", help="error above this (default 3)")
    parser.add_argument("--baseline", type=Path, metavar="DIR",
                        help="the configurations as they are; report what is new")
    parser.add_argument("--suppress", type=Path, metavar="FILE",
                        help="accepted findings, each with a reason and a date")
    parser.add_argument("--only", metavar="IDS", help="only these checks or families, such as M1,E2 or M,L")
    parser.add_argument("--fail-on", choices=("error", "warn", "info", "never"), default="error",
                        help="exit code 1 from this severity on (default error)")
    parser.add_argument("--format", choices=_FORMATS, help="default text")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("--all", action="store_true",
                        help="text: notes, suppressed findings and everything not understood, too")
    add_out(parser, "FILE", "write there instead of standard output")
    parser.add_argument("--explain", metavar="ID", help="what one check tests, why, and where the rule is from")
    parser.add_argument("--list", action="store_true", help="every check; --format markdown with all its words")


def run(args: argparse.Namespace) -> int:
    """Explain, list, or judge."""
    style = _checked(args)
    if args.explain or args.list:
        _write(args.out, _catalogue(args.explain, style), style)
        return 0
    from fabric.configs.pgtable import HeadroomTables  # noqa: PLC0415  --list needs no parser

    tables = HeadroomTables.load(args.pg_profile_lookup)
    rules = _suppressions(args.suppress)
    only = _only(args.only)
    network = _network(args, args.configs, tables)
    from fabric.validate.runner import validate  # noqa: PLC0415

    verdict = validate(network, suppressions=rules, only=only)
    used = {rule for _, rule in verdict.suppressed}
    for rule in rules if only is None else ():
        if rule not in used:
            log.warning("suppression of %s hides nothing (%s): remove it, or correct its patterns", rule.check,
                        rule.place)
    if args.baseline:
        from fabric.validate.baseline import changes, compare  # noqa: PLC0415

        old = _network(args, [args.baseline], tables, fibs=False)
        old.fibs = {name: table for name, table in network.fibs.items() if name in old.devices}
        verdict = compare(validate(old, suppressions=rules, only=only), verdict, changes(old, network))
    limit = _limit(args.fail_on)
    _write(args.out, _rendered(verdict, style, limit, everything=args.all), style)
    return EXIT_FINDING if limit is not None and verdict.reaches(limit) else 0


def _checked(args: argparse.Namespace) -> str:
    """The format; every contradiction of the options together."""
    problems = []
    if args.json and args.format not in {None, "json"}:
        problems.append(Problem("--json", f"contradicts --format {args.format}", "give one of them"))
    style: str = "json" if args.json else args.format or "text"
    asked = bool(args.explain) + bool(args.list)
    if asked and args.configs:
        problems.append(Problem("CONFIGS", "are not read with --list or --explain", "leave them out"))
    if asked > 1:
        problems.append(Problem("--explain", "contradicts --list", "give one of them"))
    if not asked and not args.configs:
        problems.append(Problem("CONFIGS", "no configuration was given", "name files or a folder, one file per switch"))
    if asked and style not in {"text", "json", "markdown"}:
        problems.append(Problem("--format", f"{style} is for verdicts", "use text, json or markdown"))
    if args.explain and style == "markdown":
        problems.append(Problem("--format", "markdown is for --list", "use text or json"))
    if args.all and style != "text":
        problems.append(Problem("--all", f"has no effect on {style}, which has everything", "leave it out"))
    if problems:
        raise InputErrors("options", problems)
    return style


def _network(args: argparse.Namespace, configs: list[Path], tables: HeadroomTables, *, fibs: bool = True) -> Network:
    from fabric.configs.load import load_network  # noqa: PLC0415

    network = load_network(configs, links=args.links, hosts=args.hosts, fibs=args.fib if fibs else (),
                           tables=tables)
    if args.roce_dscp:
        network.roce_dscps = tuple(dict.fromkeys(args.roce_dscp))
    if args.cnp_dscp:
        network.cnp_dscps = tuple(dict.fromkeys(args.cnp_dscp))
    if args.max_oversubscription:
        network.max_oversubscription = args.max_oversubscription
    return network


def _suppressions(path: Path | None) -> list[Suppression]:
    if path is None:
        return []
    from fabric.configs.load import read_data  # noqa: PLC0415
    from fabric.validate.suppress import parse_suppressions  # noqa: PLC0415

    value, lines = read_data(path)
    valid, expired = parse_suppressions(value, lines, str(path), datetime.now(UTC).date())
    for rule in expired:
        log.warning("suppression of %s expired on %s (%s): its findings are reported", rule.check, rule.expires,
                    rule.place)
    return valid


def _only(text: str | None) -> set[str] | None:
    if text is None:
        return None
    from fabric.topology.select import nearest  # noqa: PLC0415
    from fabric.validate.checks.registry import CHECKS, FAMILIES  # noqa: PLC0415

    names = {name.upper(): name for name in CHECKS}
    families = {letter: [check.id for check in checks] for letter, _, checks in FAMILIES}
    words = [part.strip().upper() for part in text.split(",") if part.strip()]
    wanted = [id_ for word in words for id_ in families.get(word, [names.get(word, word)])]
    problems = [Problem("--only", f"'{word}' is no check and no family", nearest(word, [*names, *families]))
                for word in wanted if word not in CHECKS]
    if problems or not wanted:
        raise InputErrors("options", problems or [Problem("--only", "names no check", "such as M1,E2")])
    return set(wanted)


def _catalogue(explain: str | None, style: str) -> str:
    import json  # noqa: PLC0415

    from fabric.topology.select import nearest  # noqa: PLC0415
    from fabric.validate import render_text  # noqa: PLC0415
    from fabric.validate.checks.registry import CHECKS  # noqa: PLC0415

    if explain is not None:
        explain = next((name for name in CHECKS if name.upper() == explain.strip().upper()), explain)
    if explain is not None and explain not in CHECKS:
        raise InputErrors("options", [Problem("--explain", f"'{explain}' is no check", nearest(explain, list(CHECKS)))])
    if style == "json":
        rows = [{"id": it.id, "severity": it.severity.word, "title": it.title, "condition": it.condition,
                 "consequence": it.consequence, "remedy": it.remedy, "source": it.source} for it in CHECKS.values()]
        return json.dumps(rows if explain is None else next(row for row in rows if row["id"] == explain), indent=2,
                          ensure_ascii=False) + "\n"
    if explain is not None:
        return render_text.explain(CHECKS[explain])
    return render_text.catalogue_markdown() if style == "markdown" else render_text.catalogue()


def _limit(word: str) -> Severity | None:
    from fabric.validate.checks.base import Severity  # noqa: PLC0415

    return None if word == "never" else Severity[word.upper()]


def _rendered(verdict: Verdict, style: str, limit: Severity | None, *, everything: bool) -> str:
    from fabric.validate import render_data, render_page, render_text  # noqa: PLC0415
    from fabric.validate.checks.base import Severity  # noqa: PLC0415

    if style == "text":
        return render_text.render(verdict, everything=everything)
    if style == "json":
        return render_data.as_json(verdict)
    if style == "sarif":
        return render_data.as_sarif(verdict)
    if style == "junit":
        return render_data.as_junit(verdict, limit or Severity.ERROR)
    return render_page.as_html(verdict) if style == "html" else render_page.as_markdown(verdict)


def _write(path: Path | None, text: str, style: str) -> None:
    """Text in the terminal's encoding, other formats in UTF-8; what has no form there (arrows, odd names) escaped."""
    if path is not None and path != STDOUT:
        write_file(path, text)
        return
    if style != "text" and isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.stdout.write(text)


def _dscp(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 3 and int(text) < 64):
        raise argparse.ArgumentTypeError(f"{text!r} is no DSCP 0..63")
    return int(text)


def _ratio(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a ratio above 0, such as 3 for 3:1")
    return value
