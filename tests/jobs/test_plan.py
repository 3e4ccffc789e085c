"""`fabric job`: figures of the plan, JSON, errors, exit codes; skewed routing."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml
from small_jobs import mapping

from fabric.cli.main import main
from fabric.jobs.experts import expert_capacity, expert_weights, grouped_nic_bytes, padded_bytes, route
from fabric.jobs.load import load_job
from fabric.jobs.plan import Plan, make_plan
from fabric.jobs.presets import JOBS
from fabric.workload.streams import stream

US = 10**6


def plan(**changes: object) -> Plan:
    return make_plan(load_job(mapping(**changes), "job.yml"), partial(stream, 0))


def test_without_tensor_parallelism_the_bound_is_the_pipeline() -> None:
    found = plan(parallel__pp=2, batch__micro_batches=4, network__nic="100T")
    assert found.step_compute_ps == (4 + 1) * 2 * 30 * US
    assert found.bubble_ps == 2 * 30 * US
    assert found.step_bound_ps == pytest.approx(found.step_compute_ps, rel=1e-3)
    assert found.bounds["pp"].network_bytes > 0


def test_collectives_that_nothing_hides_lengthen_the_bound() -> None:
    changes = {"parallel__tp": 2, "gpus_per_node": 2, "batch__micro_batches": 1, "network__scale_up": "1G"}
    found = plan(**changes)
    # 1 G: 8 ns a byte. 18 all-reduces of A and no hidden ones: embedding, output layer, 4 layers with 4 each.
    tensor = 16 * 16 * 2
    assert found.step_bound_ps - found.step_compute_ps == 18 * tensor * 8000
    assert found.bounds["tp"].network_bytes == 0
    assert found.bounds["tp"].seconds == pytest.approx((18 * tensor + 3 * 16 * 4) * 8e-9)


def test_memory_that_is_short_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["job", "plan", "llama3-70b", "--set", "parallel.dp=64", "--set", "gpus=64"]
    assert main([*args, "--set", "parallel.tp=1", "--set", "parallel.pp=1", "--set", "parallel.virtual_stages=1",
                 "--set", "parallel.sequence_parallel=false", "--set", "pipeline=null"]) == 1  # fmt: skip
    assert "DOES NOT FIT" in capsys.readouterr().out


@pytest.mark.parametrize("name", JOBS)
def test_presets_fit_into_their_gpus_and_print(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["job", "plan", name]) == 0
    out = capsys.readouterr().out
    assert "bubble" in out
    assert "MFU" in out


def test_json_has_the_bytes_of_each_operation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["job", "plan", "llama3-405b-8192", "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["parameters"] == 405_853_388_800
    gather = next(row for row in tree["volumes"] if row["volume"]["name"] == "attention forward")
    assert gather["volume"]["size_bytes"] == 268_435_456
    assert gather["crossing_ratio"] == 0
    assert tree["stages"][0]["memory"]["total_bytes"] > 0
    assert main(["job", "list", "--json"]) == 0
    assert {job["name"] for job in json.loads(capsys.readouterr().out)["jobs"]} == set(JOBS)


def test_a_job_file_is_read_and_its_problems_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.yml"
    file.write_text(yaml.safe_dump(mapping(parallel__pp=2)), encoding="utf-8")
    assert main(["job", "plan", str(file)]) == 0
    assert "job: tiny on 2 GPUs" in capsys.readouterr().out
    assert main(["job", "plan", str(file), "--set", "gpus=3", "--set", "memory.zero=1"]) == 2
    err = capsys.readouterr().err
    assert "2 problems" in err
    assert f"{file}: gpus: tp x pp x dp x cp" in err
    file.write_text("- 1\n", encoding="utf-8")
    assert main(["job", "plan", str(file)]) == 2
    assert "begin with 'model:'" in capsys.readouterr().err
    assert main(["job", "plan", str(tmp_path / "llama3-8c")]) == 2
    assert "did you mean 'llama3-8b'?" in capsys.readouterr().err


def test_placing_needs_the_options_of_its_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric = tmp_path / "rail.yml"
    fabric.write_text(
        "kind: rail\nnodes_per_pod: 8\nrails: 8\nspines: 4\nhost_rate: 400G\nfabric_rate: 400G\n", encoding="utf-8"
    )
    base = ["job", "place", "llama3-8b", "--topology", str(fabric)]
    assert main([*base, "--policy", "slurm", "--seed", "1", "--ranks", "x"]) == 2
    err = capsys.readouterr().err
    assert "3 problems" in err
    ranks, conf = tmp_path / "ranks.csv", tmp_path / "topology.conf"
    assert main([*base, "--policy", "random", "--seed", "4", "--out", str(ranks)]) == 0
    assert "64 ranks on 8 nodes, 8 leaves, 1 pod" in capsys.readouterr().out
    assert main([*base, "--policy", "file", "--ranks", str(ranks), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["ranks"]
    assert [f"{row['rank']},{row['node']},{row['gpu']}" for row in rows] == ranks.read_text().splitlines()[1:]
    conf.write_text("SwitchName=s0 Nodes=node[1-8]\n", encoding="utf-8")
    assert main([*base, "--policy", "slurm", "--slurm", str(conf), "--out", "-"]) == 0
    assert capsys.readouterr().out.startswith("rank,node,gpu\n0,node1,0\n")
    assert main([*base, "--json", "--out", "-"]) == 2
    (tmp_path / "none.yml").write_text("x: 1\n", encoding="utf-8")
    assert main([*base[:-1], str(tmp_path / "none.yml")]) == 2
    assert "holds no topology" in capsys.readouterr().err


def test_skewed_experts_load_one_receiver_more() -> None:
    base = {
        "parallel__dp": 4, "parallel__ep": 4, "model__experts": 8, "model__experts_per_token": 2,
        "model__sequence": 4096, "batch__sequence": 4096,
    }  # fmt: skip
    even = plan(**base)
    skewed = plan(**base, routing={"skew": "zipf", "exponent": 1.5})
    capped = plan(**base, routing={"skew": "zipf", "exponent": 1.5, "capacity_factor": 1.0})
    assert even.imbalance_ratio == 1
    assert skewed.imbalance_ratio > 1.5
    assert capped.imbalance_ratio < skewed.imbalance_ratio
    assert skewed.dropped_ratio == 0 < capped.dropped_ratio < 1


def test_a_route_keeps_every_token_and_capacity_drops_the_rest() -> None:
    draw = np.random.default_rng(3)
    weights = expert_weights("zipf", 8, 1.0, draw)
    assert weights.sum() == pytest.approx(1)
    assert weights.max() / weights.min() == pytest.approx(8)
    found = route(1000, 2, 4, weights, draw)
    assert found.tokens.sum(axis=1).tolist() == [2000] * 4
    assert found.received.sum() + np.trace(found.tokens) == 8000
    capacity = expert_capacity(1.0, 4000, 2, 8)
    assert capacity == 1000
    capped = route(1000, 2, 4, weights, np.random.default_rng(3), capacity=capacity)
    assert capped.tokens.sum() + capped.dropped == 8000
    assert (capped.tokens.sum(axis=0) <= 2 * capacity).all()
    assert route(10, 1, 2, np.array([1.0, 0.0]), draw, capacity=15).tokens.tolist() == [[10, 0], [5, 0]]


def test_dirichlet_is_skewed_for_small_concentrations() -> None:
    flat, sharp = (expert_weights("dirichlet", 64, c, np.random.default_rng(1)).max() for c in (1000.0, 0.1))
    assert sharp > 5 * flat
    assert expert_weights("uniform", 4, 0, np.random.default_rng(1)).tolist() == [0.25] * 4


def test_capacity_padding_and_grouped_routing_have_closed_forms() -> None:
    assert expert_capacity(1.25, 100, 2, 8) == 32
    assert padded_bytes(32, 8, 4, 10) == 8 * 2 * 10
    assert grouped_nic_bytes(100, 8, 4, 10) == 4000
    assert grouped_nic_bytes(100, 2, 4, 10) == 2000
