"""One case of a campaign from its seed: a scenario, its twin without the fault, and the truth.

Mix: healthy 35 %, one fault 40 %, near miss 15 %, two faults 10 %. Two faults are at different hosts and of different
kinds. Kinds of faults are equally likely among those that the fabric has a place for.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from telemetry.campaign.fabrics import Drawn, draw_fabric
from telemetry.campaign.faults import FAULTS, LOSSLESS, NEAR, Draw, Fault, Injection
from telemetry.campaign.loads import Load, draw_load
from telemetry.campaign.seeds import Seed
from telemetry.campaign.truth import Group
from telemetry.diagnosis.root import Kind

Sort = Literal["healthy", "single", "near", "double"]
MIX: Final[Mapping[Sort, float]] = {"healthy": 0.35, "single": 0.40, "near": 0.15, "double": 0.10}
NOISE_SEEDS: Final = 2
"""Runs of the twin with other seeds: what differs by chance."""


@dataclass(frozen=True)
class Case:
    """One case."""

    seed: Seed
    sort: Sort
    what: tuple[str, ...]
    """Names of the faults, as in faults.py."""
    scenario: dict[str, Any]
    """As a scenario file has it."""
    twin: dict[str, Any]
    """The same without the faults; equal for a healthy case."""
    without: tuple[dict[str, Any], ...]
    """For each fault, the scenario without it, other faults kept."""
    groups: tuple[Group, ...]
    """One for each fault, in its order, and one for each setting of the whole fabric."""

    def noise(self, number: int) -> dict[str, Any]:
        """The twin with another seed."""
        seed = self.seed.stream(f"noise/{number}").getrandbits(48)
        return self.twin | {"run": self.twin["run"] | {"seed": seed}}


def draw_case(seed: Seed) -> Case:
    """The case of a seed; the same in every process."""
    drawn = draw_fabric(seed.stream("fabric"), seed.side)
    load = draw_load(seed.stream("load"), drawn)
    random_ = seed.stream("faults")
    sort = random_.choices(list(MIX), list(MIX.values()))[0]
    injections = _injections(random_, sort, drawn, load)
    twin = _scenario(seed, drawn, load, {})
    settings = tuple(_settings(drawn, load))
    groups = (*(it.group for it in injections.values()), *settings)
    without = tuple(
        _scenario(seed, drawn, load, {other: it for other, it in injections.items() if other != name})
        for name in injections
    )
    return Case(seed, sort, tuple(injections), _scenario(seed, drawn, load, injections), twin, without, groups)


def _injections(random_: random.Random, sort: Sort, drawn: Drawn, load: Load) -> dict[str, Injection]:
    table = NEAR if sort == "near" else FAULTS
    found: dict[str, Injection] = {}
    for _ in range({"healthy": 0, "double": 2}.get(sort, 1)):
        hit = {name for it in found.values() for name in it.group.devices}
        hosts = tuple(it.name for it in drawn.fabric.hosts if it.name not in hit) if found else ()
        name, injection = _one(random_, {k: v for k, v in table.items() if k not in found}, drawn, load, hosts)
        found[name] = injection
    return found


def _one(
    random_: random.Random, table: Mapping[str, Fault], drawn: Drawn, load: Load, hosts: Sequence[str]
) -> tuple[str, Injection]:
    """One fault for which the fabric has a place."""
    for name in random_.sample(list(table), len(table)):
        injection = table[name](Draw(random_, drawn, load, tuple(hosts)))
        if injection is not None:
            return name, injection
    raise AssertionError("every fabric has a host for a storm")


def _scenario(seed: Seed, drawn: Drawn, load: Load, injections: Mapping[str, Injection]) -> dict[str, Any]:
    sections = dict(drawn.sections)
    overrides = [dict(it) for injection in injections.values() for it in injection.overrides]
    if overrides:
        sections["switches"] = sections["switches"] | {"overrides": overrides}
    faults = [dict(it) for injection in injections.values() for it in injection.faults]
    if faults:
        sections["faults"] = faults
    return {
        "name": f"campaign-{seed.text.replace('/', '-')}",
        **sections,
        "workload": load.workload,
        "telemetry": {"interval": "1ms", "events": []},
        "run": {"duration": f"{load.duration_ns // 1000}us", "stop": "duration", "seed": seed.value & (2**48 - 1)},
    }


def _settings(drawn: Drawn, load: Load) -> list[Group]:
    """Settings of the whole fabric that a diagnosis may name, in the twin as well."""
    group = Group((Kind.CC_OFF,), (), 0, load.duration_ns, (), LOSSLESS, "", "setting")
    return [replace(group, kinds=(Kind(kind),), change=why) for kind, why in drawn.settings.items()]
