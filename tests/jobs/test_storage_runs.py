"""Storage, the queue, VNIs and inference in simulated runs, as `fabric job` tells them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.cli.main import main
from fabric.runs.rundir import RunDir
from fabric.scenario.compile.scenario import place
from fabric.scenario.load import load_scenario

JOB: Final = """model: {name: tiny, layers: 2, hidden: 64, feed_forward: 128, heads: 2, vocabulary: 256, sequence: 64}
gpus: 4
gpus_per_node: 2
parallel: {pp: 2, dp: 2}
batch: {sequence: 64, micro_batches: 2}
compute: {layer_forward: 10us, layer_backward: 20us}
"""
STORING: Final = JOB + "storage: {checkpoint: {every: 1, stripe: 100KB}, dataset: {bytes_per_token: 8}}\n"
TOPOLOGY: Final = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "host_rate": "100G",
                   "fabric_rate": "400G"}  # fmt: skip
SEPARATE: Final = {"nodes": 2, "rate": "100G", "network": "separate", "host_rate": "50G"}
STATE: Final = 14 * (2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 2 * 256 * 64 + 64)


def scenario(folder: Path, *loads: dict[str, Any], **more: Any) -> Path:  # noqa: ANN401  parts of a scenario file
    (folder / "tiny.yml").write_text(JOB)
    (folder / "storing.yml").write_text(STORING)
    raw = {"name": "s", "topology": TOPOLOGY, "workload": list(loads), "transport": {"qp": {"per": "pair"}},
           "run": {"duration": "20ms"}, **more}  # fmt: skip
    file = folder / "s.yml"
    file.write_text(json.dumps(raw))
    return file


def job(name: str, file: str = "tiny.yml", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"kind": "job", "name": name, "job": file, **more}


def report(folder: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["run", str(file), "--out", str(folder / "run"), "--quiet", "--yes", "--force"]) == 0
    capsys.readouterr()
    assert main(["job", "report", str(folder / "run"), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("network", [{"nodes": 2, "rate": "100G"}, SEPARATE])
def test_every_byte_of_a_checkpoint_and_of_the_data_arrives_on_its_network(
    network: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = scenario(tmp_path, job("a", "storing.yml", steps=2), topology={**TOPOLOGY, "storage": network})
    (told,) = report(tmp_path, file, capsys)["jobs"]
    size = {(it["what"], it["step"]): it["size_bytes"] for it in told["storage"]}
    assert size["write", 0] == size["write", 1] == STATE
    assert size["read", 0] == size["read", 1] == 8 * 2 * 2 * 64 + 2 * 256
    assert all(it["end_ns"] > it["start_ns"] for it in told["storage"])
    rows = RunDir.open(tmp_path / "run").transfers(["operation", "path", "size_bytes", "src", "dst"]).to_pylist()
    ways = {
        hop.partition(":")[0] for it in rows if "checkpoint" in it["operation"] and it["path"] for hop in it["path"]
    }
    assert ("spine1" in ways) == (network is not SEPARATE)
    collectives = {hop for it in rows if it["path"] and "storage" not in it["src"] + it["dst"] for hop in it["path"]}
    assert not any("storage" in hop for hop in collectives)


def test_jobs_wait_for_gpus_in_the_order_of_the_queue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loads = (
        job("a", steps=2),
        job("big", arrival="10us", overrides=["gpus=8", "parallel.dp=4"]),
        job("small", arrival="20us"),
    )
    fifo = {it["name"]: it for it in report(tmp_path, scenario(tmp_path, *loads, admission="fifo"), capsys)["jobs"]}
    assert fifo["a"]["waiting_ns"] == 0
    assert fifo["big"]["start_ns"] > fifo["a"]["end_ns"]
    assert fifo["small"]["start_ns"] > fifo["big"]["end_ns"]
    assert fifo["small"]["turnaround_ns"] == fifo["small"]["end_ns"] - 20_000
    file = scenario(tmp_path, *loads, admission="backfill")
    backfill = {it["name"]: it for it in report(tmp_path, file, capsys)["jobs"]}
    assert backfill["small"]["start_ns"] == 20_000
    assert backfill["big"]["start_ns"] > max(backfill["a"]["end_ns"], backfill["small"]["end_ns"])
    steps = backfill["small"]["steps"][0]
    assert steps["duration_ns"] == pytest.approx(np.sum([steps[f"{part}_ns"] for part in
                                                         ("compute", "bubble", "slow_ranks", "exposed")]))  # fmt: skip


def test_each_job_has_a_vni_and_messages_between_jobs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more: dict[str, Any] = {"routing": "bgp", "vxlan": {"job_vni": 20_000}}
    loads = (job("a", placement="spread"), job("b", placement="spread", overrides=["gpus=2", "parallel.dp=1"]))
    overlay = place(load_scenario(scenario(tmp_path, *loads, **more))).params.vxlan
    assert overlay is not None
    held = {it.vni: len(it.hosts) for it in overlay.segments}
    assert held == {20_000: 4, 20_001: 2, 20_002: 2}
    crossing = {"kind": "messages", "name": "m", "messages": [{"src": "host1", "dst": "host3", "size": "1KB"}]}
    assert main(["run", str(scenario(tmp_path, *loads, crossing, **more)), "--quiet"]) == 2
    assert "cross tenants" in capsys.readouterr().err


def test_requests_have_times_that_expectations_can_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.csv").write_text("arrival_us,prompt_tokens,output_tokens\n0,64,3\n0,64,3\n500,64,1\n")
    model = {"name": "m", "layers": 2, "hidden": 256, "feed_forward": 512, "heads": 4, "vocabulary": 256,
             "sequence": 64}  # fmt: skip
    load = {"kind": "inference", "model": model, "gpus": 2, "prefill_hosts": ["host[12]"], "all_reduce": "1us",
            "decode_hosts": ["host[56]"], "requests_file": "r.csv", "batch": 1, "ttft_limit": "1ms",
            "tpot_limit": "1ms"}  # fmt: skip
    wanted = ["inference.done == 3", "inference.ttft.max < 1ms", "inference.tpot.p50 > 1us"]
    found = report(tmp_path, scenario(tmp_path, load, expectations=wanted), capsys)
    assert found["jobs"] == []
    (served,) = found["inference"]
    assert served["done"] == 3
    assert served["goodput_per_s"] > 0
    # The second prompt waits for the first, and its tokens for the first one's: TPOT counts the wait for a batch.
    assert (
        served["ttft_ns"]["max"] > 1.5 * served["ttft_ns"]["p50"] or served["tpot_ns"]["max"] > served["tpot_ns"]["p50"]
    )
    rows = RunDir.open(tmp_path / "run").transfers(["operation", "size_bytes"]).to_pylist()
    cache = sum(it["size_bytes"] for it in rows if it["operation"].endswith("cache"))
    assert cache == 3 * 64 * 2 * 2 * 256 * 2


@pytest.mark.parametrize(
    ("loads", "more", "message"),
    [
        ((job("a", "storing.yml"),), {}, "has no storage nodes"),
        ((job("a", storage=["host[78]"]),), {}, "has no effect: no step of tiny.yml reads data"),
        ((job("a", time_limit="1ms"),), {}, "no effect without admission"),
        ((job("a", placement="slurm"),), {}, "needs placement_file"),
        ((job("a", placement="file", placement_file="none.csv"),), {}, "none.csv"),
        ((job("a", distribution="cyclic"),), {}, "distribution has no effect"),
        (({"kind": "permutation", "size": "1KB"},), {"admission": "fifo"}, "no entry of workload is a job"),
        ((job("a", overrides=["gpus=16", "parallel.dp=8"]),), {"admission": "fifo"}, "need 8 nodes"),
        ((job("a"),), {"vxlan": {"job_vni": 5, "tenants": [{"name": "t", "vni": 1, "hosts": ["*"]}]}}, "both given"),
        ((job("a"),), {"vxlan": {"job_vni": 5}, "admission": "fifo"}, "would change its VNI"),
    ],
)
def test_what_cannot_be_is_a_clear_error(
    loads: tuple[dict[str, Any], ...], more: dict[str, Any], message: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert main(["run", str(scenario(tmp_path, *loads, **more)), "--quiet"]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert message in shown, shown
    assert "Traceback" not in shown


def test_an_overlay_over_two_networks_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topology = {"kind": "rail", "pods": 2, "nodes_per_pod": 1, "spines": 1, "host_rate": "100G", "fabric_rate": "100G",
                "storage": {"nodes": 1, "rate": "100G", "network": "separate", "host_rate": "25G"}}  # fmt: skip
    load = {"kind": "permutation", "size": "1KB"}
    file = scenario(tmp_path, load, topology=topology, routing="bgp", vxlan={"tenants": []})
    assert main(["run", str(file), "--quiet"]) == 2
    assert "vxlan: an overlay is not modelled where hosts have ports to several networks" in capsys.readouterr().err
