"""`fabric job power RUN`: the power of the GPUs of a run as a series."""

from __future__ import annotations

import json
import math
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.cli.options.output import write_file
from fabric.errors import InputErrors, Problem, UnitError
from fabric.jobs.power import IDLE_SHARE, WAITING_SHARE
from fabric.jobs.presets import GPUS
from fabric.render.document import format_watts
from fabric.units import PS_PER_NS, PS_PER_S, format_time_ps, parse_time_ps

if TYPE_CHECKING:
    from fabric.jobs.power import Levels
    from fabric.render.document import Document
    from fabric.runs.gpu_power import RunPower

_SAMPLES: Final = 400
_MAX_SAMPLES: Final = 1_000_000
_W_PER_MW: Final = 10**6
_MW_PER_MS: Final = 10**9
"""Watts a second of 1 MW/ms."""


def add_power(actions: Any) -> ArgumentParser:  # noqa: ANN401  argparse's type of subparsers is private
    """Declare the action."""
    parser: ArgumentParser = actions.add_parser(
        "power", help="power of all GPUs of a run over time: peak, swing, steepest ramp in MW/ms"
    )
    parser.add_argument("dir", metavar="RUN", type=Path, help="run directory of a scenario with computations")
    parser.add_argument("--gpu", choices=tuple(GPUS), default="h100-sxm", help="GPU whose power is assumed")
    for state, share in (("compute", "its thermal design power"), ("wait", f"{WAITING_SHARE:.0%} of it"),
                         ("idle", f"{IDLE_SHARE:.0%} of it")):  # fmt: skip
        text = share.replace("%", " %%")
        parser.add_argument(
            f"--{state}-watts", type=float, metavar="W", help=f"power of a GPU ({state}; default {text})"
        )
    parser.add_argument(
        "--overhead-watts", type=float, default=0.0, metavar="W",
        help="constant power beside each GPU: processors, NICs, fans (default 0; a DGX H100 of 10.2 kW: 575)",
    )  # fmt: skip
    parser.add_argument(
        "--lag", default="5ms", metavar="TIME", help="time constant of the power regulators (default 5ms, assumed)"
    )
    parser.add_argument("--sample", metavar="TIME", help="distance of the series' samples (default: 400 over the run)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a chart: SVG, or an HTML page by its ending")
    return parser


def run_job_power(args: Namespace) -> int:
    """Print peak, swing and ramp, and with --json the series."""
    levels, lag_s, sample_s = _checked(args)
    from fabric.runs.gpu_power import run_power  # noqa: PLC0415
    from fabric.runs.rundir import RunDir  # noqa: PLC0415

    found = run_power(RunDir.open(args.dir), levels, lag_s)
    series = _series(found, sample_s)
    if args.plot is not None:
        _plot(args, found, series)
    if args.json:
        print(json.dumps(_json(args, found, levels, series), indent=1))
        return 0
    low, high = found.during_w
    trace = found.trace
    rows = [
        ("GPUs", f"{found.gpus:,}, computing {100 * found.busy_ratio:.3g} % of the time of their jobs"),
        ("mean", _watts(found.mean_w)),
        ("peak", _watts(high)),
        ("swing", f"{_watts(high - low)} while jobs run"),
        (
            "steepest ramp",
            f"{trace.steepest_w_per_s / _MW_PER_MS:.4g} MW/ms at {format_time_ps(trace.steepest_at_s * PS_PER_S)}",
        ),
        (
            "assumed",
            (
                f"{levels.computing:g} W computing, {levels.waiting:g} W waiting, {levels.idle:g} W idle, "
                f"{levels.overhead:g} W beside, a lag of {args.lag}"
            ),
        ),
    ]
    for name, text in rows:
        print(f"{name:<16} {text}")
    return 0


def _checked(args: Namespace) -> tuple[Levels, float, float | None]:
    from fabric.jobs.power import Levels  # noqa: PLC0415

    problems: list[Problem] = []
    times: dict[str, float] = {}
    for option in ("lag", "sample"):
        text = getattr(args, option)
        if text is None:
            continue
        try:
            times[option] = parse_time_ps(text) / PS_PER_S
        except UnitError as error:
            problems.append(Problem(f"--{option}", error.text, error.hint))
            continue
        if not times[option]:
            why = "the steepness would be infinite" if option == "lag" else "the series would never end"
            problems.append(Problem(f"--{option}", f"is 0: {why}", "give a time such as 5ms"))
    tdp = GPUS[args.gpu].tdp_watts
    defaults = {"compute": float(tdp), "wait": WAITING_SHARE * tdp, "idle": IDLE_SHARE * tdp, "overhead": 0.0}
    watts = {}
    for state, value in defaults.items():
        given = getattr(args, f"{state}_watts")
        watts[state] = value if given is None else given
        if not math.isfinite(watts[state]) or not 0 <= watts[state] <= 10**6:
            problems.append(Problem(f"--{state}-watts", f"{watts[state]:g} is not from 0 to 1,000,000", "correct it"))
    if problems:
        raise InputErrors("command line", problems)
    levels = Levels(watts["compute"], watts["wait"], watts["idle"], watts["overhead"])
    return levels, times["lag"], times.get("sample")


def _series(found: RunPower, sample_s: float | None) -> tuple[list[float], list[float]]:
    """(seconds, watts), the last moment of a job included."""
    import numpy as np  # noqa: PLC0415

    step = sample_s or found.last_s / _SAMPLES
    if found.last_s / step > _MAX_SAMPLES:
        text = f"makes more than {_MAX_SAMPLES:,} samples of {found.last_s:g} s"
        raise InputErrors("command line", [Problem("--sample", text, "give a longer time")])
    at = np.arange(0, found.last_s + step / 2, step)
    return at.tolist(), found.trace.sampled(at).tolist()


def _json(args: Namespace, found: RunPower, levels: Levels, series: tuple[list[float], list[float]]) -> dict[str, Any]:
    low, high = found.during_w
    trace = found.trace
    return {
        "gpus": found.gpus,
        "busy_ratio": found.busy_ratio,
        "mean_mw": found.mean_w / _W_PER_MW,
        "peak_mw": high / _W_PER_MW,
        "lowest_mw": low / _W_PER_MW,
        "swing_mw": (high - low) / _W_PER_MW,
        "steepest_mw_per_ms": trace.steepest_w_per_s / _MW_PER_MS,
        "steepest_at_ns": trace.steepest_at_s * PS_PER_S / PS_PER_NS,
        "energy_j": trace.energy_j(found.last_s),
        "parameters": {
            "gpu": args.gpu,
            "computing_watts": levels.computing,
            "waiting_watts": levels.waiting,
            "idle_watts": levels.idle,
            "overhead_watts": levels.overhead,
            "lag_ns": trace.lag_s * PS_PER_S / PS_PER_NS,
            "sources": {
                "computing_watts": GPUS[args.gpu].source + ", thermal design power",
                "waiting_watts": "30 to 50 % of it (arXiv 2508.14318)",
                "idle_watts": "assumed",
                "overhead_watts": "given, or none",
                "lag_ns": "assumed",
            },
        },
        "series": {"time_ns": [at * PS_PER_S / PS_PER_NS for at in series[0]], "watts": series[1]},
    }


def _watts(value: float) -> str:
    return f"{value / _W_PER_MW:.4g} MW ({format_watts(value)})"


def _plot(args: Namespace, found: RunPower, series: tuple[list[float], list[float]]) -> None:
    from fabric.render.html import to_html  # noqa: PLC0415
    from fabric.render.power_chart import power_chart, power_page, power_svg  # noqa: PLC0415

    chart = power_chart(args.dir.name, *series)
    if args.plot.suffix.lower() in {".html", ".htm"}:
        low, high = found.during_w
        page: Document = power_page(
            args.dir.name, chart, found.gpus, high, high - low, found.trace.steepest_w_per_s / _MW_PER_MS
        )
        text = to_html(page)
    else:
        text = power_svg(chart)
    write_file(args.plot, text)
    print(f"wrote {args.plot}", file=sys.stderr)
