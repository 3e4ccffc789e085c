"""A small job as a mapping, and a builder of collectives, for tests."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

from fabric.collectives.registry import build
from fabric.collectives.schedule import Request
from fabric.collectives.transfers import Transfers
from fabric.jobs.algorithms import UNKNOWN, GroupShape
from fabric.jobs.job import Job
from fabric.jobs.load import load_job

MODEL: Final[dict[str, Any]] = {
    "name": "tiny",
    "layers": 4,
    "hidden": 16,
    "feed_forward": 32,
    "heads": 4,
    "kv_heads": 4,
    "vocabulary": 24,
    "sequence": 32,
}
BASE: Final[dict[str, Any]] = {
    "model": MODEL,
    "gpus": 1,
    "gpus_per_node": 1,
    "parallel": {},
    "batch": {"sequence": 16, "micro_batches": 4},
    "compute": {"layer_forward": "10us", "layer_backward": "20us"},
    "memory": {"bucket": "4KB"},
}


def mapping(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """The base job with fields replaced: parallel__tp=2; gpus follows from the groups unless it is given."""
    raw = deepcopy(BASE)
    for path, value in changes.items():
        *heads, last = path.split("__")
        here = raw
        for head in heads:
            here = here.setdefault(head, {})
        here[last] = value
    sizes = raw["parallel"]
    if "gpus" not in changes:
        raw["gpus"] = sizes.get("tp", 1) * sizes.get("pp", 1) * sizes.get("dp", 1) * sizes.get("cp", 1)
    return raw


def job(**changes: Any) -> Job:  # noqa: ANN401
    """The base job with fields replaced."""
    return load_job(mapping(**changes), "job.yml").job


def rings(operation: str, n_ranks: int, size_bytes: int, group: GroupShape = UNKNOWN, /) -> Transfers:
    """Rings, and direct all-to-all."""
    algorithm = "direct" if operation == "all-to-all" else "ring"
    return build(algorithm, Request(operation, n_ranks, size_bytes, 1)).transfers
