"""Models, GPUs and layouts of publications, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fabric.jobs.model import Model

_LLAMA: Final = "Llama 3 (arXiv 2407.21783), table 3"

MODELS: Final[Mapping[str, Model]] = {
    model.name: model
    for model in (
        Model("llama3-8b", 32, 4096, 14336, 32, 8, 128_256, 8192, source=_LLAMA),
        Model("llama3-70b", 80, 8192, 28672, 64, 8, 128_256, 8192, source=_LLAMA),
        Model("llama3-405b", 126, 16384, 53248, 128, 8, 128_256, 131_072, source=_LLAMA),
        Model(
            "gpt3-175b",
            96,
            12288,
            49152,
            96,
            96,
            50_257,
            2048,
            style="gpt",
            tied_embeddings=True,
            source="GPT-3 (arXiv 2005.14165), table 2.1",
        ),
        Model(
            "mixtral-8x7b",
            32,
            4096,
            14336,
            32,
            8,
            32_000,
            32_768,
            experts=8,
            experts_per_token=2,
            source="Mixtral of Experts (arXiv 2401.04088), table 1",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Gpu:
    """An accelerator: dense 16-bit peak, memory, and rate to the others of its node, one direction."""

    peak_flops: int
    memory_bytes: int
    memory_bytes_per_s: int
    scale_up_bps: int
    tdp_watts: int
    source: str


GPUS: Final[Mapping[str, Gpu]] = {
    "a100-sxm": Gpu(312 * 10**12, 80 * 2**30, 2039 * 10**9, 2400 * 10**9, 400, "NVIDIA A100 data sheet, 80 GB SXM"),
    "h100-sxm": Gpu(989 * 10**12, 80 * 2**30, 3350 * 10**9, 3600 * 10**9, 700, "NVIDIA H100 data sheet, SXM"),
}
"""NVLink's data-sheet rate counts both directions; half of it goes one way."""

_405B: Final = {
    "model": "llama3-405b",
    "compute": {"gpu": "h100-sxm", "utilisation": 0.6},
    "pipeline": {"schedule": "interleaved"},
}
"""Chunks of stages and the utilisation of matrices are not published: assumed."""
_405B_PARALLEL: Final = {
    "tp": 8,
    "pp": 16,
    "sequence_parallel": True,
    "order": ["tp", "cp", "pp", "dp"],
    "layers": "ends",
    "virtual_stages": 8,
}

JOBS: Final[Mapping[str, Mapping[str, Any]]] = {
    "llama3-8b": {
        "description": "Llama 3 8B on 64 GPUs: tensor parallelism in the node, data parallelism between nodes.",
        "model": "llama3-8b",
        "gpus": 64,
        "parallel": {"tp": 8, "dp": 8, "sequence_parallel": True},
        "batch": {"sequence": 8192, "micro_batch": 1, "micro_batches": 4},
        "memory": {"zero": 1},
        "compute": {"gpu": "h100-sxm", "utilisation": 0.45},
    },
    "llama3-70b": {
        "description": "Llama 3 70B on 256 GPUs: tensor, pipeline and data parallelism.",
        "model": "llama3-70b",
        "gpus": 256,
        "parallel": {"tp": 8, "pp": 4, "dp": 8, "sequence_parallel": True, "virtual_stages": 2},
        "batch": {"sequence": 8192, "micro_batch": 1, "micro_batches": 8},
        "memory": {"zero": 1},
        "storage": {"checkpoint": {"interval": "60min", "writers": "all"}, "dataset": {"bytes_per_token": 4}},
        "pipeline": {"schedule": "interleaved"},
        "compute": {"gpu": "h100-sxm", "utilisation": 0.45},
    },
    "llama3-405b-8192": {
        **_405B,
        "description": "Llama 3 405B on 8,192 GPUs, 8,192 tokens a sequence (arXiv 2407.21783, table 4, row 1).",
        "gpus": 8192,
        "parallel": {**_405B_PARALLEL, "dp": 64},
        "batch": {"sequence": 8192, "micro_batch": 1, "micro_batches": 32},
        "memory": {"zero": 2},
    },
    "llama3-405b-16384": {
        **_405B,
        "description": "Llama 3 405B on 16,384 GPUs, 8,192 tokens a sequence (arXiv 2407.21783, table 4, row 2).",
        "gpus": 16384,
        "parallel": {**_405B_PARALLEL, "dp": 128},
        "batch": {"sequence": 8192, "micro_batch": 1, "micro_batches": 16},
        "memory": {"zero": 2},
    },
    "llama3-405b-long": {
        **_405B,
        "description": "Llama 3 405B on 16,384 GPUs, 131,072 tokens a sequence (arXiv 2407.21783, table 4, row 3).",
        "gpus": 16384,
        "parallel": {**_405B_PARALLEL, "cp": 16, "dp": 8, "context": "all-gather"},
        "batch": {"sequence": 131_072, "micro_batch": 1, "micro_batches": 16},
        "memory": {"zero": 2},
    },
    "gpt-145b": {
        "description": "GPT with 145.6 B parameters on 1,536 GPUs (arXiv 2104.04473, table 1; tensor 8, pipeline 8).",
        "model": {
            "name": "gpt-145b",
            "layers": 80,
            "hidden": 12288,
            "feed_forward": 49152,
            "heads": 96,
            "vocabulary": 51_200,
            "sequence": 2048,
            "style": "gpt",
        },
        "gpus": 1536,
        "parallel": {"tp": 8, "pp": 8, "dp": 24},
        "batch": {"sequence": 2048, "micro_batch": 1, "micro_batches": 96},
        "memory": {"recompute": "full"},
        "compute": {"gpu": "a100-sxm", "utilisation": 0.55},
    },
    "mixtral-8x7b": {
        "description": "Mixtral 8x7B on 64 GPUs: an expert for each rank of a node.",
        "model": "mixtral-8x7b",
        "gpus": 64,
        "parallel": {"dp": 64, "ep": 8},
        "batch": {"sequence": 4096, "micro_batch": 1, "micro_batches": 4},
        "memory": {"zero": 2, "recompute": "selective"},
        "compute": {"gpu": "h100-sxm", "utilisation": 0.4},
    },
}
"""Job files as data, checked as those of users are."""
