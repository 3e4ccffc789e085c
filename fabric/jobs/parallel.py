"""Groups of ranks: tensor (tp), pipeline (pp), data (dp), context (cp) and expert parallelism (ep).

Rank numbers run through the axes in a stated order, the fastest first: Megatron tp, cp, dp, pp; Llama 3 tp, cp, pp, dp.
The order decides which groups share a node. Expert parallelism divides the data-parallel axis: ep consecutive members.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Axis = Literal["tp", "cp", "dp", "pp"]
AXES: Final[tuple[Axis, ...]] = ("tp", "cp", "dp", "pp")
GROUPS: Final[Mapping[str, tuple[Axis, ...]]] = {
    "tp": ("tp",),
    "cp": ("cp",),
    "dp": ("dp",),
    "pp": ("pp",),
    "gradients": ("dp", "cp"),
}
"""Kind of group -> axes along which its members differ. Ranks of one context share weights and sum their gradients."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """Sizes of the groups, and the order of the axes."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    order: tuple[Axis, ...] = AXES
    """Fastest first."""

    @property
    def n_ranks(self) -> int:
        """GPUs of the job; ep reuses dp."""
        return self.tp * self.pp * self.dp * self.cp

    @property
    def gradient_ranks(self) -> int:
        """Ranks that hold the same dense parameters."""
        return self.dp * self.cp

    @property
    def expert_gradient_ranks(self) -> int:
        """Ranks that hold the same experts."""
        return self.dp * self.cp // self.ep

    def size(self, kind: str) -> int:
        """Members of a group of the kind."""
        sizes = {"ep": self.ep, "expert-gradients": self.expert_gradient_ranks, "embedding": 2 if self.pp > 1 else 1}
        if kind in sizes:
            return sizes[kind]
        return int(np.prod([getattr(self, axis) for axis in GROUPS[kind]]))

    def _grid(self) -> Ints:
        """(pp, dp, cp, tp) rank numbers."""
        sizes = [getattr(self, axis) for axis in self.order]
        grid = np.arange(self.n_ranks, dtype=np.int64).reshape(sizes[::-1])
        slow_first = self.order[::-1]
        return grid.transpose([slow_first.index(axis) for axis in ("pp", "dp", "cp", "tp")])

    def stage_ranks(self, stage: int) -> Ints:
        """(dp, cp, tp) ranks of one pipeline stage."""
        return np.asarray(self._grid()[stage], np.int64)

    def coordinates(self) -> Mapping[Axis, Ints]:
        """Axis -> (n_ranks,) position of each rank on it."""
        grid = self._grid()
        found: dict[Axis, Ints] = {}
        for number, axis in enumerate(("pp", "dp", "cp", "tp")):
            where = np.empty(self.n_ranks, np.int64)
            where[grid] = np.arange(grid.shape[number]).reshape([-1 if n == number else 1 for n in range(4)])
            found[axis] = where  # type: ignore[index]  # mypy widens the literals of the tuple
        return found

    def groups(self, kind: str, stage: int | None = None) -> Ints:
        """(n_groups, size) ranks of each group, members in ascending order; of one stage, or of all.

        Kinds: tp, cp, dp, pp, gradients, ep, expert-gradients, and embedding (first and last stage).
        """
        grid = self._grid()
        if kind == "pp":
            return grid.reshape(self.pp, -1).T
        if kind == "embedding":
            ends = [0, self.pp - 1] if self.pp > 1 else [0]
            return grid[ends].reshape(len(ends), -1).T
        if stage is not None:
            grid = grid[stage : stage + 1]
        stages = len(grid)
        split = grid.reshape(stages, self.dp // self.ep, self.ep, self.cp, self.tp)
        if kind == "ep":
            found = split.transpose(0, 1, 3, 4, 2).reshape(-1, self.ep)
        elif kind == "expert-gradients":
            found = split.transpose(0, 2, 4, 1, 3).reshape(-1, self.expert_gradient_ranks)
        else:
            axes = [("pp", "dp", "cp", "tp").index(axis) for axis in GROUPS[kind]]
            rest = [number for number in range(4) if number not in axes]
            found = grid.transpose([*rest, *axes]).reshape(-1, self.size(kind))
        return np.sort(found, axis=1)


def crossing_edges(groups: Ints, place: Ints, *, pairs: bool) -> tuple[int, int]:
    """(edges that leave a place, all edges) of groups.

    Parameters
    ----------
    groups : (n_groups, size)
    place : (n_ranks,)          number of the node, leaf or pod of each rank
    pairs : bool                every ordered pair, as in all-to-all; else each member and its successor in a ring
    """
    where = place[groups]
    n_groups, size = groups.shape
    if size < 2:
        return 0, 0
    if not pairs:
        return int((where != np.roll(where, -1, axis=1)).sum()), groups.size
    # Members of one place do not cross: n^2 less the squares of how many are at each place, for each group.
    keys = where - place.min() + np.arange(n_groups)[:, None] * (int(place.max() - place.min()) + 1)
    together = np.unique(keys, return_counts=True)[1]
    return int(groups.size * size - (together.astype(np.int64) ** 2).sum()), groups.size * (size - 1)
