"""Runs that people reported in public: each has the verdict that the report asks for.

18 linux-rdma/perftest #284, 19 simllm PR #194, 24 a reproducible run with BGP, 26 Guo et al., SIGCOMM 2016, section
6.2.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final, Protocol

import pytest

from fabric.explain.drops import explain_drops
from fabric.explain.evidence import Evidence
from fabric.explain.message import explain_message
from fabric.runs.rundir import RunDir
from fabric.runs.simulate import Options, prepare, simulate
from fabric.scenario.load import load_scenario

FIELD: Final = Path(__file__).parents[1] / "data" / "field"
CLASS_ZERO: Final = "18-rdma-in-class-zero/s.yml"
TAIL: Final = "19-tail-loss-timeouts/s.yml"
TIMER_NS: Final = 67_108_864
ALPHA: Final = "26-alpha-of-a-new-tor/run.yml"


class Simulated(Protocol):
    """Runs a scenario of the folder once."""

    def __call__(self, name: str, *changes: str) -> RunDir: ...


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    @cache
    def run(name: str, *changes: str) -> RunDir:
        folder = tmp_path_factory.mktemp("field")
        compiled, plan = prepare(load_scenario(FIELD / name, changes))
        simulate(compiled, plan, Options(folder / "run"))
        return RunDir.open(folder / "run")

    return run


def sentences(run: RunDir, level: str) -> str:
    return "\n".join(it["text"] for it in run.summary["verdict"] if it["level"] == level)


def test_rdma_in_a_lossy_class_is_said_to_be_lost_there_and_no_loss_is_praised(simulated: Simulated) -> None:
    run = simulated(CLASS_ZERO)
    assert run.summary["metrics"]["drops.lossy"] > 0
    assert run.summary["metrics"]["pfc.pauses"] == 0
    assert "of class 0, in which messages are sent, lost where this is not lossless" in sentences(run, "warning")
    assert "lossless" not in sentences(run, "good")
    assert "dropped" in run.summary["headline"]


def test_the_drops_of_a_lossy_class_are_explained_without_a_negative_limit(simulated: Simulated) -> None:
    found = explain_drops(Evidence(simulated(CLASS_ZERO)))
    assert "none of a lossless class" in found.verdict
    assert "limit -1B" not in str(found)


def test_rdma_in_the_lossless_class_loses_nothing(simulated: Simulated) -> None:
    run = simulated(CLASS_ZERO, "transport.dscp=26")
    assert run.summary["metrics"]["drops.total"] == 0
    assert run.summary["metrics"]["pfc.pauses"] > 0


def test_a_tail_that_was_lost_waits_for_the_timer_and_its_time_is_told_as_such(simulated: Simulated) -> None:
    run = simulated(TAIL)
    metrics = run.summary["metrics"]
    assert metrics["transport.timeouts"] > 0
    assert metrics["goodput.total_bps"] < 20_000_000_000
    slowest = max(run.messages().to_pylist(), key=lambda it: it["fct_ns"])
    assert slowest["fct_ns"] > TIMER_NS
    verdict = explain_message(Evidence(run), slowest["id"]).verdict
    assert "no progress until a timeout, caused by" in verdict
    assert "retransmission timeouts" in sentences(run, "warning")
    assert "goodput" not in sentences(run, "good")


def test_a_run_without_jitter_of_bgp_completes(simulated: Simulated) -> None:
    assert simulated("24-jitter-off-crash/s.yml").summary["metrics"]["messages.done"] == 1


def test_a_tor_with_the_smaller_alpha_pauses_more(simulated: Simulated) -> None:
    run = simulated(ALPHA)
    pauses: Counter[str] = Counter()
    for row in run.summary["pfc"]["paused_ports"]:
        pauses[row["by"]] += row["pauses"]
    assert pauses["leaf1"] > 3 * pauses["leaf3"]
    assert run.summary["metrics"]["drops.total"] == 0
