"""Model cards: modelled and omitted effects, every default with its source, and the values of a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fabric.configs.buffers.mmu import MMUS
from fabric.dataplane.state.params import EngineParams
from fabric.scenario.compile.ns3_rdma_checks import NS3_RDMA_PRESETS
from fabric.scenario.compile.recovery import recovery_of
from fabric.scenario.presets.asics import ASICS
from fabric.scenario.presets.cubic import cubic_card
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS
from fabric.scenario.presets.dctcp import dctcp_card
from fabric.scenario.presets.hpcc import hpcc_card
from fabric.scenario.presets.models import ECN_CURVES, MODELS
from fabric.scenario.presets.pint import pint_card
from fabric.scenario.presets.swift import swift_card
from fabric.scenario.presets.timely import timely_card
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.model import Fabric


def model_card(name: str) -> dict[str, Any]:
    """The card of a model, as data."""
    model = MODELS[name]
    return {
        "name": model.name,
        "purpose": model.purpose,
        "modelled": list(model.modelled),
        "not_modelled": list(model.not_modelled),
        "defaults": [asdict(default) for default in model.defaults],
        "fixed": [asdict(default) for default in model.fixed],
        "asics": asic_card() if name == "asic" else [],
        "dcqcn": [preset for preset in dcqcn_card() if name == "asic" or preset["name"] in NS3_RDMA_PRESETS],
        "dctcp": dctcp_card() if name == "asic" else [],
        "timely": timely_card() if name == "asic" else [],
        "hpcc": hpcc_card() if name == "asic" else [],
        "pint": pint_card() if name == "asic" else [],
        "swift": swift_card() if name == "asic" else [],
        "cubic": cubic_card() if name == "asic" else [],
        "ecn_curves": ecn_card(),
    }


def asic_card() -> list[dict[str, Any]]:
    """Every chip of a scenario. `memory_of_chip_bytes` to `headroom_of` are facts that its one pool does not model.

    They are None where the chip is not in `fabric.configs.buffers.mmu` or no public source states them.
    """
    return [
        {
            **asdict(asic),
            "watchdog_rule": asic.watchdog_rule.name.lower(),
            "memory_of_chip_bytes": mmu and mmu.memory_bytes,
            "why_another_memory": mmu and (mmu.usable or None),
            "partitions": mmu and mmu.partitions,
            "pool_size": mmu and mmu.pool_size and mmu.pool_size.value,
            "headroom_of": mmu and mmu.headroom.value,
        }
        for asic in ASICS.values()
        for mmu in [MMUS.get(asic.name)]
    ]


def dcqcn_card() -> list[dict[str, Any]]:
    """Every DCQCN preset with its source."""
    return [
        {
            "name": preset.name,
            **asdict(preset.params),
            "scales_with_rate": preset.scales,
            "variable_window": preset.variable_window,
            "source": preset.source,
            "assumed": list(preset.assumed),
        }
        for preset in DCQCN_PRESETS.values()
    ]


def ecn_card() -> list[dict[str, Any]]:
    """Every named ECN curve with its source."""
    return [
        {
            "name": name,
            "kmin_bytes": curve.kmin_bytes,
            "kmax_bytes": curve.kmax_bytes,
            "pmax_ratio": curve.pmax_ratio,
            "per_rate_bps": reference or None,
            "source": source,
        }
        for name, (curve, reference, source) in ECN_CURVES.items()
    ]


def run_card(scenario: Scenario, fabric: Fabric, params: EngineParams) -> dict[str, Any]:
    """For a run's manifest: the scenario as written, the values derived from it, and the defaults that it used."""
    written = scenario.model_dump(mode="json", exclude_unset=True)
    defaults = [
        asdict(default) for default in MODELS[scenario.model].defaults if not _is_written(written, default.path)
    ]
    if scenario.model == "asic":
        for default in defaults:
            if default["path"] == "transport.recovery":  # the one default that depends on another section
                default["value"] = recovery_of(scenario)
    transport = params.transport
    switches = {}
    for node in fabric.switches:
        switch = params.switches[node.id]
        headrooms = sorted(
            {group.xoff_bytes for port in node.ports for group in params.ports[port].pgs if group.lossless}
        )
        switches[node.name] = {
            "cell_bytes": switch.cell_bytes,
            "hash_seed": switch.hash_seed,
            "pools": {pool.name: pool.size_bytes for pool in switch.pools},
            "shared_headroom_bytes": switch.pools[0].shared_headroom_bytes,
            "headroom_bytes": headrooms,
        }
    return {
        "model": scenario.model,
        "purpose": MODELS[scenario.model].purpose,
        "not_modelled": list(MODELS[scenario.model].not_modelled),
        "scenario": written,
        "defaults": defaults,
        "frames": asdict(params.frames),
        "dcqcn": asdict(transport.dcqcn) if transport.dcqcn is not None else None,
        "dctcp": asdict(transport.dctcp) if transport.dctcp is not None else None,
        "timely": asdict(transport.timely) if transport.timely is not None else None,
        "hpcc": asdict(transport.hpcc) if transport.hpcc is not None else None,
        "pint": asdict(transport.pint) if transport.pint is not None else None,
        "swift": asdict(transport.swift) if transport.swift is not None else None,
        "cubic": asdict(transport.cubic) if transport.cubic is not None else None,
        **({"overrides": [asdict(law) for law in params.laws]} if params.laws else {}),
        "switches": switches,
    }


def _is_written(written: dict[str, Any], path: str) -> bool:
    section, _, field = path.partition(".")
    return field in written.get(section, {})
