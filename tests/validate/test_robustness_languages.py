"""Hostile input in the other languages: mutated NVUE, EOS and forwarding tables end in findings or one clear error."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from fabrics import small_fabric
from test_paths import EOS as EOS_FIB
from test_paths import FRR, healthy
from test_robustness import ODD, judge_text

from fabric.configs.load import parse_device
from fabric.configs.model import Device
from fabric.configs.network import Network, links_of_neighbors
from fabric.configs.routes import parse_fib
from fabric.errors import InputErrors
from fabric.validate.runner import validate

NVUE: dict[str, Any] = {
    "header": {"model": "SN5600"},
    "set": {
        "system": {"hostname": "leaf01"},
        "qos": {
            "roce": {"enable": "on", "mode": "lossless"},
            "pfc": {
                "default-global": {
                    "switch-priority": {"3": {}},
                    "cable-length": 40,
                    "port-buffer": 25000,
                    "xoff-threshold": 10000,
                    "xon-threshold": 2000,
                },
                "off": {"tx": "disable"},
            },
            "mapping": {
                "portwise": {"trust": "port", "port-default-sp": 3},
                "own": {"trust": "l3", "dscp": {"24-31": {"switch-priority": 3}}},
            },
            "remark": {"bleach": {"rewrite": "l3", "switch-priority": {"3": {"dscp": 0}}}},
            "egress-queue-mapping": {"default-global": {"switch-priority": {"3": {"traffic-class": 3}}}},
            "egress-scheduler": {"heavy": {"traffic-class": {"3": {"mode": "dwrr", "bw-percent": 80}}}},
            "congestion-control": {"late": {"traffic-class": {"3": {"min-threshold": 9, "max-threshold": 99}}}},
            "pfc-watchdog": {"polling-interval": 100, "robustness": 3},
            "link-pause": {"lp": {}},
            "traffic-pool": {"roce-lossless": {"memory-percent": 60}, "default-lossy": {"switch-priority": "0-2"}},
            "advance-buffer-config": {
                "default-global": {
                    "ingress-lossless-buffer": {"shared-alpha": "alpha_1"},
                    "egress-lossy-buffer": {"traffic-class": {"0": {"shared-bytes": 1}}},
                    "ingress-pool": {"3": {"memory-percent": 1, "mode": "static"}},
                }
            },
        },
        "nve": {"vxlan": {"enable": "on", "source": {"address": "10.0.0.1"}}},
        "bridge": {"domain": {"br_default": {"ageing": 1800}}},
        "interface": {
            "swp1-3": {
                "type": "swp",
                "link": {"mtu": 9216, "speed": "400G", "state": {"up": {}}, "fec": "rs"},
                "qos": {"pfc-watchdog": {}, "mapping": {"profile": "portwise"}},
            },
            "bond1": {"bond": {"member": {"swp1-2": {}}}},
        },
    },
}
EOS = """! device: leaf1 (DCS-7060X6-64PE, EOS-4.33.1F)
platform trident mmu headroom-pool limit cells 24000
platform trident mmu queue profile RoCE
   ingress threshold 1
   ingress headroom bytes 120000
   ingress priority-group 3 threshold 1/2
   egress unicast queue 3 threshold 8
platform trident mmu queue profile RoCE apply
qos profile ROCE
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   uc-tx-queue 3
      random-detect ecn minimum-threshold 1000 segments maximum-threshold 4000 segments
interface Ethernet1/1-2
   service-profile ROCE""".splitlines()


def mutated(rng: random.Random, value: Any) -> Any:  # noqa: ANN401
    """One to four changes at any depth of nested mappings and lists."""
    found = copy.deepcopy(value)
    for _ in range(rng.randint(1, 4)):
        here = found
        while isinstance(here, dict | list) and here:
            key = rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
            if isinstance(here[key], dict | list) and here[key] and rng.random() < 0.8:
                here = here[key]
                continue
            action = rng.randint(0, 2)
            if action == 0:
                here.pop(key)
            elif action == 1 or isinstance(here, list):
                here[key] = copy.deepcopy(rng.choice(ODD))
            else:
                here[str(rng.choice(ODD))] = here.pop(key)
            break
    return found


def one_round(seed: int, devices: dict[str, Device]) -> None:
    rng = random.Random(seed)
    judge_text(json.dumps(mutated(rng, NVUE)), "x.json")
    lines = list(EOS)
    for _ in range(rng.randint(1, 4)):
        at, action = rng.randrange(len(lines)), rng.randint(0, 3)
        if action == 0:
            lines.insert(at, rng.choice(lines))
        elif action == 1:
            words = lines[at].split(" ")
            words[rng.randrange(len(words))] = rng.choice(("9" * 20, "-1", "x", "", "1/0", "٣", "0"))
            lines[at] = " ".join(words)
        elif action == 2:
            lines[at] = lines[at].lstrip()
        elif len(lines) > 1:
            lines.pop(at)
    judge_text("\n".join(["qos profile Z", *lines]), "x.cfg")
    for table in (healthy()["leaf1"], FRR, EOS_FIB):
        refused: InputErrors | None = None
        try:
            routes = parse_fib(mutated(rng, table), "x.json")
        except InputErrors as error:
            refused = error
        if refused is not None:
            assert all(problem.path and problem.hint for problem in refused.problems)
            continue
        network = Network(devices, links_of_neighbors(devices.values()))
        network.fibs = {"leaf1": routes}
        validate(network, only={"D1", "D9", "D10", "D11", "L9"})


def test_the_sample_that_is_mutated_is_understood() -> None:
    device = parse_device(json.dumps(NVUE), "x.json")
    assert not device.unread
    assert not device.defects
    assert [port.lag for port in device.ports.values()] == ["bond1", "bond1", None]


@pytest.fixture(scope="module")
def devices() -> dict[str, Device]:
    return {name: parse_device(json.dumps(tables), name) for name, tables in small_fabric().items()}


@pytest.mark.parametrize("seed", range(40))
def test_a_mutated_file_of_any_language_is_judged_or_refused(seed: int, devices: dict[str, Device]) -> None:
    one_round(seed, devices)


@pytest.mark.slow
def test_six_hundred_mutated_files_of_every_other_language_are_judged_or_refused(devices: dict[str, Device]) -> None:
    for seed in range(40, 640):
        one_round(seed, devices)
