"""``fabric thresholds CONFIG``: the packet counts at which a switch sends XOFF, drops and resumes."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fabric.cli.terminal.streams import say
from fabric.errors import InputErrors, Problem
from fabric.units import count
from fabric.visible import visible

if TYPE_CHECKING:
    from fabric.configs.buffers.mmu import Mmu
    from fabric.configs.buffers.thresholds import GroupCounts, QueueCounts, Thresholds
    from fabric.configs.model import Device
    from fabric.verify.threshold_runs import Alone, Together

_STAGE: Final = "reading the configuration"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "Counts are of packets of 64 B, one cell each, in one priority group or queue, with\n"
        "nothing else in the buffer and a sender that ignores pause. docs/silicon.md compares\n"
        "them with switches.\n\n"
        "examples:\n  fabric thresholds leaf1/config_db.json\n"
        "  fabric thresholds config_db.json --asic td3 --simulate --json"
    )
    parser.add_argument("config", type=Path, metavar="CONFIG", help="configuration of one SONiC switch")
    parser.add_argument("--asic", metavar="NAME", help="its chip, such as trident3 or td3; by its HWSKU where absent")
    parser.add_argument("--port", action="append", metavar="NAME", help="only this port; repeatable")
    parser.add_argument(
        "--queue-minimums",
        choices=("reserved", "shared"),
        help="whether the chip's software sets aside the minimums of lossy queues: it depends on its version, which no "
        "configuration states; default: reserved where the chip is known to do so",
    )
    parser.add_argument(
        "--lossy-pool", metavar="POOL", help="egress pool that lossy queues are charged to; default: their profile's"
    )
    parser.add_argument(
        "--simulate", action="store_true", help="fill an emulated switch packet by packet, and print its counts, too"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the counts."""
    from fabric.configs.buffers.thresholds import thresholds  # noqa: PLC0415  --help does without

    device = _device(args.config, args.port or [])
    mmu = _mmu(device, args.asic)
    if args.lossy_pool is not None and args.lossy_pool not in device.pools:
        raise InputErrors(
            "options",
            [
                Problem(
                    "--lossy-pool", f"'{args.lossy_pool}' is no pool of {args.config}", _one_of(sorted(device.pools))
                )
            ],
        )
    reserved = None if args.queue_minimums is None else args.queue_minimums == "reserved"
    found = thresholds(device, mmu, queue_minimums=reserved, lossy_pool=args.lossy_pool)
    if reserved is not None and found == thresholds(device, mmu, lossy_pool=args.lossy_pool):
        say(f"--queue-minimums {args.queue_minimums} changes no count of {args.config} on {mmu.title}")
    if args.lossy_pool is not None and found == thresholds(device, mmu, queue_minimums=reserved):
        say(f"--lossy-pool {args.lossy_pool} changes no count of {args.config} on {mmu.title}")
    groups, queues = _alike(found.groups), _alike(found.queues)
    if args.port:
        groups = [(it, ports) for it, ports in groups if set(ports) & set(args.port)]
        queues = [(it, ports) for it, ports in queues if set(ports) & set(args.port)]
    measured = [_measured(found, device, it) for it, _ in groups] if args.simulate else []
    dropped = [_dropped(found, device, it) for it, _ in queues] if args.simulate and found.groups else []
    if args.json:
        print(json.dumps(_json(device, found, groups, queues, measured, dropped), indent=2))
    else:
        _print(device, found, groups, queues, measured, dropped)
    return 0


def _one_of(words: list[str]) -> str:
    return f"give one of {', '.join(words)}" if words else "the file has none"


def _device(path: Path, ports: list[str]) -> Device:
    from fabric.configs.load import parse_device  # noqa: PLC0415
    from fabric.configs.text.jsonfile import read_file  # noqa: PLC0415

    device = parse_device(read_file(path, mark=True), str(path))
    problems = []
    if not device.capabilities.tables:
        text = f"is a configuration of {device.language}, which does not state pools, minimums and headroom in bytes"
        problems.append(Problem(str(path), text, "give a config_db.json of SONiC"))
    problems += [
        Problem("--port", f"'{port}' is no port of {path}", "give a name of its table PORT")
        for port in ports
        if port not in device.ports
    ]
    if problems:
        raise InputErrors(_STAGE, problems)
    return device


def _mmu(device: Device, word: str | None) -> Mmu:
    from fabric.configs.buffers.mmu import MMUS, chip_of, find_mmu  # noqa: PLC0415

    known = ", ".join(MMUS)
    if word is not None:
        mmu = find_mmu(word)
        if mmu is None:
            text = f"the memory of '{word}' is not known"
            raise InputErrors("options", [Problem("--asic", text, f"give one of {known}")])
        own = chip_of(device)
        if own is not None and own != mmu.name:
            theirs = f"the HWSKU '{device.hwsku}' of {device.file} is {own}"
            say(f"--asic {word} is {mmu.name}, and {theirs}: the counts are of {mmu.name}")
        return mmu
    chip = chip_of(device)
    mmu = find_mmu(chip or "")
    if mmu is None:
        text = (
            f"the memory of {chip} is not known"
            if chip
            else f"the HWSKU '{device.hwsku}' names no known chip"
            if device.hwsku
            else "the file names no HWSKU, so its chip is not known"
        )
        raise InputErrors(_STAGE, [Problem(device.file, text, f"name the chip with --asic: {known}")])
    return mmu


_Row = TypeVar("_Row", "GroupCounts", "QueueCounts")


def _alike(rows: tuple[_Row, ...]) -> list[tuple[_Row, list[str]]]:
    """Rows that differ in port and number alone, with their ports."""
    found: dict[tuple[str, ...], tuple[_Row, list[str]]] = {}
    for row in rows:
        key = tuple(str(value) for name, value in asdict(row).items() if name not in {"port", "group", "queue"})
        _, ports = found.setdefault(key, (row, []))
        if row.port not in ports:
            ports.append(row.port)
    return list(found.values())


def _measured(found: Thresholds, device: Device, group: GroupCounts) -> tuple[Alone, Together | None]:
    from fabric.verify.threshold_runs import alone, together  # noqa: PLC0415

    profile = device.profiles[group.profile]
    return alone(found, group, profile), together(found, group, profile) if group.shared_headroom else None


def _dropped(found: Thresholds, device: Device, queue: QueueCounts) -> int:
    from fabric.verify.threshold_runs import lossy_queue  # noqa: PLC0415

    return lossy_queue(found, device, queue)


def _json(
    device: Device,
    found: Thresholds,
    groups: list[tuple[GroupCounts, list[str]]],
    queues: list[tuple[QueueCounts, list[str]]],
    measured: list[tuple[Alone, Together | None]],
    dropped: list[int],
) -> dict[str, Any]:
    rows = [{**asdict(it), "ports": ports} for it, ports in groups]
    for row, (single, several) in zip(rows, measured, strict=False):
        row["simulated"] = {"alone": asdict(single), "together": asdict(several) if several else None}
    lossy = [{**asdict(it), "ports": ports} for it, ports in queues]
    for row, packets in zip(lossy, dropped, strict=False):
        row["simulated"] = {"drop_packets": packets}
    for row in (*rows, *lossy):
        for name in ("port", "group", "queue"):
            row.pop(name, None)
    return {
        "switch": device.name,
        "asic": found.mmu.name,
        "cell_bytes": found.mmu.cell_bytes,
        "partitions": found.mmu.partitions,
        "pool_size": found.pool_size.value,
        "shared_cells": found.shared_cells,
        "terms": [asdict(it) for it in found.terms],
        "minimum_cells_of_port": found.minimums_of_port,
        "groups": rows,
        "queues": lossy,
        "unknown": list(found.unknown),
    }


def _print(
    device: Device,
    found: Thresholds,
    groups: list[tuple[GroupCounts, list[str]]],
    queues: list[tuple[QueueCounts, list[str]]],
    measured: list[tuple[Alone, Together | None]],
    dropped: list[int],
) -> None:
    mmu = found.mmu
    _say(f"{device.name}: {mmu.title}, cells of {mmu.cell_bytes} B, {count(mmu.partitions or 1, 'partition')}")
    if found.terms:
        print(f"\nshared cells of a partition (pool sizes are {found.pool_size.value}):")
        for term in found.terms:
            _say(f"  {term.name:24} {term.cells:>10,}  {term.rule}")
        print(f"  {'shared':24} {found.shared_cells:>10,}")
    down = sorted(set(found.minimums_of_port.values()) - {0})
    if down:
        print(f"  as configured; a link that goes down gives back {' or '.join(map(str, down))} cells")
    _columns(
        "lossless groups, one alone; packets of 64 B:",
        [
            {
                "profile": it.profile,
                "ports": _ports(ports),
                "minimum": it.minimum_cells,
                "alpha": _alpha(it.alpha),
                "XOFF": it.xoff_packets,
                "XON": it.xon_packets or "-",
                "headroom": it.headroom_cells,
                "drop": it.ingress_drop_packets,
                **(
                    {
                        "XOFF, simulated": it_measured[0].xoff_packets,
                        "drop, simulated": it_measured[0].ingress_drop_packets,
                    }
                    if it_measured
                    else {}
                ),
            }
            for (it, ports), it_measured in zip_longest(groups, measured)
        ],
    )
    _columns(
        "groups that exhaust the shared headroom pool together:",
        [
            {
                "profile": it.profile,
                "pool": pool.cells,
                "groups": pool.groups,
                "XOFF each": pool.xoff_packets,
                "full": pool.full_packets,
                "last": pool.partial_packets,
                **(
                    {"XOFF, simulated": _range(both.xoff_packets), "pool, simulated": both.headroom_packets}
                    if it_measured and (both := it_measured[1])
                    else {}
                ),
            }
            for (it, _), it_measured in zip_longest(groups, measured)
            if (pool := it.shared_headroom)
        ],
    )
    _columns("lossy queues, one alone:", [
        {
            "profile": it.profile, "ports": _ports(ports), "pool": it.pool, "minimum": it.minimum_cells,
            "alpha": _alpha(it.alpha), "drop": it.drop_packets, "dropped at": it.dropped_at,
            **({"drop, simulated": packets} if packets else {}),
        }
        for (it, ports), packets in zip_longest(queues, dropped)
    ])  # fmt: skip
    for name in dict.fromkeys(it.profile for it, _ in groups if it.xon_packets is None):
        xon = device.profiles[name].xon_bytes
        print()
        _say(f"no XON of {name}: it has xon {xon} B and no xon_offset, from which the packets until XON are counted")
    for text in found.unknown:
        print()
        _say(f"not known: {text}")
    print(f"\nsource: {mmu.source}")


def _say(text: str) -> None:
    """One line; names in it are those of the configuration."""
    print(visible(text))


def _alpha(alpha: float | None) -> str:
    return "static" if alpha is None else f"{alpha:g}"


def _range(values: tuple[int, ...]) -> str:
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)} to {max(values)}"


def _ports(ports: list[str]) -> str:
    return ports[0] if len(ports) == 1 else f"{ports[0]} and {len(ports) - 1} more"


def _columns(title: str, rows: list[dict[str, int | str]]) -> None:
    """Rows of the same columns: text to the left, numbers to the right. Nothing without rows."""
    if not rows:
        return
    print(f"\n{title}")
    head: dict[str, int | str] = {name: name for name in rows[0]}
    lines = [
        {name: f"{it:,}" if isinstance(it, int) else visible(it) for name, it in row.items()} for row in (head, *rows)
    ]
    widths = {name: max(len(line[name]) for line in lines) for name in head}
    for line in lines:
        cells = [
            line[it].rjust(widths[it]) if isinstance(rows[0][it], int) else line[it].ljust(widths[it]) for it in head
        ]
        print("  " + "  ".join(cells).rstrip())
