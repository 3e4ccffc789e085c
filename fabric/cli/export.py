"""``fabric export openmetrics|remote-write|otlp|ipfix|events|parquet|dashboards``: a finished run for Prometheus,
collectors of OpenTelemetry, log stores and notebooks; dashboards for Grafana.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from fabric.cli.options.dilation import DEFAULT_DILATION
from fabric.cli.options.output import STDOUT, add_out
from fabric.cli.options.prometheus import access_of, access_problems, add_access, given_access, warn_of_clear_text
from fabric.cli.report import EXPORTERS
from fabric.cli.run import COMPAT
from fabric.errors import FabricError, InputErrors, Problem, UnitError
from fabric.units import PS_PER_NS, PS_PER_S, format_time_ps, parse_time_ps
from fabric.visible import hidden, spelled, visible

if TYPE_CHECKING:  # the store, numpy and the catalogue are loaded when there is something to write
    from collections.abc import Iterable, Iterator

    from fabric.runs.rundir import RunDir
    from telemetry.export.clock import WallClock
    from telemetry.export.grid import Sent
    from telemetry.export.openmetrics import Recording, Written
    from telemetry.record.store import Store

MS_PER_S = 1000
_COLLECTOR = "http://127.0.0.1:4318/v1/metrics"
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    metrics = actions.add_parser("openmetrics", help="every metric over time, for backfilling with promtool")
    metrics.description = (
        "Write a finished run as an OpenMetrics file with timestamps. Simulated time is multiplied by --time-scale,\n"
        "because timestamps of Prometheus are milliseconds. Then:\n"
        "  promtool tsdb create-blocks-from openmetrics FILE DATA\n"
        "and let Prometheus run on DATA (docs/howto/backfill.md)."
    )
    pushed = actions.add_parser("remote-write", help="the same, sent to a receiver of Prometheus remote write")
    pushed.add_argument("url", metavar="URL", help="the receiver, such as http://127.0.0.1:9090/api/v1/write")
    add_access(pushed, "the receiver")
    events = actions.add_parser("events", help="the event log as JSON lines, for log stores")
    fast = actions.add_parser("otlp", help="every counter and gauge over time as OpenTelemetry metrics (OTLP JSON)")
    fast.description = (
        "Write a finished run as OTLP in JSON, one request a line, as the collector of OpenTelemetry writes files.\n"
        "Times are nanoseconds and are not stretched: high-frequency telemetry whose truth is known. The scenario's\n"
        "telemetry.interval is the shortest interval that there is. With --to the same requests go to a collector, as\n"
        "protobuf over HTTP, instead of into a file."
    )
    fast.add_argument("--to", metavar="URL", help=f"a collector's receiver, such as {_COLLECTOR}")
    add_access(fast, "the collector of --to")
    hft = actions.add_parser("ipfix", help="the counters of switches over time as IPFIX, as SONiC sends them")
    hft.description = (
        "Write the counters of a finished run's switches as a file of IPFIX messages (RFC 7011, RFC 5655), as the\n"
        "high-frequency telemetry of SONiC lays them out: an observation domain for each switch, templates of SAI\n"
        "counters, messages for each sample. Names are in options records (RFC 5610). Times are nanoseconds and\n"
        "are not stretched. The scenario's telemetry.interval is the shortest interval that there is."
    )
    for action, unit in ((fast, "requests"), (hft, "records")):
        action.add_argument(
            "--interval",
            metavar="TIME",
            help=f"simulated time between two {unit}, such as 100us (default: every sample)",
        )
    table = actions.add_parser("parquet", help="every metric over time, as one Parquet table in simulated time")
    boards = actions.add_parser("dashboards", help="the dashboards for Grafana")
    for action in (metrics, pushed, events, table, fast, hft):
        action.add_argument("directory", metavar="DIR", type=Path, help="run directory")
    for action in (metrics, events, fast):
        add_out(action, "FILE", "where to write (default: standard output)")
    for action in (fast, hft):
        action.add_argument(
            "--start", metavar="RFC3339", help="wall time of simulated time 0 (default: so that the run ends now)"
        )
        action.set_defaults(time_scale=1.0)
    for action in (metrics, pushed, events):
        action.add_argument(
            "--time-scale",
            metavar="RATIO",
            type=float,
            default=DEFAULT_DILATION,
            help="seconds of wall clock per simulated second (default 15000: 1 ms takes 15 s, for "
            "which the committed rules are written)",
        )
        ends = (
            "that the run ends now"
            if action is pushed
            else ("the last full hour for an end at least 3 h ago, because Prometheus' head block has these hours")
        )
        action.add_argument(
            "--start",
            metavar="RFC3339",
            help=f"wall time of simulated time 0, such as 2026-01-31T12:00:00Z (default: {ends})",
        )
    for action in (metrics, pushed):
        action.add_argument(
            "--scrape-interval",
            metavar="TIME",
            help="keep only the samples of a scraper with this interval, such as 15s (default: "
            "every sample of the run)",
        )
        action.add_argument(
            "--label",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            dest="labels",
            help="label of every series, as added by a scrape (default job=fabric and instance=the "
            "run's name); repeatable",
        )
        action.add_argument(
            "--as-seen-by",
            choices=EXPORTERS,
            default="ideal",
            help="export the values that a real exporter would have polled, at --time-scale (default "
            "ideal); the instance is then NAME:EXPORTER",
        )
        action.add_argument(
            "--compat",
            choices=COMPAT,
            help="the same values under the names of that exporter, for dashboards made for it; the instance is then "
            "the device",
        )
    for action in (table, hft):
        add_out(action, "FILE", "where to write", required=True)
    add_out(boards, "DIR", "folder for one JSON file per dashboard", required=True)
    boards.add_argument(
        "--runbooks",
        metavar="URL",
        help="where the pages of the runbooks are served (default: by Prometheus, as in docker-compose.yml)",
    )
    for action in (metrics, pushed, fast, hft, events, table, boards):
        action.add_argument("--json", action="store_true", help="print a summary of the export as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Do one action."""
    actions = {
        "openmetrics": _openmetrics,
        "remote-write": _remote_write,
        "otlp": _otlp,
        "ipfix": _ipfix,
        "events": _events,
        "parquet": _parquet,
        "dashboards": _dashboards,
    }
    return actions[args.action](args)


def _openmetrics(args: argparse.Namespace) -> int:
    problems = _clock_problems(args)
    interval_ms, labels = _interval_ms(args, problems), _labels(args, problems)
    if problems:
        raise InputErrors("options", problems)
    from telemetry.export.openmetrics import write_openmetrics  # noqa: PLC0415  pyarrow, numpy and the catalogue

    recording = _recording(args, interval_ms, labels)
    with _output(args.out) as out:
        written = write_openmetrics(recording, out)
    _say(args, *_summary(recording, written))
    return 0


def _remote_write(args: argparse.Namespace) -> int:
    problems = _clock_problems(args)
    interval_ms, labels = _interval_ms(args, problems), _labels(args, problems)
    problems += access_problems(args, args.url, "URL", "http://127.0.0.1:9090/api/v1/write")
    if problems:
        raise InputErrors("options", problems)
    warn_of_clear_text(args, args.url)
    access = access_of(args)
    from telemetry.export.remote_write import post_to, send_recording  # noqa: PLC0415  pyarrow, numpy and the catalogue

    recording = _recording(args, interval_ms, labels)
    _say(args, *_summary(recording, send_recording(recording, post_to(args.url, access))))
    return 0


def _summary(recording: Recording, written: Written) -> tuple[dict[str, object], str]:
    """Print the result, as JSON or as text."""
    end = _rfc3339(written.last_ms)
    summary: dict[str, object] = {
        "series": written.series,
        "samples": written.samples,
        "time_scale": recording.clock.time_scale,
        "start": _rfc3339(written.first_ms),
        "end": end,
        "labels": recording.target,
    }
    return summary, (
        f"{written.samples:,} samples of {written.series:,} series, {_stretched(recording.clock)}, until {end}"
    )


def _recording(args: argparse.Namespace, interval_ms: int | None, labels: dict[str, str]) -> Recording:
    """The run's metrics in wall time. Raises: RunDirError, FabricError."""
    from fabric.runs.rundir import RunDir  # noqa: PLC0415
    from telemetry.export.clock import scraped  # noqa: PLC0415
    from telemetry.export.compat.registry import LAYERS  # noqa: PLC0415
    from telemetry.export.openmetrics import Recording  # noqa: PLC0415
    from telemetry.record.polling.poller import Poller  # noqa: PLC0415
    from telemetry.record.polling.profiles import PROFILES  # noqa: PLC0415
    from telemetry.sources.recorded import store_of  # noqa: PLC0415

    found = RunDir.open(args.directory)
    poller, instance = None, visible(str(found.manifest["name"]))
    if args.as_seen_by != "ideal":
        poller = Poller(PROFILES[args.as_seen_by], found.fabric, args.time_scale, int(found.manifest["seed"]))
        instance += f":{args.as_seen_by}"
    store = store_of(found, poller=poller)
    clock = _clock(args, int(store.times_ns[-1]))
    kept = scraped(store.times_ns, clock, interval_ms)
    layer = LAYERS[args.compat] if args.compat else None
    return Recording(store, clock, kept, {"job": "fabric", "instance": instance} | labels, layer)


def _otlp(args: argparse.Namespace) -> int:
    interval_ns = _interval_ns(args, _receiver_problems(args))
    access = None
    if args.to is not None:
        warn_of_clear_text(args, args.to)
        access = access_of(args)
    from telemetry.export.otlp import Requests, write_otlp  # noqa: PLC0415  pyarrow, numpy and the catalogue

    found, store, start_ns = _unstretched(args, interval_ns)
    resource = {"service.name": "fabric", "service.instance.id": visible(str(found.manifest["name"]))}
    requests = Requests(store, start_ns, resource, interval_ns)
    if access is None:
        with _output(args.out) as out:
            sent = write_otlp(requests, out)
    else:
        from telemetry.export.otlp_push import push  # noqa: PLC0415  the messages

        sent = requests.sent(push(requests, args.to, access))
    return _say_sent(args, sent, "requests")


def _receiver_problems(args: argparse.Namespace) -> list[Problem]:
    """What is wrong with --to and the options that belong to it."""
    if args.to is None:
        hint = f"name the collector: --to {_COLLECTOR}"
        return [Problem(it, "has no effect without --to", hint) for it in given_access(args)]
    problems = list(access_problems(args, args.to, "--to", _COLLECTOR))
    if args.out is not None:
        problems.append(Problem("--out", "and --to are both given", "leave out one of them"))
    return problems


def _ipfix(args: argparse.Namespace) -> int:
    interval_ns = _interval_ns(args)
    from telemetry.export.ipfix import write_ipfix  # noqa: PLC0415  pyarrow, numpy and the catalogue

    _, store, start_ns = _unstretched(args, interval_ns)
    with _bytes(args.out) as out:
        sent = write_ipfix(store, out, start_ns, interval_ns)
    return _say_sent(args, sent, "messages")


def _interval_ns(args: argparse.Namespace, others: Iterable[Problem] = ()) -> int | None:
    """--interval of an export in simulated time. Raises: InputErrors, also for the options of the clock and others."""
    problems = [*_clock_problems(args), *others]
    interval_ns = None
    if args.interval is not None:
        try:
            interval_ns = parse_time_ps(args.interval) // PS_PER_NS
        except UnitError as error:
            problems.append(Problem("--interval", error.text, error.hint))
    if interval_ns is not None and interval_ns < 1:
        problems.append(Problem("--interval", f"{args.interval} is no interval", "give one such as 100us"))
    if problems:
        raise InputErrors("options", problems)
    return interval_ns


def _unstretched(args: argparse.Namespace, interval_ns: int | None) -> tuple[RunDir, Store, int]:
    """(run, its metrics, Unix time of simulated time 0). Raises: RunDirError, FabricError where samples are fewer."""
    from fabric.runs.rundir import RunDir  # noqa: PLC0415  as below
    from telemetry.export.clock import NS_PER_MS  # noqa: PLC0415  as below
    from telemetry.export.grid import usual_step_ns  # noqa: PLC0415  numpy
    from telemetry.sources.recorded import store_of  # noqa: PLC0415  pyarrow and the catalogue

    found = RunDir.open(args.directory)
    store = store_of(found)
    shortest_ns = usual_step_ns(store.times_ns)
    if interval_ns is not None and interval_ns < shortest_ns:
        raise FabricError(
            f"the run has samples every {format_time_ps(shortest_ns * PS_PER_NS)}, and not every {args.interval}",
            f"simulate it with telemetry: {{interval: {args.interval}}}",
        )
    return found, store, _clock(args, int(store.times_ns[-1])).start_ms * NS_PER_MS


def _say_sent(args: argparse.Namespace, sent: Sent, parts: str) -> int:
    """Print the summary of an export in simulated time."""
    summary: dict[str, object] = {
        "series": sent.series,
        "points": sent.points,
        parts: sent.messages,
        "interval_ns": sent.interval_ns,
    }
    step = format_time_ps(sent.interval_ns * PS_PER_NS)
    counts = f"{sent.points:,} points of {sent.series:,} series, {sent.messages:,} {parts}"
    what = "a record" if parts == "messages" else "a sample" if _receiver(args) else "one"
    _say(args, summary, f"{counts}, {what} every {step}")
    return 0


def _events(args: argparse.Namespace) -> int:
    problems = _clock_problems(args)
    if problems:
        raise InputErrors("options", problems)
    from fabric.explain.eventlines import as_json, lines_of_run  # noqa: PLC0415  pyarrow
    from fabric.runs.rundir import RunDir  # noqa: PLC0415

    found = RunDir.open(args.directory)
    clock = _clock(args, _end_ns(found))
    count = 0
    with _output(args.out) as out:
        for count, line in enumerate(lines_of_run(found, clock.start, args.time_scale), 1):  # noqa: B007  counted
            out.write(as_json(line) + "\n")
    _say(
        args,
        {"lines": count, "time_scale": args.time_scale, "start": _rfc3339(clock.start_ms)},
        f"{count:,} events, {_stretched(clock)}",
    )
    return 0


def _end_ns(run: RunDir) -> int:
    """The run's end. Raises: RunDirError where it has not ended."""
    from fabric.runs import endstate  # noqa: PLC0415

    return int(endstate.read(run).time_ps // PS_PER_NS)


def _parquet(args: argparse.Namespace) -> int:
    from fabric.runs.rundir import RunDir  # noqa: PLC0415
    from telemetry.sources.recorded import store_of  # noqa: PLC0415  pyarrow, numpy and the catalogue

    store = store_of(RunDir.open(args.directory))
    with _whole(args.out) as part:
        store.write(part)
    n_metrics, n_samples = len(store.metrics), len(store.times_ns)
    _say(args, {"metrics": n_metrics, "samples": n_samples}, f"{n_metrics} metrics at {n_samples:,} simulated times")
    return 0


def _dashboards(args: argparse.Namespace) -> int:
    from fabric.runs.files import naming  # noqa: PLC0415
    from telemetry.alerting.render import RUNBOOKS  # noqa: PLC0415
    from telemetry.grafana.dashboards import write  # noqa: PLC0415  the catalogue

    with naming(args.out):
        paths = list(map(str, write(args.out, args.runbooks or RUNBOOKS)))
    print(json.dumps({"written": paths}) if args.json else "\n".join(paths))
    return 0


def _receiver(args: argparse.Namespace) -> str | None:
    """The URL that an export is sent to; None: it is written."""
    url: str | None = getattr(args, "url", None) or getattr(args, "to", None)
    return url


def _clock_problems(args: argparse.Namespace) -> list[Problem]:
    problems = []
    if not (0 < args.time_scale < math.inf):
        problems.append(
            Problem(
                "--time-scale",
                f"{args.time_scale:g} is not a time scale",
                "give seconds of wall clock per simulated second, such as 15000",
            )
        )
    if args.start is not None:
        try:
            named = datetime.fromisoformat(args.start)
        except ValueError:
            problems.append(
                Problem("--start", f"{args.start!r} is not a date and time", "write it as 2026-01-31T12:00:00Z")
            )
        else:
            if named.tzinfo is None:
                problems.append(
                    Problem("--start", f"{args.start} has no time zone", f"write {named.isoformat()}Z for UTC")
                )
    if _receiver(args) is None and args.out in {None, STDOUT} and args.json:
        problems.append(Problem("--json", "needs --out: standard output is the export itself", "name a file"))
    return problems


def _interval_ms(args: argparse.Namespace, problems: list[Problem]) -> int | None:
    if args.scrape_interval is None:
        return None
    try:
        interval_ms = parse_time_ps(args.scrape_interval) * MS_PER_S // PS_PER_S
    except UnitError as error:
        problems.append(Problem("--scrape-interval", error.text, error.hint))
        return None
    if interval_ms < 1:
        problems.append(
            Problem(
                "--scrape-interval", f"{args.scrape_interval} is less than Prometheus' resolution", "give 1ms or more"
            )
        )
    return interval_ms


def _labels(args: argparse.Namespace, problems: list[Problem]) -> dict[str, str]:
    found = {}
    for text in args.labels:
        name, equals, value = text.partition("=")
        if not equals or _LABEL.fullmatch(name) is None:
            problems.append(Problem("--label", f"{text!r} is not a label", "write NAME=VALUE, such as job=fabric"))
        if hidden(value):
            problems.append(
                Problem("--label", f"{text!r} holds the hidden character {spelled(hidden(value))}", "remove it")
            )
        found[name] = value
    return found


def _clock(args: argparse.Namespace, end_ns: int) -> WallClock:
    from telemetry.export.clock import WallClock, latest_safe_start_ms, latest_start_ms  # noqa: PLC0415

    if args.start is None:
        latest = latest_start_ms if args.action in {"remote-write", "otlp", "ipfix"} else latest_safe_start_ms
        return WallClock(latest(int(time.time() * MS_PER_S), end_ns, args.time_scale), args.time_scale)
    return WallClock(round(datetime.fromisoformat(args.start).timestamp() * MS_PER_S), args.time_scale)


@contextmanager
def _output(path: Path | None) -> Iterator[TextIO]:
    """A text file that appears only when complete, or standard output."""
    if path is None or path == STDOUT:
        yield sys.stdout
        return
    with _whole(path) as part, part.open("w", encoding="utf-8") as out:
        yield out


@contextmanager
def _bytes(path: Path) -> Iterator[BinaryIO]:
    """The same for a binary file; standard output only where it is asked for."""
    if path == STDOUT:
        yield sys.stdout.buffer
        return
    with _whole(path) as part, part.open("wb") as out:
        yield out


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A path to write; `path` appears only when complete."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        os.replace(part, path)  # noqa: PTH105  within one folder
    except OSError as error:
        raise FabricError(f"{path} cannot be written: {error.strerror or error}", "name another --out") from error
    finally:
        part.unlink(missing_ok=True)


def _say(args: argparse.Namespace, summary: dict[str, object], text: str) -> None:
    """Print the summary: on standard output, unless that has the export itself."""
    written = _receiver(args) or args.out
    if written in {None, STDOUT}:
        print(text, file=sys.stderr)
    elif args.json:
        print(json.dumps({"written": str(written)} | summary))
    else:
        print(f"{written}: {text}")


def _stretched(clock: WallClock) -> str:
    one_ms = format_time_ps(round(clock.time_scale * PS_PER_S / MS_PER_S))
    return f"time scale {clock.time_scale:g} (1 ms of simulated time takes {one_ms}), from {_rfc3339(clock.start_ms)}"


def _rfc3339(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / MS_PER_S, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
