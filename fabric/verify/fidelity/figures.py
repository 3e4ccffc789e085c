"""Figures of the fidelity page (need matplotlib): completion times flow by flow; the DCQCN presets on one incast."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from pathlib import Path
from typing import Any, Final, NamedTuple

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import TraceBit
from fabric.extras import check_installed
from fabric.scenario.compile.ns3_rdma_checks import NS3_RDMA_PRESETS
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS
from fabric.units import PS_PER_MS, PS_PER_US
from fabric.verify.fidelity import theory_figures
from fabric.verify.fidelity.recorded import Recorded, read_recorded, recorded_fct
from fabric.verify.fidelity.simulating import simulate

SCATTER: Final = ("C_step_ackq0", "D_step_ackq0", "G_C_buf2_ackq0")
"""Cases with more than a handful of flows whose completion times differ among themselves."""
_STEP_PS: Final = 20 * PS_PER_US
_END_PS: Final = 40 * PS_PER_MS
_SHOWN_MS: Final = 16
_SENDERS: Final = 8


class Track(NamedTuple):
    """One preset on the incast."""

    time_ms: list[float]
    queue_kb: list[float]
    last_ms: float
    """Completion of the last message; nan where it did not complete."""


def write(folder: Path, reference: Path) -> None:
    """Write fidelity-scatter.svg, fidelity-presets.svg, and those of theory_figures.

    Raises: FabricError without matplotlib.
    """
    plt = plotting()
    _scatter(
        plt, folder / "fidelity-scatter.svg", [read_recorded(reference / "cases" / f"{name}.json") for name in SCATTER]
    )
    _presets(plt, folder / "fidelity-presets.svg")
    theory_figures.write(plt, folder)


def plotting() -> Any:  # noqa: ANN401  matplotlib is optional
    """matplotlib.pyplot, set so that the same numbers give the same bytes. Raises: FabricError without matplotlib."""
    check_installed("matplotlib")
    import matplotlib as mpl  # noqa: PLC0415  an optional package
    from matplotlib import pyplot as plt  # noqa: PLC0415  as above

    mpl.rcParams.update({"svg.hashsalt": "fabric", "svg.fonttype": "none", "font.size": 9})  # fixed ids, text as text
    return plt


def save(plt: Any, figure: Any, file: Path) -> None:  # noqa: ANN401
    """Write a figure without a date, and close it."""
    figure.savefig(file, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def _scatter(plt: Any, file: Path, cases: Sequence[Recorded]) -> None:  # noqa: ANN401
    figure, panels = plt.subplots(1, len(cases), figsize=(11, 3.6), constrained_layout=True)
    for panel, recorded in zip(panels, cases, strict=True):
        case, theirs = recorded.case(), recorded_fct(recorded.result)
        flows = sorted(theirs)
        x = [theirs[flow] / 1e3 for flow in flows]
        low, high = min(x), max(x)
        margin = max((high - low) * 0.1, 0.5)
        panel.plot([low - margin, high + margin], [low - margin, high + margin], color="0.7", linewidth=1, zorder=1)
        for how, colour, label in (
            ("windows", "#d98b2b", "windows (default)"),
            ("insertion", "#1f6fb4", "order of insertion"),
        ):
            ours = simulate(case, "windows" if how == "windows" else "insertion").fct_ns
            panel.scatter(
                x,
                [ours[flow] / 1e3 for flow in flows],
                s=14 if how == "windows" else 9,
                color=colour,
                label=label,
                zorder=2,
            )
        panel.set(title=f"{case.name}: {len(flows)} flows", xlabel="FCT in ns-3, us", ylabel="FCT here, us")
    panels[0].legend(frameon=False, loc="upper left")
    save(plt, figure, file)


def _presets(plt: Any, file: Path) -> None:  # noqa: ANN401
    figure, panels = plt.subplots(2, 4, figsize=(11, 5.2), sharex=True, sharey=True, constrained_layout=True)
    for panel, preset in zip(panels.flat, DCQCN_PRESETS, strict=True):
        panel.set_yscale("symlog", linthresh=10)
        panel.set(xlim=(0, _SHOWN_MS), ylim=(0, 30_000))
        for kb in (400, 1600):
            panel.axhline(kb, color="0.75", linewidth=0.7, linestyle="--")
        texts = []
        for model, colour in (("asic", "#1f6fb4"), ("hpcc-ns3", "#d98b2b")):
            if model == "asic" or preset in NS3_RDMA_PRESETS:
                one = track(preset, model)
                panel.plot(one.time_ms, one.queue_kb, linewidth=0.9, color=colour, label=model)
                texts.append(f"not within {_END_PS // PS_PER_MS} ms" if isnan(one.last_ms) else f"{one.last_ms:.2f} ms")
        panel.set_title(f"{preset}\ndone: {', '.join(texts)}", fontsize=9)
    panels[0, 3].legend(frameon=False, loc="upper right")
    for panel in panels[-1]:
        panel.set_xlabel("time, ms")
    for panel in panels[:, 0]:
        panel.set_ylabel("queue at the receiver, KB")
    save(plt, figure, file)


def track(preset: str, model: str) -> Track:
    """Eight senders of 10 MB to one receiver at 100G, Kmin 400 KB, Kmax 1600 KB, one preset."""
    raw = {
        "name": "presets",
        "model": model,
        "topology": {
            "kind": "leaf-spine",
            "leaves": 1,
            "spines": 1,
            "hosts_per_leaf": _SENDERS + 1,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "transport": {"dcqcn": preset},
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "10MB"}],
        "run": {"duration": "40ms"},
    }
    compiled = compile_scenario(build_scenario(raw, Path("presets.yml")))
    engine = Emulator(compiled.fabric, compiled.params, record=TraceBit(0))
    bottleneck = compiled.fabric.ports[compiled.fabric.hosts[0].first_port].peer * 8 + 3
    times, depths = [], []
    while engine.now_ps < _END_PS and not engine.finished:
        engine.advance(engine.now_ps + _STEP_PS)
        times.append(engine.now_ps / PS_PER_MS)
        depths.append(int(engine.state.queues["depth_bytes"][bottleneck]) / 1e3)
    ends = engine.state.messages["end_ps"][1:]
    return Track(times, depths, nan if (ends < 0).any() else float(ends.max()) / PS_PER_MS)
