"""Work around a run: building a large scenario, writing results, listing messages."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bench import cases
from bench.simulate import emulator
from bench.startup import command, run
from bench.worker import measure
from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Stop
from fabric.runs import folder as run_folder
from fabric.runs import simulate
from fabric.runs.session import Session
from fabric.scenario.load import load_scenario


class _Clocked:
    """An engine with a timed simulation, so that all other work of a run can be separated."""

    def __init__(self, engine: Emulator) -> None:
        self._engine = engine
        self.now_ps = engine.now_ps
        self.simulating_s = 0.0

    @property
    def packet_hops(self) -> int:
        return self._engine.packet_hops

    def advance(self, until_ps: int, *, budget: int | None = None) -> Stop:
        began = time.perf_counter()
        stop = self._engine.advance(until_ps, budget=budget)
        self.simulating_s += time.perf_counter() - began
        self.now_ps = self._engine.now_ps
        return stop

    def snapshot(self, *, reset_watermarks: bool = False) -> Snapshot:
        return self._engine.snapshot(reset_watermarks=reset_watermarks)

    def drain_events(self) -> NDArray[Any]:
        return self._engine.drain_events()

    def digest(self) -> str:
        return self._engine.digest()

    def save(self, path: Path) -> None:
        self._engine.save(path)


def write_results(raw: dict[str, Any]) -> dict[str, Any]:
    """Simulate `raw` into a run directory.

    Returns: packet-hops; seconds of simulating; seconds of all other work from the first sample to the last file.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        home = Path(name)
        compiled, plan = simulate.prepare(load_scenario(cases.write(raw, home)))
        engine = _Clocked(emulator(compiled))
        engine.advance(1)  # loads the kernels
        engine.simulating_s = 0.0
        with run_folder.claimed(home / "run", resume=False, force=False) as claimed:
            claimed.begin(plan, {"threads": 1, "scheduler": "windows", "order": "source"})
            began = time.perf_counter()
            outcome = Session(plan, claimed, engine).run()
            wall_s = time.perf_counter() - began
        written = sum(path.stat().st_size for path in (home / "run").rglob("*") if path.is_file())
    assert outcome.status == "done", outcome.status
    return {
        "packet_hops": engine.packet_hops,
        "simulating_s": engine.simulating_s,
        "writing_s": wall_s - engine.simulating_s,
        "written_bytes": written,
    }


def control(*, quick: bool = False) -> dict[str, Any]:
    """Build 4,096 hosts; write the results of P256; list 100,800 messages (quick: a tenth of each)."""
    hosts = 512 if quick else 4096
    built = measure("simulate", raw=cases.permutation(hosts, "1KB", "build"))
    results = measure("results", raw=cases.named("P256", quick=quick))
    raw = cases.many_messages(2 if quick else 25)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        home = Path(name)
        out = home / "run"
        run_s = run(cases.write(raw, home), out, {})
        summary_s = command(["show", str(out)])
        table_s = command(["show", str(out), "messages"])
        worst_s = command(["show", str(out), "messages", "--sort", "slowdown"])
        csv_s = command(["show", str(out), "messages", "--format", "csv"])
    return {
        **{key: built[key] for key in ("hosts", "ports", "compile_s", "build_s")},
        "results": results,
        "messages": 4032 * (2 if quick else 25),
        "run_s": run_s,
        "summary_s": summary_s,
        "table_s": table_s,
        "sorted_s": worst_s,
        "csv_s": csv_s,
    }
