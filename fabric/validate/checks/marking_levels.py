"""E2, E5: where marking begins, against where pausing begins, and against the speed of the port."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

from fabric.configs.buffers.mmu import chip_of
from fabric.configs.model import Where
from fabric.scenario.presets.asics import ASICS
from fabric.theory.marking import BYTES_PER_GBPS
from fabric.validate.checks.base import Check, E, Evidence, Found, I, Severity, W, check, construct, shows
from fabric.validate.checks.marking import curve_evidence, marking, usual_curve
from fabric.validate.chips import mmu_bytes
from fabric.validate.facts import Facts, Line

_SPREAD: Final = 8
"""Factor either way that one profile for 100G to 800G needs."""
_SHARED_RATIO: Final = 4
_STOCK: Final = frozenset(((1_048_576, 2_097_152), (2_000_000, 10_000_000), (150_000, 1_500_000)))
"""Curves of shipped templates and of NVUE's RoCE macro."""

_GUESSED: Final = frozenset(("buffer_bytes", "dynamic_th"))
"""What a chip needs from a source, to say where it pauses."""


@dataclass(frozen=True, slots=True)
class _Pausing:
    """Where the first group asks for a pause."""

    level: float
    words: str
    """'26451968 B, T(1)': the level and what it is."""
    evidence: tuple[Evidence, ...] = ()
    stated: bool = True
    """False where it is what the chip is assumed to have, because the file states no threshold."""


def _pausing(facts: Facts, line: Line, queue: int) -> _Pausing | None:
    """T(1) of the smallest group that fills a queue; the default of the chip where no file states a threshold."""
    device = line.device
    least = facts.smallest_threshold(device, queue)
    if least is not None:
        level, profile, pool = least
        if profile.pause_bytes is not None:
            its = (shows(device, profile.where, "", profile.pause_bytes, "pause threshold"),)
            return _Pausing(level, f"{int(level)} B, the threshold of its own buffer", its)
        static = profile.dynamic_th is None and profile.static_th_bytes is not None
        field, value = ("static_th", profile.static_th_bytes) if static else ("dynamic_th", profile.dynamic_th)
        evidence = (shows(device, pool.where, "size", pool.size_bytes), shows(device, profile.where, field, value))
        return _Pausing(level, f"T(1) = {int(level)} B", evidence)
    whole, chip = mmu_bytes(device), ASICS.get(chip_of(device) or "")
    if whole is None or chip is None or _GUESSED & set(chip.assumed):
        return None
    alpha = 2.0**chip.dynamic_th
    level = alpha * whole / (1 + alpha)
    words = f"{int(level)} B (assumed: alpha {alpha:g} and the {whole} B of {chip.name}; no threshold is in the file)"
    return _Pausing(level, words, stated=False)


@check(
    "E2",
    E,
    "ECN is never reached: PFC comes first",
    condition="Kmin < T(1) = alpha B / (1 + alpha) of the smallest group, a static threshold, or the pause threshold "
    "of its own buffer (NX-OS); Kmax < T(1) (warn)",
    consequence="the group pauses before its queue marks: DCQCN is blind, PFC does all the work",
    remedy="lower Kmin and Kmax, or raise alpha",
    source="Zhu et al., SIGCOMM 2015, section 4; SAI",
    leads_to="E5 E7 E8 E11 E2b N4",
)
def E2(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """One group into one queue is the hardest realistic case: a step down in speed."""
    for line, queue, _, wred, curve in marking(facts):
        pausing = _pausing(facts, line, queue)
        if pausing is None or not pausing.stated or curve.min_bytes > curve.max_bytes:
            continue
        if curve.min_bytes >= pausing.level:
            text, severity = f"Kmin {curve.min_bytes} B, pausing begins at {pausing.words}", E
        elif curve.max_bytes >= pausing.level:
            text = f"Kmax {curve.max_bytes} B, pausing begins at {pausing.words}: never marks all packets"
            severity = W
        else:
            continue
        yield Found(
            line.device.name,
            f"{line.port.name}|{queue}",
            text,
            (*curve_evidence(line, wred, curve), *pausing.evidence),
            severity,
            fix=usual_curve(facts, line, wred, pausing.level),
        )


@check(
    "E5",
    W,
    "marking thresholds do not fit the speed",
    condition="Kmin within a factor 8 of 4 KB per Gb/s, and below the chip's whole buffer and the level at which "
    "pausing begins (error); ports of one profile within a factor 4 of speed",
    consequence="too early: throughput is lost; too late: the queue grows until PFC acts; a depth is an eighth of the "
    "time at 800G that it is at 100G",
    remedy="scale Kmin and Kmax with the port's speed",
    source="HPCC simulation set-ups (config_doc.txt)",
    leads_to="E7 E9 N4 E8",
)
def E5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Info for the curves of shipped templates, which are one for all speeds."""
    speeds: dict[tuple[str, str], dict[str, tuple[int, Where]]] = {}
    for line, queue, _, wred, curve in marking(facts):
        if (speed := line.port.speed_mbps) is None:
            continue
        stock = (curve.min_bytes, curve.max_bytes) in _STOCK
        speeds.setdefault((line.device.name, wred.name), {})[line.port.name] = speed, line.port.where
        found = _unfit(line, curve.min_bytes, speed, _pausing(facts, line, queue))
        if found is None:
            continue
        text, severity = found
        yield Found(
            line.device.name,
            f"{line.port.name}|{queue}",
            text,
            curve_evidence(line, wred, curve),
            I if stock and severity is W else severity,
            within=((line.device.name, wred.where),),
            fix=usual_curve(facts, line, wred, inf),
        )
    for (name, profile), its in speeds.items():
        rates = [speed for speed, _ in its.values()]
        if max(rates) >= _SHARED_RATIO * min(rates):
            most, device = Counter(rates).most_common(1)[0][0], facts.network.devices[name]
            item = device.wreds[profile]
            stock = item.curve is not None and (item.curve.min_bytes, item.curve.max_bytes) in _STOCK
            yield Found(
                name,
                construct(device, "WRED_PROFILE", profile),
                f"one profile for {min(rates) // 1000}G and {max(rates) // 1000}G",
                (shows(device, item.where, "", ""),),
                I if stock else W,
                rests_on=[(name, (*where, "speed")) for speed, where in its.values() if speed != most],
            )


def _unfit(line: Line, kmin: int, speed: int, pausing: _Pausing | None) -> tuple[str, Severity] | None:
    """How a Kmin does not fit a port, too early, too late or never, and where pausing begins."""
    whole, usual = mmu_bytes(line.device), speed // 1000 * BYTES_PER_GBPS
    pauses = "where pausing begins is not known" if pausing is None else f"pausing begins at {pausing.words}"
    if whole is not None and kmin >= whole:
        return f"marking never begins: Kmin {kmin} B, the whole buffer of the chip is {whole} B", E
    late = bool(usual) and kmin > usual * _SPREAD
    if late and pausing is not None and not pausing.stated and kmin >= pausing.level:  # E2 has what is stated
        return f"marking never begins: Kmin {kmin} B, {pauses}", E
    if usual and kmin * _SPREAD < usual:
        return f"marks come too early: Kmin {kmin} B at {speed // 1000}G, usual {usual} B; {pauses}", W
    if late:
        return f"marks come too late: Kmin {kmin} B at {speed // 1000}G, usual {usual} B; {pauses}", W
    return None


CHECKS: Final[tuple[Check, ...]] = (E2, E5)
