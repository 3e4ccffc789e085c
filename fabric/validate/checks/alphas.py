"""B17: one alpha of lossless groups on all switches of a role, whatever their model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fabric.configs.model import BufferProfile, Device, Pool
from fabric.validate.checks.base import Check, Found, W, check, construct, shows
from fabric.validate.checks.membership import B15
from fabric.validate.facts import Facts, threshold
from fabric.validate.remedies import set_field

_FACTOR: Final = 2
"""How far T(1) of two models may differ: chips have buffers of other sizes."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A lossless group of one switch."""

    device: Device
    profile: BufferProfile
    pool: Pool | None

    @property
    def level_bytes(self) -> float | None:
        """T(1)."""
        return None if self.pool is None else threshold(self.profile, self.pool, 1)


@check(
    "B17",
    W,
    "alpha of lossless groups differs between switches of one role",
    condition="at one speed and cable length the lossless groups of all switches of a role have one dynamic_th; of "
    f"switches of another HWSKU, thresholds T(1) = alpha B / (1 + alpha) within a factor {_FACTOR}",
    consequence="the switch with the smaller alpha pauses under bursts that the others absorb, and its pauses spread",
    remedy="use one alpha for the role, set for the model with the smallest buffer",
    source="Guo et al., SIGCOMM 2016, section 6.2 (a new model of ToR came with alpha 1/64 in place of 1/16)",
    leads_to="E2 E2b E11 D8 B6 B8",
)
def B17(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Against what most have, and without a majority the smaller one; silent where B15 speaks of the switch."""
    named = {found.device for found in B15.function(facts)}
    groups: dict[tuple[str, int | None, float | None], dict[str, _Group]] = {}
    for device in facts.devices:
        for profile, uses in facts.lossless_profiles(device).values():
            for line, _ in uses if profile.dynamic_th is not None and not profile.assumed else ():
                key = _role(facts, device), line.port.speed_mbps, line.port.cable_m
                found = _Group(device, profile, device.pools.get(profile.pool))
                known = groups.setdefault(key, {}).setdefault(device.name, found)
                if (profile.dynamic_th or 0) < (known.profile.dynamic_th or 0):
                    groups[key][device.name] = found
    told = set()
    for (role, speed, _), devices in groups.items():
        usual = _usual(list(devices.values()))
        same = [it for it in devices.values() if it.profile.dynamic_th == usual.profile.dynamic_th]
        for it in devices.values():
            where = it.device.name, it.profile.name
            if it.device.name in named or where in told or not _differ(it, usual):
                continue
            told.add(where)
            at = f" at {speed // 1000}G" if speed else ""
            others = f" and {len(same) - 1} more" if len(same) > 1 else ""
            yield Found(
                it.device.name,
                construct(it.device, "BUFFER_PROFILE", it.profile.name),
                f"dynamic_th {_shown(it)}{at}, {_shown(usual)} on {usual.device.name}{others}, "
                f"of the same role{f' {role}' if role else ''}",
                (
                    shows(it.device, it.profile.where, "dynamic_th", it.profile.dynamic_th),
                    shows(usual.device, usual.profile.where, "dynamic_th", usual.profile.dynamic_th),
                ),
                fix=set_field(it.device, it.profile.where, "dynamic_th", usual.profile.dynamic_th)
                if it.device.hwsku == usual.device.hwsku and not it.profile.derived
                else None,
            )


def _role(facts: Facts, device: Device) -> str:
    """What the file says, or else whether hosts are attached."""
    lines = facts.lossless_of(device)
    return device.role or ("with hosts" if any(facts.faces_host(line) for line in lines) else "")


def _usual(groups: list[_Group]) -> _Group:
    """The group with the most frequent alpha; of equally frequent ones that with the largest."""
    counts = Counter(it.profile.dynamic_th for it in groups)
    return max(groups, key=lambda it: (counts[it.profile.dynamic_th], it.profile.dynamic_th or 0))


def _differ(one: _Group, usual: _Group) -> bool:
    if one.profile.dynamic_th == usual.profile.dynamic_th:
        return False
    levels = one.level_bytes, usual.level_bytes
    if one.device.hwsku == usual.device.hwsku or not all(levels):
        return True
    low, high = sorted(it or 0.0 for it in levels)
    return low * _FACTOR < high


def _shown(group: _Group) -> str:
    """'-6 (alpha 1/64)'."""
    th = group.profile.dynamic_th or 0
    return f"{th} (alpha {2**th if th >= 0 else f'1/{2**-th}'})"


CHECKS: Final[tuple[Check, ...]] = (B17,)
