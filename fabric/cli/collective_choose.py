"""``fabric collective choose``: the algorithm and protocol that NCCL's model chooses, and all predicted times."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table

from fabric.cli.options.sizes import add_sizes, sizes_of
from fabric.collectives.nccl.auto import SIMULATED
from fabric.collectives.nccl.choice import Choice, choose
from fabric.collectives.nccl.model import Prediction
from fabric.collectives.nccl.system import DISTANCES, Channels, System, known_channels
from fabric.collectives.nccl.tables import Algorithm, Generation, Operation
from fabric.errors import InputErrors, Problem
from fabric.render.console import PlainConsole
from fabric.units import format_size_bytes

_WIDTH: Final = 120


def add_choose(actions: Any) -> None:  # noqa: ANN401  argparse has no public type for its sub-parsers
    """Add the action `choose` to a verb's actions."""
    parser = actions.add_parser("choose", help="NCCL's choice of algorithm and protocol, and the predicted times")
    parser.epilog = "example:\n  fabric collective choose all-reduce --nodes 4 --gpus-per-node 8 --sizes 1KiB:4GiB"
    parser.add_argument("operation", choices=[str(it) for it in Operation], metavar="OPERATION", help=_names(Operation))
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="nodes (default 1)")
    parser.add_argument("--gpus-per-node", type=int, default=8, metavar="N", help="GPUs of each node (default 8)")
    parser.add_argument(
        "--generation",
        choices=[str(it) for it in Generation],
        default="hopper",
        metavar="NAME",
        help=_names(Generation),
    )
    add_sizes(parser, "1KiB:1GiB")
    parser.add_argument(
        "--channels", metavar="COUNT:GB/S[:GB/S]", help="channels and the rate of each, in a node and between nodes"
    )
    parser.add_argument(
        "--nvls", metavar="COUNT:GB/S[:GB/S]", help="the switches of a node reduce (NVLS); channels and rates of it"
    )
    parser.add_argument("--collnet", action="store_true", help="a plugin for reduction in the network is loaded")
    parser.add_argument("--cpu", choices=("intel", "amd"), default="intel", help="CPU of the host (default intel)")
    parser.add_argument("--pcie", action="store_true", help="GPUs of a node reach each other over PCIe, not NVLink")
    parser.add_argument(
        "--nic-distance", choices=DISTANCES, default="PIX", help="from GPU to NIC as nvidia-smi topo names it"
    )
    parser.add_argument("--fp8", action="store_true", help="numbers of 8 bits are added")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_choose(args: argparse.Namespace) -> int:
    """Print a row for each size."""
    system = _system(args)
    found = [choose(system, Operation(args.operation), size, fp8=args.fp8) for size in _sizes(args.sizes)]
    if args.json:
        print(json.dumps([_as_json(it) for it in found], indent=2))
        return 0
    console = PlainConsole(sys.stdout, width=_WIDTH if not sys.stdout.isatty() else None)
    console.print(_table(system, found))
    for text in dict.fromkeys(
        f"not used: {it.name}: {it.unusable}" for it in found[0].predictions if _worth_a_line(system, it)
    ):
        console.print(text)
    usable = dict.fromkeys(it.algorithm for it in found[0].predictions if not it.unusable)
    for algorithm in usable:
        name = SIMULATED.get(algorithm)
        text = f"by --algorithm {name}" if name else "no: it adds in switches, only its time is predicted"
        console.print(f"simulated: {algorithm}: {text}")
    return 0


def _names(kind: type[Operation | Generation]) -> str:
    return ", ".join(str(it) for it in kind)


def _system(args: argparse.Namespace) -> System:
    generation = Generation(args.generation)
    channels = _channels(args.channels, "--channels") or known_channels(generation, args.nodes, args.gpus_per_node)
    if channels is None:
        text = f"NCCL's channels on {args.nodes} x {args.gpus_per_node} GPUs of generation {generation} are not known"
        hint = "give them as NCCL_DEBUG=INFO prints them: --channels 16:24 is 16 channels of 24 GB/s"
        raise InputErrors("describing the system", [Problem("--channels", text, hint)])
    nvls = _channels(args.nvls, "--nvls")
    own: Mapping[Algorithm, Channels] = {} if nvls is None else {Algorithm.NVLS: nvls, Algorithm.NVLS_TREE: nvls}
    return System(
        generation,
        args.nodes,
        args.gpus_per_node,
        channels,
        own=own,
        cpu=args.cpu,
        nvlink=not args.pcie,
        nvswitch=not args.pcie,
        nvls=nvls is not None,
        collnet=args.collnet,
        nic_distance=args.nic_distance,
    )


def _channels(text: str | None, option: str) -> Channels | None:
    if text is None:
        return None
    try:
        count, intra, *rest = text.split(":")
        (inter,) = rest or [intra]
        return Channels(int(count), float(intra), float(inter))
    except ValueError:
        problem = Problem(option, f"'{text}' is not COUNT:GB/S or COUNT:GB/S:GB/S", "write 16:24, or 16:40:24")
        raise InputErrors("reading the options", [problem]) from None


def _sizes(text: str) -> list[int]:
    """The sizes. Raises: InputErrors."""
    problems: list[Problem] = []
    sizes = sizes_of(text, problems)
    if problems:
        raise InputErrors("options", problems)
    return sizes


def _worth_a_line(system: System, it: Prediction) -> bool:
    """Combinations that the user can make usable, and of NVLS and CollNet only the protocol that they have."""
    return bool(it.unusable) and "only" not in it.unusable and "has no" not in it.unusable and system.ranks > 1


def _table(system: System, found: list[Choice]) -> Table:
    table = Table(box=None, pad_edge=False)
    usable = [place for place, it in enumerate(found[0].predictions) if not it.unusable]
    table.add_column("size", justify="right", no_wrap=True)
    for place in usable:
        table.add_column(f"{found[0].predictions[place].name}\nus", justify="right")
    table.add_column("choice", no_wrap=True)
    table.add_column("channels", justify="right")
    for choice in found:
        times = [f"{choice.predictions[place].time_us:.1f}" for place in usable]
        channels = f"{choice.channels} of {system.of(choice.best.algorithm).count}"
        table.add_row(format_size_bytes(choice.size_bytes), *times, choice.best.name, channels)
    return table


def _as_json(choice: Choice) -> dict[str, Any]:
    pieces = choice.pieces
    return {
        "operation": str(choice.operation),
        "size_bytes": choice.size_bytes,
        "algorithm": str(choice.best.algorithm),
        "protocol": str(choice.best.protocol),
        "time_us": round(choice.best.time_us, 3),
        "simulated_by": SIMULATED.get(choice.best.algorithm),
        "reason": choice.reason,
        "channels": choice.channels,
        "threads": choice.threads,
        "chunk_bytes": pieces.chunk_bytes,
        "slice_bytes": pieces.slice_bytes,
        "loops": pieces.loops,
        "predictions": [
            {
                "algorithm": str(it.algorithm),
                "protocol": str(it.protocol),
                "time_us": None if it.unusable else round(it.time_us, 3),
                "latency_us": None if it.unusable else round(it.latency_us, 3),
                "bandwidth_gb_s": None if it.unusable else round(it.bandwidth_gb_s, 3),
                "unusable": it.unusable or None,
            }
            for it in choice.predictions
        ],
    }
