"""Three models of a scale-up domain compared: `python -m bench.scale_up` prints the table of decision 0058.

The pipe model gives every GPU an egress and an ingress rate, shares them max-min fairly among messages in progress,
and adds the latency to each message. The other rows are the engine with packets of several sizes, and with a switch
that has ample room, or that stops a sender at rate x round trip of bytes, as credits do.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric.dataplane.engine.driver import Emulator
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario

GPUS: Final = 8
RATE_BPS: Final = 8 * 450 * 10**9
LATENCY_PS: Final = 936_000
MESSAGE_BYTES: Final = 4 * 2**20


@dataclass(frozen=True)
class Message:
    """A message that is posted when the named earlier one has arrived."""

    src: int
    dst: int
    size_bytes: int
    after: int = -1


def ring() -> list[Message]:
    """An all-reduce of 32 MiB over one ring: 14 steps."""
    return [
        Message(rank, (rank + 1) % GPUS, MESSAGE_BYTES, (step - 1) * GPUS + (rank - 1) % GPUS if step else -1)
        for step in range(2 * (GPUS - 1))
        for rank in range(GPUS)
    ]


def all_to_all() -> list[Message]:
    """Every pair, at once."""
    return [Message(a, (a + k) % GPUS, MESSAGE_BYTES) for a in range(GPUS) for k in range(1, GPUS)]


def incast() -> list[Message]:
    """Seven GPUs to one."""
    return [Message(a, 0, MESSAGE_BYTES) for a in range(1, GPUS)]


def uneven() -> list[Message]:
    """All-to-all in which one pair has four times the bytes."""
    return [
        Message(a, (a + k) % GPUS, MESSAGE_BYTES * (4 if (a, k) == (0, 1) else 1))
        for a in range(GPUS)
        for k in range(1, GPUS)
    ]


def incast_and_neighbours() -> list[Message]:
    """Seven GPUs to one, and each of the seven to its neighbour among them: shows blocking by the full receiver."""
    return [*incast(), *(Message(a, a % (GPUS - 1) + 1, MESSAGE_BYTES) for a in range(1, GPUS))]


PATTERNS: Final[dict[str, Callable[[], list[Message]]]] = {
    "ring all-reduce": ring,
    "all-to-all": all_to_all,
    "7-to-1 incast": incast,
    "uneven all-to-all": uneven,
    "incast beside neighbours": incast_and_neighbours,
}


def pipe_ps(messages: Sequence[Message]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(n,) arrival times with max-min fair shares of each GPU's two rates."""
    left = np.array([float(it.size_bytes) for it in messages])
    arrival = np.full(len(messages), np.inf)
    ready = np.array([0.0 if it.after < 0 else np.inf for it in messages])
    now = 0.0
    while np.isinf(arrival).any():
        active = np.flatnonzero((ready <= now + 1e-3) & (left > 0))
        share = _max_min(messages, active)
        waiting = ready[(ready > now + 1e-3) & np.isfinite(ready)]
        step = min(
            float((left[active] / share).min()) if len(active) else np.inf,
            float(waiting.min()) - now if len(waiting) else np.inf,
        )
        left[active] -= share * step
        now += step
        for row in active[left[active] < 1e-3]:
            left[row], arrival[row] = 0.0, now + LATENCY_PS
            for later, it in enumerate(messages):
                if it.after == row:
                    ready[later] = arrival[row]
    return arrival


def _max_min(messages: Sequence[Message], active: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(n_active,) bytes per ps: progressive filling over 2 x GPUS resources."""
    ends = np.array([(messages[row].src, GPUS + messages[row].dst) for row in active]).reshape(-1, 2)
    room, share = np.full(2 * GPUS, RATE_BPS / 8e12), np.zeros(len(active))
    free = np.ones(len(active), bool)
    while free.any():
        users = np.bincount(ends[free].ravel(), minlength=2 * GPUS)
        each = np.where(users > 0, room / np.maximum(users, 1), np.inf)
        least = each.min()
        fixed = free & (each[ends].min(axis=1) <= least * (1 + 1e-12))
        share[fixed] = least
        np.subtract.at(room, ends[fixed].ravel(), least)
        free &= ~fixed
    return share


def engine(messages: Sequence[Message], unit_bytes: int, folder: Path, *, ample: bool) -> tuple[Any, int, float]:
    """(arrival times in ps, events, seconds)."""
    rows = ["id,src,dst,size_bytes,start_ns,priority,after"]
    rows += [
        f"m{number},gpu{it.src + 1},gpu{it.dst + 1},{it.size_bytes},0,,{f'm{it.after}' if it.after >= 0 else ''}"
        for number, it in enumerate(messages)
    ]
    (folder / "messages.csv").write_text("\n".join(rows))
    room = {"role": "scale-up", "buffer": {"dynamic_th": 7}}
    raw = {
        "name": "scale-up",
        "topology": {
            "kind": "server",
            "gpus": GPUS,
            "scale_up": {"rate": f"{RATE_BPS}bps", "latency": f"{LATENCY_PS}ps", "unit": f"{unit_bytes}B"},
        },
        "transport": {"cc": "none", "ack_every": 64},
        "workload": [{"kind": "messages", "file": "messages.csv"}],
        "run": {"duration": "1s"},
        **({"switches": {"overrides": [room]}} if ample else {}),
    }
    found = compile_scenario(build_scenario(raw, folder / "scenario.yml"))
    best = np.inf
    for _ in range(3):
        emulator = Emulator(found.fabric, found.params)
        start = time.process_time()
        emulator.advance(found.duration_ps)
        best = min(best, time.process_time() - start)
    assert emulator.finished
    return emulator.state.rmessages["arrived_ps"][1:].astype(float), emulator.events, best


def main(folder: Path) -> None:
    """Print the table: end of the pattern against cells with little room, the mean error of messages, and the cost."""
    models = [
        (f"{unit:,} B, {'ample room' if ample else 'credits'}", unit, ample)
        for ample in (True, False)
        for unit in (16_000, 4_096, 256)
    ]
    print("| pattern | model | end, us | end | messages, mean (worst) | events | time |")
    print("|---|---|---|---|---|---|---|")
    for name, make in PATTERNS.items():
        messages = make()
        found = {model: engine(messages, unit, folder, ample=ample) for model, unit, ample in models}
        reference, _, _ = found["256 B, credits"]
        cheap = found["16,000 B, credits"][2]
        for model, (arrived, events, seconds) in {"pipe": (pipe_ps(messages), 2 * len(messages), 0.0), **found}.items():
            error = arrived / reference - 1
            ends = f"{arrived.max() / 1e6:.2f} | {arrived.max() / reference.max() - 1:+.2%}"
            each = f"{np.abs(error).mean():.2%} ({np.abs(error).max():.1%})"
            print(f"| {name} | {model} | {ends} | {each} | {events:,} | {seconds / cheap:.1f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
