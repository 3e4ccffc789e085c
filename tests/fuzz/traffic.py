"""Workloads of every kind: few messages, small ones, also from files."""

from __future__ import annotations

from typing import Any, Final

from fabric.collectives.operations import OPERATIONS
from fabric.collectives.registry import ALGORITHMS
from fabric.jobs.spec import ModelSpec
from fabric.topology.model import STORAGE_GROUP
from fabric.units import PS_PER_S, parse_size_bytes, parse_time_ps
from fabric.workload.spec import (
    AllToAllSpec,
    ArpSpec,
    CollectiveSpec,
    DatagramsSpec,
    IncastSpec,
    InferenceLoad,
    JobLoad,
    MessageLoad,
    MessageSpec,
    MessagesSpec,
    PermutationSpec,
    PoissonSpec,
    TraceSpec,
    _Starting,
)
from tests.fuzz.filling import World, exclusive, fill, moment, of, one_of, time, whole, within

_MESSAGES: Final = (MessagesSpec, IncastSpec, PermutationSpec, AllToAllSpec, PoissonSpec)
_KINDS: Final = (*_MESSAGES, CollectiveSpec, TraceSpec, JobLoad, InferenceLoad)
_JOB: Final = """model: {name: tiny, layers: 2, hidden: 64, feed_forward: 128, heads: 2, vocabulary: 256, sequence: 64}
gpus: 2
gpus_per_node: NODE
parallel: {LAYOUT: 2}
batch: {sequence: 64, micro_batches: 2}
compute: {layer_forward: 1us, layer_backward: 2us}
"""
_GOAL: Final = (
    "num_ranks 2\nrank 0 {\na: calc 700\nb: send 9000b to 1\nb requires a\n}\nrank 1 {\nrecv 9000b from 0\n}\n",
    "num_ranks 2\nrank 0 {\nsend 0b to 1 tag 3\n}\nrank 1 {\nrecv 0b from -1 tag -1\n}\n",
)
_SIMAI: Final = """HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 2
1
block -1 700 OPERATION 9000 1 NONE 0 300 NONE 0 5
"""
_SIZES: Final = ("20KB", "1B", "1000B", "4097B", "60000B", "150KB")


def workload(world: World) -> list[dict[str, Any]]:
    """One to three entries with different names; ARP where there is an overlay."""
    groups = [group for group in world.groups if len(group) > 1] or world.groups
    ends = apart(world) if world.overlay else None
    found = (
        []
        if ends is None
        else [
            fill(
                world,
                MessagesSpec,
                {
                    "name": "apart",
                    "priority": None,
                    "file": None,
                    "messages": [
                        fill(world, MessageSpec, {"src": ends[0], "dst": ends[1], "after": None, "delay": None})
                    ],
                },
            )
        ]
    )
    for number in range(world.choose.integer(1, 3)):
        one_port = all(host.n_ports == 1 for host in world.fabric.hosts)
        if world.overlay and one_port and number and world.choose.chance(40):
            found.append(_arp(world, groups))
            continue
        if not world.ns3_rdma and number and world.choose.chance(15) and (load := _datagrams(world, groups)):
            found.append(load)
            continue
        model = world.choose.pick(_MESSAGES if world.ns3_rdma else _KINDS)
        if model is JobLoad and len(_gpus(world)) < 2:
            model = PermutationSpec
        group = world.choose.pick(groups)
        fixed: dict[str, Any] = {"priority": None} if world.ns3_rdma else {}
        if number:
            fixed["name"] = f"load{number}"
        if model is MessagesSpec:
            found.append(_messages(world, group, fixed))
        elif model is IncastSpec:
            receiver = world.choose.pick(group)
            fixed |= {"receiver": receiver, "senders": None, "fan_in": None}
            if group == world.hosts and world.choose.chance(50):
                fixed["fan_in"] = world.choose.integer(1, len(group) - 1)
            else:
                fixed["senders"] = _names(world, [host for host in group if host != receiver], 1)
            found.append(fill(world, model, fixed))
        elif model is PermutationSpec:
            hosts = _names(world, group, 2)
            fixed |= {"hosts": hosts, "shift": None}
            if world.choose.chance(50):
                count = len(group) if hosts == ["*"] else len(hosts)
                fixed["shift"] = world.choose.integer(1, count - 1) + count * world.choose.integer(0, 1)
            found.append(fill(world, model, fixed))
        elif model is CollectiveSpec:
            found.append(_collective(world, group, fixed))
        elif model is InferenceLoad:
            hosts = world.choose.some(group, 2)
            half = len(hosts) // 2
            gpus = half if world.choose.chance(30) else 1
            ends = hosts[: half * 2 if gpus > 1 else len(hosts)]
            fixed |= {"gpus": gpus, "prefill_hosts": ends[:half], "decode_hosts": ends[half:]}
            found.append(fill(world, model, fixed))
        else:
            fixed["hosts"] = _names(world, group, 2)
            if model is TraceSpec:
                fixed |= _trace(world)
            if model is JobLoad:
                if any(load["kind"] == "job" for load in found):  # its nodes may be too few for a second one
                    continue
                fixed |= {"job": f"job{world.number()}.yml", "hosts": ["*"]}
                fixed |= _placement(world)
                fixed |= _storage(world, fixed["job"])
            found.append(fill(world, model, fixed))
    return found


def _trace(world: World) -> dict[str, Any]:
    """Messages, or a collective operation by an algorithm that has it."""
    choose, file = world.choose, f"trace{world.number()}.goal"
    plain = {"file": file, "algorithms": None, "ranks_per_node": None, "generation": None}
    if choose.chance(50):
        world.files[file] = choose.pick(_GOAL)
        return plain
    operation = choose.pick(("all-reduce", "all-gather", "reduce-scatter", "all-to-all"))
    world.files[file] = _SIMAI.replace("OPERATION", operation.replace("-", "").upper())
    if choose.chance(20):  # refused: the trace has none, or NCCL's model does not know two GPUs
        chosen = choose.pick(
            (
                {"broadcast": "ring"},
                {"reduce": "ring"},
                {"scatter": "direct"},
                {"gather": "direct"},
                {operation: "auto"},
            )
        )
        generation = choose.pick(("volta", "ampere", "hopper", "blackwell")) if "auto" in chosen.values() else None
        return {**plain, "algorithms": chosen, "generation": generation}
    able = [name for name, item in ALGORITHMS.items() if operation in item.operations]
    return {**plain, "algorithms": {operation: choose.pick(able)}, "ranks_per_node": choose.pick((None, 1, 2))}


def _gpus(world: World) -> list[str]:
    """Hosts that are no storage nodes."""
    return [host.name for host in world.fabric.hosts if host.group != STORAGE_GROUP]


def _placement(world: World) -> dict[str, Any]:
    """A policy, or a file for two ranks."""
    rails = ("rail-aligned",) if "-gpu" in world.hosts[0] else ()
    policy = world.choose.pick((None, "packed", "spread", "random", "file", "slurm", *rails))
    nodes = list(dict.fromkeys(host.rpartition("-gpu")[0] or host for host in _gpus(world)))
    told: dict[str, Any] = {"placement": policy, "placement_file": None, "distribution": None}
    if policy == "file":
        told["placement_file"] = f"ranks{world.number()}.csv"
        second = f"1,{nodes[0]},1" if _in_node(world) > 1 else f"1,{nodes[1]},0"
        world.files[told["placement_file"]] = f"rank,node,gpu\n0,{nodes[0]},0\n{second}\n"
    if policy == "slurm":
        told["placement_file"] = f"topology{world.number()}.conf"
        told["distribution"] = world.choose.pick((None, "block", "cyclic"))
        world.files[told["placement_file"]] = f"SwitchName=s0 Nodes={','.join(nodes)}\n"
    return told


def _in_node(world: World) -> int:
    """GPUs of a node: hosts X-gpu1, X-gpu2 ... are one."""
    first = world.hosts[0].rpartition("-gpu")
    return sum(host.startswith(f"{first[0]}-gpu") for host in world.hosts) if first[1] else 1


def _storage(world: World, job: str) -> dict[str, Any]:
    """The job's file, which writes or reads where there are nodes for it."""
    text = _job(world)
    nodes = [host.name for host in world.fabric.storage_nodes]
    if len(world.groups) > 1 or not nodes or world.choose.chance(50):
        world.files[job] = text
        return {"storage": None}
    mode = world.choose.pick(("sync", "async"))
    text += f"storage: {{checkpoint: {{every: 1, mode: {mode}}}, dataset: {{bytes_per_token: 8}}}}\n"
    world.files[job] = text
    return {"storage": world.choose.pick((None, nodes[:1]))}


def _job(world: World) -> str:
    """Two ranks."""
    return _JOB.replace("LAYOUT", world.choose.pick(("tp", "pp", "dp"))).replace("NODE", str(_in_node(world)))


def admit(written: dict[str, Any]) -> None:
    """A queue has jobs, and time limits have a queue."""
    jobs = [load for load in written["workload"] if load["kind"] == "job"]
    if not jobs:
        written.pop("admission", None)
    if "admission" not in written:
        for job in jobs:
            job.pop("time_limit", None)


def tenants_of_jobs(world: World, written: dict[str, Any]) -> None:
    """Sometimes a job alone, between leaves, which is a separate tenant."""
    if "tenants" in written["vxlan"] or _in_node(world) > 1 or len(_gpus(world)) < 2 or not world.choose.chance(15):
        return
    leaves = {world.fabric.peer_of(host.first_port).id for host in world.fabric.hosts if host.name in _gpus(world)}
    if len(leaves) < 2:
        return
    name = f"job{world.number()}.yml"
    world.files[name] = _job(world)
    written["workload"] = [{"kind": "job", "job": name, "placement": "spread"}]
    written["vxlan"] = {**written["vxlan"], "job_vni": 20_000}
    written["vxlan"].pop("arp_suppression", None)
    written.pop("admission", None)


def _collective(world: World, group: list[str], fixed: dict[str, Any]) -> dict[str, Any]:
    """An operation by an algorithm that has it, with the options that the algorithm takes."""
    choose = world.choose
    hosts = _names(world, group, 2)
    n = len(group) if hosts == ["*"] else len(hosts)
    n = choose.integer(2, min(n, 9))
    name = choose.pick(tuple(ALGORITHMS))
    item = ALGORITHMS[name]
    if item.needs_nodes:
        if n < 4:
            name, item = "ring", ALGORITHMS["ring"]
        else:
            n -= n % 2
    operation = choose.pick(item.operations)
    if operation in item.power_of_two:
        n = 1 << n.bit_length() - 1
    rooted = OPERATIONS[operation].has_root
    told: dict[str, Any] = {
        **fixed, "hosts": hosts, "operation": operation, "algorithm": name, "ranks": n,
        "root": choose.integer(0, n - 1) if rooted else 0,
        "channels": choose.integer(1, 3) if item.channels else 1,
        "chunk": choose.pick((None, "512B", "2KB")) if item.pieces else None,
        "ranks_per_node": 2 if item.needs_nodes else None, "generation": None,
        "matrix": None, "skew": None, "exponent": None, "lockstep": choose.pick((None, False)),
    }  # fmt: skip
    if operation == "all-to-all-v" and choose.chance(50):
        told |= {"skew": choose.pick(("zipf", "dirichlet")), "exponent": choose.pick((0.5, 2.0))}
    elif operation == "all-to-all-v":
        told["matrix"] = f"sizes{world.number()}.csv"
        world.files[told["matrix"]] = ",".join("70" for _ in range(n)) + "\n"
    if item.channels and operation not in {"broadcast", "reduce"} and choose.chance(20):
        told |= {"channels": 2, "chunk": None, "lockstep": True}
    if world.choose.chance(10):  # NCCL's model chooses, for an all-reduce on whole nodes of one GPU
        generation = choose.pick(("volta", "ampere", "hopper", "blackwell"))
        told |= {"algorithm": "auto", "operation": "all-reduce", "generation": generation, "ranks_per_node": 1}
        told |= {"matrix": None, "skew": None, "exponent": None, "lockstep": None}
    return fill(world, CollectiveSpec, told)


def apart(world: World) -> tuple[str, str] | None:
    """Two hosts of one group behind different leaves: an overlay needs a message between such."""
    leaf = {host.name: world.fabric.peer_of(host.first_port).id for host in world.fabric.hosts}
    return next(((a, b) for group in world.groups for a in group for b in group if leaf[a] != leaf[b]), None)


def _names(world: World, group: list[str], least: int) -> list[str]:
    if group == world.hosts and world.choose.chance(60):
        return ["*"]
    return world.choose.some(group, least)


def _arp(world: World, groups: list[list[str]]) -> dict[str, Any]:
    group = world.choose.pick(groups)
    fixed: dict[str, Any] = {"name": f"arp{world.number()}", "hosts": _names(world, group, 2)}
    fixed["targets"] = world.choose.pick(("nobody", group))
    return fill(world, ArpSpec, fixed)


def _datagrams(world: World, groups: list[list[str]]) -> dict[str, Any] | None:
    """From one half of a group's NICs to the other; None where the hosts have none."""
    fabric = world.fabric
    able = [name for name in world.choose.pick(groups) if name not in world.silent]
    first = next(iter(able), None)
    if first is None or len(able) < 2 or not fabric.network_ports(fabric.by_name[first].id):
        return None
    half = len(able) // 2
    ends = {"senders": able[:half], "receivers": able[half : 2 * half]}
    if not all(_joined(world, a, b) for a, b in zip(ends["senders"], ends["receivers"], strict=True)):
        return None
    return fill(world, DatagramsSpec, {"name": f"datagrams{world.number()}", **ends})


def _joined(world: World, a: str, b: str) -> bool:
    """Whether two hosts have NICs on one network."""
    fabric = world.fabric
    networks = [
        {fabric.peer_of(port).network for port in fabric.network_ports(fabric.by_name[name].id)} for name in (a, b)
    ]
    return bool(networks[0] & networks[1])


def _messages(world: World, group: list[str], fixed: dict[str, Any]) -> dict[str, Any]:
    """A list of messages, some of which wait for others; or the same as CSV."""
    choose = world.choose
    rows: list[dict[str, Any]] = []
    for number in range(choose.integer(1, 6)):
        src = choose.pick(group)
        dst = choose.pick([host for host in group if host != src])
        fields: dict[str, Any] = {"src": src, "dst": dst, "id": f"m{number}", "after": None, "delay": None}
        if world.ns3_rdma:
            fields["priority"] = None
        before = [row["id"] for row in rows if src in {row["src"], row["dst"]}]
        if before and choose.chance(40):
            fields["after"] = choose.some(before, 1, 2)
            fields["delay"] = choose.pick((None, "0s", "1us", "3ns"))
        rows.append(fill(world, MessageSpec, fields))
    if choose.chance(30):
        name = f"messages{world.number()}.csv"
        world.files[name] = _csv(world, rows)
        return fill(world, MessagesSpec, {**fixed, "messages": None, "file": name})
    return fill(world, MessagesSpec, {**fixed, "messages": rows, "file": None})


def _csv(world: World, rows: list[dict[str, Any]]) -> str:
    lines = ["id,src,dst,size_bytes,start_ns,priority,after,delay_ns"]
    for row in rows:
        delay = world.choose.integer(0, 2000) if row.get("after") else 0
        lines.append(
            ",".join(
                map(
                    str,
                    (
                        row["id"],
                        row["src"],
                        row["dst"],
                        world.choose.pick((1, 999, 20_000, 4096)),
                        moment(world) // 1000,
                        row.get("priority", ""),
                        " ".join(row.get("after", ())),
                        delay,
                    ),
                )
            )
        )
    return "\n".join(lines) + "\n"


def _repeats(world: World, written: dict[str, Any]) -> None:
    if written.get("repeat", 1) == 1:
        written.pop("interval", None)
        return
    first = moment(world, 0, world.duration_ps // 2)
    written["start"] = time(first)
    left = world.duration_ps - 1 - first
    interval = max(left // (2 * written["repeat"]), 1)
    written["interval"] = time(interval)
    written["jitter"] = time(world.choose.pick((0, 1, interval)))


def _late(world: World, written: dict[str, Any]) -> None:
    """The last jittered message starts before the end."""
    if written.get("repeat", 1) == 1 and "jitter" in written:
        written["start"] = time(moment(world, 0, world.duration_ps // 2))
        written["jitter"] = time(world.choose.pick((0, 1, world.duration_ps // 3)))


def _window(world: World, written: dict[str, Any]) -> None:
    first = moment(world, 0, world.duration_ps // 2)
    last = moment(world, first + max(world.duration_ps // 4, 1), world.duration_ps)
    written["stop"] = time(last)
    if first or "start" in written:
        written["start"] = time(first)
    if "interval" in written:
        span = last - (first if "start" in written else 0)
        written["interval"] = time(max(span // world.choose.integer(1, 6), 1))


def _steady(world: World, written: dict[str, Any]) -> None:
    """A few hundred datagrams at most, and an end after the start."""
    if "rate" not in written and "load" not in written:
        written["rate"] = "1G"
    if "count" not in written and "stop" not in written:
        written["count"] = 5
    if "stop" in written:
        first = moment(world, 0, world.duration_ps // 2)
        written |= {"start": time(first), "stop": time(min(first + 4_000_000, world.duration_ps))}


def _sizes(world: World, written: dict[str, Any]) -> None:
    written.pop("cdf", None)
    written.pop("size", None)
    if written["sizes"] == "file":
        name = f"sizes{world.number()}.cdf"
        world.files[name] = world.choose.pick(
            ("0 0\n1000 50\n20000 100\n", "1000 0\n1000 100\n", "# sizes\n100 0\n5000 100\n")
        )
        written["cdf"] = name
    if written["sizes"] == "fixed":
        written["size"] = world.choose.pick(_SIZES)
    # A few expected messages for any window: seldom none, never thousands.
    mean = {"websearch": 1_700_000, "fb-hadoop": 120_000, "file": 1000}.get(written["sizes"])
    mean_bytes = parse_size_bytes(written["size"]) if mean is None else mean
    hosts = [host for host in world.fabric.hosts if written["hosts"] == ["*"] or host.name in written["hosts"]]
    rate_bps = sum(world.fabric.links[world.fabric.ports[port].link].rate_bps for host in hosts for port in host.ports)
    if len({world.fabric.peer_of(host.first_port).id for host in hosts}) == 1:
        written.pop("destinations", None)
    window_s = (parse_time_ps(written["stop"]) - parse_time_ps(written.get("start", 0))) / PS_PER_S
    wanted = world.choose.pick((10, 30, 60))
    written["load"] = min(float(f"{wanted * mean_bytes * 8 / (rate_bps * window_s):.2g}"), 1.0)


def _served(world: World, written: dict[str, Any]) -> None:
    """Requests from a file or by a rate; limits together; a model whose experts are given together."""
    if written.get("requests_file"):
        written["requests_file"] = f"requests{world.number()}.csv"
        world.files[written["requests_file"]] = "arrival_us,prompt_tokens,output_tokens\n0,16,3\n1,5,1\n"
        for field in ("rate", "count", "prompt", "output", "length_variation"):
            written.pop(field, None)
        written["start"] = "0ns"
    else:
        written |= {"rate": 1e9, "count": world.choose.integer(1, 3), "prompt": 16, "output": 3}
    if ("ttft_limit" in written) != ("tpot_limit" in written):
        written |= {"ttft_limit": "1ms", "tpot_limit": "1us"}
    if written["gpus"] == 1:
        written.pop("all_reduce", None)
    model = written["model"]
    if ("experts" in model) != ("experts_per_token" in model):
        model |= {"experts": 2, "experts_per_token": 1}


of(MessageLoad, 30, name=lambda world: f"w{world.number()}", priority=one_of(3, 0, 4, 6, 7))
of(
    _Starting,
    30,
    [_repeats, _late],
    start=within(),
    repeat=one_of(2, 1, 3, 5),
    interval=one_of("1us"),
    jitter=one_of("0s"),
)
of(IncastSpec, 30, receiver=one_of(""), senders=lambda _: ["*"], fan_in=whole(1, 2), size=one_of(*_SIZES))
of(PermutationSpec, 30, hosts=lambda _: ["*"], size=one_of(*_SIZES), shift=whole(1, 3))
of(AllToAllSpec, 30, hosts=lambda _: ["*"], size=one_of(*_SIZES[:4]))
of(
    CollectiveSpec,
    30,
    operation=one_of("all-reduce"),
    algorithm=one_of("ring"),
    hosts=lambda _: ["*"],
    ranks=whole(2, 4),
    size=one_of("1000B", "4097B", "20KB"),
    element=one_of(1, 2, 4, 8),
    root=one_of(0),
    channels=one_of(1),
    chunk=one_of("2KB"),
    ranks_per_node=one_of(1),
    generation=one_of("hopper"),
    matrix=one_of(""),
    exponent=one_of(0.5, 2.0),
    queue_pairs=one_of(1, 2, 3),
    send_latency=one_of("0s", "100ns"),
    reduction_rate=one_of("1600G"),
    start=within(),
    repeat=one_of(1, 2),
    warm_up=one_of(0, 1),
)
of(
    PoissonSpec,
    30,
    [_window, _sizes],
    hosts=lambda _: ["*"],
    cdf=one_of(""),
    size=one_of(*_SIZES),
    load=one_of(0.5),
    start=within(),
    stop=within(),
)
of(
    MessageSpec,
    30,
    id=one_of("m"),
    src=one_of(""),
    dst=one_of(""),
    size=one_of(*_SIZES),
    start=within(),
    priority=one_of(3, 0, 4, 6),
    after=lambda _: [],
    delay=one_of("1us"),
)
of(
    JobLoad,
    30,
    job=one_of("job.yml"),
    steps=one_of(1, 2),
    hosts=lambda _: ["*"],
    placement_file=one_of("ranks.csv"),
    storage=lambda _: ["storage*"],
    overrides=lambda _: ["batch.micro_batches=2"],
    arrival=within(),
    time_limit=one_of("1ms"),
)
of(
    ModelSpec,
    40,
    name=one_of("m"),
    layers=whole(1, 2),
    hidden=one_of(64),
    feed_forward=one_of(128),
    heads=one_of(4),
    kv_heads=one_of(2, 4),
    vocabulary=one_of(256),
    sequence=one_of(64),
    experts=one_of(2),
    experts_per_token=one_of(2),
)
of(
    InferenceLoad,
    40,
    [_served],
    model=lambda world: fill(world, ModelSpec),
    gpus=one_of(1),
    prefill_hosts=lambda _: ["*"],
    decode_hosts=lambda _: ["*"],
    batch=whole(1, 3),
    rate=one_of(1e9),
    count=whole(1, 3),
    prompt=whole(1, 64),
    output=whole(1, 3),
    length_variation=one_of(0.5),
    requests_file=one_of("requests.csv"),
    utilisation=one_of(0.5),
    memory_share=one_of(0.7),
    all_reduce=one_of("5us"),
    ttft_limit=one_of("1ms"),
    tpot_limit=one_of("1us"),
    start=lambda world: time(moment(world, 0, world.duration_ps // 2)),
)
of(
    TraceSpec,
    30,
    file=one_of("t.goal"),
    hosts=lambda _: ["*"],
    repeat=one_of(1, 3),
    algorithms=one_of({"all-reduce": "ring"}),
    ranks_per_node=one_of(2),
    generation=lambda _: None,
)
of(MessagesSpec, 30, [exclusive("messages", "file")], file=one_of("messages.csv"))
of(
    DatagramsSpec,
    40,
    [exclusive("rate", "load"), exclusive("count", "stop"), _steady],
    name=lambda world: f"datagrams{world.number()}",
    senders=lambda _: ["*"],
    receivers=lambda _: ["*"],
    rate=one_of("1G", "333M"),
    load=one_of(0.1, 1.0),
    frame=one_of("70B", "1518B", "576B"),
    dscp=one_of(0, 26, 63),
    start=within(),
    jitter=one_of("0s", "1ns"),
    count=whole(1, 40),
    stop=within(),
)
of(
    ArpSpec,
    30,
    [_window],
    name=lambda world: f"arp{world.number()}",
    hosts=lambda _: ["*"],
    targets=one_of("nobody"),
    interval=one_of("1us"),
    start=within(),
    stop=within(),
)
