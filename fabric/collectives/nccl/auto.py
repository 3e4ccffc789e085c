"""NCCL's choice for a request, carried out by an algorithm of this package."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from fabric.collectives.nccl.choice import Choice, choose
from fabric.collectives.nccl.system import System, known_channels
from fabric.collectives.nccl.tables import Algorithm, Generation, Operation
from fabric.collectives.schedule import Request
from fabric.errors import InputErrors, Problem

GENERATION: Final = str(Generation.HOPPER)
GPUS_PER_NODE: Final = 8
SIMULATED: Final = {Algorithm.RING: "ring", Algorithm.TREE: "double-binary-tree", Algorithm.PAT: "pat"}
"""NCCL's algorithms that are simulated; NVLS and CollNet add in switches, which no schedule of messages does."""


@dataclass(frozen=True)
class Chosen:
    """An algorithm, its options, and why."""

    algorithm: str
    request: Request
    reason: str
    """'NCCL's model: tree LL128 76.1 us, ring LL128 150.2 us': the chosen one, then the next best."""


def auto(request: Request, generation: str | None = None) -> Chosen:
    """Algorithm, channels and pieces as NCCL's model chooses them.

    Parameters
    ----------
    request : Request     `node_size` is the GPUs of a node
    generation : str      of the GPUs (tables.Generation); hopper where absent

    Raises: InputErrors where NCCL's model has no choice for the operation or system, or the choice is not simulated.
    """
    if request.operation not in set(Operation):
        text = f"NCCL's model chooses no algorithm for {request.operation}"
        raise _refused("operation", text, f"name an algorithm, or use {', '.join(Operation)}")
    gpus = min(request.node_size, request.n_ranks)
    if request.n_ranks % gpus:
        text = f"{request.n_ranks} ranks are not a multiple of {gpus} per node"
        raise _refused("ranks_per_node", text, "change one of them")
    kind = Generation(generation or GENERATION)
    nodes = request.n_ranks // gpus
    channels = known_channels(kind, nodes, gpus)
    if channels is None:
        text = f"NCCL's channels on {nodes} x {gpus} GPUs of generation {kind} are not known"
        hint = (
            f"use ranks in nodes of {GPUS_PER_NODE} with generation: {GENERATION}, or name an algorithm: "
            "`fabric collective choose --channels COUNT:GB/S` tells NCCL's choice for other systems"
        )
        raise _refused("algorithm", text, hint)
    choice = choose(System(kind, nodes, gpus, channels), Operation(request.operation), max(request.size_bytes, 1))
    best = choice.best.algorithm
    if best not in SIMULATED:
        text = f"NCCL's model chooses {choice.best.name}, which is not simulated"
        raise _refused("algorithm", text, f"name one of {', '.join(SIMULATED.values())}")
    made = replace(
        request,
        node_size=1,
        channels=choice.channels if best is Algorithm.RING else 1,
        pieces=1 if best is Algorithm.PAT else _pieces(choice),
    )
    return Chosen(SIMULATED[best], made, f"NCCL's model: {choice.reason}")


def _pieces(choice: Choice) -> int:
    """Messages into which one channel's part is cut: slices of all its chunks. Our trees are two, each with the pieces
    of half of NCCL's channels: chunks of different channels do not wait for each other.
    """
    cut = choice.pieces
    whole = cut.chunk_bytes // cut.slice_bytes
    of_channel = (cut.loops - 1) * whole + max(-(-cut.last_chunk_bytes // cut.slice_bytes), 1)
    return of_channel if choice.best.algorithm is Algorithm.RING else max(of_channel * choice.channels // 2, 1)


def _refused(field: str, text: str, hint: str) -> InputErrors:
    return InputErrors("choosing the algorithm", [Problem(field, text, hint)])
