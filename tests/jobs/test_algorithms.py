"""Algorithms of a job's collectives: rules of its file, nodes of a group, and NCCL's choice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_jobs import job, mapping

from fabric.collectives.nccl.auto import auto
from fabric.collectives.registry import build
from fabric.collectives.schedule import Request
from fabric.errors import InputErrors
from fabric.jobs.algorithms import GroupShape, node_size
from fabric.jobs.load import load_job
from fabric.jobs.lowering import lower
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.workload.job_collectives import NamedAlgorithms

SERVERS = {
    "kind": "rail", "nodes_per_pod": 2, "rails": 4, "spines": 2, "host_rate": "100G", "fabric_rate": "100G",
    "scale_up": {},
}  # fmt: skip


def rules(*given: dict[str, Any], **changes: Any) -> NamedAlgorithms:  # noqa: ANN401
    return NamedAlgorithms(rules=job(collectives=list(given), **changes).collectives)


def test_the_last_rule_that_matches_group_and_operation_decides() -> None:
    found = rules(
        {"algorithm": "double-binary-tree"},
        {"algorithm": "pat", "operations": ["all-gather"]},
        {"algorithm": "halving-doubling", "groups": ["dp"], "operations": ["all-reduce"]},
        {"algorithm": "pairwise", "groups": ["ep"]},
    )
    assert found.algorithm("all-reduce", "tp") == "double-binary-tree"
    assert found.algorithm("all-reduce", "dp") == "halving-doubling"
    assert found.algorithm("reduce-scatter", "dp") == "ring"
    assert found.algorithm("all-gather", "dp") == "pat"
    assert found.algorithm("all-to-all", "ep") == "pairwise"
    assert found.algorithm("all-to-all", "dp") == "direct"


@pytest.mark.parametrize(
    ("members", "size"),
    [([0, 1, 2, 3, 4, 5, 6, 7], 4), ([0, 4, 8], 1), ([0, 2, 4, 6], 2), ([0, 1, 2, 4], 1), ([0, 1], 2),
     ([0, 4, 1, 5], 1)],
)  # fmt: skip
def test_the_nodes_of_a_group_follow_from_the_numbers_of_its_ranks(members: list[int], size: int) -> None:
    assert node_size(members, 4) == size


def test_a_hierarchy_of_a_job_sends_its_parts_between_nodes_only() -> None:
    one = job(
        parallel__dp=8, gpus_per_node=4, collectives=[{"algorithm": "hierarchical", "groups": ["dp"]}],
        memory__bucket="1GB",
    )  # fmt: skip
    crossing = {}
    for name, builder in {"rule": NamedAlgorithms(rules=one.collectives), "ring": NamedAlgorithms()}.items():
        rows = lower(one, builder).transfers
        sent = np.array([int(rows.sizes_bytes(row).sum()) for row in range(len(rows))])
        far = rows.src // 4 != rows.dst // 4
        crossing[name] = int(sent[far].sum()), int(sent[~far].sum())
    # A ring over 8 ranks crosses 2 of 8 edges with 14/8 S each; a hierarchy crosses 8 edges with S/4 each.
    assert crossing["rule"][0] == pytest.approx(crossing["ring"][0] * 2 / 3.5, rel=0.01)
    assert sum(crossing["rule"]) == pytest.approx(sum(crossing["ring"]), rel=0.01)


def test_channels_and_chunks_of_a_rule_are_those_of_its_schedules() -> None:
    found = rules({"algorithm": "ring", "channels": 2, "chunk": "1KB"})("all-reduce", 4, 16_000, GroupShape("dp"))
    assert max(int(found.sizes_bytes(row).max()) for row in range(len(found))) == 1000
    assert len(found) == len(build("ring", Request("all-reduce", 4, 16_000, 1, channels=2, pieces=2)).transfers)


@pytest.mark.parametrize(("size", "node"), [(1024, 8), (2**26, 8), (2**26, 1), (2**20, 4)])
def test_auto_builds_what_nccls_model_chooses_for_the_size(size: int, node: int) -> None:
    found = rules({"algorithm": "auto"})("all-reduce", 16, size, GroupShape("dp", node))
    chosen = auto(Request("all-reduce", 16, size, 1, node_size=node))
    assert found.sent_bytes(16).tolist() == build(chosen.algorithm, chosen.request).transfers.sent_bytes(16).tolist()
    assert chosen.algorithm == ("double-binary-tree" if size == 1024 else chosen.algorithm)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"algorithm": "rings"}, "collectives[0].algorithm: 'rings' is not an algorithm; did you mean 'ring'?"),
        ({"algorithm": "pat", "operations": ["all-to-all"]}, "collectives[0].operations: pat has no all-to-all"),
        ({"algorithm": "pat", "channels": 2}, "collectives[0].channels: has no effect with pat"),
        ({"algorithm": "auto", "chunk": "1KB"}, "collectives[0].chunk: has no effect with auto"),
        ({"algorithm": "ring", "generation": "hopper"}, "collectives[0].generation: has no effect with ring"),
        ({"algorithm": "ring", "groups": ["dd"]}, "collectives[0].groups[0]"),
    ],
)
def test_wrong_rules_are_refused(rule: dict[str, Any], text: str) -> None:
    with pytest.raises(InputErrors) as caught:
        load_job(mapping(collectives=[rule]), "job.yml")
    found = [f"{it.path}: {it.text}; {it.hint}" for it in caught.value.problems]
    assert any(text in it for it in found), found


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"algorithm": "pxn"}, "collectives[0]: no operation of the job is carried out by it"),
        ({"algorithm": "hierarchical", "groups": ["dp"]}, "hierarchical needs nodes of several ranks"),
    ],
)
def test_rules_that_do_not_fit_the_job_are_refused_by_its_scenario(
    rule: dict[str, Any], text: str, tmp_path: Path
) -> None:
    raw = mapping(parallel={"dp": 2, "tp": 4}, gpus_per_node=4, collectives=[rule])
    (tmp_path / "job.yml").write_text(json.dumps(raw))
    given = {"name": "x", "topology": SERVERS, "workload": [{"kind": "job", "job": "job.yml"}],
             "run": {"duration": "1s"}, "transport": {"qp": {"per": "pair"}}}  # fmt: skip
    with pytest.raises(InputErrors) as caught:
        compile_scenario(build_scenario(given, tmp_path / "x.yml"))
    assert any("workload[0].job, job.yml: collectives[0]" in it.path for it in caught.value.problems)
    assert any(text in f"{it.path.split(': ')[-1]}: {it.text}" for it in caught.value.problems), caught.value.problems
