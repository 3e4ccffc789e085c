"""`fabric job plan | place | list`: what a training job needs, and where its ranks go, before anything runs."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.cli import job_report
from fabric.cli.job_compare import add_compare, run_compare
from fabric.cli.job_power import add_power, run_job_power
from fabric.cli.job_storage import print_storage
from fabric.cli.options.output import STDOUT, add_out, write_out
from fabric.cli.options.sets import add_sets
from fabric.cli.terminal.tables import print_table
from fabric.errors import InputErrors, Problem
from fabric.jobs.load import LoadedJob
from fabric.jobs.presets import JOBS, MODELS
from fabric.units import (
    PS_PER_S,
    count,
    format_bit_rate,
    format_duration_s,
    format_measured_bytes,
    format_time_ps,
    listed,
)
from fabric.workload.streams import stream

if TYPE_CHECKING:
    from fabric.jobs.placement import Score, Slot
    from fabric.jobs.plan import Plan
    from fabric.topology.model import Fabric

EXIT_FINDING: Final = 1
POLICIES: Final = ("packed", "spread", "random", "rail-aligned", "file", "slurm")
_MAX_BYTES: Final = 64 * 2**20


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the actions and their options."""
    parser.epilog = "examples:\n  fabric job plan llama3-8b\n  fabric job plan job.yml --set parallel.tp=4 --json"
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    plan = actions.add_parser("plan", help="parameters, memory, volumes, bubble, times; exit code 1 if memory is short")
    found = actions.add_parser("list", help="jobs and models that come with the package")
    plan.add_argument("file", metavar="FILE", help="job file (YAML), or a name of `fabric job list`")
    put = actions.add_parser("place", help="ranks on the GPUs of a fabric by a policy, and the score of the placement")
    put.add_argument("file", metavar="FILE", help="job file (YAML), or a name of `fabric job list`")
    put.add_argument(
        "--topology",
        required=True,
        type=Path,
        metavar="SCENARIO",
        help="scenario or file whose `topology:` is the fabric",
    )
    put.add_argument(
        "--policy",
        choices=POLICIES,
        default="packed",
        help="choice of nodes: few leaves (packed, the default), leaves in turn, random, rails, a CSV file, Slurm's",
    )
    put.add_argument(
        "--hosts",
        choices=("gpu", "node"),
        default="gpu",
        help="gpu: each host is a GPU with its NIC (default); node: a host has all GPUs of a node",
    )
    put.add_argument("--seed", type=int, metavar="N", help="of --policy random; the job's where absent")
    put.add_argument("--ranks", type=Path, metavar="FILE", help="with --policy file: CSV of rank,node,gpu")
    put.add_argument("--slurm", type=Path, metavar="FILE", help="with --policy slurm: topology.conf or topology.yaml")
    put.add_argument(
        "--distribution", choices=("block", "cyclic"), help="with --policy slurm: ranks node by node, or in turn"
    )
    add_out(put, "FILE", "write the placement as CSV of rank,node,gpu")
    told = actions.add_parser(
        "report", help="times of the steps of a run's jobs: computing, bubble, exposed communication; --alone: slowdown"
    )
    job_report.add_arguments(told)
    for action in (plan, put):
        add_sets(action, "override a field of the job: --set parallel.tp=4; may be repeated")
    for action in (plan, put, found, told, add_power(actions), add_compare(actions)):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace) -> int:
    """Plan, or list."""
    verbs = {"list": _list, "plan": _plan, "place": _place, "report": _report}
    return (verbs | {"power": run_job_power, "compare": run_compare})[args.action](args)


def _list(args: Namespace) -> int:
    from fabric.jobs.model import parameters  # noqa: PLC0415

    models = [{"name": m.name, "parameters": parameters(m), "source": m.source} for m in MODELS.values()]
    jobs = [{"name": name, "gpus": job["gpus"], "description": job["description"]} for name, job in JOBS.items()]
    if args.json:
        print(json.dumps({"jobs": jobs, "models": models}, indent=1))
        return 0
    print_table("Jobs", (*(">" * (key == "gpus") + key for key in jobs[0]),), [tuple(job.values()) for job in jobs])
    rows = [(m["name"], f"{m['parameters']:,}", m["source"]) for m in models]
    print_table("Models", ("name", ">parameters", "source"), rows)
    return 0


def _plan(args: Namespace) -> int:
    from fabric.jobs.plan import make_plan  # noqa: PLC0415
    from fabric.scenario.job_files import read_job  # noqa: PLC0415

    loaded = read_job(args.file, args.sets)
    plan = make_plan(loaded, partial(stream, loaded.seed))
    if args.json:
        print(json.dumps(plan_json(loaded, plan), indent=1, default=_number))
    else:
        _print(loaded, plan)
    return 0 if plan.fits else EXIT_FINDING


def _place(args: Namespace) -> int:
    from fabric.jobs.placement import placement_csv, score  # noqa: PLC0415

    _check_options(args)
    from fabric.scenario.job_files import read_job  # noqa: PLC0415

    loaded = read_job(args.file, args.sets)
    fabric = _fabric(args.topology)
    slots = _slots(args, loaded, fabric)
    result = score(fabric, slots, loaded.job)
    to_file = args.out is not None and write_out(args.out, placement_csv(slots))
    if args.json:
        ranks = [
            {"rank": n, "node": s.node, "gpu": s.gpu, "host": fabric.nodes[s.host].name} for n, s in enumerate(slots)
        ]
        print(json.dumps({"job": loaded.job.name, "policy": args.policy, **asdict(result), "ranks": ranks}, indent=1))
    elif args.out is None or to_file:
        _print_score(loaded, args.policy, result)
    return 0


def _report(args: Namespace) -> int:
    return job_report.run(args)


def _check_options(args: Namespace) -> None:
    """Options that do nothing with the policy, and those that it needs."""
    owners = {"seed": "random", "ranks": "file", "slurm": "slurm", "distribution": "slurm"}
    problems = [
        Problem(f"--{option}", f"has no effect with --policy {args.policy}", f"remove it, or use --policy {policy}")
        for option, policy in owners.items()
        if getattr(args, option) is not None and args.policy != policy
    ]
    for option, policy in (("ranks", "file"), ("slurm", "slurm")):
        if args.policy == policy and getattr(args, option) is None:
            problems.append(Problem(f"--policy {policy}", f"needs --{option}", f"give --{option} FILE"))
    if args.seed is not None and args.seed < 0:
        problems.append(Problem("--seed", f"{args.seed} is below 0", "give 0 or more"))
    if args.json and args.out == STDOUT:
        problems.append(Problem("--out", "- and --json both write to standard output", "name a file"))
    if problems:
        raise InputErrors("command line", problems)


def _fabric(file: Path) -> Fabric:
    from fabric import shipped  # noqa: PLC0415
    from fabric.scenario.yaml_input import read_yaml  # noqa: PLC0415
    from fabric.topology.registry import build_topology, parse_topology  # noqa: PLC0415

    file = shipped.scenario(file)
    raw = read_yaml(file)
    inner = raw.get("topology", raw if "kind" in raw else None)
    if inner is None:
        hint = "give a file with `topology:`, or a mapping that begins with `kind:`"
        raise InputErrors("command line", [Problem(str(file), "holds no topology", hint)])
    return build_topology(parse_topology(inner, f"{file}: topology"), file.parent)


def _slots(args: Namespace, loaded: LoadedJob, fabric: Fabric) -> list[Slot]:
    from fabric.jobs.placement import nodes_of, place, place_file, place_slurm, read_slurm_topology  # noqa: PLC0415
    from fabric.reading import read_text  # noqa: PLC0415

    job = loaded.job
    nodes = nodes_of(fabric, job.gpus_per_node, args.hosts)
    if args.policy == "file":
        return place_file(read_text(args.ranks, _MAX_BYTES, stage="placing the job"), nodes, job, str(args.ranks))
    if args.policy == "slurm":
        text = read_text(args.slurm, _MAX_BYTES, stage="reading topology.conf")
        topology = read_slurm_topology(text, str(args.slurm))
        return place_slurm(topology, nodes, job, str(args.slurm), cyclic=args.distribution == "cyclic")
    seed = loaded.seed if args.seed is None else args.seed
    return place(args.policy, nodes, job, stream(seed, "job.placement"))


def _print_score(loaded: LoadedJob, policy: str, result: Score) -> None:
    job = loaded.job
    print(
        f"{job.name}, {policy}: {count(job.parallel.n_ranks, 'rank')} on {count(result.nodes, 'node')}, "
        f"{count(result.leaves, 'leaf', 'leaves')}, {count(result.pods, 'pod')}"
    )
    rows = [(kind, *(f"{number:,}" for number in asdict(row).values())) for kind, row in result.crossings.items()]
    columns = ("groups", ">edges", ">in the node", ">under a leaf", ">in the pod", ">between pods")
    print_table("Edges of rings, pairs and pipelines", columns, rows)
    print(
        f"uplinks          {format_measured_bytes(result.uplink_bytes)} a step on each of {result.busiest_leaf}, "
        f"the busiest leaf; mean {format_measured_bytes(result.mean_uplink_bytes)}"
    )
    print(f"at least         {format_time_ps(result.uplink_seconds * PS_PER_S)} a step if flows are spread evenly")


def _number(value: object) -> Any:  # noqa: ANN401  json's own signature
    if isinstance(value, Fraction):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def plan_json(loaded: LoadedJob, plan: Plan) -> dict[str, Any]:
    """The plan as JSON, with the figures that its classes compute."""
    job, tree = loaded.job, asdict(plan)
    for row, stage in zip(tree["stages"], plan.stages, strict=True):
        row["memory"]["total_bytes"] = stage.memory.total_bytes
    for row, each in zip(tree["volumes"], plan.volumes, strict=True):
        row["volume"] |= {
            "rank_bytes_per_step": each.volume.rank_bytes,
            "group_bytes_per_call": each.volume.group_bytes,
        }
    parallel = asdict(job.parallel)
    return {"name": job.name, "model": job.model.name, "gpus": job.parallel.n_ranks, "parallel": parallel, **tree}


def _print(loaded: LoadedJob, plan: Plan) -> None:
    job = loaded.job
    p = job.parallel
    print(f"{job.name}: {job.model.name} on {p.n_ranks:,} GPUs, tp {p.tp}, pp {p.pp}, dp {p.dp}, cp {p.cp}, ep {p.ep}")
    print(f"parameters       {plan.parameters:,}, of them active for a token {plan.active_parameters:,}")
    print(
        f"step             {plan.tokens:,} tokens: {job.global_batch:,} sequences of {job.sequence:,}; "
        f"{job.micro_batches} micro-batches a replica"
    )
    rows = []
    for number, stage in enumerate(plan.stages):
        state = stage.memory.state
        sizes = [state.weights_bytes, state.gradients_bytes, state.optimizer_bytes, stage.memory.activations_bytes]
        sizes.append(stage.memory.total_bytes)
        cells = [format_measured_bytes(size) for size in sizes]
        flying = f"{float(stage.memory.micro_batches_in_flight):g}"
        times = [format_time_ps(stage.forward_ps), format_time_ps(stage.backward_ps)]
        rows.append((str(number), str(stage.layers), f"{stage.parameters:,}", *cells, flying, *times))
    print_table(
        "Each rank of a stage: memory, and time of a micro-batch",
        (
            *(">stage", ">layers", ">parameters", ">weights", ">gradients", ">optimizer", ">activations", ">total"),
            *(">in flight", ">forward", ">backward"),
        ),
        _ranges(rows),
    )
    if job.gpu_memory_bytes:
        verdict = "fits into" if plan.fits else "DOES NOT FIT into"
        print(f"memory           {verdict} {format_measured_bytes(job.gpu_memory_bytes)} a GPU")
    print_table(
        "Sent in a step by each rank",
        ("kind", "operation", "", "stages", ">members", ">size", ">calls", ">bytes", "link"),
        [
            (
                row.volume.kind,
                row.volume.name,
                row.volume.operation,
                _stages(row.stages),
                str(row.volume.members),
                f"{row.volume.size_bytes:,}",
                f"{row.volume.calls:,}",
                f"{row.volume.rank_bytes:,}",
                _link(row.crossing_ratio),
            )
            for row in plan.volumes
        ],
    )
    print_table(
        "Each rank of the busiest stage, in a step",
        ("kind", ">in the node", ">network", ">at least", ">whole job"),
        [
            (
                kind,
                format_measured_bytes(bound.scale_up_bytes),
                format_measured_bytes(bound.network_bytes),
                format_time_ps(bound.seconds * PS_PER_S),
                format_measured_bytes(plan.totals[kind].total_bytes),
            )
            for kind, bound in plan.bounds.items()
        ],
    )
    rates = f"{format_bit_rate(job.links.scale_up_bps)} in the node, {format_bit_rate(job.links.nic_bps)} by the NIC"
    print(f"rates            {rates}")
    if loaded.routing is not None:
        print(
            f"routing          busiest receiver {plan.imbalance_ratio:.3g} times the mean, "
            f"{100 * plan.dropped_ratio:.3g} % dropped"
        )
    share = plan.bubble_ps / plan.step_compute_ps if plan.step_compute_ps else 0.0
    print(f"bubble           {format_time_ps(plan.bubble_ps)}, {100 * share:.3g} % of the step without communication")
    print(f"step, computing  {format_time_ps(plan.step_compute_ps)}")
    print(
        f"step, at least   {format_time_ps(plan.step_bound_ps)} with pipeline transfers and collectives that nothing "
        "hides, without contention"
    )
    if plan.utilisation_ratio:
        seconds = plan.step_bound_ps / PS_PER_S
        reached = plan.model_flop / seconds / p.n_ranks / 10**12
        print(f"utilisation      at most {100 * plan.utilisation_ratio:.3g} % (MFU), {reached:.4g} TFLOP/s a GPU")
    if plan.storage is not None:
        print_storage(job, plan.storage)
    print(f"tokens           {plan.tokens / plan.step_bound_ps * PS_PER_S:,.0f} a second at most", end="")
    print(f"; 10^12 take {format_duration_s(10**12 / plan.tokens * plan.step_bound_ps / PS_PER_S)}")


def _ranges(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Neighbouring rows that differ in their first cell only, as one row '1-14'."""
    found: list[tuple[str, ...]] = []
    for row in rows:
        if found and found[-1][1:] == row[1:]:
            found[-1] = (f"{found[-1][0].partition('-')[0]}-{row[0]}", *row[1:])
        else:
            found.append(row)
    return found


def _stages(stages: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for stage in stages:
        if runs and stage == runs[-1][1] + 1:
            runs[-1][1] = stage
        else:
            runs.append([stage, stage])
    return listed([str(a) if a == b else f"{a}-{b}" for a, b in runs], 4)


def _link(crossing_ratio: float) -> str:
    if crossing_ratio in {0, 1}:
        return "network" if crossing_ratio else "node"
    return f"network {100 * crossing_ratio:.3g} %"
