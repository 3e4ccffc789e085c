"""Every default may be written out, and a scenario that was dumped with all of them is the same scenario."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pydantic import BaseModel

from fabric.cli.main import main
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import PlacedScenario, place
from fabric.scenario.load import build_scenario, load_scenario
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS
from fabric.scenario.presets.models import DEFAULT_REROUTE_DELAY, MODELS
from fabric.scenario.resolved import resolved
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.yaml_input import parse_yaml
from fabric.units import parse_time_ps

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
SHIPPED = sorted([*(ROOT / "scenarios").glob("**/*.yml"), *(ROOT / "playbooks").glob("*/scenario.yml")])
SHIPPED = [file for file in SHIPPED if "topology:" in file.read_text(encoding="utf-8")]
SMALL = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 2,
    "hosts_per_leaf": 2,
    "host_rate": "100G",
    "fabric_rate": "100G",
}
BASE: dict[str, Any] = {
    "name": "small",
    "topology": SMALL,
    "run": {"duration": "10ms"},
    "workload": [{"kind": "permutation", "size": "100KB", "shift": 2}],
}
VARIANTS: dict[str, dict[str, Any]] = {
    "asic": {},
    "no congestion control": {"transport": {"cc": "none"}},
    "watchdog in hardware": {
        "switches": {
            "watchdog": {"kind": "hardware", "granularity": "100us", "detection": "300us", "restoration": "500us"}
        }
    },
    "servers": {
        "topology": {**BASE["topology"], "hosts_per_leaf": 4, "gpus_per_server": 2, "scale_up": {"pcie": "gen5"}}
    },
    "one server": {"topology": {"kind": "server", "gpus": 4}, "workload": [{"kind": "all-to-all", "size": "1KB"}]},
    "collective": {
        "workload": [{"kind": "collective", "operation": "all-reduce", "algorithm": "ring", "size": "64KB"}]
    },
    "trace": {
        "workload": [
            {
                "kind": "trace",
                "file": "../data/traces/chakra/all_reduce/4npus_1MB/all_reduce",
                "algorithms": {"all-reduce": "binary-tree"},
                "ranks_per_node": 2,
            }
        ]
    },
    "job": {"workload": [{"kind": "job", "job": "two_ranks.yml"}]},
    "job with storage": {
        "topology": {**BASE["topology"], "storage": {"nodes": 1, "rate": "100G"}},
        "workload": [{"kind": "job", "job": "two_ranks.yml", "arrival": "1us", "time_limit": "1ms"}],
        "admission": "backfill",
    },
    "storage apart": {
        "topology": {
            **BASE["topology"],
            "storage": {"nodes": 1, "rate": "100G", "network": "separate", "host_rate": "25G"},
        }
    },
    "jobs as tenants": {
        "workload": [{"kind": "job", "job": "two_ranks.yml", "placement": "spread"}],
        "vxlan": {"job_vni": 20_000},
    },
    "inference": {
        "workload": [
            {
                "kind": "inference",
                "model": {
                    "name": "m",
                    "layers": 2,
                    "hidden": 64,
                    "feed_forward": 128,
                    "heads": 2,
                    "vocabulary": 256,
                    "sequence": 64,
                },
                "prefill_hosts": ["host1"],
                "decode_hosts": ["host2"],
                "rate": 1000.0,
                "count": 2,
                "prompt": 16,
                "output": 2,
            }
        ]
    },
    "DCTCP": {"transport": {"cc": "dctcp"}, "switches": {"ecn": "dctcp"}},
    "DCTCP, own numbers": {"transport": {"cc": "dctcp", "window": "200KB", "dctcp": {"gain": 0.125, "additive": "1G"}}},
    "TIMELY": {"transport": {"cc": "timely", "timely": {"low_rtt": "20us", "hyper": "1G"}}},
    "HPCC": {"transport": {"cc": "hpcc", "hpcc": {"multi_rate": True, "increase_stages": 5}}},
    "Swift": {"transport": {"cc": "swift", "swift": {"base_target": "20us", "beta": 0.5}}},
    "CUBIC": {"transport": {"cc": "cubic", "cubic": {"scale": 4.0, "fast_convergence": False}}},
    "two controls": {"transport": {"overrides": [{"host": "host2", "cc": "hpcc", "hpcc": {"target": 0.9}}]}},
    "HPCC-PINT": {"transport": {"cc": "hpcc-pint", "pint": {"log_base": 1.05, "probability": 0.5}}},
    "HPCC, own window": {"transport": {"cc": "hpcc", "window": "60KB", "variable_window": False, "ack_every": 4}},
    "DCTCP, own window": {"transport": {"cc": "dctcp", "window": "off", "ack_every": 4}},
    "no pfc": {"pfc": "off"},
    "selective": {"transport": {"recovery": "selective", "window": "1MB"}},
    "no timeout": {"transport": {"retransmit_timeout": "off"}},
    "spray": {"switches": {"load_balancing": "spray"}},
    "adaptive": {"switches": {"load_balancing": "adaptive"}},
    "congestion notices": {"switches": {"load_balancing": "adaptive", "congestion_notices": "50KB"}},
    "source-routed": {"switches": {"load_balancing": "source-routed"}},
    "source-routed queue pairs": {
        "switches": {"load_balancing": "source-routed"},
        "transport": {"source_routes": {"choice": "queue-pair"}},
    },
    "weighted": {"switches": {"load_balancing": "weighted"}},
    "hash of queue pairs": {
        "switches": {"hash": {"fields": ["source-ip", "destination-ip", "destination-qp"]}},
        "transport": {"source_port": "pair", "qp": {"per": "pair", "count": 4}},
    },
    "flowlets": {"switches": {"load_balancing": "flowlet"}},
    "shared queue pairs": {"transport": {"qp": {"per": "pair", "count": 4}}},
    "static limit": {"switches": {"buffer": {"static_th": "1MB"}, "scheduler": {"1": 3}, "dscp_to_tc": {"26": 3}}},
    "another chip for some": {"switches": {"overrides": [{"role": "spine", "asic": "tomahawk4"}]}},
    "watched": {"switches": {"watchdog": {"poll": "1ms", "detection": "2ms", "restoration": "never"}}},
    "own curve": {"switches": {"ecn": {"kmin": "10KB", "kmax": "20KB", "pmax": 1.0}}},
    "slow host": {"hosts": {"overrides": [{"host": "host1", "drain": "10G"}]}},
    "own numbers": {"transport": {"dcqcn": {"gain": 0.1}}},
    "bgp": {"routing": "bgp"},
    "bgp without jitter": {"routing": "bgp", "bgp": {"jitter": "off"}},
    "bgp with bfd": {
        "routing": "bgp",
        "bgp": {"bfd": {}, "policies": [{"switch": "leaf1", "direction": "import", "rules": [{"accept": False}]}]},
    },
    "evpn": {
        "routing": "bgp",
        "vxlan": {
            "tenants": [
                {
                    "name": "a",
                    "l3_vni": 900,
                    "segments": [
                        {"name": "x", "vni": 100, "hosts": ["host1", "host3"]},
                        {"name": "y", "vni": 101, "hosts": ["host2", "host4"]},
                    ],
                }
            ]
        },
    },
    "one segment": {"vxlan": {"tenants": [{"name": "a", "vni": 100, "hosts": ["*"]}]}},
    "three tiers": {
        "topology": {
            "kind": "clos3",
            "pods": 2,
            "leaves_per_pod": 1,
            "spines_per_pod": 1,
            "super_spines": 1,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "200G",
            "fabric_delay": "1us",
        }
    },
    "rails": {
        "topology": {
            "kind": "rail",
            "nodes_per_pod": 2,
            "rails": 2,
            "spines": 1,
            "host_rate": "100G",
            "fabric_rate": "100G",
            "link_overrides": [{"a": "*", "b": "spine1", "rate": "50G"}],
        }
    },
    "two tors": {
        "topology": {
            "kind": "dual-tor",
            "racks": 2,
            "hosts_per_rack": 2,
            "spines": 1,
            "host_rate": "100G",
            "fabric_rate": "100G",
        }
    },
    "risk groups": {"risk_groups": {"power-a": ["spine1", "leaf1--spine2"]}},
    "egress": {
        "switches": {
            "egress": {
                "lossless": {"static_th": "20MB", "reserved": "1KB"},
                "lossy": {"dynamic_th": 1},
                "port_lossless": {"static_th": "10MB"},
                "port_lossy": {"dynamic_th": 0},
            },
            "egress_pools": {"lossless": "auto", "lossy": "8MB"},
        }
    },
    "a timeout below the default window": {"transport": {"recovery": "out-of-order", "retransmit_timeout": "20us"}},
    "own hash": {"switches": {"hash": {"seed": 5}}},
    "custom": {
        "workload": [{"kind": "permutation", "size": "100KB"}],
        "topology": {
            "kind": "custom",
            "nodes": [{"name": "a", "role": "host"}, {"name": "b", "role": "host"}, {"name": "s", "role": "switch"}],
            "links": [
                {"a": "a", "b": "s", "rate": "100G", "cable": "3m"},
                {"a": "b", "b": "s", "rate": "100G", "delay": "1us"},
            ],
        },
    },
    "messages": {
        "workload": [
            {
                "kind": "messages",
                "messages": [
                    {"src": "host1", "dst": "host2", "size": "1KB", "id": "m"},
                    {"src": "host2", "dst": "host1", "size": "1KB", "after": ["m"]},
                ],
            }
        ]
    },
    "every other load": {
        "workload": [
            {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "1KB"},
            {"kind": "all-to-all", "size": "1KB"},
            {"kind": "poisson", "sizes": "fixed", "size": "1KB", "load": 0.1, "stop": "1ms"},
        ]
    },
    "arp": {
        "vxlan": {},
        "workload": [
            {"kind": "permutation", "size": "100KB", "shift": 2},
            {"kind": "arp", "interval": "100us", "stop": "1ms"},
        ],
    },
    "given": {
        "routing": "given",
        "routes": {
            "leaf1": {"0.0.0.0/0": ["spine1", "spine2"]},
            "leaf2": {"0.0.0.0/0": ["spine2"]},
            "spine1": {"host4": ["leaf2"]},
            "spine2": {"10.0.0.0/8": ["leaf1"], "host4": []},
        },
        "workload": [{"kind": "permutation", "size": "10KB"}],
    },
    "ports": {
        "switches": {
            "watchdog": {"poll": "1ms", "detection": "2ms", "restoration": "2ms"},
            "buffer_pg": {"3": {"static_th": "1MB"}},
            "overrides": [
                {"switch": "leaf1", "buffer_pg": {"3": {"headroom": "90KB"}}, "pfc_send": [], "lossless": [3]},
                {"switch": "leaf*", "pfc_honour": [3], "dscp_to_tc": {"26": 4}, "ecn_by_queue": {"3": "off"}},
                {"switch": "leaf2", "port_watchdog": {"action": "alert"}},
                {"switch": "spine1", "shaper": {"3": {"rate": "10G", "burst": "8KB"}}, "port_shaper": {"rate": "20G"}},
                {"switch": "leaf2", "port_shaper": "off"},
            ],
        },
        "workload": [{"kind": "permutation", "size": "10KB"}],
    },
    "datagrams": {
        "workload": [
            {"kind": "datagrams", "senders": ["host1"], "receivers": ["host4"], "load": 0.5, "frame": "64B", "count": 9}
        ]
    },
    "faults": {
        "hosts": {"rx_buffer": "256KiB"},
        "faults": [
            {"kind": "link-down", "link": "leaf1--spine1", "at": "1us"},
            {"kind": "link-flap", "link": "leaf2--spine1", "at": "1us", "down": "1us", "up": "1us", "count": 2},
            {
                "kind": "link-flap",
                "link": "leaf2--spine2",
                "at": "1us",
                "down": "1us",
                "up": "1us",
                "count": 2,
                "until": "3500ns",
            },
            {"kind": "link-rate", "link": "leaf1--spine2", "rate": "10G", "at": "1us"},
            {"kind": "bit-errors", "link": "leaf1--spine2", "ratio": 1e-6, "at": "1us"},
            {"kind": "pause-storm", "hosts": ["host1"], "at": "1us", "duration": "1us"},
            {"kind": "slow-receiver", "hosts": ["host1"], "drain": "1G", "at": "1us"},
            {
                "kind": "config-drift",
                "ports": "leaf1",
                "ecn_curve": {"kmin": "1KB", "kmax": "2KB", "pmax": 0.5},
                "at": "1us",
            },
            {"kind": "drop-every", "port": "leaf1:Ethernet0", "every": 9, "at": "1us"},
            {"kind": "route", "switches": ["leaf1"], "hosts": ["host4"], "via": ["spine1"], "at": "1us"},
            {"kind": "switch-crash", "switch": "spine2", "at": "1ms"},
            {"kind": "link-silent", "link": "leaf2--spine2", "at": "1us"},
        ],
    },
    "faults of routing": {
        "routing": "bgp",
        "vxlan": {},
        "faults": [
            {"kind": "bgp-crash", "switch": "spine2", "at": "1ms"},
            {"kind": "drain", "switch": "spine1", "at": "1ms"},
            {"kind": "wrong-asn", "switch": "leaf2", "asn": 65000, "at": "1ms"},
            {
                "kind": "route-policy",
                "switch": "leaf1",
                "direction": "export",
                "at": "1ms",
                "rules": [{"match": {"prefix": "10.0.0.0/8"}, "set": {"med": 5}}],
            },
            {"kind": "mac-move", "host": "host1", "to": "leaf2", "at": "1ms"},
            {"kind": "host-leave", "hosts": ["host4"], "at": "1ms"},
            {"kind": "endpoint-churn", "per_minute": 600, "at": "1ms", "until": "2ms"},
        ],
    },
    **{
        f"hpcc-ns3, {name}": {"model": "hpcc-ns3", "transport": {"dcqcn": name}}
        for name, preset in DCQCN_PRESETS.items()
        if not preset.params.byte_counter_bytes
    },
    "hpcc-ns3": {"model": "hpcc-ns3"},
    "hpcc-ns3, no congestion control": {"model": "hpcc-ns3", "transport": {"cc": "none"}},
    "hpcc-ns3, DCTCP": {"model": "hpcc-ns3", "transport": {"cc": "dctcp"}},
    "hpcc-ns3, DCTCP, own numbers": {"model": "hpcc-ns3", "transport": {"cc": "dctcp", "dctcp": {"gain": 0.125}}},
    "hpcc-ns3, TIMELY": {"model": "hpcc-ns3", "transport": {"cc": "timely", "timely": {}}},
    "hpcc-ns3, HPCC-PINT": {"model": "hpcc-ns3", "transport": {"cc": "hpcc-pint", "pint": {"log_base": 1.05}}},
    "hpcc-ns3, HPCC": {"model": "hpcc-ns3", "transport": {"cc": "hpcc", "hpcc": {}}},
    "hpcc-ns3, own numbers": {"model": "hpcc-ns3", "transport": {"dcqcn": {"gain": 0.01}, "window": "64KB"}},
}


def scenario_of(tree: dict[str, Any]) -> Scenario:
    return build_scenario(tree, HERE / "small.yml")


def same(a: Any, b: Any) -> bool:  # noqa: ANN401  whatever parameters hold
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, it.name), getattr(b, it.name)) for it in fields(a))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(one, other) for one, other in zip(a, b, strict=True))
    return bool(a == b)


def alike(one: Scenario, other: Scenario) -> bool:
    """Whether both give the same run."""
    return placed_alike(one, place(one), other, place(other))


def placed_alike(one: Scenario, ours: PlacedScenario, other: Scenario, theirs: PlacedScenario) -> bool:
    """Whether both have the same parameters, fabric and edits."""
    written = {one.run.reroute_delay, other.run.reroute_delay}  # compile_scenario() fills it in
    return (
        same(ours.params, theirs.params)
        and repr(ours.fabric) == repr(theirs.fabric)
        and repr(ours.faults) == repr(theirs.faults)
        and (len(written) == 1 or written == {None, parse_time_ps(DEFAULT_REROUTE_DELAY)})
    )


def shipped(file: Path) -> object:
    """A case; the many variants of few scenarios are slow tests."""
    many = file.parent.name in {"alerts", "drills", "fidelity", "testplans"}
    return pytest.param(file, id=str(file.relative_to(ROOT)), marks=[pytest.mark.slow] if many else [])


@pytest.mark.parametrize("file", [shipped(file) for file in SHIPPED])
def test_a_shipped_scenario_with_every_default_written_out_is_the_same_scenario(file: Path) -> None:
    scenario = load_scenario(file)
    ours = place(scenario)
    whole = resolved(scenario, ours.fabric)
    again = build_scenario(parse_yaml(yaml.safe_dump(whole), file), file)
    theirs = place(again)
    assert resolved(again, theirs.fabric) == whole
    assert placed_alike(scenario, ours, again, theirs)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_scenario_with_every_default_written_out_is_the_same_scenario(name: str) -> None:
    scenario = scenario_of(BASE | VARIANTS[name])
    ours = place(scenario)
    whole = resolved(scenario, ours.fabric)
    again = scenario_of(json.loads(json.dumps(whole)))
    theirs = place(again)
    assert resolved(again, theirs.fabric) == whole
    assert placed_alike(scenario, ours, again, theirs)


@pytest.mark.parametrize(
    ("model", "path"), [(model.name, default.path) for model in MODELS.values() for default in model.defaults]
)
def test_a_default_of_a_model_is_accepted_where_it_is_written_out(model: str, path: str) -> None:
    plain = scenario_of(BASE | {"model": model})
    section, field = path.split(".")
    value = resolved(plain, place(plain).fabric)[section][field]
    written = scenario_of(BASE | {"model": model, section: {**BASE.get(section, {}), field: value}})
    assert alike(plain, written)


def defaults_of(spec: BaseModel, path: str = "") -> Iterator[tuple[str, str, Any]]:
    """(path of a section, field, default as JSON) of every field with a default, of every part of a scenario; without
    fields of another kind, which are not written out.
    """
    whole = spec.model_dump(mode="json")
    for name, field in type(spec).model_fields.items():
        if not field.is_required():
            default = field.get_default(call_default_factory=True)
            if field.annotation is not None and name in whole and default == getattr(spec, name):
                yield path, name, whole[name]
        value = getattr(spec, name)
        for number, part in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(part, BaseModel):
                here = f"{path}.{name}" if path else name
                yield from defaults_of(part, f"{here}[{number}]" if isinstance(value, tuple) else here)


def put(tree: Any, path: str, field: str, value: Any) -> None:  # noqa: ANN401  JSON data
    for step in filter(None, path.replace("[", ".[").split(".")):
        tree = tree[int(step[1:-1])] if step.startswith("[") else tree.setdefault(step, {})
    tree[field] = value


@pytest.mark.parametrize("name", VARIANTS)
def test_every_default_of_the_schema_is_accepted_where_it_is_written_out(name: str) -> None:
    """One field at a time, also null, which means absent."""
    raw = json.loads(json.dumps(BASE | VARIANTS[name]))
    plain = scenario_of(raw)
    refused = []
    for path, field, value in defaults_of(plain):
        tree = json.loads(json.dumps(raw))
        put(tree, path, field, value)
        try:
            written = scenario_of(tree)
        except InputErrors as error:
            refused.append(f"{path}.{field} = {value}: {error}")
            continue
        assert written.model_dump() == plain.model_dump(), f"{path}.{field}"
    assert refused == []


def test_the_variants_have_every_part_that_a_scenario_can_have() -> None:
    """Otherwise no test would find a refused default of a kind that no variant uses."""
    seen: set[type[BaseModel]] = set()

    def walk(value: object) -> None:
        if isinstance(value, BaseModel):
            seen.add(type(value))
            for name in type(value).model_fields:
                walk(getattr(value, name))
        elif isinstance(value, tuple):
            for part in value:
                walk(part)

    for tree in VARIANTS.values():
        walk(scenario_of(BASE | tree))

    def models(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401  any type expression
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
            for field in annotation.model_fields.values():
                yield from models(field.annotation)
        for part in typing.get_args(annotation):
            yield from models(part)

    assert {model.__name__ for model in models(Scenario)} - {model.__name__ for model in seen} == set()


def test_a_pause_storm_that_holds_the_link_all_the_time_is_the_one_without_a_pace() -> None:
    def storm(**pace: Any) -> Scenario:  # noqa: ANN401  fields of the fault
        return scenario_of(
            BASE | {"faults": [{"kind": "pause-storm", "hosts": ["host1"], "at": "1us", "duration": "100us", **pace}]}
        )

    assert repr(place(storm(duty=1.0)).faults.edits) == repr(place(storm()).faults.edits)
    assert repr(place(storm(duty=0.5)).faults.edits) != repr(place(storm()).faults.edits)
    with pytest.raises(InputErrors) as caught:
        storm(duty=1.5)
    [problem] = caught.value.problems
    assert problem.hint.startswith("write a number above 0 and at most 1: Share of time the link is held paused")


@pytest.mark.parametrize(
    ("size", "fits"), [("64B", True), ("1000B", True), ("9000B", True), ("63B", False), ("9001B", False)]
)
def test_any_payload_that_is_a_frame_fits_the_ns3_model(size: str, fits: bool) -> None:
    raw = BASE | {"model": "hpcc-ns3", "transport": {"mtu": size}}
    if fits:
        assert place(scenario_of(raw)).params.frames.payload_bytes == int(size[:-1])
    else:
        with pytest.raises(InputErrors, match="is not a valid payload of this model"):
            scenario_of(raw)


@pytest.mark.parametrize("duration", ["10ms", "50us", "3s"])
def test_the_resolved_scenario_is_printed_as_a_file_that_can_be_run(
    duration: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = ["scenario", "show", str(ROOT / "scenarios" / "incast.yml"), "--set", f"run.duration={duration}"]
    assert main([*shown, "--resolved"]) == 0
    file = tmp_path / "whole.yml"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["scenario", "check", str(file)]) == 0
    capsys.readouterr()
    assert main(["scenario", "show", str(file), "--resolved"]) == 0
    assert capsys.readouterr().out == file.read_text(encoding="utf-8")
