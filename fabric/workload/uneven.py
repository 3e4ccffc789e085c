"""Sizes of an uneven all-to-all: a matrix from a file, or shares drawn as tokens choose experts.

The matrix says how much each rank has for each, in any unit: it is scaled so that the largest send buffer, own block
included, is the size of the operation. So one file serves a series of sizes, and with `size` equal to the largest sum
of a row the numbers of the file are bytes.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from fabric.errors import InputErrors, Problem
from fabric.jobs.experts import expert_weights
from fabric.reading import MIB
from fabric.workload.batch import Ints, Surroundings
from fabric.workload.beside import read_beside
from fabric.workload.spec import CollectiveSpec

MOST_BYTES: Final = 256 * MIB
"""Of a file: 4,096 ranks squared, 16 characters each."""
_LARGEST: Final = 2**40
_SHARES: Final = 2**40
"""Shares of drawn weights are this fine."""


def matrix_of(spec: CollectiveSpec, n_ranks: int, name: str, path: str, around: Surroundings) -> Ints | None:
    """(n_ranks, n_ranks) elements from row to column; None where there are problems, which are reported."""
    found = _drawn(spec, n_ranks, name, around) if spec.matrix is None else _read(spec.matrix, n_ranks, path, around)
    if found is None:
        return None
    largest = int(found.sum(axis=1).max())
    if not largest:
        around.problems.append(Problem(f"{path}.matrix", "every size is 0", "give sizes above 0"))
        return None
    # Python integers: products of sizes exceed 64 bits.
    cells = [cell * spec.size // (largest * spec.element) for cell in found.ravel().tolist()]
    return np.array(cells, np.int64).reshape(n_ranks, n_ranks)


def _drawn(spec: CollectiveSpec, n_ranks: int, name: str, around: Surroundings) -> Ints:
    """Every rank has the same shares for the ranks, one expert each."""
    weights = expert_weights(spec.skew or "uniform", n_ranks, spec.exponent or 0.0, around.random(name, "skew"))
    return np.tile(np.round(weights * _SHARES).astype(np.int64), (n_ranks, 1))


def _read(file: str, n_ranks: int, path: str, around: Surroundings) -> Ints | None:
    """A line of comma-separated numbers for each rank, or one line that holds for all ranks; '#' begins a comment."""
    where = f"{path}.matrix"
    try:
        text = read_beside(around.folder / file, MOST_BYTES, where)
    except InputErrors as error:
        around.problems.extend(error.problems)
        return None
    rows: list[list[int]] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.partition("#")[0].split(",")]
        if cells == [""]:
            continue
        place = f"{where}, {file} line {number}"
        wrong = next((cell for cell in cells if not (cell.isascii() and cell.isdecimal() and len(cell) <= 13)), None)
        if wrong is not None or any(int(cell) > _LARGEST for cell in cells):
            text_ = f"'{wrong}' is not a whole number" if wrong is not None else f"a size is above {_LARGEST}"
            around.problems.append(Problem(place, text_, "give sizes from 0, such as 4096,0,8192"))
            return None
        if len(cells) != n_ranks:
            around.problems.append(Problem(place, f"has {len(cells)} sizes for {n_ranks} ranks", "give one each"))
            return None
        rows.append([int(cell) for cell in cells])
    if len(rows) not in {1, n_ranks}:
        text_ = f"{file} has {len(rows)} lines for {n_ranks} ranks"
        around.problems.append(Problem(where, text_, "give one line for each rank, or one for all"))
        return None
    return np.array(rows * (n_ranks // len(rows)), np.int64)
