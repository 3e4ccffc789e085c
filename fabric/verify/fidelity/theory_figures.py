"""Figures of DCQCN against theory: the share of marks at rest (V6), the queue's course under feedback delay (V7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric.theory.dcqcn import fixed_point_probability, integrate
from fabric.verify.fidelity.dcqcn_link import case_of, fluid_of, line_of
from fabric.verify.fidelity.v06_fixed_point import CURVES, algorithm_on_a_queue
from fabric.verify.fidelity.v06_fixed_point import simulated as at_rest
from fabric.verify.fidelity.v07_stability import FLOWS, LONG_US, SHORT_US, simulated

_COUNTS: Final = (2, 4, 8, 10)
_INK: Final = {"equations": "0.45", "algorithm": "#d98b2b", "engine": "#1f6fb4"}
_SAMPLE_MS: Final = 0.005
_SHOWN_MS: Final = 20


def write(plt: Any, folder: Path) -> None:  # noqa: ANN401  matplotlib is optional
    """Write fidelity-fixed-point.svg and fidelity-stability.svg with a pyplot that is set up."""
    _fixed_point(plt, folder / "fidelity-fixed-point.svg")
    _stability(plt, folder / "fidelity-stability.svg")


def _save(plt: Any, figure: Any, file: Path) -> None:  # noqa: ANN401
    figure.savefig(file, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def _fixed_point(plt: Any, file: Path) -> None:  # noqa: ANN401
    figure, panels = plt.subplots(1, len(CURVES), figsize=(11, 3.4), constrained_layout=True)
    for panel, curve in zip(panels, CURVES, strict=True):
        equations = [fixed_point_probability(fluid_of(case_of(flows, CURVES[curve])), flows) for flows in _COUNTS]
        algorithm = [algorithm_on_a_queue(curve, flows).marked_ratio for flows in _COUNTS]
        engine = [at_rest(curve, flows).marked_ratio for flows in _COUNTS]
        panel.plot(_COUNTS, equations, color=_INK["equations"], label="fluid equations")
        panel.plot(_COUNTS, algorithm, color=_INK["algorithm"], linestyle="--", label="algorithm on one queue")
        panel.plot(_COUNTS, engine, "o", color=_INK["engine"], label="packets here")
        panel.set(title=curve, xlabel="flows", yscale="log", xticks=_COUNTS)
    panels[0].set_ylabel("share of packets marked")
    panels[1].legend(frameon=False, loc="lower right")
    _save(plt, figure, file)


def _stability(plt: Any, file: Path) -> None:  # noqa: ANN401
    figure, panels = plt.subplots(2, len(FLOWS), figsize=(11, 5), sharex=True, sharey="col", constrained_layout=True)
    count = round(_SHOWN_MS / _SAMPLE_MS)
    for row, delay in zip(panels, (SHORT_US, LONG_US), strict=True):
        for panel, flows in zip(row, FLOWS, strict=True):
            case = case_of(flows, "switches.ecn={kmin: 5KB, kmax: 19505KB, pmax: 1}")
            theory = integrate(fluid_of(case), line_of(case), flows, delay * 1e-6)
            ours = simulated(flows, delay)
            panel.plot(
                np.arange(count) * _SAMPLE_MS,
                ours.queue_bytes[:count] / 1e3,
                color=_INK["engine"],
                linewidth=0.7,
                label="packets here",
            )
            panel.axhspan(
                theory.low_bytes / 1e3,
                theory.high_bytes / 1e3,
                color=_INK["equations"],
                alpha=0.3,
                label="fluid equations, range",
            )
            panel.axhline(theory.mean_bytes / 1e3, color=_INK["equations"], linewidth=0.9)
            panel.set_title(f"{flows} flows, {delay} us")
    for panel in panels[-1]:
        panel.set_xlabel("time, ms")
    for panel in panels[:, 0]:
        panel.set_ylabel("queue, KB")
    panels[0, 0].legend(frameon=False, loc="upper right")
    _save(plt, figure, file)
