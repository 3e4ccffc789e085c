"""A SimAI workload (workload.py) -> its text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fabric.traces.simai.workload import Call, Workload
from fabric.units import PS_PER_NS

_WORD: Final = {"all-reduce": "ALLREDUCE", "all-gather": "ALLGATHER", "reduce-scatter": "REDUCESCATTER",
                "all-to-all": "ALLTOALL"}  # fmt: skip
_SUFFIX: Final = {"tp": "", "dp": "", "ep": "_EP", "dp_ep": "_DP_EP"}
"""Without a suffix: tensor parallelism in the forward and input-gradient columns, data parallelism in the third."""
WRITABLE: Final = tuple(_WORD)


def write_workload(workload: Workload, path: Path) -> None:
    """Write a workload; durations must be whole ns."""
    path.write_text("".join(lines(workload)), encoding="ascii")


def lines(workload: Workload) -> Iterator[str]:
    """Lines of the text."""
    yield (
        f"{workload.policy} model_parallel_NPU_group: {workload.tp} ep: {workload.ep} pp: {workload.pp} "
        f"vpp: {workload.vpp} ga: {workload.ga} all_gpus: {workload.all_gpus} checkpoints: 0 checkpoint_initiates: 0 "
        f"pp_comm: {workload.pp_comm}\n{len(workload.layers)}\n"
    )
    for it in workload.layers:
        calls = " ".join(map(_columns, (it.forward, it.input_gradient, it.weight_gradient)))
        yield f"{it.name} -1 {calls} {it.update_ps // PS_PER_NS}\n"


def _columns(call: Call) -> str:
    kind = "".join(_WORD[it] for it in call.operations) + _SUFFIX[call.group] if call.operations else "NONE"
    return f"{call.duration_ps // PS_PER_NS} {kind} {call.size_bytes}"
