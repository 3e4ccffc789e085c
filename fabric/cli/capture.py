"""``fabric capture``: packets at ports of a scenario or run as a pcapng file, for Wireshark and tshark."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import merge
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric.cli.options.output import STDOUT, add_out, problems_of_out
from fabric.cli.options.sets import add_sets
from fabric.cli.options.tapped import frame_maker, ports_called, problems_of_model
from fabric.errors import InputErrors, Problem, UnitError

if TYPE_CHECKING:
    from fabric.capture.process import Frame
    from fabric.capture.sessions import Segment
    from fabric.capture.taps import Sighting
    from fabric.cli.terminal.bar import Bar
    from fabric.scenario.compile.scenario import CompiledScenario
    from fabric.scenario.schema.scenario import Scenario
    from fabric.topology.model import Fabric

_LIMIT: Final = 100_000
_BGP: Final = "bgp"
_KINDS: Final = ("data", "ack", "nak", "cnp", "pfc", "arp", "datagram", "flooded", "notice", _BGP)
_Packet = tuple[int, str, "Frame"]
"""(time in picoseconds, kind, frame with its notes)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("source", metavar="SOURCE", type=Path, help="scenario file, or a run of `fabric run`")
    parser.add_argument(
        "--port",
        metavar="DEVICE:PORT",
        action="append",
        required=True,
        help="port to capture at, both directions, such as leaf1:Ethernet0; repeatable; DEVICE: all of its ports",
    )
    add_out(parser, "FILE", "pcapng file to write; '-' is standard output, for a pipe to Wireshark", required=True)
    parser.add_argument("--from", metavar="TIME", dest="start", help="first moment, such as 1ms (default: the start)")
    parser.add_argument("--to", metavar="TIME", dest="end", help="end, exclusive (default: the end of the run)")
    parser.add_argument("--flow", metavar="SOURCE,TARGET", help="only packets between these two hosts, both directions")
    parser.add_argument(
        "--class", metavar="N", dest="class_", type=int, choices=range(8), help="only this class: 0 to 7"
    )
    parser.add_argument(
        "--kind", metavar="KIND", action="append", choices=_KINDS, help=f"only {', '.join(_KINDS)}; repeatable"
    )
    parser.add_argument(
        "--limit", metavar="N", type=int, default=_LIMIT, help=f"stop after N packets (default: {_LIMIT:,})"
    )
    parser.add_argument(
        "--dilation",
        metavar="RATIO",
        type=float,
        help="seconds of wall clock per simulated second from --from on, as in `fabric serve`, so that a reader of "
        "the pipe sees packets come; without it, as fast as possible",
    )
    add_sets(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.epilog = (
        "The scenario is simulated again up to the end of the capture. A packet's comment says why it was marked or "
        "discarded. BGP before the start of the run: `fabric bgp capture`.\n\nexamples:\n"
        "  fabric capture incast --port leaf1:Ethernet0 --to 200us -o x.pcapng\n"
        "  fabric capture incast --port leaf1 --dilation 10000 -o - | wireshark -k -i -"
    )


def run(args: argparse.Namespace) -> int:
    """Simulate, write the file, print a summary."""
    from fabric.capture.process import FrameFile  # noqa: PLC0415  --help must not load an engine
    from fabric.cli.terminal.bar import Bar  # noqa: PLC0415
    from fabric.cli.terminal.compiler_note import CompilerNote  # noqa: PLC0415
    from fabric.units import PS_PER_NS, PS_PER_S, format_time_ps  # noqa: PLC0415

    scenario, compiled = _compiled(args.source, args.sets)
    fabric = compiled.fabric
    problems = [*problems_of_model(scenario), *_problems_of_file(args)]
    ports = list(dict.fromkeys(port for name in args.port for port in ports_called(fabric, name, "--port", problems)))
    pair = _flow(fabric, args.flow, problems)
    problems += _problems_of_kinds(args, has_bgp=compiled.control is not None)
    start_ps, end_ps = (_time(text, option, problems) for text, option in ((args.start, "--from"), (args.end, "--to")))
    start_ps, end_ps = start_ps or 0, compiled.duration_ps if end_ps is None else min(end_ps, compiled.duration_ps)
    if start_ps >= end_ps and not problems:
        problems.append(
            Problem(
                "--from", f"{format_time_ps(start_ps)} is not before the end, {format_time_ps(end_ps)}", "give less"
            )
        )
    if args.limit < 1:
        problems.append(Problem("--limit", f"{args.limit} packets", "give at least 1"))
    if args.dilation is not None and not 0 < args.dilation < float("inf"):
        problems.append(Problem("--dilation", f"{args.dilation:g} is no ratio", "such as 10000: 1 ms takes 10 s"))
    if problems:
        raise InputErrors("options", problems)

    counts: Counter[str] = Counter()
    stopped = False
    bar = Bar(sys.stderr, quiet=args.quiet)
    file = FrameFile(None if args.out == STDOUT else args.out)
    begun_s = time.monotonic()
    try:
        with CompilerNote(sys.stderr, quiet=args.quiet):
            for time_ps, kind, frame in _packets(args, scenario, compiled, ports, pair, (start_ps, end_ps), bar):
                if counts.total() == args.limit:
                    stopped = True
                    break
                if args.dilation is not None:
                    due_s = begun_s + (time_ps - start_ps) / PS_PER_S * args.dilation
                    time.sleep(max(0.0, due_s - time.monotonic()))
                file.write(time_ps // PS_PER_NS, frame, flush=args.dilation is not None)
                counts[kind] += 1
    finally:
        bar.close()
        file.close()
    _summarise(args, counts, stopped=stopped)
    return 0


def _packets(
    args: argparse.Namespace,
    scenario: Scenario,
    compiled: CompiledScenario,
    ports: Sequence[int],
    pair: frozenset[int],
    window_ps: tuple[int, int],
    bar: Bar,
) -> Iterator[_Packet]:
    """All wanted packets in the order of time, as the simulation comes to them."""
    from fabric.capture.packets import KINDS  # noqa: PLC0415  as in run()
    from fabric.capture.taps import RECORD, Taps  # noqa: PLC0415
    from fabric.dataplane.engine.driver import Emulator  # noqa: PLC0415
    from fabric.units import format_time_ps  # noqa: PLC0415

    start_ps, end_ps = window_ps
    engine = Emulator(
        compiled.fabric, compiled.params, compiled.edits, record=RECORD, reroute_delay_ps=compiled.reroute_delay_ps
    )
    taps = Taps(engine, ports, [edit.time_ps for edit in compiled.edits])
    packets = frame_maker(scenario, compiled)(engine)

    def of_hosts() -> Iterator[_Packet]:
        for number, seen in enumerate(taps.sightings(start_ps, end_ps)):
            passed = f"{format_time_ps(seen.time_ps)} of {format_time_ps(end_ps)}, {number:,} packets"
            bar.show(seen.time_ps - start_ps, end_ps - start_ps, passed)
            if _wanted(seen, pair, args.class_, args.kind):
                yield seen.time_ps, KINDS[seen.frame["kind"]], packets.frame(seen)

    # A control plane's messages have neither a flow of hosts nor, as they take no bandwidth, a class.
    bgp: list[Segment] = []
    if compiled.control is not None and not pair and args.class_ is None and (not args.kind or _BGP in args.kind):
        from fabric.capture.sessions import segments  # noqa: PLC0415

        bgp = segments(compiled.control, compiled.fabric, frozenset(ports), start_ps, end_ps)
    switches = ((it.time_ps, _BGP, it.frame) for it in bgp)
    if set(args.kind or ()) == {_BGP}:
        return switches
    return merge(of_hosts(), switches, key=lambda it: it[0])


def _summarise(args: argparse.Namespace, counts: Counter[str], *, stopped: bool) -> None:
    """What was written; on standard error where the capture itself goes to standard output."""
    shown = sys.stderr if args.out == STDOUT else sys.stdout
    if args.json:
        told = {"file": str(args.out), "packets": counts.total(), "kinds": counts, "limit_reached": stopped}
        print(json.dumps(told), file=shown)
        return
    parts = ", ".join(f"{number:,} {kind}" for kind, number in counts.most_common())
    where = "standard output" if args.out == STDOUT else args.out
    print(f"{counts.total():,} packets in {where}{': ' + parts if parts else ''}", file=shown)
    if stopped:
        print(f"stopped at --limit {args.limit:,}; there are more packets", file=shown)


def _problems_of_kinds(args: argparse.Namespace, *, has_bgp: bool) -> list[Problem]:
    """Options that leave no packet to capture."""
    problems = []
    kinds = set(args.kind or ())
    if args.flow is not None and kinds and kinds <= {"pfc", _BGP}:
        problems.append(
            Problem("--flow", "has no effect with --kind pfc or bgp: neither belongs to a flow", "leave it out")
        )
    if _BGP in kinds and not has_bgp:
        problems.append(
            Problem("--kind bgp", "the scenario has no control plane: its routing is shortest-path", "set routing: bgp")
        )
    if args.class_ is not None and kinds == {_BGP}:
        problems.append(Problem("--class", "has no effect with --kind bgp: its messages have no class", "leave it out"))
    return problems


def _problems_of_file(args: argparse.Namespace) -> list[Problem]:
    """Why the capture cannot be written to --out."""
    out: Path = args.out
    if out == STDOUT:
        if sys.stdout.isatty():
            return [Problem("--out -", "a capture is binary", "pipe it to `wireshark -k -i -`, or name a file")]
        return []
    if args.source.is_dir() and args.source.resolve() in out.resolve().parents:
        return [Problem(f"--out {out}", f"lies in the run {args.source}", "name a file outside of the run")]
    return problems_of_out(out, (args.source,), ())


def _compiled(source: Path, sets: Sequence[str]) -> tuple[Scenario, CompiledScenario]:
    from fabric.runs.recompile import recompiled  # noqa: PLC0415  as in run()
    from fabric.runs.rundir import RunDir  # noqa: PLC0415
    from fabric.scenario.compile.scenario import compile_scenario  # noqa: PLC0415
    from fabric.scenario.load import load_scenario  # noqa: PLC0415

    if not source.is_dir():
        scenario = load_scenario(source, sets)
        return scenario, compile_scenario(scenario)
    if sets:
        raise InputErrors(
            "options",
            [Problem("--set", f"{source} is a run, and a run cannot be changed", "name the scenario file instead")],
        )
    return recompiled(RunDir.open(source), "capturing packets")


def _flow(fabric: Fabric, text: str | None, problems: list[Problem]) -> frozenset[int]:
    """NodeIds of the two hosts; empty: any."""
    from fabric.show.subject import node_called  # noqa: PLC0415  as in run()

    if text is None:
        return frozenset()
    names = text.split(",")
    if len(names) != 2:
        problems.append(Problem("--flow", f"'{text}' is no pair of hosts", "such as --flow host1,host2"))
        return frozenset()
    if names[0].strip() == names[1].strip():
        problems.append(Problem("--flow", f"'{text}' is one host", "name two hosts, such as --flow host1,host2"))
        return frozenset()
    found = [node_called(fabric, name.strip(), "host", problems, "--flow") for name in names]
    return frozenset(int(node.id) for node in found if node is not None)


def _time(text: str | None, option: str, problems: list[Problem]) -> int | None:
    from fabric.units import parse_time_ps  # noqa: PLC0415  as in run()

    if text is None or text.strip() == "0":
        return None if text is None else 0
    try:
        return parse_time_ps(text)
    except UnitError as error:
        problems.append(Problem(option, error.text, error.hint))
        return None


def _wanted(seen: Sighting, pair: frozenset[int], class_: int | None, kinds: Sequence[str] | None) -> bool:
    from fabric.capture.packets import KINDS  # noqa: PLC0415  as in run()

    frame = seen.frame
    kind = KINDS[frame["kind"]]
    if kinds and kind not in kinds:
        return False
    if kind == "pfc":
        return not pair and (class_ is None or bool(int(frame["classes"]) >> class_ & 1))
    if pair and frozenset((int(frame["src"]), int(frame["dst"]))) != pair:
        return False
    return class_ is None or int(frame["tc"]) == class_
