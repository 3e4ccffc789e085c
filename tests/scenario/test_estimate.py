"""The estimate of a run before it begins: against measured runs, and against the resources of the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bench import cases as bench_cases
from bench.estimate_cases import HELD_OUT_SEED, random_scenarios
from fabric import shipped
from fabric.cli.main import main
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Stop
from fabric.errors import InputErrors
from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.scenario.compile.scenario import admitted_fabric, compile_scenario
from fabric.scenario.estimate import machine as machines
from fabric.scenario.estimate.admission import MAX_SAMPLES, Admission
from fabric.scenario.estimate.estimator import estimate
from fabric.scenario.estimate.figures import Estimate
from fabric.scenario.estimate.machine import Limit, Machine
from fabric.scenario.load import build_scenario, load_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.distances import links_between
from fabric.topology.paths import equal_cost_ports
from fabric.topology.registry import build_topology, parse_topology
from fabric.topology.spec import CustomSpec
from fabric.workload.batch import Surroundings
from fabric.workload.demand import FLOWS
from fabric.workload.registry import MESSAGE_KINDS
from tests.goldens.cases import CASES as GOLDENS
from tests.goldens.cases import tree_of
from tests.workload.test_workloads import ADAPTER, CASES, FABRIC

ROOT = Path(__file__).resolve().parents[2]
MORE: dict[str, dict[str, Any]] = {
    "many-to-one": {"kind": "incast", "receiver": "host1", "senders": ["host*"], "size": "3KB"},
    "shifted": {"kind": "permutation", "size": "3KB", "shift": 3},
    "rounds-again": {"kind": "all-to-all", "size": "2KB", "repeat": 3, "interval": "1us", "order": "rounds"},
    "fixed": {"kind": "poisson", "sizes": "fixed", "size": "9KB", "load": 0.3, "stop": "100us"},
}
SPECS = {**{kind: {"kind": kind, **fields} for kind, fields in CASES.items()}, **MORE}
BIG = {
    "name": "big",
    "topology": {
        "kind": "leaf-spine",
        "leaves": 8,
        "spines": 8,
        "hosts_per_leaf": 16,
        "host_rate": "100G",
        "fabric_rate": "100G",
    },
    "workload": [{"kind": "all-to-all", "size": "1KB"}],
    "run": {"duration": "1s"},
}


def scenario_of(**changes: Any) -> Scenario:  # noqa: ANN401  parts of a scenario file
    return build_scenario({**BIG, **changes}, Path("big.yml"))


def estimate_of(scenario: Scenario) -> Estimate:
    return estimate(scenario, admitted_fabric(scenario))


def machine_with(memory_bytes: int) -> Machine:
    return Machine(Limit(memory_bytes, "a test"), 0)


def refusal(scenario: Scenario, **options: Any) -> InputErrors:  # noqa: ANN401  of Admission
    with pytest.raises(InputErrors) as caught:
        Admission("big.yml", **options)(estimate_of(scenario))
    return caught.value


# ===== demands of workloads =====


@pytest.mark.parametrize("name", SPECS)
def test_a_demand_is_what_the_generator_makes(name: str, tmp_path: Path) -> None:
    spec = ADAPTER.validate_python(SPECS[name])
    around = Surroundings(FABRIC, 7, tmp_path)
    demand = MESSAGE_KINDS[spec.kind].demand(spec, spec.kind, "workload[0]", around)
    made = MESSAGE_KINDS[spec.kind].generate(spec, spec.kind, "workload[0]", around)
    assert not around.problems
    assert demand.exact
    assert demand.messages == len(made)
    assert demand.bytes == made.size_bytes.sum()
    assert demand.packets(1024) == (-(-made.size_bytes // 1024)).sum()
    assert demand.dependencies == len(made.after)
    assert demand.first_ps <= made.start_ps.min()
    assert made.start_ps.max() <= demand.last_ps
    if "fan_in" not in SPECS[name]:  # else senders are drawn, and each host is expected equally often
        assert np.array_equal(demand.tx_bytes, np.bincount(made.src, made.size_bytes, len(FABRIC.hosts)))
        assert demand.pairs == len({*zip(made.src.tolist(), made.dst.tolist(), strict=True)})
    assert np.array_equal(demand.rx_bytes, np.bincount(made.dst, made.size_bytes, len(FABRIC.hosts)))


def test_the_demand_of_a_file_counts_its_rows_and_keeps_none(tmp_path: Path) -> None:
    rows = [
        f"m{row},host{row % 16 + 1},host{(row + 3) % 16 + 1},{1000 + row},{row},,{'m0' if row == 16 else ''}"
        for row in range(200)
    ]
    (tmp_path / "list.csv").write_text("\n".join(["id,src,dst,size_bytes,start_ns,priority,after", *rows]))
    spec = ADAPTER.validate_python({"kind": "messages", "file": "list.csv"})
    around = Surroundings(FABRIC, 1, tmp_path)
    demand = MESSAGE_KINDS["messages"].demand(spec, "messages", "workload[0]", around)
    made = MESSAGE_KINDS["messages"].generate(spec, "messages", "workload[0]", around)
    assert (demand.messages, demand.bytes, demand.dependencies) == (200, made.size_bytes.sum(), 1)
    assert demand.last_ps == made.start_ps.max()


def test_expected_demand_of_many_random_messages_is_near_the_drawn_one(tmp_path: Path) -> None:
    spec = ADAPTER.validate_python({"kind": "poisson", "sizes": "fb-hadoop", "load": 0.5, "stop": "400ms"})
    around = Surroundings(FABRIC, 1, tmp_path)
    demand = MESSAGE_KINDS["poisson"].demand(spec, "poisson", "workload[0]", around)
    made = MESSAGE_KINDS["poisson"].generate(spec, "poisson", "workload[0]", around)
    assert not demand.exact
    assert demand.messages == pytest.approx(len(made), rel=0.01)
    assert demand.bytes == pytest.approx(made.size_bytes.sum(), rel=0.03)
    assert demand.packets(4096) == pytest.approx((-(-made.size_bytes // 4096)).sum(), rel=0.03)


def test_a_demand_does_not_grow_with_the_number_of_messages(tmp_path: Path) -> None:
    around = Surroundings(FABRIC, 1, tmp_path)
    for raw in (
        {"kind": "all-to-all", "size": "1KB", "repeat": 100_000, "interval": "1us"},
        {"kind": "poisson", "sizes": "fixed", "size": "1B", "load": 1.0, "stop": "500s"},
    ):
        spec = ADAPTER.validate_python(raw)
        demand = MESSAGE_KINDS[spec.kind].demand(spec, spec.kind, "workload[0]", around)
        assert demand.messages > 2e7
        assert max(len(column) for column in (demand.src, demand.size_bytes, demand.tx_bytes)) <= max(FLOWS, 10_000)


@pytest.mark.parametrize(
    "raw",
    [
        {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2},
        {"kind": "clos3", "pods": 2, "leaves_per_pod": 2, "spines_per_pod": 2, "super_spines": 4, "hosts_per_leaf": 3},
        {"kind": "rail", "pods": 2, "nodes_per_pod": 3, "rails": 4, "spines": 2},
        {"kind": "rail", "nodes_per_pod": 3, "rails": 4, "spines": 0, "endpoints": "node"},
        {"kind": "dual-tor", "racks": 3, "hosts_per_rack": 2, "spines": 4, "planes": 2},
    ],
    ids=str,
)
def test_a_shape_is_the_fabric_that_is_built(raw: dict[str, Any]) -> None:
    spec = parse_topology({**raw, "host_rate": "100G", "fabric_rate": "100G"})
    assert not isinstance(spec, CustomSpec)
    fabric, shape = build_topology(spec), spec.shape
    routes = equal_cost_ports(fabric)
    assert (shape.hosts, shape.switches, shape.cables) == (len(fabric.hosts), len(fabric.switches), len(fabric.links))
    assert shape.classes == len(routes.attachments)
    assert getattr(spec, shape.field) == shape.value
    pairs = [(a.id, b.id) for a in fabric.hosts for b in fabric.hosts if a is not b]
    src, dst = np.array(pairs).T
    leaf = np.array([fabric.peer_of(fabric.nodes[node].first_port).id for node in src])
    assert links_between(fabric, src, dst) == pytest.approx(
        float(routes.distance[leaf, routes.class_of_host[dst]].mean()) + 2
    )


# ===== against runs =====

_SHORT = [name for name in GOLDENS if "bgp" not in name and "evpn" not in name][::9]


@pytest.mark.parametrize("name", [*_SHORT, "incast", "permutation", "P256", *list(random_scenarios(8, HELD_OUT_SEED))])
def test_messages_and_hops_are_those_of_the_run(name: str) -> None:
    if name in GOLDENS:
        scenario = build_scenario(tree_of(name)[0], Path(f"{name}.yml"))
    elif name in bench_cases.NAMES:
        scenario = build_scenario(bench_cases.named(name, quick=True), Path(f"{name}.yml"))
    elif name.startswith("random"):
        scenario = build_scenario(random_scenarios(8, HELD_OUT_SEED)[name], Path(f"{name}.yml"))
    else:
        scenario = load_scenario(Path(name))
    compiled = compile_scenario(scenario)
    found = compiled.estimate
    assert found is not None
    assert found["messages"].likely == len(compiled.params.messages.src)
    assert found["queue pairs"].likely == pytest.approx(len(compiled.params.queue_pairs.src), rel=0.1)
    engine = Emulator(
        compiled.fabric,
        compiled.params,
        compiled.edits,
        record=compiled.record,
        reroute_delay_ps=compiled.reroute_delay_ps,
    )
    while not engine.finished and engine.now_ps < compiled.duration_ps:
        if engine.advance(min(engine.now_ps + 100_000_000, compiled.duration_ps)) is Stop.IDLE:
            break
    assert 0.5 < found["packet-hops"].likely / engine.packet_hops < 2
    asks = compiled.params.vxlan is not None and compiled.params.vxlan.asks  # requests end after the last message
    end_ps = engine.now_ps if asks else int(engine.snapshot().messages["end_ps"].max(initial=0))
    assert found["simulated time"].least <= max(end_ps, 1) * 1.1 or engine.now_ps >= compiled.duration_ps


@pytest.mark.parametrize("name", ["incast", "websearch"])
def test_rows_and_bytes_of_a_run_are_between_a_fifth_and_five_times_the_estimate(name: str, tmp_path: Path) -> None:
    compiled, plan = simulate.prepare(load_scenario(Path(name)))
    simulate.simulate(compiled, plan, simulate.Options(tmp_path / "run"))
    found = compiled.estimate
    assert found is not None
    run = RunDir.open(tmp_path / "run")
    disk = sum(path.stat().st_size for path in (tmp_path / "run").rglob("*") if path.is_file())
    rows = pq.read_metadata(tmp_path / "run" / "timeseries.parquet").num_rows
    for figure, real in (("samples", run.manifest["samples"]), ("series rows", rows), ("disk", disk)):
        assert 0.2 < found[figure].likely / real < 5, figure
        assert real <= found[figure].most * 1.3, figure


def test_times_of_scenarios_are_in_the_order_of_their_estimates() -> None:
    sizes = [bench_cases.permutation(hosts, "100KB") for hosts in (16, 256, 1024)]
    found = [estimate_of(build_scenario(raw, Path("x.yml")))["time"].likely for raw in sizes]
    assert found == sorted(found)


# ===== admission =====


def _shipped() -> list[Path]:
    folder = shipped.folder("scenarios")
    return sorted(
        path
        for path in [*folder.rglob("*.yml"), *(ROOT / "playbooks").rglob("scenario.yml")]
        if path.name != "corpus.yml" and path.parent.name != "jobs"  # jobs are parts of scenarios
    )


@pytest.mark.parametrize("file", _shipped(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_scenario_that_comes_with_the_package_is_asked_about_on_a_small_machine(file: Path, tmp_path: Path) -> None:
    check = Admission(file.name, tmp_path, machine=lambda: machine_with(2_000_000_000))
    assert check.objections(estimate_of(load_scenario(file))) == []


@pytest.mark.parametrize("name", bench_cases.NAMES)
def test_no_measurement_is_asked_about(name: str, tmp_path: Path) -> None:
    check = Admission(name, tmp_path, machine=lambda: machine_with(4_000_000_000))
    assert check.objections(estimate_of(build_scenario(bench_cases.named(name), Path("x.yml")))) == []


@pytest.mark.parametrize("name", GOLDENS)
def test_no_golden_is_asked_about(name: str, tmp_path: Path) -> None:
    check = Admission(name, tmp_path, machine=lambda: machine_with(2_000_000_000))
    assert check.objections(estimate_of(build_scenario(tree_of(name)[0], Path("x.yml")))) == []


def test_too_many_messages_for_the_memory_are_refused_with_the_repeat_that_fits() -> None:
    many = [{"kind": "all-to-all", "size": "1KB", "repeat": 800, "interval": "20us"}]
    error = refusal(scenario_of(workload=many), machine=lambda: machine_with(6_000_000_000))
    [problem] = error.problems
    assert error.exit_code == 2
    assert problem.path == "big.yml: workload[0].repeat"
    fits = int(problem.hint.removeprefix("repeat: "))
    assert 20 < fits < 300
    fewer = [{**many[0], "repeat": fits}]
    assert not Admission("x", machine=lambda: machine_with(6_000_000_000)).objections(
        estimate_of(scenario_of(workload=fewer))
    )


def test_too_many_samples_are_refused_with_the_interval_that_fits() -> None:
    [problem] = refusal(
        scenario_of(telemetry={"interval": "1ns"}, workload=[{"kind": "permutation", "size": "500MB"}])
    ).problems
    assert problem.path == "big.yml: telemetry.interval"
    assert f"{MAX_SAMPLES:,}" in problem.text
    assert problem.hint.startswith("interval: ")


def test_a_sampling_interval_below_the_clock_of_the_series_is_refused() -> None:
    with pytest.raises(InputErrors, match=r"telemetry\.interval: 999ps is shorter than the resolution"):
        scenario_of(telemetry={"interval": "999ps"})


def test_a_duration_that_is_never_reached_is_no_reason_to_refuse(tmp_path: Path) -> None:
    scenario = scenario_of(
        run={"duration": "500s"}, telemetry={"interval": "1us"}, workload=[{"kind": "permutation", "size": "1MB"}]
    )
    assert Admission("big.yml", tmp_path).objections(estimate_of(scenario)) == []


def test_traffic_that_there_is_no_time_for_is_not_counted() -> None:
    load = [{"kind": "permutation", "size": "1GB"}]
    whole, cut = (estimate_of(scenario_of(workload=load, run={"duration": duration})) for duration in ("1s", "8ms"))
    assert cut["packet-hops"].likely == pytest.approx(whole["packet-hops"].likely / 10, rel=0.01)


def test_messages_of_0_bytes_are_refused_without_a_warning() -> None:
    empty = {"kind": "messages", "messages": [{"src": "host1", "dst": "host2", "size": "0B"}]}
    with np.errstate(all="raise"), pytest.raises(InputErrors, match="has 0 bytes"):
        compile_scenario(scenario_of(workload=[empty]))


def test_bitmaps_of_selective_repeat_are_no_larger_than_what_is_sent() -> None:
    def memory(window: str) -> float:
        return estimate_of(scenario_of(transport={"recovery": "selective", "window": window}))["memory"].likely

    assert memory("1GB") == memory("4294967296GiB")


def test_a_long_run_is_asked_about_and_yes_is_an_answer() -> None:
    scenario = scenario_of(
        workload=[{"kind": "permutation", "size": "300GB"}], run={"duration": "60s"}, telemetry={"interval": "1s"}
    )
    [problem] = refusal(scenario).problems
    assert problem.path == "big.yml: workload[0].size"
    assert "--yes" in problem.hint
    asked: list[Any] = []

    def yes(problems: Any) -> bool:  # noqa: ANN401  what is asked
        asked.extend(problems)
        return True

    Admission("big.yml", confirm=yes)(estimate_of(scenario))
    assert asked
    with pytest.raises(InputErrors, match="likely to take"):
        Admission("big.yml", confirm=lambda _: False)(estimate_of(scenario))
    assert Admission("big.yml", paced=True).objections(estimate_of(scenario)) == []


STREAM = {"kind": "datagrams", "senders": ["host1"], "receivers": ["host20"], "rate": "100G", "frame": "64B"}
SCAN = {"kind": "arp", "targets": "nobody"}


@pytest.mark.parametrize(
    ("entry", "place", "remedy"),
    [
        ({**STREAM, "stop": "400s"}, "workload[0].stop", "end "),
        ({**STREAM, "count": 10**9, "senders": [f"host{it}" for it in range(1, 17)]}, "workload[0].count", "count: "),
        ({**SCAN, "interval": "1us", "stop": "400s"}, "workload[0].interval", "interval: "),
    ],
)
def test_a_long_run_of_datagrams_or_requests_is_asked_about_where_their_number_is(
    entry: dict[str, Any], place: str, remedy: str
) -> None:
    changes = {"run": {"duration": "400s"}, "telemetry": {"interval": "1s"}}
    if entry["kind"] == "arp":
        changes["vxlan"] = {}
    [problem] = refusal(scenario_of(workload=[entry], **changes)).problems
    assert problem.path == f"big.yml: {place}"
    assert problem.hint.startswith(remedy)


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"kind": "incast", "receiver": "host1", "senders": ["host2"], "size": "1024GiB"}, "size"),
        ({"kind": "messages", "messages": [{"src": "host1", "dst": "host2", "size": "4096GiB"}]}, "messages"),
        ({"kind": "messages", "file": "large.csv"}, "file"),
        ({"kind": "poisson", "sizes": "fixed", "size": "1024GiB", "load": 1.0, "stop": "400s"}, "size"),
        ({"kind": "poisson", "sizes": "file", "cdf": "large.txt", "load": 1.0, "stop": "400s"}, "cdf"),
    ],
)
def test_more_packets_than_a_queue_pair_can_number_are_refused_where_the_size_is(
    entry: dict[str, Any], place: str, tmp_path: Path
) -> None:
    (tmp_path / "large.csv").write_text("id,src,dst,size_bytes,start_ns\na,host1,host2,4398046511104,0\n")
    (tmp_path / "large.txt").write_text("1 0\n4398046511104 100\n")
    longest = {"telemetry": {"interval": "100s"}, "run": {"duration": "400s"}}
    scenario = build_scenario(
        {**BIG, **longest, "workload": [entry], "transport": {"mtu": "256B"}}, tmp_path / "big.yml"
    )
    problems = refusal(scenario, confirm=lambda _: True).problems
    numbered = [problem for problem in problems if "can be numbered" in problem.text]
    assert [problem.path for problem in numbered] == [f"big.yml: workload[0].{place}"]


def test_a_fabric_that_does_not_fit_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = scenario_of(
        topology={
            "kind": "leaf-spine",
            "leaves": 1024,
            "spines": 64,
            "hosts_per_leaf": 64,
            "host_rate": "100G",
            "fabric_rate": "100G",
        }
    )
    monkeypatch.setattr("fabric.scenario.compile.scenario.build_topology", lambda *_: pytest.fail("it was built"))
    with pytest.raises(InputErrors, match=r"topology\.leaves: the run takes at least") as caught:
        simulate.prepare(scenario, admit=Admission("big.yml", machine=lambda: machine_with(2_000_000_000)))
    assert caught.value.problems[0].hint.startswith("leaves: ")


def test_a_control_plane_counts(tmp_path: Path) -> None:
    fabric = {
        "kind": "leaf-spine",
        "leaves": 128,
        "spines": 32,
        "hosts_per_leaf": 32,
        "host_rate": "100G",
        "fabric_rate": "100G",
    }
    found = estimate_of(
        scenario_of(topology=fabric, routing="bgp", vxlan={}, workload=[{"kind": "permutation", "size": "1KB"}])
    )
    assert found["routes held"].likely == pytest.approx(34_615_584, rel=0.1)  # docs/performance.md, measured
    alone = estimate_of(scenario_of(topology=fabric, workload=[{"kind": "permutation", "size": "1KB"}]))
    assert 0.6e9 < found["memory"].likely - alone["memory"].likely < 1.6e9  # measured: 0.9 GB
    assert Admission("big.yml", tmp_path, machine=lambda: machine_with(10**10)).objections(found) == []


def test_an_admitted_scenario_is_not_compiled_where_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabric.scenario.compile.scenario._asic", lambda *_: pytest.fail("messages were made"))

    def never(_: Estimate) -> None:
        raise InputErrors("estimating the run", [])

    with pytest.raises(InputErrors):
        compile_scenario(scenario_of(), never)


# ===== the machine =====


def test_the_least_limit_of_control_groups_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "cgroup" / "outer" / "inner"
    inner.mkdir(parents=True)
    for folder, most, used in ((inner, "max", "10"), (inner.parent, "3000000", "1000000")):
        (folder / "memory.max").write_text(f"{most}\n")
        (folder / "memory.current").write_text(f"{used}\n")
    (inner.parent / "memory.stat").write_text("anon 5\ninactive_file 250000\n")
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text("0::/outer/inner\n")
    (proc / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    8000 kB\n")
    monkeypatch.setattr(machines, "_PROC", proc)
    monkeypatch.setattr(machines, "_CGROUP", tmp_path / "cgroup")
    memory = machines.machine().memory
    assert memory is not None
    assert memory.free_bytes == 3_000_000 - 1_000_000 + 250_000
    assert "outer/memory.max" in memory.name
    (inner.parent / "memory.max").write_text("max\n")
    memory = machines.machine().memory
    assert memory is not None
    assert memory.free_bytes == 8000 * 1024


def test_space_is_that_of_the_file_system_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    here, beyond = machines.disk(tmp_path), machines.disk(tmp_path / "a" / "b")
    assert here is not None
    assert beyond is not None
    assert beyond.name == here.name
    assert beyond.free_bytes > 0


# ===== the command line =====


def test_estimate_prints_every_figure_and_simulates_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "incast", "--estimate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "starts"
    assert {"messages", "packet-hops", "samples", "series rows", "disk", "memory", "time"} <= found["figures"].keys()
    assert all(it["least"] <= it["likely"] <= it["most"] and it["how"] for it in found["figures"].values())
    assert main(["run", "incast", "--estimate"]) == 0
    assert "it would start" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_estimate_of_a_refused_run_exits_1_with_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "incast", "--set", "telemetry.interval=1ns", "--estimate"]) == 1
    assert "telemetry.interval: at least" in capsys.readouterr().out


@pytest.mark.parametrize(
    "verb",
    [["run", "incast"], ["serve", "incast", "--listen", "127.0.0.1:0"], ["playbook", "run", "incast"]],
    ids=lambda words: words[0],
)
def test_every_verb_that_simulates_refuses(
    verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for extra in ([], ["--yes"]):
        assert main([*verb, "--set", "telemetry.interval=1ns", "--out", str(tmp_path / "run"), *extra]) == 2
        assert "telemetry.interval: at least" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_question_without_a_terminal_is_a_refusal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabric.scenario.estimate.admission.LONG_S", 0.001)
    assert main(["run", "incast", "--out", str(tmp_path / "run")]) == 2
    assert "or confirm with --yes" in capsys.readouterr().err
    assert main(["run", "incast", "--out", str(tmp_path / "run"), "--quiet", "--yes"]) == 0


def test_memory_that_runs_out_later_is_reported_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("fabric.runs.simulate.compile_scenario", exhausted)
    assert main(["run", "incast", "--estimate"]) == 0
    assert main(["run", "incast", "--out", "nowhere"]) == 2
    output = capsys.readouterr().err
    assert "not enough memory" in output
    assert "--estimate" in output
    assert "Traceback" not in output


def test_datagrams_count_as_hops_and_fill_the_time_of_the_run() -> None:
    entry = {"kind": "datagrams", "senders": ["host1"], "receivers": ["host20"], "rate": "10G", "frame": "1000B"}
    for more, made in (({"count": 700}, 700), ({"stop": "300us"}, 368)):
        scenario = scenario_of(workload=[{**entry, **more}], run={"duration": "1ms"})
        found = estimate_of(scenario).figures
        compiled = compile_scenario(scenario)
        engine = Emulator(compiled.fabric, compiled.params)
        engine.advance(compiled.duration_ps)
        assert int(engine.state.streams["sent_pkts"].sum()) == made
        assert found["packet-hops"].likely == engine.packet_hops == 4 * made
        assert found["simulated time"].least <= int(engine.state.rstreams["last_ps"].max()) + 10**6
        assert "datagrams" in found["packet-hops"].how
    cut = estimate_of(scenario_of(workload=[{**entry, "count": 10**9}], run={"duration": "1ms"})).figures
    assert cut["packet-hops"].likely < 5_000
