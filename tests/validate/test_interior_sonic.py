"""OSPF in tables of SONiC's CONFIG_DB: judged as in the other languages, changed by sonic-db-cli, and by --fix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.configs.load import load_network
from fabric.validate.adjacencies import interior_of
from fabric.validate.causes import Cause
from fabric.validate.checks.base import Severity
from fabric.validate.facts import Facts
from fabric.validate.fix.files import Request
from fabric.validate.fix.search import find
from fabric.validate.runner import validate
from tests.mistakes import internal
from tests.mistakes.mistake import write

Tables = dict[str, dict[str, Any]]
Change = Callable[[Tables], object]
PORT, LOOPBACK = "Ethernet24|0.0.0.0", "Loopback0|0.0.0.0"
ROW = f"'OSPFV2_INTERFACE|{PORT}'"


def _with_ospf(tables: Tables, *, networks: bool) -> None:
    loopback = next(it for it in tables["LOOPBACK_INTERFACE"] if "|" in it).partition("|")[2]
    names = [it for it in tables["INTERFACE"] if "|" not in it]
    tables["BGP_GLOBALS"] = {"default": {"local_asn": tables["DEVICE_METADATA"]["localhost"]["bgp_asn"]}}
    tables["OSPFV2_ROUTER"] = {"default": {"enable": "true", "router-id": loopback.partition("/")[0]}}
    tables["OSPFV2_ROUTER_AREA"] = {"default|0.0.0.0": {"description": "all"}}
    tables["OSPFV2_ROUTER_PASSIVE_INTERFACE"] = {f"default|{LOOPBACK}": {}}
    kind = {"network-type": "POINT_TO_POINT_NETWORK", "priority": "1"}
    area = {} if networks else {"area-id": "0.0.0.0"}  # noqa: S104  the backbone, not an address
    tables["OSPFV2_INTERFACE"] = {f"{it}|0.0.0.0": kind | area for it in names}
    if networks:
        prefixes = (f"default|0.0.0.0|{it}" for it in (loopback, "10.1.0.0/16"))
        tables["OSPFV2_ROUTER_AREA_NETWORK"] = {it: {} for it in prefixes}
    else:
        tables["OSPFV2_INTERFACE"][LOOPBACK] = {"area-id": "0"}


def fabric(folder: Path, change: Change = lambda _: None, *, networks: bool = False) -> Path:
    files = internal.good("sonic")
    for content in files.values():
        if "INTERFACE" in content:
            _with_ospf(content, networks=networks)
    change(files["leaf1.json"])
    write("sonic", files, folder)
    return folder


def causes(folder: Path) -> list[Cause]:
    return [it for it in validate(load_network([folder])).causes if it.severity >= Severity.WARN]


@pytest.mark.parametrize("networks", [False, True])
def test_a_fabric_with_ospf_in_its_tables_is_whole(networks: bool, tmp_path: Path) -> None:
    fabric(tmp_path, networks=networks)
    assert causes(tmp_path) == []
    network = load_network([tmp_path])
    leaf = network.devices["leaf1"]
    assert leaf.unread == []
    assert interior_of(Facts(network)).reaches(leaf, "10.0.0.2") is True
    assert {"field 'priority' of OSPFV2_INTERFACE", "field 'description' of OSPFV2_ROUTER_AREA"} <= {
        it.what for it in leaf.unjudged
    }


def _set(**fields: str) -> Change:
    return lambda tables: tables["OSPFV2_INTERFACE"][PORT].update({it.replace("_", "-"): v for it, v in fields.items()})


def _drop(table: str, key: str) -> Change:
    return lambda tables: tables[table].pop(key)


def _put(table: str, key: str, **fields: str) -> Change:
    return lambda tables: (
        tables[table].setdefault(key, {}).update({it.replace("_", "-"): v for it, v in fields.items()})
    )


PASSIVE = "OSPFV2_ROUTER_PASSIVE_INTERFACE"
MISTAKES: dict[str, tuple[Change, str, str]] = {
    "area": (_set(area_id="0.0.0.7"), "O1", f"HSET {ROW} area-id 0.0.0.0"),
    "hello": (_set(hello_interval="5"), "O1", f"HSET {ROW} hello-interval 10"),
    "dead": (_set(dead_interval="15"), "O1", f"HSET {ROW} dead-interval 40"),
    "network": (
        _set(network_type="BROADCAST_NETWORK"), "O1", f"HSET {ROW} network-type POINT_TO_POINT_NETWORK"
    ),
    "not in it": (_drop("OSPFV2_INTERFACE", PORT), "O1", f"HSET {ROW} area-id 0.0.0.0"),
    "passive": (_put(PASSIVE, "default|Ethernet24"), "O1", f"DEL '{PASSIVE}|default|Ethernet24'"),
    "authentication": (_set(authentication_type="MD5HMAC"), "O1", ""),
    "of the area": (_put("OSPFV2_ROUTER_AREA", "default|0.0.0.0", authentication="MD5HMAC"), "O1", ""),
    "stub": (_put("OSPFV2_ROUTER_AREA", "default|0.0.0.0", stub="true"), "O1", ""),
    "router id": (_put("OSPFV2_ROUTER", "default", router_id="10.0.0.2"), "O2", ""),
    "loopback": (_drop("OSPFV2_INTERFACE", LOOPBACK), "O3", f"HSET 'OSPFV2_INTERFACE|{LOOPBACK}' area-id 0.0.0.0"),
    "cost": (_set(metric="500"), "O4", f"HDEL {ROW} metric"),
    "maintenance": (
        _put("OSPFV2_ROUTER", "default", max_metric_administrative="true"), "P20", "max-metric-administrative false"
    ),
    "no area": (_set(area_id="backbone"), "R5", ""),
    "off": (_put("OSPFV2_ROUTER", "default", enable="false"), "O1", ""),
}  # fmt: skip


@pytest.mark.parametrize("title", MISTAKES)
def test_each_mistake_is_the_first_cause_with_the_command_of_sonic(title: str, tmp_path: Path) -> None:
    change, check, command = MISTAKES[title]
    [first, *_] = causes(fabric(tmp_path, change))
    assert (first.check.id, next(iter(first.devices))) == (check, "leaf1")
    commands = [it.command for it in first.fixes]
    assert any(command in it for it in commands) if command else not any(commands)


@pytest.mark.parametrize("title", [it for it, (_, _, command) in MISTAKES.items() if command])
def test_a_fix_clears_it(title: str, tmp_path: Path) -> None:
    fabric(tmp_path, MISTAKES[title][0])
    verdict = validate(load_network([tmp_path]))
    plan = find(Request(configs=(tmp_path,)), verdict)
    assert plan.asked
    assert plan.gone == plan.asked
    assert not plan.new


def test_passive_by_default_has_its_rows_as_exceptions(tmp_path: Path) -> None:
    def change(tables: Tables) -> None:
        tables["OSPFV2_ROUTER"]["default"]["passive-interface-default"] = "true"
        tables[PASSIVE] = {f"default|{it}": {} for it in ("Ethernet24", "Ethernet32")}

    assert causes(fabric(tmp_path, change)) == []
