"""``fabric serve SCENARIO``: simulate a scenario against the wall clock, with metrics for Prometheus and a control API.

Metrics are at /metrics; pause, speed, faults and configuration changes at /api/v1, with bearer tokens that are made at
start and written to files; every change is logged (docs/howto/live.md). ``fabric top`` shows the run in a terminal.
Ctrl-C and SIGTERM end it; with --out the results are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fabric.cli.options.dilation import DEFAULT_DILATION
from fabric.cli.options.estimating import add_yes, admission
from fabric.cli.options.gnmi import add_gnmi, gnmi_problems, gnmi_reader, open_gnmi
from fabric.cli.options.http import access_of, add_http, http_problems
from fabric.cli.options.live_capture import add_live_capture, capture_problems, open_capture
from fabric.cli.options.output import LineFile, add_out
from fabric.cli.options.sets import add_sets
from fabric.cli.options.threads import add_threads, problems_of_threads
from fabric.cli.report import EXPORTERS
from fabric.cli.run import COMPAT
from fabric.errors import InputErrors, Problem, UnitError
from fabric.units import PS_PER_NS, PS_PER_S, format_time_ps, parse_time_ps
from fabric.visible import visible

if TYPE_CHECKING:  # loaded when there is something to serve
    from collections.abc import Iterator, Mapping
    from types import FrameType

    from fabric.runs.session import Plan
    from fabric.scenario.compile.scenario import CompiledScenario
    from fabric.scenario.schema.scenario import Scenario
    from telemetry.live.audit import AuditLog
    from telemetry.live.polled import Seen
    from telemetry.live.simulation import Observer, Simulation
    from telemetry.live.token import Role, Tokens
    from telemetry.live.world import LiveWorld

DEFAULT_LISTEN = "127.0.0.1:9464"
_LEVELS = ("debug", "info", "warning", "error", "critical")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = (
        "Simulate a scenario against the wall clock: one simulated second takes --dilation seconds, so that "
        "Prometheus,\n"
        "which scrapes every few seconds, can see events of microseconds. Metrics are at http://ADDRESS:PORT/metrics.\n"
        "An API with tokens at /api/v1 pauses the run, changes its speed, injects faults and changes configurations.\n"
        "`fabric top` shows the run in a terminal. Ctrl-C ends it."
    )
    parser.epilog = (
        "examples:\n  fabric serve scenarios/pause-storm.yml --loop\n"
        "  fabric serve scenarios/incast.yml --dilation 5000 --out runs/live --log events.jsonl\n"
        "  fabric serve scenarios/pause-storm.yml --loop --gnmi 127.0.0.1:9339\n"
        "  fabric serve pause-storm --capture leaf1:Ethernet12 --capture-to storm.fifo\n"
        "  fabric top"
    )
    parser.add_argument("scenario", metavar="SCENARIO", type=Path, help="scenario file (YAML)")
    add_sets(parser)
    parser.add_argument(
        "--dilation",
        metavar="RATIO",
        type=float,
        default=DEFAULT_DILATION,
        help=f"seconds of wall clock per simulated second (default {DEFAULT_DILATION:g}, as in `fabric alerts rules`: "
        "1 ms takes 15 s)",
    )
    parser.add_argument(
        "--loop", action="store_true", help="repeat the scenario; counters continue, so that rate() sees no reset"
    )
    parser.add_argument(
        "--listen",
        metavar="ADDRESS:PORT",
        default=DEFAULT_LISTEN,
        help=f"listen address (default {DEFAULT_LISTEN}); port 0 takes any free one",
    )
    parser.add_argument(
        "--duration",
        metavar="TIME",
        help="end after this much wall clock time, such as 30s; without "
        "it, serve until stopped, beyond the scenario's end too",
    )
    parser.add_argument(
        "--compat",
        choices=COMPAT,
        help="serve the same values under the names of that exporter, for dashboards made for it; "
        "scrape with honor_labels: true",
    )
    parser.add_argument(
        "--as-seen-by",
        choices=EXPORTERS,
        default="ideal",
        help="show the values that a real exporter would have polled by now, instead of the true "
        "counters (default ideal)",
    )
    parser.add_argument(
        "--also-seen-by",
        choices=[name for name in EXPORTERS if name != "ideal"],
        action="append",
        default=[],
        help="show them at /metrics/NAME as well, of the same run; may be repeated",
    )
    add_out(parser, "DIR", "write a run directory, as `fabric run` does")
    parser.add_argument("--force", action="store_true", help="replace the run in --out")
    parser.add_argument("--log", metavar="FILE", help="append events as JSON lines to FILE; '-' is standard output")
    parser.add_argument(
        "--log-level",
        choices=_LEVELS,
        default="info",
        help="least severity of --log (default info: all but ECN marks and rate cuts)",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        type=Path,
        help="read the token of the role 'operate', which may change the run, from FILE. Default: "
        "$FABRIC_TOKEN; without it tokens of both roles are made and written to files that only "
        "you can read, and their paths are printed",
    )
    parser.add_argument(
        "--view-token-file",
        metavar="FILE",
        type=Path,
        help="the same for the role 'view', which may only read. Default: $FABRIC_VIEW_TOKEN",
    )
    parser.add_argument(
        "--audit",
        metavar="FILE",
        type=Path,
        help="append a JSON line to FILE for every change request: role, time, request, result "
        "(default with --out: DIR.audit.jsonl)",
    )
    add_http(parser)
    add_gnmi(parser)
    add_live_capture(parser)
    add_threads(parser)
    add_yes(parser)
    parser.add_argument("--quiet", action="store_true", help="print only warnings on standard error")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object when the server is ready: url, gnmi, views, token_file, view_token_file, "
        "audit_file, pid",
    )


def run(args: argparse.Namespace) -> int:
    """Compile, start the server, simulate until stopped."""
    duration_s = _checked(args)
    from fabric.scenario.load import load_scenario  # noqa: PLC0415  pydantic and the compiler take their time to load

    scenario = load_scenario(args.scenario, args.sets)
    from fabric.render import run_page as page  # noqa: PLC0415
    from fabric.runs import simulate  # noqa: PLC0415
    from fabric.runs.rundir import RunDir  # noqa: PLC0415

    if args.out is None:
        scenario = with_pauses(scenario)
    check = admission(scenario, yes=args.yes, out=args.out, paced=True)
    compiled, plan = simulate.prepare(scenario, sets=args.sets, admit=check)
    with ExitStack() as stack:
        simulation, audit = _open(args, scenario, compiled, plan, stack)
        ended_by = ["a request"]
        if duration_s is not None:
            timer = threading.Timer(duration_s, _end, (simulation, ended_by))
            timer.daemon = True
            timer.start()
            stack.callback(timer.cancel)
        if audit is not None:
            audit.write("console", "", "serve", "begins", pid=os.getpid(), run=plan.name)
        with _stoppable(simulation, ended_by):
            simulation.simulate()
        if audit is not None:
            number, now_ps = simulation.moment
            audit.write(
                "console", "", "serve", "ends", by=ended_by[-1], sim_time_ns=now_ps // PS_PER_NS, **{"pass": number}
            )
    if args.out is not None and not args.quiet:
        found = RunDir.open(args.out)
        page.print_summary(found.manifest, found.summary, sys.stderr, args.out)
        print(f"results in {visible(str(args.out))}", file=sys.stderr)
    return 0


def with_pauses(scenario: Scenario) -> Scenario:
    """The scenario, recording pauses also where it names other events, because `fabric top` shows the pause trees.

    A run directory has what its scenario asks for, so this is for runs without one.
    """
    events = scenario.telemetry.events
    if "pause" in events:
        return scenario
    return scenario.model_copy(
        update={"telemetry": scenario.telemetry.model_copy(update={"events": (*events, "pause")})}
    )


def _checked(args: argparse.Namespace) -> float | None:
    """--duration in seconds; every problem of the options together."""
    from telemetry.export.server import ListenError, parse_listen  # noqa: PLC0415  it brings prometheus_client
    from telemetry.live.pacing import MAX_DILATION, MIN_DILATION, is_dilation  # noqa: PLC0415

    problems = []
    duration_s = None
    if not is_dilation(args.dilation):
        problems.append(
            Problem(
                "--dilation",
                f"{args.dilation:g} is not a dilation",
                f"give seconds of wall clock per simulated second, {MIN_DILATION:g} to "
                f"{MAX_DILATION:g}; with 1000, 1 ms takes 1 s",
            )
        )
    if args.duration is not None:
        try:
            duration_s = parse_time_ps(args.duration) / PS_PER_S
        except UnitError as error:
            problems.append(Problem("--duration", error.text, error.hint))
        else:
            if duration_s <= 0:
                problems.append(
                    Problem("--duration", f"{args.duration} is not a valid duration", "give more, such as 30s")
                )
    try:
        parse_listen(args.listen)
    except ListenError as error:
        problems.append(Problem("--listen", error.text, error.hint))
    shown = [args.as_seen_by, *args.also_seen_by]
    problems += [
        Problem("--also-seen-by", f"'{name}' is shown already", "leave it out")
        for name in EXPORTERS
        if shown.count(name) > 1
    ]
    problems += problems_of_threads(args)
    if args.out is not None and args.loop:
        problems.append(Problem("--out", "contradicts --loop: a run directory holds one pass", "leave out one of them"))
    if args.force and args.out is None:
        problems.append(Problem("--force", "has no effect without --out", "name the directory to replace"))
    if args.log == "-" and args.json:
        problems.append(Problem("--log", "'-' and --json both use standard output", "log to a file"))
    if args.log is None and args.log_level != "info":
        problems.append(Problem("--log-level", "has no effect without --log", "name the log: --log FILE"))
    problems += http_problems(args)
    problems += gnmi_problems(args)
    problems += capture_problems(args)
    if problems:
        raise InputErrors("options", problems)
    return duration_s


def _open(
    args: argparse.Namespace, scenario: Scenario, compiled: CompiledScenario, plan: Plan, stack: ExitStack
) -> tuple[Simulation, AuditLog | None]:
    """Start the HTTP interface and print its address."""
    from prometheus_client.registry import CollectorRegistry  # noqa: PLC0415

    from fabric import __version__  # noqa: PLC0415
    from fabric.cli.terminal.progress import ProgressLine  # noqa: PLC0415
    from fabric.dataplane.state.compiled.compiling import CompileClock  # noqa: PLC0415
    from fabric.explain.eventlines import Severity  # noqa: PLC0415
    from telemetry.export.compat.registry import LAYERS  # noqa: PLC0415
    from telemetry.export.server import serve  # noqa: PLC0415
    from telemetry.live.api import Api  # noqa: PLC0415
    from telemetry.live.changes import schemas  # noqa: PLC0415
    from telemetry.live.collector import LiveCollector  # noqa: PLC0415
    from telemetry.live.control import LiveControl  # noqa: PLC0415
    from telemetry.live.events import EventSink, FirstAnswer  # noqa: PLC0415
    from telemetry.live.mailbox import Mailbox  # noqa: PLC0415
    from telemetry.live.pacing import Pacer  # noqa: PLC0415
    from telemetry.live.results import LiveResults  # noqa: PLC0415
    from telemetry.live.roots import LiveRoots  # noqa: PLC0415
    from telemetry.live.simulation import Program, Simulation  # noqa: PLC0415
    from telemetry.live.truth import Truth  # noqa: PLC0415
    from telemetry.live.world import LiveWorld  # noqa: PLC0415
    from telemetry.sources.run_info import of_plan  # noqa: PLC0415

    pacer = Pacer(args.dilation)
    log: TextIO | None = sys.stdout if args.log == "-" else None
    if args.log not in {None, "-"}:
        log = stack.enter_context(LineFile(Path(args.log), "a"))
    sink = EventSink(plan.name, compiled.fabric, lambda: pacer.dilation, log, Severity(args.log_level))
    world = LiveWorld(scenario, compiled, args.threads, sink)
    layer = LAYERS[args.compat] if args.compat else None
    control = LiveControl(world)
    pollers = (
        Truth(world, control) if args.as_seen_by == "ideal" else _seen(args.as_seen_by, args.dilation, compiled, world)
    )
    collector = LiveCollector(of_plan(plan), layer, pollers.only)
    roots = LiveRoots(of_plan(plan), compiled.fabric, world, control, plan.truth, compiled.sampling_ps)
    observers: list[Observer] = [world, sink, control, pollers, collector, roots]
    views: dict[str, tuple[Seen, LiveCollector]] = {}
    for name in args.also_seen_by:
        seen = _seen(name, args.dilation, compiled, world)
        views[name] = seen, LiveCollector(of_plan(plan), layer, seen.only)
        observers += views[name]
    reader = gnmi_reader(args, of_plan(plan), pollers.only, observers)
    if not args.quiet:
        line = stack.enter_context(ProgressLine(sys.stderr, quiet=False))  # explains a long wait for the compiler
        observers.append(FirstAnswer(line.first_answer))
    if args.out is not None:
        observers.append(
            LiveResults(args.out, plan, world, stack, force=args.force, threads=args.threads, dilation=args.dilation)
        )
    observers += open_capture(args, scenario, compiled, world, stack)
    compiler = stack.enter_context(CompileClock())
    simulation = Simulation(
        Program(compiled.duration_ps, compiled.sampling_ps, compiled.stop_when_done, args.loop),
        world.make_engine,
        pacer,
        Mailbox(),
        observers,
        compiled_s=lambda: compiler.seconds,
    )
    collector.watch(simulation, pollers.read, pollers.last)
    registry = CollectorRegistry()
    registry.register(collector)
    registries = {name: CollectorRegistry() for name in views}
    for name, (seen, its) in views.items():
        its.watch(simulation, seen.read, seen.last)
        registries[name].register(its)
    tokens, kept = _tokens(args)
    audit = _audit(args, stack)
    about = {
        "scenario": plan.name,
        "version": __version__,
        "hosts": len(compiled.fabric.hosts),
        "switches": len(compiled.fabric.switches),
    }
    api = Api(simulation, world, roots, tokens, about, schemas(routed=compiled.control is not None), audit)
    server = stack.enter_context(serve(args.listen, registry, api.beside, access_of(args), views=registries))
    gnmi = open_gnmi(args, reader, simulation, pollers, stack)
    _announce(args, compiled, server.url, gnmi, _keep(kept, server.address[1], stack), audit)
    return simulation, audit


def _audit(args: argparse.Namespace, stack: ExitStack) -> AuditLog | None:
    from telemetry.live.audit import AuditLog, beside  # noqa: PLC0415

    if args.audit is None and args.out is None:
        return None
    return stack.enter_context(AuditLog(args.audit if args.audit is not None else beside(args.out)))


def _seen(exporter: str, dilation: float, compiled: CompiledScenario, world: LiveWorld) -> Seen:
    from telemetry.live.polled import Seen  # noqa: PLC0415  only where it is asked for
    from telemetry.record.polling.profiles import PROFILES  # noqa: PLC0415

    return Seen(world, PROFILES[exporter], compiled.fabric, dilation, compiled.seed)


def _announce(
    args: argparse.Namespace,
    compiled: CompiledScenario,
    url: str,
    gnmi: str | None,
    kept: Mapping[Role, Path],
    audit: AuditLog | None,
) -> None:
    """Print address and paths. Tokens are never printed: terminal output ends up in logs and screenshots."""
    from telemetry.live.token import Role  # noqa: PLC0415

    files = {Role.OPERATE: args.token_file, Role.VIEW: args.view_token_file, **kept}
    if args.json:
        print(
            json.dumps(
                {
                    "url": url,
                    "gnmi": gnmi,
                    "views": {name: f"{url}/{name}" for name in args.also_seen_by},
                    **{
                        name: None if path is None else str(path)
                        for name, path in (
                            ("token_file", files[Role.OPERATE]),
                            ("view_token_file", files[Role.VIEW]),
                            ("audit_file", None if audit is None else audit.path),
                        )
                    },
                    "pid": os.getpid(),
                    "scenario": compiled.name,
                    "dilation": args.dilation,
                }
            ),
            flush=True,
        )
    if args.quiet:
        return
    one_pass_s = compiled.duration_ps / PS_PER_S * args.dilation
    print(
        f"serving {compiled.name} at {url}, dilation {args.dilation:g}: its {format_time_ps(compiled.duration_ps)} "
        f"take {one_pass_s:g} s{', repeated' if args.loop else ''}",
        file=sys.stderr,
    )
    for name in args.also_seen_by:
        print(f"as seen by {name}: {url}/{name}", file=sys.stderr)
    paced = "" if args.dilation == DEFAULT_DILATION else f" --dilation {args.dilation:g}"
    print(f"alert rules for it: fabric alerts rules --out DIR{paced}; in a terminal: fabric top {url}", file=sys.stderr)
    if gnmi is not None:
        first = compiled.fabric.switches[0].name
        tls = "" if args.tls_cert else ", without TLS"
        print(f"gNMI at {gnmi}{tls}; targets are switches, such as {first}", file=sys.stderr)
    for role, path in kept.items():
        print(f"token of the role '{role}' in {path}", file=sys.stderr)
    if audit is not None:
        print(f"changes are logged in {audit.path}", file=sys.stderr)
    sys.stderr.flush()


def _tokens(args: argparse.Namespace) -> tuple[Tokens, Mapping[Role, str]]:
    """(all tokens, the generated tokens, which must be written to files)."""
    from telemetry.live.token import VARIABLE, VIEW_VARIABLE, Role, Tokens, make_token  # noqa: PLC0415

    operate, view = _given(args.token_file, VARIABLE), _given(args.view_token_file, VIEW_VARIABLE)
    made = {}
    if operate is None:
        operate = made[Role.OPERATE] = make_token()
        if view is None:  # with a given token no other is generated
            view = made[Role.VIEW] = make_token()
    return Tokens(operate, view), made


def _given(path: Path | None, variable: str) -> str | None:
    """The token of a file or an environment variable."""
    from telemetry.live import token  # noqa: PLC0415

    if path is None:
        text = os.environ.get(variable)
        return None if text is None else token.checked(text, f"${variable}")
    found = token.read_token(path)
    if token.is_open_to_others(path):
        print(f"warning: other users can read {path}; run: chmod 600 {path}", file=sys.stderr)
    return found


def _keep(made: Mapping[Role, str], port: int, stack: ExitStack) -> Mapping[Role, Path]:
    """Write tokens to the folder that `fabric top` searches, until the server ends."""
    from telemetry.live.token import token_path, write_token  # noqa: PLC0415

    kept = {}
    for role, token in made.items():
        kept[role] = path = token_path(port, os.environ, role)
        write_token(path, token)
        stack.callback(path.unlink, missing_ok=True)
    return kept


def _end(simulation: Simulation, ended_by: list[str]) -> None:
    """End the run after --duration."""
    ended_by.append("--duration")
    simulation.stop()


@contextmanager
def _stoppable(simulation: Simulation, ended_by: list[str]) -> Iterator[None]:
    """SIGINT and SIGTERM end the run with results; a second SIGINT ends it at once. `ended_by` gets the signal."""
    asked = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set() and number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        asked.set()
        ended_by.append(signal.Signals(number).name)
        simulation.stop()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
