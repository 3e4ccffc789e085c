"""Rows against recorded runs of the public HPCC simulator: a folder with cases/, results/ and ties.json.

Rules
1. Where no coin decides (no marking, marking at one step, or a recorded run without marks), played in the order of
   insertion: every flow's completion time equal to the nanosecond, every port's PAUSE count and the drops equal.
2. The same cases in windows, where events of one instant run by device and source: within three standard deviations of
   what the order of equal moments alone does to the simulator's rules (ties.json), or 0.5 %.
3. Where coins decide: mean and 99th percentile over our seeds within 1 % of the mean over the simulator's seeds, or one
   standard deviation between its seeds; PAUSE counts within 5 % or that. With one recorded run only, within 1 % or
   three standard deviations between our seeds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric.errors import FabricError
from fabric.validate.fidelity.case import Case, read_case, with_seed
from fabric.validate.fidelity.playing import Played, play
from fabric.validate.fidelity.table import Finding, Row, between, exactly

SEEDS: Final = 30
"""Runs of ours per case with coins; as many as were recorded."""
_SLOW_HOPS: Final = 3_000_000
_SOURCE: Final = "alibaba-edu/High-Precision-Congestion-Control @9f4be2a, recorded run"


@dataclass(frozen=True)
class Recorded:
    """A case and what the simulator made of it."""

    file: Path
    result: Mapping[str, Any]
    ties: Mapping[str, float] | None
    """Spread of the order of equal moments; None where it was not measured."""
    seeds: Mapping[str, Any] | None
    """Recorded runs with other coins; None where there is one run only."""

    def case(self) -> Case:
        """The case, ready to play."""
        return read_case(self.file)


def rows(reference: Path | None) -> Sequence[Row]:
    """Every row of every case in the folder; none without a folder.

    Raises: FabricError where the folder holds no cases.
    """
    if reference is None:
        return []
    files = sorted((reference / "cases").glob("*.json"))
    if not files:
        raise FabricError(f"{reference}: holds no cases/*.json", "give the folder that holds cases/ and results/")
    return [row for file in files for row in case_rows(file)]


def case_rows(file: Path) -> Sequence[Row]:
    """The rows of one case file; its recorded run is looked for in ../results.

    Raises: FabricError where there is no recorded run.
    """
    recorded = read_recorded(file)
    name, result = file.stem, recorded.result
    case = recorded.case()
    hops = int(result["counters"]["packet_hops"]["total"])
    title = str(result["description"])
    if case.deterministic or not result["ecn_marks_total"]:
        return [
            Row(f"ns3/{name}/insertion", title, "hpcc-ns3", "R", _SOURCE, partial(_equal, recorded),
                slow=hops > _SLOW_HOPS),
            Row(f"ns3/{name}/windows", title, "hpcc-ns3", "R", _SOURCE, partial(_close, recorded),
                slow=hops > _SLOW_HOPS)]
    return [Row(f"ns3/{name}/seeds", title, "hpcc-ns3", "R", _SOURCE, partial(_alike, recorded),
                slow=hops * SEEDS > _SLOW_HOPS)]


def result_of(file: Path) -> Path:
    """Where the recorded run of a case file is looked for."""
    return file.resolve().parent.parent / "results" / file.name


def read_recorded(file: Path) -> Recorded:
    """A case file with its neighbours in ../results and ../ties.json.

    Raises: FabricError where there is no recorded run.
    """
    folder, result = file.resolve().parent.parent, result_of(file)
    if not result.is_file():
        raise FabricError(f"{file}: there is no recorded run at {result}", "put the simulator's result there")
    ties_file, seeds_file = folder / "ties.json", folder / "results" / f"{file.stem}.seeds.json"
    ties = json.loads(ties_file.read_text(encoding="utf-8")) if ties_file.is_file() else {}
    return Recorded(file, json.loads(result.read_text(encoding="utf-8")), ties.get(file.stem),
                    json.loads(seeds_file.read_text(encoding="utf-8")) if seeds_file.is_file() else None)


def recorded_fct(result: Mapping[str, Any]) -> dict[int, int]:
    """Flow id -> completion time in ns; flows that did not complete are absent."""
    return {flow["id"]: flow["fct_ns"] for flow in result["flows"] if flow.get("fct_ns") is not None}


def recorded_pauses(result: Mapping[str, Any]) -> dict[str, int]:
    """'node/interface' -> PAUSE frames received there; ports without any are absent."""
    return {f"{port['node']}/{port['ifindex']}": port["pauses"] for port in result["pfc"]["per_port"]
            if port["pauses"]}


def compare_exactly(played: Played, result: Mapping[str, Any]) -> Sequence[Finding]:
    """Rule 1."""
    theirs, pauses = recorded_fct(result), recorded_pauses(result)
    both = theirs.keys() & played.fct_ns.keys()
    errors = [abs(played.fct_ns[flow] - theirs[flow]) for flow in both]
    return [
        exactly("flows completed", len(theirs), len(played.fct_ns)),
        exactly("flows with equal FCT", len(theirs), sum(error == 0 for error in errors)),
        exactly("mean FCT, ns", _mean(theirs), _mean(played.fct_ns)),
        exactly("largest FCT difference, ns", 0, max(errors, default=0)),
        exactly("PAUSE frames", sum(pauses.values()), sum(played.pauses.values())),
        exactly("ports with another PAUSE count", 0,
                sum(pauses.get(port) != played.pauses.get(port) for port in pauses.keys() | played.pauses.keys())),
        exactly("packets dropped", result["counters"]["switch_drops"], played.drops)]


def _equal(recorded: Recorded) -> Sequence[Finding]:
    return compare_exactly(play(recorded.case(), "insertion"), recorded.result)


def _close(recorded: Recorded) -> Sequence[Finding]:
    return compare_closely(play(recorded.case(), "windows"), recorded)


def compare_closely(played: Played, recorded: Recorded) -> Sequence[Finding]:
    """Rule 2."""
    theirs, ties = recorded_fct(recorded.result), recorded.ties
    ours = np.array(list(played.fct_ns.values()), np.float64)
    found = [exactly("flows completed", len(theirs), len(ours))]
    values = np.array(list(theirs.values()), np.float64)
    measures = {"mean": ("mean FCT, ns", values.mean(), ours.mean()),
                "p99": ("p99 FCT, ns", np.percentile(values, 99), np.percentile(ours, 99)),
                "pauses": ("PAUSE frames", sum(recorded_pauses(recorded.result).values()),
                           sum(played.pauses.values()))}
    for key, (quantity, reference, value) in measures.items():
        centre = float(reference if ties is None else ties[key])
        slack = max(0.005 * abs(centre), 0.0 if ties is None else 3 * ties[f"{key}_sd"])
        text = "0.5 %" if ties is None else f"3 sd of tie order around its mean {centre:.6g}, or 0.5 %"
        found.append(between(quantity, float(reference), float(value), centre - slack, centre + slack, text))
    return found


def _alike(recorded: Recorded, n_seeds: int = SEEDS) -> Sequence[Finding]:
    case = recorded.case()
    runs = [play(with_seed(case, seed)) for seed in range(1, n_seeds + 1)]
    return compare_spreads(runs, recorded)


def compare_spreads(runs: Sequence[Played], recorded: Recorded) -> Sequence[Finding]:
    """Rule 3."""
    ours = _spread([(list(run.fct_ns.values()), sum(run.pauses.values())) for run in runs])
    result = recorded.result
    if recorded.seeds is None:
        theirs = _spread([(list(recorded_fct(result).values()), sum(recorded_pauses(result).values()))])
    else:
        theirs = _spread([(run["fct_ns_by_flow_id"], run["pause_frames"]) for run in recorded.seeds["runs"]])
    found = [exactly("flows completed", len(runs) * len(recorded_fct(result)),
                     sum(len(run.fct_ns) for run in runs))]
    for quantity, ratio in (("mean FCT, ns", 0.01), ("p99 FCT, ns", 0.01), ("PAUSE frames", 0.05)):
        centre, value = float(theirs[quantity].mean()), float(ours[quantity].mean())
        if recorded.seeds is None:
            slack, text = 3 * float(ours[quantity].std(ddof=1)), f"{ratio:.0%} or 3 sd of our seeds"
        else:
            slack, text = float(theirs[quantity].std(ddof=1)), f"{ratio:.0%} or 1 sd of its seeds"
        slack = max(slack, ratio * abs(centre))
        found.append(between(f"{quantity}, {len(runs)} seeds", centre, value, centre - slack, centre + slack, text))
    return found


def _spread(runs: Sequence[tuple[Sequence[int], int]]) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """One value per run of each measure."""
    return {"mean FCT, ns": np.array([np.mean(fct) for fct, _ in runs]),
            "p99 FCT, ns": np.array([np.percentile(fct, 99) for fct, _ in runs]),
            "PAUSE frames": np.array([float(pauses) for _, pauses in runs])}


def _mean(values: Mapping[int, int]) -> float:
    return sum(values.values()) / max(len(values), 1)

