"""The decision process: the deciding clause, the multipath set, and independence of the order of arrival."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.controlplane.bgp.attributes import Attributes, sequence
from fabric.controlplane.bgp.decision import Preferences, Reason, decide
from fabric.controlplane.bgp.rib import Path, Source

SPINES = tuple(
    Source(f"10.0.0.{n}", 65000 + n, external=True, router_id=n, address=bytes([10, 0, 0, n])) for n in range(1, 5)
)
INTERNAL = Source("10.0.0.9", 64512, external=False, router_id=9, address=bytes([10, 0, 0, 9]))
PLAIN = Attributes(as_path=sequence(65001, 65101))


def path(source: Source = SPINES[0], its: Attributes = PLAIN, next_hop: bytes = b"\x0a\0\0\1", weight: int = 0) -> Path:
    return Path(source, its, next_hop, None, 0, weight)


BETTER = [
    (Reason.WEIGHT, path(SPINES[1], weight=5), path()),
    (Reason.LOCAL_PREF, path(SPINES[1], replace(PLAIN, local_pref=200)), path()),
    (Reason.LOCAL_PREF, path(SPINES[1]), path(SPINES[0], replace(PLAIN, local_pref=0))),
    (Reason.AS_PATH, path(SPINES[1], replace(PLAIN, as_path=sequence(7))), path()),
    (Reason.AS_PATH, path(SPINES[1], replace(PLAIN, as_path=((1, (7, 8, 9)),))), path()),
    (Reason.ORIGIN, path(SPINES[1]), path(SPINES[0], replace(PLAIN, origin=2))),
    (Reason.MED, path(SPINES[1]), path(SPINES[0], replace(PLAIN, med=1))),
    (Reason.PEER_TYPE, path(SPINES[1]), path(INTERNAL)),
    (Reason.ROUTER_ID, path(SPINES[0]), path(SPINES[1])),
    (Reason.ROUTER_ID, path(SPINES[1], replace(PLAIN, originator_id=0)), path(SPINES[0])),
    (
        Reason.CLUSTER_LENGTH,
        path(SPINES[1], replace(PLAIN, originator_id=1)),
        path(SPINES[0], replace(PLAIN, cluster_list=(1,))),
    ),
    (Reason.NEIGHBOR_ADDRESS, path(SPINES[0]), path(SPINES[1]._replace(router_id=1))),
]


@pytest.mark.parametrize(("reason", "winner", "loser"), BETTER, ids=lambda value: getattr(value, "name", ""))
def test_each_clause_decides_and_is_named(reason: Reason, winner: Path, loser: Path) -> None:
    for order in itertools.permutations((winner, loser)):
        decision = decide(order, Preferences(), None, None)
        assert decision.selection is not None
        assert decision.selection.best is winner
        assert (decision.reason, decision.lost) == (reason, ((loser, reason),))


def test_a_local_route_beats_a_learned_one_of_equal_weight() -> None:
    local = path(Source("", 65000, external=False, router_id=99, address=b""))
    decision = decide((path(), local), Preferences(), None, None)
    assert (decision.selection and decision.selection.best, decision.reason) == (local, Reason.LOCAL_ROUTE)


def test_the_nearer_next_hop_wins_and_an_unreachable_one_never() -> None:
    near, far, gone = (path(source, next_hop=bytes([10, 0, 0, n])) for n, source in enumerate(SPINES[:3]))
    metrics = {near.next_hop: 5, far.next_hop: 10}
    decision = decide((gone, far, near), Preferences(), None, metrics.get)
    assert decision.selection is not None
    assert decision.selection.best is near
    assert {id(one): why for one, why in decision.lost} == {id(far): Reason.IGP_METRIC, id(gone): Reason.UNREACHABLE}
    assert decide((gone,), Preferences(), None, metrics.get).selection is None


def test_med_counts_within_one_neighbouring_as_only_unless_told_otherwise() -> None:
    low, high = path(SPINES[1], replace(PLAIN, med=0)), path(SPINES[0], replace(PLAIN, as_path=sequence(9, 8), med=100))
    assert decide((low, high), Preferences(), None, None).reason == Reason.ROUTER_ID
    always = decide((low, high), Preferences(always_compare_med=True), None, None)
    assert (always.reason, always.selection and always.selection.best) == (Reason.MED, low)


def test_the_older_of_two_external_paths_stays_unless_router_ids_are_compared() -> None:
    low, high = path(SPINES[0]), path(SPINES[1])
    stays = decide((low, high), Preferences(), high, None)
    assert (stays.reason, stays.selection and stays.selection.best) == (Reason.OLDER, high)
    compared = decide((low, high), Preferences(compare_router_id=True), high, None)
    assert (compared.reason, compared.selection and compared.selection.best) == (Reason.ROUTER_ID, low)


def test_an_older_internal_path_does_not_stay() -> None:
    other = path(INTERNAL._replace(name="10.0.0.8", router_id=8))
    decision = decide((path(INTERNAL), other), Preferences(), path(INTERNAL), None)
    assert decision.selection is not None
    assert decision.selection.best is other


@pytest.mark.parametrize(("relax", "expected"), [(True, 2), (False, 1)])
def test_paths_through_different_neighbouring_as_are_equal_only_if_relaxed(relax: bool, expected: int) -> None:
    paths = (path(SPINES[0]), path(SPINES[1], replace(PLAIN, as_path=sequence(65002, 65101))))
    decision = decide(paths, Preferences(max_paths=64, multipath_relax=relax), None, None)
    assert decision.selection is not None
    assert len(decision.selection.multipath) == expected


def test_without_relax_the_neighbouring_as_counts_and_not_the_rest_of_the_path_as_in_frr() -> None:
    same_as = SPINES[1]._replace(asn=SPINES[0].asn)
    paths = (path(SPINES[0]), path(same_as, replace(PLAIN, as_path=sequence(65009, 65102))))
    decision = decide(paths, Preferences(max_paths=64, multipath_relax=False), None, None)
    assert decision.selection is not None
    assert len(decision.selection.multipath) == 2


def test_paths_of_different_length_are_never_equal() -> None:
    paths = (path(SPINES[0]), path(SPINES[1], replace(PLAIN, as_path=sequence(1, 2, 3))))
    decision = decide(paths, Preferences(max_paths=64), None, None)
    assert decision.selection is not None
    assert len(decision.selection.multipath) == 1


def test_no_more_paths_than_allowed_are_used_and_the_best_is_first() -> None:
    paths = tuple(path(source) for source in reversed(SPINES))
    decision = decide(paths, Preferences(max_paths=3), None, None)
    assert decision.selection is not None
    assert [one.source.router_id for one in decision.selection.multipath] == [1, 2, 3]


some_paths = st.lists(
    st.builds(
        path,
        st.sampled_from((*SPINES, INTERNAL)),
        st.builds(
            Attributes,
            origin=st.integers(0, 1),
            as_path=st.sampled_from((sequence(1, 2), sequence(3, 2), sequence(1))),
            med=st.none() | st.integers(0, 2),
            local_pref=st.none() | st.sampled_from((100, 200)),
            originator_id=st.none() | st.integers(1, 3),
            cluster_list=st.sampled_from(((), (1,))),
        ),
        weight=st.sampled_from((0, 0, 5)),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda one: one.source.name,
)


@given(some_paths, st.randoms(use_true_random=False), st.booleans())
def test_the_outcome_is_a_function_of_the_set_and_every_loser_has_a_reason(
    paths: list[Path], random: object, always: bool
) -> None:
    prefer = Preferences(max_paths=64, always_compare_med=always)
    decision = decide(paths, prefer, None, None)
    shuffled = list(paths)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    again = decide(shuffled, prefer, None, None)
    assert decision.selection == again.selection
    assert {id(one): why for one, why in decision.lost} == {id(one): why for one, why in again.lost}
    assert decision.selection is not None
    assert {id(one) for one, _ in decision.lost} | {id(decision.selection.best)} == {id(one) for one in paths}


@given(some_paths)
def test_taking_away_a_loser_that_is_no_meds_reason_leaves_the_best(paths: list[Path]) -> None:
    plain = [replace(one, attributes=replace(one.attributes, med=None)) for one in paths]
    decision = decide(plain, Preferences(), None, None)
    assert decision.selection is not None
    for one, _ in decision.lost:
        rest = decide([other for other in plain if other is not one], Preferences(), None, None)
        assert rest.selection is not None
        assert rest.selection.best is decision.selection.best


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_names_its_rule(reason: Reason) -> None:
    assert reason.text
    assert any(word in reason.rule for word in ("RFC", "FRR"))
