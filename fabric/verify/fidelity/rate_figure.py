"""Figure of rates over time (needs matplotlib): staggered flows here and in the simulator, a panel a recorded case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fabric.errors import FabricError
from fabric.verify.fidelity import rate_traces
from fabric.verify.fidelity.case import read_case
from fabric.verify.fidelity.case_files import case_files, name_of
from fabric.verify.fidelity.figures import plotting, save

_COLUMNS: Final = 2
_INK: Final = ("#1f6fb4", "#d98b2b", "#3a9a5b", "#a3527e")


def write(file: Path, reference: Path) -> int:
    """Draw every case of a folder of recorded runs that has recorded rates. Returns: how many.

    Raises: FabricError without matplotlib, and where no case has rates.
    """
    plt = plotting()
    cases = [case for case in case_files(reference) if rate_traces.trace_file(case).is_file()]
    if not cases:
        raise FabricError(f"{reference}: no case has recorded rates", "there must be results/NAME.rates.csv.gz")
    lines = -(-len(cases) // _COLUMNS)
    figure, panels = plt.subplots(
        lines, _COLUMNS, figsize=(11, 2.3 * lines), sharey=True, squeeze=False, constrained_layout=True
    )
    for panel in panels.flat[len(cases) :]:
        panel.axis("off")
    for panel, case in zip(panels.flat, cases, strict=False):
        _panel(panel, case)
    for line in panels:
        line[0].set_ylabel("rate, Gb/s")
    _legend(panels.flat[0])
    save(plt, figure, file)
    return len(cases)


def _panel(panel: Any, file: Path) -> None:  # noqa: ANN401  matplotlib is optional
    theirs = rate_traces.read_trace(rate_traces.trace_file(file))
    ours = rate_traces.trace(read_case(file), theirs.time_us)
    for flow, colour in zip(range(ours.rate_gbps.shape[1]), _INK * ours.rate_gbps.shape[1], strict=False):
        panel.plot(theirs.time_us, theirs.rate_gbps[:, flow], color=colour, linewidth=3.5, alpha=0.35)
        panel.plot(ours.time_us, ours.rate_gbps[:, flow], color=colour, linewidth=0.9)
    panel.set(title=name_of(file), xlabel="time, us", ylim=(0, 105))


def _legend(panel: Any) -> None:  # noqa: ANN401
    handles: Sequence[Any] = [
        panel.plot([], [], color="0.4", linewidth=3.5, alpha=0.35, label="ns-3")[0],
        panel.plot([], [], color="0.4", linewidth=0.9, label="here")[0],
    ]
    panel.legend(handles=handles, frameon=False, loc="upper right")
