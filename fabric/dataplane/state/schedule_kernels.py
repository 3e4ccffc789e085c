"""Loops over the messages of transfers, for state/schedule.py: it imports them when they are used, so that reading a
scenario does not load the compiler.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.compiled.jit import kernel, on_arrays

Ints = NDArray[np.int64]


@on_arrays
def count_longer(count: Ints, n_longer: Ints, first: Ints, stride: Ints, modulus: Ints, found: Ints) -> None:
    """Count k < count with (first + stride k) mod modulus < n_longer: whole turns of the modulus, and the rest."""
    for row in range(found.shape[0]):
        if n_longer[row] <= 0:
            continue
        turn = min(modulus[row], count[row])
        turns, rest, each = count[row] // turn, count[row] % turn, 0
        for k in range(turn):
            if (first[row] + stride[row] * k) % modulus[row] < n_longer[row]:
                each += 1
                if k < rest:
                    found[row] += 1
        found[row] += turns * each


@kernel
def _allowed(lead: int, per: int, done: int, count: int) -> int:
    """Messages of the later transfer that may be posted, as far as one need is concerned; count is the earlier's."""
    if done >= count or (per == 0 and lead <= done):
        return 1 << 62
    if per == 0:
        return 0
    return max((done - lead) // per + 1, 0)


@on_arrays
def finish(
    count: Ints,
    small_bytes: Ints,
    n_longer: Ints,
    first: Ints,
    stride: Ints,
    modulus: Ints,
    local: Ints,
    needs: Ints,
    by_later: Ints,
    first_need: Ints,
    by_earlier: Ints,
    first_wake: Ints,
    done: Ints,
    queue: Ints,
    queued: NDArray[np.uint8],
) -> None:
    """Let transfers go on, one after another from a ring of those whose needs may have changed."""
    n, head, waiting = count.shape[0], 0, count.shape[0]
    while waiting > 0:
        row = queue[head]
        head, waiting, queued[row] = (head + 1) % n, waiting - 1, 0
        reached = done[row]
        before = reached - 1
        while before < reached < count[row]:
            before = reached
            allowed = count[row]
            for place in range(first_need[row], first_need[row + 1]):
                need = by_later[place]
                earlier = needs[0, need]
                far = reached if earlier == row else done[earlier]
                allowed = min(allowed, _allowed(needs[2, need], needs[3, need], far, count[earlier]))
            reached = max(reached, allowed)
            if small_bytes[row] == 0 and local[row] == 0:  # empty messages count with the one before them
                while reached < count[row] and (
                    n_longer[row] == 0 or (first[row] + stride[row] * reached) % modulus[row] >= n_longer[row]
                ):
                    reached += 1
        if reached == done[row]:
            continue
        done[row] = reached
        for place in range(first_wake[row], first_wake[row + 1]):
            later = needs[1, by_earlier[place]]
            if queued[later] == 0 and done[later] < count[later]:
                queue[(head + waiting) % n] = later
                queued[later] = 1
                waiting += 1
