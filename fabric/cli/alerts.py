"""``fabric alerts show|list|rules|pager|corpus``: alerts of a run, rules, a receiver of notifications, precision."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from fabric import shipped
from fabric.cli.options.dilation import DEFAULT_DILATION
from fabric.cli.options.estimating import add_yes, admission
from fabric.cli.options.output import add_out, write_file
from fabric.cli.terminal import streams
from fabric.errors import InputErrors, Problem
from fabric.units import PS_PER_MS, PS_PER_NS, count, format_time_ps
from fabric.visible import command
from telemetry.diagnosis.changes import Change, done_before
from telemetry.diagnosis.rehearsed import playbook, runbooks_of

if TYPE_CHECKING:  # the rules and numpy are loaded when there is something to do
    from collections.abc import Iterator, Mapping, Sequence

    from rich.table import Table

    from telemetry.alerting.evaluate import Firing, Pending
    from telemetry.alerting.incidents import Incident
    from telemetry.anomaly.scan import Anomaly

DEFAULT_CORPUS = shipped.folder("scenarios") / "alerts" / "corpus.yml"
RULES_FILE = "rules.yml"
PROMETHEUS_FILE = "prometheus.yml"
ALERTMANAGER_FILE = "alertmanager.yml"
RUNBOOKS_FOLDER = "runbooks"
_PAGER = "127.0.0.1:9095"
_LISTEN = {"--emulator": "127.0.0.1:9464", "--alertmanager": "127.0.0.1:9093", "--prometheus": "127.0.0.1:9090"}
"""Where programs listen unless an option says otherwise; the defaults of telemetry/alerting/render.py."""
_LOOPBACK = ("127.0.0.1", "localhost")
_WHAT = "What, at the time when it fired"
"""Heading: the figures of a description go on after it."""
DEPRECATED_ACTION, DEPRECATED_OPTION, DEPRECATED_FILE = "bank", "--bank", "bank.yml"
"""Names of the corpus up to release 0.1; accepted, and not shown in help or completion."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    showing = actions.add_parser("show", help="alerts of a run, incidents, and their score against injected faults")
    showing.add_argument("directory", metavar="DIR", type=Path, help="run directory")
    showing.add_argument("--all", action="store_true", help="every alert by port, not only the incidents")
    showing.add_argument(
        "--anomalies",
        action="store_true",
        help="anomalies that detectors without thresholds find in the same run (docs/anomaly.md)",
    )
    listing = actions.add_parser("list", help="the alerts and their meaning")
    ruling = actions.add_parser("rules", help="rules for Prometheus and a configuration for Alertmanager")
    add_out(
        ruling,
        "DIR",
        f"write {RULES_FILE}, {ALERTMANAGER_FILE}, {PROMETHEUS_FILE} and runbooks there; without it rules are printed",
    )
    ruling.add_argument(
        "--runbooks",
        metavar="URL",
        help="where the runbooks are served (default: by a Prometheus on "
        "this machine with --web.user-assets=DIR/runbooks)",
    )
    ruling.add_argument("--dashboards", metavar="URL", help="where Grafana serves dashboards by uid")
    ruling.add_argument(
        "--pager",
        metavar="URL",
        help="webhook for critical alerts, and for warnings, too, unless --tickets names another; needs --out",
    )
    ruling.add_argument("--tickets", metavar="URL", help="webhook for warnings; needs --out")
    for option, program, needs in (
        ("--emulator", "`fabric serve`", "; needs --out"),
        ("--alertmanager", "Alertmanager", "; needs --out"),
        ("--prometheus", "Prometheus", ", which links to runbooks name"),
    ):
        ruling.add_argument(
            option, metavar="HOST:PORT", help=f"where {program} listens (default {_LISTEN[option]}){needs}"
        )
    for action in (showing, ruling):
        action.add_argument(
            "--dilation",
            metavar="RATIO",
            type=float,
            default=DEFAULT_DILATION,
            help="seconds of wall clock per simulated second, as given to `fabric serve`; windows, "
            f"`for` and scrapes scale with it (default {DEFAULT_DILATION:g}, as in `fabric serve`: 1 ms is seen "
            "as 15 s)",
        )
    ruling.epilog = (
        "examples:\n  fabric alerts rules --out rules\n"
        "  fabric alerts rules --out rules --dilation 1000 --pager http://127.0.0.1:9095/pager"
    )
    paging = actions.add_parser("pager", help="receive notifications of Alertmanager and print a line for each alert")
    paging.add_argument(
        "--listen",
        metavar="HOST:PORT",
        default=_PAGER,
        help=f"address of this receiver (default {_PAGER}, as in the configuration that `rules` writes)",
    )
    corpus = actions.add_parser(
        "corpus", help="simulate the labelled scenarios of the alert corpus; precision and recall of every alert"
    )
    deprecated = actions.add_parser(DEPRECATED_ACTION)  # without `help`, argparse and shtab leave it out of their lists
    for action in (corpus, deprecated):
        files = action.add_mutually_exclusive_group()
        files.add_argument(
            "--corpus", metavar="FILE", type=Path, help="the corpus (default: the one that comes with the package)"
        )
        files.add_argument(DEPRECATED_OPTION, metavar="FILE", type=Path, dest="deprecated", help=argparse.SUPPRESS)
        add_yes(action)
        add_out(action, "FILE", "write the page about alerts (docs/alerts.md)", "--write", dest="write")
    paging.add_argument("--json", action="store_true", help="print one JSON object a line")
    for action in (showing, listing, ruling, corpus, deprecated):
        action.add_argument("--json", action="store_true", help="print one JSON value")


def run(args: argparse.Namespace) -> int:
    """Do one action; `corpus` exits 1 where an alert is wrong with a seed that it was fitted to."""
    actions = {
        "show": _show,
        "list": _list,
        "rules": _rules,
        "pager": _pager,
        "corpus": _corpus,
        DEPRECATED_ACTION: _corpus,
    }
    return actions[args.action](args)


def _pager(args: argparse.Namespace) -> int:
    """Until it is interrupted. Raises: InputErrors where the address cannot be used."""
    from telemetry.alerting.pager import line, server  # noqa: PLC0415  a server, for this action alone
    from telemetry.export.server import ListenError, parse_listen  # noqa: PLC0415  it brings prometheus_client

    def received(receiver: str, alert: dict[str, Any]) -> None:
        print(json.dumps({"receiver": receiver, **alert}) if args.json else line(receiver, alert), flush=True)

    try:
        listening = server(*parse_listen(args.listen), received)
    except ListenError as error:
        raise InputErrors("options", [Problem("--listen", error.text, error.hint)]) from error
    except OSError as error:
        hint = "end what listens there, or name another port"
        raise InputErrors("options", [Problem("--listen", f"{args.listen}: {error.strerror}", hint)]) from error
    with listening:
        print(f"notifications to http://{args.listen}/pager and /tickets; Ctrl-C ends", file=sys.stderr)
        listening.serve_forever()
    return 0


def _checked_dilation(args: argparse.Namespace) -> None:
    if not 0 < args.dilation < float("inf"):
        hint = "give seconds of wall clock per simulated second, such as 15000"
        raise InputErrors("options", [Problem("--dilation", f"{args.dilation:g} is not a dilation", hint)])


def _show(args: argparse.Namespace) -> int:
    _checked_dilation(args)
    from fabric.runs.rundir import RunDir  # noqa: PLC0415  pyarrow, numpy and the catalogue
    from telemetry.alerting.evaluate import evaluate_store  # noqa: PLC0415
    from telemetry.alerting.incidents import incidents  # noqa: PLC0415
    from telemetry.alerting.score import score  # noqa: PLC0415
    from telemetry.anomaly.scan import scan  # noqa: PLC0415
    from telemetry.diagnosis.diagnose import diagnose  # noqa: PLC0415
    from telemetry.sources.change_log import change_log  # noqa: PLC0415
    from telemetry.sources.recorded import store_of  # noqa: PLC0415

    found = RunDir.open(args.directory)
    store = store_of(found)
    evaluation = evaluate_store(store, dilation=args.dilation)
    firings, pending = evaluation.firings, evaluation.pending
    joined = incidents(firings, store, args.dilation, diagnose(store, found.fabric))
    log = change_log(found) if joined else []
    changed = [done_before(frozenset({it.root_device}), it.began_ns, log, found.fabric) for it in joined]
    judged = score(joined, found.truth().to_pylist())
    anomalies = scan(store) if args.anomalies else []
    if args.json:
        print(
            json.dumps(
                {
                    "dilation": args.dilation,
                    "incidents": [
                        {**it.as_json(), "change_before": None if change is None else change.as_json()}
                        for it, change in zip(joined, changed, strict=True)
                    ],
                    "alerts": [_alert_json(it) for it in firings],
                    "pending": [_pending_json(it) for it in pending],
                    "score": judged.as_json(),
                    **({"anomalies": [it.as_json() for it in anomalies]} if args.anomalies else {}),
                },
                indent=2,
            )
        )
        return 0
    tables = [_incident_table(joined, changed)] if joined else []
    tables += [_firing_table(firings)] if args.all and firings else []
    tables += [_anomaly_table(anomalies)] if anomalies else []
    if not firings:
        seen = (
            "no fault was injected"
            if not judged.faults
            else f"{count(len(judged.faults), 'injected fault')} not detected"
        )
        print(f"no alert fired; {seen}")
    for line in _waiting(pending, args.dilation):
        print(line)
    if args.anomalies and not anomalies:
        print("no detector found an anomaly")
    from fabric.render.console import PlainConsole  # noqa: PLC0415  not for --json

    console = PlainConsole(sys.stdout, width=160)
    for table in tables:
        console.print(table)
    if found.summary.get("deadlock"):
        print(
            "at the end of the run queues waited for each other in a cycle (fabric explain pfc); a run directory "
            "does not "
            "record its beginning, so FabricPfcDeadlock cannot fire here"
        )
    if judged.faults and firings:
        hits = sum(it.delay_ns is not None for it in judged.faults)
        print(
            f"against the injected faults: {hits} of {len(judged.faults)} found, {judged.true_incidents} of "
            f"{judged.incidents} incidents name the root of one"
        )
    return 0


def _waiting(pending: Sequence[Pending], dilation: float) -> Iterator[str]:
    """What would have fired in a run that went on, the first alert of each name."""
    from telemetry.alerting.rules import timing  # noqa: PLC0415  only where something is pending

    first = {it.alert.name: it for it in reversed(pending)}
    for name, it in reversed(first.items()):
        number = sum(other.alert.name == name for other in pending)
        hold = format_time_ps(round(timing(dilation).ms(it.alert.hold_s) / dilation * PS_PER_MS))
        since = format_time_ps(it.pending_ns * PS_PER_NS)
        times = f" ×{number}" if number > 1 else ""
        yield f"pending since {since}, fires after {hold}: {name}{times}: {it.description}"
    if pending:
        yield (
            "the run ended before they could fire; `fabric serve` shows its last state, so there they may: "
            "`run.stop: duration` and a longer `run.duration` give them time here"
        )


def _pending_json(it: Pending) -> dict[str, object]:
    return {
        "alert": it.alert.name,
        "severity": it.alert.severity.value,
        "labels": dict(it.labels),
        "description": it.description,
        "pending_ns": it.pending_ns,
        "value": it.value,
    }


def _alert_json(it: Firing) -> dict[str, object]:
    return {
        "labels": it.all_labels,
        "description": it.description,
        "pending_ns": it.pending_ns,
        "firing_ns": it.firing_ns,
        "cleared_ns": it.cleared_ns,
        "resolved_ns": it.resolved_ns,
        "value": it.value,
    }


def _table(title: str, *headings: str) -> Table:
    """A table without rows."""
    from rich.table import Table  # noqa: PLC0415  not for --json

    return Table(*headings, title=title, title_justify="left", box=None, pad_edge=False)


def _incident_table(joined: list[Incident], changed: list[Change | None]) -> Table:
    table = _table("Incidents", "Fired", "Until", "Severity", "Root", _WHAT, "Alerts")
    for it, change in zip(joined, changed, strict=True):
        names: dict[str, int] = it.as_json()["alerts"]
        until = "end" if it.ended_ns is None else format_time_ps(it.ended_ns * PS_PER_NS)
        table.add_row(
            format_time_ps(it.fired_ns * PS_PER_NS),
            until,
            it.severity.value,
            it.root_device or "?",
            "\n".join(
                [it.headline, *_cause_lines(it), *([] if change is None else [f"Changed before: {change.line}"])]
            ),
            "\n".join(f"{name} ×{count}" for name, count in names.items()),
        )
    return table


def _cause_lines(it: Incident) -> list[str]:
    """The root cause, the first act, and what to read; nothing where the diagnosis has none."""
    if it.cause is None:
        return []
    meaning, kind = it.cause.meaning, it.cause.kind.value
    read = [f"docs/runbooks/{name}.md" for name in runbooks_of(it.cause)]
    return [
        f"Cause: {meaning.title}: {it.cause.place}. {it.cause.evidence[0]}. First: {meaning.act}.",
        f"Read: {', '.join([*read, f'fabric playbook show {playbook(kind)}'])}",
    ]


def _firing_table(firings: Sequence[Firing]) -> Table:
    table = _table("Alerts", "Fired", "Until", "Alert", _WHAT)
    for it in firings:
        until = "end" if it.cleared_ns is None else format_time_ps(it.cleared_ns * PS_PER_NS)
        table.add_row(format_time_ps(it.firing_ns * PS_PER_NS), until, it.alert.name, it.description)
    return table


def _anomaly_table(anomalies: Sequence[Anomaly]) -> Table:
    table = _table("Anomalies", "At", "Detector", "Metric", "Where", "Value")
    for it in anomalies:
        table.add_row(
            format_time_ps(it.time_ns * PS_PER_NS),
            it.detector,
            it.metric,
            " ".join(it.labels.values()),
            f"{it.value:.4g}",
        )
    return table


def _list(args: argparse.Namespace) -> int:
    from telemetry.alerting.alerts import ALERTS  # noqa: PLC0415  --help must not load numpy
    from telemetry.alerting.outlive import kept_s  # noqa: PLC0415
    from telemetry.alerting.promql.text import duration, promql  # noqa: PLC0415
    from telemetry.alerting.rules import timing  # noqa: PLC0415

    nominal = timing(DEFAULT_DILATION)
    if args.json:
        print(
            json.dumps(
                [
                    {
                        "alert": it.name,
                        "severity": it.severity.value,
                        "for": duration(nominal.ms(it.hold_s)),
                        "keep_firing_for": duration(nominal.ms(kept_s(it.name))),
                        "expr": promql(it.expr, nominal),
                        "summary": it.summary,
                        "why": it.why,
                    }
                    for it in ALERTS
                ],
                indent=2,
            )
        )
        return 0
    width = max(len(it.name) for it in ALERTS)
    for it in ALERTS:
        print(f"{it.name:<{width}}  {it.severity.value:<8}  {duration(nominal.ms(it.hold_s)):>4}  {it.summary}")
    return 0


def _rules(args: argparse.Namespace) -> int:
    _checked_dilation(args)
    from telemetry.alerting import alertmanager  # noqa: PLC0415  --help must not load the rules
    from telemetry.alerting.rules import HIGHEST_DILATION, LOWEST_DILATION  # noqa: PLC0415

    webhooks = [(name, value) for name, value in (("--pager", args.pager), ("--tickets", args.tickets)) if value]
    problems = [
        Problem(name, f"'{value}' is not a URL", "give the webhook's address, such as http://127.0.0.1:9095/pager")
        for name, value in webhooks
        if not _is_webhook(value)
    ]
    problems += [
        Problem(name, f"'{value}' is not a URL", f"give an address, such as {example}")
        for name, value, example in (
            ("--runbooks", args.runbooks, "http://127.0.0.1:9090/user"),
            ("--dashboards", args.dashboards, "http://127.0.0.1:3000/d"),
        )
        if value is not None and not _is_webhook(value)
    ]
    if not LOWEST_DILATION <= args.dilation <= HIGHEST_DILATION:
        text = f"rules for {args.dilation:g} need scrapes that Prometheus does not make, or forgets before the next"
        hint = f"give {LOWEST_DILATION:,} to {HIGHEST_DILATION:,} to `fabric serve` and here"
        problems.append(Problem("--dilation", text, hint))
    if args.out is not None and args.out.exists() and not args.out.is_dir():
        problems.append(Problem(f"--out {args.out}", "is a file", "name a folder, new or existing"))
    if args.out is None:
        alone = [*webhooks, ("--emulator", args.emulator), ("--alertmanager", args.alertmanager)]
        problems += [
            Problem(name, "has no effect without --out", "name the directory for the configurations")
            for name, value in alone
            if value
        ]
    listen = {
        "--emulator": args.emulator, "--alertmanager": args.alertmanager, "--prometheus": args.prometheus,
    }  # fmt: skip
    problems += [
        Problem(name, f"'{value}' is no HOST:PORT", f"such as {_LISTEN[name]}")
        for name, value in listen.items()
        if value is not None and not _is_place(value)
    ]
    if args.prometheus and args.runbooks:
        problems.append(Problem("--prometheus", "has no effect with --runbooks", "give one of them"))
    at = {name: value or _LISTEN[name] for name, value in listen.items()}
    problems += _shared_places({**at, "--pager": _local_place(args.pager or alertmanager.PAGER_URL)})
    if problems:
        raise InputErrors("options", problems)
    from telemetry.alerting.render import DASHBOARDS, RUNBOOKS, prometheus_yaml, rules_yaml  # noqa: PLC0415
    from telemetry.alerting.runbook_pages import write as write_runbooks  # noqa: PLC0415

    runbooks = f"http://{args.prometheus}/user" if args.prometheus else args.runbooks or RUNBOOKS
    rules = rules_yaml(args.dilation, runbooks, args.dashboards or DASHBOARDS)
    if args.out is None:
        print(json.dumps({RULES_FILE: rules}, indent=2) if args.json else rules, end="\n" if args.json else "")
        return 0
    args.out.mkdir(parents=True, exist_ok=True)
    tickets = args.tickets or (_tickets_beside(args.pager) if args.pager else alertmanager.TICKETS_URL)
    config = alertmanager.alertmanager_yaml(args.dilation, args.pager or alertmanager.PAGER_URL, tickets)
    scrapes = prometheus_yaml(args.dilation, at["--emulator"], at["--alertmanager"])
    for name, text in ((RULES_FILE, rules), (ALERTMANAGER_FILE, config), (PROMETHEUS_FILE, scrapes)):
        write_file(args.out / name, text)
    write_runbooks(args.out / RUNBOOKS_FOLDER, at["--emulator"], args.dilation)
    paths = [str(args.out / name) for name in (RULES_FILE, ALERTMANAGER_FILE, PROMETHEUS_FILE, RUNBOOKS_FOLDER)]
    if args.json:
        print(json.dumps({"written": paths, "dilation": args.dilation}))
        return 0
    print("\n".join(paths))
    sys.stdout.flush()
    for line in _next_commands(args.out, args.dilation, at, args.pager or alertmanager.PAGER_URL):
        streams.say(line)
    return 0


def _is_place(text: str) -> bool:
    """Whether a program can listen at HOST:PORT."""
    from telemetry.export.server import ListenError, parse_listen  # noqa: PLC0415  it brings prometheus_client

    try:
        host, port = parse_listen(text)
    except ListenError:
        return False
    return port > 0 and "/" not in host


def _shared_places(at: Mapping[str, str]) -> Iterator[Problem]:
    """One problem for every two programs at one HOST:PORT; '' is none. at: HOST:PORT by option."""
    taken: dict[str, str] = {}
    for option, place in at.items():
        key = place.replace("localhost", _LOOPBACK[0], 1)
        other = taken.setdefault(key, option)
        if key and other != option:
            text = f"{place} is the address of {other}, too: one program listens at a port"
            yield Problem(option, text, "give each another port")


def _local_place(webhook: str) -> str:
    """HOST:PORT of a webhook on this machine; '' of any other."""
    if not _is_webhook(webhook):
        return ""
    parts = urlsplit(webhook)
    return f"{_LOOPBACK[0]}:{parts.port or 80}" if parts.hostname in _LOOPBACK else ""


def _next_commands(folder: Path, dilation: float, at: Mapping[str, str], pager: str) -> list[str]:
    """What is done with the files: the programs that read them, with the options that they need. at: HOST:PORT by the
    option that names a program; pager: the webhook, of `fabric alerts pager` where it is on this machine.
    """
    debian = "prometheus-alertmanager"
    paced = dilation != DEFAULT_DILATION
    programs = (
        (
            "fabric",
            "serve",
            "scenarios/pause-storm.yml",
            "--loop",
            *(("--dilation", f"{dilation:g}") if paced else ()),
            *(("--listen", at["--emulator"]) if at["--emulator"] != _LISTEN["--emulator"] else ()),
        ),
        *_pager_command(pager),
        (
            debian if which(debian) and not which("alertmanager") else "alertmanager",
            f"--config.file={folder / ALERTMANAGER_FILE}",
            f"--storage.path={folder / 'alertmanager'}",
            f"--web.listen-address={at['--alertmanager']}",
            "--cluster.listen-address=",
        ),
        (
            "prometheus",
            f"--config.file={folder / PROMETHEUS_FILE}",
            f"--storage.tsdb.path={folder / 'prometheus'}",
            f"--web.listen-address={at['--prometheus']}",
            f"--web.user-assets={folder / RUNBOOKS_FOLDER}",
            *(("--rules.alert.resend-delay=2s",) if dilation < DEFAULT_DILATION else ()),
        ),
    )
    return [
        "to use them, each in its own terminal (docs/howto/alerts.md explains them; the scenario is an example):",
        *(f"  {command(*words)}" for words in programs),
        f"for another scenario, end them and empty {folder / 'prometheus'}: some alerts compare with the last hour",
    ]


def _tickets_beside(pager: str) -> str:
    """Where warnings go if only --pager is given: to the same receiver, never to one that nobody started.

    A receiver that tells both apart by the path, as `fabric alerts pager` does, has /tickets beside /pager.
    """
    parts = urlsplit(pager)
    if not parts.path.endswith("/pager"):
        return pager
    return urlunsplit(parts._replace(path=parts.path.removesuffix("pager") + "tickets"))


def _pager_command(webhook: str) -> list[tuple[str, ...]]:
    """The receiver that comes with the package, at the address of the webhook; none where that is another machine."""
    parts = urlsplit(webhook)
    if parts.scheme != "http" or parts.hostname not in _LOOPBACK:
        return []
    listen = f"{parts.hostname}:{parts.port or 80}"
    return [("fabric", "alerts", "pager", *(("--listen", listen) if listen != _PAGER else ()))]


def _is_webhook(text: str) -> bool:
    """Whether Alertmanager accepts the text as the URL of a webhook."""
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _corpus_file(args: argparse.Namespace) -> Path:
    """The corpus to simulate. Deprecated spellings of verb, option and file are accepted with one line on stderr."""
    file: Path = args.corpus or args.deprecated or DEFAULT_CORPUS
    spellings = [] if args.action == "corpus" else [f"`alerts {args.action}` (now `alerts corpus`)"]
    if args.deprecated is not None:
        spellings.append(f"`{DEPRECATED_OPTION}` (now `--corpus`)")
    renamed = file.with_name(DEFAULT_CORPUS.name)
    if file.name == DEPRECATED_FILE and not file.exists() and renamed.exists():
        spellings.append(f"{file} (now {renamed})")
        file = renamed
    if spellings:
        streams.say(f"deprecated: {', '.join(spellings)}")
    return file


def _corpus(args: argparse.Namespace) -> int:
    from telemetry.alerting.alert_corpus import measure, noticed, total  # noqa: PLC0415  the engine
    from telemetry.alerting.alert_corpus_page import markdown  # noqa: PLC0415
    from telemetry.alerting.alerts import ALERTS  # noqa: PLC0415
    from telemetry.sources.corpus_case import load_corpus, simulate_corpus  # noqa: PLC0415

    file = _corpus_file(args)
    corpus = load_corpus(file)
    cases, simulated = [], []
    for case, one in simulate_corpus(file, corpus, partial(admission, yes=args.yes)):
        print(f"{one.case} seed {one.seed}: {len(one.first_ns)} alerts", file=sys.stderr)
        cases.append(case)
        simulated.append(one)
    fitted = [measure(alert, [it for it in simulated if it.seed in corpus.seeds]) for alert in ALERTS]
    fresh = [measure(alert, [it for it in simulated if it.seed in corpus.held_out]) for alert in ALERTS]
    held_out = [it for it in simulated if it.seed in corpus.held_out]
    incidents, detector = total(held_out), noticed(held_out)
    page = markdown(
        list(dict.fromkeys((it.name, it.description, it.label) for it in cases)),
        (corpus.seeds, corpus.held_out),
        list(zip(fitted, fresh, strict=True)),
        incidents,
        detector,
    )
    if args.write is not None:
        write_file(args.write, page)
    if args.json:
        print(
            json.dumps(
                {
                    "fitted": [it.as_json() for it in fitted],
                    "held_out": [it.as_json() for it in fresh],
                    "incidents": incidents.as_json(),
                    "detector": detector.as_json(),
                },
                indent=2,
            )
        )
    elif args.write is None:
        print(page, end="")
    return 1 if any(it.false or it.missed for it in fitted) else 0
