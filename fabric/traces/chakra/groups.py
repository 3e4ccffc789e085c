"""Process groups of a Chakra trace: a JSON file, or metadata nodes as PyTorch writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from fabric.errors import InputErrors, Problem
from fabric.reading import MIB, read_text

MAX_GROUPS_BYTES: Final = 64 * MIB
ALL_NAMES: Final = frozenset({"", "0"})
"""Names of the group of all ranks in ASTRA-sim."""


def read_groups(path: Path, n_ranks: int) -> dict[str, tuple[int, ...]]:
    """`{"1": [0, 1, 2, 3]}` from a file. Raises: InputErrors."""
    text = read_text(path, MAX_GROUPS_BYTES, stage="groups")
    problems: list[Problem] = []
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputErrors("groups", [Problem(str(path), f"not JSON: {error}", 'write {"1": [0, 1]}')]) from error
    if not isinstance(raw, dict):
        raise InputErrors("groups", [Problem(str(path), "not a JSON object", 'write {"1": [0, 1]}')])
    groups = {}
    for name, ranks in raw.items():
        if (why := _wrong(ranks, n_ranks)) is not None:
            problems.append(Problem(f"{path}: {name}", why, f"list each rank of the group once, 0 to {n_ranks - 1}"))
        else:
            groups[str(name)] = tuple(ranks)
    if problems:
        raise InputErrors("groups", problems[:20])
    return groups


def groups_of_metadata(values: str, n_ranks: int) -> dict[str, tuple[int, ...]] | None:
    """Groups of a metadata node's inputs.values: a JSON list of {pg_name, ranks}, itself often quoted as JSON text.

    Returns: None where the text is something else; ranks empty mean all. Raises: ValueError where ranks are wrong.
    """
    raw: Any = values
    for _ in range(3):
        if isinstance(raw, list) and len(raw) == 1 and isinstance(raw[0], str):
            raw = raw[0]
        if not isinstance(raw, str):
            break
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            return None
    if not isinstance(raw, list) or not all(isinstance(it, dict) and "pg_name" in it for it in raw):
        return None
    groups = {}
    for it in raw:
        ranks = it.get("ranks") or list(range(n_ranks))
        if (why := _wrong(ranks, n_ranks)) is not None:
            raise ValueError(f"group {it['pg_name']!r} {why}")
        groups[str(it["pg_name"])] = tuple(ranks)
    return groups


def _wrong(ranks: Any, n_ranks: int) -> str | None:  # noqa: ANN401  anything of JSON
    if not isinstance(ranks, list) or not ranks or not all(type(it) is int for it in ranks):
        return "is not a list of ranks"
    if len(set(ranks)) != len(ranks):
        return "has a rank twice"
    if not all(0 <= it < n_ranks for it in ranks):
        return f"has a rank that the trace has not; it has {n_ranks}"
    return None
