"""Rows of tests/data/silicon, and what rule and emulator give for each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from fabric.configs.buffers.mmu import find_mmu
from fabric.configs.buffers.thresholds import GroupCounts, QueueCounts, Thresholds, thresholds
from fabric.configs.load import parse_device
from fabric.configs.model import Device

DATA: Final = Path(__file__).resolve().parent.parent / "data" / "silicon"


@dataclass(frozen=True)
class Chip:
    """One row: a switch of a chip with its configuration, and the counts that its test expects."""

    raw: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.raw["id"])

    @property
    def doubtful(self) -> dict[str, str]:
        """Fields whose count is known not to be of this configuration, and why."""
        return dict(self.raw["doubtful"])

    def device(self) -> Device:
        path = DATA / self.raw["config"]
        return parse_device(path.read_text(encoding="utf-8"), str(path))

    def options(self) -> dict[str, Any]:
        """What differs between versions of the chip's software."""
        return {
            "queue_minimums": False if self.raw.get("sai_era") == "pg_minimums_only" else None,
            "lossy_pool": self.raw.get("lossy_queue_pool"),
        }

    def counts(self) -> tuple[Thresholds, GroupCounts, QueueCounts]:
        """The switch, the lossless group of the row's speed and cable, and its first lossy queue."""
        mmu = find_mmu(self.raw["asic"])
        assert mmu is not None
        found = thresholds(self.device(), mmu, **self.options())
        word = f"_{self.raw['speed']}_{self.raw['cable']}_"
        return found, next(it for it in found.groups if word in it.profile), found.queues[0]


@cache
def chips() -> tuple[Chip, ...]:
    return tuple(map(Chip, json.loads((DATA / "rows.json").read_text(encoding="utf-8"))["rows"]))


def expected(chip: Chip) -> dict[str, tuple[int, int]]:
    """Quantity -> (count, margin) of the row; without doubtful ones."""
    measured, margin = chip.raw["measured"], chip.raw["measured"]["margin"]
    found = {"XOFF": (measured["xoff"], margin), "ingress drop": (measured["ingress_drop"], margin)}
    if "egress_drop" in measured and "egress_drop" not in chip.doubtful:
        found["egress drop"] = (measured["egress_drop"], measured["egress_margin"])
    if "headroom_pool" in measured and "headroom_pool" not in chip.doubtful:
        pool = measured["headroom_pool"]
        found["groups that fill the headroom pool"] = (pool["pgs"], 0)
        found["XOFF of each of them"] = (pool["xoff_each"], margin)
        found["headroom of all of them"] = ((pool["pgs"] - 1) * pool["full"] + pool["partial"], pool["margin"])
    if "register_shared_limit_cells" in measured:
        found["shared cells (register)"] = (measured["register_shared_limit_cells"], 0)
    return found


def by_rule(chip: Chip) -> dict[str, int]:
    """The same quantities by configs/buffers/thresholds.py."""
    found, group, queue = chip.counts()
    counts = {
        "XOFF": group.xoff_packets,
        "ingress drop": group.ingress_drop_packets,
        "egress drop": queue.drop_packets,
        "shared cells (register)": found.shared_cells,
    }
    if group.shared_headroom is not None:
        pool = group.shared_headroom
        counts["groups that fill the headroom pool"] = pool.groups
        counts["XOFF of each of them"] = pool.xoff_packets
        counts["headroom of all of them"] = (pool.groups - 1) * pool.full_packets + pool.partial_packets
    return counts


def simulated(chip: Chip) -> dict[str, int]:
    """The same quantities, counted in the emulator."""
    from fabric.verify.threshold_runs import alone, lossy_queue, together

    found, group, queue = chip.counts()
    device = chip.device()
    profile = device.profiles[group.profile]
    single = alone(found, group, profile)
    counts = {
        "XOFF": single.xoff_packets,
        "ingress drop": single.ingress_drop_packets,
        "XON": single.xon_packets,
        "egress drop": lossy_queue(found, device, queue),
    }
    if group.shared_headroom is not None:
        both = together(found, group, profile)
        counts["XOFF of each of them"] = max(both.xoff_packets)
        counts["headroom of all of them"] = both.headroom_packets
    return counts


def agrees(count: int, expects: tuple[int, int]) -> bool:
    """Within the row's margin, or 1 %."""
    return abs(count - expects[0]) <= max(expects[1], expects[0] // 100)
