"""Which cases are too large for a fuzzer of thousands: a bound of the messages, requests and changes that they make."""

from __future__ import annotations

from typing import Final

from fabric.faults.control_spec import EndpointChurnSpec
from fabric.faults.spec import FaultSpec, LinkFlapSpec
from fabric.scenario.schema.scenario import Scenario
from fabric.units import PS_PER_MS, PS_PER_S
from fabric.workload.spec import (
    AllToAllSpec,
    ArpSpec,
    CollectiveSpec,
    DatagramsSpec,
    IncastSpec,
    InferenceLoad,
    JobLoad,
    PermutationSpec,
    PoissonSpec,
    TraceSpec,
    WorkloadSpec,
)

MOST: Final = 30_000
LONGEST_PS: Final = 100 * PS_PER_MS
_HOSTS: Final = 24
"""As many as the largest fabric of the generator has."""
_HOST_BPS: Final = 400 * 10**9
_MEAN_BYTES: Final = {"websearch": 1_700_000, "fb-hadoop": 120_000}


def too_large(scenario: Scenario) -> bool:
    """Whether compiling and looking at it may take seconds."""
    made = sum(map(_messages, scenario.workload)) + sum(map(_changes, scenario.faults))
    return made > MOST or scenario.run.duration > LONGEST_PS


def _messages(load: WorkloadSpec) -> float:
    match load:
        case PoissonSpec():
            mean = load.size or _MEAN_BYTES.get(load.sizes, 1000)
            return _HOSTS * load.load * _HOST_BPS / 8 * (load.stop - load.start) / PS_PER_S / mean
        case ArpSpec():
            return _HOSTS * (load.stop - load.start) / load.interval
        case DatagramsSpec():
            made = (load.stop or 0) - load.start
            bits = (load.frame + 20) * 8
            return _HOSTS * (load.count or made * (load.rate or _HOST_BPS) / PS_PER_S / bits)
        case AllToAllSpec():
            return load.repeat * _HOSTS**2
        case IncastSpec() | PermutationSpec():
            return load.repeat * _HOSTS
        case CollectiveSpec():
            return load.channels * (load.warm_up + load.repeat) * _HOSTS**2
        case InferenceLoad():
            return 100 * (load.count or 2)  # the fuzzer's models have up to two layers
        case JobLoad():
            return 100 * load.steps  # the fuzzer's jobs have two ranks
        case TraceSpec():
            return 4 * load.repeat  # the fuzzer's traces have up to four messages
        case _:
            return len(load.messages)


def _changes(fault: FaultSpec) -> float:
    match fault:
        case LinkFlapSpec():
            return 10 * fault.count
        case EndpointChurnSpec():
            return fault.per_minute * (fault.until - fault.at) / (60 * PS_PER_S)
        case _:
            return 1
