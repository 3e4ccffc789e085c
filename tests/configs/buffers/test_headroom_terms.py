"""The one headroom formula: its terms add up, each can be left out, and every user of it takes the same numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.configs.buffers.headroom import Assumptions, annex_bytes, bounds, hop_of, nic_xoff_bytes, quanta_bytes
from fabric.configs.buffers.mmu import cell_bytes_of
from fabric.scenario.presets.headroom import headroom_bytes
from fabric.scenario.presets.models import default_tree
from fabric.theory.headroom import (
    ANNEX,
    TERMS,
    Hop,
    cells,
    expansion,
    need_bytes,
    response_bound,
    response_bound_ps,
    response_ps,
    terms,
)
from fabric.units import parse_time_ps

HOP = Hop(
    400 * 10**9, 200_000, 579_200, 9_238, 4_174, 64, 144, latency_ps=600_000, coding_ps=200_000, other_classes=2
)  # fmt: skip
HOPS = st.builds(
    Hop,
    st.sampled_from([25 * 10**9, 100 * 10**9, 400 * 10**9, 60 * 10**9]),
    st.integers(0, 10**7),
    st.integers(0, 3 * 10**6),
    st.integers(64, 9_600),
    st.integers(1_000, 9_600),
    st.integers(64, 1_000),
    st.sampled_from([1, 15, 80, 96, 144, 254]),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 7),
    st.sets(st.sampled_from(TERMS)).map(frozenset),
)


@given(HOPS)
def test_the_terms_add_up_to_the_need(hop: Hop) -> None:
    found = terms(hop)
    assert [term.key for term in found] == list(TERMS)
    assert sum(term.bytes for term in found) == need_bytes(hop)
    assert all(term.bytes == 0 and term.source == "left out" for term in found if term.key in hop.without)


@pytest.mark.parametrize("term", TERMS)
def test_a_term_that_is_left_out_makes_the_need_smaller(term: str) -> None:
    assert need_bytes(replace(HOP, without=frozenset({term}))) < need_bytes(HOP)


@given(HOPS)
def test_a_mix_needs_at_least_what_its_longest_and_its_shortest_frames_need(hop: Hop) -> None:
    for size in (hop.frame_bytes, hop.least_frame_bytes):
        assert need_bytes(replace(hop, frame_bytes=size, least_frame_bytes=size)) <= need_bytes(hop)


@given(st.integers(1, 300), st.integers(64, 9_000), st.integers(0, 600))
def test_expansion_is_the_worst_of_all_sizes(cell: int, least: int, more: int) -> None:
    worst = max(Fraction(cells(size, cell), size + 20) for size in range(least, least + more + 1))
    assert expansion(cell, least, least + more) == worst


def test_bound_d_is_the_formula_without_what_the_annex_does_not_have() -> None:
    hop = Hop(400 * 10**9, 200_000, response_bound(400 * 10**9), 9_238, 9_238, 9_238, 144, 600_000, without=ANNEX)
    assert need_bytes(hop) == bounds(400_000, 40, 9216).d == 96_520
    assert annex_bytes(400_000, 40, 9216, fec=True, macsec=False) == 96_520 + 10_000
    assert annex_bytes(400_000, 40, 9216, fec=True, macsec=True) == 96_520 + 60_000


def test_auto_is_bound_d_with_latency_and_the_worst_frames_for_the_cells() -> None:
    """The two numbers of one scenario: 96,288 B (MTU 9100, 42 B around it) and 220,464 B."""
    without = frozenset({"others", "coding", "limit", "cells"})
    hop = Hop(400 * 10**9, 200_000, response_bound(400 * 10**9), 9_118, 9_118, 9_118, 144, 600_000, without=without)
    plain = need_bytes(replace(hop, without=without | {"latency"}))
    assert bounds(400_000, 40, 9100).d - plain == 2 * 4  # the 802.1Q tag of both frames
    assert need_bytes(hop) - plain == 30_000
    assert expansion(144) == Fraction(288, 165)
    assert cells(-int(-need_bytes(hop) * Fraction(288, 165) // 1), 144) == 220_464
    assert headroom_bytes(400 * 10**9, 200_000, 9_100, 600_000, 144, roce_frame_bytes=4_174) == 220_464


@pytest.mark.parametrize(("classes", "auto"), [(0, 204_192), (1, 204_336), (7, 205_200)])
def test_auto_counts_three_frames_and_the_pauses_of_other_classes_where_the_mtu_is_small(
    classes: int, auto: int
) -> None:
    found = headroom_bytes(400 * 10**9, 200_000, 4_200, 600_000, 144, roce_frame_bytes=4_174, other_classes=classes)
    assert found == auto
    assert headroom_bytes(400 * 10**9, 200_000, 4_200, 600_000, 144) == 203_328


def test_the_assumptions_are_those_of_a_scenario() -> None:
    defaults, assumed = default_tree("asic")["switches"], Assumptions()
    assert parse_time_ps(defaults["latency"]) == assumed.latency_ps
    assert defaults["response"] == assumed.response


def test_a_share_of_the_limit_is_whole_picoseconds_and_loses_no_byte() -> None:
    for gbps in (1, 10, 25, 40, 50, 60, 100, 200, 400, 800, 1_600):
        rate_bps = gbps * 10**9
        assert response_bound(rate_bps) * rate_bps / (8 * 10**12) == quanta_bytes(gbps * 1000)
        assert response_ps("worst", rate_bps) == response_bound_ps(rate_bps)
        assert response_ps("half", rate_bps) == response_bound_ps(rate_bps) // 2
    assert response_ps(123, 10**9) == 123


def test_the_case_of_a_port_has_its_own_mtu_and_the_roce_frames_that_fit() -> None:
    assert hop_of(400_000, 40, 9216, Assumptions()).frame_bytes == 4_174
    assert hop_of(400_000, 40, 1500, Assumptions()).frame_bytes == 1_542
    assert hop_of(400_000, 40, 9216, Assumptions(), roce_mtu=1024).frame_bytes == 1_102
    assert hop_of(400_000, 40, 9216, Assumptions(), fec=True, macsec=True).coding_ps == 1_200_000
    assert not hop_of(400_000, 40, 9216, Assumptions(frame_bytes=4_174, least_frame_bytes=64)).one_size


@pytest.mark.parametrize(
    ("names", "cell"),
    [(("ACS-MSN4700",), 144), (("", "x86_64-nvidia_sn5600-r0"), 192), (("tomahawk3",), 254), (("nobody's",), None)],
)
def test_cells_are_those_of_the_chip(names: tuple[str, ...], cell: int | None) -> None:
    assert cell_bytes_of(*names) == cell


def test_the_nics_reserve_is_one_formula() -> None:
    assert nic_xoff_bytes(10_000, 5, 1500) == int((301 + 2.16 * 5) * 40 + 2.72 * 9216)
