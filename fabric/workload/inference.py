"""Inference requests on the hosts of a fabric: prefill as computations, and key-value caches as transfers to decode.

Rank j of a prefill instance sends its heads' part of the cache to rank j of the decode instance, layer by layer beside
the computation, or all at once after it. Tokens that are decoded send nothing over the fabric: their all-reduces stay
within an instance, and are part of the iteration's time (fabric/jobs/serving.py).
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.collectives.transfers import Event, OperationGroup, ScheduleEntry, TransferList
from fabric.errors import Problem
from fabric.jobs.checks import model_problems
from fabric.jobs.inference import kv_bytes_per_token, prefill_seconds
from fabric.jobs.load import model_of
from fabric.jobs.presets import GPUS
from fabric.jobs.serving import Requests, Serving, dispatched, poisson_requests
from fabric.units import PS_PER_S
from fabric.workload.batch import Ints, Surroundings
from fabric.workload.beside import read_beside
from fabric.workload.demand import Demand, SpecField, no_demand
from fabric.workload.placed import PlacedTransfers, no_transfers, of_transfers
from fabric.workload.spec import InferenceLoad

_MAX_FILE_BYTES: Final = 16 * 2**20
MAX_REQUESTS: Final = 100_000
MAX_TOKENS: Final = 2**22
DEFAULT_ALL_REDUCE_PS: Final = 10_000_000
"""10 us: of the order of a small all-reduce of 8 GPUs over NVLink with NCCL; assumed."""
_COLUMNS: Final = ["arrival_us", "prompt_tokens", "output_tokens"]
_MOST_LISTED: Final = 10


@dataclass(frozen=True)
class Served:
    """An entry placed on hosts, before its transfers are made."""

    serving: Serving
    requests: Requests
    prefill: Ints
    """(prefill instances, GPUs) NodeIds."""
    decode: Ints
    """(decode instances, GPUs) NodeIds."""
    duration_ps: Ints
    """(n,) prefill of each request."""
    prefill_of: Ints
    """(n,) its prefill instance."""
    decode_of: Ints
    """(n,) its decode instance: in turn."""


def place(spec: InferenceLoad, name: str, path: str, around: Surroundings) -> PlacedTransfers:
    """Operations 'request 0 prefill', 'request 0 cache' and so on."""
    served = served_of(spec, name, path, around)
    return no_transfers() if served is None else _transfers(spec, served)


def demand(spec: InferenceLoad, name: str, path: str, around: Surroundings) -> Demand:
    """That of the transfers, which are made for it."""
    placed = place(spec, name, path, around)
    if not len(placed):
        return no_demand()
    return of_transfers(
        SpecField("count", spec.count or 0, "count"), SpecField("prompt"), placed, len(around.fabric.hosts)
    )


def served_of(spec: InferenceLoad, name: str, path: str, around: Surroundings) -> Served | None:
    """Requests and instances of an entry; None where there are problems, which are reported."""
    before = len(around.problems)
    ends = [around.hosts(getattr(spec, field), f"{path}.{field}") for field in ("prefill_hosts", "decode_hosts")]
    if len(around.problems) > before:
        return None
    for field, hosts in zip(("prefill_hosts", "decode_hosts"), ends, strict=True):
        if len(hosts) % spec.gpus:
            text = f"{len(hosts)} hosts are no multiple of gpus: {spec.gpus}"
            around.problems.append(Problem(f"{path}.{field}", text, "each instance needs as many hosts as gpus"))
    both = np.intersect1d(ends[0], ends[1])
    if len(both):
        text = f"'{around.fabric.nodes[int(both[0])].name}' is among prefill_hosts too"
        around.problems.append(Problem(f"{path}.decode_hosts", text, "name other hosts"))
    around.problems.extend(Problem(f"{path}.{it.path}", it.text, it.hint) for it in model_problems(spec.model))
    requests = _requests(spec, name, path, around)
    if len(around.problems) > before or requests is None:
        return None
    prefill, decode = (hosts.reshape(-1, spec.gpus) for hosts in ends)
    gpu, model = GPUS[spec.gpu], model_of(spec.model)
    serving = Serving(
        model, spec.gpus, len(prefill), len(decode), spec.batch, gpu.peak_flops, spec.utilisation,
        gpu.memory_bytes_per_s, spec.memory_share, spec.cache_bytes,
        DEFAULT_ALL_REDUCE_PS if spec.all_reduce is None else spec.all_reduce,
    )  # fmt: skip
    seconds = [
        prefill_seconds(model, tokens, spec.gpus, gpu.peak_flops, spec.utilisation)
        for tokens in requests.prompt_tokens.tolist()
    ]
    duration = np.rint(np.array(seconds) * PS_PER_S).astype(np.int64)
    turn = np.arange(len(duration), dtype=np.int64) % len(decode)
    return Served(
        serving, requests, prefill, decode, duration, dispatched(requests.arrival_ps, duration, len(prefill)), turn
    )


def _requests(spec: InferenceLoad, name: str, path: str, around: Surroundings) -> Requests | None:
    if spec.requests_file is not None:
        text = read_beside(around.folder / spec.requests_file, _MAX_FILE_BYTES, f"{path}.requests_file")
        return _from_file(text, f"{path}.requests_file, {spec.requests_file}", spec.start, around.problems)
    assert spec.rate is not None  # noqa: S101  checked by the spec
    assert spec.count is not None and spec.prompt is not None and spec.output is not None  # noqa: S101, PT018
    draw = around.random(name, "requests")
    return poisson_requests(spec.rate, spec.count, spec.prompt, spec.output, spec.length_variation, spec.start, draw)


def _from_file(text: str, file: str, start_ps: int, problems: list[Problem]) -> Requests | None:
    """CSV rows of arrival in microseconds, prompt and output tokens."""
    try:
        lines = iter(list(csv.reader(io.StringIO(text))))
    except csv.Error as error:
        problems.append(Problem(file, f"is not CSV: {error}", f"begin with {','.join(_COLUMNS)}"))
        return None
    found: list[tuple[int, int, int]] = []
    wrong: list[Problem] = []
    if [cell.strip() for cell in next(lines, [])] != _COLUMNS:
        wrong.append(
            Problem(f"{file}:1", f"the columns are not {','.join(_COLUMNS)}", f"begin with {','.join(_COLUMNS)}")
        )
    for number, row in enumerate([] if wrong else lines, 2):
        if not row:
            continue
        cells = [cell.strip() for cell in row]
        if len(cells) != len(_COLUMNS) or not all(
            each.isascii() and each.isdigit() and len(each) < 12 for each in cells
        ):
            wrong.append(
                Problem(f"{file}:{number}", f"'{','.join(cells)}' is not three whole numbers", "such as 120,1024,64")
            )
            continue
        arrival, prompt, output = map(int, cells)
        if not 0 < prompt <= MAX_TOKENS or not 0 < output <= MAX_TOKENS:
            text_ = f"{prompt} and {output} tokens are not both from 1 to {MAX_TOKENS:,}"
            wrong.append(Problem(f"{file}:{number}", text_, "correct the numbers"))
        found.append((start_ps + arrival * 10**6, prompt, output))
    if not wrong and not 0 < len(found) <= MAX_REQUESTS:
        wrong.append(Problem(file, f"has {len(found):,} requests", f"give 1 to {MAX_REQUESTS:,}"))
    problems += wrong[:_MOST_LISTED]
    if wrong:
        return None
    columns = np.array(sorted(found), np.int64).reshape(-1, 3).T
    return Requests(*columns)


def _transfers(spec: InferenceLoad, served: Served) -> PlacedTransfers:
    table, names, groups = TransferList(), list[str](), list[OperationGroup]()
    serving, gpus = served.serving, spec.gpus
    layers = serving.model.layers
    shards = min(gpus, serving.model.kv_heads)  # with fewer heads than GPUs several hold the same
    n_prefill = served.prefill.size
    last: dict[int, int] = {}  # rank -> row at which its last prefill ends
    for number, (arrival, prompt, duration, source, target) in enumerate(
        zip(served.requests.arrival_ps.tolist(), served.requests.prompt_tokens.tolist(), served.duration_ps.tolist(),
            served.prefill_of.tolist(), served.decode_of.tolist(), strict=True)
    ):  # fmt: skip
        layer_bytes = kv_bytes_per_token(serving.model, serving.cache_bytes) // layers * prompt
        names += [f"request {number} prefill", f"request {number} cache"]
        groups += [
            OperationGroup("prefill", ranks=gpus),
            OperationGroup("cache", size_bytes=layer_bytes * layers, ranks=2 * shards),
        ]
        for j in range(gpus):
            rank = source * gpus + j
            row = table.add(
                rank, rank, layers, start_ps=arrival, delay_ps=max(duration // layers, 1), operation=2 * number
            )
            if rank in last:
                table.need(last[rank], row, lead=layers, event=Event.COMPLETED)
            last[rank] = row
            if j >= shards:
                continue
            part = layer_bytes * (j + 1) // shards - layer_bytes * j // shards
            whole = spec.transfer == "whole"
            sent = table.add(
                rank,
                n_prefill + target * gpus + j,
                1 if whole else layers,
                small_bytes=part * (layers if whole else 1),
                operation=2 * number + 1,
            )
            table.need(row, sent, lead=layers if whole else 1, per=0 if whole else 1, event=Event.COMPLETED)
    hosts = np.concatenate([served.prefill.ravel(), served.decode.ravel()])
    return PlacedTransfers(table.build(), hosts, names, groups, ScheduleEntry(spec.kind, spec.kind))
