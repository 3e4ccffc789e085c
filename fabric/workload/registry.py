"""Workload kinds by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fabric.workload import all_to_all, incast, messages, permutation, poisson
from fabric.workload.batch import Generate

WORKLOADS: Final[Mapping[str, Generate]] = {
    "incast": incast.generate,
    "permutation": permutation.generate,
    "all-to-all": all_to_all.generate,
    "poisson": poisson.generate,
    "messages": messages.generate,
}
"""kind -> generator; the specs are in spec.py."""
