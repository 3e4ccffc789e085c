"""Training jobs: their steps, what these consist of, and their collective operations."""

from __future__ import annotations

from typing import Final

from telemetry.grafana.clock import clock
from telemetry.grafana.model import Board, Kind, Need, Panel, Quantity, Query, Section, Unit
from telemetry.grafana.queries import INSTANCES, Asking, over

_ASK: Final = Asking(INSTANCES)
_JOB: Final = "{{workload}}"
_CLASS: Final = "{{workload}} {{operation}} {{algorithm}} {{kind}}"
_JOBS: Final = (Need.JOB,)
_STEPS: Final = _ASK.rate("fabric_job_steps_total")


def _per_step(name: str) -> Quantity:
    return over(_ASK.rate(name), _STEPS, Unit.SECONDS)


_STEP_TIME: Final = _ASK.rate("fabric_job_step_seconds_total")
_SLOWEST: Final = over(
    _ASK.rate("fabric_job_computation_seconds_total"),
    _ASK.rate("fabric_job_median_computation_seconds_total"),
    Unit.TIMES,
)
_EXPOSED: Final = _ASK.rate("fabric_job_exposed_communication_seconds_total")

BOARD: Final = Board(
    "fabric-jobs",
    "Training jobs",
    "Steps of jobs, what they consist of, and their collective operations.",
    (INSTANCES,),
    (
        clock(_ASK),
        Section(
            "Steps",
            (
                Panel(
                    "Duration of the last step",
                    Kind.LINES,
                    (Query(_ASK.now("fabric_job_last_step_duration_seconds"), _JOB),),
                    "Simulated time between the ends of two steps, at all ranks.",
                    8,
                    needs=_JOBS,
                ),
                Panel(
                    "Steps completed",
                    Kind.LINES,
                    (Query(_ASK.now("fabric_job_steps_total"), _JOB),),
                    "Since the start of the run.",
                    8,
                    needs=(Need.TRANSFERS,),
                ),
                Panel(
                    "Duration of the job",
                    Kind.LINES,
                    (Query(_ASK.now("fabric_job_duration_seconds"), _JOB),),
                    "Simulated time since its first computation or message.",
                    8,
                    needs=(Need.TRANSFERS,),
                ),
                Panel(
                    "A step consists of",
                    Kind.LINES,
                    (
                        Query(_per_step("fabric_job_stage_computation_seconds_total"), "{{workload}} computation"),
                        Query(
                            _per_step("fabric_job_exposed_communication_seconds_total"),
                            "{{workload}} exposed communication",
                        ),
                    ),
                    "Mean of a step: computation of the stage that computes longest, and what the network adds.",
                    8,
                    needs=_JOBS,
                ),
                Panel(
                    "Bubble and slow ranks",
                    Kind.LINES,
                    (
                        Query(_per_step("fabric_job_bubble_seconds_total"), "{{workload}} bubble"),
                        Query(_per_step("fabric_job_slow_ranks_seconds_total"), "{{workload}} slow ranks"),
                    ),
                    "Mean of a step: what the order of the pipeline adds, and what jitter and stragglers add, without "
                    "network.",
                    8,
                    needs=_JOBS,
                ),
                Panel(
                    "Share of exposed communication",
                    Kind.LINES,
                    (Query(over(_EXPOSED, _STEP_TIME, Unit.SHARE), _JOB),),
                    "Part of a step that a faster network could remove.",
                    8,
                    top=1,
                    needs=_JOBS,
                ),
            ),
        ),
        Section(
            "Ranks",
            (
                Panel(
                    "Slowest over median rank",
                    Kind.LINES,
                    (
                        Query(Quantity(_ASK.rows("fabric_job_straggler_ratio"), Unit.TIMES), f"{_JOB} last step"),
                        Query(_SLOWEST, f"{_JOB} mean"),
                    ),
                    "Computation in the last step, and in all steps of the window; 1x is even. Unequal stages of a "
                    "pipeline raise it, too.",
                    limits=(1.2, 1.5),
                    needs=_JOBS,
                ),
                Panel(
                    "Waiting for the slowest rank",
                    Kind.LINES,
                    (
                        Query(_per_step("fabric_job_median_waiting_seconds_total"), "{{workload}} median rank"),
                        Query(_per_step("fabric_job_longest_waiting_seconds_total"), "{{workload}} longest"),
                    ),
                    "Mean of a step: time that a rank computes less than the slowest one.",
                    needs=_JOBS,
                ),
            ),
        ),
        Section(
            "Collective operations",
            (
                Panel(
                    "Bus bandwidth",
                    Kind.LINES,
                    (
                        Query(
                            over(
                                _ASK.rate("fabric_collective_bus_bytes_total"),
                                _ASK.rate("fabric_collective_active_seconds_total"),
                                Unit.BYTES_PER_SECOND,
                            ),
                            _CLASS,
                        ),
                    ),
                    "nccl-tests' busbw, mean of the operations that ended, weighted by their durations.",
                    8,
                    needs=(Need.COLLECTIVE,),
                ),
                Panel(
                    "Duration",
                    Kind.LINES,
                    (
                        Query(
                            over(
                                _ASK.rate("fabric_collective_active_seconds_total"),
                                _ASK.rate("fabric_collective_operations_total"),
                                Unit.SECONDS,
                            ),
                            _CLASS,
                        ),
                    ),
                    "Mean of the operations that ended, simulated time.",
                    8,
                    needs=(Need.COLLECTIVE,),
                ),
                Panel(
                    "Bytes sent",
                    Kind.LINES,
                    (Query(_ASK.now("fabric_collective_sent_bytes_total"), _CLASS),),
                    "Payload that all ranks sent in operations that ended.",
                    8,
                    needs=(Need.OPERATIONS,),
                ),
            ),
        ),
    ),
)
"""fabric-jobs."""
