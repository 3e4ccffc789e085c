"""Hostile input: mutated configurations end in findings or one clear error; large fabrics in seconds."""

from __future__ import annotations

import copy
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from fabrics import HOSTS, Judge, small_fabric, switch
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.configs.load import parse_device
from fabric.configs.network import Network, links_of_neighbors
from fabric.errors import InputErrors
from fabric.validate.checks.base import Severity
from fabric.validate.output.data import as_json, as_junit, as_sarif
from fabric.validate.output.page import as_html, as_markdown
from fabric.validate.output.text import render
from fabric.validate.runner import validate

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**30,
    1e300,
    "",
    "x" * 5000,
    "\x00\u202e<script>|",
    [],
    {},
    [[]],
    {"a": {}},
    "9" * 40,
    "-8",
    "0-99999999",
    "Ethernet0|3-4",
    "[A|b]",
    "NULL",
    "٣",
)


def mutate(rng: random.Random, tables: dict[str, Any]) -> dict[str, Any]:
    found: Any = copy.deepcopy(tables)
    for _ in range(rng.randint(1, 5)):
        here, depth = found, rng.randint(0, 3)
        while depth and isinstance(here, dict) and here:
            key = rng.choice(list(here))
            if not isinstance(here[key], dict) or not here[key]:
                break
            here, depth = here[key], depth - 1
        if not isinstance(here, dict) or not here:
            continue
        key, action = rng.choice(list(here)), rng.randint(0, 3)
        if action == 0:
            here.pop(key)
        elif action == 1:
            here[key] = copy.deepcopy(rng.choice(ODD))
        elif action == 2:
            here[str(rng.choice(ODD))] = here.pop(key)
        else:
            here[key] = copy.deepcopy(here[rng.choice(list(here))])
    return found


def judge_text(text: str, file: str = "leaf1.json") -> None:
    """A finding or one clear error, in every format."""
    refused: InputErrors | None = None
    try:
        device = parse_device(text, file)
    except InputErrors as error:
        refused = error
    if refused is not None:
        assert all(problem.path and problem.hint for problem in refused.problems)
        return
    network = Network({device.name: device}, links_of_neighbors([device]))
    verdict = validate(network)
    for shown in (
        render(verdict, everything=True),
        as_json(verdict),
        as_sarif(verdict),
        as_html(verdict),
        as_markdown(verdict),
        as_junit(verdict, Severity.ERROR),
    ):
        assert shown
    assert "<script>" not in as_html(verdict)


def base() -> dict[str, Any]:
    return small_fabric()["leaf1"]


@pytest.mark.parametrize("seed", range(60))
def test_a_mutated_configuration_is_judged_or_refused(seed: int) -> None:
    judge_text(json.dumps(mutate(random.Random(seed), base())))


@pytest.mark.slow
def test_three_thousand_mutated_configurations_are_judged_or_refused() -> None:
    tables = base()
    text = json.dumps(tables)
    for seed in range(3_000):
        rng = random.Random(seed)
        if seed % 4:
            judge_text(json.dumps(mutate(rng, tables)))
        else:  # bytes rather than structure: cut, double or swap a piece
            first, last = sorted(rng.sample(range(len(text)), 2))
            judge_text(
                rng.choice(
                    (
                        text[:first],
                        text[:first] + text[last:],
                        text[:last] + text[first:],
                        text[:first] + rng.choice('{}[],:"0') + text[first + 1 :],
                    )
                )
            )


@given(st.text(max_size=200))
@settings(max_examples=100)
def test_any_text_is_read_or_refused(text: str) -> None:
    for head in ("", "qos profile X\n", "system qos\n", "- set:\n    ", "{"):
        judge_text(head + text, "x.cfg")


@given(
    st.lists(
        st.sampled_from(
            (
                "interface Ethernet1/1-99999999",
                "   service-profile X",
                "qos profile X",
                "   uc-tx-queue 3",
                "      random-detect ecn minimum-threshold 9 bytes maximum-threshold 1 bytes",
                "qos map dscp 0-63 to traffic-class 9",
                "policy-map type qos Q",
                "  class A",
                "    set qos-group 3",
                "class-map type qos match-any A",
                "  match dscp 99999-1",
                "system qos",
                "interface Ethernet1/1",
                "  mtu 99999",
                "  priority-flow-control mode on",
                "\t\t x",
                "speed 999999g-9",
                "   speed 99999g-1",
                "policy-map type queuing O",
                "  class type queuing c-out-8q-q9",
            )
        ),
        max_size=30,
    )
)
def test_any_order_of_running_config_lines_is_read(lines: list[str]) -> None:
    judge_text("\n".join(["qos profile Y", *lines]), "x.cfg")
    judge_text("\n".join(["system qos", *lines]), "x.cfg")


def test_a_key_range_of_millions_takes_no_time() -> None:
    started = time.process_time()
    tables = base()
    tables["BUFFER_PG"] = {f"Ethernet0|0-{10**6 + n}": {"profile": "NULL"} for n in range(2000)}
    device = parse_device(json.dumps(tables), "x.json")
    assert len(device.defects) == 2000
    assert time.process_time() - started < 5  # a bound against expansion, not a speed


@pytest.mark.slow  # 8 s
def test_64_switches_of_64_ports_are_judged_within_a_small_multiple_of_one(judge: Judge, tmp_path: Path) -> None:
    leaves, spines = 32, 32
    fabric = {}
    for leaf in range(leaves):
        ports = {f"Ethernet{n}": (f"host{leaf}x{n}", "eth0") for n in range(32)}
        ports |= {f"Ethernet{32 + s}": (f"spine{s}", f"Ethernet{leaf}") for s in range(spines)}
        fabric[f"leaf{leaf}"] = switch(f"leaf{leaf}", str(65100 + leaf), "ToRRouter", ports)
    for spine in range(spines):
        ports = {f"Ethernet{leaf}": (f"leaf{leaf}", f"Ethernet{32 + spine}") for leaf in range(leaves)}
        ports |= {f"Ethernet{n}": (f"core{spine}x{n}", "Ethernet0") for n in range(leaves, 64)}
        fabric[f"spine{spine}"] = switch(f"spine{spine}", "65000", "LeafRouter", ports)
    for tables in fabric.values():
        tables["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = "20000000"
    started = time.process_time()
    found = judge(fabric, HOSTS)
    taken = time.process_time() - started
    assert taken < 80  # 5 s on an idle machine, 9 s on a busy one; a guard against growing with pairs of ports
    assert {it.check.id for it in found if it.severity is Severity.ERROR} <= {"B1", "R11"}
