"""Transformer models: parameters, and the floating-point operations (FLOP) of a step.

Letters of the formulas: L layers, h hidden size, f width of the feed-forward part, a heads, k key-value heads, d = h/a,
V vocabulary, s sequence length, t tensor parallelism, E experts of a layer, K experts of a token.

Sources: Llama 3 (arXiv 2407.21783) for gated feed-forward parts and grouped queries; Narayanan et al., SC 2021 (arXiv
2104.04473) and Korthikanti et al. 2022 (arXiv 2205.05198) for GPT and for the work of a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Style = Literal["llama", "gpt"]


@dataclass(frozen=True, slots=True)
class Model:
    """Shape of a decoder-only transformer. `problems` of fabric/jobs/checks.py are already excluded."""

    name: str
    layers: int
    hidden: int
    feed_forward: int
    """Width of the feed-forward part; of each expert where there are experts."""
    heads: int
    kv_heads: int
    vocabulary: int
    sequence: int
    """Longest sequence in tokens; `gpt` has a row of the position table for each."""
    style: Style = "llama"
    """llama: gated feed-forward (three matrices), RMSNorm, no biases. gpt: two matrices, LayerNorm, biases."""
    tied_embeddings: bool = False
    """The output layer uses the matrix of the embedding."""
    experts: int = 0
    """Experts of each layer; 0: a dense model."""
    experts_per_token: int = 0
    source: str = ""

    @property
    def head_size(self) -> int:
        """Elements of one head, d."""
        return self.hidden // self.heads

    @property
    def kv_width(self) -> int:
        """Elements of the keys of a token, k d; as many of the values."""
        return self.kv_heads * self.head_size


@dataclass(frozen=True, slots=True)
class LayerParameters:
    """Parameters of one layer by what tensor and expert parallelism do with them."""

    attention: int
    """Divided among tensor-parallel ranks."""
    replicated: int
    """Held by each tensor-parallel rank: norms, biases of row-parallel matrices, router."""
    feed_forward: int
    """Divided among tensor-parallel ranks; of one expert where there are experts."""
    experts: int
    """How many times feed_forward exists; 1 in a dense model."""

    @property
    def total(self) -> int:
        """All parameters of the layer."""
        return self.attention + self.replicated + self.feed_forward * self.experts


def layer_parameters(model: Model) -> LayerParameters:
    """Parameters of one layer.

    llama: 2h^2 + 2hkd + 3hf + 2h. gpt with f = 4h, k = a: 12h^2 + 13h. Experts: E times 3hf, and hE for the router.
    """
    h, f, qkv = model.hidden, model.feed_forward, model.hidden + 2 * model.kv_width
    router = h * model.experts
    if model.style == "llama":
        return LayerParameters(h * qkv + h * h, 2 * h + router, 3 * h * f, max(model.experts, 1))
    # Biases of the column-parallel matrices are divided with them, those of the row-parallel ones are replicated.
    experts = max(model.experts, 1)
    return LayerParameters(qkv * (h + 1) + h * h, h + h * experts + 4 * h + router, 2 * h * f + f, experts)


def embedding_parameters(model: Model) -> int:
    """Token embedding V h, and the position table s h of gpt."""
    return model.hidden * (model.vocabulary + (model.sequence if model.style == "gpt" else 0))


def output_parameters(model: Model) -> int:
    """Output layer, unless it is tied, and the last norm of llama.

    The last LayerNorm of gpt (2h) is not counted, as in Narayanan et al.
    """
    matrix = 0 if model.tied_embeddings else model.vocabulary * model.hidden
    return matrix + (model.hidden if model.style == "llama" else 0)


def parameters(model: Model) -> int:
    """All parameters, experts included."""
    return model.layers * layer_parameters(model).total + embedding_parameters(model) + output_parameters(model)


def active_parameters(model: Model) -> int:
    """Parameters that one token uses: of the experts only those of its K."""
    if not model.experts:
        return parameters(model)
    idle = model.experts - model.experts_per_token
    return parameters(model) - model.layers * idle * layer_parameters(model).feed_forward


@dataclass(frozen=True, slots=True)
class LayerWork:
    """FLOP of the forward pass of one layer over some tokens, all tensor-parallel ranks together."""

    attention_matrices: int
    scores: int
    """Queries times keys, and weights times values: what selective recomputation repeats."""
    feed_forward: int

    @property
    def attention(self) -> int:
        """Matrices and scores."""
        return self.attention_matrices + self.scores

    @property
    def total(self) -> int:
        """All FLOP of the layer's forward pass."""
        return self.attention + self.feed_forward


def layer_work(model: Model, tokens: int, sequence: int, *, causal: bool = False) -> LayerWork:
    """Forward FLOP of one layer: 2 for each weight and token, and 4 s h for the scores of a token.

    Parameters
    ----------
    tokens : int      tokens that pass through the layer
    sequence : int    tokens that each of them is compared with
    causal : bool     blocks above the diagonal are skipped: half of the scores. The formulas of the papers count all.
    """
    h = model.hidden
    matrices = 3 if model.style == "llama" else 2
    wide = matrices * h * model.feed_forward * max(model.experts_per_token, 1) + h * model.experts
    scores = 4 * tokens * sequence * h
    return LayerWork(
        2 * tokens * (2 * h * h + 2 * h * model.kv_width), scores // 2 if causal else scores, 2 * tokens * wide
    )


def output_work(model: Model, tokens: int) -> int:
    """Forward FLOP of the output layer: 2 V h for each token."""
    return 2 * tokens * model.vocabulary * model.hidden


def step_work(model: Model, tokens: int, sequence: int, *, recomputed: bool = False, causal: bool = False) -> int:
    """FLOP of forward and backward over a whole step; with full recomputation the layers' forward pass runs twice.

    For gpt with f = 4h this is 96 B s L h^2 (1 + s/(6h) + V/(16Lh)) with recomputation (Narayanan et al., equation 3)
    and 72 B s L h^2 (1 + s/(6h) + V/(12Lh)) without (Korthikanti et al., appendix A).
    """
    layers = model.layers * layer_work(model, tokens, sequence, causal=causal).total
    return layers * (4 if recomputed else 3) + 3 * output_work(model, tokens)


def rule_of_thumb_work(n_parameters: int, tokens: int, *, recomputed: bool = False) -> int:
    """6 FLOP for each parameter and token, 8 with full recomputation; attention scores are left out."""
    return (8 if recomputed else 6) * n_parameters * tokens


def model_flops_utilisation(work: int, seconds: float, gpus: int, peak_flops: float) -> float:
    """Share of the peak that the model's own work (without recomputation) reached: MFU."""
    return work / (seconds * gpus * peak_flops)
