"""Rows against recorded runs of the public HPCC simulator: a folder with cases/, results/ and ties.json.

Rules
1. Without random numbers (no marking, marking at one step, or a recorded run without marks), in the order of
   insertion: every flow's completion time equal to the nanosecond, every port's PAUSE count and the drops equal.
   HPCC-PINT draws from the C library's generator, which is restated: it is held to the same, for every recorded seed.
2. The same cases in windows, where events of one instant run by device and source: within three standard deviations of
   what a random order of equal moments gives. That spread is recorded (ties.json: the simulator's rules, restated), or
   measured: TIES runs of ours, one event at a time, in random order of equal moments. Where it is recorded, the mean
   over our random orders must equal the recorded one within LEVEL, which checks the measurement.
3. With random numbers: SEEDS runs of ours against as many of the simulator. Means may differ by Z standard errors of
   their difference (Welch), and the Anderson-Darling two-sample test of the runs' values may not reject at LEVEL. With
   one recorded run only, it must lie within the prediction interval of our seeds at LEVEL.
4. Where the rates of a run were recorded, every flow's rate at every recorded moment is equal to the last digit.

LEVEL is 0.001 for each number: with the dozens of numbers here the page raises a false alarm in some percent of all
changes of random numbers, and with 30 runs on each side the two-sample test finds a shift of one standard deviation
between seeds with a chance of 0.64, of 1.25 with 0.89, of 1.5 with 0.99 (normal values; two_sample.py).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric.errors import FabricError, InputErrors, Problem
from fabric.reading import MIB
from fabric.theory import two_sample
from fabric.verify.fidelity import rate_traces
from fabric.verify.fidelity.case import Case, read_case, with_seed
from fabric.verify.fidelity.case_files import case_files, name_of, plain_text
from fabric.verify.fidelity.simulating import Simulated, simulate
from fabric.verify.fidelity.table import Finding, Row, between, exactly

MAX_RESULT_BYTES: Final = 256 * MIB
LEVEL: Final = 0.001
"""Probability of a false alarm, of each statistical number."""
_Z: Final = 3.29
"""Two-sided normal quantile of LEVEL."""
_T: Final = 3.66
"""Two-sided quantile of LEVEL of Student's t with 29 degrees of freedom: SEEDS runs."""
TIES: Final = 30
"""Random orders of equal moments that measure their spread."""
_SIGMAS: Final = 3
_ROUNDING: Final = 1e-9
"""Relative: sums of equal numbers in another order."""
SEEDS: Final = 30
"""Runs of ours per case with random numbers; as many as were recorded."""
_SLOW_HOPS: Final = 2_000_000
_SOURCE: Final = "alibaba-edu/High-Precision-Congestion-Control @9f4be2a, recorded run"


@dataclass(frozen=True)
class Recorded:
    """A case and its results in the simulator."""

    file: Path
    result: Mapping[str, Any]
    ties: Mapping[str, float] | None
    """Spread of the order of equal moments; None where it was not measured."""
    seeds: Mapping[str, Any] | None
    """Recorded runs with other random numbers; None with one run only."""

    def case(self) -> Case:
        """The case, ready to run."""
        return read_case(self.file)


def rows(reference: Path | None) -> Sequence[Row]:
    """Every row of every case in the folder; none without a folder.

    Raises: FabricError where the folder holds no cases.
    """
    if reference is None:
        return []
    files = case_files(reference)
    if not files:
        raise FabricError(f"{reference}: holds no cases/*.json", "give the folder that holds cases/ and results/")
    return [row for file in files for row in case_rows(file)]


def case_rows(file: Path) -> Sequence[Row]:
    """The rows of one case file; its recorded run is looked for in ../results.

    Raises: FabricError where there is no recorded run.
    """
    recorded = read_recorded(file)
    name, result = name_of(file), recorded.result
    case = recorded.case()
    hops = int(result["counters"]["packet_hops"]["total"])
    title = str(result["description"])
    if case.deterministic or not result["ecn_marks_total"]:
        rates = rate_traces.trace_file(file)
        return [
            Row(
                f"ns3/{name}/insertion",
                title,
                "hpcc-ns3",
                "R",
                _SOURCE,
                partial(_equal, recorded),
                slow=hops > _SLOW_HOPS,
            ),
            Row(
                f"ns3/{name}/windows",
                title,
                "hpcc-ns3",
                "R",
                _SOURCE,
                partial(_close, recorded),
                slow=hops * TIES > _SLOW_HOPS,
            ),
            *(
                [Row(f"ns3/{name}/rates", title, "hpcc-ns3", "R", _SOURCE, partial(_same_rates, case, rates))]
                if rates.is_file()
                else []
            ),
        ]
    return [
        Row(
            f"ns3/{name}/seeds",
            title,
            "hpcc-ns3",
            "R",
            _SOURCE,
            partial(_alike, recorded),
            slow=hops * SEEDS > _SLOW_HOPS,
        )
    ]


def result_of(file: Path) -> Path:
    """Path of the recorded run of a case file."""
    return file.resolve().parent.parent / "results" / file.name


def read_recorded(file: Path) -> Recorded:
    """A case file with its neighbours in ../results and ../ties.json.

    Raises: FabricError where there is no recorded run.
    """
    folder, result = file.resolve().parent.parent, result_of(file)
    if not result.is_file():
        raise FabricError(f"{file}: there is no recorded run at {result}", "put the simulator's result there")
    name = name_of(file)
    ties_file, seeds_file = folder / "ties.json", folder / "results" / f"{name}.seeds.json"
    ties = _json(ties_file) if ties_file.is_file() else {}
    return Recorded(file, _json(result), ties.get(name), _json(seeds_file) if seeds_file.is_file() else None)


def _json(file: Path) -> dict[str, Any]:
    """Raises: InputErrors."""
    try:
        found = json.loads(plain_text(file, MAX_RESULT_BYTES, "record the run again"))
    except (ValueError, RecursionError) as error:
        raise InputErrors(
            "reading recorded runs", [Problem(str(file), f"is not JSON: {error}", "record the run again")]
        ) from error
    if not isinstance(found, dict):
        raise InputErrors("reading recorded runs", [Problem(str(file), "is not an object", "record the run again")])
    return found


def recorded_fct(result: Mapping[str, Any]) -> dict[int, int]:
    """Flow id -> completion time in ns; flows that did not complete are absent."""
    return {flow["id"]: flow["fct_ns"] for flow in result["flows"] if flow.get("fct_ns") is not None}


def recorded_pauses(result: Mapping[str, Any]) -> dict[str, int]:
    """'node/interface' -> PAUSE frames received there; ports without any are absent."""
    return {f"{port['node']}/{port['ifindex']}": port["pauses"] for port in result["pfc"]["per_port"] if port["pauses"]}


def compare_exactly(simulated: Simulated, result: Mapping[str, Any]) -> Sequence[Finding]:
    """Rule 1."""
    theirs, pauses = recorded_fct(result), recorded_pauses(result)
    both = theirs.keys() & simulated.fct_ns.keys()
    errors = [abs(simulated.fct_ns[flow] - theirs[flow]) for flow in both]
    return [
        exactly("flows completed", len(theirs), len(simulated.fct_ns)),
        exactly("flows with equal FCT", len(theirs), sum(error == 0 for error in errors)),
        exactly("mean FCT, ns", _mean(theirs), _mean(simulated.fct_ns)),
        exactly("largest FCT difference, ns", 0, max(errors, default=0)),
        exactly("PAUSE frames", sum(pauses.values()), sum(simulated.pauses.values())),
        exactly(
            "ports with another PAUSE count",
            0,
            sum(pauses.get(port) != simulated.pauses.get(port) for port in pauses.keys() | simulated.pauses.keys()),
        ),
        exactly("packets dropped", result["counters"]["switch_drops"], simulated.drops),
    ]


def _equal(recorded: Recorded) -> Sequence[Finding]:
    case = recorded.case()
    found = list(compare_exactly(simulate(case, "insertion"), recorded.result))
    if recorded.seeds is not None and case.deterministic:
        runs = recorded.seeds["runs"]
        same = sum(_same_times(simulate(with_seed(case, run["seed"]), "insertion"), run) for run in runs)
        found.append(exactly("seeds with every FCT equal", len(runs), same))
    return found


def _same_rates(case: Case, file: Path) -> Sequence[Finding]:
    theirs = rate_traces.read_trace(file)
    return rate_traces.compare(rate_traces.trace(case, theirs.time_us), theirs)


def _same_times(simulated: Simulated, run: Mapping[str, Any]) -> bool:
    return bool([simulated.fct_ns[flow] for flow in sorted(simulated.fct_ns)] == run["fct_ns_by_flow_id"])


def _close(recorded: Recorded) -> Sequence[Finding]:
    case = recorded.case()
    drawn = [simulate(case, "insertion", tie_key=key) for key in range(1, TIES + 1)]
    return compare_closely(simulate(case, "windows"), drawn, recorded)


def compare_closely(simulated: Simulated, drawn: Sequence[Simulated], recorded: Recorded) -> Sequence[Finding]:
    """Rule 2; `drawn` are runs in random order of equal moments."""
    theirs, ties = recorded_fct(recorded.result), recorded.ties
    found = [exactly("flows completed", len(theirs), len(simulated.fct_ns))]
    reference = _spread([(list(theirs.values()), sum(recorded_pauses(recorded.result).values()))])
    ours, random_order = _spread([_values(simulated)]), _spread([_values(run) for run in drawn])
    for key, quantity in (("mean", "mean FCT, ns"), ("p99", "p99 FCT, ns"), ("pauses", "PAUSE frames")):
        sample = random_order[quantity]
        mean, sd = float(sample.mean()), float(sample.std(ddof=1))
        recorded_here = ties is not None and key in ties
        if ties is not None and recorded_here:
            centre, centre_sd = float(ties[key]), float(ties[f"{key}_sd"])
            slack = _Z * math.sqrt(sd**2 / len(sample) + centre_sd**2 / ties["runs"]) + _ROUNDING * abs(centre)
            found.append(
                between(
                    f"{quantity}, random order of ties, mean of {len(sample)}",
                    centre,
                    mean,
                    centre - slack,
                    centre + slack,
                    f"{_Z} standard errors of the difference",
                )
            )
            mean, sd = centre, centre_sd
        slack = _SIGMAS * sd + _ROUNDING * abs(mean)
        text = f"{_SIGMAS} sd of tie order ({'recorded' if recorded_here else 'measured'}: {mean:.6g}, sd {sd:.3g})"
        found.append(
            between(quantity, float(reference[quantity][0]), float(ours[quantity][0]), mean - slack, mean + slack, text)
        )
    return found


def _alike(recorded: Recorded, n_seeds: int = SEEDS) -> Sequence[Finding]:
    case = recorded.case()
    runs = [simulate(with_seed(case, seed)) for seed in range(1, n_seeds + 1)]
    return compare_spreads(runs, recorded)


def compare_spreads(runs: Sequence[Simulated], recorded: Recorded) -> Sequence[Finding]:
    """Rule 3."""
    ours = _spread([_values(run) for run in runs])
    result, seeds = recorded.result, recorded.seeds
    found = [exactly("flows completed", len(runs) * len(recorded_fct(result)), sum(len(run.fct_ns) for run in runs))]
    if seeds is None:
        one = _spread([(list(recorded_fct(result).values()), sum(recorded_pauses(result).values()))])
        for quantity, values in ours.items():
            mean = float(values.mean())
            slack = two_sample.prediction_slack(values, _T) + _ROUNDING * abs(mean)
            found.append(
                between(
                    f"{quantity}: one run beside {len(runs)} seeds",
                    float(one[quantity][0]),
                    mean,
                    float(one[quantity][0]) - slack,
                    float(one[quantity][0]) + slack,
                    f"prediction interval of one more seed, {_T} sd",
                )
            )
        return found
    theirs = _spread([(run["fct_ns_by_flow_id"], run["pause_frames"]) for run in seeds["runs"]])
    for quantity, values in ours.items():
        other = theirs[quantity]
        centre = float(other.mean())
        error = math.sqrt(values.var(ddof=1) / len(values) + other.var(ddof=1) / len(other))
        slack = _Z * error + _ROUNDING * abs(centre)
        found += [
            between(
                f"{quantity}, {len(runs)} seeds",
                centre,
                float(values.mean()),
                centre - slack,
                centre + slack,
                f"{_Z} standard errors of the difference",
            ),
            between(
                f"{quantity}: p of one distribution",
                0.5,
                two_sample.p_value(values, other),
                LEVEL,
                1.0,
                f"Anderson-Darling, at least {LEVEL}; 0.5 is the median of chance",
            ),
        ]
    return found


def _values(run: Simulated) -> tuple[Sequence[int], int]:
    return list(run.fct_ns.values()), sum(run.pauses.values())


def _spread(runs: Sequence[tuple[Sequence[int], int]]) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """One value per run of each measure."""
    return {
        "mean FCT, ns": np.array([np.mean(fct) for fct, _ in runs]),
        "p99 FCT, ns": np.array([np.percentile(fct, 99) for fct, _ in runs]),
        "PAUSE frames": np.array([float(pauses) for _, pauses in runs]),
    }


def _mean(values: Mapping[int, int]) -> float:
    return sum(values.values()) / max(len(values), 1)
