"""What time costs in which nothing happens: an idle simulated second, and a minute of BGP with one failure."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bench import cases
from bench.machine import median
from bench.simulate import warm_up
from bench.startup import children_cpu_s, run
from bench.table import Table, count, seconds
from bench.worker import measure
from fabric.runs.session import Hooks
from fabric.runs.simulate import Options, prepare, simulate
from fabric.scenario.load import load_scenario

_FABRIC: Final = {
    "kind": "leaf-spine",
    "leaves": 3,
    "spines": 2,
    "hosts_per_leaf": 2,
    "host_rate": "100G",
    "fabric_rate": "100G",
}
_PAIR: Final = [{"src": "host1", "dst": "host3", "size": "1KB"}, {"src": "host5", "dst": "host2", "size": "1KB"}]
_INTERVAL_US: Final = 100


def scenario(duration_ms: int) -> dict[str, Any]:
    """Two messages of 1 KB on six hosts at time 0, sampled every 100 us to the end of `duration_ms`."""
    return {
        "name": f"idle-{duration_ms}ms",
        "topology": _FABRIC,
        "workload": [{"kind": "messages", "messages": _PAIR}],
        "telemetry": {"interval": f"{_INTERVAL_US}us"},
        "run": {"duration": f"{duration_ms}ms", "stop": "duration", "seed": 1},
    }


def minute_of_bgp() -> dict[str, Any]:
    """The same fabric with BGP for 60 s: a cable is lost after 20 s, and the second message crosses the rest."""
    first, second = _PAIR
    return {
        **scenario(60_000),
        "name": "minute-of-bgp",
        "routing": "bgp",
        "workload": [{"kind": "messages", "messages": [first, {**second, "start": "59s"}]}],
        "telemetry": {},
        "faults": [{"kind": "link-down", "link": "leaf1--spine1", "at": "20s"}],
    }


def idle_second(seconds_simulated: int, repeats: int, *, each: bool) -> dict[str, Any]:
    """CPU seconds of an idle simulated second: those of a run of so many, its results included, by their number.

    each: a hook wants every sample, so that none is passed over.
    """
    hooks = Hooks(on_sample=lambda _: None) if each else None
    spent_s = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        warm_up(folder)
        file = cases.write(scenario(1000 * seconds_simulated), folder)
        for number in range(repeats + 1):  # the first run loads what the others need
            compiled, plan = prepare(load_scenario(file))
            began = time.process_time()
            simulate(compiled, plan, Options(folder / f"run-{number}"), hooks)
            spent_s.append(time.process_time() - began)
    return {"seconds": seconds_simulated, "cpu_s_per_s": median(spent_s[1:]) / seconds_simulated}


def idle(*, quick: bool) -> dict[str, Any]:
    """Both ways to take the samples of an idle second, and the whole command for a minute of BGP."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        began = children_cpu_s()
        run(cases.write(minute_of_bgp(), folder), folder / "run", {})
        bgp_cpu_s = children_cpu_s() - began
    return {
        "passed": measure("idle", seconds_simulated=10 if quick else 60, repeats=1 if quick else 3, each=False),
        "each": measure("idle", seconds_simulated=1, repeats=1 if quick else 3, each=True),
        "bgp_cpu_s": bgp_cpu_s,
    }


def idle_table(it: dict[str, Any]) -> Table:
    """The table of idle()."""
    per_second = 1_000_000 // _INTERVAL_US
    return Table(
        "Idle time, CPU seconds",
        ("what", "CPU time"),
        (
            ("an idle simulated second, its spans without events passed over", seconds(it["passed"]["cpu_s_per_s"])),
            (
                f"the same for a hook that wants each of the {count(per_second)} samples",
                seconds(it["each"]["cpu_s_per_s"]),
            ),
            ("`fabric run` of 60 s of BGP with one failure, from exec to exit", seconds(it["bgp_cpu_s"])),
        ),
        "Six hosts, three leaves, two spines. An idle second is a share of a run with its results: of "
        f"{it['passed']['seconds']} s where spans are passed over, of {it['each']['seconds']} s where none is.",
    )
