"""Times of collectives in closed form: alpha per message, beta per byte on a port, gamma per byte added.

n ranks, S bytes, a = alpha + send latency, t(x) = x beta, c = the largest chunk. Ports are as in longest_path.py: one
for sending and one for receiving per rank, no contention beyond them. A form says whether it is exact there: trees are
estimates, as ports serve two children one after another; so is folding, as ranks that do not fold start early. Where
ranks of a node have other links (a1, t1: scale-up), and only others use the NIC (a, t), rings, hierarchies and
PXN have forms of both; G ranks a node, M nodes.
Source: Thakur, Rabenseifner, Gropp 2005; Chan et al. 2007; Sanders, Speck, Traeff 2009; Bruck et al. 1997.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fabric.collectives.longest_path import Link
from fabric.collectives.schedule import Request, split


@dataclass(frozen=True)
class ClosedForm:
    """A time and where it comes from."""

    time_ps: int
    formula: str
    exact: bool
    """Whether it equals the longest path, but for rounding to whole elements; else it is an estimate."""


class _Costs:
    """The symbols of the formulas for one request, all in ps and bytes."""

    def __init__(self, request: Request, link: Link, near: Link | None) -> None:
        self.request, self.link, self.near = request, link, near
        self.n, self.size = request.n_ranks, request.size_bytes
        self.alpha, self.latency = link.alpha_ps, request.send_latency_ps
        self.a = self.alpha + self.latency
        self.a1 = (link if near is None else near).alpha_ps + self.latency
        self.adding = bool(request.reduction_fs_per_byte)
        self.power = 1 << (self.n.bit_length() - 1)
        self.rounds = self.power.bit_length() - 1
        self.folds = self.power < self.n

    def t(self, size_bytes: float) -> float:
        """Time on a port."""
        return size_bytes * self.link.fs_per_byte / 1000

    def t1(self, size_bytes: float) -> float:
        """Time on the port to ranks of the same node."""
        return size_bytes * (self.link if self.near is None else self.near).fs_per_byte / 1000

    def g(self, size_bytes: float) -> float:
        """Time of an addition."""
        return size_bytes * self.request.reduction_fs_per_byte / 1000 if self.request.what.reduces else 0

    def largest(self, *parts: int) -> int:
        """Bytes of the largest part of a part ... of the size."""
        elements = self.request.n_elements
        for count in parts:
            elements = split(elements, count).of(0)
        return elements * self.request.element_bytes


def _ring(x: _Costs) -> ClosedForm:
    request, n = x.request, x.n
    if request.operation in {"broadcast", "reduce"}:
        return _chain(x)
    steps = (2 if request.operation == "all-reduce" else 1) * (n - 1)
    pieces = request.channels * request.pieces
    chunk = x.largest(n, request.channels, request.pieces)
    u, add = x.t(chunk), x.g(chunk)
    even = request.n_elements % (n * pieces) == 0
    if request.lockstep:
        hop = x.a + request.channels * (u + add)
        return ClosedForm(round(steps * hop), "steps (a + C (t(c) + g(c))), c = S/(n C)", exact=not add)
    if pieces == 1:
        name = f"{'2(n-1)' if steps == 2 * (n - 1) else '(n-1)'} (a + t(c))"
        if add:
            name += " + (n-1) g(c)"
        return ClosedForm(round(steps * (x.a + u) + (n - 1) * add), f"{name}, c = S/n", exact=True)
    plain = not x.latency and not add and even
    # A piece occupies its rank's port for u and the rank's posting for w; channels post side by side.
    wait = (x.latency + add) / request.channels
    every, hop = max(u, wait), u + x.a + add
    if pieces * every >= hop:
        time, name = steps * pieces * every + hop - every, "steps q u + a, u = t(S/(n q))"
    else:
        time, name = steps * hop + (pieces - 1) * every, "steps (u + a) + (q-1) u, u = t(S/(n q))"
    return ClosedForm(round(time), name, exact=plain)


def _chain(x: _Costs) -> ClosedForm:
    request, pieces = x.request, x.request.channels * x.request.pieces
    chunk = x.largest(request.channels, request.pieces)
    every = max(x.t(chunk), x.latency + x.g(chunk))
    time = (x.n - 1) * (x.a + x.t(chunk) + x.g(chunk)) + (pieces - 1) * every
    plain = request.channels == 1 and not (x.latency and x.adding) and request.n_elements % pieces == 0
    return ClosedForm(round(time), "(n-1) (a + t(c) + g(c)) + (k-1) max(t(c), g(c)), c = S/k", exact=plain)


def _tree(x: _Costs, *, trees: int) -> ClosedForm:
    height, children = (x.n - 1).bit_length(), 2 if x.n > 3 else 1
    chunk = x.largest(trees, x.request.pieces)
    both = 2 if x.request.operation == "all-reduce" else 1
    # What the busiest port carries: in one tree S up and 2 S down, in two trees half of it and a leaf's share.
    busiest = (min(x.n - 1, 3), min(x.n / 2, 2)) if both > 1 else (children, 1)
    share = busiest[trees - 1]
    time = both * height * (x.a + children * x.t(chunk) + x.g(chunk)) + share * max(x.t(x.size) - trees * x.t(chunk), 0)
    name = f"{both} H (a + {children} t(c) + g(c)) + {share:g} (t(S) - {trees} t(c)), H = ceil(log2 n), c = a chunk"
    return ClosedForm(round(time), name, exact=False)


def _halving(x: _Costs, *, halves: bool) -> ClosedForm:
    both = 2 if x.request.operation == "all-reduce" else 1
    moved = (x.power - 1) / x.power * x.size
    time = both * x.rounds * x.a + both * x.t(moved) + (x.g(moved) if x.request.operation != "all-gather" else 0)
    name = f"{both} log2(p) a + {both} (p-1)/p t(S) + (p-1)/p g(S)"
    if x.folds:
        half = x.size / 2
        time += 3 * x.a + 2 * x.t(x.size) + x.g(half) if halves else 2 * (x.a + x.t(x.size)) + x.g(x.size)
        name += " + 3 a + 2 t(S) + g(S/2)" if halves else " + 2 (a + t(S)) + g(S)"
    return ClosedForm(round(time), name, exact=not x.folds and x.request.n_elements % x.power == 0)


def _recursive_doubling(x: _Costs) -> ClosedForm:
    if x.request.operation == "all-gather":
        return _logarithmic(x)
    steps = x.rounds + 2 * x.folds
    time = steps * (x.a + x.t(x.size)) + (x.rounds + x.folds) * x.g(x.size)
    return ClosedForm(round(time), "(log2 p + 2 [x>0]) (a + t(S)) + (log2 p + [x>0]) g(S)", exact=not x.folds)


def _logarithmic(x: _Costs) -> ClosedForm:
    moved = (x.n - 1) / x.n * x.size
    time = (x.n - 1).bit_length() * x.a + x.t(moved) + x.g(moved)
    return ClosedForm(
        round(time), "ceil(log2 n) a + (n-1)/n (t(S) + g(S))", exact=x.request.n_elements % x.n == 0
    )  # fmt: skip


def _bruck(x: _Costs) -> ClosedForm | None:
    if x.request.operation == "all-gather":
        return _logarithmic(x)
    if x.request.matrix is not None:
        return None
    blocks = [sum(i >> k & 1 for i in range(x.n)) for k in range((x.n - 1).bit_length())]
    time = sum(x.a + x.t(count * x.size / x.n) for count in blocks)
    return ClosedForm(
        round(time), "sum over k of (a + t(b_k S/n)), b_k = blocks with bit k", exact=x.request.n_elements % x.n == 0
    )  # fmt: skip


def _pairwise(x: _Costs) -> ClosedForm | None:
    if x.request.matrix is not None:
        return None
    return ClosedForm(round((x.n - 1) * (x.a + x.t(x.largest(x.n)))), "(n-1) (a + t(S/n))",
                      exact=x.request.n_elements % x.n == 0)  # fmt: skip


def _direct(x: _Costs) -> ClosedForm | None:
    operation, n = x.request.operation, x.n
    if x.request.matrix is not None:
        return None
    if operation == "send-recv":
        return ClosedForm(round(x.a + x.t(x.size)), "a + t(S)", exact=True)
    each = x.t(x.size if operation == "broadcast" else x.largest(n))
    wait = 0 if operation == "gather" else x.latency
    time = x.a + each + (n - 2) * max(each, wait)
    block = "S" if operation == "broadcast" else "S/n"
    return ClosedForm(round(time), f"a + (n-1) t({block})",
                      exact=operation == "broadcast" or x.request.n_elements % n == 0)  # fmt: skip


def _hierarchical(x: _Costs) -> ClosedForm:
    size = x.request.node_size
    nodes, pieces = x.n // size, x.request.pieces
    near, far = x.largest(pieces, size), x.largest(pieces, size, nodes)
    inside = 2 * (size - 1) * (x.a1 + x.t1(near)) + (size - 1) * x.g(near)
    between = 2 * (nodes - 1) * (x.a + x.t(far)) + (nodes - 1) * x.g(far)
    alike = x.request.n_elements % (x.n * pieces) == 0
    time = inside + between
    if pieces > 1:  # latencies overlap; bytes add up where one port serves both networks
        ports = 2 * (size - 1) * x.t1(near), 2 * (nodes - 1) * x.t(far)
        time = max(time, pieces * (sum(ports) if x.near is None else max(ports)))
    return ClosedForm(
        round(time), "2(G-1) (a1 + t1(S/G)) + 2(M-1) (a + t(S/(GM))) + (G-1) g(S/G) + (M-1) g(S/(GM))",
        exact=pieces == 1 and alike,
    )  # fmt: skip


def _pxn(x: _Costs) -> ClosedForm | None:
    """Blocks of b = S/n: G - 1 to each node further on inside the node, then G together between nodes."""
    if x.near is None:
        return None
    size, block = x.request.node_size, x.largest(x.n)
    nodes = x.n // size
    inside, between = (size - 1) * x.t1(block), x.t(size * block)
    across = x.a1 + inside + (nodes - 2) * max(inside, between) + between + x.a if nodes > 1 else 0
    time = max(across, x.a1 + nodes * inside)
    return ClosedForm(
        round(time), "a1 + (G-1) t1(b) + (M-2) max((G-1) t1(b), t(G b)) + t(G b) + a, b = S/n",
        exact=not x.latency and x.request.n_elements % x.n == 0,
    )  # fmt: skip


def _ring_over_nodes(x: _Costs) -> ClosedForm:
    """What no ring over two kinds of links can beat: the busiest port, and the links that a chunk crosses in turn."""
    request, size = x.request, x.request.node_size
    steps = (2 if request.operation == "all-reduce" else 1) * (x.n - 1)
    channels, nodes = request.channels, x.n // size
    chunk = x.largest(x.n, channels)
    leaving = -(-channels // size)  # channels that leave a node at one place; the fewest, others stay
    staying = channels - channels // size
    ports = max(staying * x.t1(chunk), leaving * x.t(chunk))
    piece = x.largest(x.n, channels, request.pieces)
    hops = ((x.n - nodes) * (x.a1 + x.t1(piece)) + nodes * (x.a + x.t(piece))) / x.n
    name = f"{steps // (x.n - 1)}(n-1) max(busiest port, mean of a + t over links), an estimate"
    return ClosedForm(round(steps * max(ports, hops)), name, exact=False)


FORMS: Final[Mapping[str, Callable[[_Costs], ClosedForm | None]]] = {
    "ring": _ring,
    "bidirectional-ring": _ring,
    "multi-ring": _ring,
    "binary-tree": lambda x: _tree(x, trees=1),
    "double-binary-tree": lambda x: _tree(x, trees=2),
    "halving-doubling": lambda x: _halving(x, halves=False),
    "halving-doubling-halves": lambda x: _halving(x, halves=True),
    "recursive-doubling": _recursive_doubling,
    "bruck": _bruck,
    "pat": _logarithmic,
    "pairwise": _pairwise,
    "pairwise-xor": _pairwise,
    "direct": _direct,
    "hierarchical": _hierarchical,
    "pxn": _pxn,
}
"""Of each algorithm of the registry."""


_OVER_NODES: Final = frozenset({"hierarchical", "pxn"})
"""Forms that tell links inside nodes from others."""
_RINGS: Final = frozenset({"ring", "bidirectional-ring", "multi-ring"})


def closed_form(algorithm: str, request: Request, link: Link, near: Link | None = None) -> ClosedForm | None:
    """The time, or None where no closed form is known: use the longest path there.

    Parameters
    ----------
    link : Link    of all messages, or with `near` of those between nodes
    near : Link    of messages inside nodes of `node_size` ranks, on separate ports; None: there is one port for all
    """
    if request.n_ranks == 1:
        return ClosedForm(0, "0", exact=True)
    costs = _Costs(request, link, near)
    if near is not None and algorithm not in _OVER_NODES:
        plain = request.operation not in {"broadcast", "reduce"}
        return _ring_over_nodes(costs) if algorithm in _RINGS and plain else None
    return FORMS[algorithm](costs)
