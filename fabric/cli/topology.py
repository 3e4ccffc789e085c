"""`fabric topology show | check | export`: inspect a fabric without a run.

The fabric comes from a scenario (only its `topology:` is read), a file with such a mapping, a GraphML, node-link JSON
or containerlab file, or from the command line alone: --kind leaf-spine --set leaves=4 ...
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from fabric import shipped
from fabric.cli.options.output import STDOUT, add_out, write_out
from fabric.cli.options.ratio import ratio
from fabric.cli.options.sets import add_sets
from fabric.errors import InputErrors, Problem
from fabric.extras import check_installed
from fabric.render.console import PlainConsole
from fabric.scenario.load import apply_overrides
from fabric.scenario.yaml_input import read_yaml
from fabric.topology.analysis import Analysis, analyse
from fabric.topology.draw import draw
from fabric.topology.formats.export import WRITERS
from fabric.topology.lint import Finding, findings
from fabric.topology.model import Fabric, Role
from fabric.topology.registry import SPECS, build_topology, parse_topology
from fabric.units import format_rate_bps, format_time_ps
from fabric.visible import visible

EXIT_FINDING: Final = 1
_EXAMPLE: Final = (
    "fabric topology show --kind leaf-spine --set leaves=4 --set spines=2 --set hosts_per_leaf=16 "
    "--set host_rate=100G --set fabric_rate=400G"
)
_NARROWEST: Final = 120
"""Columns of the widest table with room for long names; the width where standard output is a pipe."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the actions and their options."""
    parser.epilog = f"example:\n  {_EXAMPLE}"
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="parts, capacity, distances; --draw makes a picture")
    check = actions.add_parser("check", help="weaknesses; exit code 1 if there are any")
    export = actions.add_parser("export", help="write a file for another tool")
    for action in (show, check, export):
        action.add_argument(
            "file",
            nargs="?",
            type=Path,
            metavar="FILE",
            help="scenario, topology mapping, GraphML, node-link JSON or containerlab file",
        )
        action.add_argument("--kind", choices=tuple(SPECS), help="build one from --set alone, instead of FILE")
        add_sets(action, "override a field: --set leaves=8, --set topology.host_rate=25G; may be repeated")
        action.add_argument("--json", action="store_true", help="print JSON")
    show.add_argument("--draw", type=Path, metavar="FILE", help="write a picture too: FILE.svg, FILE.png or FILE.pdf")
    check.add_argument(
        "--max-oversubscription",
        type=ratio,
        default=1.0,
        metavar="RATIO",
        help="warn above this ratio (default 1: non-blocking)",
    )
    check.add_argument("--strict", action="store_true", help="notes count as findings too")
    export.add_argument("--format", required=True, choices=tuple(WRITERS), help="what to write")
    add_out(export, "FILE", "file to write (default: standard output)")


def run(args: Namespace) -> int:
    """Load the fabric, then show, check or export it."""
    if args.action == "show" and args.draw is not None:
        check_installed("matplotlib")
    fabric = _load(args.file, args.kind, args.sets)
    if args.action == "show":
        return _show(args, fabric)
    if args.action == "check":
        return _check(args, fabric)
    return _export(args, fabric)


def _load(file: Path | None, kind: str | None, sets: Sequence[str]) -> Fabric:
    if (file is None) == (kind is None):
        text = "neither a file nor --kind is given" if file is None else "a file and --kind are both given"
        raise InputErrors("command line", [Problem("fabric topology", text, f"such as: {_EXAMPLE}")])
    raw: dict[str, Any] = {"topology": {"kind": kind}}
    where, base_dir = "--set", Path()
    if file is not None:
        file = shipped.scenario(file)
        where, base_dir = str(file), file.parent
        raw = _raw(file)
    full = [item if item.startswith("topology.") else f"topology.{item}" for item in sets]
    tree = apply_overrides(raw, full)
    return build_topology(parse_topology(tree["topology"], f"{where}: topology"), base_dir)


def _raw(file: Path) -> dict[str, Any]:
    """The `topology` mapping of a file of any supported kind."""
    if file.suffix.lower() in {".graphml", ".json"}:
        return {"topology": {"kind": "custom", "file": file.name}}
    document = read_yaml(file)
    inner = document.get("topology")
    if isinstance(inner, dict) and "kind" not in inner and isinstance(inner.get("nodes"), dict):
        return {"topology": {"kind": "custom", "file": file.name, "format": "containerlab"}}
    if inner is not None:
        return {"topology": inner}
    if "kind" in document:
        return {"topology": document}
    raise InputErrors(
        "command line",
        [
            Problem(
                str(file), "holds no topology", "give a file with `topology:`, or a mapping that begins with `kind:`"
            )
        ],
    )


def _show(args: Namespace, fabric: Fabric) -> int:
    analysis = analyse(fabric)
    if args.draw is not None:
        draw(fabric, args.draw)
    if args.json:
        print(json.dumps(_as_json(fabric, analysis), indent=1))
    else:
        _print_tables(fabric, analysis)
    return 0


def _check(args: Namespace, fabric: Fabric) -> int:
    found = findings(fabric, analyse(fabric), args.max_oversubscription)
    counted = [finding for finding in found if args.strict or finding.severity == "warning"]
    if args.json:
        print(
            json.dumps({"name": fabric.name, "ok": not counted, "findings": [asdict(item) for item in found]}, indent=1)
        )
    else:
        for finding in found:
            print(_line(finding))
        notes = len(found) - len(counted)
        print(f"{fabric.name}: {_count(len(counted), 'finding')}" + (f", {_count(notes, 'note')}" if notes else ""))
    return EXIT_FINDING if counted else 0


def _line(finding: Finding) -> str:
    head = visible(f"{finding.severity}: {finding.place}: {finding.text} [{finding.rule}]")
    return f"{head}\n    hint: {visible(finding.hint)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _export(args: Namespace, fabric: Fabric) -> int:
    text = WRITERS[args.format](fabric)
    if args.json and args.out in {None, STDOUT}:
        print(json.dumps({"format": args.format, "content": text}))
    elif write_out(args.out, text) and args.json:
        print(json.dumps({"format": args.format, "file": str(args.out), "bytes": len(text.encode())}))
    return 0


def _link_rows(fabric: Fabric) -> list[tuple[str, int, int, int, int]]:
    """(ends, rate_bps, delay_ps, length_mm, cables), most frequent last tier first."""
    rows: Counter[tuple[str, int, int, int]] = Counter()
    for link in fabric.links:
        low, high = sorted((fabric.node_of(link.a), fabric.node_of(link.b)), key=lambda node: (node.tier, node.role))
        rows[f"{low.role} - {high.role}", link.rate_bps, link.delay_ps, link.length_mm] += 1
    return [(*key, count) for key, count in rows.items()]


def _as_json(fabric: Fabric, analysis: Analysis) -> dict[str, Any]:
    roles = Counter(node.role.value for node in fabric.nodes)
    links = [
        {"ends": ends, "rate_bps": rate, "delay_ps": delay, "length_mm": length, "cables": count}
        for ends, rate, delay, length, count in _link_rows(fabric)
    ]
    return {"name": fabric.name, "nodes": dict(roles), "ports": len(fabric.ports), "links": links} | asdict(analysis)


def _print_tables(fabric: Fabric, analysis: Analysis) -> None:
    console = PlainConsole(sys.stdout)
    console.width = max(console.width, _NARROWEST)
    roles = Counter(node.role.value for node in fabric.nodes)
    named = {Role.SCALE_UP.value: "scale-up switch"}
    parts = ", ".join(
        f"{count} {named.get(role, role)}{'' if count == 1 else 'es' if role.endswith(('h', 'scale-up')) else 's'}"
        for role, count in roles.items()
    ).replace("leafs", "leaves")
    console.print(Text.assemble((fabric.name, "bold"), f": {parts}, {len(fabric.links)} cables"), soft_wrap=True)

    table = _table("Cables", "between", ">number", ">rate", ">delay", ">length")
    for ends, rate, delay, length, count in _link_rows(fabric):
        table.add_row(
            ends, str(count), format_rate_bps(rate), format_time_ps(delay), f"{length / 1000:g} m" if length else "-"
        )
    console.print(table)

    if analysis.servers:
        table = _table("Servers", "first switch", ">number", ">GPUs each", ">rate of a GPU", ">latency")
        for it in analysis.servers:
            table.add_row(
                it.first, str(it.count), str(it.gpus), format_rate_bps(it.rate_bps), format_time_ps(it.latency_ps)
            )
        console.print(table)

    if analysis.tiers:
        table = _table(
            "Oversubscription, worst switch of each tier",
            "tier",
            ">switches",
            ">down",
            ">up",
            ">ratio",
            ">one cable lost",
            ">one switch lost",
            "worst",
        )
        for tier in analysis.tiers:
            table.add_row(
                tier.name,
                str(tier.n_switches),
                format_rate_bps(tier.down_bps),
                format_rate_bps(tier.up_bps),
                f"{tier.ratio:.3g}:1",
                _ratio_text(tier.ratio_link_lost),
                _ratio_text(tier.ratio_switch_lost),
                tier.worst,
            )
        console.print(table)

    if analysis.pairs:
        table = _table("Host pairs by distance", ">hops", ">ordered pairs", ">equal-cost paths")
        for pair in analysis.pairs:
            ways = str(pair.min_paths) if pair.min_paths == pair.max_paths else f"{pair.min_paths} - {pair.max_paths}"
            table.add_row(str(pair.hops), f"{pair.n_pairs:,}", ways)
        console.print(table)

    console.print(f"diameter    {_count(analysis.diameter_hops, 'hop')}")
    if analysis.bisection is not None:
        bound = "" if analysis.bisection.exact else "at most "
        console.print(
            f"bisection   {bound}{format_rate_bps(analysis.bisection.rate_bps)} each way, "
            f"{analysis.bisection.per_host_ratio:.3g} of what half of the hosts can send",
            soft_wrap=True,
        )
    own = sum(point.own_hosts_only for point in analysis.failure_points)
    points = [point.what for point in analysis.failure_points if not point.own_hosts_only]
    shown = ", ".join(points[:8]) + (f" and {len(points) - 8} more" if len(points) > 8 else "")
    console.print(
        f"failure points  {shown or 'none'}" + (f"; {own} switches with single-homed hosts" if own else ""),
        soft_wrap=True,
    )


def _ratio_text(ratio: float | None) -> str:
    return "no uplink" if ratio is None else f"{ratio:.3g}:1"


def _table(title: str, *columns: str) -> Table:
    """A plain table; columns that begin with '>' are numbers, right-aligned."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, title_style="bold", header_style="dim")
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", no_wrap=True)
    return table
