"""Memory of a training rank: weights, gradients, optimizer, activations.

Sources: Rajbhandari et al., ZeRO (arXiv 1910.02054), for the model state; Korthikanti et al. (arXiv 2205.05198),
section 4 and table 2, for activations. Not counted: fragmentation, communication buffers, workspaces of libraries.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final, Literal

from fabric.jobs.model import Model

Recompute = Literal["none", "selective", "full"]
OPTIMIZER_BYTES: Final = 12
"""Adam with mixed precision: fp32 weights and two fp32 moments of each parameter (ZeRO, section 3.1)."""


@dataclass(frozen=True, slots=True)
class ModelState:
    """Bytes of one rank."""

    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int

    @property
    def total_bytes(self) -> int:
        """All three."""
        return self.weights_bytes + self.gradients_bytes + self.optimizer_bytes


def model_state(
    n_parameters: int, zero: int, data_parallel: int, *, weight_bytes: int = 2, gradient_bytes: int = 2
) -> ModelState:
    """Model state of one rank.

    Parameters
    ----------
    n_parameters : int     held by the rank's cell of tensor and pipeline parallelism
    zero : int             0: nothing is sharded; 1: optimizer; 2: and gradients; 3 (FSDP): and weights
    data_parallel : int    ranks that share the shards; shards are rounded up to whole parameters
    """
    shard = -(-n_parameters // data_parallel)
    held = [shard if zero >= stage else n_parameters for stage in (3, 2, 1)]
    return ModelState(held[0] * weight_bytes, held[1] * gradient_bytes, held[2] * OPTIMIZER_BYTES)


def activation_bytes(
    model: Model,
    sequence: int,
    micro_batch: int,
    *,
    tp: int = 1,
    cp: int = 1,
    sequence_parallel: bool = False,
    recompute: Recompute = "none",
    flash: bool = False,
) -> int:
    """Activations that one rank keeps of one layer and micro-batch, 16-bit elements, rounded up to whole bytes.

    gpt with f = 4h (Korthikanti et al., table 2), t = tp: none: s b h (10 + 24/t + 5as/(ht)); with sequence parallelism
    s b h (34 + 5as/h)/t; selective recomputation or flash attention drop the 5as/h; full: 2 s b h, the input alone.
    llama has no dropout: norm inputs 4h, inputs of the two blocks 4h, queries, keys, values 2h + 4kd, scores 2as,
    projection input 2h, and 6f: gate, up, and their product. With experts the inputs are kept K times.
    """
    s = Fraction(sequence, cp)
    h, t = model.hidden, tp
    whole = t if sequence_parallel else 1
    if recompute == "full":
        return ceil(s * micro_batch * 2 * h / whole)
    copies = max(model.experts_per_token, 1)
    divided = 4 * h + 4 * model.kv_width
    replicated = 6 * h + 2 * h * copies
    scores = 0 if flash or recompute == "selective" else model.heads * sequence * (5 if model.style == "gpt" else 2)
    if model.style == "gpt":
        divided += 4 * model.feed_forward * copies
        replicated += 2 * h  # dropout masks, one byte an element, of attention and of the feed-forward part
    else:
        divided += 6 * model.feed_forward * copies
    return ceil(s * micro_batch * (Fraction(replicated, whole) + Fraction(divided + scores, t)))


def in_flight(schedule: str, stage: int, stages: int, micro_batches: int, virtual_stages: int = 1) -> Fraction:
    """Micro-batches whose activations a stage keeps at the worst time.

    Interleaved (Korthikanti et al., section 4.2.3): warm-up of the stage's chunks, and one more in progress.
    Each chunk has 1/v of the stage's layers.
    """
    if schedule == "gpipe":
        return Fraction(micro_batches)
    if schedule == "1f1b":
        return Fraction(min(stages - stage, micro_batches))
    if micro_batches == stages:  # all forward passes come first (pipeline.py)
        return Fraction(micro_batches)
    chunks = 2 * (stages - stage - 1) + (virtual_stages - 1) * stages + 1
    return Fraction(min(chunks, micro_batches * virtual_stages), virtual_stages)
