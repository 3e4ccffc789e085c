"""A live run with results keeps the times of messages of transfers, as `fabric run` does."""

from __future__ import annotations

import json
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from fabric.api.hooks import hooks_of
from fabric.dataplane.state.codes import Stop
from fabric.runs.rundir import RunDir
from fabric.runs.simulate import Options, prepare, simulate
from fabric.scenario.load import load_scenario
from telemetry.live.events import EventSink, Severity
from telemetry.live.results import LiveResults
from telemetry.live.world import LiveWorld
from tests.telemetry.job_scenarios import raw


def test_a_live_run_keeps_the_times_of_messages_of_transfers(tmp_path: Path) -> None:
    file = tmp_path / "job.yml"
    file.write_text(json.dumps(raw(tmp_path, [10, 20, 30, 40], steps=2)))
    loaded = load_scenario(file)
    compiled, plan = prepare(loaded)
    sink = EventSink("job", compiled.fabric, lambda: 1.0, None, Severity.ERROR, lambda: datetime.now(UTC))
    with ExitStack() as stack:
        world = LiveWorld(loaded, compiled, 1, sink)
        results = LiveResults(tmp_path / "live", plan, world, stack, force=False, threads=1, dilation=1.0)
        engine = world.make_engine()
        results.begin(1)
        results.sample(engine.snapshot(reset_watermarks=True))
        until_ps, stop = 0, None
        while stop is not Stop.IDLE:
            until_ps += 100 * plan.sampling_ps  # timers run on for 67 ms
            stop = engine.advance(until_ps)
            results.events(engine.drain_events(), engine.now_ps)
            results.sample(engine.snapshot(reset_watermarks=True))
        results.end("all messages done", engine.snapshot())
    simulate(compiled, plan, Options(tmp_path / "plain"), hooks_of())
    live, plain = RunDir.open(tmp_path / "live"), RunDir.open(tmp_path / "plain")
    assert live.transfer_messages().num_rows == 2 * (4 + 4 + 4)  # computations, messages, ends of steps
    assert live.transfer_messages().equals(plain.transfer_messages())
    for name in ("fct.p99_ns", "slowdown.max", "messages.done"):
        assert live.summary["metrics"][name] == plain.summary["metrics"][name]
    assert live.summary["jobs"] == plain.summary["jobs"]
