"""``fabric top [URL]``: a live run in the terminal: root causes, ports by pause ratio, queues, pause trees; keys."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabric.errors import InputErrors, Problem, UnitError
from fabric.units import PS_PER_S, parse_time_ps

if TYPE_CHECKING:  # loaded when there is something to show
    from collections.abc import Mapping, Sequence

    from telemetry.live.shown import Shown

_ROWS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = (
        "Watch a run of `fabric serve`: root causes so far, ports by the share of simulated time they are paused,\n"
        "queues by depth, pause trees with their root. Keys pause the run, change its speed, inject faults, sort and\n"
        "filter; `?` lists them."
    )
    parser.epilog = "examples:\n  fabric top\n  fabric top 127.0.0.1:9500 --once\n  fabric top --json | jq .incidents"
    parser.add_argument(
        "url",
        metavar="URL",
        nargs="?",
        default="127.0.0.1:9464",
        help="address of `fabric serve` (default 127.0.0.1:9464)",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        type=Path,
        help="a token of the API, of either role; by default $FABRIC_TOKEN, or the token file of a "
        "server on this machine",
    )
    parser.add_argument(
        "--tls-ca",
        metavar="FILE",
        type=Path,
        help="with an https URL: authorities for the server's certificate (PEM; default: those of the system)",
    )
    parser.add_argument(
        "--tls-cert",
        metavar="FILE",
        type=Path,
        help="with an https URL: client certificate (PEM), for a server with --tls-client-ca",
    )
    parser.add_argument("--tls-key", metavar="FILE", type=Path, help="its private key (PEM, not encrypted)")
    parser.add_argument("--interval", metavar="TIME", default="1s", help="time between two updates (default 1s)")
    parser.add_argument("--once", action="store_true", help="print the tables once, over one interval, and end")
    parser.add_argument("--json", action="store_true", help="as --once, as one JSON object with every row")


def run(args: argparse.Namespace) -> int:
    """Show once, or until the user quits."""
    interval_s = _checked(args)
    from telemetry.live.client import LiveClient, LiveError, base_url, find_token  # noqa: PLC0415

    url = base_url(args.url)
    tls = None
    if url.startswith("https:"):
        from telemetry.export.tls import client_context  # noqa: PLC0415

        tls = client_context(args.tls_ca, args.tls_cert, args.tls_key)
    client = LiveClient(url, find_token(url, args.token_file, os.environ, tls), tls)
    if args.once or args.json:
        client.get("view")  # the shares of the next one are of the time in between
        time.sleep(interval_s)
        view, roots = client.get("view", rows=1000), client.get("roots")
        if args.json:
            print(json.dumps({**view, "root_causes": roots}, indent=2))
        else:
            try:
                _print(view, roots)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise LiveError(
                    f"{client.url} answers like another version", "use the same version on both sides"
                ) from error
        return 0
    client.get("status")  # errors are reported before the screen is drawn
    from telemetry.live.screen import Top  # noqa: PLC0415  textual takes its time to load

    Top(client, interval_s).run()
    return 0


def _checked(args: argparse.Namespace) -> float:
    """--interval in seconds; every problem of the options together."""
    problems = []
    interval_s = 0.0
    try:
        interval_s = parse_time_ps(args.interval) / PS_PER_S
    except UnitError as error:
        problems.append(Problem("--interval", error.text, error.hint))
    else:
        if not 0.1 <= interval_s <= 3600:
            problems.append(Problem("--interval", f"{args.interval} is out of range", "give 100ms to 1h"))
    given = [f"--{name.replace('_', '-')}" for name in ("tls_ca", "tls_cert", "tls_key") if getattr(args, name)]
    if not args.url.startswith("https://"):
        problems += [Problem(option, "has no effect without TLS", "write the URL with https://") for option in given]
    elif (args.tls_cert is None) is not (args.tls_key is None):
        problems.append(Problem("--tls-cert", "goes together with --tls-key", "give both"))
    if not (args.once or args.json) and not (sys.stdin.isatty() and sys.stdout.isatty()):
        problems.append(Problem("fabric top", "needs a terminal", "add --once or --json where there is none"))
    if problems:
        raise InputErrors("options", problems)
    return interval_s


def _print(view: Mapping[str, Any], roots: Mapping[str, Any]) -> None:
    from fabric.render.fitting import fit, note  # noqa: PLC0415
    from fabric.render.folding import folded  # noqa: PLC0415
    from fabric.render.text import console_for  # noqa: PLC0415
    from telemetry.live import shown  # noqa: PLC0415

    console = console_for(sys.stdout)

    def say(text: str) -> None:
        sys.stdout.write(folded(text, console.width, prose=True) if sys.stdout.isatty() else f"{text}\n")

    say(shown.status_text(view["status"]))
    say(shown.roots_text(roots))
    for root in roots["roots"]:
        say(f"  {shown.root_text(root)}")
    print(f"shares are of the last {shown.time_text(view['window_seconds'])} of simulated time")
    for rows, columns, by in (
        (view["ports"], shown.PORTS, shown.PORTS_BY),
        (view["queues"], shown.QUEUES, shown.QUEUES_BY),
    ):
        table = _table(rows, columns, by)
        left_out = fit(table, console.width, {columns[by].title})
        console.print()
        console.print(table)
        if left_out:
            console.print(note(left_out, "widen the terminal, or --json"))
    for incident in view["incidents"]:
        print()
        say(shown.incident_text(incident))
        for line in shown.tree_lines(incident):
            print(f"  {line}")


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[Shown], by: int) -> Any:  # noqa: ANN401  rich's Table
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from telemetry.live.shown import ordered  # noqa: PLC0415

    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        caption=f"{_ROWS} of {len(rows)} rows" if len(rows) > _ROWS else None,
        caption_justify="left",
    )
    for column in columns:
        table.add_column(column.title, justify="right" if column.number else "left", no_wrap=True)
    for row in ordered(rows, columns, by)[:_ROWS]:
        table.add_row(*(column.text(row) for column in columns))
    return table
