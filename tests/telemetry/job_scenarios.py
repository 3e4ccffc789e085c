"""A job of four ranks as a GOAL trace: each step a computation, then a message to the next rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

RANKS: Final = 4
MESSAGE_BYTES: Final = 100_000


def goal(computing_us: list[int], size_bytes: int = MESSAGE_BYTES) -> str:
    """Text of a step: rank r computes for computing_us[r], sends to the next rank and waits for the one before."""
    n = len(computing_us)
    blocks = [
        f"rank {rank} {{\nc: calc {us * 1000}\ns: send {size_bytes}b to {(rank + 1) % n} tag 0\n"
        f"r: recv {size_bytes}b from {(rank - 1) % n} tag 0\ns requires c\n}}\n"
        for rank, us in enumerate(computing_us)
    ]
    return f"num_ranks {n}\n" + "".join(blocks)


def raw(folder: Path, computing_us: list[int], *, steps: int = 3, **sections: Any) -> dict[str, Any]:  # noqa: ANN401
    """A scenario that runs the trace; the trace is written to the folder."""
    (folder / "step.goal").write_text(goal(computing_us), encoding="utf-8")
    return {
        "name": "job",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "host_rate": "100G",
                     "fabric_rate": "200G"},
        "workload": [{"kind": "trace", "name": "train", "file": "step.goal", "repeat": steps}],
        "run": {"duration": "2ms"},
        "telemetry": {"interval": "10us"},
        **sections,
    }  # fmt: skip
