"""Kinds of files in folders that a user names (campaigns, drills, studies), and files beside jobs and settings.

The folders are written by hand: no case waits for a simulation. input_files.py damages them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import yaml

from fabric.runs import files
from fabric.runs.files import Sum
from fabric.studies import journal
from fabric.studies.dataset import claimed
from fabric.topology.registry import build_topology, parse_topology
from telemetry.drill.folder import FORMAT, Folder
from telemetry.record.store import Store
from tests.reliability.kind import Kind

TOPOLOGY: Final[Mapping[str, Any]] = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 2,
    "hosts_per_leaf": 2,
    "host_rate": "100G",
    "fabric_rate": "100G",
}
SCENARIO: Final[Mapping[str, Any]] = {
    "name": "small",
    "topology": TOPOLOGY,
    "switches": {"ecn": {"kmin": "50KB", "kmax": "200KB", "pmax": 0.2}},
    "workload": [{"kind": "permutation", "size": "1KB"}],
    "run": {"duration": "1ms"},
}
STUDY: Final[Mapping[str, Any]] = {
    "name": "small-study",
    "scenario": "small.yml",
    "parameters": {
        "kmin": {"set": "switches.ecn.kmin", "values": ["10KB", "50KB"]},
        "pmax": {"set": "switches.ecn.pmax", "log_range": {"from": 0.01, "to": 1.0, "steps": 3}},
    },
    "repetitions": {"seeds": 3},
    "measures": ["fct.p99", "ecn.marked"],
    "constraints": ["drops.lossless == 0"],
    "objectives": {"fct.p99": "min"},
}
JOB: Final[Mapping[str, Any]] = {
    "description": "x",
    "model": {
        "name": "x",
        "layers": 2,
        "hidden": 512,
        "feed_forward": 1408,
        "heads": 8,
        "vocabulary": 4096,
        "sequence": 256,
    },
    "gpus": 4,
    "gpus_per_node": 1,
    "parallel": {"dp": 4},
    "batch": {"sequence": 256, "micro_batches": 2},
    "compute": {"gpu": "h100-sxm", "utilisation": 0.4},
}
SLURM: Final = "SwitchName=s0 Nodes=host[1-2]\nSwitchName=s1 Nodes=host[3-4]\nSwitchName=top Switches=s[0-1]\n"
SLURM_YAML: Final = [
    {
        "topology": "tree",
        "cluster_default": True,
        "tree": {
            "switches": [
                {"switch": "top", "children": "s[0-1]"},
                {"switch": "s0", "nodes": "host[1-2]"},
                {"switch": "s1", "nodes": "host[3-4]"},
            ]
        },
    }
]
RANKS: Final = "rank,node,gpu\n0,host1,0\n1,host2,0\n2,host3,0\n3,host4,0\n"
CONFIG: Final = 'colour = "auto"\nthreads = 1\nout = "runs"\n'


def kinds(work: Path) -> dict[str, Kind]:
    """Every kind, its file written; the commands take the folder as it then is."""
    (work / "small.yml").write_text(yaml.safe_dump(dict(SCENARIO)), encoding="utf-8")
    (work / "j.yml").write_text(yaml.safe_dump(dict(JOB)), encoding="utf-8")
    (work / "fabric.yml").write_text(yaml.safe_dump({"topology": dict(TOPOLOGY)}), encoding="utf-8")
    campaign(work / "campaign")
    drill(work / "drills/d")
    Folder(work / "drills/d").answered({"points": 40, "of": 100, "kind": "link-down"})
    drill(work / "open/d")
    study(work / "study")

    def content(name: str) -> bytes:
        return (work / name).read_bytes()

    def answer(it: Path) -> list[tuple[str | Path, ...]]:
        (it / "open/d/result.json").unlink(missing_ok=True)  # a drill is answered once
        return [("drill", "answer", it / "open/d", "--kind", "link-down", "--device", "leaf1")]

    def placed(it: Path, policy: str, *more: str | Path) -> list[tuple[str | Path, ...]]:
        return [("job", "place", it / "j.yml", "--topology", it / "fabric.yml", "--policy", policy, *more)]

    look: tuple[str | Path, ...] = ("drill", "look")
    return {
        "study": Kind(
            "STUDY.yml", yaml.safe_dump(dict(STUDY)).encode(), lambda it: [("sweep", it / "STUDY.yml", "--list")]
        ),
        "index of a study": Kind(
            "study/study.json", content("study/study.json"), lambda it: [("verify", it / "study")]
        ),
        "journal of a study": Kind(
            "study/journal.jsonl", content("study/journal.jsonl"), lambda it: [("verify", it / "study")]
        ),
        "index of a campaign": Kind(
            "campaign/campaign.json",
            content("campaign/campaign.json"),
            lambda it: [("campaign", "--read", "--out", it / "campaign")],
        ),
        "journal of a campaign": Kind(
            "campaign/journal.jsonl",
            content("campaign/journal.jsonl"),
            lambda it: [("campaign", "--read", "--out", it / "campaign")],
        ),
        "index of a drill": Kind(
            "drills/d/drill.json",
            content("drills/d/drill.json"),
            lambda it: [(*look, it / "drills/d"), ("drill", "history", it / "drills")],
        ),
        "topology of a drill": Kind(
            "drills/d/topology.json",
            content("drills/d/topology.json"),
            lambda it: [(*look, it / "drills/d", "topology"), (*look, it / "drills/d", "ports", "--device", "leaf1")],
        ),
        "metrics of a drill": Kind(
            "drills/d/metrics.parquet",
            content("drills/d/metrics.parquet"),
            lambda it: [(*look, it / "drills/d", "ports")],
        ),
        "alerts of a drill": Kind(
            "drills/d/alerts.json",
            content("drills/d/alerts.json"),
            lambda it: [(*look, it / "drills/d", "alerts", "--device", "leaf1")],
        ),
        "looks of a drill": Kind(
            "drills/d/looks.jsonl", content("drills/d/looks.jsonl"), lambda it: [(*look, it / "drills/d", "topology")]
        ),
        "result of a drill": Kind(
            "drills/d/result.json", content("drills/d/result.json"), lambda it: [("drill", "history", it / "drills")]
        ),
        "sealed root of a drill": Kind("open/d/sealed.txt", content("open/d/sealed.txt"), answer),
        "settings": Kind("config.toml", CONFIG.encode(), lambda _: [("config",)], "FABRIC_CONFIG"),
        "job": Kind("j.yml", content("j.yml"), lambda it: [("job", "plan", it / "j.yml")]),
        "ranks": Kind("ranks.csv", RANKS.encode(), lambda it: placed(it, "file", "--ranks", it / "ranks.csv")),
        "Slurm's topology.conf": Kind(
            "topology.conf", SLURM.encode(), lambda it: placed(it, "slurm", "--slurm", it / "topology.conf")
        ),
        "Slurm's topology.yaml": Kind(
            "topology.yaml",
            yaml.safe_dump(SLURM_YAML).encode(),
            lambda it: placed(it, "slurm", "--slurm", it / "topology.yaml"),
        ),
    }


def campaign(path: Path) -> None:
    """The folder of a campaign of two runs: a fault that was felt and named, and a healthy one."""
    from telemetry.sources.campaign_run import rules_digest

    path.mkdir(parents=True)
    files.write_json(path / "campaign.json", {"format": 1, "version": "0", "side": "tune", "rules": rules_digest()})
    root = {
        "kind": "link-down",
        "device": "leaf1",
        "port": "Ethernet0",
        "began_ns": 2_000_000,
        "evidence": ["down"],
        "judged": True,
        "score": 0.5,
    }
    group = {
        "kinds": ["link-down"],
        "devices": ["leaf1"],
        "start_ns": 1_000_000,
        "end_ns": 9_000_000,
        "ports": ["leaf1:Ethernet0"],
        "change": "it went down",
    }
    fault = {
        "seed": "tune/0",
        "sort": "single",
        "what": ["link-down"],
        "duration_ns": 20_000_000,
        "groups": [group],
        "felt": [{"felt": True}],
        "views": {name: {"roots": [root], "pairs": [[0, 0, True, True]]} for name in ("ideal", "sonic")},
        "alerts": {"pages": 1, "incidents": [{"fired_ns": 3_000_000, "severity": "critical", "alerts": ["A"]}]},
    }
    healthy = {
        **fault,
        "seed": "tune/1",
        "sort": "healthy",
        "what": [],
        "groups": [],
        "felt": [],
        "views": {name: {"roots": [], "pairs": []} for name in ("ideal", "sonic")},
        "alerts": {"pages": 0, "incidents": []},
    }
    (path / "journal.jsonl").write_bytes(journal.line(fault) + journal.line(healthy))


def drill(path: Path) -> None:
    """The folder of a drill with one look."""
    fabric = build_topology(parse_topology(dict(TOPOLOGY), "topology"), Path())
    store = Store()
    labels = [(("device", "leaf1"), ("port", "Ethernet0")), (("device", "leaf2"), ("port", "Ethernet0"))]
    for name in ("fabric_port_up", "fabric_port_transmit_packets_total"):
        store.track(name).labels += labels
    for time_ns in (0, 1_000_000, 2_000_000):
        sample = store.begin(time_ns)
        for name in store.metrics:
            store.track(name).append(sample, np.arange(2, dtype=np.int32), np.array([sample, 7.0 * sample]))
    index = {
        "started": "2026-01-01T00:00:00+00:00",
        "level": 1,
        "view": "every metric",
        "profile": "ideal",
        "duration_ns": 2_000_000,
        "choices": ["link-down", "bad-optic"],
        "shows_alerts": True,
    }
    alert = {
        "alert": "PortDown",
        "text": "a port is down",
        "firing_ns": 1_000_000,
        "cleared_ns": None,
        "labels": {"device": "leaf1"},
    }
    secret = {
        "kind": "link-down",
        "places": ["leaf1:Ethernet0"],
        "priority": None,
        "evidence": ["down"],
        "also": [],
        "names": {"leaf1": "leaf2"},
        "reproduce": ["fabric run x"],
        "scenario": "x",
        "seed": 1,
    }
    assert FORMAT == 1
    Folder.write(path, index, fabric, store, [alert], secret).looked("ports")


def study(path: Path) -> None:
    """The folder of a study with one run in a part, one in the journal, and one product."""
    schema = pa.schema([("run", pa.int64()), ("value", pa.float64())])
    with claimed(path, schema, resume=False, force=False) as folder:
        folder.begin({"name": "s", "identity": "x"})
        folder.add({"run": 0, "value": 1.0}, {"run": 0})
        folder.flush()
        (path / "points.json").write_text("{}", encoding="utf-8")
        folder.keep({"points.json": Sum.of(path / "points.json")})
        folder.add({"run": 1, "value": 2.0}, {"run": 1})
