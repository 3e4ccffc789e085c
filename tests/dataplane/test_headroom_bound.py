"""The headroom formula against the engine's worst case: at the bound nothing is lost, with a cell less something is.

The worst phase is found by probing: one run gives the moment of XOFF, the next has a frame in the other direction that
began 1 ps earlier, so XOFF waits for all of it.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from headroom_worlds import FIRST_PS, HEADERS, RETH, Case, Result, limit_of, own_frame, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.scenario.presets.headroom import headroom_bytes
from fabric.theory.headroom import need_bytes
from fabric.topology.quantities import exact_time

PLENTY: Final = 4_000_000
OWN: Final = [4096]


def worst(case: Case, headroom: int, before_ps: int = 1) -> Result:
    """A run whose frame in the other direction began `before_ps` before XOFF was wanted."""
    crossed = run(case, limit_of(case), PLENTY).xoff_ps
    payload = case.own - HEADERS - RETH
    return run(case, limit_of(case), headroom, [own_frame(case, crossed - before_ps)], [payload])


def is_tight(case: Case) -> None:
    """The formula's headroom is taken to the last byte and loses nothing; a cell less loses one frame."""
    need = need_bytes(case.hop())
    enough, short = worst(case, need), worst(case, need - case.cell)
    assert (enough.peak, enough.lost) == (need, 0)
    assert short.lost == 1


# PROOF: 400G, 40 m, cells of 144 B; headroom taken while nothing is sent in the other direction
TAKEN: Final = [
    (4158, "0ns", "0ns", 25_056),
    (4158, "half", "0ns", 54_288),
    (4158, "worst", "0ns", 83_520),
    (4158, "half", "600ns", 83_520),
    (4158, "worst", "600ns", 112_752),
    (145, "0ns", "0ns", 35_424),
    (145, "half", "0ns", 86_112),
    (145, "worst", "0ns", 136_512),
    (145, "half", "600ns", 138_528),
]


@pytest.mark.parametrize(("frame", "response", "latency", "taken"), TAKEN)
def test_the_headroom_taken_on_one_link_is_the_sum_of_its_terms(
    frame: int, response: str, latency: str, taken: int
) -> None:
    case = Case(frame=frame, response=response, latency=latency)
    assert need_bytes(case.hop(["own"])) == taken
    assert run(case, limit_of(case), PLENTY).peak == taken


@pytest.mark.parametrize(
    "case",
    [
        Case(),
        Case(frame=145),
        Case(frame=64, own=80),
        Case(gbps=100, metres=300, cell=254, frame=1086),
        Case(gbps=25, metres=5, cell=208, response="worst", latency="1us"),
        Case(gbps=800, metres=100, cell=192, frame=193, response="0ns", latency="1ns"),
    ],
    ids=str,
)
def test_the_bound_loses_nothing_and_a_cell_less_loses_a_frame(case: Case) -> None:
    is_tight(case)


def _cases(frames: st.SearchStrategy[int]) -> st.SearchStrategy[Case]:
    return st.builds(
        Case,
        gbps=st.sampled_from([25, 50, 100, 200, 400, 800]),
        metres=st.integers(1, 400),
        cell=st.sampled_from([1, 80, 96, 144, 192, 208, 254, 256]),
        response=st.sampled_from(["0ns", "half", "worst", "777ns"]),
        latency=st.integers(0, 1200).map("{}ns".format),
        frame=frames,
        own=st.integers(80, 4174),
    )


CASES: Final = _cases(st.one_of(st.integers(64, 400), st.integers(64, 4158)))


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(CASES)
def test_the_bound_is_tight_for_any_cable_and_frame(case: Case) -> None:
    is_tight(case)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(CASES, st.integers(1, 40))
def test_the_bound_is_tight_for_many_cables_and_holds_in_every_phase(case: Case, parts: int) -> None:
    is_tight(case)
    need, wire_ps = need_bytes(case.hop()), (case.own + 20) * 8000 // case.gbps
    at_once = need_bytes(case.hop(["own"]))
    for part in range(0, 41, parts):
        found = worst(case, need, 1 + wire_ps * part // 40)
        assert found.lost == 0
        assert at_once <= found.peak <= need


def big(name: str, start_ps: int) -> dict[str, Any]:
    """A message of one frame of 4174 B in the tested class."""
    return {
        "id": name,
        "src": "sender",
        "dst": "receiver",
        "size": "4096B",
        "priority": 3,
        "start": exact_time(start_ps),
    }


@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(_cases(st.integers(1000, 4158)), st.integers(64, 600))
def test_a_mix_of_sizes_stays_below_the_bound_of_the_mix(case: Case, least: int) -> None:
    mixed = Case(**{name: getattr(case, name) for name in Case.__slots__} | {"least": least})
    need = need_bytes(mixed.hop())
    found = worst(mixed, need)
    assert found.lost == 0
    assert need >= need_bytes(case.hop())


def test_auto_holds_where_the_annex_alone_loses_a_frame() -> None:
    """Small frames all the time; one of 4174 B reaches the limit, another is begun last. The annex counts one
    frame of the MTU (4200) at each end; here is a third. The formula is 288 B above what is taken.
    """
    case, tau = Case(response="worst", frame=145, mtu=4200), 165 * 20
    annex = headroom_bytes(400 * 10**9, 200_000, 4200, 600_000, 144)
    auto = headroom_bytes(400 * 10**9, 200_000, 4200, 600_000, 144, roce_frame_bytes=4174)
    limit, first = 30 * 288 + 301, big("first", FIRST_PS + 30 * tau)
    crossed = run(case, limit, PLENTY, [first], [4096]).xoff_ps
    hop = case.hop()
    reaction = int(sum(hop.time_ps(term) for term in ("cable", "own", "pause", "response", "latency")))
    begins = crossed - 1 + reaction - hop.delay_ps - hop.latency_ps  # when the sender stops
    frames = [first, own_frame(case, crossed - 1), big("last", begins - 2 * tau)]
    sizes = [4096] * 3
    taken = run(case, limit, PLENTY, frames, sizes)
    assert annex < taken.peak <= auto <= taken.peak + 2 * 144
    assert run(case, limit, annex, frames, sizes).lost > 0
    assert run(case, limit, "auto", frames, sizes).lost == 0
