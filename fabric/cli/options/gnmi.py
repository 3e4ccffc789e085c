"""The option --gnmi of `fabric serve`: a gNMI server beside the HTTP interface, with the same TLS files."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from fabric.cli.options.http import access_of
from fabric.errors import Problem
from fabric.extras import install_command, lacking

if TYPE_CHECKING:  # loaded when there is something to serve
    from collections.abc import Iterable

    from telemetry.catalogue.derive import RunInfo
    from telemetry.live.gnmi_reader import GnmiReader
    from telemetry.live.polled import Seen
    from telemetry.live.simulation import Observer, Simulation
    from telemetry.live.truth import Truth

DEFAULT_GNMI: Final = "127.0.0.1:9339"
"""9339 is IANA's port for gNMI (service gnmi-gnoi)."""
_NEEDED: Final = ("grpc", "pygnmi")


def add_gnmi(parser: argparse.ArgumentParser) -> None:
    """Declare it."""
    parser.add_argument(
        "--gnmi",
        metavar="ADDRESS:PORT",
        nargs="?",
        const=DEFAULT_GNMI,
        help="also answer gNMI (Capabilities, Get, Subscribe) for the switches: OpenConfig and SONiC's "
        f"COUNTERS_DB (docs/howto/gnmi.md); default address {DEFAULT_GNMI}. Needs the extra 'gnmi'; "
        "--tls-cert, --tls-key and --tls-client-ca apply to it too",
    )


def gnmi_problems(args: argparse.Namespace) -> list[Problem]:
    """Problems of the option."""
    if args.gnmi is None:
        return []
    from telemetry.export.server import ListenError, parse_listen  # noqa: PLC0415  it brings prometheus_client

    problems = []
    if lacking(*_NEEDED):
        problems.append(Problem("--gnmi", "grpcio and pygnmi are not installed", f"run: {install_command(*_NEEDED)}"))
    try:
        gnmi, listen = parse_listen(args.gnmi), parse_listen(args.listen)
    except ListenError as error:
        if error.text not in _said(args.listen):
            problems.append(Problem("--gnmi", error.text, error.hint.replace("9464", "9339")))
    else:
        if gnmi == listen and gnmi[1]:
            problems.append(Problem("--gnmi", f"{args.gnmi} is the address of --listen", "give another port"))
    return problems


def _said(listen: str) -> str:
    """The problem of --listen, which is reported by itself."""
    from telemetry.export.server import ListenError, parse_listen  # noqa: PLC0415

    try:
        parse_listen(listen)
    except ListenError as error:
        return error.text
    return ""


def gnmi_reader(
    args: argparse.Namespace, info: RunInfo, only: Iterable[str] | None, observers: list[Observer]
) -> GnmiReader | None:
    """The reader of readings, whose collector observes the run; None without the option."""
    if args.gnmi is None:
        return None
    from telemetry.gnmi.reading import METRICS  # noqa: PLC0415
    from telemetry.live.collector import LiveCollector  # noqa: PLC0415
    from telemetry.live.gnmi_reader import GnmiReader  # noqa: PLC0415

    collector = LiveCollector(info, only=METRICS if only is None else METRICS.intersection(only))
    observers.append(collector)
    return GnmiReader(collector)


def open_gnmi(
    args: argparse.Namespace, reader: GnmiReader | None, simulation: Simulation, pollers: Truth | Seen, stack: ExitStack
) -> str | None:
    """Listen until the stack is closed; the address in use. Raises: ListenError."""
    if reader is None:
        return None
    from telemetry.gnmi.server import GnmiServer  # noqa: PLC0415  it brings grpc

    reader.watch(simulation, pollers.peek, pollers.last)
    return stack.enter_context(GnmiServer(args.gnmi, reader, access_of(args).tls)).address
