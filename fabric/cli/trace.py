"""``fabric trace info | convert | compare | export``: Chakra, GOAL and SimAI files, and logs of nccl-tests."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.cli.trace_export import add_options, run_export
from fabric.errors import InputErrors, Problem
from fabric.units import count, format_bit_rate, format_size_bytes, format_time_ps
from fabric.visible import visible

if TYPE_CHECKING:  # annotations only: each action loads what it needs
    from fabric.traces.graph import Trace
    from fabric.traces.nccl_tests.compare import Comparison, Fit

EXIT_FINDING: Final = 1
_PS_PER_US: Final = 1_000_000


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the actions and their options."""
    parser.epilog = (
        "A Chakra trace has a file for each rank, PREFIX.0.et and so on: name its PREFIX.\n"
        "examples:\n  fabric trace info traces/all_reduce\n  fabric trace convert traces/all_reduce all_reduce.goal\n"
        "  fabric trace compare hardware.txt other.json\n  fabric trace export training-job --format chakra -o traces"
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    info = actions.add_parser("info", help="ranks, operations, bytes and problems; exit code 1 if it cannot be run")
    info.add_argument("file", type=Path, metavar="FILE", help="file, or PREFIX of Chakra files")
    convert = actions.add_parser("convert", help="write a trace in another format")
    convert.add_argument("file", type=Path, metavar="FILE", help="file, or PREFIX of Chakra files")
    convert.add_argument("to", type=Path, metavar="TO", help="NAME.goal: text; NAME.bin: binary GOAL; else a PREFIX of "
                         "Chakra files")  # fmt: skip
    convert.add_argument(
        "--algorithm",
        action="append",
        default=[],
        metavar="OPERATION=NAME",
        help="algorithm of a collective operation where TO has none, such as all-reduce=double-binary-tree",
    )
    compare = actions.add_parser("compare", help="times by size of two nccl-tests logs, or of a log and a run")
    compare.add_argument("log", type=Path, metavar="FILE", help="output of nccl-tests, text or JSON")
    compare.add_argument("other", type=Path, metavar="OTHER", help="another one, the directory of a run, or that "
                         "of `fabric collective --out`")  # fmt: skip
    export = actions.add_parser("export", help="write the schedules of a run or a scenario for other tools")
    add_options(export)
    for action in (info, convert, compare, export):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace) -> int:
    """Show, convert, compare or export."""
    if args.action == "info":
        return _info(args)
    if args.action == "convert":
        return _convert(args)
    if args.action == "export":
        return run_export(args)
    return _compare(args)


def _info(args: Namespace) -> int:
    from fabric.traces.formats import format_of, read_trace  # noqa: PLC0415  protobuf is loaded for this action

    name = format_of(args.file)
    if name == "simai-topology":
        return _topology(args)
    if name == "nccl-tests":
        return _log(args)
    return _trace(args, read_trace(args.file, name))


def _trace(args: Namespace, trace: Trace) -> int:
    from fabric.traces.summary import summarise  # noqa: PLC0415

    found = summarise(trace)
    if args.json:
        print(json.dumps({"file": str(args.file), **asdict(found)}, indent=2))
    else:
        print(visible(f"{args.file}: {found.format}, {count(found.n_ranks, 'rank')}"))
        print(f"operations   {found.n_operations:,}: " + ", ".join(f"{n:,} {it}" for it, n in found.operations.items()))
        if found.message_bytes:
            print(f"messages     {format_size_bytes(found.message_bytes)}")
        for operation, moved in found.collective_bytes.items():
            print(f"{operation:<12} at least {format_size_bytes(moved)} between ranks")
        low, high = found.compute_ps
        if high:
            print(f"computation  {format_time_ps(low)} to {format_time_ps(high)} a rank")
        if found.without_network_ps is not None:
            print(f"length       {format_time_ps(found.without_network_ps)} with a network that takes no time")
        if found.groups:
            some = ", ".join(f"{name} ({n})" for name, n in list(found.groups.items())[:8])
            print(visible(f"groups       {len(found.groups):,}: {some}{' ...' if len(found.groups) > 8 else ''}"))
        for note in found.notes:
            print(visible(f"note         {note}"))
        for problem in found.problems:
            print(f"problem      {problem}")
    return EXIT_FINDING if found.problems else 0


def _topology(args: Namespace) -> int:
    from fabric.traces.simai.topology import read_topology  # noqa: PLC0415

    found = read_topology(args.file)
    rates = sorted({link.rate_bps for link in found.links}, reverse=True)
    if args.json:
        about = {"file": str(args.file), "format": "simai-topology", "gpu": found.gpu, "n_gpus": found.n_gpus}
        counts = {"gpus_per_server": found.gpus_per_server, "n_nvswitches": len(found.nvswitches)}
        print(json.dumps({**about, **counts, "n_switches": len(found.switches), "n_links": len(found.links),
                          "rates_bps": rates}, indent=2))  # fmt: skip
    else:
        print(visible(f"{args.file}: simai-topology, {found.n_gpus:,} {found.gpu}, {found.gpus_per_server} a server"))
        print(f"switches     {len(found.nvswitches):,} NVSwitches, {len(found.switches):,} others")
        print(f"links        {len(found.links):,}: {', '.join(map(format_bit_rate, rates[:6]))}")
    return 0


def _log(args: Namespace) -> int:
    from fabric.traces.nccl_tests.compare import fit, series  # noqa: PLC0415
    from fabric.traces.nccl_tests.log import read_log  # noqa: PLC0415

    log = read_log(args.file)
    line = fit(series(log).time_us.items())
    if args.json:
        print(json.dumps({**asdict(log), "format": "nccl-tests", "fit": _fit_json(line)}, indent=2))
    else:
        print(visible(f"{args.file}: nccl-tests, {log.operation or 'operation not named'}, "
                      f"{log.n_ranks or 'unknown number of'} ranks"))  # fmt: skip
        sizes = sorted(row.size_bytes for row in log.rows)
        print(f"sizes        {len(sizes)}: {format_size_bytes(sizes[0])} to {format_size_bytes(sizes[-1])}")
        print(f"fit          {_fit_text(line)}")
        for note in log.notes:
            print(visible(f"note         {note}"))
    return 0


def _convert(args: Namespace) -> int:
    from fabric.traces.builder import builder  # noqa: PLC0415
    from fabric.traces.formats import FORMATS, WRITTEN, read_trace, write_trace  # noqa: PLC0415

    name = WRITTEN.get(args.to.suffix, "chakra")
    chosen = dict(item.partition("=")[::2] for item in args.algorithm)
    if chosen and FORMATS[name].has_collectives:
        text = f"has no effect: {name} keeps collective operations as they are"
        raise InputErrors("command line", [Problem("--algorithm", text, "remove it, or write GOAL")])
    if args.to.is_dir() or not args.to.parent.is_dir():
        raise InputErrors("command line", [Problem(str(args.to), "is not a file in a directory that exists",
                                                   "name a file, or make the directory")])  # fmt: skip
    trace = read_trace(args.file)
    written = write_trace(trace, args.to, name, builder(chosen))
    about = {"from": trace.format, "to": name, "n_ranks": written.n_ranks, "operations_read": trace.n_operations,
             "operations_written": written.n_operations}  # fmt: skip
    if args.json:
        print(json.dumps(about, indent=2))
    else:
        print(f"{count(trace.n_operations, 'operation')} of {trace.format} became "
              f"{count(written.n_operations, 'operation')} of {name}, {count(written.n_ranks, 'rank')}")  # fmt: skip
    return 0


def _compare(args: Namespace) -> int:
    from fabric.traces.nccl_tests.compare import compare, series  # noqa: PLC0415
    from fabric.traces.nccl_tests.log import read_log  # noqa: PLC0415

    first = series(read_log(args.log))
    if args.other.is_dir():
        from fabric.runs.operation_times import of_folder  # noqa: PLC0415  pyarrow is loaded for this alone

        second = of_folder(args.other, first)
    else:
        second = series(read_log(args.other))
    found = compare(first, second)
    if args.json:
        print(json.dumps(_comparison_json(found), indent=2))
        return 0
    print(visible(f"1: {first.name}\n2: {second.name}", lines=True))
    print(f"{'size':>10} {'time 1':>10} {'time 2':>10} {'2 / 1':>8}")
    for it in found.ratios:
        print(f"{format_size_bytes(it.size_bytes):>10} {format_time_ps(it.first_us * _PS_PER_US):>10} "
              f"{format_time_ps(it.second_us * _PS_PER_US):>10} {it.ratio:>8.3f}")  # fmt: skip
    print(f"mean ratio   {found.geometric_mean_ratio:.3f} (geometric)")
    print(f"fit 1        {_fit_text(found.first_fit)}\nfit 2        {_fit_text(found.second_fit)}")
    for name, sizes in (("1", found.only_first), ("2", found.only_second)):
        if sizes:
            print(f"only in {name}    {count(len(sizes), 'size')}")
    for note in found.notes:
        print(visible(f"note         {note}"))
    return 0


def _comparison_json(found: Comparison) -> dict[str, Any]:
    about = asdict(found)
    for name in ("first", "second"):
        about[name].pop("time_us")
        about[f"{name}_fit"] = _fit_json(getattr(found, f"{name}_fit"))
    about["ratios"] = [it._asdict() for it in found.ratios]
    return about


def _fit_json(line: Fit | None) -> dict[str, float | None] | None:
    if line is None:
        return None
    return {"alpha_us": line.alpha_us, "beta_gbs": line.beta_gbs if line.beta_gbs < float("inf") else None}


def _fit_text(line: Fit | None) -> str:
    if line is None:
        return "needs two sizes"
    return f"alpha {line.alpha_us:.4g} us, beta {line.beta_gbs:.4g} GB/s"
