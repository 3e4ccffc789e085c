"""Simulate one scenario in this process and measure it: time, memory, counts, digest.

Run as a separate process (bench/worker.py), so that the memory is that of the case and no case warms the caches of
another.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from bench import cases
from bench.machine import median, peak_rss_bytes
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state import codes, types
from fabric.dataplane.state.codes import LINE, Shared
from fabric.dataplane.state.compiled.jit import source_digest
from fabric.scenario.compile.scenario import CompiledScenario

SCHEDULE_TABLES: Final = ("transfers", "needs", "agendas", "messages", "rmessages", "issued", "qps", "rqps")
"""Tables of the engine that grow with a schedule: transfers, messages under way, queue pairs."""
Order = Literal["source", "insertion"]
"""Order of events at one instant."""


def emulator(compiled: CompiledScenario, threads: int = 1, order: Order = "source") -> Emulator:
    """As `fabric run` builds it; order `insertion` with the sequential scheduler that it needs."""
    return Emulator(
        compiled.fabric,
        compiled.params,
        compiled.edits,
        threads=threads,
        record=compiled.record,
        scheduler="sequential" if order == "insertion" else "windows",
        order=order,
        reroute_delay_ps=compiled.reroute_delay_ps,
    )


def warm_up(folder: Path, threads: int = 1, order: Order = "source") -> None:
    """Load (or compile) the kernels, so that loading is not measured."""
    compiled = cases.compiled(cases.permutation(16, "10KB", "warm-up"), folder)
    emulator(compiled, threads, order).advance(compiled.duration_ps)


def simulate(raw: dict[str, Any], *, repeats: int = 1, threads: int = 1, order: Order = "source") -> dict[str, Any]:
    """Simulate `raw` to its end `repeats` times.

    Returns: medians of wall and CPU seconds, the same per packet-hop, counts, memory in bytes, digest, and step_s: per
    repeat the wall seconds of each 100 us of simulated time, after which events are handed over, as a run does.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        warm_up(folder, threads, order)
        rss = [peak_rss_bytes()]
        began = time.perf_counter()
        compiled = cases.compiled(raw, folder)
        compile_s = time.perf_counter() - began
    walls: list[float] = []
    cpus: list[float] = []
    steps: list[list[float]] = []
    digests = set()
    build_s = 0.0
    for _ in range(repeats):
        began = time.perf_counter()
        engine = emulator(compiled, threads, order)
        build_s = time.perf_counter() - began
        rss.append(peak_rss_bytes())
        step_s, cpu, recorded = _to_the_end(engine, compiled.duration_ps)
        steps.append(step_s)
        walls.append(sum(step_s))
        cpus.append(cpu)
        digests.add(engine.digest())
    assert len(digests) == 1, "the same scenario ended in two states"
    assert engine.finished, "messages were left over; the case is too short"
    ports = engine.state.ports
    return {
        "hosts": len(compiled.fabric.hosts),
        "ports": len(compiled.fabric.ports),
        "queue_pairs": len(engine.state.qps),
        "messages": len(compiled.labels),
        "packet_hops": engine.packet_hops,
        "events": engine.events,
        "pause_frames": int(ports["rx_pause_pkts"].sum()),
        "marked": int(engine.state.queues["marked_pkts"].sum()),
        "recorded_events": recorded,
        "simulated_us": engine.now_ps / 1e6,
        "threads": threads,
        "repeats": repeats,
        "compile_s": compile_s,
        "build_s": build_s,
        "wall_s": median(walls),
        "cpu_s": median(cpus),
        "hops_per_wall_s": engine.packet_hops / median(walls),
        "hops_per_cpu_s": engine.packet_hops / median(cpus),
        "best_hops_per_wall_s": engine.packet_hops / min(walls),
        "packet_rows": int(engine.state.shared[Shared.SPARE_PACKET * LINE]),
        "rss_base_bytes": rss[0],
        "rss_built_bytes": rss[1],
        "rss_peak_bytes": peak_rss_bytes(),
        "step_s": steps,
        "state_bytes": int(sum(table.nbytes for table in engine.state)),
        "schedule_bytes": sum(int(getattr(engine.state, name).nbytes) for name in SCHEDULE_TABLES),
        "digest": digests.pop(),
        "source": source_digest(),
    }


def _to_the_end(engine: Emulator, duration_ps: int) -> tuple[list[float], float, int]:
    """(wall seconds of each step, CPU seconds, event rows) of a whole run."""
    recorded, now_ps, step_ps = 0, 0, 100_000_000
    step_s: list[float] = []
    last, cpu = time.perf_counter(), time.process_time()
    while not engine.finished and now_ps < duration_ps:
        now_ps = min(now_ps + step_ps, duration_ps)
        engine.advance(now_ps)
        recorded += len(engine.drain_events())
        now = time.perf_counter()
        step_s.append(now - last)
        last = now
    return step_s, time.process_time() - cpu, recorded


def bytes_by_row() -> dict[str, int]:
    """Memory by table layout: bytes per port (without packets), queue pair, message with its start, packet."""
    packet = types.PACKET.itemsize
    port = (
        types.PORT.itemsize
        + 8 * (types.QUEUE.itemsize + types.PG.itemsize + types.PRIO.itemsize)
        + 8 * codes.N_DROP_REASONS * types.DROP.itemsize
    )
    calendar = 2 * 3 * np.dtype(np.int64).itemsize
    message = types.MESSAGE.itemsize + types.RMESSAGE.itemsize + types.HEAP.itemsize
    pair = types.QP.itemsize + types.RQP.itemsize + types.HEAP.itemsize + np.dtype(np.uint32).itemsize
    return {"packet": packet, "port": port + calendar, "queue_pair": pair, "message": message}
