"""Ordered sets of small numbers as bitmaps of two levels.

A set over `words` words of State.slot_bits is followed by its summary: a bit for each word, 1 where the word is not 0.
So a search reads three words within 4,096 numbers, and one more word per further 4,096.
"""

from __future__ import annotations

from typing import Final

from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.compiled.words import lowest, ones
from fabric.dataplane.state.types import State

WORD_BITS: Final = 64
_SHIFT: Final = 6
_PLACE: Final = WORD_BITS - 1


@hot
def insert(state: State, base: int, words: int, number: int) -> None:
    """Add a number to the set at `base`."""
    word = number >> _SHIFT
    top = base + words + (word >> _SHIFT)
    state.slot_bits[base + word] = i64(state.slot_bits[base + word]) | i64(1) << (number & _PLACE)
    state.slot_bits[top] = i64(state.slot_bits[top]) | i64(1) << (word & _PLACE)


@hot
def remove(state: State, base: int, words: int, number: int) -> None:
    """Remove a number from the set at `base`."""
    word = number >> _SHIFT
    left = i64(state.slot_bits[base + word]) & ~(i64(1) << (number & _PLACE))
    state.slot_bits[base + word] = left
    if left == 0:
        top = base + words + (word >> _SHIFT)
        state.slot_bits[top] = i64(state.slot_bits[top]) & ~(i64(1) << (word & _PLACE))


@hot
def next_member(state: State, base: int, words: int, first: int) -> int:
    """The smallest member that is not below `first`; -1: none."""
    word = first >> _SHIFT
    if word >= words:
        return -1
    found = i64(state.slot_bits[base + word]) & i64(-1) << (first & _PLACE)
    if found != 0:
        return (word << _SHIFT) + lowest(found)
    word += 1
    top, end = word >> _SHIFT, (words + _PLACE) >> _SHIFT
    if top >= end:
        return -1
    found = i64(state.slot_bits[base + words + top]) & i64(-1) << (word & _PLACE)
    while found == 0:
        top += 1
        if top >= end:
            return -1
        found = i64(state.slot_bits[base + words + top])
    word = (top << _SHIFT) + lowest(found)
    return (word << _SHIFT) + lowest(i64(state.slot_bits[base + word]))


@hot
def count(state: State, base: int, first: int, end: int) -> int:
    """Number of members in first..end-1."""
    if end <= first:
        return 0
    word, last = first >> _SHIFT, (end - 1) >> _SHIFT
    within = i64(-1) << (first & _PLACE)
    found = 0
    while word < last:
        found += ones(i64(state.slot_bits[base + word]) & within)
        within = i64(-1)
        word += 1
    within &= ~((i64(-1) << ((end - 1) & _PLACE)) << 1)
    return found + ones(i64(state.slot_bits[base + word]) & within)


@kernel
def member_at(state: State, base: int, first: int, place: int) -> int:
    """The member that has `place` members between `first` and itself; it must exist."""
    word = first >> _SHIFT
    found = i64(state.slot_bits[base + word]) & i64(-1) << (first & _PLACE)
    here = ones(found)
    while place >= here:
        place -= here
        word += 1
        found = i64(state.slot_bits[base + word])
        here = ones(found)
    for _ in range(place):
        found &= ~(i64(1) << lowest(found))
    return (word << _SHIFT) + lowest(found)
