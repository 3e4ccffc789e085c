"""Trees of next hops to twins, and what is computed from them, are what a tree for each destination gives."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from bench.configs.plan import Shape, switches
from fabric.configs.load import load_network
from fabric.validate import paths
from fabric.validate.checks.routing import D11, _choose_twice
from fabric.validate.facts import Facts
from fabric.validate.paths import Routes
from fabric.validate.trees import Hop, Tree
from tests.mistakes.mistake import LANGUAGES, write

SEEDS = range(30)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """Three pods of four leaves and two spines, below two cores."""
    folder: Path = tmp_path_factory.mktemp("pods")
    write("eos", LANGUAGES["eos"].good(switches(Shape(3, 4, 2, 1))), folder)
    return Facts(load_network([folder]))


def _without_some(whole: Facts, draw: Random) -> Facts:
    """A fabric without some of its links, so that some leaves are alone and some paths go down and up again.

    Some links are doubled.
    """
    routes = Routes.of(whole)
    links = [hop for hops in routes.hops.values() for hop in hops if hop.out < hop.into]
    gone = {end for hop in draw.sample(links, draw.randrange(7)) for end in (hop.out, hop.into)}
    hops = {name: [hop for hop in its if hop.out not in gone] for name, its in routes.hops.items()}
    for hop in draw.sample(links, draw.randrange(4)):
        a, b = ((end[0], f"{end[1]}+") for end in (hop.out, hop.into))
        hops[a[0]].append(Hop(a, b))
        hops[b[0]].append(Hop(b, a))
    found = Facts(whole.network)
    found.__dict__["routes"] = Routes(found, hops, routes.edges)
    return found


def _one_by_one(facts: Facts) -> tuple[Tree, ...]:
    """A tree for each destination, none of which is a twin's."""
    routes = facts.routes
    return tuple(routes._tree(name, frozenset((name,)), None) for name in routes.edges)


def _with_every_tree(facts: Facts) -> Facts:
    found = Facts(facts.network)
    routes = found.__dict__["routes"] = Routes(found, facts.routes.hops, facts.routes.edges)
    routes.__dict__["trees"] = _one_by_one(found)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_the_tree_of_a_twin_is_the_one_that_is_computed_for_it(whole: Facts, seed: int) -> None:
    facts = _without_some(whole, Random(seed))
    every = _one_by_one(facts)
    assert any(it.base is not None for it in facts.routes.trees)
    for twin, tree in zip(facts.routes.trees, every, strict=True):
        assert (twin.destination, twin.ends) == (tree.destination, tree.ends)
        assert list(twin.next_hops.items()) == list(tree.next_hops.items())
        assert list(twin.near.items()) == list(tree.near.items())
        assert len(twin.near) == len(tree.near)
        assert twin.destination not in twin.near


@pytest.mark.parametrize("seed", SEEDS)
def test_waiting_ports_and_turning_paths_are_found_in_the_trees_of_twins(
    whole: Facts, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = _without_some(whole, Random(seed))
    every = _with_every_tree(facts)
    found = list(facts.routes.buffer_graph().edges), list(D11.run(facts)), _choose_twice(facts)
    monkeypatch.setattr(Routes, "_may_wait_in_a_circle", lambda _: True)
    assert found == (list(every.routes.buffer_graph().edges), list(D11.run(every)), _choose_twice(every))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_hurt_paths_are_those_of_all_trees_in_full(
    whole: Facts, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = Random(seed)
    facts = _without_some(whole, draw)
    every = _with_every_tree(facts)
    ends = sorted(whole.peers)
    bad = {end: frozenset({(end[0], ("port", end[1]))}) for end in draw.sample(ends, draw.randrange(1, 5))}
    found = list(facts.routes.share_of_paths(bad).items())
    monkeypatch.setattr(Routes, "_hurt_shortest", lambda _, *rest: paths._hurt(*rest))
    assert found == list(every.routes.share_of_paths(bad).items())


def test_the_fabrics_have_circles_valleys_and_hurt_paths(whole: Facts) -> None:
    every = [_without_some(whole, Random(seed)) for seed in SEEDS]
    assert 0 < sum(bool(it.routes.buffer_graph().edges) for it in every) < len(every)
    assert 0 < sum(any(D11.run(it)) for it in every) < len(every)
