"""Makes the small fabric of tests/validate importable, and plans rollouts between two fabrics written to folders."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "validate"))

from fabrics import HOSTS, Tables, small_fabric

from fabric.rollout.plan import Request, Rollout, carry_out, prepare

Fabric = dict[str, Tables]
Plan = Callable[..., Rollout]


def write(folder: Path, fabric: Fabric, hosts: dict[str, Any]) -> Path:
    """One file per switch, and the hosts."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, tables in fabric.items():
        (folder / f"{name}.json").write_text(json.dumps(tables, indent=1), encoding="utf-8")
    (folder / "hosts.json").write_text(json.dumps(hosts), encoding="utf-8")
    return folder


@pytest.fixture
def write_fabric() -> Callable[..., Path]:
    """Write a fabric and its hosts to a folder."""
    return write


@pytest.fixture
def two_classes() -> Fabric:
    """The small fabric with classes 3 and 4 lossless everywhere, RoCE (DSCP 26) in class 3."""
    fabric = small_fabric()
    for tables in fabric.values():
        for port in list(tables["PORT_QOS_MAP"]):
            tables["PORT_QOS_MAP"][port].update(pfc_enable="3,4", pfcwd_sw_enable="3,4")
            tables["BUFFER_PG"][f"{port}|3-4"] = tables["BUFFER_PG"].pop(f"{port}|3")
            tables["BUFFER_QUEUE"][f"{port}|3-4"] = tables["BUFFER_QUEUE"].pop(f"{port}|3")
            tables["QUEUE"][f"{port}|4"] = dict(tables["QUEUE"][f"{port}|3"])
        tables["TC_TO_PRIORITY_GROUP_MAP"]["M"]["4"] = "4"
    return fabric


@pytest.fixture
def hosts_with() -> Callable[..., dict[str, Any]]:
    """The hosts' settings with some of them changed."""

    def make(**settings: object) -> dict[str, Any]:
        return {"default": {**HOSTS["default"], **settings}}

    return make


@pytest.fixture
def mapped() -> Callable[[Fabric, dict[str, str]], Fabric]:
    """A copy of a fabric with DSCPs in other classes."""

    def make(fabric: Fabric, classes: dict[str, str]) -> Fabric:
        found = copy.deepcopy(fabric)
        for tables in found.values():
            tables["DSCP_TO_TC_MAP"]["M"].update(classes)
        return found

    return make


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Write OLD and NEW, and plan the rollout."""

    def make(
        old: Fabric,
        new: Fabric,
        old_hosts: dict[str, Any] | None = None,
        new_hosts: dict[str, Any] | None = None,
        **options: Any,  # noqa: ANN401  fields of Request
    ) -> Rollout:
        prove = options.pop("prove", None)
        folders = [
            write(tmp_path / name, fabric, hosts or HOSTS)
            for name, fabric, hosts in (("old", old, old_hosts), ("new", new, new_hosts or old_hosts))
        ]
        return carry_out(prepare(Request(*folders, **options)), prove=prove)

    return make
