"""Traffic patterns, and equal messages from equal seeds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from fabric.errors import Problem
from fabric.topology.model import Fabric
from fabric.topology.registry import build_topology, parse_topology
from fabric.workload.batch import Batch, Surroundings
from fabric.workload.permutation import derangement
from fabric.workload.poisson import DISTRIBUTIONS, draw_sizes, mean_bytes, read_cdf
from fabric.workload.registry import MESSAGE_KINDS, REQUEST_KINDS, STREAM_KINDS, TRANSFER_KINDS
from fabric.workload.spec import WorkloadSpec
from fabric.workload.streams import stream

ADAPTER: TypeAdapter[Any] = TypeAdapter(WorkloadSpec)
PS = 10**12


def fabric_of(leaves: int = 4, hosts: int = 4) -> Fabric:
    return build_topology(
        parse_topology(
            {
                "kind": "leaf-spine",
                "leaves": leaves,
                "spines": 2,
                "hosts_per_leaf": hosts,
                "host_rate": "100G",
                "fabric_rate": "400G",
            }
        )
    )


FABRIC = fabric_of()
CASES: dict[str, dict[str, Any]] = {
    "incast": {"receiver": "host3", "fan_in": 5, "size": "64KB", "repeat": 4, "interval": "1ms", "jitter": "10us"},
    "permutation": {"size": "1MB", "repeat": 2, "interval": "1ms"},
    "all-to-all": {"size": "4KB", "order": "rounds"},
    "poisson": {"sizes": "websearch", "load": 0.5, "stop": "2ms"},
    "messages": {
        "messages": [
            {"id": "a", "src": "host1", "dst": "host2", "size": "1KB"},
            {"src": "host2", "dst": "host3", "size": "1B", "after": ["a"], "delay": "5us"},
        ]
    },
}


def make(
    raw: dict[str, Any], seed: int = 1, fabric: Fabric = FABRIC, folder: Path = Path()
) -> tuple[Batch, list[Problem]]:
    spec = ADAPTER.validate_python(raw)
    around = Surroundings(fabric, seed, folder)
    return MESSAGE_KINDS[spec.kind].generate(spec, spec.name or spec.kind, "workload[0]", around), around.problems


@pytest.mark.parametrize("kind", MESSAGE_KINDS)
def test_the_same_seed_gives_the_same_messages_and_valid_ones(kind: str) -> None:
    first, problems = make({"kind": kind, **CASES[kind]}, seed=5)
    second, _ = make({"kind": kind, **CASES[kind]}, seed=5)
    assert not problems
    for field in ("src", "dst", "size_bytes", "start_ps", "priority", "delay_ps"):
        assert np.array_equal(getattr(first, field), getattr(second, field)), field
        assert len(getattr(first, field)) == len(first)
    assert (first.src != first.dst).all()
    assert (first.size_bytes > 0).all()
    assert ((first.src >= 0) & (first.src < len(FABRIC.hosts))).all()
    assert all(0 <= earlier < later < len(first) for earlier, later in first.after)


def test_every_kind_of_the_schema_is_registered_once() -> None:
    branches = ADAPTER.json_schema()["discriminator"]["mapping"]
    assert sorted(branches) == sorted([*MESSAGE_KINDS, *TRANSFER_KINDS, *REQUEST_KINDS, *STREAM_KINDS])


def test_the_demand_of_requests_is_what_is_made() -> None:
    spec = ADAPTER.validate_python({"kind": "arp", "interval": "10us", "stop": "95us", "hosts": ["host[1-4]"]})
    around, kind = Surroundings(FABRIC, 1, Path()), REQUEST_KINDS["arp"]
    made = kind.requests(spec, "arp", "workload[0]", around, np.zeros(len(FABRIC.hosts), np.int64))
    demand = kind.demand(spec, "workload[0]", around)
    assert not around.problems
    assert demand.requests == len(made) == 36
    assert max(time_ps for time_ps, _, _ in made) < demand.last_ps


@pytest.mark.parametrize("more", [{"count": 7, "load": 0.5}, {"stop": "95us", "rate": "1G"}])
def test_the_demand_of_datagrams_is_what_is_made(more: dict[str, Any]) -> None:
    spec = ADAPTER.validate_python(
        {"kind": "datagrams", "senders": ["host[1-4]"], "receivers": ["host5"], "frame": "500B", **more}
    )
    around, kind = Surroundings(FABRIC, 1, Path()), STREAM_KINDS["datagrams"]
    made, demand = kind.streams(spec, "datagrams", "workload[0]", around), kind.demand(spec, "workload[0]", around)
    assert not around.problems
    assert demand.packets == sum(it.count for it in made) > 0
    assert demand.tx_bytes.sum() == demand.rx_bytes[made[0].dst] == 500 * demand.packets


def test_the_demand_of_requests_names_the_field_of_unknown_hosts() -> None:
    spec = ADAPTER.validate_python({"kind": "arp", "interval": "10us", "stop": "95us", "hosts": ["hots1"]})
    around = Surroundings(FABRIC, 1, Path())
    assert REQUEST_KINDS["arp"].demand(spec, "workload[0]", around).requests == 0
    assert [problem.path for problem in around.problems] == ["workload[0].hosts"]


@pytest.mark.parametrize("n", [2, 3, 16, 257])
def test_the_ranks_of_an_all_to_all_follow_from_its_messages(n: int) -> None:
    ranks = MESSAGE_KINDS["all-to-all"].ranks
    assert ranks is not None
    assert ranks(n * (n - 1)) == n


@pytest.mark.parametrize("kind", ["incast", "permutation", "poisson"])
def test_another_seed_or_another_name_gives_other_messages(kind: str) -> None:
    first, _ = make({"kind": kind, **CASES[kind]}, seed=5)
    seed, _ = make({"kind": kind, **CASES[kind]}, seed=6)
    name, _ = make({"kind": kind, "name": "other", **CASES[kind]}, seed=5)
    assert not (np.array_equal(first.src, seed.src) and np.array_equal(first.dst, seed.dst))
    assert not (np.array_equal(first.src, name.src) and np.array_equal(first.dst, name.dst))


def test_an_incast_draws_its_senders_again_each_time_and_never_the_receiver() -> None:
    batch, _ = make({"kind": "incast", **CASES["incast"]})
    rounds = batch.src.reshape(4, 5)
    assert set(batch.dst.tolist()) == {FABRIC.by_name["host3"].id}
    assert FABRIC.by_name["host3"].id not in batch.src
    assert all(len(set(row)) == 5 for row in rounds.tolist())
    assert len({tuple(row) for row in rounds.tolist()}) > 1
    starts = batch.start_ps.reshape(4, 5)
    assert all(
        turn * PS // 1000 <= starts[turn].min() <= starts[turn].max() < turn * PS // 1000 + 10**7 for turn in range(4)
    )


def test_every_host_of_a_permutation_sends_once_and_receives_once() -> None:
    batch, _ = make({"kind": "permutation", "size": "1MB"})
    assert sorted(batch.src.tolist()) == sorted(batch.dst.tolist()) == list(range(16))


@given(n=st.integers(2, 60), seed=st.integers(0, 1000))
def test_a_derangement_moves_every_element(n: int, seed: int) -> None:
    order = derangement(n, stream(seed, "test"))
    assert sorted(order.tolist()) == list(range(n))
    assert not np.any(order == np.arange(n))


def test_all_to_all_covers_every_ordered_pair_once_and_rounds_are_permutations() -> None:
    batch, _ = make({"kind": "all-to-all", **CASES["all-to-all"]})
    pairs = set(zip(batch.src.tolist(), batch.dst.tolist(), strict=True))
    assert len(pairs) == len(batch) == 16 * 15
    for turn in range(15):
        rows = slice(16 * turn, 16 * (turn + 1))
        assert sorted(batch.dst[rows].tolist()) == list(range(16))
    assert len(batch.after) == 16 * 14
    assert all(batch.src[earlier] == batch.src[later] for earlier, later in batch.after)


@pytest.mark.parametrize("sizes", DISTRIBUTIONS)
def test_the_offered_load_is_the_one_asked_for(sizes: str) -> None:
    fabric = fabric_of(16, 16)
    batch, _ = make({"kind": "poisson", "sizes": sizes, "load": 0.6, "stop": "20ms"}, fabric=fabric)
    offered = batch.size_bytes.sum() * 8 / 0.02 / (256 * 100e9)
    assert offered == pytest.approx(0.6, rel=0.05)
    assert (np.diff(batch.start_ps) >= 0).all()
    counts = np.bincount(batch.src, minlength=256)
    assert counts.min() > 0
    # Poisson: the variance of counts equals their mean.
    assert counts.var() / counts.mean() == pytest.approx(1, abs=0.35)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_sizes_follow_their_distribution_at_every_step(name: str) -> None:
    points = DISTRIBUTIONS[name]
    drawn = draw_sizes(points, 200_000, stream(3, "sizes"))
    assert drawn.mean() == pytest.approx(mean_bytes(points), rel=0.02)
    for size, percent in points:
        assert (drawn <= size).mean() * 100 == pytest.approx(percent, abs=0.5)


def test_the_means_are_those_of_the_public_distributions() -> None:
    assert mean_bytes(DISTRIBUTIONS["websearch"]) == pytest.approx(1_711_250)
    assert mean_bytes(DISTRIBUTIONS["fb-hadoop"]) == pytest.approx(120_420.75)


def test_messages_to_other_leaves_never_stay_under_their_own() -> None:
    batch, _ = make(
        {"kind": "poisson", "sizes": "fixed", "size": "10KB", "load": 0.5, "stop": "1ms", "destinations": "other-leaf"}
    )
    leaf = np.array([FABRIC.peer_of(host.first_port).id for host in FABRIC.hosts])
    assert (leaf[batch.src] != leaf[batch.dst]).all()
    assert len(set(batch.dst.tolist())) == 16


def test_arrivals_do_not_depend_on_how_sizes_are_drawn() -> None:
    first, _ = make({"kind": "poisson", "sizes": "fixed", "size": "1711250B", "load": 0.5, "stop": "2ms"})
    second, _ = make({"kind": "poisson", "sizes": "websearch", "load": 0.5, "stop": "2ms"})
    assert np.array_equal(first.start_ps, second.start_ps)
    assert np.array_equal(first.dst, second.dst)


def test_a_users_distribution_is_read_and_its_mistakes_are_named(tmp_path: Path) -> None:
    (tmp_path / "good.cdf").write_text("0 0  # begins\n\n1000 50\n2000 100\n", encoding="utf-8")
    batch, problems = make(
        {"kind": "poisson", "sizes": "file", "cdf": "good.cdf", "load": 0.5, "stop": "1ms"}, folder=tmp_path
    )
    assert not problems
    assert batch.size_bytes.max() <= 2000
    for text, words in (
        ("0 0\n1000 50\n", "0 to 100 percent"),
        ("0 0\n5 x\n", "line 2"),
        ("0 0\n5 60\n4 100\n", "fall"),
        ("", "0 to"),
    ):
        (tmp_path / "bad.cdf").write_text(text, encoding="utf-8")
        found: list[Problem] = []
        assert read_cdf(tmp_path / "bad.cdf", "cdf", found) == ()
        assert words in str(found[0])


def test_csv_and_inline_messages_give_the_same_batch(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(
        "id,src,dst,size_bytes,start_ns,priority,after,delay_ns\na,host1,host2,1000,0,,,\n,host2,host3,1,0,,a,5000\n",
        encoding="utf-8",
    )
    inline, _ = make({"kind": "messages", **CASES["messages"]})
    from_file, problems = make({"kind": "messages", "file": "m.csv"}, folder=tmp_path)
    assert not problems
    for field in ("src", "dst", "size_bytes", "start_ps", "priority", "delay_ps"):
        assert np.array_equal(getattr(inline, field), getattr(from_file, field)), field
    assert list(inline.after) == list(from_file.after) == [(0, 1)]
    assert list(inline.labels) == list(from_file.labels) == ["a", ""]


def test_a_hundred_thousand_messages_are_made_at_once() -> None:
    fabric = fabric_of(16, 16)
    begin = time.process_time()
    batch, _ = make({"kind": "poisson", "sizes": "fb-hadoop", "load": 0.8, "stop": "6ms"}, fabric=fabric)
    assert len(batch) > 100_000
    assert time.process_time() - begin < 5  # about 0.05 s; a guard against a loop over messages


@settings(max_examples=30)
@given(load=st.floats(0.01, 1.0), stop=st.integers(1, 3000), seed=st.integers(0, 2**31))
def test_any_poisson_window_gives_messages_inside_it_or_reports_that_none_arrive(
    load: float, stop: int, seed: int
) -> None:
    batch, problems = make(
        {"kind": "poisson", "sizes": "fb-hadoop", "load": load, "stop": f"{stop}us", "start": "500ns"}, seed
    )
    assert bool(len(batch)) != bool(problems)
    assert (batch.start_ps >= 500_000).all()
    assert (batch.start_ps < stop * 10**6).all()
    assert (batch.src != batch.dst).all()
