"""The combination that NCCL's model chooses, its channels, and the pieces in which data moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fabric.collectives.nccl import tables as t
from fabric.collectives.nccl.model import Prediction, predict
from fabric.collectives.nccl.system import System
from fabric.collectives.nccl.tables import Algorithm, Operation, Protocol
from fabric.errors import InputErrors, Problem

_FEWEST_THREADS: Final = 128
"""Threads are halved while they are a multiple of this."""
_SLICED: Final = frozenset({Operation.ALL_REDUCE, Operation.ALL_GATHER, Operation.REDUCE_SCATTER})
_CHUNK_STEPS: Final = 4
_SLICE_STEPS: Final = 2


@dataclass(frozen=True, slots=True)
class Pieces:
    """How one channel's data is cut."""

    chunk_bytes: int
    """Data of a step of the algorithm."""
    slice_bytes: int
    """Data that is forwarded alone, and a message on the network."""
    in_flight: int
    """Most slices on the way between two ranks."""
    loop_bytes: int
    """Data of all channels (and, of a ring, of all ranks' chunks) in one pass of the algorithm."""
    loops: int
    """Passes for the whole operation."""
    last_chunk_bytes: int
    """Chunk of the last pass, which has what is left."""


@dataclass(frozen=True)
class Choice:
    """What NCCL does with one operation."""

    operation: Operation
    size_bytes: int
    best: Prediction
    predictions: tuple[Prediction, ...]
    """All combinations, in the order of comparison."""
    channels: int
    """Channels in use; few bytes use fewer than there are."""
    threads: int
    """Per channel."""
    pieces: Pieces

    @property
    def reason(self) -> str:
        """'ring LL128 512.4 us, tree LL128 515.8 us': the chosen combination and the next best."""
        usable = sorted((it for it in self.predictions if not it.unusable), key=lambda it: it.time_us)
        others = [it for it in usable if it is not self.best]
        return ", ".join(f"{it.name} {it.time_us:.1f} us" for it in (self.best, *others[:1]))


def choose(system: System, operation: Operation, size_bytes: int, *, fp8: bool = False) -> Choice:
    """Choose the combination with the least predicted time.

    Parameters
    ----------
    system : System
    operation : Operation
    size_bytes : int    the larger of a rank's buffers (model.py)
    fp8 : bool          elements of 8 bits are added

    Raises: InputErrors for a system that cannot be, or a size below 1.
    """
    problems = [Problem(field, text, hint) for field, text, hint in system.problems()]
    if size_bytes < 1:
        problems.append(Problem("size", f"is {size_bytes} bytes", "give at least 1"))
    if problems:
        raise InputErrors("describing the system", problems)
    predictions = tuple(
        predict(system, operation, algorithm, protocol, size_bytes, fp8=fp8)
        for algorithm in Algorithm
        for protocol in Protocol
    )
    best = min(predictions, key=lambda it: it.time_us)  # the first of equals, as NCCL compares
    channels, threads = channels_used(system, best.algorithm, best.protocol, size_bytes)
    cut = pieces(operation, best.algorithm, best.protocol, size_bytes, channels, system.ranks)
    return Choice(operation, size_bytes, best, predictions, channels, threads, cut)


def channels_used(system: System, algorithm: Algorithm, protocol: Protocol, size_bytes: int) -> tuple[int, int]:
    """(channels, threads of each): fewer where threads would have less than their fewest bytes.

    NVLS and CollNet keep all of their channels. Source: NCCL src/enqueue.cc, getAlgoInfo.
    """
    channels, threads = system.of(algorithm).count, t.THREADS[protocol]
    if algorithm not in {Algorithm.RING, Algorithm.TREE, Algorithm.PAT}:
        return channels, threads
    least = t.THREAD_BYTES[protocol]
    if algorithm is Algorithm.RING and protocol is Protocol.LL:
        least *= system.ranks
    while channels > 1 and size_bytes < channels * threads * least:
        channels -= 1
    while threads % _FEWEST_THREADS == 0 and size_bytes < channels * threads * least:
        threads //= 2
    return channels, threads


def pieces(
    operation: Operation, algorithm: Algorithm, protocol: Protocol, size_bytes: int, channels: int, ranks: int
) -> Pieces:
    """Chunks and slices. Not modelled: that LL128 trees and PAT shrink chunks for small sizes (enqueue.cc)."""
    data, line = t.DATA_SHARE[protocol]
    step = t.BUFFER_BYTES[protocol] // t.BUFFER_STEPS * data // line
    sliced = algorithm is Algorithm.RING and protocol is Protocol.SIMPLE and operation in _SLICED
    chunk, slice_ = (_CHUNK_STEPS * step, _SLICE_STEPS * step) if sliced else (step, step)
    around = ranks if algorithm is Algorithm.RING and operation in _SLICED else 1
    loop = channels * around * chunk
    loops = -(-size_bytes // loop)
    left = size_bytes - (loops - 1) * loop
    return Pieces(
        chunk, slice_, t.BUFFER_STEPS * step // slice_, loop, loops, min(chunk, -(-left // (channels * around)))
    )
