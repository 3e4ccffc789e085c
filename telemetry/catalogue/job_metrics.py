"""Metrics of collective operations and of jobs, which jobs.py computes."""

from __future__ import annotations

from typing import Final

from fabric.units import PS_PER_S
from telemetry.catalogue.spec import RATES, TIMES_S, Kind, MetricSpec, Rows, counter, gauge

_PS: Final = PS_PER_S

# fmt: off
COLLECTIVE: Final = (
    counter("collective_operations", "", Rows.COLLECTIVE, "operations()",
             "Operations, or repetitions of a workload, that have ended; one with a failed message never does."),
    MetricSpec("fabric_collective_duration_seconds", Kind.HISTOGRAM, "seconds", Rows.COLLECTIVE, "collective_ps()",
               "From the first posting of an operation to the acknowledgement of its last byte.", _PS, buckets=TIMES_S),
    counter("collective_sent_bytes", "bytes", Rows.COLLECTIVE, "operations_sent()",
             "Payload that the ranks sent in operations that have ended."),
    MetricSpec("fabric_collective_busbw_bytes_per_second", Kind.HISTOGRAM, "bytes_per_second", Rows.COLLECTIVE,
               "collective_busbw()",
               "Bus bandwidth of nccl-tests: size times the factor of the operation over the duration; where the size "
               "is unknown, the bytes that a sending rank sent.", buckets=RATES),
    MetricSpec("fabric_collective_algbw_bytes_per_second", Kind.HISTOGRAM, "bytes_per_second", Rows.COLLECTIVE,
               "collective_algbw()",
               "Algorithm bandwidth of nccl-tests: size over the duration; 0 where the size is unknown.",
               buckets=RATES),
    counter("collective_bus_bytes", "bytes", Rows.COLLECTIVE, "operations_bus_bytes()",
             "Bus bandwidth times duration, summed: divide its rate by the rate of "
             "fabric_collective_active_seconds_total to have the mean bus bandwidth, weighted by time."),
    counter("collective_active_seconds", "seconds", Rows.COLLECTIVE, "operations_active_ps()",
             "Durations of operations that have ended, summed, overlaps counted for each.", _PS),
)
"""Collective operations of the workload."""

_STEPS: Final = tuple(float(f"{digit}e{power}") for power in range(-5, 3) for digit in (1, 2, 5))

JOB: Final = (
    counter("job_steps", "", Rows.JOB, "steps_ended()",
             "Steps that have ended, each with the steps before it; without steps the whole workload is one."),
    MetricSpec("fabric_job_step_duration_seconds", Kind.HISTOGRAM, "seconds", Rows.JOB, "step_ps()",
               "From the end of the step before, at all ranks, to the end of the step.", _PS, buckets=_STEPS),
    gauge("job_last_step_duration_seconds", "seconds", Rows.JOB_STEP, "last_step_ps()",
           "Duration of the step that ended last.", _PS),
    counter("job_step_seconds", "seconds", Rows.JOB, "steps_ps()",
             "Durations of steps that have ended, summed. Stage computation, bubble, slow ranks and exposed "
             "communication add up to it.", _PS),
    counter("job_stage_computation_seconds", "seconds", Rows.JOB, "step_stage_ps()",
             "Time of steps in which the stage that computes longest computes, without jitter and stragglers; of "
             "traces, the rank.", _PS),
    counter("job_computation_seconds", "seconds", Rows.JOB, "step_computing_ps()",
             "Time in which the rank that computes longest computed, summed over steps that have ended.", _PS),
    counter("job_median_computation_seconds", "seconds", Rows.JOB, "step_median_computing_ps()",
             "The same of the median rank.", _PS),
    counter("job_exposed_communication_seconds", "seconds", Rows.JOB, "step_exposed_ps()",
             "What steps took longer than without network, where messages take no time; 0 of runs that an older "
             "version recorded.", _PS),
    counter("job_bubble_seconds", "seconds", Rows.JOB, "step_bubble_ps()",
             "Time of steps that the order of a pipeline adds without network; of traces, all that their busiest rank "
             "waits without network.", _PS),
    counter("job_slow_ranks_seconds", "seconds", Rows.JOB, "step_slow_ranks_ps()",
             "Time of steps that jitter and stragglers of a job add without network.", _PS),
    counter("job_median_waiting_seconds", "seconds", Rows.JOB, "step_waiting_ps()",
             "Time that the median rank computed less than the slowest, and so waited for it.", _PS),
    counter("job_longest_waiting_seconds", "seconds", Rows.JOB, "step_longest_waiting_ps()",
             "The same of the rank that computed least.", _PS),
    gauge("job_straggler_ratio", "ratio", Rows.JOB_STEP, "straggler_ratio()",
           "Computation of the slowest rank over that of the median rank in the step that ended last; 0 where the "
           "median rank computes nothing. Stages of a pipeline that differ raise it, too."),
    gauge("job_duration_seconds", "seconds", Rows.JOB, "job_ps()",
           "Since the first posting or computation, up to the end of the last step; 0 before.", _PS),
)
"""Jobs of the workload, step by step."""
# fmt: on
