"""Times of checkpoints and dataset reads of a job in a finished run, from transfers.parquet."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fabric.units import PS_PER_NS, PS_PER_S


@dataclass(frozen=True, slots=True)
class StorageTime:
    """One checkpoint, or the data of one step."""

    what: str
    """write or read."""
    step: int
    """Step that the checkpoint ends, or that uses the data."""
    start_ns: int
    end_ns: int | None
    """When the last byte arrived; None: not before the end of the run."""
    size_bytes: int

    @property
    def bytes_per_s(self) -> float | None:
        """Mean rate of all transfers together."""
        if self.end_ns is None or self.end_ns <= self.start_ns:
            return None
        return self.size_bytes * (PS_PER_S // PS_PER_NS) / (self.end_ns - self.start_ns)


def storage_times(table: pa.Table, name: str) -> list[StorageTime]:
    """Of the entry `name`, reads first, each by step.

    table : columns operation, start_ns, arrived_ns, size_bytes of transfers.parquet
    """
    names = table["operation"].combine_chunks()
    texts = names.dictionary.to_pylist() if isinstance(names.type, pa.DictionaryType) else names.to_pylist()
    pattern = re.compile(re.escape(f"{name}/step ") + r"([0-9]+) (?:(checkpoint) write|dataset of step ([0-9]+) read)")
    matches = {text: match for text in set(texts) if (match := pattern.fullmatch(text))}
    if not matches:
        return []
    operation = np.array(names.to_pylist(), dtype=object)
    start, arrived = (
        table[column].to_numpy(zero_copy_only=False).astype(float) for column in ("start_ns", "arrived_ns")
    )
    size = table["size_bytes"].to_numpy(zero_copy_only=False)
    found = []
    for text, match in matches.items():
        at = np.flatnonzero(operation == text)
        ends = arrived[at]
        found.append(
            StorageTime(
                "write" if match[2] else "read",
                int(match[1] if match[2] else match[3]),
                0 if np.isnan(start[at]).all() else int(np.nanmin(start[at])),
                None if np.isnan(ends).any() else int(ends.max()),
                int(size[at].sum()),
            )
        )
    return sorted(found, key=lambda it: (it.what, it.step))
