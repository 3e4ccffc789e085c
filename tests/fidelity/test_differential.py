"""Our engine against the simulator's rules written out in plain Python, on random cases; and our schedulers against
each other.
"""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from cases import ask, cases, crowded
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.dataplane.engine.driver import Emulator
from fabric.verify.fidelity.case import make_case
from fabric.verify.fidelity.simulating import simulate

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@SHARED
@given(case=cases())
def test_completion_times_pauses_and_drops_are_the_oracles_in_any_case(
    oracle: ModuleType, case: dict[str, Any]
) -> None:
    theirs = ask(oracle, case)
    ours = simulate(make_case(case), "insertion")
    assert dict(ours.fct_ns) == theirs["fct_ns"]
    assert dict(ours.pauses) == theirs["pauses"]
    assert ours.drops == theirs["drops"]


@SHARED
@given(
    case=cases(uplinks=(100, 200, 400, 800)),
    window=st.sampled_from([0, 1000, 2500, 5000, 20_000]),
    variable=st.booleans(),
)
def test_windows_per_queue_pair_and_faster_uplinks_follow_the_simulators_source(
    wide_oracle: ModuleType, case: dict[str, Any], window: int, variable: bool
) -> None:
    wide_oracle.WINDOW, wide_oracle.VARIABLE = window, variable
    theirs = ask(wide_oracle, case)
    made = make_case(case)
    transport = replace(made.params.transport, window_bytes=window, variable_window=variable and window > 0)
    ours = simulate(replace(made, params=replace(made.params, transport=transport)), "insertion")
    assert dict(ours.fct_ns) == theirs["fct_ns"]
    assert dict(ours.pauses) == theirs["pauses"]
    assert ours.drops == theirs["drops"]


@SHARED
@given(case=crowded(), window=st.sampled_from([0, 0, 1000, 3000]), variable=st.booleans())
def test_many_queue_pairs_and_timers_that_run_in_the_instant_of_other_events_follow_the_oracle(
    wide_oracle: ModuleType, case: dict[str, Any], window: int, variable: bool
) -> None:
    wide_oracle.WINDOW, wide_oracle.VARIABLE = window, variable
    plain_bps, wide_oracle.NIC = wide_oracle.NIC, case["topology"]["links"][0]["rate_bps"]
    theirs = ask(wide_oracle, case)
    wide_oracle.NIC = plain_bps
    made = make_case(case)
    transport = replace(made.params.transport, window_bytes=window, variable_window=variable and window > 0)
    engine = Emulator(made.fabric, replace(made.params, transport=transport), scheduler="sequential", order="insertion")
    engine.advance(made.stop_ps)
    messages, pairs = engine.state.messages[1:], engine.state.qps
    done = np.flatnonzero(messages["end_ps"] > 0).tolist()
    assert {row: int(messages["end_ps"][row] - messages["start_ps"][row]) // 1000 for row in done} == theirs["fct_ns"]
    assert int(engine.state.drops["pkts"].sum()) == theirs["drops"]
    # Each cut and each increase leaves its mark in these, also where no completion time shows it.
    assert (
        dict(enumerate(zip(*(pairs[field].tolist() for field in ("rate_bps", "target_bps", "alpha")), strict=True)))
        == theirs["reaction"]
    )


@SHARED
@given(case=cases())
def test_windows_give_the_digest_of_one_event_at_a_time(case: dict[str, Any]) -> None:
    made = make_case(case)
    assert simulate(made, "windows").digest == simulate(made, "source").digest


@SHARED
@given(case=cases(lossless=True))
def test_nothing_is_lost_with_ample_headroom_and_strict_acks(case: dict[str, Any]) -> None:
    case["host"]["ack_mode"] = "q0"
    simulated = simulate(make_case(case), "windows")
    assert simulated.drops == 0
    assert len(simulated.fct_ns) == len(case["flows"])
