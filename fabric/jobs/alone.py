"""A scenario with one of its jobs only, on the GPUs that it has beside the others: what its slowdown is measured by.

The seed stays the same, and random streams have the name of the entry, so computing times are the same. Queue pairs get
other numbers, so ECMP may choose other paths: repeat with several seeds where single flows decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def alone(raw: Mapping[str, Any], name: str, placement_file: str) -> dict[str, Any]:
    """The mapping of a scenario file with only the job `name`.

    Parameters
    ----------
    raw : mapping of a scenario file, its entries written out
    placement_file : CSV of rank, node, gpu as the job has them beside the others

    Raises: KeyError where no job has the name.
    """
    entries = [entry for entry in raw["workload"] if entry["kind"] == "job" and (entry.get("name") or "job") == name]
    if not entries:
        raise KeyError(name)
    entry = {
        field: value
        for field, value in entries[0].items()
        if field not in {"placement", "distribution", "arrival", "time_limit"}
    }
    # Without admission the job begins with the run: its steps are compared, not its waiting.
    kept = {field: value for field, value in raw.items() if field not in {"workload", "admission", "expectations"}}
    return {**kept, "workload": [{**entry, "placement": "file", "placement_file": placement_file}]}
